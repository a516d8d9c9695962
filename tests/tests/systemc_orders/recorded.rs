//! Records from SystemC, and the kernel compared with them.

use crate::{play, scenarios};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use vp_tests::shared::say;

/// Kind of difference of the kernel from a record. What it does instead is in a file `NAME.here.txt` beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Difference {
    /// Happens in the same delta cycles, in another order within some of them.
    Order,
    /// Happens in the same order, in delta cycles of other numbers.
    Count,
    /// Another rule.
    Rule,
}
use Difference::{Count, Order, Rule};

/// All the differences there are. The README beside the records gives the reason of each.
const DIFFERENCES: &[(&str, Difference)] = &[
    ("waiters_of_one_event", Order),
    ("methods_sensitive_to_one_event", Order),
    ("methods_and_threads_on_one_event", Order),
    ("delta_notifications_of_several_events", Order),
    ("timed_notifications_of_several_events", Order),
    ("times_that_meet", Order),
    ("a_wait_for_no_time_and_a_delta_notification", Order),
    ("static_sensitivity_of_a_thread", Order),
    ("initialization", Order),
    ("next_trigger_on_an_event_or_after_time", Order),
    ("fifo_events", Order),
    ("spawn_a_method", Order),
    ("pause_in_a_delta_cycle", Order),
    ("wait_for_all", Count),
    ("mutex_wanted_again", Rule),
    ("kill_a_process_that_has_not_begun", Rule),
    ("a_process_that_kills_itself", Rule),
    ("run_up_to_an_event", Rule),
    ("run_for_no_time", Rule),
];

fn records() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/systemc-orders")
}

fn lines(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().map(str::to_owned).collect()
}

/// The names of the files in a folder that end so, without the ending.
fn names(folder: &Path, ending: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    files
        .map(|file| file.expect("a readable folder").file_name().into_string().expect("a plain name"))
        .filter_map(|name| name.strip_suffix(ending).map(str::to_owned))
        .filter(|name| !name.contains('.'))
        .collect()
}

/// A line in parts: time, delta cycle, who and what.
fn parts(line: &str) -> (&str, &str, &str) {
    let (time, rest) = line.split_once(' ').expect("a time");
    let (delta, what) = rest.split_once(' ').expect("a delta cycle");
    (time, delta, what)
}

/// The kind of the difference between two that differ.
fn kind(systemc: &[String], here: &[String]) -> Difference {
    // Each delta cycle sorted for itself; what is said between two runs stays between them.
    let sorted = |lines: &[String]| -> Vec<String> {
        let same = |a: &String, b: &String| (parts(a).0, parts(a).1) == (parts(b).0, parts(b).1);
        lines
            .chunk_by(same)
            .flat_map(|cycle| {
                let mut cycle = cycle.to_vec();
                cycle.sort();
                cycle
            })
            .collect()
    };
    let uncounted = |lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| parts(line)).map(|(time, _, what)| format!("{time} {what}")).collect()
    };
    if sorted(systemc) == sorted(here) {
        Order
    } else if uncounted(systemc) == uncounted(here) {
        Count
    } else {
        Rule
    }
}

#[test]
fn scenarios_run_as_systemc_runs_them() {
    let mut wrong = String::new();
    for (name, run) in scenarios() {
        let differs = DIFFERENCES.iter().any(|&(differing, _)| differing == name);
        let file = records().join(if differs { format!("{name}.here.txt") } else { format!("{name}.txt") });
        let (expected, got) = (lines(&file), play(run));
        if expected != got {
            wrong += &format!("\n{name}\n  expected\n    {}", expected.join("\n    "));
            wrong += &format!("\n  got ({:?})\n    {}", kind(&expected, &got), got.join("\n    "));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_record_has_its_scenario() {
    let played: BTreeSet<String> = scenarios().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(played.len(), scenarios().count(), "a name is used twice");
    assert_eq!(names(&records(), ".txt"), played);
}

#[test]
fn differences_are_of_the_kind_they_are_said_to_be_and_have_a_reason() {
    let readme = std::fs::read_to_string(records().join("README.md")).expect("a README beside the records");
    for &(name, said) in DIFFERENCES {
        let systemc = lines(&records().join(format!("{name}.txt")));
        let here = lines(&records().join(format!("{name}.here.txt")));
        assert_ne!(systemc, here, "{name} is no difference");
        assert_eq!(kind(&systemc, &here), said, "{name}");
        assert!(readme.contains(&format!("`{name}`")), "the README says nothing about {name}");
    }
    let listed: BTreeSet<String> = DIFFERENCES.iter().map(|&(name, _)| name.to_owned()).collect();
    assert_eq!(names(&records(), ".here.txt"), listed);
}

/// The version of SystemC that is installed here, if one is.
fn systemc_here() -> Option<String> {
    let probe = "#include <sysc/kernel/sc_ver.h>\nSC_VERSION_MAJOR.SC_VERSION_MINOR.SC_VERSION_PATCH\n";
    let mut compiler = Command::new("g++")
        .args(["-E", "-P", "-x", "c++", "-"])
        .args(std::env::var("CXXFLAGS").unwrap_or_default().split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    compiler.stdin.take()?.write_all(probe.as_bytes()).ok()?;
    let output = compiler.wait_with_output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.lines().last()?.split_whitespace().collect())
}

/// The version of which the records are.
const RECORDED: &str = "2.3.4";

#[test]
fn systemc_still_prints_what_was_recorded() {
    let what = "the order of events as SystemC prints it";
    match systemc_here() {
        None => return say(&format!("skipped: {what}: no g++ with SystemC")),
        // Other versions may settle ties otherwise.
        Some(version) if version != RECORDED => {
            return say(&format!("skipped: {what}: SystemC {version}, and {RECORDED} was recorded"));
        }
        Some(_) => {}
    }
    let fresh = tempfile::tempdir().expect("a folder for the new records");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("systemc/record.sh");
    let done = Command::new(script).arg(fresh.path()).status().expect("the recording script starts");
    assert!(done.success(), "the recording failed");
    assert_eq!(names(fresh.path(), ".txt"), names(&records(), ".txt"));
    for name in names(fresh.path(), ".txt") {
        let file = format!("{name}.txt");
        assert_eq!(lines(&fresh.path().join(&file)), lines(&records().join(&file)), "{name}");
    }
}
