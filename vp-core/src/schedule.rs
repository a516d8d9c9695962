//! Who runs when: processes, events and notifications as plain tables, and the rules between them.
//!
//! The kernel ([`crate::kernel`]) enters here with one borrow and leaves before any user code runs: nothing
//! here calls a process, a method or a destructor of theirs.

use crate::event::Event;
use crate::process::Body;
use crate::queue::{Entry, TimedQueue};
use std::rc::Rc;

/// What a notification wakes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Process(u32),
    Event(u32),
}

/// Nobody: outside of any process, or an empty place for one.
pub(crate) const NOBODY: u32 = u32::MAX;

/// The moment at which something is done.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) now: u64,
    /// Delta cycles since the start; a new time starts a new one too.
    pub(crate) delta: u64,
    /// The process being run.
    pub(crate) running: u32,
}

/// One process.
pub(crate) struct Slot {
    pub(crate) body: Option<Body>,
    pub(crate) state: State,
    /// Already in the list of runnable processes.
    pub(crate) queued: bool,
    pub(crate) kind: Kind,
    /// Counts the processes that have been here; a handle of an earlier one knows by it.
    pub(crate) generation: u32,
    /// A method's dynamic sensitivity, which replaces the static one until it is met.
    pub(crate) armed: Armed,
    pub(crate) name: Rc<str>,
    /// What few processes have.
    pub(crate) more: Option<Box<More>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Is missed if it has not ended when everything else has.
    Process,
    /// Serves for ever.
    Server,
    /// Is called; never waits in the middle of something.
    Method,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// No process here.
    Vacant,
    /// Waiting or runnable.
    Present,
    /// Being run; the body is on the stack of the run loop.
    Running,
    /// Told to end while it runs.
    Killed,
}

/// The parts of a slot that most processes do without.
#[derive(Default)]
pub(crate) struct More {
    /// Keeps the events alive.
    pub(crate) listens_to: Vec<Event>,
    pub(crate) ended: Option<Event>,
}

/// What a method waits for after `next_trigger`.
pub(crate) enum Armed {
    No,
    /// Until a time, by the entry that wakes it.
    Timed(u64, Entry),
    /// Until another delta cycle than this one.
    Delta(u64),
    /// Events, with or without the passing of time.
    Events(Box<(Vec<u32>, Armed)>),
}

/// The one notification that an event may have outstanding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pending {
    None,
    Delta,
    Timed(u64, Entry),
}

/// One event.
pub(crate) struct EventSlot {
    /// How often it has fired: a waiter is served when this has moved on.
    pub(crate) fired: u64,
    pub(crate) pending: Pending,
    /// The process or armed method that waits for the next notification, in the common case of one…
    waiter: u32,
    /// …and the others, behind it.
    more_waiters: Vec<u32>,
    /// Methods that are sensitive for good.
    listeners: Vec<u32>,
    /// Announces work: a server that waits for it is at rest.
    pub(crate) work: bool,
    /// No handle is left; goes once its notification has come.
    orphan: bool,
    /// Nothing, if no event is here.
    pub(crate) name: Option<Rc<str>>,
}

impl EventSlot {
    pub(crate) fn is_waited_for_by(&self, process: u32) -> bool {
        self.waiter == process || self.more_waiters.contains(&process)
    }
}

#[derive(Default)]
pub(crate) struct Schedule {
    pub(crate) slots: Vec<Slot>,
    pub(crate) free: Vec<u32>,
    /// What is to run in this evaluation phase, in order.
    pub(crate) runnable: Vec<u32>,
    pub(crate) next_delta: Vec<Target>,
    pub(crate) timed: TimedQueue<Target>,
    pub(crate) events: Vec<EventSlot>,
    free_events: Vec<u32>,
    pub(crate) activations: u64,
}

impl Schedule {
    pub(crate) fn add_event(&mut self, name: Rc<str>, work: bool) -> u32 {
        let event = EventSlot {
            fired: 0,
            pending: Pending::None,
            waiter: NOBODY,
            more_waiters: Vec::new(),
            listeners: Vec::new(),
            work,
            orphan: false,
            name: Some(name),
        };
        match self.free_events.pop() {
            Some(id) => {
                self.events[id as usize] = event;
                id
            }
            None => {
                self.events.push(event);
                (self.events.len() - 1) as u32
            }
        }
    }

