//! All partners of a hub.

use std::collections::BTreeMap;
use std::rc::Rc;

use vp_core::{Sim, Time};

use super::pins::DrivenEvents;
use super::promise::{Bound, reaction_to};
use super::reset::ResetRound;
use super::watched::PinWatcher;
use super::{Partner, PinEvent, PortEvent, Promise, later};
use vp_models::platform::Port;
use vp_types::{PartyId, PortId, Reaction};

/// Partners, what they were sent, and when resets have come from them.
#[derive(Default)]
pub(crate) struct Partners {
    all: BTreeMap<PartyId, Partner>,
    driven: Rc<DrivenEvents>,
    reset_round: ResetRound,
    /// Number of events of partners that have taken effect.
    applied: u64,
    /// True if no more parties come.
    is_closed: bool,
    watcher: Option<PinWatcher>,
}

impl Partners {
    pub(super) fn insert(&mut self, party: PartyId, partner: Partner) {
        self.all.insert(party, partner);
    }

    pub(crate) fn remove(&mut self, party: PartyId) {
        self.all.remove(&party);
    }

    pub(super) fn get(&self, party: PartyId) -> Option<&Partner> {
        self.all.get(&party)
    }

    pub(crate) fn get_mut(&mut self, party: PartyId) -> Option<&mut Partner> {
        self.all.get_mut(&party)
    }

    /// Returns the one with the smallest number.
    pub(crate) fn first(&self) -> Option<PartyId> {
        self.all.keys().next().copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Notes that no more parties come.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Number of events of partners that have taken effect.
    pub(crate) fn applied(&self) -> u64 {
        self.applied
    }

    // What partners drive.

    /// Returns the next time at which something that partners have driven takes effect.
    pub(crate) fn next_event(&self) -> Option<Time> {
        self.all.values().filter_map(Partner::next_event).min()
    }

    /// Takes the next event that a partner has driven to be seen by now.
    pub(super) fn take_due(&mut self, now: Time) -> Option<(PartyId, Time, PortId, PortEvent)> {
        let is_due = |partner: &Partner| partner.next_event().is_some_and(|at| at <= now);
        let (&party, partner) = self.all.iter_mut().find(|(_, partner)| is_due(partner))?;
        let (at, port, event) = partner.queue.pop_front()?;
        self.applied += 1;
        Some((party, at, port, event))
    }

    /// Returns true if a reset has come, and not taken effect.
    pub(super) fn have_reset_ahead(&self) -> bool {
        let mut events = self.all.values().flat_map(|partner| &partner.queue);
        events.any(|(.., event)| *event == PortEvent::Reset)
    }

    /// Notes a reset at a port; tells whether it is another one than that which the other ports have seen.
    pub(super) fn is_new_reset(&mut self, at: Time, port: PortId) -> bool {
        self.reset_round.is_new(at, port)
    }

    // What partners are sent.

    /// Takes what a port drives for a partner.
    pub(super) fn sink(&self, sim: &Sim, party: PartyId, port: PortId) -> impl Fn(Time, PortEvent) + use<> {
        self.driven.sink(sim, party, port)
    }

    /// Says whether the simulation runs, which ends when something is driven for a partner.
    pub(crate) fn set_running(&self, is_running: bool) {
        self.driven.is_running.set(is_running);
    }

    /// Returns the events that ports drive for partners.
    pub(super) fn driven(&self) -> &Rc<DrivenEvents> {
        &self.driven
    }

    pub(super) fn watch(&mut self, watcher: PinWatcher) {
        self.watcher = Some(watcher);
    }

    /// Tells the watcher of an event at a port, if there is a watcher.
    pub(super) fn tell_watcher(&mut self, event: impl FnOnce() -> Option<PinEvent>) {
        if let Some(watcher) = &mut self.watcher
            && let Some(event) = event()
        {
            watcher(event);
        }
    }

    // Time.

    /// Returns the earliest edge up to which a partner has promised to be silent, and that partner.
    pub(super) fn first_horizon(&self) -> Option<(PartyId, Time)> {
        let horizons = self.all.iter().map(|(party, partner)| (*party, partner.horizon()));
        horizons.min_by_key(|(_, horizon)| *horizon)
    }

    /// Returns what ends a run that may go to `limit`, if something does before or then.
    pub(crate) fn bound(&self, limit: Time) -> Option<Bound> {
        let (_, horizon) = self.first_horizon()?;
        match self.next_event().filter(|event| *event <= limit) {
            // What else comes at that edge may not be there yet.
            Some(event) if event < horizon => Some(Bound::Event(event)),
            _ if horizon <= limit && horizon < Time::MAX => Some(Bound::Horizon(horizon)),
            _ => None,
        }
    }

    /// Returns true if all have promised to be silent for ever, unless something comes.
    pub(crate) fn are_silent(&self) -> bool {
        self.all.values().all(|partner| partner.horizon() == Time::MAX)
    }

    /// Edges by which what crosses a partner's ports is delayed.
    pub(super) fn quantum(&self, party: PartyId) -> u32 {
        self.get(party).map_or(0, |partner| partner.clock.quantum)
    }

    /// Returns true if outputs of the partner depend on inputs of the same edge.
    pub(super) fn reacts_at_once(&self, party: PartyId) -> bool {
        self.get(party).is_some_and(|partner| partner.clock.reaction == Reaction::SameEdge)
    }

    /// Returns the time before which no command may begin that is seen at ports `to_ports` later.
    pub(super) fn next_begin(&self, to_ports: Time) -> Option<Time> {
        let ahead = |partner: &Partner| partner.least().since(later(partner.delay(), to_ports));
        self.all.values().map(ahead).max()
    }

    /// Returns what partners can be promised if the platform does nothing before `own`, where that is more than before.
    pub(super) fn due_promises(&self, own: Time, ports: &[Port]) -> Vec<(PartyId, Promise)> {
        // What a partner has driven may go through to another one at the same edge: the earliest, and the earliest of all others.
        let (mut first, mut second) = ((None, Time::MAX), Time::MAX);
        for (party, partner) in &self.all {
            let through = partner.horizon().min(partner.next_event().unwrap_or(Time::MAX));
            if through < first.1 {
                (first, second) = ((Some(*party), through), first.1);
            } else {
                second = second.min(through);
            }
        }
        let promise_to = |(&party, partner): (&PartyId, &Partner)| {
            let through = if first.0 == Some(party) { second } else { first.1 };
            let reaction = reaction_to(ports, partner);
            let next = later(own.min(through), partner.delay()).min(reaction);
            // What was promised before stays promised.
            let promise = Promise { heard: partner.driven, next: next.max(partner.least()) };
            (promise != partner.last_promise).then_some((party, promise))
        };
        self.all.iter().filter_map(promise_to).collect()
    }
}
