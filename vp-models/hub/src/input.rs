//! The inputs of a hub: plain values that can be stored, and that belong to no protocol.

use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use vp_core::Time;
use vp_types::{PartyId, PortId, Role, Until};

use super::access::Access;
use super::debugger::DebugCommand;
use super::ids::{RequestId, Tag};
use super::output::Failure;
use super::partner::{Clock, PortEvent, Promise};
use super::time_mode::TimeMode;

/// One input. It takes effect at the simulated time at which it is handled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// A party comes.
    Enter {
        /// Number of the party.
        party: PartyId,
        /// Name of the party in messages for people, such as `session 3`.
        name: String,
        /// The guarantees of the party, if it owns a memory.
        memory: MemoryGuarantees,
    },
    /// Sets the mode of time from now on. Accepted as long as all parties are partners, which do not influence
    /// the mode.
    Mode(TimeMode),
    /// A party leaves. It gives up its ports, and its open commands are cancelled.
    Leave {
        /// The party that leaves.
        party: PartyId,
        /// Reason for which it leaves, for people.
        why: String,
    },
    /// A command of a party. One [`Output::Completed`](super::Output::Completed) tells the party its result.
    Command {
        /// The party that gives the command.
        party: PartyId,
        /// The tag of the completion; different from those of open commands.
        tag: Tag,
        /// Command to do.
        command: PartyCommand,
    },
    /// A write without completion. If it fails, its party gets a warning.
    Posted {
        /// The party that writes.
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
        /// The bytes read, or nothing for a write; or the reason of a failure.
        result: Result<Bytes, Failure>,
    },
    /// A partner drives something. It takes effect at the edge at which it is seen.
    Driven {
        /// The owner that answers.
        party: PartyId,
        /// Port that is driven.
        port: PortId,
        /// The edge at which the platform sees it.
        at: Time,
        /// Event that is driven.
        event: PortEvent,
    },
    /// A partner promises to be silent.
    Promised {
        /// The partner that drives.
        party: PartyId,
        /// Promise that is made.
        promise: Promise,
    },
    /// Reports how often repeated warnings have occurred; if one occurs again, it is reported anew.
    SumUp,
    /// Warns everybody of a problem outside the platform, for example that a file about its run cannot be
    /// written.
    Warn {
        /// Text of the warning.
        text: String,
    },
    /// A debug access to registers or memory, at once and without the buses. The sender need not be a party.
    /// One [`Output::Completed`](super::Output::Completed) tells it the result. An access that only reads state
    /// inside the platform is no input: [`Hub::peek_registers`](super::Hub::peek_registers),
    /// [`Hub::peek_memory`](super::Hub::peek_memory).
    Debug {
        /// The sender.
        party: PartyId,
        /// Tag of the completion.
        tag: Tag,
        /// Access to do; its `at` is not looked at.
        access: Access,
    },
    /// A debugger's command. The debugger need not be a party. One
    /// [`Output::Completed`](super::Output::Completed) tells it the result. It leaves as a party does.
    Debugger {
        /// The debugger.
        party: PartyId,
        /// Tag of the completion.
        tag: Tag,
        /// Command to do.
        command: DebugCommand,
    },
    /// Prepares saving the platform: time moves on to where it can be saved, if that is near and no other party
    /// lets time move.
    Settle {
        /// The latest time: as far as it is granted ([`Hub::grant`](super::Hub::grant)).
        limit: Time,
    },
}

/// The guarantees of a party that owns a memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryGuarantees {
    /// The party carries out all messages in the order in which they are sent to it, over one connection only,
    /// and takes so many requests at a time. Then the hub need not wait for writes to memory that the party has
    /// confirmed to have.
    pub in_order: Option<u32>,
}

/// Command of a party.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartyCommand {
    /// Becomes a partner, with a clock. Ports that it attaches from then on are timed, and simulated time waits
    /// for its promises.
    Clock(Clock),
    /// Takes a role at a port.
    Attach {
        /// The port.
        port: PortId,
        /// Role that the party takes at it.
        role: Role,
        /// The addresses that a memory outside takes; `None`: all of the port's.
        range: Option<Range<u64>>,
    },
    /// Gives up a port.
    Detach {
        /// The port.
        port: PortId,
    },
    /// An access to registers, memory or a stream.
    Access(Access),
    /// Lockstep: that time moves.
    Advance(Until),
    /// Lockstep: does everything up to a time, and asks for the time of the next event.
    Step {
        /// Time to which simulated time moves.
        to: Time,
    },
    /// Resets everything to power-on. Time goes on, ports stay attached.
    Reset,
    /// Arms faults from now on ([`vp_models::faults`]). Takes its turn among the party's accesses.
    Inject {
        /// Faults, as a TOML text.
        faults: String,
    },
    /// Goes on from a saved platform of the same description ([`Hub::save`](super::Hub::save)). Time is that of the later of both, ports stay
    /// attached. One that is refused changes nothing.
    Restore {
        /// The saved platform.
        saved: Bytes,
    },
}
