//! Remote-Port: peers are Xilinx's QEMU and SystemC platforms with its library, as the CPU and the memory of a platform
//! ([`host`]), or as its device ([`device`]).

mod channels;
mod device;
mod host;
mod routes;

pub use channels::{Channels, ChannelsError, PortChannel};
use device::Device;
use host::Host;

use vp_core::Time;
use vp_hub::{Failure, FailureKind, HORIZON};
use vp_protocols::native::TimeMode;
use vp_protocols::remote_port::{
    Answer, Connection, HEADER, Request, RequestId, ResponseCode, SendError, Transaction, Violation, lacking,
};

use super::{Adapter, SessionEnd};

/// Source of what lets simulated time move while a peer is the CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TimeSource {
    /// The platform's own work.
    #[default]
    Free,
    /// The time stamps in the peer's packets: those of its syncs, and of accesses between them.
    Peer,
}

/// Role of the peer in the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// The CPU, or memories, or both: it sends register requests, and answers requests at the memory ports.
    Host {
        /// Source of what lets time move.
        time: TimeSource,
    },
    /// The device of a platform with an outside device.
    Device {
        /// Distance that time moves for each sync of the peer, in clock cycles; at least 1.
        quantum: u32,
    },
}

impl Peer {
    /// The mode of time, if the platform is used by this peer alone.
    pub(crate) fn time_mode(self) -> TimeMode {
        match self {
            // A device has no part in that: time stands until somebody comes whose mode it is.
            Peer::Host { time: TimeSource::Peer } | Peer::Device { .. } => TimeMode::Lockstep,
            Peer::Host { time: TimeSource::Free } => TimeMode::Free,
        }
    }

    /// A new adapter for it.
    pub(crate) fn adapter(self, channels: &Channels) -> Box<dyn Adapter> {
        match self {
            Peer::Host { time } => Box::new(Host::new(channels.clone(), time)),
            Peer::Device { quantum } => Box::new(Device::new(channels.clone(), quantum)),
        }
    }
}

impl From<Violation> for SessionEnd {
    fn from(violation: Violation) -> SessionEnd {
        SessionEnd::Wrong(violation.to_string())
    }
}

impl From<SendError> for SessionEnd {
    fn from(error: SendError) -> SessionEnd {
        SessionEnd::Wrong(format!("cannot tell the peer: {error}"))
    }
}

/// Returns true if so much has come that the first packet is whole, or wrong.
fn is_greeted(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER && lacking(bytes) == 0
}

/// Nanoseconds since the session began, as sent to the peer.
fn stamp(time: Time, began: Time) -> i64 {
    i64::try_from(time.as_ps().saturating_sub(began.as_ps()) / 1000).unwrap_or(i64::MAX)
}

/// Answers a sync with the present time, or with that of the sync: a peer whose times do not count may be ahead, and no response is before
/// its request (RP-22). A time beyond [`HORIZON`] is not heeded here either.
fn answer_sync(connection: &mut Connection, request: Request, present: i64) -> Result<(), SessionEnd> {
    let asked = request.transaction.time();
    let time = if asked <= stamp(HORIZON, Time::ZERO) { present.max(asked) } else { present };
    Ok(connection.respond(request, time, Answer::Done)?)
}

/// Sends a sync. `None`: the peer has its maximum of requests on that channel.
fn sync(connection: &mut Connection, time: i64) -> Result<Option<RequestId>, SessionEnd> {
    match connection.request(0, Transaction::Sync { time }) {
        Ok(id) => Ok(Some(id)),
        Err(SendError::TooManyInFlight { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the code by which an access that failed is answered.
fn code(failure: &Failure) -> ResponseCode {
    match failure.kind {
        FailureKind::DecodeError | FailureKind::BadRange | FailureKind::NoSuchPort => {
            ResponseCode::AddressError
        }
        _ => ResponseCode::Error,
    }
}

/// Returns what became of an access of ours, by its response.
fn result(code: ResponseCode) -> Result<(), Failure> {
    match code {
        ResponseCode::Ok => Ok(()),
        ResponseCode::AddressError => {
            Err(Failure::new(FailureKind::DecodeError, "the peer has nothing at that address"))
        }
        ResponseCode::Error | ResponseCode::Reserved(_) => {
            Err(Failure::new(FailureKind::SlaveError, "the peer answers with a bus error"))
        }
    }
}
