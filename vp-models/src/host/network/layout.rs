//! How tensors lie in NVDLA's memory: feature cubes, weights and per-channel operands of int8 layers.
//!
//! On the host's side tensors are plain: features `[line][column][channel]`, weights
//! `[kernel][row][column][channel]`.

use super::description::Shape;
use crate::nvdla::config::Config;

/// Alignment of everything that is placed: no family of addresses keeps fewer bits.
pub(super) const ALIGNMENT: u64 = 256;

/// A feature cube in memory, its lines and surfaces back to back.
///
/// Channels lie in surfaces of one memory atom each; atom (x, y) of a surface holds that many channels of a pixel
/// (hardware manual, "Feature data format").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surface {
    /// Address of its first byte.
    pub base: u64,
    /// Its size.
    pub shape: Shape,
    /// Bytes of an atom, which are its channels.
    pub atom: u32,
}

impl Surface {
    /// Bytes from a line to the next.
    pub fn line_stride(&self) -> u32 {
        self.shape.width * self.atom
    }

    /// Bytes from a surface to the next.
    pub fn surface_stride(&self) -> u32 {
        self.shape.height * self.line_stride()
    }

    /// Its part from a line on.
    pub(super) fn at_line(&self, y: u32) -> Place {
        Place {
            base: self.base + u64::from(y) * u64::from(self.line_stride()),
            line_stride: self.line_stride(),
            surface_stride: self.surface_stride(),
        }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        u64::from(self.shape.channels.div_ceil(self.atom)) * u64::from(self.surface_stride())
    }

    /// Where an element lies, in bytes from the base.
    fn offset(&self, y: usize, x: usize, channel: usize) -> usize {
        let atom = self.atom as usize;
        channel / atom * self.surface_stride() as usize
            + y * self.line_stride() as usize
            + x * atom
            + channel % atom
    }

    fn offsets(&self) -> impl Iterator<Item = usize> + '_ {
        let [height, width, channels] =
            [self.shape.height, self.shape.width, self.shape.channels].map(|size| size as usize);
        (0..height).flat_map(move |y| {
            (0..width).flat_map(move |x| (0..channels).map(move |channel| self.offset(y, x, channel)))
        })
    }

    /// The bytes of a tensor `[line][column][channel]`; channels that fill the last atom are zero.
    pub fn pack(&self, elements: &[i8]) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes() as usize];
        for (offset, element) in self.offsets().zip(elements) {
            bytes[offset] = *element as u8;
        }
        bytes
    }

    /// The tensor `[line][column][channel]` that lies in these bytes.
    pub fn unpack(&self, bytes: &[u8]) -> Vec<i8> {
        self.offsets().map(|offset| bytes[offset] as i8).collect()
    }
}

/// Where a hardware layer finds a cube, or puts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Address of its first byte.
    pub(super) base: u64,
    /// Bytes from a line to the next.
    pub(super) line_stride: u32,
    /// Bytes from a surface to the next.
    pub(super) surface_stride: u32,
}

/// Bytes that weights take and that CDMA is told to read: it reads 128 at a time.
pub(super) fn weight_bytes(count: usize) -> usize {
    count.next_multiple_of(128)
}

/// Weights in the order in which the sequence controller takes them: kernels in groups of as many as there are MAC
/// cells; in a group channels in blocks of as many as a cell multiplies at once; in a block rows, columns, kernels,
/// channels (hardware manual, "Weight format for direct convolution").
pub(super) fn pack_weights(
    weights: &[i8],
    kernels: u32,
    [columns, rows]: [u32; 2],
    channels: u32,
    config: &Config,
) -> Vec<u8> {
    let [kernels, columns, rows, channels] = [kernels, columns, rows, channels].map(|size| size as usize);
    let (group, block) = (config.mac_atomic_k as usize, config.mac_atomic_c as usize);
    let mut bytes = Vec::with_capacity(weight_bytes(weights.len()));
    for first_kernel in (0..kernels).step_by(group) {
        for first_channel in (0..channels).step_by(block) {
            for row in 0..rows {
                for column in 0..columns {
                    for kernel in first_kernel..kernels.min(first_kernel + group) {
                        let at = ((kernel * rows + row) * columns + column) * channels;
                        let taken = first_channel..channels.min(first_channel + block);
                        bytes.extend(taken.map(|channel| weights[at + channel] as u8));
                    }
                }
            }
        }
    }
    bytes.resize(weight_bytes(bytes.len()), 0);
    bytes
}

/// 16-bit operands of SDP, one a channel, an atom's channels to a surface, surfaces back to back.
pub(super) fn pack_operands(values: &[i16], config: &Config) -> Vec<u8> {
    let mut bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    bytes.resize(values.len().next_multiple_of(config.memory_atom as usize) * 2, 0);
    bytes
}

/// Entries of the convolution buffer that a line of features takes (architecture text, "Convolution buffer").
pub(super) fn entries_per_line(shape: Shape, config: &Config) -> u32 {
    let held = (config.cbuf_entry_bytes() / config.memory_atom).max(1);
    let atoms = shape.channels.div_ceil(config.memory_atom);
    let rest = match atoms % held {
        // Three atoms of four take as much room as four.
        3 => shape.width,
        rest => (rest * shape.width).div_ceil(held),
    };
    atoms / held * shape.width + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn config(name: &str) -> Config {
        Config::named(name).unwrap()
    }

    #[test]
    fn channels_lie_in_atoms_and_atoms_in_surfaces() {
        let shape = Shape { width: 2, height: 1, channels: 3 };
        let surface = Surface { base: 0, shape, atom: 2 };
        let bytes = surface.pack(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(bytes, [1, 2, 4, 5, 3, 0, 6, 0]);
    }

    #[test]
    fn kernels_come_in_groups_and_channels_in_blocks() {
        // Nine kernels of ten channels: a group of eight and one of one, a block of eight and one of two.
        let weights: Vec<i8> = (0..90).collect();
        let bytes = pack_weights(&weights, 9, [1, 1], 10, &config("nv_small"));
        assert_eq!(bytes[..9], [0, 1, 2, 3, 4, 5, 6, 7, 10]);
        assert_eq!(bytes[64..68], [8, 9, 18, 19]);
        assert_eq!(bytes[80..90], [80, 81, 82, 83, 84, 85, 86, 87, 88, 89]);
        assert_eq!(bytes.len(), 128);
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(width in 1u32..5, height in 1u32..5, channels in 1u32..20, atom in 1u32..9) {
            let surface = Surface { base: 0, shape: Shape { width, height, channels }, atom };
            let elements: Vec<i8> = (0..surface.shape.elements()).map(|at| (at * 7) as i8).collect();
            prop_assert_eq!(surface.unpack(&surface.pack(&elements)), elements);
        }
    }
}
