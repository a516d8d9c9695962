//! A connection within the async runtime: as long as it is greeted, and when it is bidden farewell.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use vp_shm::descriptors;
use vp_transport::Socket;

/// A connection.
#[derive(Debug)]
pub(crate) enum Stream {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a Unix socket.
    Unix(UnixEnd),
}

/// A Unix socket, which ends when this is dropped. Files that come beside its bytes are closed, neither by who reads nor by who
/// drops it: that [may take long](descriptors).
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
    /// The connection outside of the async runtime.
    pub(crate) fn into_socket(self) -> io::Result<Socket> {
        match self {
            Self::Tcp(stream) => stream.into_std().map(Socket::Tcp),
            Self::Unix(mut end) => match end.0.take() {
                Some(stream) => stream.into_std().map(Socket::Unix),
                None => Err(io::ErrorKind::NotConnected.into()),
            },
        }
    }

    /// Another handle of a connection, back in the async runtime.
    pub(crate) fn of(socket: &Socket) -> io::Result<Self> {
        match socket.try_clone()? {
            Socket::Tcp(socket) => TcpStream::from_std(socket).map(Self::Tcp),
            Socket::Unix(socket) => UnixStream::from_std(socket).map(Self::from),
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
            Self::Unix(end) => end.poll_read(context, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(end) => Pin::new(end.stream()?).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(end) => Pin::new(end.stream()?).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(end) => Pin::new(end.stream()?).poll_shutdown(context),
        }
    }
}
