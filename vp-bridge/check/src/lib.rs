//! A conformance check: plays the other side of a protocol against a peer, and says of each rule whether the peer keeps it, breaks
//! it, or gave no occasion to tell.
//!
//! One module a protocol: [`native`], [`remote_port`], [`renode`], [`vfio_user`]. The rules are the protocols' own tables. Most are judged by the
//! protocol's codec, message by message; a message that keeps a rule counts for it. A rule about a session as a whole, such as that
//! every request is answered, is judged by what the check asks. Every wait is bounded: a peer that is silent, or gone, is a finding.

pub mod native;
pub mod remote_port;
pub mod renode;
mod report;
pub mod vfio_user;
mod wire;

pub use report::{Finding, Report, Verdict};
pub use wire::MeetError;

/// Role of the peer in a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerRole {
    /// A CPU: the peer accesses registers.
    Cpu,
    /// A memory: the peer answers accesses to memory.
    Memory,
    /// A device: the peer answers accesses to registers; of the native protocol, it is a server.
    Device,
}

impl PeerRole {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Device => "device",
        }
    }
}

/// The session is over, and what there is to say of that is said.
struct Over;
