//! Memory that a session owns: bursts of the platform become requests to it, its answers complete them.
//!
//! What a run does must not depend on how fast the owner answers. A burst's data is due a known number of cycles after
//! its address, by the platform's own latency; until then the simulation may run on, and further bursts may follow. Each
//! request here has that moment as its *deadline*: the instance never lets simulated time come to it before the answer is
//! there. So the simulation goes exactly as with the memory inside.
//!
//! What is waited for with a write is only whether there is memory. Where its owner has once said so, it is *trusted*: time
//! goes on, and the answer may come when it comes. That is so only as long as nobody could tell: the owner is the only
//! session, hears of all that follows behind the write, in the same stream, with no ring and no shared memory beside it,
//! and says that it keeps to its order.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::rc::Rc;
use std::time::Instant;

use bytes::Bytes;
use vp_core::{Sim, Time};
use vp_models::bus::axi::{Answer, AxiTarget, Burst, Completion, Drawn, Latency, Unmapped};
use vp_models::memory::Ram;
use vp_models::platform::MemoryPort;
use vp_protocols::native::{
    self, Access, ErrorCode, MemoryRead, MemoryWrite, PortId, Reply, Request, RequestId, SessionId,
};
use vp_shm::Region;

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
type Pages = Rc<RefCell<HashSet<u64>>>;

/// Bytes of a page: as little as any memory comes and goes in.
const PAGE: u64 = 4096;

fn pages(burst: &Burst) -> impl Iterator<Item = u64> {
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
enum Waits {
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

    fn ask(
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

    fn is_trusted(&self, owner: SessionId) -> bool {
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

/// Memory of a session that is mapped here.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) range: Range<u64>,
    pub(super) region: Region,
}

/// A memory beyond a session, as the platform's bus sees it.
pub(super) struct OutsideMemory {
    sim: Sim,
    requests: Rc<RefCell<Requests>>,
    owner: SessionId,
    port: PortId,
    /// What the session owns; the rest stays inside.
    owned: Range<u64>,
    /// What of it is mapped here.
    shared: Rc<[Shared]>,
    inside: Rc<Ram>,
    /// Where the owner has memory for certain.
    written: Pages,
    read_latency: Time,
    write_latency: Time,
    names: Cell<u64>,
}

impl OutsideMemory {
    pub(super) fn new(
        sim: &Sim,
        requests: &Rc<RefCell<Requests>>,
        owner: SessionId,
        port: PortId,
        owned: Range<u64>,
        shared: Rc<[Shared]>,
        memory: &MemoryPort,
    ) -> Self {
        let config = memory.interconnect().config();
        Self {
            sim: sim.clone(),
            requests: requests.clone(),
            owner,
            port,
            owned,
            shared,
            inside: memory.ram(),
            written: Pages::default(),
            read_latency: config.period * least(config.read_latency),
            write_latency: config.period * least(config.write_latency),
            names: Cell::new(0),
        }
    }

    /// Whether the burst is the session's; one across the border is nobody's.
    fn owns(&self, burst: &Burst) -> Result<bool, Unmapped> {
        let end = burst.address.saturating_add(u64::from(burst.bytes));
        let Range { start, end: last } = self.owned;
        match (burst.address >= start && end <= last, end <= start || burst.address >= last) {
            (true, _) => Ok(true),
            (_, true) => Ok(false),
            _ => {
                let why = format!("the memory outside reaches from 0x{start:x} to 0x{:x}", last - 1);
                Err(Unmapped { address: burst.address, bytes: burst.bytes, why })
            }
        }
    }

    /// Where the burst's bytes are mapped here, if they are: a region, and where in it.
    fn mapped(&self, burst: &Burst) -> Option<(&Region, u64)> {
        let end = burst.address.checked_add(u64::from(burst.bytes))?;
        let found = self.shared.iter().find(|it| it.range.start <= burst.address && end <= it.range.end)?;
        Some((&found.region, burst.address - found.range.start))
    }

    /// Whether a write will do well, and nobody can tell when.
    fn trusts(&self, burst: &Burst) -> bool {
        let written = self.written.borrow();
        self.requests.borrow().is_trusted(self.owner) && pages(burst).all(|page| written.contains(&page))
    }

    fn ask(&self, latency: Option<Time>, waits: Waits, request: Request, payload: Bytes) {
        let deadline = latency.map(|latency| self.sim.now() + latency);
        let mut requests = self.requests.borrow_mut();
        requests.ask((self.owner, self.port), deadline, waits, request, payload);
        if deadline.is_some_and(|deadline| deadline <= requests.run_limit) {
            // The run was allowed to go further than the answer lets it.
            self.sim.stop();
        }
    }

    fn name(&self) -> String {
        self.names.set(self.names.get() + 1);
        format!("port{}.outside.{}", self.port.0, self.names.get())
    }
}

/// A region has the size of its range, so this is never seen.
fn outgrown(burst: &Burst) -> Unmapped {
    Unmapped { address: burst.address, bytes: burst.bytes, why: "the memory shared ends before".to_owned() }
}

/// The fewest cycles that a latency can come out as.
fn least(latency: Latency) -> u64 {
    let cycles = match latency {
        Latency::Fixed(cycles) => cycles,
        Latency::Drawn(
            Drawn::Uniform { min, .. } | Drawn::Normal { min, .. } | Drawn::Exponential { min, .. },
        ) => min,
    };
    u64::from(cycles)
}

impl AxiTarget for OutsideMemory {
    fn read(&self, burst: &Burst) -> Answer<Vec<u8>> {
        match self.owns(burst) {
            Err(refused) => return Answer::Now(Err(refused)),
            Ok(false) => return AxiTarget::read(&*self.inside, burst),
            Ok(true) => {}
        }
        if let Some((region, offset)) = self.mapped(burst) {
            let mut data = vec![0; burst.bytes as usize];
            let is_read = region.read(offset, &mut data);
            return Answer::Now(is_read.then_some(data).ok_or_else(|| outgrown(burst)));
        }
        let completion = Completion::new(&self.sim, &self.name());
        let request = Request::MemoryRead(MemoryRead {
            port: self.port,
            address: burst.address,
            length: burst.bytes,
            access: Access::Timed,
            axi_id: burst.id as u16,
            at: Some(native::Time(self.sim.now().as_ps())),
        });
        self.ask(Some(self.read_latency), Waits::Read(completion.clone(), *burst), request, Bytes::new());
        Answer::Later(completion)
    }

    fn write(&self, burst: &Burst, data: &[u8]) -> Answer<()> {
        match self.owns(burst) {
            Err(refused) => return Answer::Now(Err(refused)),
            Ok(false) => return AxiTarget::write(&*self.inside, burst, data),
            Ok(true) => {}
        }
        if let Some((region, offset)) = self.mapped(burst) {
            return Answer::Now(region.write(offset, data).then_some(()).ok_or_else(|| outgrown(burst)));
        }
        let request = Request::MemoryWrite(MemoryWrite {
            port: self.port,
            address: burst.address,
            length: burst.bytes,
            access: Access::Timed,
            axi_id: burst.id as u16,
            strobes: false,
            at: Some(native::Time(self.sim.now().as_ps())),
        });
        let payload = Bytes::copy_from_slice(data);
        if self.trusts(burst) {
            self.ask(None, Waits::Nobody(*burst, self.written.clone()), request, payload);
            return Answer::Now(Ok(()));
        }
        let completion = Completion::new(&self.sim, &self.name());
        let waits = Waits::Write(completion.clone(), *burst, self.written.clone());
        self.ask(Some(self.write_latency), waits, request, payload);
        Answer::Later(completion)
    }
}
