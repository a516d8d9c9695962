//! One layer on its way through the datapath of SDP: when each atom starts, and when the layer ends.
//!
//! ```text
//! main input, sums of CACC, operands of BS and BN → AtomStarter → Results → write DMA, PDP
//!                        where EW is slower:        AtomStarter → BeforeElementwise, operands of EW → Results
//! ```

use super::Sdp;
use super::atom::{AtomCounters, AtomOperands};
use super::before_elementwise::{AtomInput, BeforeElementwise, Entered, Waiting};
use super::before_interface::BeforeInterface;
use super::layer::{Destination, SdpLayer, SdpSource};
use super::lut::Tables;
use super::operands::StageOperands;
use super::results::Results;
use super::timing;
use super::to_pooling::{LeftForPooling, OperandsEnd, ShutPooling, ToPooling};
use crate::bus::axi::Begin;
use crate::nvdla::dma::{Atom, MAX_ATOM, Passed};
use crate::nvdla::engine::PrefetchedLayer;
use crate::occupancy::{Datapath as Busy, Work};
use std::collections::VecDeque;
use std::convert::Infallible;
use vp_core::{Either, Time, join, select};

/// One layer on its way.
pub(super) struct Pass<'a> {
    starter: AtomStarter<'a>,
    /// Atoms that wait in front of EW, of layers for which that shows.
    waiting: Option<BeforeElementwise>,
    results: Results<'a>,
}

/// Starts the atoms of one layer: joins main input and operands.
///
/// What has come from the accumulator, has all its operands and has room behind the datapath can meet nothing
/// any more that would delay it: it starts together, and each atom leaves when its time comes.
struct AtomStarter<'a> {
    sdp: &'a Sdp,
    layer: &'a SdpLayer,
    /// Operands of BS, BN and EW; not of EW where atoms wait in front of that.
    operands: [StageOperands<'a>; 3],
    /// Atoms of the main input that go on while the first one's operands are missing.
    ahead: u64,
    /// Atoms that wait for the memory interface, of layers for which that shows.
    leaving: Option<BeforeInterface>,
    early: PrefetchedLayer,
    /// From one atom's start to the next one's, and from its start to its result.
    pace: Time,
    latency: Time,
    /// Of a layer that goes to PDP: its end, where that is before PDP has taken all; the part that can begin before PDP does; its number among such
    /// layers; and the number of its atoms that have begun.
    left_for_pooling: Option<LeftForPooling>,
    shut: Option<ShutPooling>,
    number: u64,
    begun: u64,
    /// Bound on an atom's start by those before it on their way to the write DMA.
    begin: Begin,
    /// True if an atom begins before all of it has room on the way to PDP; then the one that has begun: when, and if it is the last.
    is_split: bool,
    entering: Option<(Time, bool)>,
    /// The steps of a surface, as so many runs of so many steps.
    lines: u64,
    columns: u64,
    /// The time at which the next atom can start, and those at which the last one, and the one before it, have started.
    earliest: Time,
    started: Time,
    started_before: Time,
    /// For lines whose surfaces take turns: input of the first surface.
    first_input: VecDeque<Atom>,
    /// True if the layer cannot go on.
    ended: bool,
}

/// An atom of a layer, or the first of some that are alike.
#[derive(Clone, Copy)]
pub(super) struct AtomPosition {
    surface: u32,
    line: u64,
    pub(super) column: u64,
    /// In its surface.
    pixel: u64,
}

