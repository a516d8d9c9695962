//! Memory that each operation reads and writes: cubes of features, whose place depends on the atom, and the rest, whose place does not.

use super::super::layout;
use super::super::network::{Copy, Cube, Operation, OperationWork, TensorPlace, cube};
use super::super::shape::{Access, CubeFault, Direction, Shape};
use super::super::{AddressEntry, Loadable, LoadableError};
use vp_models::nvdla::conv::cdma::pixel::Format;
use vp_models::nvdla::numeric::Precision;

/// Code of features in a convolution's descriptor, where there are formats of pixels beside it.
pub(super) const FEATURES: u8 = 36;

/// Bytes of BDMA's unit of length, and of RUBIK's atom: both exist where atoms have 32.
const ATOM: u64 = 32;

/// Cube of features in memory, or of operands that there are for each of its elements.
#[derive(Clone, Debug)]
pub(super) struct Features {
    /// Number of the operation, of all in the loadable.
    pub(super) operation: usize,
    /// Operation and cube.
    pub(super) place: String,
    pub(super) cube: Cube,
    pub(super) entry: AddressEntry,
    /// Bytes from its first one to the end of its memory.
    pub(super) room: u64,
    pub(super) direction: Direction,
    /// Bytes of an element, by which the unit counts the channels of an atom.
    pub(super) lane: u32,
    /// Bytes that there are for each element: more where a stage takes two operands of two bytes.
    pub(super) element: u32,
    /// One pixel of SDP: its surfaces lie back to back, whatever the strides are (RTL, `NV_NVDLA_SDP_WDMA_cmd.v`, `cfg_mode_1x1_pack`).
    pub(super) is_packed: bool,
    /// Number of cubes of a batch, and bytes from each to the next.
    pub(super) batch: (u32, u32),
}

impl Features {
    /// Returns the cube's place if atoms have so many bytes.
    pub(super) fn shape(&self, atom: u32) -> Shape {
        let Cube { width, height, channels, line_stride, surface_stride, .. } = self.cube;
        let lanes = (atom / self.lane).max(1);
        let surfaces = channels.div_ceil(lanes).max(1);
        let pixel = u64::from(lanes) * u64::from(self.element);
        let last = u64::from(channels - (surfaces - 1) * lanes) * u64::from(self.element);
        let (counts, strides) = if self.is_packed {
            ([surfaces, 1, 1], [0, 0])
        } else {
            ([width, height, surfaces], [line_stride, surface_stride])
        };
        Shape {
            pixel,
            // Writes are of whole atoms.
            last_pixel: if self.direction == Direction::Write { pixel } else { last },
            counts: counts.map(u64::from),
            strides: strides.map(u64::from),
            atom: atom.into(),
        }
    }

    /// First reason for which the cube cannot be if atoms have so many bytes.
    pub(super) fn fault(&self, atom: u32) -> Option<CubeFault> {
        let shape = self.shape(atom);
        // What its size says counts for nothing: units are not told it, and compilers leave it at 0 (ONNC, `Sum`), or at that of a part.
        shape.fault(self.entry.offset, self.room).or_else(|| self.batch_fault(&shape))
    }

    fn batch_fault(&self, shape: &Shape) -> Option<CubeFault> {
        let needs = self.extent(shape);
        (needs > self.room).then_some(CubeFault::Outside { needs, room: self.room })
    }

    fn extent(&self, shape: &Shape) -> u64 {
        let (cubes, stride) = self.batch;
        u64::from(cubes.saturating_sub(1)) * u64::from(stride) + shape.extent()
    }

    /// Returns the memory that is read or written if atoms have so many bytes.
    pub(super) fn access(&self, atom: u32) -> Access {
        let shape = self.shape(atom);
        Access {
            operation: self.operation,
            place: self.place.clone(),
            direction: self.direction,
            entry: self.entry,
            extent: self.extent(&shape),
            pixels: shape.pixels().saturating_mul(self.batch.0.max(1).into()),
        }
    }
}

