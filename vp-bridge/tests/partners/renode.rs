//! `vp renode` beside a Renode that is made of the protocol's own codec, after what is known of Renode: it listens at two TCP ports,
//! starts the peripheral with them, takes one message by one receive, and gives every answer three seconds. Renode itself
//! was not there.

use crate::common;
use crate::common::process::Ended as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use vp_host::Host as _;
use vp_protocols::renode::{Emulator, EmulatorEvent, MESSAGE, Socket, Width};

/// `GLB.S_NVDLA_HW_VERSION`, and what it reads on nv_small.
const VERSION: (u64, u64) = (0x1000, 0x0030_3031);
/// `GLB.S_INTR_MASK`: a register that keeps what is written.
const MASK: u64 = 0x1004;
/// `GLB.S_INTR_STATUS`.
const STATUS: u64 = 0x100c;
/// Renode's own `timeout`.
const TIMEOUT: Duration = Duration::from_secs(3);
const INDEX: i32 = 0;

struct Renode {
    child: Child,
    emulator: Emulator,
    main: TcpStream,
    asynchronous: TcpStream,
    memory: Vec<u8>,
    /// Levels of the line, and how many ticks had ended when each came.
    levels: Vec<(bool, u32)>,
    ticks: u32,
    bus_accesses: u32,
    log: Vec<String>,
}

impl Renode {
    fn start(options: &[&str]) -> Renode {
        let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let [main, asynchronous] = listeners.each_ref().map(|of| of.local_addr().unwrap().port().to_string());
        let child = Command::new(env!("CARGO_BIN_EXE_vp"))
            .args(["renode", &main, &asynchronous, "127.0.0.1"])
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let [main, asynchronous] = listeners.map(|listener| accept(&listener));
        let memory = vec![0; 1 << 20];
        let (levels, log) = (Vec::new(), Vec::new());
        let emulator = Emulator::new();
        let mut renode =
            Renode { child, emulator, main, asynchronous, memory, levels, ticks: 0, bus_accesses: 0, log };
        assert_eq!(renode.wait(), EmulatorEvent::Connected);
        renode
    }

    fn write(&mut self) {
        while let Some((socket, message)) = self.emulator.output().next_write() {
            assert_eq!(socket, Socket::Main, "Renode says nothing on the async socket");
            self.main.write_all(&message).unwrap();
        }
    }

    /// Returns what comes next that is no business of the bus, the line or the log.
    fn wait(&mut self) -> EmulatorEvent {
        let given_up = Instant::now() + TIMEOUT;
        loop {
            self.write();
            // Interrupts come before the end of the tick in which they happened: async is looked at first.
            for socket in [Socket::Async, Socket::Main] {
                let stream = if socket == Socket::Main { &mut self.main } else { &mut self.asynchronous };
                let Some(mut message) = receive(stream) else { continue };
                if message.len() == MESSAGE && message[0] == 5 && socket == Socket::Async {
                    // The text of a log message is a receive of its own, of its length.
                    let length = u64::from_le_bytes(message[4..12].try_into().unwrap());
                    message.extend_from_slice(&until_there(stream, length as usize, given_up));
                }
                match self.emulator.receive(socket, &mut message).unwrap() {
                    Some(EmulatorEvent::Get { width, address, index }) => self.give(width, address, index),
                    Some(EmulatorEvent::Push { width, address, data, index }) => {
                        self.bus_accesses += 1;
                        assert_eq!(index, INDEX);
                        let bytes = width.bytes() as usize;
                        let at = (address - u64::from(common::SOURCE)) as usize;
                        self.memory[at..at + bytes].copy_from_slice(&data.to_le_bytes()[..bytes]);
                        self.emulator.confirm().unwrap();
                    }
                    Some(EmulatorEvent::Interrupt { line, level }) => {
                        assert_eq!(line, 0);
                        self.levels.push((level, self.ticks));
                    }
                    Some(EmulatorEvent::Log { text, .. }) => {
                        self.log.push(String::from_utf8(text.to_vec()).unwrap());
                    }
                    Some(heard) => return heard,
                    None => {}
                }
                assert!(message.is_empty(), "one message a receive");
            }
            assert!(Instant::now() < given_up, "nothing came in three seconds");
        }
    }

    fn give(&mut self, width: Width, address: u64, index: i32) {
        self.bus_accesses += 1;
        assert_eq!(index, INDEX);
        let bytes = width.bytes() as usize;
        assert!(address.is_multiple_of(bytes as u64));
        let at = (address - u64::from(common::SOURCE)) as usize;
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(&self.memory[at..at + bytes]);
        self.emulator.give(u64::from_le_bytes(value)).unwrap();
    }

