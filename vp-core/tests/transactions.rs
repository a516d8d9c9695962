//! What transactions promise: the names of the tests are the promises.

use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use vp_core::tlm::{
    BindError, Command, DirectAccess, DirectMap, DirectRegion, Flow, Initiator, InitiatorSocket, MapError,
    Payload, PayloadEventQueue, Phase, Pool, Quantum, QuantumKeeper, Response, Router, Storage, Sync, Target,
    TargetSocket, Transaction,
};
use vp_core::{Sim, Simulation, Time};

/// A memory that answers at once, blocks, or works in phases, as it is asked.
struct Ram {
    sim: Sim,
    bytes: Storage,
    /// If set, lets time pass itself.
    blocks_for: Option<Time>,
    /// The addresses it was asked for, as it counts.
    asked: RefCell<Vec<u64>>,
    queue: PayloadEventQueue,
    socket: TargetSocket,
    /// Only one that works in phases calls back.
    phased: bool,
}

impl Ram {
    fn new(sim: &Sim, size: usize, blocks_for: Option<Time>, phased: bool) -> Rc<Ram> {
        Rc::new(Ram {
            sim: sim.clone(),
            bytes: Storage::new(size),
            blocks_for,
            asked: RefCell::default(),
            queue: PayloadEventQueue::new(sim, "ram.queue"),
            socket: TargetSocket::new("ram"),
            phased,
        })
    }

    fn plain(sim: &Sim, size: usize) -> Rc<Ram> {
        Ram::new(sim, size, None, false)
    }

    /// Answers 10 ns after each request, one after the other, in two phases or in four.
    fn phased(sim: &Sim, four: bool) -> Rc<Ram> {
        let ram = Ram::new(sim, 0x1000, None, true);
        let this = ram.clone();
        sim.server("ram", async move {
            loop {
                let transaction = this.queue.get().await;
                let mut delay = Time::ZERO;
                if four {
                    let sync = this.socket.nb_transport_bw(&transaction, &mut Phase::EndReq, &mut delay);
                    assert_eq!(sync, Sync::Accepted);
                }
                this.asked.borrow_mut().push(transaction.payload().address);
                transaction.payload_mut().access(&this.bytes);
                this.socket.nb_transport_bw(&transaction, &mut Phase::BeginResp, &mut delay);
            }
        });
        ram
    }
}

impl Target for Ram {
    fn b_transport<'a>(&'a self, payload: &'a mut Payload, delay: &'a mut Time) -> Flow<'a> {
        self.asked.borrow_mut().push(payload.address);
        let Some(latency) = self.blocks_for else {
            payload.access(&self.bytes);
            *delay += Time::ns(10);
            return Flow::Done;
        };
        Flow::blocked(async move {
            self.sim.wait(std::mem::take(delay) + latency).await;
            payload.access(&self.bytes);
        })
    }

    fn nb_transport_fw(&self, transaction: &Transaction, phase: &mut Phase, delay: &mut Time) -> Sync {
        if !self.phased {
            let mut payload = transaction.payload_mut();
            return match self.b_transport(&mut payload, delay) {
                Flow::Done => Sync::Completed,
                Flow::Blocked(_) => unreachable!("only phased memories are asked in phases here"),
            };
        }
        match phase {
            Phase::BeginReq => {
                self.queue.notify(transaction.clone(), *delay + Time::ns(10));
                Sync::Accepted
            }
            Phase::EndResp => Sync::Completed,
            other => panic!("{other:?} is no phase of an initiator"),
        }
    }

    fn transport_dbg(&self, payload: &mut Payload) -> usize {
        if payload.access(&self.bytes).is_ok() { payload.data.len() } else { 0 }
    }

    fn direct(&self, _: u64, _: Command) -> Option<DirectRegion> {
        let region = DirectRegion::new(&self.bytes, DirectAccess::ReadWrite);
        Some(region.with_latency(Time::ps(1), Time::ps(2)))
    }

    fn connect(&self, initiator: Weak<dyn Initiator>) -> Result<(), BindError> {
        self.socket.connect(initiator)
    }
}

