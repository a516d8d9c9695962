//! Streams that never block: reading directly to the final place, and whether more will come.

#![expect(unsafe_code, reason = "bytes that the system has written are there")]

use std::io;
use std::os::fd::AsFd;

use bytes::{BufMut as _, BytesMut};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Reads bytes, up to a limit, and appends them. 0: the stream is at its end.
///
/// So a long payload is neither copied nor overwritten with zeros first. Not for Unix sockets, which are read
/// with [`receive`](crate::descriptors::receive).
///
/// # Errors
/// What the system says.
pub fn read_onto(stream: impl AsFd, most: usize, onto: &mut BytesMut) -> io::Result<usize> {
    onto.reserve(most);
    let room = onto.spare_capacity_mut();
    let most = most.min(room.len());
    let (read, _) = rustix::io::read(stream, &mut room[..most])?;
    let read = read.len();
    // SAFETY: the system has filled these bytes, the first of what was reserved.
    unsafe { onto.advance_mut(read) };
    Ok(read)
}

/// Returns true if the other side has sent its last byte; some bytes may still have to be read.
pub fn has_sent_all(stream: impl AsFd) -> bool {
    let mut polled = [PollFd::new(&stream, PollFlags::RDHUP)];
    // Interrupted by a signal: not yet, as far as is known.
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_is_read_stands_behind_what_was_there_and_no_more_is_read_than_wanted() {
        let (mut near, far) = UnixStream::pair().unwrap();
        near.write_all(b"second and third").unwrap();
        let mut bytes = BytesMut::from(&b"first "[..]);
        assert_eq!(read_onto(&far, 6, &mut bytes).unwrap(), 6);
        assert_eq!(&bytes[..], b"first second");
        drop(near);
        assert_eq!(read_onto(&far, 1 << 20, &mut bytes).unwrap(), 10);
        assert_eq!(&bytes[..], b"first second and third");
        assert_eq!(read_onto(&far, 1, &mut bytes).unwrap(), 0);
    }

    #[test]
    fn a_stream_whose_peer_is_gone_is_known_before_it_is_read() {
        let (mut near, far) = UnixStream::pair().unwrap();
        near.write_all(b"last words").unwrap();
        assert!(!has_sent_all(&far));
        drop(near);
        assert!(has_sent_all(&far));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        assert!(!has_sent_all(&far));
        drop(near);
        assert!(has_sent_all(&far));
    }

    #[test]
    fn a_stream_that_has_nothing_leaves_the_bytes_as_they_are() {
        let (_near, far) = UnixStream::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        let mut bytes = BytesMut::from(&b"here"[..]);
        assert_eq!(read_onto(&far, 8, &mut bytes).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(&bytes[..], b"here");
    }
}
