//! Samples of a file: what a network takes at once, one after the other.
//!
//! A file is taken for what it is:
//!
//! * a picture is a sample of a network with one input, made by [`Preprocess`];
//! * NPY is an array for a network with one input, and NPZ has one for each, by name; an array whose first axis is n times as long as that of its
//!   input, which is 1, has n samples; axes of 1 in front may be more or fewer;
//! * other bytes are the elements of a network's one input, the least significant byte first, in its type, or as bytes from 0 to 255 where
//!   it takes floats.
//!
//! Of a file with several samples one is made at a time. Elements are converted where that loses nothing: integers become floats, and numbers that the input's type has become that.

use super::npy::{self, NpyError};
use super::npz::{self, NpzError};
use super::picture::Picture;
use super::picture_error::PictureError;
use super::placement::Placement;
use super::preprocess::{Preprocess, PreprocessError};
use std::io;
use std::path::{Path, PathBuf};
use vp_models::bounded_file::read_tensor;
use vp_tensors::{ElementType, Elements, Tensor, Value, shape_text};

/// Tensors that a network takes at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// File that it is of, with its place from 0 if that has several: `photo.png`, `all.npy[3]`.
    pub name: String,
    /// Tensors, one an input in their order.
    pub tensors: Vec<Tensor>,
    /// Place of the picture in the only input; none if the file has arrays.
    pub placement: Option<Placement>,
}

/// Error of a file of samples.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", file.display())]
pub struct SampleError {
    /// The file.
    pub file: PathBuf,
    /// Text that says what is wrong with it.
    pub fault: SampleFault,
}

/// Fault of a file of samples.
#[derive(Debug, thiserror::Error)]
pub enum SampleFault {
    /// A file that cannot be read.
    #[error("cannot read: {0}")]
    Unreadable(#[from] io::Error),
    /// A folder without files.
    #[error("no files in this folder")]
    Empty,
    /// A folder of too many files.
    #[error("more than {0} files in this folder")]
    TooMany(usize),
    /// A broken picture.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// A picture that the network does not take.
    #[error(transparent)]
    Preprocess(#[from] PreprocessError),
    /// A picture of which nobody said how it becomes numbers.
    #[error(
        "nobody says how a picture becomes numbers: --preprocess imagenet, imagenet-bgr-caffe, unit, signed, raw or a file, or MODEL.preprocess.toml beside the model"
    )]
    Unprepared,
    /// A broken array.
    #[error(transparent)]
    Npy(#[from] NpyError),
    /// A broken archive.
    #[error(transparent)]
    Npz(#[from] NpzError),
    /// One tensor for several inputs.
    #[error("one tensor; the network takes {}: an NPZ file has them by name", list(.0))]
    Inputs(Vec<String>),
    /// An archive without an input's array.
    #[error("no array `{input}`; it has {}", list(arrays))]
    Missing {
        /// Name of the input.
        input: String,
        /// Names of the arrays.
        arrays: Vec<String>,
    },
    /// An array of another shape.
    #[error("an array of shape {found:?}; input `{input}` has {wanted:?}")]
    Shape {
        /// Name of the input.
        input: String,
        /// Sizes of the array's axes.
        found: Vec<usize>,
        /// Sizes of the input's axes.
        wanted: Vec<usize>,
    },
    /// Several samples for a run, which takes one.
    #[error(
        "{found} samples of {}; a run takes one: write each into a file of its own (--calibrate takes folders, and arrays of many)",
        shape_text(sample)
    )]
    Several {
        /// Number of samples.
        found: usize,
        /// Sizes of the first input's axes.
        sample: Vec<usize>,
    },
    /// Several files for a run, which takes one.
    #[error("a folder of {0} files; a run takes one of them (--calibrate takes folders)")]
    SeveralFiles(usize),
    /// Arrays of different numbers of samples.
    #[error("arrays of {0} and of {1} samples")]
    Counts(usize, usize),
    /// An element that the input's type does not have.
    #[error("an element is {value}, which input `{input}` of {element_type} does not have")]
    Element {
        /// Name of the input.
        input: String,
        /// Type of the input's elements.
        element_type: ElementType,
        /// The first such element.
        value: f64,
    },
    /// Bytes that are nothing of all that.
    #[error(
        "no picture (PNG, JPEG, PGM, PPM), NPY or NPZ, and {found} bytes; as elements input `{input}` of {element_type} has {}",
        either(wanted)
    )]
    Bytes {
        /// Bytes of the file.
        found: usize,
        /// Bytes that would do.
        wanted: Vec<usize>,
        /// Name of the input.
        input: String,
        /// Type of the input's elements.
        element_type: ElementType,
    },
}

