//! Read data on its way from the egress into an engine that may not take it at once.
//!
//! A client with a latency-hiding FIFO requests no more than it has room for, so its data never waits. Other clients request all that they
//! need. Between the egress and such an engine there are a few [`IntakeStage`]s. When these are full data waits in the egress, and then on the
//! bus, with everything behind it. All data of a client is in order, so the path of a beat is known as soon as the beats before it are known.
//! So nothing waits in this code: it only computes times.

use super::realigner::Realigner;
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::rc::Rc;
use vp_core::Time;

/// A stage between egress and engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntakeStage {
    /// Holds so many beats; room that a beat leaves can be used a cycle later. A register with a second one in front that catches a beat whenever the
    /// first cannot move (RTL, `skid_catch`) is one of two.
    Fifo(usize),
    /// Holds so many beats as [`Fifo`](IntakeStage::Fifo) does; one that finds none before it passes at once.
    BypassFifo(usize),
    /// Holds one beat, and takes the next in the cycle in which that one leaves.
    Register,
    /// A register with a second one (a skid register) in front, which catches a beat that comes when the first
    /// cannot move. After a cycle in which the first could not move, it takes nothing, also if it has caught none (RTL,
    /// `vmod/plugins/pipe.pm` with input skid).
    Skid,
}

/// An engine that takes beats.
pub trait BeatConsumer {
    /// Returns the time at which the stage takes a beat that is offered at `offered`. Called once for each beat, in order.
    fn take(&self, offered: Time) -> Time;
}

impl IntakeStage {
    /// Returns the number of beats that were last in it on which the next one depends.
    fn kept(self) -> usize {
        match self {
            IntakeStage::Fifo(room) | IntakeStage::BypassFifo(room) => room,
            IntakeStage::Register => 1,
            IntakeStage::Skid => 3,
        }
    }
}

/// A place and the beats that were last in it: since when their successors could see them, and when they left.
struct Stage {
    place: IntakeStage,
    /// Ring of the beats that are kept.
    last: Vec<(Time, Time)>,
    /// Place in the ring of the oldest one, and of the newest.
    oldest: usize,
    newest: usize,
}

impl Stage {
    fn new(place: IntakeStage) -> Stage {
        Stage { place, last: Vec::with_capacity(place.kept()), oldest: 0, newest: 0 }
    }

    /// Returns the time at which the last of so many beats gets in that are offered at `offered`; a place for one takes them as it takes one.
    #[inline]
    fn accepts(&self, offered: Time, beats: usize, cycle: Time) -> Time {
        match self.place {
            IntakeStage::Fifo(room) | IntakeStage::BypassFifo(room) => {
                let kept = self.last.len();
                match (kept + beats).checked_sub(room + 1) {
                    None => offered,
                    Some(leaving) => offered.max(self.last[(self.oldest + leaving) % kept].1 + cycle),
                }
            }
            IntakeStage::Register => offered.max(self.last_left()),
            IntakeStage::Skid => {
                let (newer, older) = self.last.split_at(self.oldest);
                older.iter().chain(newer).fold(offered, |at, &(seen, left)| {
                    if at > seen && at <= left { left + cycle } else { at }
                })
            }
        }
    }

    /// Returns the time at which the last beat left; [`Time::ZERO`] if there was none.
    #[inline]
    fn last_left(&self) -> Time {
        self.last.get(self.newest).map_or(Time::ZERO, |&(_, left)| left)
    }

    /// Returns the time at which the next stage sees a beat that gets in at `accepted`.
    #[inline]
    fn visible_at(&self, accepted: Time, cycle: Time) -> Time {
        match self.place {
            IntakeStage::BypassFifo(_) => accepted.max(self.last_left() + cycle),
            _ => accepted.max(self.last_left()) + cycle,
        }
    }

    #[inline]
    fn record_departure(&mut self, seen: Time, left: Time) {
        if self.last.len() < self.place.kept() {
            self.newest = self.last.len();
            return self.last.push((seen, left));
        }
        self.newest = self.oldest;
        self.last[self.newest] = (seen, left);
        self.oldest = if self.newest + 1 == self.last.len() { 0 } else { self.newest + 1 };
    }

    fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Stage { place, last, oldest, newest: _ } = self;
        last.rotate_left(*oldest);
        at.value(last)?;
        at.check(last.len() <= place.kept(), "more beats than are kept")?;
        (self.oldest, self.newest) = (0, self.last.len().saturating_sub(1));
        Ok(())
    }
}

/// The places of one client, and the consumer of the last one.
pub(super) struct Intake {
    cycle: Time,
    /// Beats of the client, if these are not those of the bus.
    realigner: Option<Realigner>,
    stages: Vec<Stage>,
    taker: Option<Rc<dyn BeatConsumer>>,
    /// The times at which each beat can be seen at each place: kept to reuse the allocation.
    seen: Vec<(Time, Time)>,
}

impl Intake {
    pub(super) fn new(cycle: Time, realigner: Option<Realigner>, places: &[IntakeStage]) -> Intake {
        let stages = places.iter().copied().map(Stage::new).collect();
        Intake { cycle, realigner, stages, taker: None, seen: Vec::with_capacity(places.len()) }
    }

