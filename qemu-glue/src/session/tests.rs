//! Sessions with a server that does what a test says, and a guest that is a piece of memory.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Condvar;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, ThreadId};

use bytes::{Bytes, BytesMut};
use tempfile::TempDir;
use vp_client::native::{
    AccessKind, Capabilities, Connection, Counter, CounterValue, Event, MemoryRead, MemoryWrite, Notice,
    Offer, Port, PortId, PortKind, Role, Roles, Terms, Time,
};

use super::*;
use vp_client::native::statistics::emit_counters;
use vp_shm::{Region, ring};

const REGISTERS: PortId = PortId(0);
const LINE: PortId = PortId(1);
const MEMORY: PortId = PortId(2);

#[derive(Default)]
struct TestGuest {
    memory: Mutex<Vec<u8>>,
    level: AtomicBool,
    /// Memory is read with it, as behind an IOMMU.
    big_lock: BigLock,
}

/// A lock as QEMU's: a thread knows if it has it, and may give it up for a moment.
#[derive(Default)]
struct BigLock {
    holder: Mutex<Option<ThreadId>>,
    is_free: Condvar,
    is_waited_for: AtomicBool,
}

impl BigLock {
    fn lock(&self) {
        let mut holder = self.holder.lock().unwrap();
        while holder.is_some() {
            self.is_waited_for.store(true, Ordering::SeqCst);
            holder = self.is_free.wait(holder).unwrap();
        }
        *holder = Some(thread::current().id());
    }

    fn unlock(&self) {
        assert!(self.is_mine());
        *self.holder.lock().unwrap() = None;
        self.is_free.notify_one();
    }

    fn is_mine(&self) -> bool {
        *self.holder.lock().unwrap() == Some(thread::current().id())
    }

    /// Runs `body` with the lock.
    fn with<T>(&self, body: impl FnOnce() -> T) -> T {
        let is_mine = self.is_mine();
        if !is_mine {
            self.lock();
        }
        let result = body();
        if !is_mine {
            self.unlock();
        }
        result
    }

    fn await_waiter(&self) {
        while !self.is_waited_for.load(Ordering::SeqCst) {
            thread::yield_now();
        }
    }
}

impl Guest for TestGuest {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), NoAccess> {
        self.big_lock.with(|| self.read_memory(address, into))
    }

    fn make_way(&self) {
        let is_mine = self.big_lock.is_mine();
        if is_mine {
            self.big_lock.unlock();
        }
        thread::sleep(Duration::from_micros(50));
        if is_mine {
            self.big_lock.lock();
        }
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), NoAccess> {
        let mut memory = self.memory.lock().unwrap();
        let from = usize::try_from(address).unwrap();
        let to = memory.get_mut(from..from + bytes.len()).ok_or(NoAccess::NoMemory)?;
        to.copy_from_slice(bytes);
        Ok(())
    }

    fn line(&self, level: bool) {
        self.level.store(level, Ordering::SeqCst);
    }

    fn thread(&self, work: &mut dyn FnMut()) {
        work();
    }
}

impl TestGuest {
    fn read_memory(&self, address: u64, into: &mut [u8]) -> Result<(), NoAccess> {
        let memory = self.memory.lock().unwrap();
        let from = usize::try_from(address).unwrap();
        let bytes = memory.get(from..from + into.len()).ok_or(NoAccess::NoMemory)?;
        into.copy_from_slice(bytes);
        Ok(())
    }
}

/// The server's end.
struct Peer {
    stream: UnixStream,
    connection: Connection,
    input: BytesMut,
    files: VecDeque<vp_shm::descriptors::Passed>,
    ring: Option<Region>,
}

impl Peer {
    /// Waits for a client and lets it have its places.
    fn welcome(listener: &UnixListener) -> Peer {
        Peer::welcome_with(listener, Capabilities::ALL.union(Capabilities::LOCAL))
    }

