//! Resources that processes of one host share: memory that the platform reaches by itself, and a ring of register accesses.

use crate::common;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::common::raw_unix::{BASE, CSB, DBB, IRQ, RawUnix as Raw, Where, open_ring, share};
use crate::common::{Served, TARGET, copy, copy_registers, local, pattern, run};
use bytes::{Buf as _, BytesMut};
use tempfile::TempDir;
use vp_host::{Host as _, Memory};
use vp_models::nvdla::registers::RegisterMap;
use vp_protocols::native::{
    AccessKind as MemoryAccess, Attach, Capabilities, Connection, ErrorCode, Event, MemoryRead, MemoryWrite,
    Notice, OpenRing, Posted, RegisterRead, Reply, Request, Role, TimeMode,
};
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions};
use vp_server::Options;
use vp_shm::ring::{Access, Client};
use vp_shm::{Region, sealed};
use vp_transport::Address;

fn served() -> (Served, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("unix:{}", folder.path().join("vp.sock").display());
    (Served::at(&address, Options::default()), folder)
}

fn read(address: u64) -> vp_shm::ring::Request {
    vp_shm::ring::Request { access: Access::Read, address, at: None }
}

fn answer(client: &mut Client) -> vp_shm::ring::Reply {
    let began = std::time::Instant::now();
    loop {
        if let Some(reply) = client.answer() {
            return reply;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no answer");
        std::thread::yield_now();
    }
}

fn code(reply: &Reply) -> ErrorCode {
    match reply {
        Reply::Failed { code, .. } => *code,
        other => panic!("{other:?} is no failure"),
    }
}

#[test]
fn a_run_is_the_same_with_and_without_what_is_shared() {
    let trace = copy(8, 8, 32);
    let (outcome, statistics) = run(&trace, &mut local());
    let (served, _folder) = served();
    for share in [true, false] {
        let options = RemoteOptions { memory: MemoryPlace::Client, share, ..RemoteOptions::default() };
        let (remote_outcome, remote) = run(&trace, &mut served.join(options));
        assert_eq!(remote.text("events.hash"), statistics.text("events.hash"), "{share}");
        assert_eq!(remote_outcome, outcome, "{share}");
    }
}

#[test]
fn the_platform_reads_and_writes_shared_memory_without_asking() {
    let (served, _folder) = served();
    let mut cpu = Raw::cpu(&served.address, TimeMode::Lockstep);
    let memory = sealed("test", 0x10_0000).unwrap();
    let region = Region::map(&memory, 0, 0x10_0000).unwrap();
    assert_eq!(cpu.ask(share(&[(BASE, 0x10_0000, 0, 0)], 1), &[memory.as_fd()]), Reply::Done);
    let bytes = pattern(8 * 8 * 16);
    assert!(region.write(0, &bytes));
    let mut ring = cpu.ring();
    for (register, value) in copy_registers(8, 8, 16) {
        let address = u64::from(RegisterMap::Small.find(register).unwrap().address);
        assert!(ring.ask(vp_shm::ring::Request { access: Access::Posted(value), address, at: None }));
    }
    let until = vp_protocols::native::Until::Interrupt { port: IRQ, limit: None };
    let reached = cpu.ask(Request::Advance { until }, &[]);
    assert!(matches!(reached, Reply::Reached { why: vp_protocols::native::Why::Interrupt }), "{reached:?}");
    let mut there = vec![0; bytes.len()];
    assert!(region.read(u64::from(TARGET) - BASE, &mut there));
    assert_eq!((there == bytes, cpu.asked), (true, 0));
    // The ring shows the line that Advance waited for.
    assert!(ring.line().level());
}

#[test]
fn what_is_not_shared_is_asked_for_as_before() {
    let (served, _folder) = served();
    let mut cpu = Raw::cpu(&served.address, TimeMode::Lockstep);
    let memory = sealed("test", 0x1000).unwrap();
    // The first lines only.
    assert_eq!(cpu.ask(share(&[(BASE, 0x40, 0, 0)], 1), &[memory.as_fd()]), Reply::Done);
    for (register, value) in copy_registers(8, 8, 8) {
        let address = u64::from(RegisterMap::Small.find(register).unwrap().address);
        let write = vp_protocols::native::RegisterWrite { port: CSB, address, value, at: None };
        cpu.connection.post(vp_protocols::native::Posted::RegisterWrite(write), &[]).unwrap();
    }
    let until = vp_protocols::native::Until::Interrupt { port: IRQ, limit: None };
    cpu.connection.request(Request::Advance { until }, &[]).unwrap();
    cpu.send(&[]);
    let mut addresses = Vec::new();
    loop {
        match cpu.next() {
            Event::Request { id, request: Request::MemoryRead(read), .. } => {
                addresses.push(read.address);
                let data = vec![0; read.length as usize];
                cpu.connection.reply(id, vp_protocols::native::Time::ps(0), Reply::Data, &data).unwrap();
            }
            Event::Request { id, .. } => {
                cpu.connection.reply(id, vp_protocols::native::Time::ps(0), Reply::Done, &[]).unwrap();
            }
            Event::Reply { .. } => break,
            _ => {}
        }
        cpu.send(&[]);
    }
    assert!(
        !addresses.is_empty() && addresses.iter().all(|&address| address >= BASE + 0x40),
        "{addresses:x?}"
    );
}

#[test]
fn memory_that_cannot_be_shared_is_refused_and_the_session_goes_on() {
    let (served, _folder) = served();
    let mut cpu = Raw::cpu(&served.address, TimeMode::Lockstep);
    let memory = sealed("test", 0x2000).unwrap();
    let plain: OwnedFd = tempfile::tempfile().unwrap().into();
    let end = BASE + common::description().dbb0.size;
    let cases: [(&[Where], &OwnedFd, ErrorCode); 9] = [
        (&[], &memory, ErrorCode::BadRange),
        (&[(BASE, 0, 0, 0)], &memory, ErrorCode::BadRange),
        (&[(BASE - 0x1000, 0x2000, 0, 0)], &memory, ErrorCode::BadRange),
        (&[(end - 0x1000, 0x2000, 0, 0)], &memory, ErrorCode::BadRange),
        (&[(u64::MAX - 0xfff, 0x2000, 0, 0)], &memory, ErrorCode::BadRange),
        (&[(BASE, 0x1000, 0, 0), (BASE + 0xfff, 0x1000, 0, 0x1000)], &memory, ErrorCode::BadRange),
        (&[(BASE, 0x1000, 1, 0)], &memory, ErrorCode::BadRange),
        (&[(BASE, 0x2000, 0, 0x1000)], &memory, ErrorCode::Unsupported),
        (&[(BASE, 0x1000, 0, 0)], &plain, ErrorCode::Unsupported),
    ];
    for (regions, file, expected) in cases {
        assert_eq!(code(&cpu.ask(share(regions, 1), &[file.as_fd()])), expected, "{regions:x?}");
    }
    assert_eq!(code(&cpu.ask(share(&[(BASE, 0x1000, 0, 0)], 0), &[])), ErrorCode::BadRange);
    // Nothing is left of what was refused, and what is right is taken.
    assert_eq!(cpu.ask(share(&[(BASE, 0x1000, 0, 0x1000)], 1), &[memory.as_fd()]), Reply::Done);
    // Of a port that the session is not the memory of, nothing is.
    assert_eq!(cpu.ask(Request::Detach { port: DBB }, &[]), Reply::Done);
    let reply = cpu.ask(share(&[(BASE, 0x1000, 0, 0)], 1), &[memory.as_fd()]);
    assert_eq!(code(&reply), ErrorCode::NotAttached);
}

#[test]
fn a_request_without_its_files_ends_the_session() {
    let (served, _folder) = served();
    let mut cpu = Raw::cpu(&served.address, TimeMode::Lockstep);
    cpu.connection.request(open_ring(), &[]).unwrap();
    let file = sealed("test", 0x1000).unwrap();
    cpu.send(&[file.as_fd()]);
    assert_eq!(cpu.parting(), Some(ErrorCode::WrongFiles));
}

#[test]
fn files_that_nothing_needs_end_the_session() {
    let (served, _folder) = served();
    let mut cpu = Raw::cpu(&served.address, TimeMode::Lockstep);
    let file = sealed("test", 0x1000).unwrap();
    for _ in 0..5 {
        cpu.connection.request(Request::Ping, &[]).unwrap();
        let files = [file.as_fd(); vp_shm::descriptors::MOST];
        let sent = vp_shm::descriptors::send(&cpu.stream, cpu.connection.output().chunk(), &files);
        // The server may have had enough before the last.
        let Ok(sent) = sent else { break };
        cpu.connection.output().advance(sent);
    }
    assert_eq!(cpu.parting(), Some(ErrorCode::WrongFiles));
}

#[test]
fn over_tcp_nothing_is_shared() {
    let served = Served::tcp();
    let Address::Tcp { host, port } = &served.address else { panic!("TCP") };
    let mut stream = std::net::TcpStream::connect((host.as_str(), *port)).unwrap();
    let mut hello = Connection::hello("raw 1.0", None, TimeMode::Lockstep);
    hello.capabilities = hello.capabilities.union(Capabilities::LOCAL);
    let mut connection = Connection::client(hello).unwrap();
    std::io::Write::write_all(&mut stream, &connection.output().split()).unwrap();
    let mut input = BytesMut::new();
    let welcome = loop {
        match connection.receive(&mut input).unwrap() {
            Some(Event::Welcome(welcome)) => break welcome,
            Some(other) => panic!("{other:?}"),
            None => {
                let mut bytes = [0; 4096];
                let read = std::io::Read::read(&mut stream, &mut bytes).unwrap();
                input.extend_from_slice(&bytes[..read]);
            }
        }
    };
    assert_eq!(welcome.capabilities, Capabilities::ALL);
}

#[test]
fn an_access_through_the_ring_has_the_effect_and_the_errors_of_one_over_the_stream() {
    let (served, _folder) = served();
    let mut cpu = Raw::cpu(&served.address, TimeMode::Lockstep);
    let mut ring = cpu.ring();
    let mask = u64::from(RegisterMap::Small.find("GLB.S_INTR_MASK").unwrap().address);
    let write = |access| vp_shm::ring::Request { access, address: mask, at: None };
    assert!(ring.ask(write(Access::Posted(5))) && ring.ask(read(mask)));
    assert_eq!(answer(&mut ring).value, 5);
    assert!(ring.ask(write(Access::Write(6))));
    let done = answer(&mut ring);
    assert!(done.is_done() && done.time > 0);
    // A frame that is sent after an access has taken effect later.
    assert!(ring.ask(write(Access::Posted(7))));
    let request = Request::RegisterRead(RegisterRead { port: CSB, address: mask, at: None });
    assert_eq!(cpu.ask(request, &[]), Reply::Value { value: 7 });
    // Errors have their codes, and their place among the answers.
    assert!(ring.ask(read(mask)) && ring.ask(read(2)) && ring.ask(read(1 << 40)) && ring.ask(read(mask)));
    let codes = [(); 4].map(|()| answer(&mut ring).code);
    let [misaligned, decode] = [ErrorCode::Misaligned, ErrorCode::DecodeError].map(u16::from).map(u32::from);
    assert_eq!(codes, [0, misaligned, decode, 0]);
}

#[test]
fn a_ring_is_for_who_holds_its_ports_and_there_is_one() {
    let (served, _folder) = served();
    let client = Client::new().unwrap();
    let mut nobody = Raw::open(&served.address, None, TimeMode::Lockstep);
    assert_eq!(code(&nobody.ask(open_ring(), &client.files())), ErrorCode::NotAttached);
    let mut cpu = Raw::cpu(&served.address, TimeMode::Lockstep);
    let memory = Request::OpenRing(OpenRing { port: CSB, line: DBB });
    assert_eq!(code(&cpu.ask(memory, &client.files())), ErrorCode::NotAttached);
    let empty = sealed("empty", vp_shm::ring::BYTES).unwrap();
    let [_, own, peer] = client.files();
    assert_eq!(code(&cpu.ask(open_ring(), &[empty.as_fd(), own, peer])), ErrorCode::Unsupported);
    let mut ring = cpu.ring();
    assert_eq!(code(&cpu.ask(open_ring(), &client.files())), ErrorCode::PortBusy);
    assert!(ring.ask(read(0)));
    assert!(answer(&mut ring).is_done());
}

#[test]
fn an_entry_that_is_none_ends_the_session_and_no_other() {
    let (served, _folder) = served();
    let options = || RemoteOptions { platform: Some("lab".into()), ..RemoteOptions::default() };
    let mut cpu = Raw::open(&served.address, Some("lab"), TimeMode::Lockstep);
    for (port, role) in [(CSB, Role::Initiator), (IRQ, Role::Sink)] {
        assert_eq!(cpu.ask(Request::Attach(Attach { port, role, range: None }), &[]), Reply::Done);
    }
    let ring = cpu.ring();
    let bytes = Region::map(ring.files()[0], 0, vp_shm::ring::BYTES).unwrap();
    assert!(bytes.write(0x104, &77_u32.to_le_bytes()) && bytes.write(0x100, &1_u32.to_le_bytes()));
    // The server sleeps, and was not woken by who wrote that.
    ring_bell(ring.files()[1]);
    assert_eq!(cpu.parting(), Some(ErrorCode::BadEntry));
    let mut next = RemoteHost::connect(&served.address, options()).unwrap();
    assert_ne!(next.read(0).unwrap(), u32::MAX);
}

/// Rings a bell.
fn ring_bell(bell: BorrowedFd<'_>) {
    let mut file = std::fs::File::from(bell.try_clone_to_owned().unwrap());
    std::io::Write::write_all(&mut file, &1_u64.to_ne_bytes()).unwrap();
}

#[test]
fn a_client_that_dies_with_accesses_in_its_ring_leaves_its_platform_to_the_next() {
    let (served, _folder) = served();
    let mut watcher = Raw::open(&served.address, Some("lab"), TimeMode::Free);
    let mut cpu = Raw::open(&served.address, Some("lab"), TimeMode::Free);
    for (port, role) in [(CSB, Role::Initiator), (IRQ, Role::Sink)] {
        assert_eq!(cpu.ask(Request::Attach(Attach { port, role, range: None }), &[]), Reply::Done);
    }
    let mut ring = cpu.ring();
    while ring.ask(read(0)) {}
    drop((cpu, ring));
    loop {
        let Reply::Status(status) = watcher.ask(Request::Status, &[]) else { panic!("no status") };
        if status.sessions == 1 {
            break;
        }
        std::thread::yield_now();
    }
    let attach = Request::Attach(Attach { port: CSB, role: Role::Initiator, range: None });
    assert_eq!(watcher.ask(attach, &[]), Reply::Done);
}

#[test]
fn who_has_its_ring_of_writes_for_later_taken_by_other_requests_is_read_no_further() {
    const ROUNDS: usize = 200;
    // So many commands of a session may be under way.
    const COMMANDS: usize = 4096;
    let (served, _folder) = served();
    let mut cpu = Raw::cpu(&served.address, TimeMode::Paced { picoseconds_per_nanosecond: 1 });
    cpu.stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut ring = cpu.ring();
    let address = u64::from(RegisterMap::Small.find("GLB.S_INTR_MASK").unwrap().address);
    // Time does not come to that.
    let later = vp_shm::ring::Request { access: Access::Posted(1), address, at: Some(1 << 61) };
    let mut bytes = [0; 4096];
    for round in 0.. {
        assert!(round < ROUNDS, "the server keeps what {ROUNDS} rings hold");
        while ring.ask(later) {}
        cpu.connection.request(Request::Ping, &[]).unwrap();
        cpu.send(&[]);
        match std::io::Read::read(&mut cpu.stream, &mut bytes) {
            Ok(read) => cpu.input.extend_from_slice(&bytes[..read]),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                assert!(round * vp_shm::ring::ENTRIES as usize > COMMANDS / 2, "no answer in round {round}");
                break;
            }
        }
        while let Some(event) = cpu.connection.receive(&mut cpu.input).unwrap() {
            assert!(matches!(event, Event::Reply { reply: Reply::Pong, .. }), "{event:?}");
        }
    }
}

