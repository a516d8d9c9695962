//! The outputs of a hub, until they are polled.

use std::collections::VecDeque;

use super::output::Output;

/// Outputs in their order, and the number of those before them.
#[derive(Default)]
pub(super) struct Outputs {
    waiting: VecDeque<Output>,
    polled: u64,
}

impl Outputs {
    pub(super) fn push(&mut self, output: Output) {
        self.waiting.push_back(output);
    }

    /// Adds an output before all others that wait.
    pub(super) fn push_first(&mut self, output: Output) {
        self.waiting.push_front(output);
    }

    pub(super) fn extend(&mut self, outputs: impl IntoIterator<Item = Output>) {
        self.waiting.extend(outputs);
    }

    pub(super) fn poll(&mut self) -> Option<Output> {
        let output = self.waiting.pop_front()?;
        self.polled += 1;
        Some(output)
    }

    /// Polls only those outputs that `is_meant` selects.
    pub(super) fn poll_if(&mut self, is_meant: impl Fn(&Output) -> bool) -> Vec<Output> {
        let (polled, waiting): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.waiting).into_iter().partition(is_meant);
        self.waiting = waiting;
        self.polled += polled.len() as u64;
        polled.into()
    }

    /// Returns true if none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Number of outputs so far, polled or not.
    pub(super) fn count(&self) -> u64 {
        self.polled + self.waiting.len() as u64
    }
}
