//! Layers that no unit does, and the CPU does between them.

mod codes;
mod model;
mod task;

pub use model::{CpuEstimate, CpuModel, CpuWork, NoCpuModel};
pub use task::Cpu;

use super::description::CpuProgram;
use super::error::RunError;
use super::layout::Tensor;
use crate::DriverError;
use crate::bus::Bus;
use crate::softmax::softmax;
use vp_models::nvdla::float::{Fp16, Fp32};
use vp_models::nvdla::numeric::Precision;
use vp_tensors::GraphError;

/// Reads, computes, writes: what the layer of that name does.
pub(super) fn run(
    task: &Cpu,
    layer: &str,
    (from, to): (&[Tensor], &Tensor),
    bus: &mut Bus<'_>,
) -> Result<(), RunError> {
    let inputs = from.iter().map(|tensor| fetch(tensor, bus)).collect::<Result<Vec<_>, _>>()?;
    let output = match (task, from, &inputs[..]) {
        (Cpu::SoftMax(scale), [from, ..], [input, ..]) => {
            let pixel = from.shape.channels as usize * from.precision.bytes();
            input
                .chunks_exact(pixel.max(1))
                .flat_map(|scores| shares(scores, from.precision, *scale))
                .collect()
        }
        (Cpu::Slice(corner), [from, ..], [input, ..]) => sliced(input, from, to, *corner),
        (Cpu::Table(answers), _, [input, ..]) => input
            .iter()
            .map(|&element| answers[usize::from(element.wrapping_sub(i8::MIN).cast_unsigned())])
            .collect(),
        (Cpu::Program(program), ..) => evaluated(program, &inputs, (from, to))
            .map_err(|error| RunError::Evaluation { layer: layer.to_owned(), error: Box::new(error) })?,
        _ => Vec::new(),
    };
    // Only the tensor's own places: others of its memory may be another's.
    let mut bytes = vec![0; to.bytes() as usize];
    bus.fetch(to.place.memory, to.place.address, &mut bytes)?;
    to.pack_onto(&output, &mut bytes);
    bus.load(to.place.memory, to.place.address, &bytes)?;
    Ok(())
}

/// The elements of a tensor in memory.
pub(super) fn fetch(tensor: &Tensor, bus: &mut Bus<'_>) -> Result<Vec<i8>, DriverError> {
    let mut bytes = vec![0; tensor.extent() as usize];
    bus.fetch(tensor.place.memory, tensor.place.address, &mut bytes)?;
    Ok(tensor.unpack(&bytes))
}

/// Output of a graph for codes.
fn evaluated(
    program: &CpuProgram,
    codes: &[Vec<i8>],
    (from, to): (&[Tensor], &Tensor),
) -> Result<Vec<i8>, GraphError> {
    let CpuProgram { graph, inputs, output } = program;
    let given = graph.inputs.iter().zip(inputs).zip(from.iter().zip(codes));
    let tensors = given.map(|((id, encoding), (tensor, codes))| {
        let shape = &graph.value(*id).shape;
        let values = encoding.decoded(codes, tensor.precision, shape, tensor.shape);
        vp_tensors::Tensor::floats(shape.clone(), values)
    });
    let mut made = graph.run(&tensors.collect::<Vec<_>>())?.into_iter();
    let (made, id) = (made.next(), graph.outputs[0]);
    // What it makes is what it says: of a cube's size.
    let said = &graph.value(id).shape;
    match made.filter(|made| made.shape == *said) {
        Some(made) => Ok(output.encoded(&made.to_floats(), to.precision, said, to.shape)),
        None => Err(GraphError::Order { node: "outputs".to_owned(), value: graph.value(id).name.clone() }),
    }
}

/// A box of the size of `to` from this column, line and channel on.
fn sliced(input: &[i8], from: &Tensor, to: &Tensor, [left, top, first]: [u32; 3]) -> Vec<i8> {
    let element = from.precision.bytes();
    let bytes = to.shape.channels as usize * element;
    let mut output = Vec::with_capacity(to.host_bytes());
    for y in top..top + to.shape.height {
        for x in left..left + to.shape.width {
            let pixel = y as usize * from.shape.width as usize + x as usize;
            let at = (pixel * from.shape.channels as usize + first as usize) * element;
            output.extend_from_slice(&input[at..at + bytes]);
        }
    }
    output
}

/// Shares in 127ths, of int16 in 32767ths, of fp16 as they are. A step of int16 means a 256th of what one of int8 does.
fn shares(scores: &[i8], precision: Precision, scale: u32) -> Vec<i8> {
    let factor = scale as f32 / 65536.0;
    let pairs = || scores.chunks_exact(2).map(|pair| [pair[0] as u8, pair[1] as u8]);
    let values: Vec<f32> = match precision {
        Precision::Int8 => scores.iter().map(|&score| factor * f32::from(score)).collect(),
        Precision::Int16 => {
            pairs().map(|pair| factor * f32::from(i16::from_le_bytes(pair)) / 256.0).collect()
        }
        Precision::Fp16 => pairs()
            .map(|pair| factor * f32::from_bits(Fp16::from_bytes(pair).widened::<8, 23>().bits()))
            .collect(),
    };
    let shares = softmax(&values).into_iter();
    let two = |bytes: [u8; 2]| bytes.map(u8::cast_signed);
    match precision {
        Precision::Int8 => shares.map(|share| (127.0 * share).round() as i8).collect(),
        Precision::Int16 => {
            shares.flat_map(|share| two(((32767.0 * share).round() as i16).to_le_bytes())).collect()
        }
        Precision::Fp16 => {
            shares.flat_map(|share| two(Fp32::from_bits(share.to_bits()).to_fp16().to_bytes())).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_soft_max_make_one() {
        let shares = |scores: &[i8], scale| shares(scores, Precision::Int8, scale);
        assert_eq!(shares(&[3, 3, -128, 3], 65536), [42, 42, 0, 42]);
        assert_eq!(shares(&[127, -128], 4096 << 16), [127, 0]);
    }
}
