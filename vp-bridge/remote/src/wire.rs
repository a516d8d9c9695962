//! A blocking stream to a server: no thread, no runtime, the shortest way there and back.
//!
//! The socket does not block. Who waits looks for a moment, since in lockstep the answer is mostly under way, and only
//! then sleeps in the system.

use std::io::{self, ErrorKind, Read as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use bytes::{Buf as _, BytesMut};
use vp_protocols::native::{Connection, Event, Output, Refused, Welcome};

use vp_transport::Address;

/// How long to look before sleeping.
const LOOK: Duration = Duration::from_micros(50);
/// How long the server may take nothing of what is written. It reads no further while the platform has much to do for this
/// session, and a memory's owner has its time to answer; both are over sooner.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a stream that takes nothing is slept at before it is looked at again.
const NAP: Duration = Duration::from_millis(100);
/// Bytes read at once, unless a payload is known to be longer.
const READ: usize = 64 << 10;

pub(super) struct Wire {
    stream: Stream,
    input: BytesMut,
    landing: Box<[u8]>,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Why there was no welcome.
pub(super) enum GreetError {
    Io(io::Error),
    Refused(Refused),
    Protocol(String),
}

impl Stream {
    fn connect(address: &Address, timeout: Duration) -> io::Result<Self> {
        match address {
            Address::Tcp { host, port } => {
                let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
                for place in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&place, timeout) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            return Ok(Self::Tcp(stream));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
            Address::Unix(path) => vp_shm::unix::connect(path).map(Self::Unix),
        }
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nonblocking(nonblocking),
            Self::Unix(stream) => stream.set_nonblocking(nonblocking),
        }
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(timeout),
            Self::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
        }
    }

    fn write(&mut self, output: &mut Output) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => output.write_to(stream),
            Self::Unix(stream) => output.write_to(stream),
        }
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

impl Wire {
    pub(super) fn connect(address: &Address, timeout: Duration) -> io::Result<Self> {
        let stream = Stream::connect(address, timeout)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, input: BytesMut::new(), landing: vec![0; READ].into() })
    }

    /// Waits for the server's answer to the hello.
    pub(super) fn greet(
        &mut self,
        connection: &mut Connection,
        timeout: Duration,
    ) -> Result<Welcome, GreetError> {
        let until = Instant::now() + timeout;
        // A server that turns everybody away may have closed its side already: its reason is still to be read.
        let written = self.write(connection.output());
        loop {
            match connection.receive(&mut self.input) {
                Ok(Some(Event::Welcome(welcome))) => return Ok(*welcome),
                Ok(Some(Event::Refused(refused))) => return Err(GreetError::Refused(refused)),
                Ok(Some(_)) => return Err(GreetError::Protocol("no welcome and no refusal".to_owned())),
                Err(violation) => return Err(GreetError::Protocol(violation.to_string())),
                Ok(None) => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.read(Some(left), 0) {
                Ok(true) => {}
                Ok(false) if left > Duration::ZERO => {}
                Ok(false) => {
                    let error = io::Error::new(ErrorKind::TimedOut, "connected, and nobody greets");
                    return Err(GreetError::Io(error));
                }
                Err(error) => return Err(GreetError::Io(written.err().unwrap_or(error))),
            }
        }
    }

    /// What has been read and not been taken.
    pub(super) fn input(&mut self) -> &mut BytesMut {
        &mut self.input
    }

    /// Writes the first of the bytes, with files beside them, and then the others.
    pub(super) fn write_with(&mut self, output: &mut Output, files: &[BorrowedFd<'_>]) -> io::Result<()> {
        let Stream::Unix(stream) = &self.stream else { return Err(ErrorKind::Unsupported.into()) };
        // A stream on which nothing waits has room for a request.
        let written = vp_shm::descriptors::send(stream, output.chunk(), files)?;
        output.advance(written);
        self.write(output)
    }

    /// What becomes readable when the server has said something.
    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Writes everything. While the server takes nothing what it says is read, or both would wait for ever.
    pub(super) fn write(&mut self, output: &mut Output) -> io::Result<()> {
        self.write_within(PATIENCE, output)
    }

    /// Writes everything, unless the server takes nothing at all for this long.
    fn write_within(&mut self, patience: Duration, output: &mut Output) -> io::Result<()> {
        let mut stuck = None;
        while !output.is_empty() {
            match self.stream.write(output) {
                Ok(_) => stuck = None,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if stuck.get_or_insert_with(Instant::now).elapsed() >= patience {
                        let what = format!("the server has read nothing for {} s", patience.as_secs_f64());
                        return Err(io::Error::new(ErrorKind::TimedOut, what));
                    }
                    if !self.read_now()? {
                        vp_shm::stream::wait_for_room(self.file(), NAP.min(patience));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what is there, waiting for something, for ever or as long as `patience` says. `false`: nothing came. Of the frame
    /// that has come in part so many bytes are `lacking`, as far as that is known.
    pub(super) fn read(&mut self, patience: Option<Duration>, lacking: usize) -> io::Result<bool> {
        let began = Instant::now();
        while began.elapsed() < LOOK {
            // Mostly something has just been asked: the answer is not there yet, and the server may be waiting for this core.
            thread::yield_now();
            if self.read_rest(lacking)? {
                return Ok(true);
            }
        }
        if patience.is_some_and(|patience| patience <= LOOK) {
            return Ok(false);
        }
        self.stream.set_read_timeout(patience)?;
        self.stream.set_nonblocking(false)?;
        let read = self.read_rest(lacking);
        self.stream.set_nonblocking(true)?;
        read
    }

    /// Reads once. `false`: nothing is there.
    pub(super) fn read_now(&mut self) -> io::Result<bool> {
        self.read_rest(0)
    }

    /// The same, when the frame that has come in part lacks so many bytes: those of a long payload go straight to where they
    /// stay.
    fn read_rest(&mut self, lacking: usize) -> io::Result<bool> {
        let read = match lacking < READ {
            true => self.stream.read(&mut self.landing),
            false => vp_shm::stream::read_onto(&self.stream, lacking, &mut self.input),
        };
        match read {
            Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the stream")),
            Ok(_) if lacking >= READ => Ok(true),
            Ok(read) => {
                self.input.extend_from_slice(&self.landing[..read]);
                Ok(true)
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(false),
                _ => Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::io::Write as _;

    fn wire() -> (Wire, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        let stream = Stream::Unix(near);
        stream.set_nonblocking(true).unwrap();
        (Wire { stream, input: BytesMut::new(), landing: vec![0; READ].into() }, far)
    }

    /// 16 MiB.
    fn much() -> Output {
        let mut output = Output::default();
        output.append(Bytes::from(vec![0; 16 << 20]).into());
        output
    }

    #[test]
    fn writing_to_a_server_that_reads_nothing_ends_with_an_error() {
        let (mut wire, _far) = wire();
        let error = wire.write_within(Duration::from_millis(1), &mut much()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "the server has read nothing for 0.001 s");
    }

    #[test]
    fn writing_goes_on_while_the_server_reads_and_takes_in_what_it_says() {
        let (mut wire, mut far) = wire();
        let server = thread::spawn(move || {
            far.write_all(&[7; 1000]).unwrap();
            let mut all = vec![0; 16 << 20];
            far.read_exact(&mut all).unwrap();
            far
        });
        wire.write_within(PATIENCE, &mut much()).unwrap();
        let _far = server.join().unwrap();
        while wire.input().len() < 1000 {
            wire.read(None, 0).unwrap();
        }
    }
}
