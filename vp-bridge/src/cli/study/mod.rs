//! `vp study`: a question about a platform, asked at many points.

mod merge;
mod progress;
mod published;
mod report;

use super::parts::PartArgs;
use super::{Failure, Verdict};
use clap::Subcommand;
use std::collections::HashSet;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use vp_study::energy::Coefficients;
use vp_study::{self as study, Bench, Layout, OnHost, Outside, Planned, Shard, Store, Study};

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
    /// Write the coefficients of energy that are built in, with their sources
    Energy(NewArgs),
    /// Bring the shards of a study together: tables and report of the whole
    Merge(merge::Args),
    /// Compare with NVIDIA's published estimates, layer by layer
    Published(published::Args),
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    /// The study; `vp study new` writes one to start from
    #[arg(value_name = "FILE", required = true)]
    file: Option<PathBuf>,

    #[command(flatten)]
    place: OutputArgs,

    #[command(flatten)]
    parts: PartArgs,

    /// Run only every N-th point, from the I-th; `vp study merge` brings the shards together
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Run this point alone, and show its layers; nothing is kept
    #[arg(long, value_name = "N", conflicts_with = "shard")]
    point: Option<usize>,

    /// Points that run at the same time [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Forget what has been run
    #[arg(long)]
    fresh: bool,

    /// Run points that failed again
    #[arg(long)]
    retry: bool,
}

/// Where results go.
#[derive(Debug, clap::Args)]
struct OutputArgs {
    /// The folder for results [default: FILE with .results for .toml]
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
    /// Where to write it; shown if left out
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
        Some(Command::Published(args)) => published::main(args),
        None => run(&args.run),
    }
}

/// Writes a text into a file that is not there yet, and tells what it is for; or shows it.
fn write_new(args: &NewArgs, text: &str, told: impl FnOnce(&str) -> String) -> Result<Verdict, Failure> {
    let Some(path) = &args.file else {
        write!(anstream::stdout(), "{text}")?;
        return Ok(Verdict::Right);
    };
    let wrong = |error: std::io::Error| Failure::new(format!("cannot write {}: {error}", path.display()));
    let mut file = std::fs::File::create_new(path).map_err(wrong)?;
    file.write_all(text.as_bytes()).map_err(wrong)?;
    let path = path.display().to_string();
    writeln!(anstream::stdout(), "{path}: {}", told(&path))?;
    Ok(Verdict::Right)
}

/// A study with everything that is to be known before it runs.
struct Loaded {
    study: Study,
    layout: Layout,
    bench: Bench,
    points: Vec<Planned>,
    /// Which program this is: what another has run does not count.
    program: String,
}

impl Loaded {
    fn from(file: &Path, parts: &PartArgs) -> Result<Loaded, Failure> {
        let study = Study::load(file).map_err(Failure::new)?;
        let layout = Layout::of(&study).map_err(Failure::new)?;
        let mut bench = Bench::new(&study);
        if parts.first_given().is_some() {
            let (words, parts) = (parts.words(), parts.clone());
            let open =
                move |point, description: &_, run: &mut OnHost<'_>| parts.run_at(point, description, run);
            bench = bench.with_outside(Outside { words, open: Box::new(open) });
        }
        let chosen: HashSet<usize> = layout.chosen().collect();
        let points = study::plan(&study, &bench, &chosen);
        if let Some(why) = study::none_runs(&points) {
            return Err(Failure::new(format!("{}: no point can run: {why}", file.display())));
        }
        let program = study::program().map_err(Failure::new)?;
        Ok(Loaded { study, layout, bench, points, program })
    }
}

fn run(args: &RunArgs) -> Result<Verdict, Failure> {
    let Some(file) = &args.file else { return Err(Failure::new("no study is named")) };
    let loaded = Loaded::from(file, &args.parts)?;
    if let Some(number) = args.point {
        return report::point(&loaded, number);
    }
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let folder = args.place.folder(file);
    let open = if args.fresh { Store::begin } else { Store::open };
    let mut store = open(&folder.join(shard.file())).map_err(Failure::new)?;
    progress::of_others(&store, &loaded.program)?;
    let own: Vec<Planned> =
        loaded.points.iter().filter(|planned| shard.has(&planned.point)).cloned().collect();
    let missing = study::missing(&own, &store, &loaded.program, args.retry);
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let mut bar = progress::Bar::new(own.len(), &missing, jobs);
    study::run(&missing, &loaded.bench, (&mut store, &loaded.program), jobs, |planned, finished, took| {
        bar.done(planned, finished, took);
    })
    .map_err(Failure::new)?;
    bar.finish();
    if shard != Shard::WHOLE {
        return report::shard(&own, &store, &loaded.program, shard, &folder);
    }
    report::whole(&loaded, &store, &folder, file)
}
