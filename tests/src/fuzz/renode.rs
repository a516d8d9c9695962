//! Renode's protocol, on both sides: whatever comes, and however it is cut, no panic, and no more held than one message.
//!
//! A case: eight bytes from which the sides' own doings are drawn, then pieces. The first byte of each says to whom it goes, and
//! on which of the two sockets.

use bytes::BytesMut;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use vp_protocols::renode::{
    Action, Answer, Connection, Emulator, EmulatorEvent, Event, LogLevel, MAX_LOG, MESSAGE, Message, Socket,
    Width,
};

use super::{Choices, Form, FuzzCounts};

/// Form of the target's cases.
pub const FORM: Form = Form::Pieces { head: 8 };

/// Runs a case; tells how many messages meant something.
pub fn run(case: &[u8]) -> u64 {
    let mut seen = FuzzCounts::default();
    feed(case, &mut seen);
    seen.events
}

/// Feeds streams to one peripheral and one Renode after the other, and tells what happened.
///
/// # Panics
/// When a promise of the protocol's code does not hold.
pub fn feed(case: &[u8], seen: &mut FuzzCounts) {
    let mut choices = Choices::new(case);
    let mut random = SmallRng::seed_from_u64(choices.u64());
    let (mut renode, mut peripheral) = open(&mut random);
    let mut inputs: [BytesMut; 4] = Default::default();
    while let Some(piece) = choices.piece() {
        let Some((to, bytes)) = piece.split_first() else { continue };
        let (to_renode, is_async) = (to & 1 == 1, to & 2 == 2);
        let socket = if is_async { Socket::Async } else { Socket::Main };
        let input = &mut inputs[usize::from(to & 3)];
        input.extend_from_slice(bytes);
        let over = match to_renode {
            true => hear(&mut renode, socket, input, &mut random, seen),
            false => receive(&mut peripheral, socket, input, &mut random, seen),
        };
        assert!(input.len() < MESSAGE + (1 << 20), "a message, and a text of 1 MiB at most");
        if over || input.len() > 4096 && random.random_range(0..64) > 0 {
            inputs = Default::default();
            (renode, peripheral) = open(&mut random);
        }
    }
}

/// Returns both sides, which mostly have greeted each other.
fn open(random: &mut SmallRng) -> (Emulator, Connection) {
    let (mut renode, mut peripheral) = (Emulator::new(), Connection::new());
    if random.random_range(0..4) > 0 {
        let handshake = Message::plain(Action::Handshake).emit();
        let mut greeting = BytesMut::from(&handshake[..]);
        renode.receive(Socket::Main, &mut greeting).expect("a greeting");
        greeting.extend_from_slice(&handshake);
        peripheral.receive(Socket::Main, &mut greeting).expect("a greeting");
    }
    (renode, peripheral)
}

fn receive(
    peripheral: &mut Connection,
    socket: Socket,
    input: &mut BytesMut,
    random: &mut SmallRng,
    seen: &mut FuzzCounts,
) -> bool {
    loop {
        match peripheral.receive(socket, input) {
            Ok(Some(event)) => {
                seen.events += 1;
                // What fits and what does not: the connection knows.
                _ = match event {
                    _ if random.random_range(0..16) == 0 => Ok(()),
                    Event::Read { .. } => peripheral.answer(Answer::Value(random.random())),
                    Event::Tick { .. } => peripheral.ticked(),
                    _ => peripheral.answer(Answer::Done),
                };
                _ = match random.random_range(0..64) {
                    0 => peripheral.get(Width::Word, 8, 0),
                    1 => peripheral.push(Width::Word, 8, 8, 0),
                    2 => peripheral.interrupt(1, true),
                    3 => peripheral.log(LogLevel::Info, "ä log"),
                    _ => Ok(()),
                };
                while let Some((socket, bytes)) = peripheral.output().next_write() {
                    assert!(bytes.len() == MESSAGE || socket == Socket::Async && bytes.len() <= MAX_LOG);
                }
                if event == Event::Disconnected {
                    return true;
                }
            }
            Ok(None) => return false,
            Err(violation) => {
                seen.violation(violation.rule.name().to_owned());
                assert_eq!(peripheral.receive(socket, input), Ok(None), "it is over");
                return true;
            }
        }
    }
}

fn hear(
    renode: &mut Emulator,
    socket: Socket,
    input: &mut BytesMut,
    random: &mut SmallRng,
    seen: &mut FuzzCounts,
) -> bool {
    loop {
        match renode.receive(socket, input) {
            Ok(Some(heard)) => {
                seen.events += 1;
                let is_last = matches!(heard, EmulatorEvent::GaveUp | EmulatorEvent::Disconnected);
                _ = match heard {
                    EmulatorEvent::Get { .. } => renode.give(7),
                    EmulatorEvent::Push { .. } => renode.confirm(),
                    _ => renode.tick(100),
                };
                _ = match random.random_range(0..64) {
                    0..16 => renode.read(Width::Word, 8, 0),
                    16 => renode.disconnect(),
                    _ => renode.write(Width::Word, 8, 8, 0),
                };
                while let Some((socket, bytes)) = renode.output().next_write() {
                    assert_eq!((socket, bytes.len()), (Socket::Main, MESSAGE));
                }
                if is_last {
                    return true;
                }
            }
            Ok(None) => return false,
            Err(violation) => {
                seen.violation(violation.rule.name().to_owned());
                assert_eq!(renode.receive(socket, input), Ok(None), "it is over");
                return true;
            }
        }
    }
}
