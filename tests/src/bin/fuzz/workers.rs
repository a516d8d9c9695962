//! A thread a core, each taking the next seed, and the one that watches them.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use rustix::thread::Pid;
use vp_tests::fuzz::{Target, case};
use vp_tests::progress::Progress;

/// A case that makes no progress while its thread runs for so long hangs.
const HANGS: Duration = Duration::from_secs(1);
/// Time after which a case whose thread waits hangs, far above what a machine with other work makes threads wait.
const WAITS: Duration = Duration::from_secs(60);

/// Condition at which to stop.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    Count(u64),
    Time(Duration),
}

/// Work that was done.
pub(crate) struct Done {
    pub(crate) cases: u64,
    pub(crate) units: u64,
    pub(crate) time: Duration,
}

/// A thread's work: the thread, how far it is, and the input.
type Case = (Worker, Arc<Progress>, Vec<u8>);

/// A thread, as Rust and the kernel name it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Worker {
    thread: ThreadId,
    kernel: Pid,
}

impl Worker {
    fn this() -> Worker {
        Worker { thread: std::thread::current().id(), kernel: rustix::thread::gettid() }
    }

    /// Time that it has run on a processor (proc(5), `schedstat`); none where the kernel does not tell.
    fn has_run(self) -> Option<Duration> {
        let path = format!("/proc/self/task/{}/schedstat", self.kernel);
        let nanoseconds = std::fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()?;
        Some(Duration::from_nanos(nanoseconds))
    }
}

/// Moment at which a worker was seen to make progress: the clock, and for how long it had run.
#[derive(Clone, Copy)]
struct ProgressMark {
    steps: u64,
    at: Instant,
    had_run: Option<Duration>,
}

impl ProgressMark {
    fn hangs(&self, now: Instant, has_run: Option<Duration>) -> bool {
        let waited = now - self.at;
        let ran = has_run.zip(self.had_run).map_or(waited, |(now, then)| now.saturating_sub(then));
        ran > HANGS || waited > WAITS
    }
}

pub(crate) struct Workers {
    target: Target,
    corpus: Vec<Vec<u8>>,
    first: u64,
    limit: Limit,
    begun: Instant,
    /// The next case, from 0.
    next: AtomicU64,
    cases: AtomicU64,
    units: AtomicU64,
    /// The cases that are run at this moment.
    current: Mutex<Vec<Case>>,
    /// One bad case is enough.
    has_failed: AtomicBool,
}

impl Workers {
    /// Runs cases until the limit; does not return when one fails.
    pub(crate) fn run(target: Target, first: u64, limit: Limit) -> std::io::Result<Done> {
        let workers = Arc::new(Workers {
            target,
            corpus: target.corpus()?,
            first,
            limit,
            begun: Instant::now(),
            next: AtomicU64::new(0),
            cases: AtomicU64::new(0),
            units: AtomicU64::new(0),
            current: Mutex::default(),
            has_failed: AtomicBool::new(false),
        });
        let watched = workers.clone();
        std::panic::set_hook(Box::new(move |panic| {
            watched.fail(&panic.to_string(), |worker| worker.thread == std::thread::current().id());
        }));
        let cores = std::thread::available_parallelism()?.get();
        let threads: Vec<JoinHandle<()>> = (0..cores)
            .map(|_| {
                let workers = workers.clone();
                std::thread::spawn(move || workers.work())
            })
            .collect();
        workers.watch(&threads);
        Ok(Done {
            cases: workers.cases.load(Ordering::Relaxed),
            units: workers.units.load(Ordering::Relaxed),
            time: workers.begun.elapsed(),
        })
    }

    /// The next case's number, if there is one.
    fn next(&self) -> Option<u64> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let is_within = match self.limit {
            Limit::Count(count) => next < count,
            Limit::Time(time) => self.begun.elapsed() < time,
        };
        is_within.then_some(next)
    }

    fn work(&self) {
        let (own, progress) = (Worker::this(), Progress::of_thread());
        while let Some(next) = self.next() {
            let seed = self.first.wrapping_add(next);
            let bytes = case(seed, self.target.form, &self.corpus);
            self.begin(own, &progress, bytes.clone());
            progress.step();
            let units = (self.target.run)(&bytes);
            self.cases.fetch_add(1, Ordering::Relaxed);
            self.units.fetch_add(units, Ordering::Relaxed);
        }
        self.lock().retain(|(worker, ..)| *worker != own);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Case>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, own: Worker, progress: &Arc<Progress>, bytes: Vec<u8>) {
        let mut current = self.lock();
        match current.iter_mut().find(|(worker, ..)| *worker == own) {
            Some((.., kept)) => *kept = bytes,
            None => current.push((own, progress.clone(), bytes)),
        }
    }

    /// Looks at all threads until they have ended.
    fn watch(&self, threads: &[JoinHandle<()>]) {
        let mut seen: Vec<(Worker, ProgressMark)> = Vec::new();
        while threads.iter().any(|thread| !thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            let at = Instant::now();
            let current: Vec<(Worker, u64)> =
                self.lock().iter().map(|(worker, progress, _)| (*worker, progress.steps())).collect();
            for &(worker, steps) in &current {
                let now = ProgressMark { steps, at, had_run: worker.has_run() };
                match seen.iter_mut().find(|(known, _)| *known == worker) {
                    None => seen.push((worker, now)),
                    Some((_, seen)) if seen.steps != steps => *seen = now,
                    Some((_, seen)) if seen.hangs(at, now.had_run) => {
                        self.fail(&format!("no progress for {} s", HANGS.as_secs()), |it| it == worker);
                    }
                    Some(_) => {}
                }
            }
            seen.retain(|(worker, _)| current.iter().any(|(other, _)| other == worker));
        }
    }

    /// Writes the case of the thread to a file, or those of all if it is a thread that has none, and ends the program.
    fn fail(&self, why: &str, is_it: impl Fn(Worker) -> bool) {
        if self.has_failed.swap(true, Ordering::Relaxed) {
            // Another thread is at it, and ends this one too.
            loop {
                std::thread::park();
            }
        }
        let current = self.lock();
        let is_known = current.iter().any(|(worker, ..)| is_it(*worker));
        let failed = current.iter().filter(|(worker, ..)| !is_known || is_it(*worker));
        let mut err = std::io::stderr();
        // Standard error may be closed: the files are there all the same.
        _ = writeln!(err, "{}: {why}", self.target.name);
        for (number, (.., bytes)) in failed.enumerate() {
            let file = PathBuf::from(format!("fuzz-{}-{}-{number}", self.target.name, std::process::id()));
            _ = match std::fs::write(&file, bytes) {
                Ok(()) => writeln!(err, "the case is in {}", file.display()),
                Err(error) => writeln!(err, "the case cannot be written to {}: {error}", file.display()),
            };
        }
        std::process::exit(1);
    }
}
