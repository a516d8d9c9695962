//! The scheduler: evaluate, update, delta notification, timed notification, and again.
//!
//! [`Simulation`] owns everything and is driven from outside; [`Sim`] is the handle that models keep.

use crate::event::{Event, EventState};
use crate::inject::{Bell, Drain, Injector};
use crate::observe::{Observation, Observer, Source, What};
use crate::process::{
    Armed, ArmedTimer, Body, MethodBuilder, Process, Processes, Slot, Trigger, Wait, WaitState,
};
use crate::queue::{Target, TimedQueue};
use crate::report::{Blocked, IdleReport};
use crate::time::Time;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What a channel does in the update phase.
pub(crate) trait Update {
    fn update(&self);
}

pub(crate) struct Kernel {
    now: Cell<u64>,
    /// Delta cycles since the start; a new time starts a new one too.
    delta: Cell<u64>,
    activations: Cell<u64>,
    running: Cell<u32>,
    stop: Cell<bool>,
    holds: Cell<u32>,
    runnable: RefCell<Vec<u32>>,
    processes: RefCell<Processes>,
    pub(crate) updates: RefCell<Vec<Rc<dyn Update>>>,
    pub(crate) next_delta: RefCell<Vec<Target>>,
    pub(crate) timed: RefCell<TimedQueue>,
    next_trigger: RefCell<Option<Trigger>>,
    /// For reports only: who waits for what is read off the events.
    events: RefCell<Vec<Weak<EventState>>>,
    events_limit: Cell<usize>,
    doors: RefCell<Vec<Rc<dyn Drain>>>,
    bell: Arc<Bell>,
    observers: RefCell<Vec<Rc<dyn Observer>>>,
    observed: Cell<bool>,
    sources: RefCell<Vec<Rc<str>>>,
}

/// Nobody: outside of any process.
const NOBODY: u32 = u32::MAX;

impl Kernel {
    pub(crate) fn now(&self) -> Time {
        Time::ps(self.now.get())
    }

    pub(crate) fn delta(&self) -> u64 {
        self.delta.get()
    }

    /// The process being run.
    ///
    /// # Panics
    /// If a kernel future is polled by anything but the kernel.
    pub(crate) fn running(&self) -> u32 {
        let running = self.running.get();
        assert!(running != NOBODY, "waits of the simulation kernel can only be awaited inside its processes");
        running
    }

    pub(crate) fn remember(&self, event: &Rc<EventState>) {
        let mut events = self.events.borrow_mut();
        if events.len() >= self.events_limit.get() {
            events.retain(|event| event.strong_count() > 0);
            self.events_limit.set((events.len() * 2).max(64));
        }
        events.push(Rc::downgrade(event));
    }

    pub(crate) fn spawn(
        self: &Rc<Self>,
        name: Rc<str>,
        body: Body,
        listens_to: Vec<Event>,
        initialize: bool,
        background: bool,
    ) -> Process {
        let ended = Event::new(self, format!("{name}.ended").into(), false);
        let slot = Slot {
            body,
            name,
            queued: false,
            killed: false,
            background,
            armed: None,
            listens_to,
            ended: Some(ended.clone()),
        };
        let mut processes = self.processes.borrow_mut();
        let id = match processes.free.pop() {
            Some(id) => {
                processes.slots[id as usize] = slot;
                id
            }
            None => {
                processes.slots.push(slot);
                (processes.slots.len() - 1) as u32
            }
        };
        for event in &processes.slots[id as usize].listens_to {
            event.add_listener(id);
        }
        drop(processes);
        if initialize {
            self.wake(id);
        }
        Process { kernel: self.clone(), id, ended }
    }

    /// Makes a process runnable because what it waits for has come.
    pub(crate) fn wake(&self, id: u32) {
        let mut processes = self.processes.borrow_mut();
        // Handles of events may outlive the simulation and its processes.
        let Some(slot) = processes.slots.get_mut(id as usize) else { return };
        if let Some(armed) = slot.armed.take() {
            self.disarm(id, &armed);
        }
        if !slot.queued && !matches!(slot.body, Body::Vacant) {
            slot.queued = true;
            self.runnable.borrow_mut().push(id);
        }
    }

