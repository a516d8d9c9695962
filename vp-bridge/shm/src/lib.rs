//! Things that two processes of one host share beside a stream: open files, memory, and a ring of register accesses.
//!
//! * [`descriptors`]: open files that are sent with the bytes of a Unix socket.
//! * [`Region`]: the peer's memory, mapped here; bytes are copied in and out, with bounds checked.
//! * [`Mappings`]: which files a process has mapped, and whether it shares what it writes there.
//! * [`ring`]: register accesses and their answers without a system call, as `docs/protocol.md` lays them out.
//! * [`Bell`]: wakes the other side when it sleeps.
//! * [`AdaptiveSpin`]: whether a thread that looks for what the other side does gives its core to others meanwhile.
//! * [`stream`]: reading long payloads directly to their final place, and whether more will come.
//! * [`unix`]: sockets by their addresses, with a file and without.
//! * [`Deferred`]: releasing memory that is mapped, which may take long.
//!
//! This crate does not know the protocol's messages, a simulation or QEMU. Shared memory may change at any
//! moment and have any contents: it is read with atomic loads, each word once, and checked here. All unsafe
//! code is in `memory.rs` and `signal.rs`, except one line in `stream.rs`.

mod bell;
mod deferred;
pub mod descriptors;
mod mappings;
mod memory;
mod region;
pub mod ring;
mod signal;
mod spin;
pub mod stream;
pub mod unix;

pub use bell::{Bell, wait};
pub use deferred::Deferred;
pub use mappings::{Mappings, Sharing};
pub use region::{Region, RegionError, sealed};
pub use spin::AdaptiveSpin;
