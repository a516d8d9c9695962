//! A TCP socket with its TLS state.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, BytesMut};
use rustls::client::verify_server_name;
use rustls::pki_types::ServerName;
use rustls::server::ParsedCertificate;
use rustls::{AlertDescription, CertificateError, ClientConnection, Connection, Error, ServerConnection};

use super::{Client, Server};

/// Bytes read from the system at once.
const READ: usize = 64 << 10;
/// Bytes encrypted at once: a few records.
const WRITE: usize = 32 << 10;
/// First bytes of a TLS client: a record of the handshake, version 3 (RFC 8446, 5.1).
const BEGINNING: [u8; 2] = [0x16, 0x03];

/// A connected, non-blocking TCP socket with TLS. Several handles may share it.
pub struct TlsSocket(Arc<Shared>);

struct Shared {
    stream: TcpStream,
    session: Mutex<Session>,
}

impl fmt::Debug for TlsSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TlsSocket").field(&self.0.stream).finish()
    }
}

/// State of TLS, and bytes on their way. The stream beside it is always the same one.
pub(super) struct Session {
    tls: Connection,
    /// True if the peer's first bytes have come.
    has_begun: bool,
    /// Read from the system; what of it is not decrypted yet is at `arrived`.
    landing: Box<[u8]>,
    arrived: Range<usize>,
    /// True if decrypted bytes may be left, as there was no room for more.
    may_have_more: bool,
    /// Bytes that are encrypted and still the caller's, as the system had no room for all of them. The caller shows them
    /// again, so as with any socket it knows that something is to be written.
    owed: usize,
}

/// Progress of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Done,
    /// The handshake goes on when bytes can be read.
    Reads,
    /// The handshake goes on when bytes can be written.
    Writes,
}

impl TlsSocket {
    /// A client's side, for a server of that name or number. The socket is set not to block.
    pub(crate) fn client(stream: TcpStream, host: &str, settings: &Client) -> io::Result<Self> {
        Self::new(stream, Session::client(host, settings)?)
    }

    /// A server's side.
    ///
    /// # Errors
    /// What the system says.
    pub fn server(stream: TcpStream, settings: &Server) -> io::Result<Self> {
        Self::new(stream, Session::server(settings)?)
    }

    fn new(stream: TcpStream, session: Session) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self(Arc::new(Shared { stream, session: Mutex::new(session) })))
    }

    /// Another handle of it.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.clone()))
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.0.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The TCP socket.
    pub(crate) fn tcp(&self) -> &TcpStream {
        &self.0.stream
    }

    /// Goes on with the handshake.
    ///
    /// # Errors
    /// The handshake failed, and why, for people. [`ErrorKind::Unsupported`]: the peer, a client, does not speak TLS.
    pub(crate) fn handshake(&self) -> io::Result<Progress> {
        self.session().handshake(&mut &self.0.stream)
    }

    /// Returns true if the peer has presented a certificate from a trusted authority with that name in it.
    pub fn peer_is(&self, name: &str) -> bool {
        let session = self.session();
        let certificate = session.tls.peer_certificates().and_then(|shown| shown.first());
        let (Some(certificate), Ok(name)) = (certificate, ServerName::try_from(name)) else { return false };
        let parsed = ParsedCertificate::try_from(certificate);
        parsed.is_ok_and(|parsed| verify_server_name(&parsed, &name).is_ok())
    }

    /// Returns true if the peer has presented a certificate from a trusted authority.
    pub fn has_certificate(&self) -> bool {
        self.session().tls.peer_certificates().is_some_and(|shown| !shown.is_empty())
    }

    /// Returns true if bytes wait to be read that the system does not tell of.
    pub(crate) fn has_buffered(&self) -> bool {
        let session = self.session();
        session.may_have_more || !session.arrived.is_empty()
    }

    pub(crate) fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        self.session().read(&mut &self.0.stream, into)
    }

    pub(crate) fn read_onto(&self, most: usize, onto: &mut BytesMut) -> io::Result<Option<usize>> {
        let old = onto.len();
        onto.resize(old + most, 0);
        let read = self.read(&mut onto[old..]);
        onto.truncate(old + read.as_ref().map_or(0, |read| read.unwrap_or(0)));
        read
    }

    pub(crate) fn write(&self, bytes: &mut impl Buf) -> io::Result<Option<usize>> {
        self.session().write(&mut &self.0.stream, bytes)
    }

    /// Says TLS's goodbye, as far as there is room, and ends the stream.
    pub(crate) fn shut_down(&self, how: Shutdown) -> io::Result<()> {
        let mut session = self.session();
        session.tls.send_close_notify();
        // The stream ends either way.
        let _ = session.flush(&mut &self.0.stream);
        self.0.stream.shutdown(how)
    }
}

impl AsFd for TlsSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.stream.as_fd()
    }
}

impl Session {
    fn new(tls: Connection) -> Self {
        let landing = vec![0; READ].into();
        Self { tls, has_begun: false, landing, arrived: 0..0, may_have_more: false, owed: 0 }
    }

