//! Addresses of Unix sockets: paths, and names in Linux's abstract namespace (unix(7)), which are written `@NAME`.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

/// Whether this names an abstract socket: one without a file, which is gone with who listens.
pub fn is_abstract(path: &Path) -> bool {
    path.as_os_str().as_bytes().starts_with(b"@")
}

/// Listens.
///
/// # Errors
/// What the system says.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&address(path)?)
}

/// Connects.
///
/// # Errors
/// What the system says.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    UnixStream::connect_addr(&address(path)?)
}

fn address(path: &Path) -> io::Result<SocketAddr> {
    match path.as_os_str().as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(path),
    }
}
