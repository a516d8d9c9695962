//! Plan of a network that a person names, without a run.

use super::kind::{self, Device, InputKind};
use super::model::LoweredModel;
use super::{ModelArgs, PlacementArgs, ReadingArgs, model, network};
use crate::cli::Failure;
use crate::cli::compile::ModelEnds;
use crate::cli::platform_args::nvdla;
use std::path::{Path, PathBuf};
use vp_host::network::{Network, Plan};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::numeric::Precision;
use vp_models::platform::Description;
use vp_onnx::lower::{CodedTensor, Lowered};
use vp_tensors::Graph;

/// A network and its plan.
pub(in crate::cli) struct Planned {
    pub(in crate::cli) network: Network,
    pub(in crate::cli) plan: Plan,
    /// Model of which the network is made, with notes about it.
    pub(in crate::cli) model: Option<(Lowered, Vec<String>)>,
}

/// Plans a network for a platform.
pub(in crate::cli) fn planned(
    path: &Path,
    description: &Description,
    (reading, models, placement): (ReadingArgs, &ModelArgs, PlacementArgs),
) -> Result<Planned, Failure> {
    match kind::of(path, || Ok(Some(Device::Nvdla)))? {
        InputKind::Network(_) if models.is_given() => Err(network::only_for_models()),
        InputKind::Network(named) => {
            let network = named.load(&reading.options())?;
            let plan = network::plan((&named, &network), description, &placement.options(1))?;
            Ok(Planned { network, plan, model: None })
        }
        InputKind::Model(path) => {
            let config = &nvdla(description)?.config;
            let LoweredModel { lowered, notes, .. } = model::lowered(&path, &[], config, (reading, models))?;
            let network = lowered.network.clone();
            let named = super::Named::File(path);
            let plan = network::plan((&named, &network), description, &placement.options(1))?;
            Ok(Planned { network, plan, model: Some((lowered, notes)) })
        }
        InputKind::Suite | InputKind::Traces(_) => Err(no_network(path)),
    }
}

fn no_network(path: &Path) -> Failure {
    Failure::new(format!("{}: no network, and nothing else is planned", path.display()))
        .hint("vp run takes traces, loadables and jobs")
}

/// A network, its input in codes if one is given, and what of a model is not in it.
pub(in crate::cli) struct Brought {
    pub(in crate::cli) network: Network,
    pub(in crate::cli) input: Option<Vec<i8>>,
    pub(in crate::cli) model: Option<ModelEnds>,
}

/// Reads a network for a configuration, to be compiled.
pub(in crate::cli) fn brought(
    path: &Path,
    inputs: &[PathBuf],
    config: &Config,
    (reading, models): (ReadingArgs, &ModelArgs),
) -> Result<Brought, Failure> {
    match kind::of(path, || Ok(Some(Device::Nvdla)))? {
        InputKind::Network(_) if models.is_given() => Err(network::only_for_models()),
        InputKind::Network(named) => {
            let network = named.load(&reading.options())?;
            let input = (!inputs.is_empty()).then(|| network::input(&network, inputs)).transpose()?;
            Ok(Brought { network, input, model: None })
        }
        InputKind::Model(path) => {
            let LoweredModel { lowered, given, .. } =
                model::lowered(&path, inputs, config, (reading, models))?;
            let is_guessed = lowered.network.precision == Precision::Int8 && !lowered.is_quantised;
            if is_guessed && models.calibrates().is_none() && given.is_none() {
                return Err(Failure::new(format!(
                    "{}: a model of floats, whose int8 codes need the ranges of its numbers",
                    path.display()
                ))
                .hint("--calibrate FOLDER gives samples, --input one"));
            }
            let input = given.map(|given| lowered.encode(&given)).transpose().map_err(Failure::new)?;
            let nodes = |graph: &Graph| graph.nodes.iter().map(|node| node.name.clone()).collect();
            let codes = |tensor: &CodedTensor| (tensor.encoding.scale, tensor.encoding.zero);
            let model = ModelEnds {
                nodes: [nodes(&lowered.head), nodes(&lowered.tail)],
                codes: [&lowered.input].into_iter().chain(&lowered.outputs).map(codes).collect(),
            };
            Ok(Brought { network: lowered.network, input, model: Some(model) })
        }
        InputKind::Suite | InputKind::Traces(_) => Err(no_network(path)),
    }
}
