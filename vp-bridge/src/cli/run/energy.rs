//! Energy that a network takes: an estimate, layer by layer.

use crate::cli::Failure;
use crate::cli::text;
use std::io::Write;
use vp_host::network::{Measured, Plan};
use vp_models::memory::dram::DramActivity;
use vp_models::platform::Description;
use vp_study::energy::{
    Coefficients, Costs, Counts, Energy, EnergyPart, MemoryCost, MemoryCounts, made_of, said,
};

/// The estimates of a run.
pub(super) struct Estimate {
    pub(super) coefficients: Coefficients,
    /// Of each layer, all frames together.
    pub(super) layers: Vec<Energy>,
    /// The memories behind interfaces that were used.
    pub(super) memories: Vec<MemoryEstimate>,
}

/// The energy of a memory, in words.
pub(super) struct MemoryEstimate {
    /// The interface.
    pub(super) port: &'static str,
    /// Source of the figure: `commands and background of DDR4 (Micron …)`.
    pub(super) basis: String,
    /// Amount, and by a DRAM's commands the parts that it is made of: `1.2 mJ, 14.5 pJ a bit: RD 60 %, active standby 30 %`.
    amount: String,
}

impl Estimate {
    pub(super) fn of(
        measured: &Measured,
        plan: &Plan,
        description: &Description,
        coefficients: Coefficients,
    ) -> Estimate {
        let costs = Costs::new(&coefficients, description);
        let of = |layer| Counts::of_figures(layer, description, plan).energy(&costs);
        let layers = measured.layers.iter().map(of).collect();
        let memories = ["dbb0", "sram0"]
            .into_iter()
            .filter_map(|port| MemoryEstimate::of(port, measured, &costs))
            .collect();
        Estimate { layers, memories, coefficients }
    }

    /// Of all layers.
    pub(super) fn whole(&self) -> Energy {
        self.layers.iter().copied().sum()
    }

    /// Over the time of the run.
    pub(super) fn watts(&self, measured: &Measured) -> f64 {
        // Picojoules in picoseconds.
        self.whole().total() / measured.time.as_ps().max(1) as f64
    }

    /// `1.20 mJ a frame, 210 mW (an estimate, 45 nm, 0.9 V): DRAM 71 %, MACs 20 %`.
    pub(super) fn sentence(&self, measured: &Measured) -> String {
        let whole = self.whole();
        format!(
            "{} a frame, {:.0} mW (an estimate, {}): {}",
            said(whole.total() / measured.frames.max(1) as f64),
            1e3 * self.watts(measured),
            self.coefficients.technology,
            shares(&whole)
        )
    }

    /// A line for each memory interface that was used.
    pub(super) fn show_memories(&self, out: &mut impl Write) -> Result<(), Failure> {
        for MemoryEstimate { port, basis, amount } in &self.memories {
            writeln!(out, "{:<10} {amount}; from {basis}", format!("  {port}"))?;
        }
        Ok(())
    }

    /// A row a layer.
    pub(super) fn show_layers(&self, out: &mut impl Write, measured: &Measured) -> Result<(), Failure> {
        let mut table = text::table(&["layer", "energy", "share", "goes into"], &[1, 2]);
        let whole = self.whole();
        for (layer, energy) in measured.layers.iter().zip(&self.layers).filter(|(_, it)| it.total() > 0.0) {
            let share = format!("{:.0} %", 100.0 * energy.total() / whole.total());
            table.add_row([layer.name.clone(), said(energy.total()), share, shares(energy)]);
        }
        writeln!(out, "energy, an estimate ({}):\n\n{}\n", self.coefficients.technology, table.trim_fmt())?;
        Ok(())
    }
}

impl MemoryEstimate {
    /// Of the memory behind an interface; none if nothing went over that.
    fn of(port: &'static str, measured: &Measured, costs: &Costs<'_>) -> Option<MemoryEstimate> {
        let bytes = measured.layers.iter().map(|layer| layer.bytes_at(port));
        let (read, written) = bytes.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        let mut whole = DramActivity::default();
        let drams = measured.layers.iter().flat_map(|layer| &layer.drams).filter(|(of, _)| *of == port);
        drams.for_each(|(_, activity)| whole += *activity);
        let energy = costs.memory(port).energy(&MemoryCounts { port, read, written, dram: Some(&whole) });
        let parts = match costs.memory(port) {
            MemoryCost::Dram { energies, .. } => format!(": {}", made_of(energies, &whole)),
            _ => String::new(),
        };
        let bits = 8 * (read + written);
        let amount = format!("{}, {:.1} pJ a bit{parts}", said(energy), energy / bits as f64);
        (bits > 0).then(|| MemoryEstimate { port, basis: costs.basis(port), amount })
    }
}

/// Returns the parts that energy goes into, most first, without what is less than a twentieth.
fn shares(energy: &Energy) -> String {
    let whole = energy.total();
    let mut parts = energy.parts();
    parts.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let shown = parts.iter().filter(|(_, part)| *part > 0.0 && *part >= whole / 20.0);
    let share = |(part, picojoules): &(EnergyPart, f64)| {
        format!("{} {:.0} %", part.name(), 100.0 * picojoules / whole)
    };
    shown.map(share).collect::<Vec<_>>().join(", ")
}