    fn read(&mut self, width: Width, address: u64) -> Option<u64> {
        self.emulator.read(width, address, INDEX).unwrap();
        match self.wait() {
            EmulatorEvent::Value { data } => Some(data),
            EmulatorEvent::Failed => None,
            other => panic!("{other:?}"),
        }
    }

    /// Writes, and returns true if it was done.
    fn store(&mut self, width: Width, address: u64, value: u64) -> bool {
        self.emulator.write(width, address, value, INDEX).unwrap();
        match self.wait() {
            EmulatorEvent::Done => true,
            EmulatorEvent::Failed => false,
            other => panic!("{other:?}"),
        }
    }

    fn tick(&mut self, nanoseconds: u64) {
        self.emulator.tick(nanoseconds).unwrap();
        assert!(matches!(self.wait(), EmulatorEvent::Ticked { .. }));
        self.ticks += 1;
    }

    /// Ends the connection, and returns how the program ends, and what it says.
    fn end(mut self) -> (bool, String) {
        let stderr = self.child.stderr.take().unwrap();
        drop((self.main, self.asynchronous));
        let given_up = Instant::now() + Duration::from_secs(20);
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > given_up => {
                    self.child.kill().unwrap();
                    panic!("vp renode goes on without Renode");
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        (status.success(), std::io::read_to_string(stderr).unwrap())
    }

    fn disconnect(mut self) -> (bool, String) {
        self.emulator.disconnect().unwrap();
        assert_eq!(self.wait(), EmulatorEvent::Disconnected);
        self.end()
    }
}

fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let given_up = Instant::now() + TIMEOUT;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true).unwrap();
                stream.set_nodelay(true).unwrap();
                return stream;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < given_up => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => panic!("it does not connect: {error}"),
        }
    }
}

/// One receive of one message; nothing if nothing has come. A part of a message would be fatal to Renode.
fn receive(stream: &mut TcpStream) -> Option<BytesMut> {
    let mut message = [0; MESSAGE];
    match stream.read(&mut message) {
        Ok(MESSAGE) => Some(BytesMut::from(&message[..])),
        // After a disconnect both sockets end.
        Ok(0) => None,
        Ok(length) => panic!("a receive of {length} bytes"),
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(error) => panic!("{error}"),
    }
}

