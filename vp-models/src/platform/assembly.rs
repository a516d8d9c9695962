//! Builds a platform from its description and holds it.

use super::activity::{PortActivity, Watch};
use super::carried::DeviceDescription;
use super::description::{Arithmetic, Description, MemoryDescription};
use super::description_error::DescriptionError;
use super::memory_port::MemoryPort;
use super::observers::{LayerRecord, LayerRecorder, RegisterRecord};
use super::warnings::Warned;
use crate::activity::Activity;
use crate::bus::axi::{AxiConfig, Latency, Traffic};
use crate::bus::irq::IrqLine;
use crate::bus::register::{OutsideRegisters, RegisterBus};
use crate::bus::stream::InputStream;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::counters::{Statistics, Tally};
use crate::device::{Device, Identity, MemoryInterface, OpenWork, Wiring};
use crate::faults::Faults;
use crate::fifos::Fifos;
use crate::memory::dram::DramWatch;
use crate::memory::{CountedBytes, MemoryBudget, OutOfMemory, Ram, Replay};
use crate::nvdla::registers::RegisterMap;
use crate::occupancy::{BufferFill, Datapath, Occupancy};
use crate::port::{Port, PortKind};
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use vp_core::observe::{EventHash, Warning, What};
use vp_core::{Name, Rest, ResumeError, Sim, Simulation, Stop, Time};

/// Version of what goes into the event hash, and how. It grows when the same run comes to another hash: event hashes of programs that
/// differ in it say nothing of each other.
pub const EVENT_HASH_VERSION: u32 = 2;

/// Reason for which the interrupt never comes when nothing moves and [`Platform::unfinished`] has nothing to say.
pub const NOTHING_RUNS: &str = "no group is enabled and no job is queued";

/// Parts that a reset makes anew.
struct Hardware {
    irq: IrqLine,
    device: Box<dyn Device>,
    memories: Vec<MemoryPort>,
}

impl Hardware {
    fn build(
        sim: &Sim,
        description: &Description,
        occupancy: &Rc<Occupancy>,
        budget: &Arc<MemoryBudget>,
    ) -> Result<Hardware, DescriptionError> {
        let described = &description.device;
        let mut memories = Vec::new();
        for (name, memory, axi) in memories_of(description) {
            let ram = Ram::within(memory.range(), budget.clone());
            let port = MemoryPort::new(sim, name, axi, ram, &memory.model);
            memories.push(port.map_err(|source| DescriptionError::Model { memory: name, source })?);
        }

        for memory in &memories {
            memory.interconnect().set_fifos(occupancy.fifos().clone());
        }
        let irq = IrqLine::new(sim, "irq0");
        let wiring = Wiring {
            sim,
            cycle: description.period,
            threads: description.threads,
            skips_arithmetic: description.arithmetic == Arithmetic::Skipped,
            primary: memories[0].interconnect().clone(),
            secondary: memories.get(1).map(|memory| memory.interconnect().clone()),
            interrupt: irq.clone(),
            occupancy: occupancy.clone(),
        };
        let device = described.build(wiring);
        Ok(Hardware { irq, device, memories })
    }
}

/// A platform, ready to run.
pub struct Platform {
    description: Description,
    simulation: Simulation,
    hardware: Hardware,
    chronicle: Rc<LayerRecorder>,
    tally: Rc<Tally>,
    hash: Rc<EventHash>,
    occupancy: Rc<Occupancy>,
    budget: Arc<MemoryBudget>,
    watch: OnceCell<Watch>,
    /// Listeners that are told of resets.
    on_reset: RefCell<Vec<OnReset>>,
    faults: Rc<Faults>,
}

/// Listener that is told of a reset, and when it was.
type OnReset = Box<dyn Fn(Time)>;

impl Platform {
    /// Builds what `description` says. Its RAM takes as much memory of the host as is written to.
    pub fn build(description: &Description) -> Result<Platform, DescriptionError> {
        Platform::build_within(description, MemoryBudget::unlimited())
    }

    /// Builds a platform as [`Platform::build`] does, with a limit to the memory of the host that its RAM takes. A write that would need
    /// more is refused: a burst gets an error on the bus, with a warning.
    pub fn build_within(
        description: &Description,
        budget: MemoryBudget,
    ) -> Result<Platform, DescriptionError> {
        description.check()?;
        Platform::assemble(Simulation::new(), description, budget)
    }

