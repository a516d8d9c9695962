//! CDP's timing: in which order atoms are read and written, and in which cycle each is done.
//!
//! A line is cut into *blocks* of up to eight pixels. A block is read surface by surface; each is a *transfer*
//! of up to eight atoms. CDP_RDMA spreads the atoms of a transfer over FIFOs, one for each `throughput`
//! elements of an atom. The datapath takes them FIFO by FIFO: the first elements of all pixels, then the next
//! ones. Such a *row*, with one step for each pixel, is the unit here.
//!
//! The square sum needs four channels behind the centre, so results leave that many elements later. The rows of
//! the next block push them out (and wait if that block is narrower); at the end of the cube empty rows do.
//! When the last row of a transfer has passed, its atoms are written, one a cycle.
//!
//! RTL: `CDP_RDMA_ig` (order), `CDP_RDMA_eg` (rows), `CDP_DP_bufferin` (delay), `CDP_wdma` (writing).

use super::layer::CdpLayer;
use crate::bus::axi::Begin;
use crate::nvdla::cube::Surface;
use crate::nvdla::timing::CdpTiming;
use std::collections::VecDeque;

/// Pixels of a block, and places of the FIFOs behind it.
const BLOCK: u32 = 8;
/// Channels that must be seen before a window is complete, whatever its length.
const CHANNELS_BEHIND: u32 = 4;
/// Elements that a data FIFO of the write DMA holds: eight, and one in its output register.
const WRITE_FIFO: u64 = 9;

/// Up to eight pixels of a line and surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transfer {
    pub(super) y: u32,
    pub(super) x: u32,
    pub(super) width: u32,
    pub(super) surface: u32,
}

impl Transfer {
    fn line(self, surface: Surface) -> (u64, u32) {
        (surface.address(self.surface, self.x, self.y), self.width * surface.pixel)
    }
}

/// The transfers of a layer, in order.
pub(super) fn transfers(layer: &CdpLayer) -> impl Iterator<Item = Transfer> + use<> {
    let (width, height, surfaces) = (layer.width, layer.height, layer.surfaces());
    (0..height).flat_map(move |y| {
        (0..width).step_by(BLOCK as usize).flat_map(move |x| {
            let width = BLOCK.min(width - x);
            (0..surfaces).map(move |surface| Transfer { y, x, width, surface })
        })
    })
}

/// Address and bytes of each transfer in a surface of the layer's shape.
pub(super) fn lines(layer: &CdpLayer, surface: Surface) -> impl Iterator<Item = (u64, u32)> + use<> {
    transfers(layer).map(move |transfer| transfer.line(surface))
}

/// Outcome of a transfer once its last atom is there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    /// Time at which the place of each of the transfer's atoms in the FIFOs is free again.
    pub(super) freed: Vec<u64>,
    /// Time at which the first atom of each transfer that is now complete can be on the write address channel: in order, for
    /// this one or ones before.
    pub(super) written: Vec<u64>,
}

/// The steps of one layer, in cycles from the start of simulation.
pub(super) struct Steps {
    timing: CdpTiming,
    /// Rows of a transfer.
    rows: u32,
    /// Rows by which results follow their input.
    delay: u32,
    /// From a step to the write of its atom.
    output: u64,
    surfaces: u32,
    /// The next step.
    next: u64,
    /// The block before, and the present one.
    width_before: u32,
    surface: u32,
    /// Rows whose results have not left, as the width of their transfer.
    waiting: VecDeque<u32>,
    /// The row of its transfer that leaves next.
    leaving: u32,
    /// The transfer that was written last: when, and how many atoms.
    last_written: Option<(u64, u32)>,
    /// Steps that the write DMA will delay: from when on, and how long.
    holds: VecDeque<(u64, u64)>,
}

impl Steps {
    pub(super) fn new(layer: &CdpLayer, timing: &CdpTiming) -> Steps {
        let per_step = (timing.elements_per_step / layer.precision.bytes() as u32).max(1);
        let sum = if layer.square_sum { timing.square_sum } else { 0 };
        let multiply = if layer.multiply { timing.multiply } else { 0 };
        Steps {
            timing: timing.clone(),
            rows: (layer.atom as u32).div_ceil(timing.elements_per_step.max(1)),
            delay: if layer.square_sum { CHANNELS_BEHIND.div_ceil(per_step) } else { 0 },
            output: u64::from(timing.output + sum + multiply),
            surfaces: layer.surfaces(),
            next: 0,
            width_before: 0,
            surface: 0,
            waiting: VecDeque::new(),
            leaving: 0,
            last_written: None,
            holds: VecDeque::new(),
        }
    }

