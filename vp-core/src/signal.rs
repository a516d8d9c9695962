//! Signals: values that change in the update phase, so that all who read in one delta cycle see the same
//! (`sc_signal`).

use crate::event::Event;
use crate::kernel::{Sim, Update};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

struct State<T> {
    sim: Sim,
    current: RefCell<T>,
    next: RefCell<Option<T>>,
    requested: Cell<bool>,
    changed: Event,
    /// What a `bool` adds: rising and falling edges.
    edges: Option<Edges<T>>,
}

struct Edges<T> {
    rises: fn(&T) -> bool,
    rising: Event,
    falling: Event,
}

/// A value with evaluate/update semantics (`sc_signal`). Clones are handles of the same signal.
///
/// ```
/// use vp_core::{Signal, Simulation};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let level = Signal::new(&sim, "level", 0u32);
/// sim.process("writer", { let level = level.clone(); async move {
///     level.write(7);
///     assert_eq!(level.read(), 0, "the new value is not there before the update phase");
///     level.changed().wait().await;
///     assert_eq!(level.read(), 7);
/// }});
/// simulation.run();
/// ```
pub struct Signal<T>(Rc<State<T>>);

impl<T> Clone for Signal<T> {
    fn clone(&self) -> Signal<T> {
        Signal(self.0.clone())
    }
}

impl<T: Clone + PartialEq + 'static> Signal<T> {
    /// A signal with its first value.
    pub fn new(sim: &Sim, name: &str, value: T) -> Signal<T> {
        Signal::with_edges(sim, name, value, None)
    }

    fn with_edges(sim: &Sim, name: &str, value: T, edges: Option<Edges<T>>) -> Signal<T> {
        Signal(Rc::new(State {
            sim: sim.clone(),
            current: RefCell::new(value),
            next: RefCell::new(None),
            requested: Cell::new(false),
            changed: sim.event(format!("{name}.changed")),
            edges,
        }))
    }

    /// The present value.
    pub fn read(&self) -> T {
        self.0.current.borrow().clone()
    }

    /// Gives the value that the signal has after this delta cycle's update phase; the last write counts.
    pub fn write(&self, value: T) {
        *self.0.next.borrow_mut() = Some(value);
        if !self.0.requested.replace(true) {
            self.0.sim.request_update(self.0.clone());
        }
    }

    /// Fires in the delta cycle after the value has become another one.
    pub fn changed(&self) -> &Event {
        &self.0.changed
    }
}

impl Signal<bool> {
    /// A line with edges (`sc_signal<bool>`).
    pub fn line(sim: &Sim, name: &str, value: bool) -> Signal<bool> {
        let edges = Edges {
            rises: |&value| value,
            rising: sim.event(format!("{name}.posedge")),
            falling: sim.event(format!("{name}.negedge")),
        };
        Signal::with_edges(sim, name, value, Some(edges))
    }

    /// Fires after the line has become true; a signal made by [`Signal::new`] has the change event here.
    pub fn posedge(&self) -> &Event {
        self.0.edges.as_ref().map_or(&self.0.changed, |edges| &edges.rising)
    }

    /// Fires after the line has become false; a signal made by [`Signal::new`] has the change event here.
    pub fn negedge(&self) -> &Event {
        self.0.edges.as_ref().map_or(&self.0.changed, |edges| &edges.falling)
    }
}

impl<T: Clone + PartialEq + 'static> Update for State<T> {
    fn update(&self) {
        self.requested.set(false);
        let Some(next) = self.next.borrow_mut().take() else { return };
        if *self.current.borrow() == next {
            return;
        }
        if let Some(edges) = &self.edges {
            if (edges.rises)(&next) { &edges.rising } else { &edges.falling }.notify_delta();
        }
        *self.current.borrow_mut() = next;
        self.changed.notify_delta();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Simulation, Time};

    #[test]
    fn a_value_is_seen_one_delta_cycle_after_the_write() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let (a, b) = (Signal::new(&sim, "a", 1), Signal::new(&sim, "b", 2));
        // The classic swap: both read before either is updated.
        for (from, to) in [(a.clone(), b.clone()), (b.clone(), a.clone())] {
            sim.process("swap", async move { to.write(from.read()) });
        }
        simulation.run();
        assert_eq!((a.read(), b.read()), (2, 1));
    }

    #[test]
    fn writing_the_present_value_notifies_nobody() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let a = Signal::new(&sim, "a", 5);
        a.write(9);
        a.write(5);
        simulation.run();
        assert_eq!(a.changed().fired(), 0);
    }

    #[test]
    fn a_line_tells_its_edges() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let line = Signal::line(&sim, "irq", false);
        let driver = line.clone();
        let clock = sim.clone();
        sim.process("driver", async move {
            for level in [true, false, true] {
                driver.write(level);
                clock.wait(Time::ns(1)).await;
            }
        });
        simulation.run();
        assert_eq!((line.posedge().fired(), line.negedge().fired(), line.changed().fired()), (2, 1, 3));
    }
}