    fn assemble(
        simulation: Simulation,
        description: &Description,
        budget: MemoryBudget,
    ) -> Result<Platform, DescriptionError> {
        let sim = simulation.sim();
        let (hash, chronicle) = (Rc::new(EventHash::default()), Rc::new(LayerRecorder::new(&sim)));
        sim.observe(hash.clone());
        sim.observe(chronicle.clone());
        let tally = Rc::new(Tally::default());
        sim.observe(tally.clone());
        let (occupancy, budget) = (Rc::default(), Arc::new(budget));
        let hardware = Hardware::build(&sim, description, &occupancy, &budget)?;
        hardware.memories.iter().for_each(|memory| memory.observe(&sim));
        let on_reset = RefCell::default();
        let (description, watch, faults) = (description.clone(), OnceCell::new(), Rc::new(Faults::new(&sim)));
        Ok(Platform {
            description,
            simulation,
            hardware,
            chronicle,
            tally,
            hash,
            occupancy,
            budget,
            watch,
            on_reset,
            faults,
        })
    }

    /// Puts registers, models and memories back to power-on, where they are in time. Time and observers stay: they are told
    /// that what had begun is over and that the line is low. Counters, [`Platform::layers`] and
    /// [`Platform::event_hash`] begin anew. Whoever listens to ports or has a memory behind one is to connect again.
    ///
    /// # Errors
    /// The memories or the device cannot be built, which they could before; the platform is of no use then.
    pub fn reset(&mut self) -> Result<(), DescriptionError> {
        self.rebuild(Time::ZERO)
    }

    /// Resets as [`Platform::reset`] does, not before a time, to which time moves on with nothing in it.
    pub(super) fn rebuild(&mut self, earliest: Time) -> Result<(), DescriptionError> {
        self.simulation.end_all();
        // An interruption ends a run early.
        while self.simulation.now() < earliest && self.simulation.run_until(earliest) == Stop::Requested {}
        let sim = self.sim();
        for (source, LayerRecord { group, shape, .. }) in self.chronicle.restart() {
            sim.report(source, What::End { label: &shape, id: group });
        }
        let was_high = self.hardware.irq.level();
        let hardware = Hardware::build(&sim, &self.description, &self.occupancy, &self.budget)?;
        let Hardware { memories, .. } = std::mem::replace(&mut self.hardware, hardware);
        if was_high {
            self.hardware.irq.tell_low();
        }
        let made = std::mem::take(&mut self.hardware.memories);
        self.hardware.memories = made.into_iter().zip(memories).map(|(new, old)| new.succeed(old)).collect();
        self.tally.restart();
        self.hash.restart();
        let now = self.simulation.now();
        if let Some(watch) = self.watch.get() {
            watch.restart(now);
        }
        self.on_reset.borrow().iter().for_each(|told| told(now));
        self.faults.restart();
        self.connect_faults(0);
        Ok(())
    }

    /// The registers of a device outside, if the device is.
    pub fn outside_registers(&self) -> Option<&Rc<OutsideRegisters>> {
        self.device().outside_registers()
    }

    /// Returns the reason for which a write was refused for want of memory that other platforms have, if one was since the last call: what
    /// follows is not what this platform would do alone.
    pub fn take_shortage(&self) -> Option<OutOfMemory> {
        self.budget.take_shortage()
    }

    /// Bytes of the host's memory that its RAM takes at most.
    pub fn memory_limit(&self) -> u64 {
        self.budget.limit()
    }

    /// Returns the description that it was built from.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The simulation, to be run.
    pub fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    /// The simulation, to be looked at.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// The simulation's handle.
    pub fn sim(&self) -> Sim {
        self.simulation.sim()
    }

    /// The device's register bus.
    pub fn registers(&self) -> &Rc<dyn RegisterBus> {
        self.hardware.device.registers()
    }

    /// The interrupt line, `irq0`.
    pub fn irq(&self) -> &IrqLine {
        &self.hardware.irq
    }

    /// The memory ports: `dbb0`, and `sram0` where there is one.
    pub fn memories(&self) -> &[MemoryPort] {
        &self.hardware.memories
    }

    /// The memory port of that name.
    pub fn memory(&self, name: &str) -> Option<&MemoryPort> {
        self.hardware.memories.iter().find(|memory| memory.name() == name)
    }

    /// The device.
    pub fn device(&self) -> &dyn Device {
        &*self.hardware.device
    }

    /// Returns the identity of the device.
    pub fn identity(&self) -> Identity {
        self.description.device.identity()
    }

    /// The register map of an NVDLA; [`RegisterMap::Foreign`] of another device.
    pub fn map(&self) -> RegisterMap {
        self.description.device.map()
    }

    /// The stream that feeds the device, if it has one.
    pub fn input_stream(&self) -> Option<&Rc<InputStream>> {
        self.hardware.device.input_stream()
    }

