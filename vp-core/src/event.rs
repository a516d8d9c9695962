//! Events: what processes wait for and methods are sensitive to (`sc_event`).

use crate::kernel::{Kernel, Sim};
use crate::name::Name;
use crate::time::Time;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

/// Something that can happen, and be waited for (`sc_event`).
///
/// An event has no memory: a notification reaches only the processes that wait at that moment. At most one
/// later notification is pending, the earliest that was requested: a delta notification replaces a timed one,
/// an earlier timed one replaces a later one, and an immediate notification cancels the pending one.
///
/// Clones are handles of the same event.
///
/// ```
/// use vp_core::{Simulation, Time};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let go = sim.event("go");
/// sim.process("waiter", { let (sim, go) = (sim.clone(), go.clone()); async move {
///     go.wait().await;
///     assert_eq!(sim.now(), Time::ns(5));
/// }});
/// go.notify_after(Time::ns(9));
/// go.notify_after(Time::ns(5));
/// simulation.run();
/// assert_eq!(simulation.now(), Time::ns(5));
/// ```
pub struct Event {
    kernel: Rc<Kernel>,
    id: u32,
}

impl Clone for Event {
    fn clone(&self) -> Event {
        self.kernel.schedule.hold_event(self.id);
        Event { kernel: self.kernel.clone(), id: self.id }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.kernel.schedule.release_event(self.id);
    }
}

impl Event {
    pub(crate) fn new(kernel: &Rc<Kernel>, name: Name, work: bool) -> Event {
        Event::held(kernel, kernel.schedule.add_event(Some(name), work))
    }

    /// A handle of an event that counts it as a holder already.
    pub(crate) fn held(kernel: &Rc<Kernel>, id: u32) -> Event {
        Event { kernel: kernel.clone(), id }
    }

    #[inline]
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Returns the event's number, which means something to its own kernel only.
    ///
    /// # Panics
    /// If `kernel` is another one.
    pub(crate) fn id_in(&self, kernel: &Kernel) -> u32 {
        assert!(std::ptr::eq(&*self.kernel, kernel), "event {} belongs to another simulation", self.name());
        self.id
    }

    /// The name given at creation, such as `nvdla.sdp.enabled`.
    pub fn name(&self) -> Name {
        self.kernel.schedule.event_name(self.id)
    }

    /// Makes waiting processes runnable in the present evaluation phase (`notify()`).
    ///
    /// Prefer [`Event::notify_delta`] where the order of processes must not matter.
    ///
    /// ```
    /// use vp_core::Simulation;
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let event = sim.event("event");
    /// let waited = event.clone();
    /// sim.clone().process("waiter", async move {
    ///     waited.wait().await;
    ///     assert_eq!(sim.delta(), 0, "in the same delta cycle");
    /// });
    /// simulation.sim().process("notifier", async move { event.notify() });
    /// simulation.run();
    /// assert!(!simulation.idle_report().is_deadlock());
    /// ```
    pub fn notify(&self) {
        let kernel = &self.kernel;
        kernel.schedule.notify_now(self.id, kernel.running_or_nobody());
    }

    /// Makes waiting processes runnable in the next delta cycle (`notify(SC_ZERO_TIME)`).
    #[inline]
    pub fn notify_delta(&self) {
        self.kernel.schedule.notify_delta(self.id);
    }

    /// Makes waiting processes runnable `delay` from now, unless an earlier notification is pending
    /// (`notify(t)`).
    pub fn notify_after(&self, delay: Time) {
        if delay == Time::ZERO {
            return self.notify_delta();
        }
        let time = self.kernel.now().as_ps().saturating_add(delay.as_ps());
        self.kernel.schedule.notify_at(self.id, time);
    }

    /// Takes back the outstanding notification, if there is one.
    ///
    /// ```
    /// use vp_core::{Simulation, Time};
    /// let mut simulation = Simulation::new();
    /// let event = simulation.sim().event("event");
    /// event.notify_after(Time::ns(5));
    /// assert!(event.is_pending());
    /// event.cancel();
    /// simulation.run();
    /// assert_eq!((event.is_pending(), event.fired()), (false, 0));
    /// ```
    pub fn cancel(&self) {
        self.kernel.schedule.cancel(self.id);
    }

    /// Waits for the next notification.
    pub fn wait(&self) -> EventWait<'_> {
        EventWait::new(&self.kernel, self.id)
    }

    /// Returns the number of times that the event has fired since its creation.
    pub fn fired(&self) -> u64 {
        self.kernel.schedule.fired_since(self.id)
    }

    /// Returns true if a notification is outstanding.
    pub fn is_pending(&self) -> bool {
        self.kernel.schedule.is_pending(self.id)
    }

    /// Returns true if both are handles of one event.
    ///
    /// ```
    /// use vp_core::Simulation;
    /// let sim = Simulation::new().sim();
    /// let (a, b) = (sim.event("irq"), sim.event("irq"));
    /// assert!(a.same(&a.clone()) && !a.same(&b));
    /// assert_eq!(a.name(), "irq");
    /// assert_eq!(a.sim().now(), sim.now());
    /// ```
    pub fn same(&self, other: &Event) -> bool {
        self.id == other.id && Rc::ptr_eq(&self.kernel, &other.kernel)
    }

    /// The simulation this event belongs to.
    pub fn sim(&self) -> Sim {
        Sim::from(&self.kernel)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({})", self.name())
    }
}

/// The wait for an event's next notification; made by [`Event::wait`].
///
/// Dropping it (a lost race in [`crate::select`], say) takes the process off the event's list.
///
/// ```
/// use vp_core::{EventWait, Simulation, Time};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let event = sim.event("event");
/// sim.clone().process("late", async move {
///     let wait: EventWait<'_> = event.wait(); // nothing yet
///     event.notify();
///     event.notify_after(Time::ns(1));
///     wait.await; // from here on
///     assert_eq!(sim.now(), Time::ns(1));
/// });
/// simulation.run();
/// assert_eq!(simulation.now(), Time::ns(1));
/// ```
#[must_use = "a wait does nothing until it is awaited"]
pub struct EventWait<'a> {
    kernel: &'a Kernel,
    event: u32,
    /// The waiting process, and how often the event had fired before.
    seen: Option<(u64, u32)>,
}

impl<'a> EventWait<'a> {
    /// Waits for the event of that number, which another holder keeps until it has fired.
    pub(crate) fn new(kernel: &'a Kernel, event: u32) -> EventWait<'a> {
        EventWait { kernel, event, seen: None }
    }
}

impl Future for EventWait<'_> {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<()> {
        match self.seen {
            None => {
                let process = self.kernel.running();
                self.seen = Some((self.kernel.schedule.add_waiter(self.event, process), process));
                Poll::Pending
            }
            Some((seen, _)) if seen == self.kernel.schedule.fired(self.event) => Poll::Pending,
            Some(_) => {
                // Served: nothing is left to take back.
                self.seen = None;
                Poll::Ready(())
            }
        }
    }
}

impl EventWait<'_> {
    #[cold]
    fn take_back(&self) {
        if let Some((seen, process)) = self.seen
            && seen == self.kernel.schedule.fired(self.event)
        {
            self.kernel.schedule.remove_waiter(self.event, process);
        }
    }
}

impl Drop for EventWait<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.seen.is_some() {
            self.take_back();
        }
    }
}
