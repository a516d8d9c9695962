//! The schedule as the kernel's handles share it: one step at a time.

#![expect(unsafe_code, reason = "a borrow flag would be set and looked at several times an activation")]

use super::{More, NOBODY, ProcessKind, Schedule, Update};
use crate::body::{Body, Running};
use crate::event::Event;
use crate::name::Name;
use crate::queue::Entry;
use crate::report::IdleReport;
use crate::time::Time;
use std::cell::UnsafeCell;
use std::rc::Rc;

/// The schedule in a cell that is entered for one step and left before the step's caller goes on.
///
/// Every method is one step. The caller owns the returned value and may drop or run it: that is where user code
/// runs, outside of the cell.
#[derive(Default)]
pub(crate) struct Shared {
    schedule: UnsafeCell<Schedule>,
    /// True if a step is in progress. Checked only in debug builds.
    #[cfg(debug_assertions)]
    inside: std::cell::Cell<bool>,
}

impl Shared {
    /// Does one step.
    ///
    /// Private to this file: that each use below is sound is what the comment inside relies on.
    #[inline(always)]
    fn step<R>(&self, step: impl FnOnce(&mut Schedule) -> R) -> R {
        #[cfg(debug_assertions)]
        assert!(!self.inside.replace(true), "the schedule was entered twice");
        // SAFETY: this is the only place that makes a reference to the schedule, and it ends with `step`; so two
        // of them would need a `step` within a `step`. A `Shared` stays on one thread (`UnsafeCell` is not
        // `Sync`). Every closure in this file calls methods of `Schedule` and of plain standard collections on
        // it, and those call no code that could hold a `Shared`: they poll no body, update no channel, and drop
        // neither a body, an `Event` nor a channel (what could be dropped is returned instead). That includes
        // unwinding: a step that is given such a thing has nothing left that could panic before it is stored, as
        // `Event::id_in` keeps the numbers of other kernels out, and only empty places are written over. The
        // check above holds all tests to that.
        let result = step(unsafe { &mut *self.schedule.get() });
        #[cfg(debug_assertions)]
        self.inside.set(false);
        result
    }
}

/// Events.
impl Shared {
    pub(crate) fn add_event(&self, name: Option<Name>, work: bool) -> u32 {
        self.step(|schedule| schedule.add_event(name, work))
    }

    pub(crate) fn hold_event(&self, id: u32) {
        self.step(|schedule| schedule.hold_event(id));
    }

    pub(crate) fn event_name(&self, id: u32) -> Name {
        self.step(|schedule| schedule.event_details[id as usize].name.clone().unwrap_or_default())
    }

    /// Returns the number of times that the event has fired since it was made.
    pub(crate) fn fired_since(&self, id: u32) -> u64 {
        self.step(|schedule| schedule.events[id as usize].fired - schedule.event_details[id as usize].before)
    }

    pub(crate) fn release_event(&self, id: u32) {
        self.step(|schedule| schedule.release_event(id));
    }

    /// Returns the number of times that an event of that number has fired.
    #[inline]
    pub(crate) fn fired(&self, id: u32) -> u64 {
        self.step(|schedule| schedule.events[id as usize].fired)
    }

    pub(crate) fn is_pending(&self, id: u32) -> bool {
        self.step(|schedule| schedule.is_pending(id))
    }

    #[inline]
    pub(crate) fn notify_delta(&self, id: u32) {
        self.step(|schedule| schedule.notify_delta(id));
    }

    #[inline]
    pub(crate) fn notify_at(&self, id: u32, time: u64) {
        self.step(|schedule| schedule.notify_at(id, time));
    }

    /// Notifies at once, from within process `running` or from outside of all.
    pub(crate) fn notify_now(&self, id: u32, running: u32) {
        self.step(|schedule| {
            schedule.cancel(id);
            schedule.fire(id, running);
            schedule.check_phase();
        });
    }

    pub(crate) fn cancel(&self, id: u32) {
        self.step(|schedule| schedule.cancel(id));
    }

    /// Lets a process wait for an event; gives how often that has fired so far.
    #[inline(never)]
    pub(crate) fn add_waiter(&self, id: u32, process: u32) -> u64 {
        self.step(|schedule| schedule.add_waiter(id, process))
    }

