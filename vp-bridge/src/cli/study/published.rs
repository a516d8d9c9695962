//! `vp study published`: NVIDIA's estimates and ours, layer by layer.

use crate::cli::out;
use crate::cli::platform_args::{PlatformArgs, headline, nvdla};
use crate::cli::record::{self, Record};
use crate::cli::run::bound;
use crate::cli::text::{self, grouped, styled};
use crate::cli::{Failure, Verdict};
use std::io::Write;
use vp_host::LocalHost;
use vp_host::network::{
    MeasureError, Measured, Memories, Network, Options, Placement, Plan, PlanOptions, Winograd, example_input,
};
use vp_models::platform::{Arithmetic, Description, Platform};
use vp_study::published::{self, Case, Compared, NETWORKS, PLATFORM, WinogradUse};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Networks to compare: alexnet, googlenet, resnet50 [default: all]
    #[arg(value_name = "NETWORK")]
    networks: Vec<String>,

    /// Frames for which fully connected layers read their weights once [default: as in the estimates, 16 for AlexNet and 1 for the
    /// others, or as many as the configuration can]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32))]
    batch: Option<u32>,

    /// Use of Winograd's method for 3x3 convolutions: never (as in the estimates), auto (where it is estimated to be faster) or always
    /// (wherever possible). Results differ from those of the direct method
    #[arg(long, value_name = "WHEN", default_value = "never")]
    winograd: Winograd,

    /// Leave out the case with 4 MiB of SRAM
    #[arg(long)]
    no_sram: bool,

    /// Data that the case with 4 MiB of SRAM keeps there: dram (nothing), activations (layers' outputs) or all (weights too)
    #[arg(long, value_name = "WHAT", default_value = "all", conflicts_with = "no_sram")]
    placement: Placement,

    /// Print the figures as JSON in place of text
    #[arg(long)]
    json: bool,

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
    let wanted = |name: &&str| args.networks.is_empty() || args.networks.iter().any(|of| of == name);
    let config = &nvdla(&description)?.config;
    let has_sram = config.secondary().is_some() && !args.no_sram;
    let cases = Case::ALL.into_iter().filter(|case| has_sram || *case == Case::Dram);
    let run = |(name, case): (&'static str, Case)| {
        let batch = args.batch.unwrap_or_else(|| published::batch(name).min(config.cubes_at_once()));
        let placement = if case == Case::Sram { args.placement } else { Placement::Dram };
        Ran::of((name, case), (batch, args.winograd, placement), &description)
    };
    let networks = NETWORKS.into_iter().filter(wanted);
    let mut all = networks.flat_map(|name| cases.clone().map(move |case| (name, case))).map(run);
    if args.json {
        let networks = all.map(|ran| ran.map(|ran| ran.record())).collect::<Result<Vec<_>, _>>()?;
        let record = Record::default().with("platform", &description.name);
        record::print(&record.with("winograd", args.winograd.to_string()).with("networks", networks))?;
        return Ok(Verdict::Right);
    }
    let mut out = out::stdout();
    writeln!(out, "{}", headline(&description))?;
    writeln!(
        out,
        "theirs: NVIDIA's estimates for int8, 2048 MACs, 512 KiB, 1 GHz, 10 GB/s, AlexNet's fully connected layers \
         sixteen frames at a time; without SRAM, and with 4 MiB and 25 GB/s each way"
    )?;
    if args.winograd != Winograd::Never {
        writeln!(
            out,
            "ours: convolutions of 3x3 by Winograd's method ({}): results are near those of the direct method, and not the same",
            args.winograd
        )?;
    }
    all.try_for_each(|ran| ran?.show(&mut out))?;
    writeln!(out, "\ndocs/published.md explains each cause.")?;
    Ok(Verdict::Right)
}

/// A network that was run, beside NVIDIA's estimates.
struct Ran {
    name: &'static str,
    case: Case,
    /// Bytes of SRAM that it uses.
    sram_bytes: u64,
    batch: u32,
    measured: Measured,
    compared: Vec<Compared>,
}

