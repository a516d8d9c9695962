//! Random small programs, run by the kernel and by a scheduler so plain that one can see it is right.

use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Either, Event, Fifo, Process, Sim, Simulation, Time, Trigger, select};

const EVENTS: usize = 3;
const CAPACITY: usize = 2;
/// Programs may start each other; this bounds it.
const INSTANCES: usize = 12;

#[derive(Debug, Clone, Copy)]
enum Op {
    Wait(u64),
    WaitFor(usize),
    WaitForOrTime(usize, u64),
    Notify(usize),
    NotifyDelta(usize),
    NotifyAfter(usize, u64),
    Cancel(usize),
    Put,
    Get,
    Spawn(usize),
    Kill(usize),
}

type Program = Vec<Op>;

/// A method: what it is sensitive to, and what it does and asks for at each call. After its last call it
/// does nothing any more.
#[derive(Debug, Clone)]
struct Method {
    sensitive: Vec<usize>,
    initialize: bool,
    calls: Vec<(Vec<Op>, Option<Next>)>,
}

/// Events and a delay: one kind of `Trigger` for each combination.
type Next = (Vec<usize>, Option<u64>);

/// Time, instance, operation finished, and which of two came first.
type Line = (u64, usize, usize, bool);

fn op() -> impl Strategy<Value = Op> {
    let event = || 0..EVENTS;
    prop_oneof![
        4 => (0u64..4).prop_map(Op::Wait),
        3 => event().prop_map(Op::WaitFor),
        3 => (event(), 0u64..4).prop_map(|(event, time)| Op::WaitForOrTime(event, time)),
        2 => event().prop_map(Op::Notify),
        2 => event().prop_map(Op::NotifyDelta),
        3 => (event(), 0u64..4).prop_map(|(event, time)| Op::NotifyAfter(event, time)),
        1 => event().prop_map(Op::Cancel),
        2 => Just(Op::Put),
        2 => Just(Op::Get),
        1 => (0usize..4).prop_map(Op::Spawn),
        1 => (0..INSTANCES).prop_map(Op::Kill),
    ]
}

/// Operation that a method may do: anything but wait.
fn act() -> impl Strategy<Value = Op> {
    let event = || 0..EVENTS;
    prop_oneof![
        2 => event().prop_map(Op::Notify),
        2 => event().prop_map(Op::NotifyDelta),
        2 => (event(), 0u64..4).prop_map(|(event, time)| Op::NotifyAfter(event, time)),
        1 => event().prop_map(Op::Cancel),
        1 => (0usize..4).prop_map(Op::Spawn),
        1 => (0..INSTANCES).prop_map(Op::Kill),
    ]
}

fn method() -> impl Strategy<Value = Method> {
    let next = prop_oneof![
        (0u64..4).prop_map(|delay| (vec![], Some(delay))),
        (0..EVENTS).prop_map(|event| (vec![event], None)),
        (0..EVENTS, 0u64..4).prop_map(|(event, delay)| (vec![event], Some(delay))),
        prop::collection::vec(0..EVENTS, 2..4).prop_map(|events| (events, None)),
    ];
    let call = (prop::collection::vec(act(), 0..3), prop::option::of(next));
    let sensitive = prop::collection::vec(0..EVENTS, 0..3);
    (sensitive, any::<bool>(), prop::collection::vec(call, 1..6))
        .prop_map(|(sensitive, initialize, calls)| Method { sensitive, initialize, calls })
}

// ---- by the kernel ----

struct World {
    sim: Sim,
    programs: Vec<Program>,
    events: Vec<Event>,
    fifo: Fifo<()>,
    instances: RefCell<Vec<Option<Process>>>,
    log: RefCell<Vec<Line>>,
}

