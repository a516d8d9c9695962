//! ONNX models: arrays or a picture in, and the answers in the model's own numbers.

use std::path::{Path, PathBuf};

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use vp_models::nvdla::numeric::Precision;
use vp_models::platform::Arithmetic;
use vp_onnx::boxes::{Detection, ModelDetector, Rectangle};
use vp_onnx::lower::{Calibration, LowerOptions, Lowered, lower};
use vp_onnx::samples::{Batch, FloatWidth, Placement, Sample, SampleError, Samples};
use vp_onnx::{Distance, InputShape, LayerDistance, OpenedModel, PrepareError, PrepareOptions, is_table};
use vp_tensors::{Elements, Tensor};

use crate::errors;
use crate::host::Host;
use crate::programs::{Done, measure, plan_options, told};

/// Samples as Python passes them: a path, or arrays as the bytes of NPY or NPZ.
#[derive(FromPyObject)]
pub(crate) enum Given {
    Arrays(Vec<Vec<u8>>),
    Path(PathBuf),
}

/// Name of an array in messages.
const ARRAY: &str = "the array";

fn prepared<T>(result: Result<T, impl ToString>) -> PyResult<T> {
    result.map_err(errors::description)
}

impl Given {
    /// The one sample of a run.
    fn only(&self, opened: &OpenedModel) -> PyResult<Sample> {
        match self {
            Given::Path(path) => prepared(opened.sample(path)),
            Given::Arrays(arrays) => match &arrays[..] {
                [bytes] => prepared(opened.sample_of_bytes(Path::new(ARRAY), bytes)),
                more => prepared(Err(format!("{} samples are given; a run takes one", more.len()))),
            },
        }
    }

    /// All of them, one after the other.
    fn samples<'a>(
        &'a self,
        opened: &'a OpenedModel,
    ) -> PyResult<Box<dyn Iterator<Item = Result<Sample, SampleError>> + 'a>> {
        let (inputs, preprocess) = (opened.inputs(), opened.preprocess.as_ref());
        Ok(match self {
            Given::Path(path) => {
                let all: Vec<_> = prepared(Samples::open(path))?.read(&inputs, preprocess).collect();
                Box::new(all.into_iter())
            }
            Given::Arrays(arrays) => {
                let batches = arrays
                    .iter()
                    .map(|bytes| prepared(Batch::of_bytes(Path::new(ARRAY), bytes, &inputs, preprocess)));
                let batches = batches.collect::<PyResult<Vec<_>>>()?;
                Box::new(batches.into_iter().flatten())
            }
        })
    }
}

/// Choices for a model, as Python passes them.
#[derive(FromPyObject)]
pub(crate) struct Choices {
    #[pyo3(item)]
    precision: Option<String>,
    #[pyo3(item)]
    calibrate: Option<Given>,
    #[pyo3(item)]
    ranges: Option<String>,
    #[pyo3(item)]
    scales: Option<String>,
    #[pyo3(item)]
    shapes: Vec<(Option<String>, Vec<usize>)>,
    /// Shape of the array that is the input: of an input that leaves axes open it is the one.
    #[pyo3(item)]
    array_shape: Option<Vec<usize>>,
    #[pyo3(item)]
    preprocess: Option<PathBuf>,
    #[pyo3(item)]
    boxes: Option<PathBuf>,
    #[pyo3(item)]
    distance: bool,
}

impl Choices {
    fn options(&self) -> PyResult<PrepareOptions> {
        let default = LowerOptions::default();
        let lower = LowerOptions {
            precision: prepared(self.precision.as_deref().map(str::parse).transpose())?,
            method: prepared(self.ranges.as_deref().map(str::parse).transpose())?.unwrap_or(default.method),
            weights: prepared(self.scales.as_deref().map(str::parse).transpose())?.unwrap_or_default(),
            ..default
        };
        let shapes =
            self.shapes.iter().map(|(name, sizes)| InputShape { name: name.clone(), sizes: sizes.clone() });
        Ok(PrepareOptions {
            shapes: shapes.collect(),
            lower,
            calibration: None,
            preprocess: self.preprocess.clone(),
        })
    }
}

