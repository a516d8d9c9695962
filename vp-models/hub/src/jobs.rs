//! Jobs: commands that move simulated time, or must keep their place among those that do.
//!
//! Register accesses, timed accesses to memory and streams, Advance and Step are jobs. In lockstep one job at a
//! time is *current*, and time moves only for it: for a register read until its answer is there, for an Advance
//! until its condition is true. A posted write is over as soon as the bus has queued it: time does not move for
//! it, but passes during the next job.
//!
//! Timed memory accesses of a party without a clock have their place among its jobs and take effect there at
//! once: they are not bursts. A master that makes bursts is a partner.

use vp_core::Time;

use super::Hub;
use super::access::{Access, Operation};
use super::bus_accesses::BusAccess;
use super::current_job::Goal;
use super::ids::Tag;
use super::input::PartyCommand;
use super::job::{Job, Task};
use super::output::{Completion, Failure, FailureKind};
use super::party::Party;
use super::time_mode::TimeMode;
use vp_models::bus::register::{RegisterAccess, RegisterRequest};
use vp_models::platform::{Port, PortKind};
use vp_models::units::HORIZON;
use vp_types::{PartyId, PortId, Until, Why};

/// Posted writes that may wait for the bus while time stands. Beyond, time moves for them.
const MOST_QUEUED: usize = 65_536;
/// Cycles that time moves at once for posted writes that are too many.
const DRAIN: u64 = 4_096;

/// Free mode: whether a job waits for a moment that is not there yet, its own or the next one of what partners were promised.
fn is_for_later(job: &Job, now: Time, begin: Option<Time>) -> bool {
    job.at.is_some_and(|at| at > now) || (begin.is_some() && job.waits_for_time())
}

/// Turns of the parties, a job each.
pub(super) struct JobTurns {
    /// Party at which the next round over the parties' jobs begins, so that none waits for ever.
    turn: PartyId,
    /// Free mode: when the bus, which is full, is looked at for room again; [`Time::MAX`] if nothing moves there.
    room_at: Option<Time>,
    /// Number of commands that have begun.
    begun: u64,
}

impl JobTurns {
    pub(super) fn new() -> JobTurns {
        JobTurns { turn: PartyId(0), room_at: None, begun: 0 }
    }

    /// Number of commands that have begun.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Forgets that the bus was full, after a reset.
    pub(super) fn forget_room(&mut self) {
        self.room_at = None;
    }
}

impl Hub {
    /// The number of a party's commands and posted writes that wait for their turn: the measure for
    /// back-pressure.
    #[must_use]
    pub fn waiting(&self, party: PartyId) -> usize {
        self.parties.get(party).map_or(0, |party| party.jobs().len())
    }

    /// Takes an access: a debug access is carried out, all others are jobs.
    pub(super) fn take_access(&mut self, party: PartyId, tag: Option<Tag>, access: Access) {
        let at = access.at;
        let is_debug = access.operation.is_debug();
        let checked = self.check_access(party, &access).and_then(|register| {
            self.check_begin(party, at)?;
            Ok(register)
        });
        let (at, task) = match checked {
            Ok(Some(address)) => {
                let write = match access.operation {
                    Operation::RegisterWrite { value, .. } => Some(value),
                    _ => None,
                };
                (at, Task::Register { address, write })
            }
            // A debug access goes round time, but not round an earlier access of the same party to memory.
            Ok(None) if is_debug && at.is_none() && !self.has_memory_jobs(party) => {
                return self.access_memory(party, tag, access);
            }
            Ok(None) => (at, Task::Memory(access)),
            Err(failure) if access.operation.is_register() => (None, Task::Fail(failure)),
            Err(failure) => return self.fail(party, tag, failure),
        };
        self.enqueue(party, Job { tag, at, task });
    }

