//! Commands of an instance, by its server and by its sessions, and what it does of them.

use bytes::Bytes;
use vp_hub::{Input, MemoryGuarantees, RequestId as HubRequest, Tag};
use vp_protocols::native::{ErrorCode, Offer, Reply, Request, RequestId, SessionId, TimeMode};

use super::adapted::{AdaptedInput, AdaptedSession};
use super::inbox::PlatformCommand;
use super::member::Member;
use super::message::{JoiningAdapter, JoiningSession, SessionCommand, ToSession};
use super::permits::Permit;
use super::save::Extent;
use super::session_stream::SessionStream;
use super::{PlatformThread, inspect, offer, translate};
use crate::adapters::SessionStart;
use crate::session_end::SessionOutcome;

impl PlatformThread {
    pub(super) fn platform_command(&mut self, command: PlatformCommand) {
        match command {
            PlatformCommand::Join(joining) => self.join(*joining),
            PlatformCommand::JoinAdapted(joining) => self.join_adapted(*joining),
            PlatformCommand::TellMode { wanted, tell } => {
                let mode = if self.hub.are_all_partners() { wanted } else { self.time_mode() };
                // Who has asked may have gone.
                let _ = tell.send(mode);
            }
            PlatformCommand::Dismiss { session, code, reason } => {
                self.close(session, code, SessionOutcome::Fine(reason.to_owned()));
            }
            PlatformCommand::End => {
                self.part_from_observers();
                self.has_ended = true;
            }
            #[cfg(test)]
            PlatformCommand::Do(what) => what(&self.hub.platform().sim()),
        }
    }

    pub(super) fn session_command(&mut self, session: SessionId, command: SessionCommand) {
        if self.is_early(session, &command) {
            return self.postponed.push((session, command));
        }
        let Some(command) = self.permitted(session, command) else { return };
        match command {
            SessionCommand::Request { id, request, payload, permit } => {
                tracing::debug!("session {}, platform {}: {}", session.0, self.name(), self.logged(&request));
                self.take_ring(session);
                if self.members.contains_key(&session) {
                    self.request(session, id, request, &payload, permit);
                }
            }
            SessionCommand::Posted { posted, payload, permit } => {
                self.take_ring(session);
                let Some(member) = self.members.get(&session) else { return };
                let access = translate::posted(posted, &payload, member.capabilities, self.hub.ports());
                self.post(session, access, permit);
            }
            SessionCommand::Share { id, request, files } => self.share(session, id, &request, files),
            SessionCommand::Answer { token, reply, payload } => {
                let (request, result) = (HubRequest(token), translate::answer(reply, payload));
                self.handle(Input::Answer { party: session, request, result });
            }
            SessionCommand::Driven { driven, payload, permit: _permit } => {
                self.take_driven(session, driven, payload);
            }
            SessionCommand::Promised { promised, permit: _permit } => self.take_promised(session, promised),
        }
    }

    /// Returns true if a request has to wait: for a port whose holder's peer has gone, or behind one that does.
    fn is_early(&mut self, session: SessionId, command: &SessionCommand) -> bool {
        if command.is_request() && self.postponed.iter().any(|(other, _)| *other == session) {
            return true;
        }
        let SessionCommand::Request { request: Request::Attach(attach), .. } = command else {
            return false;
        };
        let holder = self.hub.in_the_way(session, attach.port, attach.role);
        let holder = holder.filter(|holder| *holder != session);
        holder
            .and_then(|holder| self.members.get_mut(&holder))
            .is_some_and(|holder| holder.stream.is_deserted())
    }

    /// Gives the hub an input, and tells the sessions what comes of it.
    pub(super) fn handle(&mut self, input: Input) {
        let answered = match input {
            Input::Answer { party, request, .. } => Some((party, request)),
            _ => None,
        };
        self.hub.handle(input);
        if let Some((party, request)) = answered
            && !self.hub.is_silent(party)
        {
            self.owners.answered(request.0);
        }
        self.tell();
    }

    /// Gives the hub a posted write. What waits there for its turn keeps its permit.
    pub(super) fn post(&mut self, session: SessionId, access: vp_hub::Access, permit: Permit) {
        self.handle(Input::Posted { party: session, access });
        let waiting = self.hub.waiting(session);
        if let Some(member) = self.members.get_mut(&session) {
            if waiting > 0 {
                member.posted.push_back(permit);
            }
            member.keep_posted(waiting);
        }
    }

