//! Memory atoms that a loadable's cubes consist of, told by their sizes and strides.
//!
//! A line of packed features takes its width times the atom; surfaces hold an atom's channels each. Several atoms may go with a cube: of a
//! single pixel, or with room between its lines. So each cube tells a set, and a loadable has an atom that is in all of them. One without
//! such an atom contradicts itself.

use super::super::LoadableError;
use super::super::error::CubeAtoms;
use super::super::network::Cube;
use super::super::shape::CubeFault;
use super::Misfit;
use super::cubes::Features;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of the atoms that there may be.
const ATOMS: [u32; 4] = [8, 16, 32, 64];

/// Bytes that compilers round lines up to.
const LINE_ALIGNMENT: u32 = 32;

/// A set of [`ATOMS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AtomSet(u8);

impl AtomSet {
    const ALL: AtomSet = AtomSet((1 << ATOMS.len()) - 1);
    const NONE: AtomSet = AtomSet(0);

    fn of(is_in: impl Fn(u32) -> bool) -> AtomSet {
        AtomSet(ATOMS.iter().enumerate().fold(0, |set, (at, &atom)| set | u8::from(is_in(atom)) << at))
    }

    fn both(self, other: AtomSet) -> AtomSet {
        AtomSet(self.0 & other.0)
    }

    fn with(self, other: AtomSet) -> AtomSet {
        AtomSet(self.0 | other.0)
    }

    fn or(self, other: AtomSet) -> AtomSet {
        if self == AtomSet::NONE { other } else { self }
    }

    fn common(sets: impl Iterator<Item = AtomSet>) -> AtomSet {
        sets.fold(AtomSet::ALL, AtomSet::both)
    }

    fn has(self, atom: u32) -> bool {
        ATOMS.iter().position(|known| *known == atom).is_none_or(|at| self.0 >> at & 1 == 1)
    }

    fn list(self) -> Vec<u32> {
        ATOMS.into_iter().filter(|atom| self.has(*atom)).collect()
    }
}

impl Features {
    /// Atoms with which a unit finds the whole cube where it is, and nothing of it twice.
    fn possible(&self) -> AtomSet {
        AtomSet::of(|atom| self.fault(atom).is_none())
    }

    /// The atom whose packed lines are as long as this cube's.
    fn packed(&self) -> AtomSet {
        let Cube { width, line_stride, .. } = self.cube;
        AtomSet::of(|atom| width > 1 && u64::from(line_stride) == self.line(atom))
    }

    /// Atoms whose packed lines are as long as this cube's, or are when they are rounded up.
    fn packed_or_rounded(&self) -> AtomSet {
        let Cube { width, line_stride, .. } = self.cube;
        let rounded = |atom| self.line(atom).next_multiple_of(LINE_ALIGNMENT.into());
        self.packed().with(AtomSet::of(|atom| width > 1 && u64::from(line_stride) == rounded(atom)))
    }

    fn line(&self, atom: u32) -> u64 {
        self.shape(atom).line()
    }

    /// Returns true if a stride leads from a line to another one.
    fn has_lines(&self) -> bool {
        self.cube.height > 1 && !self.is_packed
    }
}

/// The cubes of a loadable, and the atoms that they have together.
#[derive(Debug)]
pub(super) struct Atoms {
    cubes: Vec<(Features, AtomSet)>,
    common: AtomSet,
}

impl Atoms {
    /// Returns the atoms of these cubes. In each memory lines may be as long as those of the tensor that it holds, for whatever reason.
    ///
    /// # Errors
    /// If a cube is one with no atom, or two of them have none in common.
    pub(super) fn of(cubes: Vec<Features>, of_tensors: &BTreeSet<Line>) -> Result<Atoms, LoadableError> {
        let possible: Vec<AtomSet> = cubes.iter().map(Features::possible).collect();
        if let Some(at) = possible.iter().position(|set| *set == AtomSet::NONE) {
            let expected = AtomSet::common(possible.iter().copied().filter(|set| *set != AtomSet::NONE));
            return Err(impossible(&cubes[at], expected));
        }
        let told = told(&cubes, &possible, of_tensors);
        if AtomSet::common(told.iter().copied()) == AtomSet::NONE {
            return Err(contradiction(&cubes, &told));
        }
        // What lines tell that are rounded up, or lead to no other line, counts where it contradicts nothing.
        let likely =
            |(cube, possible): (&Features, &AtomSet)| cube.packed_or_rounded().both(*possible).or(*possible);
        let likely: Vec<AtomSet> = cubes.iter().zip(&possible).map(likely).collect();
        let sets = match AtomSet::common(likely.iter().copied()) {
            AtomSet::NONE => told,
            _ => likely,
        };
        let common = AtomSet::common(sets.iter().copied());
        Ok(Atoms { cubes: cubes.into_iter().zip(sets).collect(), common })
    }