/// An initiator in phases that notes what comes back: address, time in ns, first byte.
struct Dma {
    sim: Sim,
    socket: InitiatorSocket,
    pool: Pool,
    four: bool,
    back: RefCell<Vec<(u64, u64, u8)>>,
    phases: RefCell<Vec<Phase>>,
    withdrawn: RefCell<Vec<(u64, u64)>>,
}

impl Dma {
    fn new(sim: &Sim, four: bool) -> Rc<Dma> {
        Rc::new_cyclic(|this: &Weak<Dma>| Dma {
            sim: sim.clone(),
            socket: InitiatorSocket::with_initiator("dma", this.clone()),
            pool: Pool::new(),
            four,
            back: RefCell::default(),
            phases: RefCell::default(),
            withdrawn: RefCell::default(),
        })
    }

    fn ask(&self, address: u64) -> Sync {
        let transaction = self.pool.take();
        transaction.payload_mut().set_read(address, 4);
        let mut delay = Time::ZERO;
        let sync = self.socket.nb_transport_fw(&transaction, &mut Phase::BeginReq, &mut delay);
        if sync == Sync::Completed {
            self.note(&transaction);
        }
        sync
    }

    fn note(&self, transaction: &Transaction) {
        let payload = transaction.payload();
        let first = if payload.response.is_ok() { payload.data[0] } else { 0xee };
        self.back.borrow_mut().push((payload.address, self.sim.now().as_ps() / 1_000, first));
    }
}

impl Initiator for Dma {
    fn nb_transport_bw(&self, transaction: &Transaction, phase: &mut Phase, delay: &mut Time) -> Sync {
        self.phases.borrow_mut().push(*phase);
        if *phase != Phase::BeginResp {
            return Sync::Accepted;
        }
        self.note(transaction);
        if !self.four {
            return Sync::Completed;
        }
        // The response is acknowledged in a call of its own.
        let sync = self.socket.nb_transport_fw(transaction, &mut Phase::EndResp, delay);
        assert_eq!(sync, Sync::Completed);
        assert_eq!(transaction.payload().address & 0xff00, 0x4400 & 0xff00, "still the initiator's own");
        Sync::Accepted
    }

    fn invalidate_direct(&self, start: u64, end: u64) {
        self.withdrawn.borrow_mut().push((start, end));
    }
}

/// Runs the body as the only process.
fn alone(body: impl AsyncFnOnce(Sim) + 'static) -> Time {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    sim.clone().process("alone", async move { body(sim).await });
    simulation.run();
    assert!(!simulation.idle_report().is_deadlock(), "{}", simulation.idle_report());
    assert_eq!(simulation.pending(), 0);
    simulation.now()
}

#[test]
fn a_socket_is_bound_once_and_an_unbound_one_answers() {
    alone(async |sim| {
        let socket = InitiatorSocket::new("cpu.data");
        let error = socket.require_bound().expect_err("nothing is there");
        assert_eq!(error.to_string(), "socket cpu.data is bound to no target");
        let (mut payload, mut delay) = (Payload::read(0, 4), Time::ZERO);
        socket.b_transport(&mut payload, &mut delay).await;
        assert_eq!(payload.response, Response::GenericError);
        assert_eq!(socket.transport_dbg(&mut payload), 0);
        assert!(socket.direct(0, Command::Read).is_none());
        let transaction = Transaction::new(Payload::read(0, 4));
        let sync = socket.nb_transport_fw(&transaction, &mut Phase::BeginReq, &mut delay);
        assert_eq!((sync, transaction.payload().response), (Sync::Completed, Response::GenericError));
        socket.bind(Ram::plain(&sim, 16)).expect("free");
        assert!(socket.bind(Ram::plain(&sim, 16)).is_err());
        assert_eq!(socket.require_bound(), Ok(()));
    });
}

