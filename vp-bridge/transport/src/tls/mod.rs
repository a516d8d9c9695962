//! TLS 1.3 over TCP, as state beside the socket. Nothing here blocks, and a thread can poll such sockets like
//! others.

mod settings;
#[cfg(test)]
mod short_calls;
mod socket;
#[cfg(test)]
mod tests;

pub use settings::{Client, Server, TlsError};
pub(crate) use socket::Progress;
pub use socket::TlsSocket;
