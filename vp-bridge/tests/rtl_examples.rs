//! The examples in RTL, by the command that their users type.

#[path = "common/beside.rs"]
mod beside;
#[path = "common/tools.rs"]
mod tools;

use std::path::Path;
use std::process::Command;

use beside::{VP, check, library, root, text};

/// What `examples/NAME/run` says.
fn run(name: &str, arguments: &[&str]) -> String {
    let output = Command::new(root().join("examples").join(name).join("run"))
        .args(arguments)
        .env("VP", VP)
        .env("LIBVP", library())
        .env("MADE", Path::new(VP).with_file_name("examples"))
        .env("OPT", "-O1")
        .current_dir(root())
        .output()
        .unwrap();
    check(name, &output);
    text(&output.stdout)
}

/// The cycles of one of our own layers, from its first enable to its last interrupt, without RTL.
fn cycles(layer: &str, latency: &str) -> String {
    let trace = root().join("traces/nv_small").join(layer);
    let output = Command::new(VP).arg("run").arg(trace).args(["--dbb-latency", latency]).output().unwrap();
    check("vp run", &output);
    let said = text(&output.stdout);
    let time = said.lines().find_map(|line| line.strip_prefix("time ")).unwrap();
    time.split_once(" cycles").unwrap().0.replace(' ', "")
}

#[test]
fn a_system_in_rtl_with_the_model_as_its_block_takes_the_trace_players_cycles_and_writes_waveforms() {
    if !tools::can_verilate("a system in RTL") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let wave = folder.path().join("wave.vcd");
    let said = run(
        "rtl-soc",
        &["--latency", "30", "--wave", wave.to_str().unwrap(), "traces/nv_small/sdp_prelu_5x7x13"],
    );
    let cycles = cycles("sdp_prelu_5x7x13", "30");
    assert!(said.starts_with(&format!("{cycles} cycles ")), "{cycles}: {said}");
    assert!(said.contains("CRC 67cba029 of 768 bytes at 80020000"), "{said}");
    let wave = std::fs::read_to_string(wave).unwrap();
    assert!(wave.contains(" nvdla_core2dbb_ar_arvalid ") && wave.contains("\n#1000\n"));
}

#[test]
fn a_sequencer_in_rtl_takes_the_trace_players_cycles() {
    if !tools::can_verilate("a sequencer in RTL") {
        return;
    }
    for (layer, latency, crc) in
        [("conv_3x3_bias_relu_9x7x12x20", "50", "3967a61b"), ("pdp_max_3x3_s2_16x16x16", "400", "2af0f46f")]
    {
        let said = run("rtl-sequencer", &["--latency", latency, &format!("traces/nv_small/{layer}")]);
        let cycles = cycles(layer, latency);
        assert!(said.starts_with(&format!("{cycles} cycles ")), "{layer}, {cycles}: {said}");
        assert!(said.contains(&format!("CRC {crc} of ")), "{said}");
    }
}
