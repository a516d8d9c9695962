//! The memory as an engine's write DMA sees it: lines that are filled piece by piece.

use super::write_client::WriteClient;
use super::{Interconnect, Unmapped, bursts};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::rc::Rc;
use vp_core::observe::LevelUnit;
use vp_core::{Sim, Time};

/// One DMA write client: lines are announced, filled piece by piece, cut into bursts, and acknowledged.
pub struct WriteStream {
    sim: Sim,
    interconnect: Rc<Interconnect>,
    client: Rc<WriteClient>,
    /// Number of the stream at its interface.
    number: usize,
}

impl WriteStream {
    /// A client of `interconnect` whose transactions carry `id`; up to `buffer` bursts wait for the arbiter.
    pub fn new(interconnect: &Rc<Interconnect>, name: &str, id: u32, buffer: u32) -> Rc<WriteStream> {
        let sim = interconnect.sim();
        let events = [sim.event(format!("{name}.room")), sim.event(format!("{name}.acknowledged"))];
        let level = Some(interconnect.fifos().level(format!("{name}.write_fifo"), LevelUnit::Bytes));
        let client = Rc::new(WriteClient::new(name, id, interconnect.config(), buffer, events, level));
        Rc::new(WriteStream {
            sim: sim.clone(),
            interconnect: interconnect.clone(),
            number: interconnect.add_writer(client.clone()),
            client,
        })
    }

    /// Announces that the next `bytes` put go to `address` on.
    pub fn line(&self, address: u64, bytes: u32) {
        let axi = self.interconnect.config();
        let line = bursts(self.client.id, axi.on_the_bus(address), bytes, axi.beat_bytes, axi.burst_beats);
        self.client.planned.borrow_mut().extend(line);
    }

    /// Puts the next piece into the announced bursts. The bursts that it completes are sent at `due`, and not
    /// before earlier ones. If no burst was announced for it, it is dropped.
    pub fn put_at(&self, due: Time, piece: &[u8]) {
        let waited = self.client.request_time().is_some();
        if !self.client.fill(due, piece) {
            self.client.drop_incomplete();
        }
        // What waits behind another burst changes nothing for the arbiter.
        if !waited && let Some(at) = self.client.request_time() {
            self.interconnect.request_write(self.number, at);
        }
    }

    /// Puts the next piece and sends the bursts that it completes now; waits while too many wait for the arbiter.
    pub async fn put(&self, piece: &[u8]) {
        self.put_at(self.sim.now(), piece);
        while !self.client.all_wait(self.sim.now()) {
            self.client.awaits_grant.set(true);
            self.client.granted.wait().await;
        }
    }

    /// The number of pieces that were put and are not yet with the arbiter.
    pub fn under_way(&self) -> u64 {
        self.client.under_way(self.sim.now())
    }

    /// Waits until no more than so many pieces are under way.
    pub async fn at_most(&self, pieces: u64) {
        while self.under_way() > pieces {
            match self.client.next_due() {
                Some(due) => self.sim.wait_until(due).await,
                None => {
                    self.client.awaits_grant.set(true);
                    self.client.granted.wait().await;
                }
            }
        }
    }

    /// Drops what was announced and not put.
    pub fn abandon(&self) {
        self.client.planned.borrow_mut().clear();
        self.client.drop_incomplete();
    }

    /// Waits until the memory has acknowledged everything put so far.
    pub async fn drained(&self) {
        self.at_most(0).await;
        while self.client.unacknowledged.get() > 0 {
            self.client.acknowledged.wait().await;
        }
    }

    /// The number of complete bursts since the beginning.
    pub fn bursts(&self) -> u64 {
        self.client.acknowledged_count.get() + self.client.unacknowledged.get()
    }

    /// Waits until the memory has acknowledged the first so many bursts. Only one process may wait at a time.
    pub async fn acknowledged(&self, bursts: u64) {
        while self.client.acknowledged_count.get() < bursts {
            self.client.awaited_count.set(bursts);
            self.client.acknowledged.wait().await;
        }
    }

    /// The first acknowledged burst with an error since the last call.
    pub fn take_refused(&self) -> Option<Unmapped> {
        self.client.refused.take()
    }

    /// Returns the time for which complete bursts have waited for the arbiter since the last call; several that wait at
    /// the same time count once.
    pub fn take_stalled(&self) -> Time {
        self.client.stalled.take()
    }
}

impl WriteStream {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let WriteStream { sim: _, interconnect: _, client, number: _ } = self;
        client.checkpoint(at)
    }
}
