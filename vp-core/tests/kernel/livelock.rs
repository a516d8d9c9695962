//! Much is done and time does not move on: the run ends, and says who.

use std::cell::Cell;
use std::rc::Rc;
use vp_core::{Signal, Sim, Simulation, Stop, Time, Trigger};

/// Far above what these tests do legally, and soon reached.
const LIMIT: u64 = 1000;

fn simulation() -> (Simulation, Sim) {
    let mut simulation = Simulation::new();
    simulation.set_delta_limit(LIMIT);
    let sim = simulation.sim();
    (simulation, sim)
}

/// Runs into a livelock and tells who runs.
fn livelock(mut simulation: Simulation) -> String {
    assert_eq!(simulation.run(), Stop::Livelock);
    simulation.livelock().unwrap().to_string()
}

#[test]
fn a_process_that_waits_for_delta_cycles_for_ever_ends_the_run_with_its_name() {
    let (simulation, sim) = simulation();
    sim.clone().process("spins", async move {
        sim.wait(Time::ns(7)).await;
        loop {
            sim.wait(Time::ZERO).await;
        }
    });
    assert_eq!(livelock(simulation), "time stands still at 7 ns while spins runs again and again");
}

#[test]
fn processes_that_wake_each_other_in_no_time_are_named_and_no_others() {
    let (simulation, sim) = simulation();
    let (a, b) = (sim.event("a"), sim.event("b"));
    let (to_b, to_a) = (b.clone(), a.clone());
    sim.method("bystander").run(|_| {});
    sim.method("ping").sensitive(&a).run(move |_| to_b.notify_delta());
    sim.process("pong", async move {
        loop {
            b.wait().await;
            to_a.notify_delta();
        }
    });
    assert_eq!(livelock(simulation), "time stands still at 0 s while ping, pong run again and again");
}

#[test]
fn a_method_that_triggers_itself_in_the_next_delta_cycle_ends_the_run() {
    let (simulation, sim) = simulation();
    sim.method("spins").run(|sim| sim.next_trigger(Trigger::After(Time::ZERO)));
    assert_eq!(livelock(simulation), "time stands still at 0 s while spins runs again and again");
}

#[test]
fn a_combinational_loop_of_a_signal_ends_the_run() {
    let (simulation, sim) = simulation();
    let line = Signal::new(&sim, "line", false);
    let driven = line.clone();
    sim.method("inverter").sensitive(line.changed()).run(move |_| driven.write(!driven.read()));
    assert_eq!(livelock(simulation), "time stands still at 0 s while inverter runs again and again");
}

#[test]
fn immediate_notifications_without_end_are_ended_within_their_evaluation_phase() {
    let (mut simulation, sim) = simulation();
    let (a, b, count) = (sim.event("a"), sim.event("b"), Rc::new(Cell::new(0)));
    for (name, mine, other) in [("ping", a.clone(), b.clone()), ("pong", b, a.clone())] {
        let count = count.clone();
        sim.process(name, async move {
            loop {
                mine.wait().await;
                count.set(count.get() + 1);
                other.notify();
            }
        });
    }
    simulation.run();
    a.notify();
    assert_eq!(simulation.run(), Stop::Livelock);
    let named = simulation.livelock().unwrap().to_string();
    assert!(named.contains("ping") || named.contains("pong"), "{named}");
    // Nobody's turn was lost: it goes on where it was.
    let before = count.get();
    assert_eq!(simulation.run(), Stop::Livelock);
    assert!(count.get() > before && count.get() < 3 * LIMIT, "{}", count.get());
}

#[test]
fn a_process_that_starts_another_and_so_on_in_no_time_ends_the_run() {
    fn start(sim: &Sim) {
        let next = sim.clone();
        sim.process("generation", async move { start(&next) });
    }
    let (simulation, sim) = simulation();
    start(&sim);
    assert_eq!(livelock(simulation), "time stands still at 0 s while generation runs again and again");
}

/// The process never comes back to the kernel but by calls that return at once.
#[test]
fn a_process_that_waits_for_past_times_for_ever_ends_the_run() {
    let (simulation, sim) = simulation();
    sim.clone().process("late", async move {
        sim.wait(Time::ns(3)).await;
        loop {
            sim.wait_until(Time::ns(1)).await;
        }
    });
    assert_eq!(livelock(simulation), "time stands still at 3 ns while late runs again and again");
}

#[test]
fn a_process_that_advances_to_past_times_for_ever_ends_the_run() {
    let (simulation, sim) = simulation();
    sim.clone().process("late", async move {
        loop {
            if !sim.advance(Time::ZERO) {
                sim.wait_until(Time::ZERO).await;
            }
        }
    });
    assert_eq!(livelock(simulation), "time stands still at 0 s while late runs again and again");
}

#[test]
fn many_delta_cycles_are_no_livelock_as_long_as_time_moves_on_between() {
    let (mut simulation, sim) = simulation();
    sim.clone().process("busy", async move {
        for _ in 0..50 {
            for _ in 0..LIMIT / 2 {
                sim.wait(Time::ZERO).await;
            }
            sim.wait(Time::ps(1)).await;
        }
    });
    assert_eq!((simulation.run(), simulation.livelock()), (Stop::Idle, None));
}

#[test]
fn as_many_processes_as_one_likes_may_run_in_one_phase() {
    let (mut simulation, sim) = simulation();
    let start = sim.event("start");
    for _ in 0..5 * LIMIT {
        let start = start.clone();
        sim.process("one of many", async move { start.wait().await });
    }
    start.notify_after(Time::ns(1));
    assert_eq!(simulation.run(), Stop::Idle);
    assert_eq!(simulation.activations(), 10 * LIMIT);
}

#[test]
fn a_run_ends_between_the_limit_and_twice_as_many_and_goes_on_for_as_many_more() {
    let (mut simulation, sim) = simulation();
    sim.clone().process("spins", async move {
        sim.wait(Time::ns(1)).await;
        loop {
            sim.wait(Time::ZERO).await;
        }
    });
    let mut before = 0;
    for _ in 0..3 {
        assert_eq!(simulation.run(), Stop::Livelock);
        let cycles = simulation.delta_cycles() - before;
        assert!((LIMIT..=2 * LIMIT + 32).contains(&cycles), "{cycles}");
        before = simulation.delta_cycles();
    }
}

#[test]
fn without_a_limit_nothing_ends_a_run() {
    let (mut simulation, sim) = simulation();
    simulation.set_delta_limit(u64::MAX);
    sim.clone().process("busy", async move {
        for _ in 0..100 * LIMIT {
            sim.wait(Time::ZERO).await;
        }
    });
    assert_eq!(simulation.run(), Stop::Idle);
}
