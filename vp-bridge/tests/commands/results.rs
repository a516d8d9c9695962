//! Results for other programs: what `--json`, `--csv` and `--junit` give, and that docs/commands.md has the names.

use crate::common::process::Ended as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use vp_host::Bound;

fn vp(arguments: &[&str]) -> Output {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    Command::new(env!("CARGO_BIN_EXE_vp")).args(arguments).current_dir(traces).ended()
}

fn json(arguments: &[&str]) -> Value {
    let output = vp(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON and nothing else")
}

/// The names of an object and of the objects in it; counters have their own page.
fn names(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(all) => {
            for (name, value) in all.iter().filter(|(name, _)| *name != "counters") {
                into.push(name.clone());
                names(value, into);
            }
        }
        Value::Array(all) => all.iter().for_each(|value| names(value, into)),
        _ => {}
    }
}

#[test]
fn every_name_is_documented() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/commands.md")).unwrap();
    let (_, section) = page.split_once("## Results for other programs").expect("the section");
    let section = section.split("\n## ").next().unwrap();
    let commands: [&[&str]; 7] = [
        &["run", "--json"],
        &["run", "lenet", "--timed", "--json"],
        &["run", "networks/digits/job.toml", "--json"],
        &["demo", "--images", "4", "--json"],
        &["platform", "list", "--json"],
        &["platform", "describe", "nv_small", "--json"],
        &["study", "published", "alexnet", "--json"],
    ];
    for command in commands {
        let mut found = Vec::new();
        names(&json(command), &mut found);
        assert!(found.len() > 3, "{command:?}");
        for name in found {
            assert!(
                section.contains(&format!("`{name}`")),
                "{command:?}: `{name}` is not in docs/commands.md"
            );
        }
    }
}

#[test]
fn what_cannot_be_run_is_told_in_json_as_well() {
    let output = vp(&["run", "nothing.toml", "--json"]);
    let error = "nothing.toml: there is no such file or folder";
    assert!(!output.status.success());
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert_eq!((&told["error"], &told["is_connection"]), (&error.into(), &false.into()));
    assert!(told["hint"].as_str().is_some_and(|hint| hint.contains(".cfg")), "{told}");
    assert!(String::from_utf8_lossy(&output.stderr).contains(error), "{output:?}");
}

#[test]
fn a_network_has_the_figures_of_its_table() {
    let ran = json(&["run", "lenet", "--timed", "--json"]);
    let layers = ran["layers"].as_array().unwrap();
    assert_eq!(ran["network"], "lenet");
    let sum = |name: &str| layers.iter().filter_map(|layer| layer[name].as_u64()).sum::<u64>();
    assert!(ran["cycles"].as_u64().unwrap() > 10_000 && sum("cycles") == ran["cycles"].as_u64().unwrap());
    let bounded: u64 = Bound::ALL.iter().map(|bound| sum(&format!("bound.{}_cycles", bound.key()))).sum();
    assert_eq!(bounded, sum("cycles"));
    assert_eq!(ran["counters"]["events.hash"], ran["event_hash"]);
}

#[test]
fn traces_that_fail_are_counted_in_each_form() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("nv_small/bad");
    fs::create_dir_all(&bad).unwrap();
    fs::write(bad.join("bad.cfg"), "reg_write(NVDLA_NOT.A_REGISTER, 1);\ncheck_nothing(done);\n").unwrap();
    let [csv, junit] = ["t.csv", "t.xml"].map(|name| folder.path().join(name));
    let [bad, csv_text, junit_text] = [&bad, &csv, &junit].map(|path| path.to_str().unwrap());
    let good = "traces/nv_small/sdp_prelu_5x7x13";
    let output = vp(&["run", good, bad, "--json", "--csv", csv_text, "--junit", junit_text]);
    assert_eq!(output.status.code(), Some(1));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told["passed"], &told["failed"], &told["not_run"]), (&1.into(), &1.into(), &0.into()));
    assert_eq!((&told["runs"][0]["result"], &told["runs"][1]["result"]), (&"passed".into(), &"error".into()));
    assert!(told["runs"][1]["error"].as_str().unwrap().contains("bad.cfg"), "{told}");

    let mut table = csv::Reader::from_path(&csv).unwrap();
    let header = table.headers().unwrap().clone();
    assert_eq!(header.iter().take(4).collect::<Vec<_>>(), ["trace", "platform", "result", "cycles"]);
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0][3], told["runs"][0]["cycles"].to_string());

    let report = fs::read_to_string(&junit).unwrap();
    assert!(
        report.contains(r#"<testsuite name="nv_small" tests="2" skipped="0" errors="1" failures="0">"#),
        "{report}"
    );
    assert!(report.contains("sdp_prelu_5x7x13") && report.contains("bad.cfg"), "{report}");
}

#[test]
fn a_network_that_cannot_be_run_is_an_error_in_junit() {
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("t.xml");
    let junit_text = junit.to_str().unwrap();
    let arguments =
        ["run", "lenet", "--platform", "nv_small", "--placement", "activations", "--junit", junit_text];
    assert!(!vp(&arguments).status.success());
    let report = fs::read_to_string(&junit).unwrap();
    assert!(report.contains(r#"errors="1""#) && report.contains("<error message="), "{report}");
}

#[test]
fn what_no_other_program_can_be_told_is_refused() {
    let output = vp(&["run", "networks/digits/job.toml", "--csv", "/dev/null"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        said,
        "error: --csv and --junit are for traces, and for networks on NVDLA; --json is for all\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.cfg");
    fs::write(&trace, "check_nothing(done);\n").unwrap();
    let trace = trace.to_str().unwrap();
    for (options, both) in [
        (vec!["run", trace, "--csv", trace], "--csv and TRACE"),
        (vec!["run", "--csv", "same", "--junit", "./same"], "--csv and --junit"),
        (vec!["run", "--trace", "same.vcd", "--csv", "same.vcd"], "--csv and --trace"),
        (vec!["run", "lenet", "--output", "same", "--junit", "same"], "--output and --junit"),
    ] {
        let said = String::from_utf8_lossy(&vp(&options).stderr).into_owned();
        assert!(said.starts_with(&format!("error: {both} both name ")), "{said}");
    }
    assert_eq!(fs::read_to_string(trace).unwrap(), "check_nothing(done);\n");
    let output = vp(&["run", "traces/nv_small/sdp_prelu_5x7x13", "--junit", "no/such/t.xml"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: cannot write no/such/t.xml: "));
}