    pub(crate) fn remove_waiter(&self, id: u32, process: u32) {
        self.step(|schedule| schedule.remove_waiter(id, process));
    }
}

/// Processes.
impl Shared {
    pub(crate) fn add_process(
        &self,
        name: Name,
        body: Body,
        kind: ProcessKind,
        listens_to: Vec<Event>,
        initialize: bool,
    ) -> (u32, u32) {
        // After the end nobody runs it, and what it holds would never be freed.
        let added = self.step(|schedule| {
            if schedule.over {
                return Err((body, listens_to));
            }
            Ok(schedule.add_process(name, body, kind, listens_to, initialize))
        });
        added.unwrap_or((NOBODY, 0))
    }

    pub(crate) fn process_name(&self, id: u32) -> Option<Name> {
        self.step(|schedule| Some(schedule.details.get(id as usize)?.name.clone()))
    }

    pub(crate) fn is_alive(&self, id: u32, generation: u32) -> bool {
        self.step(|schedule| schedule.is_alive(id, generation))
    }

    /// The number of the event of a process's end, unless it has ended.
    pub(crate) fn ended(&self, id: u32, generation: u32) -> Option<u32> {
        self.step(|schedule| schedule.is_alive(id, generation).then(|| schedule.ended(id)))
    }

    /// Returns the number of the event of a process's end as [`Shared::ended`] does, for a handle of its own.
    pub(crate) fn hold_ended(&self, id: u32, generation: u32) -> Option<u32> {
        self.step(|schedule| schedule.is_alive(id, generation).then(|| schedule.hold_ended(id)))
    }

    /// Takes the body out of a process, which runs no more.
    pub(crate) fn vacate(&self, id: u32) -> Option<Body> {
        self.step(|schedule| schedule.vacate(id))
    }

    /// Frees the place of a process without a body; what it had is for the caller to drop.
    pub(crate) fn retire(&self, id: u32, running: u32) -> Option<Box<More>> {
        self.step(|schedule| schedule.retire(id, running))
    }

    #[inline]
    pub(crate) fn wait_until(&self, time: u64, process: u32) -> Entry {
        self.step(|schedule| schedule.wait_until(time, process))
    }

    pub(crate) fn remove_timer(&self, entry: Entry) {
        self.step(|schedule| schedule.timed.remove(entry));
    }

    #[inline]
    pub(crate) fn wait_delta(&self, process: u32) {
        self.step(|schedule| schedule.wait_delta(process));
    }

    pub(crate) fn forget_delta(&self, process: u32) {
        self.step(|schedule| schedule.forget_delta(process));
    }

    #[inline]
    pub(crate) fn arm_timer(&self, id: u32, until: u64) {
        self.step(|schedule| schedule.arm_timer(id, until));
    }

    pub(crate) fn arm(&self, id: u32, events: Vec<u32>, in_delta: bool, until: Option<u64>) {
        self.step(|schedule| schedule.arm(id, events, in_delta, until));
    }
}

/// Phases.
impl Shared {
    #[inline]
    pub(crate) fn next_runnable(&self) -> Option<u32> {
        self.step(Schedule::next_runnable)
    }

    #[inline]
    pub(crate) fn activate(&self, id: u32) -> Option<Running> {
        self.step(|schedule| schedule.activate(id))
    }

    #[inline]
    pub(crate) fn all_ran(&self) {
        self.step(Schedule::all_ran);
    }

    /// Returns what is still to run in this evaluation phase.
    pub(crate) fn runnable(&self) -> Vec<u32> {
        self.step(|schedule| schedule.runnable[schedule.run..].to_vec())
    }

    /// From now on [`Shared::next_runnable`] gives [`NOBODY`] once in a phase of more than so many activations.
    pub(crate) fn limit_phase(&self, activations: u64) {
        self.step(|schedule| schedule.look_after = usize::try_from(activations).unwrap_or(usize::MAX));
    }

    /// Lets the phase go on, unless it has had so many activations and one for each process.
    pub(crate) fn prolong_phase(&self, limit: u64) -> bool {
        self.step(|schedule| schedule.prolong_phase(usize::try_from(limit).unwrap_or(usize::MAX)))
    }

    /// Ends the phase before all have run; the others, which come back, do so in the next delta cycle.
    pub(crate) fn interrupt_phase(&self) -> Vec<u32> {
        self.step(Schedule::interrupt_phase)
    }

