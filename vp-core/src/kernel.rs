//! The scheduler: evaluate, update, delta notification, timed notification, and again.
//!
//! [`Simulation`] owns everything and is driven from outside; [`Sim`] is the handle for models.

mod advance;
mod observing;
mod rest;
mod watchdog;

pub use observing::Subscription;
pub use rest::{Busy, Rest, ResumeError};

use crate::body::Body;
use crate::event::Event;
use crate::inject::{Bell, Drain, Injector};
use crate::name::Name;
use crate::process::{MethodBuilder, Process, Trigger, Wait, WaitState};
use crate::report::{IdleReport, Livelock};
use crate::schedule::{NOBODY, ProcessKind, Shared, Update};
use crate::time::Time;
use observing::Observing;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use watchdog::Watchdog;

pub(crate) struct Kernel {
    now: Cell<u64>,
    /// Time up to which the present run may go.
    limit: Cell<u64>,
    /// Delta cycles until the watchdog's next look, and their number then: what is counted down to zero need not be compared.
    delta_left: Cell<u64>,
    delta_due: Cell<u64>,
    /// True if a process has run since the last delta cycle was counted.
    ran: Cell<bool>,
    /// Time at which the last run in which anything ran had come to its end.
    active_until: Cell<u64>,
    begun: Cell<bool>,
    running: Cell<u32>,
    /// Reason for which the run ends after the present evaluation phase, if it does.
    stop: Cell<Option<Stop>>,
    holds: Cell<u32>,
    pub(crate) schedule: Shared,
    /// Request of the process being run.
    asked: Cell<ProcessRequest>,
    asked_delay: Cell<u64>,
    asked_trigger: Cell<Option<Trigger>>,
    injected: RefCell<Vec<Rc<dyn Drain>>>,
    bell: Arc<Bell>,
    observing: Observing,
    watchdog: Watchdog,
}

/// Guard of a running process: when this is dropped, no process is running any more, even if a process panics; its pending request is void.
struct Idle<'a>(&'a Kernel);

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        self.0.running.set(NOBODY);
        self.0.asked.set(ProcessRequest::Nothing);
        drop(self.0.asked_trigger.take());
    }
}

/// Retires a process without a body when this goes.
struct Retired<'a>(&'a Kernel, u32);

impl Drop for Retired<'_> {
    fn drop(&mut self) {
        drop(self.0.schedule.retire(self.1, self.0.running.get()));
    }
}

/// Request that a process has made while it ran: a method by [`Sim::next_trigger`], or any its own end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProcessRequest {
    Nothing,
    /// The passing of a time, which is the common case.
    Delay,
    /// The condition that the trigger says.
    Trigger,
    /// To be killed, whatever else it asks for.
    Death,
}

impl Kernel {
    #[inline]
    pub(crate) fn now(&self) -> Time {
        Time::ps(self.now.get())
    }

    #[inline]
    pub(crate) fn delta(&self) -> u64 {
        self.delta_due.get() - self.delta_left.get()
    }

    /// The process being run.
    ///
    /// # Panics
    /// If a kernel future is polled by anything but the kernel.
    #[inline]
    pub(crate) fn running(&self) -> u32 {
        let running = self.running.get();
        assert!(running != NOBODY, "waits of the simulation kernel can only be awaited inside its processes");
        running
    }

    /// The process being run, or [`NOBODY`].
    #[inline]
    pub(crate) fn running_or_nobody(&self) -> u32 {
        self.running.get()
    }

    pub(crate) fn spawn(
        self: &Rc<Self>,
        name: Name,
        body: Body,
        kind: ProcessKind,
        listens_to: Vec<Event>,
        initialize: bool,
    ) -> Process {
        let (id, generation) = self.schedule.add_process(name, body, kind, listens_to, initialize);
        Process { kernel: self.clone(), id, generation }
    }

    /// The event that fires when a process ends; one that never fires if it has.
    pub(crate) fn ended(self: &Rc<Self>, id: u32, generation: u32) -> Event {
        match self.schedule.hold_ended(id, generation) {
            Some(event) => Event::held(self, event),
            None => Event::new(self, "ended".into(), false),
        }
    }

    pub(crate) fn kill(&self, id: u32) {
        if self.running.get() == id {
            self.asked.set(ProcessRequest::Death);
        } else {
            self.end(id);
        }
    }