impl AtomPosition {
    /// Returns the surface, and the place in it.
    pub(super) fn in_surface(self) -> (u32, u64) {
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
            _ => BeforeElementwise::of(layer, &timing.sdp, &common.sim, common.cycle),
        };
        let leaving = match layer.destination {
            Destination::Memory(surface) => BeforeInterface::of(layer, surface, &timing.sdp, common.cycle),
            Destination::Pooling => None,
        };
        let pace = match &waiting {
            Some(_) => timing::pace(layer, &timing.sdp),
            None => timing::cycles_per_atom(layer, &timing.sdp),
        };
        let pace = match layer.source {
            SdpSource::Memory(_) => pace,
            SdpSource::Accumulator => pace.max(timing.conv.cycles_per_atom),
        };
        let (mut is_split, mut counts_by_first) = (false, false);
        match layer.destination {
            Destination::Memory(surface) => {
                let pace = common.cycles(timing::pace(layer, &timing.sdp));
                sdp.output.start(surface.ram, timing::writes(layer, surface), pace);
            }
            Destination::Pooling => {
                let way = ToPooling::of(layer, &timing.sdp);
                let ToPooling { depth, backward, .. } = way;
                (is_split, counts_by_first) = (way.is_split, way.counts_by_first);
                sdp.pooling.atoms.set_depth(depth, common.cycles(backward));
            }
        }
        let [bs, bn, ew] = timing::operands_later(layer, &timing.sdp);
        let operands =
            |input, stream, later| StageOperands::of(input, stream, layer, (later, 0, common.cycles(1)));
        let of_ew = layer.ew.and_then(|stage| stage.operands);
        let at_start = of_ew.filter(|_| waiting.is_none());
        let behind = of_ew.filter(|_| waiting.is_some());
        let later_place = timing::elementwise_later_place(layer, &timing.sdp);
        let results = StageOperands::of(&sdp.ew, behind, layer, (ew, later_place, common.cycles(1)));
        let operands = [
            operands(&sdp.bs, layer.bs.and_then(|stage| stage.operands), bs),
            operands(&sdp.bn, layer.bn.and_then(|stage| stage.operands), bn),
            operands(&sdp.ew, at_start, ew),
        ];
        let memory_alone = matches!(layer.source, SdpSource::Memory(_)) && !timing::reads_operands(layer);
        let (lines, columns) = timing::runs(layer);
        let ahead = match layer.source {
            SdpSource::Memory(_) if layer.input_atoms() == 1 => {
                timing::atoms_before_operands(layer, &timing.sdp)
            }
            _ => 0,
        };
        let pace = common.cycles(pace);
        let left_for_pooling = match layer.destination {
            Destination::Pooling => LeftForPooling::of(layer, &timing.sdp),
            Destination::Memory(_) => None,
        };
        let mut results = Results::new(sdp, layer, tables, results, pace);
        results.counts_by_first = counts_by_first;
        results.dropped_each =
            left_for_pooling.as_ref().map_or(Time::ZERO, |end| common.cycles(end.dropped_each));
        let starter = AtomStarter {
            sdp,
            layer,
            operands,
            ahead: ahead.into(),
            leaving,
            early: common.early(memory_alone && layer.input_atoms() == 1),
            pace,
            latency: common.cycles(timing::output_latency(layer, &timing.sdp)),
            left_for_pooling,
            shut: match layer.destination {
                Destination::Pooling => ShutPooling::of(layer, &timing.sdp),
                Destination::Memory(_) => None,
            },
            number: match layer.destination {
                Destination::Pooling => sdp.pooling.layers.announce(),
                Destination::Memory(_) => 0,
            },
            begun: 0,
            begin: timing::begin(layer, &timing.sdp),
            is_split,
            entering: None,
            lines,
            columns,
            earliest: common.free(),
            started: Time::ZERO,
            started_before: Time::ZERO,
            first_input: VecDeque::new(),
            ended: false,
        };
        Pass { starter, waiting, results }
    }

    /// Runs the layer; tells when its last atom leaves.
    pub(super) async fn run(self) -> (AtomCounters, Time) {
        let Pass { mut starter, waiting, mut results } = self;
        let went_on = match &waiting {
            None => starter.run(None, &mut |entered, operands| results.pass(entered, operands)).await,
            Some(waiting) => {
                let enter = async {
                    let mut enter = |entered, operands: &AtomOperands<'_>| {
                        let (bs, bn) = (operands.bs.to_vec(), operands.bn.to_vec());
                        waiting.enter(Some(Waiting { entered, bs, bn }));
                    };
                    let went_on = starter.run(Some(waiting), &mut enter).await;
                    waiting.enter(None);
                    went_on
                };
                join(enter, results.run(waiting)).await.0
            }
        };
        let last = match went_on {
            true => starter.finish(&results, waiting.as_ref()).await,
            false => starter.sdp.common.sim.now(),
        };
        (results.counters, last)
    }
}

