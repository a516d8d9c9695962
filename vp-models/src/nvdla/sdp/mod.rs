//! SDP, the single data point processor: bias, normalisation, element-wise operations and activation, one element
//! at a time.
//!
//! [`layer`] is what a register group says (`decode`: how), [`compute`] does the arithmetic ([`lut`]: the lookup table of its last
//! stage), `timing` is its shape in time with `feed` the way of its inputs, and here is the engine that joins
//! them.

mod before_elementwise;
pub mod compute;
mod decode;
mod encode;
mod feed;
pub(crate) mod fields;
mod float;
pub mod layer;
pub mod lut;
mod timing;

use self::before_elementwise::BeforeElementwise;
use self::compute::{Counters, Datapath, Operands};
use self::feed::Feed;
use self::layer::{Destination, Hardware, OperandStream, SdpLayer, SdpSource};
use self::lut::Tables;
use self::timing::{Reads, ToPooling};
use super::control::Control;
use super::conv::delivery::Delivery;
use super::dma::{Atom, MAX_ATOM, Passed, ReadDma, WriteDma};
use super::engine::{Common, Engine, Streamed, Surroundings};
use super::glb;
use super::nocif::{read_id, write_id};
use super::numeric::Precision;
use super::order::{Order, PAIR};
use super::refused::Refused;
use super::registers::{Group, sdp as reg, sdp_rdma as rdma_reg};
use crate::bus::axi::ReadStreamConfig;
use crate::bus::{DelayLine, Handoff};
use crate::checkpoint::{Checkpoint, CheckpointError, Remembers};
use crate::occupancy::{Datapath as Busy, Work};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Time, join};

/// The most atoms that hold the operands of one atom: two operands of two bytes for each lane.
const MAX_OPERAND_ATOMS: usize = 4;

/// A read client of SDP_RDMA and the way of its atoms into the datapath.
struct Input {
    dma: Rc<ReadDma>,
    feed: Rc<Feed>,
}

/// The engine.
pub(crate) struct Sdp {
    common: Common<SdpLayer>,
    hardware: Hardware,
    main: Input,
    /// Atoms of the main input that have come out of its FIFO before the engine was enabled, and when.
    ahead: RefCell<VecDeque<(Time, Atom)>>,
    bs: Input,
    bn: Input,
    ew: Input,
    output: Rc<WriteDma>,
    /// Where atoms go on the fly.
    pooling: Rc<Handoff<Passed>>,
    /// What comes on the fly from the convolution accumulator.
    accumulator: Rc<Delivery>,
    /// When the last atom of each layer that reads memory starts.
    started: DelayLine<Time>,
}

impl Engine for Sdp {
    type Layer = SdpLayer;

    fn common(&self) -> &Common<SdpLayer> {
        &self.common
    }

    fn needs_rdma(&self, registers: &Group) -> bool {
        SdpLayer::needs_rdma(registers, &self.hardware)
    }

    fn decode(&self, registers: &Group, rdma: &Group) -> Result<SdpLayer, Refused> {
        if !self.hardware.ew && !registers.flag(reg::D_DP_EW_CFG::EW_BYPASS) {
            self.common
                .control
                .warn("EW is not bypassed, but this configuration has no such stage: data passes");
        }
        let layer = SdpLayer::decode(registers, rdma, &self.hardware)?;
        self.warn_of_untaken(&layer);
        Ok(layer)
    }

    fn unaligned(layer: &SdpLayer, registers: &Group, rdma: &Group) -> Vec<String> {
        layer.unaligned(registers, rdma)
    }

    fn shape(layer: &SdpLayer) -> String {
        format!("{}x{}x{}", layer.width, layer.height, layer.channels)
    }

    fn done(group: usize) -> glb::Source {
        glb::Source::Sdp(group)
    }

