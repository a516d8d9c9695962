//! BDMA, the bridge DMA: copies lines and surfaces from memory to memory, primary and secondary.
//!
//! It has no register groups. It has a queue of commands ([`layer`]), from which launches make groups
//! (`queue`). One process loads: it requests the lines of one command after the other. Another process stores:
//! it takes the lines out of the latency FIFO and sends them on (`outlet`). There is nothing to compute. A line
//! takes a cycle for each beat of 64 bytes, and one more for its write request.
//!
//! RTL: `NV_NVDLA_BDMA_csb` (queue, launches), `_load`, `_store`. Nothing of its timing has been measured.

pub mod layer;
mod outlet;
mod queue;

use self::layer::BdmaTransfer;
use self::outlet::{BEAT, Outlet};
use self::queue::{NextItem, Queue};
use super::control::Control;
use super::cube::Ram;
use super::dma::ReadDma;
use super::engine::EngineContext;
use super::glb::InterruptSource;
use super::interrupts::Interrupts;
use super::nocif::read_id;
use super::registers::{FieldRef, RegisterRef, bdma as reg};
use super::timing::Timing;
use crate::bus::axi::ReadStreamConfig;
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Event, Sim, Time};

/// Registers and fields that hold a group's bits and counters.
struct GroupRegisters {
    launch: RegisterRef,
    launched: FieldRef,
    busy: FieldRef,
    read_stall: RegisterRef,
    write_stall: RegisterRef,
}

const GROUPS: [GroupRegisters; 2] = [
    GroupRegisters {
        launch: reg::CFG_LAUNCH0,
        launched: reg::CFG_LAUNCH0::GRP0_LAUNCH,
        busy: reg::STATUS::GRP0_BUSY,
        read_stall: reg::STATUS_GRP0_READ_STALL,
        write_stall: reg::STATUS_GRP0_WRITE_STALL,
    },
    GroupRegisters {
        launch: reg::CFG_LAUNCH1,
        launched: reg::CFG_LAUNCH1::GRP1_LAUNCH,
        busy: reg::STATUS::GRP1_BUSY,
        read_stall: reg::STATUS_GRP1_READ_STALL,
        write_stall: reg::STATUS_GRP1_WRITE_STALL,
    },
];

/// The engine.
pub(crate) struct Bdma {
    sim: Sim,
    cycle: Time,
    timing: Timing,
    control: Rc<Control>,
    interrupts: Rc<Interrupts>,
    /// Commands that wait; one that was refused has its place, and does nothing.
    queue: RefCell<Queue<Option<BdmaTransfer>>>,
    launched: Event,
    input: Rc<ReadDma>,
    /// Commands that are loaded or being loaded, and not stored.
    loaded: RefCell<VecDeque<NextItem<BdmaTransfer>>>,
    loading: Event,
    /// Number of commands that are loaded and not stored, the one that is being stored included.
    to_store: Cell<usize>,
    stored: Event,
    output: Rc<Outlet>,
}

impl Bdma {
    /// Builds it and starts its processes.
    pub(crate) fn start(around: &EngineContext<'_>, control: Rc<Control>) -> Rc<Bdma> {
        let EngineContext { sim, cycle, timing, ports, interrupts, .. } = *around;
        let cycles = |n: u32| cycle * u64::from(n);
        let credits = ReadStreamConfig {
            capacity: timing.bdma.credits * BEAT as u32,
            lines: u32::MAX,
            credit_return: cycles(timing.credit_return),
        };
        let bdma = Rc::new(Bdma {
            sim: sim.clone(),
            cycle,
            timing: timing.clone(),
            interrupts: interrupts.clone(),
            queue: RefCell::new(Queue::new()),
            launched: sim.work_event("nvdla.bdma.launched"),
            input: ReadDma::new(ports, "nvdla.bdma", read_id::BDMA, credits),
            loaded: RefCell::default(),
            loading: sim.work_event("nvdla.bdma.loading"),
            to_store: Cell::new(0),
            stored: sim.event("nvdla.bdma.stored"),
            output: Outlet::new(sim, ports, cycle, timing),
            control,
        });
        sim.server("nvdla.bdma.load", bdma.clone().load());
        sim.server("nvdla.bdma.store", bdma.clone().store());
        bdma
    }

    /// A read from the bus.
    pub(crate) fn read(&self, offset: u32) -> u32 {
        self.show_status();
        self.control.registers().borrow_mut().read(offset)
    }

    /// Returns the value that a read would give.
    pub(crate) fn peek(&self, offset: u32) -> u32 {
        self.show_status();
        self.control.registers().borrow().peek(offset, None)
    }

    /// Bits of a register are others.
    pub(crate) fn flip(&self, offset: u32, mask: u32) {
        self.control.registers().borrow_mut().flip(0, offset, mask);
    }

    /// A write from the bus; true if it launched a group.
    pub(crate) fn write(&self, offset: u32, value: u32) -> bool {
        self.control.write(offset, value);
        if offset == u32::from(reg::CFG_OP.offset) && self.is_set(reg::CFG_OP::EN) {
            self.enqueue();
        }
        let launch = |of: &GroupRegisters| offset == u32::from(of.launch.offset) && self.is_set(of.launched);
        let group = GROUPS.iter().position(launch);
        if let Some(group) = group {
            self.launch(group);
        }
        group.is_some()
    }

    /// Returns true if a group is launched and not done.
    pub(crate) fn is_busy(&self, group: usize) -> bool {
        self.queue.borrow().is_busy(group)
    }

    fn is_set(&self, field: FieldRef) -> bool {
        self.control.registers().borrow().group(0).flag(field)
    }

