//! `vp loadable` as a user types it: shown, compared, converted, and made a trace.

use crate::common::process::Ended as _;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Max pooling of 2 x 2 over 4 x 4 x 32 for memory atoms of 8 bytes, in cubes of 28 bytes.
fn pooling() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/loadables/pool_small_fbuf")
}

/// The exit status, what was printed, and what was told beside it.
fn vp(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).args(arguments).ended();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn loadable(arguments: &[&str]) -> (Option<i32>, String, String) {
    vp(&[&["loadable"], arguments].concat())
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }
}

#[test]
fn a_loadable_is_shown_in_tables_and_as_json() {
    let file = pooling();
    let file = file.to_str().unwrap();
    let (status, text, _) = loadable(&["show", file]);
    assert_eq!(status, Some(0), "{text}");
    for line in [
        "cubes      28 bytes (0.11)",
        "fits       nv_small, nv_small_256, nv_small_256_full",
        "0  PDP   int8    max 2x2, stride 2x2",
        "0  source       memory 4",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let (_, json, _) = loadable(&["show", file, "--json"]);
    let told: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(told["tasks"][0]["operations"][0]["does"], "max 2x2, stride 2x2");
    assert_eq!(told["memories"].as_array().map(Vec::len), Some(6));
}

#[test]
fn a_converted_loadable_leaves_the_same_and_differs_in_versions_only() {
    let folder = Folder::new();
    let (file, there, back) = (pooling(), folder.path("there.nvdla"), folder.path("back.nvdla"));
    let file = file.to_str().unwrap();
    assert_eq!(loadable(&["convert", file, "-o", &there, "--interface", "0.12"]).0, Some(0));
    assert_eq!(loadable(&["convert", &there, "-o", &back, "--interface", "0.11"]).0, Some(0));
    let input = folder.path("in.raw");
    fs::write(&input, (0..=255).cycle().take(512).collect::<Vec<u8>>()).unwrap();
    let outputs = [file, &there, &back].map(|file| {
        let output = folder.path("out.raw");
        let run = vp(&["run", file, "--platform", "nv_small", "--input", &input, "--output", &output]);
        assert_eq!(run.0, Some(0), "{run:?}");
        fs::read(output).unwrap()
    });
    assert!(outputs[0].iter().any(|byte| *byte != 0));
    assert_eq!((&outputs[1], &outputs[2]), (&outputs[0], &outputs[0]));
    let (status, text, _) = loadable(&["diff", file, &there]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.ends_with("DIFFERENT\n") && !text.contains("operations"), "{text}");
    let (status, json, _) = loadable(&["diff", file, &there, "--json"]);
    let told: Value = serde_json::from_str(&json).unwrap();
    let parts: Vec<&Value> =
        told["differences"].as_array().unwrap().iter().map(|found| &found["part"]).collect();
    assert_eq!(
        (status, &told["equal"], parts),
        (Some(1), &Value::Bool(false), vec![&Value::from("versions")])
    );
    assert_eq!(loadable(&["diff", file, file]), (Some(0), "EQUAL\n".to_owned(), String::new()));
}

#[test]
fn what_is_no_loadable_is_refused_in_one_line_and_leaves_no_file() {
    let folder = Folder::new();
    let (bad, out) = (folder.path("bad.nvdla"), folder.path("out.nvdla"));
    let whole = fs::read(pooling()).unwrap();
    for bytes in [&b"nothing"[..], &whole[..100], &[]] {
        fs::write(&bad, bytes).unwrap();
        for arguments in [
            &["show", &bad][..],
            &["convert", &bad, "-o", &out, "--interface", "0.12"],
            &["trace", &bad, "-o", &out],
        ] {
            let (status, text, error) = loadable(arguments);
            assert_eq!((status, text.as_str()), (Some(1), ""), "{error}");
            assert!(error.lines().count() == 1 && error.contains("not an NVDLA loadable"), "{error}");
        }
        assert_eq!(loadable(&["diff", &bad, &bad]).0, Some(2));
        assert!(!Path::new(&out).exists());
    }
    let (status, _, error) = loadable(&["convert", &bad, "-o", &out, "--interface", "0.13"]);
    assert_eq!(status, Some(2), "{error}");
    assert!(error.contains("expected 0.11"), "{error}");
}

#[test]
fn a_trace_of_a_loadable_passes_in_both_languages() {
    let folder = Folder::new();
    let (file, input) = (pooling(), folder.path("in.raw"));
    fs::write(&input, (0..=255).cycle().take(512).collect::<Vec<u8>>()).unwrap();
    for (format, script) in [("cfg", "pool_small_fbuf.cfg"), ("txn", "input.txn")] {
        let out = folder.path(format);
        let made = ["trace", file.to_str().unwrap(), "-o", &out, "--format", format, "--input", &input];
        let (status, text, error) = loadable(&made);
        assert_eq!(status, Some(0), "{error}");
        let script = Path::new(&out).join(script);
        let run = text.lines().last().unwrap().strip_prefix("vp ").unwrap();
        assert_eq!(run, format!("run {} --platform nv_small", script.display()));
        let played = vp(&run.split(' ').collect::<Vec<_>>());
        assert_eq!(played.0, Some(0), "{played:?}");
        assert!(played.1.ends_with("PASS\n"), "{}", played.1);
        // A second time the folder is not empty.
        let (status, _, error) = loadable(&made);
        assert!(status == Some(1) && error.contains("is there, and not empty"), "{error}");
    }
}