    /// As [`Peer::welcome`], of a server with these capabilities.
    fn welcome_with(listener: &UnixListener, capabilities: Capabilities) -> Peer {
        let (stream, _) = listener.accept().unwrap();
        let connection = Connection::server(Terms { capabilities, ..Terms::default() });
        let mut peer =
            Peer { stream, connection, input: BytesMut::new(), files: VecDeque::new(), ring: None };
        assert!(matches!(peer.next(), Event::Hello(_)));
        let port = |name: &str, kind, role, size| {
            let (name, roles) = (name.to_owned(), Roles::of(&[role]));
            Port { name, kind, roles, base: 0x100, size, width: 32 }
        };
        let ports = vec![
            port("csb0", PortKind::Csb, Role::Initiator, 0x1000),
            port("irq0", PortKind::Irq, Role::Sink, 0),
            port("dbb0", PortKind::Axi, Role::Target, 0x1000),
        ];
        peer.connection.accept(Offer { ports, platform: "test".into(), ..Offer::default() }).unwrap();
        peer.send();
        for _ in 0..3 {
            peer.answer(Reply::Done);
        }
        peer
    }

    fn next(&mut self) -> Event {
        self.next_until_gone().expect("the client has gone")
    }

    /// None: the client has gone.
    fn next_until_gone(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.connection.receive(&mut self.input).unwrap() {
                return Some(event);
            }
            let mut part = [0; 4096];
            let read = vp_shm::descriptors::receive(&self.stream, &mut part, &mut self.files);
            let Ok(read @ 1..) = read else { return None };
            self.input.extend_from_slice(&part[..read]);
        }
    }

    /// Answers requests, as `answer` says, until the client has gone.
    fn answer_all(&mut self, mut answer: impl FnMut(Request) -> (Time, Reply)) {
        while let Some(event) = self.next_until_gone() {
            let Event::Request { id, request, .. } = event else { continue };
            let (time, reply) = answer(request);
            self.connection.reply(id, time, reply, &[]).unwrap();
            let output = self.connection.output().split();
            if self.stream.write_all(&output).is_err() {
                return;
            }
        }
    }

    fn send(&mut self) {
        let output = self.connection.output().split();
        self.stream.write_all(&output).unwrap();
    }

    /// Answers the next event, a request, and gives it.
    fn answer(&mut self, reply: Reply) -> Request {
        let event = self.next();
        let Event::Request { id, request, .. } = event else { panic!("{event:?}") };
        self.connection.reply(id, Time::ZERO, reply, &[]).unwrap();
        self.send();
        request
    }

    /// Answers the question for the clock's period, in picoseconds.
    fn tell_period(&mut self, period: u64) {
        let event = self.next();
        let Event::Request { id, request: Request::Statistics { .. }, .. } = event else {
            panic!("{event:?}")
        };
        let value = CounterValue::Count(period);
        let counter = Counter { name: "period".to_owned(), unit: "ps".to_owned(), value };
        let (payload, count) = emit_counters([&counter], 8192);
        let reply = Reply::Statistics { total: 1, count };
        self.connection.reply(id, Time::ZERO, reply, &payload[..]).unwrap();
        self.send();
    }

    /// Reads a word of the guest's memory.
    fn read_memory(&mut self) {
        let (access, axi_id, at) = (AccessKind::Timed, 0, None);
        let read = MemoryRead { port: MEMORY, address: 8, length: 4, access, axi_id, at };
        assert_eq!(self.ask(Request::MemoryRead(read), &[]).0, Reply::Data);
    }

    /// Asks the guest for memory, and gives what it says.
    fn ask(&mut self, request: Request, payload: &[u8]) -> (Reply, Bytes) {
        self.connection.request(request, payload).unwrap();
        self.send();
        let event = self.next();
        let Event::Reply { reply, payload, .. } = event else { panic!("{event:?}") };
        (reply, payload)
    }

    /// Takes the ring that the client offers.
    fn open_ring(&mut self) -> ring::Server {
        assert!(matches!(self.answer(Reply::Done), Request::OpenRing(_)));
        let mut file = || self.files.pop_front().unwrap();
        let (memory, own, client) = (file(), file(), file());
        self.ring = Some(Region::map(&memory, 0, ring::BYTES).unwrap());
        ring::Server::open(&memory, own, client).unwrap()
    }

    /// A word of the ring's memory.
    fn ring_word(&self, offset: u64) -> u32 {
        let mut word = [0; 4];
        assert!(self.ring.as_ref().unwrap().read(offset, &mut word));
        u32::from_le_bytes(word)
    }

    fn raise(&mut self, level: bool) {
        self.connection.notify(Notice::Interrupt { port: LINE, level, time: Time::ZERO }).unwrap();
    }
}

