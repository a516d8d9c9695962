//! Open files that are sent with the bytes of a Unix socket (`SCM_RIGHTS`, unix(7)).
//!
//! They come in order, with or before the last byte of the data they were sent with. The bytes say what they
//! belong to.
//!
//! A peer may pass files of any kind, with any byte. The system closes files for which a receiver has no room,
//! in the thread that receives. When a socket is closed it also closes files that were not received. That may
//! take as long as the peer wants. So read a Unix socket with [`receive`], and [`drain`] it before it is
//! closed. A received file is [`Passed`]. Where too many of these are not closed yet, further files are left in
//! their socket, which ends, and are closed with it by another thread.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::net::sockopt::set_socket_linger;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, RecvMsg, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, accept, recvmsg, sendmsg, shutdown,
};
use rustix::process::{Resource, getrlimit};

use crate::deferred;

/// Most files that are sent at once.
pub const MOST: usize = 16;
/// Most files that may come at once: `SCM_MAX_FD`, unix(7).
const MAX_FILES_AT_ONCE: usize = 253;
/// Bytes that are read at once of what is left in a socket.
const DRAIN_CHUNK: usize = 64 << 10;
/// Files that are to be closed and are not yet, and sockets with such files.
static CLOSING: AtomicUsize = AtomicUsize::new(0);
/// While there are more than this, no files are received. Then peers hold up all threads that close files, and descriptors for
/// others are worth more: a quarter of those that the process may have, 4096 at most.
static MOST_CLOSING: LazyLock<usize> = LazyLock::new(|| {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit / 4).unwrap_or(usize::MAX).min(4096)
});

/// An open file that a peer has passed. It is closed in a thread that may wait.
///
/// Nothing is known of it, and the peer can change its flags at any time. So it is not for reading and writing.
#[derive(Debug)]
pub struct Passed(Option<OwnedFd>);

impl Passed {
    /// The file, which is of a kind that is closed without waiting.
    pub(crate) fn into_file(mut self) -> OwnedFd {
        self.0.take().expect("a file until it is dropped")
    }
}

impl From<OwnedFd> for Passed {
    fn from(file: OwnedFd) -> Self {
        Self(Some(file))
    }
}

impl AsFd for Passed {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_ref().expect("a file until it is dropped").as_fd()
    }
}

impl Drop for Passed {
    fn drop(&mut self) {
        let Some(file) = self.0.take() else { return };
        close_later(move || {
            // Mostly it then needs no waiting: unless the peer sets it again at this very moment.
            let _ = set_socket_linger(&file, None);
            drop(file);
        });
    }
}

fn close_later(close: impl FnOnce() + Send + 'static) {
    CLOSING.fetch_add(1, Ordering::Relaxed);
    deferred::close(Box::new(move || {
        close();
        CLOSING.fetch_sub(1, Ordering::Relaxed);
    }));
}

fn may_receive_files() -> bool {
    CLOSING.load(Ordering::Relaxed) <= *MOST_CLOSING
}

/// Writes as many bytes as there is room for, together with files.
///
/// # Errors
/// The system's error; more than [`MOST`] files are an error too.
pub fn send(stream: impl AsFd, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if files.len() > MOST || !files.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "too many files at once"));
    }
    Ok(sendmsg(stream, &[IoSlice::new(bytes)], &mut beside, SendFlags::NOSIGNAL)?)
}

/// Reads bytes, and appends the files that came with them. 0: the stream is at its end.
///
/// # Errors
/// The system's error. [`ErrorKind::QuotaExceeded`]: files have come, and peers hold up the closing of too many
/// others. Then nothing is read, and the stream is of no more use.
pub fn receive(stream: impl AsFd, into: &mut [u8], files: &mut VecDeque<Passed>) -> io::Result<usize> {
    match may_receive_files() {
        true => receive_files(stream, into, files),
        false => receive_bytes(stream, into),
    }
}

fn receive_files(stream: impl AsFd, into: &mut [u8], files: &mut VecDeque<Passed>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES_AT_ONCE))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(stream, &mut [IoSliceMut::new(into)], &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(came) = message {
            files.extend(came.map(Passed::from));
        }
    }
    Ok(received.bytes)
}

