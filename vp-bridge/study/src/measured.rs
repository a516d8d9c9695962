//! Results of a point's run: everything that tables and pictures are made of.

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use vp_host::Bound;
use vp_models::memory::dram::DramActivity;
use vp_models::nvdla::config::DataType;
use vp_models::occupancy::WorkCounts;

/// Outcome of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The point ran.
    Ran(Box<Measured>),
    /// The point could not run, and why.
    Failed(String),
}

impl Outcome {
    /// Returns what was measured, if the point ran.
    pub fn measured(&self) -> Option<&Measured> {
        match self {
            Outcome::Ran(measured) => Some(measured),
            Outcome::Failed(_) => None,
        }
    }
}

/// A run of all frames at one point. Times are picoseconds of simulated time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// A clock cycle.
    pub period: u64,
    /// From the first frame's first layer to the last frame's last interrupt.
    pub time: u64,
    /// Frames that it took.
    pub frames: u32,
    /// Multiplications in all frames that the network asks for, without what hardware adds.
    pub macs: u64,
    /// The hash of all that happened.
    pub event_hash: String,
    /// Limits of the hardware: what it could do at best.
    pub machine: Machine,
    /// The memory interfaces that were used.
    pub ports: Vec<Port>,
    /// Bytes of SRAM in which the network has something.
    #[serde(default)]
    pub sram_bytes: u64,
    /// The layers of the network, in their order, over all frames.
    pub layers: Vec<MeasuredLayer>,
    /// Levels over time, for points that are looked at closely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// Limits of hardware: what it could do at best.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Multiplications a cycle, in the network's format.
    pub macs: u64,
    /// Format of features; of results that do not say it int8.
    #[serde(default)]
    pub data_type: Option<DataType>,
    /// Bytes that DBBIF can read a cycle, by its width or its memory's bandwidth.
    pub read_bytes: f64,
    /// Bytes that SRAMIF can read a cycle, where the network has something in SRAM.
    #[serde(default)]
    pub sram_read_bytes: f64,
    /// Bytes of a burst at most.
    pub burst_bytes: u64,
    /// Reads outstanding at most.
    pub read_outstanding: u64,
    /// Bytes of the convolution buffer.
    pub buffer_bytes: u64,
}

/// Transfers over a memory interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Port {
    /// Name of the interface: `dbb0`, `sram0`.
    pub name: String,
    /// Reads.
    pub reads: Direction,
    /// Writes.
    pub writes: Direction,
}

/// One direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Direction {
    /// Bursts.
    pub bursts: u64,
    /// Bytes.
    pub bytes: u64,
    /// Most bursts outstanding.
    pub most_outstanding: u64,
    /// From request to first data, or to acknowledgement: cycles, and how many bursts took that many.
    pub latencies: Histogram,
}

/// Histogram of latencies: the longest of a bucket in cycles, and the bursts in it. Buckets are a cycle wide up to 32 cycles, and from
/// there a sixteenth of their power of two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram(pub Vec<(u64, u64)>);

impl Histogram {
    /// Bursts in it.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// A latency that this share of the bursts does not exceed: of the bucket with the last of them the longest.
    pub fn percentile(&self, share: f64) -> Option<u64> {
        let wanted = (share * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        self.0
            .iter()
            .find(|(_, count)| {
                seen += count;
                seen >= wanted
            })
            .map(|(cycles, _)| *cycles)
    }
}

/// A layer of the network, over all frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLayer {
    /// Name of the layer.
    pub name: String,
    /// The layer whose hardware layers do this one too: then it has no time of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Hardware layers that it is made of, a frame.
    pub parts: u64,
    /// Time that the layer took, in picoseconds.
    pub time: u64,
    /// Multiplications that it asks for.
    pub macs: u64,
    /// By Winograd's method: the products that the array made for these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winograd_products: Option<u64>,
    /// True if the layer's weights, or some of them, lay in memory without their zeros.
    #[serde(default)]
    pub is_compressed: bool,
    /// Cycles for which these keep the whole MAC array busy.
    pub mac_cycles: u64,
    /// Bytes that it read.
    pub read: u64,
    /// Bytes that it wrote.
    pub written: u64,
    /// Of the bytes that it read those over SRAMIF.
    #[serde(default)]
    pub sram_read: u64,
    /// Of the bytes that it wrote those over SRAMIF.
    #[serde(default)]
    pub sram_written: u64,
    /// Bytes that BDMA copied into SRAM for it, while layers before it ran.
    #[serde(default)]
    pub copied: u64,
    /// Parts of the time, by what they went into, in the order of [`vp_host::Bound::ALL`].
    #[serde(deserialize_with = "as_many")]
    pub bounds: [u64; Bound::COUNT],
    /// Bytes of those read and written that went over interfaces to SRAM.
    #[serde(default)]
    pub sram: u64,
    /// Work that units did, in the order of [`vp_models::occupancy::Work::ALL`].
    #[serde(default, deserialize_with = "as_many")]
    pub work: WorkCounts,
    /// Activity of each DRAM in its time, by the name of its interface.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drams: BTreeMap<String, DramActivity>,
}

