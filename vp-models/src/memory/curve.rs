//! Latency of a memory over its bandwidth: requests that come at random times, at one load after the other.
//!
//! ```
//! use vp_models::memory::{CurvePattern, LoadCurve, Mix};
//! use vp_models::platform::Description;
//!
//! let platform = Description::named("nv_small").unwrap();
//! let platform = platform.with(["dbb0.dram.standard=DDR4-2400R"]).unwrap();
//! let curve = LoadCurve { pattern: CurvePattern::Stream, mix: Mix::Reads, requests: 2000, seed: 1 };
//! let points = curve.measure(&platform, "dbb0").unwrap();
//! let (first, last) = (points.first().unwrap(), points.last().unwrap());
//! assert!(last.rate > 10.0 * first.rate && last.read_mean > first.read_mean);
//! ```

use super::dram::DramError;
use super::dram::mapping::Location;
use super::formula::MemoryFormula;
use super::model::MemoryModel;
use super::replay::{MemoryRequest, Replay};
use super::request_text::Places;
use crate::platform::{Description, DescriptionError};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use strum::Display;
use vp_core::Time;

/// Order of the addresses of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub enum CurvePattern {
    /// Burst after burst; of reads and writes each from a half of the memory.
    #[strum(serialize = "stream")]
    Stream,
    /// Anywhere in the memory.
    #[strum(serialize = "random")]
    Random,
    /// Runs of 16 bursts, each from anywhere and of one direction.
    #[strum(serialize = "runs of 16")]
    Runs,
    /// Row after row of one bank of a DRAM; word after word of one bank of an SRAM.
    #[strum(serialize = "row after row")]
    Rows,
}

impl CurvePattern {
    /// All of them.
    pub const ALL: [CurvePattern; 4] =
        [CurvePattern::Stream, CurvePattern::Random, CurvePattern::Runs, CurvePattern::Rows];
}

/// Reads and writes among requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub enum Mix {
    /// Reads alone.
    #[strum(serialize = "reads")]
    Reads,
    /// Two reads a write.
    #[strum(serialize = "2 reads : 1 write")]
    TwoToOne,
    /// As many reads as writes.
    #[strum(serialize = "1 read : 1 write")]
    OneToOne,
}

impl Mix {
    /// All of them.
    pub const ALL: [Mix; 3] = [Mix::Reads, Mix::TwoToOne, Mix::OneToOne];

    /// Returns the share of writes.
    pub const fn writes(self) -> f64 {
        match self {
            Mix::Reads => 0.0,
            Mix::TwoToOne => 1.0 / 3.0,
            Mix::OneToOne => 0.5,
        }
    }
}

/// A curve to be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadCurve {
    /// Order of the addresses.
    pub pattern: CurvePattern,
    /// Reads and writes.
    pub mix: Mix,
    /// Requests at each load, at least: so many more that they come over 15 µs, several intervals of a DRAM's refresh.
    pub requests: u32,
    /// Seed of times, addresses and directions.
    pub seed: u64,
}

/// Point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadPoint {
    /// Bytes a second that were asked for.
    pub offered: f64,
    /// Bytes a second that were moved.
    pub rate: f64,
    /// Mean latency of reads, from the times at which they came.
    pub read_mean: Time,
    /// Latency that 99 % of the reads do not exceed.
    pub read_p99: Time,
    /// True if the memory did not keep up: latencies are those of a queue that grows.
    pub is_saturated: bool,
}

/// Loads that are tried, as parts of what the data pins can move; of requests for one bank, those of its channel.
const LOADS: [f64; 21] = [
    0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95,
    1.0, 1.1,
];

/// Part of the offered rate below which a memory does not keep up.
const KEPT_UP: f64 = 0.95;

/// Time over which requests come, at least.
const LEAST: Time = Time::us(15);

/// Bursts of a run.
const RUN: u32 = 16;

