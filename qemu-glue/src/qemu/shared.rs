//! Guest RAM in a file that another process can map.
//!
//! RAM of a `memory-backend-memfd` with `share=on` is. Where the user leaves the RAM to QEMU, which would take private
//! memory, such a backend is put in before the board is built.

use std::ffi::{CString, c_char, c_int, c_void};
use std::fs::File;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

use super::functions::functions;
use super::layouts::{Errors, Object};
use super::{END_OF_ADDRESSES, Qemu, c, symbols};
use crate::session::SharedMemory;

/// The name of the backend that is put in.
const BACKEND: &std::ffi::CStr = c"vp-ram";
/// Arguments of QEMU's by which the user says himself where the RAM is.
const USERS_OWN: [&str; 3] = ["numa", "mem-path", "mem-prealloc"];

functions! {
    /// Functions that sharing needs.
    Functions {
        /// exec/cpu-common.h
        fn qemu_ram_get_fd(Object) -> c_int;
        /// qom/object.h
        fn object_get_objects_root() -> Object;
        /// qom/object.h
        fn object_property_set_str(Object, *const c_char, *const c_char, Errors) -> bool;
        /// qom/object.h
        fn object_property_get_qobject(Object, *const c_char, Errors) -> *mut c_void;
        /// qapi/qmp/qdict.h
        fn qdict_get_int(*mut c_void, *const c_char) -> i64;
    }
}

/// qom/object.h: `object_new_with_props`.
type NewWithProperties = unsafe extern "C" fn(*const c_char, Object, *const c_char, Errors, ...) -> Object;

/// A block of RAM as QEMU has it.
struct Block {
    region: Object,
    /// Address at which the region begins in this process.
    host: u64,
    file: c_int,
}

impl Qemu {
    /// Has the board take its RAM from a shared file, if the user has not said where it is to be. Before the board is built.
    /// What does not work out leaves the RAM as it would have been.
    pub(crate) fn share_ram(&self) {
        let (Some(machine), Ok(functions)) = (self.machine("machine"), Functions::look_up()) else { return };
        if self.text(machine, "memory-backend").is_some()
            || std::env::args_os().any(|argument| is_users_own(&argument.to_string_lossy()))
        {
            return;
        }
        let new = symbols::find("object_new_with_props");
        if new.is_null() {
            return;
        }
        // SAFETY: QEMU's function of that name, on the main thread before the board is built. Names and values are copied;
        // the list of properties ends with a null pointer; a null place for errors has them left out. The machine's
        // `memory` is a dictionary in which `size` is an integer (qapi/machine.json, MemorySizeConfiguration).
        unsafe {
            let new = std::mem::transmute::<*mut c_void, NewWithProperties>(new);
            let none = std::ptr::null_mut();
            let memory = (functions.object_property_get_qobject)(machine.0, c"memory".as_ptr(), none);
            if memory.is_null() {
                return;
            }
            let Ok(size) = CString::new((functions.qdict_get_int)(memory, c"size".as_ptr()).to_string())
            else {
                return;
            };
            let backend = new(
                c"memory-backend-memfd".as_ptr(),
                (functions.object_get_objects_root)(),
                BACKEND.as_ptr(),
                none,
                c"size".as_ptr(),
                size.as_ptr(),
                c"share".as_ptr(),
                c"on".as_ptr(),
                std::ptr::null::<c_char>(),
            );
            if !backend.is_null() {
                let name = c("memory-backend");
                (functions.object_property_set_str)(machine.0, name.as_ptr(), BACKEND.as_ptr(), none);
            }
        }
    }

    /// The RAM that lies in files which QEMU has mapped shared, by rising address.
    pub(crate) fn shared_ram(&self) -> Vec<SharedMemory> {
        let (Ok(functions), Ok(maps)) = (Functions::look_up(), std::fs::read_to_string("/proc/self/maps"))
        else {
            return Vec::new();
        };
        let blocks = self.blocks(&functions);
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(section) = self.section(from, END_OF_ADDRESSES - from) {
            let start = section.offset_within_address_space;
            let size = u64::try_from(section.size).unwrap_or(END_OF_ADDRESSES);
            let end = start.saturating_add(size).min(END_OF_ADDRESSES);
            let block = blocks.iter().find(|block| block.region == section.region && block.file >= 0);
            if let Some(block) = block.filter(|_| !section.readonly) {
                let host = block.host.wrapping_add(section.offset_within_region);
                found.extend(in_file(&maps, host, start..end, block.file));
            }
            if end <= from || end >= END_OF_ADDRESSES {
                break;
            }
            from = end;
        }
        found
    }

