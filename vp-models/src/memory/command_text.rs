//! Logs of a DRAM's commands as text: a form of this project's, and those that Ramulator and DRAMsim3 write.
//!
//! ```
//! use vp_models::memory::dram::{CommandKind, DramCommand, DramConfig};
//! use vp_models::memory::{CommandForm, CommandWriter};
//! use vp_models::platform::Description;
//!
//! let config = DramConfig::of("DDR4-2400R".parse().unwrap());
//! let mut log = CommandWriter::new(CommandForm::Dramsim3, "dbb0", &config).unwrap();
//! let mut text = String::new();
//! let command = DramCommand { kind: CommandKind::Activate, bank: 6, row: 0x1a2, column: 0 };
//! log.write(120, 0, &command, &mut text).unwrap();
//! let words: Vec<&str> = text.split_whitespace().collect();
//! // Bank 6 is bank 2 of group 1.
//! assert_eq!(words, ["120", "activate", "0", "0", "1", "2", "0x1a2", "0x0"]);
//! ```

use super::dram::mapping::Location;
use super::dram::{CommandKind, DramCommand, DramConfig, DramError, Organisation, Standard};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use strum::{Display, EnumString, IntoStaticStr};

/// Form of a log of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Display, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum CommandForm {
    /// This project's: CSV with all that is known of a command.
    #[default]
    Vp,
    /// Ramulator 2.1's: that of its `CmdTraceRecorder`, the channels in one file.
    Ramulator,
    /// DRAMsim3's: that of its command trace, the channels in one file.
    Dramsim3,
}

/// Level of a DRAM, as Ramulator divides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
pub enum Level {
    /// Channel.
    Channel,
    /// Pseudo channel of a channel.
    PseudoChannel,
    /// Rank of a channel.
    Rank,
    /// Stack of a pseudo channel, of which there is one here.
    Sid,
    /// Group of banks.
    BankGroup,
    /// Bank of a group.
    Bank,
    /// Row of a bank.
    Row,
    /// Burst of a row.
    Column,
}

impl Level {
    /// Returns the levels that Ramulator has of a standard, from the top down.
    pub const fn all(standard: Standard) -> &'static [Level] {
        use Level::{Bank, BankGroup, Channel, Column, PseudoChannel, Rank, Row, Sid};
        match standard {
            Standard::Ddr4 | Standard::Ddr5 | Standard::Lpddr5 => {
                &[Channel, Rank, BankGroup, Bank, Row, Column]
            }
            Standard::Lpddr4 => &[Channel, Rank, Bank, Row, Column],
            Standard::Hbm2 => &[Channel, PseudoChannel, BankGroup, Bank, Row, Column],
            Standard::Hbm3 => &[Channel, PseudoChannel, Sid, BankGroup, Bank, Row, Column],
            Standard::Gddr6 => &[Channel, BankGroup, Bank, Row, Column],
        }
    }

    /// Returns the name that Ramulator gives it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the number that there is of it.
    pub(super) const fn count(self, of: &Organisation) -> u32 {
        match self {
            Level::Channel => of.channels,
            Level::PseudoChannel => of.pseudo_channels,
            Level::Rank => of.ranks,
            Level::Sid => 1,
            Level::BankGroup => of.groups,
            Level::Bank => of.banks,
            Level::Row => of.rows,
            Level::Column => of.columns / of.burst_length,
        }
    }

    /// Returns a place's number in it.
    pub(super) const fn of(self, place: &Location) -> u32 {
        match self {
            Level::Channel => place.channel,
            Level::PseudoChannel => place.pseudo_channel,
            Level::Rank => place.rank,
            Level::Sid => 0,
            Level::BankGroup => place.group,
            Level::Bank => place.bank,
            Level::Row => place.row,
            Level::Column => place.column,
        }
    }

    /// Sets a place's number in it.
    pub(super) fn set(self, place: &mut Location, value: u32) {
        match self {
            Level::Channel => place.channel = value,
            Level::PseudoChannel => place.pseudo_channel = value,
            Level::Rank => place.rank = value,
            Level::Sid => {}
            Level::BankGroup => place.group = value,
            Level::Bank => place.bank = value,
            Level::Row => place.row = value,
            Level::Column => place.column = value,
        }
    }
}

/// Parts of a DRAM that a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    /// All banks of a rank or pseudo channel.
    Unit,
    /// The bank of that number in each group.
    SameBank,
    /// A bank.
    Bank,
    /// A row of a bank.
    Row,
    /// A burst of the bank's open row.
    Column,
}