    async fn fetch(&self, layer: &SdpLayer) {
        let operands = |stream: Option<OperandStream>| stream.map(|stream| Reads::operands(layer, &stream));
        let bs = operands(layer.bs.and_then(|stage| stage.operands));
        let bn = operands(layer.bn.and_then(|stage| stage.operands));
        let ew = operands(layer.ew.and_then(|stage| stage.operands));
        let main = timing::main_reads(layer).map(|lines| Reads::of(lines, layer.atom, 1));
        join(
            join(self.request(&self.main, main), self.request(&self.bs, bs)),
            join(self.request(&self.bn, bn), self.request(&self.ew, ew)),
        )
        .await;
        if layer.uses_rdma() {
            let last = self.started.next().await;
            let next = timing::next_read(layer, &self.common.timing.sdp);
            self.common.sim.wait_until(last + self.common.cycles(next)).await;
        }
        let stalled = |input: &Input| input.dma.take_stalled(0).cycles(self.common.cycle);
        self.common.rdma.count_running(
            rdma_reg::D_PERF_ENABLE::PERF_DMA_EN,
            &[
                (rdma_reg::D_PERF_MRDMA_READ_STALL, stalled(&self.main)),
                (rdma_reg::D_PERF_BRDMA_READ_STALL, stalled(&self.bs)),
                (rdma_reg::D_PERF_NRDMA_READ_STALL, stalled(&self.bn)),
                (rdma_reg::D_PERF_ERDMA_READ_STALL, stalled(&self.ew)),
            ],
        );
    }

    async fn stream(&self, layer: &SdpLayer, group: usize) -> Streamed {
        let (counters, last) = self.pass(layer).await;
        self.show(layer, group, &counters);
        let ends = if layer.has_output() { Time::ZERO } else { last };
        Streamed { ends, next: last.since(self.common.cycles(self.common.timing.sdp.next_layer)) }
    }

    fn output(&self) -> &WriteDma {
        &self.output
    }

    /// Only layers without operands: whether these are read is also the engine's to say.
    fn decode_early(&self, registers: &Group, rdma: &Group) -> Option<SdpLayer> {
        let layer = SdpLayer::decode(registers, rdma, &self.hardware).ok()?;
        (!timing::reads_operands(&layer)).then_some(layer)
    }

    fn reads_alike(&self, one: &SdpLayer, other: &SdpLayer) -> bool {
        !timing::reads_operands(other) && timing::main_reads(one) == timing::main_reads(other)
    }

    /// Atoms come out of the FIFO, one a cycle, and wait for the enable bit farther on.
    async fn run_ahead(&self, layer: &SdpLayer) {
        let most = u64::from(self.common.timing.before_enable);
        for _ in 0..self.main_atoms(layer).min(most) {
            self.main.feed.ready().await;
            let atom = self.main.feed.take();
            self.ahead.borrow_mut().push_back((self.common.sim.now(), atom));
        }
    }

    async fn discard(&self, layer: &SdpLayer) {
        let ahead = self.ahead.take().len() as u64;
        for _ in ahead..self.main_atoms(layer) {
            self.main.feed.ready().await;
            self.main.feed.take();
        }
        self.started.push(self.common.sim.now());
    }

    async fn release_partner(&self, registers: &Group) {
        use reg::D_FEATURE_MODE_CFG::{FLYING_MODE, OUTPUT_DST};
        if registers.get(OUTPUT_DST) == OUTPUT_DST::PDP {
            self.pooling.room().await;
            self.pooling.put(Passed::ABANDONED);
        }
        if registers.flag(FLYING_MODE) {
            // CACC sends its layer all the same: it goes nowhere.
            self.accumulator.drain().await;
        }
    }
}

impl Sdp {
    pub(crate) fn new(
        around: &Surroundings<'_>,
        control: Rc<Control>,
        rdma: Rc<Control>,
        accumulator: Rc<Delivery>,
        pooling: Rc<Handoff<Passed>>,
    ) -> Sdp {
        let Surroundings { sim, cycle, config, timing, ports, .. } = *around;
        let hardware = Hardware::from(config);
        let packing = timing.sdp.packing;
        let input = |name: &str, id, atoms: u32| {
            let credits = ReadStreamConfig {
                capacity: atoms * hardware.atom as u32,
                lines: u32::MAX,
                credit_return: cycle * u64::from(timing.credit_return),
            };
            let name = format!("nvdla.sdp_rdma.{name}");
            let dma = ReadDma::new(ports, &name, id, credits);
            Input { feed: Feed::new(sim, &name, cycle, hardware.atom, packing, dma.clone()), dma }
        };
        let credits = timing.sdp.operand_credits;
        Sdp {
            common: Common::new(around, control, rdma),
            hardware,
            ahead: RefCell::default(),
            main: input("main", read_id::SDP, timing.sdp.main_credits),
            bs: input("bs", read_id::SDP_BS, credits),
            bn: input("bn", read_id::SDP_BN, credits),
            ew: input("ew", read_id::SDP_EW, timing.sdp.elementwise_credits),
            output: WriteDma::new(ports, "nvdla.sdp", write_id::SDP, hardware.atom, timing.write_buffer),
            pooling,
            accumulator,
            started: DelayLine::new(sim, "nvdla.sdp_rdma.started", Time::ZERO),
        }
    }

