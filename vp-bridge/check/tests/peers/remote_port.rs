//! A peer for each rule of Remote-Port that breaks it, and peers that break none.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tempfile::TempDir;
use vp_check::remote_port::Check;
use vp_check::{MeetError, PeerRole, Report, Verdict};
use vp_protocols::remote_port::{
    Access, Answer, Ats, Attributes, Body, Capabilities, Connection, Event, Flags, Hello, Interrupt, Layout,
    Packet, Rule, Transaction,
};

const CHANNEL: u32 = 9;
const ALL: Capabilities = Capabilities::PLATFORM;

fn encode(id: u32, flags: Flags, body: Body) -> BytesMut {
    let mut out = BytesMut::new();
    Packet { id, flags, channel: CHANNEL, body }.encode(&mut out).unwrap();
    out
}

fn hello() -> BytesMut {
    let mut out = BytesMut::new();
    Packet { id: 0, flags: Flags::NONE, channel: 0, body: Body::Hello(Hello::new(ALL)) }
        .encode(&mut out)
        .unwrap();
    out
}

fn request(transaction: Transaction) -> BytesMut {
    encode(3, Flags::NONE, Body::Transaction(transaction))
}

fn patched(mut packet: BytesMut, at: usize, bytes: &[u8]) -> BytesMut {
    packet[at..at + bytes.len()].copy_from_slice(bytes);
    packet
}

/// Bytes that the mutant says behind its hello, once the check has asked its first: a read of 4 bytes with id 1, in the extended layout.
type Says = BytesMut;

fn mutants() -> Vec<(Rule, Says)> {
    let sync = || request(Transaction::Sync { time: 0 });
    let extended = |mut access: Access| {
        access.attributes = access.attributes.with_layout(Layout::Extended);
        access
    };
    let read = || request(Transaction::Read(extended(Access::read(5, 0x40, 4))));
    let written = || extended(Access::write(5, 0x40, &b"abcd"[..]));
    let write = || request(Transaction::Write(written()));
    let enabled = || {
        let access = Access { byte_enables: Bytes::from_static(&[255, 0]), ..written() };
        request(Transaction::Write(Access { attributes: Attributes::EXTENDED, ..access }))
    };
    let answer = |id, transaction| encode(id, Flags::RESPONSE, Body::Transaction(transaction));
    let answered =
        |address| extended(Access { data: Bytes::from_static(b"abcd"), ..Access::read(0, address, 4) });
    let ats = Ats { time: 0, rights: 3, address: 0x1000, length: 0, result: 0 };
    vec![
        (Rule::UnknownCommand, patched(sync(), 3, &[9])),
        (Rule::UnusedCommand, encode(1, Flags::NONE, Body::Nop)),
        (Rule::PacketTooLong, patched(sync(), 4, &[0xff; 4])),
        (Rule::PacketTooShort, patched(sync(), 7, &[7])),
        (Rule::MajorVersion, patched(hello(), 21, &[5])),
        (Rule::CapabilitiesOutside, patched(hello(), 27, &[36])),
        (Rule::SecondHello, hello()),
        (Rule::AccessTooLong, patched(read(), 44, &[0x7f])),
        (Rule::Width, patched(read(), 51, &[4])),
        (Rule::StreamWidth, patched(read(), 55, &[0])),
        (Rule::NextOffset, patched(read(), 71, &[80])),
        (Rule::DataOutside, patched(write(), 67, &[81])),
        (Rule::ByteEnablesOutside, patched(enabled(), 75, &[85])),
        (Rule::SurplusBytes, patched(write(), 47, &[3])),
        (Rule::ByteEnablesNotAnnounced, enabled()),
        (Rule::AtsNotAnnounced, request(Transaction::AtsRequest(ats))),
        (Rule::UnexpectedResponse, answer(77, Transaction::Read(answered(0)))),
        (Rule::ResponseCommand, answer(1, Transaction::Sync { time: 0 })),
        (Rule::ResponseEcho, answer(1, Transaction::Read(answered(4)))),
        (Rule::TimeOfResponse, answer(1, Transaction::Read(Access { time: -1, ..answered(0) }))),
    ]
}

