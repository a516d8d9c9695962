//! The register ring with a hostile peer: one end of ours, and its memory and bells written by a peer that keeps no rule.
//!
//! A case: a byte (which end is ours), then steps.

use std::os::fd::{AsFd as _, OwnedFd};

use vp_shm::Region;
use vp_shm::ring::{Access, BYTES, Client, ENTRIES, Request, Server};

use super::{Choices, Form};

/// Form of the target's cases.
pub const FORM: Form = Form::Bytes;

/// Offsets at which the entries of accesses and of answers begin, bytes between them, and offsets of the words of who sleeps
/// (docs/protocol.md, "The register ring").
const ASKED: u64 = 0x100;
const ANSWERED: u64 = 0x900;
const APART: u64 = 32;

/// Runs a case; tells how many accesses, or answers, our end took.
///
/// # Panics
/// When an end gives what nobody wrote.
pub fn run(case: &[u8]) -> u64 {
    let mut choices = Choices::new(case);
    let client = Client::new().expect("a ring");
    let [memory, own, peer] = client.files().map(|file| file.try_clone_to_owned().expect("a descriptor"));
    let mut hostile = Hostile {
        memory: Region::map(&memory, 0, BYTES).expect("the ring's memory"),
        bells: [&own, &peer].map(|bell| bell.try_clone().expect("a descriptor")),
        next: 0,
    };
    let server = Server::open(&memory, own, peer).expect("a ring");
    match choices.byte() & 1 {
        0 => serve(server, &mut hostile, choices),
        _ => ask(client, &mut hostile, choices),
    }
}

/// The peer: it writes what it likes.
struct Hostile {
    memory: Region,
    bells: [OwnedFd; 2],
    /// The number of the entry that our end looks at next.
    next: u32,
}

impl Hostile {
    /// Writes a word: at the entry that is looked at next, or anywhere.
    fn write(&mut self, entries: u64, choices: &mut Choices<'_>) {
        let how = choices.byte();
        let entry = entries + u64::from(self.next % ENTRIES) * APART;
        let (at, value) = match how % 4 {
            0 => (entry, self.next.wrapping_add(1)),
            1 => (entry + u64::from(how >> 2) % APART / 4 * 4, choices.u32()),
            2 => (u64::from(how >> 2) % 4 * 0x40, choices.u32()),
            _ => (u64::from(choices.u16()) % BYTES / 4 * 4, choices.u32()),
        };
        assert!(self.memory.write(at.min(BYTES - 4), &value.to_le_bytes()));
    }

    /// Rings a bell, fills it, or empties it.
    fn ring(&self, choices: &mut Choices<'_>) {
        let how = choices.byte();
        let bell = &self.bells[usize::from(how & 1)];
        _ = match how >> 1 & 3 {
            0 => rustix::io::write(bell, &1_u64.to_ne_bytes()),
            1 => rustix::io::write(bell, &(u64::MAX - 1).to_ne_bytes()),
            _ => rustix::io::read(bell, &mut [0; 8]),
        };
    }
}

fn serve(mut server: Server, hostile: &mut Hostile, mut choices: Choices<'_>) -> u64 {
    let mut taken = 0;
    while !choices.is_empty() {
        match choices.byte() % 8 {
            0..4 => hostile.write(ASKED, &mut choices),
            4 => hostile.ring(&mut choices),
            5 => {
                let before = server.owed();
                match server.take() {
                    Ok(Some(_)) => {
                        taken += 1;
                        hostile.next = hostile.next.wrapping_add(1);
                    }
                    Ok(None) => assert_eq!(server.owed(), before),
                    Err(error) => {
                        assert_eq!(error.number, hostile.next);
                        break;
                    }
                }
                assert!(server.owed() <= ENTRIES);
            }
            6 => server.answer(choices.u32(), 1, 2),
            _ => {
                server.set_line(choices.byte() & 1 == 1);
                server.fall_asleep();
                server.wake();
            }
        }
    }
    _ = server.bell().as_fd();
    taken
}

fn ask(mut client: Client, hostile: &mut Hostile, mut choices: Choices<'_>) -> u64 {
    let mut asked = 0_u32;
    while !choices.is_empty() {
        match choices.byte() % 8 {
            0..4 => hostile.write(ANSWERED, &mut choices),
            4 => hostile.ring(&mut choices),
            5 => {
                let request = Request { access: Access::Read, address: u64::from(choices.byte()), at: None };
                asked += u32::from(client.ask(request));
            }
            6 => _ = client.ask(Request { access: Access::Posted(1), address: 0, at: Some(2) }),
            _ => {
                hostile.next += u32::from(client.answer().is_some());
                _ = (client.line().level(), client.line_reader().line());
            }
        }
        assert!(hostile.next <= asked && asked - hostile.next <= ENTRIES, "an answer to each that was asked");
    }
    u64::from(hostile.next)
}