    /// Ends a process that is not running: drops its body, frees its slot, and wakes processes that wait for
    /// its end.
    #[cold]
    fn end(&self, id: u32) {
        // What it owns is being dropped, and may kill it once more, run the simulation or drop it; waits take
        // themselves off their lists. The place is kept until all that is over.
        let Some(body) = self.schedule.vacate(id) else { return };
        // Even if a destructor panics.
        let _retired = Retired(self, id);
        drop(body);
    }

    /// Evaluates: runs `first`, if there is one, then the runnable processes, and those that immediate
    /// notification makes runnable.
    #[expect(unsafe_code, reason = "bodies are run where they lie")]
    #[inline(always)]
    fn evaluate(&self, first: u32, context: &mut Context<'_>) {
        let mut next = Some(first).filter(|&first| first != NOBODY).or_else(|| self.schedule.next_runnable());
        while let Some(id) = next {
            if let Some(body) = self.schedule.activate(id) {
                self.running.set(id);
                self.ran.set(true);
                // SAFETY: the body lives in the slot of process `id` and stays there until this returns: only
                // `Kernel::end` and the drop of the `Simulation` take bodies out. The first spares the process
                // that is running, by its only callers being `Kernel::kill`, the one below and `Simulation::end_all`;
                // that one and the drop cannot happen, as whoever called here borrows the `Simulation`. Nor is it overwritten: a place
                // is given to another process only after the one in it has been retired, which takes its body
                // first, and once only. Nobody else polls it: only this loop polls bodies, and it is not entered
                // again from within, since that takes the same borrow.
                let ended = unsafe { body.poll(context) }.is_ready();
                let asked = self.asked.get();
                if ended || asked != ProcessRequest::Nothing {
                    self.afterwards(id, ended, asked);
                }
            } else if id == NOBODY {
                self.phase_is_long();
            }
            next = self.schedule.next_runnable();
        }
        self.running.set(NOBODY);
        self.schedule.all_ran();
    }

    /// Does what a process has asked for while it ran, or ends it.
    #[inline(always)]
    fn afterwards(&self, id: u32, ended: bool, asked: ProcessRequest) {
        self.asked.set(ProcessRequest::Nothing);
        if asked == ProcessRequest::Delay && !ended {
            return self.schedule.arm_timer(id, self.now.get().saturating_add(self.asked_delay.get()));
        }
        if ended || asked == ProcessRequest::Death {
            self.running.set(NOBODY);
            drop(self.asked_trigger.take());
            return self.end(id);
        }
        self.arm(id);
    }

    /// Returns true if a process runs, and has asked for nothing yet.
    #[inline(always)]
    fn may_ask_first(&self) -> bool {
        self.running.get() != NOBODY && self.asked.get() == ProcessRequest::Nothing
    }

    /// Keeps what a method asks for until it is through, in place of what it has asked for before.
    #[inline(never)]
    fn ask(&self, trigger: Trigger) {
        if self.running.get() != NOBODY && self.asked.get() != ProcessRequest::Death {
            self.asked.set(ProcessRequest::Trigger);
            drop(self.asked_trigger.replace(Some(trigger)));
        }
    }

    /// Gives the method that has just run the trigger that it asked for.
    #[cold]
    fn arm(&self, id: u32) {
        let Some(trigger) = self.asked_trigger.take() else { return };
        // The last handle of an event may go at the end of this; what is outstanding for it still comes.
        let (events, delay) = trigger.parts();
        let ids = events.iter().map(|event| event.id_in(self)).collect();
        let until = delay.filter(|&delay| delay != Time::ZERO);
        let until = until.map(|delay| self.now.get().saturating_add(delay.as_ps()));
        self.schedule.arm(id, ids, delay == Some(Time::ZERO), until);
    }

