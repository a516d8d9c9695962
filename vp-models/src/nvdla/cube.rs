//! Feature data cubes: how they lie in memory, and a dense buffer to compute on.
//!
//! A cube of W x H pixels and C channels is cut into *surfaces* of as many channels as one memory *atom* holds
//! (8, 16 or 32 bytes, by hardware configuration). Atom (x, y) of a surface holds those channels of one pixel,
//! lowest channel first, little endian. The lanes of the last surface beyond C exist in memory and are computed
//! like all others.
//!
//! Called by every engine's `layer` (addresses), `compute` (buffers) and `timing` (bursts). It moves no data
//! itself.

/// Memory interface that an address belongs to: the `RAM_TYPE` bit of every DMA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ram {
    /// 0, `CV`: the secondary interface (SRAMIF).
    Secondary,
    /// 1, `MC`: the primary interface (DBBIF).
    #[default]
    Primary,
}

impl Ram {
    /// Reads a `RAM_TYPE` field.
    pub const fn from_field(field: u32) -> Self {
        if field & 1 == 0 { Ram::Secondary } else { Ram::Primary }
    }

    /// The value of a `RAM_TYPE` field.
    pub const fn field(self) -> u32 {
        match self {
            Ram::Secondary => 0,
            Ram::Primary => 1,
        }
    }
}

/// Layout by which the atoms of a cube follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packing {
    /// By the stride registers.
    Strided,
    /// One atom per surface, back to back, whatever the stride registers say: how SDP lays cubes of one pixel,
    /// and operands of one value per channel.
    Packed,
}

/// A cube in memory: enough to find any of its atoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Surface {
    /// Interface it is reached by.
    pub ram: Ram,
    /// Byte address of atom (0, 0) of the first surface.
    pub base: u64,
    /// Bytes from a line to the next.
    pub line_stride: u32,
    /// Bytes from a surface to the next.
    pub surface_stride: u32,
    /// Bytes from a pixel to the next in a line: one atom for features, more for two-byte or paired operands.
    pub pixel: u32,
    /// Bytes of an atom; each address on the bus is a multiple of this.
    pub atom: u32,
    /// Layout of the atoms, which says whether the strides count.
    pub packing: Packing,
}

impl Surface {
    /// A cube in a program's own bytes: addresses are offsets from its first byte, and no low bits are dropped.
    pub const fn within(line_stride: u32, surface_stride: u32, pixel: u32) -> Surface {
        let (ram, packing) = (Ram::Primary, Packing::Strided);
        Surface { ram, base: 0, line_stride, surface_stride, pixel, atom: 1, packing }
    }

    /// Byte address of pixel (x, y) of a surface. Wraps at 64 bits as the address adders do, and has no bits
    /// below an atom.
    #[inline]
    pub const fn address(&self, surface: u32, x: u32, y: u32) -> u64 {
        let offset = match self.packing {
            Packing::Strided => (surface as u64)
                .wrapping_mul(self.surface_stride as u64)
                .wrapping_add((y as u64).wrapping_mul(self.line_stride as u64))
                .wrapping_add((x as u64).wrapping_mul(self.pixel as u64)),
            Packing::Packed => (surface as u64).wrapping_mul(self.pixel as u64),
        };
        self.base.wrapping_add(offset) & !(self.atom as u64 - 1)
    }

    /// Byte address of an element of so many bytes, at a column, a line and a channel.
    pub const fn element(&self, [x, y, channel]: [u32; 3], bytes: u32) -> u64 {
        let lanes = if self.pixel > bytes { self.pixel / bytes } else { 1 };
        self.address(channel / lanes, x, y).wrapping_add((channel % lanes) as u64 * bytes as u64)
    }

    /// Returns true if a cube of that many lines and surfaces has each pixel at the same address in both layouts. A
    /// stride to a line or surface that the cube does not have makes no difference.
    pub fn places_alike(&self, other: &Surface, lines: u32, surfaces: u32) -> bool {
        let without_unused = |surface: &Surface| Surface {
            line_stride: if lines > 1 { surface.line_stride } else { 0 },
            surface_stride: if surfaces > 1 { surface.surface_stride } else { 0 },
            ..*surface
        };
        without_unused(self) == without_unused(other)
    }
}

/// Surfaces that `channels` need when each holds `lanes` of them.
pub const fn surfaces(channels: u32, lanes: usize) -> u32 {
    channels.div_ceil(lanes as u32)
}

/// A cube held densely: `[surface][y][x][byte of the atom]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cube {
    width: u32,
    height: u32,
    surfaces: u32,
    atom: usize,
    /// The number of lines of a surface, and of surfaces, that are kept at once; all of them unless the cube is
    /// a rolling one.
    kept_lines: u32,
    kept_surfaces: u32,
    bytes: Vec<u8>,
}

impl Cube {
    /// A cube of zeros. `atom` is in bytes; all four sizes are those of a checked layer (hence bounded).
    pub fn new(width: u32, height: u32, surfaces: u32, atom: usize) -> Self {
        Cube::keeping(width, height, surfaces, atom, height, surfaces)
    }

    /// A cube that is filled and used line by line: only the last `lines` lines of the last two surfaces are
    /// kept, so its size does not grow with the layer's.
    pub fn rolling(width: u32, height: u32, surfaces: u32, atom: usize, lines: u32) -> Self {
        Cube::keeping(width, height, surfaces, atom, lines.clamp(1, height.max(1)), surfaces.min(2))
    }

    fn keeping(
        width: u32,
        height: u32,
        surfaces: u32,
        atom: usize,
        kept_lines: u32,
        kept_surfaces: u32,
    ) -> Self {
        let bytes = vec![0; width as usize * kept_lines as usize * kept_surfaces as usize * atom];
        Cube { width, height, surfaces, atom, kept_lines, kept_surfaces, bytes }
    }

