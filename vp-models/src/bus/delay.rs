//! A pipeline of fixed depth: items come out later, in order.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use vp_core::{Event, Name, Sim, Time};

/// A pipeline between one or more producers and one consumer: no back-pressure, nothing lost, first in
/// first out.
pub struct DelayLine<T> {
    sim: Sim,
    latency: Cell<Time>,
    items: RefCell<VecDeque<(Time, T)>>,
    arrived: Event,
}

impl<T> DelayLine<T> {
    /// A pipeline that takes `latency` from end to end.
    pub fn new(sim: &Sim, name: impl Into<Name>, latency: Time) -> DelayLine<T> {
        DelayLine {
            sim: sim.clone(),
            latency: Cell::new(latency),
            items: RefCell::default(),
            arrived: sim.work_event(name),
        }
    }

    /// Puts an item in; it comes out after the pipeline's latency.
    pub fn push(&self, item: T) {
        self.push_at(self.sim.now() + self.latency.get(), item);
    }

    /// Puts an item in that comes out at `due`, or with its predecessor if that is later; returns the time at
    /// which it does.
    pub fn push_at(&self, due: Time, item: T) -> Time {
        let mut items = self.items.borrow_mut();
        let due = items.back().map_or(due, |&(last, _)| due.max(last));
        items.push_back((due, item));
        if items.len() == 1 {
            // Who waits has nothing to do before the item comes out.
            self.arrived.notify_after(due.since(self.sim.now()));
        }
        due
    }

    /// Waits for the next item to come out.
    pub async fn next(&self) -> T {
        loop {
            let due = self.items.borrow().front().map(|&(due, _)| due);
            match due {
                None => self.arrived.wait().await,
                Some(due) if due > self.sim.now() => self.sim.wait_until(due).await,
                Some(_) => {
                    if let Some((_, item)) = self.items.borrow_mut().pop_front() {
                        return item;
                    }
                }
            }
        }
    }

    /// Returns the number of items inside.
    pub fn len(&self) -> usize {
        self.items.borrow().len()
    }

    /// Returns true if nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.items.borrow().is_empty()
    }

    /// Forgets what is inside (a reset).
    pub fn clear(&self) {
        self.items.borrow_mut().clear();
    }
}

impl<T> DelayLine<T> {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let DelayLine { sim: _, latency: _, items, arrived: _ } = self;
        at.at_rest(items.borrow().is_empty(), "something is on its way through a pipeline")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use vp_core::Simulation;

    #[test]
    fn items_come_out_in_order_after_the_latency() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let line = Rc::new(DelayLine::new(&sim, "pipe", Time::ns(5)));
        let seen = Rc::new(RefCell::new(Vec::new()));
        let (input, clock) = (line.clone(), sim.clone());
        sim.process("producer", async move {
            for item in 0..3 {
                input.push(item);
                clock.wait(Time::ns(2)).await;
            }
        });
        let (output, log, clock) = (line.clone(), seen.clone(), sim.clone());
        sim.server("consumer", async move {
            loop {
                let item = output.next().await;
                log.borrow_mut().push((clock.now(), item));
            }
        });
        simulation.run();
        assert_eq!(*seen.borrow(), [(Time::ns(5), 0), (Time::ns(7), 1), (Time::ns(9), 2)]);
        assert!(line.is_empty());
    }
}
