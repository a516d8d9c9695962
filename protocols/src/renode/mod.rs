//! The protocol between Renode and a co-simulated peripheral: HDL in a simulator, or a model such as ours.
//!
//! Renode listens at two TCP ports, and controls time. The *peripheral* connects to *main* first, then to
//! *async*. On main Renode sends requests and the peripheral answers. On async the peripheral sends requests,
//! interrupts, and the ends of ticks; Renode answers on main. Everything is a [`Message`] of 24 bytes,
//! little-endian, without id, length or time, so in each direction one request is unanswered at a time. A
//! receiver takes what one call gives it, and fails if that is not a whole message. So each message must be
//! written by one call ([`Output::next_write`]).
//!
//! * [`message`]: messages and their bytes.
//! * [`connection`]: a peripheral's side, [`Connection`].
//! * [`emulator`]: Renode's side, [`Emulator`], for tests of peripherals.
//! * [`rule`]: every rule by its name, and the message about a peer that broke one.
//!
//! Sources: Renode's `src/Plugins/CoSimulationPlugin`: `Connection` (Renode's side) and `IntegrationLibrary` (the peripheral's, in
//! C++ and SystemVerilog). What its plug-in for SystemC speaks is another protocol. Not here: a co-simulated CPU.

pub mod connection;
pub mod emulator;
pub mod message;
mod output;
pub mod rule;

pub use connection::{Answer, Connection, Event};
pub use emulator::{Emulator, EmulatorEvent};
pub use message::{Action, LogLevel, MESSAGE, Message, NO_INDEX, Width};
pub use output::{Output, Socket};
pub use rule::{Rule, SendError, Violation};

/// Longest text of a log message, in bytes: Renode takes it from one call, as a message.
pub const MAX_LOG: usize = 1024;
