//! The device: the CSR block on the register bus, the queue behind it, and what jobs share.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use super::activity::Activity;
use super::architecture::Architecture;
use super::counts::Counts;
use super::csr::{Csr, CsrRequest, Interrupt};
use super::dma::{Reader, Writer};
use super::job::Job;
use super::on_chip::OnChip;
use super::queue::Queue;
use super::registers as reg;
use crate::bus::irq::IrqLine;
use crate::bus::register::RegisterTarget;
use crate::bus::stream::InputStream;
use crate::device::Wiring;
use crate::occupancy::Occupancy;
use vp_core::observe::{Kinds, Source, SourceKind, Warning, What};
use vp_core::{Event, Fifo, Semaphore, Sim, Time};

/// The transaction ids of the memory interface.
mod id {
    pub(super) const CONFIGURATION: u32 = 0;
    pub(super) const FILTERS: u32 = 1;
    pub(super) const FEATURES: u32 = 2;
    pub(super) const INTERMEDIATE: u32 = 3;
}

/// The ways to memory.
pub(super) struct Dma {
    pub(super) configuration: Reader,
    pub(super) filters: Reader,
    pub(super) input: Reader,
    pub(super) spilled: Reader,
    pub(super) output: Writer,
    pub(super) spill: Writer,
}

/// An FPGA AI Suite IP.
///
/// Built by a platform; driven through its register bus ([`RegisterTarget`]), its memory interface, its interrupt line and, in a build with
/// streaming, its input stream.
pub struct Suite {
    pub(super) sim: Sim,
    pub(super) cycle: Time,
    pub(super) architecture: Architecture,
    /// Outputs are zeros, at the same times.
    pub(super) skips_arithmetic: bool,
    pub(super) occupancy: Rc<Occupancy>,
    /// Source that reports jobs, and the one that reports layers.
    pub(super) job_source: Source,
    pub(super) layer_source: Source,
    pub(super) csr: RefCell<Csr>,
    line: IrqLine,
    pub(super) queue: RefCell<Queue>,
    pub(super) activity: RefCell<Activity>,
    pub(super) counts: Counts,
    pub(super) on_chip: RefCell<OnChip>,
    pub(super) dma: Dma,
    pub(super) stream: Option<Rc<InputStream>>,
    /// A descriptor came, or streaming began.
    pub(super) may_begin: Event,
    /// The debug network has an answer.
    debug: Event,
    /// Permits for active jobs.
    pub(super) slots: Semaphore,
    pub(super) to_compute: Fifo<Job>,
    pub(super) to_store: Fifo<Job>,
    /// Number of times that the IP was reset: a job of before is wanted no more.
    pub(super) resets: Cell<u64>,
    /// Fires when the IP is reset.
    pub(super) was_reset: Event,
    /// Jobs that are active, by number; numbers go on over resets.
    pub(super) open: RefCell<Vec<u64>>,
    pub(super) next_job: Cell<u64>,
    pub(super) next_layer: Cell<u64>,
}

