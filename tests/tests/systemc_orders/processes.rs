//! Processes that are started, end and are ended while the simulation runs.

use crate::scene::{Scene, ns, scenarios};
use std::cell::RefCell;
use std::rc::Rc;
use vp_core::{Process, Simulation, Time};

scenarios![
    spawn_during_evaluation,
    spawn_at_a_later_time,
    spawn_a_method,
    the_end_of_a_process,
    kill_a_process_that_waits,
    kill_a_process_that_is_runnable,
    kill_a_process_that_has_not_begun,
    kill_a_method,
    a_process_that_kills_itself,
];

/// A process that says when a process has ended.
fn watch(scene: &Scene, process: &Process) {
    let process = process.clone();
    scene.thread("watcher", |me| async move {
        process.ended().wait().await;
        me.say(if process.has_ended() { "it has ended" } else { "it lives" });
    });
}

fn spawn_during_evaluation(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("before", |me| async move {
        me.say("runs");
        me.wait(ns(1)).await;
        me.say("goes on");
    });
    scene.thread("parent", |me| async move {
        me.say("spawns");
        me.scene.thread("child", |me| async move {
            me.say("runs");
            me.wait(ns(1)).await;
            me.say("goes on");
        });
        me.say("has spawned");
    });
    scene.thread("after", |me| async move { me.say("runs") });
    simulation.run();
}

fn spawn_at_a_later_time(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("parent", |me| async move {
        me.wait(ns(5)).await;
        for name in ["a", "b"] {
            me.scene.thread(name, |me| async move {
                me.say("runs");
                me.scene.thread("grandchild", |me| async move { me.say("runs") });
            });
        }
        me.say("has spawned");
        me.wait(Time::ZERO).await;
        me.say("a delta cycle later");
    });
    simulation.run();
}

fn spawn_a_method(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("parent", |me| async move {
        let event = me.event("event");
        me.wait(ns(1)).await;
        me.method("eager", &[&event], |me| me.say("called"));
        me.quiet_method("quiet", &[&event], |me| me.say("called"));
        me.say("has spawned");
        me.wait(ns(1)).await;
        event.notify();
    });
    simulation.run();
}

fn the_end_of_a_process(simulation: &mut Simulation, scene: &Scene) {
    let worker = scene.thread("worker", |me| async move {
        me.wait(ns(3)).await;
        me.say("returns");
    });
    watch(scene, &worker);
    scene.thread("other", |me| async move {
        me.wait(ns(3)).await;
        me.say("runs");
    });
    simulation.run();
}

fn kill_a_process_that_waits(simulation: &mut Simulation, scene: &Scene) {
    let victim = scene.thread("victim", |me| async move {
        me.say("waits");
        me.on("event").await;
        me.say("woken");
    });
    watch(scene, &victim);
    scene.thread("killer", |me| async move {
        me.wait(ns(2)).await;
        victim.kill();
        me.say(if victim.has_ended() { "it has ended" } else { "it lives" });
        me.event("event").notify();
        victim.kill();
        me.say("twice is once");
    });
    simulation.run();
}

fn kill_a_process_that_is_runnable(simulation: &mut Simulation, scene: &Scene) {
    let handle: Rc<RefCell<Option<Process>>> = Rc::default();
    let doomed = handle.clone();
    scene.thread("killer", |me| async move {
        me.on("event").await;
        doomed.borrow().as_ref().expect("the victim").kill();
        me.say("has killed");
    });
    let victim = scene.thread("victim", |me| async move {
        me.on("event").await;
        me.say("woken");
    });
    handle.replace(Some(victim));
    scene.thread("actor", |me| async move {
        me.wait(ns(1)).await;
        me.event("event").notify();
        me.say("notifies");
    });
    simulation.run();
}

fn kill_a_process_that_has_not_begun(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("killer", |me| async move {
        me.scene.thread("child", |me| async move { me.say("runs") }).kill();
        me.say("has killed");
    });
    simulation.run();
}

fn kill_a_method(simulation: &mut Simulation, scene: &Scene) {
    let victim = scene.quiet_method("victim", &[&scene.event("event")], |me| me.say("called"));
    scene.thread("killer", |me| async move {
        let event = me.event("event");
        me.wait(ns(1)).await;
        event.notify();
        me.wait(ns(1)).await;
        victim.kill();
        me.say("has killed");
        event.notify();
        me.wait(ns(1)).await;
        event.notify_delta();
        me.wait(ns(1)).await;
        me.say("is done");
    });
    simulation.run();
}

fn a_process_that_kills_itself(simulation: &mut Simulation, scene: &Scene) {
    let handle: Rc<RefCell<Option<Process>>> = Rc::default();
    let own = handle.clone();
    let itself = scene.thread("self", |me| async move {
        me.say("runs");
        me.wait(ns(1)).await;
        own.borrow().as_ref().expect("its own handle").kill();
        me.say("after its end");
        me.wait(ns(1)).await;
        me.say("is alive");
    });
    handle.replace(Some(itself));
    simulation.run();
}
