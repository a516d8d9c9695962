//! Programs that run something at a server.

use std::process::Command;

use rand::Rng as _;
use rand::rngs::SmallRng;

use crate::Around;
use crate::process::{self, Ended};
use crate::server::Place;
use crate::tally::Party;

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
    pub(crate) fn take(vp: impl Fn() -> Command) -> Result<Reference, String> {
        let of = |what: &str| match process::run(vp().args(["run", what, "--platform", "nv_small"]), None)? {
            Ended::Itself { is_good: true, printed } => {
                event_hash(&printed).ok_or_else(|| format!("vp run {what}: no event hash in {printed}"))
            }
            Ended::Itself { printed, .. } => Err(format!("vp run {what}: {printed}")),
            _ => Err(format!("vp run {what} does not end")),
        };
        Ok(Reference { layer: of(LAYER)?, network: of("digits")? })
    }
}

/// One run at a server: over a Unix socket it has a ring of register accesses, and with its memory on its side shares that.
pub(crate) fn work(place: &Place, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    around.tally.begun(Party::Client);
    let Reference { layer, network } = around.reference;
    match random.random_range(0..7) {
        0..3 => run(place, LAYER, layer, &[], random, around),
        3 | 4 => run(place, LAYER, layer, &["--own-memory"], random, around),
        5 => run(place, "digits", network, &[], random, around),
        _ => shared(place, random, around),
    }
}

/// Runs something and compares, or kills it.
fn run(
    place: &Place,
    what: &str,
    expected: &str,
    options: &[&str],
    random: &mut SmallRng,
    around: &Around<'_>,
) -> Result<(), String> {
    let era = place.era();
    let mut command = around.client();
    command.args(["run", what, "--connect", &place.address]).args(options);
    match process::run(&mut command, process::fate(random))? {
        Ended::Itself { is_good: true, printed } => {
            let found = event_hash(&printed);
            around.tally.compared(Party::Client);
            if found.as_deref() != Some(expected) {
                return Err(format!("{command:?}: {found:?}, not {expected}"));
            }
        }
        // Its server was killed: that is said, and is an error.
        Ended::Itself { .. } if !place.has_been_there_since(era) => {}
        Ended::Itself { printed, .. } => return Err(format!("{command:?}: {printed}")),
        Ended::Killed => around.tally.killed(Party::Client),
        Ended::Hung => return Err(format!("{command:?} does not end")),
    }
    Ok(())
}

/// Runs on a platform that others use as well: who has the registers there may be another one. It ends, and that is all that is asked.
fn shared(place: &Place, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    let name = format!("shared{}", random.random_range(0..2_u8));
    let mut command = around.client();
    command.args(["run", LAYER, "--connect", &place.address, "--shared", &name]);
    match process::run(&mut command, process::fate(random))? {
        Ended::Itself { .. } => {}
        Ended::Killed => around.tally.killed(Party::Client),
        Ended::Hung => return Err(format!("{command:?} does not end")),
    }
    Ok(())
}
