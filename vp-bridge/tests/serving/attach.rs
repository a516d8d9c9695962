//! A debugger beside a program: it stops the platform that the program runs on, looks, and goes on; the program's run is the one
//! without it.

use crate::common;
use crate::common::process::Ended as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::raw::{IRQ, Raw};
use crate::common::{Served, copy, description, local, run};
use vp_client::{Client, Credentials, Error, Handler, Options as ClientOptions};
use vp_host::network::{Plan, Runner, digits};
use vp_host::trace::Trace;
use vp_host::{Host, Statistics};
use vp_models::nvdla::registers::{Unit, glb, pdp};
use vp_protocols::native::{
    Accesses, BreakOn, Breakpoint, Capabilities, DebugCommand, DebugEvent, ErrorCode, Event, Notice,
    PortKind, Reply, Request, StepBy, StopReport, StopWhy, TimeMode, Token,
};
use vp_remote::{RemoteHost, RemoteOptions};
use vp_server::{Access, Options, Tokens};

const LAB: &str = "lab";
/// After this something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Stops that a debugger is told.
#[derive(Default)]
struct StopHandler {
    stops: Vec<StopReport>,
}

impl Handler for StopHandler {
    fn stopped(&mut self, report: StopReport) {
        self.stops.push(report);
    }
}

type Debugger = Client<StopHandler>;

fn served(options: Options) -> (Served, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("unix:{}", folder.path().join("vp.sock").display());
    (Served::at(&address, options), folder)
}

fn host(served: &Served) -> RemoteHost {
    served.join(RemoteOptions { platform: Some(LAB.to_owned()), ..RemoteOptions::default() })
}

fn options() -> ClientOptions {
    let options = ClientOptions::observer("debugger 1.0", Some(LAB.to_owned()));
    let capabilities = options.capabilities.union(Capabilities::DEBUGGING).union(Capabilities::WARNINGS);
    ClientOptions { capabilities, ..options }
}

fn debugger(served: &Served) -> Debugger {
    Client::connect(&served.address, &options(), StopHandler::default()).unwrap()
}

fn next_stop(debugger: &mut Debugger) -> StopReport {
    let stop = |debugger: &mut Debugger| {
        let stops = &mut debugger.handler_mut().stops;
        (!stops.is_empty()).then(|| stops.remove(0))
    };
    debugger.wait(Some(PATIENCE), stop).unwrap().expect("a stop")
}

fn set(debugger: &mut Debugger, on: BreakOn) -> u32 {
    debugger.debug_break(Breakpoint { on, skip: 0, once: false }).unwrap()
}

fn address(unit: Unit, register: vp_models::registers::RegisterRef) -> u64 {
    let map = description().nvdla().unwrap().config.register_map;
    map.address(unit, register).unwrap().into()
}

fn hash(statistics: &Statistics) -> String {
    statistics.text("events.hash").unwrap().to_owned()
}

#[test]
fn a_layer_that_a_debugger_stops_and_looks_at_is_the_layer_without_it() {
    let trace = copy(8, 8, 32);
    let (expected, alone) = run(&trace, &mut local());
    let (served, _folder) = served(Options::default());
    let mut host = host(&served);
    let mut debugger = debugger(&served);
    set(&mut debugger, BreakOn::Layer { unit: "pdp".into(), end: false });
    let line = set(&mut debugger, BreakOn::Interrupt);
    let program = thread::spawn(move || {
        let done = run(&trace, &mut host);
        (done, host)
    });

    let begun = next_stop(&mut debugger);
    assert_eq!((begun.by, begun.why), (debugger.welcome().session, StopWhy::Breakpoint));
    let DebugEvent::Layer { end: false, unit, .. } = &begun.hits[0].seen else { panic!("{begun:?}") };
    assert_eq!(unit, "pdp");
    let csb = debugger.first(PortKind::Csb).unwrap();
    let enable = address(Unit::Pdp, pdp::D_OP_ENABLE);
    assert_eq!(debugger.peek_registers(csb, enable, 1, Some(0)).unwrap(), [1]);
    let target = debugger.ports().find(|(_, port)| port.name == "dbb0").map(|(id, _)| id).unwrap();
    let mut bytes = [1; 64];
    debugger.read_memory(target, common::TARGET.into(), &mut bytes).unwrap();
    assert_eq!(bytes, [0; 64], "nothing is written yet");
    let after = debugger.debug_step(StepBy::Cycle, 3).unwrap();
    assert_eq!(after.time - begun.time, description().period * 3);
    let later = debugger.debug_step(StepBy::Event, 5).unwrap();
    assert!(later.time > after.time && later.why == StopWhy::Stepped, "{later:?}");
    let state = debugger.debug_state().unwrap();
    assert_eq!((state.stopped, state.breakpoints.len()), (Some(later), 2));
    debugger.debug_continue().unwrap();

    let done = next_stop(&mut debugger);
    assert!(
        matches!(done.hits[..], [ref hit] if hit.breakpoint == Some(line) && hit.seen == DebugEvent::Interrupt)
    );
    debugger.read_memory(target, common::TARGET.into(), &mut bytes).unwrap();
    assert_eq!(bytes[..], common::pattern(64)[..], "all is written");
    debugger.debug_continue().unwrap();
    let ((outcome, statistics), _host) = program.join().unwrap();
    assert_eq!(outcome, expected);
    assert_eq!(hash(&statistics), hash(&alone));
    assert_eq!(statistics.get("nvdla.cycles"), alone.get("nvdla.cycles"));
}

