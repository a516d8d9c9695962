//! What a platform lacks is told apart from what is wrong, by the warnings themselves.

use vp_models::host::{Host as _, Lack, Warning};
use vp_models::nvdla::registers::{Unit, cdp, pdp, sdp};
use vp_tests::device::Device;
use vp_tests::layers::{INPUT, OUTPUT, doubling, halving, normalising};
use vp_tests::program::Program;

fn lacks(platform: &str, write: impl FnOnce(&mut Program)) -> Vec<Option<Lack>> {
    let mut device = Device::named(platform);
    device.run_new(write);
    // Whether an interrupt comes is not the question.
    _ = device.try_interrupt();
    device.host.warnings().iter().map(Warning::lack).collect()
}

#[test]
fn a_format_that_other_configurations_have_is_the_configurations_lack() {
    let of_configuration = [Some(Lack::Configuration)];
    let sdp = lacks("nv_small", |program| {
        program.sdp(&doubling(4, 4, INPUT, OUTPUT), 0);
        program.fields(Unit::Sdp, &[(sdp::d_data_format::PROC_PRECISION, 1)]);
        program.enable_sdp(0);
    });
    assert_eq!(sdp, of_configuration);
    let pdp = lacks("nv_small", |program| {
        let layer = halving(4, 4, Some(INPUT), OUTPUT);
        program.pdp(&layer, 0);
        program.fields(Unit::Pdp, &[(pdp::d_data_format::INPUT_DATA, 1)]);
        program.enable_pdp(&layer, 0);
    });
    assert_eq!(pdp, of_configuration);
    let cdp = lacks("nv_small", |program| {
        program.cdp(&normalising(4, 4, INPUT, OUTPUT), 0);
        program.fields(Unit::Cdp, &[(cdp::d_data_format::INPUT_DATA_TYPE, 1)]);
        program.enable_cdp(0);
    });
    assert_eq!(cdp, of_configuration);
}

#[test]
fn what_is_not_modelled_is_the_models_lack() {
    let batches = lacks("nv_full", |program| {
        program.sdp(&doubling(4, 4, INPUT, OUTPUT), 0);
        program.fields(Unit::Sdp, &[(sdp::d_feature_mode_cfg::BATCH_NUMBER, 2)]);
        program.enable_sdp(0);
    });
    assert_eq!(batches, [Some(Lack::Model)]);
}

#[test]
fn a_wrong_value_is_nobodys_lack() {
    let wrong = lacks("nv_small", |program| {
        let layer = halving(4, 4, Some(INPUT), OUTPUT);
        program.pdp(&layer, 0);
        program.fields(Unit::Pdp, &[(pdp::d_data_format::INPUT_DATA, 3)]);
        program.enable_pdp(&layer, 0);
    });
    assert_eq!(wrong, [None]);
}
