//! Answers of an ONNX model: outputs in its own numbers, likeliest classes, boxes, and distances from its floats.

use super::boxes::FoundBoxes;
use super::model_args::ModelArgs;
use super::model_nodes::ModelNodes;
use crate::cli::record::Record;
use crate::cli::{Failure, out, standard, text};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use vp_host::network::{CpuModel, Measured};
use vp_onnx::boxes::{Detection, ModelDetector};
use vp_onnx::lower::Lowered;
use vp_onnx::samples::{self, Answers, FloatWidth, Labels, Placement, answers};
use vp_onnx::{Distance, LayerDistance};
use vp_tensors::Tensor;

/// Classes that are told of an output, at most.
const TOLD: usize = 5;

/// Elements of an output that JSON has, at most.
const MOST_JSON: usize = 4096;

/// A model whose network runs.
pub(super) struct BroughtModel {
    pub(super) lowered: Lowered,
    /// Names of the model's outputs.
    pub(super) outputs: Vec<String>,
    /// Widths of their floats in the model.
    pub(super) output_floats: Vec<FloatWidth>,
    pub(super) inputs: Vec<Tensor>,
    pub(super) notes: Vec<String>,
    pub(super) labels: Option<Labels>,
    pub(super) detector: Option<ModelDetector>,
    /// Place of the picture in the input, if it is of one.
    pub(super) placement: Option<Placement>,
    /// Number of the network's outputs that are the model's; others are shown for their distance.
    pub(super) own_outputs: usize,
}

/// A model's answers.
pub(super) struct Answered {
    outputs: Vec<(String, Tensor)>,
    output_floats: Vec<FloatWidth>,
    distances: Vec<LayerDistance>,
    /// Distances of the outputs from those of the model in floats.
    from_floats: Vec<Distance>,
    /// Boxes, if the outputs are a detector's.
    boxes: Option<Vec<Detection>>,
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
        let boxes = boxes.transpose().map_err(Failure::new)?;
        let outputs = self.outputs.iter().cloned().zip(made).collect();
        let output_floats = self.output_floats.clone();
        Ok(Answered { outputs, output_floats, distances, from_floats, boxes })
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
    /// Writes the outputs: NPY or NPZ by the file's name.
    pub(super) fn write(&self, file: &Path) -> Result<(), Failure> {
        let both = self.outputs.iter().zip(&self.output_floats);
        let outputs: Vec<(&str, &Tensor, FloatWidth)> =
            both.map(|((name, tensor), floats)| (name.as_str(), tensor, *floats)).collect();
        standard::write(file, samples::outputs_as(file, &outputs).map_err(Failure::new)?)
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
    classes_of(&tensor.shape).map(|_| answers(numbers, TOLD))
}

/// Number of classes of an output, if its shape is of one number a class.
pub(super) fn classes_of(shape: &[usize]) -> Option<usize> {
    let mut long = shape.iter().copied().filter(|size| *size > 1);
    long.next().filter(|_| long.next().is_none())
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
