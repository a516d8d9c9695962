//! The peer's memory, mapped here.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

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
    /// The file is of another kind than memory, and may take long to answer.
    #[error("the file is none of memory (a memfd, or one of tmpfs)")]
    NoMemory,
    /// Pages of the file might go away, and the system does not copy its bytes for this process.
    #[error("the file's pages might go away, and the system does not copy them for this process: {0}")]
    NotCopied(io::Error),
    /// Huge pages are mapped as wholes.
    #[error("{size} bytes from 0x{offset:x} on are not whole pages of {page} bytes, as the file has")]
    PartOfPage {
        /// Offset of the region.
        offset: u64,
        /// Size of the region.
        size: u64,
        /// Bytes of a page.
        page: u64,
    },
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

/// Bytes of a file. Whatever its owner does they stay there, because the file is sealed against shrinking, or they are copied by the system,
/// which finds out.
#[derive(Debug)]
pub struct Region {
    memory: Mapping,
    is_direct: bool,
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
        if !is_sealed(file)?.unwrap_or(false) {
            return Err(RegionError::NotSealed);
        }
        if has_huge_pages(file)? {
            return Err(RegionError::HugePages);
        }
        Ok(Self { memory: mapping(file, offset, size)?, is_direct: true })
    }

    /// Maps as [`map`](Self::map) does, and also memory whose pages may go away: a memfd without that seal or of huge pages, or a file of
    /// tmpfs. There each access is a system call, which fails where bytes are not there any more.
    ///
    /// # Errors
    /// [`RegionError`], but for [`RegionError::NotSealed`] and [`RegionError::HugePages`].
    pub fn map_any(file: impl AsFd, offset: u64, size: u64) -> Result<Self, RegionError> {
        let file = file.as_fd();
        // Only files of memory know seals.
        let is_sealed = is_sealed(file)?.ok_or(RegionError::NoMemory)?;
        let is_huge = has_huge_pages(file)?;
        if is_huge {
            let page = u64::try_from(fstat(file).map_err(io::Error::from)?.st_blksize).unwrap_or(0).max(1);
            if !offset.is_multiple_of(page) || !size.is_multiple_of(page) {
                return Err(RegionError::PartOfPage { offset, size, page });
            }
        }
        let memory = mapping(file, offset, size)?;
        let is_direct = is_sealed && !is_huge;
        if !is_direct {
            memory.read_by_system(0, &mut [0]).map_err(RegionError::NotCopied)?;
        }
        Ok(Self { memory, is_direct })
    }

    /// Returns true if accesses are no system calls.
    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.memory.size() as u64
    }

    /// Copies bytes out. `false`: the range is not completely inside, and nothing was copied; or the file has become shorter.
    #[must_use]
    pub fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        let Ok(offset) = usize::try_from(offset) else { return false };
        if self.is_direct || into.is_empty() {
            return self.memory.read(offset, into);
        }
        self.memory.read_by_system(offset, into).is_ok()
    }

    /// Copies bytes in. `false`: as of [`read`](Self::read).
    #[must_use]
    pub fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        let Ok(offset) = usize::try_from(offset) else { return false };
        if self.is_direct || bytes.is_empty() {
            return self.memory.write(offset, bytes);
        }
        self.memory.write_by_system(offset, bytes).is_ok()
    }
}

