//! The parameters of a write client's way to the arbiter: its places, its lanes, and how far ahead its engine begins bursts.

/// The places on a write client's way to the arbiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WritePathConfig {
    /// Items in each of pipe_p1 and pipe_p2: 1, or 2 with a skid register. A place can be taken as many cycles after an item has left.
    pub register: u32,
    /// Beats in the data FIFO; a place can be taken as many cycles after a beat has left.
    pub data: u32,
    /// Cycles from the leaving of a line's last beat to the next header's entry into pipe_p3.
    pub header: u32,
    /// Commands that wait for the arbiter; a place can be taken one cycle more than there are places after a grant.
    pub commands: u32,
    /// The places between the engine and DMAIF.
    pub lanes: WriteLanes,
}

/// The places between an engine and DMAIF, each of one burst, which take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteLanes {
    /// Number of places.
    pub count: u32,
    /// True if each line begins with the first place.
    pub by_line: bool,
    /// Cycles from a burst's leaving a place until the next one can be whole in it.
    pub refill: u32,
}

/// Bound on an engine's beginning of a burst: at least so many `cycles` from something that the one so many before it does, if that was held
/// back, until its own time on AW.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// From the time at which that one is whole in its lane.
    Whole {
        /// Number of bursts.
        before: u32,
        /// Number of cycles.
        cycles: u32,
    },
    /// From the time at which that one leaves its lane for DMAIF.
    HandedOver {
        /// Number of bursts.
        before: u32,
        /// Number of cycles.
        cycles: u32,
    },
}

impl Begin {
    /// Returns the same where so many bursts between that one and the next are on their way, and have not been put.
    pub fn behind(self, unput: u32) -> Begin {
        match self {
            Begin::Whole { before, cycles } => Begin::Whole { before: before.saturating_sub(unput), cycles },
            Begin::HandedOver { before, cycles } => {
                Begin::HandedOver { before: before.saturating_sub(unput), cycles }
            }
        }
    }
}
