//! Time, memory, the generator of all cases, and the lines that are printed.

use nix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

/// Counts what was done; clones count together.
#[derive(Clone, Default)]
pub(crate) struct Count(Rc<Cell<u64>>);

impl Count {
    /// Adds `n`; gives the sum.
    #[inline]
    pub(crate) fn add(&self, n: u64) -> u64 {
        self.0.set(self.0.get() + n);
        self.0.get()
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.get()
    }
}

/// The linear congruential generator that all kernels are driven by, so that checksums agree.
pub(crate) struct Lcg(u32);

impl Lcg {
    /// The generator of process `i`.
    pub(crate) fn of(i: u64) -> Lcg {
        Lcg((i as u32).wrapping_mul(2_654_435_761).wrapping_add(12_345))
    }

    /// The next number below `bound`.
    #[inline]
    pub(crate) fn below(&mut self, bound: u32) -> u64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u64::from((self.0 >> 8) % bound)
    }
}

/// A moment, in wall clock time and in CPU time of this process.
pub(crate) struct Moment {
    wall: Instant,
    cpu: f64,
}

impl Moment {
    pub(crate) fn now() -> Moment {
        Moment { wall: Instant::now(), cpu: cpu_seconds() }
    }
}

/// User and system time of the process.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("Linux has this clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9
}

/// A line of `/proc/self/status`, in KiB; 0 where there is no such file.
fn status_kib(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Prints what happened since `start`: `units` of work, with a checksum that proves it.
#[expect(clippy::print_stdout, reason = "the output of a command line program")]
pub(crate) fn result(case: &str, units: u64, start: &Moment, checksum: u64) {
    let (wall, cpu) = (start.wall.elapsed().as_secs_f64(), cpu_seconds() - start.cpu);
    println!("RESULT {case} {units} {wall:.6} {cpu:.6} {} {checksum}", status_kib("VmHWM:"));
}

/// The memory and the CPU time that building takes.
pub(crate) struct Footprint {
    start: Moment,
    kib: u64,
}

impl Footprint {
    pub(crate) fn start() -> Footprint {
        Footprint { kib: status_kib("VmRSS:"), start: Moment::now() }
    }

    /// Prints the CPU time of building, and the bytes of each of `p` things built.
    #[expect(clippy::print_stdout, reason = "the output of a command line program")]
    pub(crate) fn report(&self, case: &str, p: u64) {
        let cpu = cpu_seconds() - self.start.cpu;
        let bytes = (status_kib("VmRSS:").saturating_sub(self.kib) * 1024) as f64 / p as f64;
        println!("ELAB {case} {cpu:.6}");
        println!("BYTES {case} {bytes:.1}");
    }
}
