//! Measurements of the vendor's RTL, and how far the model is from it.
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

use std::io::Cursor;
use std::path::{Path, PathBuf};
use thiserror::Error;
use vp_models::bounded_file::read_description;

/// A file of measurements that is not as its description says, or a row that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {what}", .path.display())]
pub struct RtlError {
    /// The file.
    pub path: PathBuf,
    /// Fault of the file or row, and where in the file.
    pub what: String,
}

impl RtlError {
    fn new(path: &Path, what: impl std::fmt::Display) -> RtlError {
        RtlError { path: path.to_owned(), what: what.to_string() }
    }
}

/// A table of measurements, read whole: it has at most as many bytes as other files in which people describe something.
fn csv_of(path: &Path) -> Result<csv::Reader<Cursor<String>>, RtlError> {
    let text = read_description(path).map_err(|error| RtlError::new(path, error))?;
    Ok(csv::Reader::from_reader(Cursor::new(text)))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nv_small.csv");
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        let errors = [
            table::Table::read(&path).err(),
            distribution::read(&path).err(),
            networks::is_of_networks(&path).err(),
            networks::read(&path, &mut Vec::new()).err(),
        ];
        for error in errors {
            assert_eq!(error.map(|error| error.what).as_deref(), Some("it has more than 16777216 bytes"));
        }
    }
}
