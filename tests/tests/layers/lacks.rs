//! Warnings that tell what a platform lacks apart from what is wrong.

use vp_core::observe::WarningMarks;
use vp_host::Host as _;
use vp_models::nvdla::registers::{Unit, cacc, cdma, cmac, csc, sdp};
use vp_models::platform::Description;
use vp_tests::device::Device;
use vp_tests::layers::{INPUT, OUTPUT, doubling, halving};
use vp_tests::program::Program;
use vp_tests::random::Draw;

const LACKING: WarningMarks = WarningMarks { refused: false, lacking: true };
const REFUSED: WarningMarks = WarningMarks { refused: true, lacking: false };
const BOTH: WarningMarks = WarningMarks { refused: true, lacking: true };

fn marks(platform: &str, write: impl FnOnce(&mut Program)) -> Vec<WarningMarks> {
    let mut device = Device::named(platform);
    device.run_new(write);
    // Whether an interrupt comes is not the question.
    _ = device.try_interrupt();
    device.host.warnings().iter().map(|warning| warning.marks).collect()
}

#[test]
fn a_format_that_other_configurations_have_is_the_configurations_lack() {
    let sdp = marks("nv_small", |program| {
        program.sdp(&doubling(4, 4, INPUT, OUTPUT), 0);
        program.fields(Unit::Sdp, &[(sdp::D_DATA_FORMAT::PROC_PRECISION, 1)]);
        program.enable_sdp(0);
    });
    assert_eq!(sdp, [BOTH]);
}

/// Modes of convolution that only large configurations have, in every unit that has a register for them.
#[test]
fn a_mode_of_convolution_that_others_have_is_the_configurations_lack() {
    let modes = [
        (Unit::Cdma, cdma::D_MISC_CFG::CONV_MODE),
        (Unit::Csc, csc::D_MISC_CFG::CONV_MODE),
        (Unit::CmacA, cmac::D_MISC_CFG::CONV_MODE),
        (Unit::CmacB, cmac::D_MISC_CFG::CONV_MODE),
        (Unit::Cacc, cacc::D_MISC_CFG::CONV_MODE),
        (Unit::Sdp, sdp::D_FEATURE_MODE_CFG::WINOGRAD),
        (Unit::Cdma, cdma::D_BATCH_NUMBER::BATCHES),
        (Unit::Csc, csc::D_BATCH_NUMBER::BATCHES),
        (Unit::Cacc, cacc::D_BATCH_NUMBER::BATCHES),
        (Unit::Sdp, sdp::D_FEATURE_MODE_CFG::BATCH_NUMBER),
        (Unit::Cdma, cdma::D_WEIGHT_FORMAT::WEIGHT_FORMAT),
        (Unit::Csc, csc::D_WEIGHT_FORMAT::WEIGHT_FORMAT),
    ];
    for platform in ["nv_small", "nv_large_master"] {
        let mut draw = Draw::new(platform, 5);
        let (layer, buffer) = draw.convolution(false);
        for (unit, field) in modes {
            let mut device = Device::named(platform);
            device.run_new(|program| {
                program.convolution(&layer, &buffer, 0);
                program.change(unit, field, 1);
                program.enable_convolution(&layer, 0, true);
            });
            // SDP and CACC, both halves of CDMA: all end.
            device.interrupts(0x15_0001);
            let warnings = device.host.warnings();
            let named =
                warnings.iter().find(|warning| warning.text.contains(&format!("{}.{field}", field.unit)));
            let named = named.unwrap_or_else(|| panic!("{platform}, {unit}, {field}: {warnings:?}"));
            assert_eq!(named.marks, BOTH, "{}", named.text);
        }
    }
}

/// The registers of such a unit read 0, as on hardware: a driver that waits for its interrupt would wait without a word.
#[test]
fn enabling_a_unit_that_the_configuration_was_built_without_is_said_once() {
    let mut description = Description::named("nv_small").expect("built in");
    description.nvdla_mut().unwrap().config.pdp = false;
    let mut device = Device::new(&description);
    device.run_new(|program| {
        let layer = halving(4, 4, Some(INPUT), OUTPUT);
        program.pdp(&layer, 0);
        program.enable_pdp(&layer, 0);
        program.enable_pdp(&layer, 0);
    });
    assert!(device.try_interrupt().is_err());
    let warnings = device.host.warnings();
    let of = |unit: &str| {
        format!(
            "{unit}.D_OP_ENABLE = 0x1: this configuration was built without {unit}, whose registers read 0"
        )
    };
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    for unit in ["PDP", "PDP_RDMA"] {
        let is_said = warnings.iter().any(|it| it.text.contains(&of(unit)) && it.marks == LACKING);
        assert!(is_said, "{unit}: {warnings:?}");
    }
}

#[test]
fn a_wrong_value_is_nobodys_lack() {
    let wrong = marks("nv_small", |program| {
        program.sdp(&doubling(4, 4, INPUT, OUTPUT), 0);
        program.fields(Unit::Sdp, &[(sdp::D_DATA_FORMAT::PROC_PRECISION, 3)]);
        program.enable_sdp(0);
    });
    assert_eq!(wrong, [REFUSED]);
}

/// A layer that is run nevertheless: its data passes the stage.
#[test]
fn an_element_wise_stage_that_the_configuration_has_not_is_its_lack() {
    let stage = marks("nv_small", |program| {
        program.sdp(&doubling(4, 4, INPUT, OUTPUT), 0);
        program.fields(Unit::Sdp, &[(sdp::D_DP_EW_CFG::EW_BYPASS, 0)]);
        program.enable_sdp(0);
    });
    assert_eq!(stage, [LACKING]);
}
