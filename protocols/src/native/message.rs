//! The messages of an open session.
//!
//! The order of the variants of every enum is their number on the wire: new ones go to the end, none is ever removed.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{
    AccessKind, Activity, DebugCommand, DebugState, Driven, ErrorCode, FrameRule, Hello, MAX_TEXT, PortId,
    Promised, Reaction, Refused, Role, SessionId, StopReport, Time, TimeMode, Until, Welcome, Why,
};

/// Identifies a request until it is answered. Chosen by the sender; each direction has its own ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId(pub u32);

/// The header of a frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// Client → server, first of all.
    Hello(Box<Hello>),
    /// Server → client: the session is open.
    Welcome(Box<Welcome>),
    /// Server → client: there will be no session.
    Refused(Refused),
    /// Last frame of its sender, in both directions. Open requests are dropped.
    Bye(Bye),
    /// Request in either direction, answered by exactly one reply.
    Request {
        /// Chosen by the sender, different from those of its open requests.
        id: RequestId,
        /// Request to carry out.
        request: Request,
    },
    /// Answer to a request, either way.
    Reply {
        /// The request's.
        id: RequestId,
        /// Simulated time at which the request took effect.
        time: Time,
        /// The answer.
        reply: Reply,
    },
    /// Write that is never answered, in both directions.
    Posted(Posted),
    /// Event, either way.
    Notice(Notice),
    /// Event that a side of a timed port drives, in both directions. Needs
    /// [`Capabilities::PARTNERS`](super::Capabilities::PARTNERS).
    Driven(Driven),
    /// Promise of a partner, or to one. Needs
    /// [`Capabilities::PARTNERS`](super::Capabilities::PARTNERS).
    Promised(Promised),
}

/// The end of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bye {
    /// `None`: all is well. `Some`: the rule that the other side broke, or why the sender cannot go on.
    pub code: Option<ErrorCode>,
    /// Reason of the end, for people.
    pub reason: String,
}

