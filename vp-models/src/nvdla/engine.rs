//! The common part of all engines: two processes that take enabled register groups in their order.
//!
//! One process is the engine's RDMA. It decodes a group as soon as the group is enabled, and reads what the
//! layer needs, possibly while the previous layer still runs, and before the engine itself is enabled. The
//! other process is the engine itself: it streams decoded layers one after the other and reports each done. The
//! trait [`Engine`] has what differs between engines.
//!
//! # Where to add an engine
//!
//! A folder `nvdla/<engine>` (`layer`, `compute`, `timing`, `mod`) with `impl Engine`, as `rubik`; its registers; its interrupt in
//! `glb/interrupt.rs`, client ids in `nocif.rs`, presence in `config.rs`, needs in `awaited.rs`; `start` and the unit's arm in `device.rs`; figures in
//! `timing.rs`; a `Datapath` in `occupancy.rs`. What it passes on the fly is a `bus::Handoff`.

use super::config::Config;
use super::control::Control;
use super::dma::{MemoryPorts, WriteDma, WriteMark};
use super::glb::InterruptSource;
use super::interrupts::Interrupts;
use super::refused::Refused;
use super::registers::Group;
use super::timing::Timing;
use crate::bus::DelayLine;
use crate::checkpoint::{Checkpoint, CheckpointError, Remembers};
use crate::occupancy::Occupancy;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::rc::Rc;
use vp_core::{Either, Event, Sim, Time, join, select};

/// Context that the device gives its engines.
pub(crate) struct EngineContext<'a> {
    pub(crate) sim: &'a Sim,
    pub(crate) cycle: Time,
    pub(crate) config: &'a Config,
    pub(crate) timing: &'a Timing,
    pub(crate) ports: &'a MemoryPorts,
    pub(crate) interrupts: &'a Rc<Interrupts>,
    /// Threads of the host that may share an engine's arithmetic.
    pub(crate) threads: NonZeroUsize,
    /// True if results are left out: all is done in its time, and zeros come out.
    pub(crate) skips_arithmetic: bool,
    pub(crate) occupancy: &'a Rc<Occupancy>,
}

/// A layer, or why the group's registers are none, with what they say.
type Decoded<Layer> = Result<Layer, Box<(Refused, Group)>>;

/// State that every engine has.
pub(crate) struct Common<Layer> {
    pub(crate) sim: Sim,
    pub(crate) cycle: Time,
    pub(crate) timing: Timing,
    /// The engine's own registers.
    pub(crate) control: Rc<Control>,
    /// Registers of the engine's RDMA.
    pub(crate) rdma: Rc<Control>,
    /// Results are left out.
    pub(crate) skips_arithmetic: bool,
    pub(crate) occupancy: Rc<Occupancy>,
    interrupts: Rc<Interrupts>,
    /// Layers decoded, their reads under way, in the order in which they run.
    decoded: RefCell<VecDeque<(usize, Decoded<Layer>)>>,
    layer_decoded: Event,
    /// True if the engine has a layer, or one waits for it.
    busy: Cell<bool>,
    /// The earliest start of the present layer's first atom.
    start: Cell<Time>,
    /// Time at which the engine was done with the layer before. Where a write waits, that is known later.
    free: Cell<Time>,
    /// Layers that have streamed, whose writes may not all be acknowledged.
    streamed: DelayLine<FinishingLayer<Layer>>,
    /// Layers whose writes are acknowledged, on the way to their interrupt.
    done: DelayLine<FinishingLayer<Layer>>,
}

/// A layer that has streamed.
pub(crate) struct Streamed {
    /// Time at which the layer ends at the earliest, if its writes are acknowledged by then.
    pub(crate) ends: Time,
    /// Time at which the engine takes its next layer.
    pub(crate) next: Time,
}

/// A layer whose engine may have the next already.
struct FinishingLayer<Layer> {
    group: usize,
    layer: Option<Layer>,
    written: WriteMark,
    ends: Time,
}

