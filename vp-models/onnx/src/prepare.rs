//! From a file to a network for a configuration, with what people choose beside it.

use crate::boxes::{Detector, DetectorError, ModelDetector};
use crate::lower::{
    Calibration, CalibrationError, CalibrationTable, LowerError, LowerOptions, Lowered, check_input, lower,
};
use crate::samples::{Batch, FloatWidth, Preprocess, Preset, Sample, SampleError, Samples};
use crate::{Model, Options, Problems, ReadError};
use rand::{RngCore as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use thiserror::Error;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::numeric::Precision;
use vp_models::toml_text::TextError;
use vp_tensors::{ElementType, Elements, Graph, Tensor, Value, ValueId};

/// Shape of an input, as people write it: `input=1x3x224x224`, or without a name for the only input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InputShape {
    /// Name of the input; none for the only one.
    pub name: Option<String>,
    /// Sizes of its axes.
    pub sizes: Vec<usize>,
}

impl FromStr for InputShape {
    type Err = String;

    fn from_str(text: &str) -> Result<InputShape, String> {
        let (name, sizes) = match text.rsplit_once('=') {
            Some((name, sizes)) => (Some(name.to_owned()), sizes),
            None => (None, text),
        };
        let size = |text: &str| text.parse::<usize>().ok().filter(|size| *size > 0);
        match sizes.split('x').map(size).collect::<Option<Vec<usize>>>() {
            Some(sizes) => Ok(InputShape { name, sizes }),
            None => Err(format!("found `{text}`, expected sizes such as 1x3x224x224, or input=1x3x224x224")),
        }
    }
}

/// Choices for bringing a model to a configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrepareOptions {
    /// Shapes of inputs that the model leaves open.
    pub shapes: Vec<InputShape>,
    /// Choices for its numbers.
    pub lower: LowerOptions,
    /// Samples by which a float model is quantised, a file or a folder; or a calibration table, whose name ends with `.json`.
    pub calibration: Option<PathBuf>,
    /// Preprocessing of pictures: a name or a file; if absent that of the file beside the model.
    pub preprocess: Option<PathBuf>,
}

/// Progress of a calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalibrationProgress {
    /// Number of samples that were read.
    pub samples: usize,
    /// Number of all files, each of which has a sample, or many.
    pub files: usize,
}

/// Error on the way from a file to a network.
#[derive(Debug, Error)]
pub enum PrepareError {
    /// The file is no model.
    #[error("{}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The fault.
        error: ReadError,
    },
    /// The model has nodes or inputs that cannot be read.
    #[error("{}: {problems}", path.display())]
    Problems {
        /// The file.
        path: PathBuf,
        /// All of them.
        problems: Problems,
    },
    /// A shape is given without a name, and there are several inputs, or none.
    #[error("{}: a shape without a name is for a model with one input; this one has {inputs}", path.display())]
    Unnamed {
        /// The file.
        path: PathBuf,
        /// Number of its inputs.
        inputs: usize,
    },
    /// The file about preprocessing is wrong.
    #[error(transparent)]
    Preprocess(TextError),
    /// A wrong file about boxes.
    #[error(transparent)]
    Boxes(TextError),
    /// Outputs that are no boxes of the form.
    #[error("{}: {}: {error}", path.display(), by.display())]
    Detector {
        /// The file.
        path: PathBuf,
        /// Form's name or file, or the file beside the model.
        by: PathBuf,
        /// The fault.
        error: DetectorError,
    },
    /// A model that takes nothing with a height and a width.
    #[error("{}: {}: no input has a height and a width, in which boxes could be", path.display(), by.display())]
    NoPicture {
        /// The file.
        path: PathBuf,
        /// Form's name or file, or the file beside the model.
        by: PathBuf,
    },
    /// A sample cannot be read.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A calibration table is wrong.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
    /// The configuration has no network for it.
    #[error("{}: {error}", path.display())]
    Lower {
        /// The file.
        path: PathBuf,
        /// The fault.
        error: LowerError,
    },
}

/// A model, read.
#[derive(Debug)]
pub struct OpenedModel {
    path: PathBuf,
    /// The graph, with what was taken for granted.
    pub graph: Graph,
    /// Sentences about what was taken for granted.
    pub notes: Vec<String>,
    /// Widths of the outputs' floats in the model.
    pub output_floats: Vec<FloatWidth>,
    /// Entries of the model's file about itself, such as lists of labels.
    pub metadata: Vec<(String, String)>,
    /// Preprocessing of pictures, if it is known.
    pub preprocess: Option<Preprocess>,
}