    #[inline]
    pub(crate) fn request_update(&self, channel: Rc<dyn Update>) {
        // After the end nobody updates it, and what is kept would never be freed.
        let refused = self.step(|schedule| {
            if schedule.over {
                return Some(channel);
            }
            schedule.updates.push(channel);
            None
        });
        drop(refused);
    }

    #[inline]
    pub(crate) fn has_updates(&self) -> bool {
        self.step(|schedule| !schedule.updates.is_empty())
    }

    /// Takes the channel to update, if it is the only one.
    #[inline]
    pub(crate) fn take_only_update(&self) -> Option<Rc<dyn Update>> {
        self.step(|schedule| if schedule.updates.len() == 1 { schedule.updates.pop() } else { None })
    }

    /// Exchanges the list of channels to update for an empty one.
    pub(crate) fn take_updates(&self, updates: &mut Vec<Rc<dyn Update>>) {
        self.step(|schedule| std::mem::swap(&mut schedule.updates, updates));
    }

    #[inline(always)]
    pub(crate) fn serve_delta(&self) -> Option<u32> {
        self.step(Schedule::serve_delta)
    }

    #[inline(always)]
    pub(crate) fn serve_timed(&self, last: u64) -> Option<(u64, u32)> {
        self.step(|schedule| schedule.serve_timed(last))
    }

    pub(crate) fn enlist(&self, id: u32) {
        self.step(|schedule| schedule.enlist(id));
    }
}

/// A look from outside, and the end.
impl Shared {
    /// Returns true if something is to happen at the present time.
    pub(crate) fn is_busy(&self) -> bool {
        self.step(|schedule| {
            !(schedule.runnable.is_empty() && schedule.next_delta.is_empty() && schedule.updates.is_empty())
        })
    }

    /// Returns true if nothing is to happen but what the running process does, at the present time and up to `time`.
    #[inline]
    pub(crate) fn is_quiet_until(&self, time: u64) -> bool {
        self.step(|schedule| {
            schedule.run == schedule.runnable.len()
                && schedule.next_delta.is_empty()
                && schedule.updates.is_empty()
                && schedule.timed.is_empty_until(time)
        })
    }

    /// A time until which no timed notification is due, if nothing else happens.
    #[inline]
    pub(crate) fn empty_until(&self) -> u64 {
        self.step(|schedule| schedule.timed.empty_until())
    }

    pub(crate) fn earliest(&self) -> Option<u64> {
        self.step(|schedule| schedule.timed.earliest())
    }

    pub(crate) fn pending(&self) -> usize {
        self.step(|schedule| schedule.timed.len())
    }

    pub(crate) fn activations(&self) -> u64 {
        self.step(|schedule| schedule.activations)
    }

    /// Counts on from there.
    pub(crate) fn set_activations(&self, activations: u64) {
        self.step(|schedule| schedule.activations = activations);
    }

    pub(crate) fn idle_report(&self, time: Time) -> IdleReport {
        self.step(|schedule| schedule.idle_report(time))
    }

    /// Returns the number of places for processes.
    pub(crate) fn places(&self) -> u32 {
        self.step(|schedule| schedule.slots.len() as u32)
    }

    /// Returns true if there is any process.
    pub(crate) fn has_processes(&self) -> bool {
        self.step(|schedule| schedule.slots.iter().any(|slot| slot.body.is_some()))
    }

    /// Takes back every notification.
    pub(crate) fn cancel_all(&self) {
        self.step(Schedule::cancel_all);
    }

    /// Takes out all bodies.
    pub(crate) fn take_bodies(&self) -> Vec<Body> {
        self.step(|schedule| schedule.slots.iter_mut().filter_map(|slot| slot.body.take()).collect())
    }

    /// Takes out everything; handles of events may live on, and find their events.
    pub(crate) fn take_processes(&self) -> impl Sized + use<> {
        self.step(|schedule| {
            schedule.over = true;
            (schedule.timed, schedule.next_delta, schedule.runnable) = Default::default();
            (schedule.free, schedule.run) = Default::default();
            (
                std::mem::take(&mut schedule.slots),
                std::mem::take(&mut schedule.details),
                std::mem::take(&mut schedule.updates),
            )
        })
    }
}
