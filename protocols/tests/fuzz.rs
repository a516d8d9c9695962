//! Broken streams: whatever comes, and however it is cut, no panic, and no more memory than one packet and its answer take.
//!
//! Each thread counts what it allocates. How fast it goes in a build with optimisation, and over how many packets:
//!
//! ```text
//! cargo test --release -p vp-protocols --test fuzz -- --ignored --nocapture
//! ```

// The allocator below is the only way to see what is allocated.
#![allow(unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use common::cases;
use vp_protocols::{remote_port, renode};

/// The system's allocator, counting.
struct Counting;

thread_local! {
    /// Bytes that this thread has, and had at most.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(bytes: isize) {
    // A thread that ends has no counter any more.
    _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: every call is passed on as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        count(memory.size() as isize);
        // SAFETY: as the caller's.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, at: *mut u8, memory: Memory) {
        count(-(memory.size() as isize));
        // SAFETY: as the caller's.
        unsafe { System.dealloc(at, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Most bytes held while `work` runs, beyond those before.
fn most_held(work: impl FnOnce()) -> usize {
    let (before, _) = HELD.get();
    HELD.set((before, before));
    work();
    (HELD.get().1 - before) as usize
}

/// Numbers that look random: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators").
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn chance(&mut self, of: u64) -> bool {
        self.next().is_multiple_of(of)
    }
}

/// Appends a packet, or what is left of it, to the stream.
fn spoil(packet: &[u8], random: &mut Random, stream: &mut BytesMut) {
    let start = stream.len();
    stream.extend_from_slice(packet);
    // Most are whole, so that sessions get anywhere.
    match random.below(8) {
        0 => {
            for _ in 0..=random.below(4) {
                let at = start + random.below(packet.len());
                stream[at] = [0, 1, 2, 0x7f, 0x80, 0xff, random.next() as u8][random.below(7)];
            }
        }
        1 if random.chance(4) => stream.truncate(start + random.below(packet.len())),
        2 if random.chance(4) => {
            stream[start..].fill_with(|| random.next() as u8);
        }
        _ => {}
    }
}

/// What a run has seen.
#[derive(Debug, Default)]
struct Seen {
    events: u64,
    violations: u64,
    rules: std::collections::BTreeSet<&'static str>,
}

impl Seen {
    fn violation(&mut self, rule: &'static str) {
        self.violations += 1;
        self.rules.insert(rule);
    }
}

mod remote_port_stream {
    use super::*;
    use remote_port::*;

    /// A packet of each kind, ids and channels as they are asked for in [`run`].
    pub(super) fn templates() -> Vec<Vec<u8>> {
        let all = Capabilities::PLATFORM.union(Capabilities::ATS);
        let ats = Ats { time: 9, rights: 3, address: 0x1000, length: 0x1000, result: 0 };
        let read = Access::read(5, 0x40, 4);
        let write = Access::write(5, 0x40, &b"abcdefgh"[..]);
        let extended = |access: &Access| Access { attributes: Attributes::EXTENDED, ..access.clone() };
        let enables = Bytes::from_static(&[255, 0]);
        let requests = [
            Transaction::Read(read.clone()),
            Transaction::Read(extended(&read)),
            Transaction::Write(write.clone()),
            Transaction::Write(extended(&write)),
            Transaction::Write(Access { byte_enables: enables.clone(), ..extended(&write) }),
            Transaction::Read(Access { byte_enables: enables, ..extended(&read) }),
            Transaction::Interrupt(Interrupt { time: 7, vector: 0, line: 3, level: true }),
            Transaction::Sync { time: 11 },
            Transaction::AtsRequest(ats),
            Transaction::AtsInvalidate(ats),
        ];
        let answers = [
            Transaction::Read(Access { data: Bytes::from_static(b"abcd"), ..read.clone() }),
            Transaction::Read(Access { data: Bytes::from_static(b"abcd"), ..extended(&read) }),
            Transaction::Write(Access { data: Bytes::new(), ..extended(&write) }),
            Transaction::Sync { time: 11 },
        ];
        let mut packets = vec![
            Packet { id: 0, flags: Flags::NONE, channel: 0, body: Body::Hello(Hello::new(all)) },
            Packet {
                id: 0,
                flags: Flags::NONE,
                channel: 0,
                body: Body::Hello(Hello::new(Capabilities::NONE)),
            },
            Packet { id: 0, flags: Flags::NONE, channel: 0, body: Body::Nop },
        ];
        for flags in [Flags::NONE, Flags::POSTED, Flags::OPTIONAL] {
            let packet = |body: &Transaction| Packet {
                id: 7,
                flags,
                channel: 9,
                body: Body::Transaction(body.clone()),
            };
            packets.extend(requests.iter().map(packet));
        }
        for id in 1..4 {
            let flags = Flags::RESPONSE;
            let packet =
                |body: &Transaction| Packet { id, flags, channel: 9, body: Body::Transaction(body.clone()) };
            packets.extend(answers.iter().map(packet));
        }
        let image = |packet: &Packet| {
            let mut out = BytesMut::new();
            packet.encode(&mut out).unwrap();
            out.to_vec()
        };
        packets.iter().map(image).collect()
    }

    /// Feeds so many packets to one session after the other.
    pub(super) fn run(seed: u64, packets: u64, templates: &[Vec<u8>], seen: &mut Seen) {
        let mut random = Random(seed);
        let open = |random: &mut Random| {
            let mut connection = Connection::new(match random.below(2) {
                0 => Capabilities::PLATFORM,
                _ => Capabilities::EXTENDED_LAYOUT.union(Capabilities::ATS),
            });
            for _ in 0..3 {
                let read = Transaction::Read(Access::read(5, 0x40, 4));
                connection.request(9, read).expect("room for a few");
            }
            connection
        };
        let mut connection = open(&mut random);
        let (mut stream, mut input) = (BytesMut::new(), BytesMut::new());
        for _ in 0..packets {
            spoil(&templates[random.below(templates.len())], &mut random, &mut stream);
            while !stream.is_empty() {
                let cut = if random.chance(4) { 1 + random.below(stream.len()) } else { stream.len() };
                input.extend_from_slice(&stream[..cut]);
                bytes::Buf::advance(&mut stream, cut);
                loop {
                    match connection.receive(&mut input) {
                        Ok(Some(event)) => {
                            seen.events += 1;
                            act(&mut connection, event, &mut random);
                        }
                        Ok(None) => break,
                        Err(violation) => {
                            seen.violation(violation.rule().name());
                            assert_eq!(connection.receive(&mut input), Ok(None), "it is over");
                            assert!(input.is_empty());
                            connection = open(&mut random);
                        }
                    }
                }
                let lacking = lacking(&input);
                assert!(input.len() + lacking <= MAX_PACKET, "{} and {lacking} more", input.len());
                // Waits for a packet that is long only by mistake: mostly the stream ends there.
                if lacking > 4096 && !random.chance(64) {
                    input.clear();
                    connection = open(&mut random);
                }
            }
        }
    }

    fn act(connection: &mut Connection, event: Event, random: &mut Random) {
        let Event::Request(request) = event else { return };
        let zeros = vec![
            0;
            match &request.transaction {
                Transaction::Read(access) => access.length as usize,
                _ => 0,
            }
        ];
        let answer = match random.below(8) {
            0 => Answer::Translated { rights: 1, address: 2, length: 3 },
            1 | 2 => Answer::Failed(ResponseCode::AddressError),
            3 => Answer::Data(b"abc"),
            _ if matches!(request.transaction, Transaction::Read(_)) => Answer::Data(&zeros),
            _ => Answer::Done,
        };
        let before = connection.output().len();
        let wants_response = request.wants_response();
        let sent = connection.respond(request, 0, answer);
        let output = connection.output();
        // An answer is one packet that can be decoded; of what is refused nothing is left.
        let mut answered = output.split_off(before);
        assert_eq!(answered.is_empty(), sent.is_err() || !wants_response);
        if !answered.is_empty() {
            assert!(Packet::decode(&mut answered).unwrap().is_some() && answered.is_empty());
        }
        output.clear();
    }
}

mod renode_stream {
    use super::*;
    use renode::*;

    /// What Renode says, mostly.
    const OF_RENODE: &[Action] = &[
        Action::ReadByte,
        Action::ReadDoubleWord,
        Action::WriteWord,
        Action::WriteQuadWord,
        Action::Interrupt,
        Action::TickClock,
        Action::ResetPeripheral,
    ];
    /// What a peripheral says on main, and on async, mostly.
    const ANSWERS: &[Action] = &[Action::Ok, Action::Error, Action::ReadFromBus];
    const TOLD: &[Action] =
        &[Action::Interrupt, Action::LogMessage, Action::TickClock, Action::GetByte, Action::PushQuadWord];

    fn message(action: Action) -> Vec<u8> {
        let is_log = action == Action::LogMessage;
        let (address, data) = (if is_log { 30 } else { 2 }, 1);
        let mut bytes = Message { action, address, data, index: 0 }.emit().to_vec();
        bytes.resize(if is_log { MESSAGE + 30 } else { MESSAGE }, b'x');
        bytes
    }

    /// Feeds so many messages to one session after the other: to peripherals and to Renodes.
    pub(super) fn run(seed: u64, messages: u64, seen: &mut Seen) {
        let mut random = Random(seed);
        let handshake = Message::plain(Action::Handshake).emit();
        let (mut renode, mut peripheral) = (Emulator::new(), Connection::new());
        let mut inputs: [BytesMut; 4] = Default::default();
        let mut stream = BytesMut::new();
        for _ in 0..messages {
            let to_renode = random.chance(2);
            let (socket, likely) = match (to_renode, random.below(100)) {
                (true, 0..50) => (Socket::Main, ANSWERS),
                (true, _) => (Socket::Async, TOLD),
                (false, 1..) => (Socket::Main, OF_RENODE),
                (false, _) => (Socket::Async, OF_RENODE),
            };
            let actions = if random.chance(16) { Action::ALL } else { likely };
            spoil(&message(actions[random.below(actions.len())]), &mut random, &mut stream);
            let input = &mut inputs[2 * usize::from(to_renode) + usize::from(socket == Socket::Async)];
            input.unsplit(stream.split());
            let over = match to_renode {
                true => hear(&mut renode, socket, input, &mut random, seen),
                false => receive(&mut peripheral, socket, input, &mut random, seen),
            };
            assert!(input.len() < MESSAGE + (1 << 20), "a message, and a text of 1 MiB at most");
            if over || input.len() > 4096 && !random.chance(64) {
                inputs = Default::default();
                (renode, peripheral) = (Emulator::new(), Connection::new());
                if !random.chance(4) {
                    let mut greeting = BytesMut::from(&handshake[..]);
                    renode.receive(Socket::Main, &mut greeting).unwrap();
                    greeting.extend_from_slice(&handshake);
                    peripheral.receive(Socket::Main, &mut greeting).unwrap();
                }
            }
        }
    }

    fn receive(
        peripheral: &mut Connection,
        socket: Socket,
        input: &mut BytesMut,
        random: &mut Random,
        seen: &mut Seen,
    ) -> bool {
        loop {
            match peripheral.receive(socket, input) {
                Ok(Some(event)) => {
                    seen.events += 1;
                    // What fits and what does not: the connection knows.
                    _ = match event {
                        _ if random.chance(16) => Ok(()),
                        Event::Read { .. } => peripheral.answer(Answer::Value(random.next())),
                        Event::Tick { .. } => peripheral.ticked(),
                        _ => peripheral.answer(Answer::Done),
                    };
                    _ = match random.below(64) {
                        0 => peripheral.get(Width::Word, 8, 0),
                        1 => peripheral.push(Width::Word, 8, 8, 0),
                        2 => peripheral.interrupt(1, true),
                        3 => peripheral.log(LogLevel::Info, "ä log"),
                        _ => Ok(()),
                    };
                    while let Some((socket, bytes)) = peripheral.output().next_write() {
                        assert!(bytes.len() == MESSAGE || socket == Socket::Async && bytes.len() <= MAX_LOG);
                    }
                    if event == Event::Disconnected {
                        return true;
                    }
                }
                Ok(None) => return false,
                Err(violation) => {
                    seen.violation(violation.rule.name());
                    assert_eq!(peripheral.receive(socket, input), Ok(None), "it is over");
                    return true;
                }
            }
        }
    }

    fn hear(
        renode: &mut Emulator,
        socket: Socket,
        input: &mut BytesMut,
        random: &mut Random,
        seen: &mut Seen,
    ) -> bool {
        loop {
            match renode.receive(socket, input) {
                Ok(Some(heard)) => {
                    seen.events += 1;
                    let is_last = matches!(heard, Heard::GaveUp | Heard::Disconnected);
                    _ = match heard {
                        Heard::Get { .. } => renode.give(7),
                        Heard::Push { .. } => renode.confirm(),
                        _ => renode.tick(100),
                    };
                    _ = match random.below(64) {
                        0..16 => renode.read(Width::Word, 8, 0),
                        16 => renode.disconnect(),
                        _ => renode.write(Width::Word, 8, 8, 0),
                    };
                    while let Some((socket, bytes)) = renode.output().next_write() {
                        assert_eq!((socket, bytes.len()), (Socket::Main, MESSAGE));
                    }
                    if is_last {
                        return true;
                    }
                }
                Ok(None) => return false,
                Err(violation) => {
                    seen.violation(violation.rule.name());
                    assert_eq!(renode.receive(socket, input), Ok(None), "it is over");
                    return true;
                }
            }
        }
    }
}

/// Packets a seed.
const PACKETS: u64 = 4096;
/// A packet that lacks a byte, in a buffer that grows by doubling, while it is moved to one twice as large; or an answer.
const REMOTE_PORT_BOUND: usize = 4 * remote_port::MAX_PACKET;
/// A text for Renode's log, likewise.
const RENODE_BOUND: usize = 4 << 20;

#[test]
fn no_stream_makes_remote_port_panic_or_take_memory() {
    let templates = remote_port_stream::templates();
    let mut seen = Seen::default();
    for seed in 0..u64::from(cases(64)) {
        let most = most_held(|| remote_port_stream::run(seed, PACKETS, &templates, &mut seen));
        assert!(most < REMOTE_PORT_BOUND, "{most} bytes with seed {seed}");
    }
    assert_eq!(
        seen.rules.len(),
        remote_port::Rule::OF_PACKETS.len(),
        "all rules are broken: {:?}",
        seen.rules
    );
    assert!(seen.events > u64::from(cases(64)) * PACKETS / 2, "sessions get somewhere: {seen:?}");
}

#[test]
fn no_stream_makes_renode_panic_or_take_memory() {
    let mut seen = Seen::default();
    for seed in 0..u64::from(cases(64)) {
        let most = most_held(|| renode_stream::run(seed, PACKETS, &mut seen));
        assert!(most < RENODE_BOUND, "{most} bytes with seed {seed}");
    }
    assert_eq!(seen.rules.len(), renode::Rule::OF_MESSAGES.len(), "all rules are broken: {:?}", seen.rules);
    assert!(seen.events > u64::from(cases(64)) * PACKETS / 2, "sessions get somewhere: {seen:?}");
}

/// 100 million packets, and how fast they go.
fn measure(name: &str, run: impl FnOnce(u64, &mut Seen)) {
    const PACKETS: u64 = 100_000_000;
    let (mut seen, start) = (Seen::default(), Instant::now());
    let most = most_held(|| run(PACKETS, &mut seen));
    let seconds = start.elapsed().as_secs_f64();
    let rate = PACKETS as f64 / seconds / 1e6;
    assert!(seen.events > PACKETS / 2, "sessions get somewhere: {seen:?}");
    let Seen { events, violations, rules } = seen;
    common::say(&format!(
        "{name}: {PACKETS} packets in {seconds:.1} s, {rate:.2} million a second; {events} events, {violations} violations of \
         {} rules; at most {most} bytes held",
        rules.len()
    ));
}

#[test]
#[ignore = "100 million packets: minutes, in a build with optimisation"]
fn remote_port_at_length() {
    let templates = remote_port_stream::templates();
    measure("remote-port", |packets, seen| remote_port_stream::run(1 << 40, packets, &templates, seen));
}

#[test]
#[ignore = "100 million messages: minutes, in a build with optimisation"]
fn renode_at_length() {
    measure("renode", |messages, seen| renode_stream::run(1 << 40, messages, seen));
}