/// A session, its guest, and the server's end in a thread of its own.
fn session<T: Send + 'static>(
    timeout: Duration,
    serve: impl FnOnce(Peer) -> T + Send + 'static,
) -> (Session, Arc<TestGuest>, JoinHandle<T>, TempDir) {
    open(false, timeout, serve)
}

/// Makes a session as [`session()`] does, with a ring.
fn session_with_ring<T: Send + 'static>(
    timeout: Duration,
    serve: impl FnOnce(Peer, ring::Server) -> T + Send + 'static,
) -> (Session, Arc<TestGuest>, JoinHandle<T>, TempDir) {
    open(true, timeout, |mut peer| {
        let ring = peer.open_ring();
        serve(peer, ring)
    })
}

fn open<T: Send + 'static>(
    may_share: bool,
    timeout: Duration,
    serve: impl FnOnce(Peer) -> T + Send + 'static,
) -> (Session, Arc<TestGuest>, JoinHandle<T>, TempDir) {
    with(may_share, Patience { timeout, heartbeat: SilenceLimit::default() }, serve)
}

fn with<T: Send + 'static>(
    may_share: bool,
    patience: Patience,
    serve: impl FnOnce(Peer) -> T + Send + 'static,
) -> (Session, Arc<TestGuest>, JoinHandle<T>, TempDir) {
    connect(false, may_share, patience, serve)
}

/// A session of a guest that owns time, with a platform whose clock has this period in picoseconds. What the server answers to its
/// requests, and when.
fn coupled(
    timeout: Duration,
    period: u64,
    answer: impl FnMut(Request) -> (Time, Reply) + Send + 'static,
) -> (Session, JoinHandle<()>, TempDir) {
    let patience = Patience { timeout, heartbeat: SilenceLimit::default() };
    let (session, _, server, folder) = connect(true, false, patience, move |mut peer| {
        peer.tell_period(period);
        peer.answer_all(answer);
    });
    (session, server, folder)
}

fn connect<T: Send + 'static>(
    is_coupled: bool,
    may_share: bool,
    patience: Patience,
    serve: impl FnOnce(Peer) -> T + Send + 'static,
) -> (Session, Arc<TestGuest>, JoinHandle<T>, TempDir) {
    connect_to(is_coupled, may_share, patience, |listener| serve(Peer::welcome(&listener)))
}

/// A session with whom such a listener lets in.
fn connect_to<T: Send + 'static>(
    is_coupled: bool,
    may_share: bool,
    patience: Patience,
    serve: impl FnOnce(UnixListener) -> T + Send + 'static,
) -> (Session, Arc<TestGuest>, JoinHandle<T>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vp.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || serve(listener));
    let guest = Arc::new(TestGuest { memory: Mutex::new(vec![0; 64]), ..TestGuest::default() });
    let place = Server { address: Address::Unix(path), platform: None, credentials: Credentials::default() };
    let connected = Session::connect(place, guest.clone(), is_coupled, may_share, patience);
    let (session, platform) = connected.unwrap();
    assert_eq!((platform.size, platform.memory), (0x1000, vec![Range { start: 0x100, end: 0x1100 }]));
    (session, guest, server, folder)
}

const LONG: Duration = Duration::from_secs(30);

/// Time after which an access that nobody answers fails, in which a busy machine greets.
const SHORT: Duration = Duration::from_secs(1);

#[test]
fn memory_is_served_while_a_register_is_waited_for() {
    let (session, guest, server, _folder) = session(LONG, |mut peer| {
        let Event::Request { id, request: Request::RegisterRead(read), .. } = peer.next() else { panic!() };
        assert_eq!((read.port, read.address), (REGISTERS, 0x108));
        let (access, axi_id, at) = (AccessKind::Timed, 0, None);
        let write = MemoryWrite { port: MEMORY, address: 8, length: 4, access, axi_id, strobes: true, at };
        assert_eq!(peer.ask(Request::MemoryWrite(write), &[1, 2, 3, 4, 0b1101]).0, Reply::Done);
        let read = |address| MemoryRead { port: MEMORY, address, length: 4, access, axi_id, at };
        let (reply, data) = peer.ask(Request::MemoryRead(read(8)), &[]);
        assert_eq!((reply, &*data), (Reply::Data, &[1, 0, 3, 4][..]));
        let (reply, _) = peer.ask(Request::MemoryRead(read(62)), &[]);
        assert!(matches!(reply, Reply::Failed { .. }));
        peer.raise(true);
        peer.connection.reply(id, Time::ZERO, Reply::Value { value: 7 }, &[]).unwrap();
        peer.send();
        peer
    });
    assert_eq!(session.read(8), Ok(7));
    // The notice stood before the reply.
    assert!(guest.level.load(Ordering::SeqCst));
    assert_eq!(guest.memory.lock().unwrap()[8..12], [1, 0, 3, 4]);
    drop(server.join().unwrap());
}

