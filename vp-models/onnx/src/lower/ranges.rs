//! Ranges of values, from samples: what a code of 8 bits is to cover.

use std::collections::HashMap;
use vp_tensors::{Tensor, ValueId};

/// Choice of the largest number that has a code of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RangeMethod {
    /// The largest that occurs.
    MinMax,
    /// The one that this share of all numbers stays below, in percent.
    Percentile(f64),
    /// The one at which codes tell least falsely how numbers are distributed: the least Kullback-Leibler divergence.
    Entropy,
}

impl std::str::FromStr for RangeMethod {
    type Err = String;

    fn from_str(text: &str) -> Result<RangeMethod, String> {
        let share = |text: &str| text.parse::<f64>().ok().filter(|share| (50.0..=100.0).contains(share));
        match text.split_once('=') {
            None if text == "min-max" => Ok(RangeMethod::MinMax),
            None if text == "entropy" => Ok(RangeMethod::Entropy),
            None if text == "percentile" => Ok(RangeMethod::Percentile(99.99)),
            Some(("percentile", text)) if share(text).is_some() => {
                Ok(RangeMethod::Percentile(share(text).unwrap_or(100.0)))
            }
            _ => Err(format!("found `{text}`, expected min-max, entropy, percentile, or percentile=99.9")),
        }
    }
}

/// Bins of a histogram.
const BINS: usize = 2048;

/// Steps of a code on one side of zero.
const STEPS: usize = 128;

/// Distribution of the magnitudes of a value's numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Distribution {
    /// Least and largest number, or zero.
    least: f32,
    most: f32,
    /// Largest magnitude that may have a code.
    largest: f32,
    /// Magnitude at the end of the last bin: it doubles when a larger one comes.
    end: f32,
    /// Empty where the least and the largest number are enough.
    bins: Vec<u64>,
}

/// Distributions of the values of a graph.
pub(crate) type Ranges = HashMap<ValueId, Distribution>;

impl Distribution {
    fn new(method: RangeMethod) -> Distribution {
        let bins = if method == RangeMethod::MinMax { Vec::new() } else { vec![0; BINS] };
        Distribution { least: 0.0, most: 0.0, largest: 0.0, end: 0.0, bins }
    }

    /// A distribution of which only its limits are known: those of what is to have codes, and those of what occurs.
    pub(crate) fn of_limits(coded: (f32, f32), (least, most): (f32, f32)) -> Distribution {
        let largest = coded.1.max(-coded.0);
        Distribution { least, most, largest, end: 0.0, bins: Vec::new() }
    }

    fn add(&mut self, numbers: &[f32]) {
        let magnitudes = || numbers.iter().map(|number| number.abs()).filter(|number| number.is_finite());
        let largest = magnitudes().fold(0.0, f32::max);
        if self.end == 0.0 && largest > 0.0 {
            self.end = largest;
        }
        self.largest = self.largest.max(largest);
        for number in numbers.iter().filter(|number| number.is_finite()) {
            (self.least, self.most) = (self.least.min(*number), self.most.max(*number));
        }
        if self.bins.is_empty() {
            return;
        }
        while self.end < largest {
            for at in 0..BINS / 2 {
                self.bins[at] = self.bins[2 * at] + self.bins[2 * at + 1];
            }
            self.bins[BINS / 2..].fill(0);
            self.end *= 2.0;
        }
        for magnitude in magnitudes().filter(|_| self.end > 0.0) {
            let bin = (magnitude / self.end * BINS as f32) as usize;
            self.bins[bin.min(BINS - 1)] += 1;
        }
    }

    /// The least and the largest number that are to have codes.
    pub(crate) fn limits(&self, method: RangeMethod) -> (f32, f32) {
        let bound = self.bound(method);
        (self.least.max(-bound), self.most.min(bound))
    }

    /// The least and the largest number that occurs.
    pub(crate) fn seen(&self) -> (f32, f32) {
        (self.least, self.most)
    }

