//! Layers that no unit can do, found by planning.

use super::draft::{Draft, DraftKind};
use super::{LowerError, PLANNED};
use vp_host::network::{Lines, Network, NetworkLayer, Plan, PlanError};
use vp_models::nvdla::config::Config;

/// A layer that no unit can do.
pub(super) struct RefusedLayer {
    pub(super) nodes: Vec<usize>,
    pub(super) layer: String,
    pub(super) why: String,
}

impl RefusedLayer {
    pub(super) fn of(draft: &Draft, why: String) -> RefusedLayer {
        RefusedLayer { nodes: draft.nodes.clone(), layer: draft.name.clone(), why }
    }
}

/// The layer that the planner refuses, and with `is_first` those behind it that it refuses as well, as far as it does so for each alone: a
/// plan of all ends at the first one.
pub(super) fn refused(
    network: &Network,
    drafts: &[&Draft],
    (config, error, is_first): (&Config, PlanError, bool),
) -> Result<Vec<RefusedLayer>, LowerError> {
    let layer = error.layer().and_then(|name| network.layers.iter().position(|layer| layer.name == name));
    let can_be_given = |draft: &Draft| !matches!(draft.kind, DraftKind::Cpu(_)) && !draft.nodes.is_empty();
    let Some(first) = layer.filter(|layer| can_be_given(drafts[*layer])) else {
        return Err(LowerError::Plan(error));
    };
    let mut refused = vec![RefusedLayer::of(drafts[first], error.to_string())];
    let behind = network.layers.iter().zip(drafts).skip(first + 1).filter(|_| is_first);
    for (layer, draft) in behind.filter(|(layer, draft)| layer.sources.len() == 1 && can_be_given(draft)) {
        let alone = Network {
            name: network.name.clone(),
            input: layer.input,
            is_image: false,
            precision: network.precision,
            choices: network.choices,
            layers: vec![NetworkLayer { sources: vec![None], ..layer.clone() }],
            outputs: vec![0],
            demands: Vec::new(),
            lines: Lines::default(),
        };
        if let Err(error) = Plan::new(&alone, config, PLANNED) {
            refused.push(RefusedLayer::of(draft, error.to_string()));
        }
    }
    Ok(refused)
}