/// Names in the order in which they are, the first of them if there are many.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let mut shown: Vec<String> =
        names.iter().take(SHOWN).map(|name| format!("`{}`", name.escape_debug())).collect();
    if names.is_empty() {
        shown.push("none".to_owned());
    }
    if names.len() > SHOWN {
        shown.push(format!("{} more", names.len() - SHOWN));
    }
    shown.join(", ")
}

fn either(counts: &[usize]) -> String {
    counts.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ")
}

/// Samples of one file, given one by one.
#[derive(Debug)]
pub struct Batch {
    file: PathBuf,
    /// Tensors as the file has them, with all samples in them, and the inputs that they are for.
    tensors: Vec<(Tensor, Expected)>,
    placement: Option<Placement>,
    count: usize,
    given: usize,
}

/// An input, of which a batch gives tensors.
#[derive(Debug)]
struct Expected {
    /// Name of the input, fit for people.
    name: String,
    shape: Vec<usize>,
    element_type: ElementType,
}

impl Batch {
    /// Reads a file of samples for these inputs.
    ///
    /// # Errors
    /// When the file cannot be read, has more than 1 GiB, or is none.
    pub fn open(
        file: &Path,
        inputs: &[&Value],
        preprocess: Option<&Preprocess>,
    ) -> Result<Batch, SampleError> {
        let wrong = |error: io::Error| SampleError { file: file.to_owned(), fault: error.into() };
        Batch::of_bytes(file, &read_tensor(file).map_err(wrong)?, inputs, preprocess)
    }

    /// Takes the bytes of a file for samples of these inputs.
    ///
    /// # Errors
    /// When they are none.
    pub fn of_bytes(
        file: &Path,
        bytes: &[u8],
        inputs: &[&Value],
        preprocess: Option<&Preprocess>,
    ) -> Result<Batch, SampleError> {
        let wrong = |fault| SampleError { file: file.to_owned(), fault };
        let (tensors, placement) = tensors_of(bytes, inputs, preprocess).map_err(wrong)?;
        let mut batch = Batch { file: file.to_owned(), tensors: Vec::new(), placement, count: 1, given: 0 };
        for (at, (tensor, input)) in tensors.into_iter().zip(inputs).enumerate() {
            let count = samples_in(&tensor, input).map_err(wrong)?;
            if at > 0 && count != batch.count {
                return Err(wrong(SampleFault::Counts(batch.count, count)));
            }
            batch.count = count;
            let expected =
                Expected { name: named(input), shape: input.shape.clone(), element_type: input.element_type };
            batch.tensors.push((tensor, expected));
        }
        Ok(batch)
    }

    /// Number of samples.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the only sample.
    ///
    /// # Errors
    /// When there are several, or an element is none of the input's type.
    pub fn only(mut self) -> Result<Sample, SampleError> {
        if self.count > 1 {
            let sample = self.tensors.first().map(|(_, input)| input.shape.clone()).unwrap_or_default();
            let fault = SampleFault::Several { found: self.count, sample };
            return Err(SampleError { file: self.file, fault });
        }
        let none = SampleError { file: self.file.clone(), fault: SampleFault::Empty };
        self.next().unwrap_or(Err(none))
    }

