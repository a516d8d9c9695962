//! Arrays as NumPy writes them, formats 1.0, 2.0 and 3.0:
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.
//!
//! Booleans, integers and floats of all widths are read, in either order of bytes and of axes. [`Tensor`] has fewer types, and an array gets
//! the narrowest that holds all its values; `float64` is rounded to 32 bits.

mod header;

use self::header::Header;
use half::f16;
use vp_tensors::{ElementType, Elements, Tensor};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Most axes of an array, as NumPy has it.
const MOST_AXES: usize = 64;

/// Longest header.
const MOST_HEADER: usize = 64 << 10;

/// Error of an array's file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NpyError {
    /// Other first bytes, or too few.
    #[error("no NPY file: it does not begin with \\x93NUMPY, a version and the length of a header")]
    Magic,
    /// A version that nobody has defined.
    #[error("NPY version {0}.{1}; 1.0, 2.0 and 3.0 are read")]
    Version(u8, u8),
    /// A header that is none.
    #[error("the header of {0}")]
    Header(String),
    /// A type that no tensor has.
    #[error(
        "elements of type `{0}`; booleans, integers and floats are read: b1, i1 to i8, u1 to u8, f2 to f8"
    )]
    Type(String),
    /// A shape that no tensor has.
    #[error("{0} axes; at most {MOST_AXES} are read")]
    Axes(usize),
    /// Another number of elements.
    #[error("{found} bytes of elements; shape {shape:?} of `{kind}` takes {}", counted(*wanted))]
    Length {
        /// Bytes behind the header.
        found: usize,
        /// Bytes that the shape takes, if that can be counted.
        wanted: Option<usize>,
        /// Sizes of the axes.
        shape: Vec<usize>,
        /// Type of the elements.
        kind: String,
    },
    /// A `uint64` that `INT64` does not hold.
    #[error("an element is {0}; integers up to 9223372036854775807 are read")]
    Range(u64),
}

fn counted(bytes: Option<usize>) -> String {
    bytes.map_or_else(|| "more than there is".to_owned(), |bytes| bytes.to_string())
}

/// Returns true if a file begins as an array's does.
pub fn is_npy(file: &[u8]) -> bool {
    file.starts_with(MAGIC)
}

/// Reads an array.
///
/// # Errors
/// When the file is none, or its elements have no type of a tensor.
pub fn read(file: &[u8]) -> Result<Tensor, NpyError> {
    let (header, data) = Header::read(file)?;
    let Header { kind, is_fortran, shape } = header;
    if shape.len() > MOST_AXES {
        return Err(NpyError::Axes(shape.len()));
    }
    let unknown = || NpyError::Type(kind.escape_debug().to_string());
    let (is_big, type_and_width) = match kind.split_at_checked(1).ok_or_else(unknown)? {
        ("<" | "|", rest) => (false, rest),
        (">", rest) => (true, rest),
        _ => return Err(unknown()),
    };
    let width = match type_and_width {
        "b1" | "i1" | "u1" => 1,
        "i2" | "u2" | "f2" => 2,
        "i4" | "u4" | "f4" => 4,
        "i8" | "u8" | "f8" => 8,
        _ => return Err(unknown()),
    };
    let wanted = shape.iter().try_fold(width, |bytes: usize, size| bytes.checked_mul(*size));
    if wanted != Some(data.len()) {
        return Err(NpyError::Length { found: data.len(), wanted, shape, kind });
    }
    let in_rows = (is_fortran && shape.len() > 1).then(|| rows_first(data, &shape, width));
    let elements = elements(in_rows.as_deref().unwrap_or(data), type_and_width, is_big)?;
    Ok(Tensor::of(shape, elements))
}

fn elements(data: &[u8], type_and_width: &str, is_big: bool) -> Result<Elements, NpyError> {
    Ok(match type_and_width {
        "b1" => elements_of(data, ElementType::Bool),
        "i1" => elements_of(data, ElementType::Int8),
        "u1" => elements_of(data, ElementType::Uint8),
        "i2" => Elements::Int32(each(data, is_big, |bytes| i16::from_le_bytes(bytes).into())),
        "u2" => Elements::Int32(each(data, is_big, |bytes| u16::from_le_bytes(bytes).into())),
        "i4" => Elements::Int32(each(data, is_big, i32::from_le_bytes)),
        "u4" => Elements::Int64(each(data, is_big, |bytes| u32::from_le_bytes(bytes).into())),
        "i8" => Elements::Int64(each(data, is_big, i64::from_le_bytes)),
        "u8" => {
            let words = each(data, is_big, u64::from_le_bytes).into_iter();
            let integers = words.map(|word| i64::try_from(word).map_err(|_| NpyError::Range(word)));
            Elements::Int64(integers.collect::<Result<_, _>>()?)
        }
        "f2" => Elements::Float(each(data, is_big, |bytes| f16::from_le_bytes(bytes).to_f32())),
        "f4" => Elements::Float(each(data, is_big, f32::from_le_bytes)),
        _ => Elements::Float(each(data, is_big, |bytes| f64::from_le_bytes(bytes) as f32)),
    })
}

