//! The schedule: processes, events and notifications as plain tables, and the rules between them.
//!
//! The kernel ([`crate::kernel`]) makes one step at a time here ([`Shared`]) and leaves before any user code
//! runs. Nothing here calls a process, a method or one of their destructors.
//!
//! Data that every activation touches is kept small and together ([`Slot`], [`EventSlot`]). Data that is seldom
//! used is in separate tables ([`Details`], [`EventDetails`]), under the same numbers.

mod events;
mod processes;
mod shared;

pub(crate) use shared::Shared;

use crate::body::Body;
use crate::event::Event;
use crate::name::Name;
use crate::queue::{Entry, TimedQueue};
use crate::report::{Blocked, IdleReport};
use crate::time::Time;
use std::rc::Rc;

/// Action of a channel in the update phase.
pub(crate) trait Update {
    fn update(&self);
}

/// Target that a notification wakes: the number of a process or of an event.
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

/// No process: outside of any process, or an empty place for one or for an event.
pub(crate) const NOBODY: u32 = u32::MAX;

/// One process: what running it needs.
pub(crate) struct Slot {
    /// Nothing, if no process is here.
    pub(crate) body: Option<Body>,
    /// Counts the processes that have been here; a handle of an earlier one knows by it.
    pub(crate) generation: u32,
    /// The event that fires at its end, if one was requested.
    pub(crate) ended: u32,
    /// The entry of an armed method's time-out.
    timer: Entry,
    pub(crate) kind: ProcessKind,
    standing: Standing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProcessKind {
    /// Counts as stuck if it has not ended when everything else has.
    Process,
    /// Serves for ever.
    Server,
    /// Is called; never waits in the middle of something.
    Method,
}

/// Standing of a process. A method that is armed has a dynamic sensitivity, which replaces the static
/// one until it is met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// Runs, or waits for what it has put itself on the lists of; a method, for its static sensitivity. Or the
    /// place is free.
    Idle,
    /// In the list of runnable processes. The place may be empty by the time that its turn comes.
    Queued,
    /// Armed with a time, by the slot's timer.
    Timer,
    /// Armed with what its details say.
    Details,
    /// The process's body is being dropped: the place is not free before that is over.
    Leaving,
    /// The process's body is being dropped, and its turn in the list of runnable processes has not come yet.
    LeavingQueued,
}

/// The rest of a process.
pub(crate) struct Details {
    pub(crate) name: Name,
    /// Details that few processes have.
    more: Option<Box<More>>,
}

#[derive(Default)]
pub(crate) struct More {
    /// Keeps the events alive that a method is sensitive to.
    pub(crate) listens_to: Vec<Event>,
    /// Notifications that an armed method waits for: events, with or without the passing of time, or the next delta cycle.
    events: Vec<u32>,
    /// Among them the next delta cycle.
    in_delta: bool,
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
    /// Number of times that an event of this number has fired: a waiter is served when this has moved on. Never reset.
    pub(crate) fired: u64,
    /// Time at which the event will fire, and by which entry.
    due: u64,
    entry: Entry,
    /// The process or armed method that waits for the next notification, in the common case of one.
    waiter: u32,
    /// The method that is sensitive for good, in the common case of one.
    listener: u32,
    pending: Pending,
    /// True if more wait or are sensitive; the details have them.
    crowded: bool,
    /// Announces work: a server that waits for it is at rest.
    pub(crate) work: bool,
    /// The event has no holder, and is removed once its notification has come.
    orphan: bool,
}

/// The rest of an event.
pub(crate) struct EventDetails {
    /// Nothing if no event is here, or if it has none of its own: the end of a process.
    pub(crate) name: Option<Name>,
    crowd: Option<Box<Crowd>>,
    /// Number of the event's holders: handles, and the process at whose end it fires.
    holders: u32,
    /// Number of times that events of this number had fired before this one was made.
    before: u64,
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
    /// Processes to run in this evaluation phase, in order; and [`NOBODY`] as a mark ([`Schedule::check_phase`]).
    pub(crate) runnable: Vec<u32>,
    /// Number of runnable processes that have run.
    run: usize,
    /// Number of them with which it is time for a look at whether the phase ever ends; see [`Schedule::check_phase`].
    look_after: usize,
    pub(crate) next_delta: Vec<Target>,
    /// The channels that asked for the update phase.
    pub(crate) updates: Vec<Rc<dyn Update>>,
    /// The simulation is gone; handles may live on.
    pub(crate) over: bool,
    pub(crate) timed: TimedQueue<Target>,
    pub(crate) events: Vec<EventSlot>,
    pub(crate) event_details: Vec<EventDetails>,
    free_events: Vec<u32>,
    pub(crate) activations: u64,
}

impl Schedule {
    /// The processes that wait, and for what.
    pub(crate) fn idle_report(&self, time: Time) -> IdleReport {
        let mut report = IdleReport { time, blocked: Vec::new(), at_rest: Vec::new() };
        // The end of a process has no name of its own.
        let name_of = |event: usize| {
            let ended = || {
                let process = self.slots.iter().position(|slot| slot.ended == event as u32)?;
                Some(self.name_of_end(process as u32))
            };
            self.event_details[event].name.clone().or_else(ended)
        };
        for (id, slot) in self.slots.iter().enumerate() {
            if slot.body.is_none() || slot.kind == ProcessKind::Method {
                continue;
            }
            let waited = || (0..self.events.len()).filter(move |&event| self.is_waited_for(event, id as u32));
            let mut of_work = waited().map(|event| self.events[event].work).peekable();
            let at_rest =
                slot.kind == ProcessKind::Server && of_work.peek().is_some() && of_work.all(|work| work);
            let waits_for = waited().filter_map(name_of).collect();
            let blocked = Blocked { process: self.details[id].name.clone(), waits_for };
            if at_rest { &mut report.at_rest } else { &mut report.blocked }.push(blocked);
        }
        report
    }
}
