//! The references' layers as the engines have them, whose encoders know the registers.

use vp_models::nvdla::cube::{Packing, Ram, Surface};
use vp_models::nvdla::lut::{LeIndex, Priorities, Range, Settings, Slope, Tables};
use vp_models::nvdla::numeric::{self, Precision};
use vp_models::nvdla::order::Order;
use vp_models::nvdla::registers::{Group, RegisterMap, Table, Unit};
use vp_models::nvdla::{cdp, pdp, sdp};

use crate::reference::{
    Alu, Carries, CdpLayer, Converter, CubePlace, Elementwise, ElementwiseOperand, Format, Lut, LutTable,
    Operand, Operands, PdpLayer, PoolingMethod, SdpLayer, Stage,
};

fn surface(place: CubePlace, atom: u32) -> Surface {
    let CubePlace { base, line: line_stride, surface: surface_stride } = place;
    // Addresses tell the memory.
    let ram = if base >= 0x8000_0000 { Ram::Primary } else { Ram::Secondary };
    Surface { ram, base, line_stride, surface_stride, pixel: atom, atom, packing: Packing::Strided }
}

fn precision(format: Format) -> Precision {
    if format.element == 1 { Precision::Int8 } else { Precision::Int16 }
}

fn converter(converter: Converter) -> numeric::Converter {
    let Converter { offset, scale, shift } = converter;
    numeric::Converter { offset, scale, shift: shift as u8 }
}

/// A layer of SDP from memory.
pub(super) fn sdp(layer: &SdpLayer) -> sdp::layer::SdpLayer {
    use sdp::layer::{Destination, SdpSource};
    let (precision, atom) = (precision(layer.format), layer.format.atom);
    sdp::layer::SdpLayer {
        atom: atom as usize,
        width: layer.width,
        height: layer.height,
        channels: layer.channels,
        precision,
        input: precision,
        output: precision,
        nan_to_zero: false,
        order: Order::Lines,
        cube_stride: 0,
        source: SdpSource::Memory(surface(layer.source, atom)),
        bs: layer.bs.map(|it| stage(it, atom)),
        bn: layer.bn.map(|it| stage(it, atom)),
        ew: layer.ew.map(|it| elementwise(it, atom)),
        converter: converter(layer.converter),
        destination: layer
            .destination
            .map_or(Destination::Pooling, |place| Destination::Memory(surface(place, atom))),
    }
}

fn stream(operands: Operands, atom: u32) -> sdp::layer::OperandStream {
    sdp::layer::OperandStream {
        surface: surface(operands.place, atom),
        carries: match operands.carries {
            Carries::Multiplier => sdp::layer::Carries::Multiplier,
            Carries::Alu => sdp::layer::Carries::Alu,
            Carries::Both => sdp::layer::Carries::Both,
        },
        operand_bytes: operands.bytes as usize,
        per_element: operands.per_element,
        is_half_taken: false,
    }
}

fn operation(alu: Alu) -> sdp::layer::AluOperation {
    match alu {
        Alu::Max => sdp::layer::AluOperation::Max,
        Alu::Min => sdp::layer::AluOperation::Min,
        Alu::Sum => sdp::layer::AluOperation::Sum,
    }
}

fn stage(stage: Stage, atom: u32) -> sdp::layer::Stage {
    let operand = |operand: Operand| match operand {
        Operand::Register(value) => sdp::layer::Operand::Register(value),
        Operand::Memory => sdp::layer::Operand::Memory,
    };
    sdp::layer::Stage {
        alu: stage.alu.map(|alu| sdp::layer::StageAlu {
            operation: operation(alu.operation),
            operand: operand(alu.operand),
            shift: alu.shift as u8,
        }),
        multiplier: stage.multiplier.map(|multiplier| sdp::layer::StageMultiplier {
            operand: operand(multiplier.operand),
            prelu: multiplier.prelu,
        }),
        shift: stage.shift as u8,
        relu: stage.relu,
        operands: stage.operands.map(|operands| stream(operands, atom)),
    }
}

fn elementwise(stage: Elementwise, atom: u32) -> sdp::layer::Elementwise {
    let operand = |operand: ElementwiseOperand| match operand {
        ElementwiseOperand::Register(value) => sdp::layer::ElementwiseOperand::Register(value),
        ElementwiseOperand::Memory(used) => sdp::layer::ElementwiseOperand::Memory(used.map(converter)),
    };
    sdp::layer::Elementwise {
        multiplier: stage.multiplier.map(|multiplier| sdp::layer::ElementwiseMultiplier {
            operand: operand(multiplier.operand),
            shift: multiplier.shift as u16,
            prelu: multiplier.prelu,
        }),
        alu: stage.alu.map(|alu| sdp::layer::ElementwiseAlu {
            operation: sdp::layer::ElementwiseOperation::Alu(operation(alu.operation)),
            operand: operand(alu.operand),
        }),
        // What it is, is loaded before.
        lut: stage.lut.then(|| sdp::lut::decode(&Group::new(Unit::Sdp, RegisterMap::Full))),
        operands: stage.operands.map(|operands| stream(operands, atom)),
    }
}

