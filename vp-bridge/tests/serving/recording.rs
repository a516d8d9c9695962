//! `--record`, `vp replay` and `vp diff` as a user types them.

use crate::common;
use crate::common::process::Ended as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use crate::common::program::ServeProgram;
use crate::common::recorded::replayed;
use crate::common::{copy, run};
use tempfile::TempDir;
use vp_client::native::Time;
use vp_client::{Client, Handler, Options as ClientOptions};
use vp_host::LocalHost;
use vp_host::{Host as _, Memory};
use vp_hub::{Hub, Input, Operation, PartyCommand, Recorded, TimeMode};
use vp_models::platform::Platform;
use vp_recordings::{Header, Reader, RecordingEnd, Writer};
use vp_remote::{RemoteHost, RemoteOptions};
use vp_transport::Address;

const VP: &str = env!("CARGO_BIN_EXE_vp");

fn vp(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(VP).current_dir(folder).args(arguments).ended()
}

/// Runs `vp`, which succeeds; what it prints.
fn prints(folder: &Path, arguments: &[&str]) -> String {
    let output = vp(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Runs `vp`, which fails; its sentence. Of a comparison 1 would say that something differs.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = vp(folder, arguments);
    let said = text(&output.stderr);
    let status = if arguments[0] == "diff" { 2 } else { 1 };
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{said}");
    errors[0].to_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn line<'a>(printed: &'a str, begin: &str) -> &'a str {
    printed.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("no {begin} in {printed}"))
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A folder with a recording of the layer that is built in, and what `vp run` has printed.
fn recorded() -> (TempDir, String) {
    let folder = folder();
    let printed = prints(folder.path(), &["run", "--record", "run.vprec"]);
    (folder, printed)
}

#[test]
fn a_replay_prints_the_event_hash_of_the_run_and_says_that_it_was_checked() {
    let (folder, printed) = recorded();
    let again = prints(folder.path(), &["replay", "run.vprec"]);
    assert_eq!(line(&again, "event hash"), line(&printed, "event hash"));
    assert_eq!(line(&again, "time"), line(&printed, "time"));
    assert!(line(&again, "ended").ends_with("; the event hash is the recorded one"), "{again}");
    assert!(line(&again, "replayed").contains(" of a recording by vp "), "{again}");
}

#[test]
fn several_traces_have_a_recording_each() {
    let folder = folder();
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/nv_small");
    let found: Vec<PathBuf> = fs::read_dir(&traces).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(found.len() > 1);
    let two = [found[0].to_str().unwrap(), found[1].to_str().unwrap()];
    prints(folder.path(), &["run", two[0], two[1], "--record", "run.vprec"]);
    for file in ["run.vprec", "run-2.vprec"] {
        assert_eq!(replayed(&folder.path().join(file)), RecordingEnd::Whole);
    }
}

#[test]
fn a_replay_stops_behind_a_time_or_a_register() {
    let (folder, _) = recorded();
    let replay = |options: &[&str]| prints(folder.path(), &[&["replay", "run.vprec"], options].concat());
    let stopped = replay(&["--until", "2 us"]);
    assert!(line(&stopped, "stopped").ends_with(": up to 2 µs all is done"), "{stopped}");
    let stopped = replay(&["--break", "PDP.D_OP_ENABLE"]);
    let seen = "0xb008 PDP.D_OP_ENABLE written: 0x00000001";
    assert!(line(&stopped, "stopped").ends_with(seen), "{stopped}");
    let stopped = replay(&["--break", "0xB008=1"]);
    assert!(line(&stopped, "stopped").ends_with(seen), "{stopped}");
}

#[test]
fn a_place_that_does_not_come_and_a_register_that_is_not_there_are_refused_in_one_sentence() {
    let (folder, _) = recorded();
    let refused = |options: &[&str]| refused(folder.path(), &[&["replay", "run.vprec"], options].concat());
    let said = refused(&["--break", "PDP.D_OP_ENABLE=7"]);
    assert!(
        said.contains("PDP.D_OP_ENABLE is not accessed with 0x7 up to the end of the recording"),
        "{said}"
    );
    assert!(refused(&["--until", "1 s"]).contains("--until 1 s: the recording ends before that, at "));
    let said = refused(&["--break", "PDP.D_OP_ENABLED"]);
    assert!(
        said.contains("no register `PDP.D_OP_ENABLED`") && said.contains("nearest: PDP.D_OP_ENABLE"),
        "{said}"
    );
    assert!(refused(&["--break", "PDP.D_OP_ENABLE=x"]).contains("no value of a register: `x`"));
    assert!(
        refused(&["--record", "again.vprec"]).contains("a replay has nothing that is not in its recording")
    );
}

