//! Functions that QEMU calls, on its main thread or a vCPU, with the big lock: pointers become references here, and panics end here.

#![expect(unsafe_code, reason = "called from C")]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

use super::{Device, TYPE};
use crate::options::{KEYS, Options};
use crate::qemu::layouts::{Errors, MEMTX_ERROR, MEMTX_OK, Notifier, Object};
use crate::qemu::pci::Realize;
use crate::qemu::state::Section;
use crate::qemu::{Handle, Qemu};
use crate::report::{guarded, say};

/// Options of devices that are not built yet, by the address of QEMU's object.
static PENDING: Mutex<Option<HashMap<usize, Options>>> = Mutex::new(None);
/// Function that realizes a plain device.
static PARENT: OnceLock<Option<Realize>> = OnceLock::new();

const TYPE_NAME: &CStr = c"vp-device";

/// Makes the type known to QEMU, once.
pub(crate) fn register(qemu: &Qemu) {
    static ONCE: Once = Once::new();
    debug_assert_eq!(TYPE_NAME.to_str(), Ok(TYPE));
    ONCE.call_once(|| qemu.register_type(TYPE_NAME, init, class_init));
}

/// Has the sessions end with QEMU.
pub(crate) fn watch_exit(qemu: &Qemu, plugin: u64) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| qemu.on_exit(plugin, exit));
}

/// Has the pools looked at when all is known that is loaded into the guest's memory.
pub(crate) fn watch_machine(qemu: &Qemu) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| qemu.on_machine_done(machine_done));
}

/// Makes the device's register window, of so many bytes.
pub(super) fn window(qemu: &Qemu, device: &'static Device, size: u64) -> Handle {
    // SAFETY: what the callbacks expect, and it lives for ever.
    unsafe { qemu.new_region(size, read, write, opaque(device)) }
}

/// Puts the device's register window into the machine. Only where QEMU has called with the big lock.
pub(super) fn map(qemu: &Qemu, device: &'static Device, address: u64) {
    let window = window(qemu, device, device.size);
    // SAFETY: a new region; the callers' callers hold the lock.
    unsafe { qemu.add_region(window, address) };
}

/// Has the device keep up with the guest's time, if that is the platform's.
pub(super) fn watch_clock(device: &'static Device) {
    if let Some(clock) = &device.clock {
        // SAFETY: what the callback expects, and it lives for ever.
        unsafe { clock.start_alarm(due, opaque(device)) };
    }
}

/// Has the device reset with the machine.
pub(super) fn watch_resets(qemu: &Qemu, device: &'static Device) {
    // SAFETY: as above.
    unsafe { qemu.on_reset(reset, opaque(device)) };
}

/// Has the device know when the machine stops, to be saved, and when it goes on.
pub(super) fn watch_machine_state(section: &'static Section, device: &'static Device) {
    // SAFETY: as above.
    unsafe { section.watch_machine(machine_state, opaque(device)) };
}

fn opaque(device: &'static Device) -> *mut c_void {
    std::ptr::from_ref(device).cast_mut().cast()
}

/// Takes the options of a device, which is built now.
pub(super) fn said_of(object: Object) -> Options {
    pending(|all| all.remove(&(object as usize))).unwrap_or_default()
}

fn pending<T>(body: impl FnOnce(&mut HashMap<usize, Options>) -> T) -> T {
    let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
    body(pending.get_or_insert_default())
}

pub(super) unsafe extern "C" fn init(object: Object) {
    // An object that was never realized may have been here.
    guarded("a new device", (), || pending(|all| drop(all.insert(object as usize, Options::default()))));
}

unsafe extern "C" fn class_init(class: Object, _data: *mut c_void) {
    guarded("the device type", (), || {
        let Some(qemu) = Qemu::get() else { return };
        // SAFETY: the class of a type whose parent is a device.
        unsafe {
            _ = PARENT.set(qemu.set_realize(class, realize));
            add_properties(qemu, class, |_| true);
        }
    });
}

/// Lets the user say these options of a device.
///
/// # Safety
/// `class` is of a type whose instances begin with [`init`].
pub(super) unsafe fn add_properties(qemu: &Qemu, class: Object, is_wanted: impl Fn(&str) -> bool) {
    type Setter = unsafe extern "C" fn(Object, *const c_char, Errors);
    let setters: [Setter; KEYS.len()] = [
        set::<0>, set::<1>, set::<2>, set::<3>, set::<4>, set::<5>, set::<6>, set::<7>, set::<8>, set::<9>,
        set::<10>, set::<11>,
    ];
    for (key, set) in KEYS.into_iter().zip(setters).filter(|(key, _)| is_wanted(key)) {
        // SAFETY: by the caller.
        unsafe { qemu.add_property(class, key, set) };
    }
}

