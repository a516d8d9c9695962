//! The life of a simulation: runs up to a time, pauses, stops.

use crate::events::listen;
use crate::scene::{Scene, ns, scenarios};
use std::cell::Cell;
use std::rc::Rc;
use vp_core::{Signal, Simulation, Time};

scenarios![
    run_between_events,
    run_up_to_an_event,
    run_beyond_the_last_event,
    pause_in_a_delta_cycle,
    stop_in_a_delta_cycle,
    notified_between_runs,
    run_for_no_time,
];

/// A process that ticks; the answer says how often it has.
fn ticker(scene: &Scene, ticks: u32) -> impl Fn(&str) -> String {
    let ticked = Rc::new(Cell::new(0));
    let count = ticked.clone();
    scene.thread("ticker", move |me| async move {
        for _ in 0..ticks {
            me.wait(ns(10)).await;
            count.set(count.get() + 1);
            me.say("tick");
        }
    });
    move |what| format!("{what}: {}", ticked.get())
}

fn run_between_events(simulation: &mut Simulation, scene: &Scene) {
    let ticks = ticker(scene, 3);
    for (span, what) in [(5, "5 ns"), (10, "10 ns more"), (1, "1 ns more")] {
        simulation.run_for(ns(span));
        scene.say("main", ticks(what));
    }
    simulation.run();
    scene.say("main", ticks("to the end"));
}

fn run_up_to_an_event(simulation: &mut Simulation, scene: &Scene) {
    let ticks = ticker(scene, 3);
    for what in ["10 ns", "10 ns more"] {
        simulation.run_for(ns(10));
        scene.say("main", ticks(what));
    }
    simulation.run();
    scene.say("main", ticks("to the end"));
}

fn run_beyond_the_last_event(simulation: &mut Simulation, scene: &Scene) {
    let ticks = ticker(scene, 1);
    for what in ["50 ns", "50 ns more"] {
        simulation.run_for(ns(50));
        scene.say("main", ticks(what));
    }
}

fn pause_in_a_delta_cycle(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("pauser", |me| async move {
        me.wait(ns(1)).await;
        me.say("pauses");
        me.sim.stop();
        me.say("to the end of its turn");
        me.wait(Time::ZERO).await;
        me.say("goes on");
        me.wait(ns(1)).await;
        me.say("at the end");
    });
    scene.thread("other", |me| async move {
        me.wait(ns(1)).await;
        me.say("in the same delta cycle");
        me.wait(Time::ZERO).await;
        me.say("goes on");
    });
    simulation.run();
    scene.say("main", "paused");
    simulation.run();
    scene.say("main", "done");
}

fn stop_in_a_delta_cycle(simulation: &mut Simulation, scene: &Scene) {
    let signal = Signal::new(&scene.sim, "signal", 0);
    let driven = signal.clone();
    scene.thread("stopper", |me| async move {
        me.wait(ns(1)).await;
        driven.write(1);
        me.say("stops");
        me.sim.stop();
        me.wait(Time::ZERO).await;
        me.say("goes on");
    });
    scene.thread("other", |me| async move {
        me.wait(ns(1)).await;
        me.say("in the same delta cycle");
    });
    simulation.run();
    scene.say("main", format!("reads {}", signal.read()));
}

fn notified_between_runs(simulation: &mut Simulation, scene: &Scene) {
    listen(scene, "listener", "event");
    simulation.run_for(ns(5));
    scene.event("event").notify_after(ns(3));
    scene.say("main", "in 3 ns");
    simulation.run_for(ns(10));
    scene.event("event").notify_delta();
    scene.say("main", "in a delta cycle");
    simulation.run_for(ns(1));
    scene.say("main", "end");
}

fn run_for_no_time(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("thread", |me| async move {
        for at in 0..3 {
            me.say(at);
            me.wait(Time::ZERO).await;
        }
        me.say("returns");
    });
    for what in ["once", "twice"] {
        simulation.run_for(Time::ZERO);
        scene.say("main", what);
    }
    simulation.run();
    scene.say("main", "to the end");
}
