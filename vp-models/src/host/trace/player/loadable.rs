//! Plays loadables: runs them, and compares what they leave.

use super::{Desk, FailureKind, PlayError, SeenInterrupt, golden};
use crate::host::loadable::{self, Loadable, RunError};
use crate::host::trace::recording::Golden;
use crate::host::{DriverError, HostError};
use crate::nvdla::glb::Interrupt;

pub(super) fn play(
    loadable: &Loadable,
    inputs: &[Vec<u8>],
    wanted: Option<&Golden>,
    desk: &mut Desk<'_>,
) -> Result<(), PlayError> {
    let execution = match loadable::run(loadable, inputs, desk.host) {
        Ok(execution) => execution,
        // A run that comes to rest, or cannot be, is an answer.
        Err(RunError::Driver(DriverError::Host { error, .. }))
            if !matches!(error, HostError::Idle { .. } | HostError::Limit { .. }) =>
        {
            return Err(desk.stopped(error));
        }
        Err(error) => {
            desk.fail(None, FailureKind::Loadable(error));
            return Ok(());
        }
    };
    desk.outcome.register_writes += execution.register_writes;
    desk.outcome.register_reads += execution.register_reads;
    let served = execution
        .spans
        .iter()
        .map(|span| SeenInterrupt { interrupt: None::<Interrupt>, time: span.completed });
    desk.outcome.interrupts.extend(served);
    let base = execution.outputs.first().map(|output| output.base);
    desk.outcome.execution = Some(execution);
    match (wanted, base) {
        (Some(wanted), Some(base)) => golden::compare(desk, wanted, base),
        _ => {
            desk.judge(Ok(()));
            Ok(())
        }
    }
}
