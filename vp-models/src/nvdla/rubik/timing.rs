//! RUBIK's timing: its tiles, what is read and written for each, and when.
//!
//! The register file has two banks, one being filled while the other is read. A bank holds a *tile*: for contraction
//! up to 8 pixels of up to 8 channel blocks, otherwise up to 64 pixels of a surface. Two atoms enter it and two leave it
//! in a cycle, not across the end of a row. The write port takes two atoms a cycle too, across rows, and a cycle for each request.
//!
//! RTL: `NV_NVDLA_RUBIK_seq_gen` (requests), `rf_ctrl` and `rf_core` (banks), `wr_req` (write port); branch nvdlav1,
//! `NV_NVDLA_MCIF_WRITE_IG_bpt.v` behind it.

use super::layer::{Mode, RubikLayer, STEPS};
use crate::nvdla::timing::RubikTiming;
use crate::nvdla::write_interface::{Last, PIPE, WriteInterface};
use std::collections::VecDeque;

/// Pixels of a tile but in contraction.
const PIXELS: u32 = 64;

/// Part of a layer that the register file holds at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) surface: u32,
    /// Input line, and which of the output lines it becomes.
    pub(super) y: u32,
    pub(super) step_y: u32,
    /// First pixel, and how many.
    pub(super) x: u32,
    pub(super) width: u32,
    /// Channel blocks of a contraction; planes otherwise.
    pub(super) first_plane: u32,
    pub(super) planes: u32,
}

/// The pieces of at most `step` that make up `whole`: where each begins, and its size.
fn pieces(whole: u32, step: u32) -> impl Iterator<Item = (u32, u32)> + Clone {
    (0..whole).step_by(step as usize).map(move |at| (at, step.min(whole - at)))
}

impl Tile {
    /// Atoms of a plane's piece.
    pub(super) fn plane_atoms(&self, layer: &RubikLayer) -> u32 {
        (self.width * layer.element as u32).div_ceil(layer.atom as u32)
    }

    /// Address and bytes of each read.
    pub(super) fn reads(self, layer: RubikLayer) -> impl Iterator<Item = (u64, u32)> {
        let (count, atoms) = match layer.mode {
            Mode::Contract { .. } => (self.planes, self.width),
            Mode::Split => (1, self.width),
            Mode::Merge => (self.planes, self.plane_atoms(&layer)),
        };
        (0..count).map(move |plane| (self.read_address(&layer, plane), atoms * layer.atom as u32))
    }

    fn read_address(&self, layer: &RubikLayer, plane: u32) -> u64 {
        let times = |a: u32, b: u32| u64::from(a).wrapping_mul(u64::from(b));
        let line = layer.source.base.wrapping_add(times(self.y, layer.source.line_stride));
        let surface = times(self.surface, layer.source.surface_stride);
        let pixel = times(self.x, layer.atom as u32);
        let offset = match layer.mode {
            Mode::Contract { x, block_stride, .. } => {
                let block = self.step_y * x + self.first_plane + plane;
                times(block, block_stride).wrapping_add(surface).wrapping_add(pixel)
            }
            Mode::Split => surface.wrapping_add(pixel),
            Mode::Merge => {
                let channel = self.surface * layer.lanes() as u32 + plane;
                times(channel, layer.source.surface_stride).wrapping_add(times(self.x, layer.element as u32))
            }
        };
        line.wrapping_add(offset)
    }

    /// The rows in which the tile leaves the register file, as their number and the atoms of each.
    fn rows(&self, layer: &RubikLayer) -> (u32, u32) {
        match layer.mode {
            Mode::Contract { .. } => (self.width, self.planes),
            Mode::Split => (self.planes, self.plane_atoms(layer)),
            Mode::Merge => (1, self.width),
        }
    }
}

/// The tiles of a layer, in order.
pub(super) fn tiles(layer: &RubikLayer) -> impl Iterator<Item = Tile> + use<> {
    let layer = *layer;
    let (steps_y, steps_x, pixels) = match layer.mode {
        Mode::Contract { x, y, .. } => (y, x, STEPS),
        Mode::Split | Mode::Merge => (1, layer.lanes() as u32, PIXELS),
    };
    let lines = (0..layer.surfaces())
        .flat_map(move |surface| (0..layer.height).map(move |y| (surface, y)))
        .flat_map(move |(surface, y)| (0..steps_y).map(move |step_y| (surface, y, step_y)));
    lines.flat_map(move |(surface, y, step_y)| {
        let (planes, step) = match layer.mode {
            Mode::Contract { .. } => (steps_x, STEPS),
            // The last surface may have fewer.
            _ => (steps_x.min(layer.channels - surface * steps_x), steps_x),
        };
        pieces(layer.width, pixels).flat_map(move |(x, width)| {
            pieces(planes, step).map(move |(first_plane, planes)| Tile {
                surface,
                y,
                step_y,
                x,
                width,
                first_plane,
                planes,
            })
        })
    })
}

