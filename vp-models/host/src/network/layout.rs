//! Layouts of tensors in NVDLA's memory: feature cubes, weights and per-channel operands.
//!
//! On the host's side tensors are plain: features `[line][column][channel]`, weights
//! `[kernel][row][column][channel]`. Their elements are held as bytes, as files have them: of int16 and fp16 two, little endian.

use super::description::Shape;
use crate::Memory;
use std::ops::Range;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::cube::{Packing, Ram, Surface};
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::registers::cdma::D_WEIGHT_BYTES::WEIGHT_BYTES;
use zerocopy::IntoBytes as _;

/// Alignment of everything that is placed: no family of addresses keeps fewer bits.
pub(super) const ALIGNMENT: u64 = 256;

/// Start of something in a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryAddress {
    /// Memory in which it is.
    pub memory: Memory,
    /// Address of its first byte.
    pub address: u64,
}

impl MemoryAddress {
    /// In the primary memory.
    pub const fn primary(address: u64) -> MemoryAddress {
        MemoryAddress { memory: Memory::Primary, address }
    }

    /// Returns the place so many bytes further on.
    #[must_use]
    pub const fn plus(self, bytes: u64) -> MemoryAddress {
        MemoryAddress { address: self.address + bytes, ..self }
    }
}

/// The interface by which the engines reach a memory: `RAM_TYPE` of their registers.
pub(super) fn ram(memory: Memory) -> Ram {
    match memory {
        Memory::Primary => Ram::Primary,
        Memory::Secondary => Ram::Secondary,
    }
}

/// A run of channels, and where they lie among those of a cube in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Channels.
    pub channels: u32,
    /// The place of the first.
    pub at: u32,
}

/// Channels of a cube in memory that are a tensor's. Of what is concatenated each part begins with an atom, so that there
/// may be places between that nobody fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channels(Vec<Run>);

impl Channels {
    /// One behind the other.
    pub fn plain(channels: u32) -> Channels {
        Channels(vec![Run { channels, at: 0 }])
    }

    /// Parts one behind the other, each from an atom on.
    pub fn joined<'a>(parts: impl IntoIterator<Item = &'a Channels>, atom: u32) -> Channels {
        let (mut runs, mut end): (Vec<Run>, u32) = (Vec::new(), 0);
        for part in parts {
            let start = end.next_multiple_of(atom);
            for run in &part.0 {
                let at = start + run.at;
                end = at + run.channels;
                match runs.last_mut() {
                    Some(last) if last.at + last.channels == at => last.channels += run.channels,
                    _ => runs.push(Run { at, ..*run }),
                }
            }
        }
        Channels(runs)
    }

    /// The runs, in order.
    pub fn runs(&self) -> &[Run] {
        &self.0
    }

    /// Returns the runs of some of the channels, in order.
    pub fn runs_of(&self, channels: Range<u32>) -> impl Iterator<Item = Run> + '_ {
        let numbered = self.0.iter().scan(0, |end, run| {
            *end += run.channels;
            Some((*end - run.channels, run))
        });
        numbered.filter_map(move |(first, run)| {
            let (start, end) = (channels.start.max(first), channels.end.min(first + run.channels));
            (start < end).then(|| Run { channels: end - start, at: run.at + (start - first) })
        })
    }

    /// Channels in memory, those that nobody fills included.
    pub fn places(&self) -> u32 {
        self.0.last().map_or(0, |last| last.at + last.channels)
    }

    /// Returns true if there are no places between that nobody fills.
    pub fn is_plain(&self) -> bool {
        self.0.len() == 1
    }

    /// Some of the channels as those of a cube of their own, and the surface that it begins with; none where they begin within an
    /// atom, or others lie in their last one.
    pub(super) fn apart(&self, channels: Range<u32>, atom: u32) -> Option<(u32, Channels)> {
        let runs: Vec<Run> = self.runs_of(channels.clone()).collect();
        let (first, last) = (runs.first()?.at, runs.last().map(|last| last.at + last.channels)?);
        let next = self.runs_of(channels.end..channels.end + 1).next();
        let ends = next.is_none_or(|next| next.at >= last.next_multiple_of(atom));
        let own = runs.into_iter().map(|run| Run { at: run.at - first, ..run }).collect();
        (first.is_multiple_of(atom) && ends).then_some((first / atom, Channels(own)))
    }

    /// The place of each channel.
    pub fn each(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        self.0.iter().flat_map(|run| run.at..run.at + run.channels)
    }
}

