//! Runs a task's operations as the vendor's kernel driver does: programmed when a register group is free, enabled when
//! what they wait for has come, ended by their interrupts.
//!
//! Each unit has two groups. An operation takes the one that its unit's pointer names, or the other one while that is in
//! use; read DMAs turn by themselves when they are used, and have a group of their own.

use super::error::RunError;
use super::network::{Operation, OperationKind, OperationWork};
use super::places::Places;
use super::registers::{self, Registers};
use crate::DriverError;
use crate::driver::{Driver, Event, Job, JobState};
use vp_core::Time;
use vp_models::nvdla::glb::InterruptSource;
use vp_models::nvdla::registers::{RegisterRef, Unit, bdma, cdma, glb};

/// Most reads of a register that is polled.
const POLLS: u32 = 100_000;

/// Times at which an operation ran, as its driver sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Kind of the operation.
    pub kind: OperationKind,
    /// Time at which its registers begin to be written.
    pub programmed: Time,
    /// Time at which it is enabled.
    pub enabled: Time,
    /// Time at which its interrupt is served.
    pub completed: Time,
}

/// Does a task's operations, in the order of the vendor's kernel driver.
pub(super) struct Kernel<'a, 'h> {
    driver: &'a mut Driver<'h>,
    places: &'a Places,
    operations: &'a [Operation],
    /// The table that is loaded, of each kind.
    tables: [Option<i16>; 6],
}

impl<'a, 'h> Kernel<'a, 'h> {
    pub(super) fn new(
        driver: &'a mut Driver<'h>,
        places: &'a Places,
        operations: &'a [Operation],
    ) -> Kernel<'a, 'h> {
        let job = |(at, operation): (usize, &Operation)| {
            let consumers = operation.consumers.iter().chain(&operation.fused_parent).copied().collect();
            Job::new(format!("operation {at} ({})", operation.kind), operation.dependencies.into(), consumers)
        };
        driver.take_jobs(operations.iter().enumerate().map(job).collect());
        Kernel { driver, places, operations, tables: [None; 6] }
    }

    /// Runs all of them; gives when each ran.
    pub(super) fn run(mut self) -> Result<Vec<Span>, RunError> {
        while self.driver.left > 0 {
            while self.advance()? {}
            if !self.driver.jobs.iter().any(|job| job.state == JobState::Enabled) {
                return Err(self.stuck());
            }
            self.driver.interrupt()?;
        }
        let jobs = self.operations.iter().zip(&self.driver.jobs);
        let span = |(operation, job): (&Operation, &Job)| Span {
            kind: operation.kind,
            programmed: job.programmed,
            enabled: job.enabled,
            completed: job.done,
        };
        Ok(jobs.map(span).collect())
    }

    fn stuck(&self) -> RunError {
        let is_left = |job: &Job| job.state != JobState::Completed;
        let first = self.driver.jobs.iter().position(is_left).unwrap_or_default();
        RunError::Stuck {
            left: self.driver.left,
            first,
            kind: self.operations[first].kind,
            count: self.driver.jobs[first].pending,
        }
    }

    /// Programs and enables what can be; whether there was any.
    fn advance(&mut self) -> Result<bool, RunError> {
        let mut moved = false;
        for kind in OperationKind::ALL {
            if let Some(at) = self.next_to_program(kind) {
                self.program(at)?;
                moved = true;
            }
        }
        for at in self.driver.under_way() {
            if self.driver.is_ready(at) {
                self.enable(at)?;
                moved = true;
            }
        }
        Ok(moved)
    }

    /// The next operation of a kind, if its unit has a group for it.
    fn next_to_program(&mut self, kind: OperationKind) -> Option<usize> {
        let others: Vec<usize> = self.driver.groups(kind.unit()).users.into_iter().flatten().collect();
        let jobs = &self.driver.jobs;
        let is_next = |&at: &usize| self.operations[at].kind == kind && jobs[at].state == JobState::Waiting;
        let at = (0..self.operations.len()).find(is_next)?;
        let has_room = others.len() < 2;
        // Tables are not kept twice: one is loaded when nobody uses another.
        let has_table = match self.operations[at].lut() {
            Some((lut, _)) => others.is_empty() || self.tables[kind as usize] == Some(lut.index),
            None => true,
        };
        // What is in the queue when BDMA is launched belongs together.
        let has_queue =
            kind != OperationKind::Bdma || others.iter().all(|&other| jobs[other].state == JobState::Enabled);
        (has_room && has_table && has_queue).then_some(at)
    }

    fn program(&mut self, at: usize) -> Result<(), RunError> {
        let operation = &self.operations[at];
        let kind = operation.kind;
        self.driver.at(at);
        self.driver.jobs[at].programmed = self.driver.bus.now()?;
        let group = self.take_groups(at)?;
        self.unmask(kind)?;
        if kind == OperationKind::Convolution {
            self.expect_idle(at, group)?;
        }
        if let Some((lut, precision)) = operation.lut()
            && self.tables[kind as usize] != Some(lut.index)
        {
            let load = registers::load_lut(self.places.map, kind.unit(), &lut.table, precision);
            self.driver.bus.run(&load)?;
            self.tables[kind as usize] = Some(lut.index);
        }
        if let OperationWork::Bdma(copies) = &operation.what {
            for copy in copies {
                self.poll(at, Unit::Bdma, bdma::STATUS, |status| status & 0xff != 0)?;
                self.driver.bus.run(&registers::transfer(copy, self.places))?;
            }
        }
        let Registers { program, enables } = registers::of(operation, self.places);
        self.driver.bus.run(&program)?;
        let interrupt = |&(source, event): &(InterruptSource, Event)| (source.of_group(group), event);
        let interrupts: Vec<_> = interrupts(kind).iter().map(interrupt).collect();
        self.driver.programmed(at, enables, &interrupts);
        Ok(())
    }

