//! Least distances between two commands.
//!
//! A figure counts from the last clock of the one command to the last clock of the other (JESD209-4, JESD79-5 and JESD235, command truth
//! tables, for commands of more than one clock; the others have only such of one). A log has first clocks, so that each pair of
//! kinds has a distance of its own.

use vp_models::memory::dram::CommandKind;
use vp_models::memory::dram::CommandKind::{
    Activate, Precharge, PrechargeAll, Read, ReadPrecharge, Refresh, RefreshBank, SelfRefreshEntry, Write,
    WritePrecharge,
};

/// Reads, with and without auto-precharge.
pub const READS: &[CommandKind] = &[Read, ReadPrecharge];
/// Writes, with and without auto-precharge.
pub const WRITES: &[CommandKind] = &[Write, WritePrecharge];
/// Precharges of one bank and of all.
pub const PRECHARGES: &[CommandKind] = &[Precharge, PrechargeAll];
/// Commands for which their banks have to be closed.
pub const OF_CLOSED_BANKS: &[CommandKind] = &[Activate, Refresh, RefreshBank, SelfRefreshEntry];
/// Number of kinds.
pub const KINDS: usize = CommandKind::ALL.len();

/// The two places between which a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// A bank that is in both.
    Bank,
    /// Different banks of a rank or pseudo channel.
    OtherBank,
    /// A group that has banks of both.
    Group,
    /// A rank or pseudo channel.
    Rank,
}

/// A least distance between two commands.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Name of the figure.
    pub figure: &'static str,
    /// Places between which it holds.
    pub scope: Scope,
    /// Clocks from the first clock of the one to the first clock of the other.
    pub clocks: i64,
}

/// All rules of a device.
#[derive(Debug, Clone)]
pub struct Rules {
    /// By the later kind, and by the earlier.
    by_kinds: Vec<[Vec<Rule>; KINDS]>,
    lengths: [u64; KINDS],
    weaker_activate: bool,
}

impl Rules {
    /// No rules yet, for commands of these lengths.
    pub fn new(lengths: [u64; KINDS]) -> Rules {
        let by_kinds = (0..KINDS).map(|_| std::array::from_fn(|_| Vec::new())).collect();
        Rules { by_kinds, lengths, weaker_activate: false }
    }

    /// Takes figures to and from an ACT from whichever of its two clocks asks for less.
    pub fn with_weaker_activate(self) -> Rules {
        Rules { weaker_activate: true, ..self }
    }

    /// Clocks of the command bus that a command takes.
    pub fn length(&self, kind: CommandKind) -> u64 {
        self.lengths[kind as usize]
    }

    /// Clocks from a command's first to the one from which figures count.
    fn edge(&self, kind: CommandKind) -> i64 {
        self.length(kind).max(1) as i64 - 1
    }

    /// Adds a figure that counts from edge to edge.
    pub fn add(
        &mut self,
        figure: &'static str,
        scope: Scope,
        earlier: &[CommandKind],
        later: &[CommandKind],
        clocks: u64,
    ) {
        for &first in earlier {
            for &second in later {
                let from = if self.weaker_activate && first == Activate { 0 } else { self.edge(first) };
                let between = match self.weaker_activate && first == second {
                    true => 0,
                    false => from - self.edge(second),
                };
                self.add_first_clocks(figure, scope, &[first], &[second], clocks as i64 + between);
            }
        }
    }

    /// Adds a figure that counts from first clock to first clock.
    pub fn add_first_clocks(
        &mut self,
        figure: &'static str,
        scope: Scope,
        earlier: &[CommandKind],
        later: &[CommandKind],
        clocks: i64,
    ) {
        for &first in earlier {
            for &second in later {
                self.by_kinds[second as usize][first as usize].push(Rule { figure, scope, clocks });
            }
        }
    }

    /// Returns the rules from one kind to another.
    pub fn between(&self, earlier: CommandKind, later: CommandKind) -> &[Rule] {
        &self.by_kinds[later as usize][earlier as usize]
    }

