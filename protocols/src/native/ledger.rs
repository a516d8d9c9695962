//! Requests in flight in one direction, and what their replies must be.
//!
//! Each side of a connection has two of these: one for the requests that it sent, one for those that it has to
//! answer.

use std::collections::{BTreeMap, VecDeque};

use thiserror::Error;

use super::{DebugCommand, PortId, Reply, Request, RequestId};

/// Requests that are looked through one by one.
const FEW: usize = 8;

/// A rule about requests and replies that the peer or the caller broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Breach {
    /// The id belongs to a request that is still unanswered.
    #[error("request id {} is already in flight", .id.0)]
    DuplicateId {
        /// The id.
        id: RequestId,
    },
    /// The agreed number of requests is unanswered: wait for a reply.
    #[error("{limit} requests are in flight, the most agreed")]
    TooManyInFlight {
        /// Number of requests.
        limit: u32,
    },
    /// No request with that id is in flight.
    #[error("no request {} is in flight", .id.0)]
    UnknownId {
        /// The id.
        id: RequestId,
    },
    /// A reply of a kind that the request does not ask for.
    #[error("{reply} is no answer to request {}, a {request}", .id.0)]
    WrongReply {
        /// The request's id.
        id: RequestId,
        /// Name of the request.
        request: &'static str,
        /// Name of the reply.
        reply: &'static str,
    },
    /// Read data of another length than requested.
    #[error("{length} bytes are no answer to request {}, a read of {asked} bytes", .id.0)]
    WrongLength {
        /// The request's id.
        id: RequestId,
        /// Length in bytes.
        length: usize,
        /// Length that was asked for, in bytes.
        asked: u32,
    },
    /// A register reply before that of an earlier register request of the same port.
    #[error("request {} answered before request {}, which came first on port {}", .id.0, .first.0, .port.0)]
    OutOfOrder {
        /// The request answered.
        id: RequestId,
        /// The one to be answered first.
        first: RequestId,
        /// The port of both.
        port: PortId,
    },
}

/// Kind of reply that a request asks for, with what is needed to judge it.
#[derive(Debug, Clone, Copy)]
enum ExpectedReply {
    Done,
    Value(PortId),
    Written(PortId),
    Data(u32),
    Reached,
    Status,
    Statistics,
    Pong,
    Stepped,
    Stopped,
    Number,
    DebugState,
    Saved,
}

impl ExpectedReply {
    fn by(request: &Request) -> Self {
        match request {
            Request::RegisterRead(read) => Self::Value(read.port),
            Request::RegisterWrite(write) => Self::Written(write.port),
            Request::MemoryRead(read) => Self::Data(read.length),
            Request::RegisterPeek(peek) => Self::Data(peek.bytes()),
            Request::Attach(_)
            | Request::Detach { .. }
            | Request::MemoryWrite(_)
            | Request::Reset
            | Request::ShareMemory(_)
            | Request::OpenRing(_)
            | Request::Clock { .. }
            | Request::Authenticate { .. }
            | Request::RegisterPoke(_)
            | Request::Inject { .. }
            | Request::AwaitRest { .. }
            | Request::RestoreDevice { .. } => Self::Done,
            Request::Advance { .. } => Self::Reached,
            Request::Status => Self::Status,
            Request::Statistics { .. } | Request::Inspect { .. } => Self::Statistics,
            Request::Ping => Self::Pong,
            Request::Step { .. } => Self::Stepped,
            Request::Debug { command } => match command {
                DebugCommand::State => Self::DebugState,
                DebugCommand::Stop | DebugCommand::Step { .. } => Self::Stopped,
                DebugCommand::Break(_) => Self::Number,
                DebugCommand::Continue | DebugCommand::Clear { .. } => Self::Done,
            },
            Request::Save { .. } | Request::SaveDevice { .. } => Self::Saved,
        }
    }

    /// The port whose register order the request belongs to.
    fn ordered_by(self) -> Option<PortId> {
        match self {
            Self::Value(port) | Self::Written(port) => Some(port),
            _ => None,
        }
    }