impl Scope {
    fn of(kind: CommandKind, standard: Standard) -> Scope {
        match kind {
            CommandKind::Activate => Scope::Row,
            CommandKind::RefreshBank if standard.refreshes_same_bank() => Scope::SameBank,
            CommandKind::Precharge | CommandKind::RefreshBank => Scope::Bank,
            CommandKind::PrechargeAll
            | CommandKind::Refresh
            | CommandKind::PowerDownEntry
            | CommandKind::PowerDownExit
            | CommandKind::SelfRefreshEntry
            | CommandKind::SelfRefreshExit
            | CommandKind::Sync => Scope::Unit,
            kind if kind.is_column() => Scope::Column,
            _ => Scope::Unit,
        }
    }

    /// Returns true if a command with this scope says that level.
    fn says(self, level: Level) -> bool {
        match level {
            Level::Channel | Level::PseudoChannel | Level::Rank | Level::Sid => true,
            Level::BankGroup => self >= Scope::Bank,
            Level::Bank => self >= Scope::SameBank,
            Level::Row => self >= Scope::Row,
            Level::Column => self >= Scope::Column,
        }
    }
}

/// The writer of a log's lines. The lines of one channel are in the order of their clocks.
#[derive(Debug)]
pub struct CommandWriter {
    form: CommandForm,
    memory: String,
    standard: Standard,
    organisation: Organisation,
    /// Period of the command clock in picoseconds.
    period: u64,
    /// Clocks for which ACT occupies the command bus.
    activate: u64,
    /// Rows that are open, by channel and bank.
    open: BTreeMap<(u32, u32), u32>,
    /// CAS of a channel, which is written with the column command behind it.
    syncs: BTreeMap<u32, (u64, DramCommand)>,
}

impl CommandWriter {
    /// Begins a log of the memory of that name.
    pub fn new(form: CommandForm, memory: &str, dram: &DramConfig) -> Result<CommandWriter, DramError> {
        let timing = dram.timing()?;
        Ok(CommandWriter {
            form,
            memory: memory.to_owned(),
            standard: dram.standard.standard(),
            organisation: dram.organisation()?,
            period: timing.tCK,
            activate: timing.nACT,
            open: BTreeMap::new(),
            syncs: BTreeMap::new(),
        })
    }

    /// Returns the line above all others; nothing if the form has none.
    pub fn header(&self) -> Option<String> {
        match self.form {
            CommandForm::Vp => Some(
                "clock,time_ps,memory,channel,pseudo_channel,rank,group,bank,row,column,command".to_owned(),
            ),
            CommandForm::Ramulator => {
                let levels = Level::all(self.standard).iter().map(|level| level.name());
                Some(format!("clock,command,{},type,source", levels.collect::<Vec<_>>().join(",")))
            }
            CommandForm::Dramsim3 => None,
        }
    }

    /// Writes a command that a channel was given in a clock. Commands that a peer has no name for are left out of its form.
    pub fn write(
        &mut self,
        clock: u64,
        channel: u32,
        command: &DramCommand,
        to: &mut impl Write,
    ) -> fmt::Result {
        let key = (channel, command.bank);
        let row = if command.kind == CommandKind::Activate {
            Some(command.row)
        } else {
            self.open.get(&key).copied()
        };
        match self.form {
            CommandForm::Vp => self.own(clock, channel, command, row, to)?,
            CommandForm::Ramulator => self.ramulator(clock, channel, command, row, to)?,
            CommandForm::Dramsim3 => self.dramsim3(clock, channel, command, row, to)?,
        }
        match command.kind {
            CommandKind::Activate => _ = self.open.insert(key, command.row),
            CommandKind::Precharge | CommandKind::ReadPrecharge | CommandKind::WritePrecharge => {
                self.open.remove(&key);
            }
            CommandKind::PrechargeAll => {
                let unit = self.unit(command.bank);
                self.open.retain(|(of, bank), _| *of != channel || !unit.contains(bank));
            }
            _ => {}
        }
        Ok(())
    }

    /// Forgets the rows that are open: the memory was reset.
    pub fn reset(&mut self) {
        self.open.clear();
        self.syncs.clear();
    }

    /// Returns the banks of the rank or pseudo channel in which a bank lies.
    fn unit(&self, bank: u32) -> std::ops::Range<u32> {
        let banks = self.organisation.unit_banks();
        let first = bank / banks * banks;
        first..first + banks
    }

