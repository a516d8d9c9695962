//! Register programs near legal ones, on every built-in platform: none panics, and none keeps simulated time from moving on.

use std::io::Write as _;
use vp_models::platform::Description;
use vp_tests::effort::cases;
use vp_tests::mutation::watched;

/// Programs for each platform, each of some hundred writes; `VP_TEST_EFFORT` multiplies them.
const PROGRAMS: u32 = 600;

/// First of the seeds: `PROPTEST_RNG_SEED`, as for the other random tests, or 0.
fn first_seed() -> u64 {
    std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

fn programs_are_survived(platforms: &[&'static str]) {
    let (mut writes, first) = (0, first_seed());
    for platform in platforms {
        writes += watched(platform, first..first + u64::from(cases(PROGRAMS)));
        // Beside the captured output: a long search is watched.
        let _ = writeln!(std::io::stderr(), "{platform}: {writes} writes in all");
    }
    assert!(writes > 0);
}

#[test]
fn programs_near_legal_ones_are_survived_by_every_nvdla() {
    programs_are_survived(Description::NAMES);
}

#[test]
fn inferences_near_legal_ones_are_survived_by_every_fpga_ai_suite_ip() {
    programs_are_survived(Description::OTHER_NAMES);
}