/// One image through the digits network.
fn classify(host: &mut dyn Host) -> (Vec<i8>, Statistics) {
    let (network, description) = (digits::network(), description());
    let config = &description.nvdla().unwrap().config;
    let plan = Plan::new(&network, config, description.dbb0.range()).unwrap();
    let image = digits::samples().remove(0).pixels;
    let mut output = Vec::new();
    Runner::new(&plan, host)
        .unwrap()
        .run(&[image], |_, inference| output = inference.outputs.concat())
        .unwrap();
    (output, host.statistics().unwrap())
}

#[test]
fn stepping_through_the_whole_digits_network_leaves_its_run_as_it_is() {
    let expected = classify(&mut local());
    for (by, count) in [(StepBy::Layer, 1), (StepBy::Access, 1), (StepBy::Event, 50), (StepBy::Cycle, 400)] {
        // Each has a platform of its own, which ends a moment after its session.
        let (served, _folder) = served(Options { stopped: true, ..Options::default() });
        let mut host = host(&served);
        let mut debugger = debugger(&served);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let program = thread::spawn(move || {
            let done = classify(&mut host);
            over.store(true, Ordering::Release);
            // The platform is there as long as its session.
            (done, host)
        });
        let (mut steps, began) = (0, Instant::now());
        while !is_over.load(Ordering::Acquire) {
            let id =
                debugger.send(Request::Debug { command: DebugCommand::Step { by, count } }, &[]).unwrap();
            // The last step has no end: the program has come to its own.
            let answer = loop {
                let answer =
                    debugger.wait(Some(Duration::from_millis(20)), |debugger| debugger.take_answer(id));
                match answer.unwrap() {
                    Some(answer) => break Some(answer),
                    None if is_over.load(Ordering::Acquire) => break None,
                    None => assert!(began.elapsed() < 10 * PATIENCE, "{by:?}: {steps} steps"),
                }
            };
            let Some(answer) = answer else { break };
            assert!(
                matches!(&answer.reply, Reply::Stopped(report) if report.why == StopWhy::Stepped),
                "{answer:?}"
            );
            steps += 1;
        }
        let ((output, statistics), _host) = program.join().unwrap();
        assert_eq!(output, expected.0, "{by:?}");
        assert_eq!(hash(&statistics), hash(&expected.1), "{by:?}");
        assert!(steps > 4, "{by:?}: {steps}");
    }
}

#[test]
fn when_the_debugger_goes_its_breakpoints_go_and_time_goes_on() {
    let trace = copy(8, 8, 16);
    let (served, _folder) = served(Options::default());
    let mut host = host(&served);
    let mut watching = debugger(&served);
    let mut debugger = debugger(&served);
    set(
        &mut debugger,
        BreakOn::Register {
            address: address(Unit::Pdp, pdp::D_OP_ENABLE),
            access: Accesses::Write,
            value: None,
        },
    );
    let program = thread::spawn(move || {
        run(&trace, &mut host);
        host
    });
    let report = next_stop(&mut debugger);
    // Who only looks on is not told, and can ask.
    assert_eq!(watching.debug_state().unwrap().stopped, Some(report));
    assert!(watching.handler().stops.is_empty());
    drop(debugger);
    let _host = program.join().unwrap();
    let state = watching.debug_state().unwrap();
    assert_eq!((state.stopped, state.breakpoints), (None, vec![]));
}

