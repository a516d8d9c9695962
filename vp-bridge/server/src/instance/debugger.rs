//! Debuggers' commands: translation between the native protocol and the hub.

use bytes::Bytes;
use vp_hub::{Input, Tag};
use vp_protocols::native::{
    self, Accesses, BreakOn, Capabilities, DebugCommand, DebugState, Notice, Reply, RequestId, SessionId,
    StepBy,
};

use super::message::ToSession;
use super::permits::Permit;
use super::{PlatformThread, translate};

/// The party that stops time at the beginning: not a session's number.
const NOBODY: vp_hub::PartyId = vp_hub::PartyId(0);

impl PlatformThread {
    /// Carries out what a debugger wants.
    pub(super) fn debugger_command(
        &mut self,
        session: SessionId,
        id: RequestId,
        command: DebugCommand,
        permit: Permit,
    ) {
        let Some(command) = to_command(command) else {
            let reply = Reply::DebugState(Box::new(self.debug_state()));
            let time = translate::time(self.hub.now());
            return self
                .send(session, ToSession::Reply { id, time, reply, payload: Bytes::new(), permit: None });
        };
        let party = translate::party(session);
        if !self.hub.is_debugger(party) {
            tracing::info!(
                "session {} may stop the time of platform {} from now on: it debugs",
                session.0,
                self.name()
            );
        }
        let Some(member) = self.members.get_mut(&session) else { return };
        let tag = Tag(id.0.into());
        member.held_permits.insert(tag, permit);
        self.handle(Input::Debugger { party, tag, command });
    }

    /// Stops time at the beginning, for a party that cannot leave.
    pub(super) fn stop_at_the_beginning(&mut self) {
        let command = vp_hub::DebugCommand::Stop;
        self.hub.handle(Input::Debugger { party: NOBODY, tag: Tag(0), command });
        // There is nobody yet who could be told.
        while self.hub.poll().is_some() {}
    }

    /// Tells a session that joins while time is stopped why nothing moves.
    pub(super) fn tell_that_time_stands(&mut self, session: SessionId) {
        if let Some(report) = self.hub.stopped().cloned() {
            self.tell_stopped(session, report);
        }
    }

    /// Tells a session that time stands, if it knows the word.
    pub(super) fn tell_stopped(&mut self, session: SessionId, stopped: vp_hub::StopReport) {
        let Some(member) = self.members.get(&session) else { return };
        if member.capabilities.contains(Capabilities::DEBUGGING) {
            self.notify(session, ToSession::Notice(Notice::Stopped(Box::new(translate::report(stopped)))));
        }
    }

    fn debug_state(&self) -> DebugState {
        let set = |set: vp_hub::SetBreakpoint| {
            let vp_hub::SetBreakpoint { number, party, breakpoint, hits } = set;
            let vp_hub::Breakpoint { on, skip, once } = breakpoint;
            let breakpoint = native::Breakpoint { on: from_on(on), skip, once };
            native::SetBreakpoint { number, session: translate::session(party), breakpoint, hits }
        };
        DebugState {
            stopped: self.hub.stopped().cloned().map(translate::report),
            breakpoints: self.hub.breakpoints().into_iter().map(set).collect(),
        }
    }
}

/// Translates a command for the hub; `None`: only a question.
fn to_command(command: DebugCommand) -> Option<vp_hub::DebugCommand> {
    Some(match command {
        DebugCommand::State => return None,
        DebugCommand::Stop => vp_hub::DebugCommand::Stop,
        DebugCommand::Continue => vp_hub::DebugCommand::Continue,
        DebugCommand::Step { by, count } => {
            let by = match by {
                StepBy::Cycle => vp_hub::StepBy::Cycle,
                StepBy::Event => vp_hub::StepBy::Event,
                StepBy::Layer => vp_hub::StepBy::Layer,
                StepBy::Access => vp_hub::StepBy::Access,
            };
            vp_hub::DebugCommand::Step { by, count }
        }
        DebugCommand::Break(native::Breakpoint { on, skip, once }) => {
            vp_hub::DebugCommand::Break(vp_hub::Breakpoint { on: to_on(on), skip, once })
        }
        DebugCommand::Clear { number } => vp_hub::DebugCommand::Clear { number },
    })
}

fn to_on(on: BreakOn) -> vp_hub::BreakOn {
    match on {
        BreakOn::Register { address, access, value } => {
            vp_hub::BreakOn::Register { address, access: to_accesses(access), value }
        }
        BreakOn::Interrupt => vp_hub::BreakOn::Interrupt,
        BreakOn::Layer { unit, end } => vp_hub::BreakOn::Layer { unit, end },
        BreakOn::Memory { port, base, size, access } => vp_hub::BreakOn::Memory {
            port: translate::port_index(port),
            range: base..base.saturating_add(size),
            access: to_accesses(access),
        },
        BreakOn::Time { time } => vp_hub::BreakOn::Time(translate::from_time(time)),
    }
}

fn from_on(on: vp_hub::BreakOn) -> BreakOn {
    match on {
        vp_hub::BreakOn::Register { address, access, value } => {
            BreakOn::Register { address, access: from_accesses(access), value }
        }
        vp_hub::BreakOn::Interrupt => BreakOn::Interrupt,
        vp_hub::BreakOn::Layer { unit, end } => BreakOn::Layer { unit, end },
        vp_hub::BreakOn::Memory { port, range, access } => BreakOn::Memory {
            port: translate::port_id(port),
            base: range.start,
            size: range.end - range.start,
            access: from_accesses(access),
        },
        vp_hub::BreakOn::Time(time) => BreakOn::Time { time: translate::time(time) },
    }
}

fn to_accesses(accesses: Accesses) -> vp_hub::Accesses {
    match accesses {
        Accesses::Read => vp_hub::Accesses::Read,
        Accesses::Write => vp_hub::Accesses::Write,
        Accesses::Any => vp_hub::Accesses::Any,
    }
}

fn from_accesses(accesses: vp_hub::Accesses) -> Accesses {
    match accesses {
        vp_hub::Accesses::Read => Accesses::Read,
        vp_hub::Accesses::Write => Accesses::Write,
        vp_hub::Accesses::Any => Accesses::Any,
    }
}
