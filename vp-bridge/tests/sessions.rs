//! What one session does, or leaves undone, costs no other anything but what it had from it.

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use common::raw::{CSB, DBB, IRQ, Raw};
use common::{SOURCE, Served, TARGET, copy, fetch_target, local, pattern, run, start_copy};
use rand::rngs::SmallRng;
use rand::{Rng as _, RngCore as _, SeedableRng as _};
use vp_models::host::{Host, HostError, Memory};
use vp_models::platform::Description;
use vp_protocols::native::{
    Access, Activity, Attach, Connection, ErrorCode, Event, MemoryRead, MemoryWrite, Notice, PortId, Posted,
    Range, RegisterRead, RegisterWrite, Reply, Request, RequestId, Role, Time, TimeMode, Until, Why,
};
use vp_remote::{ConnectError, MemoryPlace, RemoteHost, RemoteOptions};
use vp_server::Options;
use vp_transport::Address;

fn read(address: u64) -> Request {
    Request::RegisterRead(RegisterRead { port: CSB, address, at: None })
}

fn memory_read(address: u64, length: u32) -> Request {
    let (access, axi_id, at) = (Access::Debug, 0, None);
    Request::MemoryRead(MemoryRead { port: DBB, address, length, access, axi_id, at })
}

fn code(reply: &Reply) -> ErrorCode {
    match reply {
        Reply::Failed { code, .. } => *code,
        other => panic!("{other:?} is no failure"),
    }
}

fn shared(name: &str, memory: MemoryPlace) -> RemoteOptions {
    RemoteOptions { platform: Some(name.to_owned()), memory, ..RemoteOptions::default() }
}

/// One of the ways in which strangers misbehave.
fn misbehave(address: &Address, kind: u32, random: &mut SmallRng) {
    let mut stream = Raw::dial(address);
    let mut garbage = vec![0; random.random_range(1..3000)];
    random.fill_bytes(&mut garbage);
    let mut connection = Connection::client(Connection::hello("rude 1.0", None, TimeMode::Lockstep)).unwrap();
    let hello = connection.output().split();
    // The server may close while we write: that is its right.
    match kind % 6 {
        0 => drop(stream.write_all(&garbage)),
        1 => drop(stream.write_all(&hello[..hello.len() / 2])),
        2 => drop(stream.write_all(&hello).and_then(|()| stream.write_all(&garbage))),
        3 => {
            let _ = stream.write_all(&hello);
            let _ = stream.shutdown(std::net::Shutdown::Write);
        }
        4 => {
            // A welcome is read, then half a frame sent.
            let _ = stream.write_all(&hello);
            let mut welcome = [0; 64];
            let _ = stream.read(&mut welcome);
            let _ = stream.write_all(&[200, 0, 0, 0, 0xff, 0xff, 0, 0, 4]);
        }
        _ => {}
    }
    if kind.is_multiple_of(2) {
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
}

#[test]
fn two_hundred_strangers_that_misbehave_do_not_disturb_the_one_that_works() {
    let served = Served::tcp();
    let trace = copy(8, 8, 32);
    let (_, wanted) = run(&trace, &mut local());
    let (next, over) = (AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for seed in 0..8 {
            let (next, over, address) = (&next, &over, &served.address);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed);
                loop {
                    let kind = next.fetch_add(1, Ordering::Relaxed);
                    if kind >= 200 {
                        break;
                    }
                    misbehave(address, kind, &mut random);
                }
                over.store(true, Ordering::Relaxed);
            });
        }
        let mut runs = 0;
        while runs == 0 || !over.load(Ordering::Relaxed) {
            for memory in [MemoryPlace::Inside, MemoryPlace::Client] {
                let (_, statistics) = run(&trace, &mut served.host(memory));
                assert_eq!(statistics.text("events.hash"), wanted.text("events.hash"));
            }
            runs += 1;
        }
    });
}

/// What is sent comes in pieces of any length, and there is hardly ever room for all that is to be sent.
#[test]
fn a_run_is_the_same_over_a_network_that_cuts_every_frame() {
    let served = Served::tcp();
    let Address::Tcp { port, .. } = served.address else { unreachable!() };
    let trace = copy(8, 8, 32);
    let (_, wanted) = run(&trace, &mut local());
    for seed in 0..3 {
        for memory in [MemoryPlace::Inside, MemoryPlace::Client] {
            let address = format!("tcp:{}", common::relay::relay(port, seed)).parse().unwrap();
            let options = RemoteOptions { memory, ..RemoteOptions::default() };
            let (_, statistics) = run(&trace, &mut RemoteHost::connect(&address, options).unwrap());
            assert_eq!(statistics.text("events.hash"), wanted.text("events.hash"), "seed {seed}");
        }
    }
}

#[test]
fn a_stranger_is_told_which_rule_it_broke() {
    let served = Served::tcp();
    let mut stream = Raw::dial(&served.address);
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let mut client = Connection::client(Connection::hello("x", None, TimeMode::Free)).unwrap();
    let event = client.receive(&mut BytesMut::from(&answer[..])).unwrap();
    assert!(matches!(event, Some(Event::Refused(refused)) if refused.code == ErrorCode::Malformed));
}

