//! Sessions apart: what one does, or leaves undone, costs no other anything but what it had from it.

mod memory_owners;
mod strangers;
mod time;

use crate::common;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;
use vp_host::{Host as _, HostError, Memory};
use vp_protocols::native::{
    AccessKind, Activity, Attach, ErrorCode, Event, MemoryRead, MemoryWrite, PortId, Posted, Range,
    RegisterRead, RegisterWrite, Reply, Request, RequestId, Role, Time, TimeMode, Until, Why,
};
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions};

use crate::common::raw::{CSB, DBB, IRQ, Raw};
use crate::common::{SOURCE, Served, TARGET, copy, fetch_target, local, pattern, run, start_copy};
use vp_server::Options;

fn read(address: u64) -> Request {
    Request::RegisterRead(RegisterRead { port: CSB, address, at: None })
}

fn memory_read(address: u64, length: u32) -> Request {
    let (access, axi_id, at) = (AccessKind::Debug, 0, None);
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

/// Environment variable in which the process that runs [`holder`] is told the server's address.
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
        holder.args(["--exact", "sessions::holder", "--nocapture"]).env(HOLDER, served.address.to_string());
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
        assert!(time > Time::ZERO, "time goes on");
    }
    assert!(answers.contains(&(reset, Reply::Done)));
    for id in [advance, waiting] {
        let (_, reply) = answers.iter().find(|(of, _)| *of == id).unwrap();
        assert_eq!(code(reply), ErrorCode::Cancelled);
    }
    // The answer to a burst of the platform that was is nobody's, and does no harm.
    owner.connection.reply(late, Time::ZERO, Reply::Data, &vec![0; asked.length as usize]).unwrap();
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
    let access = AccessKind::Debug;
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
    let (address, length, access, axi_id, at) = (u64::from(TARGET), 4, AccessKind::Debug, 0, None);
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
