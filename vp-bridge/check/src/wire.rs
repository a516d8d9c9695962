//! A stream with a peer: waits are bounded, and the last bytes both ways are kept.

use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use thiserror::Error;
use vp_transport::{
    Address, InClear, MeetingPlace, Order, Readiness, Route, Socket, Stream, UntrustedServer, tls,
};

/// Bytes that are kept of each direction.
const KEPT: usize = 96;
/// Interval at which it is looked whether somebody has connected, or listens.
const LOOK: Duration = Duration::from_millis(2);

/// Reason for which there is no peer to be checked.
#[derive(Debug, Error)]
pub enum MeetError {
    /// Nobody listens there.
    #[error("nobody can be reached at {address}: {source}")]
    Connect {
        /// Address that was tried.
        address: Address,
        /// Reason.
        source: io::Error,
    },
    /// The check cannot listen there.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Address that was tried.
        address: Address,
        /// Reason.
        source: io::Error,
    },
    /// Other hosts could connect, and nobody is asked who they are.
    #[error(
        "cannot listen at {address}: other hosts can reach it, and whoever connects first is checked\n\
         listen at tcp:127.0.0.1:PORT or unix:PATH, or pass --insecure"
    )]
    Open {
        /// Address to listen at.
        address: Address,
    },
    /// The server wants a token, which others on the network could read.
    #[error("{address} wants a token, and it is not sent: {source}")]
    TokenInClear {
        /// Address of the server.
        address: Address,
        /// Address to which the token would have gone, and what would be right.
        source: InClear,
    },
    /// The server wants a token, and is another user's process.
    #[error("{address} wants a token, and it is not sent: {source}")]
    UntrustedServer {
        /// Address of the server.
        address: Address,
        /// User who listens, and what would be right.
        source: UntrustedServer,
    },
    /// Nobody has connected.
    #[error("nobody has connected to {address} in {} s", .waited.as_secs_f64())]
    Nobody {
        /// Address that was listened at.
        address: Address,
        /// Time for which a connection was waited for.
        waited: Duration,
    },
}

/// Outcome of a wait for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitResult {
    Bytes,
    /// The peer has closed the stream.
    End,
    /// The time to wait is over.
    Nothing,
}

pub(crate) struct Wire {
    stream: Stream,
    sent: Vec<u8>,
    received: Vec<u8>,
}

fn keep(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
    kept.drain(..kept.len().saturating_sub(KEPT));
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Wire {
    pub(crate) fn new(socket: Socket) -> Wire {
        Wire { stream: Stream::Socket(socket), sent: Vec::new(), received: Vec::new() }
    }

    /// Connects to a peer that listens.
    pub(crate) fn connect(
        address: &Address,
        tls: Option<&tls::Client>,
        timeout: Duration,
    ) -> Result<Wire, MeetError> {
        let until = Instant::now() + timeout;
        loop {
            match Socket::connect(address, tls, timeout) {
                Ok(socket) => return Ok(Wire::new(socket)),
                Err(_) if Instant::now() < until => std::thread::sleep(LOOK),
                Err(source) => return Err(MeetError::Connect { address: address.clone(), source }),
            }
        }
    }

    /// Meets a peer that listens or connects. Other hosts can connect only if that is wanted, `insecure`.
    pub(crate) fn meet(place: &MeetingPlace, insecure: bool, timeout: Duration) -> Result<Wire, MeetError> {
        let MeetingPlace { order, address } = place;
        match order {
            Order::Connect => return Wire::connect(address, None, timeout),
            Order::Either => {
                if let Ok(socket) = Socket::connect(address, None, timeout) {
                    return Ok(Wire::new(socket));
                }
            }
            Order::Listen => {}
        }
        Listener::bind(address, insecure)?.accept(timeout)
    }

    /// Returns the way by which the stream gets to the peer.
    pub(crate) fn route(&self) -> io::Result<Route> {
        self.stream.route()
    }

    /// Checks whether the server that was found at an address may have a token.
    pub(crate) fn check_server(&self, address: &Address) -> io::Result<Result<(), UntrustedServer>> {
        self.stream.check_server(Some(address))
    }

    /// Sends all. What a peer that is gone does not take is seen by what it does not answer.
    pub(crate) fn send(&mut self, bytes: &[u8], until: Instant) {
        keep(&mut self.sent, bytes);
        let mut rest = bytes;
        while !rest.is_empty() && Instant::now() < until {
            match self.stream.write(&mut rest) {
                Ok(Some(_)) => {}
                Ok(None) => self.stream.wait(Readiness::BytesOrRoom, Some(LOOK)),
                Err(_) => return,
            }
        }
    }

    pub(crate) fn receive(&mut self, onto: &mut BytesMut, until: Instant) -> WaitResult {
        loop {
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk) {
                Ok(Some(0)) => return WaitResult::End,
                Ok(Some(read)) => {
                    onto.extend_from_slice(&chunk[..read]);
                    keep(&mut self.received, &chunk[..read]);
                    return WaitResult::Bytes;
                }
                Ok(None) => {
                    let Some(left) = until.checked_duration_since(Instant::now()) else {
                        return WaitResult::Nothing;
                    };
                    self.stream.wait(Readiness::Bytes, Some(left));
                }
                // It is gone, with or without what it had not read.
                Err(_) => return WaitResult::End,
            }
        }
    }

    /// Returns true if the peer closes the stream by then; what it still sends is kept only as the last bytes.
    pub(crate) fn is_closed_by(&mut self, until: Instant) -> bool {
        let mut rest = BytesMut::new();
        loop {
            match self.receive(&mut rest, until) {
                WaitResult::End => return true,
                WaitResult::Nothing => return false,
                WaitResult::Bytes => rest.clear(),
            }
        }
    }

    pub(crate) fn last_sent(&self) -> String {
        hexadecimal(&self.sent)
    }

    pub(crate) fn last_received(&self) -> String {
        hexadecimal(&self.received)
    }
}

