//! Memory atoms that a loadable's cubes consist of, told by their sizes and strides.
//!
//! A line of packed features takes its width times the atom; surfaces hold an atom's channels each. Several atoms may go with a cube: of a
//! single pixel, or with room between its lines. So each cube tells a set, and a loadable has an atom that is in all of them.

use super::super::network::{Cube, Operation, TensorPlace, What};
use super::super::{AddressEntry, Loadable};
use super::Misfit;
use crate::nvdla::numeric::Precision;

/// Bytes of the atoms that there may be.
const ATOMS: [u32; 4] = [8, 16, 32, 64];

/// Bytes that compilers round lines up to: the vendor's does so unless a line is a single atom.
const LINE_ALIGNMENT: u32 = 32;

/// Code of features in a convolution's descriptor, where there are formats of pixels beside it.
pub(super) const FEATURES: u8 = 36;

/// A set of [`ATOMS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AtomSet(u8);

impl AtomSet {
    const ALL: AtomSet = AtomSet((1 << ATOMS.len()) - 1);

    fn of(is_in: impl Fn(u32) -> bool) -> AtomSet {
        AtomSet(ATOMS.iter().enumerate().fold(0, |set, (at, &atom)| set | u8::from(is_in(atom)) << at))
    }

    fn both(self, other: AtomSet) -> AtomSet {
        AtomSet(self.0 & other.0)
    }

    fn or(self, other: AtomSet) -> AtomSet {
        if self.0 == 0 { other } else { self }
    }

    fn has(self, atom: u32) -> bool {
        ATOMS.iter().position(|known| *known == atom).is_none_or(|at| self.0 >> at & 1 == 1)
    }

    fn list(self) -> Vec<u32> {
        ATOMS.into_iter().filter(|atom| self.has(*atom)).collect()
    }
}

/// A cube of features in memory.
#[derive(Debug)]
struct Features {
    place: String,
    cube: Cube,
    /// Bytes of an element.
    element: u32,
    /// From the first byte of its memory.
    offset: u64,
    /// Bytes that it has room in.
    room: u64,
}

impl Features {
    /// Returns true if a unit with these atoms finds the whole cube where it is, and nothing of it twice.
    fn can_have(&self, atom: u32) -> bool {
        let Cube { width, height, channels, line_stride, surface_stride, .. } = self.cube;
        let lanes = (atom / self.element).max(1);
        let surfaces = channels.div_ceil(lanes);
        let has_lines = height == 1
            || line_stride.is_multiple_of(atom)
                && u64::from(line_stride) >= u64::from(width) * u64::from(atom);
        let has_surfaces = surfaces == 1 || surface_stride.is_multiple_of(atom);
        let [width, height, surfaces] = [width, height, surfaces].map(|count| u64::from(count) - 1);
        let last = u64::from(channels) - surfaces * u64::from(lanes);
        let bytes = surfaces * u64::from(surface_stride)
            + height * u64::from(line_stride)
            + width * u64::from(atom)
            + last * u64::from(self.element);
        has_lines && has_surfaces && self.offset.is_multiple_of(atom.into()) && bytes <= self.room
    }

    /// Returns true if lines are as long as packed ones of these atoms.
    fn is_packed(&self, atom: u32) -> bool {
        let line = self.cube.width.saturating_mul(atom);
        self.cube.width > 1 && [line, line.next_multiple_of(LINE_ALIGNMENT)].contains(&self.cube.line_stride)
    }

    /// The atoms that it can have; any, if it can have none.
    fn possible(&self) -> AtomSet {
        AtomSet::of(|atom| self.can_have(atom)).or(AtomSet::ALL)
    }

    /// Atoms with which it is packed, or if there are none those that it can have.
    fn likely(&self) -> AtomSet {
        AtomSet::of(|atom| self.is_packed(atom)).both(self.possible()).or(self.possible())
    }
}

/// The cubes of a loadable, and the atoms that they have together.
#[derive(Debug)]
pub(super) struct Atoms {
    cubes: Vec<(Features, AtomSet)>,
    common: AtomSet,
}

impl Atoms {
    pub(super) fn of<'a>(
        loadable: &Loadable,
        operations: impl Iterator<Item = (String, &'a Operation)>,
    ) -> Atoms {
        let features: Vec<Features> =
            operations.flat_map(|(place, operation)| features(loadable, &place, operation)).collect();
        let common = |of: fn(&Features) -> AtomSet| {
            features.iter().fold(AtomSet::ALL, |common, cube| common.both(of(cube)))
        };
        // Where cubes contradict each other, some have room between their lines, and only what is impossible counts.
        let of = match common(Features::likely) {
            AtomSet(0) => Features::possible,
            _ => Features::likely,
        };
        let common = common(of);
        Atoms {
            cubes: features
                .into_iter()
                .map(|cube| (of(&cube), cube))
                .map(|(set, cube)| (cube, set))
                .collect(),
            common,
        }
    }

