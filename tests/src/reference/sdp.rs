//! SDP: every element goes through the stages that are switched on, then the output converter.

use super::{Cube, CubePlace, Format, Image, Lut, saturate, shift_rounding};

/// One layer of SDP from memory, to memory or PDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SdpLayer {
    /// Of input and output.
    pub format: Format,
    /// Pixels in a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Channels.
    pub channels: u32,
    /// The input.
    pub source: CubePlace,
    /// First stage.
    pub bs: Option<Stage>,
    /// Second stage.
    pub bn: Option<Stage>,
    /// Third stage.
    pub ew: Option<Elementwise>,
    /// Last step.
    pub converter: Converter,
    /// The output; none when it goes to PDP.
    pub destination: Option<CubePlace>,
}

/// `(x - offset) * scale >> shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Converter {
    /// Subtracted first.
    pub offset: i32,
    /// Multiplied with.
    pub scale: i16,
    /// Shifted right by, 0 to 63.
    pub shift: u32,
}

impl Converter {
    /// Leaves values as they are.
    pub const NONE: Converter = Converter { offset: 0, scale: 1, shift: 0 };

    pub(super) fn apply(self, value: i32) -> i128 {
        let scaled = (i128::from(value) - i128::from(self.offset)) * i128::from(self.scale);
        shift_rounding(scaled, self.shift as i32)
    }
}

/// Operation of an ALU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    /// The larger.
    Max,
    /// The smaller.
    Min,
    /// The sum.
    Sum,
}

impl Alu {
    fn apply(self, value: i128, operand: i128) -> i128 {
        match self {
            Alu::Max => value.max(operand),
            Alu::Min => value.min(operand),
            Alu::Sum => value + operand,
        }
    }
}

/// Source of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// One operand for all elements.
    Register(i16),
    /// The stage's memory operands.
    Memory,
}

/// First or second stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// First step.
    pub alu: Option<StageAlu>,
    /// Second step.
    pub multiplier: Option<StageMultiplier>,
    /// Right shift behind the multiplier, 0 to 63.
    pub shift: u32,
    /// Last step.
    pub relu: bool,
    /// Operands in memory.
    pub operands: Option<Operands>,
}

/// ALU of the first or second stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageAlu {
    /// Operation of the ALU.
    pub operation: Alu,
    /// Operand of the operation.
    pub operand: Operand,
    /// The operand is shifted left by this, 0 to 63.
    pub shift: u32,
}

/// Multiplier of the first or second stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageMultiplier {
    /// The factor.
    pub operand: Operand,
    /// Only negative values are multiplied and shifted.
    pub prelu: bool,
}

/// Operands that memory holds for each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// The multiplier's.
    Multiplier,
    /// The ALU's.
    Alu,
    /// The ALU's, then the multiplier's.
    Both,
}

/// Operands in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands {
    /// Operands that the stream carries.
    pub carries: Carries,
    /// Bytes of one: 1 or 2.
    pub bytes: u32,
    /// One set for each element instead of each channel.
    pub per_element: bool,
    /// Place of the operands; per channel only the base counts.
    pub place: CubePlace,
}

impl Operands {
    /// Bytes of an element's operands.
    pub fn set_bytes(&self) -> u32 {
        match self.carries {
            Carries::Both => 2 * self.bytes,
            _ => self.bytes,
        }
    }

    /// The operands of one element lie together; those of one pixel's lanes follow each other.
    fn address(&self, layer: &SdpLayer, [channel, y, x]: [u32; 3]) -> u64 {
        let set = self.set_bytes();
        if !self.per_element {
            return self.place.base + u64::from(channel) * u64::from(set);
        }
        let pixel = layer.format.lanes() * set;
        let single = layer.width == 1 && layer.height == 1;
        self.place.packed_if(single, pixel).address(Format { atom: pixel, element: set }, channel, y, x)
    }

    pub(super) fn alu(&self, layer: &SdpLayer, image: &Image, at: [u32; 3]) -> i32 {
        image.element(self.address(layer, at), self.bytes)
    }

    pub(super) fn multiplier(&self, layer: &SdpLayer, image: &Image, at: [u32; 3]) -> i32 {
        let behind_the_alus = if self.carries == Carries::Both { self.bytes } else { 0 };
        image.element(self.address(layer, at) + u64::from(behind_the_alus), self.bytes)
    }
}

