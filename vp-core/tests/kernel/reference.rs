//! Random small programs, run by the kernel and by a scheduler so plain that one can see it is right.

use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Either, Event, Fifo, Process, Sim, Simulation, Time, select};

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
            Op::Notify(event) => world.events[event].notify(),
            Op::NotifyDelta(event) => world.events[event].notify_delta(),
            Op::NotifyAfter(event, time) => world.events[event].notify_after(Time::ps(time)),
            Op::Cancel(event) => world.events[event].cancel(),
            Op::Put => world.fifo.put(()).await,
            Op::Get => world.fifo.get().await,
            Op::Spawn(other) => world.start(other % world.programs.len()),
            Op::Kill(other) => {
                let victim = world.instances.borrow().get(other).cloned().flatten();
                if let Some(victim) = victim {
                    victim.kill();
                }
            }
        }
        world.log.borrow_mut().push((world.sim.now().as_ps(), instance, at, first));
    }
}

fn by_the_kernel(programs: &[Program], started: usize, slices: &[u64]) -> (Vec<Line>, usize) {
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
    /// How often the event it waits for had fired when it began to wait.
    waiting: Option<u64>,
    alive: bool,
    doomed: bool,
}

/// Events beyond the programs' own: the queue was written, the queue was read.
const WRITTEN: usize = EVENTS;
const READ: usize = EVENTS + 1;

#[derive(Default)]
struct Reference {
    programs: Vec<Program>,
    instances: Vec<Instance>,
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
            self.instances.push(Instance { program, at: 0, waiting: None, alive: true, doomed: false });
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
        if self.instances[instance].alive && !self.runnable.contains(&instance) {
            self.runnable.push_back(instance);
        }
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Process(instance) => self.wake(instance),
            Due::Event(event) => {
                self.fired[event] += 1;
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
                (Op::Notify(event), _) => {
                    self.cancel(Due::Event(event));
                    self.happen(Due::Event(event));
                }
                (Op::NotifyDelta(event), _) => self.notify_after(event, 0),
                (Op::NotifyAfter(event, time), _) => self.notify_after(event, time),
                (Op::Cancel(event), _) => self.cancel(Due::Event(event)),
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
                (Op::Spawn(other), _) => self.start(other % self.programs.len()),
                (Op::Kill(other), _) if other == me => self.instances[me].doomed = true,
                (Op::Kill(other), _) if other < self.instances.len() => self.kill(other),
                _ => {}
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
                self.activate(next);
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

fn by_the_reference(programs: &[Program], started: usize) -> (Vec<Line>, usize) {
    let mut reference = Reference { programs: programs.to_vec(), ..Reference::default() };
    (0..started).for_each(|program| reference.start(program % programs.len()));
    reference.run();
    let blocked = reference.instances.iter().filter(|instance| instance.alive).count();
    (reference.log, blocked)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn programs_run_as_the_plain_scheduler_runs_them(
        programs in prop::collection::vec(prop::collection::vec(op(), 1..10), 1..5),
        started in 1usize..7,
        slices in prop::collection::vec(0u64..4, 0..4),
    ) {
        let expected = by_the_reference(&programs, started);
        prop_assert_eq!(&by_the_kernel(&programs, started, &[]), &expected);
        prop_assert_eq!(&by_the_kernel(&programs, started, &slices), &expected, "in slices");
    }
}
