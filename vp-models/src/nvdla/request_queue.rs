//! The queue through which a read DMA tells its datapath of requests, of engines for which that is modelled.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::RefCell;
use std::collections::VecDeque;
use vp_core::{Event, Sim, Time};

/// The places of requests that the datapath has not begun.
pub(crate) struct RequestQueue {
    sim: Sim,
    places: usize,
    /// Times from which the free ones may be used.
    free: RefCell<VecDeque<Time>>,
    freed: Event,
}

impl RequestQueue {
    pub(crate) fn new(sim: &Sim, name: &str, places: u32) -> RequestQueue {
        let places = places as usize;
        RequestQueue {
            sim: sim.clone(),
            places,
            free: RefCell::new(vec![Time::ZERO; places].into()),
            freed: sim.event(format!("{name}.freed")),
        }
    }

    /// Waits for a place, and takes it.
    pub(crate) async fn enter(&self) {
        loop {
            let free = self.free.borrow_mut().pop_front();
            match free {
                Some(free) => return self.sim.wait_until(free).await,
                None => self.freed.wait().await,
            }
        }
    }

    /// Gives back the place of the oldest request, which may be used from `free` on.
    pub(crate) fn leave(&self, free: Time) {
        self.free.borrow_mut().push_back(free);
        self.freed.notify_delta();
    }

    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let RequestQueue { sim: _, places, free, freed: _ } = self;
        at.place(free)?;
        at.check(free.borrow().len() == *places, "a read DMA has requests under way")
    }
}
