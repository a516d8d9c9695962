//! Networks as people name them.

use super::MOST_INPUT;
use crate::cli::{Failure, standard};
use std::path::PathBuf;
use vp_host::network::{Network, Options};
use vp_models::toml_text::TextError;

/// Place of a network, if that is what a person names: one that is built in, a folder with a `network.toml`, a TOML
/// file or a sheet of layers.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum Named {
    BuiltIn(String),
    File(PathBuf),
}

impl Named {
    pub(super) fn load(&self, options: &Options) -> Result<Network, Failure> {
        match self {
            Named::BuiltIn(name) => {
                let network = Network::named(name, options).map_err(Failure::new)?;
                network.ok_or_else(|| Failure::new(format!("there is no network `{name}`")))
            }
            Named::File(path) if standard::is_standard(path) => {
                let text = standard::read_text("TRACE", path, MOST_INPUT);
                let text = text.map_err(|error| Failure::new(TextError::unreadable(path, error)))?;
                Network::of_file(path, &text, options).map_err(Failure::new)
            }
            Named::File(path) => Network::load(path, options).map_err(Failure::new),
        }
    }
}
