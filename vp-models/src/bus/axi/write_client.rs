//! A write client as its memory interface sees it: complete bursts, when they come, and their data.

use super::arbiter::{ArbiterPort, Client};
use super::burst::Run;
use super::bytes::Bytes;
use super::write_path::{WriteGatherer, WritePath};
use super::{AxiConfig, Burst, Unmapped};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::fifos::FifoLevel;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use vp_core::{Event, Name, Time};

/// A complete burst.
struct Complete {
    burst: Burst,
    /// Time at which it comes.
    due: Time,
}

/// Kind of a write client, with what only that kind has.
pub(super) enum WriteKind {
    /// A client whose bursts go to the arbiter through the registers of a [`WritePathConfig`](super::WritePathConfig).
    Path(Box<RefCell<WritePath>>),
    /// A client of which only the buffer at the arbiter is modelled: it holds a burst, which enters and leaves a beat a cycle.
    Buffer {
        /// Time from when the buffer is free until a burst of one beat is in it.
        fill: Time,
        /// Time at which the last burst has left.
        free: Cell<Time>,
        last_granted: Cell<Time>,
        /// Time for which complete bursts have waited.
        stalled: Cell<Time>,
    },
    /// A client whose beats the interface gathers in blocks.
    Gatherer(Box<RefCell<WriteGatherer>>),
    /// A master outside, which makes its bursts itself and is answered at its pins: its next burst, and the time of its request.
    Outside(Cell<(Option<Burst>, Option<Time>)>),
}

impl WriteKind {
    pub(super) fn buffer(config: &AxiConfig) -> WriteKind {
        if let Some(gathering) = config.write_gathering {
            return WriteKind::Gatherer(Box::new(RefCell::new(WriteGatherer::new(config.period, gathering))));
        }
        WriteKind::Buffer {
            fill: if config.write_overlap { Time::ZERO } else { config.period },
            free: Cell::default(),
            last_granted: Cell::default(),
            stalled: Cell::default(),
        }
    }
}

/// State that a client and its interface share.
pub(super) struct WriteClient {
    pub(super) name: Name,
    pub(super) port: ArbiterPort,
    period: Time,
    kind: WriteKind,
    /// Bursts announced and not yet complete, in order.
    pub(super) planned: RefCell<VecDeque<Burst>>,
    /// Bytes of the first of them.
    filled: Cell<u32>,
    /// Complete bursts that were not granted, including those that are still to come.
    queue: RefCell<VecDeque<Complete>>,
    /// Data of all bursts that the memory has not got yet.
    data: RefCell<Bytes>,
    /// The bytes of complete bursts that were not granted.
    level: Option<FifoLevel>,
    pub(super) granted: Event,
    pub(super) awaits_grant: Cell<bool>,
    pub(super) unacknowledged: Cell<u64>,
    /// Number of bursts that were acknowledged, and the number up to which a process waits.
    pub(super) acknowledged_count: Cell<u64>,
    pub(super) awaited_count: Cell<u64>,
    pub(super) acknowledged: Event,
    /// The first burst that was answered with an error, among those since the last call that asks for it.
    pub(super) refused: RefCell<Option<Unmapped>>,
}

impl Client for WriteClient {
    #[inline]
    fn port(&self) -> &ArbiterPort {
        &self.port
    }
}

impl WriteClient {
    pub(super) fn new(
        name: &str,
        id: u32,
        period: Time,
        kind: WriteKind,
        [granted, acknowledged]: [Event; 2],
        level: Option<FifoLevel>,
    ) -> Self {
        WriteClient {
            name: name.into(),
            port: ArbiterPort::new(id, matches!(kind, WriteKind::Outside(_))),
            period,
            kind,
            planned: RefCell::default(),
            filled: Cell::new(0),
            queue: RefCell::default(),
            data: RefCell::default(),
            level,
            granted,
            awaits_grant: Cell::new(false),
            unacknowledged: Cell::new(0),
            acknowledged_count: Cell::new(0),
            awaited_count: Cell::new(0),
            acknowledged,
            refused: RefCell::default(),
        }
    }