    /// Says which operands nobody takes.
    fn warn_of_untaken(&self, layer: &SdpLayer) {
        let stages = [
            ("BS", rdma_reg::D_BRDMA_CFG::BRDMA_DATA_USE, layer.bs.and_then(|stage| stage.operands)),
            ("BN", rdma_reg::D_NRDMA_CFG::NRDMA_DATA_USE, layer.bn.and_then(|stage| stage.operands)),
            ("EW", rdma_reg::D_ERDMA_CFG::ERDMA_DATA_USE, layer.ew.and_then(|stage| stage.operands)),
        ];
        for (stage, field, _) in
            stages.into_iter().filter(|(.., stream)| stream.is_some_and(|stream| stream.is_half_taken))
        {
            self.common.rdma.warn(format_args!(
                "SDP_RDMA.{field} is 2 (both), and {stage} takes one of the two from memory: what it does not take stops the others, and \
                 the read DMA waits for ever (NV_NVDLA_SDP_RDMA_eg, layer_done). It must be what the stage takes: 0 (MUL) or 1 (ALU)"
            ));
        }
    }

    /// The atoms of the main input of a layer that reads memory.
    fn main_atoms(&self, layer: &SdpLayer) -> u64 {
        timing::main_reads(layer).map_or(0, |lines| {
            let shape = timing::shape(&lines, self.hardware.atom, 1);
            shape.lines * shape.atoms
        })
    }

    /// Waits until the next atom of the main input is there; tells since when it has been.
    async fn main_ready(&self) -> Time {
        let ahead = self.ahead.borrow().front().map(|&(since, _)| since);
        match ahead {
            Some(since) => since,
            None => {
                self.main.feed.ready().await;
                self.main.feed.since()
            }
        }
    }

    fn take_main(&self) -> Atom {
        let ahead = self.ahead.borrow_mut().pop_front();
        ahead.map_or_else(|| self.main.feed.take(), |(_, atom)| atom)
    }

    /// Makes one input's reads, and waits until the datapath has taken all.
    async fn request(&self, input: &Input, reads: Option<Reads>) {
        let Some(Reads { shape, requests }) = reads else { return };
        input.feed.start(shape);
        let stream = input.dma.stream(shape.ram);
        for (address, bytes) in requests {
            stream.request(address, bytes).await;
        }
        if shape.untaken.is_some() {
            // The read DMA is done when all its operands have been taken (RTL, `NV_NVDLA_SDP_RDMA_eg`, layer_done).
            input.feed.stand().await;
        }
    }

