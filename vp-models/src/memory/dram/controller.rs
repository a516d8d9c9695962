//! The controller of a channel: a command a clock at most, and on separate buses for rows and columns (HBM) one of each.

use super::access::Access;
use super::bank::Banks;
use super::command::{CommandKind, DramCommand};
use super::config::DramConfig;
use super::maintenance::Maintenance;
use super::organisation::Organisation;
use super::queue::{Entry, NextCommand, Queues};
use super::timing::Timing;
use crate::checkpoint::{Checkpoint, CheckpointError};

/// Outcome of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// No room in the queue of that direction.
    Full,
    /// A place in the queue, alone or with others of its burst.
    Waits { is_merged: bool },
    /// A write that waits has its bytes.
    Forwarded,
}

/// A command that was given.
#[derive(Debug)]
pub(super) struct Issued {
    pub(super) clock: u64,
    pub(super) command: DramCommand,
    /// Accesses that a column command serves.
    pub(super) served: Option<Entry>,
}

/// Accesses, banks and maintenance of a channel. It knows clocks of the DRAM only.
#[derive(Debug)]
pub(super) struct Controller {
    config: DramConfig,
    organisation: Organisation,
    pub(super) banks: Banks,
    pub(super) queues: Queues,
    maintenance: Maintenance,
}

impl Controller {
    pub(super) fn new(config: &DramConfig, organisation: &Organisation, timing: Timing) -> Controller {
        let banks = Banks::new(organisation, timing, config.standard.standard());
        Controller {
            organisation: *organisation,
            queues: Queues::new(&banks),
            maintenance: Maintenance::new(config, &timing, &banks),
            banks,
            config: config.clone(),
        }
    }

    /// Takes an access that comes in the clock `now`.
    pub(super) fn offer(&mut self, access: Access, now: u64) -> Taken {
        let Access { owner, write, at, bytes, priority } = access;
        let bank = at.bank_in(&self.organisation);
        if !write && self.queues.holds(bank, at, bytes) {
            return Taken::Forwarded;
        }
        if self.config.merge && self.queues.merge(&access, bank, now) {
            return Taken::Waits { is_merged: true };
        }
        let depth = if write { self.config.write_queue } else { self.config.read_queue };
        if self.queues.len(write) >= depth as usize {
            return Taken::Full;
        }
        let unit = self.banks.unit_of(bank);
        if self.queues.waiting_for(unit) == 0 {
            self.maintenance.used(unit, now);
        }
        let (number, after, opened, closed) = (0, None, false, false);
        let entry = Entry {
            owner,
            merged: Vec::new(),
            write,
            bank,
            unit,
            at,
            bytes,
            priority,
            number,
            arrived: now,
            after,
            opened,
            closed,
        };
        self.queues.add(entry);
        Taken::Waits { is_merged: false }
    }

    /// Gives the command of the clock `now`, if there is one, and the maintenance that was due since the last look.
    pub(super) fn step(&mut self, now: u64, issued: &mut Vec<Issued>) -> NextCommand {
        // Nothing comes between CAS and its column command.
        if let Some((command, number)) = self.queues.behind_sync() {
            self.give(command, number, now, issued);
            return NextCommand::Give(command, number);
        }
        let maintenance = self.maintain(now, now, issued);
        if maintenance == Some(now) {
            return NextCommand::NotBefore(now + 1);
        }
        self.maintenance.note_held(&self.banks, now);
        let next = self.queues.next(&self.banks, self.maintenance.held(), &self.config, now);
        match next {
            NextCommand::Give(command, number) => {
                self.give(command, number, now, issued);
                // The other bus is free in this clock still.
                if self.config.standard.standard().has_column_bus()
                    && let NextCommand::Give(command, number) =
                        self.queues.next(&self.banks, self.maintenance.held(), &self.config, now)
                {
                    self.give(command, number, now, issued);
                }
            }
            NextCommand::NotBefore(clock) => {
                return NextCommand::NotBefore(clock.min(maintenance.unwrap_or(u64::MAX)));
            }
            // Those who wait for a rank that is held have its maintenance to wait for.
            NextCommand::Nothing if !self.queues.is_empty() => {
                return NextCommand::NotBefore(maintenance.unwrap_or(now + 1));
            }
            NextCommand::Nothing => {}
        }
        next
    }

    /// Gives the maintenance that was due before the clock `now`, while nothing was asked for.
    pub(super) fn catch_up(&mut self, now: u64, issued: &mut Vec<Issued>) {
        if let Some(last) = now.checked_sub(1) {
            self.maintain(last, now, issued);
        }
    }

    /// Returns the clock of the next maintenance.
    pub(super) fn next_maintenance(&mut self) -> Option<u64> {
        self.maintenance.next(&self.banks, &self.queues, 0).map(|(clock, _)| clock)
    }

    /// Gives maintenance up to the clock `last`, and returns the clock of the last one given if that is `last`, otherwise that of the
    /// next one.
    fn maintain(&mut self, last: u64, now: u64, issued: &mut Vec<Issued>) -> Option<u64> {
        self.maintenance.skip(now);
        loop {
            let (clock, command) = self.maintenance.next(&self.banks, &self.queues, last)?;
            if clock > last {
                return Some(clock);
            }
            self.banks.give(command, clock);
            self.maintenance.given(command, clock, &self.banks);
            match command.kind {
                CommandKind::Precharge => self.queues.closed(command.bank),
                CommandKind::PrechargeAll => {
                    self.banks
                        .of_unit(self.banks.unit_of(command.bank))
                        .for_each(|bank| self.queues.closed(bank));
                }
                _ => {}
            }
            issued.push(Issued { clock, command, served: None });
            if clock == last {
                return Some(clock);
            }
        }
    }

    fn give(&mut self, command: DramCommand, number: u64, now: u64, issued: &mut Vec<Issued>) {
        self.banks.give(command, now);
        let unit = self.banks.unit_of(command.bank);
        self.maintenance.used(unit, now);
        let served = match command.kind.is_column() {
            true => self.queues.take(command.bank, number),
            false => {
                self.queues.note(number, command);
                None
            }
        };
        issued.push(Issued { clock: now, command, served });
    }
}

impl Controller {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Controller { config: _, organisation: _, banks, queues, maintenance } = self;
        banks.checkpoint(at)?;
        queues.checkpoint(at)?;
        maintenance.checkpoint(at)
    }
}
