//! Configuration of the PCI function: what its driver and the guest's kernel read and write there.
//!
//! Offsets and bits: PCI Local Bus Specification 3.0, chapter 6; capabilities of MSI and MSI-X, 6.8.

use std::ops::Range;

use vp_protocols::pci::register::{COMMAND, INTERRUPT_PIN};
use vp_protocols::pci::{BUS_MASTER, IDENTITY, INTA, Identity};

/// Bytes of the configuration.
pub(super) const CONFIGURATION: usize = 256;
/// Bytes of the window that has the table of MSI-X.
pub(super) const MSIX_WINDOW: u64 = 4096;
/// Number of that window.
pub(super) const MSIX_BAR: u32 = 4;
/// Bytes of the table of MSI-X: one vector.
const TABLE: usize = 16;
/// Bytes of the state of a function.
pub(super) const FUNCTION_STATE: usize = CONFIGURATION + TABLE;
/// Offset of its pending bits in the window.
const PENDING: u32 = 0x800;

const STATUS: u8 = 0x06;
const REVISION: u8 = 0x08;
const CLASS: u8 = 0x0a;
const CACHE_LINE: u8 = 0x0c;
const BARS: u8 = 0x10;
const SUBSYSTEM: u8 = 0x2c;
const CAPABILITIES: u8 = 0x34;
const INTERRUPT_LINE: u8 = 0x3c;
const MSI: u8 = 0x40;
const MSIX: u8 = 0x50;

/// Of the command register.
const MEMORY_SPACE: u16 = 1 << 1;
const INTERRUPT_DISABLE: u16 = 1 << 10;
/// Of the status register.
const INTERRUPT_STATUS: u16 = 1 << 3;
const HAS_CAPABILITIES: u16 = 1 << 4;
/// Subsystem, as QEMU's functions have it where they say nothing else (docs/specs/pci-ids).
const SUBSYSTEM_IDENTITY: [u16; 2] = [0x1af4, 0x1100];

/// A function with registers in its first window, INTA#, and one vector of MSI or MSI-X.
pub(super) struct Function {
    bytes: [u8; CONFIGURATION],
    /// The bits that can be written.
    writable: [u8; CONFIGURATION],
    table: [u8; TABLE],
    /// Bytes of the first window.
    window: u64,
}

