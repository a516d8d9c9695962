//! A session that is a platform's memory: while it answers, when it does not, and when it goes.

use super::{code, memory_read, shared};
use crate::common::raw::{CSB, DBB, IRQ, Raw};
use crate::common::{self, Served, copy, local, run};
use std::io::Write as _;
use std::time::Duration;
use vp_client::{Client, Options as ClientOptions};
use vp_host::{Host as _, Memory};
use vp_models::platform::Description;
use vp_protocols::native::{
    AccessKind, Attach, CounterValue, ErrorCode, Event, MemoryRead, MemoryWrite, Notice, PortId, Posted,
    Range, RegisterWrite, Reply, Request, Role, Time, TimeMode, Until, Why,
};
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions};
use vp_server::Options;

/// The stream behind what breaks the rule is not looked at, so the owner's answer never comes.
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
            owner.connection.reply(id, Time::ZERO, reply, &data).unwrap();
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
        let access = AccessKind::Debug;
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
fn what_was_asked_of_a_memory_that_does_not_answer_is_taken_back_when_who_asked_leaves() {
    const WRITERS: u64 = 40;
    let options = Options { owner_timeout: Duration::from_secs(3600), ..Options::default() };
    let served = Served::at("tcp:127.0.0.1:0", options);
    let mut owner = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
    for _ in 0..WRITERS {
        let mut writer = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
        assert_eq!(writer.attach(DBB, Role::Initiator), Reply::Done);
        let (address, length, axi_id, at) = (0x8000_0000, 1 << 20, 0, None);
        let access = AccessKind::Debug;
        let write = MemoryWrite { port: DBB, address, length, access, axi_id, strobes: false, at };
        writer.connection.request(Request::MemoryWrite(write), &vec![1; 1 << 20]).unwrap();
        // Behind it: then it is on its way to the owner.
        assert_eq!(writer.ask(Request::Ping), Reply::Pong);
    }
    let observer = ClientOptions::observer("test 1.0", Some("p".to_owned()));
    let mut look = Client::connect(&served.address, &observer, ()).unwrap();
    let owed = |look: &mut Client<()>| {
        let standing = look.inspect().unwrap();
        let owes = standing.iter().find(|counter| counter.name.ends_with(".owes")).map(|owes| &owes.value);
        if let Some(CounterValue::Count(owes)) = owes { *owes } else { 0 }
    };
    // What the connection holds has been sent. The last writer's end may not have been seen yet.
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while owed(&mut look) > WRITERS / 2 {
        assert!(std::time::Instant::now() < until, "{} requests are kept", owed(&mut look));
        std::thread::yield_now();
    }
    assert!(owed(&mut look) > 0);
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
    let (address, length, access, axi_id, at) = (0x5000_0000, 1 << 20, AccessKind::Debug, 0, None);
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