/// Returns true if a file is sealed against shrinking; `None`: it is none of memory, and knows no seals.
fn is_sealed(file: BorrowedFd<'_>) -> Result<Option<bool>, RegionError> {
    match fcntl_get_seals(file) {
        Ok(seals) => Ok(Some(seals.contains(SealFlags::SHRINK))),
        Err(Errno::INVAL) => Ok(None),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// Returns true if a file of memory has huge pages.
fn has_huge_pages(file: BorrowedFd<'_>) -> Result<bool, RegionError> {
    Ok(u64::try_from(fstatfs(file).map_err(io::Error::from)?.f_type) == Ok(HUGE_PAGES))
}

/// Maps bytes of a file of memory.
fn mapping(file: BorrowedFd<'_>, offset: u64, size: u64) -> Result<Mapping, RegionError> {
    let length = u64::try_from(fstat(file).map_err(io::Error::from)?.st_size).unwrap_or(0);
    let is_inside = size > 0 && offset.checked_add(size).is_some_and(|end| end <= length);
    match usize::try_from(size) {
        Ok(size) if is_inside => Ok(Mapping::new(file, offset, size)?),
        _ => Err(RegionError::Outside { offset, size, length }),
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

    /// Memory that may become shorter, mapped.
    fn unsealed(size: u64) -> (OwnedFd, Region) {
        let file = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, size).unwrap();
        let region = Region::map_any(&file, 0, size).unwrap();
        assert!(!region.is_direct());
        (file, region)
    }

    #[test]
    fn accesses_to_memory_that_becomes_shorter_fail_and_nobody_is_killed() {
        let (file, region) = unsealed(0x4000);
        let other = Region::map_any(&file, 0x1000, 0x1000).unwrap();
        assert!(region.write(0xffd, &[1, 2, 3, 4, 5, 6, 7]));
        let mut bytes = [0; 4];
        assert!(other.read(0, &mut bytes) && bytes == [4, 5, 6, 7]);
        ftruncate(&file, 0x1000).unwrap();
        assert!(!other.read(0, &mut bytes) && !other.write(0, &[1]));
        assert!(!region.read(0xffe, &mut bytes) && !region.write(0xffe, &[1; 4]), "half of it is there");
        assert!(region.write(0xffc, &[1; 4]));
        ftruncate(&file, 0).unwrap();
        assert!(!region.read(0, &mut bytes));
        // What comes back is zero.
        ftruncate(&file, 0x4000).unwrap();
        assert!(region.read(0xffc, &mut bytes) && bytes == [0; 4]);
    }

    #[test]
    fn memory_that_becomes_shorter_and_longer_all_the_time_kills_nobody() {
        let (file, region) = unsealed(0x10_0000);
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    ftruncate(&file, 0).unwrap();
                    ftruncate(&file, 0x10_0000).unwrap();
                }
            });
            let mut bytes = [0; 0x2100];
            for round in 0..20_000_u64 {
                let at = round * 0x777 % 0xf_0000;
                let _ = region.write(at, &bytes) | region.read(at, &mut bytes);
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    #[test]
    fn files_that_are_none_of_memory_are_never_mapped() {
        let plain = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(matches!(Region::map_any(&plain, 0, 0x1000), Err(RegionError::NoMemory)));
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(matches!(Region::map_any(&reader, 0, 0x1000), Err(RegionError::NoMemory)));
        let (file, _) = unsealed(0x1000);
        assert!(matches!(Region::map_any(&file, 0, 0x2000), Err(RegionError::Outside { .. })));
        assert!(Region::map_any(sealed("test", 0x1000).unwrap(), 0, 0x1000).unwrap().is_direct());
    }

    #[test]
    fn memory_of_huge_pages_is_never_accessed_directly() {
        let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
        // A system may have been built without.
        let Ok(file) = memfd_create("test", flags) else { return };
        ftruncate(&file, 1 << 30).unwrap();
        fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
        assert!(matches!(Region::map(&file, 0, 0x1000), Err(RegionError::HugePages)));
        assert!(matches!(Region::map_any(&file, 0, 0x1000), Err(RegionError::PartOfPage { .. })));
        let all = Region::map_any(&file, 0, 1 << 30);
        // A system may have no such pages, which only an access finds.
        if let Err(RegionError::NotCopied(_)) = all {
            return;
        }
        let all = all.unwrap();
        assert!(!all.is_direct() && all.write(0x1ffe, &[1, 2, 3, 4]));
        let mut bytes = [0; 4];
        assert!(all.read(0x1ffe, &mut bytes) && bytes == [1, 2, 3, 4]);
    }

    proptest! {
        #[test]
        fn a_region_takes_what_is_inside_and_nothing_else(
            offset in 0u64..0x5000, size in 0u64..0x5000, at in 0u64..0x5000, length in 0usize..0x3000,
            is_sealed: bool,
        ) {
            let file = if is_sealed { sealed("test", 0x4000).unwrap() } else { unsealed(0x4000).0 };
            let offset = offset & !0xfff;
            let region = Region::map_any(&file, offset, size);
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
                let whole = Region::map_any(&file, 0, 0x4000).unwrap();
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
