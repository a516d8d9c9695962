//! Time that a memory takes to answer: fixed, or drawn from a seeded distribution.
//!
//! A distribution more is a variant of [`Drawn`], with `least`, `check` and `draw_from`; its text is in `cli/platform_args.rs` of `vp-bridge`, its
//! sentence in `tests/src/platform_file.rs`, and `cargo run -p vp-tests --bin make-platform-file docs/platform-file.md` writes the page.

use crate::checkpoint::{Checkpoint, CheckpointError};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp, Normal};
use serde::{Deserialize, Serialize};

/// The latency of a memory, from the request to the first data, in clock cycles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "Described", try_from = "toml::Value")]
pub enum Latency {
    /// Always the same.
    Fixed(u32),
    /// Drawn for each request.
    Drawn(Drawn),
}

/// Written form of a latency: a number of cycles, or a table.
#[derive(Serialize)]
#[serde(untagged)]
enum Described {
    Fixed(u32),
    Drawn(Drawn),
}

impl From<Latency> for Described {
    fn from(latency: Latency) -> Described {
        match latency {
            Latency::Fixed(cycles) => Described::Fixed(cycles),
            Latency::Drawn(drawn) => Described::Drawn(drawn),
        }
    }
}

impl TryFrom<toml::Value> for Latency {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Latency, String> {
        match value {
            toml::Value::Integer(cycles) => u32::try_from(cycles)
                .map(Latency::Fixed)
                .map_err(|_| format!("a latency of {cycles} cycles: write a whole number from 0 to {MAX}")),
            toml::Value::Table(table) => {
                Drawn::deserialize(table).map(Latency::Drawn).map_err(|error| error.message().to_owned())
            }
            other => Err(format!(
                "`{other}` is no latency: write a number of cycles, a time such as \"400 ns\", or {{ distribution = \"uniform\", min = 40, max = 90 }}"
            )),
        }
    }
}

/// A distribution of latencies, in clock cycles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "distribution", rename_all = "lowercase", deny_unknown_fields)]
pub enum Drawn {
    /// Every whole number of cycles from `min` to `max` with the same probability.
    Uniform {
        /// The shortest.
        min: u32,
        /// The longest.
        max: u32,
    },
    /// Normal distribution, rounded, cut at `min` below and at ten deviations above.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
        /// The shortest.
        min: u32,
    },
    /// `min` plus an exponentially distributed wait, as behind a loaded controller; cut at ten means.
    Exponential {
        /// The shortest.
        min: u32,
        /// The mean of what comes on top.
        mean: f64,
    },
}

/// A latency that makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LatencyError {
    /// Longer than anything a memory does.
    #[error("a latency of {0} cycles is more than the {MAX} that the model allows")]
    TooLong(f64),
    /// An empty range.
    #[error("a uniform latency from {min} to {max} cycles is empty: `min` must not exceed `max`")]
    Empty {
        /// The shortest asked for.
        min: u32,
        /// The longest asked for.
        max: u32,
    },
    /// A mean or deviation that is negative or not a number.
    #[error("`{name}` of a latency must be a number from zero on, not {value}")]
    Negative {
        /// Name of the parameter.
        name: &'static str,
        /// Value that was given.
        value: f64,
    },
}

/// A million cycles: a millisecond at 1 GHz.
const MAX: u32 = 1_000_000;

impl Latency {
    /// The smallest possible number of cycles.
    #[must_use]
    pub fn least(&self) -> u32 {
        match *self {
            Latency::Fixed(cycles) => cycles,
            Latency::Drawn(
                Drawn::Uniform { min, .. } | Drawn::Normal { min, .. } | Drawn::Exponential { min, .. },
            ) => min,
        }
    }

    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), LatencyError> {
        let finite = |name, value: f64| match value >= 0.0 && value.is_finite() {
            true if value <= f64::from(MAX) => Ok(()),
            true => Err(LatencyError::TooLong(value)),
            false => Err(LatencyError::Negative { name, value }),
        };
        match *self {
            Latency::Fixed(cycles) => finite("latency", f64::from(cycles)),
            Latency::Drawn(Drawn::Uniform { min, max }) if min > max => Err(LatencyError::Empty { min, max }),
            Latency::Drawn(Drawn::Uniform { max, .. }) => finite("max", f64::from(max)),
            Latency::Drawn(Drawn::Normal { mean, deviation, min }) => {
                finite("mean", mean)?;
                finite("deviation", deviation)?;
                finite("min", f64::from(min))
            }
            Latency::Drawn(Drawn::Exponential { min, mean }) => {
                finite("mean", mean)?;
                finite("min", f64::from(min))
            }
        }
    }
}

/// Draws latencies: the same seed gives the same sequence on every machine.
pub(crate) struct LatencySource {
    latency: Latency,
    random: ChaCha8Rng,
}

impl LatencySource {
    pub(crate) fn new(latency: Latency, seed: u64) -> LatencySource {
        LatencySource { latency, random: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// The latency of the next request, in cycles.
    #[inline]
    pub(crate) fn draw(&mut self) -> u64 {
        match self.latency {
            Latency::Fixed(cycles) => cycles.into(),
            Latency::Drawn(drawn) => self.draw_from(drawn),
        }
    }

    fn draw_from(&mut self, drawn: Drawn) -> u64 {
        let cut = |value: f64, min: u32, scale: f64| {
            value.clamp(f64::from(min), f64::from(min) + 10.0 * scale).round() as u64
        };
        match drawn {
            Drawn::Uniform { min, max } => u64::from(self.random.random_range(min..=max.max(min))),
            Drawn::Normal { mean, deviation, min } => match Normal::new(mean, deviation) {
                Ok(normal) => cut(normal.sample(&mut self.random), min, mean + deviation),
                Err(_) => mean as u64,
            },
            Drawn::Exponential { min, mean } => match Exp::new(1.0 / mean) {
                Ok(exponential) => cut(f64::from(min) + exponential.sample(&mut self.random), min, mean),
                Err(_) => u64::from(min),
            },
        }
    }
}

impl LatencySource {
    pub(crate) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let LatencySource { latency: _, random } = self;
        at.drawn(random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_latencies() {
        let latency = Latency::Drawn(Drawn::Normal { mean: 80.0, deviation: 20.0, min: 30 });
        let draw = |seed| {
            let mut source = LatencySource::new(latency, seed);
            (0..100).map(|_| source.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert!(draw(1).iter().all(|&cycles| cycles >= 30));
    }

    #[test]
    fn a_number_or_a_table_describes_a_latency() {
        #[derive(Deserialize)]
        struct Described {
            latency: Latency,
        }
        let read = |text: &str| toml::from_str::<Described>(text).map(|described| described.latency);
        assert_eq!(read("latency = 50"), Ok(Latency::Fixed(50)));
        let uniform = Latency::Drawn(Drawn::Uniform { min: 10, max: 90 });
        assert_eq!(read("latency = { distribution = \"uniform\", min = 10, max = 90 }"), Ok(uniform));
    }

    #[test]
    fn refuses_latencies_that_make_no_sense() {
        for latency in [
            Latency::Fixed(MAX + 1),
            Latency::Drawn(Drawn::Uniform { min: 9, max: 8 }),
            Latency::Drawn(Drawn::Normal { mean: -1.0, deviation: 1.0, min: 0 }),
            Latency::Drawn(Drawn::Exponential { min: 1, mean: f64::NAN }),
        ] {
            assert!(latency.check().is_err(), "{latency:?}");
        }
    }
}
