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
use crate::nvdla::numeric::Precision;
use crate::nvdla::timing::{CdpFloatTiming, CdpTiming, WriteRoom};
use std::collections::VecDeque;

/// Pixels of a block, and places of the FIFOs behind it.
const BLOCK: u32 = 8;
/// Channels that must be seen before a window is complete, whatever its length.
const CHANNELS_BEHIND: u32 = 4;
/// Steps in the registers at the datapath's beginning, where one without a result takes a place as well (`CDP_DP_bufferin`, data_shift and
/// buf_dat).
const FRONT: u64 = 2;

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
    /// Time at which the transfer's last element enters the datapath.
    pub(super) entered: u64,
    /// Time at which the first atom of each transfer that is now complete can be on the write address channel: in order, for
    /// this one or ones before.
    pub(super) written: Vec<u64>,
}

/// The steps of one layer, in cycles from the start of simulation.
pub(super) struct Steps {
    timing: CdpTiming,
    /// Rows of a transfer.
    rows: u32,
    has_square_sum: bool,
    /// Rows by which results follow their input.
    delay: u32,
    /// From a step to the write of its atom.
    output: u64,
    /// Skid registers of fp16's stages.
    float_skids: u64,
    /// Results from one that waits for the write DMA to the gap behind it, in fp16; 0 in other formats.
    to_gap: u64,
    surfaces: u32,
    /// The next step, and the earliest entry of the next element.
    next: u64,
    next_entry: u64,
    /// Steps of the last elements, as many as the registers in front of the first step hold.
    taken: VecDeque<u64>,
    /// The block before, and the present one.
    width_before: u32,
    surface: u32,
    /// Rows whose results have not left, as the width of their transfer.
    waiting: VecDeque<u32>,
    /// The column of the present row's next step.
    column: u32,
    /// Results that leave in the present row, one a step, and which row of their transfer they are.
    results: u32,
    leaving: u32,
    /// Time at which each of the last steps leaves the registers at the beginning, and each of the last results the pipeline behind them: as many
    /// as there are places.
    front: VecDeque<u64>,
    left: VecDeque<u64>,
    /// Results so far.
    results_so_far: u64,
    /// Gaps in fp16's pipeline: number of the result behind each, and the time at which it leaves at the earliest.
    gaps: VecDeque<(u64, u64)>,
    /// True if the last result has waited for room in the pipeline and the next one waits once more, as it does in fp16.
    waits_again: bool,
    /// The transfer that was written last: when, and how many atoms.
    last_written: Option<(u64, u32)>,
    /// Transfers that are complete and not reported.
    written: Vec<u64>,
}

impl Steps {
    pub(super) fn new(layer: &CdpLayer, timing: &CdpTiming) -> Steps {
        let per_step = (timing.elements_per_step / layer.precision.bytes() as u32).max(1);
        let float = if layer.precision == Precision::Fp16 { timing.float } else { CdpFloatTiming::default() };
        let square_sum = timing.square_sum + float.square_sum + float.sum * layer.reach;
        let sum = if layer.square_sum { square_sum } else { 0 };
        let multiply = if layer.multiply { timing.multiply + float.multiply } else { 0 };
        let skids = float.lookup_skids
            + if layer.square_sum { float.square_sum_skids } else { 0 }
            + if layer.multiply { float.multiply_skids } else { 0 };
        // With the multiplier as many more as it holds.
        let in_multiplier = if layer.multiply { multiply + float.multiply_skids } else { 0 };
        let to_gap = if float.to_gap > 0 { float.to_gap + in_multiplier } else { 0 };
        Steps {
            timing: timing.clone(),
            rows: (layer.atom as u32).div_ceil(timing.elements_per_step.max(1)),
            has_square_sum: layer.square_sum,
            delay: if layer.square_sum { CHANNELS_BEHIND.div_ceil(per_step) } else { 0 },
            output: u64::from(timing.output + float.lookup + sum + multiply),
            float_skids: skids.into(),
            to_gap: to_gap.into(),
            surfaces: layer.surfaces(),
            next: 0,
            next_entry: 0,
            taken: VecDeque::new(),
            width_before: 0,
            surface: 0,
            waiting: VecDeque::new(),
            column: 0,
            results: 0,
            leaving: 0,
            front: VecDeque::new(),
            left: VecDeque::new(),
            results_so_far: 0,
            gaps: VecDeque::new(),
            waits_again: false,
            last_written: None,
            written: Vec::new(),
        }
    }

