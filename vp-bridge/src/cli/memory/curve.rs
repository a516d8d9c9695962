//! `vp memory curve`: a memory's latency over its bandwidth.

use super::{MemoryArgs, MemoryName, gigabytes, headline};
use crate::cli::record::{self, Record};
use crate::cli::text::{grouped, table};
use crate::cli::{Failure, VERSION, Verdict, out, standard};
use std::io::Write;
use std::path::{Path, PathBuf};
use vp_core::Time;
use vp_models::memory::{LoadCurve, LoadPoint, MemoryFormula, Mix};
use vp_models::platform::Description;
use vp_study::{MemoryCurves, report};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Platform's file, or a file that has only `[dram]` or `[dbb0.dram]` [default: that of --platform]
    #[arg(value_name = "FILE", conflicts_with = "platform")]
    file: Option<String>,

    #[command(flatten)]
    chosen: MemoryArgs,

    /// Memory of which curves are drawn [default: each that has a bandwidth]
    #[arg(long, value_enum)]
    memory: Option<MemoryName>,

    /// Requests at each load, or more: as many as come in 15 µs
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    requests: u32,

    /// Seed of times, addresses and directions
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Write the points as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write a page with the charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Print JSON in place of text
    #[arg(long)]
    json: bool,
}

/// A memory and its curves.
struct Measured {
    memory: MemoryName,
    curves: MemoryCurves,
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let files: Vec<&Path> = [&args.csv, &args.html].into_iter().flatten().map(PathBuf::as_path).collect();
    let has_output = standard::takes_output(files, args.json)?;
    let description = args.chosen.description(args.file.as_deref())?;
    let measured = measured(args, &description)?;
    if args.json {
        let all: Vec<Record> = measured.iter().map(json).collect();
        record::print(&all)?;
    } else if !has_output {
        let mut out = out::stdout();
        for (number, Measured { memory, curves }) in measured.iter().enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            writeln!(out, "{}", headline(&description, *memory, &curves.formula))?;
            show(&mut out, curves)?;
        }
    }
    if let Some(path) = &args.csv {
        let records: Vec<Record> = measured.iter().flat_map(records).collect();
        record::write_csv(path, &records)?;
    }
    if let Some(path) = &args.html {
        let curves: Vec<MemoryCurves> = measured.into_iter().map(|measured| measured.curves).collect();
        let of = args.file.as_deref().unwrap_or(&description.name);
        let asked =
            format!("vp memory curve, {} requests at each load, seed {}", grouped(args.requests), args.seed);
        let page = report::memory_page(&format!("Memories of {of}"), &curves, VERSION, &asked)
            .map_err(Failure::new)?;
        standard::write(path, page)?;
    }
    Ok(Verdict::Right)
}

fn measured(args: &Args, description: &Description) -> Result<Vec<Measured>, Failure> {
    let has_second = description.device.has_second_memory();
    let memories = match args.memory {
        Some(MemoryName::Sram0) if !has_second => {
            return Err(Failure::new(format!("{} has no memory `sram0`", description.name)));
        }
        Some(memory) => vec![memory],
        None if has_second => vec![MemoryName::Dbb0, MemoryName::Sram0],
        None => vec![MemoryName::Dbb0],
    };
    let mut measured = Vec::new();
    for &memory in &memories {
        let curves = MemoryCurves::measure(description, memory.name(), args.requests, args.seed);
        measured.extend(curves.map_err(Failure::new)?.map(|curves| Measured { memory, curves }));
    }
    if measured.is_empty() {
        let names: Vec<&str> = memories.into_iter().map(MemoryName::name).collect();
        let what =
            format!("{} of {}: a latency alone, without a bandwidth", names.join(" and "), description.name);
        return Err(
            Failure::new(what).hint("take a DRAM, such as --dram DDR4-2400R, or --set dbb0.sram.banks=4")
        );
    }
    Ok(measured)
}

fn nanoseconds(time: Time) -> f64 {
    time.as_ps() as f64 / 1e3
}

const fn mix(mix: Mix) -> &'static str {
    match mix {
        Mix::Reads => "reads",
        Mix::TwoToOne => "2 : 1",
        Mix::OneToOne => "1 : 1",
    }
}

