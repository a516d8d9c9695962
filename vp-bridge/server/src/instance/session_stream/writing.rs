//! Messages for a session's peer: encoded and written, as far as it reads.

use bytes::Bytes;
use vp_protocols::native::statistics::emit_counters;
use vp_protocols::native::{Breach, ErrorCode, Reply, SendError};

use super::super::message::{SessionCommand, ToSession};
use super::SessionStream;
use crate::session_end::SessionOutcome;

impl SessionStream {
    /// Encodes and writes what can be.
    pub(super) fn send_all(&mut self) -> Result<(), SessionOutcome> {
        while self.send_more()? {}
        Ok(())
    }

    /// Encodes and writes. Says whether the peer lagged behind, and does so no more: there may be more to encode.
    pub(super) fn send_more(&mut self) -> Result<bool, SessionOutcome> {
        self.deliver()?;
        self.break_off()?;
        let lagged = self.connection.is_backlogged();
        self.write()?;
        Ok(lagged && !self.connection.is_backlogged())
    }

    pub(super) fn write(&mut self) -> Result<(), SessionOutcome> {
        while !self.connection.output().is_empty() {
            match self.socket.write(self.connection.output()) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return Err(SessionOutcome::Wrong(format!("stream broken: {error}"))),
            }
        }
        Ok(())
    }

    /// Encodes what the platform has for the peer, as far as it keeps up.
    pub(super) fn deliver(&mut self) -> Result<(), SessionOutcome> {
        loop {
            if !self.asks.is_empty() {
                self.ask()?;
            }
            if self.connection.is_backlogged() {
                return Ok(());
            }
            let Some(message) = self.outgoing.pop_front() else { return Ok(()) };
            self.tell(message)?;
        }
    }

    /// Asks the peer what the platform wants of it, as far as it takes more and keeps up.
    fn ask(&mut self) -> Result<(), SessionOutcome> {
        while !self.connection.is_backlogged()
            && let Some((token, request, payload)) = self.asks.front()
        {
            match self.connection.request(request.clone(), payload.clone()) {
                Ok(id) => {
                    self.tokens.insert(id, *token);
                    self.asks.pop_front();
                }
                Err(SendError::Breach(Breach::TooManyInFlight { .. })) => break,
                Err(error @ SendError::NotNow { .. }) => {
                    return Err(SessionOutcome::Wrong(error.to_string()));
                }
                Err(error) => {
                    // The peer cannot be asked this: longer than it takes, or with strobes it does not know.
                    let token = *token;
                    let reply = Reply::Failed { code: ErrorCode::Unsupported, reason: error.to_string() };
                    self.commands.push_back(SessionCommand::Answer { token, reply, payload: Bytes::new() });
                    self.asks.pop_front();
                }
            }
        }
        Ok(())
    }

    fn tell(&mut self, message: ToSession) -> Result<(), SessionOutcome> {
        match &message {
            ToSession::Reply { reply: Reply::Pong, .. } => self.peer_pings -= 1,
            _ => self.signs.is_busy = true,
        }
        let sent = match message {
            ToSession::Ask { token, request, payload } => {
                self.asks.push_back((token, request, payload));
                Ok(())
            }
            ToSession::Reply { id, time, mut reply, payload, permit } => {
                if let Reply::Status(status) = &mut reply {
                    let both = self.connection.in_flight() + self.connection.to_answer();
                    status.in_flight = u32::try_from(both).unwrap_or(u32::MAX);
                }
                let sent = self.connection.reply(id, time, reply, payload);
                drop(permit);
                sent
            }
            ToSession::Statistics { id, time, counters, first } => {
                let limit = self.connection.max_payload() as usize;
                let total = u32::try_from(counters.len()).unwrap_or(u32::MAX);
                let (payload, count) = emit_counters(counters.iter().skip(first as usize), limit);
                self.connection.reply(id, time, Reply::Statistics { total, count }, payload.freeze())
            }
            ToSession::Saved { id, time, bytes, first } => {
                let end = bytes.len().min(first.saturating_add(self.connection.max_payload() as usize));
                let total = bytes.len() as u64;
                self.connection.reply(id, time, Reply::Saved { total }, bytes.slice(first..end))
            }
            ToSession::Notice(notice) => {
                self.permits.notice_taken();
                self.connection.notify(notice)
            }
            ToSession::Driven { driven, payload } => {
                self.permits.notice_taken();
                self.connection.drive(driven, payload)
            }
            ToSession::Promised(promised) => {
                self.permits.notice_taken();
                self.connection.promise(promised)
            }
        };
        sent.map_err(|error| {
            self.connection.bye(Some(ErrorCode::Internal), error.to_string());
            SessionOutcome::Wrong(format!("cannot answer: {error}"))
        })
    }
}
