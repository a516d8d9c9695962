//! `vp` as a user types it, and programs that are built beside it.

#![allow(dead_code, reason = "every test file uses its own part")]

use super::process::Ended as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const VP: &str = env!("CARGO_BIN_EXE_vp");

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The library for C: cargo builds it as a dependency of the tests, and puts it beside them.
pub(crate) fn library() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("libvp.a")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn check(what: &str, output: &Output) {
    assert!(output.status.success(), "{what}: {}{}", text(&output.stdout), text(&output.stderr));
}

/// The rows of a run's table, with the cycles, bytes and results of our own layers of these names; of all with "".
pub(crate) fn rows(layers: &[&str], arguments: &[&str]) -> Vec<String> {
    let traces = layers.iter().map(|layer| root().join("traces/nv_small").join(layer));
    let output = Command::new(VP).arg("run").args(traces).args(arguments).ended();
    check("vp run", &output);
    text(&output.stdout).lines().filter(|line| line.ends_with("PASS")).map(str::to_owned).collect()
}
