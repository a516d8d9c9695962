//! The way of an engine's writes from its write port to the place where the memory interface of nvdlav1 gathers them, one item a cycle.
//!
//! An item is the header of a line, or a beat of its data. An engine that makes lines of few beats stands while the interface has no room
//! (RTL, branch nvdlav1, `NV_NVDLA_MCIF_WRITE_IG_bpt.v`; of CVIF the same).

use crate::bus::axi::{WriteGatherer, WriteGathering};
use vp_core::Time;

/// Times of the last `N` of a row of events.
pub(super) struct Last<const N: usize> {
    times: [u64; N],
    count: usize,
}

impl<const N: usize> Last<N> {
    pub(super) const fn new() -> Last<N> {
        Last { times: [0; N], count: 0 }
    }

    /// Returns the first cycle behind the last event.
    pub(super) const fn next(&self) -> u64 {
        if self.count == 0 { 0 } else { self.times[(self.count - 1) % N] + 1 }
    }

    /// Returns the first cycle behind the event `N` before the next: then one of `N` places is free again.
    pub(super) const fn room(&self) -> u64 {
        self.room_behind(0)
    }

    /// Returns the first cycle in which one of `N` places is free again when so many more are taken, of which the events are to come.
    pub(super) const fn room_behind(&self, more: usize) -> u64 {
        let number = self.count + more;
        if number < N { 0 } else { self.times[number % N] + 1 }
    }

    pub(super) const fn note(&mut self, at: u64) {
        self.times[self.count % N] = at;
        self.count += 1;
    }
}

/// Items that a pipe with its skid register holds.
pub(super) const PIPE: usize = 2;
/// Atoms that each half of the interface's dfifo holds: in an input register, in its RAM of one, and in two registers at its output.
const DATA_FIFO_ATOMS: usize = 4;
/// Cycles from a beat's entry into it until the interface can make a beat of the bus of it.
const DATA_FIFO: u64 = 2;

/// The memory interface as an engine's write port sees it, if the arbiter is always free: how long it takes no item.
pub(super) struct WriteInterface {
    /// Times at which items enter each pipe, and at which they leave the last.
    pipes: Vec<Last<PIPE>>,
    gathered: Option<Gathered>,
}

/// The way behind the pipes, where the interface makes beats of the bus and gathers them.
struct Gathered {
    gatherer: WriteGatherer,
    /// Times at which atoms leave the dfifo's halves: the first of an item the lower one, the second the upper one.
    halves: [Last<DATA_FIFO_ATOMS>; 2],
    /// The present line begins in the middle of a beat of the bus. Then an item's second atom leaves with the next item's first
    /// (`NV_NVDLA_MCIF_WRITE_IG_bpt.v`, is_swizzle).
    is_swizzled: bool,
    /// The last item's second atom has not left.
    is_upper_left: bool,
    /// Bytes of the line that have not come.
    to_come: u64,
}

impl Gathered {
    fn new(gathering: WriteGathering) -> Gathered {
        Gathered {
            gatherer: WriteGatherer::new(WriteInterface::PERIOD, gathering),
            halves: [const { Last::new() }; 2],
            is_swizzled: false,
            is_upper_left: false,
            to_come: 0,
        }
    }

    fn line(&mut self, address: u64, bytes: u32) {
        self.gatherer.begin_line(address, bytes);
        self.is_swizzled = !address.is_multiple_of(self.gatherer.beat());
        self.to_come = bytes.into();
    }

    /// Returns the first cycle in which both halves of the dfifo take an atom: a cycle later than they have the place, as its output's ready is registered.
    fn room(&self) -> u64 {
        let [lower, upper] = &self.halves;
        lower.room().max(upper.room_behind(self.is_upper_left.into())) + 1
    }

    /// An item of so many bytes comes into the dfifo.
    fn data(&mut self, at: u64, bytes: usize) {
        let Gathered { gatherer, halves: [lower, upper], is_swizzled, is_upper_left, to_come } = self;
        gatherer.put(WriteInterface::PERIOD * (at + DATA_FIFO + 1), bytes);
        while let Some(requests) = gatherer.request_time() {
            gatherer.granted(requests, 1);
        }
        let made = gatherer.accepted().as_ps();
        *to_come = to_come.saturating_sub(bytes as u64);
        lower.note(made);
        if *is_upper_left {
            upper.note(made);
        }
        *is_upper_left = 2 * bytes as u64 > gatherer.beat();
        if *is_upper_left && (!*is_swizzled || *to_come == 0) {
            upper.note(made);
            *is_upper_left = false;
        }
    }
}

impl WriteInterface {
    const PERIOD: Time = Time::ps(1);

    /// Behind so many pipes, those of the interface among them.
    pub(super) fn new(pipes: usize, gathering: Option<WriteGathering>) -> WriteInterface {
        let pipes = (0..=pipes).map(|_| Last::new()).collect();
        WriteInterface { pipes, gathered: gathering.map(Gathered::new) }
    }

    /// Returns the cycles in which an item, which is there from `from` on, enters the first pipe and leaves the last, from `leaves` on.
    fn pass(&mut self, from: u64, leaves: u64) -> (u64, u64) {
        let (mut at, mut entered) = (from, 0);
        for stage in 0..self.pipes.len() {
            let room = self.pipes.get(stage + 1).map_or(leaves, Last::room);
            at = at.max(room).max(self.pipes[stage].next());
            self.pipes[stage].note(at);
            if stage == 0 {
                entered = at;
            }
            at += 1;
        }
        (entered, at - 1)
    }

    /// Returns the cycle in which a line's header, which is there from `from` on, enters.
    pub(super) fn line(&mut self, from: u64, address: u64, bytes: u32) -> u64 {
        let gone = self.gathered.as_ref().map_or(0, |it| it.gatherer.line_gone().as_ps());
        if let Some(gathered) = &mut self.gathered {
            gathered.line(address, bytes);
        }
        self.pass(from, gone).0
    }

    /// Returns the cycles in which some of its bytes, which are there from `from` on, enter and leave the pipes.
    pub(super) fn data(&mut self, from: u64, bytes: usize) -> (u64, u64) {
        let room = self.gathered.as_ref().map_or(0, Gathered::room);
        let (entered, left) = self.pass(from, room);
        if let Some(gathered) = &mut self.gathered {
            gathered.data(left, bytes);
        }
        (entered, left)
    }
}