    /// Runs delta cycle after delta cycle, and time after time up to `last`.
    fn run(&self, sim: &Sim, last: u64) -> Stop {
        let mut context = Context::from_waker(Waker::noop());
        let mut updates = Vec::new();
        if !self.begun.replace(true) {
            // What was written before the start is there in the first evaluation phase, and what was notified
            // has come before it: to who is sensitive, as nobody waits yet (IEEE 1666-2011, 4.2.1.1).
            self.update(&mut updates);
            self.enlist(self.schedule.serve_delta());
        }
        let _idle = Idle(self);
        let bell = &*self.bell;
        self.drain_injectors(sim);
        let mut first = NOBODY;
        loop {
            self.evaluate(first, &mut context);
            if self.schedule.has_updates() {
                self.update(&mut updates);
            }
            if self.stop.get().is_some() {
                return self.stop.take().unwrap_or(Stop::Requested);
            }
            // Delta notification: a delta cycle begins if there is any.
            if let Some(alone) = self.schedule.serve_delta() {
                first = alone;
                if self.count_delta() && self.time_stands(first) {
                    self.enlist(Some(first));
                    return Stop::Livelock;
                }
                if bell.is_rung() {
                    self.enlist(Some(std::mem::replace(&mut first, NOBODY)));
                    self.drain_injectors(sim);
                }
                continue;
            }
            if bell.is_rung() {
                first = NOBODY;
                self.drain_injectors(sim);
                continue;
            }
            if self.holds.get() > 0 {
                return Stop::Held;
            }
            let Some((time, alone)) = self.schedule.serve_timed(last) else {
                let idle = self.schedule.earliest().is_none_or(|time| time == u64::MAX);
                return if idle { Stop::Idle } else { Stop::Limit };
            };
            if self.observing.wants_watermarks() {
                self.observing.complete_until(Time::ps(time), false);
            }
            self.now.set(time);
            if self.count_delta() {
                self.look_later();
            }
            first = alone;
        }
    }

    /// Has a process run in its turn, among others, that was to run by itself.
    #[cold]
    fn enlist(&self, alone: Option<u32>) {
        if let Some(id) = alone {
            self.schedule.enlist(id);
        }
    }

    /// A delta cycle, or another time, begins. Those in which nothing ran do not count (IEEE 1666-2011,
    /// `sc_delta_count`). Whether the watchdog is to look.
    #[inline]
    fn count_delta(&self) -> bool {
        if !self.ran.replace(false) {
            return false;
        }
        let left = self.delta_left.get() - 1;
        self.delta_left.set(left);
        left == 0
    }

    /// The update phase. What is asked for meanwhile is for the next one.
    #[inline(always)]
    fn update(&self, updates: &mut Vec<Rc<dyn Update>>) {
        match self.schedule.take_only_update() {
            Some(channel) => channel.update(),
            None => self.update_several(updates),
        }
    }

    #[inline(never)]
    fn update_several(&self, updates: &mut Vec<Rc<dyn Update>>) {
        self.schedule.take_updates(updates);
        for channel in updates.drain(..) {
            channel.update();
        }
    }

    /// Lets in what came from outside; it takes effect at the present time.
    #[cold]
    fn drain_injectors(&self, sim: &Sim) {
        if !self.bell.take() {
            return;
        }
        let queues = self.injected.borrow().clone();
        for queue in queues {
            queue.drain(sim);
        }
    }
}

/// Reason for which a run came back.
///
/// ```
/// use vp_core::{Simulation, Stop, Time};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// sim.clone().process("p", async move {
///     sim.wait(Time::ns(3)).await;
///     sim.stop();
///     sim.wait(Time::ns(3)).await;
/// });
/// assert_eq!(simulation.run_until(Time::ns(1)), Stop::Limit);
/// assert_eq!(simulation.run(), Stop::Requested);
/// assert_eq!(simulation.run(), Stop::Idle);
/// assert_eq!(simulation.now(), Time::ns(6));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The time limit is reached; there are later events.
    Limit,
    /// A model called [`Sim::stop`].
    Requested,
    /// Nothing is left that could happen by itself. [`Simulation::idle_report`] says which processes still
    /// wait.
    Idle,
    /// A process holds time until something from outside arrives; see [`Sim::hold`].
    Held,
    /// Time has not moved on for more delta cycles than [`Simulation::set_delta_limit`] allows.
    /// [`Simulation::livelock`] names the processes that ran again and again. The run can be continued, for as
    /// many delta cycles more.
    Livelock,
}

/// A simulation: the owner of processes, events and time.
///
/// Life cycle: build models with the handle from [`Simulation::sim`], run, look, run on, drop.
/// Everything lives on one thread; other threads reach it through an [`Injector`].
///
/// ```
/// use vp_core::{Simulation, Time};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let tick = sim.event("tick");
/// tick.notify_after(Time::ns(10));
/// simulation.run_for(Time::ns(4));
/// assert_eq!((simulation.now(), simulation.next_time()), (Time::ns(4), Some(Time::ns(10))));
/// simulation.run();
/// assert_eq!((simulation.now(), tick.fired()), (Time::ns(10), 1));
/// ```
pub struct Simulation {
    kernel: Rc<Kernel>,
}