    /// The first row's step of an atom that came out of the latency FIFO at `arrival`.
    pub(super) fn feed(&mut self, arrival: u64) -> u64 {
        // The first one finds the datapath idle and wakes it.
        let wake = u64::from(self.next == 0);
        let ready = arrival + 1 + wake;
        self.pass_holds();
        // Holds in cycles in which there is nothing to do delay nothing.
        while self.holds.front().is_some_and(|(from, _)| *from < ready) {
            self.holds.pop_front();
        }
        self.next = self.next.max(ready);
        self.step()
    }

    /// Returns the cycle in which the datapath can take another row.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    fn pass_holds(&mut self) {
        while let Some(&(from, cycles)) = self.holds.front()
            && from <= self.next
        {
            self.next += cycles;
            self.holds.pop_front();
        }
    }

    fn step(&mut self) -> u64 {
        self.pass_holds();
        self.next += 1;
        self.next - 1
    }

    /// Returns the bound on the next transfer, of `width` atoms, by those before it on their way to the write DMA, and the cycles from its first row to the
    /// atom that is written next. Where the datapath stands, its FIFO takes the first element of an atom when the one as many before it as it
    /// holds has left, and another element enters the datapath.
    pub(super) fn begin(&self, width: u32) -> (Begin, u64) {
        // Those of the transfer before are still to come, or are not.
        let rows = if self.waiting.is_empty() { self.rows } else { 0 };
        // A row is fed a cycle behind the arrival of its atom.
        let latency = self.output as u32 + (rows + self.delay) * width;
        let fifo = self.timing.write_path.map_or(0, |path| path.lanes.count);
        // Nine from an atom's entry into DMAIF to AW; five to the element's entry into the datapath were seen.
        (Begin::HandedOver { before: fifo + 1, cycles: latency - 9 + 5 }, latency.into())
    }

    /// The first row of the next transfer, of `width` atoms, has been fed: its steps are known. Goes through the
    /// others, and if it is the last of the layer, until all has left.
    pub(super) fn transfer(&mut self, first_row: &[u64], last: bool) -> Rows {
        let mut rows = Rows::default();
        let width = first_row.len() as u32;
        let new_block = self.surface == 0 && self.width_before > 0;
        for row in 0..self.rows {
            // The results of the block before need as many steps as it has pixels.
            let pushed = if new_block && row < self.delay { self.width_before.max(width) } else { width };
            let mut steps: Vec<u64> = if row == 0 { first_row.to_vec() } else { Vec::new() };
            while steps.len() < pushed as usize {
                steps.push(self.step());
            }
            if row + 1 == self.rows {
                rows.freed.extend(steps[..width as usize].iter().map(|step| step + 1));
            }
            self.waiting.push_back(width);
            if self.waiting.len() > self.delay as usize {
                self.leave(&steps, &mut rows);
            }
        }
        self.surface += 1;
        if self.surface == self.surfaces {
            self.surface = 0;
            self.width_before = width;
        }
        while last && !self.waiting.is_empty() {
            let steps: Vec<u64> = (0..width).map(|_| self.step()).collect();
            self.leave(&steps, &mut rows);
        }
        rows
    }

    /// A row of results leaves in these steps.
    fn leave(&mut self, steps: &[u64], rows: &mut Rows) {
        let Some(width) = self.waiting.pop_front() else { return };
        let mut due = 0;
        for (index, step) in steps[..width as usize].iter().enumerate() {
            due = step + self.output;
            due += self.holds.iter().filter(|(from, _)| *from <= due).map(|(_, cycles)| cycles).sum::<u64>();
            if self.leaving == 0 {
                due += self.hold(index as u64, due);
            }
        }
        self.leaving += 1;
        if self.leaving == self.rows {
            self.leaving = 0;
            self.last_written = Some((due, width));
            rows.written.push(due);
        }
    }

    /// Returns the cycles for which an element of a transfer's first row must wait until the write DMA has room: it takes the atoms of
    /// the transfer before out of its FIFOs, one a cycle, once the last one is whole.
    fn hold(&mut self, index: u64, due: u64) -> u64 {
        let (Some(room), Some((written, width))) = (&self.timing.write_room, self.last_written) else {
            return 0;
        };
        let too_many = (u64::from(width) + index + 1).saturating_sub(WRITE_FIFO);
        let cycles = (written + u64::from(room.after) + too_many).saturating_sub(due);
        if too_many == 0 || cycles == 0 {
            return 0;
        }
        self.holds.push_back((due - u64::from(room.behind_datapath), cycles));
        cycles
    }
}

