//! Surfaces of lines of pixels, one behind the other by strides: how features, images, planes and copies lie in memory.

use super::AddressEntry;
use thiserror::Error;
use vp_models::units::grouped;

/// Place of a cube's bytes, from its first one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Bytes of a pixel.
    pub(super) pixel: u64,
    /// Bytes of the last pixel that count: the rest of an atom is no channel, and nobody minds what is read there.
    pub(super) last_pixel: u64,
    /// Pixels of a line, lines of a surface, surfaces; each at least one.
    pub(super) counts: [u64; 3],
    /// Bytes from a line, and from a surface, to the next.
    pub(super) strides: [u64; 2],
    /// Multiple that its first address and its strides have to be: the bus drops lower bits.
    pub(super) atom: u64,
}

/// Direction of an access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

/// Piece of memory that an operation reads or writes.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// Number of the operation, of all in the loadable.
    pub(super) operation: usize,
    /// Operation and cube.
    pub(super) place: String,
    pub(super) direction: Direction,
    /// Place of the first byte.
    pub(super) entry: AddressEntry,
    /// Bytes from the first to the last.
    pub(super) extent: u64,
    /// Bytes of its pixels: no more are read or written.
    pub(super) pixels: u64,
}

/// Reason for which no unit can have a cube so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CubeFault {
    /// Lines that lie over each other.
    #[error(
        "a line stride of {} bytes is shorter than a line of {} pixels of {} bytes, which takes {}",
        grouped(stride), grouped(width), grouped(pixel), grouped(width.saturating_mul(*pixel))
    )]
    Lines {
        /// Bytes from a line to the next.
        stride: u64,
        /// Pixels of a line.
        width: u64,
        /// Bytes of a pixel.
        pixel: u64,
    },
    /// Surfaces that lie over each other.
    #[error(
        "a surface stride of {} bytes is shorter than a surface of {} lines, which takes {}",
        grouped(stride),
        grouped(lines),
        grouped(needs)
    )]
    Surfaces {
        /// Bytes from a surface to the next.
        stride: u64,
        /// Lines of a surface.
        lines: u64,
        /// Bytes of a surface.
        needs: u64,
    },
    /// A stride or an offset with bits that no address on the bus has.
    #[error("{what} of {} bytes is no multiple of {atom}", grouped(bytes))]
    Unaligned {
        /// Stride or offset that is not aligned.
        what: &'static str,
        /// Bytes of that stride or offset.
        bytes: u64,
        /// The multiple.
        atom: u64,
    },
    /// A cube that ends behind its memory.
    #[error("it takes {} bytes, and its memory has {} from there on", grouped(needs), grouped(room))]
    Outside {
        /// Bytes from its first to its last.
        needs: u64,
        /// Bytes of its address entry, as far as they are in its memory.
        room: u64,
    },
    /// A copy of nothing.
    #[error("it has no line or no surface")]
    Empty,
    /// A cube that has to be in memory, and has no address.
    #[error("it has no address, and this unit has it in memory")]
    Nowhere,
}

impl Shape {
    /// Bytes of a line.
    pub(super) fn line(&self) -> u64 {
        self.counts[0].saturating_mul(self.pixel)
    }

    /// Bytes of all pixels.
    pub(super) fn pixels(&self) -> u64 {
        let [_, lines, surfaces] = self.counts;
        self.line().saturating_mul(lines).saturating_mul(surfaces)
    }

    /// Bytes from the first to the last.
    pub(super) fn extent(&self) -> u64 {
        let [_, lines, surfaces] = self.counts;
        let whole = span(surfaces, self.strides[1], span(lines, self.strides[0], self.line()));
        whole.saturating_sub(self.pixel - self.last_pixel)
    }

    /// First reason for which it cannot lie at an offset of its memory, in which there is so much room.
    pub(super) fn fault(&self, offset: u64, room: u64) -> Option<CubeFault> {
        self.overlap().or_else(|| self.unaligned(offset)).or_else(|| {
            let needs = self.extent();
            (needs > room).then_some(CubeFault::Outside { needs, room })
        })
    }

    /// Pixels of which two have the same byte. A stride that leads to no other line or surface does not matter, and whole lines of other
    /// surfaces may lie between two lines of one.
    fn overlap(&self) -> Option<CubeFault> {
        let ([width, lines, surfaces], [line, surface]) = (self.counts, self.strides);
        if lines > 1 && line < self.line() {
            return Some(CubeFault::Lines { stride: line, width, pixel: self.pixel });
        }
        let needs = span(lines, line, self.line());
        let in_turns = surface >= self.line() && line >= span(surfaces, surface, self.line());
        (surfaces > 1 && surface < needs && !in_turns).then_some(CubeFault::Surfaces {
            stride: surface,
            lines,
            needs,
        })
    }

