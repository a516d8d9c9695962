//! The non-blocking style: transactions in phases, many of them outstanding.

use super::Payload;
use crate::{Event, Sim, Time};
use std::cell::{Ref, RefCell, RefMut};
use std::collections::VecDeque;
use std::fmt;
use std::rc::{Rc, Weak};

/// How far a transaction is (`tlm_phase`).
///
/// With two phases, `BeginReq` and `BeginResp` are calls, and their return values answer `EndReq` and
/// `EndResp`. With four phases, each is a call.
///
/// ```
/// use vp_core::tlm::{Phase, Sync};
/// /// A target that takes the request at once, and calls back with the answer.
/// fn accept(phase: &mut Phase) -> Sync {
///     match phase {
///         Phase::BeginReq => {
///             *phase = Phase::EndReq;
///             Sync::Updated
///         }
///         _ => Sync::Completed,
///     }
/// }
/// let mut phase = Phase::BeginReq;
/// assert_eq!((accept(&mut phase), phase), (Sync::Updated, Phase::EndReq));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The initiator asks.
    BeginReq,
    /// The target can take the next request.
    EndReq,
    /// The target answers.
    BeginResp,
    /// The initiator can take the next answer.
    EndResp,
    /// A phase of a protocol of its own.
    Other(u8),
}

/// What the called party did with a step (`tlm_sync_enum`).
///
/// ```
/// use vp_core::Time;
/// use vp_core::tlm::{InitiatorSocket, Payload, Phase, Sync, Transaction};
/// let nowhere = InitiatorSocket::new("cpu");
/// let (transaction, mut delay) = (Transaction::new(Payload::read(0, 4)), Time::ZERO);
/// let sync = nowhere.nb_transport_fw(&transaction, &mut Phase::BeginReq, &mut delay);
/// assert_eq!(sync, Sync::Completed, "an unbound socket ends it with an error");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sync {
    /// The step was accepted; phase and delay are unchanged. The target calls back later.
    Accepted,
    /// Went on: phase and delay say how far.
    Updated,
    /// The transaction is over; the response holds.
    Completed,
}

/// Where a transaction passed a router, and what its address was before.
#[derive(Clone, Copy)]
pub(super) struct Hop {
    pub(super) router: usize,
    pub(super) port: usize,
    pub(super) region: usize,
    pub(super) address: u64,
}

struct Shared {
    payload: RefCell<Payload>,
    /// The way back. A handful at most.
    hops: RefCell<Vec<Hop>>,
    pool: Weak<Store>,
}

impl Shared {
    fn new(payload: Payload, pool: Weak<Store>) -> Shared {
        Shared { payload: RefCell::new(payload), hops: RefCell::default(), pool }
    }
}

/// A payload that is shared during its transaction; made by [`Pool::take`]. Clones are handles of the same
/// payload. When the last handle is dropped, it returns to its pool.
///
/// ```
/// use vp_core::tlm::{Payload, Response, Transaction};
/// let transaction = Transaction::new(Payload::read(0x100, 4));
/// let at_the_target = transaction.clone();
/// at_the_target.payload_mut().response = Response::Ok;
/// assert!(transaction.same(&at_the_target) && transaction.payload().response.is_ok());
/// ```
#[derive(Clone)]
pub struct Transaction(Rc<Shared>);

impl Transaction {
    /// A transaction of no pool.
    pub fn new(payload: Payload) -> Transaction {
        Transaction(Rc::new(Shared::new(payload, Weak::new())))
    }

