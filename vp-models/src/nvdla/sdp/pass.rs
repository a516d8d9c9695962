//! One layer on its way through the datapath of SDP: when each atom starts.
//!
//! ```text
//! main input, sums of CACC, operands of BS and BN → AtomStarter → Results → write DMA, PDP
//!                        where EW is slower:        AtomStarter → BeforeElementwise, operands of EW → Results
//! ```
//!
//! The reads end by `reads_end`, and a layer that goes to PDP by `pooling_layer`.

use super::atom::{AtomCounters, AtomOperands, AtomPosition};
use super::before_elementwise::{AtomInput, BeforeElementwise, Entered, Waiting};
use super::before_interface::BeforeInterface;
use super::layer::{Destination, OperandStream, SdpLayer, SdpSource};
use super::lut::Tables;
use super::main_input::MainInput;
use super::operands::{LayerOperands, StageOperands};
use super::pooling_layer::PoolingLayer;
use super::reads_end::{Meeting, ReadsEnd};
use super::results::Results;
use super::sums::Sums;
use super::timing;
use super::{Input, Sdp};
use crate::bus::axi::Begin;
use crate::nvdla::dma::Passed;
use crate::nvdla::engine::PrefetchedLayer;
use crate::occupancy::{Datapath as Busy, Work};
use vp_core::{Time, join};

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
    main: MainInput<'a>,
    sums: Sums<'a>,
    operands: LayerOperands<'a>,
    /// Atoms that wait for the memory interface, of layers for which that shows.
    leaving: Option<BeforeInterface>,
    early: PrefetchedLayer,
    /// From one atom's start to the next one's, and from its start to its result.
    pace: Time,
    latency: Time,
    /// The way to PDP, of a layer that goes there.
    pooling: Option<PoolingLayer<'a>>,
    /// Bound on an atom's start by those before it on their way to the write DMA.
    begin: Begin,
    /// The steps of a surface, as so many runs of so many steps.
    lines: u64,
    columns: u64,
    /// The time at which the next atom can start, and those at which the last one, and the one before it, have started.
    earliest: Time,
    started: Time,
    started_before: Time,
    /// True if the layer cannot go on.
    ended: bool,
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
        if let Destination::Memory(surface) = layer.destination {
            let pace = common.cycles(timing::pace(layer, &timing.sdp));
            sdp.output.start(surface.ram, timing::writes(layer, surface), pace);
        }
        let pooling = PoolingLayer::of(sdp, layer);
        let of_ew = StageOperands::of_elementwise(sdp, layer, waiting.is_some());
        let memory_alone = matches!(layer.source, SdpSource::Memory(_)) && !timing::reads_operands(layer);
        let (lines, columns) = timing::runs(layer);
        let pace = common.cycles(pace);
        let mut results = Results::new(sdp, layer, tables, of_ew, pace);
        if let Some(pooling) = &pooling {
            results.counts_by_first = pooling.counts_by_first;
            results.dropped_each = pooling.dropped_each();
        }
        let starter = AtomStarter {
            sdp,
            layer,
            main: MainInput::new(sdp, layer),
            sums: Sums::new(sdp, layer, pooling.as_ref().is_some_and(|pooling| pooling.is_split)),
            operands: LayerOperands::of(sdp, layer, waiting.is_none()),
            leaving,
            early: common.early(memory_alone && layer.input_atoms() == 1),
            pace,
            latency: common.cycles(timing::output_latency(layer, &timing.sdp)),
            pooling,
            begin: timing::begin(layer, &timing.sdp),
            lines,
            columns,
            earliest: common.free(),
            started: Time::ZERO,
            started_before: Time::ZERO,
            ended: false,
        };
        Pass { starter, waiting, results }
    }

    /// Runs the layer; tells when its last atom leaves.
    pub(super) async fn run(self) -> (AtomCounters, Time) {
        let Pass { mut starter, waiting, mut results } = self;
        let (sdp, layer) = (starter.sdp, starter.layer);
        let went_on = match &waiting {
            None => {
                let went_on =
                    starter.run(None, &mut |entered, operands| results.pass(entered, operands)).await;
                starter.end_reads(None).await;
                went_on
            }
            Some(waiting) => {
                let enter = async {
                    let mut enter = |entered, operands: &AtomOperands<'_>| {
                        let (bs, bn) = (operands.bs.to_vec(), operands.bn.to_vec());
                        waiting.enter(Some(Waiting { entered, bs, bn }));
                    };
                    let went_on = starter.run(Some(waiting), &mut enter).await;
                    waiting.enter(None);
                    // The read DMA need not wait for what EW has not taken.
                    starter.end_reads(Some(waiting)).await;
                    went_on
                };
                let leave = leave_behind(waiting, sdp, layer);
                join(join(enter, results.run(waiting)), leave).await.0.0
            }
        };
        let last = match went_on {
            true => starter.end(&results).await,
            false => starter.sdp.common.sim.now(),
        };
        (results.counters, last)
    }
}

