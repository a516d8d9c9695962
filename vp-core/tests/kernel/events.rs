//! The phases of a delta cycle, and which notification overrides which.

use crate::Log;
use vp_core::{Event, Signal, Simulation, Time};

/// A process that notes each time the event reaches it.
fn listen(log: &Log, name: &'static str, event: &Event) {
    let (log, event) = (log.clone(), event.clone());
    log.sim.clone().server(name, async move {
        loop {
            event.wait().await;
            log.at(name);
        }
    });
}

/// Returns what reaches a listener when `act` runs at 10 ns.
fn outcome(act: impl FnOnce(&Event) + 'static) -> String {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let event = sim.event("event");
    listen(&log, "fired", &event);
    let clock = sim.clone();
    sim.process("actor", async move {
        clock.wait(Time::ns(10)).await;
        act(&event);
    });
    simulation.run();
    assert_eq!(simulation.pending(), 0);
    log.take()
}

#[test]
fn evaluate_then_update_then_delta_notification() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let (signal, now, later) = (Signal::new(&sim, "s", 0), sim.event("now"), sim.event("later"));
    for (name, event) in [("immediate", &now), ("delta", &later)] {
        let (log, event, signal) = (log.clone(), event.clone(), signal.clone());
        sim.process(name, async move {
            event.wait().await;
            log.say(&format!("{name}:{}", signal.read()));
        });
    }
    let note = log.clone();
    sim.process("actor", async move {
        signal.write(1);
        later.notify_delta();
        now.notify();
        note.say("acted");
    });
    simulation.run();
    assert_eq!(log.take(), "acted immediate:0 delta:1");
    assert_eq!(simulation.now(), Time::ZERO);
}

#[test]
fn an_immediate_notification_is_seen_by_those_who_wait_already_only() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let event = sim.event("event");
    listen(&log, "before", &event);
    sim.process("notifier", {
        let event = event.clone();
        async move { event.notify() }
    });
    listen(&log, "after", &event);
    simulation.run();
    assert_eq!(log.take(), "before@0");
}

#[test]
fn an_immediate_notification_cancels_the_outstanding_one() {
    assert_eq!(
        outcome(|event| {
            event.notify_after(Time::ns(5));
            event.notify();
        }),
        "fired@10"
    );
    assert_eq!(
        outcome(|event| {
            event.notify_delta();
            event.notify();
        }),
        "fired@10"
    );
}

#[test]
fn a_delta_notification_beats_a_timed_one_whichever_comes_first() {
    assert_eq!(
        outcome(|event| {
            event.notify_after(Time::ns(5));
            event.notify_delta();
        }),
        "fired@10"
    );
    assert_eq!(
        outcome(|event| {
            event.notify_delta();
            event.notify_after(Time::ns(5));
        }),
        "fired@10"
    );
}

#[test]
fn an_earlier_timed_notification_beats_a_later_one_whichever_comes_first() {
    let (soon, late) = (Time::ns(2), Time::ns(7));
    assert_eq!(
        outcome(move |event| {
            event.notify_after(soon);
            event.notify_after(late);
        }),
        "fired@12"
    );
    assert_eq!(
        outcome(move |event| {
            event.notify_after(late);
            event.notify_after(soon);
        }),
        "fired@12"
    );
}

#[test]
fn a_notification_after_no_time_is_a_delta_notification() {
    assert_eq!(outcome(|event| event.notify_after(Time::ZERO)), "fired@10");
}

#[test]
fn a_notification_at_the_end_of_time_never_comes() {
    assert_eq!(
        outcome(|event| {
            event.notify_after(Time::MAX);
            event.notify_after(Time::ns(1));
        }),
        "fired@11"
    );
}

#[test]
fn cancel_takes_back_what_is_outstanding_and_the_event_can_be_notified_again() {
    assert_eq!(
        outcome(|event| {
            event.notify_after(Time::ns(5));
            event.cancel();
        }),
        ""
    );
    assert_eq!(
        outcome(|event| {
            event.notify_delta();
            event.cancel();
        }),
        ""
    );
    assert_eq!(
        outcome(|event| {
            event.notify_delta();
            event.cancel();
            event.notify_after(Time::ns(3));
        }),
        "fired@13"
    );
}

#[test]
fn a_notification_nobody_waits_for_is_forgotten() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let event = sim.event("event");
    event.notify();
    let waiter = event.clone();
    sim.process("late", async move { waiter.wait().await });
    simulation.run();
    assert!(simulation.idle_report().is_deadlock());
    assert_eq!(event.fired(), 1);
}

#[test]
fn ties_in_time_are_settled_by_the_order_of_notification() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let names = ["a", "b", "c", "d"];
    // Asked for at different times, and so from different distances, for the same moment.
    for (name, start) in names.into_iter().zip([0, 100, 5_000, 5_000]) {
        let (sim, log) = (sim.clone(), log.clone());
        log.sim.clone().process(name, async move {
            sim.wait(Time::ps(start)).await;
            sim.wait_until(Time::ns(1_000)).await;
            log.say(name);
        });
    }
    simulation.run();
    assert_eq!(log.take(), "a b c d");
}

#[test]
fn a_timed_notification_that_was_replaced_counts_from_its_replacement_in_ties() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let (a, b) = (sim.event("a"), sim.event("b"));
    listen(&log, "a", &a);
    listen(&log, "b", &b);
    a.notify_after(Time::ns(9));
    b.notify_after(Time::ns(4));
    a.notify_after(Time::ns(4));
    simulation.run();
    assert_eq!(log.take(), "b@4 a@4");
}

#[test]
fn waiters_of_one_event_run_in_the_order_in_which_they_began_to_wait() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let event = sim.event("event");
    for (name, start) in [("third", 3), ("first", 1), ("second", 2)] {
        let (sim, log, event) = (sim.clone(), log.clone(), event.clone());
        log.sim.clone().process(name, async move {
            sim.wait(Time::ns(start)).await;
            event.wait().await;
            log.say(name);
        });
    }
    event.notify_after(Time::ns(5));
    simulation.run();
    assert_eq!(log.take(), "first second third");
}

#[test]
fn a_wait_for_no_time_lasts_one_delta_cycle() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    sim.clone().process("p", async move {
        let before = sim.delta();
        sim.wait(Time::ZERO).await;
        assert_eq!((sim.delta(), sim.now()), (before + 1, Time::ZERO));
    });
    simulation.run();
    assert!(!simulation.idle_report().is_deadlock());
}
