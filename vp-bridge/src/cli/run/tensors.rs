//! Inputs and outputs of a loadable, as files.

use super::super::Failure;
use super::MOST_INPUT;
use crate::cli::standard;
use crate::cli::text::grouped;
use std::path::{Path, PathBuf};
use vp_host::loadable::{Execution, Loadable, Output, Tensor};
use vp_host::trace::player::Outcome;
use vp_host::trace::{Body, Trace};
use vp_onnx::samples::{self, Picture};
use vp_tensors::{Elements, Tensor as Array};

/// Gives a loadable its inputs.
pub(super) fn give(trace: &mut Trace, files: &[PathBuf]) -> Result<(), Failure> {
    if files.is_empty() {
        return Ok(());
    }
    let Body::Loadable { loadable, .. } = trace.body() else {
        return Err(Failure::new("--input is for loadables"));
    };
    let given = inputs(loadable, files)?;
    trace.give(given);
    Ok(())
}

/// The inputs of a loadable as they lie in memory, from files.
pub(in crate::cli) fn inputs(loadable: &Loadable, files: &[PathBuf]) -> Result<Vec<Vec<u8>>, Failure> {
    let inputs = loadable.inputs();
    if files.len() > inputs.len() {
        let what = format!("{} inputs are given, and the loadable takes {}", files.len(), inputs.len());
        return Err(Failure::new(what));
    }
    let read = files.iter().zip(inputs).map(|(file, memory)| {
        let tensor = loadable.tensor_of(memory);
        input(file, tensor, memory.image.len())
    });
    read.collect()
}

fn input(file: &Path, tensor: Option<&Tensor>, memory: usize) -> Result<Vec<u8>, Failure> {
    let wrong = |why: String| Failure::new(format!("{}: {why}", file.display()));
    let bytes = standard::read("--input", file, MOST_INPUT).map_err(|error| wrong(error.to_string()))?;
    let size = tensor.map_or([0; 2], |tensor| [tensor.size[0], tensor.size[1]]);
    if let Some(picture) = Picture::decode_of_size(&bytes, size) {
        let tensor = tensor.ok_or_else(|| wrong("the loadable does not say what its input is".to_owned()))?;
        let picture = picture.map_err(|error| wrong(error.to_string()))?;
        return of_picture(&picture, tensor, memory).map_err(wrong);
    }
    if bytes.len() == memory {
        return Ok(bytes);
    }
    let elements = |tensor: &Tensor| tensor.element_bytes.map(|size| size * tensor.elements());
    match tensor {
        Some(tensor) if elements(tensor) == Some(bytes.len()) => tensor
            .pack(&bytes, memory)
            .ok_or_else(|| wrong("the strides of the tensor do not fit its size".to_owned())),
        _ => {
            let dense = tensor
                .and_then(elements)
                .map_or(String::new(), |dense| format!(", or {} as elements", grouped(dense)));
            let [found, memory] = [bytes.len(), memory].map(grouped);
            Err(wrong(format!("{found} bytes; the input takes {memory} as memory{dense}")))
        }
    }
}

/// The elements of a picture, one value a sample.
fn of_picture(picture: &Picture, tensor: &Tensor, memory: usize) -> Result<Vec<u8>, String> {
    let channels = tensor.size[2];
    let samples = picture
        .in_channels(channels)
        .ok_or_else(|| format!("a picture has 1, 3 or 4 channels; the input has {channels}"))?;
    let mut elements = Vec::new();
    for channel in 0..channels {
        for sample in samples.iter().skip(channel).step_by(channels) {
            match (tensor.element_bytes, tensor.is_half) {
                (Some(1), _) => elements.push(*sample),
                (Some(2), true) => elements.extend(half::f16::from_f32(f32::from(*sample)).to_le_bytes()),
                (Some(2), false) => elements.extend(u16::from(*sample).to_le_bytes()),
                _ => return Err("the format of the input is not known".to_owned()),
            }
        }
    }
    tensor.pack(&elements, memory).ok_or_else(|| "the strides of the tensor do not fit its size".to_owned())
}

/// Checks that a file takes a loadable's outputs: of several only an NPZ file takes all.
pub(super) fn check(trace: &Trace, file: Option<&Path>) -> Result<(), Failure> {
    let (Body::Loadable { loadable, .. }, Some(file)) = (trace.body(), file) else { return Ok(()) };
    match loadable.outputs().len() {
        0 | 1 => Ok(()),
        _ if is_named(file, "npz") => Ok(()),
        several => {
            Err(Failure::new(format!("the loadable has {several} outputs, and {} takes one", file.display()))
                .hint("a file of the name .npz takes all"))
        }
    }
}

fn is_named(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|own| own == extension)
}