    /// Streams one layer, atom by atom: joins main input and operands, computes, hands on.
    ///
    /// What has come from the accumulator, has all its operands and has room behind the datapath can meet nothing
    /// any more that would delay it: it is computed together, and each atom leaves when its time comes. Tells when the last does.
    async fn pass(&self, layer: &SdpLayer) -> (Counters, Time) {
        let Common { sim, timing, occupancy, .. } = &self.common;
        let skips_arithmetic = self.common.skips_arithmetic;
        let tables = self.tables();
        let datapath = Datapath::new(layer, &tables);
        let atom = self.hardware.atom;
        let mut waiting = match layer.destination {
            Destination::Memory(_) => BeforeElementwise::of(layer, &timing.sdp, self.common.cycle),
            Destination::Pooling => None,
        };
        let pace = match &waiting {
            Some(_) => timing::pace(layer, &timing.sdp),
            None => timing::cycles_per_atom(layer, &timing.sdp),
        };
        let pace = self.common.cycles(match layer.source {
            SdpSource::Memory(_) => pace,
            SdpSource::Accumulator => pace.max(timing.conv.cycles_per_atom),
        });
        let latency = self.common.cycles(timing::output_latency(layer, &timing.sdp));
        let to_pdp = self.common.cycles(timing::stages(layer, &timing.sdp));
        match layer.destination {
            Destination::Memory(surface) => self.output.start(surface.ram, timing::writes(layer, surface)),
            Destination::Pooling => {
                let ToPooling { depth, backward } = ToPooling::of(layer, &timing.sdp);
                self.pooling.set_depth(depth, self.common.cycles(backward));
            }
        }
        let later = timing::operands_later(layer).map(|cycles| self.common.cycles(cycles));
        let mut bs = StageOperands::of(&self.bs, layer.bs.and_then(|stage| stage.operands), layer, later[0]);
        let mut bn = StageOperands::of(&self.bn, layer.bn.and_then(|stage| stage.operands), layer, later[1]);
        let mut ew = StageOperands::of(&self.ew, layer.ew.and_then(|stage| stage.operands), layer, later[2]);
        let mut counters = Counters::default();
        // From when on the next atom can start, and when the last one has started, and passed on to EW.
        let (mut earliest, mut started, mut passed) = (Time::ZERO, Time::ZERO, Time::ZERO);
        let (lines, columns) = timing::runs(layer);
        let step = layer.lanes() * layer.output.bytes();
        // Of lines whose surfaces take turns: input of the first surface, and output for the second.
        let (mut first_input, mut second_output) = (VecDeque::new(), VecDeque::new());
        let mut output = Vec::new();
        let mut ended = false;
        let memory_alone = matches!(layer.source, SdpSource::Memory(_)) && !timing::reads_operands(layer);
        let mut early = self.common.early(memory_alone && layer.input_atoms() == 1);
        for (surface, line) in
            (0..layer.surfaces()).flat_map(|surface| (0..lines).map(move |line| (surface, line)))
        {
            if !ended && layer.input_atoms() > 1 {
                for _ in 0..columns {
                    self.main_ready().await;
                    first_input.push_back(self.take_main());
                }
            }
            let mut column = 0;
            while column < columns {
                if ended && !layer.uses_rdma() {
                    return (counters, sim.now());
                }
                let pixel = line * columns + column;
                let mut operands_there = Time::ZERO;
                for operands in [&mut bs, &mut bn, &mut ew] {
                    operands_there = operands_there.max(operands.gather(pixel).await);
                }
                if ended {
                    // Operands still come, and must be taken.
                    for operands in [&mut bs, &mut bn, &mut ew] {
                        operands.take(pixel);
                    }
                    column += 1;
                    continue;
                }
                let there = match layer.source {
                    SdpSource::Memory(_) => self.main_ready().await,
                    SdpSource::Accumulator => {
                        self.accumulator.ready().await;
                        self.accumulator.since()
                    }
                };
                let mut there = there.max(operands_there);
                let waits = sim.now();
                match layer.destination {
                    Destination::Pooling => self.pooling.room().await,
                    Destination::Memory(_) => self.output.room().await,
                }
                if sim.now() > waits {
                    there = sim.now();
                    if layer.destination == Destination::Pooling {
                        occupancy.held(Busy::Sdp, waits, there);
                    }
                }
                if let Some(waiting) = &waiting {
                    earliest = earliest.max(waiting.room());
                }
                sim.wait_until(earliest).await;
                for operands in [&mut bs, &mut bn, &mut ew] {
                    operands.take(pixel);
                }
                let alike = layer.destination != Destination::Pooling
                    && waiting.is_none()
                    && [&bs, &bn, &ew].into_iter().all(StageOperands::lasts);
                let operands = Operands { bs: bs.bytes(pixel), bn: bn.bytes(pixel), ew: ew.bytes(pixel) };
                // Of what operands have held up data has passed a part of the datapath meanwhile.
                let start = match operands_there {
                    Time::ZERO => early.start(there.max(earliest), sim.now()),
                    _ => there.max(earliest).min(sim.now()),
                };
                let steps = match layer.source {
                    SdpSource::Memory(_) => {
                        output.resize(step, 0);
                        let input = [first_input.pop_front(), Some(self.take_main())];
                        let mut bytes = [0; 2 * MAX_ATOM];
                        let mut places = bytes.chunks_exact_mut(atom);
                        for (place, input) in places.by_ref().zip(input.into_iter().flatten()) {
                            place.copy_from_slice(&input[..atom]);
                        }
                        let input = &bytes[..layer.lanes() * layer.input.bytes()];
                        if !skips_arithmetic {
                            counters += datapath.memory_atom(input, &operands, &mut output);
                        }
                        1
                    }
                    SdpSource::Accumulator => {
                        let room = self.output.room_left() / layer.output_atoms() as usize;
                        let most = if alike { room.clamp(1, (columns - column) as usize) } else { 1 };
                        let before = u64::from(surface) * lines * columns + pixel;
                        let Some(mut sums) = self.take_sums(layer, most, (start, pace), before).await else {
                            ended = true;
                            column += 1;
                            self.end_early(layer);
                            continue;
                        };
                        output.resize(sums.len() * layer.output.bytes(), 0);
                        if !skips_arithmetic {
                            counters += datapath.accumulator_atoms(&mut sums, &operands, &mut output);
                        }
                        sums.len() / layer.lanes()
                    }
                };
                earliest = start + pace * steps as u64;
                occupancy.busy(Busy::Sdp, start, earliest);
                occupancy.count(Work::Sdp, (steps * layer.lanes()) as u64);
                // As if nothing could wait in front of EW: so its results come.
                let start = waiting.as_mut().map_or(start, |waiting| waiting.start(start));
                (started, passed) = (earliest - pace, start + pace * (steps as u64 - 1));
                column += steps as u64;
                let last = surface + 1 == layer.surfaces() && line + 1 == lines && column == columns;
                for (slot, result) in (0..).zip(output.chunks_exact(step)) {
                    let (first, second) = result.split_at(atom);
                    match layer.destination {
                        Destination::Pooling => {
                            let mut passed = Passed { atom: [0; MAX_ATOM], last, abandoned: false };
                            passed.atom[..atom].copy_from_slice(first);
                            self.pooling.put_later(passed, to_pdp.since(sim.now().since(start)));
                        }
                        Destination::Memory(_) if layer.has_output() => {
                            self.output.put_at(start + pace * slot + latency, first);
                            second_output.extend(second);
                        }
                        Destination::Memory(_) => {}
                    }
                }
            }
            for second in second_output.make_contiguous().chunks_exact(atom) {
                self.output.put_at(sim.now() + latency, second);
            }
            second_output.clear();
        }
        if layer.uses_rdma() {
            let of_elementwise = layer.ew.and_then(|stage| stage.operands).map(|_| passed);
            let of_others = waiting.as_ref().and_then(BeforeElementwise::operands_taken);
            self.started.push(started.max(of_elementwise.max(of_others).unwrap_or(Time::ZERO)));
        }
        sim.wait_until(passed).await;
        let last = match layer.destination {
            Destination::Pooling => {
                self.pooling.emptied().await;
                sim.now() + self.common.cycles(timing.sdp.taken_by_pdp)
            }
            Destination::Memory(_) if layer.has_output() => self.output.last_due(),
            Destination::Memory(_) => passed + latency,
        };
        (counters, last)
    }

