//! `vp run` of an ONNX model: its network runs as any, and its answers are in the model's own numbers.

use super::boxes::FoundBoxes;
use super::model_nodes::ModelNodes;
use super::named::Named;
use super::network::{self, Prepared};
use super::{Args, ReadingArgs};
use crate::cli::platform_args::nvdla;
use crate::cli::record::Record;
use crate::cli::text;
use crate::cli::{Failure, Verdict, out, standard};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use vp_host::network::{CpuModel, Measured};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::numeric::Precision;
use vp_models::platform::Description;
use vp_onnx::boxes::{Detection, ModelDetector};
use vp_onnx::lower::{LowerOptions, Lowered, RangeMethod, WeightScales};
use vp_onnx::samples::{self, Answers, Labels, Placement, Sample, answers};
use vp_onnx::{Distance, InputShape, LayerDistance, OpenedModel, PrepareOptions, is_table};
use vp_tensors::Tensor;

/// Classes that are told of an output, at most.
const TOLD: usize = 5;

/// Elements of an output that JSON has, at most.
const MOST_JSON: usize = 4096;

/// Options about ONNX models.
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "ONNX models")]
pub(in crate::cli) struct ModelArgs {
    /// Shape of an input of which the model leaves axes open, such as 1x3x224x224 or, of several inputs, image=1x3x224x224
    #[arg(long, value_name = "[NAME=]SHAPE")]
    shape: Vec<InputShape>,

    /// Way in which pictures become numbers: imagenet, imagenet-bgr-caffe, unit, signed, raw, or a file [default:
    /// MODEL.preprocess.toml beside the model]
    #[arg(long, value_name = "NAME|FILE")]
    preprocess: Option<PathBuf>,

    /// Samples (a folder of pictures or arrays, or a file) by whose ranges a float model is quantised to int8, or the ranges
    /// themselves: a calibration table as --save-calibration and NVIDIA's compiler have it, NAME.json [default: the input alone]
    #[arg(long, value_name = "FOLDER|FILE")]
    calibrate: Option<PathBuf>,

    /// File to write with the ranges by which a float model is quantised, for --calibrate: NAME.json
    #[arg(long, value_name = "FILE", value_parser = table_file)]
    save_calibration: Option<PathBuf>,

    /// Choice of ranges by samples: min-max, percentile=99.99, or entropy [default: min-max]
    #[arg(long, value_name = "METHOD")]
    ranges: Option<RangeMethod>,

    /// Scales of a float model's weights in int8: per-kernel or per-tensor [default: per-kernel]
    #[arg(long, value_name = "WHICH")]
    scales: Option<WeightScales>,

    /// Names of classes, one a line
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,

    /// Form of a detector's outputs, of which boxes are shown: corners, yolov2, yolov3, yolov5, yolov8, yolox, picodet, mask, or a file
    /// that says more (docs/onnx.md) [default: MODEL.boxes.toml beside the model]
    #[arg(long, value_name = "FORM|FILE")]
    boxes: Option<PathBuf>,

    /// Show how far each layer's numbers are from the model's in floats. No layers run joined then, which takes more cycles
    #[arg(long)]
    distance: bool,
}

impl ModelArgs {
    pub(super) fn is_given(&self) -> bool {
        *self != ModelArgs::default()
    }

    /// Returns true if options about what comes out are given.
    fn is_about_answers(&self) -> bool {
        self.labels.is_some() || self.boxes.is_some() || self.distance
    }

    /// Options about integers that a model in fp16 has no use for.
    fn unused(&self, lowered: &Lowered) -> Option<String> {
        let ModelArgs { calibrate, save_calibration, ranges, scales, .. } = self;
        let given = [
            ("--calibrate", calibrate.is_some()),
            ("--save-calibration", save_calibration.is_some()),
            ("--ranges", ranges.is_some()),
            ("--scales", scales.is_some()),
        ];
        let given: Vec<&str> =
            given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect();
        let is_unused = lowered.network.precision == Precision::Fp16 && !given.is_empty();
        is_unused.then(|| {
            format!("{} without effect: it runs in fp16; --precision int8 is the other way", given.join(", "))
        })
    }

    /// Writes the ranges by which a model was quantised, if that is asked.
    fn save(&self, lowered: &Lowered) -> Result<(), Failure> {
        match &self.save_calibration {
            Some(file) if lowered.network.precision == Precision::Int8 => {
                standard::write(file, lowered.calibration.to_json())
            }
            _ => Ok(()),
        }
    }

