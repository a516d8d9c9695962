//! The life of a simulation: running up to a time, stopping, resting, waiting for the outside.

use crate::Log;
use std::cell::Cell;
use std::rc::Rc;
use vp_core::observe::SourceKind;
use vp_core::{Signal, Sim, Simulation, Stop, Time, Trigger};

fn ticking() -> (Simulation, Rc<Cell<u32>>) {
    let simulation = Simulation::new();
    let (sim, ticks) = (simulation.sim(), Rc::new(Cell::new(0)));
    let count = ticks.clone();
    sim.clone().process("ticker", async move {
        for _ in 0..10 {
            sim.wait(Time::ns(10)).await;
            count.set(count.get() + 1);
        }
    });
    (simulation, ticks)
}

#[test]
fn run_until_includes_its_limit_and_can_be_continued() {
    let (mut simulation, ticks) = ticking();
    assert_eq!(simulation.run_until(Time::ns(20)), Stop::Limit);
    assert_eq!((simulation.now(), ticks.get()), (Time::ns(20), 2));
    assert_eq!(simulation.run_until(Time::ns(29)), Stop::Limit);
    assert_eq!((simulation.now(), ticks.get()), (Time::ns(29), 2));
    assert_eq!(simulation.next_time(), Some(Time::ns(30)));
    assert_eq!(simulation.run_for(Time::ns(1)), Stop::Limit);
    assert_eq!(ticks.get(), 3);
    assert_eq!(simulation.run(), Stop::Idle);
    assert_eq!((simulation.now(), ticks.get()), (Time::ns(100), 10));
}

#[test]
fn a_limit_in_the_past_does_not_turn_time_back() {
    let (mut simulation, ticks) = ticking();
    simulation.run_until(Time::ns(20));
    assert_eq!(simulation.run_until(Time::ns(5)), Stop::Limit);
    assert_eq!((simulation.now(), ticks.get()), (Time::ns(20), 2));
}

#[test]
fn stop_ends_the_run_after_the_present_delta_cycle() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let note = log.clone();
    sim.process("stopper", async move {
        note.sim.wait(Time::ns(1)).await;
        note.sim.stop();
        note.say("stopped");
        note.sim.wait(Time::ZERO).await;
        note.at("went on");
    });
    let note = log.clone();
    sim.process("other", async move {
        note.sim.wait(Time::ns(1)).await;
        note.say("same delta cycle");
    });
    assert_eq!(simulation.run(), Stop::Requested);
    assert_eq!(log.take(), "stopped same delta cycle");
    assert_eq!(simulation.next_time(), Some(Time::ns(1)));
    assert_eq!(simulation.run(), Stop::Idle);
    assert_eq!(log.take(), "went on@1");
}

#[test]
fn the_idle_report_names_who_waits_for_what_and_leaves_out_servers_at_rest() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let (a, b) = (sim.event("irq"), sim.event("done"));
    let (one, two) = (a.clone(), b.clone());
    sim.process("driver", async move {
        {
            _ = vp_core::select(one.wait(), two.wait()).await;
        }
    });
    let request = sim.work_event("request");
    sim.server("device", async move { request.wait().await });
    sim.server("stuck", async move { a.wait().await });
    assert_eq!(simulation.run(), Stop::Idle);
    let report = simulation.idle_report();
    assert!(report.is_deadlock());
    assert_eq!(
        report.to_string(),
        "nothing happens after 0 s; driver waits for one of irq, done; stuck waits for irq"
    );
    assert_eq!(report.at_rest.len(), 1);
}

#[test]
fn a_wait_until_the_end_of_time_is_no_work() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    sim.clone().process("sleeper", async move { sim.wait(Time::MAX).await });
    assert_eq!(simulation.run(), Stop::Idle);
    assert_eq!((simulation.now(), simulation.next_time()), (Time::ZERO, None));
    assert!(simulation.idle_report().is_deadlock());
}

#[test]
fn what_waits_for_its_update_is_work_to_do_now() {
    let mut simulation = Simulation::new();
    let signal = Signal::new(&simulation.sim(), "s", 0);
    assert_eq!(simulation.next_time(), None);
    signal.write(1);
    assert_eq!(simulation.next_time(), Some(Time::ZERO));
    simulation.run();
    assert_eq!(simulation.next_time(), None);
}

