//! A peripheral's side. No socket and no clock.
//!
//! The owner of the two sockets feeds a [`Connection`] what it reads from main, and writes what
//! [`output`](Connection::output) gives, one write call for each item:
//!
//! ```
//! use bytes::BytesMut;
//! use vp_protocols::renode::*;
//!
//! let (mut renode, mut peripheral) = (Emulator::new(), Connection::new());
//! let mut wire = BytesMut::new();
//! while let Some((_, message)) = renode.output().next_write() { wire.extend_from_slice(&message); }
//! assert_eq!(peripheral.receive(Socket::Main, &mut wire)?, Some(Event::Connected));
//! let (socket, mut answer) = peripheral.output().next_write().unwrap();
//! assert_eq!(renode.receive(socket, &mut BytesMut::from(answer))?, Some(EmulatorEvent::Connected));
//!
//! renode.read(Width::DoubleWord, 0x10, 0)?;
//! let (socket, message) = renode.output().next_write().unwrap();
//! let read = peripheral.receive(socket, &mut BytesMut::from(message))?;
//! assert_eq!(read, Some(Event::Read { width: Width::DoubleWord, address: 0x10, index: 0 }));
//! peripheral.answer(Answer::Value(0x3231_3030))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Times are Renode's: a tick says how many units of Renode's choice have passed (a peripheral in SystemVerilog
//! takes them as nanoseconds). Renode waits for an answer for 3 s of the host's time, unless another `timeout`
//! is set.

use bytes::{Buf, Bytes, BytesMut};

use super::{
    Action, LogLevel, MAX_LOG, MESSAGE, Message, NO_INDEX, Output, Rule, SendError, Socket, Violation, Width,
};

/// Event that came from Renode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The handshake; it is answered.
    Connected,
    /// Answer with [`Connection::answer`]: a value, or failed.
    Read {
        /// Width of the access.
        width: Width,
        /// The offset in the peripheral's window.
        address: u64,
        /// Index of the peripheral.
        index: i32,
    },
    /// Answer with [`Connection::answer`]: done or failed.
    Write {
        /// Width of the access.
        width: Width,
        /// The offset in the peripheral's window.
        address: u64,
        /// The value, no wider than `width`.
        data: u64,
        /// Index of the peripheral.
        index: i32,
    },
    /// An input of the peripheral has a level. Answer with [`Connection::answer`]: done or failed.
    Input {
        /// Number of the input.
        line: u64,
        /// True if the input is high.
        level: bool,
        /// Index of the peripheral.
        index: i32,
    },
    /// Time passes. When the peripheral has reached the end of the tick, and has sent its interrupts, answer
    /// with [`Connection::ticked`].
    Tick {
        /// Ticks, in units of Renode's choice.
        ticks: u64,
    },
    /// Reset to the initial state. No answer.
    Reset,
    /// The answer to [`Connection::get`].
    Got {
        /// The value, no wider than requested. Renode reads 0 where there is no memory.
        data: u64,
    },
    /// The answer to [`Connection::push`].
    Pushed,
    /// The end; it is answered. When the answer is written close both sockets.
    Disconnected,
}

/// The answer to a read, a write or an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Value: the answer to a read.
    Value(u64),
    /// Done: the answer to a write or an input.
    Done,
    /// Failed: Renode logs a warning, and reads 0.
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionState {
    Greeting,
    Open,
    Over,
}

/// A request of Renode's that waits for its answer.
#[derive(Debug, Clone, Copy)]
struct Pending {
    /// A write and an input are answered alike.
    is_read: bool,
    address: u64,
    index: i32,
}

/// A request of ours that waits for its answer.
#[derive(Debug, Clone, Copy)]
enum BusAccess {
    Get(Width),
    Push,
}

/// A peripheral's side of one session.
#[derive(Debug)]
pub struct Connection {
    state: ConnectionState,
    /// Read, write or input to be answered.
    pending: Option<Pending>,
    /// True if a tick is to be answered.
    ticking: bool,
    bus_access: Option<BusAccess>,
    /// True if Renode broke a rule.
    is_broken: bool,
    messages: u64,
    output: Output,
}

impl Default for Connection {
    fn default() -> Self {
        Self::new()
    }
}

impl Connection {
    /// A peripheral that waits for the handshake.
    pub fn new() -> Self {
        Self {
            state: ConnectionState::Greeting,
            pending: None,
            ticking: false,
            bus_access: None,
            is_broken: false,
            messages: 0,
            output: Output::default(),
        }
    }