impl OpenedModel {
    /// Reads a model.
    ///
    /// # Errors
    /// When the file is no model, has nodes that cannot be read, or leaves a shape open.
    pub fn open(path: &Path, options: &PrepareOptions) -> Result<OpenedModel, PrepareError> {
        let model = Model::load(path).map_err(|error| PrepareError::Read { path: path.to_owned(), error })?;
        let mut shapes = BTreeMap::new();
        for InputShape { name, sizes } in &options.shapes {
            let name = match (name, &model.inputs()[..]) {
                (Some(name), _) => name.clone(),
                (None, [input]) => input.name.clone(),
                (None, inputs) => {
                    return Err(PrepareError::Unnamed { path: path.to_owned(), inputs: inputs.len() });
                }
            };
            shapes.insert(name, sizes.clone());
        }
        let imported = model.graph(&Options { shapes, ..Options::default() });
        let imported =
            imported.map_err(|problems| PrepareError::Problems { path: path.to_owned(), problems })?;
        let preprocess = match &options.preprocess {
            Some(chosen) => Some(Preprocess::load(chosen).map_err(PrepareError::Preprocess)?),
            None => Preprocess::beside(path).map_err(PrepareError::Preprocess)?,
        };
        let mut graph = imported.graph;
        let mut notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
        for input in drop_unread(&mut graph) {
            notes.push(format!("input `{}`: nothing that an output needs reads it", input.escape_debug()));
        }
        if graph.name.is_empty() {
            graph.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        }
        Ok(OpenedModel {
            path: path.to_owned(),
            graph,
            notes,
            output_floats: model.output_floats(),
            metadata: model.metadata().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            preprocess,
        })
    }

    /// The inputs that something reads.
    pub fn inputs(&self) -> Vec<&Value> {
        self.graph.inputs.iter().map(|input| self.graph.value(*input)).collect()
    }

    /// Names of the outputs.
    pub fn output_names(&self) -> Vec<&str> {
        self.graph.outputs.iter().map(|output| self.graph.value(*output).name.as_str()).collect()
    }

    /// The only sample of a file.
    ///
    /// # Errors
    /// When it cannot be read, is no input of the model, or there are several.
    pub fn sample(&self, file: &Path) -> Result<Sample, PrepareError> {
        self.check_input()?;
        Ok(Samples::open(file)?.only(&self.inputs(), self.preprocess.as_ref())?)
    }

    /// The only sample of a file's bytes.
    ///
    /// # Errors
    /// As [`sample`](OpenedModel::sample).
    pub fn sample_of_bytes(&self, file: &Path, bytes: &[u8]) -> Result<Sample, PrepareError> {
        self.check_input()?;
        Ok(Batch::of_bytes(file, bytes, &self.inputs(), self.preprocess.as_ref())?.only()?)
    }

    /// Refuses models of several inputs before a file is read for them.
    fn check_input(&self) -> Result<(), PrepareError> {
        let checked = check_input(&self.graph);
        checked.map_err(|error| PrepareError::Lower { path: self.path.clone(), error })
    }

    /// Returns the detector that makes boxes of the outputs: of a form's name or a file, or else of the file beside the model, if there is one.
    ///
    /// # Errors
    /// When the file is wrong, or the outputs do not have its form.
    pub fn detector(&self, chosen: Option<&Path>) -> Result<Option<ModelDetector>, PrepareError> {
        let found = match chosen {
            Some(chosen) => Detector::load(chosen).map(Some),
            None => Detector::beside(&self.path),
        };
        let Some(detector) = found.map_err(PrepareError::Boxes)? else { return Ok(None) };
        let by = chosen.map_or_else(|| Detector::file_beside(&self.path), Path::to_owned);
        let size = |input: &Value| match (self.preprocess.as_ref(), &input.shape[..]) {
            (Some(preprocess), shape) if preprocess.size_of_input(shape).is_ok() => {
                preprocess.size_of_input(shape).ok()
            }
            // Of an input that is no picture the last axes, as they are without a preprocessing.
            (_, shape) => Preprocess::from(Preset::Raw).size_of_input(shape).ok().or(match shape {
                [_, _, height, width] if height.min(width) > &0 => Some([*width, *height]),
                _ => None,
            }),
        };
        let Some(input) = self.inputs().into_iter().find_map(size) else {
            return Err(PrepareError::NoPicture { path: self.path.clone(), by });
        };
        let outputs: Vec<&Value> =
            self.graph.outputs.iter().map(|output| self.graph.value(*output)).collect();
        let fitted = detector.of_model(&outputs, input);
        fitted.map(Some).map_err(|error| PrepareError::Detector { path: self.path.clone(), by, error })
    }

