//! Memory that several parties share: the trait for all kinds, and the ready-made kind.

use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

use super::DirectError;

/// Memory that several parties read and write, in slices.
///
/// Implemented for [`Storage`] and for `[Cell<u8>]`, and so for a `Box` or `Rc` of it. Implement it for memory
/// of another kind, such as a guest's RAM.
///
/// ```
/// use std::cell::Cell;
/// use vp_core::tlm::DirectMemory;
/// let memory: Box<[Cell<u8>]> = vec![Cell::new(0); 16].into();
/// memory.write(12, &[1, 2, 3, 4])?;
/// let mut data = [0; 2];
/// memory.read(14, &mut data)?;
/// assert_eq!((memory.size(), data), (16, [3, 4]));
/// assert!(memory.read(15, &mut data).is_err());
/// # Ok::<(), vp_core::tlm::DirectError>(())
/// ```
pub trait DirectMemory {
    /// Its size in bytes.
    fn size(&self) -> u64;

    /// Copies from `offset` on to `data`.
    ///
    /// # Errors
    /// [`DirectError::Outside`] if that goes over the end; nothing is copied then.
    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), DirectError>;

    /// Copies `data` to `offset` and on.
    ///
    /// # Errors
    /// [`DirectError::Outside`] if that goes over the end; nothing is copied then.
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), DirectError>;
}

#[cold]
fn outside(offset: u64, bytes: usize, size: usize) -> DirectError {
    DirectError::Outside { address: offset, bytes, start: 0, end: (size as u64).saturating_sub(1) }
}

#[inline]
fn part(cells: &[Cell<u8>], offset: u64, bytes: usize) -> Option<&[Cell<u8>]> {
    let start = usize::try_from(offset).ok()?;
    cells.get(start..start.checked_add(bytes)?)
}

// Apart, so that the compiler sees that they are plain copies.
#[inline(never)]
fn copy_out(cells: &[Cell<u8>], data: &mut [u8]) {
    data.iter_mut().zip(cells).for_each(|(byte, cell)| *byte = cell.get());
}

#[inline(never)]
fn copy_in(cells: &[Cell<u8>], data: &[u8]) {
    cells.iter().zip(data).for_each(|(cell, &byte)| cell.set(byte));
}

/// Copies of a length that is known beforehand need no call. False if it is another length.
#[inline]
fn read_exactly<const N: usize>(cells: &[Cell<u8>], data: &mut [u8]) -> bool {
    let (Ok(data), Some(cells)) = (<&mut [u8; N]>::try_from(data), cells.first_chunk::<N>()) else {
        return false;
    };
    (0..N).for_each(|at| data[at] = cells[at].get());
    true
}

#[inline]
fn write_exactly<const N: usize>(cells: &[Cell<u8>], data: &[u8]) -> bool {
    let (Ok(data), Some(cells)) = (<&[u8; N]>::try_from(data), cells.first_chunk::<N>()) else {
        return false;
    };
    (0..N).for_each(|at| cells[at].set(data[at]));
    true
}

// A cache line or burst, and what processors load and store, are what is asked for most.
impl DirectMemory for [Cell<u8>] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    #[inline]
    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), DirectError> {
        let cells = part(self, offset, data.len()).ok_or_else(|| outside(offset, data.len(), self.len()))?;
        if !read_exactly::<64>(cells, data)
            && !read_exactly::<4>(cells, data)
            && !read_exactly::<8>(cells, data)
        {
            copy_out(cells, data);
        }
        Ok(())
    }

    #[inline]
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), DirectError> {
        let cells = part(self, offset, data.len()).ok_or_else(|| outside(offset, data.len(), self.len()))?;
        if !write_exactly::<64>(cells, data)
            && !write_exactly::<4>(cells, data)
            && !write_exactly::<8>(cells, data)
        {
            copy_in(cells, data);
        }
        Ok(())
    }
}

macro_rules! by_its_content {
    ($($pointer:ident)*) => { $(
        impl<M: DirectMemory + ?Sized> DirectMemory for $pointer<M> {
            #[inline]
            fn size(&self) -> u64 {
                (**self).size()
            }

            #[inline]
            fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), DirectError> {
                (**self).read(offset, data)
            }

            #[inline]
            fn write(&self, offset: u64, data: &[u8]) -> Result<(), DirectError> {
                (**self).write(offset, data)
            }
        }
    )* };
}

by_its_content!(Box Rc);

