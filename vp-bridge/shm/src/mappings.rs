//! A process's mappings of files, as the system tells them.

use std::io::{self, Read as _};
use std::ops::Range;
use std::os::fd::AsFd;

use rustix::fs::fstat;

/// Bytes of the system's list that are read at most. A process has some hundred mappings, of a hundred bytes each.
const MOST: u64 = 16 << 20;

/// Way in which a process has mapped bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// The file is mapped nowhere.
    Unmapped,
    /// All of the bytes are mapped, so that the process and the file have the same.
    Shared,
    /// Other bytes of the file are mapped, or the process keeps what it writes to itself (MAP_PRIVATE).
    Apart,
}

/// Mappings of a process, in the format of proc_pid_maps(5): `start-end perms offset device inode path`.
#[derive(Debug)]
pub struct Mappings(String);

/// Entry of the list, beside a file that is looked for.
struct Entry {
    addresses: Range<u64>,
    is_shared: bool,
    offset: u64,
    is_of_file: bool,
}

impl Mappings {
    /// The mappings of this process.
    ///
    /// # Errors
    /// What the system says.
    pub fn own() -> io::Result<Self> {
        Self::read("self")
    }

    /// The mappings of another process.
    ///
    /// # Errors
    /// What the system says: often that it is another user's.
    pub fn of(pid: i32) -> io::Result<Self> {
        Self::read(&pid.to_string())
    }

    fn read(process: &str) -> io::Result<Self> {
        let mut maps = Vec::new();
        std::fs::File::open(format!("/proc/{process}/maps"))?.take(MOST).read_to_end(&mut maps)?;
        if maps.len() as u64 == MOST {
            return Err(io::Error::other(format!("its list of mappings has over {} MiB", MOST >> 20)));
        }
        // Paths are of any bytes, and are not looked at.
        Ok(Self(String::from_utf8_lossy(&maps).into_owned()))
    }

    /// The mappings, by rising address.
    fn all(&self, (device, inode): (&str, u64)) -> impl Iterator<Item = Entry> {
        self.0.lines().filter_map(move |line| {
            let mut fields = line.split_whitespace();
            let (addresses, rights) = (fields.next()?, fields.next()?);
            let (offset, of, number) = (fields.next()?, fields.next()?, fields.next()?);
            let (from, to) = addresses.split_once('-')?;
            let [from, to, offset] = [from, to, offset].map(|number| u64::from_str_radix(number, 16));
            Some(Entry {
                addresses: from.ok()?..to.ok()?,
                is_shared: rights.ends_with('s'),
                offset: offset.ok()?,
                is_of_file: of == device && number.parse() == Ok(inode),
            })
        })
    }

    /// Returns where in a file the bytes at an address are, if all of them are mapped from it, shared and in one piece.
    pub fn offset_of(&self, address: u64, size: u64, file: impl AsFd) -> Option<u64> {
        let (device, inode) = named(file).ok()?;
        self.offset_in((&device, inode), address, size)
    }

    fn offset_in(&self, file: (&str, u64), address: u64, size: u64) -> Option<u64> {
        let end = address.checked_add(size)?;
        let (mut reached, mut first) = (address, None);
        for Entry { addresses, is_shared, offset, is_of_file } in self.all(file) {
            if addresses.end <= reached || reached >= end {
                continue;
            }
            if addresses.start > reached || !(is_of_file && is_shared) {
                return None;
            }
            let here = offset + (reached - addresses.start);
            let first = *first.get_or_insert(here);
            if here - first != reached - address {
                return None;
            }
            reached = addresses.end;
        }
        first.filter(|_| reached >= end)
    }

    /// Returns how bytes of a file are mapped.
    ///
    /// # Errors
    /// What the system says of the file.
    pub fn sharing(&self, file: impl AsFd, offset: u64, size: u64) -> io::Result<Sharing> {
        let (device, inode) = named(file)?;
        Ok(self.sharing_of((&device, inode), offset, size))
    }

    fn sharing_of(&self, file: (&str, u64), offset: u64, size: u64) -> Sharing {
        let mappings: Vec<_> = self.all(file).filter(|entry| entry.is_of_file).collect();
        if mappings.is_empty() {
            return Sharing::Unmapped;
        }
        let in_file = |entry: &Entry| {
            entry.offset
                ..entry.offset.saturating_add(entry.addresses.end.saturating_sub(entry.addresses.start))
        };
        let mut shared: Vec<_> = mappings.iter().filter(|entry| entry.is_shared).map(in_file).collect();
        shared.sort_by_key(|range| range.start);
        let mut reached = offset;
        for range in shared {
            if range.start > reached {
                break;
            }
            reached = reached.max(range.end);
        }
        if reached >= offset.saturating_add(size) { Sharing::Shared } else { Sharing::Apart }
    }
}