/// A request. It is answered by the named reply, or by [`Reply::Failed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
pub enum Request {
    /// Client → server: take a role at a port. [`Reply::Done`].
    Attach(Attach),
    /// Client → server: give up a port. [`Reply::Done`].
    Detach {
        /// The port.
        port: PortId,
    },
    /// Initiator → target of a CSB port. [`Reply::Value`].
    RegisterRead(RegisterRead),
    /// Initiator → target of a CSB port. [`Reply::Done`], once the write has taken effect.
    RegisterWrite(RegisterWrite),
    /// Initiator → target of an AXI port. [`Reply::Data`].
    MemoryRead(MemoryRead),
    /// Initiator → target of an AXI port; payload is the data. [`Reply::Done`].
    MemoryWrite(MemoryWrite),
    /// Client → server, lockstep only: let time move. [`Reply::Reached`].
    Advance {
        /// End up to which time moves.
        until: Until,
    },
    /// Client → server: reset the whole platform. Time goes on, ports stay attached. [`Reply::Done`].
    Reset,
    /// Client → server: the state of the platform. [`Reply::Status`].
    Status,
    /// Client → server: counters. [`Reply::Statistics`].
    Statistics {
        /// Beginning of the counters' names; empty for all.
        prefix: String,
        /// Number of counters to skip: to read on when they do not fit one payload.
        first: u32,
    },
    /// Asks for a sign of life, in both directions. [`Reply::Pong`], at once and without moving time.
    Ping,
    /// Client → server: the memory of which I am the target, for the server to access directly.
    /// [`Reply::Done`].
    ShareMemory(ShareMemory),
    /// Client → server: I will access registers through this ring. [`Reply::Done`].
    OpenRing(OpenRing),
    /// Client → server, lockstep only: do everything that is due until then, and say when the next event is
    /// due. [`Reply::Stepped`]. Needs [`Capabilities::STEPPING`](super::Capabilities::STEPPING).
    Step {
        /// Time up to which time moves. If that time is over, the rest of the present moment is done.
        to: Time,
    },
    /// Client → server, before the first Attach: I have a clock of my own. Ports that this session attaches
    /// from then on are driven at clock edges, in both directions, and simulated time waits for its promises
    /// ([`partner`](super::partner)). [`Reply::Done`]. Needs
    /// [`Capabilities::PARTNERS`](super::Capabilities::PARTNERS).
    Clock {
        /// Edge at which the client's outputs follow its inputs.
        reaction: Reaction,
        /// Delay of everything that crosses the session's ports, in each direction, in clock edges.
        quantum: u32,
    },
    /// Client → server: authenticates with a token. [`Reply::Done`]: everything else may follow. Needs
    /// [`Capabilities::AUTHENTICATION`](super::Capabilities::AUTHENTICATION).
    Authenticate {
        /// Token by which the server knows the client.
        token: Token,
    },
    /// Client → server: the present state of the platform, or of the server. [`Reply::Statistics`]. Needs
    /// [`Capabilities::INSPECTION`](super::Capabilities::INSPECTION).
    Inspect {
        /// Number of the first, as in [`Request::Statistics`].
        first: u32,
    },
    /// Client → server: the contents of registers, without the side effects of a read. [`Reply::Data`]: the
    /// words, little endian. Needs [`Capabilities::INSPECTION`](super::Capabilities::INSPECTION).
    RegisterPeek(RegisterPeek),
    /// Client → server: writes a register now, without the bus. [`Reply::Done`]. Needs
    /// [`Capabilities::INSPECTION`](super::Capabilities::INSPECTION).
    RegisterPoke(RegisterPoke),
    /// Client → server: arms faults; the payload is a TOML text that describes them. [`Reply::Done`]: they are
    /// armed. Needs [`Capabilities::FAULTS`](super::Capabilities::FAULTS).
    Inject {
        /// Bytes of the text: at least 1.
        length: u32,
    },
    /// Client → server: a debugger's command; the command says which reply it has. Needs
    /// [`Capabilities::DEBUGGING`](super::Capabilities::DEBUGGING).
    Debug {
        /// Command to do.
        command: DebugCommand,
    },
    /// Client → server: the bytes of a saved platform. [`Reply::Saved`], with as many of the bytes as fit its
    /// payload. Needs [`Capabilities::SAVING`](super::Capabilities::SAVING).
    Save {
        /// The first byte. 0 saves the platform, if it is at rest; another number continues with what this
        /// session saved last.
        first: u64,
    },
    /// Client → server: wait until the platform is at rest, as far as it comes to rest without another request.
    /// [`Reply::Done`]. Needs [`Capabilities::DEVICE_STATE`](super::Capabilities::DEVICE_STATE).
    AwaitRest {
        /// Milliseconds of wall clock that the wait may take. 0: the platform is at rest now, or the request fails.
        patience: u32,
    },
    /// Client → server: the bytes of a platform that is saved without the memories outside. [`Reply::Saved`], as for
    /// [`Request::Save`]. Needs [`Capabilities::DEVICE_STATE`](super::Capabilities::DEVICE_STATE).
    SaveDevice {
        /// The first byte, as of [`Request::Save`].
        first: u64,
    },
    /// Client → server: a part of a saved platform, in the payload, for the platform to go on from. The parts come in
    /// order. With the last one the platform takes up the state, or stays as it is and the request fails.
    /// [`Reply::Done`]. Needs [`Capabilities::DEVICE_STATE`](super::Capabilities::DEVICE_STATE).
    RestoreDevice {
        /// Number of bytes that there are in all.
        total: u64,
        /// The first byte of the payload. 0 begins anew.
        first: u64,
        /// Bytes of the payload: at least 1.
        length: u32,
    },
}

/// Look at registers that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterPeek {
    /// A CSB port. The session need not be attached to it.
    pub port: PortId,
    /// Byte address of the first one.
    pub address: u64,
    /// The number of registers: at least 1, at most [`MAX_PEEKED`](super::MAX_PEEKED).
    pub count: u32,
    /// The register group; `None`: the group that accesses go to.
    pub group: Option<u8>,
}

impl RegisterPeek {
    /// Length of the words, in bytes.
    pub fn bytes(&self) -> u32 {
        self.count.saturating_mul(4)
    }
}

/// Write one 32-bit register at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterPoke {
    /// A CSB port. The session need not be attached to it.
    pub port: PortId,
    /// Byte address.
    pub address: u64,
    /// The word.
    pub value: u32,
}

/// A secret, at most [`MAX_TOKEN`](super::MAX_TOKEN) bytes long. [`Debug`](fmt::Debug) does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    /// A token with these characters.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// Returns the text, which must not be shown.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Memory of a target, for the server to map. Needs
/// [`Capabilities::SHARED_MEMORY`](super::Capabilities::SHARED_MEMORY).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareMemory {
    /// An AXI port that this session is attached to as target.
    pub port: PortId,
    /// Number of files that ride beside this message.
    pub files: u8,
    /// Places of the port's bytes in the files. Addresses that no region covers are accessed by messages.
    pub regions: Vec<SharedRegion>,
}

