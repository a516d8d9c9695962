//! A controller with a machine for each bank, cycle by cycle: LiteDRAM's crossbar, bank machines, multiplexer, refresher and AXI ports.
//!
//! ```text
//! AR, AW → a burst → beats → crossbar → commands that wait → bank machine → choosers → multiplexer → DRAM
//!                            a bank at a time                one for rows, one for columns
//! ```
//!
//! A cycle gives a command to each of a few clocks of the DRAM. All that a port drives in a cycle follows from what was before it:
//! [`Controller::port`] has it, and [`Controller::step`] takes what the masters have driven in that cycle.

use crate::checkpoint::{Checkpoint, CheckpointError};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The figures of a controller, in its cycles where nothing else is said.
#[derive(Debug, Clone, Copy)]
#[allow(non_snake_case, reason = "the names of JEDEC")]
pub(super) struct Figures {
    pub(super) banks: u32,
    /// Bits of an address in words that select a word within a row.
    pub(super) column_bits: u32,
    pub(super) tRP: u32,
    pub(super) tRCD: u32,
    pub(super) tWR: u32,
    pub(super) tWTR: u32,
    pub(super) tREFI: u32,
    pub(super) tRFC: u32,
    pub(super) tFAW: u32,
    pub(super) tCCD: u32,
    pub(super) tRRD: u32,
    pub(super) tRC: u32,
    pub(super) tRAS: u32,
    /// From a WR to its data at the DRAM.
    pub(super) CWL: u32,
    /// From a command to its data at the PHY.
    pub(super) read_latency: u32,
    pub(super) write_latency: u32,
    /// Commands that wait for each bank machine.
    pub(super) lookahead: usize,
    /// Cycles for which reads, and writes, go on while the others wait; 0: as long as there are any.
    pub(super) read_time: u32,
    pub(super) write_time: u32,
    pub(super) auto_precharge: bool,
    pub(super) refresh: bool,
    /// Beats that a port has on their way in each direction.
    pub(super) read_buffer: u32,
    pub(super) write_buffer: u32,
}

/// A burst on AR or AW.
#[derive(Debug, Clone, Copy)]
pub(super) struct PortBurst {
    /// First word.
    pub(super) word: u64,
    pub(super) beats: u32,
    pub(super) tag: u64,
}

/// Inputs of a port in a cycle, which a master drives.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Driven {
    pub(super) read: Option<PortBurst>,
    pub(super) write: Option<PortBurst>,
    /// A beat on W, and whether it is the last.
    pub(super) data: Option<bool>,
    /// True if the beat on R is not taken.
    pub(super) holds_data: bool,
}

/// Outputs of a port in a cycle.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PortOutputs {
    pub(super) takes_read: bool,
    pub(super) takes_write: bool,
    pub(super) takes_data: bool,
    /// The read whose data is on R, and whether it is the last beat.
    pub(super) data: Option<(u64, bool)>,
    /// The write whose response is on B in the next cycle.
    pub(super) written: Option<u64>,
}

/// A command to the DRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ControllerCommand {
    Activate { bank: u32, row: u64 },
    Precharge { bank: u32 },
    Read { bank: u32, close: bool },
    Write { bank: u32, close: bool },
    PrechargeAll,
    Refresh,
}

/// Command that a bank machine offers the choosers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offer {
    Activate,
    Precharge,
    Read,
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BankState {
    Regular,
    Precharge,
    AutoPrecharge,
    Activate,
    Refresh,
    /// Cycles until ACTIVATE.
    Trp(u32),
    /// Cycles until REGULAR.
    Trcd(u32),
}

#[derive(Debug, Clone, Copy)]
struct Access {
    write: bool,
    row: u64,
}