    /// Pixels in a line.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Lines.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Surfaces.
    pub fn surfaces(&self) -> u32 {
        self.surfaces
    }

    /// Bytes of an atom.
    pub fn atom_bytes(&self) -> usize {
        self.atom
    }

    /// All atoms that are kept, surface by surface, line by line.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All atoms, to be overwritten.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// One atom. Panics outside the cube.
    #[inline]
    pub fn atom(&self, surface: u32, x: u32, y: u32) -> &[u8] {
        let at = self.offset(surface, x, y);
        &self.bytes[at..at + self.atom]
    }

    /// One atom, to be overwritten. Panics outside the cube.
    #[inline]
    pub fn atom_mut(&mut self, surface: u32, x: u32, y: u32) -> &mut [u8] {
        let at = self.offset(surface, x, y);
        &mut self.bytes[at..at + self.atom]
    }

    /// Consecutive atoms of one line, starting at `x`. Panics outside the cube.
    #[inline]
    pub fn atoms(&self, surface: u32, x: u32, y: u32, count: u32) -> &[u8] {
        assert!(x + count <= self.width, "{count} atoms from column {x} of {}", self.width);
        if count == 0 {
            return &[];
        }
        let at = self.offset(surface, x, y);
        &self.bytes[at..at + count as usize * self.atom]
    }

    /// The cube's atoms with their coordinates (surface, x, y), in the order SDP streams them.
    pub fn coordinates(&self) -> impl Iterator<Item = (u32, u32, u32)> + use<> {
        let (width, height) = (self.width, self.height);
        (0..self.surfaces)
            .flat_map(move |surface| (0..height).flat_map(move |y| (0..width).map(move |x| (surface, x, y))))
    }

    #[inline]
    fn offset(&self, surface: u32, x: u32, y: u32) -> usize {
        assert!(
            surface < self.surfaces && x < self.width && y < self.height,
            "atom ({surface}, {x}, {y}) of a {}x{}x{} cube",
            self.surfaces,
            self.width,
            self.height
        );
        let (plane, line) = (surface % self.kept_surfaces, y % self.kept_lines);
        ((plane as usize * self.kept_lines as usize + line as usize) * self.width as usize + x as usize)
            * self.atom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRIDED: Surface = Surface {
        ram: Ram::Primary,
        base: 0x8000_0000,
        line_stride: 0x60,
        surface_stride: 0xa00,
        pixel: 8,
        atom: 8,
        packing: Packing::Strided,
    };

    #[test]
    fn strides_place_lines_and_surfaces() {
        assert_eq!(STRIDED.address(0, 0, 0), 0x8000_0000);
        assert_eq!(STRIDED.address(2, 3, 4), 0x8000_0000 + 2 * 0xa00 + 4 * 0x60 + 3 * 8);
    }

    #[test]
    fn an_atom_holds_as_many_channels_as_elements_fit() {
        assert_eq!(STRIDED.element([3, 4, 2 * 8 + 5], 1), STRIDED.address(2, 3, 4) + 5);
        assert_eq!(STRIDED.element([3, 4, 2 * 4 + 3], 2), STRIDED.address(2, 3, 4) + 6);
    }

    #[test]
    fn packed_surfaces_follow_each_other_whatever_the_strides() {
        let packed = Surface { packing: Packing::Packed, ..STRIDED };
        assert_eq!(packed.address(5, 3, 4), 0x8000_0000 + 5 * 8);
    }

    #[test]
    fn addresses_lose_what_is_below_an_atom_behind_the_sum() {
        let odd = Surface { base: 0x8000_0003, line_stride: 0x63, ..STRIDED };
        let lines: Vec<u64> = (0..4).map(|y| odd.address(0, 1, y)).collect();
        assert_eq!(lines, [0x8000_0008, 0x8000_0068, 0x8000_00d0, 0x8000_0130]);
    }

    #[test]
    fn a_stride_that_a_cube_does_not_use_makes_no_difference_to_its_places() {
        let (other_lines, other_surfaces) =
            (Surface { line_stride: 0x80, ..STRIDED }, Surface { surface_stride: 0xb00, ..STRIDED });
        for (other, lines, surfaces) in [(other_lines, 1, 5), (other_surfaces, 5, 1)] {
            assert!(STRIDED.places_alike(&other, lines, surfaces));
            assert!(!STRIDED.places_alike(&other, 2, 2));
        }
        assert!(!STRIDED.places_alike(&Surface { base: STRIDED.base + 8, ..STRIDED }, 1, 1));
    }

    #[test]
    fn addresses_wrap_instead_of_overflowing() {
        let high = Surface { base: u64::MAX, line_stride: u32::MAX, ..STRIDED };
        assert_eq!(high.address(0, 0, u32::MAX), u64::from(u32::MAX).wrapping_mul(u64::from(u32::MAX)) - 1);
    }

    #[test]
    fn partial_channel_groups_take_a_whole_surface() {
        assert_eq!([1, 8, 9, 33].map(|channels| surfaces(channels, 8)), [1, 1, 2, 5]);
    }

    #[test]
    fn atoms_are_dense_in_stream_order() {
        let mut cube = Cube::new(3, 2, 2, 8);
        for (index, (surface, x, y)) in cube.coordinates().enumerate() {
            cube.atom_mut(surface, x, y).fill(index as u8);
        }
        assert!(cube.as_bytes().chunks(8).enumerate().all(|(index, atom)| atom == [index as u8; 8]));
        assert_eq!(cube.atoms(1, 1, 0, 2), [&[7; 8][..], &[8; 8]].concat());
        assert!(cube.atoms(1, 3, 0, 0).is_empty());
    }
}
