//! PDP, the planar data processor: pooling over windows of a surface.
//!
//! [`layer`] decodes a register group, [`compute`] does the arithmetic, `timing` is the timing, and this module
//! has the engine that joins them.

pub mod compute;
mod decode;
mod encode;
mod float;
pub mod layer;
mod timing;
mod unread;

use self::layer::{Hardware, Method, PdpLayer, PdpSource};
use self::timing::{Leaving, Slots};
use self::unread::Unread;
use super::control::Control;
use super::cube::Cube;
use super::dma::{Lines, MAX_ATOM, Passed, ReadDma, WriteDma};
use super::engine::{Common, Engine, EngineContext, Streamed};
use super::float::SpecialCounts;
use super::glb::InterruptSource;
use super::nocif::{read_id, write_id};
use super::numeric::Precision;
use super::refused::Refused;
use super::registers::{Group, pdp as reg, pdp_rdma as rdma_reg};
use super::request_queue::RequestQueue;
use super::sdp_to_pdp::SdpToPdp;
use super::timing::{PdpTiming, ReadAhead};
use crate::bus::axi::{ReadStream, ReadStreamConfig};
use crate::bus::{DelayLine, Handoff};
use crate::checkpoint::{Checkpoint, CheckpointError, Remembers};
use crate::occupancy::{Datapath, Work};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use vp_core::{Event, Time, join};

/// Counts of the statistics registers, in elements; lanes beyond the channels like all others.
#[derive(Default)]
struct Counters {
    /// Counts of what memory held; columns that two strips read count twice.
    read: SpecialCounts,
    made: SpecialCounts,
}

/// Cycles by which averages of fp16 come later than those of integers (RTL, branch nvdlav1): four of the adder of a row (`cal1d_fp16_pool_sum.v`);
/// then, of `NV_NVDLA_PDP_CORE_cal2d.v`, four of the adder of rows, three of the padding's product, four of the sum with it, three of each reciprocal's
/// product and two of the way back to 16 bits, in place of the four in which integers go this way.
const FLOAT_AVERAGE_LATER: u32 = 4 + (4 + 3 + 4 + 3 + 3 + 2) - 4;

/// The engine.
pub(crate) struct Pdp {
    common: Common<PdpLayer>,
    hardware: Hardware,
    input: Rc<ReadDma>,
    /// Queue of requests, where its places do not come back as the room of atoms does.
    requests: Option<RequestQueue>,
    /// Atoms read out of the latency FIFO, ahead of the datapath: a FIFO for each atom of a beat of the bus (RTL, branch nvdlav1,
    /// `NV_NVDLA_PDP_RDMA_eg.v`, ro0 to ro3 and ro4 to ro7).
    ahead: Vec<Handoff<Passed>>,
    /// Atoms that come on the fly from SDP.
    from_sdp: Rc<SdpToPdp>,
    /// Of these, what comes behind a layer's last output.
    unread: Rc<Unread>,
    /// Description of what the layer before left in the datapath.
    left_behind: RefCell<Option<String>>,
    /// Time at which the last input atom of each layer that reads memory starts.
    started: DelayLine<Time>,
    /// Nothing notifies it: a layer that the RTL does not end waits here.
    stands: Event,
    output: Rc<WriteDma>,
}

impl Engine for Pdp {
    type Layer = PdpLayer;

    const DONE: InterruptSource = InterruptSource::Pdp;

    fn common(&self) -> &Common<PdpLayer> {
        &self.common
    }

    fn needs_rdma(&self, registers: &Group) -> bool {
        PdpLayer::needs_rdma(registers)
    }

    fn decode(&self, registers: &Group, rdma: &Group) -> Result<PdpLayer, Refused> {
        PdpLayer::decode(registers, rdma, &self.hardware)
    }

    fn unaligned(layer: &PdpLayer, registers: &Group, rdma: &Group) -> Vec<String> {
        layer.unaligned(registers, rdma)
    }

    fn shape(layer: &PdpLayer) -> String {
        format!("{}x{}x{}", layer.horizontal.input, layer.vertical.input, layer.channels)
    }

