//! vfio-user: a device outside a hypervisor, as its guest's PCI function.
//!
//! The *client* is the hypervisor (QEMU from 10.1 on, cloud-hypervisor, SPDK), the *server* has the device. Both send commands over one
//! Unix socket, and answer the other's by id: the client asks for regions, interrupts and accesses, and tells which memory the device may
//! reach; the server accesses memory that the client has not passed as a file. Files (memory, eventfds) come beside the bytes. The
//! numbers are in the byte order of the host.
//!
//! * [`frame`]: the header of each message.
//! * [`request`], [`reply`]: what the client asks, and what it is told.
//! * [`capabilities`]: what both sides say of themselves in the first message.
//! * [`connection`]: the server's side, [`Connection`].
//! * [`client`]: the client's side, [`Client`], for tests of servers.
//! * [`rule`]: every rule by its name, and the message about a peer that broke one.
//!
//! Sources: the specification, `docs/interop/vfio-user.rst` of QEMU; QEMU's client, `hw/vfio-user`; the structures' constants are those of
//! `<linux/vfio.h>`. Not here: a second socket for the server's commands (twin-socket), and file descriptors for the accesses of a region.

pub mod capabilities;
pub mod client;
pub mod connection;
pub mod frame;
pub mod reply;
pub mod request;
pub mod rule;

pub use capabilities::Capabilities;
pub use client::{Client, ClientEvent};
pub use connection::{Connection, Event, MemoryToken, Token};
pub use frame::{Command, Errno, HEADER, Header};
pub use reply::{DeviceInfo, IrqInfo, RegionInfo, Reply};
pub use request::{DmaMap, DmaUnmap, Feature, IrqAction, IrqData, Request, SetIrqs, Write};
pub use rule::{Rule, Violation};

/// Bytes that one access moves at most: what the specification takes for granted where a side names no `max_data_xfer_size`.
pub const MAX_DATA: usize = 1 << 20;

/// Bytes of a message at most: an access to a region, and its data.
pub const MAX_MESSAGE: usize = HEADER + 16 + MAX_DATA;

/// Files that come with one message at most. The specification takes this for granted where a side names no `max_msg_fds`.
pub const MAX_FILES: usize = 1;
