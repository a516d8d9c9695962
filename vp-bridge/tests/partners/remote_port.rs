//! Peers that speak Remote-Port: as CPU and memory of a served platform, and as the device of `vp run`. The peers here are made of
//! the protocol's own codec, or are a second `vp`.

use crate::common;
use crate::common::process::Ended as _;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use bytes::BytesMut;
use tempfile::TempDir;
use vp_host::Host as _;
use vp_protocols::remote_port::{
    Access, Answer, Attributes, Capabilities, Connection, Event, Interrupt, Request, RequestId, ResponseCode,
    Transaction,
};

/// `GLB.S_NVDLA_HW_VERSION`, and what it reads on nv_small.
const VERSION: (u64, u32) = (0x1000, 0x0030_3031);
/// `GLB.S_INTR_MASK`: a register that keeps what is written.
const MASK: u64 = 0x1004;
const REGISTERS: u32 = 9;
const MEMORY: u32 = 0;
const WIRES: u32 = 12;

/// `vp serve`, which ends with the test.
struct Serving {
    child: Child,
    folder: TempDir,
}

impl Serving {
    fn new(options: &[&str]) -> Serving {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_vp"))
            .args(["serve", "--listen", "tcp:127.0.0.1:0", "--remote-port"])
            .arg(format!("unix:{}", folder.path().join("rp.sock").display()))
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It says so once it listens everywhere.
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("Remote-Port at") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "it does not serve");
        }
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Serving { child, folder }
    }

    fn socket(&self) -> String {
        self.folder.path().join("rp.sock").display().to_string()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A peer made of the codec.
struct Peer {
    stream: UnixStream,
    connection: Connection,
    input: BytesMut,
}

impl Peer {
    fn new(socket: &str, announced: Capabilities) -> Peer {
        Peer::of(UnixStream::connect(socket).unwrap(), announced)
    }

    fn of(stream: UnixStream, announced: Capabilities) -> Peer {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Peer { stream, connection: Connection::new(announced), input: BytesMut::new() }
    }

    /// The next event; none at the end of the stream.
    fn next(&mut self) -> Option<Event> {
        loop {
            let output = self.connection.output().split();
            if self.stream.write_all(&output).is_err() {
                return None;
            }
            if let Some(event) = self.connection.receive(&mut self.input).unwrap() {
                return Some(event);
            }
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(read) => self.input.extend_from_slice(&chunk[..read]),
                Err(error) => panic!("nothing came: {error}"),
            }
        }
    }

    /// Asks, and waits for the answer; requests of the platform that come before are given to `serve`.
    fn ask_serving(
        &mut self,
        channel: u32,
        transaction: Transaction,
        serve: &mut dyn FnMut(&mut Connection, Request),
    ) -> Transaction {
        let id = self.connection.request(channel, transaction).unwrap();
        loop {
            match self.next().expect("the stream ended") {
                Event::Response { id: of, response } if of == id => return response,
                Event::Request(request) => serve(&mut self.connection, request),
                _ => {}
            }
        }
    }

    /// Asks, and waits for the answer. Only syncs may come before it: the platform sends one where a request has waited long, as
    /// on a slow machine.
    fn ask(&mut self, channel: u32, transaction: Transaction) -> Transaction {
        self.ask_serving(channel, transaction, &mut |connection, request| match request.transaction {
            Transaction::Sync { time } => connection.respond(request, time, Answer::Done).unwrap(),
            _ => panic!("unasked: {request:?}"),
        })
    }

    /// An access, and what became of it.
    fn access(&mut self, channel: u32, transaction: Transaction) -> (ResponseCode, Vec<u8>) {
        match self.ask(channel, transaction) {
            Transaction::Read(access) | Transaction::Write(access) => {
                (access.attributes.code(), access.data.to_vec())
            }
            other => panic!("{other:?}"),
        }
    }

    fn read(&mut self, address: u64, length: u32) -> (ResponseCode, Vec<u8>) {
        self.access(REGISTERS, Transaction::Read(Access::read(0, address, length)))
    }

    fn write(&mut self, address: u64, data: &[u8]) -> ResponseCode {
        self.access(REGISTERS, Transaction::Write(Access::write(0, address, data.to_vec()))).0
    }
}

