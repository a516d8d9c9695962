//! Injectors: the only way into a simulation from outside. Any thread may send; items arrive in order, at a
//! point in simulated time.
//!
//! Nothing else that happens in a run depends on the outside, so recording what is injected,
//! and when it took effect, is enough to replay the run.

use crate::kernel::Sim;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A bell that rings when something was injected; the thread that drives the simulation can sleep on it.
///
/// ```
/// use std::sync::Arc;
/// use vp_core::{Bell, Simulation};
/// let mut simulation = Simulation::new();
/// let injector = simulation.sim().injector(|_, ()| {});
/// let bell: Arc<Bell> = simulation.bell();
/// assert!(!bell.is_rung());
/// std::thread::spawn(move || injector.send(()));
/// bell.wait(); // until something comes
/// simulation.run(); // lets it in
/// assert!(!bell.is_rung());
/// bell.ring(); // without anything to let in: to have the thread look at something else
/// assert!(bell.is_rung());
/// ```
#[derive(Default)]
pub struct Bell {
    rung: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Bell {
    /// Returns true if something was injected.
    #[inline]
    pub fn is_rung(&self) -> bool {
        self.rung.load(Ordering::Acquire)
    }

    /// Rings: wakes the driving thread even if nothing was sent.
    pub fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        // Taking the lock closes the gap between a sleeper's last look and its sleep.
        drop(locked(&self.lock));
        self.changed.notify_all();
    }

    /// Sleeps until the bell is rung.
    pub fn wait(&self) {
        let mut guard = locked(&self.lock);
        while !self.is_rung() {
            guard = self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn take(&self) -> bool {
        self.is_rung() && self.rung.swap(false, Ordering::AcqRel)
    }
}

/// A panic elsewhere leaves a queue of whole items behind: still good.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sending end of an injection queue; made by [`Sim::injector`], may be moved to any thread.
///
/// ```
/// use vp_core::{Signal, Simulation};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let line = Signal::new(&sim, "line", 0u32);
/// let driven = line.clone();
/// let injector = sim.injector(move |_, level| driven.write(level));
/// std::thread::spawn(move || injector.send(1)).join().unwrap();
/// simulation.run();
/// assert_eq!(line.read(), 1);
/// ```
pub struct Injector<T> {
    queue: Arc<Mutex<Vec<T>>>,
    bell: Arc<Bell>,
}

impl<T> Clone for Injector<T> {
    fn clone(&self) -> Injector<T> {
        Injector { queue: self.queue.clone(), bell: self.bell.clone() }
    }
}

impl<T> Injector<T> {
    /// Sends one item in.
    pub fn send(&self, item: T) {
        locked(&self.queue).push(item);
        self.bell.ring();
    }

    /// The number of items that wait to be delivered. Use it for back-pressure.
    ///
    /// ```
    /// use vp_core::{Injector, Simulation};
    /// let mut simulation = Simulation::new();
    /// let injector: Injector<u8> = simulation.sim().injector(|_, _| {});
    /// injector.send(1);
    /// injector.send(2);
    /// assert_eq!(injector.backlog(), 2);
    /// simulation.run();
    /// assert_eq!(injector.backlog(), 0);
    /// ```
    pub fn backlog(&self) -> usize {
        locked(&self.queue).len()
    }
}

/// The inner end of that queue, emptied by the run loop.
pub(crate) trait Drain {
    fn drain(&self, sim: &Sim);
}

struct InjectedQueue<T, F> {
    queue: Arc<Mutex<Vec<T>>>,
    handle: RefCell<F>,
    batch: RefCell<Vec<T>>,
}

impl<T, F: FnMut(&Sim, T)> Drain for InjectedQueue<T, F> {
    fn drain(&self, sim: &Sim) {
        let mut batch = self.batch.borrow_mut();
        std::mem::swap(&mut *batch, &mut *locked(&self.queue));
        let mut handle = self.handle.borrow_mut();
        for item in batch.drain(..) {
            handle(sim, item);
        }
    }
}

pub(crate) fn injector<T: Send + 'static>(
    bell: Arc<Bell>,
    handle: impl FnMut(&Sim, T) + 'static,
) -> (Injector<T>, Rc<dyn Drain>) {
    let queue = Arc::new(Mutex::new(Vec::new()));
    let queue_end =
        InjectedQueue { queue: queue.clone(), handle: RefCell::new(handle), batch: RefCell::default() };
    (Injector { queue, bell }, Rc::new(queue_end))
}
