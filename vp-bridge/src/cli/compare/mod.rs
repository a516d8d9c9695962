//! `vp compare`: the same program on the model and with a part of it in another program, such as its RTL, and where they differ.
//!
//! Both platforms are cut at the same ports. In one the model takes them, in this thread; in the other the program that is named. What
//! is driven there becomes transactions (`transactions.rs`), which are compared stream by stream (`difference.rs`).

mod difference;
mod files;
mod report;
mod transactions;

use std::path::PathBuf;
use std::sync::mpsc;

use vp_core::Time;
use vp_host::LocalHost;
use vp_host::trace::player::{self, Outcome, PlayOptions};
use vp_host::trace::{Trace, discover, platform_of};
use vp_host::{Host, Statistics, Warning};
use vp_hub::{Clock, Hub, LinkedPort, PinEvent, PortId, Role, TimeMode};
use vp_models::platform::{Description, DeviceDescription, Platform, Port};

use super::attach_device::device_end;
use super::memory_limit;
use super::observing::ObserveArgs;
use super::parts::PartArgs;
use super::platform_args::{DEFAULT_PLATFORM, PlatformArgs};
use super::run::{BUILT_IN, built_in};
use super::{Failure, Verdict};
use difference::Recorded;
pub(super) use transactions::Content;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Trace scripts, or folders with them at any depth [default: a built-in layer]
    ///
    /// The exit status is 0 if all transactions are the same, 1 if some differ, and 2 if nothing can be compared. Compared are register
    /// accesses, levels of the interrupt line, and at a memory port the bursts of each id and direction.
    #[arg(value_name = "TRACE")]
    traces: Vec<PathBuf>,

    #[command(flatten)]
    platform: PlatformArgs,

    #[command(flatten)]
    parts: PartArgs,

    /// Compare times as well: each transfer must be at the same clock edge, and bursts of all ids in the same order
    #[arg(long)]
    cycles: bool,

    /// Write every transaction of both runs as CSV, with the clock edges at which it began
    #[arg(long, value_name = "FILE", value_parser = super::standard::named())]
    csv: Option<PathBuf>,

    /// Give up after this much simulated time, such as `10 ms` [default: 100 us and ten times what the model takes]
    #[arg(long, value_name = "TIME")]
    limit: Option<Time>,
}

/// A run of a trace, with what was transferred at the ports of the part.
struct Run {
    recorded: Recorded,
    /// Outcome of the trace, or the reason for which it did not come to its end.
    outcome: Result<Outcome, String>,
    statistics: Statistics,
    /// Time at which the run ended.
    end: Time,
    /// Warnings of the platform.
    warnings: Vec<Warning>,
}

/// A trace on the model, and with the part outside.
struct Compared {
    name: String,
    headline: String,
    period: Time,
    model: Run,
    outside: Run,
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    if args.parts.first_given().is_none() {
        return Err(Failure::new("no part is in another program: there is nothing to compare")
            .hint("name one: --device-command COMMAND, or --memory-command PORT=COMMAND"));
    }
    let mut table = args.csv.as_deref().map(files::Table::create).transpose()?;
    let mut show = |compared: &Compared| {
        table.as_mut().map_or(Ok(()), |table| table.add(compared))?;
        report::show(compared, args.cycles)
    };
    let verdict = if args.traces.is_empty() {
        show(&compare(BUILT_IN, &built_in()?, &args.platform.description(DEFAULT_PLATFORM)?, args)?)?
    } else {
        compare_traces(args, show)?
    };
    table.map_or(Ok(()), files::Table::finish)?;
    Ok(verdict)
}

/// Compares all traces that were named.
fn compare_traces(
    args: &Args,
    mut show: impl FnMut(&Compared) -> Result<Verdict, Failure>,
) -> Result<Verdict, Failure> {
    let mut sources = Vec::new();
    for path in &args.traces {
        sources.extend(discover(path).map_err(Failure::new)?);
    }
    let platforms = if sources.len() > 1 { args.platform.of_several() } else { args.platform.clone() };
    let mut different = 0;
    for source in &sources {
        let trace = Trace::load(&source.script).map_err(Failure::new)?;
        let description = platforms.description(&platform_of(source, &trace).platform)?;
        let compared = compare(&source.name, &trace, &description, args)?;
        different += usize::from(show(&compared)? == Verdict::Wrong);
    }
    if sources.len() > 1 {
        report::sum(sources.len(), different)?;
    }
    Ok(if different == 0 { Verdict::Right } else { Verdict::Wrong })
}