    /// Samples, or the table, by whose ranges a model is quantised.
    pub(super) fn calibrates(&self) -> Option<&Path> {
        self.calibrate.as_deref()
    }
}

/// A file of a name that --calibrate takes for a table.
fn table_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    is_table(&path)
        .then_some(path)
        .ok_or_else(|| format!("found `{text}`, expected a name that ends with .json"))
}

/// A model whose network runs.
pub(super) struct BroughtModel {
    lowered: Lowered,
    /// Names of the model's outputs.
    outputs: Vec<String>,
    inputs: Vec<Tensor>,
    notes: Vec<String>,
    labels: Option<Labels>,
    detector: Option<ModelDetector>,
    /// Place of the picture in the input, if it is of one.
    placement: Option<Placement>,
    /// Number of the network's outputs that are the model's; others are shown for their distance.
    own_outputs: usize,
}

/// A model's answers.
pub(super) struct Answered {
    outputs: Vec<(String, Tensor)>,
    distances: Vec<LayerDistance>,
    /// Distances of the outputs from those of the model in floats.
    from_floats: Vec<Distance>,
    /// Boxes, if the outputs are a detector's.
    boxes: Option<Vec<Detection>>,
}

pub(super) fn main(path: &Path, args: &Args) -> Result<Verdict, Failure> {
    let options = options(args.reading, &args.model)?;
    let labels = args.model.labels.as_deref().map(Labels::load).transpose().map_err(Failure::new)?;
    let opened = RefCell::new(OpenedModel::open(path, &options).map_err(Failure::new)?);
    let name = opened.borrow().graph.name.clone();
    let given = given(&opened.borrow(), &args.input)?;
    let placement = given.as_ref().and_then(|sample| sample.placement);
    let inputs = given.map(|sample| sample.tensors).unwrap_or_else(|| {
        let mut opened = opened.borrow_mut();
        opened.notes.push("no --input is given: it runs on any numbers".to_owned());
        opened.example(1)
    });
    let prepare = |description: &Description| {
        let mut opened = opened.borrow_mut();
        let config = &nvdla(description)?.config;
        let mut lowered = opened.lower(config, &options, &inputs).map_err(Failure::new)?;
        let own_outputs = lowered.network.outputs.len();
        if args.model.distance {
            lowered.show_all_layers();
        }
        let input = lowered.encode(&inputs).map_err(Failure::new)?;
        let network = lowered.network.clone();
        args.model.save(&lowered)?;
        opened.notes.extend(args.model.unused(&lowered));
        let model = BroughtModel {
            own_outputs,
            outputs: opened.output_names().into_iter().map(str::to_owned).collect(),
            inputs: inputs.clone(),
            notes: opened.notes.clone(),
            labels: labels.clone(),
            detector: opened.detector.clone(),
            placement,
            lowered,
        };
        Ok(Prepared { network: Cow::Owned(network), input, model: Some(model) })
    };
    network::run((&name, &Named::File(path.to_owned())), &prepare, args)
}

/// A model made a network for a configuration.
pub(super) struct LoweredModel {
    pub(super) lowered: Lowered,
    /// The input, if one is given.
    pub(super) given: Option<Vec<Tensor>>,
    pub(super) notes: Vec<String>,
}

/// Makes a network of a model; without an input any numbers stand for it.
pub(super) fn lowered(
    path: &Path,
    inputs: &[PathBuf],
    config: &Config,
    (reading, args): (ReadingArgs, &ModelArgs),
) -> Result<LoweredModel, Failure> {
    if args.is_about_answers() {
        return Err(Failure::new("--labels, --boxes and --distance are about the answers of a run"));
    }
    let options = options(reading, args)?;
    let mut opened = OpenedModel::open(path, &options).map_err(Failure::new)?;
    let given = given(&opened, inputs)?.map(|sample| sample.tensors);
    let example = given.clone().unwrap_or_else(|| opened.example(1));
    let lowered = opened.lower(config, &options, &example).map_err(Failure::new)?;
    args.save(&lowered)?;
    opened.notes.extend(args.unused(&lowered));
    Ok(LoweredModel { lowered, given, notes: opened.notes })
}

