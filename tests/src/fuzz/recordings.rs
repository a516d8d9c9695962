//! Recordings of hubs: whatever a file says, it is refused, or some of it runs again.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use vp_core::Time;
use vp_hub::{
    Access, AccessKind, Hub, Input, MemoryGuarantees, Operation, PartyCommand, PartyId, PortId, Recorded,
    Role, Tag, TimeMode,
};
use vp_models::platform::{Description, Platform};
use vp_recordings::{Header, Player, ReplayStep, Writer};

use crate::progress::Progress;

fn hub() -> Hub {
    let description = Description::named("nv_small").expect("a built-in platform");
    Hub::new(Platform::build(&description).expect("it can be built"), TimeMode::Free)
}

/// Returns true if some of a recording runs again.
pub(super) fn is_replayed(bytes: &[u8]) -> bool {
    let Ok(mut player) = Player::new(bytes) else { return false };
    let progress = Progress::of_thread();
    while let Ok(ReplayStep::Done(_)) = player.step(Time::ms(1), &mut |_| {}) {
        progress.step();
    }
    player.replay().entries() > 0
}

/// A recording with these bytes as its entries: its checksums are right, whatever the bytes are.
pub(super) fn in_blocks(entries: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let header = Header::of(&hub(), "a fuzzer", None);
    drop(Writer::new(&mut file, &header).expect("memory takes all"));
    for part in entries.chunks(100) {
        let block = [&[b'P', part.len() as u8], part].concat();
        let checksum = crc32fast::hash(&block).to_le_bytes();
        file.extend_from_slice(&block);
        file.extend_from_slice(&checksum);
    }
    file
}

/// Entries of a CPU that runs no layer, as a hub in free mode tells them.
fn recorded() -> Vec<Recorded> {
    let mut hub = hub();
    let told = Rc::new(RefCell::new(Vec::new()));
    let recording = told.clone();
    hub.record_to(move |entry| recording.borrow_mut().push(entry));
    let (party, csb, dbb) = (PartyId(1), PortId(0), PortId(2));
    hub.handle(Input::Enter { party, name: "it".to_owned(), memory: MemoryGuarantees::default() });
    let access = |port, operation| PartyCommand::Access(Access { port, at: None, operation });
    let attach = |port| PartyCommand::Attach { port, role: Role::Initiator, range: None };
    let (data, kind) = (Bytes::from_static(&[7; 40]), AccessKind::Timed);
    let write = Operation::MemoryWrite { address: 0x8000_0000, data, strobes: None, kind };
    let commands = [
        attach(csb),
        attach(dbb),
        access(csb, Operation::RegisterRead { address: 0x1000 }),
        access(csb, Operation::RegisterWrite { address: 0x1004, value: 0x12_3456 }),
        access(dbb, write),
        access(csb, Operation::RegisterRead { address: 0x1004 }),
    ];
    for (tag, command) in (1..).map(Tag).zip(commands) {
        hub.handle(Input::Command { party, tag, command });
        hub.run(Time::ms(1));
        while hub.poll().is_some() {}
    }
    drop(hub);
    told.take()
}

/// A recording of that.
pub(super) fn inputs() -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &Header::of(&hub(), "a fuzzer", None)).expect("memory takes all");
    recorded().into_iter().for_each(|entry| writer.add(entry).expect("memory takes all"));
    writer.end(None).expect("memory takes all");
    file
}

/// The entries of that, in no blocks. Differences of numbers are not made, so not all of it runs again.
pub(super) fn entries() -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in recorded() {
        let image = postcard::to_allocvec(&entry).expect("it can be written");
        bytes.push(image.len() as u8);
        bytes.extend(image);
    }
    bytes
}
