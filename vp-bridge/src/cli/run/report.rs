//! How runs are shown: one in full, many in a table.

use super::{Ran, Run};
use crate::cli::text::{self, counted, grouped, styled};
use crate::cli::{Failure, Verdict};
use std::io::Write;
use vp_core::Time;
use vp_models::host::{Statistics, Warning};

/// The verdict, which stands even if nobody reads the report to its end.
fn after(shown: Result<(), Failure>, passed: bool) -> Result<Verdict, Failure> {
    match shown {
        Err(failure) if !failure.is_broken_pipe => Err(failure),
        _ => Ok(if passed { Verdict::Right } else { Verdict::Wrong }),
    }
}

/// One trace: what it is, how long it took, what it moved, whether it is right.
pub(super) fn one(name: &str, ran: &Ran) -> Result<Verdict, Failure> {
    after(show_one(name, ran), ran.outcome.passed())
}

fn show_one(name: &str, ran: &Ran) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let Ran { outcome, statistics, warnings, headline, rtl, .. } = ran;
    writeln!(out, "{headline}\n{name}\n")?;
    for layer in layers(statistics) {
        writeln!(out, "{:<10} {}", layer.unit, layer.text)?;
    }
    if let Some(cycles) = statistics.get("nvdla.cycles") {
        let period = Time::ps(statistics.get("period").unwrap_or(1_000));
        writeln!(
            out,
            "{:<10} {}, from the first enable to the last interrupt ({} at {})",
            "time",
            counted(cycles, "cycle"),
            period * cycles,
            text::frequency(period)
        )?;
        if let Some(rtl) = *rtl {
            writeln!(
                out,
                "{:<10} {} in the vendor's RTL: {}",
                "",
                counted(rtl, "cycle"),
                difference(cycles, rtl)
            )?;
        }
    }
    for port in ["dbb0", "sram0"] {
        traffic(&mut out, statistics, port, "read", "read", "latency")?;
        traffic(&mut out, statistics, port, "write", "written", "acknowledged after")?;
    }
    for sum in &outcome.sums {
        let place = format!("{} bytes at {:#x} in {} memory", grouped(sum.size), sum.base, sum.memory);
        writeln!(out, "{:<10} {:#010x} of {place}", "CRC", sum.crc)?;
    }
    writeln!(out, "{:<10} {}", "event hash", statistics.text("events.hash").unwrap_or("-"))?;
    warn(&mut out, warnings)?;
    for failure in &outcome.failures {
        writeln!(out, "{} {failure}", styled(text::RED, "wrong:"))?;
    }
    writeln!(out, "\n{}", verdict(outcome.passed()))?;
    Ok(())
}

/// The first warnings, and how many more there are.
fn warn(out: &mut impl Write, warnings: &[Warning]) -> Result<(), Failure> {
    const SHOWN: usize = 8;
    for warning in warnings.iter().take(SHOWN) {
        writeln!(out, "{} {warning}", styled(text::YELLOW, "warning:"))?;
    }
    if warnings.len() > SHOWN {
        writeln!(out, "{} {} more like these", styled(text::YELLOW, "warning:"), warnings.len() - SHOWN)?;
    }
    Ok(())
}

fn traffic(
    out: &mut impl Write,
    statistics: &Statistics,
    port: &str,
    direction: &str,
    verb: &str,
    latency: &str,
) -> Result<(), Failure> {
    let get = |what: &str| statistics.get(&format!("{port}.{direction}.{what}"));
    let (Some(bytes), Some(bursts)) = (get("bytes"), get("bursts")) else { return Ok(()) };
    if bursts == 0 {
        return Ok(());
    }
    write!(out, "{verb:<10} {} in {} on {port}", counted(bytes, "byte"), counted(bursts, "burst"))?;
    if let (Some(least), Some(mean), Some(most)) =
        (get("latency.least"), get("latency.mean"), get("latency.most"))
    {
        let mean = counted(mean, "cycle");
        let spread = if least == most { String::new() } else { format!(" on average ({least} to {most})") };
        write!(out, ", {latency} {mean}{spread}")?;
    }
    writeln!(out, ", at most {} outstanding", get("most_outstanding").unwrap_or(0))?;
    Ok(())
}

struct Layer {
    unit: String,
    text: String,
}