/// Socket at which peers connect.
pub(crate) struct Listener {
    address: Address,
    kind: ListenerKind,
}

enum ListenerKind {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let (ListenerKind::Unix(_), Address::Unix(path)) = (&self.kind, &self.address) {
            // Nobody else connects there.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Listener {
    /// Listens; where other hosts can connect only if that is wanted, `insecure`.
    pub(crate) fn bind(address: &Address, insecure: bool) -> Result<Listener, MeetError> {
        let refuse = |source: io::Error| MeetError::Listen { address: address.clone(), source };
        let kind = match address {
            Address::Tcp { host, port } => {
                // Looked up once: what is bound is what was looked at.
                let places: Vec<SocketAddr> =
                    (host.as_str(), *port).to_socket_addrs().map_err(refuse)?.collect();
                if !places.iter().all(|place| place.ip().is_loopback()) {
                    if !insecure {
                        return Err(MeetError::Open { address: address.clone() });
                    }
                    tracing::warn!("{address} is insecure: other hosts can reach it");
                }
                let listener = TcpListener::bind(&places[..]).map_err(refuse)?;
                listener.set_nonblocking(true).map_err(refuse)?;
                ListenerKind::Tcp(listener)
            }
            Address::Tls { .. } => {
                let what = "a check listens without TLS: write tcp: in place of tls:";
                return Err(refuse(io::Error::new(ErrorKind::Unsupported, what)));
            }
            Address::Unix(path) => {
                let listener = UnixListener::bind(path).map_err(refuse)?;
                listener.set_nonblocking(true).map_err(refuse)?;
                ListenerKind::Unix(listener)
            }
        };
        Ok(Listener { address: address.clone(), kind })
    }

    fn try_accept(&self) -> io::Result<Socket> {
        match &self.kind {
            ListenerKind::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
            ListenerKind::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(Socket::Unix(stream))
            }
        }
    }

    pub(crate) fn accept(&self, timeout: Duration) -> Result<Wire, MeetError> {
        let until = Instant::now() + timeout;
        let address = || self.address.clone();
        loop {
            match self.try_accept() {
                Ok(socket) => return Ok(Wire::new(socket)),
                Err(error) if error.kind() != ErrorKind::WouldBlock => {
                    return Err(MeetError::Listen { address: address(), source: error });
                }
                Err(_) if Instant::now() < until => std::thread::sleep(LOOK),
                Err(_) => return Err(MeetError::Nobody { address: address(), waited: timeout }),
            }
        }
    }
}