impl LoadCurve {
    /// Measures the curve of a platform's `dbb0` or `sram0`, without a cache and other masters in front of it, up to the first load with which
    /// it does not keep up. There are no points where nothing limits the bandwidth.
    pub fn measure(
        &self,
        description: &Description,
        memory: &str,
    ) -> Result<Vec<LoadPoint>, DescriptionError> {
        let mut description = description.clone();
        let described = if memory == "sram0" { &mut description.sram0 } else { &mut description.dbb0 };
        (described.model.cache, described.model.traffic) = (None, Vec::new());
        // It refuses what the formulas would trip over.
        Replay::of(&description, memory)?;
        let formula = MemoryFormula::of(&description, memory)?;
        let Some(peak) = formula.peak else { return Ok(Vec::new()) };
        let described = if memory == "sram0" { &description.sram0 } else { &description.dbb0 };
        let parts = match self.pattern {
            CurvePattern::Rows => parts(&described.model).map_err(|source| wrong(memory, source))?,
            _ => 1,
        };
        let mut points = Vec::new();
        for load in LOADS {
            let point = self.point(&description, memory, load * peak / f64::from(parts))?;
            points.push(point);
            if point.is_saturated {
                break;
            }
        }
        Ok(points)
    }

    fn point(
        &self,
        description: &Description,
        memory: &str,
        rate: f64,
    ) -> Result<LoadPoint, DescriptionError> {
        let replay = Replay::of(description, memory)?;
        let clock = replay.clock();
        let requests = self.requests(description, memory, (replay.request_bytes(), clock, rate))?;
        let last = requests.last().map_or(0, |request| request.clock).max(1);
        let bytes = requests.len() as f64 * f64::from(replay.request_bytes());
        let offered = bytes / (clock.as_secs_f64() * last as f64);
        let played = replay.play(requests, None);
        let reads = &played.reads;
        // The last answer comes a latency behind its request.
        let took = played.end - reads.latency_min.unwrap_or_default();
        let rate = bytes / took.max(clock).as_secs_f64();
        Ok(LoadPoint {
            offered,
            rate,
            read_mean: reads.latency_mean().unwrap_or_default(),
            read_p99: reads.latency_quantile(0.99).unwrap_or_default(),
            is_saturated: rate < KEPT_UP * offered,
        })
    }

    fn requests(
        &self,
        description: &Description,
        memory: &str,
        (bytes, clock, rate): (u32, Time, f64),
    ) -> Result<Vec<MemoryRequest>, DescriptionError> {
        let described = if memory == "sram0" { &description.sram0 } else { &description.dbb0 };
        let addresses = Addresses::of(&described.model, described.size, bytes);
        let addresses = addresses.map_err(|source| wrong(memory, source))?;
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        // Mean distance of two requests, in clocks.
        let mean = f64::from(bytes) / rate / clock.as_secs_f64();
        let (mut time, mut run, mut write) = (0.0_f64, 0, false);
        let mut counts = [0u64; 2];
        let count = self.requests.max((LEAST.as_secs_f64() * rate / f64::from(bytes)) as u32);
        let mut requests = Vec::with_capacity(count as usize);
        for number in 0..count {
            let is_of_run = self.pattern == CurvePattern::Runs && number % RUN > 0;
            if !is_of_run {
                write = random.random_bool(self.mix.writes());
            }
            let at = match self.pattern {
                CurvePattern::Stream => {
                    let half = u64::from(write) * (addresses.count / 2);
                    let count = &mut counts[usize::from(write)];
                    *count += 1;
                    half + (*count - 1) % (addresses.count / 2).max(1)
                }
                CurvePattern::Random => random.random_range(0..addresses.count),
                CurvePattern::Runs if is_of_run => run + u64::from(number % RUN),
                CurvePattern::Runs => {
                    run = random.random_range(0..addresses.count.saturating_sub(u64::from(RUN)).max(1));
                    run
                }
                CurvePattern::Rows => addresses.row(number) / u64::from(bytes),
            };
            let address = at % addresses.count * u64::from(bytes);
            requests.push(MemoryRequest { clock: time as u64, write, address, bytes });
            // Exponential distances make arrivals that do not know of each other.
            time -= mean * (1.0 - random.random::<f64>()).ln();
        }
        Ok(requests)
    }
}

