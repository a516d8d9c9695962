//! Remote-Port, the protocol of Xilinx's QEMU and of SystemC models, version 4.3.
//!
//! Two programs exchange packets over one reliable, ordered byte stream. Both are equal: each sends a [`Hello`] at once, and
//! requests when it likes; each answers the other's requests also while its own wait. Integers are big-endian; data are
//! bytes in the order of their addresses. Times are nanoseconds of the sender's virtual time, signed. From the bytes up:
//!
//! * [`packet`], [`access`], [`hello`]: what packets mean, and their bytes ([`Packet::decode`], [`Packet::encode`]).
//! * [`connection`]: the rules of one stream: ids, responses, capabilities.
//! * [`rule`]: every rule by its name, and the message about a peer that broke one.
//!
//! Sources: `libremote-port/remote-port-proto.h` and the rest of that folder in Xilinx's libsystemctlm-soc, and
//! `hw/core/remote-port*.c` in Xilinx's QEMU. Both have the same encoder, but accept different packets.

pub mod access;
pub mod connection;
pub mod hello;
mod ledger;
pub mod packet;
pub mod rule;

pub use access::{Access, Attributes, Layout, ResponseCode};
pub use connection::{Answer, Connection, Event, MAX_IN_FLIGHT, Request, RequestId, SendError};
pub use hello::{Capabilities, Hello, VERSION};
pub use packet::{Ats, Body, Cfg, Command, Flags, Interrupt, Packet, Transaction, lacking};
pub use rule::{Malformed, Rule, Violation};

/// Bytes of a packet's header: command, length, id, flags, channel.
pub const HEADER: usize = 20;
/// Most bytes of one access. No known peer sends more than 4096 at a time.
pub const MAX_DATA: usize = 1 << 20;
/// Most bytes of a packet: an access with all its fields, data and as many byte enables.
pub const MAX_PACKET: usize = access::EXTENDED_FIELDS + 2 * MAX_DATA;
/// Most bytes after the header of a packet that is not an access.
pub const MAX_SHORT: usize = 4096;
