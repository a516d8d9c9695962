//! Two sides over loopback, with certificates that are made for the test.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use tempfile::TempDir;

use super::{Client, Server, TlsSocket};
use crate::{Address, Readiness, Socket, Stream};

const LONG: Duration = Duration::from_secs(60);

/// An authority, and a folder for what it signs.
pub(super) struct Authority {
    folder: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { folder, issuer }
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The files of a certificate for that name, and of its key.
    fn sign(&self, name: &str, year_of_its_end: i32) -> [PathBuf; 2] {
        use std::os::unix::fs::PermissionsExt as _;
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(year_of_its_end, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let [certificate_path, key_path] =
            ["pem", "key"].map(|kind| self.folder.path().join(format!("{name}.{kind}")));
        std::fs::write(&certificate_path, certificate.pem()).unwrap();
        std::fs::write(&key_path, key.serialize_pem()).unwrap();
        std::fs::set_permissions(&key_path, std::fs::Permissions::from_mode(0o600)).unwrap();
        [certificate_path, key_path]
    }

    pub(super) fn server(&self, name: &str, year_of_its_end: i32, clients: Option<&Path>) -> Server {
        let [certificate, key] = self.sign(name, year_of_its_end);
        Server::new(&certificate, &key, clients).unwrap()
    }

    pub(super) fn client(&self) -> Client {
        Client::new(&self.certificate(), None).unwrap()
    }
}

/// A server's side that ends its handshake, or fails.
fn serve(settings: &Server) -> (Address, JoinHandle<std::io::Result<Stream>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let settings = settings.clone();
    let server = thread::spawn(move || {
        let socket = Socket::Tls(TlsSocket::server(listener.accept().unwrap().0, &settings).unwrap());
        let stream = Stream::Socket(socket);
        loop {
            let Stream::Socket(socket) = &stream else { unreachable!() };
            match socket.begin()? {
                None => break,
                Some(readiness) => stream.wait(readiness, Some(LONG)),
            }
        }
        Ok(stream)
    });
    (Address::Tls { host: "127.0.0.1".to_owned(), port }, server)
}

fn pair() -> (Stream, Stream) {
    let authority = Authority::new();
    let (address, server) = serve(&authority.server("127.0.0.1", 4000, None));
    let near = Stream::connect(&address, Some(&authority.client()), LONG).unwrap();
    assert_eq!(near.route().unwrap(), crate::Route::Tls);
    (near, server.join().unwrap().unwrap())
}

/// Returns the reason for which a server does not let in a client of that authority.
fn refusal(server: &Server, client: &Client) -> String {
    let (address, served) = serve(server);
    let error = Stream::connect(&address, Some(client), LONG).unwrap_err();
    assert!(served.join().unwrap().is_err());
    error.to_string()
}

#[test]
fn bytes_arrive_in_order_and_nothing_is_none_and_the_end_is_zero() {
    let (near, far) = pair();
    let mut bytes = [0; 8];
    assert_eq!(far.read(&mut bytes).unwrap(), None);
    assert_eq!(near.write(&mut &b"abc"[..]).unwrap(), Some(3));
    far.wait(Readiness::Bytes, Some(LONG));
    assert_eq!(far.read(&mut bytes[..2]).unwrap(), Some(2));
    // The system has nothing more, and yet something is there.
    far.wait(Readiness::Bytes, None);
    let mut onto = BytesMut::from(&bytes[..2]);
    assert_eq!(far.read_onto(8, &mut onto).unwrap(), Some(1));
    assert_eq!(&onto[..], b"abc");
    assert_eq!(far.read_onto(8, &mut onto).unwrap(), None);
    drop(near);
    far.wait(Readiness::Bytes, None);
    assert_eq!(far.read(&mut bytes).unwrap(), Some(0));
    assert_eq!(&onto[..], b"abc");
}

#[test]
fn what_has_no_room_is_shown_again_and_nothing_is_lost_or_doubled() {
    let (near, far) = pair();
    let sent: Vec<u8> = (0..8_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut left = &sent[..];
    // Nobody reads: at some point there is no room.
    while near.write(&mut left).unwrap().is_some() {}
    assert!(left.len() < sent.len());
    let reader = thread::spawn(move || {
        let mut all = BytesMut::new();
        let mut landing = vec![0; 10_000];
        loop {
            far.wait(Readiness::Bytes, Some(LONG));
            match far.read(&mut landing).unwrap() {
                Some(0) => return all,
                read => all.extend_from_slice(&landing[..read.unwrap_or(0)]),
            }
        }
    });
    while left.has_remaining() {
        // Less may be shown than before, as who writes chunk by chunk does.
        let mut first = &left[..left.len().min(1000)];
        let shown = first.len();
        match near.write(&mut first).unwrap() {
            Some(written) => left = &left[written.min(shown)..],
            None => near.wait(Readiness::BytesOrRoom, Some(LONG)),
        }
    }
    near.shut_down();
    assert!(reader.join().unwrap()[..] == sent[..]);
}

#[test]
fn a_certificate_of_another_authority_or_name_or_time_is_refused_and_the_reason_said() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let said = refusal(&theirs.server("127.0.0.1", 4000, None), &ours.client());
    assert_eq!(said, "the server's certificate is not of the authority that is trusted here");
    let said = refusal(&ours.server("127.0.0.1", 2001, None), &ours.client());
    assert_eq!(said, "the server's certificate has expired");
    let said = refusal(&ours.server("elsewhere.example", 4000, None), &ours.client());
    assert!(said.starts_with("the server's certificate is for another name"), "{said}");
    assert!(said.contains("elsewhere.example"), "{said}");
}

#[test]
fn a_client_is_known_by_its_certificate() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let server = ours.server("127.0.0.1", 4000, Some(&ours.certificate()));
    assert!(server.knows_clients());
    let known = |client: &Client| {
        let (address, served) = serve(&server);
        // A client hears of a refusal only with the first thing that it reads.
        let near = Stream::connect(&address, Some(client), LONG).unwrap();
        let far = served.join().unwrap();
        if far.is_err() {
            near.wait(Readiness::Bytes, Some(LONG));
            assert_eq!(
                near.read(&mut [0; 8]).unwrap_err().to_string(),
                "the server does not trust this client's certificate"
            );
        }
        let far = far?;
        let Stream::Socket(Socket::Tls(far)) = &far else { unreachable!() };
        Ok::<_, std::io::Error>((far.has_certificate(), far.peer_is("qemu.lab"), far.peer_is("other.lab")))
    };
    let [certificate, key] = ours.sign("qemu.lab", 4000);
    let client = Client::new(&ours.certificate(), Some((&certificate, &key))).unwrap();
    assert_eq!(known(&client).unwrap(), (true, true, false));
    assert_eq!(known(&ours.client()).unwrap(), (false, false, false));
    let [certificate, key] = theirs.sign("qemu.lab", 4000);
    let stranger = Client::new(&ours.certificate(), Some((&certificate, &key))).unwrap();
    let error = known(&stranger).unwrap_err().to_string();
    assert_eq!(error, "the client's certificate is not of the authority that is trusted here");
}

