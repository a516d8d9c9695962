//! Sockets: the named ends of a connection (`tlm_initiator_socket`, `tlm_target_socket`).

use super::{Command, DirectRegion, Flow, Initiator, Payload, Phase, Response, Sync, Target, Transaction};
use crate::Time;
use std::cell::OnceCell;
use std::fmt;
use std::rc::{Rc, Weak};

/// Why sockets cannot be used as they are bound.
///
/// ```
/// use vp_core::tlm::InitiatorSocket;
/// let error = InitiatorSocket::new("cpu.data").require_bound().expect_err("nothing is there");
/// assert_eq!(error.to_string(), "socket cpu.data is bound to no target");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// It has its other end already.
    #[error("socket {socket} is bound already: put a router between to connect several")]
    AlreadyBound {
        /// The socket's name.
        socket: Rc<str>,
    },
    /// It has no other end.
    #[error("socket {socket} is bound to no target")]
    Unbound {
        /// The socket's name.
        socket: Rc<str>,
    },
}

/// Where an initiator sends its transactions (`tlm_initiator_socket`).
///
/// It is bound once. Before that every transaction is answered with [`Response::GenericError`].
/// [`InitiatorSocket::require_bound`] detects an unbound socket before the run.
///
/// ```
/// use std::rc::Rc;
/// use vp_core::Time;
/// use vp_core::tlm::{Flow, InitiatorSocket, Payload, Storage, Target};
/// struct Rom(Storage);
/// impl Target for Rom {
///     fn b_transport<'a>(&'a self, payload: &'a mut Payload, _: &'a mut Time) -> Flow<'a> {
///         payload.access(&self.0);
///         Flow::Done
///     }
///     fn transport_dbg(&self, payload: &mut Payload) -> usize {
///         if payload.access(&self.0).is_ok() { payload.data.len() } else { 0 }
///     }
/// }
/// let socket = InitiatorSocket::new("cpu");
/// socket.bind(Rc::new(Rom((0..16).collect())))?;
/// socket.require_bound()?;
/// let mut look = Payload::read(4, 2);
/// assert_eq!((socket.transport_dbg(&mut look), look.data), (2, vec![4, 5]));
/// assert!(socket.bind(Rc::new(Rom(Storage::new(1)))).is_err());
/// # Ok::<(), vp_core::tlm::BindError>(())
/// ```
pub struct InitiatorSocket {
    name: Rc<str>,
    initiator: Option<Weak<dyn Initiator>>,
    target: OnceCell<Rc<dyn Target>>,
}

impl InitiatorSocket {
    /// A socket of an initiator that is never called back: blocking transport, debug, and direct access to
    /// memory that is never withdrawn.
    pub fn new(name: impl Into<Rc<str>>) -> InitiatorSocket {
        InitiatorSocket { name: name.into(), initiator: None, target: OnceCell::new() }
    }

    /// A socket of an initiator that is called back. The link is weak, so that the initiator can own its socket
    /// (see [`Rc::new_cyclic`]).
    pub fn with_initiator(name: impl Into<Rc<str>>, initiator: Weak<dyn Initiator>) -> InitiatorSocket {
        InitiatorSocket { name: name.into(), initiator: Some(initiator), target: OnceCell::new() }
    }

    /// Connects it with its target.
    ///
    /// # Errors
    /// [`BindError::AlreadyBound`], by this socket or by the target's.
    pub fn bind(&self, target: Rc<dyn Target>) -> Result<(), BindError> {
        if self.is_bound() {
            return Err(BindError::AlreadyBound { socket: self.name.clone() });
        }
        if let Some(initiator) = &self.initiator {
            target.connect(initiator.clone())?;
        }
        self.target.set(target).map_err(|_| BindError::AlreadyBound { socket: self.name.clone() })
    }

    /// The name given at creation.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has a target.
    pub fn is_bound(&self) -> bool {
        self.target.get().is_some()
    }

    /// Checks that it has a target. Call it at the end of a platform's assembly.
    ///
    /// # Errors
    /// [`BindError::Unbound`].
    pub fn require_bound(&self) -> Result<(), BindError> {
        match self.is_bound() {
            true => Ok(()),
            false => Err(BindError::Unbound { socket: self.name.clone() }),
        }
    }

    /// Sends a transaction and waits until it is over; see [`Target::b_transport`].
    ///
    /// The payload may come back with another address, that of the target's address space.
    #[inline]
    pub fn b_transport<'a>(&'a self, payload: &'a mut Payload, delay: &'a mut Time) -> Flow<'a> {
        match self.target.get() {
            Some(target) => target.b_transport(payload, delay),
            None => {
                payload.response = Response::GenericError;
                Flow::Done
            }
        }
    }

    /// Takes a transaction's next step towards the target; see [`Target::nb_transport_fw`].
    #[inline]
    pub fn nb_transport_fw(&self, transaction: &Transaction, phase: &mut Phase, delay: &mut Time) -> Sync {
        match self.target.get() {
            Some(target) => target.nb_transport_fw(transaction, phase, delay),
            None => {
                transaction.payload_mut().response = Response::GenericError;
                Sync::Completed
            }
        }
    }

    /// Reads or writes without time and without side effects; gives the number of bytes transferred.
    pub fn transport_dbg(&self, payload: &mut Payload) -> usize {
        self.target.get().map_or(0, |target| target.transport_dbg(payload))
    }

    /// Asks for direct access around `address`.
    ///
    /// ```
    /// use vp_core::tlm::{Command, InitiatorSocket, Router};
    /// let cpu = InitiatorSocket::new("cpu");
    /// assert!(!cpu.is_bound());
    /// cpu.bind(Router::builder("bus").build()?.port())?;
    /// assert!(cpu.is_bound());
    /// assert!(cpu.direct(0x1000, Command::Read).is_none(), "nobody is there to grant it");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn direct(&self, address: u64, command: Command) -> Option<DirectRegion> {
        self.target.get()?.direct(address, command)
    }
}