/// Third stage: multiplier, ALU, lookup table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elementwise {
    /// First step.
    pub multiplier: Option<ElementwiseMultiplier>,
    /// Second step.
    pub alu: Option<ElementwiseAlu>,
    /// Third step.
    pub lut: bool,
    /// Operands in memory.
    pub operands: Option<Operands>,
}

/// Source of an operand of the third stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementwiseOperand {
    /// One operand for all elements.
    Register(i32),
    /// The stage's memory operands, perhaps converted.
    Memory(Option<Converter>),
}

impl ElementwiseOperand {
    fn value(self, from_memory: impl FnOnce() -> i32) -> i128 {
        match self {
            ElementwiseOperand::Register(value) => value.into(),
            ElementwiseOperand::Memory(None) => from_memory().into(),
            ElementwiseOperand::Memory(Some(converter)) => saturate(converter.apply(from_memory()), 32),
        }
    }
}

/// Multiplier of the third stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementwiseMultiplier {
    /// The factor.
    pub operand: ElementwiseOperand,
    /// Right shift of the product, 0 to 1023.
    pub shift: u32,
    /// Only negative values are multiplied and shifted.
    pub prelu: bool,
}

/// ALU of the third stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementwiseAlu {
    /// Operation of the ALU.
    pub operation: Alu,
    /// Operand of the operation.
    pub operand: ElementwiseOperand,
}

impl SdpLayer {
    /// The results of all lanes.
    pub(super) fn results(&self, lut: &Lut, image: &Image) -> Cube {
        let single = self.width == 1 && self.height == 1;
        let source = self.source.packed_if(single, self.format.atom);
        self.results_of(lut, image, |channel, y, x| {
            image.element(source.address(self.format, channel, y, x), self.format.element)
        })
    }

    /// The results of all lanes from an input that is not in memory.
    pub(super) fn results_of(&self, lut: &Lut, image: &Image, input: impl Fn(u32, u32, u32) -> i32) -> Cube {
        Cube::of(self.width, self.height, self.format.whole(self.channels), |channel, y, x| {
            let at = [channel, y, x];
            let mut value = input(channel, y, x);
            for stage in [self.bs, self.bn].into_iter().flatten() {
                value = self.stage(&stage, image, at, value);
            }
            if let Some(ew) = self.ew {
                value = self.elementwise(&ew, lut, image, at, value);
            }
            saturate(saturate(self.converter.apply(value), 17), 8 * self.format.element) as i32
        })
    }

    fn stage(&self, stage: &Stage, image: &Image, at: [u32; 3], value: i32) -> i32 {
        let memory = || stage.operands.expect("operands in memory");
        let mut value = i128::from(value);
        if let Some(alu) = stage.alu {
            let operand = match alu.operand {
                Operand::Register(value) => value.into(),
                Operand::Memory => memory().alu(self, image, at),
            };
            let operand = saturate(i128::from(operand) << alu.shift, 32);
            value = alu.operation.apply(value, operand);
        }
        let passed = stage.multiplier.is_some_and(|multiplier| multiplier.prelu) && value >= 0;
        let mut value = if passed {
            value as i32
        } else {
            let factor = match stage.multiplier.map(|multiplier| multiplier.operand) {
                None => 1,
                Some(Operand::Register(factor)) => factor.into(),
                Some(Operand::Memory) => memory().multiplier(self, image, at),
            };
            saturate(shift_rounding(value * i128::from(factor), stage.shift as i32), 32) as i32
        };
        if stage.relu && value < 0 {
            value = 0;
        }
        value
    }

    fn elementwise(&self, ew: &Elementwise, lut: &Lut, image: &Image, at: [u32; 3], value: i32) -> i32 {
        let memory = || ew.operands.expect("operands in memory");
        let mut value = value;
        if let Some(multiplier) = ew.multiplier {
            let factor = multiplier.operand.value(|| memory().multiplier(self, image, at));
            if !(multiplier.prelu && value >= 0) {
                let product = shift_rounding(i128::from(value) * factor, multiplier.shift as i32);
                value = saturate(product, 32) as i32;
            }
        }
        if let Some(alu) = ew.alu {
            let operand = alu.operand.value(|| memory().alu(self, image, at));
            value = saturate(alu.operation.apply(value.into(), operand), 32) as i32;
        }
        if ew.lut { lut.look_up(value) } else { value }
    }
}