/// Behaviour that breaks the rules about a session as a whole.
#[derive(Clone, Copy, PartialEq)]
enum Misbehaviour {
    None,
    /// Asks before its hello.
    AsksFirst,
    NeverAnswers,
    ClosesInstead,
    Forgets,
}

/// Serves the check to its end: as a memory, or with those bytes in place of its first answer.
fn serve(listener: &UnixListener, habit: Misbehaviour, says: Option<BytesMut>) {
    let mut stream = listener.accept().unwrap().0;
    // The check waits no longer.
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let (mut connection, mut input) = (Connection::new(ALL), BytesMut::new());
    if habit == Misbehaviour::AsksFirst {
        let posted = Interrupt { time: 0, vector: 0, line: 0, level: true };
        stream
            .write_all(&encode(3, Flags::POSTED, Body::Transaction(Transaction::Interrupt(posted))))
            .unwrap();
    }
    let mut memory = [0; 4096];
    let mut said = says;
    loop {
        let output = connection.output().split();
        if stream.write_all(&output).is_err() {
            return;
        }
        while let Ok(Some(event)) = connection.receive(&mut input) {
            let Event::Request(asked) = event else { continue };
            if let Some(says) = said.take() {
                stream.write_all(&says).unwrap();
                continue;
            }
            match habit {
                Misbehaviour::NeverAnswers => continue,
                Misbehaviour::ClosesInstead => return,
                _ => {}
            }
            let time = asked.transaction.time();
            let data;
            let answer = match &asked.transaction {
                Transaction::Read(access) => {
                    data = memory[access.address as usize..][..access.length as usize].to_vec();
                    Answer::Data(&data)
                }
                Transaction::Write(access) => {
                    if habit != Misbehaviour::Forgets {
                        memory[access.address as usize..][..access.data.len()].copy_from_slice(&access.data);
                    }
                    Answer::Done
                }
                _ => Answer::Done,
            };
            if asked.wants_response() {
                connection.respond(asked, time, answer).unwrap();
            }
        }
        if !connection.output().is_empty() {
            continue;
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(read) => input.extend_from_slice(&chunk[..read]),
        }
    }
}

fn check(socket: &Path, peer: PeerRole, announced: Capabilities, timeout: Duration) -> Report {
    let place = format!("unix:{}", socket.display()).parse().unwrap();
    let channel = CHANNEL;
    Check { place, peer, channel, address: 0, announced, insecure: false, timeout }.run().unwrap()
}

fn check_a(peer: PeerRole, habit: Misbehaviour, says: Option<BytesMut>, announced: Capabilities) -> Report {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("peer.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let peer_thread = std::thread::spawn(move || serve(&listener, habit, says));
    // Only who never answers is waited for to the end.
    let timeout = Duration::from_millis(if habit == Misbehaviour::NeverAnswers { 2_000 } else { 10_000 });
    let report = check(&socket, peer, announced, timeout);
    peer_thread.join().unwrap();
    report
}

fn broken(report: &Report) -> Vec<&'static str> {
    let is_broken = |verdict: &Verdict| matches!(verdict, Verdict::Broken { .. });
    report.rules.iter().filter(|finding| is_broken(&finding.verdict)).map(|finding| finding.rule).collect()
}