#[test]
fn what_came_before_a_broken_rule_is_answered() {
    let served = Served::tcp();
    for mode in [TimeMode::Lockstep, TimeMode::Free] {
        let mut raw = Raw::open(&served.address, None, mode);
        assert_eq!(raw.attach(CSB, Role::Initiator), Reply::Done);
        assert_eq!(raw.attach(DBB, Role::Initiator), Reply::Done);
        let mut asked =
            vec![raw.send(read(0)), raw.send(memory_read(0x8000_0000, 8)), raw.send(Request::Ping)];
        if mode == TimeMode::Lockstep {
            // The last of them, and in pieces: other sessions are looked at meanwhile.
            asked.push(raw.send(Request::Advance { until: Until::Time(Time(1_000_000_000)) }));
        }
        let mut bytes = raw.connection.output().split();
        bytes.extend_from_slice(&[0xff; 8]);
        raw.stream.write_all(&bytes).unwrap();
        let mut answered: Vec<RequestId> = asked.iter().map(|_| raw.reply(&mut Vec::new()).0).collect();
        answered.sort_unstable();
        assert_eq!(answered, asked);
        let event = raw.next();
        assert!(matches!(&event, Event::Bye(bye) if bye.code == Some(ErrorCode::Malformed)), "{event:?}");
    }
}

/// What stands behind it in the stream is not looked at, so its answer never comes.
#[test]
fn a_memory_owner_that_breaks_a_rule_is_gone_at_once() {
    let served = Served::at(
        "tcp:127.0.0.1:0",
        Options { owner_timeout: Duration::from_secs(3600), ..Options::default() },
    );
    let mut owner = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
    let mut reader = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(reader.attach(DBB, Role::Initiator), Reply::Done);
    let asked = reader.send(memory_read(0x8000_0000, 8));
    reader.flush();
    assert!(matches!(owner.next(), Event::Request { request: Request::MemoryRead(_), .. }));
    owner.stream.write_all(&[0xff; 8]).unwrap();
    let (id, _, reply) = reader.reply(&mut Vec::new());
    assert_eq!((id, code(&reply)), (asked, ErrorCode::Cancelled));
}

/// Nobody would answer what it waits for in this hour.
#[test]
fn who_breaks_a_rule_and_goes_is_gone_whatever_it_has_asked_before() {
    let served = Served::at(
        "tcp:127.0.0.1:0",
        Options { owner_timeout: Duration::from_secs(3600), ..Options::default() },
    );
    let mut owner = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
    let mut gone = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    for port in [CSB, DBB] {
        assert_eq!(gone.attach(port, Role::Initiator), Reply::Done);
    }
    gone.send(memory_read(0x8000_0000, 8));
    let mut bytes = gone.connection.output().split();
    bytes.extend_from_slice(&[0xff; 8]);
    gone.stream.write_all(&bytes).unwrap();
    assert!(matches!(owner.next(), Event::Request { request: Request::MemoryRead(_), .. }));
    drop(gone);
    let mut next = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(next.attach(CSB, Role::Initiator), Reply::Done);
}

#[test]
fn who_does_not_say_hello_is_sent_away_after_a_while() {
    let options = Options { handshake_timeout: Duration::from_millis(1), ..Options::default() };
    let served = Served::at("tcp:127.0.0.1:0", options);
    let mut stream = Raw::dial(&served.address);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(!answer.is_empty());
}

#[test]
fn a_full_server_says_so_and_takes_the_next_when_one_has_left() {
    let served = Served::at("tcp:127.0.0.1:0", Options { max_sessions: 1, ..Options::default() });
    let first = served.host(MemoryPlace::Inside);
    let refused = RemoteHost::connect(&served.address, RemoteOptions::default()).err().unwrap();
    assert!(
        matches!(
            refused,
            ConnectError::Connect(vp_client::ConnectError::Refused { code: ErrorCode::ServerFull, .. })
        ),
        "{refused}"
    );
    first.close().unwrap();
    while RemoteHost::connect(&served.address, RemoteOptions::default()).is_err() {}
}

#[test]
fn a_port_that_is_held_is_refused_with_its_holder_and_free_when_that_one_leaves() {
    let served = Served::tcp();
    let mut first = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    let mut second = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(first.attach(CSB, Role::Initiator), Reply::Done);
    let Reply::Failed { code, reason } = second.attach(CSB, Role::Initiator) else { panic!() };
    assert_eq!(code, ErrorCode::PortBusy);
    assert!(reason.contains("csb0 is held by session 1 as initiator"), "{reason}");
    assert_eq!(first.ask(Request::Detach { port: CSB }), Reply::Done);
    assert_eq!(second.attach(CSB, Role::Initiator), Reply::Done);
    drop(second);
    // The end of a TCP stream is on its way for a moment.
    while first.attach(CSB, Role::Initiator) != Reply::Done {}
}

/// Where the process is told the server's address, by which [`holder`] is run.
const HOLDER: &str = "VP_TEST_HOLDER";

/// No test: a process that holds a platform and is killed.
#[test]
fn holder() {
    let Ok(address) = std::env::var(HOLDER) else { return };
    let options = shared("p", MemoryPlace::Client);
    let _host = RemoteHost::connect(&address.parse().unwrap(), options).unwrap();
    writeln!(std::io::stderr(), "holding").unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn a_platform_whose_holder_was_killed_can_be_taken_at_once() {
    let folder = tempfile::tempdir().unwrap();
    // The end of a TCP stream may be overtaken by what comes over another.
    let served = Served::at(&format!("unix:{}", folder.path().join("s").display()), Options::default());
    for _ in 0..20 {
        let mut holder = std::process::Command::new(std::env::current_exe().unwrap());
        holder.args(["--exact", "holder", "--nocapture"]).env(HOLDER, served.address.to_string());
        let mut holder = holder.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(holder.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "holding"));
        holder.kill().unwrap();
        holder.wait().unwrap();
        drop(served.join(shared("p", MemoryPlace::Client)));
    }
}

