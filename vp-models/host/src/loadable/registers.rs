//! The register writes of an operation, as the vendor's driver makes them.
//!
//! A descriptor becomes the engine's own layer, and its encoder knows the registers; what the driver writes besides, and what it leaves
//! alone, is said here. Codes are written as the descriptor has them: what they may be, the device tells. What is left alone keeps what
//! an earlier operation wrote to the same group. SDP and convolutions have more of that than not, and are written field by field.

pub(super) mod convolution;
mod lut;
pub(super) mod sdp;

use super::AddressEntry;
use super::layout;
use super::network::{Copy, Cube, Operation, OperationWork, TensorPlace, cube};
use super::places::Places;
use crate::program::Program;
use vp_models::nvdla::bdma::layer::BdmaTransfer;
use vp_models::nvdla::cdp::{self, layer::CdpLayer};
use vp_models::nvdla::cube::{Ram, Surface};
use vp_models::nvdla::encode::Encoded;
use vp_models::nvdla::numeric::{Converter, Precision};
use vp_models::nvdla::pdp::layer::{Average, Axis, Method, PdpLayer, PdpSource, Strips};
use vp_models::nvdla::registers::{self as reg, FieldRef, Group, Unit, bdma, pdp, pdp_rdma, rbk};
use vp_models::nvdla::rubik::layer::{Mode, RubikLayer, RubikSurface};
use zerocopy::little_endian::{I32, U32};

pub(super) use lut::load as load_lut;

/// An operation's registers, and the units that are enabled for it, in order.
#[derive(Debug)]
pub(super) struct Registers {
    pub(super) program: Program,
    pub(super) enables: Vec<Unit>,
}

/// The writes of an operation, all but its table and its enables. BDMA's are of another kind: [`transfer`].
pub(super) fn of(operation: &Operation, places: &Places) -> Registers {
    let mut program = Program::new(places.map);
    let enables = match &operation.what {
        OperationWork::Bdma(_) => Vec::new(),
        OperationWork::Convolution { descriptor, cubes, offset_u, uv_line_stride } => {
            convolution::write(&mut program, places, descriptor, cubes, *offset_u, *uv_line_stride)
        }
        OperationWork::Sdp { descriptor, cubes, .. } => sdp::write(&mut program, places, descriptor, cubes),
        OperationWork::Pdp { descriptor, cubes } => {
            written(&mut program, &pooling(places, descriptor, cubes))
        }
        OperationWork::Cdp { descriptor, cubes, .. } => {
            written(&mut program, &normalisation(places, descriptor, cubes))
        }
        OperationWork::Rubik { descriptor, cubes } => {
            written(&mut program, &reshaping(places, descriptor, cubes))
        }
    };
    Registers { program, enables }
}

/// Writes what an engine's encoder has made; gives the units that take part.
fn written(program: &mut Program, encoded: &Encoded) -> Vec<Unit> {
    program.encoded(encoded);
    encoded.iter().map(|(unit, _)| unit).collect()
}

/// Returns true if the operation has the unit's own read DMA read for it.
pub(super) fn uses_rdma(operation: &Operation) -> bool {
    match &operation.what {
        OperationWork::Sdp { descriptor, cubes, .. } => sdp::needs_rdma(descriptor, cubes),
        OperationWork::Pdp { cubes, .. } => cubes[cube::SOURCE].place != TensorPlace::OnTheFly,
        OperationWork::Cdp { .. } => true,
        OperationWork::Bdma(_) | OperationWork::Convolution { .. } | OperationWork::Rubik { .. } => false,
    }
}

/// Fields of a 64-bit address: its low and its high word.
type AddressFields = (FieldRef, FieldRef);

fn address(fields: AddressFields, at: u64) -> [(FieldRef, u32); 2] {
    [(fields.0, at as u32), (fields.1, (at >> 32) as u32)]
}

fn extent(cube: &Cube, fields: [FieldRef; 3]) -> [(FieldRef, u32); 3] {
    [(fields[0], cube.width), (fields[1], cube.height), (fields[2], cube.channels)]
}

