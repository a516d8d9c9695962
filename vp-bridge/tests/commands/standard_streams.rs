//! `-` in place of a file: standard input and output, and where they are refused.

use crate::common::process::Ended as _;
use std::path::Path;
use std::process::{Command, Output};

const NETWORK: &str = "name = 'mine'\nseed = 1\ninput = { width = 8, height = 8, channels = 8 }\n\n[[layer]]\n\
                       name = 'first'\nkind = 'convolution'\nkernels = 8\nkernel = [1, 1]\n";

/// Runs a command with this text at its standard input; returns its end, and what it prints.
fn given(input: &str, arguments: &[&str]) -> (Output, String, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("input"), input).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" < input", env!("CARGO_BIN_EXE_vp")]).args(arguments);
    let output = command.current_dir(folder.path()).ended();
    assert!(!folder.path().join("-").exists(), "a file named `-`: {arguments:?}");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    (output, out, error)
}

#[test]
fn a_network_and_a_platform_are_read_from_standard_input() {
    let (output, text, error) = given(NETWORK, &["run", "-", "--platform", "nv_small"]);
    assert!(output.status.success() && text.contains("mine · 8x8x8"), "{text}{error}");
    let (_, _, error) = given(&format!("{NETWORK}kernal = 3\n"), &["run", "-"]);
    assert!(error.contains("error: -:10: layer 1 `first`: unknown field `kernal`"), "{error}");
    let timed = "[[layer]]\nname = 'c'\nkind = 'activation'\nfunction = 'relu'\ncycles = 9\n";
    let (_, _, error) = given(&format!("{NETWORK}{timed}"), &["run", "-"]);
    assert!(error.contains("mine has no inputs"), "on the other device: {error}");
    let platform = Command::new(env!("CARGO_BIN_EXE_vp")).args(["platform", "print", "nv_small"]).ended();
    let platform = String::from_utf8(platform.stdout).unwrap();
    let (output, _, error) = given(&platform, &["platform", "check", "-"]);
    assert!(output.status.success(), "{error}");
    let (_, _, error) =
        given(&platform.replace("[nvdla]", "[nvdla]\ncbuf_bank = 3"), &["run", "--platform", "-"]);
    assert!(error.contains("error: -:") && error.contains("cbuf_bank"), "{error}");
}

#[test]
fn results_alone_go_to_standard_output() {
    let run = |more: &[&str]| given("", &[&["run", "lenet", "--timed"], more].concat());
    let (output, table, error) = run(&["--csv", "-"]);
    assert!(output.status.success() && table.starts_with("layer,name,"), "{table}{error}");
    assert!(table.lines().all(|line| line.contains(',')), "{table}");
    let (_, cases, _) = run(&["--junit", "-"]);
    assert!(cases.starts_with("<?xml"), "{cases}");
    let (_, elements, _) = run(&["--output", "-"]);
    assert_eq!(elements.len(), 10);
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/nv_small");
    let (_, table, _) = given("", &["run", trace.to_str().unwrap(), "--csv", "-"]);
    assert!(table.starts_with("trace,platform,") && !table.contains("passed, 0 failed"), "{table}");
}

#[test]
fn standard_streams_are_refused_where_they_cannot_be() {
    for (input, arguments, told) in [
        ("", &["run", "lenet", "--json", "--csv", "-"][..], "--json: another option has standard output"),
        ("", &["run", "lenet", "--junit", "-", "--csv", "-"], "both name -: each needs a file of its own"),
        (NETWORK, &["run", "-", "--platform", "-"], "standard input is read for another option: name a file"),
        ("graph = 'g.toml'\ninputs = 'i'\n", &["run", "-"], "a job names files beside it"),
        ("a = 1\n", &["run", "-"], "-: nothing that can be run"),
        ("", &["run", "--trace", "-"], "standard input and output are not possible here: name a file"),
        ("", &["run", "--record", "-"], "standard input and output are not possible here: name a file"),
        ("", &["study", "-"], "standard input and output are not possible here: name a file"),
        ("", &["replay", "-"], "standard input and output are not possible here: name a file"),
    ] {
        let (output, _, error) = given(input, arguments);
        assert!(!output.status.success() && error.contains(told), "{arguments:?}: {error}");
    }
}
