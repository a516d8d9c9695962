//! A platform's device as a PCI function, whoever shows it to a guest.

/// Identity by which a driver knows a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Number of the vendor.
    pub vendor: u16,
    /// The vendor's number of the device.
    pub device: u16,
    /// Revision.
    pub revision: u8,
    /// Base class and sub-class.
    pub class: u16,
}

/// Identity of the device. QEMU's docs/specs/pci-ids leaves 1af4:10f0 to 1af4:10ff to experiments; the class is that of processing
/// accelerators (PCI Code and ID Assignment Specification, 1.19).
pub const IDENTITY: Identity = Identity { vendor: 0x1af4, device: 0x10f0, revision: 1, class: 0x1200 };

/// Registers of a configuration: PCI Local Bus Specification 3.0, 6.1.
pub mod register {
    /// Command register.
    pub const COMMAND: u8 = 0x04;
    /// Pin of the interrupt.
    pub const INTERRUPT_PIN: u8 = 0x3d;
}

/// Bit of the command register: the function may access memory.
pub const BUS_MASTER: u16 = 1 << 2;

/// The pin INTA#.
pub const INTA: u8 = 1;

/// Bytes of the window for so many bytes of registers: a power of two (PCI Local Bus Specification 3.0, 6.2.5.1).
pub fn window(registers: u64) -> u64 {
    registers.checked_next_power_of_two().unwrap_or(1 << 63)
}