/// Accesses of an operation.
#[derive(Debug, Default)]
pub(super) struct Accesses {
    pub(super) features: Vec<Features>,
    /// Accesses whose place is the same with any atom.
    pub(super) others: Vec<Access>,
}

impl Accesses {
    /// Returns those of an operation, of this number and place.
    ///
    /// # Errors
    /// If one of [`others`](Self::others) cannot be where it is, or a cube that has to be in memory is in none.
    pub(super) fn of(
        loadable: &Loadable,
        (number, place): (usize, &str),
        operation: &Operation,
    ) -> Result<Accesses, LoadableError> {
        let mut reader = Reader { loadable, number, place, found: Accesses::default() };
        match &operation.what {
            OperationWork::Bdma(copies) => copies.iter().try_for_each(|copy| reader.copy(copy))?,
            OperationWork::Convolution { descriptor, cubes, offset_u, uv_line_stride } => {
                reader.convolution(descriptor, cubes, (*offset_u, *uv_line_stride))?;
            }
            OperationWork::Sdp { descriptor, cubes, .. } => reader.sdp(descriptor, cubes)?,
            OperationWork::Pdp { descriptor, cubes: [source, destination] } => {
                if source.place != TensorPlace::OnTheFly {
                    reader.features(("source", source), Direction::Read, descriptor.precision)?;
                }
                reader.features(("destination", destination), Direction::Write, descriptor.precision)?;
            }
            OperationWork::Cdp { descriptor, cubes: [source, destination], .. } => {
                reader.features(("source", source), Direction::Read, descriptor.in_precision)?;
                let written = destination.of_extents(source);
                reader.features(("destination", &written), Direction::Write, descriptor.in_precision)?;
            }
            OperationWork::Rubik { descriptor, cubes } => reader.rubik(descriptor, cubes)?,
        }
        Ok(reader.found)
    }
}

/// Cubes of one operation, as they are looked at.
struct Reader<'a> {
    loadable: &'a Loadable,
    number: usize,
    place: &'a str,
    found: Accesses,
}

type Named<'a> = (&'static str, &'a Cube);

