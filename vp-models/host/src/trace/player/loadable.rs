//! Plays loadables: runs them, and compares what they leave.

use super::{FailureKind, PlayContext, PlayError, PlayOptions, SeenInterrupt, golden};
use crate::loadable::{self, Loadable, RunError};
use crate::trace::recording::Golden;
use crate::{DriverError, HostError};
use std::collections::BTreeMap;
use vp_models::nvdla::glb::Interrupt;

pub(super) fn play(
    loadable: &Loadable,
    inputs: &[Vec<u8>],
    goldens: &BTreeMap<usize, Golden>,
    (context, options): (&mut PlayContext<'_>, &PlayOptions),
) -> Result<(), PlayError> {
    let execution = match loadable::run_frames(loadable, inputs, options.frames, context.host) {
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
    if let Some(differs) = execution.differs {
        context.fail(None, FailureKind::Frame(differs));
    }
    let places: Vec<_> = execution.outputs.iter().map(|output| (output.memory, output.base)).collect();
    context.outcome.execution = Some(execution);
    for (&number, golden) in goldens {
        match places.get(number) {
            Some(&place) => golden::compare(context, golden, place)?,
            None => {
                let file = golden.file().file_name().unwrap_or_default().to_string_lossy().into_owned();
                context.fail(None, FailureKind::NoOutput { file, number, outputs: places.len() });
            }
        }
    }
    if goldens.is_empty() {
        context.judge(Ok(()));
    }
    Ok(())
}
