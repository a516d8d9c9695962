//! Register programs near legal ones, drawn from a seed: layers and jobs as a driver writes them, some words of which are
//! then changed. Whatever they are, a platform survives them, and simulated time moves on.
//!
//! [`run`] runs one of them and tells a [`Progress`] how far it is; [`watched`] runs many and says which one hangs.

mod fpga_ai_suite;
mod nvdla;

use std::time::Duration;

use rand::{Rng, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use vp_core::Time;
use vp_host::{Host, HostError};
use vp_models::nvdla::registers::Unit;
use vp_models::platform::Description;

use crate::conformance::local;
use crate::progress::{Progress, watched as watched_work};

/// Simulated time after which a program that still works is left: the largest layer would take hours.
const PATIENCE: Time = Time::us(40);
/// Steps in which that time passes; after each there is progress.
const STEPS: u64 = 8;
/// By the wall clock: a program whose simulated time has not moved for so long hangs. A step takes milliseconds, so
/// this is far from what a loaded machine makes of it.
const HANGS: Duration = Duration::from_secs(60);

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
    progress.begin(format!("{platform} with seed {seed}"));
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
    watched_work(HANGS, move |progress| seeds.map(|seed| run(platform, seed, progress)).sum())
}

/// Makes writes to any registers, whatever they do; now and then time moves on. A register is named by a number, of which the
/// highest bit says that time moves first.
///
/// # Panics
/// When the platform fails otherwise than by having nothing left to do.
pub fn write_any(platform: &str, writes: impl Iterator<Item = (u16, u32)>, progress: &Progress) -> u64 {
    let description = Description::named(platform).unwrap_or_else(|error| panic!("{error}"));
    let mut host = local(&description);
    let map = host.map();
    let of_unit =
        |unit: Unit| unit.registers().iter().filter_map(move |register| map.address(unit, register));
    let mut addresses: Vec<u32> = Unit::ALL.into_iter().flat_map(of_unit).collect();
    if description.nvdla().is_none() {
        addresses = (0..0x1000).step_by(4).collect();
    }
    let mut count = 0;
    for (register, value) in writes {
        if register & 0x8000 != 0 {
            let until = host.now().expect("time") + PATIENCE / STEPS;
            step_to_interrupt(&mut host, until, progress);
        }
        let address = addresses[usize::from(register & 0x7fff) % addresses.len()];
        // Some refuse accesses that the map has no register for.
        count += u64::from(host.write(address, value).is_ok());
    }
    let until = host.now().expect("time") + PATIENCE;
    step_to_interrupt(&mut host, until, progress);
    count
}
