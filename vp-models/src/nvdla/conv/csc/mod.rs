//! CSC, the sequence controller: takes input and weights from the convolution buffer, and makes the MAC arrays
//! compute stripe after stripe.
//!
//! [`layer`] is a decoded register group (`decode`: how), [`stripes`] is its timing; this module has the
//! process. A layer begins when all its input is in the buffer; a group of kernels when its weights are; the
//! last package of a stripe when CACC has room for its sums.

mod decode;
mod encode;
pub mod layer;
pub mod stripes;

use self::layer::{CscLayer, ReusedData};
use super::buffer::{Buffer, Fetch};
use super::cacc::{Message, Stripe};
use super::cmac::{Arrays, EnabledArrays};
use super::compute::MacArray;
use super::delivery::Delivery;
use super::elements::Elements;
use super::hardware::Hardware;
use super::sums::{Activations, Batch, Shape, groups_at_once};
use crate::bus::DelayLine;
use crate::checkpoint::{Checkpoint, CheckpointError, Remembers};
use crate::nvdla::control::Control;
use crate::nvdla::engine::EngineContext;
use crate::nvdla::order::Order;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Group, csc as reg};
use crate::occupancy::{Datapath, Occupancy, Work};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;
use vp_core::{Sim, Time};

/// Cycles from the enable of a layer that has all in the buffer to its first sums at SDP, at least.
const FIRST_SUMS: u64 = 28;

/// Cycles from kernels in the buffer to the first package with them: the package is made, and goes through a FIFO.
const TO_PACKAGE: u64 = 2;

/// From the loading of a group's last weights, one kernel a cycle, until CDMA can use their room.
const TO_WEIGHT_ROOM: u64 = 19;

/// From the last position of a layer, for which its last package may wait longer than its stripe is, until CDMA can use the room of its input
/// (RTL, `NV_NVDLA_CSC_dl.v`, sub_rls).
const TO_DATA_ROOM: u64 = 22;

/// Cycles by which that is sooner with Winograd's method: input is transformed in five stages behind the buffer, for which that of other layers waits
/// in front of it (RTL, branch nvdlav1, `NV_NVDLA_CSC_dl.v`, dl_in_pvld, dat_out_pvld_l5).
const WINOGRAD_SOONER: u64 = 5;

/// From the start of a layer that does not use the input left by the layer before until CDMA can use the room of that (RTL, `NV_NVDLA_CSC_sg.v`,
/// dat_reuse_release, a cycle later `_dl.v`, reuse_rls, from which it is as far as from sub_rls).
const TO_LEFT_ROOM: u64 = 5;

/// From the start of a layer's last package until CSC takes the next layer, the positions of its stripe not counted: the wait for what is
/// under way, 48 cycles and the stripe's, and the switch of register groups (RTL, `NV_NVDLA_CSC_sg.v`, state DONE, flush_cycles;
/// `NV_NVDLA_CSC_regfile.v`, reg2dp_op_en_reg).
const TO_NEXT_LAYER: u64 = 55;

/// The engine.
pub(super) struct Csc {
    pub(super) sim: Sim,
    pub(super) cycle: Time,
    pub(super) hardware: Hardware,
    pub(super) control: Rc<Control>,
    pub(super) arrays: Arrays,
    pub(super) array: MacArray,
    skips_arithmetic: bool,
    occupancy: Rc<Occupancy>,
    pub(super) buffer: Rc<Buffer>,
    pub(super) delivery: Rc<Delivery>,
    pub(super) sums: Rc<DelayLine<Message>>,
    /// Weights that are about to be released: of which layer, and up to which byte; `None`: all.
    released: DelayLine<(u64, Option<u64>)>,
    /// Entries of input that nobody uses, about to be released.
    dropped: DelayLine<u32>,
    /// Layers that have ended, and what the last one has left.
    layers: Cell<u64>,
    before: Cell<Option<Before>>,
}

/// Kernels whose turn it is.
struct KernelTurn {
    group: u32,
    /// Number of the group in its batch.
    index: u32,
    /// Time at which the kernels' weights were taken for the first package, and that of the package.
    loaded: Time,
    start: Time,
    /// Time of the layer's first package.
    begun: Time,
    /// Owner of the weights that they are released from, and the byte up to which they are.
    released: Option<(u64, u64)>,
}

/// The last package of a group of kernels.
#[derive(Clone, Copy, Default)]
struct LastPackage {
    /// Time at which it began.
    begun: Time,
    /// Positions of its stripe, of all cubes: a cycle each.
    cycles: u32,
    /// Time at which the array is free again.
    free: Time,
}

