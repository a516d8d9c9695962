//! Faults at one memory interface: errors, channels that stand, bits that flip.

use std::fmt;
use std::rc::Rc;

use vp_core::Time;

use super::fault::{Direction, touches};
use super::{Armed, FaultKind, Faults};
use crate::bus::axi::{AxiChannel, Burst, Unmapped};

/// Faults of one interface.
pub(crate) struct BurstFaults {
    faults: Rc<Faults>,
    period: Time,
    errors: Vec<Rc<Armed>>,
    stalls: Vec<Rc<Armed>>,
    flips: Vec<Rc<Armed>>,
}

/// A burst as a person is told of it.
struct BurstText<'a>(bool, &'a Burst);

impl fmt::Display for BurstText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BurstText(write, Burst { id, address, bytes, .. }) = self;
        let what = if *write { "write" } else { "read" };
        write!(f, "{what} of {bytes} bytes at 0x{address:x} with id {id}")
    }
}

impl BurstFaults {
    /// Returns the faults at the port of that name; `None`: there are none.
    pub(crate) fn at(port: &str, period: Time, faults: &Rc<Faults>) -> Option<Rc<BurstFaults>> {
        let of = |is: fn(&FaultKind) -> bool| faults.of(|kind| kind.port() == Some(port) && is(kind));
        let errors = of(|kind| matches!(kind, FaultKind::Error { .. }));
        let stalls = of(|kind| matches!(kind, FaultKind::Stall { .. }));
        let flips = of(|kind| matches!(kind, FaultKind::MemoryFlip { .. }));
        let is_any = !(errors.is_empty() && stalls.is_empty() && flips.is_empty());
        is_any.then(|| Rc::new(BurstFaults { faults: faults.clone(), period, errors, stalls, flips }))
    }

    /// Returns the error with which a burst is answered in place of the memory, if a fault strikes it.
    pub(crate) fn error(&self, write: bool, burst: &Burst) -> Option<Unmapped> {
        let mut struck = None;
        for armed in &self.errors {
            let FaultKind::Error { direction, range, response, .. } = armed.kind() else { continue };
            let is_asked = direction.is_none_or(|direction| (direction == Direction::Write) == write);
            if is_asked && touches(burst, range.as_ref()) && self.faults.strikes(armed) {
                let response = response.name();
                self.faults
                    .strike(armed, format_args!("{} answered with {response}", BurstText(write, burst)));
                let why = format!("{response}, by fault {}", armed.number());
                let Burst { address, bytes, .. } = *burst;
                struck.get_or_insert(Unmapped { address, bytes, why });
            }
        }
        struck
    }

    /// Returns the time for which a channel stands before a burst goes over it; [`Time::MAX`]: for ever.
    pub(crate) fn stall(&self, channel: AxiChannel, burst: &Burst) -> Time {
        let mut stall = Time::ZERO;
        for armed in &self.stalls {
            let FaultKind::Stall { channel: of, range, cycles, .. } = armed.kind() else { continue };
            if *of == channel && touches(burst, range.as_ref()) && self.faults.strikes(armed) {
                use AxiChannel::{WriteAddress, WriteData, WriteResponse};
                let write = matches!(channel, WriteAddress | WriteData | WriteResponse);
                self.faults.strike(armed, format_args!("before the {}", BurstText(write, burst)));
                stall += cycles.map_or(Time::MAX, |cycles| self.period * cycles);
            }
        }
        stall
    }

    /// A burst goes to a memory that is a partner's, where only its address can be held up.
    pub(crate) fn miss_at_pins(&self, write: bool, burst: &Burst) {
        for armed in self.errors.iter().chain(&self.stalls).chain(&self.flips) {
            let (is_there, range) = match armed.kind() {
                FaultKind::Error { direction, range, .. } => (
                    direction.is_none_or(|direction| (direction == Direction::Write) == write),
                    range.clone(),
                ),
                FaultKind::Stall { channel, range, .. } => {
                    let behind = match write {
                        true => &[AxiChannel::WriteData, AxiChannel::WriteResponse][..],
                        false => &[AxiChannel::ReadData],
                    };
                    (behind.contains(channel), range.clone())
                }
                FaultKind::MemoryFlip { address, .. } => (!write, Some(*address..address.saturating_add(1))),
                _ => continue,
            };
            let is_struck = is_there && touches(burst, range.as_ref()) && armed.moment().is_none();
            if is_struck && self.faults.strikes(armed) {
                self.faults.miss(armed, "a partner with a clock is the memory: it answers as it likes");
            }
        }
    }

    /// A master with a clock writes a burst, of which only the address can be held up here.
    pub(crate) fn miss_of_master(&self, burst: &Burst) {
        for armed in &self.stalls {
            let FaultKind::Stall { channel, range, .. } = armed.kind() else { continue };
            let is_there = matches!(channel, AxiChannel::WriteData | AxiChannel::WriteResponse);
            if is_there && touches(burst, range.as_ref()) && self.faults.strikes(armed) {
                self.faults.miss(armed, "a master with a clock writes: only AW can be held up");
            }
        }
    }

    /// The bits that flip before a read: an address and a mask each.
    pub(crate) fn flips<'a>(&'a self, burst: &'a Burst) -> impl Iterator<Item = (u64, u8)> + 'a {
        self.flips.iter().filter_map(move |armed| {
            let FaultKind::MemoryFlip { address, bit, .. } = *armed.kind() else { return None };
            let is_read = touches(burst, Some(&(address..address.saturating_add(1))));
            // One that flips at a moment has a process for that.
            if !is_read || armed.moment().is_some() || !self.faults.strikes(armed) {
                return None;
            }
            self.faults.strike(armed, format_args!("before the {}", BurstText(false, burst)));
            Some((address, 1 << bit))
        })
    }
}
