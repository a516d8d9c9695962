//! Tensors: a shape, and elements in row-major order.

use std::fmt;
use strum::IntoStaticStr;

/// Type of a tensor's elements, by the names of ONNX's `TensorProto.DataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum ElementType {
    /// `FLOAT`; `FLOAT16`, `BFLOAT16` and `DOUBLE` are computed as this.
    Float,
    /// `INT64`; `UINT64` and `UINT32` are computed as this.
    Int64,
    /// `INT32`; `INT16` and `UINT16` are computed as this.
    Int32,
    /// `INT8`.
    Int8,
    /// `UINT8`.
    Uint8,
    /// `BOOL`.
    Bool,
}

impl ElementType {
    /// Name of the type.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Elements of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// Numbers of 32 bits.
    Float(Vec<f32>),
    /// Integers of 64 bits.
    Int64(Vec<i64>),
    /// Integers of 32 bits.
    Int32(Vec<i32>),
    /// Integers of 8 bits.
    Int8(Vec<i8>),
    /// Integers of 8 bits without a sign.
    Uint8(Vec<u8>),
    /// Truth values.
    Bool(Vec<bool>),
}

impl Elements {
    /// Type of the elements.
    pub fn element_type(&self) -> ElementType {
        match self {
            Elements::Float(_) => ElementType::Float,
            Elements::Int64(_) => ElementType::Int64,
            Elements::Int32(_) => ElementType::Int32,
            Elements::Int8(_) => ElementType::Int8,
            Elements::Uint8(_) => ElementType::Uint8,
            Elements::Bool(_) => ElementType::Bool,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Elements::Float(elements) => elements.len(),
            Elements::Int64(elements) => elements.len(),
            Elements::Int32(elements) => elements.len(),
            Elements::Int8(elements) => elements.len(),
            Elements::Uint8(elements) => elements.len(),
            Elements::Bool(elements) => elements.len(),
        }
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A tensor of any rank; a scalar has no axes and one element.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Sizes of the axes, the slowest first.
    pub shape: Vec<usize>,
    /// The elements in row-major order: as many as the product of the sizes.
    pub elements: Elements,
}

impl Tensor {
    /// A tensor of floats.
    ///
    /// # Panics
    /// When there are not as many elements as the shape has.
    pub fn floats(shape: impl Into<Vec<usize>>, elements: Vec<f32>) -> Tensor {
        Tensor::of(shape, Elements::Float(elements))
    }

    /// A tensor of these elements.
    ///
    /// # Panics
    /// When there are not as many elements as the shape has.
    pub fn of(shape: impl Into<Vec<usize>>, elements: Elements) -> Tensor {
        let shape = shape.into();
        assert_eq!(shape.iter().product::<usize>(), elements.len(), "elements of {shape:?}");
        Tensor { shape, elements }
    }

    /// Type of the elements.
    pub fn element_type(&self) -> ElementType {
        self.elements.element_type()
    }

    /// The elements, if they are floats.
    pub fn as_floats(&self) -> Option<&[f32]> {
        match &self.elements {
            Elements::Float(elements) => Some(elements),
            _ => None,
        }
    }

    /// The elements as floats, of whatever type.
    pub fn to_floats(&self) -> Vec<f32> {
        match &self.elements {
            Elements::Float(elements) => elements.clone(),
            Elements::Int64(elements) => elements.iter().map(|&element| element as f32).collect(),
            Elements::Int32(elements) => elements.iter().map(|&element| element as f32).collect(),
            Elements::Int8(elements) => elements.iter().map(|&element| element.into()).collect(),
            Elements::Uint8(elements) => elements.iter().map(|&element| element.into()).collect(),
            Elements::Bool(elements) => {
                elements.iter().map(|&element| f32::from(u8::from(element))).collect()
            }
        }
    }

    /// The elements as integers, if they are integers or truth values.
    pub fn to_integers(&self) -> Option<Vec<i64>> {
        Some(match &self.elements {
            Elements::Float(_) => return None,
            Elements::Int64(elements) => elements.clone(),
            Elements::Int32(elements) => elements.iter().map(|&element| element.into()).collect(),
            Elements::Int8(elements) => elements.iter().map(|&element| element.into()).collect(),
            Elements::Uint8(elements) => elements.iter().map(|&element| element.into()).collect(),
            Elements::Bool(elements) => elements.iter().map(|&element| element.into()).collect(),
        })
    }
}
