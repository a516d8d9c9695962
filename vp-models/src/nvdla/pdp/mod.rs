//! PDP, the planar data processor: pooling over windows of a surface.
//!
//! [`layer`] decodes a register group, [`compute`] does the arithmetic, `timing` is its shape in time, and
//! [`Pdp`] is the engine: one process that is PDP_RDMA, one that reads ahead, and one that is PDP.

pub mod compute;
pub mod layer;
mod timing;

use self::layer::{Hardware, Layer, Source};
use self::timing::Slots;
use super::control::Control;
use super::cube::Cube;
use super::dma::{Atom, MAX_ATOM, ReadDma, WriteDma};
use super::engine::Surroundings;
use super::glb;
use super::interrupts::Interrupts;
use super::nocif::{read_id, write_id};
use super::refused::Refused;
use super::timing::Timing;
use crate::bus::Handoff;
use crate::bus::axi::{ReadStream, ReadStreamConfig};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Event, Sim, Time, join};

/// The engine.
pub struct Pdp {
    sim: Sim,
    cycle: Time,
    timing: Timing,
    hardware: Hardware,
    control: Rc<Control>,
    rdma: Rc<Control>,
    interrupts: Rc<Interrupts>,
    input: Rc<ReadDma>,
    /// Atoms read out of the latency FIFO, ahead of the datapath.
    ahead: Handoff<Atom>,
    /// Atoms that come on the fly from SDP.
    from_sdp: Rc<Handoff<Atom>>,
    output: Rc<WriteDma>,
    layers: RefCell<VecDeque<(usize, Result<Layer, Refused>)>>,
    layer_decoded: Event,
}

impl Pdp {
    /// Starts the engine's processes, which own it.
    pub(crate) fn start(
        around: &Surroundings<'_>,
        control: Rc<Control>,
        rdma: Rc<Control>,
        from_sdp: Rc<Handoff<Atom>>,
    ) {
        let Surroundings { sim, cycle, config, timing, ports, interrupts } = *around;
        let hardware = Hardware::from(config);
        let credits = ReadStreamConfig {
            capacity: timing.pdp.credits * hardware.atom as u32,
            // Data is popped a cycle after it was on the bus.
            credit_return: cycle * u64::from(timing.credit_return + 1),
        };
        let pdp = Rc::new(Pdp {
            sim: sim.clone(),
            cycle,
            hardware,
            control,
            rdma,
            interrupts: interrupts.clone(),
            input: ReadDma::new(ports, "nvdla.pdp_rdma", read_id::PDP, credits),
            ahead: Handoff::new(
                sim,
                "nvdla.pdp.ahead",
                timing.pdp.read_ahead as usize,
                Time::ZERO,
                Time::ZERO,
            ),
            from_sdp,
            output: WriteDma::new(sim, ports, "nvdla.pdp", write_id::PDP, hardware.atom, timing.write_buffer),
            layers: RefCell::default(),
            layer_decoded: sim.event("nvdla.pdp.layer"),
            timing: timing.clone(),
        });
        sim.server("nvdla.pdp_rdma", pdp.clone().fetch());
        sim.server("nvdla.pdp", pdp.run());
    }

    /// PDP_RDMA: decodes enabled groups in their order and reads what they need.
    async fn fetch(self: Rc<Self>) {
        let mut group = 0;
        loop {
            let registers = self.control.enabled(group).await;
            let needs_rdma = Layer::needs_rdma(&registers);
            let (rdma, enabled) = match needs_rdma {
                true => self.rdma.turn().await,
                false => (self.rdma.registers().borrow().group(0).clone(), self.sim.now()),
            };
            let layer = Layer::decode(&registers, &rdma, &self.hardware);
            self.layers.borrow_mut().push_back((group, layer.clone()));
            self.layer_decoded.notify_delta();
            if needs_rdma {
                if let Ok(layer) = layer {
                    // PDP_RDMA starts by its own enable bit, which may have come before PDP's.
                    let start = enabled + self.cycle * u64::from(self.timing.dma_start);
                    self.sim.wait_until(start).await;
                    self.read(&layer).await;
                }
                self.rdma.finish();
            }
            group = 1 - group;
        }
    }

