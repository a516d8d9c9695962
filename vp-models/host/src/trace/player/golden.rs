//! Compares what a layer left in memory with a golden.

use std::path::Path;

use super::{FailureKind, Left, PlayContext, PlayError};
use crate::Memory;
use crate::trace::recording::Golden;

/// Compares a memory from `base` on.
pub(super) fn compare(
    context: &mut PlayContext<'_>,
    golden: &Golden,
    (memory, base): (Memory, u64),
) -> Result<(), PlayError> {
    let mut left = vec![0; golden.memory_bytes()];
    context.ask(|host| host.fetch(memory, base, &mut left))?;
    let name = |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let file = name(golden.file());
    let (elements, values, verdict) = match golden {
        Golden::Image(image) => {
            let differs: Vec<(usize, u8)> = image.differing(&left).collect();
            let verdict = match differs.first() {
                None => Ok(()),
                Some(&(at, expected)) => Err(FailureKind::Bytes {
                    memory,
                    file,
                    differing: differs.len() as u64,
                    address: base.saturating_add(at as u64),
                    expected,
                    actual: left[at],
                }),
            };
            (image.len(), Vec::new(), verdict)
        }
        Golden::Values { element, values: expected, within, .. } => {
            let actual = element.values(&left);
            let near = |expected: &i64, actual: &Option<i64>| {
                actual.is_some_and(|actual| actual.abs_diff(*expected) <= u64::from(*within))
            };
            let both = expected.iter().zip(&actual);
            let differing = both.filter(|(expected, actual)| !near(expected, actual)).count();
            let verdict = if differing == 0 {
                Ok(())
            } else {
                let (count, actual) = (expected.len(), actual.clone());
                let expected = expected.iter().copied().map(Some).collect();
                Err(FailureKind::Values { file, base, differing, count, expected, actual })
            };
            (expected.len(), actual, verdict)
        }
    };
    context.outcome.result = Some(Left { golden: golden.file().to_owned(), base, elements, values });
    context.judge(verdict);
    Ok(())
}