    /// The faults that are armed ([`Platform::arm`]).
    pub fn faults(&self) -> &Rc<Faults> {
        &self.faults
    }

    /// All ports.
    pub fn ports(&self) -> Vec<Port> {
        let window = u64::from(self.hardware.device.window());
        let mut ports = vec![
            Port {
                name: self.registers().name(),
                kind: PortKind::Registers,
                base: 0,
                size: window,
                width: 32,
            },
            Port { name: "irq0", kind: PortKind::Irq, base: 0, size: 0, width: 1 },
        ];
        ports.extend(self.hardware.memories.iter().map(|memory| {
            let range = memory.range();
            let width = memory.interconnect().config().beat_bytes * 8;
            Port {
                name: memory.name(),
                kind: PortKind::Axi,
                base: range.start,
                size: range.end - range.start,
                width,
            }
        }));
        ports.extend(self.input_stream().map(|stream| Port {
            name: stream.name(),
            kind: PortKind::Stream,
            base: 0,
            size: stream.capacity() as u64,
            width: stream.beat_bytes() * 8,
        }));
        ports
    }

    /// The layers that ran, oldest first.
    pub fn layers(&self) -> Vec<LayerRecord> {
        self.chronicle.layers()
    }

    /// The names of what reports layers: units, such as `sdp`.
    pub fn units(&self) -> Vec<Name> {
        self.chronicle.known_units()
    }

    /// Units that began layers, in the order of their names, and how many each began.
    pub(super) fn begun(&self) -> impl Iterator<Item = (Name, u64)> + use<> {
        self.chronicle.units().into_iter().map(|unit| (unit.unit, unit.layers))
    }

    /// The last register accesses over the bus, a reset before among them, oldest first.
    pub fn accesses(&self) -> Vec<RegisterRecord> {
        self.chronicle.accesses()
    }

    /// Keeps from now on what datapaths and memory interfaces do, for [`Platform::take_activity`].
    pub fn watch(&self) {
        self.watch.get_or_init(|| {
            let occupancy = self.occupancy.clone();
            occupancy.watch();
            let watched = |memory: &MemoryPort| {
                let interconnect = memory.interconnect();
                let port =
                    Rc::new(PortActivity::new(memory.name(), interconnect.source(), interconnect.config()));
                self.sim().observe(port.clone());
                port
            };
            let ports = self.hardware.memories.iter().map(watched).collect();
            let now = self.simulation.now();
            let Description { dbb0, sram0, .. } = &self.description;
            let watched_dram = |memory: &MemoryPort| {
                let described = if memory.name() == "sram0" { sram0 } else { dbb0 };
                let dram = DramWatch::new(memory.name(), described.model.dram.as_ref()?, now)?;
                let dram = Rc::new(dram);
                self.sim().observe(dram.clone());
                Some((memory.name(), dram))
            };
            let drams = self.hardware.memories.iter().filter_map(watched_dram).collect();
            Watch { occupancy, ports, drams, since: Cell::new(now) }
        });
    }

    /// Returns what the device did since the last call, or since [`Platform::watch`]; `None` without that.
    pub fn take_activity(&self) -> Option<Activity> {
        self.watch.get().map(|watch| watch.take(self.simulation.now()))
    }

    /// Tells this, from now on, whenever the fill of the convolution buffer changes.
    pub fn on_buffer(&self, told: impl Fn(Time, BufferFill) + 'static) {
        self.occupancy.on_buffer(told);
    }

    /// Tells this, from now on, when a datapath has work: from one time to another, which may lie ahead. Each tells its own in order.
    pub fn on_busy(&self, told: impl Fn(Datapath, Time, Time) + 'static) {
        self.occupancy.on_busy(told);
    }

    /// The FIFOs between its units, which tell their levels.
    pub fn fifos(&self) -> &Rc<Fifos> {
        self.occupancy.fifos()
    }

    /// Tells this, from now on, whenever the platform has been reset: what was under way is under way no more, and nobody tells its end.
    pub fn on_reset(&self, told: impl Fn(Time) + 'static) {
        self.on_reset.borrow_mut().push(Box::new(told));
    }

    /// Returns what was to be told since the last call: refused layers, accesses that hit no memory. What repeats in a
    /// layer is told when it first happens and, with how often, when the layer ends.
    pub fn take_warnings(&self) -> Vec<Warned> {
        self.chronicle.warnings().borrow_mut().take()
    }

    /// Tells how often things have happened whose layer has not ended; if they happen again, that is told anew.
    pub fn sum_up_warnings(&self) {
        self.chronicle.warnings().borrow_mut().sum_up_all(self.simulation.now());
    }

