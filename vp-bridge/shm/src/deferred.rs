//! Work that may take long, done in threads that may wait.
//!
//! Files that a peer has passed are closed, and close(2) may not return before the peer wants it to: it lingers on a socket whose
//! peer has asked for that (`SO_LINGER`, socket(7)), and a file of a file system in user space is closed when its server says so
//! (FUSE). Memory of a peer is unmapped, and the last holder of a memory file frees all of its pages. That takes long, but waits for
//! nobody. So each of the two has threads of its own: a peer whose files are not closed keeps no memory mapped. Threads end when they
//! have nothing to do.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Threads of a pool at most: so many peers can hold one up, each for itself.
const THREADS: usize = 64;
/// Time for which a thread waits for more to do.
const IDLE: Duration = Duration::from_secs(1);
/// Bytes of a thread's stack.
const STACK: usize = 64 << 10;

/// Closes what peers have passed.
static CLOSING: Pool = Pool::new("vp-closing");
/// Frees memory. This work waits for no peer.
static UNMAPPING: Pool = Pool::new("vp-unmapping");

type Work = Box<dyn FnOnce() + Send>;

/// Threads that share their work.
struct Pool {
    name: &'static str,
    state: Mutex<PoolState>,
    more: Condvar,
}

struct PoolState {
    waiting: VecDeque<Work>,
    threads: usize,
    idle: usize,
    /// True if a thread has been started that does nothing yet.
    starts: bool,
}

impl Pool {
    const fn new(name: &'static str) -> Self {
        let state = PoolState { waiting: VecDeque::new(), threads: 0, idle: 0, starts: false };
        Self { name, state: Mutex::new(state), more: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has this done soon.
    fn defer(&'static self, work: Work) {
        let mut state = self.lock();
        state.waiting.push_back(work);
        self.staff(&mut state);
        drop(state);
        self.more.notify_one();
    }

    /// Makes sure that a thread takes the waiting work, even if all working threads are blocked.
    fn staff(&'static self, state: &mut PoolState) {
        if state.waiting.is_empty() || state.idle > 0 || state.starts || state.threads == THREADS {
            return;
        }
        let thread = thread::Builder::new().name(self.name.into()).stack_size(STACK);
        // Without a thread it is done by one of those there are, or with the next.
        state.starts = thread.spawn(move || self.work_off()).is_ok();
        state.threads += usize::from(state.starts);
    }

    /// A thread's life.
    fn work_off(&'static self) {
        let mut state = self.lock();
        state.starts = false;
        loop {
            while let Some(work) = state.waiting.pop_front() {
                self.staff(&mut state);
                drop(state);
                work();
                state = self.lock();
            }
            state.idle += 1;
            let (again, waited) = self.more.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = again;
            state.idle -= 1;
            if waited.timed_out() && state.waiting.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

/// Has something closed soon that a peer has passed.
pub(crate) fn close(work: Work) {
    CLOSING.defer(work);
}

/// A value that is dropped in a thread that may take long, because it has memory mapped. Dropping it must not wait for a peer.
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
        UNMAPPING.defer(Box::new(move || drop(value)));
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

    /// Says when it is dropped.
    struct Tells(mpsc::Sender<()>);

    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }

    #[test]
    fn memory_is_unmapped_while_no_file_of_a_peer_can_be_closed() {
        const LONG: Duration = Duration::from_secs(60);
        let (begins, has_begun) = mpsc::channel();
        let keep = |_| {
            let (end, may_end) = mpsc::channel::<()>();
            let begins = begins.clone();
            close(Box::new(move || {
                begins.send(()).unwrap();
                _ = may_end.recv();
            }));
            end
        };
        let ends: Vec<_> = (0..THREADS).map(keep).collect();
        ends.iter().for_each(|_| has_begun.recv_timeout(LONG).unwrap());
        let (tells, told) = mpsc::channel();
        drop(Deferred::new(Tells(tells)));
        assert_eq!(told.recv_timeout(LONG), Ok(()));
        drop(ends);
    }
}
