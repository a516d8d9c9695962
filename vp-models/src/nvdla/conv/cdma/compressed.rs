//! Compressed weights: three streams share CDMA's read client for weights. Sizes of groups of kernels (WGS) always come
//! first, as far as there is room for some ahead; weights and masks (WMB) take turns by `S_ARBITER` (RTL, branch nvdlav1,
//! `NV_NVDLA_CDMA_wt.v`, `u_sp_arb`, `u_wrr_arb`).
//!
//! A group of kernels can be used when its size, its masks and its weights have come. Hardware relies on these
//! to fit each other; here a layer for which they do not ends early.

use super::intake::{WeightArrival, WeightIntake};
use super::layer::{CdmaLayer, Compressed};
use super::requests::{Counts, Pace, RequestQueue, Task};
use super::weight_room::{StoredBytes, block_end};
use super::{Cdma, TO_OTHERS, Watch};
use crate::bus::axi::{Request, Requester, WeightedRoundRobin};
use crate::nvdla::conv::buffer::{Buffer, Fetch};
use crate::nvdla::conv::hardware::Hardware;
use crate::nvdla::conv::weight_set::Stored;
use crate::nvdla::float::SpecialCounts;
use crate::nvdla::numeric::Precision;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{FieldRef, cdma as reg};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::Time;

/// Bytes of the size of a group.
const SIZE_BYTES: u32 = 4;

/// Sizes that are read ahead of the groups that have come, at most (RTL, `wgs_req_overflow`).
const SIZES_AHEAD: u32 = 32;

/// Cycles from a read of sizes to the next read. The first one comes as many cycles sooner than the first of weights that are not compressed (seen
/// on nvdlav1 at cdma_wt2mcif_rd_req).
const AFTER_SIZES: u64 = 3;

/// Stream that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Weights or masks.
    Stored(Stored),
    /// Sizes of groups.
    Sizes,
}

/// Streams that take turns, in the arbiter's order.
const TURNS: [Stored; 2] = [Stored::Mask, Stored::Weights];

/// Place of weights among [`TURNS`].
pub(super) const WEIGHTS_IN_TURN: usize = 1;

/// The reads of a layer's compressed weights, as the buffer has room.
pub(super) struct CompressedRequests {
    layer: CdmaLayer,
    compressed: Compressed,
    number: u64,
    hardware: Hardware,
    buffer: Rc<Buffer>,
    fetch: Rc<Fetch>,
    pace: Pace,
    /// Bytes of a beat.
    beat: u32,
    /// Reads: what of, their bytes, and since when they are asked for.
    pub(super) asked: RequestQueue<(Stream, u32, Time)>,
    turn: Rc<RefCell<WeightedRoundRobin>>,
    /// Bytes asked for of weights, masks and sizes.
    done: [Cell<u32>; 3],
    /// The end of each group's weights in the whole sequence, for the groups whose size has come.
    ends: RefCell<Vec<u64>>,
    /// Groups that have come.
    complete: Cell<u32>,
    /// True if the read before was one of sizes.
    asked_sizes: Cell<bool>,
    ended: Cell<bool>,
}

impl CompressedRequests {
    pub(super) fn new(
        task: &Task<'_>,
        (path, beat, compressed): (u32, u32, Compressed),
        counts: Counts<'_>,
    ) -> Rc<CompressedRequests> {
        let pace = task.pace((path, TO_OTHERS), counts);
        pace.next.set(pace.next.get().since(task.cycle * AFTER_SIZES));
        Rc::new(CompressedRequests {
            layer: task.layer.clone(),
            compressed,
            number: task.number,
            hardware: *task.hardware,
            buffer: task.buffer.clone(),
            fetch: task.fetch.clone(),
            pace,
            beat,
            asked_sizes: Cell::new(false),
            asked: RequestQueue::new(task.sim, "nvdla.cdma.weight.asked"),
            turn: task.turn.clone(),
            done: Default::default(),
            ends: RefCell::default(),
            complete: Cell::new(0),
            ended: Cell::new(false),
        })
    }

