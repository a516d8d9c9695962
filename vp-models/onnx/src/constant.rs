//! Tensors of a model's file.

use crate::messages::TensorProto;
use crate::problem::Fault;
use half::{bf16, f16};
use vp_tensors::{ElementType, Elements, Tensor, ValueType};

/// Type of elements by its name and number in `TensorProto.DataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataType {
    Float,
    Uint8,
    Int8,
    Uint16,
    Int16,
    Int32,
    Int64,
    Bool,
    Float16,
    Double,
    Uint32,
    Uint64,
    Bfloat16,
}

/// Names of the types that are not read, by number.
const REFUSED: [(i32, &str); 16] = [
    (0, "UNDEFINED"),
    (8, "STRING"),
    (14, "COMPLEX64"),
    (15, "COMPLEX128"),
    (17, "FLOAT8E4M3FN"),
    (18, "FLOAT8E4M3FNUZ"),
    (19, "FLOAT8E5M2"),
    (20, "FLOAT8E5M2FNUZ"),
    (21, "UINT4"),
    (22, "INT4"),
    (23, "FLOAT4E2M1"),
    (24, "FLOAT8E8M0"),
    (25, "UINT2"),
    (26, "INT2"),
    (27, "FLOAT6E2M3"),
    (28, "FLOAT6E3M2"),
];

impl DataType {
    /// Returns the type of this number.
    pub(crate) fn of(number: i32) -> Result<DataType, Fault> {
        Ok(match number {
            1 => DataType::Float,
            2 => DataType::Uint8,
            3 => DataType::Int8,
            4 => DataType::Uint16,
            5 => DataType::Int16,
            6 => DataType::Int32,
            7 => DataType::Int64,
            9 => DataType::Bool,
            10 => DataType::Float16,
            11 => DataType::Double,
            12 => DataType::Uint32,
            13 => DataType::Uint64,
            16 => DataType::Bfloat16,
            _ => {
                let name = REFUSED.iter().find(|refused| refused.0 == number);
                let name = name.map_or_else(|| format!("type {number}"), |refused| refused.1.to_owned());
                return Err(Fault::with(
                    format!("elements of type {name} are not read"),
                    "FLOAT, FLOAT16, BFLOAT16, DOUBLE, BOOL and integers of 8 bits and more are",
                ));
            }
        })
    }

    /// Type in which elements are computed.
    pub(crate) fn element_type(self) -> ElementType {
        match self {
            DataType::Float | DataType::Float16 | DataType::Double | DataType::Bfloat16 => ElementType::Float,
            DataType::Uint8 => ElementType::Uint8,
            DataType::Int8 => ElementType::Int8,
            DataType::Uint16 | DataType::Int16 | DataType::Int32 => ElementType::Int32,
            DataType::Int64 | DataType::Uint32 | DataType::Uint64 => ElementType::Int64,
            DataType::Bool => ElementType::Bool,
        }
    }

    /// Size of an element in `raw_data`.
    fn bytes(self) -> usize {
        match self {
            DataType::Uint8 | DataType::Int8 | DataType::Bool => 1,
            DataType::Uint16 | DataType::Int16 | DataType::Float16 | DataType::Bfloat16 => 2,
            DataType::Float | DataType::Int32 | DataType::Uint32 => 4,
            DataType::Int64 | DataType::Double | DataType::Uint64 => 8,
        }
    }
}

/// Source of bytes in files beside a model: gets the file's place as the model names it, where in the file they begin, and how
/// many they are.
pub type External<'a> = dyn FnMut(&str, u64, u64) -> Result<Vec<u8>, String> + 'a;

/// A tensor, and its type in the file.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub(crate) tensor: std::sync::Arc<Tensor>,
    pub(crate) data_type: DataType,
}

/// Returns a tensor of the file.
pub(crate) fn read(proto: &TensorProto, external: &mut External<'_>) -> Result<Constant, Fault> {
    let data_type = DataType::of(proto.data_type.unwrap_or(0))?;
    let wrong = || Fault::new(format!("its shape is {:?}; no negative size would be right", proto.dims));
    let shape: Option<Vec<usize>> = proto.dims.iter().map(|&size| usize::try_from(size).ok()).collect();
    let shape = shape.ok_or_else(wrong)?;
    let value_type = ValueType::new(data_type.element_type(), shape);
    let count = value_type.elements()?;
    let shape = value_type.shape;
    let elements = if proto.data_location == Some(1) {
        raw(&bytes_beside(proto, count * data_type.bytes(), external)?, data_type)
    } else if let Some(bytes) = &proto.raw_data {
        if bytes.len() != count * data_type.bytes() {
            let (found, expected) = (bytes.len(), count * data_type.bytes());
            return Err(Fault::new(format!("its data has {found} bytes where its shape needs {expected}")));
        }
        raw(bytes, data_type)
    } else {
        typed(proto, data_type, count)
    };
    let elements = elements?;
    if elements.len() != count {
        let found = elements.len();
        return Err(Fault::new(format!("its data has {found} elements where its shape needs {count}")));
    }
    Ok(Constant { tensor: std::sync::Arc::new(Tensor::of(shape, elements)), data_type })
}

