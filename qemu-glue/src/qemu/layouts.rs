//! The structures of QEMU that are relied on, as they are in 7.2 to 11.1. What can be found out at run time is not here.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// Anything of QEMU's that is only passed on.
pub(crate) type Object = *mut c_void;
/// Place at which a function puts an error.
pub(crate) type Errors = *mut *mut c_void;

/// `TypeInfo` of qom/object.h.
#[repr(C)]
pub(crate) struct TypeInfo {
    pub(crate) name: *const c_char,
    pub(crate) parent: *const c_char,
    pub(crate) instance_size: usize,
    pub(crate) instance_align: usize,
    pub(crate) instance_init: Option<unsafe extern "C" fn(Object)>,
    pub(crate) instance_post_init: Option<unsafe extern "C" fn(Object)>,
    pub(crate) instance_finalize: Option<unsafe extern "C" fn(Object)>,
    pub(crate) is_abstract: bool,
    pub(crate) class_size: usize,
    pub(crate) class_init: Option<unsafe extern "C" fn(Object, *mut c_void)>,
    pub(crate) class_base_init: Option<unsafe extern "C" fn(Object, *mut c_void)>,
    pub(crate) class_data: *mut c_void,
    pub(crate) interfaces: *mut c_void,
}

impl TypeInfo {
    /// A type of device that has nothing of its own but what is called when one is made.
    pub(crate) fn inherited(
        name: &'static std::ffi::CStr,
        init: unsafe extern "C" fn(Object),
        class_init: unsafe extern "C" fn(Object, *mut c_void),
    ) -> Self {
        Self {
            name: name.as_ptr(),
            parent: c"device".as_ptr(),
            instance_size: 0,
            instance_align: 0,
            instance_init: Some(init),
            instance_post_init: None,
            instance_finalize: None,
            is_abstract: false,
            class_size: 0,
            class_init: Some(class_init),
            class_base_init: None,
            class_data: std::ptr::null_mut(),
            interfaces: std::ptr::null_mut(),
        }
    }
}

/// `MemoryRegionOps` of exec/memory.h. `MemTxAttrs`, 4 or 8 bytes by version, comes in one integer register.
#[repr(C)]
pub(crate) struct MemoryRegionOps {
    pub(crate) read: Option<unsafe extern "C" fn(*mut c_void, u64, c_uint) -> u64>,
    pub(crate) write: Option<unsafe extern "C" fn(*mut c_void, u64, u64, c_uint)>,
    pub(crate) read_with_attrs: Option<unsafe extern "C" fn(*mut c_void, u64, *mut u64, c_uint, u64) -> u32>,
    pub(crate) write_with_attrs: Option<unsafe extern "C" fn(*mut c_void, u64, u64, c_uint, u64) -> u32>,
    pub(crate) endianness: c_int,
    pub(crate) valid: ValidAccesses,
    pub(crate) implemented: ImplementedAccesses,
}

/// `MemoryRegionOps.valid`: a structure of its own, since its alignment counts.
#[repr(C)]
pub(crate) struct ValidAccesses {
    pub(crate) min: c_uint,
    pub(crate) max: c_uint,
    pub(crate) unaligned: bool,
    pub(crate) accepts: Option<unsafe extern "C" fn()>,
}

/// `MemoryRegionOps.impl`.
#[repr(C)]
pub(crate) struct ImplementedAccesses {
    pub(crate) min: c_uint,
    pub(crate) max: c_uint,
    pub(crate) unaligned: bool,
}

/// `DEVICE_LITTLE_ENDIAN`.
pub(crate) const LITTLE_ENDIAN: c_int = 2;
/// `MEMTX_OK`.
pub(crate) const MEMTX_OK: u32 = 0;
/// `MEMTX_ERROR`: the bus answers with an error.
pub(crate) const MEMTX_ERROR: u32 = 1;

/// `MemoryRegionSection` of exec/memory.h, with room for the flags that later versions have.
#[repr(C, align(16))]
pub(crate) struct MemoryRegionSection {
    pub(crate) size: u128,
    pub(crate) region: Object,
    pub(crate) view: Object,
    pub(crate) offset_within_region: u64,
    pub(crate) offset_within_address_space: u64,
    pub(crate) readonly: bool,
    pub(crate) room: [u8; 63],
}

/// Room for a `MemoryRegion`, which is less than 300 bytes in all versions.
#[repr(C, align(16))]
pub(crate) struct RegionStorage(pub(crate) [u8; 4096]);

/// `Notifier` of qemu/notify.h.
#[repr(C)]
pub(crate) struct Notifier {
    pub(crate) notify: unsafe extern "C" fn(*mut Notifier, *mut c_void),
    pub(crate) next: *mut c_void,
    pub(crate) previous: *mut c_void,
}

/// `VersionInfo` of `query-version`.
#[repr(C)]
pub(crate) struct VersionInfo {
    pub(crate) triple: *const [i64; 3],
    pub(crate) package: *const c_char,
}

/// `qemu_info_t` of the plugin interface.
#[repr(C)]
pub(crate) struct PluginInfo {
    pub(crate) target_name: *const c_char,
    pub(crate) version_min: c_int,
    pub(crate) version_current: c_int,
    pub(crate) system_emulation: bool,
}

// The offsets that every version has, on 64-bit hosts: a change here is a mistake.
const _: () = {
    assert!(std::mem::offset_of!(MemoryRegionOps, valid) == 40);
    assert!(std::mem::offset_of!(MemoryRegionOps, implemented) == 64);
    assert!(std::mem::offset_of!(TypeInfo, class_size) == 64);
    assert!(std::mem::offset_of!(MemoryRegionSection, offset_within_address_space) == 40);
};
