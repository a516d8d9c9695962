//! Getting a stream to a peer whose protocol lets either side listen.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, sleep_until};
use vp_transport::{Address, MeetingPlace, Order};

use crate::access::{Access, Origin};
use crate::listener::{ListenError, Listener};
use crate::stranger_log::StrangerLog;
use crate::stream::Stream;

/// The shortest time between two connections to a peer that does not listen yet, or that has gone.
const RETRY: Duration = Duration::from_millis(50);

/// Place at which a peer is met, from the server's beginning on.
pub(crate) struct Meeting {
    address: Address,
    access: Access,
    strangers: StrangerLog,
    side: MeetingSide,
    /// Time at which this side last connected.
    last_connected: Option<Instant>,
}

enum MeetingSide {
    Listens(Listener),
    Connects,
    /// The peer listened already.
    Connected(Stream),
}

/// Connects to a peer that listens.
pub(crate) async fn connect(address: &Address) -> io::Result<Stream> {
    match address {
        Address::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            // Packets are small and wait for answers: nothing is won by collecting them.
            stream.set_nodelay(true)?;
            Ok(Stream::Tcp(stream))
        }
        Address::Tls { .. } => Err(no_tls()),
        Address::Unix(path) => {
            // An abstract one's name has a zero byte in front for the system (unix(7)).
            let stream = match path.as_os_str().as_bytes().strip_prefix(b"@") {
                Some(name) => UnixStream::connect(OsStr::from_bytes(&[&b"\0"[..], name].concat())).await,
                None => UnixStream::connect(path).await,
            };
            stream.map(Stream::from)
        }
    }
}

fn no_tls() -> io::Error {
    io::Error::new(
        ErrorKind::Unsupported,
        "peers of other protocols have no TLS: write tcp: in place of tls:",
    )
}

impl Meeting {
    /// Connects or listens, as the order has it.
    ///
    /// # Errors
    /// It cannot listen there.
    pub(crate) async fn arrange(
        place: &MeetingPlace,
        access: &Access,
        strangers: StrangerLog,
    ) -> Result<Meeting, ListenError> {
        let MeetingPlace { order, address } = place.clone();
        if let Address::Tls { .. } = address {
            return Err(ListenError::Io { address, source: no_tls() });
        }
        let mut last_connected = None;
        let side = match order {
            Order::Listen => MeetingSide::Listens(Listener::bind(&address, access).await?),
            Order::Connect => MeetingSide::Connects,
            Order::Either => match connect(&address).await {
                Ok(stream) => {
                    last_connected = Some(Instant::now());
                    MeetingSide::Connected(stream)
                }
                Err(_) => MeetingSide::Listens(Listener::bind(&address, access).await?),
            },
        };
        Ok(Meeting { address, access: access.clone(), strangers, side, last_connected })
    }

    /// Returns the address of the place, with the port that was really taken.
    pub(crate) fn address(&self) -> &Address {
        match &self.side {
            MeetingSide::Listens(listener) => listener.local_address(),
            MeetingSide::Connects | MeetingSide::Connected(_) => &self.address,
        }
    }

    /// Connects, to a peer that may have gone at once the last time, or for which the server had no place.
    async fn connect_after_pause(&mut self) -> io::Result<Stream> {
        if let Some(last) = self.last_connected {
            sleep_until(last + RETRY).await;
        }
        let stream = connect(&self.address).await?;
        self.last_connected = Some(Instant::now());
        Ok(stream)
    }

    /// Waits for the next stream; says where it is from, if the peer has connected.
    pub(crate) async fn next(&mut self) -> (Stream, Option<Origin>) {
        let mut is_told = false;
        loop {
            match std::mem::replace(&mut self.side, MeetingSide::Connects) {
                // From then on it is who listens.
                MeetingSide::Connected(stream) => return (stream, None),
                MeetingSide::Connects => match self.connect_after_pause().await {
                    Ok(stream) => return (stream, None),
                    Err(error) => {
                        let is_awaited = [ErrorKind::ConnectionRefused, ErrorKind::NotFound];
                        if !is_awaited.contains(&error.kind()) && !std::mem::replace(&mut is_told, true) {
                            tracing::warn!("{}: {error}", self.address);
                        }
                        tokio::time::sleep(RETRY).await;
                    }
                },
                MeetingSide::Listens(listener) => {
                    let accepted = listener.accept().await;
                    self.side = MeetingSide::Listens(listener);
                    match accepted {
                        Ok((stream, origin)) => match self.access.refusal(origin) {
                            None => return (stream, Some(origin)),
                            Some(why) => {
                                let line = format!("{} ({origin}): {why}; turned away", self.address);
                                self.strangers.add(&line);
                            }
                        },
                        Err(error) => {
                            // Mostly too many open files: that passes when sessions end.
                            let line = format!("{}: cannot take a connection: {error}", self.address);
                            self.strangers.add(&line);
                            tokio::time::sleep(RETRY).await;
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn a_peer_that_goes_at_once_is_not_connected_to_again_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("peer");
        let _peer = UnixListener::bind(&path).unwrap();
        for order in [Order::Connect, Order::Either] {
            let place = MeetingPlace { order, address: Address::Unix(path.clone()) };
            let began = Instant::now();
            let mut meeting =
                Meeting::arrange(&place, &Access::default(), StrangerLog::default()).await.unwrap();
            for _ in 0..3 {
                drop(meeting.next().await);
            }
            assert!(began.elapsed() >= 2 * RETRY, "{order:?}: {:?}", began.elapsed());
        }
    }
}
