//! Renode, with the platform as its co-simulated peripheral: Renode is the CPU and the memory, and controls
//! time.
//!
//! Stream 0 is the main socket, stream 1 the async one. A tick of *n* lets simulated time move by *n*
//! nanoseconds beyond the end of the previous tick. Accesses to registers take the time that they take in the
//! platform, and the following ticks are shorter by it, as in Renode's own library for simulators in
//! SystemVerilog.

mod transfers;

use bytes::BytesMut;
use vp_core::Time;
use vp_hub::{
    Access, Completion, Failure, FailureKind, HORIZON, Input, Operation, Output, PartyCommand, PortId, Role,
    Until,
};
use vp_models::platform::PortKind;
use vp_protocols::renode::{Answer, Connection, Event, LogLevel, SendError, Socket, Violation, Width};

use super::hub_inputs::HubInputs;
use super::{Adapter, SessionEnd, SessionStart};
use transfers::{Transfer, Transfers};

/// The stream that is the main socket.
pub(crate) const MAIN: usize = 0;
/// The stream that is the async socket.
pub(crate) const ASYNC: usize = 1;

/// Milliseconds without a handshake, after which a peer is given up. Renode's own library waits as long.
const HANDSHAKE: u32 = 10_000;

/// Commands of the hub under way, before Renode is read no further: only resets are not answered.
const WAITING: usize = 64;

/// Purpose of a command of the hub.
enum Purpose {
    /// To take a port, of that name.
    Attach(&'static str),
    /// For a word of an access to registers: how far its value is shifted.
    Word {
        shift: u32,
    },
    Tick,
    Reset,
}

/// An access of Renode's to registers. There is one at a time.
struct RegisterAccess {
    is_read: bool,
    value: u64,
    /// Number of words that are not done.
    words: u32,
    failure: Option<Failure>,
}

/// The adapter.
pub(crate) struct Renode {
    connection: Connection,
    /// The memory interfaces that are masters on Renode's bus.
    masters: Vec<String>,
    registers: PortId,
    /// The lines; the first is 0 for Renode.
    lines: Vec<PortId>,
    /// The levels that were sent to Renode.
    levels: Vec<bool>,
    hub: HubInputs<Purpose>,
    access: Option<RegisterAccess>,
    /// The end of the ticks up to now, in simulated time.
    time: Time,
    transfers: Transfers,
    /// The index by which Renode accesses this peripheral's registers; the peripheral uses it for its own
    /// accesses to Renode's bus.
    index: i32,
    /// Milliseconds of silence before the handshake.
    silence: u32,
    /// Bytes that are being written, and the stream to which they go.
    writing: (usize, BytesMut),
}

impl From<Violation> for SessionEnd {
    fn from(violation: Violation) -> SessionEnd {
        SessionEnd::Wrong(violation.to_string())
    }
}

impl From<SendError> for SessionEnd {
    fn from(error: SendError) -> SessionEnd {
        SessionEnd::Wrong(format!("cannot tell Renode: {error}"))
    }
}

impl Renode {
    pub(crate) fn new(masters: Vec<String>) -> Renode {
        Renode {
            connection: Connection::new(),
            masters,
            registers: PortId(0),
            lines: Vec::new(),
            levels: Vec::new(),
            hub: HubInputs::new(),
            access: None,
            time: Time::ZERO,
            transfers: Transfers::default(),
            index: 0,
            silence: 0,
            writing: (MAIN, BytesMut::new()),
        }
    }

    // What Renode wants.

    fn event(&mut self, event: Event) -> Result<(), SessionEnd> {
        match event {
            Event::Connected => Ok(()),
            Event::Read { width, address, index } => self.access(width, address, None, index),
            Event::Write { width, address, data, index } => self.access(width, address, Some(data), index),
            Event::Input { line, .. } => self.refuse(&format!("the platform has no input {line}")),
            Event::Tick { ticks } => {
                let picoseconds =
                    ticks.checked_mul(1000).and_then(|ticks| ticks.checked_add(self.time.as_ps()));
                self.time = picoseconds.map(Time::ps).filter(|time| *time <= HORIZON).ok_or_else(|| {
                    SessionEnd::Wrong(format!(
                        "a tick of {ticks} ns, behind {} that have passed, is beyond all simulated time",
                        self.time
                    ))
                })?;
                self.hub.command(PartyCommand::Advance(Until::Time(self.time)), Purpose::Tick);
                Ok(())
            }
            Event::Reset => {
                self.hub.command(PartyCommand::Reset, Purpose::Reset);
                Ok(())
            }
            Event::Got { data } => self.transferred(data),
            Event::Pushed => self.transferred(0),
            Event::Disconnected => Err(SessionEnd::Fine("Renode has disconnected".to_owned())),
        }
    }

