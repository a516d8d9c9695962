//! What the system refuses while `vp` works, full disks and too many files, ends with one sentence, and what was done stays.

use crate::common::process::Ended as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Four points that take little time, with enough to say to fill a small disk.
const STUDY: &str = "name = 'four'\n[sweep]\nnetwork = 'digits'\n'dbb0.read_latency' = [10, 100]\n\
                     'dbb0.read_outstanding' = [2, 64]\n";

/// Runs `vp` with these arguments, in a folder, after a shell has limited what it may have.
fn limited(folder: &Path, limits: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.current_dir(folder).arg("-c").arg(format!("{limits}; exec \"$0\" \"$@\""));
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

fn study() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    folder
}

#[test]
fn a_study_whose_disk_is_full_says_so_and_what_was_done_is_done() {
    let folder = study();
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

/// The signal that comes with it would end the program without a word (setrlimit(2)).
#[test]
fn who_may_write_no_file_as_long_as_its_results_says_so() {
    let folder = study();
    let said = sentence(&limited(folder.path(), "exec >results; ulimit -f 0", &["platform", "list"]));
    assert!(said.contains("File too large"), "{said}");
}

#[test]
fn who_cannot_write_its_results_says_so() {
    let folder = study();
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
