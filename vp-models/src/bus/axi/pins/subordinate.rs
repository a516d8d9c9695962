//! The subordinate's end: bursts of a master outside come in, data and responses go out.

use std::cell::RefCell;
use std::collections::VecDeque;

use bytes::Bytes;
use vp_core::Time;

use super::{AxiChannel, AxiEvent, AxiSink, AxiViolation, Driven, check_burst};
use crate::bus::axi::{AxiConfig, Burst};

/// Beats of write data that are kept for addresses which have not come.
const MOST_WRITE_DATA: usize = 64;

/// Beats that may wait to be taken.
const MOST_AHEAD: usize = 4_096;

/// A ready that this side drives.
#[derive(Clone, Copy)]
struct Ready {
    before: bool,
    /// Time from which on it is `level`.
    at: Time,
    level: bool,
}

impl Ready {
    const HIGH: Ready = Ready { before: true, at: Time::ZERO, level: true };

    fn at(self, now: Time) -> bool {
        if now >= self.at { self.level } else { self.before }
    }
}

/// Addresses that have come to the pins.
#[derive(Default)]
struct Address {
    /// One, or more where a link delays the ready that the master sees.
    waiting: VecDeque<Burst>,
    /// The edge after the last handshake.
    free: Time,
}

impl Address {
    /// Another one has come; so many may wait.
    fn push(&mut self, burst: Burst, most: usize, channel: &'static str) -> Result<(), AxiViolation> {
        if self.waiting.len() >= most {
            return Err(AxiViolation::Unstable { channel });
        }
        self.waiting.push_back(burst);
        Ok(())
    }
}

/// A beat of write data, and the edge at which it was taken.
struct WriteBeat {
    taken: Time,
    data: Bytes,
    strobes: u64,
}

/// A write whose data is all there.
pub(in crate::bus::axi) struct Arrived {
    /// Burst of the bytes from the first that is written to the last.
    pub(in crate::bus::axi) burst: Burst,
    /// The bytes of its beats, from the address of the first one.
    pub(in crate::bus::axi) data: Vec<u8>,
    /// For each byte of the data, true if it is written; and the address of the first byte.
    pub(in crate::bus::axi) written: Vec<bool>,
    pub(in crate::bus::axi) base: u64,
}

/// The pins of a master outside, in front of a memory interface of the platform.
pub struct SubordinatePins {
    period: Time,
    width: u32,
    /// Addresses that may wait.
    most_addresses: usize,
    sink: AxiSink,
    state: RefCell<SubordinateState>,
}

struct SubordinateState {
    read: Address,
    write: Address,
    ready: [Ready; 3],
    read_data: Driven,
    /// Beats that have come to W, and not been taken.
    arriving: VecDeque<(Bytes, u64, bool)>,
    data_free: Time,
    /// Beats that were taken.
    beats: VecDeque<WriteBeat>,
    /// Beats of writes, as their addresses have it, whose last beat has not come: the present one's number.
    lengths: VecDeque<u32>,
    beat: u32,
    /// Lengths of bursts whose data has come before their addresses.
    early: VecDeque<u32>,
    /// Time at which the last response was put on B.
    responded: Option<Time>,
    is_gone: bool,
}

/// Positions of the readies.
const AR: usize = 0;
const AW: usize = 1;
const W: usize = 2;
const CHANNELS: [AxiChannel; 3] = [AxiChannel::ReadAddress, AxiChannel::WriteAddress, AxiChannel::WriteData];

impl SubordinatePins {
    /// The pins of an interface of that shape, behind a link that delays by so many edges each way; what it drives goes to
    /// `sink`.
    pub fn new(config: &AxiConfig, delay: u32, sink: AxiSink) -> SubordinatePins {
        SubordinatePins {
            period: config.period,
            width: config.beat_bytes,
            // A ready that goes low at edge t is low for the master from t + delay on. What it drives until then is here before
            // t + 2 * delay; and one more waits that it has driven and does not take for taken.
            most_addresses: 2 * delay as usize + 1,
            sink,
            state: RefCell::new(SubordinateState {
                read: Address::default(),
                write: Address::default(),
                ready: [Ready::HIGH; 3],
                read_data: Driven::new(config.period),
                arriving: VecDeque::new(),
                data_free: Time::ZERO,
                beats: VecDeque::new(),
                lengths: VecDeque::new(),
                beat: 0,
                early: VecDeque::new(),
                responded: None,
                is_gone: false,
            }),
        }
    }

