//! Protocols other than the native one: an adapter converts a peer's messages to inputs of the platform's hub,
//! and the hub's outputs to messages for the peer.
//!
//! An [`Adapter`] has no socket and no clock. The platform's thread has its session's sockets
//! (`instance/adapted.rs`).

mod dirty_pages;
mod hub_inputs;
pub(crate) mod remote_port;
pub(crate) mod renode;
pub(crate) mod vfio_user;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use thiserror::Error;
use vp_core::Time;
use vp_hub::{Input, Output, PartyId, PortId};
use vp_models::platform::{Description, Port, SaveError};
use vp_shm::descriptors::Passed;

pub(crate) use dirty_pages::DirtyPages;

/// State of things with which a session begins.
pub(crate) struct SessionStart<'a> {
    /// Party of the session at the hub.
    pub(crate) party: PartyId,
    /// The platform's ports.
    pub(crate) ports: &'a [Port],
    /// The platform.
    pub(crate) description: &'a Description,
    /// The simulated time.
    pub(crate) now: Time,
}

/// A part of a mapped memory, at addresses of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SharedPart {
    /// Addresses of the part.
    pub(crate) range: Range<u64>,
    /// Number of the memory.
    pub(crate) memory: u64,
    /// Offset of the first byte in it.
    pub(crate) offset: u64,
    /// True if the device may write it.
    pub(crate) is_writeable: bool,
}

/// Task with files that an adapter's peer has passed, and that the platform's thread keeps.
#[derive(Debug)]
pub(crate) enum FileTask {
    /// Maps bytes of a file, as memory of that number. Answered.
    Map {
        memory: u64,
        file: Passed,
        offset: u64,
        size: u64,
        /// Address of the memory for the device, for messages.
        address: u64,
    },
    /// Gives a memory up.
    Unmap { memory: u64 },
    /// From now on the platform accesses these parts behind a port directly, and asks for no others. Answered.
    Share {
        port: PortId,
        parts: Vec<SharedPart>,
        /// Log of what the platform writes to them.
        written: Arc<DirtyPages>,
    },
    /// Keeps an eventfd, in place of one of that number. Answered.
    Eventfd {
        eventfd: u32,
        file: Passed,
        /// True if it is the peer who signals it.
        is_heard: bool,
    },
    /// Gives an eventfd up, if there is one.
    Forget { eventfd: u32 },
    /// Signals an eventfd, if there is one.
    Signal { eventfd: u32 },
}

/// One party at a hub, whose peer has a protocol of its own. `now` is the simulated time.
pub(crate) trait Adapter: Send {
    /// The session begins.
    ///
    /// # Errors
    /// The platform is not what the peer needs.
    fn begin(&mut self, beginning: &SessionStart<'_>) -> Result<(), SessionEnd>;

    /// Returns true if the first bytes on the first stream show that a peer is there: a complete greeting, or
    /// something that is not a greeting. Before that the peer is sent the adapter's own greeting, and nothing
    /// else happens.
    fn is_greeted(&self, bytes: &[u8]) -> bool;

    /// Files have come beside bytes of a stream; after those, `behind` bytes wait in all for [`receive`](Self::receive).
    fn add_files(&mut self, _stream: usize, files: VecDeque<Passed>, _behind: usize) {
        drop(files);
    }

    /// Takes the complete messages from the bytes that have come on a stream: the first stream is 0. The
    /// remaining bytes are passed again, with those that follow.
    ///
    /// # Errors
    /// The peer has broken a rule of its protocol, or has said goodbye. After a broken rule this is not called
    /// any more.
    fn receive(&mut self, stream: usize, bytes: &mut BytesMut, now: Time) -> Result<(), SessionEnd>;

    /// Takes what the hub tells this party.
    ///
    /// # Errors
    /// Nothing more can be done for the peer.
    fn tell(&mut self, output: Output, now: Time) -> Result<(), SessionEnd>;

    /// Simulated time waits for a further promise of this party, a partner.
    ///
    /// # Errors
    /// Nothing more can be done for the peer.
    fn is_waited_for(&mut self) -> Result<(), SessionEnd> {
        Ok(())
    }

    /// Returns true if the adapter wants to know when the peer is silent.
    fn minds_silence(&self) -> bool {
        false
    }

    /// Nothing has come from the peer for a millisecond of wall-clock time.
    ///
    /// # Errors
    /// Nothing more can be done for the peer.
    fn is_silent(&mut self) -> Result<(), SessionEnd> {
        Ok(())
    }

    /// The next input for the hub.
    fn next_input(&mut self) -> Option<Input>;

    /// The next task with files.
    fn next_file_task(&mut self) -> Option<FileTask> {
        None
    }

    /// A task that is answered is done; or the reason, for people, for which it is not.
    fn file_task_done(&mut self, _result: Result<(), String>) {}

    /// Returns true if the adapter wants the platform saved, without the memories outside. It is told with [`saved`](Self::saved), once
    /// the platform is at rest or comes to no rest by itself.
    fn wants_saved(&self) -> bool {
        false
    }

    /// The platform is saved, or is not for a reason.
    fn saved(&mut self, _result: Result<Bytes, SaveError>) {}

    /// The peer has signalled an eventfd.
    fn is_signalled(&mut self, _eventfd: u32) {}

    /// The next bytes to write, and on which stream: by one call, as far as the stream takes it.
    fn next_output(&mut self) -> Option<(usize, &mut BytesMut)>;

    /// Returns true if the peer may send more requests. If not, its streams are not read.
    fn takes_more(&self) -> bool;

    /// Returns true if the peer waits for answers that need no further message of it. It gets them even if it has broken a rule since.
    fn owes_answers(&self) -> bool;

    /// Returns true if a request, of either side, waits for its answer.
    fn is_under_way(&self) -> bool;

    /// Returns the end that the session has if the peer's stream ends at the end of a message.
    fn gone(&self) -> SessionEnd {
        SessionEnd::Fine("the peer is gone".to_owned())
    }
}

/// Reason for which a session of another protocol ends.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum SessionEnd {
    /// As it should.
    #[error("{0}")]
    Fine(String),
    /// The peer, or the platform, did wrong.
    #[error("{0}")]
    Wrong(String),
}
