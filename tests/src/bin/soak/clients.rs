//! Clients of a server: programs that run something there, and whoever sends garbage.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use crate::process::{self, Ended};
use crate::{Around, noise};

/// A small layer of the project's own.
const LAYER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/nv_small/conv_3x3_bias_relu_9x7x12x20");

/// What runs give in process.
pub(crate) struct Reference {
    layer: String,
    network: String,
}

/// The line of a report that says what the run was, event for event.
fn event_hash(report: &str) -> Option<String> {
    report.lines().find(|line| line.starts_with("event hash")).map(str::to_owned)
}

impl Reference {
    /// Runs layer and network in process.
    pub(crate) fn take(vp: &Path) -> Result<Reference, String> {
        let of = |what: &str| match process::run(
            Command::new(vp).args(["run", what, "--platform", "nv_small"]),
            None,
        )? {
            Ended::Itself { is_good: true, printed } => {
                event_hash(&printed).ok_or_else(|| format!("vp run {what}: no event hash in {printed}"))
            }
            Ended::Itself { printed, .. } => Err(format!("vp run {what}: {printed}")),
            _ => Err(format!("vp run {what} does not end")),
        };
        Ok(Reference { layer: of(LAYER)?, network: of("digits")? })
    }
}

/// Does one thing after the other at a server.
pub(crate) fn work(address: &str, seed: u64, around: &Around<'_>) {
    let mut random = SmallRng::seed_from_u64(seed);
    while Instant::now() < around.until {
        around.count(|tally| tally.sessions += 1);
        let done = match random.random_range(0..10) {
            0..3 => run(address, LAYER, &around.reference.layer, &[], &mut random, around),
            3 => run(address, LAYER, &around.reference.layer, &["--own-memory"], &mut random, around),
            4 => {
                let name = format!("shared{}", random.random_range(0..2_u8));
                shared(address, &name, &mut random, around)
            }
            5 => run(address, "digits", &around.reference.network, &[], &mut random, around),
            6 => memory_with_a_clock(address, &mut random, around),
            _ => noise::send(address, &mut random),
        };
        if let Err(why) = done {
            around.wrong(why);
        }
    }
}

/// When to kill a program, if at all: half of them, most while they run.
fn fate(random: &mut SmallRng) -> Option<Duration> {
    random.random_bool(0.5).then(|| Duration::from_millis(random.random_range(1..600)))
}

/// Runs something and compares, or kills it.
fn run(
    address: &str,
    what: &str,
    expected: &str,
    options: &[&str],
    random: &mut SmallRng,
    around: &Around<'_>,
) -> Result<(), String> {
    let mut command = around.client();
    command.args(["run", what, "--connect", address]).args(options);
    match process::run(&mut command, fate(random))? {
        Ended::Itself { is_good: true, printed } => {
            let found = event_hash(&printed);
            around.count(|tally| tally.checked += 1);
            if found.as_deref() != Some(expected) {
                return Err(format!("{command:?}: {found:?}, not {expected}"));
            }
        }
        // Its server was killed: that is said, and is an error.
        Ended::Itself { printed, .. } if is_of_a_server_that_is_gone(&printed) => {}
        Ended::Itself { printed, .. } => return Err(format!("{command:?}: {printed}")),
        Ended::Killed => around.count(|tally| tally.killed += 1),
        Ended::Hung => return Err(format!("{command:?} does not end")),
    }
    Ok(())
}

/// Whether a program says that the other side is not there.
fn is_of_a_server_that_is_gone(printed: &str) -> bool {
    ["cannot connect", "connection", "Connection", "closed", "No such file"]
        .iter()
        .any(|text| printed.contains(text))
}

/// Runs on a platform that others use as well: who has the registers there may be another one. It ends, and that is all that is asked.
fn shared(address: &str, name: &str, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    let mut command = around.client();
    command.args(["run", LAYER, "--connect", address, "--shared", name]);
    match process::run(&mut command, fate(random))? {
        Ended::Itself { .. } => Ok(()),
        Ended::Killed => {
            around.count(|tally| tally.killed += 1);
            Ok(())
        }
        Ended::Hung => Err(format!("{command:?} does not end")),
    }
}

/// A layer whose memory is another program, with a clock of its own. That one or the other is killed, or neither.
fn memory_with_a_clock(address: &str, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    let name = format!("clocked{}", random.random::<u32>());
    let mut memory = around.client();
    memory.args(["attach-device", address, "--as", "memory:dbb0", "--shared", &name, "--dbb-latency", "50"]);
    let (killed_first, killed_second) = (fate(random), fate(random));
    std::thread::scope(|scope| {
        // It serves until it is killed, or the platform is gone.
        let most = killed_first.unwrap_or(Duration::from_secs(5));
        let attached = scope.spawn(move || process::run(&mut memory, Some(most)));
        let mut command = around.client();
        command.args(["run", LAYER, "--connect", address, "--shared", &name]);
        let ended = process::run(&mut command, killed_second)?;
        around.count(|tally| {
            tally.killed += u64::from(killed_first.is_some()) + u64::from(killed_second.is_some());
        });
        if let Ended::Hung = ended {
            return Err(format!(
                "{command:?} does not end, with a memory that was killed after {killed_first:?}"
            ));
        }
        attached.join().unwrap_or_else(|_| Err("a thread panicked".to_owned())).map(|_| ())
    })
}
