//! What is seen while a study runs.

use crate::cli::Failure;
use crate::cli::text::{self, counted, styled};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::HashMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::time::Duration;
use vp_bridge::study::{Finished, Outcome, Planned, Store};

/// A bar with the time left. Points of one network and platform take about as long as each other, so what is left is reckoned from
/// those that are done.
pub(super) struct Bar {
    bar: ProgressBar,
    jobs: u32,
    /// How many points of a kind have been run, and how long they took together.
    seen: HashMap<String, (u32, Duration)>,
    left: u32,
}

impl Bar {
    pub(super) fn new(points: usize, done: usize, jobs: NonZeroUsize) -> Bar {
        let bar = ProgressBar::new(points as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:28} {pos}/{len} points  {elapsed}  {msg}") {
            bar.set_style(style);
        }
        bar.set_position(done as u64);
        bar.reset_eta();
        if points > done {
            bar.enable_steady_tick(Duration::from_secs(1));
        }
        Bar { bar, jobs: jobs.get() as u32, seen: HashMap::new(), left: (points - done) as u32 }
    }

    pub(super) fn done(&mut self, planned: &Planned, finished: &Finished, took: Duration) {
        if let Outcome::Failed(why) = &finished.outcome {
            // Where there is no bar it is said in the end.
            let what = styled(text::RED, "failed");
            self.bar.println(format!("point {} {what}: {}: {why}", planned.point.number, planned.point));
        }
        let kind = format!("{:?} {}", planned.point.get("network"), planned.point.platform());
        let (count, sum) = self.seen.entry(kind).or_default();
        (*count, *sum) = (*count + 1, *sum + took);
        self.left = self.left.saturating_sub(1);
        // The mean of the kinds that have been seen.
        let means: Duration = self.seen.values().map(|(count, sum)| *sum / *count).sum();
        let left = means / self.seen.len() as u32 * self.left / self.jobs.min(self.left.max(1));
        self.bar.set_message(format!("about {} left", spoken(left)));
        self.bar.inc(1);
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A duration as people say it.
fn spoken(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Says that another build of the program ran points, which do not count.
pub(super) fn of_others(store: &Store, program: &str) -> Result<(), Failure> {
    let others = store.all().iter().filter(|finished| finished.program != program).count();
    if others > 0 {
        let what = counted(others as u64, "point");
        let warning = styled(text::YELLOW, "warning:");
        writeln!(anstream::stderr(), "{warning} another build of vp ran {what}, which do not count")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_said_in_two_units_at_most() {
        let spoken = |seconds| spoken(Duration::from_secs(seconds));
        assert_eq!([spoken(7), spoken(61), spoken(7300)], ["7 s", "1 min 1 s", "2 h 1 min"]);
    }
}
