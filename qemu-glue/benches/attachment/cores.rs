//! Cores that the two ends of a transport run on. Left to the system they share one or do not, and change in the middle of a
//! run: a round trip takes longer or shorter by half.

use std::fmt;
use std::slice::from_ref;
use std::sync::OnceLock;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Cores of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cores {
    /// Each has its own.
    Apart { near: usize, far: usize },
    /// One core for both.
    Together(usize),
    /// Wherever the system puts them.
    Anywhere,
}

impl Cores {
    /// All there are: apart only where there are two.
    pub(crate) fn all() -> Vec<Cores> {
        match *allowed() {
            [near, far, ..] => vec![Cores::Apart { near, far }, Cores::Together(near), Cores::Anywhere],
            _ => vec![Cores::Anywhere],
        }
    }

    /// Starts something whose threads and processes stay at the far end; this thread goes on at the near one.
    pub(crate) fn start_far<T>(self, start: impl FnOnce() -> T) -> T {
        let (near, far) = match &self {
            Cores::Apart { near, far } => (from_ref(near), from_ref(far)),
            Cores::Together(core) => (from_ref(core), from_ref(core)),
            Cores::Anywhere => (allowed(), allowed()),
        };
        stay_on(far);
        let started = start();
        stay_on(near);
        started
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Cores::Apart { .. } => "two cores",
            Cores::Together(_) => "one core",
            Cores::Anywhere => "any cores",
        })
    }
}

/// The cores that this program began with.
fn allowed() -> &'static [usize] {
    static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();
    ALLOWED.get_or_init(|| {
        let allowed = sched_getaffinity(Pid::from_raw(0)).expect("this thread's cores");
        (0..CpuSet::count()).filter(|&core| allowed.is_set(core).unwrap_or(false)).collect()
    })
}

fn stay_on(cores: &[usize]) {
    let mut set = CpuSet::new();
    cores.iter().for_each(|&core| set.set(core).expect("a core that the program had"));
    sched_setaffinity(Pid::from_raw(0), &set).expect("cores that the program had");
}
