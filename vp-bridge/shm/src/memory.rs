//! Mapped memory that other processes change meanwhile: every access is an atomic one of a whole word or byte.
//!
//! Rust's memory model has no other processes. For it the mapping is memory outside all its allocations. It is
//! accessed only by raw pointers, never by a reference to plain bytes, and atomic accesses are defined even
//! when another process writes meanwhile. In this process one thread at a time copies bytes ([`crate::Region`]
//! is used by the thread of one platform). The words of a ring are always accessed with their own size, so
//! accesses of two sizes do not race.

#![expect(unsafe_code, reason = "mapped memory is reached by raw pointers")]

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

const WORD: usize = size_of::<u64>();

/// A shared mapping. It stays where it is until it is dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    map: MmapRaw,
}

impl Mapping {
    /// Maps `size` bytes of a file from `offset` on, to read and write.
    ///
    /// That the file keeps so many bytes is for the caller to see to: an access behind a file's end is a SIGBUS.
    pub(crate) fn new(file: impl AsFd, offset: u64, size: usize) -> io::Result<Self> {
        let file = file.as_fd();
        // Of huge pages none are put aside for it: that would fail where the file has them already.
        let map = MmapOptions::new().offset(offset).len(size).no_reserve_swap().map_raw(file.as_raw_fd())?;
        Ok(Self { map })
    }

    pub(crate) fn size(&self) -> usize {
        self.map.len()
    }

    /// The place of `length` bytes at `offset`, if they are inside.
    fn place(&self, offset: usize, length: usize) -> Option<*mut u8> {
        let is_inside = offset.checked_add(length).is_some_and(|end| end <= self.map.len());
        // SAFETY: the mapping has `map.len()` bytes in one piece, and `offset` is at most that.
        is_inside.then(|| unsafe { self.map.as_mut_ptr().add(offset) })
    }

    /// Copies bytes out. `false`: not all of them are inside, and none was copied.
    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) -> bool {
        let Some(place) = self.place(offset, into.len()) else { return false };
        let (head, words) = split(place, into.len());
        let (first, rest) = into.split_at_mut(head);
        let (middle, last) = rest.split_at_mut(words * WORD);
        // SAFETY: `place` is the start of `into.len()` mapped bytes, and the three parts have as many; the mapping is
        // readable and writable and lives as long as `self`. `split` has put the words where they are aligned.
        unsafe {
            load_bytes(place, first);
            let mut from = place.add(head);
            for word in middle.chunks_exact_mut(WORD) {
                word.copy_from_slice(&AtomicU64::from_ptr(from.cast()).load(Ordering::Relaxed).to_ne_bytes());
                from = from.add(WORD);
            }
            load_bytes(from, last);
        }
        true
    }

    /// Copies bytes in. `false`: not all of them would be inside, and none was copied.
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) -> bool {
        let Some(place) = self.place(offset, bytes.len()) else { return false };
        let (head, words) = split(place, bytes.len());
        let (first, rest) = bytes.split_at(head);
        let (middle, last) = rest.split_at(words * WORD);
        // SAFETY: as in `read`.
        unsafe {
            store_bytes(place, first);
            let mut to = place.add(head);
            for word in middle.chunks_exact(WORD) {
                let word = u64::from_ne_bytes(word.try_into().unwrap_or_default());
                AtomicU64::from_ptr(to.cast()).store(word, Ordering::Relaxed);
                to = to.add(WORD);
            }
            store_bytes(to, last);
        }
        true
    }

    /// Copies bytes out by the system, which refuses what the file does not have any more: then nobody gets a SIGBUS.
    ///
    /// # Errors
    /// What the system says: `EFAULT` where bytes are missing, of which any number may have been copied.
    pub(crate) fn read_by_system(&self, offset: usize, into: &mut [u8]) -> io::Result<()> {
        let place = self.place(offset, into.len()).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: getpid(2) takes nothing. process_vm_readv(2) takes one piece of each side: `into`, which it fills, and as many mapped
        // bytes, which it reaches as another process would. It keeps neither.
        let copied = unsafe {
            let (to, from) = (piece(into.as_mut_ptr(), into.len()), piece(place, into.len()));
            libc::process_vm_readv(libc::getpid(), &raw const to, 1, &raw const from, 1, 0)
        };
        all_of(copied, into.len())
    }

    /// Copies bytes in, as [`read_by_system`](Self::read_by_system) copies them out.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn write_by_system(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        let place = self.place(offset, bytes.len()).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: as above; process_vm_writev(2) only reads the near side's piece.
        let copied = unsafe {
            let (from, to) = (piece(bytes.as_ptr().cast_mut(), bytes.len()), piece(place, bytes.len()));
            libc::process_vm_writev(libc::getpid(), &raw const from, 1, &raw const to, 1, 0)
        };
        all_of(copied, bytes.len())
    }

    /// A word of four bytes.
    #[cfg_attr(loom, expect(dead_code, reason = "the model checker has words of its own"))]
    ///
    /// # Panics
    /// When it is not inside, or not aligned: offsets are constants of a layout that fits.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU32 {
        let place = self.place(offset, size_of::<u32>()).expect("a word of the layout");
        assert!(place.cast::<u32>().is_aligned(), "a word of the layout");
        // SAFETY: four mapped bytes, aligned, that live as long as `self`; nobody in this process accesses them otherwise
        // than as this word.
        unsafe { AtomicU32::from_ptr(place.cast()) }
    }

    /// A word of eight bytes.
    #[cfg_attr(loom, expect(dead_code, reason = "the model checker has words of its own"))]
    ///
    /// # Panics
    /// As [`word`](Self::word).
    pub(crate) fn long(&self, offset: usize) -> &AtomicU64 {
        let place = self.place(offset, size_of::<u64>()).expect("a word of the layout");
        assert!(place.cast::<u64>().is_aligned(), "a word of the layout");
        // SAFETY: as above, with eight bytes.
        unsafe { AtomicU64::from_ptr(place.cast()) }
    }
}

/// A piece of memory for process_vm_readv(2).
fn piece(place: *mut u8, length: usize) -> libc::iovec {
    libc::iovec { iov_base: place.cast(), iov_len: length }
}

/// Checks that the system has copied so many bytes.
fn all_of(copied: isize, wanted: usize) -> io::Result<()> {
    match usize::try_from(copied) {
        Ok(copied) if copied == wanted => Ok(()),
        // Fewer: the rest is in a page that is not there.
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Returns how many of `length` bytes lie before the first aligned word, and how many words follow.
fn split(place: *mut u8, length: usize) -> (usize, usize) {
    let head = place.align_offset(WORD).min(length);
    (head, (length - head) / WORD)
}

/// # Safety
/// `from` is the start of `into.len()` bytes that can be read.
unsafe fn load_bytes(from: *mut u8, into: &mut [u8]) {
    for (at, byte) in into.iter_mut().enumerate() {
        // SAFETY: by the caller.
        *byte = unsafe { AtomicU8::from_ptr(from.add(at)) }.load(Ordering::Relaxed);
    }
}

/// # Safety
/// `to` is the start of `bytes.len()` bytes that can be written.
unsafe fn store_bytes(to: *mut u8, bytes: &[u8]) {
    for (at, &byte) in bytes.iter().enumerate() {
        // SAFETY: by the caller.
        unsafe { AtomicU8::from_ptr(to.add(at)) }.store(byte, Ordering::Relaxed);
    }
}
