//! Part that all drivers of an NVDLA share: jobs are written to units' groups while others run, enabled when the events that
//! they wait for have come, and ended by their interrupts.
//!
//! Front ends say which job is programmed when, and what is written: [`network`](super::network) for the steps of a plan,
//! [`loadable`](super::loadable) for a task's operations, in the vendor's order.
//!
//! ```text
//! ask, occupy   groups for a job             ┐
//! point         S_POINTER of its units       ├ then the front end writes its registers
//! programmed    what enables and ends it     ┘
//! begin, start  D_OP_ENABLE, when is_ready
//! interrupt     takes one, tells those who wait
//! ```

use std::collections::{BTreeMap, BTreeSet};

use vp_core::Time;

use super::bus::Bus;
use super::{DriverError, Host};
use vp_models::nvdla::glb::Interrupt;
use vp_models::nvdla::registers::{Unit, glb, sdp};

/// Events of a job for which others may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Completed,
    Programmed,
    Enabled,
    WeightsFetched,
    DataFetched,
}

/// Progress of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum JobState {
    #[default]
    Waiting,
    Programmed,
    Enabled,
    Completed,
}

/// Unit of work that is programmed, enabled and done as a whole.
#[derive(Debug, Default)]
pub(super) struct Job {
    /// Name of the job in errors.
    place: String,
    /// Events that it still waits for.
    pub(super) pending: usize,
    /// Jobs that are told, and of which of its events.
    pub(super) consumers: Vec<(usize, Event)>,
    /// Time at which its registers begin to be written.
    pub(super) programmed: Time,
    /// Time at which its units begin to be enabled.
    pub(super) enabled: Time,
    /// Time at which its last interrupt came.
    pub(super) done: Time,
    /// Time at which that interrupt was taken, and the driver went on.
    pub(super) taken: Time,
    pub(super) state: JobState,
    groups: Vec<(Unit, usize)>,
    enables: Vec<Unit>,
    /// Bits of GLB.S_INTR_STATUS that are to come; the last that says so completes it.
    interrupts: Vec<(u32, Event)>,
}

impl Job {
    pub(super) fn new(place: String, pending: usize, consumers: Vec<(usize, Event)>) -> Job {
        Job { place, pending, consumers, ..Job::default() }
    }
}

/// The two groups of a unit.
#[derive(Default)]
pub(super) struct Groups {
    /// The jobs in them.
    pub(super) users: [Option<usize>; 2],
    /// The one that is taken next.
    pub(super) next: usize,
}

impl Groups {
    pub(super) fn is_free(&self) -> bool {
        self.users[self.next].is_none()
    }
}

pub(super) struct Driver<'h> {
    pub(super) bus: Bus<'h>,
    groups: BTreeMap<Unit, Groups>,
    pub(super) jobs: Vec<Job>,
    /// Jobs that are programmed and not completed.
    under_way: BTreeSet<usize>,
    /// Number of jobs that are not completed.
    pub(super) left: usize,
}