/// Form of a tensor in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// As features: channels lie in surfaces of one memory atom each; atom (x, y) of a surface holds that many channels
    /// of a pixel (hardware manual, "Feature data format").
    Features {
        /// Bytes of an atom.
        atom: u32,
        /// Channels of the cube that are the tensor's.
        channels: Channels,
        /// Columns and lines that a surface has room for: at least the tensor's. Where there are more, hardware may write beside the
        /// tensor, and nobody reads that as an element.
        room: [u32; 2],
    },
    /// As an image: pixels of four components, or of one, a line after the other.
    Pixels {
        /// Bytes of a pixel.
        bytes: u32,
        /// Bytes from a line to the next.
        line_stride: u32,
    },
}

/// A tensor in memory. On the host's side it is `[line][column][channel]`, the bytes of each element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Start of the tensor.
    pub place: MemoryAddress,
    /// Size of the tensor.
    pub shape: Shape,
    /// The format of its elements.
    pub precision: Precision,
    /// Form in memory.
    pub form: Form,
}

impl Tensor {
    /// Features with channels one behind the other.
    pub(super) fn features(
        shape: Shape,
        channels: Channels,
        precision: Precision,
        config: &Config,
    ) -> Tensor {
        let form = Form::Features { atom: config.memory_atom, channels, room: [shape.width, shape.height] };
        Tensor { place: MemoryAddress::primary(0), shape, precision, form }
    }

    /// An image.
    pub(super) fn image(shape: Shape, precision: Precision) -> Tensor {
        let bytes = if shape.channels == 1 { 1 } else { 4 } * precision.bytes() as u32;
        // Lines begin with an atom, whatever its size.
        let line_stride = (shape.width * bytes).next_multiple_of(64);
        Tensor {
            place: MemoryAddress::primary(0),
            shape,
            precision,
            form: Form::Pixels { bytes, line_stride },
        }
    }

    /// The cube that it lies in, of features.
    pub(super) fn cube(&self) -> Cube {
        let Form::Features { atom, channels, room } = &self.form else {
            unreachable!("only convolutions read images, and they know")
        };
        let shape = Shape { channels: channels.places(), ..self.shape };
        let lanes = *atom / self.precision.bytes() as u32;
        Cube { place: self.place, shape, room: *room, atom: *atom, lanes }
    }

    /// The channels of the cube that are the tensor's.
    pub(super) fn channels(&self) -> Channels {
        match &self.form {
            Form::Features { channels, .. } => channels.clone(),
            Form::Pixels { .. } => Channels::plain(self.shape.channels),
        }
    }

    /// Columns and lines that a surface has room for.
    pub(super) fn room(&self) -> [u32; 2] {
        match &self.form {
            Form::Features { room, .. } => *room,
            Form::Pixels { .. } => [self.shape.width, self.shape.height],
        }
    }

    /// Gives the surfaces of features room for so many columns and lines, if they have less.
    pub(super) fn make_room(&mut self, size: [u32; 2]) {
        if let Form::Features { room, .. } = &mut self.form {
            *room = [room[0].max(size[0]), room[1].max(size[1])];
        }
    }

    /// Bytes of its elements on the host's side.
    pub fn host_bytes(&self) -> usize {
        self.shape.elements() * self.precision.bytes()
    }

    /// Bytes of memory, room beside the tensor included.
    pub fn bytes(&self) -> u64 {
        match &self.form {
            Form::Features { .. } => self.cube().bytes(),
            Form::Pixels { line_stride, .. } => u64::from(*line_stride) * u64::from(self.shape.height),
        }
    }