    /// Fails what Renode has asked for; its log says why.
    fn refuse(&mut self, why: &str) -> Result<(), SessionEnd> {
        self.connection.log(LogLevel::Error, why)?;
        Ok(self.connection.answer(Answer::Failed)?)
    }

    /// Begins an access to registers.
    fn access(
        &mut self,
        width: Width,
        address: u64,
        written: Option<u64>,
        index: i32,
    ) -> Result<(), SessionEnd> {
        self.index = index.max(0);
        let is_read = written.is_none();
        let verb = if is_read { "read" } else { "write" };
        let bytes = width.bytes();
        if bytes < 4 || !address.is_multiple_of(4) {
            return self.refuse(&format!(
                "a {verb} of {bytes} bytes at {address:#x}: registers are words of 4 bytes, at multiples of 4"
            ));
        }
        let words = bytes / 4;
        self.access = Some(RegisterAccess { is_read, value: 0, words, failure: None });
        for word in 0..words {
            let (address, shift) = (address.wrapping_add(u64::from(4 * word)), 32 * word);
            let operation = match written {
                Some(value) => Operation::RegisterWrite { address, value: (value >> shift) as u32 },
                None => Operation::RegisterRead { address },
            };
            let access = Access { port: self.registers, at: None, operation };
            self.hub.command(PartyCommand::Access(access), Purpose::Word { shift });
        }
        Ok(())
    }

    fn word_done(&mut self, shift: u32, result: Result<Completion, Failure>) -> Result<(), SessionEnd> {
        let Some(access) = &mut self.access else { return Ok(()) };
        match result {
            Ok(Completion::Value(value)) => access.value |= u64::from(value) << shift,
            Ok(_) => {}
            Err(failure) => access.failure = Some(failure),
        }
        access.words -= 1;
        if access.words > 0 {
            return Ok(());
        }
        match self.access.take() {
            Some(RegisterAccess { failure: Some(failure), .. }) => self.refuse(&failure.to_string()),
            Some(RegisterAccess { is_read: true, value, .. }) => {
                Ok(self.connection.answer(Answer::Value(value))?)
            }
            _ => Ok(self.connection.answer(Answer::Done)?),
        }
    }

    // What the platform wants of Renode's bus.

    fn transferred(&mut self, value: u64) -> Result<(), SessionEnd> {
        self.transfers.done(value);
        self.transfer()
    }

    /// Goes on with what the platform wants of the bus, if that is free.
    fn transfer(&mut self) -> Result<(), SessionEnd> {
        if self.connection.is_on_bus() {
            return Ok(());
        }
        while let Some((request, read)) = self.transfers.take_finished() {
            self.hub.answer(request, Ok(read));
        }
        match self.transfers.next() {
            Some(Transfer { width, address, written: Some(value) }) => {
                Ok(self.connection.push(width, address, value, self.index)?)
            }
            Some(Transfer { width, address, written: None }) => {
                Ok(self.connection.get(width, address, self.index)?)
            }
            None => Ok(()),
        }
    }
}

impl Adapter for Renode {
    fn begin(&mut self, beginning: &SessionStart<'_>) -> Result<(), SessionEnd> {
        self.hub.party = beginning.party;
        self.time = beginning.now;
        let names = || beginning.ports.iter().filter(|port| port.kind == PortKind::Axi).map(|port| port.name);
        if let Some(unknown) = self.masters.iter().find(|port| !names().any(|name| name == *port)) {
            let names: Vec<&str> = names().collect();
            return Err(SessionEnd::Wrong(format!(
                "the platform has no memory interface {unknown}: it has {}",
                names.join(", ")
            )));
        }
        for (index, port) in beginning.ports.iter().enumerate() {
            let index = PortId(index as u16);
            let role = match port.kind {
                PortKind::Registers => {
                    self.registers = index;
                    Role::Initiator
                }
                PortKind::Irq => {
                    self.lines.push(index);
                    Role::Sink
                }
                PortKind::Axi if self.masters.iter().any(|of| of == port.name) => Role::Target,
                PortKind::Axi | PortKind::Stream => continue,
            };
            let attach = PartyCommand::Attach { port: index, role, range: None };
            self.hub.command(attach, Purpose::Attach(port.name));
        }
        self.levels = vec![false; self.lines.len()];
        Ok(())
    }

