//! The observers of one platform that write files.

use std::rc::Rc;

use vp_core::observe::{Observer, Subscription};
use vp_core::{Sim, Time};

use crate::ObserveError;

/// An observer that writes a file.
pub(crate) trait FileObserver: Observer {
    /// Returns true if the file cannot be written any more: [`finish`](FileObserver::finish) says why.
    fn has_failed(&self) -> bool;

    /// Everything up to `now` has been reported: completes the file and gives it its name, or says why not.
    /// Returns a note about the file for people, in one line.
    fn finish(&self, now: Time) -> Result<Option<String>, ObserveError>;
}

/// The observers of one platform that write files. If they are dropped before they have finished, there are no files.
#[must_use = "without `finish` there are no files"]
pub struct Observers {
    sim: Sim,
    attached: Vec<(Subscription, Rc<dyn FileObserver>)>,
}

/// Outcome of the files.
#[derive(Debug, Default)]
pub struct Finished {
    /// Notes about the files for people, one line each.
    pub notes: Vec<String>,
    /// Errors of the files that could not be written.
    pub errors: Vec<ObserveError>,
}

impl Observers {
    pub(crate) fn new(sim: Sim) -> Observers {
        Observers { sim, attached: Vec::new() }
    }

    /// Has another one look on.
    pub(crate) fn attach(&mut self, observer: Rc<dyn FileObserver>) {
        self.attached.push((self.sim.observe(observer.clone()), observer));
    }

    /// Ends the observers whose files cannot be written any more, for example on a full disk, and says why. The
    /// others go on.
    pub fn take_failures(&mut self) -> Vec<ObserveError> {
        let now = self.sim.now();
        let failed = self.attached.extract_if(.., |(_, observer)| observer.has_failed());
        let end = |(subscription, observer): (Subscription, Rc<dyn FileObserver>)| {
            subscription.cancel();
            observer.finish(now).err()
        };
        failed.filter_map(end).collect()
    }

    /// Ends them at the present point of the run, and puts their files in place.
    #[must_use]
    pub fn finish(mut self) -> Finished {
        let (now, mut finished) = (self.sim.now(), Finished::default());
        for (subscription, observer) in self.attached.drain(..) {
            subscription.cancel();
            match observer.finish(now) {
                Ok(note) => finished.notes.extend(note),
                Err(error) => finished.errors.push(error),
            }
        }
        finished
    }
}

impl Drop for Observers {
    fn drop(&mut self) {
        self.attached.drain(..).for_each(|(subscription, _)| subscription.cancel());
    }
}
