//! The server's side of one session.

use std::collections::{BTreeMap, VecDeque};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use super::capabilities::{Capabilities, VERSION};
use super::frame::{Command, Errno, HEADER, Header, Kind, emit};
use super::{MAX_DATA, MAX_FILES, MAX_MESSAGE, Reply, Request, Rule, Violation};

/// Accesses to the client's memory that wait for their replies, at most.
const ASKED: usize = 64;

/// A command of the client, to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    id: u16,
    command: u16,
    wants_reply: bool,
}

impl Token {
    /// A part of the command, which is not answered by itself.
    pub fn part(self) -> Self {
        Self { wants_reply: false, ..self }
    }
}

/// An access to the client's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryToken(u16);

/// Message of the client. `F` is a file that it has passed.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<F> {
    /// The session is open: the version is answered.
    Opened,
    /// A command, to be answered by [`Connection::reply`] or [`Connection::fail`].
    Request {
        /// Names it in the answer.
        token: Token,
        /// The command.
        request: Request,
        /// The files that came with it.
        files: Vec<F>,
    },
    /// The answer to an access to the client's memory.
    Answered {
        /// The access.
        token: MemoryToken,
        /// The bytes that were read; none of a write.
        result: Result<Bytes, Errno>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Greeting,
    Open,
    Over,
}

/// The server's side of one session.
#[derive(Debug)]
pub struct Connection<F> {
    state: State,
    /// Capabilities of the server.
    own: Capabilities,
    /// Capabilities of the client.
    client: Capabilities,
    output: BytesMut,
    /// Bytes that have been taken off the stream.
    taken: u64,
    messages: u64,
    /// Files that no message has taken, each with the place in the stream of the last byte that came with it.
    files: VecDeque<(u64, F)>,
    has_too_many_files: bool,
    /// Accesses to the client's memory that wait: the command, and the bytes that are read.
    asked: BTreeMap<u16, (Command, usize)>,
    next_id: u16,
}

impl<F> Connection<F> {
    /// A session whose client has said nothing yet.
    pub fn new(own: Capabilities) -> Self {
        Self {
            state: State::Greeting,
            own,
            client: Capabilities::default(),
            output: BytesMut::new(),
            taken: 0,
            messages: 0,
            files: VecDeque::new(),
            has_too_many_files: false,
            asked: BTreeMap::new(),
            next_id: 0,
        }
    }

    /// Returns the bytes to be written.
    pub fn output(&mut self) -> &mut BytesMut {
        &mut self.output
    }

    /// Returns true if the version is agreed on, and no rule was broken.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Bytes that one access to the client's memory moves at most.
    pub fn most_data(&self) -> usize {
        let most = self.client.max_data_xfer_size.map_or(MAX_DATA, |most| most.min(MAX_DATA as u64) as usize);
        most.max(1)
    }

    /// Files have come beside bytes of the stream. After those, `behind` bytes wait in all for [`receive`](Self::receive).
    ///
    /// A message is sent by one call, with its files, and the system does not put bytes behind those that files came with into the same
    /// piece. So the files belong to the message that the last byte of the piece is of.
    pub fn add_files(&mut self, files: impl IntoIterator<Item = F>, behind: usize) {
        let place = (self.taken + behind as u64).saturating_sub(1);
        for file in files {
            if self.state == State::Over || self.files.len() >= MAX_FILES {
                self.has_too_many_files = true;
                return;
            }
            self.files.push_back((place, file));
        }
    }

    /// Takes the next event off the front of the stream's bytes. `Ok(None)`: more bytes are needed. After a broken rule input is
    /// discarded.
    ///
    /// # Errors
    /// [`Violation`]: the client broke a rule. The session is over, but for answers to what came before it.
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<Event<F>>, Violation> {
        if self.state == State::Over {
            input.clear();
            return Ok(None);
        }
        let Some(head) = input.first_chunk::<HEADER>() else { return Ok(None) };
        let (head, header) = (*head, Header::parse(head));
        let broken = |connection: &mut Self, rule| {
            connection.state = State::Over;
            connection.files.clear();
            Err(Violation { rule, message: connection.messages + 1, header: head })
        };
        let size = header.size as usize;
        let kind = match header.kind() {
            _ if !(HEADER..=MAX_MESSAGE).contains(&size) => return broken(self, Rule::Size),
            None => return broken(self, Rule::Type),
            _ if self.has_too_many_files => return broken(self, Rule::Files),
            Some(kind) => kind,
        };
        if input.len() < size {
            return Ok(None);
        }
        let payload = input.split_to(size).split_off(HEADER).freeze();
        self.taken += size as u64;
        let files = self.files_until_here();
        match self.take(header, kind, payload, files) {
            Ok(event) => {
                self.messages += 1;
                Ok(Some(event))
            }
            Err(rule) => broken(self, rule),
        }
    }

