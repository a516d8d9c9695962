//! Sources that report several observations at once, and what observers can rely on nevertheless.
//!
//! Observations of different sources do not come in the order of time then. The watermark says up to which
//! time they are complete, and each run ends with a flush. One burst over a memory interface costs 62 to 180
//! ns of CPU time without observers; the event hash adds 41 to 57 ns, statistics add 10 to 14 ns, and sorting
//! by time 14 to 28 ns (`cargo bench -p vp-tests --bench bursts`).

use crate::time::Time;

/// A source that buffers observations and reports several at once ([`crate::Sim::report_at`]).
///
/// Registered by [`crate::Sim::add_buffered`]. The *watermark* of a simulation is the earliest of all
/// [`BufferedSource::told_until`] and the present time: no observation that comes later has an earlier time.
///
/// ```
/// use std::cell::RefCell;
/// use std::rc::Rc;
/// use vp_core::observe::{BufferedSource, EventHash, Kinds, LevelUnit, Source, SourceKind, What};
/// use vp_core::{Sim, Simulation, Time};
///
/// /// A queue that tells its fill levels eight at a time.
/// struct Queue {
///     sim: Sim,
///     source: Source,
///     untold: RefCell<Vec<(Time, u64)>>,
/// }
///
/// impl Queue {
///     fn fill(&self, level: u64) {
///         if self.sim.is_observed(Kinds::LEVELS) {
///             self.untold.borrow_mut().push((self.sim.now(), level));
///             if self.untold.borrow().len() == 8 {
///                 self.flush(self.sim.now());
///             }
///         }
///     }
/// }
///
/// impl BufferedSource for Queue {
///     fn told_until(&self) -> Time {
///         self.untold.borrow().first().map_or(Time::MAX, |&(time, _)| time)
///     }
///
///     fn flush(&self, _: Time) {
///         for (time, level) in self.untold.take() {
///             self.sim.report_at(time, self.source, What::Level(level));
///         }
///     }
/// }
///
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let source = sim.source("queue", SourceKind::Level { bits: 8, unit: LevelUnit::Entries });
/// let queue = Rc::new(Queue { sim: sim.clone(), source, untold: RefCell::default() });
/// sim.add_buffered(&queue);
/// let hash = Rc::new(EventHash::default());
/// sim.observe(hash.clone());
/// let (filled, seen) = (queue.clone(), hash.clone());
/// sim.clone().process("fill", async move {
///     for level in 1..=3 {
///         filled.fill(level);
///         sim.wait(Time::ns(5)).await;
///     }
///     assert_eq!(seen.count(), 0);
///     sim.flush_observers();
///     assert_eq!(seen.count(), 3);
///     filled.fill(0);
/// });
/// // The end of a run does so too.
/// simulation.run();
/// assert_eq!(hash.count(), 4);
/// ```
pub trait BufferedSource {
    /// No observation that it still buffers, or will make, is earlier than this; [`Time::MAX`] if it buffers
    /// nothing. It may be later than the present time.
    fn told_until(&self) -> Time;

    /// Reports to the observers what it has buffered up to `now`, the present time.
    fn flush(&self, now: Time);
}