#[test]
fn a_target_that_calls_back_takes_one_initiator_only() {
    alone(async |sim| {
        let ram = Ram::phased(&sim, false);
        let (first, second) = (Dma::new(&sim, false), Dma::new(&sim, false));
        first.socket.bind(ram.clone()).expect("free");
        assert_eq!(second.socket.bind(ram), Err(BindError::AlreadyBound { socket: "ram".into() }));
        assert!(!second.socket.is_bound());
    });
}

#[test]
fn a_blocking_target_lets_time_pass_and_a_decoupled_one_annotates_it() {
    let end = alone(async |sim| {
        let (fast, slow) = (InitiatorSocket::new("fast"), InitiatorSocket::new("slow"));
        fast.bind(Ram::plain(&sim, 64)).expect("free");
        slow.bind(Ram::new(&sim, 64, Some(Time::ns(80)), false)).expect("free");
        let (mut payload, mut delay) = (Payload::write(0, &[1, 2]), Time::ns(1));
        fast.b_transport(&mut payload, &mut delay).await;
        assert_eq!((delay, sim.now()), (Time::ns(11), Time::ZERO));
        slow.b_transport(&mut payload, &mut delay).await;
        assert_eq!((delay, sim.now(), payload.response), (Time::ZERO, Time::ns(91), Response::Ok));
    });
    assert_eq!(end, Time::ns(91));
}

#[test]
fn a_blocked_transport_that_is_given_up_leaves_nothing_behind() {
    let end = alone(async |sim| {
        let socket = InitiatorSocket::new("cpu");
        let router = Router::builder("bus")
            .map("slow", 0..=63, Ram::new(&sim, 64, Some(Time::ns(80)), false))
            .build()
            .expect("a good map");
        socket.bind(router.port()).expect("free");
        let (mut payload, mut delay) = (Payload::read(0, 4), Time::ZERO);
        assert!(sim.timeout(Time::ns(5), socket.b_transport(&mut payload, &mut delay)).await.is_none());
        assert_eq!(payload.response, Response::Incomplete);
    });
    assert_eq!(end, Time::ns(5));
}

#[test]
fn each_target_behind_a_router_counts_from_its_own_zero() {
    alone(async |sim| {
        let (low, high) = (Ram::plain(&sim, 0x100), Ram::plain(&sim, 0x100));
        let router = Router::builder("bus")
            .map_at("high", u64::MAX - 0x3f..=u64::MAX, high.clone(), 0xc0)
            .map("low", 0x1000..=0x10ff, low.clone())
            .build()
            .expect("a good map");
        let socket = InitiatorSocket::new("cpu");
        socket.bind(router.port()).expect("free");
        let mut delay = Time::ZERO;
        for (address, len, response) in [
            (0x1000, 4, Response::Ok),
            (0x10fc, 4, Response::Ok),
            (0x10fd, 4, Response::AddressError),
            (0x0fff, 4, Response::AddressError),
            (u64::MAX - 3, 4, Response::Ok),
            (u64::MAX - 2, 4, Response::AddressError),
            (u64::MAX, 1, Response::Ok),
            (0x5000, 1, Response::AddressError),
        ] {
            let mut payload = Payload::read(address, len);
            socket.b_transport(&mut payload, &mut delay).await;
            assert_eq!(payload.response, response, "{len} bytes at {address:#x}");
        }
        assert_eq!(*low.asked.borrow(), [0, 0xfc]);
        assert_eq!(*high.asked.borrow(), [0xfc, 0xff]);
        assert_eq!(router.decode(0x1010), Some(("low", 0x10)));
    });
}

