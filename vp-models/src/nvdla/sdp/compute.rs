//! SDP's arithmetic: one atom at a time, or a whole cube.
//!
//! The timed engine uses [`Datapath`]: it takes atoms of input and their operands and gives atoms of output,
//! with no allocation, one stage over all of them at a time. [`run`] does whole cubes with it. This module has
//! no time, registers or addresses.
//!
//! The order is input, BS, BN, EW, output converter. Values are 32 bits between stages: integers, or the codes
//! of binary32 numbers, whose stages are in `float`.

use crate::nvdla::cube::Cube;
use crate::nvdla::float::{Fp16, Fp32, SpecialCounts};
use crate::nvdla::numeric::{Converter, Precision, round_shift, saturate_32, shift_left};
use crate::nvdla::vector::widest;

use super::atom::{AtomCounters, AtomOperands};
use super::float;
use super::layer::{
    AluOperation, Destination, Elementwise, ElementwiseOperand, ElementwiseOperation, Operand, OperandStream,
    SdpLayer, Stage, StageMultiplier,
};
use super::lut::{Lut, Tables};

/// The largest value the output converter's shifter delivers.
const MAX_17: i64 = (1 << 16) - 1;

/// The most elements of an atom.
const MAX_LANES: usize = 64;

/// One layer's arithmetic, ready to stream atoms through.
#[derive(Clone, Copy, Debug)]
pub struct Datapath<'a> {
    layer: &'a SdpLayer,
    tables: &'a Tables,
}

impl<'a> Datapath<'a> {
    /// Prepares a checked layer. `tables` is only looked at if the layer uses the lookup table.
    pub fn new(layer: &'a SdpLayer, tables: &'a Tables) -> Self {
        Datapath { layer, tables }
    }

    /// One step of input from memory: an atom, or two where the input is wider than the processed format; the
    /// same holds for the output. A comparison leaves `output` unchanged.
    ///
    /// Panics if a length is not the layer's.
    pub fn memory_atom(&self, input: &[u8], operands: &AtomOperands<'_>, output: &mut [u8]) -> AtomCounters {
        let SdpLayer { input: format, .. } = *self.layer;
        let lanes = self.layer.lanes();
        assert_eq!(input.len(), lanes * format.bytes(), "bytes of input");
        let mut values = [0; MAX_LANES];
        let mut counters = AtomCounters::default();
        match format {
            Precision::Int8 => {
                for (value, &byte) in values.iter_mut().zip(input) {
                    *value = i32::from(byte.cast_signed());
                }
            }
            Precision::Int16 => {
                for (value, pair) in values.iter_mut().zip(input.as_chunks().0) {
                    *value = i32::from(i16::from_le_bytes(*pair));
                }
            }
            Precision::Fp16 => {
                counters.input = SpecialCounts::of(input);
                for (value, &pair) in values.iter_mut().zip(input.as_chunks().0) {
                    *value = Fp32::bits(Fp16::from_bytes(pair).widened()).cast_signed();
                }
            }
        }
        counters += widest(|| self.atoms(&mut values[..lanes], operands, output));
        counters.unequal = self.is_unequal(&values[..lanes], output);
        counters
    }

    /// Steps of input from the convolution accumulator, one value a lane, all with the same operands. The
    /// values are overwritten. Otherwise like [`Datapath::memory_atom`].
    pub fn accumulator_atoms(
        &self,
        input: &mut [i32],
        operands: &AtomOperands<'_>,
        output: &mut [u8],
    ) -> AtomCounters {
        assert_eq!(input.len() % self.layer.lanes(), 0, "lanes of input");
        let mut counters = widest(|| self.atoms(input, operands, output));
        counters.unequal = self.is_unequal(input, output);
        counters
    }

