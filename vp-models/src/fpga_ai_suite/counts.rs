//! Counts of the IP.

use std::cell::Cell;

/// Counts since the IP was reset.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) begun: Cell<u64>,
    pub(super) complete: Cell<u64>,
    pub(super) failed: Cell<u64>,
    pub(super) layers: Cell<u64>,
    pub(super) input_bytes: Cell<u64>,
    pub(super) filter_bytes: Cell<u64>,
    pub(super) output_bytes: Cell<u64>,
}

impl Counts {
    pub(super) fn reset(&self) {
        let all = [&self.begun, &self.complete, &self.failed, &self.layers];
        let bytes = [&self.input_bytes, &self.filter_bytes, &self.output_bytes];
        all.into_iter().chain(bytes).for_each(|count| count.set(0));
    }
}

/// Adds to a count.
pub(super) fn add(count: &Cell<u64>, more: u64) {
    count.set(count.get() + more);
}
