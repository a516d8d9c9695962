//! `vp demo`: a small network classifies handwritten digits, and what that cost is shown.

mod picture;
mod report;

use super::hosts::{HostArgs, OpenedHost, described};
use super::platform_args::{DEFAULT_PLATFORM, nvdla};
use super::{Failure, Verdict, terminal};
use indicatif::ProgressBar;
use vp_host::Statistics;
use vp_host::network::digits::{self, Sample};
use vp_host::network::{Inference, Network, Plan, Runner};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Number of samples to classify [default: all]
    #[arg(long, value_name = "N")]
    images: Option<usize>,

    /// Print the result as JSON in place of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    host: HostArgs,
}

/// Run of the demonstration, and what came of it.
struct DemoRun {
    headline: String,
    network: Network,
    plan: Plan,
    samples: Vec<Sample>,
    inferences: Vec<Inference>,
    statistics: Statistics,
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    args.host.check()?;
    args.host.observing.conclude(run(args))
}

fn run(args: &Args) -> Result<Verdict, Failure> {
    let samples = chosen(args.images)?;
    let OpenedHost { parts: _parts, mut host, description, headline, observed: _observed } =
        args.host.open(DEFAULT_PLATFORM)?;
    let description = match description {
        Some(description) => description,
        None => described(host.as_mut())?,
    };
    let network = digits::network();
    let config = &nvdla(&description)?.config;
    let plan = Plan::new(&network, config, description.dbb0.range()).map_err(|error| {
        Failure::new(format!("the digits network cannot run on {}: {error}", description.name))
    })?;
    let bar = progress(samples.len());
    let inputs: Vec<&[i8]> = samples.iter().map(|sample| sample.pixels.as_slice()).collect();
    let mut inferences = Vec::with_capacity(samples.len());
    let mut runner = Runner::new(&plan, host.as_mut()).map_err(Failure::new)?;
    let ran = runner.run(&inputs, |_, inference| {
        bar.inc(1);
        inferences.push(inference);
    });
    bar.finish_and_clear();
    ran.map_err(Failure::new)?;
    let statistics = host.statistics().map_err(Failure::new)?;
    let ran = DemoRun { headline, network, plan, samples, inferences, statistics };
    match args.json {
        true => super::record::print(&report::record(&ran, &description.name))?,
        false => report::show(&ran)?,
    }
    Ok(Verdict::Right)
}

/// The samples asked for.
fn chosen(images: Option<usize>) -> Result<Vec<Sample>, Failure> {
    let mut samples = digits::samples();
    let all = samples.len();
    match images.unwrap_or(all) {
        wanted if (1..=all).contains(&wanted) => {
            samples.truncate(wanted);
            Ok(samples)
        }
        wanted => {
            Err(Failure::new(format!("--images {wanted}: there are {all} samples"))
                .hint(format!("1 to {all}")))
        }
    }
}

fn progress(images: usize) -> ProgressBar {
    terminal::progress(images, "digits: {pos}/{len} images  {bar:28}  {elapsed}")
}