impl Reader<'_> {
    fn place_of(&self, name: &str) -> String {
        format!("{}, {name}", self.place)
    }

    fn refused(&self, name: &str, fault: CubeFault) -> LoadableError {
        LoadableError::Cube { place: self.place_of(name), fault }
    }

    fn memory(&self, (name, cube): Named<'_>) -> Result<AddressEntry, LoadableError> {
        match cube.place {
            TensorPlace::Memory(entry) => Ok(entry),
            TensorPlace::OnTheFly | TensorPlace::None => Err(self.refused(name, CubeFault::Nowhere)),
        }
    }

    /// Adds a cube of features; one whose format no hardware has is left to the decoders.
    fn features(
        &mut self,
        named: Named<'_>,
        direction: Direction,
        precision: u8,
    ) -> Result<Option<&mut Features>, LoadableError> {
        let entry = self.memory(named)?;
        let Some(format) = Precision::of_code(precision.into()) else { return Ok(None) };
        let lane = format.bytes() as u32;
        self.found.features.push(Features {
            operation: self.number,
            place: self.place_of(named.0),
            cube: *named.1,
            entry,
            room: self.loadable.room(entry),
            direction,
            lane,
            element: lane,
            is_packed: false,
            batch: (1, 0),
        });
        Ok(self.found.features.last_mut())
    }

    /// Adds what lies as it is said, with any atom.
    fn fixed(
        &mut self,
        (name, entry): (&str, AddressEntry),
        direction: Direction,
        shape: &Shape,
    ) -> Result<(), LoadableError> {
        match shape.fault(entry.offset, self.loadable.room(entry)) {
            Some(fault) => Err(self.refused(name, fault)),
            None => {
                let (extent, pixels) = (shape.extent(), shape.pixels());
                let place = self.place_of(name);
                let operation = self.number;
                self.found.others.push(Access { operation, place, direction, entry, extent, pixels });
                Ok(())
            }
        }
    }

    /// Adds bytes that lie back to back.
    fn bytes(&mut self, named: Named<'_>, needs: u64) -> Result<(), LoadableError> {
        let entry = self.memory(named)?;
        if needs > 0 {
            self.fixed((named.0, entry), Direction::Read, &row(needs))?;
        }
        Ok(())
    }

    fn convolution(
        &mut self,
        descriptor: &layout::Convolution,
        cubes: &[Cube; 5],
        planes: (i64, u32),
    ) -> Result<(), LoadableError> {
        let source = ("source", &cubes[cube::CONV_SOURCE]);
        if descriptor.data_reuse != 0 && !matches!(source.1.place, TensorPlace::Memory(_)) {
            // The convolution buffer has it.
        } else if descriptor.data_format == FEATURES {
            let batch = (u32::from(descriptor.batch.max(1)), descriptor.batch_stride.get());
            if let Some(features) = self.features(source, Direction::Read, descriptor.in_precision)? {
                features.batch = batch;
            }
        } else if let Some(format) = Format::named(descriptor.data_format.into()) {
            self.image(source, format, planes)?;
        }
        // How many bytes kernels have, CDMA's decoder knows.
        let weights = &cubes[cube::WEIGHTS];
        if descriptor.weight_reuse == 0 || matches!(weights.place, TensorPlace::Memory(_)) {
            self.bytes(("weights", weights), weights.size.into())?;
        }
        if descriptor.weight_format != 0 {
            for (name, of_masks) in [("weight masks", cube::WMB), ("sizes of weight groups", cube::WGS)] {
                self.bytes((name, &cubes[of_masks]), cubes[of_masks].size.into())?;
            }
        }
        Ok(())
    }

    fn image(
        &mut self,
        named: Named<'_>,
        format: Format,
        (offset_u, uv_line_stride): (i64, u32),
    ) -> Result<(), LoadableError> {
        let (entry, cube) = (self.memory(named)?, named.1);
        let [first, second] = format.pixel_bytes().map(u64::from);
        let plane = |pixel: u64, stride: u32| Shape {
            pixel,
            last_pixel: pixel,
            counts: [cube.width, cube.height, 1].map(u64::from),
            strides: [stride.into(), 0],
            atom: 1,
        };
        let shape = plane(first, cube.line_stride);
        self.fixed((named.0, entry), Direction::Read, &shape)?;
        if second == 0 {
            return Ok(());
        }
        let (name, shape) = ("second plane of the source", plane(second, uv_line_stride));
        let within = AddressEntry { offset: entry.offset.wrapping_add_signed(offset_u), size: None, ..entry };
        self.fixed((name, within), Direction::Read, &shape)
    }

    fn sdp(&mut self, sdp: &layout::Sdp, cubes: &[Cube; 5]) -> Result<(), LoadableError> {
        let source = &cubes[cube::SDP_SOURCE];
        let destination = cubes[cube::SDP_DESTINATION].of_extents(source);
        let is_pixel = source.width == 1 && source.height == 1;
        let batch = u32::from(sdp.batch.max(1));
        if source.place != TensorPlace::OnTheFly
            && let Some(features) = self.features(("source", source), Direction::Read, sdp.src_precision)?
        {
            features.is_packed = is_pixel;
        }
        if destination.place != TensorPlace::OnTheFly
            && let Some(features) =
                self.features(("destination", &destination), Direction::Write, sdp.dst_precision)?
        {
            features.is_packed = is_pixel && batch == 1;
            features.batch = (batch, sdp.batch_stride.get());
        }
        let names = ["operands of stage X1", "operands of stage X2", "operands of stage Y"];
        for ((stage, operands), name) in sdp.stages.iter().zip(&cubes[cube::X1..]).zip(names) {
            if stage.reads_memory() {
                self.operands((name, operands), stage, (sdp.processing(), source))?;
            }
        }
        Ok(())
    }

    /// Adds a stage's operands: one set for each channel in a row, or for each element of the source.
    fn operands(
        &mut self,
        named: Named<'_>,
        stage: &layout::Stage,
        (processing, source): (u8, &Cube),
    ) -> Result<(), LoadableError> {
        let element = stage.operand_bytes();
        if !stage.is_for_each_element() {
            return self.bytes(named, u64::from(source.channels) * u64::from(element));
        }
        let of_elements = named.1.of_extents(source);
        if let Some(features) = self.features((named.0, &of_elements), Direction::Read, processing)? {
            features.element = element;
            features.is_packed = source.width == 1 && source.height == 1;
        }
        Ok(())
    }

    fn rubik(&mut self, rubik: &layout::Rubik, cubes: &[Cube; 2]) -> Result<(), LoadableError> {
        /// Codes of the modes.
        const CONTRACT: u8 = 0;
        const SPLIT: u8 = 1;
        const MERGE: u8 = 2;
        let [source, destination] = cubes;
        let element = rubik.element();
        let [x, y] = match rubik.mode {
            CONTRACT => [rubik.stride_x, rubik.stride_y].map(u32::from),
            _ => [1, 1],
        };
        // Of each pixel that comes of an input pixel there is a block of whole atoms.
        let lanes = ATOM as u32 / element;
        let blocks = x * y * destination.channels.div_ceil(lanes) * lanes;
        let channels = if rubik.mode == CONTRACT { blocks.max(source.channels) } else { source.channels };
        let read = Cube { channels, ..*source };
        let written = Cube { width: source.width * x, height: source.height * y, ..*destination };
        let ends =
            [("source", Direction::Read, MERGE, read), ("destination", Direction::Write, SPLIT, written)];
        for (name, direction, planar, cube) in ends {
            if rubik.mode == planar {
                self.planes((name, &cube), direction, element)?;
            } else {
                self.features((name, &cube), direction, rubik.precision)?;
            }
        }
        Ok(())
    }

    fn planes(&mut self, named: Named<'_>, direction: Direction, element: u32) -> Result<(), LoadableError> {
        let (entry, cube, pixel) = (self.memory(named)?, named.1, u64::from(element));
        let shape = Shape {
            pixel,
            last_pixel: pixel,
            counts: [cube.width, cube.height, cube.channels].map(u64::from),
            strides: [cube.line_stride, cube.plane_stride].map(u64::from),
            atom: ATOM,
        };
        self.fixed((named.0, entry), direction, &shape)
    }

    fn copy(&mut self, copy: &Copy) -> Result<(), LoadableError> {
        let layout::Transfer { line_size, line_repeat, surface_repeat, .. } = copy.shape;
        let line = u64::from(line_size.get());
        let lines = [line_repeat, surface_repeat].map(|count| u64::from(count.get()));
        if !line.is_multiple_of(ATOM) {
            let fault = CubeFault::Unaligned { what: "a line", bytes: line, atom: ATOM };
            return Err(self.refused("transfer", fault));
        }
        if line == 0 || lines.contains(&0) {
            return Err(self.refused("transfer", CubeFault::Empty));
        }
        let shape = |strides: [zerocopy::little_endian::U32; 2]| Shape {
            pixel: ATOM,
            last_pixel: ATOM,
            counts: [line / ATOM, lines[0], lines[1]],
            strides: strides.map(|stride| stride.get().into()),
            atom: ATOM,
        };
        let layout::Transfer { source_line, source_surface, destination_line, destination_surface, .. } =
            copy.shape;
        let (from, to) =
            (shape([source_line, source_surface]), shape([destination_line, destination_surface]));
        self.fixed(("source", copy.source), Direction::Read, &from)?;
        self.fixed(("destination", copy.destination), Direction::Write, &to)
    }
}

/// Bytes back to back.
fn row(bytes: u64) -> Shape {
    Shape { pixel: bytes, last_pixel: bytes, counts: [1; 3], strides: [0; 2], atom: 1 }
}