/// The elements of a type that bytes are, the least significant first.
pub(super) fn elements_of(data: &[u8], element_type: ElementType) -> Elements {
    match element_type {
        ElementType::Float => Elements::Float(each(data, false, f32::from_le_bytes)),
        ElementType::Int64 => Elements::Int64(each(data, false, i64::from_le_bytes)),
        ElementType::Int32 => Elements::Int32(each(data, false, i32::from_le_bytes)),
        ElementType::Int8 => Elements::Int8(data.iter().map(|byte| byte.cast_signed()).collect()),
        ElementType::Uint8 => Elements::Uint8(data.to_vec()),
        ElementType::Bool => Elements::Bool(data.iter().map(|byte| *byte != 0).collect()),
    }
}

/// The elements of so many bytes each, the least significant first for `of`.
fn each<const N: usize, T>(data: &[u8], is_big: bool, of: impl Fn([u8; N]) -> T) -> Vec<T> {
    let (elements, _) = data.as_chunks::<N>();
    let turned = |element: &[u8; N]| {
        let mut bytes = *element;
        if is_big {
            bytes.reverse();
        }
        of(bytes)
    };
    elements.iter().map(turned).collect()
}

/// The elements of an array whose first axis is the fastest, in the order in which the last one is.
fn rows_first(data: &[u8], shape: &[usize], width: usize) -> Vec<u8> {
    let strides: Vec<usize> =
        shape.iter().scan(width, |stride, size| Some(std::mem::replace(stride, *stride * *size))).collect();
    let mut place = vec![0; shape.len()];
    let (mut at, mut rows) = (0, Vec::with_capacity(data.len()));
    while rows.len() < data.len() {
        rows.extend_from_slice(&data[at..at + width]);
        for axis in (0..shape.len()).rev() {
            place[axis] += 1;
            at += strides[axis];
            if place[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * place[axis];
            place[axis] = 0;
        }
    }
    rows
}

/// Width of floats in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FloatWidth {
    /// 16 bits, for who reads a model's `FLOAT16`.
    Half,
    /// 32 bits, as they are computed.
    #[default]
    Single,
    /// 64 bits, for who reads a model's `DOUBLE`.
    Double,
}

/// The file of an array, as NumPy writes it.
pub fn written(tensor: &Tensor) -> Vec<u8> {
    written_as(tensor, FloatWidth::Single)
}

/// The file of an array whose floats have this width.
pub fn written_as(tensor: &Tensor, floats: FloatWidth) -> Vec<u8> {
    let kind = match (tensor.element_type(), floats) {
        (ElementType::Float, FloatWidth::Half) => "<f2",
        (ElementType::Float, FloatWidth::Single) => "<f4",
        (ElementType::Float, FloatWidth::Double) => "<f8",
        (ElementType::Int64, _) => "<i8",
        (ElementType::Int32, _) => "<i4",
        (ElementType::Int8, _) => "|i1",
        (ElementType::Uint8, _) => "|u1",
        (ElementType::Bool, _) => "|b1",
    };
    let mut file = header::written(kind, &tensor.shape);
    match &tensor.elements {
        Elements::Float(elements) => match floats {
            FloatWidth::Half => {
                elements.iter().for_each(|it| file.extend(f16::from_f32(*it).to_le_bytes()));
            }
            FloatWidth::Single => elements.iter().for_each(|it| file.extend(it.to_le_bytes())),
            FloatWidth::Double => elements.iter().for_each(|it| file.extend(f64::from(*it).to_le_bytes())),
        },
        Elements::Int64(elements) => elements.iter().for_each(|it| file.extend(it.to_le_bytes())),
        Elements::Int32(elements) => elements.iter().for_each(|it| file.extend(it.to_le_bytes())),
        Elements::Int8(elements) => file.extend(elements.iter().map(|it| it.cast_unsigned())),
        Elements::Uint8(elements) => file.extend(elements),
        Elements::Bool(elements) => file.extend(elements.iter().map(|it| u8::from(*it))),
    }
    file
}

#[cfg(test)]
pub(super) mod tests;
