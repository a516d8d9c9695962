//! What a hub is told: plain values that can be written down, and that name no protocol.

use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use vp_core::Time;

use super::debugger::DebugCommand;
use super::output::Failure;
use super::partner::{Clock, PortEvent, Promise};
use super::time::TimeMode;

/// Names a party. The adapter that brings the party in chooses the number and does not use it for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PartyId(pub u64);

/// Names a command of a party until it is completed. The party chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tag(pub u64);

/// Position of a port in [`Hub::ports`](super::Hub::ports).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PortIndex(pub u16);

/// Names a request to the owner of a memory outside until it is answered. The hub chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId(pub u64);

/// What a party is to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Sends requests.
    Initiator,
    /// Answers them.
    Target,
    /// Drives a line.
    Source,
    /// Listens to a line.
    Sink,
}

impl Role {
    /// What the other side of a link between two ports is.
    #[must_use]
    pub fn opposite(self) -> Role {
        match self {
            Role::Initiator => Role::Target,
            Role::Target => Role::Initiator,
            Role::Source => Role::Sink,
            Role::Sink => Role::Source,
        }
    }

    /// The role in one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::Initiator => "initiator",
            Role::Target => "target",
            Role::Source => "source",
            Role::Sink => "sink",
        }
    }
}

/// One thing that a hub is told. It takes effect at the simulated time at which it is handled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// A party comes.
    Enter {
        /// Its number.
        party: PartyId,
        /// How messages to people name it, such as `session 3`.
        name: String,
        /// What the hub may rely on if the party owns a memory.
        memory: MemoryPromise,
    },
    /// Who lets time move from now on. Taken as long as all parties are partners, who have no part in that.
    Mode(TimeMode),
    /// A party goes; all that it holds or asked for ends.
    Leave {
        /// Who.
        party: PartyId,
        /// Why, for people.
        why: String,
    },
    /// A party wants something, and is told by one [`Output::Completed`](super::Output::Completed) what came of it.
    Command {
        /// Who.
        party: PartyId,
        /// By which name the completion comes; not one that is under way.
        tag: Tag,
        /// What.
        command: PartyCommand,
    },
    /// A write that is not completed. One that fails causes a warning to its party.
    Posted {
        /// Who.
        party: PartyId,
        /// A write.
        access: Access,
    },
    /// The owner of a memory outside answers a request.
    Answer {
        /// The owner.
        party: PartyId,
        /// The request.
        request: RequestId,
        /// The bytes read, or nothing for a write; or why there are none.
        result: Result<Bytes, Failure>,
    },
    /// A partner drives something. It takes effect at the edge at which it is seen.
    Driven {
        /// Who.
        party: PartyId,
        /// Where.
        port: PortIndex,
        /// The edge at which the platform sees it.
        at: Time,
        /// What.
        event: PortEvent,
    },
    /// A partner promises to be silent.
    Promised {
        /// Who.
        party: PartyId,
        /// What.
        promise: Promise,
    },
    /// Of what repeats is told how often it has happened; if it does again, that is told anew.
    SumUp,
    /// Everybody is warned of something that is around the platform, such as that a file about its run cannot be written.
    Warn {
        /// What.
        text: String,
    },
    /// Somebody who need be no party accesses registers or memory beside the buses, at once, and is told by one
    /// [`Output::Completed`](super::Output::Completed) what came of it. What only looks at what is inside the platform is no
    /// input: [`Hub::peek_registers`](super::Hub::peek_registers), [`Hub::peek_memory`](super::Hub::peek_memory).
    Debug {
        /// Who.
        party: PartyId,
        /// By which name the completion comes.
        tag: Tag,
        /// What; its `at` is not looked at.
        access: Access,
    },
    /// A debugger, who need be no party, wants something, and is told by one [`Output::Completed`](super::Output::Completed) what
    /// came of it. It leaves as a party does.
    Debugger {
        /// Who.
        party: PartyId,
        /// By which name the completion comes.
        tag: Tag,
        /// What.
        command: DebugCommand,
    },
    /// The platform is to be saved: time moves on to where that can be, if that is near and nobody else lets it move.
    Settle {
        /// How far at most: as far as it is granted ([`Hub::grant`](super::Hub::grant)).
        limit: Time,
    },
}

