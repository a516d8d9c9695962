//! Programs that run something at a server.

use std::process::Command;

use rand::Rng as _;
use rand::rngs::SmallRng;

use crate::Around;
use crate::process::{self, Ended};
use crate::server::ServerPlace;
use crate::tally::Party;

/// A small layer of the project's own.
pub(crate) const LAYER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../traces/nv_small/conv_3x3_bias_relu_9x7x12x20/conv_3x3_bias_relu_9x7x12x20.cfg"
);
/// A small network.
pub(crate) const NETWORK: &str = "digits";

/// Event hashes of runs in process.
pub(crate) struct Reference {
    layer: String,
    network: String,
}

/// The line of a report that says what the run was, event for event.
fn event_hash(report: &str) -> Option<&str> {
    report.lines().find(|line| line.starts_with("event hash"))
}

impl Reference {
    /// Runs layer and network in process.
    pub(crate) fn take(vp: impl Fn() -> Command) -> Result<Reference, String> {
        let of = |what: &str| {
            let report = process::output(vp().args(["run", what, "--platform", "nv_small"]))?;
            let hash = event_hash(&report).map(str::to_owned);
            hash.ok_or_else(|| format!("vp run {what}: no event hash in {report}"))
        };
        Ok(Reference { layer: of(LAYER)?, network: of(NETWORK)? })
    }

    /// Fails if a run of the layer or of the network was not the one in process, event for event.
    pub(crate) fn check(&self, what: &str, report: &str) -> Result<(), String> {
        let expected = if what == NETWORK { &self.network } else { &self.layer };
        match event_hash(report) {
            Some(found) if found == expected => Ok(()),
            found => Err(format!("{found:?}, not {expected}")),
        }
    }
}

/// One run at a server: over a Unix socket it has a ring of register accesses, and with its memory on its side shares that.
pub(crate) fn work(place: &ServerPlace, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    match random.random_range(0..7) {
        0..3 => run(place, LAYER, &[], random, around),
        3 | 4 => run(place, LAYER, &["--own-memory"], random, around),
        5 => run(place, NETWORK, &[], random, around),
        _ => shared(place, random, around),
    }
}

/// Runs something and compares, or kills it.
fn run(
    place: &ServerPlace,
    what: &str,
    options: &[&str],
    random: &mut SmallRng,
    around: &Around<'_>,
) -> Result<(), String> {
    let mut command = around.client();
    command.args(["run", what, "--connect", &place.address]).args(options);
    around.run_at(place, Party::Client, &mut command, process::kill_time(random), |printed| {
        around.reference.check(what, printed)
    })
}

/// Runs on a platform that others use as well: who has the registers there may be another one. It ends, and that is all that is asked.
fn shared(place: &ServerPlace, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    around.tally.begun(Party::Client);
    let name = format!("shared{}", random.random_range(0..2_u8));
    let mut command = around.client();
    command.args(["run", LAYER, "--connect", &place.address, "--shared", &name]);
    match process::run(&mut command, process::kill_time(random))? {
        Ended::Itself { .. } => {}
        Ended::Killed => around.tally.killed(Party::Client),
        Ended::Hung => return Err(format!("{command:?} does not end")),
    }
    Ok(())
}
