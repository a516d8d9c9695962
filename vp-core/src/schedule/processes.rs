//! Processes: what makes them runnable, how they start and how they end.

use super::{Details, More, NOBODY, Pending, ProcessKind, Schedule, Slot, Standing, Target};
use crate::body::{Body, Running};
use crate::event::Event;
use crate::name::Name;
use crate::prefetch::prefetch;
use crate::queue::Entry;

impl Schedule {
    /// Makes a process runnable because what it waits for has come.
    #[inline(always)]
    pub(crate) fn wake(&mut self, id: u32) {
        // Handles of events may outlive the simulation and its processes; and nobody is no process.
        let Some(slot) = self.slots.get_mut(id as usize) else { return };
        match slot.standing {
            Standing::Idle if slot.body.is_some() => {
                slot.standing = Standing::Queued;
                self.runnable.push(id);
            }
            Standing::Timer | Standing::Details => {
                self.disarm(id);
                self.slots[id as usize].standing = Standing::Queued;
                self.runnable.push(id);
            }
            _ => {}
        }
    }

    #[inline(never)]
    pub(crate) fn disarm(&mut self, id: u32) {
        let slot = &mut self.slots[id as usize];
        let armed = slot.standing;
        if !matches!(armed, Standing::Timer | Standing::Details) {
            return;
        }
        slot.standing = Standing::Idle;
        self.timed.remove(std::mem::replace(&mut slot.timer, Entry::NONE));
        if armed == Standing::Timer {
            return;
        }
        let Some(more) = &mut self.details[id as usize].more else { return };
        let (events, in_delta) = (std::mem::take(&mut more.events), std::mem::take(&mut more.in_delta));
        for event in events {
            self.remove_waiter(event, id);
        }
        if in_delta {
            self.forget_delta(id);
        }
    }

    /// Lets a process wait for a time, by the entry that wakes it.
    #[inline]
    pub(crate) fn wait_until(&mut self, time: u64, process: u32) -> Entry {
        self.timed.insert(time, Target::process(process))
    }

    /// Lets a process wait for the next delta cycle.
    #[inline]
    pub(crate) fn wait_delta(&mut self, process: u32) {
        self.next_delta.push(Target::process(process));
    }

    /// Takes back a process's last wait for the next delta cycle.
    pub(crate) fn forget_delta(&mut self, id: u32) {
        if let Some(at) = self.next_delta.iter().rposition(|target| *target == Target::process(id)) {
            self.next_delta.remove(at);
        }
    }

    /// Lets a method be called at a time. Of a process, such a request has no effect.
    #[inline]
    pub(crate) fn arm_timer(&mut self, id: u32, until: u64) {
        let slot = &mut self.slots[id as usize];
        if slot.kind != ProcessKind::Method {
            return;
        }
        slot.timer = self.timed.insert(until, Target::process(id));
        slot.standing = Standing::Timer;
    }

    /// Lets a method be called at one of several events, in the next delta cycle, or at a time.
    pub(crate) fn arm(&mut self, id: u32, events: Vec<u32>, in_delta: bool, until: Option<u64>) {
        let slot = &mut self.slots[id as usize];
        if slot.kind != ProcessKind::Method {
            return;
        }
        // What is there is the entry of an earlier time-out.
        slot.timer = Entry::NONE;
        if in_delta {
            self.next_delta.push(Target::process(id));
        }
        if let Some(until) = until {
            self.arm_timer(id, until);
        }
        for &event in &events {
            self.add_waiter(event, id);
        }
        if in_delta || !events.is_empty() {
            let more = self.details[id as usize].more.get_or_insert_default();
            (more.events, more.in_delta) = (events, in_delta);
            self.slots[id as usize].standing = Standing::Details;
        }
    }

    /// Serves the delta notifications, in order, if there are any. Where all they do is make one process
    /// runnable, its number comes back instead; else [`NOBODY`].
    #[inline(always)]
    pub(crate) fn serve_delta(&mut self) -> Option<u32> {
        match *self.next_delta {
            [] => None,
            [target] => {
                self.next_delta.clear();
                Some(self.serve_alone(target, false))
            }
            _ => {
                self.serve_deltas();
                Some(NOBODY)
            }
        }
    }

    #[inline(never)]
    fn serve_deltas(&mut self) {
        let mut at = 0;
        while let Some(&target) = self.next_delta.get(at) {
            at += 1;
            self.serve(target, false);
        }
        self.next_delta.clear();
    }

    /// Moves to the earliest time that is not after `last`, and serves what is due then, in order. Where all
    /// that does is make one process runnable, its number comes back instead; else [`NOBODY`].
    #[inline(always)]
    pub(crate) fn serve_timed(&mut self, last: u64) -> Option<(u64, u32)> {
        let (time, target) = self.timed.pop(last)?;
        self.look_ahead();
        if !self.timed.may_have_another(time) {
            return Some((time, self.serve_alone(target, true)));
        }
        self.serve(target, true);
        while let Some(target) = self.timed.pop_another(time) {
            self.look_ahead();
            self.serve(target, true);
        }
        Some((time, NOBODY))
    }