    /// Takes sums of up to `most` atoms, from `start` on one each `pace`, after those of `before`. `None`: the layer cannot go on, and
    /// nothing of it is left to take.
    async fn take_sums(
        &self,
        layer: &SdpLayer,
        most: usize,
        (start, pace): (Time, Time),
        before: u64,
    ) -> Option<Vec<i32>> {
        let taken = self.accumulator.take(most, start, pace);
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
        self.common.control.warn(format_args!("layer ended early: {wrong}"));
        if !taken.last {
            self.accumulator.drain().await;
        }
        None
    }

    /// What was announced to memory, or to PDP, does not come.
    fn end_early(&self, layer: &SdpLayer) {
        match layer.destination {
            Destination::Pooling => self.pooling.put(Passed::ABANDONED),
            Destination::Memory(_) => self.output.abandon(),
        }
    }

    fn tables(&self) -> Tables {
        let registers = self.common.control.registers().borrow();
        registers.lut().map_or_else(Tables::default, Tables::from)
    }

    /// Puts a layer's counters into its group's registers, those that are switched on.
    fn show(&self, layer: &SdpLayer, group: usize, counters: &Counters) {
        use reg::D_PERF_ENABLE::{PERF_DMA_EN, PERF_LUT_EN, PERF_NAN_INF_COUNT_EN, PERF_SAT_EN};
        let Common { control, rdma, cycle, .. } = &self.common;
        control.registers().borrow_mut().set(group, reg::D_STATUS, counters.unequal.into());
        let stalled = self.output.take_stalled().cycles(*cycle);
        control.count(group, PERF_DMA_EN, &[(reg::D_PERF_WDMA_WRITE_STALL, stalled)]);
        control.count(group, PERF_SAT_EN, &[(reg::D_PERF_OUT_SATURATION, counters.out_saturation)]);
        if layer.output == Precision::Fp16 {
            let nans = [(reg::D_STATUS_NAN_OUTPUT_NUM, counters.nan_output)];
            control.count(group, PERF_NAN_INF_COUNT_EN, &nans);
        }
        if layer.input == Precision::Fp16 && layer.source != SdpSource::Accumulator {
            rdma.count(
                group,
                rdma_reg::D_PERF_ENABLE::PERF_NAN_INF_COUNT_EN,
                &[
                    (rdma_reg::D_STATUS_NAN_INPUT_NUM, counters.input.nan),
                    (rdma_reg::D_STATUS_INF_INPUT_NUM, counters.input.infinite),
                ],
            );
        }
        let lut = &counters.lut;
        control.count(
            group,
            PERF_LUT_EN,
            &[
                (reg::D_PERF_LUT_UFLOW, lut.underflow),
                (reg::D_PERF_LUT_OFLOW, lut.overflow),
                (reg::D_PERF_LUT_HYBRID, lut.hybrid),
                (reg::D_PERF_LUT_LE_HIT, lut.le_hit),
                (reg::D_PERF_LUT_LO_HIT, lut.lo_hit),
            ],
        );
    }
}

