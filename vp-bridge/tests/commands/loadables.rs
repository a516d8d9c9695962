//! `vp run` of loadables as a user types it: on which platform each runs, what is refused, with what it is compared.
//!
//! The files of `data/loadables` are our own: max pooling of 2 x 2 over 4 x 4 x 32, for memory atoms of 8 bytes, with a
//! version as ONNC stamps it (`small`), over 16 channels of halves (`fp16`), and with more windows than fit (`windows`).

use crate::common::process::Ended as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn loadable(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/loadables").join(name)
}

/// The exit status, and what was printed.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).arg("run").args(arguments).ended();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn path(name: &str) -> String {
    loadable(name).to_string_lossy().into_owned()
}

#[test]
fn without_a_platform_a_loadable_runs_where_it_fits_and_the_headline_says_why() {
    for (name, platform, why) in [
        (
            "pool_small_fbuf",
            "nv_small",
            "chosen by name: by its contents (memory atoms of 8 bytes) the loadable fits nv_small_256",
        ),
        (
            "pool_fp16_fbuf",
            "nv_full",
            "chosen by the loadable's contents (memory atoms of 32 bytes and fp16): no other",
        ),
    ] {
        let (status, text) = run(&[&path(name)]);
        assert_eq!(status, Some(0), "{text}");
        let mut lines = text.lines();
        assert!(lines.next().unwrap().starts_with(&format!("{platform} · ")), "{text}");
        assert!(lines.next().unwrap().starts_with(&format!("{platform} is {why}")), "{text}");
    }
}

#[test]
fn a_platform_that_a_loadable_does_not_fit_is_refused_with_those_that_it_fits() {
    for (name, platform, fits) in [
        ("pool_small_fbuf", "nv_medium_512", "it fits nv_small, nv_small_256 and nv_small_256_full"),
        ("pool_fp16_fbuf", "nv_small", "it fits nv_full"),
    ] {
        let (status, text) = run(&[&path(name), "--platform", platform]);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains(&format!("it does not fit {platform}: operation 0 (PDP)")), "{text}");
        assert!(text.contains(fits) && text.ends_with("not supported\n"), "{text}");
        let (_, json) = run(&[&path(name), "--platform", platform, "--json"]);
        assert!(json.contains(r#""result": "not_supported""#), "{json}");
    }
}

#[test]
fn a_layer_that_no_platform_runs_fails_its_loadable() {
    for arguments in [&[][..], &["--platform", "nv_large"]] {
        let windows = path("pool_windows_fbuf");
        let (status, text) = run(&[&[windows.as_str()], arguments].concat());
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains("operation 0 (PDP): layer refused: PDP.D_DATA_CUBE_OUT_WIDTH"), "{text}");
        assert!(text.ends_with("FAIL\n"), "{text}");
    }
}

/// The line stride of `pool_small_fbuf`'s result, which has 2 x 2 pixels of 8 bytes, becomes another one.
#[test]
fn a_loadable_that_contradicts_itself_fails_with_the_reason() {
    let whole = fs::read(loadable("pool_small_fbuf")).unwrap();
    let result = [2, 0, 2, 0, 32, 0, 0, 0, 16, 0, 0, 0, 32, 0, 0, 0];
    let at = whole.windows(result.len()).position(|bytes| bytes == result).expect("its result");
    let folder = tempfile::tempdir().unwrap();
    for (line_stride, told) in [
        (
            8,
            "operation 0 (PDP), destination: a line stride of 8 bytes is shorter than a line of 2 pixels of 8 bytes, which takes 16",
        ),
        (48, "operation 0 (PDP), destination: it takes 256 bytes, and its memory has 128 from there on"),
    ] {
        let mut bytes = whole.clone();
        (bytes[at + 8], bytes[at + 12]) = (line_stride, if line_stride == 48 { 64 } else { 32 });
        let file = folder.path().join("pool.nvdla");
        fs::write(&file, bytes).unwrap();
        for arguments in [&[][..], &["--platform", "nv_small"]] {
            let (status, text) = run(&[&[file.to_str().unwrap()], arguments].concat());
            assert_eq!(status, Some(1), "{text}");
            assert!(text.contains(told) && text.ends_with("FAIL\n"), "{text}");
        }
    }
}

#[test]
fn the_form_of_cubes_is_told_and_so_are_an_outputs_largest_values() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.raw");
    fs::write(&input, (0..=255).cycle().take(512).collect::<Vec<u8>>()).unwrap();
    let (status, text) = run(&[&path("pool_small_fbuf"), "--input", input.to_str().unwrap()]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("firmware interface 1.2.0, data cubes of 28 bytes"), "{text}");
    // Of each surface of 4 x 4 pixels the last pixel of each window: the last channel of the first and third surface has 127.
    assert!(
        text.contains("output     out: 2 x 2 x 32 of int8, the largest by index: 31: 127, 95: 127, "),
        "{text}"
    );
    assert!(text.contains("result     compared with nothing: there is no golden"), "{text}");
}

#[test]
fn frames_follow_each_other_and_are_told() {
    let (status, text) = run(&[&path("pool_small_fbuf"), "--frames", "3"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("frames     3 without a reset: the first takes "), "{text}");
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/nv_small");
    let output =
        Command::new(env!("CARGO_BIN_EXE_vp")).arg("run").arg(traces).args(["--frames", "2"]).ended();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("--frames is for networks on NVDLA, and for loadables")
    );
}

#[test]
fn each_loadable_of_a_checkout_runs_where_it_fits_and_is_compared_with_its_golden() {
    let root = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| {
        let file = root.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    };
    let golden = |folder: &str, [format, channels, line, surface]: [u32; 4], value: u8| {
        let head = [0, format, 2, 2, channels, line, surface, 128].into_iter().flat_map(u32::to_le_bytes);
        let bytes: Vec<u8> = b"DIMG".iter().copied().chain(head).chain([value; 128]).collect();
        put(&format!("golden/{folder}/dla/o_000000.dimg"), &bytes);
    };
    for name in ["pool_small", "pool_fp16"] {
        put(&format!("flatbufs/kmd/POOL/{name}_fbuf"), &fs::read(loadable(&format!("{name}_fbuf"))).unwrap());
    }
    // Of zeros the largest is zero.
    const HALVES: [u32; 4] = [42, 16, 64, 128];
    golden("pool_small_0a1b2c", [41, 32, 16, 32], 0);
    golden("pool_fp16_3d4e5f", HALVES, 0);
    let (status, text) = run(&[root.path().to_str().unwrap()]);
    assert_eq!((status, text.lines().last()), (Some(0), Some("2 passed, 0 failed")), "{text}");
    assert!(text.contains("pool_fp16   nv_full") && text.contains("pool_small  nv_small"), "{text}");
    golden("pool_fp16_3d4e5f", HALVES, 1);
    let (status, text) = run(&[root.path().to_str().unwrap()]);
    assert_eq!((status, text.lines().last()), (Some(1), Some("1 passed, 1 failed")), "{text}");
    assert!(text.contains("primary memory differs from `o_000000.dimg` in 128 bytes"), "{text}");
    // A loadable has no lines.
    assert!(!text.contains(":0:"), "{text}");
}