    /// Returns the time at which the first row's element of an atom enters the datapath, `from` at the earliest. The atom, one of `width`, came
    /// out of the latency FIFO at `arrival`.
    pub(super) fn feed(&mut self, arrival: u64, from: u64, width: u32) -> u64 {
        if self.column == 0 {
            self.begin_row(width);
        }
        // The first one finds the datapath idle and wakes it, if it has not waited for the layer before.
        let wake = u64::from(self.next == 0);
        self.enter((arrival + 1 + wake).max(from))
    }

    /// Returns the cycle in which the datapath can take another row.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the time at which the next element, there at `ready`, enters the registers in front of the first step. While empty steps push out
    /// the results of a wider block, elements enter until those are full.
    fn enter(&mut self, ready: u64) -> u64 {
        let places = u64::from(self.timing.input_places);
        let mut entry = ready.max(self.next_entry);
        if self.taken.len() as u64 == places
            && let Some(step) = self.taken.pop_front()
        {
            entry = entry.max(step + places);
        }
        self.next_entry = entry + 1;
        let step = self.step(entry);
        self.taken.push_back(step);
        entry
    }

    /// Returns the present row's next step, at `ready` at the earliest.
    fn step(&mut self, ready: u64) -> u64 {
        let mut step = self.next.max(ready);
        if self.front.len() as u64 == FRONT
            && let Some(left) = self.front.pop_front()
        {
            step = step.max(left);
        }
        self.next = step + 1;
        let mut passes = (step + FRONT).max(self.front.back().map_or(0, |left| left + 1));
        if self.column < self.results {
            passes += u64::from(std::mem::take(&mut self.waits_again));
            let room = self.pipeline_room();
            self.waits_again = room > passes && self.to_gap > 0;
            passes = passes.max(room);
            self.leave(passes - FRONT + self.output);
        }
        self.front.push_back(passes);
        self.column += 1;
        step
    }

    /// Returns the time at which the pipeline has room for another result. Steps without a result take none, so that a result can wait for the
    /// write DMA while the steps behind go on.
    fn pipeline_room(&self) -> u64 {
        let (Some(room), Some(left)) = (&self.timing.write_room, self.left.front()) else { return 0 };
        if (self.left.len() as u64) < self.places() { 0 } else { left - self.behind_datapath(*room) }
    }

    /// Returns the cycles from the earliest step that is delayed because an element waits for the write DMA until that element is written.
    fn behind_datapath(&self, room: WriteRoom) -> u64 {
        let skids = if self.has_square_sum { room.square_sum_skids } else { 0 };
        u64::from(room.behind_datapath - skids) - self.float_skids
    }

    /// Results that the pipeline holds where it stands.
    fn places(&self) -> u64 {
        let behind = self.timing.write_room.map_or(0, |room| self.behind_datapath(room));
        self.output.saturating_sub(FRONT + behind).max(1)
    }

    /// Returns the bound on the next transfer, of `width` atoms, by those before it on their way to the write DMA, and the cycles from its first row to
    /// the atom that is written next. Where the datapath stands, its FIFO takes the first element of an atom when the one as many before it as it
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

    /// Begins a row of a transfer of `width` atoms, and with it the results that leave meanwhile.
    fn begin_row(&mut self, width: u32) {
        self.waiting.push_back(width);
        let is_delayed = self.waiting.len() <= self.delay as usize;
        self.results = if is_delayed { 0 } else { self.waiting.pop_front().unwrap_or(0) };
        self.column = 0;
    }