/// The elements of an output as an array of channels, lines and columns; none if the loadable does not say what they are.
fn array(output: &Output) -> Option<Array> {
    let tensor = output.tensor.as_ref()?;
    let bytes = tensor.unpack(&output.bytes)?;
    let halves = || bytes.as_chunks().0.iter().copied();
    let elements = match (tensor.element_bytes, tensor.is_half) {
        (Some(1), _) => Elements::Int8(bytes.iter().map(|byte| byte.cast_signed()).collect()),
        (Some(2), true) => {
            Elements::Float(halves().map(|half| half::f16::from_le_bytes(half).to_f32()).collect())
        }
        (Some(2), false) => Elements::Int32(halves().map(|half| i16::from_le_bytes(half).into()).collect()),
        _ => return None,
    };
    let [width, height, channels] = tensor.size;
    Some(Array::of([channels, height, width], elements))
}

/// The outputs of a loadable as arrays in one file.
fn arrays(execution: &Execution, file: &Path) -> Result<Vec<u8>, Failure> {
    let unsaid = || Failure::new("the loadable does not say how its outputs lie in memory");
    let mut all: Vec<(String, Array)> = Vec::new();
    for (at, output) in execution.outputs.iter().enumerate() {
        let own = output.tensor.as_ref().map_or("", |tensor| &tensor.name);
        let is_known = own.is_empty() || all.iter().any(|(name, _)| name == own);
        let name = if is_known { format!("{own}output {at}") } else { own.to_owned() };
        all.push((name, array(output).ok_or_else(unsaid)?));
    }
    let named: Vec<(&str, &Array)> = all.iter().map(|(name, array)| (name.as_str(), array)).collect();
    samples::outputs(file, &named).map_err(Failure::new)
}

/// Writes the output of a loadable into a file. One that failed before it had an output is told by its report.
pub(super) fn take(outcome: &Outcome, file: Option<&Path>) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    let execution = outcome.execution.as_ref();
    if execution.is_none() && !outcome.failures.is_empty() {
        return Ok(());
    }
    let output = execution.and_then(|execution| execution.outputs.first()).ok_or_else(|| {
        Failure::new("there is no output to write").hint("only loadables that run to their ends have one")
    })?;
    let bytes = if is_named(file, "npy") || is_named(file, "npz") {
        execution.map_or_else(|| Ok(Vec::new()), |execution| arrays(execution, file))?
    } else if is_named(file, "dimg") {
        output
            .dimg()
            .ok_or_else(|| Failure::new("the loadable does not say how its output lies in memory"))?
    } else {
        // If nobody says how it lies: as it is.
        let elements = output.tensor.as_ref().and_then(|tensor| tensor.unpack(&output.bytes));
        elements.unwrap_or_else(|| output.bytes.clone())
    };
    standard::write(file, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(size: [usize; 3], is_half: bool) -> Tensor {
        let element = if is_half { 2 } else { 1 };
        let surfaces = (size[2] * element).div_ceil(32);
        Tensor {
            name: "in".to_owned(),
            size,
            element_bytes: Some(element),
            is_half,
            line_stride: size[0] * 32,
            surface_stride: size[0] * size[1] * 32,
            offset: 0,
            bytes: (surfaces * size[0] * size[1] * 32) as u64,
            widest_atom: 64,
            pixel_bytes: None,
        }
    }

    fn picture(file: &[u8], size: [usize; 2]) -> Picture {
        Picture::decode_of_size(file, size).expect("a picture").expect("decodes")
    }

    #[test]
    fn a_picture_becomes_a_cube_and_its_elements_come_back() {
        let picture = picture(b"P6 2 1 255 \x01\x02\x03\x04\x05\x06", [2, 1]);
        let tensor = tensor([2, 1, 3], false);
        let memory = of_picture(&picture, &tensor, 64).expect("fits");
        assert_eq!((&memory[..4], &memory[32..36]), (&[1, 2, 3, 0][..], &[4, 5, 6, 0][..]));
        assert_eq!(tensor.unpack(&memory), Some(vec![1, 4, 2, 5, 3, 6]));
    }

    #[test]
    fn grey_becomes_halves() {
        let picture = picture(b"P5 1 1 255 \xc8", [1, 1]);
        let memory = of_picture(&picture, &tensor([1, 1, 1], true), 32).expect("fits");
        assert_eq!(memory[..2], half::f16::from_f32(200.0).to_le_bytes());
    }

    #[test]
    fn files_are_taken_for_what_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, bytes: &[u8]| {
            let file = folder.path().join(name);
            std::fs::write(&file, bytes).expect("written");
            file
        };
        let tensor = tensor([2, 1, 3], false);
        let picture = write("p.ppm", b"P6 2 1 255\n\x01\x02\x03\x04\x05\x06");
        let elements = write("elements.bin", &[1, 4, 2, 5, 3, 6]);
        let of = |file: &Path| input(file, Some(&tensor), 64).map_err(|failure| failure.to_string());
        let small = write("small.pgm", b"P5 1 1 255 \xc8");
        assert!(of(&small).expect_err("too small").contains("1 x 1 pixels; the input has 2 x 1"));
        let memory = of(&picture).expect("a picture");
        assert_eq!(of(&elements), Ok(memory.clone()));
        assert_eq!(of(&write("memory.bin", &memory)), Ok(memory));
        let error = of(&write("short.bin", &[1, 2, 3])).expect_err("fits nothing");
        assert!(error.contains("3 bytes; the input takes 64 as memory, or 6 as elements"), "{error}");
    }
}
