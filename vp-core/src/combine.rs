//! Waiting for one of several things, or for all of them.

use crate::event::{Event, EventWait};
use crate::kernel::Sim;
use crate::time::Time;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// Result of whichever of two came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The first one, which also wins a tie.
    First(A),
    /// The second one.
    Second(B),
}

/// Waits for whichever is ready first; the other wait is dropped.
///
/// ```
/// use vp_core::{Either, Simulation, Time, select};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let never = sim.event("never");
/// sim.clone().process("impatient", async move {
///     assert_eq!(select(never.wait(), sim.wait(Time::ns(3))).await, Either::Second(()));
/// });
/// simulation.run();
/// ```
pub async fn select<A: Future, B: Future>(first: A, second: B) -> Either<A::Output, B::Output> {
    let (mut first, mut second) = (pin!(first), pin!(second));
    std::future::poll_fn(move |context| {
        if let Poll::Ready(value) = first.as_mut().poll(context) {
            return Poll::Ready(Either::First(value));
        }
        second.as_mut().poll(context).map(Either::Second)
    })
    .await
}

/// Waits for both.
///
/// ```
/// use vp_core::{Simulation, Time, join};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// sim.clone().process("parent", async move {
///     join(sim.wait(Time::ns(3)), sim.wait(Time::ns(5))).await;
///     assert_eq!(sim.now(), Time::ns(5));
/// });
/// simulation.run();
/// assert_eq!(simulation.now(), Time::ns(5));
/// ```
pub async fn join<A: Future, B: Future>(first: A, second: B) -> (A::Output, B::Output) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let (mut a, mut b) = (None, None);
    std::future::poll_fn(move |context| {
        poll_into(&mut a, first.as_mut(), context);
        poll_into(&mut b, second.as_mut(), context);
        match (a.take(), b.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            unfinished => {
                (a, b) = unfinished;
                Poll::Pending
            }
        }
    })
    .await
}

fn poll_into<F: Future>(result: &mut Option<F::Output>, future: Pin<&mut F>, context: &mut Context<'_>) {
    if result.is_none()
        && let Poll::Ready(value) = future.poll(context)
    {
        *result = Some(value);
    }
}

/// Waits for the first of several events (`wait(e1 | e2 | …)`); the answer is its index.
///
/// ```
/// use vp_core::{Simulation, Time, wait_any};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let (done, failed) = (sim.event("done"), sim.event("failed"));
/// failed.notify_after(Time::ns(1));
/// sim.process("driver", async move { assert_eq!(wait_any(&[&done, &failed]).await, 1) });
/// simulation.run();
/// ```
pub async fn wait_any(events: &[&Event]) -> usize {
    let mut waits: Vec<EventWait<'_>> = events.iter().map(|event| event.wait()).collect();
    std::future::poll_fn(move |context| {
        let ready = waits.iter_mut().map(|wait| Pin::new(wait).poll(context).is_ready());
        // Each is polled, so that each is registered.
        ready.enumerate().fold(Poll::Pending, |first, (index, ready)| match first {
            Poll::Pending if ready => Poll::Ready(index),
            _ => first,
        })
    })
    .await
}

/// Waits until each of several events has fired (`wait(e1 & e2 & …)`).
///
/// ```
/// use vp_core::{Simulation, Time, wait_all};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let (read, written) = (sim.event("read"), sim.event("written"));
/// read.notify_after(Time::ns(1));
/// written.notify_after(Time::ns(4));
/// sim.clone().process("driver", async move {
///     wait_all(&[&read, &written]).await;
///     assert_eq!(sim.now(), Time::ns(4));
/// });
/// simulation.run();
/// assert!(!simulation.idle_report().is_deadlock());
/// ```
pub async fn wait_all(events: &[&Event]) {
    let mut waits: Vec<Option<EventWait<'_>>> = events.iter().map(|event| Some(event.wait())).collect();
    std::future::poll_fn(move |context| {
        for place in &mut waits {
            if let Some(wait) = place
                && Pin::new(wait).poll(context).is_ready()
            {
                *place = None;
            }
        }
        if waits.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

impl Sim {
    /// Waits for `future`, but no longer than `limit`; `None` means that time ran out.
    ///
    /// ```
    /// use vp_core::{Simulation, Time};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let answer = sim.event("answer");
    /// answer.notify_after(Time::ns(8));
    /// sim.clone().process("asker", async move {
    ///     assert_eq!(sim.timeout(Time::ns(5), answer.wait()).await, None);
    ///     assert_eq!(sim.timeout(Time::ns(5), answer.wait()).await, Some(()));
    ///     assert_eq!(sim.now(), Time::ns(8));
    /// });
    /// simulation.run();
    /// # assert_eq!(simulation.now(), Time::ns(8));
    /// ```
    pub async fn timeout<F: Future>(&self, limit: Time, future: F) -> Option<F::Output> {
        match select(future, self.wait(limit)).await {
            Either::First(value) => Some(value),
            Either::Second(()) => None,
        }
    }
}