    /// The atom, if there is just one.
    pub(super) fn only(&self) -> Option<u32> {
        match self.common.list()[..] {
            [atom] => Some(atom),
            _ => None,
        }
    }

    /// The largest atom that all cubes can have.
    pub(super) fn largest(&self) -> u32 {
        self.common.list().last().copied().unwrap_or(ATOMS[0])
    }

    /// The cubes of features.
    pub(super) fn cubes(&self) -> impl Iterator<Item = &Features> {
        self.cubes.iter().map(|(cube, _)| cube)
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

/// A memory, and the bytes from a line to the next there.
pub(super) type Line = (u16, u32);

/// Atoms that each cube tells: the one with which it is packed, or all that it can have. Room between the lines of a part belongs to the
/// cube, or the tensor, that it is a part of, whose lines are as long in the same memory, or to cubes whose lines lie there.
fn told(cubes: &[Features], possible: &[AtomSet], of_tensors: &BTreeSet<Line>) -> Vec<AtomSet> {
    let line = |cube: &Features| (cube.entry.memory, cube.cube.line_stride);
    let mut of_lines: BTreeMap<Line, AtomSet> = BTreeMap::new();
    for cube in cubes.iter().filter(|cube| cube.has_lines()) {
        let set = of_lines.entry(line(cube)).or_insert(AtomSet::NONE);
        *set = set.with(cube.packed());
    }
    let interleaved = Interleaved::of(cubes);
    let told = |(cube, possible): (&Features, &AtomSet)| {
        let packed = if cube.has_lines() && !interleaved.has(cube) { cube.packed() } else { AtomSet::NONE };
        match packed.both(*possible) {
            AtomSet::NONE => *possible,
            _ if of_tensors.contains(&line(cube)) => *possible,
            own => own.with(of_lines.get(&line(cube)).copied().unwrap_or(own)).both(*possible),
        }
    };
    cubes.iter().zip(possible).map(told).collect()
}

/// Cubes of the same extents and strides: of each such the places at which they begin.
struct Interleaved(BTreeMap<(u16, [u32; 5]), BTreeSet<u64>>);

impl Interleaved {
    fn of(cubes: &[Features]) -> Interleaved {
        let mut places: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
        for cube in cubes {
            places.entry(Interleaved::form(cube)).or_default().insert(cube.entry.offset);
        }
        Interleaved(places)
    }

    fn form(features: &Features) -> (u16, [u32; 5]) {
        let Cube { width, height, channels, line_stride, surface_stride, .. } = features.cube;
        (features.entry.memory, [width, height, channels, line_stride, surface_stride])
    }

    /// Returns true if lines of another cube lie between this one's.
    fn has(&self, cube: &Features) -> bool {
        let (at, line) = (cube.entry.offset, u64::from(cube.cube.line_stride));
        let places = &self.0[&Interleaved::form(cube)];
        places.range(at.saturating_sub(line)..at.saturating_add(line)).any(|place| {
            let distance = place.abs_diff(at);
            0 < distance && distance < line
        })
    }
}

/// Error of a cube that no atom goes with: the reason with the atom of the others, if they have one.
fn impossible(cube: &Features, expected: AtomSet) -> LoadableError {
    let atom = expected.list().first().copied().unwrap_or(ATOMS[0]);
    let fault = cube.fault(atom).unwrap_or(CubeFault::Nowhere);
    LoadableError::Cube { place: cube.place.clone(), fault }
}

/// Two cubes without a common atom, or of three such the two that tell most.
fn contradiction(cubes: &[Features], told: &[AtomSet]) -> LoadableError {
    let mut common = AtomSet::ALL;
    let second = told.iter().position(|set| {
        common = common.both(*set);
        common == AtomSet::NONE
    });
    let second = second.unwrap_or_default();
    let first = told[..second].iter().position(|set| set.both(told[second]) == AtomSet::NONE);
    let narrowest = || told[..second].iter().enumerate().min_by_key(|(_, set)| set.0.count_ones());
    let first = first.or_else(|| narrowest().map(|(at, _)| at)).unwrap_or_default();
    let described = |at: usize| {
        let Features { place, cube, .. } = &cubes[at];
        CubeAtoms {
            place: place.clone(),
            size: [cube.width, cube.height, cube.channels],
            strides: [cube.line_stride, cube.surface_stride],
            atoms: told[at].list(),
        }
    };
    LoadableError::Contradiction { cubes: Box::new([first, second].map(described)) }
}

#[cfg(test)]
mod tests {
    use super::super::super::AddressEntry;
    use super::super::super::network::TensorPlace;
    use super::super::super::shape::Direction;
    use super::*;

    /// A cube of int8 that is read, in a memory of its own.
    fn features(
        [width, height, channels]: [u32; 3],
        [line_stride, surface_stride]: [u32; 2],
        room: u64,
    ) -> Features {
        let entry = AddressEntry { memory: 0, offset: 0, size: None };
        let place = TensorPlace::Memory(entry);
        let size = room as u32;
        Features {
            operation: 0,
            place: String::new(),
            cube: Cube { place, size, width, height, channels, line_stride, surface_stride, plane_stride: 0 },
            entry,
            room,
            direction: Direction::Read,
            lane: 1,
            element: 1,
            is_packed: false,
            batch: (1, 0),
        }
    }

    /// The atoms that a cube of int8 tells.
    fn told(size: [u32; 3], strides: [u32; 2], room: u64) -> Vec<u32> {
        let cube = features(size, strides, room);
        cube.packed_or_rounded().both(cube.possible()).or(cube.possible()).list()
    }

    fn common(cubes: &[Features]) -> Result<Vec<u32>, String> {
        let cubes = (0..).zip(cubes).map(|(memory, cube)| {
            let entry = AddressEntry { memory: cube.entry.memory.max(memory), ..cube.entry };
            Features { place: format!("cube {memory}"), entry, ..cube.clone() }
        });
        Atoms::of(cubes.collect(), &BTreeSet::new())
            .map(|atoms| atoms.common.list())
            .map_err(|error| error.to_string())
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
        assert_eq!(told([4, 4, 8], [1, 1], 1), [0; 0]);
    }

    #[test]
    fn packed_cubes_of_two_atoms_contradict_each_other() {
        let (of_8, of_16) = (features([4, 4, 8], [32, 128], 128), features([2, 2, 8], [32, 64], 64));
        assert_eq!(
            common(&[of_8.clone(), of_16.clone()]).unwrap_err(),
            "its cubes contradict each other: cube 0, 4 x 4 x 8 with lines of 32 and surfaces of 128 bytes, consists of memory atoms of 8 bytes, \
             and cube 1, 2 x 2 x 8 with lines of 32 and surfaces of 64 bytes, of 16; all cubes of a loadable have the same"
        );
        // Alone it may be one of 8 whose lines are rounded up.
        assert_eq!(common(&[of_16]), Ok(vec![8, 16]));
        assert_eq!(common(&[of_8]), Ok(vec![8]));
    }

    #[test]
    fn room_between_lines_is_allowed_where_it_is_no_other_atom_or_a_larger_cubes() {
        let whole = features([4, 4, 8], [32, 128], 128);
        // 2 pixels of 8 bytes, and as much again.
        let roomy = features([2, 2, 8], [48, 96], 96);
        assert_eq!(common(&[whole.clone(), roomy]), Ok(vec![8]));
        // The left half of the same memory.
        let half = features([2, 4, 8], [32, 128], 128);
        let in_one = |cube: &Features| {
            let entry = AddressEntry { memory: 7, ..cube.entry };
            Features { entry, ..cube.clone() }
        };
        assert_eq!(common(&[in_one(&whole), in_one(&half)]), Ok(vec![8]));
        assert!(common(&[whole, half]).is_err());
        // A single line leads to no other.
        let line = features([2, 1, 8], [32, 32], 32);
        assert_eq!(common(&[features([4, 4, 8], [32, 128], 128), line]), Ok(vec![8]));
    }

    #[test]
    fn lines_that_lie_between_anothers_tell_no_larger_atom() {
        let lines = |offset: u64| {
            let cube = features([4, 4, 8], [64, 256], 256 - offset);
            Features { entry: AddressEntry { memory: 7, offset, ..cube.entry }, ..cube }
        };
        let packed = features([4, 4, 8], [32, 128], 128);
        assert_eq!(common(&[packed.clone(), lines(0), lines(32)]), Ok(vec![8]));
        // One alone could be packed of atoms of 16, and two a line apart are two cubes.
        assert!(common(&[packed.clone(), lines(0)]).is_err());
        assert!(common(&[packed, lines(0), lines(64)]).is_err());
    }

    #[test]
    fn a_cube_that_no_atom_goes_with_is_told_with_that_of_the_others() {
        let (of_16, bad) = (features([4, 4, 16], [64, 256], 256), features([4, 4, 16], [40, 256], 256));
        assert_eq!(
            common(&[of_16, bad.clone()]).unwrap_err(),
            "cube 1: a line stride of 40 bytes is shorter than a line of 4 pixels of 16 bytes, which takes 64"
        );
        let expected = "cube 0: it takes 408 bytes, and its memory has 256 from there on";
        assert_eq!(common(&[bad]).unwrap_err(), expected, "in two surfaces of 8");
    }
}