unsafe extern "C" fn set<const KEY: usize>(object: Object, value: *const c_char, errors: Errors) {
    guarded("an option", (), || {
        // SAFETY: QEMU passes a C string.
        let value = unsafe { CStr::from_ptr(value) }.to_string_lossy();
        let result = pending(|all| all.entry(object as usize).or_default().set(KEYS[KEY], &value));
        if let (Err(error), Some(qemu)) = (result, Qemu::get()) {
            // SAFETY: the place that QEMU gave.
            unsafe { qemu.fail(errors, &error.to_string()) };
        }
    });
}

unsafe extern "C" fn realize(object: Object, errors: Errors) {
    let Some(qemu) = Qemu::get() else { return };
    let built = guarded("building the device", Err("the device cannot be built".to_owned()), || {
        let options = said_of(object);
        if let Some(Some(parent)) = PARENT.get() {
            // SAFETY: what would have been called without us.
            unsafe { parent(object, errors) };
        }
        Device::build(qemu, &options)?;
        // SAFETY: QEMU realizes a device of ours here, with the big lock.
        unsafe { qemu.block_unplug(object, "vp: its registers and its node stay as long as the machine") };
        Ok(())
    });
    if let Err(why) = built {
        // SAFETY: the place that QEMU gave.
        unsafe { qemu.fail(errors, &format!("vp: {why}")) };
    }
}

unsafe extern "C" fn read(
    device: *mut c_void,
    offset: u64,
    value: *mut u64,
    bytes: u32,
    _attributes: u64,
) -> u32 {
    guarded("a register read", MEMTX_ERROR, || {
        // SAFETY: the device that the window was mapped with.
        let device = unsafe { &*device.cast::<Device>() };
        let Some(result) = Qemu::get().map(|qemu| device.read(qemu, offset, bytes)) else {
            return MEMTX_ERROR;
        };
        // SAFETY: QEMU's place for the value. A CPU that takes no notice of the error finds all ones, as on an empty bus.
        unsafe { value.write(result.unwrap_or(u64::MAX)) };
        result.map_or(MEMTX_ERROR, |_| MEMTX_OK)
    })
}

unsafe extern "C" fn write(
    device: *mut c_void,
    offset: u64,
    value: u64,
    bytes: u32,
    _attributes: u64,
) -> u32 {
    guarded("a register write", MEMTX_ERROR, || {
        // SAFETY: the device that the window was mapped with.
        let device = unsafe { &*device.cast::<Device>() };
        let result = Qemu::get().map(|qemu| device.write(qemu, offset, bytes, value));
        if result == Some(Ok(())) { MEMTX_OK } else { MEMTX_ERROR }
    })
}

unsafe extern "C" fn due(device: *mut c_void) {
    guarded("the platform's time", (), || {
        // SAFETY: the device whose alarm it is.
        let device = unsafe { &*device.cast::<Device>() };
        if let Some(clock) = &device.clock {
            device.keep_up(clock);
        }
    });
}

unsafe extern "C" fn reset(device: *mut c_void) {
    guarded("a reset", (), || {
        // SAFETY: the device that watches resets.
        unsafe { &*device.cast::<Device>() }.reset();
    });
}

unsafe extern "C" fn machine_state(device: *mut c_void, is_running: bool, state: c_int) {
    guarded("the machine's state", (), || {
        // SAFETY: the device that watches the machine.
        let device = unsafe { &*device.cast::<Device>() };
        let (Some(qemu), Some(section)) = (Qemu::get(), device.state.section()) else { return };
        let saving = section.saving();
        match is_running {
            true => device.goes_on(),
            false => device.stops(qemu, saving, &saving.state(state)),
        }
    });
}

unsafe extern "C" fn machine_done(_notifier: *mut Notifier, _data: *mut c_void) {
    let checked = guarded("the machine's start", Ok(()), || Qemu::get().map_or(Ok(()), super::check_pools));
    if let Err(why) = checked {
        say(why);
        // As QEMU does itself when it finds here that something does not fit.
        std::process::exit(1);
    }
}

unsafe extern "C" fn exit(_plugin: u64, _data: *mut c_void) {
    guarded("the end", (), super::close_all);
}
