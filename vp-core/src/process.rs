//! Processes: `async` blocks that wait (`SC_THREAD`), and methods that are called (`SC_METHOD`).
//!
//! A wait checks its condition when it is polled, and takes itself off its lists when it is dropped; there
//! are no wakers. So waits can be combined ([`select`](crate::select)), limited in time, and ended with a
//! process that is killed.

use crate::body::Body;
use crate::event::{Event, EventWait};
use crate::kernel::{Kernel, Sim};
use crate::name::Name;
use crate::queue::Entry;
use crate::schedule::ProcessKind;
use crate::time::Time;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

/// A process or method that was started; dropping the handle leaves it running.
///
/// ```
/// use vp_core::{Simulation, Time};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let clock = sim.clone();
/// let worker = sim.process("worker", async move { clock.wait(Time::us(9)).await });
/// sim.clone().process("parent", async move {
///     sim.wait(Time::us(1)).await;
///     worker.kill();
///     worker.join().await;
/// });
/// simulation.run();
/// assert_eq!(simulation.now(), Time::us(1));
/// ```
#[derive(Clone)]
pub struct Process {
    pub(crate) kernel: Rc<Kernel>,
    pub(crate) id: u32,
    pub(crate) generation: u32,
}

impl Process {
    /// An event that fires when the process returns or is killed. If that has happened already, it never fires:
    /// see [`Process::has_ended`].
    ///
    /// ```
    /// use vp_core::{Process, Simulation, Time};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let clock = sim.clone();
    /// let worker: Process = sim.process("worker", async move { clock.wait(Time::ns(4)).await });
    /// let ended = worker.ended();
    /// sim.clone().process("watcher", async move {
    ///     ended.wait().await;
    ///     assert_eq!((sim.now(), worker.has_ended()), (Time::ns(4), true));
    /// });
    /// simulation.run();
    /// assert!(!simulation.idle_report().is_deadlock());
    /// ```
    pub fn ended(&self) -> Event {
        self.kernel.ended(self.id, self.generation)
    }

    /// Returns true if the process has returned or was killed.
    pub fn has_ended(&self) -> bool {
        !self.kernel.schedule.is_alive(self.id, self.generation)
    }

    /// Waits until it has returned or was killed.
    pub async fn join(&self) {
        if let Some(ended) = self.kernel.schedule.ended(self.id, self.generation) {
            EventWait::new(&self.kernel, ended).await;
        }
    }

    /// Ends it where it waits; a process that kills itself ends at its next wait.
    pub fn kill(&self) {
        if !self.has_ended() {
            self.kernel.kill(self.id);
        }
    }
}

/// Sets up a method; made by [`Sim::method`].
///
/// ```
/// use vp_core::{Signal, Simulation};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let (a, b, and) = (
///     Signal::new(&sim, "a", true),
///     Signal::new(&sim, "b", false),
///     Signal::new(&sim, "and", false),
/// );
/// let (x, y, out) = (a.clone(), b.clone(), and.clone());
/// sim.method("gate").sensitive(a.changed()).sensitive(b.changed()).run(move |_| {
///     out.write(x.read() && y.read());
/// });
/// b.write(true);
/// simulation.run();
/// assert!(and.read());
/// ```
#[must_use = "a method exists once `run` has given it its body"]
pub struct MethodBuilder {
    pub(crate) kernel: Rc<Kernel>,
    pub(crate) name: Name,
    pub(crate) events: Vec<Event>,
    pub(crate) initialize: bool,
}

impl MethodBuilder {
    /// Calls the method whenever `event` fires (`sensitive << event`).
    ///
    /// # Panics
    /// If the event belongs to another simulation.
    pub fn sensitive(mut self, event: &Event) -> MethodBuilder {
        event.id_in(&self.kernel);
        self.events.push(event.clone());
        self
    }

    /// Leaves out the call at the start of simulation (`dont_initialize()`).
    ///
    /// ```
    /// use vp_core::{MethodBuilder, Simulation};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let event = sim.event("event");
    /// let method: MethodBuilder = sim.method("method").sensitive(&event).dont_initialize();
    /// method.run(|_| {});
    /// simulation.run();
    /// assert_eq!(simulation.activations(), 0);
    /// event.notify_delta();
    /// simulation.run();
    /// assert_eq!(simulation.activations(), 1);
    /// ```
    pub fn dont_initialize(mut self) -> MethodBuilder {
        self.initialize = false;
        self
    }

