//! Faults, and the moments at which they strike.

use std::fmt;
use std::ops::Range;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use strum::IntoStaticStr;
use vp_core::Time;

use crate::bus::axi::{AxiChannel, Burst};

/// Kind of a fault: what goes wrong.
#[derive(Debug, Clone, PartialEq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum FaultKind {
    /// A memory answers a burst with an error: a read brings zeros, a write is lost.
    Error { port: &'static str, direction: Option<Direction>, range: Option<Range<u64>>, response: Response },
    /// A channel of a memory interface moves nothing for so many cycles; `None`: never again.
    Stall { port: &'static str, channel: AxiChannel, range: Option<Range<u64>>, cycles: Option<u64> },
    /// The line does not rise.
    LostInterrupt,
    /// The line rises so many cycles late.
    DelayedInterrupt { cycles: u64 },
    /// The line is high for so many cycles, whatever the device drives.
    SpuriousInterrupt { cycles: u64 },
    /// A bit of a memory's byte is another one.
    MemoryFlip { port: &'static str, address: u64, bit: u8 },
    /// A bit of a register is another one.
    RegisterFlip { name: String, address: u32, group: usize, bit: u8 },
    /// Nothing comes any more of who holds a port with a clock, or as the owner of its memory.
    SilentPartner { port: &'static str },
    /// The holder of a port is disconnected, as if it had broken a rule.
    FailingPartner { port: &'static str },
}

/// Fault of a partner: of who holds a port with a clock, or as the owner of its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartnerFault {
    /// Nothing comes any more of it.
    Silent,
    /// Put out, as if it had broken a rule.
    Failing,
}

/// Direction of the bursts that a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    Read,
    Write,
}

/// The error that a burst is answered with (AXI, RRESP and BRESP).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Response {
    #[default]
    Slverr,
    Decerr,
}

impl Response {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Response::Slverr => "SLVERR",
            Response::Decerr => "DECERR",
        }
    }
}

impl FaultKind {
    /// As a file has it.
    pub(crate) fn name(&self) -> &'static str {
        self.into()
    }

    /// The port at which it is.
    pub(crate) fn port(&self) -> Option<&'static str> {
        match self {
            FaultKind::Error { port, .. }
            | FaultKind::Stall { port, .. }
            | FaultKind::MemoryFlip { port, .. }
            | FaultKind::SilentPartner { port }
            | FaultKind::FailingPartner { port } => Some(port),
            _ => None,
        }
    }

    /// The port, and what goes wrong with who holds it, if it is a fault of a partner.
    pub(crate) fn of_partner(&self) -> Option<(&'static str, PartnerFault)> {
        match self {
            FaultKind::SilentPartner { port } => Some((port, PartnerFault::Silent)),
            FaultKind::FailingPartner { port } => Some((port, PartnerFault::Failing)),
            _ => None,
        }
    }

    /// Returns true if the fault happens at a moment by itself, and not to something that happens.
    pub(crate) fn is_of_a_moment(&self) -> bool {
        !matches!(
            self,
            FaultKind::Error { .. }
                | FaultKind::Stall { .. }
                | FaultKind::LostInterrupt
                | FaultKind::DelayedInterrupt { .. }
        )
    }
}

/// `error at dbb0, reads of 0x80000000 to 0x80000fff: SLVERR`
impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |f: &mut fmt::Formatter<'_>, what: &str, range: &Option<Range<u64>>| match range {
            Some(Range { start, end }) => write!(f, ", {what} 0x{start:x} to 0x{:x}", end - 1),
            None => Ok(()),
        };
        f.write_str(self.name())?;
        match self {
            FaultKind::Error { port, direction, range, response } => {
                write!(f, " at {port}")?;
                match (direction, range) {
                    (None, _) => place(f, "at", range)?,
                    (Some(Direction::Read), None) => f.write_str(", reads")?,
                    (Some(Direction::Write), None) => f.write_str(", writes")?,
                    (Some(Direction::Read), _) => place(f, "reads at", range)?,
                    (Some(Direction::Write), _) => place(f, "writes at", range)?,
                }
                write!(f, ": {}", response.name())
            }
            FaultKind::Stall { port, channel, range, cycles } => {
                write!(f, " of {} at {port}", channel.name())?;
                place(f, "bursts at", range)?;
                match cycles {
                    Some(cycles) => write!(f, ": {cycles} cycles"),
                    None => f.write_str(": for ever"),
                }
            }
            FaultKind::LostInterrupt => Ok(()),
            FaultKind::DelayedInterrupt { cycles } | FaultKind::SpuriousInterrupt { cycles } => {
                write!(f, ": {cycles} cycles")
            }
            FaultKind::MemoryFlip { port, address, bit } => {
                write!(f, " at {port}: bit {bit} of 0x{address:x}")
            }
            FaultKind::RegisterFlip { name, group, bit, .. } => {
                write!(f, ": bit {bit} of {name}, group {group}")
            }
            FaultKind::SilentPartner { port } | FaultKind::FailingPartner { port } => write!(f, " at {port}"),
        }
    }
}

