//! What a session of the same host shares: its memory, mapped here, and a ring for its register accesses.

use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;

use bytes::Bytes;
use vp_protocols::native::{
    self, ErrorCode, OpenRing, PortId, PortKind, RegisterRead, RegisterWrite, Reply, Request, RequestId,
    Role, SessionId, ShareMemory, SharedRegion,
};
use vp_shm::Region;
use vp_shm::ring::{self, Access};

use super::outside::Shared;
use super::{Asker, Failure, Host};

/// Regions that one memory may have.
const REGIONS: usize = 64;
/// Register accesses that may wait before the ring is taken no further.
const JOBS: usize = 1024;

/// A session's ring.
pub(super) struct Ring {
    pub(super) server: ring::Server,
    port: PortId,
    pub(super) line: PortId,
}

impl Host {
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
        match done {
            Ok(()) => self.reply(session, id, Reply::Done),
            Err(failure) => self.fail(session, Some(Asker::Stream(id)), failure),
        }
    }

    fn share_memory(
        &mut self,
        session: SessionId,
        share: &ShareMemory,
        files: &[OwnedFd],
    ) -> Result<(), Failure> {
        let name = self.port(share.port)?.name.clone();
        let mut holdings = self.holdings.iter_mut();
        let Some(holding) = holdings.find(|holding| {
            (holding.session, holding.port, holding.role) == (session, share.port, Role::Target)
        }) else {
            return Err((ErrorCode::NotAttached, format!("{name} is not attached as target")));
        };
        if !(1..=REGIONS).contains(&share.regions.len()) {
            let count = share.regions.len();
            return Err((ErrorCode::BadRange, format!("{count} regions: 1 to {REGIONS} can be shared")));
        }
        let mut shared: Vec<Shared> = Vec::new();
        for &SharedRegion { base, size, file, offset } in &share.regions {
            let refuse =
                |code, why: &str| Err((code, format!("{size} bytes at 0x{base:x} of {name}: {why}")));
            let end = base.checked_add(size).filter(|&end| size > 0 && end <= holding.range.end);
            let Some(end) = end.filter(|_| base >= holding.range.start) else {
                return refuse(ErrorCode::BadRange, "not all of them are the session's");
            };
            if shared.iter().any(|other| base < other.range.end && other.range.start < end) {
                return refuse(ErrorCode::BadRange, "some are in another region too");
            }
            let Some(file) = files.get(usize::from(file)) else {
                return refuse(ErrorCode::BadRange, "there is no such file");
            };
            match Region::map(file, offset, size) {
                Ok(region) => shared.push(Shared { range: base..end, region }),
                Err(error) => return refuse(ErrorCode::Unsupported, &error.to_string()),
            }
        }
        holding.shared = Rc::from(shared);
        let holding = holding.clone();
        self.connect_memory(&holding);
        Ok(())
    }

    fn open_ring(&mut self, session: SessionId, open: OpenRing, files: Vec<OwnedFd>) -> Result<(), Failure> {
        let OpenRing { port, line } = open;
        self.initiated(session, port, PortKind::Csb)?;
        let name = self.port(line)?.name.clone();
        let is_sink = |holding: &super::Holding| {
            (holding.session, holding.port, holding.role) == (session, line, Role::Sink)
        };
        if !self.holdings.iter().any(is_sink) {
            return Err((ErrorCode::NotAttached, format!("{name} is not attached as sink")));
        }
        let level = self.platform.irq().level();
        let Some(member) = self.members.get_mut(session) else { return Ok(()) };
        let refuse = |why: String| (ErrorCode::Unsupported, why);
        let Ok([memory, own, client]) = <[OwnedFd; 3]>::try_from(files) else {
            return Err(refuse("a ring has three files".to_owned()));
        };
        let mut server =
            ring::Server::open(&memory, own, client).map_err(|error| refuse(error.to_string()))?;
        let bell = server.bell().as_fd().try_clone_to_owned().map_err(|error| refuse(error.to_string()))?;
        if !member.to.link().set_bell(bell) {
            return Err((ErrorCode::PortBusy, "the session has, or has had, a ring".to_owned()));
        }
        server.set_line(level);
        member.ring = Some(Ring { server, port, line });
        Ok(())
    }

    /// A port is detached: nothing more is taken from a ring that belongs to it.
    pub(super) fn close_ring_of(&mut self, session: SessionId, port: PortId) {
        if let Some(member) = self.members.get_mut(session)
            && member.ring.as_ref().is_some_and(|ring| ring.port == port || ring.line == port)
        {
            member.ring = None;
        }
    }

    // Rings.

    pub(super) fn rings(&self) -> impl Iterator<Item = &Ring> {
        self.members.iter().filter_map(|(_, member)| member.ring.as_ref())
    }

    /// The rings that are taken from: not those of sessions that have too much waiting.
    fn open_rings(&self) -> impl Iterator<Item = (SessionId, &Ring)> {
        let open = self.members.iter().filter(|(_, member)| member.jobs.len() < JOBS);
        open.filter_map(|(session, member)| Some((session, member.ring.as_ref()?)))
    }

    /// Whether an access waits in a ring.
    pub(super) fn is_asked(&self) -> bool {
        self.open_rings().any(|(_, ring)| ring.server.is_asked())
    }

    /// Has the clients ring when they have asked. `false`: one has.
    pub(super) fn fall_asleep(&self) -> bool {
        self.open_rings().all(|(_, ring)| ring.server.fall_asleep())
    }

    /// Has the clients not ring any more: we look. Forgets that they have rung.
    pub(super) fn hush(&self) {
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
            let at = at.map(native::Time);
            let (asker, request) = match access {
                Access::Read => {
                    (Some(Asker::Ring), Request::RegisterRead(RegisterRead { port, address, at }))
                }
                Access::Write(value) => {
                    (Some(Asker::Ring), Request::RegisterWrite(RegisterWrite { port, address, value, at }))
                }
                Access::Posted(value) => {
                    (None, Request::RegisterWrite(RegisterWrite { port, address, value, at }))
                }
            };
            self.enqueue(session, asker, request, Bytes::new(), None);
        }
    }

    /// Answers the first access of a session's ring that is not answered.
    pub(super) fn answer_in_ring(&mut self, session: SessionId, code: u16, value: u32, time: native::Time) {
        if let Some(ring) = self.members.get_mut(session).and_then(|member| member.ring.as_mut()) {
            ring.server.answer(u32::from(code), value, time.0);
        }
    }
}
