//! Plays logs of register accesses: memory is loaded, and registers are accessed, as they were, and where the interrupt line rose it
//! must rise. What was read is compared as of a driver's recording.

use super::recording::Reading;
use super::{ExpectedValue, FailureKind, PlayContext, PlayError, PlayOptions, SeenInterrupt, name_of};
use crate::trace::Line;
use crate::trace::log::LogCommand;
use crate::trace::txn::Relation;
use vp_models::nvdla::registers::{RegisterMap, Unit, glb};

pub(super) fn play(
    lines: &[Line<LogCommand>],
    context: &mut PlayContext<'_>,
    options: &PlayOptions,
) -> Result<(), PlayError> {
    let map = context.host.map();
    for (index, line) in lines.iter().enumerate() {
        context.line = line.number;
        match &line.command {
            LogCommand::Load { memory, address, bytes } => {
                context.ask(|host| host.load(*memory, *address, bytes))?;
            }
            LogCommand::Write { address, register, value, posted } => {
                check_name(context, map, *address, register.as_deref());
                let follows = !is_waited_for(&lines[index + 1..]);
                match *posted && follows {
                    true => context.write(*address, *value)?,
                    false => {
                        context.outcome.register_writes += 1;
                        context.ask(|host| host.write_acknowledged(*address, *value))?;
                    }
                }
            }
            LogCommand::Read { address, register, value } => {
                check_name(context, map, *address, register.as_deref());
                read(context, map, (*address, *value), options)?;
            }
            LogCommand::Line { level: false } => {}
            LogCommand::Line { level: true } => match context.wait_interrupt()? {
                Ok(time) => {
                    context.outcome.interrupts.push(SeenInterrupt { interrupt: None, time });
                    context.judge(Ok(()));
                }
                Err(reason) => {
                    let interrupts = "the interrupt line".to_owned();
                    context.fail(Some(line.number), FailureKind::Missing { interrupts, reason });
                    return Ok(());
                }
            },
        }
    }
    Ok(())
}

/// Returns true if what the log has behind a posted write would come before it, if it were not answered first: a load, a wait that would
/// find the line high which the write lowers, the end.
fn is_waited_for(behind: &[Line<LogCommand>]) -> bool {
    let falls = |line: &&Line<LogCommand>| matches!(line.command, LogCommand::Line { level: false });
    let next = behind.iter().find(|line| !falls(line));
    match next.map(|line| &line.command) {
        None | Some(LogCommand::Load { .. }) => true,
        Some(LogCommand::Line { .. }) => behind.first().as_ref().is_some_and(falls),
        Some(LogCommand::Write { .. } | LogCommand::Read { .. }) => false,
    }
}

/// A log of another map would access other registers than it names.
fn check_name(context: &mut PlayContext<'_>, map: RegisterMap, address: u32, name: Option<&str>) {
    let Some(name) = name.filter(|_| map != RegisterMap::Foreign) else { return };
    let here = map.at(address).map(|located| located.to_string());
    // The capability ROM's words have names of their own.
    if here.as_deref() != Some(name) && !name.starts_with("CFGROM.") {
        let here = here.unwrap_or_else(|| "no register".to_owned());
        let (named, line) = (name.to_owned(), context.line);
        context.fail(Some(line), FailureKind::OtherRegister { address, named, here });
    }
}

fn read(
    context: &mut PlayContext<'_>,
    map: RegisterMap,
    (address, value): (u32, u32),
    options: &PlayOptions,
) -> Result<(), PlayError> {
    let located = map.at(address);
    let name = name_of(map, address);
    let polls = options.poll_reads.saturating_sub(1);
    let is_status = located.is_some_and(|it| it.unit == Unit::Glb && it.register == glb::S_INTR_STATUS);
    let reading = located.map_or(Reading::Exact, |located| Reading::of(located, value));
    let (relation, value, mask, retries) = match reading {
        // What came together there may come one after the other here, or more of it at once.
        _ if is_status && value != 0 => (Relation::Equal, value, value, polls),
        Reading::Free => {
            context.read(address)?;
            return Ok(());
        }
        Reading::Exact => (Relation::Equal, value, u32::MAX, 0),
        Reading::Slots => (Relation::AtLeast, 1, 0xff, polls),
        Reading::Polled(mask) => (Relation::Equal, value, mask, polls),
    };
    let verdict =
        context.expect(address, retries, &ExpectedValue { register: &name, relation, value, mask })?;
    context.judge(verdict);
    Ok(())
}