#[test]
fn a_map_that_cannot_be_is_refused_with_the_names() {
    let simulation = Simulation::new();
    let sim = simulation.sim();
    let error = Router::builder("bus")
        .map("uart", 0x1800..=0x18ff, Ram::plain(&sim, 16))
        .map("ram", 0x1000..=0x1fff, Ram::plain(&sim, 16))
        .build()
        .expect_err("they overlap");
    assert_eq!(
        error.to_string(),
        "router bus: uart begins at 0x1800, inside of ram, which ends at 0x1fff; ranges must not overlap"
    );
    #[allow(clippy::reversed_empty_ranges)]
    let error = Router::builder("bus").map("none", 2..=1, Ram::plain(&sim, 16)).build();
    assert!(matches!(error, Err(MapError::Empty { .. })));
    let error = Router::builder("bus").map_at("far", 0..=9, Ram::plain(&sim, 16), u64::MAX).build();
    assert!(matches!(error, Err(MapError::Local { .. })));
    let taken = Ram::phased(&sim, false);
    let dma = Dma::new(&sim, false);
    dma.socket.bind(taken.clone()).expect("free");
    let error = Router::builder("bus").map("taken", 0..=9, taken).build();
    assert!(matches!(error, Err(MapError::Bind { source: BindError::AlreadyBound { .. }, .. })));
}

#[test]
fn debug_transport_takes_no_time_and_gives_the_payload_back_as_it_was() {
    let end = alone(async |sim| {
        let ram = Ram::new(&sim, 0x100, Some(Time::ns(80)), false);
        let router = Router::builder("bus").map("ram", 0x1000..=0x10ff, ram.clone()).build().expect("good");
        let socket = InitiatorSocket::new("debugger");
        socket.bind(router.port()).expect("free");
        let mut payload = Payload::write(0x1004, &[9]);
        assert_eq!(socket.transport_dbg(&mut payload), 1);
        assert_eq!((payload.address, ram.bytes[4].get()), (0x1004, 9));
        assert_eq!(socket.transport_dbg(&mut Payload::read(0x10ff, 2)), 0);
    });
    assert_eq!(end, Time::ZERO);
}

#[test]
fn direct_access_is_granted_in_the_initiators_addresses_and_no_further_than_the_range() {
    alone(async |sim| {
        let ram = Ram::plain(&sim, 0x1000);
        let router = Router::builder("bus")
            .map_at("window", 0x8000..=0x80ff, ram.clone(), 0x200)
            .build()
            .expect("a good map");
        let socket = InitiatorSocket::new("cpu");
        socket.bind(router.port()).expect("free");
        let region = socket.direct(0x8010, Command::Read).expect("it is memory");
        assert_eq!((region.start, region.end), (0x8000, 0x80ff));
        assert_eq!((region.read_latency, region.write_latency), (Time::ps(1), Time::ps(2)));
        region.write(0x8001, &[7]).expect("inside");
        assert_eq!(ram.bytes[0x201].get(), 7);
        assert!(region.read(0x80ff, &mut [0; 2]).is_err());
        assert!(region.read(0x7fff, &mut [0; 1]).is_err());
        assert!(socket.direct(0x9000, Command::Read).is_none());
    });
}

#[test]
fn direct_access_is_withdrawn_at_every_range_and_from_every_initiator() {
    let simulation = Simulation::new();
    let sim = simulation.sim();
    let ram = Ram::phased(&sim, false);
    let router = Router::builder("bus")
        .map("ram", 0x1000..=0x1fff, ram.clone())
        .map_at("alias", 0x8000..=0x80ff, ram.clone(), 0x100)
        .build()
        .expect("a good map");
    let dmas = [Dma::new(&sim, false), Dma::new(&sim, false)];
    dmas.iter().for_each(|dma| dma.socket.bind(router.port()).expect("each has its own port"));
    ram.socket.invalidate_direct(0x80, 0x11f);
    ram.socket.invalidate_direct(0x800, u64::MAX);
    for dma in &dmas {
        assert_eq!(*dma.withdrawn.borrow(), [(0x1080, 0x111f), (0x8000, 0x801f), (0x1800, 0x1fff)]);
    }
}

/// An initiator that keeps what it was granted until it is withdrawn.
struct Cpu {
    socket: InitiatorSocket,
    direct: DirectMap,
}

impl Initiator for Cpu {
    fn invalidate_direct(&self, start: u64, end: u64) {
        self.direct.invalidate(start, end);
    }
}