impl Ran {
    fn of(
        (name, case): (&'static str, Case),
        (batch, winograd, placement): (u32, Winograd, Placement),
        description: &Description,
    ) -> Result<Ran, Failure> {
        let options = Options { winograd: Some(winograd), ..Options::default() };
        let network = Network::named(name, &options).map_err(Failure::new)?;
        let network = network.ok_or_else(|| Failure::new(format!("there is no network `{name}`")))?;
        let input = example_input(network.input, 1);
        let wrong = |error: MeasureError| {
            let failure = Failure::new(format!("{name} on {}: {error}", description.name));
            if batch > 1 { failure.hint("--batch 1 runs frame after frame") } else { failure }
        };
        let options = |frames| PlanOptions { frames, placement, ..PlanOptions::default() };
        let run = |plan: &Plan| {
            let inputs = vec![input.as_slice(); plan.frames];
            let mut host = LocalHost::new(Platform::build(description)?);
            host.watch();
            Ok(Measured::on(&network, plan, &mut host, description.period, &inputs, || ())?)
        };
        let config = &nvdla(description)?.config;
        let plan = |frames| Plan::with(&network, config, &Memories::of(description), &options(frames));
        // What is in SRAM for one frame is not what is there for several: all rows are of one placement's plan each.
        let [one, several] = [plan(1), plan(batch)].map(|plan| plan.map_err(|error| wrong(error.into())));
        let (one, several) = (one?, several?);
        let (alone, measured) = (run(&one).map_err(wrong)?, run(&several).map_err(wrong)?);
        let could = published::could_use_winograd(&network, description, config);
        let could = could.map_err(|error| wrong(error.into()))?;
        let compared = published::compare((name, case), [&alone, &measured], &could, description);
        Ok(Ran { name, case, sram_bytes: several.sram_bytes, batch, measured, compared })
    }

    /// Cycles of a frame, the published ones and ours.
    fn cycles(&self) -> [f64; 2] {
        let theirs = self.compared.iter().filter_map(|row| Some(row.figure.as_ref()?.cycles)).sum();
        [theirs, self.measured.cycles() as f64 / self.measured.frames.max(1) as f64]
    }

    fn frames_per_second(&self, cycles: f64) -> f64 {
        1e12 / (cycles * self.measured.period.as_ps() as f64)
    }

    fn record(&self) -> Record {
        let [theirs, ours] = self.cycles();
        Record::default()
            .with("network", self.name)
            .with("sram", self.case == Case::Sram)
            .with("sram_bytes", self.sram_bytes)
            .with("batch", self.batch)
            .with("published_cycles", theirs)
            .with("published_frames_per_second", self.frames_per_second(theirs))
            .with("cycles_per_frame", ours)
            .with("frames_per_second", self.frames_per_second(ours))
            .with("layers", self.compared.iter().map(record_of).collect::<Vec<_>>())
    }

    fn show(&self, out: &mut impl Write) -> Result<(), Failure> {
        let Ran { name, case, sram_bytes, batch, measured, compared } = self;
        let header = match case {
            Case::Dram => ["layer", "theirs", "bound", "ours", "differs", "KiB", "ours", "bound by", "cause"],
            Case::Sram => {
                ["layer", "theirs", "bound", "ours", "differs", "KiB dbb0", "sram0", "bound by", "cause"]
            }
        };
        let mut table = text::table(&header, &[1, 3, 4, 5, 6]);
        for row in compared {
            table.add_row(cells(row, *case));
        }
        match case {
            Case::Dram => writeln!(out, "\n{}\n", styled(text::YELLOW, name))?,
            Case::Sram => {
                let title = format!("{name} with SRAM");
                let used = grouped(*sram_bytes);
                writeln!(out, "\n{}: {used} bytes of it\n", styled(text::YELLOW, &title))?;
            }
        }
        if *batch > 1 {
            writeln!(
                out,
                "{batch} frames at once where fully connected; all other rows are of one frame alone\n"
            )?;
        }
        writeln!(out, "{}\n", table.trim_fmt())?;
        let [theirs, ours] = self.cycles();
        let published = published::frame(name, *case).map_or(String::new(), |time| {
            format!(" (their own sum: {})", rate(1e12 / time.as_ps().max(1) as f64))
        });
        writeln!(
            out,
            "{:<10} {} cycles, {} frames/s{published}",
            "theirs",
            grouped(theirs as u64),
            rate(self.frames_per_second(theirs))
        )?;
        writeln!(
            out,
            "{:<10} {} cycles, {} frames/s: {}",
            "ours",
            grouped(ours as u64),
            rate(self.frames_per_second(ours)),
            bound(&measured.bounds())
        )?;
        Ok(())
    }
}

fn rate(frames_per_second: f64) -> String {
    grouped(format_args!("{frames_per_second:.1}"))
}

fn record_of(row: &Compared) -> Record {
    let figure = row.figure.as_ref();
    Record::default()
        .with("name", &row.name)
        .with("published_cycles", figure.map(|figure| figure.cycles))
        .with("published_bound", figure.map(|figure| &figure.bound))
        .with("published_bytes", figure.and_then(|figure| figure.bytes))
        .with("cycles", row.cycles)
        .with("difference", row.difference())
        .with("bytes", row.bytes)
        .with("sram0.read_bytes", row.sram_bytes[0])
        .with("sram0.written_bytes", row.sram_bytes[1])
        .with("bound", row.bounds.largest().name())
        .with("is_winograd", row.winograd == WinogradUse::Used)
        .with("causes", row.causes().iter().map(ToString::to_string).collect::<Vec<_>>())
}

fn cells(row: &Compared, case: Case) -> Vec<String> {
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
        match case {
            Case::Dram => or_dash(figure.and_then(|figure| figure.bytes).map(kib)),
            Case::Sram => kib(row.bytes),
        },
        match case {
            Case::Dram => kib(row.bytes),
            Case::Sram => kib(row.sram_bytes.iter().sum()),
        },
        row.bounds.largest().to_string(),
        if figure.is_none() { "left out".to_owned() } else { causes.join(", ") },
    ]
}