    fn together(&self) -> u32 {
        self.hardware.group_kernels(self.layer.precision)
    }

    fn groups(&self) -> u32 {
        self.layer.weights.kernels.div_ceil(self.together())
    }

    /// Returns the end of a group among the kernels without compression, in bytes.
    fn kernels_end(&self, group: u32) -> u64 {
        self.layer.weights.group_end(group, self.together())
    }

    fn kernels_start(&self, group: u32) -> u64 {
        group.checked_sub(1).map_or(0, |before| self.kernels_end(before))
    }

    /// Returns the end of what a group needs among all, if that is known.
    fn end(&self, group: u32, stored: Stored) -> Option<u64> {
        match stored {
            Stored::Weights => self.ends.borrow().get(group as usize).copied(),
            Stored::Mask => {
                let elements = self.kernels_end(group) / self.layer.precision.bytes() as u64;
                Some(elements.div_ceil(8))
            }
        }
    }

    /// All weights, or masks.
    fn stored(&self, stored: Stored) -> StoredBytes {
        let (base, bytes) = match stored {
            Stored::Weights => (self.layer.weights.base, self.layer.weights.bytes),
            Stored::Mask => (self.compressed.mask_base, self.compressed.mask_bytes),
        };
        StoredBytes { base, bytes }
    }

    /// Bytes of the banks of weights, or masks.
    fn room(&self, stored: Stored) -> u32 {
        let banks = if stored == Stored::Weights { self.layer.banks.weight } else { 1 };
        self.hardware.weight_room(banks)
    }

    /// Byte up to which weights, or masks, must have come for a group to be usable: whole entries, and for the last group
    /// all that are read (RTL, `NV_NVDLA_CDMA_wt.v`, `wt_required_bytes_w`).
    fn needed(&self, group: u32, stored: Stored) -> Option<u64> {
        let all = u64::from(self.stored(stored).bytes);
        let end = self.end(group, stored)?;
        let is_last = group + 1 == self.groups();
        Some(if is_last { all } else { end.next_multiple_of(self.hardware.entry_bytes.into()).min(all) })
    }

    fn done(&self, stream: Stream) -> &Cell<u32> {
        &self.done[match stream {
            Stream::Stored(stored) => stored as usize,
            Stream::Sizes => 2,
        }]
    }

    /// Address and bytes of the next read of one stream; no bytes if nobody wants more.
    fn wanted(&self, stream: Stream) -> (u64, u32) {
        let (atom, done) = (self.hardware.atom, self.done(stream).get());
        let (base, all, end) = match stream {
            Stream::Stored(stored) => {
                let StoredBytes { base, bytes } = self.stored(stored);
                let end = block_end(base, u64::from(done) + 1, atom).min(bytes.into());
                (base, bytes, end as u32)
            }
            Stream::Sizes => {
                let all = (SIZE_BYTES * self.groups()).next_multiple_of(atom);
                (self.compressed.sizes_base, all, done + atom)
            }
        };
        let all = if self.fetch.cancelled.get() { done } else { all };
        (base.wrapping_add(u64::from(done)), end.min(all) - done)
    }

    /// Returns true if a stream has another read, and room for it.
    fn can_ask(&self, stream: Stream) -> bool {
        let (_, wanted) = self.wanted(stream);
        let has_room = || match stream {
            Stream::Sizes => {
                let ahead = (self.done(stream).get() + wanted) / SIZE_BYTES;
                ahead <= self.complete.get() + SIZES_AHEAD
            }
            Stream::Stored(stored) => self.buffer.has_weight_room(stored, wanted, self.room(stored)),
        };
        wanted > 0 && has_room()
    }

    fn all_is_asked_for(&self) -> bool {
        let streams = [Stream::Sizes, Stream::Stored(Stored::Weights), Stream::Stored(Stored::Mask)];
        streams.into_iter().all(|stream| self.wanted(stream).1 == 0)
    }

