//! Logs of memories, beside the waveform and the counters of the same run.

use crate::common::{Ran, Waves, at, high, number, read_fst, run_with, trace};
use std::fs;
use std::path::Path;
use vp_models::memory::{CommandForm, RequestForm};
use vp_observers::{CommandFile, Files, RequestFile};

/// A run behind a DRAM, with its waveform, its commands and its bursts.
fn logged(folder: &Path, grade: &str) -> (Ran, Waves, Vec<Vec<String>>) {
    let path = |name: &str| folder.join(name);
    let commands = Some(CommandFile { path: path("commands.csv"), form: CommandForm::Vp });
    let requests =
        Some(RequestFile { path: path("requests"), form: RequestForm::Vp, memory: "dbb0".to_owned() });
    let files = Files { commands, requests, ..trace(path("run.fst"), None, None) };
    let ran = run_with(&[&format!("dbb0.dram.standard={grade}")], &files);
    assert!(ran.finished.errors.is_empty() && ran.finished.notes.is_empty(), "{:?}", ran.finished);
    let log = fs::read_to_string(path("commands.csv")).unwrap();
    let rows = log.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect();
    (ran, read_fst(&path("run.fst")), rows)
}

#[test]
fn commands_of_the_log_are_in_the_waveform_with_their_places_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (ran, waves, rows) = logged(folder.path(), "DDR4-2400R");
    assert!(rows.len() > 100);
    for name in ["ACT", "RD", "WR"] {
        let logged = rows.iter().filter(|row| row[10] == name).count() as u64;
        assert_eq!(logged, ran.count(&format!("dbb0.dram0.command.{name}")), "{name}");
    }
    for row in &rows {
        let time: u64 = row[1].parse().unwrap();
        let signal = |name: &str| at(&waves, &format!("nv_small.dbb0.dram0.command.{name}"), time);
        assert_eq!((signal("valid").as_str(), signal("event")), ("1", row[10].clone()), "at {time}");
        // Four banks a group.
        if let (Ok(group), Ok(bank)) = (row[6].parse::<u64>(), row[7].parse::<u64>()) {
            assert_eq!(number(&signal("bank")), 4 * group + bank, "at {time}");
        }
        for (place, name) in [(8, "row"), (9, "column")] {
            if !row[place].is_empty() {
                assert_eq!(number(&signal(name)).to_string(), row[place], "{name} at {time}");
            }
        }
    }
    // Each is there for a clock.
    let clocks = high(&waves, "nv_small.dbb0.dram0.command.valid", ran.end.as_ps()) / 833;
    assert_eq!(clocks, rows.len() as u64);
    let found = &waves["nv_small.dbb0.dram0.event"];
    assert!(found.iter().any(|(_, event)| event == "row_hit"), "{found:?}");
}

#[test]
fn a_row_and_a_column_command_of_one_clock_are_both_in_the_waveform() {
    let folder = tempfile::tempdir().unwrap();
    let (_, waves, rows) = logged(folder.path(), "HBM2E-3200");
    for row in &rows {
        let (time, command) = (row[1].parse().unwrap(), row[10].as_str());
        let bus = if ["RD", "WR"].contains(&command) { "column_bus" } else { "row_bus" };
        let scope = format!("nv_small.dbb0.dram{}.command.{bus}", row[3]);
        assert_eq!(at(&waves, &format!("{scope}.event"), time), command, "at {time}");
    }
}

#[test]
fn the_trace_has_each_burst_of_the_port() {
    let folder = tempfile::tempdir().unwrap();
    let (ran, ..) = logged(folder.path(), "DDR4-2400R");
    let trace = fs::read_to_string(folder.path().join("requests")).unwrap();
    assert!(
        trace.starts_with("# bursts of nv_small at dbb0, in clocks of 833 ps: CLOCK R|W 0xADDRESS [BYTES]\n")
    );
    for (letter, direction) in [("R", "read"), ("W", "write")] {
        let words =
            || trace.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|it| it[1] == letter);
        let bytes: u64 = words().map(|words| words[3].parse::<u64>().unwrap()).sum();
        assert_eq!(words().count() as u64, ran.count(&format!("dbb0.{direction}.bursts")), "{direction}");
        assert_eq!(bytes, ran.count(&format!("dbb0.{direction}.bytes")), "{direction}");
    }
}
