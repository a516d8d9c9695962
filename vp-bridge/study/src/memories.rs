//! Memories alone: their latency over bandwidth, for each order of addresses and mix of reads and writes.

use super::file::Study;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use vp_models::memory::{CurvePattern, LoadCurve, LoadPoint, MemoryFormula, Mix, Replay};
use vp_models::platform::{Description, DescriptionError};

/// Curves of a memory, beside what formulas say of it.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryCurves {
    /// The memory in words: `dbb0: DDR4-2400R, 1 channel of 64 bit, open pages`.
    pub title: String,
    /// Figures by formula.
    pub formula: MemoryFormula,
    /// Curves with their points.
    pub curves: Vec<(LoadCurve, Vec<LoadPoint>)>,
}

impl MemoryCurves {
    /// Measures the curves of a platform's `dbb0` or `sram0`, on all cores; none if nothing limits what it moves.
    ///
    /// # Errors
    /// When the memory cannot be built.
    pub fn measure(
        description: &Description,
        memory: &str,
        requests: u32,
        seed: u64,
    ) -> Result<Option<MemoryCurves>, DescriptionError> {
        // Some memories only work at a platform's interface.
        Replay::of(description, memory)?;
        let formula = MemoryFormula::of(description, memory)?;
        if formula.peak.is_none() {
            return Ok(None);
        }
        let of_mix = |mix| CurvePattern::ALL.map(|pattern| LoadCurve { pattern, mix, requests, seed });
        let curves: Vec<LoadCurve> = Mix::ALL.into_iter().flat_map(of_mix).collect();
        let (next, measured) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(curves.len());
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(curve) = curves.get(at) else { return };
                        let points = curve.measure(description, memory);
                        let mut measured = measured.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        measured.push((at, *curve, points));
                    }
                });
            }
        });
        let mut measured = measured.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        measured.sort_by_key(|(at, ..)| *at);
        let curves = measured.into_iter().map(|(_, curve, points)| Ok((curve, points?)));
        Ok(Some(MemoryCurves {
            title: title(description, memory),
            formula,
            curves: curves.collect::<Result<_, DescriptionError>>()?,
        }))
    }
}

/// Describes a memory in words, without what stands in front of it.
fn title(description: &Description, memory: &str) -> String {
    let mut model = if memory == "sram0" { &description.sram0 } else { &description.dbb0 }.model.clone();
    (model.cache, model.traffic) = (None, Vec::new());
    let what = model.phrase().unwrap_or_else(|| "a latency and a bandwidth".to_owned());
    format!("{memory}: {what}")
}

/// Requests at each load of a study's curves.
const REQUESTS: u32 = if cfg!(test) { 300 } else { 10_000 };

/// Most memories of a study that are measured: a sweep over a DRAM's figures has one a point.
pub(crate) const MOST: usize = 8;

/// Memories among a study's points that have a model, each once, and measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudyMemories {
    /// Curves of the first of them.
    pub measured: Vec<MemoryCurves>,
    /// Number of those that are not measured, because there are too many.
    pub more: usize,
}

impl StudyMemories {
    /// Measures the memories of a study. `told` is given the number that is done and that of all, before each. What cannot be built is left out:
    /// its points have failed.
    pub fn measure(study: &Study, mut told: impl FnMut(usize, usize)) -> StudyMemories {
        let mut all = of_study(study);
        let more = all.len().saturating_sub(MOST);
        all.truncate(MOST);
        let measured = all.iter().enumerate().filter_map(|(at, (memory, description))| {
            told(at, all.len());
            MemoryCurves::measure(description, memory, REQUESTS, study.seed).ok().flatten()
        });
        StudyMemories { measured: measured.collect(), more }
    }
}

/// Memories of a study's points that have a model, each once.
fn of_study(study: &Study) -> Vec<(&'static str, Description)> {
    let (mut known, mut all) = (Vec::new(), Vec::new());
    for point in &study.points {
        let Ok((description, _)) = point.description(&study.folder, study.seed) else { continue };
        for memory in ["dbb0", "sram0"] {
            let described = if memory == "sram0" { &description.sram0 } else { &description.dbb0 };
            let has_curve = described.model.dram.is_some() || described.model.sram.is_some();
            if !has_curve || memory == "sram0" && !description.device.has_second_memory() {
                continue;
            }
            let mut model = described.model.clone();
            (model.cache, model.traffic) = (None, Vec::new());
            let key = (memory, description.period, model);
            if !known.contains(&key) {
                known.push(key);
                all.push((memory, description.clone()));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_studys_memories_are_measured_once_each() {
        let text =
            "name = 's'\n[sweep]\nnetwork = ['digits', 'lenet']\n'dbb0.dram.standard' = ['DDR4-2400R']\n";
        let (study, mut told) = (Study::parse(text, Path::new("")).unwrap(), Vec::new());
        let memories = StudyMemories::measure(&study, |done, all| told.push((done, all)));
        assert_eq!((memories.measured.len(), memories.more, &told[..]), (1, 0, &[(0, 1)][..]));
        assert_eq!(memories.measured[0].title, "dbb0: DDR4-2400R, 1 channel of 64 bit, open pages");
        assert_eq!(memories.measured[0].curves.len(), 12);
    }
}