    fn sample(&self, at: usize) -> Result<Sample, SampleFault> {
        let part = |(tensor, input): &(Tensor, Expected)| {
            let elements = slice(&tensor.elements, at, input.shape.iter().product());
            converted(Tensor { shape: input.shape.clone(), elements }, input)
        };
        let tensors = self.tensors.iter().map(part).collect::<Result<_, _>>()?;
        let place = if self.count > 1 { format!("[{at}]") } else { String::new() };
        let name = format!("{}{place}", self.file.display());
        Ok(Sample { name, tensors, placement: self.placement })
    }
}

impl Iterator for Batch {
    type Item = Result<Sample, SampleError>;

    fn next(&mut self) -> Option<Result<Sample, SampleError>> {
        if self.given == self.count {
            return None;
        }
        let sample = self.sample(self.given);
        self.given += 1;
        Some(sample.map_err(|fault| SampleError { file: self.file.clone(), fault }))
    }
}

/// The tensors of a file, one an input, and the picture's place if they are of one.
fn tensors_of(
    bytes: &[u8],
    inputs: &[&Value],
    preprocess: Option<&Preprocess>,
) -> Result<(Vec<Tensor>, Option<Placement>), SampleFault> {
    if npz::is_npz(bytes) {
        return Ok((by_name(npz::read(bytes)?, inputs)?, None));
    }
    let [input] = inputs else {
        return Err(SampleFault::Inputs(inputs.iter().map(|input| input.name.clone()).collect()));
    };
    if let Some(picture) = Picture::decode(bytes) {
        let (preprocess, picture) = (preprocess.ok_or(SampleFault::Unprepared)?, picture?);
        let placement = preprocess.placement(picture.size(), &input.shape)?;
        return Ok((vec![preprocess.tensor_of(&picture, &input.shape)?], Some(placement)));
    }
    let tensor = if npy::is_npy(bytes) { npy::read(bytes)? } else { of_elements(bytes, input)? };
    Ok((vec![tensor], None))
}

/// Name of an input, fit for people.
fn named(input: &Value) -> String {
    input.name.escape_debug().to_string()
}

/// Elements of one sample: so many, behind those of so many samples.
fn slice(elements: &Elements, at: usize, count: usize) -> Elements {
    let range = at * count..(at + 1) * count;
    match elements {
        Elements::Float(elements) => Elements::Float(elements[range].to_vec()),
        Elements::Int64(elements) => Elements::Int64(elements[range].to_vec()),
        Elements::Int32(elements) => Elements::Int32(elements[range].to_vec()),
        Elements::Int8(elements) => Elements::Int8(elements[range].to_vec()),
        Elements::Uint8(elements) => Elements::Uint8(elements[range].to_vec()),
        Elements::Bool(elements) => Elements::Bool(elements[range].to_vec()),
    }
}

/// The arrays of an archive in the order of the inputs; the only one is for the only input, whatever its name.
fn by_name(arrays: Vec<(String, Tensor)>, inputs: &[&Value]) -> Result<Vec<Tensor>, SampleFault> {
    if arrays.len() == 1 && inputs.len() == 1 {
        return Ok(arrays.into_iter().map(|(_, array)| array).collect());
    }
    let names: Vec<String> = arrays.iter().map(|(name, _)| name.clone()).collect();
    let mut arrays: Vec<(String, Option<Tensor>)> =
        arrays.into_iter().map(|(name, array)| (name, Some(array))).collect();
    let mut array_of = |input: &&Value| {
        let found = arrays.iter_mut().find(|(name, _)| *name == input.name);
        found
            .and_then(|(_, array)| array.take())
            .ok_or_else(|| SampleFault::Missing { input: named(input), arrays: names.clone() })
    };
    inputs.iter().map(&mut array_of).collect()
}

