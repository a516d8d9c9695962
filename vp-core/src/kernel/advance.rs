//! Moving time on from within a process, where no other process could notice.

use super::Sim;
use crate::schedule::NOBODY;
use crate::time::Time;

impl Sim {
    /// Moves time on to `time` inside a process, as if the process had waited until then and no other process
    /// had run meanwhile. Returns false, and time stays, if another process might run: if something else
    /// happens at the present time or up to and including `time`, or if the run ends before. The process then
    /// waits as usual. Outside a process it is false. If the time is not in the future nothing moves, but it
    /// counts as a wait ([`Sim::wait_until`]).
    ///
    /// This is for models of many small steps, such as a bus: while only such a model is active, a step costs
    /// no more than a call.
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

    /// The latest time to which [`Sim::advance`] would move time on now, or an earlier one that is quicker to
    /// find; the present time if it would not move. For models that do many steps at once when nothing else
    /// happens.
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
