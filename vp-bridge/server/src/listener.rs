//! Listening: connections at an address, one by one, within the async runtime.

use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use thiserror::Error;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use vp_transport::Address;

use crate::stream::Stream;

/// A place that cannot be listened on.
#[derive(Debug, Error)]
pub enum ListenError {
    /// Somebody else is there.
    #[error("cannot listen on {address}: address in use by another process\n{}", hint(address))]
    InUse {
        /// The place.
        address: Address,
    },
    /// A file that is no socket lies at the path: it is left alone.
    #[error("cannot listen on {address}: a file that is no socket is in the way")]
    NoSocket {
        /// The place.
        address: Address,
    },
    /// Anything else.
    #[error("cannot listen on {address}: {source}")]
    Io {
        /// The place.
        address: Address,
        /// What the system says.
        source: io::Error,
    },
}

fn hint(address: &Address) -> String {
    match address {
        Address::Tcp { .. } => {
            let any = Address::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
            format!("pass --listen {any} to take any free port")
        }
        Address::Unix(path) => format!("pass --listen unix:{}.2 to take another path", path.display()),
    }
}

/// Takes connections at an address. A Unix socket's file is removed with it.
#[derive(Debug)]
pub(crate) struct Listener {
    local: Address,
    socket: Socket,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener, #[expect(dead_code, reason = "held to be dropped")] SocketFile),
    /// Without a file, and so without its rights.
    Abstract(UnixListener),
}

/// Removes a socket's file, unless another file has taken its place.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    inode: Option<u64>,
}

impl SocketFile {
    fn inode(path: &Path) -> Option<u64> {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::symlink_metadata(path).ok().map(|metadata| metadata.ino())
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.inode.is_some() && Self::inode(&self.path) == self.inode {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        match &self.socket {
            Socket::Tcp(_) => {}
            Socket::Unix(listener, _) | Socket::Abstract(listener) => {
                vp_shm::descriptors::drain_listener(listener);
            }
        }
    }
}

impl Listener {
    /// Starts to listen. The file of a Unix socket that nobody listens on any more is replaced.
    ///
    /// # Errors
    /// [`ListenError`].
    pub(crate) async fn bind(address: &Address) -> Result<Self, ListenError> {
        let refuse = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ListenError::InUse { address: address.clone() },
            _ => ListenError::Io { address: address.clone(), source },
        };
        match address {
            Address::Tcp { host, port } => {
                let listener = TcpListener::bind((host.as_str(), *port)).await.map_err(refuse)?;
                let port = listener.local_addr().map_err(refuse)?.port();
                let local = Address::Tcp { host: host.clone(), port };
                Ok(Self { local, socket: Socket::Tcp(listener) })
            }
            Address::Unix(path) if vp_shm::unix::is_abstract(path) => {
                let listener = vp_shm::unix::bind(path).and_then(|listener| {
                    listener.set_nonblocking(true)?;
                    UnixListener::from_std(listener)
                });
                Ok(Self { local: address.clone(), socket: Socket::Abstract(listener.map_err(refuse)?) })
            }
            Address::Unix(path) => {
                let listener = match UnixListener::bind(path) {
                    Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                        Self::clear(address, path).await?;
                        UnixListener::bind(path)
                    }
                    result => result,
                };
                let listener = listener.map_err(refuse)?;
                let file = SocketFile { path: path.clone(), inode: SocketFile::inode(path) };
                Ok(Self { local: address.clone(), socket: Socket::Unix(listener, file) })
            }
        }
    }

    /// Removes a socket's file that was left behind: nobody answers there.
    async fn clear(address: &Address, path: &Path) -> Result<(), ListenError> {
        use std::os::unix::fs::FileTypeExt as _;
        let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
        if !is_socket {
            return Err(ListenError::NoSocket { address: address.clone() });
        }
        match UnixStream::connect(path).await.map(Stream::from) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let refuse = |source| ListenError::Io { address: address.clone(), source };
                std::fs::remove_file(path).map_err(refuse)
            }
            _ => Err(ListenError::InUse { address: address.clone() }),
        }
    }

    /// The address with the port that was really taken.
    pub(crate) fn local_address(&self) -> &Address {
        &self.local
    }

    /// Waits for the next connection; says who it is, for people.
    ///
    /// # Errors
    /// What the system says: often only that one connection went wrong.
    pub(crate) async fn accept(&self) -> io::Result<(Stream, String)> {
        match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Requests are small and wait for answers: nothing is won by collecting them.
                stream.set_nodelay(true)?;
                Ok((Stream::Tcp(stream), peer.to_string()))
            }
            Socket::Unix(listener, _) | Socket::Abstract(listener) => loop {
                let (stream, _) = listener.accept().await?;
                let peer = stream.peer_cred().ok();
                // A socket's file would have kept other users out.
                let is_ours = |uid: u32| uid == geteuid().as_raw() || uid == 0;
                let may_enter = match &self.socket {
                    Socket::Abstract(_) => peer.is_some_and(|peer| is_ours(peer.uid())),
                    _ => true,
                };
                let stream = Stream::from(stream);
                if !may_enter {
                    continue;
                }
                let peer = peer.and_then(|peer| peer.pid());
                let peer = peer.map_or_else(|| "unix".to_owned(), |pid| format!("unix, process {pid}"));
                return Ok((stream, peer));
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use vp_transport::Socket;

    #[tokio::test]
    async fn an_address_in_use_is_refused_with_a_way_out() {
        let first = Listener::bind(&"tcp:127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = first.local_address();
        let error = Listener::bind(address).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "cannot listen on {address}: address in use by another process\n\
                 pass --listen tcp:127.0.0.1:0 to take any free port"
            )
        );
    }

    #[tokio::test]
    async fn a_socket_file_left_behind_is_replaced_and_one_in_use_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let address = Address::Unix(folder.path().join("vp.sock"));
        let Address::Unix(path) = &address else { unreachable!() };
        drop(std::os::unix::net::UnixListener::bind(path).unwrap());
        assert!(path.exists());
        let listener = Listener::bind(&address).await.unwrap();
        assert!(matches!(Listener::bind(&address).await, Err(ListenError::InUse { .. })));
        drop(listener);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn an_abstract_socket_has_no_file_and_is_free_again_when_nobody_listens() {
        let address: Address = format!("unix:@vp-test-{}", std::process::id()).parse().unwrap();
        let listener = Listener::bind(&address).await.unwrap();
        assert!(matches!(Listener::bind(&address).await, Err(ListenError::InUse { .. })));
        let near = Socket::connect(&address, Duration::from_secs(60));
        assert!(near.is_ok() && listener.accept().await.is_ok());
        drop(listener);
        assert!(Socket::connect(&address, Duration::from_secs(60)).is_err());
        assert!(Listener::bind(&address).await.is_ok());
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "mine").unwrap();
        let error = Listener::bind(&Address::Unix(path.clone())).await.unwrap_err();
        assert!(matches!(error, ListenError::NoSocket { .. }));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