#[test]
fn a_map_of_direct_access_reads_what_transactions_wrote_and_adds_the_latency_until_it_is_withdrawn() {
    let simulation = Simulation::new();
    let sim = simulation.sim();
    let rams = [Ram::phased(&sim, false), Ram::phased(&sim, false)];
    let router = Router::builder("bus")
        .map("low", 0x1000..=0x1fff, rams[0].clone())
        .map_at("high", 0x8000..=0x80ff, rams[1].clone(), 0x300)
        .build()
        .expect("a good map");
    let cpu = Rc::new_cyclic(|this: &Weak<Cpu>| Cpu {
        socket: InitiatorSocket::with_initiator("cpu", this.clone()),
        direct: DirectMap::new(),
    });
    cpu.socket.bind(router.port()).expect("free");
    let mut data = [0; 4];
    assert_eq!(cpu.direct.read(0x1000, &mut data), None);
    assert!(cpu.direct.request(&cpu.socket, 0x1234, Command::Read));
    assert!(cpu.direct.request(&cpu.socket, 0x8000, Command::Write));
    assert!(!cpu.direct.request(&cpu.socket, 0x5000, Command::Read));
    let mut store = Payload::write(0x8010, &[1, 2, 3, 4]);
    assert_eq!(cpu.socket.transport_dbg(&mut store), 4);
    assert_eq!((cpu.direct.read(0x8010, &mut data), data), (Some(Time::ps(4)), [1, 2, 3, 4]));
    assert_eq!(cpu.direct.write(0x8012, &[7, 8]), Some(Time::ps(4)));
    assert_eq!((rams[1].bytes[0x312].get(), rams[1].bytes[0x313].get()), (7, 8));
    assert_eq!(cpu.direct.read(0x80fd, &mut data), None, "beyond the range");
    rams[1].socket.invalidate_direct(0x300, 0x300);
    assert_eq!(cpu.direct.read(0x8010, &mut data), None);
    assert_eq!((cpu.direct.read(0x1ffc, &mut data), data), (Some(Time::ps(4)), [0; 4]));
}

#[test]
fn in_the_phased_style_an_immediate_target_completes_at_once() {
    alone(async |sim| {
        let dma = Dma::new(&sim, false);
        dma.socket.bind(Ram::plain(&sim, 64)).expect("free");
        assert_eq!(dma.ask(0), Sync::Completed);
        assert_eq!(*dma.back.borrow(), [(0, 0, 0)]);
    });
}

#[test]
fn a_target_without_phases_serves_requests_by_its_blocking_transport() {
    struct Blocking(Sim, bool);
    impl Target for Blocking {
        fn b_transport<'a>(&'a self, payload: &'a mut Payload, delay: &'a mut Time) -> Flow<'a> {
            if self.1 {
                return Flow::blocked(self.0.wait(Time::ns(1)));
            }
            payload.response = Response::Ok;
            *delay += Time::ns(3);
            Flow::Done
        }
    }
    let simulation = Simulation::new();
    for (waits, response, took) in [(false, Response::Ok, 3), (true, Response::GenericError, 0)] {
        let socket = InitiatorSocket::new("cpu");
        socket.bind(Rc::new(Blocking(simulation.sim(), waits))).expect("free");
        let (transaction, mut delay) = (Transaction::new(Payload::read(0, 4)), Time::ZERO);
        let sync = socket.nb_transport_fw(&transaction, &mut Phase::BeginReq, &mut delay);
        assert_eq!(sync, Sync::Completed);
        assert_eq!((transaction.payload().response, delay), (response, Time::ns(took)));
    }
}

