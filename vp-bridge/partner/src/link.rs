//! The way to a platform.

use std::collections::VecDeque;

use bytes::Bytes;
use vp_core::Time;
use vp_hub::{Clock, PortEvent, PortId, Promise, Role};
use vp_models::platform::PortKind;

use crate::PartnerError;

/// A port of the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkPort {
    /// Name of the port, such as `csb0`, `irq0`, `dbb0` or `sram0`.
    pub name: String,
    /// Kind of the port.
    pub kind: PortKind,
    /// First address.
    pub base: u64,
    /// Size of its address range in bytes; zero for a line.
    pub size: u64,
    /// Width of its data in bits; one for a line.
    pub width: u32,
}

/// Message that a platform tells a partner.
#[derive(Debug, Clone, PartialEq)]
pub enum FromPlatform {
    /// A port drives something, seen at that edge.
    Driven {
        /// Port that is driven.
        port: PortId,
        /// The edge.
        at: Time,
        /// Event that is driven.
        event: PortEvent,
    },
    /// The platform promises to be silent.
    Promised(Promise),
    /// Bytes of the memory that the partner is are wanted or given, beside the bus and at once: a loader's or debugger's access.
    Debug {
        /// Answers go by this.
        request: u64,
        /// Port of the memory.
        port: PortId,
        /// Byte address.
        address: u64,
        /// Access to do.
        access: DebugAccess,
    },
    /// Something that a person should know.
    Warning(Time, String),
}

/// An access to memory beside the bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebugAccess {
    /// Read of so many bytes.
    Read(u32),
    /// Bytes are given; byte *i* is written if bit *i* mod 8 of strobe byte ⌊*i*/8⌋ is set, or without strobes.
    Write(Bytes, Option<Bytes>),
}

/// The way to a platform, for one partner of it.
pub trait PlatformLink {
    /// The platform's ports; a [`PortId`] is a position among them.
    fn ports(&self) -> &[LinkPort];

    /// One of the platform's counters (`vp run` and docs/study.md name them), if it has one of that name.
    ///
    /// # Errors
    /// [`PartnerError`].
    fn counter(&mut self, name: &str) -> Result<Option<u64>, PartnerError>;

    /// Becomes a partner, and says what the simulated time is. Comes before the first [`attach`](PlatformLink::attach).
    ///
    /// # Errors
    /// [`PartnerError`].
    fn declare(&mut self, clock: Clock) -> Result<Time, PartnerError>;

    /// Takes a role at a port.
    ///
    /// # Errors
    /// [`PartnerError::Refused`]: such as that somebody else has it.
    fn attach(&mut self, port: PortId, role: Role) -> Result<(), PartnerError>;

    /// Drives something, to be seen at that edge. It may go out with what follows.
    ///
    /// # Errors
    /// [`PartnerError`].
    fn drive(&mut self, port: PortId, at: Time, event: PortEvent) -> Result<(), PartnerError>;

    /// Promises something. It may go out with what follows.
    ///
    /// # Errors
    /// [`PartnerError`].
    fn promise(&mut self, promise: Promise) -> Result<(), PartnerError>;

    /// Answers a [`FromPlatform::Debug`]: the bytes read, or none; an error is told to whoever asked.
    ///
    /// # Errors
    /// [`PartnerError`].
    fn answer(&mut self, request: u64, result: Result<Bytes, String>) -> Result<(), PartnerError>;

    /// Takes what the platform has told, behind what is in `into`; what was driven and promised has gone out then. It waits until
    /// there is something, if `wait`.
    ///
    /// # Errors
    /// [`PartnerError`].
    fn receive(&mut self, wait: bool, into: &mut VecDeque<FromPlatform>) -> Result<(), PartnerError>;
}
