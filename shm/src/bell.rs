//! What wakes a process that sleeps: an eventfd, and the sleep itself.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// Rung by one side, heard by another, which may be in another process.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// A new one.
    ///
    /// # Errors
    /// What the system says.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// One that came from a peer.
    ///
    /// # Errors
    /// When it is no eventfd: reading and writing a file of another kind may take as long as the peer wants.
    pub fn from_peer(file: OwnedFd) -> io::Result<Self> {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        if link.as_os_str() != "anon_inode:[eventfd]" {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a bell that is no eventfd"));
        }
        rustix::io::ioctl_fionbio(&file, true)?;
        Ok(Self(file))
    }

    /// Rings: who sleeps wakes, and who will sleep does not.
    pub fn ring(&self) {
        // A bell that is full has been rung.
        _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Sleeps until it is rung, as [`wait`] does: until then, or for one of these files or streams.
    pub fn wait(
        &self,
        files: &[BorrowedFd<'_>],
        streams: &[BorrowedFd<'_>],
        timeout: Option<Duration>,
    ) -> bool {
        let files: Vec<BorrowedFd<'_>> = [self.as_fd()].iter().chain(files).copied().collect();
        wait(&files, streams, timeout)
    }

    /// Forgets the rings until now.
    pub fn clear(&self) {
        _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sleeps until one of `files` can be read, or one of these or `streams` is at its end, at most for so long. Says whether
/// something of that is so.
pub fn wait(files: &[BorrowedFd<'_>], streams: &[BorrowedFd<'_>], timeout: Option<Duration>) -> bool {
    let readable = files.iter().map(|&file| PollFd::from_borrowed_fd(file, PollFlags::IN));
    // The end of a stream is always told.
    let ended = streams.iter().map(|&stream| PollFd::from_borrowed_fd(stream, PollFlags::empty()));
    let mut polled: Vec<PollFd<'_>> = readable.chain(ended).collect();
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    // A signal: the caller looks again.
    poll(&mut polled, timeout.as_ref()).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_that_was_rung_wakes_until_it_is_cleared() {
        let bell = Bell::new().unwrap();
        let soon = Some(Duration::from_millis(1));
        assert!(!wait(&[bell.as_fd()], &[], soon));
        bell.ring();
        bell.ring();
        assert!(wait(&[bell.as_fd()], &[], None));
        bell.clear();
        assert!(!wait(&[bell.as_fd()], &[], soon));
        // Nothing has been rung: this must not wait either.
        bell.clear();
    }

    #[test]
    fn the_end_of_a_stream_ends_the_wait_and_what_it_says_does_not() {
        let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
        std::io::Write::write_all(&mut far, b"news").unwrap();
        assert!(!wait(&[], &[near.as_fd()], Some(Duration::from_millis(1))));
        drop(far);
        assert!(wait(&[], &[near.as_fd()], None));
    }
}
