//! State of a platform whose memory a session has: awaited, saved without the memory, and taken up by another server's.

use std::time::{Duration, Instant};

use crate::common::raw::{CSB, DBB, IRQ, Raw};
use crate::common::{SOURCE, Served, TARGET, copy_registers, description, local, pattern};
use bytes::Bytes;
use vp_host::Host as _;
use vp_models::memory::Ram;
use vp_protocols::native::{
    Connection, ErrorCode, Event, MemoryRead, MemoryWrite, Notice, Posted, RegisterRead, RegisterWrite,
    Reply, Request, RequestId, Role, Time, TimeMode, Until,
};
use vp_server::Options;

/// 2 KiB, in many bursts.
const SIZE: (u32, u32, u32) = (8, 8, 32);

/// The CPU, the memory and the interrupt controller in one session, of a platform that runs by itself.
struct Machine {
    raw: Raw,
    ram: Ram,
    line: bool,
}

impl Machine {
    fn join(served: &Served) -> Machine {
        Machine::join_in(served, TimeMode::Free)
    }

    fn join_in(served: &Served, mode: TimeMode) -> Machine {
        let mut hello = Connection::hello("machine 1.0", None, mode);
        hello.max_payload = 8192;
        let mut raw = Raw::greet(&served.address, hello);
        for (port, role) in [(CSB, Role::Initiator), (DBB, Role::Target), (IRQ, Role::Sink)] {
            assert_eq!(raw.attach(port, role), Reply::Done);
        }
        let ram = Ram::new(0x8000_0000..0x1_0000_0000);
        ram.write(u64::from(SOURCE), &data()).unwrap();
        Machine { raw, ram, line: false }
    }

    /// Writes the registers of a copy by a group that have or do not have one of these names.
    fn write_copy(&mut self, group: u32, are_wanted: impl Fn(&str) -> bool) {
        let map = local().map();
        let (width, height, channels) = SIZE;
        for (register, value) in copy_registers(width, height, channels) {
            if !are_wanted(register) {
                continue;
            }
            let value = if register.ends_with("S_POINTER") { group } else { value };
            let address = u64::from(map.find(register).unwrap().address);
            let write = RegisterWrite { port: CSB, address, value, at: None };
            self.raw.connection.post(Posted::RegisterWrite(write), &[]).unwrap();
        }
    }

    /// Goes on to the answer of a request, and serves memory meanwhile.
    fn answer(&mut self, request: RequestId) -> (Reply, Bytes) {
        loop {
            match self.raw.next() {
                Event::Reply { id, reply, payload, .. } => {
                    assert_eq!(id, request);
                    return (reply, payload);
                }
                other => self.serve(other),
            }
        }
    }

    fn serve(&mut self, event: Event) {
        match event {
            Event::Request {
                id, request: Request::MemoryRead(MemoryRead { address, length, .. }), ..
            } => {
                let mut data = vec![0; length as usize];
                self.ram.read(address, &mut data).unwrap();
                self.raw.connection.reply(id, Time::ZERO, Reply::Data, &data).unwrap();
            }
            Event::Request { id, request: Request::MemoryWrite(MemoryWrite { address, .. }), payload } => {
                self.ram.write(address, &payload).unwrap();
                self.raw.connection.reply(id, Time::ZERO, Reply::Done, &[]).unwrap();
            }
            Event::Notice(Notice::Interrupt { level, .. }) => self.line = level,
            other => panic!("{other:?}"),
        }
    }

    fn ask(&mut self, request: Request, payload: &[u8]) -> (Reply, Bytes) {
        let id = self.raw.connection.request(request, payload).unwrap();
        self.answer(id)
    }

    fn await_rest(&mut self, patience: u32) -> Reply {
        self.ask(Request::AwaitRest { patience }, &[]).0
    }