/// Data that a layer has left in the buffer.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Before {
    was_image: bool,
    /// The weights that stay: whose they are, and how many bytes.
    weights: Option<(u64, u64)>,
    /// True if the weights that stay are compressed.
    compressed: bool,
}

impl Csc {
    pub(super) fn new(
        around: &EngineContext<'_>,
        control: Rc<Control>,
        arrays: Arrays,
        buffer: Rc<Buffer>,
        delivery: Rc<Delivery>,
        sums: Rc<DelayLine<Message>>,
    ) -> Rc<Csc> {
        Rc::new(Csc {
            sim: around.sim.clone(),
            cycle: around.cycle,
            hardware: Hardware::from(around.config),
            control,
            arrays,
            array: MacArray::default().on_up_to(around.threads),
            skips_arithmetic: around.skips_arithmetic,
            occupancy: around.occupancy.clone(),
            buffer,
            delivery,
            sums,
            released: DelayLine::new(around.sim, "nvdla.csc.released", Time::ZERO),
            dropped: DelayLine::new(around.sim, "nvdla.csc.dropped", around.cycle * TO_LEFT_ROOM),
            layers: Cell::new(0),
            before: Cell::new(None),
        })
    }

    /// Releases weights; ends never.
    pub(super) async fn release(self: Rc<Self>) {
        loop {
            match self.released.next().await {
                (layer, Some(end)) => self.buffer.release_weights(layer, end),
                (layer, None) => self.buffer.consume_weights(layer),
            }
        }
    }

    /// Releases input that nobody uses; ends never.
    pub(super) async fn release_dropped(self: Rc<Self>) {
        loop {
            self.buffer.free_entries(self.dropped.next().await);
        }
    }

    /// Runs layers one after the other; ends never.
    pub(super) async fn run(self: Rc<Self>) {
        loop {
            let (number, mut before) = (self.layers.get(), self.before.get());
            let (group, registers, _) = self.control.next_group().await;
            let decoded = CscLayer::decode(&registers, &self.hardware);
            let mut arrays = [None, None];
            self.arrays.take_enabled(&mut arrays).await;
            let ready = self.sim.now();
            let fetch = self.buffer.announced().await;
            // Where all is in the buffer, CSC does not wait for CDMA, which only tells here that it brings nothing (RTL, `NV_NVDLA_CSC_sg.v`, layer_st,
            // need_pending, cbuf_ready). A start whose sums would be with SDP by now cannot be made up for.
            let has_all = fetch.slices == 0 && !fetch.weights;
            let is_recent = self.sim.now() <= ready + self.cycle * FIRST_SUMS;
            let ready = (has_all && is_recent).then_some(ready);
            self.buffer.begin(number, &fetch, !self.hardware.compression);
            if fetch.clear_weights {
                before = before.map(|before| Before { weights: None, ..before });
            }
            let layer = self.checked(decoded, &registers, &arrays, number, &fetch, before);
            match layer {
                Some((layer, weights)) => {
                    let (kernel, stride) = (layer.geometry.kernel, layer.geometry.stride);
                    let label = || {
                        format!(
                            "{}x{}x{}x{} stride {}x{}",
                            kernel.width, kernel.height, kernel.channels, layer.kernels, stride.x, stride.y
                        )
                    };
                    self.control.begin(label, group);
                    let complete = self.sequence(&layer, weights, &mut arrays, ready).await;
                    self.control.end(label, group);
                    let left =
                        layer.reuse.keep_weight.then(|| (weights, layer.weights_end(layer.groups() - 1)));
                    before = complete.then_some(Before {
                        was_image: layer.is_image,
                        weights: left,
                        compressed: layer.compressed,
                    });
                }
                None => before = None,
            }
            if before.is_none() {
                self.buffer.cancel(number, &fetch);
                self.sums.push(Message::Abandoned);
            }
            self.layers.set(number + 1);
            self.before.set(before);
            self.arrays.finish(arrays).await;
            self.control.finish();
        }
    }

