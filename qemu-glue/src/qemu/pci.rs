//! PCI functions: their class, their configuration, their interrupt pin.
//!
//! Two places of QEMU's structures are needed that no call reaches, and that versions have moved: where a class has its
//! identity, and where an instance has its configuration. Neither is relied on: the first is where classes of QEMU's own
//! have theirs, the second where ours turns up.

#![expect(unsafe_code, reason = "calls into QEMU, and numbers in its structures")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use vp_client::pci::register::{COMMAND, INTERRUPT_PIN};
use vp_client::pci::{BUS_MASTER, INTA, Identity};

use super::functions::functions;
use super::layouts::{Errors, Object, TypeInfo};
use super::{Handle, Qemu, own_memory};

/// Classes of QEMU's own, and their identities: hw/misc/edu.c, hw/misc/pci-testdev.c, hw/net/e1000.c, hw/misc/pvpanic-pci.c,
/// hw/sd/sdhci-pci.c. No QEMU has to have all of them.
const WITNESSES: [(&CStr, u16, u16); 5] = [
    (c"edu", 0x1234, 0x11e8),
    (c"pci-testdev", 0x1b36, 0x0005),
    (c"e1000", 0x8086, 0x100e),
    (c"pvpanic-pci", 0x1b36, 0x0011),
    (c"sdhci-pci", 0x1b36, 0x0007),
];
/// Bytes of a class in which its identity is looked for.
const CLASS: usize = 512;
/// Bytes of an instance in which its configuration is looked for.
const INSTANCE: usize = 2048;

functions! {
    /// QEMU's functions that PCI functions need.
    Functions {
        /// qom/object.h
        fn object_class_by_name(*const c_char) -> Object;
        /// hw/pci/pci.h
        fn pci_register_bar(Object, c_int, u8, Object);
        /// hw/pci/pci.h
        fn pci_set_irq(Object, c_int);
        /// hw/pci/pci.h
        fn pci_default_read_config(Object, u32, c_int) -> u32;
        /// hw/pci/pci.h
        fn pci_device_iommu_address_space(Object) -> Object;
        /// hw/qdev-core.h
        fn device_class_set_parent_unrealize(
            Object,
            unsafe extern "C" fn(Object),
            *mut Option<unsafe extern "C" fn(Object)>,
        );
        /// exec/memory.h
        fn memory_region_del_subregion(Object, Object);
    }
}

/// PCI as this QEMU has it.
pub(crate) struct Pci {
    functions: Functions,
    /// Offset of the identity in a class.
    identity: usize,
}

/// A function in the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Function(Handle);

impl Function {
    /// QEMU's object.
    pub(crate) fn object(self) -> Handle {
        self.0
    }
}

/// An interface of a type, as `TypeInfo` lists them.
#[repr(C)]
struct Interface(*const c_char);

/// The interfaces of a conventional function, and their end.
struct Interfaces([Interface; 2]);

// SAFETY: names that live as long as the program.
unsafe impl Sync for Interfaces {}

static INTERFACES: Interfaces =
    Interfaces([Interface(c"conventional-pci-device".as_ptr()), Interface(std::ptr::null())]);

static PCI: OnceLock<Pci> = OnceLock::new();

