//! Waking a process that sleeps: an eventfd, and the sleep itself.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::ReadWriteFlags;

use crate::descriptors::Passed;
use crate::signal::Signaller;

/// Rung by one side and waited for by another, which may be in another process.
///
/// Only [`wait`](Self::wait) may wait, whatever another process that has the bell does.
#[derive(Debug)]
pub struct Bell {
    file: OwnedFd,
    /// Signaller that rings a bell whose flags another process may change.
    shared: Option<&'static Signaller>,
}

impl Bell {
    /// A new one, within this process.
    ///
    /// # Errors
    /// What the system says.
    pub fn new() -> io::Result<Self> {
        Ok(Self { file: new()?, shared: None })
    }

    /// A new bell that is shared with a peer.
    ///
    /// # Errors
    /// The system's error: it may have no way to ring such a bell.
    pub fn shared() -> io::Result<Self> {
        Self::with(new()?)
    }

    /// One that came from a peer.
    ///
    /// # Errors
    /// When it is not an eventfd, or is one that counts as a semaphore. Reading and writing a file of another
    /// kind may take as long as the peer wants.
    pub fn from_peer(file: impl Into<Passed>) -> io::Result<Self> {
        let file = file.into();
        check_eventfd(&file)?;
        Self::with(file.into_file())
    }

    /// One that came from a peer, and on which somebody waits already: it is not tried, because that would be heard.
    ///
    /// # Errors
    /// When it is not an eventfd.
    pub fn in_use(file: impl Into<Passed>) -> io::Result<Self> {
        let file = file.into();
        check_eventfd(&file)?;
        Ok(Self { file: file.into_file(), shared: Some(Signaller::get()?) })
    }

    fn with(file: OwnedFd) -> io::Result<Self> {
        let bell = Self { file, shared: Some(Signaller::get()?) };
        // Where this does not work nobody would be woken, and a semaphore is not cleared by a read.
        bell.add()?;
        bell.add()?;
        match bell.take()? {
            0 | 1 => Err(io::Error::new(io::ErrorKind::InvalidInput, "a bell that one read does not clear")),
            _ => Ok(bell),
        }
    }

    /// Rings: wakes a sleeping process, and keeps one that is about to sleep from sleeping.
    pub fn ring(&self) {
        // A bell that is full has been rung.
        _ = self.add();
    }

    fn add(&self) -> io::Result<()> {
        match self.shared {
            Some(signaller) => signaller.signal(self.file.as_fd()),
            None => rustix::io::write(&self.file, &1_u64.to_ne_bytes()).map(drop).map_err(Into::into),
        }
    }

    /// The number of rings until now; clears them.
    fn take(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        let mut into = [IoSliceMut::new(&mut count)];
        // This call does not wait, whatever the file's own flags say: they are whose the file is, too.
        rustix::io::preadv2(&self.file, &mut into, u64::MAX, ReadWriteFlags::NOWAIT)?;
        Ok(u64::from_ne_bytes(count))
    }

    /// Sleeps as [`wait`] does until it is rung, or one of these files or streams is ready.
    pub fn wait(
        &self,
        files: &[BorrowedFd<'_>],
        streams: &[BorrowedFd<'_>],
        timeout: Option<Duration>,
    ) -> bool {
        let files: Vec<BorrowedFd<'_>> = [self.as_fd()].iter().chain(files).copied().collect();
        wait(&files, streams, timeout)
    }

    /// Returns true if it was rung since this was last asked, or since it was cleared.
    pub fn was_rung(&self) -> bool {
        self.take().is_ok_and(|count| count > 0)
    }

    /// Forgets the rings until now.
    pub fn clear(&self) {
        // Nothing was rung.
        _ = self.take();
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn check_eventfd(file: &Passed) -> io::Result<()> {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))?;
    match link.as_os_str() == "anon_inode:[eventfd]" {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "a bell that is no eventfd")),
    }
}

fn new() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// Sleeps until one of `files` can be read, one of these or of `streams` is at its end, or the time is over.
/// Returns whether one of them is ready.
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
    fn a_peer_that_has_calls_wait_and_fills_the_bell_holds_nobody_up() {
        let (near, far) = (Bell::shared().unwrap(), new().unwrap());
        let bells = [&near, &Bell::from_peer(far.try_clone().unwrap()).unwrap()];
        let (told, done) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let files = [near.file.try_clone().unwrap(), far];
            for file in &files {
                rustix::io::ioctl_fionbio(file, false).unwrap();
            }
            scope.spawn(|| {
                for bell in bells {
                    bell.clear();
                    rustix::io::write(bell, &(u64::MAX - 1).to_ne_bytes()).unwrap();
                    bell.ring();
                    bell.ring();
                    assert!(wait(&[bell.as_fd()], &[], None));
                    bell.clear();
                    bell.clear();
                }
                told.send(()).unwrap();
            });
            let waited = done.recv_timeout(Duration::from_secs(20));
            if waited.is_err() {
                // Lets the thread go on, so that the test can end.
                for file in &files {
                    rustix::io::ioctl_fionbio(file, true).unwrap();
                    _ = rustix::io::read(file, &mut [0; 8]);
                    _ = rustix::io::write(file, &1_u64.to_ne_bytes());
                }
            }
            assert!(waited.is_ok(), "a bell has waited for its peer");
        });
    }

    #[test]
    fn a_bell_that_would_ring_for_ever_is_refused() {
        let semaphore = eventfd(7, EventfdFlags::SEMAPHORE | EventfdFlags::NONBLOCK).unwrap();
        assert_eq!(Bell::from_peer(semaphore).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_bell_in_use_is_not_rung_before_its_time_and_tells_once_that_it_was() {
        let file = new().unwrap();
        let bell = Bell::in_use(file.try_clone().unwrap()).unwrap();
        assert!(!wait(&[file.as_fd()], &[], Some(Duration::from_millis(1))), "nobody has heard of it");
        assert!(!bell.was_rung());
        bell.ring();
        assert!(bell.was_rung() && !bell.was_rung());
        let (_near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(Bell::in_use(OwnedFd::from(far)).is_err());
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
