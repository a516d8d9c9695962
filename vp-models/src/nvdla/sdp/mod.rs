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
//!                                                                    +--> PDP, on the fly (`Handoff`)
//! ```
//!
//! A register group comes in and becomes a [`layer`] (`decode`). `fetch` makes the reads. `pass` checks for
//! each atom whether its operands and its main input are there, and whether there is room behind the datapath.
//! Then the atom starts, and [`compute`] computes its bytes (the last stage's table is [`lut`]). `timing` says
//! what each step requires and how long each part takes. The outputs are writes or atoms for PDP, counters, and
//! the interrupt, which the `engine` raises when all writes are acknowledged.

mod before_elementwise;
pub mod compute;
mod decode;
mod encode;
mod feed;
pub mod fields;
mod float;
pub mod layer;
pub mod lut;
mod operands;
mod pass;
mod timing;

use self::compute::Counters;
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
use crate::bus::axi::ReadStreamConfig;
use crate::bus::{DelayLine, Handoff};
use crate::checkpoint::{Checkpoint, CheckpointError, Remembers};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Time, join};

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
    /// Way of the atoms that go to PDP on the fly.
    pooling: Rc<Handoff<Passed>>,
    /// Way of the sums that come on the fly from the convolution accumulator.
    accumulator: Rc<Delivery>,
    /// Time at which the last atom of each layer that reads memory starts.
    started: DelayLine<Time>,
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
        Ok(layer)
    }

    fn unaligned(layer: &SdpLayer, registers: &Group, rdma: &Group) -> Vec<String> {
        layer.unaligned(registers, rdma)
    }

    fn shape(layer: &SdpLayer) -> String {
        format!("{}x{}x{}", layer.width, layer.height, layer.channels)
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
        let tables = self.tables();
        let (counters, last) = Pass::new(self, layer, &tables).run().await;
        self.show(layer, group, &counters);
        let ends = if layer.has_output() { Time::ZERO } else { last };
        let timing = &self.common.timing.sdp;
        let next = match layer.destination {
            Destination::Pooling => last + self.common.cycles(timing.next_layer_behind_pdp),
            Destination::Memory(_) => last.since(self.common.cycles(timing.next_layer)),
        };
        Streamed { ends, next }
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
        around: &EngineContext<'_>,
        control: Rc<Control>,
        rdma: Rc<Control>,
        accumulator: Rc<Delivery>,
        pooling: Rc<Handoff<Passed>>,
    ) -> Sdp {
        let EngineContext { sim, cycle, config, timing, ports, .. } = *around;
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
            output: WriteDma::new(
                ports,
                "nvdla.sdp",
                write_id::SDP,
                hardware.atom,
                (timing.write_buffer, timing.sdp.write_path),
            ),
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
