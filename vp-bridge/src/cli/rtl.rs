//! What the vendor's RTL took for a trace, where a table of that is at hand.
//!
//! A table is a CSV with a row for each test and memory setting; see [`RtlTable::beside`] for where it is
//! looked for.

use super::Failure;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use vp_models::bus::axi::Latency;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::timing::RtlTree;
use vp_models::platform::Description;

/// A row's key: test, read latency, write latency, read limit.
type Key = (String, u32, u32, u32);

/// Cycles by test and memory setting.
#[derive(Debug, Default)]
pub(super) struct RtlTable {
    cycles: HashMap<Key, u64>,
}

impl RtlTable {
    /// The table for traces below a folder named `traces`: `rtl-golden/CONFIG.csv`, or `CONFIG.master.csv` for
    /// the other tree and for configurations that only have that, beside that folder.
    pub(super) fn beside(script: &Path, description: &Description) -> Option<PathBuf> {
        let script = std::path::absolute(script).ok()?;
        let traces =
            script.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "traces"))?;
        let folder = traces.parent()?.join("rtl-golden");
        let name = &description.nvdla.config.name;
        let path = match description.nvdla.rtl {
            RtlTree::NvSmall => folder.join(format!("{name}.csv")),
            RtlTree::Master => match name.strip_suffix("_master") {
                // The configuration as that tree builds it.
                Some(name) => folder.join(format!("{name}.master.csv")),
                // The tree builds another one of that name.
                None if Config::named(&format!("{name}_master")).is_ok() => return None,
                None => folder.join(format!("{name}.master.csv")),
            },
        };
        path.exists().then_some(path)
    }

    /// Reads a table.
    pub(super) fn read(path: &Path) -> Result<RtlTable, Failure> {
        let refuse = |why: String| Failure::new(format!("{}: {why}", path.display()));
        let mut reader = csv::Reader::from_path(path).map_err(|error| refuse(error.to_string()))?;
        let header = reader.headers().map_err(|error| refuse(error.to_string()))?.clone();
        let column = |name: &str| {
            header.iter().position(|title| title == name).ok_or_else(|| refuse(format!("no column `{name}`")))
        };
        let (test, cycles) = (column("test")?, column("cycles")?);
        let settings =
            [column("read_latency")?, column("write_resp_latency")?, column("read_outstanding_limit")?];
        let mut table = RtlTable::default();
        for record in reader.records() {
            let record = record.map_err(|error| refuse(error.to_string()))?;
            let line = record.position().map_or(0, csv::Position::line);
            let number = |column: usize| {
                let cell = record.get(column).unwrap_or_default();
                cell.parse::<u64>().map_err(|_| refuse(format!("line {line}: `{cell}` is no number")))
            };
            let [read, write, limit] = [number(settings[0])?, number(settings[1])?, number(settings[2])?];
            let key =
                (record.get(test).unwrap_or_default().to_owned(), read as u32, write as u32, limit as u32);
            table.cycles.insert(key, number(cycles)?);
        }
        Ok(table)
    }

    /// What the RTL took for a test with this platform's memory, if that was measured.
    pub(super) fn cycles(&self, test: &str, description: &Description) -> Option<u64> {
        let (Latency::Fixed(read), Latency::Fixed(write)) =
            (description.dbb_latency(), description.dbb0.write_latency)
        else {
            return None;
        };
        if description.dbb0.bandwidth.is_some() {
            return None;
        }
        self.cycles.get(&(test.to_owned(), read, write, description.dbb0.read_outstanding)).copied()
    }
}
