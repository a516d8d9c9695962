//! The memory as an engine's read DMA sees it: bytes in the order of the requests.

use super::burst::Run;
use super::intake::{BeatConsumer, Intake, IntakeStage};
use super::read_client::{ReadClient, ReadKind, Requester};
use super::realigner::Realigner;
use super::request_registers::{EarliestRequest, RequestPlaces, RequestRegisters, STALL_COUNTERS};
use super::request_watch::RequestWatch;
use super::{Interconnect, Unmapped};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use vp_core::observe::LevelUnit;
use vp_core::{Event, Sim, Time};

/// The size of a read client's latency-hiding FIFO, and how its room becomes free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadStreamConfig {
    /// Bytes requested and not yet taken, at most.
    pub capacity: u32,
    /// Requests ([`ReadStream::request`]) whose last byte is not taken, at most.
    pub lines: u32,
    /// Time from the taking of data to the first request that may use its room, or the place of its request.
    pub credit_return: Time,
}

/// One DMA read client: a FIFO that is filled from memory and emptied by the engine.
///
/// One process requests ([`ReadStream::request`]), another takes ([`ReadStream::take`]). The FIFO between them
/// hides the memory's latency as far as its size allows.
pub struct ReadStream {
    sim: Sim,
    interconnect: Rc<Interconnect>,
    client: Rc<ReadClient>,
    config: ReadStreamConfig,
    /// True if it has a FIFO; if not, its data may have to wait on the bus.
    buffered: bool,
    /// Room of requested bytes that is not free again.
    used: Cell<u32>,
    /// Requests whose place is not free again, and those that are not completely taken.
    lines_used: Cell<u32>,
    lines: RefCell<VecDeque<Line>>,
    /// The times at which the room of so many bytes, and the places of so many requests, become free.
    returning: RefCell<VecDeque<(Time, u32, u32)>>,
    returned: Event,
    /// A process waits for room that was not yet free.
    awaits_room: Cell<bool>,
    /// Time at which the last request was made. One that follows at once could have been made before, but for this one.
    requested: Cell<Time>,
    /// The counter that counts the stalls of these requests.
    counter: Cell<usize>,
}

/// A request that is not completely taken.
struct Line {
    bytes: u32,
    taken: u32,
}

/// Returns the room that a part of a request of `bytes` takes in a FIFO whose entries have `entry` bytes. An entry that is not filled by one part is
/// the next one's; the last may stay filled in part (RTL, branch nvdlav1, `NV_NVDLA_MCIF_READ_IG_bpt.v`, slot_needed).
fn room_of(part: Range<u32>, bytes: u32, entry: u32) -> u32 {
    let until = |end: u32| if end == bytes { end.next_multiple_of(entry) } else { end - end % entry };
    until(part.end) - until(part.start)
}

impl ReadStream {
    /// A client of `interconnect` whose transactions carry `id`.
    pub fn new(
        interconnect: &Rc<Interconnect>,
        name: &str,
        id: u32,
        config: ReadStreamConfig,
    ) -> Rc<ReadStream> {
        let level = interconnect.fifos().level(format!("{name}.read_fifo"), LevelUnit::Bytes);
        let axi = interconnect.config();
        let under_way = (config.lines < u32::MAX).then_some(config.lines as usize);
        // `NV_NVDLA_DMAIF_rdreq`.
        let places = RequestPlaces { registers: 1, under_way };
        let registers = RequestRegisters::with_fifo(axi.period, axi.request_registers, places);
        let kind = ReadKind::Fifo { registers: RefCell::new(registers), level };
        ReadStream::build(interconnect, name, id, config, kind)
    }

    /// A client without a latency FIFO: the interface makes its reads ([`ReadStream::run_requester`]), and its data waits on the
    /// bus when `places` are full.
    pub fn unbuffered(
        interconnect: &Rc<Interconnect>,
        name: &str,
        id: u32,
        places: &[IntakeStage],
    ) -> Rc<ReadStream> {
        let unlimited = ReadStreamConfig { capacity: u32::MAX, lines: u32::MAX, credit_return: Time::ZERO };
        let axi = interconnect.config();
        let intake = Intake::new(axi.period, Realigner::of(axi), places);
        let done = interconnect.sim().event(format!("{name}.made"));
        ReadStream::build(interconnect, name, id, unlimited, ReadKind::direct(done, intake))
    }

