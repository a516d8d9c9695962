//! Who runs when: processes, events and notifications as plain tables, and the rules between them.
//!
//! The kernel ([`crate::kernel`]) enters here with one borrow and leaves before any user code runs: nothing
//! here calls a process, a method or a destructor of theirs.
//!
//! What every activation touches is kept small and by itself ([`Slot`], [`EventSlot`]); what few look at
//! lies in tables beside them ([`Details`], [`EventDetails`]), under the same numbers.

use crate::event::Event;
use crate::name::Name;
use crate::process::Body;
use crate::queue::{Entry, TimedQueue};

/// What a notification wakes: the number of a process or of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target(u32);

impl Target {
    const EVENT: u32 = 1 << 31;

    #[inline]
    pub(crate) fn process(id: u32) -> Target {
        Target(id)
    }

    #[inline]
    pub(crate) fn event(id: u32) -> Target {
        Target(id | Target::EVENT)
    }
}

/// Nobody: outside of any process, or an empty place for one or for an event.
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

/// One process: what running it needs.
pub(crate) struct Slot {
    pub(crate) body: Option<Body>,
    /// Counts the processes that have been here; a handle of an earlier one knows by it.
    pub(crate) generation: u32,
    /// The event that fires at its end, if somebody asked for one.
    pub(crate) ended: u32,
    /// The entry of an armed method's time-out.
    timer: Entry,
    pub(crate) state: State,
    /// Already in the list of runnable processes.
    pub(crate) queued: bool,
    pub(crate) kind: Kind,
    /// A method's dynamic sensitivity, which replaces the static one until it is met.
    armed: Armed,
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

/// What a method waits for after `next_trigger`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Armed {
    No,
    /// A time, by the slot's timer.
    Timer,
    /// What its details say.
    Details,
}

/// The rest of a process.
pub(crate) struct Details {
    pub(crate) name: Name,
    /// What few processes have.
    more: Option<Box<More>>,
}

#[derive(Default)]
pub(crate) struct More {
    /// Keeps the events alive that a method is sensitive to.
    pub(crate) listens_to: Vec<Event>,
    /// What an armed method waits for: events, with or without the passing of time, or the next delta cycle.
    events: Vec<u32>,
    /// The delta cycle in which it asked for the next one.
    since: Option<u64>,
}

/// The one notification that an event may have outstanding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    None,
    Delta,
    Timed,
}

/// One event: what firing it needs.
pub(crate) struct EventSlot {
    /// How often an event of this number has fired: a waiter is served when this has moved on. Never reset.
    pub(crate) fired: u64,
    /// When it will fire, and by which entry.
    due: u64,
    entry: Entry,
    /// The process or armed method that waits for the next notification, in the common case of one.
    waiter: u32,
    /// The method that is sensitive for good, in the common case of one.
    listener: u32,
    pending: Pending,
    /// Others wait or listen behind them; the details say who.
    crowded: bool,
    /// Announces work: a server that waits for it is at rest.
    pub(crate) work: bool,
    /// Nobody holds it; goes once its notification has come.
    orphan: bool,
}

/// The rest of an event.
pub(crate) struct EventDetails {
    /// Nothing if no event is here, or if it has none of its own: the end of a process.
    pub(crate) name: Option<Name>,
    crowd: Option<Box<Crowd>>,
    /// Who holds it: handles, and the process whose end it is.
    holders: u32,
}

#[derive(Default)]
struct Crowd {
    waiters: Vec<u32>,
    listeners: Vec<u32>,
}

#[derive(Default)]
pub(crate) struct Schedule {
    pub(crate) slots: Vec<Slot>,
    pub(crate) details: Vec<Details>,
    pub(crate) free: Vec<u32>,
    /// What is to run in this evaluation phase, in order.
    pub(crate) runnable: Vec<u32>,
    pub(crate) next_delta: Vec<Target>,
    pub(crate) timed: TimedQueue<Target>,
    pub(crate) events: Vec<EventSlot>,
    pub(crate) event_details: Vec<EventDetails>,
    free_events: Vec<u32>,
    pub(crate) activations: u64,
}

