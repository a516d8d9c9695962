//! Strangers who break the rules, or say nothing, are sent away; nobody else notices.

use super::{memory_read, read};
use crate::common::raw::{CSB, DBB, Raw};
use crate::common::{self, Served, copy, local, run};
use bytes::BytesMut;
use rand::Rng as _;
use rand::RngCore as _;
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use std::io::Read as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use vp_protocols::native::{
    Connection, ErrorCode, Event, Reply, Request, RequestId, Role, Time, TimeMode, Until,
};
use vp_remote::{ConnectError, MemoryPlace, RemoteHost, RemoteOptions};
use vp_server::Options;
use vp_transport::Address;

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

/// Everything that is sent comes in pieces of any length, and there is hardly ever room for all that is to be sent.
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
            asked.push(raw.send(Request::Advance { until: Until::Time(Time::ps(1_000_000_000)) }));
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
    let mut client = Connection::client(Connection::hello("x", None, TimeMode::Free)).unwrap();
    let event = client.receive(&mut BytesMut::from(&answer[..])).unwrap();
    let Some(Event::Refused(refused)) = &event else { panic!("{event:?}") };
    assert_eq!(refused.code, ErrorCode::UnexpectedMessage);
    assert_eq!(refused.reason, "no hello within 0.001 s");
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
