//! Runs the points of a study on all cores, and keeps each as it is done.
//!
//! Threads share networks and plans, which nobody changes. Each point has a platform of its own, and one
//! thread alone writes: a point counts once it is on the disk.

use super::bench::{Bench, Job};
use super::file::Study;
use super::inputs::Inputs;
use super::measured::Outcome;
use super::point::Point;
use super::store::{Finished, Store, StoreError};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime};

/// One of several equal parts of a study: every n-th point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Number of the shard, from one.
    pub index: usize,
    /// Number of shards.
    pub of: usize,
}

impl Shard {
    /// The whole study.
    pub const WHOLE: Shard = Shard { index: 1, of: 1 };

    /// Returns true if a point belongs to the shard.
    pub fn has(&self, point: &Point) -> bool {
        (point.number - 1) % self.of == self.index - 1
    }

    /// Returns the name of the file where the shard's points are kept.
    pub fn file(&self) -> String {
        match self.of {
            1 => "points.jsonl".to_owned(),
            of => format!("points-{}-of-{of}.jsonl", self.index),
        }
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts =
            text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((index, of)) if (1..=of).contains(&index) => Ok(Shard { index, of }),
            _ => Err("a shard is I/N, such as 2/8: I from 1 to N".to_owned()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

/// A point with what is to be run, or why nothing can be.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The point.
    pub point: Point,
    /// Key of the point in the store.
    pub key: String,
    /// Job that is to be run, or why nothing can be.
    pub job: Result<Job, String>,
    /// True if what happens over time is kept.
    pub closely: bool,
}

/// Looks at all points of a study.
pub fn plan(study: &Study, bench: &Bench, closely: &HashSet<usize>) -> Vec<Planned> {
    let planned = |point: &Point| {
        let job = bench.job(point);
        let key = match &job {
            Ok(job) => job.key.clone(),
            Err(_) => bench.key_of_failure(point),
        };
        let closely = closely.contains(&point.number) && !bench.has_outside();
        Planned { point: point.clone(), key, job, closely }
    };
    study.points.iter().map(planned).collect()
}

/// Returns why no point at all can run, if that is so: the first one's reason.
pub fn none_runs(points: &[Planned]) -> Option<&str> {
    let first = points.first()?.job.as_ref().err()?;
    points.iter().all(|planned| planned.job.is_err()).then_some(first)
}

/// Runs what is not in the store yet, on so many threads, and tells of each point that is done.
///
/// # Errors
/// When a point cannot be kept; what was kept before is.
pub fn run(
    points: &[&Planned],
    bench: &Bench,
    (store, program): (&mut Store, &str),
    threads: NonZeroUsize,
    mut told: impl FnMut(&Planned, &Finished, Duration),
) -> Result<(), StoreError> {
    let (next, stopped) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (tell, done) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(points.len()) {
            let (tell, next, stopped) = (tell.clone(), &next, &stopped);
            scope.spawn(move || {
                while stopped.load(Ordering::Relaxed) == 0 {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&planned) = points.get(at) else { return };
                    let started = Instant::now();
                    let outcome = match &planned.job {
                        Ok(job) => bench.run(job, planned.closely),
                        Err(why) => Outcome::Failed(why.clone()),
                    };
                    if tell.send((planned, outcome, started.elapsed())).is_err() {
                        return;
                    }
                }
            });
        }
        drop(tell);
        // One thread alone writes: no point waits for the disk.
        for (planned, outcome, took) in done {
            let at = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as u64);
            let inputs = planned.job.as_ref().ok().map(Inputs::of);
            let finished = Finished::new(&planned.key, program, &planned.point.to_string(), outcome);
            let finished = Finished { at, inputs, ..finished };
            if let Err(error) = store.keep(finished) {
                stopped.store(1, Ordering::Relaxed);
                return Err(error);
            }
            // What is told is on the disk.
            store.all().last().into_iter().for_each(|finished| told(planned, finished, took));
        }
        Ok(())
    })
}

/// Returns the points that are not in the store: those that are looked at closely must have been so, and those that cannot run for another
/// reason than is kept tell the new one.
pub fn missing<'a>(points: &'a [Planned], store: &Store, program: &str, again: bool) -> Vec<&'a Planned> {
    let kept = store.of_program(program);
    let is_missing = |planned: &&Planned| match kept.get(planned.key.as_str()).map(|kept| &kept.outcome) {
        None => true,
        Some(Outcome::Failed(kept)) => again || planned.job.as_ref().is_err_and(|why| why != kept),
        Some(Outcome::Ran(measured)) => planned.closely && measured.timeline.is_none(),
    };
    let mut seen = HashSet::new();
    let missing = points.iter().filter(is_missing).filter(|planned| seen.insert(planned.key.as_str()));
    by_turns(missing.collect())
}

/// One of each kind after the other, so that it is soon known how long each takes.
fn by_turns(points: Vec<&Planned>) -> Vec<&Planned> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut turns: Vec<(usize, &Planned)> = points
        .into_iter()
        .map(|planned| {
            let count = counts.entry(planned.point.kind()).or_default();
            *count += 1;
            (*count, planned)
        })
        .collect();
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, planned)| planned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_part_the_points() {
        let points: Vec<Point> = (1..=10).map(|number| Point::new(number, Vec::new(), Vec::new())).collect();
        for of in 1..=11 {
            let shards: Vec<Shard> = (1..=of).map(|index| Shard { index, of }).collect();
            for point in &points {
                assert_eq!(shards.iter().filter(|shard| shard.has(point)).count(), 1);
            }
        }
    }

    #[test]
    fn kinds_take_turns() {
        let planned = |number: usize, network: &str| {
            let varied = vec![("network".to_owned(), network.into())];
            let point = Point::new(number, varied, Vec::new());
            Planned { point, key: number.to_string(), job: Err(String::new()), closely: false }
        };
        let points = [planned(1, "a"), planned(2, "a"), planned(3, "a"), planned(4, "b"), planned(5, "b")];
        let order: Vec<usize> = by_turns(points.iter().collect()).iter().map(|it| it.point.number).collect();
        assert_eq!(order, [1, 4, 2, 5, 3]);
    }

    #[test]
    fn a_shard_is_written_as_it_is_read() {
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2/8");
        for wrong in ["0/3", "4/3", "3", "a/b", "1/0", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