#[test]
fn requests_on_ports_not_attached_or_beyond_them_fail_and_the_session_goes_on() {
    let served = Served::tcp();
    let mut raw = Raw::open(&served.address, None, TimeMode::Free);
    assert_eq!(code(&raw.ask(read(0))), ErrorCode::NotAttached);
    assert_eq!(code(&raw.ask(memory_read(u64::from(TARGET), 4))), ErrorCode::NotAttached);
    assert_eq!(code(&raw.attach(CSB, Role::Target)), ErrorCode::WrongRole);
    assert_eq!(code(&raw.attach(PortId(9), Role::Sink)), ErrorCode::NoSuchPort);
    assert_eq!(raw.attach(CSB, Role::Initiator), Reply::Done);
    assert_eq!(raw.attach(DBB, Role::Initiator), Reply::Done);
    assert_eq!(code(&raw.ask(read(2))), ErrorCode::Misaligned);
    assert_eq!(code(&raw.ask(read(0x4_0000))), ErrorCode::DecodeError);
    assert_eq!(code(&raw.ask(read(u64::MAX - 3))), ErrorCode::DecodeError);
    assert_eq!(code(&raw.ask(memory_read(u64::MAX, 4))), ErrorCode::BadRange);
    assert_eq!(code(&raw.ask(memory_read(0x8000_0000 - 1, 4))), ErrorCode::BadRange);
    assert_eq!(code(&raw.ask(Request::Advance { until: Until::Idle })), ErrorCode::WrongTimeMode);
    assert!(matches!(raw.ask(read(0)), Reply::Value { .. }));
}

#[test]
fn a_failed_register_access_keeps_its_place_among_the_answers() {
    for mode in [TimeMode::Lockstep, TimeMode::Free] {
        let served = Served::tcp();
        let mut raw = Raw::open(&served.address, None, mode);
        assert_eq!(raw.attach(CSB, Role::Initiator), Reply::Done);
        let ids: Vec<RequestId> = [0, 2, 4, 1 << 40, 8].map(|address| raw.send(read(address))).into();
        let answered: Vec<RequestId> = ids.iter().map(|_| raw.reply(&mut Vec::new()).0).collect();
        assert_eq!(answered, ids);
    }
}

#[test]
fn a_cpu_that_vanishes_in_the_middle_of_a_layer_leaves_its_platform_to_the_others() {
    let served = Served::tcp();
    let mut watcher = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(watcher.attach(DBB, Role::Initiator), Reply::Done);
    let mut cpu = served.join(shared("p", MemoryPlace::Inside));
    start_copy(&mut cpu, 8, 8, 32);
    cpu.read(0).unwrap();
    drop(cpu);
    while watcher.attach(CSB, Role::Initiator) != Reply::Done {}
    let reached = watcher.ask(Request::Advance { until: Until::Interrupt { port: IRQ, limit: None } });
    assert_eq!(reached, Reply::Reached { why: Why::Interrupt });
}

#[test]
fn a_memory_owner_that_vanishes_leaves_errors_and_warnings_and_no_hang() {
    let served = Served::tcp();
    let mut owner = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
    let mut cpu = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(cpu.attach(CSB, Role::Initiator), Reply::Done);
    let map = local().map();
    for (register, value) in common::copy_registers(8, 8, 32) {
        let address = u64::from(map.find(register).unwrap().address);
        let write = RegisterWrite { port: CSB, address, value, at: None };
        cpu.connection.post(Posted::RegisterWrite(write), &[]).unwrap();
    }
    let waits = cpu.send(Request::Advance { until: Until::Interrupt { port: IRQ, limit: None } });
    cpu.flush();
    // The device wants data; its owner goes away instead.
    let event = owner.next();
    assert!(matches!(event, Event::Request { request: Request::MemoryRead(_), .. }), "{event:?}");
    drop(owner);
    let mut before = Vec::new();
    let (id, _, reply) = cpu.reply(&mut before);
    assert_eq!((id, reply), (waits, Reply::Reached { why: Why::Interrupt }));
    let warned = |what: &str| {
        let is = |event: &Event| matches!(event, Event::Notice(Notice::Warning { text, .. }) if text.contains(what));
        before.iter().any(is)
    };
    assert!(warned("which owned the memory, is gone"), "{before:?}");
    assert!(warned("zeros returned"), "{before:?}");
}

#[test]
fn a_cpu_and_a_memory_in_two_sessions_are_the_same_run_as_one_program() {
    let (_, wanted) = run(&copy(8, 8, 32), &mut local());
    let served = Served::tcp();
    let mut owner = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
    let serving = std::thread::spawn(move || {
        let ram = vp_models::memory::Ram::new(0x8000_0000..0x1_0000_0000);
        loop {
            owner.flush();
            let Event::Request { id, request, payload } = owner.next() else { break };
            let (reply, data) = match request {
                Request::MemoryRead(MemoryRead { address, length, .. }) => {
                    let mut data = vec![0; length as usize];
                    ram.read(address, &mut data).unwrap();
                    (Reply::Data, data)
                }
                Request::MemoryWrite(MemoryWrite { address, .. }) => {
                    ram.write(address, &payload).unwrap();
                    (Reply::Done, Vec::new())
                }
                other => panic!("{other:?}"),
            };
            owner.connection.reply(id, Time(0), reply, &data).unwrap();
        }
    });
    // Loading and checking go through the platform to the memory's owner.
    let mut cpu = served.join(shared("p", MemoryPlace::Inside));
    let (_, statistics) = run(&copy(8, 8, 32), &mut cpu);
    assert_eq!(statistics.text("events.hash"), wanted.text("events.hash"));
    drop(served);
    serving.join().unwrap();
}

