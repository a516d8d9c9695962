//! `vp compare-rtl`: runs what was measured on the vendor's RTL, and shows how far the model is from it.

mod files;
mod networks;
mod plot;
mod report;

use super::record::{self, Record};
use super::{Failure, Verdict, standard, terminal};
use indicatif::ProgressBar;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use vp_host::trace::{Trace, TraceSource, discover};
use vp_study::rtl::distribution::{self, Bounds, Distribution, TableDistribution};
use vp_study::rtl::log;
use vp_study::rtl::measurements::Measurements;
use vp_study::rtl::run::{Run, run};
use vp_study::rtl::table::{Row, Setting, Table};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder with the tables: CONFIG.csv, CONFIG.master.csv and `logs`; networks are in it or in its folder `networks`
    #[arg(value_name = "DIR")]
    tables: PathBuf,

    /// Folder with the traces that were measured [default: `traces` beside DIR]
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,

    /// Compare only this configuration or table, such as nv_small or nv_small.master
    #[arg(long, value_name = "NAME")]
    config: Option<String>,

    /// Compare only tests and networks whose name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// Write a plot of the model's cycles against the RTL's
    #[arg(long, value_name = "FILE", value_parser = standard::named())]
    svg: Option<PathBuf>,

    /// Write every row as CSV, with the cycles and traffic of both sides
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Print the rows as JSON in place of text
    #[arg(long)]
    json: bool,

    /// Write the distribution of errors of each table
    #[arg(long, value_name = "FILE", value_parser = standard::named())]
    distribution: Option<PathBuf>,
}

/// Traces by configuration and test, or why one could not be read.
type Traces<'a> = HashMap<(&'a str, &'a str), Result<Trace, String>>;

/// A row of a table and what the model makes of it.
struct Compared<'a> {
    table: &'a Table,
    row: &'a Row,
    /// Run of the model, or the reason for which it could not run.
    run: Result<Run, String>,
    /// Places at which the traffic is not the RTL's.
    traffic: Vec<String>,
    /// True if the order of addresses was compared with a log.
    logged: bool,
}

impl Compared<'_> {
    /// The model's cycles and the RTL's.
    fn cycles(&self) -> Option<(u64, u64)> {
        self.run.as_ref().ok().map(|run| (run.cycles, self.row.cycles))
    }
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let found = measurements(args)?;
    let networks = networks::compare(&found.networks);
    // Of networks alone there are no traces.
    let traces = if found.tables.is_empty() { Traces::new() } else { traces(args, &found.tables)? };
    let wanted = |row: &&Row| args.filter.as_ref().is_none_or(|text| row.test.contains(text.as_str()));
    let pairs =
        found.tables.iter().flat_map(|table| table.rows.iter().filter(wanted).map(move |row| (table, row)));
    let (known, unknown): (Vec<_>, Vec<_>) =
        pairs.partition(|(table, row)| traces.contains_key(&(table.config.as_str(), row.test.as_str())));
    if known.is_empty() && networks.is_empty() {
        return Err(Failure::new(
            "nothing to compare: no such network, and no table has such a test whose trace is here",
        ));
    }
    let bar = progress(known.len());
    let compared: Vec<Compared<'_>> = known
        .par_iter()
        .map(|&(table, row)| {
            let trace = &traces[&(table.config.as_str(), row.test.as_str())];
            let compared = compare_row(&args.tables, table, row, trace);
            bar.inc(1);
            compared
        })
        .collect::<Result<_, _>>()?;
    bar.finish_and_clear();
    let records = || files::records(&compared, &networks);
    let is_taken = standard::takes_output(args.csv.as_deref(), args.json)?;
    if let Some(path) = &args.csv {
        record::write_csv(path, &records())?;
    }
    if let Some(path) = &args.svg {
        plot::write(path, &compared)?;
    }
    if let Some(path) = &args.distribution {
        distribution::write(path, &distributions(&compared)).map_err(Failure::new)?;
    }
    if args.json || is_taken {
        let is_right = report::is_right(&networks, &compared);
        if args.json {
            let whole = Record::default().with("is_right", is_right).with("left_out", unknown.len());
            record::print(&whole.with("rows", records()))?;
        }
        return Ok(if is_right { Verdict::Right } else { Verdict::Wrong });
    }
    report::show(&networks, &compared, &unknown)
}

/// Reads the measurements that are asked for.
fn measurements(args: &Args) -> Result<Measurements, Failure> {
    let mut found = Measurements::of(&args.tables).map_err(Failure::new)?;
    if let Some(name) = &args.config {
        let names: Vec<String> = found.tables.iter().map(|table| table.name.clone()).collect();
        found.tables.retain(|table| table.name == *name || table.config == *name);
        found.networks.retain(|row| row.case.is_of(name));
        if found.tables.is_empty() && found.networks.is_empty() {
            let there = format!("there are {}", names.join(", "));
            return Err(Failure::new(format!("no table of the RTL's cycles for `{name}`")).hint(there));
        }
    }
    if let Some(text) = &args.filter {
        found.networks.retain(|row| row.case.network.contains(text.as_str()));
    }
    Ok(found)
}

