//! Plays recordings: what the driver wrote is written, what it read is read and compared, and the interrupts it waited
//! for must come.
//!
//! A recorded device ended its operations one by one, and took no time; the one here has its own timing. So a read is
//! judged by what the driver needs of it ([`Reading`]), and interrupts may come together or one after the other.

use super::{
    ExpectedValue, FailureKind, PlayContext, PlayError, PlayOptions, SeenInterrupt, memory, name_of,
};
use crate::Memory;
use crate::trace::recording::{Golden, POOL, RecordedCommand};
use crate::trace::txn::Relation;
use crate::trace::{Line, Trace};
use vp_models::nvdla::glb::Interrupt;
use vp_models::nvdla::registers::{Located, RegisterMap, Unit, bdma, cdma, glb};

/// Most bits that nobody waits for and that are told one by one.
const MAX_UNEXPECTED: usize = 4;

/// Meaning of a value that the driver read, and so how one read here must stand to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The driver goes by it as it is.
    Exact,
    /// The register is polled until these bits are so.
    Polled(u32),
    /// Free slots: it is polled until there is one.
    Slots,
    /// The status of interrupts, which the player takes as they come; and the pointer of an RDMA, which turns when it
    /// has read all it needs, while the recorded one waited for its engine: the driver sets the producer by the
    /// engine's.
    Free,
}

impl Reading {
    /// The bits of the groups that were idle.
    fn idle_groups(status: u32) -> u32 {
        [0x0000_0003, 0x0003_0000].into_iter().filter(|group| status & group == 0).sum()
    }

    /// Returns the meaning of a value that was read of a register.
    pub(super) fn of(located: Located, value: u32) -> Reading {
        let Located { unit, register, .. } = located;
        let rdma = matches!(unit, Unit::SdpRdma | Unit::PdpRdma | Unit::CdpRdma);
        match unit {
            Unit::Glb if register == glb::S_INTR_STATUS => Reading::Free,
            Unit::Cdma if register == cdma::S_CBUF_FLUSH_STATUS => Reading::Polled(u32::MAX),
            Unit::Bdma if register == bdma::STATUS => Reading::Slots,
            // A group that was idle must come to be: it is programmed next, or its end is polled. One that was not may have ended since.
            _ if register.name == "S_STATUS" => Reading::Polled(Reading::idle_groups(value)),
            _ if Some(register) == unit.op_enable() => Reading::Polled(!value & 1),
            _ if register.name == "S_POINTER" && rdma => Reading::Free,
            _ => Reading::Exact,
        }
    }
}

/// Address to which the last layer writes, as far as it has been said.
#[derive(Default)]
struct Destination {
    low: u32,
    high: u32,
}

impl Destination {
    fn note(&mut self, register: &str, value: u32) {
        match register {
            "D_DST_BASE_ADDR_LOW" | "D_DAOUT_ADDR_LOW" | "CFG_DST_ADDR_LOW" => self.low = value,
            "D_DST_BASE_ADDR_HIGH" | "D_DAOUT_ADDR_HIGH" | "CFG_DST_ADDR_HIGH" => self.high = value,
            _ => {}
        }
    }

    fn address(&self) -> u64 {
        u64::from(self.high) << 32 | u64::from(self.low)
    }
}

/// Plays what a driver did, access by access.
pub(super) struct Player<'a, 'd> {
    pub(super) context: &'d mut PlayContext<'a>,
    map: RegisterMap,
    /// Byte address of `S_INTR_STATUS`.
    status: u32,
    poll_reads: u32,
    /// Bits that have come and were not waited for yet.
    come: u32,
    /// Bits that what is played has read and not cleared yet, where its reads of the status say what it waits for.
    polled: Option<u32>,
    /// Bits that were waited for, and so cleared, before what is played clears them.
    cleared: u32,
    destination: Destination,
}

pub(super) fn play<'a>(
    lines: &'a [Line<RecordedCommand>],
    golden: Option<&Golden>,
    trace: &'a Trace,
    context: &mut PlayContext<'a>,
    options: &PlayOptions,
) -> Result<(), PlayError> {
    for surface in trace.surfaces().values() {
        context.ask(|host| memory::place(host, Memory::Primary, POOL, surface))?;
    }
    let waits = lines.iter().any(|line| matches!(line.command, RecordedCommand::Interrupt { .. }));
    let mut player = Player::new(context, options, !waits);
    for (index, line) in lines.iter().enumerate() {
        player.context.line = line.number;
        if !player.step(&line.command)? {
            let is_check =
                |line: &&Line<RecordedCommand>| !matches!(line.command, RecordedCommand::Write { .. });
            let checks = lines[index + 1..].iter().filter(is_check).count() + golden.iter().count();
            if checks > 0 {
                player.context.fail(Some(line.number), FailureKind::Ended { checks });
            }
            return Ok(());
        }
    }
    player.left_over()?;
    match golden {
        Some(golden) => {
            super::golden::compare(player.context, golden, (Memory::Primary, player.destination.address()))
        }
        None => Ok(()),
    }
}

impl<'a, 'd> Player<'a, 'd> {
    /// A player of accesses that read the status of interrupts until they have come (`polls`), or have lines that say so.
    pub(super) fn new(
        context: &'d mut PlayContext<'a>,
        options: &PlayOptions,
        polls: bool,
    ) -> Player<'a, 'd> {
        let map = context.host.map();
        let status = map.address(Unit::Glb, glb::S_INTR_STATUS).unwrap_or_default();
        let (poll_reads, polled) = (options.poll_reads, polls.then_some(0));
        let destination = Destination::default();
        Player { context, map, status, poll_reads, come: 0, polled, cleared: 0, destination }
    }

