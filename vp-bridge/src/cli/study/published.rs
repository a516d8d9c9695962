//! `vp study published`: NVIDIA's estimates and ours, layer by layer.

use crate::cli::platform_args::{PlatformArgs, headline, nvdla};
use crate::cli::run::bound;
use crate::cli::text::{self, grouped, styled};
use crate::cli::{Failure, Verdict};
use std::io::Write;
use vp_models::host::network::{Measured, Network, Options, example_input};
use vp_models::platform::{Arithmetic, Description};
use vp_study::published::{self, Compared, NETWORKS, PLATFORM};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only these networks: alexnet, googlenet, resnet50
    #[arg(value_name = "NETWORK")]
    networks: Vec<String>,

    /// Frames that share what fully connected layers read [default: as the figures count, 16 of AlexNet and one of the others, or as many as
    /// the configuration takes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32))]
    batch: Option<u32>,

    #[command(flatten)]
    platform: PlatformArgs,
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    if let Some(name) = args.networks.iter().find(|name| !NETWORKS.contains(&name.as_str())) {
        return Err(Failure::new(format!("there are no published figures of `{name}`"))
            .hint(format!("there are {}", NETWORKS.join(", "))));
    }
    let mut description = args.platform.description(PLATFORM)?;
    published::assume(&mut description);
    // No time depends on it.
    description.arithmetic = Arithmetic::Skipped;
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}", headline(&description))?;
    writeln!(
        out,
        "theirs: NVIDIA's estimates for int8, 2048 MACs, 512 KiB, 1 GHz, 10 GB/s, no SRAM, AlexNet's fully connected layers \
         sixteen frames at a time"
    )?;
    let wanted = |name: &&str| args.networks.is_empty() || args.networks.iter().any(|of| of == name);
    for name in NETWORKS.into_iter().filter(wanted) {
        let most = nvdla(&description)?.config.cubes_at_once();
        let batch = args.batch.unwrap_or_else(|| published::batch(name).min(most));
        network(&mut out, name, batch, &description)?;
    }
    writeln!(out, "\ndocs/published.md explains each cause.")?;
    Ok(Verdict::Right)
}

fn network(out: &mut impl Write, name: &str, batch: u32, description: &Description) -> Result<(), Failure> {
    let network = Network::named(name, &Options::default()).map_err(Failure::new)?;
    let network = network.ok_or_else(|| Failure::new(format!("there is no network `{name}`")))?;
    let input = example_input(network.input, 1);
    let run = |batch: u32| {
        let inputs = vec![input.as_slice(); batch as usize];
        Measured::batched(&network, description, &inputs, batch).map_err(|error| {
            let failure = Failure::new(format!("{name} on {}: {error}", description.name));
            if batch > 1 { failure.hint("--batch 1 runs frame after frame") } else { failure }
        })
    };
    let (alone, measured) = (run(1)?, run(batch)?);
    let header = ["layer", "theirs", "bound", "ours", "differs", "KiB", "ours", "bound by", "cause"];
    let mut table = text::table(&header, &[1, 3, 4, 5, 6]);
    let compared = published::compare(name, [&alone, &measured], description);
    for row in &compared {
        table.add_row(cells(row));
    }
    let theirs: f64 = compared.iter().filter_map(|row| Some(row.figure.as_ref()?.cycles)).sum();
    let ours = measured.cycles() as f64 / measured.frames.max(1) as f64;
    writeln!(out, "\n{}\n", styled(text::YELLOW, name))?;
    if batch > 1 {
        writeln!(
            out,
            "{batch} frames at once where fully connected; all other rows are of one frame alone\n"
        )?;
    }
    writeln!(out, "{}\n", table.trim_fmt())?;
    let frames = |cycles: f64| 1e12 / (cycles * measured.period.as_ps() as f64);
    let published = published::frame(name)
        .map_or(String::new(), |time| format!(" (their own sum: {:.1})", 1e12 / time.as_ps().max(1) as f64));
    writeln!(
        out,
        "{:<10} {} cycles, {:.1} frames/s{published}",
        "theirs",
        grouped(theirs as u64),
        frames(theirs)
    )?;
    writeln!(
        out,
        "{:<10} {} cycles, {:.1} frames/s: {}",
        "ours",
        grouped(ours as u64),
        frames(ours),
        bound(&measured.bounds())
    )?;
    Ok(())
}

fn cells(row: &Compared) -> Vec<String> {
    let whole = |number: f64| grouped(number.round() as u64);
    let kib = |bytes: f64| whole(bytes / 1024.0);
    let figure = row.figure.as_ref();
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let causes: Vec<String> = row.causes().iter().map(ToString::to_string).collect();
    vec![
        row.name.clone(),
        or_dash(figure.map(|figure| whole(figure.cycles))),
        or_dash(figure.map(|figure| figure.bound.clone())),
        whole(row.cycles),
        or_dash(row.difference().map(|difference| format!("{:+.0} %", 100.0 * difference))),
        or_dash(figure.map(|figure| kib(figure.bytes))),
        kib(row.bytes),
        row.bounds.largest().to_string(),
        if figure.is_none() { "left out".to_owned() } else { causes.join(", ") },
    ]
}
