//! The examples in RTL, by the command that their users type.

use crate::common::process::Ended as _;
use crate::common::tools;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::beside::{VP, check, library, root, text};

/// Runs `examples/NAME/run`, and returns what it says.
fn run(name: &str, arguments: &[&str]) -> String {
    run_with(name, arguments, &[])
}

/// Runs it as [`run`] does, with these variables.
fn run_with(name: &str, arguments: &[&str], variables: &[(&str, &OsStr)]) -> String {
    let plugin = plugin();
    let output = Command::new(root().join("examples").join(name).join("run"))
        .args(arguments)
        .envs(plugin.map(|plugin| ("PLUGIN", plugin)))
        .env("VP", VP)
        .env("LIBVP", library())
        .env("MADE", Path::new(VP).with_file_name("rtl-examples"))
        .env("OPT", "-O1")
        .envs(variables.iter().copied())
        .current_dir(root())
        .ended();
    check(name, &output);
    text(&output.stdout)
}

/// Library that QEMU loads, if it is built: package vp-qemu.
fn plugin() -> Option<PathBuf> {
    let folders = [Path::new(VP).parent().unwrap().join("deps"), Path::new(VP).parent().unwrap().to_owned()];
    folders.into_iter().map(|folder| folder.join("libvp_qemu.so")).find(|plugin| plugin.exists())
}

/// The cycles of one of our own layers, from its first enable to its last interrupt, without RTL.
fn cycles(layer: &str, latency: &str) -> String {
    let trace = root().join("traces/nv_small").join(layer);
    let output = Command::new(VP).arg("run").arg(trace).args(["--dbb-latency", latency]).ended();
    check("vp run", &output);
    let said = text(&output.stdout);
    let time = said.lines().find_map(|line| line.strip_prefix("time ")).unwrap();
    time.split_once(" cycles").unwrap().0.replace(' ', "")
}

#[test]
fn a_system_in_rtl_with_the_model_as_its_block_runs_a_layer_and_writes_waveforms() {
    if !tools::can_verilate("a system in RTL") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let wave = folder.path().join("wave.vcd");
    let said = run(
        "rtl-soc",
        &["--latency", "30", "--wave", wave.to_str().unwrap(), "traces/nv_small/sdp_prelu_5x7x13"],
    );
    // The layer takes as long as its reads, which begin with their own enable: the CPU in RTL enables SDP an edge later, `vp run` six.
    let expected = cycles("sdp_prelu_5x7x13", "30");
    assert!(said.starts_with(&format!("{expected} cycles ")), "{expected}: {said}");
    assert!(said.contains("CRC 67cba029 of 768 bytes at 80020000"), "{said}");
    let wave = std::fs::read_to_string(wave).unwrap();
    assert!(wave.contains(" nvdla_core2dbb_ar_arvalid ") && wave.contains("\n#1000\n"));
}

#[test]
fn systemc_takes_the_cycles_of_the_platform_alone() {
    if tools::command(&["g++"]).is_none() || !Path::new("/usr/include/systemc").exists() {
        return tools::skipped(
            "the examples in SystemC",
            "no SystemC with g++ (Debian: apt-get install g++ libsystemc-dev)",
        );
    }
    let said = run("systemc-memory", &["--latency", "30", "traces/nv_small/sdp_prelu_5x7x13"]);
    let time = said.lines().find_map(|line| line.strip_prefix("time ")).unwrap_or_else(|| panic!("{said}"));
    let taken = time.split_once(" cycles").unwrap().0.replace(' ', "");
    assert_eq!(taken, cycles("sdp_prelu_5x7x13", "30"));
    assert!(run("systemc-platform", &["--latency", "30"]).contains("nvdla.cycles "));
}

#[test]
fn a_memory_in_rtl_has_rows_if_it_is_asked_for_them() {
    if !tools::can_verilate("rows of a memory in RTL") {
        return;
    }
    let said = run("rtl-memory", &["--rows", "--latency", "15", "traces/nv_small/sdp_prelu_5x7x13"]);
    let reads = said.lines().find(|line| line.starts_with("read ")).unwrap();
    assert!(reads.contains(" cycles on average (") && said.contains("\nPASS"), "{said}");
    let wrong = Command::new(root().join("examples/rtl-memory/run")).arg("--row").ended();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("examples/rtl-memory/run --rows "), "{}", text(&wrong.stderr));
}

