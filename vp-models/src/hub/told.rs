//! What a log of register accesses has to know besides what the bus reports: who asked, and what was loaded into memories.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::{Hub, PartyId};

/// Who has asked for register accesses that the bus has not reported, in the order in which it will.
#[derive(Debug, Clone, Default)]
pub struct Askers(Rc<RefCell<VecDeque<String>>>);

impl Askers {
    /// Whose access is reported next: to be called once for each report, by whoever looks on at the register bus. `None`: the access
    /// was under way before anybody wanted to know.
    pub fn next(&self) -> Option<String> {
        self.0.borrow_mut().pop_front()
    }

    pub(super) fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}

/// Is told of bytes that were loaded: into which memory, from which address on.
pub type LoadListener = Box<dyn Fn(&str, u64, &[u8])>;

impl Hub {
    /// Notes from now on who asks for register accesses.
    pub fn askers(&mut self) -> Askers {
        self.askers.get_or_insert_default().clone()
    }

    /// Tells this from now on what parties write into memories inside the platform beside the bus.
    pub fn on_load(&mut self, told: LoadListener) {
        self.load_listener = Some(told);
    }

    /// A request goes to the register bus.
    pub(super) fn note_asker(&self, party: PartyId) {
        if let Some(askers) = &self.askers {
            askers.0.borrow_mut().push_back(self.parties.name(party));
        }
    }

    /// An access is reported before all that is under way.
    pub(super) fn note_asker_beside(&self, party: PartyId) {
        if let Some(askers) = &self.askers {
            askers.0.borrow_mut().push_front(format!("{}, beside the bus", self.parties.name(party)));
        }
    }
}