/// A field that counts from zero, but in which nothing is nothing.
fn minus_one(value: zerocopy::little_endian::U16) -> u32 {
    u32::from(value.get()).max(1)
}

/// The driver says of all layers how wide their parts are, and of all methods by what an average divides. It leaves alone which
/// numbers are flushed, and what PDP_RDMA does if it does not read.
fn pooling(places: &Places, pooling: &layout::Pdp, [source, destination]: &[Cube; 2]) -> Encoded {
    use pdp::{
        D_DATA_CUBE_OUT_CHANNEL::*, D_DATA_FORMAT::*, D_DST_BASE_ADDR_LOW::*, D_OPERATION_MODE_CFG::*,
    };
    use pdp_rdma::{D_DATA_FORMAT as rdma_format, D_FLYING_MODE, D_OPERATION_MODE_CFG as rdma_mode};
    let precision = Precision::of_code(pooling.precision.into()).unwrap_or_default();
    let axis = |[input, output]: [u32; 2], kernel: u8, [stride, padding, padding_after]: [u8; 3]| Axis {
        input,
        output,
        kernel: u32::from(kernel) + 1,
        stride: stride.into(),
        padding: padding.into(),
        padding_after: padding_after.into(),
    };
    let horizontal = axis(
        [source.width, destination.width],
        pooling.pool_width,
        [pooling.stride_x, pooling.pad_left, pooling.pad_right],
    );
    let vertical = axis(
        [source.height, destination.height],
        pooling.pool_height,
        [pooling.stride_y, pooling.pad_top, pooling.pad_bottom],
    );
    let from_memory = source.place != TensorPlace::OnTheFly;
    let layer = PdpLayer {
        atom: places.atom as usize,
        channels: source.channels,
        precision,
        nan_to_zero: false,
        method: Method::Average(Average {
            reciprocal_width: Average::reciprocal(horizontal.kernel, precision),
            reciprocal_height: Average::reciprocal(vertical.kernel, precision),
            padding: pooling.padding_values.map(I32::get),
        }),
        horizontal,
        vertical,
        source: if from_memory { PdpSource::Memory(places.surface(source)) } else { PdpSource::Sdp },
        destination: places.surface(destination),
        // Their number follows.
        strips: Strips {
            count: 2,
            input: pooling.partial_in.map(minus_one),
            output: pooling.partial_out.map(minus_one),
        },
    };
    let mut encoded = layer.fields();
    encoded.retain(|field| {
        *field != *pdp::D_NAN_FLUSH_TO_ZERO::NAN_TO_ZERO && *field != *D_FLYING_MODE::FLYING_MODE
    });
    for (field, value) in [
        (SPLIT_NUM, pooling.splits.into()),
        (POOLING_METHOD, pooling.mode.into()),
        (INPUT_DATA, pooling.precision.into()),
        (CUBE_OUT_CHANNEL, destination.channels),
    ] {
        encoded.set(Unit::Pdp, field, value);
    }
    if from_memory {
        encoded.set(Unit::PdpRdma, rdma_mode::SPLIT_NUM, pooling.splits.into());
        encoded.set(Unit::PdpRdma, rdma_format::INPUT_DATA, pooling.precision.into());
        use pdp::{D_SRC_LINE_STRIDE::*, D_SRC_SURFACE_STRIDE::*};
        let strides = [(SRC_LINE_STRIDE, source.line_stride), (SRC_SURFACE_STRIDE, source.surface_stride)];
        encoded.insert_before(Unit::Pdp, DST_BASE_ADDR_LOW, strides);
    }
    encoded
}

fn converter(converter: &layout::Converter) -> Converter {
    Converter { offset: converter.offset.get(), scale: converter.scale.get(), shift: converter.truncate }
}

