//! The levels of a memory system: each takes transfers, and answers each once.

use super::awaited::AwaitedEvent;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::counters::Statistics;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Event, Sim, Time};

/// A transfer, or the part of one that lies in one granule of the level that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransferPart {
    /// The tag that the sender gave it.
    pub(crate) owner: u64,
    pub(crate) write: bool,
    /// Counted from the start of the memory.
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    /// Priority of its master.
    pub(crate) priority: u8,
}

/// The function that is called when a part has been served, with its owner.
pub(crate) type Done = Box<dyn Fn(u64)>;

/// A cache, or what lies behind it.
pub(crate) trait Level {
    /// Bytes that are served at once: a part never crosses a multiple of this. A power of two.
    fn granule(&self) -> u32;

    /// Takes a part; false if there is no room for it now.
    fn offer(&self, part: TransferPart) -> bool;

    /// Fires when there may be room again.
    fn room(&self) -> &AwaitedEvent;

    /// Sets the function that is called once for each part taken: for a read when its data is there, for a
    /// write when the level has accepted it for good.
    fn on_done(&self, done: Done);

    /// Adds the level's own counters, and those of what lies behind it; latencies are in cycles of `period`.
    fn add_counters(&self, _period: Time, _statistics: &mut Statistics) {}

    /// Saves or restores the state that outlives an access.
    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError>;
}

/// Cuts `bytes` from `address` on at multiples of `granule`.
pub(crate) fn parts(address: u64, bytes: u32, granule: u32) -> impl Iterator<Item = (u64, u32)> {
    let granule = u64::from(granule);
    let (mut at, mut left) = (address, u64::from(bytes));
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let here = left.min(granule - at % granule);
        let part = (at, here as u32);
        at = at.wrapping_add(here);
        left -= here;
        Some(part)
    })
}

/// Served parts whose owners will be told later: in the order of their times, and at one time in the order in
/// which they were put in.
pub(crate) struct Answers {
    sim: Sim,
    /// The owners, each with the time at which it is told, in that order.
    waiting: RefCell<VecDeque<(Time, u64)>>,
    due: Event,
    done: RefCell<Option<Done>>,
}

impl Answers {
    pub(crate) fn new(sim: &Sim, name: &str) -> Rc<Answers> {
        let answers = Rc::new(Answers {
            sim: sim.clone(),
            waiting: RefCell::default(),
            due: sim.work_event(format!("{name}.answer")),
            done: RefCell::new(None),
        });
        sim.server(format!("{name}.answers"), answers.clone().tell());
        answers
    }

    pub(crate) fn on_done(&self, done: Done) {
        *self.done.borrow_mut() = Some(done);
    }

    /// The owner will be told at `time`.
    pub(crate) fn at(&self, time: Time, owner: u64) {
        let mut waiting = self.waiting.borrow_mut();
        let place = waiting.partition_point(|&(before, _)| before <= time);
        waiting.insert(place, (time, owner));
        if place == 0 {
            self.due.notify_delta();
        }
    }

    async fn tell(self: Rc<Self>) {
        loop {
            let (first, now) = (self.waiting.borrow().front().copied(), self.sim.now());
            match first {
                None => self.due.wait().await,
                Some((time, _)) if time > now => {
                    self.due.notify_after(time.since(now));
                    self.due.wait().await;
                }
                Some((_, owner)) => {
                    self.waiting.borrow_mut().pop_front();
                    if let Some(done) = &*self.done.borrow() {
                        done(owner);
                    }
                }
            }
        }
    }
}

impl Answers {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Answers { sim: _, waiting, due: _, done: _ } = self;
        at.at_rest(waiting.borrow().is_empty(), "an answer is due")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_core::Simulation;

    #[test]
    fn parts_end_at_the_granules_of_the_level() {
        assert_eq!(
            parts(0x7c, 200, 64).collect::<Vec<_>>(),
            [(0x7c, 4), (0x80, 64), (0xc0, 64), (0x100, 64), (0x140, 4)]
        );
        assert_eq!(parts(0x80, 32, 64).collect::<Vec<_>>(), [(0x80, 32)]);
    }

    #[test]
    fn answers_come_at_their_times_whatever_the_order_they_were_put_in() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let answers = Answers::new(&sim, "level");
        let seen: Rc<RefCell<Vec<(u64, u64)>>> = Rc::default();
        let (log, clock) = (seen.clone(), sim.clone());
        answers.on_done(Box::new(move |owner| log.borrow_mut().push((clock.now().as_ps(), owner))));
        answers.at(Time::ps(9), 1);
        answers.at(Time::ps(4), 2);
        answers.at(Time::ps(9), 3);
        simulation.run_until(Time::ps(5));
        answers.at(Time::ps(7), 4);
        simulation.run();
        assert_eq!(*seen.borrow(), [(4, 2), (7, 4), (9, 1), (9, 3)]);
    }
}