/// Bytes of a memory, to be shared: clones are handles of the same bytes.
///
/// It is used as a slice of cells. Its first byte is on a cache line's boundary of the host, so that a burst
/// that is aligned in the model touches as few lines as possible.
///
/// ```
/// use vp_core::tlm::{DirectMemory, Storage};
/// let bytes = Storage::new(256);
/// let elsewhere = bytes.clone();
/// bytes.write(0x10, &[1, 2, 3])?;
/// bytes[0x11].set(9);
/// assert_eq!((elsewhere.len(), elsewhere[0x11].get(), elsewhere[0x12].get()), (256, 9, 3));
/// let image: Storage = (0..=255).collect();
/// assert_eq!(image[7].get(), 7);
/// # Ok::<(), vp_core::tlm::DirectError>(())
/// ```
#[derive(Clone)]
pub struct Storage {
    cells: Rc<[Cell<u8>]>,
    first: usize,
    size: usize,
}

/// What common machines have.
const CACHE_LINE: usize = 64;

impl Storage {
    /// So many bytes, all of them zero.
    ///
    /// ```
    /// use vp_core::tlm::Storage;
    /// assert!(Storage::new(16).iter().all(|byte| byte.get() == 0));
    /// ```
    pub fn new(size: usize) -> Storage {
        Storage::aligned(size, std::iter::repeat_n(0, size))
    }

    /// All cells there are, and which of them is the first byte.
    pub(super) fn into_cells(self) -> (Rc<[Cell<u8>]>, usize) {
        (self.cells, self.first)
    }

    fn aligned(size: usize, bytes: impl Iterator<Item = u8>) -> Storage {
        let cells: Rc<[Cell<u8>]> = vec![Cell::new(0); size + (CACHE_LINE - 1)].into();
        let first = cells.as_ptr().align_offset(CACHE_LINE).min(CACHE_LINE - 1);
        cells[first..].iter().zip(bytes).for_each(|(cell, byte)| cell.set(byte));
        Storage { cells, first, size }
    }
}

impl Deref for Storage {
    type Target = [Cell<u8>];

    #[inline]
    fn deref(&self) -> &[Cell<u8>] {
        &self.cells[self.first..][..self.size]
    }
}

impl DirectMemory for Storage {
    #[inline]
    fn size(&self) -> u64 {
        self.size as u64
    }

    #[inline]
    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), DirectError> {
        (**self).read(offset, data)
    }

    #[inline]
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), DirectError> {
        (**self).write(offset, data)
    }
}

impl FromIterator<u8> for Storage {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> Storage {
        let bytes: Vec<u8> = bytes.into_iter().collect();
        Storage::aligned(bytes.len(), bytes.into_iter())
    }
}

/// The same bytes, where they are.
impl From<Rc<[Cell<u8>]>> for Storage {
    fn from(cells: Rc<[Cell<u8>]>) -> Storage {
        Storage { size: cells.len(), first: 0, cells }
    }
}

impl From<&Storage> for Storage {
    fn from(storage: &Storage) -> Storage {
        storage.clone()
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({} bytes)", self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_at_a_cache_line_and_ends_where_it_should() {
        for size in [0, 1, 63, 64, 65, 4096] {
            let storage: Storage = (0..size).map(|at| at as u8).collect();
            assert_eq!((storage.len(), storage.size()), (size, size as u64));
            assert_eq!(storage.as_ptr().addr() % CACHE_LINE, 0);
            assert!(storage.iter().enumerate().all(|(at, cell)| cell.get() == at as u8));
            assert!(storage.read(size as u64, &mut [0]).is_err());
        }
    }

    #[test]
    fn every_length_is_copied_and_not_a_byte_more() {
        let bytes = |storage: &Storage| storage.iter().map(Cell::get).collect::<Vec<u8>>();
        for length in 0..=130 {
            let source: Storage = (0..140).map(|at| at as u8 + 1).collect();
            let mut data = vec![0; length];
            source.read(5, &mut data).unwrap();
            assert_eq!(data, bytes(&source)[5..5 + length]);
            let target = Storage::new(140);
            target.write(7, &data).unwrap();
            let mut expected = vec![0; 140];
            expected[7..7 + length].copy_from_slice(&data);
            assert_eq!(bytes(&target), expected);
        }
    }

    #[test]
    fn what_others_hold_already_is_shared_as_it_is() {
        let cells: Rc<[Cell<u8>]> = (0..8).map(Cell::new).collect();
        let storage = Storage::from(cells.clone());
        storage.write(6, &[1, 2]).unwrap();
        assert_eq!((cells[6].get(), cells[7].get(), storage.len()), (1, 2, 8));
    }
}
