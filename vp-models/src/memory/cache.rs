//! A last-level cache in front of a memory: write-back, write-allocate, with misses in flight.
//!
//! It stores no data, like all memory models here: only which lines are present and which are dirty, because
//! time depends on that.

use super::awaited::AwaitedEvent;
use super::level::{Answers, Done, Level, TransferPart, parts};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::counters::Statistics;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::observe::{Source, SourceKind, What};
use vp_core::{Event, Sim, Time};

/// Rule by which a line of a set makes room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replacement {
    /// The one not used for longest.
    #[default]
    Lru,
    /// The one that has been there for longest.
    Fifo,
    /// Any, drawn from the cache's seed.
    Random,
}

/// Configuration of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheConfig {
    /// Sets: a power of two.
    pub sets: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Bytes of a line: a power of two.
    #[serde(deserialize_with = "crate::units::size")]
    pub line: u32,
    /// Lines that can be fetched from the memory at a time (miss status holding registers).
    pub mshrs: u32,
    /// Cycles from a request to its data, if the line is present.
    pub hit_latency: u32,
    /// Rule by which the line to replace is chosen.
    pub replacement: Replacement,
    /// Seed of random replacement.
    pub seed: u64,
}

impl Default for CacheConfig {
    /// 1 MiB in 16 ways.
    fn default() -> CacheConfig {
        CacheConfig {
            sets: 1024,
            ways: 16,
            line: 64,
            mshrs: 16,
            hit_latency: 12,
            replacement: Replacement::default(),
            seed: 1,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Line {
    valid: bool,
    dirty: bool,
    tag: u64,
    /// Time of its last use, or for FIFO of its coming: a count.
    used: u64,
}

/// A line on its way.
struct Miss {
    /// The line's number.
    line: u64,
    dirty: bool,
    /// Owners of the accesses that wait for it.
    waiting: Vec<u64>,
    /// Parts that have not come.
    missing: u32,
}

/// Transfer to the memory: a line that is fetched, or one that is written back.
struct Outgoing {
    write: bool,
    line: u64,
    /// Number of bytes of it that have gone.
    gone: u32,
    /// Priority of the access that it is fetched for; of a line that is written back, the lowest.
    priority: u8,
}

struct CacheState {
    lines: Vec<Line>,
    count: u64,
    misses: Vec<Miss>,
    outgoing: VecDeque<Outgoing>,
    random: ChaCha8Rng,
}

pub(crate) struct Cache {
    sim: Sim,
    source: Source,
    period: Time,
    config: CacheConfig,
    below: Rc<dyn Level>,
    state: RefCell<CacheState>,
    work: Event,
    room: AwaitedEvent,
    answers: Rc<Answers>,
    /// Time at which it can look at the next line: one a cycle.
    free: Cell<Time>,
}

/// The owner of lines that are written back: nobody waits for them.
const NOBODY: u64 = u64::MAX;

impl Cache {
    pub(crate) fn new(
        sim: &Sim,
        name: &str,
        period: Time,
        config: CacheConfig,
        below: Rc<dyn Level>,
    ) -> Rc<Cache> {
        let cache = Rc::new(Cache {
            sim: sim.clone(),
            source: sim.source(format!("{name}.cache"), SourceKind::Counts),
            period,
            config,
            state: RefCell::new(CacheState {
                lines: vec![Line::default(); (config.sets * config.ways) as usize],
                count: 0,
                misses: Vec::new(),
                outgoing: VecDeque::new(),
                random: ChaCha8Rng::seed_from_u64(config.seed),
            }),
            work: sim.work_event(format!("{name}.cache.work")),
            room: AwaitedEvent::new(sim.event(format!("{name}.cache.room"))),
            answers: Answers::new(sim, &format!("{name}.cache")),
            free: Cell::new(Time::ZERO),
            below,
        });
        let this = Rc::downgrade(&cache);
        cache.below.on_done(Box::new(move |owner| {
            if let Some(cache) = this.upgrade().filter(|_| owner != NOBODY) {
                cache.came(owner);
            }
        }));
        sim.server(format!("{name}.cache.memory_side"), cache.clone().send());
        cache
    }

    fn count(&self, label: &'static str, line: u64) {
        self.sim.report(self.source, What::Count { label, value: line });
    }

    fn set_of(&self, line: u64) -> std::ops::Range<usize> {
        let ways = self.config.ways as usize;
        let set = (line % u64::from(self.config.sets)) as usize;
        set * ways..(set + 1) * ways
    }

    /// Puts a line in; whatever makes room for it is written back if it is dirty.
    fn fill(&self, state: &mut CacheState, line: u64, dirty: bool) {
        let set = self.set_of(line);
        let ways = set.len();
        let drawn = if self.config.replacement == Replacement::Random {
            state.random.random_range(0..ways)
        } else {
            0
        };
        let lines = &mut state.lines[set];
        let oldest = || lines.iter().enumerate().min_by_key(|(_, line)| line.used).map_or(0, |(way, _)| way);
        let way = lines
            .iter()
            .position(|line| !line.valid)
            .unwrap_or_else(|| if self.config.replacement == Replacement::Random { drawn } else { oldest() });
        let victim =
            std::mem::replace(&mut lines[way], Line { valid: true, dirty, tag: line, used: state.count });
        state.count += 1;
        if victim.valid && victim.dirty {
            self.count("writeback", victim.tag);
            state.outgoing.push_back(Outgoing { write: true, line: victim.tag, gone: 0, priority: 0 });
            self.work.notify_delta();
        }
    }

    /// A part of a line has come from the memory.
    fn came(&self, line: u64) {
        let state = &mut *self.state.borrow_mut();
        let Some(at) = state.misses.iter().position(|miss| miss.line == line) else { return };
        state.misses[at].missing -= 1;
        if state.misses[at].missing > 0 {
            return;
        }
        let miss = state.misses.remove(at);
        self.fill(state, line, miss.dirty);
        // It goes through the cache like any other.
        let told = self.sim.now() + self.period * u64::from(self.config.hit_latency);
        for owner in miss.waiting {
            self.answers.at(told, owner);
        }
        self.room.notify_delta();
    }

    /// Hands lines to the memory, one after the other, as it takes them: so a line that is fetched again comes after its
    /// writing back.
    async fn send(self: Rc<Self>) {
        loop {
            let next =
                self.state.borrow().outgoing.front().map(|it| (it.write, it.line, it.gone, it.priority));
            let Some((write, line, gone, priority)) = next else {
                self.work.wait().await;
                continue;
            };
            let start = line * u64::from(self.config.line) + u64::from(gone);
            let granule = self.below.granule();
            let Some((address, bytes)) = parts(start, self.config.line - gone, granule).next() else {
                self.state.borrow_mut().outgoing.pop_front();
                self.room.notify_delta();
                continue;
            };
            let owner = if write { NOBODY } else { line };
            if !self.below.offer(TransferPart { owner, write, address, bytes, priority }) {
                self.below.room().wait().await;
                continue;
            }
            let mut state = self.state.borrow_mut();
            if let Some(front) = state.outgoing.front_mut() {
                front.gone += bytes;
            }
        }
    }
}

impl Level for Cache {
    fn granule(&self) -> u32 {
        self.config.line
    }

    fn offer(&self, part: TransferPart) -> bool {
        let state = &mut *self.state.borrow_mut();
        let line = part.address / u64::from(self.config.line);
        // One line a cycle is looked up; what is found is told after the latency.
        let look = self.sim.now().max(self.free.get());
        let told = look + self.period * u64::from(self.config.hit_latency);
        let set = self.set_of(line);
        if let Some(found) = state.lines[set].iter_mut().find(|it| it.valid && it.tag == line) {
            found.dirty |= part.write;
            if self.config.replacement == Replacement::Lru {
                found.used = state.count;
                state.count += 1;
            }
            self.count("hit", line);
            self.answers.at(told, part.owner);
        } else if let Some(miss) = state.misses.iter_mut().find(|miss| miss.line == line) {
            miss.dirty |= part.write;
            miss.waiting.push(part.owner);
            self.count("hit_under_miss", line);
        } else {
            // As many victims wait to be written back as lines are on their way, at most.
            let written_back = state.outgoing.iter().filter(|it| it.write).count();
            let most = self.config.mshrs as usize;
            if state.misses.len() >= most || written_back >= most {
                return false;
            }
            self.count("miss", line);
            if part.write && part.bytes == self.config.line {
                // Nothing of the old line is left, so it is not fetched.
                self.fill(state, line, true);
                self.answers.at(told, part.owner);
            } else {
                let missing =
                    parts(line * u64::from(self.config.line), self.config.line, self.below.granule()).count();
                let (waiting, missing) = (vec![part.owner], missing as u32);
                state.misses.push(Miss { line, dirty: part.write, waiting, missing });
                state.outgoing.push_back(Outgoing { write: false, line, gone: 0, priority: part.priority });
                self.work.notify_delta();
            }
        }
        self.free.set(look + self.period);
        true
    }

    fn room(&self) -> &AwaitedEvent {
        &self.room
    }

    fn on_done(&self, done: Done) {
        self.answers.on_done(done);
    }

    fn add_counters(&self, period: Time, statistics: &mut Statistics) {
        self.below.add_counters(period, statistics);
    }

    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Cache { sim: _, source: _, period: _, config: _, below, state, work: _, room: _, answers, free } =
            self;
        at.part("cache")?;
        let CacheState { lines, count, misses, outgoing, random } = &mut *state.borrow_mut();
        at.at_rest(misses.is_empty() && outgoing.is_empty(), "lines are on their way")?;
        at.fixed(lines)?;
        at.value(count)?;
        at.drawn(random)?;
        answers.checkpoint(at)?;
        at.cell(free)?;
        below.checkpoint(at)
    }
}
