//! vfio-user, on both sides: whatever comes, and however it is cut, no panic, and no more held than one message.
//!
//! A case: eight bytes from which the sides' own doings are drawn, then pieces. The first byte of each says to whom it goes, and
//! how many files come with it.

use bytes::{Bytes, BytesMut};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use vp_protocols::vfio_user::{
    Capabilities, Client, ClientEvent, Connection, DeviceInfo, DmaUnmap, Errno, Event, Feature, MAX_FILES,
    MAX_MESSAGE, Reply, Request, Write,
};

use super::{Choices, Form, FuzzCounts};

/// Form of the target's cases.
pub const FORM: Form = Form::Pieces { head: 8 };

/// Capabilities of both sides.
pub(super) fn capabilities() -> Capabilities {
    Capabilities { max_dma_maps: Some(9), pgsizes: Some(4096), ..Capabilities::default() }
}

/// Commands that wait for replies when a case begins: numbers 1 and up.
pub(super) fn asked() -> [Request; 11] {
    [
        Request::DeviceInfo,
        Request::RegionInfo { index: 7 },
        Request::IrqInfo { index: 2 },
        Request::RegionRead { region: 0, offset: 8, count: 4 },
        Request::RegionWrite(Write { region: 0, offset: 8, data: vec![1; 4].into() }),
        Request::RegionWriteMulti(Vec::new()),
        Request::DmaUnmap(DmaUnmap { is_all: false, address: 0, size: 4096 }),
        Request::Reset,
        Request::Feature(Feature { most: 64, flags: Feature::GET | 1, data: Bytes::new() }),
        Request::Feature(Feature { most: 64, flags: Feature::SET | 2, data: vec![1; 8].into() }),
        Request::MigrationRead { most: 64, count: 32 },
    ]
}

/// Runs a case; tells how many messages meant something.
pub fn run(case: &[u8]) -> u64 {
    let mut seen = FuzzCounts::default();
    feed(case, &mut seen);
    seen.events
}

/// Feeds streams to one server and one client after the other, and tells what happened.
///
/// # Panics
/// When a promise of the protocol's code does not hold.
pub fn feed(case: &[u8], seen: &mut FuzzCounts) {
    let mut choices = Choices::new(case);
    let mut random = SmallRng::seed_from_u64(choices.u64());
    let (mut server, mut client) = open(&mut random);
    let mut inputs: [BytesMut; 2] = Default::default();
    while let Some(piece) = choices.piece() {
        let Some((to, bytes)) = piece.split_first() else { continue };
        let input = &mut inputs[usize::from(to & 1)];
        input.extend_from_slice(bytes);
        let over = match to & 1 == 1 {
            true => hear(&mut client, input, &mut random, seen),
            false => {
                server.add_files(0..to >> 6, input.len());
                receive(&mut server, input, &mut random, seen)
            }
        };
        assert!(input.len() < MAX_MESSAGE, "one message at most");
        if over || input.len() > 4096 && random.random_range(0..64) > 0 {
            inputs = Default::default();
            (server, client) = open(&mut random);
        }
    }
}

/// Returns both sides: they have mostly agreed on a version, and wait for answers.
fn open(random: &mut SmallRng) -> (Connection<u8>, Client) {
    let (mut server, mut client) = (Connection::new(capabilities()), Client::new(capabilities()));
    if random.random_range(0..4) > 0 {
        server.receive(client.output()).expect("a version");
        server.read_memory(0, 4);
        server.write_memory(0, &[1]);
        server.output().clear();
    }
    for request in &asked() {
        client.request(request);
    }
    client.output().clear();
    (server, client)
}

fn receive(
    server: &mut Connection<u8>,
    input: &mut BytesMut,
    random: &mut SmallRng,
    seen: &mut FuzzCounts,
) -> bool {
    loop {
        match server.receive(input) {
            Ok(Some(event)) => {
                seen.events += 1;
                if let Event::Request { token, files, .. } = event {
                    assert!(files.len() <= MAX_FILES);
                    match random.random_range(0..4) {
                        0 => server.fail(token, Errno::EINVAL),
                        _ => server.reply(token, &Reply::Device(DeviceInfo { regions: 9, irqs: 5 })),
                    }
                }
                match random.random_range(0..32) {
                    0 => drop(server.read_memory(random.random(), 8)),
                    1 => drop(server.write_memory(random.random(), &[1, 2])),
                    _ => {}
                }
                server.output().clear();
            }
            Ok(None) => return false,
            Err(violation) => {
                seen.violation(violation.rule.name().to_owned());
                assert_eq!(server.receive(input), Ok(None), "it is over");
                return true;
            }
        }
    }
}

fn hear(client: &mut Client, input: &mut BytesMut, random: &mut SmallRng, seen: &mut FuzzCounts) -> bool {
    loop {
        match client.receive(input) {
            Ok(Some(heard)) => {
                seen.events += 1;
                if let ClientEvent::Write { .. } = heard {
                    client.answer(&heard, Ok(&[]));
                }
                if random.random_range(0..8) == 0 {
                    client.request(&Request::DeviceInfo);
                }
                client.output().clear();
            }
            Ok(None) => return false,
            Err(violation) => {
                seen.violation(violation.rule.name().to_owned());
                return true;
            }
        }
    }
}
