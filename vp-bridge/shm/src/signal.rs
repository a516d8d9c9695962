//! Adding to an eventfd that is shared with a peer, without ever waiting.
//!
//! `O_NONBLOCK` belongs to the open file, which all its holders share. A peer can clear it at any time and fill
//! the counter; write(2) then waits until somebody reads. No flag of a single call prevents that: an eventfd is
//! written without `RWF_NOWAIT`. But the system itself signals an eventfd by `eventfd_signal()`, which never
//! sleeps and leaves a full counter full (fs/eventfd.c). It does so on request when an asynchronous I/O
//! operation is complete (`IOCB_FLAG_RESFD`, io_submit(2)). The request here reads 0 bytes of an empty file.

#![expect(unsafe_code, reason = "system calls that no crate wraps")]

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use libc::{c_long, c_ulong};
use rustix::fs::{MemfdFlags, memfd_create};

/// Requests that may be complete before their completions are taken.
const REQUESTS: usize = 64;
/// Completions are taken so often for one request before it fails: other threads' requests may have the places.
const TRIES: usize = 1000;

/// `IOCB_CMD_PREAD`, and `IOCB_FLAG_RESFD`: <linux/aio_abi.h>.
const READ: u16 = 0;
const SIGNALS: u32 = 1;

/// `struct iocb` of <linux/aio_abi.h>.
#[repr(C)]
#[derive(Debug, Default)]
struct Iocb {
    data: u64,
    key_and_flags: [u32; 2],
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    signalled: u32,
}

/// `struct io_event` of <linux/aio_abi.h>.
type IoEvent = [u64; 4];

/// The way to the system's asynchronous I/O. One for a whole process: the system has few (`fs.aio-max-nr`).
#[derive(Debug)]
pub(crate) struct Signaller {
    context: c_ulong,
    empty: OwnedFd,
}

/// Signaller of this process, and the process: a child does not have its parent's.
static OURS: Mutex<Option<(u32, &'static Signaller)>> = Mutex::new(None);

impl Signaller {
    /// Returns this process's signaller, for as long as it lives.
    ///
    /// # Errors
    /// What the system says: it may have no asynchronous I/O, or none for this process.
    pub(crate) fn get() -> io::Result<&'static Self> {
        let mut ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if let Some((of, signaller)) = *ours
            && of == process
        {
            return Ok(signaller);
        }
        let empty = memfd_create("vp-empty", MemfdFlags::CLOEXEC)?;
        let mut context: c_ulong = 0;
        // SAFETY: io_setup(2) stores the context, which is 0 before, and nothing else.
        let done =
            unsafe { libc::syscall(libc::SYS_io_setup, REQUESTS as c_ulong, ptr::from_mut(&mut context)) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        let signaller: &'static Self = Box::leak(Box::new(Self { context, empty }));
        *ours = Some((process, signaller));
        Ok(signaller)
    }

    /// Adds 1 to an eventfd's counter, unless it is full.
    ///
    /// # Errors
    /// What the system says: above all that the file is no eventfd.
    pub(crate) fn signal(&self, bell: BorrowedFd<'_>) -> io::Result<()> {
        let number = |file: RawFd| u32::try_from(file).unwrap_or(u32::MAX);
        let mut request = Iocb {
            opcode: READ,
            file: number(self.empty.as_fd().as_raw_fd()),
            flags: SIGNALS,
            signalled: number(bell.as_raw_fd()),
            ..Iocb::default()
        };
        for _ in 0..TRIES {
            let mut requests = [ptr::from_mut(&mut request)];
            // SAFETY: io_submit(2) takes one request from the list of one, and writes its key into it; 0 bytes are read, so
            // no buffer is used. When it returns it has no pointer of ours any more.
            let submitted = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, 1 as c_long, requests.as_mut_ptr())
            };
            if submitted == 1 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::WouldBlock {
                return Err(error);
            }
            self.take_completions();
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Makes room for requests. Their results are ignored.
    fn take_completions(&self) {
        let mut events: [IoEvent; REQUESTS] = [[0; 4]; REQUESTS];
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: io_getevents(2) writes at most `REQUESTS` events to where there is room for so many, and waits for none.
        unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                0 as c_long,
                REQUESTS as c_long,
                events.as_mut_ptr(),
                ptr::from_ref(&now),
            )
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};

    #[test]
    fn as_many_signals_as_there_are_calls_arrive_from_any_thread() {
        let file = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        let (threads, each) = (4, 1000_u64);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let signaller = Signaller::get().unwrap();
                    (0..each).for_each(|_| signaller.signal(file.as_fd()).unwrap());
                });
            }
        });
        let mut count = [0; 8];
        rustix::io::read(&file, &mut count).unwrap();
        assert_eq!(u64::from_ne_bytes(count), threads * each);
    }

    #[test]
    fn what_is_no_eventfd_is_not_signalled() {
        let (_reader, writer) = std::io::pipe().unwrap();
        let signalled = Signaller::get().unwrap().signal(writer.as_fd());
        assert_eq!(signalled.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
