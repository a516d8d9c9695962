//! The rules of Remote-Port that this module checks, and the messages about a peer that broke one.

use std::fmt;

use thiserror::Error;

use super::{Command, HEADER};
use crate::rule_table::rule_table;

const PROTO: &str = "libsystemctlm-soc, libremote-port/remote-port-proto.h";
const CODER: &str = "libsystemctlm-soc, libremote-port/remote-port-proto.c";
const TLM: &str = "libsystemctlm-soc, libremote-port/remote-port-tlm.cc";
const QEMU_SLAVE: &str = "Xilinx QEMU, hw/core/remote-port-memory-slave.c";
const OURS: &str = "a bound of this implementation";

rule_table! {
    /// A rule. Rules up to RP-19 are about packets, and [`Connection`](super::Connection) keeps and checks
    /// them. For the others no single packet shows that a rule is broken: a check of a peer does.
    UnknownCommand: "RP-01", "a command is one of 0 to 8", PROTO;
    UnusedCommand: "RP-02", "commands 0 (nop) and 2 (cfg) are defined, but never sent", TLM;
    PacketTooLong: "RP-03", "behind its header a packet has at most 2 097 212 bytes, other than reads and writes 4 096", OURS;
    PacketTooShort: "RP-04", "a packet holds all fields of its command", CODER;
    MajorVersion: "RP-05", "the major version is 4", TLM;
    CapabilitiesOutside: "RP-06", "the list of capabilities lies behind the fields of the hello and inside the packet", CODER;
    SecondHello: "RP-07", "capabilities are announced once", CODER;
    AccessTooLong: "RP-08", "an access is of at most 1 048 576 bytes", OURS;
    Width: "RP-09", "the beat width of an access is 0", QEMU_SLAVE;
    StreamWidth: "RP-10", "the stream width of an access is at least 1", QEMU_SLAVE;
    NextOffset: "RP-11", "the offset of a next extension is 0, as there is none", PROTO;
    DataOutside: "RP-12", "all data of an access lie behind its fields and inside the packet", PROTO;
    ByteEnablesOutside: "RP-13", "byte enables lie behind the fields of an access and inside the packet", PROTO;
    SurplusBytes: "RP-14", "an access ends with its data and byte enables", PROTO;
    ByteEnablesNotAnnounced: "RP-15", "byte enables are for peers that announced capability 2", PROTO;
    AtsNotAnnounced: "RP-16", "translation requests are for peers that announced capability 4", PROTO;
    UnexpectedResponse: "RP-17", "a response has id and channel of a request that waits for one", TLM;
    ResponseCommand: "RP-18", "a response has the command of its request", TLM;
    ResponseEcho: "RP-19", "the response to an access repeats its address, length, stream width and low 16 bits of master id", CODER;
    HelloFirst: "RP-20", "the first packet of each side is a hello", TLM;
    Answered: "RP-21", "every request is answered, unless it is posted", TLM;
    TimeOfResponse: "RP-22", "the time stamp of a response is not before that of its request", TLM;
    MemoryKeeps: "RP-23", "a memory gives back what was written to it", TLM;
}

impl Rule {
    /// The rules that one packet can break: the codec checks them.
    pub const OF_PACKETS: &'static [Self] = Self::ALL.split_at(19).0;
}

/// A packet that breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{rule}; found {found}")]
pub struct Malformed {
    /// The rule.
    pub rule: Rule,
    /// The value that breaks it: a field, a length in bytes, or the end of a range in bytes from the packet's
    /// start.
    pub found: u64,
}

impl Malformed {
    pub(super) fn new(rule: Rule, found: impl Into<u64>) -> Self {
        Self { rule, found: found.into() }
    }
}

/// A rule that the peer broke, and the packet that did. The session is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub struct Violation {
    /// Rule that was broken, and what was found.
    pub malformed: Malformed,
    /// The packet's place in the stream, from 1.
    pub packet: u64,
    /// The channel in its header.
    pub channel: u32,
    /// Header of the packet.
    pub header: [u8; HEADER],
}

impl Violation {
    /// The rule.
    pub fn rule(&self) -> Rule {
        self.malformed.rule
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.header;
        let command = Command::new(u32::from_be_bytes([a, b, c, d])).map_or("unknown", Command::name);
        let Self { malformed, packet, channel, .. } = self;
        write!(f, "{malformed}; packet {packet} ({command}) on channel {channel}, header")?;
        self.header.chunks(4).try_for_each(|word| {
            f.write_str(" ")?;
            word.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        })
    }
}
