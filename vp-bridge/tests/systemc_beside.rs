//! SystemC beside a platform: memories, CPUs and devices behind the sockets of `clients/systemc/vp_systemc.h`.

mod common;
#[path = "common/tools.rs"]
mod tools;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{fetch_target, start_copy};
use tempfile::TempDir;
use vp_models::bus::axi::Latency;
use vp_models::host::Host as _;
use vp_models::local::LocalHost;
use vp_models::platform::{Description, Platform};

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

/// A program in SystemC, in a folder of its own.
struct Program {
    _folder: TempDir,
    path: PathBuf,
}

impl Program {
    /// Builds it. `None`, said aloud: a tool is missing.
    fn build(test: &str, source: &str) -> Option<Program> {
        if tools::command(&["g++"]).is_none() || !Path::new("/usr/include/systemc").exists() {
            tools::skipped(test, "no SystemC with g++ (Debian: apt-get install g++ libsystemc-dev)");
            return None;
        }
        // Cargo builds the library as a dependency of the tests, and puts it beside them.
        let library = std::env::current_exe().unwrap().with_file_name("libvp.a");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let built = Command::new(root().join("clients/systemc/build"))
            .arg(&path)
            .arg(root().join(source))
            .env("LIBVP", library)
            .env("CXXFLAGS", "-O1 -Werror")
            .output()
            .unwrap();
        check(source, &built);
        Some(Program { _folder: folder, path })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.env("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1");
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }
}

/// The rows of a run's table, with the cycles, bytes and results of its layers.
fn rows(arguments: &[&str]) -> Vec<String> {
    let traces = root().join("traces/nv_small");
    let output = Command::new(VP).arg("run").arg(traces).args(arguments).output().unwrap();
    check("vp run", &output);
    text(&output.stdout).lines().filter(|line| line.ends_with("PASS")).map(str::to_owned).collect()
}

#[test]
fn a_memory_in_systemc_that_annotates_its_latency_takes_the_cycles_of_the_one_inside() {
    let Some(memory) = Program::build("a memory in SystemC", "examples/systemc-memory/main.cpp") else {
        return;
    };
    for latency in ["1", "50"] {
        let inside = rows(&["--dbb-latency", latency]);
        let command = format!("dbb0={} {latency}", memory.path.display());
        let outside = rows(&["--memory-command", &command]);
        assert!(inside.len() >= 12, "{inside:?}");
        assert_eq!(outside, inside, "at a latency of {latency}");
    }
}

#[test]
fn a_cpu_and_a_memory_in_systemc_take_the_cycles_of_those_inside() {
    let Some(platform) = Program::build("a platform in SystemC", "examples/systemc-platform/main.cpp") else {
        return;
    };
    for latency in [1, 50] {
        let mut description = Description::named("nv_small").unwrap();
        description.dbb0.read_latency = Some(Latency::Fixed(latency));
        let mut inside = LocalHost::new(Platform::build(&description).unwrap());
        let expected = start_copy(&mut inside, 8, 8, 16);
        inside.wait_interrupt().unwrap();
        assert_eq!(fetch_target(&mut inside, expected.len()), expected);
        let cycles = inside.platform().statistics().get("nvdla.cycles").unwrap();
        let outside = platform.output(&[&latency.to_string()]);
        check("the platform in SystemC", &outside);
        let said = text(&outside.stdout);
        assert!(said.contains(&format!("nvdla.cycles {cycles}\n")), "{cycles} at {latency}: {said}");
    }
}
