//! One layer on its way through the datapath of SDP: when each atom starts, and where its result goes.

use super::Sdp;
use super::atom::{AtomCounters, AtomOperands};
use super::before_elementwise::BeforeElementwise;
use super::compute::Datapath;
use super::layer::{Destination, SdpLayer, SdpSource};
use super::lut::Tables;
use super::operands::StageOperands;
use super::timing::{self, LeftForPooling, ToPooling};
use crate::bus::axi::Begin;
use crate::nvdla::dma::{Atom, MAX_ATOM, Passed};
use crate::nvdla::engine::PrefetchedLayer;
use crate::occupancy::{Datapath as Busy, Work};
use std::collections::VecDeque;
use vp_core::Time;

/// Streams one layer, atom by atom: joins main input and operands, computes, hands on.
///
/// What has come from the accumulator, has all its operands and has room behind the datapath can meet nothing
/// any more that would delay it: it is computed together, and each atom leaves when its time comes.
pub(super) struct Pass<'a> {
    sdp: &'a Sdp,
    layer: &'a SdpLayer,
    datapath: Datapath<'a>,
    /// Of BS, BN and EW.
    operands: [StageOperands<'a>; 3],
    /// Atoms that wait in front of EW, of layers for which that shows.
    waiting: Option<BeforeElementwise>,
    early: PrefetchedLayer,
    /// From one atom's start to the next one's; from its start to its result, and to its way to PDP.
    pace: Time,
    latency: Time,
    to_pdp: Time,
    /// Bound on an atom's start by those before it on their way to the write DMA.
    begin: Begin,
    /// True if an atom begins before all of it has room on the way to PDP; then the one that has begun: when, and if it is the last.
    is_split: bool,
    entering: Option<(Time, bool)>,
    /// The steps of a surface, as so many runs of so many steps.
    lines: u64,
    columns: u64,
    /// The time at which the next atom can start, and those at which the last one has started and has passed on
    /// to EW.
    earliest: Time,
    started: Time,
    passed: Time,
    /// For lines whose surfaces take turns: input of the first surface, and output for the second.
    first_input: VecDeque<Atom>,
    second_output: VecDeque<u8>,
    /// The results of a step.
    output: Vec<u8>,
    counters: AtomCounters,
    /// True if the layer cannot go on.
    ended: bool,
}

/// An atom of a layer, or the first of some that are alike.
#[derive(Clone, Copy)]
struct AtomPosition {
    surface: u32,
    line: u64,
    column: u64,
    /// In its surface.
    pixel: u64,
}

impl AtomPosition {
    /// Returns the surface, and the place in it.
    fn in_surface(self) -> (u32, u64) {
        (self.surface, self.pixel)
    }
}

