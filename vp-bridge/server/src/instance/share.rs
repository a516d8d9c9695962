//! What a session of the same host shares: its memory, mapped here, and a ring for its register accesses.

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use vp_models::hub::{self, DirectMemory, DirectRange, PartyCommand, Tag};
use vp_models::platform::PortKind;
use vp_protocols::native::{
    self, ErrorCode, OpenRing, PortId, RegisterRead, RegisterWrite, Reply, Request, RequestId, SessionId,
    ShareMemory, SharedRegion,
};
use vp_shm::Region;
use vp_shm::ring::{self, Access};

use super::members::Member;
use super::{Failure, PlatformThread, translate};

/// Regions that one memory may have.
const REGIONS: usize = 64;
/// Register accesses that may wait before the ring is taken no further.
const JOBS: usize = 1024;

/// The tag of all accesses of a ring, beyond the numbers of requests: they are answered in their order.
const IN_RING: Tag = Tag(1 << 32);

/// Regions that all sessions of this process may have mapped: half of what Linux lets a process map unless it is told
/// otherwise (`vm.max_map_count`, 65 530). A process that has no room for a new thread's stack is ended.
const ALL_REGIONS: usize = 32_768;

/// How many there are.
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// A mapped region, as the platform's bus reaches it.
struct Mapped(Region, Counted);

/// Counts one of [`ALL_REGIONS`] until it is dropped.
struct Counted;

impl Counted {
    fn new() -> Option<Self> {
        let counted = Self;
        // Beyond the limit it is dropped at once.
        (MAPPED.fetch_add(1, Ordering::Relaxed) < ALL_REGIONS).then_some(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        MAPPED.fetch_sub(1, Ordering::Relaxed);
    }
}

impl DirectMemory for Mapped {
    fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        self.0.read(offset, into)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        self.0.write(offset, bytes)
    }
}

/// A session's ring.
pub(super) struct Ring {
    pub(super) server: ring::Server,
    port: PortId,
    pub(super) line: PortId,
}

impl PlatformThread {
    /// Carries out a request that came with files.
    pub(super) fn share(
        &mut self,
        session: SessionId,
        id: RequestId,
        request: &Request,
        files: Vec<OwnedFd>,
    ) {
        self.take_ring(session);
        let done = match request {
            Request::ShareMemory(share) => self.share_memory(session, share, &files),
            Request::OpenRing(open) => self.open_ring(session, *open, files),
            _ => Err((ErrorCode::Internal, format!("{} has no files", request.name()))),
        };
        self.reply(session, id, done);
    }

    fn share_memory(
        &mut self,
        session: SessionId,
        share: &ShareMemory,
        files: &[OwnedFd],
    ) -> Result<(), Failure> {
        if !(1..=REGIONS).contains(&share.regions.len()) {
            let count = share.regions.len();
            return Err((ErrorCode::BadRange, format!("{count} regions: 1 to {REGIONS} can be shared")));
        }
        let mut parts: Vec<DirectRange> = Vec::new();
        for &SharedRegion { base, size, file, offset } in &share.regions {
            let refuse = |code, why: &str| Err((code, format!("{size} bytes at 0x{base:x}: {why}")));
            let Some(end) = base.checked_add(size).filter(|_| size > 0) else {
                return refuse(ErrorCode::BadRange, "not all of them are the session's");
            };
            let Some(file) = files.get(usize::from(file)) else {
                return refuse(ErrorCode::BadRange, "there is no such file");
            };
            let Some(counted) = Counted::new() else {
                let why = format!("the server has mapped {ALL_REGIONS} regions, the most it maps");
                return refuse(ErrorCode::Unsupported, &why);
            };
            match Region::map(file, offset, size) {
                Ok(region) => {
                    parts.push(DirectRange { range: base..end, memory: Rc::new(Mapped(region, counted)) });
                }
                Err(error) => return refuse(ErrorCode::Unsupported, &error.to_string()),
            }
        }
        let (party, port) = (translate::party(session), translate::port_index(share.port));
        self.hub.access_directly(party, port, parts).map_err(refused)
    }