#[test]
fn who_says_nothing_or_half_a_hello_holds_nobody_up() {
    let serving = Serving::new(&["--remote-port-channels", "csb0=9"]);
    let mut silent: Vec<UnixStream> =
        (0..8).map(|_| UnixStream::connect(serving.socket()).unwrap()).collect();
    silent[1].write_all(&[0, 0, 0, 1, 0, 0]).unwrap();
    let mut peer = Peer::new(&serving.socket(), Capabilities::PLATFORM);
    assert_eq!(peer.read(VERSION.0, 4), (ResponseCode::Ok, VERSION.1.to_le_bytes().to_vec()));
}

#[test]
fn who_comes_to_a_full_server_or_never_says_hello_has_to_go() {
    let serving = Serving::new(&["--max-sessions", "1", "--remote-port-channels", "csb0=9"]);
    let mut silent = [(); 2].map(|()| UnixStream::connect(serving.socket()).unwrap());
    let mut said = Vec::new();
    silent[1].read_to_end(&mut said).expect("an end");
    assert!(said.is_empty(), "{said:?}");
    // The first has a place until its hello is due.
    silent[0].set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    silent[0].read_to_end(&mut said).expect("an end");
    assert!(!said.is_empty());
}

#[test]
fn a_peer_that_says_nothing_more_for_the_idle_timeout_has_to_go() {
    let serving = Serving::new(&["--remote-port-channels", "csb0=9", "--idle-timeout", "2"]);
    let mut peer = Peer::new(&serving.socket(), Capabilities::PLATFORM);
    // Longer than that in all.
    for _ in 0..5 {
        assert_eq!(peer.read(VERSION.0, 4).0, ResponseCode::Ok);
        std::thread::sleep(Duration::from_millis(500));
    }
    while peer.next().is_some() {}
}

#[test]
fn registers_are_words_and_what_is_none_is_an_error() {
    let serving = Serving::new(&["--remote-port-channels", "csb0=9,irq0=12"]);
    let mut peer = Peer::new(&serving.socket(), Capabilities::PLATFORM);
    let ok = |value: u32| (ResponseCode::Ok, value.to_le_bytes().to_vec());
    assert_eq!(peer.read(VERSION.0, 4), ok(VERSION.1));
    assert_eq!(peer.write(MASK, &0x15_u32.to_le_bytes()), ResponseCode::Ok);
    assert_eq!(peer.read(MASK, 4), ok(0x15));
    // Two words at a time.
    let (code, both) = peer.read(VERSION.0, 8);
    assert_eq!(
        (code, &both[..4], &both[4..]),
        (ResponseCode::Ok, &VERSION.1.to_le_bytes()[..], &0x15_u32.to_le_bytes()[..])
    );
    // A burst to one address writes the same register again.
    let burst = Access { stream_width: 4, ..Access::write(0, MASK, [1, 0, 0, 0, 2, 0, 0, 0].to_vec()) };
    assert_eq!(peer.access(REGISTERS, Transaction::Write(burst)).0, ResponseCode::Ok);
    assert_eq!(peer.read(MASK, 4), ok(2));
    // Words without an enabled byte are left alone; a part of a word cannot be written.
    let enables = |enables: &'static [u8]| Access {
        attributes: Attributes::NONE,
        byte_enables: enables.into(),
        ..Access::write(0, MASK, 7_u32.to_le_bytes().to_vec())
    };
    assert_eq!(peer.access(REGISTERS, Transaction::Write(enables(&[0, 0, 0, 0]))).0, ResponseCode::Ok);
    assert_eq!(peer.access(REGISTERS, Transaction::Write(enables(&[255, 0, 0, 0]))).0, ResponseCode::Error);
    assert_eq!(peer.read(MASK, 4), ok(2));
    for (address, length) in [(MASK + 2, 4), (MASK, 2), (MASK, 6), (0, 8192)] {
        assert_eq!(
            peer.read(address, length),
            (ResponseCode::Error, vec![0; length as usize]),
            "{length} at {address:#x}"
        );
    }
    assert_eq!(peer.read(1 << 40, 4).0, ResponseCode::AddressError);
    let elsewhere = peer.access(3, Transaction::Read(Access::read(0, VERSION.0, 4)));
    assert_eq!(elsewhere, (ResponseCode::AddressError, vec![0; 4]));
    // All that changed nothing.
    assert_eq!(peer.read(VERSION.0, 4), ok(VERSION.1));
}

