//! The corpora: small cases that are right, made of what the project has anyway.

use std::io;
use std::path::Path;

use bytes::{Bytes, BytesMut};
use vp_host::LocalHost;
use vp_host::loadable::{Version, contents};
use vp_models::platform::{Description, Platform};
use vp_protocols::native::{
    self, Attach, Connection, Message, PortId, Posted, RegisterRead, RegisterWrite, Request, RequestId, Role,
    TimeMode, Until, emit,
};
use vp_protocols::{remote_port, renode};
use vp_study::energy::Coefficients;

use super::onnx::written::{self, Attribute, Constant, Model, Node};
use super::{Target, files, put_piece, recordings, samples, session};

#[path = "../../../vp-models/host/src/loadable/tests/builder.rs"]
mod builder;

/// The files of a target's corpus: names and contents.
///
/// # Errors
/// When a file of the project, of which one is made, cannot be read.
///
/// # Panics
/// For a target that there is not.
pub fn of(target: &Target) -> io::Result<Vec<(String, Vec<u8>)>> {
    let named = |(name, case): (&str, Vec<u8>)| (name.to_owned(), case);
    Ok(match target.name {
        "native-frames" => native_frames()?,
        "remote-port" => vec![named(("packets", pieces(&[0; 8], &remote_port_packets())))],
        "renode" => vec![named(("messages", pieces(&[0; 8], &renode_messages())))],
        "vfio-user" => vec![named(("messages", pieces(&[0; 8], &vfio_user_messages())))],
        "session" => sessions().into_iter().map(named).collect(),
        "ring" => [0, 1].map(|end| (format!("end-{end}"), ring(end))).into(),
        "files" => files()?,
        "registers" => registers().into_iter().map(named).collect(),
        "onnx" => onnx().into_iter().map(named).collect(),
        "hub" => [0, 1].map(|mode| (format!("mode-{mode}"), hub(mode))).into(),
        other => panic!("no corpus for {other}"),
    })
}

fn pieces(head: &[u8], pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut case = head.to_vec();
    pieces.iter().for_each(|piece| put_piece(piece, &mut case));
    case
}

/// The golden frames, each a piece: those of clients, and those of servers.
fn native_frames() -> io::Result<Vec<(String, Vec<u8>)>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocols/vectors/native-messages.txt");
    let (mut clients, mut servers) = (Vec::new(), Vec::new());
    let text = std::fs::read_to_string(file)?;
    for vector in text.split("\n[").skip(1) {
        let line = |key| vector.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        let digits = [line("prefix:"), line("header:"), line("payload:")].concat();
        let byte = |digits| u8::from_str_radix(digits, 16).map_err(|_| io::ErrorKind::InvalidData);
        let frame = digits.split_whitespace().map(byte).collect::<Result<Vec<u8>, _>>()?;
        let is_servers =
            ["Welcome", "Refused", "Reply", "Notice"].iter().any(|name| line("means: ").starts_with(name));
        if is_servers { servers.push(frame) } else { clients.push(frame) }
    }
    Ok(vec![
        ("greeted".to_owned(), pieces(&[8], &clients)),
        ("open".to_owned(), pieces(&[0], &clients[3..])),
        ("of-servers".to_owned(), pieces(&[9], &servers)),
    ])
}

/// A session's frames.
fn frames(messages: &[Message]) -> Vec<Vec<u8>> {
    let image = |message| {
        let mut bytes = BytesMut::new();
        emit(message, &[], &mut bytes).expect("a message that can be said");
        bytes.to_vec()
    };
    messages.iter().map(image).collect()
}

