//! What two processes of one host share beside a stream: descriptors, memory, and a ring of register accesses.
//!
//! * [`descriptors`]: open files that ride beside the bytes of a Unix socket.
//! * [`Region`]: memory of the peer's, mapped here; bytes are copied in and out, bounds checked.
//! * [`ring`]: register accesses and their answers without a system call, as `docs/protocol.md` lays them out.
//! * [`Bell`]: wakes the other side when it sleeps.
//! * [`stream`]: reading long payloads to where they stay, and whether more will come.
//! * [`unix`]: sockets by their addresses, with a file and without.
//! * [`Deferred`]: what takes as long as a peer wants to give up.
//!
//! Nothing here knows the protocol's messages, a simulation or QEMU. Whatever lies in shared memory may change at any
//! moment and hold anything: it is read with atomic loads, each word once, and judged here. All unsafe code is in
//! `memory.rs` and `signal.rs`, but for one line in `stream.rs`.

mod bell;
mod deferred;
pub mod descriptors;
mod memory;
mod region;
pub mod ring;
mod signal;
pub mod stream;
pub mod unix;

pub use bell::{Bell, wait};
pub use deferred::Deferred;
pub use region::{Region, RegionError, sealed};