    /// Waits until a read can be made; false if there is none.
    pub(super) async fn can_go_on(&self) -> bool {
        while !self.ended.get() {
            let stored = TURNS.into_iter().any(|stored| self.can_ask(Stream::Stored(stored)));
            if stored || self.can_ask(Stream::Sizes) || self.all_is_asked_for() {
                return true;
            }
            self.pace.freed(&self.buffer).await;
        }
        false
    }

    /// Chooses the stream whose turn it is, of those that have room.
    fn choose(&self) -> Option<Stream> {
        if self.can_ask(Stream::Sizes) {
            return Some(Stream::Sizes);
        }
        let asking = |at: usize| u64::from(self.can_ask(Stream::Stored(TURNS[at]))) << at;
        let turns = |at: usize| self.compressed.turns[TURNS[at] as usize];
        let next = self.turn.borrow_mut().next(asking(0) | asking(1), turns);
        next.map(|at| Stream::Stored(TURNS[at]))
    }

    /// Takes sizes that have come. Says what is wrong with one that no group can have.
    fn sizes(&self, data: &[u8]) -> Result<(), String> {
        let room = self.room(Stored::Weights);
        let mut ends = self.ends.borrow_mut();
        for &size in data.as_chunks().0 {
            let group = ends.len() as u32;
            if group == self.groups() {
                break;
            }
            let size = u64::from(u32::from_le_bytes(size));
            let most = (self.kernels_end(group) - self.kernels_start(group)).min(room.into());
            if size > most || !size.is_multiple_of(self.layer.precision.bytes() as u64) {
                return Err(format!("the size of group {group} is {size}, its kernels have {most} bytes"));
            }
            let end = ends.last().copied().unwrap_or(0) + size;
            if end > self.layer.weights.bytes.into() {
                return Err(format!("group {group} ends at byte {end} of {}", self.layer.weights.bytes));
            }
            ends.push(end);
        }
        Ok(())
    }

    /// Returns the field that places what has no room, the bytes in which it is read, and its banks, of the groups from `first` on whose size has come.
    fn lacks_room(&self, first: usize) -> Option<(FieldRef, u64, u32)> {
        let ends = self.ends.borrow().len();
        (first..ends).flat_map(|group| TURNS.map(|stored| (group as u32, stored))).find_map(
            |(group, stored)| {
                let before = group.checked_sub(1).filter(|_| !self.layer.reuse.keep_weight);
                let start = before.and_then(|before| self.end(before, stored)).unwrap_or(0);
                let at_once = self.stored(stored).at_once(start..self.needed(group, stored)?, &self.hardware);
                let (field, banks) = match stored {
                    Stored::Weights => (reg::D_WEIGHT_ADDR_LOW::WEIGHT_ADDR_LOW, self.layer.banks.weight),
                    Stored::Mask => (reg::D_WMB_ADDR_LOW::WMB_ADDR_LOW, 1),
                };
                (at_once > self.room(stored).into()).then_some((field, at_once, banks))
            },
        )
    }

    /// Returns the next group if it has come, given how much has been written of weights and masks. Both must end with an entry then, though
    /// one may have stopped within one while the other has its turn (RTL, `wt_satisfied`, `wmb_satisfied`). If its mask does not mark as
    /// many weights as its size says, the error says that.
    fn next_group(&self, written: [u64; 2]) -> Result<Option<u32>, String> {
        let group = self.complete.get();
        let has = |stored: Stored| {
            let (written, all) = (written[stored as usize], self.stored(stored).bytes);
            // What is less than a beat waits for the rest of it outside of the buffer.
            let is_whole = written % u64::from(self.hardware.entry_bytes) < u64::from(self.beat);
            (is_whole || written == u64::from(all))
                && self.needed(group, stored).is_some_and(|end| end <= written)
        };
        if group == self.groups() || !has(Stored::Weights) || !has(Stored::Mask) {
            return Ok(None);
        }
        let start = group.checked_sub(1).and_then(|before| self.end(before, Stored::Weights)).unwrap_or(0);
        let size = self.end(group, Stored::Weights).unwrap_or(start) - start;
        let marked = self.buffer.marked(self.number, self.kernels_start(group)..self.kernels_end(group));
        if marked != size && !self.fetch.cancelled.get() {
            return Err(format!("the size of group {group} is {size}, its mask marks {marked} bytes"));
        }
        self.complete.set(group + 1);
        Ok(Some(group))
    }
}

