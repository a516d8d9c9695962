//! Counted permits (`sc_semaphore`, and with one permit `sc_mutex`): credits, outstanding requests, locks.

use crate::event::Event;
use crate::kernel::Sim;
use crate::name::Name;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

struct SemaphoreState {
    sim: Sim,
    name: Name,
    free: Cell<u32>,
    /// First come, first served: each waits for its own event, and for how many permits.
    queue: RefCell<VecDeque<(u32, Event)>>,
}

/// A number of permits, given out in the order of the requests.
///
/// Released permits go at once to the process that waits first. That process continues in the same delta cycle,
/// and no later request overtakes it. (In SystemC the process that runs first gets the permit. So a process
/// that releases a lock and takes it again may keep others out.)
///
/// Clones are handles of the same semaphore.
///
/// ```
/// use vp_core::{Semaphore, Simulation, Time};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let outstanding = Semaphore::new(&sim, "outstanding", 2);
/// for request in 0..4 {
///     let (sim, outstanding) = (sim.clone(), outstanding.clone());
///     sim.clone().process(format!("request{request}"), async move {
///         outstanding.acquire(1).await;
///         sim.wait(Time::ns(10)).await;
///         outstanding.release(1);
///     });
/// }
/// simulation.run();
/// assert_eq!(simulation.now(), Time::ns(20));
/// ```
#[derive(Clone)]
pub struct Semaphore(Rc<SemaphoreState>);

impl Semaphore {
    /// A semaphore with `permits` free.
    pub fn new(sim: &Sim, name: impl Into<Name>, permits: u32) -> Semaphore {
        let (free, queue) = (Cell::new(permits), RefCell::default());
        Semaphore(Rc::new(SemaphoreState { sim: sim.clone(), name: name.into(), free, queue }))
    }

    /// Takes `n` permits, waiting until it is this caller's turn and they are free.
    pub async fn acquire(&self, n: u32) {
        if self.try_acquire(n) {
            return;
        }
        let turn = self.0.sim.event(self.0.name.clone());
        let mut place = WaitingPlace { state: &self.0, n, turn: turn.clone(), served: false };
        self.0.queue.borrow_mut().push_back((n, turn.clone()));
        turn.wait().await;
        place.served = true;
    }

    /// Takes `n` permits if they are free and no process waits before this one.
    ///
    /// ```
    /// use vp_core::{Semaphore, Simulation};
    /// let permits = Semaphore::new(&Simulation::new().sim(), "permits", 3);
    /// assert!(permits.try_acquire(2));
    /// assert!(!permits.try_acquire(2));
    /// permits.release(1);
    /// assert_eq!(permits.free(), 2);
    /// ```
    pub fn try_acquire(&self, n: u32) -> bool {
        let free = self.0.free.get();
        let can = free >= n && self.0.queue.borrow().is_empty();
        if can {
            self.0.free.set(free - n);
        }
        can
    }

    /// Releases `n` permits, and gives them to waiting processes.
    pub fn release(&self, n: u32) {
        self.0.free.set(self.0.free.get() + n);
        self.0.serve();
    }

    /// Returns the number of permits that are free.
    pub fn free(&self) -> u32 {
        self.0.free.get()
    }
}

impl SemaphoreState {
    fn serve(&self) {
        let mut queue = self.queue.borrow_mut();
        while let Some((n, _)) = queue.front()
            && self.free.get() >= *n
        {
            self.free.set(self.free.get() - n);
            if let Some((_, turn)) = queue.pop_front() {
                // At once, as in `sc_semaphore`: who waited goes on in the delta cycle of the release.
                turn.notify();
            }
        }
    }
}

/// A place in the queue; given up, with the permits it may already have, when the wait is dropped.
struct WaitingPlace<'a> {
    state: &'a SemaphoreState,
    n: u32,
    turn: Event,
    served: bool,
}

impl Drop for WaitingPlace<'_> {
    fn drop(&mut self) {
        if self.served {
            return;
        }
        let mut queue = self.state.queue.borrow_mut();
        let waiting = queue.len();
        queue.retain(|(_, turn)| !turn.same(&self.turn));
        if queue.len() == waiting {
            // Already given its permits: pass them on.
            self.state.free.set(self.state.free.get() + self.n);
        }
        drop(queue);
        self.state.serve();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Simulation, Time, select};

    #[test]
    fn a_large_request_is_not_overtaken_by_small_ones() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let permits = Semaphore::new(&sim, "permits", 3);
        let order = Rc::new(RefCell::new(Vec::new()));
        for (name, n) in [("first", 2), ("large", 3), ("small", 1)] {
            let (sim, permits, order) = (sim.clone(), permits.clone(), order.clone());
            sim.clone().process(name, async move {
                permits.acquire(n).await;
                order.borrow_mut().push(name);
                sim.wait(Time::ns(1)).await;
                permits.release(n);
            });
        }
        simulation.run();
        assert_eq!(*order.borrow(), ["first", "large", "small"]);
        assert_eq!(permits.free(), 3);
    }

    #[test]
    fn a_wait_that_is_given_up_leaves_the_permits_to_others() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let permits = Semaphore::new(&sim, "permits", 1);
        assert!(permits.try_acquire(1));
        let (clock, lost) = (sim.clone(), permits.clone());
        sim.process("impatient", async move {
            select(lost.acquire(1), clock.wait(Time::ns(1))).await;
        });
        simulation.run();
        permits.release(1);
        assert_eq!(permits.free(), 1);
    }
}
