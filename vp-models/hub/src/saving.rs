//! Saving a hub's platform, which has to come to rest first.

use super::Hub;
use super::input::Input;
use super::time_mode::TimeMode;
use std::io::Write;
use vp_core::{Stop, Time};
use vp_models::platform::SaveError;

/// Cycles that may pass at once for a platform that is to be saved.
const SETTLING: u64 = 65_536;

impl Hub {
    /// Saves the platform, as [`Platform::save`](vp_models::platform::Platform::save) does, if it comes to rest
    /// within some thousand cycles of lockstep in which no party lets time move; then moves on by the few cycles
    /// in which nothing happens.
    /// Otherwise time has moved, and the next call may find it at rest. Parties are not saved: they join the
    /// restored platform anew.
    ///
    /// # Errors
    /// As there; also if a party has accesses that wait, or is a part of the hardware.
    pub fn save(&mut self, into: &mut dyn Write) -> Result<(), SaveError> {
        if let Some(outside) = self.platform.memories().iter().find(|memory| memory.is_outside()) {
            let text =
                format!("the memory of {} is outside, and is not saved with the platform", outside.name());
            return Err(SaveError::Unsupported(text));
        }
        self.save_device(into)
    }

    /// Saves the platform as [`Hub::save`] does, without the memories that parties have: they are saved by those who have them.
    ///
    /// # Errors
    /// As there, but for memories outside.
    pub fn save_device(&mut self, into: &mut dyn Write) -> Result<(), SaveError> {
        self.come_to_rest()?;
        self.platform.save_device(into)
    }

    /// Brings the platform to where it can be saved, by the few cycles in which nothing happens, if nothing is under way.
    ///
    /// # Errors
    /// As of [`Hub::save_device`].
    pub fn come_to_rest(&mut self) -> Result<(), SaveError> {
        if let Some(party) = self.partners.first() {
            let text = format!("{} is a part of its hardware", self.parties.name(party));
            return Err(SaveError::Unsupported(text));
        }
        if let Some(standstill) = self.time.standstill() {
            return Err(SaveError::Unsupported(format!("it stands until a reset: {}", standstill.reason)));
        }
        self.platform.may_be_saved()?;
        if self.is_stopped() {
            return Err(SaveError::Busy("a debugger has stopped its time".to_owned()));
        }
        if let Some(party) = self.has_accesses() {
            return Err(SaveError::Busy(format!("accesses of {} wait", self.parties.name(party))));
        }
        self.handle(Input::Settle { limit: self.time.granted() });
        // What is saved leaves the hub, too.
        self.commit_recording();
        self.platform.rest().map(drop)
    }

    /// Lets time pass until nothing is left to do, within a limit. Then it lets the time pass in which nothing
    /// happens, after which all earlier times make no difference. It stops where a debugger stops time.
    pub(super) fn run_until_idle(&mut self, limit: Time) {
        let is_whole = self.platform.memories().iter().all(|memory| !memory.is_outside());
        let is_bound = self.is_stopped() || self.next_bound().is_some();
        if !self.partners.is_empty() || self.time.standstill().is_some() || is_bound {
            return;
        }
        let end = self.now() + self.platform.description().period * SETTLING;
        // Memory outside may have to be asked.
        let may_move = |hub: &Hub| {
            is_whole && hub.mode() == TimeMode::Lockstep && hub.current.is_none() && hub.now() < end
        };
        while may_move(self) && !self.is_stopped() {
            let stop = self.run_kernel(Time::MAX, end);
            self.collect();
            if stop != Stop::Requested {
                break;
            }
        }
        let to = self.platform.settled_from();
        let is_idle = self.platform.simulation().rest().is_ok() && self.platform.is_quiescent();
        if is_idle && to <= limit && !self.is_stopped() {
            self.platform.simulation_mut().run_until(to);
            // Whatever still looks at it, as saving does.
            self.time.end_instant();
        }
        self.tell_stopped();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        Access, MemoryGuarantees, Operation, Output, PartyCommand, PartyId, PortId, Recorded, Role, RunState,
        Tag, replay,
    };
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;
    use vp_models::platform::{Description, Platform};

    const CPU: PartyId = PartyId(1);

    fn hub() -> Hub {
        Hub::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap(), TimeMode::Free)
    }

    /// Runs to the end, in pieces, as a server does.
    fn run(hub: &mut Hub) {
        loop {
            while hub.poll().is_some() {}
            let piece = hub.next_time().map_or(Time::MAX, |next| next + Time::ns(32));
            if hub.run(piece) == RunState::Waiting {
                return;
            }
        }
    }

    fn command(hub: &mut Hub, tag: u64, command: PartyCommand) -> Option<Output> {
        hub.handle(Input::Command { party: CPU, tag: Tag(tag), command });
        let told = std::iter::from_fn(|| hub.poll()).last();
        run(hub);
        told
    }

    fn read(hub: &mut Hub, tag: u64) {
        let read =
            Access { port: PortId(0), at: None, operation: Operation::RegisterRead { address: 0x1000 } };
        command(hub, tag, PartyCommand::Access(read));
    }

    fn write(hub: &mut Hub, tag: u64, address: u64) {
        let operation = Operation::RegisterWrite { address, value: 1 };
        command(hub, tag, PartyCommand::Access(Access { port: PortId(0), at: None, operation }));
    }

    #[test]
    fn what_is_saved_and_restored_in_free_mode_is_replayed() {
        let mut hub = hub();
        let entries = Rc::new(RefCell::new(Vec::new()));
        let kept = entries.clone();
        hub.record_to(move |entry: Recorded| kept.borrow_mut().push(entry));
        hub.handle(Input::Enter { party: CPU, name: "the CPU".into(), memory: MemoryGuarantees::default() });
        for (port, role) in [(0, Role::Initiator), (1, Role::Sink), (2, Role::Target)] {
            let attach = PartyCommand::Attach { port: PortId(port), role, range: None };
            command(&mut hub, 1, attach);
        }
        read(&mut hub, 2);
        write(&mut hub, 2, 0x1008);
        let mut saved = Vec::new();
        hub.save(&mut saved).unwrap_err();
        hub.save_device(&mut saved).unwrap();
        read(&mut hub, 3);
        write(&mut hub, 3, 0x100c);
        let before = hub.now();
        let told = command(&mut hub, 4, PartyCommand::Restore { saved: saved.into() });
        assert!(matches!(told, Some(Output::Completed { result: Ok(_), .. })), "{told:?}");
        assert_eq!(hub.now(), before);
        let refused = command(&mut hub, 5, PartyCommand::Restore { saved: "VPSV".into() });
        assert!(matches!(refused, Some(Output::Completed { result: Err(_), .. })), "{refused:?}");
        read(&mut hub, 6);
        write(&mut hub, 6, 0x100c);
        hub.end_recording(None);
        let entries = entries.take();
        replay(&mut self::hub(), &entries).unwrap();
    }
}