    async fn fetch(&self, layer: &PdpLayer) {
        let PdpSource::Memory(source) = layer.source else { return };
        let stream = self.input.stream(source.ram);
        let request = async {
            for (address, bytes) in timing::reads(layer, source).flat_map(Lines::requests) {
                if let Some(requests) = &self.requests {
                    requests.enter().await;
                }
                stream.request(address, bytes).await;
            }
        };
        let take = async {
            for lines in timing::reads(layer, source) {
                for _ in 0..u64::from(lines.height) * u64::from(lines.surfaces) {
                    self.take_line(stream, lines.width).await;
                }
            }
        };
        join(request, take).await;
        let last = self.started.next().await;
        let next = self.common.cycles(self.common.timing.pdp.next_read);
        self.common.sim.wait_until(last + next).await;
        let stalled = self.input.take_stalled(0).cycles(self.common.cycle);
        let enable = rdma_reg::D_PERF_ENABLE::DMA_EN;
        self.common.rdma.add_running_to_total(enable, rdma_reg::D_PERF_READ_STALL, stalled);
    }

    fn output(&self) -> &WriteDma {
        &self.output
    }

    async fn stream(&self, layer: &PdpLayer, group: usize) -> Streamed {
        let counters = self.pool(layer).await;
        let PdpTiming { cycles_per_atom, input_to_done, next_layer, .. } = self.common.timing.pdp;
        let ends = match layer.source {
            PdpSource::Memory(_) => {
                self.common.sim.now() + self.common.cycles(cycles_per_atom + input_to_done)
            }
            PdpSource::Sdp => Time::ZERO,
        };
        // RTL, `NV_NVDLA_PDP_wdma`: wdma_done, from which the registers are the next layer's.
        let next = self.output.handed_over().await.since(self.common.cycles(next_layer));
        let next = next.max(ends.since(self.common.cycles(5)));
        let stalled = self.output.take_stalled().cycles(self.common.cycle);
        let enable = reg::D_PERF_ENABLE::DMA_EN;
        self.common.control.add_to_total(group, enable, reg::D_PERF_WRITE_STALL, stalled);
        self.common.control.show(
            group,
            &[
                (reg::D_NAN_INPUT_NUM, counters.read.nan),
                (reg::D_INF_INPUT_NUM, counters.read.infinite),
                (reg::D_NAN_OUTPUT_NUM, counters.made.nan),
            ],
        );
        Streamed { ends, next }
    }

    fn decode_early(&self, registers: &Group, rdma: &Group) -> Option<PdpLayer> {
        PdpLayer::decode(registers, rdma, &self.hardware).ok()
    }

    fn reads_alike(&self, one: &PdpLayer, other: &PdpLayer) -> bool {
        match (one.source, other.source) {
            (PdpSource::Memory(of_one), PdpSource::Memory(of_other)) => {
                timing::reads(one, of_one).eq(timing::reads(other, of_other))
            }
            _ => false,
        }
    }

    async fn discard(&self, layer: &PdpLayer) {
        for InputAtom { column, .. } in input_atoms(layer) {
            let lane = self.lane(column);
            lane.ready().await;
            lane.take();
            if column == 0 {
                self.begin_request(self.common.sim.now());
            }
        }
        self.started.push(self.common.sim.now());
    }

    async fn release_partner(&self, registers: &Group) {
        if PdpLayer::needs_rdma(registers) {
            return;
        }
        self.unread.gone().await;
        self.from_sdp.layers.begin();
        // SDP sends its layer all the same: it goes nowhere.
        loop {
            self.from_sdp.atoms.ready().await;
            if self.from_sdp.atoms.take().is_none_or(|passed| passed.last) {
                return;
            }
        }
    }
}

