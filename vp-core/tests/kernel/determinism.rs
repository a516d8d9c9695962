//! Determinism: the same program runs the same way, and leaves nothing when it goes.

use std::rc::Rc;
use vp_core::observe::{EventHash, LevelUnit, SourceKind, What};
use vp_core::{Clock, Fifo, Semaphore, Signal, Simulation, Time, Trigger};

fn hash_of_a_busy_run(slices: u64) -> (u64, u64) {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let hash = Rc::new(EventHash::default());
    sim.observe(hash.clone());
    let (fifo, credits) = (Fifo::new(&sim, "f", 3), Semaphore::new(&sim, "c", 2));
    for id in 0..8u64 {
        let source = sim.source(format!("worker{id}"), SourceKind::Work);
        let (sim, fifo, credits) = (sim.clone(), fifo.clone(), credits.clone());
        sim.clone().process(format!("worker{id}"), async move {
            for round in 0..50 {
                credits.acquire(1).await;
                sim.report(source, What::Begin { label: "round", id: round });
                sim.wait(Time::ps((id * 7 + round * 3) % 11)).await;
                if id % 2 == 0 {
                    fifo.put(round).await;
                } else {
                    {
                        _ = fifo.get().await;
                    }
                }
                sim.report(source, What::End { label: "round", id: round });
                credits.release(1);
            }
        });
    }
    for slice in 1..=slices {
        simulation.run_until(Time::ps(slice * 13));
    }
    simulation.run();
    (hash.value(), hash.count())
}

#[test]
fn the_same_program_gives_the_same_hash() {
    assert_eq!(hash_of_a_busy_run(0), hash_of_a_busy_run(0));
}

#[test]
fn running_in_slices_changes_nothing() {
    assert_eq!(hash_of_a_busy_run(0), hash_of_a_busy_run(40));
}

#[test]
fn dropping_a_simulation_frees_everything_in_the_middle_of_everything() {
    let witness = Rc::new(());
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let signal = Signal::new(&sim, "s", Rc::new(0));
    let (fifo, event) = (Fifo::new(&sim, "f", 2), sim.event("e"));
    let credits = Semaphore::new(&sim, "c", 0);
    let clock = Clock::new(&sim, "clk", Time::ns(1));
    for kind in 0..5 {
        let (sim, fifo, event, credits) = (sim.clone(), fifo.clone(), event.clone(), credits.clone());
        let witness = witness.clone();
        sim.clone().process("waiter", async move {
            let _hold = (kind == 0).then(|| sim.hold());
            match kind {
                0 => event.wait().await,
                1 => sim.wait(Time::ns(100)).await,
                2 => loop {
                    fifo.put(witness.clone()).await;
                },
                3 => credits.acquire(1).await,
                _ => drop(vp_core::join(event.wait(), sim.wait(Time::MAX)).await),
            }
        });
    }
    let (held, on) = (witness.clone(), event.clone());
    sim.method("m").sensitive(&event).run(move |sim| {
        let _ = &held;
        sim.next_trigger(Trigger::OnOrAfter(on.clone(), Time::ns(50)));
    });
    let (held, source) =
        (witness.clone(), sim.source("s", SourceKind::Level { bits: 64, unit: LevelUnit::None }));
    let door = sim.injector(move |sim, ()| sim.report(source, What::Level(Rc::strong_count(&held) as u64)));
    sim.observe(Rc::new(EventHash::default()));
    simulation.run_until(Time::ns(10));
    // Left outstanding on purpose.
    door.send(());
    signal.write(Rc::new(1));
    event.notify_delta();
    sim.next_trigger(Trigger::On(event.clone()));
    drop((sim, fifo, event, credits, clock, signal));
    drop(simulation);
    assert_eq!(Rc::strong_count(&witness), 1);
    door.send(());
}

#[test]
fn the_kernel_itself_goes_with_its_last_handle() {
    // What only the kernel's events own: if the kernel stayed, so would this.
    let witness = Rc::new(());
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let kept = witness.clone();
    let event = sim.event("outlives the simulation");
    let waits = event.clone();
    let process = sim.process("p", async move {
        waits.wait().await;
        drop(kept);
    });
    simulation.run();
    drop(simulation);
    assert_eq!(Rc::strong_count(&witness), 1);
    // Handles that are left are harmless.
    event.notify();
    event.notify_after(Time::ns(1));
    process.kill();
    assert_eq!(sim.now(), Time::ZERO);
}