/// Returns what one receive of so many bytes gives, once there is something.
fn until_there(stream: &mut TcpStream, length: usize, given_up: Instant) -> Vec<u8> {
    let mut text = vec![0; length];
    loop {
        match stream.read(&mut text) {
            Ok(length) => {
                text.truncate(length);
                return text;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < given_up => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn registers_have_32_and_64_bits_and_renodes_log_says_why_others_fail() {
    let mut renode = Renode::start(&[]);
    assert_eq!(renode.read(Width::DoubleWord, VERSION.0), Some(VERSION.1));
    assert!(renode.store(Width::DoubleWord, MASK, 0x15));
    assert_eq!(renode.read(Width::DoubleWord, MASK), Some(0x15));
    assert_eq!(renode.read(Width::QuadWord, VERSION.0), Some(0x15 << 32 | VERSION.1));
    assert!(renode.store(Width::QuadWord, VERSION.0, 0x2a << 32));
    assert_eq!(renode.read(Width::DoubleWord, MASK), Some(0x2a));
    let before = renode.log.len();
    for (width, address) in [
        (Width::Byte, MASK),
        (Width::Word, MASK),
        (Width::DoubleWord, MASK + 2),
        (Width::DoubleWord, 1 << 40),
        (Width::QuadWord, u64::MAX - 3),
    ] {
        assert_eq!(renode.read(width, address), None, "{width:?} at {address:#x}");
        assert!(!renode.store(width, address, 0), "{width:?} at {address:#x}");
    }
    renode.emulator.input(1, true).unwrap();
    assert_eq!(renode.wait(), EmulatorEvent::Failed);
    assert_eq!(renode.read(Width::DoubleWord, MASK), Some(0x2a), "that changed nothing");
    // A line that came with an answer, on the other socket, is read with the next one.
    assert!(renode.log.len() >= before + 10, "{:?}", renode.log);
    renode.emulator.reset().unwrap();
    assert_eq!(renode.read(Width::DoubleWord, MASK), Some(0), "a reset did");
    let (is_fine, said) = renode.disconnect();
    assert!(is_fine, "{said}");
}

/// Programs a layer that copies, lets time pass by ticks until its interrupt, and gives in how many ticks it came and what
/// the layer left.
fn run_layer(renode: &mut Renode, tick: u64) -> u32 {
    let (width, height, channels) = (8, 8, 32);
    let source = common::pattern((width * height * channels) as usize);
    renode.memory[..source.len()].copy_from_slice(&source);
    let map = common::local().map();
    for (register, value) in common::copy_registers(width, height, channels) {
        let address = u64::from(map.find(register).unwrap().address);
        assert!(renode.store(Width::DoubleWord, address, value.into()));
    }
    while renode.levels.is_empty() {
        renode.tick(tick);
        assert!(renode.ticks < 100_000, "no interrupt");
    }
    assert_eq!(renode.read(Width::DoubleWord, STATUS), Some(1 << 4));
    assert!(renode.store(Width::DoubleWord, STATUS, 1 << 4));
    renode.tick(tick);
    let target = (common::TARGET - common::SOURCE) as usize;
    assert_eq!(renode.memory[target..][..source.len()], source);
    let [(true, ticks), (false, _)] = renode.levels[..] else { panic!("{:?}", renode.levels) };
    ticks
}

#[test]
fn a_layer_reads_and_writes_renodes_memory_and_raises_its_interrupt_in_the_same_tick_each_time() {
    let runs: Vec<(u32, u32)> = (0..2)
        .map(|_| {
            let mut renode = Renode::start(&[]);
            let ticks = run_layer(&mut renode, 100);
            // A tick is sent before the level that came in it is counted.
            assert!(ticks > 3, "{ticks} ticks of 100 ns");
            let accesses = renode.bus_accesses;
            let (is_fine, said) = renode.disconnect();
            assert!(is_fine, "{said}");
            (ticks, accesses)
        })
        .collect();
    assert_eq!(runs[0], runs[1]);
    // 2048 bytes in, 2048 out, 8 at a time.
    assert_eq!(runs[0].1, 512);
}

#[test]
fn a_memory_interface_may_have_the_platforms_own_memory() {
    let mut renode = Renode::start(&["--bus-masters", "none"]);
    let map = common::local().map();
    for (register, value) in common::copy_registers(8, 8, 32) {
        let address = u64::from(map.find(register).unwrap().address);
        assert!(renode.store(Width::DoubleWord, address, value.into()));
    }
    renode.tick(1_000_000);
    assert_eq!((renode.bus_accesses, &renode.levels[..]), (0, &[(true, 0)][..]));
    assert!(renode.disconnect().0);

    let (is_fine, said) = {
        let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let [main, asynchronous] = listeners.each_ref().map(|of| of.local_addr().unwrap().port().to_string());
        let output = Command::new(env!("CARGO_BIN_EXE_vp"))
            .args(["renode", &main, &asynchronous, "--bus-masters", "sram0"])
            .ended();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    assert!(!is_fine && said.contains("no memory interface sram0: it has dbb0"), "{said}");
}

#[test]
fn a_renode_that_vanishes_or_breaks_a_rule_ends_the_program_with_a_sentence() {
    // In the middle of an access to its bus.
    let mut renode = Renode::start(&[]);
    let map = common::local().map();
    for (register, value) in common::copy_registers(8, 8, 32) {
        let address = u64::from(map.find(register).unwrap().address);
        renode.emulator.write(Width::DoubleWord, address, value.into(), INDEX).unwrap();
        assert_eq!(renode.wait(), EmulatorEvent::Done);
    }
    renode.emulator.tick(1_000_000).unwrap();
    renode.write();
    std::thread::sleep(Duration::from_millis(50));
    let (is_fine, said) = renode.end();
    assert!(!is_fine && said.contains("Renode is gone without a disconnect"), "{said}");

    // An action that there is not, and a part of a message.
    for (bytes, rule) in [(vec![0x77; MESSAGE], "RN-01"), (vec![0; 7], "in the middle of a packet")] {
        let mut renode = Renode::start(&[]);
        renode.main.write_all(&bytes).unwrap();
        renode.main.shutdown(std::net::Shutdown::Write).unwrap();
        let (is_fine, said) = renode.end();
        assert!(!is_fine && said.contains(rule), "{said}");
    }
}

#[test]
fn what_came_before_a_broken_rule_is_answered() {
    let mut renode = Renode::start(&[]);
    renode.emulator.read(Width::DoubleWord, VERSION.0, INDEX).unwrap();
    renode.emulator.tick(5_000).unwrap();
    let mut bytes = Vec::new();
    while let Some((_, message)) = renode.emulator.output().next_write() {
        bytes.extend_from_slice(&message);
    }
    bytes.extend_from_slice(&[0x77; MESSAGE]);
    renode.main.write_all(&bytes).unwrap();
    let both = [renode.wait(), renode.wait()];
    assert!(both.contains(&EmulatorEvent::Value { data: VERSION.1 }), "{both:?}");
    assert!(both.iter().any(|heard| matches!(heard, EmulatorEvent::Ticked { .. })), "{both:?}");
    let (is_fine, said) = renode.end();
    assert!(!is_fine && said.contains("RN-01"), "{said}");
}

#[test]
fn nobody_at_renodes_ports_is_an_error_with_a_hint() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).args(["renode", &port, &port]).ended();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("does not take a peripheral"), "{said}");
}
