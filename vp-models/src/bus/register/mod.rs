//! Register buses: a CPU reads and writes a device's 32-bit registers, one access after the other.
//!
//! [`RegisterBus`] is what a CPU's side knows of one; each kind of bus says in its own module how long it takes: [`csb`],
//! [`axi_lite`](super::axi_lite). A device inside the platform stands behind its bus as a [`RegisterTarget`]. One that is
//! elsewhere implements [`RegisterBus`] itself: nobody counts on an answer at once.
//!
//! [`csb`]: super::csb

mod outside;
mod pipeline;

use thiserror::Error;
use vp_core::Time;

pub use outside::OutsideRegisters;
pub(super) use pipeline::Pipeline;

/// The registers behind a bus of the platform. Addresses are byte addresses, multiples of 4; holes read zero and ignore
/// writes.
pub trait RegisterTarget {
    /// The value of a register.
    fn read(&self, address: u32) -> u32;

    /// What a read would give, without what it does besides: nothing that can be observed changes. With a group, which is
    /// below [`groups`](RegisterTarget::groups), it is that of the group, whichever one accesses go to.
    fn peek(&self, address: u32, group: Option<usize>) -> u32;

    /// How many groups of registers there are at the same addresses.
    fn groups(&self) -> usize {
        1
    }

    /// Stores a value; `accepted` is when the bus took the request.
    fn write(&self, address: u32, value: u32, accepted: Time);

    /// Cycles that an answer from there takes longer than others: the registers on the way.
    fn distance(&self, _address: u32) -> u32 {
        0
    }
}

/// What a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegisterAccess {
    /// The value of a register.
    Read,
    /// To store a value, with an answer only if it is not posted.
    Write {
        /// The value.
        value: u32,
        /// Whether it goes without an answer.
        posted: bool,
    },
}

impl RegisterAccess {
    /// Whether an answer is due.
    #[must_use]
    pub fn is_answered(self) -> bool {
        !matches!(self, RegisterAccess::Write { posted: true, .. })
    }
}

/// One access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterRequest {
    /// The register's byte address, a multiple of 4.
    pub address: u32,
    /// Read or write.
    pub access: RegisterAccess,
    /// Chosen by the sender; comes back in the response.
    pub tag: u64,
}

/// The answer to a read or to a write that was not posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterResponse {
    /// The tag of the request.
    pub tag: u64,
    /// The value read, or zero for a write.
    pub result: Result<u32, RegisterError>,
}

/// The target did not carry the access out (SLVERR or DECERR of AXI; a target outside that has gone).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct RegisterError {
    /// Why, for people.
    pub reason: String,
}

/// Is told of an answer, and the edge at which it is on the bus.
pub type AnswerListener = Box<dyn Fn(Time, RegisterResponse)>;

/// A register bus, as the CPU's side sees it.
///
/// Requests are accepted and take effect in the order in which they were sent, and are answered in that order.
pub trait RegisterBus {
    /// The port's name, `csb0`.
    fn name(&self) -> &'static str;

    /// Queues a request; the bus accepts it when its turn comes. Never blocks, and never answers before it returns.
    fn send(&self, request: RegisterRequest);

    /// Says who gets the answers, in place of whoever got them before: at the edge at which a CPU can act on them. It may send.
    fn on_response(&self, responder: Box<dyn Fn(RegisterResponse)>);

    /// Says who is told of each answer as soon as it is known: the edge at which it is on the bus, which is the one before
    /// [`on_response`](RegisterBus::on_response) gets it.
    fn on_answer(&self, told: Option<AnswerListener>);

    /// Says who is told when the bus stops accepting requests, and when it goes on: from which edge on, ahead of it. One that
    /// accepts a request an edge tells nothing.
    fn on_ready(&self, told: Box<dyn Fn(Time, bool)>) {
        let _ = told;
    }

    /// The registers, to be looked at beside the bus, as debuggers do; `None`: they are outside the platform.
    fn target(&self) -> Option<&dyn RegisterTarget> {
        None
    }

    /// Writes a register at once, beside the bus: it does all that a CPU's write does, and is reported like one. Nothing happens
    /// without a [`target`](RegisterBus::target).
    fn poke(&self, address: u32, value: u32) {
        let _ = (address, value);
    }

    /// How many requests wait to be accepted.
    fn backlog(&self) -> usize;

    /// Whether every request has been accepted, has taken effect and, if an answer is due, got it.
    fn is_quiet(&self) -> bool;
}