impl Pdp {
    pub(crate) fn new(
        around: &EngineContext<'_>,
        control: Rc<Control>,
        rdma: Rc<Control>,
        from_sdp: Rc<SdpToPdp>,
    ) -> Pdp {
        let EngineContext { sim, cycle, config, timing, ports, .. } = *around;
        let hardware = Hardware::from(config);
        let credits = ReadStreamConfig {
            capacity: timing.pdp.credits * hardware.atom as u32,
            lines: if timing.pdp.request_return.is_some() { u32::MAX } else { timing.pdp.lines },
            credit_return: cycle * u64::from(timing.credit_return + timing.pdp.credits_later),
        };
        let back = cycle * u64::from(timing.pdp.read_ahead.back);
        let lane = |lane| {
            let depth = timing.pdp.read_ahead.depth + timing.pdp.read_ahead.between;
            Handoff::new(sim, format!("nvdla.pdp.ahead{lane}"), depth as usize, cycle, back)
        };
        Pdp {
            common: Common::new(around, control, rdma),
            hardware,
            input: ReadDma::new(ports, "nvdla.pdp_rdma", read_id::PDP, credits),
            requests: timing
                .pdp
                .request_return
                .map(|_| RequestQueue::new(sim, "nvdla.pdp_rdma.requests", timing.pdp.lines)),
            ahead: (0..timing.pdp.read_ahead.lanes).map(lane).collect(),
            unread: Unread::new(sim, cycle * u64::from(timing.pdp.cycles_per_atom), from_sdp.clone()),
            from_sdp,
            left_behind: RefCell::default(),
            started: DelayLine::new(sim, "nvdla.pdp_rdma.started", Time::ZERO),
            stands: sim.event("nvdla.pdp.windows_it_does_not_end"),
            output: WriteDma::new(ports, "nvdla.pdp", write_id::PDP, hardware.atom, timing.pdp.write_path),
        }
    }

    /// Gives back the place of a request, whose line the datapath begins at `begun`.
    fn begin_request(&self, begun: Time) {
        if let (Some(requests), Some(cycles)) = (&self.requests, self.common.timing.pdp.request_return) {
            requests.leave(begun + self.common.cycles(cycles));
        }
    }

    /// Returns the FIFO of an atom, by its place in its line: a request's data is told of in beats from its first atom on.
    fn lane(&self, column: u32) -> &Handoff<Passed> {
        &self.ahead[column as usize % self.ahead.len()]
    }

    /// Between two layers from memory the register in front of the datapath holds an atom more (RTL, `NV_NVDLA_PDP_CORE_preproc.v`), but on nvdlav1,
    /// where it holds a part of one.
    fn read_ahead(&self, between_layers: bool) {
        let ReadAhead { depth, back, between, .. } = self.common.timing.pdp.read_ahead;
        let depth = depth + if between_layers { between } else { 0 };
        self.ahead.iter().for_each(|lane| lane.set_depth(depth as usize, self.common.cycles(back)));
    }

    /// Takes a line out of the latency FIFO, a beat a cycle, when all its atoms have room; the datapath sees them a cycle later.
    async fn take_line(&self, stream: &ReadStream, width: u32) {
        for first in (0..width).step_by(self.ahead.len()) {
            let lanes = &self.ahead[..self.ahead.len().min((width - first) as usize)];
            for lane in lanes {
                lane.room().await;
            }
            for lane in lanes {
                let mut atom = [0; MAX_ATOM];
                stream.take(&mut atom[..self.hardware.atom]).await;
                lane.put(Passed { atom, ..Passed::EMPTY });
            }
            self.common.sim.wait(self.common.cycle).await;
        }
    }

