//! Networks beside the RTL: in all, and step by step.

use super::Failure;
use crate::cli::out;
use crate::cli::text::{self, grouped, styled};
use rayon::prelude::*;
use std::io::Write;
use vp_study::rtl::networks::{NetworkRow, NetworkRun};

/// Distance by which a network may be off in all, and each of its steps: parts in a thousand of the RTL's cycles.
const BOUNDS: [u64; 2] = [2, 10];

/// A network and what the model makes of it.
pub(super) struct ComparedNetwork<'a> {
    row: &'a NetworkRow,
    run: Result<NetworkRun, String>,
}

/// A figure of both sides.
pub(super) struct Figure<'a> {
    /// The step, or none for the whole network.
    pub(super) step: Option<&'a str>,
    pub(super) rtl: u64,
    /// None if the plan has no such step.
    pub(super) model: Option<u64>,
}

impl Figure<'_> {
    fn is_near(&self) -> bool {
        let bound = BOUNDS[usize::from(self.step.is_some())];
        self.model.is_some_and(|model| model.abs_diff(self.rtl) * 1000 <= self.rtl * bound)
    }
}

impl ComparedNetwork<'_> {
    /// The network, and what of it was another than it would be today.
    pub(super) fn name(&self) -> String {
        let case = &self.row.case;
        format!("{} on {}, weights in units of {}", case.network, case.platform, case.weight_bytes)
    }

    /// Returns true if all figures are as near as is asked.
    pub(super) fn is_near(&self) -> bool {
        self.figures().iter().all(Figure::is_near)
    }

    /// The network's memory.
    pub(super) fn setting(&self) -> vp_study::rtl::table::Setting {
        self.row.case.setting
    }

    /// Returns the reason for which there is nothing of the model's.
    pub(super) fn why_not(&self) -> Option<&str> {
        self.run.as_ref().err().map(String::as_str)
    }

    /// Returns the figures that were measured, beside what the model took.
    pub(super) fn figures(&self) -> Vec<Figure<'_>> {
        let run = self.run.as_ref().ok();
        let of_step = |at: usize, name: &str| {
            let step = run?.steps.get(at)?;
            (step.0 == name).then_some(step.1)
        };
        let total = self.row.total.map(|rtl| Figure { step: None, rtl, model: run.map(|run| run.total) });
        let steps = self.row.steps.iter().map(|(at, name, rtl)| Figure {
            step: Some(name.as_str()),
            rtl: *rtl,
            model: of_step(*at, name),
        });
        steps.chain(total).collect()
    }
}

/// Runs each.
pub(super) fn compare(rows: &[NetworkRow]) -> Vec<ComparedNetwork<'_>> {
    rows.par_iter().map(|row| ComparedNetwork { row, run: row.run() }).collect()
}

/// A table for each network, and whether all are as near as is asked.
pub(super) fn write(compared: &[ComparedNetwork<'_>]) -> Result<(), Failure> {
    let mut out = out::stdout();
    let mut names = Vec::new();
    for it in compared {
        if !names.contains(&it.name()) {
            names.push(it.name());
        }
    }
    for name in names {
        writeln!(out, "{}", styled(anstyle::Style::new().bold(), &name))?;
        let mut table = text::table(
            &["step", "read", "write", "limit", "RTL", "model", "differs", ""],
            &[1, 2, 3, 4, 5, 6, 7],
        );
        for it in compared.iter().filter(|it| it.name() == name) {
            for figure in it.figures() {
                table.add_row(cells(it, &figure));
            }
        }
        writeln!(out, "{}", table.trim_fmt())?;
        for why in compared.iter().filter(|it| it.name() == name).filter_map(ComparedNetwork::why_not) {
            writeln!(out, "{} {}", styled(text::RED, "not run:"), why.replace('\n', "\n       "))?;
        }
        writeln!(out)?;
    }
    let verdict = if compared.iter().all(ComparedNetwork::is_near) {
        styled(text::GREEN, "PASS")
    } else {
        styled(text::RED, "FAIL")
    };
    writeln!(out, "{verdict}  networks within 0.2 %, their steps within 1 %")?;
    Ok(())
}

fn cells(it: &ComparedNetwork<'_>, figure: &Figure<'_>) -> Vec<String> {
    let setting = it.setting();
    let mut cells = vec![
        figure.step.unwrap_or("in all").to_owned(),
        setting.read_latency.to_string(),
        setting.write_latency.to_string(),
        setting.read_outstanding.to_string(),
        grouped(figure.rtl),
    ];
    let Some(model) = figure.model else {
        cells.push(if it.run.is_ok() { "no such step".to_owned() } else { "not run".to_owned() });
        return cells;
    };
    let off = model as i64 - figure.rtl as i64;
    let percent = || format!("{:+.2} %", 100.0 * off as f64 / figure.rtl.max(1) as f64);
    cells.extend([
        grouped(model),
        if off == 0 { "0".to_owned() } else { format!("{off:+}") },
        if off == 0 { String::new() } else { percent() },
    ]);
    cells
}
