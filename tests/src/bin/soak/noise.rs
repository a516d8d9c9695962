//! Peers that speak no protocol, or only its beginning.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rand::Rng as _;
use rand::rngs::SmallRng;

use crate::Around;
use crate::server::ServerPlace;
use crate::tally::Party;

/// Time that a silent peer stays.
const SILENCE: Duration = Duration::from_millis(300);

/// The beginning of a Hello: its prefix, and the number and the magic of the message (docs/protocol.md, "Frames").
const HELLO: [u8; 13] = [64, 0, 0, 0, 0, 0, 0, 0, 0, b'V', b'P', b'N', b'P'];

/// Connects, sends something that is no session, and goes; or stays for a while without a word.
pub(crate) fn work(place: &ServerPlace, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    around.tally.begun(Party::Noise);
    // Not so much that others have no room.
    std::thread::sleep(Duration::from_millis(random.random_range(0..40)));
    let address = &place.address;
    // A server that was just killed refuses: that is no fault.
    let tcp = address.strip_prefix("tcp:").or_else(|| address.strip_prefix("tls:"));
    match (tcp, address.strip_prefix("unix:")) {
        (Some(place), _) => TcpStream::connect(place).map_or(Ok(()), |stream| {
            _ = stream.set_read_timeout(Some(SILENCE));
            speak(stream, random)
        }),
        (_, Some(path)) => UnixStream::connect(path).map_or(Ok(()), |stream| {
            _ = stream.set_read_timeout(Some(SILENCE));
            speak(stream, random)
        }),
        _ => Err(format!("no such transport: {address}")),
    }
}

fn speak(mut stream: impl Read + Write, random: &mut SmallRng) -> Result<(), String> {
    let mut bytes = Vec::new();
    if random.random_bool(0.5) {
        bytes.extend(HELLO);
    }
    let length = random.random_range(0..5000);
    bytes.extend((0..length).map(|_| random.random::<u8>()));
    // Where the server closes early, what is left cannot be sent.
    _ = stream.write_all(&bytes);
    _ = stream.read(&mut [0; 512]);
    Ok(())
}