    /// The payload, to look at.
    ///
    /// # Panics
    /// While [`Transaction::payload_mut`] is borrowed: keep neither borrow across a call or a wait.
    #[inline]
    pub fn payload(&self) -> Ref<'_, Payload> {
        self.0.payload.borrow()
    }

    /// The payload, to change.
    ///
    /// # Panics
    /// While the payload is borrowed elsewhere: keep the borrow neither across a call nor across a wait.
    #[inline]
    pub fn payload_mut(&self) -> RefMut<'_, Payload> {
        self.0.payload.borrow_mut()
    }

    /// Whether both are handles of one transaction.
    #[inline]
    pub fn same(&self, other: &Transaction) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The last handle is about to go.
    #[inline(never)]
    fn give_back(&self) {
        if let Some(store) = self.0.pool.upgrade() {
            store.free.borrow_mut().push(self.0.clone());
        }
    }

    /// Passes a router on the way to the target.
    pub(super) fn pass(&self, hop: Hop) {
        let mut hops = self.0.hops.borrow_mut();
        // A transaction that was given up on its way and is sent again.
        hops.retain(|earlier| earlier.router != hop.router);
        hops.push(hop);
    }

    /// Where it passed a router.
    pub(super) fn hop(&self, router: usize) -> Option<Hop> {
        self.0.hops.borrow().iter().find(|hop| hop.router == router).copied()
    }

    /// Is over as far as a router is concerned.
    pub(super) fn leave(&self, router: usize) -> Option<Hop> {
        let mut hops = self.0.hops.borrow_mut();
        let at = hops.iter().position(|hop| hop.router == router)?;
        Some(hops.swap_remove(at))
    }
}

impl Drop for Transaction {
    #[inline]
    fn drop(&mut self) {
        if Rc::strong_count(&self.0) == 1 {
            self.give_back();
        }
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.payload.try_borrow() {
            Ok(payload) => fmt::Debug::fmt(&*payload, f),
            Err(_) => f.write_str("Transaction(in use)"),
        }
    }
}

#[derive(Default)]
struct Store {
    free: RefCell<Vec<Rc<Shared>>>,
}

/// A pool of transactions that return to it by themselves (`tlm_mm_interface`). Once it has as many as are ever
/// outstanding, it allocates nothing.
///
/// ```
/// use vp_core::tlm::Pool;
/// let pool = Pool::new();
/// let transaction = pool.read(0x1000, 64);
/// let elsewhere = transaction.clone();
/// drop(transaction);
/// assert_eq!(pool.idle(), 0);
/// drop(elsewhere);
/// assert_eq!(pool.idle(), 1);
/// ```
#[derive(Clone, Default)]
pub struct Pool(Rc<Store>);

impl Pool {
    /// An empty pool. Clones are handles of the same one.
    pub fn new() -> Pool {
        Pool::default()
    }

    /// A transaction with a payload as good as new.
    ///
    /// ```
    /// use vp_core::tlm::Pool;
    /// assert!(Pool::new().take().payload().data.is_empty());
    /// ```
    pub fn take(&self) -> Transaction {
        let transaction = self.used();
        transaction.payload_mut().reset();
        transaction
    }

    /// A read of `len` bytes. As with [`Payload::set_read`], the bytes of an earlier transaction stay there
    /// until a target overwrites them.
    ///
    /// ```
    /// use vp_core::tlm::Pool;
    /// let transaction = Pool::new().read(0x40, 64);
    /// assert_eq!((transaction.payload().address, transaction.payload().data.len()), (0x40, 64));
    /// ```
    #[inline]
    pub fn read(&self, address: u64, len: usize) -> Transaction {
        let transaction = self.used();
        let mut payload = transaction.payload_mut();
        payload.set_read(address, len);
        payload.drop_extensions();
        drop(payload);
        transaction
    }

    /// A write of `data`.
    ///
    /// ```
    /// use vp_core::tlm::Pool;
    /// assert_eq!(Pool::new().write(0x40, &[1, 2]).payload().data, [1, 2]);
    /// ```
    #[inline]
    pub fn write(&self, address: u64, data: &[u8]) -> Transaction {
        let transaction = self.used();
        let mut payload = transaction.payload_mut();
        payload.set_write(address, data);
        payload.drop_extensions();
        drop(payload);
        transaction
    }

    /// A transaction whose payload may be of an earlier one.
    #[inline]
    fn used(&self) -> Transaction {
        let free = self.0.free.borrow_mut().pop();
        match free {
            Some(shared) => {
                shared.hops.borrow_mut().clear();
                Transaction(shared)
            }
            None => {
                let pool = Rc::downgrade(&self.0);
                Transaction(Rc::new(Shared::new(Payload::default(), pool)))
            }
        }
    }

    /// How many transactions wait to be lent again.
    pub fn idle(&self) -> usize {
        self.0.free.borrow().len()
    }
}

