//! From CACC to SDP, on the fly: sums in the order of the output cube, and the room they need.
//!
//! CSC takes *credits* for the sums of a stripe before it computes them, one for each atom, or for as many sums as
//! CACC hands over at once; SDP gives them back when it takes these. So SDP holds the sequence back when it cannot take atoms.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Event, Sim, Time};

use crate::bus::DelayLine;
use crate::fifos::FifoLevel;

/// Some atoms of sums, for positions that follow each other.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) sums: Vec<i32>,
    /// Lanes of an atom.
    pub(super) lanes: usize,
    /// Credits that CSC has taken for an atom, if it has.
    pub(super) credits: u32,
    /// Place of the first of several cubes, as CACC knows it: address, bytes from line to line, and from surface to surface.
    pub(super) place: [u32; 3],
    /// True if the last atom is the layer's.
    pub(super) last: bool,
}

/// A batch on its way.
struct Delivered {
    /// Time at which SDP can take the first atom.
    due: Time,
    batch: Batch,
    /// True if there is no layer: the atom means nothing.
    abandoned: bool,
}

/// Credits for sums: how many there are, and for what.
#[derive(Clone, Copy)]
pub(crate) struct Credits {
    /// Number of them.
    pub(crate) count: u32,
    /// Sums that one is for, at most; never for those of several atoms.
    pub(crate) results: u32,
    /// Time that they take on their way back.
    pub(crate) back: Time,
}

/// Atoms that SDP takes and that follow each other.
pub(crate) struct TakenAtoms {
    /// Sums, one a lane, atom after atom.
    pub(crate) sums: Vec<i32>,
    /// Lanes of an atom.
    pub(crate) lanes: usize,
    /// Nothing of this layer follows.
    pub(crate) last: bool,
    /// The layer that should have come was refused: the atom means nothing.
    pub(crate) abandoned: bool,
}

/// Credits that come back, one every so often.
struct Return {
    next: Time,
    pace: Time,
    credits: u32,
}

/// The way from CACC to SDP.
pub(crate) struct Delivery {
    sim: Sim,
    batches: RefCell<VecDeque<Delivered>>,
    /// Elements taken of the first batch.
    taken: Cell<usize>,
    /// Credits of an atom that was taken last.
    each: Cell<u32>,
    put: Event,
    /// Time at which SDP takes the last atom of each layer, which may be told later.
    layers: DelayLine<Time>,
    /// The room that is taken.
    level: FifoLevel,
    /// Credits in all, and sums that one is for.
    capacity: u32,
    results: usize,
    credits: Cell<u32>,
    /// Credits that are on their way back, in the order of time.
    returning: RefCell<VecDeque<Return>>,
    /// Time that credits take on their way back.
    credit_return: Time,
    /// Credits that CSC waits for; 0 if it does not.
    wanted: Cell<u32>,
    returned: Event,
}

impl Delivery {
    /// With these credits.
    pub(crate) fn new(sim: &Sim, credits: Credits, level: FifoLevel) -> Rc<Delivery> {
        let Credits { count, results, back } = credits;
        Rc::new(Delivery {
            sim: sim.clone(),
            batches: RefCell::default(),
            taken: Cell::new(0),
            each: Cell::new(1),
            put: sim.event("nvdla.cacc.data"),
            layers: DelayLine::new(sim, "nvdla.cacc.layers", Time::ZERO),
            level,
            capacity: count,
            results: results.max(1) as usize,
            credits: Cell::new(count),
            returning: RefCell::default(),
            credit_return: back,
            wanted: Cell::new(0),
            returned: sim.event("nvdla.cacc.credits"),
        })
    }

    /// Credits for an atom of so many lanes.
    pub(super) fn credits_of(&self, lanes: u32) -> u32 {
        lanes.div_ceil(self.results as u32).max(1)
    }

    /// The most atoms that there is ever room for, at so many credits each.
    pub(super) fn capacity(&self, each: u32) -> u32 {
        (self.capacity / each).max(1)
    }

    /// Returns true if there are so many credits.
    fn has_credits(&self, credits: u32) -> bool {
        self.settle();
        self.credits.get() >= credits
    }

