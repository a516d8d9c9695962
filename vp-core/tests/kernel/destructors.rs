//! Things that destructors, panics and the end of a simulation may do to the kernel: whatever they call, it stays
//! whole. Under Miri these are the tests of the unsafe code.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use vp_core::{Process, Signal, Sim, Simulation, Time, Trigger};

/// Does something when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn on_drop<F: FnMut()>(act: F) -> OnDrop<F> {
    OnDrop(act)
}

/// A process that waits for ever and does something when it goes.
fn with_destructor(sim: &Sim, act: impl FnMut() + 'static) -> Process {
    let never = sim.event("never");
    let last = on_drop(act);
    sim.process("doomed", async move {
        let _last = last;
        never.wait().await;
    })
}

#[test]
fn a_killed_process_runs_the_simulation_once_more() {
    let simulation = Rc::new(RefCell::new(Simulation::new()));
    let sim = simulation.borrow().sim();
    let (within, spawner) = (simulation.clone(), sim.clone());
    let late = Rc::new(RefCell::new(None));
    let (place, log) = (late.clone(), Rc::new(RefCell::new(Vec::new())));
    let written = log.clone();
    // It has not begun, so its place is on the list of what is to run: the run finds it empty there.
    let doomed = with_destructor(&sim, move || {
        within.borrow_mut().run_for(Time::ZERO);
        let (clock, log) = (spawner.clone(), written.clone());
        let process = spawner.process("late", async move {
            let (last, event) = (log.clone(), clock.event("event"));
            let _last = on_drop(move || {
                event.notify();
                last.borrow_mut().push("late ends");
            });
            clock.wait(Time::ns(1)).await;
            // Takes whatever place is thought to be free.
            clock.process("child", async {});
            log.borrow_mut().push("late goes on");
            clock.wait(Time::ns(1)).await;
        });
        within.borrow_mut().run_for(Time::ZERO);
        *place.borrow_mut() = Some(process);
    });
    doomed.kill();
    assert!(doomed.has_ended());
    let late = late.take().expect("the destructor has started it");
    assert!(!late.has_ended());
    simulation.borrow_mut().run_until(Time::ns(1));
    assert_eq!(*log.borrow(), ["late goes on"]);
    simulation.borrow_mut().run();
    assert_eq!(*log.borrow(), ["late goes on", "late ends"]);
    assert!(late.has_ended());
}

#[test]
fn a_killed_process_drops_the_simulation() {
    let owner = Rc::new(RefCell::new(Some(Simulation::new())));
    let sim = owner.borrow().as_ref().map(Simulation::sim).unwrap();
    let (taken, spawner) = (owner.clone(), sim.clone());
    let doomed = with_destructor(&sim, move || {
        drop(taken.borrow_mut().take());
        spawner.process("after the end", async {});
    });
    doomed.kill();
    assert!(owner.borrow().is_none());
    // The tables are still good.
    let event = sim.event("event");
    event.notify();
    assert_eq!(event.fired(), 1);
}

#[test]
fn processes_started_after_the_end_of_the_simulation() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    for _ in 0..3 {
        sim.process("short", async {});
    }
    simulation.run();
    drop(simulation);
    // They never run, and are dropped at once: later there would be nobody to do it.
    let dropped = Rc::new(Cell::new(0));
    let start = |_| {
        let (event, dropped) = (sim.event("event"), dropped.clone());
        let last = on_drop(move || {
            dropped.set(dropped.get() + 1);
            event.notify();
        });
        sim.process("late", waits_for_ever(last))
    };
    let started: Vec<Process> = (0..4).map(start).collect();
    assert_eq!(dropped.get(), 4);
    started.iter().for_each(Process::kill);
    assert!(started.iter().all(Process::has_ended));
}

async fn waits_for_ever<T>(value: T) {
    let _value = value;
    std::future::pending::<()>().await;
}

#[test]
fn a_simulation_cannot_be_taken_away_from_under_a_run() {
    let owner = Rc::new(RefCell::new(Some(Simulation::new())));
    let sim = owner.borrow().as_ref().map(Simulation::sim).unwrap();
    let (within, refused) = (owner.clone(), Rc::new(Cell::new(false)));
    let seen = refused.clone();
    sim.clone().process("thief", async move {
        sim.wait(Time::ns(1)).await;
        seen.set(within.try_borrow_mut().is_err());
    });
    owner.borrow_mut().as_mut().unwrap().run();
    assert!(refused.get());
    drop(owner.borrow_mut().take());
}

