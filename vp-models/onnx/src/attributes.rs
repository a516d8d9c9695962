//! Attributes of a node, each read once: what is left is one that the operator does not have.

use crate::constant::{self, Constant};
use crate::messages::{AttributeProto, NodeProto};
use crate::problem::Fault;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Attributes that are not read yet.
pub(crate) struct Attributes<'a>(RefCell<BTreeMap<&'a str, &'a AttributeProto>>);

/// Numbers of `AttributeProto.AttributeType`, which old files leave out.
const KINDS: [(i32, &str); 14] = [
    (1, "FLOAT"),
    (2, "INT"),
    (3, "STRING"),
    (4, "TENSOR"),
    (5, "GRAPH"),
    (6, "FLOATS"),
    (7, "INTS"),
    (8, "STRINGS"),
    (9, "TENSORS"),
    (10, "GRAPHS"),
    (11, "SPARSE_TENSOR"),
    (12, "SPARSE_TENSORS"),
    (13, "TYPE_PROTO"),
    (14, "TYPE_PROTOS"),
];

impl<'a> Attributes<'a> {
    /// The attributes of a node.
    pub(crate) fn new(node: &'a NodeProto) -> Result<Attributes<'a>, Fault> {
        let mut attributes = BTreeMap::new();
        for attribute in &node.attribute {
            let name = attribute.name.as_deref().unwrap_or_default();
            if attribute.ref_attr_name.as_deref().is_some_and(|name| !name.is_empty()) {
                return Err(Fault::new(format!(
                    "attribute `{name}` refers to one of a function, outside of any"
                )));
            }
            if attributes.insert(name, attribute).is_some() {
                return Err(Fault::new(format!("attribute `{name}` is there twice")));
            }
        }
        Ok(Attributes(RefCell::new(attributes)))
    }

    /// Returns an attribute, having checked its type.
    fn take(&self, name: &str, kind: i32) -> Result<Option<&'a AttributeProto>, Fault> {
        let Some(attribute) = self.0.borrow_mut().remove(name) else { return Ok(None) };
        match attribute.kind {
            Some(found) if found != kind && found != 0 => {
                let text =
                    |kind: i32| KINDS.iter().find(|entry| entry.0 == kind).map_or("unknown", |entry| entry.1);
                let (found, expected) = (text(found), text(kind));
                Err(Fault::new(format!("attribute `{name}` is {found}; {expected} would be right")))
            }
            _ => Ok(Some(attribute)),
        }
    }

    /// Returns true if an attribute is there and not read yet.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.borrow().contains_key(name)
    }

    /// Returns an integer, if it is there.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, Fault> {
        Ok(self.take(name, 2)?.map(|attribute| attribute.i.unwrap_or(0)))
    }

    /// Returns an integer that is 0 or 1, or 0.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Fault> {
        Ok(self.integer(name)?.unwrap_or(0) != 0)
    }

    /// Returns a float, or this one.
    pub(crate) fn float(&self, name: &str, default: f32) -> Result<f32, Fault> {
        Ok(self.take(name, 1)?.map_or(default, |attribute| attribute.f.unwrap_or(0.0)))
    }

    /// Returns text, if it is there.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Fault> {
        let Some(attribute) = self.take(name, 3)? else { return Ok(None) };
        let bytes = attribute.s.clone().unwrap_or_default();
        String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| Fault::new(format!("attribute `{name}` is no UTF-8 text")))
    }

    /// Returns integers, if they are there.
    pub(crate) fn integers(&self, name: &str) -> Result<Option<Vec<i64>>, Fault> {
        Ok(self.take(name, 7)?.map(|attribute| attribute.ints.clone()))
    }

    /// Returns sizes, if they are there.
    pub(crate) fn sizes(&self, name: &str) -> Result<Option<Vec<usize>>, Fault> {
        let Some(integers) = self.integers(name)? else { return Ok(None) };
        let sizes = integers.iter().map(|&size| usize::try_from(size)).collect::<Result<_, _>>();
        sizes
            .map(Some)
            .map_err(|_| Fault::new(format!("{name} is {integers:?}; no negative one would be right")))
    }

    /// Returns floats, if they are there.
    pub(crate) fn floats(&self, name: &str) -> Result<Option<Vec<f32>>, Fault> {
        Ok(self.take(name, 6)?.map(|attribute| attribute.floats.clone()))
    }

    /// Returns a tensor, if it is there.
    pub(crate) fn tensor(&self, name: &str) -> Result<Option<Constant>, Fault> {
        let Some(tensor) = self.take(name, 4)?.and_then(|attribute| attribute.t.as_deref()) else {
            return Ok(None);
        };
        let refused = &mut |_: &str, _, _| Err("only initializers may have it".to_owned());
        constant::read(tensor, refused).map(Some)
    }

    /// Checks that an attribute has its default, and marks it as read.
    pub(crate) fn only(&self, name: &str, default: i64) -> Result<(), Fault> {
        match self.integer(name)? {
            Some(value) if value != default => {
                Err(Fault::new(format!("{name} is {value}; only {default} is computed")))
            }
            _ => Ok(()),
        }
    }

    /// Marks attributes as read that do not matter for an answer.
    pub(crate) fn ignore(&self, names: &[&str]) {
        self.0.borrow_mut().retain(|name, _| !names.contains(name));
    }

    /// Checks that all attributes are read.
    pub(crate) fn finish(&self) -> Result<(), Fault> {
        match self.0.borrow().keys().next() {
            None => Ok(()),
            Some(name) => {
                Err(Fault::new(format!("attribute `{name}` is none of this operator at this version")))
            }
        }
    }
}
