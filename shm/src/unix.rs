//! Addresses of Unix sockets: paths, and names in Linux's abstract namespace (unix(7)), which are written `@NAME`.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

use rustix::fs::{Mode, fchmod};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// Connections that wait to be taken, at most; the system has a limit of its own (`net.core.somaxconn`).
const BACKLOG: i32 = 4096;

/// Whether this names an abstract socket: one without a file, which is gone with who listens.
pub fn is_abstract(path: &Path) -> bool {
    path.as_os_str().as_bytes().starts_with(b"@")
}

/// Listens, without blocking. A socket's file is its owner's alone (mode 0600) from its first moment on.
///
/// # Errors
/// What the system says.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    let address = match path.as_os_str().as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddrUnix::new_abstract_name(name)?,
        None => SocketAddrUnix::new(path)?,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The file that bind(2) makes has the socket's mode, less the process's umask.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// Connects.
///
/// # Errors
/// What the system says.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let address = match path.as_os_str().as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(path),
    };
    UnixStream::connect_addr(&address?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_sockets_file_is_its_owners_alone() {
        // Beside the other tests' files, not in a folder that is closed to others already.
        let path = std::env::temp_dir().join(format!("vp-shm-{}.sock", std::process::id()));
        let listener = bind(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(mode & 0o777, 0o600);
        drop(listener);
    }
}
