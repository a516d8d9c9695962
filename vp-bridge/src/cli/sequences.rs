//! Two sequences side by side: where they differ for the first time, and what is around that place.

use std::collections::VecDeque;
use std::io::Write;

use super::Failure;
use super::text::one_line;

/// Items that are shown before the one that differs.
pub(super) const BEFORE: usize = 4;
/// Items of each sequence that are shown from the place on at which they differ.
const FROM: usize = 3;

/// Returns what both sequences have at each place, up to the end of the longer one.
pub(super) fn pairs<T>(
    one: impl IntoIterator<Item = T>,
    other: impl IntoIterator<Item = T>,
) -> impl Iterator<Item = (Option<T>, Option<T>)> {
    let (mut one, mut other) = (one.into_iter().fuse(), other.into_iter().fuse());
    std::iter::from_fn(move || match (one.next(), other.next()) {
        (None, None) => None,
        pair => Some(pair),
    })
}

/// The first place at which two sequences differ.
pub(super) struct FirstDifference<T> {
    /// The place, from 0.
    pub(super) index: u64,
    /// Last items that both have before the place.
    pub(super) before: VecDeque<T>,
    /// First items that each has from there on; none, if it has ended.
    pub(super) sides: [Vec<T>; 2],
}

/// The first place at which two sequences differ; an error, how many items they have if they do not. Of both no more is kept than
/// is shown.
pub(super) fn first_difference<T: PartialEq>(
    one: impl IntoIterator<Item = T>,
    other: impl IntoIterator<Item = T>,
) -> Result<FirstDifference<T>, u64> {
    let (mut index, mut before) = (0, VecDeque::new());
    let mut pairs = pairs(one, other);
    while let Some(pair) = pairs.next() {
        match pair {
            (Some(one), Some(other)) if one == other => {
                if before.len() == BEFORE {
                    before.pop_front();
                }
                before.push_back(one);
            }
            pair => {
                let mut sides = [Vec::new(), Vec::new()];
                for (one, other) in std::iter::once(pair).chain(pairs.by_ref()).take(FROM) {
                    sides[0].extend(one);
                    sides[1].extend(other);
                }
                return Ok(FirstDifference { index, before, sides });
            }
        }
        index += 1;
    }
    Err(index)
}

/// Shows some items, a line each, and whose they are.
pub(super) fn show(out: &mut impl Write, what: &str, whose: &str, lines: &[String]) -> Result<(), Failure> {
    writeln!(out, "{what:<10} {whose}")?;
    // They may quote a file of somebody else's.
    lines.iter().try_for_each(|line| Ok(writeln!(out, "  {}", one_line(line))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_comes_with_what_is_around_it() {
        let found = first_difference(0..20, (0..9).chain([99, 10, 11, 12])).ok().unwrap();
        assert_eq!((found.index, found.before), (9, VecDeque::from([5, 6, 7, 8])));
        assert_eq!(found.sides, [[9, 10, 11], [99, 10, 11]]);
    }

    #[test]
    fn a_sequence_that_ends_before_the_other_differs_there() {
        let found = first_difference(0..2, 0..4).ok().unwrap();
        assert_eq!((found.index, found.sides), (2, [vec![], vec![2, 3]]));
        assert_eq!(first_difference(0..3, 0..3).err(), Some(3));
    }
}
