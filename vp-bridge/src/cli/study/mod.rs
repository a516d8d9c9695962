//! `vp study`: a question about a platform, asked at many points.

mod diff;
mod interrupt;
mod merge;
mod progress;
mod published;
mod report;

use super::parts::PartArgs;
use super::{Failure, Verdict, standard};
use crate::cli::out;
use clap::Subcommand;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use vp_study::energy::Coefficients;
use vp_study::{
    self as study, Bench, Finding, Finished, Layout, OnHost, Outcome, Outside, Planned, Point, Shard, Store,
    Study, WrongValue,
};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a commented study to start from
    New(NewArgs),
    /// Write the built-in energy coefficients, with their sources
    Energy(NewArgs),
    /// Merge the shards of a study into the tables and report of the whole
    Merge(merge::Args),
    /// Show which points changed between two folders of results, by layer, and why
    ///
    /// The exit status is 0 if no point changed by more than the threshold; 1 if one did, cannot run any more, or is only in A; and 2
    /// if the two cannot be compared: a folder cannot be read, or they have run different networks.
    Diff(diff::Args),
    /// Compare with NVIDIA's published estimates, layer by layer
    Published(published::Args),
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    /// File of the study; `vp study new` writes one to start from
    #[arg(value_name = "FILE", required = true, value_parser = super::standard::named())]
    file: Option<PathBuf>,

    #[command(flatten)]
    place: OutputArgs,

    #[command(flatten)]
    parts: PartArgs,

    /// Run only every N-th point, from the I-th; `vp study merge` merges the shards
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Run only this point, and show its layers; nothing is saved
    #[arg(long, value_name = "N", conflicts_with = "shard")]
    point: Option<usize>,

    /// Number of points that run at the same time [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Discard earlier results, and run all points
    #[arg(long)]
    fresh: bool,

    /// Run failed points again
    #[arg(long)]
    retry: bool,

    /// Run the other points if values are wrong: points with those fail
    #[arg(long)]
    keep_going: bool,
}

/// Folder of results.
#[derive(Debug, clap::Args)]
struct OutputArgs {
    /// Folder for results [default: FILE with .results for .toml]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl OutputArgs {
    fn folder(&self, file: &Path) -> PathBuf {
        self.output.clone().unwrap_or_else(|| file.with_extension("results"))
    }
}

#[derive(Debug, clap::Args)]
struct NewArgs {
    /// File to write [default: standard output]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

const STARTING: &str = include_str!("starting.toml");

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    match &args.command {
        Some(Command::New(args)) => {
            write_new(args, STARTING, |file| format!("run it with `vp study {file}`"))
        }
        Some(Command::Energy(args)) => {
            let told = |file: &str| {
                format!("use it with `vp run NETWORK --energy {file}`, or in a study: energy = \"{file}\"")
            };
            write_new(args, Coefficients::DEFAULT_TEXT, told)
        }
        Some(Command::Merge(args)) => merge::main(args),
        Some(Command::Diff(args)) => diff::main(args),
        Some(Command::Published(args)) => published::main(args),
        None => run(&args.run),
    }
}

/// Writes a text into a file that is not there yet, and tells what it is for; or shows it.
fn write_new(args: &NewArgs, text: &str, told: impl FnOnce(&str) -> String) -> Result<Verdict, Failure> {
    let Some(path) = args.file.as_ref().filter(|path| !standard::is_standard(path)) else {
        write!(out::stdout(), "{text}")?;
        return Ok(Verdict::Right);
    };
    let wrong = |error: std::io::Error| Failure::new(format!("cannot write {}: {error}", path.display()));
    let mut file = std::fs::File::create_new(path).map_err(wrong)?;
    file.write_all(text.as_bytes()).map_err(wrong)?;
    let path = path.display().to_string();
    writeln!(out::stdout(), "{path}: {}", told(&path))?;
    Ok(Verdict::Right)
}

/// A study with everything that is to be known before it runs.
struct Loaded {
    study: Study,
    layout: Layout,
    bench: Bench,
    points: Vec<Planned>,
    /// Findings of the study's search.
    findings: Vec<Finding>,
    /// Program that this is: what another has run does not count.
    program: String,
}

impl Loaded {
    fn from(file: &Path, parts: &PartArgs) -> Result<Loaded, Failure> {
        let study = Study::load(file).map_err(Failure::new)?;
        let mut bench = Bench::new(&study);
        if parts.first_given().is_some() {
            let (words, parts) = (parts.words(), parts.clone());
            let open =
                move |point, description: &_, run: &mut OnHost<'_>| parts.run_at(point, description, run);
            bench = bench.with_outside(Outside { words, open: Box::new(open) });
        }
        let layout = Layout::of(&study).map_err(|error| {
            // Its report may name what a misspelt parameter should be.
            let points = study::plan(&study, &bench, &HashSet::new());
            let unplanned: Vec<&Planned> = points.iter().filter(|planned| planned.job.is_err()).collect();
            let wrong = study::wrong_values(&study, &bench, &unplanned, NonZeroUsize::MIN);
            match wrong.is_empty() {
                true => Failure::new(error.in_file(file)),
                false => Failure::new(told(file, &wrong, study::none_runs(&points).is_some())),
            }
        })?;
        // What a search has found is looked at closely, and is not known yet.
        let chosen: HashSet<usize> = match study.search {
            Some(_) => HashSet::new(),
            None => layout.chosen().collect(),
        };
        let points = study::plan(&study, &bench, &chosen);
        let program = study::program().map_err(Failure::new)?;
        Ok(Loaded { study, layout, bench, points, findings: Vec::new(), program })
    }