#[test]
fn a_reset_in_the_middle_of_a_layer_cancels_what_is_in_flight_and_the_next_layer_runs() {
    let served = Served::tcp();
    let mut cpu = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(cpu.attach(CSB, Role::Initiator), Reply::Done);
    let mut owner = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
    let map = local().map();
    for (register, value) in common::copy_registers(8, 8, 32) {
        let address = u64::from(map.find(register).unwrap().address);
        let write = RegisterWrite { port: CSB, address, value, at: None };
        cpu.connection.post(Posted::RegisterWrite(write), &[]).unwrap();
    }
    let advance = cpu.send(Request::Advance { until: Until::Idle });
    let waiting = cpu.send(read(0));
    cpu.flush();
    let Event::Request { id: late, request: Request::MemoryRead(asked), .. } = owner.next() else { panic!() };
    let Reply::Status(status) = cpu_status(&mut cpu) else { panic!() };
    assert_eq!((status.activity, status.sessions), (Activity::Held, 2));
    assert_eq!(status.attached.len(), 2);

    let reset = cpu.send(Request::Reset);
    let mut answers = Vec::new();
    for _ in 0..3 {
        let (id, time, reply) = cpu.reply(&mut Vec::new());
        answers.push((id, reply));
        assert!(time > Time(0), "time goes on");
    }
    assert!(answers.contains(&(reset, Reply::Done)));
    for id in [advance, waiting] {
        let (_, reply) = answers.iter().find(|(of, _)| *of == id).unwrap();
        assert_eq!(code(reply), ErrorCode::Cancelled);
    }
    // The answer to a burst of the platform that was is nobody's, and does no harm.
    owner.connection.reply(late, Time(0), Reply::Data, &vec![0; asked.length as usize]).unwrap();
    owner.flush();
    drop(owner);
    drop(cpu);
    let mut host = loop {
        match RemoteHost::connect(&served.address, shared("p", MemoryPlace::Inside)) {
            Ok(host) => break host,
            Err(error) => assert!(error.to_string().contains("is held by"), "{error}"),
        }
    };
    let expected = start_copy(&mut host, 8, 8, 32);
    host.reset().unwrap();
    let expected_again = start_copy(&mut host, 8, 8, 32);
    assert_eq!(expected, expected_again);
    host.wait_interrupt().unwrap();
    assert_eq!(fetch_target(&mut host, expected.len()), expected);
}

fn cpu_status(cpu: &mut Raw) -> Reply {
    cpu.ask(Request::Status)
}

#[test]
fn who_does_not_read_is_read_no_further_and_blocks_nobody() {
    let served = Served::tcp();
    let mut slow = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(slow.attach(DBB, Role::Initiator), Reply::Done);
    // Far more answers than streams and server hold: 256 MiB.
    for _ in 0..256 {
        slow.send(memory_read(0x8000_0000, 1 << 20));
    }
    slow.flush();
    let mut cpu = served.join(shared("p", MemoryPlace::Inside));
    run(&copy(8, 8, 32), &mut cpu);
    run(&copy(8, 8, 32), &mut served.host(MemoryPlace::Client));
    for _ in 0..256 {
        assert_eq!(slow.reply(&mut Vec::new()).2, Reply::Data);
    }
}

#[test]
fn who_writes_to_a_memory_whose_owner_does_not_answer_is_read_no_further() {
    const WRITES: usize = 128;
    let served = Served::tcp();
    let mut owner = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
    let mut writer = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(writer.attach(DBB, Role::Initiator), Reply::Done);
    let data = vec![1; 1 << 20];
    for _ in 0..WRITES {
        let (address, length, axi_id, at) = (0x8000_0000, 1 << 20, 0, None);
        let access = Access::Debug;
        let write = MemoryWrite { port: DBB, address, length, access, axi_id, strobes: false, at };
        writer.connection.request(Request::MemoryWrite(write), &data).unwrap();
    }
    let bytes = writer.connection.output().split();
    writer.stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut sent = 0;
    let stuck = loop {
        match writer.stream.write(&bytes[sent..]) {
            Ok(written) => sent += written,
            Err(error) => break error,
        }
        assert!(sent < bytes.len(), "the server took {WRITES} MiB for a memory that does not answer");
    };
    assert_eq!(stuck.kind(), std::io::ErrorKind::WouldBlock);
    // The owner goes: what it left open fails, what comes later finds the memory inside.
    drop(owner);
    writer.stream.set_write_timeout(None).unwrap();
    writer.stream.write_all(&bytes[sent..]).unwrap();
    for _ in 0..WRITES {
        let reply = writer.reply(&mut Vec::new()).2;
        assert!(reply == Reply::Done || code(&reply) == ErrorCode::Cancelled, "{reply:?}");
    }
}

#[test]
fn an_access_across_the_border_of_an_owned_memory_is_refused_with_both_ranges() {
    let served = Served::tcp();
    let mut owner = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    let range = Some(Range { base: 0x8000_1000, size: 0x1000 });
    assert_eq!(owner.ask(Request::Attach(Attach { port: DBB, role: Role::Target, range })), Reply::Done);
    let mut reader = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(reader.attach(DBB, Role::Initiator), Reply::Done);
    for (address, length) in [(0x8000_0ff0, 0x11), (0x8000_1ff0, 0x11), (0x8000_0fff, 0x1002)] {
        let Reply::Failed { code, reason } = reader.ask(memory_read(address, length)) else { panic!() };
        assert_eq!(code, ErrorCode::BadRange);
        let asked = format!("0x{address:x} to 0x{:x}", address + u64::from(length) - 1);
        assert!(reason.contains(&asked) && reason.contains("0x80001000 to 0x80001fff"), "{reason}");
    }
    for (address, length) in [(0x8000_0ff0, 0x10), (0x8000_2000, 0x10)] {
        assert_eq!(reader.ask(memory_read(address, length)), Reply::Data);
    }
    reader.send(memory_read(0x8000_1000, 0x1000));
    reader.flush();
    let event = owner.next();
    assert!(matches!(event, Event::Request { request: Request::MemoryRead(_), .. }), "{event:?}");
}

