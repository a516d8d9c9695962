//! Figures beside our runs.

use super::Case;
use super::cause::Cause;
use super::figure::{Figure, figures};
use vp_core::Time;
use vp_host::network::{LayerFigures, Measured, Network, Plan, PlanError, Winograd};
use vp_host::{Bound, Bounds, Memory};
use vp_models::device::MemoryInterface;
use vp_models::nvdla::config::Config;
use vp_models::platform::{Description, MemoryDescription};

/// Difference, as a part of theirs, beyond which it is worth an explanation.
const FAR: f64 = 0.15;

/// A figure beside what our run gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Published figure; none of layers that they leave out.
    pub figure: Option<Figure>,
    /// The layers.
    pub name: String,
    /// Our cycles, a frame.
    pub cycles: f64,
    /// Of these, with the array at work.
    pub mac_cycles: f64,
    /// Our bytes over DBBIF, a frame.
    pub bytes: f64,
    /// Our bytes over SRAMIF, a frame: read, and written.
    pub sram_bytes: [f64; 2],
    /// Parts of the time of all frames, by what they went into.
    pub bounds: Bounds,
    /// Use of Winograd's method in ours: used if all of the layers are by it.
    pub winograd: WinogradUse,
    frames: f64,
    period: Time,
    /// Bytes that DBBIF moves in a cycle, and each direction of SRAMIF.
    rates: [f64; 2],
}

/// Use of Winograd's method for some layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WinogradUse {
    /// The method computes them.
    Used,
    /// The method does not compute them, and could.
    Possible,
    /// The method cannot compute them: the configuration does not have it, or it is not for such layers.
    Impossible,
}

impl WinogradUse {
    /// Of layers that are counted together, of which some could be computed so.
    fn of(layers: &[&LayerFigures], could: impl Fn(&LayerFigures) -> bool) -> WinogradUse {
        let mut convolutions = layers.iter().filter(|layer| layer.mac_cycles > 0);
        match convolutions.clone().any(|layer| could(layer)) {
            true if convolutions.all(|layer| layer.method.is_winograd()) => WinogradUse::Used,
            true => WinogradUse::Possible,
            false => WinogradUse::Impossible,
        }
    }
}

/// Returns which layers of a network Winograd's method could compute on a configuration: those of a plan that always takes it.
///
/// # Errors
/// As [`Plan::new`].
pub fn could_use_winograd(
    network: &Network,
    description: &Description,
    config: &Config,
) -> Result<Vec<bool>, PlanError> {
    let mut network = network.clone();
    network.choices.winograd = Winograd::Always;
    let plan = Plan::new(&network, config, description.dbb0.range())?;
    let mut could = vec![false; network.layers.len()];
    for step in plan.steps.iter().filter(|step| step.method.is_winograd()) {
        could[step.layer] = true;
    }
    Ok(could)
}