    fn unaligned(&self, offset: u64) -> Option<CubeFault> {
        let ([_, lines, surfaces], [line, surface], atom) = (self.counts, self.strides, self.atom);
        let those = [
            ("a line stride", lines > 1, line),
            ("a surface stride", surfaces > 1, surface),
            ("an offset", true, offset),
        ];
        let wrong = those.into_iter().find(|(_, counts, bytes)| *counts && !bytes.is_multiple_of(atom));
        wrong.map(|(what, _, bytes)| CubeFault::Unaligned { what, bytes, atom })
    }
}

/// Bytes of so many parts, at least one, that follow each other by a stride.
fn span(count: u64, stride: u64, part: u64) -> u64 {
    count.saturating_sub(1).saturating_mul(stride).saturating_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The place of each byte that counts, one after the other.
    fn places(shape: &Shape) -> Vec<u64> {
        let [width, lines, surfaces] = shape.counts;
        let mut places = Vec::new();
        for surface in 0..surfaces {
            for line in 0..lines {
                for x in 0..width {
                    let is_last = [surface + 1, line + 1, x + 1] == [surfaces, lines, width];
                    let bytes = if is_last { shape.last_pixel } else { shape.pixel };
                    let at = surface * shape.strides[1] + line * shape.strides[0] + x * shape.pixel;
                    places.extend(at..at + bytes);
                }
            }
        }
        places
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn no_byte_is_there_twice_or_outside(
            (pixel, less) in (1..5u64).prop_flat_map(|pixel| (Just(pixel), 0..pixel)),
            counts in [1..4u64, 1..4, 1..4],
            strides in [0..24u64, 0..48],
            room in 0..160u64,
        ) {
            let shape = Shape { pixel, last_pixel: pixel - less, counts, strides, atom: 1 };
            let places = places(&shape);
            let distinct: BTreeSet<u64> = places.iter().copied().collect();
            let is_sound = distinct.len() == places.len() && places.iter().all(|place| *place < room);
            match shape.fault(0, room) {
                None => prop_assert!(is_sound),
                // Pixels in between others, by strides of no order, are refused though no byte is there twice.
                Some(CubeFault::Surfaces { .. }) => {
                    let [width, lines, _] = counts;
                    prop_assert!(strides[1] < (lines - 1) * strides[0] + width * pixel);
                }
                Some(_) => prop_assert!(!is_sound || less > 0),
            }
        }
    }

    #[test]
    fn strides_that_lead_nowhere_do_not_matter() {
        let shape = Shape { pixel: 8, last_pixel: 8, counts: [4, 1, 1], strides: [1, 1], atom: 8 };
        assert_eq!(shape.fault(0, 32), None);
        assert_eq!(shape.fault(0, 31), Some(CubeFault::Outside { needs: 32, room: 31 }));
        let two = Shape { counts: [4, 2, 1], strides: [1, 1], ..shape };
        assert_eq!(two.fault(0, 64), Some(CubeFault::Lines { stride: 1, width: 4, pixel: 8 }));
    }

    #[test]
    fn lines_of_several_surfaces_may_take_turns() {
        let shape = Shape { pixel: 8, last_pixel: 8, counts: [4, 4, 2], strides: [64, 32], atom: 8 };
        assert_eq!(shape.fault(0, 256), None);
        let over_each_other = Shape { strides: [32, 64], ..shape };
        let fault = over_each_other.fault(0, 256);
        assert_eq!(fault, Some(CubeFault::Surfaces { stride: 64, lines: 4, needs: 128 }));
    }

    #[test]
    fn what_the_bus_drops_is_no_part_of_an_address() {
        let shape = Shape { pixel: 8, last_pixel: 8, counts: [4, 2, 1], strides: [36, 0], atom: 8 };
        let told = |fault: Option<CubeFault>| fault.map(|fault| fault.to_string());
        assert_eq!(
            told(shape.fault(0, 256)).as_deref(),
            Some("a line stride of 36 bytes is no multiple of 8")
        );
        let aligned = Shape { strides: [40, 0], ..shape };
        assert_eq!(told(aligned.fault(4, 256)).as_deref(), Some("an offset of 4 bytes is no multiple of 8"));
    }
}