    /// Takes a command that moves time.
    pub(super) fn take_time_command(&mut self, party: PartyId, tag: Tag, command: &PartyCommand) {
        let planned = self.may_move_time(party).and_then(|()| match *command {
            PartyCommand::Step { to } => {
                within_horizon(to)?;
                Ok(Task::Step(to))
            }
            PartyCommand::Advance(until) => {
                let named = match until {
                    Until::Time(time) => Some(time),
                    Until::Interrupt { limit, .. } => limit,
                    Until::Idle => None,
                };
                named.map_or(Ok(()), within_horizon)?;
                if let Until::Interrupt { port, .. } = until {
                    let port = self.port(port)?;
                    if port.kind != PortKind::Irq {
                        let reason = format!("{} is no interrupt line", port.name);
                        return Err(Failure::new(FailureKind::WrongRole, reason));
                    }
                }
                Ok(Task::Advance(until))
            }
            _ => Err(Failure::new(FailureKind::Internal, "a command that is no job")),
        });
        match planned {
            Ok(task) => self.enqueue(party, Job { tag: Some(tag), at: None, task }),
            Err(failure) => self.fail(party, Some(tag), failure),
        }
    }

    /// Takes faults, which can reach partners at once: they wait for what those were promised.
    pub(super) fn take_faults(&mut self, party: PartyId, tag: Tag, faults: String) {
        self.enqueue(party, Job { tag: Some(tag), at: None, task: Task::Inject(faults) });
    }

    fn enqueue(&mut self, party: PartyId, job: Job) {
        self.parties.push(party, job);
    }

    /// A party with accesses that wait for their turn, if there is one.
    pub(super) fn has_accesses(&self) -> Option<PartyId> {
        let to_begin = self.current.as_ref().and_then(|current| current.to_begin());
        let begins = to_begin.filter(|(_, job)| job.is_access()).map(|(party, _)| party);
        let waits = |(id, party): (PartyId, &Party)| party.jobs().iter().any(Job::is_access).then_some(id);
        begins.or_else(|| self.parties.iter().find_map(waits))
    }

    fn has_memory_jobs(&self, party: PartyId) -> bool {
        self.is_to_begin_with_memory(party)
            || self.parties.get(party).is_some_and(|party| party.jobs().iter().any(Job::is_memory))
    }

    /// Refuses an access that cannot be carried out; says to which register an access is, if it is to one.
    fn check_access(&self, party: PartyId, access: &Access) -> Result<Option<u32>, Failure> {
        let port = access.port;
        match &access.operation {
            Operation::RegisterRead { address } | Operation::RegisterWrite { address, .. } => {
                self.register(party, port, *address).map(Some)
            }
            Operation::MemoryRead { address, length, .. } => {
                self.check_window(party, port, *address, u64::from(*length))?;
                Ok(None)
            }
            Operation::MemoryWrite { address, data, .. } => {
                self.check_window(party, port, *address, data.len() as u64)?;
                Ok(None)
            }
            Operation::StreamSend { data, .. } => {
                let Port { name, size, .. } = *self.initiated(party, port, &[PortKind::Stream])?;
                if data.len() as u64 > size {
                    let bytes = data.len();
                    let reason = format!("{bytes} bytes: {name} keeps at most {size}, send less at once");
                    return Err(Failure::new(FailureKind::BadRange, reason));
                }
                Ok(None)
            }
        }
    }

    fn check_begin(&self, party: PartyId, at: Option<Time>) -> Result<(), Failure> {
        let Some(at) = at else { return Ok(()) };
        within_horizon(at)?;
        // In lockstep the wait for that moment moves time.
        if self.mode() == TimeMode::Lockstep && at > self.now() {
            self.may_control_time(party)?;
        }
        Ok(())
    }

    fn may_move_time(&self, party: PartyId) -> Result<(), Failure> {
        if self.mode() != TimeMode::Lockstep {
            let reason = "time moves by itself here: Advance and Step are for lockstep";
            return Err(Failure::new(FailureKind::WrongTimeMode, reason));
        }
        self.may_control_time(party)
    }

    /// The address of a register, if there may be one.
    fn register(&self, party: PartyId, port: PortId, address: u64) -> Result<u32, Failure> {
        register_of(self.initiated(party, port, &[PortKind::Registers])?, address)
    }

    fn check_window(&self, party: PartyId, port: PortId, address: u64, length: u64) -> Result<(), Failure> {
        let port = self.initiated(party, port, &[PortKind::Axi, PortKind::Stream])?;
        if port.kind == PortKind::Stream {
            let reason = format!("{}: a stream takes whole writes only", port.name);
            return Err(Failure::new(FailureKind::Unsupported, reason));
        }
        check_bytes(port, address, length)
    }

