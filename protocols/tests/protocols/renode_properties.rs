//! Promises of Renode's protocol that hold for every message and for every way a stream is cut.

use crate::common::cases;
use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use vp_protocols::renode::*;

fn message() -> impl Strategy<Value = Message> {
    (select(Action::ALL), any::<u64>(), any::<u64>(), any::<i32>())
        .prop_map(|(action, address, data, index)| Message { action, address, data, index })
}

/// Step that a side does next.
#[derive(Debug, Clone, Copy)]
enum Step {
    Read(Width, u64),
    Write(Width, u64, u64),
    Input(u64, bool),
    Tick(u64),
    Reset,
    Interrupt(u64, bool),
    Get(Width, u64),
    Push(Width, u64, u64),
    Log(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let width = || select(&Width::ALL[..]);
    prop_oneof![
        (width(), any::<u64>()).prop_map(|(width, address)| Step::Read(width, address)),
        (width(), any::<u64>(), any::<u64>())
            .prop_map(|(width, address, data)| Step::Write(width, address, data)),
        (any::<u64>(), any::<bool>()).prop_map(|(line, level)| Step::Input(line, level)),
        any::<u64>().prop_map(Step::Tick),
        Just(Step::Reset),
        (any::<u64>(), any::<bool>()).prop_map(|(line, level)| Step::Interrupt(line, level)),
        (width(), any::<u64>()).prop_map(|(width, address)| Step::Get(width, address)),
        (width(), any::<u64>(), any::<u64>())
            .prop_map(|(width, address, data)| Step::Push(width, address, data)),
        (1usize..2000).prop_map(Step::Log),
    ]
}

/// Returns what a memory of no bytes reads there.
fn value(address: u64) -> u64 {
    address.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Two sides and what is between them.
#[derive(Default)]
struct Session {
    renode: Emulator,
    peripheral: Connection,
    main: BytesMut,
    answers: [BytesMut; 2],
    heard: Vec<EmulatorEvent>,
    events: Vec<Event>,
}

impl Session {
    /// Until nothing is on its way any more: `cut` bytes at a time.
    fn settle(&mut self, cut: usize) {
        loop {
            let mut moved = false;
            while let Some((socket, bytes)) = self.renode.output().next_write() {
                assert_eq!((socket, bytes.len()), (Socket::Main, MESSAGE), "one message a write");
                self.main.extend_from_slice(&bytes);
            }
            let mut input = BytesMut::new();
            while !self.main.is_empty() {
                moved = true;
                input.extend_from_slice(&self.main.split_to(self.main.len().min(cut)));
                while let Some(event) = self.peripheral.receive(Socket::Main, &mut input).unwrap() {
                    self.events.push(event);
                    match event {
                        Event::Read { address, .. } => {
                            self.peripheral.answer(Answer::Value(value(address))).unwrap();
                        }
                        Event::Write { .. } | Event::Input { .. } => {
                            self.peripheral.answer(Answer::Done).unwrap();
                        }
                        Event::Tick { .. } => self.peripheral.ticked().unwrap(),
                        _ => {}
                    }
                }
            }
            while let Some((socket, bytes)) = self.peripheral.output().next_write() {
                moved = true;
                let input = &mut self.answers[usize::from(socket == Socket::Async)];
                for part in bytes.chunks(cut) {
                    input.extend_from_slice(part);
                    while let Some(heard) = self.renode.receive(socket, input).unwrap() {
                        match heard {
                            EmulatorEvent::Get { address, .. } => self.renode.give(value(address)).unwrap(),
                            EmulatorEvent::Push { .. } => self.renode.confirm().unwrap(),
                            _ => {}
                        }
                        self.heard.push(heard);
                    }
                }
            }
            if !moved {
                return;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(4096)) })]

    #[test]
    fn parsing_undoes_emitting(message in message()) {
        prop_assert_eq!(Message::parse(&message.emit()), Ok(message));
    }

    #[test]
    fn what_one_side_says_the_other_hears(steps in vec(step(), 1..20), cut in 1usize..60) {
        let mut session = Session::default();
        session.settle(cut);
        prop_assert_eq!(&session.events, &[Event::Connected]);
        prop_assert_eq!(&session.heard, &[EmulatorEvent::Connected]);
        for step in steps {
            session.events.clear();
            session.heard.clear();
            let Session { renode, peripheral, .. } = &mut session;
            match step {
                Step::Read(width, address) => renode.read(width, address, 0).unwrap(),
                Step::Write(width, address, data) => renode.write(width, address, data, 0).unwrap(),
                Step::Input(line, level) => renode.input(line, level).unwrap(),
                Step::Tick(ticks) => renode.tick(ticks).unwrap(),
                Step::Reset => renode.reset().unwrap(),
                Step::Interrupt(line, level) => peripheral.interrupt(line, level).unwrap(),
                Step::Get(width, address) => peripheral.get(width, address, 0).unwrap(),
                Step::Push(width, address, data) => peripheral.push(width, address, data, 0).unwrap(),
                Step::Log(length) => peripheral.log(LogLevel::Info, &"x".repeat(length)).unwrap(),
            }
            session.settle(cut);
            let index = 0;
            let (events, heard) = match step {
                Step::Read(width, address) => (
                    vec![Event::Read { width, address, index }],
                    vec![EmulatorEvent::Value { data: width.of(value(address)) }],
                ),
                Step::Write(width, address, data) => (
                    vec![Event::Write { width, address, data: width.of(data), index }],
                    vec![EmulatorEvent::Done],
                ),
                Step::Input(line, level) => {
                    (vec![Event::Input { line, level, index: NO_INDEX }], vec![EmulatorEvent::Done])
                }
                Step::Tick(ticks) => (vec![Event::Tick { ticks }], vec![EmulatorEvent::Ticked { data: 0 }]),
                Step::Reset => (vec![Event::Reset], vec![]),
                Step::Interrupt(line, level) => (vec![], vec![EmulatorEvent::Interrupt { line, level }]),
                Step::Get(width, address) => (
                    vec![Event::Got { data: width.of(value(address)) }],
                    vec![EmulatorEvent::Get { width, address, index }],
                ),
                Step::Push(width, address, data) => (
                    vec![Event::Pushed],
                    vec![EmulatorEvent::Push { width, address, data: width.of(data), index }],
                ),
                Step::Log(length) => {
                    let text = vec![b'x'; length.min(MAX_LOG)].into();
                    (vec![], vec![EmulatorEvent::Log { level: 1, text }])
                }
            };
            prop_assert_eq!(&session.events, &events);
            prop_assert_eq!(&session.heard, &heard);
        }
    }
}