    /// A client's side, for a server of that name or number.
    pub(super) fn client(host: &str, settings: &Client) -> io::Result<Self> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| io::Error::new(ErrorKind::InvalidInput, "no certificate can be for such a name"))?;
        let tls = ClientConnection::new(settings.0.clone(), name).map_err(io::Error::other)?;
        Ok(Self::new(tls.into()))
    }

    /// A server's side.
    pub(super) fn server(settings: &Server) -> io::Result<Self> {
        let tls = ServerConnection::new(settings.config.clone()).map_err(io::Error::other)?;
        Ok(Self::new(tls.into()))
    }

    /// As [`TlsSocket::handshake`].
    pub(super) fn handshake(&mut self, stream: &mut (impl Read + Write)) -> io::Result<Progress> {
        loop {
            if !self.flush(stream)? {
                return Ok(Progress::Writes);
            }
            if !self.tls.is_handshaking() {
                return Ok(Progress::Done);
            }
            if self.arrived.is_empty() {
                match self.arrive(stream)? {
                    None => return Ok(Progress::Reads),
                    Some(0) => {
                        let what = "the peer closed the stream before TLS was agreed upon";
                        return Err(io::Error::new(ErrorKind::UnexpectedEof, what));
                    }
                    Some(_) => {}
                }
                let begins = &self.landing[self.arrived.clone()];
                let is_tls = begins.iter().zip(&BEGINNING).all(|(is, should)| is == should);
                let is_first = !std::mem::replace(&mut self.has_begun, true);
                if is_first && !is_tls && matches!(self.tls, Connection::Server(_)) {
                    return Err(io::Error::new(ErrorKind::Unsupported, "the peer does not speak TLS"));
                }
            }
            self.decrypt(stream)?;
        }
    }

    /// Decrypts what is there, as [`Socket::read`](crate::Socket::read).
    pub(super) fn read(
        &mut self,
        stream: &mut (impl Read + Write),
        into: &mut [u8],
    ) -> io::Result<Option<usize>> {
        let mut filled = 0;
        loop {
            match self.tls.reader().read(&mut into[filled..]) {
                // The end, or no room.
                Ok(0) => break,
                Ok(read) => filled += read,
                // The stream has ended without TLS's own goodbye. Ours tells whether something is missing.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.arrived.is_empty() {
                        if filled > 0 {
                            break;
                        }
                        if self.arrive(stream)?.is_none() {
                            self.may_have_more = false;
                            return Ok(None);
                        }
                    }
                    self.decrypt(stream)?;
                }
                Err(error) => return Err(error),
            }
        }
        self.may_have_more = filled > 0 && filled == into.len();
        Ok(Some(filled))
    }

    /// Encrypts and writes, as [`Socket::write`](crate::Socket::write).
    pub(super) fn write(
        &mut self,
        stream: &mut impl Write,
        bytes: &mut impl Buf,
    ) -> io::Result<Option<usize>> {
        if !self.flush(stream)? {
            return Ok(None);
        }
        if self.owed == 0 {
            self.encrypt(bytes)?;
            if !self.flush(stream)? {
                return Ok(None);
            }
        }
        // The front of what the caller shows is what was encrypted; it may show less of it than it did.
        let written = self.owed.min(bytes.remaining());
        self.owed -= written;
        bytes.advance(written);
        Ok(Some(written))
    }

    /// Reads from the system, when all that it has given before is decrypted. `None`: nothing is there. 0: the end.
    fn arrive(&mut self, stream: &mut impl Read) -> io::Result<Option<usize>> {
        match stream.read(&mut self.landing) {
            Ok(read) => {
                self.arrived = 0..read;
                if read == 0 {
                    // TLS has to know, too.
                    self.tls.read_tls(&mut io::empty())?;
                }
                Ok(Some(read))
            }
            Err(error) if is_for_later(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes in a part of what has arrived.
    fn decrypt(&mut self, stream: &mut impl Write) -> io::Result<()> {
        if self.arrived.is_empty() {
            return Ok(());
        }
        let read = self.tls.read_tls(&mut &self.landing[self.arrived.clone()])?;
        self.arrived.start += read;
        let was_handshaking = self.tls.is_handshaking();
        if let Err(error) = self.tls.process_new_packets() {
            // The peer is told what is wrong, if it reads.
            let _ = self.flush(stream);
            let is_client = matches!(self.tls, Connection::Client(_));
            return Err(io::Error::new(ErrorKind::InvalidData, said(&error, is_client, was_handshaking)));
        }
        // What TLS has to say to that.
        self.flush(stream).map(|_| ())
    }

    /// Encrypts the first of the bytes.
    fn encrypt(&mut self, bytes: &impl Buf) -> io::Result<()> {
        let mut slices = [io::IoSlice::new(&[]); 8];
        let filled = bytes.chunks_vectored(&mut slices);
        for slice in &slices[..filled] {
            let piece = &slice[..slice.len().min(WRITE - self.owed)];
            self.owed += self.tls.writer().write(piece)?;
        }
        Ok(())
    }

    /// Writes what is encrypted. `false`: there is no room for all of it.
    fn flush(&mut self, stream: &mut impl Write) -> io::Result<bool> {
        while self.tls.wants_write() {
            match self.tls.write_tls(stream) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if is_for_later(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Describes what has gone wrong, for people.
fn said(error: &Error, is_client: bool, was_handshaking: bool) -> String {
    let whose = if is_client { "the server's certificate" } else { "the client's certificate" };
    match error {
        Error::InvalidMessage(_) if is_client && was_handshaking => {
            "the server does not speak TLS there: write tcp: in place of tls:".to_owned()
        }
        // The signature is wrong where another authority has the same name.
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            format!("{whose} is not of the authority that is trusted here")
        }
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            format!("{whose} has expired")
        }
        Error::InvalidCertificate(error @ CertificateError::NotValidForNameContext { .. }) => {
            format!("{whose} is for another name: {error}")
        }
        Error::InvalidCertificate(error) => format!("{whose} is not taken: {error}"),
        Error::AlertReceived(AlertDescription::UnknownCA | AlertDescription::DecryptError) => match is_client
        {
            true => "the server does not trust this client's certificate".to_owned(),
            false => "the client does not trust this server's certificate".to_owned(),
        },
        error => format!("TLS: {error}"),
    }
}
