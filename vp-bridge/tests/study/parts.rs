//! Studies with a part of the platform in another program.

use crate::studied::{Studied, lines, text};

/// Four points that take little time.
const FOUR: &str = "name = 'four'\n[fixed]\nnetwork = 'digits'\n[sweep]\n'dbb0.read_latency' = [10, 60]\n\
                    'dbb0.read_outstanding' = [8, 256]\n";

/// `vp`, which is a part with the model in it.
const PART: &str = env!("CARGO_BIN_EXE_vp");

#[test]
fn each_point_starts_the_programs_that_are_parts_of_its_platform() {
    let study = Studied::new(FOUR);
    study.shown(&["study.toml"]);
    let inside = study.columns("cycles");
    let device = format!("{PART} attach-device --platform nv_small");
    let outside = ["study.toml", "--jobs", "2", "--device-command", &device];
    study.shown(&outside);
    assert_eq!(study.columns("cycles"), inside);
    // What goes on inside is not seen.
    assert_eq!(study.columns("bound.mac_array_cycles"), ["", "", "", ""]);
    assert!(study.columns("command")[0].ends_with(&format!("--device-command '{device}'")));
    // What is kept is kept of these parts.
    let kept = lines(&study.file("points.jsonl"));
    study.shown(&outside);
    assert_eq!(lines(&study.file("points.jsonl")), kept);
}

#[test]
fn a_part_that_cannot_run_fails_its_point_and_says_which() {
    let study = Studied::new(FOUR);
    let output = study.vp(&["study.toml", "--device-command", "sh -c 'exit 3'"]);
    assert!(!output.status.success());
    let failures = study.columns("failure");
    for (at, failure) in failures.iter().enumerate() {
        let point =
            format!("point {}: the device: `sh -c 'exit 3'` has ended before it was attached", at + 1);
        assert!(failure.starts_with(&point), "{failure}");
    }
    assert_eq!(failures.len(), 4);
    let said = text(&output.stderr);
    assert!(said.contains("point 4: the device: "), "{said}");
}