/// Share of the pins' rate at which latencies are shown to people.
const SHOWN: [f64; 4] = [0.1, 0.3, 0.5, 0.7];

fn show(out: &mut impl Write, curves: &MemoryCurves) -> Result<(), Failure> {
    let MemoryFormula { clock, unloaded, row_hit, peak, refreshed } = curves.formula;
    let clocks = |time: Time| {
        format!("{:.1} ns ({} clocks)", nanoseconds(time), time.as_ps().div_ceil(clock.as_ps().max(1)))
    };
    if let Some(time) = unloaded {
        let open = row_hit
            .filter(|hit| *hit != time)
            .map_or_else(String::new, |hit| format!(", of an open row {}", clocks(hit)));
        writeln!(out, "by formula   a read without load takes {}{open}", clocks(time))?;
    }
    if let Some(peak) = peak {
        let left = refreshed
            .filter(|left| *left != peak)
            .map_or_else(String::new, |left| format!(", {} less refreshes", gigabytes(left)));
        writeln!(out, "             the pins move {}{left}", gigabytes(peak))?;
    }
    let shares = SHOWN.map(|share| format!("at {:.0} %", 100.0 * share));
    let header: Vec<&str> = ["reads, writes", "addresses", "GB/s", "of the pins", "least load"]
        .into_iter()
        .chain(shares.iter().map(String::as_str))
        .collect();
    let mut rows = table(&header, &[2, 3, 4, 5, 6, 7, 8]);
    let peak = peak.unwrap_or(f64::INFINITY);
    let latency = |point: &LoadPoint| format!("{:.1}", nanoseconds(point.read_mean));
    for (curve, points) in &curves.curves {
        let most = points.iter().map(|point| point.rate).fold(0.0, f64::max);
        let at = |share: f64| {
            // Arrivals are random, so a load is what it is about.
            let is_near = |point: &&LoadPoint| (point.offered / (share * peak) - 1.0).abs() < 0.08;
            let kept = points.iter().filter(|point| !point.is_saturated);
            kept.filter(is_near).map(latency).next().unwrap_or_default()
        };
        let mut row = vec![
            mix(curve.mix).to_owned(),
            curve.pattern.to_string(),
            format!("{:.2}", most / 1e9),
            format!("{:.1} %", 100.0 * most / peak),
            points.first().map_or_else(String::new, latency),
        ];
        row.extend(SHOWN.map(at));
        rows.add_row(row);
    }
    let about = "most that is moved, and mean read latency in ns by the load, of what the pins can move";
    writeln!(out, "\n{about}\n{}", rows.trim_fmt())?;
    Ok(())
}

/// A point with what it is of.
fn record((curve, point): (&LoadCurve, &LoadPoint)) -> Record {
    Record::default()
        .with("mix", curve.mix.to_string())
        .with("addresses", curve.pattern.to_string())
        .with("offered_bytes_per_second", point.offered.round())
        .with("bytes_per_second", point.rate.round())
        .with("read_latency_mean_ns", nanoseconds(point.read_mean))
        .with("read_latency_p99_ns", nanoseconds(point.read_p99))
        .with("is_saturated", point.is_saturated)
}

fn records(measured: &Measured) -> Vec<Record> {
    let points = measured
        .curves
        .curves
        .iter()
        .flat_map(|(curve, points)| points.iter().map(move |point| (curve, point)));
    let memory = measured.memory.name();
    points.map(|point| Record::default().with("memory", memory).and(record(point))).collect()
}

fn json(measured: &Measured) -> Record {
    let MemoryFormula { clock, unloaded, row_hit, peak, refreshed } = measured.curves.formula;
    let points = measured
        .curves
        .curves
        .iter()
        .flat_map(|(curve, points)| points.iter().map(move |point| (curve, point)));
    Record::default()
        .with("memory", measured.memory.name())
        .with("description", &measured.curves.title)
        .with("clock_ps", clock.as_ps())
        .with("unloaded_ns", unloaded.map(nanoseconds))
        .with("row_hit_ns", row_hit.map(nanoseconds))
        .with("peak_bytes_per_second", peak)
        .with("refreshed_bytes_per_second", refreshed)
        .with("points", points.map(record).collect::<Vec<_>>())
}
