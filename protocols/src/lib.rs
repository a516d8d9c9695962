//! Wire protocols as bytes, without I/O.
//!
//! One module for each protocol. It converts between bytes and messages, and keeps the rules of a session. The
//! bridge, and the glue that a CPU emulator loads, add sockets and clocks. Nothing here opens a socket, reads a
//! clock, starts a thread or knows what a platform is, and no input makes it panic or allocate without bound.
//!
//! * [`native`]: the platform's own protocol, described byte by byte in `docs/protocol.md`.
//! * [`remote_port`]: between Xilinx's QEMU and SystemC.
//! * [`renode`]: between Renode and what is simulated beside it.
//! * [`vfio_user`]: between a hypervisor and a device outside it.
//! * [`pci`]: what a guest sees of the device as a PCI function, whatever shows it.

pub mod native;
pub mod pci;
pub mod remote_port;
pub mod renode;
mod rule_table;
pub mod vfio_user;
