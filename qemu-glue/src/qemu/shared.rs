//! Guest RAM in a file that another process can map.
//!
//! RAM of a `memory-backend-memfd` with `share=on` is. Where the user leaves the RAM to QEMU, which would take private
//! memory, such a backend is put in before the board is built.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ops::Range;
use std::os::fd::BorrowedFd;

use vp_shm::Mappings;

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
        let (Ok(functions), Ok(maps)) = (Functions::look_up(), Mappings::own()) else { return Vec::new() };
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
fn in_file(maps: &Mappings, host: u64, range: Range<u64>, file: c_int) -> Option<SharedMemory> {
    // SAFETY: a file that the block of RAM keeps open as long as the machine lives.
    let file = unsafe { BorrowedFd::borrow_raw(file) }.try_clone_to_owned().ok()?;
    let offset = maps.offset_of(host, range.end - range.start, &file)?;
    Some(SharedMemory { range, file, offset })
}

fn is_users_own(argument: &str) -> bool {
    let name = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'));
    name.is_some_and(|name| USERS_OWN.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_who_says_where_the_ram_is_is_left_alone() {
        assert!(is_users_own("-numa") && is_users_own("--mem-path"));
        assert!(!is_users_own("-m") && !is_users_own("numa"));
    }
}
