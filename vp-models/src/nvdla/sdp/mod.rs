//! SDP, the single data point processor: bias, normalisation, element-wise operations and activation, one element
//! at a time.
//!
//! ```text
//!             SDP_RDMA: reads of a layer that reads memory
//!            main       BS operands   BN operands   EW operands
//!              |             |             |             |         each an `Input`: a read DMA, and a `Feed` that cuts
//!              v             v             v             v         its bursts into atoms
//!  CACC ----> main input --> BS ---------> BN ---------> EW ------> atoms
//!  (`Delivery`: credits)     \_______ `compute::Datapath` ________/   |
//!                                                                    +--> memory, by the write DMA
//!                                                                    +--> PDP, on the fly (`SdpToPdp`)
//! ```
//!
//! A register group comes in and becomes a [`layer`] (`decode`). `fetch` makes the reads. `pass` checks for
//! each atom whether its operands and its main input are there, and whether there is room behind the datapath.
//! Then the atom starts, and [`compute`] computes its bytes (the last stage's table is [`lut`]). `timing` says
//! what each step requires and how long each part takes. The outputs are writes or atoms for PDP, counters, and
//! the interrupt, which the `engine` raises when all writes are acknowledged.

pub mod atom;
mod before_elementwise;
mod before_interface;
pub mod compute;
mod counters;
mod decode;
mod encode;
mod feed;
pub mod fields;
mod float;
pub mod layer;
pub mod lut;
mod main_input;
mod operands;
mod pass;
mod pipeline;
mod pooling_layer;
mod reads_end;
mod results;
mod sums;
mod timing;
mod to_pooling;

use self::atom::AtomCounters;
use self::counters::HeldCounters;
use self::feed::Feed;
use self::layer::{Destination, Hardware, OperandStream, SdpLayer, SdpSource};
use self::lut::Tables;
use self::pass::Pass;
use self::timing::Reads;
use super::control::Control;
use super::conv::delivery::Delivery;
use super::dma::{Atom, Passed, ReadDma, WriteDma};
use super::engine::{Common, Engine, EngineContext, Streamed};
use super::glb::InterruptSource;
use super::nocif::{read_id, write_id};
use super::numeric::Precision;
use super::refused::Refused;
use super::registers::{Group, sdp as reg, sdp_rdma as rdma_reg};
use super::sdp_to_pdp::SdpToPdp;
use crate::bus::DelayLine;
use crate::bus::axi::ReadStreamConfig;
use crate::checkpoint::{Checkpoint, CheckpointError, Remembers};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;
use vp_core::{Either, Time, join, select};

/// Cycles from the earliest start of the next layer's first atom to the interrupt of a layer that writes nothing to memory. RTL: the interrupt
/// leaves with done (`NV_NVDLA_SDP_WDMA_intr`, cfg_mode_quite, intr0_internal), five cycles behind that start as it counts here, and is
/// at the pin six later (`NV_NVDLA_GLB_ic`: done_source, status, core_intr_d, and three of `sync3d`).
const TO_UNWRITTEN_INTERRUPT: u32 = 11;

/// Cycles from the end of a layer whose output goes to PDP to its interrupt: done is eight behind that end as it counts here.
const TO_INTERRUPT_BEHIND_PDP: u32 = 8 + 6;

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
    /// Atoms of the main input that have come out of its FIFO before the engine was enabled, or before their operands, and when.
    ahead: RefCell<VecDeque<(Time, Atom)>>,
    bs: Input,
    bn: Input,
    ew: Input,
    output: Rc<WriteDma>,
    /// Way of the layers that go to PDP on the fly.
    pooling: Rc<SdpToPdp>,
    /// Way of the sums that come on the fly from the convolution accumulator.
    accumulator: Rc<Delivery>,
    /// Time at which the last atom of each layer that reads memory starts.
    started: DelayLine<Time>,
    /// Of MRDMA, BRDMA, NRDMA and ERDMA.
    read_stalls: HeldCounters<4>,
    write_stall: HeldCounters<1>,
    saturation: HeldCounters<1>,
    /// `D_PERF_LUT_*`.
    lut_counts: HeldCounters<5>,
}