#[test]
fn a_base_address_is_where_the_registers_begin() {
    let serving = Serving::new(&["--remote-port-channels", "csb0=5@0x40000000"]);
    let mut peer = Peer::new(&serving.socket(), Capabilities::PLATFORM);
    let mut read = |address| peer.access(5, Transaction::Read(Access::read(0, address, 4)));
    assert_eq!(read(0x4000_0000 + VERSION.0), (ResponseCode::Ok, VERSION.1.to_le_bytes().to_vec()));
    assert_eq!(read(VERSION.0).0, ResponseCode::AddressError);
}

/// Simulated time is the peer's: syncs move it, accesses take as long as on the bus, and a time stamp of long ago does nothing.
#[test]
fn the_peers_times_move_simulated_time() {
    let serving = Serving::new(&["--remote-port-channels", "csb0=9", "--remote-port-time", "peer"]);
    let mut peer = Peer::new(&serving.socket(), Capabilities::PLATFORM);
    let time = |response: Transaction| response.time();
    assert_eq!(time(peer.ask(0, Transaction::Sync { time: 5_000 })), 5_000);
    let read = |at| Transaction::Read(Access::read(at, VERSION.0, 4));
    let took = time(peer.ask(REGISTERS, read(6_000))) - 6_000;
    assert!((1..100).contains(&took), "{took} ns");
    assert_eq!(time(peer.ask(REGISTERS, read(7_000))) - 7_000, took);
    // As fast as time goes by here, however late the peer says it is.
    assert_eq!(time(peer.ask(0, Transaction::Sync { time: -9 })), 7_000 + took);
    assert_eq!(time(peer.ask(0, Transaction::Sync { time: 1_000_000 })), 1_000_000);
    assert_eq!(time(peer.ask(0, Transaction::Sync { time: i64::MAX })), 1_000_000);
}

