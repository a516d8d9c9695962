//! What models of transactions use: payload event queues and quantum keepers.

use crate::scene::{Scene, ns, scenarios};
use std::rc::Rc;
use vp_core::tlm::{PayloadEventQueue, Quantum, QuantumKeeper};
use vp_core::{Simulation, Time};

scenarios![payload_event_queue, payload_event_queue_emptied, quantum_keeper];

fn payload_event_queue(simulation: &mut Simulation, scene: &Scene) {
    let queue = Rc::new(PayloadEventQueue::new(&scene.sim, "queue"));
    let taken = queue.clone();
    scene.thread("target", |me| async move {
        loop {
            while let Some(item) = taken.try_get() {
                me.say(format!("takes {item}"));
            }
            me.say("nothing due");
            taken.due().wait().await;
        }
    });
    scene.thread("initiator", |me| async move {
        for (item, delay) in [(1, 20), (2, 10), (3, 20), (4, 10), (5, 0)] {
            queue.notify(item, ns(delay));
        }
        me.wait(ns(20)).await;
        me.say("one more for now");
        queue.notify(6, Time::ZERO);
        queue.notify(0, ns(3));
    });
    simulation.run();
}

fn payload_event_queue_emptied(simulation: &mut Simulation, scene: &Scene) {
    let queue = Rc::new(PayloadEventQueue::new(&scene.sim, "queue"));
    let taken = queue.clone();
    scene.thread("target", |me| async move {
        loop {
            taken.due().wait().await;
            while let Some(item) = taken.try_get() {
                me.say(format!("takes {item}"));
            }
        }
    });
    scene.thread("initiator", |me| async move {
        queue.notify(0, ns(10));
        queue.notify(1, ns(20));
        me.wait(ns(5)).await;
        queue.clear();
        me.wait(ns(20)).await;
        me.say("again");
        queue.notify(2, ns(1));
    });
    simulation.run();
}

fn quantum_keeper(simulation: &mut Simulation, scene: &Scene) {
    let quantum = Quantum::new(ns(100));
    scene.thread("initiator", |me| async move {
        me.wait(ns(30)).await;
        let keeper = QuantumKeeper::new(&me.sim, &quantum);
        for _ in 0..12 {
            keeper.inc(ns(25));
            if keeper.need_sync() {
                keeper.sync().await;
                me.say("synchronized");
            }
        }
        me.say(format!("ahead by {}", keeper.local_time()));
    });
    simulation.run();
}