/// The elements of an input as bytes.
fn of_elements(bytes: &[u8], input: &Value) -> Result<Tensor, SampleFault> {
    let count = input.shape.iter().try_fold(1, |count: usize, size| count.checked_mul(*size));
    let width = match input.element_type {
        ElementType::Int64 => 8,
        ElementType::Float | ElementType::Int32 => 4,
        ElementType::Int8 | ElementType::Uint8 | ElementType::Bool => 1,
    };
    let kind = match (count, input.element_type) {
        (Some(count), ElementType::Float) if count == bytes.len() => ElementType::Uint8,
        (Some(count), kind) if count.checked_mul(width) == Some(bytes.len()) => kind,
        (count, element_type) => {
            let narrow = (element_type == ElementType::Float).then_some(1);
            let widths = [width].into_iter().chain(narrow);
            let wanted = widths.filter_map(|width| count?.checked_mul(width)).collect();
            return Err(SampleFault::Bytes { found: bytes.len(), wanted, input: named(input), element_type });
        }
    };
    Ok(Tensor::of(input.shape.clone(), npy::elements_of(bytes, kind)))
}

/// Number of samples in a tensor.
fn samples_in(tensor: &Tensor, input: &Value) -> Result<usize, SampleFault> {
    let without_ones = |shape: &[usize]| {
        let ones = shape.iter().take_while(|size| **size == 1).count();
        shape[ones..].to_vec()
    };
    if without_ones(&tensor.shape) == without_ones(&input.shape) {
        return Ok(1);
    }
    match (&tensor.shape[..], &input.shape[..]) {
        ([count, sample @ ..], [1, wanted @ ..]) if sample == wanted && *count > 0 => Ok(*count),
        (found, wanted) => {
            Err(SampleFault::Shape { input: named(input), found: found.to_vec(), wanted: wanted.to_vec() })
        }
    }
}

/// A tensor whose elements have the type of the input.
fn converted(tensor: Tensor, input: &Expected) -> Result<Tensor, SampleFault> {
    let element_type = input.element_type;
    if tensor.element_type() == element_type {
        return Ok(tensor);
    }
    let none = |value| SampleFault::Element { input: input.name.clone(), element_type, value };
    let whole = |float: &f32| match float.fract() == 0.0 && float.abs() < 2_f32.powi(63) {
        true => Ok(*float as i64),
        false => Err(none(f64::from(*float))),
    };
    let integers = || match (&tensor.elements, tensor.to_integers()) {
        (_, Some(integers)) => Ok(integers),
        (Elements::Float(floats), None) => floats.iter().map(whole).collect(),
        _ => Ok(Vec::new()),
    };
    let beyond = |integer: i64| none(integer as f64);
    let elements = match element_type {
        ElementType::Float => Elements::Float(tensor.to_floats()),
        ElementType::Int64 => Elements::Int64(integers()?),
        ElementType::Int32 => Elements::Int32(narrowed(&integers()?).map_err(beyond)?),
        ElementType::Int8 => Elements::Int8(narrowed(&integers()?).map_err(beyond)?),
        ElementType::Uint8 => Elements::Uint8(narrowed(&integers()?).map_err(beyond)?),
        ElementType::Bool => {
            let boolean = |integer: i64| match integer {
                0 | 1 => Ok(integer == 1),
                other => Err(beyond(other)),
            };
            Elements::Bool(integers()?.into_iter().map(boolean).collect::<Result<_, _>>()?)
        }
    };
    Ok(Tensor { elements, ..tensor })
}

/// Integers in a narrower type; or the first that it does not have.
fn narrowed<T: TryFrom<i64>>(integers: &[i64]) -> Result<Vec<T>, i64> {
    integers.iter().map(|integer| T::try_from(*integer).map_err(|_| *integer)).collect()
}

#[cfg(test)]
pub(super) mod tests;
