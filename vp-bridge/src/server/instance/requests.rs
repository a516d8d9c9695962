//! Requests to the owners of memory outside, until they are answered.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;
use std::time::Instant;

use bytes::Bytes;
use vp_core::Time;
use vp_models::bus::axi::{Burst, Completion, Unmapped};
use vp_protocols::native::{ErrorCode, PortId, Reply, Request, RequestId, SessionId};

use super::{Charge, ToSession};

/// Names a request to a memory owner between instance and session.
pub(in crate::server) type Token = u64;

/// Requests to memory owners without an answer, and what waits to be sent to them.
pub(super) struct Requests {
    next: Token,
    open: BTreeMap<Token, Open>,
    deadlines: BTreeSet<(Time, Token)>,
    outbox: Vec<(SessionId, ToSession)>,
    /// What each owner has been sent and has not answered, whether or not somebody still waits for it.
    unanswered: BTreeMap<SessionId, usize>,
    trusted: Option<Trusted>,
    /// Where the present run ends; a deadline before it ends the run.
    pub(super) run_limit: Time,
}

/// The session whose writes need not be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trusted {
    pub(super) owner: SessionId,
    /// As many requests can be unanswered before the next one has to wait, and all else would pass it.
    pub(super) at_once: usize,
}

/// Pages of a memory that have been written without an error.
pub(super) type Pages = Rc<RefCell<HashSet<u64>>>;

/// Bytes of a page: as little as any memory comes and goes in.
const PAGE: u64 = 4096;

pub(super) fn pages(burst: &Burst) -> impl Iterator<Item = u64> {
    let last = burst.address.saturating_add(u64::from(burst.bytes.max(1)) - 1);
    burst.address / PAGE..=last / PAGE
}

struct Open {
    owner: SessionId,
    port: PortId,
    deadline: Option<Time>,
    waits: Waits,
    asked: Instant,
}

/// Who waits for an answer.
pub(super) enum Waits {
    Read(Rc<Completion<Vec<u8>>>, Burst),
    Write(Rc<Completion<()>>, Burst, Pages),
    /// Nobody: the write was trusted.
    Nobody(Burst, Pages),
    /// Another session, whose debug access was passed on. It stays on that session's account until it is answered.
    Session(SessionId, RequestId, Option<Charge>),
}

/// What an answer brings that the simulation does not know.
pub(super) enum News {
    Forwarded(Forwarded),
    /// A write was trusted and has failed.
    Lost(Unmapped),
}

/// An answer that another session waits for.
pub(super) struct Forwarded {
    pub(super) to: SessionId,
    pub(super) id: RequestId,
    pub(super) reply: Reply,
    pub(super) payload: Bytes,
    pub(super) charge: Option<Charge>,
}