    /// Returns the bytes to be written.
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Returns true if there is a session.
    pub fn is_open(&self) -> bool {
        self.state == ConnectionState::Open
    }

    /// Returns true if a get or a push waits for its answer. Renode may send requests meanwhile, and they have to be
    /// answered.
    pub fn is_on_bus(&self) -> bool {
        self.bus_access.is_some()
    }

    /// Takes the next event off the front of the bytes from that socket. `Ok(None)`: more bytes are needed.
    /// After the end input is discarded.
    ///
    /// # Errors
    /// [`Violation`]: Renode broke a rule. The session is over, but for answers to what came before it.
    pub fn receive(&mut self, socket: Socket, input: &mut BytesMut) -> Result<Option<Event>, Violation> {
        if self.state == ConnectionState::Over || self.is_broken {
            input.clear();
            return Ok(None);
        }
        if socket == Socket::Async && !input.is_empty() {
            let mut bytes = [0; MESSAGE];
            let length = input.len().min(MESSAGE);
            bytes[..length].copy_from_slice(&input[..length]);
            self.is_broken = true;
            return Err(Violation { rule: Rule::SilentAsync, socket, message: 1, bytes });
        }
        while let Some(&bytes) = input.first_chunk::<MESSAGE>() {
            input.advance(MESSAGE);
            self.messages += 1;
            match Message::parse(&bytes).and_then(|message| self.take(message)) {
                Ok(None) => {}
                Ok(event) => return Ok(event),
                Err(rule) => {
                    self.is_broken = true;
                    return Err(Violation { rule, socket, message: self.messages, bytes });
                }
            }
        }
        Ok(None)
    }

    /// `None`: there is nothing to tell.
    fn take(&mut self, message: Message) -> Result<Option<Event>, Rule> {
        let Message { action, address, data, index } = message;
        // Both known implementations warn, and go on.
        if action == Action::Invalid {
            return Ok(None);
        }
        match (self.state, action) {
            (ConnectionState::Greeting, Action::Handshake) => {
                self.state = ConnectionState::Open;
                self.output.push(Socket::Main, Message::plain(Action::Handshake));
                return Ok(Some(Event::Connected));
            }
            (ConnectionState::Greeting, _) | (_, Action::Handshake) => return Err(Rule::Handshake),
            _ => {}
        }
        let event = match (action, self.bus_access) {
            (Action::WriteToBus, Some(BusAccess::Get(width))) => {
                self.bus_access = None;
                Event::Got { data: width.of(data) }
            }
            (Action::PushConfirmation, Some(BusAccess::Push)) => {
                self.bus_access = None;
                Event::Pushed
            }
            (Action::WriteToBus | Action::PushConfirmation, Some(_)) => return Err(Rule::WrongAnswer),
            (Action::PushConfirmation, None) => return Err(Rule::UnexpectedAnswer),
            (Action::TickClock, _) if self.ticking => return Err(Rule::OneTick),
            (Action::TickClock, _) => {
                self.ticking = true;
                Event::Tick { ticks: data }
            }
            (Action::ResetPeripheral, _) => Event::Reset,
            (Action::Disconnect, _) => {
                self.state = ConnectionState::Over;
                self.output.push(Socket::Main, Message::plain(Action::Ok));
                Event::Disconnected
            }
            (Action::Interrupt, _) => Event::Input { line: address, level: data != 0, index },
            // Of old versions of Renode, which knew no other width.
            (Action::ReadFromBus, _) => Event::Read { width: Width::DoubleWord, address, index },
            (Action::WriteToBus, None) => {
                let width = Width::DoubleWord;
                Event::Write { width, address, data: width.of(data), index }
            }
            _ => match (action.width(Action::read), action.width(Action::write)) {
                (Some(width), _) => Event::Read { width, address, index },
                (_, Some(width)) => Event::Write { width, address, data: width.of(data), index },
                _ => return Err(Rule::NotForPeripheral),
            },
        };
        if matches!(event, Event::Read { .. } | Event::Write { .. } | Event::Input { .. }) {
            if self.pending.is_some() {
                return Err(Rule::OneRequest);
            }
            self.pending = Some(Pending { is_read: matches!(event, Event::Read { .. }), address, index });
        }
        Ok(Some(event))
    }