    /// The files of the messages that have been taken.
    fn files_until_here(&mut self) -> Vec<F> {
        let count = self.files.iter().take_while(|(place, _)| *place < self.taken).count();
        self.files.drain(..count).map(|(_, file)| file).collect()
    }

    fn take(&mut self, header: Header, kind: Kind, payload: Bytes, files: Vec<F>) -> Result<Event<F>, Rule> {
        let Header { id, command, .. } = header;
        let wants_reply = match kind {
            Kind::Command { wants_reply } => wants_reply,
            Kind::Reply(_) if !files.is_empty() => return Err(Rule::Files),
            Kind::Reply(result) => return self.answered(id, command, result, payload),
        };
        if self.state == State::Greeting {
            if command != Command::Version as u16 {
                return Err(Rule::VersionFirst);
            }
            if !files.is_empty() {
                return Err(Rule::Files);
            }
            self.greet(id, wants_reply, payload)?;
            return Ok(Event::Opened);
        }
        let request = Request::parse(command, payload)?;
        if files.len() > request.files() {
            return Err(Rule::Files);
        }
        Ok(Event::Request { token: Token { id, command, wants_reply }, request, files })
    }

    fn greet(&mut self, id: u16, wants_reply: bool, mut payload: Bytes) -> Result<(), Rule> {
        if payload.len() < 4 {
            return Err(Rule::Length);
        }
        let (major, minor) = (payload.get_u16_ne(), payload.get_u16_ne());
        if major != VERSION.0 {
            return Err(Rule::Major);
        }
        self.client = Capabilities::parse(&payload)?;
        let told = self.own.among(&self.client).emit();
        if wants_reply {
            emit(&mut self.output, (id, Command::Version as u16, Kind::Reply(Ok(()))), |out| {
                out.put_u16_ne(VERSION.0);
                out.put_u16_ne(minor.min(VERSION.1));
                out.put_slice(&told);
            });
        }
        self.state = State::Open;
        Ok(())
    }

    fn answered(
        &mut self,
        id: u16,
        command: u16,
        result: Result<(), Errno>,
        mut payload: Bytes,
    ) -> Result<Event<F>, Rule> {
        let asked = self.asked.get(&id).copied().filter(|(asked, _)| *asked as u16 == command);
        let (asked, count) = asked.ok_or(Rule::Answers)?;
        self.asked.remove(&id);
        let token = MemoryToken(id);
        if let Err(error) = result {
            return match payload.is_empty() {
                true => Ok(Event::Answered { token, result: Err(error) }),
                false => Err(Rule::Errors),
            };
        }
        let data = match asked {
            Command::DmaRead if payload.len() == 16 + count => payload.split_off(16),
            // The specification has an address and a count; QEMU sends a header alone.
            Command::DmaWrite if [0, 12, 16].contains(&payload.len()) => Bytes::new(),
            _ => return Err(Rule::ReplyLength),
        };
        if asked == Command::DmaRead {
            payload.advance(8);
            if payload.get_u64_ne() != count as u64 {
                return Err(Rule::ReplyLength);
            }
        }
        Ok(Event::Answered { token, result: Ok(data) })
    }

    /// Answers a command that was done, if the client waits for that.
    pub fn reply(&mut self, token: Token, reply: &Reply) {
        if token.wants_reply {
            emit(&mut self.output, (token.id, token.command, Kind::Reply(Ok(()))), |out| reply.emit(out));
        }
    }

    /// Answers a command that was not done, if the client waits for that.
    pub fn fail(&mut self, token: Token, error: Errno) {
        if token.wants_reply {
            emit(&mut self.output, (token.id, token.command, Kind::Reply(Err(error))), |_| {});
        }
    }

    /// Reads the client's memory: at most [`most_data`](Self::most_data) bytes. `None`: too many accesses wait.
    pub fn read_memory(&mut self, address: u64, count: usize) -> Option<MemoryToken> {
        self.ask(Command::DmaRead, count, |out| {
            out.put_u64_ne(address);
            out.put_u64_ne(count as u64);
        })
    }

    /// Writes the client's memory: at most [`most_data`](Self::most_data) bytes. `None`: too many accesses wait.
    pub fn write_memory(&mut self, address: u64, data: &[u8]) -> Option<MemoryToken> {
        self.ask(Command::DmaWrite, 0, |out| {
            out.put_u64_ne(address);
            out.put_u64_ne(data.len() as u64);
            out.put_slice(data);
        })
    }

    fn ask(
        &mut self,
        command: Command,
        count: usize,
        payload: impl FnOnce(&mut BytesMut),
    ) -> Option<MemoryToken> {
        if self.asked.len() >= ASKED {
            return None;
        }
        while self.asked.contains_key(&self.next_id) {
            self.next_id = self.next_id.wrapping_add(1);
        }
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        self.asked.insert(id, (command, count));
        emit(&mut self.output, (id, command as u16, Kind::Command { wants_reply: true }), payload);
        Some(MemoryToken(id))
    }
}

#[cfg(test)]
mod tests;
