//! The results of a run for the parties, in the order of their times: answers, levels, warnings, requests to
//! memories.

use super::Hub;
use super::bus_accesses::BusAccess;
use super::ids::Tag;
use super::output::{Completion, Failure, FailureKind, MemoryAccess, Output, Severity};
use super::outside::HubNotice;
use super::partner::PortEvent;
use super::port_outcomes::PortOutcome;
use vp_core::Time;
use vp_core::observe::{Warning, WarningMarks};
use vp_models::bus::axi::Unmapped;
use vp_models::bus::register::RegisterError;
use vp_models::platform::Warned;
use vp_types::{PartyId, Role};

impl Hub {
    pub(super) fn complete(&mut self, party: PartyId, tag: Tag, result: Result<Completion, Failure>) {
        let time = self.now();
        self.outputs.push(Output::Completed { party, tag, time, result });
    }

    /// Fails a command, or a posted write.
    pub(super) fn fail(&mut self, party: PartyId, tag: Option<Tag>, failure: Failure) {
        match tag {
            Some(tag) => self.complete(party, tag, Err(failure)),
            None => {
                let time = self.now();
                self.outputs.push(Output::PostedFailed { party, time, failure });
            }
        }
    }

    pub(super) fn warn(&mut self, severity: Severity, text: String) {
        let time = self.now();
        self.outputs.push(Output::Warning { severity, time, text, marks: WarningMarks::NONE });
    }

    pub(super) fn deliver(&mut self, news: HubNotice) {
        match news {
            HubNotice::Forwarded { to, tag, result } => {
                let result = match result {
                    Ok(None) => Ok(Completion::Done),
                    Ok(Some(data)) => Ok(Completion::Data(data)),
                    Err(failure) => Err(failure),
                };
                self.complete(to, tag, result);
            }
            HubNotice::Lost(lost) => {
                let Unmapped { address, bytes, why } = lost;
                let text = format!("the memory, which took writes before, has not: {why}; data lost");
                let (client, text) = ("", text.as_str());
                let access = Warning::Access { client, write: true, address, bytes, text };
                self.platform.warn("late answer", &access);
            }
        }
    }

    /// Collects the events for the parties, in the order of their times, however a run is cut into pieces.
    /// Requests to memories come first at their time, because they may be trusted to have been done.
    pub(super) fn collect(&mut self) {
        let warned = self.platform.take_warnings();
        if warned.is_empty() && !self.requests.borrow().has_outbox() {
            self.collect_driven();
            return self.collect_events();
        }
        let now = self.now();
        let is_early = |warned: &Warned| warned.time < now;
        // All else that happens ends the run, and is not earlier.
        let mut early: Vec<(Time, Output)> = Vec::new();
        if self.requests.borrow().has_outbox() {
            early.extend(self.requests.borrow_mut().take_outbox().map(|output| match output {
                Output::Request { access: MemoryAccess { at: Some(at), .. }, .. } => (at, output),
                _ => (now, output),
            }));
        }
        let (before, after): (Vec<Warned>, Vec<Warned>) = warned.into_iter().partition(is_early);
        early.extend(before.iter().map(|warned| (warned.time, told_warning(warned))));
        early.sort_by_key(|(time, _)| *time);
        self.outputs.extend(early.into_iter().map(|(_, output)| output));
        self.collect_driven();
        self.collect_events();
        self.outputs.extend(after.iter().map(told_warning));
    }

    /// Collects what has happened at ports.
    fn collect_events(&mut self) {
        loop {
            let Some(event) = self.outcomes.next() else { return };
            match event {
                PortOutcome::Level { level, time } => self.level_changed(level, time),
                PortOutcome::Answer { bus_tag, result, time } => self.answered(bus_tag, result, time),
                PortOutcome::AnswerDriven { bus_tag, result, at } => self.answer_driven(bus_tag, result, at),
                PortOutcome::Fault { number } => self.partner_fault(number),
            }
        }
    }

    fn level_changed(&mut self, level: bool, time: Time) {
        self.tell_level(level, time);
        let timed = self.holdings.iter().filter(|held| held.role == Role::Sink && held.is_timed);
        let timed: Vec<_> = timed.map(|held| (held.party, held.port)).collect();
        for (party, port) in timed {
            self.send_driven(party, port, time, PortEvent::Level(level));
        }
    }

    /// Tells those without a clock.
    pub(super) fn tell_level(&mut self, level: bool, time: Time) {
        let sinks = self.holdings.iter().filter(|held| held.role == Role::Sink && !held.is_timed);
        let told = sinks.map(|held| Output::Level { party: held.party, port: held.port, level, time });
        self.outputs.extend(told);
    }

    /// The answer to a partner's access, if it is one.
    fn answer_driven(&mut self, bus_tag: u64, result: Result<u32, RegisterError>, at: Time) {
        if let Some((party, port)) = self.bus.driven_answered(bus_tag) {
            let value = result.unwrap_or_default();
            self.send_driven(party, port, at, PortEvent::RegisterAnswer(value));
        }
    }

    fn answered(&mut self, bus_tag: u64, result: Result<u32, RegisterError>, time: Time) {
        let Some(BusAccess { party, tag, write, .. }) = self.bus.answered(bus_tag) else { return };
        let result = match result {
            Ok(_) if write => Ok(Completion::Done),
            Ok(value) => Ok(Completion::Value(value)),
            Err(error) => Err(Failure::new(FailureKind::SlaveError, error.to_string())),
        };
        self.outputs.push(Output::Completed { party, tag, time, result });
        self.answer_was_awaited(bus_tag);
        self.fail_front();
    }
}

fn told_warning(warned: &Warned) -> Output {
    let text = format!("{}: {}", warned.source, warned.text);
    Output::Warning { severity: Severity::Warning, time: warned.time, text, marks: warned.marks }
}
