//! CBUF, the convolution buffer: input lines and weights between CDMA, which fills it, and CSC, which empties it.
//!
//! The buffer counts room and holds what lies in it. Data is a queue of *slices*, one input line each; weights are
//! the bytes of a layer's kernels in a row. What layers share (reuse) is decided by whom the registers tell:
//! CDMA whether to fetch, CSC what to keep. Layers are numbered, in the order in which both units run them.

use super::elements::Elements;
use crate::nvdla::numeric::Precision;
use crate::nvdla::registers::Group;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use vp_core::{Event, Sim, Time};

/// How a layer splits the buffer, in banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Banks {
    /// For input.
    pub data: u32,
    /// For weights.
    pub weight: u32,
}

/// What a layer takes over from the one before and leaves to the one after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reuse {
    /// Its input is in the buffer already.
    pub data: bool,
    /// Its weights are.
    pub weight: bool,
    /// Its input stays.
    pub keep_data: bool,
    /// Its weights stay.
    pub keep_weight: bool,
}

/// What CDMA brings of one layer, for CSC to agree with.
pub(super) struct Fetch {
    /// CDMA's registers; `None`: it refused the layer, and nothing comes.
    pub(super) registers: Option<Group>,
    /// Slices that come; 0 if the layer's input is in the buffer already.
    pub(super) slices: u32,
    /// Elements of a slice.
    pub(super) slice_elements: usize,
    /// Whether weights come.
    pub(super) weights: bool,
    /// The data banks are others than the layer's before: what is in them is lost.
    pub(super) clear_data: bool,
    /// The banks are: weights are lost.
    pub(super) clear_weights: bool,
    /// CSC does not want it any more.
    pub(super) cancelled: Cell<bool>,
}

struct Slice {
    layer: u64,
    entries: u32,
    elements: Elements,
}

/// The weights of one layer, as far as they have come and are not released.
struct WeightSet {
    layer: u64,
    /// Bytes released, at the front.
    released: u64,
    /// Bytes whose room is free: as far as the entries that they share are released.
    freed: u64,
    /// Up to which byte CSC can use them from when on.
    usable: Vec<(u64, Time)>,
    /// No kernel is left that would use what still comes.
    consumed: bool,
    bytes: VecDeque<u8>,
}

impl WeightSet {
    /// Bytes that have come.
    fn come(&self) -> u64 {
        self.released + self.bytes.len() as u64
    }
}

#[derive(Default)]
struct State {
    slices: VecDeque<Slice>,
    /// Entries held or on their way.
    entries: u32,
    weights: VecDeque<WeightSet>,
    /// Bytes of weights held or on their way.
    weight_bytes: u32,
    /// Bytes of weights held.
    weights_held: u32,
}

impl State {
    /// Gives room for weights back.
    fn free(&mut self, bytes: u32) {
        self.weight_bytes -= bytes;
        self.weights_held -= bytes;
    }
}

/// The buffer.
pub(super) struct Buffer {
    sim: Sim,
    entry_bytes: u32,
    state: RefCell<State>,
    announced: RefCell<VecDeque<Rc<Fetch>>>,
    announcement: Event,
    arrived: Event,
    freed: Event,
    /// Layers that CSC has begun.
    begun: Cell<u64>,
    /// When it has begun the last.
    begun_at: Cell<Time>,
    beginning: Event,
}

impl Buffer {
    pub(super) fn new(sim: &Sim, entry_bytes: u32) -> Rc<Buffer> {
        Rc::new(Buffer {
            sim: sim.clone(),
            entry_bytes,
            state: RefCell::default(),
            announced: RefCell::default(),
            announcement: sim.work_event("nvdla.cbuf.layer"),
            arrived: sim.event("nvdla.cbuf.arrived"),
            freed: sim.event("nvdla.cbuf.freed"),
            begun: Cell::new(0),
            begun_at: Cell::default(),
            beginning: sim.event("nvdla.cbuf.begun"),
        })
    }

    // CDMA's side.

    /// Tells CSC what comes of the next layer.
    pub(super) fn announce(&self, fetch: Rc<Fetch>) {
        self.announced.borrow_mut().push_back(fetch);
        self.announcement.notify_delta();
    }

    /// Waits until CSC has begun layer `layer`, and with it has cleared banks that change their use; tells when that
    /// was.
    pub(super) async fn begun(&self, layer: u64) -> Time {
        while self.begun.get() <= layer {
            self.beginning.wait().await;
        }
        self.begun_at.get()
    }