impl fmt::Debug for InitiatorSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InitiatorSocket({}, {})", self.name, if self.is_bound() { "bound" } else { "unbound" })
    }
}

/// Where a target calls its initiator back (`tlm_target_socket`).
///
/// A target that calls back owns one, and gives it the initiator that [`Target::connect`] brings. If there is
/// no initiator, or no longer, calls back are answered with [`Sync::Completed`].
///
/// ```
/// use std::rc::{Rc, Weak};
/// use vp_core::tlm::{
///     BindError, Flow, Initiator, InitiatorSocket, Payload, PayloadEventQueue, Phase, Pool, Response, Sync,
///     Target, TargetSocket, Transaction,
/// };
/// use vp_core::{Simulation, Time};
///
/// struct Device { queue: PayloadEventQueue, socket: TargetSocket }
///
/// impl Target for Device {
///     fn b_transport<'a>(&'a self, payload: &'a mut Payload, _: &'a mut Time) -> Flow<'a> {
///         payload.response = Response::CommandError; // in phases only
///         Flow::Done
///     }
///     fn nb_transport_fw(&self, transaction: &Transaction, _: &mut Phase, delay: &mut Time) -> Sync {
///         self.queue.notify(transaction.clone(), *delay + Time::ns(20));
///         Sync::Accepted
///     }
///     fn connect(&self, initiator: Weak<dyn Initiator>) -> Result<(), BindError> {
///         self.socket.connect(initiator)
///     }
/// }
///
/// /// By default an initiator takes the response, and that is the end of it.
/// struct Cpu { socket: InitiatorSocket }
/// impl Initiator for Cpu {}
///
/// let mut simulation = Simulation::new();
/// let sim = simulation.sim();
/// let device = Rc::new(Device {
///     queue: PayloadEventQueue::new(&sim, "device"),
///     socket: TargetSocket::new("device"),
/// });
/// let cpu = Rc::new_cyclic(|this: &Weak<Cpu>| Cpu {
///     socket: InitiatorSocket::with_initiator("cpu", this.clone()),
/// });
/// cpu.socket.bind(device.clone())?;
/// sim.server("device", async move {
///     loop {
///         let transaction = device.queue.get().await;
///         transaction.payload_mut().response = Response::Ok;
///         device.socket.nb_transport_bw(&transaction, &mut Phase::BeginResp, &mut Time::ps(0));
///     }
/// });
/// let transaction = Pool::new().take();
/// cpu.socket.nb_transport_fw(&transaction, &mut Phase::BeginReq, &mut Time::ps(0));
/// simulation.run();
/// assert_eq!((simulation.now(), transaction.payload().response), (Time::ns(20), Response::Ok));
/// # Ok::<(), BindError>(())
/// ```
pub struct TargetSocket {
    name: Rc<str>,
    initiator: OnceCell<Weak<dyn Initiator>>,
}

impl TargetSocket {
    /// A socket that is not yet connected.
    pub fn new(name: impl Into<Rc<str>>) -> TargetSocket {
        TargetSocket { name: name.into(), initiator: OnceCell::new() }
    }

    /// Connects it with its initiator: what [`Target::connect`] passes on.
    ///
    /// # Errors
    /// [`BindError::AlreadyBound`].
    pub fn connect(&self, initiator: Weak<dyn Initiator>) -> Result<(), BindError> {
        self.initiator.set(initiator).map_err(|_| BindError::AlreadyBound { socket: self.name.clone() })
    }

    /// The name given at creation.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether there is someone to call back.
    pub fn is_bound(&self) -> bool {
        self.initiator.get().is_some_and(|initiator| initiator.strong_count() > 0)
    }

    /// Takes a transaction's next step towards the initiator; see [`Initiator::nb_transport_bw`].
    #[inline]
    pub fn nb_transport_bw(&self, transaction: &Transaction, phase: &mut Phase, delay: &mut Time) -> Sync {
        match self.initiator.get().and_then(Weak::upgrade) {
            Some(initiator) => initiator.nb_transport_bw(transaction, phase, delay),
            None => Sync::Completed,
        }
    }

    /// Withdraws direct access to `start..=end`.
    ///
    /// ```
    /// use vp_core::tlm::TargetSocket;
    /// let memory = TargetSocket::new("memory");
    /// // Nobody is bound, so nobody has to be told.
    /// assert!(!memory.is_bound());
    /// memory.invalidate_direct(0x0, 0xfff);
    /// ```
    pub fn invalidate_direct(&self, start: u64, end: u64) {
        if let Some(initiator) = self.initiator.get().and_then(Weak::upgrade) {
            initiator.invalidate_direct(start, end);
        }
    }
}

impl fmt::Debug for TargetSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TargetSocket({}, {})", self.name, if self.is_bound() { "bound" } else { "unbound" })
    }
}
