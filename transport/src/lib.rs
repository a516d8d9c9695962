//! Transports: addresses, and the streams of bytes that lead there.
//!
//! * [`Address`]: `tcp:HOST:PORT`, `tls:HOST:PORT`, `unix:PATH`, `unix:@NAME`.
//! * [`Stream`]: bytes in both directions over any transport. It never blocks; [`Stream::wait`] sleeps until bytes can be
//!   read or written, and [`Watch`] does so from another thread.
//! * [`Socket`]: the streams of the system, TCP, TLS over TCP ([`tls`]) and Unix, for who has a descriptor to be watched with others.
//! * [`in_process`]: two ends in one process, without the system.
//!
//! What beside a stream is shared with a process of the same host, memory and rings of accesses, is `vp_shm`'s; the
//! files for it ride on Unix sockets ([`Stream::send_with`]). Nothing here knows what the bytes mean.

mod address;
pub mod in_process;
mod meeting_place;
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

pub use address::{Address, AddressError};
pub use meeting_place::{MeetingPlace, Order};
pub use socket::Socket;
pub use stream::{Readiness, Stream, Watch};
