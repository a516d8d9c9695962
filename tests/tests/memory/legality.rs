//! The model's commands under random requests, judged by the standards.
//!
//! `VP_TEST_EFFORT=50` judges ten million commands of each standard.

use std::collections::BTreeSet;
use vp_models::memory::dram::CommandKind::{self, *};
use vp_models::memory::dram::Grade;
use vp_tests::dram_legality::configurations::of;
use vp_tests::dram_legality::judge;
use vp_tests::dram_legality::standards::GRADES;
use vp_tests::effort::cases;

/// Commands of a standard, over all its configurations.
const COMMANDS: u32 = 200_000;

/// A grade without a sheet of its own would be judged by nothing.
#[test]
fn every_grade_has_a_sheet() {
    let judged = GRADES.iter().flat_map(|(_, grades)| grades.iter().copied());
    let all = Grade::all().map(Grade::name);
    assert_eq!(judged.collect::<BTreeSet<_>>(), all.collect::<BTreeSet<_>>());
}

/// Judges a standard's configurations; all these kinds of commands must be among what they gave.
fn judge_standard(standard: &str, kinds: &[CommandKind]) {
    let configurations = of(standard);
    let each = u64::from(cases(COMMANDS)) / configurations.len() as u64;
    let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut illegal = Vec::new();
    let mut given = vec![0; kinds.len()];
    for (settings, number) in configurations.iter().zip(0..) {
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let judged = judge(&settings, seed + number * 1000, each);
        assert!(judged.total() >= each, "{settings:?}: {judged}");
        given.iter_mut().zip(kinds).for_each(|(sum, kind)| *sum += judged.of(*kind));
        if judged.violated > 0 {
            illegal.push(format!("{settings:?}: {judged}"));
        }
    }
    assert!(illegal.is_empty(), "{}", illegal.join("\n"));
    for (kind, given) in kinds.iter().zip(given) {
        assert!(given > 0, "{standard}: no {}", kind.name());
    }
}

/// Kinds that every standard has.
const ACCESS: [CommandKind; 8] =
    [Activate, Read, ReadPrecharge, Write, WritePrecharge, Precharge, PrechargeAll, Refresh];

/// Kinds that every standard has whose pseudo channels do not rest together.
const COMMON: [CommandKind; 12] = [
    Activate,
    Read,
    ReadPrecharge,
    Write,
    WritePrecharge,
    Precharge,
    PrechargeAll,
    Refresh,
    PowerDownEntry,
    PowerDownExit,
    SelfRefreshEntry,
    SelfRefreshExit,
];

#[test]
fn commands_of_ddr4_are_legal() {
    judge_standard("DDR4", &COMMON);
}

#[test]
fn commands_of_ddr5_are_legal() {
    judge_standard("DDR5", &[&COMMON[..], &[RefreshBank]].concat());
}

#[test]
fn commands_of_lpddr4_are_legal() {
    judge_standard("LPDDR4", &[&COMMON[..], &[RefreshBank]].concat());
}

#[test]
fn commands_of_lpddr5_are_legal() {
    judge_standard("LPDDR5", &[&COMMON[..], &[RefreshBank, Sync]].concat());
}

#[test]
fn commands_of_hbm2_are_legal() {
    judge_standard("HBM2", &[&ACCESS[..], &[RefreshBank]].concat());
}

#[test]
fn commands_of_hbm3_are_legal() {
    judge_standard("HBM3", &[&ACCESS[..], &[RefreshBank]].concat());
}

#[test]
fn commands_of_gddr6_are_legal() {
    judge_standard("GDDR6", &[&COMMON[..], &[RefreshBank]].concat());
}
