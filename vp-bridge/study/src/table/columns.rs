//! Columns of the tables of points and layers.

use super::Table;
use crate::area::Area;
use crate::energy::Energy;
use crate::measured::{Direction, Measured, Outcome};
use crate::results::Row;
use vp_host::Bound;
use vp_models::occupancy::Work;

/// A row a point: what varied, what was measured, then everything else that the platform is.
pub fn points(rows: &[Row<'_>]) -> Table {
    let mut table = Table::default();
    for (at, row) in rows.iter().enumerate() {
        head(&mut table, at, row);
        let (status, why) = match row.outcome {
            Outcome::Ran(_) => ("ran", None),
            Outcome::Failed(why) => ("failed", Some(why.as_str())),
        };
        table.put(at, "status", status);
        table.put(at, "failure", why);
        let measured = row.outcome.measured();
        let empty = Measured::default();
        let nvdla = row.job.and_then(|job| job.description.nvdla());
        for area in Area::ALL {
            table.put(at, area.name(), measured.and(nvdla).map(|nvdla| area.of(&nvdla.config)));
        }
        // Of a point that failed the columns are empty, and in their place.
        for (name, value) in figures(measured.unwrap_or(&empty)) {
            let seen = measured.filter(|it| it.is_seen_inside() || !name.starts_with(BOUND));
            table.put(at, &name, seen.map(|_| value));
        }
        if let (Some(energy), Some(measured)) = (row.whole_energy(), measured) {
            let frames = f64::from(measured.frames.max(1));
            table.put(at, "energy_per_frame_uj", energy.total() / 1e6 / frames);
            // Picojoules in picoseconds are watts.
            table.put(at, "power_mw", energy.total() / measured.time.max(1) as f64 * 1e3);
            put_energy(&mut table, at, &energy);
        }
        for port in measured.iter().flat_map(|measured| &measured.ports) {
            direction(&mut table, at, &format!("{}.read", port.name), &port.reads);
            direction(&mut table, at, &format!("{}.write", port.name), &port.writes);
        }
        table.put(at, "event_hash", measured.map(|it| it.event_hash.as_str()));
        table.put(at, "command", row.command.as_deref());
    }
    // Behind what was measured, and not among it where rows differ.
    for (at, row) in rows.iter().enumerate() {
        for (name, value) in &row.parameters {
            table.put(at, name, value);
        }
    }
    table.level(rows.len());
    table
}

/// A row for each layer of each point that ran.
pub fn layers(rows: &[Row<'_>]) -> Table {
    let (mut table, mut at) = (Table::default(), 0);
    for row in rows {
        let Some(measured) = row.outcome.measured() else { continue };
        for (place, layer) in measured.layers.iter().enumerate() {
            head(&mut table, at, row);
            table.put(at, "layer", place as u64 + 1);
            table.put(at, "name", layer.name.as_str());
            table.put(at, "within", layer.within.as_deref());
            table.put(at, "parts", layer.parts);
            table.put(at, "cycles", layer.time / measured.period.max(1));
            table.put(at, "macs", layer.macs);
            table.put(at, "products", layer.products());
            table.put(at, "is_winograd", layer.winograd_products.is_some());
            table.put(at, "is_compressed", layer.is_compressed);
            table.put(at, "mac_cycles", layer.mac_cycles);
            let is_seen = measured.is_seen_inside();
            table.put(at, "read_bytes", is_seen.then_some(layer.read));
            table.put(at, "written_bytes", is_seen.then_some(layer.written));
            table.put(at, "sram0.read_bytes", is_seen.then_some(layer.sram_read));
            table.put(at, "sram0.written_bytes", is_seen.then_some(layer.sram_written));
            table.put(at, "copied_bytes", layer.copied);
            for (name, part) in parts(layer.bounds) {
                table.put(at, &name, is_seen.then_some(part / measured.period.max(1)));
            }
            for work in Work::ALL {
                table.put(at, work.key(), is_seen.then_some(layer.work[work as usize]));
            }
            if let Some(energy) = row.energy.as_ref().and_then(|layers| layers.get(place)) {
                put_energy(&mut table, at, energy);
            }
            at += 1;
        }
    }
    table.level(at);
    table
}

/// Puts the cells that say which point a row is of.
fn head(table: &mut Table, at: usize, row: &Row<'_>) {
    table.put(at, "point", row.point.number as u64);
    for (name, value) in row.point.all() {
        // A size may be text in the study.
        let limit = row.job.and_then(|job| job.options.sram_limit).filter(|_| name == "placement_limit");
        let resolved = row.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        table.put(at, name, limit.map_or_else(|| resolved.unwrap_or(value).into(), super::Cell::from));
    }
}

fn figures(measured: &Measured) -> Vec<(String, super::Cell)> {
    let (read, written) = measured.bytes();
    let cycles = measured.period.max(1);
    let mut figures: Vec<(String, super::Cell)> = vec![
        ("frames".into(), u64::from(measured.frames).into()),
        ("time_ns".into(), (measured.time as f64 / 1e3).into()),
        ("cycles".into(), (measured.time / cycles).into()),
        ("cycles_per_frame".into(), measured.cycles_per_frame().into()),
        ("frames_per_second".into(), measured.frames_per_second().into()),
        ("macs".into(), measured.macs.into()),
        ("mac_utilisation".into(), measured.utilisation().into()),
        ("read_bytes".into(), read.into()),
        ("written_bytes".into(), written.into()),
        ("sram_bytes".into(), measured.sram_bytes.into()),
    ];
    let bounds = parts(measured.bounds());
    figures.extend(bounds.into_iter().map(|(name, part)| (name, (part / cycles).into())));
    figures
}

/// Beginning of the names of columns of bounds.
const BOUND: &str = "bound.";

/// Cycles by what bounded them: `bound.read_latency_cycles`.
fn parts(bounds: [u64; Bound::COUNT]) -> impl Iterator<Item = (String, u64)> {
    let name = |bound: Bound| format!("{BOUND}{}_cycles", bound.key());
    Bound::ALL.into_iter().map(name).zip(bounds)
}

/// An estimate of energy: `energy_uj`, and its parts as `energy.dram_uj`.
fn put_energy(table: &mut Table, at: usize, energy: &Energy) {
    table.put(at, "energy_uj", energy.total() / 1e6);
    for (part, picojoules) in energy.parts() {
        table.put(at, &format!("energy.{}_uj", part.key()), picojoules / 1e6);
    }
}

fn direction(table: &mut Table, at: usize, name: &str, direction: &Direction) {
    let Direction { bursts, bytes, most_outstanding, latencies } = direction;
    table.put(at, &format!("{name}.bursts"), *bursts);
    table.put(at, &format!("{name}.bytes"), *bytes);
    table.put(at, &format!("{name}.most_outstanding"), *most_outstanding);
    for (what, share) in [("median", 0.5), ("p99", 0.99)] {
        table.put(at, &format!("{name}.latency_{what}_cycles"), latencies.percentile(share));
    }
}