    /// Returns true if a byte for the write DMA is not 0. It gets the outcome of a comparison, too, which it does not write, and nothing
    /// of what goes to PDP (RTL, `NV_NVDLA_SDP_HLS_c.v`, `cfg_mode_eql`; `NV_NVDLA_SDP_core.v`, `core2wdma_pd`).
    fn is_unequal(&self, values: &[i32], output: &[u8]) -> bool {
        let layer = self.layer;
        match layer.destination {
            Destination::Pooling => false,
            Destination::Memory(_) if layer.has_output() => output.iter().any(|&byte| byte != 0),
            Destination::Memory(_) => {
                let beyond = 32 - 8 * layer.output.bytes() as u32;
                values.iter().any(|value| value << beyond != 0)
            }
        }
    }

    #[inline(always)]
    fn atoms(&self, values: &mut [i32], operands: &AtomOperands<'_>, output: &mut [u8]) -> AtomCounters {
        let SdpLayer { output: format, bs, bn, ew, .. } = self.layer;
        let lanes = self.layer.lanes();
        assert_eq!(output.len(), values.len() * format.bytes(), "bytes of output");
        if self.layer.precision == Precision::Fp16 {
            return float::atoms(self.layer, self.tables, values, operands, output);
        }
        let mut counters = AtomCounters::default();
        if let Some(stage) = bs {
            stage.apply(values, lanes, operands.bs);
        }
        if let Some(stage) = bn {
            stage.apply(values, lanes, operands.bn);
        }
        if let Some(stage) = ew {
            for atom in values.chunks_exact_mut(lanes) {
                for (lane, value) in atom.iter_mut().enumerate() {
                    *value = stage.apply(*value, lane, operands.ew, self.tables, &mut counters);
                }
            }
        }
        if self.layer.has_output() {
            self.convert(values, output, &mut counters);
        }
        counters
    }

    /// Returns true if 32 bits hold all values when they are scaled, as they mostly do.
    #[inline(always)]
    fn is_narrow(&self, values: &[i32]) -> bool {
        let Converter { offset, scale, shift } = self.layer.converter;
        let extent = |value: i32| (i64::from(value) - i64::from(offset)).unsigned_abs();
        let (least, most) = values
            .iter()
            .fold((i32::MAX, i32::MIN), |(least, most), &value| (least.min(value), most.max(value)));
        let largest = extent(least).max(extent(most)) * u64::from(scale.unsigned_abs());
        (1..31).contains(&shift) && largest < 1 << 31
    }

    /// The output converter. Counts what its 17-bit clamp changes by more than one.
    #[inline(always)]
    fn convert(&self, values: &[i32], output: &mut [u8], counters: &mut AtomCounters) {
        let Converter { offset, scale, shift } = self.layer.converter;
        if self.layer.output == Precision::Int8 && self.is_narrow(values) {
            counters.out_saturation = store_narrow(values, output, (offset, i32::from(scale), shift));
            return;
        }
        let scaled = |value: i32| (i64::from(value) - i64::from(offset)) * i64::from(scale);
        if self.layer.output == Precision::Fp16 {
            let converted = values.iter().map(|&value| {
                let rounded = round_shift(scaled(value), shift.into());
                Fp16::from_integer(rounded.clamp(-MAX_17 - 1, MAX_17) as i32)
            });
            return float::store(converted, output, counters);
        }
        counters.out_saturation = match (shift, self.layer.output) {
            (0, Precision::Int8) => store_int8(values, output, scaled),
            (0, _) => store_int16(values, output, scaled),
            (_, Precision::Int8) => store_int8(values, output, |value| rounded(scaled(value), shift)),
            _ => store_int16(values, output, |value| rounded(scaled(value), shift)),
        };
    }
}

/// [`round_shift`] by 1 to 63 of values that are not the lowest of 64 bits.
#[inline(always)]
fn rounded(value: i64, shift: u8) -> i64 {
    let lower = value - i64::from(value < 0);
    (lower >> shift) + ((lower >> (shift - 1)) & 1)
}

