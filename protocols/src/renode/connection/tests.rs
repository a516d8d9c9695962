use super::*;
use crate::renode::{Emulator, EmulatorEvent};

/// Everything that one side has to write, to the other; what it makes of it.
fn to_peripheral(renode: &mut Emulator, peripheral: &mut Connection) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some((socket, bytes)) = renode.output().next_write() {
        assert_eq!((socket, bytes.len()), (Socket::Main, MESSAGE), "one message a write");
        events.extend(peripheral.receive(socket, &mut BytesMut::from(bytes)).unwrap());
    }
    events
}

fn to_renode(peripheral: &mut Connection, renode: &mut Emulator) -> Vec<EmulatorEvent> {
    let (mut heard, mut inputs) = (Vec::new(), [BytesMut::new(), BytesMut::new()]);
    while let Some((socket, bytes)) = peripheral.output().next_write() {
        let input = &mut inputs[usize::from(socket == Socket::Async)];
        input.extend_from_slice(&bytes);
        heard.extend(renode.receive(socket, input).unwrap());
    }
    heard
}

fn open() -> (Emulator, Connection) {
    let (mut renode, mut peripheral) = (Emulator::new(), Connection::new());
    assert_eq!(to_peripheral(&mut renode, &mut peripheral), [Event::Connected]);
    assert_eq!(to_renode(&mut peripheral, &mut renode), [EmulatorEvent::Connected]);
    (renode, peripheral)
}

#[test]
fn reads_and_writes_of_all_widths_are_answered() {
    let (mut renode, mut peripheral) = open();
    let wide = 0x1122_3344_5566_7788;
    for width in Width::ALL {
        let data = width.of(wide);
        renode.write(width, 0x18, wide, 2).unwrap();
        let write = Event::Write { width, address: 0x18, data, index: 2 };
        assert_eq!(to_peripheral(&mut renode, &mut peripheral), [write]);
        peripheral.answer(Answer::Done).unwrap();
        assert_eq!(to_renode(&mut peripheral, &mut renode), [EmulatorEvent::Done]);

        renode.read(width, 0x18, 2).unwrap();
        let read = Event::Read { width, address: 0x18, index: 2 };
        assert_eq!(to_peripheral(&mut renode, &mut peripheral), [read]);
        peripheral.answer(Answer::Value(wide)).unwrap();
        assert_eq!(to_renode(&mut peripheral, &mut renode), [EmulatorEvent::Value { data }]);
    }
    renode.read(Width::Byte, 0, 0).unwrap();
    to_peripheral(&mut renode, &mut peripheral);
    peripheral.answer(Answer::Failed).unwrap();
    assert_eq!(to_renode(&mut peripheral, &mut renode), [EmulatorEvent::Failed]);
}

#[test]
fn interrupts_of_a_tick_are_told_before_its_end() {
    let (mut renode, mut peripheral) = open();
    renode.tick(1_000_000).unwrap();
    assert_eq!(renode.tick(1), Err(SendError::Busy));
    assert_eq!(to_peripheral(&mut renode, &mut peripheral), [Event::Tick { ticks: 1_000_000 }]);
    peripheral.interrupt(2, true).unwrap();
    peripheral.log(LogLevel::Warning, "höhe").unwrap();
    peripheral.log(LogLevel::Noisy, "").unwrap();
    peripheral.ticked().unwrap();
    let heard = to_renode(&mut peripheral, &mut renode);
    let line = EmulatorEvent::Interrupt { line: 2, level: true };
    let log = EmulatorEvent::Log { level: 2, text: Bytes::from_static(b"h?he") };
    assert_eq!(heard, [line, log, EmulatorEvent::Ticked { data: 0 }]);
    assert!(matches!(peripheral.ticked(), Err(SendError::Unasked { .. })));
}