impl World {
    fn start_method(self: &Rc<Self>, method: &Method) {
        let instance = self.instances.borrow().len();
        self.instances.borrow_mut().push(None);
        let mut builder = self.sim.method(format!("m{instance}"));
        for &event in &method.sensitive {
            builder = builder.sensitive(&self.events[event]);
        }
        if !method.initialize {
            builder = builder.dont_initialize();
        }
        let (world, calls, mut call) = (self.clone(), method.calls.clone(), 0);
        let process = builder.run(move |sim| {
            world.log.borrow_mut().push((sim.now().as_ps(), instance, call, true));
            if let Some((ops, next)) = calls.get(call) {
                ops.iter().for_each(|&op| world.act(op));
                if let Some((events, delay)) = next {
                    let events: Vec<Event> =
                        events.iter().map(|&event| world.events[event].clone()).collect();
                    sim.next_trigger(match (&events[..], *delay) {
                        ([], delay) => Trigger::After(Time::ps(delay.unwrap_or(0))),
                        ([event], None) => Trigger::On(event.clone()),
                        ([event, ..], Some(delay)) => Trigger::OnOrAfter(event.clone(), Time::ps(delay)),
                        _ => Trigger::OnAny(events),
                    });
                }
            }
            call += 1;
        });
        self.instances.borrow_mut()[instance] = Some(process);
    }

    /// Does what needs no wait.
    fn act(self: &Rc<Self>, op: Op) {
        match op {
            Op::Notify(event) => self.events[event].notify(),
            Op::NotifyDelta(event) => self.events[event].notify_delta(),
            Op::NotifyAfter(event, time) => self.events[event].notify_after(Time::ps(time)),
            Op::Cancel(event) => self.events[event].cancel(),
            Op::Spawn(other) => self.start(other % self.programs.len()),
            Op::Kill(other) => {
                let victim = self.instances.borrow().get(other).cloned().flatten();
                if let Some(victim) = victim {
                    victim.kill();
                }
            }
            waits => unreachable!("{waits:?} waits"),
        }
    }

    fn start(self: &Rc<Self>, program: usize) {
        let instance = self.instances.borrow().len();
        if instance < INSTANCES {
            self.instances.borrow_mut().push(None);
            let process = self.sim.process(format!("p{instance}"), run(self.clone(), program, instance));
            self.instances.borrow_mut()[instance] = Some(process);
        }
    }
}

async fn run(world: Rc<World>, program: usize, instance: usize) {
    for (at, &op) in world.programs[program].iter().enumerate() {
        let mut first = true;
        match op {
            Op::Wait(time) => world.sim.wait(Time::ps(time)).await,
            Op::WaitFor(event) => world.events[event].wait().await,
            Op::WaitForOrTime(event, time) => {
                let race = select(world.events[event].wait(), world.sim.wait(Time::ps(time)));
                first = race.await == Either::First(());
            }
            Op::Put => world.fifo.put(()).await,
            Op::Get => world.fifo.get().await,
            acts => world.act(acts),
        }
        world.log.borrow_mut().push((world.sim.now().as_ps(), instance, at, first));
    }
}

fn by_the_kernel(
    programs: &[Program],
    methods: &[Method],
    started: usize,
    slices: &[u64],
) -> (Vec<Line>, usize) {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let world = Rc::new(World {
        sim: sim.clone(),
        programs: programs.to_vec(),
        events: (0..EVENTS).map(|event| sim.event(format!("e{event}"))).collect(),
        fifo: Fifo::new(&sim, "fifo", CAPACITY),
        instances: RefCell::default(),
        log: RefCell::default(),
    });
    methods.iter().for_each(|method| world.start_method(method));
    (0..started).for_each(|program| world.start(program % programs.len()));
    for &slice in slices {
        simulation.run_for(Time::ps(slice));
    }
    simulation.run();
    let blocked = simulation.idle_report().blocked.len();
    (world.log.take(), blocked)
}

// ---- by the reference ----

#[derive(Debug, Clone, Copy, PartialEq)]
enum Due {
    Process(usize),
    Event(usize),
}

#[derive(Debug, Clone, Copy)]
struct Instance {
    program: usize,
    at: usize,
    /// Number of times that the event it waits for had fired when it began to wait.
    waiting: Option<u64>,
    alive: bool,
    doomed: bool,
    /// For methods: which one, and whether a dynamic sensitivity replaces the static one.
    method: Option<usize>,
    armed: bool,
}

/// Events beyond the programs' own: the queue was written, the queue was read.
const WRITTEN: usize = EVENTS;
const READ: usize = EVENTS + 1;

