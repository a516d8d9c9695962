//! `vp replay`: runs a recording again, without those who took part in it, and checks that the platform does the same.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use vp_core::observe::{Kinds, Observation, Observer, What};
use vp_core::{Sim, Time};
use vp_host::Warning;
use vp_hub::Output;
use vp_models::backlog::Backlog;
use vp_models::platform::LayerRecord;
use vp_recordings::{PlayError, Player, RecordingEnd, ReplayStep};

use super::inputs::Names;
use super::observing::ObserveArgs;
use super::platform_args::headline;
use super::run::{report, warnings};
use super::text::{self, counted, styled};
use super::{Failure, Verdict, recording};
use crate::cli::out;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Recording, as --record writes it
    #[arg(value_name = "FILE", value_parser = super::standard::named())]
    recording: PathBuf,

    /// Stop after this simulated time, such as `1.5 ms`
    #[arg(long, value_name = "TIME")]
    until: Option<Time>,

    /// Stop after the first access to a register, or the first with a value, such as SDP.D_OP_ENABLE=1 or 0xb038
    #[arg(long = "break", value_name = "REGISTER[=VALUE]")]
    stop_at: Option<String>,

    #[command(flatten)]
    observing: ObserveArgs,
}

/// A recording that is played.
pub(super) type FilePlayer = Player<BufReader<File>>;

