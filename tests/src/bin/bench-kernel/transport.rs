//! Transactions: 64-byte reads of random addresses, in each style of transport.

use crate::Work;
use crate::measure::{Count, Lcg, Moment, result};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use vp_core::tlm::{
    BindError, Command, DirectAccess, DirectMap, DirectRegion, Flow, Initiator, InitiatorSocket, Payload,
    PayloadEventQueue, Phase, Pool, Quantum, QuantumKeeper, Router, Storage, Sync, Target, TargetSocket,
    Transaction,
};
use vp_core::{Event, Simulation, Time};

const BURST: usize = 64;
/// Bytes behind each range, and how many ranges there are.
const REGION: u64 = 64 * 1024;
const REGIONS: u64 = 8;
/// What a memory takes for a read, and the interconnect before it.
const LATENCY: Time = Time::ns(10);
const DECODING: Time = Time::ns(2);
const QUANTUM: Time = Time::us(1);
/// Non-blocking reads on their way at a time; when a request is accepted and when its data comes.
const OUTSTANDING: usize = 16;
const ACCEPT: Time = Time::ns(1);
const RESPONSE: Time = Time::ns(100);

/// The bytes of a memory: the same in every region, and known to the checksum.
fn bytes(size: u64) -> Storage {
    (0..size).map(|i| (i.wrapping_mul(7) + 3) as u8).collect()
}

/// The address of the next read.
#[inline]
fn next_address(lcg: &mut Lcg) -> u64 {
    lcg.below((REGIONS * REGION / BURST as u64) as u32) * BURST as u64
}

/// What a read adds to the checksum.
#[inline]
fn digest(data: &[u8]) -> u64 {
    u64::from(data[0]) + u64::from(data[BURST - 1])
}

/// A memory that annotates its latency, and grants direct access.
struct Memory(Storage);

impl Target for Memory {
    fn b_transport<'a>(&'a self, payload: &'a mut Payload, delay: &'a mut Time) -> Flow<'a> {
        payload.access(&self.0);
        *delay += LATENCY + DECODING; // a router takes no time of its own
        payload.direct_allowed = true;
        Flow::Done
    }

    fn direct(&self, _: u64, _: Command) -> Option<DirectRegion> {
        let per_byte = Time::ps(LATENCY.as_ps() / BURST as u64);
        let region = DirectRegion::new(&self.0, DirectAccess::ReadWrite);
        Some(region.with_latency(per_byte, per_byte))
    }
}

fn loosely_timed(case: &str, n: u64, use_direct: bool) {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let router = (0..REGIONS).fold(Router::builder("bus"), |map, i| {
        let range = i * REGION..=(i + 1) * REGION - 1;
        map.map(format!("memory_{i}"), range, Rc::new(Memory(bytes(REGION))))
    });
    let router = router.build().expect("the ranges are apart");
    let socket = InitiatorSocket::new("initiator");
    socket.bind(router.port()).expect("the port is new");

    let (done, sum) = (Count::default(), Count::default());
    let (count, total) = (done.clone(), sum.clone());
    sim.clone().process("initiator", async move {
        let mut keeper = QuantumKeeper::new(&sim, &Quantum::new(QUANTUM));
        sim.wait(Time::ns(1)).await;
        keeper.reset();
        let mut lcg = Lcg::of(1);
        let mut payload = Payload::read(0, BURST);
        let mut direct = [0; BURST];
        let granted = DirectMap::new();
        for _ in 0..n {
            let address = next_address(&mut lcg);
            if use_direct && let Some(took) = granted.read(address, &mut direct) {
                keeper.inc(took);
                total.add(digest(&direct));
            } else {
                payload.set_read(address, BURST);
                socket.b_transport(&mut payload, keeper.local_time_mut()).await;
                assert!(payload.response.is_ok(), "read of {address:#x}: {:?}", payload.response);
                total.add(digest(&payload.data));
                if use_direct && payload.direct_allowed {
                    granted.request(&socket, address, Command::Read);
                }
            }
            count.add(1);
            if keeper.need_sync() {
                keeper.sync().await;
            }
        }
    });
    simulation.run_until(Time::ZERO);
    let start = Moment::now();
    simulation.run();
    result(case, done.get(), &start, sum.get());
}

/// Blocking transport through a router, run ahead of time by a quantum.
pub(crate) fn blocking(case: &str, work: Work) {
    loosely_timed(case, work.n, false);
}

/// The same reads without transactions, once access was granted.
pub(crate) fn direct(case: &str, work: Work) {
    loosely_timed(case, work.n, true);
}

/// A memory that answers a fixed time after the request, one answer at a time.
struct Slow {
    socket: TargetSocket,
    memory: Storage,
    /// Requests to accept by a call, if that is not done by return value.
    accepts: Option<PayloadEventQueue>,
    responses: PayloadEventQueue,
    /// Whether an answer is on the bus, and those that must wait for it.
    busy: Cell<bool>,
    waiting: RefCell<VecDeque<Transaction>>,
}

impl Slow {
    fn accept(&self) {
        while let Some(transaction) = self.accepts.as_ref().and_then(PayloadEventQueue::try_get) {
            self.socket.nb_transport_bw(&transaction, &mut Phase::EndReq, &mut Time::default());
        }
    }

    fn respond(&self) {
        while let Some(transaction) = self.responses.try_get() {
            if self.busy.get() {
                self.waiting.borrow_mut().push_back(transaction);
            } else {
                self.answer(&transaction);
            }
        }
    }

    fn answer(&self, transaction: &Transaction) {
        transaction.payload_mut().access(&self.memory);
        self.busy.set(true);
        let (mut phase, mut delay) = (Phase::BeginResp, Time::ZERO);
        if self.socket.nb_transport_bw(transaction, &mut phase, &mut delay) == Sync::Completed {
            self.busy.set(false);
        }
    }
}