#[test]
fn says_what_is_wrong_with_a_file_that_cannot_be_replayed() {
    let (folder, _) = recorded();
    let whole = fs::read(folder.path().join("run.vprec")).unwrap();
    let replay = |bytes: &[u8]| {
        fs::write(folder.path().join("bad.vprec"), bytes).unwrap();
        refused(folder.path(), &["replay", "bad.vprec"])
    };
    assert_eq!(
        replay(b"\x7fELF"),
        "error: bad.vprec: no recording of vp: a file of `--record` begins with the bytes VPREC"
    );
    let mut newer = whole.clone();
    newer[8] = 9;
    assert!(replay(&newer).contains("version 9 of the format, and this vp reads up to 1"));
    let mut flipped = whole.clone();
    let middle = flipped.len() - 200;
    flipped[middle] ^= 4;
    assert!(replay(&flipped).contains("the recording is damaged at byte "));
    let mut other = whole.clone();
    // The platform's name is in the header, whose checksum is wrong then.
    let name = other.windows(8).position(|bytes| bytes == b"nv_small").unwrap();
    other[name] = b'x';
    assert!(replay(&other).contains("damaged at byte 10: a checksum that is another one"));
    assert!(refused(folder.path(), &["replay", "none.vprec"]).contains("none.vprec: No such file"));
}

#[test]
fn who_cannot_record_says_so_before_anything_runs() {
    let folder = folder();
    let said = refused(folder.path(), &["run", "--record", "no/run.vprec"]);
    assert!(said.starts_with("error: cannot record in no/run.vprec: No such file"), "{said}");
    let said = refused(folder.path(), &["serve", "--listen", "unix:vp.sock", "--record", "no/run.vprec"]);
    assert!(said.starts_with("error: cannot record in no/run.vprec: No such file"), "{said}");
    let said = refused(folder.path(), &["run", "--connect", "unix:vp.sock", "--record", "run.vprec"]);
    assert!(said.contains("--record is the server's to say"), "{said}");
}

#[test]
fn a_disk_that_is_full_ends_a_recording_with_a_sentence_and_what_was_recorded_runs_again() {
    let folder = folder();
    // A limit of the size stands for the disk's: the same write comes back with an error, in the middle of a block.
    let limited = |size: u32| {
        let mut command = Command::new("bash");
        command.current_dir(folder.path()).arg("-c");
        command.arg(format!("trap '' XFSZ; ulimit -f {size}; exec \"$0\" run --record run.vprec"));
        command.arg(VP).ended()
    };
    let output = limited(4);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.trim_end(), "error: cannot record in run.vprec: File too large (os error 27)");
    // The run has gone on.
    assert!(text(&output.stdout).contains("PASS"), "{}", text(&output.stdout));
    let again = prints(folder.path(), &["replay", "run.vprec"]);
    assert!(
        line(&again, "ended").ends_with("the recording was cut off: its program did not end it"),
        "{again}"
    );
}

/// `vp serve --record run.vprec` on a Unix socket, in a folder of its own.
struct Serving {
    child: Child,
    folder: TempDir,
    address: Address,
}

impl Serving {
    fn start(limits: &str, options: &str) -> Serving {
        let folder = folder();
        let socket = folder.path().join("vp.sock");
        let serve = format!("serve --listen unix:{} --record run.vprec {options}", socket.display());
        let mut child = Command::new("bash")
            .current_dir(folder.path())
            .args(["-c", &format!("{limits}; exec {VP} {serve}")])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("listening on "), "{line}");
        Serving { child, folder, address: Address::Unix(socket) }
    }

    fn host(&self) -> RemoteHost {
        RemoteHost::connect(&self.address, RemoteOptions::default()).unwrap()
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("run.vprec")
    }

    /// Asks it to end, and waits.
    fn end(&mut self) -> Option<i32> {
        let process = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The data of each write to memory in a recording.
fn writes(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = Reader::new(BufReader::new(fs::File::open(path).unwrap())).unwrap();
    let mut found = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        if let Recorded::Input(Input::Command { command: PartyCommand::Access(access), .. }) = entry
            && let Operation::MemoryWrite { data, .. } = access.operation
        {
            found.push(data.to_vec());
        }
    }
    found
}