/// Two initiators behind two routers in a row, several requests each outstanding.
fn in_phases(four: bool) {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let rams = [Ram::phased(&sim, four), Ram::phased(&sim, four)];
    (0..0x1000).for_each(|at| rams[1].bytes[at].set((at >> 4) as u8));
    let inner = Router::builder("inner")
        .map("zero", 0x000..=0x0ff, rams[0].clone())
        .map("one", 0x400..=0x4ff, rams[1].clone())
        .build()
        .expect("a good map");
    let outer = Router::builder("outer").map("inner", 0x4000..=0x4fff, inner.port()).build().expect("good");
    let dmas = [Dma::new(&sim, four), Dma::new(&sim, four)];
    for (dma, base) in dmas.iter().zip([0x4400, 0x4480]) {
        dma.socket.bind(outer.port()).expect("each has its own port");
        for request in 0..3 {
            assert_eq!(dma.ask(base + request * 16), Sync::Accepted);
        }
        assert_eq!(dma.ask(0x4800), Sync::Completed);
        assert_eq!(dma.ask(0x9000), Sync::Completed);
    }
    simulation.run();
    let expected = |base: u64, first: u8| {
        let failed = [(0x4800, 0, 0xee), (0x9000, 0, 0xee)];
        let done = (0..3).map(|at| (base + u64::from(at) * 16, 10, first + at));
        failed.into_iter().chain(done).collect::<Vec<_>>()
    };
    assert_eq!(*dmas[0].back.borrow(), expected(0x4400, 0));
    assert_eq!(*dmas[1].back.borrow(), expected(0x4480, 8));
    assert_eq!(*rams[1].asked.borrow(), [0, 16, 32, 128, 144, 160], "in its own addresses, in order");
    for dma in &dmas {
        // All are back, so all can be lent again.
        assert_eq!(dma.pool.idle(), 3 + 1);
        assert_eq!(dma.phases.borrow().len(), if four { 6 } else { 3 });
        assert_eq!(dma.ask(0x4400), Sync::Accepted);
        assert_eq!(dma.pool.idle(), 3);
    }
}

#[test]
fn two_phases_find_their_way_back_through_routers_with_the_initiators_address() {
    in_phases(false);
}

#[test]
fn four_phases_find_their_way_back_through_routers_with_the_initiators_address() {
    in_phases(true);
}

#[test]
fn a_response_to_an_initiator_that_is_gone_goes_nowhere() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let ram = Ram::phased(&sim, false);
    let router = Router::builder("bus").map("ram", 0..=0xfff, ram.clone()).build().expect("a good map");
    let dma = Dma::new(&sim, false);
    dma.socket.bind(router.port()).expect("free");
    dma.ask(8);
    drop(dma);
    simulation.run();
    assert_eq!(*ram.asked.borrow(), [8]);
    let stray = Transaction::new(Payload::read(0, 1));
    let sync = ram.socket.nb_transport_bw(&stray, &mut Phase::BeginResp, &mut Time::ZERO.clone());
    assert_eq!(sync, Sync::Completed);
}

#[test]
fn a_pooled_payload_comes_as_good_as_new_with_its_storage() {
    let pool = Pool::new();
    let transaction = pool.take();
    {
        let mut payload = transaction.payload_mut();
        payload.set_write(8, &[1; 64]);
        payload.byte_enable = Some(vec![0]);
        payload.set_extension(7u8);
        payload.response = Response::Ok;
    }
    drop(transaction);
    let again = pool.take();
    let payload = again.payload();
    assert!(payload.data.is_empty() && payload.byte_enable.is_none() && payload.extension::<u8>().is_none());
    assert_eq!((payload.command, payload.response), (Command::Ignore, Response::Incomplete));
    assert!(payload.data.capacity() >= 64);
}

