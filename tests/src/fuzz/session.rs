//! A client that says anything to a server in this process: it is answered, or put out, or goes on. Meanwhile another session of
//! its platform, and one of another platform, work.
//!
//! A case: a byte (how the client ends), then pieces. Those of a server of its own come one after the other, so that a case finds
//! what those before have left.

use std::cell::RefCell;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use vp_host::Host as _;
use vp_models::nvdla::registers::{Unit, glb};
use vp_models::platform::Description;
use vp_protocols::native::{Connection, Event, Reply, Request, TimeMode};
use vp_remote::{RemoteHost, RemoteOptions};
use vp_server::Options;
use vp_transport::Address;

use super::{Choices, Form};
use crate::progress::Progress;
use crate::served::Served;

/// Form of the target's cases.
pub const FORM: Form = Form::Pieces { head: 1 };

/// The platform of the client and of its neighbour.
pub const PLATFORM: &str = "fuzz";
/// Cases for each server: what they leave may add up.
const CASES: u32 = 200;
/// After this a server that has not closed a connection hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// Panics in the code of the project, in any thread of this process.
static PANICS: AtomicU64 = AtomicU64::new(0);

thread_local!(static SITE: RefCell<Option<Site>> = const { RefCell::new(None) });

/// A server and who else is there.
struct Site {
    // Before the server, so that the sessions end first.
    stranger: RemoteHost,
    neighbour: Neighbour,
    path: PathBuf,
    _folder: tempfile::TempDir,
    _server: Served,
    cases: u32,
}

impl Site {
    fn new() -> Site {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vp.sock");
        let options = Options { farewell_timeout: Duration::from_millis(20), ..Options::default() };
        let description = Description::named("nv_small").expect("a built-in platform");
        let server = Served::start(&Address::Unix(path.clone()), description, options);
        let platform = Some("another".to_owned());
        let remote = RemoteOptions { platform, timeout: PATIENCE, share: false, ..RemoteOptions::default() };
        let stranger = RemoteHost::connect(&Address::Unix(path.clone()), remote).expect("a session");
        let neighbour = Neighbour::new(&path);
        Site { stranger, neighbour, path, _folder: folder, _server: server, cases: 0 }
    }

    /// Panics if other clients cannot do what they should.
    fn works(&mut self) {
        self.neighbour.ping();
        let register = self.stranger.map().address(Unit::Glb, glb::S_NVDLA_HW_VERSION).expect("a register");
        let version = self.stranger.read(register).expect("a register of another platform");
        assert_eq!(version & 0xff, 0x31, "the version of the hardware, as it always is");
    }
}

/// Another session of the client's platform, which has no part in it.
struct Neighbour {
    connection: Connection,
    stream: UnixStream,
    input: BytesMut,
}

impl Neighbour {
    fn new(path: &Path) -> Neighbour {
        let hello = Connection::hello("neighbour", Some(PLATFORM), TimeMode::Free);
        let stream = UnixStream::connect(path).expect("a server that listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        let connection = Connection::client(hello).expect("a hello");
        let mut neighbour = Neighbour { connection, stream, input: BytesMut::new() };
        neighbour.until(|event| matches!(event, Event::Welcome(_)));
        neighbour
    }

    /// Asks for a sign of life, which the platform's thread gives.
    fn ping(&mut self) {
        let ping = self.connection.request(Request::Ping, &[]).expect("room for a request");
        self.until(|event| matches!(event, Event::Reply { id, reply: Reply::Pong, .. } if *id == ping));
    }

    /// Writes what is to be said, and reads until such a thing has come.
    fn until(&mut self, is_it: impl Fn(&Event) -> bool) {
        self.stream.write_all(&self.connection.output().split()).expect("the server reads");
        let mut bytes = [0; 4096];
        loop {
            while let Some(event) =
                self.connection.receive(&mut self.input).expect("a server keeps the rules")
            {
                assert!(!matches!(event, Event::Bye(_) | Event::Refused(_)), "{event:?}");
                if is_it(&event) {
                    return;
                }
            }
            match self.stream.read(&mut bytes).expect("an answer") {
                0 => panic!("the server has closed the connection of another session"),
                read => self.input.extend_from_slice(&bytes[..read]),
            }
        }
    }
}

/// Runs a case; tells how many bytes the server has answered.
///
/// # Panics
/// When the server hangs, when a thread of it panics, or when another session does not work.
pub fn run(case: &[u8]) -> u64 {
    static COUNT_PANICS: Once = Once::new();
    COUNT_PANICS.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // Those of the targets are told by who runs them.
            if panic.location().is_some_and(|location| !location.file().contains("tests/")) {
                PANICS.fetch_add(1, Ordering::Relaxed);
            }
            before(panic);
        }));
    });
    let panics = PANICS.load(Ordering::Relaxed);
    let heard = SITE.with_borrow_mut(|site| {
        if site.as_ref().is_none_or(|site| site.cases == CASES) {
            *site = None;
        }
        let site = site.get_or_insert_with(Site::new);
        site.cases += 1;
        let heard = speak(&site.path, case);
        site.works();
        heard
    });
    assert_eq!(PANICS.load(Ordering::Relaxed), panics, "a thread of the server panicked");
    heard
}

/// Says the pieces and reads until the server has closed the connection; how many bytes came.
fn speak(path: &Path, case: &[u8]) -> u64 {
    let mut heard = 0;
    let mut choices = Choices::new(case);
    let how = choices.byte();
    let progress = Progress::of_thread();
    let mut stream = UnixStream::connect(path).expect("a server that listens");
    // Who reads nothing while it writes may wait for a server that waits for it.
    stream.set_write_timeout(Some(Duration::from_millis(50))).expect("a time-out");
    while let Some(piece) = choices.piece() {
        // The server may have had enough of it.
        if stream.write_all(piece).is_err() {
            break;
        }
        stream.set_nonblocking(true).expect("a mode");
        read(&mut stream, &mut heard);
        stream.set_nonblocking(false).expect("a mode");
        progress.step();
    }
    // What is under way when a session ends is dropped: mostly it waits until nothing more comes.
    if how & 0xc != 0 {
        stream.set_read_timeout(Some(Duration::from_millis(4))).expect("a time-out");
        read(&mut stream, &mut heard);
    }
    match how & 3 {
        // It vanishes.
        0 => return heard,
        1 => _ = stream.shutdown(Shutdown::Read),
        _ => {}
    }
    // That it says no more is the end of its session: the server says goodbye, and closes.
    _ = stream.shutdown(Shutdown::Write);
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    assert!(read(&mut stream, &mut heard), "the server does not close the connection");
    heard
}

/// Reads what comes until nothing more does; whether the stream has ended.
fn read(stream: &mut UnixStream, heard: &mut u64) -> bool {
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(read) => *heard += read as u64,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return false;
            }
            Err(_) => return true,
        }
    }
}
