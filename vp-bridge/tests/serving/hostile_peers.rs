//! Peers on the same host that pass what would hold a server up, or more than it has room for.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use crate::common::Served;
use crate::common::raw_unix::{BASE, CSB, DBB, IRQ, RawUnix as Raw, Where, open_ring, share};
use rustix::net::sockopt::set_socket_linger;
use tempfile::TempDir;
use vp_protocols::native::{Attach, ErrorCode, PortId, Reply, Request, Role, TimeMode};
use vp_server::Options;
use vp_shm::descriptors::{MOST, send};
use vp_shm::ring::{Access, Client};
use vp_shm::{Deferred, Region, sealed};
use vp_transport::Address;

/// Time for which a passed socket would hold up who closes it.
const LINGER: Duration = Duration::from_secs(40);
/// Time within which anything is done that is not held up.
const SOON: Duration = Duration::from_secs(20);

fn served() -> (Served, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("unix:{}", folder.path().join("vp.sock").display());
    (Served::at(&address, Options::default()), folder)
}

fn at_lab(address: &Address) -> Raw {
    let raw = Raw::open(address, Some("lab"), TimeMode::Lockstep);
    raw.stream.set_read_timeout(Some(SOON)).unwrap();
    raw
}

fn attach(raw: &mut Raw, port: PortId, role: Role) {
    assert_eq!(raw.ask(Request::Attach(Attach { port, role, range: None }), &[]), Reply::Done);
}

fn failed(reply: &Reply) -> (ErrorCode, &str) {
    match reply {
        Reply::Failed { code, reason } => (*code, reason),
        other => panic!("{other:?} is no failure"),
    }
}

/// Sockets whose last close takes so long, with their other ends.
fn lingering(count: usize) -> Vec<[TcpStream; 2]> {
    let socket = |_| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        near.set_nonblocking(true).unwrap();
        while (&near).write(&[0; 1 << 16]).is_ok() {}
        set_socket_linger(&near, Some(LINGER)).unwrap();
        [near, far]
    };
    (0..count).map(socket).collect()
}

/// Passes such sockets beside a byte and gives them up. Their other ends are to be kept.
fn pass_lingering(stream: &UnixStream, byte: u8) -> Vec<TcpStream> {
    let sockets = lingering(4);
    let files: Vec<BorrowedFd<'_>> = sockets.iter().map(|[near, _]| near.as_fd()).collect();
    send(stream, &[byte], &files).unwrap();
    sockets.into_iter().map(|[_, far]| far).collect()
}

#[test]
fn a_peer_whose_bells_wait_and_are_full_holds_up_no_other_session() {
    let (served, _folder) = served();
    let (mut good, mut bad) = (at_lab(&served.address), at_lab(&served.address));
    attach(&mut bad, CSB, Role::Initiator);
    attach(&mut bad, IRQ, Role::Sink);
    let mut ring: Client = bad.ring();
    let [memory, own, client] = ring.files().map(|file| file.try_clone_to_owned().unwrap());
    for bell in [own, client] {
        // The flag of any open file can be set so.
        let flags = UnixStream::from(bell.try_clone().unwrap());
        flags.set_nonblocking(true).unwrap();
        let mut bell = File::from(bell);
        _ = bell.read(&mut [0; 8]);
        bell.write_all(&(u64::MAX - 1).to_ne_bytes()).unwrap();
        flags.set_nonblocking(false).unwrap();
    }
    // The word client_sleeps of docs/protocol.md: the server rings when it has taken an access, and when it has answered.
    assert!(Region::map(&memory, 0, 0x44).unwrap().write(0x40, &1_u32.to_le_bytes()));
    for _ in 0..3 {
        assert!(ring.ask(vp_shm::ring::Request { access: Access::Read, address: 0, at: None }));
        assert_eq!(good.ask(Request::Ping, &[]), Reply::Pong);
    }
}

