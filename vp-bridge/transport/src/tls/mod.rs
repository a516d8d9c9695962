//! TLS 1.3 over TCP, as state beside the socket. Nothing here blocks, and a thread can poll such sockets like
//! others.
//!
//! Whoever has the socket drives TLS's state with it. A poll does not see bytes that are decrypted already:
//! see [`Socket::has_buffered`](crate::Socket::has_buffered).

mod settings;
#[cfg(test)]
mod short_calls;
mod socket;
#[cfg(test)]
mod tests;

pub use settings::{Client, Server, TlsError};
pub(crate) use socket::Progress;
pub use socket::TlsSocket;
