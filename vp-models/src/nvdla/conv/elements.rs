//! Activations or weights of one format.

use crate::nvdla::float::Fp16;
use crate::nvdla::numeric::{Precision, saturate};
use serde::{Deserialize, Serialize};

/// A run of elements, as the MAC array takes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Elements {
    /// 8-bit two's complement.
    Int8(Vec<i8>),
    /// 16-bit two's complement.
    Int16(Vec<i16>),
    /// Codes of binary16.
    Fp16(Vec<u16>),
}

impl Elements {
    /// Elements of `count` times the low bits of `value`.
    pub fn filled(precision: Precision, value: i16, count: usize) -> Elements {
        match precision {
            Precision::Int8 => Elements::Int8(vec![value as i8; count]),
            Precision::Int16 => Elements::Int16(vec![value; count]),
            Precision::Fp16 => Elements::Fp16(vec![value.cast_unsigned(); count]),
        }
    }

    /// Reads elements as they lie in memory, little endian.
    pub fn from_bytes(precision: Precision, bytes: &[u8]) -> Elements {
        match precision {
            Precision::Int8 => Elements::Int8(bytes.iter().map(|&byte| byte.cast_signed()).collect()),
            Precision::Int16 => {
                Elements::Int16(bytes.as_chunks().0.iter().map(|&pair| i16::from_le_bytes(pair)).collect())
            }
            Precision::Fp16 => {
                Elements::Fp16(bytes.as_chunks().0.iter().map(|&pair| u16::from_le_bytes(pair)).collect())
            }
        }
    }

    /// The low bits of each, as they are.
    pub fn raw(precision: Precision, bits: impl Iterator<Item = i32>) -> Elements {
        match precision {
            Precision::Int8 => Elements::Int8(bits.map(|bits| bits as i8).collect()),
            Precision::Int16 => Elements::Int16(bits.map(|bits| bits as i16).collect()),
            Precision::Fp16 => Elements::Fp16(bits.map(|bits| bits as u16).collect()),
        }
    }

    /// Values of at most 17 bits, each saturated or rounded to the format.
    pub fn saturated(precision: Precision, values: impl Iterator<Item = i64>) -> Elements {
        match precision {
            Precision::Int8 => Elements::Int8(values.map(|value| saturate(value, 8) as i8).collect()),
            Precision::Int16 => Elements::Int16(values.map(|value| saturate(value, 16) as i16).collect()),
            Precision::Fp16 => {
                let convert = |value| Fp16::from_integer(value as i32).bits() as u16;
                Elements::Fp16(values.map(convert).collect())
            }
        }
    }

    /// The low byte of each, as int8.
    pub fn low_bytes(self) -> Elements {
        match self {
            Elements::Int8(_) => self,
            Elements::Int16(elements) => Elements::Int8(elements.into_iter().map(|it| it as i8).collect()),
            Elements::Fp16(codes) => Elements::Int8(codes.into_iter().map(|it| it as i8).collect()),
        }
    }

    /// Runs of this format, one after the other. Panics if one has another.
    pub fn joined(precision: Precision, runs: impl Iterator<Item = Elements>) -> Elements {
        let mut joined = Elements::filled(precision, 0, 0);
        for run in runs {
            match (&mut joined, run) {
                (Elements::Int8(all), Elements::Int8(run)) if all.is_empty() => *all = run,
                (Elements::Int16(all), Elements::Int16(run)) if all.is_empty() => *all = run,
                (Elements::Fp16(all), Elements::Fp16(run)) if all.is_empty() => *all = run,
                (Elements::Int8(all), Elements::Int8(run)) => all.extend_from_slice(&run),
                (Elements::Int16(all), Elements::Int16(run)) => all.extend_from_slice(&run),
                (Elements::Fp16(all), Elements::Fp16(run)) => all.extend_from_slice(&run),
                _ => unreachable!("runs of two formats in one layer"),
            }
        }
        joined
    }

    /// Returns the elements, if they are integers of 8 bits.
    pub fn int8(self) -> Option<Vec<i8>> {
        if let Elements::Int8(elements) = self { Some(elements) } else { None }
    }

    /// Returns the elements, if they are integers of 16 bits.
    pub fn int16(self) -> Option<Vec<i16>> {
        if let Elements::Int16(elements) = self { Some(elements) } else { None }
    }

    /// Codes.
    pub fn fp16(self) -> Option<Vec<u16>> {
        if let Elements::Fp16(codes) = self { Some(codes) } else { None }
    }

    /// Format of the elements.
    pub fn precision(&self) -> Precision {
        match self {
            Elements::Int8(_) => Precision::Int8,
            Elements::Int16(_) => Precision::Int16,
            Elements::Fp16(_) => Precision::Fp16,
        }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match self {
            Elements::Int8(elements) => elements.len(),
            Elements::Int16(elements) => elements.len(),
            Elements::Fp16(elements) => elements.len(),
        }
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the first `count` elements of `from`, from `at` on, to the place `to`. Panics if there are fewer,
    /// and if the formats differ.
    pub fn copy(&mut self, to: usize, from: &Elements, at: usize, count: usize) {
        match (self, from) {
            (Elements::Int8(into), Elements::Int8(from)) => {
                into[to..to + count].copy_from_slice(&from[at..at + count]);
            }
            (Elements::Int16(into), Elements::Int16(from)) => {
                into[to..to + count].copy_from_slice(&from[at..at + count]);
            }
            (Elements::Fp16(into), Elements::Fp16(from)) => {
                into[to..to + count].copy_from_slice(&from[at..at + count]);
            }
            _ => unreachable!("a slice of another format than its layer's"),
        }
    }

    /// Replaces what is not a number by zero.
    pub fn flush(&mut self) {
        if let Elements::Fp16(codes) = self {
            codes
                .iter_mut()
                .filter(|code| Fp16::from_bits((**code).into()).is_nan())
                .for_each(|code| *code = 0);
        }
    }

    /// The values of integers, or the codes.
    pub fn values(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len()).map(|index| match self {
            Elements::Int8(elements) => i64::from(elements[index]),
            Elements::Int16(elements) => i64::from(elements[index]),
            Elements::Fp16(codes) => i64::from(codes[index]),
        })
    }
}
