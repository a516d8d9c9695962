//! Listening: accepts connections at an address, one by one, within the async runtime.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use socket2::SockRef;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream, lookup_host};
use vp_transport::{Address, UnixPeer, tls};

use crate::access::{Access, Origin};
use crate::stream::Stream;

/// A place that cannot be listened on.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The address is used by another process.
    #[error("cannot listen on {address}: address in use by another process\n{}", hint(address))]
    InUse {
        /// The place.
        address: Address,
    },
    /// A file that is not a socket is at the path; it is not changed.
    #[error("cannot listen on {address}: a file that is no socket is in the way")]
    NoSocket {
        /// The place.
        address: Address,
    },
    /// Other hosts could connect, and there is no authentication.
    #[error(
        "cannot listen on {address}: other hosts can reach it, and {why}\n\
         listen on tcp:127.0.0.1:PORT, on tls:HOST:PORT with --certificate, --key and --tokens or --client-ca of `vp serve` (--make-certificates \
         makes some), or pass --insecure to let in whoever can reach it"
    )]
    Open {
        /// The place.
        address: Address,
        /// Part of the authentication that is lacking.
        why: &'static str,
    },
    /// An address for TLS, without a certificate to present.
    #[error(
        "cannot listen on {address}: there is no certificate to be shown\n\
         pass --certificate and --key to `vp serve`; --make-certificates DIR makes some"
    )]
    NoCertificate {
        /// The place.
        address: Address,
    },
    /// A certificate, or an authority of clients' certificates, for an address without TLS: no certificate would be shown or asked for
    /// there.
    #[error("cannot listen on {address}: it has no TLS, so {}\n{}", unused(*asks_clients), instead(address))]
    NoTls {
        /// The place.
        address: Address,
        /// True if clients were to be known by certificates.
        asks_clients: bool,
    },
    /// Anything else.
    #[error("cannot listen on {address}: {source}")]
    Io {
        /// The place.
        address: Address,
        /// Error of the system.
        source: io::Error,
    },
}

fn hint(address: &Address) -> String {
    match address {
        Address::Tcp { .. } | Address::Tls { .. } => {
            let any = Address::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
            format!("give {any} to take any free port")
        }
        Address::Unix(path) => format!("give unix:{}.2 to take another path", path.display()),
    }
}

fn unused(asks_clients: bool) -> &'static str {
    match asks_clients {
        true => "clients would be let in without the certificates that --client-ca is for",
        false => "there is no use for --certificate and --key",
    }
}

fn instead(address: &Address) -> String {
    let with_tls = match address {
        Address::Tcp { host, port } | Address::Tls { host, port } => {
            Address::Tls { host: host.clone(), port: *port }.to_string()
        }
        Address::Unix(_) => "tls:HOST:PORT".to_owned(),
    };
    format!("listen on {with_tls}, or leave out --certificate, --key and --client-ca")
}

/// Takes connections at an address. A Unix socket's file is removed with it.
#[derive(Debug)]
pub(crate) struct Listener {
    local: Address,
    socket: Listening,
}

#[derive(Debug)]
enum Listening {
    Tcp(TcpListener),
    Tls(TcpListener, tls::Server),
    /// An abstract one has no file.
    Unix(UnixListener, #[expect(dead_code, reason = "held to be dropped")] Option<SocketFile>),
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
            Listening::Tcp(_) | Listening::Tls(..) => {}
            Listening::Unix(listener, _) => {
                vp_shm::descriptors::drain_listener(listener);
            }
        }
    }
}

