//! `vp compare`: the same trace on the model and with a part of the platform in another program.

use crate::common::process::Ended as _;
use std::process::{Command, Output};

use crate::common::beside::{VP, root, text};

/// `vp compare` with a part, another `vp`, that is given by its option and the rest of its command.
fn compare(arguments: &[&str], option: &str, part: &str) -> (Option<i32>, String) {
    let command = match option {
        "--memory-command" => format!("dbb0={VP} attach-device --as memory:dbb0 {part}"),
        _ => format!("{VP} attach-device {part}"),
    };
    let output: Output = Command::new(VP).arg("compare").args(arguments).args([option, &command]).ended();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

fn has(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn the_model_in_another_process_transfers_the_same_at_the_same_edges() {
    let traces = root().join("traces/nv_small");
    let traces = traces.to_str().unwrap();
    let (status, said) = compare(&[traces, "--cycles"], "--device-command", "");
    assert_eq!(status, Some(0), "{said}");
    has(&said, &["12 equal, 0 different", "reads at dbb0", "levels at irq0", "accesses at csb0"]);
    let (status, said) = compare(&["--cycles"], "--memory-command", "");
    assert_eq!(status, Some(0), "{said}");
    has(&said, &["dbb0 (its memory)", "each at the same clock edge"]);
}

/// With the arithmetic left out the device writes zeros.
#[test]
fn the_first_byte_that_differs_is_named_with_what_was_before() {
    let (status, said) = compare(&[], "--device-command", "--set arithmetic=skipped");
    assert_eq!(status, Some(1), "{said}");
    has(
        &said,
        &[
            "write with id 2 at dbb0, number 1 of these, the first that differs",
            "0x80020000, 1 beat; beat 1 at edge",
            ": 0000000000000000, last",
            "from byte 0 of the beat on: ",
            "before it  in both, the last at each port",
            "(access, csb0)",
            "wrong: with the part outside: ",
            "DIFFERENT",
        ],
    );
    // Nothing is wrong with its times.
    has(&said, &["before it each was at the same clock edge"]);
}

#[test]
fn another_latency_differs_where_times_count() {
    let (status, said) = compare(&[], "--memory-command", "--dbb-latency 60");
    assert_eq!(status, Some(0), "{said}");
    has(&said, &["transactions at other clock edges", "read with id 1 at dbb0", "with the part outside (+"]);
    let (status, said) = compare(&["--cycles"], "--memory-command", "--dbb-latency 60");
    assert_eq!(status, Some(1), "{said}");
}

/// Here the interrupt comes later than the program waits for it.
#[test]
fn a_program_that_does_not_come_to_its_end_differs_in_what_is_missing() {
    let (status, said) = compare(&["--limit", "3 us"], "--memory-command", "--dbb-latency 900");
    assert_eq!(status, Some(1), "{said}");
    has(&said, &["the first that differs", "no more", "wrong: with the part outside: ", "DIFFERENT"]);
}

#[test]
fn without_a_part_there_is_nothing_to_compare() {
    let output = Command::new(VP).arg("compare").ended();
    assert_eq!(output.status.code(), Some(2));
    has(&text(&output.stderr), &["there is nothing to compare", "--device-command COMMAND"]);
}