    /// Returns the bytes from the first of its elements to the end of the atom of the last.
    pub(super) fn extent(&self) -> u64 {
        match &self.form {
            Form::Features { atom, .. } => {
                let (cube, Shape { width, height, .. }) = (self.cube(), self.shape);
                u64::from(cube.surfaces() - 1) * u64::from(cube.surface_stride())
                    + u64::from(height - 1) * u64::from(cube.line_stride())
                    + u64::from(width * atom)
            }
            Form::Pixels { .. } => self.bytes(),
        }
    }

    /// Returns the bytes of memory without room beside the tensor: what hardware moves that reads or writes the tensor alone.
    pub(super) fn bytes_moved(&self) -> u64 {
        match &self.form {
            Form::Features { .. } => {
                let Cube { shape, .. } = self.cube();
                Cube { room: [shape.width, shape.height], ..self.cube() }.bytes()
            }
            Form::Pixels { .. } => self.bytes(),
        }
    }

    /// Returns the place of each element, in bytes from the base.
    fn offsets(&self) -> Vec<usize> {
        let Shape { width, height, channels } = self.shape;
        let (surface, places): (Surface, Vec<u32>) = match &self.form {
            Form::Features { atom, channels, .. } => {
                let cube = self.cube();
                let surface = Surface::within(cube.line_stride(), cube.surface_stride(), *atom);
                (surface, channels.each().collect())
            }
            Form::Pixels { bytes, line_stride } => {
                (Surface::within(*line_stride, 0, *bytes), (0..channels).collect())
            }
        };
        let element = self.precision.bytes() as u32;
        let mut offsets = Vec::with_capacity(self.shape.elements());
        for y in 0..height {
            for x in 0..width {
                offsets
                    .extend(places.iter().map(|&channel| surface.element([x, y, channel], element) as usize));
            }
        }
        offsets
    }

    /// The bytes of a tensor `[line][column][channel]`; what is beside it is zero.
    pub fn pack(&self, elements: &[i8]) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes() as usize];
        self.pack_onto(elements, &mut bytes);
        bytes
    }

    /// Writes a tensor as [`pack`](Self::pack) does, but leaves what is beside it.
    pub(super) fn pack_onto(&self, elements: &[i8], bytes: &mut [u8]) {
        for (offset, element) in self.offsets().into_iter().zip(elements.chunks(self.precision.bytes())) {
            bytes[offset..].iter_mut().zip(element).for_each(|(place, byte)| *place = *byte as u8);
        }
    }

    /// The tensor `[line][column][channel]` that lies in these bytes.
    pub fn unpack(&self, bytes: &[u8]) -> Vec<i8> {
        let element = |offset: usize| &bytes[offset..offset + self.precision.bytes()];
        self.offsets().into_iter().flat_map(element).map(|byte| *byte as i8).collect()
    }
}

/// A feature cube in memory, as the units see it. Its lines and surfaces are back to back, unless they have more room than it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cube {
    /// Start of the cube.
    pub(super) place: MemoryAddress,
    pub(super) shape: Shape,
    /// Columns and lines that a surface has room for.
    pub(super) room: [u32; 2],
    pub(super) atom: u32,
    /// Elements of an atom.
    pub(super) lanes: u32,
}

impl Cube {
    /// Bytes from a line to the next.
    pub(super) fn line_stride(&self) -> u32 {
        self.room[0] * self.atom
    }

    /// Bytes from a surface to the next.
    pub(super) fn surface_stride(&self) -> u32 {
        self.room[1] * self.line_stride()
    }

    /// Returns the part of the cube from a line on.
    pub(super) fn at_line(&self, y: u32) -> CubePlace {
        self.at([0, y])
    }

    /// Returns the part of the cube from a column and a line on.
    pub(super) fn at(&self, [x, y]: [u32; 2]) -> CubePlace {
        let pixels = u64::from(y) * u64::from(self.room[0]) + u64::from(x);
        CubePlace {
            place: self.place.plus(pixels * u64::from(self.atom)),
            line_stride: self.line_stride(),
            surface_stride: self.surface_stride(),
        }
    }

