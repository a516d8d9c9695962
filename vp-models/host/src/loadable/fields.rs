//! Fields of descriptors, by the names that their layouts give them.

use serde::{Serialize, Serializer};
use zerocopy::little_endian::{I16, I32, U16, U32, U64};

/// Value of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// A number, or a code.
    Number(i64),
    /// Values of one kind.
    List(Vec<FieldValue>),
    /// A structure.
    Fields(Fields),
}

/// Fields with their names, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(pub Vec<(&'static str, FieldValue)>);

impl Fields {
    /// The field of this name, if it is a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            FieldValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The field of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&FieldValue> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Shows each number with its name, such as `stages.0.alu`.
    pub fn each(&self, show: &mut impl FnMut(&str, i64)) {
        let mut name = String::new();
        for (field, value) in &self.0 {
            value.each(&mut name, field, show);
        }
    }
}

impl FieldValue {
    fn each(&self, name: &mut String, part: &str, show: &mut impl FnMut(&str, i64)) {
        let before = name.len();
        if before > 0 {
            name.push('.');
        }
        name.push_str(part);
        match self {
            FieldValue::Number(number) => show(name, *number),
            FieldValue::List(values) => {
                values.iter().enumerate().for_each(|(at, value)| value.each(name, &at.to_string(), show));
            }
            FieldValue::Fields(Fields(fields)) => {
                fields.iter().for_each(|(field, value)| value.each(name, field, show));
            }
        }
        name.truncate(before);
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A structure whose fields have names, or a number in one.
pub(super) trait Named {
    fn value(&self) -> FieldValue;
}

macro_rules! numbers {
    ($($type:ty: $number:ident => $value:expr;)*) => {
        $(impl Named for $type {
            fn value(&self) -> FieldValue {
                let $number = self;
                FieldValue::Number($value)
            }
        })*
    };
}

numbers! {
    u8: it => i64::from(*it);
    U16: it => it.get().into();
    I16: it => it.get().into();
    U32: it => it.get().into();
    I32: it => it.get().into();
    // Bounds of tables, which are signed.
    U64: it => it.get().cast_signed();
}

impl<T: Named, const N: usize> Named for [T; N] {
    fn value(&self) -> FieldValue {
        FieldValue::List(self.iter().map(Named::value).collect())
    }
}
