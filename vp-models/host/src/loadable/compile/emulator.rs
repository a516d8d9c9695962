//! A task of the runtime's emulator: soft-max over a pixel of halves.
//!
//! An operation is a task of its own, because the runtime up to interface 0.11 does a task's first alone (`Emulator.cpp`, `processTask`).

use super::descriptors::{CubeDescriptor, Place};
use super::error::CompileError;
use super::lists::{ListKind, Lists};
use super::memory::LoadableMemory;
use crate::Memory;
use crate::loadable::contents::Contents;
use crate::loadable::cpu::{self, Entry};
use crate::loadable::layout::CPU_BUFFER;
use crate::loadable::{Generation, Processor};
use crate::network::{Form, Tensor};
use vp_models::nvdla::cube::Ram;
use vp_models::nvdla::numeric::Precision;

/// Bytes of the emulator's network descriptor.
const NETWORK: usize = 256;
/// Axis of channels. No emulator reads it.
const AXIS: u8 = 1;
/// Scale of a soft-max whose input's steps are ones.
const ONE: u32 = 1 << 16;

/// Soft-max of a tensor into another.
#[derive(Clone, Copy, Debug)]
pub(super) struct SoftMaxTask<'a> {
    /// Name of the layer.
    pub(super) layer: &'a str,
    /// Value of a step of its input, in 1/65536ths.
    pub(super) scale: u32,
    pub(super) from: &'a Tensor,
    pub(super) to: &'a Tensor,
}

/// Adds a task that does a soft-max.
///
/// # Errors
/// [`CompileError::SoftMax`] when the emulator would do another one.
pub(super) fn add(
    (contents, memory): (&mut Contents, &mut LoadableMemory),
    generation: Generation,
    task: SoftMaxTask<'_>,
) -> Result<(), CompileError> {
    if let Some(why) = task.refusal() {
        return Err(CompileError::SoftMax { layer: task.layer.to_owned(), why });
    }
    let mut lists = Lists::new(contents, memory, generation, Processor::Cpu);
    // Places of the operations and of the buffers among the task's addresses; one operation.
    let mut network: Vec<u8> = [1u16, 2, 1].iter().flat_map(|word| word.to_le_bytes()).collect();
    network.resize(NETWORK, 0);
    lists.list("addr0", ListKind::Network, &network)?;
    lists.list("op_list", ListKind::Operations, &operation(generation))?;
    // Data follows the lists.
    let at = lists.addresses.len();
    lists.addresses.push(0);
    let mut buffers = Vec::new();
    for (number, tensor) in [task.from, task.to].into_iter().enumerate() {
        buffers.extend(buffer(&mut lists, tensor)?);
        buffers.resize((number + 1) * CPU_BUFFER / 2, 0);
    }
    lists.addresses[at] = lists.stored("op_buf_list", ListKind::Surfaces, &buffers)?;
    lists.finish()
}

impl SoftMaxTask<'_> {
    /// Reason for which the emulator's soft-max would be another one (`Emulator.cpp`, `executeSoftmax`).
    fn refusal(&self) -> Option<&'static str> {
        let SoftMaxTask { scale, from, to, .. } = *self;
        if from.precision != Precision::Fp16 {
            return Some("of integers, whose shares the emulator truncates where the network rounds them");
        }
        if scale != ONE {
            return Some("with a scale, and the emulator has none for fp16");
        }
        if [from.shape.width, from.shape.height] != [1, 1] {
            return Some("of several pixels, and the emulator does one");
        }
        let is_in_a_row = |tensor: &Tensor| match &tensor.form {
            Form::Features { atom, channels, room } => {
                let lanes = atom / tensor.precision.bytes() as u32;
                channels.is_plain() && (*room == [1, 1] || tensor.shape.channels <= lanes)
            }
            Form::Pixels { .. } => false,
        };
        let is_whole = [from, to].into_iter().all(is_in_a_row);
        (!is_whole).then_some("of channels with something between them, and the emulator has them in a row")
    }
}

/// The entry of the operation.
fn operation(generation: Generation) -> Vec<u8> {
    let Entry { bytes, parameters } = Entry::of(generation);
    let mut operation = vec![cpu::SOFTMAX];
    operation.resize(parameters, 0);
    if generation == Generation::Long {
        // Scales of input and output, which are for integers.
        let scales = [1.0f32, 1.0].map(f32::to_le_bytes).concat();
        operation[parameters - scales.len()..].copy_from_slice(&scales);
    }
    operation.push(AXIS);
    operation.resize(bytes, 0);
    operation
}

fn buffer(lists: &mut Lists<'_>, tensor: &Tensor) -> Result<Vec<u8>, CompileError> {
    let Form::Features { atom, .. } = tensor.form else { return Ok(Vec::new()) };
    let ram = if tensor.place.memory == Memory::Primary { Ram::Primary } else { Ram::Secondary };
    let channels = tensor.shape.channels;
    let bytes = (channels * tensor.precision.bytes() as u32).next_multiple_of(atom);
    let place = Place::Memory(ram, tensor.place.address);
    // Of a pixel strides lead nowhere.
    let size = [1, 1, channels];
    let cube = CubeDescriptor { place, bytes, size, line_stride: atom, surface_stride: atom };
    let found = lists.memory.address(lists.contents, &cube)?;
    let (address, offset) = found.ok_or(CompileError::Outside { address: tensor.place.address })?;
    let mut buffer = lists.number(address).to_le_bytes().to_vec();
    if lists.generation == Generation::Long {
        buffer.extend((offset as u32).to_le_bytes());
    }
    buffer.extend(bytes.to_le_bytes());
    let words = [cpu::halves(lists.generation), 1, 1, channels as u16];
    buffer.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    buffer.extend([atom, atom].iter().flat_map(|stride| stride.to_le_bytes()));
    Ok(buffer)
}

#[cfg(test)]
mod tests;
