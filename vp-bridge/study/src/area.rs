//! Numbers of a configuration that silicon grows with: they stand for area where designs are compared.

use super::point::Point;
use std::path::Path;
use vp_models::nvdla::config::Config;

/// A number that stands for area. It is no area: how much silicon one is depends on the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// Multipliers of int8.
    Macs,
    /// Bytes of the convolution buffer.
    CbufBytes,
}

impl Area {
    /// All of them.
    pub const ALL: [Area; 2] = [Area::Macs, Area::CbufBytes];

    /// Returns the number's name, as that of a parameter: of a column, and of a report's axis.
    pub const fn name(self) -> &'static str {
        match self {
            Area::Macs => "area.macs",
            Area::CbufBytes => "area.cbuf_bytes",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Area> {
        Area::ALL.into_iter().find(|area| area.name() == name)
    }

    /// Returns the number of a configuration.
    pub fn of(self, config: &Config) -> u64 {
        match self {
            Area::Macs => config.macs().into(),
            Area::CbufBytes => config.cbuf_bytes().into(),
        }
    }

    /// Returns the number of a point's platform, if there is such a platform and it carries an NVDLA.
    pub fn of_point(self, point: &Point, folder: &Path, seed: u64) -> Option<f64> {
        let (description, _) = point.description(folder, seed).ok()?;
        Some(self.of(&description.nvdla()?.config) as f64)
    }
}

/// The Pareto front of designs, each its area and what it gives: those of which no other gives as much with less area, or more with as
/// much. By area; places in the list.
pub fn front(designs: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..designs.len()).collect();
    // Of equal area the best first, of equal ones the first.
    order.sort_by(|&one, &other| {
        let ((area, gives), (other_area, other_gives)) = (designs[one], designs[other]);
        area.total_cmp(&other_area).then(other_gives.total_cmp(&gives)).then(one.cmp(&other))
    });
    let mut best = f64::NEG_INFINITY;
    order.retain(|&at| {
        let is_better = designs[at].1 > best;
        best = best.max(designs[at].1);
        is_better
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn configurations_have_their_areas() {
        let of = |name: &str| Area::ALL.map(|area| area.of(&Config::named(name).unwrap()));
        assert_eq!((of("nv_small"), of("nv_large")), ([64, 128 << 10], [2048, 512 << 10]));
        assert_eq!(Area::ALL.map(|area| Area::named(area.name())), Area::ALL.map(Some));
        assert_eq!(Area::named("area.ram"), None);
    }

    #[test]
    fn who_is_worse_in_both_is_not_in_front() {
        let designs = [(64.0, 10.0), (128.0, 9.0), (128.0, 18.0), (256.0, 18.0), (512.0, 30.0), (64.0, 10.0)];
        assert_eq!(front(&designs), [0, 2, 4]);
        assert!(front(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn the_front_is_what_no_other_beats(
            designs in prop::collection::vec((0u8..8, 0u8..8), 0..20),
        ) {
            let designs: Vec<(f64, f64)> = designs.into_iter().map(|(a, b)| (f64::from(a), f64::from(b))).collect();
            let beats = |one: (f64, f64), other: (f64, f64)| one.0 <= other.0 && one.1 >= other.1 && one != other;
            let found = front(&designs);
            for (at, design) in designs.iter().enumerate() {
                let is_beaten = designs.iter().any(|other| beats(*other, *design));
                let is_in = found.iter().any(|&place| designs[place] == *design);
                prop_assert_eq!(is_in, !is_beaten, "{} {:?}", at, design);
            }
        }
    }
}