/// Bytes of a port's window that lie in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedRegion {
    /// First byte, in the port's window.
    pub base: u64,
    /// Length in bytes.
    pub size: u64,
    /// Number of the file, from 0.
    pub file: u8,
    /// Offset of the first byte in the file.
    pub offset: u64,
}

/// A ring in shared memory. Three files are sent with it: the memory, the server's bell, the client's bell.
/// Needs [`Capabilities::REGISTER_RING`](super::Capabilities::REGISTER_RING).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRing {
    /// A CSB port that this session is attached to as initiator.
    pub port: PortId,
    /// The interrupt line whose level the ring shows; this session is attached to it as sink.
    pub line: PortId,
}

/// Take a role at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attach {
    /// The port.
    pub port: PortId,
    /// Role of the client at the port.
    pub role: Role,
    /// The part of the port's window that the client takes. `None` for all of it. Only targets may take a part.
    pub range: Option<Range>,
}

/// A range of byte addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// First byte.
    pub base: u64,
    /// Length in bytes.
    pub size: u64,
}

/// Read one 32-bit register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterRead {
    /// A CSB port.
    pub port: PortId,
    /// Byte address.
    pub address: u64,
    /// Client → server: not earlier than this (a past time means now). Server → client: when it was issued.
    pub at: Option<Time>,
}

/// Write one 32-bit register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterWrite {
    /// A CSB port.
    pub port: PortId,
    /// Byte address.
    pub address: u64,
    /// The word.
    pub value: u32,
    /// Earliest time, as [`RegisterRead::at`].
    pub at: Option<Time>,
}

/// Read bytes of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRead {
    /// An AXI port.
    pub port: PortId,
    /// Byte address, of any alignment.
    pub address: u64,
    /// The number of bytes: at least 1, at most the payload limit.
    pub length: u32,
    /// Kind of access: whether it takes simulated time.
    pub access: AccessKind,
    /// The bus's transaction id. 0 when the initiator has none.
    pub axi_id: u16,
    /// Earliest time, as [`RegisterRead::at`].
    pub at: Option<Time>,
}

/// Write bytes of memory.
///
/// The payload is `length` bytes of data. With `strobes` they are followed by one bit for each byte: bit *i*
/// mod 8 of byte *i*/8 says whether data byte *i* is written. Bits beyond the last are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryWrite {
    /// An AXI port.
    pub port: PortId,
    /// Byte address, of any alignment.
    pub address: u64,
    /// The number of bytes, whether their strobes are set or not: at least 1.
    pub length: u32,
    /// Kind of access: whether it takes simulated time.
    pub access: AccessKind,
    /// The bus's transaction id. 0 when the initiator has none.
    pub axi_id: u16,
    /// True if strobes follow the data. Needs [`Capabilities::STROBES`](super::Capabilities::STROBES).
    pub strobes: bool,
    /// Earliest time, as [`RegisterRead::at`].
    pub at: Option<Time>,
}

impl MemoryWrite {
    /// Length the payload must have, in bytes.
    pub fn payload_length(&self) -> u64 {
        u64::from(self.length) + if self.strobes { u64::from(self.length.div_ceil(8)) } else { 0 }
    }