/// What the hub may rely on if a party owns a memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPromise {
    /// The party carries out all that it is told in the order in which it is told, by one way only, and takes so many
    /// requests at a time. Then writes to memory that it has confirmed to have need not be waited for.
    pub in_order: Option<u32>,
}

/// What a party wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartyCommand {
    /// To be a partner: to have a clock. Whatever it attaches from then on is timed, and simulated time waits for its
    /// promises.
    Clock(Clock),
    /// To take a role at a port.
    Attach {
        /// The port.
        port: PortIndex,
        /// What the party will be to it.
        role: Role,
        /// The addresses that a memory outside takes; `None`: all of the port's.
        range: Option<Range<u64>>,
    },
    /// To give up a port.
    Detach {
        /// The port.
        port: PortIndex,
    },
    /// An access to registers, memory or a stream.
    Access(Access),
    /// Lockstep: that time moves.
    Advance(Until),
    /// Lockstep: that all is done up to a time, and to know when the next thing is due.
    Step {
        /// How far time moves.
        to: Time,
    },
    /// That everything goes back to power-on. Time goes on, ports stay attached.
    Reset,
    /// That things go wrong from now on ([`crate::faults`]). Takes its turn among the party's accesses.
    Inject {
        /// What, as a TOML text.
        faults: String,
    },
}

/// An access to registers, memory or a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The port.
    pub port: PortIndex,
    /// Not earlier than this.
    pub at: Option<Time>,
    /// What is done there.
    pub operation: Operation,
}

/// What an access does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Reads a 32-bit register.
    RegisterRead {
        /// Byte address.
        address: u64,
    },
    /// Writes a 32-bit register.
    RegisterWrite {
        /// Byte address.
        address: u64,
        /// The word.
        value: u32,
    },
    /// Reads memory.
    MemoryRead {
        /// Byte address.
        address: u64,
        /// How many bytes.
        length: u32,
        /// Whether it takes part in the simulation.
        kind: AccessKind,
    },
    /// Writes memory.
    MemoryWrite {
        /// Byte address.
        address: u64,
        /// The bytes.
        data: Bytes,
        /// Which of them are written: byte *i* by bit *i* mod 8 of strobe byte ⌊*i*/8⌋. `None`: all.
        strobes: Option<Bytes>,
        /// Whether it takes part in the simulation.
        kind: AccessKind,
    },
    /// Sends bytes into an input stream: the stream accepts all of them, behind what was sent before, or none.
    StreamSend {
        /// The bytes.
        data: Bytes,
        /// Whether it takes its turn among the party's accesses.
        kind: AccessKind,
    },
}

impl Operation {
    /// Whether it happens at once, and not in its turn.
    #[must_use]
    pub fn is_debug(&self) -> bool {
        matches!(
            self,
            Operation::MemoryRead { kind: AccessKind::Debug, .. }
                | Operation::MemoryWrite { kind: AccessKind::Debug, .. }
                | Operation::StreamSend { kind: AccessKind::Debug, .. }
        )
    }

    /// Whether it is a register access.
    #[must_use]
    pub fn is_register(&self) -> bool {
        matches!(self, Operation::RegisterRead { .. } | Operation::RegisterWrite { .. })
    }
}

/// Whether an access to memory or a stream takes part in the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// Takes its turn among the party's accesses.
    Timed,
    /// Happens at once, beside the bus: loaders and debuggers (`transport_dbg`).
    Debug,
}

/// How far time should move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Until {
    /// To this time, also when nothing happens.
    Time(Time),
    /// Until the line rises, or is high already.
    Interrupt {
        /// An interrupt port.
        port: PortIndex,
        /// Not beyond this.
        limit: Option<Time>,
    },
    /// Until nothing is left to do.
    Idle,
}
