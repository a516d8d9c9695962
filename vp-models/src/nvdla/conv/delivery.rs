//! From CACC to SDP, on the fly: sums in the order of the output cube, and the room they need.
//!
//! CSC takes *credits* for the sums of a stripe before it computes them, an atom each; SDP gives them back when it
//! takes an atom. So what SDP cannot take holds the sequence back.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Event, Sim, Time};

/// The most elements of an atom.
pub(crate) const MAX_LANES: usize = 32;

/// Some atoms of sums, for positions that follow each other.
struct Batch {
    /// When SDP can take the first.
    due: Time,
    sums: Vec<i32>,
    lanes: usize,
    /// Its last atom is the layer's.
    last: bool,
    /// There is no layer: the atom means nothing.
    abandoned: bool,
}

/// What SDP takes.
pub(crate) struct Taken {
    /// Sums, one a lane.
    pub(crate) sums: [i32; MAX_LANES],
    /// Lanes that count.
    pub(crate) lanes: usize,
    /// Nothing of this layer follows.
    pub(crate) last: bool,
    /// The layer that should have come was refused: the atom means nothing.
    pub(crate) abandoned: bool,
}

/// The way from CACC to SDP.
pub(crate) struct Delivery {
    sim: Sim,
    batches: RefCell<VecDeque<Batch>>,
    /// Elements taken of the first batch.
    taken: Cell<usize>,
    put: Event,
    emptied: Event,
    credits: Cell<u32>,
    /// Credits on their way back to CSC, and when they can be used.
    returning: RefCell<VecDeque<(Time, u32)>>,
    /// How long they take.
    credit_return: Time,
    returned: Event,
}

impl Delivery {
    /// With room for that many atoms, which can be used again so long after an atom was taken.
    pub(crate) fn new(sim: &Sim, credits: u32, credit_return: Time) -> Rc<Delivery> {
        Rc::new(Delivery {
            sim: sim.clone(),
            batches: RefCell::default(),
            taken: Cell::new(0),
            put: sim.event("nvdla.cacc.data"),
            emptied: sim.event("nvdla.cacc.emptied"),
            credits: Cell::new(credits),
            returning: RefCell::default(),
            credit_return,
            returned: sim.event("nvdla.cacc.credits"),
        })
    }

    /// Waits for room for so many atoms, and takes it.
    pub(super) async fn take_credits(&self, atoms: u32) {
        loop {
            let next = {
                let mut returning = self.returning.borrow_mut();
                while let Some(&(due, returned)) = returning.front()
                    && due <= self.sim.now()
                {
                    returning.pop_front();
                    self.credits.set(self.credits.get() + returned);
                }
                returning.front().map(|&(due, _)| due)
            };
            if self.credits.get() >= atoms {
                break;
            }
            match next {
                Some(due) => self.sim.wait_until(due).await,
                None => self.returned.wait().await,
            }
        }
        self.credits.set(self.credits.get() - atoms);
    }

    /// Gives room back.
    pub(super) fn return_credits(&self, atoms: u32) {
        let mut returning = self.returning.borrow_mut();
        returning.push_back((self.sim.now() + self.credit_return, atoms));
        if returning.len() == 1 {
            self.returned.notify_delta();
        }
    }

    /// Puts sums, `lanes` of them an atom, that SDP can take from `due` on.
    pub(super) fn put(&self, due: Time, sums: Vec<i32>, lanes: usize, last: bool) {
        self.batches.borrow_mut().push_back(Batch { due, sums, lanes, last, abandoned: false });
        self.put.notify_delta();
    }

    /// Puts a mark in place of a layer that does not come.
    pub(super) fn abandon(&self) {
        let batch = Batch { due: self.sim.now(), sums: Vec::new(), lanes: 0, last: true, abandoned: true };
        self.batches.borrow_mut().push_back(batch);
        self.put.notify_delta();
    }

    /// Waits until SDP has taken everything.
    pub(super) async fn emptied(&self) {
        while !self.batches.borrow().is_empty() {
            self.emptied.wait().await;
        }
    }

    /// Waits until an atom can be taken.
    pub(crate) async fn ready(&self) {
        loop {
            let due = self.batches.borrow().front().map(|batch| batch.due);
            match due {
                Some(due) => return self.sim.wait_until(due).await,
                None => self.put.wait().await,
            }
        }
    }

    /// Takes the atom that [`Delivery::ready`] has found.
    pub(crate) fn take(&self) -> Taken {
        let mut batches = self.batches.borrow_mut();
        let mut taken = Taken { sums: [0; MAX_LANES], lanes: 0, last: true, abandoned: true };
        let Some(batch) = batches.front() else { return taken };
        if !batch.abandoned {
            let from = self.taken.get();
            taken.lanes = batch.lanes;
            taken.sums[..batch.lanes].copy_from_slice(&batch.sums[from..from + batch.lanes]);
            self.taken.set(from + batch.lanes);
            self.return_credits(1);
        }
        let done = self.taken.get() >= batch.sums.len();
        (taken.last, taken.abandoned) = (done && batch.last, batch.abandoned);
        if done {
            batches.pop_front();
            self.taken.set(0);
            if batches.is_empty() {
                self.emptied.notify_delta();
            }
        }
        taken
    }

    /// Takes and drops atoms up to the last of the layer.
    pub(crate) async fn drain(&self) {
        loop {
            self.ready().await;
            if self.take().last {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_core::Simulation;

    #[test]
    fn atoms_come_in_order_and_the_last_one_is_marked() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let delivery = Delivery::new(&sim, 8, Time::ZERO);
        delivery.put(Time::ns(5), vec![1, 2, 3, 4], 2, false);
        delivery.put(Time::ns(3), vec![5, 6], 2, true);
        let seen = Rc::new(RefCell::new(Vec::new()));
        let (input, log) = (delivery.clone(), seen.clone());
        sim.process("sdp", async move {
            for _ in 0..3 {
                input.ready().await;
                let taken = input.take();
                log.borrow_mut().push((input.sim.now(), taken.sums[..taken.lanes].to_vec(), taken.last));
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
        let delivery = Delivery::new(&sim, 3, Time::ns(2));
        let granted = Rc::new(Cell::new(Time::ZERO));
        let (csc, clock, when) = (delivery.clone(), sim.clone(), granted.clone());
        sim.process("csc", async move {
            csc.take_credits(2).await;
            csc.put(Time::ZERO, vec![0; 2], 1, false);
            csc.take_credits(3).await;
            when.set(clock.now());
        });
        let (sdp, clock) = (delivery, sim.clone());
        sim.process("sdp", async move {
            for _ in 0..2 {
                sdp.ready().await;
                clock.wait(Time::ns(4)).await;
                sdp.take();
            }
        });
        simulation.run();
        assert_eq!(granted.get(), Time::ns(10));
    }
}