    /// Finds groups for an operation and points its units at them; gives its unit's.
    fn take_groups(&mut self, at: usize) -> Result<usize, DriverError> {
        let operation = &self.operations[at];
        let kind = operation.kind;
        let group = self.next_group(kind.unit())?;
        self.driver.occupy(kind.unit(), group, at);
        let mut groups: Vec<(Unit, usize)> = units(kind).iter().map(|&unit| (unit, group)).collect();
        if let Some(rdma) = rdma(kind) {
            let rdma_group = if kind == OperationKind::Cdp { group } else { self.next_group(rdma)? };
            if registers::uses_rdma(operation) {
                self.driver.occupy(rdma, rdma_group, at);
            }
            groups.push((rdma, rdma_group));
        }
        self.driver.point(at, groups)?;
        Ok(group)
    }

    /// The group that a unit takes next; asked of it when nobody is in its groups.
    fn next_group(&mut self, unit: Unit) -> Result<usize, DriverError> {
        if self.driver.groups(unit).users == [None; 2] {
            if unit == Unit::Bdma {
                let status = self.driver.bus.read(Unit::Bdma, bdma::STATUS.name)?;
                self.driver.groups(unit).next = usize::from(status >> 9 & 1 == 1);
            } else {
                self.driver.ask(unit)?;
            }
        }
        Ok(self.driver.groups(unit).next)
    }

    /// Lets a unit's interrupts through. The driver leaves those of the convolution pipeline as they are.
    fn unmask(&mut self, kind: OperationKind) -> Result<(), DriverError> {
        let &[(source, _)] = interrupts(kind) else { return Ok(()) };
        let mask = self.driver.bus.read(Unit::Glb, glb::S_INTR_MASK.name)?;
        let bits = [0, 1].map(|group| source.of_group(group).mask());
        self.driver.bus.write(Unit::Glb, glb::S_INTR_MASK.name, mask & !(bits[0] | bits[1]))
    }

    fn expect_idle(&mut self, at: usize, group: usize) -> Result<(), RunError> {
        for &unit in units(OperationKind::Convolution) {
            let status = self.driver.bus.read(unit, "S_STATUS")? >> (16 * group) & 3;
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
        register: RegisterRef,
        is_so: impl Fn(u32) -> bool,
    ) -> Result<(), RunError> {
        let mut value = 0;
        for _ in 0..POLLS {
            value = self.driver.bus.read(unit, register.name)?;
            if is_so(value) {
                return Ok(());
            }
        }
        let register = format!("{unit}.{}", register.name);
        Err(RunError::Poll { operation: at, register, value, reads: POLLS })
    }

    fn enable(&mut self, at: usize) -> Result<(), RunError> {
        let kind = self.operations[at].kind;
        self.driver.at(at);
        if kind == OperationKind::Convolution {
            self.poll(at, Unit::Cdma, cdma::S_CBUF_FLUSH_STATUS, |status| status & 1 == 1)?;
        }
        self.driver.begin(at)?;
        if kind == OperationKind::Bdma {
            // It has no pointer.
            let launch = [bdma::CFG_LAUNCH0, bdma::CFG_LAUNCH1]
                [usize::from(self.driver.groups(Unit::Bdma).users[1] == Some(at))];
            self.driver.bus.write(Unit::Bdma, launch.name, 1)?;
        }
        Ok(self.driver.start(at)?)
    }
}

/// Returns the interrupts of a kind, and the events that they tell. What has been fetched comes before what is done.
fn interrupts(kind: OperationKind) -> &'static [(InterruptSource, Event)] {
    match kind {
        OperationKind::Convolution => &[
            (InterruptSource::CdmaData, Event::DataFetched),
            (InterruptSource::CdmaWeight, Event::WeightsFetched),
            (InterruptSource::Cacc, Event::Completed),
        ],
        OperationKind::Bdma => &[(InterruptSource::Bdma, Event::Completed)],
        OperationKind::Sdp => &[(InterruptSource::Sdp, Event::Completed)],
        OperationKind::Pdp => &[(InterruptSource::Pdp, Event::Completed)],
        OperationKind::Cdp => &[(InterruptSource::Cdp, Event::Completed)],
        OperationKind::Rubik => &[(InterruptSource::Rubik, Event::Completed)],
    }
}

/// The units of a kind that have groups, in the order in which the driver points at them.
fn units(kind: OperationKind) -> &'static [Unit] {
    match kind {
        OperationKind::Bdma => &[],
        OperationKind::Convolution => &[Unit::Cacc, Unit::CmacA, Unit::CmacB, Unit::Csc, Unit::Cdma],
        OperationKind::Sdp => &[Unit::Sdp],
        OperationKind::Pdp => &[Unit::Pdp],
        OperationKind::Cdp => &[Unit::Cdp],
        OperationKind::Rubik => &[Unit::Rbk],
    }
}

/// The read DMA of a kind that has one with groups of its own.
fn rdma(kind: OperationKind) -> Option<Unit> {
    match kind {
        OperationKind::Sdp => Some(Unit::SdpRdma),
        OperationKind::Pdp => Some(Unit::PdpRdma),
        OperationKind::Cdp => Some(Unit::CdpRdma),
        OperationKind::Bdma | OperationKind::Convolution | OperationKind::Rubik => None,
    }
}
