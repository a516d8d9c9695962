//! The observer that detects a hit breakpoint or the end of a step.

use std::cell::{Cell, RefCell};

use vp_core::observe::{Kinds, Observation, Observer, Source, SourceInfo, Stage, Transfer, What};
use vp_core::{Name, Sim};

use super::{BreakOn, MOST_HITS, MOST_LABEL, MOST_UNIT, SetBreakpoint};
use vp_models::platform::Port;
use vp_types::{DebugEvent, Hit, StepBy};

/// An observer that ends a run at the events that it watches for.
pub(super) struct Watcher {
    sim: Sim,
    /// True if the hub lets time move: accesses of a debugger itself, while time is stopped, are ignored.
    is_running: Cell<bool>,
    /// The names of ports, by their numbers.
    ports: Vec<&'static str>,
    sources: RefCell<Vec<Name>>,
    /// The kinds of observations that it wants.
    kinds: Cell<Kinds>,
    pub(super) breakpoints: RefCell<Vec<Watched>>,
    /// The step under way by what is observed, and how many are left.
    pub(super) step: Cell<Option<(StepBy, u32)>>,
    /// Events that have happened and end the run.
    hits: RefCell<Vec<Hit>>,
    has_stopped: Cell<bool>,
}

/// A breakpoint, and how often it is passed over yet.
pub(super) struct Watched {
    pub(super) set: SetBreakpoint,
    pub(super) skip: u32,
}

impl Watched {
    /// Notes that the event has happened, and returns true if that stops time.
    pub(super) fn happens(&mut self) -> bool {
        let stops = self.skip == 0;
        match stops {
            true => self.set.hits = self.set.hits.saturating_add(1),
            false => self.skip -= 1,
        }
        stops
    }
}

impl Watcher {
    pub(super) fn new(sim: Sim, ports: &[Port]) -> Watcher {
        Watcher {
            sim,
            is_running: Cell::default(),
            ports: ports.iter().map(|port| port.name).collect(),
            sources: RefCell::default(),
            kinds: Cell::new(Kinds::NONE),
            breakpoints: RefCell::default(),
            step: Cell::default(),
            hits: RefCell::default(),
            has_stopped: Cell::default(),
        }
    }

    /// The kinds to observe for breakpoints and a step; returned when they have changed.
    pub(super) fn review(&self) -> Option<Kinds> {
        let of_breakpoint = |watched: &Watched| match watched.set.breakpoint.on {
            BreakOn::Register { .. } => Kinds::REGISTERS,
            BreakOn::Interrupt => Kinds::LEVELS,
            BreakOn::Layer { .. } => Kinds::WORK,
            BreakOn::Memory { .. } => Kinds::TRANSFERS | Kinds::PROMPT,
            BreakOn::Time(_) => Kinds::NONE,
        };
        let of_step = match self.step.get() {
            Some((StepBy::Layer, _)) => Kinds::WORK,
            Some((StepBy::Access, _)) => Kinds::REGISTERS,
            _ => Kinds::NONE,
        };
        let breakpoints = self.breakpoints.borrow();
        let kinds = breakpoints.iter().map(of_breakpoint).fold(of_step, |all, kinds| all | kinds);
        (self.kinds.replace(kinds) != kinds).then_some(kinds)
    }

    /// The hub lets time move, or does not any more.
    pub(super) fn set_running(&self, is_running: bool) {
        self.is_running.set(is_running);
    }

    /// Takes what has ended the run, if anything has.
    pub(super) fn take_hits(&self) -> Option<Vec<Hit>> {
        self.has_stopped.take().then(|| self.hits.take())
    }

    fn hit(&self, breakpoint: Option<u32>, observation: &Observation<'_>, seen: DebugEvent) {
        let mut hits = self.hits.borrow_mut();
        if hits.len() < MOST_HITS {
            hits.push(Hit { breakpoint, time: observation.time, seen });
        }
        if !self.has_stopped.replace(true) {
            self.sim.stop();
        }
    }

    /// Returns what has happened, in a debugger's words, if it is anything for one.
    fn seen(&self, observation: &Observation<'_>) -> Option<DebugEvent> {
        let name = || self.sources.borrow().get(observation.source.index()).cloned();
        match observation.what {
            What::Register { write, address, value } => {
                Some(DebugEvent::Register { write, address: address.into(), value })
            }
            What::Level(1) if &*name()? == "irq0" => Some(DebugEvent::Interrupt),
            What::Begin { label, id } | What::End { label, id } => {
                let end = matches!(observation.what, What::End { .. });
                let name = name()?;
                let unit = cut(name.rsplit('.').next().unwrap_or_default(), MOST_UNIT);
                Some(DebugEvent::Layer { end, unit, number: id, label: cut(label, MOST_LABEL) })
            }
            What::Transfer(Transfer { stage, write, id, address, bytes, .. }) => {
                let is_meant = stage == if write { Stage::Response } else { Stage::Request };
                let name = name()?;
                let port = self.ports.iter().position(|port| *port == &*name).filter(|_| is_meant)?;
                let port = crate::PortId(port as u16);
                Some(DebugEvent::Burst { port, write, id, address, bytes })
            }
            _ => None,
        }
    }
}

impl Observer for Watcher {
    fn wants(&self) -> Kinds {
        self.kinds.get()
    }

    fn announced(&self, source: Source, info: &SourceInfo) {
        let mut sources = self.sources.borrow_mut();
        if source.index() == sources.len() {
            sources.push(info.name.clone());
        }
    }

    fn observe(&self, observation: &Observation<'_>) {
        let Some(seen) = self.seen(observation).filter(|_| self.is_running.get()) else { return };
        let steps = match (&seen, self.step.get()) {
            (DebugEvent::Layer { end: true, .. }, Some((by @ StepBy::Layer, left)))
            | (DebugEvent::Register { .. }, Some((by @ StepBy::Access, left))) => Some((by, left - 1)),
            _ => None,
        };
        if let Some((by, left)) = steps {
            self.step.set((left > 0).then_some((by, left)));
            if left == 0 {
                self.hit(None, observation, seen.clone());
            }
        }
        for watched in self.breakpoints.borrow_mut().iter_mut() {
            if is_meant(&watched.set.breakpoint.on, &seen) && watched.happens() {
                self.hit(Some(watched.set.number), observation, seen.clone());
            }
        }
    }
}

fn is_meant(on: &BreakOn, seen: &DebugEvent) -> bool {
    match (on, seen) {
        (
            BreakOn::Register { address, access, value },
            DebugEvent::Register { write, address: at, value: word },
        ) => address == at && access.include(*write) && value.is_none_or(|value| value == *word),
        (BreakOn::Interrupt, DebugEvent::Interrupt) => true,
        (BreakOn::Layer { unit, end }, DebugEvent::Layer { end: is_end, unit: of, .. }) => {
            end == is_end && (unit.is_empty() || unit == of)
        }
        (
            BreakOn::Memory { port, range, access },
            DebugEvent::Burst { port: of, write, address, bytes, .. },
        ) => {
            let end = address.saturating_add(u64::from(*bytes));
            port == of && access.include(*write) && *address < range.end && range.start < end
        }
        _ => false,
    }
}

fn cut(text: &str, most: usize) -> String {
    let end = (0..=text.len().min(most)).rev().find(|&end| text.is_char_boundary(end));
    text[..end.unwrap_or(0)].to_owned()
}