#[derive(Default)]
struct Reference {
    programs: Vec<Program>,
    methods: Vec<Method>,
    instances: Vec<Instance>,
    running: Option<usize>,
    now: u64,
    runnable: VecDeque<usize>,
    delta: Vec<Due>,
    /// In order of insertion; the earliest is looked for.
    timed: Vec<(u64, Due)>,
    waiters: [Vec<usize>; EVENTS + 2],
    fired: [u64; EVENTS + 2],
    readable: usize,
    read: usize,
    written: usize,
    log: Vec<Line>,
}

impl Reference {
    fn start(&mut self, program: usize) {
        if self.instances.len() < INSTANCES {
            self.runnable.push_back(self.instances.len());
            self.add(program, None);
        }
    }

    fn add(&mut self, program: usize, method: Option<usize>) {
        let (alive, doomed, armed) = (true, false, false);
        self.instances.push(Instance { program, at: 0, waiting: None, alive, doomed, method, armed });
    }

    fn start_method(&mut self, method: usize) {
        if self.methods[method].initialize {
            self.runnable.push_back(self.instances.len());
        }
        self.add(0, Some(method));
    }

    fn call(&mut self, me: usize, method: usize) {
        let call = self.instances[me].at;
        self.log.push((self.now, me, call, true));
        self.instances[me].at += 1;
        let Some((ops, next)) = self.methods[method].calls.get(call).cloned() else { return };
        ops.into_iter().for_each(|op| self.act(me, op));
        if self.instances[me].doomed {
            self.kill(me);
        } else if let Some((events, delay)) = next {
            self.instances[me].armed = true;
            events.iter().for_each(|&event| self.waiters[event].push(me));
            if let Some(delay) = delay {
                self.schedule(Due::Process(me), delay);
            }
        }
    }

    /// Returns those who are sensitive to an event for good, in the order in which they were set up.
    fn listeners(&self, event: usize) -> Vec<usize> {
        let listens = |instance: &Instance| {
            !instance.armed
                && instance.method.is_some_and(|method| self.methods[method].sensitive.contains(&event))
        };
        (0..self.instances.len())
            .filter(|&at| listens(&self.instances[at]) && self.running != Some(at))
            .collect()
    }

    fn act(&mut self, me: usize, op: Op) {
        match op {
            Op::Notify(event) => {
                self.cancel(Due::Event(event));
                self.happen(Due::Event(event));
            }
            Op::NotifyDelta(event) => self.notify_after(event, 0),
            Op::NotifyAfter(event, time) => self.notify_after(event, time),
            Op::Cancel(event) => self.cancel(Due::Event(event)),
            Op::Spawn(other) => self.start(other % self.programs.len()),
            Op::Kill(other) if other == me => self.instances[me].doomed = true,
            Op::Kill(other) if other < self.instances.len() => self.kill(other),
            _ => {}
        }
    }

    fn cancel(&mut self, due: Due) {
        self.delta.retain(|other| *other != due);
        self.timed.retain(|(_, other)| *other != due);
    }

    fn notify_after(&mut self, event: usize, delay: u64) {
        let due = Due::Event(event);
        let earlier = self.delta.contains(&due)
            || self.timed.iter().any(|&(time, other)| other == due && delay > 0 && time <= self.now + delay);
        if !earlier {
            self.cancel(due);
            self.schedule(due, delay);
        }
    }

    fn schedule(&mut self, due: Due, delay: u64) {
        match delay {
            0 => self.delta.push(due),
            _ => self.timed.push((self.now + delay, due)),
        }
    }

