//! Limits how many platforms' threads do long work at a time: as many as there are processors, in turns.
//!
//! The system gives each runnable thread an equal part. So a platform with little work would share the
//! processors with 500 platforms that always have work. Those wait for each other in a queue
//! ([`WorkPeriod::go_on`]). A thread that is idle now and then is scheduled by the system, which lets it run soon.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Time that a thread may work, by what it takes of a processor, before it waits in the line; and time that one works while others wait.
const SLICE: Duration = Duration::from_millis(2);
/// Passes of a thread's loop that are no work to speak of.
const FEW: u32 = 4;
/// Time for which a thread waits for a place. One that has a place may be in one long step of a model.
const PATIENCE: Duration = Duration::from_secs(1);

/// For all servers of this process.
static LINE: LazyLock<Line> =
    LazyLock::new(|| Line::new(thread::available_parallelism().map_or(1, NonZero::get)));

/// The places, and the threads that wait for one, first come, first served.
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
    const fn new(free: usize) -> Line {
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

/// A place; when it is dropped, the next waiting thread gets it.
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
pub(crate) struct WorkPeriod {
    passes: u32,
    began: Option<(Instant, Duration)>,
    /// A place, unless none was to be had; and since when it goes on.
    going: Option<(Option<Place<'static>>, Instant)>,
}

impl WorkPeriod {
    /// Notes that there is more to do: waits until that may be done, after each pass of the thread's loop.
    pub(crate) fn go_on(&mut self) {
        self.passes = self.passes.saturating_add(1);
        if self.passes < FEW {
            return;
        }
        let now = Instant::now();
        let (began, used) = *self.began.get_or_insert_with(|| (now, processor_time()));
        let may_go_on = match &self.going {
            Some((_, since)) => now - *since < SLICE || !LINE.is_waited_for(),
            None => now - began < SLICE || processor_time().saturating_sub(used) < SLICE,
        };
        if !may_go_on {
            self.going = None;
            let place = LINE.enter(PATIENCE);
            self.going = Some((place, Instant::now()));
        }
    }

    /// Nothing is to be done.
    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }
}

/// Returns the time that this thread has taken of a processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
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

    #[test]
    fn who_has_waited_longest_has_the_next_place() {
        static LINE: Line = Line::new(2);
        let line = &LINE;
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
        static LINE: Line = Line::new(1);
        let line = &LINE;
        let first = line.enter(LONG).unwrap();
        assert!(line.enter(Duration::from_millis(1)).is_none());
        assert!(!line.is_waited_for());
        drop(first);
        assert!(line.enter(LONG).is_some());
    }
}
