//! A write client as its memory interface sees it: complete bursts, when they come, and their data.

use super::bytes::Bytes;
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
    /// Number of the pieces put that end in it.
    pieces: u64,
}

/// State that a client and its interface share.
pub(super) struct WriteClient {
    pub(super) name: Name,
    pub(super) id: u32,
    pub(super) weight: Cell<u32>,
    /// Time from when its buffer is free until a burst of one beat is in it.
    beat_fill_time: Time,
    period: Time,
    /// Bursts announced and not yet complete, in order.
    pub(super) planned: RefCell<VecDeque<Burst>>,
    /// Bytes of the first of them.
    filled: Cell<u32>,
    /// Complete bursts that were not granted, including those that are still to come.
    queue: RefCell<VecDeque<Complete>>,
    /// The times at which the bursts that wait for the arbiter came: `limit` of them at most, others wait
    /// before.
    waiting: RefCell<VecDeque<Time>>,
    limit: usize,
    /// Data of all bursts that the memory has not got yet.
    data: RefCell<Bytes>,
    /// Time at which its last burst has left its buffer: only then the next one enters, one beat a cycle.
    buffer_free: Cell<Time>,
    /// Pieces that were put and do not wait for the arbiter yet.
    under_way: Cell<u64>,
    /// Number of these pieces that end in an incomplete burst.
    incomplete: Cell<u64>,
    last_granted: Cell<Time>,
    /// Time for which complete bursts have waited.
    pub(super) stalled: Cell<Time>,
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
    /// For a master outside: its next burst, and the time of its request.
    outside: Option<Cell<(Option<Burst>, Option<Time>)>>,
}

impl WriteClient {
    pub(super) fn new(
        name: &str,
        id: u32,
        config: &AxiConfig,
        limit: u32,
        [granted, acknowledged]: [Event; 2],
        level: Option<FifoLevel>,
    ) -> Self {
        WriteClient {
            name: name.into(),
            id,
            weight: Cell::new(1),
            beat_fill_time: if config.write_overlap { Time::ZERO } else { config.period },
            period: config.period,
            planned: RefCell::default(),
            filled: Cell::new(0),
            queue: RefCell::default(),
            waiting: RefCell::default(),
            limit: limit.max(1) as usize,
            data: RefCell::default(),
            buffer_free: Cell::default(),
            under_way: Cell::new(0),
            incomplete: Cell::new(0),
            last_granted: Cell::default(),
            stalled: Cell::default(),
            level,
            granted,
            awaits_grant: Cell::new(false),
            unacknowledged: Cell::new(0),
            acknowledged_count: Cell::new(0),
            awaited_count: Cell::new(0),
            acknowledged,
            refused: RefCell::default(),
            outside: None,
        }
    }

    /// A master outside, which makes its bursts itself and is answered at its pins.
    pub(super) fn outside(name: &str, config: &AxiConfig, events: [Event; 2]) -> Self {
        WriteClient { outside: Some(Cell::default()), ..WriteClient::new(name, 0, config, 1, events, None) }
    }

    /// Returns true if the client is a master outside.
    pub(super) fn is_outside(&self) -> bool {
        self.outside.is_some()
    }

    /// Returns true if a burst of a master outside waits for its data or for the arbiter.
    pub(super) fn has_burst(&self) -> bool {
        self.outside.as_ref().is_some_and(|outside| outside.get().0.is_some())
    }

    /// Takes a burst of a master outside.
    pub(super) fn take_outside(&self, burst: Burst) {
        if let Some(outside) = &self.outside {
            outside.set((Some(burst), None));
        }
    }

    /// Drops the burst of a master outside that has gone.
    pub(super) fn forget_outside(&self) {
        if let Some(outside) = &self.outside {
            outside.take();
        }
    }

    /// Has the burst of a master outside request from `at` on; returns true if there is one and it did not before.
    pub(super) fn request_outside(&self, at: Time) -> bool {
        let Some(outside) = &self.outside else { return false };
        let (burst, requested) = outside.get();
        let is_new = burst.is_some() && requested.is_none();
        if is_new {
            outside.set((burst, Some(at)));
        }
        is_new
    }

    // What the engine's side does.