/// A model ready to run.
struct Ready {
    opened: OpenedModel,
    lowered: Lowered,
    inputs: Vec<Tensor>,
    /// Place of the picture in the input, if it is of one.
    placement: Option<Placement>,
    /// Way in which outputs become boxes, if it is known.
    detector: Option<ModelDetector>,
    /// Number of the network's outputs that are the model's.
    own_outputs: usize,
}

/// Brings a model to the configuration of a session.
fn ready(
    host: &Host,
    py: Python<'_>,
    path: &Path,
    input: Option<&Given>,
    choices: &Choices,
) -> PyResult<Ready> {
    let options = choices.options()?;
    let open = || {
        let opened = OpenedModel::open(path, &options);
        let opened = match (&opened, &choices.array_shape) {
            (Err(PrepareError::Problems { .. }), Some(sizes)) if options.shapes.is_empty() => {
                let shapes = vec![InputShape { name: None, sizes: sizes.clone() }];
                OpenedModel::open(path, &PrepareOptions { shapes, ..options.clone() }).or(opened)
            }
            _ => opened,
        };
        prepared(opened)
    };
    host.run(py, |session| {
        let description = session.description()?.0.clone();
        let Some(nvdla) = description.nvdla() else {
            return Err(errors::of("ProgramError", "the platform carries no NVDLA").into());
        };
        let mut opened = open()?;
        let detector = prepared(opened.detector(choices.boxes.as_deref()))?;
        let (inputs, placement) = match input {
            None => (opened.example(1), None),
            Some(given) => {
                let only = given.only(&opened)?;
                (only.tensors, only.placement)
            }
        };
        let lowered = match &choices.calibrate {
            None => prepared(opened.lower(&nvdla.config, &options, &inputs, &mut |_| {}))?,
            Some(Given::Path(path)) if is_table(path) => {
                let options = PrepareOptions { calibration: Some(path.clone()), ..options.clone() };
                prepared(opened.lower(&nvdla.config, &options, &inputs, &mut |_| {}))?
            }
            Some(given) => {
                let samples = given.samples(&opened)?;
                let mut samples = samples
                    .map(|sample| sample.map(|sample| sample.tensors).map_err(|error| error.to_string()));
                let lowered =
                    lower(&opened.graph, &nvdla.config, &options.lower, Calibration::Samples(&mut samples));
                lowered.map_err(|error| errors::description(format!("{}: {error}", path.display())))?
            }
        };
        Ok(Ready { own_outputs: lowered.network.outputs.len(), opened, lowered, inputs, placement, detector })
    })
}

/// Runs an ONNX model on an input; what came of it.
#[pyfunction]
#[pyo3(signature = (host, path, input, choices, frames=1, batch=1, placement="dram", placement_limit=None, copies=None))]
#[expect(clippy::too_many_arguments, reason = "Python's keywords")]
pub(crate) fn run_model<'py>(
    host: &Host,
    py: Python<'py>,
    path: PathBuf,
    input: Option<Given>,
    choices: Choices,
    frames: u32,
    batch: u32,
    placement: &str,
    placement_limit: Option<u64>,
    copies: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    if !path.exists() {
        return Err(errors::file(&path, &std::io::ErrorKind::NotFound.into()));
    }
    let options = plan_options(batch, placement, placement_limit, copies)?;
    let mut ready = ready(host, py, &path, input.as_ref(), &choices)?;
    if choices.distance {
        ready.lowered.show_all_layers();
    }
    let bytes = prepared(ready.lowered.encode(&ready.inputs))?;
    let network = ready.lowered.network.clone();
    let done = host.run(py, |session| measure(session, network, Some(bytes.clone()), (frames, options)))?;
    let told = told(py, &done)?;
    told.set_item("notes", &ready.opened.notes)?;
    told.set_item("nodes_on_cpu", ready.lowered.on_cpu.clone())?;
    let is_int8 = ready.lowered.network.precision == Precision::Int8;
    told.set_item("calibration", is_int8.then(|| ready.lowered.calibration.to_json()))?;
    let is_computed = done.description.arithmetic == Arithmetic::Computed;
    if is_computed {
        ready.tell_answers(py, &told, &done, &bytes)?;
    } else {
        told.set_item("outputs", py.None())?;
    }
    Ok(told)
}

