//! Sockets of the system, TCP and Unix, that never block.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read as _, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use vp_shm::descriptors::{self, Passed};

use crate::Address;

/// Pieces that are written at once.
const PIECES: usize = 8;
/// Bytes of a Unix socket that are read at once: as many as mostly wait there.
const WAITING: usize = 256 << 10;

/// A connected socket, set not to block: what cannot be done now is `None`.
#[derive(Debug)]
pub enum Socket {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a Unix socket.
    Unix(UnixStream),
}

impl Socket {
    /// Connects; blocks meanwhile. The time-out is for each of a name's addresses.
    ///
    /// # Errors
    /// What the system says.
    pub fn connect(address: &Address, timeout: Duration) -> io::Result<Self> {
        let socket = match address {
            Address::Tcp { host, port } => Self::Tcp(tcp(host, *port, timeout)?),
            Address::Unix(path) => Self::Unix(vp_shm::unix::connect(path)?),
        };
        match &socket {
            Self::Tcp(socket) => socket.set_nonblocking(true)?,
            Self::Unix(socket) => socket.set_nonblocking(true)?,
        }
        Ok(socket)
    }

    /// Another handle of it.
    ///
    /// # Errors
    /// What the system says.
    pub fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(socket) => socket.try_clone().map(Self::Tcp),
            Self::Unix(socket) => socket.try_clone().map(Self::Unix),
        }
    }

    /// Over TCP: lets what has been received be acknowledged at once, as long as nothing is sent. Peers that send a message
    /// in two pieces and wait for the acknowledgement of the first one (J. Nagle, RFC 896) would otherwise wait for the
    /// system's delayed one, some 40 ms.
    pub fn acknowledge_at_once(&self) {
        if let Self::Tcp(socket) = self {
            // An error says that it has ended, which is seen elsewhere.
            let _ = rustix::net::sockopt::set_tcp_quickack(socket, true);
        }
    }

    /// Ends it, for all handles. A Unix socket is ended before its last handle is dropped: else that may
    /// [wait for the peer](vp_shm::descriptors).
    pub fn shut_down(&self) {
        match self {
            // An error says that it has ended.
            Self::Tcp(socket) => drop(socket.shutdown(Shutdown::Both)),
            Self::Unix(socket) => descriptors::drain(socket),
        }
    }

    /// Whether either side has closed it.
    pub fn is_ended(&self) -> bool {
        vp_shm::wait(&[], &[self.as_fd()], Some(Duration::ZERO))
    }

    /// Reads what is there. `None`: nothing is there. 0: the end. Files that come beside it are closed.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Tcp(socket) => ready((&mut &*socket).read(into)),
            Self::Unix(_) => self.receive(into, &mut VecDeque::new()),
        }
    }

    /// The same, and appends the files that came with it.
    ///
    /// # Errors
    /// What the system says.
    pub fn receive(&self, into: &mut [u8], files: &mut VecDeque<Passed>) -> io::Result<Option<usize>> {
        match self {
            Self::Tcp(_) => self.read(into),
            Self::Unix(socket) => ready(descriptors::receive(socket, into, files)),
        }
    }

    /// Reads at most so many bytes, of those that are there, to where they stay. `None`: nothing is there. 0: the end.
    ///
    /// Only for bytes beside which no files should come, the inside of a frame: those that do are closed.
    ///
    /// # Errors
    /// What the system says.
    pub fn read_onto(&self, most: usize, onto: &mut BytesMut) -> io::Result<Option<usize>> {
        match self {
            Self::Tcp(socket) => ready(vp_shm::stream::read_onto(socket, most, onto)),
            Self::Unix(_) => {
                let old = onto.len();
                onto.resize(old + most.min(WAITING), 0);
                let read = self.read(&mut onto[old..]);
                onto.truncate(old + read.as_ref().map_or(0, |read| read.unwrap_or(0)));
                read
            }
        }
    }

    /// Writes what there is room for, several pieces at once, and takes it off the front of `bytes`. `None`: there is
    /// no room.
    ///
    /// # Errors
    /// What the system says; [`ErrorKind::WriteZero`] when it takes nothing more for ever.
    pub fn write(&self, bytes: &mut impl Buf) -> io::Result<Option<usize>> {
        ready(match self {
            Self::Tcp(socket) => write_to(&mut &*socket, bytes),
            Self::Unix(socket) => write_to(&mut &*socket, bytes),
        })
    }

    /// Writes the first of the bytes with files beside them, and takes it off their front. `None`: there is no room.
    ///
    /// # Errors
    /// What the system says; [`ErrorKind::Unsupported`] for a socket that carries no files.
    pub fn send_with(&self, bytes: &mut impl Buf, files: &[BorrowedFd<'_>]) -> io::Result<Option<usize>> {
        let Self::Unix(socket) = self else { return Err(ErrorKind::Unsupported.into()) };
        let sent = ready(descriptors::send(socket, bytes.chunk(), files))?;
        bytes.advance(sent.unwrap_or(0));
        Ok(sent)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

fn tcp(host: &str, port: u16, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for place in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, timeout) {
            Ok(stream) => {
                // Requests are small and wait for answers: nothing is won by collecting them.
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn write_to(stream: &mut impl Write, bytes: &mut impl Buf) -> io::Result<usize> {
    if !bytes.has_remaining() {
        return Ok(0);
    }
    let written = match bytes.chunk().len() == bytes.remaining() {
        true => stream.write(bytes.chunk())?,
        false => {
            let mut slices = [IoSlice::new(&[]); PIECES];
            let filled = bytes.chunks_vectored(&mut slices);
            stream.write_vectored(&slices[..filled])?
        }
    };
    if written == 0 {
        return Err(ErrorKind::WriteZero.into());
    }
    bytes.advance(written);
    Ok(written)
}

/// A socket that is not ready has nothing to say, and is not broken.
fn ready(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        done => done.map(Some),
    }
}