    fn wake(&mut self, instance: usize) {
        if std::mem::take(&mut self.instances[instance].armed) {
            self.withdraw(instance);
        }
        if self.instances[instance].alive && !self.runnable.contains(&instance) {
            self.runnable.push_back(instance);
        }
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Process(instance) => self.wake(instance),
            Due::Event(event) => {
                self.fired[event] += 1;
                self.listeners(event).into_iter().for_each(|listener| self.wake(listener));
                for instance in std::mem::take(&mut self.waiters[event]) {
                    self.wake(instance);
                }
            }
        }
    }

    /// Takes an instance off everything it waits for.
    fn withdraw(&mut self, instance: usize) {
        self.cancel(Due::Process(instance));
        self.waiters.iter_mut().for_each(|waiters| waiters.retain(|&waiter| waiter != instance));
    }

    fn wait(&mut self, instance: usize, event: Option<usize>, delay: Option<u64>) {
        if let Some(event) = event {
            self.waiters[event].push(instance);
        }
        if let Some(delay) = delay {
            self.schedule(Due::Process(instance), delay);
        }
        self.instances[instance].waiting = Some(event.map_or(0, |event| self.fired[event]));
    }

    fn kill(&mut self, instance: usize) {
        self.withdraw(instance);
        self.instances[instance].alive = false;
        self.runnable.retain(|&other| other != instance);
    }

    fn activate(&mut self, me: usize) {
        if let Some(method) = self.instances[me].method {
            return self.call(me, method);
        }
        loop {
            let Instance { program, at, waiting, .. } = self.instances[me];
            let Some(&op) = self.programs[program].get(at) else {
                self.instances[me].alive = false;
                return;
            };
            let mut first = true;
            match (op, waiting) {
                (Op::Wait(time), None) => self.wait(me, None, Some(time)),
                (Op::WaitFor(event), None) => self.wait(me, Some(event), None),
                (Op::WaitForOrTime(event, time), None) => self.wait(me, Some(event), Some(time)),
                (Op::WaitForOrTime(event, _), Some(seen)) => first = self.fired[event] != seen,
                (Op::Put, _) if self.readable + self.written == CAPACITY => self.wait(me, Some(READ), None),
                (Op::Put, _) => {
                    self.written += 1;
                    self.instances[me].waiting = None;
                }
                (Op::Get, _) if self.readable == self.read => self.wait(me, Some(WRITTEN), None),
                (Op::Get, _) => {
                    self.read += 1;
                    self.instances[me].waiting = None;
                }
                (Op::Wait(_) | Op::WaitFor(_), Some(_)) => {}
                (acts, _) => self.act(me, acts),
            }
            let begun = waiting.is_none() && self.instances[me].waiting.is_some();
            let again = matches!(op, Op::Put | Op::Get) && self.instances[me].waiting.is_some();
            if begun || again {
                if self.instances[me].doomed {
                    self.kill(me);
                }
                return;
            }
            self.withdraw(me);
            self.instances[me].waiting = None;
            self.instances[me].at += 1;
            self.log.push((self.now, me, at, first));
        }
    }

    fn run(&mut self) {
        loop {
            while let Some(next) = self.runnable.pop_front() {
                self.running = Some(next);
                self.activate(next);
                self.running = None;
            }
            let (read, written) = (std::mem::take(&mut self.read), std::mem::take(&mut self.written));
            self.readable = self.readable - read + written;
            if read > 0 {
                self.notify_after(READ, 0);
            }
            if written > 0 {
                self.notify_after(WRITTEN, 0);
            }
            let due = if self.delta.is_empty() {
                let Some(time) = self.timed.iter().map(|entry| entry.0).min() else { return };
                self.now = time;
                let due = self.timed.iter().filter(|entry| entry.0 == time).map(|entry| entry.1).collect();
                self.timed.retain(|entry| entry.0 != time);
                due
            } else {
                std::mem::take(&mut self.delta)
            };
            due.into_iter().for_each(|due| self.happen(due));
        }
    }
}

fn by_the_reference(programs: &[Program], methods: &[Method], started: usize) -> (Vec<Line>, usize) {
    let (programs, methods) = (programs.to_vec(), methods.to_vec());
    let mut reference = Reference { programs, methods, ..Reference::default() };
    (0..reference.methods.len()).for_each(|method| reference.start_method(method));
    (0..started).for_each(|program| reference.start(program % reference.programs.len()));
    reference.run();
    let blocked =
        reference.instances.iter().filter(|instance| instance.alive && instance.method.is_none()).count();
    (reference.log, blocked)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn programs_run_as_the_plain_scheduler_runs_them(
        programs in prop::collection::vec(prop::collection::vec(op(), 1..10), 1..5),
        methods in prop::collection::vec(method(), 0..4),
        started in 1usize..7,
        slices in prop::collection::vec(0u64..4, 0..4),
    ) {
        let expected = by_the_reference(&programs, &methods, started);
        prop_assert_eq!(&by_the_kernel(&programs, &methods, started, &[]), &expected);
        prop_assert_eq!(&by_the_kernel(&programs, &methods, started, &slices), &expected, "in slices");
    }
}
