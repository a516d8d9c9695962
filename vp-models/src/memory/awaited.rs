//! An event that is notified only where somebody waits for it.

use std::cell::Cell;
use vp_core::Event;

/// An event that is notified only where somebody waits for it: a notification is a delta cycle, even for nobody. Whoever waits must
/// have found what the event tells of wanting, since a notification is not made up for.
pub(crate) struct AwaitedEvent {
    event: Event,
    is_awaited: Cell<bool>,
}

impl AwaitedEvent {
    pub(crate) fn new(event: Event) -> AwaitedEvent {
        AwaitedEvent { event, is_awaited: Cell::new(false) }
    }

    pub(crate) async fn wait(&self) {
        self.is_awaited.set(true);
        self.event.wait().await;
    }

    /// Makes those who wait runnable in the next delta cycle.
    pub(crate) fn notify_delta(&self) {
        if self.is_awaited.take() {
            self.event.notify_delta();
        }
    }
}
