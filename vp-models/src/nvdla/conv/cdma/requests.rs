//! CDMA's reads and their times: as far as the convolution buffer has room, one a cycle.
//!
//! The memory interface asks for the next read when the previous one is made. If there is none because room is
//! lacking, CDMA's process waits for room and lets the interface go on.

use super::compressed::WEIGHTS_IN_TURN;
use super::layer::{CdmaLayer, Input};
use super::read::Read;
use super::weight_room::block_end;
use super::{TO_FEATURES, TO_OTHERS, TO_WINOGRAD, WINOGRAD_REGISTERS};
use crate::bus::axi::{EarliestRequest, Request, RequestWatch, Requester, WeightedRoundRobin};
use crate::nvdla::conv::buffer::{Buffer, Fetch};
use crate::nvdla::conv::hardware::Hardware;
use crate::nvdla::conv::weight_set::Stored;
use crate::nvdla::registers::cdma as reg;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Event, Sim, Time};

/// Queue of what was asked for, for the party that takes it; in order.
pub(super) struct RequestQueue<T> {
    items: RefCell<VecDeque<T>>,
    /// Nothing more comes.
    ended: Cell<bool>,
    awaited: Cell<bool>,
    more: Event,
}

impl<T> RequestQueue<T> {
    pub(super) fn new(sim: &Sim, name: &str) -> RequestQueue<T> {
        RequestQueue {
            items: RefCell::default(),
            ended: Cell::new(false),
            awaited: Cell::new(false),
            more: sim.event(name),
        }
    }

    pub(super) fn push(&self, item: T) {
        self.items.borrow_mut().push_back(item);
        self.notify();
    }

    pub(super) fn end(&self) {
        self.ended.set(true);
        self.notify();
    }

    fn notify(&self) {
        if self.awaited.take() {
            self.more.notify_delta();
        }
    }

    /// Waits until something is asked for and not taken; false if nothing comes any more.
    pub(super) async fn some(&self) -> bool {
        while self.items.borrow().is_empty() {
            if self.ended.get() {
                return false;
            }
            self.awaited.set(true);
            self.more.wait().await;
        }
        true
    }

    /// Looks at what was asked for and is not taken.
    pub(super) fn with<R>(&self, look: impl FnOnce(&VecDeque<T>) -> R) -> R {
        look(&self.items.borrow())
    }

    pub(super) fn pop(&self) -> Option<T> {
        self.items.borrow_mut().pop_front()
    }
}

/// The pace of reads.
pub(super) struct Pace {
    pub(super) cycle: Time,
    /// From CDMA's making a read to its address.
    path: Time,
    /// Time at which the next read is due, or from which its place in time is counted.
    pub(super) next: Cell<Time>,
    /// Time since which the next read lacks room.
    since: Cell<Option<Time>>,
    /// Time at which the read under way was due.
    present: Cell<Option<Time>>,
    /// Time at which the last read was made, and true if the next one has waited for room since.
    last: Cell<Option<Time>>,
    waited: Cell<bool>,
    watch: Option<Rc<RequestWatch>>,
    /// True if what lies between two reads is done while the first waits for `ready`: not so the padding between images' reads, which takes its
    /// turn behind it (RTL, `NV_NVDLA_CDMA_dc.v`, `req_ready_d0`; `_IMG_sg.v`, `req_ready_d1`).
    prepares: bool,
}

impl Pace {
    fn new((cycle, start): (Time, Time), path: u32, watch: Option<Rc<RequestWatch>>) -> Pace {
        let path = cycle * u64::from(path);
        Pace {
            cycle,
            path,
            next: Cell::new(start + path),
            since: Cell::new(None),
            present: Cell::new(None),
            last: Cell::new(None),
            waited: Cell::new(false),
            watch,
            prepares: true,
        }
    }

    /// The read under way is made; tells how much later than it was due.
    pub(super) fn made(&self, now: Time) -> Option<Time> {
        let due = self.present.take()?;
        self.last.set(Some(now));
        Some(now - due)
    }

    /// Waits until room is given back, which the next read lacks: be it a layer's first.
    pub(super) async fn freed(&self, buffer: &Buffer) {
        self.lacks_room(buffer.sim().now());
        buffer.freed().await;
    }

    /// Notes that there is room for the next read: it takes its way to the bus anew if that had to be waited for.
    pub(super) fn has_room(&self, now: Time) {
        if self.since.take().is_some_and(|since| now > since) {
            let next = now + self.path;
            self.waited.set(next > self.next.get());
            self.next.set(self.next.get().max(next));
        }
    }

    pub(super) fn lacks_room(&self, now: Time) {
        if self.since.get().is_none() {
            self.since.set(Some(now));
        }
    }