impl Engine for Sdp {
    type Layer = SdpLayer;

    const DONE: InterruptSource = InterruptSource::Sdp;

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
                .warn_of_lack("EW is not bypassed, but this configuration has no such stage: data passes");
        }
        let layer = SdpLayer::decode(registers, rdma, &self.hardware)?;
        self.warn_of_untaken(&layer);
        self.warn_of_others_operands(&layer);
        Ok(layer)
    }

    fn unaligned(layer: &SdpLayer, registers: &Group, rdma: &Group) -> Vec<String> {
        layer.unaligned(registers, rdma)
    }

    fn shape(layer: &SdpLayer) -> String {
        format!("{}x{}x{}", layer.width, layer.height, layer.channels)
    }

    async fn fetch(&self, layer: &SdpLayer) {
        let [bs, bn, ew] = operand_streams(layer)
            .map(|stream| Some(Reads::operands(layer, &stream?, &self.common.timing.sdp)));
        let main = timing::main_reads(layer).map(|lines| Reads::of(lines, layer.atom, 1));
        let uses = [main.is_some(), bs.is_some(), bn.is_some(), ew.is_some()];
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
        self.show_read_stalls(uses);
    }

    /// The read DMA is done when all its operands have been taken, and SDP without them (RTL, `NV_NVDLA_SDP_RDMA_eg`, layer_done).
    fn reads_end(&self, layer: &SdpLayer) -> bool {
        self.half_taken(layer).is_none()
    }

    async fn wait_for_reads(&self, layer: &SdpLayer) {
        if let Some(input) = self.half_taken(layer) {
            input.feed.stand().await;
        }
    }

    async fn stream(&self, layer: &SdpLayer, group: usize) -> Streamed {
        let tables = self.tables();
        let (counters, last) = Pass::new(self, layer, &tables).run().await;
        self.show(layer, group, &counters);
        let timing = &self.common.timing.sdp;
        let next = match layer.destination {
            Destination::Pooling => last + self.common.cycles(timing.next_layer_behind_pdp),
            Destination::Memory(_) => last.since(self.common.cycles(timing.next_layer)),
        };
        let is_unwritten = match layer.destination {
            // Where a beat goes into PDP's FIFOs, SDP is done before PDP has taken it: modelled on nvdlav1 alone.
            Destination::Pooling => timing.beat_in_pdp == 1 || timing.stage_registers.is_some(),
            Destination::Memory(_) => !layer.has_output(),
        };
        let interrupt = match layer.destination {
            Destination::Pooling => last + self.common.cycles(TO_INTERRUPT_BEHIND_PDP),
            Destination::Memory(_) => next + self.common.cycles(TO_UNWRITTEN_INTERRUPT),
        };
        let ends = match is_unwritten {
            true => interrupt.since(self.common.cycles(self.common.timing.done_to_interrupt)),
            false => Time::ZERO,
        };
        Streamed { ends, next }
    }

    fn output(&self) -> &WriteDma {
        &self.output
    }

    /// Not layers with operands that no stage takes: those cannot be dropped.
    fn decode_early(&self, registers: &Group, rdma: &Group) -> Option<SdpLayer> {
        let layer = SdpLayer::decode(registers, rdma, &self.hardware).ok()?;
        self.half_taken(&layer).is_none().then_some(layer)
    }

    fn reads_alike(&self, one: &SdpLayer, other: &SdpLayer) -> bool {
        let operands = |layer| {
            operand_streams(layer)
                .map(|stream| Some(Reads::operands(layer, &stream?, &self.common.timing.sdp).shape))
        };
        timing::main_reads(one) == timing::main_reads(other)
            && operand_streams(one) == operand_streams(other)
            && operands(one) == operands(other)
    }

    async fn run_ahead(&self, layer: &SdpLayer) {
        let most = u64::from(self.common.timing.before_enable);
        self.go_on(self.main_atoms(layer).min(most)).await;
    }

    async fn discard(&self, layer: &SdpLayer) {
        let ahead = self.ahead.take().len() as u64;
        let main = self.main.feed.drop_sets((self.main_atoms(layer) - ahead, false));
        let sets = operand_streams(layer).map(|stream| {
            let shape = stream.map(|stream| Reads::operands(layer, &stream, &self.common.timing.sdp).shape);
            shape.map_or((0, false), |shape| (shape.sets(), shape.leaves_later.is_some()))
        });
        let [bs, bn, ew] = [&self.bs, &self.bn, &self.ew].map(|input| &input.feed);
        let [of_bs, of_bn, of_ew] = sets;
        let (bs, bn, ew) = (bs.drop_sets(of_bs), bn.drop_sets(of_bn), ew.drop_sets(of_ew));
        join(join(main, bs), join(bn, ew)).await;
        self.started.push(self.common.sim.now());
    }

    async fn release_partner(&self, registers: &Group) {
        use reg::D_FEATURE_MODE_CFG::{FLYING_MODE, OUTPUT_DST};
        if registers.get(OUTPUT_DST) == OUTPUT_DST::PDP {
            // PDP begins its layer all the same.
            self.pooling.layers.announce();
            self.pooling.atoms.room().await;
            self.pooling.atoms.put(Passed::ABANDONED);
        }
        if registers.flag(FLYING_MODE) {
            // CACC sends its layer all the same: it goes nowhere.
            self.accumulator.drain().await;
        }
    }
}