    /// Returns the part of so many channels from one on that begins an atom.
    pub(super) fn channels(&self, from: u32, channels: u32) -> Cube {
        let place = self.place.plus(u64::from(from / self.lanes) * u64::from(self.surface_stride()));
        Cube { place, shape: Shape { channels, ..self.shape }, ..*self }
    }

    pub(super) fn surfaces(&self) -> u32 {
        self.shape.channels.div_ceil(self.lanes)
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.surfaces()) * u64::from(self.surface_stride())
    }
}

/// Place at which a hardware layer finds a cube, or puts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CubePlace {
    /// Start of the cube.
    pub(super) place: MemoryAddress,
    /// Bytes from a line to the next.
    pub(super) line_stride: u32,
    /// Bytes from a surface to the next.
    pub(super) surface_stride: u32,
}

impl CubePlace {
    /// As the engines know it.
    pub(super) fn surface(self, atom: u32) -> Surface {
        let CubePlace { place: MemoryAddress { memory, address: base }, line_stride, surface_stride } = self;
        let (ram, packing) = (ram(memory), Packing::Strided);
        Surface { ram, base, line_stride, surface_stride, pixel: atom, atom, packing }
    }
}

/// Weights `[kernel][row][column][channel]` of some kernels, as a hardware layer takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WeightShape {
    pub(super) kernels: u32,
    pub(super) rows: u32,
    /// One where an image's are merged into the channels.
    pub(super) columns: u32,
    pub(super) channels: u32,
    /// Rows that post-extension of an image handles at once: 1, 2 or 4.
    pub(super) rows_at_once: u32,
    pub(super) precision: Precision,
}

impl WeightShape {
    /// Bytes of a kernel.
    pub(super) fn kernel_bytes(&self) -> u32 {
        self.rows * self.columns * self.channels * self.precision.bytes() as u32
    }

    /// Bytes of all.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.kernels) * u64::from(self.kernel_bytes())
    }

    /// Bytes that they take in memory, and that CDMA is told to read: whole entries of the convolution buffer. CSC
    /// gives back the entries that it has read (RTL, `NV_NVDLA_CSC_wl.v`, `wt_rls_cnt`); what CDMA stored beyond them
    /// would stay in the buffer, in front of the next layer's weights.
    pub(super) fn bytes_read(&self, config: &Config) -> u64 {
        // On nv_full's map the register counts 128 bytes, its entry; a configuration with smaller ones cannot say less.
        let least = 1 << WEIGHT_BYTES.bits(config.family()).lsb;
        self.bytes().next_multiple_of(config.cbuf_entry_bytes().max(least).into())
    }

    /// Channels that a cell multiplies at once.
    fn block(&self, config: &Config) -> u32 {
        config.mac_atomic_c / self.rows_at_once
    }

    /// Steps that a kernel takes at each position.
    pub(super) fn steps(&self, config: &Config) -> u64 {
        let blocks = self.channels.div_ceil(self.block(config));
        u64::from(blocks) * u64::from(self.rows.div_ceil(self.rows_at_once)) * u64::from(self.columns)
    }

    /// In the order in which the sequence controller takes them: kernels in groups of as many as there are MAC cells; in a
    /// group channels in blocks of as many as a cell multiplies at once; in a block rows, columns, kernels, channels
    /// (hardware manual, "Weight format for direct convolution"). Rows that are handled at once share a block.
    pub(super) fn pack(&self, weights: &[i8], config: &Config) -> Vec<u8> {
        let WeightShape { kernels, rows, columns, channels, rows_at_once, precision } = *self;
        let element = precision.bytes();
        let [kernels, rows, columns, channels] = [kernels, rows, columns, channels].map(|size| size as usize);
        let (group, block) = (config.kernels_at_once(precision) as usize, self.block(config) as usize);
        let at_once = rows_at_once as usize;
        let size = self.bytes_read(config) as usize;
        let mut bytes = Vec::with_capacity(size);
        for first_kernel in (0..kernels).step_by(group) {
            for first_channel in (0..channels).step_by(block) {
                let taken = first_channel..channels.min(first_channel + block);
                for first_row in (0..rows).step_by(at_once) {
                    for column in 0..columns {
                        for kernel in first_kernel..kernels.min(first_kernel + group) {
                            for row in first_row..rows.min(first_row + at_once) {
                                let at = ((kernel * rows + row) * columns + column) * channels;
                                let run = &weights[(at + taken.start) * element..(at + taken.end) * element];
                                bytes.extend_from_slice(run.as_bytes());
                            }
                        }
                    }
                }
            }
        }
        bytes.resize(size, 0);
        bytes
    }
}

