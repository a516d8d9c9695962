//! Partners: parties that have a clock of their own, such as an RTL simulator or another platform.
//!
//! Interfaces are registered: what one side drives at a clock edge the other sees at the next one. Each event
//! carries the edge at which it is seen, and from time to time each side promises: *nothing more from me before
//! this edge, unless something of yours comes*. A side may compute an edge as soon as it knows all that it sees
//! there. So both compute the same edge at the same time while both are busy, and one message skips the edges
//! at which nothing happens (conservative parallel simulation; K. M. Chandy and J. Misra, 1979).
//!
//! An instant of the platform has two halves. First the consequences of earlier instants happen, and are told.
//! Then what partners drive at that edge takes effect. So the simulation may run to the edge up to which a
//! partner has promised silence ([`Partner::horizon`]), and waits there until the promise goes further.
//!
//! ```text
//!              edge t                                  edge t + 1
//!   ───────────┬───────────────────┬───────────────────┬────────── time
//!              │ 1. what follows   │ 2. what partners  │
//!              │    from earlier   │    drive, to be   │
//!              │    instants       │    seen at t      │
//!              └─ told to partners └─ takes effect     └─ the platform reacts
//! ```
//!
//! A partner that breaks the contract is expelled, with the rule that it broke. `docs/protocol.md`, "The
//! contract of time", has the rules; `promise.rs` applies them.

mod event_table;
mod partners;
mod pins;
mod promise;
mod reset;
mod watched;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use vp_core::Time;

use vp_models::bus::axi::AxiEvent;
use vp_models::units::HORIZON;
use vp_types::{PortId, Reaction};

pub use event_table::PortSide;
pub(super) use partners::Partners;
pub(super) use promise::Bound;
pub use watched::PinEvent;

/// Limit of events that a partner may have driven ahead: its memory is ours.
const MOST_AHEAD: usize = 65_536;
/// Limit of further events ahead for each edge of a partner's quantum, which lie on the way.
const MOST_AN_EDGE: usize = 64;

/// The longest quantum.
const MOST_QUANTUM: u32 = 1_024;

/// Bytes of the widest data bus that there is.
const MOST_BEAT: usize = 64;

/// Clock of a partner, as the partner describes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Edge at which its outputs follow its inputs.
    pub reaction: Reaction,
    /// The delay of a link in each direction, in edges: everything that crosses the partner's ports is seen so
    /// much later (H. Li, J. Li and A. Kaufmann, "SimBricks", SIGCOMM 2022). Each side may then run so many
    /// edges further beyond what it knows of the other one. At most 1024.
    pub quantum: u32,
}

impl Clock {
    /// Returns the delay of the link, if a clock cycle is that long.
    fn delay(self, period: Time) -> Time {
        period * u64::from(self.quantum)
    }
}

/// Event that is driven at a port by a partner, or for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PortEvent {
    /// Event at a memory port.
    Axi(AxiEvent),
    /// Access from the initiator at a register port; it stays until it is taken.
    Register {
        /// Byte address.
        address: u32,
        /// The word to write, or `None` to read.
        write: Option<u32>,
        /// A write that is not answered.
        posted: bool,
    },
    /// Ready of the target at a register port, high at the beginning: it takes an access.
    RegisterReady(bool),
    /// Answer of the target at a register port to the oldest access that has none; zero for a write.
    RegisterAnswer(u32),
    /// Level of an interrupt line.
    Level(bool),
    /// Reset of any port, from the platform: all that was in flight there, in both directions, is void, and the port
    /// is as at the beginning. The partner drives it back when its side is reset, too: what it has driven
    /// before that is void.
    Reset,
}

/// Promise of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// The number of events of the other side, from the first one on, that are taken into account.
    pub heard: u64,
    /// No more events from this side are seen before this time, unless another event of the other side comes;
    /// then none is seen before the reaction to it.
    pub next: Time,
}

