//! The interrupt line: one wire, level high.

use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::faults::FaultyLine;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::observe::{Source, SourceKind, What};
use vp_core::{Event, Signal, Sim, Time};

type Sink = Box<dyn Fn(bool, Time)>;

/// A level interrupt line between one device and its listeners.
///
/// The line follows the last level it was driven to, one delta cycle later; sinks are told of each change.
#[derive(Clone)]
pub struct IrqLine {
    sim: Sim,
    source: Source,
    level: Signal<bool>,
    since: Rc<Cell<Time>>,
    sinks: Rc<RefCell<Vec<Sink>>>,
    /// The fault between the device and the line, if faults are armed.
    faulty: Rc<RefCell<Option<Rc<FaultyLine>>>>,
}

impl IrqLine {
    /// A line, low.
    pub fn new(sim: &Sim, name: &str) -> IrqLine {
        let (level, source) = (Signal::line(sim, name, false), sim.source(name, SourceKind::LINE));
        let since = Rc::new(Cell::new(sim.now()));
        let line =
            IrqLine { sim: sim.clone(), source, level, since, sinks: Rc::default(), faulty: Rc::default() };
        let (level, since, sinks) = (line.level.clone(), line.since.clone(), line.sinks.clone());
        sim.method(format!("{name}.changed")).sensitive(line.level.changed()).dont_initialize().run(
            move |sim| {
                let level = level.read();
                since.set(sim.now());
                sim.report(source, What::Level(u64::from(level)));
                for sink in sinks.borrow().iter() {
                    sink(level, sim.now());
                }
            },
        );
        line
    }

    /// Tells observers of a line that is low from the beginning: one of its name was high before a reset.
    pub(crate) fn tell_low(&self) {
        self.sim.report(self.source, What::Level(0));
    }

    /// Drives the line.
    pub fn drive(&self, level: bool) {
        match &*self.faulty.borrow() {
            None => self.level.write(level),
            Some(faulty) => faulty.drive(level),
        }
    }

    /// Returns the fault between the device and the line; made from the level that is seen if there was none.
    pub(crate) fn faulty(&self, make: impl FnOnce(Signal<bool>) -> Rc<FaultyLine>) -> Rc<FaultyLine> {
        self.faulty.borrow_mut().get_or_insert_with(|| make(self.level.clone())).clone()
    }

    /// The level now.
    pub fn level(&self) -> bool {
        self.level.read()
    }

    /// The level that the device drives: that of the line, unless a fault is between.
    pub fn driven(&self) -> bool {
        self.faulty.borrow().as_ref().map_or_else(|| self.level(), |faulty| faulty.driven())
    }

    /// Returns the effect of a fault on the line now, for people.
    pub fn fault(&self) -> Option<&'static str> {
        self.faulty.borrow().as_ref()?.effect()
    }

    /// Returns the time at which the line came to this level.
    pub fn since(&self) -> Time {
        self.since.get()
    }

    /// Sets the time since which the line has been at its level: a platform that goes on from a saved one brings it there anew.
    pub(crate) fn set_since(&self, since: Time) {
        self.since.set(since);
    }

    /// Fires when the line has gone high.
    pub fn raised(&self) -> &Event {
        self.level.posedge()
    }

    /// Fires on each change.
    pub fn changed(&self) -> &Event {
        self.level.changed()
    }

    /// Adds a listener, which is told the new level and when it came.
    pub fn connect(&self, sink: impl Fn(bool, Time) + 'static) {
        self.sinks.borrow_mut().push(Box::new(sink));
    }
}

impl IrqLine {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // The device drives the level.
        let IrqLine { sim: _, source: _, level: _, since, sinks: _, faulty: _ } = self;
        at.cell(since)
    }
}
