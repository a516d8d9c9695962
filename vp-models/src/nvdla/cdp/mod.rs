//! CDP, the channel data processor: normalisation of each element by its neighbours in other channels.
//!
//! [`layer`] decodes a register group, [`compute`] does the arithmetic ([`lut`]: its lookup table), `timing` is its
//! shape in time, and here is the engine that joins them.

pub mod compute;
pub mod counters;
mod float;
pub mod layer;
pub mod lut;
mod timing;
mod window;

use self::compute::Datapath;
use self::counters::Counters;
use self::layer::{CdpLayer, Hardware};
use self::lut::Tables;
use self::timing::{Rows, Steps, Transfer};
use super::control::Control;
use super::dma::{Atom, MAX_ATOM, ReadDma, WriteDma};
use super::engine::{Common, Engine, EngineContext, Streamed};
use super::glb::InterruptSource;
use super::nocif::{read_id, write_id};
use super::refused::Refused;
use super::registers::{Group, cdp as reg, cdp_rdma as rdma_reg};
use super::request_queue::RequestQueue;
use crate::bus::DelayLine;
use crate::bus::axi::ReadStreamConfig;
use crate::checkpoint::{Checkpoint, CheckpointError, Remembers};
use crate::occupancy::{Datapath as Busy, Work};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Event, Time, join};

/// The engine.
pub(crate) struct Cdp {
    common: Common<CdpLayer>,
    hardware: Hardware,
    input: Rc<ReadDma>,
    /// Atoms between the latency FIFO and the datapath, with the time at which they came.
    spread: RefCell<VecDeque<(Time, Atom)>>,
    arrived: Event,
    /// Times from which the free places between the latency FIFO and the datapath may be used, of each atom of a beat.
    places: RefCell<Vec<VecDeque<Time>>>,
    freed: Event,
    /// Queue of requests, where its places do not come back as the room of atoms does.
    requests: Option<RequestQueue>,
    /// Time at which the last input element of each layer enters the datapath.
    taken: DelayLine<Time>,
    output: Rc<WriteDma>,
}

impl Engine for Cdp {
    type Layer = CdpLayer;

    const DONE: InterruptSource = InterruptSource::Cdp;

    fn common(&self) -> &Common<CdpLayer> {
        &self.common
    }

    fn needs_rdma(&self, _: &Group) -> bool {
        true
    }

    fn decode(&self, registers: &Group, rdma: &Group) -> Result<CdpLayer, Refused> {
        CdpLayer::decode(registers, rdma, &self.hardware)
    }

    fn unaligned(layer: &CdpLayer, registers: &Group, rdma: &Group) -> Vec<String> {
        layer.unaligned(registers, rdma)
    }

    fn shape(layer: &CdpLayer) -> String {
        format!("{}x{}x{}", layer.width, layer.height, layer.channels)
    }

    async fn fetch(&self, layer: &CdpLayer) {
        let stream = self.input.stream(layer.source.ram);
        let request = async {
            for (address, bytes) in timing::lines(layer, layer.source) {
                if let Some(requests) = &self.requests {
                    requests.enter().await;
                }
                stream.request(address, bytes).await;
            }
        };
        let spread = async {
            for transfer in timing::transfers(layer) {
                let beat = self.common.timing.cdp.beat;
                for first in (0..transfer.width).step_by(beat as usize) {
                    let atoms = beat.min(transfer.width - first) as usize;
                    self.place(atoms).await;
                    for _ in 0..atoms {
                        let mut atom = [0; MAX_ATOM];
                        stream.take(&mut atom[..self.hardware.atom]).await;
                        self.spread.borrow_mut().push_back((self.common.sim.now(), atom));
                    }
                    self.arrived.notify_delta();
                    self.common.sim.wait(self.common.cycle).await;
                }
            }
        };
        join(request, spread).await;
        let last = self.taken.next().await;
        let next = self.common.cycles(self.common.timing.cdp.next_read);
        self.common.sim.wait_until(last + next).await;
        let stalled = self.input.take_stalled(0).cycles(self.common.cycle);
        let enable = rdma_reg::D_PERF_ENABLE::DMA_EN;
        self.common.rdma.add_running_to_total(enable, rdma_reg::D_PERF_READ_STALL, stalled);
    }

    fn output(&self) -> &WriteDma {
        &self.output
    }

    async fn stream(&self, layer: &CdpLayer, group: usize) -> Streamed {
        if let Some((field, [start, seen])) = layer.lut.start_beyond_index(layer.precision) {
            self.common.control.warn(format_args!(
                "CDP.{field} and its high part say {start}, of which the index unit sees the low bits only, and begins the table at \
                 {seen}; slopes begin at {start} (NV_NVDLA_CDP_DP_LUT_CTRL_unit, reg2dp_X_offset)"
            ));
        }
        let counters = self.normalise(layer).await;
        let next =
            self.output.handed_over().await.since(self.common.cycles(self.common.timing.cdp.next_layer));
        self.show(group, &counters);
        Streamed { ends: Time::ZERO, next }
    }

