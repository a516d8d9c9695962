//! A memory at its pins that answers after a fixed number of edges, in the order of the requests.

use std::collections::VecDeque;
use std::rc::Rc;

use bytes::Bytes;

use crate::pins::{Address, Beat, Handle, ManagerPins, Response, Subordinate, SubordinatePins};
use crate::{DebugTarget, Partner, PartnerError};

/// A memory of fixed latency, as RTL would be: registers that follow what was on the pins at the edge.
pub struct FixedLatency {
    handle: Handle<Subordinate>,
    bytes: Rc<dyn DebugTarget>,
    width: usize,
    latency: u64,
    edge: u64,
    /// Beats of reads, and responses, with the edges at which they are on the pins at the earliest.
    beats: VecDeque<(u64, Beat)>,
    responses: VecDeque<(u64, Response)>,
    writes: VecDeque<Address>,
    beat: u16,
    /// True if a beat of the present write could not be stored.
    has_failed: bool,
    pins: SubordinatePins,
}

impl FixedLatency {
    /// Takes the memory port of that name. A read's first beat is on the pins `latency` edges after its address was taken, at least 1; `bytes`
    /// are where the memory is, for the platform's bursts as for its debuggers.
    ///
    /// # Errors
    /// As of [`Partner::attach`].
    pub fn attach(
        partner: &mut Partner,
        name: &str,
        bytes: Rc<dyn DebugTarget>,
        latency: u64,
    ) -> Result<FixedLatency, PartnerError> {
        let handle = partner.attach(name)?;
        partner.set_debug_target(handle, bytes.clone())?;
        let pins = SubordinatePins { ar_ready: true, aw_ready: true, w_ready: true, r: None, b: None };
        Ok(FixedLatency {
            handle,
            bytes,
            width: partner.width(handle)?,
            latency: latency.max(1),
            edge: 0,
            beats: VecDeque::new(),
            responses: VecDeque::new(),
            writes: VecDeque::new(),
            beat: 0,
            has_failed: false,
            pins,
        })
    }

    /// Drives its pins at the next edge.
    ///
    /// # Errors
    /// As of [`Partner::sample`].
    pub fn sample(&self, partner: &mut Partner) -> Result<(), PartnerError> {
        partner.sample(self.handle, &self.pins)
    }

    /// Sees the platform's pins at that edge, and computes what its own are at the next one.
    ///
    /// # Errors
    /// As of [`Partner::seen`].
    pub fn edge(&mut self, partner: &mut Partner) -> Result<(), PartnerError> {
        let seen = partner.seen(self.handle)?;
        if partner.is_in_reset(self.handle) {
            (self.beats, self.responses, self.writes) = Default::default();
            (self.beat, self.has_failed, self.pins.r, self.pins.b) = (0, false, None, None);
        }
        self.follow(&seen);
        Ok(())
    }

    /// Sets the registers to what they become after an edge at which these pins were seen.
    fn follow(&mut self, seen: &ManagerPins) {
        let now = self.edge;
        if let Some(Address { id, address, beats }) = seen.ar {
            for beat in 0..beats {
                let mut data = vec![0; self.width];
                let from = address.wrapping_add(u64::from(beat) * self.width as u64);
                let error = self.bytes.debug_read(from, &mut data).is_err();
                let beat = Beat { id, data: Bytes::from(data), last: beat + 1 == beats, error };
                self.beats.push_back((now + self.latency, beat));
            }
        }
        self.writes.extend(seen.aw);
        if let (Some(beat), Some(burst)) = (&seen.w, self.writes.front().copied()) {
            let base = burst.address & !(self.width as u64 - 1);
            self.write(base.wrapping_add(u64::from(self.beat) * self.width as u64), &beat.data, beat.strobes);
            self.beat += 1;
            if beat.last {
                let error = std::mem::take(&mut self.has_failed);
                self.responses.push_back((now + 1, Response { id: burst.id, error }));
                self.writes.pop_front();
                self.beat = 0;
            }
        }
        if self.pins.r.is_some() && seen.r_ready {
            self.pins.r = None;
        }
        if self.pins.b.is_some() && seen.b_ready {
            self.pins.b = None;
        }
        self.edge += 1;
        let next = self.edge;
        if self.pins.r.is_none() && self.beats.front().is_some_and(|(at, _)| *at <= next) {
            self.pins.r = self.beats.pop_front().map(|(_, beat)| beat);
        }
        if self.pins.b.is_none() && self.responses.front().is_some_and(|(at, _)| *at <= next) {
            self.pins.b = self.responses.pop_front().map(|(_, response)| response);
        }
    }

    /// Stores a beat, run by run of the bytes that its strobes have.
    fn write(&mut self, address: u64, data: &[u8], strobes: u64) {
        let is_written = |lane: usize| strobes >> lane & 1 == 1;
        let mut lane = 0;
        while lane < data.len().min(64) {
            let run = (lane..data.len().min(64)).take_while(|&lane| is_written(lane)).count();
            if run > 0 {
                let stored =
                    self.bytes.debug_write(address.wrapping_add(lane as u64), &data[lane..lane + run]);
                self.has_failed |= stored.is_err();
            }
            lane += run + 1;
        }
    }
}