    fn show_status(&self) {
        let queue = self.queue.borrow();
        let mut registers = self.control.registers().borrow_mut();
        registers.set_field(0, reg::STATUS::FREE_SLOT, queue.free() as u32);
        registers.set_field(0, reg::STATUS::IDLE, queue.is_idle().into());
        for (group, of) in GROUPS.iter().enumerate() {
            registers.set_field(0, of.busy, queue.is_busy(group).into());
        }
    }

    /// Queues what the registers say.
    fn enqueue(&self) {
        let command = BdmaTransfer::decode(self.control.registers().borrow().group(0));
        if let Err(refused) = &command {
            let cause = "command refused, its group ends without it";
            self.control.warn_again(cause, format_args!("{cause}: {refused}"));
        }
        if !self.queue.borrow_mut().push(command.ok()) {
            let lost = "BDMA.CFG_OP.EN: command lost, BDMA.STATUS.FREE_SLOT was 0";
            self.control.warn_again(lost, lost);
        }
    }

    fn launch(&self, group: usize) {
        let found = self.queue.borrow_mut().launch(group);
        let GroupRegisters { launched, busy, read_stall, write_stall, .. } = GROUPS[group];
        if found.commands == 0 {
            // Hardware would show the group busy for ever.
            let text = format!("BDMA.{launched}: nothing was queued, the group ends at once");
            self.control.warn_again(&text, &text);
        }
        if found.was_busy {
            let text = format!("BDMA.{launched}: BDMA.{busy} is 1, the group waits for its turn");
            self.control.warn_again(&text, &text);
        }
        let mut registers = self.control.registers().borrow_mut();
        registers.set(0, read_stall, 0);
        registers.set(0, write_stall, 0);
        drop(registers);
        self.launched.notify_delta();
    }

    fn cycles(&self, n: u32) -> Time {
        self.cycle * u64::from(n)
    }

    /// Takes commands in their order and asks for their lines.
    async fn load(self: Rc<Self>) {
        let mut source = None;
        loop {
            let next = self.queue.borrow_mut().next();
            let Some(NextItem { command, group, last }) = next else {
                self.launched.wait().await;
                self.sim.wait(self.cycles(self.timing.bdma.launch)).await;
                continue;
            };
            let command = command.flatten();
            if let Some(BdmaTransfer { source: from, .. }) = command {
                self.switch(&mut source, from.ram).await;
            }
            while self.to_store.get() > queue::SLOTS {
                self.stored.wait().await;
            }
            self.to_store.set(self.to_store.get() + 1);
            // A group's reads are all asked for before its end can be seen.
            self.loaded.borrow_mut().push_back(NextItem { command, group, last });
            self.loading.notify_delta();
            let Some(command) = command else { continue };
            let stream = self.input.stream(command.source.ram);
            stream.count_stalls_in(group);
            for (address, bytes) in command.lines_in(command.source) {
                stream.request(address, bytes).await;
            }
        }
    }

    /// Reads of one memory are stored before those of another are asked for: one FIFO holds both.
    async fn switch(&self, source: &mut Option<Ram>, to: Ram) {
        if source.replace(to).is_some_and(|before| before != to) {
            while self.to_store.get() > 0 {
                self.stored.wait().await;
            }
        }
    }

    /// Takes what is read and writes it; ends groups.
    async fn store(self: Rc<Self>) {
        let mut running = None;
        loop {
            let next = self.loaded.borrow_mut().pop_front();
            let Some(NextItem { command, group, last }) = next else {
                self.loading.wait().await;
                continue;
            };
            if running.replace(group).is_none() {
                self.control.begin(|| "group".into(), group);
            }
            if let Some(command) = command {
                self.copy(&command).await;
            }
            if last {
                self.output.drained().await;
            }
            self.to_store.set(self.to_store.get() - 1);
            self.stored.notify_delta();
            if last {
                running = None;
                self.end(group).await;
            }
        }
    }

    async fn copy(&self, command: &BdmaTransfer) {
        let stream = self.input.stream(command.source.ram);
        let destination = command.destination;
        let mut beat = [0; BEAT];
        for (address, bytes) in command.lines_in(destination) {
            self.output.line(destination.ram, address, bytes).await;
            self.sim.wait(self.cycle).await;
            let mut left = bytes as usize;
            while left > 0 {
                let taken = left.min(BEAT);
                stream.take(&mut beat[..taken]).await;
                self.output.data(&beat[..taken]).await;
                self.sim.wait(self.cycle).await;
                left -= taken;
            }
        }
    }

    /// A group's bytes are all in memory.
    async fn end(&self, group: usize) {
        let of = &GROUPS[group];
        let stalls = [
            (of.read_stall, self.input.take_stalled(group).cycles(self.cycle)),
            (of.write_stall, self.output.take_stalled().cycles(self.cycle)),
        ];
        self.sim.wait(self.cycles(self.timing.bdma.done_to_interrupt)).await;
        self.control.count(0, reg::CFG_STATUS::STALL_COUNT_EN, &stalls);
        self.queue.borrow_mut().done(group);
        self.control.end(|| "group".into(), group);
        self.interrupts.raise(InterruptSource::Bdma.of_group(group));
    }
}

impl Bdma {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Bdma {
            sim: _,
            cycle: _,
            timing: _,
            control,
            interrupts: _,
            queue,
            launched: _,
            input,
            loaded,
            loading: _,
            to_store,
            stored: _,
            output,
        } = self;
        control.checkpoint(at)?;
        at.at_rest(
            queue.borrow().is_idle(),
            "commands are queued: launch them, and wait for their interrupt",
        )?;
        at.at_rest(loaded.borrow().is_empty() && to_store.get() == 0, "a command is carried out")?;
        input.checkpoint(at)?;
        output.checkpoint(at)
    }
}
