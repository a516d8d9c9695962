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
        if let Some(party) = self.partners.first() {
            let text = format!("{} is a part of its hardware", self.parties.name(party));
            return Err(SaveError::Unsupported(text));
        }
        if let Some(outside) = self.platform.memories().iter().find(|memory| memory.is_outside()) {
            let text =
                format!("the memory of {} is outside, and is not saved with the platform", outside.name());
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
        self.platform.save(into)
    }

    /// Lets time pass until nothing is left to do, within a limit. Then it lets the time pass in which nothing
    /// happens, after which all earlier times make no difference. It stops where a debugger stops time.
    pub(super) fn run_until_idle(&mut self, limit: Time) {
        let is_whole = self.platform.memories().iter().all(|memory| !memory.is_outside());
        let is_bound = self.is_stopped() || self.next_bound().is_some();
        if !self.partners.is_empty() || !is_whole || self.time.standstill().is_some() || is_bound {
            return;
        }
        let end = self.now() + self.platform.description().period * SETTLING;
        let may_move =
            |hub: &Hub| hub.mode() == TimeMode::Lockstep && hub.current.is_none() && hub.now() < end;
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
        }
        self.tell_stopped();
    }
}