#[test]
fn a_pooled_read_or_write_is_new_but_for_bytes_that_no_target_has_filled() {
    let pool = Pool::new();
    let spoil = |transaction: Transaction| {
        let mut payload = transaction.payload_mut();
        payload.byte_enable = Some(vec![0]);
        payload.streaming_width = 1;
        payload.set_extension(7u8);
        payload.direct_allowed = true;
        payload.response = Response::Ok;
    };
    spoil(pool.write(8, &[1, 2, 3, 4]));
    let read = pool.read(0x40, 6);
    {
        let payload = read.payload();
        assert_eq!((payload.command, payload.address), (Command::Read, 0x40));
        assert!(
            payload.byte_enable.is_none() && payload.extension::<u8>().is_none() && !payload.direct_allowed
        );
        assert_eq!((payload.streaming_width, payload.response), (6, Response::Incomplete));
        assert_eq!(payload.data, [1, 2, 3, 4, 0, 0], "nothing was read yet");
    }
    // Who does not answer leaves a response that says that the bytes mean nothing.
    read.payload_mut().access(&Storage::new(0x40));
    assert_eq!(read.payload().response, Response::AddressError);
    spoil(read);
    let write = pool.write(0x80, &[9]);
    let payload = write.payload();
    assert_eq!((payload.command, payload.address, &payload.data[..]), (Command::Write, 0x80, &[9][..]));
    assert!(payload.byte_enable.is_none() && payload.extension::<u8>().is_none());
    assert_eq!((payload.streaming_width, payload.response), (1, Response::Incomplete));
    assert_eq!(pool.idle(), 0);
}

#[test]
fn a_transaction_may_outlive_its_pool() {
    let pool = Pool::new();
    let transaction = pool.take();
    drop(pool);
    assert_eq!(transaction.payload().address, 0);
}

#[test]
fn queued_items_are_due_in_order_of_time_and_then_of_arrival() {
    alone(async |sim| {
        let queue = PayloadEventQueue::new(&sim, "queue");
        for (item, delay) in [("c", 5), ("a", 0), ("d", 5), ("b", 2)] {
            queue.notify(item, Time::ns(delay));
        }
        for (item, time) in [("a", 0), ("b", 2), ("c", 5), ("d", 5)] {
            assert_eq!((queue.get().await, sim.now()), (item, Time::ns(time)));
        }
        // An item that comes while another is awaited, and before it.
        queue.notify("late", Time::ns(9));
        assert_eq!(queue.try_get(), None);
        queue.notify("early", Time::ns(1));
        assert_eq!((queue.get().await, queue.get().await), ("early", "late"));
        assert_eq!(sim.now(), Time::ns(14));
        queue.notify("never", Time::ns(3));
        queue.clear();
        assert!(queue.is_empty());
    });
}

#[test]
fn a_queue_announces_again_what_was_announced_before_anybody_listened() {
    alone(async |sim| {
        let queue = PayloadEventQueue::new(&sim, "queue");
        queue.notify(1, Time::ns(1));
        queue.notify(2, Time::ns(9));
        sim.wait(Time::ns(2)).await;
        // Nobody waited at 1 ns, and nobody has looked since; a later item announces itself all the same.
        queue.notify(3, Time::ns(3));
        queue.due().wait().await;
        assert_eq!((sim.now(), queue.try_get(), queue.try_get()), (Time::ns(5), Some(1), Some(3)));
        assert_eq!((queue.try_get(), queue.len()), (None, 1));
        // Of the rest, each once asked for.
        queue.notify(4, Time::ns(2));
        queue.due().wait().await;
        assert_eq!((sim.now(), queue.try_get(), queue.try_get()), (Time::ns(7), Some(4), None));
        queue.due().wait().await;
        assert_eq!((sim.now(), queue.try_get()), (Time::ns(9), Some(2)));
        // What is due at once is announced beside what is announced for later.
        queue.notify(6, Time::ns(5));
        queue.notify(5, Time::ZERO);
        queue.due().wait().await;
        assert_eq!((sim.now(), queue.try_get(), queue.try_get()), (Time::ns(9), Some(5), None));
        queue.clear();
        queue.notify(7, Time::ns(8));
        queue.due().wait().await;
        assert_eq!((sim.now(), queue.try_get()), (Time::ns(17), Some(7)));
    });
}