/// Takes the first atoms of a layer whose data came before the engine was enabled: they have gone as far as the first
/// stage that looks at the enable bit.
pub(crate) struct PrefetchedLayer {
    bound: Time,
    /// True if the next atom may still start earlier than now.
    behind: bool,
}

impl PrefetchedLayer {
    /// Returns the start of an atom that has been there since `there`, and behind which there is room: now, or earlier.
    pub(crate) fn start(&mut self, there: Time, now: Time) -> Time {
        let start = if self.behind { there.max(self.bound).min(now) } else { now };
        self.behind &= start < now;
        start
    }
}

impl<Layer> Common<Layer> {
    pub(crate) fn new(around: &EngineContext<'_>, control: Rc<Control>, rdma: Rc<Control>) -> Common<Layer> {
        Common {
            sim: around.sim.clone(),
            cycle: around.cycle,
            timing: around.timing.clone(),
            skips_arithmetic: around.skips_arithmetic,
            occupancy: around.occupancy.clone(),
            interrupts: around.interrupts.clone(),
            decoded: RefCell::default(),
            layer_decoded: around.sim.work_event(format!("{}.layer", control.name())),
            busy: Cell::new(false),
            start: Cell::new(Time::ZERO),
            free: Cell::new(Time::ZERO),
            streamed: DelayLine::new(around.sim, format!("{}.streamed", control.name()), Time::ZERO),
            done: DelayLine::new(
                around.sim,
                format!("{}.done", control.name()),
                around.cycle * u64::from(around.timing.done_to_interrupt),
            ),
            control,
            rdma,
        }
    }

    /// A number of clock cycles as time.
    pub(crate) fn cycles(&self, n: u32) -> Time {
        self.cycle * u64::from(n)
    }

    /// Returns how the present layer's first atoms start; `possible` unless something else decides.
    pub(crate) fn early(&self, possible: bool) -> PrefetchedLayer {
        PrefetchedLayer { bound: self.start.get(), behind: possible }
    }

    /// Returns the time at which the engine was done with the layer before.
    pub(crate) fn free(&self) -> Time {
        self.free.get()
    }

    /// Gives the engine a layer.
    fn hand_over(&self, group: usize, layer: Decoded<Layer>) {
        self.decoded.borrow_mut().push_back((group, layer));
        self.busy.set(true);
        self.layer_decoded.notify_delta();
    }

    /// The next layer to run, with its group.
    async fn next(&self) -> (usize, Decoded<Layer>) {
        loop {
            if let Some(next) = self.decoded.borrow_mut().pop_front() {
                return next;
            }
            self.layer_decoded.wait().await;
        }
    }
}

/// One engine.
pub(crate) trait Engine: Sized + 'static {
    /// Hardware layer of the engine.
    type Layer: Clone;

    /// Source of the interrupt that the engine raises when a layer is done.
    const DONE: InterruptSource;

    fn common(&self) -> &Common<Self::Layer>;

    /// Returns true if a layer that these registers describe reads memory.
    fn needs_rdma(&self, registers: &Group) -> bool;

    fn decode(&self, registers: &Group, rdma: &Group) -> Result<Self::Layer, Refused>;

    /// The errors in the addresses and strides of its cubes, each as a sentence.
    fn unaligned(layer: &Self::Layer, registers: &Group, rdma: &Group) -> Vec<String>;

    /// Width, height and channels, for people.
    fn shape(layer: &Self::Layer) -> String;

    /// Reads what the layer needs; ends when the engine has taken all of it.
    async fn fetch(&self, layer: &Self::Layer);

    /// Returns false if the read DMA is not done though the engine has taken all that it uses: then the read DMA never has another layer.
    fn reads_end(&self, _layer: &Self::Layer) -> bool {
        true
    }

    /// Waits for the end of a layer's reads that do not end.
    async fn wait_for_reads(&self, _layer: &Self::Layer) {}

    /// Runs the layer; ends when memory holds its result.
    async fn stream(&self, layer: &Self::Layer, group: usize) -> Streamed;

    /// Returns the write DMA to which results go.
    fn output(&self) -> &WriteDma;

    /// The layer, if its RDMA can start by itself: all that it reads follows from its own registers, which agree with
    /// what the engine's registers are by now.
    fn decode_early(&self, registers: &Group, rdma: &Group) -> Option<Self::Layer>;

    /// Returns true if two layers read the same.
    fn reads_alike(&self, one: &Self::Layer, other: &Self::Layer) -> bool;

    /// Does what the datapath does before the engine is enabled.
    async fn run_ahead(&self, _layer: &Self::Layer) {}

    /// Takes what was read for a layer that does not come.
    async fn discard(&self, layer: &Self::Layer);

    /// A group's registers were refused: keeps an engine that is chained to this one from waiting for ever.
    async fn release_partner(&self, registers: &Group);
}

