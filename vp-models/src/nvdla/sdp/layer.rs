//! One SDP layer: the contents of a register group of SDP, and of the group of SDP_RDMA beside it.
//!
//! [`SdpLayer::decode`] (in `decode`) checks everything once, [`SdpLayer::encode`] is its inverse; [`super::compute`] and the timing rely on it. All fields are plain
//! data: tests build layers by hand.

use crate::nvdla::config::Config;
use crate::nvdla::cube::{self, Surface};
use crate::nvdla::formats::Formats;
use crate::nvdla::numeric::{Converter, Precision};
use crate::nvdla::order::{Order, Pairs};

use super::lut;

/// Properties of an SDP, by hardware configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hardware {
    /// Bytes of a memory atom: 8, 16 or 32.
    pub atom: usize,
    /// Has the first stage (BS, X1).
    pub bs: bool,
    /// Has the second stage (BN, X2).
    pub bn: bool,
    /// Has the element-wise stage (EW, Y).
    pub ew: bool,
    /// The element-wise stage has its lookup table.
    pub lut: bool,
    /// Formats that SDP computes besides int8.
    pub formats: Formats,
    /// Takes the order of Winograd's method.
    pub winograd: bool,
    /// Cubes that one layer takes at most.
    pub batches: u32,
}

impl From<&Config> for Hardware {
    fn from(config: &Config) -> Self {
        Hardware {
            atom: config.memory_atom as usize,
            bs: config.sdp_bs,
            bn: config.sdp_bn,
            ew: config.sdp_ew,
            lut: config.sdp_lut,
            formats: Formats::of_features(config),
            winograd: config.winograd,
            batches: if config.batch { config.max_batch } else { 1 },
        }
    }
}

/// One hardware layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SdpLayer {
    /// Bytes of a memory atom.
    pub atom: usize,
    /// Pixels in a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Channels; the last surface may be partly used.
    pub channels: u32,
    /// Format of processing.
    pub precision: Precision,
    /// Format of input from memory: the processed format, or int16 where int8 is processed.
    pub input: Precision,
    /// Format of output: int8 becomes any other, int16 and fp16 each other.
    pub output: Precision,
    /// In fp16, inputs and operands in memory that are not numbers count as 0.
    pub nan_to_zero: bool,
    /// The order in which pixels pass. It differs from line after line only from the accumulator to memory.
    pub order: Order,
    /// Bytes from the output of a cube to that of the next.
    pub cube_stride: u32,
    /// Source of the input.
    pub source: SdpSource,
    /// First stage, unless bypassed or absent.
    pub bs: Option<Stage>,
    /// Second stage, unless bypassed or absent.
    pub bn: Option<Stage>,
    /// Element-wise stage, unless bypassed or absent.
    pub ew: Option<Elementwise>,
    /// Output converter of integers; the result saturates to the output format.
    pub converter: Converter,
    /// Destination of the output.
    pub destination: Destination,
}

/// Source of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SdpSource {
    /// The convolution accumulator, on the fly, 32 bits an element.
    Accumulator,
    /// Memory.
    Memory(Surface),
}

/// Destination of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// PDP, on the fly.
    Pooling,
    /// Memory.
    Memory(Surface),
}

/// Source of one operand of BS or BN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// One value for every element.
    Register(i16),
    /// The stage's [`OperandStream`].
    Memory,
}

/// Stage BS or BN: ALU, multiplier, shift, ReLU, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// ALU, unless bypassed.
    pub alu: Option<StageAlu>,
    /// Multiplier, unless bypassed.
    pub multiplier: Option<StageMultiplier>,
    /// Right shift behind the multiplier, 0 to 63; applied also when the multiplier is bypassed.
    pub shift: u8,
    /// Negative results become 0.
    pub relu: bool,
    /// Memory operands; `Some` exactly when one of them is [`Operand::Memory`].
    pub operands: Option<OperandStream>,
}

/// ALU of BS or BN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageAlu {
    /// Operation of the ALU.
    pub operation: AluOperation,
    /// Second operand.
    pub operand: Operand,
    /// Left shift of the operand, 0 to 63; the result saturates to 32 bits.
    pub shift: u8,
}

/// Multiplier of BS or BN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageMultiplier {
    /// Factor.
    pub operand: Operand,
    /// Parametric ReLU: only negative values are multiplied (and shifted).
    pub prelu: bool,
}

/// Operation of an ALU on data and operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AluOperation {
    /// The larger.
    Max,
    /// The smaller.
    Min,
    /// The sum.
    Sum,
}

/// Operation of the ALU of the element-wise stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementwiseOperation {
    /// As in BS and BN.
    Alu(AluOperation),
    /// Compares with the operand: nothing is written, `D_STATUS` tells whether any element differs.
    Equal,
}

/// Source of one operand of the element-wise stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementwiseOperand {
    /// One value for every element, not converted.
    Register(i32),
    /// The stage's [`OperandStream`], through its converter unless bypassed.
    Memory(Option<Converter>),
}