/// A session with a part in the platform hears of the first stop of each debugger, and of one that it finds.
#[test]
fn who_takes_part_is_told_once_that_a_debugger_stops_time() {
    let served = Served::tcp();
    let mut raw = Raw::open(&served.address, Some(LAB), TimeMode::Lockstep);
    let mut debugger = debugger(&served);
    for _ in 0..3 {
        debugger.debug_stop().unwrap();
        debugger.debug_continue().unwrap();
    }
    let is_stop = |event: &Event| matches!(event, Event::Notice(Notice::Stopped(_)));
    let mut before = Vec::new();
    let ping = raw.send(Request::Ping);
    assert_eq!(raw.reply(&mut before).0, ping);
    assert_eq!(before.iter().filter(|event| is_stop(event)).count(), 1, "{before:?}");
    debugger.debug_stop().unwrap();
    let mut late = Raw::open(&served.address, Some(LAB), TimeMode::Lockstep);
    assert!(is_stop(&late.next()));
}

#[test]
fn a_session_that_waits_while_time_is_stopped_is_not_idle() {
    let limit = Duration::from_millis(200);
    let (served, _folder) = served(Options { idle_timeout: Some(limit), ..Options::default() });
    let mut host = host(&served);
    let mut debugger = debugger(&served);
    let line = debugger.first(PortKind::Irq).unwrap();
    assert_eq!(line, IRQ);
    debugger.debug_stop().unwrap();
    // Its answers are no work of the other's.
    let began = Instant::now();
    while began.elapsed() < 5 * limit {
        debugger.ping().unwrap();
    }
    host.statistics().expect("it is still there");
}

/// A layer that takes long by the wall clock, for its clock is slow.
#[test]
fn a_paced_platform_does_not_catch_up_what_it_was_stopped_for() {
    let slow = TimeMode::Paced { picoseconds_per_nanosecond: 1 };
    let (served, _folder) = served(Options::default());
    let mut host = served.join(RemoteOptions {
        platform: Some(LAB.to_owned()),
        time_mode: slow,
        ..RemoteOptions::default()
    });
    common::start_copy(&mut host, 64, 64, 32);
    let mut debugger = debugger(&served);
    let stopped = debugger.debug_stop().unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(200) {
        assert_eq!(debugger.debug_stop().unwrap().time, stopped.time);
    }
    let began = Instant::now();
    debugger.debug_continue().unwrap();
    let again = debugger.debug_stop().unwrap();
    // A piece of a run may be begun.
    let most = began.elapsed().as_nanos() as u64 + 64 * description().period.as_ps();
    assert!((again.time - stopped.time).as_ps() <= most, "{again:?} after {stopped:?}");
}

#[test]
fn who_has_not_the_right_looks_and_does_not_stop() {
    let folder = tempfile::tempdir().unwrap();
    let (observer, all) = ("observer-0123456789", "everything-0123456789");
    let text = format!(
        "[[token]]\nname = 'lab-observer'\nsecret = '{observer}'\nroles = ['observer']\nplatforms = ['*']\n\
         [[token]]\nname = 'all'\nsecret = '{all}'\nroles = ['cpu']\nrights = ['debug']\nplatforms = ['*']\n"
    );
    let path = folder.path().join("tokens.toml");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let access = Access { tokens: Tokens::read(&path).unwrap(), ..Access::default() };
    let served = Served::at("tcp:127.0.0.1:0", Options { access, ..Options::default() });
    let credentials = |token: &str| Credentials { token: Some(Token::new(token)), tls: None };
    let cpu = ClientOptions {
        credentials: credentials(all),
        platform: Some(LAB.into()),
        ..ClientOptions::new("cpu 1.0")
    };
    let mut cpu = Client::connect(&served.address, &cpu, ()).unwrap();
    let looking = ClientOptions { credentials: credentials(observer), ..options() };
    let mut looking = Client::connect(&served.address, &looking, StopHandler::default()).unwrap();
    assert_eq!(looking.debug_state().unwrap().stopped, None);
    let refused = looking.debug_stop().unwrap_err();
    let Error::Refused { code: ErrorCode::NotPermitted, reason } = refused else { panic!("{refused}") };
    assert!(reason.contains("`lab-observer` lacks the right `debug`"), "{reason}");
    // A session with a part in the platform may debug as well.
    cpu.debug_stop().unwrap();
    assert!(looking.debug_state().unwrap().stopped.is_some());
    cpu.debug_continue().unwrap();
}

// The command.

fn vp(arguments: &[&str]) -> (bool, String, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_vp")).args(arguments).ended();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.success(), text(stdout), text(stderr))
}