#[test]
fn a_simulation_within_a_process_of_another() {
    let mut outer = Simulation::new();
    let sim = outer.sim();
    let inner = Rc::new(RefCell::new(Some(Simulation::new())));
    let (total, kept) = (Rc::new(Cell::new(0)), inner.clone());
    let sum = total.clone();
    let done = sim.event("done");
    let told = done.clone();
    let inner_sim = inner.borrow().as_ref().map(Simulation::sim).unwrap();
    inner_sim.clone().process("inner", async move {
        for _ in 0..3 {
            inner_sim.wait(Time::ns(2)).await;
            sum.set(sum.get() + 1);
        }
        told.notify();
    });
    sim.clone().process("outer", async move {
        for _ in 0..3 {
            sim.wait(Time::ns(1)).await;
            if let Some(simulation) = &mut *inner.borrow_mut() {
                simulation.run_for(Time::ns(2));
            }
        }
        drop(inner.borrow_mut().take());
    });
    outer.run();
    assert_eq!((total.get(), done.fired(), outer.now()), (3, 1, Time::ns(3)));
    assert!(kept.borrow().is_none());
}

#[test]
fn destructors_that_call_everything() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let processes: Rc<RefCell<Vec<Process>>> = Rc::default();
    let started = Rc::new(Cell::new(0));
    let event = sim.event("event");
    for number in 0..6u64 {
        let (sim_, all, event, count) = (sim.clone(), processes.clone(), event.clone(), started.clone());
        let doomed = with_destructor(&sim, move || {
            event.notify();
            event.notify_delta();
            event.cancel();
            event.notify_after(Time::ns(1 + number));
            let count_child = count.clone();
            sim_.process("child", async move { count_child.set(count_child.get() + 1) });
            let others = all.borrow().clone();
            others.iter().for_each(Process::kill);
            drop(event.clone());
            sim_.event("short-lived").notify_delta();
            sim_.next_trigger(Trigger::After(Time::ns(1)));
        });
        processes.borrow_mut().push(doomed);
    }
    let (killed, clock) = (processes.clone(), sim.clone());
    sim.process("killer", async move {
        clock.wait(Time::ns(1)).await;
        let first = killed.borrow()[3].clone();
        first.kill();
        clock.wait(Time::ns(1)).await;
    });
    simulation.run();
    assert!(processes.borrow().iter().all(Process::has_ended));
    assert_eq!(started.get(), 6);
    assert_eq!(simulation.pending(), 0);
}

/// A value whose every operation comes back to the signal that holds it.
struct Calls {
    value: u32,
    signal: Rc<RefCell<Option<Signal<Calls>>>>,
    sim: Sim,
    dropped: Rc<Cell<u32>>,
}

impl Calls {
    fn come_back(&self) {
        self.sim.event("of a value").notify_delta();
    }
}

impl Clone for Calls {
    fn clone(&self) -> Calls {
        self.come_back();
        let (value, signal) = (self.value, self.signal.clone());
        Calls { value, signal, sim: self.sim.clone(), dropped: self.dropped.clone() }
    }
}

impl PartialEq for Calls {
    fn eq(&self, other: &Calls) -> bool {
        self.come_back();
        self.value == other.value
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.come_back();
        self.dropped.set(self.dropped.get() + 1);
        // The first value that goes writes another one.
        let Some(signal) = self.signal.borrow_mut().take() else { return };
        let (value, none) = (self.value + 100, Rc::default());
        signal.write(Calls { value, signal: none, sim: self.sim.clone(), dropped: self.dropped.clone() });
    }
}

#[test]
fn a_signals_value_comes_back_to_it() {
    for written in [&[1u32][..], &[1, 2], &[0]] {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let (place, dropped) = (Rc::new(RefCell::new(None)), Rc::new(Cell::new(0)));
        let value = |value, signal: &Rc<_>| Calls {
            value,
            signal: Rc::clone(signal),
            sim: sim.clone(),
            dropped: dropped.clone(),
        };
        let signal = Signal::new(&sim, "signal", value(0, &place));
        *place.borrow_mut() = Some(signal.clone());
        for &number in written {
            signal.write(value(number, &place));
        }
        simulation.run();
        simulation.run();
        assert!(place.borrow().is_none());
        assert!(signal.read().value >= 100);
    }
}

