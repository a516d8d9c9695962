//! Sessions that send nothing, or do not read, on platforms with many sessions: the system watches all their
//! sockets together.
//!
//! Looking at a socket is a system call, and after each access all of them are looked at. 500 silent sessions
//! would make an access of another session 20 times as long.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::event::{Timespec, epoll};
use vp_protocols::native::SessionId;

use super::member::{Member, MemberMap};

/// Most sessions reported at once. Others are reported at the next look.
const READY: usize = 32;

/// Sessions that are asleep, and what watches them.
#[derive(Default)]
pub(super) struct Asleep {
    members: MemberMap,
    /// Made for the first of them.
    watch: Option<OwnedFd>,
}

impl Asleep {
    /// Takes one in, unless the system has no file for that: then it is given back.
    pub(super) fn insert(&mut self, session: SessionId, mut member: Box<Member>) -> Result<(), Box<Member>> {
        if self.watch.is_none() {
            self.watch = epoll::create(epoll::CreateFlags::CLOEXEC).ok();
        }
        let Some(watch) = &self.watch else { return Err(member) };
        let (reads, writes) = member.stream.waits_to();
        // The end of a stream is always told.
        let (data, mut flags) = (epoll::EventData::new_u64(session.0), epoll::EventFlags::empty());
        flags.set(epoll::EventFlags::IN, reads);
        flags.set(epoll::EventFlags::OUT, writes);
        if epoll::add(watch, member.stream.socket(), data, flags).is_err() {
            return Err(member);
        }
        self.members.insert(session, member);
        Ok(())
    }

    pub(super) fn remove(&mut self, session: SessionId) -> Option<Box<Member>> {
        let member = self.members.remove(session)?;
        if let Some(watch) = &self.watch {
            // It is there, and the socket is open.
            let _ = epoll::delete(watch, member.stream.socket());
        }
        Some(member)
    }

    pub(super) fn members(&self) -> &MemberMap {
        &self.members
    }

    pub(super) fn members_mut(&mut self) -> &mut MemberMap {
        &mut self.members
    }

    /// Sessions that have sent something, or that read again.
    pub(super) fn ready(&self) -> Vec<SessionId> {
        let Some(watch) = self.watch.as_ref().filter(|_| !self.members.is_empty()) else { return Vec::new() };
        let mut events = [const { MaybeUninit::uninit() }; READY];
        match epoll::wait(watch, &mut events, Some(&Timespec::default())) {
            Ok((ready, _)) => ready.iter().map(|event| SessionId(event.data.u64())).collect(),
            // A signal: the next look finds them.
            Err(_) => Vec::new(),
        }
    }

    /// Returns the file that can be read when one of the sessions is [ready](Self::ready).
    pub(super) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().filter(|_| !self.members.is_empty()).map(OwnedFd::as_fd)
    }
}
