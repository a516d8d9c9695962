//! Runs a task's operations as the vendor's kernel driver does: programmed when a register group is free, enabled when
//! what they wait for has come, ended by their interrupts.
//!
//! Each unit has two groups. An operation takes the one that its unit's pointer names, or the other one while that is in
//! use; read DMAs turn by themselves when they are used, and have a group of their own.

use super::bus::Bus;
use super::error::RunError;
use super::layout;
use super::network::{Event, Kind, Lut, Operation, What};
use super::places::Places;
use super::registers::{self, Registers};
use crate::host::trace::{Interrupt, Source};
use crate::nvdla::registers::{Unit, bdma, cdma, glb, sdp};
use vp_core::Time;

/// Most reads of a register that is polled.
const POLLS: u32 = 100_000;

/// When an operation ran, as its driver sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// What kind it is.
    pub kind: Kind,
    /// Its registers begin to be written.
    pub programmed: Time,
    /// It is enabled.
    pub enabled: Time,
    /// Its interrupt is served.
    pub completed: Time,
}

/// How far an operation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Programmed,
    Enabled,
    Completed,
}

struct Progress {
    state: State,
    /// Events that it still waits for.
    pending: u8,
    /// Its group, and its read DMA's.
    group: usize,
    rdma_group: usize,
    enables: Vec<Unit>,
    span: Span,
}

/// A unit: who is in its groups.
#[derive(Default)]
struct Groups {
    taken: [Option<usize>; 2],
    /// The group that was taken last.
    last: usize,
    rdma_taken: [Option<usize>; 2],
    rdma_last: usize,
    /// The table that is loaded.
    lut: Option<i16>,
    /// The next operation of the kind to be programmed, as a place in its order.
    next: usize,
}

pub(super) struct Driver<'a, 'h> {
    bus: &'a mut Bus<'h>,
    places: &'a Places,
    operations: &'a [Operation],
    progress: Vec<Progress>,
    /// Operations of each kind, in order.
    order: [Vec<usize>; 6],
    groups: [Groups; 6],
}

impl<'a, 'h> Driver<'a, 'h> {
    pub(super) fn new(
        bus: &'a mut Bus<'h>,
        places: &'a Places,
        operations: &'a [Operation],
    ) -> Driver<'a, 'h> {
        let progress = operations.iter().map(|operation| Progress {
            state: State::Waiting,
            pending: operation.dependencies,
            group: 0,
            rdma_group: 0,
            enables: Vec::new(),
            span: Span {
                kind: operation.kind,
                programmed: Time::ZERO,
                enabled: Time::ZERO,
                completed: Time::ZERO,
            },
        });
        let of = |kind| (0..operations.len()).filter(|&at| operations[at].kind == kind).collect();
        Driver {
            bus,
            places,
            operations,
            progress: progress.collect(),
            order: Kind::ALL.map(of),
            groups: Default::default(),
        }
    }

    /// Runs all of them; gives when each ran.
    pub(super) fn run(mut self) -> Result<Vec<Span>, RunError> {
        while self.progress.iter().any(|progress| progress.state != State::Completed) {
            while self.advance()? {}
            if !self.progress.iter().any(|progress| progress.state == State::Enabled) {
                return Err(self.stuck());
            }
            self.serve_interrupt()?;
        }
        Ok(self.progress.into_iter().map(|progress| progress.span).collect())
    }

    fn stuck(&self) -> RunError {
        let mut waiting = (0..self.progress.len()).filter(|&at| self.progress[at].state != State::Completed);
        let first = waiting.next().unwrap_or_default();
        RunError::Stuck {
            left: waiting.count() + 1,
            first,
            kind: self.operations[first].kind,
            count: self.progress[first].pending,
        }
    }

    /// Programs and enables what can be; whether there was any.
    fn advance(&mut self) -> Result<bool, RunError> {
        let mut moved = false;
        for kind in Kind::ALL {
            if let Some(at) = self.next_to_program(kind) {
                self.program(at)?;
                moved = true;
            }
        }
        for at in 0..self.operations.len() {
            let Progress { state, pending, .. } = self.progress[at];
            if state == State::Programmed && pending == 0 {
                self.enable(at)?;
                moved = true;
            }
        }
        Ok(moved)
    }

    /// The next operation of a kind, if its unit has a group for it.
    fn next_to_program(&self, kind: Kind) -> Option<usize> {
        let groups = &self.groups[kind as usize];
        let at = *self.order[kind as usize].get(groups.next)?;
        let operation = &self.operations[at];
        let others: Vec<usize> = groups.taken.into_iter().flatten().collect();
        let has_room = others.len() < 2;
        // Tables are not kept twice: one is loaded when nobody uses another.
        let has_table = match lut(operation) {
            Some((lut, _)) => others.is_empty() || groups.lut == Some(lut.index),
            None => true,
        };
        // What is in the queue when BDMA is launched belongs together.
        let has_queue =
            kind != Kind::Bdma || others.iter().all(|&other| self.progress[other].state == State::Enabled);
        (has_room && has_table && has_queue).then_some(at)
    }

