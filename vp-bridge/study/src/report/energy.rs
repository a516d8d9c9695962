//! The report's section about energy: estimates of points, and layer by layer.

use super::cells::{Cells, rounded_whole, strings};
use crate::energy::{Costs, Energy, EnergyPart, MemoryCost, said};
use crate::file::Study;
use crate::measured::{Measured, Port};
use crate::point::text;
use crate::results::Row;
use crate::wording::rounded;
use crate::wording::{quantity, spoken};
use std::collections::BTreeSet;

/// Says what the energies of memories follow from, each once: `dbb0: commands and background of DDR4 (Micron …)`.
pub(super) fn bases(study: &Study, rows: &[Row<'_>]) -> Vec<String> {
    let of_row = |row: &Row<'_>| {
        let (coefficients, job, measured) = (study.energy.as_ref()?, row.job?, row.outcome.measured()?);
        let costs = Costs::new(coefficients, &job.description);
        let of_port = |port: &Port| {
            let is_counted = measured.layers.iter().any(|layer| layer.drams.contains_key(&port.name));
            let basis = match costs.memory(&port.name) {
                MemoryCost::Dram { byte, .. } if !is_counted => {
                    format!("{byte} pJ a byte: its commands were not counted")
                }
                _ => costs.basis(&port.name),
            };
            format!("{}: {basis}", port.name)
        };
        Some(measured.ports.iter().map(of_port).collect::<Vec<_>>())
    };
    let all: BTreeSet<String> = rows.iter().filter_map(of_row).flatten().collect();
    all.into_iter().collect()
}

/// A row a point: what varies, and what a frame takes.
pub(super) fn of_points(study: &Study, rows: &[Row<'_>]) -> Cells {
    let mut header = vec!["point".to_owned()];
    header.extend(study.varied.iter().map(|name| spoken(name).to_owned()));
    header.extend(strings(["frames/s", "µJ a frame", "mW"]));
    header.extend(shares());
    let row = |row: &Row<'_>| {
        let (measured, energy) = (row.outcome.measured()?, row.whole_energy()?);
        let mut cells = vec![row.point.number.to_string()];
        cells.extend(
            study
                .varied
                .iter()
                .map(|name| quantity(name, &row.point.get(name).map_or_else(String::new, text))),
        );
        let frame = energy.total() / 1e6 / f64::from(measured.frames.max(1));
        // Picojoules in picoseconds are watts.
        let power = energy.total() / measured.time.max(1) as f64 * 1e3;
        cells.extend([measured.frames_per_second(), frame, power].map(rounded));
        cells.extend(parts(&energy));
        Some(cells)
    };
    (header, rows.iter().filter_map(row).collect())
}

/// A row a layer of a point, and one for all of them.
pub(super) fn of_layers(measured: &Measured, layers: &[Energy]) -> Cells {
    let mut header = strings(["layer", "cycles", "MACs", "estimate"]);
    header.extend(shares());
    let row = |name: String, counts: [u64; 2], energy: &Energy| {
        let mut cells = vec![name];
        cells.extend(counts.map(rounded_whole));
        cells.push(said(energy.total()));
        cells.extend(parts(energy));
        cells
    };
    let (period, whole) = (measured.period.max(1), layers.iter().copied().sum());
    let taken = measured.layers.iter().zip(layers).filter(|(layer, _)| layer.time > 0);
    let mut cells: Vec<Vec<String>> =
        taken.map(|(layer, energy)| row(layer.named(), [layer.time / period, layer.macs], energy)).collect();
    cells.push(row("all".to_owned(), [measured.time / period, measured.macs], &whole));
    (header, cells)
}

fn shares() -> impl Iterator<Item = String> {
    EnergyPart::ALL.into_iter().map(|part| format!("{}, %", part.name()))
}

fn parts(energy: &Energy) -> impl Iterator<Item = String> {
    let whole = energy.total().max(f64::MIN_POSITIVE);
    energy.parts().into_iter().map(move |(_, part)| format!("{:.1}", 100.0 * part / whole))
}
