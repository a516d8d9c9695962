//! Numbers of times that models report what is to be counted.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::RefCell;
use std::collections::BTreeMap;
use vp_core::observe::{Kinds, Observation, Observer, Source, What};

/// Counts what is reported to be counted, by source and label. Sources have few labels.
#[derive(Default)]
pub(crate) struct Tally(RefCell<BTreeMap<Source, Vec<(String, u64)>>>);

impl Tally {
    /// Begins anew.
    pub(crate) fn restart(&self) {
        self.0.take();
    }

    /// Returns the number of times that each source reported each label.
    pub(crate) fn counts(&self) -> BTreeMap<(Source, String), u64> {
        let counts = self.0.borrow();
        let each = counts.iter().flat_map(|(source, labels)| labels.iter().map(move |of| (*source, of)));
        each.map(|(source, (label, count))| ((source, label.clone()), *count)).collect()
    }

    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Tally(by_source) = self;
        let mut counts = self.counts();
        at.value(&mut counts)?;
        let mut by_source = by_source.borrow_mut();
        by_source.clear();
        for ((source, label), count) in counts {
            by_source.entry(source).or_default().push((label, count));
        }
        Ok(())
    }
}

impl Observer for Tally {
    fn wants(&self) -> Kinds {
        Kinds::COUNTS
    }

    fn observe(&self, observation: &Observation<'_>) {
        let What::Count { label, .. } = observation.what else { return };
        let mut counts = self.0.borrow_mut();
        let labels = counts.entry(observation.source).or_default();
        match labels.iter_mut().find(|(known, _)| known == label) {
            Some((_, count)) => *count += 1,
            None => labels.push((label.to_owned(), 1)),
        }
    }
}
