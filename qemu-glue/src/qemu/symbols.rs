//! QEMU's functions and variables, looked up by name in the program that has loaded us.
//!
//! The declarations are this file's own, after the sources of QEMU 7.2 and 10.2; that a symbol of the name is there does
//! not prove its signature, so the device tests itself before the guest runs.

#![expect(unsafe_code, reason = "addresses become functions")]

use std::ffi::{CStr, c_char, c_int, c_void};

use super::layouts::{Errors, MemoryRegionOps, MemoryRegionSection, Notifier, Object, TypeInfo, VersionInfo};

macro_rules! symbols {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ty),* $(,)?) $(-> $result:ty)? $(, once $older:literal)?;)*) => {
        /// The functions that are always needed.
        pub(crate) struct Symbols {
            $($(#[$doc])* pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// `error_setg_internal` of qapi/error.h.
            pub(crate) error_setg_internal:
                unsafe extern "C" fn(Errors, *const c_char, c_int, *const c_char, *const c_char, ...),
            /// The running machine: a pointer to the variable.
            pub(crate) current_machine: *const Object,
            /// `address_space_memory`: what bus masters see.
            pub(crate) address_space_memory: Object,
        }

        impl Symbols {
            /// Looks everything up.
            ///
            /// # Errors
            /// The names that are missing.
            pub(crate) fn look_up() -> Result<Self, Vec<&'static str>> {
                let mut missing = Vec::new();
                let mut find = |names: &[&'static str]| {
                    let found = names.iter().map(|name| find(name)).find(|place| !place.is_null());
                    found.unwrap_or_else(|| {
                        missing.push(names[0]);
                        std::ptr::null_mut()
                    })
                };
                $(let $name = find(&[stringify!($name) $(, $older)?]);)*
                let error_setg_internal = find(&["error_setg_internal"]);
                let current_machine = find(&["current_machine"]);
                let address_space_memory = find(&["address_space_memory"]);
                if !missing.is_empty() {
                    return Err(missing);
                }
                // SAFETY: none is null, and each is the address of the function or variable of that name, whose type in
                // QEMU is the field's.
                unsafe {
                    Ok(Self {
                        $($name: std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C" fn($($argument),*) $(-> $result)?,
                        >($name),)*
                        error_setg_internal: std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C" fn(Errors, *const c_char, c_int, *const c_char, *const c_char, ...),
                        >(error_setg_internal),
                        current_machine: current_machine.cast(),
                        address_space_memory,
                    })
                }
            }
        }
    };
}

