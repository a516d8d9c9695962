//! Jobs: what moves simulated time, or must keep its place among that which does.
//!
//! Register accesses, timed memory accesses, Advance and Step are jobs. In lockstep one job at a time is *current*, and time
//! moves for it alone: a register read until its answer is there, an Advance until what it waits for. A posted write is
//! over as soon as the bus has queued it: time does not move for it, the next job carries it along.
//!
//! Timed memory accesses from outside find their place among the session's jobs and take effect there at once: the model
//! has no AXI port into which another master could feed bursts.

use bytes::Bytes;
use vp_core::Time;
use vp_models::bus::csb::{CsbAccess, CsbRequest};
use vp_protocols::native::{
    Access, Capabilities, ErrorCode, MemoryRead, MemoryWrite, PortId, PortKind, Reply, Request, RequestId,
    SessionId, TimeMode, Until, Why,
};

use super::{Asker, Charge, Failure, Host, Member, OnBus, ToSession};

/// Posted writes that may wait for the bus while time stands. Beyond, time moves for them.
const MOST_QUEUED: usize = 65_536;
/// How far time moves at once for posted writes that are too many, in cycles.
const DRAIN: u64 = 4_096;

/// The latest moment that a session may name, about 53 days. Far from the end of all time: whatever moment the platform is
/// taken to, there is time left to work in.
pub(super) const HORIZON: Time = Time::ps(1 << 62);

/// Something to be done in its turn.
pub(super) struct Job {
    pub(super) asker: Option<Asker>,
    at: Option<Time>,
    task: Task,
    charge: Option<Charge>,
}

enum Task {
    Register {
        word: u16,
        write: Option<u32>,
    },
    Memory {
        request: Request,
        payload: Bytes,
    },
    Advance(Until),
    Step(Time),
    /// A register access that fails, in its turn: answers of a port keep request order.
    Fail(Failure),
}

/// The job for which time moves, in lockstep.
pub(super) struct Current {
    pub(super) session: SessionId,
    goal: Goal,
}

enum Goal {
    /// The moment at which a job is to begin.
    Begin(Time, Job),
    /// The answer from the bus.
    Answer {
        tag: u64,
    },
    /// An Advance.
    Time(Time, RequestId),
    Interrupt(Option<Time>, RequestId),
    Idle(RequestId),
    /// A Step.
    Step(Time, RequestId),
    /// Fewer posted writes in front of the bus.
    Drain(Time),
}

impl Host {
    /// Takes a request that is a job, or carries out a debug access.
    pub(super) fn enqueue(
        &mut self,
        session: SessionId,
        asker: Option<Asker>,
        request: Request,
        payload: Bytes,
        charge: Option<Charge>,
    ) {
        let respects_at = (self.members.get(session))
            .is_some_and(|member| member.capabilities.contains(Capabilities::SCHEDULED));
        let planned = self.plan(session, &request, payload.clone()).and_then(|(at, task)| {
            let at = at.filter(|_| respects_at);
            if let Some(at) = at {
                within_horizon(at)?;
                // In lockstep the wait for that moment moves time.
                if self.mode == TimeMode::Lockstep && at > self.now() {
                    self.may_rule(session)?;
                }
            }
            Ok((at, task))
        });
        let (at, task) = match planned {
            Ok(planned) => planned,
            Err(failure) => match request {
                Request::RegisterRead(_) | Request::RegisterWrite(_) => (None, Task::Fail(failure)),
                _ => return self.fail(session, asker, failure),
            },
        };
        let Some(member) = self.members.get(session) else { return };
        let is_debug = is_debug(&request);
        // A debug access goes round time, but not round an earlier access of the same session to memory.
        let waits = |job: &Job| matches!(job.task, Task::Memory { .. });
        if is_debug && at.is_none() && !member.jobs.iter().any(waits) && !self.begins_with_memory(session) {
            return self.access(session, asker.and_then(Asker::on_stream), request, payload, charge);
        }
        let Some(member) = self.members.get_mut(session) else { return };
        member.jobs.push_back(Job { asker, at, task, charge });
    }

    fn begins_with_memory(&self, session: SessionId) -> bool {
        matches!(&self.current, Some(Current { session: of, goal: Goal::Begin(_, job) })
            if *of == session && matches!(job.task, Task::Memory { .. }))
    }