    /// Drives a ready so that it is high from `from` on, and not before, as seen at `now`.
    fn drive_ready(&self, state: &mut SubordinateState, which: usize, now: Time, from: Time) {
        let next = now + self.period;
        let ready = &mut state.ready[which];
        let wanted = match ready.level {
            true if from > next => Some((next, false)),
            false if from <= now => Some((now.max(ready.at), true)),
            false if from <= next => Some((next, true)),
            _ => None,
        };
        if let Some((at, level)) = wanted {
            *ready = Ready { before: ready.at(now), at, level };
            (self.sink)(at, AxiEvent::Ready { channel: CHANNELS[which], ready: level });
        }
    }

    fn take(&self, which: usize, now: Time, room: Time) -> Option<Burst> {
        let state = &mut *self.state.borrow_mut();
        if state.is_gone {
            return None;
        }
        if !state.ready[which].at(now) && room <= now {
            self.drive_ready(state, which, now, room);
        }
        let is_ready = state.ready[which].at(now);
        let address = if which == AR { &mut state.read } else { &mut state.write };
        if !is_ready || address.free > now {
            return None;
        }
        let burst = address.waiting.pop_front()?;
        address.free = now + self.period;
        Some(burst)
    }

    // What the interface does.

    /// The read on AR, if it is taken now; there is room for one from `room` on.
    pub(in crate::bus::axi) fn take_read(&self, now: Time, room: Time) -> Option<Burst> {
        self.take(AR, now, room)
    }

    /// The write on AW, likewise.
    pub(in crate::bus::axi) fn take_write(&self, now: Time, room: Time) -> Option<Burst> {
        self.take(AW, now, room)
    }

    /// Drives ARREADY or AWREADY: there is room for another address from `room` on. Returns the time of the next update.
    pub(in crate::bus::axi) fn update_room(&self, write: bool, now: Time, room: Time) -> Time {
        let state = &mut *self.state.borrow_mut();
        self.drive_ready(state, if write { AW } else { AR }, now, room);
        let address = if write { &state.write } else { &state.read };
        // The next one is taken then, if it waits already.
        match room > now {
            true => room,
            false if address.waiting.is_empty() => Time::MAX,
            false => now + self.period,
        }
    }

    /// Puts a beat on R.
    pub(in crate::bus::axi) fn send_data(
        &self,
        now: Time,
        id: u16,
        data: Bytes,
        (last, error): (bool, bool),
    ) {
        let state = &mut *self.state.borrow_mut();
        if !state.is_gone {
            state.read_data.settle(now).for_each(drop);
            state.read_data.drive(now);
            (self.sink)(now, AxiEvent::ReadData { id, data, last, error });
        }
    }

    /// The edge at which the beat on R was taken, if that was before `now`; or else from when on the next can follow, as
    /// far as is known.
    pub(in crate::bus::axi) fn data_taken(&self, now: Time) -> Result<Time, Time> {
        let state = &mut *self.state.borrow_mut();
        if state.is_gone {
            return Ok(now);
        }
        match state.read_data.settle(now).last() {
            Some(edge) => Ok(edge),
            None => Err(state.read_data.free()),
        }
    }

    /// Puts a response on B.
    pub(in crate::bus::axi) fn respond(&self, now: Time, id: u16, error: bool) {
        let state = &mut *self.state.borrow_mut();
        if !state.is_gone {
            state.responded = Some(now);
            (self.sink)(now, AxiEvent::WriteResponse { id, error });
        }
    }

    /// Returns the time at which the last response was put on B.
    pub(in crate::bus::axi) fn responded(&self) -> Option<Time> {
        self.state.borrow().responded
    }

    /// Takes what has come on W by now; tells when the next beat is taken.
    pub(in crate::bus::axi) fn take_write_data(&self, now: Time) -> Time {
        let state = &mut *self.state.borrow_mut();
        while state.data_free <= now
            && state.ready[W].at(now)
            && let Some((data, strobes, _)) = state.arriving.pop_front()
        {
            state.beats.push_back(WriteBeat { taken: now, data, strobes });
            state.data_free = now + self.period;
        }
        let room = if state.beats.len() < MOST_WRITE_DATA { now } else { Time::MAX };
        self.drive_ready(state, W, now, room);
        if state.arriving.is_empty() { Time::MAX } else { state.data_free.max(now + self.period) }
    }

    /// Returns the time at which the first beat of the next write was taken, if it was.
    pub(in crate::bus::axi) fn first_beat(&self) -> Option<Time> {
        self.state.borrow().beats.front().map(|beat| beat.taken)
    }

