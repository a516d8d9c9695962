//! Times that were measured, and how they are told.

use std::time::Duration;

/// Times that the reads and the loads of a phase took, and copies of as many bytes between two [plain
/// sockets](super::PlainSockets).
#[derive(Default)]
pub(super) struct Times {
    pub(super) reads: Vec<Duration>,
    pub(super) loads: Vec<Duration>,
    pub(super) copies: Vec<Duration>,
}

/// A phase alone, and one beside the bad sessions.
pub(super) type Round = [Times; 2];

/// A figure of the times of a phase.
type Figure = fn(&[f64]) -> f64;

type Kind = (&'static str, fn(&Times) -> &[Duration]);

const KINDS: [Kind; 3] = [
    ("a read", |times| &times.reads),
    ("1 MiB", |times| &times.loads),
    ("1 MiB without a server", |times| &times.copies),
];

fn microseconds(times: &[Duration]) -> Vec<f64> {
    times.iter().map(|time| time.as_secs_f64() * 1e6).collect()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// The value that so many of a thousand do not exceed.
fn percentile(values: &[f64], permille: usize) -> f64 {
    sorted(values)[(values.len() * permille / 1000).min(values.len() - 1)]
}

/// Of an even number, the mean of the two in the middle.
fn median(values: &[f64]) -> f64 {
    let (values, middle) = (sorted(values), values.len() / 2);
    match values.len() % 2 {
        0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// `8 rounds: a read, median 13 → 15 µs (1.14; 1.02 to 1.37), mean …, 99 % 18 → 90 µs; 1 MiB, …`: medians over the rounds, in brackets
/// the median of their ratios, the smallest and the largest. What 99 % do not exceed is that of all rounds together.
pub(super) fn line(rounds: &[Round]) -> String {
    let kinds = KINDS.map(|kind| of_kind(rounds, kind));
    let [alone, beside] =
        [0, 1].map(|phase| rounds.iter().map(|round| round[phase].reads.len()).sum::<usize>());
    format!("{} rounds: {}; {alone} reads, then {beside}", rounds.len(), kinds.join("; "))
}

fn of_kind(rounds: &[Round], (name, times): Kind) -> String {
    let figures: [(&str, Figure); 2] = [("median", median), ("mean", mean)];
    let figures = figures.map(|(which, figure)| {
        let of = |phase: usize| -> Vec<f64> {
            rounds.iter().map(|round| figure(&microseconds(times(&round[phase])))).collect()
        };
        let ratios: Vec<f64> = of(1).iter().zip(of(0)).map(|(beside, alone)| beside / alone).collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(0.0, f64::max);
        let [alone, beside] = [0, 1].map(|phase| median(&of(phase)));
        format!("{which} {alone:.0} → {beside:.0} µs ({:.2}; {least:.2} to {most:.2})", median(&ratios))
    });
    let [alone, beside] = [0, 1].map(|phase| {
        let all: Vec<f64> = rounds.iter().flat_map(|round| microseconds(times(&round[phase]))).collect();
        percentile(&all, 990)
    });
    format!("{name}, {}, 99 % {alone:.0} → {beside:.0} µs", figures.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(micros: &[u64]) -> Times {
        let times: Vec<Duration> = micros.iter().copied().map(Duration::from_micros).collect();
        Times { reads: times.clone(), loads: times.clone(), copies: times }
    }

    #[test]
    fn phases_are_compared_within_their_round() {
        // The machine is slower in the second round, in both of its phases.
        let rounds =
            [[times(&[10, 10, 40]), times(&[20, 20, 80])], [times(&[30, 30, 30]), times(&[90, 90, 90])]];
        let line = line(&rounds);
        assert!(
            line.starts_with(
                "2 rounds: a read, median 20 → 55 µs (2.50; 2.00 to 3.00), mean 25 → 65 µs (2.50; "
            ),
            "{line}"
        );
        assert!(
            line.contains("99 % 40 → 90 µs; 1 MiB, median") && line.ends_with("; 6 reads, then 6"),
            "{line}"
        );
    }
}
