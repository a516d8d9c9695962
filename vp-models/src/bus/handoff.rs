//! A registered FIFO between two pipeline stages.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use vp_core::{Event, Name, Sim, Time};

/// A FIFO of fixed depth whose full and empty signals are registered: an item can be taken `forward` after it
/// was put, and its place can be used again `backward` after it was taken.
///
/// One process puts, one takes. [`Handoff::room`] and [`Handoff::ready`] wait; [`Handoff::put`] and
/// [`Handoff::take`] then act at that very time, so that a stage can join several of them.
pub struct Handoff<T> {
    sim: Sim,
    forward: Time,
    backward: Cell<Time>,
    depth: Cell<usize>,
    /// Times at which the free places may be used.
    places: RefCell<VecDeque<Time>>,
    items: RefCell<VecDeque<(Time, T)>>,
    /// Number of items for which a place is kept, and that have not been put.
    reserved: Cell<usize>,
    /// Time at which the last item was taken.
    taken_at: Cell<Time>,
    /// True if somebody waits for an item, or for a place; the number of items that may be left where somebody waits for the others to be taken. The
    /// events are for these, and come when the wait is over.
    awaits_item: Cell<bool>,
    awaits_place: Cell<bool>,
    awaits_left: Cell<Option<usize>>,
    put: Event,
    taken: Event,
    few_left: Event,
}

impl<T> Handoff<T> {
    /// An empty FIFO of `depth` places.
    pub fn new(sim: &Sim, name: impl Into<Name>, depth: usize, forward: Time, backward: Time) -> Handoff<T> {
        let name = name.into();
        Handoff {
            sim: sim.clone(),
            forward,
            backward: Cell::new(backward),
            depth: Cell::new(depth.max(1)),
            places: RefCell::new(vec![Time::ZERO; depth.max(1)].into()),
            items: RefCell::default(),
            reserved: Cell::default(),
            taken_at: Cell::new(Time::ZERO),
            awaits_item: Cell::default(),
            awaits_place: Cell::default(),
            awaits_left: Cell::default(),
            put: sim.event(format!("{name}.put")),
            taken: sim.event(format!("{name}.taken")),
            few_left: sim.event(format!("{name}.taken")),
        }
    }

    /// Changes the number of places, at least one; from now on each can be used again `backward` after an item
    /// was taken out of it. Items in the FIFO are not lost: they leave first.
    pub fn set_depth(&self, depth: usize, backward: Time) {
        self.depth.set(depth.max(1));
        self.backward.set(backward);
        let mut places = self.places.borrow_mut();
        let free = self.depth.get().saturating_sub(self.items.borrow().len());
        // Those that come back last are those that are dropped or added.
        places.resize(free, self.sim.now());
    }

    /// Waits until a place is free.
    pub async fn room(&self) {
        self.room_from(Time::ZERO).await;
    }

    /// Waits until a place is free, and until `earliest`.
    pub async fn room_from(&self, earliest: Time) {
        loop {
            let free = self.places.borrow().front().copied();
            match free {
                Some(free) => return self.sim.wait_until(free.max(earliest)).await,
                None => {
                    self.awaits_place.set(true);
                    self.taken.wait().await;
                }
            }
        }
    }

    /// Puts an item in; the caller has waited for [`Handoff::room`].
    pub fn put(&self, item: T) {
        self.put_later(item, Time::ZERO);
    }

    /// Puts in, as [`put`](Self::put) does, an item that is on its way for so much longer.
    pub fn put_later(&self, item: T, later: Time) {
        self.reserve();
        self.put_reserved(item, later);
    }

    /// Keeps a place for an item that is put later; the caller has waited for [`Handoff::room`].
    pub fn reserve(&self) {
        self.places.borrow_mut().pop_front();
        self.reserved.set(self.reserved.get() + 1);
    }

    /// Puts in, as [`put_later`](Self::put_later) does, an item for which a place has been kept.
    pub fn put_reserved(&self, item: T, later: Time) {
        let later = self.forward + later;
        self.reserved.set(self.reserved.get() - 1);
        self.items.borrow_mut().push_back((self.sim.now() + later, item));
        // Who waits found none: this is the first.
        if self.awaits_item.take() {
            self.put.notify_after(later);
        }
    }

    /// Waits until an item is there.
    pub async fn ready(&self) {
        loop {
            let due = self.items.borrow().front().map(|&(due, _)| due);
            match due {
                Some(due) => return self.sim.wait_until(due).await,
                None => {
                    self.awaits_item.set(true);
                    self.put.wait().await;
                }
            }
        }
    }

    /// Waits until all items but `most` have been taken, those counted for which a place is kept; tells when the last one was taken, if just as many are left.
    pub async fn left(&self, most: usize) -> Option<Time> {
        while self.not_taken() > most {
            self.awaits_left.set(Some(most));
            self.few_left.wait().await;
        }
        (self.not_taken() == most).then(|| self.taken_at.get())
    }

    fn not_taken(&self) -> usize {
        self.items.borrow().len() + self.reserved.get()
    }

    /// The time since which the oldest item can be taken, if there is one.
    pub fn since(&self) -> Option<Time> {
        self.items.borrow().front().map(|&(due, _)| due)
    }

    /// Looks at the oldest item, if there is one.
    pub fn first<R>(&self, look: impl FnOnce(&T) -> R) -> Option<R> {
        self.items.borrow().front().map(|(_, item)| look(item))
    }