    /// Waits until room is given back, or nobody wants a layer any more.
    pub(super) async fn freed(&self) {
        self.freed.wait().await;
    }

    /// Whether there is room for so many entries in the data banks.
    pub(super) fn has_entries(&self, entries: u32, capacity: u32) -> bool {
        self.state.borrow().entries.saturating_add(entries) <= capacity
    }

    /// Takes room for so many entries.
    pub(super) fn take_entries(&self, entries: u32) {
        self.state.borrow_mut().entries += entries;
    }

    /// Puts lines of a layer for which room was reserved.
    pub(super) fn put_slices(&self, fetch: &Fetch, layer: u64, entries: u32, lines: Vec<Elements>) {
        let mut state = self.state.borrow_mut();
        if fetch.cancelled.get() {
            state.entries -= entries * lines.len() as u32;
            self.freed.notify_delta();
            return;
        }
        state.slices.extend(lines.into_iter().map(|elements| Slice { layer, entries, elements }));
        self.arrived.notify_delta();
    }

    /// Begins the weights of a layer.
    pub(super) fn start_weights(&self, fetch: &Fetch, layer: u64) {
        let consumed = fetch.cancelled.get();
        let (bytes, usable) = (VecDeque::new(), Vec::new());
        let set = WeightSet { layer, released: 0, freed: 0, usable, consumed, bytes };
        self.state.borrow_mut().weights.push_back(set);
    }

    /// For how many of `bytes` of a layer's weights there is room in the weight banks: for all or none. If no room will
    /// come because CSC, which has released so many bytes of them, `starves` for more: for what fits, a multiple of `atom`.
    pub(super) fn weight_room(
        &self,
        layer: u64,
        (bytes, atom): (u32, u32),
        capacity: u32,
        starves: impl FnOnce(u64) -> bool,
    ) -> u32 {
        let state = self.state.borrow();
        let room = capacity.saturating_sub(state.weight_bytes) / atom * atom;
        if room >= bytes || room == 0 {
            return room.min(bytes);
        }
        let others = |set: &WeightSet| set.layer != layer && set.freed < set.come();
        let set = state.weights.iter().find(|set| set.layer == layer);
        let futile = !state.weights.iter().any(others)
            && set.is_some_and(|set| !set.consumed && starves(set.released));
        if futile { room } else { 0 }
    }

    /// Takes room for so many bytes of weights.
    pub(super) fn take_weight_room(&self, bytes: u32) {
        self.state.borrow_mut().weight_bytes += bytes;
    }

    /// Bytes of weights that are in the buffer.
    pub(super) fn weights_held(&self) -> u32 {
        self.state.borrow().weights_held
    }

    /// Waits until so many bytes of weights can be put.
    pub(super) async fn weights_released(&self, bytes: u32, capacity: u32) {
        while self.weights_held() + bytes > capacity {
            self.freed.wait().await;
        }
    }

    /// CSC can use a layer's weights up to byte `end` from then on.
    pub(super) fn weights_usable(&self, layer: u64, end: u64, when: Time) {
        if let Some(set) = self.state.borrow_mut().weights.iter_mut().find(|set| set.layer == layer) {
            set.usable.push((end, when));
        }
        self.arrived.notify_delta();
    }

    /// Puts bytes of the newest layer's weights, for which room was reserved.
    pub(super) fn put_weights(&self, layer: u64, bytes: &[u8]) {
        let mut state = self.state.borrow_mut();
        match state.weights.iter_mut().find(|set| set.layer == layer) {
            Some(set) if !set.consumed => {
                set.bytes.extend(bytes);
                state.weights_held += bytes.len() as u32;
            }
            // Beyond the last kernel: nobody will read it.
            _ => {
                state.weight_bytes -= bytes.len() as u32;
                self.freed.notify_delta();
            }
        }
    }

    // CSC's side.

    /// Waits for what CDMA says of the next layer.
    pub(super) async fn announced(&self) -> Rc<Fetch> {
        loop {
            if let Some(fetch) = self.announced.borrow_mut().pop_front() {
                return fetch;
            }
            self.announcement.wait().await;
        }
    }

