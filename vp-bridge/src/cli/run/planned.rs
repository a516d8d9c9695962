//! Plan of a network that a person names, without a run.

use super::kind::{self, Device, InputKind};
use super::{ModelArgs, PlacementArgs, ReadingArgs, model, network};
use crate::cli::Failure;
use std::path::Path;
use vp_host::network::{Network, Plan};
use vp_models::platform::Description;
use vp_onnx::lower::Lowered;

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
    let no_network = || {
        Failure::new(format!("{}: no network, and nothing else is planned", path.display()))
            .hint("vp run takes traces, loadables and jobs")
    };
    match kind::of(path, || Ok(Some(Device::Nvdla)))? {
        InputKind::Network(_) if models.is_given() => Err(network::only_for_models()),
        InputKind::Network(named) => {
            let network = named.load(&reading.options())?;
            let plan = network::plan((&named, &network), description, &placement.options(1))?;
            Ok(Planned { network, plan, model: None })
        }
        InputKind::Model(path) => {
            let (lowered, notes) = model::lowered(&path, (reading, models), description)?;
            let network = lowered.network.clone();
            let named = super::Named::File(path);
            let plan = network::plan((&named, &network), description, &placement.options(1))?;
            Ok(Planned { network, plan, model: Some((lowered, notes)) })
        }
        InputKind::Suite | InputKind::Traces(_) => Err(no_network()),
    }
}
