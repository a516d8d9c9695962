//! Debuggers' commands: translation between the native protocol and the hub.

use std::ops::Range;

use bytes::Bytes;
use vp_hub::{Input, Tag};
use vp_protocols::native::{
    self, Capabilities, DebugCommand, DebugState, Notice, Reply, RequestId, SessionId, SetBreakpoint,
};

use super::PlatformThread;
use super::message::ToSession;
use super::permits::Permit;

/// The party that stops time at the beginning: not a session's number.
const NOBODY: SessionId = SessionId(0);

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
            let time = self.hub.now();
            return self
                .send(session, ToSession::Reply { id, time, reply, payload: Bytes::new(), permit: None });
        };
        if !self.hub.is_debugger(session) {
            tracing::info!(
                "session {} may stop the time of platform {} from now on: it debugs",
                session.0,
                self.name()
            );
        }
        let Some(member) = self.members.get_mut(&session) else { return };
        let tag = Tag(id.0.into());
        member.held_permits.insert(tag, permit);
        self.handle(Input::Debugger { party: session, tag, command });
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
            self.notify(session, ToSession::Notice(Notice::Stopped(Box::new(stopped))));
        }
    }

    fn debug_state(&self) -> DebugState {
        let set = |vp_hub::SetBreakpoint { number, by, breakpoint, hits }| {
            let base_and_size = |Range { start, end }| native::Range { base: start, size: end - start };
            SetBreakpoint { number, by, breakpoint: breakpoint.with_range(base_and_size), hits }
        };
        DebugState {
            stopped: self.hub.stopped().cloned(),
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
        DebugCommand::Step { by, count } => vp_hub::DebugCommand::Step { by, count },
        DebugCommand::Break(breakpoint) => vp_hub::DebugCommand::Break(
            breakpoint.with_range(|native::Range { base, size }| base..base.saturating_add(size)),
        ),
        DebugCommand::Clear { number } => vp_hub::DebugCommand::Clear { number },
    })
}