    /// Returns the clocks for which a command of that kind has a say.
    pub fn reach(&self, earlier: CommandKind) -> u64 {
        let clocks = self.by_kinds.iter().flat_map(|by| &by[earlier as usize]).map(|rule| rule.clocks);
        clocks.max().unwrap_or(0).max(0) as u64
    }
}

/// Figures that all standards have in some form, in clocks between edges.
#[derive(Debug, Clone)]
pub struct Core {
    /// ACT to RD, same bank.
    pub rcd_read: u64,
    /// ACT to WR, same bank.
    pub rcd_write: u64,
    /// PRE to whatever wants the bank closed.
    pub rp: u64,
    /// PRE of all banks to the same.
    pub rp_all: u64,
    /// ACT to PRE.
    pub ras: u64,
    /// ACT to ACT, same bank.
    pub rc: u64,
    /// ACT to ACT, another group, and the same.
    pub rrd: (u64, u64),
    /// RD to RD, another group, and the same.
    pub read_read: (u64, u64),
    /// WR to WR, another group, and the same.
    pub write_write: (u64, u64),
    /// RD to WR, another group, and the same.
    pub read_write: (u64, u64),
    /// WR to RD, another group, and the same.
    pub write_read: (u64, u64),
    /// RD to PRE.
    pub read_precharge: u64,
    /// WR to PRE.
    pub write_precharge: u64,
    /// WR to RDA of the same bank, whose precharge must not come before that of the write.
    pub write_read_precharge: Option<u64>,
    /// PRE to PRE of a rank.
    pub ppd: Option<u64>,
    /// REF to any other.
    pub rfc: u64,
    /// Refresh of some banks only.
    pub bank_refresh: Option<BankRefresh>,
    /// RD to the entry into power-down or self refresh.
    pub read_power_down: u64,
    /// WR to the entry into power-down.
    pub write_power_down: u64,
    /// WRA to the entry into power-down.
    pub write_precharge_power_down: u64,
    /// ACT, PRE and REF to the entry into power-down.
    pub other_power_down: u64,
    /// Entry into power-down to exit.
    pub power_down: u64,
    /// Exit to the next entry.
    pub power_up: u64,
    /// Exit from power-down to any other.
    pub xp: u64,
    /// True if that counts to the edge of the other, not to its first clock.
    pub xp_to_edge: bool,
    /// Entry into self refresh to exit.
    pub self_refresh: u64,
    /// Exit from self refresh to any other.
    pub xs: u64,
    /// Exit from self refresh to reads and writes, where they need the DLL.
    pub xs_dll: u64,
}

/// Figures of the refresh of some banks, in clocks between edges.
#[derive(Debug, Clone)]
pub struct BankRefresh {
    /// REFpb to whatever wants these banks closed.
    pub rfc: u64,
    /// REFpb to the REFpb of others.
    pub refresh_refresh: u64,
    /// REFpb to the ACT of another bank: in another group, and in the same.
    pub refresh_activate: (u64, u64),
    /// ACT to the REFpb of another bank: in another group, and in the same.
    pub activate_refresh: (u64, u64),
}

