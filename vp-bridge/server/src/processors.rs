//! How many platforms' threads have much to do at a time: as many as there are processors, in turns.
//!
//! The system gives each thread that wants to run an equal part, so a platform that is asked for a register now and then would come
//! after a turn of each of 500 others. Therefore a thread that has more to do than a few commands waits until few enough others have
//! ([`Shift::begin_much`]), and there are two lines: one for threads that had nothing to do a short while ago, and the backlog of those
//! that have worked for long.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a thread may work before it is of the backlog; and how long one works while others wait.
const SLICE: Duration = Duration::from_millis(2);
/// How long a thread waits for a place. One that has a place may be in one long step of a model.
const PATIENCE: Duration = Duration::from_secs(1);

/// The lines, for all servers of this process.
static PROCESSORS: LazyLock<Processors> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    Processors { sparse: Line::new(processors), backlog: Line::new(processors) }
});

struct Processors {
    sparse: Line,
    backlog: Line,
}

/// Places, and who waits for one, first come, first served.
struct Line(Mutex<Places>);

struct Places {
    free: usize,
    waiting: VecDeque<Arc<Waiter>>,
}

struct Waiter {
    thread: Thread,
    has_place: AtomicBool,
}

impl Line {
    fn new(free: usize) -> Line {
        Line(Mutex::new(Places { free, waiting: VecDeque::new() }))
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place, which others may have to give back first. `None`: they have not for so long.
    fn enter(&self, patience: Duration) -> Option<Place<'_>> {
        let waiter = {
            let mut places = self.places();
            if places.free > 0 {
                places.free -= 1;
                return Some(Place(self));
            }
            let waiter = Arc::new(Waiter { thread: thread::current(), has_place: AtomicBool::new(false) });
            places.waiting.push_back(waiter.clone());
            waiter
        };
        let until = Instant::now() + patience;
        loop {
            thread::park_timeout(until.saturating_duration_since(Instant::now()));
            if waiter.has_place.load(Ordering::Acquire) {
                return Some(Place(self));
            }
            if Instant::now() >= until {
                let mut places = self.places();
                // It may have come just now.
                let has_place = waiter.has_place.load(Ordering::Acquire);
                places.waiting.retain(|other| !Arc::ptr_eq(other, &waiter));
                return has_place.then(|| Place(self));
            }
        }
    }

    fn is_waited_for(&self) -> bool {
        !self.places().waiting.is_empty()
    }
}

/// A place, until it is dropped: the next one who waits has it then.
struct Place<'a>(&'a Line);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut places = self.0.places();
        match places.waiting.pop_front() {
            Some(next) => {
                next.has_place.store(true, Ordering::Release);
                next.thread.unpark();
            }
            None => places.free += 1,
        }
    }
}

/// A platform's thread among the others, from when it has something to do until it has nothing more.
#[derive(Default)]
pub(crate) struct Shift {
    began: Option<Instant>,
    /// Since when it goes on, whether it has really got a place, and whether that is one of the backlog.
    going: Option<Going>,
}

struct Going {
    _place: Option<Place<'static>>,
    since: Instant,
    is_backlog: bool,
}

impl Shift {
    /// There is more to do than a few commands: waits until it may be done. To be called again while it is done.
    pub(crate) fn begin_much(&mut self) {
        let now = Instant::now();
        let is_backlog = now - *self.began.get_or_insert(now) >= SLICE;
        let line = if is_backlog { &PROCESSORS.backlog } else { &PROCESSORS.sparse };
        let may_go_on = |going: &Going| {
            going.is_backlog == is_backlog && (now - going.since < SLICE || !line.is_waited_for())
        };
        if self.going.as_ref().is_some_and(may_go_on) {
            return;
        }
        self.going = None;
        let place = line.enter(PATIENCE);
        self.going = Some(Going { _place: place, since: Instant::now(), is_backlog });
    }

    /// Nothing is to be done.
    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    /// Has threads wait in a line, one after the other; they say their number when they have a place, and keep it until told.
    fn wait_in_line(line: &'static Line, count: usize, said: &Sender<usize>) -> Vec<Sender<()>> {
        let wait = |number| {
            let before = line.places().waiting.len();
            let (go, may_go) = channel();
            let said = said.clone();
            thread::spawn(move || {
                let place = line.enter(LONG);
                said.send(number).unwrap();
                let _ = may_go.recv();
                drop(place);
            });
            while line.places().waiting.len() == before {
                thread::yield_now();
            }
            go
        };
        (0..count).map(wait).collect()
    }

    fn line(places: usize) -> &'static Line {
        Box::leak(Box::new(Line::new(places)))
    }

    #[test]
    fn who_has_waited_longest_has_the_next_place() {
        let line = line(2);
        let (first, second) = (line.enter(LONG).unwrap(), line.enter(LONG).unwrap());
        let (said, who): (_, Receiver<usize>) = channel();
        let waiting = wait_in_line(line, 3, &said);
        drop(second);
        assert_eq!(who.recv(), Ok(0));
        drop(first);
        assert_eq!(who.recv(), Ok(1));
        assert!(who.try_recv().is_err() && line.is_waited_for());
        drop(waiting);
        assert_eq!(who.recv(), Ok(2));
    }

    #[test]
    fn who_has_waited_for_long_goes_on_without_a_place_and_takes_nobodys() {
        let line = line(1);
        let first = line.enter(LONG).unwrap();
        assert!(line.enter(Duration::from_millis(1)).is_none());
        assert!(!line.is_waited_for());
        drop(first);
        assert!(line.enter(LONG).is_some());
    }
}