#[test]
fn who_speaks_no_tls_is_told_apart_on_either_side() {
    let authority = Authority::new();
    // A hello of the native protocol, whose first byte may be that of TLS.
    for first in [27_u8, 0x16] {
        let (address, served) = serve(&authority.server("127.0.0.1", 4000, None));
        let Address::Tls { port, .. } = address else { unreachable!() };
        let mut plain = TcpStream::connect(("127.0.0.1", port)).unwrap();
        plain.write_all(&[first, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        assert_eq!(served.join().unwrap().unwrap_err().kind(), ErrorKind::Unsupported);
    }

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let plain = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let _ = stream.read(&mut [0; 64]).unwrap();
        stream.write_all(b"\x20\0\0\0\0\0\0\0 no frame of TLS's").unwrap();
        stream
    });
    let address = Address::Tls { host: "127.0.0.1".to_owned(), port };
    let error = Stream::connect(&address, Some(&authority.client()), LONG).unwrap_err();
    assert_eq!(error.to_string(), "the server does not speak TLS there: write tcp: in place of tls:");
    drop(plain);
    let error = Stream::connect(&address, None, LONG).unwrap_err();
    assert!(error.to_string().contains("VP_CA"), "{error}");
}

#[test]
fn a_server_that_is_silent_is_not_waited_for_for_ever() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let address = Address::Tls { host: "127.0.0.1".to_owned(), port };
    let error =
        Stream::connect(&address, Some(&Authority::new().client()), Duration::from_millis(20)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

#[test]
fn a_file_that_is_none_is_named() {
    let authority = Authority::new();
    let [certificate, key] = authority.sign("127.0.0.1", 4000);
    let missing = authority.folder.path().join("missing.pem");
    let error = Client::new(&missing, None).unwrap_err().to_string();
    assert!(error.contains("missing.pem"), "{error}");
    let error = Client::new(&key, None).unwrap_err().to_string();
    assert!(error.contains("127.0.0.1.key: no certificate"), "{error}");
    let error = Server::new(&certificate, &certificate, None).unwrap_err().to_string();
    assert!(error.contains("127.0.0.1.pem"), "{error}");
}
