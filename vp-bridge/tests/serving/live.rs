//! Observers: sessions that look at a platform which others use, and the commands that are made of them.

use crate::common;
use crate::common::process::Ended as _;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::common::raw::{CSB, DBB, IRQ, Raw};
use crate::common::{SOURCE, Served, copy, copy_registers, fetch_target, local, pattern, run, start_copy};
use vp_client::native::{
    AccessKind as Kind, Counter, CounterValue, ErrorCode, Event, MIN_MAX_PAYLOAD, MemoryRead, Reply, Request,
    Role, Time, TimeMode, Token, Until,
};
use vp_client::{Client, ConnectError, Credentials, Error, Options as ClientOptions};
use vp_host::Host as _;
use vp_models::platform::DeviceRegisters;
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions};
use vp_server::{Access, Options, Tokens};

fn options(platform: Option<&str>) -> ClientOptions {
    ClientOptions::observer("test 1.0", platform.map(str::to_owned))
}

fn observer(served: &Served, platform: Option<&str>) -> Client<()> {
    Client::connect(&served.address, &options(platform), ()).unwrap()
}

fn shared(served: &Served, name: &str, time_mode: TimeMode) -> RemoteHost {
    let platform = Some(name.to_owned());
    served.join(RemoteOptions { platform, time_mode, ..RemoteOptions::default() })
}

fn address(register: &str) -> u64 {
    DeviceRegisters::of(&common::description()).named(register).unwrap().address.into()
}

