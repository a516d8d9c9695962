//! ONNX models as a user runs them: `networks/digits/digits.onnx`, which is the built-in network of digits.

use crate::common::process::Ended as _;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn digits(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../networks/digits").join(file)
}

fn vp(arguments: &[&str]) -> (Output, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).args(arguments).ended();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    (output, out, error)
}

/// Image of a sample as bytes of ink, and its digit.
fn sample(folder: &TempDir, number: usize) -> (String, u8) {
    let pixels = std::fs::read(digits("samples.i8")).unwrap();
    let labels = std::fs::read(digits("samples.labels.u8")).unwrap();
    let file = folder.path().join(format!("{number}.raw"));
    std::fs::write(&file, &pixels[64 * number..64 * (number + 1)]).unwrap();
    (file.to_str().unwrap().to_owned(), labels[number])
}

fn json(arguments: &[&str]) -> Value {
    let (output, text, error) = vp(&[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{error}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_quantised_model_gives_the_answers_of_the_same_network_by_hand() {
    let (folder, model) = (tempfile::tempdir().unwrap(), digits("digits.onnx"));
    let model = model.to_str().unwrap();
    for platform in ["nv_small", "nv_large"] {
        let by_hand = json(&["run", "digits", "--platform", platform]);
        for number in 0..4 {
            let (input, digit) = sample(&folder, number);
            let found = json(&["run", model, "--platform", platform, "--input", &input]);
            let scores = &found["model_outputs"][0];
            assert_eq!(scores["classes"][0]["class"], digit, "{scores}");
            // The codes of the scores: a step of them is 1.
            let output = folder.path().join("scores");
            let output = output.to_str().unwrap();
            vp(&["run", "digits", "--platform", platform, "--input", &input, "--output", output]);
            let codes: Vec<f64> =
                std::fs::read(output).unwrap().into_iter().map(|code| f64::from(code as i8)).collect();
            let elements: Vec<f64> = scores["elements"]
                .as_array()
                .unwrap()
                .iter()
                .map(|element| element.as_f64().unwrap())
                .collect();
            assert_eq!(elements, codes);
            let cycles = |run: &Value| run["cycles"].as_u64().unwrap();
            assert!(cycles(&found) <= cycles(&by_hand), "{} and {}", cycles(&found), cycles(&by_hand));
        }
    }
}

/// Elements that are brought into the model's order are no node of it.
#[test]
fn nodes_of_the_cpu_are_counted_once() {
    let (folder, model) = (tempfile::tempdir().unwrap(), digits("digits.onnx"));
    let (input, _) = sample(&folder, 0);
    let run = ["run", model.to_str().unwrap(), "--input", &input];
    let all = json(&run)["model_nodes_on_cpu"].as_array().unwrap().len();
    let (_, out, _) = vp(&run);
    let line = out.lines().find(|line| line.starts_with("the CPU's")).unwrap();
    let counts: Vec<usize> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [told, before, within, behind] = counts[..] else { panic!("{line}") };
    assert_eq!([told, before + within + behind], [all; 2], "{line}");
}

#[test]
fn answers_have_names_and_go_into_files() {
    let folder = tempfile::tempdir().unwrap();
    let (input, digit) = sample(&folder, 2);
    let labels = folder.path().join("names.txt");
    std::fs::write(&labels, "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n").unwrap();
    let output = folder.path().join("scores.npy");
    let model = digits("digits.onnx");
    let arguments = [
        "run",
        model.to_str().unwrap(),
        "--input",
        &input,
        "--labels",
        labels.to_str().unwrap(),
        "--output",
        output.to_str().unwrap(),
        "--distance",
    ];
    let (ended, text, error) = vp(&arguments);
    assert!(ended.status.success(), "{error}");
    assert_eq!(digit, 7);
    let answer = text.lines().find(|line| line.ends_with("seven"));
    assert!(answer.is_some_and(|line| line.trim_start().starts_with('7')), "{text}");
    // A distance for each layer, and the answer as NumPy has it.
    assert!(text.lines().any(|line| line.starts_with("conv3") && line.ends_with("exact")), "{text}");
    assert!(text.contains("before and behind it, with layouts and codes, estimated"), "{text}");
    assert!(std::fs::read(&output).unwrap().starts_with(b"\x93NUMPY"));
}

#[test]
fn outputs_are_boxes_of_a_form_or_refused_before_the_run() {
    let (folder, model) = (tempfile::tempdir().unwrap(), folder_with_digits());
    let run = ["run", model.path().join("digits.onnx").to_str().unwrap()].map(str::to_owned);
    let run: Vec<&str> = run.iter().map(String::as_str).collect();
    let (input, _) = sample(&folder, 0);
    let (ended, _, error) = vp(&[&run[..], &["--boxes", "picodet"]].concat());
    assert!(!ended.status.success());
    assert!(error.contains("boxes of form picodet need outputs of"), "{error}");
    assert!(error.contains("the outputs are `scores` of 1x10"), "{error}");
    // The file beside the model counts if none is given. Ten numbers are one box of five classes; no probabilities, though.
    std::fs::write(
        model.path().join("digits.boxes.toml"),
        "form = \"yolov5\"\noutputs = [\"scores\"]\nthreshold = 0.125\n",
    )
    .unwrap();
    let (ended, _, error) = vp(&[&run[..], &["--input", &input]].concat());
    assert!(!ended.status.success());
    assert!(error.contains("a score of 90, and probabilities are at most 1"), "{error}");
    let (input, _) = sample(&folder, 1);
    let (ended, text, error) = vp(&[&run[..], &["--input", &input]].concat());
    assert!(ended.status.success(), "{error}");
    let told = "boxes      0 detections in pixels of the input: form yolov5, scores of at least 0.125";
    assert!(text.lines().any(|line| line == told), "{text}");
    let found = json(&[&run[..], &["--input", &input]].concat());
    assert_eq!(found["model_boxes"].as_array().map(Vec::len), Some(0));
    std::fs::write(model.path().join("digits.boxes.toml"), "form = \"yolov5\"\nanchors = []\n").unwrap();
    let (ended, _, error) = vp(&run);
    assert!(!ended.status.success());
    assert!(error.contains("digits.boxes.toml:2: anchors: form yolov5 has none"), "{error}");
    // It is about a run's answers, and in nobody's way else.
    let (ended, _, error) = vp(&["plan", run[1]]);
    assert!(ended.status.success(), "{error}");
    std::fs::write(model.path().join("digits.boxes.toml"), "form = \"mask\"\n").unwrap();
    let (ended, _, error) = vp(&run);
    assert!(!ended.status.success());
    assert!(error.contains("digits.boxes.toml: boxes of form mask need"), "{error}");
}

/// A folder with the model alone.
fn folder_with_digits() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(digits("digits.onnx"), folder.path().join("digits.onnx")).unwrap();
    folder
}

#[test]
fn a_model_is_planned_and_studied() {
    let model = digits("digits.onnx");
    let (ended, text, error) = vp(&["plan", model.to_str().unwrap(), "--platform", "nv_small"]);
    assert!(ended.status.success(), "{error}");
    assert!(["conv1", "conv3", "fc"].iter().all(|layer| text.contains(layer)), "{text}");
    assert!(text.contains("the CPU's") && text.contains("behind it"), "{text}");
    let plan = json(&["plan", model.to_str().unwrap(), "--platform", "nv_small"]);
    assert!(plan["layers"][0]["nodes"].as_array().unwrap().contains(&"conv1".into()), "{plan}");
    assert!(plan["model_nodes_on_cpu"].is_array(), "{plan}");
    let folder = tempfile::tempdir().unwrap();
    let study = folder.path().join("study.toml");
    let text = format!(
        "name = 's'\n[sweep]\nnetwork = ['{}']\nplatform = ['nv_small', 'nv_large']\n'dbb0.read_latency' = [10, 100]\n",
        model.display()
    );
    std::fs::write(&study, text).unwrap();
    let (ended, text, error) = vp(&["study", study.to_str().unwrap()]);
    assert!(ended.status.success(), "{error}");
    assert!(text.contains("4 points, 0 failed"), "{text}");
}

/// The file is written by a run and read by a compilation.
#[test]
fn ranges_are_kept_in_a_calibration_table() {
    let (folder, model) = (tempfile::tempdir().unwrap(), digits("digits.onnx"));
    let (model, (input, _)) = (model.to_str().unwrap(), sample(&folder, 0));
    let [table, again, loadable] =
        ["ranges.json", "again.json", "digits.nvdla"].map(|name| folder.path().join(name));
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (ended, _, error) = vp(&["run", model, "--input", &input, "--save-calibration", &path(&table)]);
    assert!(ended.status.success(), "{error}");
    let rows: Value = serde_json::from_slice(&std::fs::read(&table).unwrap()).unwrap();
    assert!(
        rows.as_object().unwrap().values().all(|row| row["scale"].is_f64() && row["offset"] == 0.0),
        "{rows}"
    );
    let kept = ["--calibrate", &path(&table), "--save-calibration", &path(&again)];
    let (ended, _, error) = vp(&[&["compile", model, "--output", &path(&loadable)][..], &kept].concat());
    assert!(ended.status.success() && loadable.exists(), "{error}");
    assert_eq!(std::fs::read(&again).unwrap(), std::fs::read(&table).unwrap());
}

#[test]
fn what_is_wrong_is_one_line_with_what_would_be_right() {
    let folder = tempfile::tempdir().unwrap();
    let model = digits("digits.onnx");
    let model = model.to_str().unwrap();
    let broken = folder.path().join("broken.onnx");
    std::fs::write(&broken, &std::fs::read(model).unwrap()[..5000]).unwrap();
    let picture = folder.path().join("two.pgm");
    std::fs::write(&picture, "P2 2 1 255 1 2\n").unwrap();
    let picture = picture.to_str().unwrap();
    let two = folder.path().join("two.npy");
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1, 8, 8), }";
    let header = format!("{header:<117}\n");
    std::fs::write(&two, [&b"\x93NUMPY\x01\x00\x76\x00"[..], header.as_bytes(), &[0; 128]].concat()).unwrap();
    let two = two.to_str().unwrap();
    let table = folder.path().join("table.json");
    std::fs::write(&table, r#"{"x": {"min": 2, "max": 1}}"#).unwrap();
    let table = table.to_str().unwrap();
    for (arguments, told) in [
        (vec![broken.to_str().unwrap()], "this is not an ONNX model"),
        (vec![model, "--input", picture], "--preprocess imagenet"),
        (vec![model, "--shape", "1x3x8"], "the model has 1x1x8x8"),
        (vec![model, "--input", two], "2 samples of 1x1x8x8; a run takes one"),
        (vec![model, "--ranges", "widest"], "expected min-max"),
        (vec![model, "--calibrate", table], "table.json: `x`: `min` is larger than `max`"),
        (vec![model, "--calibrate", table, "--ranges", "entropy"], "a calibration table has the ranges"),
        (vec![model, "--save-calibration", "ranges.txt"], "expected a name that ends with .json"),
        (vec![model, "--calibrate", table, "--save-calibration", table], "--save-calibration"),
        (vec![model, "--precision", "fp16", "--platform", "nv_small"], "nv_full has fp16"),
        (vec![model, "--zeros", "0.5"], "networks whose weights are made up"),
        (vec!["digits", "--distance"], "are for ONNX models"),
    ] {
        let (ended, _, error) = vp(&[&["run"][..], &arguments].concat());
        assert!(!ended.status.success() && error.contains(told), "{arguments:?}: {error}");
    }
}