    // Jobs in their turn.

    /// Starts what can be started now: round and round over the parties, a job each.
    pub(super) fn start_jobs(&mut self) {
        self.look_for_room();
        while self.current.is_none() && !self.is_stopped() && self.has_jobs() {
            let Some(party) = self.next_party() else { return };
            self.turns.turn = PartyId(party.0.wrapping_add(1));
            if let Some(job) = self.parties.pop(party) {
                self.start(party, job);
            }
            self.look_for_room();
        }
    }

    /// Free mode: if too many accesses wait for the bus, those to come wait for a moment of simulated time. Whether there
    /// is room then is not looked at earlier, such as where a run happens to be cut: a replay is cut elsewhere.
    fn look_for_room(&mut self) {
        let (now, begin) = (self.now(), self.next_begin());
        let is_waited_for = |(_, job): (PartyId, &Job)| job.is_register() && !is_for_later(job, now, begin);
        if self.mode() != TimeMode::Free || !self.parties.first_jobs(self.turns.turn).any(is_waited_for) {
            self.turns.room_at = None;
        } else if self.turns.room_at.is_none_or(|at| at <= now || at == Time::MAX) {
            // Without anything to be done there is no room until something comes from outside.
            let is_idle = self.platform.simulation().next_time().is_none();
            let next = if is_idle { Time::MAX } else { self.next_room() };
            self.turns.room_at = self.is_bus_full().then_some(next);
        }
    }

    fn is_bus_full(&self) -> bool {
        self.platform.registers().backlog() >= MOST_QUEUED
    }

    /// Returns the time at which a full bus is looked at again.
    fn next_room(&self) -> Time {
        self.now() + self.platform.description().period * DRAIN
    }

    /// The next party in turn with a job that can start.
    fn next_party(&self) -> Option<PartyId> {
        let (now, begin) = (self.now(), self.next_begin());
        let is_full = self.turns.room_at.is_some_and(|at| at > now);
        let is_ready = |(_, job): &(PartyId, &Job)| match job {
            _ if self.mode() == TimeMode::Lockstep || self.time.standstill().is_some() => true,
            job => !(is_for_later(job, now, begin) || (is_full && job.is_register())),
        };
        self.parties.first_jobs(self.turns.turn).find(is_ready).map(|(party, _)| party)
    }

    pub(super) fn has_ready_job(&self) -> bool {
        self.current.is_none() && !self.is_stopped() && self.has_jobs() && self.next_party().is_some()
    }

    pub(super) fn has_jobs(&self) -> bool {
        self.parties.have_jobs()
    }

    /// Free mode: the moment for which the earliest job waits.
    pub(super) fn next_job_time(&self) -> Option<Time> {
        let begin = self.next_begin();
        let first_jobs = self.parties.first_jobs(PartyId(0)).map(|(_, job)| job);
        let room = |job: &Job| self.turns.room_at.filter(|at| job.is_register() && *at < Time::MAX);
        let times =
            first_jobs.filter_map(|job| job.at.max(begin.filter(|_| job.waits_for_time())).max(room(job)));
        times.filter(|at| *at > self.now()).min()
    }