    /// Checks a request and says what it is as a task, and when it may begin.
    fn plan(
        &self,
        session: SessionId,
        request: &Request,
        payload: Bytes,
    ) -> Result<(Option<Time>, Task), Failure> {
        let time = |at: vp_protocols::native::Time| Time::ps(at.0);
        match *request {
            Request::RegisterRead(read) => {
                let word = self.word(session, read.port, read.address)?;
                Ok((read.at.map(time), Task::Register { word, write: None }))
            }
            Request::RegisterWrite(write) => {
                let word = self.word(session, write.port, write.address)?;
                Ok((write.at.map(time), Task::Register { word, write: Some(write.value) }))
            }
            Request::MemoryRead(MemoryRead { port, address, length, at, .. })
            | Request::MemoryWrite(MemoryWrite { port, address, length, at, .. }) => {
                self.window(session, port, address, length)?;
                Ok((at.map(time), Task::Memory { request: request.clone(), payload }))
            }
            Request::Step { to } => {
                self.may_move_time(session, request)?;
                let to = time(to);
                within_horizon(to)?;
                Ok((None, Task::Step(to)))
            }
            Request::Advance { until } => {
                self.may_move_time(session, request)?;
                let named = match until {
                    Until::Time(time) => Some(time),
                    Until::Interrupt { limit, .. } => limit,
                    Until::Idle => None,
                };
                named.map(time).map_or(Ok(()), within_horizon)?;
                if let Until::Interrupt { port, .. } = until {
                    let port = self.port(port)?;
                    if port.kind != PortKind::Irq {
                        let reason = format!("{} is no interrupt line", port.name);
                        return Err((ErrorCode::WrongRole, reason));
                    }
                }
                Ok((None, Task::Advance(until)))
            }
            _ => Err((ErrorCode::Internal, format!("{} is no job", request.name()))),
        }
    }

    fn may_move_time(&self, session: SessionId, request: &Request) -> Result<(), Failure> {
        if self.mode != TimeMode::Lockstep {
            let reason = format!("time moves by itself here: {} is for lockstep", request.name());
            return Err((ErrorCode::WrongTimeMode, reason));
        }
        self.may_rule(session)
    }

    /// The word that a byte address names.
    fn word(&self, session: SessionId, port: PortId, address: u64) -> Result<u16, Failure> {
        let port = self.initiated(session, port, PortKind::Csb)?;
        if !address.is_multiple_of(4) {
            let reason = format!("register address 0x{address:x}: registers are words, at multiples of 4");
            return Err((ErrorCode::Misaligned, reason));
        }
        let word = (address.checked_sub(port.base).filter(|offset| *offset < port.size))
            .and_then(|offset| u16::try_from(offset / 4).ok());
        word.ok_or_else(|| {
            let (name, size) = (&port.name, port.size);
            (ErrorCode::DecodeError, format!("register address 0x{address:x}: {name} ends at 0x{size:x}"))
        })
    }

    fn window(&self, session: SessionId, port: PortId, address: u64, length: u32) -> Result<(), Failure> {
        let port = self.initiated(session, port, PortKind::Axi)?;
        let end = port.base.saturating_add(port.size);
        let inside = address.checked_add(u64::from(length)).is_some_and(|last| last <= end);
        match address >= port.base && inside {
            true => Ok(()),
            false => {
                let (name, from, to) = (&port.name, port.base, end - 1);
                let reason = format!("{length} bytes at 0x{address:x}: {name} spans 0x{from:x} to 0x{to:x}");
                Err((ErrorCode::BadRange, reason))
            }
        }
    }

    /// Carries out a memory access now.
    fn access(
        &mut self,
        session: SessionId,
        id: Option<RequestId>,
        request: Request,
        payload: Bytes,
        charge: Option<Charge>,
    ) {
        let asker = id.map(Asker::Stream);
        let (port, address, length) = match &request {
            Request::MemoryRead(read) => (read.port, read.address, read.length),
            Request::MemoryWrite(write) => (write.port, write.address, write.length),
            _ => return,
        };
        if let Some(stream) = self.stream(port) {
            let sent = match &request {
                Request::MemoryWrite(MemoryWrite { strobes: false, .. }) => {
                    stream.send(&payload).map_err(|error| (ErrorCode::SlaveError, error.to_string()))
                }
                _ => Err((
                    ErrorCode::Unsupported,
                    format!("{}: a stream takes whole writes only", stream.name()),
                )),
            };
            return match (sent, id) {
                (Ok(()), Some(id)) => self.reply(session, id, Reply::Done),
                (Ok(()), None) => {}
                (Err(failure), _) => self.fail(session, asker, failure),
            };
        }
        match self.owner(port, address, length) {
            Ok(None) => {}
            Ok(Some(owner)) => return self.forward(session, id, (owner, port), request, payload, charge),
            Err(failure) => return self.fail(session, asker, failure),
        }
        let Some(memory) = self.memory(port) else {
            return self.fail(session, asker, (ErrorCode::NoSuchPort, "no such memory".to_owned()));
        };
        let refuse = |error: vp_models::memory::OutOfRange| (ErrorCode::BadRange, error.to_string());
        let done = match &request {
            Request::MemoryRead(read) => {
                let peeked = memory.peeked(address, read.length as usize);
                peeked.map(|data| (Reply::Data, Bytes::from(data))).map_err(refuse)
            }
            Request::MemoryWrite(write) => {
                let (data, strobes) = write.split(&payload);
                let poke = |at: usize, bytes: &[u8]| memory.poke(address + at as u64, bytes);
                let done = match strobes {
                    None => poke(0, &data),
                    Some(strobes) => runs(&strobes, data.len())
                        .try_for_each(|run| poke(run.start, data.get(run).unwrap_or_default())),
                };
                done.map(|()| (Reply::Done, Bytes::new())).map_err(refuse)
            }
            _ => return,
        };
        match (done, id) {
            (Ok((reply, payload)), Some(id)) => {
                let time = self.wire_now();
                self.send(session, ToSession::Reply { id, time, reply, payload, charge });
            }
            (Ok(_), None) => {}
            (Err(failure), _) => self.fail(session, asker, failure),
        }
    }

