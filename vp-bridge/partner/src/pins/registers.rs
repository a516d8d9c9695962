//! Registers: this side is the device, or the CPU. Accesses are NVDLA's (RTL, `NV_NVDLA_csb_master.v`): a request with valid
//! and ready, and answers that are pulses, in the order of the accesses.

use std::collections::VecDeque;

use vp_core::Time;
use vp_hub::{PortEvent, Role};
use vp_models::platform::PortKind;

use super::{Attached, PinState, Ports, Violation};
use crate::channel::{Incoming, Outgoing};

/// An access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterAccess {
    /// Byte address.
    pub address: u32,
    /// The word to write, or `None` to read.
    pub write: Option<u32>,
    /// A write that is not answered.
    pub posted: bool,
}

/// The pins that the initiator drives: the access whose valid is high, if one is.
pub type InitiatorPins = Option<RegisterAccess>;

/// The pins that the target drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TargetPins {
    /// True if the target takes an access.
    pub ready: bool,
    /// The word read, for the one edge of its pulse.
    pub read: Option<u32>,
    /// The pulse that ends a write.
    pub write_complete: bool,
}

fn unknown(event: &PortEvent) -> String {
    format!("{event:?}, which this end of the port has no pins for")
}

/// Target on this side: the device.
#[derive(Default)]
pub struct RegisterTarget {
    access: Incoming<RegisterAccess>,
    /// Accesses that were taken and are to be answered: whether each reads.
    open: VecDeque<bool>,
}

impl PinState for RegisterTarget {
    type Driven = TargetPins;
    type Observed = InitiatorPins;
    const KIND: PortKind = PortKind::Registers;
    const ROLE: Role = Role::Target;

    fn sample(&mut self, _: Time, pins: &TargetPins, told: &mut Vec<PortEvent>) -> Result<(), Violation> {
        told.extend(self.access.change(pins.ready).map(PortEvent::RegisterReady));
        // In whatever order both kinds were asked for.
        let mut answers = [(true, pins.read), (false, pins.write_complete.then_some(0))];
        if self.open.front() == Some(&false) {
            answers.reverse();
        }
        for (reads, value) in answers {
            let Some(value) = value else { continue };
            if self.open.pop_front() != Some(reads) {
                let what = if reads { "data of a read" } else { "the end of a write" };
                return Err((
                    "response",
                    format!("{what}, which the oldest access without an answer does not wait for"),
                ));
            }
            told.push(PortEvent::RegisterAnswer(value));
        }
        Ok(())
    }

    fn seen(&mut self, now: Time) -> InitiatorPins {
        self.access.pins(now).copied()
    }

    fn finish(&mut self, now: Time) {
        if let Some(RegisterAccess { write, posted, .. }) = self.access.finish(now)
            && !posted
        {
            self.open.push_back(write.is_none());
        }
    }

    fn take(&mut self, at: Time, event: PortEvent) -> Result<(), String> {
        match event {
            PortEvent::Register { address, write, posted } => {
                self.access.push(at, RegisterAccess { address, write, posted })
            }
            other => Err(unknown(&other)),
        }
    }

    fn list(ports: &mut Ports) -> &mut Vec<Attached<Self>> {
        &mut ports.targets
    }
}

/// Initiator on this side: the CPU.
#[derive(Default)]
pub struct RegisterInitiator {
    access: Outgoing<RegisterAccess>,
    open: VecDeque<bool>,
    answers: VecDeque<(Time, u32)>,
}

impl PinState for RegisterInitiator {
    type Driven = InitiatorPins;
    type Observed = TargetPins;
    const KIND: PortKind = PortKind::Registers;
    const ROLE: Role = Role::Initiator;

    fn sample(&mut self, _: Time, pins: &InitiatorPins, told: &mut Vec<PortEvent>) -> Result<(), Violation> {
        let new = self.access.sample(*pins).map_err(|rule| ("request", rule.to_owned()))?;
        told.extend(new.map(|RegisterAccess { address, write, posted }| PortEvent::Register {
            address,
            write,
            posted,
        }));
        Ok(())
    }

    fn seen(&mut self, now: Time) -> TargetPins {
        let mut pins = TargetPins { ready: self.access.ready(now), ..TargetPins::default() };
        if let Some((at, value)) = self.answers.front().copied()
            && at <= now
        {
            match self.open.front() {
                Some(false) => pins.write_complete = true,
                _ => pins.read = Some(value),
            }
        }
        pins
    }

    fn finish(&mut self, now: Time) {
        // The pulse is over.
        if self.answers.front().is_some_and(|(at, _)| *at <= now) {
            self.answers.pop_front();
            self.open.pop_front();
        }
        if let Some(RegisterAccess { write, posted, .. }) = self.access.finish(now)
            && !posted
        {
            self.open.push_back(write.is_none());
        }
    }

    fn take(&mut self, at: Time, event: PortEvent) -> Result<(), String> {
        match event {
            PortEvent::RegisterReady(ready) => self.access.push_ready(at, ready),
            PortEvent::RegisterAnswer(value) => self.answers.push_back((at, value)),
            other => return Err(unknown(&other)),
        }
        Ok(())
    }

    fn list(ports: &mut Ports) -> &mut Vec<Attached<Self>> {
        &mut ports.initiators
    }
}