/// Address and bytes of each write of a layer, in order.
pub(super) fn writes(layer: &RubikLayer) -> impl Iterator<Item = (u64, u32)> + use<> {
    let layer = *layer;
    tiles(&layer).flat_map(move |tile| {
        let (rows, atoms) = tile.rows(&layer);
        let (rows, atoms) = match layer.mode {
            // A whole line is one request, made with its first tile.
            Mode::Contract { x, .. } if x <= STEPS => {
                if tile.x == 0 {
                    (1, layer.width * x)
                } else {
                    (0, 0)
                }
            }
            _ => (rows, atoms),
        };
        (0..rows).map(move |row| (write_address(&layer, &tile, row), atoms * layer.atom as u32))
    })
}

fn write_address(layer: &RubikLayer, tile: &Tile, row: u32) -> u64 {
    let times = |a: u32, b: u32| u64::from(a).wrapping_mul(u64::from(b));
    let place = layer.destination;
    let surface = times(tile.surface, place.surface_stride);
    let atom = layer.atom as u32;
    let (line, offset) = match layer.mode {
        Mode::Contract { x, y, .. } => {
            let pixel = (tile.x + row) * x + tile.first_plane;
            (tile.y * y + tile.step_y, surface.wrapping_add(times(pixel, atom)))
        }
        Mode::Split => {
            let channel = tile.surface * layer.lanes() as u32 + row;
            let plane = times(channel, place.surface_stride);
            (tile.y, plane.wrapping_add(times(tile.x, layer.element as u32)))
        }
        Mode::Merge => (tile.y, surface.wrapping_add(times(tile.x, atom))),
    };
    place.base.wrapping_add(times(line, place.line_stride)).wrapping_add(offset)
}

/// Pipes between the write port and the memory interface's cut of lines: RUBIK's own (`NV_NVDLA_RUBIK_dma.v`, pipe_p5, pipe_p6), and pipe_p1 and
/// p2 of the interface.
const PIPES: usize = 3;

/// Atoms in each half of the FIFO in front of the write port: in its input register, in its RAM of four and in its output register
/// (`NV_NVDLA_RUBIK_wrdma_data.v`).
const FIFO: usize = 6;
/// Cycles from an atom's entry into it to its output.
const THROUGH_FIFO: u64 = 2;
/// Cycles from the first atom's entry into it to the first request (`NV_NVDLA_RUBIK_wr_req.v`, dbuf_remain, send_cmd).
const FIRST_REQUEST: u64 = 2;

/// Write requests that wait in front of the write port: in an input register, in a RAM of four and in an output register
/// (`NV_NVDLA_RUBIK_wrdma_cmd.v`).
const REQUESTS: usize = 6;
/// Cycles from a tile's first write request into there until its reads of the register file, whose command comes with it, are asked for
/// (`NV_NVDLA_RUBIK_seq_gen.v`, rf_rd_cmd_vld; `_rf_rcmd.v`; `_rf_ctrl.v`, rf_rd_cmd_open).
const REQUEST_TO_READ: u64 = 3;

/// Times at which beats enter the register file.
pub(super) struct Fill {
    /// Times at which beats leave pipe_p1 in front of the file's RAM.
    written: Last<PIPE>,
}

impl Fill {
    pub(super) const fn new() -> Fill {
        Fill { written: Last::new() }
    }

    /// Returns the first cycle in which the pipe in front of the RAM takes another beat.
    pub(super) const fn room(&self) -> u64 {
        self.written.room()
    }

    /// A beat enters the pipe, for a bank of which the last read is done at `emptied`.
    pub(super) fn beat(&mut self, at: u64, emptied: u64) {
        self.written.note((at + 1).max(emptied + 1).max(self.written.next()));
    }

    /// Returns the first cycle in which what has entered can be read.
    pub(super) const fn readable(&self) -> u64 {
        self.written.next()
    }
}

/// Times at which a tile's bank is free again.
#[derive(Clone, Copy, Default)]
pub(super) struct Freed {
    /// First cycle in which beats for the next tile enter the pipe in front of the bank.
    pub(super) free: u64,
    /// Cycle of the last read of the bank's RAM.
    pub(super) emptied: u64,
}