    /// Streams one layer: gathers the input as it comes, and makes each output in its slot.
    async fn pool(&self, layer: &PdpLayer) -> Counters {
        let Common { sim, timing, cycle, occupancy, skips_arithmetic, .. } = &self.common;
        let pace = self.common.cycles(timing.pdp.cycles_per_atom);
        let atom = self.hardware.atom;
        let is_float = layer.precision == Precision::Fp16;
        let later = match layer.method {
            Method::Average(_) if is_float => FLOAT_AVERAGE_LATER,
            _ => 0,
        };
        let latency = self.common.cycles(timing.pdp.output + later);
        let (width, height) = (layer.horizontal.input, layer.vertical.input);
        // One line more than a window has: the last outputs of a line may come during the next one.
        let mut input = Cube::rolling(width, height, layer.surfaces(), atom, layer.vertical.kernel + 1);
        if layer.source == PdpSource::Sdp {
            self.from_sdp.layers.begin();
        }
        let opened = sim.now() + self.common.cycles(timing.pdp.opens);
        let begin = timing::begin(&timing.pdp);
        let mut slots = Slots::new(layer, timing.pdp.cycles_per_atom);
        let mut outputs = output_atoms(layer);
        let mut made = Vec::new();
        self.output.start(layer.destination.ram, timing::writes(layer), pace);
        let mut counters = Counters::default();
        let lanes = layer.lanes() as u64;
        let mut first = true;
        let mut early = self.common.early(layer.source != PdpSource::Sdp);
        if let Some(why) = self.stopped(layer) {
            self.common.control.warn(why);
            self.stands.wait().await;
        }
        // Counted by their sizes: a layer may have more atoms than can be gone through at once.
        let planes = |lines: u32| u64::from(lines) * u64::from(layer.surfaces());
        let (inputs, results): (Vec<_>, Vec<_>) =
            layer.strips().map(|strip| (strip.input.len() as u64, strip.output.len() as u64)).unzip();
        let all = inputs.iter().sum::<u64>() * planes(layer.vertical.input);
        let mut left = results.iter().sum::<u64>() * planes(layer.vertical.output);
        let mut taken = 0;
        for InputAtom { surface, x, y, column, is_last_of_line } in input_atoms(layer) {
            let source = match layer.source {
                PdpSource::Memory(_) => self.lane(column),
                PdpSource::Sdp => &self.from_sdp.atoms,
            };
            let room = self.output.begins(begin, latency, sim).await;
            source.ready().await;
            let there = source.since().unwrap_or(sim.now());
            let mut start = early.start(there, sim.now()).max(room);
            let from_memory = layer.source != PdpSource::Sdp;
            if !from_memory {
                start = start.max(opened);
            }
            if first && from_memory {
                self.begin_request(there);
            }
            if std::mem::take(&mut first) && from_memory {
                self.read_ahead(false);
                // The first one finds the register between FIFO and datapath empty, unless it has come while the layer before was under way.
                if there >= self.common.free() {
                    start += *cycle;
                }
                sim.wait_until(start).await;
            }
            let slot = *cycle * slots.feed(start.cycles(*cycle), &mut made);
            occupancy.busy(Datapath::Pdp, slot, slot + pace);
            occupancy.count(Work::Pdp, lanes);
            sim.wait_until(slot).await;
            let goes_ahead = timing.pdp.goes_ahead && layer.source == PdpSource::Sdp;
            let leaves = |passed: &Passed| {
                let Leaving { first, last } = slots.leaves();
                let place = if passed.counts_by_first { first } else { last };
                if goes_ahead { (*cycle * place, *cycle * last) } else { (slot, slot) }
            };
            let Some(Passed { atom: input_atom, abandoned, .. }) = source.take_as_of(leaves) else { break };
            taken += 1;
            if taken == all && from_memory {
                self.started.push(slot);
            } else if is_last_of_line && from_memory {
                // The queue is read with a line's last element, whatever has come of the next (RTL, `NV_NVDLA_PDP_RDMA_eg.v`, tran_rdy).
                self.begin_request(slot + pace.since(*cycle));
            }
            if abandoned {
                self.common.control.warn("layer ended early: SDP's, which should feed it, was refused");
                self.output.abandon();
                break;
            }
            if is_float && from_memory {
                counters.read += SpecialCounts::of(&input_atom[..atom]);
            }
            input.atom_mut(surface, x, y).copy_from_slice(&input_atom[..atom]);
            for slot in made.drain(..) {
                let Some((surface, x, y)) = outputs.next() else { break };
                let mut output = [0; MAX_ATOM];
                if !skips_arithmetic {
                    compute::output_atom(layer, &input, surface, x, y, &mut output[..atom]);
                }
                if is_float {
                    counters.made += SpecialCounts::of(&output[..atom]);
                }
                self.output.put_at(*cycle * slot + latency, &output);
                left -= 1;
            }
            if left == 0 && layer.source == PdpSource::Sdp {
                self.unread.leave(all - taken);
                break;
            }
        }
        self.read_ahead(true);
        self.leave_behind(layer);
        counters
    }