/// The input of a file, if one is named.
fn given(opened: &OpenedModel, inputs: &[PathBuf]) -> Result<Option<Sample>, Failure> {
    match inputs {
        [] => Ok(None),
        [file] => opened.sample(file).map(Some).map_err(Failure::new),
        more => Err(Failure::new(format!("{} inputs are given, and a model takes one", more.len()))),
    }
}

/// The choices of these arguments.
fn options(reading: ReadingArgs, args: &ModelArgs) -> Result<PrepareOptions, Failure> {
    if reading.input_size.is_some() || reading.zeros.is_some() {
        return Err(Failure::new("--input-size and --zeros are for networks whose weights are made up")
            .hint("--shape gives a model's input its size"));
    }
    let ModelArgs { shape, preprocess, calibrate, save_calibration, ranges, scales, boxes, .. } = args;
    let files = [("--calibrate", calibrate), ("--save-calibration", save_calibration)];
    standard::check_apart(files.into_iter().filter_map(|(option, file)| Some((option, file.as_deref()?))))?;
    if let (Some(table), Some(_)) = (calibrate.as_deref().filter(|path| is_table(path)), ranges) {
        let what = "--ranges is a choice by samples, and a calibration table has the ranges";
        return Err(
            Failure::new(what).hint(format!("leave it out, or give samples in place of {}", table.display()))
        );
    }
    let lower = LowerOptions {
        precision: reading.precision,
        method: ranges.unwrap_or(LowerOptions::default().method),
        weights: scales.unwrap_or_default(),
        winograd: reading.winograd,
    };
    Ok(PrepareOptions {
        shapes: shape.clone(),
        lower,
        calibration: calibrate.clone(),
        preprocess: preprocess.clone(),
        boxes: boxes.clone(),
    })
}

impl BroughtModel {
    /// The model's answers to the network's outputs; of several frames the first one's.
    pub(super) fn answered(&self, measured: &Measured, input: &[i8]) -> Result<Answered, Failure> {
        let first: Vec<Vec<i8>> = measured
            .outputs
            .iter()
            .map(|output| output[..output.len() / measured.frames.max(1)].to_vec())
            .collect();
        let made = self.lowered.decode(input, &first[..self.own_outputs]).map_err(Failure::new)?;
        let distances = match first.len() > self.own_outputs {
            true => self.lowered.distances(&self.inputs, &first).map_err(Failure::new)?,
            false => Vec::new(),
        };
        let expected = self.lowered.floats.run(&self.inputs).map_err(Failure::new)?;
        let from_floats = expected
            .iter()
            .zip(&made)
            .map(|(expected, made)| Distance::of(&expected.to_floats(), &made.to_floats()))
            .collect();
        let boxes = self.detector.as_ref().map(|detector| detector.boxes(&made, self.placement.as_ref()));
        let outputs = self.outputs.iter().cloned().zip(made).collect();
        Ok(Answered { outputs, distances, from_floats, boxes })
    }

    /// Shows the model's answers, and what became of its nodes.
    pub(super) fn show(
        &self,
        answered: Option<&Answered>,
        args: &ModelArgs,
        (measured, cpu_model): (&Measured, CpuModel),
    ) -> Result<(), Failure> {
        let mut out = out::stdout();
        let run = (measured.frames as u64, measured.time);
        self.nodes().show(&mut out, (cpu_model, measured.period), run)?;
        let Some(answered) = answered else { return Ok(()) };
        if args.distance {
            answered.show_distances(&mut out)?;
        }
        answered.show(&mut out, self.labels.as_ref())?;
        self.boxes(answered).map_or(Ok(()), |boxes| boxes.show(&mut out))
    }

    fn boxes<'a>(&'a self, answered: &'a Answered) -> Option<FoundBoxes<'a>> {
        let (detector, boxes) = (self.detector.as_ref()?, answered.boxes.as_deref()?);
        let is_of_picture = self.placement.is_some();
        Some(FoundBoxes { detector, boxes, labels: self.labels.as_ref(), is_of_picture })
    }

    fn nodes(&self) -> ModelNodes<'_> {
        ModelNodes { lowered: &self.lowered, notes: &self.notes }
    }

    /// Puts the answers beside a run's other results.
    pub(super) fn put(&self, record: &mut Record, answered: Option<&Answered>) {
        self.nodes().put(record);
        let Some(answered) = answered else { return };
        record.put("model_outputs", answered.json(self.labels.as_ref()));
        if let Some(boxes) = self.boxes(answered) {
            record.put("model_boxes", boxes.json());
        }
        let distances: Vec<Value> = answered
            .distances
            .iter()
            .map(|of| json!({ "layer": of.layer, "distance": told(of.distance) }))
            .collect();
        if !distances.is_empty() {
            record.put("model_distances", distances);
        }
    }
}

