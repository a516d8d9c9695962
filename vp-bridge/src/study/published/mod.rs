//! NVIDIA's estimates of AlexNet, GoogLeNet and ResNet-50, and how far ours are from them, layer by layer.
//!
//! The figures are facts of the performance workbook in the public nvdla/hw repository
//! (`perf/NVDLA_OpenSource_Performance.xlsx`), its case without SRAM: int8, 2048 MACs, 512 KiB of buffer, 1 GHz, 10 GB/s that reads
//! and writes share, fully connected layers sixteen frames at a time; pooling, scaling and sums cost nothing, and start-up,
//! latency and software are left out. `docs/published.md` explains the differences.

use serde::Deserialize;
use std::fmt;
use vp_core::Time;
use vp_models::bus::axi::Latency;
use vp_models::host::Bounds;
use vp_models::host::network::{LayerFigures, Measured};
use vp_models::platform::Description;

/// The networks that there are figures of.
pub const NETWORKS: [&str; 3] = ["alexnet", "googlenet", "resnet50"];

/// The platform that the figures are of, if nothing else is asked for.
pub const PLATFORM: &str = "nv_large";

/// Bytes a second over DBBIF.
const RATE: u64 = 10_000_000_000;

/// What the whole workbook's frames take, in microseconds: its own sums.
const FRAMES: [(&str, f64); 3] = [("alexnet", 895.4), ("googlenet", 1222.1), ("resnet50", 7113.7)];

/// How far apart is worth an explanation.
const FAR: f64 = 0.15;

/// What the workbook says of a layer, or of some that it counts together.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The network.
    pub network: String,
    /// Our names of the layers.
    pub layers: Vec<String>,
    /// Products.
    pub macs: u64,
    /// It counts on Winograd's convolution.
    pub winograd: bool,
    /// Cycles of the array.
    pub mac_cycles: f64,
    /// Cycles.
    pub cycles: f64,
    /// What bounds it: `MAC` or `DRAM`.
    pub bound: String,
    /// Bytes over DBBIF.
    pub bytes: f64,
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
}

/// All figures.
///
/// # Panics
/// Never: they are part of the program, and tests read them.
#[must_use]
pub fn figures() -> Vec<Figure> {
    let mut reader = csv::Reader::from_reader(include_bytes!("figures.csv").as_slice());
    let figure = |row: Result<Row, csv::Error>| {
        let row = row.unwrap_or_else(|error| panic!("figures.csv: {error}"));
        let layers = row.layers.split('+').map(str::to_owned).collect();
        let Row { network, macs, winograd, mac_cycles, cycles, bound, dram_kib, .. } = row;
        Figure { network, layers, macs, winograd, mac_cycles, cycles, bound, bytes: dram_kib * 1024.0 }
    };
    reader.deserialize().map(figure).collect()
}

/// The time of a frame by the workbook's own sum.
#[must_use]
pub fn frame(network: &str) -> Option<Time> {
    let (_, micros) = FRAMES.iter().find(|(of, _)| *of == network)?;
    Some(Time::ns((micros * 1000.0).round() as u64))
}

/// Gives a platform the memory that the figures count on, unless it says something else.
pub fn assume(description: &mut Description) {
    let memory = &mut description.dbb0;
    if !memory.model.has_own_time() {
        memory.bandwidth.get_or_insert(RATE);
        // Latency is left out.
        memory.read_latency.get_or_insert(Latency::Fixed(1));
    }
}

/// A figure beside what our run gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Theirs; none of layers that they leave out.
    pub figure: Option<Figure>,
    /// The layers.
    pub name: String,
    /// Our cycles.
    pub cycles: f64,
    /// Of these, with the array at work.
    pub mac_cycles: f64,
    /// Our bytes.
    pub bytes: f64,
    /// What our cycles went into.
    pub bounds: Bounds,
    period: Time,
    /// Bytes that DBBIF moves in a cycle.
    rate: f64,
}

/// Why ours is far from theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// They multiply by Winograd's method, ours directly.
    Winograd,
    /// They share weights among sixteen frames.
    Batch,
    /// The array is partly filled: channels, kernels or lines are no multiples of what it takes.
    Array,
    /// They count more cycles of the array than its products need.
    ArrayCounted,
    /// SDP or PDP is slower than the array.
    Pace,
    /// We move more bytes.
    Bytes,
    /// We move fewer bytes.
    FewerBytes,
    /// Input is read before products begin, and not while they are made.
    Turns,
    /// Reads are waited for.
    Latency,
    /// Registers are written and interrupts taken.
    Registers,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Winograd => "no Winograd",
            Cause::Batch => "no batch",
            Cause::Array => "array partly filled",
            Cause::ArrayCounted => "array counted higher",
            Cause::Pace => "SDP's pace",
            Cause::Bytes => "more bytes",
            Cause::FewerBytes => "fewer bytes",
            Cause::Turns => "read, then computed",
            Cause::Latency => "read latency",
            Cause::Registers => "registers",
        })
    }
}