impl Default for Simulation {
    fn default() -> Simulation {
        Simulation::new()
    }
}

impl Simulation {
    /// An empty simulation at time zero.
    pub fn new() -> Simulation {
        let kernel = Kernel {
            now: Cell::new(0),
            limit: Cell::new(0),
            delta_left: Cell::new(0),
            delta_due: Cell::new(0),
            ran: Cell::new(false),
            active_until: Cell::new(0),
            begun: Cell::new(false),
            running: Cell::new(NOBODY),
            stop: Cell::new(None),
            holds: Cell::new(0),
            schedule: Shared::default(),
            asked: Cell::new(ProcessRequest::Nothing),
            asked_delay: Cell::new(0),
            asked_trigger: Cell::new(None),
            injected: RefCell::default(),
            bell: Arc::default(),
            observing: Observing::default(),
            watchdog: Watchdog::default(),
        };
        kernel.set_delta_limit(Simulation::DELTA_LIMIT);
        Simulation { kernel: Rc::new(kernel) }
    }

    /// The handle that models keep.
    pub fn sim(&self) -> Sim {
        Sim(self.kernel.clone())
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.kernel.now()
    }

    /// Runs until nothing is left to do, a model stops it, or time is held.
    pub fn run(&mut self) -> Stop {
        self.run_until(Time::MAX)
    }

    /// Runs for `span` from now.
    pub fn run_for(&mut self, span: Time) -> Stop {
        self.run_until(self.now() + span)
    }

    /// Runs everything up to and including `limit`. Time is then `limit`, even if nothing was left to do before
    /// (unless the run returned for another reason). [`Time::MAX`] means no limit: time is then that of the
    /// last event.
    pub fn run_until(&mut self, limit: Time) -> Stop {
        let stop = self.run_unflushed(limit);
        // Time was granted up to the limit, whether or not anything used it.
        if limit != Time::MAX && matches!(stop, Stop::Idle | Stop::Limit) {
            let now = &self.kernel.now;
            now.set(now.get().max(last(limit)));
        }
        self.kernel.flush_observers();
        stop
    }

    /// Runs everything up to and including `limit`. Time is then that of the last event. So a simulation that
    /// is driven in pieces gives the same as one run, whatever the pieces.
    ///
    /// ```
    /// use vp_core::{Simulation, Stop, Time};
    /// let mut simulation = Simulation::new();
    /// simulation.sim().event("tick").notify_after(Time::ns(10));
    /// assert_eq!(simulation.run_up_to(Time::ns(4)), Stop::Limit);
    /// assert_eq!(simulation.now(), Time::ZERO);
    /// assert_eq!(simulation.run_up_to(Time::ns(14)), Stop::Idle);
    /// assert_eq!(simulation.now(), Time::ns(10));
    /// ```
    pub fn run_up_to(&mut self, limit: Time) -> Stop {
        let stop = self.run_unflushed(limit);
        self.kernel.flush_observers();
        stop
    }

    fn run_unflushed(&mut self, limit: Time) -> Stop {
        let kernel = &self.kernel;
        kernel.limit.set(last(limit));
        let before = kernel.schedule.activations();
        let stop = kernel.run(&Sim(kernel.clone()), last(limit));
        if kernel.schedule.activations() != before {
            kernel.active_until.set(kernel.now.get());
        }
        stop
    }

    /// Ends all processes and methods, and cancels every pending notification: the first step of a reset of
    /// everything. Channels are updated before. Time, events, injectors and observers stay as they are. A
    /// source that is announced again as before gets the same number, so its observers need not be told.
    ///
    /// What a destructor starts meanwhile is ended too.
    ///
    /// ```
    /// use vp_core::observe::SourceKind;
    /// use vp_core::{Simulation, Time};
    /// let mut simulation = Simulation::new();
    /// let (sim, tick) = (simulation.sim(), simulation.sim().event("tick"));
    /// let source = sim.source("worker", SourceKind::Work);
    /// let clock = sim.clone();
    /// sim.process("worker", async move { clock.wait(Time::ns(9)).await });
    /// tick.notify_after(Time::ns(5));
    /// simulation.run_until(Time::ns(1));
    /// simulation.end_all();
    /// assert_eq!((simulation.next_time(), simulation.now()), (None, Time::ns(1)));
    /// assert_eq!(sim.source("worker", SourceKind::Work), source);
    /// ```
    pub fn end_all(&mut self) {
        let kernel = &self.kernel;
        while kernel.schedule.has_processes() {
            (0..kernel.schedule.places()).for_each(|id| kernel.end(id));
        }
        // A channel that was written counts on its update.
        kernel.update(&mut Vec::new());
        kernel.schedule.cancel_all();
        kernel.stop.set(None);
        kernel.observing.clear_source_owners();
    }

