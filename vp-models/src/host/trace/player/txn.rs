//! Plays `.txn` scripts: one command after the other. Writes are posted, as they were when the vendor's RTL was measured.

use super::{
    FailureKind, PlayContext, PlayError, PlayOptions, RegisterNames, SeenInterrupt, Wanted, memory, resolve,
};
use crate::host::HostError;
use crate::host::trace::txn::{Plusargs, TxnCommand};
use crate::host::trace::{Line, Trace};

pub(super) fn play<'a>(
    lines: &'a [Line<TxnCommand>],
    plusargs: Plusargs,
    trace: &'a Trace,
    context: &mut PlayContext<'a>,
    (names, options): (&dyn RegisterNames, &PlayOptions),
) -> Result<(), PlayError> {
    // Interrupts that have come and that no `wait_intr` has asked for yet.
    let mut pending = 0;
    for (index, line) in lines.iter().enumerate() {
        context.line = line.number;
        let failed = context.outcome.failures.len();
        let mut lost = false;
        match &line.command {
            TxnCommand::WriteReg { address, value } => {
                context.outcome.register_writes += 1;
                context.ask(|host| host.write(*address, *value))?;
            }
            TxnCommand::ReadReg { address, mask, relation, value, retries } => {
                let retries = retries.or(plusargs.read_reg_poll_retries).unwrap_or(options.read_retries);
                let register = format!("register {address:#x}");
                let wanted = Wanted { register: &register, relation: *relation, value: *value, mask: *mask };
                let verdict = context.expect(*address, retries, &wanted)?;
                context.judge(verdict);
            }
            TxnCommand::LoadMem(transfer) => {
                // The surface was checked to be long enough when the trace was read.
                let bytes = trace.surface(&transfer.file).prefix(transfer.size).unwrap_or_default();
                context.ask(|host| host.load(transfer.memory, transfer.address, bytes))?;
            }
            TxnCommand::DumpMem(transfer) => {
                let surface = (transfer.file.as_str(), trace.surface(&transfer.file));
                let verdict = context.ask(|host| {
                    memory::compare(host, transfer.memory, transfer.address, transfer.size, surface)
                })?;
                context.judge(verdict);
            }
            TxnCommand::FillMem { memory, address, size, byte } => {
                context.ask(|host| memory::fill_with(host, *memory, *address, *size, *byte))?;
            }
            TxnCommand::WaitIntr { mask } => {
                let status = resolve(trace, line.number, "GLB.S_INTR_STATUS", names)?;
                match context.wait_for(*mask, status, &mut pending)? {
                    Ok(()) => {}
                    Err(reason) => {
                        context.fail(Some(line.number), FailureKind::WaitEnded(reason));
                        lost = true;
                    }
                }
            }
            TxnCommand::Wait => match context.wait_interrupt()? {
                Ok(time) => context.outcome.interrupts.push(SeenInterrupt { interrupt: None, time }),
                Err(reason) => {
                    context.fail(Some(line.number), FailureKind::WaitEnded(reason));
                    // What follows a wait works on what the wait was for.
                    lost = true;
                }
            },
        }
        let wrong = context.outcome.failures.len() > failed;
        if lost || wrong && !plusargs.continue_on_fail {
            let checks = lines[index + 1..].iter().filter(|line| is_check(&line.command)).count();
            if checks > 0 {
                context.fail(Some(line.number), FailureKind::Ended { checks });
            }
            return Ok(());
        }
    }
    Ok(())
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

fn is_check(command: &TxnCommand) -> bool {
    use TxnCommand::{DumpMem, ReadReg, Wait, WaitIntr};
    matches!(command, ReadReg { .. } | DumpMem(_) | Wait | WaitIntr { .. })
}
