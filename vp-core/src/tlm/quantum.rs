//! Temporal decoupling: running ahead of simulated time, but never further than a quantum.

use crate::{Sim, Time};
use std::cell::Cell;
use std::rc::Rc;

/// How far initiators may run ahead (`tlm_global_quantum`): one for all initiators that synchronise at the same
/// points in time. Clones are handles of the same quantum.
///
/// ```
/// use vp_core::Time;
/// use vp_core::tlm::Quantum;
/// let quantum = Quantum::new(Time::us(1));
/// let everywhere = quantum.clone();
/// quantum.set(Time::ns(100));
/// assert_eq!(everywhere.get(), Time::ns(100));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Quantum(Rc<Cell<Time>>);

impl Quantum {
    /// A quantum; with [`Time::ZERO`] nobody runs ahead.
    pub fn new(span: Time) -> Quantum {
        Quantum(Rc::new(Cell::new(span)))
    }

    /// Its length.
    pub fn get(&self) -> Time {
        self.0.get()
    }

    /// Changes its length; takes effect from each keeper's next synchronisation on.
    pub fn set(&self, span: Time) {
        self.0.set(span);
    }
}

/// Keeps the time by which one initiator is ahead of the simulation (`tlm_quantumkeeper`).
///
/// Synchronisation points are multiples of the quantum, so all keepers that share it meet there.
///
/// ```
/// use vp_core::tlm::{Quantum, QuantumKeeper};
/// use vp_core::{Simulation, Time};
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let keeper = QuantumKeeper::new(&sim, &Quantum::new(Time::us(1)));
/// sim.process("cpu", async move {
///     for _ in 0..10_000 {
///         keeper.inc(Time::ns(1)); // an instruction
///         if keeper.need_sync() {
///             keeper.sync().await;
///         }
///     }
/// });
/// simulation.run();
/// assert_eq!(simulation.now(), Time::us(10));
/// assert!(simulation.activations() <= 11);
/// ```
pub struct QuantumKeeper {
    sim: Sim,
    quantum: Quantum,
    local: Cell<Time>,
    next: Cell<Time>,
}

impl QuantumKeeper {
    /// A keeper that is not ahead.
    pub fn new(sim: &Sim, quantum: &Quantum) -> QuantumKeeper {
        let keeper = QuantumKeeper {
            sim: sim.clone(),
            quantum: quantum.clone(),
            local: Cell::new(Time::ZERO),
            next: Cell::new(Time::ZERO),
        };
        keeper.reset();
        keeper
    }

    /// Goes further ahead by `span`.
    #[inline]
    pub fn inc(&self, span: Time) {
        self.local.set(self.local.get() + span);
    }

    /// Sets by how much it is ahead: the delay that a transport has returned.
    #[inline]
    pub fn set(&self, local: Time) {
        self.local.set(local);
    }

    /// By how much it is ahead: the delay to give to a transport.
    #[inline]
    pub fn local_time(&self) -> Time {
        self.local.get()
    }

    /// The same value in place: a transport may change it directly, if the keeper is not shared.
    ///
    /// ```
    /// use vp_core::tlm::{InitiatorSocket, Payload, QuantumKeeper};
    ///
    /// async fn load(socket: &InitiatorSocket, keeper: &mut QuantumKeeper, address: u64) -> Payload {
    ///     let mut payload = Payload::read(address, 4);
    ///     socket.b_transport(&mut payload, keeper.local_time_mut()).await;
    ///     if keeper.need_sync() {
    ///         keeper.sync().await;
    ///     }
    ///     payload
    /// }
    /// ```
    #[inline]
    pub fn local_time_mut(&mut self) -> &mut Time {
        self.local.get_mut()
    }

    /// The initiator's own time.
    ///
    /// ```
    /// use vp_core::tlm::{Quantum, QuantumKeeper};
    /// use vp_core::{Simulation, Time};
    /// let simulation = Simulation::new();
    /// let keeper = QuantumKeeper::new(&simulation.sim(), &Quantum::new(Time::us(1)));
    /// keeper.inc(Time::ns(30));
    /// assert_eq!((keeper.local_time(), keeper.current_time()), (Time::ns(30), Time::ns(30)));
    /// keeper.reset();
    /// assert_eq!(keeper.local_time(), Time::ZERO);
    /// ```
    #[inline]
    pub fn current_time(&self) -> Time {
        self.sim.now() + self.local.get()
    }

    /// Whether the quantum is used up.
    #[inline]
    pub fn need_sync(&self) -> bool {
        self.current_time() >= self.next.get()
    }

    /// Lets simulated time catch up.
    pub async fn sync(&self) {
        let ahead = self.local.take();
        if ahead > Time::ZERO {
            self.sim.wait(ahead).await;
        }
        self.reset();
    }

    /// Runs ahead by `span`, and synchronises if that uses up the quantum.
    ///
    /// ```
    /// use vp_core::tlm::{Quantum, QuantumKeeper};
    /// use vp_core::{Simulation, Time};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let keeper = QuantumKeeper::new(&sim, &Quantum::new(Time::ns(100)));
    /// sim.clone().process("cpu", async move {
    ///     keeper.advance(Time::ns(60)).await;
    ///     assert_eq!(sim.now(), Time::ZERO);
    ///     keeper.advance(Time::ns(60)).await;
    ///     assert_eq!(sim.now(), Time::ns(120));
    /// });
    /// simulation.run();
    /// ```
    pub async fn advance(&self, span: Time) {
        self.inc(span);
        if self.need_sync() {
            self.sync().await;
        }
    }

    /// Sets the time by which it is ahead to zero, and finds the next synchronisation point.
    pub fn reset(&self) {
        self.local.set(Time::ZERO);
        let (now, span) = (self.sim.now(), self.quantum.get());
        let next = if span == Time::ZERO { now } else { span * (now.cycles(span) + 1) };
        self.next.set(next);
    }
}
