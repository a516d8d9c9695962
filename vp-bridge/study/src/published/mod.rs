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
use vp_models::host::network::{LayerFigures, Measured};
use vp_models::host::{Bound, Bounds};
use vp_models::platform::Description;

/// The networks that there are figures of.
pub const NETWORKS: [&str; 3] = ["alexnet", "googlenet", "resnet50"];

/// The platform that the figures are of, if nothing else is asked for.
pub const PLATFORM: &str = "nv_large";

/// How many frames share what fully connected layers read: the workbook counts so for AlexNet alone.
#[must_use]
pub fn batch(network: &str) -> u32 {
    if network == "alexnet" { 16 } else { 1 }
}

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
    /// Our cycles, a frame.
    pub cycles: f64,
    /// Of these, with the array at work.
    pub mac_cycles: f64,
    /// Our bytes, a frame.
    pub bytes: f64,
    /// What the cycles of all frames went into.
    pub bounds: Bounds,
    frames: f64,
    period: Time,
    /// Bytes that DBBIF moves in a cycle.
    rate: f64,
}

/// Why ours is far from theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// They multiply by Winograd's method, ours directly.
    Winograd,
    /// They share weights among frames, ours reads them for each.
    Batch,
    /// The array is partly filled: channels, kernels or lines are no multiples of what it takes.
    Array,
    /// They count more cycles of the array than its products need.
    ArrayCounted,
    /// SDP is slower than the array, or works alone.
    Sdp,
    /// PDP is, or does.
    Pdp,
    /// CDP works alone.
    Cdp,
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
    /// Their cycles are not what their own products and bytes come to.
    Sheet,
    /// No mechanism by itself makes out as much as is worth an explanation.
    None,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Winograd => "no Winograd",
            Cause::Batch => "no batch",
            Cause::Array => "array partly filled",
            Cause::ArrayCounted => "array counted higher",
            Cause::Sdp => "SDP's pace",
            Cause::Pdp => "PDP's pace",
            Cause::Cdp => "CDP's pace",
            Cause::Bytes => "more bytes",
            Cause::FewerBytes => "fewer bytes",
            Cause::Turns => "read, then computed",
            Cause::Latency => "read latency",
            Cause::Registers => "registers",
            Cause::Sheet => "their row contradicts itself",
            Cause::None => "no single mechanism",
        })
    }
}