impl AtomStarter<'_> {
    /// Starts all atoms, each of which `enter` gets; returns false if the layer ends early and nothing has to be taken for it.
    async fn run(
        &mut self,
        waiting: Option<&BeforeElementwise>,
        enter: &mut impl FnMut(Entered, &AtomOperands<'_>),
    ) -> bool {
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
                        return false;
                    }
                    let pixel = line * self.columns + column;
                    let position = AtomPosition { surface, line, column, pixel };
                    let entered = self.step(position, waiting).await;
                    column += entered.steps as u64;
                    enter(entered, &operand_bytes(&self.operands, position));
                }
            }
        }
        self.enter_whole().await;
        true
    }

    /// Waits for all that an atom needs, and starts it, and others that start with it.
    async fn step(&mut self, position: AtomPosition, waiting: Option<&BeforeElementwise>) -> Entered {
        self.enter_whole().await;
        let operands_there = self.gather(position).await;
        if self.ended {
            // Operands still come, and must be taken.
            self.take_operands(position, self.sdp.common.sim.now());
            return Entered { position, start: Time::ZERO, steps: 1, is_last: false, input: None };
        }
        let there = self.input_ready().await.max(operands_there);
        let there = self.room(there, waiting).await;
        if let Some(waiting) = waiting {
            self.earliest = self.earliest.max(waiting.room().await);
        }
        if let Some(leaving) = &self.leaving {
            self.earliest = self.earliest.max(leaving.room());
        }
        let sim = &self.sdp.common.sim;
        sim.wait_until(self.earliest.max(operands_there)).await;
        // Of what operands have held up data has passed a part of the datapath meanwhile.
        let start = match operands_there {
            Time::ZERO => self.early.start(there.max(self.earliest), sim.now()),
            _ => there.max(self.earliest).min(sim.now()),
        };
        self.take_operands(position, start);
        let input = match self.layer.source {
            SdpSource::Memory(_) => AtomInput::Memory(self.memory_input()),
            SdpSource::Accumulator => {
                match self.accumulator_input(position, start, waiting.is_some()).await {
                    Some(sums) => AtomInput::Accumulator(sums),
                    None => {
                        self.ended = true;
                        self.end_early();
                        return Entered { position, start, steps: 1, is_last: false, input: None };
                    }
                }
            }
        };
        let steps = match &input {
            AtomInput::Memory(_) => 1,
            AtomInput::Accumulator(sums) => sums.len() / self.layer.lanes(),
        };
        self.account(start, steps);
        if let Some(leaving) = &mut self.leaving {
            leaving.start(start);
        }
        self.started_before = self.started;
        self.started = self.earliest - self.pace;
        if self.layer.destination == Destination::Pooling {
            self.sdp.pooling.atoms.reserve();
        }
        let is_last = position.surface + 1 == self.layer.surfaces()
            && position.line + 1 == self.lines
            && position.column + steps as u64 == self.columns;
        Entered { position, start, steps, is_last, input: Some(input) }
    }

    /// Waits for the operands of an atom. Meanwhile atoms of the main input go on to where they meet them.
    async fn gather(&mut self, position: AtomPosition) -> Time {
        let rows = u64::from(self.layer.surfaces()) * self.lines;
        let before = u64::from(position.surface) * self.lines * self.columns + position.pixel;
        let ahead = self.ahead.min(rows * self.columns - before);
        let gather = async {
            let mut there = Time::ZERO;
            for operands in &mut self.operands {
                there = there.max(operands.gather(position.in_surface()).await);
            }
            there
        };
        if ahead == 0 {
            return gather.await;
        }
        let keep_ahead = async {
            self.sdp.go_on(ahead).await;
            std::future::pending::<Infallible>().await
        };
        match select(gather, keep_ahead).await {
            Either::First(there) => there,
            Either::Second(never) => match never {},
        }
    }

    /// Takes the operands of an atom that starts then.
    fn take_operands(&mut self, step: AtomPosition, start: Time) {
        for operands in &mut self.operands {
            operands.leave_multiplier(step.in_surface(), start);
            operands.take(step.in_surface(), Time::ZERO);
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
        self.sdp.pooling.atoms.room().await;
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
    async fn room(&mut self, there: Time, waiting: Option<&BeforeElementwise>) -> Time {
        let sim = &self.sdp.common.sim;
        if let Destination::Memory(_) = self.layer.destination {
            // Those in front of EW have not been put.
            let ahead = waiting.map_or(0, BeforeElementwise::ahead) as u32 * self.layer.output_atoms();
            let room = self.sdp.output.begins(self.begin.behind(ahead), self.latency, sim).await;
            self.earliest = self.earliest.max(room);
            return there.max(room);
        }
        let waits = sim.now();
        self.sdp.pooling.atoms.room().await;
        if let Some(shut) = self.shut.take_if(|shut| shut.atoms == self.begun) {
            let begun = self.sdp.pooling.layers.begun(self.number).await;
            let open = begun.map_or(Time::ZERO, |begun| begun + self.sdp.common.cycles(shut.backward));
            self.earliest = self.earliest.max(open);
        }
        self.begun += 1;
        if sim.now() == waits {
            return there;
        }
        self.sdp.common.occupancy.held(Busy::Sdp, waits, sim.now());
        sim.now()
    }

    /// One atom of the main input, or one of each surface.
    fn memory_input(&mut self) -> [u8; 2 * MAX_ATOM] {
        let atom = self.sdp.hardware.atom;
        let input = [self.first_input.pop_front(), Some(self.take_main())];
        let mut bytes = [0; 2 * MAX_ATOM];
        for (place, input) in bytes.chunks_exact_mut(atom).zip(input.into_iter().flatten()) {
            place.copy_from_slice(&input[..atom]);
        }
        bytes
    }

    /// Sums that are there and start one behind the other. None: the layer cannot go on.
    async fn accumulator_input(
        &mut self,
        position: AtomPosition,
        start: Time,
        waits: bool,
    ) -> Option<Vec<i32>> {
        let layer = self.layer;
        let alike = layer.destination != Destination::Pooling
            && !waits
            && self.leaving.is_none()
            && self.operands.iter().all(StageOperands::lasts);
        let mut most = if alike { (self.columns - position.column) as usize } else { 1 };
        if most > 1 {
            let times = (start + self.latency, self.pace);
            let atoms = layer.output_atoms() as usize;
            most = (self.sdp.output.unhindered(self.begin, times, most * atoms) / atoms).max(1);
        }
        let before = u64::from(position.surface) * self.lines * self.columns + position.pixel;
        self.take_sums(most, start, before).await
    }

    /// Notes that so many atoms have started.
    fn account(&mut self, start: Time, steps: usize) {
        self.earliest = start + self.pace * steps as u64;
        let occupancy = &self.sdp.common.occupancy;
        occupancy.busy(Busy::Sdp, start, self.earliest);
        occupancy.count(Work::Sdp, (steps * self.layer.lanes()) as u64);
    }

    /// Tells the read DMA and waits until the last atom has passed; tells when its result leaves.
    async fn finish(&self, results: &Results<'_>, waiting: Option<&BeforeElementwise>) -> Time {
        let AtomStarter { sdp, layer, .. } = self;
        let common = &sdp.common;
        if layer.uses_rdma() {
            sdp.started.push(self.reads_end(results, waiting).await);
        }
        common.sim.wait_until(results.passed).await;
        match (layer.destination, &self.left_for_pooling) {
            (Destination::Pooling, Some(end)) => {
                let at_pdp = results.dropped + results.to_pdp + common.cycles(common.timing.sdp.to_pdp);
                let room = self.room_behind(end.atoms, end.behind_room).await;
                let end = room.max(at_pdp + common.cycles(end.behind_pdp));
                end.max(self.end_behind_begin().await)
            }
            (Destination::Pooling, None) => {
                sdp.pooling.atoms.left(0).await;
                common.sim.now() + common.cycles(common.timing.sdp.taken_by_pdp)
            }
            (Destination::Memory(_), _) if layer.has_output() => sdp.output.handed_over().await,
            (Destination::Memory(_), _) => results.passed + self.latency,
        }
    }

    /// Waits until all that was read is taken, or it follows when; tells that time, as the start of a last atom for which no operands are read.
    async fn reads_end(&self, results: &Results<'_>, waiting: Option<&BeforeElementwise>) -> Time {
        let AtomStarter { sdp, layer, .. } = *self;
        let common = &sdp.common;
        let timing = &common.timing.sdp;
        let of_elementwise = layer.ew.and_then(|stage| stage.operands).map(|_| results.passed);
        let of_others = match &self.leaving {
            Some(leaving) => leaving.operands_taken(),
            None => waiting.and_then(BeforeElementwise::operands_taken),
        };
        let Some(registers) = timing.stage_registers else {
            return self.started.max(of_elementwise.max(of_others).unwrap_or(Time::ZERO));
        };
        let beats = timing::pace(layer, timing).max(1);
        let is_memory = matches!(layer.source, SdpSource::Memory(_));
        let mut end = if is_memory { self.started + common.cycles(beats - 1) } else { Time::ZERO };
        if waiting.is_none() && layer.destination != Destination::Pooling {
            // Where the write DMA holds beats up, the one before the last meets its operands later than it comes to them, never sooner.
            let last = of_others.map_or(self.started, |taken| taken.max(self.started));
            let leave = timing::operands_leave(layer, registers, timing);
            return leave.map_or(end, |leave| end.max(last + common.cycles(leave)));
        }
        let started_before = if beats == 1 { self.started_before } else { self.started };
        let before_last = waiting.and_then(BeforeElementwise::before_last);
        for (stage, operands) in OperandsEnd::of(layer, timing).into_iter().enumerate() {
            let Some(OperandsEnd { later, atoms, behind_room }) = operands else { continue };
            let met = if stage == 2 { before_last } else { of_others }.unwrap_or(started_before);
            end = end.max(met + common.cycles(later));
            if layer.destination == Destination::Pooling {
                end = end.max(self.room_behind(atoms, behind_room).await);
            }
        }
        end
    }

    /// Waits until PDP has begun, if the layer has a beat that waits for that; tells the end of the layer if all were there then.
    async fn end_behind_begin(&self) -> Time {
        let common = &self.sdp.common;
        let beats = u64::from(timing::pace(self.layer, &common.timing.sdp).max(1));
        let (Some(end), true) = (&self.left_for_pooling, self.begun * beats > 1) else { return Time::ZERO };
        let Some(begun) = self.sdp.pooling.layers.begun(self.number).await else { return Time::ZERO };
        // The first has gone to the write DMA long before.
        let others = u64::from(end.dropped_each) * (self.begun * beats - 2) / beats;
        begun + common.cycles(end.behind_begin) + common.cycle * others
    }

    /// Waits until PDP has taken all atoms but the last `atoms`; tells the time so many cycles after it has taken the one before them, if they
    /// follow that one.
    async fn room_behind(&self, atoms: u32, cycles: u32) -> Time {
        let taken = self.sdp.pooling.atoms.left(atoms as usize).await;
        taken.map_or(Time::ZERO, |taken| taken + self.sdp.common.cycles(cycles))
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
            Destination::Pooling => self.sdp.pooling.atoms.put(Passed::ABANDONED),
            Destination::Memory(_) => self.sdp.output.abandon(),
        }
    }
}

/// Returns the operands that the stages take for an atom of a surface.
fn operand_bytes<'a>([bs, bn, ew]: &'a [StageOperands<'_>; 3], step: AtomPosition) -> AtomOperands<'a> {
    let step = step.in_surface();
    AtomOperands { bs: bs.bytes(step), bn: bn.bytes(step), ew: ew.bytes(step) }
}
