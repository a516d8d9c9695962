//! Tables of what the RTL did: a CSV file a configuration, a row a simulation.
//!
//! `nv_small.csv` was measured on the tree in which a configuration was published, `nv_small.master.csv` on the branch
//! `master`.

use super::RtlError;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use vp_host::Statistics;
use vp_models::bus::axi::Latency;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::rtl_tree::RtlTree;
use vp_models::platform::Description;

/// Bursts by AXI transaction id.
pub type ById = BTreeMap<u32, u64>;

/// The memory behind each interface during a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Setting {
    /// Cycles from a read's acceptance to its first data.
    pub read_latency: u32,
    /// Cycles from a write's last data to its response.
    pub write_latency: u32,
    /// Most reads the memory accepts before the first is answered.
    pub read_outstanding: u32,
}

impl Setting {
    /// The setting that a platform's memory has; none if no measured memory is like it.
    #[must_use]
    pub fn of(description: &Description) -> Option<Setting> {
        let latencies = (description.dbb_latency(), description.dbb0.write_latency);
        let (Latency::Fixed(read_latency), Latency::Fixed(write_latency)) = latencies else { return None };
        let read_outstanding = description.dbb0.read_outstanding;
        let like_it = description.dbb0.bandwidth.is_none() && description.dbb0.model.is_empty();
        like_it.then_some(Setting { read_latency, write_latency, read_outstanding })
    }

    /// Gives a platform that memory, behind each interface.
    pub fn apply(self, description: &mut Description) {
        for memory in [&mut description.dbb0, &mut description.sram0] {
            memory.read_latency = Some(Latency::Fixed(self.read_latency));
            memory.write_latency = Latency::Fixed(self.write_latency);
            memory.read_outstanding = self.read_outstanding;
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setting { read_latency, write_latency, read_outstanding } = self;
        write!(f, "read {read_latency}, write {write_latency}, limit {read_outstanding}")
    }
}

/// Traffic over the primary interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Read bursts by id.
    pub reads: ById,
    /// Bytes read.
    pub read_bytes: u64,
    /// Most reads outstanding.
    pub most_reads: u64,
    /// Write bursts by id.
    pub writes: ById,
    /// Bytes written.
    pub write_bytes: u64,
    /// Most writes outstanding.
    pub most_writes: u64,
}

impl Traffic {
    /// Returns what a platform counted at its primary interface.
    #[must_use]
    pub fn counted(statistics: &Statistics) -> Traffic {
        let get = |name: &str| statistics.get(name).unwrap_or_default();
        let by_id = |direction: &str| {
            let bursts = (0..16).map(|id| (id, get(&format!("dbb0.{direction}.id{id}.bursts"))));
            bursts.filter(|(_, bursts)| *bursts > 0).collect()
        };
        Traffic {
            reads: by_id("read"),
            read_bytes: get("dbb0.read.bytes"),
            most_reads: get("dbb0.read.most_outstanding"),
            writes: by_id("write"),
            write_bytes: get("dbb0.write.bytes"),
            most_writes: get("dbb0.write.most_outstanding"),
        }
    }
}

/// Traffic over the secondary interface, of which less was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondTraffic {
    /// Read bursts.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Most reads outstanding.
    pub most_reads: u64,
    /// Write bursts.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
}

impl SecondTraffic {
    /// Returns what a platform counted at its secondary interface.
    #[must_use]
    pub fn counted(statistics: &Statistics) -> SecondTraffic {
        let get = |name: &str| statistics.get(&format!("sram0.{name}")).unwrap_or_default();
        SecondTraffic {
            reads: get("read.bursts"),
            read_bytes: get("read.bytes"),
            most_reads: get("read.most_outstanding"),
            writes: get("write.bursts"),
            write_bytes: get("write.bytes"),
        }
    }
}