    /// Gives the method its body and registers it.
    pub fn run(self, mut body: impl FnMut(&Sim) + 'static) -> Process {
        let sim = Sim(self.kernel.clone());
        let body = std::future::poll_fn(move |_| {
            body(&sim);
            Poll::Pending
        });
        self.kernel.spawn(self.name, Body::new(body), ProcessKind::Method, self.events, self.initialize)
    }
}

/// Condition that a method waits for next; see [`Sim::next_trigger`].
///
/// ```
/// use std::{cell::Cell, rc::Rc};
/// use vp_core::{Simulation, Time, Trigger};
/// let mut simulation = Simulation::new();
/// let calls = Rc::new(Cell::new(0));
/// let count = calls.clone();
/// simulation.sim().method("ticker").run(move |sim| {
///     count.set(count.get() + 1);
///     sim.next_trigger(Trigger::After(Time::ns(10)));
/// });
/// simulation.run_until(Time::ns(35));
/// assert_eq!(calls.get(), 4);
/// ```
#[derive(Debug, Clone)]
pub enum Trigger {
    /// The passing of time.
    After(Time),
    /// An event, in place of the static sensitivity.
    On(Event),
    /// The first of several events.
    OnAny(Vec<Event>),
    /// An event, or the passing of time, whichever is first.
    OnOrAfter(Event, Time),
}

impl Trigger {
    pub(crate) fn parts(self) -> (Vec<Event>, Option<Time>) {
        match self {
            Trigger::After(delay) => (Vec::new(), Some(delay)),
            Trigger::On(event) => (vec![event], None),
            Trigger::OnAny(events) => (events, None),
            Trigger::OnOrAfter(event, delay) => (vec![event], Some(delay)),
        }
    }
}

/// The passing of time; made by [`Sim::wait`].
///
/// ```
/// use vp_core::{Simulation, Time, Wait};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// sim.clone().process("p", async move {
///     let wait: Wait<'_> = sim.wait(Time::ns(5)); // begins when it is awaited
///     sim.wait(Time::ns(1)).await;
///     wait.await;
///     assert_eq!(sim.now(), Time::ns(6));
/// });
/// simulation.run();
/// assert_eq!(simulation.now(), Time::ns(6));
/// ```
#[must_use = "a wait does nothing until it is awaited"]
pub struct Wait<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) state: WaitState,
}

pub(crate) enum WaitState {
    New(Time),
    /// Until the time, with the entry that wakes this process.
    Timed(u64, Entry),
    /// Until another delta cycle than this one.
    Delta(u64, u32),
    Done,
}

impl Future for Wait<'_> {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<()> {
        // What the run loop comes back for is decided here, and the rest elsewhere: every process has a copy.
        match self.state {
            WaitState::Timed(until, _) if self.kernel.now().as_ps() >= until => {
                self.state = WaitState::Done;
                Poll::Ready(())
            }
            WaitState::New(delay) => {
                self.begin(delay);
                Poll::Pending
            }
            _ => self.stay(),
        }
    }
}

impl Wait<'_> {
    #[inline(never)]
    fn begin(&mut self, delay: Time) {
        let kernel = self.kernel;
        let process = kernel.running();
        if delay == Time::ZERO {
            return self.begin_delta(process);
        }
        let until = kernel.now().as_ps().saturating_add(delay.as_ps());
        self.state = WaitState::Timed(until, kernel.schedule.wait_until(until, process));
    }

    #[inline(never)]
    fn begin_delta(&mut self, process: u32) {
        self.kernel.schedule.wait_delta(process);
        self.state = WaitState::Delta(self.kernel.delta(), process);
    }

    #[inline(never)]
    fn stay(&mut self) -> Poll<()> {
        match self.state {
            WaitState::Delta(since, _) if self.kernel.delta() != since => {
                self.state = WaitState::Done;
                Poll::Ready(())
            }
            WaitState::Done => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }

    /// Takes the process off the list it is on, unless its turn has come and it left that already.
    #[cold]
    fn take_back(&self) {
        match self.state {
            WaitState::Timed(until, entry) if self.kernel.now().as_ps() < until => {
                self.kernel.schedule.remove_timer(entry);
            }
            WaitState::Delta(since, process) if self.kernel.delta() == since => {
                self.kernel.schedule.forget_delta(process);
            }
            _ => {}
        }
    }
}

impl Drop for Wait<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if !matches!(self.state, WaitState::Done) {
            self.take_back();
        }
    }
}
