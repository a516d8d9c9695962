//! Logs of register accesses: who did what when, and that the same comes of it when a log is played.

use crate::common::process::Ended as _;
use crate::common::tools;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::common::{Served, copy, run};
use vp_host::LocalHost;
use vp_host::trace::Trace;
use vp_host::trace::log::{LogAccess, LogEntry};
use vp_host::trace::player::{PlayOptions, play};
use vp_host::{Host as _, Memory};
use vp_hub::{Hub, TimeMode};
use vp_models::platform::{Description, Platform};
use vp_observers::{Files, Observers};
use vp_remote::MemoryPlace;
use vp_server::{ObservePlatforms, Options, PlatformObserver};

/// One of the vendor's, which writes its memory with an NVDLA.
const LOADABLE: &str = "CONV_D_L0_0_small/CONV_D_L0_0_small_fbuf";

fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/nv_small")
}

/// Plays a trace while its accesses are logged; gives the platform as it was left.
fn logged(trace: &Trace, platform: &str, log: &Path) -> LocalHost {
    let platform = Platform::build(&Description::named(platform).unwrap()).unwrap();
    let mut hub = Hub::new(platform, TimeMode::Lockstep);
    let files = Files { registers: Some(log.to_owned()), ..Files::default() };
    let observers = files.attach(&mut hub).unwrap();
    let mut host = LocalHost::at(hub);
    let map = host.map();
    let outcome = play(trace, &mut host, &map, &PlayOptions::default()).unwrap();
    assert!(outcome.passed(), "{}: {:?}", trace.name(), outcome.failures);
    let finished = observers.finish();
    assert!(finished.errors.is_empty(), "{:?}", finished.errors);
    host
}

fn entries(log: &Path) -> Vec<LogEntry> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Entries of a log, whether or not a write was answered: one that is waited for is, when it is played.
fn happened(log: &Path) -> Vec<LogEntry> {
    let mut entries = entries(log);
    for entry in &mut entries {
        if let LogEntry::Write(LogAccess { posted, .. }) = entry {
            *posted = false;
        }
    }
    entries
}

fn memory(host: &mut LocalHost, from: u64) -> Vec<u8> {
    let mut bytes = vec![0; 4 << 20];
    host.fetch(Memory::Primary, from, &mut bytes).unwrap();
    bytes
}

fn comes_again(trace: &Trace, platform: &str, base: u64) {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first.jsonl", "second.jsonl"].map(|name| folder.path().join(name));
    let left = memory(&mut logged(trace, platform, &first), base);
    let again = Trace::load(&first).unwrap();
    let found = memory(&mut logged(&again, platform, &second), base);
    let differs = found.iter().zip(&left).position(|(found, left)| found != left);
    assert_eq!(differs.map(|at| (at, found[at], left[at])), None, "{}: a byte of the memory", trace.name());
    let (first, second) = (happened(&first), happened(&second));
    assert!(first.len() > 20 && left.iter().any(|byte| *byte != 0));
    let differs = first.iter().zip(&second).position(|(a, b)| a != b);
    assert_eq!(differs.map(|at| (&first[at], &second[at])), None, "{}", trace.name());
    assert_eq!(first.len(), second.len(), "{}", trace.name());
}

#[test]
fn the_log_of_a_layer_is_played_to_the_same_log_and_the_same_memory() {
    for name in ["pdp_max_3x3_s2_16x16x16", "conv_sdp_pdp_3x3_prelu_maxpool_12x10x8x16", "cdp_lrn5_7x5x20"] {
        let script = traces().join(name).join(format!("{name}.cfg"));
        comes_again(&Trace::load(&script).unwrap(), "nv_small", 0x8000_0000);
    }
}

#[test]
fn the_log_of_a_network_of_the_vendors_is_played_to_the_same_log_and_the_same_memory() {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let named = std::env::var_os("VP_SHARED").map(PathBuf::from);
    let shared = named.or_else(|| above.map(|above| above.join("shared")).find(|it| it.is_dir()));
    let file = shared.map(|shared| shared.join("nvdla/loadables/nv_small").join(LOADABLE));
    let Some(file) = file.filter(|file| file.is_file()) else {
        return tools::skipped("a network of the vendor's, logged", "the vendor's data is not here");
    };
    comes_again(&Trace::load(&file).unwrap(), "nv_small", 0xc000_0000);
}