/// Returns the bytes of a tensor that are in another file.
fn bytes_beside(proto: &TensorProto, count: usize, external: &mut External<'_>) -> Result<Vec<u8>, Fault> {
    let entry = |key: &str| {
        let entry = proto.external_data.iter().find(|entry| entry.key.as_deref() == Some(key));
        entry.and_then(|entry| entry.value.as_deref())
    };
    let number = |key: &str| match entry(key) {
        None => Ok(None),
        Some(text) => {
            let wrong = |_| Fault::new(format!("external data has `{key}` = `{text}`, which is no number"));
            text.parse::<u64>().map(Some).map_err(wrong)
        }
    };
    let location = entry("location").ok_or_else(|| Fault::new("external data has no location"))?;
    let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
    if length.is_some_and(|length| length != count as u64) {
        let length = length.unwrap_or(0);
        return Err(Fault::new(format!("external data has {length} bytes where its shape needs {count}")));
    }
    let bytes = external(location, offset, count as u64)
        .map_err(|error| Fault::new(format!("external data `{location}`: {error}")))?;
    if bytes.len() != count {
        let found = bytes.len();
        return Err(Fault::new(format!("external data `{location}` gives {found} bytes of {count}")));
    }
    Ok(bytes)
}

/// Returns elements of little-endian bytes.
fn raw(bytes: &[u8], data_type: DataType) -> Result<Elements, Fault> {
    macro_rules! each {
        ($size:literal, $from:expr) => {
            bytes.as_chunks::<$size>().0.iter().map(|&bytes| $from(bytes)).collect()
        };
    }
    Ok(match data_type {
        DataType::Float => Elements::Float(each!(4, f32::from_le_bytes)),
        DataType::Double => Elements::Float(each!(8, |bytes| f64::from_le_bytes(bytes) as f32)),
        DataType::Float16 => Elements::Float(each!(2, |bytes| f16::from_le_bytes(bytes).to_f32())),
        DataType::Bfloat16 => Elements::Float(each!(2, |bytes| bf16::from_le_bytes(bytes).to_f32())),
        DataType::Int8 => Elements::Int8(bytes.iter().map(|&byte| byte as i8).collect()),
        DataType::Uint8 => Elements::Uint8(bytes.to_vec()),
        DataType::Bool => Elements::Bool(bytes.iter().map(|&byte| byte != 0).collect()),
        DataType::Int16 => Elements::Int32(each!(2, |bytes| i16::from_le_bytes(bytes).into())),
        DataType::Uint16 => Elements::Int32(each!(2, |bytes| u16::from_le_bytes(bytes).into())),
        DataType::Int32 => Elements::Int32(each!(4, i32::from_le_bytes)),
        DataType::Uint32 => Elements::Int64(each!(4, |bytes| u32::from_le_bytes(bytes).into())),
        DataType::Int64 => Elements::Int64(each!(8, i64::from_le_bytes)),
        DataType::Uint64 => {
            let numbers: Vec<u64> = each!(8, u64::from_le_bytes);
            unsigned(&numbers)?
        }
    })
}

/// Returns integers without a sign as those with one.
fn unsigned(numbers: &[u64]) -> Result<Elements, Fault> {
    let signed = numbers.iter().map(|&number| i64::try_from(number)).collect::<Result<_, _>>();
    Ok(Elements::Int64(
        signed.map_err(|_| Fault::new("it has an integer above 2^63 - 1, which is not computed"))?,
    ))
}

/// Returns elements of the fields for their type.
fn typed(proto: &TensorProto, data_type: DataType, count: usize) -> Result<Elements, Fault> {
    if proto.int32_data.len() > count {
        return Err(Fault::new(format!("its data has more than the {count} elements of its shape")));
    }
    let words = || proto.int32_data.iter();
    Ok(match data_type {
        DataType::Float => Elements::Float(proto.float_data.clone()),
        DataType::Double => Elements::Float(proto.double_data.iter().map(|&number| number as f32).collect()),
        DataType::Float16 => {
            Elements::Float(words().map(|&word| f16::from_bits(word as u16).to_f32()).collect())
        }
        DataType::Bfloat16 => {
            Elements::Float(words().map(|&word| bf16::from_bits(word as u16).to_f32()).collect())
        }
        DataType::Int8 => Elements::Int8(words().map(|&word| word as i8).collect()),
        DataType::Uint8 => Elements::Uint8(words().map(|&word| word as u8).collect()),
        DataType::Bool => Elements::Bool(words().map(|&word| word != 0).collect()),
        DataType::Int16 => Elements::Int32(words().map(|&word| i32::from(word as i16)).collect()),
        DataType::Uint16 => Elements::Int32(words().map(|&word| i32::from(word as u16)).collect()),
        DataType::Int32 => Elements::Int32(proto.int32_data.clone()),
        DataType::Int64 => Elements::Int64(proto.int64_data.clone()),
        DataType::Uint32 | DataType::Uint64 => unsigned(&proto.uint64_data)?,
    })
}