impl Suite {
    /// Builds the device and starts its processes.
    pub(crate) fn new(architecture: Architecture, wiring: Wiring<'_>) -> Rc<Suite> {
        let Wiring { sim, cycle, skips_arithmetic, primary: memory, interrupt, occupancy, .. } = wiring;
        let reader =
            |name: &str, id| Reader::new(&memory, &format!("fpga_ai_suite.{name}"), id, &architecture);
        let writer = |name: &str, id| {
            Writer::new(sim, cycle, &memory, &format!("fpga_ai_suite.{name}"), id, &architecture)
        };
        let dma = Dma {
            configuration: reader("configuration", id::CONFIGURATION),
            filters: reader("filters", id::FILTERS),
            input: reader("input", id::FEATURES),
            spilled: reader("spilled", id::INTERMEDIATE),
            output: writer("output", id::FEATURES),
            spill: writer("spill", id::INTERMEDIATE),
        };
        let stream = architecture.streaming.then(|| {
            let room = architecture.stream_buffer as usize;
            InputStream::new(sim, "stream0", cycle, architecture.memory_word, room)
        });
        let suite = Rc::new(Suite {
            sim: sim.clone(),
            cycle,
            skips_arithmetic,
            occupancy,
            job_source: sim.source("fpga_ai_suite.job", SourceKind::Work),
            layer_source: sim.source("fpga_ai_suite.layer", SourceKind::Work),
            csr: RefCell::new(Csr::new(&architecture)),
            line: interrupt,
            queue: RefCell::new(Queue::new(&architecture)),
            activity: RefCell::default(),
            counts: Counts::default(),
            on_chip: RefCell::new(OnChip::new(&architecture)),
            dma,
            stream,
            may_begin: sim.work_event("fpga_ai_suite.may_begin"),
            debug: sim.event("fpga_ai_suite.debug"),
            slots: Semaphore::new(sim, "fpga_ai_suite.slots", architecture.jobs_in_flight),
            to_compute: Fifo::new(sim, "fpga_ai_suite.to_compute", 1),
            to_store: Fifo::new(sim, "fpga_ai_suite.to_store", 1),
            resets: Cell::new(0),
            was_reset: sim.event("fpga_ai_suite.was_reset"),
            open: RefCell::default(),
            next_job: Cell::new(0),
            next_layer: Cell::new(0),
            architecture,
        });
        sim.server("fpga_ai_suite.fetch", suite.clone().fetch());
        sim.server("fpga_ai_suite.compute", suite.clone().compute());
        sim.server("fpga_ai_suite.store", suite.clone().store());
        sim.server("fpga_ai_suite.debug_network", suite.clone().answer_debug());
        suite
    }

    /// Something happened that interrupts.
    pub(super) fn raise(&self, interrupt: Interrupt) {
        self.csr.borrow_mut().raise(interrupt);
        self.follow();
    }

    /// Tells of what happens once in a job.
    pub(super) fn warn(&self, text: impl fmt::Display) {
        if self.sim.is_observed(Kinds::WARNINGS) {
            self.sim.report(self.job_source, What::Warning(Warning::Once(&text.to_string())));
        }
    }

    /// Tells of what may happen many times while a job runs, or outside any; `cause` is the same each time.
    fn warn_again(&self, cause: &str, text: impl fmt::Display) {
        if self.sim.is_observed(Kinds::WARNINGS) {
            let text = &text.to_string();
            self.sim.report(self.job_source, What::Warning(Warning::Repeated { cause, text }));
        }
    }

    /// Returns true if descriptors may begin: in a build with streaming when that is active.
    pub(super) fn is_listening(&self) -> bool {
        self.stream.is_none() || self.csr.borrow().field(reg::STREAMING::ACTIVE) != 0
    }

    /// The line follows the registers.
    fn follow(&self) {
        self.line.drive(self.csr.borrow().level());
    }

    fn reset(&self) {
        self.resets.set(self.resets.get() + 1);
        self.was_reset.notify_delta();
        self.csr.borrow_mut().reset();
        self.queue.borrow_mut().reset();
        for number in self.open.take() {
            self.sim.report(self.job_source, What::End { label: "job", id: number });
        }
        self.activity.take();
        self.counts.reset();
        self.debug.cancel();
        self.listen(false);
    }

    fn listen(&self, is_active: bool) {
        let Some(stream) = &self.stream else {
            if is_active {
                self.csr.borrow_mut().set(reg::STREAMING, 0);
                let text = "CSR.STREAMING.ACTIVE = 1: the IP is built without streaming";
                self.warn_again(text, text);
            }
            return;
        };
        stream.listen(is_active);
        self.may_begin.notify_delta();
    }

    fn carry_out(&self, asked: CsrRequest) {
        match asked {
            CsrRequest::Job(descriptor) => {
                let pushed = self.queue.borrow_mut().push(descriptor);
                match pushed {
                    Ok(()) => self.may_begin.notify_delta(),
                    Err(refusal) => {
                        self.warn_again(refusal.cause(), refusal);
                        self.raise(Interrupt::Error);
                    }
                }
            }
            CsrRequest::Reset => self.reset(),
            CsrRequest::Streaming(is_active) => self.listen(is_active),
            CsrRequest::Debug(_) => {
                self.debug.cancel();
                self.debug.notify_after(self.cycle * u64::from(self.architecture.debug_latency));
            }
            CsrRequest::Update { target, address, word } => {
                if self.on_chip.borrow_mut().update(target, address, &word).is_none() {
                    let why = match self.architecture.ddr_free {
                        true => "there is no such word",
                        false => "the model of this IP is in memory",
                    };
                    self.warn_again(
                        why,
                        format_args!("CSR.UPDATE_CONTROL: word {address:#x} of {target:?}: {why}"),
                    );
                    self.raise(Interrupt::Error);
                }
            }
        }
    }