    /// Returns the reason for which the RTL does not end a layer, or ends it with other bytes.
    fn stopped(&self, layer: &PdpLayer) -> Option<String> {
        let (shape, unread) = (Pdp::shape(layer), self.unread.atoms());
        if let Some(left) = self.left_behind.take() {
            return Some(format!("layer {shape} begins behind {left}. It waits for ever"));
        }
        if unread > 0 && layer.source == PdpSource::Sdp {
            return Some(format!(
                "layer {shape} begins while SDP has yet to send {unread} atoms of the layer before, which no window of that one reads: \
                 the RTL hangs, as the end of that input comes behind this layer's beginning (NV_NVDLA_PDP_CORE_preproc, \
                 waiting_for_op_en). Let SDP's layer end before this one is enabled. It waits for ever"
            ));
        }
        layer.stands()
    }

    /// Notes what a layer leaves in the datapath.
    fn leave_behind(&self, layer: &PdpLayer) {
        let rows = layer.vertical.unread();
        self.left_behind.replace((rows > 0).then(|| {
            format!(
                "layer {}, whose last {rows} lines no window reads: the RTL ends that one with a line still in the datapath \
                 (NV_NVDLA_PDP_wdma, reading_done_flag; NV_NVDLA_PDP_CORE_cal2d, wr_line_dat_done), and hangs or leaves other bytes in \
                 the one behind it, until reset. Let PDP.{} end with the last window",
                Pdp::shape(layer),
                reg::D_DATA_CUBE_IN_HEIGHT::CUBE_IN_HEIGHT
            )
        }));
    }
}

/// An atom of a layer's input, and its place in its strip's line.
struct InputAtom {
    surface: u32,
    x: u32,
    y: u32,
    column: u32,
    is_last_of_line: bool,
}

/// The input atoms of a layer in the order in which they come: strip, surface, line, column.
fn input_atoms(layer: &PdpLayer) -> impl Iterator<Item = InputAtom> + use<> {
    let (surfaces, height) = (layer.surfaces(), layer.vertical.input);
    layer.strips().flat_map(move |strip| {
        let Range { start: first, end } = strip.input;
        raster(surfaces, height, strip.input).map(move |(surface, x, y)| InputAtom {
            surface,
            x,
            y,
            column: x - first,
            is_last_of_line: x + 1 == end,
        })
    })
}

/// The output atoms of a layer in the order in which they are made.
fn output_atoms(layer: &PdpLayer) -> impl Iterator<Item = (u32, u32, u32)> + use<> {
    let (surfaces, height) = (layer.surfaces(), layer.vertical.output);
    layer.strips().flat_map(move |strip| raster(surfaces, height, strip.output))
}

fn raster(surfaces: u32, height: u32, columns: Range<u32>) -> impl Iterator<Item = (u32, u32, u32)> {
    (0..surfaces).flat_map(move |surface| {
        let columns = columns.clone();
        (0..height).flat_map(move |y| columns.clone().map(move |x| (surface, x, y)))
    })
}

impl Remembers for Pdp {
    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // What comes from SDP is SDP's.
        let Pdp {
            common,
            hardware: _,
            input,
            requests,
            ahead,
            from_sdp: _,
            unread,
            left_behind,
            started,
            stands: _,
            output,
        } = self;
        common.checkpoint(at)?;
        input.checkpoint(at)?;
        requests.iter().try_for_each(|requests| requests.checkpoint(at))?;
        ahead.iter().try_for_each(|lane| lane.checkpoint(at))?;
        unread.checkpoint(at)?;
        at.place(left_behind)?;
        started.checkpoint(at)?;
        output.checkpoint(at)
    }
}