    pub(super) fn join(&mut self, joining: JoiningSession) {
        let JoiningSession { id, name, agent, time_mode, socket, mut connection, input, .. } = joining;
        let JoiningSession { server, platform, mut identity, ended, is_observer, .. } = joining;
        if ended.is_closed() {
            // Its task was given up.
            return;
        }
        if !is_observer {
            self.set_mode(time_mode);
        }
        let (answered, accepted) = match identity.welcome.take() {
            // The platform that it was told of has gone meanwhile.
            Some((_, welcome)) if welcome.time_mode != self.time_mode() && !is_observer => {
                let reason = "another platform has the name now, with another mode of time: come again";
                (None, Err((ErrorCode::ShuttingDown, reason.to_owned())))
            }
            Some((id, welcome)) => (Some(id), Ok(welcome)),
            None => {
                let offer = Offer {
                    agent: server,
                    time_mode: self.time_mode(),
                    time: self.hub.now(),
                    platform: platform.clone(),
                    session: id,
                    ..offer(self.hub.platform())
                };
                let accepted = connection.accept(offer);
                (None, accepted.map_err(|error| (ErrorCode::Internal, format!("turned away: {error}"))))
            }
        };
        let mut stream = SessionStream::new(socket, connection, input, ended);
        let welcome = match accepted {
            Ok(welcome) => welcome,
            Err((code, reason)) => return stream.close(code, SessionOutcome::Wrong(reason)),
        };
        let who = identity.presence.as_ref().map(|presence| format!("{}, ", presence.holder().name));
        let mode = welcome.time_mode;
        tracing::info!("{name}: {}{agent} on platform {platform}, {mode}", who.unwrap_or_default());
        let mut member = Member::new(welcome.capabilities, (name, agent), identity, stream);
        member.is_observer = is_observer;
        let memory = MemoryGuarantees { in_order: member.is_in_order().then_some(welcome.max_in_flight) };
        self.members.insert(id, Box::new(member));
        self.tell_that_time_stands(id);
        self.tell_what_is_not_observed(id);
        if !is_observer {
            let name = format!("session {}", id.0);
            self.handle(Input::Enter { party: id, name, memory });
        }
        if let Some(request) = answered {
            self.reply(id, request, Ok(()));
        }
    }

    /// A session comes: if all before it are partners, who have no part in that, the mode of time is the one it asks for.
    fn set_mode(&mut self, time_mode: TimeMode) {
        let mode = translate::time_mode(time_mode);
        self.handle(Input::Mode(mode));
        if self.hub.mode() == mode && self.hub.are_all_partners() {
            (self.mode, self.pace) = (time_mode, None);
        }
    }

    fn join_adapted(&mut self, joining: JoiningAdapter) {
        if joining.ended.is_closed() {
            // Its task was given up.
            return;
        }
        self.set_mode(joining.time_mode);
        let (id, name) = (joining.id, format!("session {}", joining.id.0));
        tracing::info!("{} on platform {}, {}", joining.name, self.name(), self.time_mode());
        let memory = MemoryGuarantees::default();
        self.handle(Input::Enter { party: id, name, memory });
        let platform = self.hub.platform();
        let (ports, description) = (self.hub.ports(), platform.description());
        let beginning = SessionStart { party: id, ports, description, now: self.hub.now() };
        self.adapted.insert(id, AdaptedSession::new(joining), &beginning);
        self.tell_what_is_not_observed(id);
        self.take_adapted_inputs();
    }

    /// Gives the hub what the adapters of other protocols have for it.
    pub(super) fn take_adapted_inputs(&mut self) {
        while let Some(input) = self.adapted.next_input() {
            match input {
                AdaptedInput::Hub(input) => self.handle(input),
                AdaptedInput::Share(session, port, parts) => {
                    let shared = self.hub.access_directly(session, port, parts);
                    self.adapted.is_shared(session, shared.map_err(|failure| failure.reason));
                }
            }
        }
    }

    pub(super) fn leave(&mut self, session: SessionId, why: &str) {
        let left = self.members.remove(&session);
        self.forget_rest_waits(session);
        if let Some(observer) = left.as_ref().filter(|member| member.is_observer) {
            if self.hub.is_debugger(session) || !observer.held_permits.is_empty() {
                self.handle(Input::Leave { party: session, why: why.to_owned() });
                self.withdraw_requests();
            }
            return;
        }
        if left.is_some() || self.adapted.remove(session) {
            self.owners.forget(session);
            self.standing.forget(session);
            self.handle(Input::Leave { party: session, why: why.to_owned() });
            self.withdraw_requests();
            for (of, command) in std::mem::take(&mut self.postponed) {
                if of != session {
                    self.session_command(of, command);
                }
            }
        }
    }