fn wrong(memory: &str, source: DramError) -> DescriptionError {
    let memory = if memory == "sram0" { "sram0" } else { "dbb0" };
    DescriptionError::Model { memory, source: source.into() }
}

/// Returns the parts of a memory that work beside each other: channels and pseudo channels of a DRAM, banks of an SRAM.
fn parts(model: &MemoryModel) -> Result<u32, DramError> {
    Ok(match (&model.dram, &model.sram) {
        (Some(dram), _) => {
            let organisation = dram.organisation()?;
            organisation.channels * organisation.pseudo_channels
        }
        (None, Some(sram)) => sram.banks,
        (None, None) => 1,
    })
}

/// Addresses of a memory.
struct Addresses {
    /// Bursts, or words, that it has.
    count: u64,
    /// Places of a DRAM, and its rows.
    places: Option<(Places, u32)>,
    /// Bytes from a word to the next one of its bank.
    stride: u64,
}

impl Addresses {
    fn of(model: &MemoryModel, size: u64, bytes: u32) -> Result<Addresses, DramError> {
        let (mut size, mut places) = (size, None);
        if let Some(dram) = &model.dram {
            let organisation = dram.organisation()?;
            size = organisation.bytes();
            places = Some((Places::of(dram)?, organisation.rows));
        }
        let stride = match &model.sram {
            Some(sram) => u64::from(sram.word) * u64::from(sram.banks),
            None => u64::from(bytes),
        };
        Ok(Addresses { count: (size / u64::from(bytes)).max(1), places, stride })
    }

    /// Returns the address of a row of the first bank, counted around.
    fn row(&self, number: u32) -> u64 {
        match &self.places {
            Some((places, rows)) => {
                places.address_of(&Location { row: number % rows, ..Location::default() })
            }
            None => u64::from(number) * self.stride,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ddr4() -> Description {
        let settings = ["dbb0.dram.standard=DDR4-2400R", "dbb0.dram.latency=0 ns", "dbb0.dram.refresh=false"];
        Description::named("nv_small").unwrap().with(settings).unwrap()
    }

    fn measured(pattern: CurvePattern, mix: Mix) -> Vec<LoadPoint> {
        LoadCurve { pattern, mix, requests: 3000, seed: 3 }.measure(&ddr4(), "dbb0").unwrap()
    }

    #[test]
    fn reads_of_one_banks_rows_are_as_far_apart_as_its_row_cycle() {
        let points = measured(CurvePattern::Rows, Mix::Reads);
        let (first, last) = (points.first().unwrap(), points.last().unwrap());
        // 64 bytes in tRC, of 39 + 16 clocks of 833 ps.
        let most = 64.0 / (55.0 * 833e-12);
        assert!(last.is_saturated && (last.rate / most - 1.0).abs() < 0.01, "{last:?}");
        // Without load: a row is closed for another, tRP + tRCD + CL + 4 clocks.
        let clocks = first.read_mean.as_ps() as f64 / 833.0;
        assert!((52.0..60.0).contains(&clocks), "{clocks}");
    }

    #[test]
    fn a_stream_comes_to_what_the_pins_can_move() {
        let points = measured(CurvePattern::Stream, Mix::Reads);
        let peak = 64.0 / (4.0 * 833e-12);
        let most = points.iter().map(|point| point.rate).fold(0.0, f64::max);
        assert!(most > 0.97 * peak, "{points:?}");
        assert!(points.windows(2).all(|pair| pair[0].offered < pair[1].offered));
    }

    #[test]
    fn a_seed_gives_the_same_curve_again() {
        assert_eq!(measured(CurvePattern::Runs, Mix::OneToOne), measured(CurvePattern::Runs, Mix::OneToOne));
    }

    #[test]
    fn a_latency_alone_has_no_curve() {
        let nv_small = Description::named("nv_small").unwrap();
        let curve = LoadCurve { pattern: CurvePattern::Random, mix: Mix::Reads, requests: 100, seed: 1 };
        assert_eq!(curve.measure(&nv_small, "dbb0"), Ok(Vec::new()));
    }
}
