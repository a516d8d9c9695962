//! Refusals of the system while `vp` works, full disks, too many files and memory: what was done stays, and there is a sentence where
//! there is memory for one.

use crate::common::process::Ended as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Four points that take little time, with enough to say to fill a small disk.
const STUDY: &str = "name = 'four'\n[sweep]\nnetwork = 'digits'\n'dbb0.read_latency' = [10, 100]\n\
                     'dbb0.read_outstanding' = [2, 64]\n";

/// Four points with caches of more and more sets, up to 200 MiB of this process: each needs more memory than the one before it.
const GROWING: &str = "name = 'growing'\n[sweep]\nnetwork = 'digits'\n\
                       'dbb0.cache.sets' = [64, 65536, 262144, 524288]\n";

/// Runs `vp` with these arguments, in a folder, after a shell has limited what it may have.
fn limited(folder: &Path, limits: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    // Without what the caller of the tests has left open.
    let close: String = (3..=9).map(|descriptor| format!("exec {descriptor}>&-; ")).collect();
    command.current_dir(folder).arg("-c").arg(format!("{close}{limits}; exec \"$0\" \"$@\""));
    command.arg(env!("CARGO_BIN_EXE_vp")).args(arguments).ended()
}

/// The sentence with which it ends.
fn sentence(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(errors.len() == 1 && said.lines().last() == Some(errors[0]), "{said}");
    errors[0].to_owned()
}

fn study(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("study.toml"), text).unwrap();
    folder
}

#[test]
fn a_study_whose_disk_is_full_says_so_and_what_was_done_is_done() {
    let folder = study(STUDY);
    let points = folder.path().join("study.results/points.jsonl");
    // A limit of the size stands for the disk's: the same write comes back with an error, in the middle of a line. Of what
    // unit `ulimit -f` is depends on the shell.
    let full = |size: u32| limited(folder.path(), &format!("ulimit -f {size}"), &["study", "study.toml"]);
    let (mut size, mut kept) = (1, String::new());
    while kept.is_empty() {
        size += 3;
        assert!(size < 64, "a point takes less than this");
        let said = sentence(&full(size));
        assert!(said.starts_with("error: study.results/points.jsonl: File too large"), "{said}");
        kept = fs::read_to_string(&points).unwrap();
    }
    assert!(kept.ends_with("}\n"), "no half line stays");
    let again = limited(folder.path(), ":", &["study", "study.toml"]);
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    let all = fs::read_to_string(&points).unwrap();
    assert!(all.starts_with(&kept) && all.lines().count() == 4, "what was done is not done again");
}

const TABLES: [&str; 4] = ["results.csv", "layers.csv", "results.parquet", "layers.parquet"];

/// A table of the study in a folder, if it is there.
fn table(folder: &Path, name: &str) -> Option<Vec<u8>> {
    fs::read(folder.join("study.results").join(name)).ok()
}

/// A failed allocation ends the program wherever it is (`std::alloc::handle_alloc_error`). With less memory that is before the first
/// point, with more behind some of them.
#[test]
fn a_study_that_runs_out_of_memory_leaves_whole_files_and_goes_on_when_there_is_more() {
    let arguments = ["study", "study.toml", "--jobs", "1"];
    let undisturbed = study(GROWING);
    let ended = limited(undisturbed.path(), ":", &arguments);
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let wanted = TABLES.map(|name| table(undisturbed.path(), name));
    assert!(wanted.iter().all(Option::is_some));
    let (mut kibibytes, mut failed_behind_points) = (32_u32 << 10, 0);
    loop {
        let folder = study(GROWING);
        let limits = format!("export RUST_BACKTRACE=0; ulimit -c 0; ulimit -v {kibibytes}");
        if limited(folder.path(), &limits, &arguments).status.success() {
            break;
        }
        let points = folder.path().join("study.results/points.jsonl");
        let kept = fs::read_to_string(&points).unwrap_or_default();
        assert!(kept.is_empty() || kept.ends_with("}\n"), "{kibibytes}: half a line: {kept}");
        for (name, wanted) in TABLES.iter().zip(&wanted) {
            let found = table(folder.path(), name);
            assert!(found.is_none() || found == *wanted, "{kibibytes}: a part of {name}");
        }
        if !kept.is_empty() {
            // It believes no line whose checksum does not fit.
            let again = limited(folder.path(), ":", &arguments);
            assert!(again.status.success(), "{kibibytes}: {}", String::from_utf8_lossy(&again.stderr));
            let all = fs::read_to_string(&points).unwrap();
            assert!(all.starts_with(&kept) && all.lines().count() == 4, "{kibibytes}: {kept}{all}");
            let tables = TABLES.map(|name| table(folder.path(), name));
            assert!(tables == wanted, "{kibibytes}: other tables");
            failed_behind_points += 1;
        }
        kibibytes += kibibytes / 2;
        assert!(kibibytes < 8 << 20, "a study of a small network takes less than this");
    }
    assert!(failed_behind_points > 0, "no run failed behind its first point");
}

/// The signal that comes with it would end the program without a word (setrlimit(2)).
#[test]
fn who_may_write_no_file_as_long_as_its_results_says_so() {
    let folder = study(STUDY);
    let said = sentence(&limited(folder.path(), "exec >results; ulimit -f 0", &["platform", "list"]));
    assert!(said.contains("File too large"), "{said}");
}

#[test]
fn who_cannot_write_its_results_says_so() {
    let folder = study(STUDY);
    let said = sentence(&limited(folder.path(), "exec >/dev/full", &["study", "study.toml"]));
    assert!(said.contains("No space left on device"), "{said}");
}

#[test]
fn a_server_that_has_no_descriptors_to_begin_with_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for descriptors in 4..=8 {
        let limit = format!("ulimit -n {descriptors}");
        let said = sentence(&limited(folder.path(), &limit, &["serve", "--listen", "unix:vp.sock"]));
        assert!(said.contains("Too many open files"), "{descriptors}: {said}");
    }
    assert!(!folder.path().join("vp.sock").exists());
}