    /// The first row of the next transfer, of `width` atoms, has been fed. Goes through the others, and if it is the last of the layer, until all
    /// has left.
    pub(super) fn transfer(&mut self, width: u32, last: bool) -> Rows {
        let mut freed = Vec::new();
        let new_block = self.surface == 0 && self.width_before > 0;
        for row in 0..self.rows {
            if row > 0 {
                self.begin_row(width);
            }
            while self.column < width {
                let entry = self.enter(0);
                if row + 1 == self.rows {
                    freed.push(entry + 1);
                }
            }
            // The results of the block before need as many steps as it has pixels.
            while new_block && row < self.delay && self.column < self.width_before {
                self.step(0);
            }
        }
        self.surface += 1;
        if self.surface == self.surfaces {
            self.surface = 0;
            self.width_before = width;
        }
        while last && let Some(results) = self.waiting.pop_front() {
            (self.results, self.column) = (results, 0);
            while self.column < results {
                self.step(0);
            }
        }
        self.column = 0;
        Rows { freed, entered: self.next_entry - 1, written: std::mem::take(&mut self.written) }
    }

    /// A result leaves the pipeline, at `ready` at the earliest.
    fn leave(&mut self, ready: u64) {
        let mut due = ready;
        if let Some(room) = self.timing.write_room {
            due = due.max(self.left.back().map_or(0, |left| left + 1)).max(self.behind_gap());
            let from = if self.leaving == 0 { self.room(room) } else { 0 };
            if from > due {
                due = from;
                self.leave_gap(from);
            }
            self.results_so_far += 1;
            self.left.push_back(due);
            if self.left.len() as u64 > self.places() {
                self.left.pop_front();
            }
        }
        if self.column + 1 < self.results {
            return;
        }
        self.leaving += 1;
        if self.leaving == self.rows {
            self.leaving = 0;
            self.last_written = Some((due, self.results));
            self.written.push(due);
        }
    }

    /// Puts a gap into fp16's pipeline: the next result waits for the write DMA, until that time. When the interpolation goes on it takes one
    /// element and stands once more, so that the result behind those in its units, and all that follow, come a cycle later (RTL, branch nvdlav1,
    /// `NV_NVDLA_CDP_DP_INTP_unit.v`, fp_in_rdy; signals intp2mul_pvld and lut2intp_prdy).
    fn leave_gap(&mut self, waits_until: u64) {
        if self.to_gap > 0 {
            self.gaps.push_back((self.results_so_far + self.to_gap, waits_until + self.to_gap + 1));
        }
    }

    /// Returns the time at which the next result leaves at the earliest, if a gap is in front of it.
    fn behind_gap(&mut self) -> u64 {
        if self.gaps.front().is_none_or(|(behind, _)| *behind != self.results_so_far) {
            return 0;
        }
        self.gaps.pop_front().map_or(0, |(_, leaves)| leaves)
    }