/// Reads bytes beside which no files have come.
fn receive_bytes(stream: impl AsFd, into: &mut [u8]) -> io::Result<usize> {
    // This leaves files where they are, and tells of them: there is no room for them (MSG_CTRUNC, recvmsg(2)).
    let seen = receive_without_room(&stream, into, RecvFlags::PEEK)?;
    if seen.flags.contains(ReturnFlags::CTRUNC) {
        let what = "files have come, and too many that came before cannot be closed: who has passed them holds that up";
        return Err(io::Error::new(ErrorKind::QuotaExceeded, what));
    }
    // The end. A further call could receive a file that has come since.
    if seen.bytes == 0 {
        return Ok(0);
    }
    // Only what was seen: what has come since may have files.
    Ok(receive_without_room(stream, &mut into[..seen.bytes], RecvFlags::empty())?.bytes)
}

/// Reads bytes; the system closes files that came with them, in this thread.
fn receive_without_room(stream: impl AsFd, into: &mut [u8], flags: RecvFlags) -> io::Result<RecvMsg> {
    let mut beside = RecvAncillaryBuffer::new(&mut []);
    Ok(recvmsg(stream, &mut [IoSliceMut::new(into)], &mut beside, flags)?)
}

/// Ends a Unix socket, for all holders, and receives the remaining files, so that closing it later does not
/// wait.
pub fn drain(stream: impl AsFd) {
    drain_while(may_receive_files, stream.as_fd());
}

fn drain_while(may_receive_files: impl Fn() -> bool, stream: BorrowedFd<'_>) {
    // An error says that it has ended.
    let _ = shutdown(stream, Shutdown::Both);
    let mut rest = vec![0; DRAIN_CHUNK];
    // Nothing comes any more: what is left is at most as much as the peer could send ahead.
    loop {
        let read = match may_receive_files() {
            true => receive_files(stream, &mut rest, &mut VecDeque::new()),
            false => receive_bytes(stream, &mut rest),
        };
        match read {
            Ok(1..) => {}
            Err(error) if error.kind() == ErrorKind::QuotaExceeded => return drain_later(stream),
            Ok(0) | Err(_) => return,
        }
    }
}

/// Has the files of an ended socket closed by a thread that may wait. That has a handle of the socket until no files are left in
/// it: dropping the others then is not what closes them.
fn drain_later(stream: BorrowedFd<'_>) {
    // A process without a descriptor for that has to wait when it drops the socket.
    let Ok(stream) = stream.try_clone_to_owned() else { return };
    close_later(move || {
        let mut rest = vec![0; DRAIN_CHUNK];
        let mut read = || receive_without_room(&stream, &mut rest, RecvFlags::empty());
        while read().is_ok_and(|received| received.bytes > 0) {}
    });
}