    /// Passes an access on to the session that owns the memory.
    fn forward(
        &mut self,
        session: SessionId,
        id: Option<RequestId>,
        owner: (SessionId, PortId),
        mut request: Request,
        payload: Bytes,
        charge: Option<Charge>,
    ) {
        let Some(id) = id else {
            let reason = format!(
                "session {} owns that memory, and only requests are passed on: write with a request",
                owner.0.0
            );
            return self.fail(session, None, (ErrorCode::Unsupported, reason));
        };
        match &mut request {
            Request::MemoryRead(read) => (read.access, read.at) = (Access::Debug, None),
            Request::MemoryWrite(write) => (write.access, write.at) = (Access::Debug, None),
            _ => {}
        }
        self.requests.borrow_mut().forward(owner, (session, id), request, payload, charge);
    }

    // Jobs in their turn.

    /// Starts what can be started now.
    pub(super) fn start_jobs(&mut self) {
        loop {
            if self.current.is_some() || !self.has_jobs() {
                return;
            }
            // Round and round over the members, a job each.
            let Some(session) = self.next_session() else {
                self.set_alarm();
                return;
            };
            self.turn = SessionId(session.0.wrapping_add(1));
            let Some(job) = self.members.get_mut(session).and_then(|member| member.jobs.pop_front()) else {
                return;
            };
            self.start(session, job);
        }
    }

    /// The next session in turn with a job that can start.
    fn next_session(&self) -> Option<SessionId> {
        let now = self.now();
        let is_full = self.platform.csb().backlog() >= MOST_QUEUED;
        let ready = |job: &Job| match job {
            _ if self.mode == TimeMode::Lockstep || self.livelock.is_some() => true,
            job if job.at.is_some_and(|at| at > now) => false,
            job => !(is_full && matches!(job.task, Task::Register { .. })),
        };
        let is_next = |(_, member): &(SessionId, &Member)| member.jobs.front().is_some_and(ready);
        self.members.from(self.turn).find(is_next).map(|(session, _)| session)
    }

    pub(super) fn has_ready_job(&self) -> bool {
        self.has_jobs() && self.next_session().is_some()
    }

    pub(super) fn has_jobs(&self) -> bool {
        self.members.iter().any(|(_, member)| !member.jobs.is_empty())
    }

    /// Outside lockstep: takes time to the moment for which the earliest job waits.
    fn set_alarm(&mut self) {
        let fronts = self.members.iter().filter_map(|(_, member)| member.jobs.front());
        if let Some(at) = fronts.filter_map(|job| job.at).filter(|at| *at > self.now()).min() {
            self.alarm.cancel();
            self.alarm.notify_after(at - self.now());
        }
    }

