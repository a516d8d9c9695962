//! Threads: the forms of `wait`.

use crate::scene::{Me, Scene, ns, scenarios};
use vp_core::{Simulation, Time, wait_all, wait_any};

scenarios![
    wait_for_time,
    wait_for_an_event,
    an_event_has_no_memory,
    wait_for_any,
    wait_for_any_of_several_at_once,
    wait_for_all,
    wait_for_an_event_or_time,
    wait_for_an_event_or_time_at_once,
    wait_for_an_event_or_a_delta_cycle,
    wait_for_any_or_time,
    wait_for_all_or_time,
    a_wait_for_no_time_and_a_delta_notification,
    static_sensitivity_of_a_thread,
];

impl Me {
    /// Waits, and then notifies at once.
    async fn notify_later(&self, delay: u64, event: &'static str) {
        self.wait(ns(delay)).await;
        self.event(event).notify();
    }
}

fn wait_for_time(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("thread", |me| async move {
        me.say("begins");
        me.wait(ns(3)).await;
        me.say("after 3 ns");
        me.wait(Time::ZERO).await;
        me.say("after a delta cycle");
        me.wait(ns(0)).await;
        me.say("after 0 ns");
        me.wait(ns(4)).await;
        me.say("after 4 ns");
    });
    scene.thread("other", |me| async move {
        me.wait(ns(3)).await;
        me.say("after 3 ns");
        me.wait(ns(4)).await;
        me.say("after 4 ns");
    });
    simulation.run();
}

fn wait_for_an_event(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("thread", |me| async move {
        for what in ["woken", "woken again", "never"] {
            me.on("event").await;
            me.say(what);
        }
    });
    scene.thread("actor", |me| async move {
        me.notify_later(1, "event").await;
        me.wait(ns(1)).await;
        me.event("event").notify_delta();
        me.say("done");
    });
    simulation.run();
}

fn an_event_has_no_memory(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("late", |me| async move {
        me.wait(ns(2)).await;
        me.say("begins to wait");
        me.on("event").await;
        me.say("woken");
    });
    scene.thread("actor", |me| async move {
        me.notify_later(1, "event").await;
        me.wait(ns(4)).await;
        me.say("again");
        me.event("event").notify();
    });
    simulation.run();
}

fn wait_for_any(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("thread", |me| async move {
        let (a, b, c) = (me.event("a"), me.event("b"), me.event("c"));
        wait_any(&[&a, &b, &c]).await;
        me.say("first");
        wait_any(&[&a, &b, &c]).await;
        me.say("second");
        wait_any(&[&a, &b]).await;
        me.say("third");
    });
    for (event, time) in [("b", 2), ("c", 5), ("a", 9)] {
        scene.event(event).notify_after(ns(time));
    }
    simulation.run();
}

fn wait_for_any_of_several_at_once(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("thread", |me| async move {
        wait_any(&[&me.event("a"), &me.event("b")]).await;
        me.say("woken");
        me.on("late").await;
        me.say("late");
    });
    scene.thread("actor", |me| async move {
        let (a, b) = (me.event("a"), me.event("b"));
        me.wait(ns(1)).await;
        a.notify_delta();
        b.notify_delta();
        me.wait(ns(1)).await;
        a.notify();
        b.notify();
        me.say("again");
        me.notify_later(1, "late").await;
    });
    simulation.run();
}

fn wait_for_all(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("thread", |me| async move {
        let (a, b, c) = (me.event("a"), me.event("b"), me.event("c"));
        wait_all(&[&a, &b, &c]).await;
        me.say("all");
        wait_all(&[&a, &b]).await;
        me.say("both");
    });
    scene.thread("actor", |me| async move {
        let (a, b) = (me.event("a"), me.event("b"));
        me.notify_later(1, "b").await;
        me.say("b");
        me.notify_later(1, "b").await;
        me.say("b again");
        me.wait(ns(1)).await;
        a.notify_delta();
        me.say("a");
        me.notify_later(1, "c").await;
        me.say("c");
        me.wait(ns(1)).await;
        a.notify_delta();
        b.notify_delta();
        me.say("a and b");
    });
    simulation.run();
}

fn wait_for_an_event_or_time(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("thread", |me| async move {
        for _ in 0..2 {
            let fired = me.sim.timeout(ns(10), me.on("event")).await;
            me.say(if fired.is_some() { "event" } else { "time" });
        }
        me.on("event").await;
        me.say("the next event");
    });
    scene.thread("actor", |me| async move {
        me.notify_later(4, "event").await;
        me.notify_later(26, "event").await;
        me.say("done");
    });
    simulation.run();
}

fn wait_for_an_event_or_time_at_once(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("thread", |me| async move {
        me.sim.timeout(ns(10), me.on("event")).await;
        me.say("woken");
        me.on("late").await;
        me.say("late");
    });
    scene.thread("early", |me| async move {
        me.event("event").notify_after(ns(10));
        me.event("late").notify_after(ns(15));
    });
    simulation.run();
}

fn wait_for_an_event_or_a_delta_cycle(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("thread", |me| async move {
        me.sim.timeout(Time::ZERO, me.on("event")).await;
        me.say("first");
        me.sim.timeout(Time::ZERO, me.on("event")).await;
        me.say("second");
        me.on("event").await;
        me.say("third");
    });
    scene.thread("actor", |me| async move {
        me.event("event").notify();
        me.say("now");
        me.notify_later(1, "event").await;
    });
    simulation.run();
}

fn wait_for_any_or_time(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("thread", |me| async move {
        for what in ["first", "second", "third"] {
            me.sim.timeout(ns(10), wait_any(&[&me.event("a"), &me.event("b")])).await;
            me.say(what);
        }
    });
    scene.event("b").notify_after(ns(3));
    scene.event("a").notify_after(ns(20));
    simulation.run();
}

fn wait_for_all_or_time(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("thread", |me| async move {
        for what in ["first", "second"] {
            me.sim.timeout(ns(10), wait_all(&[&me.event("a"), &me.event("b")])).await;
            me.say(what);
        }
    });
    scene.thread("actor", |me| async move {
        me.notify_later(3, "a").await;
        me.notify_later(9, "b").await;
        me.say("b, too late");
        me.notify_later(1, "a").await;
        me.notify_later(1, "b").await;
        me.say("both");
    });
    simulation.run();
}

fn a_wait_for_no_time_and_a_delta_notification(simulation: &mut Simulation, scene: &Scene) {
    scene.thread("listener", |me| async move {
        me.on("event").await;
        me.say("woken");
    });
    scene.thread("actor", |me| async move {
        me.event("event").notify_delta();
        me.wait(Time::ZERO).await;
        me.say("goes on");
    });
    simulation.run();
}

fn static_sensitivity_of_a_thread(simulation: &mut Simulation, scene: &Scene) {
    // What is a static list there is the same wait each time here.
    scene.thread("thread", |me| async move {
        loop {
            me.say("runs");
            wait_any(&[&me.event("a"), &me.event("b")]).await;
        }
    });
    scene.thread("quiet", |me| async move {
        loop {
            me.on("a").await;
            me.say("runs");
        }
    });
    scene.thread("actor", |me| async move {
        me.notify_later(1, "a").await;
        me.notify_later(1, "b").await;
        me.wait(ns(1)).await;
        me.event("a").notify_delta();
        me.event("b").notify_delta();
    });
    simulation.run();
}
