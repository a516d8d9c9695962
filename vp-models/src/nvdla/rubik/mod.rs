//! RUBIK, the data reshape engine: contraction after a deconvolution, feature cubes to planes, and back.
//!
//! [`layer`] decodes a register group, `compute` reorders bytes, `timing` is the timing, and this module has
//! the engine that joins them.

mod compute;
pub mod layer;
mod timing;

use self::layer::{Hardware, Mode, RubikLayer};
use self::timing::{Drain, Fill, Freed};
use super::control::Control;
use super::dma::{MAX_ATOM, ReadDma, WriteDma};
use super::engine::{Common, Engine, EngineContext, Streamed};
use super::glb::InterruptSource;
use super::nocif::{read_id, write_id};
use super::refused::Refused;
use super::registers::{Group, rbk as reg};
use super::timing::Timing;
use crate::bus::axi::ReadStreamConfig;
use crate::checkpoint::{Checkpoint, CheckpointError, Remembers};
use crate::occupancy::{Datapath, Work};
use std::rc::Rc;
use vp_core::{Time, join};

/// Banks of the register file.
const BANKS: usize = 2;

/// The engine. Its RDMA has no registers of its own.
pub(crate) struct Rubik {
    common: Common<RubikLayer>,
    hardware: Hardware,
    input: Rc<ReadDma>,
    output: Rc<WriteDma>,
}

impl Engine for Rubik {
    type Layer = RubikLayer;

    const DONE: InterruptSource = InterruptSource::Rubik;

    fn common(&self) -> &Common<RubikLayer> {
        &self.common
    }

    /// One enable bit is for both halves: reads start with the layer.
    fn needs_rdma(&self, _: &Group) -> bool {
        false
    }

    fn decode(&self, registers: &Group, _: &Group) -> Result<RubikLayer, Refused> {
        RubikLayer::decode(registers, &self.hardware)
    }

    /// Returns no errors: RUBIK's registers have no bits below 32 bytes.
    fn unaligned(_: &RubikLayer, _: &Group, _: &Group) -> Vec<String> {
        Vec::new()
    }

    fn shape(layer: &RubikLayer) -> String {
        let mode = match layer.mode {
            Mode::Contract { .. } => "contract",
            Mode::Split => "split",
            Mode::Merge => "merge",
        };
        format!("{mode} {}x{}x{}", layer.width, layer.height, layer.channels)
    }

    async fn fetch(&self, _: &RubikLayer) {}

    fn output(&self) -> &WriteDma {
        &self.output
    }

    async fn stream(&self, layer: &RubikLayer, group: usize) -> Streamed {
        let Common { sim, timing, cycle, control, .. } = &self.common;
        sim.wait(self.common.cycles(timing.dma_start)).await;
        let (requests, ()) = join(self.read(layer), self.reorder(layer)).await;
        // dp2reg_done switches the groups; responses to the last writes are on their way.
        let left = self.output.handed_over().await.since(self.common.cycles(timing.rubik.output));
        // The RTL counts the cycle in which a read request is taken as one in which it waits.
        let read = self.input.take_stalled(0).cycles(*cycle) + requests;
        let written = self.output.take_stalled().cycles(*cycle);
        let counts = [(reg::D_PERF_READ_STALL, read), (reg::D_PERF_WRITE_STALL, written)];
        control.count(group, reg::D_PERF_ENABLE::PERF_EN, &counts);
        Streamed { ends: Time::ZERO, next: left + self.common.cycles(timing.rubik.next_layer) }
    }

    /// RUBIK has one enable bit for both.
    fn decode_early(&self, _: &Group, _: &Group) -> Option<RubikLayer> {
        None
    }

    fn reads_alike(&self, _: &RubikLayer, _: &RubikLayer) -> bool {
        false
    }

    async fn discard(&self, _: &RubikLayer) {}

    async fn release_partner(&self, _: &Group) {}
}

impl Rubik {
    pub(crate) fn new(around: &EngineContext<'_>, control: Rc<Control>) -> Rubik {
        let EngineContext { cycle, config, timing, ports, .. } = *around;
        let hardware = Hardware::from(config);
        let own = Timing { done_to_interrupt: timing.rubik.done_to_interrupt, ..timing.clone() };
        let credits = ReadStreamConfig {
            capacity: timing.rubik.credits * 2 * hardware.atom as u32,
            lines: u32::MAX,
            credit_return: cycle * u64::from(timing.credit_return),
        };
        Rubik {
            common: Common::new(&EngineContext { timing: &own, ..*around }, control.clone(), control),
            hardware,
            input: ReadDma::new(ports, "nvdla.rbk", read_id::RUBIK, credits),
            output: WriteDma::new(ports, "nvdla.rbk", write_id::RUBIK, hardware.atom, None),
        }
    }

    /// Asks for all of a layer; gives the number of requests.
    async fn read(&self, layer: &RubikLayer) -> u64 {
        let stream = self.input.stream(layer.source.ram);
        let mut requests = 0;
        for tile in timing::tiles(layer) {
            for (address, bytes) in tile.reads(*layer) {
                stream.request(address, bytes).await;
                requests += 1;
            }
        }
        requests
    }

    /// Fills and drains the register file, tile by tile.
    async fn reorder(&self, layer: &RubikLayer) {
        let Common { sim, timing, cycle, occupancy, .. } = &self.common;
        let stream = self.input.stream(layer.source.ram);
        let mut drain = Drain::new(layer, &timing.rubik);
        let mut fill = Fill::new();
        let mut freed = [Freed::default(); BANKS];
        let (mut bytes, mut due) = (Vec::new(), Vec::new());
        self.output.start(layer.destination.ram, timing::writes(layer), *cycle);
        for (index, tile) in timing::tiles(layer).enumerate() {
            let bank = &mut freed[index % BANKS];
            sim.wait_until(*cycle * bank.free).await;
            bytes.clear();
            for (_, row) in tile.reads(*layer) {
                let mut left = row as usize;
                while left > 0 {
                    // Two atoms a cycle, not across rows.
                    sim.wait_until(*cycle * fill.room()).await;
                    let taken = left.min(2 * layer.atom);
                    let at = bytes.len();
                    bytes.resize(at + taken, 0);
                    stream.take(&mut bytes[at..]).await;
                    fill.beat(sim.now().cycles(*cycle), bank.emptied);
                    occupancy.busy(Datapath::Rubik, sim.now(), sim.now() + *cycle);
                    occupancy.count(Work::Rubik, taken as u64);
                    sim.wait(*cycle).await;
                    left -= taken;
                }
            }
            let output = compute::reorder(layer, &tile, &bytes);
            due.clear();
            let full = (sim.now().cycles(*cycle), fill.readable());
            *bank = drain.tile(layer, &tile, full, &mut due);
            for (bytes, due) in output.chunks(layer.atom).zip(&due) {
                let mut atom = [0; MAX_ATOM];
                atom[..layer.atom].copy_from_slice(bytes);
                self.output.room().await;
                self.output.put_at(*cycle * *due, &atom);
            }
        }
    }
}

impl Remembers for Rubik {
    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Rubik { common, hardware: _, input, output } = self;
        common.checkpoint(at)?;
        input.checkpoint(at)?;
        output.checkpoint(at)
    }
}
