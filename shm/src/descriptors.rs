//! Open files that ride beside the bytes of a Unix socket (`SCM_RIGHTS`, unix(7)).
//!
//! They come in order, and with or before the last byte of what they were sent with. Whose they are is for the bytes to say.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Most files that are sent at once.
pub const MOST: usize = 16;

/// Writes bytes, as many as there is room for, with files beside them.
///
/// # Errors
/// What the system says; more than [`MOST`] files are an error too.
pub fn send(stream: impl AsFd, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if files.len() > MOST || !files.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many files at once"));
    }
    Ok(sendmsg(stream, &[IoSlice::new(bytes)], &mut beside, SendFlags::NOSIGNAL)?)
}

/// Reads bytes, and appends the files that came beside them. 0: the stream is at its end.
///
/// # Errors
/// What the system says.
pub fn receive(stream: impl AsFd, into: &mut [u8], files: &mut VecDeque<OwnedFd>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(stream, &mut [IoSliceMut::new(into)], &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(came) = message {
            files.extend(came);
        }
    }
    Ok(received.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Region, sealed};
    use std::os::unix::net::UnixStream;

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
}