impl Requests {
    pub(super) fn new() -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Self {
            next: 0,
            open: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            outbox: Vec::new(),
            unanswered: BTreeMap::new(),
            trusted: None,
            run_limit: Time::ZERO,
        }))
    }

    pub(super) fn ask(
        &mut self,
        (owner, port): (SessionId, PortId),
        deadline: Option<Time>,
        waits: Waits,
        request: Request,
        payload: Bytes,
    ) {
        let token = self.next;
        self.next += 1;
        self.open.insert(token, Open { owner, port, deadline, waits, asked: Instant::now() });
        self.deadlines.extend(deadline.map(|deadline| (deadline, token)));
        self.outbox.push((owner, ToSession::Ask { token, request, payload }));
    }

    /// Whose writes need not be waited for from now on.
    pub(super) fn trust(&mut self, trusted: Option<Trusted>) {
        self.trusted = trusted;
    }

    pub(super) fn is_trusted(&self, owner: SessionId) -> bool {
        let unanswered = self.outbox.len() + self.unanswered.get(&owner).copied().unwrap_or(0);
        self.trusted.is_some_and(|trusted| trusted.owner == owner && unanswered < trusted.at_once)
    }

    /// Passes a debug access of one session on to the owner.
    pub(super) fn forward(
        &mut self,
        owner: (SessionId, PortId),
        from: (SessionId, RequestId),
        request: Request,
        payload: Bytes,
        charge: Option<Charge>,
    ) {
        self.ask(owner, None, Waits::Session(from.0, from.1, charge), request, payload);
    }

    /// The moment that simulated time must not come to yet.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|&(deadline, _)| deadline)
    }

    /// Who has left a request unanswered for longest, and since when.
    pub(super) fn oldest(&self) -> Option<(SessionId, Instant)> {
        self.open.first_key_value().map(|(_, open)| (open.owner, open.asked))
    }

    /// Whether there is something to be sent.
    pub(super) fn has_outbox(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// What is to be sent, in order. An owner's patience counts from now on.
    pub(super) fn take_outbox(&mut self) -> impl Iterator<Item = (SessionId, ToSession)> {
        let now = Instant::now();
        for (owner, message) in &self.outbox {
            *self.unanswered.entry(*owner).or_default() += 1;
            if let ToSession::Ask { token, .. } = message
                && let Some(open) = self.open.get_mut(token)
            {
                open.asked = now;
            }
        }
        self.outbox.drain(..)
    }

    /// An owner has answered. Answers that nobody waits for any more are dropped.
    pub(super) fn answer(
        this: &RefCell<Self>,
        owner: SessionId,
        token: Token,
        reply: Reply,
        payload: Bytes,
    ) -> Option<News> {
        if let Some(unanswered) = this.borrow_mut().unanswered.get_mut(&owner) {
            *unanswered = unanswered.saturating_sub(1);
        }
        Self::end(this, owner, token, reply, payload)
    }

    /// A request is over, by its answer or without.
    fn end(
        this: &RefCell<Self>,
        owner: SessionId,
        token: Token,
        reply: Reply,
        payload: Bytes,
    ) -> Option<News> {
        let open = {
            let mut requests = this.borrow_mut();
            requests.open.get(&token).filter(|open| open.owner == owner)?;
            let open = requests.open.remove(&token)?;
            if let Some(deadline) = open.deadline {
                requests.deadlines.remove(&(deadline, token));
            }
            open
        };
        match open.waits {
            Waits::Read(completion, burst) => {
                let data = accepted(reply, &burst).map(|()| payload.to_vec());
                completion.complete(data);
                None
            }
            Waits::Write(completion, burst, written) => {
                let done = accepted(reply, &burst);
                if done.is_ok() {
                    written.borrow_mut().extend(pages(&burst));
                }
                completion.complete(done);
                None
            }
            Waits::Nobody(burst, written) => {
                let lost = accepted(reply, &burst).err()?;
                written.borrow_mut().retain(|page| !pages(&burst).any(|gone| gone == *page));
                Some(News::Lost(lost))
            }
            Waits::Session(to, id, charge) => {
                Some(News::Forwarded(Forwarded { to, id, reply, payload, charge }))
            }
        }
    }

    /// The owner of a port's memory answers no more, for this reason: what it owes becomes an error. Gives what others
    /// wait for, and how many bursts are lost.
    pub(super) fn abandon(
        this: &RefCell<Self>,
        owner: SessionId,
        port: PortId,
        why: &str,
    ) -> (Vec<Forwarded>, usize) {
        let owed: Vec<Token> = {
            let requests = this.borrow();
            let theirs = |open: &Open| open.owner == owner && open.port == port;
            (requests.open.iter()).filter(|(_, open)| theirs(open)).map(|(&token, _)| token).collect()
        };
        let waiting = this.borrow().bursts();
        let failed = |token| {
            let reply = Reply::Failed { code: ErrorCode::Cancelled, reason: why.to_owned() };
            match Self::end(this, owner, token, reply, Bytes::new())? {
                News::Forwarded(forwarded) => Some(forwarded),
                // It is in the owner's stream, whatever comes of it.
                News::Lost(_) => None,
            }
        };
        let forwarded: Vec<Forwarded> = owed.into_iter().filter_map(failed).collect();
        let mut requests = this.borrow_mut();
        requests.tidy_outbox();
        (forwarded, waiting - requests.bursts())
    }

    /// A session waits no more for others' memories, and answers no more for its own.
    pub(super) fn forget_session(&mut self, session: SessionId) {
        self.open.retain(|_, open| !matches!(open.waits, Waits::Session(of, ..) if of == session));
        self.unanswered.remove(&session);
        self.tidy_outbox();
    }

    /// Asks for nothing that nobody waits for.
    fn tidy_outbox(&mut self) {
        let open = &self.open;
        let is_open =
            |message: &ToSession| matches!(message, ToSession::Ask { token, .. } if open.contains_key(token));
        self.outbox.retain(|(_, message)| is_open(message));
    }

    /// Forgets the bursts of a platform that is torn down. Owners' late answers find nobody.
    pub(super) fn forget_bursts(&mut self) {
        self.open.retain(|_, open| matches!(open.waits, Waits::Session(..)));
        self.deadlines.clear();
    }

    /// How many bursts are unanswered.
    pub(super) fn bursts(&self) -> usize {
        self.deadlines.len()
    }
}

fn accepted(reply: Reply, burst: &Burst) -> Result<(), Unmapped> {
    match reply {
        Reply::Failed { code, reason } => {
            let why = if reason.is_empty() { code.to_string() } else { reason };
            Err(Unmapped { address: burst.address, bytes: burst.bytes, why })
        }
        _ => Ok(()),
    }
}