    /// Answers the last read, write or input.
    ///
    /// # Errors
    /// [`SendError`]: the caller's mistakes.
    pub fn answer(&mut self, answer: Answer) -> Result<(), SendError> {
        self.need_session()?;
        let unasked = |what| Err(SendError::Unasked { what });
        let Some(Pending { is_read, address, index }) = self.pending else { return unasked("an answer") };
        let (action, address, data) = match answer {
            Answer::Value(value) if is_read => (Action::ReadFromBus, address, value),
            Answer::Value(_) => return unasked("a value"),
            Answer::Done if is_read => return unasked("done"),
            Answer::Done => (Action::Ok, 0, 0),
            Answer::Failed => (Action::Error, 0, 0),
        };
        self.pending = None;
        self.output.push(Socket::Main, Message { action, address, data, index });
        Ok(())
    }

    /// Tells that the tick is done. Send interrupts within it before.
    ///
    /// # Errors
    /// [`SendError`]: the caller's mistakes.
    pub fn ticked(&mut self) -> Result<(), SendError> {
        self.need_session()?;
        if !self.ticking {
            return Err(SendError::Unasked { what: "the end of a tick" });
        }
        self.ticking = false;
        self.output.push(Socket::Async, Message::plain(Action::TickClock));
        Ok(())
    }

    /// Sends a new level of an interrupt line. Its number is the connection's, not a peripheral's.
    ///
    /// # Errors
    /// [`SendError::NoSession`].
    pub fn interrupt(&mut self, line: u64, level: bool) -> Result<(), SendError> {
        let told = Message { address: line, data: level.into(), ..Message::plain(Action::Interrupt) };
        self.tell(told)
    }

    /// Reads from Renode's bus. The index is that of the peripheral that reads: 0 if there is one. For an
    /// unknown index Renode never answers.
    ///
    /// # Errors
    /// [`SendError::Busy`]: one get or push at a time.
    pub fn get(&mut self, width: Width, address: u64, index: i32) -> Result<(), SendError> {
        let message = Message { action: Action::get(width), address, data: 0, index };
        self.access_bus(BusAccess::Get(width), message)
    }

    /// Writes to Renode's bus the bits of data that the width selects. Index as for [`get`](Self::get).
    ///
    /// # Errors
    /// [`SendError::Busy`]: one get or push at a time.
    pub fn push(&mut self, width: Width, address: u64, data: u64, index: i32) -> Result<(), SendError> {
        let message = Message { action: Action::push(width), address, data: width.of(data), index };
        self.access_bus(BusAccess::Push, message)
    }

    fn access_bus(&mut self, access: BusAccess, message: Message) -> Result<(), SendError> {
        if self.is_broken {
            return Err(SendError::NoSession);
        }
        if self.bus_access.is_some() {
            return Err(SendError::Busy);
        }
        self.tell(message)?;
        self.bus_access = Some(access);
        Ok(())
    }

    /// Puts a line into Renode's log: cut to [`MAX_LOG`] bytes, and with `?` in place of characters that are
    /// not ASCII, because Renode reads only ASCII. An empty line is not sent.
    ///
    /// # Errors
    /// [`SendError::NoSession`].
    pub fn log(&mut self, level: LogLevel, text: &str) -> Result<(), SendError> {
        let ascii = |letter: char| u8::try_from(letter).ok().filter(u8::is_ascii).unwrap_or(b'?');
        let text: Bytes = text.chars().take(MAX_LOG).map(ascii).collect();
        if text.is_empty() {
            return self.need_session();
        }
        let (address, data) = (text.len() as u64, level as i64 as u64);
        self.tell(Message { action: Action::LogMessage, address, data, index: NO_INDEX })?;
        self.output.push_text(text);
        Ok(())
    }

    /// Gives up: Renode ends the session and stops the CPU that uses it.
    ///
    /// # Errors
    /// [`SendError::NoSession`].
    pub fn fail(&mut self) -> Result<(), SendError> {
        self.tell(Message::plain(Action::Error))?;
        self.state = ConnectionState::Over;
        Ok(())
    }

    fn tell(&mut self, message: Message) -> Result<(), SendError> {
        self.need_session()?;
        self.output.push(Socket::Async, message);
        Ok(())
    }

    fn need_session(&self) -> Result<(), SendError> {
        match self.is_open() {
            true => Ok(()),
            false => Err(SendError::NoSession),
        }
    }
}

#[cfg(test)]
mod tests;