impl Requester for CompressedRequests {
    fn next(&self, now: Time) -> Option<Request> {
        let pace = &self.pace;
        if pace.made(now).is_some() {
            let cycles = if self.asked_sizes.take() { AFTER_SIZES } else { 1 };
            pace.next.set(now + pace.cycle * cycles);
        }
        if self.all_is_asked_for() {
            self.ended.set(true);
            self.asked.end();
            return None;
        }
        let Some(stream) = self.choose() else {
            pace.lacks_room(now);
            return None;
        };
        let (address, bytes) = self.wanted(stream);
        if let Stream::Stored(stored) = stream {
            self.buffer.take_weight_room(stored, bytes);
        }
        pace.has_room(now);
        self.asked_sizes.set(stream == Stream::Sizes);
        let done = self.done(stream);
        done.set(done.get() + bytes);
        self.asked.push((stream, bytes, now));
        Some(pace.begin(pace.next.get(), address, bytes))
    }
}

impl Cdma {
    /// Puts weights and masks into the buffer, read by read, and tells which groups of kernels CSC can use when; ends when
    /// it can use all, or when some will not come.
    pub(super) async fn take_compressed(
        &self,
        task: &Task<'_>,
        requests: &CompressedRequests,
        came: &WeightIntake,
        watch: &Watch,
    ) {
        let Task { layer, number, .. } = *task;
        let stream = self.weights.stream(layer.weights.ram);
        let latency = self.cycles(self.timing.conv.weight_arrival);
        let arrival = WeightArrival::new(self.cycle);
        let (mut written, mut taken, mut failed, mut warned) = ([0; 2], Time::ZERO, false, false);
        while requests.asked.some().await {
            let Some((of, bytes, asked)) = requests.asked.pop() else { return };
            // A group may lack no more than the first beats of a read, whose others come later where few reads can be outstanding.
            for first in (0..bytes).step_by(self.weight_beat as usize) {
                let beat = self.weight_beat.min(bytes - first) as usize;
                stream.wait_for_data(beat).await;
                taken = taken.max(asked).max(stream.due(beat));
                let mut data = Vec::new();
                stream.take_all(beat, |bytes| data = bytes.to_vec());
                let due = came.next().unwrap_or(taken) + latency;
                let mut state = Ok(());
                match of {
                    Stream::Sizes if !failed => {
                        let known = requests.ends.borrow().len();
                        state = requests.sizes(&data);
                        if state.is_ok()
                            && !warned
                            && let Some((place, in_blocks, banks)) = requests.lacks_room(known)
                        {
                            self.warn_of_blocks(place, in_blocks, banks);
                            warned = true;
                        }
                    }
                    Stream::Sizes => {}
                    Stream::Stored(stored) => {
                        if stored == Stored::Weights && layer.precision == Precision::Fp16 {
                            watch.count(SpecialCounts::of(&data));
                        }
                        arrival.write(due, 1);
                        self.buffer.put_weights(number, stored, &data);
                        written[stored as usize] += beat as u64;
                    }
                }
                while state.is_ok() && !failed {
                    match requests.next_group(written) {
                        Ok(None) => break,
                        Ok(Some(group)) => {
                            let end = requests.kernels_end(group);
                            self.buffer.weights_usable(number, end, arrival.usable());
                            self.buffer.goes_on();
                        }
                        Err(why) => state = Err(why),
                    }
                }
                if let Err(why) = state {
                    failed = true;
                    self.buffer.fail_weights(number);
                    if let Some(registers) = &requests.fetch.registers {
                        let refused = Refused::new(registers, reg::D_WGS_ADDR_LOW::WGS_ADDR_LOW, why);
                        self.control.warn(format_args!("layer ended early: {refused}"));
                    }
                }
            }
        }
        self.sim.wait_until(arrival.last_usable()).await;
    }
}
