//! Protocols other than the native one: what a peer says becomes inputs of the platform's hub, and its outputs what the peer is
//! told.
//!
//! An [`Adapter`] has no socket and no clock. Its session's sockets are the platform's thread's
//! (`instance/adapted.rs`).

pub(crate) mod remote_port;
pub(crate) mod renode;

use bytes::BytesMut;
use thiserror::Error;
use vp_core::Time;
use vp_models::hub::{Input, Output, PartyId};
use vp_models::platform::{Description, Port};

/// What a session has to do with, from its beginning on.
pub(crate) struct Beginning<'a> {
    /// Its party at the hub.
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
    fn begin(&mut self, beginning: &Beginning<'_>) -> Result<(), Parting>;

    /// Whether the first bytes that have come on the first stream show that a peer is there: a greeting, whole, or what is none. The
    /// peer is told what there is to be told, and nothing more happens, before that.
    fn is_greeted(&self, bytes: &[u8]) -> bool;

    /// Takes what is complete of the bytes that have come on a stream: the first stream is 0. What is left is shown again with
    /// what follows it.
    ///
    /// # Errors
    /// The peer has broken a rule of its protocol, or says that it goes. After a rule is broken it is not called any more.
    fn receive(&mut self, stream: usize, bytes: &mut BytesMut, now: Time) -> Result<(), Parting>;

    /// Takes what the hub tells this party.
    ///
    /// # Errors
    /// Nothing more can be done for the peer.
    fn tell(&mut self, output: Output, now: Time) -> Result<(), Parting>;

    /// Simulated time waits for this party, a partner, to promise more.
    ///
    /// # Errors
    /// Nothing more can be done for the peer.
    fn is_waited_for(&mut self) -> Result<(), Parting> {
        Ok(())
    }

    /// Whether it wants to know when the peer is silent.
    fn minds_silence(&self) -> bool {
        false
    }

    /// Nothing has come from the peer for a millisecond by the wall clock.
    ///
    /// # Errors
    /// Nothing more can be done for the peer.
    fn is_silent(&mut self) -> Result<(), Parting> {
        Ok(())
    }

    /// The next thing that the hub is to be told.
    fn next_input(&mut self) -> Option<Input>;

    /// What is to be written next, and on which stream: by one call, as far as the stream takes it.
    fn next_output(&mut self) -> Option<(usize, &mut BytesMut)>;

    /// Whether the peer may ask for more. If not, its streams are left unread.
    fn takes_more(&self) -> bool;

    /// Whether the peer waits for answers that come without another word of it: they are its, even if it has done wrong since.
    fn owes_answers(&self) -> bool;

    /// What it is when the peer's stream ends, and nothing was left unsaid.
    fn gone(&self) -> Parting {
        Parting::Fine("the peer is gone".to_owned())
    }
}

/// Why a session of another protocol ends.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Parting {
    /// As it should.
    #[error("{0}")]
    Fine(String),
    /// The peer, or the platform, did wrong.
    #[error("{0}")]
    Wrong(String),
}