#[test]
fn a_sequencer_in_rtl_takes_the_trace_players_cycles_in_one_process_and_beside_a_server() {
    if !tools::can_verilate("a sequencer in RTL") {
        return;
    }
    let ways = [
        ("conv_3x3_bias_relu_9x7x12x20", "50", "3967a61b", None),
        ("pdp_max_3x3_s2_16x16x16", "400", "2af0f46f", None),
        ("sdp_prelu_5x7x13", "20", "67cba029", Some("--serve")),
    ];
    for (layer, latency, crc, more) in ways {
        let trace = format!("traces/nv_small/{layer}");
        let arguments: Vec<&str> = ["--latency", latency].into_iter().chain(more).chain([&*trace]).collect();
        let said = run("rtl-sequencer", &arguments);
        let cycles = cycles(layer, latency);
        assert!(said.starts_with(&format!("{cycles} cycles ")), "{layer}, {cycles}: {said}");
        assert!(said.contains(&format!("CRC {crc} of ")), "{said}");
    }
}

#[test]
fn a_guest_of_qemu_uses_an_accelerator_in_rtl() {
    let test = "an accelerator in RTL";
    if !tools::can_verilate(test) {
        return;
    }
    for (tool, package) in
        [("qemu-system-aarch64", "qemu-system-arm"), ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")]
    {
        if tools::command(&[tool]).is_none() {
            return tools::skipped(test, &format!("no QEMU: no {tool} (Debian: apt-get install {package})"));
        }
    }
    let libc = "/usr/aarch64-linux-gnu/lib/libc.a";
    let kernel = root().join("target/guest-kernel/release");
    if !kernel.exists() || !Path::new(libc).exists() || plugin().is_none() {
        let needs = format!("./test.sh gets {} and {libc}; cargo build -p vp-qemu", kernel.display());
        return tools::skipped(test, &format!("no Debian kernel for QEMU, or no plug-in ({needs})"));
    }
    adds(&run("rtl-accelerator", &["--latency", "20"]));
}

#[test]
fn a_pc_without_a_plugin_has_an_accelerator_in_rtl_as_a_pci_function() {
    let test = "an accelerator in RTL as a PCI function";
    if !tools::can_verilate(test) {
        return;
    }
    let qemu = std::env::var("VP_QEMU_X86").unwrap_or_else(|_| "qemu-system-x86_64".to_owned());
    let asked = Command::new(&qemu).args(["-M", "none", "-device", "vfio-user-pci,help"]).output();
    // Older ones say that there is none, and end as if all were well.
    if !asked.is_ok_and(|asked| text(&asked.stdout).contains("socket=")) {
        let why = format!("no QEMU with vfio-user: {qemu} is none of 10.1 or newer (VP_QEMU_X86 names one)");
        return tools::skipped(test, &why);
    }
    let kernel = root().join("target/guest-kernel-amd64/uio_pci_generic.ko");
    if !kernel.exists() {
        let needs = format!("no Debian kernel for QEMU (./test.sh gets {})", kernel.display());
        return tools::skipped(test, &needs);
    }
    // What the other test makes at the same time lies elsewhere.
    let made = Path::new(VP).with_file_name("rtl-examples-pci");
    let variables = [("QEMU", qemu.as_ref()), ("MADE", made.as_os_str())];
    adds(&run_with("rtl-accelerator", &["--pci", "--latency", "20"], &variables));
}

/// Checks what the guest's program and the command have said.
fn adds(said: &str) {
    assert!(said.contains("identity 56414444"), "{said}");
    let sum = said.lines().find(|line| line.starts_with("4100 numbers are added in ")).unwrap_or_default();
    assert!(sum.ends_with(" cycles, status 1, then 0"), "{said}");
    assert!(said.contains("32 800 bytes in 258 bursts on dbb0"), "{said}");
}