#[test]
fn a_panic_leaves_the_others_as_they_were() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let log = Rc::new(RefCell::new(Vec::new()));
    let (clock, itself) = (sim.clone(), Rc::new(RefCell::new(None::<Process>)));
    let own = itself.clone();
    let panics = sim.process("panics", async move {
        clock.wait(Time::ns(1)).await;
        // Asks to be ended, and for a next call, before it falls.
        if let Some(process) = &*own.borrow() {
            process.kill();
        }
        clock.next_trigger(Trigger::After(Time::ns(1)));
        panic!("as it is meant to");
    });
    *itself.borrow_mut() = Some(panics.clone());
    let (clock, written) = (sim.clone(), log.clone());
    let other = sim.process("other", async move {
        for _ in 0..3 {
            clock.wait(Time::ns(1)).await;
            written.borrow_mut().push(clock.now());
        }
    });
    let calls = Rc::new(Cell::new(0));
    let count = calls.clone();
    let tick = sim.event("tick");
    sim.method("method").sensitive(&tick).run(move |_| count.set(count.get() + 1));
    tick.notify_after(Time::ns(1));
    assert!(catch_unwind(AssertUnwindSafe(|| simulation.run())).is_err());
    // From outside of all: whoever was running when it broke off is not running now.
    panics.kill();
    assert!(panics.has_ended() && !other.has_ended());
    simulation.run();
    assert_eq!(*log.borrow(), [Time::ns(1), Time::ns(2), Time::ns(3)]);
    assert_eq!((calls.get(), other.has_ended()), (2, true));
    assert_eq!(simulation.now(), Time::ns(3));
}

#[test]
fn a_destructor_that_panics_still_ends_the_process() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let doomed = with_destructor(&sim, || panic!("as it is meant to"));
    let ended = doomed.ended();
    simulation.run();
    assert!(catch_unwind(AssertUnwindSafe(|| doomed.kill())).is_err());
    assert_eq!((doomed.has_ended(), ended.fired()), (true, 1));
    let next = sim.process("next", async {});
    simulation.run();
    assert!(next.has_ended());
}

#[test]
fn an_event_of_another_simulation_is_refused() {
    let (here, there) = (Simulation::new(), Simulation::new());
    let own = here.sim().event("own");
    let foreign: Vec<_> = (0..3).map(|_| there.sim().event("foreign")).collect();
    let sim = here.sim();
    let comes_back = on_drop({
        let sim = sim.clone();
        move || sim.event("from a destructor").notify()
    });
    let refused = catch_unwind(AssertUnwindSafe(|| {
        sim.method("method").sensitive(&own).sensitive(&foreign[2]).run(move |_| {
            let _ = &comes_back;
        })
    }));
    assert!(refused.is_err());
    // Nothing was left half done.
    own.notify();
    assert_eq!(own.fired(), 1);
}

#[test]
fn handles_outlive_the_simulation() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let (event, signal) = (sim.event("event"), Signal::line(&sim, "line", false));
    let process = {
        let (event, signal) = (event.clone(), signal.clone());
        sim.process("process", async move {
            loop {
                event.wait().await;
                signal.write(!signal.read());
            }
        })
    };
    let method = sim.method("method").sensitive(signal.changed()).run(|_| {});
    let hold = sim.hold();
    let ended = process.ended();
    simulation.run();
    drop(simulation);
    for _ in 0..2 {
        event.notify();
        event.notify_delta();
        event.notify_after(Time::ns(3));
    }
    // Kept for an update phase that never comes, it would keep itself.
    signal.write(true);
    process.kill();
    method.kill();
    assert!(process.has_ended() && method.has_ended());
    assert_eq!((event.fired(), ended.fired(), signal.read()), (2, 0, false));
    assert_eq!(ended.name(), "process.ended");
    drop((event, ended, signal, process, method, hold));
    assert_eq!(sim.event("one more").name(), "one more");
}

#[test]
fn a_method_that_ends_what_it_listens_to_is_not_called_for_that() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let victim = sim.process("victim", std::future::pending());
    let (ended, calls) = (victim.ended(), Rc::new(RefCell::new(Vec::new())));
    let log = calls.clone();
    sim.method("killer").sensitive(&ended).run(move |sim| {
        log.borrow_mut().push(sim.now());
        victim.kill();
        // Twice called in one phase, it would be armed twice.
        sim.next_trigger(Trigger::After(Time::ns(if log.borrow().len() == 1 { 5 } else { 3 })));
    });
    simulation.run_until(Time::ns(10));
    assert_eq!(*calls.borrow(), [0, 5, 8].map(Time::ns));
}
