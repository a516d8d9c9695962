//! Distribution of latencies.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use vp_core::Time;

/// Decimal digits to which latencies are counted.
const DIGITS: u8 = 3;

/// Latencies, in picoseconds, counted to three digits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "CountedLatencies", try_from = "CountedLatencies")]
pub(crate) struct Latencies {
    counted: Option<Box<Histogram<u64>>>,
    /// The last one, and how often it came in a row: mostly the next one is the same.
    last: (Time, u64),
}

/// [`Latencies`] as values that can be written down: which latencies were counted, how often, and the last.
#[derive(Serialize, Deserialize)]
struct CountedLatencies {
    counted: Vec<(u64, u64)>,
    last: (Time, u64),
}

impl From<Latencies> for CountedLatencies {
    fn from(Latencies { counted, last }: Latencies) -> CountedLatencies {
        let recorded = counted.iter().flat_map(|counted| counted.iter_recorded());
        let counted = recorded.map(|it| (it.value_iterated_to(), it.count_at_value())).collect();
        CountedLatencies { counted, last }
    }
}

impl TryFrom<CountedLatencies> for Latencies {
    type Error = String;

    fn try_from(CountedLatencies { counted, last }: CountedLatencies) -> Result<Latencies, String> {
        let mut histogram = None;
        for (value, count) in counted {
            let kept = match &mut histogram {
                Some(kept) => kept,
                none => none.insert(Box::new(Histogram::new(DIGITS).map_err(|error| error.to_string())?)),
            };
            kept.record_n(value, count).map_err(|error| format!("a latency of {value} ps: {error}"))?;
        }
        Ok(Latencies { counted: histogram, last })
    }
}

impl Latencies {
    /// Counts so many of one latency.
    #[inline]
    pub(crate) fn add(&mut self, latency: Time, count: u64) {
        if self.last.0 == latency {
            self.last.1 += count;
        } else {
            self.count_last();
            self.last = (latency, count);
        }
    }

    fn count_last(&mut self) {
        if self.last.1 == 0 {
            return;
        }
        if self.counted.is_none() {
            // It takes up to five digits.
            self.counted = Histogram::new(DIGITS).ok().map(Box::new);
        }
        if let Some(counted) = &mut self.counted {
            // It grows with what it counts, and fails at 2^63 ps only.
            let _ = counted.record_n(self.last.0.as_ps(), self.last.1);
        }
    }

    /// Returns the latency that so large a part of them does not exceed.
    pub(crate) fn quantile(&self, quantile: f64) -> Option<Time> {
        let mut all = self.clone();
        all.count_last();
        all.counted.map(|counted| Time::ps(counted.value_at_quantile(quantile)))
    }
}
