//! The vendor's conformance tests of convolutions, SDP, PDP, chains of them, and CDP pass in process, over TCP, and over TCP with
//! the client's memory, and go the same way each time.

use vp_tests::conformance::Test;
use vp_tests::shared;

fn every_test_passes(config: &str) {
    let Some(folder) = shared::folder(&format!("conformance of {config}"), "nvdla/traces") else { return };
    let mut tests = Test::all(&folder);
    tests.retain(|test| test.config == config && test.uses_only(&["SDP", "PDP", "CDP", "CONV"]));
    assert!(!tests.is_empty(), "no test of {config} in {}", folder.display());
    let wrong: Vec<String> = tests.iter().filter_map(|test| test.run_every_way().err()).collect();
    assert!(wrong.is_empty(), "{} of {} failed:\n{}", wrong.len(), tests.len(), wrong.join("\n"));
    let absent = tests.iter().filter(|test| test.needs_absent_hardware).count();
    shared::say(&format!(
        "{config}: {} tests pass; {absent} of absent hardware end with other bytes, as they must",
        tests.len() - absent
    ));
}

#[test]
fn nv_small_leaves_the_vendors_bytes() {
    every_test_passes("nv_small");
}

#[test]
fn nv_small_256_leaves_the_vendors_bytes() {
    every_test_passes("nv_small_256");
}

#[test]
fn nv_small_256_full_leaves_the_vendors_bytes() {
    every_test_passes("nv_small_256_full");
}

#[test]
fn nv_medium_512_leaves_the_vendors_bytes() {
    every_test_passes("nv_medium_512");
}

#[test]
fn nv_medium_1024_full_leaves_the_vendors_bytes() {
    every_test_passes("nv_medium_1024_full");
}

#[test]
fn nv_full_leaves_the_vendors_bytes() {
    every_test_passes("nv_full");
}

#[test]
fn nv_large_leaves_the_vendors_bytes() {
    every_test_passes("nv_large");
}