    fn decode_early(&self, registers: &Group, rdma: &Group) -> Option<CdpLayer> {
        CdpLayer::decode(registers, rdma, &self.hardware).ok()
    }

    fn reads_alike(&self, one: &CdpLayer, other: &CdpLayer) -> bool {
        let size = |layer: &CdpLayer| (layer.width, layer.height, layer.surfaces());
        size(one) == size(other) && one.source.places_alike(&other.source, one.height, one.surfaces())
    }

    async fn discard(&self, layer: &CdpLayer) {
        for transfer in timing::transfers(layer) {
            for x in 0..transfer.width {
                self.next().await;
                self.free(x, self.common.sim.now());
            }
            self.free_line(self.common.sim.now());
        }
        self.taken.push(self.common.sim.now());
    }

    async fn release_partner(&self, _: &Group) {}
}

impl Cdp {
    pub(crate) fn new(around: &EngineContext<'_>, control: Rc<Control>, rdma: Rc<Control>) -> Cdp {
        let EngineContext { sim, cycle, config, timing, ports, .. } = *around;
        let hardware = Hardware::from(config);
        let credits = ReadStreamConfig {
            capacity: timing.cdp.credits * hardware.atom as u32,
            lines: if timing.cdp.line_return.is_some() { u32::MAX } else { timing.cdp.lines },
            credit_return: cycle * u64::from(timing.credit_return - timing.cdp.credits_sooner),
        };
        Cdp {
            common: Common::new(around, control, rdma),
            hardware,
            input: ReadDma::new(ports, "nvdla.cdp_rdma", read_id::CDP, credits),
            spread: RefCell::default(),
            arrived: sim.event("nvdla.cdp.spread.arrived"),
            places: RefCell::new(vec![
                vec![Time::ZERO; timing.cdp.spread as usize].into();
                timing.cdp.beat as usize
            ]),
            freed: sim.event("nvdla.cdp.spread.freed"),
            requests: timing
                .cdp
                .line_return
                .map(|_| RequestQueue::new(sim, "nvdla.cdp_rdma.requests", timing.cdp.lines)),
            taken: DelayLine::new(sim, "nvdla.cdp_rdma.taken", Time::ZERO),
            output: WriteDma::new(ports, "nvdla.cdp", write_id::CDP, hardware.atom, timing.cdp.write_path),
        }
    }

    /// Waits for places between latency FIFO and datapath for a beat of so many atoms, and takes them.
    async fn place(&self, atoms: usize) {
        for atom in 0..atoms {
            loop {
                let free = self.places.borrow_mut()[atom].pop_front();
                match free {
                    Some(free) => break self.common.sim.wait_until(free).await,
                    None => self.freed.wait().await,
                }
            }
        }
    }

    /// Gives back the place of a transfer's atom `x`, which may be used from `free` on.
    fn free(&self, x: u32, free: Time) {
        let mut places = self.places.borrow_mut();
        let atom = x as usize % places.len();
        places[atom].push_back(free);
        self.freed.notify_delta();
    }

    /// Gives back the place of a transfer's request, which leaves the queue when the transfer before has entered the datapath, at `entered`.
    fn free_line(&self, entered: Time) {
        if let (Some(requests), Some(cycles)) = (&self.requests, self.common.timing.cdp.line_return) {
            requests.leave(entered + self.common.cycles(cycles));
        }
    }

    /// Waits for the next atom; tells also when it came.
    async fn next(&self) -> (Time, Atom) {
        loop {
            if let Some(next) = self.spread.borrow_mut().pop_front() {
                return next;
            }
            self.arrived.wait().await;
        }
    }

    /// Streams one layer, transfer by transfer.
    async fn normalise(&self, layer: &CdpLayer) -> Counters {
        let Common { sim, timing, cycle, occupancy, .. } = &self.common;
        let tables = self.tables();
        let mut block = Block::new(layer, &tables);
        block.skips_arithmetic = self.common.skips_arithmetic;
        let mut steps = Steps::new(layer, &timing.cdp);
        let mut counters = Counters::default();
        self.output.start(layer.destination.ram, timing::lines(layer, layer.destination), *cycle);
        let mut transfers = timing::transfers(layer).peekable();
        let mut entered_before = None;
        while let Some(transfer) = transfers.next() {
            let mut first = 0;
            for x in 0..transfer.width {
                let mut room = Time::ZERO;
                if x == 0 {
                    let (begin, latency) = steps.begin(transfer.width);
                    room = self.output.begins(begin, *cycle * latency, sim).await;
                }
                let (arrival, atom) = self.next().await;
                let (arrival, free) = (arrival.max(room).cycles(*cycle), self.common.free().cycles(*cycle));
                let entry = steps.feed(arrival, free, transfer.width);
                if x == 0 {
                    first = entry;
                    // A layer's first one leaves it as soon as the atom is there, even if the datapath is not free.
                    self.free_line(*cycle * entered_before.unwrap_or(arrival + 1));
                }
                sim.wait_until(*cycle * entry).await;
                block.put(transfer, x, atom);
            }
            counters += block.compute(transfer);
            let is_last = transfers.peek().is_none();
            let Rows { freed, entered, written } = steps.transfer(transfer.width, is_last);
            entered_before = Some(entered);
            if is_last {
                self.taken.push(*cycle * entered);
            }
            occupancy.busy(Busy::Cdp, *cycle * first, *cycle * steps.next());
            occupancy.count(Work::Cdp, u64::from(transfer.width) * layer.lanes() as u64);
            for (x, free) in (0..).zip(freed) {
                self.free(x, *cycle * free);
            }
            for first in written {
                for (index, atom) in block.results.pop_front().into_iter().flatten().enumerate() {
                    self.output.put_at(*cycle * (first + index as u64 / u64::from(timing.cdp.beat)), &atom);
                }
            }
        }
        counters
    }

