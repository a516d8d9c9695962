//! CBUF, the convolution buffer: input lines and weights between CDMA, which fills it, and CSC, which empties it.
//!
//! The buffer counts its free room and holds data and weights. Data is a queue of *slices*, one input line
//! each. Weights are the bytes of a layer's kernels in a row ([`WeightSet`]), wherever they are in memory. The
//! registers decide what layers share (reuse): those of CDMA whether to fetch, those of CSC what to keep.
//! Layers are numbered, in the order in which both units run them.

mod taken;
#[cfg(test)]
mod tests;

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

/// Split of the buffer by a layer, in banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Banks {
    /// For input.
    pub data: u32,
    /// For weights.
    pub weight: u32,
}

/// Data that a layer takes over from the previous one and leaves to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reuse {
    /// True if the layer's input is in the buffer already.
    pub data: bool,
    /// True if the layer's weights are in the buffer already.
    pub weight: bool,
    /// True if the layer's input stays in the buffer.
    pub keep_data: bool,
    /// True if the layer's weights stay in the buffer.
    pub keep_weight: bool,
}

/// Data that CDMA brings of one layer, for CSC to agree with.
pub(super) struct Fetch {
    /// CDMA's registers; `None`: it refused the layer, and nothing comes.
    pub(super) registers: Option<Group>,
    /// Format of the slices, and of the weights.
    pub(super) precision: Precision,
    /// Slices that come; 0 if the layer's input is in the buffer already.
    pub(super) slices: u32,
    /// Elements of a slice.
    pub(super) slice_elements: usize,
    /// True if weights come.
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
struct WeightRoom {
    /// Held or on their way.
    taken: u32,
    /// Held.
    held: u32,
}

#[derive(Default)]
struct BufferState {
    slices: VecDeque<Slice>,
    /// Entries held or on their way.
    entries: u32,
    sets: VecDeque<WeightSet>,
    /// Behind the kernels of the last set, if none follows.
    surplus: Surplus,
    /// Of the weight banks, and of the mask bank.
    rooms: [WeightRoom; 2],
    /// Bytes of weights that are held for ever, as nobody gives them back.
    lost: u32,
}

impl BufferState {
    fn set(&mut self, layer: u64) -> Option<&mut WeightSet> {
        self.sets.iter_mut().find(|set| set.layer == layer)
    }

    /// Drops what was left behind kernels. Its room is free, unless CDMA counts what CSC has not given back.
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
    state: RefCell<BufferState>,
    announced: RefCell<VecDeque<Rc<Fetch>>>,
    announcement: Event,
    arrived: Event,
    freed: Event,
    /// Layers that CSC has begun.
    begun: Cell<u64>,
    /// Time at which CSC has begun the last layer.
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
    fn tell(&self, state: &BufferState) {
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

    /// The simulation that the buffer is part of.
    pub(super) fn sim(&self) -> &Sim {
        &self.sim
    }

    /// Waits until room is given back, or nobody wants a layer any more.
    pub(super) async fn freed(&self) {
        self.freed.wait().await;
    }

    /// Returns true if there is room for so many entries in the data banks.
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

    /// Returns true if so many bytes more of a part of the weights have room in `capacity` of them.
    pub(super) fn has_weight_room(&self, part: Stored, bytes: u32, capacity: u32) -> bool {
        self.state.borrow().rooms[part as usize].taken + bytes <= capacity
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
    pub(super) fn weights_lost(&self, layer: u64) -> [u64; 2] {
        let lost = self.state.borrow().lost.into();
        [lost, self.shift(layer).map_or(0, |(bytes, _)| bytes)]
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
        let BufferState { slices, entries, sets, surplus, rooms, lost } = state;
        at.value(slices)?;
        at.value(entries)?;
        at.value(sets)?;
        at.value(surplus)?;
        at.fixed(rooms)?;
        at.value(lost)?;
        at.check(state.is_consistent(*entry_bytes), "it holds what it cannot hold")
    }
}

impl BufferState {
    /// Returns true if all that is held has its room.
    fn is_consistent(&self, entry_bytes: u32) -> bool {
        let entries: u64 = self.slices.iter().map(|slice| u64::from(slice.entries)).sum();
        let sets: Option<Vec<[u64; 2]>> = self.sets.iter().map(|set| set.holds(entry_bytes)).collect();
        let Some(sets) = sets else { return false };
        let held = |part: usize| sets.iter().map(|held| held[part]).fold(0, u64::saturating_add);
        let has_room = |(part, room): (usize, &WeightRoom)| {
            let surplus = if part == 0 { self.surplus.bytes.len() as u64 } else { 0 };
            held(part).saturating_add(surplus) <= room.held.into()
        };
        entries <= self.entries.into() && self.rooms.iter().enumerate().all(has_room)
    }
}
