//! QEMU as the rest of the plugin sees it: calls that keep its rules, named after what they are for.
//!
//! The rules: the *big lock* is held in whatever QEMU calls on its main thread or a vCPU, and is needed to move an
//! interrupt line or to change the machine; RAM is accessed without it, by threads that QEMU knows.

#![expect(unsafe_code, reason = "calls into QEMU")]

pub(crate) mod board;
mod functions;
pub(crate) mod layouts;
mod migration;
pub(crate) mod pci;
mod shared;
pub(crate) mod state;
pub(crate) mod symbols;
mod template;
pub(crate) mod time;
mod unseen;

use std::ffi::{CStr, CString, c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;

use functions::functions;
use layouts::{
    Errors, LITTLE_ENDIAN, MEMTX_OK, MemoryRegionOps, MemoryRegionSection, Object, RegionStorage, TypeInfo,
};
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::getpid;
use symbols::Symbols;

/// End of the addresses at which guest memory can lie: the physical addresses of the widest CPU.
const END_OF_ADDRESSES: u64 = 1 << 52;
/// The first four bytes of a flattened device tree.
const FDT_MAGIC: [u8; 4] = [0xd0, 0x0d, 0xfe, 0xed];
/// Bytes of `MachineState` among which is the pointer to the device tree.
const MACHINE_HEAD: usize = 256;

/// The functions of the QEMU that has loaded us.
pub(crate) struct Qemu {
    symbols: Symbols,
}

/// An object of QEMU's that lives as long as the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handle(Object);

// SAFETY: an address; what may be done with it on which thread is for the methods of `Qemu` to keep.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// Function that QEMU calls for an access to a register window: the window's address as it was registered, and the access.
pub(crate) type ReadCallback = unsafe extern "C" fn(*mut c_void, u64, *mut u64, u32, u64) -> u32;
/// As above.
pub(crate) type WriteCallback = unsafe extern "C" fn(*mut c_void, u64, u64, u32, u64) -> u32;

static QEMU: OnceLock<Qemu> = OnceLock::new();

/// A C string; what is behind a NUL is left out.
fn c(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

impl Qemu {
    /// Looks QEMU's functions up, once.
    ///
    /// # Errors
    /// The names of those that this QEMU does not show.
    pub(crate) fn load() -> Result<&'static Self, Vec<&'static str>> {
        if let Some(qemu) = QEMU.get() {
            return Ok(qemu);
        }
        let symbols = Symbols::look_up()?;
        Ok(QEMU.get_or_init(|| Self { symbols }))
    }

    /// The QEMU that was loaded.
    pub(crate) fn get() -> Option<&'static Self> {
        QEMU.get()
    }

    /// Runs `body` without the big lock, if this thread has it, so that the rest of the machine goes on meanwhile.
    pub(crate) fn without_big_lock<T>(&self, body: impl FnOnce() -> T) -> T {
        // SAFETY: asks about this thread only.
        if !unsafe { (self.symbols.bql_locked)() } {
            return body();
        }
        // SAFETY: this thread has the lock, and takes it again before anybody notices.
        let unlock = || unsafe { (self.symbols.bql_unlock)() };
        // SAFETY: this thread does not have the lock; the place is for QEMU's own diagnostics.
        let lock = || unsafe { (self.symbols.bql_lock_impl)(c"vp".as_ptr(), 0) };
        between(unlock, lock, body)
    }

    /// Runs `body` with the big lock. Whoever has it while it waits for a platform gives it up meanwhile.
    fn with_big_lock<T>(&self, body: impl FnOnce() -> T) -> T {
        // SAFETY: asks about this thread only.
        if unsafe { (self.symbols.bql_locked)() } {
            return body();
        }
        // SAFETY: this thread does not have the lock; the place is for QEMU's own diagnostics.
        let lock = || unsafe { (self.symbols.bql_lock_impl)(c"vp".as_ptr(), 0) };
        // SAFETY: locked above.
        let unlock = || unsafe { (self.symbols.bql_unlock)() };
        between(lock, unlock, body)
    }

    /// Runs the work of a thread that accesses guest memory.
    pub(crate) fn as_thread(&self, work: &mut dyn FnMut()) {
        // SAFETY: a thread that is not registered yet, and leaves before it ends.
        let register = || unsafe { (self.symbols.rcu_register_thread)() };
        // SAFETY: registered above.
        let unregister = || unsafe { (self.symbols.rcu_unregister_thread)() };
        between(register, unregister, work);
    }

    /// Has QEMU's main thread call `callback`, with the big lock, soon. From any thread.
    ///
    /// # Safety
    /// `opaque` must be what `callback` expects, for as long as the program runs.
    pub(crate) unsafe fn schedule(&self, callback: unsafe extern "C" fn(*mut c_void), opaque: *mut c_void) {
        // SAFETY: the main thread's context lives as long as the program, and takes calls from any thread.
        unsafe {
            let context = (self.symbols.qemu_get_aio_context)();
            (self.symbols.aio_bh_schedule_oneshot_full)(context, callback, opaque, c"vp".as_ptr());
        }
    }

    /// Has QEMU call `callback`, with the big lock, whenever the machine is reset.
    ///
    /// # Safety
    /// As for [`schedule`](Self::schedule).
    pub(crate) unsafe fn on_reset(&self, callback: unsafe extern "C" fn(*mut c_void), opaque: *mut c_void) {
        // SAFETY: on the main thread while the machine is built.
        unsafe { (self.symbols.qemu_register_reset)(callback, opaque) };
    }

    /// Has QEMU call `callback` before it ends. `plugin` is the number by which QEMU knows us.
    pub(crate) fn on_exit(&self, plugin: u64, callback: unsafe extern "C" fn(u64, *mut c_void)) {
        // SAFETY: the plugin interface's own function; the callback takes nothing.
        unsafe { (self.symbols.qemu_plugin_register_atexit_cb)(plugin, callback, std::ptr::null_mut()) };
    }

    /// Registers a type of device, named `name`, with these string properties.
    pub(crate) fn register_type(
        &self,
        name: &'static CStr,
        init: unsafe extern "C" fn(Object),
        class_init: unsafe extern "C" fn(Object, *mut c_void),
    ) {
        let info = TypeInfo::inherited(name, init, class_init);
        // SAFETY: a whole `TypeInfo`, kept for ever.
        unsafe { (self.symbols.type_register_static)(Box::leak(Box::new(info))) };
    }

    /// In a type's `class_init`: what realizes an instance. Gives the parent's.
    ///
    /// # Safety
    /// `class` is that of a device.
    pub(crate) unsafe fn set_realize(
        &self,
        class: Object,
        realize: unsafe extern "C" fn(Object, Errors),
    ) -> Option<unsafe extern "C" fn(Object, Errors)> {
        let mut parent = None;
        // SAFETY: by the caller.
        unsafe { (self.symbols.device_class_set_parent_realize)(class, realize, &raw mut parent) };
        parent
    }

    /// In a type's `class_init`: a property that takes text.
    ///
    /// # Safety
    /// `class` is a class.
    pub(crate) unsafe fn add_property(
        &self,
        class: Object,
        name: &str,
        set: unsafe extern "C" fn(Object, *const std::ffi::c_char, Errors),
    ) {
        // SAFETY: by the caller; the name is copied.
        unsafe { (self.symbols.object_class_property_add_str)(class, c(name).as_ptr(), None, Some(set)) };
    }

    /// Tells QEMU, in a callback with an `Error **`, that it failed.
    ///
    /// # Safety
    /// `errors` is the callback's.
    pub(crate) unsafe fn fail(&self, errors: Errors, why: &str) {
        // SAFETY: a format with one string.
        unsafe {
            let set = self.symbols.error_setg_internal;
            set(errors, c"vp".as_ptr(), 0, c"vp".as_ptr(), c"%s".as_ptr(), c(why).as_ptr());
        }
    }

    /// Passes an error of QEMU's own on to who called us.
    ///
    /// # Safety
    /// `errors` is the callback's, and `error` what QEMU has put into a place of ours.
    pub(crate) unsafe fn pass_on(&self, errors: Errors, error: Object) {
        // SAFETY: by the caller.
        unsafe { (self.symbols.error_propagate)(errors, error) };
    }

    /// Adds a `-device`, as if the user had given it.
    pub(crate) fn add_device(&self, text: &str) -> bool {
        // SAFETY: while options are still taken; both texts are copied.
        unsafe {
            let list = (self.symbols.qemu_find_opts)(c"device".as_ptr());
            !list.is_null() && !(self.symbols.qemu_opts_parse_noisily)(list, c(text).as_ptr(), true).is_null()
        }
    }

    /// The machine, if there is one and it is of this type or of one that inherits from it.
    pub(crate) fn machine(&self, kind: &str) -> Option<Handle> {
        // SAFETY: the variable lives as long as the program; the machine, once there, as well.
        let machine = unsafe { *self.symbols.current_machine };
        if machine.is_null() {
            return None;
        }
        // SAFETY: an object.
        let cast = unsafe { (self.symbols.object_dynamic_cast)(machine, c(kind).as_ptr()) };
        (!cast.is_null()).then_some(Handle(cast))
    }

    /// A text property, if it is set and not empty.
    pub(crate) fn text(&self, object: Handle, property: &str) -> Option<String> {
        // SAFETY: an object; without a place for errors a missing property gives null. The text is a `g_malloc`ed one, and
        // this is asked a few times.
        let text = unsafe {
            let none = std::ptr::null_mut();
            board::text((self.symbols.object_property_get_str)(object.0, c(property).as_ptr(), none))
        };
        text.filter(|text| !text.is_empty())
    }

    /// Returns true if the machine has a PCI bus.
    pub(crate) fn has_pci(&self) -> bool {
        let mut is_ambiguous = false;
        // SAFETY: an empty path means anywhere. Of several none comes, and that there are.
        let bus = unsafe {
            (self.symbols.object_resolve_path_type)(c"".as_ptr(), c"PCI".as_ptr(), &raw mut is_ambiguous)
        };
        !bus.is_null() || is_ambiguous
    }

    /// Makes a device at once, as `-device` would, on the main thread with the big lock.
    ///
    /// # Errors
    /// What is missing, for people. QEMU's own error is at `errors`, and gives `false`.
    ///
    /// # Safety
    /// `errors` is the place of a callback that may fail.
    pub(crate) unsafe fn make_device(&self, text: &str, errors: Errors) -> Result<bool, String> {
        let functions =
            DeviceFunctions::look_up().map_err(|name| format!("this QEMU does not show {name}"))?;
        // SAFETY: the text is copied. On success the options are the device's, and of an error QEMU ends.
        unsafe {
            let list = (self.symbols.qemu_find_opts)(c"device".as_ptr());
            let options = (self.symbols.qemu_opts_parse_noisily)(list, c(text).as_ptr(), true);
            if options.is_null() {
                return Err(format!("QEMU does not take -device {text}"));
            }
            Ok(!(functions.qdev_device_add)(options, errors).is_null())
        }
    }

    /// The machine's interrupt controller, and how many shared peripheral interrupts it has.
    pub(crate) fn interrupt_controller(&self) -> Option<(Handle, u64)> {
        ["arm-gicv3-common", "arm_gic_common"].into_iter().find_map(|kind| {
            let mut ambiguous = false;
            // SAFETY: an empty path means anywhere.
            let object = unsafe {
                (self.symbols.object_resolve_path_type)(c"".as_ptr(), c(kind).as_ptr(), &raw mut ambiguous)
            };
            if object.is_null() {
                return None;
            }
            // SAFETY: an object; without the property 0 comes.
            let lines = unsafe {
                (self.symbols.object_property_get_uint)(object, c"num-irq".as_ptr(), std::ptr::null_mut())
            };
            // The first 32 are each CPU's own.
            Some((Handle(object), lines.saturating_sub(32)))
        })
    }

    /// An input of a device. `number` must be one that it has.
    pub(crate) fn input(&self, device: Handle, number: u32) -> Option<Handle> {
        let number = c_int::try_from(number).ok()?;
        // SAFETY: a device, and a number that it has.
        let line = unsafe { (self.symbols.qdev_get_gpio_in)(device.0, number) };
        (!line.is_null()).then_some(Handle(line))
    }

    /// Moves an interrupt line.
    ///
    /// # Safety
    /// `line` is an interrupt line, and this thread holds the big lock.
    pub(crate) unsafe fn set_line(&self, line: Handle, level: bool) {
        // SAFETY: by the caller.
        unsafe { (self.symbols.qemu_set_irq)(line.0, c_int::from(level)) };
    }

    /// Makes a register window, which is in no place yet. Accesses are of 4 bytes, aligned.
    ///
    /// # Safety
    /// `opaque` must be what the callbacks expect, for as long as the program runs.
    pub(crate) unsafe fn new_region(
        &self,
        size: u64,
        read: ReadCallback,
        write: WriteCallback,
        opaque: *mut c_void,
    ) -> Handle {
        use layouts::{ImplementedAccesses, ValidAccesses};
        let operations = MemoryRegionOps {
            read: None,
            write: None,
            read_with_attrs: Some(read),
            write_with_attrs: Some(write),
            endianness: LITTLE_ENDIAN,
            valid: ValidAccesses { min: 4, max: 4, unaligned: false, accepts: None },
            implemented: ImplementedAccesses { min: 4, max: 4, unaligned: false },
        };
        let operations = Box::leak(Box::new(operations));
        let region: Object = std::ptr::from_mut(Box::leak(Box::new(RegionStorage([0; 4096])))).cast();
        // SAFETY: storage that is large enough and stays. It has no owner: with a device for one, QEMU would turn away a
        // second vCPU while the first waits.
        unsafe {
            let owner = std::ptr::null_mut();
            let name = c"vp-registers".as_ptr();
            (self.symbols.memory_region_init_io)(region, owner, operations, opaque, name, size);
        }
        Handle(region)
    }

    /// Puts a region at a guest-physical address, before whatever else is there.
    ///
    /// # Safety
    /// The big lock is held, and the region is in no place.
    pub(crate) unsafe fn add_region(&self, region: Handle, address: u64) {
        // SAFETY: by the caller.
        unsafe {
            let system = (self.symbols.get_system_memory)();
            (self.symbols.memory_region_add_subregion_overlap)(system, address, region.0, 1);
        }
    }

    /// Reads as a bus master, through an IOMMU's addresses or memory's own. `false`: the bus answered with an error.
    pub(crate) fn read(&self, space: Option<Handle>, address: u64, into: &mut [u8]) -> bool {
        // SAFETY: as many bytes as are there.
        unsafe { self.access(space, address, into.as_mut_ptr().cast(), into.len(), false) }
    }

    /// Writes as a bus master, as [`Qemu::read`] reads. `false`: the bus answered with an error.
    pub(crate) fn write(&self, space: Option<Handle>, address: u64, bytes: &[u8]) -> bool {
        // SAFETY: as many bytes as are there; a write only reads them.
        unsafe { self.access(space, address, bytes.as_ptr().cast_mut().cast(), bytes.len(), true) }
    }

    /// Accesses bytes as a bus master.
    ///
    /// # Safety
    /// `data` has `length` bytes, which may be written unless the access is a write.
    unsafe fn access(
        &self,
        space: Option<Handle>,
        address: u64,
        data: *mut c_void,
        length: usize,
        is_write: bool,
    ) -> bool {
        let access = self.symbols.address_space_rw;
        match space {
            None => {
                let memory = self.symbols.address_space_memory;
                // SAFETY: by the caller.
                MEMTX_OK == unsafe { access(memory, address, 0, data, length as u64, is_write) }
            }
            // An IOMMU that refuses something interrupts a processor.
            Some(Handle(space)) => self.with_big_lock(|| {
                // SAFETY: by the caller.
                MEMTX_OK == unsafe { access(space, address, 0, data, length as u64, is_write) }
            }),
        }
    }

    /// Calls a function for each block of RAM, with its region and the address in this process at which the region begins.
    fn each_block<F: FnMut(Object, Object, u64)>(&self, each: F) {
        unsafe extern "C" fn note<F: FnMut(Object, Object, u64)>(block: Object, seen: *mut c_void) -> c_int {
            // SAFETY: the pointer passed on below, which nobody else uses meanwhile; the block is QEMU's.
            unsafe {
                let (qemu, each) = &mut *seen.cast::<(&Qemu, F)>();
                let host = (qemu.symbols.qemu_ram_get_host_addr)(block);
                if !host.is_null() {
                    let mut offset = 0;
                    let region = (qemu.symbols.memory_region_from_host)(host, &raw mut offset);
                    each(block, region, (host as u64).wrapping_sub(offset));
                }
            }
            0
        }
        let mut seen = (self, each);
        // SAFETY: the callback's own type.
        unsafe { (self.symbols.qemu_ram_foreach_block)(note::<F>, (&raw mut seen).cast()) };
    }

    /// The guest-physical addresses that are RAM, by rising address.
    ///
    /// QEMU's own list of RAM is compared with what lies at each address: reading to find out would touch devices.
    pub(crate) fn ram(&self) -> Vec<Range<u64>> {
        let mut regions = Vec::new();
        self.each_block(|_, region, _| regions.push(region));
        let mut found: Vec<Range<u64>> = Vec::new();
        let mut from = 0;
        while let Some(section) = self.section(from, END_OF_ADDRESSES - from) {
            let start = section.offset_within_address_space;
            let size = u64::try_from(section.size).unwrap_or(END_OF_ADDRESSES);
            let end = start.saturating_add(size).min(END_OF_ADDRESSES);
            if !section.readonly && regions.contains(&section.region) {
                match found.last_mut().filter(|last| last.end == start) {
                    Some(last) => last.end = end,
                    None => found.push(start..end),
                }
            }
            if end <= from || end >= END_OF_ADDRESSES {
                break;
            }
            from = end;
        }
        found
    }

    /// The first thing in a range of guest-physical addresses.
    fn section(&self, address: u64, size: u64) -> Option<MemoryRegionSection> {
        // SAFETY: the system's memory; the reference that comes with the section is given back, since what is compared
        // is only its address.
        unsafe {
            let section =
                (self.symbols.memory_region_find)((self.symbols.get_system_memory)(), address, size);
            if section.region.is_null() {
                return None;
            }
            (self.symbols.memory_region_unref)(section.region);
            Some(section)
        }
    }

    /// The machine's device tree, which the guest will get. Where the pointer lies in `MachineState` is not relied on: it
    /// is the one that leads to a device tree.
    pub(crate) fn device_tree(&self, machine: Handle) -> Option<Handle> {
        (0..MACHINE_HEAD).step_by(size_of::<usize>()).find_map(|offset| {
            let pointer = usize::from_ne_bytes(own_memory(machine.0 as usize + offset)?);
            let is_tree = pointer.is_multiple_of(8) && own_memory::<4>(pointer)? == FDT_MAGIC;
            is_tree.then_some(Handle(pointer as Object))
        })
    }

    /// Returns true if a device tree has a node.
    pub(crate) fn has_node(&self, tree: Handle, path: &str) -> bool {
        let (_, name) = path.rsplit_once('/').unwrap_or(("", path));
        // SAFETY: a device tree; the name is copied. What comes is a list of texts that ends with a null pointer, or none,
        // and is left to itself: few nodes are asked for.
        unsafe {
            let mut paths =
                (self.symbols.qemu_fdt_node_unit_path)(tree.0, c(name).as_ptr(), std::ptr::null_mut());
            while !paths.is_null() && !(*paths).is_null() {
                if CStr::from_ptr(*paths).to_bytes() == path.as_bytes() {
                    return true;
                }
                paths = paths.add(1);
            }
        }
        false
    }

    /// Adds a node to a device tree. `false`: it is there already, or has no parent. QEMU itself would end then.
    pub(crate) fn add_node(&self, tree: Handle, path: &str) -> bool {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        if self.has_node(tree, path) || !(parent.is_empty() || self.has_node(tree, parent)) {
            return false;
        }
        // SAFETY: a device tree; the path is copied.
        unsafe { (self.symbols.qemu_fdt_add_subnode)(tree.0, c(path).as_ptr()) >= 0 }
    }

    /// Sets a node's property to these bytes.
    pub(crate) fn set_property(&self, tree: Handle, path: &str, name: &str, bytes: &[u8]) {
        let length = c_int::try_from(bytes.len()).unwrap_or(0);
        // SAFETY: a device tree and a node of it; everything is copied.
        unsafe {
            let value = bytes.as_ptr().cast();
            (self.symbols.qemu_fdt_setprop)(tree.0, c(path).as_ptr(), c(name).as_ptr(), value, length);
        }
    }

    /// Sets a node's property to a number.
    pub(crate) fn set_cell(&self, tree: Handle, path: &str, name: &str, value: u32) {
        // SAFETY: as above.
        unsafe { (self.symbols.qemu_fdt_setprop_cell)(tree.0, c(path).as_ptr(), c(name).as_ptr(), value) };
    }

    /// A number by which nodes can refer to one.
    pub(crate) fn new_phandle(&self, tree: Handle) -> u32 {
        // SAFETY: a device tree.
        unsafe { (self.symbols.qemu_fdt_alloc_phandle)(tree.0) }
    }
}

functions! {
    /// Functions that making a device needs.
    DeviceFunctions {
        /// monitor/qdev.h
        fn qdev_device_add(Object, Errors) -> Object;
    }
}

/// Runs `before`, `body` and `after`: the last one after a panic too. The caller ends the panic, and QEMU goes on.
fn between<T>(before: impl FnOnce(), after: impl Fn(), body: impl FnOnce() -> T) -> T {
    struct After<F: Fn()>(F);
    impl<F: Fn()> Drop for After<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    before();
    let _after = After(after);
    body()
}

/// Bytes of this process at an address that may be anything: not there gives none, instead of a fault.
fn own_memory<const N: usize>(address: usize) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let remote = [RemoteIoVec { base: address, len: N }];
    let read = process_vm_readv(getpid(), &mut [std::io::IoSliceMut::new(&mut bytes)], &remote).ok()?;
    (read == N).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_nothing_is_no_fault() {
        let here = 0x1234_5678_u32;
        assert_eq!(own_memory(&raw const here as usize), Some(here.to_ne_bytes()));
        assert_eq!(own_memory::<4>(8), None);
    }

    #[test]
    fn a_lock_that_is_given_up_for_a_while_is_taken_again_after_a_panic_too() {
        let locked = std::cell::Cell::new(true);
        let without_lock = |body: &dyn Fn()| between(|| locked.set(false), || locked.set(true), body);
        without_lock(&|| assert!(!locked.get()));
        assert!(locked.get());
        crate::report::guarded("a test", (), || without_lock(&|| panic!("expected in this test")));
        assert!(locked.get());
    }

    #[test]
    fn a_program_that_is_no_qemu_lacks_the_functions() {
        let missing = Qemu::load().err().unwrap();
        assert!(missing.contains(&"memory_region_init_io") && missing.contains(&"current_machine"));
    }
}