    /// The atom, if there is just one.
    pub(super) fn only(&self) -> Option<u32> {
        match self.common.list()[..] {
            [atom] => Some(atom),
            _ => None,
        }
    }

    /// The first cube that has no such atoms.
    pub(super) fn misfit(&self, has: u32) -> Option<Misfit> {
        let (features, atoms) = self.cubes.iter().find(|(_, atoms)| !atoms.has(has))?;
        let Cube { width, height, channels, line_stride, surface_stride, .. } = features.cube;
        Some(Misfit::Atom {
            place: features.place.clone(),
            size: [width, height, channels],
            strides: [line_stride, surface_stride],
            atoms: atoms.list(),
            has,
        })
    }
}

/// The cubes of features that an operation reads and writes, whose elements and order are known.
fn features(loadable: &Loadable, place: &str, operation: &Operation) -> Vec<Features> {
    /// Codes of RUBIK's modes; planes are no features.
    const SPLIT: u8 = 1;
    const MERGE: u8 = 2;
    let formats = match &operation.what {
        What::Bdma(_) => return Vec::new(),
        // Of a result in memory nothing is written by this unit.
        What::Convolution { descriptor, .. } => {
            [(descriptor.data_format == FEATURES).then_some(descriptor.in_precision), None]
        }
        What::Sdp { descriptor, .. } => [Some(descriptor.src_precision), Some(descriptor.dst_precision)],
        What::Pdp { descriptor, .. } => [Some(descriptor.precision); 2],
        What::Cdp { descriptor, .. } => [Some(descriptor.in_precision); 2],
        What::Rubik { descriptor, .. } => {
            [MERGE, SPLIT].map(|planar| Some(descriptor.precision).filter(|_| descriptor.mode != planar))
        }
    };
    let cubes = operation.what.data().into_iter().zip(formats);
    let features = cubes.filter_map(|((name, cube), format)| {
        let element = Precision::of_code(format?.into())?.bytes() as u32;
        let TensorPlace::Memory(AddressEntry { memory, offset }) = cube.place else { return None };
        let room = (loadable.memory(memory).image.len() as u64).saturating_sub(offset).max(cube.size.into());
        Some(Features { place: format!("{place}, {name}"), cube: *cube, element, offset, room })
    });
    features.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The atoms that a cube of int8 tells.
    fn told(
        [width, height, channels]: [u32; 3],
        [line_stride, surface_stride]: [u32; 2],
        room: u64,
    ) -> Vec<u32> {
        let place = TensorPlace::Memory(AddressEntry { memory: 0, offset: 0 });
        let cube = Cube { place, size: room as u32, width, height, channels, line_stride, surface_stride };
        Features { place: String::new(), cube, element: 1, offset: 0, room }.likely().list()
    }

    #[test]
    fn packed_lines_tell_their_atom() {
        for atom in ATOMS {
            let (line, surface) = (4 * atom, 16 * atom);
            assert_eq!(told([4, 4, atom], [line, surface], surface.into()), [atom]);
        }
        // Rounded up to 32 bytes: 3 x 8, and not 3 x 16.
        assert_eq!(told([3, 2, 8], [32, 64], 64), [8]);
        assert_eq!(told([2, 2, 8], [32, 64], 64), [8, 16]);
    }

    #[test]
    fn a_single_pixel_tells_its_atom_by_its_surfaces_only() {
        assert_eq!(told([1, 1, 8], [8, 8], 8), ATOMS);
        assert_eq!(told([1, 1, 8], [32, 32], 32), ATOMS);
        assert_eq!(told([1, 1, 64], [32, 32], 64), [32, 64]);
        assert_eq!(told([1, 1, 64], [8, 8], 64), [8, 64]);
    }

    #[test]
    fn lines_and_surfaces_that_overlap_or_end_outside_are_of_no_such_atom() {
        // One column: lines of 32 bytes hold atoms of up to 32.
        assert_eq!(told([1, 4, 8], [32, 128], 128), [8, 16, 32]);
        // 32 channels in one surface.
        assert_eq!(told([1, 4, 32], [32, 128], 128), [32]);
        // What fits nothing tells nothing.
        assert_eq!(told([4, 4, 8], [1, 1], 1), ATOMS);
    }
}