    /// Puts a piece into the announced bursts; those that it completes come at `due`, or with earlier ones if
    /// that is later. Returns false if no burst was announced for it; it is then dropped.
    pub(super) fn fill(&self, due: Time, mut bytes: &[u8]) -> bool {
        self.under_way.set(self.under_way.get() + 1);
        self.incomplete.set(self.incomplete.get() + 1);
        let (mut planned, mut data) = (self.planned.borrow_mut(), self.data.borrow_mut());
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
            let pieces = self.incomplete.get() - u64::from(!bytes.is_empty());
            self.incomplete.set(u64::from(!bytes.is_empty()));
            let mut queue = self.queue.borrow_mut();
            let due = queue.back().map_or(due, |last| due.max(last.due));
            queue.push_back(Complete { burst, due, pieces });
            self.change_level(due, burst.bytes.into());
            self.unacknowledged.set(self.unacknowledged.get() + 1);
        }
        true
    }

    /// Drops what was put and completes no burst.
    pub(super) fn drop_incomplete(&self) {
        self.data.borrow_mut().drop_last(self.filled.take() as usize);
        self.under_way.set(self.under_way.get() - self.incomplete.take());
        self.notify_granted();
    }

    /// Pieces that do not wait for the arbiter yet.
    pub(super) fn under_way(&self, now: Time) -> u64 {
        self.settle(now, Time::ZERO);
        self.under_way.get()
    }

    /// Returns the time at which the next burst that is to come comes, if the arbiter need not take another before.
    pub(super) fn next_due(&self) -> Option<Time> {
        let waiting = self.waiting.borrow().len();
        (waiting < self.limit).then(|| self.queue.borrow().get(waiting).map(|next| next.due))?
    }

    /// Returns true if all complete bursts wait for the arbiter, or were granted.
    pub(super) fn all_wait(&self, now: Time) -> bool {
        self.settle(now, Time::ZERO);
        self.waiting.borrow().len() == self.queue.borrow().len()
    }

    /// Lets bursts that have come by now wait: from when they came on, or from `room` on if they had to wait for that.
    fn settle(&self, now: Time, room: Time) {
        let (queue, mut waiting) = (self.queue.borrow(), self.waiting.borrow_mut());
        while waiting.len() < self.limit
            && let Some(next) = queue.get(waiting.len())
            && next.due <= now
        {
            waiting.push_back(next.due.max(room));
            self.under_way.set(self.under_way.get() - next.pieces);
        }
    }

    /// Changes the fill level of the FIFO in front of the arbiter at `time` by `bytes`.
    fn change_level(&self, time: Time, bytes: i64) {
        if let Some(level) = &self.level {
            level.change(time, bytes);
        }
    }

    fn notify_granted(&self) {
        if self.awaits_grant.take() {
            self.granted.notify_delta();
        }
    }

    // What the interface does.

    /// Returns the time of its next request: when a whole burst is in its buffer at the arbiter.
    pub(super) fn request_time(&self) -> Option<Time> {
        if let Some(outside) = &self.outside {
            return outside.get().1;
        }
        let queue = self.queue.borrow();
        let Complete { burst, due, .. } = queue.front()?;
        Some((self.buffer_free.get() + self.beat_fill_time * u64::from(burst.beats)).max(*due))
    }

    /// The burst that is granted now, of those that wait.
    pub(super) fn grant(&self, now: Time) -> Burst {
        if let Some(burst) = self.outside.as_ref().and_then(|outside| outside.take().0) {
            return burst;
        }
        self.settle(now, Time::ZERO);
        let next = self.queue.borrow_mut().pop_front();
        let Complete { burst, .. } =
            next.unwrap_or_else(|| unreachable!("a client is granted what it asks for"));
        let since = self.waiting.borrow_mut().pop_front().unwrap_or(now);
        let since = since.max(self.last_granted.replace(now));
        self.stalled.set(self.stalled.get() + now.since(since));
        self.change_level(now, -i64::from(burst.bytes));
        self.buffer_free.set(now + self.period * u64::from(burst.beats));
        self.settle(now, now);
        self.notify_granted();
        burst
    }

    /// Removes the data of the first burst that the memory has not got, and passes it to `to`.
    pub(super) fn take_data<R>(&self, burst: &Burst, to: impl FnOnce(&[u8]) -> R) -> R {
        let mut data = self.data.borrow_mut();
        let given = to(data.first(burst.bytes as usize));
        data.drop_first(burst.bytes as usize);
        given
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
            id: _,
            weight: _,
            beat_fill_time: _,
            period: _,
            planned,
            filled,
            queue,
            waiting,
            limit: _,
            data,
            buffer_free,
            under_way,
            incomplete,
            last_granted,
            stalled,
            level: _,
            granted: _,
            awaits_grant,
            unacknowledged,
            acknowledged_count,
            awaited_count,
            acknowledged: _,
            refused,
            outside,
        } = self;
        at.part(name)?;
        let is_put = planned.borrow().is_empty() && filled.get() == 0 && incomplete.get() == 0;
        let has_gone = queue.borrow().is_empty() && waiting.borrow().is_empty() && data.borrow().len() == 0;
        let is_over = under_way.get() == 0 && unacknowledged.get() == 0 && !awaits_grant.get();
        at.at_rest(is_put && has_gone && is_over, "a write is under way")?;
        at.at_rest(outside.is_none(), "a master outside was attached")?;
        at.cell(buffer_free)?;
        at.cell(last_granted)?;
        at.cell(stalled)?;
        at.cell(acknowledged_count)?;
        at.cell(awaited_count)?;
        at.place(refused)
    }
}
