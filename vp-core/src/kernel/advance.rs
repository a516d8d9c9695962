//! Moving time on from within a process, where nobody could tell the difference.

use super::Sim;
use crate::schedule::NOBODY;
use crate::time::Time;

impl Sim {
    /// Inside a process (elsewhere it is false): moves time on to `time`, as if the process had waited until then and nobody else had run
    /// meanwhile. False, and time stays, if anybody else might: if something else is to happen at the present time or
    /// up to and including `time`, or the run ends before. The process then waits as usual. A time that is not in the
    /// future takes no moving, but counts as a wait for it ([`Sim::wait_until`]).
    ///
    /// For models of many small steps, such as a bus: where such a model is all that moves, its steps cost no more than
    /// calls.
    ///
    /// ```
    /// use vp_core::{Simulation, Time};
    ///
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let clock = sim.clone();
    /// sim.process("bus", async move {
    ///     for step in 1..=10 {
    ///         let next = Time::ns(step);
    ///         if !clock.advance(next) {
    ///             clock.wait_until(next).await;
    ///         }
    ///         assert_eq!(clock.now(), next);
    ///     }
    /// });
    /// let clock = sim.clone();
    /// sim.process("cpu", async move { clock.wait_until(Time::ns(5)).await });
    /// simulation.run();
    /// // The bus waited for 1 ns, since the other process had yet to begin, and for 5 ns, when that ran again.
    /// assert_eq!((simulation.now(), simulation.activations()), (Time::ns(10), 3 + 2));
    /// ```
    #[inline]
    pub fn advance(&self, time: Time) -> bool {
        let (kernel, to) = (&*self.0, time.as_ps());
        if to <= kernel.now.get() {
            return !kernel.runs_in_place();
        }
        let stays = kernel.running.get() == NOBODY
            || kernel.stop.get().is_some()
            || kernel.holds.get() > 0
            || to > kernel.limit.get()
            || kernel.bell.is_rung()
            || !kernel.schedule.is_quiet_until(to);
        if stays {
            return false;
        }
        kernel.now.set(to);
        if kernel.count_delta() {
            kernel.look_later();
        }
        // What runs on belongs to the new time.
        kernel.ran.set(true);
        true
    }

    /// The latest time to which [`Sim::advance`] would move time on now, or an earlier one that is quicker to tell; the
    /// present one if it would not. For models that do many steps at once when nobody looks.
    ///
    /// ```
    /// use vp_core::{Simulation, Time};
    ///
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let clock = sim.clone();
    /// sim.process("cpu", async move { clock.wait_until(Time::ns(5)).await });
    /// let clock = sim.clone();
    /// sim.process("bus", async move {
    ///     assert!(clock.quiet_until() < Time::ns(5));
    ///     clock.wait_until(Time::ns(7)).await;
    ///     assert_eq!(clock.quiet_until(), Time::ns(100));
    /// });
    /// simulation.run_until(Time::ns(100));
    /// ```
    #[inline]
    pub fn quiet_until(&self) -> Time {
        let kernel = &*self.0;
        let now = kernel.now.get();
        let stays = kernel.running.get() == NOBODY
            || kernel.stop.get().is_some()
            || kernel.holds.get() > 0
            || kernel.bell.is_rung()
            || !kernel.schedule.is_quiet_until(now);
        if stays {
            return self.now();
        }
        Time::ps(kernel.schedule.empty_until().min(kernel.limit.get()).max(now))
    }
}
