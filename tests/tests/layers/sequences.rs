//! Sequences of layers in both register groups leave the bytes that the references and the vendor's RTL leave, and wait where it
//! hangs.

use proptest::prelude::*;
use vp_host::Host as _;
use vp_host::LocalHost;
use vp_host::trace::player::{self, Outcome, PlayOptions};
use vp_host::trace::{Trace, discover};
use vp_models::platform::{Description, Platform};
use vp_tests::effort::cases;
use vp_tests::random::{Draw, Leaves};
use vp_tests::shared;

fn play(trace: &Trace, platform: &str) -> (Outcome, Vec<String>) {
    // Of the tree with the 64-byte entries of nv_large.
    let name = if platform == "nv_large" { "nv_large_master" } else { platform };
    play_on(trace, &Description::named(name).unwrap())
}

fn play_on(trace: &Trace, description: &Description) -> (Outcome, Vec<String>) {
    let mut host = LocalHost::new(Platform::build(description).unwrap());
    let map = host.map();
    let outcome = player::play(trace, &mut host, &map, &PlayOptions::default()).unwrap();
    (outcome, host.warnings().into_iter().map(|warning| warning.text).collect())
}

#[test]
fn sequences_leave_the_bytes_that_the_rtl_leaves() {
    let Some(folder) = shared::folder("sequences on the RTL", "nvdla/rtl-golden/more/sequences/traces")
    else {
        return;
    };
    let (mut played, mut shifted, mut wrong) = (0, 0, Vec::new());
    for source in discover(&folder).unwrap() {
        let trace = Trace::load(&source.script).unwrap();
        let (outcome, warnings) = play(&trace, source.configuration.as_deref().unwrap());
        played += 1;
        shifted += usize::from(warnings.iter().any(|text| text.contains("reads weights shifted")));
        if !outcome.passed() {
            wrong.push(format!("{}: {:?}", outcome.name, outcome.failures));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(played > 20 && shifted > 1, "{played} sequences, {shifted} with weights that are shifted");
    shared::say(&format!("{played} sequences leave the RTL's bytes, {shifted} of them read shifted weights"));
}

/// Each of its layers alone ends on the RTL. The last one's weights fill their bank, of which those before have taken a part until
/// reset; rounded to fewer bytes nothing is lost, and it ends.
#[test]
fn a_sequence_that_has_lost_the_room_for_its_last_weights_waits_as_the_rtl_does() {
    let Some(folder) =
        shared::folder("a sequence that hangs the RTL", "nvdla/rtl-golden/more/sequences/hangs/nv_small")
    else {
        return;
    };
    let sources = discover(&folder).unwrap();
    let source = sources.iter().find(|source| source.script.to_string_lossy().contains("_5042")).unwrap();
    let (outcome, warnings) = play(&Trace::load(&source.script).unwrap(), "nv_small");
    let failures: Vec<String> = outcome.failures.iter().map(ToString::to_string).collect();
    // As `layers.txt` beside it has it.
    assert!(failures.iter().any(|it| it.contains("CACC_1, CDMA_WT_1, SDP_1 never came")), "{failures:?}");
    assert!(warnings.iter().any(|text| text.contains("144 are lost until reset")), "{warnings:?}");
}

/// The last convolution needs all of its bank, of which those before have taken a part until reset: for the eight kernels of its first
/// group, or for all that it keeps. The RTL waits as well (run on nv_small's).
#[test]
fn a_convolution_that_needs_all_of_a_bank_waits_where_a_part_is_lost() {
    for (seed, layers, lost) in [(18_053_921_651_056_398_470, 7, 192), (10_715_091_462_650_820_011, 2, 64)] {
        let mut draw = Draw::new("nv_small", seed);
        let sequence = draw.sequence("drawn", layers, Leaves::Anything);
        let (outcome, warnings) = play_on(&sequence.trace, draw.description());
        assert!(!outcome.passed());
        let expected = format!("take 4096 of 4096 bytes of banks, of which {lost} are lost until reset");
        assert!(warnings.iter().any(|text| text.contains(&expected)), "{warnings:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    /// Of all engines, in turns of the groups, two programmed at a time; each leaves what it would leave alone.
    #[test]
    fn layers_of_all_engines_in_turns_leave_the_references_bytes(
        platform in prop::sample::select(vec!["nv_small", "nv_small_256_full", "nv_large", "nv_full"]),
        seed: u64,
        layers in 2..8usize,
    ) {
        let mut draw = Draw::new(platform, seed);
        let sequence = draw.sequence("drawn", layers, Leaves::WhatIsTaken);
        let (outcome, warnings) = play_on(&sequence.trace, draw.description());
        let what = format!("{:#?}: {:?}", sequence.layers, outcome.failures);
        prop_assert_eq!(warnings, Vec::<String>::new(), "{}", what);
        prop_assert!(outcome.passed(), "{}", what);
    }

    /// Whatever they leave behind in the buffer, all of them end: the weights of none need all of the banks.
    #[test]
    fn layers_that_leave_more_than_is_taken_end(seed: u64, layers in 2..8usize) {
        let mut draw = Draw::new("nv_small", seed);
        let sequence = draw.sequence("drawn", layers, Leaves::Anything);
        let (outcome, warnings) = play_on(&sequence.trace, draw.description());
        let waits = warnings.iter().any(|warning| warning.contains("waits for ever"));
        let ends = outcome.failures.iter().all(|failure| failure.kind.is_of_memory());
        prop_assert!(ends || waits, "{:#?}: {:?} {:?}", sequence.layers, outcome.failures, warnings);
    }
}

/// The trace of a layer, or of layers, with which the RTL does something that the registers do not say.
fn deviation(path: &str) -> Option<(Outcome, Vec<String>)> {
    let folder = shared::folder("layers that stop the RTL", &format!("nvdla/rtl-golden/more/{path}"))?;
    let configuration = folder.parent().and_then(|it| it.file_name()).unwrap().to_string_lossy().into_owned();
    let sources = discover(&folder).unwrap();
    Some(play(&Trace::load(&sources[0].script).unwrap(), &configuration))
}

/// Layers that hang on the RTL wait, with a report of what they wait for and of the rule.
#[test]
fn what_hangs_the_rtl_waits_and_says_why() {
    let operands = ("BRDMA_DATA_USE is 2 (both)", "bs.operands_nobody_takes");
    let pdp = "nvdla.pdp.windows_it_does_not_end";
    for (path, missing, warning, report) in [
        ("deviations/traces/nv_small/sdp_nv_small_2013", "SDP_0", operands.0, operands.1),
        ("deviations/traces/nv_small/sdppdp_nv_small_2013", "PDP_0", operands.0, operands.1),
        ("deviations/traces/nv_small/pdp_nv_small_2003", "PDP_0", "PAD_RIGHT is 2", pdp),
        ("deviations/traces/nv_small/pdp_nv_small_2025", "PDP_0", "PAD_BOTTOM is 4", pdp),
        ("deviations/traces/nv_small/pdp_nv_small_2037", "PDP_0", "PAD_RIGHT is 4", pdp),
        // These end with other bytes on the RTL.
        ("deviations/traces/nv_small/sdppdp_nv_small_2005", "PDP_0", "PAD_BOTTOM is 3", pdp),
        ("deviations/traces/nv_small/sdppdp_nv_small_2033", "PDP_0", "PAD_BOTTOM is 3", pdp),
        ("sequences/hangs/nv_small/hang_nv_small_5053", "SDP_1", "PAD_BOTTOM is 2", pdp),
        ("sequences/hangs/nv_small/hang_nv_small_105035", "PDP_0", "PAD_BOTTOM is 2", pdp),
        ("sequences/hangs/nv_small/hang_nv_small_105053", "SDP_1", "behind layer 11x5x8", pdp),
    ] {
        let Some((outcome, warnings)) = deviation(path) else { return };
        let failures: Vec<String> = outcome.failures.iter().map(ToString::to_string).collect();
        let of_interrupt = failures.iter().find(|it| it.contains("never came")).map_or("", String::as_str);
        assert!(of_interrupt.contains(missing) && of_interrupt.contains(report), "{path}: {failures:?}");
        assert!(warnings.iter().any(|text| text.contains(warning)), "{path}: {warnings:?}");
    }
}

/// Bytes that the RTL leaves otherwise than the registers say are the model's, too. The sums are of what the RTL left.
#[test]
fn what_the_rtl_makes_of_odd_registers_is_the_models() {
    let image = "PIXEL_X_OFFSET is";
    let table = "LUT_LE_START_LOW and its high part say";
    for (path, warning, sum) in [
        ("nv_small/img_nv_small_2011", image, 0x6c32_ae5c),
        ("nv_small/img_nv_small_2013", image, 0xf0dc_b0de),
        ("nv_small/img_nv_small_2017", image, 0xb416_13bf),
        ("nv_small/img_nv_small_2019", image, 0x1150_ce20),
        ("nv_small/img_nv_small_2023", image, 0x9f11_61a9),
        ("nv_small/img_nv_small_2027", image, 0x1bb3_d28a),
        ("nv_small/img_nv_small_2033", image, 0xf89f_d80b),
        ("nv_large/img_nv_large_master_3011", image, 0x738a_417d),
        ("nv_large/img_nv_large_master_3015", image, 0x6054_9984),
        ("nv_small/cdp_nv_small_2019", table, 0x1124_cd13),
        ("nv_large/cdp_nv_large_master_3001", table, 0xdf1f_531c),
    ] {
        let Some((outcome, warnings)) = deviation(&format!("deviations/traces/{path}")) else { return };
        assert_eq!(outcome.sums.iter().map(|it| it.crc).collect::<Vec<_>>(), [sum], "{path}");
        assert!(warnings.iter().any(|text| text.contains(warning)), "{path}: {warnings:?}");
    }
}