    fn tables(&self) -> Tables {
        let registers = self.common.control.registers().borrow();
        registers.lut().map_or_else(Tables::default, Tables::from)
    }

    /// Puts a layer's counters into its group's registers, those that are switched on.
    fn show(&self, group: usize, counters: &Counters) {
        let Common { control, cycle, .. } = &self.common;
        if self.hardware.counts_saturation {
            let saturation = counters.out_saturation.min(u32::MAX.into()) as u32;
            control.registers().borrow_mut().set(group, reg::D_OUT_SATURATION, saturation);
        }
        control.show(
            group,
            &[
                (reg::D_NAN_INPUT_NUM, counters.input.nan),
                (reg::D_INF_INPUT_NUM, counters.input.infinite),
                (reg::D_NAN_OUTPUT_NUM, counters.nan_output),
            ],
        );
        let stalled = self.output.take_stalled().cycles(*cycle);
        control.add_to_total(group, reg::D_PERF_ENABLE::DMA_EN, reg::D_PERF_WRITE_STALL, stalled);
        let lut = &counters.lut;
        // Whatever D_PERF_ENABLE.LUT_EN says: nothing reads it (RTL, `NV_NVDLA_cdp.v`, `reg2dp_lut_en`).
        control.show(
            group,
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

/// The block of pixels that runs through the surfaces.
struct Block<'a> {
    datapath: Datapath<'a>,
    surfaces: u32,
    atom: usize,
    skips_arithmetic: bool,
    /// Results depend on the surface behind.
    looks_ahead: bool,
    /// Each pixel's atom of the last three surfaces that came, the newest last.
    input: [Vec<Atom>; 3],
    /// Finished transfers that have not left.
    results: VecDeque<Vec<Atom>>,
}

impl<'a> Block<'a> {
    fn new(layer: &'a CdpLayer, tables: &'a Tables) -> Block<'a> {
        Block {
            datapath: Datapath::new(layer, tables),
            surfaces: layer.surfaces(),
            atom: layer.atom,
            skips_arithmetic: false,
            looks_ahead: layer.square_sum,
            input: Default::default(),
            results: VecDeque::new(),
        }
    }

    fn put(&mut self, transfer: Transfer, x: u32, atom: Atom) {
        if x == 0 {
            self.input.rotate_left(1);
            if transfer.surface == 0 {
                self.input = Default::default();
            }
            self.input[2].clear();
        }
        self.input[2].push(atom);
    }

    /// Computes what the newest surface completes: the one before it, and at the end itself. Without windows each
    /// is complete at once.
    fn compute(&mut self, newest: Transfer) -> Counters {
        let mut counters = Counters::default();
        let [oldest, middle, last] = &self.input;
        if self.looks_ahead
            && let Some(surface) = newest.surface.checked_sub(1)
        {
            let (result, counted) = self.surface(surface, oldest, middle, last);
            self.results.push_back(result);
            counters += counted;
        }
        if newest.surface + 1 == self.surfaces || !self.looks_ahead {
            let (result, counted) = self.surface(newest.surface, middle, last, &[]);
            self.results.push_back(result);
            counters += counted;
        }
        counters
    }

    /// One surface's atoms; its neighbours are empty where there is none.
    fn surface(
        &self,
        surface: u32,
        before: &[Atom],
        here: &[Atom],
        behind: &[Atom],
    ) -> (Vec<Atom>, Counters) {
        let mut counters = Counters::default();
        let result = here.iter().enumerate().map(|(x, here)| {
            let mut output = [0; MAX_ATOM];
            if self.skips_arithmetic {
                return output;
            }
            counters += self.datapath.atom(
                surface,
                before.get(x).map(|atom| &atom[..self.atom]),
                &here[..self.atom],
                behind.get(x).map(|atom| &atom[..self.atom]),
                &mut output[..self.atom],
            );
            output
        });
        (result.collect(), counters)
    }
}

impl Remembers for Cdp {
    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Cdp { common, hardware: _, input, spread, arrived: _, places, freed: _, requests, taken, output } =
            self;
        common.checkpoint(at)?;
        input.checkpoint(at)?;
        at.at_rest(spread.borrow().is_empty(), "atoms wait for CDP")?;
        at.fixed(&mut places.borrow_mut())?;
        requests.iter().try_for_each(|requests| requests.checkpoint(at))?;
        taken.checkpoint(at)?;
        output.checkpoint(at)
    }
}