    /// Waits for room for so many atoms, at so many credits each, and for `beside` more, and takes that of the first.
    pub(super) async fn take_credits(&self, (atoms, beside): (u32, u32), each: u32) {
        let credits = (atoms + beside) * each;
        while !self.has_credits(credits) {
            match self.when(credits) {
                Some(time) => self.sim.wait_until(time).await,
                None => {
                    self.wanted.set(credits);
                    self.returned.wait().await;
                }
            }
        }
        self.credits.set(self.credits.get() - atoms * each);
        self.level.change(self.sim.now(), atoms.into());
    }

    /// Gives the room of atoms back that nobody takes.
    pub(super) fn return_credits(&self, atoms: u32, each: u32) {
        self.each.set(each);
        self.return_paced(atoms, self.sim.now(), Time::ZERO);
    }

    /// Gives room back, of an atom that was taken at `from` and of another one each `pace`.
    fn return_paced(&self, atoms: u32, from: Time, pace: Time) {
        if atoms == 0 {
            return;
        }
        let mut returning = self.returning.borrow_mut();
        // Atoms leave in their order, and so does their room: what is dropped behind atoms that SDP still takes at
        // its pace is not there before theirs.
        let before = returning.back().map(|before| before.next + before.pace * u64::from(before.credits - 1));
        let next = (from + self.credit_return).max(before.unwrap_or(Time::ZERO));
        let each = self.each.get();
        if each > 0 {
            returning.push_back(Return { next, pace: pace / u64::from(each), credits: atoms * each });
        }
        drop(returning);
        if self.level.is_watched() {
            (0..u64::from(atoms)).for_each(|atom| self.level.change(next + pace * atom, -1));
        }
        if self.wanted.get() > 0 && self.when(self.wanted.get()).is_some() {
            self.returned.notify_delta();
        }
    }

    /// Counts the room that has come back by now.
    fn settle(&self) {
        let now = self.sim.now();
        let mut returning = self.returning.borrow_mut();
        while let Some(front) = returning.front_mut()
            && front.next <= now
        {
            self.credits.set(self.credits.get() + 1);
            front.next += front.pace;
            front.credits -= 1;
            if front.credits == 0 {
                returning.pop_front();
            }
        }
    }

    /// Returns the time at which there will be so many credits, if that is known.
    fn when(&self, credits: u32) -> Option<Time> {
        let mut missing = u64::from(credits.saturating_sub(self.credits.get()));
        if missing == 0 {
            return Some(self.sim.now());
        }
        self.returning.borrow().iter().find_map(|returned| {
            let found = missing.min(returned.credits.into());
            missing -= found;
            (missing == 0).then(|| returned.next + returned.pace * (found - 1))
        })
    }

    /// Puts sums that SDP can take from `due` on.
    pub(super) fn put(&self, due: Time, batch: Batch) {
        self.batches.borrow_mut().push_back(Delivered { due, batch, abandoned: false });
        self.put.notify_delta();
    }

    /// Puts a mark in place of a layer that does not come.
    pub(super) fn abandon(&self) {
        let batch = Batch { last: true, ..Batch::default() };
        self.batches.borrow_mut().push_back(Delivered { due: self.sim.now(), batch, abandoned: true });
        self.put.notify_delta();
    }

    /// Waits until SDP has taken the next layer, which was not abandoned; tells when that was.
    pub(super) async fn layer_taken(&self) -> Time {
        self.layers.next().await
    }

    /// Waits until an atom can be taken.
    pub(crate) async fn ready(&self) {
        loop {
            let due = self.batches.borrow().front().map(|delivered| delivered.due);
            match due {
                Some(due) => return self.sim.wait_until(due).await,
                None => self.put.wait().await,
            }
        }
    }

    /// Time since which the atom that [`Delivery::ready`] has found could be taken, if the one before it was taken by then.
    pub(crate) fn since(&self) -> Time {
        self.batches.borrow().front().map_or(self.sim.now(), |delivered| delivered.due)
    }

    /// Returns the place of several cubes, as CACC knows it, of the atom that [`Delivery::ready`] has found.
    pub(crate) fn place(&self) -> [u32; 3] {
        self.batches.borrow().front().map_or([0; 3], |delivered| delivered.batch.place)
    }

