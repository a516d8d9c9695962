//! Requests to the owners of memory outside, until they are answered.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

use bytes::Bytes;
use vp_core::Time;

use crate::ids::{RequestId, Tag};
use crate::output::{Failure, FailureKind, MemoryAccess, Output};
use vp_models::bus::axi::{Burst, Completion, Unmapped};
use vp_types::{PartyId, PortId};

/// Requests without an answer, and those that wait to be sent.
#[derive(Default)]
pub(crate) struct Requests {
    next: u64,
    open: BTreeMap<RequestId, OpenRequest>,
    deadlines: BTreeSet<(Time, RequestId)>,
    outbox: Vec<Output>,
    /// The requests that each owner has not answered, whether or not something still waits for them.
    unanswered: BTreeMap<PartyId, usize>,
    ordered: Option<OrderedOwner>,
    /// Time at which the present run ends; a deadline before it ends the run.
    pub(crate) run_limit: Time,
}

/// The party whose writes need not be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OrderedOwner {
    pub(crate) party: PartyId,
    /// The number of requests that can be unanswered before the next one has to wait.
    pub(crate) at_once: usize,
}

/// Pages of a memory that have been written without an error.
pub(super) type Pages = Rc<RefCell<HashSet<u64>>>;

/// Bytes of a page: as little as any memory comes and goes in.
const PAGE: u64 = 4096;

pub(super) fn pages(burst: &Burst) -> impl Iterator<Item = u64> {
    let last = burst.address.saturating_add(u64::from(burst.bytes.max(1)) - 1);
    burst.address / PAGE..=last / PAGE
}

struct OpenRequest {
    owner: PartyId,
    port: PortId,
    deadline: Option<Time>,
    waits: AnswerReceiver,
}

/// Receiver of an answer.
pub(crate) enum AnswerReceiver {
    Read(Rc<Completion<Vec<u8>>>, Burst),
    Write(Rc<Completion<()>>, Burst, Pages),
    /// Nothing: the write was trusted.
    Nobody(Burst, Pages),
    /// Another party, whose debug access was passed on, and whether it reads.
    Party(PartyId, Tag, bool),
}

/// News in an answer that the simulation does not know.
pub(crate) enum HubNotice {
    /// A party's debug access is over.
    Forwarded { to: PartyId, tag: Tag, result: Result<Option<Bytes>, Failure> },
    /// A write was trusted and has failed.
    Lost(Unmapped),
}

impl Requests {
    pub(crate) fn ask(
        &mut self,
        (owner, port): (PartyId, PortId),
        deadline: Option<Time>,
        waits: AnswerReceiver,
        access: MemoryAccess,
    ) {
        let request = RequestId(self.next);
        self.next += 1;
        self.open.insert(request, OpenRequest { owner, port, deadline, waits });
        self.deadlines.extend(deadline.map(|deadline| (deadline, request)));
        *self.unanswered.entry(owner).or_default() += 1;
        self.outbox.push(Output::Request { party: owner, request, port, access });
    }

    /// Sets the party whose writes need not be waited for from now on.
    pub(crate) fn trust(&mut self, ordered: Option<OrderedOwner>) {
        self.ordered = ordered;
    }

    /// Returns true if something waits for the answer to a request.
    pub(crate) fn is_open(&self, request: RequestId) -> bool {
        self.open.contains_key(&request)
    }

    /// Returns the number of requests that an owner has not answered.
    pub(crate) fn unanswered_of(&self, owner: PartyId) -> usize {
        self.unanswered.get(&owner).copied().unwrap_or(0)
    }

    pub(super) fn is_trusted(&self, owner: PartyId) -> bool {
        let unanswered = self.unanswered.get(&owner).copied().unwrap_or(0);
        self.ordered.is_some_and(|ordered| ordered.party == owner && unanswered < ordered.at_once)
    }