fn text<'a>(counters: &'a [Counter], name: &str) -> Option<&'a str> {
    counters.iter().find(|counter| counter.name == name).and_then(|counter| match &counter.value {
        CounterValue::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

fn code<T>(result: Result<T, Error>) -> ErrorCode {
    match result.err().unwrap() {
        Error::Refused { code, .. } => code,
        other => panic!("{other}"),
    }
}

fn turned_away(served: &Served, platform: &str) -> (ErrorCode, String) {
    match Client::connect(&served.address, &options(Some(platform)), ()).err().unwrap() {
        ConnectError::Refused { code, reason, .. } => (code, reason),
        other => panic!("{other}"),
    }
}

/// All that an observer can see, once.
fn look_at_all(look: &mut Client<()>) {
    let window = look.port(CSB).unwrap().size;
    for slot in (0..window).step_by(4096) {
        for group in [None, Some(0), Some(1)] {
            look.peek_registers(CSB, slot, 1024, group).unwrap();
        }
    }
    look.read_memory(DBB, SOURCE.into(), &mut [0; 5000]).unwrap();
    look.status().unwrap();
    assert!(!look.counters("").unwrap().is_empty());
    assert!(!look.inspect().unwrap().is_empty());
}

#[test]
fn a_run_that_is_looked_at_all_the_time_is_the_run_without() {
    let (_, wanted) = run(&copy(16, 16, 32), &mut local());
    let served = Served::tcp();
    let mut cpu = shared(&served, "lab", TimeMode::Lockstep);
    let (over, looks) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut look = observer(&served, Some("lab"));
    let looking = {
        let (over, looks) = (over.clone(), looks.clone());
        std::thread::spawn(move || {
            while !over.load(Ordering::Acquire) {
                look_at_all(&mut look);
                looks.fetch_add(1, Ordering::Release);
            }
        })
    };
    // It looks before the run, in its middle and behind it.
    let seen = |than: u64| {
        while looks.load(Ordering::Acquire) <= than {
            std::thread::yield_now();
        }
    };
    seen(0);
    let (_, statistics) = run(&copy(16, 16, 32), &mut cpu);
    seen(looks.load(Ordering::Acquire));
    over.store(true, Ordering::Release);
    looking.join().unwrap();
    for counter in ["events.hash", "nvdla.cycles"] {
        assert_eq!(statistics.text(counter), wanted.text(counter), "{counter}");
        assert_eq!(statistics.get(counter), wanted.get(counter), "{counter}");
    }
    assert_eq!(statistics.get("time"), wanted.get("time"));
}

#[test]
fn who_asks_faster_than_it_reads_what_the_server_lists_is_answered_and_stays() {
    let served = Served::tcp();
    let names: Vec<String> = (0..80).map(|number| format!("{number:060}")).collect();
    let _platforms: Vec<RemoteHost> =
        names.iter().map(|name| shared(&served, name, TimeMode::Lockstep)).collect();
    let hello = vp_client::native::Connection::hello("raw 1.0", None, TimeMode::Lockstep);
    let capabilities = options(None).capabilities;
    // The shortest payloads that there are: the answers are more than waits for a peer at once.
    let mut raw = Raw::greet(
        &served.address,
        vp_client::native::Hello { max_payload: MIN_MAX_PAYLOAD, capabilities, ..hello },
    );
    for _ in 0..2 {
        raw.connection.request(Request::Inspect { first: 0 }, &[]).unwrap();
        raw.connection.request(Request::Inspect { first: 0 }, &[]).unwrap();
        for _ in 0..2 {
            let answer = raw.next();
            let Event::Reply { reply: Reply::Statistics { total, count }, .. } = answer else {
                panic!("{answer:?}")
            };
            assert_eq!((total, count), (80, 80));
        }
    }
}

#[test]
fn the_server_lists_its_platforms_and_each_can_be_looked_at() {
    let served = Served::tcp();
    let names = |look: &mut Client<()>| -> Vec<String> {
        look.inspect().unwrap().into_iter().map(|counter| counter.name).collect()
    };
    let mut server = observer(&served, None);
    assert!(names(&mut server).is_empty());
    let lab = shared(&served, "lab", TimeMode::Lockstep);
    let own = served.host(MemoryPlace::Inside);
    let number = format!("#{}", own.welcome().session.0);
    assert_eq!(names(&mut server), ["platform.lab".to_owned(), format!("platform.{number}")]);

    let mut look = observer(&served, Some(&number));
    let standing = look.inspect().unwrap();
    let session = format!("session.{}", own.welcome().session.0);
    assert_eq!(text(&standing, "time.mode"), Some("lockstep"));
    assert!(text(&standing, &session).unwrap().contains("127.0.0.1"), "{standing:?}");
    assert_eq!(text(&standing, "port.csb0"), Some(&*format!("initiator {}", session.replace('.', " "))));
    assert_eq!(text(&standing, "port.sram0"), None);

    for name in ["#99", "nobody", ""] {
        let (code, reason) = turned_away(&served, name);
        assert_eq!(code, ErrorCode::PlatformUnavailable, "{name}: {reason}");
    }
    assert!(turned_away(&served, "nobody").1.contains("no platform `nobody`"));
    // It was not made by that.
    assert_eq!(names(&mut server).len(), 2);
    assert_eq!(code(server.status()), ErrorCode::Unsupported);
    server.ping().unwrap();
    drop((lab, own));
}

#[test]
fn a_session_that_waits_is_shown_with_what_it_waits_for() {
    let served = Served::tcp();
    let mut owner = Raw::open(&served.address, Some("lab"), TimeMode::Lockstep);
    assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
    let mut cpu = Raw::open(&served.address, Some("lab"), TimeMode::Lockstep);
    cpu.attach(CSB, Role::Initiator);
    cpu.attach(IRQ, Role::Sink);
    for (register, value) in copy_registers(8, 8, 32) {
        let write =
            vp_client::native::RegisterWrite { port: CSB, address: address(register), value, at: None };
        cpu.connection.post(vp_client::native::Posted::RegisterWrite(write), &[]).unwrap();
    }
    cpu.send(Request::Advance { until: Until::Interrupt { port: IRQ, limit: None } });
    cpu.flush();
    // The platform stands, for its memory does not answer.
    assert!(matches!(owner.next(), Event::Request { .. }));
    let standing = observer(&served, Some("lab")).inspect().unwrap();
    assert_eq!(text(&standing, "session.2.waits"), Some("the interrupt"), "{standing:?}");
    let owes = standing.iter().find(|counter| counter.name == "session.1.owes").unwrap();
    assert!(matches!(owes.value, CounterValue::Count(1..)), "{owes:?}");
    assert_eq!(text(&standing, "activity"), Some("held"));
    assert!(text(&standing, "unit.pdp").unwrap().starts_with("busy with 8"), "{standing:?}");
    assert!(text(&standing, "unfinished").unwrap().contains("pdp"), "{standing:?}");
}

#[test]
fn an_observer_takes_no_part() {
    let served = Served::tcp();
    let cpu = shared(&served, "lab", TimeMode::Lockstep);
    let mut look = observer(&served, Some("lab"));
    assert_eq!(code(look.attach(IRQ, Role::Sink, None)), ErrorCode::WrongRole);
    assert_eq!(code(look.read_register(CSB, 0x1000)), ErrorCode::WrongRole);
    assert_eq!(code(look.write_register(CSB, 0x1000, 0)), ErrorCode::WrongRole);
    assert_eq!(code(look.advance(Until::Idle)), ErrorCode::WrongRole);
    assert_eq!(code(look.reset()), ErrorCode::WrongRole);
    let timed =
        |access, at| MemoryRead { port: DBB, address: SOURCE.into(), length: 4, access, axi_id: 0, at };
    for read in [timed(Kind::Timed, None), timed(Kind::Debug, Some(Time::ps(9)))] {
        assert_eq!(code(look.ask(Request::MemoryRead(read), &[])), ErrorCode::WrongRole);
    }
    look.ping().unwrap();
    drop(cpu);
}

#[test]
fn an_observer_keeps_no_platform_and_says_nothing_of_its_time() {
    let served = Served::tcp();
    let mut cpu = shared(&served, "lab", TimeMode::Lockstep);
    run(&copy(8, 8, 32), &mut cpu);
    let mut look = observer(&served, Some("lab"));
    drop(cpu);
    while look.ping().is_ok() {}
    assert_eq!(look.bye().unwrap().code, Some(ErrorCode::ShuttingDown), "{:?}", look.bye());
    assert!(look.bye().unwrap().reason.contains("its last session has left"));
    let again = shared(&served, "lab", TimeMode::Free);
    assert_eq!((again.welcome().time, again.welcome().time_mode), (Time::ZERO, TimeMode::Free));
}

#[test]
fn registers_of_both_groups_are_seen_without_what_reads_do() {
    let served = Served::tcp();
    let mut cpu = shared(&served, "lab", TimeMode::Lockstep);
    let mut look = observer(&served, Some("lab"));
    let width = address("PDP.D_DATA_CUBE_IN_WIDTH");
    for (group, value) in [(0, 3), (1, 9)] {
        cpu.write(address("PDP.S_POINTER") as u32, group).unwrap();
        cpu.write(width as u32, value).unwrap();
    }
    assert_eq!(cpu.read(width as u32).unwrap(), 9);
    for (group, value) in [(None, 9), (Some(0), 3), (Some(1), 9)] {
        assert_eq!(look.peek_registers(CSB, width, 1, group).unwrap(), [value], "{group:?}");
    }
    // Each read of the table's port moves its index; looks do not.
    let (access, data) = (address("SDP.S_LUT_ACCESS_CFG"), address("SDP.S_LUT_ACCESS_DATA"));
    cpu.write(access as u32, 0x2_0000).unwrap();
    for value in [11, 22, 33] {
        cpu.write(data as u32, value).unwrap();
    }
    cpu.write(access as u32, 0).unwrap();
    assert_eq!(cpu.read(data as u32).unwrap(), 11);
    for _ in 0..3 {
        assert_eq!(look.peek_registers(CSB, data, 1, None).unwrap(), [22]);
    }
    assert_eq!(cpu.read(data as u32).unwrap(), 22);

    for (at, count, group) in
        [(width, 0, None), (width, 1025, None), (width, 1, Some(2)), (0x3_fffc, 2, None)]
    {
        let refused = look.peek_registers(CSB, at, count, group);
        assert!(refused.is_err(), "{at:#x} {count} {group:?}");
        if count == 0 {
            // Which is malformed, and ends the session.
            look = observer(&served, Some("lab"));
        }
    }
    assert_eq!(code(look.peek_registers(CSB, width + 1, 1, None)), ErrorCode::Misaligned);
    assert_eq!(code(look.peek_registers(DBB, 0, 1, None)), ErrorCode::WrongRole);
}

#[test]
fn a_register_that_is_poked_does_what_a_write_does() {
    let served = Served::tcp();
    let mut cpu = shared(&served, "lab", TimeMode::Lockstep);
    let bytes = pattern(8 * 8 * 32);
    let mut look = observer(&served, Some("lab"));
    cpu.load(vp_host::Memory::Primary, SOURCE.into(), &bytes).unwrap();
    let time = look.status().map(|_| look.time()).unwrap();
    for (register, value) in copy_registers(8, 8, 32) {
        look.poke_register(CSB, address(register), value).unwrap();
    }
    assert_eq!(look.time(), time, "no time passes for it");
    cpu.wait_interrupt().unwrap();
    assert_eq!(fetch_target(&mut cpu, bytes.len()), bytes);
    assert_eq!(code(look.poke_register(CSB, 0x1002, 0)), ErrorCode::Misaligned);
    assert_eq!(code(look.poke_register(CSB, 0x4_0000, 0)), ErrorCode::DecodeError);
}

#[test]
fn memory_is_looked_at_and_set_also_where_another_session_owns_it() {
    let served = Served::tcp();
    let mut owner = shared_owner(&served);
    let mut look = observer(&served, Some("lab"));
    look.write_memory(DBB, u64::from(SOURCE) + 3, b"seen").unwrap();
    let mut bytes = [0; 8];
    look.read_memory(DBB, SOURCE.into(), &mut bytes).unwrap();
    assert_eq!(&bytes, b"\0\0\0seen\0");
    owner.fetch(vp_host::Memory::Primary, SOURCE.into(), &mut bytes).unwrap();
    assert_eq!(code(look.read_memory(DBB, 0x10, &mut bytes)), ErrorCode::BadRange);
    drop(owner);
}

/// A CPU whose memory is its own, and which answers for it from a thread.
fn shared_owner(served: &Served) -> RemoteHost {
    let mut cpu = shared(served, "lab", TimeMode::Lockstep);
    let address = served.address.clone();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut owner = Raw::open(&address, Some("lab"), TimeMode::Lockstep);
        assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
        tell.send(()).unwrap();
        let ram = vp_models::memory::Ram::new(0x8000_0000..0x1_0000_0000);
        while let Event::Request { id, request, payload } = owner.next() {
            let (reply, data) = match request {
                Request::MemoryRead(MemoryRead { address, length, .. }) => {
                    let mut data = vec![0; length as usize];
                    ram.read(address, &mut data).unwrap();
                    (Reply::Data, data)
                }
                Request::MemoryWrite(write) => {
                    ram.write(write.address, &payload).unwrap();
                    (Reply::Done, Vec::new())
                }
                other => panic!("{other:?}"),
            };
            owner.connection.reply(id, Time::ZERO, reply, &data).unwrap();
            owner.flush();
        }
    });
    told.recv().unwrap();
    cpu.read(0x1000).unwrap();
    cpu
}

