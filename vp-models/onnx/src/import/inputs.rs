//! Inputs of a graph: shapes of the file, completed by those that a user gives.

use super::Options;
use super::builder::{Builder, Note};
use crate::model::{self, Dimension, Model};
use crate::problem::{Fault, Problems};
use std::collections::HashSet;
use vp_tensors::{ValueType, shape_text};

/// Adds the inputs.
pub(crate) fn add(model: &Model, options: &Options, builder: &mut Builder, problems: &mut Problems) {
    let nodes = model.graph.node.iter().flat_map(|node| node.input.iter().map(String::as_str));
    let read: HashSet<&str> = nodes.chain(model.graph.output.iter().map(model::name)).collect();
    let is_read = |name: &str| read.contains(name);
    let mut names = HashSet::new();
    for value in model.pure_inputs() {
        let name = model::name(value);
        if !names.insert(name) {
            problems.push(Fault::new("there are two inputs of this name").at("input", name));
            continue;
        }
        let bound = options.values.get(name);
        let given = bound.map(|tensor| &tensor.shape).or(options.shapes.get(name)).map(Vec::as_slice);
        let made = model::data_type(value).and_then(|data_type| {
            let (shape, note) = shape(name, model::dimensions(value), given)?;
            let value_type = ValueType::new(data_type.element_type(), shape);
            value_type.elements()?;
            if let Some(tensor) = bound.filter(|tensor| tensor.element_type() != value_type.element_type) {
                let (given, expected) = (tensor.element_type(), value_type.element_type);
                return Err(Fault::new(format!("a value of {given} is given, but the model has {expected}")));
            }
            Ok((data_type, value_type, note))
        });
        match made {
            Ok((data_type, value_type, note)) => {
                let id = match bound {
                    Some(tensor) => builder.constant(name.to_owned(), tensor.clone()),
                    None => builder.value(name.to_owned(), value_type),
                };
                builder.data_types.insert(id, data_type);
                builder.ids.insert(name.to_owned(), id);
                if bound.is_none() {
                    builder.graph.inputs.push(id);
                }
                builder.notes.extend(note);
            }
            // Of an input that nothing reads nothing needs to be known.
            Err(_) if given.is_none() && !is_read(name) => {}
            Err(fault) => {
                builder.broken.insert(name.to_owned());
                problems.push(fault.at("input", name));
            }
        }
    }
    for name in
        options.shapes.keys().chain(options.values.keys()).filter(|name| !names.contains(name.as_str()))
    {
        let names: Vec<_> = model.pure_inputs().map(|value| format!("`{}`", model::name(value))).collect();
        let fault = Fault::new(format!(
            "a shape or value is given, but the model has no such input; it has {}",
            names.join(", ")
        ));
        problems.push(fault.at("input", name.clone()));
    }
}

/// Returns the shape of an input, and what was taken for granted.
fn shape(
    name: &str,
    axes: Option<Vec<Dimension>>,
    given: Option<&[usize]>,
) -> Result<(Vec<usize>, Option<Note>), Fault> {
    let Some(axes) = axes else {
        let shape = given.ok_or_else(|| Fault::with("its shape is unknown", advice(name, "1x3x224x224")))?;
        return Ok((shape.to_vec(), None));
    };
    let text: Vec<String> = axes.iter().map(axis_text).collect();
    let text = text.join("x");
    if let Some(given) = given {
        // A batch of more frames may be taken as 1: nodes that insist on it are told by their own shapes.
        let is_batch = |at: usize, size: usize| at == 0 && size == 1 && axes.len() > 1;
        let fits = |(at, (axis, &size)): (usize, (&Dimension, &usize))| match axis {
            Dimension::Size(fixed) => *fixed == size || is_batch(at, size),
            Dimension::Free(_) => true,
        };
        if given.len() != axes.len() || !axes.iter().zip(given).enumerate().all(fits) {
            let given = shape_text(given);
            return Err(Fault::new(format!("shape {given} is given, but the model has {text}")));
        }
        let note = match (axes.first(), given.first()) {
            (Some(Dimension::Size(fixed)), Some(size)) if fixed != size => Some(Note {
                subject: "input",
                name: name.to_owned(),
                what: format!("its batch is taken as 1 of {text}"),
            }),
            _ => None,
        };
        return Ok((given.to_vec(), note));
    }
    let mut shape = Vec::new();
    let mut note = None;
    for (at, axis) in axes.iter().enumerate() {
        match axis {
            Dimension::Size(size) => shape.push(*size),
            Dimension::Free(_) if at == 0 && matches!(axes.len(), 2 | 4) => {
                note = Some(Note {
                    subject: "input",
                    name: name.to_owned(),
                    what: format!("its batch is taken as 1 of {text}"),
                });
                shape.push(1);
            }
            Dimension::Free(_) => {
                let example = axes.iter().enumerate().map(|(at, axis)| match axis {
                    Dimension::Size(size) => size.to_string(),
                    Dimension::Free(_) if at == 0 => "1".to_owned(),
                    Dimension::Free(_) => "224".to_owned(),
                });
                let example = example.collect::<Vec<_>>().join("x");
                return Err(Fault::with(format!("its shape {text} is not fixed"), advice(name, &example)));
            }
        }
    }
    Ok((shape, note))
}

fn axis_text(axis: &Dimension) -> String {
    match axis {
        Dimension::Size(size) => size.to_string(),
        Dimension::Free(name) if name.is_empty() => "?".to_owned(),
        Dimension::Free(name) => name.clone(),
    }
}

fn advice(name: &str, example: &str) -> String {
    format!("give one, such as --shape {name}={example}")
}