    /// Returns true if a burst of a master outside waits for its data or for the arbiter.
    pub(super) fn has_burst(&self) -> bool {
        matches!(&self.kind, WriteKind::Outside(next) if next.get().0.is_some())
    }

    /// Takes a burst of a master outside.
    pub(super) fn take_outside(&self, burst: Burst) {
        if let WriteKind::Outside(next) = &self.kind {
            next.set((Some(burst), None));
        }
    }

    /// Drops the burst of a master outside that has gone.
    pub(super) fn forget_outside(&self) {
        if let WriteKind::Outside(next) = &self.kind {
            next.take();
        }
    }

    /// Has the burst of a master outside request from `at` on; returns true if there is one and it did not before.
    pub(super) fn request_outside(&self, at: Time) -> bool {
        let WriteKind::Outside(next) = &self.kind else { return false };
        let (burst, requested) = next.get();
        let is_new = burst.is_some() && requested.is_none();
        if is_new {
            next.set((burst, Some(at)));
        }
        is_new
    }

    /// Registers on the way of the bursts to the arbiter, if these are modelled.
    #[inline]
    pub(super) fn path(&self) -> Option<&RefCell<WritePath>> {
        if let WriteKind::Path(path) = &self.kind { Some(path) } else { None }
    }

    // What the engine's side does.

    /// Announces the bursts of a line.
    pub(super) fn begin_line(&self, line: Run, bursts: impl Iterator<Item = Burst>) {
        self.planned.borrow_mut().extend(bursts);
        if let WriteKind::Gatherer(gatherer) = &self.kind {
            gatherer.borrow_mut().begin_line(line.address, line.bytes);
        }
        if let Some(path) = self.path() {
            path.borrow_mut().begin_line();
        }
    }

    /// Puts a piece into the announced bursts; those that it completes come at `due`, or with earlier ones if
    /// that is later. Returns false if no burst was announced for it; it is then dropped.
    pub(super) fn fill(&self, due: Time, mut bytes: &[u8]) -> bool {
        let (mut planned, mut data) = (self.planned.borrow_mut(), self.data.borrow_mut());
        if let WriteKind::Gatherer(gatherer) = &self.kind {
            gatherer.borrow_mut().put(due, bytes.len());
        }
        while !bytes.is_empty() {
            let Some(&burst) = planned.front() else { return false };
            let missing = (burst.bytes - self.filled.get()) as usize;
            let (now, later) = bytes.split_at(bytes.len().min(missing));
            data.extend(now);
            bytes = later;
            if now.len() < missing {
                self.filled.set(self.filled.get() + now.len() as u32);
                break;
            }
            planned.pop_front();
            self.filled.set(0);
            let mut queue = self.queue.borrow_mut();
            let due = queue.back().map_or(due, |last| due.max(last.due));
            if let Some(path) = self.path() {
                path.borrow_mut().put(due);
            }
            queue.push_back(Complete { burst, due });
            self.change_level(due, burst.bytes.into());
            self.unacknowledged.set(self.unacknowledged.get() + 1);
        }
        true
    }

    /// Drops what was put and completes no burst.
    pub(super) fn drop_incomplete(&self) {
        if let WriteKind::Gatherer(gatherer) = &self.kind {
            let whole = self.queue.borrow().iter().map(|complete| complete.burst.beats as usize).sum();
            gatherer.borrow_mut().abandon(whole);
        }
        self.data.borrow_mut().drop_last(self.filled.take() as usize);
    }

    /// Returns the number of complete bursts that were not granted.
    pub(super) fn waiting(&self) -> usize {
        self.queue.borrow().len()
    }

    /// Changes the fill level of the FIFO in front of the arbiter at `time` by `bytes`.
    fn change_level(&self, time: Time, bytes: i64) {
        if let Some(level) = &self.level {
            level.change(time, bytes);
        }
    }

    // What the interface does.