impl Listener {
    /// Starts to listen. The file of a Unix socket on which no process listens any more is replaced.
    ///
    /// # Errors
    /// [`ListenError`].
    pub(crate) async fn bind(address: &Address, access: &Access) -> Result<Self, ListenError> {
        let refuse = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ListenError::InUse { address: address.clone() },
            _ => ListenError::Io { address: address.clone(), source },
        };
        match address {
            Address::Tcp { host, port } => {
                let why = "it has no TLS: what is said there can be read and changed on the way";
                let listener = Self::bind_tcp(address, (host, *port), access, Some(why)).await?;
                let port = listener.local_addr().map_err(refuse)?.port();
                let local = Address::Tcp { host: host.clone(), port };
                Ok(Self { local, socket: Listening::Tcp(listener) })
            }
            Address::Tls { host, port } => {
                let no_certificate = || ListenError::NoCertificate { address: address.clone() };
                let settings = access.tls.clone().ok_or_else(no_certificate)?;
                let is_open = access.tokens.is_empty() && !settings.knows_clients();
                let why = is_open.then_some("who connects is not asked who it is");
                let listener = Self::bind_tcp(address, (host, *port), access, why).await?;
                let port = listener.local_addr().map_err(refuse)?.port();
                let local = Address::Tls { host: host.clone(), port };
                Ok(Self { local, socket: Listening::Tls(listener, settings) })
            }
            Address::Unix(path) => {
                let listener = match vp_shm::unix::bind(path) {
                    Err(error)
                        if error.kind() == io::ErrorKind::AddrInUse && !vp_shm::unix::is_abstract(path) =>
                    {
                        Self::clear(address, path).await?;
                        vp_shm::unix::bind(path)
                    }
                    result => result,
                };
                let listener = listener.and_then(UnixListener::from_std).map_err(refuse)?;
                let file = (!vp_shm::unix::is_abstract(path))
                    .then(|| SocketFile { path: path.clone(), inode: SocketFile::inode(path) });
                if let (Some(group), Some(_)) = (&access.group, &file) {
                    group.open(path).map_err(refuse)?;
                }
                Ok(Self { local: address.clone(), socket: Listening::Unix(listener, file) })
            }
        }
    }

    /// Refuses an address at which the certificates of a server's own sessions would not be used: whoever gives them expects clients to
    /// need them there. Peers of other protocols have no TLS in any case.
    ///
    /// # Errors
    /// [`ListenError::NoTls`].
    pub(crate) fn check_tls(address: &Address, access: &Access) -> Result<(), ListenError> {
        match (&access.tls, address) {
            (None, _) | (Some(_), Address::Tls { .. }) => Ok(()),
            (Some(settings), Address::Tcp { .. } | Address::Unix(_)) => {
                Err(ListenError::NoTls { address: address.clone(), asks_clients: settings.knows_clients() })
            }
        }
    }

    /// Listens at a port; not if other hosts can reach it though they should not, for that reason, unless that is wanted.
    async fn bind_tcp(
        address: &Address,
        (host, port): (&str, u16),
        access: &Access,
        why: Option<&'static str>,
    ) -> Result<TcpListener, ListenError> {
        let refuse = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ListenError::InUse { address: address.clone() },
            _ => ListenError::Io { address: address.clone(), source },
        };
        // Looked up once: what is bound is what was looked at.
        let places: Vec<SocketAddr> = lookup_host((host, port)).await.map_err(refuse)?.collect();
        if let Some(why) = why.filter(|_| !places.iter().all(|place| place.ip().is_loopback())) {
            if !access.insecure {
                return Err(ListenError::Open { address: address.clone(), why });
            }
            tracing::warn!("{address} is insecure: other hosts can reach it, and {why}");
        }
        TcpListener::bind(&places[..]).await.map_err(refuse)
    }

    /// Removes a socket's file that was left behind: no process answers there.
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

    /// Waits for the next connection; says where it is from.
    ///
    /// # Errors
    /// What the system says: often only that one connection went wrong.
    pub(crate) async fn accept(&self) -> io::Result<(Stream, Origin)> {
        match &self.socket {
            Listening::Tcp(listener) => {
                let (stream, origin) = accept_tcp(listener).await?;
                Ok((Stream::Tcp(stream), origin))
            }
            Listening::Tls(listener, settings) => {
                let (stream, origin) = accept_tcp(listener).await?;
                Ok((Stream::with_tls(stream, settings)?, origin))
            }
            Listening::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                let origin = UnixPeer::of(&stream).map_or(Origin::Unknown, Origin::Process);
                Ok((Stream::from(stream), origin))
            }
        }
    }
}

/// Bytes that the system takes for a peer before its window has room for them (`TCP_NOTSENT_LOWAT`, tcp(7)). Without a bound
/// it takes megabytes, and each of many peers that ask and read no answer has the platform make as many answers. The
/// bytes under way to a peer that reads are as many as its path takes.
const UNSENT: u32 = 128 << 10;

