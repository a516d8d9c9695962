//! CSC's timing: the order of a layer's output positions, and how long the MAC array needs for them.
//!
//! A group of kernels at a time, all positions in raster order, cut into *stripes*. For each stripe the array
//! takes one *package* after the other: a block of channels, a kernel row, a kernel column; in each, one position a
//! cycle. Weights of the next package are loaded meanwhile, one kernel a cycle, or two of nv_full's int8. The sums of a stripe are complete
//! with its last package (architecture text, "Convolution data flow"; RTL, branch master, `NV_NVDLA_CSC_sg.v`).

/// The lengths of the stripes that `positions` are cut into.
///
/// While the positions left are enough for two stripes of the longest kind, one of that kind follows. The
/// remaining positions are one stripe, or, if that would be longer than the longest, one of the shortest kind
/// and the rest.
pub fn stripes(positions: u32, (shortest, longest): (u32, u32)) -> impl Iterator<Item = u32> {
    let mut left = positions;
    std::iter::from_fn(move || {
        let length = match left {
            0 => return None,
            _ if left >= 2 * longest => longest,
            _ if left <= longest => left,
            _ => shortest.max(1),
        };
        left -= length;
        Some(length)
    })
}

/// Shortest and longest stripe if so many cubes take turns: together their stripes are no longer than those of
/// one cube, and of a single position where that is all the shortest has (RTL, branch nvdlav1, `NV_NVDLA_CSC_sg.v:2931`, `lower_limit_w`,
/// `:2945`, `upper_limit_w`).
pub fn of_cubes((shortest, longest): (u32, u32), cubes: u32) -> (u32, u32) {
    let limit = |length: u32| (length >> cubes.max(1).ilog2()).max(1);
    let shortest = limit(shortest);
    (shortest, if cubes > 1 && shortest == 1 { 1 } else { limit(longest) })
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

    #[test]
    fn long_stripes_come_first_and_the_rest_is_not_too_short() {
        let of = |positions| stripes(positions, (8, 16)).collect::<Vec<_>>();
        assert_eq!(of(3), [3]);
        assert_eq!(of(16), [16]);
        assert_eq!(of(17), [8, 9]);
        assert_eq!(of(31), [8, 8, 15]);
        assert_eq!(of(40), [16, 8, 16]);
    }

    #[test]
    fn stripes_of_many_cubes_are_short() {
        let of = |cubes| of_cubes((16, 32), cubes);
        assert_eq!(
            [1, 2, 3, 7, 15, 16, 32].map(of),
            [(16, 32), (8, 16), (8, 16), (4, 8), (2, 4), (1, 1), (1, 1)]
        );
    }

    proptest! {
        #[test]
        fn stripes_cover_all_positions(positions in 0u32..5000, shortest in 1u32..33, double: bool) {
            let longest = if double { 2 * shortest } else { shortest };
            let lengths: Vec<u32> = stripes(positions, (shortest, longest)).collect();
            prop_assert_eq!(lengths.iter().sum::<u32>(), positions);
            prop_assert!(lengths.iter().all(|length| (1..=longest).contains(length)));
        }
    }
}
