//! A stream with a peer: waits are bounded, and the last bytes both ways are kept.

use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use thiserror::Error;
use vp_transport::{Address, MeetingPlace, Order, Readiness, Socket, Stream, tls};

/// Bytes that are kept of each direction.
const KEPT: usize = 96;
/// How often it is looked whether somebody has connected, or listens.
const LOOK: Duration = Duration::from_millis(2);

/// Why there is no peer to be checked.
#[derive(Debug, Error)]
pub enum MeetError {
    /// Nobody listens there.
    #[error("nobody can be reached at {address}: {source}")]
    Connect {
        /// Where.
        address: Address,
        /// Why.
        source: io::Error,
    },
    /// It cannot be listened there.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Where.
        address: Address,
        /// Why.
        source: io::Error,
    },
    /// Nobody has connected.
    #[error("nobody has connected to {address} in {} s", .waited.as_secs_f64())]
    Nobody {
        /// Where.
        address: Address,
        /// How long it was waited.
        waited: Duration,
    },
}

/// What came of a wait for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitResult {
    Bytes,
    /// The peer has closed the stream.
    End,
    /// It was waited long enough.
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

    /// Meets the peer, who listens or connects.
    pub(crate) fn meet(
        place: &MeetingPlace,
        tls: Option<&tls::Client>,
        timeout: Duration,
    ) -> Result<Wire, MeetError> {
        let MeetingPlace { order, address } = place;
        let until = Instant::now() + timeout;
        if *order != Order::Listen {
            loop {
                match Socket::connect(address, tls, timeout) {
                    Ok(socket) => return Ok(Wire::new(socket)),
                    Err(_) if *order == Order::Either => break,
                    Err(_) if Instant::now() < until => std::thread::sleep(LOOK),
                    Err(source) => return Err(MeetError::Connect { address: address.clone(), source }),
                }
            }
        }
        Listener::bind(address)?.accept(timeout)
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

    /// Whether the peer closes the stream by then; what it still sends is kept only as the last bytes.
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

/// Where peers connect.
pub(crate) struct Listener {
    address: Address,
    kind: Kind,
}

enum Kind {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let (Kind::Unix(_), Address::Unix(path)) = (&self.kind, &self.address) {
            // Nobody else connects there.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Listener {
    pub(crate) fn bind(address: &Address) -> Result<Listener, MeetError> {
        let bind = || -> io::Result<Kind> {
            Ok(match address {
                Address::Tcp { host, port } => {
                    let listener = TcpListener::bind((host.as_str(), *port))?;
                    listener.set_nonblocking(true)?;
                    Kind::Tcp(listener)
                }
                Address::Tls { .. } => {
                    let what = "a check listens without TLS: write tcp: in place of tls:";
                    return Err(io::Error::new(ErrorKind::Unsupported, what));
                }
                Address::Unix(path) => {
                    let listener = UnixListener::bind(path)?;
                    listener.set_nonblocking(true)?;
                    Kind::Unix(listener)
                }
            })
        };
        match bind() {
            Ok(kind) => Ok(Listener { address: address.clone(), kind }),
            Err(source) => Err(MeetError::Listen { address: address.clone(), source }),
        }
    }

    fn try_accept(&self) -> io::Result<Socket> {
        match &self.kind {
            Kind::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
            Kind::Unix(listener) => {
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
