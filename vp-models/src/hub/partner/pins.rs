//! What partners drive at the platform's ports, and what the ports drive for them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use vp_core::{Sim, Time};

use super::{Broken, PortEvent};
use crate::bus::axi::{AxiEvent, AxiSink, ManagerPins, SubordinatePins};
use crate::hub::Hub;
use crate::hub::input::{PartyId, PortIndex, Role};
use crate::hub::output::Failure;
use crate::hub::ports::Holding;
use crate::platform::PortKind;

/// What ports have driven for partners during a run.
#[derive(Default)]
pub(in crate::hub) struct DrivenEvents {
    pub(in crate::hub) events: RefCell<Vec<(PartyId, PortIndex, Time, PortEvent)>>,
    /// Whether the present run has to end: what is driven limits how far time may move.
    pub(in crate::hub) is_running: Cell<bool>,
}

impl DrivenEvents {
    /// Takes what a port drives for a partner.
    fn sink(self: &Rc<Self>, sim: &Sim, party: PartyId, port: PortIndex) -> impl Fn(Time, PortEvent) + use<> {
        let (driven, sim) = (self.clone(), sim.clone());
        move |at, event| {
            driven.events.borrow_mut().push((party, port, at, event));
            if driven.is_running.get() {
                sim.stop();
            }
        }
    }
}

impl Hub {
    fn axi_sink(&self, party: PartyId, port: PortIndex) -> AxiSink {
        let sink = self.driven.sink(&self.platform.sim(), party, port);
        Box::new(move |at, event: AxiEvent| sink(at, PortEvent::Axi(event)))
    }

    /// Connects a partner's end of a port.
    pub(in crate::hub) fn connect_partner(&self, holding: &Holding) -> Result<(), Failure> {
        let Holding { party, port, role, .. } = *holding;
        self.check_reaction(party, port)?;
        let kind = self.port(port)?.kind;
        match (kind, role) {
            (PortKind::Axi, Role::Target) => {
                if let Some(memory) = self.memory(port) {
                    let pins = ManagerPins::new(memory.interconnect().config(), self.axi_sink(party, port));
                    memory.interconnect().attach_memory(Ok(Rc::new(pins)));
                }
            }
            (PortKind::Axi, Role::Initiator) => {
                if let Some(memory) = self.memory(port) {
                    let pins =
                        SubordinatePins::new(memory.interconnect().config(), self.axi_sink(party, port));
                    let name = format!("{}.outside", memory.name());
                    memory.interconnect().attach_master(&name, Rc::new(pins));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Disconnects a partner's end of a port; says how many bursts it owed.
    pub(in crate::hub) fn disconnect_partner(&self, port: PortIndex, role: Role, why: &str) -> usize {
        let Some(memory) = self.memory(port) else { return 0 };
        let interconnect = memory.interconnect();
        match role {
            Role::Target => {
                let owed = interconnect.owed_by_memory();
                interconnect.attach_memory(Err(why));
                owed
            }
            _ => {
                interconnect.detach_master();
                0
            }
        }
    }

    /// Lets something take effect that a partner has driven.
    pub(in crate::hub) fn apply_event(
        &mut self,
        party: PartyId,
        port: PortIndex,
        event: PortEvent,
    ) -> Result<(), Broken> {
        let held = self.holdings.iter().find(|held| held.party == party && held.port == port);
        let role = held.map(|held| held.role);
        let wrong = |what: &str| Err(Broken::Pins(format!("{what} is not driven by who holds the port so")));
        match (event, role) {
            (PortEvent::Axi(event), Some(role @ (Role::Target | Role::Initiator))) => {
                let Some(memory) = self.memory(port) else { return wrong("an AXI channel") };
                let interconnect = memory.interconnect();
                match role {
                    Role::Target => interconnect.drive_from_memory(event),
                    _ => interconnect.drive_from_master(event),
                }
                .map_err(|violation| Broken::Pins(violation.to_string()))
            }
            (PortEvent::Level(level), Some(Role::Source)) => {
                self.platform.irq().drive(level);
                Ok(())
            }
            (PortEvent::Axi(_), _) => wrong("an AXI channel"),
            (PortEvent::Level(_), _) => wrong("an interrupt line"),
            (PortEvent::Register { .. }, _) => wrong("an access to registers"),
            (PortEvent::RegisterReady(_) | PortEvent::RegisterAnswer(_), _) => {
                wrong("the answer of registers")
            }
        }
    }
}