#[test]
fn renode_is_answered_while_the_peripheral_is_on_its_bus() {
    let (mut renode, mut peripheral) = open();
    peripheral.get(Width::Word, 0x8000_1008, 0).unwrap();
    assert_eq!(peripheral.push(Width::Byte, 0, 0, 0), Err(SendError::Busy));
    let get = EmulatorEvent::Get { width: Width::Word, address: 0x8000_1008, index: 0 };
    assert_eq!(to_renode(&mut peripheral, &mut renode), [get]);
    renode.input(3, true).unwrap();
    renode.give(0x1_2345).unwrap();
    let input = Event::Input { line: 3, level: true, index: NO_INDEX };
    assert_eq!(to_peripheral(&mut renode, &mut peripheral), [input, Event::Got { data: 0x2345 }]);
    peripheral.answer(Answer::Done).unwrap();
    peripheral.push(Width::QuadWord, 8, 7, 0).unwrap();
    let push = EmulatorEvent::Push { width: Width::QuadWord, address: 8, data: 7, index: 0 };
    assert_eq!(to_renode(&mut peripheral, &mut renode), [EmulatorEvent::Done, push]);
    assert!(matches!(renode.give(0), Err(SendError::Unasked { .. })));
    renode.confirm().unwrap();
    assert_eq!(to_peripheral(&mut renode, &mut peripheral), [Event::Pushed]);
}

#[test]
fn reset_has_no_answer_and_the_end_has_one() {
    let (mut renode, mut peripheral) = open();
    renode.reset().unwrap();
    renode.disconnect().unwrap();
    assert_eq!(to_peripheral(&mut renode, &mut peripheral), [Event::Reset, Event::Disconnected]);
    assert_eq!(peripheral.interrupt(0, true), Err(SendError::NoSession));
    assert_eq!(to_renode(&mut peripheral, &mut renode), [EmulatorEvent::Disconnected]);
    assert!(!renode.is_open() && !peripheral.is_open());
}

#[test]
fn a_peripheral_may_give_up() {
    let (mut renode, mut peripheral) = open();
    peripheral.fail().unwrap();
    assert_eq!(to_renode(&mut peripheral, &mut renode), [EmulatorEvent::GaveUp]);
    assert!(!renode.is_open() && !peripheral.is_open());
}

fn message(action: Action) -> BytesMut {
    BytesMut::from(&Message::plain(action).emit()[..])
}

/// The rule that messages break at a peripheral.
fn broken(mut peripheral: Connection, socket: Socket, messages: &[Action]) -> Rule {
    let mut input: BytesMut = messages.iter().flat_map(|action| message(*action)).collect();
    loop {
        match peripheral.receive(socket, &mut input) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("no rule broken by {messages:?}"),
            Err(violation) => {
                assert!(violation.to_string().starts_with(violation.rule.name()));
                assert_eq!(violation.socket, socket);
                input.extend_from_slice(&message(Action::Handshake));
                assert_eq!(peripheral.receive(socket, &mut input), Ok(None));
                assert!(input.is_empty());
                return violation.rule;
            }
        }
    }
}

/// The rule that messages break at Renode.
fn broken_at_renode(mut renode: Emulator, socket: Socket, messages: &[Action]) -> Rule {
    let mut input: BytesMut = messages.iter().flat_map(|action| message(*action)).collect();
    loop {
        match renode.receive(socket, &mut input) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("no rule broken by {messages:?}"),
            Err(violation) => return violation.rule,
        }
    }
}