    /// Takes back what memories' owners have not been sent for a session that has left: who connects, asks and leaves again and again
    /// would fill the memory with that.
    fn withdraw_requests(&mut self) {
        let hub = &self.hub;
        let is_over = |token| !hub.awaits(HubRequest(token));
        let withdrawn = self.members.iter_mut().flat_map(|(owner, member)| {
            let tokens = member.stream.withdraw(is_over).into_iter();
            tokens.map(move |token| (*owner, token))
        });
        for (owner, token) in withdrawn.collect::<Vec<_>>() {
            let failure =
                vp_hub::Failure::new(vp_hub::FailureKind::Cancelled, "the session that asked has left");
            self.handle(Input::Answer { party: owner, request: HubRequest(token), result: Err(failure) });
        }
    }

    pub(super) fn request(
        &mut self,
        session: SessionId,
        id: RequestId,
        request: Request,
        payload: &Bytes,
        permit: Permit,
    ) {
        let time = self.hub.now();
        let answer = match request {
            Request::Status => Reply::Status(Box::new(self.status())),
            Request::Statistics { prefix, first } => {
                let counters = inspect::counters(&self.hub.statistics(), &prefix);
                return self.send(session, ToSession::Statistics { id, time, counters, first });
            }
            Request::Save { first } => return self.save(session, id, first, Extent::Whole),
            Request::SaveDevice { first } => return self.save(session, id, first, Extent::Device),
            Request::AwaitRest { patience } => return self.await_rest(session, id, patience),
            Request::RestoreDevice { total, first, .. } => {
                match self.load(session, (total, first), payload) {
                    Ok(None) => Reply::Done,
                    Ok(Some(saved)) => {
                        let Some(member) = self.members.get_mut(&session) else { return };
                        let tag = Tag(id.0.into());
                        member.held_permits.insert(tag, permit);
                        return self.give(session, tag, vp_hub::PartyCommand::Restore { saved });
                    }
                    Err((code, reason)) => Reply::Failed { code, reason },
                }
            }
            Request::Ping => Reply::Pong,
            Request::Inspect { first } => {
                let counters = self.inspect();
                return self.send(session, ToSession::Statistics { id, time, counters, first });
            }
            Request::Debug { command } => return self.debugger_command(session, id, command, permit),
            Request::RegisterPeek(_) | Request::RegisterPoke(_) => {
                return self.debug(session, id, &request, payload, permit);
            }
            Request::MemoryRead(_) | Request::MemoryWrite(_) if self.is_observer(session) => {
                return self.debug(session, id, &request, payload, permit);
            }
            Request::Authenticate { .. } => Reply::Failed {
                code: ErrorCode::Unsupported,
                reason: "the session is authenticated already".to_owned(),
            },
            request => {
                let name = request.name();
                let Some(member) = self.members.get_mut(&session) else { return };
                match translate::command(&request, payload, member.capabilities, self.hub.ports()) {
                    Some(command) => {
                        let tag = Tag(id.0.into());
                        member.held_permits.insert(tag, permit);
                        return self.give(session, tag, command);
                    }
                    None => Reply::Failed {
                        code: ErrorCode::Internal,
                        reason: format!("{name} came without its files"),
                    },
                }
            }
        };
        self.sum_up_failures(session);
        self.send(session, ToSession::Reply { id, time, reply: answer, payload: Bytes::new(), permit: None });
    }

    /// Gives the hub a session's command.
    pub(super) fn give(&mut self, session: SessionId, tag: Tag, command: vp_hub::PartyCommand) {
        let is_reset = matches!(command, vp_hub::PartyCommand::Reset | vp_hub::PartyCommand::Restore { .. });
        let is_detach = matches!(command, vp_hub::PartyCommand::Detach { .. });
        self.handle(Input::Command { party: session, tag, command });
        if is_reset {
            self.pace = None;
        }
        if is_detach {
            self.close_ring_without_ports(session);
        }
    }

    /// The mode of time, which a partner that is the CPU sets free.
    pub(super) fn time_mode(&self) -> TimeMode {
        match self.hub.mode() {
            vp_hub::TimeMode::Free if self.mode == TimeMode::Lockstep => TimeMode::Free,
            _ => self.mode,
        }
    }
}