/// Has the operands of BS and BN leave where atoms wait in front of EW.
async fn leave_behind(waiting: &BeforeElementwise, sdp: &Sdp, layer: &SdpLayer) {
    let timing = &sdp.common.timing.sdp;
    let Some(registers) = timing.stage_registers else { return };
    let mut meetings = Meeting::all(layer, timing, registers);
    // Behind the last operator of a stage all have left.
    meetings.reverse();
    let of = |number: usize| meetings.iter().find(|meeting| meeting.stage == number);
    let stage = async |number, operands: Option<OperandStream>, input: &Input| {
        let operands = operands.filter(|operands| timing::is_met_behind(layer, operands, timing));
        if let (Some(_), Some(meeting)) = (operands, of(number)) {
            waiting.leave(&input.feed, meeting).await;
        }
    };
    let bs = stage(0, layer.bs.and_then(|stage| stage.operands), &sdp.bs);
    let bn = stage(1, layer.bn.and_then(|stage| stage.operands), &sdp.bn);
    join(bs, bn).await;
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
                if !self.ended {
                    self.main.take_first(self.columns).await;
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
                    enter(entered, &self.operands.bytes(position));
                }
            }
        }
        self.earliest = self.earliest.max(self.sums.enter_whole().await);
        true
    }

    /// Waits for all that an atom needs, and starts it, and others that start with it.
    async fn step(&mut self, position: AtomPosition, waiting: Option<&BeforeElementwise>) -> Entered {
        self.earliest = self.earliest.max(self.sums.enter_whole().await);
        let operands_there = self.gather(position).await;
        if self.ended {
            // Operands still come, and must be taken.
            self.operands.take(position, self.sdp.common.sim.now());
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
        self.operands.take(position, start);
        let input = match self.layer.source {
            SdpSource::Memory(_) => AtomInput::Memory(self.main.take()),
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
        self.started_before = if steps > 1 { self.earliest - self.pace * 2 } else { self.started };
        self.started = self.earliest - self.pace;
        if self.pooling.is_some() {
            self.sdp.pooling.atoms.reserve();
        }
        let is_last = position.surface + 1 == self.layer.surfaces()
            && position.line + 1 == self.lines
            && position.column + steps as u64 == self.columns;
        Entered { position, start, steps, is_last, input: Some(input) }
    }

    /// Waits for the operands of an atom.
    async fn gather(&mut self, position: AtomPosition) -> Time {
        let of_surface = self.lines * self.columns;
        let left = of_surface - position.pixel;
        let surfaces_behind = self.layer.surfaces() - 1 - position.surface;
        self.operands.gather(position, left, left + u64::from(surfaces_behind) * of_surface).await
    }

    /// Waits until the main input of the next atom is there; tells since when it has been.
    async fn input_ready(&self) -> Time {
        match self.layer.source {
            SdpSource::Memory(_) => self.main.ready().await,
            SdpSource::Accumulator => self.sums.ready().await,
        }
    }

    /// Waits for room behind the datapath; tells since when an atom could start that has been there since `there`.
    async fn room(&mut self, there: Time, waiting: Option<&BeforeElementwise>) -> Time {
        let sim = &self.sdp.common.sim;
        let Some(pooling) = &mut self.pooling else {
            // Those in front of EW have not been put.
            let ahead = waiting.map_or(0, BeforeElementwise::ahead) as u32 * self.layer.output_atoms();
            let room = self.sdp.output.begins(self.begin.behind(ahead), self.latency, sim).await;
            self.earliest = self.earliest.max(room);
            return there.max(room);
        };
        let waits = sim.now();
        let open = pooling.room().await;
        self.earliest = self.earliest.max(open);
        if sim.now() == waits {
            return there;
        }
        self.sdp.common.occupancy.held(Busy::Sdp, waits, sim.now());
        sim.now()
    }

    /// Sums that are there and start one behind the other. None: the layer cannot go on.
    async fn accumulator_input(
        &mut self,
        position: AtomPosition,
        start: Time,
        waits: bool,
    ) -> Option<Vec<i32>> {
        let layer = self.layer;
        let alike = self.pooling.is_none() && !waits && self.leaving.is_none() && self.operands.last();
        let mut most = if alike { (self.columns - position.column) as usize } else { 1 };
        if most > 1 {
            let times = (start + self.latency, self.pace);
            let atoms = layer.output_atoms() as usize;
            most = (self.sdp.output.unhindered(self.begin, times, most * atoms) / atoms).max(1);
        }
        let before = u64::from(position.surface) * self.lines * self.columns + position.pixel;
        self.sums.take(most, (start, self.pace), before).await
    }

    /// Notes that so many atoms have started.
    fn account(&mut self, start: Time, steps: usize) {
        self.earliest = start + self.pace * steps as u64;
        let occupancy = &self.sdp.common.occupancy;
        occupancy.busy(Busy::Sdp, start, self.earliest);
        occupancy.count(Work::Sdp, (steps * self.layer.lanes()) as u64);
    }

    /// Tells the read DMA when all that it has read is taken.
    async fn end_reads(&self, waiting: Option<&BeforeElementwise>) {
        if !self.layer.uses_rdma() {
            return;
        }
        let common = &self.sdp.common;
        let reads = ReadsEnd {
            layer: self.layer,
            timing: &common.timing.sdp,
            cycle: common.cycle,
            started: self.started,
            started_before: self.started_before,
            operands_there: self.operands.there(),
            waiting,
            leaving: self.leaving.as_ref(),
            pooling: self.pooling.as_ref(),
        };
        self.sdp.started.push(reads.time().await);
    }

    /// Waits until the last atom has passed; tells when its result leaves.
    async fn end(&self, results: &Results<'_>) -> Time {
        self.sdp.common.sim.wait_until(results.passed).await;
        match &self.pooling {
            Some(pooling) => pooling.end(results).await,
            None if self.layer.has_output() => self.sdp.output.handed_over().await,
            None => results.passed + self.latency,
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