/// A distance for JSON, which has no infinite numbers.
fn told(distance: Distance) -> Value {
    let Distance { range, largest, signal_to_noise } = distance;
    json!({
        "range": range,
        "largest_difference": largest,
        "signal_to_noise_db": signal_to_noise.is_finite().then_some(signal_to_noise),
    })
}

fn decibels(distance: Distance) -> String {
    match distance.signal_to_noise {
        f64::INFINITY => "exact".to_owned(),
        decibels if decibels.is_finite() => format!("{decibels:.1} dB"),
        // One of them is no number, or all should be zero.
        _ => "no distance".to_owned(),
    }
}

impl Answered {
    /// Writes the outputs: NPY or NPZ by the file's name, else their elements as floats of 32 bits.
    pub(super) fn write(&self, file: &Path) -> Result<(), Failure> {
        let outputs: Vec<(&str, &Tensor)> =
            self.outputs.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        standard::write(file, samples::outputs(file, &outputs).map_err(Failure::new)?)
    }

    fn show(&self, out: &mut impl Write, labels: Option<&Labels>) -> Result<(), Failure> {
        for ((name, tensor), distance) in self.outputs.iter().zip(&self.from_floats) {
            let shape = tensor.shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
            writeln!(
                out,
                "{:<10} {} of {shape}: {} from the model in floats, differs by {} of {} at most",
                "answer",
                text::one_line(name),
                decibels(*distance),
                distance.largest,
                distance.range
            )?;
            let Some(found) = classes(tensor) else { continue };
            for answer in found.classes {
                let label = labels.and_then(|labels| labels.name(answer.class)).unwrap_or_default();
                writeln!(
                    out,
                    "{:<10} {:>5} {:>7.3} % {:>12.5} {label}",
                    "",
                    answer.class,
                    100.0 * answer.share,
                    answer.output
                )?;
            }
        }
        Ok(())
    }

    fn show_distances(&self, out: &mut impl Write) -> Result<(), Failure> {
        let mut table = text::table(&["layer", "range", "differs by", "distance"], &[1, 2, 3]);
        for LayerDistance { layer, distance } in &self.distances {
            table.add_row(vec![
                text::one_line(layer),
                format!("{:.4}", distance.range),
                format!("{:.5}", distance.largest),
                decibels(*distance),
            ]);
        }
        writeln!(out, "\n{}\n", table.trim_fmt())?;
        Ok(())
    }

    fn json(&self, labels: Option<&Labels>) -> Vec<Value> {
        let output = |((name, tensor), distance): (&(String, Tensor), &Distance)| {
            let numbers = tensor.to_floats();
            let answers = classes(tensor).map(|found| {
                let answer = |answer: &samples::Answer| {
                    json!({
                        "class": answer.class,
                        "label": labels.and_then(|labels| labels.name(answer.class)),
                        "share": answer.share,
                        "output": answer.output,
                    })
                };
                found.classes.iter().map(answer).collect::<Vec<_>>()
            });
            json!({
                "name": name,
                "shape": tensor.shape,
                "elements": (numbers.len() <= MOST_JSON).then_some(numbers),
                "classes": answers,
                "distance": told(*distance),
            })
        };
        self.outputs.iter().zip(&self.from_floats).map(output).collect()
    }
}

/// The likeliest classes of an output that is one number a class.
fn classes(tensor: &Tensor) -> Option<Answers> {
    let numbers = tensor.as_floats()?;
    let is_row = tensor.shape.iter().filter(|size| **size > 1).count() == 1;
    is_row.then(|| answers(numbers, TOLD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_numbers_are_exact() {
        let told = |expected: &[f32], found: &[f32]| decibels(Distance::of(expected, found));
        assert_eq!(told(&[1.0, 2.0], &[1.0, 2.0]), "exact");
        assert_eq!(told(&[1.0], &[1.1]), "20.0 dB");
        assert_eq!(told(&[0.0], &[1.0]), "no distance");
        assert_eq!(told(&[1.0], &[f32::NAN]), "no distance");
    }
}
