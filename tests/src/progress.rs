//! Progress of work in another thread, for who watches that it does not hang.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Progress of a thread.
#[derive(Debug, Default)]
pub struct Progress {
    /// Counts what has been done; its value means nothing.
    steps: AtomicU64,
    /// Name of the work under way.
    at: Mutex<String>,
}

impl Progress {
    /// Something has been done.
    pub fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// Something else begins.
    pub fn begin(&self, what: String) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = what;
        self.step();
    }

    /// A number that is another one when something has been done since.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Returns the name of the work under way.
    pub fn at(&self) -> String {
        self.at.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the progress of this thread.
    pub fn of_thread() -> Arc<Progress> {
        thread_local!(static OWN: Arc<Progress> = Arc::default());
        OWN.with(Arc::clone)
    }
}

/// Does work in another thread and gives its result.
///
/// # Panics
/// When the work panics, or takes no step for so long: the message says what it was at.
pub fn watched<T: Send + 'static>(hangs: Duration, work: impl FnOnce(&Progress) -> T + Send + 'static) -> T {
    let (sender, done) = channel();
    let (told, progress) = channel();
    let work = std::thread::spawn(move || {
        let progress = Progress::of_thread();
        let _ = told.send(progress.clone());
        let _ = sender.send(work(&progress));
    });
    let progress = progress.recv().expect("a thread that has begun");
    loop {
        let before = progress.steps();
        match done.recv_timeout(hangs) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => {
                assert_ne!(before, progress.steps(), "{} hangs: there is no progress", progress.at());
            }
            Err(RecvTimeoutError::Disconnected) => {
                let why = work.join().map(drop).expect_err("it ended without a result");
                let text = why.downcast_ref::<String>().map(String::as_str);
                panic!(
                    "{}: {}",
                    progress.at(),
                    text.or(why.downcast_ref::<&str>().copied()).unwrap_or_default()
                );
            }
        }
    }
}

/// The most memory that this process ever had, in bytes, where the system tells; as it is approximate, a later figure may be
/// smaller.
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10
}
