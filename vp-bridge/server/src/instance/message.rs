//! Messages between sessions and their platform's thread.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::sync::oneshot;
use vp_protocols::native::{
    self, Connection, Counter, Driven, Notice, Posted, Promised, Reply, Request, RequestId, SessionId,
    TimeMode,
};
use vp_transport::Socket;

use super::files::File;
use super::owners::Token;
use super::permits::Permit;
use super::quota::QuotaExceeded;
use crate::access::SessionIdentity;
use crate::adapters::Adapter;
use crate::session_end::{Ended, SessionOutcome};

/// Command of a session to its platform.
pub(super) enum SessionCommand {
    /// A request, to be answered under its id.
    Request { id: RequestId, request: Request, payload: Bytes, permit: Permit },
    /// A write without an answer.
    Posted { posted: Posted, payload: Bytes, permit: Permit },
    /// A request with files: of one host only.
    Share { id: RequestId, request: Request, files: Result<Vec<File>, QuotaExceeded> },
    /// The answer to [`ToSession::Ask`].
    Answer { token: Token, reply: Reply, payload: Bytes },
    /// A partner drives something.
    Driven { driven: Driven, payload: Bytes, permit: Permit },
    /// A partner promises something.
    Promised { promised: Promised, permit: Permit },
}

impl SessionCommand {
    /// Returns true if the command is carried out in the order in which the session has sent it.
    pub(super) fn is_request(&self) -> bool {
        matches!(self, Self::Request { .. } | Self::Posted { .. } | Self::Share { .. })
    }

    /// Returns true if the command is the last of its batch. The answer to a report is as long as the platform has counters,
    /// sessions or memory: the next command is decoded when it is known whether the peer lags behind with that. A reset
    /// builds the device anew, which takes long.
    pub(super) fn ends_batch(&self) -> bool {
        use Request::{Inspect, Reset, RestoreDevice, Save, SaveDevice, Statistics};
        let Self::Request { request, .. } = self else { return false };
        matches!(
            request,
            Statistics { .. }
                | Inspect { .. }
                | Save { .. }
                | SaveDevice { .. }
                | RestoreDevice { .. }
                | Reset
        )
    }
}

/// A session whose hello has come, on its way to its platform. If it is dropped on the way its task is
/// informed.
pub(crate) struct JoiningSession {
    pub(crate) id: SessionId,
    /// Name of the session in the log.
    pub(crate) name: String,
    /// Name that the client gives itself, fit for the log.
    pub(crate) agent: String,
    /// Mode of time that the session asks for; a platform has the mode of the first session that is no partner.
    pub(crate) time_mode: TimeMode,
    /// True if the session looks only: it takes no part in the platform.
    pub(crate) is_observer: bool,
    pub(crate) socket: Arc<Socket>,
    /// Waits for an offer, unless it was welcomed at its authentication.
    pub(crate) connection: Connection,
    /// Bytes that have come behind the hello.
    pub(crate) input: BytesMut,
    /// Program and version of the server.
    pub(crate) server: String,
    /// Name that the session has for the platform.
    pub(crate) platform: String,
    /// Identity and rights of the session.
    pub(crate) identity: SessionIdentity,
    pub(crate) ended: oneshot::Sender<Ended>,
}

/// A session of another protocol, on its way to its platform. If it is dropped on the way its task is informed.
pub(crate) struct JoiningAdapter {
    pub(crate) id: SessionId,
    /// Name of the session in the log.
    pub(crate) name: String,
    pub(crate) time_mode: TimeMode,
    pub(crate) sockets: Vec<Arc<Socket>>,
    /// Bytes that have come on the first of the sockets.
    pub(crate) input: BytesMut,
    pub(crate) adapter: Box<dyn Adapter>,
    pub(crate) ended: oneshot::Sender<SessionOutcome>,
}

/// Message of a platform to a session.
pub(super) enum ToSession {
    /// The answer to a request. The permit, if any, is for its payload.
    Reply { id: RequestId, time: native::Time, reply: Reply, payload: Bytes, permit: Option<Permit> },
    /// All requested counters; the session cuts them to what a frame holds.
    Statistics { id: RequestId, time: native::Time, counters: Vec<Counter>, first: u32 },
    /// A saved platform, from a byte on; the session cuts it to what a frame holds.
    Saved { id: RequestId, time: native::Time, bytes: Bytes, first: usize },
    /// A request of the platform to the memory that the session owns.
    Ask { token: Token, request: Request, payload: Bytes },
    /// Something happened.
    Notice(Notice),
    /// A port drives something for the session, a partner.
    Driven { driven: Driven, payload: Bytes },
    /// The platform promises the session something.
    Promised(Promised),
}
