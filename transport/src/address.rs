//! Where a server is, and the streams that lead there.
//!
//! One address has one text: `tcp:HOST:PORT` or `unix:PATH`. Nothing here knows what goes over the streams.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::str::FromStr;
use std::task::{Context, Poll};

use bytes::BytesMut;
use nix::unistd::geteuid;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use vp_protocols::native::Output;

/// Where a server listens, or a client connects.
///
/// ```
/// use vp_transport::address::Address;
/// let address: Address = "tcp:127.0.0.1:7700".parse()?;
/// assert_eq!(address.to_string(), "tcp:127.0.0.1:7700");
/// assert!("127.0.0.1:7700".parse::<Address>().is_err());
/// # Ok::<(), vp_transport::address::AddressError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// `tcp:HOST:PORT`. A port of 0 listens on any free one.
    Tcp {
        /// Name or number; an IPv6 number without its brackets.
        host: String,
        /// Port number.
        port: u16,
    },
    /// `unix:PATH`: a socket in the file system. `unix:@NAME`: one in Linux's abstract namespace, which has no file and is
    /// gone with who listens; processes of the same user and of root are let in.
    Unix(PathBuf),
}

/// A text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is no address: {why}\nwrite tcp:127.0.0.1:7700 or unix:/tmp/vp.sock")]
pub struct AddressError {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let refuse = |why| AddressError { text: text.to_owned(), why };
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(refuse("the path is missing")),
                _ => Ok(Self::Unix(path.into())),
            };
        }
        let rest =
            text.strip_prefix("tcp:").ok_or_else(|| refuse("it starts with neither `tcp:` nor `unix:`"))?;
        let (host, port) = rest.rsplit_once(':').ok_or_else(|| refuse("the port is missing"))?;
        let port = port.parse().map_err(|_| refuse("the port is a number from 0 to 65535"))?;
        let host = match host.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']').ok_or_else(|| refuse("a `]` is missing"))?,
            None if host.contains(':') => return Err(refuse("an IPv6 number stands in brackets: [::1]")),
            None => host,
        };
        match host {
            "" => Err(refuse("the host is missing")),
            _ => Ok(Self::Tcp { host: host.to_owned(), port }),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "tcp:[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "tcp:{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

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
pub struct Listener {
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

impl Listener {
    /// Starts to listen. The file of a Unix socket that nobody listens on any more is replaced.
    ///
    /// # Errors
    /// [`ListenError`].
    pub async fn bind(address: &Address) -> Result<Self, ListenError> {
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
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let refuse = |source| ListenError::Io { address: address.clone(), source };
                std::fs::remove_file(path).map_err(refuse)
            }
            _ => Err(ListenError::InUse { address: address.clone() }),
        }
    }

    /// The address with the port that was really taken.
    pub fn local_address(&self) -> &Address {
        &self.local
    }

    /// Waits for the next connection; says who it is, for people.
    ///
    /// # Errors
    /// What the system says: often only that one connection went wrong.
    pub async fn accept(&self) -> io::Result<(Stream, String)> {
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
                if !may_enter {
                    continue;
                }
                let peer = peer.and_then(|peer| peer.pid());
                let peer = peer.map_or_else(|| "unix".to_owned(), |pid| format!("unix, process {pid}"));
                return Ok((Stream::Unix(stream), peer));
            },
        }
    }
}

/// A connection.
#[derive(Debug)]
pub enum Stream {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a Unix socket.
    Unix(UnixStream),
}

impl Stream {
    /// Connects, from within an async program.
    ///
    /// # Errors
    /// What the system says.
    pub async fn connect(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                Ok(Self::Tcp(stream))
            }
            Address::Unix(path) if vp_shm::unix::is_abstract(path) => {
                let stream = vp_shm::unix::connect(path)?;
                stream.set_nonblocking(true)?;
                Ok(Self::Unix(UnixStream::from_std(stream)?))
            }
            Address::Unix(path) => Ok(Self::Unix(UnixStream::connect(path).await?)),
        }
    }
}

impl Stream {
    /// The connection outside of the async runtime: it never blocks, and says so instead.
    pub fn into_plain(self) -> io::Result<Plain> {
        match self {
            Self::Tcp(stream) => stream.into_std().map(Plain::Tcp),
            Self::Unix(stream) => stream.into_std().map(Plain::Unix),
        }
    }
}

/// A connection outside of the async runtime, which never blocks.
#[derive(Debug)]
pub enum Plain {
    /// Over TCP.
    Tcp(std::net::TcpStream),
    /// Over a Unix socket.
    Unix(std::os::unix::net::UnixStream),
}

impl Plain {
    /// Another handle of it, back in the async runtime.
    pub fn to_stream(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(socket) => TcpStream::from_std(socket.try_clone()?).map(Stream::Tcp),
            Self::Unix(socket) => UnixStream::from_std(socket.try_clone()?).map(Stream::Unix),
        }
    }

    /// Ends it, for all handles.
    pub fn shut_down(&self) {
        let both = std::net::Shutdown::Both;
        // An error says that it has ended.
        let _ = match self {
            Self::Tcp(socket) => socket.shutdown(both),
            Self::Unix(socket) => socket.shutdown(both),
        };
    }

    /// Reads what is there. `None`: nothing is there. 0: the end. Files that come beside it are lost.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        ready(match self {
            Self::Tcp(socket) => (&mut &*socket).read(into),
            Self::Unix(socket) => (&mut &*socket).read(into),
        })
    }

    /// The same, and appends the files that came with it.
    pub fn receive(&self, into: &mut [u8], files: &mut VecDeque<OwnedFd>) -> io::Result<Option<usize>> {
        match self {
            Self::Tcp(_) => self.read(into),
            Self::Unix(socket) => ready(vp_shm::descriptors::receive(socket, into, files)),
        }
    }

    /// Reads at most so many bytes, of those that are there, to where they stay. `None`: nothing is there. 0: the end.
    ///
    /// Only for bytes beside which no files can come: the inside of a frame.
    pub fn read_onto(&self, most: usize, onto: &mut BytesMut) -> io::Result<Option<usize>> {
        ready(vp_shm::stream::read_onto(self, most, onto))
    }

    /// Writes what there is room for. `None`: there is none.
    pub fn write(&self, output: &mut Output) -> io::Result<Option<usize>> {
        ready(match self {
            Self::Tcp(socket) => output.write_to(&mut &*socket),
            Self::Unix(socket) => output.write_to(&mut &*socket),
        })
    }
}

/// A socket that is not ready has nothing to say, and is not broken.
fn ready(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(None)
        }
        done => done.map(Some),
    }
}

impl AsFd for Plain {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, into),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back_as_it_is_written() {
        for text in [
            "tcp:127.0.0.1:7700",
            "tcp:localhost:0",
            "tcp:[::1]:1",
            "unix:/tmp/vp.sock",
            "unix:a:b",
            "unix:@vp",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_what_is_no_address_and_says_what_would_be_one() {
        for text in
            ["", "tcp:", "tcp:host", "tcp::1", "tcp:h:65536", "tcp:::1:5", "tcp:[::1:5", "unix:", "udp:h:1"]
        {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains("tcp:127.0.0.1:7700"), "{text}: {error}");
        }
    }

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
        let (near, far) = tokio::join!(Stream::connect(&address), listener.accept());
        assert!(near.is_ok() && far.is_ok());
        drop(listener);
        assert!(Stream::connect(&address).await.is_err());
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