#[test]
fn passed_sockets_that_linger_hold_up_no_other_session() {
    let (served, _folder) = served();
    let mut good = at_lab(&served.address);
    let began = Instant::now();
    let bad = at_lab(&served.address);
    // A frame that never ends.
    let mut ends = pass_lingering(&bad.stream, 0);
    drop(bad);
    for _ in 0..10 {
        assert_eq!(good.ask(Request::Ping, &[]), Reply::Pong);
    }
    // Beside the first byte of a hello, and the last of one that is none.
    let Address::Unix(path) = &served.address else { panic!("a Unix socket") };
    for byte in [0, 27, 0xff, 0xff] {
        let bad = UnixStream::connect(path).unwrap();
        ends.extend(pass_lingering(&bad, byte));
        ends.extend(pass_lingering(&bad, byte));
    }
    let mut newcomer = at_lab(&served.address);
    assert_eq!(newcomer.ask(Request::Ping, &[]), Reply::Pong);
    drop((good, newcomer, served));
    assert!(began.elapsed() < LINGER, "it took {:?}", began.elapsed());
}

#[test]
fn a_file_that_its_request_does_not_need_ends_the_session() {
    let (served, _folder) = served();
    let file = sealed("test", 0x1000).unwrap();
    let mut bad = at_lab(&served.address);
    bad.connection.request(Request::Ping, &[]).unwrap();
    bad.send(&[file.as_fd()]);
    assert_eq!(bad.parting(), Some(ErrorCode::WrongFiles));
    // Nor may more come beside a frame than any request needs.
    let mut bad = at_lab(&served.address);
    for byte in [8, 0] {
        // The server may have had enough already.
        _ = send(&bad.stream, &[byte], &[file.as_fd(); MOST]);
    }
    assert_eq!(bad.parting(), Some(ErrorCode::WrongFiles));
}

#[test]
fn memory_beyond_a_sessions_quota_is_refused_and_less_is_taken() {
    let (served, _folder) = served();
    let mut cpu = Raw::cpu(&served.address, TimeMode::Lockstep);
    let memory = sealed("test", 5 << 40).unwrap();
    for _ in 0..100 {
        let reply = cpu.ask(share(&[(BASE, 5 << 40, 0, 0)], 1), &[memory.as_fd()]);
        let (code, reason) = failed(&reply);
        assert_eq!(code, ErrorCode::QuotaExceeded);
        assert!(reason.ends_with("mapped bytes, and may have 4398046511104"), "{reason}");
        // Nothing is left of what was refused.
        assert_eq!(cpu.ask(share(&[(BASE, 0x1000, 0, 0)], 1), &[memory.as_fd()]), Reply::Done);
    }
}

/// Keeps one of the threads that unmap until the other end of its channel is dropped.
struct Busy {
    begun: Sender<()>,
    end: Receiver<()>,
}

impl Drop for Busy {
    fn drop(&mut self) {
        _ = self.begun.send(());
        _ = self.end.recv();
    }
}

/// Keeps all the threads that unmap, which are 64 and those of this process' servers too: until this is dropped nothing that
/// is replaced is unmapped.
fn nothing_is_unmapped() -> Vec<Sender<()>> {
    let (begun, has_begun) = channel();
    let keep = |_| {
        let (until, end) = channel();
        drop(Deferred::new(Busy { begun: begun.clone(), end }));
        until
    };
    let until: Vec<Sender<()>> = (0..64).map(keep).collect();
    for _ in &until {
        has_begun.recv_timeout(SOON).unwrap();
    }
    until
}

#[test]
fn regions_beyond_a_sessions_quota_are_refused_and_its_ring_is_one_of_them() {
    const PAGE: u64 = 0x1000;
    let (served, _folder) = served();
    let mut cpu = Raw::cpu(&served.address, TimeMode::Lockstep);
    let memory = sealed("test", 64 * PAGE).unwrap();
    let pages: Vec<Where> = (0..64).map(|page| (BASE + page * PAGE, PAGE, 0, page * PAGE)).collect();
    let ring = Client::new().unwrap();
    let until = nothing_is_unmapped();
    // Those that are replaced count as long as they are mapped: 512 regions.
    for number in 0..8 {
        assert_eq!(cpu.ask(share(&pages, 1), &[memory.as_fd()]), Reply::Done, "{number}");
    }
    let exceeded = "the session would have 513 mapped regions, and may have 512";
    let reply = cpu.ask(share(&pages[..1], 1), &[memory.as_fd()]);
    let reason = format!("4096 bytes at 0x80000000: {exceeded}");
    assert_eq!(failed(&reply), (ErrorCode::QuotaExceeded, &*reason));
    let reply = cpu.ask(open_ring(), &ring.files());
    assert_eq!(failed(&reply), (ErrorCode::QuotaExceeded, exceeded));
    drop(until);
    until_done(|| cpu.ask(open_ring(), &ring.files()));
}