pub(super) fn pdp(layer: &PdpLayer) -> pdp::layer::PdpLayer {
    use pdp::layer::{Average, Axis, Method, PdpSource, Strips};
    let atom = layer.format.atom;
    let axis = |at: usize, input, output| Axis {
        input,
        output,
        kernel: layer.kernel[at],
        stride: layer.stride[at],
        padding: layer.before[at],
        padding_after: layer.after[at],
    };
    pdp::layer::PdpLayer {
        atom: atom as usize,
        channels: layer.channels,
        precision: precision(layer.format),
        nan_to_zero: false,
        method: match layer.method {
            PoolingMethod::Max => Method::Max,
            PoolingMethod::Min => Method::Min,
            PoolingMethod::Average { padding } => Method::Average(Average {
                reciprocal_width: PdpLayer::reciprocal(layer.kernel[0]),
                reciprocal_height: PdpLayer::reciprocal(layer.kernel[1]),
                padding: [1, 2, 3, 4, 5, 6, 7].map(|missing| missing * padding),
            }),
        },
        horizontal: axis(0, layer.width, layer.out_width()),
        vertical: axis(1, layer.height, layer.out_height()),
        source: layer.source.map_or(PdpSource::Sdp, |place| PdpSource::Memory(surface(place, atom))),
        destination: surface(layer.destination, atom),
        strips: Strips {
            count: layer.strips.len().max(1) as u32,
            input: partial_widths_in(layer),
            output: partial_widths_out(layer),
        },
    }
}

/// The first, the middle and the last strip's output columns; 1, which a register of zeros says, if not cut.
fn partial_widths_out(layer: &PdpLayer) -> [u32; 3] {
    match layer.strips[..] {
        [] => [1; 3],
        [first, ref between @ .., last] => [first, between.first().copied().unwrap_or(1), last],
        [only] => [only, 1, 1],
    }
}

/// The first, the middle and the last strip's input columns that no strip before has read. A strip ends where its last window does.
fn partial_widths_in(layer: &PdpLayer) -> [u32; 3] {
    let [first, middle, _] = partial_widths_out(layer);
    let strips = layer.strips.len() as u32;
    if strips < 2 {
        return [1; 3];
    }
    let stride = layer.stride[0];
    let first = (first - 1) * stride + layer.kernel[0] - layer.before[0];
    let between = if strips > 2 { middle * stride } else { 1 };
    [first, between, layer.width - first - if strips > 2 { (strips - 2) * between } else { 0 }]
}

pub(super) fn cdp(layer: &CdpLayer) -> cdp::layer::CdpLayer {
    let atom = layer.format.atom;
    cdp::layer::CdpLayer {
        atom: atom as usize,
        width: layer.width,
        height: layer.height,
        channels: layer.channels,
        precision: precision(layer.format),
        nan_to_zero: false,
        reach: layer.window / 2,
        square_sum: !layer.plain,
        multiply: !layer.unscaled,
        input: converter(layer.input),
        output: converter(layer.output),
        // It is loaded before.
        lut: cdp::lut::decode(&Group::new(Unit::Cdp, RegisterMap::Full)),
        source: surface(layer.source, atom),
        destination: surface(layer.destination, atom),
    }
}

/// Settings of a table, with bounds as wide as the unit's.
pub(super) fn settings<B: From<i32>>(lut: &Lut) -> Settings<B> {
    let slope = |(scale, shift): (i16, i32)| Slope { scale, shift: shift as i8 };
    let range = |table: &LutTable| Range {
        start: table.start.into(),
        end: table.end.into(),
        underflow: slope(table.below),
        overflow: slope(table.above),
    };
    let [underflow, overflow, hybrid] = lut.lo_first.map(|lo| if lo { Table::Lo } else { Table::Le });
    Settings {
        le_index: match lut.exponent {
            Some(offset) => LeIndex::Exponent { offset: offset as i8 },
            None => LeIndex::Linear { select: lut.le.select as i8 },
        },
        lo_select: lut.lo.select as i8,
        le: range(&lut.le),
        lo: range(&lut.lo),
        priorities: Priorities { underflow, overflow, hybrid },
    }
}

/// A table's contents.
pub(super) fn tables(lut: &Lut) -> Tables {
    let mut tables = Tables::default();
    tables.le.copy_from_slice(&lut.le.entries);
    tables.lo.copy_from_slice(&lut.lo.entries);
    tables
}