#[test]
fn a_memory_owner_that_does_not_answer_is_put_out_and_the_platform_goes_on() {
    for mode in [TimeMode::Lockstep, TimeMode::Free] {
        let options = Options { owner_timeout: Duration::from_millis(50), ..Options::default() };
        let served = Served::at("tcp:127.0.0.1:0", options);
        let mut owner = Raw::open(&served.address, Some("p"), mode);
        assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
        let memory = MemoryPlace::Inside;
        let mut cpu = served.join(RemoteOptions { time_mode: mode, ..shared("p", memory) });
        // Loading asks the owner, which does not answer: it goes, and the layer runs on the memory inside.
        let refused = cpu.load(Memory::Primary, u64::from(common::SOURCE), &[1, 2, 3]).unwrap_err();
        assert!(refused.to_string().contains("was not answered within 0.05 s"), "{refused}");
        run(&copy(8, 8, 32), &mut cpu);
        cpu.reset().unwrap();
        let goodbye = loop {
            if let Event::Bye(bye) = owner.next() {
                break bye;
            }
        };
        assert_eq!(goodbye.code, Some(ErrorCode::NotAnswered), "{goodbye:?}");

        let mut owner = Raw::open(&served.address, Some("p"), mode);
        assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
        // Now it is the device that asks.
        let map = local().map();
        for (register, value) in common::copy_registers(8, 8, 32) {
            cpu.write(map.find(register).unwrap().address, value).unwrap();
        }
        cpu.wait_interrupt().unwrap();
        let warnings = cpu.warnings();
        assert!(warnings.iter().any(|warning| warning.text.contains("bursts failed")), "{warnings:?}");
    }
}

#[test]
fn who_is_put_out_leaves_its_place_even_if_it_does_not_read() {
    let options = Options {
        max_sessions: 2,
        owner_timeout: Duration::from_millis(50),
        farewell_timeout: Duration::from_millis(1),
        ..Options::default()
    };
    // Two memories: one to own and one to load from.
    let served = Served::with("tcp:127.0.0.1:0", options, Description::named("nv_full").unwrap());
    let mut owner = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    let second = PortId(3);
    assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
    assert_eq!(owner.attach(second, Role::Initiator), Reply::Done);
    let (address, length, access, axi_id, at) = (0x5000_0000, 1 << 20, Access::Debug, 0, None);
    for _ in 0..64 {
        owner.send(Request::MemoryRead(MemoryRead { port: second, address, length, access, axi_id, at }));
    }
    owner.flush();
    let mut writer = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(writer.attach(DBB, Role::Initiator), Reply::Done);
    assert_eq!(code(&writer.ask(memory_read(0x8000_0000, 4))), ErrorCode::Cancelled);
    let joined = (0..100).any(|_| {
        let joined = RemoteHost::connect(&served.address, shared("p", MemoryPlace::Inside));
        joined.map_err(|_| std::thread::sleep(Duration::from_millis(20))).is_ok()
    });
    assert!(joined, "the session that was put out still has its place");
    drop(owner);
}

#[test]
fn an_interrupt_is_told_before_the_answer_that_shows_it() {
    let served = Served::tcp();
    let mut cpu = Raw::open(&served.address, None, TimeMode::Lockstep);
    assert_eq!(cpu.attach(CSB, Role::Initiator), Reply::Done);
    let mut before = Vec::new();
    let id = cpu.send(Request::Attach(Attach { port: IRQ, role: Role::Sink, range: None }));
    assert_eq!(cpu.reply(&mut before).0, id);
    let low = Event::Notice(Notice::Interrupt { port: IRQ, level: false, time: Time(0) });
    assert_eq!(before, [low], "the level found is told on attaching");
    let map = local().map();
    for (register, value) in common::copy_registers(8, 8, 8) {
        let address = u64::from(map.find(register).unwrap().address);
        let write = RegisterWrite { port: CSB, address, value, at: None };
        cpu.connection.post(Posted::RegisterWrite(write), &[]).unwrap();
    }
    let advance = cpu.send(Request::Advance { until: Until::Interrupt { port: IRQ, limit: None } });
    let mut before = Vec::new();
    let (id, time, reply) = cpu.reply(&mut before);
    assert_eq!((id, reply), (advance, Reply::Reached { why: Why::Interrupt }));
    assert_eq!(before, [Event::Notice(Notice::Interrupt { port: IRQ, level: true, time })]);
}

#[test]
fn a_platform_that_runs_free_delivers_the_interrupt_by_itself() {
    for mode in [TimeMode::Free, TimeMode::Paced { picoseconds_per_nanosecond: 1000 }] {
        for memory in [MemoryPlace::Inside, MemoryPlace::Client] {
            let served = Served::tcp();
            let options = RemoteOptions { time_mode: mode, memory, ..RemoteOptions::default() };
            let mut host = served.join(options);
            let expected = start_copy(&mut host, 8, 8, 32);
            host.wait_interrupt().unwrap();
            assert_eq!(fetch_target(&mut host, expected.len()), expected);
            run(&copy(4, 4, 8), &mut host_again(&served, mode, memory));
        }
    }
}

/// The answer to a read does not wait for what the platform has to do besides.
#[test]
fn a_platform_that_runs_free_answers_in_the_middle_of_a_layer() {
    let served = Served::tcp();
    let mut host = served.join(RemoteOptions { time_mode: TimeMode::Free, ..RemoteOptions::default() });
    start_copy(&mut host, 16, 8192, 32);
    let version = host.map().find("GLB.S_NVDLA_HW_VERSION").unwrap().address;
    for _ in 0..3 {
        host.read(version).unwrap();
        assert_eq!(host.status().unwrap().activity, Activity::Running);
    }
}