    fn place(&self, channel: u32, command: &DramCommand, row: Option<u32>) -> Location {
        let of = &self.organisation;
        let unit = command.bank / of.unit_banks();
        Location {
            channel,
            pseudo_channel: unit / of.ranks,
            rank: unit % of.ranks,
            group: command.bank % of.unit_banks() / of.banks,
            bank: command.bank % of.banks,
            row: row.unwrap_or(command.row),
            column: command.column,
        }
    }

    fn own(
        &self,
        clock: u64,
        channel: u32,
        command: &DramCommand,
        row: Option<u32>,
        to: &mut impl Write,
    ) -> fmt::Result {
        let (place, scope) = (self.place(channel, command, row), Scope::of(command.kind, self.standard));
        write!(to, "{clock},{},{}", u128::from(clock) * u128::from(self.period), self.memory)?;
        let levels = [
            Level::Channel,
            Level::PseudoChannel,
            Level::Rank,
            Level::BankGroup,
            Level::Bank,
            Level::Row,
            Level::Column,
        ];
        for level in levels {
            match scope.says(level) {
                true => write!(to, ",{}", level.of(&place))?,
                false => to.write_char(',')?,
            }
        }
        writeln!(to, ",{}", command.kind.name())
    }

    fn ramulator(
        &mut self,
        clock: u64,
        channel: u32,
        command: &DramCommand,
        row: Option<u32>,
        to: &mut impl Write,
    ) -> fmt::Result {
        use CommandKind::{Read, ReadPrecharge, Write, WritePrecharge};
        let (writes, kind) = match command.kind {
            Read | ReadPrecharge => (false, 0),
            Write | WritePrecharge => (true, 1),
            _ => (false, -1),
        };
        let levels = Level::all(self.standard);
        let place = self.place(channel, command, row);
        let mut line = |clock: u64, name: &str, scope: Scope| {
            write!(to, "{clock},{name}")?;
            for level in levels {
                match scope.says(*level) {
                    true => write!(to, ",{}", level.of(&place))?,
                    false => to.write_str(",-1")?,
                }
            }
            writeln!(to, ",{kind},-1")
        };
        let scope = Scope::of(command.kind, self.standard);
        let is_lpddr5 = self.standard == Standard::Lpddr5;
        let name = match command.kind {
            CommandKind::Activate if is_lpddr5 => {
                line(clock, "ACT1", scope)?;
                return line(clock + self.activate.saturating_sub(1), "ACT2", scope);
            }
            CommandKind::Sync => {
                self.syncs.insert(channel, (clock, *command));
                return Ok(());
            }
            CommandKind::Precharge => "PREpb",
            CommandKind::PrechargeAll => "PREab",
            CommandKind::Refresh => "REFab",
            CommandKind::RefreshBank if self.standard.refreshes_same_bank() => "REFsb",
            CommandKind::RefreshBank => "REFpb",
            CommandKind::PowerDownEntry
            | CommandKind::PowerDownExit
            | CommandKind::SelfRefreshEntry
            | CommandKind::SelfRefreshExit => return Ok(()),
            kind => kind.name(),
        };
        if command.kind.is_column()
            && let Some((clock, _)) = self.syncs.remove(&channel)
        {
            line(clock, if writes { "CAS_WR" } else { "CAS_RD" }, scope)?;
        }
        line(clock, name, scope)
    }