#[test]
fn what_was_acknowledged_before_a_kill_is_in_the_recording_which_runs_again() {
    for enough in [1, 90, 700] {
        let mut serving = Serving::start(":", "");
        let acknowledged = Arc::new(AtomicU64::new(0));
        let (tell, told) = mpsc::channel();
        let mut host = serving.host();
        let count = acknowledged.clone();
        let client = std::thread::spawn(move || {
            for number in 0_u64.. {
                let data = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
                let address = 0x8000_0000 + 8 * (number % 512);
                if host.load(Memory::Primary, address, &data).is_err() {
                    return;
                }
                count.store(number + 1, Ordering::SeqCst);
                if number + 1 == enough {
                    tell.send(()).unwrap();
                }
                // Between them, time moves.
                if number % 7 == 0 && host.read(0x1000).is_err() {
                    return;
                }
            }
        });
        told.recv().unwrap();
        serving.child.kill().unwrap();
        serving.child.wait().unwrap();
        client.join().unwrap();
        let acknowledged = acknowledged.load(Ordering::SeqCst);
        let recorded = writes(&serving.path());
        assert!(recorded.len() as u64 >= acknowledged, "{} of {acknowledged}", recorded.len());
        for (number, data) in recorded.iter().enumerate() {
            assert_eq!(*data, (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        }
        let again = prints(serving.folder.path(), &["replay", "run.vprec"]);
        assert!(
            line(&again, "ended").contains("the recording was cut off: its program did not end it"),
            "{again}"
        );
    }
}

#[test]
fn a_served_run_runs_again_as_it_does_in_this_process() {
    let mut serving = Serving::start(":", "");
    let trace = copy(16, 16, 32);
    let (_, remote) = run(&trace, &mut serving.host());
    let platform = Platform::build(&common::description()).unwrap();
    let (_, local) = run(&trace, &mut LocalHost::new(platform));
    assert_eq!(remote.text("events.hash"), local.text("events.hash"));
    assert_eq!(serving.end(), Some(0));
    let again = prints(serving.folder.path(), &["replay", "run.vprec"]);
    assert!(line(&again, "event hash").ends_with(local.text("events.hash").unwrap()), "{again}");
    assert!(line(&again, "ended").ends_with("; the event hash is the recorded one"), "{again}");
}

#[test]
fn the_faults_of_a_server_are_in_its_recordings() {
    let folder = folder();
    let file = folder.path().join("faults.toml");
    fs::write(&file, "[[fault]]\nkind = 'delayed-interrupt'\ncycles = 1000\n").unwrap();
    let mut serving = Serving::start(":", &format!("--faults {}", file.display()));
    let (_, remote) = run(&copy(8, 8, 32), &mut serving.host());
    assert!(remote.text("fault.1").unwrap().contains("struck at"));
    assert_eq!(serving.end(), Some(0));
    let again = prints(serving.folder.path(), &["replay", "run.vprec"]);
    assert!(line(&again, "event hash").ends_with(remote.text("events.hash").unwrap()), "{again}");
    assert!(line(&again, "ended").ends_with("; the event hash is the recorded one"), "{again}");
}

#[test]
fn a_replay_shows_no_control_characters_of_a_peer() {
    let folder = folder();
    let hub = Hub::new(Platform::build(&common::description()).unwrap(), TimeMode::Lockstep);
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &Header::of(&hub, "a test", None)).unwrap();
    writer.add(Recorded::Input(Input::Warn { text: "\x1b[2Jgone".to_owned() })).unwrap();
    writer.end(None).unwrap();
    fs::write(folder.path().join("run.vprec"), &file).unwrap();
    let shown = prints(folder.path(), &["replay", "run.vprec"]);
    assert!(shown.contains("?[2Jgone"), "{shown}");
}

#[test]
fn sessions_are_told_when_the_disk_of_a_served_recording_is_full_and_the_run_goes_on() {
    let mut serving = Serving::start("trap '' XFSZ; ulimit -f 40", "");
    let mut host = serving.host();
    let mut told = Vec::new();
    for number in 0..64_u64 {
        let data: Vec<u8> = (0..1024).map(|at: u64| ((at * at * (2 * number + 1)) >> 3) as u8).collect();
        host.load(Memory::Primary, 0x8000_0000 + 1024 * number, &data).unwrap();
        told.extend(host.warnings());
        // Until it is said, all that was acknowledged is there.
        if told.is_empty() {
            assert_eq!(writes(&serving.path()).len() as u64, number + 1);
        }
    }
    assert_eq!(told.len(), 1, "{told:?}");
    let sentence = "cannot record in run.vprec: File too large (os error 27); what follows is not recorded";
    assert!(told[0].text.contains(sentence), "{}", told[0].text);
    let mut back = [0; 4];
    host.fetch(Memory::Primary, 0x8000_0000 + 63 * 1024, &mut back).unwrap();
    drop(host);
    assert_eq!(serving.end(), Some(1), "a recording that is not whole is an error");
    assert!(matches!(replayed(&serving.path()), RecordingEnd::CutOff { bytes: 0 }));
    let kept = writes(&serving.path()).len();
    assert!((16..64).contains(&kept), "{kept}");
}

/// Serves as where a disk is full when a further platform begins: each session is told before its first answer.
#[test]
fn sessions_are_told_of_a_served_recording_that_cannot_begin() {
    let server = ServeProgram::start(&["--record", "/dev/full"]);
    let options = ClientOptions { platform: Some("shared".to_owned()), ..ClientOptions::new("a test") };
    let connect = || Client::connect(&server.address, &options, Told::default()).unwrap();
    // One that has the platform made, and one that comes later.
    let mut clients = [connect(), connect()];
    for client in &mut clients {
        client.ping().unwrap();
        let told = &client.handler().0;
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("cannot record in /dev/full: No space left"), "{}", told[0]);
    }
}