    /// Loads what is due next into the caches while others run: with many processes, little of them is in the caches.
    #[inline(always)]
    fn look_ahead(&self) {
        if self.timed.has_none_near() {
            return;
        }
        if let Some(Target(later)) = self.timed.ahead(3)
            && let Some(slot) = self.slots.get(later as usize)
        {
            prefetch(slot);
        }
        if let Some(Target(sooner)) = self.timed.ahead(1)
            && let Some(Slot { body: Some(body), .. }) = self.slots.get(sooner as usize)
        {
            body.prefetch();
        }
    }

    /// Does what a notification does that comes by itself: as [`Schedule::serve`], but gives back the process
    /// that this makes runnable, if it is the only one.
    #[inline(always)]
    fn serve_alone(&mut self, Target(target): Target, timed: bool) -> u32 {
        if target & Target::EVENT == 0 {
            let Some(slot) = self.slots.get_mut(target as usize) else { return NOBODY };
            match slot.standing {
                Standing::Idle => {}
                Standing::Timer => slot.standing = Standing::Idle,
                _ => return self.serve_among(target, timed),
            }
            return target;
        }
        let id = target & !Target::EVENT;
        let event = &mut self.events[id as usize];
        if event.crowded || event.orphan {
            return self.serve_among(target, timed);
        }
        if event.waiter != NOBODY {
            if event.listener != NOBODY {
                return self.serve_among(target, timed);
            }
            event.pending = Pending::None;
            event.fired += 1;
            let waiter = std::mem::replace(&mut event.waiter, NOBODY);
            if self.slots.get(waiter as usize).is_some_and(|slot| slot.standing != Standing::Idle) {
                self.wake(waiter);
                return NOBODY;
            }
            return waiter;
        }
        event.pending = Pending::None;
        event.fired += 1;
        let listener = event.listener;
        if self.slots.get(listener as usize).is_some_and(|slot| slot.standing != Standing::Idle) {
            return Schedule::not_called();
        }
        listener
    }

    /// A method that waits for something else is not called. A function, so that the processor need not know
    /// before it goes on.
    #[cold]
    #[inline(never)]
    fn not_called() -> u32 {
        NOBODY
    }

    #[inline(never)]
    fn serve_among(&mut self, target: u32, timed: bool) -> u32 {
        self.serve(Target(target), timed);
        NOBODY
    }

    /// A notification comes, as its `time` has or with the next delta cycle.
    #[inline(always)]
    fn serve(&mut self, Target(target): Target, timed: bool) {
        if target & Target::EVENT == 0 {
            return self.come(target, timed);
        }
        let id = target & !Target::EVENT;
        let event = &mut self.events[id as usize];
        event.pending = Pending::None;
        let orphan = event.orphan;
        self.fire(id, NOBODY);
        if orphan {
            self.free_event(id);
        }
    }

    /// Makes a process runnable for which what it waits for by itself has come: its time, or its delta cycle.
    #[inline(always)]
    fn come(&mut self, id: u32, timed: bool) {
        let Some(slot) = self.slots.get_mut(id as usize) else { return };
        match slot.standing {
            Standing::Idle if slot.body.is_some() => {}
            Standing::Timer => {}
            Standing::Details => return self.enqueue_runnable(id, timed),
            _ => return,
        }
        slot.standing = Standing::Queued;
        self.runnable.push(id);
    }

    #[cold]
    fn enqueue_runnable(&mut self, id: u32, timed: bool) {
        // What has come need not be taken back any more.
        if timed {
            self.slots[id as usize].timer = Entry::NONE;
        } else if let Some(more) = &mut self.details[id as usize].more {
            more.in_delta = false;
        }
        self.wake(id);
    }

    /// Puts a process that [`Schedule::serve_delta`] or [`Schedule::serve_timed`] gave back into the list.
    #[cold]
    pub(crate) fn enlist(&mut self, id: u32) {
        self.wake(id);
    }

    /// The next process to run in this evaluation phase; [`NOBODY`] where [`Schedule::check_phase`] wants a look.
    #[inline(always)]
    pub(crate) fn next_runnable(&mut self) -> Option<u32> {
        let id = *self.runnable.get(self.run)?;
        self.run += 1;
        Some(id)
    }

    /// Returns what to run of a process, if it has not ended meanwhile.
    #[inline(always)]
    pub(crate) fn activate(&mut self, id: u32) -> Option<Running> {
        let slot = self.slots.get_mut(id as usize)?;
        let Some(body) = &slot.body else {
            self.pass_over(id);
            return None;
        };
        slot.standing = Standing::Idle;
        self.activations += 1;
        Some(body.running())
    }

