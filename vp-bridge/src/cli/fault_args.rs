//! Options for the faults to inject.

use std::path::PathBuf;
use std::sync::Arc;

use vp_host::{Host, HostError};
use vp_models::faults::MOST_FAULTS_TEXT;
use vp_server::BindError;

use super::{Failure, standard};

/// Options that have things go wrong.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct FaultArgs {
    /// Inject the faults that a TOML file describes (docs/inside.md, "Fault injection")
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
}

impl FaultArgs {
    /// Reads the text of the file of faults, if one is given.
    pub(super) fn text(&self) -> Result<Option<Arc<str>>, Failure> {
        let Some(file) = &self.faults else { return Ok(None) };
        match standard::read_text("--faults", file, MOST_FAULTS_TEXT as u64) {
            Ok(text) => Ok(Some(text.into())),
            Err(error) => Err(self.refused(error)),
        }
    }

    /// Arms them at a platform.
    pub(super) fn arm(&self, host: &mut dyn Host) -> Result<(), Failure> {
        let Some(text) = self.text()? else { return Ok(()) };
        host.inject_faults(&text).map_err(|error| match error {
            HostError::Refused(reason) => self.refused(reason),
            error => Failure::new(error),
        })
    }

    /// Returns the failure for a server that does not start.
    pub(super) fn bind_failure(&self, error: BindError) -> Failure {
        match error {
            BindError::Faults(error) => self.refused(error),
            error => Failure::new(error),
        }
    }

    fn refused(&self, what: impl std::fmt::Display) -> Failure {
        let file = self.faults.as_deref().unwrap_or_else(|| std::path::Path::new("")).display();
        let what = what.to_string();
        match what.strip_prefix("line ") {
            Some(what) => Failure::new(format!("{file}:{what}")),
            None => Failure::new(format!("{file}: {what}")),
        }
    }
}