    /// Makes a method runnable by its static sensitivity, unless a dynamic one replaces that.
    ///
    /// Not by its own immediate notification (IEEE 1666-2011, evaluation phase): it would run for ever.
    pub(crate) fn wake_listener(&self, id: u32) {
        if self.running.get() == id {
            return;
        }
        let mut processes = self.processes.borrow_mut();
        let Some(slot) = processes.slots.get_mut(id as usize) else { return };
        if slot.armed.is_none() && !slot.queued {
            slot.queued = true;
            self.runnable.borrow_mut().push(id);
        }
    }

    fn disarm(&self, id: u32, armed: &Armed) {
        for event in &armed.events {
            event.remove_waiter(id);
        }
        match armed.timer {
            // What is due at this very time or in this very delta cycle has left its queue already.
            ArmedTimer::Timed(until, entry) if self.now.get() < until => {
                self.timed.borrow_mut().remove(entry);
            }
            ArmedTimer::Delta(since) if self.delta.get() == since => self.forget_delta(id),
            _ => {}
        }
    }

    /// Takes back a process's last wait for the next delta cycle.
    pub(crate) fn forget_delta(&self, id: u32) {
        let mut next = self.next_delta.borrow_mut();
        if let Some(at) = next.iter().rposition(|target| matches!(target, Target::Process(p) if *p == id)) {
            next.remove(at);
        }
    }

    fn arm(&self, id: u32, trigger: Trigger) {
        let (events, delay) = trigger.parts();
        for event in &events {
            event.add_waiter(id);
        }
        let timer = match delay {
            Some(Time::ZERO) => {
                self.next_delta.borrow_mut().push(Target::Process(id));
                ArmedTimer::Delta(self.delta())
            }
            Some(delay) => {
                let until = self.now().as_ps().saturating_add(delay.as_ps());
                ArmedTimer::Timed(until, self.timed.borrow_mut().insert(until, Target::Process(id)))
            }
            None => ArmedTimer::None,
        };
        self.processes.borrow_mut().slots[id as usize].armed = Some(Box::new(Armed { events, timer }));
    }

    pub(crate) fn kill(&self, id: u32) {
        let mut processes = self.processes.borrow_mut();
        let Some(slot) = processes.slots.get_mut(id as usize) else { return };
        match slot.body {
            Body::Running => slot.killed = true,
            // What it owns is being dropped, and kills it once more.
            Body::Vacant => {}
            _ => {
                let body = std::mem::replace(&mut slot.body, Body::Vacant);
                drop(processes);
                // What the process owned is dropped here: waits take themselves off their lists.
                drop(body);
                self.retire(id);
            }
        }
    }

    /// Frees the slot of a process that has ended and tells who waits for that.
    fn retire(&self, id: u32) {
        let mut processes = self.processes.borrow_mut();
        let slot = &mut processes.slots[id as usize];
        slot.body = Body::Vacant;
        let (armed, listens_to, ended) =
            (slot.armed.take(), std::mem::take(&mut slot.listens_to), slot.ended.take());
        // A queued slot is freed when the run loop comes by, lest a successor be run in its stead.
        if !slot.queued {
            processes.free.push(id);
        }
        drop(processes);
        if let Some(armed) = armed {
            self.disarm(id, &armed);
        }
        for event in listens_to {
            event.remove_listener(id);
        }
        if let Some(ended) = ended {
            ended.notify_delta();
        }
    }

    /// Runs one process until it waits again or returns.
    fn activate(self: &Rc<Self>, id: u32, context: &mut Context<'_>) {
        let mut body = {
            let mut processes = self.processes.borrow_mut();
            let slot = &mut processes.slots[id as usize];
            slot.queued = false;
            if matches!(slot.body, Body::Vacant) {
                processes.free.push(id);
                return;
            }
            std::mem::replace(&mut slot.body, Body::Running)
        };
        self.activations.set(self.activations.get() + 1);
        self.running.set(id);
        let ended = match &mut body {
            Body::Process(future) => matches!(future.as_mut().poll(context), Poll::Ready(())),
            Body::Method(method) => {
                method(&Sim(self.clone()));
                false
            }
            Body::Vacant | Body::Running => unreachable!("a runnable process has a body"),
        };
        self.running.set(NOBODY);
        let is_method = matches!(body, Body::Method(_));
        let killed = {
            let mut processes = self.processes.borrow_mut();
            let slot = &mut processes.slots[id as usize];
            if !ended && !slot.killed {
                slot.body = body;
                None
            } else {
                Some(body)
            }
        };
        let trigger = self.next_trigger.take();
        match killed {
            Some(body) => {
                drop(body);
                self.retire(id);
            }
            None => {
                if let Some(trigger) = trigger.filter(|_| is_method) {
                    self.arm(id, trigger);
                }
            }
        }
    }

