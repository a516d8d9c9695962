//! Networks as a user runs them: by name, from a file, from a sheet of layers.

use std::process::{Command, Output};

fn vp(arguments: &[&str]) -> (Output, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).args(arguments).output().expect("vp starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    (output, out, error)
}

#[test]
fn a_network_is_shown_layer_by_layer() {
    let (output, text, error) = vp(&["run", "lenet", "--platform", "nv_small"]);
    assert!(output.status.success(), "{error}");
    for layer in ["conv1", "pool1", "fc2", "probabilities"] {
        assert!(text.lines().any(|line| line.starts_with(layer)), "{layer}: {text}");
    }
    assert!(text.contains("with conv1") && text.contains("CPU"), "{text}");
    assert!(text.contains("frames/s") && text.contains("bound by   "), "{text}");
}

#[test]
fn the_same_network_without_arithmetic_takes_the_same_cycles_and_says_so() {
    let line = |text: &str, of: &str| text.lines().find(|line| line.starts_with(of)).map(str::to_owned);
    let [computed, timed] =
        [&["run", "lenet"][..], &["run", "lenet", "--timed"]].map(|arguments| vp(arguments).1);
    assert_eq!(line(&computed, "time"), line(&timed, "time"));
    assert_eq!(line(&computed, "event hash"), line(&timed, "event hash"));
    assert!(timed.contains("zeros") && !timed.contains("FNV"), "{timed}");
}

#[test]
fn a_sheet_of_layers_is_a_network() {
    let folder = tempfile::tempdir().unwrap();
    let sheet = folder.path().join("two.csv");
    let header = "layer,in_channels,in_height,in_width,out_channels,kernel_height,kernel_width,stride_y,stride_x,\
                  out_height,out_width,pool,pool_height,pool_width,pool_stride_y,pool_stride_x,pooled_height,pooled_width";
    let rows = "a,3,16,16,32,3,3,1,1,16,16,True,2,2,2,2,8,8\nb,32,8,8,16,1,1,1,1,8,8,False,,,,,8,8\nb,24,8,8,16,1,1,1,1,8,8,False,,,,,8,8";
    std::fs::write(&sheet, format!("{header}\n{rows}\n")).unwrap();
    let (output, text, error) = vp(&["run", sheet.to_str().unwrap()]);
    assert!(output.status.success(), "{error}");
    for layer in ["a ", "a pooling", "b ", "b (2)"] {
        assert!(text.lines().any(|line| line.starts_with(layer)), "{layer}: {text}");
    }
    std::fs::write(&sheet, format!("{header}\na,3,x\n")).unwrap();
    let (output, _, error) = vp(&["run", sheet.to_str().unwrap()]);
    assert!(!output.status.success());
    assert!(
        error.contains("line 2: `in_height` is `x`, which is no number")
            || error.contains("line 2: there is no column `in_width`"),
        "{error}"
    );
}

#[test]
fn published_figures_stand_beside_ours_with_a_cause_for_each_that_is_far() {
    let (output, text, error) = vp(&["study", "published", "alexnet", "resnet50"]);
    assert!(output.status.success(), "{error}");
    assert!(text.contains("(their own sum: 1116.8)"), "{text}");
    let rows: Vec<&str> =
        text.lines().filter(|line| line.contains(" DRAM ") || line.contains(" MAC ")).collect();
    assert_eq!(rows.len(), 8 + 54, "{text}");
    for row in rows {
        let percent =
            row.split_whitespace().zip(row.split_whitespace().skip(1)).find(|(_, unit)| *unit == "%");
        let percent: f64 = percent.expect("how far apart").0.parse().expect("a number");
        let cause = row.split("  ").last().expect("a column").trim();
        let told = ["compute", "read bandwidth", "read latency"].iter().all(|bound| cause != *bound);
        assert!(percent.abs() <= 15.0 || told, "{row}");
    }
    let (output, _, error) = vp(&["study", "published", "vgg"]);
    assert!(!output.status.success() && error.contains("alexnet, googlenet, resnet50"), "{error}");
}