/// The element-wise stage: multiplier, ALU, lookup table, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elementwise {
    /// Multiplier, unless bypassed.
    pub multiplier: Option<ElementwiseMultiplier>,
    /// ALU, unless bypassed.
    pub alu: Option<ElementwiseAlu>,
    /// Lookup table, unless bypassed or absent.
    pub lut: Option<lut::Settings>,
    /// Memory operands; `Some` exactly when one of them is [`ElementwiseOperand::Memory`].
    pub operands: Option<OperandStream>,
}

/// Multiplier of the element-wise stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementwiseMultiplier {
    /// Factor.
    pub operand: ElementwiseOperand,
    /// Right shift of the product, 0 to 1023. Not applied to values PReLU passes.
    pub shift: u16,
    /// Parametric ReLU: only negative values are multiplied.
    pub prelu: bool,
}

/// ALU of the element-wise stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementwiseAlu {
    /// Operation of the ALU.
    pub operation: ElementwiseOperation,
    /// Second operand.
    pub operand: ElementwiseOperand,
}

/// Operands that a stream carries for each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carries {
    /// The factor.
    Multiplier,
    /// The ALU operand.
    Alu,
    /// First the ALU operand, then the factor.
    Both,
}

/// Operands of one stage in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandStream {
    /// Surface of the operands in memory. A "pixel" holds the operands of one atom's lanes; packed when there is one value
    /// a channel.
    pub surface: Surface,
    /// Operands that the stream carries.
    pub carries: Carries,
    /// Bytes of one operand: 1 (sign-extended) or 2 (little endian).
    pub operand_bytes: usize,
    /// One set of operands an element (`true`) or a channel (`false`).
    pub per_element: bool,
    /// True if both operands come but the stage takes only one of them: the other one stops both.
    pub is_half_taken: bool,
}

impl OperandStream {
    /// Bytes of operands of one element, or of one channel.
    pub const fn element_bytes(&self) -> usize {
        match self.carries {
            Carries::Multiplier | Carries::Alu => self.operand_bytes,
            Carries::Both => 2 * self.operand_bytes,
        }
    }

    /// Bytes of operands of one atom's `lanes`.
    pub const fn group_bytes(&self, lanes: usize) -> usize {
        lanes * self.element_bytes()
    }

    /// Returns the offset of the ALU's operand among an element's operands, in bytes.
    pub const fn alu_offset(&self) -> usize {
        0
    }

    /// Returns the offset of the factor among an element's operands, in bytes.
    pub const fn multiplier_offset(&self) -> usize {
        match self.carries {
            Carries::Multiplier | Carries::Alu => 0,
            Carries::Both => self.operand_bytes,
        }
    }
}

impl SdpLayer {
    /// Elements in an atom.
    pub const fn lanes(&self) -> usize {
        self.atom / self.precision.bytes()
    }

    /// Atoms of input from memory that are processed together, each of another surface.
    pub const fn input_atoms(&self) -> u32 {
        (self.input.bytes() / self.precision.bytes()) as u32
    }

    /// Atoms of output that come of one step, each of another surface.
    pub const fn output_atoms(&self) -> u32 {
        (self.output.bytes() / self.precision.bytes()) as u32
    }

    /// Surfaces as they are processed; for a wider format in memory there are two for each.
    pub const fn surfaces(&self) -> u32 {
        cube::surfaces(self.channels, self.lanes())
    }

    /// Steps of each surface: its pixels, those of all cubes.
    pub const fn steps(&self) -> u64 {
        self.order.cubes() as u64 * self.width as u64 * self.height as u64
    }

    /// Returns the order in which pixels of several cubes pass; `None` for other orders.
    pub fn pairs(&self) -> Option<Pairs> {
        match (self.order, self.destination) {
            (Order::Cubes(cubes), Destination::Memory(surface)) => {
                let place = [surface.base as u32, surface.line_stride, surface.surface_stride];
                Some(Pairs::new(cubes, [self.width, self.height], place, surface.atom))
            }
            _ => None,
        }
    }

    /// Returns true if results are written or passed on; a comparison (`EQL`) does neither.
    pub fn has_output(&self) -> bool {
        !matches!(
            self.ew,
            Some(Elementwise {
                alu: Some(ElementwiseAlu { operation: ElementwiseOperation::Equal, .. }),
                ..
            })
        )
    }

    /// Returns true if SDP_RDMA takes part: input or an operand comes from memory.
    pub fn uses_rdma(&self) -> bool {
        matches!(self.source, SdpSource::Memory(_)) || self.reads_operands()
    }

    /// True if an operand comes from memory.
    pub fn reads_operands(&self) -> bool {
        self.bs.is_some_and(|stage| stage.operands.is_some())
            || self.bn.is_some_and(|stage| stage.operands.is_some())
            || self.ew.is_some_and(|stage| stage.operands.is_some())
    }
}
