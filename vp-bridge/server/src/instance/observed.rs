//! The observers of the platform.

use vp_core::observe::WarningMarks;
use vp_hub::{Input, Output, Severity};
use vp_protocols::native::SessionId;

use super::PlatformThread;
use crate::ObservePlatforms;

/// Notes that are kept for sessions that come later, at most: each file fails once.
const MOST_TOLD: usize = 8;

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

    /// A session has come: it is told what the others know already.
    pub(super) fn tell_what_is_not_observed(&mut self, session: SessionId) {
        let time = self.hub.now();
        let told = self.not_observed.iter().cloned();
        for text in told.chain(self.hub.recording_failure().map(str::to_owned)).collect::<Vec<_>>() {
            if self.members.contains_key(&session) {
                self.warn(session, time, text, WarningMarks::NONE);
            } else {
                let (severity, marks) = (Severity::Warning, WarningMarks::NONE);
                let warning = Output::Warning { severity, time, text, marks };
                self.adapted.tell(session, warning, time);
            }
        }
    }

    fn not_observed(&mut self, error: &str) {
        if self.not_observed.len() < MOST_TOLD {
            self.not_observed.push(error.to_owned());
        }
        // Logged by that, too.
        self.handle(Input::Warn { text: error.to_owned() });
    }
}
