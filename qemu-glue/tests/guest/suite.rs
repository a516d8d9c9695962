//! Guests that have the FPGA AI Suite's inference IP.

use std::path::Path;
use std::process::Command;

use vp_host::fpga_ai_suite::{Model, bundle};
use vp_host::network::digits;
use vp_models::fpga_ai_suite::Architecture;

use crate::linux;
use crate::machine::{Kind, Setup, can_run};
use crate::script::Script;
use crate::served::Served;

const PLATFORM: &str = "fpga-ai-suite";

#[test]
fn a_guest_runs_inferences_in_its_own_memory() {
    if !can_run("a_guest_runs_inferences_in_its_own_memory") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Served::at(folder.path(), PLATFORM);
    let script = Script::for_suite().inferences(PLATFORM, 3);
    let tree = folder.path().join("tree").display().to_string();
    let setup = Setup::new(script.clone()).connect(&server.address).args(&["-M", &format!("dumpdtb={tree}")]);
    setup.start().ends();
    let tree = std::fs::read(tree).unwrap();
    let has = |part: &[u8]| tree.windows(part.len()).any(|bytes| bytes == part);
    assert!(has(b"intel,fpga-ai-suite\0generic-uio\0"), "the node's names are the server's to say");
    // A page is the least that a guest maps.
    assert!(has(&[0x0b00_0000u64.to_be_bytes(), 4096u64.to_be_bytes()].concat()), "and so is its size");
    let told = Setup::new(script).connect(&server.address).start().passes();
    let expected = "vp: /accelerator@b000000 at 0xb000000, 2 KiB of registers, interrupt SPI 176: fpga-ai-suite at unix:";
    assert!(told.starts_with(expected), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn a_stream_is_nobodys_memory() {
    if !can_run("a_stream_is_nobodys_memory") {
        return;
    }
    let server = Served::start("tcp:127.0.0.1:0".parse().unwrap(), "fpga-ai-suite-streaming");
    let script = Script::for_suite().say("found\n");
    let told = Setup::new(script).connect(&server.address).start().passes();
    assert!(!told.contains("warning"), "{told}");
}

/// The host program of the examples, for the guest's processor.
fn program(folder: &Path) -> Vec<u8> {
    let path = folder.join("inference");
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../vp-bridge/examples/fpga_ai_suite_guest/inference.c");
    let built = Command::new(Kind::Node.compiler())
        .args(["-Wall", "-Wextra", "-Werror", "-O1", "-static"])
        .arg(source)
        .arg("-o")
        .arg(&path)
        .status();
    assert!(built.expect("the compiler runs").success());
    std::fs::read(path).expect("the program")
}

#[test]
fn a_program_under_linux_runs_inferences_through_the_generic_driver() {
    let test = "a_program_under_linux_runs_inferences_through_the_generic_driver";
    if !linux::can_run(Kind::Node, test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let model = Model::of_network(&digits::network()).unwrap();
    let samples = digits::samples();
    let inputs: Vec<&[i8]> = samples.iter().take(10).map(|sample| &sample.pixels[..]).collect();
    let input = bundle(&Architecture::default(), &model, &inputs).unwrap();
    let files = Kind::Node.initramfs_of(&program(folder.path()), &input);
    let server = Served::at(folder.path(), PLATFORM);
    let options = format!(",connect={},pool=0x80000000:0x1000000", server.address);
    let setup = Setup::kernel(Kind::Node, &files, "node=intel,fpga-ai-suite").plugin(&options);
    let mut machine = setup.start();
    machine.wait_for("PASS");
    assert!(machine.said.contains(&"10 inferences, 10 as expected".to_owned()), "{:?}", machine.said);
}
