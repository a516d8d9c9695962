//! Work that may take as long as a peer wants, done in threads that may wait.
//!
//! Files and memory that a peer has passed are released by closing and unmapping, and neither is sure to
//! return. close(2) of a socket lingers when its peer has asked for that (`SO_LINGER`, socket(7)). A file of a
//! file system in user space is closed when its server says so (FUSE). The last holder of a memory file frees
//! all of its pages. So this is done in separate threads, which end when they have nothing to do.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Threads at most: so many peers can hold one up, each for itself.
const THREADS: usize = 64;
/// How long a thread waits for more to do.
const IDLE: Duration = Duration::from_secs(1);
/// Bytes of a thread's stack.
const STACK: usize = 64 << 10;

type Work = Box<dyn FnOnce() + Send>;

struct State {
    waiting: VecDeque<Work>,
    threads: usize,
    idle: usize,
    /// Whether a thread has been started that does nothing yet.
    starts: bool,
}

static STATE: Mutex<State> =
    Mutex::new(State { waiting: VecDeque::new(), threads: 0, idle: 0, starts: false });
static MORE: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Makes sure that a thread takes the waiting work, even if all working threads are blocked.
    fn staff(&mut self) {
        if self.waiting.is_empty() || self.idle > 0 || self.starts || self.threads == THREADS {
            return;
        }
        let thread = thread::Builder::new().name("vp-deferred".into()).stack_size(STACK);
        // Without a thread it is done by one of those there are, or with the next.
        self.starts = thread.spawn(work_off).is_ok();
        self.threads += usize::from(self.starts);
    }
}

/// Has this done soon, in a thread that may wait.
pub(crate) fn defer(work: Work) {
    let mut state = lock();
    state.waiting.push_back(work);
    state.staff();
    drop(state);
    MORE.notify_one();
}

/// A thread's life.
fn work_off() {
    let mut state = lock();
    state.starts = false;
    loop {
        while let Some(work) = state.waiting.pop_front() {
            state.staff();
            drop(state);
            work();
            state = lock();
        }
        state.idle += 1;
        let (again, waited) = MORE.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
        state = again;
        state.idle -= 1;
        if waited.timed_out() && state.waiting.is_empty() {
            state.threads -= 1;
            return;
        }
    }
}

/// A value that is dropped in a thread that may wait.
#[derive(Debug)]
pub struct Deferred<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> Deferred<T> {
    /// With this value.
    pub fn new(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T: Send + 'static> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("a value until it is dropped")
    }
}

impl<T: Send + 'static> DerefMut for Deferred<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("a value until it is dropped")
    }
}

impl<T: Send + 'static> Drop for Deferred<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        defer(Box::new(move || drop(value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Says when it is dropped, and waits until it may.
    struct Slow {
        begins: mpsc::Sender<thread::ThreadId>,
        may_end: mpsc::Receiver<()>,
    }

    impl Drop for Slow {
        fn drop(&mut self) {
            self.begins.send(thread::current().id()).unwrap();
            self.may_end.recv().unwrap();
        }
    }

    #[test]
    fn who_drops_does_not_wait_and_one_that_takes_long_holds_up_no_other() {
        let (begins, has_begun) = mpsc::channel();
        let mut ends = Vec::new();
        for _ in 0..3 {
            let (end, may_end) = mpsc::channel();
            drop(Deferred::new(Slow { begins: begins.clone(), may_end }));
            ends.push(end);
        }
        // All are under way, though none has ended.
        let mut threads: Vec<_> = (0..3).map(|_| has_begun.recv().unwrap()).collect();
        threads.push(thread::current().id());
        let all: std::collections::HashSet<_> = threads.iter().collect();
        assert_eq!(all.len(), 4);
        ends.iter().for_each(|end| end.send(()).unwrap());
    }
}