    fn dramsim3(
        &self,
        clock: u64,
        channel: u32,
        command: &DramCommand,
        row: Option<u32>,
        to: &mut impl Write,
    ) -> fmt::Result {
        let mut line = |name: &str, command: &DramCommand, row: Option<u32>| {
            let place = self.place(channel, command, row);
            let Location { channel, pseudo_channel, rank, group, bank, row, column } = place;
            // It has no level for pseudo channels.
            let rank = pseudo_channel * self.organisation.ranks + rank;
            writeln!(
                to,
                "{clock:<18} {name:<20} {channel:>3} {rank:>3} {group:>3} {bank:>3} {row:>#8x} {column:>#8x}"
            )
        };
        let name = match command.kind {
            CommandKind::Activate => "activate",
            CommandKind::Read => "read",
            CommandKind::ReadPrecharge => "read_p",
            CommandKind::Write => "write",
            CommandKind::WritePrecharge => "write_p",
            CommandKind::Precharge => "precharge",
            CommandKind::Refresh => "refresh",
            CommandKind::RefreshBank => "refresh_bank",
            CommandKind::SelfRefreshEntry => "self_refresh_enter",
            CommandKind::SelfRefreshExit => "self_refresh_exit",
            // It closes bank after bank.
            CommandKind::PrechargeAll => {
                let unit = self.unit(command.bank);
                let banks: BTreeSet<_> =
                    self.open.range((channel, unit.start)..(channel, unit.end)).collect();
                return banks.into_iter().try_for_each(|(&(_, bank), &row)| {
                    line("precharge", &DramCommand { bank, ..*command }, Some(row))
                });
            }
            CommandKind::Sync | CommandKind::PowerDownEntry | CommandKind::PowerDownExit => return Ok(()),
        };
        line(name, command, row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(form: CommandForm, grade: &str, commands: &[(u64, CommandKind, u32, u32, u32)]) -> Vec<String> {
        let config = DramConfig::of(grade.parse().unwrap());
        let mut writer = CommandWriter::new(form, "dbb0", &config).unwrap();
        let mut text = writer.header().map_or_else(String::new, |header| header + "\n");
        for &(clock, kind, bank, row, column) in commands {
            writer.write(clock, 0, &DramCommand { kind, bank, row, column }, &mut text).unwrap();
        }
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    const RUN: [(u64, CommandKind, u32, u32, u32); 5] = [
        (10, CommandKind::Activate, 6, 20, 0),
        (26, CommandKind::Read, 6, 20, 3),
        (40, CommandKind::Activate, 1, 7, 0),
        (90, CommandKind::PrechargeAll, 0, 0, 0),
        (106, CommandKind::Refresh, 0, 0, 0),
    ];

    #[test]
    fn the_own_form_says_all_that_a_command_addresses() {
        assert_eq!(
            log(CommandForm::Vp, "DDR4-2400R", &RUN),
            [
                "clock,time_ps,memory,channel,pseudo_channel,rank,group,bank,row,column,command",
                "10,8330,dbb0,0,0,0,1,2,20,,ACT",
                "26,21658,dbb0,0,0,0,1,2,20,3,RD",
                "40,33320,dbb0,0,0,0,0,1,7,,ACT",
                "90,74970,dbb0,0,0,0,,,,,PREA",
                "106,88298,dbb0,0,0,0,,,,,REF",
            ]
        );
    }

    #[test]
    fn ramulators_form_has_its_levels_and_names() {
        assert_eq!(
            log(CommandForm::Ramulator, "DDR4-2400R", &RUN),
            [
                "clock,command,Channel,Rank,BankGroup,Bank,Row,Column,type,source",
                "10,ACT,0,0,1,2,20,-1,-1,-1",
                "26,RD,0,0,1,2,20,3,0,-1",
                "40,ACT,0,0,0,1,7,-1,-1,-1",
                "90,PREab,0,0,-1,-1,-1,-1,-1,-1",
                "106,REFab,0,0,-1,-1,-1,-1,-1,-1",
            ]
        );
    }

    #[test]
    fn ramulator_has_two_activates_of_lpddr5_and_a_cas_of_its_direction() {
        let run = [
            (10, CommandKind::Activate, 6, 20, 0),
            (30, CommandKind::Sync, 6, 0, 0),
            (31, CommandKind::Write, 6, 20, 1),
            (90, CommandKind::PowerDownEntry, 0, 0, 0),
            (91, CommandKind::RefreshBank, 5, 0, 0),
        ];
        assert_eq!(
            log(CommandForm::Ramulator, "LPDDR5-6400", &run)[1..],
            [
                "10,ACT1,0,0,1,2,20,-1,-1,-1",
                "11,ACT2,0,0,1,2,20,-1,-1,-1",
                "30,CAS_WR,0,0,1,2,20,1,1,-1",
                "31,WR,0,0,1,2,20,1,1,-1",
                "91,REFpb,0,0,1,1,-1,-1,-1,-1",
            ]
        );
        let same_bank = log(CommandForm::Ramulator, "DDR5-4800B", &[(9, CommandKind::RefreshBank, 3, 0, 0)]);
        assert_eq!(same_bank[1], "9,REFsb,0,0,-1,3,-1,-1,-1,-1");
    }

    #[test]
    fn dramsim3_closes_bank_after_bank() {
        assert_eq!(
            log(CommandForm::Dramsim3, "DDR4-2400R", &RUN),
            [
                "10 activate 0 0 1 2 0x14 0x0",
                "26 read 0 0 1 2 0x14 0x3",
                "40 activate 0 0 0 1 0x7 0x0",
                "90 precharge 0 0 0 1 0x7 0x0",
                "90 precharge 0 0 1 2 0x14 0x0",
                "106 refresh 0 0 0 0 0x0 0x0",
            ]
        );
    }
}
