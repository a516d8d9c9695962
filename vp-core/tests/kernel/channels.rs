//! Signals, queues, semaphores, clocks.

use crate::Log;
use vp_core::{Clock, Fifo, Semaphore, Signal, Simulation, Time};

#[test]
fn the_last_write_of_a_delta_cycle_counts() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let signal = Signal::new(&sim, "s", 0);
    let changed = signal.changed();
    for value in [3, 5] {
        let signal = signal.clone();
        sim.process(format!("writer{value}"), async move { signal.write(value) });
    }
    simulation.run();
    assert_eq!((signal.read(), changed.fired()), (5, 1));
}

#[test]
fn readers_of_a_signal_see_one_value_whatever_the_order_of_processes() {
    for writer_first in [true, false] {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let (signal, log) = (Signal::new(&sim, "s", 1), Log::new(&sim));
        for writer in [writer_first, !writer_first] {
            let (signal, log) = (signal.clone(), log.clone());
            sim.process("p", async move {
                if writer { signal.write(2) } else { log.say(&signal.read().to_string()) }
            });
        }
        simulation.run();
        assert_eq!(log.take(), "1");
    }
}

#[test]
fn a_queue_keeps_its_order_and_its_bound() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let (fifo, log) = (Fifo::new(&sim, "f", 2), Log::new(&sim));
    let (input, note) = (fifo.clone(), log.clone());
    sim.process("producer", async move {
        for item in 0..4 {
            input.put(item).await;
            note.at(&format!("put{item}"));
        }
    });
    let note = log.clone();
    sim.process("consumer", async move {
        for _ in 0..4 {
            note.sim.wait(Time::ns(10)).await;
            assert!(fifo.num_available() <= 2);
            let item = fifo.get().await;
            note.at(&format!("got{item}"));
        }
    });
    simulation.run();
    assert_eq!(log.take(), "put0@0 put1@0 got0@10 put2@10 got1@20 put3@20 got2@30 got3@40");
}

#[test]
fn room_made_in_a_delta_cycle_is_there_from_the_next_one() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let fifo = Fifo::new(&sim, "f", 1);
    sim.clone().process("p", async move {
        fifo.put(1).await;
        sim.wait(Time::ns(1)).await;
        assert_eq!(fifo.try_get(), Some(1));
        assert_eq!(fifo.try_put(2), Err(2));
        sim.wait(Time::ZERO).await;
        assert_eq!(fifo.try_put(2), Ok(()));
        assert_eq!((fifo.num_free(), fifo.num_available()), (0, 0));
    });
    simulation.run();
    assert!(!simulation.idle_report().is_deadlock());
}

#[test]
fn several_readers_each_get_an_item() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let (fifo, log) = (Fifo::new(&sim, "f", 8), Log::new(&sim));
    for name in ["a", "b", "c"] {
        let (fifo, log) = (fifo.clone(), log.clone());
        sim.process(name, async move { log.say(&format!("{name}{}", fifo.get().await)) });
    }
    sim.process("producer", async move {
        for item in 0..3 {
            fifo.put(item).await;
        }
    });
    simulation.run();
    assert_eq!(log.take(), "a0 b1 c2");
}

#[test]
fn permits_are_given_in_the_order_in_which_they_were_asked_for() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let (lock, log) = (Semaphore::new(&sim, "lock", 1), Log::new(&sim));
    for name in ["a", "b", "c"] {
        let (lock, log) = (lock.clone(), log.clone());
        sim.process(name, async move {
            for _ in 0..2 {
                lock.acquire(1).await;
                log.at(name);
                log.sim.wait(Time::ns(1)).await;
                lock.release(1);
            }
        });
    }
    simulation.run();
    assert_eq!(log.take(), "a@0 b@1 c@2 a@3 b@4 c@5");
}

#[test]
fn a_holder_that_is_killed_while_it_waits_for_permits_lets_others_pass() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let (permits, log) = (Semaphore::new(&sim, "s", 1), Log::new(&sim));
    let wants_too_much = permits.clone();
    let greedy = sim.process("greedy", async move { wants_too_much.acquire(2).await });
    let (modest, note) = (permits.clone(), log.clone());
    sim.process("modest", async move {
        modest.acquire(1).await;
        note.at("modest");
    });
    let clock = sim.clone();
    sim.process("killer", async move {
        clock.wait(Time::ns(2)).await;
        greedy.kill();
    });
    simulation.run();
    assert_eq!(log.take(), "modest@2");
}

#[test]
fn a_clock_rises_at_once_and_then_every_period_and_falls_half_way() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let (clock, log) = (Clock::new(&sim, "clk", Time::ps(5_001)), Log::new(&sim));
    for (name, event) in [("up", clock.posedge().clone()), ("down", clock.negedge().clone())] {
        let log = log.clone();
        sim.server(name, async move {
            loop {
                event.wait().await;
                log.say(&format!("{name}@{}", log.sim.now().as_ps()));
            }
        });
    }
    simulation.run_until(Time::ps(10_002));
    assert_eq!(log.take(), "up@0 down@2501 up@5001 down@7502 up@10002");
}

#[test]
fn clocks_of_one_period_stay_in_step() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let (a, b) = (Clock::new(&sim, "a", Time::ns(3)), Clock::new(&sim, "b", Time::ns(3)));
    let other = b.signal().clone();
    sim.method("check").sensitive(a.posedge()).dont_initialize().run(move |_| assert!(other.read()));
    let (rises, others) = (a.posedge(), b.posedge());
    simulation.run_until(Time::us(1));
    assert_eq!((rises.fired(), others.fired()), (334, 334));
}