    /// Something went wrong around the platform that is no event of the simulation.
    pub fn warn(&self, source: &str, warning: &Warning<'_>) {
        self.chronicle.warnings().borrow_mut().add(self.simulation.now(), &source.into(), warning);
    }

    /// Returns true if the device has come to the end of all that was asked of it: then nothing is lost by a reset or by leaving.
    pub fn is_quiescent(&self) -> bool {
        self.unfinished().is_none()
    }

    /// Returns what is begun and cannot go on by itself, in one line: layers begun and not ended, what is enabled or
    /// queued and not begun, accesses to registers, and who waits for what. `None` when nothing is.
    pub fn unfinished(&self) -> Option<String> {
        let mut parts = self.unfinished_work();
        if parts.is_empty() {
            return None;
        }
        parts.extend(self.simulation.idle_report().blocked.iter().map(ToString::to_string));
        Some(parts.join("; "))
    }

    /// Returns what is begun or asked for and has not come to its end, a phrase each.
    pub(super) fn unfinished_work(&self) -> Vec<String> {
        let mut parts = self.with_open_work(|device, open| device.unfinished(open));
        let bus = self.registers();
        if !bus.is_quiet() {
            parts.push(format!("{} has accesses under way", bus.name()));
        }
        parts
    }

    /// Asks the device something about what it has begun and not ended.
    pub(super) fn with_open_work<T>(&self, ask: impl FnOnce(&dyn Device, &[OpenWork<'_>]) -> T) -> T {
        let layers = self.chronicle.layers();
        let open = layers.iter().filter(|layer| layer.end.is_none());
        let open: Vec<OpenWork<'_>> = open
            .map(|LayerRecord { unit, group, shape, .. }| OpenWork { unit, number: *group, label: shape })
            .collect();
        ask(&*self.hardware.device, &open)
    }

    /// The hash of everything observed so far: equal for two runs that went the same way.
    pub fn event_hash(&self) -> u64 {
        self.hash.value()
    }

    /// All counters.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        let period = self.description.period;
        statistics.note("platform", self.description.name.as_str());
        statistics.note("platform.description", self.description.to_toml());
        statistics.count("time", self.simulation.now().as_ps(), "ps");
        statistics.count("period", period.as_ps(), "ps");
        statistics.note("events.hash", format!("{:016x}", self.hash.value()));
        statistics.count("events", self.hash.count(), "events");
        statistics.count("kernel.activations", self.simulation.activations(), "activations");
        statistics.count("warnings", self.chronicle.warnings().borrow().reported(), "warnings");
        self.faults.fill(&mut statistics);
        self.hardware.device.count(period, &mut statistics);
        for (index, layer) in self.chronicle.layers().iter().enumerate() {
            let LayerRecord { unit, group, shape, begin, end } = layer;
            statistics.note(
                format!("layer.{index}"),
                format!("{unit} {shape}, {} {group}", self.hardware.device.numbering()),
            );
            statistics.count(format!("layer.{index}.begin"), begin.as_ps(), "ps");
            if let Some(end) = end {
                statistics.count(format!("layer.{index}.end"), end.as_ps(), "ps");
            }
        }
        for unit in self.chronicle.units() {
            statistics.count(format!("unit.{}.layers", unit.unit), unit.layers, "layers");
            statistics.count(format!("unit.{}.busy", unit.unit), unit.busy.as_ps(), "ps");
        }
        for memory in &self.hardware.memories {
            let name = memory.name();
            traffic(&mut statistics, &format!("{name}.read"), &memory.statistics().reads(), period);
            traffic(&mut statistics, &format!("{name}.write"), &memory.statistics().writes(), period);
            memory.add_counters(&mut statistics);
            for (master, did) in memory.masters() {
                traffic(&mut statistics, &format!("{master}.read"), &did.reads(), period);
                traffic(&mut statistics, &format!("{master}.write"), &did.writes(), period);
            }
        }
        for ((source, label), count) in self.tally.counts() {
            statistics.count(format!("{}.{label}", self.sim().source_name(source)), count, "times");
        }
        statistics
    }
}

impl Platform {
    /// Time since which nothing has happened in it, as far as runs that are over tell.
    pub fn active_until(&self) -> Time {
        self.simulation.active_until()
    }

    /// For bytes of the host's memory that count like those of its RAM, such as what it is saved as.
    #[must_use]
    pub fn counted_bytes(&self) -> CountedBytes {
        CountedBytes::new(self.budget.clone())
    }

