//! RUBIK's timing: its tiles, what is read and written for each, and when.
//!
//! The register file has two banks, one being filled while the other is read. A bank holds a *tile*: for contraction
//! up to 8 pixels of up to 8 channel blocks, otherwise up to 64 pixels of a surface. Two atoms enter it and two leave it
//! in a cycle, not across the end of a row. The write port takes two atoms a cycle too, and a cycle for each request.
//!
//! RTL: `NV_NVDLA_RUBIK_seq_gen` (requests), `rf_ctrl` (banks), `wr_req` (write port); branch nvdlav1, `NV_NVDLA_MCIF_WRITE_IG_bpt.v`, pipe_p1
//! and p2 in front of the interface.

use super::layer::{Mode, RubikLayer, STEPS};
use crate::bus::axi::{WriteGatherer, WriteGathering};
use crate::nvdla::timing::RubikTiming;
use std::collections::VecDeque;
use vp_core::Time;

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

/// Items in pipe_p1 and pipe_p2 of the memory interface, each with a skid register.
const ITEMS: usize = 4;
/// Cycles from an item's entry into pipe_p1 until it leaves pipe_p2.
const THROUGH: u64 = 2;
/// Cycles from there until the interface can make a beat of the bus of it.
const DATA_FIFO: u64 = 2;

/// The memory interface as the write port sees it, if the arbiter is always free: how long it takes no item.
struct Interface {
    gatherer: WriteGatherer,
    /// Times at which the last items leave pipe_p2, and their number.
    left: [u64; ITEMS],
    items: usize,
    entered: u64,
}

impl Interface {
    const PERIOD: Time = Time::ps(1);

    fn new(gathering: WriteGathering) -> Interface {
        let gatherer = WriteGatherer::new(Interface::PERIOD, gathering);
        Interface { gatherer, left: [0; ITEMS], items: 0, entered: 0 }
    }

    /// Returns the cycle in which an item that is there from `from` on enters.
    fn enter(&mut self, from: u64) -> u64 {
        let room = if self.items >= ITEMS { self.left[self.items % ITEMS] + 1 } else { 0 };
        self.entered = from.max(room).max(self.entered + 1);
        self.entered
    }

    fn leave(&mut self, from: u64) -> u64 {
        let before = if self.items > 0 { self.left[(self.items - 1) % ITEMS] + 1 } else { 0 };
        let left = (self.entered + THROUGH).max(before).max(from);
        self.left[self.items % ITEMS] = left;
        self.items += 1;
        left
    }

    /// Returns the cycle in which a line's header, which is there from `from` on, enters.
    fn line(&mut self, from: u64, address: u64, bytes: u32) -> u64 {
        let at = self.enter(from);
        self.leave(self.gatherer.line_gone().as_ps());
        self.gatherer.begin_line(address, bytes);
        at
    }

    /// Returns the cycle in which some of its bytes, which are there from `from` on, enter.
    fn data(&mut self, from: u64, bytes: usize) -> u64 {
        let at = self.enter(from);
        let left = self.leave(0);
        self.gatherer.put(Interface::PERIOD * (left + DATA_FIFO + 1), bytes);
        while let Some(asks) = self.gatherer.asks() {
            self.gatherer.granted(asks, 1);
        }
        at
    }
}

/// Times at which atoms leave, in cycles from the start of simulation.
pub(super) struct Drain {
    timing: RubikTiming,
    /// The register file's next read, and the write port's next cycle.
    file: u64,
    port: u64,
    /// Time at which each pair in the FIFO between register file and write port leaves it.
    fifo: VecDeque<u64>,
    /// The write requests, and the atoms that are left of the present one.
    lines: Box<dyn Iterator<Item = (u64, u32)>>,
    left: u32,
    interface: Option<Interface>,
}

impl Drain {
    pub(super) fn new(layer: &RubikLayer, timing: &RubikTiming) -> Drain {
        Drain {
            timing: timing.clone(),
            file: 0,
            port: 0,
            fifo: VecDeque::new(),
            lines: Box::new(writes(layer)),
            left: 0,
            interface: timing.gathering.map(Interface::new),
        }
    }

    /// A tile is complete at `filled`. Gives when its bank is free, and adds when each of its atoms can be at the
    /// memory interface.
    pub(super) fn tile(&mut self, layer: &RubikLayer, tile: &Tile, filled: u64, due: &mut Vec<u64>) -> u64 {
        let (rows, atoms) = tile.rows(layer);
        self.file = self.file.max(filled);
        for _ in 0..rows {
            for pair in (0..atoms).step_by(2) {
                if self.fifo.len() >= self.timing.write_fifo as usize
                    && let Some(room) = self.fifo.pop_front()
                {
                    self.file = self.file.max(room);
                }
                let count = 2.min(atoms - pair);
                if self.left == 0
                    && let Some((address, bytes)) = self.lines.next()
                {
                    self.left = bytes / layer.atom as u32;
                    let from = self.port.max(self.file);
                    let at = self.interface.as_mut().map_or(from, |it| it.line(from, address, bytes));
                    self.port = at + 1;
                }
                self.left = self.left.saturating_sub(count);
                let from = self.port.max(self.file + 1);
                let bytes = count as usize * layer.atom;
                self.port = self.interface.as_mut().map_or(from, |it| it.data(from, bytes));
                self.fifo.push_back(self.port);
                due.extend((0..count).map(|_| self.port + u64::from(self.timing.output)));
                self.file += 1;
                self.port += 1;
            }
        }
        self.file
    }
}

#[cfg(test)]
mod tests {
    use super::super::layer::RubikSurface;
    use super::*;
    use crate::nvdla::cube::Ram;

    const TIMING: RubikTiming =
        RubikTiming { output: 8, credits: 80, write_fifo: 4, gathering: None, done_to_interrupt: 11 };

    fn layer(mode: Mode, element: usize, width: u32, channels: u32) -> RubikLayer {
        let place =
            |base| RubikSurface { ram: Ram::Primary, base, line_stride: 0x1_0000, surface_stride: 0x1000 };
        let (source, destination) = (place(0), place(0x8000_0000));
        RubikLayer { atom: 32, mode, element, width, height: 1, channels, source, destination }
    }

    /// From the first read of the register file to the last write, and what it takes, if each tile is there at once.
    fn drained(layer: &RubikLayer) -> u64 {
        let (mut drain, mut due) = (Drain::new(layer, &TIMING), Vec::new());
        for tile in tiles(layer) {
            drain.tile(layer, &tile, 0, &mut due);
        }
        let bytes: u32 = writes(layer).map(|(_, bytes)| bytes).sum();
        assert_eq!(due.len() as u32 * 32, bytes, "one time for each atom written");
        assert!(due.is_sorted());
        due.last().copied().unwrap_or_default() + 1 - u64::from(TIMING.output)
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
        // One request for 64 atoms: a cycle for it and 32 for them, behind the first read.
        assert_eq!(drained(&layer(Mode::Merge, 1, 64, 32)), 1 + 32);
        // 32 planes of a pair of atoms.
        assert_eq!(drained(&layer(Mode::Split, 1, 64, 32)), 32 * 2);
    }

    #[test]
    fn an_odd_row_takes_a_whole_read_of_the_register_file() {
        // Eight pixels of three blocks: two reads each; the port needs 12 cycles for them and one for the request.
        let contract = layer(Mode::Contract { x: 3, y: 1, block_stride: 0x1000 }, 1, 8, 32);
        assert_eq!(drained(&contract), 1 + 16);
    }
}
