//! `vp study diff`: what moved between two folders of results, by layer, and why.

use crate::cli::out;
use crate::cli::record::{self, Record};
use crate::cli::text::{self, counted, grouped, styled};
use crate::cli::{Failure, Verdict, standard};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use vp_study::{
    Difference, Finished, InputDifference, LayerDifference, PointDifference, RunFigures, Store, change,
    network_names,
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of results to compare with, or its points.jsonl
    #[arg(value_name = "A")]
    first: PathBuf,

    /// Folder of results to compare. A folder stands for the results of the build of vp that ran last in it; if A and B are the same
    /// folder, A stands for those of the build before
    #[arg(value_name = "B")]
    second: PathBuf,

    /// Share of a point's cycles, such as 0.01 or 1%, above which a difference counts
    #[arg(long, value_name = "SHARE", default_value = "0")]
    threshold: Share,

    /// Exit with 0 where points only became faster
    #[arg(long)]
    allow_faster: bool,

    /// Number of layers to show for each point, those that changed most first
    #[arg(long, value_name = "N", default_value_t = 5)]
    layers: usize,

    /// Print the differences as JSON in place of text
    #[arg(long)]
    json: bool,

    /// Write each layer that changed as a line of CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// A share, from zero on.
#[derive(Clone, Copy, Debug)]
struct Share(f64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let (number, scale) = match text.trim().strip_suffix('%') {
            Some(number) => (number.trim(), 100.0),
            None => (text.trim(), 1.0),
        };
        let share = number.parse::<f64>().ok().map(|number| number / scale);
        let share = share.filter(|share| *share >= 0.0 && share.is_finite());
        share
            .map(Share)
            .ok_or_else(|| format!("`{text}` is no share: write a number from 0 on, or per cent, such as 1%"))
    }
}

impl Args {
    /// Returns true if a point makes the command fail.
    fn counts(&self, point: &PointDifference) -> bool {
        let is_faster =
            point.change().is_some_and(|change| change < 0.0) || matches!(point.runs, [Err(_), Ok(_)]);
        point.is_beyond(self.threshold.0) && !(self.allow_faster && is_faster)
    }
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    compare(args).map_err(Failure::of_comparison)
}

fn compare(args: &Args) -> Result<Verdict, Failure> {
    let [first, second] = [points(&args.first)?, points(&args.second)?];
    let is_same = args.first.canonicalize().ok() == args.second.canonicalize().ok();
    let first = of_build(&first, usize::from(is_same), &args.first)?;
    let second = of_build(&second, 0, &args.second)?;
    let difference = Difference::between(&first, &second);
    check_comparable(args, &difference, [&first, &second])?;
    let is_taken = standard::takes_output(args.csv.as_deref(), args.json)?;
    if let Some(path) = &args.csv {
        record::write_csv(path, &difference.points.iter().flat_map(layer_records).collect::<Vec<_>>())?;
    }
    match args.json {
        true => record::print(&whole_record(args, &difference))?,
        false if is_taken => {}
        false => show(args, &difference)?,
    }
    let is_wrong =
        !difference.only_first.is_empty() || difference.points.iter().any(|point| args.counts(point));
    Ok(if is_wrong { Verdict::Wrong } else { Verdict::Right })
}

/// Refuses results that cannot be held beside each other: of other networks, or without a point in common.
fn check_comparable(args: &Args, difference: &Difference, all: [&Vec<&Finished>; 2]) -> Result<(), Failure> {
    let places = [&args.first, &args.second].map(|path| path.display().to_string());
    let networks = |names: [String; 2]| {
        let [a, b] = names;
        Failure::new(format!("{} has run {a}, and {} has run {b}", places[0], places[1]))
            .hint("frames of different networks are not compared")
    };
    if let Some(names) = difference.other_networks.first() {
        return Err(networks(names.clone()));
    }
    if !difference.points.is_empty() {
        return Ok(());
    }
    let names = all.map(|points| network_names(points.iter().copied()));
    let is_disjoint = !names[0].iter().any(|name| names[1].contains(name));
    if is_disjoint && names.iter().all(|names| !names.is_empty()) {
        return Err(networks(names.map(|names| names.join(", "))));
    }
    Err(Failure::new(format!("no point is in both {} and {}", places[0], places[1]))
        .hint("a point is the same if what varies in it has the same values"))
}

