//! Processes that come and go, and what things cost that only lie there.

use crate::Work;
use crate::measure::{Count, Footprint, Lcg, Moment, result};
use vp_core::{Sim, Simulation, Time};

/// A process that waits a nanosecond and ends.
async fn brief(sim: Sim, done: Count) {
    sim.wait(Time::ns(1)).await;
    done.add(1);
}

/// A parent starts one child after the other and waits for its end, beside P - 1 idle processes.
pub(crate) fn spawn(case: &str, Work { n, p }: Work) {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let never = sim.event("never");
    for i in 1..p {
        let never = never.clone();
        sim.process(format!("idle_{i}"), async move { never.wait().await });
    }
    let done = Count::default();
    let count = done.clone();
    sim.clone().process("parent", async move {
        sim.wait(Time::ns(1)).await;
        while count.get() < n {
            sim.process("child", brief(sim.clone(), count.clone())).join().await;
        }
    });
    // All of it is one moment of time.
    simulation.set_delta_limit(u64::MAX);
    simulation.run_until(Time::ZERO);
    let start = Moment::now();
    simulation.run();
    result(case, done.get(), &start, 0);
}

/// P processes end in the same delta cycle.
pub(crate) fn end_all(case: &str, Work { p, .. }: Work) {
    let mut simulation = Simulation::new();
    let (sim, done) = (simulation.sim(), Count::default());
    for i in 0..p {
        sim.process(format!("brief_{i}"), brief(sim.clone(), done.clone()));
    }
    simulation.run_until(Time::ZERO);
    let start = Moment::now();
    simulation.run();
    result(case, done.get(), &start, 0);
}

/// Time at which the notification of event `i` is due: well after the start, and spread over a microsecond.
fn due(i: u64) -> Time {
    Time::ms(1) + Time::ns(1 + Lcg::of(i).below(1_000))
}

/// P events, each with a notification outstanding.
pub(crate) fn memory_events(case: &str, Work { p, .. }: Work) {
    let simulation = Simulation::new();
    let sim = simulation.sim();
    let footprint = Footprint::start();
    for i in 0..p {
        sim.event(format!("event_{i}")).notify_after(due(i));
    }
    footprint.report(case, p);
    assert_eq!(simulation.pending() as u64, p);
}

/// P outstanding notifications alone: the events are there before.
pub(crate) fn memory_notifications(case: &str, Work { p, .. }: Work) {
    let simulation = Simulation::new();
    let sim = simulation.sim();
    let events: Vec<_> = (0..p).map(|i| sim.event(format!("event_{i}"))).collect();
    let footprint = Footprint::start();
    for (i, event) in events.iter().enumerate() {
        event.notify_after(due(i as u64));
    }
    footprint.report(case, p);
    assert_eq!(simulation.pending() as u64, p);
}
