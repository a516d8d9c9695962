//! Plays `.txn` scripts: one command after the other. Writes are posted, as they were when the vendor's RTL was measured.

use super::{Desk, FailureKind, PlayError, PlayOptions, SeenInterrupt, Wanted, memory};
use crate::host::trace::txn::{Command, Plusargs};
use crate::host::trace::{Line, Trace};

pub(super) fn play<'a>(
    lines: &'a [Line<Command>],
    plusargs: Plusargs,
    trace: &'a Trace,
    desk: &mut Desk<'a>,
    options: &PlayOptions,
) -> Result<(), PlayError> {
    for (index, line) in lines.iter().enumerate() {
        desk.line = line.number;
        let failed = desk.outcome.failures.len();
        let mut lost = false;
        match &line.command {
            Command::WriteReg { address, value } => {
                desk.outcome.register_writes += 1;
                desk.ask(|host| host.write(*address, *value))?;
            }
            Command::ReadReg { address, mask, relation, value, retries } => {
                let retries = retries.or(plusargs.read_reg_poll_retries).unwrap_or(options.read_retries);
                let register = format!("register {address:#x}");
                let wanted = Wanted { register: &register, relation: *relation, value: *value, mask: *mask };
                let verdict = desk.expect(*address, retries, &wanted)?;
                desk.judge(verdict);
            }
            Command::LoadMem(transfer) => {
                // The surface was checked to be long enough when the trace was read.
                let bytes = trace.surface(&transfer.file).prefix(transfer.size).unwrap_or_default();
                desk.ask(|host| host.load(transfer.memory, transfer.address, bytes))?;
            }
            Command::DumpMem(transfer) => {
                let surface = (transfer.file.as_str(), trace.surface(&transfer.file));
                let verdict = desk.ask(|host| {
                    memory::compare(host, transfer.memory, transfer.address, transfer.size, surface)
                })?;
                desk.judge(verdict);
            }
            Command::Wait => match desk.wait_interrupt()? {
                Ok(time) => desk.outcome.interrupts.push(SeenInterrupt { interrupt: None, time }),
                Err(reason) => {
                    desk.fail(Some(line.number), FailureKind::WaitEnded(reason));
                    // What follows a wait works on what the wait was for.
                    lost = true;
                }
            },
        }
        let wrong = desk.outcome.failures.len() > failed;
        if lost || wrong && !plusargs.continue_on_fail {
            let checks = lines[index + 1..].iter().filter(|line| is_check(&line.command)).count();
            if checks > 0 {
                desk.fail(Some(line.number), FailureKind::Ended { checks });
            }
            return Ok(());
        }
    }
    Ok(())
}

fn is_check(command: &Command) -> bool {
    matches!(command, Command::ReadReg { .. } | Command::DumpMem(_) | Command::Wait)
}