/// Has the files closed, in a thread that may wait, of a Unix socket that listens, and of all connections that were not accepted.
pub fn drain_listener(listener: impl AsFd) {
    // From now on nobody connects, and there is an end to those who have.
    let _ = shutdown(&listener, Shutdown::Both);
    while let Ok(stream) = accept(&listener) {
        drain(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Region, sealed};
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    #[test]
    fn a_file_comes_with_the_bytes_it_was_sent_with() {
        let (near, far) = UnixStream::pair().unwrap();
        let (one, other) = (sealed("one", 0x1000).unwrap(), sealed("other", 0x1000).unwrap());
        assert!(Region::map(&other, 0, 0x1000).unwrap().write(0, b"other"));
        assert_eq!(send(&near, b"first", &[]).unwrap(), 5);
        assert_eq!(send(&near, b"second", &[one.as_fd(), other.as_fd()]).unwrap(), 6);
        let (mut bytes, mut files) = ([0; 64], VecDeque::new());
        let mut length = 0;
        while length < 11 {
            length += receive(&far, &mut bytes[length..], &mut files).unwrap();
        }
        assert_eq!(&bytes[..11], b"firstsecond");
        let mut text = [0; 5];
        assert!(Region::map(&files[1], 0, 0x1000).unwrap().read(0, &mut text));
        assert_eq!((files.len(), &text), (2, b"other"));
        drop(near);
        assert_eq!(receive(&far, &mut bytes, &mut files).unwrap(), 0);
    }

    #[test]
    fn more_files_than_go_at_once_are_refused_whole() {
        let (near, _far) = UnixStream::pair().unwrap();
        let file = sealed("test", 0x1000).unwrap();
        assert!(send(&near, b"x", &[file.as_fd(); MOST + 1]).is_err());
    }

    /// A socket whose last close takes 20 s, and the one at its other end.
    fn lingering() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        near.set_nonblocking(true).unwrap();
        while (&near).write(&[0; 1 << 16]).is_ok() {}
        set_socket_linger(&near, Some(LINGER)).unwrap();
        (near, far)
    }

    const LINGER: Duration = Duration::from_secs(20);

    #[test]
    fn a_passed_socket_that_lingers_does_not_hold_up_who_gives_it_up() {
        let (near, far) = UnixStream::pair().unwrap();
        let mut ends = Vec::new();
        let mut pass = || {
            let (socket, end) = lingering();
            send(&near, b"x", &[socket.as_fd()]).unwrap();
            ends.push(end);
        };
        let began = Instant::now();
        // Received, and not.
        pass();
        let mut files = VecDeque::new();
        receive(&far, &mut [0; 8], &mut files).unwrap();
        assert_eq!(files.len(), 1);
        drop(files);
        pass();
        pass();
        drain(&far);
        drop(far);
        assert!(began.elapsed() < LINGER / 2, "{:?}", began.elapsed());
        assert!(send(&near, b"x", &[]).is_err(), "it has ended");
    }

    #[test]
    fn beyond_the_files_that_may_wait_to_be_closed_a_stream_that_passes_one_ends_and_nobody_waits() {
        let (near, far) = UnixStream::pair().unwrap();
        let (socket, end) = lingering();
        let (last, mut other) = UnixStream::pair().unwrap();
        let (began, mut bytes) = (Instant::now(), [0; 64]);
        // Bytes alone are read as ever.
        send(&near, b"first", &[]).unwrap();
        send(&near, b"second", &[]).unwrap();
        assert_eq!(receive_bytes(&far, &mut bytes[..8]).unwrap(), 8);
        assert_eq!(receive_bytes(&far, &mut bytes[8..]).unwrap(), 3);
        assert_eq!(&bytes[..11], b"firstsecond");
        send(&near, b"file", &[socket.as_fd(), last.as_fd()]).unwrap();
        drop((socket, last));
        assert_eq!(receive_bytes(&far, &mut bytes).unwrap_err().kind(), ErrorKind::QuotaExceeded);
        drain_while(|| false, far.as_fd());
        drop(far);
        assert!(began.elapsed() < LINGER / 2, "{:?}", began.elapsed());
        assert!(send(&near, b"x", &[]).is_err(), "it has ended");
        // The files are closed all the same. The first does not linger any more when its peer is gone.
        drop(end);
        other.set_read_timeout(Some(3 * LINGER)).unwrap();
        assert_eq!(other.read(&mut bytes).unwrap(), 0);
        // As at the end of a stream that has passed none.
        let (near, far) = UnixStream::pair().unwrap();
        drop(near);
        assert_eq!(receive_bytes(&far, &mut bytes).unwrap(), 0);
    }

    #[test]
    fn sockets_that_linger_in_a_stream_that_nobody_has_accepted_do_not_hold_up_who_stops_to_listen() {
        let path = std::path::PathBuf::from(format!("@vp-shm-{}", std::process::id()));
        let listener = crate::unix::bind(&path).unwrap();
        let connect = || crate::unix::connect(&path, LINGER).unwrap();
        let (near, began) = ([connect(), connect()], Instant::now());
        let ends = near.each_ref().map(|near| {
            let (socket, end) = lingering();
            send(near, b"x", &[socket.as_fd()]).unwrap();
            end
        });
        drain_listener(&listener);
        drop(listener);
        assert!(began.elapsed() < LINGER / 2, "{:?}", began.elapsed());
        drop(ends);
    }

    #[test]
    fn all_files_that_can_come_at_once_are_received() {
        let (near, far) = UnixStream::pair().unwrap();
        let file = sealed("test", 0x1000).unwrap();
        let files = [file.as_fd(); MAX_FILES_AT_ONCE];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES_AT_ONCE))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        assert!(beside.push(SendAncillaryMessage::ScmRights(&files)));
        sendmsg(&near, &[IoSlice::new(b"x")], &mut beside, SendFlags::empty()).unwrap();
        let mut came = VecDeque::new();
        assert_eq!(receive(&far, &mut [0; 8], &mut came).unwrap(), 1);
        assert_eq!(came.len(), MAX_FILES_AT_ONCE);
    }
}