#[test]
fn time_stands_while_it_is_held_and_delta_cycles_go_on() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let answer = sim.event("answer");
    let arrived = answer.clone();
    let injector = sim.injector(move |_, ()| arrived.notify());
    let note = log.clone();
    sim.process("asker", async move {
        note.sim.wait(Time::ns(5)).await;
        let hold = note.sim.hold();
        answer.wait().await;
        drop(hold);
        note.at("answered");
    });
    let note = log.clone();
    sim.process("other", async move {
        note.sim.wait(Time::ns(5)).await;
        note.sim.wait(Time::ZERO).await;
        note.at("delta");
        note.sim.wait(Time::ps(1)).await;
        note.at("later");
    });
    assert_eq!(simulation.run(), Stop::Held);
    assert_eq!((simulation.now(), simulation.run()), (Time::ns(5), Stop::Held));
    assert_eq!(log.take(), "delta@5");
    injector.send(());
    assert_eq!(simulation.run(), Stop::Idle);
    assert_eq!(log.take(), "answered@5 later@5");
}

#[test]
fn what_other_threads_send_is_taken_in_order_and_between_delta_cycles() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let level = Signal::new(&sim, "level", 0u32);
    let seen = Rc::new(Cell::new(0));
    let (driven, last) = (level.clone(), seen.clone());
    let injector = sim.injector(move |_, value: u32| {
        assert_eq!(value, last.get() + 1, "in the order in which it was sent");
        last.set(value);
        driven.write(value);
    });
    // Whatever arrives while this runs, both reads are of one delta cycle.
    let (clock, watched) = (sim.clone(), level.clone());
    sim.server("watcher", async move {
        loop {
            let before = watched.read();
            assert_eq!(watched.read(), before);
            clock.wait(Time::ns(1)).await;
        }
    });
    let sender = std::thread::spawn(move || (1..=1_000).for_each(|value| injector.send(value)));
    while seen.get() < 1_000 {
        simulation.run_for(Time::ns(10));
    }
    sender.join().expect("the sender has finished");
    simulation.run_for(Time::ns(1));
    assert_eq!(level.read(), 1_000);
}

#[test]
fn the_bell_wakes_the_driving_thread() {
    let mut simulation = Simulation::new();
    let sum = Rc::new(Cell::new(0));
    let total = sum.clone();
    let injector = simulation.sim().injector(move |_, value: u32| total.set(total.get() + value));
    let bell = simulation.bell();
    let sender = std::thread::spawn(move || injector.send(7));
    while sum.get() == 0 {
        bell.wait();
        simulation.run();
    }
    sender.join().expect("the sender has finished");
    assert_eq!(sum.get(), 7);
}

#[test]
fn an_injector_may_make_another_and_start_processes() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let note = log.clone();
    let injector = sim.injector(move |sim, name: &'static str| {
        let note = note.clone();
        sim.process(name, async move {
            note.sim.wait(Time::ns(1)).await;
            note.at(name);
        });
        sim.injector(|_, ()| {}).send(());
    });
    injector.send("a");
    injector.send("b");
    assert_eq!(injector.backlog(), 2);
    simulation.run();
    assert_eq!(log.take(), "a@1 b@1");
}

/// A process that alone is due in a delta cycle runs before what a injector lets in at that moment; one that the injector ends does
/// not run, nor does one that comes into its place run twice.
#[test]
fn what_comes_through_a_door_comes_after_who_alone_is_due() {
    for ended in [false, true] {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let log = Log::new(&sim);
        let (tick, due, note) = (sim.event("tick"), sim.event("due"), log.clone());
        let waits = due.clone();
        let alone = sim.process("alone", async move {
            waits.wait().await;
            note.at("alone");
        });
        let note = log.clone();
        sim.method("listener").sensitive(&tick).dont_initialize().run(move |_| note.at("listener"));
        let note = log.clone();
        let injector = sim.injector(move |sim, ()| {
            note.at("injector");
            tick.notify();
            if ended {
                alone.kill();
                let note = note.clone();
                sim.process("successor", async move { note.at("successor") });
            }
        });
        sim.clone().process("sender", async move {
            sim.wait(Time::ns(1)).await;
            due.notify_delta();
            injector.send(());
        });
        simulation.run();
        let expected =
            if ended { "injector@1 listener@1 successor@1" } else { "injector@1 alone@1 listener@1" };
        assert_eq!(log.take(), expected);
    }
}

