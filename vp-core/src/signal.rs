//! Signals: values that change in the update phase, so that all readers in one delta cycle see the same value
//! (`sc_signal`).

use crate::event::Event;
use crate::kernel::Sim;
use crate::name::Name;
use crate::schedule::Update;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

struct SignalState<T> {
    sim: Sim,
    name: Name,
    current: RefCell<T>,
    /// Value that the signal has after the update phase, which is asked for with the first write.
    next: Cell<Option<T>>,
    /// Made at the first request: a signal without it notifies nothing.
    changed: OnceCell<Event>,
    /// Events that a `bool` adds: rising and falling edges.
    edges: Option<Edges<T>>,
}

struct Edges<T> {
    rises: fn(&T) -> bool,
    rising: OnceCell<Event>,
    falling: OnceCell<Event>,
}

impl<T> SignalState<T> {
    fn event<'a>(&self, place: &'a OnceCell<Event>, what: &str) -> &'a Event {
        place.get_or_init(|| self.sim.event(format!("{}.{what}", self.name)))
    }
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
pub struct Signal<T>(Rc<SignalState<T>>);

impl<T> Clone for Signal<T> {
    fn clone(&self) -> Signal<T> {
        Signal(self.0.clone())
    }
}

impl<T: Clone + PartialEq + 'static> Signal<T> {
    /// A signal with its first value.
    pub fn new(sim: &Sim, name: impl Into<Name>, value: T) -> Signal<T> {
        Signal::with_edges(sim, name.into(), value, None)
    }

    fn with_edges(sim: &Sim, name: Name, value: T, edges: Option<Edges<T>>) -> Signal<T> {
        Signal(Rc::new(SignalState {
            sim: sim.clone(),
            name,
            current: RefCell::new(value),
            next: Cell::new(None),
            changed: OnceCell::new(),
            edges,
        }))
    }

    /// The present value.
    pub fn read(&self) -> T {
        self.0.current.borrow().clone()
    }

    /// Sets the value that the signal has after this delta cycle's update phase; the last write counts.
    pub fn write(&self, value: T) {
        match self.0.next.replace(Some(value)) {
            None => self.0.sim.request_update(self.0.clone()),
            // May come back here.
            Some(before) => drop(before),
        }
    }

    /// Fires in the delta cycle after the value has changed. The event exists, and counts, from the first call
    /// on: a signal whose event was never requested notifies nothing.
    pub fn changed(&self) -> &Event {
        self.0.event(&self.0.changed, "changed")
    }
}

impl Signal<bool> {
    /// A line with edges (`sc_signal<bool>`).
    ///
    /// ```
    /// use vp_core::{Signal, Simulation, Time};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let line = Signal::line(&sim, "irq", false);
    /// let (rises, falls) = (line.posedge().clone(), line.negedge().clone());
    /// sim.clone().process("device", async move {
    ///     line.write(true);
    ///     sim.wait(Time::ns(1)).await;
    ///     line.write(false);
    /// });
    /// simulation.run();
    /// assert_eq!((rises.fired(), falls.fired()), (1, 1));
    /// ```
    pub fn line(sim: &Sim, name: impl Into<Name>, value: bool) -> Signal<bool> {
        let edges = Edges { rises: |&value| value, rising: OnceCell::new(), falling: OnceCell::new() };
        Signal::with_edges(sim, name.into(), value, Some(edges))
    }

    /// Fires after the line has become true; a signal made by [`Signal::new`] has the change event here.
    pub fn posedge(&self) -> &Event {
        match &self.0.edges {
            Some(edges) => self.0.event(&edges.rising, "posedge"),
            None => self.changed(),
        }
    }

    /// Fires after the line has become false; a signal made by [`Signal::new`] has the change event here.
    pub fn negedge(&self) -> &Event {
        match &self.0.edges {
            Some(edges) => self.0.event(&edges.falling, "negedge"),
            None => self.changed(),
        }
    }
}

impl<T: Clone + PartialEq + 'static> Update for SignalState<T> {
    fn update(&self) {
        let Some(next) = self.next.take() else { return };
        if *self.current.borrow() == next {
            return;
        }
        let edge = (self.edges.as_ref())
            .and_then(|edges| if (edges.rises)(&next) { &edges.rising } else { &edges.falling }.get());
        // What was there may come back here when it is dropped.
        drop(self.current.replace(next));
        if let Some(edge) = edge {
            edge.notify_delta();
        }
        if let Some(changed) = self.changed.get() {
            changed.notify_delta();
        }
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
        let changed = a.changed();
        a.write(9);
        a.write(5);
        simulation.run();
        assert_eq!(changed.fired(), 0);
        a.write(9);
        simulation.run();
        assert_eq!(changed.fired(), 1);
    }

    #[test]
    fn a_signal_tells_from_the_first_time_on_that_it_is_asked_for_its_event() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let a = Signal::new(&sim, "a", 5);
        a.write(9);
        simulation.run();
        assert_eq!((a.read(), a.changed().fired()), (9, 0));
        a.write(5);
        simulation.run();
        assert_eq!(a.changed().fired(), 1);
        assert_eq!(a.changed().name(), "a.changed");
    }

    #[test]
    fn a_line_tells_its_edges() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let line = Signal::line(&sim, "irq", false);
        let (rising, falling, changed) = (line.posedge(), line.negedge(), line.changed());
        let driver = line.clone();
        let clock = sim.clone();
        sim.process("driver", async move {
            for level in [true, false, true] {
                driver.write(level);
                clock.wait(Time::ns(1)).await;
            }
        });
        simulation.run();
        assert_eq!((rising.fired(), falling.fired(), changed.fired()), (2, 1, 3));
    }
}