    /// Takes the atom that [`Delivery::ready`] has found, and of those that have come with it up to `most` in all,
    /// one each `pace` from `from` on.
    pub(crate) fn take(&self, most: usize, from: Time, pace: Time) -> TakenAtoms {
        let taken = self.take_some(most);
        let atoms = (taken.sums.len() / taken.lanes.max(1)) as u64;
        self.return_paced(atoms as u32, from, pace);
        if taken.last && !taken.abandoned {
            let last = from + pace * atoms.saturating_sub(1);
            self.layers.push_at(last, last);
        }
        taken
    }

    /// Takes one atom that [`Delivery::ready`] has found; when it has left, [`Delivery::leave`] tells.
    pub(crate) fn take_one(&self) -> TakenAtoms {
        self.take_some(1)
    }

    /// An atom that was taken by itself has left, as if SDP had taken it at `from`.
    pub(crate) fn leave(&self, from: Time, last: bool) {
        self.return_paced(1, from, Time::ZERO);
        if last {
            self.layers.push_at(from, from);
        }
    }

    fn take_some(&self, most: usize) -> TakenAtoms {
        let mut batches = self.batches.borrow_mut();
        let mut taken = TakenAtoms { sums: Vec::new(), lanes: 0, last: true, abandoned: true };
        let Some(Delivered { batch, abandoned, .. }) = batches.front_mut() else { return taken };
        let first = self.taken.get();
        let mut done = true;
        if !*abandoned {
            self.each.set(batch.credits);
            taken.lanes = batch.lanes;
            let end = batch.sums.len().min(first + most * batch.lanes);
            done = end == batch.sums.len();
            taken.sums = match first {
                0 if done => std::mem::take(&mut batch.sums),
                _ => batch.sums[first..end].to_vec(),
            };
            self.taken.set(end);
        }
        (taken.last, taken.abandoned) = (done && batch.last, *abandoned);
        if done {
            batches.pop_front();
            self.taken.set(0);
        }
        taken
    }

    /// Takes and drops atoms up to the last of the layer.
    pub(crate) async fn drain(&self) {
        loop {
            self.ready().await;
            if self.take(1, self.sim.now(), Time::ZERO).last {
                return;
            }
        }
    }
}

impl Delivery {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Delivery {
            sim: _,
            batches,
            taken,
            each: _,
            put: _,
            layers,
            level: _,
            capacity,
            results: _,
            credits,
            returning,
            credit_return: _,
            wanted,
            returned: _,
        } = self;
        at.part("nvdla.cacc.delivery")?;
        self.settle();
        let is_taken = batches.borrow().is_empty() && taken.get() == 0;
        at.at_rest(
            is_taken && returning.borrow().is_empty() && wanted.get() == 0,
            "sums are on their way to SDP",
        )?;
        layers.checkpoint(at)?;
        at.cell(credits)?;
        at.check(credits.get() <= *capacity, "more room than there is")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_core::Simulation;
    use vp_core::observe::LevelUnit;

    fn delivery(sim: &Sim, credits: u32, credit_return: Time) -> Rc<Delivery> {
        let level = Rc::<crate::fifos::Fifos>::default().level("delivery", LevelUnit::Atoms);
        Delivery::new(sim, Credits { count: credits, results: 4, back: credit_return }, level)
    }

    /// Atoms of so many lanes, at a credit each.
    fn atoms(sums: Vec<i32>, lanes: usize, last: bool) -> Batch {
        Batch { sums, lanes, credits: 1, last, ..Batch::default() }
    }