/// Starts an engine's processes, which own it with what comes back.
pub(crate) fn start<E: Engine + Remembers>(engine: E) -> Rc<dyn Remembers> {
    let engine = Rc::new(engine);
    let common = engine.common();
    let (sim, fetch, run) = (&common.sim, common.rdma.name(), common.control.name());
    sim.server(fetch, fetch_layers(engine.clone()));
    sim.server(run, run_layers(engine.clone()));
    sim.server(format!("{}.writes", common.control.name()), await_writes(engine.clone()));
    sim.server(format!("{}.ends", common.control.name()), end_layers(engine.clone()));
    engine
}

/// The RDMA: takes enabled groups in their order, decodes them and reads what they need.
async fn fetch_layers<E: Engine>(engine: Rc<E>) {
    let Common { sim, control, rdma, timing, .. } = engine.common();
    // All groups before have ended.
    let mut group = control.registers().borrow().consumer();
    let mut unending = None;
    loop {
        let registers = match select(control.enabled(group), early(&engine, group)).await {
            Either::First(registers) => registers,
            Either::Second(layer) => match fetch_early(&engine, group, &layer).await {
                Some(registers) => registers,
                None => {
                    group = 1 - group;
                    continue;
                }
            },
        };
        let reads = engine.needs_rdma(&registers);
        if let (true, Some(layer)) = (reads, &unending) {
            engine.wait_for_reads(layer).await;
        }
        let (rdma_registers, enabled) = if reads { rdma.turn().await } else { rdma.idle() };
        let layer = engine.decode(&registers, &rdma_registers);
        if let Ok(layer) = &layer {
            warn_of_unaligned(&engine, layer, &registers, &rdma_registers);
        }
        let layer = layer.map_err(|refused| Box::new((refused, registers)));
        engine.common().hand_over(group, layer.clone());
        if reads {
            if let Ok(layer) = layer {
                // It starts by its own enable bit, which may have come before the engine's.
                sim.wait_until(enabled + engine.common().cycles(timing.dma_start)).await;
                engine.fetch(&layer).await;
                if !engine.reads_end(&layer) {
                    unending = Some(layer);
                }
            }
            if unending.is_none() {
                rdma.finish();
            }
        }
        group = 1 - group;
    }
}

fn warn_of_unaligned<E: Engine>(engine: &Rc<E>, layer: &E::Layer, registers: &Group, rdma: &Group) {
    for sentence in E::unaligned(layer, registers, rdma) {
        engine.common().control.warn(sentence);
    }
}

/// Waits until the RDMA is enabled and would put its first address on the bus, and the engine is not: hardware's RDMA
/// does not wait for it.
async fn early<E: Engine>(engine: &Rc<E>, group: usize) -> E::Layer {
    let Common { sim, control, rdma, timing, .. } = engine.common();
    if !Rc::ptr_eq(control, rdma) {
        let (registers, enabled) = rdma.coming().await;
        sim.wait_until(enabled + engine.common().cycles(timing.dma_start)).await;
        let present = control.present(group);
        if engine.needs_rdma(&present)
            && let Some(layer) = engine.decode_early(&present, &registers)
        {
            return layer;
        }
    }
    std::future::pending().await
}