/// Times at which atoms leave, in cycles from the start of simulation.
///
/// Reads of the register file are asked for one a cycle, wait in a pipe (`NV_NVDLA_RUBIK_rf_core.v`, pipe_p2), and their atoms go to the two halves of a FIFO in
/// turns. The write port takes two atoms a cycle from it, whichever read they are of.
pub(super) struct Drain {
    timing: RubikTiming,
    /// The next read that is asked for.
    file: u64,
    /// Reads of the RAM, and the entry of their atoms into the FIFO.
    reads: Last<PIPE>,
    pushes: Last<1>,
    /// Time at which atoms leave each half of the FIFO, and times of entry of those that are in it.
    halves: [Last<FIFO>; 2],
    fifo: VecDeque<u64>,
    /// The atoms so far, into the FIFO and out of it.
    pushed: usize,
    popped: usize,
    /// The write port's next cycle.
    port: u64,
    /// The write requests, and the atoms that are left of the present one.
    lines: Box<dyn Iterator<Item = (u64, u32)>>,
    left: u32,
    /// Times at which the write port takes requests.
    requests: Last<REQUESTS>,
    interface: WriteInterface,
}

impl Drain {
    pub(super) fn new(layer: &RubikLayer, timing: &RubikTiming) -> Drain {
        Drain {
            timing: timing.clone(),
            file: 0,
            reads: Last::new(),
            pushes: Last::new(),
            halves: [const { Last::new() }; 2],
            fifo: VecDeque::new(),
            pushed: 0,
            popped: 0,
            port: 0,
            lines: Box::new(writes(layer)),
            left: 0,
            requests: Last::new(),
            interface: WriteInterface::new(PIPES, timing.gathering),
        }
    }

    /// A tile can be asked for from `filled` on, and read from `readable`. Gives when its bank is free, and adds when each of its atoms can be at the
    /// memory interface.
    pub(super) fn tile(
        &mut self,
        layer: &RubikLayer,
        tile: &Tile,
        (filled, readable): (u64, u64),
        due: &mut Vec<u64>,
    ) -> Freed {
        let (rows, atoms) = tile.rows(layer);
        self.file = self.file.max(filled).max(self.requests.room() + REQUEST_TO_READ);
        let mut emptied = 0;
        for _ in 0..rows {
            for pair in (0..atoms).step_by(2) {
                let asked = self.file.max(self.reads.room());
                self.file = asked + 1;
                // A read's atoms have gone when the next is made.
                emptied = (asked + 1)
                    .max(readable)
                    .max(self.reads.next())
                    .max(self.pushes.next().saturating_sub(1));
                self.reads.note(emptied);
                self.push(emptied + 1, 2.min(atoms - pair));
                self.pop(layer, due);
            }
        }
        Freed { free: self.file, emptied }
    }

    /// Has so many atoms enter the FIFO, from `from` on.
    fn push(&mut self, from: u64, atoms: u32) {
        let halves = (0..atoms as usize).map(|atom| (self.pushed + atom) % 2);
        let room = halves.map(|half| self.halves[half].room()).max().unwrap_or_default();
        let at = from.max(room);
        self.pushes.note(at);
        self.pushed += atoms as usize;
        self.fifo.extend((0..atoms).map(|_| at));
    }