fn sessions() -> Vec<(&'static str, Vec<u8>)> {
    let (csb, irq, dbb) = (PortId(0), PortId(1), PortId(2));
    let attach = |port, role| Request::Attach(Attach { port, role, range: None });
    let read = |address| Request::RegisterRead(RegisterRead { port: csb, address, at: None });
    let write = |address, value| RegisterWrite { port: csb, address, value, at: None };
    let hello =
        |platform: &str, mode| Message::Hello(Box::new(Connection::hello("client", Some(platform), mode)));
    let session = |mode, requests: Vec<Request>| {
        let requests =
            (0..).zip(requests).map(|(id, request)| Message::Request { id: RequestId(id), request });
        let posted = Message::Posted(Posted::RegisterWrite(write(0x5004, 1)));
        let messages: Vec<Message> =
            [hello(session::PLATFORM, mode)].into_iter().chain(requests).chain([posted]).collect();
        pieces(&[6], &frames(&messages))
    };
    let memory = |access| native::MemoryRead {
        port: dbb,
        address: 0x8000_0000,
        length: 64,
        access,
        axi_id: 0,
        at: None,
    };
    let bye = Message::Bye(native::Bye { code: None, reason: "done".to_owned() });
    let cpu = vec![
        attach(csb, Role::Initiator),
        attach(irq, Role::Sink),
        attach(dbb, Role::Initiator),
        read(0x1000),
        Request::RegisterWrite(write(0x1004, 0)),
        Request::MemoryRead(memory(native::AccessKind::Debug)),
        Request::MemoryRead(memory(native::AccessKind::Timed)),
        Request::Advance { until: Until::Idle },
        Request::Status,
        Request::Statistics { prefix: String::new(), first: 0 },
        Request::Debug { command: native::DebugCommand::State },
        Request::Debug { command: native::DebugCommand::Step { by: native::StepBy::Event, count: 3 } },
        Request::Debug { command: native::DebugCommand::Stop },
        Request::Debug { command: native::DebugCommand::Continue },
        Request::Inspect { first: 0 },
        Request::RegisterPeek(native::RegisterPeek { port: csb, address: 0xb000, count: 40, group: Some(1) }),
        Request::RegisterPoke(native::RegisterPoke { port: csb, address: 0xb004, value: 1 }),
        Request::Ping,
        Request::AwaitRest { patience: 1 },
        Request::SaveDevice { first: 0 },
        Request::Reset,
        Request::Detach { port: csb },
    ];
    let owner = vec![attach(dbb, Role::Target), attach(irq, Role::Sink), Request::Ping, Request::Status];
    let partner = vec![
        Request::Clock { reaction: native::Reaction::NextEdge, quantum: 0 },
        attach(csb, Role::Initiator),
        attach(irq, Role::Sink),
        Request::Status,
    ];
    vec![
        ("cpu", session(TimeMode::Free, cpu.clone())),
        ("cpu-lockstep", session(TimeMode::Lockstep, cpu)),
        ("owner", session(TimeMode::Free, owner)),
        ("partner", session(TimeMode::Free, partner)),
        ("goodbye", pieces(&[6], &frames(&[hello(session::PLATFORM, TimeMode::Free), bye]))),
    ]
}

