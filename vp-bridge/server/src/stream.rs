//! A connection within the async runtime: during the greeting, and for the goodbye.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use vp_shm::descriptors;
use vp_transport::tls::{self, TlsSocket};
use vp_transport::{Readiness, Socket};

/// A connection.
#[derive(Debug)]
pub(crate) enum Stream {
    /// Over TCP.
    Tcp(TcpStream),
    /// With TLS, and another handle of its TCP socket, which tells when that is ready.
    Tls(Socket, TcpStream),
    /// Over a Unix socket.
    Unix(UnixEnd),
}

/// A Unix socket, which ends when this is dropped. Files that come with its bytes are not closed by the thread
/// that reads or drops it, because that [may take long](descriptors).
#[derive(Debug)]
pub(crate) struct UnixEnd(Option<UnixStream>);

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Self::Unix(UnixEnd(Some(stream)))
    }
}

impl UnixEnd {
    fn stream(&mut self) -> io::Result<&mut UnixStream> {
        self.0.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    fn poll_read(&mut self, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let stream = self.stream()?;
        loop {
            ready!(stream.poll_read_ready(context))?;
            let read = stream.try_io(Interest::READABLE, || {
                descriptors::receive(&*stream, into.initialize_unfilled(), &mut VecDeque::new())
            });
            match read {
                Ok(read) => into.advance(read),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Poll::Ready(Err(error)),
            }
            return Poll::Ready(Ok(()));
        }
    }
}

impl Drop for UnixEnd {
    fn drop(&mut self) {
        if let Some(stream) = &self.0 {
            descriptors::drain(stream);
        }
    }
}

impl Stream {
    /// One over TCP on which TLS is to be spoken.
    pub(crate) fn with_tls(stream: TcpStream, settings: &tls::Server) -> io::Result<Self> {
        Self::of(&Socket::Tls(TlsSocket::server(stream.into_std()?, settings)?))
    }

    /// The connection outside of the async runtime. Over TCP the peer's host may be out of reach for so long.
    pub(crate) fn into_socket(self, limit: Option<Duration>) -> io::Result<Socket> {
        let socket = match self {
            Self::Tcp(stream) => Socket::Tcp(stream.into_std()?),
            Self::Tls(socket, _) => socket,
            Self::Unix(mut end) => match end.0.take() {
                Some(stream) => Socket::Unix(stream.into_std()?),
                None => return Err(ErrorKind::NotConnected.into()),
            },
        };
        if let Some(limit) = limit {
            socket.keep_alive(limit)?;
        }
        Ok(socket)
    }

    /// Another handle of a connection, back in the async runtime.
    pub(crate) fn of(socket: &Socket) -> io::Result<Self> {
        let tcp = |socket| match socket {
            Socket::Tcp(socket) => TcpStream::from_std(socket),
            _ => Err(ErrorKind::Unsupported.into()),
        };
        match socket.try_clone()? {
            Socket::Unix(socket) => UnixStream::from_std(socket).map(Self::from),
            socket @ Socket::Tls(_) => {
                let ready = tcp(socket.without_tls()?)?;
                Ok(Self::Tls(socket, ready))
            }
            socket @ Socket::Tcp(_) => tcp(socket).map(Self::Tcp),
        }
    }

    /// The TLS on it, if there is.
    pub(crate) fn tls(&self) -> Option<&TlsSocket> {
        match self {
            Self::Tls(Socket::Tls(socket), _) => Some(socket),
            _ => None,
        }
    }

    /// Does the work before the first byte: with TLS a handshake.
    ///
    /// # Errors
    /// As [`Socket::begin`].
    pub(crate) async fn begin(&self) -> io::Result<()> {
        let Self::Tls(socket, system) = self else { return Ok(()) };
        while let Some(readiness) = socket.begin()? {
            let interest = match readiness {
                Readiness::Bytes => Interest::READABLE,
                Readiness::BytesOrRoom => Interest::WRITABLE,
            };
            system.ready(interest).await?;
            let begun = system.try_io(interest, || match socket.begin()? {
                None => Ok(()),
                Some(_) => Err(ErrorKind::WouldBlock.into()),
            });
            match begun {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                begun => return begun,
            }
        }
        Ok(())
    }

    /// Sends as many bytes as the system takes without waiting. On a connection with TLS none are sent.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn send_at_once(&self, bytes: &[u8]) -> io::Result<usize> {
        // Not by tokio's ways, which know nothing of a new socket's readiness before the runtime has looked.
        match self {
            Self::Tcp(stream) => SockRef::from(stream).send(bytes),
            Self::Unix(UnixEnd(Some(stream))) => SockRef::from(stream).send(bytes),
            Self::Unix(UnixEnd(None)) => Err(ErrorKind::NotConnected.into()),
            Self::Tls(..) => Ok(0),
        }
    }

    /// Returns the same TCP socket, on which the peer has spoken no TLS.
    pub(crate) fn without_tls(&self) -> io::Result<Self> {
        match self {
            Self::Tls(socket, _) => Self::of(&socket.without_tls()?),
            _ => Err(ErrorKind::Unsupported.into()),
        }
    }
}

/// Turns what cannot be done now into the error that tokio has for it.
fn done(done: io::Result<Option<usize>>) -> io::Result<usize> {
    done?.ok_or_else(|| ErrorKind::WouldBlock.into())
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (socket, system) = match self.get_mut() {
            Self::Tcp(stream) => return Pin::new(stream).poll_read(context, into),
            Self::Unix(end) => return end.poll_read(context, into),
            Self::Tls(socket, system) => (socket, system),
        };
        // First, as the system does not tell of what TLS has decrypted.
        let mut read = done(socket.read(into.initialize_unfilled()));
        loop {
            match read {
                Ok(read) => {
                    into.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Poll::Ready(Err(error)),
                Err(_) => ready!(system.poll_read_ready(context))?,
            }
            read = system.try_io(Interest::READABLE, || done(socket.read(into.initialize_unfilled())));
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let (socket, system) = match self.get_mut() {
            Self::Tcp(stream) => return Pin::new(stream).poll_write(context, bytes),
            Self::Unix(end) => return Pin::new(end.stream()?).poll_write(context, bytes),
            Self::Tls(socket, system) => (socket, system),
        };
        loop {
            ready!(system.poll_write_ready(context))?;
            match system.try_io(Interest::WRITABLE, || done(socket.write(&mut &*bytes))) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(end) => Pin::new(end.stream()?).poll_flush(context),
            // What is not written is still the caller's.
            Self::Tls(..) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(end) => Pin::new(end.stream()?).poll_shutdown(context),
            Self::Tls(socket, _) => Poll::Ready(socket.end_writing()),
        }
    }
}
