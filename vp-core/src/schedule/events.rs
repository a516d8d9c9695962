//! Events: their notifications, the processes that wait for them, and the methods that are sensitive to them.

use super::{Crowd, EventDetails, EventSlot, NOBODY, Pending, Schedule, Slot, Standing, Target};
use crate::name::Name;
use crate::queue::Entry;

impl Schedule {
    pub(crate) fn add_event(&mut self, name: Option<Name>, work: bool) -> u32 {
        let details = EventDetails { name, crowd: None, holders: 1, before: 0 };
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
                let fired = place.fired;
                *place = EventSlot { fired, ..event };
                self.event_details[id as usize] = EventDetails { before: fired, ..details };
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
        // An event may outlive the simulation, and its tables do too.
        self.event_details[id as usize].holders += 1;
    }

    /// One holder of an event is gone. After the last one the event cannot be notified any more; a pending
    /// notification still comes.
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

    pub(super) fn free_event(&mut self, id: u32) {
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

    /// Cancels every notification; events without a holder are removed.
    pub(crate) fn cancel_all(&mut self) {
        for id in 0..self.events.len() as u32 {
            self.cancel(id);
            if std::mem::take(&mut self.events[id as usize].orphan) {
                self.free_event(id);
            }
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
            let next =
                crowded.then(|| &mut self.crowd(id).listeners).filter(|listeners| !listeners.is_empty());
            self.events[id as usize].listener = next.map_or(NOBODY, |listeners| listeners.remove(0));
        }
    }

    /// Lets a process wait for an event; gives how often that has fired so far.
    #[inline]
    pub(crate) fn add_waiter(&mut self, id: u32, process: u32) -> u64 {
        let event = &mut self.events[id as usize];
        let fired = event.fired;
        if event.waiter == NOBODY {
            event.waiter = process;
        } else {
            self.join_crowd(id, process);
        }
        fired
    }

    #[inline(never)]
    fn join_crowd(&mut self, id: u32, process: u32) {
        self.crowd(id).waiters.push(process);
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

    /// An event happens: methods that are sensitive to it, then processes that wait for it, become runnable.
    /// `running` is the process that makes it happen in this evaluation phase, if one does.
    #[inline(always)]
    pub(crate) fn fire(&mut self, id: u32, running: u32) {
        let event = &mut self.events[id as usize];
        event.fired += 1;
        let (listener, waiter) = (event.listener, std::mem::replace(&mut event.waiter, NOBODY));
        if event.crowded {
            return self.fire_crowd(id, waiter, running);
        }
        if listener != NOBODY {
            Schedule::call(&mut self.slots, &mut self.runnable, listener, running);
        }
        if waiter != NOBODY {
            self.wake(waiter);
        }
    }

    #[inline(never)]
    fn fire_crowd(&mut self, id: u32, waiter: u32, running: u32) {
        let Schedule { events, event_details, slots, runnable, .. } = self;
        Schedule::call(slots, runnable, events[id as usize].listener, running);
        let mut others = Vec::new();
        if let Some(crowd) = &mut event_details[id as usize].crowd {
            for &listener in &crowd.listeners {
                Schedule::call(slots, runnable, listener, running);
            }
            others = std::mem::take(&mut crowd.waiters);
        }
        // Waking an armed method touches the waiters of its other events, and of this one.
        self.wake(waiter);
        for &waiter in &others {
            self.wake(waiter);
        }
        others.clear();
        let crowd = self.crowd(id);
        let alone = crowd.waiters.is_empty() && crowd.listeners.is_empty();
        if crowd.waiters.is_empty() {
            crowd.waiters = others;
        }
        self.events[id as usize].crowded = !alone;
    }

    /// Makes a method runnable by its static sensitivity.
    #[inline]
    fn call(slots: &mut [Slot], runnable: &mut Vec<u32>, listener: u32, running: u32) {
        // Not by its own immediate notification (IEEE 1666-2011, evaluation phase): it would run for ever.
        if listener == running {
            return;
        }
        let Some(slot) = slots.get_mut(listener as usize) else { return };
        if slot.standing == Standing::Idle {
            slot.standing = Standing::Queued;
            runnable.push(listener);
        }
    }
}
