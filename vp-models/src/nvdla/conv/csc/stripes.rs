//! CSC's timing: the order of a layer's output positions, and how long the MAC array needs for them.
//!
//! A group of kernels at a time, all positions in raster order, cut into *stripes*. For each stripe the array
//! takes one *package* after the other: a block of channels, a kernel row, a kernel column; in each, one position a
//! cycle. Weights of the next package are loaded meanwhile, one kernel a cycle, or two of nv_full's int8. The sums of a stripe are complete
//! with its last package (architecture text, "Convolution data flow"; RTL, branch master, `NV_NVDLA_CSC_sg.v`).

/// Length of stripes, in positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripeLength {
    /// Length of one behind which there are more positions than the longest has.
    pub shortest: u32,
    /// Most that a stripe has.
    pub longest: u32,
    /// True if stripes are of the longest kind while the positions left are enough for two of them (RTL, branches master and nv_small,
    /// `NV_NVDLA_CSC_sg.v`, is_stripe_be_2x; nvdlav1 knows no such, is_last_stripe).
    pub is_long_first: bool,
}

impl StripeLength {
    /// All stripes of one length.
    pub fn of(length: u32) -> StripeLength {
        StripeLength { shortest: length, longest: length, is_long_first: false }
    }

    /// Returns the length if so many cubes take turns: together their stripes are no longer than those of one cube, and of a single position
    /// where that is all the shortest has (RTL, branch nvdlav1, `NV_NVDLA_CSC_sg.v:2931`, `lower_limit_w`, `:2945`, `upper_limit_w`).
    pub fn of_cubes(self, cubes: u32) -> StripeLength {
        let limit = |length: u32| (length >> cubes.max(1).ilog2()).max(1);
        let shortest = limit(self.shortest);
        let longest = if cubes > 1 && shortest == 1 { 1 } else { limit(self.longest) };
        StripeLength { shortest, longest, ..self }
    }

    /// The lengths of the stripes that `positions` are cut into: of the shortest kind until the rest is no longer than the longest, but of the
    /// longest where these are first.
    pub fn stripes(self, positions: u32) -> impl Iterator<Item = u32> {
        let StripeLength { shortest, longest, is_long_first } = self;
        let mut left = positions;
        std::iter::from_fn(move || {
            let length = match left {
                0 => return None,
                _ if is_long_first && left >= 2 * longest => longest,
                _ if left <= longest => left,
                _ => shortest.max(1),
            };
            left -= length;
            Some(length)
        })
    }
}

/// Cycles of one package of a stripe: the array is never faster than weights are loaded, nor than the shortest
/// package.
pub fn package_cycles(length: u32, loading: u32, shortest: u32) -> u32 {
    length.max(loading).max(shortest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn length(shortest: u32, longest: u32, is_long_first: bool) -> StripeLength {
        StripeLength { shortest, longest, is_long_first }
    }

    #[test]
    fn long_stripes_come_first_and_the_rest_is_not_too_short() {
        let of = |positions| length(8, 16, true).stripes(positions).collect::<Vec<_>>();
        assert_eq!(of(3), [3]);
        assert_eq!(of(16), [16]);
        assert_eq!(of(17), [8, 9]);
        assert_eq!(of(31), [8, 8, 15]);
        assert_eq!(of(40), [16, 8, 16]);
    }

    #[test]
    fn on_nvdlav1_only_the_last_stripe_is_long() {
        let of = |positions| length(4, 8, false).stripes(positions).collect::<Vec<_>>();
        assert_eq!((of(8), of(16), of(19)), (vec![8], vec![4, 4, 8], vec![4, 4, 4, 7]));
    }

    #[test]
    fn stripes_of_many_cubes_are_short() {
        let of = |cubes| length(16, 32, false).of_cubes(cubes);
        assert_eq!(
            [1, 2, 3, 7, 15, 16, 32].map(of).map(|of| (of.shortest, of.longest)),
            [(16, 32), (8, 16), (8, 16), (4, 8), (2, 4), (1, 1), (1, 1)]
        );
    }

    proptest! {
        #[test]
        fn stripes_cover_all_positions(
            positions in 0u32..5000,
            shortest in 1u32..33,
            double: bool,
            is_long_first: bool,
        ) {
            let longest = if double { 2 * shortest } else { shortest };
            let lengths: Vec<u32> = length(shortest, longest, is_long_first).stripes(positions).collect();
            prop_assert_eq!(lengths.iter().sum::<u32>(), positions);
            prop_assert!(lengths.iter().all(|length| (1..=longest).contains(length)));
        }
    }
}
