//! `vp compile`: networks and models as loadables, and what is refused.

use crate::common::process::Ended as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn vp(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vp")).args(arguments).current_dir(folder).ended()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(arguments: &[&str], folder: &Path) -> String {
    let output = vp(arguments, folder);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(fs::read_dir(folder).unwrap().filter(is_loadable).count(), 0, "no file is left");
    String::from_utf8(output.stderr).unwrap()
}

fn is_loadable(entry: &std::io::Result<fs::DirEntry>) -> bool {
    entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "nvdla")
}

fn digits_model() -> String {
    format!("{}/../networks/digits/digits.onnx", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_models_loadable_gives_the_models_answers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let samples = format!("{}/../networks/digits/samples.i8", env!("CARGO_MANIFEST_DIR"));
    fs::write(folder.join("digit.i8"), &fs::read(samples).unwrap()[..64]).unwrap();
    let model = digits_model();
    for (interface, platform) in [("0.11", "nv_small"), ("0.12", "nv_small"), ("0.12", "nv_full")] {
        let compile =
            ["compile", &model, "--platform", platform, "--interface", interface, "-o", "digits.nvdla"];
        let input = ["--input", "digit.i8", "--write-input", "digit.bin", "--json"];
        let json = printed(&vp(&[&compile[..], &input].concat(), folder));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["interface"], interface);
        assert_eq!(json["outputs"][0]["channels"], 10);
        assert_eq!(json["bytes"], fs::metadata(folder.join("digits.nvdla")).unwrap().len());
        let run =
            ["run", "digits.nvdla", "--platform", platform, "--input", "digit.bin", "--output", "out.i8"];
        printed(&vp(&run, folder));
        // The scores of the model, which reads a 2.
        let scores: Vec<i8> =
            fs::read(folder.join("out.i8")).unwrap().iter().map(|it| it.cast_signed()).collect();
        assert_eq!(scores, [-27, 6, 72, -1, 5, -42, -26, 5, 18, -11], "{platform}, {interface}");
        // As elements, which lie in memory as an image's pixels.
        let dense = ["run", "digits.nvdla", "--platform", platform, "--input", "digit.i8"];
        printed(&vp(&[&dense[..], &["--output", "dense.i8"]].concat(), folder));
        assert_eq!(fs::read(folder.join("dense.i8")).unwrap(), fs::read(folder.join("out.i8")).unwrap());
        let fixed = [&compile[..], &["--input", "digit.i8", "--fix-input"]].concat();
        printed(&vp(&fixed, folder));
        printed(&vp(&["run", "digits.nvdla", "--platform", platform, "--output", "fixed.i8"], folder));
        assert_eq!(fs::read(folder.join("fixed.i8")).unwrap(), fs::read(folder.join("out.i8")).unwrap());
    }
}

#[test]
fn layers_at_the_end_are_the_applications() {
    let folder = tempfile::tempdir().unwrap();
    let shown =
        printed(&vp(&["compile", "lenet", "--platform", "nv_large", "-o", "lenet.nvdla"], folder.path()));
    assert!(shown.contains("behind     the application does `probabilities` (soft-max)\n"), "{shown}");
    let shown = printed(&vp(&["loadable", "show", "lenet.nvdla"], folder.path()));
    assert!(shown.contains("fits       nv_large"), "{shown}");
}

#[test]
fn cubes_that_are_joined_with_gaps_at_the_end_are_outputs_each() {
    let folder = tempfile::tempdir().unwrap();
    let compile = ["compile", "yolov3_tiny", "--input-size", "64x64", "-o", "yolo.nvdla"];
    let shown = printed(&vp(&compile, folder.path()));
    assert!(shown.contains("behind     the application does `outputs` (a concatenation)\n"), "{shown}");
    assert!(shown.contains("\noutput     fine: ") && shown.contains("\noutput     coarse_up: "), "{shown}");
    let told = vp(&["run", "yolo.nvdla", "--output", "boxes.bin"], folder.path());
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(told.starts_with("error: the loadable has 2 outputs, and boxes.bin takes one"), "{told}");
    printed(&vp(&["run", "yolo.nvdla", "--output", "boxes.npz"], folder.path()));
    let archive = fs::read(folder.path().join("boxes.npz")).unwrap();
    for name in ["fine.npy", "coarse_up.npy"] {
        assert!(archive.windows(name.len()).any(|part| part == name.as_bytes()), "{name}");
    }
}