    /// Splits a payload into data and strobes, without a copy.
    ///
    /// For payloads of received frames, whose length was checked; of a shorter one it returns what is there.
    pub fn split(&self, payload: &Bytes) -> (Bytes, Option<Bytes>) {
        let data = payload.slice(..payload.len().min(self.length as usize));
        (data.clone(), self.strobes.then(|| payload.slice(data.len()..)))
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
pub enum Reply {
    /// The request is done.
    Done,
    /// The register's word.
    Value {
        /// The word.
        value: u32,
    },
    /// The memory's bytes, as many as requested, are the payload.
    Data,
    /// The request could not be carried out. No part of it was, unless the reason says so.
    Failed {
        /// Reason, for programs.
        code: ErrorCode,
        /// The reason, and what would be right, for people.
        reason: String,
    },
    /// Time has moved.
    Reached {
        /// Reason for which time moved no further.
        why: Why,
    },
    /// The state of platform and session.
    #[strum(serialize = "Status report")]
    Status(Box<StatusReport>),
    /// Counters, in the payload: see [`statistics`](super::statistics).
    #[strum(serialize = "Statistics report")]
    Statistics {
        /// Number of counters that the prefix selects in all.
        total: u32,
        /// The number of counters in the payload, starting with the first requested one.
        count: u32,
    },
    /// Answer to a Ping.
    Pong,
    /// Everything up to this moment is done, and the memories outside have answered their requests.
    Stepped {
        /// The time of the next event, if no request comes before; `None`: there is none.
        next: Option<Time>,
    },
    /// Simulated time stands, by a debugger's will.
    Stopped(Box<StopReport>),
    /// Debugging state of the platform.
    #[strum(serialize = "Debug state")]
    DebugState(Box<DebugState>),
    /// Bytes of a saved platform, in the payload, from the first requested one on.
    Saved {
        /// Number of bytes that there are in all.
        total: u64,
    },
}

/// The state of platform and session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusReport {
    /// The time mode in force.
    pub time_mode: TimeMode,
    /// Activity of the platform: whether it has work to do.
    pub activity: Activity,
    /// Sessions on this platform, this one included.
    pub sessions: u32,
    /// Unanswered requests of this session, both directions together, this one included.
    pub in_flight: u32,
    /// Events the kernel has handled since the platform began.
    pub events: u64,
    /// The roles at ports that are taken, and the sessions that have them.
    pub attached: Vec<Attached>,
}

/// One end of a port, held by a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attached {
    /// The port.
    pub port: PortId,
    /// Role of the session at the port.
    pub role: Role,
    /// The session.
    pub session: SessionId,
}

/// A write that is never answered. One that fails causes a [`Notice::Warning`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Posted {
    /// Initiator → target of a CSB port.
    RegisterWrite(RegisterWrite),
    /// Initiator → target of an AXI port; payload is the data.
    MemoryWrite(MemoryWrite),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// Source → sink of an interrupt port: the line changed. Also sent once on attaching, with the present
    /// level.
    Interrupt {
        /// The interrupt port.
        port: PortId,
        /// True if the line is now high.
        level: bool,
        /// Time at which the line changed.
        time: Time,
    },
    /// Server → client: something a person should know. Needs [`Capabilities::WARNINGS`](super::Capabilities::WARNINGS).
    Warning {
        /// Simulated time.
        time: Time,
        /// Text of the warning: what, where, what would be right.
        text: String,
    },
    /// Server → client: a debugger has stopped simulated time. Sent each time to sessions that have sent a
    /// debug command; but the session that asked for the stop, or steps, gets an answer instead. Other sessions
    /// get it when a debugger stops time for the first time, and when they join while time is stopped. Needs
    /// [`Capabilities::DEBUGGING`](super::Capabilities::DEBUGGING).
    Stopped(Box<StopReport>),
    /// Server → client: a warning with marks for programs, sent in the place of [`Notice::Warning`]. Needs
    /// [`Capabilities::WARNINGS`](super::Capabilities::WARNINGS) and
    /// [`Capabilities::WARNING_MARKS`](super::Capabilities::WARNING_MARKS).
    MarkedWarning {
        /// Simulated time.
        time: Time,
        /// Marks that hold for the warning; at least one.
        marks: WarningMarks,
        /// Text of the warning: what, where, what would be right.
        text: String,
    },
}

/// Marks of a warning, by which a program judges a run. Bits without a meaning are kept and ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WarningMarks(u8);

bitflags::bitflags! {
    impl WarningMarks: u8 {
        /// A piece of work, such as a layer, was refused: it ends, and nothing was computed.
        const REFUSED = 1 << 0;
        /// The device as configured lacks what was asked of it. Another configuration may have it.
        const LACKING = 1 << 1;
    }
}

/// Length that a message's payload must have.
enum Payload {
    Exactly(u64),
    Any,
}

impl Message {
    /// Number of messages that version 1 has: the number of each is below it.
    pub(super) const COUNT: u32 = 10;

