//! Read data as a client gets it where beats begin with the first byte of each request (RTL, branch nvdlav1, `NV_NVDLA_MCIF_READ_eg.v`:
//! `arb_cq_swizzle`, `ro*_fifo0` and `ro*_fifo1`; `NV_NVDLA_CVIF_READ_eg.v` the same).
//!
//! A request that begins within a beat of the bus leaves a part of each beat for the next one; with the last all is there.

use super::AxiConfig;
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::collections::VecDeque;

/// The requests of a client whose data has not all come.
pub(super) struct Realigner {
    beat_bytes: u32,
    /// Bytes of each request that have not come.
    requests: VecDeque<u32>,
    /// Bytes that have come and wait for the next beat.
    held: u32,
}

impl Realigner {
    fn new(beat_bytes: u32) -> Realigner {
        Realigner { beat_bytes, requests: VecDeque::new(), held: 0 }
    }

    /// Returns that of a client of an interface, if there are any.
    pub(super) fn of(config: &AxiConfig) -> Option<Realigner> {
        config.realigns_reads.then(|| Realigner::new(config.beat_bytes))
    }

    /// Adds a request of so many bytes.
    pub(super) fn request(&mut self, bytes: u32) {
        if bytes > 0 {
            self.requests.push_back(bytes);
        }
    }

    /// Returns the number of bytes that the client gets with a beat of the bus that has so many.
    pub(super) fn take(&mut self, bytes: u32) -> u32 {
        self.held += bytes;
        let Some(left) = self.requests.front_mut() else { return std::mem::take(&mut self.held) };
        *left = left.saturating_sub(bytes);
        if *left == 0 {
            self.requests.pop_front();
            return std::mem::take(&mut self.held);
        }
        let whole = self.held - self.held % self.beat_bytes;
        self.held -= whole;
        whole
    }

    /// Returns the number of places that have to be free for a beat of the bus: one beside that of the bytes which wait (`ro*_wr_rdy`).
    pub(super) fn places(&self) -> usize {
        1 + usize::from(self.held > 0)
    }

    /// Returns the number of beats that the client gets with that.
    pub(super) fn take_beats(&mut self, bytes: u32) -> u32 {
        self.take(bytes).div_ceil(self.beat_bytes)
    }

    pub(super) fn checkpoint(&self, at: &Checkpoint<'_>) -> Result<(), CheckpointError> {
        at.at_rest(self.requests.is_empty() && self.held == 0, "reads are in flight")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_waits_has_a_place_beside_that_of_the_next_beat() {
        let mut realigner = Realigner::new(64);
        realigner.request(128);
        let mut beats = Vec::new();
        for bytes in [32, 64, 32] {
            beats.push((realigner.places(), realigner.take_beats(bytes)));
        }
        assert_eq!((beats, realigner.places()), (vec![(1, 0), (2, 1), (2, 1)], 1));
        // The last of three atoms comes with the second.
        realigner.request(96);
        assert_eq!([32, 64].map(|bytes| realigner.take_beats(bytes)), [0, 2]);
    }

    /// Returns what a client gets with each beat of a request of so many bytes, `first` of which come with the first beat.
    fn taken(first: u32, bytes: u32) -> Vec<u32> {
        let mut realigner = Realigner::new(64);
        realigner.request(bytes);
        let (mut beat, mut left, mut taken) = (first.min(bytes), bytes, Vec::new());
        while left > 0 {
            taken.push(realigner.take(beat));
            left -= beat;
            beat = left.min(64);
        }
        assert_eq!((taken.iter().sum::<u32>(), realigner.held), (bytes, 0));
        taken
    }

    #[test]
    fn a_request_that_begins_with_a_beat_comes_as_it_is_on_the_bus() {
        assert_eq!(taken(64, 32), [32]);
        assert_eq!(taken(64, 160), [64, 64, 32]);
    }

    #[test]
    fn of_one_that_begins_within_a_beat_a_part_waits_for_the_next() {
        assert_eq!(taken(32, 32), [32]);
        assert_eq!(taken(32, 64), [0, 64]);
        assert_eq!(taken(32, 160), [0, 64, 96]);
        assert_eq!(taken(32, 192), [0, 64, 64, 64]);
    }
}
