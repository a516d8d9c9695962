//! Sockets of the system, TCP (with or without TLS) and Unix, that never block.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read as _, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use vp_shm::descriptors::{self, Passed};

use crate::stream::wait;
use crate::tls::{self, Progress, TlsSocket};
use crate::{Address, Readiness};

/// Pieces that are written at once.
const PIECES: usize = 8;
/// Probes without an answer after which a peer's host is taken for gone.
const PROBES: u32 = 4;
/// Bytes of a Unix socket that are read at once: as many as mostly wait there.
const WAITING: usize = 256 << 10;

/// A connected, non-blocking socket: an operation that cannot be done now gives `None`.
#[derive(Debug)]
pub enum Socket {
    /// TCP socket.
    Tcp(TcpStream),
    /// TLS over TCP.
    Tls(TlsSocket),
    /// Unix socket.
    Unix(UnixStream),
}

impl Socket {
    /// Connects; blocks meanwhile. The time-out applies to each of a name's addresses, to TLS's handshake, and
    /// at a Unix socket to the wait for a place in the accept queue.
    ///
    /// # Errors
    /// The error of the system, or of TLS. [`ErrorKind::InvalidInput`]: the address needs TLS, and no trusted
    /// authority is given.
    pub fn connect(address: &Address, tls: Option<&tls::Client>, timeout: Duration) -> io::Result<Self> {
        match address {
            Address::Tcp { host, port } => {
                let socket = tcp(host, *port, timeout)?;
                socket.set_nonblocking(true)?;
                Ok(Self::Tcp(socket))
            }
            Address::Tls { host, port } => {
                let what = "it has TLS, and whom to trust is not said: set VP_CA to the file of the authority's certificate";
                let tls = tls.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, what))?;
                let until = Instant::now().checked_add(timeout);
                let socket = TlsSocket::client(tcp(host, *port, timeout)?, host, tls)?;
                shake_hands(&socket, until)?;
                Ok(Self::Tls(socket))
            }
            Address::Unix(path) => {
                let socket = vp_shm::unix::connect(path, timeout)?;
                socket.set_nonblocking(true)?;
                Ok(Self::Unix(socket))
            }
        }
    }

    /// Continues the work before the first byte: with TLS a handshake. Returns what to wait for before the next
    /// call; `None`: it is done.
    ///
    /// # Errors
    /// The handshake failed, with the reason for people. [`ErrorKind::Unsupported`]: the peer, a client, does
    /// not speak TLS.
    pub fn begin(&self) -> io::Result<Option<Readiness>> {
        let Self::Tls(socket) = self else { return Ok(None) };
        Ok(match socket.handshake()? {
            Progress::Done => None,
            Progress::Reads => Some(Readiness::Bytes),
            Progress::Writes => Some(Readiness::BytesOrRoom),
        })
    }

    /// Returns true if there are bytes to be read that the system does not report: after a read that has filled all its
    /// room.
    pub fn has_buffered(&self) -> bool {
        matches!(self, Self::Tls(socket) if socket.has_buffered())
    }

    /// The plain TCP socket, for a peer that does not speak TLS.
    ///
    /// # Errors
    /// What the system says.
    pub fn without_tls(&self) -> io::Result<Self> {
        match self {
            Self::Tls(socket) => socket.tcp().try_clone().map(Self::Tcp),
            socket => socket.try_clone(),
        }
    }

    /// Another handle of it.
    ///
    /// # Errors
    /// What the system says.
    pub fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(socket) => socket.try_clone().map(Self::Tcp),
            Self::Tls(socket) => socket.try_clone().map(Self::Tls),
            Self::Unix(socket) => socket.try_clone().map(Self::Unix),
        }
    }

    /// Over TCP: acknowledges received data at once, as long as nothing is sent. Some peers send a message in
    /// two pieces and wait for the acknowledgement of the first one (J. Nagle, RFC 896). They would otherwise
    /// wait for the system's delayed acknowledgement, some 40 ms.
    pub fn acknowledge_at_once(&self) {
        if let Self::Tcp(socket) = self {
            // An error says that it has ended, which is seen elsewhere.
            let _ = rustix::net::sockopt::set_tcp_quickack(socket, true);
        }
    }

    /// Over TCP: makes the system check whether the peer's host is there. A host that is silent for so long
    /// ends the socket with an error; one that acknowledges but takes no data does so after six times as long.
    /// The process behind it may sleep or be stopped: its system answers.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep_alive(&self, limit: Duration) -> io::Result<()> {
        use rustix::net::sockopt;
        let socket = match self {
            Self::Tcp(socket) => socket,
            Self::Tls(socket) => socket.tcp(),
            Self::Unix(_) => return Ok(()),
        };
        let seconds = |part: u32| Duration::from_secs((limit / part).as_secs().max(1));
        sockopt::set_tcp_keepidle(socket, seconds(2))?;
        sockopt::set_tcp_keepintvl(socket, seconds(2 * PROBES))?;
        sockopt::set_tcp_keepcnt(socket, PROBES)?;
        // Probes are sent only while nothing waits for its acknowledgement (RFC 9293, 3.8.4; tcp(7)).
        let unacknowledged = u32::try_from((limit * 6).as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_user_timeout(socket, unacknowledged)?;
        Ok(sockopt::set_socket_keepalive(socket, true)?)
    }

    /// Ends it, for all handles. A Unix socket is ended before its last handle is dropped, because otherwise
    /// dropping may [wait for the peer](vp_shm::descriptors).
    pub fn shut_down(&self) {
        match self {
            Self::Unix(socket) => descriptors::drain(socket),
            // An error says that it has ended.
            Self::Tcp(_) | Self::Tls(_) => drop(self.shut(Shutdown::Both)),
        }
    }

    /// Says that nothing more is written.
    ///
    /// # Errors
    /// The system's error: often that the socket has ended.
    pub fn end_writing(&self) -> io::Result<()> {
        self.shut(Shutdown::Write)
    }

    fn shut(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => socket.shutdown(how),
            Self::Tls(socket) => socket.shut_down(how),
            Self::Unix(socket) => socket.shutdown(how),
        }
    }

    /// Returns true if either side has closed the socket.
    pub fn is_ended(&self) -> bool {
        vp_shm::wait(&[], &[self.as_fd()], Some(Duration::ZERO))
    }

    /// Reads the bytes that are there. `None`: there are none. 0: the end. Files that come with them are
    /// closed.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Tcp(socket) => ready((&mut &*socket).read(into)),
            Self::Tls(socket) => socket.read(into),
            Self::Unix(_) => self.receive(into, &mut VecDeque::new()),
        }
    }

    /// Reads as [`Socket::read`] does, and appends the files that came with the bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn receive(&self, into: &mut [u8], files: &mut VecDeque<Passed>) -> io::Result<Option<usize>> {
        match self {
            Self::Tcp(_) | Self::Tls(_) => self.read(into),
            Self::Unix(socket) => ready(descriptors::receive(socket, into, files)),
        }
    }

    /// Reads available bytes, up to a limit, directly to their final place. `None`: there are none. 0: the end.
    ///
    /// Only where no files should come with the bytes, inside a frame. Files that come are closed.
    ///
    /// # Errors
    /// What the system says.
    pub fn read_onto(&self, most: usize, onto: &mut BytesMut) -> io::Result<Option<usize>> {
        match self {
            Self::Tcp(socket) => ready(vp_shm::stream::read_onto(socket, most, onto)),
            Self::Tls(socket) => socket.read_onto(most, onto),
            Self::Unix(_) => {
                let old = onto.len();
                onto.resize(old + most.min(WAITING), 0);
                let read = self.read(&mut onto[old..]);
                onto.truncate(old + read.as_ref().map_or(0, |read| read.unwrap_or(0)));
                read
            }
        }
    }

    /// Writes what there is room for, several pieces at once, and removes it from the front of `bytes`. `None`:
    /// there is no room; the next call must begin with the same bytes, and may have more after them.
    ///
    /// # Errors
    /// The system's error; [`ErrorKind::WriteZero`] when the socket will never take more.
    pub fn write(&self, bytes: &mut impl Buf) -> io::Result<Option<usize>> {
        match self {
            Self::Tcp(socket) => ready(write_to(&mut &*socket, bytes)),
            Self::Tls(socket) => socket.write(bytes),
            Self::Unix(socket) => ready(write_to(&mut &*socket, bytes)),
        }
    }

    /// Writes the first of the bytes together with files, and removes it from their front. `None`: there is no
    /// room.
    ///
    /// # Errors
    /// The system's error; [`ErrorKind::Unsupported`] for a socket that carries no files.
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
            Self::Tls(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

/// Waits for TLS's handshake to be done.
fn shake_hands(socket: &TlsSocket, until: Option<Instant>) -> io::Result<()> {
    loop {
        let readiness = match socket.handshake()? {
            Progress::Done => return Ok(()),
            Progress::Reads => Readiness::Bytes,
            Progress::Writes => Readiness::BytesOrRoom,
        };
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(io::Error::new(ErrorKind::TimedOut, "connected, and nobody answers in TLS"));
        }
        wait(socket, readiness, left);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reluctant::Reluctant;

    #[test]
    fn what_is_cut_short_and_interrupted_comes_out_whole() {
        let bytes: Vec<u8> = (0..50_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for seed in 1..=200 {
            let mut stream = Reluctant::new(seed);
            // As frames are written: small pieces and long ones, several at once.
            let mut left = Buf::chain(Buf::chain(&bytes[..300], &bytes[300..317]), &bytes[317..]);
            let (mut received, mut landing) = (Vec::new(), vec![0; 5000]);
            while received.len() < bytes.len() {
                if left.has_remaining() {
                    ready(write_to(&mut stream, &mut left)).unwrap();
                }
                let read = ready(stream.read(&mut landing)).unwrap().unwrap_or(0);
                received.extend_from_slice(&landing[..read]);
            }
            assert!(received == bytes && !left.has_remaining(), "seed {seed}");
        }
    }
}