/// Processes that run on after a reset in the middle of everything: waits, armed methods, notifications and updates of all kinds.
#[test]
fn after_the_end_of_all_a_model_runs_as_from_the_start() {
    let build = |sim: &Sim, log: &Log| {
        let (tick, due) = (sim.event("tick"), sim.event("due"));
        let level = Signal::new(sim, "level", 0u32);
        let (clock, note, out, ring) = (sim.clone(), log.clone(), level.clone(), tick.clone());
        sim.server("writer", async move {
            for step in 1.. {
                clock.wait(Time::ns(3)).await;
                out.write(step);
                ring.notify_after(Time::ns(2));
                note.at("writes");
            }
        });
        let (note, waits) = (log.clone(), due.clone());
        sim.server("waiter", async move {
            loop {
                waits.wait().await;
                note.at("due");
            }
        });
        let (note, ring) = (log.clone(), due);
        sim.method("method").sensitive(level.changed()).dont_initialize().run(move |sim| {
            note.at("changed");
            ring.notify_delta();
            sim.next_trigger(Trigger::OnOrAfter(tick.clone(), Time::ns(7)));
        });
        level
    };
    let run_for = Time::ns(20);
    let mut fresh = Simulation::new();
    let log = Log::new(&fresh.sim());
    build(&fresh.sim(), &log);
    fresh.run_for(run_for);
    let expected = log.take();
    for reset_at in 0..16 {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let level = build(&sim, &Log::new(&sim));
        simulation.run_for(Time::ns(reset_at));
        // Outstanding at the reset: an update, of which the method hears no more.
        level.write(99);
        simulation.end_all();
        assert_eq!((simulation.pending(), simulation.now()), (0, Time::ns(reset_at)));
        assert!(!simulation.idle_report().is_deadlock() && simulation.idle_report().at_rest.is_empty());
        let log = Log::new(&sim);
        build(&sim, &log);
        simulation.run_for(run_for);
        assert_eq!(log.take(), expected, "reset at {reset_at} ns");
        assert_eq!(level.read(), 99);
    }
}

#[test]
fn the_end_of_all_ends_what_destructors_start_and_drops_what_processes_own() {
    struct Starts(Sim, Rc<Cell<u32>>);
    impl Drop for Starts {
        fn drop(&mut self) {
            self.1.set(self.1.get() + 1);
            let (sim, owned) = (self.0.clone(), self.1.clone());
            self.0.process("late", async move {
                let _owned = owned;
                sim.wait(Time::ns(1)).await;
            });
        }
    }
    let mut simulation = Simulation::new();
    let (sim, ends) = (simulation.sim(), Rc::new(Cell::new(0)));
    for _ in 0..3 {
        let (clock, owned) = (sim.clone(), Starts(sim.clone(), ends.clone()));
        sim.process("early", async move {
            let _owned = owned;
            clock.wait(Time::ns(4)).await;
        });
    }
    let hold = sim.hold();
    simulation.run_until(Time::ns(2));
    simulation.end_all();
    drop(hold);
    assert_eq!((ends.get(), Rc::strong_count(&ends)), (3, 1));
    simulation.run();
    assert_eq!((simulation.now(), simulation.activations()), (Time::ns(0), 3));
}

#[test]
fn a_source_named_again_after_the_end_of_all_is_the_same() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let counts = |name| sim.source(name, SourceKind::Counts);
    let before = ["a", "b", "a"].map(counts);
    simulation.end_all();
    assert_eq!(["a", "c", "b", "a", "a"].map(counts)[..1], before[..1]);
    assert_eq!(&*sim.source_name(counts("d")), "d");
    simulation.end_all();
    // What reports something else is another one.
    assert!(!before.contains(&sim.source("a", SourceKind::Work)));
    assert_eq!(["a", "b", "a"].map(counts), before);
}