    /// CSC begins layer `layer`: banks that change their use are cleared, and CDMA may fill them.
    pub(super) fn begin(&self, layer: u64, fetch: &Fetch) {
        if fetch.clear_data {
            self.drop_slices(|_| true);
        }
        if fetch.clear_weights {
            self.drop_weights(|_| true);
        }
        self.begun.set(layer + 1);
        self.begun_at.set(self.sim.now());
        self.beginning.notify_delta();
    }

    /// CSC will not run layer `layer`: what it left, and what has come or still comes of it, goes.
    pub(super) fn cancel(&self, layer: u64, fetch: &Fetch) {
        fetch.cancelled.set(true);
        self.drop_slices(|of| of <= layer);
        self.drop_weights(|of| of < layer);
        self.consume_weights(layer);
        self.freed.notify_delta();
    }

    /// Slices that layers before `layer` have left.
    pub(super) fn kept_slices(&self, layer: u64) -> usize {
        self.state.borrow().slices.iter().filter(|slice| slice.layer < layer).count()
    }

    /// Format and elements of the first slice that was left, if any.
    pub(super) fn kept_slice(&self) -> Option<(Precision, usize)> {
        self.state.borrow().slices.front().map(|slice| (slice.elements.precision(), slice.elements.len()))
    }

    /// Drops what layers before `layer` have left of their input.
    pub(super) fn drop_data_before(&self, layer: u64) {
        self.drop_slices(|of| of < layer);
    }

    /// Drops what layers before `layer` have left of their weights.
    pub(super) fn drop_weights_before(&self, layer: u64) {
        self.drop_weights(|of| of < layer);
    }

    /// Waits until `count` slices are there.
    pub(super) async fn slices(&self, count: usize) {
        while self.state.borrow().slices.len() < count {
            self.arrived.wait().await;
        }
    }

    /// Looks at the first slices.
    pub(super) fn with_slices<R>(
        &self,
        count: usize,
        look: impl FnOnce(&mut dyn Iterator<Item = &Elements>) -> R,
    ) -> R {
        let state = self.state.borrow();
        look(&mut state.slices.iter().take(count).map(|slice| &slice.elements))
    }

    /// Releases the first slices.
    pub(super) fn release_slices(&self, count: usize) {
        let mut state = self.state.borrow_mut();
        let count = count.min(state.slices.len());
        let freed: u32 = state.slices.drain(..count).map(|slice| slice.entries).sum();
        state.entries -= freed;
        self.freed.notify_delta();
    }

    /// Up to which byte the weights of `layer` have come.
    pub(super) fn weights_come(&self, layer: u64) -> u64 {
        let state = self.state.borrow();
        state.weights.iter().find(|set| set.layer == layer).map_or(0, WeightSet::come)
    }

    /// Waits until the weights of `layer` up to byte `end` can be used; tells since when.
    pub(super) async fn weights(&self, layer: u64, end: u64) -> Time {
        loop {
            let usable = {
                let state = self.state.borrow();
                let set = state.weights.iter().find(|set| set.layer == layer);
                set.and_then(|set| set.usable.iter().find(|(to, _)| *to >= end)).map(|&(_, when)| when)
            };
            match usable {
                Some(when) => {
                    self.sim.wait_until(when).await;
                    return when;
                }
                None => self.arrived.wait().await,
            }
        }
    }

    /// Bytes of a layer's weights that have come and are not released.
    pub(super) fn weight_bytes(&self, layer: u64, range: Range<u64>) -> Vec<u8> {
        let state = self.state.borrow();
        let Some(set) = state.weights.iter().find(|set| set.layer == layer) else { return Vec::new() };
        let at = |byte: u64| (byte.saturating_sub(set.released) as usize).min(set.bytes.len());
        let (from, to) = (at(range.start), at(range.end));
        let (front, back) = set.bytes.as_slices();
        let cut = |at: usize| (at.min(front.len()), at.saturating_sub(front.len()));
        let ((from, back_from), (to, back_to)) = (cut(from), cut(to));
        [&front[from..to], &back[back_from..back_to]].concat()
    }

    /// Releases a layer's weights up to byte `end`.
    pub(super) fn release_weights(&self, layer: u64, end: u64) {
        let mut state = self.state.borrow_mut();
        let Some(set) = state.weights.iter_mut().find(|set| set.layer == layer) else { return };
        let count = (end.saturating_sub(set.released) as usize).min(set.bytes.len());
        set.bytes.drain(..count);
        set.released += count as u64;
        let entry = u64::from(self.entry_bytes);
        let whole = end.checked_next_multiple_of(entry).unwrap_or(end).min(set.come());
        let freed = whole.saturating_sub(set.freed);
        set.freed += freed;
        state.free(freed as u32);
        self.freed.notify_delta();
    }