    fn program(&mut self, at: usize) -> Result<(), RunError> {
        let operation = &self.operations[at];
        let kind = operation.kind;
        self.bus.place = format!("operation {at} ({kind})");
        self.progress[at].span.programmed = self.bus.now()?;
        self.take_groups(at)?;
        self.select(at)?;
        self.unmask(kind)?;
        if kind == Kind::Convolution {
            self.expect_idle(at)?;
        }
        if let Some((lut, precision)) = lut(operation)
            && self.groups[kind as usize].lut != Some(lut.index)
        {
            let load = registers::load_lut(self.places.map, kind.unit(), &lut.table, precision);
            self.bus.run(&load)?;
            self.groups[kind as usize].lut = Some(lut.index);
        }
        if let What::Bdma(copies) = &operation.what {
            for copy in copies {
                self.poll(at, Unit::Bdma, bdma::STATUS, |status| status & 0xff != 0)?;
                self.bus.run(&registers::transfer(copy, self.places))?;
            }
        }
        let Registers { program, enables } = registers::of(operation, self.places);
        self.bus.run(&program)?;
        let progress = &mut self.progress[at];
        (progress.state, progress.enables) = (State::Programmed, enables);
        self.groups[kind as usize].next += 1;
        self.tell(at, Event::Programmed);
        Ok(())
    }

    /// Finds groups for an operation.
    fn take_groups(&mut self, at: usize) -> Result<(), RunError> {
        let operation = &self.operations[at];
        let kind = operation.kind;
        let slot = kind as usize;
        let group = if self.groups[slot].taken.iter().any(Option::is_some) {
            1 - self.groups[slot].last
        } else if kind == Kind::Bdma {
            let status = self.bus.read(Unit::Bdma, bdma::STATUS)?;
            usize::from(status >> 9 & 1 == 1)
        } else {
            self.consumer(kind.unit())?
        };
        self.groups[slot].taken[group] = Some(at);
        self.groups[slot].last = group;
        self.progress[at].group = group;
        if let Some(rdma) = rdma(kind) {
            let groups = &self.groups[slot];
            let rdma_group = if kind == Kind::Cdp {
                group
            } else if groups.rdma_taken.iter().any(Option::is_some) {
                1 - groups.rdma_last
            } else {
                self.consumer(rdma)?
            };
            let groups = &mut self.groups[slot];
            if registers::uses_rdma(operation) {
                groups.rdma_taken[rdma_group] = Some(at);
                groups.rdma_last = rdma_group;
            }
            self.progress[at].rdma_group = rdma_group;
        }
        Ok(())
    }

    /// The group that a unit runs from, or takes next.
    fn consumer(&mut self, unit: Unit) -> Result<usize, RunError> {
        let pointer = self.bus.read_named(unit, "S_POINTER")?;
        let bit = sdp::s_pointer::CONSUMER.bits(self.places.map.family()).lsb;
        // All units have it in the same place.
        Ok((pointer >> bit & 1) as usize)
    }

    /// Points the units of an operation at its groups.
    fn select(&mut self, at: usize) -> Result<(), RunError> {
        let Progress { group, rdma_group, .. } = self.progress[at];
        let kind = self.operations[at].kind;
        for &unit in units(kind) {
            self.bus.write_named(unit, "S_POINTER", group as u32)?;
        }
        match rdma(kind) {
            Some(unit) => self.bus.write_named(unit, "S_POINTER", rdma_group as u32),
            None => Ok(()),
        }
    }

    /// Lets a unit's interrupts through. The driver leaves those of the convolution pipeline as they are.
    fn unmask(&mut self, kind: Kind) -> Result<(), RunError> {
        let source = match kind {
            Kind::Convolution => return Ok(()),
            Kind::Bdma => Source::Bdma,
            Kind::Sdp => Source::Sdp,
            Kind::Pdp => Source::Pdp,
            Kind::Cdp => Source::Cdp,
            Kind::Rubik => Source::Rubik,
        };
        let mask = self.bus.read(Unit::Glb, glb::S_INTR_MASK)?;
        let bits = [0, 1].map(|group| 1 << Interrupt { source, group }.bit());
        self.bus.write(Unit::Glb, glb::S_INTR_MASK, mask & !(bits[0] | bits[1]))
    }

    fn expect_idle(&mut self, at: usize) -> Result<(), RunError> {
        let group = self.progress[at].group;
        for &unit in units(Kind::Convolution) {
            let status = self.bus.read_named(unit, "S_STATUS")? >> (16 * group) & 3;
            if status != 0 {
                let register = format!("{unit}.S_STATUS");
                return Err(RunError::Busy { operation: at, register, group, status });
            }
        }
        Ok(())
    }

    fn poll(
        &mut self,
        at: usize,
        unit: Unit,
        register: crate::nvdla::registers::RegisterRef,
        is_so: impl Fn(u32) -> bool,
    ) -> Result<(), RunError> {
        let mut value = 0;
        for _ in 0..POLLS {
            value = self.bus.read(unit, register)?;
            if is_so(value) {
                return Ok(());
            }
        }
        let register = format!("{unit}.{}", register.name);
        Err(RunError::Poll { operation: at, register, value, reads: POLLS })
    }

