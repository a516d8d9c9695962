//! The manager's end: bursts of the platform's masters go out, data and responses come in.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use bytes::{Bytes, BytesMut};
use vp_core::Time;

use super::{AxiChannel, AxiEvent, AxiSink, AxiViolation, Driven};
use crate::bus::axi::{AxiConfig, Burst};

/// A read whose data is not complete.
#[derive(Debug, Clone, Copy)]
pub(in crate::bus::axi) struct OpenRead {
    pub(in crate::bus::axi) burst: Burst,
    /// Time at which its address was on AR.
    pub(in crate::bus::axi) requested: Time,
    /// Time at which its first beat was taken, if it was.
    pub(in crate::bus::axi) first: Option<Time>,
    /// The client that reads.
    pub(in crate::bus::axi) client: usize,
    /// Position of its data among its client's bytes.
    pub(in crate::bus::axi) position: u64,
    /// Generation of the master outside that reads, if one does.
    pub(in crate::bus::axi) generation: u32,
    /// Beats that have come to the pins.
    arrived_beats: u32,
    /// Beats that were taken from them.
    pub(in crate::bus::axi) taken: u32,
}

/// A beat of read data that waits at the pins.
pub(in crate::bus::axi) struct Beat {
    pub(in crate::bus::axi) id: u16,
    pub(in crate::bus::axi) data: Bytes,
    pub(in crate::bus::axi) error: bool,
}

/// The pins of a memory interface whose memory is outside and has a time of its own.
pub struct ManagerPins {
    period: Time,
    width: u32,
    /// True if AW has the address of the first byte, and not that of its beat.
    is_exact: bool,
    sink: AxiSink,
    state: RefCell<ManagerState>,
}

struct ManagerState {
    read_address: Driven,
    write_address: Driven,
    write_data: Driven,
    /// By id, in the order of their addresses.
    reads: BTreeMap<u16, VecDeque<OpenRead>>,
    data: VecDeque<Beat>,
    /// By id: how many beats were on W when the burst's last one was.
    writes: BTreeMap<u16, VecDeque<u64>>,
    /// Beats on W so far.
    beats: u64,
    responses: VecDeque<(u16, bool)>,
}

impl ManagerPins {
    /// The pins of an interface of that shape; what it drives goes to `sink`.
    pub fn new(config: &AxiConfig, sink: AxiSink) -> ManagerPins {
        let channel = || Driven::new(config.period);
        ManagerPins {
            period: config.period,
            width: config.beat_bytes,
            // RTL: an interface of single beats has addresses of whole beats and strobes (`NV_NVDLA_MCIF_WRITE_IG_spt.v`), one of
            // longer bursts the address as its unit gives it (`NV_NVDLA_CVIF_WRITE_IG_cvt.v`).
            is_exact: config.burst_beats > 1,
            sink,
            state: RefCell::new(ManagerState {
                read_address: channel(),
                write_address: channel(),
                write_data: channel(),
                reads: BTreeMap::new(),
                data: VecDeque::new(),
                writes: BTreeMap::new(),
                beats: 0,
                responses: VecDeque::new(),
            }),
        }
    }

    fn beat_address(&self, burst: &Burst) -> u64 {
        burst.address & !u64::from(self.width - 1)
    }

    // What the interface does.

    /// Time from which on another address can be on AR, or another burst on AW and W, as far as is known.
    pub(in crate::bus::axi) fn room(&self, write: bool, now: Time) -> Time {
        let state = &mut *self.state.borrow_mut();
        let channels = match write {
            true => &mut [&mut state.write_address, &mut state.write_data][..],
            false => &mut [&mut state.read_address],
        };
        let free = channels.iter_mut().map(|channel| {
            channel.settle(now).for_each(drop);
            channel.free()
        });
        free.max().unwrap_or(Time::ZERO)
    }

    /// Puts a read on AR.
    pub(in crate::bus::axi) fn read(
        &self,
        now: Time,
        burst: Burst,
        client: usize,
        (position, generation): (u64, u32),
    ) {
        let id = burst.id as u16;
        let state = &mut *self.state.borrow_mut();
        state.read_address.drive(now);
        state.reads.entry(id).or_default().push_back(OpenRead {
            burst,
            requested: now,
            first: None,
            client,
            position,
            generation,
            arrived_beats: 0,
            taken: 0,
        });
        let (address, beats) = (self.beat_address(&burst), burst.beats as u16);
        (self.sink)(now, AxiEvent::ReadAddress { id, address, beats });
    }

    /// Puts a write on AW.
    pub(in crate::bus::axi) fn write_address(&self, now: Time, burst: &Burst) {
        let id = burst.id as u16;
        let state = &mut *self.state.borrow_mut();
        state.write_address.drive(now);
        state.beats += u64::from(burst.beats);
        state.writes.entry(id).or_default().push_back(state.beats);
        let address = if self.is_exact { burst.address } else { self.beat_address(burst) };
        (self.sink)(now, AxiEvent::WriteAddress { id, address, beats: burst.beats as u16 });
    }