/// Returns 1 if the 17-bit clamp changes a value by more than one, else 0: what the C-model counts.
#[inline(always)]
fn beyond_17(rounded: i64) -> u64 {
    u64::from(!(-MAX_17 - 2..=MAX_17 + 1).contains(&rounded))
}

/// Stores converted and rounded values; counts those that 17 bits are not enough for.
#[inline(always)]
fn store_int8(values: &[i32], output: &mut [u8], convert: impl Fn(i32) -> i64) -> u64 {
    let mut saturated = 0;
    for (byte, &value) in output.iter_mut().zip(values) {
        let rounded = convert(value);
        saturated += beyond_17(rounded);
        *byte = rounded.clamp(i8::MIN.into(), i8::MAX.into()) as u8;
    }
    saturated
}

/// [`store_int8`] of values that 32 bits hold when they are scaled, as few instructions can do it. (The offset itself may
/// need more, but not what it leaves.)
#[inline(always)]
fn store_narrow(values: &[i32], output: &mut [u8], (offset, scale, shift): (i32, i32, u8)) -> u64 {
    const MAX: i32 = MAX_17 as i32;
    let mut saturated = 0u32;
    for (byte, &value) in output.iter_mut().zip(values) {
        let scaled = value.wrapping_sub(offset).wrapping_mul(scale);
        let lower = scaled - i32::from(scaled < 0);
        let rounded = (lower >> shift) + ((lower >> (shift - 1)) & 1);
        saturated += u32::from(!(-MAX - 2..=MAX + 1).contains(&rounded));
        *byte = rounded.clamp(i8::MIN.into(), i8::MAX.into()) as u8;
    }
    saturated.into()
}

