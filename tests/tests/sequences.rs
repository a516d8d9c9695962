//! Sequences of layers in both register groups leave the bytes that the vendor's RTL leaves, and wait where it hangs.

use vp_models::host::Host as _;
use vp_models::host::trace::player::{self, Outcome, PlayOptions};
use vp_models::host::trace::{Trace, discover};
use vp_models::local::LocalHost;
use vp_models::platform::{Description, Platform};
use vp_tests::shared;

fn play(trace: &Trace, platform: &str) -> (Outcome, Vec<String>) {
    // Of the tree with the 64-byte entries of nv_large.
    let name = if platform == "nv_large" { "nv_large_master" } else { platform };
    let description = Description::named(name).unwrap();
    let mut host = LocalHost::new(Platform::build(&description).unwrap());
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

/// Layers that bring both operands and take one of them hang the RTL.
#[test]
fn a_layer_with_operands_that_nobody_takes_waits_as_the_rtl_does() {
    let Some(folder) =
        shared::folder("layers that hang the RTL", "nvdla/rtl-golden/more/deviations/traces/nv_small")
    else {
        return;
    };
    for (name, interrupt) in [("sdp_nv_small_2013", "SDP_0"), ("sdppdp_nv_small_2013", "PDP_0")] {
        let sources = discover(&folder.join(name)).unwrap();
        let (outcome, warnings) = play(&Trace::load(&sources[0].script).unwrap(), "nv_small");
        let failures: Vec<String> = outcome.failures.iter().map(ToString::to_string).collect();
        assert!(failures.iter().any(|it| it.contains(&format!("{interrupt} never came"))), "{failures:?}");
        assert!(failures.iter().any(|it| it.contains("bs.operands_nobody_takes")), "{failures:?}");
        assert!(warnings.iter().any(|text| text.contains("BRDMA_DATA_USE is 2 (both)")), "{warnings:?}");
    }
}
