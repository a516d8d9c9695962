//! Activity of a device in a span of time, and what bounded it.

use std::fmt;
use std::iter::zip;
use std::ops::{AddAssign, Index, IndexMut};
use strum::{IntoStaticStr, VariantArray};
use vp_core::Time;

use crate::memory::dram::DramActivity;
use crate::occupancy::WorkCounts;

/// Activity of a device in a span of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Start of the span.
    pub from: Time,
    /// End of the span.
    pub until: Time,
    /// Parts of the span, by what bounded them.
    pub bounds: Bounds,
    /// Bytes over each memory interface.
    pub moved: Vec<Moved>,
    /// Amounts of work that its units did.
    pub work: WorkCounts,
    /// Activity of each DRAM, by the platform's port: whoever it was for.
    pub drams: Vec<(&'static str, DramActivity)>,
}

/// Bytes that went over a memory interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The platform's port: `dbb0`, `sram0`.
    pub port: &'static str,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

/// Parts of the platform that can bound a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Bound {
    /// The MAC array, by multiplications that the network asks for.
    MacArray,
    /// The MAC array, by multipliers that have nothing to do meanwhile: channels or kernels do not fill it, it multiplies zeros that the
    /// network does not have, or it waits for CSC, which loads weights for few positions.
    IdleMacs,
    /// SDP.
    Sdp,
    /// PDP.
    Pdp,
    /// CDP.
    Cdp,
    /// RUBIK.
    Rubik,
    /// Latency of reads: reads were outstanding, and none of their data moved.
    ReadLatency,
    /// Bandwidth of reads: their data moved as fast as the interface, or the memory behind it, can.
    ReadBandwidth,
    /// Writing: data of writes moved, or their acknowledgement was waited for.
    Write,
    /// The driver: registers were written and read, and interrupts taken.
    Csb,
}

impl Bound {
    /// Number of bounds.
    pub const COUNT: usize = 10;

    /// All of them.
    pub const ALL: [Bound; Bound::COUNT] = *Self::VARIANTS.first_chunk().unwrap();

    /// Bounds that are a datapath's work.
    pub const COMPUTE: [Bound; 6] =
        [Bound::MacArray, Bound::IdleMacs, Bound::Sdp, Bound::Pdp, Bound::Cdp, Bound::Rubik];