/// The memory operands of one stage while a layer runs.
struct StageOperands<'a> {
    feed: &'a Feed,
    /// How much later than the data that they are for they may come.
    later: Time,
    /// Atoms that hold the operands of one atom; none if the stage reads nothing.
    atoms: usize,
    atom: usize,
    per_element: bool,
    order: Order,
    width: u32,
    /// Where cubes take turns, of both pixels.
    buffers: [[u8; MAX_OPERAND_ATOMS * MAX_ATOM]; PAIR as usize],
}

impl<'a> StageOperands<'a> {
    fn of(
        input: &'a Input,
        stream: Option<OperandStream>,
        layer: &SdpLayer,
        later: Time,
    ) -> StageOperands<'a> {
        let atoms = stream.map_or(0, |stream| stream.group_bytes(layer.lanes()) / layer.atom);
        StageOperands {
            feed: &input.feed,
            later,
            atoms: atoms.min(MAX_OPERAND_ATOMS),
            atom: layer.atom,
            per_element: stream.is_some_and(|stream| stream.per_element),
            order: layer.order,
            width: layer.width,
            buffers: [[0; MAX_OPERAND_ATOMS * MAX_ATOM]; PAIR as usize],
        }
    }

    /// Whether the operands of a step are those of the next as well.
    fn lasts(&self) -> bool {
        self.atoms == 0 || !self.per_element
    }

    /// Whether new operands are due at this step of a surface: not where the same pixel of another cube has had them.
    fn due(&self, step: u64) -> bool {
        self.atoms > 0 && if self.per_element { self.order.turn(self.width, step).0 == 0 } else { step == 0 }
    }

    /// Which of the buffers holds them.
    fn slot(&self, step: u64) -> usize {
        if self.per_element { self.order.turn(self.width, step).1 } else { 0 }
    }

    /// Waits until the operands of the next atom are there. Tells when data must have come lest
    /// it waits for them longer than that.
    async fn gather(&mut self, step: u64) -> Time {
        if self.due(step) {
            self.feed.ready().await;
            return self.feed.since().since(self.later);
        }
        Time::ZERO
    }

    /// Takes them as the datapath starts.
    fn take(&mut self, step: u64) {
        if !self.due(step) {
            return;
        }
        let slot = self.slot(step);
        for (index, place) in self.buffers[slot].chunks_exact_mut(self.atom).take(self.atoms).enumerate() {
            let atom = if index == 0 { self.feed.take() } else { self.feed.take_other() };
            place.copy_from_slice(&atom[..self.atom]);
        }
    }

    fn bytes(&self, step: u64) -> &[u8] {
        &self.buffers[self.slot(step)][..self.atoms * self.atom]
    }
}

impl Remembers for Sdp {
    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Sdp { common, hardware: _, main, ahead, bs, bn, ew, output, pooling, accumulator, started } =
            self;
        common.checkpoint(at)?;
        at.at_rest(ahead.borrow().is_empty(), "atoms wait for SDP")?;
        // A feed has its DMA.
        [main, bs, bn, ew].into_iter().try_for_each(|Input { dma: _, feed }| feed.checkpoint(at))?;
        output.checkpoint(at)?;
        pooling.checkpoint(at)?;
        accumulator.checkpoint(at)?;
        started.checkpoint(at)
    }
}
