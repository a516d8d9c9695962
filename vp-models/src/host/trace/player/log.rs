//! Plays logs of register accesses: memory is loaded, and registers are accessed, as they were, and where the interrupt line rose it
//! must rise. What was read is compared as of a driver's recording.

use super::recording::Reading;
use super::{Desk, FailureKind, PlayError, PlayOptions, SeenInterrupt, Wanted};
use crate::host::trace::Line;
use crate::host::trace::log::LogCommand;
use crate::host::trace::txn::Relation;
use crate::nvdla::registers::{RegisterMap, Unit, glb};

pub(super) fn play(
    lines: &[Line<LogCommand>],
    desk: &mut Desk<'_>,
    options: &PlayOptions,
) -> Result<(), PlayError> {
    let map = desk.host.map();
    for (index, line) in lines.iter().enumerate() {
        desk.line = line.number;
        match &line.command {
            LogCommand::Load { memory, address, bytes } => {
                desk.ask(|host| host.load(*memory, *address, bytes))?;
            }
            LogCommand::Write { address, register, value } => {
                check_name(desk, map, *address, register.as_deref());
                // A posted write takes effect later: a load must not overtake it, nor must a wait find the line high that it lowers.
                let is_posted = lines.get(index + 1).is_some_and(|next| next.command.is_access());
                match is_posted {
                    true => desk.write(*address, *value)?,
                    false => {
                        desk.outcome.register_writes += 1;
                        desk.ask(|host| host.write_acknowledged(*address, *value))?;
                    }
                }
            }
            LogCommand::Read { address, register, value } => {
                check_name(desk, map, *address, register.as_deref());
                read(desk, map, (*address, *value), options)?;
            }
            LogCommand::Interrupt => match desk.wait_interrupt()? {
                Ok(time) => {
                    desk.outcome.interrupts.push(SeenInterrupt { interrupt: None, time });
                    desk.judge(Ok(()));
                }
                Err(reason) => {
                    let interrupts = "the interrupt line".to_owned();
                    desk.fail(Some(line.number), FailureKind::Missing { interrupts, reason });
                    return Ok(());
                }
            },
        }
    }
    Ok(())
}

/// A log of another map would access other registers than it names.
fn check_name(desk: &mut Desk<'_>, map: RegisterMap, address: u32, name: Option<&str>) {
    let Some(name) = name.filter(|_| map != RegisterMap::Foreign) else { return };
    let here = map.at(address).map(|located| located.to_string());
    // The capability ROM's words have names of their own.
    if here.as_deref() != Some(name) && !name.starts_with("CFGROM.") {
        let here = here.unwrap_or_else(|| "no register".to_owned());
        let (named, line) = (name.to_owned(), desk.line);
        desk.fail(Some(line), FailureKind::OtherRegister { address, named, here });
    }
}

fn read(
    desk: &mut Desk<'_>,
    map: RegisterMap,
    (address, value): (u32, u32),
    options: &PlayOptions,
) -> Result<(), PlayError> {
    let located = map.at(address);
    let name = located.map_or_else(|| format!("register {address:#x}"), |located| located.to_string());
    let polls = options.poll_reads.saturating_sub(1);
    let is_status = located.is_some_and(|it| it.unit == Unit::Glb && it.register == glb::S_INTR_STATUS);
    let (relation, value, mask, retries) = match located.map_or(Reading::Exact, Reading::of) {
        // What came together there may come one after the other here, or more of it at once.
        _ if is_status && value != 0 => (Relation::Equal, value, value, polls),
        Reading::Free => {
            desk.read(address)?;
            return Ok(());
        }
        Reading::Exact => (Relation::Equal, value, u32::MAX, 0),
        Reading::Polled(0) => (Relation::AtLeast, 1, 0xff, polls),
        Reading::Polled(mask) => (Relation::Equal, value, mask, polls),
        Reading::Idle => (Relation::Equal, value, Reading::idle_groups(value), 0),
    };
    let verdict = desk.expect(address, retries, &Wanted { register: &name, relation, value, mask })?;
    desk.judge(verdict);
    Ok(())
}