    /// Puts a beat on W.
    pub(in crate::bus::axi) fn write_data(&self, at: Time, data: Bytes, (strobes, last): (u64, bool)) {
        self.state.borrow_mut().write_data.drive(at);
        (self.sink)(at, AxiEvent::WriteData { data, strobes, last });
    }

    /// Puts a write on AW, and its data on W, a beat an edge.
    pub(in crate::bus::axi) fn write(&self, now: Time, burst: &Burst, data: &[u8]) {
        self.write_address(now, burst);
        for beat in 0..burst.beats {
            let at = now + self.period * u64::from(beat);
            let (lane, from, count) = burst.lanes(beat, self.width);
            let mut bytes = BytesMut::zeroed(self.width as usize);
            bytes[lane..lane + count].copy_from_slice(&data[from..from + count]);
            let strobes = (u64::MAX >> (64 - count.clamp(1, 64))) << lane;
            self.write_data(at, bytes.freeze(), (strobes, beat + 1 == burst.beats));
        }
    }

    /// Returns true if a beat of read data waits.
    pub(in crate::bus::axi) fn has_data(&self) -> bool {
        !self.state.borrow().data.is_empty()
    }

    /// The next beat of read data, taken now, and its client.
    pub(in crate::bus::axi) fn take_data(&self, now: Time) -> Option<(OpenRead, Beat)> {
        let state = &mut *self.state.borrow_mut();
        let beat = state.data.pop_front()?;
        let open = state.reads.get_mut(&beat.id)?;
        let read = open.front_mut()?;
        read.taken += 1;
        read.first.get_or_insert(now);
        let read = *read;
        if read.taken == read.burst.beats {
            open.pop_front();
        }
        Some((read, beat))
    }

    /// After a beat was taken at `now` the next one is taken from `ready` on: RREADY is low before.
    pub(in crate::bus::axi) fn hold_data(&self, now: Time, ready: Time) {
        let next = now + self.period;
        if ready > next {
            let channel = AxiChannel::ReadData;
            (self.sink)(next, AxiEvent::Ready { channel, ready: false });
            (self.sink)(ready, AxiEvent::Ready { channel, ready: true });
        }
    }

    /// The next response to a write: its id, and whether it is an error.
    pub(in crate::bus::axi) fn take_response(&self) -> Option<(u16, bool)> {
        self.state.borrow_mut().responses.pop_front()
    }

    /// Takes the reads that are open: nothing comes any more.
    pub(in crate::bus::axi) fn take_reads(&self) -> impl Iterator<Item = OpenRead> + use<> {
        let state = &mut *self.state.borrow_mut();
        state.data.clear();
        std::mem::take(&mut state.reads).into_values().flatten()
    }

    /// Returns the number of bursts that are open.
    pub(in crate::bus::axi) fn open(&self) -> usize {
        let state = self.state.borrow();
        let reads: usize = state.reads.values().map(VecDeque::len).sum();
        reads + state.writes.values().map(VecDeque::len).sum::<usize>()
    }

    // What the other side does.

    /// The other side drives this, seen now.
    ///
    /// # Errors
    /// It breaks a rule of the interface. The event has no effect.
    pub(in crate::bus::axi) fn drive(&self, now: Time, event: AxiEvent) -> Result<(), AxiViolation> {
        let state = &mut *self.state.borrow_mut();
        match event {
            AxiEvent::ReadData { id, data, last, error } => {
                if data.len() != self.width as usize {
                    let (bytes, width) = (data.len(), self.width);
                    return Err(AxiViolation::Width { channel: "R", bytes, width });
                }
                let open = state.reads.get_mut(&id);
                let read =
                    open.and_then(|open| open.iter_mut().find(|read| read.arrived_beats < read.burst.beats));
                let read = read.ok_or(AxiViolation::NoRead { id })?;
                let (beat, beats) = (read.arrived_beats + 1, read.burst.beats);
                if last != (beat == beats) {
                    return Err(AxiViolation::Last { channel: "R", beat, beats, last });
                }
                read.arrived_beats = beat;
                state.data.push_back(Beat { id, data, error });
            }
            AxiEvent::WriteResponse { id, error } => {
                state.write_data.settle(now).for_each(drop);
                let open = state.writes.entry(id).or_default();
                let ends = *open.front().ok_or(AxiViolation::NoWrite { id })?;
                if ends > state.write_data.taken() {
                    return Err(AxiViolation::EarlyResponse { id });
                }
                open.pop_front();
                state.responses.push_back((id, error));
            }
            AxiEvent::Ready { channel, ready } => match channel {
                AxiChannel::ReadAddress => state.read_address.set_ready(now, ready),
                AxiChannel::WriteAddress => state.write_address.set_ready(now, ready),
                AxiChannel::WriteData => state.write_data.set_ready(now, ready),
                AxiChannel::ReadData | AxiChannel::WriteResponse => {
                    return Err(AxiViolation::Direction { channel: channel.name() });
                }
            },
            AxiEvent::ReadAddress { .. } => return Err(AxiViolation::Direction { channel: "AR" }),
            AxiEvent::WriteAddress { .. } => return Err(AxiViolation::Direction { channel: "AW" }),
            AxiEvent::WriteData { .. } => return Err(AxiViolation::Direction { channel: "W" }),
        }
        Ok(())
    }
}