    /// Everything that happens at the present time, delta cycle after delta cycle.
    fn run_instant(self: &Rc<Self>, context: &mut Context<'_>) {
        let mut batch = Vec::new();
        let mut updates = Vec::new();
        let mut notified = Vec::new();
        loop {
            self.drain_doors();
            // Evaluate. Immediate notifications add to the list while it is run.
            loop {
                std::mem::swap(&mut batch, &mut *self.runnable.borrow_mut());
                if batch.is_empty() {
                    break;
                }
                for id in batch.drain(..) {
                    self.activate(id, context);
                }
            }
            // Update.
            std::mem::swap(&mut updates, &mut *self.updates.borrow_mut());
            for channel in updates.drain(..) {
                channel.update();
            }
            if self.stop.get() {
                return;
            }
            // Delta notification.
            std::mem::swap(&mut notified, &mut *self.next_delta.borrow_mut());
            if notified.is_empty() {
                if self.bell.is_rung() {
                    continue;
                }
                return;
            }
            self.delta.set(self.delta.get() + 1);
            for target in notified.drain(..) {
                match target {
                    Target::Process(id) => self.wake(id),
                    Target::Event(event) => event.fire_pending(),
                    Target::Vacant => {}
                }
            }
        }
    }

    /// Lets in what came from outside; it takes effect at the present time.
    fn drain_doors(self: &Rc<Self>) {
        if !self.bell.take() {
            return;
        }
        let doors = self.doors.borrow().clone();
        for door in doors {
            door.drain(&Sim(self.clone()));
        }
    }
}

/// Why a run came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The time limit is reached; later things are still to come.
    Limit,
    /// A model called [`Sim::stop`].
    Requested,
    /// Nothing is left that could happen by itself. [`Simulation::idle_report`] says who still waits.
    Idle,
    /// A process holds time until something from outside arrives; see [`Sim::hold`].
    Held,
}