proptest! {
    /// The obvious reference: a list, sorted by time and arrival.
    #[test]
    fn a_queue_gives_items_at_their_time_in_order_of_time_and_arrival(
        items in prop::collection::vec((0u64..6, 0u64..9), 1..40),
    ) {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let queue = Rc::new(PayloadEventQueue::new(&sim, "queue"));
        let taken = Rc::new(RefCell::new(Vec::new()));
        let mut expected = Vec::new();
        let mut now = 0;
        for (index, &(pause, delay)) in items.iter().enumerate() {
            now += pause;
            expected.push((now + delay, index));
        }
        expected.sort_unstable();
        let (from, into) = (queue.clone(), taken.clone());
        sim.method("take").sensitive(queue.due()).dont_initialize().run(move |sim| {
            while let Some(index) = from.try_get() {
                into.borrow_mut().push((sim.now().as_ps(), index));
            }
        });
        sim.clone().process("put", async move {
            for (index, (pause, delay)) in items.into_iter().enumerate() {
                if pause > 0 {
                    sim.wait(Time::ps(pause)).await;
                }
                queue.notify(index, Time::ps(delay));
            }
        });
        simulation.run();
        prop_assert_eq!(&*taken.borrow(), &expected);
    }
}

#[test]
fn initiators_that_share_a_quantum_meet_at_its_multiples() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let quantum = Quantum::new(Time::ns(100));
    let meetings = Rc::new(RefCell::new(Vec::new()));
    for step in [7, 30] {
        let (clock, keeper) = (sim.clone(), QuantumKeeper::new(&sim, &quantum));
        let meetings = meetings.clone();
        sim.process("cpu", async move {
            while clock.now() < Time::ns(200) {
                let mut delay = keeper.local_time();
                delay += Time::ns(step); // a transport's work
                keeper.set(delay);
                if keeper.need_sync() {
                    keeper.sync().await;
                    meetings.borrow_mut().push(clock.now().as_ps() / 1_000);
                    assert_eq!(keeper.local_time(), Time::ZERO);
                }
            }
        });
    }
    simulation.run();
    // Each synchronises with its first step past a multiple of the quantum.
    assert_eq!(*meetings.borrow(), [105, 120, 203, 210]);
}

#[test]
fn without_a_quantum_every_step_is_synchronised() {
    let end = alone(async |sim| {
        let keeper = QuantumKeeper::new(&sim, &Quantum::default());
        for step in 1..=3 {
            keeper.advance(Time::ns(1)).await;
            assert_eq!(sim.now(), Time::ns(step));
        }
    });
    assert_eq!(end, Time::ns(3));
}

proptest! {
    /// The obvious reference: look at one range after the other.
    #[test]
    fn decoding_equals_looking_at_one_range_after_the_other(
        cuts in prop::collection::btree_set(any::<u64>(), 0..50),
        near in prop::collection::vec((any::<prop::sample::Index>(), -2i64..3), 20),
        whole in any::<bool>(),
    ) {
        let simulation = Simulation::new();
        let sim = simulation.sim();
        let cuts: Vec<u64> = cuts.into_iter().collect();
        // Between cuts, either all of the addresses or all but some at the end.
        let ranges: Vec<(u64, u64)> = cuts.windows(2)
            .map(|pair| (pair[0], if whole { pair[1] - 1 } else { pair[0] + (pair[1] - 1 - pair[0]) / 2 }))
            .collect();
        let mut builder = Router::builder("bus");
        for (index, &(start, end)) in ranges.iter().enumerate().rev() {
            builder = builder.map(index.to_string(), start..=end, Ram::plain(&sim, 1));
        }
        let router = builder.build().expect("no two overlap");
        for (index, offset) in near {
            let address = if cuts.is_empty() { 7 } else { index.get(&cuts).wrapping_add_signed(offset) };
            let expected = ranges.iter().enumerate()
                .find(|(_, range)| range.0 <= address && address <= range.1)
                .map(|(index, range)| (index.to_string(), address - range.0));
            let found = router.decode(address).map(|(name, local)| (name.to_owned(), local));
            prop_assert_eq!(found, expected);
        }
    }
}
