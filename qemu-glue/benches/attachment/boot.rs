//! Time that a Linux guest takes to its first program, with an idle device and without: by the clock, and in QEMU's own time on
//! the cores, which a busy host changes less.

use std::fs;
use std::time::{Duration, Instant};

use vp_models::nvdla::registers::RegisterMap;

use crate::linux;
use crate::machine::{Kind, Machine, Setup};
use crate::script::Script;
use crate::served::Served;
use crate::{Pairs, Rounds, line};

const ROUNDS: usize = 15;

pub(crate) fn measure() {
    if !linux::can_run(Kind::Node, "a guest's boot") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let server = Served::at(folder.path(), "nv_small");
    let script = || Script::new(RegisterMap::Small);
    let (mut by_clock, mut on_cores) = (Pairs::default(), Pairs::default());
    for _ in 0..ROUNDS {
        // The program misses the device, and says so: it runs.
        let alone = boot(Setup::linux(Kind::Node, script()), "FAIL: /dev/uio0: No such file or directory");
        let attached = boot(Setup::linux(Kind::Node, script()).connect(&server.address), "1 CPUs");
        by_clock.add(alone.0, attached.0);
        on_cores.add(alone.1, attached.1);
    }
    line(&format!("boot to the first program, seconds, median and least of {ROUNDS}:"));
    for (what, pairs) in [("by the clock", by_clock), ("on the cores", on_cores)] {
        let of = |rounds: &Rounds| (rounds.median().as_secs_f64(), rounds.least().as_secs_f64());
        let (alone, attached) = (of(&pairs.echoes), of(&pairs.taken));
        line(&format!(
            "{what}   alone {:.2} ({:.2})   with an idle device {:.2} ({:.2})   by pairs {:.3}x   by the least {:.3}x",
            alone.0,
            alone.1,
            attached.0,
            attached.1,
            pairs.ratio(),
            attached.1 / alone.1,
        ));
    }
}

/// Returns the time until a line, by the clock and on the cores.
fn boot(setup: Setup, until: &str) -> (Duration, Duration) {
    let began = Instant::now();
    let mut machine = setup.start();
    machine.wait_for(until);
    (began.elapsed(), on_cores(&machine))
}

/// Returns the time that all threads of a QEMU have had of the cores (`proc_pid_schedstat`).
fn on_cores(machine: &Machine) -> Duration {
    let threads = fs::read_dir(format!("/proc/{}/task", machine.process())).expect("a process");
    let had = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        text.split_whitespace().next().and_then(|had| had.parse().ok()).unwrap_or(0)
    };
    Duration::from_nanos(threads.flatten().map(had).sum())
}