/// A rule of the contract that a partner has broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Broken {
    #[error("it drives something to be seen at {at}, having promised nothing before {promised}")]
    Early { at: Time, promised: Time },
    #[error("it drives something to be seen at {at}, between two clock edges of {period}")]
    OffEdge { at: Time, period: Time },
    #[error("it drives something to be seen at {at}: times are at most 2^62 ps")]
    Beyond { at: Time },
    #[error("it has driven {most} events ahead, and drives one more")]
    Many { most: usize },
    #[error("it promises nothing before {next}, having promised nothing before {promised}")]
    Withdrawn { next: Time, promised: Time },
    #[error("it says to have heard {heard} events, and was sent {sent} only")]
    Unsent { heard: u64, sent: u64 },
    #[error("it drives a reset that nobody has asked for: a partner drives one for each that it is sent")]
    Unasked,
    #[error("it drives {event} {}: {}", as_what(*here), whose(*driver))]
    Side { event: &'static str, driver: Option<PortSide>, here: Option<PortSide> },
    #[error("{0}")]
    Pins(String),
}

fn as_what(here: Option<PortSide>) -> String {
    here.map_or_else(
        || "at a port that it has not attached with a clock".to_owned(),
        |here| format!("as {here}"),
    )
}

fn whose(driver: Option<PortSide>) -> String {
    driver
        .map_or_else(|| "a port is driven by who holds it".to_owned(), |driver| format!("only {driver} does"))
}

/// A partner, as the hub sees it.
pub(super) struct Partner {
    clock: Clock,
    period: Time,
    promise: Promise,
    /// Number of events that it was sent.
    sent: u64,
    /// Edges at which it may react to each of the events that it has not taken into account.
    reactions: VecDeque<Time>,
    /// Number of events that it has driven.
    driven: u64,
    /// The number of resets at a port that it was sent and has not driven back: until then what it drives there
    /// is void.
    resets: BTreeMap<PortId, u32>,
    /// True if its resets are carried out: this platform is a part of the partner's.
    is_leader: bool,
    /// Events that it has driven and that have not taken effect, in the order of the edges.
    queue: VecDeque<(Time, PortId, PortEvent)>,
    /// Last promise sent to the partner.
    last_promise: Promise,
    /// Earliest reaction to what the partner has driven since.
    floor: Time,
}

impl Partner {
    fn new(clock: Clock, period: Time, now: Time) -> Partner {
        let nothing = Promise { heard: 0, next: now };
        Partner {
            clock,
            period,
            promise: nothing,
            sent: 0,
            reactions: VecDeque::new(),
            driven: 0,
            resets: BTreeMap::new(),
            is_leader: false,
            queue: VecDeque::new(),
            last_promise: nothing,
            floor: Time::MAX,
        }
    }

    /// Edge before which the partner drives nothing that has not arrived.
    fn promised(&self) -> Time {
        let reactions = self.reactions.iter().copied();
        reactions.chain([self.promise.next]).min().unwrap_or(Time::MAX)
    }

    /// Events that it may have driven ahead, and accesses of its that may wait to be taken.
    fn most_ahead(&self) -> usize {
        MOST_AHEAD + MOST_AN_EDGE * self.clock.quantum as usize
    }

    /// Forgets the resets of a port that the partner holds no more.
    pub(super) fn forget_resets(&mut self, port: PortId) {
        self.resets.remove(&port);
    }

    /// The edge of the earliest reaction to an event that is seen at `at`, in the time of the side that has
    /// driven it; `at_once`: at the same edge.
    fn reaction(&self, at: Time, at_once: bool) -> Time {
        let seen = later(at, self.delay());
        if at_once { seen } else { later(seen, self.period) }
    }

    /// Time that what crosses its ports is on the way.
    fn delay(&self) -> Time {
        self.clock.delay(self.period)
    }

    /// The edge at which what it has driven takes effect next.
    fn next_event(&self) -> Option<Time> {
        self.queue.front().map(|(at, ..)| *at)
    }

    /// Time up to which the simulation may come.
    fn horizon(&self) -> Time {
        self.promised()
    }

    /// Notes that the partner is sent something, to be seen at `at`; `at_once`: it may react at the same edge, whatever its clock says.
    fn send(&mut self, at: Time, at_once: bool) {
        let is_same = at_once || self.clock.reaction == Reaction::SameEdge;
        self.reactions.push_back(self.reaction(at, is_same));
        self.sent += 1;
    }