/// A peer that breaks a rule is cut off, and the next one finds the platform.
#[test]
fn a_peer_that_breaks_a_rule_is_cut_off_and_the_next_one_is_not() {
    let serving = Serving::new(&["--remote-port-channels", "csb0=9"]);
    for bytes in [vec![0xff; 64], vec![0; 20], [&[0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff][..], &[0; 12]].concat()]
    {
        let mut stream = UnixStream::connect(serving.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(&bytes).unwrap();
        let mut rest = Vec::new();
        // The hello, and the end.
        let read = stream.read_to_end(&mut rest);
        assert!(read.is_ok_and(|read| read <= 44) || rest.len() <= 44, "{} bytes", rest.len());
    }
    let mut peer = Peer::new(&serving.socket(), Capabilities::NONE);
    assert_eq!(peer.read(VERSION.0, 4).1, VERSION.1.to_le_bytes());
}

#[test]
fn what_came_before_a_broken_rule_is_answered() {
    for time in ["free", "peer"] {
        let serving = Serving::new(&["--remote-port-channels", "csb0=9", "--remote-port-time", time]);
        let mut peer = Peer::new(&serving.socket(), Capabilities::PLATFORM);
        let read = || Transaction::Read(Access::read(0, VERSION.0, 4));
        let sync = Transaction::Sync { time: 5_000_000 };
        let asked: Vec<RequestId> = [(REGISTERS, read()), (0, sync), (REGISTERS, read())]
            .map(|(channel, transaction)| peer.connection.request(channel, transaction).unwrap())
            .into();
        let mut bytes = peer.connection.output().split();
        bytes.extend_from_slice(&[0xff; 100_000]);
        peer.stream.write_all(&bytes).unwrap();
        let mut answered = Vec::new();
        while let Some(event) = peer.next() {
            let Event::Response { id, response } = event else { continue };
            if let Transaction::Read(access) = response {
                assert_eq!(access.data[..], VERSION.1.to_le_bytes());
            }
            answered.push(id);
        }
        answered.sort_unstable_by_key(|id| id.id);
        assert_eq!(answered, asked, "{time}");
    }
}

/// The layer's bursts go to the peer's memory, its line to the peer's wire; with byte enables, or without. A peer that takes long to
/// answer is not idle.
#[test]
fn a_cpu_that_is_the_memory_too_runs_a_layer() {
    for announced in [Capabilities::PLATFORM, Capabilities::EXTENDED_LAYOUT, Capabilities::NONE] {
        let serving = Serving::new(&["--idle-timeout", "2"]);
        let mut is_late = announced == Capabilities::PLATFORM;
        let mut peer = Peer::new(&serving.socket(), announced);
        let (width, height, channels) = (8, 8, 32);
        let source = common::pattern((width * height * channels) as usize);
        let mut memory = vec![0; 1 << 20];
        memory[..source.len()].copy_from_slice(&source);
        let mut line = false;
        let mut serve = |connection: &mut Connection, request: Request| {
            let time = request.transaction.time();
            let at = |access: &Access| (access.address - u64::from(common::SOURCE)) as usize;
            match request.transaction.clone() {
                Transaction::Read(access) => {
                    assert_eq!(request.channel, MEMORY);
                    let data = memory[at(&access)..][..access.length as usize].to_vec();
                    if std::mem::take(&mut is_late) {
                        std::thread::sleep(Duration::from_secs(4));
                    }
                    connection.respond(request, time, Answer::Data(&data)).unwrap();
                }
                Transaction::Write(access) => {
                    let place = &mut memory[at(&access)..][..access.length as usize];
                    for (index, byte) in
                        access.data.iter().enumerate().filter(|(index, _)| access.is_enabled(*index))
                    {
                        place[index] = *byte;
                    }
                    connection.respond(request, time, Answer::Done).unwrap();
                }
                Transaction::Interrupt(Interrupt { line: 0, level, .. }) => {
                    assert_eq!(request.channel, WIRES);
                    line = level;
                }
                other => {
                    connection.respond(request, time, Answer::Done).unwrap_or_else(|_| panic!("{other:?}"));
                }
            }
        };
        let map = common::local().map();
        for (register, value) in common::copy_registers(width, height, channels) {
            let address = u64::from(map.find(register).unwrap().address);
            let write = Transaction::Write(Access::write(0, address, value.to_le_bytes().to_vec()));
            peer.ask_serving(REGISTERS, write, &mut serve);
        }
        // GLB.S_INTR_STATUS: PDP's bit.
        let status = loop {
            let read = Transaction::Read(Access::read(0, 0x100c, 4));
            match peer.ask_serving(REGISTERS, read, &mut serve) {
                Transaction::Read(access) if access.data[..] != [0; 4] => break access.data.to_vec(),
                _ => {}
            }
        };
        assert_eq!(status, [1 << 4, 0, 0, 0], "{announced:?}");
        assert!(line, "{announced:?}");
        let target = (common::TARGET - common::SOURCE) as usize;
        assert_eq!(memory[target..][..source.len()], source, "{announced:?}");
    }
}

fn own_trace(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/nv_small").join(name)
}

fn run(trace: &Path, device: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vp"))
        .arg("run")
        .arg(trace)
        .args(["--device", &format!("remote-port:{device}")])
        .ended()
}

#[test]
fn a_peer_that_does_not_come_ends_the_run_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("unix:{}", folder.path().join("none.sock").display());
    let output = Command::new(env!("CARGO_BIN_EXE_vp"))
        .args(["run", "--attach-timeout", "1", "--device", &format!("remote-port:{place}")])
        .ended();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{told}");
    let expected = "error: the device: no peer that speaks Remote-Port came to ";
    assert!(told.contains(expected) && told.contains("none.sock within 1 s"), "{told}");
    assert!(told.contains("--attach-timeout"), "{told}");
}

