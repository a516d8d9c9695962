//! The bare transports: what is sent comes back, and nothing else is done. The far end of a socket is a process of its own, as
//! guest and platform are two.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use vp_shm::ring::{Access, Client, Request, Server, Wait};

/// Time for which an end looks before it sleeps, as both ends of a session do.
pub(crate) const LOOK: Duration = Duration::from_micros(50);
/// A register read's frame, and its answer's.
const ASKED: usize = 14;
const ANSWERED: usize = 20;

/// A socket that is read as the session's are.
pub(crate) trait Socket: Read + Write + AsFd + Send + 'static {
    fn never_block(&self);
}

impl Socket for UnixStream {
    fn never_block(&self) {
        self.set_nonblocking(true).expect("a socket");
    }
}

impl Socket for TcpStream {
    fn never_block(&self) {
        self.set_nonblocking(true).expect("a socket");
    }
}

/// Returns both ends of a stream over a Unix socket.
pub(crate) fn unix() -> (UnixStream, UnixStream) {
    UnixStream::pair().expect("a pair of sockets")
}

/// Returns both ends of a stream over TCP.
pub(crate) fn tcp() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
    let (far, _) = listener.accept().expect("a connection");
    near.set_nodelay(true).expect("an option");
    far.set_nodelay(true).expect("an option");
    (near, far)
}

/// Reads as much as fits. `false`: the other end is gone.
fn take<S: Socket>(socket: &mut S, look: Duration, into: &mut [u8]) -> bool {
    let mut filled = 0;
    while filled < into.len() {
        match take_some(socket, look, &mut into[filled..]) {
            0 => return false,
            read => filled += read,
        }
    }
    true
}

/// Reads what is there, and returns its length: looks for that long, then sleeps. Zero: the other end is gone.
pub(crate) fn take_some<S: Socket>(socket: &mut S, look: Duration, into: &mut [u8]) -> usize {
    let began = Instant::now();
    loop {
        match socket.read(into) {
            Ok(read) => return read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => match began.elapsed() < look {
                true => std::thread::yield_now(),
                false => drop(vp_shm::wait(&[socket.as_fd()], &[], None)),
            },
            Err(_) => return 0,
        }
    }
}

/// Argument that makes this program an echo's far end; the near end's address follows.
pub(crate) const AT_TCP: &str = "echo-at-tcp";
pub(crate) const AT_UNIX: &str = "echo-at-unix";

/// Echoes until the near end goes.
pub(crate) fn serve<S: Socket>(mut far: S) {
    far.never_block();
    let mut asked = [0; ASKED];
    while take(&mut far, LOOK, &mut asked) && far.write_all(&[1; ANSWERED]).is_ok() {}
}

/// Something that can be asked over and over.
pub(crate) struct Echo {
    ask: Box<dyn FnMut()>,
    far: Far,
}

/// Party that answers.
enum Far {
    Process(Child),
    Thread(Option<JoinHandle<()>>),
}

impl Echo {
    pub(crate) fn over_tcp() -> Echo {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let far = start(AT_TCP, &address.to_string());
        let (near, _) = listener.accept().expect("a connection");
        near.set_nodelay(true).expect("an option");
        Echo::between(near, LOOK, far)
    }

    pub(crate) fn over_unix() -> Echo {
        Echo::over_unix_looking_for(LOOK)
    }

    /// Over a Unix socket at whose near end is looked for so long.
    pub(crate) fn over_unix_looking_for(look: Duration) -> Echo {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("echo.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let far = start(AT_UNIX, path.to_str().expect("a name"));
        let (near, _) = listener.accept().expect("a connection");
        Echo::between(near, look, far)
    }

    fn between<S: Socket>(mut near: S, look: Duration, far: Child) -> Echo {
        near.never_block();
        let ask = move || {
            near.write_all(&[1; ASKED]).expect("the echo lives");
            assert!(take(&mut near, look, &mut [0; ANSWERED]), "the echo lives");
        };
        Echo { ask: Box::new(ask), far: Far::Process(far) }
    }

    /// Over a ring.
    pub(crate) fn in_memory() -> Echo {
        let mut client = Client::new().expect("a ring");
        let [memory, own, peer] = client.files().map(|file| file.try_clone_to_owned().expect("a file"));
        let server = Server::open(&memory, own, peer).expect("a ring");
        // As with a session: the stream's end is the ring's.
        let (near, far) = unix();
        let ask = move || {
            assert!(client.ask(Request { access: Access::Read, address: 0, at: None }));
            let mut wait = Wait::new();
            while client.wait(&mut wait, &[], &[near.as_fd()], Client::answer).is_none() {}
        };
        let thread = std::thread::spawn(move || answer(server, &far));
        Echo { ask: Box::new(ask), far: Far::Thread(Some(thread)) }
    }

    /// Returns the time that one echo takes.
    pub(crate) fn measure(&mut self, count: u32) -> Duration {
        let began = Instant::now();
        (0..count).for_each(|_| (self.ask)());
        began.elapsed() / count
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // The near end goes, and the far end with it.
        self.ask = Box::new(|| {});
        match &mut self.far {
            Far::Process(process) => drop(process.wait()),
            Far::Thread(thread) => drop(thread.take().map(JoinHandle::join)),
        }
    }
}

fn start(word: &str, near: &str) -> Child {
    let this = std::env::current_exe().expect("this program");
    Command::new(this).args([word, near]).spawn().expect("another of it")
}

/// Looks a little longer; `false` when it has been long enough. The clock is asked now and then only.
struct Looks(u32, Option<Instant>);

impl Looks {
    fn go_on(&mut self) -> bool {
        self.0 += 1;
        std::hint::spin_loop();
        if !self.0.is_multiple_of(32) {
            return true;
        }
        std::thread::yield_now();
        self.1.get_or_insert_with(Instant::now).elapsed() < LOOK
    }
}

/// Answers what comes through a ring until the stream ends.
fn answer(mut server: Server, stream: &UnixStream) {
    let mut looks = Looks(0, None);
    loop {
        while server.take().expect("accesses").is_some() {
            server.answer(0, 1, 0);
            looks = Looks(0, None);
        }
        if looks.go_on() {
            continue;
        }
        server.sleep(&[], &[stream.as_fd()]);
        if vp_shm::wait(&[], &[stream.as_fd()], Some(Duration::ZERO)) {
            return;
        }
        looks = Looks(0, None);
    }
}