fn attach(served: &Served, commands: &str) -> (bool, String, String) {
    vp(&["attach", &served.address.to_string(), "--timeout", "60", "-c", commands])
}

/// The commands of the page's example, and what they show.
fn example() -> (String, String) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/inside.md");
    let page = std::fs::read_to_string(page).unwrap();
    let block = page.split("```").find(|block| block.contains("(vp) break")).expect("an example");
    let lines = block.lines().skip_while(|line| !line.starts_with("(vp) "));
    let (mut commands, mut shown) = (Vec::new(), String::new());
    for line in lines {
        match line.strip_prefix("(vp) ") {
            Some(command) => commands.push(command),
            None => shown += &format!("{line}\n"),
        }
    }
    (commands.join("; "), shown)
}

#[test]
fn the_page_shows_what_the_debugger_shows() {
    let (served, _folder) = served(Options { stopped: true, ..Options::default() });
    let mut host = host(&served);
    let script = "../traces/nv_small/sdp_prelu_5x7x13/sdp_prelu_5x7x13.cfg";
    let trace = Trace::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(script)).unwrap();
    let program = thread::spawn(move || run(&trace, &mut host).0);
    let (commands, expected) = example();
    let (is_right, shown, wrong) = attach(&served, &commands);
    assert!(is_right, "{shown}{wrong}");
    assert_eq!(shown, expected);
    assert!(expected.lines().all(|line| line.chars().count() <= 80), "{expected}");
    program.join().unwrap();
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    let (served, folder) = served(Options::default());
    let said = |(is_right, shown, wrong): (bool, String, String)| {
        assert!(!is_right, "{shown}");
        wrong.trim_end().to_owned()
    };
    assert!(said(attach(&served, "status")).ends_with("has no platform: one begins with its first session"));
    let _host = host(&served);
    for (commands, expected) in [
        ("brek irq", "brek irq: no command `brek`: did you mean `break`? `help` lists all"),
        ("break SDP.D_OP_ENABEL", "nearest: SDP.D_OP_ENABLE"),
        ("break layer sdq", "break layer sdq: no unit `sdq`: the device has "),
        ("mem dbb1 0", "mem dbb1 0: no memory `dbb1`: the platform has dbb0"),
        ("break mem dbb0 0", "break mem dbb0 0: 1 bytes at 0x0: dbb0 spans "),
        ("break time soon", "`soon` is no time: write 12 us, or 1500 ns"),
        ("delete 9", "delete 9: there is no breakpoint 9"),
        ("set SDP.S_STATUS=1", "it is read-only"),
    ] {
        let wrong = said(attach(&served, commands));
        assert!(wrong.contains(expected) && wrong.lines().count() == 1, "{commands}: {wrong}");
    }
    let (is_right, shown, _) = attach(&served, "stop; break time 1 us; quit; nonsense");
    assert!(is_right && shown.contains("breakpoint 1: time 1 µs"), "{shown}");
    let address = served.address.to_string();
    let late = said(vp(&["attach", &address, "--timeout", "0.2", "-c", "break irq; continue"]));
    assert!(late.contains("nothing has stopped time within 0 s: it is 0 s, and stands now"), "{late}");
    let nowhere = format!("unix:{}", folder.path().join("nowhere").display());
    let nobody = said(vp(&["attach", &nowhere]));
    assert!(nobody.contains("nowhere") && nobody.lines().count() == 1, "{nobody}");
    let without = Options::default();
    let capabilities = without.terms.capabilities.difference(Capabilities::DEBUGGING);
    let terms = vp_protocols::native::Terms { capabilities, ..without.terms };
    let old = Served::at("tcp:127.0.0.1:0", Options { terms, ..Options::default() });
    let _own = old.join(RemoteOptions::default());
    let lacking = said(attach(&old, "status"));
    assert!(lacking.ends_with("has no debugger") && lacking.lines().count() == 1, "{lacking}");
}

