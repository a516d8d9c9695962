//! Channels: signals, FIFOs, semaphores and mutexes.

use crate::scene::{Scene, ns, scenarios};
use vp_core::{Fifo, Semaphore, Signal, Simulation, Time};

scenarios![
    signal_last_write_wins,
    signal_written_with_its_own_value,
    signal_edges,
    signal_edge_and_change_waiters,
    signal_with_two_readers,
    signals_swapped,
    signals_through_gates,
    signal_written_before_the_start,
    notified_before_the_start,
    notified_and_written_before_the_start,
    signal_without_listeners,
    fifo_of_depth_one,
    fifo_with_a_slow_consumer,
    fifo_counts,
    fifo_events,
    fifo_with_two_readers_and_two_writers,
    semaphore,
    semaphore_without_waiting,
    mutex_wanted_again,
    mutex_wanted_by_three,
];

/// A method that says the value at each change.
fn monitor(scene: &Scene, signal: &Signal<i32>) {
    let watched = signal.clone();
    scene.quiet_method("reader", &[signal.changed()], move |me| me.say(watched.read()));
}

fn signal_last_write_wins(simulation: &mut Simulation, scene: &Scene) {
    let signal = Signal::new(&scene.sim, "signal", 0);
    monitor(scene, &signal);
    let driven = signal.clone();
    scene.thread("a", |me| async move {
        driven.write(1);
        driven.write(2);
        me.say(format!("reads {}", driven.read()));
    });
    let driven = signal.clone();
    scene.thread("b", |me| async move {
        me.wait(ns(1)).await;
        driven.write(3);
    });
    scene.thread("c", |me| async move {
        me.wait(ns(2)).await;
        signal.write(4);
        signal.write(3);
        me.say("back to 3");
    });
    simulation.run();
}

fn signal_written_with_its_own_value(simulation: &mut Simulation, scene: &Scene) {
    let signal = Signal::new(&scene.sim, "signal", 5);
    monitor(scene, &signal);
    scene.thread("writer", |me| async move {
        signal.write(5);
        me.say("the same");
        me.wait(ns(1)).await;
        signal.write(9);
        signal.write(5);
        me.say("there and back");
        me.wait(ns(1)).await;
        signal.write(6);
        me.say("another");
    });
    simulation.run();
}

fn signal_edges(simulation: &mut Simulation, scene: &Scene) {
    let line = Signal::line(&scene.sim, "line", false);
    for (name, edge) in [("rising", line.posedge()), ("falling", line.negedge())] {
        let line = line.clone();
        scene.quiet_method(name, &[edge], move |me| me.say(u8::from(line.read())));
    }
    scene.thread("driver", |me| async move {
        for level in [true, true, false, true, false] {
            line.write(level);
            me.say(u8::from(level));
            me.wait(ns(1)).await;
        }
    });
    simulation.run();
}

fn signal_edge_and_change_waiters(simulation: &mut Simulation, scene: &Scene) {
    let line = Signal::line(&scene.sim, "line", false);
    for (name, event) in [("edge", line.posedge()), ("change", line.changed())] {
        let event = event.clone();
        scene.thread(name, |me| async move {
            event.wait().await;
            me.say("woken");
        });
    }
    scene.thread("driver", |me| async move {
        me.wait(ns(1)).await;
        line.write(true);
    });
    simulation.run();
}

fn signal_with_two_readers(simulation: &mut Simulation, scene: &Scene) {
    let signal = Signal::new(&scene.sim, "signal", 0);
    for name in ["reader 1", "reader 2"] {
        let signal = signal.clone();
        scene.thread(name, |me| async move {
            loop {
                signal.changed().wait().await;
                me.say(signal.read());
            }
        });
    }
    scene.thread("writer", |me| async move {
        for value in 1..4 {
            signal.write(value);
            me.wait(ns(1)).await;
        }
    });
    simulation.run();
}

