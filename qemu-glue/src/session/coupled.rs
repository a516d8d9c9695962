//! A guest whose time is the platform's: accesses at moments of the guest's clock.
//!
//! The platform is in lockstep and never ahead of the guest, but for what an access under way takes: each is made at its
//! moment, then the platform does what is left of the present and says when it next has something to do. There the guest
//! has to come back ([`Session::step`]). So memory is read and written at its time, and interrupts come at theirs. The guest
//! counts nanoseconds, from the moment of its first call on.
//!
//! What a server says of time is checked: the guest's moves by no more than the session's time-out in one access, and the
//! platform has something to do next at a moment that is still to come.

use std::time::Duration;

use vp_client::native::{Posted, RegisterRead, RegisterWrite, Reply, Request, Time};
use vp_client::{Answer, limit_in_words};

use super::timeline::Timeline;
use super::wire::{Broken, Wire};
use super::{AccessError, Link, Session};

/// Time for which a Step waits for an access to end. The thread that listens has the session for less.
const FOR_AN_ACCESS: Duration = Duration::from_millis(200);

/// Result of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timed {
    /// The register's value; that of a write is 0.
    pub(crate) value: u32,
    /// The guest's time when it is over.
    pub(crate) done: u64,
    /// The guest's time at which the platform has to be stepped, unless something else comes before.
    pub(crate) next: Option<u64>,
}

impl Session {
    /// Reads a register at a moment of the guest's time.
    ///
    /// # Errors
    /// [`AccessError`].
    pub(crate) fn read_at(&self, offset: u64, now: u64) -> Result<Timed, AccessError> {
        let (read, step, timeline) = self.exchange(|wire| {
            let at = Some(wire.timeline()?.edge(now));
            let read =
                wire.queue(Request::RegisterRead(RegisterRead { at, ..wire.register_read(offset) }))?;
            // The answer's time is not known yet: what is left of that moment is meant.
            let step = wire.request(Request::Step { to: Time::ZERO })?;
            let read = wire.answer(read, self.shared.timeout)?;
            let step = wire.answer(step, self.shared.timeout)?;
            let timeline = *wire.timeline()?;
            self.check_duration(now, timeline.guest(read.time))?;
            Ok((read, step, timeline))
        })?;
        match read.reply {
            Reply::Value { value } => timed(&timeline, value, read.time, &step),
            _ => Err(AccessError),
        }
    }

    /// Writes a register at a moment of the guest's time. Writes are posted: the guest does not wait for their effect.
    ///
    /// # Errors
    /// [`AccessError`].
    pub(crate) fn write_at(&self, offset: u64, value: u32, now: u64) -> Result<Timed, AccessError> {
        let (edge, step, timeline) = self.exchange(|wire| {
            let edge = wire.timeline()?.edge(now);
            self.check_duration(now, wire.timeline()?.guest(edge))?;
            let write = RegisterWrite { at: Some(edge), ..wire.register_write(offset, value) };
            wire.queue_posted(Posted::RegisterWrite(write))?;
            let step = wire.request(Request::Step { to: edge })?;
            Ok((edge, wire.answer(step, self.shared.timeout)?, *wire.timeline()?))
        })?;
        timed(&timeline, 0, edge, &step)
    }

    /// Lets the platform do all that is due until a moment of the guest's time. Gives the next one, which is later. A server that is gone is
    /// not looked for: that is for the guest's own accesses, which have to learn first that the device is another.
    ///
    /// With QEMU's big lock, for which an access that has the session may wait, to reach memory behind an IOMMU. So one that goes on for
    /// long is not waited for: it steps the platform to its own moment, which is no earlier, and says afterwards when the next one is.
    ///
    /// # Errors
    /// [`AccessError`].
    pub(crate) fn step(&self, now: u64) -> Result<Option<u64>, AccessError> {
        let stepped = self.holding_up(|limit| {
            self.make_room();
            let Some(state) = self.shared.state.try_lock_for(limit.min(FOR_AN_ACCESS)) else {
                return Ok(None);
            };
            if matches!(state.link, Link::Down { .. }) {
                return Err(AccessError);
            }
            self.exchange_in(state, limit, |wire| {
                let to = wire.timeline()?.at(now);
                let step = wire.request(Request::Step { to })?;
                Ok(Some((wire.answer(step, limit)?, *wire.timeline()?)))
            })
        })?;
        let next = match stepped {
            Some((step, timeline)) => timed(&timeline, 0, step.time, &step)?.next,
            None => Some(now),
        };
        // QEMU runs the timers of one moment in a loop (timerlist_run_timers of util/qemu-timer.c): it would never leave the loop
        // for a server that has something to do now, again and again.
        Ok(next.map(|next| next.max(now.saturating_add(1))))
    }

    /// An access may take as long of the guest's time as of the host's. After a long jump QEMU's periodic timers catch up, period
    /// by period, with the big lock.
    fn check_duration(&self, now: u64, done: u64) -> Result<(), Broken> {
        let took = Duration::from_nanos(done.saturating_sub(now));
        match took > self.shared.timeout {
            true => Err(Broken(format!("an access takes {} of the guest's time", limit_in_words(took)))),
            false => Ok(()),
        }
    }
}

/// Returns the result of an access that was over at a moment of the platform's, and the step behind it.
fn timed(timeline: &Timeline, value: u32, over: Time, step: &Answer) -> Result<Timed, AccessError> {
    let Reply::Stepped { next } = step.reply else { return Err(AccessError) };
    Ok(Timed { value, done: timeline.guest(over), next: next.map(|next| timeline.guest(next)) })
}

impl Wire {
    fn timeline(&mut self) -> Result<&mut Timeline, Broken> {
        self.timeline.as_mut().ok_or_else(|| Broken("a moment in a session that has none".into()))
    }
}
