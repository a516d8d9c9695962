//! Messages of a session's peer: read, decoded, and refused where they break a rule.

use vp_protocols::native::{Capabilities, ErrorCode, Event, Reply, Request};

use super::super::message::SessionCommand;
use super::super::permits::Permit;
use super::{
    BATCH_BYTES, BATCH_COMMANDS, Broken, COMMANDS, HARD_BYTES, HARD_COMMANDS, READ, SessionStream, own,
};
use crate::session_end::{SessionOutcome, printable};

impl SessionStream {
    /// Reads once. Says whether something was there.
    pub(super) fn read(&mut self) -> Result<bool, SessionOutcome> {
        let lacking = self.connection.lacking(&self.input);
        // The rest of a long payload goes straight to where it stays; nothing else is read with it.
        let read = match lacking < READ {
            true if self.takes_files() => self.files.receive(&self.socket, &mut self.landing),
            true => self.socket.read(&mut self.landing),
            false => self.socket.read_onto(lacking, &mut self.input),
        };
        match read {
            Ok(None) => Ok(false),
            Ok(Some(0)) if self.input.is_empty() => Err(SessionOutcome::Fine("the peer is gone".to_owned())),
            Ok(Some(0)) => {
                Err(SessionOutcome::Wrong("the peer vanished in the middle of a frame".to_owned()))
            }
            Ok(Some(read)) => {
                self.signs.is_heard = true;
                if lacking < READ {
                    self.input.extend_from_slice(&self.landing[..read]);
                }
                Ok(true)
            }
            Err(error) => Err(SessionOutcome::Wrong(format!("stream broken: {error}"))),
        }
    }

    fn takes_files(&self) -> bool {
        self.connection.capabilities().intersection(Capabilities::LOCAL) != Capabilities::NONE
    }

    /// The peer has broken a rule: nothing more of it is taken.
    fn break_rule(&mut self, code: ErrorCode, reason: String, unanswered: usize) {
        self.input.clear();
        self.broken.get_or_insert(Broken { code, reason, unanswered });
    }

    /// Ends the session of a peer that has broken a rule, when what came before is answered; or at once, when something is waited
    /// for that it would send, or it has gone. What else it sends is thrown away.
    pub(super) fn break_off(&mut self) -> Result<(), SessionOutcome> {
        let Some(broken) = &self.broken else { return Ok(()) };
        let waits = self.connection.in_flight() > self.pings || self.is_partner;
        let is_gone = matches!(self.socket.read(&mut self.landing), Ok(Some(0)) | Err(_));
        if self.connection.to_answer() > broken.unanswered && !waits && !is_gone {
            return Ok(());
        }
        let Broken { code, reason, .. } = broken;
        self.connection.bye(Some(*code), reason.as_str());
        Err(SessionOutcome::Wrong(reason.clone()))
    }

    /// Decodes a batch of what has been read. Says whether more bytes are wanted; not while the batch is full, or the peer lags behind
    /// or has as much under way as it may.
    pub(super) fn decode(&mut self) -> Result<bool, SessionOutcome> {
        loop {
            let is_full = self.commands.len() >= BATCH_COMMANDS || self.batch_bytes >= BATCH_BYTES;
            let has_ended = is_full || self.commands.back().is_some_and(SessionCommand::ends_batch);
            if has_ended || self.broken.is_some() || self.connection.is_backlogged() || !self.may_ask()? {
                return Ok(false);
            }
            match self.connection.receive_first(&mut self.input) {
                Ok(Some(event)) => self.event(event)?,
                Ok(None) if self.files.are_too_many(!self.input.is_empty()) => {
                    let reason = format!("{} files that no request needs", self.files.len());
                    self.break_rule(ErrorCode::WrongFiles, reason, 0);
                }
                Ok(None) => return Ok(true),
                Err(violation) => self.break_rule(violation.code(), violation.to_string(), 0),
            }
        }
    }

    /// Returns true if the platform takes more of this session.
    fn may_ask(&mut self) -> Result<bool, SessionOutcome> {
        if self.permits.is_within(COMMANDS, self.max_bytes) {
            return Ok(true);
        }
        // A partner's promise may be what all its other commands wait for.
        if self.connection.in_flight() == self.pings && !self.is_partner {
            return Ok(false);
        }
        if self.permits.is_within(HARD_COMMANDS, HARD_BYTES) {
            return Ok(true);
        }
        let reason =
            "the platform waits for this session's answer or promise, which stands behind too much else";
        self.connection.bye(Some(ErrorCode::TooManyInFlight), reason);
        Err(SessionOutcome::Wrong(reason.to_owned()))
    }

    /// Counts a command with so many bytes of data in the batch, and as under way.
    fn permit(&mut self, bytes: usize) -> Permit {
        self.batch_bytes += bytes;
        self.permits.permit(bytes)
    }

    fn event(&mut self, event: Event) -> Result<(), SessionOutcome> {
        match &event {
            Event::Request { request: Request::Ping, .. } => self.peer_pings += 1,
            Event::Reply { reply: Reply::Pong, .. } => {}
            _ => self.signs.is_busy = true,
        }
        let command = match event {
            Event::Request {
                id,
                request: request @ (Request::ShareMemory(_) | Request::OpenRing(_)),
                ..
            } => {
                let wanted = request.files();
                if self.files.len() < wanted {
                    let name = request.name();
                    let reason = format!("{name} needs {wanted} files, and {} came", self.files.len());
                    self.break_rule(ErrorCode::WrongFiles, reason, 1);
                    return Ok(());
                }
                let files = self.files.take(wanted);
                SessionCommand::Share { id, request, files }
            }
            Event::Request { id, request, payload } => {
                self.is_partner |= matches!(request, Request::Clock { .. });
                // What is read costs memory as what is written does, only later.
                let bytes = match &request {
                    Request::MemoryRead(read) => read.length as usize,
                    Request::RegisterPeek(peek) => peek.bytes() as usize,
                    _ => payload.len(),
                };
                let permit = self.permit(bytes);
                SessionCommand::Request { id, request, payload: own(payload), permit }
            }
            Event::Posted { posted, payload } => {
                let permit = self.permit(payload.len());
                SessionCommand::Posted { posted, payload: own(payload), permit }
            }
            Event::Reply { id, reply, payload, .. } => match self.tokens.remove(&id) {
                Some(token) => {
                    self.batch_bytes += payload.len();
                    SessionCommand::Answer { token, reply, payload }
                }
                None => {
                    self.pings -= 1;
                    return Ok(());
                }
            },
            Event::Driven { driven, payload } => {
                let permit = self.permit(payload.len());
                SessionCommand::Driven { driven, payload: own(payload), permit }
            }
            Event::Promised(promised) => SessionCommand::Promised { promised, permit: self.permit(0) },
            Event::Bye(bye) => {
                let reason = printable(&bye.reason);
                return Err(match bye.code {
                    None => SessionOutcome::Fine("the peer said goodbye".to_owned()),
                    Some(code) => SessionOutcome::Wrong(format!("the peer gave up: {code}: {reason}")),
                });
            }
            other => {
                let reason = match other {
                    Event::Notice(_) => "no port here takes interrupts from outside",
                    _ => "a greeting in an open session",
                };
                self.break_rule(ErrorCode::UnexpectedMessage, reason.to_owned(), 0);
                return Ok(());
            }
        };
        self.commands.push_back(command);
        Ok(())
    }
}
