//! Replaces TLS where this library is built without it.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use bytes::{Buf, BytesMut};
use thiserror::Error;

/// Error of a build without TLS.
#[derive(Debug, Error)]
#[error("this program is built without TLS: build it with the feature `tls`")]
pub struct TlsError;

/// Client of a build without TLS: none can be made.
#[derive(Debug, Clone)]
pub enum Client {}

/// Socket of a build without TLS: none can be made.
#[derive(Debug)]
pub enum TlsSocket {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(dead_code, reason = "there is no handshake")]
pub(crate) enum Progress {
    Done,
    Reads,
    Writes,
}

impl Client {
    /// Fails.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn new(_: &Path, _: Option<(&Path, &Path)>) -> Result<Self, TlsError> {
        Err(TlsError)
    }
}

impl TlsSocket {
    pub(crate) fn client(_: TcpStream, _: &str, settings: &Client) -> io::Result<Self> {
        match *settings {}
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match *self {}
    }

    pub(crate) fn handshake(&self) -> io::Result<Progress> {
        match *self {}
    }

    pub(crate) fn tcp(&self) -> &TcpStream {
        match *self {}
    }

    pub(crate) fn has_buffered(&self) -> bool {
        match *self {}
    }

    pub(crate) fn read(&self, _: &mut [u8]) -> io::Result<Option<usize>> {
        match *self {}
    }

    pub(crate) fn read_onto(&self, _: usize, _: &mut BytesMut) -> io::Result<Option<usize>> {
        match *self {}
    }

    pub(crate) fn write(&self, _: &mut impl Buf) -> io::Result<Option<usize>> {
        match *self {}
    }

    pub(crate) fn shut_down(&self, _: Shutdown) -> io::Result<()> {
        match *self {}
    }
}

impl AsFd for TlsSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match *self {}
    }
}
