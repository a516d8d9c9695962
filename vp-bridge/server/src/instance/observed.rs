//! The observers of the platform.

use vp_models::hub::Input;

use super::PlatformThread;
use crate::ObservePlatforms;

impl PlatformThread {
    /// The platform has been built.
    pub(super) fn begin_observing(&mut self, observe: &dyn ObservePlatforms, name: &str) {
        match observe.begin(name, &mut self.hub) {
            Ok(observer) => self.observer = Some(observer),
            Err(error) => self.not_observed(&error),
        }
    }

    /// Answers are about to go out.
    #[inline]
    pub(super) fn let_observer_keep_up(&mut self) {
        if let Some(observer) = &mut self.observer
            && let Err(error) = observer.before_answers()
        {
            self.not_observed(&error);
        }
    }

    /// The platform has ended.
    pub(super) fn finish_observing(&mut self) {
        if let Some(observer) = self.observer.take()
            && let Err(error) = observer.finish()
        {
            self.not_observed(&error);
        }
    }

    fn not_observed(&mut self, error: &str) {
        // Logged by that, too.
        self.handle(Input::Warn { text: error.to_owned() });
    }
}
