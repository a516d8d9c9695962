//! Layers whose units are enabled in another order than a driver should use, beside the vendor's RTL.

use vp_host::trace::player::{self, Outcome, PlayOptions};
use vp_host::trace::{Trace, discover};
use vp_host::{Host, LocalHost};
use vp_models::platform::{Description, Platform};
use vp_tests::shared;

/// Plays a trace of a folder of the shared data: what came of it, the device's cycles, and warnings.
fn play(folder: &str) -> Option<(Outcome, u64, Vec<String>)> {
    let folder = shared::folder("layers enabled out of order", folder)?;
    let trace = Trace::load(&discover(&folder).unwrap()[0].script).unwrap();
    let mut host = LocalHost::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap());
    let map = host.map();
    let outcome = player::play(&trace, &mut host, &map, &PlayOptions::default()).unwrap();
    let cycles = host.statistics().unwrap().get("nvdla.cycles").unwrap();
    Some((outcome, cycles, host.warnings().into_iter().map(|warning| warning.text).collect()))
}

const ROWS: &str = "nvdla/rtl-golden/fresh2/deviations/enables_out_of_order";

/// An array of CMAC that is enabled before CSC sends it data, but behind all others, holds up nothing.
#[test]
fn a_convolution_does_not_wait_for_cmac() {
    for (name, rtl) in [("convx_nv_small_91001", 2782), ("convx_nv_small_91006", 3657)] {
        let Some((outcome, cycles, warnings)) = play(&format!("{ROWS}/gap_{name}")) else { return };
        assert!(outcome.passed(), "{name}: {:?}", outcome.failures);
        assert_eq!(cycles, rtl, "{name}: {warnings:?}");
    }
}

/// The RTL leaves other bytes, which are those that the trace checks.
#[test]
fn a_late_enable_of_cacc_and_cmac_is_warned_of() {
    for name in ["gap_convx_nv_small_91004", "gap_par_nv_small_91004"] {
        let Some((outcome, _, warnings)) = play(&format!("{ROWS}/{name}")) else { return };
        assert!(!outcome.passed(), "{name}");
        for rule in [
            "CACC is to be enabled before CSC and CDMA",
            "CMAC_A and CMAC_B are to be enabled before CSC and CDMA",
        ] {
            assert!(warnings.iter().any(|text| text.contains(rule)), "{name}: {warnings:?}");
        }
    }
}

#[test]
fn a_read_dma_of_sdp_reads_operands_before_sdp_is_enabled() {
    let Some((outcome, cycles, _)) = play(&format!("{ROWS}/gap_sdpx_nv_small_91002")) else { return };
    assert!(outcome.passed(), "{:?}", outcome.failures);
    // Where SDP waited for it in vain it took 3768.
    assert!(cycles.abs_diff(3696) <= 2, "{cycles}");
}

/// Of operands BS takes one half: SDP_RDMA is never done with them, and SDP runs the next layer, which reads nothing.
#[test]
fn sdp_goes_on_behind_operands_that_no_stage_takes() {
    let Some((outcome, _, warnings)) = play("field-cases/sequence-operands") else { return };
    assert!(outcome.passed(), "{:?}", outcome.failures);
    assert!(warnings.iter().any(|text| text.contains("BRDMA_DATA_USE is 2 (both)")), "{warnings:?}");
}
