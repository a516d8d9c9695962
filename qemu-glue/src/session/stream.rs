//! A socket that never blocks by itself; who has to wait says for how long.

use std::io::{self, ErrorKind, Read as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::BytesMut;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use vp_protocols::native::Output;

use crate::options::Endpoint;

/// A connection to a server.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(super) fn connect(endpoint: &Endpoint, timeout: Duration) -> io::Result<Self> {
        match endpoint {
            Endpoint::Tcp(place) => {
                let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
                for address in place.as_str().to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, timeout) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            stream.set_nonblocking(true)?;
                            return Ok(Self::Tcp(stream));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
            Endpoint::Unix(path) => {
                let stream = vp_shm::unix::connect(path)?;
                stream.set_nonblocking(true)?;
                Ok(Self::Unix(stream))
            }
        }
    }

    /// The same connection once more, to wait for it while another thread uses it.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
        }
    }

    /// Ends it for every clone.
    pub(super) fn shutdown(&self) {
        let both = std::net::Shutdown::Both;
        // An error says that it has ended already.
        _ = match self {
            Self::Tcp(stream) => stream.shutdown(both),
            Self::Unix(stream) => stream.shutdown(both),
        };
    }

    /// Reads what is there. `None`: nothing is.
    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let read = match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
        };
        there(read)
    }

    /// The same, at most so many bytes, appended to where they stay.
    pub(super) fn read_onto(&self, most: usize, onto: &mut BytesMut) -> io::Result<Option<usize>> {
        there(vp_shm::stream::read_onto(self, most, onto))
    }

    /// Writes what there is room for. `None`: there is none.
    pub(super) fn write(&mut self, output: &mut Output) -> io::Result<Option<usize>> {
        let written = match self {
            Self::Tcp(stream) => output.write_to(stream),
            Self::Unix(stream) => output.write_to(stream),
        };
        match written {
            Ok(written) => Ok(Some(written)),
            Err(error) if is_patience(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes bytes with files beside them. `None`: there is no room.
    pub(super) fn write_with(&self, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<Option<usize>> {
        match vp_shm::descriptors::send(self, bytes, files) {
            Err(error) if is_patience(&error) => Ok(None),
            written => written.map(Some),
        }
    }

    /// Whether the other side has closed it, or this one.
    pub(super) fn is_ended(&self) -> bool {
        vp_shm::wait(&[], &[self.as_fd()], Some(Duration::ZERO))
    }

    /// Sleeps until there is something to read, or the end of the stream, or if wanted room to write; at most for so long.
    pub(super) fn wait(&self, or_room: bool, timeout: Option<Duration>) {
        let mut wanted = PollFlags::POLLIN;
        wanted.set(PollFlags::POLLOUT, or_room);
        let timeout = timeout.map_or(PollTimeout::NONE, |timeout| {
            PollTimeout::try_from(timeout.as_millis().max(1)).unwrap_or(PollTimeout::MAX)
        });
        // A signal, or an error that the next read or write will find as well.
        _ = poll(&mut [PollFd::new(self.as_fd(), wanted)], timeout);
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

/// What was read, if something was. A stream's end is an error.
fn there(read: io::Result<usize>) -> io::Result<Option<usize>> {
    match read {
        Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the stream")),
        Ok(read) => Ok(Some(read)),
        Err(error) if is_patience(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_patience(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