fn compare(name: &str, trace: &Trace, description: &Description, args: &Args) -> Result<Compared, Failure> {
    let mut model = model(description, &args.parts)?;
    let ports = model.platform().ports();
    let (tell, told) = mpsc::channel();
    let limit = args.limit.unwrap_or(Time::MAX);
    // The receiver is here until the run is over.
    model.on_driven(move |event| drop(tell.send(event)));
    let period = description.period;
    let played = play(trace, &mut model, limit)?;
    drop(model);
    let model = run(told, &ports, period, played);
    let (tell, told) = mpsc::channel();
    let mut around = description.clone();
    let opened =
        args.parts.open(&mut around, None, memory_limit::usual(), (&ObserveArgs::default(), Some(tell)))?;
    let Some((mut host, parts)) = opened else { return Err(Failure::new("no part is in another program")) };
    let limit = args.limit.unwrap_or(Time::ps(model.end.as_ps().saturating_mul(10)) + Time::us(100));
    let played = play(trace, &mut host, limit)?;
    drop(host);
    // All has been told when its server has ended.
    drop(parts);
    let outside = run(told, &ports, period, played);
    Ok(Compared { name: name.to_owned(), headline: args.parts.headline(description), period, model, outside })
}

type Played = (Result<Outcome, String>, Statistics, Time, Vec<Warning>);

fn play(trace: &Trace, host: &mut dyn Host, limit: Time) -> Result<Played, Failure> {
    host.set_limit(limit);
    let map = host.map();
    let outcome = player::play(trace, host, &map, &PlayOptions::default()).map_err(|error| error.to_string());
    let statistics = host.statistics().map_err(Failure::new)?;
    let end = host.now().map_err(Failure::new)?;
    Ok((outcome, statistics, end, host.warnings()))
}

fn run(told: mpsc::Receiver<PinEvent>, ports: &[Port], period: Time, played: Played) -> Run {
    let (outcome, statistics, end, warnings) = played;
    let streams = transactions::of(told.into_iter().collect(), ports, period);
    // A wait that was given up is one of the failures.
    let has_ended =
        outcome.as_ref().is_ok_and(|outcome| outcome.failures.iter().all(|it| it.kind.is_of_memory()));
    Run { recorded: Recorded { streams, has_ended }, outcome, statistics, end, warnings }
}

/// The platform, cut at the ports of the parts, with the model behind all of them.
fn model(description: &Description, parts: &PartArgs) -> Result<LocalHost, Failure> {
    let mut around = description.clone();
    parts.of(&mut around)?;
    let mut host = LocalHost::new(Platform::build(&around).map_err(Failure::new)?);
    if let DeviceDescription::Outside(outside) = &around.device {
        let mut device = description.clone();
        if let DeviceDescription::Outside(_) = device.device {
            let inside = outside.nvdla.clone().map(DeviceDescription::Nvdla);
            device.device = inside.ok_or_else(|| {
                Failure::new(format!("{}: there is no model of its device", description.name))
                    .hint("say `like` in [outside_device], the built-in platform whose device it is")
            })?;
        }
        let device = Platform::build(&device).map_err(Failure::new)?;
        let ends = device.ports().iter().filter_map(device_end).collect();
        link(&mut host, device, ends)?;
    }
    for port in parts.memories() {
        let mut memory = description.clone();
        // Nobody else uses it.
        let outside = memory.device.outside();
        memory.device = DeviceDescription::Outside(Box::new(outside));
        link(&mut host, Platform::build(&memory).map_err(Failure::new)?, vec![(port, Role::Target)])?;
    }
    Ok(host)
}

/// Takes these ports of the host's platform for another one.
fn link(host: &mut LocalHost, part: Platform, ends: Vec<(&str, Role)>) -> Result<(), Failure> {
    let index = |platform: &Platform, name: &str| {
        let place = platform.ports().iter().position(|port| port.name == name);
        let place = place.ok_or_else(|| Failure::new(format!("the platform has no port {name}")));
        place.map(|place| PortId(place as u16))
    };
    let link = |(name, role): (&str, Role)| {
        Ok(LinkedPort { there: index(host.platform(), name)?, role, here: index(&part, name)? })
    };
    let ports = ends.into_iter().map(link).collect::<Result<Vec<_>, Failure>>()?;
    host.link(Hub::new(part, TimeMode::Free), ("the model", Clock::default()), ports).map_err(Failure::new)
}
