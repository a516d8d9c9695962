//! The body of a process: a future on the heap that the run loop polls in place.

#![expect(
    unsafe_code,
    reason = "the run loop must not move a body out of its slot and back at every activation"
)]

use crate::prefetch::prefetch;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// The body of a process or method; owns it. A method is a process that never ends and waits after each call.
pub(crate) struct Body(NonNull<dyn Future<Output = ()>>);

/// A body being run; see [`Running::poll`].
#[derive(Clone, Copy)]
pub(crate) struct Running(NonNull<dyn Future<Output = ()>>);

impl Body {
    pub(crate) fn new(future: impl Future<Output = ()> + 'static) -> Body {
        let future: Box<dyn Future<Output = ()>> = Box::new(future);
        Body(NonNull::from(Box::leak(future)))
    }

    #[inline]
    pub(crate) fn running(&self) -> Running {
        Running(self.0)
    }

    /// Loads the body into the caches: it will be polled soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        let start: *const u8 = self.0.as_ptr().cast();
        prefetch(start);
        // Most take two cache lines.
        prefetch(start.wrapping_add(64));
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Box::leak` in `Body::new`, and `Body` is its only owner: it cannot be
        // cloned, and whoever holds a `Running` has promised that this body lives on while it polls.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Running {
    /// Runs the body until it waits or ends.
    ///
    /// # Safety
    /// The [`Body`] from which this was made must live until the call returns, and must not be polled elsewhere
    /// meanwhile.
    #[inline]
    pub(crate) unsafe fn poll(mut self, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the future lives and nobody else refers to it, by the caller's promise. It is pinned: `Body`
        // keeps it in one place on the heap and gives nobody a way to move it.
        unsafe { Pin::new_unchecked(self.0.as_mut()) }.poll(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;
    use std::task::Waker;

    #[test]
    fn a_body_is_polled_where_it_lies_and_dropped_once() {
        struct Counts(Rc<Cell<u32>>);
        impl Drop for Counts {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let (dropped, polled) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let (guard, count) = (Counts(dropped.clone()), polled.clone());
        let body = Body::new(async move {
            let _guard = guard;
            loop {
                count.set(count.get() + 1);
                let mut first = true;
                std::future::poll_fn(|_| {
                    if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }
                })
                .await;
            }
        });
        let mut context = Context::from_waker(Waker::noop());
        // As in a table of processes that grows.
        let moved = vec![body];
        for _ in 0..3 {
            // SAFETY: the body lives to the end of the test, and nobody else polls it.
            assert!(unsafe { moved[0].running().poll(&mut context) }.is_pending());
        }
        assert_eq!((polled.get(), dropped.get()), (3, 0));
        drop(moved);
        assert_eq!(dropped.get(), 1);
    }
}