/// The traces of the tables' configurations, by configuration and test. Each is read once.
fn traces<'a>(args: &Args, tables: &'a [Table]) -> Result<Traces<'a>, Failure> {
    let folder = match &args.traces {
        Some(folder) => folder.clone(),
        None => beside(&args.tables)?,
    };
    let sources = discover(&folder).map_err(|error| {
        Failure::new(error).hint("--traces DIR names the folder with the traces that were run")
    })?;
    let sources: HashMap<(&str, &str), &TraceSource> = sources
        .iter()
        .filter_map(|source| Some(((source.configuration.as_deref()?, source.name.as_str()), source)))
        .collect();
    let mut wanted: Vec<(&str, &str)> = tables
        .iter()
        .flat_map(|table| table.rows.iter().map(|row| (table.config.as_str(), row.test.as_str())))
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    let load = |key: &(&'a str, &'a str)| {
        let source = sources.get(key)?;
        Some((*key, Trace::load(&source.script).map_err(|error| error.to_string())))
    };
    Ok(wanted.par_iter().filter_map(load).collect())
}

/// The folder `traces` beside the one with the tables.
fn beside(tables: &Path) -> Result<PathBuf, Failure> {
    let absolute = std::path::absolute(tables)?;
    Ok(absolute.parent().unwrap_or(&absolute).join("traces"))
}

fn compare_row<'a>(
    folder: &Path,
    table: &'a Table,
    row: &'a Row,
    trace: &Result<Trace, String>,
) -> Result<Compared<'a>, Failure> {
    let description = table.description(row.setting).map_err(Failure::new)?;
    let mut run = trace.as_ref().map_err(Clone::clone).and_then(|trace| run(trace, &description));
    let mut compared = Compared { table, row, run: Err(String::new()), traffic: Vec::new(), logged: false };
    if let Ok(run) = &mut run {
        compared.traffic = run.traffic_differences(row);
        if let Some(log) = log::of_row(folder, table, row).map_err(Failure::new)? {
            compared.logged = true;
            compared.traffic.extend(log::differences(&run.requests, &log));
        }
        // Of no use from here on, and there may be many.
        run.requests.clear();
    }
    compared.run = run;
    Ok(compared)
}

/// The errors of a set of rows, as they are.
fn raw<'a>(compared: impl IntoIterator<Item = &'a Compared<'a>>) -> Distribution {
    let cycles = compared.into_iter().filter_map(Compared::cycles);
    Distribution::of(cycles.map(|(model, rtl)| distribution::error_ppm(model, rtl)))
}

/// Returns true if a set of rows is as near as is asked.
fn near_enough<'a>(compared: impl IntoIterator<Item = &'a Compared<'a>>) -> bool {
    let cycles = compared.into_iter().filter_map(Compared::cycles);
    let errors = cycles.map(|(model, rtl)| Bounds::ASKED.error(model, rtl));
    Bounds::ASKED.hold(&Distribution::of(errors))
}

/// Rows by table, in the tables' order.
fn by_table<'a>(compared: &'a [Compared<'a>]) -> Vec<(&'a str, Vec<&'a Compared<'a>>)> {
    let mut groups: Vec<(&str, Vec<&Compared<'_>>)> = Vec::new();
    for row in compared {
        match groups.last_mut() {
            Some((name, rows)) if *name == row.table.name => rows.push(row),
            _ => groups.push((&row.table.name, vec![row])),
        }
    }
    groups
}

/// Rows by the memory they were measured with.
fn by_setting<'a>(
    rows: impl IntoIterator<Item = &'a Compared<'a>>,
) -> BTreeMap<Setting, Vec<&'a Compared<'a>>> {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for row in rows {
        groups.entry(row.row.setting).or_default().push(row);
    }
    groups
}

/// The errors of each table, and of each memory in it.
fn distributions(compared: &[Compared<'_>]) -> Vec<TableDistribution> {
    let mut kept = Vec::new();
    for (table, rows) in by_table(compared) {
        let mut keep = |group: String, distribution| {
            kept.push(TableDistribution { table: table.to_owned(), group, distribution });
        };
        keep("all".to_owned(), raw(rows.iter().copied()));
        for (setting, rows) in by_setting(rows) {
            keep(setting.to_string(), raw(rows));
        }
    }
    kept
}

fn progress(rows: usize) -> ProgressBar {
    terminal::progress(rows, "{bar:28} {pos}/{len} rows  {elapsed}")
}