    /// Inputs of any numbers between 0 and 1, drawn from a seed.
    pub fn example(&self, seed: u64) -> Vec<Tensor> {
        self.inputs().into_iter().map(|input| example(input, seed)).collect()
    }

    /// Makes a network for a configuration. Without samples for calibration the input alone tells which numbers occur. `told` is given the
    /// number of samples of a folder or file as each is read.
    ///
    /// # Errors
    /// When a sample or a calibration table cannot be read, or the configuration has no network for the model.
    pub fn lower(
        &mut self,
        config: &Config,
        options: &PrepareOptions,
        input: &[Tensor],
        told: &mut dyn FnMut(CalibrationProgress),
    ) -> Result<Lowered, PrepareError> {
        let inputs = self.inputs();
        let lowered = match &options.calibration {
            Some(path) if is_table(path) => {
                let table = CalibrationTable::load(path)?;
                lower(&self.graph, config, &options.lower, Calibration::Table(&table))
            }
            Some(path) => {
                let samples = Samples::open(path)?;
                let files = samples.files().len();
                let read = samples.read(&inputs, self.preprocess.as_ref());
                let mut read = read.enumerate().map(|(at, sample)| {
                    told(CalibrationProgress { samples: at + 1, files });
                    sample.map(|sample| sample.tensors).map_err(|error| error.to_string())
                });
                lower(&self.graph, config, &options.lower, Calibration::Samples(&mut read))
            }
            None => {
                let mut only = std::iter::once(Ok(input.to_vec()));
                lower(&self.graph, config, &options.lower, Calibration::Samples(&mut only))
            }
        };
        let lowered = lowered.map_err(|error| PrepareError::Lower { path: self.path.clone(), error })?;
        let is_calibrated = options.calibration.is_some() || lowered.is_quantised;
        if lowered.network.precision == Precision::Int8 && !is_calibrated {
            self.notes.push(
                "the scales of int8 follow from this input alone: --calibrate FOLDER takes samples"
                    .to_owned(),
            );
        }
        Ok(lowered)
    }
}

/// Takes inputs away that neither a node reads nor an output is, and returns their names.
fn drop_unread(graph: &mut Graph) -> Vec<String> {
    let read: BTreeSet<ValueId> = graph
        .nodes
        .iter()
        .flat_map(|node| node.inputs.iter().flatten())
        .chain(&graph.outputs)
        .copied()
        .collect();
    let (kept, unread): (Vec<ValueId>, Vec<ValueId>) = graph.inputs.iter().partition(|id| read.contains(id));
    graph.inputs = kept;
    unread.into_iter().map(|id| graph.value(id).name.clone()).collect()
}

/// Returns true if a file is a calibration table by its name.
pub fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// A tensor of any numbers: floats between 0 and 1, integers of all codes.
fn example(value: &Value, seed: u64) -> Tensor {
    let count = value.shape.iter().product();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut next = || random.next_u64();
    let elements = match value.element_type {
        ElementType::Float => {
            Elements::Float((0..count).map(|_| (next() >> 40) as f32 / (1 << 24) as f32).collect())
        }
        ElementType::Int64 => Elements::Int64((0..count).map(|_| (next() % 2) as i64).collect()),
        ElementType::Int32 => Elements::Int32((0..count).map(|_| (next() % 2) as i32).collect()),
        ElementType::Int8 => Elements::Int8((0..count).map(|_| next() as i8).collect()),
        ElementType::Uint8 => Elements::Uint8((0..count).map(|_| next() as u8).collect()),
        ElementType::Bool => Elements::Bool((0..count).map(|_| next() & 1 == 1).collect()),
    };
    Tensor { shape: value.shape.clone(), elements }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_a_name_or_none() {
        let named = InputShape { name: Some("x".to_owned()), sizes: vec![1, 3, 8, 8] };
        assert_eq!("x=1x3x8x8".parse(), Ok(named));
        assert_eq!("1x4".parse(), Ok(InputShape { name: None, sizes: vec![1, 4] }));
        for wrong in ["", "1x", "1x0", "ax3", "x="] {
            assert!(wrong.parse::<InputShape>().unwrap_err().contains("1x3x224x224"), "{wrong}");
        }
    }

    #[test]
    fn examples_are_the_same_wherever_they_are_drawn() {
        let value = Value { name: "x".to_owned(), shape: vec![2, 2], element_type: ElementType::Float };
        let numbers = example(&value, 1).to_floats();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        assert_eq!(numbers, example(&value, 1).to_floats());
        assert_ne!(numbers, example(&value, 2).to_floats());
    }
}