    /// The layer, and whose weights it uses, if all units agree on it; else says why not. Drops from the buffer
    /// what nobody will use.
    fn checked(
        &self,
        decoded: Result<CscLayer, Refused>,
        registers: &Group,
        arrays: &EnabledArrays,
        number: u64,
        fetch: &Fetch,
        before: Option<Before>,
    ) -> Option<(CscLayer, u64)> {
        let mut layer = decoded.inspect_err(|refused| self.control.refuse(refused)).ok()?;
        // CDMA has said why.
        let cdma = fetch.registers.as_ref()?;
        if !self.arrays_agree(&layer, arrays) {
            return None;
        }
        if !layer.reuse.data || before.is_none_or(|before| before.was_image != layer.is_image) {
            match self.buffer.drop_data_before(number) {
                0 => {}
                entries => self.dropped.push(entries),
            }
        }
        let kept_weights = before.and_then(|before| before.weights);
        if fetch.weights {
            self.buffer.drop_weights_before(number);
        }
        let kept = ReusedData {
            slices: self.buffer.kept_slices(number) as u32,
            slice: self.buffer.kept_slice(),
            weight_bytes: kept_weights.map_or(0, |(_, bytes)| bytes),
            compressed: before.is_some_and(|before| before.compressed),
        };
        if let Err(refused) = layer.agree(registers, fetch, cdma, kept) {
            self.control.refuse(&refused);
            return None;
        }
        let weights = if fetch.weights { number } else { kept_weights?.0 };
        Some((layer, weights))
    }

    /// Returns true if the arrays that are enabled take what a layer sends; else says why not.
    fn arrays_agree(&self, layer: &CscLayer, arrays: &EnabledArrays) -> bool {
        let sent = (layer.precision, layer.passing);
        let checked = self.arrays.check(arrays, sent, &self.hardware);
        checked.inspect_err(|(control, refused)| control.refuse(refused)).is_ok()
    }

    /// Takes arrays that were enabled since the layer began, before the first package; false if one takes something else.
    async fn late_arrays(&self, layer: &CscLayer, arrays: &mut EnabledArrays) -> bool {
        if arrays.iter().all(Option::is_some) {
            return true;
        }
        self.arrays.take_enabled(arrays).await;
        if !self.arrays_agree(layer, arrays) {
            return false;
        }
        self.arrays.warn_of_disabled(arrays);
        true
    }

    /// Has all sums of a layer computed; false if weights for that do not come. One whose input and weights were all there was `ready` from then on.
    async fn sequence(
        &self,
        layer: &CscLayer,
        weights: u64,
        arrays: &mut EnabledArrays,
        ready: Option<Time>,
    ) -> bool {
        self.warn_of_merged_rows(layer);
        let lines = layer.lines as usize;
        self.buffer.slices(lines).await;
        let shape = layer.shape();
        let activations = match self.skips_arithmetic {
            true => Activations::None(layer.precision),
            false => self.activations(layer, &shape),
        };
        let (mut batch, mut batched, mut last) = (None, 0..0, LastPackage::default());
        let mut begun = None;
        for group in 0..layer.groups() {
            let end = layer.weights_end(group);
            // A group's first weights may be taken with the last package of the group before.
            let before = self.sim.now();
            let Some(usable) = self.buffer.weights(weights, end).await else {
                self.sim.wait_until(last.free).await;
                return false;
            };
            if group == 0 {
                self.warn_of_shift(weights);
            }
            let ready = ready.filter(|_| group == 0);
            let usable = if group == 0 { ready.unwrap_or(self.sim.now()) } else { usable };
            let before = ready.unwrap_or(before);
            let loaded = before.max(usable + self.cycle * TO_PACKAGE);
            if group >= batched.end {
                batched = group..group + self.groups_at_once(layer, group, weights);
                let ordered = self.ordered(layer, batched.clone(), weights);
                batch = Some(Batch::new(self.array, shape, &activations, (&ordered, &layer.order)));
            }
            let loading = self.hardware.loading(layer.precision, layer.kernels_of(group));
            let loading = self.cycle * u64::from(loading.max(2));
            let start = last.free.max(loaded + loading);
            self.sim.wait_until(start).await;
            if group == 0 && !self.late_arrays(layer, arrays).await {
                return false;
            }
            let start = if ready.is_some() { start } else { self.sim.now() };
            let begun = *begun.get_or_insert(start);
            let released = (!layer.reuse.keep_weight).then_some((weights, end));
            if let Some(batch) = &mut batch {
                let index = group - batched.start;
                let turn = KernelTurn { group, index, loaded, start, begun, released };
                last = self.stripes(layer, &turn, batch).await;
            }
        }
        if !layer.reuse.keep_weight {
            self.released.push((weights, None));
        }
        let cycles = |count: u32| self.cycle * u64::from(count);
        let sooner = if layer.passing == Order::Tiles { WINOGRAD_SOONER } else { 0 };
        self.sim.wait_until(last.begun + cycles(last.cycles) + self.cycle * (TO_DATA_ROOM - sooner)).await;
        if !layer.reuse.keep_data {
            self.buffer.release_slices(layer.released as usize);
        }
        self.sim.wait_until(last.begun + cycles(last.cycles) + self.cycle * TO_NEXT_LAYER).await;
        true
    }

