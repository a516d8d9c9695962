//! Renode's side, as Renode behaves: for tests of peripherals, ours and others. No socket and no clock.

use bytes::{Buf, Bytes, BytesMut};

use super::rule::MAX_LOG_TAKEN;
use super::{Action, MESSAGE, Message, Output, Rule, SendError, Socket, Violation, Width};

/// Event that came from the peripheral.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmulatorEvent {
    /// The handshake is answered: there is a session.
    Connected,
    /// The answer to [`Emulator::read`].
    Value {
        /// The value, no wider than requested.
        data: u64,
    },
    /// The answer to [`Emulator::write`] or [`Emulator::input`].
    Done,
    /// A read, a write or an input failed.
    Failed,
    /// The tick is done.
    Ticked {
        /// 0; of a CPU, the instructions executed.
        data: u64,
    },
    /// An interrupt line has a level.
    Interrupt {
        /// Number of the line.
        line: u64,
        /// True if the line is high.
        level: bool,
    },
    /// Answer with [`Emulator::give`].
    Get {
        /// Width of the access.
        width: Width,
        /// Address on Renode's bus.
        address: u64,
        /// Index of the peripheral that reads.
        index: i32,
    },
    /// Answer with [`Emulator::confirm`].
    Push {
        /// Width of the access.
        width: Width,
        /// Address on Renode's bus.
        address: u64,
        /// The value, no wider than `width`.
        data: u64,
        /// Index of the peripheral that writes.
        index: i32,
    },
    /// A line for the log.
    Log {
        /// -1 noisy, 0 debug, 1 info, 2 warning, 3 error.
        level: i64,
        /// Text as it came.
        text: Bytes,
    },
    /// The peripheral has given up. The session is over.
    GaveUp,
    /// The end is answered. The session is over.
    Disconnected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmulatorState {
    Greeting,
    Open,
    Ending,
    Over,
}

/// A request on main that waits for its answer.
#[derive(Debug, Clone, Copy)]
enum PendingRequest {
    Read(Width),
    Write,
}

/// A get or a push to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BusAccess {
    Get,
    Push,
}

/// Renode's side of one session.
#[derive(Debug)]
pub struct Emulator {
    state: EmulatorState,
    asked: Option<PendingRequest>,
    ticking: bool,
    bus_access: Option<(BusAccess, i32)>,
    messages: [u64; 2],
    output: Output,
}

impl Default for Emulator {
    fn default() -> Self {
        Self::new()
    }
}

impl Emulator {
    /// A Renode to which both sockets have connected; its handshake is in the output.
    pub fn new() -> Self {
        let mut output = Output::default();
        output.push(Socket::Main, Message::plain(Action::Handshake));
        let state = EmulatorState::Greeting;
        Self { state, asked: None, ticking: false, bus_access: None, messages: [0; 2], output }
    }

    /// Returns the bytes to be written.
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Returns true if there is a session.
    pub fn is_open(&self) -> bool {
        self.state == EmulatorState::Open
    }

    /// Takes the next event off the front of the bytes from that socket. `Ok(None)`: more bytes are needed.
    /// After the end input is discarded.
    ///
    /// # Errors
    /// [`Violation`]: the peripheral broke a rule. The session is over.
    pub fn receive(
        &mut self,
        socket: Socket,
        input: &mut BytesMut,
    ) -> Result<Option<EmulatorEvent>, Violation> {
        while let Some(&bytes) = input.first_chunk::<MESSAGE>() {
            if self.state == EmulatorState::Over {
                break;
            }
            let taken = Message::parse(&bytes).and_then(|message| {
                if socket == Socket::Async && message.action == Action::LogMessage {
                    return self.take_log(message, input);
                }
                input.advance(MESSAGE);
                let heard = match socket {
                    _ if message.action == Action::Invalid => return Ok(TakeOutcome::Nothing),
                    Socket::Main => self.take_answer(message)?,
                    Socket::Async => self.take_request(message)?,
                };
                Ok(TakeOutcome::Event(heard))
            });
            let messages = &mut self.messages[usize::from(socket == Socket::Async)];
            match taken {
                Ok(TakeOutcome::TooLittle) => return Ok(None),
                Ok(TakeOutcome::Nothing) => *messages += 1,
                Ok(TakeOutcome::Event(heard)) => {
                    *messages += 1;
                    return Ok(Some(heard));
                }
                Err(rule) => {
                    self.state = EmulatorState::Over;
                    return Err(Violation { rule, socket, message: *messages + 1, bytes });
                }
            }
        }
        if self.state == EmulatorState::Over {
            input.clear();
        }
        Ok(None)
    }

