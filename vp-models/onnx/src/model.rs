//! A model as its file has it, with limits and tensors checked.

use crate::constant::{self, Constant, DataType, External};
use crate::messages::{GraphProto, ModelProto, ValueInfoProto};
use crate::problem::Fault;
use crate::samples::FloatWidth;
use crate::{ReadError, beside, limits};
use prost::Message;
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::Path;

/// A model, with its tensors.
#[derive(Debug)]
pub struct Model {
    pub(crate) graph: GraphProto,
    /// Initializers by name, those that cannot be read with the reason.
    pub(crate) initializers: HashMap<String, Result<Constant, Fault>>,
    /// Versions of operator sets by domain; ONNX's own has none.
    pub(crate) versions: HashMap<String, i64>,
    /// Names of local functions, with their domains.
    pub(crate) functions: Vec<(String, String)>,
    metadata: Vec<(String, String)>,
}

/// An input of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Name.
    pub name: String,
    /// Axes; none where the rank is unknown.
    pub shape: Option<Vec<Dimension>>,
}

/// Size of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A known size.
    Size(usize),
    /// A size that the model names, or none.
    Free(String),
}

impl Model {
    /// Returns the model of a file's bytes.
    ///
    /// `external` gives the bytes of tensors in other files. Tensors and nodes that cannot be read are told when a graph is made of the model.
    ///
    /// # Errors
    /// When the bytes are no ONNX model, or one larger than is read.
    pub fn read(bytes: &[u8], external: &mut External<'_>) -> Result<Model, ReadError> {
        if let Some(what) = other_file(bytes) {
            return Err(ReadError::NotOnnx(what.to_owned()));
        }
        limits::check(bytes)?;
        let model = ModelProto::decode(bytes).map_err(|error| ReadError::NotOnnx(error.to_string()))?;
        let mut graph = model.graph.ok_or_else(|| ReadError::NotOnnx("it has no graph".into()))?;
        if model.ir_version.is_none() && model.opset_import.is_empty() {
            return Err(ReadError::NotOnnx("it names neither its form nor its operator sets".into()));
        }
        let mut versions = HashMap::new();
        for set in model.opset_import {
            let domain = set.domain.unwrap_or_default();
            let domain = if domain == "ai.onnx" { String::new() } else { domain };
            versions.insert(domain, set.version.unwrap_or(1));
        }
        // Models of the first two forms have no operator sets.
        versions.entry(String::new()).or_insert(1);
        let mut initializers = HashMap::new();
        for mut tensor in std::mem::take(&mut graph.initializer) {
            let name = tensor.name.take().unwrap_or_default();
            let constant = constant::read(&tensor, external);
            if initializers.insert(name.clone(), constant).is_some() {
                initializers.insert(name, Err(Fault::new("there are two initializers of this name")));
            }
        }
        for tensor in std::mem::take(&mut graph.sparse_initializer) {
            let name = tensor.values.and_then(|values| values.name).unwrap_or_default();
            let fault = Fault::with("sparse tensors are not read", "export it as a dense one");
            initializers.insert(name, Err(fault));
        }
        let functions = model.functions.into_iter();
        let functions = functions
            .map(|function| (function.domain.unwrap_or_default(), function.name.unwrap_or_default()))
            .collect();
        let metadata = model.metadata_props.into_iter();
        let metadata =
            metadata.map(|entry| (entry.key.unwrap_or_default(), entry.value.unwrap_or_default())).collect();
        Ok(Model { graph, initializers, versions, functions, metadata })
    }

    /// Returns the model of a file. External data is read from the file's own folder only.
    ///
    /// # Errors
    /// As [`Model::read`], and when the file cannot be read.
    pub fn load(path: &Path) -> Result<Model, ReadError> {
        let failed = |error| ReadError::File { path: path.to_owned(), error };
        // Opening a pipe waits for who writes it.
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(failed(std::io::Error::other("not a regular file")));
        }
        let file = fs::File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(limits::LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        Model::read(&bytes, &mut |location, offset, length| beside::read(folder, location, offset, length))
    }

    /// Entries of `metadata_props`, such as lists of labels.
    pub fn metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        self.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Version of ONNX's own operator set.
    pub fn version(&self) -> i64 {
        self.versions.get("").copied().unwrap_or(1)
    }

    /// Inputs that are not initializers.
    pub fn inputs(&self) -> Vec<Input> {
        self.pure_inputs()
            .map(|value| Input { name: name(value).to_owned(), shape: dimensions(value) })
            .collect()
    }

    /// Widths of the outputs' floats.
    pub(crate) fn output_floats(&self) -> Vec<FloatWidth> {
        let width = |value: &ValueInfoProto| match data_type(value) {
            Ok(DataType::Float16) => FloatWidth::Half,
            Ok(DataType::Double) => FloatWidth::Double,
            _ => FloatWidth::Single,
        };
        self.graph.output.iter().map(width).collect()
    }

    /// Inputs that are not initializers; those of the third form and before list these too.
    pub(crate) fn pure_inputs(&self) -> impl Iterator<Item = &ValueInfoProto> {
        self.graph.input.iter().filter(|value| !self.initializers.contains_key(name(value)))
    }
}

/// Returns what a file is that often has a model's name in place of it.
fn other_file(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"version https://git-lfs.github.com/spec/") {
        return Some("it is Git LFS's pointer to one, which `git lfs pull` replaces with the model");
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let is_page = ["<!doctype html", "<html"]
        .iter()
        .any(|start| text.get(..start.len()).is_some_and(|text| text.eq_ignore_ascii_case(start.as_bytes())));
    is_page.then_some("it is a web page (HTML), as a link to a model's page gives: download the file itself")
}

/// Name of an input or output.
pub(crate) fn name(value: &ValueInfoProto) -> &str {
    value.name.as_deref().unwrap_or_default()
}

/// Returns the axes of an input or output, if their number is known.
pub(crate) fn dimensions(value: &ValueInfoProto) -> Option<Vec<Dimension>> {
    let shape = value.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref()?;
    let dimension = |dimension: &crate::messages::DimensionProto| {
        let size = dimension.dim_value.and_then(|size| usize::try_from(size).ok());
        match size {
            Some(size) => Dimension::Size(size),
            None => Dimension::Free(dimension.dim_param.clone().unwrap_or_default()),
        }
    };
    Some(shape.dim.iter().map(dimension).collect())
}

/// Returns the type of an input's elements.
pub(crate) fn data_type(value: &ValueInfoProto) -> Result<DataType, Fault> {
    let tensor = value.r#type.as_ref().and_then(|value_type| value_type.tensor_type.as_ref());
    match tensor {
        Some(tensor) => DataType::of(tensor.elem_type.unwrap_or(0)),
        None => Err(Fault::new("it is no tensor; sequences, maps and optional values are not read")),
    }
}