/// All points that are kept at a place: a file, or those of a folder.
fn points(place: &Path) -> Result<Vec<Finished>, Failure> {
    let file = if place.is_dir() { place.join("points.jsonl") } else { place.to_owned() };
    Store::read(&file).map_err(|error| {
        Failure::new(error)
            .hint("name a folder of results, such as mine.results, in which a study or `merge` has run")
    })
}

/// Returns what a build has run: the last one, or so many before that, by their last points.
fn of_build<'a>(all: &'a [Finished], before: usize, place: &Path) -> Result<Vec<&'a Finished>, Failure> {
    let mut builds: Vec<&str> = Vec::new();
    for finished in all.iter().rev() {
        if !builds.contains(&finished.program.as_str()) {
            builds.push(&finished.program);
        }
    }
    let Some(build) = builds.get(before) else {
        let what = match builds.len() {
            0 => format!("{}: no point has been run", place.display()),
            _ => format!("{}: one build of vp has run points there, and two are compared", place.display()),
        };
        return Err(Failure::new(what));
    };
    Ok(all.iter().filter(|finished| finished.program == *build).collect())
}

fn show(args: &Args, difference: &Difference) -> Result<(), Failure> {
    let mut out = out::stdout();
    show_inputs(&mut out, difference)?;
    let moved: Vec<&PointDifference> =
        difference.points.iter().filter(|point| point.is_beyond(args.threshold.0)).collect();
    if !moved.is_empty() {
        let mut table = text::table(&["point", "cycles a frame", "then", "moved"], &[1, 2, 3]);
        for point in &moved {
            let cells = point.runs.each_ref().map(|run| match run {
                Ok(run) => grouped(run.cycles.round() as u64),
                Err(_) => "failed".to_owned(),
            });
            let [first, second] = cells;
            table.add_row([point.point.clone(), first, second, moved_said(point.change())]);
        }
        writeln!(out, "{}\n", table.trim_fmt())?;
    }
    for point in &moved {
        show_point(&mut out, args, point)?;
    }
    for (points, what) in [(&difference.only_first, "only in A"), (&difference.only_second, "only in B")] {
        if let Some(first) = points.first() {
            let others =
                if points.len() > 1 { format!(", and {} others", points.len() - 1) } else { String::new() };
            writeln!(out, "{what}: {first}{others}")?;
        }
    }
    let (all, beyond) = (counted(difference.points.len() as u64, "point"), moved.len());
    let share = 100.0 * args.threshold.0;
    Ok(writeln!(out, "{all} in both, {beyond} moved by more than {share} %")?)
}

/// Shows what was not the same before anything ran.
fn show_inputs(out: &mut impl Write, difference: &Difference) -> Result<(), Failure> {
    /// Lines at most: of values that follow from another one there are as many as points.
    const MOST: usize = 12;
    if difference.has_unknown_inputs {
        let what = "An older vp has run points of these results: with which values is not known.";
        writeln!(out, "{}\n", styled(text::DIM, what))?;
    }
    let all = &difference.inputs;
    if all.is_empty() {
        return Ok(());
    }
    let mut table = text::table(&["run with other values", "A", "B", "points"], &[3]);
    for InputDifference { key, values, points } in all.iter().take(MOST) {
        let [a, b] = values.each_ref().map(|value| value.clone().unwrap_or_else(|| "-".to_owned()));
        table.add_row([key.clone(), a, b, points.to_string()]);
    }
    writeln!(out, "{}", text::fitted(table))?;
    if let Some(others) = all.len().checked_sub(MOST).filter(|others| *others > 0) {
        writeln!(out, "and {}: --json has all", counted(others as u64, "other"))?;
    }
    Ok(writeln!(out)?)
}

