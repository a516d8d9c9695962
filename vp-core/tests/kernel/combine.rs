//! Waiting for several things, and giving waits up.

use crate::Log;
use vp_core::{Either, Fifo, Semaphore, Sim, Simulation, Time, join, select, wait_all, wait_any};

/// Runs one process; afterwards nothing may be left over.
fn alone(body: impl AsyncFnOnce(Sim) + 'static) -> Simulation {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    sim.clone().process("alone", async move { body(sim).await });
    simulation.run();
    assert_eq!(simulation.pending(), 0);
    assert!(!simulation.idle_report().is_deadlock());
    simulation
}

#[test]
fn the_loser_of_a_race_leaves_nothing_behind() {
    let simulation = alone(async |sim| {
        let event = sim.event("event");
        event.notify_after(Time::ns(1));
        assert_eq!(select(event.wait(), sim.wait(Time::ns(9))).await, Either::First(()));
        assert_eq!(select(event.wait(), sim.wait(Time::ns(1))).await, Either::Second(()));
        assert_eq!(sim.timeout(Time::ns(2), event.wait()).await, None);
        event.notify_after(Time::ns(1));
        assert_eq!(sim.timeout(Time::ns(2), event.wait()).await, Some(()));
        select(sim.wait(Time::ZERO), sim.wait(Time::ns(9))).await;
    });
    assert_eq!(simulation.now(), Time::ns(5));
}

#[test]
fn the_first_wins_a_tie() {
    alone(async |sim| {
        let (a, b) = (sim.event("a"), sim.event("b"));
        b.notify_after(Time::ns(1));
        a.notify_after(Time::ns(1));
        assert_eq!(select(a.wait(), b.wait()).await, Either::First(()));
        a.notify_after(Time::ns(1));
        assert_eq!(select(sim.wait(Time::ns(1)), a.wait()).await, Either::First(()));
        assert_eq!(sim.now(), Time::ns(2));
    });
}

#[test]
fn races_can_be_nested_and_dropped_half_way() {
    let simulation = alone(async |sim| {
        let never = sim.event("never");
        let slow = async {
            join(never.wait(), sim.wait(Time::ns(50))).await;
        };
        let fast = sim.timeout(Time::ns(3), wait_all_of(&sim));
        assert!(matches!(select(slow, fast).await, Either::Second(None)));
        never.notify();
    });
    assert_eq!(simulation.now(), Time::ns(3));
}

async fn wait_all_of(sim: &Sim) {
    let (a, b) = (sim.event("a"), sim.event("b"));
    a.notify_after(Time::ns(1));
    wait_all(&[&a, &b]).await;
}

#[test]
fn wait_any_tells_which_and_wait_all_waits_for_the_last() {
    let simulation = alone(async |sim| {
        let (a, b, c) = (sim.event("a"), sim.event("b"), sim.event("c"));
        b.notify_after(Time::ns(2));
        c.notify_after(Time::ns(1));
        assert_eq!(wait_any(&[&a, &b, &c]).await, 2);
        assert_eq!(wait_any(&[&a, &b, &c]).await, 1);
        for (event, delay) in [(&a, 3), (&b, 1), (&c, 2)] {
            event.notify_after(Time::ns(delay));
        }
        wait_all(&[&a, &b, &c]).await;
        wait_all(&[]).await;
    });
    assert_eq!(simulation.now(), Time::ns(5));
}

#[test]
fn a_wait_that_is_never_awaited_does_nothing() {
    let simulation = alone(async |sim| {
        let event = sim.event("event");
        drop((event.wait(), sim.wait(Time::ns(1))));
    });
    assert_eq!(simulation.now(), Time::ZERO);
}

#[test]
fn the_same_event_can_be_awaited_twice_at_once() {
    alone(async |sim| {
        let event = sim.event("event");
        event.notify_after(Time::ns(1));
        join(event.wait(), event.wait()).await;
        event.notify_after(Time::ns(1));
        select(event.wait(), event.wait()).await;
    });
}

#[test]
fn a_queue_or_semaphore_wait_that_is_given_up_loses_nothing() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let (fifo, permits) = (Fifo::<u32>::new(&sim, "f", 1), Semaphore::new(&sim, "s", 1));
    let (queue, credit, note) = (fifo.clone(), permits.clone(), log.clone());
    sim.process("impatient", async move {
        assert!(note.sim.timeout(Time::ns(1), queue.get()).await.is_none());
        assert!(credit.try_acquire(1));
        assert!(note.sim.timeout(Time::ns(1), credit.acquire(1)).await.is_none());
        credit.release(1);
        note.sim.wait(Time::ns(5)).await;
        note.at(&queue.get().await.to_string());
    });
    let clock = sim.clone();
    sim.process("producer", async move {
        clock.wait(Time::ns(2)).await;
        fifo.put(7).await;
    });
    simulation.run();
    assert_eq!(log.take(), "7@7");
    assert_eq!((permits.free(), simulation.pending()), (1, 0));
}

#[test]
fn a_permit_given_in_the_very_moment_of_giving_up_goes_to_the_next() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let permits = Semaphore::new(&sim, "s", 1);
    assert!(permits.try_acquire(1));
    let (clock, credit) = (sim.clone(), permits.clone());
    // Released at 5 ns, given up at 5 ns: the permit is on its way when the wait is dropped.
    sim.process("holder", async move {
        clock.wait(Time::ns(5)).await;
        credit.release(1);
    });
    let (credit, note) = (permits.clone(), log.clone());
    sim.process("impatient", async move {
        assert_eq!(select(note.sim.wait(Time::ns(5)), credit.acquire(1)).await, Either::First(()));
    });
    let (credit, note) = (permits.clone(), log.clone());
    sim.process("patient", async move {
        credit.acquire(1).await;
        note.at("patient");
    });
    simulation.run();
    assert_eq!(log.take(), "patient@5");
}