    async fn read(&self, layer: &Layer) {
        let Source::Memory(source) = layer.source else { return };
        let stream = self.input.stream(source.ram).clone();
        let atoms: u64 = timing::reads(layer, source)
            .map(|lines| u64::from(lines.width) * u64::from(lines.height) * u64::from(lines.surfaces))
            .sum();
        let request = async {
            for lines in timing::reads(layer, source) {
                self.input.request(lines).await;
            }
        };
        join(request, self.read_ahead(&stream, atoms)).await;
    }

    /// Takes atoms out of the latency FIFO, one a cycle, a cycle after they were on the bus.
    async fn read_ahead(&self, stream: &ReadStream, atoms: u64) {
        for index in 0..atoms {
            let mut atom = [0; MAX_ATOM];
            self.ahead.room().await;
            stream.take(&mut atom[..self.hardware.atom]).await;
            self.sim.wait(self.cycle).await;
            if index == 0 {
                // The first one finds the FIFO's output register empty.
                self.sim.wait(self.cycle).await;
            }
            self.ahead.put(atom);
        }
    }

    /// PDP: takes a decoded layer, streams it, reports it done, takes the next.
    async fn run(self: Rc<Self>) {
        loop {
            let next = self.layers.borrow_mut().pop_front();
            let Some((group, layer)) = next else {
                self.layer_decoded.wait().await;
                continue;
            };
            match layer {
                Ok(layer) => {
                    let label =
                        format!("{}x{}x{}", layer.horizontal.input, layer.vertical.input, layer.channels);
                    self.control.begin(&label, group);
                    self.stream(&layer).await;
                    self.output.drained().await;
                    self.sim.wait(self.cycle * u64::from(self.timing.done_to_interrupt)).await;
                    self.control.end(&label, group);
                }
                Err(refused) => {
                    self.control.warn(&format!("layer refused: {refused}"));
                    self.sim.wait(self.cycle * u64::from(self.timing.done_to_interrupt)).await;
                }
            }
            self.control.finish();
            self.interrupts.raise(glb::Source::Pdp(group));
        }
    }

    /// Streams one layer: gathers the input as it comes, and makes each output in its slot.
    async fn stream(&self, layer: &Layer) {
        let source = match layer.source {
            Source::Memory(_) => &self.ahead,
            Source::Sdp => &*self.from_sdp,
        };
        let atom = self.hardware.atom;
        let latency = self.cycle * u64::from(self.timing.pdp.output);
        let (width, height) = (layer.horizontal.input, layer.vertical.input);
        // One line more than a window: outputs at a line's end may be made while the next line comes in.
        let lines = layer.vertical.kernel + 1;
        let mut input = Cube::rolling(width, height, layer.surfaces(), atom, lines);
        let mut slots = Slots::new(layer, self.timing.pdp.cycles_per_atom);
        let mut outputs = output_atoms(layer);
        let mut made = Vec::new();
        self.output.start(layer.destination.ram, timing::writes(layer));
        for (surface, x, y) in input_atoms(layer) {
            source.ready().await;
            let slot = self.cycle * slots.feed(self.sim.now().cycles(self.cycle), &mut made);
            self.sim.wait_until(slot).await;
            if let Some(taken) = source.take() {
                input.atom_mut(surface, x, y).copy_from_slice(&taken[..atom]);
            }
            for slot in made.drain(..) {
                let Some((surface, x, y)) = outputs.next() else { break };
                let mut output = [0; MAX_ATOM];
                compute::output_atom(layer, &input, surface, x, y, &mut output[..atom]);
                self.output.put_at(self.cycle * slot + latency, output);
            }
        }
    }
}

/// The input atoms of a layer in the order in which they come: strip, surface, line, column.
fn input_atoms(layer: &Layer) -> impl Iterator<Item = (u32, u32, u32)> + use<> {
    let (surfaces, height) = (layer.surfaces(), layer.vertical.input);
    layer.strips().flat_map(move |strip| raster(surfaces, height, strip.input))
}

/// The output atoms of a layer in the order in which they are made.
fn output_atoms(layer: &Layer) -> impl Iterator<Item = (u32, u32, u32)> + use<> {
    let (surfaces, height) = (layer.surfaces(), layer.vertical.output);
    layer.strips().flat_map(move |strip| raster(surfaces, height, strip.output))
}

fn raster(
    surfaces: u32,
    height: u32,
    columns: std::ops::Range<u32>,
) -> impl Iterator<Item = (u32, u32, u32)> {
    (0..surfaces).flat_map(move |surface| {
        let columns = columns.clone();
        (0..height).flat_map(move |y| columns.clone().map(move |x| (surface, x, y)))
    })
}