    /// Name of the message, or of the request, reply or notice in it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "Hello",
            Self::Welcome(_) => "Welcome",
            Self::Refused(_) => "Refused",
            Self::Bye(_) => "Bye",
            Self::Request { request, .. } => request.name(),
            Self::Reply { reply, .. } => reply.name(),
            Self::Posted(Posted::RegisterWrite(_)) => "Posted RegisterWrite",
            Self::Posted(Posted::MemoryWrite(_)) => "Posted MemoryWrite",
            Self::Notice(Notice::Interrupt { .. }) => "Interrupt",
            Self::Notice(Notice::Warning { .. }) => "Warning",
            Self::Notice(Notice::Stopped(_)) => "Stop notice",
            Self::Notice(Notice::MarkedWarning { .. }) => "MarkedWarning",
            Self::Driven(_) => "Driven",
            Self::Promised(_) => "Promised",
        }
    }

    /// The memory write in it, if it is one, posted or not.
    pub(super) fn memory_write(&self) -> Option<&MemoryWrite> {
        match self {
            Self::Request { request: Request::MemoryWrite(write), .. } => Some(write),
            Self::Posted(Posted::MemoryWrite(write)) => Some(write),
            _ => None,
        }
    }

    /// Checks what a header says about lengths against its payload, and against the payload limit.
    pub(super) fn check(&self, payload: &[u8], max_payload: u32) -> Result<(), FrameRule> {
        let length = payload.len() as u64;
        let asked = match self {
            Self::Request { request: Request::MemoryRead(read), .. } => Some(read.length),
            Self::Request { request: Request::RegisterPeek(peek), .. } => Some(peek.bytes()),
            Self::Request {
                request: Request::Inject { length } | Request::RestoreDevice { length, .. },
                ..
            } => Some(*length),
            _ => self.memory_write().map(|write| write.length),
        };
        match asked {
            Some(0) => return Err(FrameRule::ZeroLength),
            Some(asked) if asked > max_payload => {
                return Err(FrameRule::LengthBeyondLimit { length: asked, limit: max_payload });
            }
            _ => (),
        }
        if let Self::Driven(driven) = self
            && driven.event.has_data()
        {
            return driven.event.check_data(payload.len());
        }
        let expected = match self {
            Self::Request {
                request: Request::Inject { length } | Request::RestoreDevice { length, .. },
                ..
            } => Payload::Exactly((*length).into()),
            Self::Reply { reply: Reply::Data | Reply::Statistics { .. } | Reply::Saved { .. }, .. } => {
                Payload::Any
            }
            _ => Payload::Exactly(self.memory_write().map_or(0, MemoryWrite::payload_length)),
        };
        match expected {
            Payload::Exactly(0) if length > 0 => return Err(FrameRule::UnexpectedPayload { length }),
            Payload::Exactly(expected) if expected != length => {
                return Err(FrameRule::PayloadLength { length, expected });
            }
            _ => (),
        }
        match self.memory_write() {
            Some(MemoryWrite { strobes: true, length, .. }) if length % 8 != 0 => match payload.last() {
                Some(last) if last >> (length % 8) != 0 => Err(FrameRule::StrobesBeyondData),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Cuts free text, so that a long report cannot make the header too long.
    pub(super) fn cut_text(&mut self) {
        let text = match self {
            Self::Refused(Refused { reason, .. }) | Self::Bye(Bye { reason, .. }) => reason,
            Self::Reply { reply: Reply::Failed { reason, .. }, .. } => reason,
            Self::Reply { reply: Reply::Reached { why: Why::Deadlock { report } }, .. } => report,
            Self::Notice(Notice::Warning { text, .. } | Notice::MarkedWarning { text, .. }) => text,
            _ => return,
        };
        if text.len() > MAX_TEXT {
            let room = MAX_TEXT - '…'.len_utf8();
            let end = (0..=room).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
        }
    }
}

impl Request {
    /// Name of the request.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Debug { command } => command.into(),
            other => other.into(),
        }
    }

    /// The number of files sent with the request, where the stream carries files.
    pub fn files(&self) -> usize {
        match self {
            Self::ShareMemory(share) => usize::from(share.files),
            Self::OpenRing(_) => 3,
            _ => 0,
        }
    }

    /// Returns true if only a client may ask this.
    pub fn is_clients_only(&self) -> bool {
        !matches!(
            self,
            Self::RegisterRead(_)
                | Self::RegisterWrite(_)
                | Self::MemoryRead(_)
                | Self::MemoryWrite(_)
                | Self::Ping
        )
    }
}

impl Reply {
    /// Name of the reply.
    pub fn name(&self) -> &'static str {
        self.into()
    }
}
