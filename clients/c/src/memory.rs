//! The bytes of a memory that this side is, beside its pins.

#![allow(non_camel_case_types, reason = "as C names types")]

use std::ffi::c_void;
use std::fmt::Display;
use std::rc::Rc;

use ::vp_partner::{DebugTarget, PartnerError};
use vp_models::memory::Ram;

use crate::{vp_partner, vp_status};

/// Reads bytes of the memory that this side is at a port of `vp_axi_subordinate`: what a loader has put there, or the pins.
///
/// # Safety
/// `partner` comes from `vp_connect`; `bytes` has room for `length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_memory_read(
    partner: *mut vp_partner,
    port: i32,
    address: u64,
    bytes: *mut u8,
    length: usize,
) -> vp_status {
    // SAFETY: as the caller says.
    let partner = unsafe { partner.as_mut() };
    access(partner, port, bytes.is_null(), |ram| {
        // SAFETY: as the caller says.
        ram.read(address, unsafe { std::slice::from_raw_parts_mut(bytes, length) })
    })
}

/// Writes bytes of that memory.
///
/// # Safety
/// `partner` comes from `vp_connect`; `bytes` has `length` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_memory_write(
    partner: *mut vp_partner,
    port: i32,
    address: u64,
    bytes: *const u8,
    length: usize,
) -> vp_status {
    // SAFETY: as the caller says.
    let partner = unsafe { partner.as_mut() };
    access(partner, port, bytes.is_null(), |ram| {
        // SAFETY: as the caller says.
        ram.write(address, unsafe { std::slice::from_raw_parts(bytes, length) })
    })
}

fn access<E: Display>(
    partner: Option<&mut vp_partner>,
    port: i32,
    is_null: bool,
    access: impl FnOnce(&Ram) -> Result<(), E>,
) -> vp_status {
    let Some(partner) = partner else { return vp_status::Error };
    let Some(ram) = partner.ram(port) else { return partner.wrong_port() };
    let done = match is_null {
        true => Err("the bytes are NULL".to_owned()),
        false => access(&ram).map_err(|error| error.to_string()),
    };
    partner.done(done.map_err(PartnerError::Refused))
}

/// Functions that access a memory's bytes, if they are not in the library. Both access `length` bytes from an address on at once, and return how
/// many of them they could; they are called while the edge is seen, and call nothing of this library.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct vp_debug_target {
    /// The functions' first argument.
    pub context: *mut c_void,
    /// Reads.
    pub read: Option<
        unsafe extern "C" fn(context: *mut c_void, address: u64, bytes: *mut u8, length: usize) -> usize,
    >,
    /// Writes.
    pub write: Option<
        unsafe extern "C" fn(context: *mut c_void, address: u64, bytes: *const u8, length: usize) -> usize,
    >,
}

/// All of so many bytes were accessed.
fn all(access: &str, done: Option<usize>, address: u64, length: usize) -> Result<(), String> {
    let done = done.unwrap_or(0);
    match done >= length {
        true => Ok(()),
        false => Err(format!("the memory has {access} {done} of {length} bytes at {address:#x}")),
    }
}

impl DebugTarget for vp_debug_target {
    fn debug_read(&self, address: u64, into: &mut [u8]) -> Result<(), String> {
        // SAFETY: `vp_memory_debug_target` asks for functions that may be called so.
        let call = |read: unsafe extern "C" fn(_, _, _, _) -> _| unsafe {
            read(self.context, address, into.as_mut_ptr(), into.len())
        };
        all("read", self.read.map(call), address, into.len())
    }

    fn debug_write(&self, address: u64, bytes: &[u8]) -> Result<(), String> {
        // SAFETY: likewise.
        let call = |write: unsafe extern "C" fn(_, _, _, _) -> _| unsafe {
            write(self.context, address, bytes.as_ptr(), bytes.len())
        };
        all("written", self.write.map(call), address, bytes.len())
    }
}

/// Keeps the bytes of a memory elsewhere: loaders and debuggers of the platform reach them by these functions, and
/// `vp_memory_read` and `vp_memory_write` have nothing to do with them.
///
/// # Safety
/// `partner` comes from `vp_connect`, `target` can be read, and its functions can be called with its context as long as there is the partner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_memory_debug_target(
    partner: *mut vp_partner,
    port: i32,
    target: *const vp_debug_target,
) -> vp_status {
    // SAFETY: as the caller says.
    let (Some(partner), Some(target)) = (unsafe { (partner.as_mut(), target.as_ref()) }) else {
        return vp_status::Error;
    };
    let Some(handle) = partner.handle(port) else { return partner.wrong_port() };
    let set = partner.partner.set_debug_target(handle, Rc::new(*target));
    partner.done(set)
}

impl vp_partner {
    fn ram(&mut self, port: i32) -> Option<Rc<Ram>> {
        let handle = self.handle(port)?;
        self.partner.memory(handle)
    }
}