    fn build(
        interconnect: &Rc<Interconnect>,
        name: &str,
        id: u32,
        config: ReadStreamConfig,
        kind: ReadKind,
    ) -> Rc<ReadStream> {
        let sim = interconnect.sim();
        let buffered = matches!(kind, ReadKind::Fifo { .. });
        let arrived = sim.event(format!("{name}.data"));
        let client = Rc::new(ReadClient::new(name, id, interconnect.config(), arrived, kind));
        interconnect.add_reader(client.clone());
        Rc::new(ReadStream {
            sim: sim.clone(),
            interconnect: interconnect.clone(),
            client,
            config,
            buffered,
            used: Cell::new(0),
            lines_used: Cell::new(0),
            lines: RefCell::default(),
            returning: RefCell::default(),
            returned: sim.event(format!("{name}.room")),
            awaits_room: Cell::new(false),
            requested: Cell::new(Time::MAX),
            counter: Cell::new(0),
        })
    }

    /// Sets the receiver of the requested beats from now on; without one they are taken at once.
    pub fn set_taker(&self, taker: Option<Rc<dyn BeatConsumer>>) {
        self.client.set_taker(taker);
    }

    /// Starts to count what becomes of requests, which the engine tells the watch of, of a client without a latency FIFO. `around` is the time
    /// that passes at both ends of what is known here: from a request's `ready` to its address, and from a beat's leaving the intake to its
    /// being counted.
    pub fn watch(&self, places: RequestPlaces, around: Time) -> Rc<RequestWatch> {
        let watch = RequestWatch::new(self.interconnect.config(), places, around);
        self.client.set_watch(Some(watch.clone()));
        watch
    }

    /// Ends [`ReadStream::watch`].
    pub fn end_watch(&self) {
        self.client.set_watch(None);
    }

    /// Requests `bytes` from `address` on; waits as long as the FIFO has no room for the next part.
    pub async fn request(&self, address: u64, bytes: u32) {
        let mut place = 1;
        if bytes > 0 {
            self.lines.borrow_mut().push_back(Line { bytes, taken: 0 });
        }
        let now = self.sim.now();
        let possible = if self.requested.get() == now { Time::ZERO } else { now };
        self.client.begin_request(bytes);
        let (cut, run) = (self.client.cut, Run { address, bytes });
        let count = cut.count(run);
        if count > 0 {
            let possible = EarliestRequest { at: possible, ..EarliestRequest::default() };
            self.client.on_registers(|registers| registers.request(possible, count, self.counter.get()));
        }
        let mut asked = 0;
        for burst in cut.bursts(self.client.port.id, run) {
            let room = room_of(asked..asked + burst.bytes, bytes, self.entry());
            asked += burst.bytes;
            self.room(room, place).await;
            self.client.on_registers(|registers| registers.add_room(self.sim.now()));
            self.lines_used.set(self.lines_used.get() + std::mem::take(&mut place));
            self.used.set(self.used.get() + room);
            self.client.request(&burst);
            self.interconnect.request_read(self.client.port.number());
        }
        self.requested.set(self.sim.now());
    }

    /// Makes the interface issue the reads of `requester` for a client without a FIFO, each when it is due and
    /// the earlier ones have been granted; waits until it has no more.
    pub async fn run_requester(&self, requester: Rc<dyn Requester>) {
        let Some(due) = self.client.start(requester, self.sim.now()) else { return };
        self.interconnect.start_requester(self.client.port.number(), due);
        self.client.requests_made().await;
    }

    /// Frees the room that has been returned by now; returns the time of the next return.
    fn reclaim_room(&self) -> Option<Time> {
        let mut returning = self.returning.borrow_mut();
        while let Some(&(due, freed, lines)) = returning.front()
            && due <= self.sim.now()
        {
            returning.pop_front();
            self.used.set(self.used.get() - freed);
            self.lines_used.set(self.lines_used.get() - lines);
        }
        returning.front().map(|&(due, ..)| due)
    }

    async fn room(&self, bytes: u32, places: u32) {
        // A burst larger than the whole FIFO may still pass alone, beside what waits for its beat's rest.
        let axi = self.interconnect.config();
        let held = if axi.realigns_reads { axi.beat_bytes - 1 } else { 0 };
        let capacity = self.config.capacity.max(bytes.saturating_add(held));
        loop {
            let next = self.reclaim_room();
            let has_place = self.lines_used.get() + places <= self.config.lines;
            if self.used.get() + bytes <= capacity && has_place {
                return;
            }
            match next {
                Some(due) => self.sim.wait_until(due).await,
                None => {
                    self.awaits_room.set(true);
                    self.returned.wait().await;
                }
            }
        }
    }

    /// Sets which counter, below [`STALL_COUNTERS`](super::STALL_COUNTERS), counts the stalls of requests from
    /// now on; at first it is 0.
    pub fn count_stalls_in(&self, counter: usize) {
        self.counter.set(counter);
    }

