//! Rings between processes: their files, offered by the client and opened by the server.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::layout::{BYTES, ENTRIES, MAGIC, Memory, VERSION};
use super::{Client, RingError, Server};
use crate::descriptors::Passed;
use crate::memory::Mapping;
use crate::{Bell, Region, RegionError, sealed};

impl Memory {
    fn map(file: impl AsFd) -> Result<Arc<Self>, RingError> {
        // The same checks as for any region: above all that it cannot shrink.
        drop(Region::map(&file, 0, BYTES)?);
        let mapping = Mapping::new(file, 0, BYTES as usize).map_err(RegionError::from)?;
        Ok(Arc::new(Self(mapping)))
    }
}

impl Client {
    /// A new ring. Send its [`files`](Self::files) to the server.
    ///
    /// # Errors
    /// What the system says.
    pub fn new() -> Result<Self, RingError> {
        let file = sealed("vp-ring", BYTES)?;
        let memory = Memory::map(&file)?;
        memory.magic().store(MAGIC, Ordering::Relaxed);
        memory.version().store(VERSION, Ordering::Relaxed);
        memory.entries().store(ENTRIES, Ordering::Relaxed);
        Ok(Self::on(memory, file, Bell::shared()?, Bell::shared()?))
    }

    /// The ring's memory, the server's bell, the client's bell, in the order that the server expects.
    pub fn files(&self) -> [BorrowedFd<'_>; 3] {
        [self.file.as_fd(), self.server.as_fd(), self.own.as_fd()]
    }
}

impl Server {
    /// The ring that a client offers: its memory, our bell, its bell.
    ///
    /// # Errors
    /// [`RingError`].
    pub fn open(
        memory: impl AsFd,
        own: impl Into<Passed>,
        client: impl Into<Passed>,
    ) -> Result<Self, RingError> {
        let memory = Memory::map(memory)?;
        let is_ring = memory.magic().load(Ordering::Relaxed) == MAGIC
            && memory.version().load(Ordering::Relaxed) == VERSION
            && memory.entries().load(Ordering::Relaxed) == ENTRIES;
        if !is_ring {
            return Err(RingError::Layout);
        }
        Ok(Self::on(memory, Bell::from_peer(own)?, Bell::from_peer(client)?))
    }

    /// The descriptor that becomes readable when an access has come during the sleep.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }
}
