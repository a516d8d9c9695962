//! Plays `.txn` scripts: one command after the other. Writes are posted, as they were when the vendor's RTL was measured.

use super::{
    ExpectedValue, FailureKind, PlayContext, PlayError, PlayOptions, RegisterNames, SeenInterrupt, memory,
    name_of, resolve,
};
use crate::trace::error::TraceErrorKind;
use crate::trace::txn::{Plusargs, Relation, TxnCommand, has_until};
use crate::trace::{Line, Trace};
use crate::{HostError, Memory};
use vp_models::nvdla::registers::{RegisterMap, Unit, cdma};

/// Most reads of an `until`; gem5-NVDLA's player has no limit.
const MAX_UNTIL_READS: u64 = 1 << 24;
/// Reads of an `until` after which it is looked whether a layer runs.
const READS_BETWEEN_LOOKS: u64 = 1 << 16;

struct Player<'a, 'd> {
    context: &'d mut PlayContext<'a>,
    trace: &'a Trace,
    plusargs: Plusargs,
    options: &'d PlayOptions,
    map: RegisterMap,
    /// Byte addresses of S_INTR_STATUS and S_INTR_MASK.
    status: u32,
    mask: u32,
    /// Interrupts that have come and that no `wait_intr` has asked for yet.
    pending: u32,
    /// True if the script is one of gem5-NVDLA's.
    has_until: bool,
}

pub(super) fn play<'a>(
    lines: &'a [Line<TxnCommand>],
    plusargs: Plusargs,
    trace: &'a Trace,
    context: &mut PlayContext<'a>,
    (names, options): (&dyn RegisterNames, &PlayOptions),
) -> Result<(), PlayError> {
    let first = lines.first().map_or(0, |line| line.number);
    let [status, mask] = ["GLB.S_INTR_STATUS", "GLB.S_INTR_MASK"];
    let (status, mask) = (resolve(trace, first, status, names)?, resolve(trace, first, mask, names)?);
    let (map, has_until) = (context.host.map(), has_until(lines));
    let mut player = Player { context, trace, plusargs, options, map, status, mask, pending: 0, has_until };
    let memories = lines.iter().map(|line| player.memory(line)).collect::<Result<Vec<_>, _>>()?;
    for (index, line) in lines.iter().enumerate() {
        player.context.line = line.number;
        let failed = player.context.outcome.failures.len();
        let goes_on = player.step(&line.command, memories[index])?;
        let wrong = player.context.outcome.failures.len() > failed;
        if !goes_on || wrong && !plusargs.continue_on_fail {
            let checks = lines[index + 1..].iter().filter(|line| is_check(&line.command)).count();
            if checks > 0 {
                player.context.fail(Some(line.number), FailureKind::Ended { checks });
            }
            return Ok(());
        }
    }
    Ok(())
}

