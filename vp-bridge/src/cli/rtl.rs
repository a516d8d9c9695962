//! Cycles that the vendor's RTL took for a trace, where a table of that is at hand.

use super::Failure;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use vp_models::platform::Description;
use vp_study::rtl::table::{Setting, Table};

/// Cycles by test and memory.
#[derive(Debug, Default)]
pub(super) struct RtlTable {
    cycles: HashMap<(String, Setting), u64>,
}

impl RtlTable {
    /// The table for traces below a folder named `traces`: in `rtl-golden` beside that folder.
    pub(super) fn beside(script: &Path, description: &Description) -> Option<PathBuf> {
        let script = std::path::absolute(script).ok()?;
        let traces =
            script.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "traces"))?;
        Table::path_for(&traces.parent()?.join("rtl-golden"), description)
    }

    /// Reads a table.
    pub(super) fn read(path: &Path) -> Result<RtlTable, Failure> {
        let table = Table::read(path).map_err(Failure::new)?;
        let cycles = table.rows.into_iter().map(|row| ((row.test, row.setting), row.cycles)).collect();
        Ok(RtlTable { cycles })
    }

    /// Returns the cycles that the RTL took for a test with this platform's memory, if that was measured.
    pub(super) fn cycles(&self, test: &str, description: &Description) -> Option<u64> {
        self.cycles.get(&(test.to_owned(), Setting::of(description)?)).copied()
    }
}
