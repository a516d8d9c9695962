//! The reads that the interface makes for a client without a latency FIFO, by calling up to its engine.

use super::queue::RunQueue;
use crate::bus::axi::burst::{Cut, Run};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::{Event, Time};

/// Transactions that a client without a latency FIFO has waiting for the arbiter, at most: the requests in its pipeline.
const REQUESTS_AHEAD: usize = 64;

/// A read that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Time at which the read can be made at the earliest.
    pub due: Time,
    /// Byte address.
    pub address: u64,
    /// Bytes.
    pub bytes: u32,
}

/// Generates the reads of a client, one after the other.
pub trait Requester {
    /// The next read, when the previous one was made at `now`. `None`: it is not known yet, or there are no
    /// more.
    fn next(&self, now: Time) -> Option<Request>;
}

/// A requester and its present read, as far as that is not queued.
struct Present {
    requester: Rc<dyn Requester>,
    left: Request,
}

/// The reads of a client's requester.
pub(in crate::bus::axi) struct GeneratedReads {
    present: RefCell<Option<Present>>,
    /// Time of the next read; [`Time::MAX`] if that has no room in the queue.
    next: Cell<Time>,
    /// Event at which the requester has no more reads.
    done: Event,
}

impl GeneratedReads {
    pub(super) fn new(done: Event) -> GeneratedReads {
        GeneratedReads { present: RefCell::default(), next: Cell::new(Time::MAX), done }
    }

    /// Starts a requester; returns its first read, if there is one.
    pub(super) fn start(&self, requester: Rc<dyn Requester>, now: Time) -> Option<Request> {
        let first = requester.next(now)?;
        self.next.set(first.due);
        *self.present.borrow_mut() = Some(Present { requester, left: first });
        Some(first)
    }

    /// Waits until the requester has no more reads.
    pub(super) async fn made(&self) {
        while self.present.borrow().is_some() {
            self.done.wait().await;
        }
    }

    /// Returns the time of the next read; [`Time::MAX`] if that waits for room in the queue.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.next.get()
    }

    /// Queues the reads that are due by now, as far as there is room for them, and calls `begin` with the bytes of each that begins; returns the
    /// time of the next one. `None`: there is none.
    pub(super) fn generate(
        &self,
        now: Time,
        (queue, cut): (&RunQueue, Cut),
        mut begin: impl FnMut(u32),
    ) -> Option<Time> {
        let mut present = self.present.borrow_mut();
        let Present { requester, left } = present.as_mut()?;
        loop {
            if left.due > now {
                self.next.set(left.due);
                return Some(left.due);
            }
            let mut rest = Run { address: left.address, bytes: left.bytes };
            queue.fill(cut, &mut rest, REQUESTS_AHEAD);
            (left.address, left.bytes) = (rest.address, rest.bytes);
            if left.bytes > 0 {
                // Goes on with the next grant.
                self.next.set(Time::MAX);
                return Some(Time::MAX);
            }
            match requester.next(now) {
                Some(next) => {
                    begin(next.bytes);
                    *left = next;
                }
                None => {
                    *present = None;
                    self.done.notify_delta();
                    return None;
                }
            }
        }
    }

    /// Notes that the arbiter has taken a burst from the queue: a read that waits for room there has it now.
    #[inline]
    pub(super) fn granted(&self) {
        if self.next.get() == Time::MAX {
            self.next.set(Time::ZERO);
        }
    }

    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        at.at_rest(self.present.borrow().is_none(), "a read is asked for")?;
        at.cell(&self.next)
    }
}
