//! Bounded queues between processes (`sc_fifo`).

use crate::event::Event;
use crate::kernel::Sim;
use crate::schedule::Update;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

struct FifoState<T> {
    sim: Sim,
    capacity: usize,
    items: RefCell<VecDeque<T>>,
    /// Items that readers may see: those written before this delta cycle.
    readable: Cell<usize>,
    read: Cell<usize>,
    written: Cell<usize>,
    requested: Cell<bool>,
    data_written: Event,
    data_read: Event,
}

/// A bounded queue (`sc_fifo`). An item that is put in one delta cycle can be taken from the next one on, and
/// the room that a reader makes can be used from the next one on. So the order of processes does not matter.
///
/// Clones are handles of the same queue.
///
/// ```
/// use vp_core::{Fifo, Simulation};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let fifo = Fifo::new(&sim, "line", 2);
/// sim.process("producer", { let fifo = fifo.clone(); async move {
///     for item in 0..10 { fifo.put(item).await; }
/// }});
/// sim.process("consumer", async move {
///     for item in 0..10 { assert_eq!(fifo.get().await, item); }
/// });
/// simulation.run();
/// assert!(!simulation.idle_report().is_deadlock());
/// ```
pub struct Fifo<T>(Rc<FifoState<T>>);

impl<T> Clone for Fifo<T> {
    fn clone(&self) -> Fifo<T> {
        Fifo(self.0.clone())
    }
}

impl<T: 'static> Fifo<T> {
    /// A queue with room for `capacity` items.
    ///
    /// # Panics
    /// If `capacity` is zero.
    pub fn new(sim: &Sim, name: &str, capacity: usize) -> Fifo<T> {
        assert!(capacity > 0, "fifo {name} has no room at all");
        Fifo(Rc::new(FifoState {
            sim: sim.clone(),
            capacity,
            items: RefCell::default(),
            readable: Cell::new(0),
            read: Cell::new(0),
            written: Cell::new(0),
            requested: Cell::new(false),
            data_written: sim.event(format!("{name}.data_written")),
            data_read: sim.event(format!("{name}.data_read")),
        }))
    }

    /// Puts an item in; waits while there is no room.
    pub async fn put(&self, mut item: T) {
        while let Err(back) = self.try_put(item) {
            item = back;
            self.0.data_read.wait().await;
        }
    }

    /// Takes the oldest item; waits while there is none.
    pub async fn get(&self) -> T {
        loop {
            if let Some(item) = self.try_get() {
                return item;
            }
            self.0.data_written.wait().await;
        }
    }

    /// Puts an item in if there is room, or gives it back.
    ///
    /// ```
    /// use vp_core::{Fifo, Simulation};
    /// let mut simulation = Simulation::new();
    /// let fifo = Fifo::new(&simulation.sim(), "line", 2);
    /// assert_eq!((fifo.try_put(1), fifo.try_put(2), fifo.try_put(3)), (Ok(()), Ok(()), Err(3)));
    /// assert_eq!((fifo.num_available(), fifo.num_free()), (0, 0)); // there, but not to be taken yet
    /// simulation.run();
    /// assert_eq!((fifo.num_available(), fifo.try_get()), (2, Some(1)));
    /// ```
    pub fn try_put(&self, item: T) -> Result<(), T> {
        if self.num_free() == 0 {
            return Err(item);
        }
        self.0.items.borrow_mut().push_back(item);
        self.0.written.set(self.0.written.get() + 1);
        self.0.request();
        Ok(())
    }

    /// Takes the oldest item, if there is one.
    pub fn try_get(&self) -> Option<T> {
        if self.num_available() == 0 {
            return None;
        }
        let item = self.0.items.borrow_mut().pop_front();
        self.0.read.set(self.0.read.get() + 1);
        self.0.request();
        item
    }

    /// Returns the number of items that can be taken now.
    pub fn num_available(&self) -> usize {
        self.0.readable.get() - self.0.read.get()
    }

    /// Returns the number of items that can be put now.
    pub fn num_free(&self) -> usize {
        self.0.capacity - self.0.readable.get() - self.0.written.get()
    }

    /// Fires in the delta cycle after items were put.
    ///
    /// ```
    /// use vp_core::{Fifo, Simulation};
    /// let mut simulation = Simulation::new();
    /// let fifo = Fifo::new(&simulation.sim(), "line", 2);
    /// assert_eq!(fifo.try_put('a'), Ok(()));
    /// simulation.run();
    /// fifo.try_get();
    /// simulation.run();
    /// assert_eq!((fifo.data_written().fired(), fifo.data_read().fired()), (1, 1));
    /// ```
    pub fn data_written(&self) -> &Event {
        &self.0.data_written
    }

    /// Fires in the delta cycle after items were taken.
    pub fn data_read(&self) -> &Event {
        &self.0.data_read
    }
}

impl<T: 'static> FifoState<T> {
    fn request(self: &Rc<Self>) {
        if !self.requested.replace(true) {
            self.sim.request_update(self.clone());
        }
    }
}

impl<T: 'static> Update for FifoState<T> {
    fn update(&self) {
        self.requested.set(false);
        let (read, written) = (self.read.replace(0), self.written.replace(0));
        self.readable.set(self.readable.get() - read + written);
        if read > 0 {
            self.data_read.notify_delta();
        }
        if written > 0 {
            self.data_written.notify_delta();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulation;

    #[test]
    fn an_item_cannot_be_taken_in_the_delta_cycle_in_which_it_was_put() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let fifo = Fifo::new(&sim, "f", 4);
        sim.process("both", async move {
            fifo.put(1).await;
            assert_eq!(fifo.try_get(), None);
            fifo.data_written().wait().await;
            assert_eq!(fifo.try_get(), Some(1));
        });
        simulation.run();
        assert!(!simulation.idle_report().is_deadlock());
    }

    #[test]
    fn a_full_queue_makes_the_writer_wait() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let fifo = Fifo::new(&sim, "line", 3);
        let writer = fifo.clone();
        sim.process("writer", async move {
            for item in 0.. {
                writer.put(item).await;
            }
        });
        simulation.run();
        assert_eq!((fifo.num_available(), fifo.num_free()), (3, 0));
        let report = simulation.idle_report().to_string();
        assert_eq!(report, "nothing happens after 0 s; writer waits for line.data_read");
    }
}