    /// Returns the read that is due at `due`, and is under way.
    pub(super) fn begin(&self, due: Time, address: u64, bytes: u32) -> Request {
        self.present.set(Some(due));
        if let Some(watch) = &self.watch {
            // Behind the read before it, as long after as if that had not stalled; but not before it has room.
            let after = |last| due.since(last + self.cycle);
            let possible = match self.last.get() {
                Some(last) if !self.waited.get() && self.prepares => {
                    EarliestRequest { after_valid: after(last), ..EarliestRequest::default() }
                }
                Some(last) if !self.waited.get() => {
                    EarliestRequest { after_ready: after(last), ..EarliestRequest::default() }
                }
                _ => EarliestRequest { at: due, ..EarliestRequest::default() },
            };
            watch.request(address, bytes, possible);
        }
        self.waited.set(false);
        Request { due, address, bytes }
    }
}

/// A layer that is fetched, and where to.
pub(super) struct Task<'a> {
    pub(super) sim: &'a Sim,
    pub(super) cycle: Time,
    pub(super) hardware: &'a Hardware,
    pub(super) layer: &'a CdmaLayer,
    /// Counted since reset.
    pub(super) number: u64,
    pub(super) buffer: &'a Rc<Buffer>,
    pub(super) fetch: &'a Rc<Fetch>,
    /// Turn of weights and masks.
    pub(super) turn: &'a Rc<RefCell<WeightedRoundRobin>>,
}

/// Counts of a half's reads, if the layer has them counted.
pub(super) type Counts<'a> = Option<&'a Rc<RequestWatch>>;

impl Task<'_> {
    /// The pace of reads that begin so many cycles from now, `path` cycles before their addresses.
    pub(super) fn pace(&self, (path, start): (u32, u32), counts: Counts<'_>) -> Pace {
        let start = self.sim.now() + self.cycle * u64::from(start);
        Pace::new((self.cycle, start), path, counts.cloned())
    }
}

/// Lines that are read together.
pub(super) struct Lines {
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) reads: Rc<Vec<Read>>,
}

/// The reads of a layer's input: those of as many lines as are fetched together, when the buffer has room for them.
pub(super) struct DataRequests {
    input: Input,
    buffer: Rc<Buffer>,
    fetch: Rc<Fetch>,
    /// Entries of a line, and of the data banks.
    entries: u32,
    capacity: u32,
    pace: Pace,
    pub(super) asked: RequestQueue<Lines>,
    /// Lines asked for.
    first: Cell<u32>,
    /// The reads of the last of them, and how many are made.
    lines: RefCell<(Rc<Vec<Read>>, usize)>,
    ended: Cell<bool>,
}

impl DataRequests {
    pub(super) fn new(task: &Task<'_>, path: u32, counts: Counts<'_>) -> Rc<DataRequests> {
        let Task { layer, buffer, fetch, .. } = *task;
        let (start, registers) = match &layer.input {
            Input::Feature(_) => (TO_FEATURES, 0),
            Input::Winograd(_) => (TO_WINOGRAD, WINOGRAD_REGISTERS),
            Input::Image(_) => (TO_OTHERS, 0),
        };
        let path = path + registers;
        Rc::new(DataRequests {
            input: layer.input.clone(),
            buffer: buffer.clone(),
            fetch: fetch.clone(),
            entries: layer.entries,
            capacity: layer.banks.data * task.hardware.bank_entries,
            pace: Pace { prepares: !layer.input.is_image(), ..task.pace((path, start), counts) },
            asked: RequestQueue::new(task.sim, "nvdla.cdma.data.asked"),
            first: Cell::new(0),
            lines: RefCell::default(),
            ended: Cell::new(false),
        })
    }

    /// Returns the number of lines that are fetched next; 0 if nobody wants more.
    fn count(&self) -> u32 {
        let left = self.input.height() - self.first.get();
        if self.fetch.cancelled.get() { 0 } else { self.input.lines_at_once().min(left) }
    }

    /// Waits for room for the next read; false if there is none.
    pub(super) async fn room(&self) -> bool {
        while !self.ended.get() && self.count() > 0 && !self.has_room() {
            self.pace.freed(&self.buffer).await;
        }
        !self.ended.get()
    }

    fn has_room(&self) -> bool {
        self.buffer.has_entries(self.count() * self.entries, self.capacity)
    }

    fn end(&self) -> Option<Request> {
        self.ended.set(true);
        self.asked.end();
        None
    }
}

impl Requester for DataRequests {
    fn next(&self, now: Time) -> Option<Request> {
        let pace = &self.pace;
        let mut lines = self.lines.borrow_mut();
        if let Some(late) = pace.made(now) {
            let mut next = pace.next.get() + late;
            lines.1 += 1;
            if lines.1 == lines.0.len() {
                next += pace.cycle * self.input.request_cycles(&lines.0);
            }
            pace.next.set(next);
        }
        while lines.1 == lines.0.len() {
            let count = self.count();
            if count == 0 {
                return self.end();
            }
            if !self.has_room() {
                pace.lacks_room(now);
                return None;
            }
            self.buffer.take_entries(count * self.entries);
            pace.has_room(now);
            *lines = (Rc::new(self.input.reads(self.first.get(), count)), 0);
            if lines.0.is_empty() {
                pace.next.set(pace.next.get() + pace.cycle * self.input.request_cycles(&[]));
            }
            let first = self.first.replace(self.first.get() + count);
            self.asked.push(Lines { first, count, reads: lines.0.clone() });
        }
        let Read { address, bytes, cycle, .. } = lines.0[lines.1];
        let due = pace.next.get() + pace.cycle * cycle;
        Some(pace.begin(due, address, bytes))
    }
}

