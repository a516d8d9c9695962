//! Energy: an estimate from counts of a run and what one of each costs.
//!
//! [`Coefficients`] come from a file of the user's, or are the built-in ones, whose file names their sources. Nothing of a run depends on
//! them: kept points give an estimate with any.

mod coefficients;
mod costs;
mod dram;
mod number;

pub use coefficients::{Coefficient, Coefficients};
pub use costs::{Costs, MemoryCost, made_of};
pub use dram::{DramEnergies, DramRow};

use strum::{IntoStaticStr, VariantArray};
use vp_host::network::{LayerFigures, Plan};
use vp_models::memory::dram::DramActivity;
use vp_models::nvdla::numeric::Precision;
use vp_models::occupancy::{Work, WorkCounts};
use vp_models::platform::Description;

use crate::measured::{Machine, MeasuredLayer};

/// Part that energy goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum EnergyPart {
    /// Products that the array makes for what the network asks for.
    Macs,
    /// Multipliers without work.
    IdleMacs,
    /// Bytes of the convolution buffer.
    Cbuf,
    /// SDP, PDP, CDP and RUBIK.
    Units,
    /// Bytes over interfaces to SRAM.
    Sram,
    /// Other memories: commands and background of DRAMs, and bytes over the other interfaces.
    Dram,
    /// Cycles of the whole device.
    Cycles,
}

impl EnergyPart {
    const COUNT: usize = 7;

    /// All of them.
    pub const ALL: [EnergyPart; EnergyPart::COUNT] = *Self::VARIANTS.first_chunk().unwrap();

    /// As people are told it.
    pub const fn name(self) -> &'static str {
        match self {
            EnergyPart::Macs => "MACs",
            EnergyPart::IdleMacs => "idle MACs",
            EnergyPart::Cbuf => "CBUF",
            EnergyPart::Units => "SDP, PDP, CDP, RUBIK",
            EnergyPart::Sram => "SRAM",
            EnergyPart::Dram => "DRAM",
            EnergyPart::Cycles => "cycles",
        }
    }

    /// As programs are told it, in names of columns and of values in JSON.
    pub fn key(self) -> &'static str {
        self.into()
    }
}

/// An estimate, in picojoules: a number for each [`EnergyPart`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy([f64; EnergyPart::COUNT]);

impl Energy {
    /// Returns what a part takes, in picojoules.
    pub fn get(&self, part: EnergyPart) -> f64 {
        self.0[part as usize]
    }

    /// All parts, in the order of [`EnergyPart::ALL`], in picojoules.
    pub fn parts(&self) -> [(EnergyPart, f64); EnergyPart::COUNT] {
        EnergyPart::ALL.map(|part| (part, self.get(part)))
    }

    /// All together, in picojoules.
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }
}

impl std::iter::Sum for Energy {
    fn sum<I: Iterator<Item = Energy>>(all: I) -> Energy {
        all.fold(Energy::default(), |mut sum, one| {
            sum.0.iter_mut().zip(one.0).for_each(|(sum, part)| *sum += part);
            sum
        })
    }
}

/// Counts of a layer or of a run, from which energy follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts<'a> {
    /// Format of what is multiplied.
    pub precision: Precision,
    /// Products that the array makes: those that the network asks for, or by Winograd's method those of its tiles.
    pub macs: u64,
    /// Products that the array could have made in that time.
    pub mac_capacity: u64,
    /// Work that units did.
    pub work: WorkCounts,
    /// Transfers over each memory interface.
    pub memories: Vec<MemoryCounts<'a>>,
    /// Cycles.
    pub cycles: u64,
}

/// Transfers over a memory interface, and what the memory did for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryCounts<'a> {
    /// Name of the interface.
    pub port: &'a str,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Activity of the DRAM behind it; none where there is no DRAM, or it was not counted.
    pub dram: Option<&'a DramActivity>,
}