#[test]
fn a_write_is_seen_to_its_end_only_while_the_line_is_high() {
    let (session, guest, server, _folder) = session(LONG, |mut peer| {
        assert!(matches!(peer.next(), Event::Posted { .. }));
        peer.raise(true);
        assert!(matches!(peer.answer(Reply::Value { value: 0 }), Request::RegisterRead(_)));
        peer.raise(false);
        assert!(matches!(peer.answer(Reply::Done), Request::RegisterWrite(_)));
        assert!(matches!(peer.next(), Event::Posted { .. }));
    });
    session.write(0, 1).unwrap();
    session.read(0).unwrap();
    session.write(0, 2).unwrap();
    assert!(!guest.level.load(Ordering::SeqCst));
    session.write(0, 3).unwrap();
    server.join().unwrap();
}

#[test]
fn a_server_that_does_not_answer_is_an_error_and_not_waited_for_again() {
    let (session, guest, server, _folder) = session(SHORT, |mut peer| {
        peer.raise(true);
        peer.send();
        peer.next();
        peer
    });
    let began = Instant::now();
    assert_eq!(session.read(0), Err(AccessError));
    assert!(began.elapsed() >= SHORT);
    assert!(!guest.level.load(Ordering::SeqCst), "a device that is gone asks for nothing");
    assert_eq!(session.read(0), Err(AccessError));
    assert_eq!(session.write(0, 0), Err(AccessError));
    drop(server.join().unwrap());
}

#[test]
fn a_server_that_talks_of_other_things_only_is_an_error_too() {
    let (session, _, server, _folder) = session(SHORT, |mut peer| {
        peer.next();
        let mut part = [0; 4096];
        loop {
            peer.connection.request(Request::Ping, &[]).unwrap();
            let ping = peer.connection.output().split();
            match peer.stream.write_all(&ping).and_then(|()| peer.stream.read(&mut part)) {
                Ok(read @ 1..) => peer.input.extend_from_slice(&part[..read]),
                // The client has had enough.
                Ok(0) | Err(_) => return,
            }
            while peer.connection.receive(&mut peer.input).unwrap().is_some() {}
        }
    });
    assert_eq!(session.read(0), Err(AccessError));
    drop(session);
    server.join().unwrap();
}

#[test]
fn a_server_that_never_stops_talking_or_never_reads_is_an_error_in_time() {
    let (session, _, server, _folder) = session(SHORT, |mut peer| {
        peer.next();
        (0..1000).for_each(|_| peer.raise(true));
        let talk = peer.connection.output().split();
        while peer.stream.write_all(&talk).is_ok() {}
    });
    let (told, done) = std::sync::mpsc::channel();
    thread::spawn(move || told.send(session.read(0)));
    assert_eq!(done.recv_timeout(LONG), Ok(Err(AccessError)));
    server.join().unwrap();
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    let (session, _, server, _folder) = self::session(SHORT, move |peer| {
        _ = is_over.recv();
        drop(peer);
    });
    let (told, done) = std::sync::mpsc::channel();
    thread::spawn(move || told.send((0..u32::MAX).find(|_| session.write(0, 1).is_err()).is_some()));
    assert_eq!(done.recv_timeout(LONG), Ok(true));
    drop(over);
    server.join().unwrap();
}

#[test]
fn a_server_that_is_gone_fails_the_access_that_waits_and_the_next_one() {
    let (session, _, server, folder) = session(LONG, |mut peer| drop(peer.next()));
    assert_eq!(session.read(0), Err(AccessError));
    server.join().unwrap();
    // A new server is there at once, and the guest is to learn of the old one's end all the same.
    std::fs::remove_file(folder.path().join("vp.sock")).unwrap();
    let listener = UnixListener::bind(folder.path().join("vp.sock")).unwrap();
    let server = std::thread::spawn(move || {
        let mut peer = Peer::welcome(&listener);
        (peer.answer(Reply::Done), peer)
    });
    assert_eq!(session.read(0), Err(AccessError));
    // A reset of the guest does not wait for the second to be over.
    assert_eq!(session.reset(), Ok(()));
    assert_eq!(server.join().unwrap().0, Request::Reset);
}

