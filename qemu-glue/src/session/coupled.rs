//! A guest whose time is the platform's: accesses at moments of the guest's clock.
//!
//! The platform is in lockstep and never ahead of the guest, but for what an access under way takes: each is made at its
//! moment, then the platform does what is left of the present and says when it next has something to do. There the guest
//! has to come back ([`Session::step`]). So memory is read and written at its time, and interrupts come at theirs. The guest
//! counts nanoseconds, from the moment of its first call on.

use vp_client::Answer;
use vp_client::native::{
    Capabilities, Posted, RegisterRead, RegisterWrite, Reply, Request, Time, TimeMode, Welcome,
};

use super::wire::{Broken, Wire};
use super::{AccessError, Session};

/// Picoseconds in what the guest counts.
const NANOSECOND: u64 = 1000;

/// What an access came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timed {
    /// The register's value; that of a write is 0.
    pub(crate) value: u32,
    /// The guest's time when it is over.
    pub(crate) done: u64,
    /// The guest's time at which the platform has to be stepped, unless something else comes before.
    pub(crate) next: Option<u64>,
}

/// How the guest's time and the platform's belong together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeline {
    /// The platform's time when they met.
    found: Time,
    /// The guest's time then, once it has said it.
    began: Option<u64>,
    /// Picoseconds in a cycle of the platform's clock.
    period: u64,
}

impl Timeline {
    pub(super) fn new(found: Time, period: u64) -> Self {
        Self { found, began: None, period: period.max(1) }
    }

    /// Whether a server lets the guest own the platform's time.
    pub(super) fn check(welcome: &Welcome) -> Result<(), Broken> {
        let needed = Capabilities::SCHEDULED.union(Capabilities::STEPPING);
        match (welcome.time_mode, welcome.capabilities.contains(needed)) {
            (TimeMode::Lockstep, true) => Ok(()),
            (TimeMode::Lockstep, false) => {
                Err(Broken("with -icount the guest owns time, which this server knows nothing of".into()))
            }
            _ => Err(Broken(format!(
                "with -icount the guest owns time, but that of platform {} moves by itself",
                welcome.platform
            ))),
        }
    }

    /// The platform's time at a moment of the guest's. None for one before they met.
    fn at(&mut self, guest: u64) -> Time {
        let began = *self.began.get_or_insert(guest);
        Time(self.found.0.saturating_add(guest.saturating_sub(began).saturating_mul(NANOSECOND)))
    }

    /// The first clock edge from a moment of the guest's on: when the bus can take an access.
    fn edge(&mut self, guest: u64) -> Time {
        Time(self.at(guest).0.next_multiple_of(self.period))
    }

    /// The first moment of the guest's that is not before the platform's.
    fn guest(&self, time: Time) -> u64 {
        self.began.unwrap_or(0).saturating_add(time.0.saturating_sub(self.found.0).div_ceil(NANOSECOND))
    }

    /// What an access has come to that was over at a moment of the platform's, and the step behind it.
    fn timed(&self, value: u32, over: Time, step: &Answer) -> Result<Timed, AccessError> {
        let Reply::Stepped { next } = step.reply else { return Err(AccessError) };
        Ok(Timed { value, done: self.guest(over), next: next.map(|next| self.guest(next)) })
    }
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
            let step = wire.request(Request::Step { to: Time(0) })?;
            let read = wire.answer(read, self.desk.timeout)?;
            Ok((read, wire.answer(step, self.desk.timeout)?, *wire.timeline()?))
        })?;
        match read.reply {
            Reply::Value { value } => timeline.timed(value, read.time, &step),
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
            let write = RegisterWrite { at: Some(edge), ..wire.register_write(offset, value) };
            wire.queue_posted(Posted::RegisterWrite(write))?;
            let step = wire.request(Request::Step { to: edge })?;
            Ok((edge, wire.answer(step, self.desk.timeout)?, *wire.timeline()?))
        })?;
        timeline.timed(0, edge, &step)
    }

    /// Lets the platform do all that is due until a moment of the guest's time. Gives the next one. A server that is gone is
    /// not looked for: that is for the guest's own accesses, which have to learn first that the device is another.
    ///
    /// # Errors
    /// [`AccessError`].
    pub(crate) fn step(&self, now: u64) -> Result<Option<u64>, AccessError> {
        if !self.is_up() {
            return Err(AccessError);
        }
        let (step, timeline) = self.exchange(|wire| {
            let to = wire.timeline()?.at(now);
            let step = wire.request(Request::Step { to })?;
            Ok((wire.answer(step, self.desk.timeout)?, *wire.timeline()?))
        })?;
        timeline.timed(0, step.time, &step).map(|timed| timed.next)
    }
}

impl Wire {
    fn timeline(&mut self) -> Result<&mut Timeline, Broken> {
        self.timeline.as_mut().ok_or_else(|| Broken("a moment in a session that has none".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_from_where_guest_and_platform_met() {
        let mut timeline = Timeline::new(Time(7_000_000), 1000);
        assert_eq!(timeline.at(500), Time(7_000_000));
        assert_eq!(timeline.at(1500), Time(8_000_000));
        assert_eq!(timeline.guest(Time(8_000_000)), 1500);
        // A guest that was set back finds the platform where it is.
        assert_eq!(timeline.at(100), Time(7_000_000));
    }

    #[test]
    fn accesses_are_made_on_clock_edges_and_the_guest_never_lags_behind_the_platform() {
        let mut timeline = Timeline::new(Time(0), 1600);
        assert_eq!(timeline.at(0), Time(0));
        assert_eq!(timeline.edge(16), Time(16_000));
        assert_eq!(timeline.edge(17), Time(17_600));
        assert_eq!(timeline.guest(Time(17_600)), 18);
        let mut fast = Timeline::new(Time(0), 300);
        assert_eq!(fast.edge(0), Time(0));
        assert_eq!(fast.edge(1), Time(1200));
        assert_eq!(fast.guest(Time(1200)), 2);
    }

    #[test]
    fn a_server_must_let_the_guest_own_time_and_step() {
        let welcome = |time_mode, capabilities| Welcome {
            version: 1,
            agent: String::new(),
            capabilities,
            max_payload: 8192,
            max_in_flight: 1,
            time_mode,
            time_resolution: 1,
            time: Time(0),
            platform: "p".into(),
            session: vp_client::native::SessionId(0),
            ports: Vec::new(),
            device: None,
        };
        let refused = |mode, capabilities| Timeline::check(&welcome(mode, capabilities)).unwrap_err().0;
        assert!(Timeline::check(&welcome(TimeMode::Lockstep, Capabilities::ALL)).is_ok());
        assert!(refused(TimeMode::Free, Capabilities::ALL).contains("platform p moves by itself"));
        assert!(refused(TimeMode::Lockstep, Capabilities::SCHEDULED).contains("knows nothing of"));
    }
}