    /// The largest magnitude that is to have a code.
    fn bound(&self, method: RangeMethod) -> f32 {
        let end_of = |bin: usize| (self.end * (bin + 1) as f32 / BINS as f32).min(self.largest);
        match method {
            RangeMethod::MinMax => self.largest,
            RangeMethod::Percentile(share) => {
                let all: u64 = self.bins.iter().sum();
                let wanted = (all as f64 * share / 100.0).ceil() as u64;
                let mut sum = 0;
                let bin = self.bins.iter().position(|count| {
                    sum += count;
                    sum >= wanted
                });
                bin.map_or(self.largest, end_of)
            }
            RangeMethod::Entropy => {
                let least = (STEPS..=BINS)
                    .step_by(8)
                    .min_by(|a, b| self.divergence(*a).total_cmp(&self.divergence(*b)));
                least.map_or(self.largest, |bins| end_of(bins - 1))
            }
        }
    }

    /// The divergence of the distribution that codes can say, if the first bins alone have codes of their own, from that of the numbers.
    fn divergence(&self, bins: usize) -> f64 {
        let kept = &self.bins[..bins];
        let beyond: u64 = self.bins[bins..].iter().sum();
        let all = self.bins.iter().sum::<u64>() as f64;
        if all == 0.0 {
            return 0.0;
        }
        let mut divergence = 0.0;
        for step in 0..STEPS {
            let range = step * bins / STEPS..(step + 1) * bins / STEPS;
            let group = &kept[range.clone()];
            let used = group.iter().filter(|count| **count > 0).count();
            let mean = group.iter().sum::<u64>() as f64 / used.max(1) as f64;
            for (at, count) in range.zip(group) {
                // What lies beyond is told as the last.
                let count = *count as f64 + if at == bins - 1 { beyond as f64 } else { 0.0 };
                if count > 0.0 {
                    let said = if mean > 0.0 { mean } else { 1e-9 };
                    divergence += count / all * (count / said).ln();
                }
            }
        }
        divergence
    }
}

/// Adds the numbers of a tensor to those of its value.
pub(crate) fn note(ranges: &mut Ranges, method: RangeMethod, value: ValueId, tensor: &Tensor) {
    if let Some(numbers) = tensor.as_floats() {
        ranges.entry(value).or_insert_with(|| Distribution::new(method)).add(numbers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[f32]) -> Distribution {
        let mut distribution = Distribution::new(RangeMethod::Entropy);
        numbers.chunks(100).for_each(|numbers| distribution.add(numbers));
        distribution
    }

    #[test]
    fn the_largest_number_counts_wherever_it_comes() {
        let mut numbers = vec![0.5; 1000];
        numbers[777] = -9.0;
        assert_eq!(of(&numbers).limits(RangeMethod::MinMax), (-9.0, 0.5));
        let bound = of(&numbers).bound(RangeMethod::Percentile(99.0));
        assert!((0.5..0.52).contains(&bound), "{bound}");
    }

    #[test]
    fn an_outlier_among_many_small_numbers_is_cut_off() {
        // A bell of width 1, and one number far out.
        let mut numbers: Vec<f32> = (0..40_000)
            .map(|at| ((at % 997) as f32 / 997.0 + (at % 631) as f32 / 631.0 - 1.0) * 2.0)
            .collect();
        numbers.push(40.0);
        let bound = of(&numbers).bound(RangeMethod::Entropy);
        assert!((1.0..5.0).contains(&bound), "{bound}");
    }

    /// A model may have a million values.
    #[test]
    fn the_least_and_the_largest_number_take_no_histogram() {
        let mut distribution = Distribution::new(RangeMethod::MinMax);
        distribution.add(&[0.5, -9.0, f32::NAN]);
        assert_eq!(distribution.limits(RangeMethod::MinMax), (-9.0, 0.5));
        assert!(distribution.bins.is_empty());
    }

    #[test]
    fn methods_are_told_by_name() {
        assert_eq!("percentile=99.9".parse(), Ok(RangeMethod::Percentile(99.9)));
        assert!("percentile=20".parse::<RangeMethod>().is_err());
        assert!("max".parse::<RangeMethod>().unwrap_err().contains("min-max"));
    }
}
