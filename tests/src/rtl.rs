//! What was measured on the published RTL: cycles and memory traffic of each trace under given latencies.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use vp_models::bus::axi::Latency;
use vp_models::host::Statistics;
use vp_models::nvdla::timing::RtlTree;
use vp_models::platform::Description;

/// Bursts by AXI transaction id.
pub type ById = BTreeMap<u32, u64>;

/// One simulation of the RTL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The trace.
    pub test: String,
    /// Cycles from a read's acceptance to its first data.
    pub read_latency: u32,
    /// Cycles from a write's last data to its response.
    pub write_latency: u32,
    /// Most reads the memory accepts before the first is answered.
    pub read_outstanding: u32,
    /// From the first enable to the interrupt.
    pub cycles: u64,
    /// What went over the primary interface.
    pub traffic: Traffic,
}

/// What went over one memory interface.
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
    /// What a platform counted at its primary interface.
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

impl Row {
    /// The rows of a table.
    ///
    /// # Panics
    /// When the table is not as its description says.
    pub fn all(table: &Path) -> Vec<Row> {
        let text =
            std::fs::read_to_string(table).unwrap_or_else(|error| panic!("{}: {error}", table.display()));
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().expect("a line of names").split(',').collect();
        lines.map(|line| Row::read(&names.iter().copied().zip(line.split(',')).collect())).collect()
    }

    fn read(columns: &BTreeMap<&str, &str>) -> Row {
        let text = |name: &str| *columns.get(name).unwrap_or_else(|| panic!("no column {name}"));
        let number = |name: &str| text(name).parse().unwrap_or_else(|_| panic!("{name}: `{}`", text(name)));
        let by_id = |name: &str| {
            let pairs = text(name).split_whitespace().map(|pair| pair.split_once(':').expect("id:bursts"));
            pairs.map(|(id, bursts)| (id.parse().expect("id"), bursts.parse().expect("bursts"))).collect()
        };
        Row {
            test: text("test").to_owned(),
            read_latency: number("read_latency") as u32,
            write_latency: number("write_resp_latency") as u32,
            read_outstanding: number("read_outstanding_limit") as u32,
            cycles: number("cycles"),
            traffic: Traffic {
                reads: by_id("reads_by_id"),
                read_bytes: number("axi_read_bytes"),
                most_reads: number("max_outstanding_reads"),
                writes: by_id("writes_by_id"),
                write_bytes: number("axi_write_bytes"),
                most_writes: number("max_outstanding_writes"),
            },
        }
    }

    /// The platform that was measured: this configuration, this tree, the row's memory behind each interface.
    ///
    /// # Panics
    /// When there is no such configuration.
    pub fn description(&self, config: &str, tree: RtlTree) -> Description {
        let mut description = Description::named(config).unwrap_or_else(|error| panic!("{error}"));
        description.nvdla.rtl = tree;
        for memory in [&mut description.dbb0, &mut description.sram0] {
            memory.read_latency = Some(Latency::Fixed(self.read_latency));
            memory.write_latency = Latency::Fixed(self.write_latency);
            memory.read_outstanding = self.read_outstanding;
        }
        description
    }
}

/// Whether a request reads or writes, through which interface, as which id.
pub type Channel = (&'static str, bool, u32);

/// The requests on each channel, in order: address and bytes.
pub type Requests = BTreeMap<Channel, Vec<(u64, u32)>>;

/// The requests that a log of the RTL's pins lists, if there is that log.
///
/// # Panics
/// When the log is not as its description says.
pub fn log(file: &Path) -> Option<Requests> {
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(file).ok()?).read_to_string(&mut text).expect("a log");
    let mut requests = Requests::new();
    for line in text.lines().skip(1) {
        let [_, channel, address, length, id] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{}: {line}", file.display());
        };
        let (port, write) = match channel {
            "AR" => ("dbb0", false),
            "AW" => ("dbb0", true),
            "SAR" => ("sram0", false),
            "SAW" => ("sram0", true),
            _ => continue,
        };
        let address = address.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let request = (address.expect("address"), length.parse().expect("length"));
        requests.entry((port, write, id.parse().expect("id"))).or_default().push(request);
    }
    Some(requests)
}