    #[test]
    fn atoms_come_in_order_and_the_last_one_is_marked() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let delivery = delivery(&sim, 8, Time::ZERO);
        delivery.put(Time::ns(5), atoms(vec![1, 2, 3, 4], 2, false));
        delivery.put(Time::ns(3), atoms(vec![5, 6], 2, true));
        let seen = Rc::new(RefCell::new(Vec::new()));
        let (input, log) = (delivery.clone(), seen.clone());
        sim.process("sdp", async move {
            for _ in 0..3 {
                input.ready().await;
                let taken = input.take(1, input.sim.now(), Time::ZERO);
                log.borrow_mut().push((input.sim.now(), taken.sums, taken.last));
            }
        });
        simulation.run();
        let at = Time::ns(5);
        assert_eq!(
            *seen.borrow(),
            [(at, vec![1, 2], false), (at, vec![3, 4], false), (at, vec![5, 6], true)]
        );
    }

    #[test]
    fn room_comes_back_with_each_atom_that_is_taken() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let delivery = delivery(&sim, 3, Time::ns(2));
        let granted = Rc::new(Cell::new(Time::ZERO));
        let (csc, clock, when) = (delivery.clone(), sim.clone(), granted.clone());
        sim.process("csc", async move {
            csc.take_credits((2, 0), 1).await;
            csc.put(Time::ZERO, atoms(vec![0; 2], 1, false));
            csc.take_credits((3, 0), 1).await;
            when.set(clock.now());
        });
        let (sdp, clock) = (delivery, sim.clone());
        sim.process("sdp", async move {
            for _ in 0..2 {
                sdp.ready().await;
                clock.wait(Time::ns(4)).await;
                sdp.take(1, clock.now(), Time::ZERO);
            }
        });
        simulation.run();
        assert_eq!(granted.get(), Time::ns(10));
    }

    /// Whoever waits cannot tell whether SDP takes atoms one by one or has asked for all of them at once.
    #[test]
    fn atoms_taken_together_give_their_room_back_one_by_one() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let delivery = delivery(&sim, 4, Time::ns(3));
        let log = Rc::new(RefCell::new(Vec::new()));
        let (csc, clock, times) = (delivery.clone(), sim.clone(), log.clone());
        sim.process("csc", async move {
            csc.take_credits((4, 0), 1).await;
            csc.put(Time::ns(2), atoms(vec![1, 2, 3, 4], 1, true));
            csc.take_credits((3, 0), 1).await;
            times.borrow_mut().push(clock.now());
            csc.layer_taken().await;
            times.borrow_mut().push(clock.now());
        });
        let sdp = delivery;
        sim.process("sdp", async move {
            sdp.ready().await;
            let taken = sdp.take(9, sdp.sim.now(), Time::ns(10));
            assert_eq!((taken.sums, taken.last), (vec![1, 2, 3, 4], true));
        });
        simulation.run();
        assert_eq!(*log.borrow(), [Time::ns(25), Time::ns(32)]);
    }

    /// SDP has asked for four atoms at its pace when it finds that the layer is not its own, and drops what follows.
    #[test]
    fn atoms_dropped_behind_others_that_pass_at_a_pace_give_their_room_back_behind_theirs() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let delivery = delivery(&sim, 8, Time::ns(3));
        let granted = Rc::new(Cell::new(Time::ZERO));
        let (csc, clock, when) = (delivery.clone(), sim.clone(), granted.clone());
        sim.process("csc", async move {
            csc.take_credits((8, 0), 1).await;
            csc.put(Time::ZERO, atoms(vec![0; 8], 1, true));
            csc.take_credits((8, 0), 1).await;
            when.set(clock.now());
        });
        let sdp = delivery;
        sim.process("sdp", async move {
            sdp.ready().await;
            sdp.take(4, sdp.sim.now(), Time::ns(10));
            sdp.drain().await;
        });
        simulation.run();
        assert_eq!(granted.get(), Time::ns(33));
    }

    #[test]
    fn an_atom_that_enters_in_part_gives_its_room_back_when_its_end_has_entered() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let delivery = delivery(&sim, 1, Time::ns(3));
        let seen = Rc::new(RefCell::new(Vec::new()));
        let (csc, clock, log) = (delivery.clone(), sim.clone(), seen.clone());
        sim.process("csc", async move {
            csc.take_credits((1, 0), 1).await;
            csc.put(Time::ns(2), atoms(vec![1], 1, true));
            csc.take_credits((1, 0), 1).await;
            log.borrow_mut().push(clock.now());
            csc.layer_taken().await;
            log.borrow_mut().push(clock.now());
        });
        let sdp = delivery;
        sim.process("sdp", async move {
            sdp.ready().await;
            let taken = sdp.take_one();
            assert_eq!((taken.sums, taken.last), (vec![1], true));
            sdp.sim.wait(Time::ns(10)).await;
            sdp.leave(Time::ns(11), true);
        });
        simulation.run();
        assert_eq!(*seen.borrow(), [Time::ns(14), Time::ns(14)]);
    }
}
