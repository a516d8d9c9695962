//! Descriptors of the tensors that the user binds.

use super::error::CompileError;
use crate::loadable::contents::{Contents, MemoryTable, TensorTable};
use crate::network::{Form, Network, Plan, Tensor};
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::registers::cdma::D_DATAIN_FORMAT::PIXEL_FORMAT;

/// Codes of the format.
mod code {
    pub(super) const NCHW: u8 = 1;
    pub(super) const HALF: u8 = 2;
    pub(super) const INT16: u8 = 3;
    pub(super) const INT8: u8 = 4;
}

/// Most bytes of a tensor's name that the runtime has room for (`IRuntime.h`, `NVDLA_RUNTIME_TENSOR_DESC_NAME_MAX_LEN`).
const LONGEST_NAME: usize = 80;

/// The beginning of a name that the runtime has room for.
pub(super) fn named(name: &str) -> String {
    let end = (0..=LONGEST_NAME.min(name.len())).rev().find(|&end| name.is_char_boundary(end));
    name[..end.unwrap_or_default()].to_owned()
}

/// Describes input and outputs, whose memories are the first ones.
pub(super) fn describe(network: &Network, plan: &Plan, contents: &mut Contents) -> Result<(), CompileError> {
    let names = network.outputs.iter().map(|&output| network.layers[output].name.as_str());
    let tensors = [("input", &plan.input)].into_iter().chain(names.zip(&plan.outputs));
    for (id, (name, tensor)) in tensors.enumerate() {
        let unsaid = |why| CompileError::Output { layer: name.to_owned(), why };
        let MemoryTable { size, .. } = contents.memories[id];
        let table = table(tensor, size).map_err(unsaid)?;
        let id = id as u16;
        contents.tensors.push(TensorTable { name: named(name), id, memory: id, ..table });
    }
    Ok(())
}

fn table(tensor: &Tensor, bytes: u64) -> Result<TensorTable, &'static str> {
    let element = tensor.precision.bytes() as u32;
    let (category, pixel_format, [line, surface]) = match &tensor.form {
        Form::Features { channels, .. } if !channels.is_plain() => {
            return Err("is joined of parts with channels between them that nobody fills");
        }
        Form::Features { atom, room: [width, height], .. } => {
            let format = if *atom == 8 { TensorTable::FEATURE_X8 } else { TensorTable::FEATURE };
            (TensorTable::CATEGORY_FEATURE, format, [width * atom, width * height * atom])
        }
        Form::Pixels { bytes, line_stride } => {
            let format = pixels(tensor.precision, *bytes == element);
            (TensorTable::CATEGORY_IMAGE, format as u8, [*line_stride, line_stride * tensor.shape.height])
        }
    };
    let [width, height, channels] =
        [tensor.shape.width, tensor.shape.height, tensor.shape.channels].map(|extent| extent as i32);
    Ok(TensorTable {
        size: bytes,
        data_format: code::NCHW,
        data_type: match tensor.precision {
            Precision::Int8 => code::INT8,
            Precision::Int16 => code::INT16,
            Precision::Fp16 => code::HALF,
        },
        data_category: category,
        pixel_format,
        dimensions: [1, channels, height, width],
        strides: [element, line, surface, 0, 0, 0, 0, 0],
        ..TensorTable::default()
    })
}

/// The format of an image's pixels, of one component or four.
fn pixels(precision: Precision, is_one: bool) -> u32 {
    match (precision, is_one) {
        (Precision::Int8, true) => PIXEL_FORMAT::T_R8,
        (Precision::Int8, false) => PIXEL_FORMAT::T_A8B8G8R8,
        (Precision::Int16, true) => PIXEL_FORMAT::T_R16,
        (Precision::Int16, false) => PIXEL_FORMAT::T_A16B16G16R16,
        (Precision::Fp16, true) => PIXEL_FORMAT::T_R16_F,
        (Precision::Fp16, false) => PIXEL_FORMAT::T_A16B16G16R16_F,
    }
}