/// Stores converted and rounded values, two bytes each; counts those that 17 bits are not enough for.
#[inline(always)]
fn store_int16(values: &[i32], output: &mut [u8], convert: impl Fn(i32) -> i64) -> u64 {
    let mut saturated = 0;
    for (pair, &value) in output.as_chunks_mut().0.iter_mut().zip(values) {
        let rounded = convert(value);
        saturated += beyond_17(rounded);
        *pair = (rounded.clamp(i16::MIN.into(), i16::MAX.into()) as i16).to_le_bytes();
    }
    saturated
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
    pub(super) fn alu(stream: Option<&Self>, group: &[u8], lane: usize) -> i16 {
        stream.map_or(0, |stream| stream.operand(group, lane, stream.alu_offset()))
    }

    #[inline]
    pub(super) fn multiplier(stream: Option<&Self>, group: &[u8], lane: usize) -> i16 {
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
    /// Applies the stage to atoms that have the same operands.
    #[inline(always)]
    fn apply(&self, values: &mut [i32], lanes: usize, operands: &[u8]) {
        let stream = self.operands.as_ref();
        let (mut addends, mut factors) = ([0; MAX_LANES], [0; MAX_LANES]);
        if let Some(alu) = self.alu {
            for (lane, addend) in addends[..lanes].iter_mut().enumerate() {
                let operand = match alu.operand {
                    Operand::Register(operand) => operand,
                    Operand::Memory => OperandStream::alu(stream, operands, lane),
                };
                *addend = saturate_32(shift_left(operand.into(), alu.shift.into()));
            }
        }
        if let Some(multiplier) = self.multiplier {
            for (lane, factor) in factors[..lanes].iter_mut().enumerate() {
                let operand = match multiplier.operand {
                    Operand::Register(factor) => factor,
                    Operand::Memory => OperandStream::multiplier(stream, operands, lane),
                };
                *factor = i64::from(operand);
            }
        }
        let operands = (&addends[..lanes], &factors[..lanes]);
        match self.alu.map(|alu| alu.operation) {
            None => self.scale(values, operands, |value, _| value.into()),
            Some(AluOperation::Max) => self.scale(values, operands, |value, it| value.max(it).into()),
            Some(AluOperation::Min) => self.scale(values, operands, |value, it| value.min(it).into()),
            // What 32 bits saturate at is what the sum of 33 is clamped to.
            Some(AluOperation::Sum) if self.multiplier.is_none() && self.shift == 0 => {
                each(values, operands, |value, it, _| value.saturating_add(it));
            }
            Some(AluOperation::Sum) => {
                self.scale(values, operands, |value, it| i64::from(value) + i64::from(it));
            }
        }
        if self.relu {
            values.iter_mut().for_each(|value| *value = (*value).max(0));
        }
    }

    /// Multiplier and shift behind the ALU, which is `alu`.
    #[inline(always)]
    fn scale(&self, values: &mut [i32], operands: (&[i32], &[i64]), alu: impl Fn(i32, i32) -> i64) {
        let shift = self.shift;
        match self.multiplier {
            None if shift == 0 => each(values, operands, |value, addend, _| saturate_32(alu(value, addend))),
            None => {
                each(values, operands, |value, addend, _| saturate_32(rounded(alu(value, addend), shift)));
            }
            Some(StageMultiplier { prelu, .. }) => each(values, operands, |value, addend, factor| {
                let summed = alu(value, addend);
                // PReLU's untouched values pass around the shifter and its clamp: 33 bits are cut to 32.
                if prelu && summed >= 0 {
                    return summed as i32;
                }
                saturate_32(round_shift(summed * factor, shift.into()))
            }),
        }
    }
}

/// Each lane of each atom, with its operands.
#[inline(always)]
fn each(values: &mut [i32], (addends, factors): (&[i32], &[i64]), f: impl Fn(i32, i32, i64) -> i32) {
    for atom in values.chunks_exact_mut(addends.len()) {
        for ((value, &addend), &factor) in atom.iter_mut().zip(addends).zip(factors) {
            *value = f(*value, addend, factor);
        }
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
        counters: &mut AtomCounters,
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
                    ElementwiseOperation::Equal => i32::from(scaled != operand),
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
    /// Operands of stage BS.
    pub bs: Option<&'a Cube>,
    /// Operands of stage BN.
    pub bn: Option<&'a Cube>,
    /// Operands of the element-wise stage.
    pub ew: Option<&'a Cube>,
}

/// Runs a whole layer. In its cubes an atom holds all lanes that are processed together, even if their format
/// is wider than the processed one. The output is all zeros when the layer only compares.
///
/// Panics if a cube's shape is not the layer's.
pub fn run(
    layer: &SdpLayer,
    tables: &Tables,
    input: Input<'_>,
    operands: &OperandCubes<'_>,
) -> (Cube, AtomCounters) {
    let datapath = Datapath::new(layer, tables);
    let bytes = layer.lanes() * layer.output.bytes();
    let mut output = Cube::new(layer.width, layer.height, layer.surfaces(), bytes);
    let mut counters = AtomCounters::default();
    let lanes = layer.lanes();
    for (index, (surface, x, y)) in output.coordinates().enumerate() {
        let operands = AtomOperands {
            bs: group_of(operands.bs, layer.bs.and_then(|stage| stage.operands), (surface, x, y)),
            bn: group_of(operands.bn, layer.bn.and_then(|stage| stage.operands), (surface, x, y)),
            ew: group_of(operands.ew, layer.ew.and_then(|stage| stage.operands), (surface, x, y)),
        };
        let atom = output.atom_mut(surface, x, y);
        counters += match input {
            Input::Memory(cube) => datapath.memory_atom(cube.atom(surface, x, y), &operands, atom),
            Input::Accumulator(values) => {
                let mut sums = [0; MAX_LANES];
                sums[..lanes].copy_from_slice(&values[index * lanes..][..lanes]);
                datapath.accumulator_atoms(&mut sums[..lanes], &operands, atom)
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

#[cfg(test)]
mod tests;
