//! A memory with several masters: a port for each, and arbitration among them.
//!
//! Each master has a queue for reads and one for writes. In each direction one burst a cycle is passed on, in
//! turns. It is cut at the boundaries of the first level's units and served when all its parts are.

use super::awaited::AwaitedEvent;
use super::level::{Level, TransferPart, parts};
use crate::bus::axi::{Burst, Served, TimedPort};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::counters::Statistics;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use vp_core::{Event, Sim, Time};

/// A burst with parts that are not served yet.
struct Open {
    place: Rc<MasterPort>,
    write: bool,
    tag: u64,
    parts: u32,
}

/// One direction of all places.
struct Direction {
    asked: AwaitedEvent,
    /// The port served last.
    turn: Cell<usize>,
}

pub(crate) struct MemorySystem {
    sim: Sim,
    period: Time,
    base: u64,
    level: Rc<dyn Level>,
    places: RefCell<Vec<Rc<MasterPort>>>,
    directions: [Direction; 2],
    open: RefCell<FxHashMap<u64, Open>>,
    count: Cell<u64>,
}

/// Bursts that wait at one place, in one direction.
struct Queue {
    waiting: RefCell<VecDeque<(u64, Burst)>>,
    room: Event,
    served: RefCell<Option<Served>>,
}

/// A master's place.
pub(crate) struct MasterPort {
    system: Weak<MemorySystem>,
    depth: usize,
    priority: u8,
    queues: [Queue; 2],
    /// Time at which it was last asked for something.
    last: Cell<Option<Time>>,
    woken: AwaitedEvent,
}

impl MemorySystem {
    /// A system whose first level is `level` and whose first address is `base`.
    pub(crate) fn new(
        sim: &Sim,
        name: &str,
        period: Time,
        base: u64,
        level: Rc<dyn Level>,
    ) -> Rc<MemorySystem> {
        let direction = |what: &str| Direction {
            asked: AwaitedEvent::new(sim.work_event(format!("{name}.{what}_asked"))),
            turn: Cell::new(0),
        };
        let system = Rc::new(MemorySystem {
            sim: sim.clone(),
            period,
            base,
            level,
            places: RefCell::default(),
            directions: [direction("read"), direction("write")],
            open: RefCell::default(),
            count: Cell::new(0),
        });
        let this = Rc::downgrade(&system);
        system.level.on_done(Box::new(move |owner| {
            if let Some(system) = this.upgrade() {
                system.done(owner);
            }
        }));
        for (write, what) in [(false, "reads"), (true, "writes")] {
            sim.server(format!("{name}.{what}"), system.clone().serve(write));
        }
        system
    }

    /// A place for one more master; up to `depth` bursts of each direction wait there.
    pub(crate) fn place(self: &Rc<MemorySystem>, name: &str, depth: u32, priority: u8) -> Rc<MasterPort> {
        let queue = |what: &str| Queue {
            waiting: RefCell::default(),
            room: self.sim.event(format!("{name}.{what}_room")),
            served: RefCell::new(None),
        };
        let place = Rc::new(MasterPort {
            system: Rc::downgrade(self),
            depth: depth.max(1) as usize,
            priority,
            queues: [queue("read"), queue("write")],
            last: Cell::new(None),
            woken: AwaitedEvent::new(self.sim.work_event(format!("{name}.woken"))),
        });
        self.places.borrow_mut().push(place.clone());
        place
    }

    /// The port whose turn it is, and its request: in turns among those of the highest priority.
    fn next(&self, write: bool) -> Option<(Rc<MasterPort>, u64, Burst)> {
        let places = self.places.borrow();
        let turn = &self.directions[usize::from(write)].turn;
        let queue = |at: usize| &places[at].queues[usize::from(write)];
        let in_turn = (1..=places.len()).map(|step| (turn.get() + step) % places.len());
        let waiting = in_turn.filter(|&at| !queue(at).waiting.borrow().is_empty());
        // The first of several that are equal.
        let at = waiting.min_by_key(|&at| Reverse(places[at].priority))?;
        let (tag, burst) = queue(at).waiting.borrow_mut().pop_front()?;
        turn.set(at);
        queue(at).room.notify_delta();
        Some((places[at].clone(), tag, burst))
    }

    async fn serve(self: Rc<Self>, write: bool) {
        loop {
            let Some((place, tag, burst)) = self.next(write) else {
                self.directions[usize::from(write)].asked.wait().await;
                continue;
            };
            let cut = || parts(burst.address.wrapping_sub(self.base), burst.bytes, self.level.granule());
            let owner = self.count.replace(self.count.get() + 1);
            let parts = cut().count() as u32;
            let priority = place.priority;
            self.open.borrow_mut().insert(owner, Open { place, write, tag, parts });
            for (address, bytes) in cut() {
                while !self.level.offer(TransferPart { owner, write, address, bytes, priority }) {
                    self.level.room().wait().await;
                }
            }
            self.sim.wait(self.period).await;
        }
    }

    fn done(&self, owner: u64) {
        let mut open = self.open.borrow_mut();
        let Some(burst) = open.get_mut(&owner) else { return };
        burst.parts -= 1;
        if burst.parts == 0
            && let Some(Open { place, write, tag, .. }) = open.remove(&owner)
        {
            drop(open);
            let served = place.queues[usize::from(write)].served.borrow().clone();
            if let Some(served) = served {
                served(tag);
            }
        }
    }
}

impl MasterPort {
    /// Returns the time at which something was last asked for here.
    pub(crate) fn last(&self) -> Option<Time> {
        self.last.get()
    }

    /// Fires when something is asked for here.
    pub(crate) fn woken(&self) -> &AwaitedEvent {
        &self.woken
    }
}

impl TimedPort for MasterPort {
    fn has_room(&self, write: bool) -> bool {
        self.queues[usize::from(write)].waiting.borrow().len() < self.depth
    }

    fn room(&self, write: bool) -> &Event {
        &self.queues[usize::from(write)].room
    }

    fn request(&self, write: bool, tag: u64, burst: &Burst) {
        let Some(system) = self.system.upgrade() else { return };
        self.queues[usize::from(write)].waiting.borrow_mut().push_back((tag, *burst));
        self.last.set(Some(system.sim.now()));
        self.woken.notify_delta();
        system.directions[usize::from(write)].asked.notify_delta();
    }

    fn on_served(&self, write: bool, served: Served) {
        *self.queues[usize::from(write)].served.borrow_mut() = Some(served);
    }
}

impl MemorySystem {
    /// Adds the counters of the levels.
    pub(crate) fn add_counters(&self, statistics: &mut Statistics) {
        self.level.add_counters(self.period, statistics);
    }

    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // The count is for names only.
        let MemorySystem { sim: _, period: _, base: _, level, places, directions, open, count: _ } = self;
        at.part("memory system")?;
        at.at_rest(open.borrow().is_empty(), "bursts are served")?;
        let places = places.borrow();
        for Direction { asked: _, turn } in directions {
            let mut at_turn = turn.get();
            at.index(&mut at_turn, places.len())?;
            turn.set(at_turn);
        }
        for place in &*places {
            let MasterPort { system: _, depth: _, priority: _, queues, last, woken: _ } = &**place;
            let waits = queues.iter().any(|queue| !queue.waiting.borrow().is_empty());
            at.at_rest(!waits, "bursts wait for their turn")?;
            at.cell(last)?;
        }
        level.checkpoint(at)
    }
}
