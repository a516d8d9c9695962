//! The platform's native protocol, version 1.
//!
//! Two programs, a *client* and a *server* that hosts platforms, exchange frames over one reliable, ordered byte stream.
//! A frame is a fixed prefix, a [postcard](https://postcard.jamesmunns.com/wire-format) header (the [`Message`]) and raw
//! payload bytes. The layers, from the bytes up:
//!
//! * [`frame`]: prefix, header, payload. [`Decoder`] takes frames out of a stream, [`emit`] appends one.
//! * [`message`], [`greeting`], [`partner`], [`statistics`]: the meaning of frames.
//! * [`connection`]: the rules of one session (handshake, ids, order, limits), seen from either side; [`rule`]: their numbers.
//!
//! To speak the protocol use [`Connection`]; to read recorded bytes use [`Decoder`]. `docs/protocol.md`
//! describes the same for implementers in other languages. The byte vectors in `protocols/vectors/` test both.

pub mod connection;
pub mod debug;
mod error_code;
pub mod frame;
pub mod greeting;
mod ledger;
pub mod malformed;
pub mod message;
mod output;
pub mod partner;
mod printable;
pub mod rule;
pub mod statistics;

pub use connection::{Connection, Event, Offer, SendError, Terms, Violation};
pub use debug::{BreakOn, Breakpoint, DebugCommand, DebugState, SetBreakpoint};
pub use error_code::ErrorCode;
pub use frame::{Decoder, EmitError, Frame, Phase, emit, emit_header};
pub use greeting::{Capabilities, Device, Hello, Magic, Port, PortKind, Refused, Roles, TimeMode, Welcome};
pub use ledger::Breach;
pub use malformed::{FrameRule, Malformed};
pub use message::*;
pub use output::{Output, Payload};
pub use partner::{Driven, PortEvent, Promised};
pub use rule::Rule;
pub use vp_core::Time;
pub use vp_types::{
    AccessKind, Accesses, Activity, AxiChannel, Counter, CounterValue, DebugEvent, Hit, PartyId as SessionId,
    PortId, Reaction, Role, StepBy, StopReport, StopWhy, Until, Why, counters,
};

/// The one version of the protocol this crate speaks.
pub const VERSION: u16 = 1;
/// First bytes of every session, right behind the message number of [`Hello`].
pub const MAGIC: [u8; 4] = *b"VPNP";
/// Bytes of the fixed prefix of a frame.
pub const PREFIX: usize = 8;
/// Longest header, in bytes.
pub const MAX_HEADER: usize = 4096;
/// Longest header of a [`Hello`], in bytes. It bounds what an unknown peer can make a server store.
pub const MAX_HELLO: usize = 512;
/// Payload limit that both sides should offer unless they have a reason, in bytes.
pub const DEFAULT_MAX_PAYLOAD: u32 = 1 << 20;
/// Lowest payload limit that may be offered, in bytes: a page of memory and its strobes fit.
pub const MIN_MAX_PAYLOAD: u32 = 8 << 10;
/// No payload is longer than this, whatever was offered, in bytes.
pub const HARD_MAX_PAYLOAD: u32 = 16 << 20;
/// In-flight limit that both sides should offer unless they have a reason, in requests.
pub const DEFAULT_MAX_IN_FLIGHT: u32 = 256;
/// No more requests than this are in flight in one direction, whatever was offered.
pub const HARD_MAX_IN_FLIGHT: u32 = 4096;
/// Most bytes of one beat of data on a bus, which a [`Driven`] carries: AXI's widest bus.
pub const MAX_BEAT: usize = 128;
/// Free text (reasons, reports, warnings) is cut to this many bytes of UTF-8 by [`Connection`], so that it fits a header.
pub const MAX_TEXT: usize = 2048;
/// Most registers in one RegisterPeek.
pub const MAX_PEEKED: u32 = 1024;
/// Bytes of a [`Token`], at most.
pub const MAX_TOKEN: usize = 256;
