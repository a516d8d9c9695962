//! The client's side of one session, for tests of servers.

use std::collections::VecDeque;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use super::capabilities::{Capabilities, VERSION};
use super::frame::{Command, Errno, HEADER, Header, Kind, emit};
use super::{MAX_MESSAGE, Reply, Request, Rule, Violation};

/// A command of the client that waits for its reply.
#[derive(Debug)]
enum Waiting {
    Version(Capabilities),
    Request(Request),
}

/// Message of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientEvent {
    /// The session is open; what the server says of itself.
    Opened(Capabilities),
    /// The reply to the command of that number.
    Replied {
        /// Number that [`Client::request`] gave.
        id: u16,
        /// The reply.
        result: Result<Reply, Errno>,
    },
    /// Wants to read memory: answer with [`Client::answer`].
    Read {
        /// The server's number of the command.
        id: u16,
        /// Address of the first byte.
        address: u64,
        /// Number of bytes.
        count: u64,
    },
    /// Wants to write memory: answer with [`Client::answer`].
    Write {
        /// The server's number of the command.
        id: u16,
        /// Address of the first byte.
        address: u64,
        /// The bytes.
        data: Bytes,
    },
}

/// The client's side of one session. Files are the caller's matter.
#[derive(Debug, Default)]
pub struct Client {
    output: BytesMut,
    waiting: VecDeque<(u16, Waiting)>,
    next_id: u16,
    messages: u64,
}

impl Client {
    /// A session that begins: the version is in the output.
    pub fn new(capabilities: Capabilities) -> Self {
        let mut client = Self::default();
        let data = capabilities.emit();
        client.send(Command::Version as u16, true, |out| {
            out.put_u16_ne(VERSION.0);
            out.put_u16_ne(VERSION.1);
            out.put_slice(&data);
        });
        client.waiting.push_back((0, Waiting::Version(capabilities)));
        client
    }

    /// Returns the bytes to be written.
    pub fn output(&mut self) -> &mut BytesMut {
        &mut self.output
    }

    fn send(&mut self, command: u16, wants_reply: bool, payload: impl FnOnce(&mut BytesMut)) -> u16 {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        emit(&mut self.output, (id, command, Kind::Command { wants_reply }), payload);
        id
    }

    /// Sends a command, and gives its number.
    pub fn request(&mut self, request: &Request) -> u16 {
        let id = self.send(request.command(), true, |out| request.emit(out));
        self.waiting.push_back((id, Waiting::Request(request.clone())));
        id
    }

    /// Sends a command whose reply nobody waits for.
    pub fn post(&mut self, request: &Request) {
        self.send(request.command(), false, |out| request.emit(out));
    }

    /// Answers an access to memory: with the bytes of a read, and none of a write.
    pub fn answer(&mut self, of: &ClientEvent, result: Result<&[u8], Errno>) {
        let (id, command, address, count) = match of {
            ClientEvent::Read { id, address, count } => (*id, Command::DmaRead, *address, *count),
            ClientEvent::Write { id, address, data } => (*id, Command::DmaWrite, *address, data.len() as u64),
            _ => return,
        };
        let kind = Kind::Reply(result.map(drop));
        emit(&mut self.output, (id, command as u16, kind), |out| {
            if let Ok(data) = result {
                out.put_u64_ne(address);
                out.put_u64_ne(count);
                out.put_slice(data);
            }
        });
    }

    /// Takes the next event off the front of the stream's bytes. `Ok(None)`: more bytes are needed.
    ///
    /// # Errors
    /// [`Violation`]: the server broke a rule.
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<ClientEvent>, Violation> {
        let Some(head) = input.first_chunk::<HEADER>() else { return Ok(None) };
        let (head, header) = (*head, Header::parse(head));
        let broken = |rule| Violation { rule, message: self.messages + 1, header: head };
        let size = header.size as usize;
        if !(HEADER..=MAX_MESSAGE).contains(&size) {
            return Err(broken(Rule::Size));
        }
        let kind = header.kind().ok_or(broken(Rule::Type))?;
        if input.len() < size {
            return Ok(None);
        }
        let payload = input.split_to(size).split_off(HEADER).freeze();
        let taken = match kind {
            Kind::Command { .. } => access(header, payload),
            Kind::Reply(result) => self.replied(header, result, payload),
        };
        self.messages += 1;
        taken.map(Some).map_err(|rule| Violation { rule, message: self.messages, header: head })
    }

    fn replied(
        &mut self,
        header: Header,
        result: Result<(), Errno>,
        mut payload: Bytes,
    ) -> Result<ClientEvent, Rule> {
        let Header { id, command, .. } = header;
        let of = |waiting: &Waiting| match waiting {
            Waiting::Version(_) => Command::Version as u16,
            Waiting::Request(request) => request.command(),
        };
        let found = self.waiting.iter().position(|(of_id, waiting)| *of_id == id && of(waiting) == command);
        let (_, waiting) = found.and_then(|at| self.waiting.remove(at)).ok_or(Rule::Answers)?;
        if result.is_err() && !payload.is_empty() {
            return Err(Rule::Errors);
        }
        match (waiting, result) {
            (Waiting::Request(_), Err(error)) => Ok(ClientEvent::Replied { id, result: Err(error) }),
            (Waiting::Request(request), Ok(())) => {
                Ok(ClientEvent::Replied { id, result: Ok(Reply::parse(&request, payload)?) })
            }
            (Waiting::Version(_), Err(_)) => Err(Rule::VersionFirst),
            (Waiting::Version(proposed), Ok(())) => {
                if payload.len() < 4 {
                    return Err(Rule::Length);
                }
                let version = (payload.get_u16_ne(), payload.get_u16_ne());
                let told = Capabilities::parse(&payload)?;
                if version.0 != VERSION.0 || version.1 > VERSION.1 || told.among(&proposed) != told {
                    return Err(Rule::LowerVersion);
                }
                Ok(ClientEvent::Opened(told))
            }
        }
    }
}

/// An access to the client's memory.
fn access(header: Header, mut payload: Bytes) -> Result<ClientEvent, Rule> {
    let Header { id, command, .. } = header;
    let command = Command::new(command).filter(|it| matches!(it, Command::DmaRead | Command::DmaWrite));
    let command = command.ok_or(Rule::Direction)?;
    if payload.len() < 16 {
        return Err(Rule::Length);
    }
    let (address, count) = (payload.get_u64_ne(), payload.get_u64_ne());
    match command {
        Command::DmaRead if payload.is_empty() => Ok(ClientEvent::Read { id, address, count }),
        Command::DmaWrite if payload.len() as u64 == count => {
            Ok(ClientEvent::Write { id, address, data: payload })
        }
        _ => Err(Rule::Length),
    }
}