/// Device and number of a file, as the list has them.
fn named(file: impl AsFd) -> io::Result<(String, u64)> {
    let about = fstat(file)?;
    let device = format!("{:02x}:{:02x}", libc::major(about.st_dev), libc::minor(about.st_dev));
    Ok((device, about.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealed;
    use memmap2::MmapOptions;

    const MAPS: &str = "\
1000-3000 rw-p 00000000 00:00 0
4000-6000 rw-s 00001000 00:01 77 /memfd:memory-backend-memfd (deleted)
6000-9000 rw-s 00003000 00:01 77 /memfd:memory-backend-memfd (deleted)
9000-a000 rw-s 00007000 00:01 77 /memfd:memory-backend-memfd (deleted)
a000-b000 rw-p 00000000 00:01 77 /memfd:memory-backend-memfd (deleted)
";

    fn maps() -> Mappings {
        Mappings(MAPS.to_owned())
    }

    #[test]
    fn memory_is_where_the_system_says_that_it_is_mapped_from() {
        let find = |address, size| maps().offset_in(("00:01", 77), address, size);
        assert_eq!(find(0x4000, 0x2000), Some(0x1000));
        assert_eq!(find(0x5800, 0x3800), Some(0x2800));
        // Pieces that do not follow each other in the file, private ones, ones of nothing, and no mapping.
        assert_eq!(find(0x8000, 0x2000), None);
        assert_eq!(find(0xa000, 0x1000), None);
        assert_eq!(find(0x1000, 0x1000), None);
        assert_eq!(find(0x3000, 0x2000), None);
        assert_eq!(find(0xa000, 0x2000), None);
        assert_eq!(find(u64::MAX, 2), None);
    }

    #[test]
    fn a_file_of_the_same_number_on_another_device_is_another() {
        assert_eq!(maps().offset_in(("00:02", 77), 0x4000, 0x1000), None);
        assert_eq!(maps().offset_in(("00:01", 78), 0x4000, 0x1000), None);
        assert_eq!(maps().sharing_of(("00:02", 77), 0x1000, 0x1000), Sharing::Unmapped);
    }

    #[test]
    fn bytes_are_shared_if_shared_mappings_have_all_of_them() {
        let sharing = |offset, size| maps().sharing_of(("00:01", 77), offset, size);
        assert_eq!(sharing(0x1000, 0x5000), Sharing::Shared, "two mappings");
        assert_eq!(sharing(0x7000, 0x1000), Sharing::Shared);
        assert_eq!(sharing(0, 0x1000), Sharing::Apart, "private");
        assert_eq!(sharing(0x5000, 0x3000), Sharing::Apart, "a part is mapped nowhere");
        assert_eq!(sharing(0x7000, u64::MAX), Sharing::Apart);
    }

    #[test]
    #[expect(unsafe_code, reason = "memmap2 takes private mappings for unsafe")]
    fn a_process_sees_how_it_has_mapped_a_file_itself() {
        let file = sealed("mapped", 0x3000).unwrap();
        let sharing = || Mappings::own().unwrap().sharing(&file, 0, 0x3000).unwrap();
        assert_eq!(sharing(), Sharing::Unmapped);
        // SAFETY: nobody makes the file shorter, and nothing is read.
        let private = unsafe { MmapOptions::new().len(0x3000).map_copy(&file) }.unwrap();
        assert_eq!(sharing(), Sharing::Apart);
        let shared = MmapOptions::new().len(0x3000).map_raw(&file).unwrap();
        assert_eq!(sharing(), Sharing::Shared);
        let address = shared.as_ptr() as u64;
        assert_eq!(Mappings::own().unwrap().offset_of(address, 0x3000, &file), Some(0));
        drop((private, shared));
        assert_eq!(sharing(), Sharing::Unmapped);
        let number = i32::try_from(std::process::id()).unwrap();
        assert_eq!(Mappings::of(number).unwrap().sharing(&file, 0, 1).unwrap(), Sharing::Unmapped);
    }
}
