//! The passing of time: one process that waits again and again, and many.

use crate::Work;
use crate::measure::{Count, Footprint, Lcg, Moment, result};
use vp_core::{Sim, Simulation, Time, Trigger};

/// Runs a case whose processes count their activations; the first ones are over before time is taken.
fn measure(case: &str, mut simulation: Simulation, done: &Count) {
    simulation.run_until(Time::ZERO);
    let before = done.get();
    let start = Moment::now();
    simulation.run();
    result(case, done.get() - before, &start, 0);
}

pub(crate) fn timed_method(case: &str, Work { n, .. }: Work) {
    let simulation = Simulation::new();
    let done = Count::default();
    let count = done.clone();
    simulation.sim().method("timed").run(move |sim| {
        if count.add(1) <= n {
            sim.next_trigger(Trigger::After(Time::ns(1)));
        }
    });
    measure(case, simulation, &done);
}

pub(crate) fn timed_thread(case: &str, Work { n, .. }: Work) {
    let simulation = Simulation::new();
    let done = Count::default();
    let (sim, count) = (simulation.sim(), done.clone());
    simulation.sim().process("timed", async move {
        while count.add(1) <= n {
            sim.wait(Time::ns(1)).await;
        }
    });
    measure(case, simulation, &done);
}

/// Times that processes wait: 1 to `bound` times `tick`, evenly distributed.
#[derive(Clone, Copy)]
struct Delays {
    tick: Time,
    bound: u32,
}

/// Many processes are due at the same time when there are thousands.
const DENSE: Delays = Delays { tick: Time::ns(1), bound: 1_000 };
/// Hardly two are due at the same time.
const SPARSE: Delays = Delays { tick: Time::ps(1), bound: 1_000_000 };

impl Delays {
    #[inline]
    fn next(self, lcg: &mut Lcg) -> Time {
        self.tick * (1 + lcg.below(self.bound))
    }
}

/// A method that calls itself again and again until `n` such activations are counted.
fn timer_method(sim: &Sim, i: u64, delays: Delays, n: u64, done: &Count) {
    let (done, mut lcg) = (done.clone(), Lcg::of(i));
    sim.method(format!("timer_{i}")).run(move |sim| {
        if done.add(1) > n {
            return sim.stop();
        }
        sim.next_trigger(Trigger::After(delays.next(&mut lcg)));
    });
}

/// A process that waits again and again until `n` such activations are counted.
fn timer_thread(sim: &Sim, i: u64, delays: Delays, n: u64, done: &Count) {
    let (done, mut lcg, clock) = (done.clone(), Lcg::of(i), sim.clone());
    sim.process(format!("timer_{i}"), async move {
        loop {
            if done.add(1) > n {
                clock.stop();
            }
            clock.wait(delays.next(&mut lcg)).await;
        }
    });
}

type Build = fn(&Sim, u64, Delays, u64, &Count);

fn timers(case: &str, Work { n, p }: Work, delays: Delays, build: Build) {
    let simulation = Simulation::new();
    let done = Count::default();
    (0..p).for_each(|i| build(&simulation.sim(), i, delays, n, &done));
    measure(case, simulation, &done);
}

pub(crate) fn dense_methods(case: &str, work: Work) {
    timers(case, work, DENSE, timer_method);
}

pub(crate) fn dense_threads(case: &str, work: Work) {
    timers(case, work, DENSE, timer_thread);
}

pub(crate) fn sparse_methods(case: &str, work: Work) {
    timers(case, work, SPARSE, timer_method);
}

pub(crate) fn sparse_threads(case: &str, work: Work) {
    timers(case, work, SPARSE, timer_thread);
}

/// Builds timers, lets each come to its first wait, and looks at what that took.
fn memory(case: &str, p: u64, build: Build) {
    let mut simulation = Simulation::new();
    let done = Count::default();
    let footprint = Footprint::start();
    (0..p).for_each(|i| build(&simulation.sim(), i, DENSE, u64::MAX, &done));
    simulation.run_until(Time::ZERO);
    footprint.report(case, p);
}

pub(crate) fn memory_methods(case: &str, work: Work) {
    memory(case, work.p, timer_method);
}

pub(crate) fn memory_threads(case: &str, work: Work) {
    memory(case, work.p, timer_thread);
}
