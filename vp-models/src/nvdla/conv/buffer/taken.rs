//! The buffer as CSC sees it: CSC waits for lines and weights, reads them in place, and releases their room.

use super::super::elements::Elements;
use super::super::weight_set::WeightSet;
use super::{Buffer, BufferState, Fetch};
use crate::nvdla::numeric::Precision;
use std::ops::Range;
use std::rc::Rc;
use vp_core::Time;

impl Buffer {
    /// Waits for what CDMA says of the next layer.
    pub(in crate::nvdla::conv) async fn announced(&self) -> Rc<Fetch> {
        loop {
            if let Some(fetch) = self.announced.borrow_mut().pop_front() {
                return fetch;
            }
            self.announcement.wait().await;
        }
    }

    /// CSC begins layer `layer`: banks that change their use are cleared, and CDMA may fill them. Hardware without compressed
    /// weights counts what CDMA has written and CSC has not given back, and a change does not clear that count (RTL,
    /// `NV_NVDLA_CDMA_wt.v`, `wt_wr_dmatx_cnt`).
    pub(in crate::nvdla::conv) fn begin(&self, layer: u64, fetch: &Fetch, counts_written: bool) {
        if fetch.clear_data {
            self.drop_slices(|_| true);
        }
        if fetch.clear_weights {
            self.drop_weights(|_| true);
            self.state.borrow_mut().clear_surplus(counts_written);
        }
        self.begun.set(layer + 1);
        self.begun_at.set(self.sim.now());
        self.beginning.notify_delta();
    }

    /// CSC will not run layer `layer`: what it left, and what has come or still comes of it, goes.
    pub(in crate::nvdla::conv) fn cancel(&self, layer: u64, fetch: &Fetch) {
        fetch.cancelled.set(true);
        self.drop_slices(|of| of <= layer);
        self.drop_weights(|of| of < layer);
        let mut state = self.state.borrow_mut();
        state.clear_surplus(false);
        if let Some(freed) = state.set(layer).map(WeightSet::clear) {
            state.free(freed);
        }
        self.tell(&state);
        self.freed.notify_delta();
    }

    /// Slices that layers before `layer` have left.
    pub(in crate::nvdla::conv) fn kept_slices(&self, layer: u64) -> usize {
        self.state.borrow().slices.iter().filter(|slice| slice.layer < layer).count()
    }

    /// Format and elements of the first slice that was left, if any.
    pub(in crate::nvdla::conv) fn kept_slice(&self) -> Option<(Precision, usize)> {
        self.state.borrow().slices.front().map(|slice| (slice.elements.precision(), slice.elements.len()))
    }

    /// Drops what layers before `layer` have left of their input; returns the entries, whose room [`Buffer::free_entries`] gives back.
    pub(in crate::nvdla::conv) fn drop_data_before(&self, layer: u64) -> u32 {
        self.take_slices(self.count_slices(|of| of < layer))
    }

    /// Drops what layers before `layer` have left of their weights.
    pub(in crate::nvdla::conv) fn drop_weights_before(&self, layer: u64) {
        self.drop_weights(|of| of < layer);
    }

    /// Waits until `count` slices are there.
    pub(in crate::nvdla::conv) async fn slices(&self, count: usize) {
        while self.state.borrow().slices.len() < count {
            self.arrived.wait().await;
        }
    }

    /// Looks at the first slices.
    pub(in crate::nvdla::conv) fn with_slices<R>(
        &self,
        count: usize,
        look: impl FnOnce(&mut dyn Iterator<Item = &Elements>) -> R,
    ) -> R {
        let state = self.state.borrow();
        look(&mut state.slices.iter().take(count).map(|slice| &slice.elements))
    }

    /// Releases the first slices.
    pub(in crate::nvdla::conv) fn release_slices(&self, count: usize) {
        self.free_entries(self.take_slices(count));
    }

    /// Gives the room of so many entries back.
    pub(in crate::nvdla::conv) fn free_entries(&self, entries: u32) {
        let mut state = self.state.borrow_mut();
        state.entries -= entries;
        self.tell(&state);
        self.freed.notify_delta();
    }

