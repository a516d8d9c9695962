//! Events: what processes wait for and methods are sensitive to (`sc_event`).

use crate::kernel::{Kernel, Sim};
use crate::schedule::Pending;
use crate::time::Time;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

/// What the handles of one event share.
pub(crate) struct Handle {
    kernel: Rc<Kernel>,
    id: u32,
    name: Rc<str>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.kernel.schedule.borrow_mut().release_event(self.id);
    }
}

/// Something that can happen, and be waited for (`sc_event`).
///
/// An event keeps no memory: a notification reaches those who wait at that moment. At most one later
/// notification is outstanding, the earliest asked for: a delta notification replaces a timed one, an
/// earlier timed one a later one, and an immediate notification cancels what is outstanding.
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
#[derive(Clone)]
pub struct Event(Rc<Handle>);

impl Event {
    pub(crate) fn new(kernel: &Rc<Kernel>, name: Rc<str>, work: bool) -> Event {
        let id = kernel.schedule.borrow_mut().add_event(name.clone(), work);
        Event(Rc::new(Handle { kernel: kernel.clone(), id, name }))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id
    }

    /// The name given at creation, such as `nvdla.sdp.enabled`.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Makes those who wait runnable in this very evaluation phase (`notify()`).
    ///
    /// Prefer [`Event::notify_delta`] where the order of processes must not matter.
    pub fn notify(&self) {
        let kernel = &self.0.kernel;
        let mut schedule = kernel.schedule.borrow_mut();
        schedule.cancel(self.0.id);
        schedule.fire(self.0.id, kernel.moment());
    }

    /// Makes those who wait runnable in the next delta cycle (`notify(SC_ZERO_TIME)`).
    #[inline]
    pub fn notify_delta(&self) {
        self.0.kernel.schedule.borrow_mut().notify_delta(self.0.id);
    }

    /// Makes those who wait runnable `delay` from now, unless an earlier notification is outstanding
    /// (`notify(t)`).
    pub fn notify_after(&self, delay: Time) {
        if delay == Time::ZERO {
            return self.notify_delta();
        }
        let time = self.0.kernel.now().as_ps().saturating_add(delay.as_ps());
        self.0.kernel.schedule.borrow_mut().notify_at(self.0.id, time);
    }

    /// Takes back the outstanding notification, if there is one.
    pub fn cancel(&self) {
        self.0.kernel.schedule.borrow_mut().cancel(self.0.id);
    }

    /// Waits for the next notification.
    pub fn wait(&self) -> EventWait<'_> {
        EventWait { event: &self.0, seen: None }
    }

    /// How often the event has fired since its creation.
    pub fn fired(&self) -> u64 {
        self.0.fired()
    }

    /// Whether a notification is outstanding.
    pub fn is_pending(&self) -> bool {
        self.0.kernel.schedule.borrow().events[self.0.id as usize].pending != Pending::None
    }

    /// Whether both are handles of one event.
    pub fn same(&self, other: &Event) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The simulation this event belongs to.
    pub fn sim(&self) -> Sim {
        Sim::from(&self.0.kernel)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({})", self.0.name)
    }
}

impl Handle {
    fn fired(&self) -> u64 {
        self.kernel.schedule.borrow().events[self.id as usize].fired
    }
}

/// The wait for an event's next notification; made by [`Event::wait`].
///
/// Dropping it (a lost race in [`crate::select`], say) takes the process off the event's list.
#[must_use = "a wait does nothing until it is awaited"]
pub struct EventWait<'a> {
    event: &'a Handle,
    seen: Option<(u64, u32)>,
}

impl Future for EventWait<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<()> {
        match self.seen {
            None => {
                let event = self.event;
                let process = event.kernel.running();
                let mut schedule = event.kernel.schedule.borrow_mut();
                self.seen = Some((schedule.events[event.id as usize].fired, process));
                schedule.add_waiter(event.id, process);
                Poll::Pending
            }
            Some((seen, _)) if seen == self.event.fired() => Poll::Pending,
            Some(_) => {
                // Served: nothing is left to take back.
                self.seen = None;
                Poll::Ready(())
            }
        }
    }
}

impl Drop for EventWait<'_> {
    fn drop(&mut self) {
        if let Some((seen, process)) = self.seen
            && seen == self.event.fired()
        {
            self.event.kernel.schedule.borrow_mut().remove_waiter(self.event.id, process);
        }
    }
}
