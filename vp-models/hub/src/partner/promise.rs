//! Limits of simulated time with partners, and the promises that they are given.

use vp_core::Time;

use super::{Broken, Clock, MOST_QUANTUM, Partner, PortEvent, Promise, later};
use crate::output::{Failure, FailureKind, Output, Severity};
use crate::ports::Holding;
use crate::{Hub, TimeMode};
use vp_models::platform::{Port, PortKind};
use vp_types::{PartyId, PortId, Role};

/// Most edges promised at a time, however long no other party acts: a party that joins meanwhile, or resets the
/// platform, is seen after them.
const EDGES_BEFORE_NEWCOMERS: u64 = 1_024;

/// Reason for which a run ends beside partners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Something that a partner drives takes effect then.
    Event(Time),
    /// A partner may drive something then.
    Horizon(Time),
}

impl Hub {
    /// A party has a clock.
    pub(crate) fn set_clock(&mut self, party: PartyId, clock: Clock) -> Result<(), Failure> {
        let (now, period) = (self.now(), self.platform.description().period);
        // Memory that it accesses by requests is not driven edge by edge, with or without a clock.
        let is_untimed =
            |holding: &Holding| holding.role == Role::Initiator && self.memory(holding.port).is_some();
        if self.holdings.iter().any(|holding| holding.party == party && !is_untimed(holding)) {
            let reason = "a clock is declared before a port is attached that is driven edge by edge";
            return Err(Failure::new(FailureKind::WrongRole, reason));
        }
        if clock.quantum > MOST_QUANTUM {
            let reason = format!("a quantum of {} edges: at most {MOST_QUANTUM}", clock.quantum);
            return Err(Failure::new(FailureKind::Unsupported, reason));
        }
        if self.is_partner(party) {
            return Err(Failure::new(FailureKind::WrongRole, "a clock is declared once"));
        }
        self.partners.insert(party, Partner::new(clock, period, now));
        Ok(())
    }

    pub(crate) fn is_partner(&self, party: PartyId) -> bool {
        self.partners.get(party).is_some()
    }

    /// A partner drives something; tells whether nothing follows from it but at its edge.
    pub(crate) fn take_driven(
        &mut self,
        party: PartyId,
        (port, at): (PortId, Time),
        event: PortEvent,
    ) -> bool {
        let at_once = is_line(&self.ports, port);
        let ends_standstill = event == PortEvent::Reset && self.time.standstill().is_some();
        let Some(partner) = self.partners.get_mut(party) else { return true };
        if let Err(broken) = partner.drive(at, port, event, at_once) {
            self.remove_partner(party, Some(port), &broken);
            return false;
        }
        if ends_standstill && self.is_leader(party) {
            // Time would never come to the reset's edge.
            if let Err(failure) = self.reset(Some(party)) {
                self.remove_partner(party, Some(port), &Broken::Pins(failure.reason));
            }
            return false;
        }
        true
    }

    /// A partner promises something; tells whether nothing else follows from it.
    pub(crate) fn take_promise(&mut self, party: PartyId, promise: Promise) -> bool {
        let Some(partner) = self.partners.get_mut(party) else { return true };
        let Err(broken) = partner.set_promise(promise) else { return true };
        self.remove_partner(party, None, &broken);
        false
    }

    /// A partner has broken a rule: it holds nothing any more, and time does not wait for it.
    pub(crate) fn remove_partner(&mut self, party: PartyId, port: Option<PortId>, broken: &Broken) {
        let at = port.and_then(|port| Some(self.ports.get(usize::from(port.0))?.name));
        let (name, time) = (self.parties.name(party), self.now());
        let place = at.map_or_else(String::new, |port| format!("{port}, "));
        let reason = format!("{place}at {time}: {broken}");
        self.partners.remove(party);
        let held: Vec<PortId> =
            self.holdings.iter().filter(|held| held.party == party).map(|held| held.port).collect();
        self.warn(Severity::Warning, format!("{name} is no partner any more: {reason}"));
        let failure = Failure::new(FailureKind::ContractBroken, reason.as_str());
        self.outputs.push(Output::Expelled { party, time, failure });
        held.into_iter().for_each(|port| self.release(party, port, &reason));
    }

    /// Returns true if something that partners have driven is to take effect once the present instant is over.
    pub(crate) fn is_driven_due(&self) -> bool {
        self.partners.next_event().is_some_and(|at| at <= self.now())
    }

    /// The partner for whose promise simulated time waits, though there is something to do, and the edge up to
    /// which it has promised to be silent.
    #[must_use]
    pub fn held_by(&self) -> Option<(PartyId, Time)> {
        let goal = match self.mode() {
            TimeMode::Lockstep => self.goal_time()?,
            TimeMode::Free => self.next_time().map(|_| Time::MAX)?,
        };
        let (party, horizon) = self.partners.first_horizon()?;
        // What the owners of memories have not answered may be what time waits for, and has to be there first.
        let is_owed = self.owed_bursts() > 0;
        let is_held = self.time.is_held() && !is_owed && horizon <= goal && horizon < Time::MAX;
        is_held.then_some((party, horizon))
    }

