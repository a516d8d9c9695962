//! Privacy of what is sent to the other end of a stream.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use crate::{Socket, Stream};

/// Route of a stream to its other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Connection within this process, through a Unix socket, or by TCP to an address of this host.
    WithinHost,
    /// TLS over TCP.
    Tls,
    /// TCP without TLS, to this address.
    Tcp(SocketAddr),
}

/// Error of a route: what is sent to this address could be read on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "what is sent to {0} can be read on the network: write tls: in place of tcp:, with the authority's certificate in VP_CA, or connect to \
     a tunnel on this host"
)]
pub struct InClear(pub SocketAddr);

impl Route {
    /// Checks that a secret may be sent that way: nobody between both ends can read it. What goes to a loopback address does not leave
    /// the host (RFC 1122, 3.2.1.3; RFC 4291, 2.5.3).
    ///
    /// # Errors
    /// [`InClear`].
    pub fn check_private(self) -> Result<(), InClear> {
        match self {
            Self::Tcp(address) if !address.ip().to_canonical().is_loopback() => Err(InClear(address)),
            Self::WithinHost | Self::Tls | Self::Tcp(_) => Ok(()),
        }
    }
}

/// Returns the route of a TCP stream: one whose ends have the same address does not leave this host.
fn of_tcp(near: SocketAddr, far: SocketAddr) -> Route {
    match near.ip() == far.ip() {
        true => Route::WithinHost,
        false => Route::Tcp(far),
    }
}

impl Stream {
    /// Returns the route to the other end.
    ///
    /// # Errors
    /// What the system says: over TCP the peer may have gone.
    pub fn route(&self) -> io::Result<Route> {
        match self {
            Self::Socket(Socket::Tcp(socket)) => Ok(of_tcp(socket.local_addr()?, socket.peer_addr()?)),
            Self::Socket(Socket::Tls(_)) => Ok(Route::Tls),
            Self::Socket(Socket::Unix(_)) | Self::InProcess(_) => Ok(Route::WithinHost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_process;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_secret_leaves_the_host_only_with_tls() {
        for here in ["127.0.0.1:7700", "127.1.2.3:1", "[::1]:7700", "[::ffff:127.0.0.1]:7700"] {
            assert_eq!(Route::Tcp(here.parse().unwrap()).check_private(), Ok(()), "{here}");
        }
        for elsewhere in
            ["10.0.0.1:7700", "192.0.2.1:7700", "0.0.0.0:7700", "[2001:db8::1]:7700", "[fe80::1]:1", "[::]:1"]
        {
            let address = elsewhere.parse().unwrap();
            let error = Route::Tcp(address).check_private().unwrap_err();
            assert_eq!(error, InClear(address));
            let told = error.to_string();
            assert!(told.contains(elsewhere) && told.contains("write tls:"), "{told}");
        }
        for route in [Route::WithinHost, Route::Tls] {
            assert_eq!(route.check_private(), Ok(()));
        }
    }

    #[test]
    fn a_stream_knows_how_it_gets_to_its_other_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        let tcp = Stream::Socket(Socket::Tcp(TcpStream::connect(there).unwrap()));
        assert_eq!(tcp.route().unwrap(), Route::WithinHost);
        let (here, elsewhere) = ("10.0.0.1:4000".parse().unwrap(), "10.0.0.2:7700".parse().unwrap());
        assert_eq!(of_tcp(here, elsewhere), Route::Tcp(elsewhere));
        assert_eq!(of_tcp(here, "10.0.0.1:7700".parse().unwrap()), Route::WithinHost);
        let (unix, _far) = UnixStream::pair().unwrap();
        assert_eq!(Stream::Socket(Socket::Unix(unix)).route().unwrap(), Route::WithinHost);
        let (inside, _far) = in_process::pair();
        assert_eq!(inside.route().unwrap(), Route::WithinHost);
    }
}