impl<'h> Driver<'h> {
    pub(super) fn new(host: &'h mut dyn Host, place: &str) -> Driver<'h> {
        let bus = Bus::new(host, place);
        Driver { bus, groups: BTreeMap::new(), jobs: Vec::new(), under_way: BTreeSet::new(), left: 0 }
    }

    /// Begins other jobs: those before are completed, or given up.
    pub(super) fn take_jobs(&mut self, jobs: Vec<Job>) {
        self.under_way.clear();
        self.groups.values_mut().for_each(|groups| groups.users = [None; 2]);
        self.left = jobs.len();
        self.jobs = jobs;
    }

    /// Jobs that are programmed and not completed, in their order.
    pub(super) fn under_way(&self) -> Vec<usize> {
        self.under_way.iter().copied().collect()
    }

    /// Returns true if a job is programmed, and all that it waits for has come.
    pub(super) fn is_ready(&self, at: usize) -> bool {
        self.jobs[at].state == JobState::Programmed && self.jobs[at].pending == 0
    }

    pub(super) fn groups(&mut self, unit: Unit) -> &mut Groups {
        self.groups.entry(unit).or_default()
    }

    /// Asks a unit which group it runs from, or takes next.
    pub(super) fn ask(&mut self, unit: Unit) -> Result<(), DriverError> {
        let pointer = self.bus.read(unit, "S_POINTER")?;
        let bit = sdp::S_POINTER::CONSUMER.bits(self.bus.map.family()).lsb;
        // All units have it in the same place.
        self.groups(unit).next = (pointer >> bit & 1) as usize;
        Ok(())
    }

    /// Puts a job into a group of a unit, which takes the other one next.
    pub(super) fn occupy(&mut self, unit: Unit, group: usize, at: usize) {
        let groups = self.groups(unit);
        (groups.users[group], groups.next) = (Some(at), 1 - group);
    }

    /// A job is what errors are about from here on.
    pub(super) fn at(&mut self, at: usize) {
        self.bus.at(&self.jobs[at].place);
    }

    /// Points units at a job's groups; from now on its registers may be written.
    pub(super) fn point(&mut self, at: usize, groups: Vec<(Unit, usize)>) -> Result<(), DriverError> {
        self.jobs[at].groups = groups;
        self.select(at)
    }

    fn select(&mut self, at: usize) -> Result<(), DriverError> {
        self.jobs[at]
            .groups
            .iter()
            .try_for_each(|&(unit, group)| self.bus.write(unit, "S_POINTER", group as u32))
    }

    /// A job's registers are written: which units are then enabled, and what they say when.
    pub(super) fn programmed(&mut self, at: usize, enables: Vec<Unit>, interrupts: &[(Interrupt, Event)]) {
        let interrupts = interrupts.iter().map(|&(interrupt, event)| (1 << interrupt.bit(), event));
        let job = &mut self.jobs[at];
        (job.state, job.enables, job.interrupts) = (JobState::Programmed, enables, interrupts.collect());
        self.under_way.insert(at);
        self.tell(at, Event::Programmed);
    }

    /// Before a job is enabled.
    pub(super) fn begin(&mut self, at: usize) -> Result<(), DriverError> {
        self.at(at);
        // Until its answer comes, time passes for writes that are still on their way.
        self.bus.read(Unit::Glb, glb::S_INTR_STATUS.name)?;
        self.jobs[at].enabled = self.bus.now()?;
        Ok(())
    }

    /// Enables a job's units.
    pub(super) fn start(&mut self, at: usize) -> Result<(), DriverError> {
        self.select(at)?;
        self.jobs[at].enables.iter().try_for_each(|&unit| self.bus.write(unit, "D_OP_ENABLE", 1))?;
        self.jobs[at].state = JobState::Enabled;
        self.tell(at, Event::Enabled);
        Ok(())
    }

    /// Tells those who wait for an event of a job.
    fn tell(&mut self, at: usize, event: Event) {
        let consumers = std::mem::take(&mut self.jobs[at].consumers);
        for &(other, _) in consumers.iter().filter(|(_, awaited)| *awaited == event) {
            let pending = &mut self.jobs[other].pending;
            *pending = pending.saturating_sub(1);
        }
        self.jobs[at].consumers = consumers;
    }

    /// Waits for an interrupt and takes it; gives the jobs that it completes.
    pub(super) fn interrupt(&mut self) -> Result<Vec<usize>, DriverError> {
        if let Some(&first) = self.under_way.first() {
            self.at(first);
        }
        let done = self.bus.wait_interrupt()?;
        let status = self.bus.read(Unit::Glb, glb::S_INTR_STATUS.name)?;
        let is_enabled = |at: &usize| self.jobs[*at].state == JobState::Enabled;
        let enabled: Vec<usize> = self.under_way.iter().copied().filter(is_enabled).collect();
        let awaited = enabled.iter().flat_map(|&at| &self.jobs[at].interrupts);
        let expected = awaited.fold(0, |bits, (bit, _)| bits | bit);
        if status == 0 || status & !expected != 0 {
            return Err(DriverError::Interrupt { place: self.bus.place.clone(), status, expected });
        }
        self.bus.write_acknowledged(Unit::Glb, glb::S_INTR_STATUS.name, status)?;
        let taken = self.bus.now()?;
        let mut completed = Vec::new();
        for at in enabled {
            let interrupts = &mut self.jobs[at].interrupts;
            let come: Vec<Event> =
                interrupts.extract_if(.., |(bit, _)| status & *bit != 0).map(|(_, event)| event).collect();
            let is_complete = !interrupts.iter().any(|(_, event)| *event == Event::Completed);
            for event in come.into_iter().filter(|event| *event != Event::Completed) {
                self.tell(at, event);
            }
            if is_complete {
                (self.jobs[at].done, self.jobs[at].taken) = (done, taken);
                self.complete(at);
                completed.push(at);
            }
        }
        Ok(completed)
    }

    /// A job is done.
    pub(super) fn complete(&mut self, at: usize) {
        self.jobs[at].state = JobState::Completed;
        self.left -= 1;
        self.under_way.remove(&at);
        for user in self.groups.values_mut().flat_map(|groups| &mut groups.users) {
            user.take_if(|user| *user == at);
        }
        self.tell(at, Event::Completed);
    }
}