impl Core {
    /// Adds the rules to those of a device.
    pub fn add_to(&self, rules: &mut Rules) {
        use CommandKind::{PowerDownEntry, PowerDownExit, SelfRefreshExit};
        use Scope::{Bank, Group, OtherBank, Rank};
        let activate = &[Activate];
        let columns: Vec<CommandKind> = READS.iter().chain(WRITES).copied().collect();

        rules.add("tRCD", Bank, activate, READS, self.rcd_read);
        rules.add("tRCD", Bank, activate, WRITES, self.rcd_write);
        rules.add("tRAS", Bank, activate, PRECHARGES, self.ras);
        rules.add("tRC", Bank, activate, OF_CLOSED_BANKS, self.rc);
        rules.add("tRRD_S", Rank, activate, activate, self.rrd.0);
        rules.add("tRRD_L", Group, activate, activate, self.rrd.1);
        rules.add("tRP", Bank, &[Precharge], OF_CLOSED_BANKS, self.rp);
        rules.add("tRPab", Bank, &[PrechargeAll], OF_CLOSED_BANKS, self.rp_all);
        if let Some(ppd) = self.ppd {
            rules.add("tPPD", Rank, PRECHARGES, PRECHARGES, ppd);
        }

        rules.add("tCCD_S", Rank, READS, READS, self.read_read.0);
        rules.add("tCCD_L", Group, READS, READS, self.read_read.1);
        rules.add("tCCD_S_WR", Rank, WRITES, WRITES, self.write_write.0);
        rules.add("tCCD_L_WR", Group, WRITES, WRITES, self.write_write.1);
        rules.add("read to write", Rank, READS, WRITES, self.read_write.0);
        rules.add("read to write, same group", Group, READS, WRITES, self.read_write.1);
        rules.add("tWTR_S behind the data", Rank, WRITES, READS, self.write_read.0);
        rules.add("tWTR_L behind the data", Group, WRITES, READS, self.write_read.1);
        rules.add("tRTP", Bank, READS, PRECHARGES, self.read_precharge);
        rules.add("tWR behind the data", Bank, WRITES, PRECHARGES, self.write_precharge);
        rules.add("tRTP + tRP", Bank, &[ReadPrecharge], OF_CLOSED_BANKS, self.read_precharge + self.rp);
        let write = self.write_precharge + self.rp;
        rules.add("tWR + tRP behind the data", Bank, &[WritePrecharge], OF_CLOSED_BANKS, write);
        if let Some(clocks) = self.write_read_precharge {
            rules.add("tWR - tRTP behind the data", Bank, &[Write], &[ReadPrecharge], clocks);
        }

        let awake: Vec<CommandKind> = [PRECHARGES, OF_CLOSED_BANKS, &columns].concat();
        rules.add("tRFC", Rank, &[Refresh], &awake, self.rfc);
        if let Some(bank) = &self.bank_refresh {
            let refresh = &[RefreshBank];
            let to = [PRECHARGES, OF_CLOSED_BANKS].concat();
            rules.add("tRFCpb", Bank, refresh, &to, bank.rfc);
            rules.add("REFpb to REFpb", OtherBank, refresh, refresh, bank.refresh_refresh);
            rules.add("REFpb to ACT", OtherBank, refresh, activate, bank.refresh_activate.0);
            rules.add("REFpb to ACT, same group", Group, refresh, activate, bank.refresh_activate.1);
            rules.add("ACT to REFpb", OtherBank, activate, refresh, bank.activate_refresh.0);
            rules.add("ACT to REFpb, same group", Group, activate, refresh, bank.activate_refresh.1);
        }

        let down = &[PowerDownEntry];
        let asleep = &[PowerDownEntry, SelfRefreshEntry];
        rules.add("read to power-down", Rank, READS, asleep, self.read_power_down);
        rules.add("write to power-down", Rank, &[Write], down, self.write_power_down);
        let precharge = self.write_precharge_power_down;
        rules.add("write to power-down", Rank, &[WritePrecharge], down, precharge);
        let others = &[Activate, Precharge, PrechargeAll, Refresh, RefreshBank];
        rules.add("command to power-down", Rank, others, down, self.other_power_down);
        rules.add("tPD", Rank, down, &[PowerDownExit], self.power_down);
        rules.add("tCKE", Rank, &[PowerDownExit], down, self.power_up);
        match self.xp_to_edge {
            true => rules.add("tXP", Rank, &[PowerDownExit], &awake, self.xp),
            false => rules.add_first_clocks("tXP", Rank, &[PowerDownExit], &awake, self.xp as i64),
        }
        rules.add("tCKESR", Rank, &[SelfRefreshEntry], &[SelfRefreshExit], self.self_refresh);
        rules.add("tXS", Rank, &[SelfRefreshExit], &awake, self.xs);
        rules.add("tXS", Rank, &[SelfRefreshExit], down, self.xs);
        rules.add("tXSDLL", Rank, &[SelfRefreshExit], &columns, self.xs_dll);
    }
}
