//! Progress of a study, as it is seen while it runs.

use crate::cli::Failure;
use crate::cli::out;
use crate::cli::terminal;
use crate::cli::text::{self, counted, styled};
use indicatif::ProgressBar;
use std::collections::HashMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::time::Duration;
use vp_study::{Finished, Outcome, Planned, Store, Study, StudyMemories};

/// A bar with the time left, which is reckoned from points of the same kind that are done.
pub(super) struct Bar {
    bar: ProgressBar,
    jobs: usize,
    kinds: HashMap<String, KindProgress>,
}

/// Points of a kind: those that are left, those that have been run, and how long these took together.
#[derive(Default)]
struct KindProgress {
    left: usize,
    seen: usize,
    took: Duration,
}

impl Bar {
    pub(super) fn new(points: usize, missing: &[&Planned], jobs: NonZeroUsize) -> Bar {
        let bar = terminal::progress(points, "{bar:28} {pos}/{len} points  {elapsed}  {msg}");
        bar.set_position((points - missing.len()) as u64);
        let mut kinds: HashMap<String, KindProgress> = HashMap::new();
        missing.iter().for_each(|planned| kinds.entry(planned.point.kind()).or_default().left += 1);
        Bar { bar, jobs: jobs.get(), kinds }
    }

    pub(super) fn done(&mut self, planned: &Planned, finished: &Finished, took: Duration) {
        if let Outcome::Failed(why) = &finished.outcome {
            // Where there is no bar it is said in the end.
            let what = styled(text::RED, "failed");
            let line = format!("point {} {what}: {}: {why}", planned.point.number, planned.point);
            self.bar.println(text::one_line(&line));
        }
        let kind = self.kinds.entry(planned.point.kind()).or_default();
        kind.left = kind.left.saturating_sub(1);
        (kind.seen, kind.took) = (kind.seen + 1, kind.took + took);
        if let Some(left) = self.left() {
            self.bar.set_message(format!("about {} left", spoken(left)));
        }
        self.bar.inc(1);
    }

    /// The bar, for who speaks meanwhile.
    pub(super) fn handle(&self) -> ProgressBar {
        self.bar.clone()
    }

    /// Returns the time that the study still takes. Of a kind that has not been seen, nothing is known.
    fn left(&self) -> Option<Duration> {
        let of = |kind: &KindProgress| {
            (kind.seen > 0).then(|| kind.took.mul_f64(kind.left as f64 / kind.seen as f64))
        };
        let left: Duration = self.kinds.values().map(of).sum::<Option<Duration>>()?;
        Some(left.div_f64(self.jobs as f64))
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The memories of a study's points, measured for its report under a bar.
pub(super) fn memories(study: &Study) -> StudyMemories {
    if !study.report.memory_curve {
        return StudyMemories::default();
    }
    let bar = terminal::progress(1, "{bar:28} {pos}/{len} memories alone  {elapsed}");
    let measured = StudyMemories::measure(study, |done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    measured
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
        writeln!(out::stderr(), "{warning} another build of vp ran {what}, which do not count")?;
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
