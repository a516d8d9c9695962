//! Plays logs of the vendor's virtual platform. Its units take no time and end in their order; those here have their timing. So its accesses
//! are played as a driver's recording is, where reads of the status say what was waited for.

use super::recording::Player;
use super::{FailureKind, PlayContext, PlayError, PlayOptions, memory};
use crate::trace::Line;
use crate::trace::recording::RecordedCommand;
use crate::trace::sc_log::{ScCommand, ScLog};
use vp_models::nvdla::registers::{Located, Unit, bdma};
use vp_models::registers::Access;

pub(super) fn play(
    log: &ScLog,
    context: &mut PlayContext<'_>,
    options: &PlayOptions,
) -> Result<(), PlayError> {
    // What memory held has no line of its own: it is of the whole log, as what is left is.
    context.line = 1;
    for (of, surface) in &log.before {
        context.ask(|host| memory::place(host, *of, 0, surface))?;
    }
    let map = context.host.map();
    let mut player = Player::new(context, options, true);
    for (index, line) in log.lines.iter().enumerate() {
        player.context.line = line.number;
        let goes_on = match &line.command {
            ScCommand::Load { memory, address, bytes } => {
                player.context.ask(|host| host.load(*memory, *address, bytes))?;
                true
            }
            ScCommand::Write { address, value } => {
                player.step(&RecordedCommand::Write { address: *address, value: *value })?
            }
            ScCommand::Read { address, .. } if map.at(*address).is_some_and(is_measured) => true,
            ScCommand::Read { address, value } => {
                player.step(&RecordedCommand::Read { address: *address, value: *value })?
            }
        };
        if !goes_on {
            let is_read = |line: &&Line<ScCommand>| matches!(line.command, ScCommand::Read { .. });
            let checks = log.lines[index + 1..].iter().filter(is_read).count() + log.left.len();
            if checks > 0 {
                player.context.fail(Some(line.number), FailureKind::Ended { checks });
            }
            return Ok(());
        }
    }
    context.settle(true)?;
    let file = context.script.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for (of, surface) in &log.left {
        let verdict = context.ask(|host| memory::compare(host, *of, 0, u64::MAX, (&file, surface)))?;
        match verdict {
            Ok(()) => context.judge(Ok(())),
            Err(kind) => context.fail(None, kind),
        }
    }
    Ok(())
}

/// Returns true if a register has what the hardware counts: of untimed units, that is something else, or nothing.
fn is_measured(located: Located) -> bool {
    let Located { unit, register, .. } = located;
    let is_read_only = register.fields.iter().all(|field| field.access == Access::ReadOnly);
    let is_status = register.name.starts_with("S_") || register == bdma::STATUS;
    is_read_only && !is_status && !matches!(unit, Unit::Glb | Unit::Cfgrom)
}