    /// The edge before which it can count on seeing nothing more.
    fn least(&self) -> Time {
        self.last_promise.next.min(self.floor)
    }

    /// Takes what the partner drives; `at_once`: the platform may react at the same edge.
    fn drive(&mut self, at: Time, port: PortId, event: PortEvent, at_once: bool) -> Result<(), Broken> {
        let promised = self.promised();
        if at < promised {
            return Err(Broken::Early { at, promised });
        }
        if let PortEvent::Axi(AxiEvent::ReadData { data, .. } | AxiEvent::WriteData { data, .. }) = &event
            && data.len() > MOST_BEAT
        {
            return Err(Broken::Pins(format!(
                "a beat of {} bytes: the widest bus has {MOST_BEAT}",
                data.len()
            )));
        }
        if !at.as_ps().is_multiple_of(self.period.as_ps()) {
            return Err(Broken::OffEdge { at, period: self.period });
        }
        if at > HORIZON {
            return Err(Broken::Beyond { at });
        }
        let most = self.most_ahead();
        if self.queue.len() >= most {
            return Err(Broken::Many { most });
        }
        let is_reset = event == PortEvent::Reset;
        match self.resets.get_mut(&port) {
            Some(open) if is_reset => {
                *open -= 1;
                self.resets.retain(|_, open| *open > 0);
            }
            Some(_) => {}
            None if is_reset && !self.is_leader => return Err(Broken::Unasked),
            None => {
                if is_reset {
                    // What it has driven ahead at that port never comes; a reset before this one is still to be driven back.
                    self.queue
                        .retain(|(seen, of, event)| *seen < at || *of != port || *event == PortEvent::Reset);
                }
                // Beats that follow an address are driven ahead of what comes meanwhile on other channels.
                let place = self.queue.partition_point(|(before, ..)| *before <= at);
                self.queue.insert(place, (at, port, event));
            }
        }
        self.driven += 1;
        self.floor = self.floor.min(self.reaction(at, at_once));
        Ok(())
    }

    fn set_promise(&mut self, promise: Promise) -> Result<(), Broken> {
        let Promise { heard, next } = promise;
        // Nothing is seen between two edges.
        let next = Time::ps(next.as_ps().checked_next_multiple_of(self.period.as_ps()).unwrap_or(u64::MAX));
        let sent = self.sent;
        if heard > sent {
            return Err(Broken::Unsent { heard, sent });
        }
        let promised = self.promised();
        let open = (sent - heard) as usize;
        while self.reactions.len() > open {
            self.reactions.pop_front();
        }
        // Nothing is driven beyond; and time must not go there because nothing is promised after it.
        let next = if next > HORIZON { Time::MAX } else { next };
        self.promise = Promise { heard, next };
        if self.promised() < promised {
            return Err(Broken::Withdrawn { next, promised });
        }
        Ok(())
    }
}