impl<'a> Counts<'a> {
    /// Of a layer that `vp run` has run on this platform, as this plan says.
    pub fn of_figures(layer: &'a LayerFigures, description: &Description, plan: &Plan) -> Counts<'a> {
        let cycles = layer.time().cycles(description.period);
        let activity =
            |port: &str| layer.drams.iter().find(|(of, _)| *of == port).map(|(_, activity)| activity);
        let memories = layer.moved.iter().map(|moved| MemoryCounts {
            port: moved.port,
            read: moved.read,
            written: moved.written,
            dram: activity(moved.port),
        });
        Counts {
            precision: plan.precision,
            macs: layer.products(),
            mac_capacity: cycles * plan.macs_a_cycle,
            work: layer.work,
            memories: memories.collect(),
            cycles,
        }
    }

    /// Of a layer of a study's point, on this machine.
    pub fn of_layer(layer: &'a MeasuredLayer, period: u64, machine: &Machine) -> Counts<'a> {
        let cycles = layer.time / period.max(1);
        let memory =
            |port: &'a str, read, written| MemoryCounts { port, read, written, dram: layer.drams.get(port) };
        let [read, written] = [(layer.read, layer.sram_read), (layer.written, layer.sram_written)]
            .map(|(all, of)| all.saturating_sub(of));
        Counts {
            precision: machine.data_type.map_or(Precision::Int8, Precision::from),
            macs: layer.products(),
            mac_capacity: cycles * machine.macs,
            work: layer.work,
            memories: vec![
                memory("dbb0", read, written),
                memory("sram0", layer.sram_read, layer.sram_written),
            ],
            cycles,
        }
    }

    /// The estimate.
    pub fn energy(&self, costs: &Costs<'_>) -> Energy {
        let coefficients = costs.coefficients();
        let mac = match self.precision {
            Precision::Int8 => Coefficient::MacInt8,
            Precision::Int16 => Coefficient::MacInt16,
            Precision::Fp16 => Coefficient::MacFp16,
        };
        let cost = |count: u64, coefficient: Coefficient| count as f64 * coefficients.get(coefficient);
        let work = |work: Work, coefficient: Coefficient| cost(self.work[work as usize], coefficient);
        let units = [
            (Work::Sdp, Coefficient::UnitSdp),
            (Work::Pdp, Coefficient::UnitPdp),
            (Work::Cdp, Coefficient::UnitCdp),
            (Work::Rubik, Coefficient::UnitRubik),
        ];
        let memories = |part: EnergyPart| -> f64 {
            let of = self.memories.iter().map(|memory| (memory, costs.memory(memory.port)));
            of.filter(|(_, cost)| cost.part() == part).map(|(memory, cost)| cost.energy(memory)).sum()
        };
        Energy(EnergyPart::ALL.map(|part| match part {
            EnergyPart::Macs => cost(self.macs, mac),
            EnergyPart::IdleMacs => cost(self.mac_capacity.saturating_sub(self.macs), Coefficient::MacIdle),
            EnergyPart::Cbuf => {
                work(Work::BufferRead, Coefficient::CbufRead)
                    + work(Work::BufferWritten, Coefficient::CbufWrite)
            }
            EnergyPart::Units => units.into_iter().map(|(unit, coefficient)| work(unit, coefficient)).sum(),
            EnergyPart::Sram | EnergyPart::Dram => memories(part),
            EnergyPart::Cycles => cost(self.cycles, Coefficient::DeviceCycle),
        }))
    }
}

/// Returns true if behind a port of a platform there is an SRAM: at SRAMIF, unless its memory is a DRAM, and where the memory's model is
/// one. Bytes over an interface with a cache in front of its memory count as that memory's.
pub fn is_sram(description: &Description, port: &str) -> bool {
    match port {
        "sram0" => description.sram0.model.dram.is_none() && description.sram0.model.litedram.is_none(),
        _ => description.dbb0.model.sram.is_some(),
    }
}

/// Picojoules as people read them: `12.3 µJ`.
pub fn said(picojoules: f64) -> String {
    let units = [("pJ", 1.0), ("nJ", 1e3), ("µJ", 1e6), ("mJ", 1e9), ("J", 1e12)];
    let fits = units.into_iter().rev().find(|(_, size)| picojoules >= *size);
    let (unit, size) = fits.unwrap_or(units[0]);
    let number = picojoules / size;
    let digits = if number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    format!("{number:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_host::network::{Measured as Ran, Network};
    use vp_models::platform::Arithmetic;

    fn counts() -> Counts<'static> {
        let memory = |port, read, written| MemoryCounts { port, read, written, dram: None };
        Counts {
            precision: Precision::Int8,
            macs: 1000,
            mac_capacity: 1500,
            work: [10, 20, 30, 40, 50, 60],
            memories: vec![memory("dbb0", 4, 5), memory("sram0", 1, 6)],
            cycles: 11,
        }
    }

    fn energy(counts: &Counts<'_>, coefficients: &Coefficients) -> Energy {
        counts.energy(&Costs::new(coefficients, &Description::named("nv_large").unwrap()))
    }

    /// Of coefficients that are all zero but one.
    fn only(section: &str, key: &str) -> Coefficients {
        let mut text = "technology = 'none'\n".to_owned();
        for (of, name) in Coefficient::ALL.map(Coefficient::place) {
            text += &format!("{of}.{name} = {}\n", u8::from((of, name) == (section, key)));
        }
        Coefficients::parse(&text).unwrap()
    }

    #[test]
    fn each_count_is_paid_by_its_coefficient_alone() {
        let expected = [
            ("mac", "int8", EnergyPart::Macs, 1000.0),
            ("mac", "int16", EnergyPart::Macs, 0.0),
            ("mac", "fp16", EnergyPart::Macs, 0.0),
            ("mac", "idle", EnergyPart::IdleMacs, 500.0),
            ("cbuf", "read", EnergyPart::Cbuf, 10.0),
            ("cbuf", "write", EnergyPart::Cbuf, 20.0),
            ("memory", "sram", EnergyPart::Sram, 7.0),
            ("memory", "dram", EnergyPart::Dram, 9.0),
            ("unit", "sdp", EnergyPart::Units, 30.0),
            ("unit", "pdp", EnergyPart::Units, 40.0),
            ("unit", "cdp", EnergyPart::Units, 50.0),
            ("unit", "rubik", EnergyPart::Units, 60.0),
            ("device", "cycle", EnergyPart::Cycles, 11.0),
        ];
        for (section, key, part, picojoules) in expected {
            let energy = energy(&counts(), &only(section, key));
            assert_eq!((energy.get(part), energy.total()), (picojoules, picojoules), "{section}.{key}");
        }
        let wide = Counts { precision: Precision::Fp16, ..counts() };
        assert_eq!(energy(&wide, &only("mac", "fp16")).get(EnergyPart::Macs), 1000.0);
    }

    /// 13 columns and lines are made as 16, and 20 channels lie in memory atoms of 32: that is what the array multiplies.
    #[test]
    fn by_winograds_method_sixteen_products_of_a_tile_are_paid() {
        let made = |winograd: &str, size: u32, channels: u32| {
            let text = format!(
                "name = 'n'\nseed = 1\nwinograd = '{winograd}'\n\
                 input = {{ width = {size}, height = {size}, channels = {channels} }}\n[[layer]]\nname = 'conv'\n\
                 kind = 'convolution'\nkernels = 48\nkernel = [3, 3]\npadding = [1, 1]\n"
            );
            let network = Network::parse(&text, &mut |_| Err("none".to_owned())).unwrap();
            let mut description = Description::named("nv_large").unwrap();
            description.arithmetic = Arithmetic::Skipped;
            let config = &description.nvdla().unwrap().config;
            let plan = Plan::new(&network, config, description.dbb0.range()).unwrap();
            let ran = Ran::of(&network, &description, &network.example_input(1)).unwrap();
            Counts::of_figures(&ran.layers[0], &description, &plan).macs
        };
        assert_eq!(made("never", 16, 64), 16 * 16 * 9 * 64 * 48);
        assert_eq!(made("always", 16, 64), 16 * 16 / 4 * 16 * 64 * 48);
        assert_eq!(made("never", 13, 20), 13 * 13 * 9 * 20 * 48);
        assert_eq!(made("always", 13, 20), 16 * 16 / 4 * 16 * 32 * 48);
        let of_study = |winograd_products| {
            let layer = MeasuredLayer { macs: 36, winograd_products, ..MeasuredLayer::default() };
            Counts::of_layer(&layer, 1000, &Machine::default()).macs
        };
        assert_eq!([None, Some(16)].map(of_study), [36, 16]);
    }

    #[test]
    fn estimates_add_up() {
        let one = energy(&counts(), &Coefficients::default());
        let both: Energy = [one, one].into_iter().sum();
        assert_eq!(both.total(), 2.0 * one.total());
        assert_eq!(one.parts().iter().map(|(_, part)| part).sum::<f64>(), one.total());
    }

    #[test]
    fn an_sram_is_told_from_a_dram() {
        let plain = Description::named("nv_large").unwrap();
        assert_eq!(["dbb0", "sram0"].map(|port| is_sram(&plain, port)), [false, true]);
        let swapped = plain.with(["dbb0.sram.banks=4", "sram0.dram.standard=LPDDR4-3200"]).unwrap();
        assert_eq!(["dbb0", "sram0"].map(|port| is_sram(&swapped, port)), [true, false]);
    }

    #[test]
    fn energy_is_said_with_its_unit() {
        let all = [0.0, 0.5, 12.34, 1234.0, 5.6e6, 1.234e11, 3e12].map(said);
        assert_eq!(all, ["0.00 pJ", "0.50 pJ", "12.3 pJ", "1.23 nJ", "5.60 µJ", "123 mJ", "3.00 J"]);
    }
}
