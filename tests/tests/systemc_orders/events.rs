//! Events: the phases of a delta cycle, what a notification does to an outstanding one, order among equals.

use crate::scene::{Scene, counter, ns, scenarios};
use vp_core::{Signal, Simulation, Time};

scenarios![
    phases,
    immediate_reaches_who_waits,
    notify_rules,
    notify_pending_from_elsewhere,
    a_thread_does_not_wake_itself,
    a_method_does_not_wake_itself,
    a_method_wakes_itself_in_the_next_delta_cycle,
    a_method_notified_twice_runs_once,
    waiters_of_one_event,
    methods_sensitive_to_one_event,
    methods_and_threads_on_one_event,
    delta_notifications_of_several_events,
    timed_notifications_of_several_events,
    immediate_notifications_of_several_events,
    times_that_meet,
    delta_cycles_one_after_another,
    a_chain_of_immediate_notifications,
    notifications_without_listeners,
];

/// A process that says each time the event reaches it.
pub(crate) fn listen(scene: &Scene, name: &'static str, event: &'static str) {
    scene.thread(name, |me| async move {
        loop {
            me.on(event).await;
            me.say("woken");
        }
    });
}

/// A process that waits once, after some time.
fn wait_once(scene: &Scene, name: &'static str, start: Time, event: &'static str) {
    scene.thread(name, move |me| async move {
        if start > Time::ZERO {
            me.wait(start).await;
        }
        me.on(event).await;
        me.say("woken");
    });
}

fn phases(simulation: &mut Simulation, scene: &Scene) {
    let signal = Signal::new(&scene.sim, "signal", 0);
    for (name, event) in [("immediate", "now"), ("delta", "later")] {
        let signal = signal.clone();
        scene.thread(name, |me| async move {
            me.on(event).await;
            me.say(format!("reads {}", signal.read()));
        });
    }
    scene.thread("actor", |me| async move {
        signal.write(1);
        me.event("later").notify_delta();
        me.event("now").notify();
        me.say(format!("reads {}", signal.read()));
    });
    simulation.run();
}

fn immediate_reaches_who_waits(simulation: &mut Simulation, scene: &Scene) {
    wait_once(scene, "before", Time::ZERO, "event");
    scene.thread("notifier", |me| async move {
        me.event("event").notify();
        me.say("done");
    });
    scene.thread("after", |me| async move {
        me.say("begins to wait");
        me.on("event").await;
        me.say("woken");
    });
    simulation.run();
}

fn notify_rules(simulation: &mut Simulation, scene: &Scene) {
    listen(scene, "listener", "event");
    scene.thread("actor", |me| async move {
        let event = me.event("event");
        let next = async |what| {
            me.wait(ns(100)).await;
            me.say(what);
        };
        next("immediate cancels timed").await;
        event.notify_after(ns(5));
        event.notify();
        next("immediate cancels delta").await;
        event.notify_delta();
        event.notify();
        next("delta replaces timed").await;
        event.notify_after(ns(5));
        event.notify_delta();
        next("timed does not replace delta").await;
        event.notify_delta();
        event.notify_after(ns(5));
        next("earlier replaces later").await;
        event.notify_after(ns(7));
        event.notify_after(ns(2));
        next("later does not replace earlier").await;
        event.notify_after(ns(2));
        event.notify_after(ns(7));
        next("twice for one time is once").await;
        event.notify_after(ns(3));
        event.notify_after(ns(3));
        next("after no time is delta").await;
        event.notify_after(Time::ZERO);
        next("delta twice is once").await;
        event.notify_delta();
        event.notify_delta();
        next("cancel timed").await;
        event.notify_after(ns(5));
        event.cancel();
        next("cancel delta").await;
        event.notify_delta();
        event.cancel();
        next("cancel nothing").await;
        event.cancel();
        next("cancel and again").await;
        event.notify_after(ns(1));
        event.cancel();
        event.notify_after(ns(4));
        next("cancel delta and again").await;
        event.notify_delta();
        event.cancel();
        event.notify_delta();
        next("immediate cannot be cancelled").await;
        event.notify();
        event.cancel();
        next("end").await;
    });
    simulation.run();
}

fn notify_pending_from_elsewhere(simulation: &mut Simulation, scene: &Scene) {
    listen(scene, "listener", "event");
    scene.thread("first", |me| async move {
        me.event("event").notify_after(ns(20));
        me.say("for 20");
    });
    scene.thread("second", |me| async move {
        me.wait(ns(5)).await;
        me.event("event").notify_after(ns(5));
        me.say("for 10");
    });
    scene.thread("third", |me| async move {
        me.wait(ns(7)).await;
        me.event("event").notify_after(ns(9));
        me.say("for 16, ignored");
    });
    scene.thread("fourth", |me| async move {
        me.wait(ns(12)).await;
        me.event("event").notify_after(ns(8));
        me.say("for 20");
        me.wait(ns(4)).await;
        me.event("event").cancel();
    });
    simulation.run();
}

fn a_thread_does_not_wake_itself(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("self", |me| async move {
        me.event("event").notify();
        me.say("notified");
        me.on("event").await;
        me.say("woken");
    });
    simulation.run();
}

fn a_method_does_not_wake_itself(simulation: &mut Simulation, scene: &Scene) {
    let (event, mut call) = (scene.event("event"), counter());
    scene.method("self", &[&event.clone()], move |me| {
        me.say(format!("call {}", call()));
        event.notify();
    });
    scene.thread("other", |me| async move {
        me.wait(ns(1)).await;
        me.say("notifies");
        me.event("event").notify();
    });
    simulation.run();
}

