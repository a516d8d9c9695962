//! Handles of instances: each starts its thread, and has the [`Inbox`] through which it is told things.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use vp_models::memory::MemoryBudget;
use vp_models::platform::{Description, Platform};
use vp_protocols::native::TimeMode;

use super::{Inbox, PlatformThread, TimeLimits};
use crate::{EndedPlatform, Listeners, freed};

/// State as which a platform begins.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) description: Description,
    /// State of a platform that was saved; at power-on without.
    pub(crate) saved: Option<Bytes>,
}

impl From<Description> for Start {
    fn from(description: Description) -> Self {
        Self { description, saved: None }
    }
}

impl Start {
    pub(super) fn platform(&self, budget: MemoryBudget) -> Result<Platform, String> {
        match &self.saved {
            Some(saved) => Platform::restore(&mut Cursor::new(saved), Some(&self.description), budget)
                .map_err(|error| error.to_string()),
            None => Platform::build_within(&self.description, budget).map_err(|error| error.to_string()),
        }
    }
}

/// A handle of an instance; clones are of the same one.
#[derive(Clone)]
pub(crate) struct Instance {
    inbox: Arc<Inbox>,
}

impl Instance {
    /// Starts the thread. The platform is built there, so what is wrong with the description shows when a session joins:
    /// it is not taken in.
    pub(crate) fn start(
        name: &str,
        start: impl Into<Start>,
        budget: MemoryBudget,
        mode: TimeMode,
        patience: TimeLimits,
        faults: Option<Arc<str>>,
        listeners: Listeners,
    ) -> std::io::Result<Self> {
        let inbox = Arc::new(Inbox::new()?);
        let (inside, start) = (inbox.clone(), start.into());
        let label = name.to_owned();
        thread::Builder::new().name(format!("platform {name}")).spawn(move || {
            let inbox = CloseAtEnd(inside);
            let running = listeners.running.token();
            // What the thread owned is gone with it; nothing half-done is looked at again.
            let ran = catch_unwind(AssertUnwindSafe(|| {
                let Listeners { ended, pins, observe, .. } = listeners;
                let built = PlatformThread::build(&inbox.0, &start, budget, mode, patience);
                let built = built.and_then(|mut thread| {
                    // Before all else that enters: a recording has it.
                    if let Some(observe) = observe {
                        thread.begin_observing(&*observe, &label);
                    }
                    thread.arm_own_faults(faults.as_deref()).map(|()| thread)
                });
                match built {
                    Ok(mut thread) => {
                        if let Some(pins) = pins {
                            // The receiver may be gone: ignore the error.
                            thread.hub.on_driven(move |event| drop(pins.send(event)));
                        }
                        if patience.is_stopped {
                            thread.stop_at_the_beginning();
                        }
                        thread.serve();
                        thread.finish_observing();
                        for (fault, what) in (1..).zip(thread.hub.platform().faults().report()) {
                            tracing::info!("platform {label}: fault {fault}, {what}");
                        }
                        if let Some(ended) = ended {
                            let (name, statistics) = (label.clone(), thread.hub.statistics());
                            let _ = ended.send(EndedPlatform { name, statistics });
                        }
                    }
                    Err(error) => tracing::error!("platform {label}: {error}"),
                }
            }));
            if let Err(panic) = ran {
                let what = (panic.downcast_ref::<String>().map(String::as_str))
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("no message");
                tracing::error!("platform {label} failed: {what}; its sessions are closed");
            }
            drop((inbox, running));
            freed::give_back();
        })?;
        Ok(Self { inbox })
    }

    /// The way in.
    pub(crate) fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    /// Returns true if both are the same platform.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inbox, &other.inbox)
    }
}

/// Closes the inbox even when the thread ends by a panic.
struct CloseAtEnd(Arc<Inbox>);

impl Drop for CloseAtEnd {
    fn drop(&mut self) {
        self.0.close();
    }
}