    /// The process whose turn it is has ended since it was queued.
    #[cold]
    fn pass_over(&mut self, id: u32) {
        let slot = &mut self.slots[id as usize];
        match slot.standing {
            Standing::Queued => {
                slot.standing = Standing::Idle;
                self.free.push(id);
            }
            // While what it owned is being dropped, the place is left to `retire`.
            Standing::LeavingQueued => slot.standing = Standing::Leaving,
            _ => {}
        }
    }

    /// The evaluation phase is over.
    #[inline]
    pub(crate) fn all_ran(&mut self) {
        self.runnable.clear();
        self.run = 0;
    }

    /// Something has become runnable in the midst of a phase: whether that ever ends is to be looked at now and then.
    /// A mark in the list says when, so that taking the next process costs no more for it.
    #[inline]
    pub(crate) fn check_phase(&mut self) {
        if self.runnable.len() > self.look_after {
            self.look_after = usize::MAX;
            self.runnable.insert(self.run, NOBODY);
        }
    }

    /// Lets a phase go on, unless it has had `limit` activations and one for each process.
    pub(crate) fn prolong_phase(&mut self, limit: usize) -> bool {
        let most = limit.saturating_add(self.slots.len());
        let goes_on = self.run < most;
        self.look_after = if goes_on { most } else { limit };
        goes_on
    }

    /// Ends the phase before all have run. The remaining processes run in the next delta cycle; they are
    /// returned.
    pub(crate) fn interrupt_phase(&mut self) -> Vec<u32> {
        let rest = self.runnable.split_off(self.run);
        for &id in &rest {
            let slot = &mut self.slots[id as usize];
            if slot.body.is_some() {
                slot.standing = Standing::Idle;
                self.next_delta.push(Target::process(id));
            } else {
                self.pass_over(id);
            }
        }
        rest
    }

    /// Puts a process into a slot; gives its number and generation.
    pub(crate) fn add_process(
        &mut self,
        name: Name,
        body: Body,
        kind: ProcessKind,
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
            kind,
            standing: if initialize { Standing::Queued } else { Standing::Idle },
        };
        if initialize {
            self.runnable.push(id);
            self.check_phase();
        }
        match self.slots.get_mut(id as usize) {
            Some(place) => {
                debug_assert!(place.body.is_none(), "a place that is not free");
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

    pub(crate) fn is_alive(&self, id: u32, generation: u32) -> bool {
        self.slots.get(id as usize).is_some_and(|slot| slot.generation == generation)
    }

    /// The event of the end of a process, for one more holder.
    pub(crate) fn hold_ended(&mut self, id: u32) -> u32 {
        let event = self.ended(id);
        // Made without a name, which few look at.
        let name = self.name_of_end(id);
        let details = &mut self.event_details[event as usize];
        details.name.get_or_insert(name);
        details.holders += 1;
        event
    }

    pub(super) fn name_of_end(&self, id: u32) -> Name {
        format!("{}.ended", self.details[id as usize].name).into()
    }

    /// Takes the body out of a process, which runs no more; its place is kept until it is retired.
    pub(crate) fn vacate(&mut self, id: u32) -> Option<Body> {
        let body = self.slots.get_mut(id as usize)?.body.take()?;
        self.disarm(id);
        let slot = &mut self.slots[id as usize];
        let queued = slot.standing == Standing::Queued;
        slot.standing = if queued { Standing::LeavingQueued } else { Standing::Leaving };
        Some(body)
    }

    /// Frees the slot of a process whose body is gone, and wakes processes that wait for its end, from within
    /// process `running` or from outside of all. The caller drops what the process owned.
    pub(crate) fn retire(&mut self, id: u32, running: u32) -> Option<Box<More>> {
        // The simulation may have gone with what the process owned.
        let slot = self.slots.get_mut(id as usize)?;
        let queued = match slot.standing {
            Standing::Leaving => false,
            Standing::LeavingQueued => true,
            _ => return None,
        };
        slot.standing = if queued { Standing::Queued } else { Standing::Idle };
        slot.generation = slot.generation.wrapping_add(1);
        let ended = std::mem::replace(&mut slot.ended, NOBODY);
        // A queued slot is freed when the run loop comes by, lest a successor be run in its stead.
        if !queued {
            self.free.push(id);
        }
        if ended != NOBODY {
            // At once, as `terminated_event` is.
            self.cancel(ended);
            self.fire(ended, running);
            self.check_phase();
            self.release_event(ended);
        }
        let more = self.details[id as usize].more.take();
        for event in more.iter().flat_map(|more| &more.listens_to) {
            self.remove_listener(event.id(), id);
        }
        more
    }
}
