//! Information for a log of register accesses that the bus does not report: who made them, and what was loaded
//! into memories.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::Hub;
use vp_models::bus::register::RegisterAccess;
use vp_types::PartyId;

/// The party that has made a register access, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessOrigin {
    /// Name of the party in messages to people.
    pub name: String,
    /// True if the access is a write without an answer.
    pub is_posted: bool,
}

/// The makers of register accesses that the bus has not reported, in the order in which it will.
#[derive(Debug, Clone, Default)]
pub struct AccessOrigins(Rc<RefCell<VecDeque<AccessOrigin>>>);

impl AccessOrigins {
    /// The maker of the access that is reported next: to be called once for each report, by the observer of the
    /// register bus. `None`: the access was under way before the log began.
    pub fn next(&self) -> Option<AccessOrigin> {
        self.0.borrow_mut().pop_front()
    }
}

/// Called with bytes that were loaded: into which memory, from which address on.
pub type LoadListener = Box<dyn Fn(&str, u64, &[u8])>;

/// Listeners for a log of register accesses, if there is one.
#[derive(Default)]
pub(super) struct AccessLog {
    origins: Option<AccessOrigins>,
    on_load: Option<LoadListener>,
}

impl AccessLog {
    /// Forgets the accesses that are under way, at a reset.
    pub(super) fn clear(&self) {
        if let Some(origins) = &self.origins {
            origins.0.borrow_mut().clear();
        }
    }

    /// Tells that bytes were loaded into a memory.
    pub(super) fn loaded(&self, memory: &str, address: u64, bytes: &[u8]) {
        if let Some(told) = &self.on_load {
            told(memory, address, bytes);
        }
    }
}

impl Hub {
    /// Notes from now on who makes register accesses.
    pub fn askers(&mut self) -> AccessOrigins {
        self.log.origins.get_or_insert_default().clone()
    }

    /// Calls this from now on with what parties write into memories inside the platform without the bus.
    pub fn on_load(&mut self, told: LoadListener) {
        self.log.on_load = Some(told);
    }

    /// A request goes to the register bus.
    pub(super) fn note_asker(&self, party: PartyId, access: RegisterAccess) {
        if let Some(origins) = &self.log.origins {
            let (name, is_posted) = (self.parties.name(party), !access.is_answered());
            origins.0.borrow_mut().push_back(AccessOrigin { name, is_posted });
        }
    }

    /// An access is reported before all that is under way.
    pub(super) fn note_asker_beside(&self, party: PartyId) {
        if let Some(origins) = &self.log.origins {
            let name = format!("{}, beside the bus", self.parties.name(party));
            origins.0.borrow_mut().push_front(AccessOrigin { name, is_posted: false });
        }
    }
}