    /// Builds a platform that goes on from another one's state, which `state` takes up.
    pub(super) fn resume<E: From<DescriptionError> + From<ResumeError>>(
        description: &Description,
        budget: MemoryBudget,
        rest: &Rest,
        state: impl FnOnce(&Platform) -> Result<(), E>,
    ) -> Result<Platform, E> {
        description.check()?;
        let mut platform = Platform::assemble(Simulation::at_rest(rest)?, description, budget)?;
        state(&platform)?;
        let since = platform.irq().since();
        platform.simulation.resume(rest)?;
        platform.irq().set_since(since);
        Ok(platform)
    }

    /// Saves all but the simulation's own state and the description, or takes it up.
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // What bounds a run is watched by who runs it; the occupancy is for that, and the budget is another one.
        let Platform {
            description: _,
            simulation: _,
            hardware,
            chronicle,
            tally,
            hash,
            occupancy: _,
            budget: _,
            watch: _,
            on_reset: _,
            faults: _,
        } = self;
        let Hardware { irq, device, memories } = hardware;
        at.part("observers")?;
        chronicle.checkpoint(at)?;
        tally.checkpoint(at)?;
        let mut events = (hash.value(), hash.count());
        at.value(&mut events)?;
        hash.resume(events.0, events.1);
        irq.checkpoint(at)?;
        device.checkpoint(at)?;
        memories.iter().try_for_each(|memory| memory.checkpoint(at))
    }
}

fn traffic(statistics: &mut Statistics, name: &str, traffic: &Traffic, period: Time) {
    statistics.count(format!("{name}.bursts"), traffic.bursts, "bursts");
    statistics.count(format!("{name}.bytes"), traffic.bytes, "bytes");
    statistics.count(format!("{name}.most_outstanding"), traffic.most_outstanding(), "bursts");
    for (id, bursts) in traffic.by_id() {
        statistics.count(format!("{name}.id{id}.bursts"), bursts, "bursts");
    }
    if let (Some(least), Some(mean)) = (traffic.latency_min, traffic.latency_mean()) {
        statistics.count(format!("{name}.latency.least"), least.cycles(period), "cycles");
        statistics.count(format!("{name}.latency.mean"), mean.cycles(period), "cycles");
        statistics.count(format!("{name}.latency.most"), traffic.latency_max.cycles(period), "cycles");
        for (part, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
            if let Some(latency) = traffic.latency_quantile(quantile) {
                statistics.count(format!("{name}.latency.{part}"), latency.cycles(period), "cycles");
            }
        }
    }
}

/// Returns the memories of a platform, with the configurations of their interfaces.
fn memories_of(
    description: &Description,
) -> impl Iterator<Item = (&'static str, &MemoryDescription, AxiConfig)> {
    let device = &description.device;
    let primary = ("dbb0", &description.dbb0, Some(device.primary()), description.dbb_latency());
    let secondary = ("sram0", &description.sram0, device.secondary(), description.sram_latency());
    [primary, secondary].into_iter().filter_map(|(name, memory, interface, latency)| {
        Some((name, memory, axi_config(description.period, memory, interface?, latency, device)))
    })
}

impl Replay {
    /// Builds a memory of a platform alone: what is behind `dbb0` or `sram0`.
    pub fn of(description: &Description, memory: &str) -> Result<Replay, DescriptionError> {
        description.check()?;
        let found = memories_of(description).find(|(name, ..)| *name == memory);
        let (name, memory, axi) = found.ok_or_else(|| DescriptionError::NoMemory(memory.to_owned()))?;
        Replay::new(&memory.model, name, &axi)
            .map_err(|source| DescriptionError::Model { memory: name, source })
    }
}

fn axi_config(
    period: Time,
    memory: &MemoryDescription,
    interface: MemoryInterface,
    read_latency: Latency,
    device: &DeviceDescription,
) -> AxiConfig {
    AxiConfig {
        period,
        beat_bytes: interface.width_bytes,
        burst_beats: interface.max_burst,
        transaction_beats: device.transaction_beats(interface),
        realigns_reads: device.realigns_reads(),
        address_bits: device.address_bits(),
        read_outstanding: memory.read_outstanding,
        read_pipeline: device.read_pipeline(),
        write_outstanding: memory.write_outstanding,
        write_pipeline: device.write_pipeline(),
        read_latency,
        write_latency: memory.write_latency,
        bandwidth: memory.bandwidth,
        duplex: memory.duplex,
        seed: memory.seed,
        request_registers: device.request_registers(),
        write_overlap: device.writes_overlap(),
        write_gathering: device.gathers_writes(interface.width_bytes),
    }
}