/// One simulation of the RTL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The trace.
    pub test: String,
    /// The memory.
    pub setting: Setting,
    /// From the first enable to the interrupt.
    pub cycles: u64,
    /// From the first enable to the first read address.
    pub first_read: Option<u64>,
    /// True if memory held what the trace expects; none if it expects nothing.
    pub right: Option<bool>,
    /// Traffic over the primary interface.
    pub traffic: Traffic,
    /// Traffic over the secondary interface, if the configuration has that.
    pub second: Option<SecondTraffic>,
}

/// The measurements of one configuration on one tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The file's name without `.csv`.
    pub name: String,
    /// The configuration, whose traces were run.
    pub config: String,
    /// The built-in platform that models what was measured.
    pub platform: String,
    /// The tree it was built from.
    pub tree: RtlTree,
    /// The simulations.
    pub rows: Vec<Row>,
}

impl Table {
    /// The table of a folder that was measured on what a platform models.
    #[must_use]
    pub fn path_for(folder: &Path, description: &Description) -> Option<PathBuf> {
        let nvdla = description.nvdla()?;
        let config = &nvdla.config;
        // A configuration that `master` builds differently has a platform of its own for that.
        let name = config.name.strip_suffix("_master").unwrap_or(&config.name);
        let published = nvdla.rtl == RtlTree::published(config);
        let candidates = [(published, format!("{name}.csv")), (true, format!("{name}.master.csv"))];
        candidates
            .into_iter()
            .filter(|(may_be, _)| *may_be)
            .map(|(_, file)| folder.join(file))
            .find(|path| path.exists() && Table::measures(path, description))
    }

    /// Returns true if the table at a path was measured on what a platform models.
    fn measures(path: &Path, description: &Description) -> bool {
        let (_, platform, tree) = Table::subject(path);
        description.nvdla().is_some_and(|nvdla| platform == nvdla.config.name && tree == nvdla.rtl)
    }

    /// Returns what a table's name says: the configuration, the platform that models it, and the tree.
    fn subject(path: &Path) -> (String, String, RtlTree) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match name.strip_suffix(".master") {
            Some(config) => {
                let own = format!("{config}_master");
                let platform = if Config::named(&own).is_ok() { own } else { config.to_owned() };
                (config.to_owned(), platform, RtlTree::Master)
            }
            None => {
                let tree = Config::named(&name).map_or(RtlTree::Master, |config| RtlTree::published(&config));
                (name.clone(), name, tree)
            }
        }
    }

    /// Reads a table.
    ///
    /// # Errors
    /// A file that cannot be read or is not as its description says.
    pub fn read(path: &Path) -> Result<Table, RtlError> {
        let mut reader = super::csv_of(path)?;
        let header = reader.headers().map_err(|error| RtlError::new(path, error))?.clone();
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| RtlError::new(path, error))?;
            let line = record.position().map_or(0, csv::Position::line);
            let row = Cells(header.iter().zip(record.iter()).collect()).row();
            rows.push(row.map_err(|what| RtlError::new(path, format!("line {line}: {what}")))?);
        }
        let (config, platform, tree) = Table::subject(path);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Table { name, config, platform, tree, rows })
    }

    /// The platform that was measured, with that memory.
    ///
    /// # Errors
    /// When no built-in platform models what was measured.
    pub fn description(&self, setting: Setting) -> Result<Description, RtlError> {
        let named = Description::named(&self.platform);
        let mut description = named.map_err(|error| RtlError::new(Path::new(&self.name), error))?;
        if let Some(nvdla) = description.nvdla_mut() {
            nvdla.rtl = self.tree;
        }
        setting.apply(&mut description);
        Ok(description)
    }
}

/// A row's cells by the names of their columns.
pub(super) struct Cells<'a>(pub(super) BTreeMap<&'a str, &'a str>);