/// `vp serve` with limits of the system's.
struct Limited {
    child: Child,
    address: Address,
    _folder: TempDir,
}

impl Limited {
    fn new(limits: &str) -> Limited {
        let folder = tempfile::tempdir().unwrap();
        let place = format!("unix:{}", folder.path().join("vp.sock").display());
        let command = format!("ulimit {limits}; exec '{}' serve --listen {place}", env!("CARGO_BIN_EXE_vp"));
        let mut bash = Command::new("bash");
        bash.args(["-c", &command]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = bash.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("listening on"), "{line}");
        Limited { child, address: place.parse().unwrap(), _folder: folder }
    }

    fn cpu(&self) -> Raw {
        Raw::cpu(&self.address, TimeMode::Lockstep)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Asks until it is done: what others had comes back when the server has seen them go.
fn until_done(mut ask: impl FnMut() -> Reply) {
    let began = Instant::now();
    loop {
        match ask() {
            Reply::Done => return,
            reply => assert_eq!(failed(&reply).0, ErrorCode::QuotaExceeded),
        }
        assert!(began.elapsed() < Duration::from_secs(60), "nothing is given back");
        std::thread::yield_now();
    }
}

#[test]
fn what_sessions_map_together_leaves_the_server_room_and_is_given_back() {
    const SIZE: u64 = 1 << 30;
    // Half of 12 GiB are for what is shared.
    let served = Limited::new(&format!("-v {}", 12 << 20));
    let memory = sealed("test", SIZE).unwrap();
    let shared = |cpu: &mut Raw| cpu.ask(share(&[(BASE, SIZE, 0, 0)], 1), &[memory.as_fd()]);
    let mut cpus: Vec<Raw> = (0..10).map(|_| served.cpu()).collect();
    for (number, cpu) in cpus.iter_mut().enumerate() {
        let reply = shared(cpu);
        match number {
            0..6 => assert_eq!(reply, Reply::Done, "{number}"),
            _ => assert_eq!(failed(&reply).0, ErrorCode::QuotaExceeded, "{reply:?}"),
        }
    }
    // The server is well, and newcomers are too.
    assert_eq!(served.cpu().ask(Request::Ping, &[]), Reply::Pong);
    assert_eq!(cpus[0].ask(Request::Detach { port: DBB }, &[]), Reply::Done);
    until_done(|| shared(&mut cpus[8]));
    drop(cpus.remove(1));
    until_done(|| shared(&mut cpus[8]));
}

#[test]
fn files_that_wait_for_their_requests_leave_the_server_room_and_are_given_back() {
    let served = Limited::new("-n 1024");
    let file: OwnedFd = sealed("test", 0x1000).unwrap();
    let mut good = served.cpu();
    // The first byte of a frame each: an eighth of the descriptors are for files.
    let bad: Vec<Raw> = (0..20).map(|_| Raw::open(&served.address, None, TimeMode::Lockstep)).collect();
    for bad in &bad {
        send(&bad.stream, &[8], &[file.as_fd(); MOST]).unwrap();
    }
    let ring = Client::new().unwrap();
    let began = Instant::now();
    // They may not all have been read yet. A ring that is open is not opened again, so memory is shared until then.
    let reason = loop {
        match good.ask(share(&[(BASE, 0x1000, 0, 0)], 1), &[file.as_fd()]) {
            Reply::Done => assert!(began.elapsed() < Duration::from_secs(60), "all files are taken"),
            reply => break failed(&reply).1.to_owned(),
        }
        std::thread::yield_now();
    };
    assert_eq!(reason, "all sessions together would have 129 files beside streams, and may have 128");
    assert_eq!(failed(&good.ask(open_ring(), &ring.files())).0, ErrorCode::QuotaExceeded);
    assert_eq!(good.ask(Request::Ping, &[]), Reply::Pong);
    drop(bad);
    until_done(|| good.ask(open_ring(), &ring.files()));
}