#[test]
fn a_soft_max_of_fp16_is_the_runtimes_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let lenet = format!("{}/../networks/lenet/network.toml", env!("CARGO_MANIFEST_DIR"));
    let unscaled = fs::read_to_string(lenet).unwrap().replace("scale = 0.05", "scale = 1");
    fs::write(folder.join("unscaled.toml"), unscaled).unwrap();
    let on = ["--platform", "nv_full", "--precision", "fp16", "--soft-max", "runtime"];
    let compile = ["compile", "unscaled.toml", "-o", "shares.nvdla"];
    let shown = printed(&vp(&[&compile[..], &on].concat(), folder));
    assert!(shown.contains("CPU        the runtime does the soft-max of probabilities\n"), "{shown}");
    printed(&vp(&["run", "shares.nvdla", "--platform", "nv_full", "--output", "shares.f16"], folder));
    assert_eq!(fs::read(folder.join("shares.f16")).unwrap().len(), 20);
    fs::remove_file(folder.join("shares.nvdla")).unwrap();
    let told = refused(&[&["compile", "lenet", "-o", "f.nvdla"][..], &on].concat(), folder);
    let expected = "error: the soft-max `probabilities` is not the runtime's: it is one with a scale";
    assert!(told.starts_with(expected), "{told}");
}

#[test]
fn what_the_vendors_software_cannot_run_is_named_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let between = "name = 'n'\nseed = 1\ninput = { width = 1, height = 1, channels = 8 }\n\
        [[layer]]\nname = 'one'\nkind = 'convolution'\nkernels = 8\nkernel = [1, 1]\n\
        [[layer]]\nname = 'shares'\nkind = 'soft-max'\nscale = 1\n\
        [[layer]]\nname = 'two'\nkind = 'convolution'\nkernels = 8\nkernel = [1, 1]\n";
    fs::write(folder.join("between.toml"), between).unwrap();
    let told = refused(&["compile", "between.toml", "-o", "between.nvdla"], folder);
    assert!(
        told.starts_with("error: the CPU does `shares` (soft-max), for which the runtime has no task"),
        "{told}"
    );
    let told =
        refused(&["compile", "lenet", "--platform", "nv_large", "--zeros", "0.9", "-o", "z.nvdla"], folder);
    let expected =
        "error: layer `conv1`: the driver takes compressed weights with nv_full's map of registers alone";
    assert!(told.starts_with(expected), "{told}");
    let told = refused(
        &["compile", "lenet", "--precision", "fp16", "--platform", "nv_small", "-o", "f.nvdla"],
        folder,
    );
    assert!(told.contains("nv_small") && told.contains("fp16"), "{told}");
    let told = refused(&["compile", "lenet", "--interface", "0.13", "-o", "f.nvdla"], folder);
    assert!(told.contains("expected 0.11, for cubes without an offset, or 0.12"), "{told}");
    let told = refused(&["compile", "no-such", "-o", "f.nvdla"], folder);
    assert!(told.contains("no-such"), "{told}");
    let told = refused(&["compile", "lenet", "-o", "no-folder/f.nvdla"], folder);
    assert!(told.starts_with("error: cannot write no-folder/f.nvdla"), "{told}");
    let told =
        refused(&["compile", "lenet", "-o", "f.nvdla", "--input", "i", "--write-input", "f.nvdla"], folder);
    assert!(told.contains("--output and --write-input both name f.nvdla"), "{told}");
    fs::write(folder.join("m.onnx"), "a model").unwrap();
    let told = refused(&["compile", "m.onnx", "-o", "m.onnx"], folder);
    assert!(told.contains("NETWORK and --output both name m.onnx"), "{told}");
    let told = refused(&["compile", "lenet", "--fix-input", "-o", "f.nvdla"], folder);
    assert!(told.contains("--input"), "{told}");
}
