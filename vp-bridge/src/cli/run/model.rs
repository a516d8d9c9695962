//! `vp run` of an ONNX model: its network runs as any.

use super::Args;
use super::model_answers::BroughtModel;
use super::model_args::{given, options};
use super::named::Named;
use super::network::{self, Prepared};
use crate::cli::platform_args::nvdla;
use crate::cli::{Failure, Verdict};
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use vp_models::platform::Description;
use vp_onnx::OpenedModel;
use vp_onnx::samples::Labels;

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