#[test]
fn a_step_of_time_is_not_the_access_by_which_the_guest_learns_of_the_servers_end() {
    let (session, _, server, folder) = session(LONG, |mut peer| drop(peer.next()));
    assert_eq!(session.read(0), Err(AccessError));
    server.join().unwrap();
    std::fs::remove_file(folder.path().join("vp.sock")).unwrap();
    let listener = UnixListener::bind(folder.path().join("vp.sock")).unwrap();
    let server = std::thread::spawn(move || {
        let mut peer = Peer::welcome(&listener);
        (peer.answer(Reply::Value { value: 7 }), peer)
    });
    // As if a second had passed since.
    if let Link::Down { tried, .. } = &mut session.shared.lock().link {
        *tried = None;
    }
    assert_eq!((session.step(0), session.step(0)), (Err(AccessError), Err(AccessError)));
    assert_eq!(session.read(0), Err(AccessError));
    assert_eq!(session.read(0), Ok(7));
    drop(server.join().unwrap());
}

/// QEMU's big lock is held in these waits.
#[test]
fn a_server_that_answers_each_step_late_does_not_hold_up_the_machine_for_ever() {
    let late = Duration::from_millis(600);
    let (session, server, _folder) = coupled(Duration::from_secs(2), 1000, move |request| {
        assert!(matches!(request, Request::Step { .. }));
        thread::sleep(late);
        (Time::ZERO, Reply::Stepped { next: Some(Time::ZERO) })
    });
    let steps = (0..20).take_while(|&now| session.step(now).is_ok()).count();
    assert!(steps < 20, "each was waited for");
    assert!(!session.is_up());
    server.join().unwrap();
}

#[test]
fn a_reset_and_the_step_behind_it_are_not_each_waited_for_as_long_as_an_access() {
    let late = Duration::from_secs(3);
    let (session, server, _folder) = coupled(Duration::from_secs(4), 1000, move |request| {
        thread::sleep(late);
        match request {
            Request::Reset => (Time::ZERO, Reply::Done),
            _ => (Time::ZERO, Reply::Stepped { next: None }),
        }
    });
    assert!(session.reset().is_err() || session.step(0).is_err());
    drop(session);
    server.join().unwrap();
}

/// The thread that listens has the session, and waits for the big lock.
#[test]
fn a_reset_lets_an_access_to_memory_have_the_big_lock_that_it_waits_for() {
    let (go, is_to_go) = std::sync::mpsc::channel();
    let (session, guest, server, _folder) = session(LONG, move |mut peer| {
        is_to_go.recv().unwrap();
        peer.read_memory();
        assert_eq!(peer.answer(Reply::Done), Request::Reset);
        peer
    });
    let (told, done) = std::sync::mpsc::channel();
    thread::spawn(move || {
        guest.big_lock.lock();
        go.send(()).unwrap();
        guest.big_lock.await_waiter();
        told.send(session.reset())
    });
    assert_eq!(done.recv_timeout(LONG), Ok(Ok(())));
    drop(server.join().unwrap());
}

/// A timer of QEMU's main thread is due while a processor has the session and waits for the big lock, which a timer cannot give up.
#[test]
fn a_step_does_not_wait_for_an_access_that_waits_for_the_big_lock() {
    let patience = Patience { timeout: LONG, heartbeat: SilenceLimit::default() };
    let (session, guest, server, _folder) = connect(true, false, patience, |mut peer| {
        peer.tell_period(1000);
        let Event::Request { id, request: Request::RegisterRead(_), .. } = peer.next() else { panic!() };
        let Event::Request { id: step, request: Request::Step { .. }, .. } = peer.next() else { panic!() };
        peer.read_memory();
        peer.connection.reply(id, Time::ZERO, Reply::Value { value: 7 }, &[]).unwrap();
        peer.connection.reply(step, Time::ZERO, Reply::Stepped { next: None }, &[]).unwrap();
        peer.send();
        peer
    });
    let session = Arc::new(session);
    guest.big_lock.lock();
    let processor = thread::spawn({
        let session = session.clone();
        move || session.read_at(0, 5)
    });
    guest.big_lock.await_waiter();
    let (told, done) = std::sync::mpsc::channel();
    thread::spawn({
        let session = session.clone();
        move || told.send(session.step(5))
    });
    assert_eq!(done.recv_timeout(LONG / 2), Ok(Ok(Some(6))), "it is to be stepped again");
    guest.big_lock.unlock();
    assert_eq!(processor.join().unwrap().map(|read| read.value), Ok(7));
    drop(server.join().unwrap());
}

