//! Watching what is driven at the ports that partners hold.

use vp_core::Time;
use vp_types::{PartyId, PortId, Role};

use super::PortEvent;
use crate::Hub;

/// Something that is driven at a port between the platform and a partner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinEvent {
    /// The port.
    pub port: PortId,
    /// Role of the partner at the port.
    pub role: Role,
    /// The edge at which the other side sees it for the first time.
    pub at: Time,
    /// The driven event. Which side drives it follows from the role.
    pub event: PortEvent,
}

/// Called for each event.
pub(super) type PinWatcher = Box<dyn FnMut(PinEvent)>;

impl Hub {
    /// Reports from now on what is driven at ports that partners hold: events of the platform when it drives
    /// them, and those of a partner when they take effect. Events of one channel and direction come in the
    /// order of their edges.
    pub fn on_driven(&mut self, told: impl FnMut(PinEvent) + 'static) {
        self.partners.watch(Box::new(told));
    }

    pub(super) fn watch_pins(&mut self, party: PartyId, port: PortId, at: Time, event: &PortEvent) {
        self.partners.tell_watcher(|| {
            let role = self.holdings.of(party, port)?.role;
            Some(PinEvent { port, role, at, event: event.clone() })
        });
    }
}
