//! The peer's memory, mapped here.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate, memfd_create,
};
use rustix::io::Errno;
use thiserror::Error;

use crate::memory::Mapping;

/// `HUGETLBFS_MAGIC`: statfs(2).
const HUGE_PAGES: u64 = 0x9584_58f6;

/// Reason for which a file's bytes cannot be a region.
#[derive(Debug, Error)]
pub enum RegionError {
    /// The file might become shorter, and a process that then accesses the missing part is killed.
    #[error("the file is not sealed against shrinking (a memfd with F_SEAL_SHRINK)")]
    NotSealed,
    /// The file's owner may punch a hole into it, which can be filled again only while the system has a huge page
    /// left.
    #[error("the file has huge pages, and its owner might take them away again")]
    HugePages,
    /// The file ends before the region does.
    #[error("{size} bytes from 0x{offset:x} on are not inside a file of {length}")]
    Outside {
        /// Offset of the region.
        offset: u64,
        /// Size of the region.
        size: u64,
        /// Length of the file.
        length: u64,
    },
    /// The system refuses.
    #[error("it cannot be mapped: {0}")]
    Io(#[from] io::Error),
}

/// Bytes of a file that is sealed against shrinking, so that they stay there whatever its owner does.
#[derive(Debug)]
pub struct Region {
    memory: Mapping,
}

impl Region {
    /// Maps `size` bytes of a file from `offset` on.
    ///
    /// # Errors
    /// [`RegionError`]. A file without [`SealFlags::SHRINK`] is refused. The seal is checked before the length,
    /// so that the length stays valid. Before the seals are known no other call is made on the file, because
    /// files of other kinds may take long to answer.
    pub fn map(file: impl AsFd, offset: u64, size: u64) -> Result<Self, RegionError> {
        let file = file.as_fd();
        match fcntl_get_seals(file) {
            Ok(seals) if seals.contains(SealFlags::SHRINK) => {}
            // No memory file at all: it knows no seals.
            Ok(_) | Err(Errno::INVAL) => return Err(RegionError::NotSealed),
            Err(error) => return Err(io::Error::from(error).into()),
        }
        if u64::try_from(fstatfs(file).map_err(io::Error::from)?.f_type) == Ok(HUGE_PAGES) {
            return Err(RegionError::HugePages);
        }
        let length = u64::try_from(fstat(file).map_err(io::Error::from)?.st_size).unwrap_or(0);
        let is_inside = size > 0 && offset.checked_add(size).is_some_and(|end| end <= length);
        match usize::try_from(size) {
            Ok(size) if is_inside => Ok(Self { memory: Mapping::new(file, offset, size)? }),
            _ => Err(RegionError::Outside { offset, size, length }),
        }
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.memory.size() as u64
    }

    /// Copies bytes out. `false`: the range is not completely inside, and nothing was copied.
    #[must_use]
    pub fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        usize::try_from(offset).is_ok_and(|offset| self.memory.read(offset, into))
    }

    /// Copies bytes in. `false`: the range is not completely inside, and nothing was copied.
    #[must_use]
    pub fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        usize::try_from(offset).is_ok_and(|offset| self.memory.write(offset, bytes))
    }
}

/// New memory of so many bytes, zero, that never changes its size: to be shared with a peer.
///
/// # Errors
/// What the system says.
pub fn sealed(name: &str, size: u64) -> io::Result<OwnedFd> {
    let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&file, size)?;
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_one_side_writes_the_other_reads() {
        let file = sealed("test", 0x3000).unwrap();
        let (here, there) =
            (Region::map(&file, 0, 0x3000).unwrap(), Region::map(&file, 0x1000, 0x2000).unwrap());
        assert!(here.write(0x1ffd, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
        let mut bytes = [0; 11];
        assert!(there.read(0xffd, &mut bytes));
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    }

    #[test]
    fn a_file_that_may_shrink_is_refused() {
        let file = memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&file, 0x1000).unwrap();
        assert!(matches!(Region::map(&file, 0, 0x1000), Err(RegionError::NotSealed)));
        let plain = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(matches!(Region::map(&plain, 0, 0x1000), Err(RegionError::NotSealed)));
        // And one that is sealed does not.
        fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
        let region = Region::map(&file, 0, 0x1000).unwrap();
        assert!(ftruncate(&file, 0).is_err());
        assert!(region.write(0xfff, &[1]));
    }

    #[test]
    fn memory_of_huge_pages_is_refused() {
        let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
        // A system may have been built without.
        let Ok(file) = memfd_create("test", flags) else { return };
        ftruncate(&file, 1 << 30).unwrap();
        fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
        assert!(matches!(Region::map(&file, 0, 0x1000), Err(RegionError::HugePages)));
    }

    proptest! {
        #[test]
        fn a_region_takes_what_is_inside_and_nothing_else(
            offset in 0u64..0x5000, size in 0u64..0x5000, at in 0u64..0x5000, length in 0usize..0x3000,
        ) {
            let file = sealed("test", 0x4000).unwrap();
            let offset = offset & !0xfff;
            let region = Region::map(&file, offset, size);
            prop_assert_eq!(region.is_ok(), size > 0 && offset + size <= 0x4000);
            if let Ok(region) = region {
                let pattern: Vec<u8> = (0..length).map(|at| at as u8 | 1).collect();
                let is_inside = at + length as u64 <= size;
                prop_assert_eq!(region.write(at, &pattern), is_inside);
                let mut back = vec![0; length];
                prop_assert_eq!(region.read(at, &mut back), is_inside);
                let expected = if is_inside { pattern } else { vec![0; length] };
                prop_assert_eq!(back, expected);
                // The whole file holds exactly what was written, where it was.
                let whole = Region::map(&file, 0, 0x4000).unwrap();
                let mut all = vec![0; 0x4000];
                prop_assert!(whole.read(0, &mut all));
                let written = all.iter().filter(|&&byte| byte != 0).count();
                prop_assert_eq!(written, if is_inside { length } else { 0 });
            }
        }

        #[test]
        fn no_offset_or_size_whatever_reaches_out(offset in any::<u64>(), size in any::<u64>()) {
            let file = sealed("test", 0x2000).unwrap();
            let fits = size > 0 && offset.checked_add(size).is_some_and(|end| end <= 0x2000);
            prop_assert_eq!(Region::map(&file, offset, size).is_ok(), fits);
            let region = Region::map(&file, 0, 0x2000).unwrap();
            let fits = offset.checked_add(4).is_some_and(|end| end <= 0x2000);
            prop_assert_eq!(region.write(offset, &[0; 4]), fits);
            prop_assert_eq!(region.read(offset, &mut [0; 4]), fits);
        }
    }
}
