//! Refreshes of a rank: their number, and their order.

use super::checker::Placed;
use super::sheet::{RefreshSet, Sheet};
use std::collections::VecDeque;
use vp_models::memory::dram::CommandKind;

/// Refreshes of a rank since it was last in self refresh.
#[derive(Debug, Clone)]
pub(super) struct RankRefresh {
    /// Clock from which on refreshes are owed.
    since: u64,
    /// Clock of the last one.
    last: u64,
    /// Number of those given that count, in REFpb: one of all banks is a round of them.
    given: u64,
    /// Banks that this round has had. After self refresh it may be the old round or a new one.
    rounds: Vec<u64>,
    /// Clocks of the last refreshes of all banks.
    recent: VecDeque<u64>,
    /// True once it was in self refresh.
    has_slept: bool,
}

impl RankRefresh {
    pub(super) fn new() -> RankRefresh {
        RankRefresh {
            since: 0,
            last: 0,
            given: 0,
            rounds: vec![0],
            recent: VecDeque::new(),
            has_slept: false,
        }
    }

    /// Returns words if a refresh should have been given long before that clock.
    pub(super) fn late(&mut self, sheet: &Sheet, clock: u64) -> Option<String> {
        let rule = sheet.refresh;
        let ps = |clocks: u64| clocks * sheet.clock.tck;
        let most = (rule.postponed + 1) * rule.interval;
        if ps(clock - self.last) > most {
            let (apart, most) = (clock - self.last, most / sheet.clock.tck);
            return Some(format!("{apart} clocks without a refresh since {}: {most} at most", self.last));
        }
        // Of `n` that were due since, at most so many have not been given.
        let owed = ps(clock - self.since) / (rule.interval / rule.round);
        (owed > self.given + (rule.postponed + 1) * rule.round).then(|| {
            let (given, since, postponed) = (self.given, self.since, rule.postponed);
            format!("{given} refreshes since {since} where {owed} were due, and {postponed} intervals may be postponed")
        })
    }

    pub(super) fn take(&mut self, sheet: &Sheet, now: &Placed, wrong: &mut Vec<(&'static str, String)>) {
        let rule = sheet.refresh;
        match now.kind {
            CommandKind::Refresh => {
                self.give(sheet, now.clock, rule.round, wrong);
                // It starts a new round (JESD209-4, "Refresh command").
                self.rounds = vec![0];
                self.recent.push_back(now.clock);
                while self
                    .recent
                    .front()
                    .is_some_and(|&old| (now.clock - old) * sheet.clock.tck >= 2 * rule.interval)
                {
                    self.recent.pop_front();
                }
                if rule.within_two.is_some_and(|most| self.recent.len() as u64 > most) {
                    let words = format!("{} refreshes within two intervals", self.recent.len());
                    wrong.push(("refreshes in two intervals", words));
                }
            }
            CommandKind::RefreshBank => {
                self.give(sheet, now.clock, 1, wrong);
                let number = match rule.set {
                    RefreshSet::One => now.bank,
                    RefreshSet::Pair(apart) => now.bank % apart,
                    RefreshSet::OfEachGroup => now.bank % sheet.banks,
                };
                self.rounds.retain(|round| round >> number & 1 == 0);
                if self.rounds.is_empty() {
                    wrong.push(("round of refreshes", format!("bank {number} was refreshed in this round")));
                    self.rounds.push(0);
                }
                for round in &mut self.rounds {
                    *round |= 1 << number;
                    if u64::from(round.count_ones()) == rule.round {
                        *round = 0;
                    }
                }
                self.rounds.dedup();
            }
            CommandKind::SelfRefreshEntry => {
                if let Some(words) = self.late(sheet, now.clock) {
                    wrong.push(("refresh interval", words));
                }
                if self.has_slept && self.given < rule.round {
                    let words = format!("{} of {} REFpb since self refresh was left", self.given, rule.round);
                    let words =
                        if rule.round == 1 { "no refresh since self refresh was left".into() } else { words };
                    wrong.push(("a refresh between two self refreshes", words));
                }
            }
            CommandKind::SelfRefreshExit => {
                // What was owed before is counted no more: the device has refreshed itself.
                (self.since, self.last, self.given, self.has_slept) = (now.clock, now.clock, 0, true);
                self.rounds.push(0);
                self.recent.clear();
            }
            _ => {}
        }
    }

    fn give(&mut self, sheet: &Sheet, clock: u64, parts: u64, wrong: &mut Vec<(&'static str, String)>) {
        if let Some(words) = self.late(sheet, clock) {
            wrong.push(("refresh interval", words));
        }
        // No more than those may be given ahead; others do not make later ones needless.
        let rule = sheet.refresh;
        let due = (clock - self.since) * sheet.clock.tck / (rule.interval / rule.round);
        self.given = (self.given + parts).min(due + rule.postponed * rule.round);
        self.last = clock;
    }
}