/// The layers a run consisted of, as its statistics tell.
fn layers(statistics: &Statistics) -> Vec<Layer> {
    let period = Time::ps(statistics.get("period").unwrap_or(1_000));
    let layer = |index: usize| {
        let name = statistics.text(&format!("layer.{index}"))?;
        let (unit, shape) = name.split_once(' ').unwrap_or((name, ""));
        let get = |what: &str| statistics.get(&format!("layer.{index}.{what}")).map(Time::ps);
        let span = match (get("begin"), get("end")) {
            (Some(begin), Some(end)) => format!(", {}", counted((end - begin).cycles(period), "cycle")),
            _ => ", not finished".to_owned(),
        };
        Some(Layer { unit: unit.to_uppercase(), text: format!("{shape}{span}") })
    };
    (0..).map_while(layer).collect()
}

/// Many traces: a line each, and the count. `left_out` were not run.
pub(super) fn many(runs: &[Run], left_out: usize) -> Result<Verdict, Failure> {
    let passed = runs.iter().filter(|run| matches!(&run.result, Ok(ran) if ran.outcome.passed())).count();
    after(show_many(runs, passed, left_out), passed == runs.len() && left_out == 0)
}

fn show_many(runs: &[Run], passed: usize, left_out: usize) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let with_rtl = runs.iter().any(|run| matches!(&run.result, Ok(ran) if ran.rtl.is_some()));
    let header =
        ["test", "platform", "cycles", "RTL", "differs", "bytes read", "written", "read latency", "result"];
    let shown = |column: usize| with_rtl || !(3..5).contains(&column);
    let header: Vec<&str> =
        header.iter().enumerate().filter(|(index, _)| shown(*index)).map(|(_, title)| *title).collect();
    let right: Vec<usize> = (2..header.len() - 1).collect();
    let mut table = text::table(&header, &right);
    for run in runs {
        let cells = cells(run);
        table.add_row(cells.into_iter().enumerate().filter(|(index, _)| shown(*index)).map(|(_, cell)| cell));
    }
    writeln!(out, "{}", table.trim_fmt())?;
    let warned = |run: &Run| matches!(&run.result, Ok(ran) if !ran.warnings.is_empty());
    if passed < runs.len() || runs.iter().any(warned) {
        writeln!(out)?;
        for run in runs {
            explain(&mut out, run)?;
        }
    }
    if left_out > 0 {
        writeln!(
            out,
            "{} {} not run: the server is gone",
            styled(text::RED, "error:"),
            counted(left_out as u64, "trace")
        )?;
    }
    writeln!(out, "\n{passed} passed, {} failed", runs.len() - passed)?;
    Ok(())
}

fn cells(run: &Run) -> [String; 9] {
    let mut cells: [String; 9] = Default::default();
    (cells[0], cells[1]) = (run.name.clone(), run.configuration.clone());
    let Ok(ran) = &run.result else {
        cells[8] = verdict(false);
        return cells;
    };
    let get = |name: &str| ran.statistics.get(name);
    let cycles = get("nvdla.cycles");
    let or_dash = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), grouped);
    cells[1] = ran.platform.clone();
    cells[2] = or_dash(cycles);
    cells[3] = or_dash(ran.rtl);
    cells[4] = match (cycles, ran.rtl) {
        (Some(cycles), Some(rtl)) => difference(cycles, rtl),
        _ => "-".to_owned(),
    };
    let both = |what: &str| Some(get(&format!("dbb0.{what}"))? + get(&format!("sram0.{what}")).unwrap_or(0));
    cells[5] = or_dash(both("read.bytes"));
    cells[6] = or_dash(both("write.bytes"));
    cells[7] = or_dash(get("dbb0.read.latency.mean"));
    cells[8] = verdict(ran.outcome.passed());
    cells
}

/// Says what was wrong with a run that failed, a line for each thing.
fn explain(out: &mut impl Write, run: &Run) -> Result<(), Failure> {
    let Run { name, configuration, result } = run;
    match result {
        Ok(ran) => {
            if let Some(first) = ran.warnings.first() {
                let more = match ran.warnings.len() - 1 {
                    0 => String::new(),
                    more => format!(" ({} more)", counted(more as u64, "warning")),
                };
                writeln!(out, "{} {name}: {first}{more}", styled(text::YELLOW, "warning:"))?;
            }
            for failure in &ran.outcome.failures {
                // Names the script and the line itself.
                writeln!(out, "{} {failure}", styled(text::RED, "wrong:"))?;
            }
        }
        Err(failure) => writeln!(out, "{} {configuration}/{name}: {failure}", styled(text::RED, "error:"))?,
    }
    Ok(())
}

fn difference(cycles: u64, rtl: u64) -> String {
    let percent = 100.0 * (cycles as f64 - rtl as f64) / rtl.max(1) as f64;
    if cycles == rtl { "0 %".to_owned() } else { format!("{percent:+.2} %") }
}

fn verdict(passed: bool) -> String {
    if passed { styled(text::GREEN, "PASS") } else { styled(text::RED, "FAIL") }
}