/// A bank machine. Times are the numbers of cycles from which on something may be.
#[derive(Debug, Clone)]
struct Bank {
    state: BankState,
    lookahead: VecDeque<Access>,
    first: Option<Access>,
    open: Option<u64>,
    may_close_written: u64,
    may_close_opened: u64,
    may_open: u64,
    /// The port that the crossbar grants the bank.
    grant: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Mux {
    Read,
    Write,
    Refresh,
    WriteToRead,
    /// Cycles until writes.
    ReadToWrite(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refresher {
    Idle,
    Wait,
    /// Since this cycle.
    Active(u64),
}

#[derive(Debug, Clone, Default)]
struct Port {
    /// The bursts behind AR and AW, and how many of their beats have gone.
    read: Option<PortBurst>,
    read_beat: u32,
    write: Option<PortBurst>,
    write_beat: u32,
    grants_read: bool,
    /// Beats that were asked for and not taken on R, with their bursts.
    reads: VecDeque<(u64, bool)>,
    read_stored: u32,
    read_out: bool,
    /// Beats whose command has gone and whose data has not.
    write_commands: u32,
    writes: VecDeque<u64>,
    write_stored: VecDeque<bool>,
    write_out: Option<bool>,
}

/// Access that a port asks the crossbar for.
#[derive(Debug, Clone, Copy)]
struct Asked {
    bank: usize,
    access: Access,
    last: bool,
}

/// Values of a cycle that follow from the registers alone.
#[derive(Debug, Default)]
struct View {
    offers: Vec<Option<Offer>>,
    /// Banks whose offers are taken.
    row: Option<usize>,
    column: Option<usize>,
    /// The choosers' arbiters go on.
    row_moves: bool,
    column_moves: bool,
    refresh_asked: bool,
    refresh_ends: bool,
    /// Of each port: what its writes and reads ask for, what it asks the crossbar for, and whether that is taken.
    asks: Vec<[bool; 2]>,
    asked: Vec<Option<Asked>>,
    taken: Vec<bool>,
}

pub(super) struct Controller {
    figures: Figures,
    now: u64,
    ports: Vec<Port>,
    banks: Vec<Bank>,
    mux: Mux,
    row_grant: usize,
    column_grant: usize,
    may_activate: u64,
    may_access: u64,
    may_read: u64,
    activates: VecDeque<u64>,
    is_window_free: bool,
    read_left: u32,
    write_left: u32,
    refresher: Refresher,
    refresh_left: u32,
    is_refresh_due: bool,
    /// The ports whose data moves in the coming cycles.
    reads: VecDeque<Option<usize>>,
    writes: VecDeque<Option<usize>>,
    view: View,
}

/// A round-robin arbiter moves on to the next other one that asks.
fn move_on(grant: &mut usize, count: usize, asks: impl Fn(usize) -> bool) {
    if let Some(next) = (1..count).map(|step| (*grant + step) % count).find(|&it| asks(it)) {
        *grant = next;
    }
}

fn is_row(offer: Offer) -> bool {
    matches!(offer, Offer::Activate | Offer::Precharge)
}

impl Mux {
    /// Returns true if the chooser of columns looks at this. While neither reads nor writes go, it looks at rows, and gives nothing.
    fn wants(self, offer: Offer) -> bool {
        match self {
            Mux::Read => offer == Offer::Read,
            Mux::Write => offer == Offer::Write,
            _ => is_row(offer),
        }
    }
}

impl Bank {
    fn is_locked(&self) -> bool {
        self.first.is_some() || !self.lookahead.is_empty()
    }

    fn may_close(&self, now: u64) -> bool {
        self.may_close_written.max(self.may_close_opened) <= now
    }

    fn offer(&self, now: u64, refresh_asked: bool) -> Option<Offer> {
        let first = self.first?;
        match self.state {
            BankState::Regular if !refresh_asked && self.open == Some(first.row) => {
                Some(if first.write { Offer::Write } else { Offer::Read })
            }
            BankState::Precharge if self.may_close(now) => Some(Offer::Precharge),
            BankState::Activate if self.may_open <= now => Some(Offer::Activate),
            _ => None,
        }
    }
}

impl Controller {
    pub(super) fn new(figures: Figures, ports: usize) -> Controller {
        let bank = Bank {
            state: BankState::Regular,
            lookahead: VecDeque::new(),
            first: None,
            open: None,
            may_close_written: 0,
            may_close_opened: 0,
            may_open: 0,
            grant: 0,
        };
        let mut controller = Controller {
            now: 0,
            ports: vec![Port::default(); ports],
            banks: vec![bank; figures.banks as usize],
            mux: Mux::Read,
            row_grant: 0,
            column_grant: 0,
            may_activate: 0,
            may_access: 0,
            may_read: 0,
            activates: VecDeque::new(),
            is_window_free: true,
            read_left: 0,
            write_left: 0,
            refresher: Refresher::Idle,
            refresh_left: figures.tREFI - 1,
            is_refresh_due: false,
            reads: vec![None; figures.read_latency as usize + 1].into(),
            writes: vec![None; figures.write_latency as usize + 1].into(),
            view: View::default(),
            figures,
        };
        controller.look();
        controller
    }

    /// The number of the cycle that comes next.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Returns true if nothing is under way but the time until the next refresh.
    pub(super) fn is_idle(&self) -> bool {
        let is_quiet = |port: &Port| {
            port.read.is_none()
                && port.write.is_none()
                && port.reads.is_empty()
                && port.writes.is_empty()
                && port.write_stored.is_empty()
        };
        self.refresher == Refresher::Idle
            && matches!(self.mux, Mux::Read | Mux::Write)
            && !self.banks.iter().any(Bank::is_locked)
            && self.ports.iter().all(is_quiet)
    }

    /// The cycle `to` is next, and until then nothing is driven.
    pub(super) fn rest(&mut self, to: u64, mut give: impl FnMut(ControllerCommand)) {
        let driven = vec![Driven::default(); self.ports.len()];
        while self.now < to {
            let left = to - self.now;
            let quiet = if self.figures.refresh { u64::from(self.refresh_left) } else { u64::MAX };
            if !self.is_idle() || quiet == 0 || self.is_refresh_due {
                self.step(&driven, &mut give);
                continue;
            }
            let period = u64::from(self.figures.tREFI);
            if self.figures.refresh && left > 2 * period && self.banks.iter().all(|bank| bank.open.is_none())
            {
                // Refreshes that change nothing.
                self.now += (left / period - 1) * period;
                continue;
            }
            let cycles = quiet.min(left);
            let gone = u32::try_from(cycles).unwrap_or(u32::MAX);
            match self.mux {
                Mux::Read => self.read_left = self.read_left.saturating_sub(gone),
                _ => self.write_left = self.write_left.saturating_sub(gone),
            }
            if self.figures.refresh {
                self.refresh_left -= gone;
            }
            self.now += cycles;
        }
        self.look();
    }

    /// Returns the outputs of a port in this cycle.
    pub(super) fn port(&self, at: usize) -> PortOutputs {
        let port = &self.ports[at];
        let ends = |read: bool| {
            self.view.taken[at] && port.grants_read == read && self.view.asked[at].is_some_and(|it| it.last)
        };
        let is_written = self.writes[0] == Some(at) && port.write_out == Some(true);
        PortOutputs {
            takes_read: port.read.is_none() || ends(true),
            takes_write: port.write.is_none() || ends(false),
            takes_data: port.write_stored.len() < self.figures.write_buffer as usize,
            data: port.read_out.then(|| port.reads[0]),
            written: if is_written { port.writes.front().copied() } else { None },
        }
    }

    fn asked(&self, burst: PortBurst, beat: u32, write: bool) -> Asked {
        let word = burst.word + u64::from(beat);
        let (banks, row_and_bank) = (u64::from(self.figures.banks), word >> self.figures.column_bits);
        Asked {
            bank: (row_and_bank % banks) as usize,
            access: Access { write, row: row_and_bank / banks },
            last: beat + 1 == burst.beats,
        }
    }

    /// Returns true if the port asks for this bank, and waits in no other.
    fn selects(&self, port: usize, bank: usize) -> bool {
        let waits = |(at, other): (usize, &Bank)| at != bank && other.grant == port && other.is_locked();
        self.view.asked[port].is_some_and(|it| it.bank == bank) && !self.banks.iter().enumerate().any(waits)
    }

    /// Computes the values of this cycle from the registers.
    fn look(&mut self) {
        let mut view = std::mem::take(&mut self.view);
        let Figures { tRP, tRFC, lookahead, read_buffer, .. } = self.figures;
        let now = self.now;
        view.refresh_ends =
            matches!(self.refresher, Refresher::Active(since) if now == since + u64::from(tRP + tRFC) + 1);
        view.refresh_asked = self.refresher != Refresher::Idle && !view.refresh_ends;

        view.offers.clear();
        view.offers.extend(self.banks.iter().map(|bank| bank.offer(now, view.refresh_asked)));
        let is_active = matches!(self.mux, Mux::Read | Mux::Write);
        let row_offer = view.offers[self.row_grant].filter(|it| is_row(*it));
        let may_activate = self.may_activate <= now && self.is_window_free;
        let row_ready = is_active && (row_offer != Some(Offer::Activate) || may_activate);
        view.row = (row_offer.is_some() && row_ready).then_some(self.row_grant);
        view.row_moves = row_ready || row_offer.is_none();
        let is_column_offered = view.offers[self.column_grant].is_some_and(|it| self.mux.wants(it));
        let column_ready = is_active && self.may_access <= now;
        view.column = (is_column_offered && column_ready).then_some(self.column_grant);
        view.column_moves = column_ready || !is_column_offered;

        view.asks.clear();
        view.asked.clear();
        for port in &self.ports {
            let stored = port.write_stored.len() as u32 + u32::from(port.write_out.is_some());
            let write = port.write.filter(|_| stored > port.write_commands);
            let read = port.read.filter(|_| port.reads.len() < read_buffer as usize);
            view.asks.push([write.is_some(), read.is_some()]);
            view.asked.push(match port.grants_read {
                true => read.map(|burst| self.asked(burst, port.read_beat, false)),
                false => write.map(|burst| self.asked(burst, port.write_beat, true)),
            });
        }
        let mut all = std::mem::take(&mut view.taken);
        self.view = view;
        let taken = |at: usize| {
            self.view.asked[at].is_some_and(|it| {
                let bank = &self.banks[it.bank];
                bank.grant == at && bank.lookahead.len() < lookahead && self.selects(at, it.bank)
            })
        };
        all.clear();
        all.extend((0..self.ports.len()).map(taken));
        self.view.taken = all;
    }

    /// One cycle, in which the masters drive this; the commands are on their way to the DRAM.
    pub(super) fn step(&mut self, driven: &[Driven], mut give: impl FnMut(ControllerCommand)) {
        let Figures { tRP, .. } = self.figures;
        let now = self.now;
        let closes = self.view.column.is_some_and(|at| {
            let bank = &self.banks[at];
            let row = |access: &Access| access.row;
            let next = bank.lookahead.front().map(row);
            self.figures.auto_precharge && next.is_some() && next != bank.first.as_ref().map(row)
        });
        if let Some(at) = self.view.row {
            let (bank, row) = (at as u32, self.banks[at].first.map_or(0, |first| first.row));
            give(match self.view.offers[at] {
                Some(Offer::Activate) => ControllerCommand::Activate { bank, row },
                _ => ControllerCommand::Precharge { bank },
            });
        }
        if let Some(at) = self.view.column {
            let (bank, close) = (at as u32, closes);
            give(match self.view.offers[at] {
                Some(Offer::Write) => ControllerCommand::Write { bank, close },
                _ => ControllerCommand::Read { bank, close },
            });
        }
        if let Refresher::Active(since) = self.refresher {
            match now - since {
                1 => give(ControllerCommand::PrechargeAll),
                at if at == u64::from(tRP) + 1 => give(ControllerCommand::Refresh),
                _ => {}
            }
        }
        let may_refresh =
            self.banks.iter().all(|bank| bank.state == BankState::Refresh && bank.may_close_written <= now);
        let column =
            self.view.column.map(|at| (self.banks[at].grant, self.view.offers[at] == Some(Offer::Write)));

        self.step_crossbar();
        for at in 0..self.banks.len() {
            self.step_bank(at, closes);
        }
        self.step_multiplexer(column, may_refresh);
        self.reads.push_back(column.filter(|&(_, write)| !write).map(|(port, _)| port));
        self.writes.push_back(column.filter(|&(_, write)| write).map(|(port, _)| port));
        let [read, written] = [&mut self.reads, &mut self.writes].map(|moving| moving.pop_front().flatten());
        for (at, driven) in driven.iter().enumerate() {
            self.step_port(at, driven, read == Some(at), written == Some(at));
        }
        self.now += 1;
        self.look();
    }

    /// Banks that are free are granted the next port that asks for them.
    fn step_crossbar(&mut self) {
        if self.ports.len() == 1 {
            return;
        }
        let granted = |(at, bank): (usize, &Bank)| {
            let mut grant = bank.grant;
            if !bank.is_locked() && !self.selects(grant, at) {
                move_on(&mut grant, self.ports.len(), |port| self.selects(port, at));
            }
            grant
        };
        let grants: Vec<usize> = self.banks.iter().enumerate().map(granted).collect();
        self.banks.iter_mut().zip(grants).for_each(|(bank, grant)| bank.grant = grant);
    }

    fn step_bank(&mut self, at: usize, closes: bool) {
        let Figures { tRP, tRCD, tRC, tRAS, tWR, tCCD, CWL, .. } = self.figures;
        let now = self.now;
        let later = |cycles: u32| now + u64::from(cycles);
        let bank = &mut self.banks[at];
        let (is_row, is_column) = (self.view.row == Some(at), self.view.column == Some(at));
        let precharge = if tRP > 1 { BankState::Trp(tRP - 1) } else { BankState::Activate };
        let activate = if tRCD > 1 { BankState::Trcd(tRCD - 1) } else { BankState::Regular };
        bank.state = match (bank.state, bank.first) {
            (BankState::Regular, _) if self.view.refresh_asked => BankState::Refresh,
            (BankState::Regular, Some(_)) if bank.open.is_none() => BankState::Activate,
            (BankState::Regular, Some(first)) if bank.open != Some(first.row) => BankState::Precharge,
            (BankState::Regular, Some(_)) if is_column && closes => BankState::AutoPrecharge,
            (BankState::Precharge, _) => {
                bank.open = None;
                if is_row { precharge } else { BankState::Precharge }
            }
            (BankState::AutoPrecharge, _) => {
                bank.open = None;
                if bank.may_close(now) { precharge } else { BankState::AutoPrecharge }
            }
            (BankState::Activate, Some(first)) if bank.may_open <= now => {
                bank.open = Some(first.row);
                if is_row { activate } else { BankState::Activate }
            }
            (BankState::Refresh, _) => {
                bank.open = None;
                if self.view.refresh_asked { BankState::Refresh } else { BankState::Regular }
            }
            (BankState::Trp(1), _) => BankState::Activate,
            (BankState::Trp(left), _) => BankState::Trp(left - 1),
            (BankState::Trcd(1), _) => BankState::Regular,
            (BankState::Trcd(left), _) => BankState::Trcd(left - 1),
            (state, _) => state,
        };
        if is_row && self.view.offers[at] == Some(Offer::Activate) {
            bank.may_open = later(tRC);
            bank.may_close_opened = later(tRAS);
        }
        if is_column {
            if self.view.offers[at] == Some(Offer::Write) {
                bank.may_close_written = later(CWL + tWR + tCCD);
            }
            bank.first = None;
        }
        if bank.first.is_none() {
            bank.first = bank.lookahead.pop_front();
        }
        let pushed = self
            .view
            .asked
            .iter()
            .zip(&self.view.taken)
            .find_map(|(asked, taken)| asked.filter(|it| *taken && it.bank == at).map(|it| it.access));
        bank.lookahead.extend(pushed);
    }

    fn step_multiplexer(&mut self, column: Option<(usize, bool)>, may_refresh: bool) {
        let Figures { tREFI, tFAW, tRRD, tCCD, tWTR, CWL, .. } = self.figures;
        let Figures { read_latency, read_time, write_time, refresh, .. } = self.figures;
        let now = self.now;
        let later = |cycles: u32| now + u64::from(cycles);
        let (offers, count) = (&self.view.offers, self.banks.len());
        if self.view.row_moves {
            move_on(&mut self.row_grant, count, |at| offers[at].is_some_and(is_row));
        }
        if self.view.column_moves {
            move_on(&mut self.column_grant, count, |at| offers[at].is_some_and(|it| self.mux.wants(it)));
        }
        // The window is a shift register; whether it has room is seen a cycle later.
        let activated = self.view.row.is_some_and(|at| offers[at] == Some(Offer::Activate));
        while self.activates.front().is_some_and(|&at| at + u64::from(tFAW) < now) {
            self.activates.pop_front();
        }
        match self.activates.len() {
            0..=2 => self.is_window_free = true,
            3 => self.is_window_free = !activated,
            _ => {}
        }
        if activated {
            self.activates.push_back(now);
            self.may_activate = later(tRRD);
        }
        if let Some((_, write)) = column {
            self.may_access = later(tCCD);
            if write {
                self.may_read = later(tWTR + CWL + tCCD);
            }
        }
        let (reads, writes) = (offers.contains(&Some(Offer::Read)), offers.contains(&Some(Offer::Write)));
        let read_over = !reads || (read_time > 0 && self.read_left == 0);
        let write_over = !writes || (write_time > 0 && self.write_left == 0);
        let left = |is: bool, left: u32, time: u32| if is { left } else { time }.saturating_sub(1);
        self.read_left = left(self.mux == Mux::Read, self.read_left, read_time);
        self.write_left = left(self.mux == Mux::Write, self.write_left, write_time);

        let begins = self.mux == Mux::Refresh && self.refresher == Refresher::Wait;
        self.mux = match self.mux {
            Mux::Read | Mux::Write if may_refresh => Mux::Refresh,
            Mux::Read if writes && read_over => match read_latency {
                0..=1 => Mux::Write,
                cycles => Mux::ReadToWrite(cycles - 1),
            },
            Mux::Write if reads && write_over => Mux::WriteToRead,
            Mux::WriteToRead if self.may_read <= now => Mux::Read,
            Mux::ReadToWrite(1) => Mux::Write,
            Mux::ReadToWrite(left) => Mux::ReadToWrite(left - 1),
            Mux::Refresh if self.view.refresh_ends => Mux::Read,
            state => state,
        };
        self.refresher = match self.refresher {
            Refresher::Idle if self.is_refresh_due && refresh => Refresher::Wait,
            Refresher::Wait if begins => Refresher::Active(now),
            Refresher::Active(_) if self.view.refresh_ends => Refresher::Idle,
            state => state,
        };
        self.is_refresh_due = self.refresh_left == 0;
        self.refresh_left = self.refresh_left.checked_sub(1).unwrap_or(tREFI - 1);
    }

    fn step_port(&mut self, at: usize, driven: &Driven, is_read: bool, is_written: bool) {
        let outputs = self.port(at);
        let (taken, asked) = (self.view.taken[at], self.view.asked[at]);
        let port = &mut self.ports[at];
        // A buffer's last register is filled from its memory when it is free.
        if port.read_out && !driven.holds_data {
            port.reads.pop_front();
            port.read_out = false;
        }
        if !port.read_out && port.read_stored > 0 {
            port.read_out = true;
            port.read_stored -= 1;
        }
        port.read_stored += u32::from(is_read);
        if is_written && port.write_out == Some(true) {
            port.writes.pop_front();
        }
        port.write_commands -= u32::from(is_written && port.write_out.is_some());
        if port.write_out.is_none() || is_written {
            port.write_out = port.write_stored.pop_front();
        }
        if outputs.takes_data {
            port.write_stored.extend(driven.data);
        }
        if let Some(Asked { last, .. }) = asked.filter(|_| taken) {
            let next = |beat: u32| if last { 0 } else { beat + 1 };
            if port.grants_read {
                port.reads.extend(port.read.map(|burst| (burst.tag, last)));
                port.read_beat = next(port.read_beat);
            } else {
                if port.write_beat == 0 {
                    port.writes.extend(port.write.map(|burst| burst.tag));
                }
                port.write_commands += 1;
                port.write_beat = next(port.write_beat);
            }
        }
        if outputs.takes_read {
            port.read = driven.read;
        }
        if outputs.takes_write {
            port.write = driven.write;
        }
        let [writes, reads] = self.view.asks[at];
        if asked.is_none_or(|it| taken && it.last) {
            port.grants_read = if port.grants_read { !writes } else { reads };
        }
    }
}

impl Controller {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        at.at_rest(self.is_idle(), "the controller has something to do")?;
        let Controller {
            figures: _,
            now,
            ports,
            banks,
            mux,
            row_grant,
            column_grant,
            may_activate,
            may_access,
            may_read,
            activates,
            is_window_free,
            read_left,
            write_left,
            refresher: _,
            refresh_left,
            is_refresh_due,
            reads: _,
            writes: _,
            view: _,
        } = self;
        for port in ports {
            at.value(&mut port.grants_read)?;
        }
        for Bank {
            state: _,
            lookahead: _,
            first: _,
            open,
            may_close_written,
            may_close_opened,
            may_open,
            grant,
        } in banks
        {
            at.value(open)?;
            [may_close_written, may_close_opened, may_open]
                .into_iter()
                .try_for_each(|time| at.value(time))?;
            at.value(grant)?;
        }
        at.value(mux)?;
        [row_grant, column_grant].into_iter().try_for_each(|grant| at.value(grant))?;
        [now, may_activate, may_access, may_read].into_iter().try_for_each(|time| at.value(time))?;
        at.value(activates)?;
        [is_window_free, is_refresh_due].into_iter().try_for_each(|it| at.value(it))?;
        [read_left, write_left, refresh_left].into_iter().try_for_each(|left| at.value(left))?;
        self.look();
        Ok(())
    }
}
