//! Delta cycles: events, queues, signals and clocks.

use crate::Work;
use crate::measure::{Count, Moment, result};
use std::cell::Cell;
use std::rc::Rc;
use vp_core::{Clock, Fifo, Signal, Simulation, Time};

/// Runs a case whose work begins after a nanosecond.
fn measure(case: &str, mut simulation: Simulation, done: &Count, checksum: &Count) {
    // All of it is one moment of time.
    simulation.set_delta_limit(u64::MAX);
    simulation.run_until(Time::ZERO);
    let before = done.get();
    let start = Moment::now();
    simulation.run();
    result(case, done.get() - before, &start, checksum.get());
}

/// Two methods wake each other.
pub(crate) fn pingpong_method(case: &str, Work { n, .. }: Work) {
    let simulation = Simulation::new();
    let sim = simulation.sim();
    let (a, b, done) = (sim.event("a"), sim.event("b"), Count::default());
    let (count, wake) = (done.clone(), a.clone());
    sim.method("ping").sensitive(&b).dont_initialize().run(move |_| {
        if count.add(1) <= n {
            wake.notify_delta();
        }
    });
    let (count, wake) = (done.clone(), b.clone());
    sim.method("pong").sensitive(&a).dont_initialize().run(move |_| {
        count.add(1);
        wake.notify_delta();
    });
    b.notify_after(Time::ns(1));
    measure(case, simulation, &done, &Count::default());
}

/// Two processes wake each other.
pub(crate) fn pingpong_thread(case: &str, Work { n, .. }: Work) {
    let simulation = Simulation::new();
    let sim = simulation.sim();
    let (a, b, done) = (sim.event("a"), sim.event("b"), Count::default());
    let (clock, wake, waits, count) = (sim.clone(), a.clone(), b.clone(), done.clone());
    sim.process("ping", async move {
        clock.wait(Time::ns(1)).await;
        while count.get() < n {
            wake.notify_delta();
            waits.wait().await;
            count.add(1);
        }
    });
    let count = done.clone();
    sim.process("pong", async move {
        loop {
            a.wait().await;
            count.add(1);
            b.notify_delta();
        }
    });
    measure(case, simulation, &done, &Count::default());
}

/// A producer and a consumer at the ends of a queue; the checksum is the sum of the items.
fn fifo(case: &str, n: u64, depth: usize) {
    let simulation = Simulation::new();
    let sim = simulation.sim();
    let fifo = Fifo::new(&sim, "items", depth);
    let (done, sum) = (Count::default(), Count::default());
    let (clock, end) = (sim.clone(), fifo.clone());
    sim.process("producer", async move {
        clock.wait(Time::ns(1)).await;
        for item in 0..n {
            end.put(item).await;
        }
    });
    let (count, total) = (done.clone(), sum.clone());
    sim.process("consumer", async move {
        for _ in 0..n {
            total.add(fifo.get().await);
            count.add(1);
        }
    });
    measure(case, simulation, &done, &sum);
}

pub(crate) fn fifo16(case: &str, work: Work) {
    fifo(case, work.n, 16);
}

pub(crate) fn fifo1(case: &str, work: Work) {
    fifo(case, work.n, 1);
}

/// The period of the clock in the clocked cases, and how many methods listen to it unless told.
const PERIOD: Time = Time::ns(10);
const METHODS: u64 = 100;

fn methods(p: u64) -> usize {
    (if p > 1 { p } else { METHODS }) as usize
}

/// Lets the clock rise `n` times more and checks that every method ran each time.
fn measure_clocked(case: &str, n: u64, mut simulation: Simulation, activations: &[Cell<u64>]) {
    let sum = || activations.iter().map(Cell::get).sum::<u64>();
    simulation.run_until(Time::ZERO); // the first rising edge is here
    let before = sum();
    let start = Moment::now();
    simulation.run_until(PERIOD * n);
    result(case, sum() - before, &start, 0);
    assert_eq!(sum() - before, n * activations.len() as u64, "every method runs at every edge");
}

/// Methods that count rising edges.
pub(crate) fn clocked(case: &str, Work { n, p }: Work) {
    let simulation = Simulation::new();
    let sim = simulation.sim();
    let clock = Clock::new(&sim, "clock", PERIOD);
    let activations: Rc<[Cell<u64>]> = vec![Cell::new(0); methods(p)].into();
    for i in 0..activations.len() {
        let count = activations.clone();
        sim.method(format!("counter_{i}")).sensitive(clock.posedge()).dont_initialize().run(move |_| {
            count[i].set(count[i].get() + 1);
        });
    }
    measure_clocked(case, n, simulation, &activations);
}

/// Registers in a ring: each takes its neighbour's value and one more.
pub(crate) fn clocked_registers(case: &str, Work { n, p }: Work) {
    let simulation = Simulation::new();
    let sim = simulation.sim();
    let clock = Clock::new(&sim, "clock", PERIOD);
    let activations: Rc<[Cell<u64>]> = vec![Cell::new(0); methods(p)].into();
    let wires: Vec<Signal<u32>> =
        (0..activations.len()).map(|i| Signal::new(&sim, format!("wire_{i}"), 0)).collect();
    for i in 0..activations.len() {
        let (d, q) = (wires[i].clone(), wires[(i + 1) % wires.len()].clone());
        let count = activations.clone();
        sim.method(format!("register_{i}")).sensitive(clock.posedge()).dont_initialize().run(move |_| {
            q.write(d.read() + 1);
            count[i].set(count[i].get() + 1);
        });
    }
    measure_clocked(case, n, simulation, &activations);
}