    /// Releases all of a layer's weights, also those that have not come yet.
    pub(super) fn consume_weights(&self, layer: u64) {
        self.release_weights(layer, u64::MAX);
        if let Some(set) = self.state.borrow_mut().weights.iter_mut().find(|set| set.layer == layer) {
            set.consumed = true;
        }
    }

    fn drop_slices(&self, of: impl Fn(u64) -> bool) {
        let count = self.state.borrow().slices.iter().take_while(|slice| of(slice.layer)).count();
        self.release_slices(count);
    }

    fn drop_weights(&self, of: impl Fn(u64) -> bool) {
        let mut state = self.state.borrow_mut();
        while let Some(set) = state.weights.front()
            && of(set.layer)
        {
            let freed = (set.come() - set.freed) as u32;
            state.free(freed);
            state.weights.pop_front();
        }
        self.freed.notify_delta();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_core::{Simulation, Time};

    fn fetch() -> Fetch {
        Fetch {
            registers: None,
            slices: 2,
            slice_elements: 1,
            weights: true,
            clear_data: false,
            clear_weights: false,
            cancelled: Cell::new(false),
        }
    }

    fn line(value: i8) -> Vec<Elements> {
        vec![Elements::Int8(vec![value])]
    }

    #[test]
    fn a_full_buffer_takes_the_next_line_when_one_is_released() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let buffer = Buffer::new(&sim, 1);
        let (cdma, clock, seen) = (buffer.clone(), sim.clone(), Rc::new(Cell::new(Time::ZERO)));
        let when = seen.clone();
        sim.process("cdma", async move {
            let fetch = fetch();
            for value in 0..3 {
                while !cdma.has_entries(2, 5) {
                    cdma.freed().await;
                }
                cdma.take_entries(2);
                cdma.put_slices(&fetch, 0, 2, line(value));
            }
            when.set(clock.now());
        });
        let (csc, clock) = (buffer.clone(), sim.clone());
        sim.process("csc", async move {
            csc.slices(2).await;
            clock.wait(Time::ns(7)).await;
            csc.release_slices(1);
        });
        simulation.run();
        assert_eq!(seen.get(), Time::ns(7));
        let values = buffer.with_slices(2, |slices| slices.flat_map(Elements::values).collect::<Vec<_>>());
        assert_eq!(values, [1, 2]);
    }

    #[test]
    fn weights_are_read_where_they_lie_and_released_from_the_front() {
        let mut simulation = Simulation::new();
        let buffer = Buffer::new(&simulation.sim(), 1);
        buffer.start_weights(&fetch(), 4);
        let cdma = buffer.clone();
        simulation.sim().process("cdma", async move {
            assert_eq!(cdma.weight_room(4, (12, 4), 10, |_| true), 8);
            cdma.take_weight_room(8);
            cdma.put_weights(4, &[0, 1, 2, 3, 4, 5, 6, 7]);
            cdma.weights_usable(4, 8, Time::ns(3));
            assert_eq!(cdma.weight_room(4, (4, 4), 10, |_| false), 0);
            cdma.freed().await;
            assert_eq!(cdma.weight_room(4, (4, 4), 10, |_| false), 4);
        });
        let csc = buffer.clone();
        simulation.sim().process("csc", async move {
            assert_eq!(csc.weights(4, 8).await, Time::ns(3));
            csc.release_weights(4, 3);
        });
        simulation.run();
        assert_eq!(buffer.weight_bytes(4, 3..6), [3, 4, 5]);
    }

    #[test]
    fn what_nobody_wants_any_more_leaves_no_trace() {
        let simulation = Simulation::new();
        let buffer = Buffer::new(&simulation.sim(), 1);
        let fetch = fetch();
        buffer.start_weights(&fetch, 0);
        buffer.state.borrow_mut().entries = 2;
        buffer.state.borrow_mut().weight_bytes = 4;
        buffer.cancel(0, &fetch);
        buffer.put_slices(&fetch, 0, 2, line(1));
        buffer.put_weights(0, &[0; 4]);
        let state = buffer.state.borrow();
        assert_eq!((state.entries, state.weight_bytes, state.slices.len()), (0, 0, 0));
    }
}