impl Pci {
    /// Finds out how this QEMU has PCI functions, once.
    ///
    /// # Errors
    /// What is missing, for people.
    pub(crate) fn load() -> Result<&'static Self, String> {
        if let Some(pci) = PCI.get() {
            return Ok(pci);
        }
        let functions = Functions::look_up()
            .map_err(|name| format!("this QEMU does not show {name}, so no PCI function"))?;
        let found = WITNESSES.iter().filter_map(|&(name, vendor, device)| {
            // SAFETY: looks a name up.
            let class = unsafe { (functions.object_class_by_name)(name.as_ptr()) };
            (!class.is_null()).then(|| place_of_identity(class as usize, vendor, device))
        });
        let identity = agreed(found).ok_or("PCI functions of this QEMU are unlike those that are known")?;
        Ok(PCI.get_or_init(|| Self { functions, identity }))
    }

    /// Returns what was found out before.
    pub(crate) fn get() -> Option<&'static Self> {
        PCI.get()
    }

    /// In the `class_init` of a type that inherits from PCI devices: its identity, and what is called when an instance
    /// leaves the machine. Gives what the parent does then.
    ///
    /// # Safety
    /// `class` is of such a type.
    pub(crate) unsafe fn set_class(
        &self,
        class: Object,
        identity: Identity,
        unrealize: unsafe extern "C" fn(Object),
    ) -> Option<unsafe extern "C" fn(Object)> {
        let mut parent = None;
        // SAFETY: the place that QEMU's own classes have these numbers at: `PCIDeviceClass`, from `vendor_id` to `class_id`.
        unsafe {
            let place = class.cast::<u8>().add(self.identity);
            place.cast::<u16>().write_unaligned(identity.vendor);
            place.add(2).cast::<u16>().write_unaligned(identity.device);
            place.add(4).write(identity.revision);
            place.add(6).cast::<u16>().write_unaligned(identity.class);
            (self.functions.device_class_set_parent_unrealize)(class, unrealize, &raw mut parent);
        }
        parent
    }

    /// A function whose parent has been realized, with its interrupt on INTA#.
    ///
    /// # Safety
    /// `object` is such a function, and the big lock is held.
    pub(crate) unsafe fn function(&self, object: Object, identity: Identity) -> Option<Function> {
        let [low, high] = identity.vendor.to_le_bytes();
        let [device_low, device_high] = identity.device.to_le_bytes();
        let begins = [low, high, device_low, device_high];
        // SAFETY: by the caller.
        let pin = || unsafe { (self.functions.pci_default_read_config)(object, u32::from(INTERRUPT_PIN), 1) };
        let configuration = (0..INSTANCE).step_by(size_of::<usize>()).find_map(|offset| {
            let pointer = usize::from_ne_bytes(own_memory(object as usize + offset)?);
            (own_memory::<4>(pointer)? == begins).then_some(pointer)
        })?;
        if pin() != 0 {
            return None;
        }
        let place = (configuration + usize::from(INTERRUPT_PIN)) as *mut u8;
        // SAFETY: 256 bytes of configuration begin where its identity lies; if it is another's, the old value is back.
        unsafe { place.write(INTA) };
        if pin() != u32::from(INTA) {
            // SAFETY: as above.
            unsafe { place.write(0) };
            return None;
        }
        Some(Function(Handle(object)))
    }

    /// Makes a region the function's first window.
    ///
    /// # Safety
    /// The big lock is held, and the region is in no other place.
    pub(crate) unsafe fn set_window(&self, function: Function, region: Handle) {
        // SAFETY: a realized function; memory, of 32 bits, not prefetchable.
        unsafe { (self.functions.pci_register_bar)(function.0.0, 0, 0, region.0) };
    }

    /// Moves the interrupt line.
    ///
    /// # Safety
    /// The function is in the machine, and the big lock is held.
    pub(crate) unsafe fn set_line(&self, function: Function, level: bool) {
        // SAFETY: by the caller.
        unsafe { (self.functions.pci_set_irq)(function.0.0, c_int::from(level)) };
    }

    /// Returns true if the driver lets the function access memory.
    ///
    /// # Safety
    /// The function is in the machine.
    pub(crate) unsafe fn is_bus_master(&self, function: Function) -> bool {
        // SAFETY: by the caller.
        let command =
            unsafe { (self.functions.pci_default_read_config)(function.0.0, u32::from(COMMAND), 2) };
        command & u32::from(BUS_MASTER) != 0
    }

    /// Returns the addresses at which the function sees memory, if an IOMMU makes them: it keeps them as long as the machine, for whatever
    /// function is in the place. `None`: those at which the CPU does.
    ///
    /// # Safety
    /// The function is in the machine.
    pub(crate) unsafe fn space(&self, qemu: &Qemu, function: Function) -> Option<Handle> {
        // SAFETY: by the caller.
        let space = unsafe { (self.functions.pci_device_iommu_address_space)(function.0.0) };
        (space != qemu.symbols.address_space_memory).then_some(Handle(space))
    }
}

impl Qemu {
    /// Registers a type of PCI function.
    pub(crate) fn register_function(
        &self,
        name: &'static CStr,
        init: unsafe extern "C" fn(Object),
        class_init: unsafe extern "C" fn(Object, *mut c_void),
    ) {
        let interfaces = std::ptr::from_ref(&INTERFACES.0).cast_mut().cast();
        let parent = c"pci-device".as_ptr();
        let info = TypeInfo { parent, interfaces, ..TypeInfo::inherited(name, init, class_init) };
        // SAFETY: a whole `TypeInfo`, kept for ever, as are the interfaces.
        unsafe { (self.symbols.type_register_static)(Box::leak(Box::new(info))) };
    }

    /// Puts a region at an address for as long as `body` runs.
    ///
    /// # Safety
    /// The big lock is held, and the region is in no place.
    pub(crate) unsafe fn with_region_at<T>(
        &self,
        pci: &Pci,
        region: Handle,
        address: u64,
        body: impl FnOnce() -> T,
    ) -> T {
        // SAFETY: by the caller.
        unsafe { self.add_region(region, address) };
        let result = body();
        // SAFETY: it was put there.
        unsafe {
            let system = (self.symbols.get_system_memory)();
            (pci.functions.memory_region_del_subregion)(system, region.0);
        }
        result
    }
}

/// The type of what is called when a device leaves.
pub(crate) type Unrealize = unsafe extern "C" fn(Object);
/// The type of what is called when a device comes.
pub(crate) type Realize = unsafe extern "C" fn(Object, Errors);

/// Returns the offset in a class at which these numbers stand side by side.
fn place_of_identity(class: usize, vendor: u16, device: u16) -> Option<usize> {
    let words = u32::from(device) << 16 | u32::from(vendor);
    (0..CLASS).step_by(2).find(|offset| own_memory(class + offset) == Some(words.to_le_bytes()))
}

/// The place that two witnesses or more have in common, and no witness gainsays.
fn agreed(places: impl Iterator<Item = Option<usize>>) -> Option<usize> {
    let places: Vec<_> = places.collect();
    let first = (*places.first()?)?;
    (places.len() >= 2 && places.iter().all(|place| *place == Some(first))).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_needs_two_witnesses_that_agree() {
        assert_eq!(agreed([Some(208), Some(208)].into_iter()), Some(208));
        assert_eq!(agreed([Some(208)].into_iter()), None);
        assert_eq!(agreed([Some(208), Some(216), Some(208)].into_iter()), None);
        assert_eq!(agreed([Some(208), None].into_iter()), None);
        assert_eq!(agreed(std::iter::empty()), None);
    }

    #[test]
    fn an_identity_is_found_where_it_stands() {
        let mut class = vec![0_u8; CLASS + 8];
        class[216..220].copy_from_slice(&[0x86, 0x80, 0x0e, 0x10]);
        let address = class.as_ptr() as usize;
        assert_eq!(place_of_identity(address, 0x8086, 0x100e), Some(216));
        assert_eq!(place_of_identity(address, 0x8086, 0x100f), None);
    }
}
