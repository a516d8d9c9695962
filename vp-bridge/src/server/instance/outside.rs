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
use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;
use vp_core::{Sim, Time};
use vp_models::bus::axi::{Answer, AxiTarget, Burst, Completion, Drawn, Latency, Unmapped};
use vp_models::memory::Ram;
use vp_models::platform::MemoryPort;
use vp_protocols::native::{self, Access, MemoryRead, MemoryWrite, PortId, Request, SessionId};
use vp_shm::Region;

use super::requests::{Pages, Requests, Waits, pages};

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