#[test]
fn an_access_stands_there_with_its_name_its_fields_its_group_and_who_asked() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("run.jsonl");
    logged(&copy(8, 8, 32), "nv_small", &log);
    let entries = entries(&log);
    let width = entries.iter().find_map(|entry| match entry {
        LogEntry::Write(access) if access.register.as_deref() == Some("PDP.D_DATA_CUBE_IN_WIDTH") => {
            Some(access)
        }
        _ => None,
    });
    let LogAccess { who, address, group, value, fields, .. } = width.unwrap();
    assert_eq!((who.as_deref(), *address, *group, *value), (Some("the CPU"), 0xb00c, Some(0), 7));
    assert_eq!(fields, "CUBE_IN_WIDTH=7 (8)");
    assert!(entries.iter().any(|entry| matches!(entry, LogEntry::Line { level: true, .. })));
    assert!(entries.iter().any(|entry| matches!(entry, LogEntry::Load { memory, .. } if memory == "dbb0")));
}

#[test]
fn as_text_it_reads_as_a_drivers_debug_print() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("run.txt");
    logged(&copy(8, 8, 32), "nv_small", &log);
    let text = std::fs::read_to_string(&log).unwrap();
    for part in [
        "# registers of nv_small",
        "the CPU: write PDP.D_DATA_CUBE_IN_WIDTH (0x0b00c, group 0) = 0x00000007  CUBE_IN_WIDTH=7 (8)",
        "interrupt raised",
        "2048 bytes into dbb0 at 0x80000000",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Logs what happens at a server's platforms.
#[derive(Debug)]
struct Logging(PathBuf);

struct Logged(Observers);

impl ObservePlatforms for Logging {
    fn begin(&self, _: &str, hub: &mut Hub) -> Result<Box<dyn PlatformObserver>, String> {
        let files = Files { registers: Some(self.0.clone()), ..Files::default() };
        files.attach(hub).map(|log| Box::new(Logged(log)) as Box<_>).map_err(|error| error.to_string())
    }
}

impl PlatformObserver for Logged {
    fn finish(self: Box<Self>) -> Result<(), String> {
        self.0.finish().errors.first().map_or(Ok(()), |error| Err(error.to_string()))
    }
}

#[test]
fn of_a_servers_platform_it_says_which_session_asked() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("run.jsonl");
    let options = Options { observe: Some(Arc::new(Logging(log.clone()))), ..Options::default() };
    let served = Served::at("tcp:127.0.0.1:0", options);
    let mut cpu = served.host(MemoryPlace::Inside);
    let session = format!("session {}", cpu.welcome().session.0);
    run(&copy(8, 8, 32), &mut cpu);
    drop(cpu);
    drop(served);
    let mut accesses = 0;
    for entry in entries(&log) {
        if let LogEntry::Write(access) | LogEntry::Read(access) = entry {
            assert_eq!(access.who.as_deref(), Some(&*session));
            accesses += 1;
        }
    }
    assert!(accesses > 30);
}

fn vp(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).current_dir(folder).args(arguments).ended();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn vp_run_writes_a_log_and_plays_it() {
    let folder = tempfile::tempdir().unwrap();
    let digits = traces().join("../../networks/digits/network.toml");
    for (what, log) in [(&traces().join("pdp_max_3x3_s2_16x16x16"), "run.jsonl"), (&digits, "network.jsonl")]
    {
        let what = what.to_str().unwrap();
        let (is_right, text) = vp(folder.path(), &["run", what, "--registers", log]);
        assert!(is_right, "{text}");
        let (is_right, text) = vp(folder.path(), &["run", log, "--registers", "again.jsonl"]);
        assert!(is_right, "{text}");
        let [first, again] = [log, "again.jsonl"].map(|name| happened(&folder.path().join(name)));
        let differs = first.iter().zip(&again).position(|(a, b)| a != b);
        assert_eq!(differs.map(|at| (&first[at], &again[at])), None, "{what}");
        assert_eq!(first.len(), again.len(), "{what}");
    }

    // A log that is damaged, newer, or of another map ends in one line that says where and what.
    let log = std::fs::read_to_string(folder.path().join("run.jsonl")).unwrap();
    let refused = |text: &str| {
        std::fs::write(folder.path().join("bad.jsonl"), text).unwrap();
        let (is_right, text) = vp(folder.path(), &["run", "bad.jsonl"]);
        assert!(!is_right, "{text}");
        text
    };
    assert!(refused(&log[..log.len() - 9]).contains(": the line is cut off"));
    let newer = log.replacen("\"vp_register_log\":1", "\"vp_register_log\":7", 1);
    assert!(
        refused(&newer).contains("bad.jsonl:1: a register log of version 7: this program reads version 1")
    );
    assert!(
        refused(&log.replacen("PDP.S_POINTER", "PDP.S_PIONTER", 1))
            .contains("is PDP.S_POINTER here, and not PDP.S_PIONTER")
    );
    assert!(refused("{}\n").contains("bad.jsonl: nothing that can be run"));
}