/// Opens a recording, and builds its platform.
pub(super) fn open(path: &Path) -> Result<FilePlayer, Failure> {
    let file = File::open(path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    Player::new(BufReader::new(file)).map_err(|error| wrong(path, &error))
}

/// Says what is wrong with a recording.
pub(super) fn wrong(path: &Path, error: &PlayError) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

/// The first access to a register, at which a replay stops.
struct Break {
    address: u32,
    value: Option<u32>,
    sim: Sim,
    stop: Rc<Cell<bool>>,
    seen: RefCell<Option<String>>,
    name: String,
}

impl Break {
    fn of(asked: &str, player: &FilePlayer) -> Result<Rc<Break>, Failure> {
        let platform = player.hub().platform();
        let names = Names::of(platform);
        let (register, value) = match asked.split_once('=') {
            None => (asked, None),
            Some((register, value)) => {
                let digits = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"));
                let parsed = match digits {
                    Some(digits) => u32::from_str_radix(digits, 16),
                    None => value.parse(),
                };
                let value = parsed.map_err(|_| {
                    Failure::new(format!("--break {asked}: no value of a register: `{value}`"))
                        .hint("values are words of 32 bits: 12, or 0xc")
                })?;
                (register, Some(value))
            }
        };
        let address = names.register(register)?;
        let (sim, stop) = (platform.sim(), player.replay().stop());
        let name = names.name(address);
        Ok(Rc::new(Break { address, value, sim, stop, seen: RefCell::default(), name }))
    }
}

impl Observer for Break {
    fn wants(&self) -> Kinds {
        Kinds::REGISTERS
    }

    fn observe(&self, seen: &Observation<'_>) {
        let What::Register { write, address, value } = seen.what else { return };
        let is_meant = address == self.address && self.value.is_none_or(|wanted| wanted == value);
        if is_meant && !self.stop.replace(true) {
            let done = if write { "written" } else { "read" };
            *self.seen.borrow_mut() = Some(format!("{} {done}: {value:#010x}", self.name));
            self.sim.stop();
        }
    }
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    if args.observing.records() {
        return Err(Failure::new("--record: a replay has nothing that is not in its recording"));
    }
    args.observing.conclude(replay(args))
}

fn replay(args: &Args) -> Result<Verdict, Failure> {
    let path = &args.recording;
    let mut player = open(path)?;
    let stop_at = args.stop_at.as_deref().map(|asked| Break::of(asked, &player)).transpose()?;
    if let Some(stop_at) = &stop_at {
        player.hub().platform().sim().observe(stop_at.clone());
    }
    let description = player.hub().platform().description().clone();
    let observed = args.observing.attach(player.hub_mut())?;
    let mut warnings = Backlog::default();
    let mut told = |output| {
        if let Output::Warning { severity: _, time, text, marks } = output {
            // It may be the recording's.
            warnings.push(Warning { time, text: text::one_line(&text), marks });
        }
    };
    let until = args.until.unwrap_or(Time::MAX);
    let end = loop {
        match player.step(until, &mut told) {
            Ok(ReplayStep::Done(_)) => {}
            Ok(ReplayStep::Stopped) => break None,
            Ok(ReplayStep::Ended(end)) => break Some(end),
            Err(error) => return Err(explained(path, &error, &player)),
        }
    };
    drop(observed);
    let statistics = player.hub().platform().statistics();
    report::platform(&headline(&description), &description.device, &statistics)?;
    let mut out = out::stdout();
    let (left_out, warnings) = warnings.take();
    warnings::warn(&mut out, &warnings)?;
    if left_out > 0 {
        writeln!(out, "{} {} before these", styled(text::YELLOW, "warning:"), counted(left_out, "more"))?;
    }
    let reader = player.reader();
    let (entries, entered) =
        (counted_as(reader.entries(), "entry", "entries"), counted(reader.entered(), "byte"));
    let by = text::one_line(&reader.header().program);
    writeln!(out, "{:<10} {entries} of a recording by {by}; {entered} had entered with them", "replayed")?;
    let now = player.hub().now();
    let seen = stop_at.as_ref().and_then(|stop_at| stop_at.seen.borrow().clone());
    let layers = player.hub().platform().layers();
    let what = match (&end, seen) {
        (None, seen) => {
            let why = seen.unwrap_or_else(|| format!("up to {until} all is done"));
            let period = description.period;
            writeln!(out, "{:<10} at {now}, {}: {why}", "stopped", counted(now.cycles(period), "cycle"))?;
            for LayerRecord { unit, group, shape, begin, .. } in layers.iter().filter(|it| it.end.is_none()) {
                writeln!(out, "{:<10} {unit} since {begin}: {shape}, group {group}", "under way")?;
            }
            return Ok(Verdict::Right);
        }
        (Some(RecordingEnd::Whole), _) if player.is_hash_checked() => {
            format!("at {now}; the event hash is the recorded one")
        }
        (Some(RecordingEnd::Whole), _) => format!("at {now}"),
        (Some(RecordingEnd::Early { why }), _) => {
            format!("at {now}, where the recording does, before its run: {}", text::one_line(why))
        }
        (Some(RecordingEnd::CutOff { bytes }), _) => {
            let rest = match bytes {
                0 => String::new(),
                bytes => format!(", and {} of a block that is not whole", counted(*bytes, "byte")),
            };
            format!("at {now}, where the recording was cut off: its program did not end it{rest}")
        }
    };
    writeln!(out, "{:<10} {what}", "ended")?;
    if let Some(stop_at) = stop_at {
        let value = stop_at.value.map_or_else(String::new, |value| format!(" with {value:#x}"));
        return Err(Failure::new(format!(
            "--break: {} is not accessed{value} up to the end of the recording, at {now}",
            stop_at.name
        )));
    }
    if let Some(until) = args.until {
        return Err(Failure::new(format!("--until {until}: the recording ends before that, at {now}")));
    }
    Ok(Verdict::Right)
}

/// Returns the failure of a recording that does not run again, with what may be the reason.
fn explained(path: &Path, error: &PlayError, player: &FilePlayer) -> Failure {
    let header = player.reader().header();
    let is_same = header.build.is_some() && header.build == recording::build();
    let failure = wrong(path, error);
    match &failure {
        _ if is_same => failure,
        _ => failure.hint(format!(
            "another build of vp has recorded it ({}; this is {}): only the same build is sure to go the same way",
            header.program,
            recording::program()
        )),
    }
}

/// A quantity whose unit has a plural of its own.
fn counted_as(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", text::grouped(number), if number == 1 { one } else { many })
}