impl Function {
    /// A function that has been reset.
    pub(super) fn new(window: u64) -> Function {
        let (bytes, writable) = ([0; CONFIGURATION], [0; CONFIGURATION]);
        let mut function = Function { bytes, writable, table: [0; TABLE], window };
        let Identity { vendor, device, revision, class } = IDENTITY;
        let [subsystem_vendor, subsystem] = SUBSYSTEM_IDENTITY;
        let bar = |size: u64| (!(size - 1)) as u32;
        function.set(0, &[vendor.to_le_bytes(), device.to_le_bytes()].concat(), &[]);
        let command = MEMORY_SPACE | BUS_MASTER | INTERRUPT_DISABLE;
        function.set(COMMAND, &[0; 2], &command.to_le_bytes());
        function.set(STATUS, &HAS_CAPABILITIES.to_le_bytes(), &[]);
        function.set(REVISION, &[revision], &[]);
        function.set(CLASS, &class.to_le_bytes(), &[]);
        function.set(CACHE_LINE, &[0], &[0xff]);
        function.set(BARS, &[0; 4], &bar(window).to_le_bytes());
        function.set(BARS + 4 * MSIX_BAR as u8, &[0; 4], &bar(MSIX_WINDOW).to_le_bytes());
        function.set(SUBSYSTEM, &[subsystem_vendor.to_le_bytes(), subsystem.to_le_bytes()].concat(), &[]);
        function.set(CAPABILITIES, &[MSI], &[]);
        function.set(INTERRUPT_LINE, &[0], &[0xff]);
        function.set(INTERRUPT_PIN, &[INTA], &[]);
        // One vector, with an address of 64 bits. It can be enabled.
        function.set(MSI, &[5, MSIX, 0x80, 0], &[0, 0, 0x71, 0]);
        function.set(MSI + 4, &[0; 10], &[0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        // One vector. It can be masked, and enabled.
        function.set(MSIX, &[0x11, 0, 0, 0], &[0, 0, 0, 0xc0]);
        function.set(MSIX + 4, &MSIX_BAR.to_le_bytes(), &[]);
        function.set(MSIX + 8, &(MSIX_BAR | PENDING).to_le_bytes(), &[]);
        // A vector is masked at first.
        function.table[12] = 1;
        function
    }

    fn set(&mut self, at: u8, bytes: &[u8], writable: &[u8]) {
        let at = usize::from(at);
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self.writable[at..at + writable.len()].copy_from_slice(writable);
    }

    /// Bytes of the first window.
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Brings all back to what it was at first.
    pub(super) fn reset(&mut self) {
        let has_interrupt = self.word(STATUS) & INTERRUPT_STATUS != 0;
        *self = Function::new(self.window);
        self.set_interrupt(has_interrupt);
    }

    /// State of the function.
    pub(super) fn state(&self) -> [u8; FUNCTION_STATE] {
        let mut state = [0; FUNCTION_STATE];
        state[..CONFIGURATION].copy_from_slice(&self.bytes);
        state[CONFIGURATION..].copy_from_slice(&self.table);
        state
    }

    /// Takes up the state of another one, as far as a driver writes it.
    pub(super) fn take_up(&mut self, state: &[u8; FUNCTION_STATE]) {
        self.reset();
        self.write(0, &state[..CONFIGURATION]);
        self.table.copy_from_slice(&state[CONFIGURATION..]);
    }

    fn word(&self, at: u8) -> u16 {
        let at = usize::from(at);
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    /// Reads the configuration. `None`: not all of the bytes are in it.
    pub(super) fn read(&self, offset: u64, count: usize) -> Option<&[u8]> {
        self.bytes.get(range(offset, count)?)
    }

    /// Writes the configuration. False: not all of the bytes are in it, and none was written.
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) -> bool {
        let Some(range) = range(offset, data.len()).filter(|range| range.end <= CONFIGURATION) else {
            return false;
        };
        for (at, byte) in range.zip(data) {
            self.bytes[at] = self.bytes[at] & !self.writable[at] | byte & self.writable[at];
        }
        true
    }

    /// Reads the window of MSI-X, in which nothing is pending: who has set the vector up is signalled at once.
    pub(super) fn read_table(&self, offset: u64, count: usize) -> Option<Vec<u8>> {
        let range = range(offset, count).filter(|range| range.end as u64 <= MSIX_WINDOW)?;
        Some(range.map(|at| self.table.get(at).copied().unwrap_or(0)).collect())
    }

    /// Writes the window of MSI-X. The client, which has the vectors' eventfds, is who heeds the table.
    pub(super) fn write_table(&mut self, offset: u64, data: &[u8]) -> bool {
        let Some(range) = range(offset, data.len()).filter(|range| range.end as u64 <= MSIX_WINDOW) else {
            return false;
        };
        for (at, byte) in range.zip(data) {
            if let Some(place) = self.table.get_mut(at) {
                *place = *byte;
            }
        }
        true
    }

    /// Returns true if the driver lets the function access memory.
    pub(super) fn is_bus_master(&self) -> bool {
        self.word(COMMAND) & BUS_MASTER != 0
    }

    /// Returns true if the function may use INTA#.
    pub(super) fn has_pin(&self) -> bool {
        self.word(COMMAND) & INTERRUPT_DISABLE == 0
    }

    /// Sets whether an interrupt waits to be served.
    pub(super) fn set_interrupt(&mut self, is_waiting: bool) {
        let status = self.word(STATUS) & !INTERRUPT_STATUS;
        let status = if is_waiting { status | INTERRUPT_STATUS } else { status };
        self.set(STATUS, &status.to_le_bytes(), &[]);
    }
}

fn range(offset: u64, count: usize) -> Option<Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    Some(start..start.checked_add(count)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dword(function: &Function, at: u64) -> u32 {
        u32::from_le_bytes(function.read(at, 4).unwrap().try_into().unwrap())
    }

    #[test]
    fn a_guest_finds_the_function_that_the_plug_in_has() {
        let function = Function::new(0x40000);
        assert_eq!(dword(&function, 0), 0x10f0_1af4);
        assert_eq!(dword(&function, 8), 0x1200_0001);
        assert_eq!(function.read(0x3d, 1), Some(&[1][..]));
    }

    #[test]
    fn the_size_of_a_window_is_what_cannot_be_written_of_its_address() {
        let mut function = Function::new(0x40000);
        for (bar, size) in [(0, 0x40000), (1, 0), (4, 0x1000)] {
            assert!(function.write(0x10 + 4 * bar, &[0xff; 4]));
            let written = dword(&function, 0x10 + 4 * bar);
            assert_eq!(written & 0xf, 0, "32 bits, not prefetchable");
            assert_eq!(written.wrapping_neg(), size);
        }
    }

    #[test]
    fn capabilities_are_a_list_of_msi_and_msi_x_with_one_vector_each() {
        let function = Function::new(0x40000);
        let byte = |at: u64| function.read(at, 1).unwrap()[0];
        assert_ne!(function.word(STATUS) & HAS_CAPABILITIES, 0);
        let first = u64::from(byte(0x34));
        let second = u64::from(byte(first + 1));
        assert_eq!([byte(first), byte(second), byte(second + 1)], [5, 0x11, 0]);
        assert_eq!(dword(&function, second) >> 16 & 0x7ff, 0);
        assert_eq!([dword(&function, second + 4), dword(&function, second + 8)], [4, 0x804]);
    }

    #[test]
    fn what_is_not_to_be_written_stays_and_what_is_outside_is_refused() {
        let mut function = Function::new(0x40000);
        assert!(function.write(0, &[0xff; CONFIGURATION]));
        assert_eq!(dword(&function, 0), 0x10f0_1af4);
        assert!(function.is_bus_master() && !function.has_pin());
        assert!(!function.write(250, &[0; 7]) && function.read(255, 2).is_none());
        assert!(!function.write(u64::MAX, &[0]) && function.read(u64::MAX, 2).is_none());
        assert!(function.read_table(0xffd, 4).is_none() && !function.write_table(0xffd, &[0; 4]));
        function.reset();
        assert!(!function.is_bus_master() && function.has_pin());
    }

    #[test]
    fn the_status_tells_of_an_interrupt() {
        let mut function = Function::new(0x1000);
        function.set_interrupt(true);
        function.reset();
        assert_eq!(function.word(STATUS), INTERRUPT_STATUS | HAS_CAPABILITIES);
        function.set_interrupt(false);
        assert_eq!(function.word(STATUS), HAS_CAPABILITIES);
    }
}