symbols! {
    /// exec/memory.h
    fn memory_region_init_io(Object, Object, *const MemoryRegionOps, *mut c_void, *const c_char, u64);
    /// exec/memory.h
    fn memory_region_add_subregion_overlap(Object, u64, Object, c_int);
    /// exec/memory.h
    fn memory_region_find(Object, u64, u64) -> MemoryRegionSection;
    /// exec/memory.h
    fn memory_region_unref(Object);
    /// exec/memory.h
    fn memory_region_owner(Object) -> Object;
    /// exec/memory.h
    fn memory_region_name(Object) -> *const c_char;
    /// exec/memory.h
    fn memory_region_from_host(*mut c_void, *mut u64) -> Object;
    /// exec/address-spaces.h
    fn get_system_memory() -> Object;
    /// exec/cpu-common.h
    fn qemu_ram_foreach_block(unsafe extern "C" fn(Object, *mut c_void) -> c_int, *mut c_void) -> c_int;
    /// exec/cpu-common.h
    fn qemu_ram_get_host_addr(Object) -> *mut c_void;
    /// exec/memory.h. The attributes come in one register, whatever their size.
    fn address_space_rw(Object, u64, u64, *mut c_void, u64, bool) -> u32;
    /// qom/object.h
    fn type_register_static(*const TypeInfo) -> Object;
    /// qom/object.h
    fn object_class_property_add_str(
        Object,
        *const c_char,
        Option<unsafe extern "C" fn(Object, Errors) -> *mut c_char>,
        Option<unsafe extern "C" fn(Object, *const c_char, Errors)>,
    ) -> Object;
    /// qom/object.h
    fn object_resolve_path_type(*const c_char, *const c_char, *mut bool) -> Object;
    /// qom/object.h
    fn object_dynamic_cast(Object, *const c_char) -> Object;
    /// qom/object.h
    fn object_property_get_uint(Object, *const c_char, Errors) -> u64;
    /// qom/object.h
    fn object_property_get_str(Object, *const c_char, Errors) -> *mut c_char;
    /// qom/object.h
    fn object_property_get_link(Object, *const c_char, Errors) -> Object;
    /// qom/object.h
    fn object_property_find(Object, *const c_char) -> Object;
    /// qom/object.h
    fn object_get_typename(Object) -> *const c_char;
    /// qom/object.h
    fn object_get_root() -> Object;
    /// qom/object.h
    fn object_child_foreach_recursive(
        Object,
        unsafe extern "C" fn(Object, *mut c_void) -> c_int,
        *mut c_void,
    ) -> c_int;
    /// qom/object.h
    fn object_class_by_name(*const c_char) -> Object;
    /// qom/object.h
    fn object_class_property_find(Object, *const c_char) -> Object;
    /// hw/loader.h: `x-query-roms`, a structure whose one member is a text.
    fn qmp_x_query_roms(Errors) -> *const *const c_char;
    /// hw/loader.h
    fn rom_ptr(u64, usize) -> *const u8;
    /// sysemu/sysemu.h
    fn qemu_add_machine_init_done_notifier(*mut Notifier);
    /// hw/qdev-core.h
    fn device_class_set_parent_realize(
        Object,
        unsafe extern "C" fn(Object, Errors),
        *mut Option<unsafe extern "C" fn(Object, Errors)>,
    );
    /// hw/qdev-core.h
    fn qdev_get_gpio_in(Object, c_int) -> Object;
    /// qemu/qemu-plugin.h
    fn qemu_plugin_register_atexit_cb(u64, unsafe extern "C" fn(u64, *mut c_void), *mut c_void);
    /// hw/irq.h
    fn qemu_set_irq(Object, c_int);
    /// qapi/error.h
    fn error_propagate(Errors, Object);
    /// qemu/config-file.h
    fn qemu_find_opts(*const c_char) -> Object;
    /// qemu/option.h
    fn qemu_opts_parse_noisily(Object, *const c_char, bool) -> Object;
    /// qemu/option.h
    fn qemu_opt_get(Object, *const c_char) -> *const c_char;
    /// qemu/option.h
    fn qemu_opts_foreach(
        Object,
        unsafe extern "C" fn(*mut c_void, Object, Errors) -> c_int,
        *mut c_void,
        Errors,
    ) -> c_int;
    /// qemu/option.h
    fn qemu_opt_foreach(
        Object,
        unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, Errors) -> c_int,
        *mut c_void,
        Errors,
    ) -> c_int;
    /// sysemu/device_tree.h
    fn qemu_fdt_node_unit_path(Object, *const c_char, Errors) -> *const *const c_char;
    /// sysemu/device_tree.h
    fn qemu_fdt_add_subnode(Object, *const c_char) -> c_int;
    /// sysemu/device_tree.h
    fn qemu_fdt_setprop(Object, *const c_char, *const c_char, *const c_void, c_int) -> c_int;
    /// sysemu/device_tree.h
    fn qemu_fdt_setprop_cell(Object, *const c_char, *const c_char, u32) -> c_int;
    /// sysemu/device_tree.h
    fn qemu_fdt_alloc_phandle(Object) -> u32;
    /// qemu/main-loop.h
    fn qemu_get_aio_context() -> Object;
    /// block/aio.h
    fn aio_bh_schedule_oneshot_full(Object, unsafe extern "C" fn(*mut c_void), *mut c_void, *const c_char);
    /// qemu/rcu.h
    fn rcu_register_thread();
    /// qemu/rcu.h
    fn rcu_unregister_thread();
    /// sysemu/reset.h
    fn qemu_register_reset(unsafe extern "C" fn(*mut c_void), *mut c_void);
    /// qemu/main-loop.h: the big lock, until 8.2 under its older name.
    fn bql_lock_impl(*const c_char, c_int), once "qemu_mutex_lock_iothread_impl";
    /// qemu/main-loop.h
    fn bql_unlock(), once "qemu_mutex_unlock_iothread";
    /// qemu/main-loop.h
    fn bql_locked() -> bool, once "qemu_mutex_iothread_locked";
}

// SAFETY: functions, and addresses of variables that live as long as the program.
unsafe impl Send for Symbols {}
// SAFETY: as above; who calls a function keeps its rules about locks.
unsafe impl Sync for Symbols {}

/// The address of a symbol of the program, or null.
pub(super) fn find(name: &str) -> *mut c_void {
    let Ok(name) = std::ffi::CString::new(name) else { return std::ptr::null_mut() };
    // SAFETY: the name is a C string; looking up changes nothing.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Returns true if the program has a symbol of that name.
pub(crate) fn has(name: &str) -> bool {
    !find(name).is_null()
}

/// Returns true if guest time counts instructions (`-icount`), as far as this QEMU says.
pub(crate) fn counts_instructions() -> bool {
    let mode = find("use_icount").cast::<c_int>();
    // SAFETY: a variable of that type, in all versions; it is set before anything is loaded.
    !mode.is_null() && unsafe { *mode } != 0
}

/// QEMU's version, if it can be asked.
pub(crate) fn version() -> Option<([i64; 3], String)> {
    let query = find("qmp_query_version");
    if query.is_null() {
        return None;
    }
    // SAFETY: `qmp_query_version(Error **)` of qapi-commands-misc.h allocates a `VersionInfo` that is ours; it is small
    // and asked for twice in a program's life, so it is left.
    unsafe {
        let query =
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Errors) -> *const VersionInfo>(query);
        let info = query(std::ptr::null_mut()).as_ref()?;
        let package = match info.package.is_null() {
            true => String::new(),
            false => CStr::from_ptr(info.package).to_string_lossy().into_owned(),
        };
        Some((*info.triple.as_ref()?, package))
    }
}
