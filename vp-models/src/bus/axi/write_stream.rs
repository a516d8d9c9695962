//! The memory as an engine's write DMA sees it: lines that are filled piece by piece.

use super::burst::{Cut, Run};
use super::write_client::{WriteClient, WriteKind};
use super::write_path::{Begin, WritePath, WritePathConfig};
use super::{Interconnect, Unmapped};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::RefCell;
use std::rc::Rc;
use vp_core::observe::LevelUnit;
use vp_core::{Sim, Time};

/// One DMA write client: lines are announced, filled piece by piece, cut into bursts, and acknowledged.
pub struct WriteStream {
    interconnect: Rc<Interconnect>,
    client: Rc<WriteClient>,
    sim: Sim,
}

impl WriteStream {
    /// A client of `interconnect` whose transactions carry `id`.
    pub fn new(interconnect: &Rc<Interconnect>, name: &str, id: u32) -> Rc<WriteStream> {
        WriteStream::build(interconnect, name, id, WriteKind::buffer(interconnect.config()))
    }

    /// A client whose bursts, of a beat each, wait for the arbiter in the registers of `path`.
    pub fn behind(
        interconnect: &Rc<Interconnect>,
        name: &str,
        id: u32,
        path: WritePathConfig,
    ) -> Rc<WriteStream> {
        let path = WritePath::new(interconnect.config().period, path);
        WriteStream::build(interconnect, name, id, WriteKind::Path(Box::new(RefCell::new(path))))
    }

    fn build(interconnect: &Rc<Interconnect>, name: &str, id: u32, kind: WriteKind) -> Rc<WriteStream> {
        let sim = interconnect.sim();
        let events = [sim.event(format!("{name}.room")), sim.event(format!("{name}.acknowledged"))];
        let level = Some(interconnect.fifos().level(format!("{name}.write_fifo"), LevelUnit::Bytes));
        let client = Rc::new(WriteClient::new(name, id, interconnect.config().period, kind, events, level));
        interconnect.add_writer(client.clone());
        Rc::new(WriteStream { interconnect: interconnect.clone(), client, sim: sim.clone() })
    }

    /// Announces that the next `bytes` put go to `address` on.
    pub fn line(&self, address: u64, bytes: u32) {
        let axi = self.interconnect.config();
        let run = Run { address: axi.on_the_bus(address), bytes };
        let cut = Cut::new(axi, axi.burst_beats).past_the_bus();
        self.client.begin_line(run, cut.bursts(self.client.port.id, run));
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
            self.interconnect.request_write(self.client.port.number(), at);
        }
    }

    /// Puts the next piece and sends the bursts that it completes now; waits while more than so many wait for the arbiter.
    pub async fn put(&self, piece: &[u8], most_waiting: usize) {
        self.put_at(self.sim.now(), piece);
        self.at_most(most_waiting).await;
    }

    /// Waits until no more than so many complete bursts wait for the arbiter, or are to come.
    pub async fn at_most(&self, bursts: usize) {
        self.known(|client| (client.waiting() <= bursts).then_some(Time::ZERO)).await;
    }

    /// Returns the number of complete bursts that wait for the arbiter, or are to come.
    pub fn waiting(&self) -> usize {
        self.client.waiting()
    }

    /// Sets the time from one burst of its engine to the next.
    pub fn set_pace(&self, pace: Time) {
        if let Some(path) = self.client.path() {
            path.borrow_mut().set_pace(pace);
        }
    }

    /// Returns the earliest time at which the next burst can be on AW; waits until that is known.
    pub async fn earliest(&self, begin: Begin) -> Time {
        self.known(|client| match client.path() {
            Some(path) => path.borrow().earliest(begin),
            None => Some(Time::ZERO),
        })
        .await
    }

    /// Returns how many bursts of at most so many, the first of which would be on AW at `at` and the others each `pace` later, begin as if
    /// nothing held them back; `None` for a client without a [`WritePathConfig`].
    pub fn unhindered(&self, begin: Begin, at: Time, pace: Time, most: usize) -> Option<usize> {
        Some(self.client.path()?.borrow().unhindered(begin, at, pace, most))
    }

    /// Returns the time at which the last burst, put for `due`, would be on AW if nothing held it back where it has left the engine; waits
    /// until that is known.
    pub async fn handed_over(&self, due: Time) -> Time {
        self.known(|client| match client.path() {
            Some(path) => path.borrow().handed_over(),
            None => Some(due),
        })
        .await
    }

    /// Waits until a time is known, which it is with a grant.
    async fn known(&self, time: impl Fn(&WriteClient) -> Option<Time>) -> Time {
        loop {
            if let Some(time) = time(&self.client) {
                return time;
            }
            self.client.awaits_grant.set(true);
            self.client.granted.wait().await;
        }
    }

    /// Drops what was announced and not put.
    pub fn abandon(&self) {
        let waited = self.client.request_time().is_some();
        self.client.planned.borrow_mut().clear();
        self.client.drop_incomplete();
        // A block that was gathered ends here.
        if !waited && let Some(at) = self.client.request_time() {
            self.interconnect.request_write(self.client.port.number(), at);
        }
    }

    /// Waits until the memory has acknowledged everything put so far.
    pub async fn drained(&self) {
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
        self.client.take_stalled()
    }
}

impl WriteStream {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let WriteStream { interconnect: _, client, sim: _ } = self;
        client.checkpoint(at)
    }
}
