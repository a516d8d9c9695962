//! `vp demo`, as it is called: on a platform of its own and on a server's.

use crate::common::Served;
use crate::common::process::Ended as _;
use std::process::{Command, Output};

fn demo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vp")).arg("demo").args(arguments).ended()
}

/// Text that a demo shows, without what it says of the platform; it must succeed.
fn shown(arguments: &[&str]) -> String {
    let output = demo(arguments);
    let (shown, errors) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {errors}");
    let (_, shown) = shown.split_once('\n').unwrap();
    shown.to_owned()
}

fn told(arguments: &[&str]) -> String {
    let output = demo(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The number that follows this word.
fn number(shown: &str, after: &str) -> u64 {
    let (_, rest) = shown.split_once(after).unwrap_or_else(|| panic!("no `{after}` in:\n{shown}"));
    let digits = rest.trim_start().chars().take_while(|it| it.is_ascii_digit() || *it == ' ');
    digits.filter(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[test]
fn it_shows_images_accuracy_time_traffic_layers_and_units() {
    let shown = shown(&["--images", "12"]);
    for part in
        ["digits · 8x8x1 images", "accuracy", "of 12 images", "an image (", "event hash", "conv2", "between"]
    {
        assert!(shown.contains(part), "no `{part}` in:\n{shown}");
    }
    for part in ["█", "▄", "▀", "CDMA", "SDP", "PDP"] {
        assert!(shown.contains(part), "no `{part}` in:\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "colours, and no terminal:\n{shown}");
    assert!(number(&shown, "read ") > 0 && number(&shown, "written ") > 0);
}

#[test]
fn it_takes_longer_with_slower_memory() {
    let cycles = |latency| number(&shown(&["--images", "2", "--dbb-latency", latency]), "time ");
    assert!(cycles("10") < cycles("500"));
}

#[test]
fn a_servers_platform_gives_the_same_run() {
    let served = Served::tcp();
    let address = served.address.to_string();
    let here = shown(&["--images", "4"]);
    assert_eq!(shown(&["--images", "4", "--connect", &address]), here);
    assert_eq!(shown(&["--images", "4", "--connect", &address, "--own-memory"]), here);
}

#[test]
fn how_a_servers_time_moves_is_said() {
    let served = Served::tcp();
    let address = served.address.to_string();
    let headline = |arguments: &[&str]| {
        let output = demo(&[&["--images", "1", "--connect", &address], arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().next().unwrap().to_owned()
    };
    assert!(headline(&[]).ends_with(", lockstep"), "{}", headline(&[]));
    let free = headline(&["--time-mode", "free"]);
    assert!(free.ends_with(", free mode, in which times differ from run to run"), "{free}");
    assert!(told(&["--time-mode", "free"]).contains("--connect"));
}

#[test]
fn it_runs_on_any_platform() {
    assert!(shown(&["--images", "2", "--platform", "nv_full"]).contains("accuracy"));
}

#[test]
fn what_is_wrong_is_told() {
    assert_eq!(told(&["--images", "0"]), "error: --images 0: there are 360 samples\n       1 to 360\n");
    assert!(told(&["--images", "2000"]).contains("there are 360 samples"));
    assert!(told(&["--images", "some"]).contains("invalid value 'some' for '--images <N>'"));
    assert!(told(&["--platform", "nv_tiny"]).contains("nv_tiny"));
    assert!(told(&["--outstanding", "0"]).contains("outstanding"));
    let both = told(&["--platform", "nv_full", "--connect", "tcp:127.0.0.1:1"]);
    assert!(both.contains("--platform is the server's to say"), "{both}");
}

/// Runs depend on nothing but their inputs: what the README shows of it is what anyone sees, to the hash of all events. It
/// shows no other command's output.
#[test]
fn the_readme_shows_what_it_prints() {
    let readme = include_str!("../../../README.md");
    let printed = String::from_utf8(demo(&[]).stdout).unwrap();
    let begins = printed.split_once("\n\nlayer ").expect("a table of layers").0;
    assert!(readme.contains(&format!("\n```\n{begins}\n…\n```\n")), "put this into README.md:\n{begins}");
}
