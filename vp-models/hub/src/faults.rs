//! Faults at a hub: arming them, and faults of parties.

use super::Hub;
use super::input::Input;
use super::output::{Failure, FailureKind};
use super::partner::Broken;
use vp_models::faults::{Armed, PartnerFault};
use vp_models::toml_text::TextError;
use vp_types::{PartyId, PortId, Role};

impl Hub {
    /// Arms faults.
    pub(super) fn inject(&mut self, faults: &str) -> Result<(), Failure> {
        let refuse = |error: TextError| Failure::new(FailureKind::Unsupported, error.to_string());
        self.platform.arm(faults).map_err(refuse)
    }

    /// Returns true if a fault suppresses everything that a party sends.
    #[must_use]
    pub fn is_silent(&self, party: PartyId) -> bool {
        self.parties.is_silent(party)
    }

    /// Counts the messages of a partner, or of a memory's owner; returns whether a fault loses this one.
    pub(super) fn is_lost(&mut self, input: &Input) -> bool {
        if !self.platform.faults().has_partners() {
            return false;
        }
        let (party, counts) = match input {
            // Nothing waits for it: it is late, or the request was taken back before it was sent.
            Input::Answer { request, .. } if !self.awaits(*request) => return false,
            Input::Answer { party, .. } | Input::Driven { party, .. } => (*party, true),
            Input::Promised { party, .. } => (*party, false),
            _ => return false,
        };
        if counts {
            let held: Vec<&str> =
                self.answered_for().filter(|(of, _)| *of == party).map(|(_, name)| name).collect();
            for armed in &self.platform.faults().of_partners() {
                let is_theirs = armed.of_partner().is_some_and(|(port, _)| held.contains(&port));
                if is_theirs && armed.moment().is_none() && self.platform.faults().strikes(armed) {
                    self.apply_party_fault(armed, party);
                }
            }
        }
        self.parties.is_silent(party)
    }

    /// The moment of a partner's fault has come.
    pub(super) fn partner_fault(&mut self, number: usize) {
        let faults = self.platform.faults().clone();
        let Some(armed) = faults.of_partners().into_iter().find(|it| it.number() == number) else { return };
        let Some((port, _)) = armed.of_partner() else { return };
        let party = self.answered_for().find(|(_, name)| *name == port).map(|(party, _)| party);
        match party {
            Some(party) => self.apply_party_fault(&armed, party),
            None => {
                faults.miss(&armed, format_args!("{port} is nobody's who has a clock or owns its memory"));
            }
        }
    }

    /// The parties that hold a port for which the platform waits, and the port's name.
    fn answered_for(&self) -> impl Iterator<Item = (PartyId, &'static str)> {
        let theirs = self.holdings.iter().filter(|held| held.is_timed || held.role == Role::Target);
        theirs.filter_map(|held| Some((held.party, self.ports.get(usize::from(held.port.0))?.name)))
    }

    fn apply_party_fault(&mut self, armed: &Armed, party: PartyId) {
        let (faults, name) = (self.platform.faults().clone(), self.parties.name(party));
        match armed.of_partner() {
            Some((_, PartnerFault::Silent)) => {
                self.parties.silence(party);
                faults.strike(armed, format_args!("nothing comes any more of {name}"));
            }
            Some((port, PartnerFault::Failing)) => {
                faults.strike(armed, format_args!("{name} is put out"));
                let index = self.ports.iter().position(|described| described.name == port);
                let index = index.map(|index| PortId(index as u16));
                self.remove_partner(
                    party,
                    index,
                    &Broken::Pins(format!("it fails, by fault {}", armed.number())),
                );
            }
            None => {}
        }
    }
}