/// Delays of different lengths: rare enough to stay out of the way.
#[cold]
fn insert_before_later<T>(queue: &mut VecDeque<(Time, T)>, time: Time, item: T) {
    let at = queue.partition_point(|&(other, _)| other <= time);
    queue.insert(at, (time, item));
}

/// Keeps transactions until they are due (`peq_with_get`). An item that arrives with a delay is taken by a
/// process at its time, ordered by time and then by arrival.
///
/// ```
/// use std::rc::Rc;
/// use vp_core::tlm::{Payload, PayloadEventQueue, Transaction};
/// use vp_core::{Simulation, Time};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let queue = Rc::new(PayloadEventQueue::new(&sim, "queue"));
/// queue.notify(Transaction::new(Payload::read(2, 1)), Time::ns(20));
/// queue.notify(Transaction::new(Payload::read(1, 1)), Time::ns(10));
/// sim.clone().process("target", async move {
///     assert_eq!(queue.get().await.payload().address, 1);
///     assert_eq!(queue.get().await.payload().address, 2);
///     assert_eq!(sim.now(), Time::ns(20));
/// });
/// simulation.run();
/// # assert!(!simulation.idle_report().is_deadlock());
/// ```
pub struct PayloadEventQueue<T = Transaction> {
    sim: Sim,
    /// In order of time, then of arrival.
    queue: RefCell<VecDeque<(Time, T)>>,
    due: Event,
}

impl<T> PayloadEventQueue<T> {
    /// An empty queue.
    pub fn new(sim: &Sim, name: &str) -> PayloadEventQueue<T> {
        PayloadEventQueue {
            sim: sim.clone(),
            queue: RefCell::default(),
            due: sim.work_event(format!("{name}.due")),
        }
    }

    /// Makes an item due `delay` from now; [`Time::ZERO`] makes it due in the next delta cycle.
    pub fn notify(&self, item: T, delay: Time) {
        let time = self.sim.now() + delay;
        {
            let mut queue = self.queue.borrow_mut();
            if queue.back().is_none_or(|&(last, _)| last <= time) {
                queue.push_back((time, item));
            } else {
                insert_before_later(&mut queue, time, item);
            }
        }
        self.due.notify_after(delay);
    }

    /// Takes the next item that is due (`get_next_transaction`). After `None`, [`PayloadEventQueue::due`] fires
    /// when there is one again; so call this until it returns `None`.
    ///
    /// ```
    /// use std::rc::Rc;
    /// use vp_core::tlm::PayloadEventQueue;
    /// use vp_core::{Simulation, Time};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let queue = Rc::new(PayloadEventQueue::new(&sim, "queue"));
    /// let taker = queue.clone();
    /// sim.method("target").sensitive(queue.due()).dont_initialize().run(move |sim| {
    ///     while let Some(item) = taker.try_get() {
    ///         assert_eq!(sim.now(), Time::ns(item));
    ///     }
    /// });
    /// queue.notify(7, Time::ns(7));
    /// queue.notify(3, Time::ns(3));
    /// simulation.run_until(Time::ns(5));
    /// assert_eq!(queue.len(), 1);
    /// queue.clear();
    /// assert!(queue.is_empty());
    /// ```
    #[inline]
    pub fn try_get(&self) -> Option<T> {
        let mut queue = self.queue.borrow_mut();
        let now = self.sim.now();
        let &(time, _) = queue.front()?;
        if time <= now {
            return queue.pop_front().map(|(_, item)| item);
        }
        self.due.notify_after(time - now);
        None
    }

    /// Takes the next item, waiting until it is due.
    pub async fn get(&self) -> T {
        loop {
            if let Some(item) = self.try_get() {
                return item;
            }
            self.due.wait().await;
        }
    }

    /// Fires when an item is due.
    pub fn due(&self) -> &Event {
        &self.due
    }

    /// How many items are in it, due or not.
    pub fn len(&self) -> usize {
        self.queue.borrow().len()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all items (`cancel_all`).
    pub fn clear(&self) {
        // Dropped once the queue is free again: items may have a life of their own.
        let items = self.queue.take();
        self.due.cancel();
        drop(items);
    }
}