    /// Takes the next beat of write data, to be passed on: its bytes and strobes.
    pub(in crate::bus::axi) fn next_beat(&self) -> Option<(Bytes, u64)> {
        self.state.borrow_mut().beats.pop_front().map(|beat| (beat.data, beat.strobes))
    }

    /// Takes a write all of whose data has come.
    pub(in crate::bus::axi) fn arrived(&self, burst: &Burst) -> Option<Arrived> {
        let state = &mut *self.state.borrow_mut();
        let beats = burst.beats as usize;
        if state.beats.len() < beats {
            return None;
        }
        let width = self.width as usize;
        let base = burst.address & !u64::from(self.width - 1);
        let (mut data, mut written) = (Vec::with_capacity(beats * width), Vec::with_capacity(beats * width));
        for beat in state.beats.drain(..beats) {
            data.extend_from_slice(&beat.data);
            written.extend((0..width).map(|lane| beat.strobes >> lane & 1 == 1));
        }
        let first = written.iter().position(|written| *written);
        let last = written.iter().rposition(|written| *written);
        let (first, end) = first.zip(last).map_or((0, 0), |(first, last)| (first, last + 1));
        let burst = Burst { address: base + first as u64, bytes: (end - first) as u32, ..*burst };
        Some(Arrived { burst, data, written, base })
    }

    /// Returns true if the master has gone.
    pub(in crate::bus::axi) fn is_gone(&self) -> bool {
        self.state.borrow().is_gone
    }

    pub(in crate::bus::axi) fn detach(&self) {
        let state = &mut *self.state.borrow_mut();
        state.is_gone = true;
        state.read.waiting.clear();
        state.write.waiting.clear();
        state.arriving.clear();
        state.beats.clear();
    }

    // What the other side does.

    /// The other side drives this, seen now.
    ///
    /// # Errors
    /// It breaks a rule of the interface. The event has no effect.
    pub(in crate::bus::axi) fn drive(&self, now: Time, event: AxiEvent) -> Result<(), AxiViolation> {
        let state = &mut *self.state.borrow_mut();
        let width = self.width;
        match event {
            AxiEvent::ReadAddress { id, address, beats } => {
                check_burst(AxiChannel::ReadAddress, address, beats, width)?;
                let base = address & !u64::from(width - 1);
                let (bytes, beats) = (u32::from(beats) * width, beats.into());
                let burst = Burst { id: id.into(), address: base, bytes, beats };
                state.read.push(burst, self.most_addresses, "AR")?;
            }
            AxiEvent::WriteAddress { id, address, beats } => {
                check_burst(AxiChannel::WriteAddress, address, beats, width)?;
                let (bytes, beats) = (u32::from(beats) * width, beats.into());
                let burst = Burst { id: id.into(), address, bytes, beats };
                state.write.push(burst, self.most_addresses, "AW")?;
                match state.early.pop_front() {
                    None => state.lengths.push_back(beats),
                    Some(came) if came == beats => {}
                    Some(beat) => return Err(AxiViolation::Last { channel: "W", beat, beats, last: true }),
                }
            }
            AxiEvent::WriteData { data, strobes, last } => {
                if data.len() != width as usize {
                    return Err(AxiViolation::Width { channel: "W", bytes: data.len(), width });
                }
                let most = MOST_AHEAD + self.most_addresses;
                if state.arriving.len() >= most {
                    return Err(AxiViolation::Ahead { channel: "W", beats: most + 1 });
                }
                state.beat = state.beat.saturating_add(1);
                // Data may come before its address: then its length is not known yet.
                if let Some(&beats) = state.lengths.front() {
                    let beat = state.beat;
                    if last != (beat == beats) {
                        return Err(AxiViolation::Last { channel: "W", beat, beats, last });
                    }
                }
                if last {
                    if state.lengths.pop_front().is_none() {
                        state.early.push_back(state.beat);
                    }
                    state.beat = 0;
                }
                state.arriving.push_back((data, strobes, last));
            }
            AxiEvent::Ready { channel, ready } => match channel {
                AxiChannel::ReadData => state.read_data.set_ready(now, ready),
                // Responses are few, and nothing here waits for their being taken.
                AxiChannel::WriteResponse => {}
                other => return Err(AxiViolation::Direction { channel: other.name() }),
            },
            AxiEvent::ReadData { .. } => return Err(AxiViolation::Direction { channel: "R" }),
            AxiEvent::WriteResponse { .. } => return Err(AxiViolation::Direction { channel: "B" }),
        }
        Ok(())
    }
}
