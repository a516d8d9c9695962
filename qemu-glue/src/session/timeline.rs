//! Relation of the time of a guest and that of a platform where the guest owns both.

use vp_client::native::{Capabilities, Time, TimeMode, Welcome};

/// Picoseconds in what the guest counts.
const NANOSECOND: u64 = 1000;

/// Relation of the guest's time and the platform's.
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

    /// Returns a timeline of this clock in which guest and platform meet anew: they have taken up times that belong together.
    pub(super) fn anew(&self, found: Time) -> Self {
        Self::new(found, self.period)
    }

    /// Checks that a server lets the guest own the platform's time.
    pub(super) fn check(welcome: &Welcome) -> Result<(), String> {
        let needed = Capabilities::SCHEDULED.union(Capabilities::STEPPING);
        match (welcome.time_mode, welcome.capabilities.contains(needed)) {
            (TimeMode::Lockstep, true) => Ok(()),
            (TimeMode::Lockstep, false) => {
                Err("with -icount the guest owns time, which this server knows nothing of".into())
            }
            _ => Err(format!(
                "with -icount the guest owns time, but that of platform {} moves by itself",
                welcome.platform
            )),
        }
    }

    /// The platform's time at a moment of the guest's. None for one before they met.
    pub(super) fn at(&mut self, guest: u64) -> Time {
        let began = *self.began.get_or_insert(guest);
        self.found + Time::ns(guest.saturating_sub(began))
    }

    /// The first clock edge from a moment of the guest's on: when the bus can take an access. The end of time if there is none.
    pub(super) fn edge(&mut self, guest: u64) -> Time {
        Time::ps(self.at(guest).as_ps().checked_next_multiple_of(self.period).unwrap_or(u64::MAX))
    }

    /// The first moment of the guest's that is not before the platform's.
    pub(super) fn guest(&self, time: Time) -> u64 {
        self.began.unwrap_or(0).saturating_add(time.since(self.found).as_ps().div_ceil(NANOSECOND))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_from_where_guest_and_platform_met() {
        let mut timeline = Timeline::new(Time::ps(7_000_000), 1000);
        assert_eq!(timeline.at(500), Time::ps(7_000_000));
        assert_eq!(timeline.at(1500), Time::ps(8_000_000));
        assert_eq!(timeline.guest(Time::ps(8_000_000)), 1500);
        // A guest that was set back finds the platform where it is.
        assert_eq!(timeline.at(100), Time::ps(7_000_000));
    }

    #[test]
    fn accesses_are_made_on_clock_edges_and_the_guest_never_lags_behind_the_platform() {
        let mut timeline = Timeline::new(Time::ZERO, 1600);
        assert_eq!(timeline.at(0), Time::ZERO);
        assert_eq!(timeline.edge(16), Time::ps(16_000));
        assert_eq!(timeline.edge(17), Time::ps(17_600));
        assert_eq!(timeline.guest(Time::ps(17_600)), 18);
        let mut fast = Timeline::new(Time::ZERO, 300);
        assert_eq!(fast.edge(0), Time::ZERO);
        assert_eq!(fast.edge(1), Time::ps(1200));
        assert_eq!(fast.guest(Time::ps(1200)), 2);
    }

    #[test]
    fn a_clock_that_has_no_further_edge_is_no_fault() {
        let mut timeline = Timeline::new(Time::ps(u64::MAX - 1), 1 << 63);
        assert_eq!(timeline.edge(7), Time::ps(u64::MAX));
        assert_eq!(timeline.guest(Time::ps(u64::MAX)), 8);
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
            time: Time::ZERO,
            platform: "p".into(),
            session: vp_client::native::SessionId(0),
            ports: Vec::new(),
            device: None,
        };
        let refused = |mode, capabilities| Timeline::check(&welcome(mode, capabilities)).unwrap_err();
        assert!(Timeline::check(&welcome(TimeMode::Lockstep, Capabilities::ALL)).is_ok());
        assert!(refused(TimeMode::Free, Capabilities::ALL).contains("platform p moves by itself"));
        assert!(refused(TimeMode::Lockstep, Capabilities::SCHEDULED).contains("knows nothing of"));
    }
}