    /// The write port takes what it can of the FIFO.
    fn pop(&mut self, layer: &RubikLayer, due: &mut Vec<u64>) {
        while let Some(&first) = self.fifo.front() {
            if self.left == 0
                && let Some((address, bytes)) = self.lines.next()
            {
                self.left = bytes / layer.atom as u32;
                let from = if self.popped == 0 { first + FIRST_REQUEST } else { self.port };
                let at = self.interface.line(from, address, bytes);
                self.requests.note(at);
                self.port = at + 1;
            }
            let atoms = self.left.clamp(1, 2) as usize;
            let Some(&last) = self.fifo.get(atoms - 1) else { break };
            let from = self.port.max(last + THROUGH_FIFO);
            let (at, left) = self.interface.data(from, atoms * layer.atom);
            self.port = at + 1;
            self.fifo.drain(..atoms);
            for _ in 0..atoms {
                self.halves[self.popped % 2].note(at);
                self.popped += 1;
                due.push(left + u64::from(self.timing.output));
            }
            self.left = self.left.saturating_sub(atoms as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layer::RubikSurface;
    use super::*;
    use crate::bus::axi::WriteGathering;
    use crate::nvdla::cube::Ram;

    const TIMING: RubikTiming =
        RubikTiming { output: 8, credits: 80, gathering: None, next_layer: 2, done_to_interrupt: 11 };

    fn layer(mode: Mode, element: usize, width: u32, channels: u32) -> RubikLayer {
        let place =
            |base| RubikSurface { ram: Ram::Primary, base, line_stride: 0x1_0000, surface_stride: 0x1000 };
        let (source, destination) = (place(0), place(0x8000_0000));
        RubikLayer { atom: 32, mode, element, width, height: 1, channels, source, destination }
    }

    /// Cycles in which the write port puts a layer's atoms, if each tile is there at once.
    fn drained(layer: &RubikLayer, timing: &RubikTiming) -> u64 {
        let (mut drain, mut due) = (Drain::new(layer, timing), Vec::new());
        for tile in tiles(layer) {
            drain.tile(layer, &tile, (0, 0), &mut due);
        }
        let bytes: u32 = writes(layer).map(|(_, bytes)| bytes).sum();
        assert_eq!(due.len() as u32 * 32, bytes, "one time for each atom written");
        assert!(due.is_sorted());
        due.last().unwrap() + 1 - due.first().unwrap()
    }

    #[test]
    fn a_contraction_reads_blocks_and_writes_a_line() {
        let contract = layer(Mode::Contract { x: 2, y: 2, block_stride: 0x100 }, 1, 10, 32);
        let reads: Vec<_> = tiles(&contract).flat_map(|tile| tile.reads(contract)).collect();
        let line = |block: u64| [(block, 256), (block + 0x100, 256), (block + 256, 64), (block + 0x200, 64)];
        assert_eq!(reads, [line(0), line(0x200)].concat());
        let lines: Vec<_> = writes(&contract).collect();
        assert_eq!(lines, [(0x8000_0000, 640), (0x8001_0000, 640)]);
    }

    #[test]
    fn large_steps_are_written_piece_by_piece() {
        let contract = layer(Mode::Contract { x: 9, y: 1, block_stride: 0x1000 }, 1, 2, 32);
        let pieces: Vec<_> = writes(&contract).collect();
        let at = |atom: u64| 0x8000_0000 + 32 * atom;
        assert_eq!(pieces, [(at(0), 256), (at(9), 256), (at(8), 32), (at(17), 32)]);
    }

    #[test]
    fn planes_are_cut_at_64_pixels() {
        let split = layer(Mode::Split, 2, 70, 17);
        let first: Vec<_> = writes(&split).take(2).collect();
        assert_eq!(first, [(0x8000_0000, 128), (0x8000_1000, 128)]);
        // The rest of the line, and then the seventeenth plane.
        let later: Vec<_> = writes(&split).skip(16).step_by(16).collect();
        assert_eq!(later, [(0x8000_0080, 32), (0x8001_0000, 128)]);
        assert_eq!(writes(&split).last(), Some((0x8001_0080, 32)));
    }

    #[test]
    fn the_write_port_takes_a_cycle_for_each_request_and_two_atoms_in_another() {
        // One request for 64 atoms: 32 cycles behind it.
        assert_eq!(drained(&layer(Mode::Merge, 1, 64, 32), &TIMING), 32);
        // 32 planes of a pair of atoms, the first one's request before all.
        assert_eq!(drained(&layer(Mode::Split, 1, 64, 32), &TIMING), 32 * 2 - 1);
    }

    #[test]
    fn an_odd_row_takes_two_reads_of_the_register_file_but_its_atoms_are_written_in_pairs() {
        // Eight pixels of three blocks: the last pair waits for the sixteenth read, and the first for its request.
        let contract = layer(Mode::Contract { x: 3, y: 1, block_stride: 0x1000 }, 1, 8, 32);
        assert_eq!(drained(&contract, &TIMING), 16 - 1);
        // Rows of one atom: a read each, twice as many as pairs, and the first pair waits for its request.
        let single = layer(Mode::Contract { x: 1, y: 1, block_stride: 0x1000 }, 1, 16, 32);
        assert_eq!(drained(&single, &TIMING), 16 - 1);
    }

    #[test]
    fn a_line_within_a_beat_of_the_bus_takes_a_cycle_more_for_each_block() {
        let timing = RubikTiming { gathering: WriteGathering::of_atoms(64, 32), ..TIMING };
        let blocks = |offset| {
            let cycles = |width| {
                let mut layer = layer(Mode::Contract { x: 2, y: 1, block_stride: 0x1000 }, 1, width, 32);
                layer.destination.base += offset;
                drained(&layer, &timing)
            };
            // Of eight atoms each.
            (cycles(128) - cycles(64)) / 16
        };
        assert_eq!((blocks(0), blocks(32)), (5, 6));
    }
}