#[test]
fn a_platform_that_has_something_to_do_at_once_is_stepped_at_a_later_moment() {
    let (session, server, _folder) =
        coupled(LONG, 1000, |_| (Time::ZERO, Reply::Stepped { next: Some(Time::ZERO) }));
    assert_eq!(session.step(5), Ok(Some(6)));
    assert_eq!(session.step(6), Ok(Some(7)));
    drop(session);
    server.join().unwrap();
}

#[test]
fn an_access_moves_the_guests_time_by_no_more_than_it_is_waited_for() {
    let limit = u64::try_from(LONG.as_nanos()).unwrap();
    // Ends on a clock edge of nanoseconds: in time, and one too late.
    let (done, mut times) = (Time::ps(limit * 1000), [limit, limit + 1].into_iter());
    let (session, server, _folder) = coupled(LONG, 1000, move |request| match request {
        Request::RegisterRead(_) => (Time::ps(times.next().unwrap() * 1000), Reply::Value { value: 7 }),
        _ => (done, Reply::Stepped { next: None }),
    });
    assert_eq!(session.read_at(0, 0), Ok(Timed { value: 7, done: limit, next: None }));
    assert_eq!(session.read_at(0, 0), Err(AccessError));
    assert!(!session.is_up());
    server.join().unwrap();
    // Nor does a write, by a clock that has no edge for long.
    let (session, server, _folder) = coupled(LONG, 1 << 62, |_| (Time::ZERO, Reply::Stepped { next: None }));
    assert_eq!(session.write_at(0, 1, 1), Ok(Timed { value: 0, done: 1, next: None }));
    assert_eq!(session.write_at(0, 1, 2), Err(AccessError));
    assert!(!session.is_up());
    server.join().unwrap();
}

/// The next access in a ring.
fn taken(ring: &mut ring::Server) -> ring::Request {
    loop {
        if let Some(request) = ring.take().unwrap() {
            return request;
        }
        thread::yield_now();
    }
}

#[test]
fn a_guest_has_its_interrupt_before_the_rings_answer_that_shows_it() {
    let (session, guest, server, _folder) = session_with_ring(LONG, |mut peer, mut ring| {
        let read = taken(&mut ring);
        ring.set_line(true);
        ring.answer(0, 7, 0);
        // While the line is high a write is seen to its end; afterwards it is posted.
        let write = taken(&mut ring);
        ring.set_line(false);
        ring.answer(0, 0, 0);
        let posted = taken(&mut ring);
        // Late news of the line that was: the ring knows better.
        peer.raise(true);
        peer.send();
        let (reply, _) = peer.ask(Request::Ping, &[]);
        assert_eq!(reply, Reply::Pong);
        [read, write, posted].map(|request| (request.access, request.address))
    });
    assert_eq!(session.read(4), Ok(7));
    assert!(guest.level.load(Ordering::SeqCst));
    assert_eq!(session.write(8, 1), Ok(()));
    assert!(!guest.level.load(Ordering::SeqCst));
    assert_eq!(session.write(12, 2), Ok(()));
    let expected =
        [(ring::Access::Read, 0x104), (ring::Access::Write(1), 0x108), (ring::Access::Posted(2), 0x10c)];
    assert_eq!(server.join().unwrap(), expected);
    assert!(!guest.level.load(Ordering::SeqCst));
}

#[test]
fn a_server_that_leaves_the_ring_unanswered_means_an_error() {
    let (session, _, server, _folder) = session_with_ring(SHORT, |mut peer, mut ring| {
        taken(&mut ring);
        // Until the client has had enough.
        let mut part = [0; 64];
        while std::io::Read::read(&mut peer.stream, &mut part).is_ok_and(|read| read > 0) {}
    });
    assert_eq!(session.read(0), Err(AccessError));
    server.join().unwrap();
    assert_eq!(session.read(0), Err(AccessError));
}