#[test]
fn an_interrupt_is_in_the_ring_before_the_answer_that_shows_it() {
    let (served, _folder) = served();
    let mut cpu = Raw::cpu(&served.address, TimeMode::Free);
    let memory = sealed("test", 0x10_0000).unwrap();
    assert_eq!(cpu.ask(share(&[(BASE, 0x10_0000, 0, 0)], 1), &[memory.as_fd()]), Reply::Done);
    let mut ring = cpu.ring();
    for (register, value) in copy_registers(8, 8, 16) {
        let address = u64::from(RegisterMap::Small.find(register).unwrap().address);
        while !ring.ask(vp_shm::ring::Request { access: Access::Posted(value), address, at: None }) {}
    }
    let status = u64::from(RegisterMap::Small.find("GLB.S_INTR_STATUS").unwrap().address);
    let seen = loop {
        assert!(ring.ask(read(status)));
        let reply = answer(&mut ring);
        if reply.value != 0 {
            break reply;
        }
    };
    assert!(seen.line.level());
    let clear = Access::Write(seen.value);
    assert!(ring.ask(vp_shm::ring::Request { access: clear, address: status, at: None }));
    let cleared = answer(&mut ring);
    assert!(!cleared.line.level() && cleared.line.is_newer(seen.line));
    // The notices of both come too.
    let mut levels = Vec::new();
    cpu.connection.request(Request::Ping, &[]).unwrap();
    cpu.send(&[]);
    loop {
        match cpu.next() {
            Event::Notice(Notice::Interrupt { level, .. }) => levels.push(level),
            Event::Reply { .. } => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(levels, [true, false]);
}

#[test]
fn memory_on_the_clients_side_is_where_the_program_put_it() {
    let (served, _folder) = served();
    let mut host = served.host(MemoryPlace::Client);
    let bytes = pattern(5000);
    host.load(Memory::Primary, u64::from(TARGET) + 3, &bytes).unwrap();
    let mut back = vec![0; bytes.len()];
    host.fetch(Memory::Primary, u64::from(TARGET) + 3, &mut back).unwrap();
    assert_eq!(back, bytes);
}

#[test]
fn frames_that_take_many_reads_are_taken_whole_however_they_come() {
    // The last bytes of a frame may be read in the very last round before the platform's thread would sleep.
    let (served, _folder) = served();
    for share in [true, false] {
        let mut host = served.join(RemoteOptions { share, ..RemoteOptions::default() });
        let bytes = pattern(1 << 20);
        for at in 0..24 {
            host.load(Memory::Primary, u64::from(TARGET) + at * 4096, &bytes).unwrap();
        }
        let mut back = vec![0; bytes.len()];
        host.fetch(Memory::Primary, u64::from(TARGET) + 23 * 4096, &mut back).unwrap();
        assert!(back == bytes);
    }
}

#[test]
fn what_a_holder_sent_before_it_went_is_done_before_the_next_has_its_port() {
    let (served, _folder) = served();
    let mut next = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    let attach = |port| Request::Attach(Attach { port, role: Role::Initiator, range: None });
    let (access, axi_id, at) = (MemoryAccess::Debug, 0, None);
    let address = TARGET.into();
    assert_eq!(next.ask(attach(DBB), &[]), Reply::Done);
    for value in 1..=50 {
        let mut holder = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
        assert_eq!((holder.ask(attach(DBB), &[]), holder.ask(attach(CSB), &[])), (Reply::Done, Reply::Done));
        let write = MemoryWrite { port: DBB, address, length: 4, access, axi_id, strobes: false, at };
        holder.connection.post(Posted::MemoryWrite(write), &[value; 4]).unwrap();
        holder.send(&[]);
        drop(holder);
        // Sent at once: the second waits behind the first.
        let taken = next.connection.request(attach(CSB), &[]).unwrap();
        let read = MemoryRead { port: DBB, address, length: 4, access, axi_id, at };
        let read = next.connection.request(Request::MemoryRead(read), &[]).unwrap();
        next.send(&[]);
        let Event::Reply { id, reply, .. } = next.next() else { panic!() };
        assert_eq!((id, reply), (taken, Reply::Done));
        let Event::Reply { id, payload, .. } = next.next() else { panic!() };
        assert_eq!((id, &payload[..]), (read, &[value; 4][..]));
        assert_eq!(next.ask(Request::Detach { port: CSB }, &[]), Reply::Done);
    }
}
