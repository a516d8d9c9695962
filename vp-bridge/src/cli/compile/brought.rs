//! Networks and models, read to be compiled.

use super::outside::OutsideLoadable;
use crate::cli::Failure;
use crate::cli::run::{LoweredModel, ModelArgs, ReadNetwork, ReadingArgs, network_input, read_network};
use std::path::{Path, PathBuf};
use vp_host::network::Network;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::numeric::Precision;

/// A network, its input in codes if one is given, and what of a model is not in it.
pub(super) struct Brought {
    pub(super) network: Network,
    pub(super) input: Option<Vec<i8>>,
    pub(super) model: Option<OutsideLoadable>,
}

/// Reads a network for a configuration, to be compiled.
pub(super) fn brought(
    path: &Path,
    inputs: &[PathBuf],
    config: &Config,
    (reading, models): (ReadingArgs, &ModelArgs),
) -> Result<Brought, Failure> {
    let model = match read_network(path, inputs, config, (reading, models))? {
        ReadNetwork::Network(network, _) => {
            let input = (!inputs.is_empty()).then(|| network_input(&network, inputs)).transpose()?;
            return Ok(Brought { network, input, model: None });
        }
        ReadNetwork::Model(model, _) => model,
    };
    let LoweredModel { lowered, given, outputs, notes } = *model;
    let is_guessed = lowered.network.precision == Precision::Int8 && !lowered.is_quantised;
    if is_guessed && models.calibrates().is_none() && given.is_none() {
        return Err(Failure::new(format!(
            "{}: a model of floats, whose int8 codes need the ranges of its numbers",
            path.display()
        ))
        .hint("--calibrate FOLDER|FILE gives samples or a table of ranges, --input one sample"));
    }
    let input = given.map(|given| lowered.encode(&given)).transpose().map_err(Failure::new)?;
    let outside = OutsideLoadable::of(&lowered, &outputs, notes);
    Ok(Brought { network: lowered.network, input, model: Some(outside) })
}