    /// The moment that simulated time must not come to yet.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|&(deadline, _)| deadline)
    }

    /// Returns true if there are requests to send.
    pub(crate) fn has_outbox(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// The requests to send, in order.
    pub(crate) fn take_outbox(&mut self) -> impl Iterator<Item = Output> {
        self.outbox.drain(..)
    }

    /// An owner has answered. An answer for which nothing waits any more is dropped.
    pub(crate) fn answer(
        this: &RefCell<Self>,
        owner: PartyId,
        request: RequestId,
        result: Result<Bytes, Failure>,
    ) -> Option<HubNotice> {
        if let Some(unanswered) = this.borrow_mut().unanswered.get_mut(&owner) {
            *unanswered = unanswered.saturating_sub(1);
        }
        Self::end(this, owner, request, result)
    }

    /// A request is over, by its answer or without.
    fn end(
        this: &RefCell<Self>,
        owner: PartyId,
        request: RequestId,
        result: Result<Bytes, Failure>,
    ) -> Option<HubNotice> {
        let open = {
            let mut requests = this.borrow_mut();
            requests.open.get(&request).filter(|open| open.owner == owner)?;
            let open = requests.open.remove(&request)?;
            if let Some(deadline) = open.deadline {
                requests.deadlines.remove(&(deadline, request));
            }
            open
        };
        match open.waits {
            AnswerReceiver::Read(completion, burst) => {
                completion.complete(read(result, &burst));
                None
            }
            AnswerReceiver::Write(completion, burst, written) => {
                let done = result.map(drop).map_err(|failure| refused(&burst, failure.reason));
                if done.is_ok() {
                    written.borrow_mut().extend(pages(&burst));
                }
                completion.complete(done);
                None
            }
            AnswerReceiver::Nobody(burst, written) => {
                let lost = refused(&burst, result.err()?.reason);
                written.borrow_mut().retain(|page| !pages(&burst).any(|gone| gone == *page));
                Some(HubNotice::Lost(lost))
            }
            AnswerReceiver::Party(to, tag, reads) => {
                let result = result.map(|data| reads.then_some(data));
                Some(HubNotice::Forwarded { to, tag, result })
            }
        }
    }

    /// The owner of a port's memory answers no more, for this reason: what it owes becomes an error. Gives what other
    /// parties wait for, and how many bursts are lost.
    pub(crate) fn abandon(
        this: &RefCell<Self>,
        owner: PartyId,
        port: PortId,
        why: &str,
    ) -> (Vec<HubNotice>, usize) {
        let owed: Vec<RequestId> = {
            let requests = this.borrow();
            let theirs = |open: &OpenRequest| open.owner == owner && open.port == port;
            (requests.open.iter()).filter(|(_, open)| theirs(open)).map(|(&request, _)| request).collect()
        };
        let waiting = this.borrow().bursts();
        let gone = || Err(Failure::new(FailureKind::Cancelled, why));
        let ended = owed.into_iter().filter_map(|request| Self::end(this, owner, request, gone()));
        // A trusted write is on its way to the owner, whatever comes of it.
        let news = ended.filter(|news| matches!(news, HubNotice::Forwarded { .. })).collect();
        let mut requests = this.borrow_mut();
        requests.prune_outbox();
        (news, waiting - requests.bursts())
    }

    /// A party waits no more for others' memories, and answers no more for its own.
    pub(crate) fn forget_party(&mut self, party: PartyId) {
        self.open.retain(|_, open| !matches!(open.waits, AnswerReceiver::Party(of, ..) if of == party));
        self.unanswered.remove(&party);
        self.prune_outbox();
    }

    /// Removes requests for which nothing waits.
    fn prune_outbox(&mut self) {
        let (open, unanswered) = (&self.open, &mut self.unanswered);
        self.outbox.retain(|output| {
            let Output::Request { party, request, .. } = output else { return true };
            let is_open = open.contains_key(request);
            if !is_open && let Some(unanswered) = unanswered.get_mut(party) {
                *unanswered = unanswered.saturating_sub(1);
            }
            is_open
        });
    }

    /// Forgets the bursts of a platform that is torn down. Late answers of owners are dropped.
    pub(crate) fn forget_bursts(&mut self) {
        self.open.retain(|_, open| matches!(open.waits, AnswerReceiver::Party(..)));
        self.deadlines.clear();
    }

    /// Returns the number of bursts that are unanswered.
    pub(crate) fn bursts(&self) -> usize {
        self.deadlines.len()
    }
}

/// The data of a read, which has the length of the burst.
fn read(result: Result<Bytes, Failure>, burst: &Burst) -> Result<Vec<u8>, Unmapped> {
    let data = result.map_err(|failure| refused(burst, failure.reason))?;
    match data.len() == burst.bytes as usize {
        true => Ok(data.to_vec()),
        false => Err(refused(burst, format!("its owner answered with {} bytes", data.len()))),
    }
}

fn refused(burst: &Burst, why: String) -> Unmapped {
    Unmapped { address: burst.address, bytes: burst.bytes, why }
}
