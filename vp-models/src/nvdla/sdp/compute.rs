//! SDP's arithmetic: one atom at a time, or a whole cube.
//!
//! [`Datapath`] is what the timed engine drives: an atom of input and its operands in, an atom of output out, with no
//! allocation. [`run`] does whole cubes with it. Knows neither time nor registers nor addresses.
//!
//! The order is input, BS, BN, EW, output converter. Values are 32 bits between stages.

use crate::nvdla::cube::Cube;
use crate::nvdla::numeric::{Precision, round_shift, saturate, saturate_32, shift_left};

use super::layer::{
    AluOperation, Elementwise, ElementwiseOperand, ElementwiseOperation, Layer, Operand, OperandStream, Stage,
};
use super::lut::{self, Lut, Tables};

/// The largest value the output converter's shifter delivers.
const MAX_17: i64 = (1 << 16) - 1;

/// What the statistics registers count, and the outcome of a comparison.
///
/// Lanes beyond the channel count are counted like real ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// `D_PERF_OUT_SATURATION`: results beyond the converter's 17 bits. The clamp to 8 or 16 bits behind it is not
    /// counted.
    pub out_saturation: u64,
    /// `D_PERF_LUT_*`.
    pub lut: lut::Counters,
    /// `D_STATUS`: a comparison (`EQL`) found a difference.
    pub unequal: bool,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.out_saturation += other.out_saturation;
        self.lut += other.lut;
        self.unequal |= other.unequal;
    }
}

/// The memory operands of one atom, as they lie in memory; empty for stages without memory operands.
///
/// Lengths are [`OperandStream::group_bytes`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Operands<'a> {
    /// For stage BS.
    pub bs: &'a [u8],
    /// For stage BN.
    pub bn: &'a [u8],
    /// For the element-wise stage.
    pub ew: &'a [u8],
}

/// One layer's arithmetic, ready to stream atoms through.
#[derive(Clone, Copy, Debug)]
pub struct Datapath<'a> {
    layer: &'a Layer,
    tables: &'a Tables,
}

impl<'a> Datapath<'a> {
    /// Prepares a checked layer. `tables` is only looked at if the layer uses the lookup table.
    pub fn new(layer: &'a Layer, tables: &'a Tables) -> Self {
        Datapath { layer, tables }
    }

    /// One atom that came from memory. `input` and `output` are one atom long; a comparison leaves `output` alone.
    ///
    /// Panics if a length is not the layer's.
    pub fn memory_atom(&self, input: &[u8], operands: &Operands<'_>, output: &mut [u8]) -> Counters {
        assert_eq!(input.len(), self.layer.atom, "bytes of input");
        match self.layer.precision {
            Precision::Int8 => {
                self.atom(input.iter().map(|&byte| i32::from(byte.cast_signed())), operands, output)
            }
            Precision::Int16 | Precision::Fp16 => self.atom(
                input.chunks_exact(2).map(|pair| i32::from(i16::from_le_bytes([pair[0], pair[1]]))),
                operands,
                output,
            ),
        }
    }

    /// One atom that came from the convolution accumulator, one value a lane. Otherwise as
    /// [`Datapath::memory_atom`].
    pub fn accumulator_atom(&self, input: &[i32], operands: &Operands<'_>, output: &mut [u8]) -> Counters {
        assert_eq!(input.len(), self.layer.lanes(), "lanes of input");
        self.atom(input.iter().copied(), operands, output)
    }

    fn atom(&self, input: impl Iterator<Item = i32>, operands: &Operands<'_>, output: &mut [u8]) -> Counters {
        let Layer { atom, precision, bs, bn, ew, .. } = self.layer;
        assert_eq!(output.len(), *atom, "bytes of output");
        let has_output = self.layer.has_output();
        let mut counters = Counters::default();
        for (lane, mut value) in input.enumerate() {
            if let Some(stage) = bs {
                value = stage.apply(value, lane, operands.bs);
            }
            if let Some(stage) = bn {
                value = stage.apply(value, lane, operands.bn);
            }
            if let Some(stage) = ew {
                value = stage.apply(value, lane, operands.ew, self.tables, &mut counters);
            }
            if has_output {
                let value = self.convert(value, &mut counters.out_saturation);
                match precision {
                    Precision::Int8 => output[lane] = saturate(value, 8) as u8,
                    Precision::Int16 | Precision::Fp16 => {
                        output[2 * lane..][..2].copy_from_slice(&(saturate(value, 16) as i16).to_le_bytes());
                    }
                }
            }
        }
        counters
    }

    /// The output converter up to its 17-bit clamp.
    #[inline]
    fn convert(&self, value: i32, saturated: &mut u64) -> i64 {
        let converter = self.layer.converter;
        let scaled = converter.scaled(value);
        let rounded = round_shift(scaled, converter.shift.into());
        // The saturation detector looks at negative values before they are rounded.
        let beyond = rounded > MAX_17 || (scaled >> converter.shift) < -MAX_17 - 1;
        *saturated += u64::from(beyond);
        saturate(rounded, 17)
    }
}

impl OperandStream {
    /// The operand at `offset` of a lane's.
    #[inline]
    fn operand(&self, group: &[u8], lane: usize, offset: usize) -> i16 {
        let at = lane * self.element_bytes() + offset;
        match self.operand_bytes {
            1 => i16::from(group[at].cast_signed()),
            _ => i16::from_le_bytes([group[at], group[at + 1]]),
        }
    }

    #[inline]
    fn alu(stream: Option<&Self>, group: &[u8], lane: usize) -> i16 {
        stream.map_or(0, |stream| stream.operand(group, lane, stream.alu_offset()))
    }

