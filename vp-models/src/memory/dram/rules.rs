//! Rules of a DRAM's timing: the clocks that one command holds back another, by where both are.

use super::organisation::Organisation;
use super::timing::Timing;
use strum::VariantArray;

/// Kind of command for which there is an earliest clock of its own. Commands with auto-precharge have that of the same command without;
/// PREA has the latest PRE of its banks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub(super) enum Held {
    Activate,
    Read,
    /// A read with auto-precharge, beside what holds back reads.
    ReadPrecharge,
    Write,
    Precharge,
    Refresh,
    RefreshBank,
    PowerDownEntry,
    PowerDownExit,
    SelfRefreshEntry,
    SelfRefreshExit,
}

impl Held {
    pub(super) const COUNT: usize = 11;

    const ALL: [Held; Held::COUNT] = *Self::VARIANTS.first_chunk().unwrap();
}

/// Part of a channel in which a command holds back others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The command's bank.
    Bank,
    /// The command's group of banks.
    Group,
    /// The command's rank or pseudo channel.
    Unit,
    /// The other ranks of the channel.
    OtherRanks,
}

/// A rule: behind the command whose list it is in, the next `held` in `scope` comes `clocks` later at the earliest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) scope: Scope,
    pub(super) held: Held,
    pub(super) clocks: u64,
}

/// Command behind which rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    Activate,
    Read,
    Write,
    Precharge,
    PrechargeAll,
    Refresh,
    RefreshBank,
    PowerDownEntry,
    PowerDownExit,
    SelfRefreshEntry,
    SelfRefreshExit,
}

/// All rules of a channel, by the command given.
#[derive(Debug)]
pub(super) struct Rules([Vec<Rule>; 11]);

