//! CBUF, the convolution buffer: input lines and weights between CDMA, which fills it, and CSC, which empties it.
//!
//! The buffer counts room and holds what lies in it. Data is a queue of *slices*, one input line each; weights are
//! the bytes of a layer's kernels in a row ([`WeightSet`]), wherever they lie in memory. What layers share (reuse) is
//! decided by whom the registers tell: CDMA whether to fetch, CSC what to keep. Layers are numbered, in the order in
//! which both units run them.

use super::elements::Elements;
use super::weight_set::{Stored, Surplus, WeightSet};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::nvdla::numeric::Precision;
use crate::nvdla::registers::Group;
use crate::occupancy::{BufferFill, Occupancy, Work};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use vp_core::{Event, Sim, Time};

/// How a layer splits the buffer, in banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

#[derive(Serialize, Deserialize)]
struct Slice {
    layer: u64,
    entries: u32,
    elements: Elements,
}

/// Room for one part of the weights, in bytes.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Room {
    /// Held or on their way.
    taken: u32,
    /// Held.
    held: u32,
}

#[derive(Default)]
struct State {
    slices: VecDeque<Slice>,
    /// Entries held or on their way.
    entries: u32,
    sets: VecDeque<WeightSet>,
    /// Behind the kernels of the last set, if none follows.
    surplus: Surplus,
    /// Of the weight banks, and of the mask bank.
    rooms: [Room; 2],
    /// Bytes of weights that are held for ever, as nobody gives them back.
    lost: u32,
}

impl State {
    fn set(&mut self, layer: u64) -> Option<&mut WeightSet> {
        self.sets.iter_mut().find(|set| set.layer == layer)
    }

    /// What was left behind kernels is gone. Its room is free, unless CDMA counts what CSC has not given back.
    fn clear_surplus(&mut self, is_counted: bool) {
        let bytes = std::mem::take(&mut self.surplus).bytes.len() as u32;
        match is_counted {
            true => {
                self.rooms[Stored::Weights as usize].taken -= bytes;
                self.lost += bytes;
            }
            false => self.free([bytes.into(), 0]),
        }
    }

    /// Gives room for weights back.
    fn free(&mut self, freed: [u64; 2]) {
        for (room, freed) in self.rooms.iter_mut().zip(freed) {
            room.taken -= freed as u32;
            room.held -= freed as u32;
        }
    }
}