    /// Lets take effect what partners have driven to be seen by now; tells whether a reset was among it.
    pub(crate) fn apply_driven(&mut self) -> bool {
        let (now, mut is_reset) = (self.now(), false);
        while let Some((party, at, port, event)) = self.partners.take_due(now) {
            self.time.resume_instant();
            self.has_run();
            is_reset |= event == PortEvent::Reset;
            self.watch_pins(party, port, at, &event);
            if let Err(broken) = self.apply_event(party, port, event) {
                self.remove_partner(party, Some(port), &broken);
            }
        }
        is_reset
    }

    /// Tells what partners were sent during a run.
    pub(crate) fn collect_driven(&mut self) {
        if self.partners.driven().events.borrow().is_empty() {
            return;
        }
        let driven = self.partners.driven().clone();
        let mut events = driven.events.take();
        for (party, port, at, event) in events.drain(..) {
            self.send_driven(party, port, at, event);
        }
        // Its room is used again.
        driven.events.replace(events);
    }

    pub(crate) fn send_driven(&mut self, party: PartyId, port: PortId, at: Time, event: PortEvent) {
        let at_once = is_line(&self.ports, port);
        let Some(partner) = self.partners.get_mut(party) else { return };
        let at = later(at, partner.delay());
        // A reset comes without a warning: nothing is seen earlier than was promised.
        let at = at.max(partner.least());
        partner.send(at, at_once);
        self.watch_pins(party, port, at, &event);
        self.outputs.push(Output::Driven { party, port, at, event });
    }

    /// Returns what partners can be promised now, where that is more than before.
    pub(crate) fn due_promises(&self) -> Vec<(PartyId, Promise)> {
        if self.partners.is_empty() || self.is_stopped() {
            return Vec::new();
        }
        let now = self.now();
        let own = self.platform.simulation().next_time().map_or(Time::MAX, |next| next.max(now));
        let own = own.min(self.next_command_time());
        self.partners.due_promises(own, &self.ports)
    }

    /// Makes promises; tells whether there are any.
    pub(crate) fn tell_promises(&mut self, promises: Vec<(PartyId, Promise)>) -> bool {
        let is_any = !promises.is_empty();
        for (party, promise) in promises {
            if let Some(partner) = self.partners.get_mut(party) {
                partner.last_promise = promise;
                partner.floor = Time::MAX;
                self.outputs.push(Output::Promised { party, promise });
            }
        }
        is_any
    }

    /// The earliest edge at which something that a party without a clock does from now on could reach a partner.
    fn next_command_time(&self) -> Time {
        let now = self.now();
        if self.partners.is_closed() && self.are_all_partners() {
            return Time::MAX;
        }
        // In lockstep time stands where the last thing happened, while partners go on.
        let silent = self.partners.first_horizon().map(|(_, silent)| silent);
        let so_far = now.max(silent.filter(|silent| *silent < Time::MAX).unwrap_or(now));
        let most = later(so_far, self.platform.description().period * EDGES_BEFORE_NEWCOMERS);
        let from = match self.mode() {
            TimeMode::Lockstep => self.goal_time().unwrap_or(now).min(most),
            TimeMode::Free if self.are_all_partners() => return most,
            TimeMode::Free => now,
        };
        later(from, self.time_to_ports())
    }

    /// Returns the time that it takes until a partner sees what follows from a command: an access to a register outside is seen at the same
    /// edge, what it does inside a device later.
    fn time_to_ports(&self) -> Time {
        match self.platform.outside_registers() {
            Some(_) => Time::ZERO,
            None => self.platform.description().period,
        }
    }

    /// Returns the time at which the next command may begin, if that is later than now. After a party has
    /// left, or has reset the platform, the promise that its commands would be seen later still holds.
    pub(crate) fn next_begin(&self) -> Option<Time> {
        if self.partners.is_empty() {
            return None;
        }
        self.partners.next_begin(self.time_to_ports()).filter(|begin| *begin > self.now())
    }

    /// Two partners on one path whose outputs both depend on inputs of the same edge would have to wait for each other
    /// within it.
    pub(crate) fn check_reaction(&self, party: PartyId, port: PortId) -> Result<(), Failure> {
        let is_same = |party: PartyId| self.partners.reacts_at_once(party);
        let other =
            self.holdings.iter().find(|held| held.port == port && held.party != party && is_same(held.party));
        match other {
            Some(other) if is_same(party) => {
                let name = self.port(port)?.name;
                let reason = format!(
                    "{name}: outputs of {} depend on inputs of the same edge, too: one side of a path has to be registered",
                    self.parties.name(other.party)
                );
                Err(Failure::new(FailureKind::ContractBroken, reason))
            }
            _ => Ok(()),
        }
    }
}

/// Returns true if a port is an interrupt line: a CPU, the platform's or a partner, may act at the edge at which it sees one.
fn is_line(ports: &[Port], port: PortId) -> bool {
    ports.get(usize::from(port.0)).is_some_and(|port| port.kind == PortKind::Irq)
}

/// The earliest edge at which the platform may react to what a partner has driven and has not taken effect.
pub(super) fn reaction_to(ports: &[Port], partner: &Partner) -> Time {
    let Some(&(first, ..)) = partner.queue.front() else { return Time::MAX };
    // A later event is reacted to later than the first one is.
    let at_first = partner.queue.iter().take_while(|(at, ..)| *at == first);
    let reactions = at_first.map(|&(at, port, _)| partner.reaction(at, is_line(ports, port)));
    reactions.min().unwrap_or(Time::MAX)
}