    /// Returns the time at which the write DMA has room for the next element of a transfer's first row: it takes the beats of the transfer before
    /// out of its FIFOs, one a cycle, `after` its last element is there.
    fn room(&self, WriteRoom { after, elements, .. }: WriteRoom) -> u64 {
        let Some((written, width)) = self.last_written else { return 0 };
        let beat = self.timing.beat;
        // The atoms of a beat have FIFOs of their own.
        let lane = self.column % beat;
        let too_many =
            (width.saturating_sub(lane).div_ceil(beat) + self.column / beat + 1).saturating_sub(elements);
        if too_many == 0 { 0 } else { written + u64::from(after + too_many) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layer::Hardware;
    use super::*;
    use crate::nvdla::config::Config;
    use crate::nvdla::registers::{Group, RegisterMap, Unit, cdp, cdp_rdma};
    use crate::nvdla::rtl_tree::RtlTree;
    use crate::nvdla::timing::Timing;

    fn layer(width: u32, height: u32, channels: u32, bypass: bool) -> CdpLayer {
        layer_of("nv_small", (width, height, channels), bypass)
    }

    fn layer_of(config: &str, (width, height, channels): (u32, u32, u32), bypass: bool) -> CdpLayer {
        let mut registers = Group::new(Unit::Cdp, RegisterMap::Small);
        registers.set(cdp::D_DATA_FORMAT::INPUT_DATA_TYPE, 0);
        registers.set(cdp::D_FUNC_BYPASS::SQSUM_BYPASS, bypass.into());
        registers.set(cdp::D_FUNC_BYPASS::MUL_BYPASS, bypass.into());
        let mut rdma = Group::new(Unit::CdpRdma, RegisterMap::Small);
        rdma.set_actual(cdp_rdma::D_DATA_CUBE_WIDTH::WIDTH, width);
        rdma.set_actual(cdp_rdma::D_DATA_CUBE_HEIGHT::HEIGHT, height);
        rdma.set_actual(cdp_rdma::D_DATA_CUBE_CHANNEL::CHANNEL, channels);
        let config = Config::named(config).unwrap();
        CdpLayer::decode(&registers, &rdma, &Hardware::from(&config)).unwrap()
    }

    /// Returns the cycles in which each transfer is written, its places are free and its last element enters, if atoms come at once from cycle 100
    /// on.
    fn run(layer: &CdpLayer, tree: RtlTree) -> [Vec<u64>; 3] {
        let config = if tree == RtlTree::Nvdlav1 { "nv_full" } else { "nv_small" };
        let timing = Timing::of(&Config::named(config).unwrap(), tree).cdp;
        let mut steps = Steps::new(layer, &timing);
        let [mut written, mut freed, mut entered] = [const { Vec::new() }; 3];
        let all: Vec<Transfer> = transfers(layer).collect();
        for (index, transfer) in all.iter().enumerate() {
            for _ in 0..transfer.width {
                steps.feed(100, 0, transfer.width);
            }
            let rows = steps.transfer(transfer.width, index + 1 == all.len());
            written.extend(rows.written);
            freed.extend(rows.freed.first());
            entered.push(rows.entered);
        }
        assert_eq!(written.len(), all.len());
        [written, freed, entered]
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
        let nv_small = |layer| run(&layer, RtlTree::NvSmall)[0].clone();
        assert_eq!(nv_small(layer(1, 1, 31, false)), [165, 173, 181, 189]);
        assert_eq!(nv_small(layer(8, 8, 32, true))[..3], [207, 272, 337]);
        assert_eq!(nv_small(layer(8, 8, 32, false))[..3], [249, 314, 379]);
        assert_eq!(nv_small(layer(8, 8, 32, false)).last(), Some(&2264));
        let master = |layer| run(&layer, RtlTree::Master)[0].clone();
        assert_eq!(master(layer(1, 1, 31, false)), [162, 170, 178, 186]);
        assert_eq!(master(layer(8, 8, 32, true))[..2], [204, 268]);
    }

    #[test]
    fn fifo_places_come_back_when_the_rtl_gives_their_credit() {
        let nv_small = |layer| run(&layer, RtlTree::NvSmall)[1].clone();
        assert_eq!(nv_small(layer(8, 8, 32, true))[..3], [159, 224, 289]);
        assert_eq!(nv_small(layer(8, 8, 32, false))[..4], [159, 223, 288, 353]);
    }

    #[test]
    fn a_narrower_block_waits_for_the_results_of_the_one_before() {
        // 10 pixels: the second block's rows are of two steps, four of them wait for eight.
        let [wide, ..] = run(&layer(10, 1, 8, false), RtlTree::Master);
        let [even, ..] = run(&layer(16, 1, 8, false), RtlTree::Master);
        assert_eq!(wide[0], even[0]);
        assert_eq!(wide[1], wide[0] + 4 * 2 + 4 * 2);
    }

    #[test]
    fn results_that_wait_delay_no_steps_without_results() {
        // The RTL's elements at cdp_rdma2dp: in each line the write DMA holds one result twice. The second time a wider block follows, whose
        // first rows push out results of two pixels only: nothing stands behind them.
        let [.., entered] = run(&layer(10, 6, 15, false), RtlTree::NvSmall);
        assert_eq!(entered[..8], [165, 229, 270, 286, 350, 414, 455, 471]);
    }

    #[test]
    fn the_last_element_enters_when_the_rtl_says_done() {
        // The RTL's dp2reg_done of CDP_RDMA less its first address, on nv_small: with the last element, not with the last atom's first one.
        let last = |layer| *run(&layer, RtlTree::NvSmall)[2].last().unwrap();
        let layers = [(19, 3, 7, 580), (3, 3, 35, 421), (23, 1, 26, 809), (9, 4, 16, 753)];
        for (width, height, channels, done) in layers {
            // It reads with a latency of 50; from address and latency to the first element there are 12.
            assert_eq!(last(layer(width, height, channels, false)), done - 62 + 102, "{width} pixels");
        }
        // Elements enter ahead of the steps that push out a wider block, as many as the registers hold.
        let [.., entered] = run(&layer(9, 1, 8, false), RtlTree::NvSmall);
        assert_eq!(entered, [165, 187]);
    }

    #[test]
    fn on_nvdlav1_the_next_transfer_waits_until_a_beat_has_left_fifos_of_eight_atoms() {
        // The RTL's last elements of transfers at NV_NVDLA_CDP_wdma, and at cdp_rdma2dp. Six pixels leave room for two of the next transfer.
        let run = |size, square_sum| {
            let layer = CdpLayer { square_sum, ..layer_of("nv_full", size, false) };
            run(&layer, RtlTree::Nvdlav1)
        };
        let [written, _, entered] = run((7, 7, 14), true);
        assert_eq!(written, [185, 215, 245, 275, 305, 335, 365]);
        assert_eq!(entered, [129, 157, 187, 217, 247, 277, 307]);
        let [written, _, entered] = run((7, 8, 68), false);
        assert_eq!((&written[..4], &entered[..4]), (&[169, 199, 229, 259][..], &[129, 157, 187, 217][..]));
        let [written, ..] = run((6, 3, 32), true);
        assert_eq!(written, [180, 204, 228]);
    }

    #[test]
    fn fp16_takes_longer_on_nvdlav1() {
        // From an element to the write DMA there are, in the RTL, 29 cycles more with a window of five channels and 23 with one of three without
        // the multiplier, 15 without either stage.
        let first = |precision, (reach, square_sum, multiply)| {
            let layer = layer_of("nv_full", (2, 1, 8), false);
            run(&CdpLayer { precision, reach, square_sum, multiply, ..layer }, RtlTree::Nvdlav1)[0][0]
        };
        let longer = |stages| first(Precision::Fp16, stages) - first(Precision::Int16, stages);
        assert_eq!([(2, true, true), (1, true, false), (1, false, false)].map(longer), [29, 23, 15]);
    }

    #[test]
    fn where_elements_of_fp16_wait_for_the_write_dma_another_cycle_is_lost() {
        // Cycles from transfer to transfer at the RTL's NV_NVDLA_CDP_wdma. Seven pixels through all stages: the next wait is two elements in front
        // of the gap, and takes it up.
        let pace = |precision, width, has_stages| {
            let layer = layer_of("nv_full", (width, 9, 16), false);
            let layer =
                CdpLayer { precision, reach: 3, square_sum: has_stages, multiply: has_stages, ..layer };
            let [written, ..] = run(&layer, RtlTree::Nvdlav1);
            written[6] - written[5]
        };
        let paces = |precision| {
            [(8, true), (8, false), (7, true), (7, false), (6, true)]
                .map(|(width, has_stages)| pace(precision, width, has_stages))
        };
        assert_eq!(paces(Precision::Int16), [34, 34, 30, 30, 24]);
        assert_eq!(paces(Precision::Fp16), [35, 35, 30, 31, 24]);
    }
}
