//! What a device did in a span of time, and what bounded it.

use std::fmt;
use std::ops::AddAssign;
use vp_core::Time;

/// What a device did in a span of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// When the span begins.
    pub from: Time,
    /// When it ends.
    pub until: Time,
    /// What the time went into.
    pub bounds: Bounds,
    /// What went over each memory interface.
    pub moved: Vec<Moved>,
}

/// What went over a memory interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The platform's port: `dbb0`, `sram0`.
    pub port: &'static str,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

/// A span of time, parted by what kept what was done in it from being done sooner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// A datapath was at work: the MAC array, SDP, PDP, CDP or RUBIK, their pipelines included.
    pub compute: Time,
    /// Reads were outstanding, and none of their data moved.
    pub read_latency: Time,
    /// Data of reads moved as fast as the interface, or the memory behind it, can.
    pub read_bandwidth: Time,
    /// Data of writes moved, or their acknowledgement was waited for.
    pub write: Time,
    /// Registers were written and read, and interrupts taken.
    pub csb: Time,
}

/// What can bound a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bound {
    /// A datapath.
    Compute,
    /// How long a read takes.
    ReadLatency,
    /// How much can be read in a time.
    ReadBandwidth,
    /// Writing.
    Write,
    /// Registers and interrupts: the driver.
    Csb,
}

impl Bound {
    /// All of them.
    pub const ALL: [Bound; 5] =
        [Bound::Compute, Bound::ReadLatency, Bound::ReadBandwidth, Bound::Write, Bound::Csb];

    /// As people are told it.
    pub const fn name(self) -> &'static str {
        match self {
            Bound::Compute => "compute",
            Bound::ReadLatency => "read latency",
            Bound::ReadBandwidth => "read bandwidth",
            Bound::Write => "write",
            Bound::Csb => "CSB",
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Bounds {
    /// The parts, in the order of [`Bound::ALL`]; together they are the whole span.
    pub fn parts(&self) -> [(Bound, Time); 5] {
        let Bounds { compute, read_latency, read_bandwidth, write, csb } = *self;
        [
            (Bound::Compute, compute),
            (Bound::ReadLatency, read_latency),
            (Bound::ReadBandwidth, read_bandwidth),
            (Bound::Write, write),
            (Bound::Csb, csb),
        ]
    }

    /// The whole span.
    pub fn total(&self) -> Time {
        self.parts().into_iter().fold(Time::ZERO, |sum, (_, part)| sum + part)
    }

    /// What the largest part went into; of equal ones the first.
    pub fn largest(&self) -> Bound {
        let largest = self.parts().into_iter().rev().max_by_key(|(_, time)| *time);
        largest.map_or(Bound::Compute, |(bound, _)| bound)
    }
}

impl AddAssign for Bounds {
    fn add_assign(&mut self, other: Bounds) {
        self.compute += other.compute;
        self.read_latency += other.read_latency;
        self.read_bandwidth += other.read_bandwidth;
        self.write += other.write;
        self.csb += other.csb;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_part_bounds() {
        let bounds =
            Bounds { write: Time::ns(5), csb: Time::ns(5), compute: Time::ns(1), ..Bounds::default() };
        assert_eq!((bounds.largest(), bounds.total()), (Bound::Write, Time::ns(11)));
    }
}