    /// Returns the time for which the requests of a counter, whose data has come, have waited for `ready`
    /// since the last call; for a client with a FIFO.
    pub fn take_stalled(&self, counter: usize) -> Time {
        let mut stalled = Time::ZERO;
        self.client.on_registers(|registers| stalled = std::mem::take(registers.stalled(counter)));
        stalled
    }

    /// Takes the next bytes, all of `into`; waits until they have been on the bus.
    pub async fn take(&self, into: &mut [u8]) {
        self.wait_for_data(into.len()).await;
        self.take_all(into.len(), |data| into.copy_from_slice(data));
    }

    /// Takes the next bytes, which have come ([`ReadStream::wait_for_data`]).
    pub fn take_all(&self, bytes: usize, take: impl FnOnce(&[u8])) {
        self.look(bytes, take);
        self.drop_first(bytes);
    }

    /// Drops the next bytes, which have come and were looked at; returns the time at which they were on the bus.
    pub fn drop_first(&self, bytes: usize) -> Time {
        let due = self.client.drop_first(bytes, self.sim.now());
        self.return_room(bytes as u32);
        due
    }

    /// Looks at the next bytes, which have come.
    pub fn look(&self, bytes: usize, look: impl FnOnce(&[u8])) {
        self.client.data.look(bytes, look);
    }

    /// Returns the time at which the next bytes, which have come, were on the bus.
    pub fn due(&self, bytes: usize) -> Time {
        self.client.data.due(bytes).unwrap_or(self.sim.now())
    }

    /// Waits until so many bytes have been on the bus.
    pub async fn wait_for_data(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let due = self.client.data.arrival(bytes).await;
        self.sim.wait_until(due).await;
    }

    /// The first burst that was answered with an error since the last call, among those whose data has come.
    pub fn take_refused(&self) -> Option<Unmapped> {
        self.client.refused.take()
    }

    /// Bytes of an entry of the FIFO, which two requests do not share.
    fn entry(&self) -> u32 {
        let axi = self.interconnect.config();
        if axi.realigns_reads { axi.beat_bytes } else { 1 }
    }

    /// Room that these bytes leave, and number of requests of which they are the last.
    fn lines_taken(&self, mut bytes: u32) -> (u32, u32) {
        let (mut lines, mut room, mut taken) = (self.lines.borrow_mut(), 0, 0);
        while let Some(line) = lines.front_mut() {
            let these = bytes.min(line.bytes - line.taken);
            room += room_of(line.taken..line.taken + these, line.bytes, self.entry());
            (line.taken, bytes) = (line.taken + these, bytes - these);
            if line.taken < line.bytes {
                break;
            }
            lines.pop_front();
            taken += 1;
        }
        (room, taken)
    }

    fn return_room(&self, bytes: u32) {
        if !self.buffered {
            return;
        }
        let due = self.sim.now() + self.config.credit_return;
        let (room, lines) = self.lines_taken(bytes);
        self.client.on_registers(|registers| (0..lines).for_each(|_| _ = registers.done(due)));
        self.returning.borrow_mut().push_back((due, room, lines));
        if self.awaits_room.take() {
            // Who waits found none on its way back: this is the first.
            self.returned.notify_after(self.config.credit_return);
        }
    }
}

impl ReadStream {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let ReadStream {
            sim: _,
            interconnect: _,
            client,
            config: _,
            buffered: _,
            used,
            lines_used,
            lines,
            returning,
            returned: _,
            awaits_room,
            requested,
            counter,
        } = self;
        client.checkpoint(at)?;
        self.reclaim_room();
        let has_room = used.get() == 0 && lines_used.get() == 0 && returning.borrow().is_empty();
        let is_taken = lines.borrow().is_empty() && !awaits_room.get();
        at.at_rest(has_room && is_taken, "nobody has taken what was read")?;
        at.cell(requested)?;
        let mut counts_in = counter.get();
        at.index(&mut counts_in, STALL_COUNTERS)?;
        counter.set(counts_in);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::room_of;

    #[test]
    fn a_request_takes_whole_entries() {
        // Seven atoms, three of them in front of a block's end, and one.
        assert_eq!([room_of(0..96, 224, 64), room_of(96..224, 224, 64)], [64, 192]);
        assert_eq!([room_of(0..32, 96, 64), room_of(32..96, 96, 64)], [0, 128]);
        assert_eq!(room_of(0..32, 32, 64), 64);
        // Taken atom by atom, an entry is free with its second.
        assert_eq!([0, 32, 64].map(|from| room_of(from..from + 32, 96, 64)), [0, 64, 64]);
        assert_eq!(room_of(32..96, 224, 1), 64);
    }
}