    /// As people are told it.
    pub const fn name(self) -> &'static str {
        match self {
            Bound::MacArray => "MAC array",
            Bound::IdleMacs => "idle MACs",
            Bound::Sdp => "SDP",
            Bound::Pdp => "PDP",
            Bound::Cdp => "CDP",
            Bound::Rubik => "RUBIK",
            Bound::ReadLatency => "read latency",
            Bound::ReadBandwidth => "read bandwidth",
            Bound::Write => "write",
            Bound::Csb => "CSB",
        }
    }

    /// As programs are told it, in names of columns and of values in JSON.
    pub fn key(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A span of time, parted by what kept what was done in it from being done sooner: a time for each [`Bound`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds([Time; Bound::COUNT]);

impl Index<Bound> for Bounds {
    type Output = Time;

    fn index(&self, bound: Bound) -> &Time {
        &self.0[bound as usize]
    }
}

impl IndexMut<Bound> for Bounds {
    fn index_mut(&mut self, bound: Bound) -> &mut Time {
        &mut self.0[bound as usize]
    }
}

impl FromIterator<(Bound, Time)> for Bounds {
    fn from_iter<I: IntoIterator<Item = (Bound, Time)>>(parts: I) -> Bounds {
        let mut bounds = Bounds::default();
        parts.into_iter().for_each(|(bound, time)| bounds[bound] += time);
        bounds
    }
}

impl Bounds {
    /// The parts, in the order of [`Bound::ALL`]; together they are the whole span.
    pub fn parts(&self) -> [(Bound, Time); Bound::COUNT] {
        Bound::ALL.map(|bound| (bound, self[bound]))
    }

    /// The whole span.
    pub fn total(&self) -> Time {
        self.0.into_iter().fold(Time::ZERO, |sum, part| sum + part)
    }

    /// Returns the time that datapaths' work bounded.
    pub fn compute(&self) -> Time {
        Bound::COMPUTE.into_iter().fold(Time::ZERO, |sum, bound| sum + self[bound])
    }

    /// Returns the bound of the largest part; of equal ones the first.
    pub fn largest(&self) -> Bound {
        let times = self.parts().map(|(bound, time)| (bound, time.as_ps()));
        Bound::largest(times).unwrap_or(Bound::MacArray)
    }

    /// Leaves to [`Bound::MacArray`] what the multipliers are at work, and moves the rest to [`Bound::IdleMacs`], in whole cycles.
    pub fn part_idle_macs(&mut self, work: MacWork) {
        let MacWork { products, capacity, cycles, period } = work;
        if capacity == 0 {
            return;
        }
        let array = self[Bound::MacArray];
        // In the cycles beyond these nothing is multiplied.
        let multiplying = array.cycles(period).min(cycles);
        let idle = u128::from(multiplying) * u128::from(capacity.saturating_sub(products));
        let capacity = u128::from(capacity);
        let idle = ((idle + capacity / 2) / capacity) as u64;
        let at_work = array.min(period * multiplying).since(period * idle);
        self[Bound::MacArray] = at_work;
        self[Bound::IdleMacs] += array.since(at_work);
    }
}

impl Bound {
    /// The largest of some parts that are not zero. The MAC array's two parts count as one, and the larger of them stands for both; of equal
    /// ones the first.
    pub fn largest(parts: [(Bound, u64); Bound::COUNT]) -> Option<Bound> {
        let of = |bound: Bound| parts[bound as usize].1;
        let array = of(Bound::MacArray) + of(Bound::IdleMacs);
        let weight = |bound: Bound| match bound {
            Bound::MacArray if of(bound) >= of(Bound::IdleMacs) => array,
            Bound::IdleMacs if of(bound) > of(Bound::MacArray) => array,
            Bound::MacArray | Bound::IdleMacs => 0,
            bound => of(bound),
        };
        let largest = Bound::ALL.into_iter().rev().max_by_key(|&bound| weight(bound));
        largest.filter(|&bound| weight(bound) > 0)
    }
}

/// Work of the MAC array for a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacWork {
    /// Products that the array made.
    pub products: u64,
    /// Products that it could have made in the cycles that these take it.
    pub capacity: u64,
    /// Number of cycles that the products take.
    pub cycles: u64,
    /// Length of a cycle.
    pub period: Time,
}

impl AddAssign for Bounds {
    fn add_assign(&mut self, other: Bounds) {
        zip(&mut self.0, other.0).for_each(|(sum, part)| *sum += part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(parts: &[(Bound, u64)]) -> Bounds {
        parts.iter().map(|&(bound, nanoseconds)| (bound, Time::ns(nanoseconds))).collect()
    }

    #[test]
    fn each_bound_has_its_place() {
        for (at, bound) in Bound::ALL.into_iter().enumerate() {
            assert_eq!(bound as usize, at);
            assert_eq!(bound.key(), bound.name().to_lowercase().replace(' ', "_"));
        }
    }

    #[test]
    fn the_largest_part_bounds() {
        let of = bounds(&[(Bound::Write, 5), (Bound::Csb, 5), (Bound::Sdp, 1)]);
        assert_eq!((of.largest(), of.total(), of.compute()), (Bound::Write, Time::ns(11), Time::ns(1)));
    }

    #[test]
    fn the_arrays_two_parts_are_one_bound_and_the_larger_gives_its_name() {
        let of = |macs, idle| bounds(&[(Bound::MacArray, macs), (Bound::IdleMacs, idle), (Bound::Sdp, 5)]);
        assert_eq!(of(3, 4).largest(), Bound::IdleMacs);
        assert_eq!(of(4, 3).largest(), Bound::MacArray);
        assert_eq!(of(2, 2).largest(), Bound::Sdp);
    }

    #[test]
    fn idle_multipliers_take_their_share_of_the_cycles_that_multiply() {
        // A quarter of the multipliers is idle in 80 ns of multiplying, all of them are in 20 ns.
        let work = MacWork { products: 60, capacity: 80, cycles: 80, period: Time::ns(1) };
        let mut whole = bounds(&[(Bound::MacArray, 100), (Bound::Csb, 7)]);
        whole.part_idle_macs(work);
        assert_eq!(whole, bounds(&[(Bound::MacArray, 60), (Bound::IdleMacs, 40), (Bound::Csb, 7)]));
        // Half of it is hidden behind SDP.
        let mut half = bounds(&[(Bound::MacArray, 40), (Bound::Sdp, 60)]);
        half.part_idle_macs(work);
        assert_eq!(half, bounds(&[(Bound::MacArray, 30), (Bound::IdleMacs, 10), (Bound::Sdp, 60)]));
        // Nothing was multiplied.
        let mut none = bounds(&[(Bound::MacArray, 40)]);
        none.part_idle_macs(MacWork { products: 0, capacity: 0, cycles: 0, ..work });
        assert_eq!(none, bounds(&[(Bound::MacArray, 40)]));
    }
}