/// The buffer.
pub(super) struct Buffer {
    sim: Sim,
    occupancy: Rc<Occupancy>,
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
    pub(super) fn new(sim: &Sim, entry_bytes: u32, occupancy: Rc<Occupancy>) -> Rc<Buffer> {
        Rc::new(Buffer {
            sim: sim.clone(),
            occupancy,
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

    /// Tells who asks how full it is, after a change.
    #[inline]
    fn tell(&self, state: &State) {
        self.occupancy.buffer(|| {
            let data = u64::from(state.entries) * u64::from(self.entry_bytes);
            let weights = state.rooms.iter().map(|room| u64::from(room.taken)).sum();
            (self.sim.now(), BufferFill { data, weights })
        });
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
        let mut state = self.state.borrow_mut();
        state.entries += entries;
        self.occupancy.count(Work::BufferWritten, u64::from(entries) * u64::from(self.entry_bytes));
        self.tell(&state);
    }

    /// Puts lines of a layer for which room was reserved.
    pub(super) fn put_slices(&self, fetch: &Fetch, layer: u64, entries: u32, lines: Vec<Elements>) {
        let mut state = self.state.borrow_mut();
        if fetch.cancelled.get() {
            state.entries -= entries * lines.len() as u32;
            self.tell(&state);
            self.freed.notify_delta();
            return;
        }
        state.slices.extend(lines.into_iter().map(|elements| Slice { layer, entries, elements }));
        self.arrived.notify_delta();
    }

    /// Begins the weights of a layer: compressed, if the bytes of an element are given.
    pub(super) fn start_weights(&self, fetch: &Fetch, layer: u64, compressed: Option<u32>) {
        let mut set = WeightSet::new(layer, self.entry_bytes, compressed, fetch.cancelled.get());
        let mut state = self.state.borrow_mut();
        if set.is_compressed() {
            state.clear_surplus(false);
        }
        set.put_in_front(&mut state.surplus);
        state.sets.push_back(set);
    }

    /// For how many of `bytes` of a part of a layer's weights there is room in its banks: for all or none. If no room
    /// will come because CSC, which has released the kernels up to some byte, `starves` for more: for what fits, a
    /// multiple of `atom`.
    pub(super) fn weight_room(
        &self,
        (layer, part): (u64, Stored),
        (bytes, atom): (u32, u32),
        capacity: u32,
        starves: impl FnOnce(u64) -> bool,
    ) -> u32 {
        let state = self.state.borrow();
        let room = capacity.saturating_sub(state.rooms[part as usize].taken) / atom * atom;
        if room >= bytes || room == 0 {
            return room.min(bytes);
        }
        let others = |set: &WeightSet| set.layer != layer && set.holds_room(part);
        let set = state.sets.iter().find(|set| set.layer == layer);
        let futile = !state.sets.iter().any(others)
            && set.is_some_and(|set| !set.is_consumed() && starves(set.released()));
        if futile { room } else { 0 }
    }

    /// Takes room for so many bytes.
    pub(super) fn take_weight_room(&self, part: Stored, bytes: u32) {
        let mut state = self.state.borrow_mut();
        state.rooms[part as usize].taken += bytes;
        self.occupancy.count(Work::BufferWritten, bytes.into());
        self.tell(&state);
    }

    /// Bytes of weights that are in the buffer.
    pub(super) fn weights_held(&self) -> u32 {
        self.state.borrow().rooms[Stored::Weights as usize].held
    }

    /// Bytes of the weight banks that are lost until reset: of layers before a change of banks, and what lies in front of a layer's weights.
    pub(super) fn weights_lost(&self, layer: u64) -> u64 {
        let lost = u64::from(self.state.borrow().lost);
        lost + self.shift(layer).map_or(0, |(bytes, _)| bytes)
    }

    /// Waits until so many bytes of weights can be put.
    pub(super) async fn weights_released(&self, bytes: u32, capacity: u32) {
        while self.weights_held() + bytes > capacity {
            self.freed.wait().await;
        }
    }

    /// CSC can use a layer's kernels up to byte `end` from then on.
    pub(super) fn weights_usable(&self, layer: u64, end: u64, when: Time) {
        if let Some(set) = self.state.borrow_mut().set(layer) {
            set.usable.push((end, when));
        }
        self.arrived.notify_delta();
    }

    /// Bytes of weights that the masks of a layer have marked between two bytes of its kernels.
    pub(super) fn marked(&self, layer: u64, range: Range<u64>) -> u64 {
        self.state.borrow_mut().set(layer).map_or(0, |set| set.marked(range))
    }

    /// The rest of a layer's weights will not come.
    pub(super) fn fail_weights(&self, layer: u64) {
        if let Some(set) = self.state.borrow_mut().set(layer) {
            set.failed = true;
        }
        self.arrived.notify_delta();
    }

    /// Something else than room lets CDMA go on.
    pub(super) fn goes_on(&self) {
        self.freed.notify_delta();
    }

    /// Puts bytes of the newest layer's weights, for which room was reserved.
    pub(super) fn put_weights(&self, layer: u64, part: Stored, bytes: &[u8]) {
        let mut state = self.state.borrow_mut();
        match state.set(layer) {
            Some(set) if !set.is_consumed() => {
                set.put(part, bytes);
                state.rooms[part as usize].held += bytes.len() as u32;
            }
            // Beyond the last kernel: the next layer's are read from there on.
            Some(set) if set.leaves_surplus() => {
                state.surplus.layer = layer;
                state.surplus.bytes.extend(bytes);
                state.rooms[part as usize].held += bytes.len() as u32;
            }
            // Nobody will read it.
            _ => {
                state.rooms[part as usize].taken -= bytes.len() as u32;
                self.tell(&state);
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

    /// CSC begins layer `layer`: banks that change their use are cleared, and CDMA may fill them. Hardware without compressed
    /// weights counts what CDMA has written and CSC has not given back, and a change does not clear that count (RTL,
    /// `NV_NVDLA_CDMA_wt.v`, `wt_wr_dmatx_cnt`).
    pub(super) fn begin(&self, layer: u64, fetch: &Fetch, counts_written: bool) {
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
    pub(super) fn cancel(&self, layer: u64, fetch: &Fetch) {
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
        self.tell(&state);
        self.freed.notify_delta();
    }

    /// Up to which byte the kernels of `layer` have come.
    pub(super) fn weights_come(&self, layer: u64) -> u64 {
        self.state.borrow_mut().set(layer).map_or(0, |set| set.come())
    }

    /// Waits until the kernels of `layer` up to byte `end` can be used; tells since when. `None` if they will not come.
    pub(super) async fn weights(&self, layer: u64, end: u64) -> Option<Time> {
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
    pub(super) fn weight_bytes(&self, layer: u64, range: Range<u64>) -> Vec<u8> {
        self.state.borrow_mut().set(layer).map_or_else(Vec::new, |set| set.bytes(range))
    }

    /// Releases a layer's kernels up to byte `end`.
    pub(super) fn release_weights(&self, layer: u64, end: u64) {
        let mut state = self.state.borrow_mut();
        let Some(freed) = state.set(layer).map(|set| set.release(end)) else { return };
        state.free(freed);
        self.tell(&state);
        self.freed.notify_delta();
    }

    /// Whether all kernels of a layer up to byte `end` are there.
    pub(super) fn has_weights(&self, layer: u64, end: u64) -> bool {
        self.state.borrow_mut().set(layer).is_some_and(|set| set.released() == 0 && set.come() >= end)
    }

    /// By how many bytes the kernels that are read of a layer lie before its own, and the layer that has left the last of these
    /// bytes behind its own kernels.
    pub(super) fn shift(&self, layer: u64) -> Option<(u64, u64)> {
        self.state.borrow_mut().set(layer).and_then(|set| set.shift())
    }

    /// Releases a layer's weights when the last kernel is read: up to the end of its entry. What is behind it is in front of the
    /// next layer's.
    pub(super) fn consume_weights(&self, layer: u64) {
        let mut state = self.state.borrow_mut();
        let Some((freed, surplus)) = state.set(layer).map(WeightSet::consume) else { return };
        state.free(freed);
        if !surplus.bytes.is_empty() {
            state.surplus.layer = surplus.layer;
            state.surplus.bytes.extend(surplus.bytes);
            let State { sets, surplus, .. } = &mut *state;
            if let Some(next) = sets.iter_mut().find(|set| set.layer > layer) {
                next.put_in_front(surplus);
            }
        }
        self.tell(&state);
        self.freed.notify_delta();
    }

    fn drop_slices(&self, of: impl Fn(u64) -> bool) {
        let count = self.state.borrow().slices.iter().take_while(|slice| of(slice.layer)).count();
        self.release_slices(count);
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

impl Buffer {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Buffer {
            sim: _,
            occupancy: _,
            entry_bytes,
            state,
            announced,
            announcement: _,
            arrived: _,
            freed: _,
            begun,
            begun_at,
            beginning: _,
        } = self;
        at.part("nvdla.cbuf")?;
        at.at_rest(announced.borrow().is_empty(), "CSC has yet to begin a layer")?;
        at.cell(begun)?;
        at.cell(begun_at)?;
        let state = &mut *state.borrow_mut();
        let State { slices, entries, sets, surplus, rooms, lost } = state;
        at.value(slices)?;
        at.value(entries)?;
        at.value(sets)?;
        at.value(surplus)?;
        at.fixed(rooms)?;
        at.value(lost)?;
        at.check(state.is_consistent(*entry_bytes), "it holds what it cannot hold")
    }
}

impl State {
    /// Whether all that is held has its room.
    fn is_consistent(&self, entry_bytes: u32) -> bool {
        let entries: u64 = self.slices.iter().map(|slice| u64::from(slice.entries)).sum();
        let sets: Option<Vec<[u64; 2]>> = self.sets.iter().map(|set| set.holds(entry_bytes)).collect();
        let Some(sets) = sets else { return false };
        let held = |part: usize| sets.iter().map(|held| held[part]).fold(0, u64::saturating_add);
        let has_room = |(part, room): (usize, &Room)| {
            let surplus = if part == 0 { self.surplus.bytes.len() as u64 } else { 0 };
            held(part).saturating_add(surplus) <= room.held.into()
        };
        entries <= self.entries.into() && self.rooms.iter().enumerate().all(has_room)
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
        let buffer = Buffer::new(&sim, 1, Rc::default());
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
    fn who_asks_is_told_how_full_it_is() {
        let simulation = Simulation::new();
        let occupancy = Rc::<Occupancy>::default();
        let buffer = Buffer::new(&simulation.sim(), 8, occupancy.clone());
        let (told, seen) = (Rc::new(RefCell::new(Vec::new())), fetch());
        let fills = told.clone();
        buffer.take_entries(1);
        occupancy.on_buffer(move |_, fill| fills.borrow_mut().push((fill.data, fill.weights)));
        buffer.take_entries(2);
        buffer.put_slices(&seen, 0, 3, line(1));
        buffer.start_weights(&seen, 0, None);
        buffer.take_weight_room(Stored::Weights, 8);
        buffer.put_weights(0, Stored::Weights, &[0; 8]);
        buffer.release_slices(1);
        buffer.release_weights(0, 8);
        assert_eq!(*told.borrow(), [(24, 0), (24, 8), (0, 8), (0, 0)]);
    }

    #[test]
    fn weights_are_read_where_they_lie_and_released_from_the_front() {
        let mut simulation = Simulation::new();
        let buffer = Buffer::new(&simulation.sim(), 1, Rc::default());
        buffer.start_weights(&fetch(), 4, None);
        let cdma = buffer.clone();
        simulation.sim().process("cdma", async move {
            assert_eq!(cdma.weight_room((4, Stored::Weights), (12, 4), 10, |_| true), 8);
            cdma.take_weight_room(Stored::Weights, 8);
            cdma.put_weights(4, Stored::Weights, &[0, 1, 2, 3, 4, 5, 6, 7]);
            cdma.weights_usable(4, 8, Time::ns(3));
            assert_eq!(cdma.weight_room((4, Stored::Weights), (4, 4), 10, |_| false), 0);
            cdma.freed().await;
            assert_eq!(cdma.weight_room((4, Stored::Weights), (4, 4), 10, |_| false), 4);
        });
        let csc = buffer.clone();
        simulation.sim().process("csc", async move {
            assert_eq!(csc.weights(4, 8).await, Some(Time::ns(3)));
            csc.release_weights(4, 3);
        });
        simulation.run();
        assert_eq!(buffer.weight_bytes(4, 3..6), [3, 4, 5]);
    }

    #[test]
    fn what_nobody_wants_any_more_leaves_no_trace() {
        let simulation = Simulation::new();
        let buffer = Buffer::new(&simulation.sim(), 1, Rc::default());
        let fetch = fetch();
        buffer.start_weights(&fetch, 0, None);
        buffer.state.borrow_mut().entries = 2;
        buffer.take_weight_room(Stored::Weights, 4);
        buffer.cancel(0, &fetch);
        buffer.put_slices(&fetch, 0, 2, line(1));
        buffer.put_weights(0, Stored::Weights, &[0; 4]);
        let state = buffer.state.borrow();
        assert_eq!((state.entries, state.rooms[0].taken, state.slices.len()), (0, 0, 0));
    }
}
