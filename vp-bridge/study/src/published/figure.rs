//! The workbook's figures.

use super::Case;
use serde::Deserialize;
use vp_core::Time;

/// Time of a frame of each network, in microseconds: the workbook's own sums, without SRAM and with it.
const FRAMES: [(&str, [f64; 2]); 3] =
    [("alexnet", [895.4, 591.5]), ("googlenet", [1222.1, 579.7]), ("resnet50", [7113.7, 5161.5])];

/// Figures of the workbook for a layer, or for some that it counts together.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The network.
    pub network: String,
    /// Our names of the layers.
    pub layers: Vec<String>,
    /// Products.
    pub macs: u64,
    /// True if the figure counts on Winograd's convolution.
    pub winograd: bool,
    /// Cycles of the array.
    pub mac_cycles: f64,
    /// Cycles.
    pub cycles: f64,
    /// Bound of the layer: `MAC`, `DRAM`, and with SRAM `CVSRAM-R` or `CVSRAM-W`, its reads or its writes.
    pub bound: String,
    /// Bytes over DBBIF; with SRAM they are not told.
    pub bytes: Option<f64>,
    /// Cycles of the same row without SRAM.
    pub cycles_without_sram: f64,
}

#[derive(Deserialize)]
struct Row {
    network: String,
    layers: String,
    macs: u64,
    winograd: bool,
    mac_cycles: f64,
    cycles: f64,
    bound: String,
    dram_kib: f64,
    sram_mac_cycles: f64,
    sram_cycles: f64,
    sram_bound: String,
}

/// All figures of a case.
///
/// # Panics
/// Never: they are part of the program, and tests read them.
#[must_use]
pub fn figures(case: Case) -> Vec<Figure> {
    let mut reader = csv::Reader::from_reader(include_bytes!("figures.csv").as_slice());
    let figure = |row: Result<Row, csv::Error>| {
        let row = row.unwrap_or_else(|error| panic!("figures.csv: {error}"));
        let layers = row.layers.split('+').map(str::to_owned).collect();
        let Row { network, macs, winograd, mac_cycles, cycles, bound, dram_kib, .. } = row;
        let bytes = Some(dram_kib * 1024.0);
        let cycles_without_sram = cycles;
        let without =
            Figure { network, layers, macs, winograd, mac_cycles, cycles, bound, bytes, cycles_without_sram };
        match case {
            Case::Dram => without,
            Case::Sram => Figure {
                mac_cycles: row.sram_mac_cycles,
                cycles: row.sram_cycles,
                bound: row.sram_bound,
                bytes: None,
                ..without
            },
        }
    };
    reader.deserialize().map(figure).collect()
}

/// The time of a frame by the workbook's own sum.
#[must_use]
pub fn frame(network: &str, case: Case) -> Option<Time> {
    let (_, micros) = FRAMES.iter().find(|(of, _)| *of == network)?;
    let micros = micros[usize::from(case == Case::Sram)];
    Some(Time::ns((micros * 1000.0).round() as u64))
}

impl Figure {
    /// Returns true if the figure is of fully connected layers.
    pub(super) fn is_connected(&self) -> bool {
        self.layers.iter().any(|layer| layer.starts_with("fc"))
    }

    /// Cycles that the workbook counts for its bytes: 100 for what it calls a KiB. With SRAM its bytes are not told, but where they
    /// bound.
    ///
    /// A fully connected layer that DRAM bounds with SRAM, too, has its weights there in both cases. Each is read once, and SRAM spares it
    /// its input and output alone, which are a hundredth of that: its bytes are those of the row without SRAM.
    pub(super) fn memory_cycles(&self) -> f64 {
        match self.bytes {
            Some(bytes) => bytes / 1024.0 * 100.0,
            None if self.bound == "MAC" => 0.0,
            None if self.is_connected() && self.bound == "DRAM" => self.cycles_without_sram,
            None => self.cycles,
        }
    }

    /// The longest time that its bytes can take: where they are not told the row's, as whatever bounds it takes longest.
    pub(super) fn most_memory_cycles(&self, rate: f64) -> f64 {
        self.bytes.map_or(self.cycles, |bytes| bytes / rate)
    }

    /// The workbook's rule: the longer of the array's time and the memory's.
    pub(super) fn own_sum(&self) -> f64 {
        self.mac_cycles.max(self.memory_cycles())
    }

    /// Cycles above those that its rule makes of its own products and bytes.
    #[must_use]
    pub fn contradiction(&self) -> f64 {
        self.cycles - self.own_sum()
    }
}
