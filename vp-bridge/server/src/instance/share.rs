//! Memory that a session of the same host shares, mapped here, and a ring for its register accesses.

use std::rc::Rc;

use vp_core::Time;
use vp_hub::{DirectRange, PartyCommand, Tag};
use vp_models::platform::PortKind;
use vp_protocols::native::{
    ErrorCode, OpenRing, PortId, RegisterRead, RegisterWrite, Reply, Request, RequestId, SessionId,
    ShareMemory, SharedRegion,
};
use vp_shm::ring::{self, Access};
use vp_shm::{Deferred, Region};

use super::files::File;
use super::passed_files::Mapped;
use super::quota::{QuotaExceeded, QuotaShare, Usage};
use super::{Failure, PlatformThread, translate};

/// Regions that one memory may have.
const REGIONS: usize = 64;
/// Register accesses that may wait before the ring is taken no further.
const JOBS: usize = 1024;

/// The tag of all accesses of a ring, beyond the numbers of requests: they are answered in their order.
const IN_RING: Tag = Tag(1 << 32);

/// A session's ring.
pub(super) struct Ring {
    pub(super) server: Deferred<ring::Server>,
    _mapped: [QuotaShare; 2],
    port: PortId,
    pub(super) line: PortId,
}

impl Ring {
    /// Answers the first access that is not answered.
    pub(super) fn answer(&mut self, reply: &Reply, time: Time) {
        let (code, value) = match reply {
            Reply::Value { value } => (0, *value),
            Reply::Failed { code, .. } => (u16::from(*code), 0),
            _ => (0, 0),
        };
        self.server.answer(u32::from(code), value, time.as_ps());
    }
}

impl PlatformThread {
    /// Carries out a request that came with files.
    pub(super) fn share(
        &mut self,
        session: SessionId,
        id: RequestId,
        request: &Request,
        files: Result<Vec<File>, QuotaExceeded>,
    ) {
        self.take_ring(session);
        let done = files.map_err(exceeded).and_then(|files| match request {
            Request::ShareMemory(share) => self.share_memory(session, share, &files),
            Request::OpenRing(open) => self.open_ring(session, *open, files),
            _ => Err((ErrorCode::Internal, format!("{} has no files", request.name()))),
        });
        self.reply(session, id, done);
    }

    fn share_memory(
        &mut self,
        session: SessionId,
        share: &ShareMemory,
        files: &[File],
    ) -> Result<(), Failure> {
        let Some(member) = self.members.get(&session) else { return Ok(()) };
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
            let Some(File { file, .. }) = files.get(usize::from(file)) else {
                return refuse(ErrorCode::BadRange, "there is no such file");
            };
            let amount = Usage { regions: 1, bytes: size, files: 0 };
            let taken = match member.stream.quotas().take(amount) {
                Ok(taken) => taken,
                Err(error) => return refuse(ErrorCode::QuotaExceeded, &error.to_string()),
            };
            match Region::map(file, offset, size) {
                Ok(region) => {
                    let memory = Rc::new(Mapped::new(region, taken));
                    parts.push(DirectRange { range: base..end, memory });
                }
                Err(error) => return refuse(ErrorCode::Unsupported, &error.to_string()),
            }
        }
        self.hub.access_directly(session, share.port, parts).map_err(refused)
    }

    fn open_ring(&mut self, session: SessionId, open: OpenRing, files: Vec<File>) -> Result<(), Failure> {
        let OpenRing { port, line } = open;
        self.hub.initiated(session, port, &[PortKind::Registers]).map_err(refused)?;
        if !self.hub.holds(session, line, vp_hub::Role::Sink) {
            let reason = format!("port {} is not attached as sink", line.0);
            return Err((ErrorCode::NotAttached, reason));
        }
        let level = self.hub.platform().irq().level();
        let Some(member) = self.members.get_mut(&session) else { return Ok(()) };
        if member.has_had_ring {
            return Err((ErrorCode::PortBusy, "the session has, or has had, a ring".to_owned()));
        }
        let refuse = |why: String| (ErrorCode::Unsupported, why);
        let Ok([memory, own, client]) = <[File; 3]>::try_from(files) else {
            return Err(refuse("a ring has three files".to_owned()));
        };
        let amount = Usage { regions: 1, bytes: ring::BYTES, files: 0 };
        let mapped = member.stream.quotas().take(amount).map_err(exceeded)?;
        let server = ring::Server::open(&memory.file, own.file, client.file);
        let mut server = Deferred::new(server.map_err(|error| refuse(error.to_string()))?);
        member.has_had_ring = true;
        // From now on this thread looks at it.
        server.wake();
        server.set_line(level);
        member.ring = Some(Ring { server, _mapped: mapped, port, line });
        Ok(())
    }

    /// Closes a session's ring if a port that belongs to it was detached: nothing more is taken from it.
    pub(super) fn close_ring_without_ports(&mut self, session: SessionId) {
        let Some(member) = self.members.get_mut(&session) else { return };
        let is_held = |ring: &Ring| {
            self.hub.holds(session, ring.port, vp_hub::Role::Initiator)
                && self.hub.holds(session, ring.line, vp_hub::Role::Sink)
        };
        if member.ring.as_ref().is_some_and(|ring| !is_held(ring)) {
            member.ring = None;
        }
    }

    // Rings.

    pub(super) fn rings(&self) -> impl Iterator<Item = &Ring> {
        self.members.values().filter_map(|member| member.ring.as_ref())
    }

    /// The rings that are taken from: not those of sessions that have too much waiting.
    fn open_rings(&self) -> impl Iterator<Item = (SessionId, &Ring)> {
        let rings =
            self.members.iter().filter_map(|(session, member)| Some((*session, member.ring.as_ref()?)));
        rings.filter(|(session, _)| self.hub.waiting(*session) < JOBS)
    }

    /// Returns true if an access waits in a ring.
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
            let Some(ring) = self.members.get_mut(&session).and_then(|member| member.ring.as_mut()) else {
                return;
            };
            let port = ring.port;
            let ring::Request { access, address, at } = match ring.server.take() {
                Ok(Some(request)) => request,
                Ok(None) => return,
                Err(error) => return self.disconnect(session, ErrorCode::BadEntry, &error.to_string()),
            };
            let Some(member) = self.members.get_mut(&session) else { return };
            member.stream.note_access();
            let permit = member.stream.permits().permit(0);
            let (at, capabilities) = (at.map(Time::ps), member.capabilities);
            let write =
                |value| translate::register_write(RegisterWrite { port, address, value, at }, capabilities);
            let asked = match access {
                Access::Read => translate::register_read(RegisterRead { port, address, at }, capabilities),
                Access::Write(value) => write(value),
                Access::Posted(value) => {
                    self.post(session, write(value), permit);
                    continue;
                }
            };
            self.give(session, IN_RING, PartyCommand::Access(asked));
        }
    }
}

fn exceeded(exceeded: QuotaExceeded) -> Failure {
    (ErrorCode::QuotaExceeded, exceeded.to_string())
}

fn refused(failure: vp_hub::Failure) -> Failure {
    (translate::error_code(failure.kind), failure.reason)
}
