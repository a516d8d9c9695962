//! Faults that are injected on purpose: what goes wrong at a platform's buses, lines, memories and registers, and outside of it.
//!
//! A platform has them from a TOML text ([`Platform::arm`](crate::platform::Platform::arm)), which a hub takes as one of its
//! inputs. Models know nothing of them but a hook in each place that they could strike: the memory behind an interface
//! and its channels, the interrupt line, the register bus. With none armed, a hook is the test of a flag.
//!
//! Each fault has a number, from 1 on in the order in which they are armed, counts what it may strike, and draws from a sequence
//! of its own: the same inputs give the same run. A fault that strikes is reported to observers, by a source that is
//! announced when the first is armed.

mod burst;
mod description;
mod fault;
mod line;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use vp_core::observe::{Kinds, Source, SourceKind, Warning, What};
use vp_core::{Sim, Time};

use crate::counters::Statistics;
pub(crate) use burst::BurstFaults;
pub(crate) use description::{Surroundings, parse};
pub use fault::PartnerFault;
use fault::Trigger;
pub(crate) use fault::{Fault, FaultKind};
pub(crate) use line::FaultyLine;

/// Faults of one platform, at most.
pub const MOST_FAULTS: usize = 256;

/// Bytes of a text of faults, at most.
pub const MOST_FAULTS_TEXT: usize = 64 << 10;

/// Registers that can be made to hold something else.
pub trait FlippableRegisters {
    /// Inverts the bits of `mask` where the register at this byte address is stored; `group` chooses among the copies of one that has
    /// several.
    fn flip(&self, address: u32, group: usize, mask: u32);
}

/// A fault that is armed, and what it has done.
pub struct Armed {
    number: usize,
    fault: Fault,
    trigger: RefCell<Trigger>,
    struck: Cell<u64>,
    /// Time at which it struck first and what it struck then, and the time at which it struck last.
    first: RefCell<Option<(Time, String)>>,
    last: Cell<Time>,
    /// Reason for which it could not strike, where that is known.
    missed: RefCell<Option<String>>,
}

impl Armed {
    /// Number of the fault, from 1 on.
    pub fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn kind(&self) -> &FaultKind {
        &self.fault.kind
    }

    /// The port, and what goes wrong with who holds it, if it is a fault of a partner.
    pub fn of_partner(&self) -> Option<(&'static str, PartnerFault)> {
        self.kind().of_partner()
    }

    /// The moment at which it strikes by itself, if that is to come.
    pub fn moment(&self) -> Option<Time> {
        self.trigger.borrow().moment().filter(|_| self.kind().is_of_a_moment())
    }

    /// `error at dbb0: SLVERR; once: struck at 1.2 µs (read of 64 bytes at 0x80000000)`
    fn report(&self) -> String {
        let Armed { fault, struck, last, .. } = self;
        let did = match (struck.get(), &*self.first.borrow(), &*self.missed.borrow()) {
            (1, Some((time, what)), _) => format!("struck at {time}: {what}"),
            (count, Some((time, what)), _) => {
                format!("struck {count} times, from {time} to {}; first: {what}", last.get())
            }
            (_, None, Some(why)) => format!("never struck: {why}"),
            (_, None, None) => "never struck".to_owned(),
        };
        format!("{fault}: {did}")
    }
}

/// The faults of one platform.
pub struct Faults {
    sim: Sim,
    source: Cell<Option<Source>>,
    armed: RefCell<Vec<Rc<Armed>>>,
    /// True if there are any of partners.
    has_partners: Cell<bool>,
    /// Listener that is told, by the fault's number, that the moment of a partner's fault has come.
    partner_listener: RefCell<Option<PartnerListener>>,
}

type PartnerListener = Box<dyn Fn(usize)>;

impl Faults {
    pub(crate) fn new(sim: &Sim) -> Faults {
        Faults {
            sim: sim.clone(),
            source: Cell::default(),
            armed: RefCell::default(),
            has_partners: Cell::default(),
            partner_listener: RefCell::default(),
        }
    }

    /// Adds faults behind those that there are.
    pub(crate) fn add(&self, faults: Vec<Fault>) {
        let mut armed = self.armed.borrow_mut();
        for fault in faults {
            let number = armed.len() + 1;
            let trigger = RefCell::new(Trigger::new(&fault, number));
            self.has_partners.set(self.has_partners.get() || fault.kind.of_partner().is_some());
            let (struck, first, last, missed) = Default::default();
            armed.push(Rc::new(Armed { number, fault, trigger, struck, first, last, missed }));
        }
        drop(armed);
        self.announce();
    }

    /// Announces who reports that faults strike, if any can.
    pub(crate) fn announce(&self) {
        if !self.armed.borrow().is_empty() {
            let announced = || self.sim.source("faults", SourceKind::Warnings);
            self.source.set(self.source.get().or_else(|| Some(announced())));
        }
    }

    /// A reset has ended who reports.
    pub(crate) fn restart(&self) {
        self.source.take();
        self.announce();
    }

    /// Returns the number of faults that are armed.
    pub(crate) fn count(&self) -> usize {
        self.armed.borrow().len()
    }

    /// Returns true if any of them strikes a partner.
    pub fn has_partners(&self) -> bool {
        self.has_partners.get()
    }

    /// Says who strikes partners.
    pub fn on_partner(&self, told: PartnerListener) {
        *self.partner_listener.borrow_mut() = Some(told);
    }

    /// The moment of a partner's fault has come.
    pub(crate) fn strike_partner(&self, armed: &Armed) {
        if let Some(told) = &*self.partner_listener.borrow() {
            told(armed.number);
        }
    }

    /// Returns the faults of a kind.
    pub(crate) fn of(&self, is: impl Fn(&FaultKind) -> bool) -> Vec<Rc<Armed>> {
        self.armed.borrow().iter().filter(|armed| is(armed.kind())).cloned().collect()
    }

    /// Returns the faults of partners.
    pub fn of_partners(&self) -> Vec<Rc<Armed>> {
        self.of(|kind| kind.of_partner().is_some())
    }

    /// Counts something that a fault may strike; whether it does.
    pub fn strikes(&self, armed: &Armed) -> bool {
        armed.trigger.borrow_mut().strikes(self.sim.now())
    }

    /// A fault strikes: `what` says where, and what comes of it.
    pub fn strike(&self, armed: &Armed, what: impl fmt::Display) {
        let (now, what) = (self.sim.now(), what.to_string());
        if let Some(source) = self.source.get().filter(|_| self.sim.is_observed(Kinds::WARNINGS)) {
            let cause = format!("fault {}", armed.number);
            let text = format!("{cause}, {}: {what}", armed.kind().name());
            self.sim.report(source, What::Warning(Warning::Repeated { cause: &cause, text: &text }));
        }
        armed.struck.set(armed.struck.get() + 1);
        armed.last.set(now);
        armed.first.borrow_mut().get_or_insert((now, what));
    }

    /// A fault would have struck, and could not.
    pub fn miss(&self, armed: &Armed, why: impl fmt::Display) {
        armed.missed.borrow_mut().get_or_insert_with(|| format!("at {}, {why}", self.sim.now()));
    }

    /// Says of each what it is and what it has done, in the order of their numbers.
    pub fn report(&self) -> Vec<String> {
        self.armed.borrow().iter().map(|armed| armed.report()).collect()
    }

    pub(crate) fn fill(&self, statistics: &mut Statistics) {
        for armed in &*self.armed.borrow() {
            let name = format!("fault.{}", armed.number);
            statistics.count(format!("{name}.struck"), armed.struck.get(), "times");
            statistics.note(name, armed.report());
        }
    }
}
