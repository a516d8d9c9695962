//! The device that `-plugin` itself is told of. Only once the board is built it is known what it can be: a node where the machine has a
//! place for one, else a PCI function. So at first there is a device that is nothing but this choice.

#![expect(unsafe_code, reason = "called from C")]

use std::ffi::{CStr, c_void};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

use super::{FUNCTION, Lacking, NodeMachine, TYPE, function};
use crate::options::device_text;
use crate::qemu::Qemu;
use crate::qemu::layouts::{Errors, Object};
use crate::report::{guarded, say};

const TYPE_NAME: &CStr = c"vp-automatic";

/// The options of devices that are not built yet, in their order.
static WANTED: Mutex<Vec<Vec<(String, String)>>> = Mutex::new(Vec::new());

/// The processor of the machine.
static TARGET: OnceLock<String> = OnceLock::new();

/// Notes for which processor the machine is, in QEMU's word.
pub(crate) fn set_target(target: &str) {
    _ = TARGET.set(target.to_owned());
}

/// Has QEMU build a device with these options when the board is there. `false`: it does not take it.
pub(crate) fn add_automatic(qemu: &Qemu, options: Vec<(String, String)>) -> bool {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| qemu.register_type(TYPE_NAME, init, class_init));
    WANTED.lock().unwrap_or_else(PoisonError::into_inner).push(options);
    qemu.add_device(&TYPE_NAME.to_string_lossy())
}

/// The type that the machine has a place for.
fn kind(qemu: &Qemu) -> Result<&'static str, String> {
    match NodeMachine::find(qemu) {
        Ok(_) => Ok(TYPE),
        Err(lacking) if !qemu.has_pci() => Err(refusal(lacking)),
        // A PC has no device tree that a driver would look into.
        Err(_) if is_pc() => Ok(FUNCTION),
        Err(lacking) => {
            say(format_args!("{lacking}, but PCI: the device is a PCI function, as with -device {FUNCTION}"));
            Ok(FUNCTION)
        }
    }
}

/// Message for a machine that has no PCI either: the machines that fit.
pub(super) fn refusal(lacking: Lacking) -> String {
    let other = match TARGET.get().map_or("", String::as_str) {
        // QEMU, docs/system/i386/microvm.rst: it has PCI only if asked for it.
        _ if is_pc() => "-M q35, or -M microvm,pcie=on",
        "aarch64" | "arm" | "riscv32" | "riscv64" | "loongarch64" if lacking == Lacking::Place => "-M virt",
        _ => "a machine with PCI",
    };
    format!("{lacking}: take {other}")
}

fn is_pc() -> bool {
    TARGET.get().is_some_and(|target| target == "x86_64" || target == "i386")
}

/// Text of the options as `-device` takes them.
fn device(qemu: &Qemu) -> Result<String, String> {
    let mut wanted = WANTED.lock().unwrap_or_else(PoisonError::into_inner);
    let options = if wanted.is_empty() { Vec::new() } else { wanted.remove(0) };
    let kind = kind(qemu)?;
    if kind == FUNCTION {
        function::register_function(qemu)?;
        options.iter().try_for_each(|(key, _)| function::check_option(key))?;
    }
    Ok(device_text(kind, options.iter().map(|(key, value)| (key.as_str(), value.as_str()))))
}

unsafe extern "C" fn init(_object: Object) {}

unsafe extern "C" fn class_init(class: Object, _data: *mut c_void) {
    guarded("the device type", (), || {
        let Some(qemu) = Qemu::get() else { return };
        // SAFETY: the class of a type whose parent is a device, which does nothing when it is realized.
        unsafe { qemu.set_realize(class, realize) };
    });
}

unsafe extern "C" fn realize(_object: Object, errors: Errors) {
    let Some(qemu) = Qemu::get() else { return };
    let made = guarded("choosing the device", Err("the device cannot be built".to_owned()), || {
        // SAFETY: the place that QEMU gave; it realizes devices on its main thread, with the big lock.
        device(qemu).and_then(|text| unsafe { qemu.make_device(&text, errors) })
    });
    if let Err(why) = made {
        // SAFETY: the place that QEMU gave.
        unsafe { qemu.fail(errors, &format!("vp: {why}")) };
    }
}