    fn enable(&mut self, at: usize) -> Result<(), RunError> {
        let kind = self.operations[at].kind;
        self.bus.place = format!("operation {at} ({kind})");
        if kind == Kind::Convolution {
            self.poll(at, Unit::Cdma, cdma::S_CBUF_FLUSH_STATUS, |status| status & 1 == 1)?;
        }
        // Until its answer comes, time passes for writes that are still on their way.
        self.bus.read(Unit::Glb, glb::S_INTR_STATUS)?;
        self.progress[at].span.enabled = self.bus.now()?;
        self.select(at)?;
        if kind == Kind::Bdma {
            let launch = [bdma::CFG_LAUNCH0, bdma::CFG_LAUNCH1][self.progress[at].group];
            self.bus.write(Unit::Bdma, launch, 1)?;
        }
        for unit in self.progress[at].enables.clone() {
            self.bus.write_named(unit, "D_OP_ENABLE", 1)?;
        }
        self.progress[at].state = State::Enabled;
        self.tell(at, Event::Enabled);
        Ok(())
    }

    /// Tells those who wait for an event of an operation.
    fn tell(&mut self, at: usize, event: Event) {
        let operation = &self.operations[at];
        let told = operation.consumers.iter().chain(&operation.fused_parent);
        for &(other, _) in told.filter(|(_, awaited)| *awaited == event) {
            let pending = &mut self.progress[other].pending;
            *pending = pending.saturating_sub(1);
        }
    }

    fn serve_interrupt(&mut self) -> Result<(), RunError> {
        self.bus.place = "waiting for an interrupt".to_owned();
        let time = self.bus.wait_interrupt()?;
        let status = self.bus.read(Unit::Glb, glb::S_INTR_STATUS)?;
        self.bus.write_acknowledged(Unit::Glb, glb::S_INTR_STATUS, status)?;
        let come = (0..32).filter(|bit| status >> bit & 1 == 1).filter_map(Interrupt::from_bit);
        // What has been fetched comes before what is done.
        let (fetched, done): (Vec<_>, Vec<_>) =
            come.partition(|interrupt| matches!(interrupt.source, Source::CdmaDat | Source::CdmaWt));
        for interrupt in fetched.into_iter().chain(done) {
            let (kind, event) = match interrupt.source {
                Source::CdmaDat => (Kind::Convolution, Event::DataFetched),
                Source::CdmaWt => (Kind::Convolution, Event::WeightsFetched),
                Source::Cacc => (Kind::Convolution, Event::Completed),
                Source::Bdma => (Kind::Bdma, Event::Completed),
                Source::Sdp => (Kind::Sdp, Event::Completed),
                Source::Pdp => (Kind::Pdp, Event::Completed),
                Source::Cdp => (Kind::Cdp, Event::Completed),
                Source::Rubik => (Kind::Rubik, Event::Completed),
            };
            let group = usize::from(interrupt.group);
            let unexpected = RunError::Unexpected { kind, group, status };
            let at = self.groups[kind as usize].taken[group].ok_or_else(|| unexpected.clone())?;
            if self.progress[at].state != State::Enabled {
                return Err(unexpected);
            }
            if event == Event::Completed {
                self.complete(at, time);
            }
            self.tell(at, event);
        }
        Ok(())
    }

    fn complete(&mut self, at: usize, time: Time) {
        let progress = &mut self.progress[at];
        (progress.state, progress.span.completed) = (State::Completed, time);
        let groups = &mut self.groups[self.operations[at].kind as usize];
        for taken in groups.taken.iter_mut().chain(&mut groups.rdma_taken) {
            if *taken == Some(at) {
                *taken = None;
            }
        }
    }
}

/// The units of a kind that have groups, in the order in which the driver points at them.
fn units(kind: Kind) -> &'static [Unit] {
    match kind {
        Kind::Bdma => &[],
        Kind::Convolution => &[Unit::Cacc, Unit::CmacA, Unit::CmacB, Unit::Csc, Unit::Cdma],
        Kind::Sdp => &[Unit::Sdp],
        Kind::Pdp => &[Unit::Pdp],
        Kind::Cdp => &[Unit::Cdp],
        Kind::Rubik => &[Unit::Rbk],
    }
}

/// The read DMA of a kind that has one with groups of its own.
fn rdma(kind: Kind) -> Option<Unit> {
    match kind {
        Kind::Sdp => Some(Unit::SdpRdma),
        Kind::Pdp => Some(Unit::PdpRdma),
        Kind::Cdp => Some(Unit::CdpRdma),
        Kind::Bdma | Kind::Convolution | Kind::Rubik => None,
    }
}

/// The table of an operation, and its precision.
fn lut(operation: &Operation) -> Option<(&Lut, u8)> {
    match &operation.what {
        What::Sdp { lut: Some(lut), descriptor, .. } => Some((lut, descriptor.src_precision)),
        What::Cdp { lut: Some(lut), descriptor: layout::Cdp { in_precision, .. }, .. } => {
            Some((lut, *in_precision))
        }
        _ => None,
    }
}
