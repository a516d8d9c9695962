//! The arbiter of a direction: its clients, and the one of those that request which is granted next.

use super::turn::{Clients, WeightedRoundRobin};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;

/// A client of the arbiter.
pub(super) trait Client {
    /// Returns its port at the arbiter.
    fn port(&self) -> &ArbiterPort;
}

/// A client's port at the arbiter: all that this knows of it.
pub(super) struct ArbiterPort {
    /// Transaction id.
    pub(super) id: u32,
    /// True if it is a master outside, whose transaction ids are its own.
    pub(super) is_outside: bool,
    /// Number of the port, once the client has been added.
    number: Cell<usize>,
    /// Number of bursts that it may be granted in a row; with 0 it is granted none.
    weight: Cell<u32>,
}

impl ArbiterPort {
    pub(super) fn new(id: u32, is_outside: bool) -> ArbiterPort {
        ArbiterPort { id, is_outside, number: Cell::default(), weight: Cell::new(1) }
    }

    /// Returns its number at the arbiter.
    pub(super) fn number(&self) -> usize {
        self.number.get()
    }
}

/// Weighted round robin among the clients of one direction (RTL, `NV_NVDLA_*_IG_arb`).
pub(super) struct Arbiter<C> {
    clients: RefCell<Vec<Rc<C>>>,
    /// Transaction ids in the order in which their clients stand, and have their turns; others come behind, as they are added.
    order: Cell<&'static [u32]>,
    requesting: Cell<Clients>,
    /// Clients that request and whose weight is zero: the arbiter skips them (`wt*` there).
    without_weight: Cell<Clients>,
    turn: Cell<WeightedRoundRobin>,
}

impl<C: Client> Arbiter<C> {
    pub(super) fn new() -> Arbiter<C> {
        Arbiter {
            clients: RefCell::default(),
            order: Cell::default(),
            requesting: Cell::new(0),
            without_weight: Cell::new(0),
            turn: Cell::default(),
        }
    }

    /// Sets the order of clients that are added from now on.
    pub(super) fn set_order(&self, order: &'static [u32]) {
        self.order.set(order);
    }

    /// Adds a client at its place; those behind it have other numbers then.
    pub(super) fn add(&self, client: Rc<C>) {
        let mut clients = self.clients.borrow_mut();
        assert!(clients.len() < Clients::BITS as usize, "more clients than an interface has places for");
        let order = self.order.get();
        let place = |client: &C| match client.port() {
            ArbiterPort { is_outside: true, .. } => usize::MAX,
            port => order.iter().position(|id| *id == port.id).unwrap_or(order.len()),
        };
        let at = clients.partition_point(|other| place(other) <= place(&client));
        clients.insert(at, client);
        clients.iter().enumerate().skip(at).for_each(|(number, client)| client.port().number.set(number));
    }

    /// The clients, each at the place of its number.
    #[inline]
    pub(super) fn clients(&self) -> Ref<'_, Vec<Rc<C>>> {
        self.clients.borrow()
    }

    /// Sets a client's weight; returns true if it has one, where it had none before or the other way round.
    pub(super) fn set_weight(&self, id: u32, weight: u32) -> Option<bool> {
        let clients = self.clients.borrow();
        let number = clients.iter().position(|client| client.port().id == id)?;
        let before = clients[number].port().weight.replace(weight);
        let [from, to] = match (before, weight) {
            (1.., 0) => [&self.requesting, &self.without_weight],
            (0, 1..) => [&self.without_weight, &self.requesting],
            _ => return None,
        };
        to.set(to.get() | from.get() & 1 << number);
        from.set(from.get() & !(1 << number));
        Some(weight > 0)
    }

    /// The clients that request and have a weight.
    #[inline]
    pub(super) fn requesting(&self) -> Clients {
        self.requesting.get()
    }

    /// Adds a client to those that request.
    pub(super) fn set_requesting(&self, number: usize) {
        let requesting = match self.clients.borrow()[number].port().weight.get() {
            0 => &self.without_weight,
            _ => &self.requesting,
        };
        requesting.set(requesting.get() | 1 << number);
    }

    /// Takes a client from those that request.
    #[inline]
    pub(super) fn clear_requesting(&self, number: usize) {
        for requesting in [&self.requesting, &self.without_weight] {
            requesting.set(requesting.get() & !(1 << number));
        }
    }

    /// Grants one of these clients, whose turn it is; returns its number.
    #[inline]
    pub(super) fn grant(&self, of: Clients, clients: &[Rc<C>]) -> Option<usize> {
        let mut turn = self.turn.get();
        let number = turn.next(of, |client| clients[client].port().weight.get())?;
        self.turn.set(turn);
        Some(number)
    }

    /// Returns true if a client requests.
    pub(super) fn has_requests(&self) -> bool {
        self.requesting.get() != 0 || self.without_weight.get() != 0
    }

    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // Clients are their engines'; their requests are looked at by the channel.
        let Arbiter { clients: _, order: _, requesting: _, without_weight: _, turn } = self;
        let mut next = turn.get();
        next.checkpoint(at)?;
        turn.set(next);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Client for ArbiterPort {
        fn port(&self) -> &ArbiterPort {
            self
        }
    }

    #[test]
    fn clients_have_their_turns_by_their_places_and_not_as_they_are_added() {
        let arbiter = Arbiter::new();
        arbiter.set_order(&[8, 9, 2, 1]);
        // A master outside uses ids of its own, which are another's here.
        for (id, is_outside) in [(1, false), (8, true), (2, false), (7, false), (8, false)] {
            arbiter.add(Rc::new(ArbiterPort::new(id, is_outside)));
        }
        let clients = arbiter.clients();
        clients.iter().for_each(|client| arbiter.set_requesting(client.number()));
        let mut turns = Vec::new();
        for _ in 0..6 {
            let number = arbiter.grant(arbiter.requesting(), &clients).unwrap();
            turns.push((clients[number].id, clients[number].is_outside));
        }
        assert_eq!(turns, [(8, false), (2, false), (1, false), (7, false), (8, true), (8, false)]);
    }
}