fn signals_swapped(simulation: &mut Simulation, scene: &Scene) {
    let (a, b) = (Signal::new(&scene.sim, "a", 1), Signal::new(&scene.sim, "b", 2));
    for (name, from, to) in [("a to b", a.clone(), b.clone()), ("b to a", b.clone(), a.clone())] {
        scene.thread(name, |_| async move { to.write(from.read()) });
    }
    scene.thread("reader", |me| async move {
        me.wait(Time::ZERO).await;
        me.say(format!("a = {}, b = {}", a.read(), b.read()));
    });
    simulation.run();
}

fn signals_through_gates(simulation: &mut Simulation, scene: &Scene) {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| Signal::new(&scene.sim, name, 0));
    for (name, from, to) in [("b", &a, &b), ("c", &b, &c), ("d", &c, &d)] {
        let (input, output) = (from.clone(), to.clone());
        scene.quiet_method(name, &[from.changed()], move |me| {
            me.say(input.read());
            output.write(input.read() + 1);
        });
    }
    let end = d.clone();
    scene.quiet_method("end", &[d.changed()], move |me| me.say(end.read()));
    scene.thread("driver", |me| async move {
        for value in [10, 20] {
            me.wait(ns(1)).await;
            a.write(value);
        }
    });
    simulation.run();
}

fn signal_written_before_the_start(simulation: &mut Simulation, scene: &Scene) {
    let signal = Signal::new(&scene.sim, "signal", 0);
    let watched = signal.clone();
    scene.method("reader", &[signal.changed()], move |me| me.say(watched.read()));
    signal.write(3);
    simulation.run();
}

/// Another signal, which nobody looks at, changes nothing.
fn notified(simulation: &mut Simulation, scene: &Scene, written: bool) {
    let (event, other) = (scene.event("event"), Signal::new(&scene.sim, "other", 0));
    scene.thread("thread", |me| async move {
        me.on("event").await;
        me.say("goes on");
    });
    scene.quiet_method("method", &[&event], |me| me.say("is called"));
    event.notify_delta();
    if written {
        other.write(1);
    }
    simulation.run();
}

fn notified_before_the_start(simulation: &mut Simulation, scene: &Scene) {
    notified(simulation, scene, false);
}

fn notified_and_written_before_the_start(simulation: &mut Simulation, scene: &Scene) {
    notified(simulation, scene, true);
}

fn signal_without_listeners(simulation: &mut Simulation, scene: &Scene) {
    let signal = Signal::new(&scene.sim, "signal", 0);
    scene.thread("writer", |me| async move {
        for value in 1..4 {
            signal.write(value);
            me.wait(ns(1)).await;
            me.say(signal.read());
        }
    });
    simulation.run();
}

/// A process that puts items in.
fn produce(
    scene: &Scene,
    name: &'static str,
    fifo: &Fifo<u32>,
    items: impl IntoIterator<Item = u32> + 'static,
) {
    let fifo = fifo.clone();
    scene.thread(name, |me| async move {
        for item in items {
            fifo.put(item).await;
            me.say(item);
        }
    });
}

/// A process that takes some out, each after some time.
fn consume(scene: &Scene, name: &'static str, fifo: &Fifo<u32>, items: u32, after: Option<Time>) {
    let fifo = fifo.clone();
    scene.thread(name, move |me| async move {
        for _ in 0..items {
            if let Some(delay) = after {
                me.wait(delay).await;
            }
            me.say(fifo.get().await);
        }
    });
}

fn fifo_of_depth_one(simulation: &mut Simulation, scene: &Scene) {
    let fifo = Fifo::new(&scene.sim, "fifo", 1);
    produce(scene, "producer", &fifo, 1..=4);
    consume(scene, "consumer", &fifo, 4, None);
    simulation.run();
}

fn fifo_with_a_slow_consumer(simulation: &mut Simulation, scene: &Scene) {
    let fifo = Fifo::new(&scene.sim, "fifo", 2);
    produce(scene, "producer", &fifo, 1..=5);
    consume(scene, "consumer", &fifo, 5, Some(ns(10)));
    simulation.run();
}