    fn start(&mut self, session: SessionId, job: Job) {
        let waits_for_time = job.at.is_some() || !matches!(job.task, Task::Memory { .. } | Task::Fail(_));
        if let Some(report) = self.livelock.clone().filter(|_| waits_for_time) {
            return self.fail(session, job.asker, (ErrorCode::Livelock, report));
        }
        let lockstep = self.mode == TimeMode::Lockstep;
        if lockstep {
            if let Some(at) = job.at.filter(|at| *at > self.now()) {
                return self.pursue(session, Goal::Begin(at, job));
            }
            if matches!(job.task, Task::Register { .. }) && self.platform.csb().backlog() >= MOST_QUEUED {
                let until = self.now() + self.description.period * DRAIN;
                if let Some(member) = self.members.get_mut(session) {
                    member.jobs.push_front(job);
                }
                return self.pursue(session, Goal::Drain(until));
            }
        }
        let Job { asker, task, charge, .. } = job;
        match task {
            Task::Register { word, write } => {
                self.next_tag += 1;
                let tag = self.next_tag;
                let access = match write {
                    None => CsbAccess::Read,
                    Some(value) => CsbAccess::Write { value, posted: asker.is_none() },
                };
                self.platform.csb().send(CsbRequest { word, access, tag });
                if let Some(asker) = asker {
                    self.on_bus.push_back(OnBus {
                        tag,
                        session,
                        asker,
                        write: write.is_some(),
                        failure: None,
                        charge,
                    });
                    if lockstep {
                        self.pursue(session, Goal::Answer { tag });
                    }
                }
            }
            Task::Memory { request, payload } => {
                self.access(session, asker.and_then(Asker::on_stream), request, payload, charge);
            }
            Task::Fail(failure) => match asker {
                Some(asker) => {
                    let failure = Some(failure);
                    self.on_bus.push_back(OnBus { tag: 0, session, asker, write: false, failure, charge });
                    self.fail_front();
                }
                None => self.fail(session, None, failure),
            },
            Task::Advance(until) => {
                let Some(id) = asker.and_then(Asker::on_stream) else { return };
                match until {
                    Until::Time(time) if Time::ps(time.0) <= self.now() => {
                        self.reached(session, id, Why::Time);
                    }
                    Until::Time(time) => self.pursue(session, Goal::Time(Time::ps(time.0), id)),
                    Until::Interrupt { .. } if self.platform.irq().level() => {
                        self.reached(session, id, Why::Interrupt);
                    }
                    Until::Interrupt { limit, .. } => {
                        let limit = limit.map(|limit| Time::ps(limit.0));
                        self.pursue(session, Goal::Interrupt(limit, id));
                    }
                    Until::Idle => self.pursue(session, Goal::Idle(id)),
                }
            }
            Task::Step(to) => {
                let Some(id) = asker.and_then(Asker::on_stream) else { return };
                self.pursue(session, Goal::Step(to.max(self.now()), id));
            }
        }
    }

    fn reached(&mut self, session: SessionId, id: RequestId, why: Why) {
        self.reply(session, id, Reply::Reached { why });
    }

    fn pursue(&mut self, session: SessionId, goal: Goal) {
        if let Goal::Begin(time, _) | Goal::Time(time, ..) = goal {
            self.alarm.cancel();
            self.alarm.notify_after(time.since(self.now()));
        }
        self.current = Some(Current { session, goal });
    }

    pub(super) fn end_current(&mut self) {
        self.alarm.cancel();
        self.current = None;
    }

    /// Lockstep: how far time may move now; `None`: not at all.
    pub(super) fn current_goal(&mut self) -> Option<Time> {
        if let Some(Current { session, goal: Goal::Interrupt(_, id) }) = &self.current
            && self.platform.irq().level()
        {
            let (session, id) = (*session, *id);
            self.end_current();
            self.reached(session, id, Why::Interrupt);
            self.start_jobs();
        }
        Some(match &self.current.as_ref()?.goal {
            Goal::Begin(time, _) | Goal::Time(time, ..) | Goal::Step(time, _) | Goal::Drain(time) => *time,
            Goal::Interrupt(limit, ..) => limit.unwrap_or(Time::MAX),
            Goal::Answer { .. } | Goal::Idle(_) => Time::MAX,
        })
    }

    /// Lockstep: an answer came from the bus.
    pub(super) fn answer_was_awaited(&mut self, tag: u64) {
        if matches!(&self.current, Some(Current { goal: Goal::Answer { tag: awaited }, .. }) if *awaited == tag)
        {
            self.end_current();
        }
    }

