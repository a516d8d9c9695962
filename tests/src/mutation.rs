//! Register programs near legal ones, drawn from a seed: layers and jobs as a driver writes them, some words of which are
//! then changed. Whatever they are, a platform survives them, and simulated time moves on.
//!
//! [`run`] runs one of them and tells a [`Progress`] how far it is; [`watched`] runs many and says which one hangs.

mod fpga_ai_suite;
mod nvdla;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::{Rng, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use vp_core::Time;
use vp_models::host::{Host, HostError};
use vp_models::platform::Description;

/// Simulated time after which a program that still works is left: the largest layer would take hours.
const PATIENCE: Time = Time::us(40);
/// Steps in which that time passes; after each there is progress.
const STEPS: u64 = 8;
/// By the wall clock: a program whose simulated time has not moved for so long hangs. A step takes milliseconds, so
/// this is far from what a loaded machine makes of it.
const HANGS: Duration = Duration::from_secs(60);

/// Where a program is, for who watches it from another thread.
#[derive(Default)]
pub struct Progress {
    /// Counts what has been done; its value means nothing.
    steps: AtomicU64,
    /// Which program it is.
    program: Mutex<String>,
}

impl Progress {
    fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    fn begin(&self, platform: &str, seed: u64) {
        let mut program = self.program.lock().unwrap_or_else(PoisonError::into_inner);
        *program = format!("{platform} with seed {seed}");
        drop(program);
        self.step();
    }
}

/// Changes words at random.
struct Mutator {
    random: ChaCha8Rng,
    /// One word in so many is changed.
    rarity: u32,
    /// Some words that were written.
    words: Vec<u32>,
}

impl Mutator {
    fn new(seed: u64) -> Mutator {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let rarity = [4, 12, 40, 120][random.random_range(0..4)];
        Mutator { random, rarity, words: vec![0] }
    }

    fn one_in(&mut self, of: u32) -> bool {
        self.random.random_range(0..of) == 0
    }

    /// The word, or one near it.
    fn word(&mut self, word: u32) -> u32 {
        let place = self.random.random_range(0..64);
        match self.words.get_mut(place) {
            Some(kept) => *kept = word,
            None => self.words.push(word),
        }
        if !self.one_in(self.rarity) {
            return word;
        }
        let bits = self.random.random_range(0..32);
        match self.random.random_range(0..9) {
            0 => 0,
            1 => word.wrapping_add(1),
            2 => word.wrapping_sub(1),
            3 | 4 => word ^ 1 << bits,
            5 => word << 1,
            6 => u32::MAX >> bits,
            7 => self.random.random::<u32>() >> bits,
            _ => self.words[self.random.random_range(0..self.words.len())],
        }
    }
}

/// Runs the program of that seed on a built-in platform; tells how many registers it wrote.
///
/// # Panics
/// When the platform fails otherwise than by having nothing left to do.
pub fn run(platform: &str, seed: u64, progress: &Progress) -> u64 {
    progress.begin(platform, seed);
    let description = Description::named(platform).unwrap_or_else(|error| panic!("{error}"));
    if description.nvdla().is_some() {
        nvdla::run(platform, seed, progress)
    } else {
        fpga_ai_suite::run(platform, seed, progress)
    }
}

/// Lets time pass in steps: until an interrupt, the end of patience, or nothing is left to do. Whether there is an
/// interrupt.
fn step_to_interrupt(host: &mut dyn Host, until: Time, progress: &Progress) -> bool {
    loop {
        let now = host.now().expect("time");
        host.set_limit(until.min(now + PATIENCE / STEPS));
        progress.step();
        match host.wait_interrupt() {
            Ok(_) => return true,
            Err(HostError::Limit { .. }) if host.now().expect("time") < until => {}
            Err(HostError::Limit { .. } | HostError::Idle { .. }) => return false,
            Err(other) => panic!("{other}"),
        }
    }
}

/// Runs the programs of these seeds on a platform in another thread; tells how many registers they wrote.
///
/// # Panics
/// When one of them panics or hangs: the message says which.
pub fn watched(platform: &'static str, seeds: std::ops::Range<u64>) -> u64 {
    let progress = Arc::new(Progress::default());
    let (worker, (sender, done)) = (progress.clone(), channel());
    let work = std::thread::spawn(move || {
        let writes = seeds.map(|seed| run(platform, seed, &worker)).sum::<u64>();
        let _ = sender.send(writes);
    });
    loop {
        let before = progress.steps.load(Ordering::Relaxed);
        let which = || progress.program.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match done.recv_timeout(HANGS) {
            Ok(writes) => return writes,
            Err(RecvTimeoutError::Timeout) => {
                let after = progress.steps.load(Ordering::Relaxed);
                assert_ne!(before, after, "{} hangs: simulated time does not move", which());
            }
            Err(RecvTimeoutError::Disconnected) => {
                let why = work.join().expect_err("it ended without a result");
                let text = why.downcast_ref::<String>().cloned();
                panic!("{}: {}", which(), text.unwrap_or_default());
            }
        }
    }
}