    fn open_ring(&mut self, session: SessionId, open: OpenRing, files: Vec<OwnedFd>) -> Result<(), Failure> {
        let OpenRing { port, line } = open;
        let party = translate::party(session);
        self.hub.initiated(party, translate::port_index(port), &[PortKind::Registers]).map_err(refused)?;
        if !self.hub.holds(party, translate::port_index(line), hub::Role::Sink) {
            let reason = format!("port {} is not attached as sink", line.0);
            return Err((ErrorCode::NotAttached, reason));
        }
        let level = self.hub.platform().irq().level();
        let Some(member) = self.members.get_mut(session) else { return Ok(()) };
        if member.has_had_ring {
            return Err((ErrorCode::PortBusy, "the session has, or has had, a ring".to_owned()));
        }
        let refuse = |why: String| (ErrorCode::Unsupported, why);
        let Ok([memory, own, client]) = <[OwnedFd; 3]>::try_from(files) else {
            return Err(refuse("a ring has three files".to_owned()));
        };
        let mut server =
            ring::Server::open(&memory, own, client).map_err(|error| refuse(error.to_string()))?;
        member.has_had_ring = true;
        // From now on this thread looks at it.
        server.wake();
        server.set_line(level);
        member.ring = Some(Ring { server, port, line });
        Ok(())
    }

    /// Closes a session's ring if a port that belongs to it was detached: nothing more is taken from it.
    pub(super) fn close_ring_without_ports(&mut self, session: SessionId) {
        let party = translate::party(session);
        let Some(member) = self.members.get_mut(session) else { return };
        let is_held = |ring: &Ring| {
            self.hub.holds(party, translate::port_index(ring.port), hub::Role::Initiator)
                && self.hub.holds(party, translate::port_index(ring.line), hub::Role::Sink)
        };
        if member.ring.as_ref().is_some_and(|ring| !is_held(ring)) {
            member.ring = None;
        }
    }

    // Rings.

    pub(super) fn rings(&self) -> impl Iterator<Item = &Ring> {
        self.members.iter().filter_map(|(_, member)| member.ring.as_ref())
    }

    /// The rings that are taken from: not those of sessions that have too much waiting.
    fn open_rings(&self) -> impl Iterator<Item = (SessionId, &Ring)> {
        let rings =
            self.members.iter().filter_map(|(session, member)| Some((session, member.ring.as_ref()?)));
        rings.filter(|(session, _)| self.hub.waiting(translate::party(*session)) < JOBS)
    }

    /// Whether an access waits in a ring.
    pub(super) fn is_asked(&self) -> bool {
        self.open_rings().any(|(_, ring)| ring.server.is_asked())
    }

    /// Has the clients ring when they have asked. `false`: one has.
    pub(super) fn announce_sleep(&self) -> bool {
        self.open_rings().all(|(_, ring)| ring.server.fall_asleep())
    }

    /// Clients need not ring any more, and what they have rung is forgotten: this thread looks.
    pub(super) fn wake_rings(&self) {
        for ring in self.rings() {
            ring.server.wake();
        }
    }

    /// Takes what is in the rings.
    pub(super) fn take_rings(&mut self) {
        let mut from = SessionId(0);
        loop {
            let mut asked = self.open_rings().filter(|(_, ring)| ring.server.is_asked());
            let Some(session) = asked.find_map(|(session, _)| (session >= from).then_some(session)) else {
                break;
            };
            drop(asked);
            self.take_ring(session);
            from = SessionId(session.0.saturating_add(1));
        }
    }

    /// Takes what is in a session's ring.
    pub(super) fn take_ring(&mut self, session: SessionId) {
        // More than there are places for was not there when we began.
        for _ in 0..ring::ENTRIES {
            let Some(ring) = self.members.get_mut(session).and_then(|member| member.ring.as_mut()) else {
                return;
            };
            let port = ring.port;
            let ring::Request { access, address, at } = match ring.server.take() {
                Ok(Some(request)) => request,
                Ok(None) => return,
                Err(error) => return self.put_out(session, ErrorCode::BadEntry, &error.to_string()),
            };
            let Some(member) = self.members.get_mut(session) else { return };
            member.stream.note_access();
            let (at, capabilities) = (at.map(native::Time), member.capabilities);
            let write =
                |value| translate::register_write(RegisterWrite { port, address, value, at }, capabilities);
            let asked = match access {
                Access::Read => translate::register_read(RegisterRead { port, address, at }, capabilities),
                Access::Write(value) => write(value),
                Access::Posted(value) => {
                    self.post(session, write(value), None);
                    continue;
                }
            };
            self.give(session, IN_RING, PartyCommand::Access(asked));
        }
    }
}

fn refused(failure: hub::Failure) -> Failure {
    (translate::error_code(failure.kind), failure.reason)
}

impl Member {
    /// Answers the first access of the session's ring that is not answered.
    pub(super) fn answer_in_ring(&mut self, reply: &Reply, time: native::Time) {
        let (code, value) = match reply {
            Reply::Value { value } => (0, *value),
            Reply::Failed { code, .. } => (u16::from(*code), 0),
            _ => (0, 0),
        };
        if let Some(ring) = &mut self.ring {
            ring.server.answer(u32::from(code), value, time.0);
        }
    }
}