    /// The time of the next event, if there is one.
    pub fn next_time(&self) -> Option<Time> {
        let schedule = &self.kernel.schedule;
        if schedule.is_busy() || self.kernel.bell.is_rung() {
            return Some(self.now());
        }
        schedule.earliest().filter(|&time| time != u64::MAX).map(Time::ps)
    }

    /// The processes that still wait, and for what: the deadlock report.
    ///
    /// A server ([`Sim::server`]) that waits for work only ([`Sim::work_event`]) is at rest, which is normal.
    /// Every other process that waits is stuck.
    pub fn idle_report(&self) -> IdleReport {
        self.kernel.schedule.idle_report(self.now())
    }

    /// Sets the number of delta cycles at one moment of time after which a run ends with [`Stop::Livelock`];
    /// [`Simulation::DELTA_LIMIT`] unless this is called. At least 1, [`u64::MAX`] for no limit.
    ///
    /// The kernel checks the limit only now and then. So a run ends after the limit has been reached and before
    /// there are twice as many delta cycles, plus a few more to see which processes run. Delta cycles of
    /// several runs at one moment, when the simulation is driven from outside, count together. Two other kinds
    /// of work without time count like delta cycles: activations in one evaluation phase by immediate
    /// notification, beyond one for each process; and waits for past times, which return at once, in one
    /// activation (a quarter of a million of them count as an eighth of the limit).
    ///
    /// ```
    /// use vp_core::{Simulation, Stop, Time};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let clock = sim.clone();
    /// sim.process("poller", async move {
    ///     clock.wait(Time::ns(5)).await;
    ///     loop {
    ///         clock.wait(Time::ZERO).await;
    ///     }
    /// });
    /// simulation.set_delta_limit(1000);
    /// assert_eq!(simulation.run(), Stop::Livelock);
    /// let livelock = simulation.livelock().unwrap();
    /// assert_eq!(livelock.to_string(), "time stands still at 5 ns while poller runs again and again");
    /// ```
    pub fn set_delta_limit(&mut self, cycles: u64) {
        self.kernel.set_delta_limit(cycles.max(1));
    }

    /// The default limit of delta cycles at one moment: a legal model has at most some thousands.
    ///
    /// ```
    /// use vp_core::Simulation;
    /// let mut simulation = Simulation::new();
    /// // For models that exchange very much in no time.
    /// simulation.set_delta_limit(100 * Simulation::DELTA_LIMIT);
    /// ```
    pub const DELTA_LIMIT: u64 = 10_000_000;

    /// The processes that ran again and again when a run last ended with [`Stop::Livelock`].
    pub fn livelock(&self) -> Option<Livelock> {
        self.kernel.watchdog.found()
    }

    /// The number of activations of processes and methods so far.
    ///
    /// ```
    /// use vp_core::{Simulation, Time};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// sim.clone().process("p", async move {
    ///     sim.wait(Time::ZERO).await;
    ///     sim.wait(Time::ns(1)).await;
    /// });
    /// simulation.run_until(Time::ps(1));
    /// // Twice in two delta cycles; the third is to come.
    /// assert_eq!((simulation.activations(), simulation.delta_cycles(), simulation.pending()), (2, 1, 1));
    /// ```
    pub fn activations(&self) -> u64 {
        self.kernel.schedule.activations()
    }

    /// Returns the number of delta cycles that there have been.
    pub fn delta_cycles(&self) -> u64 {
        self.kernel.delta()
    }

    /// Returns the number of timed notifications and waits that are outstanding.
    pub fn pending(&self) -> usize {
        self.kernel.schedule.pending()
    }