/// Events.
impl Schedule {
    pub(crate) fn add_event(&mut self, name: Option<Name>, work: bool) -> u32 {
        let details = EventDetails { name, crowd: None, holders: 1 };
        let event = EventSlot {
            fired: 0,
            due: 0,
            entry: Entry::NONE,
            waiter: NOBODY,
            listener: NOBODY,
            pending: Pending::None,
            crowded: false,
            work,
            orphan: false,
        };
        match self.free_events.pop() {
            Some(id) => {
                let place = &mut self.events[id as usize];
                *place = EventSlot { fired: place.fired, ..event };
                self.event_details[id as usize] = details;
                id
            }
            None => {
                self.events.push(event);
                self.event_details.push(details);
                (self.events.len() - 1) as u32
            }
        }
    }

    pub(crate) fn hold_event(&mut self, id: u32) {
        self.event_details[id as usize].holders += 1;
    }

    /// One holder of an event is gone. After the last nobody can notify it; what is outstanding still comes.
    pub(crate) fn release_event(&mut self, id: u32) {
        let Some(details) = self.event_details.get_mut(id as usize) else { return };
        details.holders -= 1;
        if details.holders > 0 {
            return;
        }
        if self.events[id as usize].pending == Pending::None {
            self.free_event(id);
        } else {
            self.events[id as usize].orphan = true;
        }
    }

    fn free_event(&mut self, id: u32) {
        let event = &mut self.events[id as usize];
        (event.waiter, event.listener, event.crowded) = (NOBODY, NOBODY, false);
        let details = &mut self.event_details[id as usize];
        (details.name, details.crowd) = (None, None);
        self.free_events.push(id);
    }

    pub(crate) fn is_pending(&self, id: u32) -> bool {
        self.events[id as usize].pending != Pending::None
    }

    #[inline]
    pub(crate) fn notify_delta(&mut self, id: u32) {
        let event = &mut self.events[id as usize];
        match event.pending {
            Pending::Delta => return,
            Pending::Timed => self.timed.remove(event.entry),
            Pending::None => {}
        }
        event.pending = Pending::Delta;
        self.next_delta.push(Target::event(id));
    }

    #[inline]
    pub(crate) fn notify_at(&mut self, id: u32, time: u64) {
        let event = &mut self.events[id as usize];
        match event.pending {
            Pending::Delta => return,
            Pending::Timed if event.due <= time => return,
            Pending::Timed => self.timed.remove(event.entry),
            Pending::None => {}
        }
        event.pending = Pending::Timed;
        event.due = time;
        event.entry = self.timed.insert(time, Target::event(id));
    }

    pub(crate) fn cancel(&mut self, id: u32) {
        let event = &mut self.events[id as usize];
        match std::mem::replace(&mut event.pending, Pending::None) {
            Pending::None => {}
            Pending::Delta => {
                if let Some(at) = self.next_delta.iter().position(|target| *target == Target::event(id)) {
                    self.next_delta.remove(at);
                }
            }
            Pending::Timed => self.timed.remove(event.entry),
        }
    }

    fn crowd(&mut self, id: u32) -> &mut Crowd {
        self.events[id as usize].crowded = true;
        self.event_details[id as usize].crowd.get_or_insert_default()
    }

    pub(crate) fn add_listener(&mut self, id: u32, process: u32) {
        let event = &mut self.events[id as usize];
        if event.listener == NOBODY {
            event.listener = process;
        } else {
            self.crowd(id).listeners.push(process);
        }
    }

    pub(crate) fn remove_listener(&mut self, id: u32, process: u32) {
        let Some(event) = self.events.get_mut(id as usize) else { return };
        if event.crowded {
            let listeners = &mut self.crowd(id).listeners;
            listeners.retain(|&listener| listener != process);
        }
        if self.events[id as usize].listener == process {
            // The next in line takes its place, so that the order stays.
            let crowded = self.events[id as usize].crowded;
            let next = crowded.then(|| &mut self.crowd(id).listeners).filter(|listeners| !listeners.is_empty());
            self.events[id as usize].listener = next.map_or(NOBODY, |listeners| listeners.remove(0));
        }
    }

    #[inline]
    pub(crate) fn add_waiter(&mut self, id: u32, process: u32) {
        let event = &mut self.events[id as usize];
        if event.waiter == NOBODY {
            event.waiter = process;
        } else {
            self.crowd(id).waiters.push(process);
        }
    }

