//! Decision of a thread that looks again and again for what a peer does: whether it gives its core to others in between.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

/// A thread that gets its core back after so long has given it to one that had work: that is a part of that one's slice, and not
/// the look of a peer that waits like itself.
const LOST: Duration = Duration::from_micros(200);
/// For so long a thread keeps its core then: it loses one slice in that time at most.
const KEEP: Duration = Duration::from_millis(100);
/// Waits, one after the other, that were over before anything came: then the peer needs this core.
const IN_VAIN: u32 = 2;

/// Looking for what a peer does, before sleeping.
///
/// The peer may be waiting for the looking thread's core, which is therefore [given](Self::yield_core) to others again and
/// again. On a busy host that may cost the slice of a thread that has nothing to do with it: milliseconds for an answer
/// that takes microseconds. Then the core is kept, as long as what is looked for comes.
#[derive(Debug, Default)]
pub struct AdaptiveSpin {
    keeps_until: Option<Instant>,
    /// Waits in vain, one after the other; and whether the present one is.
    in_vain: u32,
    is_in_vain: bool,
}

impl AdaptiveSpin {
    /// A wait begins.
    pub fn begin(&mut self) {
        if !std::mem::take(&mut self.is_in_vain) {
            self.in_vain = 0;
        }
    }

    /// Nothing has come yet: gives the core to another thread, unless that has cost much a short while ago.
    pub fn yield_core(&mut self) {
        self.yield_by(thread::yield_now);
    }

    fn yield_by(&mut self, gives: impl FnOnce()) {
        let began = Instant::now();
        if self.keeps_until.is_some_and(|until| began < until) {
            return hint::spin_loop();
        }
        gives();
        let ended = Instant::now();
        self.keeps_until = (ended - began >= LOST).then(|| ended + KEEP);
    }

    /// Nothing has come for so long that the thread sleeps now.
    pub fn give_up(&mut self) {
        self.in_vain += 1;
        self.is_in_vain = true;
        if self.in_vain >= IN_VAIN {
            self.keeps_until = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the core to a thread that keeps it.
    fn lose_a_slice() {
        thread::sleep(2 * LOST);
    }

    /// Returns true if the core is given to another.
    fn yields(spin: &mut AdaptiveSpin) -> bool {
        let mut has_yielded = false;
        spin.yield_by(|| has_yielded = true);
        has_yielded
    }

    #[test]
    fn the_core_is_given_to_others_until_that_costs_a_slice() {
        let mut spin = AdaptiveSpin::default();
        assert!((0..100).all(|_| yields(&mut spin)));
        spin.yield_by(lose_a_slice);
        assert!(!yields(&mut spin));
        spin.keeps_until = Some(Instant::now());
        assert!(yields(&mut spin) && yields(&mut spin));
    }

    #[test]
    fn the_core_is_given_again_where_two_waits_without_that_are_in_vain() {
        let mut spin = AdaptiveSpin::default();
        spin.yield_by(lose_a_slice);
        let mut keeps_after = |is_in_vain| {
            spin.begin();
            if is_in_vain {
                spin.give_up();
            }
            spin.keeps_until.is_some()
        };
        let waits = [true, false, true, false, true, true];
        assert_eq!(waits.map(&mut keeps_after), [true, true, true, true, true, false]);
    }
}
