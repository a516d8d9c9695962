//! RTL in Verilator beside a platform: our own designs behind the blocks of `clients/rtl`.

#[path = "common/tools.rs"]
mod tools;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const VP: &str = env!("CARGO_BIN_EXE_vp");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn check(what: &str, output: &Output) {
    assert!(output.status.success(), "{what}: {}{}", text(&output.stdout), text(&output.stderr));
}

/// Builds a top module with Verilator, and gives the program. `None`, said aloud: a tool is missing.
fn verilated(test: &str, name: &str, top: &str, files: &[PathBuf]) -> Option<PathBuf> {
    for tool in ["verilator", "g++"] {
        if tools::command(&[tool]).is_none() {
            tools::skipped(test, &format!("no Verilator: no {tool} (Debian: apt-get install verilator g++)"));
            return None;
        }
    }
    // Beside the `vp` under test, and of its profile.
    let profile = Path::new(VP).parent().unwrap();
    let mut library = Command::new(env!("CARGO"));
    library.args(["build", "--quiet", "--offline", "-p", "vp-c", "--target-dir"]);
    library.arg(profile.parent().unwrap()).current_dir(root());
    if profile.ends_with("release") {
        library.arg("--release");
    }
    check("the library", &library.output().unwrap());
    let folder = profile.parent().unwrap().join("verilated").join(name);
    let built = Command::new(root().join("clients/rtl/verilate"))
        .arg(&folder)
        .arg(top)
        .args(["-Wall", "-Wno-UNUSED"])
        .args(files)
        .env("LIBVP", profile.join("libvp.a"))
        .env("OPT", "-O1")
        .output()
        .unwrap();
    check(name, &built);
    Some(folder.join(top))
}

/// The `.sv` files of a folder.
fn sources(folder: &str) -> Vec<PathBuf> {
    let entries = root().join(folder).read_dir().unwrap();
    let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "sv");
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(is_source).collect();
    files.sort();
    files
}

/// The rows of a run's table, with the cycles, bytes and results of its layers.
fn rows(arguments: &[&str]) -> Vec<String> {
    let traces = root().join("traces/nv_small");
    let output = Command::new(VP).arg("run").arg(traces).args(arguments).output().unwrap();
    check("vp run", &output);
    text(&output.stdout).lines().filter(|line| line.ends_with("PASS")).map(str::to_owned).collect()
}

#[test]
fn a_memory_in_rtl_takes_the_cycles_of_the_one_inside() {
    let test = "a memory in RTL";
    let Some(memory) = verilated(test, "rtl-memory", "top", &sources("examples/rtl-memory")) else { return };
    for latency in ["1", "50", "400"] {
        let inside = rows(&["--dbb-latency", latency]);
        let command = format!("dbb0={} +latency={latency}", memory.display());
        let outside = rows(&["--memory-command", &command]);
        assert!(inside.len() >= 12, "{inside:?}");
        assert_eq!(outside, inside, "at a latency of {latency}");
    }
}