impl Ready {
    /// Puts the answers beside what a run tells; of several frames the first one's.
    fn tell_answers(
        &self,
        py: Python<'_>,
        told: &Bound<'_, PyDict>,
        done: &Done,
        input: &[i8],
    ) -> PyResult<()> {
        let frames = done.measured.frames.max(1);
        let first = |output: &Vec<i8>| output[..output.len() / frames].to_vec();
        let first: Vec<Vec<i8>> = done.measured.outputs.iter().map(first).collect();
        let (made, expected, layers) = py.detach(|| {
            let made = prepared(self.lowered.decode(input, &first[..self.own_outputs]))?;
            let expected = prepared(self.lowered.floats.run(&self.inputs))?;
            let layers = match first.len() > self.own_outputs {
                true => prepared(self.lowered.distances(&self.inputs, &first))?,
                false => Vec::new(),
            };
            PyResult::Ok((made, expected, layers))
        })?;
        let outputs = PyList::empty(py);
        let named = self.opened.output_names().into_iter().zip(&self.opened.output_floats);
        for (((name, floats), made), expected) in named.zip(&made).zip(&expected) {
            let distance = Distance::of(&expected.to_floats(), &made.to_floats());
            outputs.append((name, array(py, made, *floats)?, parts(distance)))?;
        }
        told.set_item("outputs", outputs)?;
        let boxes = self.detector.as_ref().map(|detector| {
            let boxes = prepared(detector.boxes(&made, self.placement.as_ref()))?;
            PyResult::Ok(boxes.into_iter().map(numbers).collect::<Vec<_>>())
        });
        let boxes = boxes.transpose()?;
        told.set_item("boxes", boxes)?;
        let layers = layers.into_iter().map(|LayerDistance { layer, distance }| (layer, parts(distance)));
        told.set_item("layer_distances", layers.collect::<Vec<_>>())
    }
}

/// A box's class, score, and edges: left, top, right, bottom.
fn numbers(Detection { class, score, rectangle }: Detection) -> (usize, f32, f64, f64, f64, f64) {
    let Rectangle { left, top, right, bottom } = rectangle;
    (class, score, left, top, right, bottom)
}

fn parts(distance: Distance) -> (f32, f32, f64) {
    (distance.range, distance.largest, distance.signal_to_noise)
}

/// A tensor as an array of its shape, with floats of this width.
fn array<'py>(py: Python<'py>, tensor: &Tensor, floats: FloatWidth) -> PyResult<Bound<'py, PyAny>> {
    let shape = tensor.shape.clone();
    Ok(match &tensor.elements {
        Elements::Float(elements) if floats == FloatWidth::Double => {
            let wide: Vec<f64> = elements.iter().map(|element| f64::from(*element)).collect();
            PyArray1::from_vec(py, wide).reshape(shape)?.into_any()
        }
        Elements::Float(elements) => {
            let array = PyArray1::from_slice(py, elements).reshape(shape)?.into_any();
            match floats {
                FloatWidth::Half => array.call_method1("astype", ("float16",))?,
                _ => array,
            }
        }
        Elements::Int64(elements) => PyArray1::from_slice(py, elements).reshape(shape)?.into_any(),
        Elements::Int32(elements) => PyArray1::from_slice(py, elements).reshape(shape)?.into_any(),
        Elements::Int8(elements) => PyArray1::from_slice(py, elements).reshape(shape)?.into_any(),
        Elements::Uint8(elements) => PyArray1::from_slice(py, elements).reshape(shape)?.into_any(),
        Elements::Bool(elements) => PyArray1::from_slice(py, elements).reshape(shape)?.into_any(),
    })
}