    #[inline]
    fn multiplier(stream: Option<&Self>, group: &[u8], lane: usize) -> i16 {
        stream.map_or(0, |stream| stream.operand(group, lane, stream.multiplier_offset()))
    }
}

impl AluOperation {
    #[inline]
    fn apply(self, data: i32, operand: i32) -> i64 {
        match self {
            AluOperation::Max => i64::from(data.max(operand)),
            AluOperation::Min => i64::from(data.min(operand)),
            AluOperation::Sum => i64::from(data) + i64::from(operand),
        }
    }
}

impl Stage {
    #[inline]
    fn apply(&self, value: i32, lane: usize, operands: &[u8]) -> i32 {
        let stream = self.operands.as_ref();
        let summed = match self.alu {
            None => i64::from(value),
            Some(alu) => {
                let operand = match alu.operand {
                    Operand::Register(operand) => operand,
                    Operand::Memory => OperandStream::alu(stream, operands, lane),
                };
                alu.operation.apply(value, saturate_32(shift_left(operand.into(), alu.shift.into())))
            }
        };
        let scaled = match self.multiplier {
            None => saturate_32(round_shift(summed, self.shift.into())),
            // PReLU's untouched values pass around the shifter and its clamp: 33 bits are cut to 32.
            Some(multiplier) if multiplier.prelu && summed >= 0 => summed as i32,
            Some(multiplier) => {
                let factor = match multiplier.operand {
                    Operand::Register(factor) => factor,
                    Operand::Memory => OperandStream::multiplier(stream, operands, lane),
                };
                saturate_32(round_shift(summed * i64::from(factor), self.shift.into()))
            }
        };
        if self.relu { scaled.max(0) } else { scaled }
    }
}

impl ElementwiseOperand {
    #[inline]
    fn value(self, memory: impl FnOnce() -> i16) -> i32 {
        match self {
            ElementwiseOperand::Register(value) => value,
            ElementwiseOperand::Memory(None) => memory().into(),
            ElementwiseOperand::Memory(Some(converter)) => saturate_32(converter.apply(memory().into())),
        }
    }
}

impl Elementwise {
    #[inline]
    fn apply(
        &self,
        value: i32,
        lane: usize,
        operands: &[u8],
        tables: &Tables,
        counters: &mut Counters,
    ) -> i32 {
        let stream = self.operands.as_ref();
        let scaled = match self.multiplier {
            None => value,
            Some(multiplier) if multiplier.prelu && value >= 0 => value,
            Some(multiplier) => {
                let factor = multiplier.operand.value(|| OperandStream::multiplier(stream, operands, lane));
                saturate_32(round_shift(i64::from(value) * i64::from(factor), multiplier.shift.into()))
            }
        };
        let summed = match self.alu {
            None => scaled,
            Some(alu) => {
                let operand = alu.operand.value(|| OperandStream::alu(stream, operands, lane));
                match alu.operation {
                    ElementwiseOperation::Alu(operation) => saturate_32(operation.apply(scaled, operand)),
                    ElementwiseOperation::Equal => {
                        counters.unequal |= scaled != operand;
                        i32::from(scaled != operand)
                    }
                }
            }
        };
        match &self.lut {
            None => summed,
            Some(settings) => Lut { settings, tables }.lookup(summed, &mut counters.lut),
        }
    }
}

/// Input of a whole layer.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A cube from memory.
    Memory(&'a Cube),
    /// Accumulator values, `[surface][y][x][lane]`.
    Accumulator(&'a [i32]),
}

/// Memory operands of a whole layer: one "atom" is one [`OperandStream::group_bytes`]. Cubes of one pixel where there
/// is one value a channel.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperandCubes<'a> {
    /// For stage BS.
    pub bs: Option<&'a Cube>,
    /// For stage BN.
    pub bn: Option<&'a Cube>,
    /// For the element-wise stage.
    pub ew: Option<&'a Cube>,
}

/// Runs a whole layer. The output is all zeros when the layer only compares.
///
/// Panics if a cube's shape is not the layer's.
pub fn run(
    layer: &Layer,
    tables: &Tables,
    input: Input<'_>,
    operands: &OperandCubes<'_>,
) -> (Cube, Counters) {
    let datapath = Datapath::new(layer, tables);
    let mut output = Cube::new(layer.width, layer.height, layer.surfaces(), layer.atom);
    let mut counters = Counters::default();
    let lanes = layer.lanes();
    for (index, (surface, x, y)) in output.coordinates().enumerate() {
        let operands = Operands {
            bs: group_of(operands.bs, layer.bs.and_then(|stage| stage.operands), (surface, x, y)),
            bn: group_of(operands.bn, layer.bn.and_then(|stage| stage.operands), (surface, x, y)),
            ew: group_of(operands.ew, layer.ew.and_then(|stage| stage.operands), (surface, x, y)),
        };
        let atom = output.atom_mut(surface, x, y);
        counters += match input {
            Input::Memory(cube) => datapath.memory_atom(cube.atom(surface, x, y), &operands, atom),
            Input::Accumulator(values) => {
                datapath.accumulator_atom(&values[index * lanes..][..lanes], &operands, atom)
            }
        };
    }
    (output, counters)
}

fn group_of(cube: Option<&Cube>, stream: Option<OperandStream>, (surface, x, y): (u32, u32, u32)) -> &[u8] {
    match (cube, stream) {
        (Some(cube), Some(OperandStream { per_element: true, .. })) => cube.atom(surface, x, y),
        (Some(cube), Some(OperandStream { per_element: false, .. })) => cube.atom(surface, 0, 0),
        _ => &[],
    }
}