impl Target for Slow {
    fn b_transport<'a>(&'a self, payload: &'a mut Payload, delay: &'a mut Time) -> Flow<'a> {
        payload.access(&self.memory);
        *delay += RESPONSE;
        Flow::Done
    }

    fn nb_transport_fw(&self, transaction: &Transaction, phase: &mut Phase, delay: &mut Time) -> Sync {
        if *phase == Phase::BeginReq {
            self.responses.notify(transaction.clone(), *delay + RESPONSE);
            if let Some(accepts) = &self.accepts {
                accepts.notify(transaction.clone(), *delay + ACCEPT);
                return Sync::Accepted;
            }
            *phase = Phase::EndReq;
            *delay += ACCEPT;
            return Sync::Updated;
        }
        self.busy.set(false);
        let next = self.waiting.borrow_mut().pop_front();
        if let Some(next) = next {
            self.answer(&next);
        }
        Sync::Completed
    }

    fn connect(&self, initiator: Weak<dyn Initiator>) -> Result<(), BindError> {
        self.socket.connect(initiator)
    }
}

/// Keeps up to [`OUTSTANDING`] reads on their way.
struct Reader {
    socket: InitiatorSocket,
    pool: Pool,
    /// Answers to acknowledge by a call, if that is not done by return value.
    acknowledges: Option<PayloadEventQueue>,
    outstanding: Cell<usize>,
    /// Fires when there is room again after there was none.
    room: Event,
    /// Whether a request is on the bus; fires when it is not any more.
    requesting: Cell<bool>,
    accepted: Event,
    done: Count,
    sum: Count,
}

impl Reader {
    async fn run(self: Rc<Self>, n: u64) {
        let sim = self.room.sim();
        sim.wait(Time::ns(1)).await;
        let mut lcg = Lcg::of(1);
        for _ in 0..n {
            while self.outstanding.get() == OUTSTANDING {
                self.room.wait().await;
            }
            let transaction = self.pool.read(next_address(&mut lcg), BURST);
            self.outstanding.set(self.outstanding.get() + 1);
            self.requesting.set(true);
            let (mut phase, mut delay) = (Phase::BeginReq, Time::ZERO);
            if self.socket.nb_transport_fw(&transaction, &mut phase, &mut delay) == Sync::Updated {
                self.requesting.set(false);
                sim.wait(delay).await;
            }
            while self.requesting.get() {
                self.accepted.wait().await;
            }
        }
    }

    fn finish(&self, transaction: &Transaction) {
        let payload = transaction.payload();
        assert!(payload.response.is_ok(), "read of {:#x}: {:?}", payload.address, payload.response);
        self.sum.add(digest(&payload.data));
        self.done.add(1);
        if self.outstanding.replace(self.outstanding.get() - 1) == OUTSTANDING {
            self.room.notify_delta();
        }
    }

    fn acknowledge(&self) {
        while let Some(transaction) = self.acknowledges.as_ref().and_then(PayloadEventQueue::try_get) {
            self.socket.nb_transport_fw(&transaction, &mut Phase::EndResp, &mut Time::default());
            self.finish(&transaction);
        }
    }
}

impl Initiator for Reader {
    fn nb_transport_bw(&self, transaction: &Transaction, phase: &mut Phase, _: &mut Time) -> Sync {
        if *phase == Phase::EndReq {
            self.requesting.set(false);
            self.accepted.notify_delta();
            return Sync::Accepted;
        }
        match &self.acknowledges {
            Some(acknowledges) => {
                acknowledges.notify(transaction.clone(), ACCEPT);
                Sync::Accepted
            }
            None => {
                self.finish(transaction);
                Sync::Completed
            }
        }
    }
}

fn approximately_timed(case: &str, n: u64, four: bool) {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let queue = |name: &str| four.then(|| PayloadEventQueue::new(&sim, name));
    let target = Rc::new(Slow {
        socket: TargetSocket::new("target"),
        memory: bytes(REGIONS * REGION),
        accepts: queue("accepts"),
        responses: PayloadEventQueue::new(&sim, "responses"),
        busy: Cell::new(false),
        waiting: RefCell::default(),
    });
    let reader = Rc::new_cyclic(|reader: &Weak<Reader>| Reader {
        socket: InitiatorSocket::with_initiator("reader", reader.clone()),
        pool: Pool::new(),
        acknowledges: queue("acknowledges"),
        outstanding: Cell::new(0),
        room: sim.event("room"),
        requesting: Cell::new(false),
        accepted: sim.event("accepted"),
        done: Count::default(),
        sum: Count::default(),
    });
    reader.socket.bind(target.clone()).expect("both are new");

    let slow = target.clone();
    sim.method("respond").sensitive(target.responses.due()).dont_initialize().run(move |_| slow.respond());
    if let Some(accepts) = &target.accepts {
        let slow = target.clone();
        sim.method("accept").sensitive(accepts.due()).dont_initialize().run(move |_| slow.accept());
    }
    if let Some(acknowledges) = &reader.acknowledges {
        let ends = reader.clone();
        let method = sim.method("acknowledge").sensitive(acknowledges.due());
        method.dont_initialize().run(move |_| ends.acknowledge());
    }
    sim.process("reader", reader.clone().run(n));
    simulation.run_until(Time::ZERO);
    let start = Moment::now();
    simulation.run();
    result(case, reader.done.get(), &start, reader.sum.get());
}

/// Requests accepted and answers taken by return value.
pub(crate) fn two_calls(case: &str, work: Work) {
    approximately_timed(case, work.n, false);
}

/// All four phases as calls.
pub(crate) fn four_calls(case: &str, work: Work) {
    approximately_timed(case, work.n, true);
}
