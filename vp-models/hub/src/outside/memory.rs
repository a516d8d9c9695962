//! A memory that a party owns, as the platform's bus sees it.
//!
//! A run must not depend on how fast the owner answers. A burst's data is due a known number of cycles after
//! its address, by the platform's own latency. Until then the simulation may run on, and further bursts may
//! follow. This time is the *deadline* of each request here: the hub never lets simulated time reach it before
//! the answer is there. So the simulation is exactly the same as with the memory inside.
//!
//! For a write, only one thing has to be known: whether there is memory. Where its owner has once confirmed
//! this, the write is *trusted*: time goes on, and the answer may come at any time. This is allowed only as
//! long as no party can notice: the owner is the only party, receives everything that follows the write over
//! the same connection, and guarantees that it keeps the order.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;
use vp_core::{Sim, Time};

use super::DirectRange;
use super::requests::{AnswerReceiver, Pages, Requests, pages};
use crate::output::MemoryAccess;
use crate::ports::Holding;
use vp_models::bus::axi::{Answer, AxiTarget, Burst, Completion, Unmapped};
use vp_models::memory::Ram;
use vp_models::platform::MemoryPort;
use vp_types::{AccessKind, PartyId, PortId};

/// A memory outside.
pub(crate) struct OutsideMemory {
    sim: Sim,
    requests: Rc<RefCell<Requests>>,
    owner: PartyId,
    port: PortId,
    /// The addresses that the party owns; all others stay inside.
    owned: Range<u64>,
    /// Parts of it that are accessed directly.
    direct: Rc<[DirectRange]>,
    inside: Rc<Ram>,
    /// Pages at which the owner has memory for certain.
    written: Pages,
    read_latency: Time,
    write_latency: Time,
    names: Cell<u64>,
}

impl OutsideMemory {
    pub(crate) fn new(
        sim: &Sim,
        requests: &Rc<RefCell<Requests>>,
        holding: &Holding,
        memory: &MemoryPort,
    ) -> Self {
        let config = memory.interconnect().config();
        Self {
            sim: sim.clone(),
            requests: requests.clone(),
            owner: holding.party,
            port: holding.port,
            owned: holding.range.clone(),
            direct: holding.direct.clone(),
            inside: memory.ram(),
            written: Pages::default(),
            read_latency: config.period * u64::from(config.read_latency.least()),
            write_latency: config.period * u64::from(config.write_latency.least()),
            names: Cell::new(0),
        }
    }

    /// Returns true if the burst is the party's; a burst across the border belongs to no memory.
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

    /// Returns the part in which the burst's bytes are accessed directly, if they are, and the offset in it.
    fn direct(&self, burst: &Burst) -> Option<(&DirectRange, u64)> {
        let end = burst.address.checked_add(u64::from(burst.bytes))?;
        let part = self.direct.iter().find(|it| it.range.start <= burst.address && end <= it.range.end)?;
        Some((part, burst.address - part.range.start))
    }

    /// Returns true if a write will succeed, and its time makes no difference to any party.
    fn trusts(&self, burst: &Burst) -> bool {
        let written = self.written.borrow();
        self.requests.borrow().is_trusted(self.owner) && pages(burst).all(|page| written.contains(&page))
    }

    fn ask(&self, latency: Option<Time>, waits: AnswerReceiver, burst: &Burst, data: Option<&[u8]>) {
        let deadline = latency.map(|latency| self.sim.now() + latency);
        let access = MemoryAccess {
            address: burst.address,
            length: burst.bytes,
            write: data.map(|data| (Bytes::copy_from_slice(data), None)),
            kind: AccessKind::Timed,
            axi_id: burst.id as u16,
            at: Some(self.sim.now()),
        };
        let mut requests = self.requests.borrow_mut();
        requests.ask((self.owner, self.port), deadline, waits, access);
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

/// The direct memory has ended before its range does.
fn outgrown(burst: &Burst) -> Unmapped {
    Unmapped { address: burst.address, bytes: burst.bytes, why: "the memory shared ends before".to_owned() }
}

impl AxiTarget for OutsideMemory {
    fn read(&self, burst: &Burst) -> Answer<Vec<u8>> {
        match self.owns(burst) {
            Err(refused) => return Answer::Now(Err(refused)),
            Ok(false) => return AxiTarget::read(&*self.inside, burst),
            Ok(true) => {}
        }
        if let Some((part, offset)) = self.direct(burst) {
            let mut data = vec![0; burst.bytes as usize];
            let is_read = part.memory.read(offset, &mut data);
            return Answer::Now(is_read.then_some(data).ok_or_else(|| outgrown(burst)));
        }
        let completion = Completion::new(&self.sim, &self.name());
        self.ask(Some(self.read_latency), AnswerReceiver::Read(completion.clone(), *burst), burst, None);
        Answer::Later(completion)
    }

    fn write(&self, burst: &Burst, data: &[u8]) -> Answer<()> {
        match self.owns(burst) {
            Err(refused) => return Answer::Now(Err(refused)),
            Ok(false) => return AxiTarget::write(&*self.inside, burst, data),
            Ok(true) => {}
        }
        if let Some((part, offset)) = self.direct(burst) {
            let is_written = part.memory.write(offset, data);
            return Answer::Now(is_written.then_some(()).ok_or_else(|| outgrown(burst)));
        }
        if self.trusts(burst) {
            self.ask(None, AnswerReceiver::Nobody(*burst, self.written.clone()), burst, Some(data));
            return Answer::Now(Ok(()));
        }
        let completion = Completion::new(&self.sim, &self.name());
        let waits = AnswerReceiver::Write(completion.clone(), *burst, self.written.clone());
        self.ask(Some(self.write_latency), waits, burst, Some(data));
        Answer::Later(completion)
    }
}
