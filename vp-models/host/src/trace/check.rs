//! Checks of a trace before it is played: regions, sizes, events, and that something is done.

use std::collections::BTreeSet;

use super::cfg::{CfgCommand as Cfg, Extent};
use super::error::{TraceError, TraceErrorKind};
use super::txn::TxnCommand as Txn;
use super::{Body, Line, MAX_MEMORY_BYTES, Trace};
use vp_models::suggestion::nearest;

/// Refuses the first thing that could not be played.
pub(super) fn check(trace: &Trace) -> Result<(), TraceError> {
    match &trace.body {
        Body::Cfg(lines) => {
            check_events(trace, lines)?;
            check_regions(trace, lines)?;
        }
        Body::Txn { lines, .. } => check_transfers(trace, lines)?,
        Body::Recording { .. } | Body::Log(_) | Body::ScLog(_) | Body::Loadable { .. } => {}
    }
    match trace.body.is_empty() {
        true => Err(TraceError::whole(&trace.script, TraceErrorKind::NoCommands)),
        false => Ok(()),
    }
}

fn check_events(trace: &Trace, lines: &[Line<Cfg>]) -> Result<(), TraceError> {
    let fired: BTreeSet<&str> = lines
        .iter()
        .filter_map(|line| match &line.command {
            Cfg::IntrNotify { event, .. } | Cfg::SyncNotify { event, .. } => Some(event.as_str()),
            _ => None,
        })
        .collect();
    for line in lines {
        let waited = match &line.command {
            Cfg::SyncWait { event, .. }
            | Cfg::CheckCrc { event, .. }
            | Cfg::CheckFile { event, .. }
            | Cfg::CheckNothing { event } => event,
            Cfg::MemInit { after: Some(event), .. }
            | Cfg::MemLoad { after: Some(event), .. }
            | Cfg::MemReserve { after: Some(event), .. }
            | Cfg::MemRelease { after: Some(event), .. } => event,
            _ => continue,
        };
        if !fired.contains(waited.as_str()) {
            let nearest = nearest(waited, fired.iter().copied()).map(str::to_owned);
            return Err(
                trace.error(line.number, TraceErrorKind::NobodyFires { event: waited.clone(), nearest })
            );
        }
    }
    Ok(())
}

fn check_regions(trace: &Trace, lines: &[Line<Cfg>]) -> Result<(), TraceError> {
    let (mut written, mut checked) = (0, 0);
    for line in lines {
        let fits = |base: u64, size: u64| match base.checked_add(size) {
            Some(_) => Ok(()),
            None => {
                Err(trace.error(line.number, TraceErrorKind::BeyondMemory { base, size, last: u64::MAX }))
            }
        };
        let add = |total: &mut u64, what, size: u64| within(trace, line.number, total, what, size);
        match &line.command {
            Cfg::MemInit { base, extent, .. } => {
                let size = match extent {
                    Extent::Bytes(size) => *size,
                    Extent::File(file) => trace.surface(file).extent(),
                };
                fits(*base, size)?;
                add(&mut written, "writes", size)?;
            }
            Cfg::MemLoad { base, file, .. } => {
                let surface = trace.surface(file);
                fits(*base, surface.extent())?;
                add(&mut written, "writes", surface.len())?;
            }
            Cfg::MemReserve { base, size, .. } => fits(*base, *size)?,
            Cfg::CheckCrc { size: 0, .. } | Cfg::CheckFile { size: 0, .. } => {
                return Err(trace.error(line.number, TraceErrorKind::EmptyCheck));
            }
            Cfg::CheckCrc { base, size, .. } => {
                fits(*base, *size)?;
                add(&mut checked, "checks", *size)?;
            }
            Cfg::CheckFile { base, size, file, .. } => {
                fits(*base, *size)?;
                add(&mut checked, "checks", *size)?;
                let holds = trace.surface(file).extent();
                if holds < *size {
                    let kind = TraceErrorKind::ShortFile { name: file.clone(), holds, needs: *size };
                    return Err(trace.error(line.number, kind));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_transfers(trace: &Trace, lines: &[Line<Txn>]) -> Result<(), TraceError> {
    let (mut written, mut checked) = (0u64, 0u64);
    for line in lines {
        let (transfer, total, what) = match &line.command {
            Txn::FillMem { size, .. } => {
                within(trace, line.number, &mut written, "writes", *size)?;
                continue;
            }
            Txn::LoadMem(transfer) => (transfer, &mut written, "writes"),
            Txn::DumpMem(transfer) => (transfer, &mut checked, "checks"),
            _ => continue,
        };
        if transfer.size == 0 && matches!(line.command, Txn::DumpMem(_)) {
            return Err(trace.error(line.number, TraceErrorKind::EmptyCheck));
        }
        let holds = trace.surface(&transfer.file).extent();
        if holds < transfer.size {
            let kind = TraceErrorKind::ShortFile { name: transfer.file.clone(), holds, needs: transfer.size };
            return Err(trace.error(line.number, kind));
        }
        within(trace, line.number, total, what, transfer.size)?;
    }
    Ok(())
}

/// Adds to what a script does to memory; that has a limit.
fn within(
    trace: &Trace,
    line: u32,
    total: &mut u64,
    what: &'static str,
    size: u64,
) -> Result<(), TraceError> {
    *total = total.saturating_add(size);
    if *total <= MAX_MEMORY_BYTES {
        return Ok(());
    }
    let kind = TraceErrorKind::TooMuchMemory { what, total: *total, limit: MAX_MEMORY_BYTES };
    Err(trace.error(line, kind))
}
