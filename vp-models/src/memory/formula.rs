//! Figures of a memory that follow from its description alone, beside which measurements stand.

use super::dram::{DramError, Refresh};
use super::model::MemoryModel;
use crate::bus::axi::Latency;
use crate::platform::{Description, DescriptionError};
use vp_core::Time;

/// Latency of a memory without load, and the most that it can move, by formula.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryFormula {
    /// Period of the clocks: of the DRAM's command clock, or of the platform's.
    pub clock: Time,
    /// Read of a closed bank without load: ACT, tRCD, CL and the burst, with what controller and wires add; nothing if the latency is drawn.
    pub unloaded: Option<Time>,
    /// Read of a row that is open, without load.
    pub row_hit: Option<Time>,
    /// Bytes a second of the data pins; nothing if nothing limits them.
    pub peak: Option<f64>,
    /// Bytes a second that refreshes of all banks leave of that.
    pub refreshed: Option<f64>,
}

impl MemoryFormula {
    /// Returns the figures of a platform's `dbb0` or `sram0`, without the cache in front of it.
    pub fn of(description: &Description, memory: &str) -> Result<MemoryFormula, DescriptionError> {
        let name = if memory == "sram0" { "sram0" } else { "dbb0" };
        let wrong = |source: DramError| DescriptionError::Model { memory: name, source: source.into() };
        MemoryFormula::of_memory(description, name).map_err(wrong)
    }

    fn of_memory(description: &Description, memory: &str) -> Result<MemoryFormula, DramError> {
        let (described, latency) = match memory {
            "sram0" => (&description.sram0, description.sram_latency()),
            _ => (&description.dbb0, description.dbb_latency()),
        };
        let MemoryModel { dram, sram, .. } = &described.model;
        let period = description.period;
        if let Some(dram) = dram {
            let (of, t) = (dram.organisation()?, dram.timing()?);
            let clock = Time::ps(t.tCK);
            // From the last clock of a read on.
            let data = t.CL + t.tDQSCK + t.tBURST;
            // CAS starts WCK in the clock before.
            let sync = u64::from(t.tWCKPST > 0);
            let burst = f64::from(of.burst_bytes()) / (t.tBURST * t.tCK) as f64 * 1e12;
            let peak = burst * f64::from(of.channels * of.pseudo_channels);
            let is_whole = dram.refresh == Refresh::All;
            let left = if is_whole { 1.0 - t.tRFC as f64 / t.tREFI as f64 } else { 1.0 };
            return Ok(MemoryFormula {
                clock,
                unloaded: Some(clock * (t.nACT - 1 + t.tRCD + data) + dram.latency),
                row_hit: Some(clock * (t.nCAS - 1 + sync + data) + dram.latency),
                peak: Some(peak),
                refreshed: Some(peak * left),
            });
        }
        if let Some(sram) = sram {
            let word = f64::from(sram.banks) * f64::from(sram.word);
            let peak = word / (period * u64::from(sram.cycle)).as_secs_f64();
            let unloaded = Some(period * u64::from(sram.latency));
            return Ok(MemoryFormula {
                clock: period,
                unloaded,
                row_hit: unloaded,
                peak: Some(peak),
                refreshed: Some(peak),
            });
        }
        let unloaded = match latency {
            Latency::Fixed(cycles) => Some(period * u64::from(cycles)),
            Latency::Drawn(_) => None,
        };
        let peak = described.bandwidth.map(|rate| rate as f64 * if described.duplex { 2.0 } else { 1.0 });
        Ok(MemoryFormula { clock: period, unloaded, row_hit: unloaded, peak, refreshed: peak })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ddr4s_figures_are_those_of_its_grade() {
        let nv_small = Description::named("nv_small").unwrap();
        let dram = nv_small.with(["dbb0.dram.standard=DDR4-2400R", "dbb0.dram.latency=0 ns"]).unwrap();
        let formula = MemoryFormula::of(&dram, "dbb0").unwrap();
        // tRCD 16, CL 16, four clocks of data, of 833 ps.
        assert_eq!((formula.unloaded, formula.row_hit), (Some(Time::ps(36 * 833)), Some(Time::ps(20 * 833))));
        // 64 bytes in four clocks; 350 ns of 7.8 us are the refresh's: 421 of 9363 clocks.
        let peak = 64.0 / (4.0 * 833e-12);
        assert!((formula.peak.unwrap() / peak - 1.0).abs() < 1e-9);
        assert!((formula.refreshed.unwrap() / peak - (1.0 - 421.0 / 9363.0)).abs() < 1e-4);
    }

    #[test]
    fn an_srams_banks_move_a_word_each() {
        let nv_small = Description::named("nv_small").unwrap();
        let settings = ["dbb0.sram.banks=4", "dbb0.sram.word=32", "dbb0.sram.cycle=2", "dbb0.sram.latency=3"];
        let formula = MemoryFormula::of(&nv_small.with(settings).unwrap(), "dbb0").unwrap();
        assert_eq!(formula.unloaded, Some(Time::ns(3)));
        assert!((formula.peak.unwrap() / 64e9 - 1.0).abs() < 1e-9);
    }
}