    fn is_greeted(&self, _: &[u8]) -> bool {
        // We have connected to it.
        true
    }

    fn receive(&mut self, stream: usize, bytes: &mut BytesMut, _: Time) -> Result<(), SessionEnd> {
        let socket = if stream == MAIN { Socket::Main } else { Socket::Async };
        while self.takes_more() {
            match self.connection.receive(socket, bytes)? {
                Some(event) => self.event(event)?,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    fn tell(&mut self, output: Output, _: Time) -> Result<(), SessionEnd> {
        match output {
            Output::Completed { tag, result, .. } => match self.hub.commands.remove(&tag) {
                Some(Purpose::Attach(port)) => {
                    result.map(drop).map_err(|failure| SessionEnd::Wrong(format!("{port}: {failure}")))
                }
                Some(Purpose::Word { shift }) => self.word_done(shift, result),
                Some(Purpose::Tick) => {
                    // One that a reset has cut short is made up for by the next: time is a sum.
                    if let Err(failure) = result
                        && failure.kind != FailureKind::Cancelled
                    {
                        self.connection.log(LogLevel::Error, &failure.to_string())?;
                    }
                    Ok(self.connection.ticked()?)
                }
                Some(Purpose::Reset) => result
                    .map(drop)
                    .map_err(|failure| SessionEnd::Wrong(format!("a reset of the platform: {failure}"))),
                None => Ok(()),
            },
            Output::Request { request, access, .. } => {
                self.transfers.push(request, access);
                self.transfer()
            }
            Output::Level { port, level, .. } => {
                if let Some(line) = self.lines.iter().position(|of| *of == port)
                    // A line is low at the beginning, for Renode as well.
                    && std::mem::replace(&mut self.levels[line], level) != level
                    && self.connection.is_open()
                {
                    self.connection.interrupt(line as u64, level)?;
                }
                Ok(())
            }
            Output::Warning { text, .. } if self.connection.is_open() => {
                Ok(self.connection.log(LogLevel::Warning, &text)?)
            }
            _ => Ok(()),
        }
    }

    fn minds_silence(&self) -> bool {
        !self.connection.is_open()
    }

    fn is_silent(&mut self) -> Result<(), SessionEnd> {
        self.silence += 1;
        match self.silence {
            ..HANDSHAKE => Ok(()),
            _ => Err(SessionEnd::Wrong("no handshake came on the main socket in 10 s".to_owned())),
        }
    }

    fn next_input(&mut self) -> Option<Input> {
        self.hub.next()
    }

    fn next_output(&mut self) -> Option<(usize, &mut BytesMut)> {
        if self.writing.1.is_empty() {
            let (socket, message) = self.connection.output().next_write()?;
            let stream = if socket == Socket::Main { MAIN } else { ASYNC };
            self.writing = (stream, BytesMut::from(message));
        }
        let (stream, bytes) = &mut self.writing;
        Some((*stream, bytes))
    }

    fn takes_more(&self) -> bool {
        self.hub.commands.len() < WAITING
    }

    fn owes_answers(&self) -> bool {
        // An access to its bus would not be answered.
        let owes = |purpose: &Purpose| matches!(purpose, Purpose::Word { .. } | Purpose::Tick);
        !self.connection.is_on_bus() && self.hub.commands.values().any(owes)
    }

    fn is_under_way(&self) -> bool {
        self.connection.is_on_bus() || !self.hub.commands.is_empty()
    }

    fn gone(&self) -> SessionEnd {
        SessionEnd::Wrong("Renode is gone without a disconnect".to_owned())
    }
}