#[test]
fn long_loads_and_fetches_arrive_whole() {
    let folder = tempfile::tempdir().unwrap();
    let unix = Served::at(&format!("unix:{}", folder.path().join("s").display()), Options::default());
    for served in [Served::tcp(), unix] {
        let options = RemoteOptions { share: false, ..RemoteOptions::default() };
        let mut host = served.join(options);
        let bytes = pattern((3 << 20) + 5);
        let mut back = vec![0; bytes.len()];
        for address in [u64::from(SOURCE), u64::from(SOURCE) + 77] {
            host.load(Memory::Primary, address, &bytes).unwrap();
            host.fetch(Memory::Primary, address, &mut back).unwrap();
            assert!(back == bytes);
            back.fill(0);
        }
    }
}

#[test]
fn a_load_of_which_a_piece_is_refused_fails_and_the_session_goes_on() {
    let served = Served::tcp();
    let mut owner = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    // In the middle of the third piece.
    let range = Some(Range { base: 0x8009_0000, size: 0x1000 });
    assert_eq!(owner.ask(Request::Attach(Attach { port: DBB, role: Role::Target, range })), Reply::Done);
    let mut host = served.join(shared("p", MemoryPlace::Inside));
    let (bytes, mut back) = (pattern(2 << 20), vec![0; 1 << 18]);
    let refused = host.load(Memory::Primary, u64::from(SOURCE), &bytes).unwrap_err();
    assert!(matches!(&refused, HostError::Refused(why) if why.contains("0x80090000")), "{refused}");
    host.fetch(Memory::Primary, u64::from(SOURCE), &mut back).unwrap();
    assert!(back == bytes[..1 << 18]);
    host.ping().unwrap();
}

fn host_again(served: &Served, time_mode: TimeMode, memory: MemoryPlace) -> RemoteHost {
    served.join(RemoteOptions { time_mode, memory, ..RemoteOptions::default() })
}

#[test]
fn a_paced_platform_is_not_ahead_of_the_wall_clock() {
    let served = Served::tcp();
    // A thousandth of real time: a layer of a few µs takes some ms.
    let time_mode = TimeMode::Paced { picoseconds_per_nanosecond: 1 };
    // The platform is younger than this moment, and time stands at zero when it is built.
    let began = std::time::Instant::now();
    let mut host = served.join(RemoteOptions { time_mode, ..RemoteOptions::default() });
    start_copy(&mut host, 8, 8, 32);
    let simulated = host.wait_interrupt().unwrap();
    let passed = began.elapsed();
    assert!(u128::from(simulated.as_ps()) <= passed.as_nanos(), "{simulated} in {passed:?}");
}

#[test]
fn waiting_for_an_interrupt_that_cannot_come_ends_with_the_reason() {
    let served = Served::tcp();
    for mode in [TimeMode::Lockstep, TimeMode::Free] {
        let mut host = served.join(RemoteOptions { time_mode: mode, ..RemoteOptions::default() });
        let error = host.wait_interrupt().unwrap_err();
        assert!(
            matches!(&error, HostError::Idle { report, .. } if report == vp_models::platform::NOTHING_RUNS),
            "{error}"
        );
    }
    let map = local().map();
    let enable = map.find("PDP.D_OP_ENABLE").unwrap().address;
    let outcome = |host: &mut dyn Host| {
        host.write(enable, 1).unwrap();
        host.wait_interrupt().unwrap_err()
    };
    assert_eq!(outcome(&mut served.host(MemoryPlace::Inside)), outcome(&mut local()));
}

#[test]
fn a_limit_ends_the_wait_as_it_does_in_process() {
    let limit = vp_core::Time::ns(700);
    let mut near = local();
    near.set_limit(limit);
    start_copy(&mut near, 8, 8, 32);
    let served = Served::tcp();
    let mut far = served.host(MemoryPlace::Client);
    far.set_limit(limit);
    start_copy(&mut far, 8, 8, 32);
    assert_eq!(far.wait_interrupt(), near.wait_interrupt());
    assert_eq!(far.now(), Ok(limit));
}

#[test]
fn time_can_be_moved_by_hand_and_requests_scheduled() {
    let served = Served::tcp();
    let mut raw = Raw::open(&served.address, None, TimeMode::Lockstep);
    assert_eq!(raw.attach(CSB, Role::Initiator), Reply::Done);
    raw.send(Request::Advance { until: Until::Time(Time(123_456)) });
    let (_, time, reply) = raw.reply(&mut Vec::new());
    assert_eq!((time, reply), (Time(123_456), Reply::Reached { why: Why::Time }));
    raw.send(Request::RegisterRead(RegisterRead { port: CSB, address: 0, at: Some(Time(1_000_000)) }));
    let (_, time, _) = raw.reply(&mut Vec::new());
    assert_eq!(
        time,
        Time(1_019_000),
        "18 cycles after the moment asked for, and the one after which a CPU goes on"
    );
    raw.send(Request::Ping);
    assert_eq!(raw.reply(&mut Vec::new()).1, Time(1_019_000));
}