impl Rules {
    /// The rules that a timing makes.
    pub(super) fn new(timing: &Timing, organisation: &Organisation) -> Rules {
        use Given as G;
        use Held as H;
        use Scope::{Bank, Group, OtherRanks, Unit};
        let t = timing;
        // Data of a write end so long behind its command.
        let written = t.CWL + t.tDQSS + t.tBURST;
        let read = t.CL + t.tDQSCK + t.tBURST;
        // Data of two ranks are apart by tRTRS on the one bus.
        let ranks_read_write = (read + t.tRTRS).saturating_sub(t.CWL + t.tDQSS);
        let ranks_write_read = (written + t.tRTRS).saturating_sub(t.CL + t.tDQSCK);
        let mut rules = Rules(Default::default());
        let edge = |clocks: u64| clocks - 1;
        let given_edge = |given: G| match given {
            G::Activate => edge(t.nACT),
            G::Read | G::Write => edge(t.nCAS),
            G::Precharge | G::PrechargeAll => edge(t.nPRE),
            G::Refresh | G::RefreshBank | G::SelfRefreshEntry | G::SelfRefreshExit => edge(t.nREF),
            G::PowerDownEntry | G::PowerDownExit => 0,
        };
        let held_edge = |held: H| match held {
            H::Activate => edge(t.nACT),
            H::Read | H::ReadPrecharge | H::Write => edge(t.nCAS),
            H::Precharge => edge(t.nPRE),
            H::Refresh | H::RefreshBank | H::SelfRefreshEntry | H::SelfRefreshExit => edge(t.nREF),
            H::PowerDownEntry | H::PowerDownExit => 0,
        };
        let mut rule = |given: G, scope: Scope, held: H, clocks: u64| {
            // From first clock to first clock: the figures are from last to last.
            let clocks = (clocks + given_edge(given)).saturating_sub(held_edge(held));
            rules.0[given as usize].push(Rule { scope, held, clocks });
        };

        rule(G::Activate, Bank, H::Activate, t.tRC);
        rule(G::Activate, Bank, H::Read, t.tRCD);
        rule(G::Activate, Bank, H::Write, t.tRCDWR);
        rule(G::Activate, Bank, H::Precharge, t.tRAS);
        rule(G::Activate, Group, H::Activate, t.tRRD_L);
        rule(G::Activate, Unit, H::Activate, t.tRRD_S);
        rule(G::Activate, Unit, H::RefreshBank, t.tRRD_L);
        rule(G::Activate, Unit, H::PowerDownEntry, t.tCMDCKE);

        rule(G::Read, Group, H::Read, t.tCCD_L);
        rule(G::Read, Unit, H::Read, t.tCCD_S);
        rule(G::Read, OtherRanks, H::Read, t.tBURST + t.tRTRS);
        rule(G::Read, Group, H::Write, t.tRTW_L);
        rule(G::Read, Unit, H::Write, t.tRTW);
        rule(G::Read, OtherRanks, H::Write, ranks_read_write);
        rule(G::Read, Bank, H::Precharge, t.tRTP);
        rule(G::Read, Unit, H::PowerDownEntry, read + 1);

        rule(G::Write, Group, H::Write, t.tCCD_L_WR);
        rule(G::Write, Unit, H::Write, t.tCCD_S);
        rule(G::Write, OtherRanks, H::Write, t.tBURST + t.tRTRS);
        rule(G::Write, Group, H::Read, written + t.tWTR_L);
        rule(G::Write, Unit, H::Read, written + t.tWTR_S);
        rule(G::Write, OtherRanks, H::Read, ranks_write_read);
        rule(G::Write, Bank, H::Precharge, written + t.tWR);
        // So that the row does not close before the write's recovery (JESD79-5, tCCD_WTRA).
        rule(G::Write, Bank, H::ReadPrecharge, (written + t.tWR).saturating_sub(t.tRTP));
        rule(G::Write, Unit, H::PowerDownEntry, written + t.tWR);

        rule(G::Precharge, Bank, H::Activate, t.tRP);
        rule(G::Precharge, Bank, H::RefreshBank, t.tRP);
        rule(G::Precharge, Unit, H::Precharge, t.tPPD);
        for held in [H::Refresh, H::SelfRefreshEntry] {
            rule(G::Precharge, Unit, held, t.tRP);
            rule(G::PrechargeAll, Unit, held, t.tRPab);
        }
        rule(G::Precharge, Unit, H::PowerDownEntry, t.tCMDCKE);
        rule(G::PrechargeAll, Unit, H::Activate, t.tRPab);
        rule(G::PrechargeAll, Unit, H::RefreshBank, t.tRPab);
        rule(G::PrechargeAll, Unit, H::Precharge, t.tPPD);
        rule(G::PrechargeAll, Unit, H::PowerDownEntry, t.tCMDCKE);

        for held in [H::Activate, H::Refresh, H::RefreshBank, H::SelfRefreshEntry] {
            rule(G::Refresh, Unit, held, t.tRFC);
        }
        rule(G::Refresh, Unit, H::PowerDownEntry, t.tCMDCKE);
        rule(G::RefreshBank, Bank, H::Activate, t.tRFCpb);
        rule(G::RefreshBank, Unit, H::Activate, t.tpbR2act);
        rule(G::RefreshBank, Bank, H::RefreshBank, t.tRFCpb);
        rule(G::RefreshBank, Unit, H::RefreshBank, t.tpbR2pbR);
        for held in [H::Refresh, H::SelfRefreshEntry] {
            rule(G::RefreshBank, Unit, held, t.tRFCpb);
        }
        rule(G::RefreshBank, Unit, H::PowerDownEntry, t.tCMDCKE);

        rule(G::PowerDownEntry, Unit, H::PowerDownExit, t.tCKE);
        rule(G::SelfRefreshEntry, Unit, H::SelfRefreshExit, t.tCKESR);
        for held in Held::ALL {
            if !matches!(held, H::PowerDownExit | H::SelfRefreshExit) {
                // To the first clock of the next command.
                rule(G::PowerDownExit, Unit, held, t.tXP + held_edge(held));
                rule(G::SelfRefreshExit, Unit, held, t.tXS);
            }
        }
        for held in [H::Read, H::Write] {
            rule(G::SelfRefreshExit, Unit, held, t.tXSDLL);
        }
        if organisation.ranks == 1 {
            rules.0.iter_mut().for_each(|rules| rules.retain(|rule| rule.scope != Scope::OtherRanks));
        }
        rules
    }

    /// The rules behind a command.
    pub(super) fn behind(&self, given: Given) -> &[Rule] {
        &self.0[given as usize]
    }
}