    pub(super) fn set_taker(&mut self, taker: Option<Rc<dyn BeatConsumer>>) {
        self.taker = taker;
    }

    /// Returns true if a beat may have to wait at all, or is observed.
    pub(super) fn delays(&self) -> bool {
        !self.stages.is_empty() || self.taker.is_some()
    }

    /// Returns the time from which on a beat is taken that is offered at `offered`.
    #[inline]
    pub(super) fn takes_at(&self, offered: Time) -> Time {
        let beats = self.realigner.as_ref().map_or(1, Realigner::places);
        self.stages.first().map_or(offered, |front| front.accepts(offered, beats, self.cycle))
    }

    /// Begins a request of so many bytes.
    pub(super) fn begin_request(&mut self, bytes: u32) {
        if let Some(realigner) = &mut self.realigner {
            realigner.request(bytes);
        }
    }

    /// Takes a beat of so many bytes at `handed`, which was on the bus at `due`. Without places the consumer is told that.
    pub(super) fn take(&mut self, handed: Time, due: Time, bytes: u32) {
        let beats = self.realigner.as_mut().map_or(1, |realigner| realigner.take_beats(bytes));
        (0..beats).for_each(|_| self.pass(handed, due));
    }

    fn pass(&mut self, handed: Time, due: Time) {
        self.seen.clear();
        let mut at = if self.stages.is_empty() { due } else { handed };
        for stage in &self.stages {
            let accepted = stage.accepts(at, 1, self.cycle);
            at = stage.visible_at(accepted, self.cycle);
            self.seen.push((accepted, at));
        }
        let mut left = self.taker.as_ref().map_or(at, |taker| taker.take(at));
        for (stage, &(accepted, seen)) in self.stages.iter_mut().zip(&self.seen).rev() {
            stage.record_departure(seen, left);
            left = accepted;
        }
    }
}

impl Intake {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Intake { cycle: _, realigner, stages, taker, seen: _ } = self;
        at.at_rest(taker.is_none(), "a layer takes its input")?;
        if let Some(realigner) = realigner {
            realigner.checkpoint(at)?;
        }
        stages.iter_mut().try_for_each(|stage| stage.checkpoint(at))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::cell::Cell;

    /// Takes a beat every so many cycles, of a nanosecond.
    pub(in crate::bus::axi) struct Slow {
        pub(in crate::bus::axi) pause: u64,
        pub(in crate::bus::axi) free: Cell<Time>,
    }

    impl BeatConsumer for Slow {
        fn take(&self, offered: Time) -> Time {
            let at = offered.max(self.free.get());
            self.free.set(at + Time::ns(self.pause));
            at
        }
    }

    /// Returns the times at which beats that are all there at once are taken from the bus.
    fn taken(places: &[IntakeStage], pause: u64, beats: usize) -> Vec<u64> {
        let mut intake = Intake::new(Time::ns(1), None, places);
        intake.set_taker(Some(Rc::new(Slow { pause, free: Cell::new(Time::ZERO) })));
        let mut at = Time::ZERO;
        (0..beats)
            .map(|_| {
                let taken = intake.takes_at(at);
                intake.take(taken, taken, 8);
                at = taken + Time::ns(1);
                taken.cycles(Time::ns(1))
            })
            .collect()
    }

    #[test]
    fn an_engine_that_keeps_pace_never_holds_the_bus() {
        let places = [IntakeStage::Fifo(4), IntakeStage::Register, IntakeStage::Skid, IntakeStage::Skid];
        assert_eq!(taken(&places, 1, 8), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_slower_engine_holds_the_bus_when_the_places_are_full() {
        assert_eq!(taken(&[IntakeStage::Fifo(2)], 3, 6), [0, 1, 2, 5, 8, 11]);
        assert_eq!(taken(&[IntakeStage::Register], 3, 4), [0, 1, 4, 7]);
        assert_eq!(taken(&[IntakeStage::Skid], 3, 5), [0, 1, 2, 5, 8]);
    }

    #[test]
    fn a_skid_takes_nothing_in_the_cycle_after_it_was_held() {
        let mut skid = Intake::new(Time::ns(1), None, &[IntakeStage::Skid]);
        let slow = Slow { pause: 0, free: Cell::new(Time::ns(3)) };
        skid.set_taker(Some(Rc::new(slow)));
        // Seen from 1 on, taken at 3: held in 1 and 2.
        assert_eq!(skid.takes_at(Time::ns(0)), Time::ns(0));
        skid.take(Time::ns(0), Time::ns(0), 8);
        assert_eq!(skid.takes_at(Time::ns(2)), Time::ns(4));
    }

    #[test]
    fn two_registers_of_which_one_catches_take_a_beat_whenever_it_comes() {
        let mut catching = Intake::new(Time::ns(1), None, &[IntakeStage::Fifo(2)]);
        catching.set_taker(Some(Rc::new(Slow { pause: 0, free: Cell::new(Time::ns(5)) })));
        // Seen from 1 on, taken at 5.
        catching.take(Time::ns(0), Time::ns(0), 8);
        assert_eq!(catching.takes_at(Time::ns(3)), Time::ns(3));
        catching.take(Time::ns(3), Time::ns(3), 8);
        assert_eq!(catching.takes_at(Time::ns(4)), Time::ns(6));
    }
}