impl Sdp {
    pub(crate) fn new(
        around: &EngineContext<'_>,
        control: Rc<Control>,
        rdma: Rc<Control>,
        accumulator: Rc<Delivery>,
        pooling: Rc<SdpToPdp>,
    ) -> Sdp {
        let EngineContext { sim, cycle, config, timing, ports, .. } = *around;
        let hardware = Hardware::from(config);
        let input = |name: &str, id, atoms: u32, packing, may_leave_later| {
            let credits = ReadStreamConfig {
                capacity: atoms * hardware.atom as u32,
                lines: u32::MAX,
                credit_return: cycle * u64::from(timing.credit_return),
            };
            let name = format!("nvdla.sdp_rdma.{name}");
            let dma = ReadDma::new(ports, &name, id, credits);
            let places = (packing, may_leave_later);
            Input { feed: Feed::new(sim, &name, cycle, hardware.atom, places, dma.clone()), dma }
        };
        let (credits, packing) = (timing.sdp.operand_credits, timing.sdp.operand_packing);
        Sdp {
            common: Common::new(around, control, rdma),
            hardware,
            ahead: RefCell::default(),
            main: input("main", read_id::SDP, timing.sdp.main_credits, timing.sdp.packing, false),
            bs: input("bs", read_id::SDP_BS, credits, packing, true),
            bn: input("bn", read_id::SDP_BN, credits, packing, true),
            ew: input("ew", read_id::SDP_EW, timing.sdp.elementwise_credits, packing, false),
            output: WriteDma::new(ports, "nvdla.sdp", write_id::SDP, hardware.atom, timing.sdp.write_path),
            pooling,
            accumulator,
            started: DelayLine::new(sim, "nvdla.sdp_rdma.started", Time::ZERO),
            read_stalls: HeldCounters::new([
                rdma_reg::D_PERF_MRDMA_READ_STALL,
                rdma_reg::D_PERF_BRDMA_READ_STALL,
                rdma_reg::D_PERF_NRDMA_READ_STALL,
                rdma_reg::D_PERF_ERDMA_READ_STALL,
            ]),
            write_stall: HeldCounters::new([reg::D_PERF_WDMA_WRITE_STALL]),
            saturation: HeldCounters::new([reg::D_PERF_OUT_SATURATION]),
            lut_counts: HeldCounters::new([
                reg::D_PERF_LUT_UFLOW,
                reg::D_PERF_LUT_OFLOW,
                reg::D_PERF_LUT_HYBRID,
                reg::D_PERF_LUT_LE_HIT,
                reg::D_PERF_LUT_LO_HIT,
            ]),
        }
    }