fn show_point(out: &mut impl Write, args: &Args, point: &PointDifference) -> Result<(), Failure> {
    for (run, which) in point.runs.iter().zip(["A", "B"]) {
        if let Err(why) = run {
            writeln!(out, "{}: {} in {which}: {why}\n", point.point, styled(text::RED, "failed"))?;
        }
    }
    if point.layers.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", styled(text::YELLOW, &point.point))?;
    let mut table = text::table(&["layer", "cycles a frame", "then", "moved", "why"], &[1, 2, 3]);
    for layer in point.layers.iter().take(args.layers) {
        let [first, second] = layer.cycles.map(|cycles| grouped(cycles.round() as u64));
        let moved = moved_said(Some(change(layer.cycles)));
        table.add_row([layer.name.clone(), first, second, moved, causes(layer).join("; ")]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    if let Some(others) = point.layers.len().checked_sub(args.layers).filter(|others| *others > 0) {
        writeln!(out, "{} moved less: --layers {}", counted(others as u64, "other"), point.layers.len())?;
    }
    Ok(writeln!(out)?)
}

fn causes(layer: &LayerDifference) -> Vec<String> {
    layer.causes.iter().map(ToString::to_string).collect()
}

/// Says how far something moved, in per cent with a sign.
fn moved_said(change: Option<f64>) -> String {
    match change {
        // What was nothing before is no share of it.
        Some(change) if change.abs() > 1e3 => "-".to_owned(),
        Some(change) => format!("{:+.2} %", 100.0 * change),
        None => "-".to_owned(),
    }
}

fn whole_record(args: &Args, difference: &Difference) -> Record {
    let moved: Vec<Record> = difference
        .points
        .iter()
        .filter(|point| point.is_beyond(args.threshold.0))
        .map(|point| {
            point_record(point).with("layers", point.layers.iter().map(layer_record).collect::<Vec<_>>())
        })
        .collect();
    Record::default()
        .with("threshold", args.threshold.0)
        .with("points", difference.points.len())
        .with("inputs", difference.inputs.iter().map(input_record).collect::<Vec<_>>())
        .with("has_unknown_inputs", difference.has_unknown_inputs)
        .with("moved", moved)
        .with("only_in_a", &difference.only_first)
        .with("only_in_b", &difference.only_second)
}

fn input_record(difference: &InputDifference) -> Record {
    let [a, b] = &difference.values;
    Record::default().with("key", &difference.key).with("a", a).with("b", b).with("points", difference.points)
}

fn point_record(point: &PointDifference) -> Record {
    let [first, second] = &point.runs;
    let of = |run: &Result<RunFigures, String>| run.as_ref().ok().cloned();
    let (a, b) = (of(first), of(second));
    Record::default()
        .with("point", &point.point)
        .with("cycles_per_frame_a", a.as_ref().map(|run| run.cycles))
        .with("cycles_per_frame_b", b.as_ref().map(|run| run.cycles))
        .with("frames_per_second_a", a.as_ref().map(|run| run.frames_per_second))
        .with("frames_per_second_b", b.as_ref().map(|run| run.frames_per_second))
        .with("change", point.change())
        .with("failure_a", first.as_ref().err())
        .with("failure_b", second.as_ref().err())
}

fn layer_record(layer: &LayerDifference) -> Record {
    let [a, b] = layer.cycles;
    Record::default()
        .with("name", &layer.name)
        .with("cycles_per_frame_a", a)
        .with("cycles_per_frame_b", b)
        .with("causes", causes(layer))
}

/// A line for each layer of a point.
fn layer_records(point: &PointDifference) -> Vec<Record> {
    let line = |layer: &LayerDifference| {
        let [a, b] = layer.cycles;
        Record::default()
            .with("point", &point.point)
            .with("name", &layer.name)
            .with("cycles_per_frame_a", a)
            .with("cycles_per_frame_b", b)
            .with("causes", causes(layer))
    };
    point.layers.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_numbers_or_per_cent() {
        let share = |text: &str| text.parse::<Share>().map(|share| share.0);
        assert_eq!(
            [share("0.01"), share("1%"), share("1 %"), share("0")],
            [Ok(0.01), Ok(0.01), Ok(0.01), Ok(0.0)]
        );
        for wrong in ["-1", "a", "", "%", "inf"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
