//! `vp run` of an ONNX model: its network runs as any.

use super::Args;
use super::model_answers::{BroughtModel, classes_of};
use super::model_args::{given, lower, options};
use super::named::Named;
use super::network::{self, Prepared};
use crate::cli::platform_args::nvdla;
use crate::cli::text::counted;
use crate::cli::{Failure, Verdict};
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use vp_models::platform::Description;
use vp_onnx::OpenedModel;
use vp_onnx::samples::Labels;
use vp_tensors::{Graph, Value};

pub(super) fn main(path: &Path, args: &Args) -> Result<Verdict, Failure> {
    let options = options(args.reading, &args.model)?;
    if args.timed && args.model.is_about_answers() {
        return Err(Failure::new(
            "--labels, --boxes and --distance are about answers, and --timed computes none",
        ));
    }
    let labels = args.model.labels.as_deref().map(Labels::load).transpose().map_err(Failure::new)?;
    let opened = RefCell::new(OpenedModel::open(path, &options).map_err(Failure::new)?);
    let name = opened.borrow().graph.name.clone();
    let detector = opened.borrow().detector(args.model.boxes.as_deref()).map_err(Failure::new)?;
    if let Some(labels) = labels.as_ref().filter(|_| detector.is_none()) {
        let unnamed = unnamed(labels, &opened.borrow().graph);
        opened.borrow_mut().notes.extend(unnamed);
    }
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
        let mut lowered = lower(&mut opened, config, &options, &inputs)?;
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
            output_floats: opened.output_floats.clone(),
            inputs: inputs.clone(),
            notes: opened.notes.clone(),
            labels: labels.clone(),
            detector: detector.clone(),
            placement,
            lowered,
        };
        Ok(Prepared { network: Cow::Owned(network), input, model: Some(model) })
    };
    network::run((&name, &Named::File(path.to_owned())), &prepare, args)
}

/// Notes of outputs that have more classes than there are names.
fn unnamed(labels: &Labels, graph: &Graph) -> Vec<String> {
    let outputs = graph.outputs.iter().map(|output| graph.value(*output));
    let more = outputs.filter_map(|Value { name, shape, .. }| {
        let classes: usize = classes_of(shape)?;
        let named = labels.count();
        (named < classes).then(|| {
            format!(
                "--labels has {}, and `{}` {classes} classes: those from {named} on have none",
                counted(named as u64, "name"),
                name.escape_debug()
            )
        })
    });
    more.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_tensors::{ElementType, ValueId};

    #[test]
    fn classes_without_a_name_are_told() {
        let value = |name: &str, shape: &[usize]| Value {
            name: name.to_owned(),
            shape: shape.to_vec(),
            element_type: ElementType::Float,
        };
        let values = vec![value("few", &[1, 2]), value("y", &[1, 4, 1]), value("map", &[1, 4, 9])];
        let outputs = (0..3).map(ValueId).collect();
        let graph = Graph { values, outputs, ..Graph::default() };
        let labels = Labels::parse("cat\ndog\nowl\n").unwrap();
        let told = ["--labels has 3 names, and `y` 4 classes: those from 3 on have none"];
        assert_eq!(unnamed(&labels, &graph), told);
    }
}