/// Condition under which a fault strikes. What is counted depends on its kind: bursts, rises of the line, accesses, messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum When {
    /// At that time; of what happens, the first from then on.
    At(Time),
    /// After so many have passed.
    After(u64),
    /// Each so many-th.
    Every(u64),
    /// Each with a probability, from 0 to 1, drawn from a seed.
    Drawn { probability: f64, seed: u64 },
}

/// A fault, as it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) when: When,
    /// Number of times that it strikes at most.
    pub(crate) times: u64,
}

/// `…, after 3, once`
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { kind, when, times } = self;
        write!(f, "{kind}")?;
        match when {
            When::At(at) => write!(f, "; from {at} on")?,
            When::After(0) => {}
            When::After(count) => write!(f, "; after {count}")?,
            When::Every(count) => write!(f, "; every {count}")?,
            When::Drawn { probability, seed } => write!(f, "; probability {probability}, seed {seed}")?,
        }
        match times {
            &u64::MAX => Ok(()),
            1 => f.write_str("; once"),
            times => write!(f, "; at most {times} times"),
        }
    }
}

/// Counts what a fault may strike.
pub(crate) struct Trigger {
    when: When,
    left: u64,
    seen: u64,
    random: ChaCha8Rng,
}

impl Trigger {
    /// Trigger of a fault; each of a platform's faults, by its number, has a sequence of its own.
    pub(crate) fn new(fault: &Fault, number: usize) -> Trigger {
        let seed = match fault.when {
            When::Drawn { seed, .. } => seed,
            _ => 0,
        };
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(number as u64);
        Trigger { when: fault.when, left: fault.times, seen: 0, random }
    }

    /// Returns true if the fault strikes what happens now.
    pub(crate) fn strikes(&mut self, now: Time) -> bool {
        if self.left == 0 {
            return false;
        }
        self.seen += 1;
        let strikes = match self.when {
            When::At(at) => now >= at,
            When::After(count) => self.seen > count,
            When::Every(count) => self.seen.is_multiple_of(count),
            When::Drawn { probability, .. } => self.random.random_bool(probability),
        };
        self.left -= u64::from(strikes);
        strikes
    }

    /// The moment at which it strikes by itself, if that is to come.
    pub(crate) fn moment(&self) -> Option<Time> {
        match self.when {
            When::At(at) if self.left > 0 => Some(at),
            _ => None,
        }
    }
}

/// Returns true if a burst has a byte in a range of addresses.
pub(crate) fn touches(burst: &Burst, range: Option<&Range<u64>>) -> bool {
    let end = burst.address.saturating_add(u64::from(burst.bytes));
    range.is_none_or(|range| burst.address < range.end && range.start < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn struck(when: When, times: u64) -> Vec<u64> {
        let mut trigger = Trigger::new(&Fault { kind: FaultKind::LostInterrupt, when, times }, 0);
        (1..=10).filter(|event| trigger.strikes(Time::ns(*event))).collect()
    }

    #[test]
    fn a_count_lets_so_many_pass() {
        assert_eq!(struck(When::After(0), 1), [1]);
        assert_eq!(struck(When::After(4), 2), [5, 6]);
        assert_eq!(struck(When::Every(3), u64::MAX), [3, 6, 9]);
        assert_eq!(struck(When::At(Time::ns(7)), 1), [7]);
    }

    #[test]
    fn a_probability_is_drawn_from_its_seed() {
        let drawn = |seed| struck(When::Drawn { probability: 0.5, seed }, u64::MAX);
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        assert_eq!(struck(When::Drawn { probability: 0.0, seed: 1 }, u64::MAX), [0_u64; 0]);
        assert_eq!(struck(When::Drawn { probability: 1.0, seed: 1 }, 2), [1, 2]);
    }
}
