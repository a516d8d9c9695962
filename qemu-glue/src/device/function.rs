//! The device as a PCI function, for machines without a place for a node: its registers are BAR 0, it interrupts by INTA#, and
//! it reads and writes memory as a bus master once its driver lets it.

#![expect(unsafe_code, reason = "called from C")]

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

use vp_client::pci::{self, IDENTITY, Identity};

use super::port::Line;
use super::slot::Slot;
use super::{Device, Opened, callbacks};
use crate::options::{KEYS, OptionError, Options};
use crate::qemu::Qemu;
use crate::qemu::layouts::{Errors, Object};
use crate::qemu::pci::{Pci, Realize, Unrealize};
use crate::report::guarded;

/// The name of the type, for `-device`.
pub(crate) const FUNCTION: &str = "vp-pci";
const TYPE_NAME: &CStr = c"vp-pci";

/// Options that a function has no use for: its place is PCI's matter.
const UNUSED: [&str; 4] = ["address", "spi", "compatible", "pool"];

/// Address of the registers while the device tests itself: no machine has anything there.
const TEST_ADDRESS: u64 = 1 << 50;

/// Functions that realize a plain PCI function, and take it out.
static PARENT: OnceLock<(Option<Realize>, Option<Unrealize>)> = OnceLock::new();

/// The functions in the machine, by the address of QEMU's object.
static FUNCTIONS: Mutex<Option<HashMap<usize, (&'static Device, &'static Slot)>>> = Mutex::new(None);

/// Makes the type known to QEMU, once, if this QEMU has PCI functions as they are known.
///
/// # Errors
/// Why there is no such type, for people.
pub(crate) fn register_function(qemu: &Qemu) -> Result<(), String> {
    static ONCE: Once = Once::new();
    Pci::load()?;
    debug_assert_eq!(TYPE_NAME.to_str(), Ok(FUNCTION));
    ONCE.call_once(|| qemu.register_function(TYPE_NAME, callbacks::init, class_init));
    Ok(())
}

/// Checks that a function takes an option.
///
/// # Errors
/// What it takes, for people.
pub(crate) fn check_option(key: &str) -> Result<(), String> {
    let known: Vec<&str> = KEYS.into_iter().filter(|key| !UNUSED.contains(key)).collect();
    match known.contains(&key) {
        true => Ok(()),
        false if UNUSED.contains(&key) => Err(format!(
            "{key} is for a node of a device tree, as on Arm's virt: here the device is a PCI function"
        )),
        false => Err(OptionError::Unknown { key: key.to_owned(), known }.to_string()),
    }
}

impl Device {
    /// Builds a device as the user wants it, as the PCI function that QEMU has just made.
    ///
    /// # Safety
    /// `object` is such a function, whose parent has been realized.
    unsafe fn build_function(qemu: &'static Qemu, object: Object, options: &Options) -> Result<(), String> {
        let pci = Pci::load()?;
        // SAFETY: by the caller; QEMU builds devices with the big lock.
        let function = unsafe { pci.function(object, IDENTITY) };
        let function = function.ok_or("PCI functions of this QEMU are unlike those that are known")?;
        let slot: &'static Slot = Box::leak(Box::new(Slot::new(pci, function)));
        let opened = Self::open(qemu, options, FUNCTION, &qemu.ram(), Line::Pin(slot))?;
        let Opened { device, platform, .. } = &opened;
        let window = callbacks::window(qemu, device, pci::window(platform.size));
        // SAFETY: a new region, and the big lock.
        unsafe {
            qemu.with_region_at(pci, window, TEST_ADDRESS, || device.test(qemu, TEST_ADDRESS))?;
            pci.set_window(function, window);
        }
        let Identity { vendor, device: number, .. } = IDENTITY;
        opened.put_to_use(
            qemu,
            FUNCTION,
            &format!("PCI function {vendor:04x}:{number:04x}"),
            "interrupt INTA#",
        )?;
        let mut functions = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
        functions.get_or_insert_default().insert(object as usize, (device, slot));
        Ok(())
    }
}

unsafe extern "C" fn class_init(class: Object, _data: *mut c_void) {
    guarded("the type of PCI functions", (), || {
        let (Some(qemu), Some(pci)) = (Qemu::get(), Pci::get()) else { return };
        // SAFETY: the class of a type whose parent is a PCI device.
        unsafe {
            let parent = (qemu.set_realize(class, realize), pci.set_class(class, IDENTITY, unrealize));
            _ = PARENT.set(parent);
            callbacks::add_properties(qemu, class, |key| !UNUSED.contains(&key));
        }
    });
}

unsafe extern "C" fn realize(object: Object, errors: Errors) {
    let Some(qemu) = Qemu::get() else { return };
    let built = guarded("building the function", Err("the device cannot be built".to_owned()), || {
        let options = callbacks::said_of(object);
        let mut error = std::ptr::null_mut();
        if let Some((Some(parent), _)) = PARENT.get() {
            // SAFETY: what would have been called without us.
            unsafe { parent(object, &raw mut error) };
        }
        if !error.is_null() {
            // SAFETY: the place that QEMU gave, or none.
            unsafe { qemu.pass_on(errors, error) };
            return Ok(());
        }
        // SAFETY: what QEMU realizes here is a function of our type.
        unsafe { Device::build_function(qemu, object, &options) }
    });
    if let Err(why) = built {
        // SAFETY: the place that QEMU gave.
        unsafe { qemu.fail(errors, &format!("vp: {why}")) };
    }
}

unsafe extern "C" fn unrealize(object: Object) {
    guarded("taking the function out", (), || {
        let mut functions = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
        let left = functions.get_or_insert_default().remove(&(object as usize));
        if let Some((device, slot)) = left {
            if let Some(section) = device.state.section() {
                // SAFETY: QEMU takes the function out here, with the big lock.
                unsafe { section.unregister() };
            }
            // Whoever accesses memory for it is through with QEMU's object then.
            slot.function().take();
            device.session.close();
            if let Some(clock) = &device.clock {
                clock.set_alarm(None);
            }
        }
    });
    if let Some((_, Some(parent))) = PARENT.get() {
        // SAFETY: what would have been called without us.
        unsafe { parent(object) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_the_options_that_say_nothing_of_its_place() {
        assert!(UNUSED.iter().all(|key| KEYS.contains(key)));
        assert!(check_option("timeout").is_ok());
        assert!(check_option("spi").unwrap_err().starts_with("spi is for a node of a device tree"));
        let unknown = check_option("spii").unwrap_err();
        assert_eq!(
            unknown,
            "no option `spii`; there are connect, platform, timeout, share, heartbeat, token-file, ca, \
             ranges"
        );
    }
}