/// 16-bit operands of SDP, as many for each channel, an atom's channels to a surface, surfaces back to back.
pub(super) fn pack_operands(channels: &[Vec<i16>], lanes: u32) -> Vec<u8> {
    let mut bytes: Vec<u8> = channels.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let each = channels.first().map_or(0, Vec::len);
    bytes.resize(channels.len().next_multiple_of(lanes as usize) * each * 2, 0);
    bytes
}

/// Entries of the convolution buffer that a line of an image takes, its padding included.
pub(super) fn entries_of_pixels(bytes: u32, config: &Config) -> u32 {
    bytes.div_ceil(config.cbuf_entry_bytes())
}

/// Entries of the convolution buffer that a line of features takes (architecture text, "Convolution buffer").
pub(super) fn entries_per_line(shape: Shape, precision: Precision, config: &Config) -> u32 {
    let atoms = shape.channels.div_ceil(config.lanes(precision));
    entries_of_atoms(atoms, shape.width, config.cbuf_entry_bytes() / config.memory_atom)
}

/// Entries that a line takes of so many atoms a column, where an entry holds `held` atoms.
pub(crate) fn entries_of_atoms(atoms: u32, width: u32, held: u32) -> u32 {
    let held = held.max(1);
    let rest = match atoms % held {
        // Three atoms of four take as much room as four.
        3 => width,
        rest => (rest * width).div_ceil(held),
    };
    atoms / held * width + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ONE: WeightShape = WeightShape {
        kernels: 1,
        rows: 1,
        columns: 1,
        channels: 1,
        rows_at_once: 1,
        precision: Precision::Int8,
    };

    /// Of int16 a group has half as many kernels, and a block as many channels.
    #[test]
    fn elements_of_two_bytes_stay_together() {
        let weights: Vec<i8> = (0..2 * 17).collect();
        let bytes = WeightShape { kernels: 17, precision: Precision::Int16, ..ONE }
            .pack(&weights, &config("nv_full"));
        assert_eq!((bytes[..34].to_vec(), bytes.len()), ((0..34).collect(), 128));
        let shape = Shape { width: 2, height: 1, channels: 3 };
        let form = Form::Features { atom: 4, channels: Channels::plain(3), room: [2, 1] };
        let tensor = Tensor { place: MemoryAddress::primary(0), shape, precision: Precision::Int16, form };
        let bytes = tensor.pack(&[1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6]);
        let expected: [i8; 16] = [1, -1, 2, -2, 4, -4, 5, -5, 3, -3, 0, 0, 6, -6, 0, 0];
        assert_eq!(bytes, expected.map(|byte| byte as u8));
    }

    fn config(name: &str) -> Config {
        Config::named(name).unwrap()
    }

    #[test]
    fn channels_lie_in_atoms_and_atoms_in_surfaces() {
        let shape = Shape { width: 2, height: 1, channels: 3 };
        let precision = Precision::Int8;
        let form = |channels| Form::Features { atom: 2, channels, room: [2, 1] };
        let tensor =
            |channels| Tensor { place: MemoryAddress::primary(0), shape, precision, form: form(channels) };
        let bytes = tensor(Channels::plain(3)).pack(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(bytes, [1, 2, 4, 5, 3, 0, 6, 0]);
        // One channel, and two that begin with the next atom.
        let channels = Channels::joined([&Channels::plain(1), &Channels::plain(2)], 2);
        assert_eq!(channels.places(), 4);
        let bytes = tensor(channels).pack(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(bytes, [1, 0, 4, 0, 2, 3, 5, 6]);
    }

    #[test]
    fn runs_of_some_channels_are_where_each_of_them_is() {
        let channels = Channels::joined([3, 1, 9, 2].map(Channels::plain).iter(), 4);
        let each: Vec<u32> = channels.each().collect();
        for start in 0..15 {
            for end in start..15 {
                let runs = channels.runs_of(start..end).flat_map(|run| run.at..run.at + run.channels);
                assert!(runs.eq(each[start as usize..end as usize].iter().copied()), "{start} to {end}");
            }
        }
    }

    #[test]
    fn channels_that_begin_and_end_with_atoms_can_be_a_cube_of_their_own() {
        let channels = Channels::joined([5, 8, 3].map(Channels::plain).iter(), 4);
        let apart =
            |range: Range<u32>| channels.apart(range, 4).map(|(surface, own)| (surface, own.places()));
        // Five are alone in two atoms; of the eight behind them four are one atom.
        assert_eq!(apart(0..5), Some((0, 5)));
        assert_eq!(apart(0..4), Some((0, 4)));
        assert_eq!(apart(0..9), Some((0, 12)));
        assert_eq!(apart(9..13), Some((3, 4)));
        assert_eq!(apart(13..16), Some((4, 3)));
        assert_eq!((apart(0..3), apart(1..5), apart(9..12), apart(4..5)), (None, None, None, Some((1, 1))));
    }

    #[test]
    fn lines_and_surfaces_are_as_far_apart_as_they_have_room() {
        let shape = Shape { width: 2, height: 1, channels: 3 };
        let form = Form::Features { atom: 2, channels: Channels::plain(3), room: [2, 1] };
        let mut tensor = Tensor { place: MemoryAddress::primary(0), shape, precision: Precision::Int8, form };
        tensor.make_room([3, 2]);
        let bytes = tensor.pack(&[1, 2, 3, 4, 5, 6]);
        let none = [0; 8];
        assert_eq!(bytes, [&[1, 2, 4, 5][..], &none, &[3, 0, 6, 0], &none].concat());
        assert_eq!((tensor.bytes(), tensor.bytes_moved()), (24, 8));
        // What has more keeps it.
        tensor.make_room([1, 4]);
        assert_eq!((tensor.cube().line_stride(), tensor.cube().surface_stride()), (6, 24));
    }

    #[test]
    fn kernels_come_in_groups_and_channels_in_blocks() {
        // Nine kernels of ten channels: a group of eight and one of one, a block of eight and one of two.
        let weights: Vec<i8> = (0..90).collect();
        let shape = WeightShape { kernels: 9, channels: 10, ..ONE };
        let bytes = shape.pack(&weights, &config("nv_small"));
        assert_eq!(bytes[..9], [0, 1, 2, 3, 4, 5, 6, 7, 10]);
        assert_eq!(bytes[64..68], [8, 9, 18, 19]);
        assert_eq!(bytes[80..90], [80, 81, 82, 83, 84, 85, 86, 87, 88, 89]);
        assert_eq!(bytes.len(), 96);
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(
            width in 1u32..5,
            height in 1u32..5,
            channels in 1u32..20,
            lanes in 1u32..9,
            wide: bool,
            beside in prop::array::uniform2(0u32..4),
        ) {
            let precision = if wide { Precision::Fp16 } else { Precision::Int8 };
            let atom = lanes * precision.bytes() as u32;
            let channels = Channels::joined([&Channels::plain(channels), &Channels::plain(channels)], lanes);
            let shape = Shape { width, height, channels: channels.each().count() as u32 };
            let (place, room) = (MemoryAddress::primary(0), [width + beside[0], height + beside[1]]);
            let features = Tensor { place, shape, precision, form: Form::Features { atom, channels, room } };
            let image = Tensor::image(Shape { channels: 3, ..shape }, precision);
            for tensor in [features, image] {
                let elements: Vec<i8> = (0..tensor.host_bytes()).map(|at| (at * 7) as i8).collect();
                prop_assert_eq!(tensor.unpack(&tensor.pack(&elements)), elements);
            }
        }
    }
}