fn fifo_counts(simulation: &mut Simulation, scene: &Scene) {
    let fifo = Fifo::new(&scene.sim, "fifo", 3);
    scene.thread("thread", |me| async move {
        let counts =
            |what| me.say(format!("{what}: {} available, {} free", fifo.num_available(), fifo.num_free()));
        let taken = |put: Result<(), u32>| if put.is_ok() { "taken" } else { "refused" };
        counts("empty");
        let first = taken(fifo.try_put(1));
        assert_eq!((fifo.try_put(2), fifo.try_put(3)), (Ok(()), Ok(())));
        let fourth = taken(fifo.try_put(4));
        counts("written");
        me.say(format!("{first}, then {fourth}"));
        me.say(fifo.try_get().map_or("nothing yet", |_| "got"));
        me.wait(Time::ZERO).await;
        counts("a delta cycle later");
        me.say(format!("got {}", fifo.try_get().expect("something to take")));
        counts("read");
        me.say(taken(fifo.try_put(5)));
        me.wait(Time::ZERO).await;
        counts("a delta cycle later");
    });
    simulation.run();
}

fn fifo_events(simulation: &mut Simulation, scene: &Scene) {
    let fifo = Fifo::new(&scene.sim, "fifo", 4);
    let (written, read) = (fifo.clone(), fifo.clone());
    scene.quiet_method("written", &[fifo.data_written()], move |me| me.say(written.num_available()));
    scene.quiet_method("read", &[fifo.data_read()], move |me| me.say(read.num_free()));
    scene.thread("thread", |me| async move {
        fifo.put(1).await;
        fifo.put(2).await;
        me.wait(ns(1)).await;
        fifo.get().await;
        me.wait(ns(1)).await;
        fifo.get().await;
        fifo.put(3).await;
        me.wait(ns(1)).await;
        fifo.put(4).await;
    });
    simulation.run();
}

fn fifo_with_two_readers_and_two_writers(simulation: &mut Simulation, scene: &Scene) {
    let fifo = Fifo::new(&scene.sim, "fifo", 1);
    consume(scene, "reader 1", &fifo, 2, None);
    consume(scene, "reader 2", &fifo, 2, None);
    produce(scene, "writer 1", &fifo, [11, 12]);
    produce(scene, "writer 2", &fifo, [21, 22]);
    simulation.run();
}

fn semaphore(simulation: &mut Simulation, scene: &Scene) {
    let permits = Semaphore::new(&scene.sim, "permits", 2);
    for name in ["a", "b", "c", "d"] {
        let permits = permits.clone();
        scene.thread(name, |me| async move {
            permits.acquire(1).await;
            me.say("has a permit");
            me.wait(ns(10)).await;
            me.say("gives it back");
            permits.release(1);
        });
    }
    simulation.run();
}

fn semaphore_without_waiting(simulation: &mut Simulation, scene: &Scene) {
    let permits = Semaphore::new(&scene.sim, "permits", 1);
    scene.thread("thread", |me| async move {
        for _ in 0..2 {
            me.say(if permits.try_acquire(1) { "has it" } else { "none" });
        }
        permits.release(1);
        permits.release(1);
        me.say(permits.free());
    });
    simulation.run();
}

fn mutex_wanted_again(simulation: &mut Simulation, scene: &Scene) {
    let mutex = Semaphore::new(&scene.sim, "mutex", 1);
    for name in ["a", "b"] {
        let mutex = mutex.clone();
        scene.thread(name, |me| async move {
            for _ in 0..2 {
                mutex.acquire(1).await;
                me.say("locks");
                me.wait(ns(10)).await;
                mutex.release(1);
                me.say("unlocks");
            }
        });
    }
    simulation.run();
}

fn mutex_wanted_by_three(simulation: &mut Simulation, scene: &Scene) {
    let mutex = Semaphore::new(&scene.sim, "mutex", 1);
    for name in ["a", "b", "c"] {
        let mutex = mutex.clone();
        scene.thread(name, |me| async move {
            mutex.acquire(1).await;
            me.say("locks");
            me.wait(ns(5)).await;
            me.say("unlocks");
            mutex.release(1);
        });
    }
    simulation.run();
}
