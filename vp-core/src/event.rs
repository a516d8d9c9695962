//! Events: what processes wait for and methods are sensitive to (`sc_event`).

use crate::kernel::{Kernel, Sim};
use crate::queue::{Entry, Target};
use crate::time::Time;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

/// The one notification that an event may have outstanding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    None,
    Delta,
    Timed(u64, Entry),
}

pub(crate) struct EventState {
    kernel: Rc<Kernel>,
    name: Rc<str>,
    /// Announces work: a server that waits for it is at rest.
    work: bool,
    /// Processes and armed methods that wait for the next notification only.
    waiters: RefCell<Vec<u32>>,
    /// Methods that are sensitive for good.
    listeners: RefCell<Vec<u32>>,
    /// How often it has fired: a waiter is served when this has moved on.
    fired: Cell<u64>,
    pending: Cell<Pending>,
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
pub struct Event(Rc<EventState>);

impl Event {
    pub(crate) fn new(kernel: &Rc<Kernel>, name: Rc<str>, work: bool) -> Event {
        let event = Event(Rc::new(EventState {
            kernel: kernel.clone(),
            name,
            work,
            waiters: RefCell::default(),
            listeners: RefCell::default(),
            fired: Cell::new(0),
            pending: Cell::new(Pending::None),
        }));
        kernel.remember(&event.0);
        event
    }

    /// The name given at creation, such as `nvdla.sdp.enabled`.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Makes those who wait runnable in this very evaluation phase (`notify()`).
    ///
    /// Prefer [`Event::notify_delta`] where the order of processes must not matter.
    pub fn notify(&self) {
        self.cancel();
        self.0.fire();
    }

    /// Makes those who wait runnable in the next delta cycle (`notify(SC_ZERO_TIME)`).
    pub fn notify_delta(&self) {
        match self.0.pending.get() {
            Pending::Delta => return,
            Pending::Timed(_, entry) => self.0.kernel.timed.borrow_mut().remove(entry),
            Pending::None => {}
        }
        self.0.pending.set(Pending::Delta);
        self.0.kernel.next_delta.borrow_mut().push(Target::Event(self.0.clone()));
    }

    /// Makes those who wait runnable `delay` from now, unless an earlier notification is outstanding
    /// (`notify(t)`).
    pub fn notify_after(&self, delay: Time) {
        if delay == Time::ZERO {
            return self.notify_delta();
        }
        let time = self.0.kernel.now().as_ps().saturating_add(delay.as_ps());
        let mut timed = self.0.kernel.timed.borrow_mut();
        match self.0.pending.get() {
            Pending::Delta => return,
            Pending::Timed(earlier, _) if earlier <= time => return,
            Pending::Timed(_, entry) => timed.remove(entry),
            Pending::None => {}
        }
        let entry = timed.insert(time, Target::Event(self.0.clone()));
        self.0.pending.set(Pending::Timed(time, entry));
    }

    /// Takes back the outstanding notification, if there is one.
    pub fn cancel(&self) {
        match self.0.pending.replace(Pending::None) {
            Pending::None => {}
            Pending::Delta => {
                let mut next = self.0.kernel.next_delta.borrow_mut();
                let mine =
                    |target: &Target| matches!(target, Target::Event(event) if Rc::ptr_eq(event, &self.0));
                if let Some(at) = next.iter().position(mine) {
                    next.remove(at);
                }
            }
            Pending::Timed(_, entry) => self.0.kernel.timed.borrow_mut().remove(entry),
        }
    }

    /// Waits for the next notification.
    pub fn wait(&self) -> EventWait<'_> {
        EventWait { event: &self.0, seen: None }
    }

    /// How often the event has fired since its creation.
    pub fn fired(&self) -> u64 {
        self.0.fired.get()
    }

    /// Whether a notification is outstanding.
    pub fn is_pending(&self) -> bool {
        self.0.pending.get() != Pending::None
    }

    /// Whether both are handles of one event.
    pub fn same(&self, other: &Event) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The simulation this event belongs to.
    pub fn sim(&self) -> Sim {
        Sim::from(&self.0.kernel)
    }

    pub(crate) fn add_listener(&self, process: u32) {
        self.0.listeners.borrow_mut().push(process);
    }

    pub(crate) fn remove_listener(&self, process: u32) {
        self.0.listeners.borrow_mut().retain(|&listener| listener != process);
    }

    pub(crate) fn add_waiter(&self, process: u32) {
        self.0.waiters.borrow_mut().push(process);
    }

    pub(crate) fn remove_waiter(&self, process: u32) {
        self.0.remove_waiter(process);
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({})", self.0.name)
    }
}

impl EventState {
    pub(crate) fn name(&self) -> &Rc<str> {
        &self.name
    }

    pub(crate) fn is_work(&self) -> bool {
        self.work
    }

    pub(crate) fn is_waited_for_by(&self, process: u32) -> bool {
        self.waiters.borrow().contains(&process)
    }

    /// Called by the kernel when an outstanding notification is due.
    pub(crate) fn fire_pending(&self) {
        self.pending.set(Pending::None);
        self.fire();
    }

    fn fire(&self) {
        self.fired.set(self.fired.get() + 1);
        for &listener in self.listeners.borrow().iter() {
            self.kernel.wake_listener(listener);
        }
        // Waking an armed method touches the waiters of its other events, and of this one.
        let mut waiters = self.waiters.take();
        for waiter in waiters.drain(..) {
            self.kernel.wake(waiter);
        }
        let mut place = self.waiters.borrow_mut();
        if place.is_empty() {
            *place = waiters;
        }
    }

    fn remove_waiter(&self, process: u32) {
        let mut waiters = self.waiters.borrow_mut();
        if let Some(at) = waiters.iter().rposition(|&waiter| waiter == process) {
            waiters.remove(at);
        }
    }
}

/// The wait for an event's next notification; made by [`Event::wait`].
///
/// Dropping it (a lost race in [`crate::select`], say) takes the process off the event's list.
#[must_use = "a wait does nothing until it is awaited"]
pub struct EventWait<'a> {
    event: &'a EventState,
    seen: Option<(u64, u32)>,
}

impl Future for EventWait<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<()> {
        match self.seen {
            None => {
                let process = self.event.kernel.running();
                self.seen = Some((self.event.fired.get(), process));
                self.event.waiters.borrow_mut().push(process);
                Poll::Pending
            }
            Some((seen, _)) if seen == self.event.fired.get() => Poll::Pending,
            Some(_) => Poll::Ready(()),
        }
    }
}

impl Drop for EventWait<'_> {
    fn drop(&mut self) {
        if let Some((seen, process)) = self.seen
            && seen == self.event.fired.get()
        {
            self.event.remove_waiter(process);
        }
    }
}