    /// The last handle of an event is gone: nobody can notify it any more. What is outstanding still comes.
    pub(crate) fn release_event(&mut self, id: u32) {
        let Some(event) = self.events.get_mut(id as usize) else { return };
        if event.pending == Pending::None {
            event.name = None;
            event.waiter = NOBODY;
            event.more_waiters = Vec::new();
            event.listeners = Vec::new();
            self.free_events.push(id);
        } else {
            event.orphan = true;
        }
    }

    pub(crate) fn notify_delta(&mut self, id: u32) {
        let event = &mut self.events[id as usize];
        match event.pending {
            Pending::Delta => return,
            Pending::Timed(_, entry) => self.timed.remove(entry),
            Pending::None => {}
        }
        event.pending = Pending::Delta;
        self.next_delta.push(Target::Event(id));
    }

    pub(crate) fn notify_at(&mut self, id: u32, time: u64) {
        let event = &mut self.events[id as usize];
        match event.pending {
            Pending::Delta => return,
            Pending::Timed(earlier, _) if earlier <= time => return,
            Pending::Timed(_, entry) => self.timed.remove(entry),
            Pending::None => {}
        }
        event.pending = Pending::Timed(time, self.timed.insert(time, Target::Event(id)));
    }

    pub(crate) fn cancel(&mut self, id: u32) {
        let event = &mut self.events[id as usize];
        match std::mem::replace(&mut event.pending, Pending::None) {
            Pending::None => {}
            Pending::Delta => {
                if let Some(at) = self.next_delta.iter().position(|target| *target == Target::Event(id)) {
                    self.next_delta.remove(at);
                }
            }
            Pending::Timed(_, entry) => self.timed.remove(entry),
        }
    }

    pub(crate) fn add_listener(&mut self, id: u32, process: u32) {
        self.events[id as usize].listeners.push(process);
    }

    pub(crate) fn remove_listener(&mut self, id: u32, process: u32) {
        if let Some(event) = self.events.get_mut(id as usize) {
            event.listeners.retain(|&listener| listener != process);
        }
    }

    #[inline]
    pub(crate) fn add_waiter(&mut self, id: u32, process: u32) {
        let event = &mut self.events[id as usize];
        if event.waiter == NOBODY {
            event.waiter = process;
        } else {
            event.more_waiters.push(process);
        }
    }

    /// Takes off the latest entry of a process, if it has one.
    pub(crate) fn remove_waiter(&mut self, id: u32, process: u32) {
        let Some(event) = self.events.get_mut(id as usize) else { return };
        if let Some(at) = event.more_waiters.iter().rposition(|&waiter| waiter == process) {
            event.more_waiters.remove(at);
        } else if event.waiter == process {
            // The next in line takes its place, so that the order stays.
            event.waiter = if event.more_waiters.is_empty() { NOBODY } else { event.more_waiters.remove(0) };
        }
    }

    /// An event happens: those who listen, then those who wait, become runnable.
    #[inline]
    pub(crate) fn fire(&mut self, id: u32, moment: Moment) {
        let Schedule { events, slots, runnable, .. } = self;
        let event = &mut events[id as usize];
        event.fired += 1;
        for &listener in &event.listeners {
            // Not by its own immediate notification (IEEE 1666-2011, evaluation phase): it would run for ever.
            if listener == moment.running {
                continue;
            }
            let Some(slot) = slots.get_mut(listener as usize) else { continue };
            if matches!(slot.armed, Armed::No) && !slot.queued {
                slot.queued = true;
                runnable.push(listener);
            }
        }
        let waiter = std::mem::replace(&mut event.waiter, NOBODY);
        if waiter != NOBODY {
            if event.more_waiters.is_empty() {
                self.wake(waiter, moment);
            } else {
                self.wake_several(id, waiter, moment);
            }
        }
    }

