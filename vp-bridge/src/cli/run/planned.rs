//! Networks and models that a person names, read for a configuration, and planned; without a run.

use super::kind::{self, Device, InputKind};
use super::model_args::{self, LoweredModel};
use super::{ModelArgs, Named, PlacementArgs, ReadingArgs, network};
use crate::cli::Failure;
use crate::cli::platform_args::nvdla;
use std::path::{Path, PathBuf};
use vp_host::network::{Network, Plan};
use vp_models::nvdla::config::Config;
use vp_models::platform::Description;
use vp_onnx::lower::Lowered;

/// A network or a model that a person names, read.
pub(in crate::cli) enum ReadNetwork {
    /// A network, and where it is from.
    Network(Network, Named),
    /// A model made a network, and its file.
    Model(Box<LoweredModel>, PathBuf),
}

/// Reads a network for a configuration; a model with the input of a file if one is named.
pub(in crate::cli) fn read_network(
    path: &Path,
    inputs: &[PathBuf],
    config: &Config,
    (reading, models): (ReadingArgs, &ModelArgs),
) -> Result<ReadNetwork, Failure> {
    match kind::of(path, || Ok(Some(Device::Nvdla)))? {
        InputKind::Network(_) if models.is_given() => Err(network::only_for_models()),
        InputKind::Network(named) => Ok(ReadNetwork::Network(named.load(&reading.options())?, named)),
        InputKind::Model(path) => {
            let model = model_args::lowered(&path, inputs, config, (reading, models))?;
            Ok(ReadNetwork::Model(Box::new(model), path))
        }
        InputKind::Suite | InputKind::Traces(_) => {
            Err(Failure::new(format!("{}: no network, and nothing else is planned", path.display()))
                .hint("vp run takes traces, loadables and jobs"))
        }
    }
}

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
    let (network, named, model) =
        match read_network(path, &[], &nvdla(description)?.config, (reading, models))? {
            ReadNetwork::Network(network, named) => (network, named, None),
            ReadNetwork::Model(model, path) => {
                let LoweredModel { lowered, notes, .. } = *model;
                (lowered.network.clone(), Named::File(path), Some((lowered, notes)))
            }
        };
    let plan = network::plan((&named, &network), description, &placement.options(1))?;
    Ok(Planned { network, plan, model })
}
