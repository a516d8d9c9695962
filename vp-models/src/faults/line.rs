//! Faults at the interrupt line: between what the device drives and what is seen.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use vp_core::{Event, Signal, Sim, Time};

use super::{Armed, FaultKind, Faults};

/// The line, and what keeps it from following the device.
pub(crate) struct FaultyLine {
    faults: Rc<Faults>,
    period: Time,
    shown: Signal<bool>,
    driven: Cell<bool>,
    /// A rise was lost, or is late: what is seen is low.
    is_hidden: Cell<bool>,
    /// The rise that is not seen will be.
    is_late: Cell<bool>,
    /// True if the line is high whatever is driven.
    is_spurious: Cell<bool>,
    /// Fires when what was late is seen.
    late: Event,
    /// Event at which a spurious interrupt begins.
    begin: Event,
    /// Event at which a spurious interrupt ends.
    end: Event,
    next_cycles: Cell<u64>,
    /// Faults that strike a rise, and a fall.
    rises: RefCell<Vec<Rc<Armed>>>,
    falls: RefCell<Vec<Rc<Armed>>>,
}

impl FaultyLine {
    /// A line that follows the device until faults are armed.
    pub(crate) fn new(sim: &Sim, period: Time, shown: Signal<bool>, faults: &Rc<Faults>) -> Rc<FaultyLine> {
        let line = Rc::new(FaultyLine {
            faults: faults.clone(),
            period,
            driven: Cell::new(shown.read()),
            shown,
            is_hidden: Cell::new(false),
            is_late: Cell::new(false),
            is_spurious: Cell::new(false),
            late: sim.event("faults.late_interrupt"),
            begin: sim.event("faults.spurious_interrupt"),
            end: sim.event("faults.spurious_interrupt_over"),
            next_cycles: Cell::new(0),
            rises: RefCell::default(),
            falls: RefCell::default(),
        });
        line.on(sim, &line.late, |line| line.is_hidden.set(false));
        line.on(sim, &line.begin, |line| {
            line.is_spurious.set(true);
            line.end.cancel();
            line.end.notify_after(line.period * line.next_cycles.get());
        });
        line.on(sim, &line.end, |line| line.is_spurious.set(false));
        line
    }

    /// Takes the faults that are armed by now.
    pub(crate) fn look(&self) {
        let is_rise =
            |kind: &FaultKind| matches!(kind, FaultKind::LostInterrupt | FaultKind::DelayedInterrupt { .. });
        *self.rises.borrow_mut() = self.faults.of(is_rise);
        *self.falls.borrow_mut() = self.faults.of(|kind| matches!(kind, FaultKind::SpuriousInterrupt { .. }));
    }

    fn on(self: &Rc<Self>, sim: &Sim, event: &Event, then: impl Fn(&Self) + 'static) {
        let line: Weak<Self> = Rc::downgrade(self);
        sim.method("faults.line").sensitive(event).dont_initialize().run(move |_| {
            if let Some(line) = line.upgrade() {
                then(&line);
                line.show();
            }
        });
    }

    /// The device drives its line.
    pub(crate) fn drive(&self, level: bool) {
        match (self.driven.replace(level), level) {
            (false, true) => self.rise(),
            (true, false) => self.fall(),
            _ => {}
        }
        self.show();
    }

    /// The level that the device drives.
    pub(crate) fn driven(&self) -> bool {
        self.driven.get()
    }

    /// Returns what keeps the line from following the device now, for people.
    pub(crate) fn effect(&self) -> Option<&'static str> {
        match (self.driven.get(), self.is_spurious.get(), self.is_hidden.get()) {
            (true, false, true) if self.is_late.get() => Some("a fault delays the interrupt"),
            (true, false, true) => Some("a fault took the interrupt"),
            (false, true, _) => Some("a fault holds the line high"),
            _ => None,
        }
    }

    /// The line is high by itself, from now on.
    pub(crate) fn raise(&self, armed: &Armed) {
        let FaultKind::SpuriousInterrupt { cycles } = *armed.kind() else { return };
        self.faults.strike(armed, format_args!("the line is high for {cycles} cycles"));
        self.next_cycles.set(cycles);
        self.begin.notify_delta();
    }

    fn rise(&self) {
        for armed in self.rises.borrow().iter().filter(|armed| self.faults.strikes(armed)) {
            self.is_hidden.set(true);
            self.is_late.set(matches!(armed.kind(), FaultKind::DelayedInterrupt { .. }));
            match *armed.kind() {
                FaultKind::DelayedInterrupt { cycles } => {
                    self.faults.strike(armed, format_args!("the line rises {cycles} cycles later"));
                    self.late.notify_after(self.period * cycles);
                }
                _ => {
                    let what = "the line stays low until the device has driven it low and raises it again";
                    self.faults.strike(armed, what);
                    self.late.cancel();
                    return;
                }
            }
        }
    }

    fn fall(&self) {
        self.is_hidden.set(false);
        self.late.cancel();
        for armed in &*self.falls.borrow() {
            let FaultKind::SpuriousInterrupt { cycles } = *armed.kind() else { continue };
            // One that strikes at a moment has a process for that.
            if armed.moment().is_none() && self.faults.strikes(armed) {
                self.faults.strike(armed, format_args!("the line rises once more, for {cycles} cycles"));
                self.next_cycles.set(cycles);
                // It was seen to fall.
                self.begin.notify_after(self.period);
            }
        }
    }

    fn show(&self) {
        let level = self.is_spurious.get() || self.driven.get() && !self.is_hidden.get();
        self.shown.write(level);
    }
}
