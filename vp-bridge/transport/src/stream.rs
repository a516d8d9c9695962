//! A stream over any transport, for the code that speaks a protocol over it.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::in_process::{Pipe, PipeEnd};
use crate::{Address, Socket, tls};

/// The condition to wait for at a stream. The end of the stream ends the wait too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Bytes can be read.
    Bytes,
    /// Bytes can be read, or can be written.
    BytesOrRoom,
}

/// Bytes in both directions. An operation that cannot be done now gives `None`; only [`wait`](Stream::wait)
/// blocks. Dropping it ends it.
#[derive(Debug)]
pub enum Stream {
    /// Socket of the system.
    Socket(Socket),
    /// Stream to another thread of this process.
    InProcess(PipeEnd),
}

impl Stream {
    /// Connects to a server's address; blocks meanwhile.
    ///
    /// # Errors
    /// The error of the system, or of TLS; see [`Socket::connect`].
    pub fn connect(address: &Address, tls: Option<&tls::Client>, timeout: Duration) -> io::Result<Self> {
        Socket::connect(address, tls, timeout).map(Self::Socket)
    }

    /// As [`Socket::keep_alive`]; within a process there is nothing to check.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep_alive(&self, limit: Duration) -> io::Result<()> {
        match self {
            Self::Socket(socket) => socket.keep_alive(limit),
            Self::InProcess(_) => Ok(()),
        }
    }

    /// Reads the bytes that are there. `None`: there are none. 0: the end.
    ///
    /// # Errors
    /// What the transport says.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Socket(socket) => socket.read(into),
            Self::InProcess(end) => end.0.read(into),
        }
    }

    /// Reads available bytes, up to a limit, and appends them to `onto`, which saves a copy of a long payload.
    /// `None`: there are none. 0: the end.
    ///
    /// # Errors
    /// What the transport says.
    pub fn read_onto(&self, most: usize, onto: &mut BytesMut) -> io::Result<Option<usize>> {
        match self {
            Self::Socket(socket) => socket.read_onto(most, onto),
            Self::InProcess(end) => {
                let old = onto.len();
                onto.resize(old + most, 0);
                let read = end.0.read(&mut onto[old..]);
                onto.truncate(old + read.as_ref().map_or(0, |read| read.unwrap_or(0)));
                read
            }
        }
    }

    /// Writes what there is room for, several pieces at once, and removes it from the front of `bytes`. `None`:
    /// there is no room.
    ///
    /// # Errors
    /// What the transport says.
    pub fn write(&self, bytes: &mut impl Buf) -> io::Result<Option<usize>> {
        match self {
            Self::Socket(socket) => socket.write(bytes),
            Self::InProcess(end) => end.0.write(bytes),
        }
    }

    /// Writes the first of the bytes together with open files. `None`: there is no room.
    ///
    /// # Errors
    /// The transport's error; [`ErrorKind::Unsupported`] for one that carries no files: all but Unix sockets.
    pub fn send_with(&self, bytes: &mut impl Buf, files: &[BorrowedFd<'_>]) -> io::Result<Option<usize>> {
        match self {
            Self::Socket(socket) => socket.send_with(bytes, files),
            Self::InProcess(_) => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// Returns true if files can be sent: the other side is a process of this host.
    pub fn carries_files(&self) -> bool {
        matches!(self, Self::Socket(Socket::Unix(_)))
    }

    /// Sleeps until the condition is true, the stream ends, or the time is over. It may wake without a reason.
    pub fn wait(&self, wanted: Readiness, timeout: Option<Duration>) {
        match self {
            Self::Socket(socket) => wait_for(socket, wanted, timeout),
            Self::InProcess(end) => end.0.wait(wanted, timeout),
        }
    }

    /// Returns a handle with which another thread waits.
    ///
    /// # Errors
    /// What the system says.
    pub fn watch(&self) -> io::Result<Watch> {
        Ok(Watch(match self {
            Self::Socket(socket) => Watched::Socket(socket.try_clone()?),
            Self::InProcess(end) => Watched::InProcess(end.0.clone()),
        }))
    }

    /// For callers that sleep in a loop of their own: the descriptor that becomes readable (as in poll(2)) when
    /// there are more bytes after [`read`](Stream::read) has returned `None`. `None` for a transport that has
    /// no descriptor: use [`wait`](Stream::wait) for such a stream.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Socket(socket) => Some(socket.as_fd()),
            Self::InProcess(_) => None,
        }
    }

    /// Ends the stream, on both sides and for every [`Watch`].
    pub fn shut_down(&self) {
        match self {
            Self::Socket(socket) => socket.shut_down(),
            Self::InProcess(end) => end.0.shut_down(),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// Waits at a stream that another thread reads and writes.
#[derive(Debug)]
pub struct Watch(Watched);

#[derive(Debug)]
enum Watched {
    Socket(Socket),
    InProcess(Pipe),
}

impl Watch {
    /// As [`Stream::wait`].
    pub fn wait(&self, wanted: Readiness, timeout: Option<Duration>) {
        match &self.0 {
            Watched::Socket(socket) => wait_for(socket, wanted, timeout),
            Watched::InProcess(pipe) => pipe.wait(wanted, timeout),
        }
    }

    /// Returns true if either side has ended the stream.
    pub fn is_ended(&self) -> bool {
        match &self.0 {
            Watched::Socket(socket) => socket.is_ended(),
            Watched::InProcess(pipe) => pipe.is_ended(),
        }
    }

    /// As [`Stream::descriptor`].
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.0 {
            Watched::Socket(socket) => Some(socket.as_fd()),
            Watched::InProcess(_) => None,
        }
    }
}

fn wait_for(socket: &Socket, wanted: Readiness, timeout: Option<Duration>) {
    if !socket.has_buffered() {
        wait(socket, wanted, timeout);
    }
}

/// Waits at what the system has.
pub(crate) fn wait(socket: impl AsFd, wanted: Readiness, timeout: Option<Duration>) {
    let flags = match wanted {
        Readiness::Bytes => PollFlags::IN,
        Readiness::BytesOrRoom => PollFlags::IN | PollFlags::OUT,
    };
    // So long a time-out that the system has no number for it is none.
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    // A signal, or an error that the next read or write finds as well.
    let _ = poll(&mut [PollFd::new(&socket, flags)], timeout.as_ref());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_process;
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::thread;
    use std::time::Instant;

    /// Two ends of each kind that needs no address.
    fn pairs() -> [(Stream, Stream); 2] {
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        far.set_nonblocking(true).unwrap();
        let socket = |end| Stream::Socket(Socket::Unix(end));
        [(socket(near), socket(far)), in_process::pair()]
    }

    const LONG: Option<Duration> = Some(Duration::from_secs(60));

    #[test]
    fn bytes_arrive_in_order_and_nothing_is_none_and_the_end_is_zero() {
        for (near, far) in pairs() {
            let mut bytes = [0; 8];
            assert_eq!(far.read(&mut bytes).unwrap(), None);
            assert_eq!(near.write(&mut &b"abc"[..]).unwrap(), Some(3));
            far.wait(Readiness::Bytes, LONG);
            assert_eq!(far.read(&mut bytes[..2]).unwrap(), Some(2));
            let mut onto = BytesMut::from(&bytes[..2]);
            assert_eq!(far.read_onto(8, &mut onto).unwrap(), Some(1));
            assert_eq!(&onto[..], b"abc");
            assert_eq!(far.read_onto(8, &mut onto).unwrap(), None);
            drop(near);
            far.wait(Readiness::Bytes, None);
            assert_eq!(far.read(&mut bytes).unwrap(), Some(0));
            assert_eq!(far.read_onto(8, &mut onto).unwrap(), Some(0));
            assert_eq!(&onto[..], b"abc");
            assert!(far.write(&mut &b"late"[..]).is_err());
        }
    }

    #[test]
    fn the_system_finds_out_whether_the_peers_host_is_there() {
        use rustix::net::sockopt;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
        let stream = Stream::connect(&address, None, Duration::from_secs(60)).unwrap();
        stream.keep_alive(Duration::from_secs(20)).unwrap();
        let Stream::Socket(socket) = &stream else { panic!() };
        assert!(sockopt::socket_keepalive(socket).unwrap());
        // The last probe is due within the limit.
        let idle = sockopt::tcp_keepidle(socket).unwrap();
        let probes = sockopt::tcp_keepintvl(socket).unwrap() * sockopt::tcp_keepcnt(socket).unwrap();
        assert_eq!((idle, probes), (Duration::from_secs(10), Duration::from_secs(8)));
        for (near, _far) in pairs() {
            near.keep_alive(Duration::from_secs(20)).unwrap();
        }
    }

    #[test]
    fn a_full_stream_has_room_once_it_is_read() {
        for (near, far) in pairs() {
            let piece = vec![7; 64 << 10];
            let mut written = 0;
            while let Some(more) = near.write(&mut &piece[..]).unwrap() {
                written += more;
            }
            let reader = thread::spawn(move || {
                let (mut all, mut bytes) = (0, vec![0; 64 << 10]);
                while all < written {
                    far.wait(Readiness::Bytes, LONG);
                    all += far.read(&mut bytes).unwrap().unwrap_or(0);
                }
                (far, all)
            });
            let more = loop {
                near.wait(Readiness::BytesOrRoom, LONG);
                if let Some(more) = near.write(&mut &b"x"[..]).unwrap() {
                    break more;
                }
            };
            let (_far, all) = reader.join().unwrap();
            // The reader may have had the last byte with the others.
            assert!((written..=written + 1).contains(&all), "{all} of {written}");
            assert_eq!(more, 1);
        }
    }

    #[test]
    fn who_watches_wakes_for_what_comes_and_for_the_end() {
        for (near, far) in pairs() {
            let watch = far.watch().unwrap();
            assert!(!watch.is_ended());
            let waiter = thread::spawn(move || {
                watch.wait(Readiness::Bytes, None);
                watch
            });
            near.write(&mut &b"x"[..]).unwrap();
            let watch = waiter.join().unwrap();
            assert_eq!(far.read(&mut [0; 8]).unwrap(), Some(1));
            let waiter = thread::spawn(move || {
                watch.wait(Readiness::Bytes, None);
                watch
            });
            far.shut_down();
            assert!(waiter.join().unwrap().is_ended());
        }
    }

    /// A socket whose last close takes so long, and the one at its other end.
    fn lingering(time: Duration) -> [TcpStream; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        near.set_nonblocking(true).unwrap();
        while (&near).write(&[0; 1 << 16]).is_ok() {}
        rustix::net::sockopt::set_socket_linger(&near, Some(time)).unwrap();
        [near, far]
    }

    #[test]
    fn a_passed_socket_that_lingers_holds_up_neither_who_reads_nor_who_drops_a_stream() {
        let linger = Duration::from_secs(20);
        let ([(near, far), _], began) = (pairs(), Instant::now());
        let mut ends = Vec::new();
        let mut pass = || {
            let [socket, end] = lingering(linger);
            assert_eq!(near.send_with(&mut &b"x"[..], &[socket.as_fd()]).unwrap(), Some(1));
            ends.push(end);
        };
        pass();
        assert_eq!(far.read(&mut [0; 8]).unwrap(), Some(1));
        pass();
        assert_eq!(far.read_onto(1 << 20, &mut BytesMut::new()).unwrap(), Some(1));
        // Another handle is dropped last.
        let watch = far.watch().unwrap();
        pass();
        drop(far);
        drop(watch);
        assert!(began.elapsed() < linger / 2, "{:?}", began.elapsed());
    }

    #[test]
    fn only_unix_sockets_carry_files() {
        let [unix, inside] = pairs();
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(unix.0.carries_files() && !inside.0.carries_files());
        assert_eq!(unix.0.send_with(&mut &b"x"[..], &[file.as_fd()]).unwrap(), Some(1));
        let refused = inside.0.send_with(&mut &b"x"[..], &[file.as_fd()]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
    }
}
