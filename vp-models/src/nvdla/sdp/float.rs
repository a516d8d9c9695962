//! SDP's stages in fp16: binary32 between them; data from memory is widened to it.
//!
//! Called by [`super::compute`], whose values then are codes. No stage shifts, and no converter of operands or
//! of the output takes part, because the numbers have their own exponents.

use super::atom::{AtomCounters, AtomOperands};
use super::layer::{
    AluOperation, Elementwise, ElementwiseOperand, ElementwiseOperation, Operand, OperandStream, SdpLayer,
    Stage,
};
use super::lut::{Lut, Tables};
use crate::nvdla::float::{Fp16, Fp32};
use crate::nvdla::numeric::Precision;

/// Sends atoms that have the same operands through all stages. The values are lost.
pub(super) fn atoms(
    layer: &SdpLayer,
    tables: &Tables,
    values: &mut [i32],
    operands: &AtomOperands<'_>,
    output: &mut [u8],
) -> AtomCounters {
    let mut counters = AtomCounters::default();
    let flush = layer.nan_to_zero;
    let lanes = layer.lanes();
    for atom in values.chunks_exact_mut(lanes) {
        for (lane, code) in atom.iter_mut().enumerate() {
            let mut value = Fp32::from_bits(code.cast_unsigned()).flushed(flush);
            if let Some(stage) = &layer.bs {
                value = stage.apply_float(value, lane, operands.bs, flush);
            }
            if let Some(stage) = &layer.bn {
                value = stage.apply_float(value, lane, operands.bn, flush);
            }
            if let Some(stage) = &layer.ew {
                value = stage.apply_float(value, lane, (operands.ew, flush), tables, &mut counters);
            }
            *code = value.bits().cast_signed();
        }
    }
    if !layer.has_output() {
        return counters;
    }
    let results = values.iter().map(|code| Fp32::from_bits(code.cast_unsigned()).to_fp16());
    match layer.output {
        Precision::Fp16 => store(results, output, &mut counters),
        // Rounded twice, as hardware does.
        _ => {
            for (pair, result) in output.as_chunks_mut().0.iter_mut().zip(results) {
                *pair = result.to_int16().to_le_bytes();
            }
        }
    }
    counters
}

/// Stores results as they are. Counts those that are not numbers, and the largest.
pub(super) fn store(results: impl Iterator<Item = Fp16>, output: &mut [u8], counters: &mut AtomCounters) {
    for (pair, result) in output.as_chunks_mut().0.iter_mut().zip(results) {
        counters.nan_output += u64::from(result.is_nan());
        counters.out_saturation += u64::from(result.is_largest());
        *pair = result.to_bytes();
    }
}

/// An operand of 16 bits.
fn widened(code: i16, flush: bool) -> Fp32 {
    Fp16::from_code(code).flushed(flush).widened()
}

impl AluOperation {
    fn apply_float(self, data: Fp32, operand: Fp32) -> Fp32 {
        match self {
            AluOperation::Max => data.max(operand),
            AluOperation::Min => data.min(operand),
            AluOperation::Sum => data + operand,
        }
    }
}

impl Stage {
    fn apply_float(&self, data: Fp32, lane: usize, operands: &[u8], flush: bool) -> Fp32 {
        let stream = self.operands.as_ref();
        let mut value = data;
        if let Some(alu) = self.alu {
            let operand = match alu.operand {
                Operand::Register(code) => code,
                Operand::Memory => OperandStream::alu(stream, operands, lane),
            };
            value = alu.operation.apply_float(value, widened(operand, flush));
        }
        if let Some(multiplier) = self.multiplier
            && (!multiplier.prelu || value.is_negative())
        {
            let factor = match multiplier.operand {
                Operand::Register(code) => code,
                Operand::Memory => OperandStream::multiplier(stream, operands, lane),
            };
            value = value * widened(factor, flush);
        }
        if self.relu { value.relu() } else { value }
    }
}

impl ElementwiseOperand {
    /// A register holds a code of binary32, which nothing flushes.
    fn float(self, flush: bool, memory: impl FnOnce() -> i16) -> Fp32 {
        match self {
            ElementwiseOperand::Register(code) => Fp32::from_bits(code.cast_unsigned()),
            ElementwiseOperand::Memory(_) => widened(memory(), flush),
        }
    }
}

impl Elementwise {
    fn apply_float(
        &self,
        data: Fp32,
        lane: usize,
        (operands, flush): (&[u8], bool),
        tables: &Tables,
        counters: &mut AtomCounters,
    ) -> Fp32 {
        let stream = self.operands.as_ref();
        let mut value = data;
        if let Some(multiplier) = self.multiplier
            && (!multiplier.prelu || value.is_negative())
        {
            let memory = || OperandStream::multiplier(stream, operands, lane);
            value = value * multiplier.operand.float(flush, memory);
        }
        if let Some(alu) = self.alu {
            let operand = alu.operand.float(flush, || OperandStream::alu(stream, operands, lane));
            value = match alu.operation {
                ElementwiseOperation::Alu(operation) => operation.apply_float(value, operand),
                ElementwiseOperation::Equal => {
                    // Codes are compared: the zeros differ.
                    Fp32::from_bits((value != operand).into())
                }
            };
        }
        match &self.lut {
            None => value,
            Some(settings) => Lut { settings, tables }.lookup_float(value, &mut counters.lut),
        }
    }
}