/// Reads for a layer whose engine is not enabled yet. If what the engine is then enabled for reads something else, what was
/// read is dropped, and the registers come back.
async fn fetch_early<E: Engine>(engine: &Rc<E>, group: usize, early: &E::Layer) -> Option<Group> {
    let Common { control, rdma, busy, .. } = engine.common();
    let (rdma_registers, _) = rdma.turn().await;
    let decide = async {
        let ahead = async {
            // What a layer before has not taken stands in the way.
            if !busy.get() {
                engine.run_ahead(early).await;
            }
            std::future::pending().await
        };
        let registers = match select(control.enabled(group), ahead).await {
            Either::First(registers) => registers,
            Either::Second(never) => never,
        };
        if engine.needs_rdma(&registers)
            && let Ok(layer) = engine.decode(&registers, &rdma_registers)
            && engine.reads_alike(early, &layer)
        {
            warn_of_unaligned(engine, &layer, &registers, &rdma_registers);
            engine.common().hand_over(group, Ok(layer));
            return None;
        }
        engine.discard(early).await;
        Some(registers)
    };
    let ((), left) = join(engine.fetch(early), decide).await;
    if left.is_some() {
        rdma.put_back();
    } else {
        rdma.finish();
    }
    left
}

/// The engine: takes a decoded layer, streams it, reports it done, takes the next.
async fn run_layers<E: Engine>(engine: Rc<E>) {
    let common = engine.common();
    let Common { sim, control, timing, start, busy, decoded, .. } = common;
    let mut free = Time::ZERO;
    loop {
        let (group, layer) = common.next().await;
        let ahead = common.cycles(timing.before_enable);
        start.set(free.max(control.enabled_at(group) - ahead));
        let written = || engine.output().mark();
        let (ending, next) = match layer {
            Ok(layer) => {
                control.begin(|| E::shape(&layer), group);
                let Streamed { ends, next } = engine.stream(&layer, group).await;
                let ending = FinishingLayer { group, layer: Some(layer), written: written(), ends };
                (ending, next)
            }
            Err(refused) => {
                // Ends as hardware would, with its interrupt, so that a driver does not wait for ever.
                let (refused, registers) = *refused;
                control.refuse(&refused);
                engine.release_partner(&registers).await;
                let ends = sim.now();
                (FinishingLayer { group, layer: None, written: written(), ends }, ends)
            }
        };
        common.streamed.push(ending);
        sim.wait_until(next).await;
        common.free.set(next);
        free = sim.now();
        busy.set(!decoded.borrow().is_empty());
        control.finish();
    }
}

/// Waits until all of a layer's writes are acknowledged: the engine has its next layer meanwhile (RTL, `NV_NVDLA_SDP_WDMA_intr.v` and
/// others: a FIFO of interrupts that wait for the write's response, behind dp2reg_done, which switches the register groups).
async fn await_writes<E: Engine>(engine: Rc<E>) {
    let Common { sim, streamed, done, .. } = engine.common();
    loop {
        let ending = streamed.next().await;
        engine.output().acknowledged(&ending.written).await;
        sim.wait_until(ending.ends).await;
        done.push(ending);
    }
}

/// Reports layers done.
async fn end_layers<E: Engine>(engine: Rc<E>) {
    let Common { control, interrupts, done, .. } = engine.common();
    loop {
        let FinishingLayer { group, layer, .. } = done.next().await;
        if let Some(layer) = &layer {
            control.end(|| E::shape(layer), group);
        }
        interrupts.raise(E::DONE.of_group(group));
    }
}

impl<Layer> Common<Layer> {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // Registers are their units'.
        let Common {
            sim: _,
            cycle: _,
            timing: _,
            control,
            rdma: _,
            skips_arithmetic: _,
            occupancy: _,
            interrupts: _,
            decoded,
            layer_decoded: _,
            busy,
            start,
            free,
            streamed,
            done,
        } = self;
        at.part(&format!("{}.engine", control.name()))?;
        at.at_rest(decoded.borrow().is_empty(), "a layer waits for the engine")?;
        at.cell(busy)?;
        at.cell(start)?;
        at.cell(free)?;
        streamed.checkpoint(at)?;
        done.checkpoint(at)
    }
}
