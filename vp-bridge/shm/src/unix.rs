//! Addresses of Unix sockets: paths, and names in Linux's abstract namespace (unix(7)), which are written `@NAME`.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// Connections that wait to be taken, at most; the system has a limit of its own (`net.core.somaxconn`).
const BACKLOG: i32 = 4096;

/// Returns true if this names an abstract socket: one without a file, which disappears with the listening process.
pub fn is_abstract(path: &Path) -> bool {
    path.as_os_str().as_bytes().starts_with(b"@")
}

fn address_of(path: &Path) -> io::Result<SocketAddrUnix> {
    Ok(match path.as_os_str().as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddrUnix::new_abstract_name(name)?,
        None => SocketAddrUnix::new(path)?,
    })
}

/// Listens, without blocking. Only the owner may use a socket's file (mode 0600), from its first moment on.
///
/// # Errors
/// What the system says.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    let address = address_of(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The file that bind(2) makes has the socket's mode, less the process's umask.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// Connects; waits up to a time limit for a place in the accept queue.
///
/// # Errors
/// The system's error. [`TimedOut`](io::ErrorKind::TimedOut): there was no place in the queue.
pub fn connect(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let address = address_of(path)?;
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let until = Instant::now().checked_add(timeout);
    loop {
        // What is waited for here no poll(2) tells of; the limit of what is sent is connect's too (unix(7), socket(7)).
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        set_socket_timeout(&socket, Timeout::Send, left.map(|left| left.max(Duration::from_millis(1))))?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let what =
                    "nobody accepts the connection: who listens there is stopped, or has too much to do";
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            Err(error) => return Err(error.into()),
        }
    }
    set_socket_timeout(&socket, Timeout::Send, None)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    #[test]
    fn who_connects_where_nobody_accepts_waits_for_no_longer_than_it_wants_to() {
        let path = PathBuf::from(format!("@vp-shm-unix-{}", std::process::id()));
        let listener = bind(&path).unwrap();
        rustix::net::listen(&listener, 1).unwrap();
        let mut waiting = Vec::new();
        let error = loop {
            match connect(&path, Duration::from_millis(20)) {
                Ok(stream) if waiting.len() < 16 => waiting.push(stream),
                other => break other.unwrap_err(),
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        // Who has connected is not bound to that limit.
        assert_eq!(waiting[0].write_timeout().unwrap(), None);
        let _accepted = listener.accept().unwrap();
        connect(&path, Duration::from_secs(60)).unwrap();
    }

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