    /// Says that merged rows move on faster than the RTL reads them: an entry of each row in as many cycles as there are rows.
    fn warn_of_merged_rows(&self, layer: &CscLayer) {
        let (geometry, rows) = (&layer.geometry, layer.order.row_group);
        let step = geometry.stride.x * geometry.kernel.channels * layer.precision.bytes();
        let entry = self.hardware.entry_bytes;
        if layer.is_image && rows > 1 && step * rows > entry as usize {
            self.control.warn(format_args!(
                "CSC.{} merges {rows} rows, and kernels are {step} bytes apart: more than the {entry} bytes of an entry in as many \
                 cycles, and the RTL shifts beyond what it has read and leaves other bytes (NV_NVDLA_CSC_dl, rsp_sft_cnt_l0). Here \
                 they are what the registers say",
                reg::D_POST_Y_EXTENSION::Y_EXTENSION
            ));
        }
    }

    /// Says whose weights a layer reads in front of its own.
    fn warn_of_shift(&self, layer: u64) {
        let Some((bytes, left_by)) = self.buffer.shift(layer) else { return };
        let entry = self.hardware.entry_bytes;
        self.control.warn(format_args!(
            "convolution {} since power-on reads weights shifted by {bytes} bytes: convolution {} has brought more (CDMA's \
             D_WEIGHT_BYTES) than its kernels have, rounded up to an entry of {entry} bytes. What CSC has not read stays in the \
             buffer, in front of what comes next, until the banks are split otherwise (NV_NVDLA_CSC_wl, wt_rls_cnt)",
            layer + 1,
            left_by + 1
        ));
    }

    /// Returns the number of groups from this one on that are computed together: of those whose weights have come.
    fn groups_at_once(&self, layer: &CscLayer, first: u32, weights: u64) -> u32 {
        let come = self.buffer.weights_arrived(weights);
        let there = (first..layer.groups()).take_while(|&group| layer.weights_end(group) <= come).count();
        groups_at_once(there as u32, layer.group_kernels, layer.all_positions(), layer.order.taps())
    }

    /// Returns what the buffer holds of a layer's input, ready to be computed with.
    fn activations(&self, layer: &CscLayer, shape: &Shape) -> Activations {
        let windows = self.buffer.with_slices(layer.lines as usize, |slices| {
            let slices: Vec<_> = slices.collect();
            let lay = |cube| layer.frame.lay(cube, slices.iter().copied());
            (0..layer.passing.cubes()).map(lay).collect()
        });
        Activations::new(layer.precision, windows, shape, layer.truncate)
    }

    /// The weights of some groups of kernels, in the order in which they are computed with.
    fn ordered(&self, layer: &CscLayer, groups: Range<u32>, weights: u64) -> Elements {
        if self.skips_arithmetic {
            return Elements::filled(layer.precision, 0, 0);
        }
        let mut start = groups.start.checked_sub(1).map_or(0, |before| layer.weights_end(before));
        let ordered = groups.map(|group| {
            let (kernels, end) = (layer.kernels_of(group) as usize, layer.weights_end(group));
            let bytes = self.buffer.weight_bytes(weights, start..end);
            start = end;
            layer.order.unpack(kernels, &Elements::from_bytes(layer.precision, &bytes))
        });
        Elements::joined(layer.precision, ordered)
    }

    /// Bytes of the buffer that the packages of a stripe take: in each cycle what a MAC cell multiplies, and once for each package the
    /// weights of each kernel.
    fn read_by(&self, layer: &CscLayer, cycles: u32, kernels: u32) -> u64 {
        let block = u64::from(self.hardware.block_channels) * layer.precision.bytes() as u64;
        u64::from(layer.packages) * u64::from(cycles + kernels) * block
    }