async fn accept_tcp(listener: &TcpListener) -> io::Result<(TcpStream, Origin)> {
    let (stream, peer) = listener.accept().await?;
    // Requests are small and wait for answers: nothing is won by collecting them.
    stream.set_nodelay(true)?;
    // A system that has no such option takes more; the connection is as good.
    let _ = SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT);
    Ok((stream, Origin::Network(peer.ip().to_canonical(), peer.port())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::time::Duration;
    use vp_transport::Socket;

    async fn bind(address: &Address) -> Result<Listener, ListenError> {
        Listener::bind(address, &Access::default()).await
    }

    #[tokio::test]
    async fn the_system_takes_little_for_a_peer_that_does_not_read() {
        let listener = bind(&"tcp:127.0.0.1:0".parse().unwrap()).await.unwrap();
        let Address::Tcp { host, port } = listener.local_address() else { panic!("not over TCP") };
        let peer = tokio::net::TcpStream::connect((host.as_str(), *port)).await.unwrap();
        let (Stream::Tcp(stream), _) = listener.accept().await.unwrap() else { panic!("not over TCP") };
        stream.writable().await.unwrap();
        let (mut taken, bytes) = (0, [0; 4096]);
        loop {
            match stream.try_write(&bytes) {
                Ok(written) => taken += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        let window = SockRef::from(&peer).recv_buffer_size().unwrap();
        assert!(taken <= window + 2 * UNSENT as usize, "{taken} bytes, and a window of {window}");
    }

    #[tokio::test]
    async fn what_other_hosts_can_reach_is_not_listened_on_unless_that_is_said_aloud() {
        for open in ["tcp:0.0.0.0:0", "tcp:[::]:0"] {
            let address: Address = open.parse().unwrap();
            let error = bind(&address).await.unwrap_err();
            assert!(matches!(&error, ListenError::Open { .. }), "{error:?}");
            assert!(error.to_string().contains("--insecure"), "{error}");
        }
        for closed in ["tcp:127.0.0.1:0", "tcp:127.1.2.3:0", "tcp:localhost:0"] {
            bind(&closed.parse().unwrap()).await.unwrap();
        }
        let access = Access { insecure: true, ..Access::default() };
        Listener::bind(&"tcp:0.0.0.0:0".parse().unwrap(), &access).await.unwrap();
        let error = bind(&"tls:127.0.0.1:0".parse().unwrap()).await.unwrap_err();
        assert!(matches!(error, ListenError::NoCertificate { .. }), "{error:?}");
    }

    #[tokio::test]
    async fn a_sockets_file_is_for_its_user_alone_or_for_a_group_too() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vp.sock");
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let listener = bind(&Address::Unix(path.clone())).await.unwrap();
        assert_eq!(mode(), 0o600);
        drop(listener);
        // The user's own, which may always be given.
        let id = nix::unistd::getegid();
        let name = nix::unistd::Group::from_gid(id).unwrap().expect("a group").name;
        let group = Some(crate::access::UserGroup::named(&name).unwrap());
        let access = Access { group, ..Access::default() };
        let _listener = Listener::bind(&Address::Unix(path.clone()), &access).await.unwrap();
        assert_eq!(mode(), 0o660);
        assert_eq!(std::fs::metadata(&path).unwrap().gid(), id.as_raw());
    }

    #[tokio::test]
    async fn an_address_in_use_is_refused_with_a_way_out() {
        let first = bind(&"tcp:127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = first.local_address();
        let error = bind(address).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "cannot listen on {address}: address in use by another process\n\
                 give tcp:127.0.0.1:0 to take any free port"
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
        let listener = bind(&address).await.unwrap();
        assert!(matches!(bind(&address).await, Err(ListenError::InUse { .. })));
        drop(listener);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn an_abstract_socket_has_no_file_and_is_free_again_when_nobody_listens() {
        let address: Address = format!("unix:@vp-test-{}", std::process::id()).parse().unwrap();
        let listener = bind(&address).await.unwrap();
        assert!(matches!(bind(&address).await, Err(ListenError::InUse { .. })));
        let near = Socket::connect(&address, None, Duration::from_secs(60));
        assert!(near.is_ok() && listener.accept().await.is_ok());
        drop(listener);
        assert!(Socket::connect(&address, None, Duration::from_secs(60)).is_err());
        assert!(bind(&address).await.is_ok());
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "mine").unwrap();
        let error = bind(&Address::Unix(path.clone())).await.unwrap_err();
        assert!(matches!(error, ListenError::NoSocket { .. }));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