/// A network's figures beside a run of it, and the layers that the workbook leaves out.
#[must_use]
pub fn compare(network: &str, measured: &Measured, description: &Description) -> Vec<Compared> {
    let rate = description.dbb0.bandwidth.unwrap_or(u64::MAX) as f64 * measured.period.as_ps() as f64 / 1e12;
    let bus = description.nvdla().map_or(f64::MAX, |nvdla| nvdla.config.primary().width_bytes.into());
    let rate = rate.min(bus);
    let figures: Vec<Figure> = figures().into_iter().filter(|figure| figure.network == network).collect();
    let compared = |name: String, figure: Option<Figure>, layers: &[&LayerFigures]| {
        let mut sum = Compared {
            figure,
            name,
            cycles: 0.0,
            mac_cycles: 0.0,
            bytes: 0.0,
            bounds: Bounds::default(),
            period: measured.period,
            rate,
        };
        for layer in layers {
            sum.cycles += layer.time().cycles(measured.period) as f64;
            sum.mac_cycles += layer.mac_cycles as f64;
            let (read, written) = layer.bytes();
            sum.bytes += (read + written) as f64;
            sum.bounds += layer.bounds;
        }
        sum
    };
    let mut all = Vec::new();
    for layer in &measured.layers {
        let figure = figures.iter().find(|figure| figure.layers.contains(&layer.name));
        match figure {
            Some(figure) if figure.layers.first() == Some(&layer.name) => {
                let of: Vec<&LayerFigures> =
                    measured.layers.iter().filter(|layer| figure.layers.contains(&layer.name)).collect();
                all.push(compared(figure.layers.join(" + "), Some(figure.clone()), &of));
            }
            Some(_) => {}
            None if layer.time() > Time::ZERO => all.push(compared(layer.name.clone(), None, &[layer])),
            None => {}
        }
    }
    all
}

impl Compared {
    /// By how much ours is above theirs, as a part of theirs.
    #[must_use]
    pub fn difference(&self) -> Option<f64> {
        self.figure.as_ref().map(|figure| self.cycles / figure.cycles - 1.0)
    }

    /// Why it is far, if it is: each mechanism that makes out as much as is worth an explanation, or where none does by
    /// itself the largest.
    #[must_use]
    pub fn causes(&self) -> Vec<Cause> {
        let (Some(figure), Some(difference)) = (&self.figure, self.difference()) else { return Vec::new() };
        if difference.abs() <= FAR {
            return Vec::new();
        }
        let cycles = |time: Time| time.as_ps() as f64 / self.period.as_ps().max(1) as f64;
        let (compute, latency) = (cycles(self.bounds.compute), cycles(self.bounds.read_latency));
        let (moved, theirs) = (self.bytes / self.rate, figure.bytes / self.rate);
        let is_batch = figure.layers.iter().any(|layer| layer.starts_with("fc"));
        let array = self.mac_cycles - figure.mac_cycles;
        let only = |is: bool, cycles: f64| if is { cycles } else { 0.0 };
        // Cycles that each makes out.
        let causes = if difference > 0.0 {
            vec![
                (Cause::Batch, only(is_batch, self.cycles - figure.cycles)),
                (Cause::Winograd, only(figure.winograd, array)),
                (Cause::Array, only(!figure.winograd && !is_batch, array)),
                (Cause::Pace, compute - self.mac_cycles),
                (Cause::Bytes, only(!is_batch, moved - theirs)),
                (Cause::Turns, self.cycles - compute.max(moved) - latency),
                (Cause::Latency, latency),
                (Cause::Registers, cycles(self.bounds.csb)),
            ]
        } else {
            vec![(Cause::FewerBytes, theirs - moved), (Cause::ArrayCounted, -array)]
        };
        let much = |&&(_, cycles): &&(Cause, f64)| cycles > FAR * figure.cycles;
        let named: Vec<Cause> = causes.iter().filter(much).map(|(cause, _)| *cause).collect();
        let largest = causes.iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
        match named.is_empty() {
            true => largest.map(|(cause, _)| *cause).into_iter().collect(),
            false => named,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_models::host::network::{Network, Options};

    #[test]
    fn each_figure_is_of_layers_that_our_networks_have() {
        for name in NETWORKS {
            let network = Network::named(name, &Options::default()).unwrap().unwrap();
            let of: Vec<Figure> = figures().into_iter().filter(|figure| figure.network == name).collect();
            assert!(of.len() >= 8, "{name}");
            for figure in of {
                let layers = figure.layers.iter().map(|wanted| {
                    network
                        .layers
                        .iter()
                        .find(|layer| layer.name == *wanted)
                        .unwrap_or_else(|| panic!("{wanted}"))
                });
                let macs: u64 = layers.map(vp_models::host::network::Layer::macs).sum();
                // One layer's input is counted with the channels of those after it.
                let counted = if figure.layers == ["res2a_branch2a"] { 4.0 } else { 1.0 };
                let off = counted * macs as f64 / figure.macs as f64;
                assert!(
                    (0.99..1.01).contains(&off),
                    "{name} {:?}: {macs}, theirs {}",
                    figure.layers,
                    figure.macs
                );
            }
        }
    }

    #[test]
    fn what_is_close_needs_no_cause() {
        let figure = figures().remove(0);
        let compared = |cycles: f64, compute: u64| Compared {
            name: String::new(),
            cycles,
            mac_cycles: figure.mac_cycles,
            bytes: 0.0,
            bounds: Bounds { compute: Time::ns(compute), ..Bounds::default() },
            period: Time::ns(1),
            rate: 10.0,
            figure: Some(figure.clone()),
        };
        assert_eq!(compared(figure.cycles * 1.1, 0).causes(), []);
        let slow = figure.cycles * 2.0;
        assert_eq!(compared(slow, slow as u64).causes(), [Cause::Pace]);
    }
}
