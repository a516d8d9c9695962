//! Faults in front of the memory of one direction: they hold back an address, the data of a write, or an answer.

use crate::bus::axi::{AxiChannel, Burst};
use crate::faults::BurstFaults;
use std::rc::Rc;
use vp_core::Time;

/// The faults of one direction.
pub(super) struct Faults {
    write: bool,
    source: Rc<BurstFaults>,
    /// Time from which on the next address is taken.
    address: Time,
    /// True if the fault of the next address is evaluated.
    is_evaluated: bool,
    /// True if nothing is answered any more.
    is_silent: bool,
}

impl Faults {
    pub(super) fn new(write: bool, source: Rc<BurstFaults>) -> Faults {
        Faults { write, source, address: Time::ZERO, is_evaluated: false, is_silent: false }
    }

    /// Returns the faults that are still to strike.
    pub(super) fn source(&self) -> &BurstFaults {
        &self.source
    }

    /// Returns the time from which on the next address is taken, as far as it is known.
    #[inline]
    pub(super) fn room(&self) -> Time {
        self.address
    }

    /// Returns true if nothing is answered any more.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// Returns true if no fault holds this address back now; it is the next one until then.
    #[inline]
    pub(super) fn admits(&mut self, burst: &Burst, now: Time) -> bool {
        if !std::mem::replace(&mut self.is_evaluated, true) {
            let channel = if self.write { AxiChannel::WriteAddress } else { AxiChannel::ReadAddress };
            self.address = now + self.source.stall(channel, burst);
        }
        let is_admitted = self.address <= now;
        self.is_evaluated = !is_admitted;
        is_admitted
    }

    /// Returns the delay of a write's data, which is to go over W now.
    #[inline]
    pub(super) fn data_delay(&self, burst: &Burst) -> Time {
        self.source.stall(AxiChannel::WriteData, burst)
    }

    /// Returns the delay of the answer to a burst; [`Time::MAX`]: for ever, as that to all behind it.
    #[inline]
    pub(super) fn answer_delay(&mut self, burst: &Burst) -> Time {
        let channel = if self.write { AxiChannel::WriteResponse } else { AxiChannel::ReadData };
        let delay = self.source.stall(channel, burst);
        self.is_silent |= delay == Time::MAX;
        if self.is_silent { Time::MAX } else { delay }
    }
}
