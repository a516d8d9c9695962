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

/// Delays the interrupt beyond the time for which the program waits for it.
#[test]
fn a_program_that_does_not_come_to_its_end_differs_in_what_is_missing() {
    let (status, said) = compare(&["--limit", "3 us"], "--memory-command", "--dbb-latency 900");
    assert_eq!(status, Some(1), "{said}");
    has(&said, &["the first that differs", "no more", "wrong: with the part outside: ", "DIFFERENT"]);
}

/// A DRAM's clock, or a rate that moves no whole number of beats a cycle: what the interface sees of both is at its own edges.
#[test]
fn a_memory_with_a_time_between_clock_edges_is_compared_to_the_end() {
    let trace = root().join("traces/nv_small/sdp_prelu_5x7x13");
    let trace = trace.to_str().unwrap();
    for setting in ["dbb0.dram.standard=LPDDR4-3200", "dbb0.dram.standard=DDR4-2400R", "dbb0.bandwidth=3GB/s"]
    {
        let arguments = [trace, "--cycles", "--set", setting];
        for (option, part) in
            [("--device-command", String::new()), ("--memory-command", format!("--set {setting}"))]
        {
            let (status, said) = compare(&arguments, option, &part);
            assert_eq!(status, Some(0), "{setting}: {said}");
            has(&said, &["reads at dbb0", "writes at dbb0", "each at the same clock edge", "\n\nEQUAL\n"]);
        }
    }
}

#[test]
fn what_neither_run_ends_is_not_called_equal() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("waits.cfg");
    std::fs::write(
        &trace,
        "reg_write(NVDLA_SDP.S_POINTER_0, 0x0);\nintr_notify(SDP_0, done);\ncheck_nothing(done);\n",
    )
    .unwrap();
    let arguments = [trace.to_str().unwrap(), "--platform", "nv_small", "--limit", "3 us"];
    let (status, said) = compare(&arguments, "--device-command", "");
    assert_eq!(status, Some(1), "{said}");
    has(&said, &["EQUAL so far: neither run came to its end"]);
}

#[test]
fn without_a_part_there_is_nothing_to_compare() {
    let output = Command::new(VP).arg("compare").ended();
    assert_eq!(output.status.code(), Some(2));
    has(&text(&output.stderr), &["there is nothing to compare", "--device-command COMMAND"]);
}