/// Reads N numbers, or zeros: of a program that told other ones they are not known.
fn as_many<'de, D: Deserializer<'de>, const N: usize>(deserializer: D) -> Result<[u64; N], D::Error> {
    let numbers = Vec::<u64>::deserialize(deserializer)?;
    Ok(numbers.try_into().unwrap_or([0; N]))
}

impl MeasuredLayer {
    /// Products that the array made for it: as many as it needs, or by Winograd's method those of its tiles.
    pub fn products(&self) -> u64 {
        self.winograd_products.unwrap_or(self.macs)
    }

    /// Returns the layer's name, and what it is done with: `pool1, with conv1`.
    pub fn named(&self) -> String {
        match &self.within {
            Some(within) => format!("{}, with {within}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Levels over time, in spans of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Length of a span, in picoseconds.
    pub span: u64,
    /// Time at which the first span begins, in picoseconds.
    pub start: u64,
    /// Levels, by what they are of.
    pub levels: Vec<Levels>,
    /// Times at which layers began, in picoseconds, and the layers' names.
    pub layers: Vec<(u64, String)>,
}

/// A level over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Levels {
    /// Name of the level.
    pub name: String,
    /// Mean of the level in each span.
    pub means: Vec<f64>,
    /// The highest in each span.
    pub most: Vec<u64>,
}

impl Measured {
    /// Frames in a second of simulated time.
    pub fn frames_per_second(&self) -> f64 {
        f64::from(self.frames) * 1e12 / (self.time.max(1) as f64)
    }

    /// Cycles a frame.
    pub fn cycles_per_frame(&self) -> f64 {
        self.time as f64 / self.period.max(1) as f64 / f64::from(self.frames.max(1))
    }

    /// Bytes a frame that BDMA copies into SRAM.
    pub fn copied_per_frame(&self) -> f64 {
        self.layers.iter().map(|layer| layer.copied).sum::<u64>() as f64 / f64::from(self.frames.max(1))
    }

    /// Returns the MAC array's utilisation: products that it made, as a share of those that it could have made in the time.
    pub fn utilisation(&self) -> f64 {
        let peak = self.machine.macs as f64 * self.time as f64 / self.period.max(1) as f64;
        let products: u64 = self.layers.iter().map(MeasuredLayer::products).sum();
        if peak > 0.0 { products as f64 / peak } else { 0.0 }
    }

    /// Bytes read and written over all interfaces.
    pub fn bytes(&self) -> (u64, u64) {
        self.ports
            .iter()
            .fold((0, 0), |(read, written), port| (read + port.reads.bytes, written + port.writes.bytes))
    }

    /// Returns what the time went into, over all layers.
    pub fn bounds(&self) -> [u64; Bound::COUNT] {
        let mut sum = [0; Bound::COUNT];
        for layer in &self.layers {
            for (sum, part) in sum.iter_mut().zip(layer.bounds) {
                *sum += part;
            }
        }
        sum
    }

    /// Returns true if it is known what the platform did inside; with parts in other programs it is not.
    pub fn is_seen_inside(&self) -> bool {
        self.bounds().iter().any(|part| *part > 0)
    }

    /// The port of that name.
    pub fn port(&self, name: &str) -> Option<&Port> {
        self.ports.iter().find(|port| port.name == name)
    }
}
