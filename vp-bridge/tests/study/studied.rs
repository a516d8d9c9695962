//! Folder with a study in it, and what `vp study` makes there: shared by the tests.

use crate::common::process::Ended as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder with a study in it.
pub(crate) struct Studied {
    pub(crate) folder: TempDir,
}

impl Studied {
    pub(crate) fn new(text: &str) -> Studied {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("study.toml"), text).unwrap();
        Studied { folder }
    }

    /// One of the repository's, with some of its text changed: other networks, or few values.
    pub(crate) fn shipped(name: &str, changes: &[(&str, &str)]) -> Studied {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../studies").join(name);
        let mut text = fs::read_to_string(path).unwrap();
        for (from, to) in changes {
            assert!(text.contains(from), "{name} has no `{from}`");
            text = text.replace(from, to);
        }
        Studied::new(&text)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vp"));
        command.current_dir(self.folder.path()).arg("study").args(arguments);
        command
    }

    /// Another command of `vp`, in the study's folder.
    pub(crate) fn other(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vp"));
        command.current_dir(self.folder.path()).args(arguments).ended()
    }

    pub(crate) fn vp(&self, arguments: &[&str]) -> Output {
        self.command(arguments).ended()
    }

    /// Runs the study, and returns what it prints; it must end well.
    pub(crate) fn shown(&self, arguments: &[&str]) -> String {
        let output = self.vp(arguments);
        let (shown, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {shown}{errors}");
        shown
    }

    pub(crate) fn told(&self, arguments: &[&str]) -> String {
        let output = self.vp(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        text(&output.stderr)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("study.results").join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    /// A column of `results.csv`.
    pub(crate) fn columns(&self, name: &str) -> Vec<String> {
        self.column("results.csv", name)
    }

    /// A column of a table.
    pub(crate) fn column(&self, table: &str, name: &str) -> Vec<String> {
        let mut reader = csv::Reader::from_path(self.file(table)).unwrap();
        let at = reader.headers().unwrap().iter().position(|it| it == name);
        let at = at.unwrap_or_else(|| panic!("{table} has no column {name}"));
        reader.records().map(|row| row.unwrap()[at].to_owned()).collect()
    }

    /// A column of numbers, in each of whose cells one stands.
    pub(crate) fn numbers(&self, table: &str, name: &str) -> Vec<f64> {
        self.column(table, name).iter().map(|cell| cell.parse().unwrap()).collect()
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn lines(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

/// Twelve points that take little time.
pub(crate) const SMALL: &str = "name = 'small'\n[sweep]\nnetwork = 'digits'\nplatform = ['nv_small', 'nv_large']\n\
                     'dbb0.read_latency' = [10, 100, 1000]\n'dbb0.read_outstanding' = [2, 64]\n";

/// Runs each point's command where the study was called, and compares hash and cycles with its row.
pub(crate) fn commands_run_again(study: &Studied) {
    let path = Path::new(env!("CARGO_BIN_EXE_vp")).parent().unwrap().to_str().unwrap();
    let columns = ["command", "event_hash", "cycles"].map(|name| study.columns(name));
    assert!(!columns[0].is_empty());
    for (at, command) in columns[0].iter().enumerate() {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).env("PATH", path).current_dir(study.folder.path());
        let ran = shell.ended();
        let shown = text(&ran.stdout);
        assert!(shown.contains(&columns[1][at]), "{command}: {shown}{}", text(&ran.stderr));
        let digits: String = shown.chars().filter(|it| it.is_ascii_alphanumeric() || *it == '\n').collect();
        let cycles = &columns[2][at];
        let told = [format!("time{cycles}cycles"), format!("{cycles}cyclesaframe")];
        let is_told = digits.lines().any(|line| told.iter().any(|told| line.starts_with(told)));
        assert!(is_told, "{command}: not {cycles} cycles in {shown}");
    }
}

/// A section of a report.
pub(crate) fn section<'a>(report: &'a str, name: &str) -> &'a str {
    let (_, rest) = report.split_once(&format!("<section id=\"{name}\">")).unwrap();
    rest.split_once("</section>").unwrap().0
}
