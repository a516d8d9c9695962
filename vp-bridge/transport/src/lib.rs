//! Transports: addresses, and streams of bytes to them.
//!
//! * [`Address`]: `tcp:HOST:PORT`, `tls:HOST:PORT`, `unix:PATH`, `unix:@NAME`.
//! * [`Stream`]: bytes in both directions over any transport. It never blocks; [`Stream::wait`] sleeps until bytes can be
//!   read or written, and [`Watch`] does so from another thread.
//! * [`Socket`]: the streams of the operating system, TCP, TLS over TCP ([`tls`]) and Unix, for programs that
//!   watch a descriptor with others.
//! * [`Route`]: who can read what is sent over a stream ([`Stream::route`]).
//! * [`UnixPeer`]: whose process is at the other end of a Unix socket, and whether a client may trust it ([`Stream::check_server`]).
//! * [`in_process`]: two ends in one process, without the system.
//!
//! `vp_shm` has what is shared beside a stream with a process of the same host: memory and rings of accesses.
//! The files for it are sent over Unix sockets ([`Stream::send_with`]). This crate does not know the meaning of
//! the bytes.

mod address;
pub mod in_process;
mod meeting_place;
mod privacy;
#[cfg(test)]
mod reluctant;
pub mod secret_file;
mod socket;
mod stream;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
pub mod tls;
mod unix_peer;

pub use address::{Address, AddressError};
pub use meeting_place::{MeetingPlace, Order};
pub use privacy::{InClear, Route};
pub use socket::Socket;
pub use stream::{Readiness, Stream, Watch};
pub use unix_peer::{UnixPeer, UntrustedServer};
