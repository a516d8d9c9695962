//! Builds loadables, for tests.

use flatbuffers::{FlatBufferBuilder, WIPOffset};

/// A field's place in the table of fields.
const fn slot(number: u16) -> u16 {
    4 + 2 * number
}

/// One memory of the loadable.
pub(crate) struct Piece {
    /// Bytes that it holds at first.
    pub(crate) bytes: Vec<u8>,
    /// Bytes of memory.
    pub(crate) size: usize,
    /// 1: to be allotted, 2: to be filled, 4: an input, 8: an output.
    pub(crate) flags: u16,
    /// 0: DRAM, 1: SRAM.
    pub(crate) domain: u8,
}

/// Builds the container: each piece a memory with an address of the same number, and the tasks over all of them.
pub(crate) fn container(pieces: &[Piece], version: [u8; 3], interfaces: &[(u32, &[u16])]) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let mut memories = Vec::new();
    let mut addresses = Vec::new();
    let mut blobs = Vec::new();
    for (id, piece) in pieces.iter().enumerate() {
        let id = id as u16;
        let name = builder.create_string(&format!("piece {id}"));
        let data = builder.create_vector(&piece.bytes);
        let start = builder.start_table();
        builder.push_slot_always(slot(0), name);
        builder.push_slot_always(slot(4), Raw(version));
        builder.push_slot_always(slot(5), data);
        blobs.push(builder.end_table(start));
        let name = builder.create_string(&format!("piece {id}"));
        let contents = builder.create_vector(&[name]);
        let offsets = builder.create_vector(&[0u64]);
        let start = builder.start_table();
        builder.push_slot_always(slot(3), piece.size as u64);
        builder.push_slot_always(slot(5), contents);
        builder.push_slot_always(slot(6), offsets);
        builder.push_slot_always(slot(0), id);
        builder.push_slot_always(slot(2), piece.flags);
        builder.push_slot(slot(1), piece.domain, 0);
        builder.push_slot_always(slot(8), id);
        memories.push(builder.end_table(start));
        let start = builder.start_table();
        builder.push_slot_always(slot(0), id);
        builder.push_slot_always(slot(1), id);
        addresses.push(builder.end_table(start));
    }
    let mut tasks = Vec::new();
    for (id, (interface, list)) in interfaces.iter().enumerate() {
        let list = builder.create_vector(list);
        let start = builder.start_table();
        builder.push_slot_always(slot(1), *interface);
        builder.push_slot_always(slot(3), list);
        builder.push_slot_always(slot(0), id as u16);
        tasks.push(builder.end_table(start));
    }
    let order: Vec<u16> = (0..interfaces.len() as u16).collect();
    let order = builder.create_vector(&order);
    let start = builder.start_table();
    builder.push_slot_always(slot(1), order);
    let submits = [builder.end_table(start)];
    let mut list = |tables: &[WIPOffset<_>]| builder.create_vector(tables);
    let (tasks, memories, addresses) = (list(&tasks), list(&memories), list(&addresses));
    let (blobs, submits) = (list(&blobs), list(&submits));
    let start = builder.start_table();
    builder.push_slot_always(slot(0), Raw([0, 7, 0]));
    builder.push_slot_always(slot(1), tasks);
    builder.push_slot_always(slot(2), memories);
    builder.push_slot_always(slot(3), addresses);
    builder.push_slot_always(slot(5), blobs);
    builder.push_slot_always(slot(8), submits);
    let root = builder.end_table(start);
    builder.finish_minimal(root);
    builder.finished_data().to_vec()
}

/// Three bytes, inline.
#[derive(Clone, Copy)]
struct Raw([u8; 3]);

impl flatbuffers::Push for Raw {
    type Output = Raw;

    #[expect(unsafe_code, reason = "a method of the library's trait")]
    unsafe fn push(&self, to: &mut [u8], _: usize) {
        to[..3].copy_from_slice(&self.0);
    }

    fn alignment() -> flatbuffers::PushAlignment {
        flatbuffers::PushAlignment::new(1)
    }
}