/// The reads of a layer's weights: eight atoms at once up to a multiple of eight, as the buffer has room for all of them; what lies in
/// CDMA's FIFOs may come on top (RTL, `NV_NVDLA_CDMA_wt.v`, `wt_req_overflow`).
pub(super) struct WeightRequests {
    layer: CdmaLayer,
    hardware: Hardware,
    buffer: Rc<Buffer>,
    fetch: Rc<Fetch>,
    pace: Pace,
    /// Beats of reads: their bytes, and since when they are asked for. Kernels may be complete with any of them.
    pub(super) asked: RequestQueue<(u32, Time)>,
    /// Bytes of a beat.
    beat: u32,
    /// Bytes asked for.
    done: Cell<u32>,
    turn: Rc<RefCell<WeightedRoundRobin>>,
    ended: Cell<bool>,
}

impl WeightRequests {
    /// `beat` bytes go into the buffer in a cycle.
    pub(super) fn new(task: &Task<'_>, (path, beat): (u32, u32), counts: Counts<'_>) -> Rc<WeightRequests> {
        Rc::new(WeightRequests {
            layer: task.layer.clone(),
            hardware: *task.hardware,
            buffer: task.buffer.clone(),
            fetch: task.fetch.clone(),
            turn: task.turn.clone(),
            pace: task.pace((path, TO_OTHERS), counts),
            asked: RequestQueue::new(task.sim, "nvdla.cdma.weight.asked"),
            beat,
            done: Cell::new(0),
            ended: Cell::new(false),
        })
    }

    /// The bytes of weights that must be there for CSC to use a group of kernels: whole entries, and for the last group
    /// all that are read (RTL, `NV_NVDLA_CDMA_wt.v`, `wt_required_bytes_w`).
    pub(super) fn group_end(&self, group: u32) -> u64 {
        self.layer.weights_needed(group, &self.hardware)
    }

    /// Address and bytes of the next read; no bytes if nobody wants more.
    fn wanted(&self) -> (u64, u32) {
        let (weights, done) = (&self.layer.weights, self.done.get());
        let address = weights.base.wrapping_add(u64::from(done));
        // A read that waits for room is made all the same.
        let cancelled = self.fetch.cancelled.get() && self.pace.since.get().is_none();
        let end = block_end(weights.base, u64::from(done) + 1, self.hardware.atom).min(weights.bytes.into());
        (address, if cancelled || done == weights.bytes { 0 } else { end as u32 - done })
    }

    /// Returns true if there is room for a read of so many bytes.
    fn has_room(&self, bytes: u32) -> bool {
        let capacity = self.hardware.weight_room(self.layer.banks.weight);
        self.buffer.has_weight_room(Stored::Weights, bytes, capacity)
    }

    /// Takes a turn in the arbiter of weights and masks, where these go alone: a later layer with masks goes on behind it (RTL, branch nvdlav1,
    /// `NV_NVDLA_CDMA_wt.v`, arb_wrr_in_vld).
    fn take_turn(&self) {
        if let (true, Some(registers)) = (self.hardware.compression, &self.fetch.registers) {
            let turns = registers.get(reg::S_ARBITER::ARB_WEIGHT) + 1;
            self.turn.borrow_mut().next(1 << WEIGHTS_IN_TURN, |_| turns);
        }
    }

    /// Waits for room for the next read; false if there is none.
    pub(super) async fn room(&self) -> bool {
        while !self.ended.get() {
            let (_, wanted) = self.wanted();
            if wanted == 0 || self.has_room(wanted) {
                return true;
            }
            self.pace.freed(&self.buffer).await;
        }
        false
    }
}

impl Requester for WeightRequests {
    fn next(&self, now: Time) -> Option<Request> {
        let pace = &self.pace;
        if pace.made(now).is_some() {
            pace.next.set(now + pace.cycle);
        }
        let (address, bytes) = self.wanted();
        if bytes == 0 {
            self.ended.set(true);
            self.asked.end();
            return None;
        }
        if !self.has_room(bytes) {
            pace.lacks_room(now);
            return None;
        }
        self.buffer.take_weight_room(Stored::Weights, bytes);
        self.take_turn();
        pace.has_room(now);
        self.done.set(self.done.get() + bytes);
        for first in (0..bytes).step_by(self.beat as usize) {
            self.asked.push((self.beat.min(bytes - first), now));
        }
        Some(pace.begin(pace.next.get(), address, bytes))
    }
}