    fn wake_several(&mut self, id: u32, first: u32, moment: Moment) {
        // Waking an armed method touches the waiters of its other events, and of this one.
        let mut others = std::mem::take(&mut self.events[id as usize].more_waiters);
        self.wake(first, moment);
        for &waiter in &others {
            self.wake(waiter, moment);
        }
        others.clear();
        let place = &mut self.events[id as usize].more_waiters;
        if place.is_empty() {
            *place = others;
        }
    }

    /// Makes a process runnable because what it waits for has come.
    #[inline]
    pub(crate) fn wake(&mut self, id: u32, moment: Moment) {
        // Handles of events may outlive the simulation and its processes.
        let Some(slot) = self.slots.get_mut(id as usize) else { return };
        if !slot.queued && slot.state != State::Vacant {
            slot.queued = true;
            self.runnable.push(id);
        }
        if !matches!(slot.armed, Armed::No) {
            self.disarm(id, moment);
        }
    }

    pub(crate) fn disarm(&mut self, id: u32, moment: Moment) {
        let armed = std::mem::replace(&mut self.slots[id as usize].armed, Armed::No);
        match armed {
            Armed::Events(armed) => {
                let (events, timer) = *armed;
                for event in events {
                    self.remove_waiter(event, id);
                }
                self.drop_timer(id, &timer, moment);
            }
            timer => self.drop_timer(id, &timer, moment),
        }
    }

    fn drop_timer(&mut self, id: u32, timer: &Armed, moment: Moment) {
        match *timer {
            // What is due at this very time or in this very delta cycle has left its queue already.
            Armed::Timed(until, entry) if moment.now < until => self.timed.remove(entry),
            Armed::Delta(since) if moment.delta == since => self.forget_delta(id),
            _ => {}
        }
    }

    /// Takes back a process's last wait for the next delta cycle.
    pub(crate) fn forget_delta(&mut self, id: u32) {
        if let Some(at) = self.next_delta.iter().rposition(|target| *target == Target::Process(id)) {
            self.next_delta.remove(at);
        }
    }

    /// Gives a method its dynamic sensitivity.
    pub(crate) fn arm(&mut self, id: u32, events: Vec<u32>, delay: Option<u64>, moment: Moment) {
        let timer = match delay {
            Some(0) => {
                self.next_delta.push(Target::Process(id));
                Armed::Delta(moment.delta)
            }
            Some(delay) => {
                let until = moment.now.saturating_add(delay);
                Armed::Timed(until, self.timed.insert(until, Target::Process(id)))
            }
            None => Armed::No,
        };
        for &event in &events {
            self.add_waiter(event, id);
        }
        self.slots[id as usize].armed =
            if events.is_empty() { timer } else { Armed::Events(Box::new((events, timer))) };
    }

    /// Serves notifications that are due, in order.
    #[inline]
    pub(crate) fn serve(&mut self, due: &[Target], moment: Moment) {
        for &target in due {
            match target {
                Target::Process(id) => self.wake(id, moment),
                Target::Event(id) => {
                    self.events[id as usize].pending = Pending::None;
                    self.fire(id, moment);
                    if self.events[id as usize].orphan {
                        self.release_event(id);
                    }
                }
            }
        }
    }

    /// Puts a process into a slot.
    pub(crate) fn add_process(&mut self, mut slot: Slot) -> (u32, u32) {
        let initialize = slot.queued;
        let id = self.free.pop().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(id as usize) {
            Some(place) => {
                slot.generation = place.generation;
                *place = slot;
            }
            None => self.slots.push(slot),
        }
        if initialize {
            self.runnable.push(id);
        }
        (id, self.slots[id as usize].generation)
    }

    /// Takes a process out of its slot; what it had is the caller's to drop.
    pub(crate) fn retire(&mut self, id: u32, moment: Moment) -> Option<Box<More>> {
        self.disarm(id, moment);
        let slot = &mut self.slots[id as usize];
        slot.state = State::Vacant;
        slot.generation = slot.generation.wrapping_add(1);
        let more = slot.more.take();
        // A queued slot is freed when the run loop comes by, lest a successor be run in its stead.
        if !slot.queued {
            self.free.push(id);
        }
        more
    }
}