    fn save(&mut self) -> Vec<u8> {
        let mut saved = Vec::new();
        loop {
            let first = saved.len() as u64;
            let (reply, payload) = self.ask(Request::SaveDevice { first }, &[]);
            let Reply::Saved { total } = reply else { panic!("{reply:?}") };
            saved.extend_from_slice(&payload);
            if saved.len() as u64 == total {
                return saved;
            }
        }
    }

    /// Gives the platform a state, in parts of so many bytes. Returns the last answer.
    fn restore(&mut self, saved: &[u8], part: usize) -> Reply {
        let (total, mut first, mut last) = (saved.len() as u64, 0, Reply::Done);
        for part in saved.chunks(part) {
            assert_eq!(last, Reply::Done);
            let length = u32::try_from(part.len()).unwrap();
            last = self.ask(Request::RestoreDevice { total, first, length }, part).0;
            first += u64::from(length);
        }
        last
    }

    fn read(&mut self, register: &str) -> u32 {
        let address = u64::from(local().map().find(register).unwrap().address);
        match self.ask(Request::RegisterRead(RegisterRead { port: CSB, address, at: None }), &[]).0 {
            Reply::Value { value } => value,
            other => panic!("{other:?}"),
        }
    }

    fn is_copied(&self) -> bool {
        let mut found = vec![0; data().len()];
        self.ram.read(u64::from(TARGET), &mut found).unwrap();
        found == data()
    }
}

fn data() -> Vec<u8> {
    let (width, height, channels) = SIZE;
    pattern((width * height * channels) as usize)
}

