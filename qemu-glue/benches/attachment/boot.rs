//! How long a Linux guest takes to its first program, with an idle device and without.

use std::time::Instant;

use vp_models::nvdla::registers::RegisterMap;

use crate::linux;
use crate::machine::{Kind, Setup};
use crate::script::Script;
use crate::served::Served;
use crate::{Rounds, line, times};

const ROUNDS: usize = 3;

pub(crate) fn measure() {
    if !linux::can_run(Kind::Node, "a guest's boot") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let server = Served::at(folder.path(), "nv_small");
    let script = || Script::new(RegisterMap::Small);
    let (mut alone, mut attached) = (Rounds::default(), Rounds::default());
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let mut machine = Setup::linux(Kind::Node, script()).start();
        // The program misses the device, and says so: it runs.
        machine.wait_for("FAIL: /dev/uio0: No such file or directory");
        alone.add(began.elapsed());
        let began = Instant::now();
        let mut machine = Setup::linux(Kind::Node, script()).connect(&server.address).start();
        machine.wait_for("1 CPUs");
        attached.add(began.elapsed());
    }
    line(&format!(
        "boot to the first program: {:.2} s with an idle device, {:.2} s without, {:.2} times as long",
        attached.median().as_secs_f64(),
        alone.median().as_secs_f64(),
        times(attached.median(), alone.median()),
    ));
}
