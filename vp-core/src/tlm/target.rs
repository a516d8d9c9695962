//! The two parties of a transaction: the target that serves it, and the initiator that sends it and is called
//! back.

use super::{Command, DirectRegion, Payload, Phase, Response, Sync, Transaction};
use crate::Time;
use std::future::Future;
use std::pin::Pin;
use std::rc::Weak;
use std::task::{Context, Poll};

/// The rest of a blocking transport. Awaiting it finishes the transaction.
///
/// ```
/// use vp_core::Time;
/// use vp_core::tlm::{Flow, Payload, Target};
///
/// /// Uses another target, in time that it waits for or not, as that does.
/// struct Front<T>(T);
///
/// impl<T: Target> Target for Front<T> {
///     fn b_transport<'a>(&'a self, payload: &'a mut Payload, delay: &'a mut Time) -> Flow<'a> {
///         *delay += Time::ns(2);
///         self.0.b_transport(payload, delay)
///     }
/// }
/// ```
#[must_use = "the transaction may not be over: await it"]
pub enum Flow<'a> {
    /// The transaction is over; the time that it took is in the delay.
    Done,
    /// The target has to wait for something: this is the rest of its work.
    Blocked(Pin<Box<dyn Future<Output = ()> + 'a>>),
}

impl<'a> Flow<'a> {
    /// The rest of a target's work. Only this way of going on allocates.
    ///
    /// ```
    /// use vp_core::tlm::{Flow, Payload, Response};
    /// use vp_core::Event;
    /// fn when_ready<'a>(ready: &'a Event, payload: &'a mut Payload) -> Flow<'a> {
    ///     Flow::blocked(async move {
    ///         ready.wait().await;
    ///         payload.response = Response::Ok;
    ///     })
    /// }
    /// ```
    pub fn blocked(rest: impl Future<Output = ()> + 'a) -> Flow<'a> {
        Flow::Blocked(Box::pin(rest))
    }
}

impl Future for Flow<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if let Flow::Blocked(rest) = &mut *self {
            if rest.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            *self = Flow::Done;
        }
        Poll::Ready(())
    }
}

/// Serves transactions: a memory, a device, one port of an interconnect (`tlm_fw_transport_if`).
///
/// A model with several ports has one target for each. Only [`Target::b_transport`] must be written; the other
/// functions have defaults.
///
/// ```
/// use vp_core::tlm::{Flow, Payload, Response, Target};
/// use vp_core::{Sim, Time};
///
/// /// Answers with zeros, after it has let the time pass itself.
/// struct Slow { sim: Sim }
///
/// impl Target for Slow {
///     fn b_transport<'a>(&'a self, payload: &'a mut Payload, delay: &'a mut Time) -> Flow<'a> {
///         Flow::blocked(async move {
///             self.sim.wait(std::mem::take(delay) + Time::ns(80)).await;
///             payload.data.fill(0);
///             payload.response = Response::Ok;
///         })
///     }
/// }
/// ```
pub trait Target {
    /// Does a transaction and sets its response.
    ///
    /// `delay` is how far ahead of simulated time the initiator is: the transaction takes place at now +
    /// `delay`. A target either adds the time that it takes, or lets the time pass itself and sets `delay` to
    /// the rest.
    fn b_transport<'a>(&'a self, payload: &'a mut Payload, delay: &'a mut Time) -> Flow<'a>;

    /// Takes a step of a transaction in the non-blocking style. Never waits.
    ///
    /// By default [`Target::b_transport`] completes a request at once, and the result is [`Sync::Completed`].
    /// If the request would have to wait, the rest of its work is dropped and the response is
    /// [`Response::GenericError`]. So a target that waits has to implement this itself.
    fn nb_transport_fw(&self, transaction: &Transaction, phase: &mut Phase, delay: &mut Time) -> Sync {
        if *phase == Phase::BeginReq {
            let mut payload = transaction.payload_mut();
            let done = matches!(self.b_transport(&mut payload, delay), Flow::Done);
            if !done {
                payload.response = Response::GenericError;
            }
        }
        Sync::Completed
    }

    /// Reads or writes without time and without side effects; gives the number of bytes transferred.
    fn transport_dbg(&self, payload: &mut Payload) -> usize {
        let _ = payload;
        0
    }

    /// Grants direct access around `address`, to a region as large as possible, or declines.
    fn direct(&self, address: u64, command: Command) -> Option<DirectRegion> {
        let _ = (address, command);
        None
    }

    /// Called when a socket is bound, with the initiator to call back. Give it to a [`super::TargetSocket`] if
    /// the target has one.
    ///
    /// # Errors
    /// [`super::BindError::AlreadyBound`] if only one initiator can be served.
    fn connect(&self, initiator: Weak<dyn Initiator>) -> Result<(), super::BindError> {
        let _ = initiator;
        Ok(())
    }
}

/// An initiator that is called back by targets (`tlm_bw_transport_if`). An initiator that sends only blocking
/// transactions needs none.
///
/// ```
/// use std::rc::{Rc, Weak};
/// use vp_core::Time;
/// use vp_core::tlm::{DirectMap, Initiator, InitiatorSocket, Phase, Sync, Transaction};
///
/// struct Dma { socket: InitiatorSocket, direct: DirectMap }
///
/// impl Initiator for Dma {
///     fn nb_transport_bw(&self, transaction: &Transaction, phase: &mut Phase, _: &mut Time) -> Sync {
///         if *phase != Phase::BeginResp {
///             return Sync::Accepted;
///         }
///         assert!(transaction.payload().response.is_ok());
///         Sync::Completed
///     }
///     fn invalidate_direct(&self, start: u64, end: u64) {
///         self.direct.invalidate(start, end);
///     }
/// }
///
/// let dma = Rc::new_cyclic(|this: &Weak<Dma>| Dma {
///     socket: InitiatorSocket::with_initiator("dma", this.clone()),
///     direct: DirectMap::new(),
/// });
/// assert!(!dma.socket.is_bound());
/// ```
pub trait Initiator {
    /// Takes a step of a transaction on its way back. Never waits.
    ///
    /// By default accepts every step and ends the transaction with the response.
    fn nb_transport_bw(&self, transaction: &Transaction, phase: &mut Phase, delay: &mut Time) -> Sync {
        let _ = (transaction, delay);
        if *phase == Phase::BeginResp { Sync::Completed } else { Sync::Accepted }
    }

    /// Direct access to `start..=end` is withdrawn: regions that touch it may not be used any more.
    fn invalidate_direct(&self, start: u64, end: u64) {
        let _ = (start, end);
    }
}