    /// Takes up what a search's points came to: the points that it needs next, or what it has found. Whether it is over.
    fn explore(&mut self, kept: &HashMap<&str, &Finished>) -> Result<bool, Failure> {
        let frames = |point: &Point| {
            let key = match self.bench.job(point) {
                Ok(job) => job.key,
                Err(_) => self.bench.key_of_failure(point),
            };
            Some(match &kept.get(key.as_str())?.outcome {
                Outcome::Ran(measured) => Ok(measured.frames_per_second()),
                Outcome::Failed(why) => Err(why.clone()),
            })
        };
        let (study, findings) = self.study.explored(frames);
        let is_over = findings.len() == study.combinations();
        let found: Vec<usize> = findings.iter().filter_map(|finding| finding.point).collect();
        self.layout = Layout::of(&study).map_err(Failure::new)?.looking_closely_at(&found);
        let chosen: HashSet<usize> = if is_over { self.layout.chosen().collect() } else { HashSet::new() };
        self.points = study::plan(&study, &self.bench, &chosen);
        (self.study, self.findings) = (study, findings);
        Ok(is_over)
    }

    /// Refuses a study whose values are wrong, before anything runs; with `keep_going` if nothing of it can.
    fn check(
        &self,
        file: &Path,
        missing: &[&Planned],
        jobs: NonZeroUsize,
        keep_going: bool,
    ) -> Result<(), Failure> {
        let none = study::none_runs(&self.points).is_some();
        let mut wrong = Vec::new();
        if none || !keep_going {
            wrong = study::wrong_values(&self.study, &self.bench, missing, jobs);
        }
        let goals = study::impossible_goals(&self.study, &self.points);
        let hint = match (none, goals.is_empty()) {
            (false, true) => "nothing has been run; --keep-going runs the points that can",
            _ => "nothing has been run",
        };
        wrong.extend(goals);
        if wrong.is_empty() {
            return Ok(());
        }
        Err(Failure::new(told(file, &wrong, none)).hint(hint))
    }
}

/// Wrong values, a line each.
fn told(file: &Path, wrong: &[WrongValue], none: bool) -> String {
    /// Lines at most: more say nothing new.
    const MOST: usize = 20;
    let head = if none { "no point can run" } else { "values are wrong" };
    let mut lines = vec![format!("{}: {head}", file.display())];
    lines.extend(wrong.iter().take(MOST).map(|value| value.in_file(file).to_string()));
    if let Some(others) = wrong.len().checked_sub(MOST).filter(|others| *others > 0) {
        lines.push(format!("and {others} others"));
    }
    lines.join("\n")
}

fn run(args: &RunArgs) -> Result<Verdict, Failure> {
    let Some(file) = &args.file else { return Err(Failure::new("no study is named")) };
    let interrupt = interrupt::Interrupt::listen()?;
    let mut loaded = Loaded::from(file, &args.parts)?;
    let folder = args.place.folder(file);
    if let Some(number) = args.point {
        if loaded.study.search.is_some() {
            let kept = Store::read(&folder.join(Shard::WHOLE.file())).unwrap_or_default();
            loaded.explore(&study::of_program(&kept, &loaded.program))?;
        }
        return report::point(&loaded, number);
    }
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    if loaded.study.search.is_some() && shard != Shard::WHOLE {
        return Err(Failure::new("--shard: a search needs its points one after the other")
            .hint("run it on one machine: it needs few"));
    }
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let own = loaded.points.iter().filter(|planned| shard.has(&planned.point)).collect::<Vec<_>>();
    let path = folder.join(shard.file());
    // What was run needs no plan to be told; where nothing was, there is no file yet, and what is wrong leaves none.
    let kept =
        if args.fresh || !path.exists() { Vec::new() } else { Store::read(&path).map_err(Failure::new)? };
    let kept = study::of_program(&kept, &loaded.program);
    let unknown: Vec<&Planned> = own
        .into_iter()
        .filter(|planned| planned.job.is_err() || !kept.contains_key(planned.key.as_str()))
        .collect();
    loaded.check(file, &unknown, jobs, args.keep_going)?;
    let open = if args.fresh { Store::begin } else { Store::open };
    let mut store = open(&path).map_err(Failure::new)?;
    progress::of_others(&store, &loaded.program)?;
    let mut is_over = loaded.study.search.is_none() || loaded.explore(&store.of_program(&loaded.program))?;
    loop {
        run_missing(&loaded, &mut store, (shard, jobs), args.retry, &interrupt)?;
        if is_over {
            break;
        }
        is_over = loaded.explore(&store.of_program(&loaded.program))?;
    }
    if shard != Shard::WHOLE {
        let own: Vec<Planned> =
            loaded.points.iter().filter(|planned| shard.has(&planned.point)).cloned().collect();
        return report::shard(&own, &store, &loaded.program, shard, &folder);
    }
    report::whole(&loaded, &store, &folder, file)
}

/// Runs what is not kept yet.
fn run_missing(
    loaded: &Loaded,
    store: &mut Store,
    (shard, jobs): (Shard, NonZeroUsize),
    retry: bool,
    interrupt: &interrupt::Interrupt,
) -> Result<(), Failure> {
    let own: Vec<Planned> =
        loaded.points.iter().filter(|planned| shard.has(&planned.point)).cloned().collect();
    let missing = study::missing(&own, store, &loaded.program, retry);
    let mut bar = progress::Bar::new(own.len(), &missing, jobs);
    interrupt.stands_at(own.len() - missing.len(), own.len(), bar.handle());
    study::run(&missing, &loaded.bench, (store, &loaded.program), jobs, |planned, finished, took| {
        interrupt.kept();
        bar.done(planned, finished, took);
    })
    .map_err(Failure::new)?;
    bar.finish();
    Ok(())
}
