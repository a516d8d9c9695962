//! Programs in Python with the package (`clients/python`), which run something at a server.

use std::path::Path;
use std::process::Command;

use rand::Rng as _;
use rand::rngs::SmallRng;

use crate::Around;
use crate::clients::{LAYER, NETWORK};
use crate::process;
use crate::server::ServerPlace;
use crate::tally::Party;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin/soak/run.py");
/// The environment that `./test.sh` makes, and what is there when it has installed the package.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/python/bin/python");
const INSTALLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/python/installed");

/// Reason for which Python takes no part, if so.
pub(crate) fn missing() -> Option<String> {
    (!Path::new(INSTALLED).exists()).then(|| "no package for Python here: ./test.sh installs it".to_owned())
}

/// One run at a server, also with the memory on its side.
pub(crate) fn work(place: &ServerPlace, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    // To begin takes it a third of a second of a processor.
    process::pause(random, 2000);
    let what = if random.random_bool(0.3) { NETWORK } else { LAYER };
    let mut command = Command::new(PYTHON);
    command.args([PROGRAM, what, &place.address]).envs(around.site.lab.of_client());
    if random.random_bool(0.3) {
        command.arg("own-memory");
    }
    around.run_at(place, Party::Python, &mut command, process::kill_time_within(random, 900), |printed| {
        around.reference.check(what, printed)
    })
}