#[test]
fn a_peer_that_breaks_a_rule_is_caught_for_that_one() {
    let mut caught = Vec::new();
    for (rule, says) in mutants() {
        let announced =
            if rule == Rule::ByteEnablesNotAnnounced { Capabilities::EXTENDED_LAYOUT } else { ALL };
        let bytes = says.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let report = check_a(PeerRole::Device, Misbehaviour::None, Some(says), announced);
        assert_eq!(broken(&report), [rule.name()], "{report}");
        assert!(!report.passed);
        let evidence = report.rules.iter().find_map(|finding| match &finding.verdict {
            Verdict::Broken { received, .. } => Some(received.clone()),
            _ => None,
        });
        let last = &bytes[bytes.len().saturating_sub(2 * 96)..];
        // A response of a wrong time is one that the check goes on behind.
        if rule != Rule::TimeOfResponse {
            assert!(evidence.unwrap().ends_with(last), "{rule:?}: the bytes are shown");
        }
        caught.push(rule);
    }
    for (rule, peer, habit) in [
        (Rule::HelloFirst, PeerRole::Device, Misbehaviour::AsksFirst),
        (Rule::Answered, PeerRole::Device, Misbehaviour::NeverAnswers),
        (Rule::Answered, PeerRole::Device, Misbehaviour::ClosesInstead),
        (Rule::MemoryKeeps, PeerRole::Memory, Misbehaviour::Forgets),
    ] {
        let report = check_a(peer, habit, None, ALL);
        assert_eq!(broken(&report), [rule.name()], "{report}");
        caught.push(rule);
    }
    let missing: Vec<&Rule> = Rule::ALL.iter().filter(|rule| !caught.contains(rule)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_peer_that_keeps_the_rules_passes_as_device_as_memory_and_as_cpu() {
    for (peer, announced) in
        [(PeerRole::Device, ALL), (PeerRole::Memory, ALL), (PeerRole::Memory, Capabilities::NONE)]
    {
        let report = check_a(peer, Misbehaviour::None, None, announced);
        assert!(report.passed, "{report}");
        let kept =
            report.rules.iter().filter(|finding| matches!(finding.verdict, Verdict::Kept { .. })).count();
        assert!(kept >= 17, "{report}");
    }

    // A CPU, which connects to the check.
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("check.sock");
    let path = socket.clone();
    let cpu = std::thread::spawn(move || {
        let mut stream = loop {
            match UnixStream::connect(&path) {
                Ok(stream) => break stream,
                Err(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let mut connection = Connection::new(ALL);
        connection.request(0, Transaction::Write(Access::write(0, 0x100, &b"abcd"[..]))).unwrap();
        connection.request(0, Transaction::Read(Access::read(0, 0x100, 4))).unwrap();
        stream.write_all(&connection.output().split()).unwrap();
        let (mut input, mut answers) = (BytesMut::new(), Vec::new());
        while answers.len() < 2 {
            let mut chunk = [0; 4096];
            let read = stream.read(&mut chunk).unwrap();
            input.extend_from_slice(&chunk[..read]);
            while let Some(event) = connection.receive(&mut input).unwrap() {
                if let Event::Response { response, .. } = event {
                    answers.push(response);
                }
            }
        }
        let Some(Transaction::Read(access)) = answers.pop() else { panic!("no data") };
        assert_eq!(&access.data[..], b"abcd");
    });
    let report = check(&socket, PeerRole::Cpu, ALL, Duration::from_secs(10));
    cpu.join().unwrap();
    assert!(report.passed, "{report}");
}

#[test]
fn nobody_there_is_an_error_and_no_finding() {
    let folder = TempDir::new().unwrap();
    let place = format!("listen:unix:{}", folder.path().join("nobody.sock").display()).parse().unwrap();
    let timeout = Duration::from_millis(50);
    let check = Check {
        place,
        peer: PeerRole::Cpu,
        channel: 0,
        address: 0,
        announced: ALL,
        insecure: false,
        timeout,
    };
    let error = check.run().unwrap_err().to_string();
    assert!(error.contains("nobody has connected") && error.contains("nobody.sock"), "{error}");
}

#[test]
fn where_other_hosts_can_connect_is_listened_only_if_that_is_said_aloud() {
    let timeout = Duration::from_millis(50);
    for (open, insecure) in [("tcp:0.0.0.0:0", false), ("tcp:[::]:0", false), ("tcp:0.0.0.0:0", true)] {
        let place = format!("listen:{open}").parse().unwrap();
        let check =
            Check { place, peer: PeerRole::Cpu, channel: 0, address: 0, announced: ALL, insecure, timeout };
        let error = check.run().unwrap_err();
        match insecure {
            false => assert!(matches!(&error, MeetError::Open { .. }), "{error}"),
            true => assert!(matches!(&error, MeetError::Nobody { .. }), "{error}"),
        }
    }
}
