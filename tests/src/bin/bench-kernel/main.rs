//! Cost of the kernel: the same work, case by case, as other simulation kernels are measured on.
//!
//! `bench-kernel CASE N [P]` does N units of a case's work with P processes and prints one line,
//!
//! ```text
//! RESULT case units wall_s cpu_s peak_rss_kib checksum
//! ```
//!
//! or, for the cases that build and do not run, `ELAB case cpu_s` and `BYTES case bytes_each`. Construction
//! and the first activation of every process lie outside of what is timed. `tests/bench/peers.sh` runs it
//! beside the others; `tests/bench/README.md` lists the cases. It uses what the kernel offers to everybody.

mod channels;
mod life;
mod measure;
mod timers;

use std::process::ExitCode;

/// Amount of work, and number of processes that do it.
#[derive(Clone, Copy)]
struct Work {
    /// Units of work to do, roughly: what was done is counted.
    n: u64,
    /// Processes, where a case can have any number.
    p: u64,
}

type Case = fn(&str, Work);

/// All there are; a name without `-method` or `-thread` has one form only.
const CASES: &[(&str, Case)] = &[
    ("timed-method", timers::timed_method),
    ("timed-thread", timers::timed_thread),
    ("timers-method", timers::dense_methods),
    ("timers-thread", timers::dense_threads),
    ("sparse-method", timers::sparse_methods),
    ("sparse-thread", timers::sparse_threads),
    ("pingpong-method", channels::pingpong_method),
    ("pingpong-thread", channels::pingpong_thread),
    ("fifo16", channels::fifo16),
    ("fifo1", channels::fifo1),
    ("clocked", channels::clocked),
    ("clocked-reg", channels::clocked_registers),
    ("spawn", life::spawn),
    ("endall", life::end_all),
    ("memory-method", timers::memory_methods),
    ("memory-thread", timers::memory_threads),
    ("memory-event", life::memory_events),
    ("memory-notification", life::memory_notifications),
];

#[expect(clippy::print_stderr, reason = "a command line program")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, numbers @ ..] = &arguments[..] else { return usage() };
    let number = |at: usize, otherwise: u64| match numbers.get(at) {
        Some(text) => text.parse().ok().filter(|&number| number > 0),
        None => Some(otherwise),
    };
    let (Some(n), Some(p), true) = (number(0, 1_000_000), number(1, 1), numbers.len() <= 2) else {
        return usage();
    };
    let Some((name, case)) = CASES.iter().find(|(known, _)| known == name) else {
        eprintln!("no case `{name}`");
        return usage();
    };
    case(name, Work { n, p });
    ExitCode::SUCCESS
}

#[expect(clippy::print_stderr, reason = "a command line program")]
fn usage() -> ExitCode {
    let names: Vec<&str> = CASES.iter().map(|&(name, _)| name).collect();
    eprintln!("usage: bench-kernel CASE N [P], N and P at least 1; CASE is one of: {}", names.join(", "));
    ExitCode::from(2)
}