    async fn answer_debug(self: Rc<Self>) {
        loop {
            self.debug.wait().await;
            let address = self.csr.borrow().word(reg::DEBUG_ADDRESS);
            let word = self.debug_word(address);
            let mut csr = self.csr.borrow_mut();
            csr.set(reg::DEBUG_DATA, word);
            csr.set(reg::DEBUG_VALID, 1);
        }
    }

    /// Clocks with any job active, and clocks times jobs.
    pub(super) fn clocks(&self) -> [u64; 2] {
        self.activity.borrow().clocks(self.sim.now(), self.cycle)
    }

    pub(super) fn words(&self, bytes: &Cell<u64>) -> u64 {
        bytes.get() / u64::from(self.architecture.memory_word)
    }

    /// Brings registers that show counts to their present values.
    fn show(&self) {
        let [any, jobs] = self.clocks();
        let mut csr = self.csr.borrow_mut();
        csr.set(reg::DIAGNOSTICS, self.queue.borrow().diagnostics());
        csr.set(reg::COMPLETION_COUNT, self.counts.complete.get() as u32);
        csr.set_pair(reg::ACTIVE_CLOCKS_LOW, reg::ACTIVE_CLOCKS_HIGH, any);
        csr.set_pair(reg::JOB_CLOCKS_LOW, reg::JOB_CLOCKS_HIGH, jobs);
        csr.set_pair(reg::INPUT_WORDS_LOW, reg::INPUT_WORDS_HIGH, self.words(&self.counts.input_bytes));
        csr.set_pair(reg::FILTER_WORDS_LOW, reg::FILTER_WORDS_HIGH, self.words(&self.counts.filter_bytes));
        csr.set_pair(reg::OUTPUT_WORDS_LOW, reg::OUTPUT_WORDS_HIGH, self.words(&self.counts.output_bytes));
    }
}

impl RegisterTarget for Suite {
    fn read(&self, address: u32) -> u32 {
        self.show();
        self.csr.borrow().read(address)
    }

    fn peek(&self, address: u32, _: Option<usize>) -> u32 {
        self.read(address)
    }

    fn write(&self, address: u32, value: u32, _: Time) {
        let asked = self.csr.borrow_mut().write(address, value);
        if let Some(asked) = asked {
            self.carry_out(asked);
        }
        self.follow();
    }
}

impl Suite {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // The process that fetches has one of the slots and waits for a descriptor, here as after power-on.
        let Suite {
            sim: _,
            cycle: _,
            architecture: _,
            skips_arithmetic: _,
            occupancy: _,
            job_source: _,
            layer_source: _,
            csr,
            line,
            queue,
            activity,
            counts,
            on_chip,
            dma,
            stream,
            may_begin: _,
            debug: _,
            slots: _,
            to_compute: _,
            to_store: _,
            resets,
            was_reset: _,
            open,
            next_job,
            next_layer,
        } = self;
        at.part("fpga_ai_suite")?;
        at.at_rest(open.borrow().is_empty() && activity.borrow().active() == 0, "a job is under way")?;
        csr.borrow_mut().checkpoint(at)?;
        line.drive(csr.borrow().level());
        queue.borrow_mut().checkpoint(at)?;
        at.place(activity)?;
        let Counts { begun, complete, failed, layers, input_bytes, filter_bytes, output_bytes } = counts;
        for count in [
            begun,
            complete,
            failed,
            layers,
            input_bytes,
            filter_bytes,
            output_bytes,
            resets,
            next_job,
            next_layer,
        ] {
            at.cell(count)?;
        }
        on_chip.borrow_mut().checkpoint(at)?;
        let Dma { configuration, filters, input, spilled, output, spill } = dma;
        [configuration, filters, input, spilled].into_iter().try_for_each(|reader| reader.checkpoint(at))?;
        [output, spill].into_iter().try_for_each(|writer| writer.checkpoint(at))?;
        stream.iter().try_for_each(|stream| stream.checkpoint(at))
    }
}