fn a_method_wakes_itself_in_the_next_delta_cycle(simulation: &mut Simulation, scene: &Scene) {
    let (event, mut call) = (scene.event("event"), counter());
    scene.method("self", &[&event.clone()], move |me| {
        let call = call();
        me.say(format!("call {call}"));
        if call < 4 {
            event.notify_delta();
        }
    });
    simulation.run();
}

fn a_method_notified_twice_runs_once(simulation: &mut Simulation, scene: &Scene) {
    let (a, b) = (scene.event("a"), scene.event("b"));
    scene.quiet_method("method", &[&a, &b], |me| me.say("called"));
    scene.thread("actor", |me| async move {
        a.notify();
        b.notify();
        me.say("immediate");
        me.wait(ns(1)).await;
        a.notify_delta();
        b.notify_delta();
        me.say("delta");
        me.wait(ns(1)).await;
        a.notify_after(ns(1));
        b.notify_after(ns(1));
        me.say("timed");
        me.wait(ns(2)).await;
        a.notify_delta();
        me.wait(Time::ZERO).await;
        b.notify();
        me.say("delta, then immediate");
    });
    simulation.run();
}

fn waiters_of_one_event(simulation: &mut Simulation, scene: &Scene) {
    for (name, start) in [("third", 3), ("first", 1), ("second", 2)] {
        wait_once(scene, name, ns(start), "event");
    }
    scene.event("event").notify_after(ns(5));
    simulation.run();
}

fn methods_sensitive_to_one_event(simulation: &mut Simulation, scene: &Scene) {
    let event = scene.event("event");
    scene.thread("start", |me| async move { me.say("runs") });
    for name in ["a", "b", "c"] {
        scene.quiet_method(name, &[&event], |me| me.say("called"));
    }
    event.notify_after(ns(5));
    simulation.run();
}

fn methods_and_threads_on_one_event(simulation: &mut Simulation, scene: &Scene) {
    let event = scene.event("event");
    wait_once(scene, "thread 1", Time::ZERO, "event");
    scene.quiet_method("method 1", &[&event], |me| me.say("called"));
    wait_once(scene, "thread 2", Time::ZERO, "event");
    scene.quiet_method("method 2", &[&event], |me| me.say("called"));
    event.notify_after(ns(5));
    simulation.run();
}

fn delta_notifications_of_several_events(simulation: &mut Simulation, scene: &Scene) {
    ["a", "b", "c"].into_iter().for_each(|name| wait_once(scene, name, Time::ZERO, name));
    scene.thread("actor", |me| async move {
        ["b", "a", "c"].into_iter().for_each(|event| me.event(event).notify_delta());
        me.say("b a c");
    });
    simulation.run();
}

fn timed_notifications_of_several_events(simulation: &mut Simulation, scene: &Scene) {
    ["a", "b", "c"].into_iter().for_each(|name| wait_once(scene, name, Time::ZERO, name));
    ["b", "a", "c"].into_iter().for_each(|event| scene.event(event).notify_after(ns(5)));
    simulation.run();
}

fn immediate_notifications_of_several_events(simulation: &mut Simulation, scene: &Scene) {
    ["a", "b", "c"].into_iter().for_each(|name| wait_once(scene, name, Time::ZERO, name));
    scene.thread("actor", |me| async move {
        ["b", "a", "c"].into_iter().for_each(|event| me.event(event).notify());
        me.say("b a c");
    });
    simulation.run();
}

fn times_that_meet(simulation: &mut Simulation, scene: &Scene) {
    for (name, start) in [("a", 0), ("b", 1), ("c", 5), ("d", 5)] {
        scene.thread(name, |me| async move {
            me.wait(ns(start)).await;
            me.wait(ns(100 - start)).await;
            me.say("arrives");
        });
    }
    wait_once(scene, "listener", Time::ZERO, "event");
    scene.event("event").notify_after(ns(100));
    simulation.run();
}

fn delta_cycles_one_after_another(simulation: &mut Simulation, scene: &Scene) {
    let (ping, pong) = (scene.event("ping"), scene.event("pong"));
    let (other, mut round) = (pong.clone(), counter());
    scene.thread("start", |me| async move { me.say("runs") });
    scene.quiet_method("ping", &[&ping], move |me| {
        me.say("called");
        other.notify_delta();
    });
    let other = ping.clone();
    scene.quiet_method("pong", &[&pong], move |me| {
        me.say("called");
        if round() < 3 {
            other.notify_delta();
        }
    });
    ping.notify_after(ns(1));
    simulation.run();
}

fn a_chain_of_immediate_notifications(simulation: &mut Simulation, scene: &Scene) {
    wait_once(scene, "last", Time::ZERO, "c");
    for (name, from, to) in [("middle", "b", "c"), ("first", "a", "b")] {
        scene.thread(name, |me| async move {
            me.on(from).await;
            me.say("woken");
            me.event(to).notify();
        });
    }
    scene.thread("actor", |me| async move {
        me.wait(ns(1)).await;
        me.say("notifies");
        me.event("a").notify();
    });
    simulation.run();
}

fn notifications_without_listeners(simulation: &mut Simulation, scene: &Scene) {
    listen(scene, "listener", "somebody");
    scene.thread("actor", |me| async move {
        me.event("nobody").notify_delta();
        me.wait(ns(1)).await;
        me.say("after a delta notification");
        me.event("nobody").notify_after(ns(1));
        me.wait(ns(2)).await;
        me.say("after a timed notification");
        me.event("somebody").notify_delta();
        me.wait(ns(1)).await;
        me.say("after one with a listener");
    });
    simulation.run();
}