impl<'a> Pass<'a> {
    /// Announces what the layer will hand on.
    pub(super) fn new(sdp: &'a Sdp, layer: &'a SdpLayer, tables: &'a Tables) -> Pass<'a> {
        let common = &sdp.common;
        let timing = &common.timing;
        let waiting = match layer.destination {
            // How long atoms stand in front of it where PDP stands was looked at on nvdlav1 alone.
            Destination::Pooling if timing.sdp.stage_registers.is_none() => None,
            _ => BeforeElementwise::of(layer, &timing.sdp, common.cycle),
        };
        let pace = match &waiting {
            Some(_) => timing::pace(layer, &timing.sdp),
            None => timing::cycles_per_atom(layer, &timing.sdp),
        };
        let pace = match layer.source {
            SdpSource::Memory(_) => pace,
            SdpSource::Accumulator => pace.max(timing.conv.cycles_per_atom),
        };
        let mut is_split = false;
        match layer.destination {
            Destination::Memory(surface) => {
                let pace = common.cycles(timing::pace(layer, &timing.sdp));
                sdp.output.start(surface.ram, timing::writes(layer, surface), pace);
            }
            Destination::Pooling => {
                let ToPooling { depth, backward, is_split: splits } = ToPooling::of(layer, &timing.sdp);
                is_split = splits;
                sdp.pooling.set_depth(depth, common.cycles(backward));
            }
        }
        let [bs, bn, ew] = timing::operands_later(layer, &timing.sdp);
        let operands = [
            (&sdp.bs, layer.bs.and_then(|stage| stage.operands), bs),
            (&sdp.bn, layer.bn.and_then(|stage| stage.operands), bn),
            (&sdp.ew, layer.ew.and_then(|stage| stage.operands), ew),
        ];
        let memory_alone = matches!(layer.source, SdpSource::Memory(_)) && !timing::reads_operands(layer);
        let (lines, columns) = timing::runs(layer);
        Pass {
            sdp,
            layer,
            datapath: Datapath::new(layer, tables),
            operands: operands.map(|(input, stream, later)| {
                StageOperands::of(input, stream, layer, (later, common.cycles(1)))
            }),
            waiting,
            early: common.early(memory_alone && layer.input_atoms() == 1),
            pace: common.cycles(pace),
            latency: common.cycles(timing::output_latency(layer, &timing.sdp)),
            to_pdp: common.cycles(timing::stages_to_pooling(layer, &timing.sdp)),
            begin: timing::begin(layer, &timing.sdp),
            is_split,
            entering: None,
            lines,
            columns,
            earliest: common.free(),
            started: Time::ZERO,
            passed: Time::ZERO,
            first_input: VecDeque::new(),
            second_output: VecDeque::new(),
            output: Vec::new(),
            counters: AtomCounters::default(),
            ended: false,
        }
    }

    /// Runs the layer; tells when its last atom leaves.
    pub(super) async fn run(mut self) -> (AtomCounters, Time) {
        let layer = self.layer;
        for surface in 0..layer.surfaces() {
            for line in 0..self.lines {
                if !self.ended && layer.input_atoms() > 1 {
                    for _ in 0..self.columns {
                        self.main_ready().await;
                        let atom = self.take_main();
                        self.first_input.push_back(atom);
                    }
                }
                let mut column = 0;
                while column < self.columns {
                    if self.ended && !layer.uses_rdma() {
                        return (self.counters, self.sdp.common.sim.now());
                    }
                    let pixel = line * self.columns + column;
                    column += self.step(AtomPosition { surface, line, column, pixel }).await;
                }
                for second in self.second_output.make_contiguous().chunks_exact(self.sdp.hardware.atom) {
                    self.sdp.output.put_at(self.sdp.common.sim.now() + self.latency, second);
                }
                self.second_output.clear();
            }
        }
        self.enter_whole().await;
        let last = self.finish().await;
        (self.counters, last)
    }

    /// Waits for all that an atom needs, and starts it; tells how many atoms have started with it, or have come to nothing.
    async fn step(&mut self, step: AtomPosition) -> u64 {
        self.enter_whole().await;
        let mut operands_there = Time::ZERO;
        for operands in &mut self.operands {
            operands_there = operands_there.max(operands.gather(step.in_surface()).await);
        }
        if self.ended {
            // Operands still come, and must be taken.
            self.take_operands(step);
            return 1;
        }
        let there = self.input_ready().await.max(operands_there);
        let there = self.room(there).await;
        if let Some(waiting) = &self.waiting {
            self.earliest = self.earliest.max(waiting.room());
        }
        let sim = &self.sdp.common.sim;
        sim.wait_until(self.earliest.max(operands_there)).await;
        self.take_operands(step);
        // Of what operands have held up data has passed a part of the datapath meanwhile.
        let start = match operands_there {
            Time::ZERO => self.early.start(there.max(self.earliest), sim.now()),
            _ => there.max(self.earliest).min(sim.now()),
        };
        let steps = match self.layer.source {
            SdpSource::Memory(_) => self.compute_from_memory(step),
            SdpSource::Accumulator => match self.compute_from_accumulator(step, start).await {
                Some(steps) => steps,
                None => {
                    self.ended = true;
                    self.end_early();
                    return 1;
                }
            },
        };
        self.account(start, steps);
        // As if nothing could wait in front of EW: so its results come.
        let start = self.waiting.as_mut().map_or(start, |waiting| waiting.start(start));
        self.started = self.earliest - self.pace;
        self.passed = start + self.pace * (steps as u64 - 1);
        let steps = steps as u64;
        let last = step.surface + 1 == self.layer.surfaces()
            && step.line + 1 == self.lines
            && step.column + steps == self.columns;
        self.hand_on(start, last);
        steps
    }

    fn take_operands(&mut self, step: AtomPosition) {
        for operands in &mut self.operands {
            operands.take(step.in_surface());
        }
    }

    /// Waits until the main input of the next atom is there; tells since when it has been.
    async fn input_ready(&self) -> Time {
        match self.layer.source {
            SdpSource::Memory(_) => self.main_ready().await,
            SdpSource::Accumulator => {
                self.sdp.accumulator.ready().await;
                self.sdp.accumulator.since()
            }
        }
    }

    /// Waits until the last element of the atom that has begun has entered: CACC has its room, and can hand over the next one's first element
    /// two cycles later (RTL, `NV_NVDLA_CACC_delivery_buffer`).
    async fn enter_whole(&mut self) {
        let Some((start, last)) = self.entering.take() else { return };
        let common = &self.sdp.common;
        let waits = common.sim.now();
        self.sdp.pooling.room().await;
        let room = common.sim.now();
        let mut start = start;
        if room > waits {
            common.occupancy.held(Busy::Sdp, waits, room);
            let beats = timing::pace(self.layer, &common.timing.sdp);
            start = start.max(room.since(common.cycles(beats)));
            self.earliest = self.earliest.max(room + common.cycle);
        }
        self.sdp.accumulator.leave(start, last);
    }

    /// Waits for room behind the datapath; tells since when an atom could start that has been there since `there`.
    async fn room(&mut self, there: Time) -> Time {
        let sim = &self.sdp.common.sim;
        if let Destination::Memory(_) = self.layer.destination {
            let room = self.sdp.output.begins(self.begin, self.latency, sim).await;
            self.earliest = self.earliest.max(room);
            return there.max(room);
        }
        let waits = sim.now();
        self.sdp.pooling.room().await;
        if sim.now() == waits {
            return there;
        }
        self.sdp.common.occupancy.held(Busy::Sdp, waits, sim.now());
        sim.now()
    }

    /// The results of one atom of the main input, or of one of each surface.
    fn compute_from_memory(&mut self, step: AtomPosition) -> usize {
        let layer = self.layer;
        let atom = self.sdp.hardware.atom;
        self.output.resize(layer.lanes() * layer.output.bytes(), 0);
        let input = [self.first_input.pop_front(), Some(self.take_main())];
        let mut bytes = [0; 2 * MAX_ATOM];
        let mut places = bytes.chunks_exact_mut(atom);
        for (place, input) in places.by_ref().zip(input.into_iter().flatten()) {
            place.copy_from_slice(&input[..atom]);
        }
        let input = &bytes[..layer.lanes() * layer.input.bytes()];
        if !self.sdp.common.skips_arithmetic {
            let operands = operand_bytes(&self.operands, step);
            self.counters += self.datapath.memory_atom(input, &operands, &mut self.output);
        }
        1
    }

    /// The results of sums that are there and start one behind the other. None: the layer cannot go on.
    async fn compute_from_accumulator(&mut self, step: AtomPosition, start: Time) -> Option<usize> {
        let layer = self.layer;
        let alike = layer.destination != Destination::Pooling
            && self.waiting.is_none()
            && self.operands.iter().all(StageOperands::lasts);
        let mut most = if alike { (self.columns - step.column) as usize } else { 1 };
        if most > 1 {
            let times = (start + self.latency, self.pace);
            let atoms = layer.output_atoms() as usize;
            most = (self.sdp.output.unhindered(self.begin, times, most * atoms) / atoms).max(1);
        }
        let before = u64::from(step.surface) * self.lines * self.columns + step.pixel;
        let mut sums = self.take_sums(most, start, before).await?;
        self.output.resize(sums.len() * layer.output.bytes(), 0);
        if !self.sdp.common.skips_arithmetic {
            let operands = operand_bytes(&self.operands, step);
            self.counters += self.datapath.accumulator_atoms(&mut sums, &operands, &mut self.output);
        }
        Some(sums.len() / layer.lanes())
    }

    /// Notes that so many atoms have started.
    fn account(&mut self, start: Time, steps: usize) {
        self.earliest = start + self.pace * steps as u64;
        let occupancy = &self.sdp.common.occupancy;
        occupancy.busy(Busy::Sdp, start, self.earliest);
        occupancy.count(Work::Sdp, (steps * self.layer.lanes()) as u64);
    }

    /// Results of atoms, the first of which has started at `start`; `last` are those of the layer's last.
    fn hand_on(&mut self, start: Time, last: bool) {
        let layer = self.layer;
        let atom = self.sdp.hardware.atom;
        for (slot, result) in (0..).zip(self.output.chunks_exact(layer.lanes() * layer.output.bytes())) {
            let (first, second) = result.split_at(atom);
            match layer.destination {
                Destination::Pooling => {
                    let mut passed = Passed { atom: [0; MAX_ATOM], last, abandoned: false };
                    passed.atom[..atom].copy_from_slice(first);
                    let later = (start + self.to_pdp).since(self.sdp.common.sim.now());
                    self.sdp.pooling.put_later(passed, later);
                }
                Destination::Memory(_) if layer.has_output() => {
                    self.sdp.output.put_at(start + self.pace * slot + self.latency, first);
                    self.second_output.extend(second);
                }
                Destination::Memory(_) => {}
            }
        }
    }

    /// Tells the read DMA and waits until the last atom has passed; tells when its result leaves.
    async fn finish(&self) -> Time {
        let Pass { sdp, layer, .. } = *self;
        let common = &sdp.common;
        if layer.uses_rdma() {
            let of_elementwise = layer.ew.and_then(|stage| stage.operands).map(|_| self.passed);
            let of_others = self.waiting.as_ref().and_then(BeforeElementwise::operands_taken);
            sdp.started.push(self.started.max(of_elementwise.max(of_others).unwrap_or(Time::ZERO)));
        }
        common.sim.wait_until(self.passed).await;
        match layer.destination {
            Destination::Pooling => match LeftForPooling::of(layer, &common.timing.sdp) {
                Some(LeftForPooling { behind_pdp, atoms, behind_room }) => {
                    let at_pdp = self.passed + self.to_pdp + common.cycles(common.timing.sdp.to_pdp);
                    let room = sdp.pooling.left(atoms as usize).await;
                    let room = room.map_or(Time::ZERO, |taken| taken + common.cycles(behind_room));
                    room.max(at_pdp + common.cycles(behind_pdp))
                }
                None => {
                    sdp.pooling.left(0).await;
                    common.sim.now() + common.cycles(common.timing.sdp.taken_by_pdp)
                }
            },
            Destination::Memory(_) if layer.has_output() => sdp.output.handed_over().await,
            Destination::Memory(_) => self.passed + self.latency,
        }
    }

    /// Waits until the next atom of the main input is there; tells since when it has been.
    async fn main_ready(&self) -> Time {
        let ahead = self.sdp.ahead.borrow().front().map(|&(since, _)| since);
        match ahead {
            Some(since) => since,
            None => {
                self.sdp.main.feed.ready().await;
                self.sdp.main.feed.since()
            }
        }
    }

    fn take_main(&self) -> Atom {
        let ahead = self.sdp.ahead.borrow_mut().pop_front();
        ahead.map_or_else(|| self.sdp.main.feed.take(), |(_, atom)| atom)
    }

    /// Takes sums of up to `most` atoms, from `start` on one each pace, after those of `before`. `None`: the layer cannot go on, and
    /// nothing of it is left to take.
    async fn take_sums(&mut self, most: usize, start: Time, before: u64) -> Option<Vec<i32>> {
        let layer = self.layer;
        if before == 0 {
            self.warn_of_place();
        }
        let taken = match self.is_split {
            true => self.sdp.accumulator.take_one(),
            false => self.sdp.accumulator.take(most, start, self.pace),
        };
        if self.is_split && !taken.abandoned {
            self.entering = Some((start, taken.last));
        }
        let all = u64::from(layer.surfaces()) * layer.steps();
        let last = before + (taken.sums.len() / layer.lanes()) as u64 == all;
        let wrong = if taken.abandoned {
            "the convolution that should feed it was refused"
        } else if taken.lanes != layer.lanes() {
            "the convolution computes another format"
        } else if taken.last != last {
            "the convolution's output has another size"
        } else {
            return Some(taken.sums);
        };
        if let Some((start, last)) = self.entering.take() {
            self.sdp.accumulator.leave(start, last);
        }
        self.sdp.common.control.warn(format_args!("layer ended early: {wrong}"));
        if !taken.last {
            self.sdp.accumulator.drain().await;
        }
        None
    }

    /// Says that CACC knows another place of several cubes: it pairs their pixels by that.
    fn warn_of_place(&self) {
        let Destination::Memory(surface) = self.layer.destination else { return };
        if self.layer.order.cubes() == 1 || self.layer.width == 1 {
            return;
        }
        let odd = |bytes: u32| bytes / surface.atom % 2 == 1;
        let here = [surface.base as u32, surface.line_stride, surface.surface_stride];
        if self.sdp.accumulator.place().map(odd) != here.map(odd) {
            self.sdp.common.control.warn(format_args!(
                "CACC's D_DATAOUT_ADDR, D_LINE_STRIDE or D_SURF_STRIDE is an odd number of atoms where SDP's D_DST_* is an even one, or the \
                 other way round: CACC hands over two pixels of each cube in turns by its own, and SDP writes them to each other's places \
                 (NV_NVDLA_CACC_delivery_ctrl, is_push_skip; NV_NVDLA_SDP_WDMA_cmd, is_beg_addr_odd)"
            ));
        }
    }

    /// Gives up what was announced to memory, or to PDP: it does not come.
    fn end_early(&self) {
        match self.layer.destination {
            Destination::Pooling => self.sdp.pooling.put(Passed::ABANDONED),
            Destination::Memory(_) => self.sdp.output.abandon(),
        }
    }
}

/// Returns the operands that the stages take for an atom of a surface.
fn operand_bytes<'a>([bs, bn, ew]: &'a [StageOperands<'_>; 3], step: AtomPosition) -> AtomOperands<'a> {
    let step = step.in_surface();
    AtomOperands { bs: bs.bytes(step), bn: bn.bytes(step), ew: ew.bytes(step) }
}