    /// Takes off the latest entry of a process, if it has one.
    pub(crate) fn remove_waiter(&mut self, id: u32, process: u32) {
        let Some(event) = self.events.get_mut(id as usize) else { return };
        let crowded = event.crowded;
        if crowded {
            let waiters = &mut self.crowd(id).waiters;
            if let Some(at) = waiters.iter().rposition(|&waiter| waiter == process) {
                waiters.remove(at);
                return;
            }
        }
        if self.events[id as usize].waiter == process {
            let next = crowded.then(|| &mut self.crowd(id).waiters).filter(|waiters| !waiters.is_empty());
            self.events[id as usize].waiter = next.map_or(NOBODY, |waiters| waiters.remove(0));
        }
    }

    pub(crate) fn is_waited_for(&self, event: usize, process: u32) -> bool {
        let crowd = self.event_details[event].crowd.as_ref();
        self.events[event].waiter == process || crowd.is_some_and(|crowd| crowd.waiters.contains(&process))
    }

    /// An event happens: those who listen, then those who wait, become runnable.
    #[inline]
    pub(crate) fn fire(&mut self, id: u32, moment: Moment) {
        let event = &mut self.events[id as usize];
        event.fired += 1;
        let (listener, waiter) = (event.listener, std::mem::replace(&mut event.waiter, NOBODY));
        if event.crowded {
            return self.fire_crowd(id, waiter, moment);
        }
        if listener != NOBODY {
            Schedule::call(&mut self.slots, &mut self.runnable, listener, moment);
        }
        if waiter != NOBODY {
            self.wake(waiter, moment);
        }
    }

    fn fire_crowd(&mut self, id: u32, waiter: u32, moment: Moment) {
        let Schedule { events, event_details, slots, runnable, .. } = self;
        Schedule::call(slots, runnable, events[id as usize].listener, moment);
        let mut others = Vec::new();
        if let Some(crowd) = &mut event_details[id as usize].crowd {
            for &listener in &crowd.listeners {
                Schedule::call(slots, runnable, listener, moment);
            }
            others = std::mem::take(&mut crowd.waiters);
        }
        // Waking an armed method touches the waiters of its other events, and of this one.
        self.wake(waiter, moment);
        for &waiter in &others {
            self.wake(waiter, moment);
        }
        others.clear();
        let place = &mut self.crowd(id).waiters;
        if place.is_empty() {
            *place = others;
        }
    }

    /// Makes a method runnable by its static sensitivity.
    #[inline]
    fn call(slots: &mut [Slot], runnable: &mut Vec<u32>, listener: u32, moment: Moment) {
        // Not by its own immediate notification (IEEE 1666-2011, evaluation phase): it would run for ever.
        if listener == moment.running {
            return;
        }
        let Some(slot) = slots.get_mut(listener as usize) else { return };
        if slot.armed == Armed::No && !slot.queued {
            slot.queued = true;
            runnable.push(listener);
        }
    }
}

/// Processes.
impl Schedule {
    /// Makes a process runnable because what it waits for has come.
    #[inline]
    pub(crate) fn wake(&mut self, id: u32, moment: Moment) {
        // Handles of events may outlive the simulation and its processes; and nobody is no process.
        let Some(slot) = self.slots.get_mut(id as usize) else { return };
        if !slot.queued && slot.state != State::Vacant {
            slot.queued = true;
            self.runnable.push(id);
        }
        match slot.armed {
            Armed::No => {}
            // The entry is none any more if it is due at this very time.
            Armed::Timer => {
                slot.armed = Armed::No;
                self.timed.remove(slot.timer);
            }
            Armed::Details => self.disarm(id, moment),
        }
    }

    pub(crate) fn disarm(&mut self, id: u32, moment: Moment) {
        let slot = &mut self.slots[id as usize];
        let armed = std::mem::replace(&mut slot.armed, Armed::No);
        if armed == Armed::No {
            return;
        }
        self.timed.remove(std::mem::replace(&mut slot.timer, Entry::NONE));
        if armed == Armed::Timer {
            return;
        }
        let Some(more) = &mut self.details[id as usize].more else { return };
        let (events, since) = (std::mem::take(&mut more.events), more.since.take());
        for event in events {
            self.remove_waiter(event, id);
        }
        if since == Some(moment.delta) {
            self.forget_delta(id);
        }
    }

