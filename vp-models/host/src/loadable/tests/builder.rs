//! Builds loadables, for tests.

use super::Version;
use super::contents::{AddressTable, BlobTable, Contents, MemoryTable, SubmitTable, TaskTable};

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
    let [major, minor, below] = version;
    let version = Version(major, minor, below);
    let numbered = || (0..).zip(pieces);
    let name = |id: u16| format!("piece {id}");
    let blob = |(id, piece): (u16, &Piece)| {
        let size = piece.bytes.len() as u64;
        BlobTable { name: name(id), size, version, data: piece.bytes.clone(), ..BlobTable::default() }
    };
    let memory = |(id, piece): (u16, &Piece)| MemoryTable {
        id,
        domain: piece.domain,
        flags: piece.flags,
        size: piece.size as u64,
        contents: vec![name(id)],
        offsets: vec![0],
        tensor: id,
        ..MemoryTable::default()
    };
    let task = |(id, (interface, addresses)): (u16, &(u32, &[u16]))| TaskTable {
        id,
        interface: *interface,
        addresses: addresses.to_vec(),
        ..TaskTable::default()
    };
    let contents = Contents {
        version: Version(0, 7, 0),
        tasks: (0..).zip(interfaces).map(task).collect(),
        memories: numbered().map(memory).collect(),
        addresses: numbered()
            .map(|(id, _)| AddressTable { id, memory: id, ..AddressTable::default() })
            .collect(),
        blobs: numbered().map(blob).collect(),
        submits: vec![SubmitTable { id: 0, tasks: (0..interfaces.len() as u16).collect() }],
        ..Contents::default()
    };
    contents.write()
}
