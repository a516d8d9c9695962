//! Protocols other than the native one: an adapter converts a peer's messages to inputs of the platform's hub,
//! and the hub's outputs to messages for the peer.
//!
//! An [`Adapter`] has no socket and no clock. The platform's thread has its session's sockets
//! (`instance/adapted.rs`).

pub(crate) mod remote_port;
pub(crate) mod renode;

use bytes::BytesMut;
use thiserror::Error;
use vp_core::Time;
use vp_hub::{Input, Output, PartyId};
use vp_models::platform::{Description, Port};

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