    /// Takes back a process's last wait for the next delta cycle.
    pub(crate) fn forget_delta(&mut self, id: u32) {
        if let Some(at) = self.next_delta.iter().rposition(|target| *target == Target::process(id)) {
            self.next_delta.remove(at);
        }
    }

    /// Lets a method be called when a time has passed.
    #[inline]
    pub(crate) fn arm_timer(&mut self, id: u32, delay: u64, moment: Moment) {
        let until = moment.now.saturating_add(delay);
        let slot = &mut self.slots[id as usize];
        slot.timer = self.timed.insert(until, Target::process(id));
        slot.armed = Armed::Timer;
    }

    /// Lets a method be called at one of several events, or when a time has passed, if there is one.
    pub(crate) fn arm(&mut self, id: u32, events: Vec<u32>, delay: Option<u64>, moment: Moment) {
        let since = (delay == Some(0)).then_some(moment.delta);
        // What is there is the entry of an earlier time-out.
        self.slots[id as usize].timer = Entry::NONE;
        match delay {
            Some(0) => self.next_delta.push(Target::process(id)),
            Some(delay) => self.arm_timer(id, delay, moment),
            None => {}
        }
        for &event in &events {
            self.add_waiter(event, id);
        }
        if since.is_some() || !events.is_empty() {
            let more = self.details[id as usize].more.get_or_insert_default();
            (more.events, more.since) = (events, since);
            self.slots[id as usize].armed = Armed::Details;
        }
    }

    /// Serves notifications that are due, in order.
    #[inline]
    pub(crate) fn serve(&mut self, due: &[Target], moment: Moment) {
        for &Target(target) in due {
            if target & Target::EVENT == 0 {
                self.wake(target, moment);
                continue;
            }
            let id = target & !Target::EVENT;
            self.events[id as usize].pending = Pending::None;
            self.fire(id, moment);
            if self.events[id as usize].orphan {
                self.free_event(id);
            }
        }
    }

    /// Puts a process into a slot; gives its number and generation.
    pub(crate) fn add_process(
        &mut self,
        name: Name,
        body: Body,
        kind: Kind,
        listens_to: Vec<Event>,
        initialize: bool,
    ) -> (u32, u32) {
        let id = self.free.pop().unwrap_or(self.slots.len() as u32);
        for event in &listens_to {
            self.add_listener(event.id(), id);
        }
        let more = (!listens_to.is_empty()).then(|| Box::new(More { listens_to, ..More::default() }));
        let details = Details { name, more };
        let slot = Slot {
            body: Some(body),
            generation: 0,
            ended: NOBODY,
            timer: Entry::NONE,
            state: State::Present,
            queued: initialize,
            kind,
            armed: Armed::No,
        };
        if initialize {
            self.runnable.push(id);
        }
        match self.slots.get_mut(id as usize) {
            Some(place) => {
                let generation = place.generation;
                *place = Slot { generation, ..slot };
                self.details[id as usize] = details;
                (id, generation)
            }
            None => {
                self.slots.push(slot);
                self.details.push(details);
                (id, 0)
            }
        }
    }

    /// The event of the end of a process; made when first asked for.
    pub(crate) fn ended(&mut self, id: u32) -> u32 {
        if self.slots[id as usize].ended == NOBODY {
            self.slots[id as usize].ended = self.add_event(None, false);
        }
        self.slots[id as usize].ended
    }

    /// Takes a process out of its slot and tells who waits for that; what it had is the caller's to drop.
    #[must_use = "its destructors may come back to the kernel"]
    pub(crate) fn retire(&mut self, id: u32, moment: Moment) -> Option<Box<More>> {
        self.disarm(id, moment);
        let slot = &mut self.slots[id as usize];
        slot.state = State::Vacant;
        slot.generation = slot.generation.wrapping_add(1);
        let ended = std::mem::replace(&mut slot.ended, NOBODY);
        // A queued slot is freed when the run loop comes by, lest a successor be run in its stead.
        if !slot.queued {
            self.free.push(id);
        }
        if ended != NOBODY {
            self.notify_delta(ended);
            self.release_event(ended);
        }
        let more = self.details[id as usize].more.take();
        for event in more.iter().flat_map(|more| &more.listens_to) {
            self.remove_listener(event.id(), id);
        }
        more
    }
}
