//! Remote-Port: whatever comes, and however it is cut, no panic, no more held than one packet, and answers that can be read.
//!
//! A case: eight bytes from which this side's own doings are drawn, then pieces.

use bytes::BytesMut;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use vp_protocols::remote_port::{
    Access, Answer, Capabilities, Connection, Event, MAX_PACKET, Packet, ResponseCode, Transaction, lacking,
};

use super::{Choices, Form, FuzzCounts};

/// Form of the target's cases.
pub const FORM: Form = Form::Pieces { head: 8 };

/// Runs a case; tells how many packets meant something.
pub fn run(case: &[u8]) -> u64 {
    let mut seen = FuzzCounts::default();
    feed(case, &mut seen);
    seen.events
}

/// Feeds a stream to one session after the other, and tells what happened.
///
/// # Panics
/// When a promise of the protocol's code does not hold.
pub fn feed(case: &[u8], seen: &mut FuzzCounts) {
    let mut choices = Choices::new(case);
    let mut random = SmallRng::seed_from_u64(choices.u64());
    let mut connection = open(&mut random);
    let mut input = BytesMut::new();
    while let Some(piece) = choices.piece() {
        input.extend_from_slice(piece);
        loop {
            match connection.receive(&mut input) {
                Ok(Some(event)) => {
                    seen.events += 1;
                    act(&mut connection, event, &mut random);
                }
                Ok(None) => break,
                Err(violation) => {
                    seen.violation(violation.rule().name().to_owned());
                    assert_eq!(connection.receive(&mut input), Ok(None), "it is over");
                    assert!(input.is_empty());
                    connection = open(&mut random);
                }
            }
        }
        let lacking = lacking(&input);
        assert!(input.len() + lacking <= MAX_PACKET, "{} and {lacking} more", input.len());
        // Waits for a packet that is long only by mistake: mostly the stream ends there.
        if lacking > 4096 && random.random_range(0..64) > 0 {
            input.clear();
            connection = open(&mut random);
        }
    }
}

fn open(random: &mut SmallRng) -> Connection {
    let mut connection = Connection::new(match random.random_range(0..2) {
        0 => Capabilities::PLATFORM,
        _ => Capabilities::EXTENDED_LAYOUT.union(Capabilities::ATS),
    });
    for _ in 0..3 {
        let read = Transaction::Read(Access::read(5, 0x40, 4));
        connection.request(9, read).expect("room for a few");
    }
    connection
}

fn act(connection: &mut Connection, event: Event, random: &mut SmallRng) {
    let Event::Request(request) = event else { return };
    let zeros = vec![
        0;
        match &request.transaction {
            Transaction::Read(access) => access.length as usize,
            _ => 0,
        }
    ];
    let answer = match random.random_range(0..8) {
        0 => Answer::Translated { rights: 1, address: 2, length: 3 },
        1 | 2 => Answer::Failed(ResponseCode::AddressError),
        3 => Answer::Data(b"abc"),
        _ if matches!(request.transaction, Transaction::Read(_)) => Answer::Data(&zeros),
        _ => Answer::Done,
    };
    let before = connection.output().len();
    let wants_response = request.wants_response();
    let sent = connection.respond(request, 0, answer);
    let output = connection.output();
    // An answer is one packet that can be decoded; of what is refused nothing is left.
    let mut answered = output.split_off(before);
    assert_eq!(answered.is_empty(), sent.is_err() || !wants_response);
    if !answered.is_empty() {
        assert!(Packet::decode(&mut answered).unwrap().is_some() && answered.is_empty());
    }
    output.clear();
}
