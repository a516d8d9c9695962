//! Register buses: a CPU reads and writes a device's 32-bit registers, one access after the other.
//!
//! [`RegisterBus`] is the interface to a CPU's side. The module of each kind of bus says how long it takes:
//! [`csb`], [`axi_lite`](super::axi_lite). A device inside the platform is behind its bus as a
//! [`RegisterTarget`]. One that is elsewhere implements [`RegisterBus`] itself: its answers need not come at
//! once.
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

    /// The value that a read would give, without its side effects: nothing that can be observed changes. With a
    /// group, which is below [`groups`](RegisterTarget::groups), the value is that of the group, whichever one
    /// accesses go to.
    fn peek(&self, address: u32, group: Option<usize>) -> u32;

    /// The number of register groups at the same addresses.
    fn groups(&self) -> usize {
        1
    }

    /// Stores a value; `accepted` is when the bus took the request.
    fn write(&self, address: u32, value: u32, accepted: Time);

    /// Additional cycles that an answer from this address takes, for the registers on the way.
    fn distance(&self, _address: u32) -> u32 {
        0
    }
}

/// Access that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegisterAccess {
    /// The value of a register.
    Read,
    /// Store of a value, with an answer only if it is not posted.
    Write {
        /// The value.
        value: u32,
        /// True if it goes without an answer.
        posted: bool,
    },
}

impl RegisterAccess {
    /// Returns true if an answer is due.
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

/// The target did not carry out the access (SLVERR or DECERR of AXI; a target outside that has left).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct RegisterError {
    /// Reason of the error, for people.
    pub reason: String,
}

/// A function that gets an answer, and the edge at which it is on the bus.
pub type AnswerListener = Box<dyn Fn(Time, RegisterResponse)>;

/// A function that gets the byte address of an access.
pub type AccessListener = Box<dyn Fn(u32)>;

/// A register bus, as the CPU's side sees it.
///
/// Requests are accepted, take effect and are answered in the order in which they were sent.
pub trait RegisterBus {
    /// The port's name, `csb0`.
    fn name(&self) -> &'static str;

    /// Queues a request; the bus accepts it when its turn comes. Never blocks, and never answers before it returns.
    fn send(&self, request: RegisterRequest);

    /// Sets the receiver of the answers, in place of an earlier one: at the edge at which a CPU can act on
    /// them. It may send.
    fn on_response(&self, responder: Box<dyn Fn(RegisterResponse)>);

    /// Sets the function that gets each answer as soon as it is known: with the edge at which it is on the bus,
    /// which is the one before [`on_response`](RegisterBus::on_response) gets it.
    fn on_answer(&self, told: Option<AnswerListener>);

    /// Sets the function that is called when the bus stops accepting requests, and when it goes on, with the
    /// edge, in advance. A bus that accepts a request at each edge never calls it.
    fn on_ready(&self, told: Box<dyn Fn(Time, bool)>) {
        let _ = told;
    }

    /// The registers, for accesses without the bus, as debuggers make them; `None`: they are outside the
    /// platform.
    fn target(&self) -> Option<&dyn RegisterTarget> {
        None
    }

    /// Writes a register at once, without the bus: it has all effects of a CPU's write, and is reported like
    /// one. Nothing happens without a [`target`](RegisterBus::target).
    fn poke(&self, address: u32, value: u32) {
        let _ = (address, value);
    }

    /// Sets the function that gets the address of each access when it has taken effect, where the registers are
    /// in this platform.
    fn on_access(&self, told: AccessListener) {
        let _ = told;
    }

    /// Returns the number of requests that wait to be accepted.
    fn backlog(&self) -> usize;

    /// Returns true if every request has been accepted, has taken effect and, if an answer is due, has been answered.
    fn is_quiet(&self) -> bool;
}
