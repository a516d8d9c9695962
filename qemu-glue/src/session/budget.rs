//! Time for which a server may hold up all of QEMU.
//!
//! A reset, and a Step of the guest's time, are waited for with QEMU's big lock, so the monitor, the display and all other
//! devices wait too. One such wait takes no longer than the session's time-out. A server that answers each of them just in time
//! would still leave QEMU no time at all, so late answers have a budget: one time-out together, and again as much as QEMU has
//! had to itself since. Answers within a part of the time-out are not late, however many they are.

use std::time::{Duration, Instant};

/// An answer that takes a greater part of the time-out than one in so many is late.
const PROMPT: u32 = 20;

/// The time that late answers may take while QEMU waits with its big lock.
#[derive(Debug)]
pub(super) struct WaitBudget {
    timeout: Duration,
    /// Time that late answers have taken, less the time that QEMU has had to itself since.
    spent: Duration,
    /// Time at which the last wait was over.
    ended: Option<Instant>,
}

impl WaitBudget {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout, spent: Duration::ZERO, ended: None }
    }

    fn prompt(&self) -> Duration {
        self.timeout / PROMPT
    }

    /// A wait begins. How long it may take.
    pub(super) fn begin(&mut self, now: Instant) -> Duration {
        let idle = self.ended.map_or(Duration::ZERO, |ended| now.saturating_duration_since(ended));
        self.spent = self.spent.saturating_sub(idle);
        self.ended = Some(now);
        self.timeout.saturating_sub(self.spent).max(self.prompt())
    }

    /// The wait that began then is over.
    pub(super) fn end(&mut self, began: Instant, now: Instant) {
        let waited = now.saturating_duration_since(began);
        if waited > self.prompt() {
            self.spent = self.timeout.min(self.spent + waited);
        }
        self.ended = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    /// Waits for an answer that takes so long. How long it might have taken.
    fn wait(budget: &mut WaitBudget, now: &mut Instant, takes: Duration) -> Duration {
        let began = *now;
        let limit = budget.begin(began);
        *now += takes.min(limit);
        budget.end(began, *now);
        limit
    }

    #[test]
    fn answers_that_are_not_late_cost_nothing_however_many_they_are() {
        let (mut budget, mut now) = (WaitBudget::new(TIMEOUT), Instant::now());
        for _ in 0..1000 {
            assert_eq!(wait(&mut budget, &mut now, TIMEOUT / PROMPT), TIMEOUT);
        }
    }

    #[test]
    fn late_answers_take_one_timeout_together_and_then_half_of_the_time() {
        let (mut budget, mut now) = (WaitBudget::new(TIMEOUT), Instant::now());
        let seconds = Duration::from_secs;
        assert_eq!(wait(&mut budget, &mut now, seconds(19)), seconds(20));
        // What is left, but an answer that is not late is always waited for.
        assert_eq!(wait(&mut budget, &mut now, seconds(19)), seconds(1));
        now += seconds(7);
        assert_eq!(wait(&mut budget, &mut now, seconds(8)), seconds(8));
        now += seconds(3);
        assert_eq!(wait(&mut budget, &mut now, seconds(0)), seconds(3));
        now += seconds(100);
        assert_eq!(wait(&mut budget, &mut now, seconds(0)), seconds(20));
    }
}
