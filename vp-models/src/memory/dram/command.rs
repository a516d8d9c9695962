//! Commands of a DRAM.

use strum::VariantArray;

/// Kind of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, VariantArray)]
pub enum CommandKind {
    /// Opens a row (ACT).
    Activate,
    /// Reads a burst of the open row (RD).
    Read,
    /// Reads a burst, and closes the row behind it (RDA).
    ReadPrecharge,
    /// Writes a burst of the open row (WR).
    Write,
    /// Writes a burst, and closes the row behind it (WRA).
    WritePrecharge,
    /// Closes a row (PRE).
    Precharge,
    /// Closes all rows of a rank (PREA).
    PrechargeAll,
    /// Refreshes all banks of a rank, which must be closed (REF).
    Refresh,
    /// Refreshes one bank (REFpb), or by DDR5 the bank of that number in each group (REFsb).
    RefreshBank,
    /// Starts WCK for the column command that follows (LPDDR5's CAS with WS).
    Sync,
    /// Enters power-down (PDE).
    PowerDownEntry,
    /// Leaves power-down (PDX).
    PowerDownExit,
    /// Enters self refresh (SRE).
    SelfRefreshEntry,
    /// Leaves self refresh (SRX).
    SelfRefreshExit,
}

impl CommandKind {
    /// All kinds.
    pub const ALL: [CommandKind; 14] = *Self::VARIANTS.first_chunk().unwrap();

    /// Returns the command's name, as data sheets write it.
    pub const fn name(self) -> &'static str {
        match self {
            CommandKind::Activate => "ACT",
            CommandKind::Read => "RD",
            CommandKind::ReadPrecharge => "RDA",
            CommandKind::Write => "WR",
            CommandKind::WritePrecharge => "WRA",
            CommandKind::Precharge => "PRE",
            CommandKind::PrechargeAll => "PREA",
            CommandKind::Refresh => "REF",
            CommandKind::RefreshBank => "REFB",
            CommandKind::Sync => "CAS",
            CommandKind::PowerDownEntry => "PDE",
            CommandKind::PowerDownExit => "PDX",
            CommandKind::SelfRefreshEntry => "SRE",
            CommandKind::SelfRefreshExit => "SRX",
        }
    }

    /// Returns the kind of that name.
    pub fn of_name(name: &str) -> Option<CommandKind> {
        CommandKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns true for reads and writes of a burst.
    pub const fn is_column(self) -> bool {
        use CommandKind::{Read, ReadPrecharge, Write, WritePrecharge};
        matches!(self, Read | ReadPrecharge | Write | WritePrecharge)
    }
}

/// A command, and the place that it is for. Fields that its kind has no use for are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DramCommand {
    /// Kind.
    pub kind: CommandKind,
    /// Bank, numbered through the channel: ranks (or pseudo channels) one after the other, in each the groups, in each its banks.
    pub bank: u32,
    /// Row.
    pub row: u32,
    /// Burst in its row: a column, counted in bursts.
    pub column: u32,
}

impl DramCommand {
    /// Returns the command as an observation counts it ([`What::Count`](vp_core::observe::What::Count)): row in bits 63 to 32, column in
    /// bits 31 to 16, bank in bits 15 to 0.
    pub fn observed(&self) -> (&'static str, u64) {
        let value =
            u64::from(self.row) << 32 | u64::from(self.column & 0xffff) << 16 | u64::from(self.bank & 0xffff);
        (self.kind.name(), value)
    }

    /// Returns the command that an observation counts.
    pub fn of_observed(label: &str, value: u64) -> Option<DramCommand> {
        let kind = CommandKind::of_name(label)?;
        let part = |low: u32| (value >> low) as u32 & 0xffff;
        Some(DramCommand { kind, bank: part(0), row: (value >> 32) as u32, column: part(16) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_back_from_what_observers_get() {
        for kind in CommandKind::ALL {
            let command = DramCommand { kind, bank: 63, row: 0x1_ffff, column: 1023 };
            let (label, value) = command.observed();
            assert_eq!(DramCommand::of_observed(label, value), Some(command));
        }
        assert_eq!(DramCommand::of_observed("row_hit", 3), None);
    }
}
