//! SDP's arithmetic: one atom at a time, or a whole cube.
//!
//! [`Datapath`] is what the timed engine drives: atoms of input and their operands in, atoms of output out, with no
//! allocation, a stage over all of them at a time. [`run`] does whole cubes with it. Knows neither time nor registers nor addresses.
//!
//! The order is input, BS, BN, EW, output converter. Values are 32 bits between stages: integers, or the codes of
//! binary32 numbers, of which `float` knows the stages.

use crate::nvdla::cube::Cube;
use crate::nvdla::float::{Fp16, Fp32, Specials};
use crate::nvdla::numeric::{Converter, Precision, round_shift, saturate_32, shift_left};
use crate::nvdla::vector::widest;

use super::float;
use super::layer::{
    AluOperation, Elementwise, ElementwiseOperand, ElementwiseOperation, Layer, Operand, OperandStream,
    Stage, StageMultiplier,
};
use super::lut::{self, Lut, Tables};

/// The largest value the output converter's shifter delivers.
const MAX_17: i64 = (1 << 16) - 1;

/// The most elements of an atom.
const MAX_LANES: usize = 64;

/// What the statistics registers count, and the outcome of a comparison.
///
/// Lanes beyond the channel count are counted like real ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// `D_PERF_OUT_SATURATION`: results beyond the converter's 17 bits. The clamp to 8 or 16 bits behind it is not
    /// counted. Of fp16 output: the largest numbers, whatever made them.
    pub out_saturation: u64,
    /// `D_PERF_LUT_*`.
    pub lut: lut::Counters,
    /// `D_STATUS_NAN_INPUT_NUM` and `D_STATUS_INF_INPUT_NUM` of SDP_RDMA: of what came from memory, before it is
    /// flushed.
    pub input: Specials,
    /// `D_STATUS_NAN_OUTPUT_NUM`: results that are not numbers.
    pub nan_output: u64,
    /// `D_STATUS`: a comparison (`EQL`) found a difference.
    pub unequal: bool,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.out_saturation += other.out_saturation;
        self.lut += other.lut;
        self.input += other.input;
        self.nan_output += other.nan_output;
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

    /// One step of input that came from memory: an atom, or two where the input is wider than what is processed;
    /// the output likewise. A comparison leaves `output` alone.
    ///
    /// Panics if a length is not the layer's.
    pub fn memory_atom(&self, input: &[u8], operands: &Operands<'_>, output: &mut [u8]) -> Counters {
        let Layer { input: format, .. } = *self.layer;
        let lanes = self.layer.lanes();
        assert_eq!(input.len(), lanes * format.bytes(), "bytes of input");
        let mut values = [0; MAX_LANES];
        let mut counters = Counters::default();
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
                counters.input = Specials::of(input);
                for (value, &pair) in values.iter_mut().zip(input.as_chunks().0) {
                    *value = Fp32::bits(Fp16::from_bytes(pair).widened()).cast_signed();
                }
            }
        }
        counters += widest(|| self.atoms(&mut values[..lanes], operands, output));
        counters
    }

    /// Steps that came from the convolution accumulator, one value a lane, and all have the same operands. The values
    /// are lost. Otherwise as [`Datapath::memory_atom`].
    pub fn accumulator_atoms(
        &self,
        input: &mut [i32],
        operands: &Operands<'_>,
        output: &mut [u8],
    ) -> Counters {
        assert_eq!(input.len() % self.layer.lanes(), 0, "lanes of input");
        widest(|| self.atoms(input, operands, output))
    }

    #[inline(always)]
    fn atoms(&self, values: &mut [i32], operands: &Operands<'_>, output: &mut [u8]) -> Counters {
        let Layer { output: format, bs, bn, ew, .. } = self.layer;
        let lanes = self.layer.lanes();
        assert_eq!(output.len(), values.len() * format.bytes(), "bytes of output");
        if self.layer.precision == Precision::Fp16 {
            return float::atoms(self.layer, self.tables, values, operands, output);
        }
        let mut counters = Counters::default();
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

    /// Whether 32 bits hold all values when they are scaled, as they mostly do.
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

    /// The output converter. Counts what its 17-bit clamp changes.
    #[inline(always)]
    fn convert(&self, values: &[i32], output: &mut [u8], counters: &mut Counters) {
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

/// Whether the 17-bit clamp changes a value by more than one: what the C-model counts.
#[inline(always)]
fn beyond_17(rounded: i64) -> u64 {
    u64::from(!(-MAX_17 - 2..=MAX_17 + 1).contains(&rounded))
}

/// Stores converted and rounded values; counts those beyond 17 bits.
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

/// The same, two bytes each.
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

/// Runs a whole layer. In its cubes an atom holds all lanes that are processed together, also where their format is
/// wider than that of processing. The output is all zeros when the layer only compares.
///
/// Panics if a cube's shape is not the layer's.
pub fn run(
    layer: &Layer,
    tables: &Tables,
    input: Input<'_>,
    operands: &OperandCubes<'_>,
) -> (Cube, Counters) {
    let datapath = Datapath::new(layer, tables);
    let bytes = layer.lanes() * layer.output.bytes();
    let mut output = Cube::new(layer.width, layer.height, layer.surfaces(), bytes);
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
mod tests {
    use super::*;
    use crate::nvdla::cube::{Packing, Ram, Surface};
    use crate::nvdla::numeric::Converter;
    use crate::nvdla::order::Order;
    use crate::nvdla::sdp::layer::{
        Carries, Destination, ElementwiseAlu, ElementwiseMultiplier, Source, StageAlu, StageMultiplier,
    };
    use proptest::prelude::*;

    /// Addresses mean nothing here.
    const NOWHERE: Surface = Surface {
        ram: Ram::Primary,
        base: 0,
        line_stride: 0,
        surface_stride: 0,
        pixel: 0,
        packing: Packing::Strided,
    };

    fn plain(width: u32, height: u32, channels: u32) -> Layer {
        Layer {
            atom: 8,
            width,
            height,
            channels,
            precision: Precision::Int8,
            input: Precision::Int8,
            output: Precision::Int8,
            nan_to_zero: false,
            order: Order::Lines,
            cube_stride: 0,
            source: Source::Memory(NOWHERE),
            bs: None,
            bn: None,
            ew: None,
            converter: Converter::IDENTITY,
            destination: Destination::Memory(NOWHERE),
        }
    }

    /// One layer's elements computed one by one, in numbers too wide to overflow, as the arithmetic notes say it.
    mod obvious {
        use super::*;

        fn clamp(value: i128, bits: u32) -> i128 {
            value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        }

        fn shifted(value: i128, shift: u32) -> i128 {
            let (magnitude, divisor) = (value.abs(), 1i128 << shift.min(100));
            let rounded = magnitude / divisor + i128::from(2 * (magnitude % divisor) >= divisor);
            value.signum() * rounded
        }

        fn alu(operation: AluOperation, data: i128, operand: i128) -> i128 {
            match operation {
                AluOperation::Max => data.max(operand),
                AluOperation::Min => data.min(operand),
                AluOperation::Sum => data + operand,
            }
        }

        /// The ALU operand and the factor of one lane, if the stream carries them.
        pub(super) fn operands(stream: Option<OperandStream>, group: &[u8], lane: usize) -> (i128, i128) {
            let Some(stream) = stream else { return (0, 0) };
            let element: Vec<i128> = group
                .chunks(stream.operand_bytes)
                .map(|bytes| match bytes {
                    [byte] => i128::from(*byte as i8),
                    [low, high] => i128::from(i16::from_le_bytes([*low, *high])),
                    _ => unreachable!(),
                })
                .collect();
            match stream.carries {
                Carries::Alu => (element[lane], 0),
                Carries::Multiplier => (0, element[lane]),
                Carries::Both => (element[2 * lane], element[2 * lane + 1]),
            }
        }

        pub(super) fn stage(stage: &Stage, data: i128, (alu_operand, factor): (i128, i128)) -> i128 {
            let mut value = data;
            if let Some(it) = stage.alu {
                let operand = match it.operand {
                    Operand::Register(value) => value.into(),
                    Operand::Memory => alu_operand,
                };
                value = alu(it.operation, value, clamp(operand << it.shift, 32));
            }
            value = match stage.multiplier {
                Some(it) if it.prelu && value >= 0 => i128::from(value as i32),
                Some(it) => {
                    let factor = match it.operand {
                        Operand::Register(value) => value.into(),
                        Operand::Memory => factor,
                    };
                    clamp(shifted(value * factor, stage.shift.into()), 32)
                }
                None => clamp(shifted(value, stage.shift.into()), 32),
            };
            if stage.relu { value.max(0) } else { value }
        }

        fn converted(operand: ElementwiseOperand, memory: i128) -> i128 {
            match operand {
                ElementwiseOperand::Register(value) => value.into(),
                ElementwiseOperand::Memory(None) => memory,
                ElementwiseOperand::Memory(Some(it)) => clamp(
                    shifted((memory - i128::from(it.offset)) * i128::from(it.scale), it.shift.into()),
                    32,
                ),
            }
        }

        pub(super) fn elementwise(it: &Elementwise, data: i128, (alu_operand, factor): (i128, i128)) -> i128 {
            let mut value = data;
            if let Some(it) = it.multiplier
                && !(it.prelu && value >= 0)
            {
                value = clamp(shifted(value * converted(it.operand, factor), it.shift.into()), 32);
            }
            if let Some(it) = it.alu {
                let operand = converted(it.operand, alu_operand);
                let ElementwiseOperation::Alu(operation) = it.operation else { unreachable!() };
                value = clamp(alu(operation, value, operand), 32);
            }
            value
        }

        pub(super) fn output(it: Converter, data: i128, bits: u32) -> i128 {
            clamp(shifted((data - i128::from(it.offset)) * i128::from(it.scale), it.shift.into()), bits)
        }
    }

    fn alu_operation() -> impl Strategy<Value = AluOperation> {
        prop_oneof![Just(AluOperation::Max), Just(AluOperation::Min), Just(AluOperation::Sum)]
    }

    fn operand() -> impl Strategy<Value = Operand> {
        prop_oneof![any::<i16>().prop_map(Operand::Register), Just(Operand::Memory)]
    }

    /// Mostly the shifts networks use, sometimes any.
    fn shift(bits: u32) -> impl Strategy<Value = u16> {
        prop_oneof![3 => 0u16..12, 1 => 0u16..1 << bits]
    }

    fn converter() -> impl Strategy<Value = Converter> {
        let offset = prop_oneof![-300i32..300, any::<i32>()];
        (offset, any::<i16>(), shift(6)).prop_map(|(offset, scale, shift)| Converter {
            offset,
            scale,
            shift: shift as u8,
        })
    }

    /// A stream for the operands that come from memory, if any.
    fn stream(
        alu: bool,
        factor: bool,
        both: bool,
        two_bytes: bool,
        per_element: bool,
    ) -> Option<OperandStream> {
        let carries = match (alu, factor) {
            (false, false) => return None,
            (true, false) if !both => Carries::Alu,
            (false, true) if !both => Carries::Multiplier,
            _ => Carries::Both,
        };
        Some(OperandStream {
            surface: NOWHERE,
            carries,
            operand_bytes: 1 + usize::from(two_bytes),
            per_element,
        })
    }

    fn stage() -> impl Strategy<Value = Stage> {
        let alu = proptest::option::of((alu_operation(), operand(), shift(6)));
        let multiplier = proptest::option::of((operand(), any::<bool>()));
        (alu, multiplier, shift(6), any::<[bool; 4]>()).prop_map(|(alu, multiplier, shift, flags)| {
            let alu =
                alu.map(|(operation, operand, shift)| StageAlu { operation, operand, shift: shift as u8 });
            let multiplier = multiplier.map(|(operand, prelu)| StageMultiplier { operand, prelu });
            let [relu, both, two_bytes, per_element] = flags;
            let alu_memory = alu.is_some_and(|it| it.operand == Operand::Memory);
            let factor_memory = multiplier.is_some_and(|it| it.operand == Operand::Memory);
            let operands = stream(alu_memory, factor_memory, both, two_bytes, per_element);
            Stage { alu, multiplier, shift: shift as u8, relu, operands }
        })
    }

    fn elementwise() -> impl Strategy<Value = Elementwise> {
        let operand = || {
            prop_oneof![
                any::<i32>().prop_map(ElementwiseOperand::Register),
                proptest::option::of(converter()).prop_map(ElementwiseOperand::Memory),
            ]
        };
        let alu = proptest::option::of((alu_operation().prop_map(ElementwiseOperation::Alu), operand()));
        let multiplier = proptest::option::of((operand(), shift(10), any::<bool>()));
        (alu, multiplier, any::<[bool; 3]>()).prop_map(|(alu, multiplier, flags)| {
            let alu = alu.map(|(operation, operand)| ElementwiseAlu { operation, operand });
            let multiplier =
                multiplier.map(|(operand, shift, prelu)| ElementwiseMultiplier { operand, shift, prelu });
            let [both, two_bytes, per_element] = flags;
            let memory = |operand| matches!(operand, ElementwiseOperand::Memory(_));
            let alu_memory = alu.is_some_and(|it| memory(it.operand));
            let factor_memory = multiplier.is_some_and(|it| memory(it.operand));
            let operands = stream(alu_memory, factor_memory, both, two_bytes, per_element);
            Elementwise { multiplier, alu, lut: None, operands }
        })
    }

    /// Of processing, input and output.
    fn formats() -> impl Strategy<Value = (Precision, Precision, Precision)> {
        use Precision::{Int8, Int16};
        prop_oneof![
            3 => Just((Int8, Int8, Int8)),
            1 => Just((Int16, Int16, Int16)),
            1 => Just((Int8, Int16, Int8)),
            1 => Just((Int8, Int8, Int16)),
        ]
    }

    prop_compose! {
        fn layer()(
            atom in prop_oneof![Just(8usize), Just(16), Just(32)],
            (width, height, channels) in (1u32..6, 1u32..5, 1u32..70),
            (precision, input, output) in formats(),
            bs in proptest::option::of(stage()),
            bn in proptest::option::of(stage()),
            ew in proptest::option::of(elementwise()),
            converter in prop_oneof![Just(Converter::IDENTITY), converter()],
        ) -> Layer {
            Layer { atom, precision, input, output, bs, bn, ew, converter, ..plain(width, height, channels) }
        }
    }

    /// A cube of pseudo-random bytes.
    fn noise(width: u32, height: u32, surfaces: u32, atom: usize, seed: u64) -> Cube {
        use rand::{RngCore, SeedableRng};
        let mut cube = Cube::new(width, height, surfaces, atom);
        rand::rngs::SmallRng::seed_from_u64(seed).fill_bytes(cube.as_bytes_mut());
        cube
    }

    fn operand_noise(layer: &Layer, stream: Option<OperandStream>, seed: u64) -> Option<Cube> {
        let stream = stream?;
        let (width, height) = if stream.per_element { (layer.width, layer.height) } else { (1, 1) };
        Some(noise(width, height, layer.surfaces(), stream.group_bytes(layer.lanes()), seed))
    }

    fn lanes_of(format: Precision, atom: &[u8]) -> Vec<i32> {
        match format {
            Precision::Int8 => atom.iter().map(|&byte| (byte as i8).into()).collect(),
            _ => atom.chunks(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]).into()).collect(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn every_lane_is_what_the_arithmetic_notes_say(layer in layer(), seed: u64) {
            let bytes = layer.lanes() * layer.input.bytes();
            let input = noise(layer.width, layer.height, layer.surfaces(), bytes, seed);
            let streams = [
                layer.bs.and_then(|it| it.operands),
                layer.bn.and_then(|it| it.operands),
                layer.ew.and_then(|it| it.operands),
            ];
            let cubes: Vec<_> =
                (1..).zip(streams).map(|(salt, stream)| operand_noise(&layer, stream, seed ^ salt)).collect();
            let operands = OperandCubes { bs: cubes[0].as_ref(), bn: cubes[1].as_ref(), ew: cubes[2].as_ref() };
            let (output, counters) = run(&layer, &Tables::default(), Input::Memory(&input), &operands);

            for (surface, x, y) in output.coordinates() {
                let results = lanes_of(layer.output, output.atom(surface, x, y));
                for (lane, &element) in lanes_of(layer.input, input.atom(surface, x, y)).iter().enumerate() {
                    let operands = |index: usize| {
                        let group = group_of(cubes[index].as_ref(), streams[index], (surface, x, y));
                        obvious::operands(streams[index], group, lane)
                    };
                    let mut value = i128::from(element);
                    value = layer.bs.map_or(value, |it| obvious::stage(&it, value, operands(0)));
                    value = layer.bn.map_or(value, |it| obvious::stage(&it, value, operands(1)));
                    value = layer.ew.map_or(value, |it| obvious::elementwise(&it, value, operands(2)));
                    let expected = obvious::output(layer.converter, value, 8 * layer.output.bytes() as u32);
                    prop_assert_eq!(i128::from(results[lane]), expected, "({}, {}, {}) lane {}", surface, x, y, lane);
                }
            }

            let values: Vec<i32> =
                input.as_bytes().chunks(bytes).flat_map(|atom| lanes_of(layer.input, atom)).collect();
            let from_accumulator = run(&layer, &Tables::default(), Input::Accumulator(&values), &operands);
            prop_assert_eq!(from_accumulator, (output, counters));
        }
    }

    fn one(layer: &Layer, value: i32) -> (i8, Counters) {
        let mut output = [0; 8];
        let tables = Tables::default();
        let mut input = [value, 0, 0, 0, 0, 0, 0, 0];
        let counters =
            Datapath::new(layer, &tables).accumulator_atoms(&mut input, &Operands::default(), &mut output);
        (output[0] as i8, counters)
    }

    #[test]
    fn a_bypassed_multiplier_still_shifts() {
        let alu = StageAlu { operation: AluOperation::Sum, operand: Operand::Register(5), shift: 0 };
        let stage = Stage { alu: Some(alu), multiplier: None, shift: 2, relu: false, operands: None };
        assert_eq!(one(&Layer { bs: Some(stage), ..plain(1, 1, 8) }, 10).0, 4);
    }

    #[test]
    fn prelu_leaves_positive_values_unshifted() {
        let alu = StageAlu { operation: AluOperation::Sum, operand: Operand::Register(5), shift: 0 };
        let multiplier = StageMultiplier { operand: Operand::Register(3), prelu: true };
        let stage =
            Stage { alu: Some(alu), multiplier: Some(multiplier), shift: 2, relu: false, operands: None };
        let layer = Layer { bs: Some(stage), ..plain(1, 1, 8) };
        assert_eq!(one(&layer, 10).0, 15);
        assert_eq!(one(&layer, -19).0, -11);
    }

    #[test]
    fn saturation_counts_the_17_bit_clamp_only() {
        let counted = |value| one(&plain(1, 1, 8), value).1.out_saturation;
        let values = [127, 128, 65535, 65536, 65537, -65536, -65537, -65538];
        assert_eq!(values.map(counted), [0, 0, 0, 0, 1, 0, 0, 1]);
        // Rounded before.
        let quartered = Layer { converter: Converter { offset: 0, scale: 1, shift: 2 }, ..plain(1, 1, 8) };
        let counted = |value| one(&quartered, value).1.out_saturation;
        assert_eq!([65537 * 4 - 3, 65537 * 4 - 2, -65538 * 4 + 2, -65538 * 4 + 3].map(counted), [0, 1, 1, 0]);
    }

    #[test]
    fn a_comparison_reports_differences_and_writes_nothing() {
        let alu = ElementwiseAlu {
            operation: ElementwiseOperation::Equal,
            operand: ElementwiseOperand::Memory(None),
        };
        let operands = stream(true, false, false, false, true);
        let ew = Elementwise { multiplier: None, alu: Some(alu), lut: None, operands };
        let layer = Layer { ew: Some(ew), ..plain(1, 1, 8) };
        let tables = Tables::default();
        let datapath = Datapath::new(&layer, &tables);
        let mut output = [0x55; 8];
        let input = [1, 2, 3, 4, 5, 6, 7, 0xff];
        let same = datapath.memory_atom(&input, &Operands { ew: &input, ..Operands::default() }, &mut output);
        let other =
            datapath.memory_atom(&input, &Operands { ew: &[0; 8], ..Operands::default() }, &mut output);
        assert_eq!((same.unequal, other.unequal, output), (false, true, [0x55; 8]));
    }
}
