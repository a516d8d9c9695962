//! Commands that build parts of the project find what the first has built: a crate has the same features in all of them.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    cargo
}

/// The machine's name as a target.
fn host() -> String {
    let output = cargo().arg("-vV").output().expect("cargo starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo names its host").to_owned()
}

/// The crates that a command compiles, as cargo plans them. The plan is an unstable option, which stable cargo takes with this variable.
fn plan(arguments: &str) -> Vec<Value> {
    let mut cargo = cargo();
    cargo.env("RUSTC_BOOTSTRAP", "1").args(arguments.split_whitespace());
    // With a target named, a crate for the program and one for a macro can be told apart.
    cargo.args(["--target", &host(), "--unit-graph", "-Zunstable-options", "--offline"]);
    let output = cargo.output().expect("cargo starts");
    assert!(output.status.success(), "cargo {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    let mut graph: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    match graph["units"].take() {
        Value::Array(units) => units,
        other => panic!("no list of crates: {other}"),
    }
}

/// The library crates of a plan, each with the features and the levels of optimisation that it has there.
fn crates(units: &[Value]) -> BTreeMap<String, String> {
    let built = |unit: &&Value| unit["mode"] == "build" && unit["target"]["kind"][0] != "custom-build";
    let crates = units.iter().filter(built).map(|unit| {
        let name = format!("{} {} for {}", unit["pkg_id"], unit["target"]["kind"], unit["platform"]);
        let profile =
            ["opt_level", "lto", "codegen_units", "debuginfo", "debug_assertions", "panic", "strip"];
        let profile: Vec<String> = profile.iter().map(|field| unit["profile"][field].to_string()).collect();
        (name, format!("{} {}", unit["features"], profile.join(" ")))
    });
    crates.collect()
}

/// Panics for each crate that both commands build, and not the same way.
fn compare(first: &str, others: &[&str]) {
    let built = crates(&plan(first));
    assert!(built.len() > 100, "cargo {first} builds {} crates", built.len());
    for other in others {
        let stale: Vec<String> = crates(&plan(other))
            .into_iter()
            .filter_map(|(name, wanted)| {
                let had = built.get(&name).filter(|had| **had != wanted)?;
                Some(format!("{name}\n  has    {had}\n  wanted {wanted}"))
            })
            .collect();
        assert!(
            stale.is_empty(),
            "after `cargo {first}`, `cargo {other}` compiles crates again: workspace-hack/Cargo.toml lacks features\n{}",
            stale.join("\n")
        );
    }
}

#[test]
fn after_the_first_command_no_crate_is_compiled_again() {
    let others = [
        // The library for QEMU, that for C, Python's, and all of package.sh.
        "build --release -p vp-qemu",
        "build --release -p vp-c",
        "rustc --release --lib --manifest-path clients/python/Cargo.toml",
        "build --release -p vp-bridge -p vp-qemu -p vp-c -p vp-python",
        "build --release --workspace",
        // Examples of the Rust API, and benchmarks.
        "build --release -p vp-bridge --example fpga_ai_suite",
        "bench --no-run -p vp-tests",
        "bench --no-run -p vp-qemu",
        "bench --no-run -p vp-bridge",
        "build --release -p vp-tests --bins",
    ];
    compare("build --release --bin vp", &others);
}

#[test]
fn after_the_tests_no_crate_is_compiled_again() {
    compare(
        "test --no-run --workspace",
        &["build", "build -p vp-qemu", "build -p vp-c", "test --no-run -p vp-core"],
    );
}