/// A time later than another one, or the end of all time.
fn later(time: Time, by: Time) -> Time {
    Time::ps(time.as_ps().saturating_add(by.as_ps()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partner(reaction: Reaction) -> Partner {
        Partner::new(Clock { reaction, quantum: 0 }, Time::ns(1), Time::ZERO)
    }

    fn promise(heard: u64, next: u64) -> Promise {
        Promise { heard, next: Time::ns(next) }
    }

    #[test]
    fn what_it_is_sent_shortens_its_promise_until_it_is_heard() {
        let mut partner = partner(Reaction::NextEdge);
        partner.set_promise(promise(0, 50)).unwrap();
        assert_eq!(partner.horizon(), Time::ns(50));
        partner.send(Time::ns(7), false);
        assert_eq!(partner.horizon(), Time::ns(8));
        partner.set_promise(promise(1, 60)).unwrap();
        assert_eq!(partner.horizon(), Time::ns(60));
    }

    #[test]
    fn a_partner_that_reacts_at_once_is_waited_for_at_that_edge() {
        let mut partner = partner(Reaction::SameEdge);
        partner.set_promise(promise(0, 50)).unwrap();
        partner.send(Time::ns(7), false);
        assert_eq!(partner.horizon(), Time::ns(7));
    }

    #[test]
    fn what_a_quantum_delays_is_reacted_to_so_much_later() {
        let mut partner =
            Partner::new(Clock { reaction: Reaction::NextEdge, quantum: 5 }, Time::ns(1), Time::ZERO);
        partner.set_promise(promise(0, 50)).unwrap();
        partner.send(Time::ns(7), false);
        assert_eq!(partner.horizon(), Time::ns(13));
        partner.send(Time::ns(6), true);
        assert_eq!(partner.horizon(), Time::ns(11));
    }

    #[test]
    fn a_promise_beyond_all_times_is_one_for_ever() {
        let mut partner = partner(Reaction::NextEdge);
        partner.set_promise(Promise { heard: 0, next: Time::ps((1 << 62) + 1) }).unwrap();
        assert_eq!(partner.horizon(), Time::MAX);
    }

    #[test]
    fn until_it_drives_a_reset_back_what_it_drives_is_void() {
        let mut partner = partner(Reaction::NextEdge);
        let port = PortId(2);
        let mut drive = |event, asked: u32| {
            *partner.resets.entry(port).or_default() += asked;
            partner.resets.retain(|_, open| *open > 0);
            partner.drive(Time::ns(9), port, event, false).map(|()| (partner.driven, partner.queue.len()))
        };
        assert_eq!(drive(PortEvent::Level(true), 2), Ok((1, 0)));
        assert_eq!(drive(PortEvent::Reset, 0), Ok((2, 0)));
        assert_eq!(drive(PortEvent::Level(true), 0), Ok((3, 0)));
        assert_eq!(drive(PortEvent::Reset, 0), Ok((4, 0)));
        assert_eq!(drive(PortEvent::Level(true), 0), Ok((5, 1)));
        assert_eq!(drive(PortEvent::Reset, 0), Err(Broken::Unasked));
    }

    #[test]
    fn a_reset_voids_what_was_driven_ahead_at_its_port() {
        let mut partner = partner(Reaction::NextEdge);
        partner.is_leader = true;
        let level = |at, port| (Time::ns(at), PortId(port), PortEvent::Level(true));
        for (at, port, event) in [level(8, 0), level(9, 0), level(9, 1), level(12, 0)] {
            partner.drive(at, port, event, false).unwrap();
        }
        partner.drive(Time::ns(9), PortId(0), PortEvent::Reset, false).unwrap();
        let left: Vec<_> = partner.queue.into_iter().collect();
        assert_eq!(left, [level(8, 0), level(9, 1), (Time::ns(9), PortId(0), PortEvent::Reset)]);
    }

    #[test]
    fn no_more_is_driven_ahead_than_can_be_kept() {
        let mut partner = partner(Reaction::NextEdge);
        let mut drive = || partner.drive(Time::ns(9), PortId(0), PortEvent::Level(true), false);
        (0..MOST_AHEAD).for_each(|_| drive().unwrap());
        assert!(drive().unwrap_err().to_string().contains("65536 events ahead"));
    }

    #[test]
    fn promises_are_held_to() {
        let mut partner = partner(Reaction::NextEdge);
        partner.set_promise(promise(0, 50)).unwrap();
        let level = PortEvent::Level(true);
        let early = partner.drive(Time::ns(49), PortId(0), level.clone(), false).unwrap_err();
        assert!(early.to_string().contains("nothing before 50 ns"), "{early}");
        let between = partner.drive(Time::ps(50_500), PortId(0), level, false).unwrap_err();
        assert!(between.to_string().contains("between two clock edges"), "{between}");
        let unsent = partner.set_promise(promise(1, 200)).unwrap_err();
        assert!(unsent.to_string().contains("heard 1 events, and was sent 0"), "{unsent}");
        let beyond = partner.drive(Time::ns(1 << 53), PortId(0), PortEvent::Level(false), false).unwrap_err();
        assert!(beyond.to_string().contains("at most 2^62 ps"), "{beyond}");
        let less = partner.set_promise(promise(0, 49)).unwrap_err();
        assert!(less.to_string().contains("promises nothing before 49 ns"), "{less}");
    }
}