#[test]
fn steps_lead_from_one_thing_to_do_to_the_next() {
    let served = Served::tcp();
    // The layer's interrupt, as an Advance finds it.
    let mut host = served.host(MemoryPlace::Inside);
    start_copy(&mut host, 8, 8, 8);
    let raised = Time(host.wait_interrupt().unwrap().as_ps());
    let map = local().map();
    let mut raw = Raw::open(&served.address, None, TimeMode::Lockstep);
    assert_eq!(raw.attach(CSB, Role::Initiator), Reply::Done);
    assert_eq!(raw.attach(IRQ, Role::Sink), Reply::Done);
    assert_eq!(raw.attach(DBB, Role::Target), Reply::Done);
    for (register, value) in common::copy_registers(8, 8, 8) {
        let address = u64::from(map.find(register).unwrap().address);
        let write = RegisterWrite { port: CSB, address, value, at: None };
        raw.connection.post(Posted::RegisterWrite(write), &[]).unwrap();
    }
    let (mut to, mut asked, mut owed) = (Time(0), Vec::new(), 0);
    let mut levels = Vec::new();
    loop {
        raw.send(Request::Step { to });
        let next = loop {
            match raw.next() {
                // Memory is asked at the moment to which the step leads, and has answered before it is over.
                Event::Request { id, request: Request::MemoryRead(read), .. } => {
                    assert_eq!(read.at, Some(to));
                    asked.push(to);
                    let zeros = vec![0; read.length as usize];
                    raw.connection.reply(id, Time(0), Reply::Data, &zeros).unwrap();
                }
                Event::Request { id, request: Request::MemoryWrite(write), .. } => {
                    assert_eq!(write.at, Some(to));
                    owed += 1;
                    raw.connection.reply(id, Time(0), Reply::Done, &[]).unwrap();
                }
                Event::Notice(Notice::Interrupt { level, time, .. }) => levels.push((level, time)),
                Event::Reply { time, reply: Reply::Stepped { next }, .. } => {
                    assert_eq!(time, to);
                    break next;
                }
                other => panic!("{other:?}"),
            }
        };
        let Some(next) = next else { break };
        assert!(next > to, "{next:?} after {to:?}");
        to = next;
    }
    assert!(!asked.is_empty() && owed > 0);
    assert_eq!(levels, [(true, raised)]);
    // Nothing is left to do, and a step takes time along all the same.
    let later = Time(to.0 + 1);
    raw.send(Request::Step { to: later });
    assert_eq!(raw.reply(&mut Vec::new()).1, later);
    let free = Raw::open(&served.address, None, TimeMode::Free).ask(Request::Step { to });
    assert_eq!(code(&free), ErrorCode::WrongTimeMode);
}

#[test]
fn a_time_beyond_the_horizon_is_refused_and_the_platform_goes_on() {
    let served = Served::tcp();
    let mut raw = Raw::open(&served.address, None, TimeMode::Lockstep);
    assert_eq!(raw.attach(CSB, Role::Initiator), Reply::Done);
    assert_eq!(raw.attach(DBB, Role::Initiator), Reply::Done);
    for time in [u64::MAX, u64::MAX - 2, (1 << 62) + 1].map(Time) {
        let at = Some(time);
        let timed =
            MemoryRead { port: DBB, address: 0x8000_0000, length: 4, access: Access::Timed, axi_id: 0, at };
        for request in [
            Request::Advance { until: Until::Time(time) },
            Request::Step { to: time },
            Request::Advance { until: Until::Interrupt { port: IRQ, limit: at } },
            Request::RegisterRead(RegisterRead { port: CSB, address: 0, at }),
            Request::RegisterWrite(RegisterWrite { port: CSB, address: 0, value: 0, at }),
            Request::MemoryRead(timed),
        ] {
            assert_eq!(code(&raw.ask(request)), ErrorCode::BadRange);
        }
    }
    assert!(matches!(raw.ask(read(0)), Reply::Value { .. }));
    // The last moment that can be named is not the end.
    let last = Request::Advance { until: Until::Time(Time(1 << 62)) };
    assert_eq!(raw.ask(last), Reply::Reached { why: Why::Time });
    assert!(matches!(raw.ask(read(0)), Reply::Value { .. }));
    assert_eq!(raw.ask(Request::Reset), Reply::Done);
    assert!(matches!(raw.ask(read(0)), Reply::Value { .. }));
}

#[test]
fn a_pace_beyond_measure_does_not_use_up_time() {
    let served = Served::tcp();
    for ratio in [u64::MAX, 1 << 60] {
        let mode = TimeMode::Paced { picoseconds_per_nanosecond: ratio };
        let mut raw = Raw::open(&served.address, None, mode);
        assert_eq!(raw.attach(CSB, Role::Initiator), Reply::Done);
        for _ in 0..3 {
            raw.send(read(0));
            let (_, time, reply) = raw.reply(&mut Vec::new());
            assert!(matches!(reply, Reply::Value { .. }), "{reply:?}");
            assert!(time < Time(1_000_000_000), "{time:?}");
        }
    }
}

#[test]
fn only_the_cpu_of_a_platform_that_has_one_moves_time_and_resets() {
    let served = Served::tcp();
    let mut stranger = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    let advance = |time| Request::Advance { until: Until::Time(Time(time)) };
    assert_eq!(stranger.ask(advance(1000)), Reply::Reached { why: Why::Time });
    assert_eq!(stranger.ask(Request::Reset), Reply::Done);
    let mut cpu = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(cpu.attach(CSB, Role::Initiator), Reply::Done);
    assert_eq!(stranger.attach(DBB, Role::Initiator), Reply::Done);
    for request in [advance(1 << 40), Request::Advance { until: Until::Idle }, Request::Reset] {
        let Reply::Failed { code, reason } = stranger.ask(request) else { panic!() };
        assert_eq!(code, ErrorCode::NotAttached);
        assert!(reason.contains("session 2 holds csb0"), "{reason}");
    }
    let (address, length, access, axi_id) = (0x8000_0000, 4, Access::Timed, 0);
    let scheduled = |at| MemoryRead { port: DBB, address, length, access, axi_id, at: Some(Time(at)) };
    assert_eq!(code(&stranger.ask(Request::MemoryRead(scheduled(1 << 40)))), ErrorCode::NotAttached);
    assert_eq!(stranger.ask(Request::MemoryRead(scheduled(0))), Reply::Data);
    assert_eq!(cpu.ask(advance(2000)), Reply::Reached { why: Why::Time });
    assert_eq!(cpu.ask(Request::Reset), Reply::Done);
}

