//! Clients that fill a server's memory: they are refused at their platform's limit, others go on, and all is given back.

use std::time::{Duration, Instant};

use crate::common::Served;
use crate::common::program::ServeProgram;
use crate::common::raw::{DBB, Raw};
use vp_host::{Host as _, Memory};
use vp_protocols::native::{
    AccessKind, ErrorCode, Event, MemoryWrite, Notice, Posted, Reply, Request, Role, TimeMode,
};
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions};
use vp_server::Options;

const MIB: u64 = 1 << 20;
const DRAM: u64 = 0x8000_0000;

fn served(memory_limit: u64, platform_memory_limit: u64) -> Served {
    Served::at("tcp:127.0.0.1:0", Options { memory_limit, platform_memory_limit, ..Options::default() })
}

fn byte(address: u64) -> MemoryWrite {
    MemoryWrite {
        port: DBB,
        address,
        length: 1,
        access: AccessKind::Debug,
        axi_id: 0,
        strobes: false,
        at: None,
    }
}

#[test]
fn posted_bytes_far_apart_are_refused_at_the_platforms_limit_and_others_go_on() {
    let served = served(16 * MIB, 4 * MIB);
    let mut bystander = served.host(MemoryPlace::Inside);
    let mut raw = Raw::open(&served.address, None, TimeMode::Free);
    assert_eq!(raw.attach(DBB, Role::Initiator), Reply::Done);
    // Of 16 KiB each.
    for byte_of in 0..64 << 10 {
        raw.connection.post(Posted::MemoryWrite(byte(DRAM + (byte_of << 14))), &[1]).unwrap();
        raw.flush();
    }
    let mut before = Vec::new();
    let id = raw.send(Request::Ping);
    assert_eq!(raw.reply(&mut before).0, id);
    let limit = "the limit of 4194304 bytes for this platform's memory is reached";
    let is_said = |event: &Event| {
        matches!(event, Event::Notice(Notice::Warning { text, .. })
            if text.starts_with("posted write failed") && text.contains(limit))
    };
    assert!(before.iter().any(is_said), "{before:?}");
    let id = raw.connection.request(Request::MemoryWrite(byte(DRAM + (64 << 24))), &[1]).unwrap();
    let (answered, _, reply) = raw.reply(&mut Vec::new());
    assert_eq!(answered, id);
    assert!(
        matches!(&reply, Reply::Failed { code: ErrorCode::OutOfMemory, reason } if reason.contains(limit)),
        "{reply:?}"
    );
    // What it has it may write again.
    let id = raw.connection.request(Request::MemoryWrite(byte(DRAM)), &[2]).unwrap();
    let (answered, _, reply) = raw.reply(&mut Vec::new());
    assert_eq!((answered, reply), (id, Reply::Done));
    bystander.load(Memory::Primary, DRAM, &[1; 3 << 20]).unwrap();
}

#[test]
fn a_newcomer_is_told_that_the_server_is_full_until_a_platform_has_gone() {
    let served = served(2 * MIB, 2 * MIB);
    let first = served.host(MemoryPlace::Inside);
    let _second = served.host(MemoryPlace::Inside);
    let refused = RemoteHost::connect(&served.address, RemoteOptions::default()).err().unwrap().to_string();
    let why = "the limit of 2097152 bytes for the memory of all platforms together is reached";
    assert!(refused.contains("server full") && refused.contains(why), "{refused}");
    drop(first);
    // Its platform ends a moment after it.
    while RemoteHost::connect(&served.address, RemoteOptions::default()).is_err() {
        std::thread::yield_now();
    }
}

fn inside(server: &ServeProgram) -> RemoteHost {
    let options = RemoteOptions { memory: MemoryPlace::Inside, ..RemoteOptions::default() };
    RemoteHost::connect(&server.address, options).unwrap()
}

#[test]
fn a_platform_finds_no_memory_left_under_the_programs_limit_until_another_has_gone() {
    let server = ServeProgram::start(&["--memory-limit", "4M", "--platform-memory-limit", "4M"]);
    let (mut first, mut second) = (inside(&server), inside(&server));
    // Each has a mebibyte from its beginning on; this takes two more.
    first.load(Memory::Primary, DRAM, &[1; 2_200_000]).unwrap();
    let error = second.load(Memory::Primary, DRAM, &[1; 1_500_000]).unwrap_err().to_string();
    let why = "the limit of 4194304 bytes for the memory of all platforms together is reached";
    assert!(error.contains(why), "{error}");
    drop(first);
    // Its platform ends a moment after it.
    let began = Instant::now();
    loop {
        // It stands since it found none.
        second.reset().unwrap();
        match second.load(Memory::Primary, DRAM, &[1; 1_500_000]) {
            Ok(()) => break,
            Err(error) => assert!(error.to_string().contains(why), "{error}"),
        }
        assert!(began.elapsed() < Duration::from_secs(60), "nothing is given back");
        std::thread::yield_now();
    }
}

#[test]
fn a_platform_may_have_a_quarter_of_the_programs_limit_unless_it_says_otherwise() {
    let server = ServeProgram::start(&["--memory-limit", "8M"]);
    let mut host = inside(&server);
    let error = host.load(Memory::Primary, DRAM, &[1; 2_200_000]).unwrap_err().to_string();
    assert!(error.contains("the limit of 2097152 bytes for this platform's memory is reached"), "{error}");
    host.load(Memory::Primary, DRAM, &[1; 1_500_000]).unwrap();
}

#[test]
fn the_ram_on_a_clients_side_has_a_limit_too() {
    let served = Served::tcp();
    let options =
        RemoteOptions { memory: MemoryPlace::Client, memory_limit: MIB, ..RemoteOptions::default() };
    let mut host = served.join(options);
    host.load(Memory::Primary, DRAM, &[1; 900_000]).unwrap();
    let error = host.load(Memory::Primary, DRAM, &[1; 2_000_000]).unwrap_err().to_string();
    assert!(error.contains("the limit of 1048576 bytes for this platform's memory is reached"), "{error}");
}