    /// Lockstep: a run has come to its goal, or to where nothing is left to do.
    pub(super) fn goal_met(&mut self, idle: bool) {
        // An answer or the line may have ended the wait in the very last delta cycle.
        let Some(Current { session, goal }) = self.current.take() else { return };
        let why_idle = |host: &Host| match host.platform.unfinished() {
            Some(report) => Why::Deadlock { report },
            None => Why::Idle,
        };
        match goal {
            Goal::Begin(time, job) => {
                if self.now() < time {
                    let reason = "that time never comes".to_owned();
                    return self.fail(session, job.asker, (ErrorCode::Unsupported, reason));
                }
                self.start(session, Job { at: None, ..job });
            }
            Goal::Answer { tag } => {
                if let Some(place) = self.on_bus.iter().position(|request| request.tag == tag)
                    && let Some(OnBus { asker, .. }) = self.on_bus.remove(place)
                {
                    let reason = "nothing is left to do and the bus has not answered".to_owned();
                    self.fail(session, Some(asker), (ErrorCode::SlaveError, reason));
                }
            }
            Goal::Time(time, id) => {
                let why = if self.now() < time { why_idle(self) } else { Why::Time };
                self.reached(session, id, why);
            }
            Goal::Interrupt(_, id) => {
                let why = match (self.platform.irq().level(), idle) {
                    (true, _) => Why::Interrupt,
                    (false, true) => why_idle(self),
                    (false, false) => Why::Time,
                };
                self.reached(session, id, why);
            }
            Goal::Idle(id) => {
                let why = why_idle(self);
                self.reached(session, id, why);
            }
            // Also when somebody has knocked meanwhile: then the present moment has something left.
            Goal::Step(..)
                if self.owed_bursts() > 0 || self.platform.simulation().next_time() == Some(self.now()) =>
            {
                self.current = Some(Current { session, goal });
            }
            Goal::Step(_, id) => {
                let next = self.platform.simulation().next_time();
                let next = next.map(|next| vp_protocols::native::Time(next.as_ps()));
                self.reply(session, id, Reply::Stepped { next });
            }
            Goal::Drain(_) => {}
        }
    }

    /// Whether a Step waits for nothing but the answers of memories outside.
    pub(super) fn is_step_owed(&self) -> bool {
        matches!(self.current, Some(Current { goal: Goal::Step(..), .. })) && self.owed_bursts() > 0
    }

    /// Bursts that memories outside have not answered.
    fn owed_bursts(&self) -> usize {
        self.requests.borrow().bursts()
    }

    /// Fails everything that is under way or waits, in the order in which it came.
    pub(super) fn cancel_all(&mut self, why: &Failure) {
        let cancelled = || why.clone();
        for OnBus { session, asker, .. } in std::mem::take(&mut self.on_bus) {
            self.fail(session, Some(asker), cancelled());
        }
        if let Some(Current { session, goal }) = self.current.take() {
            match goal {
                Goal::Begin(_, Job { asker: Some(asker), .. }) => {
                    self.fail(session, Some(asker), cancelled());
                }
                Goal::Time(_, id) | Goal::Interrupt(_, id) | Goal::Idle(id) | Goal::Step(_, id) => {
                    self.fail(session, Some(Asker::Stream(id)), cancelled());
                }
                Goal::Begin(_, Job { asker: None, .. }) | Goal::Answer { .. } | Goal::Drain(_) => {}
            }
        }
        let waiting: Vec<(SessionId, Option<Asker>)> = (self.members.iter_mut())
            .flat_map(|(session, member)| member.jobs.drain(..).map(move |job| (session, job.asker)))
            .collect();
        for (session, asker) in waiting {
            // Posted writes end quietly: of what came before them nothing will be seen either.
            if asker.is_some() {
                self.fail(session, asker, cancelled());
            }
        }
    }
}

fn within_horizon(time: Time) -> Result<(), Failure> {
    match time <= HORIZON {
        true => Ok(()),
        false => Err((ErrorCode::BadRange, format!("{} ps: times are at most 2^62 ps", time.as_ps()))),
    }
}

fn is_debug(request: &Request) -> bool {
    matches!(
        request,
        Request::MemoryRead(MemoryRead { access: Access::Debug, .. })
            | Request::MemoryWrite(MemoryWrite { access: Access::Debug, .. })
    )
}

/// The runs of bytes that strobes select: byte *i* by bit *i* mod 8 of strobe byte ⌊*i*/8⌋.
fn runs(strobes: &[u8], length: usize) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let is_set =
        move |at: usize| at < length && strobes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = (at..length).find(|&at| is_set(at))?;
        let end = (start..length).find(|&at| !is_set(at)).unwrap_or(length);
        at = end;
        Some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::runs;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_cover_exactly_the_bytes_whose_strobe_is_set(
            strobes in proptest::collection::vec(any::<u8>(), 0..6), short in 0usize..8,
        ) {
            let length = (strobes.len() * 8).saturating_sub(short);
            let mut covered = vec![false; length];
            for run in runs(&strobes, length) {
                prop_assert!(!run.is_empty());
                covered[run].fill(true);
            }
            for (at, covered) in covered.into_iter().enumerate() {
                prop_assert_eq!(covered, strobes[at / 8] >> (at % 8) & 1 == 1);
            }
        }
    }
}
