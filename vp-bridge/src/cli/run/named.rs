//! Networks as people name them.

use crate::cli::Failure;
use std::path::PathBuf;
use vp_models::host::network::{Network, Options};

/// Where a network is, if that is what a person names: one that is built in, a folder with a `network.toml`, a TOML
/// file or a sheet of layers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named {
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
            Named::File(path) => Network::load(path, options).map_err(Failure::new),
        }
    }
}