#[test]
fn posted_writes_in_lockstep_let_no_time_pass_until_something_is_waited_for() {
    let served = Served::tcp();
    let mut host = served.host(MemoryPlace::Inside);
    start_copy(&mut host, 8, 8, 32);
    host.ping().unwrap();
    assert_eq!(host.now(), Ok(vp_core::Time::ZERO));
    let status = host.status().unwrap();
    assert_eq!(status.time_mode, TimeMode::Lockstep);
}

#[test]
fn more_posted_writes_than_the_bus_may_queue_are_taken_all_the_same() {
    let served = Served::tcp();
    for time_mode in [TimeMode::Lockstep, TimeMode::Free] {
        let mut host = served.join(RemoteOptions { time_mode, ..RemoteOptions::default() });
        let register = host.map().find("PDP.D_SRC_LINE_STRIDE").unwrap().address;
        for value in 0..100_000 {
            host.write(register, value * 8).unwrap();
        }
        assert_eq!(host.read(register).unwrap(), 99_999 * 8);
    }
}

#[test]
fn accesses_outside_a_memory_are_refused_as_in_process() {
    let served = Served::tcp();
    let mut far = served.host(MemoryPlace::Inside);
    let mut near = local();
    for (memory, address, length) in
        [(Memory::Primary, 0, 4), (Memory::Primary, 0xffff_fffe, 4), (Memory::Secondary, 0x5000_0000, 4)]
    {
        let bytes = vec![0; length];
        assert_eq!(far.load(memory, address, &bytes), near.load(memory, address, &bytes));
    }
    assert!(matches!(far.read(3), Err(HostError::Refused(_))));
}

#[test]
fn strobes_choose_the_bytes_that_are_written() {
    let served = Served::tcp();
    let mut raw = Raw::open(&served.address, None, TimeMode::Lockstep);
    assert_eq!(raw.attach(DBB, Role::Initiator), Reply::Done);
    let (address, length, axi_id, at) = (u64::from(TARGET), 9, 0, None);
    let access = Access::Debug;
    let write = MemoryWrite { port: DBB, address, length, access, axi_id, strobes: true, at };
    let payload = [1, 2, 3, 4, 5, 6, 7, 8, 9, 0b1010_0101, 1];
    raw.connection.request(Request::MemoryWrite(write), &payload).unwrap();
    assert_eq!(raw.reply(&mut Vec::new()).2, Reply::Done);
    raw.send(memory_read(address, 9));
    let Event::Reply { payload, .. } = raw.next() else { panic!() };
    assert_eq!(payload[..], [1, 0, 3, 0, 0, 6, 0, 8, 9]);
}

#[test]
fn a_server_that_shuts_down_says_so_also_in_the_middle_of_a_layer() {
    for is_busy in [false, true] {
        let served = Served::tcp();
        let mut raw = Raw::open(&served.address, None, TimeMode::Free);
        if is_busy {
            start_long_copy(&mut raw);
        }
        let ends = std::thread::spawn(move || drop(served));
        let event = raw.next();
        assert!(matches!(event, Event::Bye(bye) if bye.code == Some(ErrorCode::ShuttingDown)));
        drop(raw);
        ends.join().unwrap();
    }
}

/// Takes the registers, and starts a layer that is still running when much else has been done.
fn start_long_copy(cpu: &mut Raw) {
    assert_eq!(cpu.attach(CSB, Role::Initiator), Reply::Done);
    let map = local().map();
    for (register, value) in common::copy_registers(16, 8192, 32) {
        let address = u64::from(map.find(register).unwrap().address);
        let write = RegisterWrite { port: CSB, address, value, at: None };
        cpu.connection.post(Posted::RegisterWrite(write), &[]).unwrap();
    }
    assert!(matches!(cpu.ask(read(0)), Reply::Value { .. }));
}

#[test]
fn sessions_come_and_are_answered_and_go_in_the_middle_of_a_layer() {
    let served = Served::tcp();
    let mut cpu = Raw::open(&served.address, Some("p"), TimeMode::Free);
    start_long_copy(&mut cpu);
    let mut others: Vec<Raw> =
        (0..20).map(|_| Raw::open(&served.address, Some("p"), TimeMode::Free)).collect();
    for other in &mut others {
        other.send(Request::Ping);
        other.flush();
    }
    for other in &mut others {
        assert_eq!(other.reply(&mut Vec::new()).2, Reply::Pong);
    }
    let sessions = |cpu: &mut Raw| match cpu.ask(Request::Status) {
        Reply::Status(status) => {
            assert_eq!(status.activity, Activity::Running);
            status.sessions
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(sessions(&mut cpu), 21);
    drop(others);
    while sessions(&mut cpu) > 1 {}
}

#[test]
fn what_was_sent_before_a_goodbye_is_carried_out() {
    let served = Served::tcp();
    let mut stays = Raw::open(&served.address, Some("p"), TimeMode::Free);
    let mut goes = Raw::open(&served.address, Some("p"), TimeMode::Free);
    assert_eq!(goes.attach(DBB, Role::Initiator), Reply::Done);
    assert_eq!(stays.attach(DBB, Role::Initiator), Reply::Done);
    let (address, length, access, axi_id, at) = (u64::from(TARGET), 4, Access::Debug, 0, None);
    let write = MemoryWrite { port: DBB, address, length, access, axi_id, strobes: false, at };
    goes.connection.post(Posted::MemoryWrite(write), &[1, 2, 3, 4]).unwrap();
    goes.connection.bye(None, "done");
    goes.flush();
    // The server closes the stream behind what it has carried out.
    assert_eq!(goes.stream.read(&mut [0; 16]).unwrap(), 0);
    stays.send(memory_read(address, 4));
    let Event::Reply { payload, .. } = stays.next() else { panic!() };
    assert_eq!(payload[..], [1, 2, 3, 4]);
}