impl<'a> Player<'a, '_> {
    /// Does a line; false if what follows works on what has not come.
    fn step(&mut self, command: &'a TxnCommand, memory: Memory) -> Result<bool, PlayError> {
        let context = &mut *self.context;
        match command {
            TxnCommand::WriteReg { address, value } => context.write(*address, *value)?,
            TxnCommand::ReadReg { .. } => self.read(command)?,
            TxnCommand::LoadMem(transfer) => {
                // The surface was checked to be long enough when the trace was read.
                let bytes = self.trace.surface(&transfer.file).prefix(transfer.size).unwrap_or_default();
                context.ask(|host| host.load(memory, transfer.address, bytes))?;
            }
            TxnCommand::DumpMem(transfer) => {
                let surface = (transfer.file.as_str(), self.trace.surface(&transfer.file));
                let verdict = context
                    .ask(|host| memory::compare(host, memory, transfer.address, transfer.size, surface))?;
                context.judge(verdict);
            }
            TxnCommand::FillMem { address, size, byte } => {
                context.ask(|host| memory::fill_with(host, memory, *address, *size, *byte))?;
            }
            TxnCommand::WaitIntr { mask } => {
                let ended = context.wait_for(*mask, self.status, &mut self.pending)?;
                return Ok(self.goes_on(ended));
            }
            TxnCommand::Until { address, bits } => return self.until(*address, *bits),
            TxnCommand::Wait => {
                let ended = context.wait_interrupt()?.map(|time| {
                    context.outcome.interrupts.push(SeenInterrupt { interrupt: None, time });
                });
                return Ok(self.goes_on(ended));
            }
        }
        Ok(true)
    }

    fn goes_on(&mut self, ended: Result<(), HostError>) -> bool {
        if let Err(reason) = ended {
            self.context.fail(Some(self.context.line), FailureKind::WaitEnded(reason));
            return false;
        }
        true
    }

    /// The memory that has all the bytes of a line.
    fn memory(&mut self, line: &Line<TxnCommand>) -> Result<Memory, PlayError> {
        self.context.line = line.number;
        let (base, size) = match &line.command {
            TxnCommand::LoadMem(transfer) | TxnCommand::DumpMem(transfer) => {
                (transfer.address, transfer.size)
            }
            TxnCommand::FillMem { address, size, .. } => (*address, *size),
            _ => return Ok(Memory::Primary),
        };
        // Where both have them, the SRAM's place in the vendor's bench decides.
        let order = match base >> 28 {
            5 => [Memory::Secondary, Memory::Primary],
            _ => [Memory::Primary, Memory::Secondary],
        };
        let mut spans = Vec::new();
        for memory in order {
            let holds = self.context.holds(memory, base, size)?;
            match holds {
                None => return Ok(memory),
                Some(holds) => spans.push(format!("{memory}: {holds}")),
            }
        }
        let kind = TraceErrorKind::NoMemory { base, size, holds: spans.join("; ") };
        Err(self.trace.error(line.number, kind).into())
    }

    fn read(&mut self, command: &TxnCommand) -> Result<(), PlayError> {
        let TxnCommand::ReadReg { address, mask, relation, value, retries } = *command else { return Ok(()) };
        let is_flush = self.map.address(Unit::Cdma, cdma::S_CBUF_FLUSH_STATUS) == Some(address);
        let usual = if is_flush { self.options.poll_reads } else { self.options.read_retries };
        let retries = retries.or(self.plusargs.read_reg_poll_retries).unwrap_or(usual);
        if self.has_until && command.is_passed_over(|address| address == self.status) {
            self.context.read(address)?;
            return Ok(());
        }
        let register = self.register(address);
        let wanted = ExpectedValue { register: &register, relation, value, mask };
        let verdict = self.context.expect(address, retries, &wanted)?;
        if verdict.is_err() || command.is_comparison() {
            self.context.judge(verdict);
        }
        Ok(())
    }

    /// The register's name, and the two ways in which a script may say where it is.
    fn register(&self, address: u32) -> String {
        match self.map.at(address) {
            Some(_) => {
                let (name, word) = (name_of(self.map, address), 0xffff_0000 | address >> 2);
                format!("{name} (byte address {address:#x}, word address {word:#x})")
            }
            None => name_of(self.map, address),
        }
    }

    /// Reads until all bits are set; time passes by the interrupt where it can tell.
    fn until(&mut self, address: u32, bits: u32) -> Result<bool, PlayError> {
        let mut reads = 0;
        loop {
            let found = self.context.read(address)?;
            reads += 1;
            if found & bits == bits {
                self.context.judge(Ok(()));
                return Ok(true);
            }
            let is_status = address == self.status;
            let ended = if is_status && found & !self.context.read(self.mask)? == 0 {
                self.context.wait_interrupt()?.err()
            } else {
                None
            };
            let is_idle = reads % READS_BETWEEN_LOOKS == 0 && !self.context.runs_layers()?;
            if ended.is_some() || is_idle || reads >= MAX_UNTIL_READS {
                let (register, relation) = (self.register(address), Relation::Equal);
                let wanted = ExpectedValue { register: &register, relation, value: bits, mask: bits };
                // Once more: what is masked has come without the line.
                let mut verdict = self.context.expect(address, 0, &wanted)?;
                if let Err(FailureKind::Register { reads: told, .. }) = &mut verdict {
                    *told += reads;
                }
                let is_there = verdict.is_ok();
                self.context.judge(verdict);
                return Ok(is_there);
            }
        }
    }
}

impl PlayContext<'_> {
    /// Takes and clears interrupts until all of `mask` have come; those that nobody asked for stay pending.
    fn wait_for(
        &mut self,
        mask: u32,
        status: u32,
        pending: &mut u32,
    ) -> Result<Result<(), HostError>, PlayError> {
        while *pending & mask != mask {
            match self.wait_interrupt()? {
                Ok(time) => self.outcome.interrupts.push(SeenInterrupt { interrupt: None, time }),
                Err(reason) => return Ok(Err(reason)),
            }
            let seen = self.read(status)?;
            self.outcome.register_writes += 1;
            self.ask(|host| host.write_acknowledged(status, seen))?;
            *pending |= seen;
        }
        *pending &= !mask;
        Ok(Ok(()))
    }
}

impl PlayContext<'_> {
    /// None if a memory of the platform's has all these bytes, or what it has.
    fn holds(&mut self, memory: Memory, base: u64, size: u64) -> Result<Option<String>, PlayError> {
        for address in [base, base + size.saturating_sub(1)] {
            match self.host.fetch(memory, address, &mut [0]) {
                Ok(()) => {}
                Err(HostError::MemoryRange { holds, .. }) => return Ok(Some(holds)),
                Err(other) => return Err(self.stopped(other)),
            }
        }
        Ok(None)
    }
}

fn is_check(command: &TxnCommand) -> bool {
    use TxnCommand::{DumpMem, Until, Wait, WaitIntr};
    let waits = matches!(command, DumpMem(_) | Wait | WaitIntr { .. } | Until { .. });
    waits || command.is_comparison()
}
