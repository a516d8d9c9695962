//! Library that QEMU loads, with `-plugin libvp_qemu.so,connect=unix:/tmp/vp.sock`, to have a virtual platform's device in its
//! guest: registers, an interrupt, a device-tree node or a PCI function, and the guest's RAM as the device's memory.
//!
//! Distributions build QEMU with modules, so its internal functions are visible to what it loads. They are looked up by
//! name when the library is loaded, and whatever does not fit ends the start with one sentence. No header of QEMU is
//! used and QEMU is not rebuilt.
//!
//! * `qemu`: the functions and structures of QEMU that are relied on, and nothing else's business.
//! * `device`: the device type: its life, its register window, its node, the guest's memory.
//! * `session`: the native protocol over a socket, with plain threads. Knows nothing of QEMU.
//!
//! All unsafe code is in `qemu`, and where QEMU calls: `entry.rs`, `device/callbacks.rs`, `device/function.rs`,
//! `device/port.rs`.

mod credentials;
mod device;
mod entry;
mod options;
mod qemu;
mod report;
mod session;
