//! Methods: initialization, sensitivity, and the forms of `next_trigger`.

use crate::scene::{Me, Scene, counter, ns, scenarios};
use vp_core::{Simulation, Time, Trigger};

scenarios![
    initialization,
    a_sensitivity_list,
    next_trigger_after_time,
    next_trigger_after_no_time,
    next_trigger_on_an_event,
    next_trigger_on_any,
    next_trigger_on_an_event_or_after_time,
    next_trigger_on_an_event_or_after_time_at_once,
    the_last_next_trigger_counts,
    next_trigger_on_an_event_of_the_list,
    next_trigger_and_its_own_notification,
];

/// A process that notifies events by name, a nanosecond apart.
fn notify_in_turn(scene: &Scene, events: &'static [&'static str]) {
    scene.thread("actor", |me| async move {
        for &event in events {
            me.wait(ns(1)).await;
            me.say(event);
            me.event(event).notify();
        }
    });
}

/// A method that numbers its calls, and what it asks for at each.
fn counted(
    scene: &Scene,
    sensitive: &[&'static str],
    mut next: impl FnMut(&Me, u32) -> Option<Trigger> + 'static,
) {
    let events: Vec<_> = sensitive.iter().map(|&name| scene.event(name)).collect();
    let mut calls = counter();
    scene.method("method", &events.iter().collect::<Vec<_>>(), move |me| {
        let call = calls();
        me.say(format!("call {call}"));
        if let Some(trigger) = next(me, call) {
            me.sim.next_trigger(trigger);
        }
    });
}

fn initialization(simulation: &mut Simulation, scene: &Scene) {
    let event = scene.event("event");
    scene.thread("thread 1", |me| async move { me.say("runs") });
    scene.method("method 1", &[&event], |me| me.say("called"));
    scene.quiet_method("quiet", &[&event], |me| me.say("called"));
    scene.thread("thread 2", |me| async move { me.say("runs") });
    scene.method("method 2", &[], |me| me.say("called"));
    event.notify_after(ns(1));
    simulation.run();
}

fn a_sensitivity_list(simulation: &mut Simulation, scene: &Scene) {
    scene.quiet_method("method", &[&scene.event("a"), &scene.event("b")], |me| me.say("called"));
    notify_in_turn(scene, &["a", "b", "c", "a"]);
    simulation.run();
}

fn next_trigger_after_time(simulation: &mut Simulation, scene: &Scene) {
    counted(scene, &["event"], |_, call| (call <= 3).then_some(Trigger::After(ns(10))));
    scene.thread("actor", |me| async move {
        for _ in 0..5 {
            me.wait(ns(8)).await;
            me.say("notifies");
            me.event("event").notify();
        }
    });
    simulation.run();
}

fn next_trigger_after_no_time(simulation: &mut Simulation, scene: &Scene) {
    counted(scene, &[], |_, call| (call <= 3).then_some(Trigger::After(Time::ZERO)));
    simulation.run();
}

fn next_trigger_on_an_event(simulation: &mut Simulation, scene: &Scene) {
    counted(scene, &["fixed"], |me, call| (call == 2).then(|| Trigger::On(me.event("other"))));
    notify_in_turn(scene, &["other", "fixed", "fixed", "other", "other", "fixed"]);
    simulation.run();
}

fn next_trigger_on_any(simulation: &mut Simulation, scene: &Scene) {
    counted(scene, &["fixed"], |me, call| {
        (call <= 2).then(|| Trigger::OnAny(vec![me.event("a"), me.event("b")]))
    });
    notify_in_turn(scene, &["fixed", "b", "fixed", "a", "b", "fixed"]);
    simulation.run();
}

fn next_trigger_on_an_event_or_after_time(simulation: &mut Simulation, scene: &Scene) {
    counted(scene, &["fixed"], |me, call| (call <= 3).then(|| Trigger::OnOrAfter(me.event("other"), ns(10))));
    scene.thread("actor", |me| async move {
        for (delay, event) in [(4, "other"), (2, "fixed"), (18, "other"), (6, "other"), (2, "fixed")] {
            me.wait(ns(delay)).await;
            me.say(event);
            me.event(event).notify();
        }
    });
    simulation.run();
}

fn next_trigger_on_an_event_or_after_time_at_once(simulation: &mut Simulation, scene: &Scene) {
    counted(scene, &[], |me, call| match call {
        1 => Some(Trigger::OnOrAfter(me.event("other"), ns(10))),
        2 => Some(Trigger::After(ns(100))),
        _ => None,
    });
    scene.event("other").notify_after(ns(10));
    simulation.run();
}

fn the_last_next_trigger_counts(simulation: &mut Simulation, scene: &Scene) {
    counted(scene, &[], |me, call| {
        let (event, time) = (Trigger::On(me.event("event")), Trigger::After(ns(3)));
        let (first, last) = match call {
            1 => (event, time),
            2 => (time, event),
            _ => return None,
        };
        me.sim.next_trigger(first);
        Some(last)
    });
    scene.thread("listener", |me| async move {
        me.on("event").await;
        me.say("woken");
    });
    scene.event("event").notify_after(ns(1));
    scene.thread("actor", |me| async move {
        me.wait(ns(20)).await;
        me.say("notifies");
        me.event("event").notify();
    });
    simulation.run();
}

fn next_trigger_on_an_event_of_the_list(simulation: &mut Simulation, scene: &Scene) {
    counted(scene, &["event"], |me, call| (call == 1).then(|| Trigger::On(me.event("event"))));
    scene.thread("actor", |me| async move {
        for _ in 0..3 {
            me.wait(ns(1)).await;
            me.event("event").notify_delta();
        }
    });
    simulation.run();
}

fn next_trigger_and_its_own_notification(simulation: &mut Simulation, scene: &Scene) {
    counted(scene, &[], |me, _| {
        me.event("event").notify();
        Some(Trigger::On(me.event("event")))
    });
    scene.thread("actor", |me| async move {
        me.wait(ns(2)).await;
        me.say("notifies");
        me.event("event").notify();
    });
    simulation.run();
}
