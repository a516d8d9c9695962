//! Methods: static and dynamic sensitivity.

use crate::Log;
use std::cell::RefCell;
use std::rc::Rc;
use vp_core::{Simulation, Time, Trigger};

#[test]
fn a_method_is_called_at_the_start_and_whenever_an_event_it_is_sensitive_to_fires() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let (a, b, note) = (sim.event("a"), sim.event("b"), log.clone());
    sim.method("m").sensitive(&a).sensitive(&b).run(move |_| note.at("called"));
    a.notify_after(Time::ns(2));
    b.notify_after(Time::ns(2));
    simulation.run();
    b.notify_after(Time::ns(1));
    simulation.run();
    assert_eq!(log.take(), "called@0 called@2 called@3", "two events at once are one call");
}

#[test]
fn dont_initialize_leaves_out_the_call_at_the_start() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let (event, note) = (sim.event("event"), log.clone());
    sim.method("m").sensitive(&event).dont_initialize().run(move |_| note.at("called"));
    event.notify_after(Time::ns(2));
    simulation.run();
    assert_eq!(log.take(), "called@2");
}

#[test]
fn next_trigger_replaces_the_static_sensitivity_for_one_call() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let (fixed, other) = (sim.event("fixed"), sim.event("other"));
    let (note, on, mut calls) = (log.clone(), other.clone(), 0);
    sim.method("m").sensitive(&fixed).run(move |sim| {
        note.at("called");
        if calls == 0 {
            sim.next_trigger(Trigger::On(on.clone()));
        }
        calls += 1;
    });
    let clock = sim.clone();
    sim.process("driver", async move {
        for event in [&fixed, &other, &fixed] {
            clock.wait(Time::ns(1)).await;
            event.notify();
        }
    });
    simulation.run();
    assert_eq!(log.take(), "called@0 called@2 called@3");
}

/// The times at which a method is called that once asks for `trigger`, while `a` fires at 2 and `b` at 4.
fn calls(trigger: impl Fn(&vp_core::Event, &vp_core::Event) -> Trigger + 'static) -> String {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let (a, b) = (sim.event("a"), sim.event("b"));
    a.notify_after(Time::ns(2));
    b.notify_after(Time::ns(4));
    let (note, mut first) = (log.clone(), true);
    sim.method("m").run(move |sim| {
        note.at("m");
        if std::mem::take(&mut first) {
            sim.next_trigger(trigger(&a, &b));
        }
    });
    simulation.run();
    assert_eq!(simulation.pending(), 0);
    log.take()
}

#[test]
fn next_trigger_takes_time_events_or_both() {
    assert_eq!(calls(|_, _| Trigger::After(Time::ns(3))), "m@0 m@3");
    assert_eq!(calls(|_, _| Trigger::After(Time::ZERO)), "m@0 m@0");
    assert_eq!(calls(|_, b| Trigger::On(b.clone())), "m@0 m@4");
    assert_eq!(calls(|a, b| Trigger::OnAny(vec![b.clone(), a.clone()])), "m@0 m@2");
    assert_eq!(calls(|_, b| Trigger::OnOrAfter(b.clone(), Time::ns(3))), "m@0 m@3");
    assert_eq!(calls(|a, _| Trigger::OnOrAfter(a.clone(), Time::ns(3))), "m@0 m@2");
}

#[test]
fn an_event_and_a_time_limit_at_the_same_moment_are_one_call() {
    assert_eq!(calls(|a, _| Trigger::OnOrAfter(a.clone(), Time::ns(2))), "m@0 m@2");
    assert_eq!(calls(|_, b| Trigger::OnOrAfter(b.clone(), Time::ns(4))), "m@0 m@4");
}

#[test]
fn said_twice_the_last_next_trigger_counts() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let (note, mut first) = (log.clone(), true);
    sim.method("m").run(move |sim| {
        note.at("m");
        if std::mem::take(&mut first) {
            sim.next_trigger(Trigger::After(Time::ns(1)));
            sim.next_trigger(Trigger::After(Time::ns(5)));
        }
    });
    simulation.run();
    assert_eq!(log.take(), "m@0 m@5");
}

#[test]
fn a_method_woken_by_its_event_forgets_its_wait_for_the_next_delta_cycle() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let event = sim.event("event");
    let (note, on, mut calls) = (log.clone(), event.clone(), 0);
    sim.method("m").run(move |sim| {
        note.at("m");
        match calls {
            0 => sim.next_trigger(Trigger::OnOrAfter(on.clone(), Time::ZERO)),
            1 => sim.next_trigger(Trigger::After(Time::ns(7))),
            _ => {}
        }
        calls += 1;
    });
    sim.process("notifier", async move { event.notify() });
    simulation.run();
    assert_eq!(log.take(), "m@0 m@0 m@7");
}

#[test]
fn a_method_killed_while_it_waits_for_the_next_delta_cycle_leaves_nothing_to_its_successor() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let first = sim.method("first").run(|sim| sim.next_trigger(Trigger::After(Time::ZERO)));
    sim.clone().process("killer", async move {
        first.kill();
        let event = sim.event("never");
        sim.method("second").sensitive(&event).dont_initialize().run(|_| unreachable!("nobody called it"));
        sim.wait(Time::ns(1)).await;
    });
    simulation.run();
}

#[test]
fn a_method_is_not_called_again_by_its_own_immediate_notification() {
    // IEEE 1666-2011, 4.2.1.2: a process does not make itself runnable by an immediate notification.
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let (event, note) = (sim.event("event"), log.clone());
    let own = event.clone();
    sim.method("m").sensitive(&event).run(move |sim| {
        note.at("m");
        own.notify();
        if sim.now() == Time::ZERO {
            sim.next_trigger(Trigger::After(Time::ns(1)));
        }
        assert!(note.lines.borrow().len() < 9);
    });
    simulation.run();
    assert_eq!(log.take(), "m@0 m@1");
}

#[test]
fn a_method_can_kill_itself() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let this = Rc::new(RefCell::new(None::<vp_core::Process>));
    let (event, note, me) = (sim.event("event"), log.clone(), this.clone());
    let method = sim.method("m").sensitive(&event).run(move |sim| {
        note.at("m");
        sim.next_trigger(Trigger::After(Time::ns(1)));
        me.borrow().as_ref().expect("started").kill();
    });
    *this.borrow_mut() = Some(method.clone());
    event.notify_after(Time::ns(3));
    simulation.run();
    assert_eq!(log.take(), "m@0");
    assert!(method.has_ended());
}

#[test]
fn a_method_that_is_never_called_again_is_no_deadlock() {
    let mut simulation = Simulation::new();
    let event = simulation.sim().event("never");
    simulation.sim().method("m").sensitive(&event).run(|_| {});
    simulation.run();
    assert!(!simulation.idle_report().is_deadlock());
}
