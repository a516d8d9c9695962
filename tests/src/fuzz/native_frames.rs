//! The native protocol: a stream is read as the same frames however it is cut, each frame is the one image of its
//! message, and both sides of a session take any stream.
//!
//! A case: a byte (which side, which phase), then pieces.

use bytes::{Buf as _, BytesMut};
use vp_protocols::native::{
    Connection, DEFAULT_MAX_PAYLOAD, Decoder, Event, Frame, Malformed, Offer, Phase, Reply, Terms, Time,
    TimeMode, emit,
};

use super::{Choices, Form, FuzzCounts};

/// Form of the target's cases.
pub const FORM: Form = Form::Pieces { head: 1 };

const SESSION: Phase = Phase::Session { max_payload: DEFAULT_MAX_PAYLOAD };

/// Runs a case; tells how many frames were read.
pub fn run(case: &[u8]) -> u64 {
    let mut seen = FuzzCounts::default();
    feed(case, &mut seen);
    seen.events
}

/// Runs a case, and tells what happened.
///
/// # Panics
/// When a promise of the protocol's code does not hold.
pub fn feed(case: &[u8], seen: &mut FuzzCounts) {
    let mut choices = Choices::new(case);
    let how = choices.byte();
    let pieces: Vec<&[u8]> = std::iter::from_fn(|| choices.piece()).collect();
    let phase = [SESSION, Phase::Hello, Phase::Welcome, SESSION][usize::from(how >> 1 & 3)];
    decoded_alike(&pieces, phase, seen);
    let (mut client, mut server) = (client(), Connection::server(Terms::default()));
    if how & 8 == 0 {
        open(&mut client, &mut server);
    }
    let side = if how & 1 == 0 { &mut server } else { &mut client };
    converse(side, &pieces, seen);
}

/// Frames until the stream asks for more, and why it ends if it does.
fn frames(decoder: &mut Decoder, input: &mut BytesMut, frames: &mut Vec<Frame>) -> Result<(), Malformed> {
    while let Some(frame) = decoder.decode(input)? {
        frames.push(frame);
    }
    Ok(())
}

fn decoded_alike(pieces: &[&[u8]], phase: Phase, seen: &mut FuzzCounts) {
    let stream = pieces.concat();
    let (mut whole, mut decoder) = (Vec::new(), Decoder::new(phase));
    let mut input = BytesMut::from(&stream[..]);
    let end = frames(&mut decoder, &mut input, &mut whole);
    let (mut cut, mut decoder) = (Vec::new(), Decoder::new(phase));
    let mut input = BytesMut::new();
    let mut end_of_cut = Ok(());
    for piece in pieces {
        input.extend_from_slice(piece);
        end_of_cut = frames(&mut decoder, &mut input, &mut cut);
        if end_of_cut.is_err() {
            break;
        }
    }
    assert_eq!((&whole, end.map_err(|error| error.rule)), (&cut, end_of_cut.map_err(|error| error.rule)));
    let mut images = BytesMut::new();
    for frame in &whole {
        emit(&frame.message, &frame.payload, &mut images).expect("what was read can be said");
    }
    assert!(stream.starts_with(&images), "a frame is the one image of its message");
    seen.events += whole.len() as u64;
}

fn client() -> Connection {
    Connection::client(Connection::hello("fuzz", None, TimeMode::Free)).expect("a hello")
}

fn open(client: &mut Connection, server: &mut Connection) {
    server.receive(&mut client.output().split()).expect("a hello");
    server.accept(Offer::default()).expect("a welcome");
    client.receive(&mut server.output().split()).expect("a welcome");
}

/// A side takes the pieces and answers what it is asked.
fn converse(side: &mut Connection, pieces: &[&[u8]], seen: &mut FuzzCounts) {
    let mut input = BytesMut::new();
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            match side.receive(&mut input) {
                Ok(Some(event)) => answer(side, event),
                Ok(None) => break,
                Err(violation) => {
                    seen.violation(violation.code().to_string());
                    assert!(side.is_closed(), "who breaks a rule has no session");
                    assert!(!side.output().is_empty(), "and is told so");
                    return;
                }
            }
            let output = side.output();
            output.advance(output.remaining());
        }
        if side.is_closed() {
            return;
        }
        let held = input.len() + side.lacking(&input);
        assert!(held <= 8 + 4096 + DEFAULT_MAX_PAYLOAD as usize, "{held} bytes of one frame");
    }
}

fn answer(side: &mut Connection, event: Event) {
    match event {
        Event::Hello(hello) if hello.agent.len() % 4 == 3 => {
            side.refuse(vp_protocols::native::ErrorCode::Internal, "");
        }
        // What cannot be offered to such a peer is refused.
        Event::Hello(_) => _ = side.accept(Offer::default()),
        // Some answers are of the wrong kind: the connection knows.
        Event::Request { id, request, .. } => {
            let replies =
                [Reply::Done, Reply::Value { value: 1 }, Reply::Pong, Reply::Stepped { next: None }];
            for reply in replies {
                if side.reply(id, Time::ps(1), reply, &[]).is_ok() {
                    return;
                }
            }
            drop(request);
        }
        _ => {}
    }
}
