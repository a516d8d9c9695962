//! Outcomes at the platform's ports during a run.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use vp_core::{Sim, Time};
use vp_models::bus::register::RegisterError;

/// Outcome at the platform's ports during a run; outcomes are kept in order.
pub(super) enum PortOutcome {
    Level {
        level: bool,
        time: Time,
    },
    Answer {
        bus_tag: u64,
        result: Result<u32, RegisterError>,
        time: Time,
    },
    /// An answer will be on the bus at that edge.
    AnswerDriven {
        bus_tag: u64,
        result: Result<u32, RegisterError>,
        at: Time,
    },
    /// The moment of a partner's fault, by its number, has come.
    Fault {
        number: usize,
    },
}

/// Outcomes that the hub has not looked at. Each ends the run.
#[derive(Default)]
pub(super) struct PortOutcomes {
    waiting: Rc<RefCell<VecDeque<PortOutcome>>>,
    stops: Rc<Cell<u64>>,
}

impl PortOutcomes {
    /// Takes what happens at a port, and ends the run.
    pub(super) fn sink(&self, sim: Sim) -> impl Fn(PortOutcome) + use<> {
        let (waiting, stops) = (self.waiting.clone(), self.stops.clone());
        move |outcome| {
            waiting.borrow_mut().push_back(outcome);
            stops.set(stops.get() + 1);
            sim.stop();
        }
    }

    pub(super) fn next(&self) -> Option<PortOutcome> {
        self.waiting.borrow_mut().pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    pub(super) fn clear(&self) {
        self.waiting.borrow_mut().clear();
    }

    /// Number of times that something at a port has ended a run.
    pub(super) fn stops(&self) -> u64 {
        self.stops.get()
    }
}
