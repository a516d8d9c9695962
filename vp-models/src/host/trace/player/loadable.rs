//! Plays loadables: runs them, and compares what they leave.

use super::{FailureKind, PlayContext, PlayError, SeenInterrupt, golden};
use crate::host::loadable::{self, Loadable, RunError};
use crate::host::trace::recording::Golden;
use crate::host::{DriverError, HostError};
use crate::nvdla::glb::Interrupt;

pub(super) fn play(
    loadable: &Loadable,
    inputs: &[Vec<u8>],
    wanted: Option<&Golden>,
    context: &mut PlayContext<'_>,
) -> Result<(), PlayError> {
    let execution = match loadable::run(loadable, inputs, context.host) {
        Ok(execution) => execution,
        // A run that comes to rest, or cannot be, is an answer.
        Err(RunError::Driver(DriverError::Host { error, .. }))
            if !matches!(error, HostError::Idle { .. } | HostError::Limit { .. }) =>
        {
            return Err(context.stopped(error));
        }
        Err(error) => {
            context.fail(None, FailureKind::Loadable(error));
            return Ok(());
        }
    };
    context.outcome.register_writes += execution.register_writes;
    context.outcome.register_reads += execution.register_reads;
    let served = execution
        .spans
        .iter()
        .map(|span| SeenInterrupt { interrupt: None::<Interrupt>, time: span.completed });
    context.outcome.interrupts.extend(served);
    let base = execution.outputs.first().map(|output| output.base);
    context.outcome.execution = Some(execution);
    match (wanted, base) {
        (Some(wanted), Some(base)) => golden::compare(context, wanted, base),
        _ => {
            context.judge(Ok(()));
            Ok(())
        }
    }
}
