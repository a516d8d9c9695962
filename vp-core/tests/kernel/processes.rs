//! Processes: starting, ending, being ended.

use crate::Log;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::{Process, Simulation, Time};

#[test]
fn a_process_spawned_during_evaluation_runs_in_the_same_evaluation() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let outer = log.clone();
    sim.process("parent", async move {
        let (inner, delta) = (outer.clone(), outer.sim.delta());
        outer.sim.process("child", async move {
            assert_eq!(inner.sim.delta(), delta);
            inner.say("child");
        });
        outer.say("parent");
    });
    sim.process("sibling", {
        let log = log.clone();
        async move { log.say("sibling") }
    });
    simulation.run();
    assert_eq!(log.take(), "parent sibling child");
}

#[test]
fn join_returns_at_the_end_and_at_once_after_that() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let clock = sim.clone();
    let child = sim.process("child", async move { clock.wait(Time::ns(3)).await });
    let note = log.clone();
    sim.process("parent", async move {
        child.join().await;
        note.at("joined");
        let delta = note.sim.delta();
        child.join().await;
        assert_eq!(note.sim.delta(), delta);
    });
    simulation.run();
    assert_eq!(log.take(), "joined@3");
}

/// Kills, at 1 ns, a process that waits in the given way; nothing of it may be left.
fn kill_while_it_waits(wait: impl AsyncFnOnce(vp_core::Sim, vp_core::Event) + 'static) {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let event = sim.event("event");
    let owned = Rc::new(());
    let seen = Rc::downgrade(&owned);
    let (clock, awaited) = (sim.clone(), event.clone());
    let victim = sim.process("victim", async move {
        let _owned = owned;
        wait(clock, awaited).await;
        unreachable!("it was killed");
    });
    let clock = sim.clone();
    sim.process("killer", async move {
        clock.wait(Time::ns(1)).await;
        victim.kill();
        assert!(seen.upgrade().is_none(), "what it owned goes at once");
        assert!(victim.has_ended());
        victim.kill();
        victim.join().await;
        event.notify();
    });
    simulation.run();
    assert_eq!(simulation.now(), Time::ns(1));
    assert_eq!(simulation.pending(), 0);
    assert!(!simulation.idle_report().is_deadlock());
}

#[test]
fn a_process_can_be_killed_wherever_it_waits() {
    kill_while_it_waits(async |_, event| event.wait().await);
    kill_while_it_waits(async |sim, _| sim.wait(Time::ns(5)).await);
    kill_while_it_waits(async |sim, _| {
        sim.wait(Time::ns(1)).await;
        sim.wait(Time::ZERO).await;
        sim.wait(Time::ZERO).await;
    });
    kill_while_it_waits(async |sim, event| {
        _ = vp_core::join(sim.wait(Time::ns(9)), event.wait()).await;
    });
}

#[test]
fn a_process_killed_while_it_is_runnable_does_not_run() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let victim = Rc::new(RefCell::new(None::<Process>));
    let killed = victim.clone();
    sim.process("killer", async move { killed.borrow().as_ref().expect("started").kill() });
    *victim.borrow_mut() = Some(sim.process("victim", async { unreachable!("it was killed") }));
    simulation.run();
}

#[test]
fn a_process_that_kills_itself_ends_at_its_next_wait() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Log::new(&sim);
    let this = Rc::new(RefCell::new(None::<Process>));
    let (me, note) = (this.clone(), log.clone());
    let process = sim.process("suicide", async move {
        me.borrow().as_ref().expect("started").kill();
        note.say("still here");
        note.sim.wait(Time::ns(1)).await;
        unreachable!("it was killed");
    });
    *this.borrow_mut() = Some(process.clone());
    simulation.run();
    assert_eq!(log.take(), "still here");
    assert!(process.has_ended());
    assert_eq!((simulation.pending(), simulation.now()), (0, Time::ZERO));
}

#[test]
fn the_successor_in_a_slot_inherits_nothing() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let event = sim.event("event");
    let log = Log::new(&sim);
    let (root, note) = (sim.clone(), log.clone());
    sim.process("root", async move {
        for round in 0..3u64 {
            let (clock, waits) = (root.clone(), event.clone());
            let first = root.process("first", async move {
                vp_core::select(waits.wait(), clock.wait(Time::ns(5))).await;
            });
            root.wait(Time::ns(1)).await;
            // Runnable and killed: its slot is taken again before the run loop has come by.
            event.notify();
            first.kill();
            let (clock, note) = (root.clone(), note.clone());
            let second = root.process("second", async move {
                clock.wait(Time::ns(10)).await;
                note.at(&format!("second{round}"));
            });
            second.join().await;
        }
    });
    simulation.run();
    assert_eq!(log.take(), "second0@11 second1@22 second2@33");
}

/// Kills a process when dropped.
struct KillOnDrop(Rc<RefCell<Option<Process>>>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Some(process) = self.0.take() {
            process.kill();
        }
    }
}

#[test]
fn a_process_whose_death_kills_it_again_dies_once() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let this = Rc::new(RefCell::new(None));
    let (clock, guard) = (sim.clone(), KillOnDrop(this.clone()));
    let victim = sim.process("victim", async move {
        let _guard = guard;
        clock.wait(Time::ns(100)).await;
    });
    *this.borrow_mut() = Some(victim.clone());
    simulation.run_until(Time::ns(1));
    victim.kill();
    // If its slot were free twice, these two would be one.
    let count = Rc::new(Cell::new(0));
    for name in ["one", "two"] {
        let (clock, count) = (sim.clone(), count.clone());
        sim.process(name, async move {
            clock.wait(Time::ns(1)).await;
            count.set(count.get() + 1);
        });
    }
    simulation.run();
    assert_eq!(count.get(), 2);
}

#[test]
fn parts_of_one_process_can_notify_each_other() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let event = sim.event("event");
    let done = Rc::new(Cell::new(false));
    let set = done.clone();
    sim.clone().process("both", async move {
        vp_core::join(event.wait(), async {
            sim.wait(Time::ns(1)).await;
            event.notify();
        })
        .await;
        set.set(true);
    });
    simulation.run();
    assert!(done.get());
}