#[test]
fn each_rule_has_a_message_that_breaks_it() {
    use Action::*;
    let main = Socket::Main;
    let with_get = || {
        let mut peripheral = open().1;
        peripheral.get(Width::Byte, 0, 0).unwrap();
        peripheral
    };
    let with_read = || {
        let mut renode = open().0;
        renode.read(Width::Byte, 0, 0).unwrap();
        renode
    };
    let mut unknown = BytesMut::from(&[32u8; MESSAGE][..]);
    let unknown = open().1.receive(main, &mut unknown).unwrap_err().rule;
    // A text of 1 MiB is waited for, one of a byte more is not.
    let log = |length| Message { address: length, ..Message::plain(LogMessage) }.emit();
    assert_eq!(open().0.receive(Socket::Async, &mut BytesMut::from(&log(1 << 20)[..])), Result::Ok(None));
    let mut log = BytesMut::from(&log((1 << 20) + 1)[..]);
    let long = open().0.receive(Socket::Async, &mut log).unwrap_err().rule;
    let found = [
        (Rule::UnknownAction, unknown),
        (Rule::NotForPeripheral, broken(open().1, main, &[Step])),
        (Rule::NotForPeripheral, broken(open().1, main, &[Ok])),
        (Rule::Handshake, broken(Connection::new(), main, &[ReadByte])),
        (Rule::Handshake, broken(open().1, main, &[Handshake])),
        (Rule::Handshake, broken_at_renode(Emulator::new(), main, &[Ok])),
        (Rule::Handshake, broken_at_renode(Emulator::new(), Socket::Async, &[Interrupt])),
        (Rule::SilentAsync, broken(open().1, Socket::Async, &[ReadByte])),
        (Rule::OneRequest, broken(open().1, main, &[ReadByte, Interrupt])),
        (Rule::OneTick, broken(open().1, main, &[TickClock, ReadByte, TickClock])),
        (Rule::UnexpectedAnswer, broken(open().1, main, &[PushConfirmation])),
        (Rule::UnexpectedAnswer, broken_at_renode(open().0, main, &[Ok])),
        (Rule::WrongAnswer, broken(with_get(), main, &[PushConfirmation])),
        (Rule::WrongAnswer, broken_at_renode(with_read(), main, &[Ok])),
        (Rule::MainAnswersOnly, broken_at_renode(with_read(), main, &[Interrupt])),
        (Rule::NotForRenode, broken_at_renode(open().0, Socket::Async, &[ReadByte])),
        (Rule::OneBusAccess, broken_at_renode(open().0, Socket::Async, &[GetByte, PushByte])),
        (Rule::TickUnasked, broken_at_renode(open().0, Socket::Async, &[TickClock])),
        (Rule::LogTooLong, long),
    ];
    for (expected, rule) in found {
        assert_eq!(rule, expected);
    }
    for (place, rule) in Rule::ALL.iter().enumerate() {
        let is_of_a_message = Rule::OF_MESSAGES.contains(rule);
        assert_eq!(found.iter().any(|(_, broken)| broken == rule), is_of_a_message, "{rule:?}");
        assert_eq!(rule.name(), format!("RN-{:02}", place + 1));
    }
}

#[test]
fn the_invalid_action_is_passed_over() {
    let mut input = message(Action::Invalid);
    input.extend_from_slice(&message(Action::Handshake));
    assert_eq!(Connection::new().receive(Socket::Main, &mut input), Ok(Some(Event::Connected)));
}

#[test]
fn reads_and_writes_of_old_versions_are_of_32_bits() {
    let (_, mut peripheral) = open();
    let mut write = Message { data: u64::MAX, ..Message::plain(Action::WriteToBus) }.emit().as_slice().into();
    let expected = Event::Write { width: Width::DoubleWord, address: 0, data: 0xffff_ffff, index: NO_INDEX };
    assert_eq!(peripheral.receive(Socket::Main, &mut write), Ok(Some(expected)));
    peripheral.answer(Answer::Done).unwrap();
    let expected = Event::Read { width: Width::DoubleWord, address: 0, index: NO_INDEX };
    assert_eq!(peripheral.receive(Socket::Main, &mut message(Action::ReadFromBus)), Ok(Some(expected)));
}

#[test]
fn what_came_before_a_broken_rule_can_be_answered_and_nothing_more_be_asked() {
    let (mut renode, mut peripheral) = open();
    renode.read(Width::DoubleWord, 0x10, 0).unwrap();
    renode.tick(3).unwrap();
    assert_eq!(to_peripheral(&mut renode, &mut peripheral).len(), 2);
    peripheral.receive(Socket::Main, &mut message(Action::Handshake)).unwrap_err();
    assert_eq!(peripheral.get(Width::Byte, 0, 0), Err(SendError::NoSession));
    peripheral.answer(Answer::Value(7)).unwrap();
    peripheral.ticked().unwrap();
    let heard = to_renode(&mut peripheral, &mut renode);
    assert!(heard.contains(&EmulatorEvent::Value { data: 7 }) && heard.len() == 2, "{heard:?}");
}