impl Cells<'_> {
    fn row(&self) -> Result<Row, String> {
        let setting = Setting {
            read_latency: self.number("read_latency")?,
            write_latency: self.number("write_resp_latency")?,
            read_outstanding: self.number("read_outstanding_limit")?,
        };
        let traffic = Traffic {
            reads: self.by_id("reads_by_id")?,
            read_bytes: self.number("axi_read_bytes")?,
            most_reads: self.number("max_outstanding_reads")?,
            writes: self.by_id("writes_by_id")?,
            write_bytes: self.number("axi_write_bytes")?,
            most_writes: self.number("max_outstanding_writes")?,
        };
        let right = self.has("crc_ok").then(|| self.number("crc_ok").map(|right: u8| right == 1));
        let first_read = self.has("first_read_after_enable").then(|| self.number("first_read_after_enable"));
        let second = self.has("sram_read_bursts").then(|| self.second());
        Ok(Row {
            test: self.text("test")?.to_owned(),
            setting,
            cycles: self.number("cycles")?,
            first_read: first_read.transpose()?,
            right: right.transpose()?,
            traffic,
            second: second.transpose()?,
        })
    }

    fn second(&self) -> Result<SecondTraffic, String> {
        Ok(SecondTraffic {
            reads: self.number("sram_read_bursts")?,
            read_bytes: self.number("sram_read_bytes")?,
            most_reads: self.number("sram_max_outstanding_reads")?,
            writes: self.number("sram_write_bursts")?,
            write_bytes: self.number("sram_write_bytes")?,
        })
    }

    /// Returns true if there is something in a column.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|text| !text.is_empty())
    }

    pub(super) fn text(&self, name: &str) -> Result<&str, String> {
        self.0.get(name).copied().ok_or_else(|| format!("no column `{name}`"))
    }

    pub(super) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T, String> {
        let text = self.text(name)?;
        text.parse().map_err(|_| format!("{name}: `{text}` is no number"))
    }

    /// Pairs of id and bursts: `8:256 9:576`.
    fn by_id(&self, name: &str) -> Result<ById, String> {
        let pair = |text: &str| {
            let (id, bursts) = text.split_once(':')?;
            Some((id.parse().ok()?, bursts.parse().ok()?))
        };
        let pairs = self.text(name)?.split_whitespace();
        pairs.map(|text| pair(text).ok_or_else(|| format!("{name}: `{text}` is not ID:BURSTS"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "test,read_latency,write_resp_latency,read_outstanding_limit,cycles,\
        first_read_after_enable,axi_read_bytes,axi_write_bytes,max_outstanding_reads,\
        max_outstanding_writes,reads_by_id,writes_by_id,crc_ok";

    fn written(name: &str, lines: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{HEADER}\n{lines}")).unwrap();
        (folder, path)
    }

    #[test]
    fn a_row_says_memory_cycles_and_traffic() {
        let (_folder, path) = written("nv_small.csv", "a_layer,50,1,256,900,27,512,64,8,1,8:30 9:34,1:8,\n");
        let table = Table::read(&path).unwrap();
        assert_eq!((table.config.as_str(), table.tree), ("nv_small", RtlTree::NvSmall));
        let row = &table.rows[0];
        assert_eq!((row.setting.read_latency, row.cycles, row.right), (50, 900, None));
        assert_eq!(row.traffic.reads, ById::from([(8, 30), (9, 34)]));
    }

    #[test]
    fn a_cell_that_is_no_number_is_named_with_its_line() {
        let (_folder, path) = written("nv_small.csv", "a_layer,50,1,many,900,27,512,64,8,1,,,\n");
        let error = Table::read(&path).unwrap_err();
        assert_eq!(error.what, "line 2: read_outstanding_limit: `many` is no number");
    }

    #[test]
    fn the_table_of_a_platform_is_that_of_its_tree() {
        let (folder, small) = written("nv_small.csv", "");
        let (_other, master) = (0, folder.path().join("nv_small.master.csv"));
        std::fs::write(&master, HEADER).unwrap();
        let mut description = Description::named("nv_small").unwrap();
        assert_eq!(Table::path_for(folder.path(), &description), Some(small));
        description.nvdla_mut().unwrap().rtl = RtlTree::Master;
        assert_eq!(Table::path_for(folder.path(), &description), Some(master));
        let other = Description::named("nv_large").unwrap();
        assert_eq!(Table::path_for(folder.path(), &other), None);
    }
}