#[cfg(test)]
mod tests {
    use super::super::layer::Hardware;
    use super::*;
    use crate::nvdla::config::Config;
    use crate::nvdla::registers::{Group, RegisterMap, Unit, cdp, cdp_rdma};
    use crate::nvdla::timing::{RtlTree, Timing};

    fn layer(width: u32, height: u32, channels: u32, bypass: bool) -> CdpLayer {
        let mut registers = Group::new(Unit::Cdp, RegisterMap::Small);
        registers.set(cdp::D_DATA_FORMAT::INPUT_DATA_TYPE, 0);
        registers.set(cdp::D_FUNC_BYPASS::SQSUM_BYPASS, bypass.into());
        registers.set(cdp::D_FUNC_BYPASS::MUL_BYPASS, bypass.into());
        let mut rdma = Group::new(Unit::CdpRdma, RegisterMap::Small);
        rdma.set_actual(cdp_rdma::D_DATA_CUBE_WIDTH::WIDTH, width);
        rdma.set_actual(cdp_rdma::D_DATA_CUBE_HEIGHT::HEIGHT, height);
        rdma.set_actual(cdp_rdma::D_DATA_CUBE_CHANNEL::CHANNEL, channels);
        let config = Config::named("nv_small").unwrap();
        CdpLayer::decode(&registers, &rdma, &Hardware::from(&config)).unwrap()
    }

    /// Returns the cycles in which each transfer is written and its places are free, if atoms come at once from cycle 100 on.
    fn run(layer: &CdpLayer, tree: RtlTree) -> (Vec<u64>, Vec<u64>) {
        let timing = Timing::of(&Config::named("nv_small").unwrap(), tree).cdp;
        let mut steps = Steps::new(layer, &timing);
        let (mut written, mut freed) = (Vec::new(), Vec::new());
        let all: Vec<Transfer> = transfers(layer).collect();
        for (index, transfer) in all.iter().enumerate() {
            let first_row: Vec<u64> = (0..transfer.width).map(|_| steps.feed(100)).collect();
            let rows = steps.transfer(&first_row, index + 1 == all.len());
            written.extend(rows.written);
            freed.extend(rows.freed.first());
        }
        assert_eq!(written.len(), all.len());
        (written, freed)
    }

    #[test]
    fn blocks_of_eight_pixels_run_through_all_surfaces() {
        let blocks: Vec<_> =
            transfers(&layer(10, 1, 9, false)).map(|it| (it.x, it.width, it.surface)).collect();
        assert_eq!(blocks, [(0, 8, 0), (0, 8, 1), (8, 2, 0), (8, 2, 1)]);
    }

    #[test]
    fn atoms_leave_when_the_rtl_writes_them() {
        // Cycles from the first read address, with 100 cycles of latency.
        let nv_small = |layer| run(&layer, RtlTree::NvSmall).0;
        assert_eq!(nv_small(layer(1, 1, 31, false)), [165, 173, 181, 189]);
        assert_eq!(nv_small(layer(8, 8, 32, true))[..3], [207, 272, 337]);
        assert_eq!(nv_small(layer(8, 8, 32, false))[..3], [249, 314, 379]);
        assert_eq!(nv_small(layer(8, 8, 32, false)).last(), Some(&2264));
        let master = |layer| run(&layer, RtlTree::Master).0;
        assert_eq!(master(layer(1, 1, 31, false)), [162, 170, 178, 186]);
        assert_eq!(master(layer(8, 8, 32, true))[..2], [204, 268]);
    }

    #[test]
    fn fifo_places_come_back_when_the_rtl_gives_their_credit() {
        let nv_small = |layer| run(&layer, RtlTree::NvSmall).1;
        assert_eq!(nv_small(layer(8, 8, 32, true))[..3], [159, 224, 289]);
        assert_eq!(nv_small(layer(8, 8, 32, false))[..4], [159, 223, 288, 353]);
    }

    #[test]
    fn a_narrower_block_waits_for_the_results_of_the_one_before() {
        // 10 pixels: the second block's rows are of two steps, four of them wait for eight.
        let (wide, _) = run(&layer(10, 1, 8, false), RtlTree::Master);
        let (even, _) = run(&layer(16, 1, 8, false), RtlTree::Master);
        assert_eq!(wide[0], even[0]);
        assert_eq!(wide[1], wide[0] + 4 * 2 + 4 * 2);
    }
}