#[test]
fn a_server_that_has_the_bells_wait_and_fills_them_does_not_hold_up_who_accesses() {
    let (session, _, server, _folder) = open(true, SHORT, |mut peer| {
        assert!(matches!(peer.answer(Reply::Done), Request::OpenRing(_)));
        let file = |place: usize| peer.files[place].as_fd().try_clone_to_owned().unwrap();
        let (memory, bells) = (Region::map(file(0), 0, ring::BYTES).unwrap(), [file(1), file(2)]);
        for bell in &bells {
            // The flag of any open file can be set so.
            UnixStream::from(bell.try_clone().unwrap()).set_nonblocking(false).unwrap();
        }
        // The client is to ring, and cannot; and nobody rings it.
        std::fs::File::from(bells[0].try_clone().unwrap()).write_all(&(u64::MAX - 1).to_ne_bytes()).unwrap();
        assert!(memory.write(0xc0, &1_u32.to_le_bytes()));
        let mut part = [0; 64];
        while peer.stream.read(&mut part).is_ok_and(|read| read > 0) {}
    });
    let (told, done) = std::sync::mpsc::channel();
    thread::spawn(move || told.send((session.read(0), session.write(0, 1))));
    assert_eq!(done.recv_timeout(LONG), Ok((Err(AccessError), Err(AccessError))));
    server.join().unwrap();
}

#[test]
fn a_ring_that_stays_full_means_an_error_and_one_that_is_emptied_wakes_who_waits_for_room() {
    for is_emptied in [true, false] {
        let timeout = if is_emptied { LONG } else { SHORT };
        let (session, _, server, _folder) = session_with_ring(timeout, move |mut peer, mut ring| {
            if is_emptied {
                let began = Instant::now();
                // The word client_sleeps of docs/protocol.md.
                while peer.ring_word(0x40) == 0 {
                    assert!(began.elapsed() < LONG, "it does not sleep");
                    thread::yield_now();
                }
                (0..=ring::ENTRIES)
                    .for_each(|_| assert_eq!(taken(&mut ring).access, ring::Access::Posted(1)));
            }
            let mut part = [0; 64];
            while std::io::Read::read(&mut peer.stream, &mut part).is_ok_and(|read| read > 0) {}
        });
        (0..ring::ENTRIES).for_each(|_| assert_eq!(session.write(0, 1), Ok(())));
        let one_more = if is_emptied { Ok(()) } else { Err(AccessError) };
        assert_eq!(session.write(0, 1), one_more);
        drop(session);
        server.join().unwrap();
    }
}

#[test]
fn a_server_that_dies_ends_the_wait_at_the_ring() {
    let (session, guest, server, _folder) = session_with_ring(LONG, |peer, mut ring| {
        ring.set_line(true);
        taken(&mut ring);
        drop(peer);
    });
    assert_eq!(session.read(0), Err(AccessError));
    server.join().unwrap();
    // The line falls with the session, as soon as the thread that listens has seen its end.
    while guest.level.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    assert_eq!(session.write(0, 1), Err(AccessError));
}

#[test]
fn an_error_in_the_rings_answer_is_the_guests_and_the_session_goes_on() {
    let (session, _, server, _folder) = session_with_ring(LONG, |peer, mut ring| {
        for code in [64, 0] {
            taken(&mut ring);
            ring.answer(code, 5, 0);
        }
        peer
    });
    assert_eq!(session.read(0), Err(AccessError));
    assert_eq!(session.read(0), Ok(5));
    drop(server.join().unwrap());
}

/// Nobody accesses anything: the thread that listens finds out.
#[test]
fn a_server_that_is_stopped_while_the_guest_waits_for_its_interrupt_means_the_end_of_the_session() {
    let heartbeat = SilenceLimit::of(Duration::from_millis(80));
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    let (session, guest, server, _folder) =
        with(false, Patience { timeout: LONG, heartbeat }, move |mut peer| {
            peer.raise(true);
            peer.send();
            let _ = is_over.recv();
            drop(peer);
        });
    // The line falls with the session; before, the guest has had its interrupt.
    while session.is_up() || guest.level.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    assert_eq!(session.read(0), Err(AccessError));
    drop(over);
    server.join().unwrap();
}