    /// Does a line; false if what follows makes no sense any more.
    pub(super) fn step(&mut self, command: &RecordedCommand) -> Result<bool, PlayError> {
        match *command {
            RecordedCommand::Write { address, value } if address == self.status => self.clear(value)?,
            RecordedCommand::Read { address, value } if address == self.status => return self.poll(value),
            RecordedCommand::Write { address, value } => {
                if let Some(located) = self.map.at(address) {
                    self.destination.note(located.register.name, value);
                }
                self.context.write(address, value)?;
            }
            RecordedCommand::Read { address, value } => self.read(address, value)?,
            RecordedCommand::Interrupt { bits } => return self.wait(bits),
        }
        Ok(true)
    }

    /// Reads the status of interrupts until these bits have come, unless lines of their own say when they must.
    fn poll(&mut self, value: u32) -> Result<bool, PlayError> {
        let Some(polled) = self.polled else { return Ok(true) };
        self.polled = Some(polled | value);
        let new = value & !polled;
        self.cleared |= new;
        if new == 0 { Ok(true) } else { self.wait(new) }
    }

    /// Clears bits of the status; the player has cleared those that it has taken.
    fn clear(&mut self, value: u32) -> Result<(), PlayError> {
        let Some(polled) = &mut self.polled else { return Ok(()) };
        *polled &= !value;
        let (left, status) = (value & !self.cleared, self.status);
        self.cleared &= !value;
        // A bit that has been taken and not been read is gone, too.
        self.come &= !left;
        if left == 0 { Ok(()) } else { self.context.write(status, left) }
    }

    fn read(&mut self, address: u32, recorded: u32) -> Result<(), PlayError> {
        let reading = self.map.at(address).map_or(Reading::Exact, |located| Reading::of(located, recorded));
        let name = name_of(self.map, address);
        let polls = self.poll_reads.saturating_sub(1);
        let (relation, value, mask, retries) = match reading {
            Reading::Free => return Ok(()),
            Reading::Exact => (Relation::Equal, recorded, u32::MAX, 0),
            Reading::Slots => (Relation::AtLeast, 1, 0xff, polls),
            Reading::Polled(mask) => (Relation::Equal, recorded, mask, polls),
        };
        let wanted = ExpectedValue { register: &name, relation, value, mask };
        let verdict = self.context.expect(address, retries, &wanted)?;
        self.context.judge(verdict);
        Ok(())
    }

    /// Waits until these bits have come; false if they never do.
    fn wait(&mut self, bits: u32) -> Result<bool, PlayError> {
        while self.come & bits != bits {
            match self.context.wait_interrupt()? {
                Ok(time) => {
                    let status = self.context.read(self.status)?;
                    if status == 0 {
                        self.context
                            .fail(Some(self.context.line), FailureKind::NothingActive { status, mask: 0 });
                        return Ok(false);
                    }
                    self.take(status, time)?;
                }
                Err(reason) => {
                    // A program that polls may have masked them.
                    if self.polled.is_some() {
                        let status = self.context.read(self.status)?;
                        if status & bits & !self.come != 0 {
                            let time = self.context.ask(|host| host.now())?;
                            self.take(status, time)?;
                            continue;
                        }
                    }
                    let missing = names(bits & !self.come).join(", ");
                    let kind = FailureKind::Missing { interrupts: missing, reason };
                    self.context.fail(Some(self.context.line), kind);
                    return Ok(false);
                }
            }
        }
        self.come &= !bits;
        self.context.judge(Ok(()));
        Ok(true)
    }

    /// Clears the bits of a status and notes them. One that has come already and was not waited for is one too many.
    fn take(&mut self, status: u32, time: vp_core::Time) -> Result<(), PlayError> {
        // Acknowledged, or the line would still be high at the next wait.
        let address = self.status;
        self.context.outcome.register_writes += 1;
        self.context.ask(|host| host.write_acknowledged(address, status))?;
        for bit in (0..32).filter(|bit| status >> bit & 1 == 1) {
            let interrupt = Interrupt::from_bit(bit);
            self.context.outcome.interrupts.push(SeenInterrupt { interrupt, time });
        }
        // A program that polls need not read all of them.
        let twice = if self.polled.is_some() { 0 } else { self.come & status };
        for interrupt in names(twice) {
            self.context.fail(Some(self.context.line), FailureKind::Unexpected { interrupt, time });
        }
        self.come |= status;
        Ok(())
    }

    /// Records as failures the interrupts that have come and for which nobody waits.
    fn left_over(&mut self) -> Result<(), PlayError> {
        if self.polled.is_some() {
            return Ok(());
        }
        let status = self.context.read(self.status)?;
        let time = self.context.ask(|host| host.now())?;
        for interrupt in names(self.come | status).into_iter().take(MAX_UNEXPECTED) {
            self.context.fail(None, FailureKind::Unexpected { interrupt, time });
        }
        Ok(())
    }
}

/// The interrupts of a status word, by name or, where no source has it, by bit.
fn names(status: u32) -> Vec<String> {
    (0..32)
        .filter(|bit| status >> bit & 1 == 1)
        .map(|bit| Interrupt::from_bit(bit).map_or_else(|| format!("bit {bit}"), |it| it.to_string()))
        .collect()
}