/// A simulation: the owner of processes, events and time.
///
/// Life cycle: build models with the handle from [`Simulation::sim`], run, look, run on, drop.
/// Everything lives on one thread; other threads reach it through an [`Injector`].
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
            delta: Cell::new(0),
            activations: Cell::new(0),
            running: Cell::new(NOBODY),
            stop: Cell::new(false),
            holds: Cell::new(0),
            runnable: RefCell::default(),
            processes: RefCell::default(),
            updates: RefCell::default(),
            next_delta: RefCell::default(),
            timed: RefCell::new(TimedQueue::new()),
            next_trigger: RefCell::default(),
            events: RefCell::default(),
            events_limit: Cell::new(64),
            doors: RefCell::default(),
            bell: Arc::default(),
            observers: RefCell::default(),
            observed: Cell::new(false),
            sources: RefCell::default(),
        };
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

    /// Runs everything up to and including `limit`, where time then stands, even if nothing was left to do
    /// before (unless the run came back for another reason). A limit of [`Time::MAX`] is none: time then
    /// stands where the last thing happened.
    pub fn run_until(&mut self, limit: Time) -> Stop {
        let kernel = &self.kernel;
        // Nothing happens at the end of time: a wait until then is a wait for ever.
        let last = limit.as_ps().min(u64::MAX - 1);
        let mut context = Context::from_waker(Waker::noop());
        let mut due = Vec::new();
        loop {
            kernel.run_instant(&mut context);
            if kernel.stop.replace(false) {
                return Stop::Requested;
            }
            if kernel.holds.get() > 0 {
                return Stop::Held;
            }
            let mut timed = kernel.timed.borrow_mut();
            let Some(time) = timed.take_earliest(last, &mut due) else {
                let idle = timed.earliest().is_none_or(|time| time == u64::MAX);
                // Time was granted up to the limit, whether or not anything used it.
                if limit != Time::MAX {
                    kernel.now.set(kernel.now.get().max(last));
                }
                return if idle { Stop::Idle } else { Stop::Limit };
            };
            drop(timed);
            kernel.now.set(time);
            kernel.delta.set(kernel.delta.get() + 1);
            for target in due.drain(..) {
                match target {
                    Target::Process(id) => kernel.wake(id),
                    Target::Event(event) => event.fire_pending(),
                    Target::Vacant => {}
                }
            }
        }
    }

    /// When the next thing happens by itself, if anything does.
    pub fn next_time(&self) -> Option<Time> {
        let now_is_busy = !self.kernel.runnable.borrow().is_empty()
            || !self.kernel.updates.borrow().is_empty()
            || !self.kernel.next_delta.borrow().is_empty()
            || self.kernel.bell.is_rung();
        if now_is_busy {
            return Some(self.now());
        }
        self.kernel.timed.borrow().earliest().filter(|&time| time != u64::MAX).map(Time::ps)
    }

    /// Who still waits, and for what: the deadlock report.
    ///
    /// A server ([`Sim::server`]) that waits for work only ([`Sim::work_event`]) is at rest, which is normal;
    /// whoever else waits is stuck.
    pub fn idle_report(&self) -> IdleReport {
        let kernel = &self.kernel;
        let events: Vec<Rc<EventState>> = kernel.events.borrow().iter().filter_map(Weak::upgrade).collect();
        let mut report = IdleReport { time: self.now(), blocked: Vec::new(), at_rest: Vec::new() };
        for (id, slot) in kernel.processes.borrow().slots.iter().enumerate() {
            if !matches!(slot.body, Body::Process(_)) {
                continue;
            }
            let waited = || events.iter().filter(|event| event.is_waited_for_by(id as u32));
            let at_rest =
                slot.background && waited().next().is_some() && waited().all(|event| event.is_work());
            let waits_for = waited().map(|event| event.name().clone()).collect();
            let blocked = Blocked { process: slot.name.clone(), waits_for };
            if at_rest { &mut report.at_rest } else { &mut report.blocked }.push(blocked);
        }
        report
    }

    /// How many activations of processes and methods there have been.
    pub fn activations(&self) -> u64 {
        self.kernel.activations.get()
    }

    /// How many delta cycles there have been.
    pub fn delta_cycles(&self) -> u64 {
        self.kernel.delta.get()
    }

    /// How many timed notifications and waits are outstanding.
    pub fn pending(&self) -> usize {
        self.kernel.timed.borrow().len()
    }

    /// The bell that every injector rings: lets the thread that drives the simulation sleep until
    /// something comes.
    pub fn bell(&self) -> Arc<Bell> {
        self.kernel.bell.clone()
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        // Processes own handles of the kernel that owns them: take the bodies out to break the circle.
        let bodies: Vec<Body> = (self.kernel.processes.borrow_mut().slots.iter_mut())
            .map(|slot| std::mem::replace(&mut slot.body, Body::Vacant))
            .collect();
        drop(bodies);
        *self.kernel.timed.borrow_mut() = TimedQueue::new();
        let doors = self.kernel.doors.take();
        let observers = self.kernel.observers.take();
        let updates = self.kernel.updates.take();
        let trigger = self.kernel.next_trigger.take();
        let next = self.kernel.next_delta.take();
        let slots = std::mem::take(&mut self.kernel.processes.borrow_mut().slots);
        drop((doors, observers, updates, trigger, next, slots));
    }
}