#[test]
fn memory_is_served_while_rest_is_waited_for_and_a_refusal_leaves_the_session() {
    let (session, _, server, _folder) = session(LONG, |mut peer| {
        let Event::Request { id, request: Request::AwaitRest { patience }, .. } = peer.next() else {
            panic!()
        };
        assert!((20_000..30_000).contains(&patience), "{patience} ms of 30 s");
        peer.read_memory();
        peer.connection.reply(id, Time::ZERO, Reply::Done, &[]).unwrap();
        peer.send();
        let refused = |code, reason: &str| Reply::Failed { code, reason: reason.to_owned() };
        let request = peer.answer(refused(vp_client::native::ErrorCode::NotAtRest, "a layer runs"));
        assert_eq!(request, Request::AwaitRest { patience: 0 });
        let request = peer.answer(refused(vp_client::native::ErrorCode::WrongState, "not that one"));
        assert_eq!(request, Request::RestoreDevice { total: 4, first: 0, length: 4 });
        peer.answer(Reply::Value { value: 7 });
    });
    session.await_rest(true).unwrap();
    assert_eq!(session.await_rest(false).unwrap_err().to_string(), "a layer runs");
    assert_eq!(session.restore(b"VPSV").unwrap_err().to_string(), "not that one");
    assert_eq!(session.read(0), Ok(7));
    drop(session);
    server.join().unwrap();
}

#[test]
fn a_state_goes_in_parts_and_one_that_is_too_large_is_not_taken() {
    let state: Vec<u8> = (0..600_000_u32).map(|at| (at % 251) as u8).collect();
    let sent = state.clone();
    let (session, _, server, _folder) = session(LONG, move |mut peer| {
        for part in sent.chunks(200_000) {
            let Event::Request { id, request, .. } = peer.next() else { panic!() };
            let first = (part.as_ptr() as usize - sent.as_ptr() as usize) as u64;
            assert_eq!(request, Request::SaveDevice { first });
            peer.connection.reply(id, Time::ZERO, Reply::Saved { total: 600_000 }, part).unwrap();
            peer.send();
        }
        let mut taken = Vec::new();
        while taken.len() < sent.len() {
            let Event::Request { id, request, payload } = peer.next() else { panic!() };
            let (first, length) = (taken.len() as u64, u32::try_from(payload.len()).unwrap());
            assert_eq!(request, Request::RestoreDevice { total: 600_000, first, length });
            taken.extend_from_slice(&payload);
            peer.connection.reply(id, Time::ZERO, Reply::Done, &[]).unwrap();
            peer.send();
        }
        assert_eq!(taken, sent);
        let Event::Request { id, .. } = peer.next() else { panic!() };
        peer.connection.reply(id, Time::ZERO, Reply::Saved { total: u64::MAX }, &[1]).unwrap();
        peer.send();
        peer
    });
    session.check_keeps_state().unwrap();
    let saved = session.save().unwrap();
    assert_eq!(saved, state);
    session.restore(&saved).unwrap();
    assert!(session.save().unwrap_err().to_string().contains("are taken at most"));
    drop(session);
    drop(server.join().unwrap());
}

/// As of a version before there was such a thing.
#[test]
fn a_server_that_cannot_save_is_asked_for_nothing() {
    let patience = Patience { timeout: LONG, heartbeat: SilenceLimit::default() };
    let (session, _, server, _folder) = connect_to(false, false, patience, |listener| {
        let older = Capabilities::ALL.difference(Capabilities::DEVICE_STATE);
        let mut peer = Peer::welcome_with(&listener, older);
        // The first request that there is.
        peer.answer(Reply::Value { value: 7 })
    });
    let sentence = "the server cannot save a platform whose memory is outside";
    let refusals = [
        session.check_keeps_state().unwrap_err(),
        session.await_rest(true).unwrap_err(),
        session.save().unwrap_err(),
        session.restore(b"VPSV").unwrap_err(),
    ];
    refusals.iter().for_each(|refusal| assert_eq!(refusal.to_string(), sentence));
    assert_eq!(session.read(0), Ok(7));
    assert!(matches!(server.join().unwrap(), Request::RegisterRead(_)));
}