    /// Returns the time of its next request: when a whole burst is in its buffer at the arbiter.
    #[inline]
    pub(super) fn request_time(&self) -> Option<Time> {
        match &self.kind {
            WriteKind::Outside(next) => next.get().1,
            WriteKind::Path(path) => path.borrow().request_time(),
            WriteKind::Gatherer(gatherer) => gatherer.borrow().request_time(),
            WriteKind::Buffer { fill, free, .. } => {
                let queue = self.queue.borrow();
                let Complete { burst, due } = queue.front()?;
                Some((free.get() + *fill * u64::from(burst.beats)).max(*due))
            }
        }
    }

    /// The burst that is granted now, of those that wait.
    pub(super) fn grant(&self, now: Time) -> Burst {
        if let WriteKind::Outside(next) = &self.kind {
            return next.take().0.unwrap_or_default();
        }
        let next = self.queue.borrow_mut().pop_front();
        let Complete { burst, due } =
            next.unwrap_or_else(|| unreachable!("a client is granted what it asks for"));
        match &self.kind {
            WriteKind::Path(path) => path.borrow_mut().granted(now),
            WriteKind::Gatherer(gatherer) => gatherer.borrow_mut().granted(now, burst.beats),
            WriteKind::Buffer { free, last_granted, stalled, .. } => {
                let since = due.max(last_granted.replace(now));
                stalled.set(stalled.get() + now.since(since));
                free.set(now + self.period * u64::from(burst.beats));
            }
            WriteKind::Outside(_) => {}
        }
        self.change_level(now, -i64::from(burst.bytes));
        if self.awaits_grant.take() {
            self.granted.notify_delta();
        }
        burst
    }

    /// Removes the data of the first burst that the memory has not got, and passes it to `to`.
    pub(super) fn take_data<R>(&self, burst: &Burst, to: impl FnOnce(&[u8]) -> R) -> R {
        let mut data = self.data.borrow_mut();
        let given = to(data.first(burst.bytes as usize));
        data.drop_first(burst.bytes as usize);
        given
    }

    /// Takes the time for which complete bursts have waited.
    pub(super) fn take_stalled(&self) -> Time {
        match &self.kind {
            WriteKind::Path(path) => path.borrow_mut().take_stalled(),
            WriteKind::Gatherer(gatherer) => gatherer.borrow_mut().take_stalled(),
            WriteKind::Buffer { stalled, .. } => stalled.take(),
            WriteKind::Outside(_) => Time::ZERO,
        }
    }

    /// The memory has acknowledged a burst.
    pub(super) fn acknowledge(&self) {
        self.unacknowledged.set(self.unacknowledged.get() - 1);
        let count = self.acknowledged_count.get() + 1;
        self.acknowledged_count.set(count);
        if self.unacknowledged.get() == 0 || count == self.awaited_count.get() {
            self.acknowledged.notify_delta();
        }
    }
}

impl WriteClient {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // The weight is a register's.
        let WriteClient {
            name,
            port: _,
            period: _,
            kind,
            planned,
            filled,
            queue,
            data,
            level: _,
            granted: _,
            awaits_grant,
            unacknowledged,
            acknowledged_count,
            awaited_count,
            acknowledged: _,
            refused,
        } = self;
        at.part(name)?;
        let is_put = planned.borrow().is_empty() && filled.get() == 0;
        let has_gone = queue.borrow().is_empty() && data.borrow().len() == 0;
        let is_over = unacknowledged.get() == 0 && !awaits_grant.get();
        at.at_rest(is_put && has_gone && is_over, "a write is under way")?;
        match kind {
            WriteKind::Path(path) => path.borrow_mut().checkpoint(at)?,
            WriteKind::Gatherer(gatherer) => gatherer.borrow_mut().checkpoint(at)?,
            WriteKind::Buffer { fill: _, free, last_granted, stalled } => {
                at.cell(free)?;
                at.cell(last_granted)?;
                at.cell(stalled)?;
            }
            WriteKind::Outside(_) => at.at_rest(false, "a master outside was attached")?,
        }
        at.cell(acknowledged_count)?;
        at.cell(awaited_count)?;
        at.place(refused)
    }
}