    /// Takes the oldest item, if [`Handoff::ready`] has found one.
    pub fn take(&self) -> Option<T> {
        self.take_as_of(|_| (self.sim.now(), self.sim.now()))
    }

    /// Takes it, as [`take`](Self::take) does; tells by the item since or from when its place is free, and since when it counts as taken.
    pub fn take_as_of(&self, times: impl FnOnce(&T) -> (Time, Time)) -> Option<T> {
        let (_, item) = self.items.borrow_mut().pop_front()?;
        let (free, taken) = times(&item);
        self.taken_at.set(taken);
        let mut places = self.places.borrow_mut();
        if places.len() + self.items.borrow().len() < self.depth.get() {
            places.push_back(free + self.backward.get());
            if self.awaits_place.take()
                && let Some(free) = places.front()
            {
                self.taken.notify_after(free.since(self.sim.now()));
            }
        }
        drop(places);
        if self.awaits_left.get().is_some_and(|most| self.not_taken() <= most) {
            self.awaits_left.take();
            self.few_left.notify_delta();
        }
        Some(item)
    }
}

impl<T> Handoff<T> {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // Who waits begins to wait anew. What was taken in a layer before does not count.
        let Handoff {
            sim: _,
            forward: _,
            backward,
            depth,
            places,
            items,
            reserved,
            taken_at: _,
            awaits_item: _,
            awaits_place: _,
            awaits_left: _,
            put: _,
            taken: _,
            few_left: _,
        } = self;
        at.at_rest(
            items.borrow().is_empty() && reserved.get() == 0,
            "something is in a FIFO between two stages",
        )?;
        at.cell(backward)?;
        at.cell(depth)?;
        at.place(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use vp_core::Simulation;

    /// Times at which a consumer that needs `work` cycles starts the items of a producer that is always ready.
    fn starts(depth: usize, forward: u64, backward: u64, work: u64) -> Vec<u64> {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let (forward, backward) = (Time::ns(forward), Time::ns(backward));
        let handoff = Rc::new(Handoff::new(&sim, "h", depth, forward, backward));
        let (input, clock) = (handoff.clone(), sim.clone());
        sim.process("producer", async move {
            for item in 0..4 {
                input.room().await;
                input.put(item);
                clock.wait(Time::ns(1)).await;
            }
        });
        let seen = Rc::new(RefCell::new(Vec::new()));
        let (log, clock) = (seen.clone(), sim.clone());
        sim.process("consumer", async move {
            for item in 0..4 {
                handoff.ready().await;
                assert_eq!(handoff.take(), Some(item));
                log.borrow_mut().push(clock.now().cycles(Time::ns(1)));
                clock.wait(Time::ns(work)).await;
            }
        });
        simulation.run();
        seen.take()
    }

    #[test]
    fn one_register_with_registered_ready_passes_an_item_every_two_cycles() {
        assert_eq!(starts(1, 1, 1, 1), [1, 3, 5, 7]);
    }

    #[test]
    fn two_places_pass_an_item_every_cycle() {
        assert_eq!(starts(2, 1, 1, 1), [1, 2, 3, 4]);
    }

    #[test]
    fn a_slow_consumer_sets_the_pace() {
        assert_eq!(starts(2, 1, 1, 8), [1, 9, 17, 25]);
    }

    #[test]
    fn places_are_added_and_dropped_and_what_is_in_them_stays() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let handoff = Rc::new(Handoff::new(&sim, "h", 1, Time::ns(1), Time::ZERO));
        handoff.set_depth(3, Time::ns(2));
        (1..=3).for_each(|item| handoff.put_later(item, Time::ns(4)));
        handoff.set_depth(1, Time::ns(2));
        let seen = Rc::new(RefCell::new(Vec::new()));
        let (output, clock, log) = (handoff.clone(), sim.clone(), seen.clone());
        sim.process("consumer", async move {
            for _ in 0..3 {
                output.ready().await;
                log.borrow_mut().push((clock.now(), output.take()));
            }
            output.room().await;
            log.borrow_mut().push((clock.now(), None));
        });
        simulation.run();
        let (came, free) = (Time::ns(5), Time::ns(7));
        assert_eq!(*seen.borrow(), [(came, Some(1)), (came, Some(2)), (came, Some(3)), (free, None)]);
    }

    #[test]
    fn who_puts_waits_for_most_to_be_taken() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let handoff = Rc::new(Handoff::new(&sim, "h", 3, Time::ns(1), Time::ZERO));
        let seen = Rc::new(RefCell::new(Vec::new()));
        let (input, log) = (handoff.clone(), seen.clone());
        sim.process("producer", async move {
            (1..=3).for_each(|item| input.put(item));
            let seen = input.left(1).await;
            log.borrow_mut().push(seen);
            let seen = input.left(2).await;
            log.borrow_mut().push(seen);
        });
        let clock = sim.clone();
        sim.process("consumer", async move {
            for item in 1..=2 {
                clock.wait(Time::ns(4)).await;
                let left = clock.now() - Time::ns(1);
                assert_eq!(handoff.take_as_of(|_| (left, left)), Some(item));
            }
        });
        simulation.run();
        // One is left: that is less than two.
        assert_eq!(*seen.borrow(), [Some(Time::ns(7)), None]);
    }
}
