//! All that was measured in a folder.

use super::RtlError;
use super::networks::{self, NetworkRow};
use super::table::Table;
use std::path::{Path, PathBuf};

/// Folder, in a folder with tables, where files of networks may lie.
const NETWORKS: &str = "networks";

/// Contents of a folder's files, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measurements {
    /// Simulations of traces, by configuration.
    pub tables: Vec<Table>,
    /// Networks that were run with the planner's register programs: of this folder and of its folder `networks`.
    pub networks: Vec<NetworkRow>,
}

impl Measurements {
    /// Reads the CSV files of a folder.
    ///
    /// # Errors
    /// A folder or file that cannot be read, or no such file at all.
    pub fn of(folder: &Path) -> Result<Measurements, RtlError> {
        let mut paths = tables_of(folder)?;
        let inner = folder.join(NETWORKS);
        if inner.is_dir() {
            paths.extend(tables_of(&inner)?);
        }
        if paths.is_empty() {
            return Err(RtlError::new(folder, "no tables (CSV files) of RTL measurements here"));
        }
        let mut found = Measurements::default();
        for path in paths {
            if networks::is_of_networks(&path)? {
                networks::read(&path, &mut found.networks)?;
            } else {
                found.tables.push(Table::read(&path)?);
            }
        }
        Ok(found)
    }
}

fn tables_of(folder: &Path) -> Result<Vec<PathBuf>, RtlError> {
    let entries = folder.read_dir().map_err(|error| RtlError::new(folder, error))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| RtlError::new(folder, error))?.path();
        paths.extend(path.extension().is_some_and(|ext| ext == "csv").then_some(path));
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::networks::Case;
    use crate::rtl::table::Setting;

    const TOTALS: &str =
        "network,platform,read_latency,limit,write_latency,rtl_cycles,weight_bytes_aligned_to";
    const STEPS: &str =
        "network,platform,read_latency,limit,write_latency,step,name,rtl_cycles,weight_bytes_aligned_to";

    #[test]
    fn totals_and_steps_of_a_network_belong_together() {
        let folder = tempfile::tempdir().unwrap();
        let networks = folder.path().join("networks");
        std::fs::create_dir(&networks).unwrap();
        let write = |name: &str, header: &str, lines: &str| {
            std::fs::write(networks.join(name), format!("{header}\n{lines}")).unwrap();
        };
        write("totals.csv", TOTALS, "digits,nv_small,50,256,1,900,8\n");
        write(
            "steps.csv",
            STEPS,
            "digits,nv_small,50,256,1,0,conv1,400,8\ndigits,nv_small,50,8,1,0,conv1,500,8\n",
        );
        let found = Measurements::of(folder.path()).unwrap();
        let setting = |read_outstanding| Setting { read_latency: 50, write_latency: 1, read_outstanding };
        let row = |limit, total, cycles| NetworkRow {
            case: Case {
                network: "digits".to_owned(),
                platform: "nv_small".to_owned(),
                setting: setting(limit),
                weight_bytes: 8,
            },
            total,
            steps: vec![(0, "conv1".to_owned(), cycles)],
        };
        assert_eq!(found.networks, [row(256, Some(900), 400), row(8, None, 500)]);
        assert!(found.tables.is_empty());

        write("totals.csv", TOTALS, "digits,nv_small,50,256,1,900,none\n");
        let error = Measurements::of(folder.path()).unwrap_err();
        assert_eq!(error.what, "line 2: weight_bytes_aligned_to: `none` begins with no number above 0");

        write("totals.csv", TOTALS, "");
        write("steps.csv", STEPS, "digits,nv_small,50,256,1,4000000000,conv1,400,8\n");
        let error = Measurements::of(folder.path()).unwrap_err();
        assert_eq!(error.what, "line 2: step: 4000000000 is not below 10000");
    }

    #[test]
    fn a_folder_without_tables_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let error = Measurements::of(folder.path()).unwrap_err();
        assert_eq!(error.what, "no tables (CSV files) of RTL measurements here");
    }
}