    fn take_answer(&mut self, Message { action, data, .. }: Message) -> Result<EmulatorEvent, Rule> {
        match (self.state, action) {
            (EmulatorState::Greeting, Action::Handshake) => {
                self.state = EmulatorState::Open;
                return Ok(EmulatorEvent::Connected);
            }
            (EmulatorState::Greeting, _) | (_, Action::Handshake) => return Err(Rule::Handshake),
            // A request that was under way when the end was said may still be answered.
            (EmulatorState::Ending, Action::Ok) if self.asked.is_none() => return Ok(self.end()),
            _ => {}
        }
        let answer = match (action, self.asked) {
            (Action::ReadFromBus | Action::Ok | Action::Error, None) => return Err(Rule::UnexpectedAnswer),
            (Action::ReadFromBus, Some(PendingRequest::Read(width))) => {
                EmulatorEvent::Value { data: width.of(data) }
            }
            (Action::Ok, Some(PendingRequest::Write)) => EmulatorEvent::Done,
            (Action::Error, Some(_)) => EmulatorEvent::Failed,
            (Action::ReadFromBus | Action::Ok, Some(_)) => return Err(Rule::WrongAnswer),
            _ => return Err(Rule::MainAnswersOnly),
        };
        self.asked = None;
        Ok(answer)
    }

    fn take_request(&mut self, message: Message) -> Result<EmulatorEvent, Rule> {
        let Message { action, address, data, index } = message;
        let bus_access = match (action.width(Action::get), action.width(Action::push)) {
            (Some(width), _) => Some((BusAccess::Get, EmulatorEvent::Get { width, address, index })),
            (_, Some(width)) => {
                Some((BusAccess::Push, EmulatorEvent::Push { width, address, data: width.of(data), index }))
            }
            _ => None,
        };
        Ok(match action {
            _ if self.state == EmulatorState::Greeting => return Err(Rule::Handshake),
            Action::TickClock if !self.ticking => return Err(Rule::TickUnasked),
            Action::TickClock => {
                self.ticking = false;
                EmulatorEvent::Ticked { data }
            }
            Action::Interrupt => EmulatorEvent::Interrupt { line: address, level: data != 0 },
            Action::Error => {
                self.state = EmulatorState::Over;
                EmulatorEvent::GaveUp
            }
            // The library in C++ answers here.
            Action::Ok if self.state == EmulatorState::Ending => self.end(),
            _ => match bus_access {
                Some(_) if self.bus_access.is_some() => return Err(Rule::OneBusAccess),
                Some((access, heard)) => {
                    self.bus_access = Some((access, index));
                    heard
                }
                None => return Err(Rule::NotForRenode),
            },
        })
    }

    fn take_log(&mut self, message: Message, input: &mut BytesMut) -> Result<TakeOutcome, Rule> {
        if self.state == EmulatorState::Greeting {
            return Err(Rule::Handshake);
        }
        if message.address > MAX_LOG_TAKEN {
            return Err(Rule::LogTooLong);
        }
        let length = message.address as usize;
        if input.len() < MESSAGE + length {
            return Ok(TakeOutcome::TooLittle);
        }
        input.advance(MESSAGE);
        let text = input.split_to(length).freeze();
        Ok(TakeOutcome::Event(EmulatorEvent::Log { level: message.data as i64, text }))
    }

