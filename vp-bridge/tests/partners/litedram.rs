//! LiteDRAM's controller in RTL, as its Python package generates it, behind `dbb0`, and the model of it.

use crate::common::process::Ended as _;
use crate::common::tools;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::beside::{VP, check, library, root, text};

/// The platform, the name and the cycles of each run that was measured in RTL.
fn measured() -> Vec<(String, String, u64)> {
    let file = std::fs::read_to_string(root().join("examples/litedram/cycles.csv")).unwrap();
    let row = |line: &str| {
        let [platform, name, cycles] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        (platform.to_owned(), name.to_owned(), cycles.parse().unwrap())
    };
    file.lines().skip(1).map(row).collect()
}

/// One of our own layers, or a network, to be run. `None`: a layer of the vendor's.
fn program(platform: &str, name: &str) -> Option<PathBuf> {
    let layer = root().join("traces").join(platform).join(name);
    let is_network = root().join("networks").join(name).is_dir();
    if is_network { Some(name.into()) } else { Some(layer).filter(|layer| layer.is_dir()) }
}

/// The cycles of a run that gives the right bytes.
fn cycles(platform: &str, program: &Path, arguments: &[&str]) -> u64 {
    let mut run = Command::new(VP);
    run.arg("run").arg(program).args(["--json", "--platform", platform, "--set", "period=\"5 ns\""]);
    let output = run.args(arguments).ended();
    check("vp run", &output);
    // The simulation's words come first.
    let said = text(&output.stdout);
    let json: Value =
        serde_json::from_str(&said[said.find('{').unwrap()..=said.rfind('}').unwrap()]).unwrap();
    let run = json.get("runs").map_or(&json, |runs| &runs[0]);
    run["cycles"].as_u64().unwrap_or_else(|| panic!("{said}"))
}

/// Builds the example for a data bus of so many bits. `None`, said aloud: a tool is missing.
fn built(test: &str, bits: u32) -> Option<PathBuf> {
    let python = root().join("target/litedram/bin/python3");
    if !tools::can_verilate(test) {
        return None;
    }
    if !python.exists() {
        tools::skipped(test, "no LiteDRAM in target/litedram: ./test.sh gets it");
        return None;
    }
    let example = root().join("examples/litedram");
    let made = tools::built_once(&format!("litedram {bits}"), |made| {
        let core = made.join("core.v");
        let generated = Command::new(&python)
            .arg(example.join("generate.py"))
            .arg((bits / 8).to_string())
            .arg(&core)
            .ended();
        check("generate.py", &generated);
        let built = Command::new(root().join("clients/rtl/verilate"))
            .arg(made)
            .args(["top", "-Wall", "-Wno-UNUSED", &format!("-GDATA_WIDTH={bits}")])
            .args([example.join("top.sv"), example.join("ddr3.sv"), core])
            .env("LIBVP", library())
            .env("OPT", "-O1")
            .ended();
        check(test, &built);
    });
    Some(made.join("top"))
}

#[test]
fn litedram_in_rtl_takes_the_cycles_that_were_measured() {
    let test = "LiteDRAM in RTL";
    let is_effort = std::env::var("VP_TEST_EFFORT").is_ok_and(|effort| effort != "1");
    for (platform, bits) in [("nv_small", 64), ("nv_large", 512)] {
        if bits == 512 && !is_effort {
            continue;
        }
        let Some(memory) = built(test, bits) else { return };
        let command = format!("dbb0={}", memory.display());
        for (_, name, expected) in measured().iter().filter(|(of, ..)| of == platform) {
            // The small network asks for all that a larger one does, which takes half a minute, and the largest minutes.
            let most = if is_effort { 200_000 } else { 20_000 };
            if let Some(program) = program(platform, name).filter(|_| *expected < most) {
                assert_eq!(cycles(platform, &program, &["--memory-command", &command]), *expected, "{name}");
            }
        }
    }
}

#[test]
fn the_model_of_litedram_takes_the_cycles_of_the_rtl() {
    let mut count = 0;
    for (platform, name, expected) in measured() {
        let model = ["--set", "dbb0.litedram.nphases=4"];
        if let Some(program) = program(&platform, &name) {
            assert_eq!(cycles(&platform, &program, &model), expected, "{name}, on {platform}");
            count += 1;
        }
    }
    assert!(count >= 20, "{count}");
}
