//! A peripheral for each rule of Renode's protocol that breaks it, and one that breaks none.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use vp_check::renode::Check;
use vp_check::{Report, Verdict};
use vp_protocols::renode::{Action, Answer, Connection, Event, LogLevel, Message, NO_INDEX, Rule, Socket};
use vp_transport::Address;

/// Fault of a peripheral, when it is first asked to read.
#[derive(Clone)]
enum Wrong {
    Nothing,
    /// Says that on a socket, by one call.
    Says(Socket, Vec<u8>),
    /// Says nothing.
    IsSilent,
    /// Sends its answer in two parts, a while apart.
    SendsParts,
    /// Tells a high line twice.
    TellsTwice,
    /// Connects to main alone.
    OneSocket,
    /// Answers the handshake with that.
    Greets(Vec<u8>),
}

fn message(action: Action) -> Vec<u8> {
    Message::plain(action).emit().to_vec()
}

fn get() -> Vec<u8> {
    Message { action: Action::GetDoubleWord, address: 0x100, data: 0, index: 0 }.emit().to_vec()
}

fn connect(port: u16) -> TcpStream {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => {
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                return stream;
            }
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn peripheral(ports: [u16; 2], wrong: &Wrong) {
    let mut main = connect(ports[0]);
    if matches!(wrong, Wrong::OneSocket) {
        // Until the check gives up.
        let _ = main.read(&mut [0]);
        return;
    }
    let mut asynchronous = connect(ports[1]);
    let (mut connection, mut input, mut is_first) = (Connection::new(), BytesMut::new(), true);
    loop {
        while let Some((socket, bytes)) = connection.output().next_write() {
            let stream = if socket == Socket::Main { &mut main } else { &mut asynchronous };
            if let Wrong::Greets(greeting) = wrong {
                main.write_all(greeting).unwrap();
                let _ = main.read(&mut [0]);
                return;
            }
            if stream.write_all(&bytes).is_err() {
                return;
            }
        }
        let event = match connection.receive(Socket::Main, &mut input) {
            Ok(Some(event)) => event,
            Ok(None) => {
                let mut chunk = [0; 256];
                match main.read(&mut chunk) {
                    Ok(0) | Err(_) => return,
                    Ok(read) => input.extend_from_slice(&chunk[..read]),
                }
                continue;
            }
            Err(_) => return,
        };
        let is_wrong = std::mem::take(&mut is_first) && matches!(event, Event::Read { .. });
        is_first |= matches!(event, Event::Connected);
        match (event, is_wrong.then_some(wrong)) {
            (_, Some(Wrong::Says(socket, bytes))) => {
                let stream = if *socket == Socket::Main { &mut main } else { &mut asynchronous };
                stream.write_all(bytes).unwrap();
            }
            (_, Some(Wrong::IsSilent)) => {}
            (_, Some(Wrong::SendsParts)) => {
                let bytes = message(Action::ReadFromBus);
                main.write_all(&bytes[..7]).unwrap();
                std::thread::sleep(Duration::from_millis(50));
                // The check has ended by then.
                let _ = main.write_all(&bytes[7..]);
            }
            (Event::Read { .. }, wrong) => {
                let twice = if matches!(wrong, Some(Wrong::TellsTwice)) { 2 } else { 1 };
                for _ in 0..if is_wrong { twice } else { 0 } {
                    connection.interrupt(0, true).unwrap();
                }
                connection.log(LogLevel::Info, "a read").unwrap();
                connection.answer(Answer::Value(5)).unwrap();
            }
            (Event::Write { .. } | Event::Input { .. }, _) => connection.answer(Answer::Done).unwrap(),
            (Event::Tick { ticks }, _) => {
                if ticks == 1_000 && !connection.is_on_bus() {
                    connection.push(vp_protocols::renode::Width::QuadWord, 0x100, 7, 0).unwrap();
                    connection.get(vp_protocols::renode::Width::Byte, 0x100, 0).unwrap_err();
                }
                connection.ticked().unwrap();
            }
            (Event::Disconnected, _) => {
                while let Some((_, bytes)) = connection.output().next_write() {
                    main.write_all(&bytes).unwrap();
                }
                return;
            }
            _ => {}
        }
    }
}

fn check(wrong: &Wrong) -> Report {
    // Two free ports, the second of which is not the next one.
    let ports = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let ports = ports.map(|listener| listener.local_addr().unwrap().port());
    let address = |port| Address::Tcp { host: "127.0.0.1".to_owned(), port };
    let wrong_of = wrong.clone();
    let peer = std::thread::spawn(move || peripheral(ports, &wrong_of));
    let waits = matches!(wrong, Wrong::IsSilent | Wrong::OneSocket);
    let timeout = Duration::from_millis(if waits { 2_000 } else { 10_000 });
    let check = Check {
        main: address(ports[0]),
        asynchronous: address(ports[1]),
        address: 0,
        insecure: false,
        timeout,
    };
    let report = check.run().unwrap();
    peer.join().unwrap();
    report
}

fn broken(report: &Report) -> Vec<&'static str> {
    let is_broken = |verdict: &Verdict| matches!(verdict, Verdict::Broken { .. });
    report.rules.iter().filter(|finding| is_broken(&finding.verdict)).map(|finding| finding.rule).collect()
}

#[test]
fn a_peripheral_that_breaks_a_rule_is_caught_for_that_one() {
    let log = Message { action: Action::LogMessage, address: 1 << 30, data: 1, index: NO_INDEX };
    let cases = [
        (Rule::UnknownAction, Wrong::Says(Socket::Main, vec![0x77; 24])),
        (Rule::Handshake, Wrong::Greets(message(Action::Ok))),
        (Rule::UnexpectedAnswer, {
            let answer = message(Action::ReadFromBus);
            Wrong::Says(Socket::Main, [answer.clone(), answer.clone(), answer].concat())
        }),
        (Rule::WrongAnswer, Wrong::Says(Socket::Main, message(Action::Ok))),
        (Rule::MainAnswersOnly, Wrong::Says(Socket::Main, message(Action::Interrupt))),
        (Rule::NotForRenode, Wrong::Says(Socket::Async, message(Action::ReadByte))),
        (Rule::OneBusAccess, Wrong::Says(Socket::Async, [get(), get()].concat())),
        (Rule::TickUnasked, Wrong::Says(Socket::Async, message(Action::TickClock))),
        (Rule::LogTooLong, Wrong::Says(Socket::Async, log.emit().to_vec())),
        (Rule::Answered, Wrong::IsSilent),
        (Rule::OneSend, Wrong::SendsParts),
        (Rule::LevelsChange, Wrong::TellsTwice),
        (Rule::BothSockets, Wrong::OneSocket),
    ];
    let mut caught = Vec::new();
    for (rule, wrong) in cases {
        let report = check(&wrong);
        assert_eq!(broken(&report), [rule.name()], "{report}");
        caught.push(rule.name());
    }
    let report = check(&Wrong::Nothing);
    assert!(report.passed, "{report}");
    let listed: Vec<&str> = report.rules.iter().map(|finding| finding.rule).collect();
    assert_eq!(listed, caught, "each rule that a peripheral can break");
    let tried = report.rules.iter().filter(|finding| finding.verdict != Verdict::Untried).count();
    assert_eq!(tried, listed.len(), "{report}");
}
