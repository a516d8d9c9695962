//! The data of a read client: its bytes in the order of the requests, and the times of the beats that bring them.

use crate::bus::axi::bytes::Bytes;
use crate::bus::axi::{Answer, AxiTarget, Burst};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use vp_core::{Event, Time};

/// The bytes that a client has requested and not taken.
pub(in crate::bus::axi) struct ReadData {
    /// Bytes from the first that is not taken; what has not arrived yet holds its place.
    bytes: RefCell<Bytes>,
    /// Beats of which it is known when each is on the bus, and the bytes of it that are not taken.
    beats: RefCell<VecDeque<(Time, u32)>>,
    /// Number of bytes of these beats.
    arrived_bytes: Cell<usize>,
    arrived: Event,
    /// Number of bytes that the engine waits for; 0 if it does not wait.
    awaited_bytes: Cell<usize>,
}

impl ReadData {
    pub(super) fn new(arrived: Event) -> ReadData {
        ReadData {
            bytes: RefCell::default(),
            beats: RefCell::default(),
            arrived_bytes: Cell::new(0),
            arrived,
            awaited_bytes: Cell::new(0),
        }
    }

    /// Returns true if all data is taken.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.borrow().len() == 0 && self.beats.borrow().is_empty() && self.arrived_bytes.get() == 0
    }

    /// Returns true if the engine waits for bytes.
    pub(super) fn is_awaited(&self) -> bool {
        self.awaited_bytes.get() > 0
    }

    // What the engine's side does.

    /// Returns the arrival time of the next `bytes` bytes, if it is known.
    pub(in crate::bus::axi) fn due(&self, bytes: usize) -> Option<Time> {
        if self.arrived_bytes.get() < bytes {
            return None;
        }
        let mut found = 0;
        self.beats.borrow().iter().find_map(|&(due, bytes_of_beat)| {
            found += bytes_of_beat as usize;
            (found >= bytes).then_some(due)
        })
    }

    /// Waits until the arrival time of the next `bytes` bytes is known, and returns it.
    pub(in crate::bus::axi) async fn arrival(&self, bytes: usize) -> Time {
        let due = loop {
            if let Some(due) = self.due(bytes) {
                break due;
            }
            self.awaited_bytes.set(bytes);
            self.arrived.wait().await;
        };
        self.awaited_bytes.set(0);
        due
    }

    /// Passes the first bytes to `look`; they stay.
    pub(in crate::bus::axi) fn look<R>(&self, bytes: usize, look: impl FnOnce(&[u8]) -> R) -> R {
        look(self.bytes.borrow().first(bytes))
    }

    /// Removes the first bytes, which have arrived; returns the time at which they were on the bus.
    pub(super) fn drop_first(&self, bytes: usize, now: Time) -> Time {
        self.bytes.borrow_mut().drop_first(bytes);
        self.arrived_bytes.set(self.arrived_bytes.get() - bytes);
        let (mut left, mut due, mut beats) = (bytes as u32, now, self.beats.borrow_mut());
        while left > 0
            && let Some(front) = beats.front_mut()
        {
            let taken = front.1.min(left);
            due = front.0;
            front.1 -= taken;
            left -= taken;
            if front.1 == 0 {
                beats.pop_front();
            }
        }
        due
    }

    // What the interface does.

    /// Makes a place for a burst's data, none of which is there yet; returns its position.
    pub(in crate::bus::axi) fn reserve(&self, burst: &Burst) -> u64 {
        let mut data = self.bytes.borrow_mut();
        let position = data.end();
        data.grow(burst.bytes as usize);
        position
    }

    /// Asks the memory for a burst's data, and makes a place for it. What comes back is not in its place yet.
    pub(in crate::bus::axi) fn read(
        &self,
        target: &dyn AxiTarget,
        burst: &Burst,
    ) -> (u64, Option<Answer<Vec<u8>>>) {
        let mut data = self.bytes.borrow_mut();
        let position = data.end();
        let answer = match target.read_onto(burst, data.store()) {
            Some(Ok(())) => return (position, None),
            Some(Err(refused)) => Answer::Now(Err(refused)),
            None => target.read(burst),
        };
        data.grow(burst.bytes as usize);
        (position, Some(answer))
    }

    /// Stores bytes at their reserved position.
    pub(in crate::bus::axi) fn store(&self, position: u64, bytes: &[u8]) {
        self.bytes.borrow_mut().at(position, bytes.len()).copy_from_slice(bytes);
    }

    /// Adds a beat that is on the bus at `due`.
    #[inline]
    pub(super) fn add_beat(&self, due: Time, bytes: u32) {
        self.beats.borrow_mut().push_back((due, bytes));
        let arrived = self.arrived_bytes.get() + bytes as usize;
        self.arrived_bytes.set(arrived);
        let awaited_bytes = self.awaited_bytes.get();
        if awaited_bytes > 0 && arrived >= awaited_bytes {
            self.awaited_bytes.set(0);
            self.arrived.notify_delta();
        }
    }
}