/// A packet of each kind, with ids and channels as the target's session asks for them.
fn remote_port_packets() -> Vec<Vec<u8>> {
    use remote_port::*;
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
        Packet { id: 0, flags: Flags::NONE, channel: 0, body: Body::Hello(Hello::new(Capabilities::NONE)) },
        Packet { id: 0, flags: Flags::NONE, channel: 0, body: Body::Nop },
    ];
    for flags in [Flags::NONE, Flags::POSTED, Flags::OPTIONAL] {
        let packet =
            |body: &Transaction| Packet { id: 7, flags, channel: 9, body: Body::Transaction(body.clone()) };
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

/// A message of each kind, to a peripheral's two sockets and to Renode's.
fn renode_messages() -> Vec<Vec<u8>> {
    use renode::*;
    // What Renode says mostly; what a peripheral says mostly on main, and on async.
    let of_renode = [
        Action::ReadByte,
        Action::ReadDoubleWord,
        Action::WriteWord,
        Action::WriteQuadWord,
        Action::Interrupt,
        Action::TickClock,
        Action::ResetPeripheral,
    ];
    let answers = [Action::Ok, Action::Error, Action::ReadFromBus];
    let told =
        [Action::Interrupt, Action::LogMessage, Action::TickClock, Action::GetByte, Action::PushQuadWord];
    let message = |to: u8, action| {
        let is_log = action == Action::LogMessage;
        let (address, data) = (if is_log { 30 } else { 2 }, 1);
        let mut bytes = vec![to];
        bytes.extend_from_slice(&Message { action, address, data, index: 0 }.emit());
        bytes.resize(1 + if is_log { MESSAGE + 30 } else { MESSAGE }, b'x');
        bytes
    };
    let likely = [(0, &of_renode[..]), (1, &answers), (3, &told), (0, &of_renode), (1, &answers), (3, &told)];
    let likely = likely.into_iter().flat_map(|(to, actions)| actions.iter().map(move |action| (to, *action)));
    let all = (0..4).flat_map(|to| Action::ALL.iter().map(move |action| (to, *action)));
    likely.chain(all).map(|(to, action)| message(to, action)).collect()
}

/// A message of each kind, to a server and to a client, and some that break a rule.
fn vfio_user_messages() -> Vec<Vec<u8>> {
    use vp_protocols::vfio_user::frame::Kind;
    use vp_protocols::vfio_user::*;
    let message = |to: u8, id: u16, command: u16, kind, payload: &[u8]| {
        let mut out = bytes::BytesMut::from(&[to][..]);
        Header::new(id, command, kind, payload.len()).emit(&mut out);
        out.extend_from_slice(payload);
        out.to_vec()
    };
    let (asks, told) = (Kind::Command { wants_reply: true }, Kind::Reply(Ok(())));
    let reply = |id: u16, of: &Request, reply: &Reply| {
        let mut payload = bytes::BytesMut::new();
        reply.emit(&mut payload);
        message(1, id, of.command(), told, &payload)
    };
    let requests = super::vfio_user::asked();
    let unmap = DmaUnmap { is_all: false, address: 0, size: 4096 };
    let replies = [
        Reply::Device(DeviceInfo { regions: 9, irqs: 5 }),
        Reply::Region(RegionInfo { index: 7, size: 256 }),
        Reply::Irq(IrqInfo { index: 2, count: 1, is_level: false }),
        Reply::Data { region: 0, offset: 8, data: vec![1; 4].into() },
        Reply::Written { region: 0, offset: 8, count: 4 },
        Reply::WrittenMulti { count: 0 },
        Reply::Unmapped(unmap),
        Reply::Done,
        Reply::Feature { flags: Feature::GET | 1, data: vec![1; 8].into() },
        Reply::Feature { flags: Feature::SET | 2, data: vec![1; 8].into() },
        Reply::State(vec![1; 20].into()),
    ];
    let mut messages = vec![{
        let data = super::vfio_user::capabilities().emit();
        message(1, 0, 1, told, &[&[0; 4], &data[..]].concat())
    }];
    messages.extend((1..).zip(requests.iter().zip(&replies)).map(|(id, (of, with))| reply(id, of, with)));
    for request in &requests {
        let mut payload = bytes::BytesMut::new();
        request.emit(&mut payload);
        messages.push(message(0, 5, request.command(), asks, &payload));
    }
    let map = DmaMap { is_readable: true, is_writeable: true, offset: 0, address: 0, size: 4096 };
    let mut payload = bytes::BytesMut::new();
    Request::DmaMap(map).emit(&mut payload);
    let access = |count: u64, data: &[u8]| [&[0; 8], &count.to_ne_bytes()[..], data].concat();
    messages.extend([
        message(1 << 6, 5, 2, asks, &payload),
        message(0, 5, 8, asks, &[20_u32, 0x24, 2, 0, 1].map(u32::to_ne_bytes).concat()),
        message(0, 0, 11, told, &access(4, &[1; 4])),
        message(0, 1, 12, told, &[]),
        message(1, 3, 11, asks, &access(8, &[])),
        message(1, 4, 12, asks, &access(2, &[1, 2])),
        // A version that is another, one behind others, data that is none, a capability that was not proposed.
        message(0, 0, 1, asks, &[9, 0, 0, 0]),
        message(0, 0, 1, asks, &[0; 4]),
        message(0, 0, 1, asks, b"\0\0\0\0{\0"),
        message(1, 0, 1, told, b"\0\0\0\0{\"capabilities\":{\"write_multiple\":true}}\0"),
        // A file beside what wants none, too much data, another side's command, an error with more, a reply to nothing.
        message(1 << 6, 5, 13, asks, &[]),
        message(0, 5, 9, asks, &[&[0; 12][..], &u32::MAX.to_ne_bytes()].concat()),
        message(0, 5, 11, asks, &[0; 16]),
        message(0, 0, 11, Kind::Reply(Err(Errno::EIO)), &[0; 4]),
        message(0, 99, 11, told, &[0; 4]),
        message(0, 0, 11, told, &[0; 4]),
        message(0, 5, 4, asks, &[0; 4]),
        [&[0][..], &[0xff; 16]].concat(),
        [&[0][..], &[0, 0, 13, 0], &16_u32.to_ne_bytes(), &[7, 0, 0, 0, 0, 0, 0, 0]].concat(),
    ]);
    messages
}

/// An access, or an answer, in each place, and more: all of them are taken.
fn ring(end: u8) -> Vec<u8> {
    let mut case = vec![end];
    for step in 0..70 {
        match end {
            // The kind of the next access, and its number: it is taken, and after a change of the line answered.
            0 => case.extend([1, 5, step % 3, 0, 0, 0, 0, 0, 5, 7, step & 1, 6, step, 0, 0, 0]),
            // An access; the code of its answer, and its number: it is read. A posted access, and all are said to be taken.
            _ => {
                case.extend([5, step, 1, 5, step, 0, 0, 0, 0, 0, 7, 6, 2, 10, 2 * step + 2, 0, 0, 0]);
            }
        }
        // A bell.
        case.extend([4, step]);
    }
    case
}

fn registers() -> Vec<(&'static str, Vec<u8>)> {
    let writes = (0..60).flat_map(|word: u16| {
        let [low, high] = ((word * 7) | (word % 8 / 7) << 15).to_le_bytes();
        [low, high, word as u8, 0, 0, 0]
    });
    vec![
        ("program", vec![0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
        ("writes", [0, 1].into_iter().chain(writes).collect()),
    ]
}

/// A file of a model, and choices that make others.
fn onnx() -> Vec<(&'static str, Vec<u8>)> {
    let constant = |name: &str, data_type, dims: &[i64], raw: &[u8]| Constant {
        name: name.to_owned(),
        data_type,
        dims: dims.to_vec(),
        raw: written::Bytes::of(raw),
    };
    let node = |operator, inputs: &[&str], output: &str, attributes| Node {
        operator,
        domain: "",
        inputs: inputs.iter().map(ToString::to_string).collect(),
        outputs: vec![output.to_owned()],
        attributes,
    };
    let weights: Vec<u8> = (0..18_u8).flat_map(|weight| f32::from(weight).to_le_bytes()).collect();
    let sizes: Vec<u8> = [1_i64, -1].iter().flat_map(|size| size.to_le_bytes()).collect();
    let windows = || {
        vec![("kernel_shape", Attribute::Integers(vec![3, 3])), ("auto_pad", Attribute::Text("SAME_UPPER"))]
    };
    let model = Model {
        version: 13,
        input: ("x".to_owned(), vec![1, 1, 6, 6]),
        output: "y".to_owned(),
        nodes: vec![
            node("Conv", &["x", "w"], "a", windows()),
            node("LeakyRelu", &["a"], "b", vec![("alpha", Attribute::Float(0.5))]),
            node("MaxPool", &["b"], "c", windows()),
            node("QuantizeLinear", &["c", "s", "z"], "q", vec![("axis", Attribute::Integer(1))]),
            node("DequantizeLinear", &["q", "s", "z"], "d", vec![]),
            node("Reshape", &["d", "sizes"], "e", vec![]),
            node("Softmax", &["e"], "y", vec![]),
        ],
        constants: vec![
            constant("w", 1, &[2, 1, 3, 3], &weights),
            constant("s", 1, &[], &0.5_f32.to_le_bytes()),
            constant("z", 2, &[], &[128]),
            constant("sizes", 7, &[2], &sizes),
        ],
    };
    let drawn = (0..600_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8);
    vec![("file", [vec![0], model.bytes()].concat()), ("choices", std::iter::once(1).chain(drawn).collect())]
}

/// A layer that is run, and what else may happen.
fn hub(mode: u8) -> Vec<u8> {
    let mut case = vec![1, mode];
    for _ in 0..6 {
        case.extend([7, 0x80, 39, 7, 0, 10, 22, 0, 200, 1, 19, 1, 49]);
    }
    case.extend([13, 0x0c, 0, 4]);
    for _ in 0..6 {
        case.extend([22, 0, 0, 4, 19, 1, 49]);
    }
    case.extend([11, 0, 0x0c, 0x10, 26, 2, 4, 27, 2, 3, 1, 1, 0, 0, 0, 29, 2, 0, 1, 18, 0, 2, 1]);
    case
}

/// The clients that a server knows.
const TOKENS: &str = "[[token]]\nname = 'cpu'\nsecret = '0123456789abcdef'\nroles = ['cpu', 'memory']\nplatforms = ['lab']\n\
                      sessions = 1\n[[token]]\nname = 'least'\nsecret = 'fedcba9876543210'\n[[certificate]]\n\
                      name = 'qemu.lab'\nrights = ['cpu']\nplatforms = ['*']\n";

/// A log with an entry of each kind.
const REGISTER_LOG: &str = r#"{"vp_register_log":1,"platform":"nv_small","description":""}
{"what":"load","time":0,"memory":"dbb0","address":2147483648,"bytes":"Ynl0ZXM="}
{"what":"write","time":9,"who":"session 1","posted":true,"address":36868,"register":"SDP.S_POINTER","value":1,"fields":"PRODUCER=1"}
{"what":"line","time":10,"level":true}
{"what":"read","time":11,"address":36868,"group":1,"value":1}
"#;

/// A log of the vendor's virtual platform with a line of each kind.
const SC_LOG: &str = "8 ms: Info: nvdla.csb_adaptor: GP: iswrite=1 addr=0x9038 len=4 data=0x 00000001 resp=TLM_OK_RESPONSE\n\
                      Info: nvdla.dbb_adaptor: GP: iswrite=0 addr=0xc0000000 len=8 data=0x 00000001 00000002 resp=TLM_OK_RESPONSE\n\
                      Info: nvdla.sram_adaptor: GP: iswrite=1 addr=0x50000001 len=4 data=0x 01_XX_03 04 resp=TLM_OK_RESPONSE\n\
                      Info: nvdla.csb_adaptor: GP: iswrite=0 addr=0x1020100c len=4 data=0x 00000001 resp=TLM_OK_RESPONSE\n\
                      Info: nvdla.dbb_adaptor: GP: iswrite=0 addr=0xc0000000 len=8 data=0x 00000003 00000002 resp=TLM_OK_RESPONSE\n";

/// A loadable with an input, an output and a task of the accelerator.
fn loadable() -> Vec<u8> {
    let piece = |flags, length| builder::Piece { bytes: vec![1; length], size: 64, flags, domain: 0 };
    // Memory that is filled, an input that is, and an output.
    let pieces = [piece(3, 40), piece(7, 64), piece(9, 0)];
    builder::container(&pieces, [0, 12, 0], &[(1, &[0, 1, 2])])
}

fn files() -> io::Result<Vec<(String, Vec<u8>)>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read(here.join("..").join(path));
    let described = |name| Description::named(name).expect("a built-in platform").to_toml().into_bytes();
    let sheet = "layer,in_channels,in_height,in_width,out_channels,out_height,out_width,kernel_height,kernel_width,\
                 stride_y,stride_x,pool,pool_height,pool_width,pool_stride_y,pool_stride_x,pooled_height,pooled_width\n\
                 conv1,3,16,16,8,16,16,3,3,1,1,TRUE,2,2,2,2,8,8\nconv2,8,8,8,8,4,4,3,3,2,2,FALSE,,,,,,\n";
    let table = "test,read_latency,write_resp_latency,read_outstanding_limit,cycles,axi_read_bytes,axi_write_bytes,\
                 max_outstanding_reads,max_outstanding_writes,reads_by_id,writes_by_id,crc_ok\n\
                 a,50,1,256,1000,4096,512,8,2,0:12;9:4,1:3,1\n";
    let surface = "\n---\n{offset:0x0, size:4, payload:0x01 0x02 0x03 0x04}\n";
    let script = "traces/nv_small/pdp_average_2x2_s2_13x11x16/pdp_average_2x2_s2_13x11x16.cfg";
    let cfg = [read(script)?, surface.into()].concat();
    let txn = "load_mem 0x80000000 4 in.dat\nfill_mem 0x80000100 0x40 0x5a\nwrite_reg 0xffff100b 5 # x\n\
               read_reg 0x1 0xff == 0x31 3\nwait_intr 0x1\nwait\n\ndump_mem 0x80000000 4 in.dat\n---\n\
               0x00 0x01 0x02 0x03\n";
    // Its header: int8 of 2x2x2, lines of 64 bytes, surfaces of 128, in 4096.
    let header = [0_u32, 40, 2, 2, 2, 64, 128, 4096].map(u32::to_le_bytes).concat();
    let image = [b"DIMG", &header[..], &[5; 8]];
    let points = finished().into_bytes();
    let study = "name = 'two'\nframes = 2\nlimit = '1 ms'\n[fixed]\nnetwork = 'digits'\n[sweep]\n\
                 'dbb0.read_latency' = [10, '60 ns']\n'dbb0.read_outstanding' = { from = 8, to = 64, factor = 2 }\n";
    let faults = "[[fault]]\nkind = \"error\"\nport = \"dbb0\"\naddress = 0x80000100\nbytes = 64\n[[fault]]\n\
                  kind = \"stall\"\nport = \"dbb0\"\nchannel = \"r\"\ncycles = 500\nprobability = 0.01\nseed = 7\n\
                  [[fault]]\nkind = \"register-flip\"\nregister = \"PDP.D_DATA_CUBE_IN_WIDTH\"\nbit = 3\n\
                  at = \"2 us\"\n[[fault]]\nkind = \"lost-interrupt\"\nafter = 1\ntimes = 2\n";
    let recording = "W 1000c ffffffff\nR 1000 31303030\nI 3\n";
    let mut saved = Vec::new();
    let small = Description::named("nv_small").expect("a built-in platform");
    let mut host = LocalHost::new(Platform::build(&small).expect("it can be built"));
    host.save(&mut saved).expect("it is at rest");
    let mut contents: Vec<(&str, Vec<u8>)> = vec![
        ("platform", described("nv_small")),
        ("platform", described(Description::OTHER_NAMES[0])),
        ("network", read("networks/digits/network.toml")?),
        ("network", read("tests/data/networks/all_kinds.toml")?),
        ("network", files::GRAPH.into()),
        ("network", files::CONSTANTS.into()),
        ("sheet", sheet.into()),
        ("study", study.into()),
        ("study", read("studies/latency.toml")?),
        ("cfg", cfg),
        ("txn", txn.into()),
        ("recording", recording.into()),
        ("loadable", vec![0; 64]),
        ("loadable", loadable()),
        ("loadable", read("vp-bridge/tests/data/loadables/pool_small_fbuf")?),
        ("image", image.concat()),
        ("graph", files::GRAPH.into()),
        ("job", "graph = \"graph.toml\"\ninputs = \"in\"\n".into()),
        ("rtl-table", table.into()),
        ("rtl-log", "cycle,channel,address,length,id\n1,AR,0x80000000,4,1\n2,AW,0x80000000,4,1\n".into()),
        ("rtl-distribution", read("tests/data/rtl-distribution.csv")?),
        ("points", points),
        ("inputs", recordings::inputs()),
        ("inputs-in-blocks", recordings::entries()),
        ("faults", faults.into()),
        ("saved", files::state_of(&saved)),
        ("tokens", TOKENS.into()),
        ("coefficients", Coefficients::DEFAULT_TEXT.into()),
        (
            "coefficients",
            "base = 'default'\ntechnology = '7 nm'\n[mac]\nint8 = 1\n[memory]\ndram = 4e1\n".into(),
        ),
        ("register-log", REGISTER_LOG.into()),
        ("certificates", read("tests/data/tls/certificate.pem")?),
        ("key", read("tests/data/tls/key.pem")?),
        ("tensor", vec![1; 18]),
        ("sc-log", SC_LOG.into()),
    ];
    contents.extend(samples::corpus());
    let mut files = Vec::new();
    for (name, contents) in contents {
        let format = files::FORMATS.iter().position(|(known, _)| *known == name).expect("a known format");
        let case = [&[format as u8][..], &contents].concat();
        let count = files.iter().filter(|(known, _): &&(String, _)| known.starts_with(name)).count();
        files.push((format!("{name}-{count}"), case));
    }
    Ok(files)
}

/// A line of a study's finished points.
fn finished() -> String {
    let outcome = vp_study::Outcome::Failed("no such network".to_owned());
    let finished =
        vp_study::Finished { at: 7, ..vp_study::Finished::new("k", "p", "network=digits", outcome) };
    let line = serde_json::to_string(&finished).expect("it can be written");
    format!("{line}\n{line}\n")
}