#[test]
fn an_observer_needs_a_right_for_each_thing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.toml");
    let (cpu, looker, other) = ("cpu-0123456789abcdef", "looker-0123456789abc", "other-0123456789abcd");
    let text = format!(
        "[[token]]\nname = 'cpu'\nsecret = '{cpu}'\nroles = ['cpu']\nplatforms = ['*']\n\
         [[token]]\nname = 'looker'\nsecret = '{looker}'\nroles = ['observer']\nplatforms = ['lab']\n\
         [[token]]\nname = 'other'\nsecret = '{other}'\nrights = ['private-platforms']\nplatforms = ['*']\n"
    );
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let access = Access { tokens: Tokens::read(&path).unwrap(), ..Access::default() };
    let served = Served::at("tcp:127.0.0.1:0", Options { access, ..Options::default() });
    let shown = |token: &str, of: ClientOptions| {
        let credentials = Credentials { token: Some(Token::new(token)), tls: None };
        Client::connect(&served.address, &ClientOptions { credentials, ..of }, ())
    };
    let plain =
        |name: Option<&str>| ClientOptions { platform: name.map(str::to_owned), ..ClientOptions::new("t") };
    let _lab = shown(cpu, plain(Some("lab"))).unwrap();
    let _secret = shown(cpu, plain(Some("secret"))).unwrap();
    let own = shown(cpu, plain(None)).unwrap();
    let own = format!("#{}", own.welcome().session.0);

    // Registers and counters, and no more.
    let mut look = shown(looker, options(Some("lab"))).unwrap();
    look.inspect().unwrap();
    look.peek_registers(CSB, 0x1000, 1, None).unwrap();
    assert_eq!(code(look.poke_register(CSB, 0x1004, 0)), ErrorCode::NotPermitted);
    assert_eq!(code(look.read_memory(DBB, SOURCE.into(), &mut [0])), ErrorCode::NotPermitted);
    assert_eq!(code(look.write_memory(DBB, SOURCE.into(), &[0])), ErrorCode::NotPermitted);
    // Those platforms only that it may join.
    let mut list = shown(looker, options(None)).unwrap();
    let listed: Vec<String> = list.inspect().unwrap().into_iter().map(|counter| counter.name).collect();
    assert_eq!(listed, ["platform.lab"]);
    for name in ["secret", &own] {
        assert!(shown(looker, options(Some(name))).is_err(), "{name}");
    }
    // One that is a session's own is seen by who has its token, or a right to that.
    assert!(shown(cpu, options(Some(&own))).is_ok());
    let mut look = shown(other, options(Some(&own))).unwrap();
    assert_eq!(code(look.inspect()), ErrorCode::NotPermitted);
    assert_eq!(code(look.peek_registers(CSB, 0x1000, 1, None)), ErrorCode::NotPermitted);
    let mut list = shown(other, options(None)).unwrap();
    assert_eq!(code(list.inspect()), ErrorCode::NotPermitted);
}