fn code(reply: &Reply) -> (ErrorCode, &str) {
    match reply {
        Reply::Failed { code, reason } => (*code, reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_layer_under_way_ends_and_another_server_goes_on_from_its_state() {
    let (here, there) = (Served::tcp(), Served::tcp());
    let mut machine = Machine::join(&here);
    machine.write_copy(0, |_| true);
    assert_eq!(machine.await_rest(60_000), Reply::Done);
    assert!(machine.is_copied() && machine.line);
    let saved = machine.save();
    let status = machine.read("GLB.S_INTR_STATUS");
    let mut other = Machine::join(&there);
    assert_eq!(other.restore(&saved, 777), Reply::Done);
    assert!(other.line, "a sink is told of the level");
    assert_eq!(other.read("GLB.S_INTR_STATUS"), status);
    assert_eq!(other.read("PDP.D_SRC_BASE_ADDR_LOW"), SOURCE);
    // Whose turn it is there.
    other.write_copy(1, |_| true);
    assert_eq!(other.await_rest(60_000), Reply::Done);
    assert!(other.is_copied());
}

#[test]
fn a_wait_for_rest_ends_with_its_patience_and_the_layer_goes_on() {
    let served = Served::tcp();
    let mut machine = Machine::join(&served);
    machine.write_copy(0, |_| true);
    // The first burst is not answered meanwhile.
    let burst = machine.raw.next();
    assert!(matches!(burst, Event::Request { request: Request::MemoryRead(_), .. }), "{burst:?}");
    let mut waiting = vec![burst];
    let wait = machine.raw.send(Request::AwaitRest { patience: 20 });
    let (id, _, reply) = machine.raw.reply(&mut waiting);
    assert_eq!(id, wait);
    let (code, reason) = code(&reply);
    assert_eq!(code, ErrorCode::NotAtRest);
    assert!(reason.contains("nvdla.pdp"), "{reason}");
    waiting.into_iter().for_each(|event| machine.serve(event));
    assert_eq!(machine.await_rest(60_000), Reply::Done);
    assert!(machine.is_copied());
}

#[test]
fn what_comes_to_no_rest_by_itself_is_not_waited_for() {
    let served = Served::tcp();
    let mut machine = Machine::join(&served);
    // Its input is awaited for ever.
    machine.write_copy(0, |register| register.starts_with("PDP."));
    let began = Instant::now();
    for request in [Request::AwaitRest { patience: 600_000 }, Request::SaveDevice { first: 0 }] {
        let (reply, _) = machine.ask(request, &[]);
        let (code, reason) = code(&reply);
        assert_eq!(code, ErrorCode::NotAtRest);
        assert!(reason.contains("pdp is enabled (group 0)"), "{reason}");
    }
    assert!(began.elapsed() < Duration::from_secs(300));
}

#[test]
fn in_lockstep_nothing_ends_while_rest_is_awaited() {
    let served = Served::tcp();
    let mut machine = Machine::join_in(&served, TimeMode::Lockstep);
    assert!(code(&machine.await_rest(600_000)).1.contains("something is due at 0 s"));
    let (reply, _) = machine.ask(Request::Advance { until: Until::Idle }, &[]);
    assert!(matches!(reply, Reply::Reached { .. }), "{reply:?}");
    assert_eq!(machine.await_rest(0), Reply::Done);
    assert!(!machine.save().is_empty());
    machine.write_copy(0, |_| true);
    assert_eq!(code(&machine.await_rest(600_000)).0, ErrorCode::NotAtRest);
}

#[test]
fn a_state_that_is_none_is_refused_and_nothing_is_lost() {
    let served = Served::tcp();
    let mut other = description();
    other.dbb0.seed += 1;
    let other = Served::with("tcp:127.0.0.1:0", Options::default(), other);
    let mut machine = Machine::join(&served);
    machine.write_copy(0, |register| register.starts_with("PDP.D_SRC"));
    assert_eq!(machine.await_rest(60_000), Reply::Done);
    let saved = machine.save();
    let foreign = Machine::join(&other).save();
    let mut damaged = saved.clone();
    damaged[saved.len() / 2] ^= 1;
    let mut form = saved.clone();
    form[4] ^= 1;
    for (state, sentence) in [
        (&foreign[..], "this was saved of another platform: `"),
        (&damaged, "this saved platform is damaged: "),
        (&form, "this platform was saved in form "),
        (&saved[..saved.len() - 1], "this saved platform is damaged: "),
        (b"none", "this is no saved platform"),
    ] {
        let reply = machine.restore(state, 4096);
        let (code, reason) = code(&reply);
        assert_eq!(code, ErrorCode::WrongState, "{reason}");
        assert!(reason.starts_with(sentence), "{reason}");
        assert_eq!(machine.read("PDP.D_SRC_BASE_ADDR_LOW"), SOURCE);
    }
    let mut part = |total, first, bytes: &[u8]| {
        let length = u32::try_from(bytes.len()).unwrap();
        machine.ask(Request::RestoreDevice { total, first, length }, bytes).0
    };
    assert_eq!(code(&part(9, 4, b"more")).0, ErrorCode::BadRange, "nothing has come before");
    assert_eq!(part(9, 0, b"VPSV"), Reply::Done);
    assert_eq!(code(&part(9, 5, b"more")).0, ErrorCode::BadRange, "a gap");
    assert_eq!(code(&part(9, 4, b"more")).0, ErrorCode::BadRange, "what had come is not kept");
    assert_eq!(code(&part(3, 0, b"more")).0, ErrorCode::BadRange, "more than all");
    assert_eq!(machine.restore(&saved, 4096), Reply::Done);
    assert_eq!(machine.read("PDP.D_SRC_BASE_ADDR_LOW"), SOURCE);
}

#[test]
fn a_state_has_no_more_room_than_the_platforms_memory() {
    let served =
        Served::at("tcp:127.0.0.1:0", Options { platform_memory_limit: 16 << 20, ..Options::default() });
    let mut machine = Machine::join(&served);
    let total = 1 << 40;
    let part = vec![7; 8192];
    let refused = (0..1 << 20).find_map(|number| {
        let request = Request::RestoreDevice { total, first: number * 8192, length: 8192 };
        match machine.ask(request, &part).0 {
            Reply::Done => None,
            refused => Some(refused),
        }
    });
    assert_eq!(code(&refused.unwrap()).0, ErrorCode::OutOfMemory);
    assert_eq!(machine.await_rest(60_000), Reply::Done);
}