/// Warnings that a session is told.
#[derive(Default)]
struct Told(Vec<String>);

impl Handler for Told {
    fn warning(&mut self, _: Time, text: String) {
        self.0.push(text);
    }
}

#[test]
fn an_empty_file_is_said_to_have_nothing_recorded() {
    let folder = folder();
    fs::write(folder.path().join("run.vprec"), "").unwrap();
    let said = refused(folder.path(), &["replay", "run.vprec"]);
    assert_eq!(said, "error: run.vprec: the file is empty: nothing was recorded");
}

#[test]
fn recordings_of_a_platform_that_was_cut_at_its_pins_run_again_without_the_other_side() {
    let folder = folder();
    let command = format!("{VP} attach-device");
    for option in ["--device-command", "--memory-command"] {
        let command = if option == "--memory-command" {
            format!("dbb0={command} --as memory:dbb0")
        } else {
            command.clone()
        };
        let printed = prints(folder.path(), &["run", "--record", "run.vprec", option, &command]);
        let again = prints(folder.path(), &["replay", "run.vprec"]);
        assert!(line(&again, "ended").ends_with("; the event hash is the recorded one"), "{again}");
        assert_eq!(line(&again, "event hash"), line(&printed, "event hash"));
    }
}

#[test]
fn two_recordings_of_one_run_are_equal_and_of_another_platform_the_first_difference_is_shown() {
    let folder = folder();
    let run = |options: &[&str]| prints(folder.path(), &[&["run"], options].concat());
    run(&["--record", "a.vprec"]);
    run(&["--record", "b.vprec"]);
    run(&["--record", "slow.vprec", "--dbb-latency", "90"]);
    let same = prints(folder.path(), &["diff", "a.vprec", "b.vprec"]);
    assert!(same.ends_with("\nEQUAL\n") && line(&same, "equal").contains(" entries, one by one"), "{same}");
    let output = vp(folder.path(), &["diff", "a.vprec", "slow.vprec"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let different = text(&output.stdout);
    assert!(different.contains("platforms, from line "), "{different}");
    assert!(different.contains("read_latency = 90"), "{different}");
    assert!(different.contains(", the first that differs"), "{different}");
    for what in ["before it  in both", "from it on in a.vprec", "from it on in slow.vprec", "event "] {
        assert!(different.contains(what), "{what}: {different}");
    }
    assert!(different.ends_with("\nDIFFERENT\n"), "{different}");
}

#[test]
fn logs_are_compared_line_by_line_and_not_with_recordings() {
    let (folder, _) = recorded();
    let log = |name: &str, third: &str| {
        let line = |number: u32| format!("{{\"time\":{number},\"register\":\"SDP.S_POINTER\"}}\n");
        let text = [line(1), line(2), format!("{{\"time\":3,\"value\":{third}}}\n"), line(4)].concat();
        fs::write(folder.path().join(name), text).unwrap();
    };
    log("a.jsonl", "1");
    log("b.jsonl", "2");
    let output = vp(folder.path(), &["diff", "a.jsonl", "b.jsonl"]);
    let printed = text(&output.stdout);
    assert!(printed.contains("line 3, the first that differs"), "{printed}");
    assert!(printed.contains("{\"time\":3,\"value\":2}"), "{printed}");
    assert!(prints(folder.path(), &["diff", "a.jsonl", "a.jsonl"]).contains("4 lines, one by one"));
    assert!(
        refused(folder.path(), &["diff", "a.jsonl", "run.vprec"])
            .contains("one is a log and the other is none")
    );
}

#[test]
fn logs_that_are_compared_move_no_cursor_and_may_be_text() {
    let folder = folder();
    for (name, end) in [("one.log", "plain"), ("other.log", "\u{1b}[2J\u{1b}]0;title\u{7}")] {
        fs::write(folder.path().join(name), format!("# registers of nv_small\nthe same\n{end}\n")).unwrap();
    }
    let output = vp(folder.path(), &["diff", "one.log", "other.log"]);
    let shown = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("line 3, the first that differs") && shown.contains("?[2J?]0;title?"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
}