/// One `vp` is the device of the other one: every layer passes, and in the peer's time it takes the same cycles each time.
#[test]
fn one_platform_is_the_device_of_another() {
    let mut cycles = Vec::new();
    for _ in 0..2 {
        let serving = Serving::new(&["--remote-port-time", "peer"]);
        let mut seen = Vec::new();
        for trace in
            ["sdp_prelu_5x7x13", "pdp_max_3x3_s2_16x16x16", "conv_3x3_bias_relu_9x7x12x20", "cdp_lrn5_7x5x20"]
        {
            let folder = own_trace(trace);
            let output = run(&folder, &format!("unix:{}", serving.socket()));
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
            let time = said.lines().find(|line| line.starts_with("time")).map(str::to_owned);
            seen.push(time.unwrap_or_else(|| panic!("{said}")));
        }
        cycles.push(seen);
    }
    assert_eq!(cycles[0], cycles[1]);
}

/// A memory that does not look at times: what programs load goes there, and so do the bursts of a layer.
#[test]
fn a_peer_may_be_the_memory_alone() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("memory.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let memory = std::thread::spawn(move || {
        let mut peer = Peer::of(listener.accept().unwrap().0, Capabilities::PLATFORM);
        let mut memory = vec![0; 1 << 20];
        let mut accesses = 0;
        while let Some(event) = peer.next() {
            let Event::Request(request) = event else { continue };
            let time = request.transaction.time();
            accesses += 1;
            match request.transaction.clone() {
                Transaction::Read(access) => {
                    let data = memory[(access.address - u64::from(common::SOURCE)) as usize..]
                        [..access.length as usize]
                        .to_vec();
                    peer.connection.respond(request, time, Answer::Data(&data)).unwrap();
                }
                Transaction::Write(access) => {
                    let place = &mut memory[(access.address - u64::from(common::SOURCE)) as usize..];
                    let written =
                        access.data.iter().enumerate().filter(|(index, _)| access.is_enabled(*index));
                    written.for_each(|(index, byte)| place[index] = *byte);
                    peer.connection.respond(request, time, Answer::Done).unwrap();
                }
                other => panic!("{other:?}"),
            }
        }
        accesses
    });
    let output = Command::new(env!("CARGO_BIN_EXE_vp"))
        .arg("run")
        .arg(own_trace("sdp_prelu_5x7x13"))
        .args(["--memory", &format!("dbb0=remote-port:unix:{}", socket.display())])
        .ended();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(memory.join().unwrap() > 100);
}

/// The device listens, or the platform does.
#[test]
fn either_side_may_listen() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("late.sock");
    let place = format!("unix:{}", socket.display());
    let trace = own_trace("sdp_prelu_5x7x13");
    let device = {
        let place = place.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            Command::new(env!("CARGO_BIN_EXE_vp"))
                .args(["serve", "--listen", "tcp:127.0.0.1:0", "--remote-port-time", "peer", "--remote-port"])
                .arg(format!("connect:{place}"))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
    };
    let output = run(&trace, &format!("listen:{place}"));
    let mut device = device.join().unwrap();
    let _ = device.kill();
    let _ = device.wait();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