fn normalisation(places: &Places, lrn: &layout::Cdp, [source, destination]: &[Cube; 2]) -> Encoded {
    let layer = CdpLayer {
        atom: places.atom as usize,
        width: source.width,
        height: source.height,
        channels: source.channels,
        precision: Precision::of_code(lrn.in_precision.into()).unwrap_or_default(),
        nan_to_zero: false,
        // 3, 5, 7 or 9 channels.
        reach: (u32::from(lrn.local_size).saturating_sub(1) / 2).max(1),
        square_sum: lrn.bypass_square_sum == 0,
        multiply: lrn.bypass_output_multiply == 0,
        input: converter(&lrn.input),
        output: converter(&lrn.output),
        // It is loaded before.
        lut: cdp::lut::decode(&Group::new(Unit::Cdp, places.map)),
        source: places.surface(source),
        destination: places.surface(destination),
    };
    let mut encoded = layer.fields();
    encoded.retain(|field| *field != *reg::cdp::D_NAN_FLUSH_TO_ZERO::NAN_TO_ZERO);
    encoded.set(Unit::CdpRdma, reg::cdp_rdma::D_DATA_FORMAT::INPUT_DATA, lrn.in_precision.into());
    encoded.set(Unit::Cdp, reg::cdp::D_DATA_FORMAT::INPUT_DATA_TYPE, lrn.in_precision.into());
    encoded
}

impl layout::Rubik {
    /// Bytes of an element.
    pub(super) fn element(&self) -> u32 {
        if self.precision == 0 { 1 } else { 2 }
    }
}

fn reshaping(places: &Places, rubik: &layout::Rubik, [source, destination]: &[Cube; 2]) -> Encoded {
    use rbk::{D_DATAIN_SIZE_1::DATAIN_CHANNEL, D_MISC_CFG::*};
    /// Bytes of an atom: RUBIK exists where atoms have 32.
    const ATOM: u32 = 32;
    let element = rubik.element();
    let surfaces = (destination.channels * element).div_ceil(ATOM);
    let surface = |cube: &Cube, is_planar: bool| {
        let Surface { ram, base, line_stride, surface_stride, .. } = places.surface(cube);
        let surface_stride = if is_planar { cube.plane_stride } else { surface_stride };
        RubikSurface { ram, base, line_stride, surface_stride }
    };
    let mode = match rubik.mode.into() {
        RUBIK_MODE::CONTRACT => Mode::Contract {
            x: rubik.stride_x.into(),
            y: rubik.stride_y.into(),
            block_stride: surfaces.wrapping_mul(source.surface_stride),
        },
        RUBIK_MODE::SPLIT => Mode::Split,
        _ => Mode::Merge,
    };
    let layer = RubikLayer {
        atom: ATOM as usize,
        mode,
        element: element as usize,
        width: source.width,
        height: source.height,
        channels: destination.channels,
        source: surface(source, mode == Mode::Merge),
        destination: surface(destination, mode == Mode::Split),
    };
    let mut encoded = layer.fields();
    for (field, value) in [
        (RUBIK_MODE, rubik.mode.into()),
        (IN_PRECISION, rubik.precision.into()),
        (DATAIN_CHANNEL, source.channels),
    ] {
        encoded.set(Unit::Rbk, field, value);
    }
    encoded
}

/// The writes that put one transfer into BDMA's queue.
pub(super) fn transfer(copy: &Copy, places: &Places) -> Program {
    let shape = &copy.shape;
    let end = |entry: AddressEntry, strides: [U32; 2]| {
        let (base, ram) = places.address(entry);
        BdmaTransfer::place(Ram::from_field(ram), base, strides.map(U32::get))
    };
    let transfer = BdmaTransfer {
        line: shape.line_size.get(),
        lines: shape.line_repeat.get(),
        surfaces: shape.surface_repeat.get(),
        source: end(copy.source, [shape.source_line, shape.source_surface]),
        destination: end(copy.destination, [shape.destination_line, shape.destination_surface]),
    };
    let mut program = Program::new(places.map);
    program.encoded(&transfer.fields());
    program.word(Unit::Bdma, bdma::CFG_OP, 1);
    program
}