    fn blocks(&self, functions: &Functions) -> Vec<Block> {
        let mut blocks = Vec::new();
        self.each_block(|block, region, host| {
            // SAFETY: the block is QEMU's.
            let file = unsafe { (functions.qemu_ram_get_fd)(block) };
            blocks.push(Block { region, host, file });
        });
        blocks
    }
}

/// Guest memory that is at `host` in this process, if that is a shared mapping of the file.
fn in_file(maps: &str, host: u64, range: Range<u64>, file: c_int) -> Option<SharedMemory> {
    // SAFETY: a file that the block of RAM keeps open as long as the machine lives.
    let file = unsafe { BorrowedFd::borrow_raw(file) }.try_clone_to_owned().ok()?;
    let known = File::from(file);
    let metadata = known.metadata().ok()?;
    let device = metadata.dev();
    let device = format!("{:02x}:{:02x}", libc::major(device), libc::minor(device));
    let size = range.end - range.start;
    let offset = file_offset(maps, host, size, &device, metadata.ino())?;
    Some(SharedMemory { range, file: OwnedFd::from(known), offset })
}

/// Returns where in a file the bytes at an address are, if all of them are mapped from it, shared and in one piece.
///
/// `maps` is in the format of proc_pid_maps(5): `start-end perms offset device inode path`.
fn file_offset(maps: &str, host: u64, size: u64, device: &str, inode: u64) -> Option<u64> {
    let end = host.checked_add(size)?;
    let (mut reached, mut first) = (host, None);
    for line in maps.lines() {
        let mut fields = line.split_whitespace();
        let (addresses, rights) = (fields.next()?, fields.next()?);
        let (offset, of, number) = (fields.next()?, fields.next()?, fields.next()?);
        let (from, to) = addresses.split_once('-')?;
        let [from, to, offset] = [from, to, offset].map(|number| u64::from_str_radix(number, 16));
        let (from, to, offset) = (from.ok()?, to.ok()?, offset.ok()?);
        if to <= reached || reached >= end {
            continue;
        }
        let is_file = of == device && number.parse() == Ok(inode) && rights.ends_with('s');
        if from > reached || !is_file {
            return None;
        }
        let here = offset + (reached - from);
        let first = *first.get_or_insert(here);
        if here - first != reached - host {
            return None;
        }
        reached = to;
    }
    first.filter(|_| reached >= end)
}

fn is_users_own(argument: &str) -> bool {
    let name = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'));
    name.is_some_and(|name| USERS_OWN.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
1000-3000 rw-p 00000000 00:00 0
4000-6000 rw-s 00001000 00:01 77 /memfd:memory-backend-memfd (deleted)
6000-9000 rw-s 00003000 00:01 77 /memfd:memory-backend-memfd (deleted)
9000-a000 rw-s 00007000 00:01 77 /memfd:memory-backend-memfd (deleted)
a000-b000 rw-p 00000000 00:01 77 /memfd:memory-backend-memfd (deleted)
";

    #[test]
    fn memory_is_where_the_system_says_that_it_is_mapped_from() {
        let find = |host, size| file_offset(MAPS, host, size, "00:01", 77);
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
        assert_eq!(file_offset(MAPS, 0x4000, 0x1000, "00:02", 77), None);
        assert_eq!(file_offset(MAPS, 0x4000, 0x1000, "00:01", 78), None);
    }

    #[test]
    fn a_user_who_says_where_the_ram_is_is_left_alone() {
        assert!(is_users_own("-numa") && is_users_own("--mem-path"));
        assert!(!is_users_own("-m") && !is_users_own("numa"));
    }
}