// The commands.

fn vp(served: &Served, arguments: &[&str]) -> (bool, String) {
    let address = served.address.to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_vp"));
    let output = command.args(arguments).args(["--connect", &address]).ended();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

fn right(served: &Served, arguments: &[&str]) -> String {
    let (is_right, text) = vp(served, arguments);
    assert!(is_right, "{arguments:?}: {text}");
    text
}

fn wrong(served: &Served, arguments: &[&str]) -> String {
    let (is_right, text) = vp(served, arguments);
    assert!(!is_right && text.lines().count() <= 2, "{arguments:?}: {text}");
    text
}

#[test]
fn the_commands_show_a_platform_that_runs_and_set_what_they_are_asked_to() {
    let served = Served::tcp();
    assert!(right(&served, &["status"]).contains("has no platform"));
    assert!(wrong(&served, &["stats"]).contains("has no platform"));
    let mut cpu = shared(&served, "lab", TimeMode::Lockstep);
    run(&copy(8, 8, 32), &mut cpu);

    let status = right(&served, &["status"]);
    for part in
        ["lab: nv_small", "lockstep", "csb0", "initiator session", "unit", "pdp", "read       dbb0", "99 %"]
    {
        assert!(status.contains(part), "{part}: {status}");
    }
    let json: serde_json::Value = serde_json::from_str(&right(&served, &["status", "--json"])).unwrap();
    assert_eq!(json["lab"]["platform"], "nv_small");

    let stats = right(&served, &["stats", "dbb0.read", "--explain"]);
    let half = stats.lines().find(|line| line.starts_with("dbb0.read.latency.p50")).unwrap();
    assert!(half.contains(" 50 cycles"), "{half}");
    assert!(
        stats.contains("dbb0.read.latency.p99") && stats.contains("99 % of them took no longer"),
        "{stats}"
    );
    let json: serde_json::Value = serde_json::from_str(&right(&served, &["stats", "--json"])).unwrap();
    assert_eq!(json["dbb0.read.bytes"], 8 * 8 * 32);

    let registers = right(&served, &["regs", "PDP.D_DATA_CUBE_IN_WIDTH"]);
    assert!(
        registers.contains("0x00000007  0x00000000") && registers.contains("7 (8)  |  0 (1)"),
        "{registers}"
    );
    let changed = right(&served, &["regs"]);
    assert!(changed.contains("PDP.D_SRC_LINE_STRIDE") && changed.contains("as after reset"), "{changed}");
    let json: serde_json::Value =
        serde_json::from_str(&right(&served, &["regs", "S_POINTER", "--json"])).unwrap();
    assert!(json.as_array().unwrap().iter().any(|it| it["register"] == "PDP.S_POINTER"), "{json}");

    right(&served, &["poke", "PDP.D_DATA_CUBE_IN_WIDTH.CUBE_IN_WIDTH=0x1f"]);
    assert!(right(&served, &["regs", "PDP.D_DATA_CUBE_IN_WIDTH"]).contains("31 (32)"));
    right(&served, &["poke", "dbb0", "0x80100000", "48 65", "6c6c6f"]);
    let dump = right(&served, &["peek", "dbb0", "0x80100000", "16"]);
    assert!(dump.contains("48 65 6c 6c 6f") && dump.contains("Hello"), "{dump}");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bytes");
    let file_name = file.to_str().unwrap();
    right(&served, &["peek", "dbb0", "0x80100000", "5", "--out", file_name]);
    assert_eq!(std::fs::read(&file).unwrap(), b"Hello");
    right(&served, &["poke", "dbb0", "0x80100100", "--file", file_name]);
    assert!(right(&served, &["peek", "dbb0", "0x80100100", "5"]).contains("Hello"));

    assert!(wrong(&served, &["regs", "PDP.D_OP_ENABEL"]).contains("nearest: PDP.D_OP_ENABLE"));
    assert!(wrong(&served, &["poke", "PDP.S_POINTER.PRODUCER=3"]).contains("at most 1"));
    assert!(wrong(&served, &["poke", "dbb0"]).contains("REGISTER=VALUE"));
    let endless = wrong(&served, &["poke", "dbb0", "0xfffff000", "--file", "/dev/zero"]);
    assert!(endless.contains("/dev/zero: dbb0 has only 4096 bytes from there on"), "{endless}");
    assert!(wrong(&served, &["peek", "dbb1", "0"]).contains("it has dbb0"));
    assert!(wrong(&served, &["peek", "dbb0", "0x10"]).contains("spans"));
    assert!(wrong(&served, &["peek", "dbb0", "0x80000000", "2000000"]).contains("at most"));
    assert!(wrong(&served, &["stats", "--shared", "nobody"]).contains("no platform `nobody`"));
    let _other = shared(&served, "other", TimeMode::Lockstep);
    assert!(wrong(&served, &["regs"]).contains("lab, other"));
    let bytes = start_copy(&mut cpu, 8, 8, 32);
    assert_eq!(bytes.len(), 2048);
}
