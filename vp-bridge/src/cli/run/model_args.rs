//! Options about ONNX models, and models made networks by them.

use super::ReadingArgs;
use crate::cli::{Failure, standard, terminal};
use std::path::{Path, PathBuf};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::numeric::Precision;
use vp_onnx::lower::{LowerOptions, Lowered, RangeMethod, WeightScales};
use vp_onnx::samples::Sample;
use vp_onnx::{CalibrationProgress, InputShape, OpenedModel, PrepareOptions, is_table};
use vp_tensors::Tensor;

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
    pub(super) labels: Option<PathBuf>,

    /// Form of a detector's outputs, of which boxes are shown: corners, yolov2, yolov3, yolov5, yolov8, yolov10, yolox, picodet, mask, or a file
    /// that says more (docs/onnx.md) [default: MODEL.boxes.toml beside the model]
    #[arg(long, value_name = "FORM|FILE")]
    pub(super) boxes: Option<PathBuf>,

    /// Show how far each layer's numbers are from the model's in floats. No layers run joined then, which takes more cycles
    #[arg(long)]
    pub(super) distance: bool,
}

impl ModelArgs {
    pub(super) fn is_given(&self) -> bool {
        *self != ModelArgs::default()
    }

    /// Returns true if options about what comes out are given.
    pub(super) fn is_about_answers(&self) -> bool {
        self.labels.is_some() || self.boxes.is_some() || self.distance
    }

    /// Options about integers that a model in fp16 has no use for.
    pub(super) fn unused(&self, lowered: &Lowered) -> Option<String> {
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
    pub(super) fn save(&self, lowered: &Lowered) -> Result<(), Failure> {
        match &self.save_calibration {
            Some(file) if lowered.network.precision == Precision::Int8 => {
                standard::write(file, lowered.calibration.to_json())
            }
            _ => Ok(()),
        }
    }

    /// Samples, or the table, by whose ranges a model is quantised.
    pub(in crate::cli) fn calibrates(&self) -> Option<&Path> {
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

/// A model made a network for a configuration.
pub(in crate::cli) struct LoweredModel {
    pub(in crate::cli) lowered: Lowered,
    /// The input, if one is given.
    pub(in crate::cli) given: Option<Vec<Tensor>>,
    /// Names of the model's outputs.
    pub(in crate::cli) outputs: Vec<String>,
    pub(in crate::cli) notes: Vec<String>,
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
    let lowered = lower(&mut opened, config, &options, &example)?;
    args.save(&lowered)?;
    opened.notes.extend(args.unused(&lowered));
    let outputs = opened.output_names().into_iter().map(str::to_owned).collect();
    Ok(LoweredModel { lowered, given, outputs, notes: opened.notes })
}

/// Makes a network of a model, and says under a bar by how many samples it has been calibrated.
pub(super) fn lower(
    opened: &mut OpenedModel,
    config: &Config,
    options: &PrepareOptions,
    input: &[Tensor],
) -> Result<Lowered, Failure> {
    let bar = terminal::progress(1, "{msg}  {elapsed}");
    bar.set_message("making a network of the model");
    let lowered = opened.lower(config, options, input, &mut |CalibrationProgress { samples, files }| {
        bar.set_message(match files {
            1 => format!("calibrating by its samples: {samples}"),
            files => format!("calibrating by the samples of {files} files: {samples}"),
        });
    });
    bar.finish_and_clear();
    lowered.map_err(Failure::new)
}

/// The input of a file, if one is named.
pub(super) fn given(opened: &OpenedModel, inputs: &[PathBuf]) -> Result<Option<Sample>, Failure> {
    match inputs {
        [] => Ok(None),
        [file] => opened.sample(file).map(Some).map_err(Failure::new),
        more => Err(Failure::new(format!("{} inputs are given, and a model takes one", more.len()))),
    }
}

/// The choices of these arguments.
pub(super) fn options(reading: ReadingArgs, args: &ModelArgs) -> Result<PrepareOptions, Failure> {
    if reading.input_size.is_some() || reading.zeros.is_some() {
        return Err(Failure::new("--input-size and --zeros are for networks whose weights are made up")
            .hint("--shape gives a model's input its size"));
    }
    let ModelArgs { shape, preprocess, calibrate, save_calibration, ranges, scales, .. } = args;
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
    })
}
