//! SDP and SDP_RDMA, behind a convolution or from memory.

use super::{Cubes, narrow};
use crate::network::description::{Converter, Shape};
use crate::network::layout::{CubePlace, MemoryAddress};
use vp_models::nvdla::cube::{Packing, Surface};
use vp_models::nvdla::float::Fp32;
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::order::Order;
use vp_models::nvdla::sdp::layer::{
    self, AluOperation, Carries, Destination, Elementwise, OperandStream, SdpLayer, SdpSource, StageAlu,
    StageMultiplier,
};
use vp_models::nvdla::sdp::lut::Settings;

/// One hardware layer of SDP.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Process {
    pub(in super::super) precision: Precision,
    /// Shape of the output.
    pub(in super::super) output: Shape,
    /// Place from which it reads; none behind a convolution.
    pub(in super::super) source: Option<CubePlace>,
    /// The stages BS and BN.
    pub(in super::super) stages: [Stage; 2],
    /// The table behind them.
    pub(in super::super) table: Option<Settings>,
    pub(in super::super) converter: Converter,
    /// Place to which it writes; none if it passes on to PDP.
    pub(in super::super) destination: Option<CubePlace>,
    /// Number of cubes that run at once, and the bytes from one's output to the next one's.
    pub(in super::super) cubes: Cubes,
    /// True if the input comes of Winograd's method.
    pub(in super::super) tiles: bool,
}

/// BS or BN: ALU, multiplier, shift, rectifier, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Stage {
    /// Operands in memory: of the ALU or the multiplier, or of both.
    pub(in super::super) operand: Option<Operand>,
    pub(in super::super) alu: Option<Alu>,
    pub(in super::super) factor: Option<Factor>,
    /// Right shift behind the multiplier.
    pub(in super::super) shift: u32,
    /// Negative results become zero.
    pub(in super::super) relu: bool,
}

/// ALU of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Alu {
    pub(in super::super) operation: AluOperation,
    /// Second operand; that in memory if absent.
    pub(in super::super) register: Option<i16>,
    /// Left shift of the operand.
    pub(in super::super) shift: u32,
}

impl Alu {
    /// Operation with what is in memory.
    pub(in super::super) fn of_memory(operation: AluOperation, shift: u32) -> Alu {
        Alu { operation, register: None, shift }
    }
}

/// Multiplier of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Factor {
    /// The factor; that in memory if absent.
    pub(in super::super) register: Option<i16>,
    /// Only negative values are multiplied, and shifted.
    pub(in super::super) prelu: bool,
}

/// Elements of a cube: their format, and the bytes of an atom of them.
#[derive(Clone, Copy)]
struct Elements {
    precision: Precision,
    atom: u32,
}

/// A number as a register of 16 bits has it.
pub(in super::super) fn half(value: f32) -> i16 {
    (Fp32::from_bits(value.to_bits()).to_fp16().bits() as u16).cast_signed()
}

/// Operands of a stage in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Operand {
    /// Constants for each channel, of 16 bits: the ALU's, the factor, or the ALU's and then the factor.
    Channels(MemoryAddress),
    /// One for each channel: a cube of one pixel.
    Pixel(CubePlace),
    /// One for each element, in the format of features.
    Elements(CubePlace),
}

impl Stage {
    /// The stage, if it does anything; `packing` is that of cubes.
    fn of_hardware(&self, elements: Elements, packing: Packing) -> Option<layer::Stage> {
        if *self == Stage::default() {
            return None;
        }
        let operand =
            |register: Option<i16>| register.map_or(layer::Operand::Memory, layer::Operand::Register);
        let takes = [self.alu.map(|alu| alu.register), self.factor.map(|factor| factor.register)];
        let carries = match takes.map(|register| register == Some(None)) {
            [true, true] => Carries::Both,
            [true, false] => Carries::Alu,
            _ => Carries::Multiplier,
        };
        Some(layer::Stage {
            alu: self.alu.map(|Alu { operation, register, shift }| StageAlu {
                operation,
                operand: operand(register),
                shift: narrow(shift),
            }),
            multiplier: self
                .factor
                .map(|Factor { register, prelu }| StageMultiplier { operand: operand(register), prelu }),
            shift: narrow(self.shift),
            relu: self.relu,
            operands: self.operand.map(|operand| operand.stream(carries, elements, packing)),
        })
    }
}

impl Operand {
    fn stream(
        self,
        carries: Carries,
        Elements { precision, atom }: Elements,
        packing: Packing,
    ) -> OperandStream {
        let packed = CubePlace { line_stride: 0, surface_stride: 0, place: self.place() }.surface(atom);
        let (surface, operand_bytes) = match self {
            Operand::Channels(_) => (packed, 2),
            Operand::Pixel(_) => (packed, precision.bytes()),
            Operand::Elements(at) => (at.surface(atom), precision.bytes()),
        };
        let per_element = matches!(self, Operand::Elements(_));
        let packing = if per_element { packing } else { Packing::Packed };
        let (surface, is_half_taken) = (Surface { packing, ..surface }, false);
        let stream = OperandStream { surface, carries, operand_bytes, per_element, is_half_taken };
        let pixel = stream.group_bytes(atom as usize / precision.bytes()) as u32;
        OperandStream { surface: Surface { pixel, ..surface }, ..stream }
    }

    fn place(self) -> MemoryAddress {
        match self {
            Operand::Channels(place) => place,
            Operand::Pixel(at) | Operand::Elements(at) => at.place,
        }
    }
}

impl Process {
    pub(in super::super) fn layer(&self, atom: u32) -> SdpLayer {
        let &Process { precision, output, source, stages, table, cubes, tiles, .. } = self;
        let packing = if output.width * output.height == 1 { Packing::Packed } else { Packing::Strided };
        let written = if cubes == Cubes::ONE { packing } else { Packing::Strided };
        let [bs, bn] = stages.map(|stage| stage.of_hardware(Elements { precision, atom }, packing));
        SdpLayer {
            atom: atom as usize,
            width: output.width,
            height: output.height,
            channels: output.channels,
            precision,
            input: precision,
            output: precision,
            nan_to_zero: false,
            order: match cubes {
                _ if tiles => Order::Tiles,
                Cubes::ONE => Order::Lines,
                Cubes { count, .. } => Order::Cubes(count),
            },
            cube_stride: cubes.stride,
            source: source.map_or(SdpSource::Accumulator, |place| {
                SdpSource::Memory(Surface { packing, ..place.surface(atom) })
            }),
            bs,
            bn,
            ew: table.map(|settings| Elementwise {
                multiplier: None,
                alu: None,
                lut: Some(settings),
                operands: None,
            }),
            converter: self.converter.of_hardware(),
            destination: self.destination.map_or(Destination::Pooling, |place| {
                Destination::Memory(Surface { packing: written, ..place.surface(atom) })
            }),
        }
    }
}