/// A network's figures beside a run of it, and the layers that the workbook leaves out. What runs once for several frames is
/// taken from the run of these `together`, all else from that of one frame `alone`: of frames behind each other one reads while the
/// one before is still at work. `could` says of each layer whether Winograd's method could compute it ([`could_use_winograd`]).
#[must_use]
pub fn compare(
    (network, case): (&str, Case),
    [alone, together]: [&Measured; 2],
    could: &[bool],
    description: &Description,
) -> Vec<Compared> {
    let config = description.nvdla().map(|nvdla| &nvdla.config);
    let buses = [config.map(Config::primary), config.and_then(Config::secondary)];
    let rate = |(memory, bus): (&MemoryDescription, Option<MemoryInterface>)| {
        let rate = memory.bandwidth.unwrap_or(u64::MAX) as f64 * alone.period.as_ps() as f64 / 1e12;
        rate.min(bus.map_or(f64::MAX, |bus| bus.width_bytes.into()))
    };
    let rates = [(&description.dbb0, buses[0]), (&description.sram0, buses[1])].map(rate);
    let figures: Vec<Figure> = figures(case).into_iter().filter(|figure| figure.network == network).collect();
    let run_of = |layer: usize| if together.layers[layer].together { together } else { alone };
    let could = |layer: &LayerFigures| {
        let place = alone.layers.iter().position(|known| known.name == layer.name);
        place.is_some_and(|place| could.get(place) == Some(&true))
    };
    let compared = |name: String, figure: Option<Figure>, measured: &Measured, layers: &[&LayerFigures]| {
        let mut sum = Compared {
            figure,
            name,
            cycles: 0.0,
            mac_cycles: 0.0,
            bytes: 0.0,
            sram_bytes: [0.0; 2],
            bounds: Bounds::default(),
            winograd: WinogradUse::of(layers, could),
            frames: measured.frames.max(1) as f64,
            period: measured.period,
            rates,
        };
        for layer in layers {
            sum.cycles += layer.time().cycles(measured.period) as f64;
            sum.mac_cycles += layer.mac_cycles as f64;
            let (read, written) = layer.bytes_at(Memory::Primary.port());
            sum.bytes += (read + written) as f64;
            let (read, written) = layer.bytes_at(Memory::Secondary.port());
            sum.sram_bytes[0] += read as f64;
            sum.sram_bytes[1] += written as f64;
            sum.bounds += layer.bounds;
        }
        let [sram_read, sram_written] = &mut sum.sram_bytes;
        for of_all in [&mut sum.cycles, &mut sum.mac_cycles, &mut sum.bytes, sram_read, sram_written] {
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
    /// Difference of ours to theirs, as a part of theirs.
    #[must_use]
    pub fn difference(&self) -> Option<f64> {
        self.figure.as_ref().map(|figure| self.cycles / figure.cycles - 1.0)
    }

    /// Returns why it is far, if it is: each mechanism that by itself makes out as much as is worth an explanation, which may be none. And
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

    /// Returns what ours would lose without each cause, in cycles.
    fn slower(&self, figure: &Figure) -> Vec<(Cause, f64)> {
        let cycles = |time: Time| time.as_ps() as f64 / self.period.as_ps().max(1) as f64 / self.frames;
        let of = |bound: Bound| cycles(self.bounds[bound]);
        let (compute, latency, registers) =
            (cycles(self.bounds.compute()), of(Bound::ReadLatency), of(Bound::Csb));
        let (moved, theirs) = (self.memory_cycles(), figure.most_memory_cycles(self.rates[0]));
        let array = match self.winograd {
            WinogradUse::Possible if figure.winograd => Cause::Winograd,
            WinogradUse::Impossible if figure.winograd => Cause::WinogradImpossible,
            _ => Cause::Array,
        };
        let bytes = if figure.is_connected() { Cause::Batch } else { Cause::Bytes };
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

    /// Returns what theirs would lose with ours of each, in cycles. In rows by Winograd's method they count transformed
    /// kernels, which are 16/9 as large.
    fn faster(&self, figure: &Figure) -> Vec<(Cause, f64)> {
        let theirs = figure.own_sum();
        let bytes = match (figure.winograd, self.winograd) {
            (false, _) | (true, WinogradUse::Used) => Cause::FewerBytes,
            (true, WinogradUse::Possible) => Cause::Winograd,
            (true, WinogradUse::Impossible) => Cause::WinogradImpossible,
        };
        vec![
            (bytes, theirs - figure.mac_cycles.max(self.memory_cycles())),
            (Cause::ArrayCounted, theirs - self.mac_cycles.max(figure.memory_cycles())),
        ]
    }

    /// The cycles that the memory takes for our bytes that takes longest: directions of SRAMIF count apart.
    fn memory_cycles(&self) -> f64 {
        let [dram, sram] = self.rates;
        self.sram_bytes.iter().fold(self.bytes / dram, |most, bytes| most.max(bytes / sram))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{NETWORKS, frame};
    use vp_host::network::{Operation, Options};

    #[test]
    fn each_figure_is_of_layers_that_our_networks_have() {
        for name in NETWORKS {
            let network = Network::named(name, &Options::default()).unwrap().unwrap();
            let of: Vec<Figure> =
                figures(Case::Dram).into_iter().filter(|figure| figure.network == name).collect();
            assert!(of.len() >= 8, "{name}");
            for figure in of {
                let layers = figure.layers.iter().map(|wanted| {
                    network
                        .layers
                        .iter()
                        .find(|layer| layer.name == *wanted)
                        .unwrap_or_else(|| panic!("{wanted}"))
                });
                let macs: u64 = layers.map(vp_host::network::NetworkLayer::macs).sum();
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
            sram_bytes: [0.0; 2],
            bounds,
            winograd: WinogradUse::Possible,
            frames: 1.0,
            period: Time::ns(1),
            rates: [10.0, 25.0],
            figure: Some(figure.clone()),
        }
    }

    fn figure(mac_cycles: f64, kib: f64) -> Figure {
        let cycles = mac_cycles.max(kib * 100.0);
        let layers = vec!["conv".to_owned()];
        let bytes = Some(kib * 1024.0);
        let winograd = false;
        let cycles_without_sram = cycles;
        let any = figures(Case::Dram).remove(0);
        Figure { mac_cycles, cycles, bytes, layers, winograd, cycles_without_sram, ..any }
    }

    #[test]
    fn rows_add_up_to_the_published_frames() {
        for (network, dram, sram) in
            [("alexnet", 1116.8, 1690.7), ("googlenet", 818.3, 1725.0), ("resnet50", 140.6, 193.7)]
        {
            for (case, frames) in [(Case::Dram, dram), (Case::Sram, sram)] {
                let of = figures(case).into_iter().filter(|figure| figure.network == network);
                let cycles: f64 = of.map(|figure| figure.cycles).sum();
                assert!((1e9 / cycles / frames - 1.0).abs() < 1e-3, "{network}: {cycles}");
                let whole = frame(network, case).unwrap().as_ps() as f64 / 1e3;
                assert!((whole / cycles - 1.0).abs() < 1e-3, "{network}: {whole}");
            }
        }
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
        let wrong: Vec<String> = figures(Case::Dram)
            .into_iter()
            .filter(|figure| figure.contradiction().abs() > 2.0)
            .map(|figure| figure.layers.join("+"))
            .collect();
        assert_eq!(wrong, ["res3a_branch1", "fc1000"]);
        // That is said also where the cycles agree.
        let fc = figures(Case::Dram).pop().unwrap();
        assert_eq!(compared(&fc, fc.cycles * 1.03, 1000.0, 1000.0, 2005.0).causes(), [Cause::Sheet]);
    }

    /// Fully connected layers of the sheet have weights of 1000 and 2000 KiB, which it counts with 100 000 and 200 000 cycles without SRAM, and with
    /// it, though they still come from DRAM, with a sixteenth of that.
    #[test]
    fn with_sram_two_rows_read_a_sixteenth_of_their_weights_and_contradict_themselves() {
        let wrong: Vec<Figure> = figures(Case::Sram)
            .into_iter()
            .filter(|figure| figure.contradiction().abs() > FAR * figure.cycles)
            .collect();
        let told: Vec<(&str, f64)> =
            wrong.iter().map(|figure| (figure.layers[0].as_str(), figure.contradiction())).collect();
        assert_eq!(told, [("fc", 6350.0 - 100_199.0), ("fc1000", 12_700.0 - 200_299.0)]);
        // Ours reads each weight once: for sixteen frames so often, and that takes the time.
        let ours = compared(&wrong[1], 206_000.0, 3000.0, 1000.0, 2003.0);
        assert_eq!(ours.causes(), [Cause::Batch, Cause::Sheet]);
        // AlexNet's are of sixteen frames in both cases.
        let alexnet = figures(Case::Sram).into_iter().find(|figure| figure.layers == ["fc6"]).unwrap();
        assert_eq!(alexnet.contradiction(), 231_300.0 - 231_700.0);
    }

    /// Beside input and output they are kernels that are 16/9 as large, which is why ours moves fewer bytes where it reads kernels as they
    /// are. Only GoogLeNet's from `inception_3b_3x3` on are counted as they are there, too.
    #[test]
    fn their_bytes_by_winograds_method_are_those_of_transformed_kernels() {
        for name in NETWORKS {
            let network = Network::named(name, &Options::default()).unwrap().unwrap();
            let of = |wanted: &String| network.layers.iter().find(|layer| layer.name == *wanted).unwrap();
            let is_of = |figure: &Figure| figure.network == name && figure.winograd;
            let mut transformed = Vec::new();
            for figure in figures(Case::Dram).into_iter().filter(is_of) {
                let (first, last) = (of(&figure.layers[0]), of(figure.layers.last().unwrap()));
                let Operation::Convolution(convolution) = &first.operation else { panic!("{}", first.name) };
                let ends = (first.input.elements() + last.output.elements()) as f64;
                let larger = (figure.bytes.unwrap() - ends) / convolution.weights.len() as f64;
                let is_near = |expected: f64| (larger / expected - 1.0).abs() < 0.005;
                assert!(is_near(16.0 / 9.0) || is_near(1.0), "{name} {}: {larger} times", first.name);
                transformed.push(is_near(16.0 / 9.0));
            }
            let count = transformed.iter().filter(|is| **is).count();
            assert_eq!(count, if name == "googlenet" { 2 } else { transformed.len() }, "{name}");
        }
    }

    /// Bytes that are not told take no longer than the row.
    #[test]
    fn with_sram_what_takes_ours_longer_than_their_row_is_more_bytes() {
        let of_row = Figure { bytes: None, bound: "MAC".to_owned(), ..figure(1000.0, 1.0) };
        assert_eq!(compared(&of_row, 2048.0, 500.0, 500.0, 20.0).causes(), [Cause::Bytes]);
        assert_eq!(compared(&of_row, 1024.0, 500.0, 500.0, 10.0).causes(), []);
    }

    #[test]
    fn winograds_method_is_a_cause_where_a_plan_could_take_it_and_does_not() {
        let theirs = Figure { winograd: true, ..figure(1000.0, 1.0) };
        let of = |winograd| {
            let ours = Compared { winograd, ..compared(&theirs, 2250.0, 2250.0, 2250.0, 1.0) };
            ours.causes()
        };
        assert_eq!(of(WinogradUse::Possible), [Cause::Winograd]);
        assert_eq!(of(WinogradUse::Impossible), [Cause::WinogradImpossible]);
        assert_eq!(of(WinogradUse::Used), [Cause::Array]);
        // Where memory bounds theirs: of kernels that are not transformed ours reads fewer bytes.
        let theirs = Figure { winograd: true, ..figure(1000.0, 100.0) };
        let of = |winograd| Compared { winograd, ..compared(&theirs, 7000.0, 2250.0, 2250.0, 60.0) }.causes();
        assert_eq!(of(WinogradUse::Possible), [Cause::Winograd]);
        assert_eq!(of(WinogradUse::Used), [Cause::FewerBytes]);
        let network = Network::named("resnet50", &Options::default()).unwrap().unwrap();
        let could = |platform: &str| {
            let description = Description::named(platform).unwrap();
            could_use_winograd(&network, &description, &description.nvdla().unwrap().config).unwrap()
        };
        // Those of 3 x 3 whose windows move pixel by pixel.
        assert_eq!(could("nv_large").iter().filter(|could| **could).count(), 16);
        assert!(could("nv_small").iter().all(|could| !could));
    }
}
