//! Tensors that the user gives and takes: operations have them as the loadable describes them, and what is taken is written before.

use super::super::shape::{Access, Direction};
use super::super::{Loadable, LoadableError, MemoryEntry, Tensor};
use super::cubes::Features;
use std::collections::BTreeMap;

/// Refuses a cube that is a whole tensor, and has other strides than that: its elements would be looked for elsewhere.
pub(super) fn check_strides<'a>(
    loadable: &Loadable,
    cubes: impl Iterator<Item = &'a Features>,
    atom: u32,
) -> Result<(), LoadableError> {
    let described: BTreeMap<u16, (&MemoryEntry, &Tensor)> = loadable
        .memories()
        .iter()
        .filter(|memory| memory.is_input || memory.is_output)
        .filter_map(|memory| Some((memory.id, (memory, loadable.tensor_of(memory)?))))
        .collect();
    for cube in cubes {
        let Some((memory, tensor)) = described.get(&cube.entry.memory) else { continue };
        let size = [cube.cube.width, cube.cube.height, cube.cube.channels].map(|extent| extent as usize);
        if tensor.size != size || tensor.offset != cube.entry.offset {
            continue;
        }
        let shape = cube.shape(atom);
        let expected = [tensor.line_stride, tensor.surface_stride].map(|stride| stride as u64);
        // A stride that leads to no other line or surface says nothing.
        let [_, lines, surfaces] = shape.counts;
        let differs =
            |at: usize, count: u64| count > 1 && expected[at] > 0 && shape.strides[at] != expected[at];
        if differs(0, lines) || differs(1, surfaces) {
            return Err(LoadableError::TensorStrides {
                place: cube.place.clone(),
                strides: shape.strides,
                tensor: named(loadable, memory),
                expected,
            });
        }
    }
    Ok(())
}

/// Refuses an output that no operation writes, or not all of, and a cube that is read where nothing is.
pub(super) fn check_written(loadable: &Loadable, accesses: &[Access]) -> Result<(), LoadableError> {
    let mut written: BTreeMap<u16, Written> = BTreeMap::new();
    for access in accesses.iter().filter(|access| access.direction == Direction::Write) {
        written.entry(access.entry.memory).or_default().add(access);
    }
    written.values_mut().for_each(Written::merge);
    for memory in loadable.outputs().into_iter().filter(|memory| !memory.is_input) {
        let (mut offset, mut bytes) = (0, memory.image.len() as u64);
        let mut elements = 1;
        if let Some(tensor) = loadable.tensor_of(memory).filter(|tensor| tensor.has_room()) {
            (offset, bytes) = (tensor.offset, tensor.bytes);
            elements = (tensor.elements() * tensor.element_bytes.unwrap_or_default()) as u64;
        }
        let found =
            written.get(&memory.id).map_or(0, |written| written.bytes.min(written.covered((offset, bytes))));
        if found < elements {
            let tensor = named(loadable, memory);
            return Err(LoadableError::Unwritten { tensor, written: found, bytes: elements });
        }
    }
    for access in accesses.iter().filter(|access| access.direction == Direction::Read) {
        let memory = loadable.memory(access.entry.memory);
        let is_written = || {
            let (bytes, own) = ((access.entry.offset, access.extent), Some(access.operation));
            written.get(&memory.id).is_some_and(|written| written.touches(bytes, own))
        };
        if !memory.is_input && !memory.is_filled && !is_written() {
            return Err(LoadableError::Unfilled { place: access.place.clone(), memory: memory.id });
        }
    }
    Ok(())
}

fn named(loadable: &Loadable, memory: &MemoryEntry) -> String {
    match loadable.tensor_of(memory) {
        Some(tensor) if !tensor.name.is_empty() => format!("`{}` (memory {})", tensor.name, memory.id),
        _ => format!("in memory {}", memory.id),
    }
}

/// Pieces of a memory that operations write.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// In order and apart from each other, once they are merged.
    pieces: Vec<Piece>,
    /// Bytes of all cubes: no more are written.
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    begin: u64,
    end: u64,
    /// The operation that writes it, if there is just one.
    writer: Option<usize>,
}

impl Written {
    pub(super) fn add(&mut self, access: &Access) {
        let begin = access.entry.offset;
        let end = begin.saturating_add(access.extent);
        self.pieces.push(Piece { begin, end, writer: Some(access.operation) });
        self.bytes = self.bytes.saturating_add(access.pixels);
    }

    pub(super) fn merge(&mut self) {
        self.pieces.sort_unstable_by_key(|piece| piece.begin);
        self.pieces.dedup_by(|next, last| {
            let is_one = next.begin <= last.end;
            if is_one {
                last.end = last.end.max(next.end);
                last.writer = last.writer.filter(|writer| next.writer == Some(*writer));
            }
            is_one
        });
    }

    /// Number of bytes in pieces, of so many from an offset on.
    pub(super) fn covered(&self, (offset, bytes): (u64, u64)) -> u64 {
        let end = offset.saturating_add(bytes);
        let within = |piece: &Piece| piece.end.min(end).saturating_sub(piece.begin.max(offset));
        self.pieces.iter().map(within).sum()
    }

    /// Returns true if another operation than this one writes a piece that has one of so many bytes from an offset on.
    fn touches(&self, (offset, bytes): (u64, u64), own: Option<usize>) -> bool {
        let end = offset.saturating_add(bytes);
        let first = self.pieces.partition_point(|piece| piece.end <= offset);
        let mut within = self.pieces[first..].iter().take_while(|piece| piece.begin < end);
        within.any(|piece| own.is_none() || piece.writer != own)
    }
}