    /// Returns the first of a layer's inputs of whose operands the stage takes one half.
    fn half_taken(&self, layer: &SdpLayer) -> Option<&Input> {
        let inputs = [&self.bs, &self.bn, &self.ew].into_iter().zip(operand_streams(layer));
        let mut half_taken = inputs.filter(|(_, stream)| stream.is_some_and(|stream| stream.is_half_taken));
        half_taken.next().map(|(input, _)| input)
    }

    /// Says which operands nobody takes.
    fn warn_of_untaken(&self, layer: &SdpLayer) {
        let stages = [
            ("BS", rdma_reg::D_BRDMA_CFG::BRDMA_DATA_USE),
            ("BN", rdma_reg::D_NRDMA_CFG::NRDMA_DATA_USE),
            ("EW", rdma_reg::D_ERDMA_CFG::ERDMA_DATA_USE),
        ];
        let stages = stages.into_iter().zip(operand_streams(layer));
        for ((stage, field), _) in
            stages.filter(|(_, stream)| stream.is_some_and(|stream| stream.is_half_taken))
        {
            self.common.rdma.warn(format_args!(
                "SDP_RDMA.{field} is 2 (both), and {stage} takes one of the two from memory: what it does not take stops the others, and \
                 the read DMA waits for ever (NV_NVDLA_SDP_RDMA_eg, layer_done). It must be what the stage takes: 0 (MUL) or 1 (ALU)"
            ));
        }
    }

    /// Says which operands of several cubes do not come with their pixels on the RTL. SDP_RDMA pairs operands up from a line's first pixel on,
    /// wherever they or the output lie, and where a cube is one pixel, whose surfaces are packed, it takes two surfaces for a pair (RTL, branch
    /// nvdlav1, `NV_NVDLA_SDP_BRDMA_EG_ro.v`, size_of_step, beat_cnt). Here each pixel has its own.
    fn warn_of_others_operands(&self, layer: &SdpLayer) {
        let Some(pairs) = layer.pairs() else { return };
        let stages = ["BS", "BN", "EW"].into_iter().zip(operand_streams(layer));
        for (stage, _) in stages.filter(|(_, stream)| stream.is_some_and(|stream| stream.per_element)) {
            if [layer.width, layer.height] == [1, 1] && layer.surfaces() > 1 {
                self.common.control.warn(format_args!(
                    "{stage} takes operands of each element for several cubes of one pixel with more channels than an atom: SDP_RDMA reads \
                     two surfaces at once, and the vendor's hardware waits for ever (NV_NVDLA_SDP_BRDMA_EG_ro, beat_cnt). Operands must \
                     be of each channel"
                ));
            } else if pairs.has_single_first_pixel(layer.surfaces()) {
                self.common.control.warn(format_args!(
                    "D_DST_* lets lines of several cubes begin at an odd number of atoms, and {stage} takes operands of each element: CACC \
                     pairs pixels by their place in memory, SDP_RDMA operands from a line's first one on, and the vendor's hardware gives \
                     pixels those of others (NV_NVDLA_CACC_delivery_ctrl, is_push_skip; NV_NVDLA_SDP_BRDMA_EG_ro, size_of_step). Address, \
                     line stride and surface stride must be multiples of two atoms, or operands of each channel"
                ));
            }
        }
    }

    /// The atoms of the main input of a layer that reads memory.
    fn main_atoms(&self, layer: &SdpLayer) -> u64 {
        timing::main_reads(layer).map_or(0, |lines| {
            let shape = timing::shape(&lines, self.hardware.atom, 1);
            shape.lines * shape.atoms
        })
    }

    /// Takes atoms of the main input out of the FIFO, one a cycle, until so many wait farther on: for the enable bit, or for operands.
    async fn go_on(&self, most: u64) {
        while (self.ahead.borrow().len() as u64) < most {
            self.main.feed.ready().await;
            let atom = self.main.feed.take();
            self.ahead.borrow_mut().push_back((self.common.sim.now(), atom));
        }
    }