/// A network's figures beside a run of it, and the layers that the workbook leaves out. What runs once for several frames is
/// taken from the run of these `together`, all else from that of one frame `alone`: of frames behind each other one reads while the
/// one before is still at work.
#[must_use]
pub fn compare(network: &str, [alone, together]: [&Measured; 2], description: &Description) -> Vec<Compared> {
    let rate = description.dbb0.bandwidth.unwrap_or(u64::MAX) as f64 * alone.period.as_ps() as f64 / 1e12;
    let bus = description.nvdla().map_or(f64::MAX, |nvdla| nvdla.config.primary().width_bytes.into());
    let rate = rate.min(bus);
    let figures: Vec<Figure> = figures().into_iter().filter(|figure| figure.network == network).collect();
    let run_of = |layer: usize| if together.layers[layer].together { together } else { alone };
    let compared = |name: String, figure: Option<Figure>, measured: &Measured, layers: &[&LayerFigures]| {
        let mut sum = Compared {
            figure,
            name,
            cycles: 0.0,
            mac_cycles: 0.0,
            bytes: 0.0,
            bounds: Bounds::default(),
            frames: measured.frames.max(1) as f64,
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
        for of_all in [&mut sum.cycles, &mut sum.mac_cycles, &mut sum.bytes] {
            *of_all /= sum.frames;
        }
        sum
    };
    let mut all = Vec::new();
    for (at, name) in alone.layers.iter().map(|layer| &layer.name).enumerate() {
        let measured = run_of(at);
        let layer = &measured.layers[at];
        let figure = figures.iter().find(|figure| figure.layers.contains(name));
        match figure {
            Some(figure) if figure.layers.first() == Some(name) => {
                let of: Vec<&LayerFigures> =
                    measured.layers.iter().filter(|layer| figure.layers.contains(&layer.name)).collect();
                all.push(compared(figure.layers.join(" + "), Some(figure.clone()), measured, &of));
            }
            Some(_) => {}
            None if layer.time() > Time::ZERO => all.push(compared(name.clone(), None, measured, &[layer])),
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

    /// Why it is far, if it is: each mechanism that by itself makes out as much as is worth an explanation, which may be none. And
    /// in any case, if their row contradicts itself by as much.
    ///
    /// Where ours is slower, a mechanism makes out what ours would lose if it alone were as they count it: no less time than the
    /// bytes need is left where the array would do less, and no less than datapaths work where fewer bytes would be moved. Where ours is
    /// faster, what theirs would lose if it alone were as in ours.
    #[must_use]
    pub fn causes(&self) -> Vec<Cause> {
        let (Some(figure), Some(difference)) = (&self.figure, self.difference()) else { return Vec::new() };
        let much = |cycles: f64| cycles > FAR * figure.cycles;
        let sheet = figure.contradiction();
        if difference.abs() <= FAR {
            return if much(sheet.abs()) { vec![Cause::Sheet] } else { Vec::new() };
        }
        let causes = if difference > 0.0 { self.slower(figure) } else { self.faster(figure) };
        let named = causes.into_iter().filter(|(_, cycles)| much(*cycles)).map(|(cause, _)| cause);
        let mut named: Vec<Cause> = named.collect();
        if much(sheet.abs()) {
            named.push(Cause::Sheet);
        }
        if named.is_empty() {
            named.push(Cause::None);
        }
        named
    }

    /// What ours would lose without each.
    fn slower(&self, figure: &Figure) -> Vec<(Cause, f64)> {
        let cycles = |time: Time| time.as_ps() as f64 / self.period.as_ps().max(1) as f64 / self.frames;
        let of = |bound: Bound| cycles(self.bounds[bound]);
        let (compute, latency, registers) =
            (cycles(self.bounds.compute()), of(Bound::ReadLatency), of(Bound::Csb));
        let (moved, theirs) = (self.bytes / self.rate, figure.bytes / self.rate);
        let is_connected = figure.layers.iter().any(|layer| layer.starts_with("fc"));
        let array = if figure.winograd { Cause::Winograd } else { Cause::Array };
        let bytes = if is_connected { Cause::Batch } else { Cause::Bytes };
        vec![
            (array, (self.mac_cycles - figure.mac_cycles).min(self.cycles - moved)),
            (Cause::Sdp, of(Bound::Sdp).min(compute - self.mac_cycles).min(self.cycles - moved)),
            (Cause::Pdp, of(Bound::Pdp).min(compute - self.mac_cycles).min(self.cycles - moved)),
            (Cause::Cdp, of(Bound::Cdp).min(compute - self.mac_cycles).min(self.cycles - moved)),
            (bytes, (moved - theirs).min(self.cycles - compute)),
            (Cause::Turns, self.cycles - compute.max(moved) - latency - registers),
            (Cause::Latency, latency),
            (Cause::Registers, registers),
        ]
    }

    /// What theirs would lose with ours of each.
    fn faster(&self, figure: &Figure) -> Vec<(Cause, f64)> {
        let theirs = figure.own_sum();
        vec![
            (Cause::FewerBytes, theirs - figure.mac_cycles.max(self.bytes / self.rate)),
            (Cause::ArrayCounted, theirs - self.mac_cycles.max(figure.memory_cycles())),
        ]
    }
}

impl Figure {
    /// Cycles that the workbook counts for its bytes: 100 for what it calls a KiB.
    fn memory_cycles(&self) -> f64 {
        self.bytes / 1024.0 * 100.0
    }

    /// The workbook's rule: the longer of the array's time and the memory's.
    fn own_sum(&self) -> f64 {
        self.mac_cycles.max(self.memory_cycles())
    }

    /// By how much its cycles are above what its rule makes of its own products and bytes.
    #[must_use]
    pub fn contradiction(&self) -> f64 {
        self.cycles - self.own_sum()
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
                let macs: u64 = layers.map(vp_models::host::network::NetworkLayer::macs).sum();
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

    /// Ours of a figure, at ten bytes a cycle.
    fn compared(figure: &Figure, cycles: f64, compute: f64, mac_cycles: f64, kib: f64) -> Compared {
        let bounds = [(Bound::MacArray, mac_cycles), (Bound::Sdp, compute - mac_cycles)];
        let bounds = bounds.into_iter().map(|(bound, cycles)| (bound, Time::ns(cycles as u64))).collect();
        Compared {
            name: String::new(),
            cycles,
            mac_cycles,
            bytes: kib * 1024.0,
            bounds,
            frames: 1.0,
            period: Time::ns(1),
            rate: 10.0,
            figure: Some(figure.clone()),
        }
    }

    fn figure(mac_cycles: f64, kib: f64) -> Figure {
        let cycles = mac_cycles.max(kib * 100.0);
        let layers = vec!["conv".to_owned()];
        Figure { mac_cycles, cycles, bytes: kib * 1024.0, layers, winograd: false, ..figures().remove(0) }
    }

    #[test]
    fn what_is_close_needs_no_cause() {
        let figure = figure(1000.0, 5.0);
        assert_eq!(compared(&figure, 1100.0, 1000.0, 1000.0, 5.0).causes(), []);
        assert_eq!(compared(&figure, 2000.0, 2000.0, 1000.0, 5.0).causes(), [Cause::Sdp]);
    }

    #[test]
    fn a_mechanism_counts_by_what_would_be_gained_without_it() {
        // The memory bounds both: an array that takes longer behind it costs nothing.
        let figure = figure(1000.0, 100.0);
        assert_eq!(compared(&figure, 20_480.0, 8000.0, 8000.0, 200.0).causes(), [Cause::Bytes]);
        // Bytes that are moved while the array has work cost nothing either.
        assert_eq!(compared(&figure, 20_480.0, 20_480.0, 20_480.0, 150.0).causes(), [Cause::Array]);
        // Where both need the whole time, less of one gains nothing.
        assert_eq!(compared(&figure, 20_480.0, 20_480.0, 20_480.0, 200.0).causes(), [Cause::None]);
        // One after the other.
        assert_eq!(compared(&figure, 14_000.0, 4000.0, 1000.0, 100.0).causes(), [Cause::Sdp, Cause::Turns]);
    }

    #[test]
    fn where_nothing_by_itself_makes_out_much_that_is_said() {
        // A tenth each: the array's, and what is moved one after the other.
        let figure = figure(1000.0, 5.0);
        let ours = compared(&figure, 1200.0, 1100.0, 1100.0, 5.0);
        assert_eq!(ours.causes(), [Cause::None]);
        assert_eq!(Cause::None.to_string(), "no single mechanism");
    }

    #[test]
    fn what_they_count_higher_counts_only_where_it_bounds_theirs() {
        let figure = figure(50_000.0, 1000.0);
        assert_eq!(compared(&figure, 40_000.0, 30_000.0, 10_000.0, 300.0).causes(), [Cause::FewerBytes]);
        let array = super::tests::figure(150_000.0, 400.0);
        assert_eq!(compared(&array, 100_000.0, 90_000.0, 70_000.0, 400.0).causes(), [Cause::ArrayCounted]);
    }

    #[test]
    fn two_rows_contradict_themselves() {
        let wrong: Vec<String> = figures()
            .into_iter()
            .filter(|figure| figure.contradiction().abs() > 2.0)
            .map(|figure| figure.layers.join("+"))
            .collect();
        assert_eq!(wrong, ["res3a_branch1", "fc1000"]);
        // That is said also where the cycles agree.
        let fc = figures().pop().unwrap();
        assert_eq!(compared(&fc, fc.cycles * 1.03, 1000.0, 1000.0, 2005.0).causes(), [Cause::Sheet]);
    }
}