    fn end(&mut self) -> EmulatorEvent {
        self.state = EmulatorState::Over;
        EmulatorEvent::Disconnected
    }

    /// Reads from a peripheral.
    ///
    /// # Errors
    /// [`SendError::Busy`]: one request at a time.
    pub fn read(&mut self, width: Width, address: u64, index: i32) -> Result<(), SendError> {
        self.ask(
            PendingRequest::Read(width),
            Message { action: Action::read(width), address, data: 0, index },
        )
    }

    /// Writes to a peripheral the bits of data that the width selects.
    ///
    /// # Errors
    /// [`SendError::Busy`]: one request at a time.
    pub fn write(&mut self, width: Width, address: u64, data: u64, index: i32) -> Result<(), SendError> {
        let data = width.of(data);
        self.ask(PendingRequest::Write, Message { action: Action::write(width), address, data, index })
    }

    /// Sets an input of a peripheral.
    ///
    /// # Errors
    /// [`SendError::Busy`]: one request at a time.
    pub fn input(&mut self, line: u64, level: bool) -> Result<(), SendError> {
        let message = Message { address: line, data: level.into(), ..Message::plain(Action::Interrupt) };
        self.ask(PendingRequest::Write, message)
    }

    fn ask(&mut self, asked: PendingRequest, message: Message) -> Result<(), SendError> {
        if self.asked.is_some() {
            return Err(SendError::Busy);
        }
        self.say(message)?;
        self.asked = Some(asked);
        Ok(())
    }

    /// Lets time pass, in units that the peripheral knows.
    ///
    /// # Errors
    /// [`SendError::Busy`]: one tick at a time.
    pub fn tick(&mut self, ticks: u64) -> Result<(), SendError> {
        if self.ticking {
            return Err(SendError::Busy);
        }
        self.say(Message { data: ticks, ..Message::plain(Action::TickClock) })?;
        self.ticking = true;
        Ok(())
    }

    /// Resets all peripherals. There is no answer.
    ///
    /// # Errors
    /// [`SendError::NoSession`].
    pub fn reset(&mut self) -> Result<(), SendError> {
        self.say(Message::plain(Action::ResetPeripheral))
    }

    /// Ends the session.
    ///
    /// # Errors
    /// [`SendError::NoSession`].
    pub fn disconnect(&mut self) -> Result<(), SendError> {
        self.say(Message::plain(Action::Disconnect))?;
        self.state = EmulatorState::Ending;
        Ok(())
    }

    /// Answers a get.
    ///
    /// # Errors
    /// [`SendError::Unasked`].
    pub fn give(&mut self, data: u64) -> Result<(), SendError> {
        self.answer(BusAccess::Get, Message { data, ..Message::plain(Action::WriteToBus) })
    }

    /// Answers a push.
    ///
    /// # Errors
    /// [`SendError::Unasked`].
    pub fn confirm(&mut self) -> Result<(), SendError> {
        self.answer(BusAccess::Push, Message::plain(Action::PushConfirmation))
    }

    fn answer(&mut self, access: BusAccess, message: Message) -> Result<(), SendError> {
        match self.bus_access {
            Some((asked, index)) if asked == access => {
                self.say(Message { index, ..message })?;
                self.bus_access = None;
                Ok(())
            }
            _ => Err(SendError::Unasked { what: message.action.name() }),
        }
    }

    fn say(&mut self, message: Message) -> Result<(), SendError> {
        if !self.is_open() {
            return Err(SendError::NoSession);
        }
        self.output.push(Socket::Main, message);
        Ok(())
    }
}

/// Result of taking a message.
enum TakeOutcome {
    /// More bytes are needed.
    TooLittle,
    Nothing,
    Event(EmulatorEvent),
}
