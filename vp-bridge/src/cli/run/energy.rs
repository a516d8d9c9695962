//! Energy that a network takes: an estimate, layer by layer.

use crate::cli::Failure;
use crate::cli::text;
use std::io::Write;
use vp_host::network::{Measured, Plan};
use vp_models::platform::Description;
use vp_study::energy::{Coefficients, Counts, Energy, EnergyPart, said};

/// The estimates of a run.
pub(super) struct Estimate {
    pub(super) coefficients: Coefficients,
    /// Of each layer, all frames together.
    pub(super) layers: Vec<Energy>,
}

impl Estimate {
    pub(super) fn of(
        measured: &Measured,
        plan: &Plan,
        description: &Description,
        coefficients: Coefficients,
    ) -> Estimate {
        let of = |layer| Counts::of_figures(layer, description, plan).energy(&coefficients);
        Estimate { layers: measured.layers.iter().map(of).collect(), coefficients }
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
