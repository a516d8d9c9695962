//! Events that partners drive at the platform's ports, and that the ports drive for them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use vp_core::{Sim, Time};

use super::event_table::PortSide;
use super::{Broken, Partner, PortEvent};
use crate::Hub;
use crate::output::{Failure, FailureKind};
use crate::ports::Holding;
use vp_models::bus::axi::{AxiEvent, AxiSink, ManagerPins, SubordinatePins};
use vp_models::bus::register::{RegisterAccess, RegisterRequest};
use vp_models::platform::PortKind;
use vp_types::{PartyId, PortId, Role};

/// Events that ports have driven for partners during a run.
#[derive(Default)]
pub(super) struct DrivenEvents {
    pub(super) events: RefCell<Vec<(PartyId, PortId, Time, PortEvent)>>,
    /// True during a run, which has to end when something is driven: that limits how far time may move.
    pub(super) is_running: Cell<bool>,
}

impl DrivenEvents {
    /// Takes what a port drives for a partner.
    pub(super) fn sink(
        self: &Rc<Self>,
        sim: &Sim,
        party: PartyId,
        port: PortId,
    ) -> impl Fn(Time, PortEvent) + use<> {
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
    fn axi_sink(&self, party: PartyId, port: PortId) -> AxiSink {
        let sink = self.partners.sink(&self.platform.sim(), party, port);
        Box::new(move |at, event: AxiEvent| sink(at, PortEvent::Axi(event)))
    }

    /// Refuses a partner that cannot have a port beside others.
    pub(crate) fn check_partner(&self, holding: &Holding) -> Result<(), Failure> {
        let Holding { party, port, role, .. } = *holding;
        self.check_reaction(party, port)?;
        if let Some(other) =
            self.holdings.iter().find(|held| held.is_timed && held.port == port && held.role == role)
        {
            let (name, holder) = (self.port(port)?.name, self.parties.name(other.party));
            let reason = format!("{name} has a partner as {}: {holder}", role.name());
            return Err(Failure::new(FailureKind::PortBusy, reason));
        }
        if role == Role::Initiator
            && let Some(memory) = self.memory(port)
        {
            let config = memory.interconnect().config();
            if config.read_latency.least() == 0 || config.write_latency.least() == 0 {
                let reason = format!(
                    "{} answers at the edge of the address: a master outside needs a latency of 1 at least",
                    memory.name()
                );
                return Err(Failure::new(FailureKind::Unsupported, reason));
            }
        }
        Ok(())
    }

    /// Connects a partner's end of a port.
    pub(crate) fn connect_partner(&self, holding: &Holding) {
        let Holding { party, port, role, .. } = *holding;
        let Some(kind) = self.ports.get(usize::from(port.0)).map(|port| port.kind) else { return };
        match (kind, role) {
            (PortKind::Axi, Role::Target) => {
                if let Some(memory) = self.memory(port) {
                    let pins = ManagerPins::new(memory.interconnect().config(), self.axi_sink(party, port));
                    memory.interconnect().attach_memory(Ok(Rc::new(pins)));
                }
            }
            (PortKind::Axi, Role::Initiator) => {
                if let Some(memory) = self.memory(port) {
                    let sink = self.axi_sink(party, port);
                    let pins = SubordinatePins::new(
                        memory.interconnect().config(),
                        self.partners.quantum(party),
                        sink,
                    );
                    let name = format!("{}.outside", memory.name());
                    memory.interconnect().attach_master(&name, Rc::new(pins));
                }
            }
            (PortKind::Registers, Role::Target) => {
                if let Some(registers) = self.platform.outside_registers() {
                    let sink = self.partners.sink(&self.platform.sim(), party, port);
                    registers.attach(Box::new(move |at, request| sink(at, register(request))));
                }
            }
            (PortKind::Registers, Role::Initiator) => {
                let sink = self.partners.sink(&self.platform.sim(), party, port);
                let told = move |at, ready| sink(at, PortEvent::RegisterReady(ready));
                self.platform.registers().on_ready(Box::new(told));
                self.listen_to_answers();
            }
            _ => {}
        }
    }

    /// Disconnects a partner's end of a port; says how many bursts it owed.
    pub(crate) fn disconnect_partner(&mut self, port: PortId, role: Role, why: &str) -> usize {
        match self.ports.get(usize::from(port.0)).map(|port| port.kind) {
            Some(PortKind::Registers) if role == Role::Target => {
                if let Some(registers) = self.platform.outside_registers() {
                    registers.detach(why);
                }
            }
            Some(PortKind::Registers) => {
                self.platform.registers().on_ready(Box::new(|_, _| {}));
                self.platform.registers().on_answer(None);
                self.bus.clear_driven();
            }
            // As a device in reset has it.
            Some(PortKind::Irq) if role == Role::Source => self.platform.irq().drive(false),
            _ => {}
        }
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
    pub(crate) fn apply_event(
        &mut self,
        party: PartyId,
        port: PortId,
        event: PortEvent,
    ) -> Result<(), Broken> {
        let here = self.driven_side(party, port);
        let driver = event.driver();
        let (name, PortSide { role, .. }) = match here {
            Some(here) if driver.is_none_or(|driver| driver == here) => (event.name(), here),
            here => return Err(Broken::Side { event: event.name(), driver, here }),
        };
        match event {
            PortEvent::Axi(event) => {
                let absent = Broken::Side { event: name, driver, here: None };
                let interconnect = self.memory(port).ok_or(absent)?.interconnect();
                match role {
                    Role::Target => interconnect.drive_from_memory(event),
                    _ => interconnect.drive_from_master(event),
                }
                .map_err(|violation| Broken::Pins(violation.to_string()))
            }
            PortEvent::Level(level) => {
                self.platform.irq().drive(level);
                Ok(())
            }
            PortEvent::Register { address, write, posted } => {
                let access = match write {
                    None => RegisterAccess::Read,
                    Some(value) => RegisterAccess::Write { value, posted },
                };
                self.drive_access(party, port, address, access)
            }
            PortEvent::RegisterReady(ready) => {
                if let Some(registers) = self.platform.outside_registers() {
                    registers.set_ready(ready);
                }
                Ok(())
            }
            PortEvent::RegisterAnswer(value) => match self.platform.outside_registers() {
                Some(registers) => registers.answer(value).map_err(|rule| Broken::Pins(rule.to_owned())),
                None => Ok(()),
            },
            PortEvent::Reset => self.follow_reset(party, port),
        }
    }

    /// The side of a port at which a party drives pins. A port that the party attached before it had a clock is accessed by
    /// requests, which need rights of their own: to drive it would go past them.
    fn driven_side(&self, party: PartyId, port: PortId) -> Option<PortSide> {
        let role = self.holdings.of(party, port).filter(|held| held.is_timed)?.role;
        let kind = self.ports.get(usize::from(port.0))?.kind;
        Some(PortSide { kind, role })
    }

    /// A partner that is the CPU drives an access to registers.
    fn drive_access(
        &mut self,
        party: PartyId,
        port: PortId,
        address: u32,
        access: RegisterAccess,
    ) -> Result<(), Broken> {
        let size = self.port(port).map_or(0, |port| port.size);
        if !address.is_multiple_of(4) || u64::from(address) >= size {
            let rule = format!("an access to 0x{address:x}: registers are words below 0x{size:x}");
            return Err(Broken::Pins(rule));
        }
        let most = self.partners.get(party).map_or(0, Partner::most_ahead);
        if self.platform.registers().backlog() >= most {
            return Err(Broken::Many { most });
        }
        let tag = self.bus.next_tag();
        if access.is_answered() {
            self.bus.push_driven(tag, party, port);
        }
        self.note_asker(party, access);
        self.platform.registers().send(RegisterRequest { address, access, tag });
        Ok(())
    }
}

/// An access as it is driven.
fn register(request: RegisterRequest) -> PortEvent {
    let RegisterRequest { address, access, .. } = request;
    let (write, posted) = match access {
        RegisterAccess::Read => (None, false),
        RegisterAccess::Write { value, posted } => (Some(value), posted),
    };
    PortEvent::Register { address, write, posted }
}