    /// Waits for something, while so many atoms of the main input go on.
    async fn going_on<T>(&self, most: u64, something: impl Future<Output = T>) -> T {
        if most == 0 {
            return something.await;
        }
        let keep_on = async {
            self.go_on(most).await;
            std::future::pending::<Infallible>().await
        };
        match select(something, keep_on).await {
            Either::First(something) => something,
            Either::Second(never) => match never {},
        }
    }

    /// Makes one input's reads, and waits until the datapath has taken all.
    async fn request(&self, input: &Input, reads: Option<Reads>) {
        let Some(Reads { shape, requests }) = reads else { return };
        input.feed.start(shape);
        let stream = input.dma.stream(shape.ram);
        for (address, bytes) in requests {
            stream.request(address, bytes).await;
        }
    }

    fn tables(&self) -> Tables {
        let registers = self.common.control.registers().borrow();
        registers.lut().map_or_else(Tables::default, Tables::from)
    }

    /// Shows for how long the read DMAs that a layer has used have waited. MRDMA's counter is cleared by a layer that does not count, too (RTL,
    /// `NV_NVDLA_SDP_MRDMA_ig.v`, `mrdma_rd_stall_cnt_cen`).
    fn show_read_stalls(&self, uses: [bool; 4]) {
        let Common { rdma, cycle, .. } = &self.common;
        let (group, counts) = rdma.running_counts(rdma_reg::D_PERF_ENABLE::PERF_DMA_EN);
        let stalled = [&self.main, &self.bs, &self.bn, &self.ew].map(|input| input.dma.take_stalled(0));
        let mut counted: [_; 4] =
            std::array::from_fn(|stream| (uses[stream] && counts).then(|| stalled[stream].cycles(*cycle)));
        if uses[0] && !counts {
            counted[0] = Some(0);
        }
        self.read_stalls.end_layer(rdma, group, counted);
    }

    /// Puts a layer's counters into its group's registers, those that are switched on.
    fn show(&self, layer: &SdpLayer, group: usize, counters: &AtomCounters) {
        use reg::D_PERF_ENABLE::{PERF_DMA_EN, PERF_LUT_EN, PERF_NAN_INF_COUNT_EN, PERF_SAT_EN};
        let Common { control, rdma, cycle, .. } = &self.common;
        control.registers().borrow_mut().set(group, reg::D_STATUS, counters.unequal.into());
        let stalled = self.output.take_stalled().cycles(*cycle);
        let present = control.present(group);
        self.write_stall.end_layer(control, group, [present.flag(PERF_DMA_EN).then_some(stalled)]);
        let saturated = present.flag(PERF_SAT_EN).then_some(counters.out_saturation);
        self.saturation.end_layer(control, group, [saturated]);
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
        let counted = [lut.underflow, lut.overflow, lut.hybrid, lut.le_hit, lut.lo_hit];
        let counts = present.flag(PERF_LUT_EN);
        self.lut_counts.end_layer(control, group, counted.map(|count| counts.then_some(count)));
    }
}

/// Returns the operands from memory of BS, BN and EW.
fn operand_streams(layer: &SdpLayer) -> [Option<OperandStream>; 3] {
    [
        layer.bs.and_then(|stage| stage.operands),
        layer.bn.and_then(|stage| stage.operands),
        layer.ew.and_then(|stage| stage.operands),
    ]
}

impl Remembers for Sdp {
    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Sdp {
            common,
            hardware: _,
            main,
            ahead,
            bs,
            bn,
            ew,
            output,
            pooling,
            accumulator,
            started,
            read_stalls,
            write_stall,
            saturation,
            lut_counts,
        } = self;
        common.checkpoint(at)?;
        at.at_rest(ahead.borrow().is_empty(), "atoms wait for SDP")?;
        // A feed has its DMA.
        [main, bs, bn, ew].into_iter().try_for_each(|Input { dma: _, feed }| feed.checkpoint(at))?;
        output.checkpoint(at)?;
        pooling.checkpoint(at)?;
        accumulator.checkpoint(at)?;
        started.checkpoint(at)?;
        if at.is_restoring() {
            read_stalls.restore(&common.rdma);
            write_stall.restore(&common.control);
            saturation.restore(&common.control);
            lut_counts.restore(&common.control);
        }
        Ok(())
    }
}
