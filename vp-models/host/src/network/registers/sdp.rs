//! SDP and SDP_RDMA, behind a convolution or from memory.

use super::{Cubes, narrow};
use crate::network::description::{Activation, Converter, Shape};
use crate::network::layout::{CubePlace, MemoryAddress};
use vp_models::nvdla::cube::{Packing, Surface};
use vp_models::nvdla::float::Fp32;
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::order::Order;
use vp_models::nvdla::sdp::layer::{
    self, AluOperation, Carries, Destination, OperandStream, SdpLayer, SdpSource, StageAlu, StageMultiplier,
};

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
    pub(in super::super) converter: Converter,
    /// Place to which it writes; none if it passes on to PDP.
    pub(in super::super) destination: Option<CubePlace>,
    /// Number of cubes that run at once, and the bytes from one's output to the next one's.
    pub(in super::super) cubes: Cubes,
    /// True if the input comes of Winograd's method.
    pub(in super::super) tiles: bool,
}

/// BS or BN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Stage {
    /// Operand from memory.
    pub(in super::super) operand: Option<Operand>,
    /// Function of the data and the operand.
    pub(in super::super) method: StageMethod,
    /// Factor of the multiplication.
    pub(in super::super) factor: Option<i16>,
    pub(in super::super) activation: Activation,
}

/// Function of data and operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum StageMethod {
    /// Sum of both operands.
    #[default]
    Sum,
    /// Product of both operands.
    Product,
    /// The larger one.
    Maximum,
}

/// Elements of a cube: their format, and the bytes of an atom of them.
#[derive(Clone, Copy)]
struct Elements {
    precision: Precision,
    atom: u32,
}

/// A number as a register of 16 bits has it.
fn half(value: f32) -> i16 {
    (Fp32::from_bits(value.to_bits()).to_fp16().bits() as u16).cast_signed()
}

/// Operand that each element is joined with, from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Operand {
    /// 16 bits for each channel.
    Channels {
        at: MemoryAddress,
        /// Left shift.
        shift: u32,
    },
    /// One for each element, in the format of features.
    Elements {
        at: CubePlace,
        /// Left shift.
        shift: u32,
    },
}

impl Stage {
    /// The stage, if it does anything; `packing` is that of cubes.
    fn of_hardware(&self, elements: Elements, packing: Packing) -> Option<layer::Stage> {
        if *self == Stage::default() {
            return None;
        }
        let is_float = elements.precision == Precision::Fp16;
        let (alu, carries) = match self.method {
            StageMethod::Sum => (Some(AluOperation::Sum), Carries::Alu),
            StageMethod::Maximum => (Some(AluOperation::Max), Carries::Alu),
            StageMethod::Product => (None, Carries::Multiplier),
        };
        let (factor, shift) = match (self.factor, self.activation) {
            (Some(factor), _) if is_float => (Some((half(factor.into()), false)), 0),
            (Some(factor), _) => (Some((factor, false)), 0),
            // Nothing is shifted in fp16: the factor is a fraction.
            (None, Activation::Leaky { scale, shift }) if is_float => {
                (Some((half(f32::from(scale) * (-(shift as f32)).exp2()), true)), 0)
            }
            (None, Activation::Leaky { scale, shift }) => (Some((scale, true)), narrow(shift)),
            _ => (None, 0),
        };
        let multiplier = match (self.method, self.operand) {
            (StageMethod::Product, Some(_)) => Some((layer::Operand::Memory, false)),
            _ => factor.map(|(factor, prelu)| (layer::Operand::Register(factor), prelu)),
        };
        Some(layer::Stage {
            alu: self.operand.zip(alu).map(|(operand, operation)| StageAlu {
                operation,
                operand: layer::Operand::Memory,
                shift: operand.shift(),
            }),
            multiplier: multiplier.map(|(operand, prelu)| StageMultiplier { operand, prelu }),
            shift,
            relu: self.activation == Activation::Relu,
            operands: self
                .operand
                .map(|operand| OperandStream { carries, ..operand.stream(elements, packing) }),
        })
    }
}

impl Operand {
    fn shift(self) -> u8 {
        let (Operand::Channels { shift, .. } | Operand::Elements { shift, .. }) = self;
        narrow(shift)
    }

    fn stream(self, Elements { precision, atom }: Elements, packing: Packing) -> OperandStream {
        let bytes = precision.bytes();
        let (surface, operand_bytes) = match self {
            Operand::Channels { at, .. } => {
                let place = CubePlace { place: at, line_stride: 0, surface_stride: 0 };
                (
                    Surface {
                        pixel: 2 * atom / bytes as u32,
                        packing: Packing::Packed,
                        ..place.surface(atom)
                    },
                    2,
                )
            }
            Operand::Elements { at, .. } => (Surface { packing, ..at.surface(atom) }, bytes),
        };
        let per_element = matches!(self, Operand::Elements { .. });
        OperandStream { surface, carries: Carries::Alu, operand_bytes, per_element, is_half_taken: false }
    }
}

impl Process {
    pub(in super::super) fn layer(&self, atom: u32) -> SdpLayer {
        let &Process { precision, output, source, stages, cubes, tiles, .. } = self;
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
            ew: None,
            converter: self.converter.of_hardware(),
            destination: self.destination.map_or(Destination::Pooling, |place| {
                Destination::Memory(Surface { packing: written, ..place.surface(atom) })
            }),
        }
    }
}