/// The handle of a simulation that models and processes keep: cheap to clone, bound to its thread.
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
    pub fn event(&self, name: impl Into<Rc<str>>) -> Event {
        Event::new(&self.0, name.into(), false)
    }

    /// A new event that announces work: a server that waits for it is at rest, not stuck
    /// (see [`Simulation::idle_report`]).
    pub fn work_event(&self, name: impl Into<Rc<str>>) -> Event {
        Event::new(&self.0, name.into(), true)
    }

    /// Starts a process (`SC_THREAD`): runnable at once, it runs until it awaits.
    ///
    /// Inside, await only what this kernel offers; a foreign future would never be woken.
    pub fn process(&self, name: impl Into<Rc<str>>, body: impl Future<Output = ()> + 'static) -> Process {
        self.0.spawn(name.into(), Body::Process(Box::pin(body)), Vec::new(), true, false)
    }

    /// Starts a process that serves for ever: that it waits for work when all else has ended is no deadlock.
    pub fn server(&self, name: impl Into<Rc<str>>, body: impl Future<Output = ()> + 'static) -> Process {
        self.0.spawn(name.into(), Body::Process(Box::pin(body)), Vec::new(), true, true)
    }

    /// Sets up a method (`SC_METHOD`): a callback that runs whenever an event it is sensitive to fires.
    pub fn method(&self, name: impl Into<Rc<str>>) -> MethodBuilder {
        MethodBuilder { kernel: self.0.clone(), name: name.into(), events: Vec::new(), initialize: true }
    }

    /// Inside a method: what calls it next, in place of its static sensitivity (`next_trigger`).
    /// Said twice in one call, the last counts; anywhere else it has no effect.
    pub fn next_trigger(&self, trigger: Trigger) {
        if self.0.running.get() != NOBODY {
            *self.0.next_trigger.borrow_mut() = Some(trigger);
        }
    }

    /// Waits until `delay` has passed; [`Time::ZERO`] waits for the next delta cycle.
    pub fn wait(&self, delay: Time) -> Wait<'_> {
        Wait { kernel: &self.0, delay, state: WaitState::New }
    }

    /// Waits until a point in time; returns at once if that is not in the future.
    pub async fn wait_until(&self, time: Time) {
        if time > self.now() {
            self.wait(time - self.now()).await;
        }
    }

    /// Ends the run after the present delta cycle; it can be continued.
    pub fn stop(&self) {
        self.0.stop.set(true);
    }

    /// Keeps time from moving on while the guard lives: for a process that awaits an answer from
    /// outside whose modelled time has come. The present time's delta cycles go on.
    ///
    /// ```
    /// use vp_core::{Simulation, Stop, Time};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let answer = sim.event("answer");
    /// let arrived = answer.clone();
    /// let door = sim.injector(move |_, ()| arrived.notify());
    /// sim.clone().process("asker", async move {
    ///     let hold = sim.hold();
    ///     answer.wait().await;
    ///     drop(hold);
    ///     sim.wait(Time::ns(5)).await;
    /// });
    /// assert_eq!(simulation.run(), Stop::Held);
    /// door.send(());
    /// assert_eq!(simulation.run(), Stop::Idle);
    /// assert_eq!(simulation.now(), Time::ns(5));
    /// ```
    pub fn hold(&self) -> Hold {
        self.0.holds.set(self.0.holds.get() + 1);
        Hold(self.0.clone())
    }

    /// Opens a door for another thread: what it sends is given to `handle` at the time at which it
    /// takes effect, in order, between two delta cycles.
    pub fn injector<T: Send + 'static>(&self, handle: impl FnMut(&Sim, T) + 'static) -> Injector<T> {
        let (injector, door) = crate::inject::door(self.0.bell.clone(), handle);
        self.0.doors.borrow_mut().push(door);
        injector
    }

    /// Adds an observer, which is told everything from now on.
    pub fn observe(&self, observer: Rc<dyn Observer>) {
        self.0.observers.borrow_mut().push(observer);
        self.0.observed.set(true);
    }

    /// Names something that reports to observers.
    pub fn source(&self, name: impl Into<Rc<str>>) -> Source {
        let mut sources = self.0.sources.borrow_mut();
        sources.push(name.into());
        Source((sources.len() - 1) as u32)
    }

    /// The name of a source.
    pub fn source_name(&self, source: Source) -> Rc<str> {
        self.0.sources.borrow()[source.0 as usize].clone()
    }

    /// Whether anyone listens: lets a model skip work that only observers need.
    pub fn is_observed(&self) -> bool {
        self.0.observed.get()
    }

    /// Tells the observers.
    pub fn report(&self, source: Source, what: What<'_>) {
        if !self.0.observed.get() {
            return;
        }
        let observation = Observation { time: self.now(), delta: self.delta(), source, what };
        for observer in self.0.observers.borrow().iter() {
            observer.observe(&observation);
        }
    }

    pub(crate) fn request_update(&self, channel: Rc<dyn Update>) {
        self.0.updates.borrow_mut().push(channel);
    }
}

/// Keeps simulated time where it is while it lives; made by [`Sim::hold`].
#[must_use = "time moves on as soon as the guard is dropped"]
pub struct Hold(Rc<Kernel>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.holds.set(self.0.holds.get() - 1);
    }
}