#[test]
fn commands_come_from_standard_input_as_well_and_the_first_that_fails_ends_them() {
    let (served, _folder) = served(Options::default());
    let _host = host(&served);
    let mut child = Command::new(env!("CARGO_BIN_EXE_vp"))
        .args(["attach", &served.address.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = b"# nothing\nbreak irq\nbreaks\ndelete\nbreaks\nnonsense\nstatus\n";
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines).unwrap();
    let Output { status, stdout, .. } = child.wait_with_output().unwrap();
    let shown = String::from_utf8(stdout).unwrap();
    assert_eq!(status.code(), Some(1));
    assert_eq!(shown, "breakpoint 1: interrupt\n  1    0 hits  interrupt\nno breakpoints\n");
}

#[test]
fn where_says_that_the_driver_waits_for_an_interrupt_and_what_the_device_does() {
    let (served, _folder) = served(Options::default());
    let mut host = host(&served);
    let address = served.address.to_string();
    let (is_right, shown, wrong) = vp(&["where", "--connect", &address]);
    assert!(is_right, "{wrong}");
    assert!(shown.contains("The driver has not accessed a register"), "{shown}");
    // PDP is enabled, and its RDMA is not: it waits for ever.
    for (register, value) in common::copy_registers(8, 8, 8) {
        if register != "PDP_RDMA.D_OP_ENABLE" {
            let address = host.map().find(register).unwrap().address;
            host.write(address, value).unwrap();
        }
    }
    host.read(u32::try_from(self::address(Unit::Glb, glb::S_INTR_STATUS)).unwrap()).unwrap();
    // Time moves to where nothing goes on by itself.
    host.wait_interrupt().unwrap_err();
    let (_, shown, _) = vp(&["where", "--connect", &address]);
    for expected in
        ["enabled   PDP group 0", "write PDP.D_OP_ENABLE 0x1", "The driver has enabled PDP group 0 and waits"]
    {
        assert!(shown.contains(expected), "{shown}");
    }
    assert!(shown.ends_with("The device waits for the CPU to enable PDP_RDMA.\n"), "{shown}");
    let (_, again, _) = attach(&served, "where");
    assert_eq!(again, shown);
    let (_, status, _) = vp(&["status", "--connect", &address]);
    assert!(status.contains("lab: nv_small, waiting for the CPU to enable PDP_RDMA\n"), "{status}");
}

/// Text that `vp where` and `vp status` say, without line ends, of a copy that has ended under these faults and this interrupt mask.
fn told_of_a_copy(faults: Option<&str>, mask: u32) -> [String; 2] {
    let (served, _folder) = served(Options { faults: faults.map(Into::into), ..Options::default() });
    let mut host = host(&served);
    let mut write = |register: &str, value| {
        let address = host.map().find(register).unwrap().address;
        host.write(address, value).unwrap();
    };
    write("GLB.S_INTR_MASK", mask);
    common::copy_registers(8, 8, 8).into_iter().for_each(|(register, value)| write(register, value));
    // The line does not rise in each case; the layer ends in any.
    _ = host.wait_interrupt();
    ["where", "status"].map(|command| {
        let (is_right, shown, wrong) = vp(&[command, "--connect", &served.address.to_string()]);
        assert!(is_right, "{wrong}");
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    })
}

#[test]
fn an_interrupt_that_a_fault_took_is_told_as_pending_behind_a_low_line() {
    let [place, status] = told_of_a_copy(Some("[[fault]]\nkind = 'lost-interrupt'\n"), 0);
    let interrupt =
        "PDP_DONE_STATUS0 is pending and not masked, and the line is low: a fault took the interrupt.";
    let device = "The device waits for the CPU to clear PDP_DONE_STATUS0, of which it is not told: a fault took the interrupt.";
    assert!(place.contains(interrupt) && place.ends_with(device), "{place}");
    assert!(!place.contains("nothing is pending"), "{place}");
    assert!(
        status.contains("waiting for the CPU to clear PDP_DONE_STATUS0, of which it is not told"),
        "{status}"
    );
    assert!(
        status.contains("line irq0 low, PDP_DONE_STATUS0 pending: a fault took the interrupt"),
        "{status}"
    );
}

#[test]
fn an_interrupt_that_is_masked_is_told_as_pending_and_masked() {
    let [place, status] = told_of_a_copy(None, u32::MAX);
    let interrupt = "PDP_DONE_STATUS0 has ended and is masked in GLB.S_INTR_MASK: the driver is not told.";
    assert!(place.contains(interrupt), "{place}");
    assert!(status.contains("nv_small, idle, with PDP_DONE_STATUS0 (masked) pending"), "{status}");
}

#[test]
fn an_interrupt_that_the_cpu_has_yet_to_take_is_told_with_what_is_pending() {
    let [place, status] = told_of_a_copy(None, 0);
    assert!(
        place.contains("the driver has not looked at GLB.S_INTR_STATUS: its CPU does not take it."),
        "{place}"
    );
    assert!(status.contains("line irq0 high, PDP_DONE_STATUS0 pending"), "{status}");
}