    /// Takes the first slices; returns their entries.
    fn take_slices(&self, count: usize) -> u32 {
        let slices = &mut self.state.borrow_mut().slices;
        let count = count.min(slices.len());
        slices.drain(..count).map(|slice| slice.entries).sum()
    }

    /// Byte up to which the kernels of `layer` have come.
    pub(in crate::nvdla::conv) fn weights_arrived(&self, layer: u64) -> u64 {
        self.state.borrow_mut().set(layer).map_or(0, |set| set.arrived())
    }

    /// Waits until the kernels of `layer` up to byte `end` can be used; tells since when. `None` if they will not come.
    pub(in crate::nvdla::conv) async fn weights(&self, layer: u64, end: u64) -> Option<Time> {
        loop {
            let (usable, failed) = match self.state.borrow_mut().set(layer) {
                Some(set) => (set.usable.iter().find(|(to, _)| *to >= end).copied(), set.failed),
                None => (None, false),
            };
            match usable {
                Some((_, when)) => {
                    self.sim.wait_until(when).await;
                    return Some(when);
                }
                None if failed => return None,
                None => self.arrived.wait().await,
            }
        }
    }

    /// Bytes of a layer's kernels that have come and are not released, as they are without compression.
    pub(in crate::nvdla::conv) fn weight_bytes(&self, layer: u64, range: Range<u64>) -> Vec<u8> {
        self.state.borrow_mut().set(layer).map_or_else(Vec::new, |set| set.bytes(range))
    }

    /// Releases a layer's kernels up to byte `end`.
    pub(in crate::nvdla::conv) fn release_weights(&self, layer: u64, end: u64) {
        let mut state = self.state.borrow_mut();
        let Some(freed) = state.set(layer).map(|set| set.release(end)) else { return };
        state.free(freed);
        self.tell(&state);
        self.freed.notify_delta();
    }

    /// Returns true if all kernels of a layer up to byte `end` are there.
    pub(in crate::nvdla::conv) fn has_weights(&self, layer: u64, end: u64) -> bool {
        self.state.borrow_mut().set(layer).is_some_and(|set| set.released() == 0 && set.arrived() >= end)
    }

    /// Bytes by which the kernels that are read of a layer lie before its own, and the layer that has left the last of these
    /// bytes behind its own kernels.
    pub(in crate::nvdla::conv) fn shift(&self, layer: u64) -> Option<(u64, u64)> {
        self.state.borrow_mut().set(layer).and_then(|set| set.shift())
    }

    /// Releases a layer's weights when the last kernel is read: up to the end of its entry. What is behind it is in front of the
    /// next layer's.
    pub(in crate::nvdla::conv) fn consume_weights(&self, layer: u64) {
        let mut state = self.state.borrow_mut();
        let Some((freed, surplus)) = state.set(layer).map(WeightSet::consume) else { return };
        state.free(freed);
        if !surplus.bytes.is_empty() {
            state.surplus.layer = surplus.layer;
            state.surplus.bytes.extend(surplus.bytes);
            let BufferState { sets, surplus, .. } = &mut *state;
            if let Some(next) = sets.iter_mut().find(|set| set.layer > layer) {
                next.put_in_front(surplus);
            }
        }
        self.tell(&state);
        self.freed.notify_delta();
    }

    fn count_slices(&self, of: impl Fn(u64) -> bool) -> usize {
        self.state.borrow().slices.iter().take_while(|slice| of(slice.layer)).count()
    }

    fn drop_slices(&self, of: impl Fn(u64) -> bool) {
        self.release_slices(self.count_slices(of));
    }

    fn drop_weights(&self, of: impl Fn(u64) -> bool) {
        let mut state = self.state.borrow_mut();
        while state.sets.front().is_some_and(|set| of(set.layer)) {
            if let Some(mut set) = state.sets.pop_front() {
                state.free(set.clear());
            }
        }
        self.tell(&state);
        self.freed.notify_delta();
    }
}
