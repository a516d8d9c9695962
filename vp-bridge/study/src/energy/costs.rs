//! Costs of a platform: what coefficients say of each of its memories.

use super::dram::DramEnergies;
use super::{Coefficient, Coefficients, EnergyPart, MemoryCounts, is_sram};
use vp_models::memory::dram::DramActivity;
use vp_models::platform::Description;

/// Cost of a memory behind an interface.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryCost {
    /// An SRAM: picojoules of a byte read and of a byte written.
    Sram([f64; 2]),
    /// Another memory: picojoules of a byte.
    Bytes(f64),
    /// A DRAM of which commands and background are known.
    Dram {
        /// Name under which the figures stand: a grade's, or a standard's.
        name: String,
        /// Document and table that they are from.
        source: String,
        /// Energies.
        energies: Box<DramEnergies>,
        /// Picojoules of a byte, for what was run when commands were not counted.
        byte: f64,
    },
}

impl MemoryCost {
    /// Returns the part that its energy goes into.
    pub fn part(&self) -> EnergyPart {
        match self {
            MemoryCost::Sram(_) => EnergyPart::Sram,
            MemoryCost::Bytes(_) | MemoryCost::Dram { .. } => EnergyPart::Dram,
        }
    }

    /// Returns what transfers took, in picojoules.
    pub fn energy(&self, counts: &MemoryCounts<'_>) -> f64 {
        let MemoryCounts { read, written, dram, .. } = *counts;
        let bytes = |[of_read, of_written]: [f64; 2]| read as f64 * of_read + written as f64 * of_written;
        match (self, dram) {
            (MemoryCost::Sram(costs), _) => bytes(*costs),
            (MemoryCost::Dram { energies, .. }, Some(activity)) => energies.total(activity),
            (MemoryCost::Bytes(byte) | MemoryCost::Dram { byte, .. }, _) => bytes([*byte; 2]),
        }
    }
}

/// Coefficients, applied to a platform.
#[derive(Clone, Debug)]
pub struct Costs<'a> {
    coefficients: &'a Coefficients,
    memories: [(&'static str, MemoryCost); 2],
}

impl<'a> Costs<'a> {
    /// Of a platform.
    pub fn new(coefficients: &'a Coefficients, description: &Description) -> Costs<'a> {
        let memory = |port| {
            let memory = if port == "sram0" { &description.sram0 } else { &description.dbb0 };
            let byte = coefficients.get(Coefficient::MemoryDram);
            if is_sram(description, port) {
                let banks = memory.model.sram.map_or(1, |sram| sram.banks);
                return (port, MemoryCost::Sram(coefficients.sram(memory.size / u64::from(banks.max(1)))));
            }
            let known = memory.model.dram.as_ref().and_then(|config| {
                let (name, row) = coefficients.dram(config)?;
                Some((name.to_owned(), row.source.clone(), Box::new(row.energies(config)?)))
            });
            match known {
                Some((name, source, energies)) => (port, MemoryCost::Dram { name, source, energies, byte }),
                None => (port, MemoryCost::Bytes(byte)),
            }
        };
        Costs { coefficients, memories: ["dbb0", "sram0"].map(memory) }
    }

    /// The coefficients.
    pub fn coefficients(&self) -> &'a Coefficients {
        self.coefficients
    }

    /// Returns the cost of the memory behind an interface.
    pub fn memory(&self, port: &str) -> &MemoryCost {
        let [(_, primary), (secondary, other)] = &self.memories;
        if port == *secondary { other } else { primary }
    }

    /// Says what the energy of the memory behind an interface is made of, for people: `commands and background of DDR4 (Micron …)`.
    pub fn basis(&self, port: &str) -> String {
        match self.memory(port) {
            MemoryCost::Sram([read, written]) => {
                format!("an SRAM, {read:.2} pJ a byte read, {written:.2} written")
            }
            MemoryCost::Bytes(byte) => format!("{byte} pJ a byte"),
            MemoryCost::Dram { name, source, .. } => format!("commands and background of {name} ({source})"),
        }
    }
}

/// Says how the energy of a DRAM's activity is made up, for people: `RD 60 %, active standby 30 %`; what is less than a
/// hundredth is left out.
pub fn made_of(energies: &DramEnergies, activity: &DramActivity) -> String {
    let mut parts = energies.parts(activity);
    parts.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let whole = energies.total(activity);
    let shown = parts.iter().filter(|(_, part)| *part > 0.0 && *part >= whole / 100.0);
    let share =
        |(name, part): &(&str, f64)| format!("{} {:.0} %", name.replace('_', " "), 100.0 * part / whole);
    shown.map(share).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_models::memory::dram::CommandKind;

    fn costs(settings: &[&str]) -> [MemoryCost; 2] {
        let (coefficients, platform) = (Coefficients::default(), Description::named("nv_large").unwrap());
        let platform = platform.with(settings.iter().copied()).unwrap();
        let costs = Costs::new(&coefficients, &platform);
        ["dbb0", "sram0"].map(|port| costs.memory(port).clone())
    }

    #[test]
    fn a_memory_costs_by_what_it_is() {
        let [primary, secondary] = costs(&[]);
        assert_eq!((primary, secondary), (MemoryCost::Bytes(162.5), MemoryCost::Sram([12.5, 12.5])));
        let [primary, secondary] =
            costs(&["dbb0.dram.standard=DDR4-2400R", "sram0.size=64 KiB", "sram0.sram.banks=8"]);
        assert!(matches!(primary, MemoryCost::Dram { name, .. } if name == "DDR4"));
        assert_eq!(secondary, MemoryCost::Sram([1.60, 1.39]));
    }

    #[test]
    fn a_dram_whose_commands_were_not_counted_costs_by_its_bytes() {
        let [cost, _] = costs(&["dbb0.dram.standard=DDR4-2400R"]);
        let counts = MemoryCounts { port: "dbb0", read: 3, written: 1, dram: None };
        assert_eq!(cost.energy(&counts), 4.0 * 162.5);
        let mut activity = DramActivity::default();
        activity.add_commands(CommandKind::Activate, 2);
        let MemoryCost::Dram { energies, .. } = &cost else { panic!() };
        assert_eq!(cost.energy(&MemoryCounts { dram: Some(&activity), ..counts }), 2.0 * energies.activate);
        assert_eq!(made_of(energies, &activity), "ACT 100 %");
    }
}