    fn fits(self, reply: &Reply) -> bool {
        matches!(
            (self, reply),
            (_, Reply::Failed { .. })
                | (Self::Done | Self::Written(_), Reply::Done)
                | (Self::Value(_) | Self::Number, Reply::Value { .. })
                | (Self::Data(_), Reply::Data)
                | (Self::Reached, Reply::Reached { .. })
                | (Self::Status, Reply::Status(_))
                | (Self::Statistics, Reply::Statistics { .. })
                | (Self::Pong, Reply::Pong)
                | (Self::Stepped, Reply::Stepped { .. })
                | (Self::Stopped, Reply::Stopped(_))
                | (Self::DebugState, Reply::DebugState(_))
                | (Self::Saved, Reply::Saved { .. })
        )
    }
}

#[derive(Debug)]
struct Entry {
    wanted: ExpectedReply,
    name: &'static str,
}

/// The requests in flight in one direction.
#[derive(Debug)]
pub(super) struct Ledger {
    limit: u32,
    /// The requests, as long as there are few: mostly one or two.
    few: Vec<(RequestId, Entry)>,
    /// The others. No peer can choose ids that make this slow.
    many: BTreeMap<RequestId, Entry>,
    /// Register requests in order of asking, of all ports: there are few, and mostly the first is answered.
    registers: VecDeque<(PortId, RequestId)>,
}

impl Ledger {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, few: Vec::with_capacity(FEW), many: BTreeMap::new(), registers: VecDeque::new() }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.few.len() + self.many.len()
    }

    fn find(&self, id: RequestId) -> Option<&Entry> {
        let few = self.few.iter().find(|(of, _)| *of == id).map(|(_, entry)| entry);
        few.or_else(|| if self.many.is_empty() { None } else { self.many.get(&id) })
    }

    fn remove(&mut self, id: RequestId) -> Option<Entry> {
        match self.few.iter().position(|(of, _)| *of == id) {
            Some(place) => Some(self.few.swap_remove(place).1),
            None => self.many.remove(&id),
        }
    }

    pub(super) fn contains(&self, id: RequestId) -> bool {
        self.find(id).is_some()
    }

    /// Refuses one more request when all that were agreed are in flight.
    pub(super) fn has_room(&self) -> Result<(), Breach> {
        match self.in_flight() < self.limit as usize {
            true => Ok(()),
            false => Err(Breach::TooManyInFlight { limit: self.limit }),
        }
    }

    pub(super) fn open(&mut self, id: RequestId, request: &Request) -> Result<(), Breach> {
        if self.contains(id) {
            return Err(Breach::DuplicateId { id });
        }
        self.has_room()?;
        let wanted = ExpectedReply::by(request);
        self.registers.extend(wanted.ordered_by().map(|port| (port, id)));
        let entry = Entry { wanted, name: request.name() };
        match self.few.len() < FEW {
            true => self.few.push((id, entry)),
            false => drop(self.many.insert(id, entry)),
        }
        Ok(())
    }

    /// Judges a reply without taking note of it.
    pub(super) fn judge(&self, id: RequestId, reply: &Reply, payload: usize) -> Result<(), Breach> {
        let entry = self.find(id).ok_or(Breach::UnknownId { id })?;
        if !entry.wanted.fits(reply) {
            return Err(Breach::WrongReply { id, request: entry.name, reply: reply.name() });
        }
        match (entry.wanted, reply) {
            (ExpectedReply::Data(asked), Reply::Data) if asked as usize != payload => {
                return Err(Breach::WrongLength { id, length: payload, asked });
            }
            _ => (),
        }
        if let Some(port) = entry.wanted.ordered_by() {
            match self.registers.iter().find(|(of, _)| *of == port) {
                Some(&(_, first)) if first != id => return Err(Breach::OutOfOrder { id, first, port }),
                _ => (),
            }
        }
        Ok(())
    }

    /// Takes note of a reply that was judged right.
    pub(super) fn close(&mut self, id: RequestId) {
        if self.remove(id).is_none_or(|entry| entry.wanted.ordered_by().is_none()) {
            return;
        }
        match self.registers.iter().position(|(_, of)| *of == id) {
            Some(0) => drop(self.registers.pop_front()),
            Some(place) => drop(self.registers.remove(place)),
            None => {}
        }
    }
}