    /// The bell that every injector rings. The thread that drives the simulation can sleep on it until
    /// something comes.
    ///
    /// ```
    /// use vp_core::Simulation;
    /// let mut simulation = Simulation::new();
    /// let injector = simulation.sim().injector(|_, _: u8| {});
    /// std::thread::spawn(move || injector.send(1));
    /// simulation.bell().wait();
    /// simulation.run();
    /// ```
    pub fn bell(&self) -> Arc<Bell> {
        self.kernel.bell.clone()
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        // Processes own handles of the kernel that owns them: take the bodies out to break the circle. Each
        // step takes under a borrow and drops after it, since what is dropped may come back to the kernel.
        let kernel = &self.kernel;
        drop(kernel.schedule.take_bodies());
        drop((kernel.injected.take(), kernel.observing.end(), kernel.asked_trigger.take()));
        drop(kernel.schedule.take_processes());
    }
}

/// The last moment of a run. Nothing happens at the end of time: a wait until then is a wait for ever.
fn last(limit: Time) -> u64 {
    limit.as_ps().min(u64::MAX - 1)
}

/// The handle of a simulation that models and processes keep: cheap to clone, bound to its thread.
///
/// ```
/// use vp_core::{Sim, Simulation, Time};
///
/// /// A model keeps the handle and waits by it.
/// struct Model { sim: Sim }
///
/// impl Model {
///     async fn run(self) {
///         self.sim.wait(Time::ns(5)).await;
///         self.sim.wait_until(Time::ns(8)).await;
///         self.sim.wait_until(Time::ns(2)).await; // is over: does not wait
///         assert_eq!(self.sim.now(), Time::ns(8));
///     }
/// }
///
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// sim.process("model", Model { sim: sim.clone() }.run());
/// simulation.run();
/// assert_eq!(simulation.now(), Time::ns(8));
/// ```
#[derive(Clone)]
pub struct Sim(pub(crate) Rc<Kernel>);

impl From<&Rc<Kernel>> for Sim {
    fn from(kernel: &Rc<Kernel>) -> Sim {
        Sim(kernel.clone())
    }
}

impl Sim {
    /// The present time.
    pub fn now(&self) -> Time {
        self.0.now()
    }

    /// The number of delta cycles so far; differs between any two of them.
    pub fn delta(&self) -> u64 {
        self.0.delta()
    }

    /// A new event.
    pub fn event(&self, name: impl Into<Name>) -> Event {
        Event::new(&self.0, name.into(), false)
    }

    /// A new event that announces work: a server that waits for it is at rest, not stuck
    /// (see [`Simulation::idle_report`]).
    ///
    /// ```
    /// use vp_core::Simulation;
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let request = sim.work_event("request");
    /// sim.server("device", async move { request.wait().await });
    /// simulation.run();
    /// let report = simulation.idle_report();
    /// assert_eq!((report.is_deadlock(), report.at_rest.len()), (false, 1));
    /// ```
    pub fn work_event(&self, name: impl Into<Name>) -> Event {
        Event::new(&self.0, name.into(), true)
    }

    /// Starts a process (`SC_THREAD`): runnable at once, it runs until it awaits.
    ///
    /// Inside, await only what this kernel offers; a foreign future would never be woken.
    pub fn process(&self, name: impl Into<Name>, body: impl Future<Output = ()> + 'static) -> Process {
        self.0.spawn(name.into(), Body::new(body), ProcessKind::Process, Vec::new(), true)
    }

    /// Starts a process that serves for ever. If it waits for work when everything else has ended, this is no
    /// deadlock.
    pub fn server(&self, name: impl Into<Name>, body: impl Future<Output = ()> + 'static) -> Process {
        self.0.spawn(name.into(), Body::new(body), ProcessKind::Server, Vec::new(), true)
    }

    /// Sets up a method (`SC_METHOD`): a callback that runs whenever an event it is sensitive to fires.
    pub fn method(&self, name: impl Into<Name>) -> MethodBuilder {
        MethodBuilder { kernel: self.0.clone(), name: name.into(), events: Vec::new(), initialize: true }
    }

