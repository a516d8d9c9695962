//! What was measured on the vendor's RTL, and how far the model is from it.
//!
//! * [`measurements`]: all that a folder holds of them.
//! * [`table`]: tables of measurements, a row for each simulation of the RTL: a trace under a memory.
//! * [`networks`]: networks that the planner's own register programs ran on the RTL.
//! * [`log`]: every request that one of these simulations made, in order.
//! * [`run`]: the same trace under the same memory, on the model.
//! * [`modes`]: the ways through the hardware that runs are counted by; [`proven`]: what each was held to.
//! * [`distribution`]: how far apart the two are, over many rows, and how far they may be.
//!
//! The command line shows it, the tests hold the model to it. Nothing here prints, and nothing knows a measured number.

pub mod distribution;
pub mod log;
pub mod measurements;
pub mod modes;
pub mod networks;
pub mod proven;
pub mod run;
pub mod table;

use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file of measurements that is not as its description says, or a row that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {what}", .path.display())]
pub struct RtlError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, and where in it.
    pub what: String,
}

impl RtlError {
    fn new(path: &Path, what: impl std::fmt::Display) -> RtlError {
        RtlError { path: path.to_owned(), what: what.to_string() }
    }
}