    /// Returns the credits for an atom of a layer, the most atoms that there is ever room for, and those for which there must be room beside a
    /// stripe's: of several cubes a pixel of each that waits for the next (RTL, branch nvdlav1, `NV_NVDLA_CSC_sg.v`, credit_req_size, batch_delta).
    /// Where the first pixels of all cubes, which wait for the second ones, do not fit into the delivery buffer beside a stripe, no credits are
    /// taken, and where there is not room for both, none are asked for beside: it would wait for ever. (nvdlav1, the published RTL with several
    /// cubes, has room for all.)
    fn credits(&self, layer: &CscLayer) -> (u32, u32, u32) {
        let each = self.delivery.credits_of(self.hardware.lanes(layer.precision));
        let (cubes, most) = (layer.passing.cubes(), self.delivery.capacity(each));
        let stripe = layer.stripe.longest * layer.positions_each();
        let fits = cubes == 1 || cubes + stripe <= most;
        let beside = if cubes > 1 && 2 * cubes + stripe <= most { cubes } else { 0 };
        (if fits { each } else { 0 }, most, beside)
    }

    /// One group of kernels over all positions. With its last package the weights of the next group are loaded, if they have come, so those
    /// of this one do not make it longer (RTL, branch nvdlav1, `NV_NVDLA_CSC_sg.v`, wt_max_cycles). Returns the last package.
    async fn stripes(&self, layer: &CscLayer, turn: &KernelTurn, batch: &mut Batch<'_>) -> LastPackage {
        let kernels = layer.kernels_of(turn.group);
        let loading = self.hardware.loading(layer.precision, kernels);
        let first = (turn.index * layer.group_kernels) as usize;
        let columns = first..first + kernels as usize;
        let positions = layer.all_positions();
        let package_of = |positions, loading| {
            let needed = layer.package_cycles(positions);
            let cycles = stripes::package_cycles(needed, loading, self.hardware.shortest_package);
            self.cycle * u64::from(cycles)
        };
        let (mut position, mut loaded, mut start) = (0, turn.loaded, turn.start);
        let mut last_package = LastPackage::default();
        while position < positions {
            for length in layer.stripe.stripes(layer.run) {
                let cycles = length * layer.cycles_each();
                let package = package_of(length, loading);
                let range = position..position + length * layer.positions_each();
                position = range.end;
                let ends = position == positions;
                // Weights are taken with the package before.
                if layer.packages > 1 {
                    loaded = start + package * u64::from(layer.packages - 2);
                }
                if let (true, Some((weights, end))) = (ends, turn.released) {
                    let room = loaded + self.cycle * (u64::from(loading) + TO_WEIGHT_ROOM);
                    self.released.push_at(room, (weights, Some(end)));
                }
                self.occupancy.count(Work::BufferRead, self.read_by(layer, cycles, kernels));
                // The last package waits until its sums have room.
                let last = start + package * u64::from(layer.packages - 1);
                self.occupancy.busy(Datapath::Array, start, last);
                self.sim.wait_until(last).await;
                // More than there ever is room for goes in parts.
                let (each, most, beside) = self.credits(layer);
                for part in range.clone().step_by(most as usize) {
                    let part = part..range.end.min(part + most);
                    let asked = self.sim.now();
                    self.delivery.take_credits((part.end - part.start, beside), each).await;
                    self.occupancy.held(Datapath::Array, asked, self.sim.now());
                    self.sums.push(Message::Stripe(Stripe {
                        positions: part.end - part.start,
                        kernels: kernels as usize,
                        credits: each,
                        begun: turn.begun,
                        last: part.end == positions && turn.group + 1 == layer.groups(),
                        sums: batch.of(part.start as usize..part.end as usize, columns.clone()),
                    }));
                }
                loaded = self.sim.now();
                let is_alone = ends && self.hardware.loads_next_with_last;
                let package = if is_alone { package_of(length, 0) } else { package };
                self.occupancy.busy(Datapath::Array, loaded, loaded + package);
                start = loaded + package;
                last_package = LastPackage { begun: loaded, cycles, free: start };
            }
        }
        last_package
    }
}

impl Remembers for Csc {
    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // The buffer is CDMA's, the way to SDP SDP's.
        let Csc {
            sim: _,
            cycle: _,
            hardware: _,
            control: _,
            arrays: _,
            array: _,
            skips_arithmetic: _,
            occupancy: _,
            buffer,
            delivery: _,
            sums,
            released,
            dropped,
            layers,
            before,
        } = self;
        at.part("nvdla.csc.layers")?;
        sums.checkpoint(at)?;
        released.checkpoint(at)?;
        dropped.checkpoint(at)?;
        at.cell(layers)?;
        at.cell(before)?;
        let kept = before.get().and_then(|before| before.weights);
        let is_there = kept.is_none_or(|(layer, bytes)| buffer.has_weights(layer, bytes));
        at.check(is_there, "the weights that the last layer has kept are not there")
    }
}