    pub(super) fn start(&mut self, party: PartyId, job: Job) {
        if job.waits_for_time()
            && let Some(failure) = self.time.standstill()
        {
            return self.fail(party, job.tag, failure.clone());
        }
        let lockstep = self.mode() == TimeMode::Lockstep;
        if lockstep {
            if let Some(at) = job.at.filter(|at| *at > self.now()) {
                return self.pursue(party, Goal::Begin(at, job));
            }
            let later = match job.is_register() {
                true if self.is_bus_full() => Some(self.next_room()),
                _ => self.next_begin().filter(|_| job.waits_for_time()),
            };
            if let Some(until) = later {
                self.parties.push_front(party, job);
                return self.pursue(party, Goal::Room(until));
            }
        }
        self.turns.begun += 1;
        let Job { tag, task, .. } = job;
        match task {
            Task::Register { address, write } => {
                let bus_tag = self.bus.next_tag();
                let access = match write {
                    None => RegisterAccess::Read,
                    Some(value) => RegisterAccess::Write { value, posted: tag.is_none() },
                };
                self.note_asker(party, access);
                self.platform.registers().send(RegisterRequest { address, access, tag: bus_tag });
                let Some(tag) = tag else { return };
                self.bus.push(BusAccess { bus_tag, party, tag, write: write.is_some(), failure: None });
                if lockstep {
                    self.pursue(party, Goal::Answer { bus_tag });
                }
            }
            Task::Memory(access) => self.access_memory(party, tag, access),
            Task::Fail(failure) => match tag {
                Some(tag) => {
                    let failure = Some(failure);
                    self.bus.push(BusAccess { bus_tag: 0, party, tag, write: false, failure });
                    self.fail_front();
                }
                None => self.fail(party, None, failure),
            },
            Task::Advance(until) => {
                let Some(tag) = tag else { return };
                match until {
                    Until::Time(time) if time <= self.now() => self.reached(party, tag, Why::Time),
                    Until::Time(time) => self.pursue(party, Goal::Time(time, tag)),
                    Until::Interrupt { .. } if self.platform.irq().level() => {
                        self.reached(party, tag, Why::Interrupt);
                    }
                    Until::Interrupt { limit, .. } => self.pursue(party, Goal::Interrupt(limit, tag)),
                    Until::Idle => self.pursue(party, Goal::Idle(tag)),
                }
            }
            Task::Inject(faults) => {
                let done = self.inject(&faults);
                if let Some(tag) = tag {
                    self.complete(party, tag, done.map(|()| Completion::Done));
                }
            }
            Task::Step(to) => {
                let Some(tag) = tag else { return };
                self.pursue(party, Goal::Step(to.max(self.now()), tag));
            }
        }
    }

    pub(super) fn reached(&mut self, party: PartyId, tag: Tag, why: Why) {
        self.complete(party, tag, Ok(Completion::Reached(why)));
    }

    /// Answers failed accesses whose turn has come.
    pub(super) fn fail_front(&mut self) {
        while let Some((party, tag, failure)) = self.bus.failed() {
            self.fail(party, Some(tag), failure);
        }
    }

    /// Fails everything that is under way or waits, in the order in which it came.
    pub(super) fn cancel_all(&mut self, why: &Failure) {
        let cancelled = || why.clone();
        for BusAccess { party, tag, .. } in self.bus.take_all() {
            self.fail(party, Some(tag), cancelled());
        }
        if let Some((party, tag)) = self.take_current() {
            self.fail(party, Some(tag), cancelled());
        }
        for (party, job) in self.parties.take_jobs() {
            // Posted writes end quietly: of what came before them nothing will be seen either.
            if job.tag.is_some() {
                self.fail(party, job.tag, cancelled());
            }
        }
    }
}

/// The address of a register in its bus's space, if there may be one.
pub(super) fn register_of(port: &Port, address: u64) -> Result<u32, Failure> {
    if !address.is_multiple_of(4) {
        let reason = format!("register address 0x{address:x}: registers are words, at multiples of 4");
        return Err(Failure::new(FailureKind::Misaligned, reason));
    }
    let register = (address.checked_sub(port.base).filter(|offset| *offset < port.size))
        .and_then(|offset| u32::try_from(offset).ok());
    register.ok_or_else(|| {
        let (name, size) = (port.name, port.size);
        let reason = format!("register address 0x{address:x}: {name} ends at 0x{size:x}");
        Failure::new(FailureKind::DecodeError, reason)
    })
}

/// Refuses bytes that are not all a memory's.
pub(super) fn check_bytes(port: &Port, address: u64, length: u64) -> Result<(), Failure> {
    let end = port.base.saturating_add(port.size);
    if address >= port.base && address.checked_add(length).is_some_and(|last| last <= end) {
        return Ok(());
    }
    let (name, from, to) = (port.name, port.base, end - 1);
    let reason = format!("{length} bytes at 0x{address:x}: {name} spans 0x{from:x} to 0x{to:x}");
    Err(Failure::new(FailureKind::BadRange, reason))
}

pub(super) fn within_horizon(time: Time) -> Result<(), Failure> {
    match time <= HORIZON {
        true => Ok(()),
        false => {
            let reason = format!("{} ps: times are at most 2^62 ps", time.as_ps());
            Err(Failure::new(FailureKind::BadRange, reason))
        }
    }
}