    /// Inside a method: sets what calls it next, in place of its static sensitivity (`next_trigger`). If it is
    /// called twice in one activation, the last call counts. Anywhere else it has no effect.
    ///
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    /// use vp_core::{Simulation, Time, Trigger};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let (tick, calls) = (sim.event("tick"), Rc::new(Cell::new(0)));
    /// let count = calls.clone();
    /// sim.method("method").sensitive(&tick).run(move |sim| {
    ///     count.set(count.get() + 1);
    ///     sim.next_trigger(Trigger::After(Time::ns(10))); // whatever `tick` does
    /// });
    /// tick.notify_after(Time::ns(3));
    /// simulation.run_until(Time::ns(25));
    /// assert_eq!(calls.get(), 3); // at 0, 10 and 20 ns
    /// ```
    #[inline(always)]
    pub fn next_trigger(&self, trigger: Trigger) {
        let kernel = &*self.0;
        match trigger {
            Trigger::After(delay) if delay != Time::ZERO && kernel.may_ask_first() => {
                kernel.asked_delay.set(delay.as_ps());
                kernel.asked.set(ProcessRequest::Delay);
            }
            other => kernel.ask(other),
        }
    }

    /// Waits until `delay` has passed; [`Time::ZERO`] waits for the next delta cycle.
    pub fn wait(&self, delay: Time) -> Wait<'_> {
        Wait { kernel: &self.0, state: WaitState::New(delay) }
    }

    /// Waits until a point in time; returns at once if that is not in the future.
    ///
    /// A process that calls this in a loop and never waits would run for ever. So after a quarter of a million
    /// calls in one activation that returned at once, one call waits for the next delta cycle, so that the run
    /// can end ([`Simulation::set_delta_limit`]).
    pub async fn wait_until(&self, time: Time) {
        if time > self.now() {
            self.wait(time - self.now()).await;
        } else if self.0.runs_in_place() {
            self.0.leaves_place();
            self.wait(Time::ZERO).await;
        }
    }

    /// Ends the run after the present delta cycle; it can be continued.
    ///
    /// ```
    /// use vp_core::{Simulation, Stop, Time};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// sim.clone().process("watchdog", async move {
    ///     sim.wait(Time::us(1)).await;
    ///     sim.stop();
    /// });
    /// assert_eq!(simulation.run(), Stop::Requested);
    /// assert_eq!(simulation.now(), Time::us(1));
    /// ```
    pub fn stop(&self) {
        self.0.stop.set(Some(Stop::Requested));
    }

    /// Keeps time from moving on while the guard exists. A process uses it when it awaits an answer from
    /// outside whose modelled time has come. Delta cycles of the present time go on.
    ///
    /// ```
    /// use vp_core::{Simulation, Stop, Time};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let answer = sim.event("answer");
    /// let arrived = answer.clone();
    /// let injector = sim.injector(move |_, ()| arrived.notify());
    /// sim.clone().process("asker", async move {
    ///     let hold = sim.hold();
    ///     answer.wait().await;
    ///     drop(hold);
    ///     sim.wait(Time::ns(5)).await;
    /// });
    /// assert_eq!(simulation.run(), Stop::Held);
    /// injector.send(());
    /// assert_eq!(simulation.run(), Stop::Idle);
    /// assert_eq!(simulation.now(), Time::ns(5));
    /// ```
    pub fn hold(&self) -> Hold {
        self.0.holds.set(self.0.holds.get() + 1);
        Hold(self.0.clone())
    }

    /// Makes a way in for another thread. The items that it sends are given to `handle` in order, between two
    /// delta cycles, at the time at which they take effect.
    pub fn injector<T: Send + 'static>(&self, handle: impl FnMut(&Sim, T) + 'static) -> Injector<T> {
        let (injector, queue) = crate::inject::injector(self.0.bell.clone(), handle);
        self.0.injected.borrow_mut().push(queue);
        injector
    }

    pub(crate) fn request_update(&self, channel: Rc<dyn Update>) {
        self.0.schedule.request_update(channel);
    }
}

/// A guard that keeps simulated time from moving on while it exists; made by [`Sim::hold`].
///
/// ```
/// use vp_core::{Hold, Simulation, Stop};
/// let mut simulation = Simulation::new();
/// let hold: Hold = simulation.sim().hold();
/// assert_eq!(simulation.run(), Stop::Held);
/// drop(hold);
/// assert_eq!(simulation.run(), Stop::Idle);
/// ```
#[must_use = "time moves on as soon as the guard is dropped"]
pub struct Hold(Rc<Kernel>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.holds.set(self.0.holds.get() - 1);
    }
}
