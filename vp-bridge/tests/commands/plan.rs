//! `vp plan`: what becomes of layers, without a run.

use crate::common::process::Ended as _;
use serde_json::Value;
use std::process::{Command, Output};

fn vp(arguments: &[&str]) -> (Output, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).args(arguments).ended();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    (output, out, error)
}

fn json(arguments: &[&str]) -> Value {
    let (output, text, error) = vp(&[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{error}");
    serde_json::from_str(&text).unwrap()
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} of {value}"))
}

#[test]
fn each_layer_is_told_with_its_units() {
    let (output, text, error) = vp(&["plan", "lenet", "--platform", "nv_small"]);
    assert!(output.status.success(), "{error}");
    let row = |layer: &str| {
        let row = text.lines().find(|line| line.starts_with(layer)).unwrap_or_else(|| panic!("{text}"));
        row.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("conv1")[1], "conv+SDP+PDP");
    assert_eq!(row("pool1")[1..], ["with", "conv1"]);
    // 500 inputs by 10 kernels, one line of ten kernels.
    assert_eq!(row("fc2")[1..6], ["conv+SDP", "1", "1", "x", "10"]);
    let softmax = row("probabilities");
    assert_eq!(softmax[1], "CPU");
    assert!(softmax.last().unwrap().starts_with('~'), "{softmax:?}");
    assert!(text.contains("by the CPU "), "{text}");
}

/// Parts as they are told and registers as a run writes them: both are of the same steps.
#[test]
fn parts_of_a_convolution_are_all_of_it_and_those_of_its_registers() {
    let given = ["plan", "conv", "--input", "56x56x64", "--kernels", "96", "--kernel", "3x3"];
    for more in [&[][..], &["--stride", "2x2"], &["--padding", "1x1", "--dilation", "2x2"]] {
        let plan = json(&[&given[..], &["--platform", "nv_small", "--registers"], more].concat());
        let layer = &plan["layers"][0];
        let steps = layer["steps"].as_array().unwrap();
        assert_eq!(number(layer, "parts") as usize, steps.len());
        let mut lines_of_kernels = 0;
        for step in steps {
            let written = |name: &str, field: &str| {
                let registers = step["registers"].as_array().unwrap();
                let register = registers.iter().find(|write| write["name"] == name).unwrap();
                let fields = register["fields"].as_array().unwrap().iter().filter_map(Value::as_str);
                let value = fields.filter_map(|told| told.strip_prefix(&format!("{field}="))).next();
                value.map_or(0, |value| value.split(' ').next().unwrap().parse::<u64>().unwrap()) + 1
            };
            assert_eq!(written("D_DATAOUT_SIZE_0", "DATAOUT_HEIGHT"), number(step, "lines"));
            assert_eq!(written("D_DATAOUT_SIZE_1", "DATAOUT_CHANNEL"), number(step, "kernels"));
            assert_eq!(written("D_BANK", "DATA_BANK"), number(step, "data_banks"));
            assert_eq!(written("D_BANK", "WEIGHT_BANK"), number(step, "weight_banks"));
            assert!(number(step, "data_banks") + number(step, "weight_banks") <= 32);
            lines_of_kernels += number(step, "lines") * number(step, "kernels");
        }
        let lines = match more.first() {
            None => 54,
            Some(&"--stride") => 27,
            Some(_) => 54,
        };
        assert_eq!(lines_of_kernels, lines * 96, "{more:?}");
        assert_eq!(number(layer, "cycles"), number(&plan, "cycles"));
    }
}

#[test]
fn estimates_are_near_the_measured_cycles_where_memory_is_fast() {
    let run = json(&["run", "lenet", "--timed", "--platform", "nv_small"]);
    let plan = json(&["plan", "lenet", "--platform", "nv_small"]);
    let [measured, estimated] = [number(&run, "cycles"), number(&plan, "cycles")];
    assert!(estimated.abs_diff(measured) * 4 < measured, "{estimated} of {measured}");
    assert_eq!(number(&run, "cpu_cycles"), number(&plan, "cpu_cycles"));
    // A CPU of twice the clock takes half the time, but for a cycle that is begun.
    let fast = json(&["run", "lenet", "--timed", "--platform", "nv_small", "--cpu", "2GHz,4,4"]);
    assert_eq!(number(&fast, "cpu_cycles"), number(&run, "cpu_cycles").div_ceil(2));
    assert_eq!(run["event_hash"], fast["event_hash"]);
}

#[test]
fn what_cannot_be_planned_is_told() {
    let given = ["--input", "56x56x64", "--kernels", "64", "--kernel", "3x3"];
    for (arguments, told) in [
        (vec!["conv"], "one convolution takes --input, --kernels and --kernel"),
        (
            vec!["conv", "--input", "56x56", "--kernels", "1", "--kernel", "3x3"],
            "write 3 numbers with an x between, such as 56x56x64",
        ),
        ([&["lenet"], &given[..]].concat(), "give one convolution"),
        ([&["conv", "--groups", "3"], &given[..]].concat(), "no multiples of the groups"),
        ([&["conv", "--platform", "fpga-ai-suite"], &given[..]].concat(), "carries no NVDLA"),
        (vec!["nowhere.toml"], "there is no such file or folder"),
        (vec!["lenet", "--platform", "nv_small", "--precision", "fp16"], "lenet cannot run on nv_small"),
        (vec!["lenet", "--cpu", "1GHz"], "is no CPU: write its clock"),
    ] {
        let (output, _, error) = vp(&[&["plan"], &arguments[..]].concat());
        assert!(!output.status.success() && error.contains(told), "{arguments:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
    }
}
