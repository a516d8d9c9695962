//! Files that the peer of another protocol has passed: memory, mapped here, and eventfds. The adapter knows them by number.

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::rc::Rc;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags};
use vp_hub::{DirectMemory, DirectRange};
use vp_shm::descriptors::Passed;
use vp_shm::{Bell, Deferred, Mappings, Region, Sharing};
use vp_transport::UnixPeer;

use super::quota::{QuotaShare, Quotas, Usage};
use crate::adapters::{DirtyPages, FileTask, SharedPart};

/// A mapped region, as the platform's bus reaches it. When it is unmapped all of its file's pages may have to be freed.
pub(super) struct Mapped(Deferred<(Region, [QuotaShare; 2])>);

impl Mapped {
    /// Maps `size` bytes of a file from `offset` on, whether its pages may go away or not.
    ///
    /// # Errors
    /// The reason, for people.
    fn of_quotas(quotas: &Quotas, file: &Passed, offset: u64, size: u64) -> Result<Self, String> {
        let amount = Usage { regions: 1, bytes: size, files: 0 };
        let taken = quotas.take(amount).map_err(|error| error.to_string())?;
        let region = Region::map_any(file, offset, size).map_err(|error| error.to_string())?;
        Ok(Self::new(region, taken))
    }

    /// A region, and its part of the quotas.
    pub(super) fn new(region: Region, taken: [QuotaShare; 2]) -> Self {
        Self(Deferred::new((region, taken)))
    }
}

impl DirectMemory for Mapped {
    fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        self.0.0.read(offset, into)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        self.0.0.write(offset, bytes)
    }
}

/// A part of a mapped region, which the device may write or not.
struct PartOf {
    mapped: Rc<Mapped>,
    offset: u64,
    is_writeable: bool,
    /// Address of the part.
    address: u64,
    written: Arc<DirtyPages>,
}

impl DirectMemory for PartOf {
    fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        self.mapped.read(self.offset + offset, into)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        if !self.is_writeable {
            return false;
        }
        // Of what fails a part may have been written.
        self.written.note(self.address + offset, bytes.len() as u64);
        self.mapped.write(self.offset + offset, bytes)
    }
}

/// An eventfd, and its part of the quotas.
struct Eventfd {
    bell: Bell,
    is_heard: bool,
    _taken: [QuotaShare; 2],
}

/// Outcome of a task.
pub(super) enum Carried {
    /// Done, or not for a reason; the adapter is told.
    Told(Result<(), String>),
    /// Done; the adapter is not told.
    Done,
    /// The memory behind a port, for the hub.
    Share(vp_hub::PortId, Vec<DirectRange>),
}

/// Files of one session.
pub(super) struct PassedFiles {
    /// Process that passes them, if it is known.
    peer: Option<UnixPeer>,
    quotas: Quotas,
    memories: BTreeMap<u64, Rc<Mapped>>,
    eventfds: BTreeMap<u32, Eventfd>,
}

impl PassedFiles {
    pub(super) fn new(peer: Option<UnixPeer>) -> Self {
        Self { peer, quotas: Quotas::new(), memories: BTreeMap::new(), eventfds: BTreeMap::new() }
    }

    /// Maps memory of the peer's, unless the peer has it for itself, so that its file has other bytes.
    ///
    /// # Errors
    /// The reason, for people.
    fn map(&self, file: &Passed, offset: u64, size: u64, session: &str) -> Result<Mapped, String> {
        let pid = self.peer.map_or(0, |peer| peer.pid);
        match Mappings::of(pid).and_then(|mappings| mappings.sharing(file, offset, size)) {
            // Who has mapped nothing of the file writes nothing there that the file does not have.
            Ok(Sharing::Shared | Sharing::Unmapped) => {}
            Ok(Sharing::Apart) => {
                return Err("the hypervisor has not mapped these bytes of the file, or has them for itself: give it memory with \
                            share=on, from the beginning of its file"
                    .to_owned());
            }
            Err(error) => tracing::warn!(
                "{session}: process {pid} does not show what it has mapped ({error}): if its memory is not shared (share=on) the \
                 device and the guest have different bytes there"
            ),
        }
        Mapped::of_quotas(&self.quotas, file, offset, size)
    }

    /// Carries out a task of the adapter of that session.
    pub(super) fn carry_out(&mut self, task: FileTask, session: &str) -> Carried {
        match task {
            FileTask::Map { memory, file, offset, size, address } => {
                let mapped = self.map(&file, offset, size, session);
                match &mapped {
                    Ok(Mapped(deferred)) if deferred.0.is_direct() => {}
                    Ok(_) => tracing::info!(
                        "{session}: {size} bytes of the guest's memory at 0x{address:x}: each access is a system call, because the \
                         file's pages might go away: only a memfd with F_SEAL_SHRINK, not of huge pages, is accessed directly"
                    ),
                    Err(why) => tracing::warn!(
                        "{session}: {size} bytes of the guest's memory at 0x{address:x}: {why}; the device accesses them by messages, \
                         and an access to registers meanwhile may fail"
                    ),
                }
                Carried::Told(mapped.map(|mapped| drop(self.memories.insert(memory, Rc::new(mapped)))))
            }
            FileTask::Unmap { memory } => {
                self.memories.remove(&memory);
                Carried::Done
            }
            FileTask::Share { port, parts, written } => {
                let direct = |part: SharedPart| {
                    let SharedPart { range, memory, offset, is_writeable } = part;
                    let mapped = self.memories.get(&memory)?.clone();
                    let (address, written) = (range.start, written.clone());
                    let memory = Rc::new(PartOf { mapped, offset, is_writeable, address, written });
                    Some(DirectRange { range, memory })
                };
                Carried::Share(port, parts.into_iter().filter_map(direct).collect())
            }
            FileTask::Eventfd { eventfd, file, is_heard } => {
                Carried::Told(self.take_eventfd(eventfd, file, is_heard))
            }
            FileTask::Forget { eventfd } => {
                self.eventfds.remove(&eventfd);
                Carried::Done
            }
            FileTask::Signal { eventfd } => {
                if let Some(Eventfd { bell, .. }) = self.eventfds.get(&eventfd) {
                    bell.ring();
                }
                Carried::Done
            }
        }
    }

    fn take_eventfd(&mut self, eventfd: u32, file: Passed, is_heard: bool) -> Result<(), String> {
        // That one's place is free for this one.
        self.eventfds.remove(&eventfd);
        let amount = Usage { files: 1, ..Usage::default() };
        let taken = self.quotas.take(amount).map_err(|error| error.to_string())?;
        let bell = Bell::in_use(file).map_err(|error| error.to_string())?;
        self.eventfds.insert(eventfd, Eventfd { bell, is_heard, _taken: taken });
        Ok(())
    }

    /// An eventfd that the peer has signalled since it was last asked for.
    pub(super) fn signalled(&self) -> Option<u32> {
        let is_signalled = |(_, eventfd): &(&u32, &Eventfd)| eventfd.is_heard && eventfd.bell.was_rung();
        self.eventfds.iter().find(is_signalled).map(|(number, _)| *number)
    }

    /// Returns what to sleep on until the peer signals.
    pub(super) fn wanted(&self) -> impl Iterator<Item = PollFd<'_>> {
        let heard = self.eventfds.values().filter(|eventfd| eventfd.is_heard);
        heard.map(|eventfd| PollFd::from_borrowed_fd(eventfd.bell.as_fd(), PollFlags::IN))
    }
}
