//! What a platform lacks is told apart from what is wrong, by the warnings themselves.

use vp_models::host::{Host as _, Lack, Warning};
use vp_models::nvdla::registers::{Unit, cacc, cdma, cdp, cmac, csc, pdp, sdp};
use vp_models::platform::Description;
use vp_tests::device::Device;
use vp_tests::layers::{INPUT, OUTPUT, convolving, doubling, halving, normalising, start_convolution};
use vp_tests::program::Program;
use vp_tests::random::Draw;

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

/// Modes of convolution that only large configurations have, in every unit that has a register for them.
#[test]
fn a_mode_of_convolution_that_others_have_is_the_configurations_lack() {
    let modes = [
        (Unit::Cdma, cdma::d_misc_cfg::CONV_MODE),
        (Unit::Csc, csc::d_misc_cfg::CONV_MODE),
        (Unit::CmacA, cmac::d_misc_cfg::CONV_MODE),
        (Unit::CmacB, cmac::d_misc_cfg::CONV_MODE),
        (Unit::Cacc, cacc::d_misc_cfg::CONV_MODE),
        (Unit::Sdp, sdp::d_feature_mode_cfg::WINOGRAD),
        (Unit::Cdma, cdma::d_batch_number::BATCHES),
        (Unit::Csc, csc::d_batch_number::BATCHES),
        (Unit::Cacc, cacc::d_batch_number::BATCHES),
        (Unit::Sdp, sdp::d_feature_mode_cfg::BATCH_NUMBER),
        (Unit::Cdma, cdma::d_weight_format::WEIGHT_FORMAT),
        (Unit::Csc, csc::d_weight_format::WEIGHT_FORMAT),
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
            assert_eq!(named.lack(), Some(Lack::Configuration), "{}", named.text);
        }
    }
}

/// Hardware can be configured so that the kernels multiplied at once are not those of an atom.
#[test]
fn what_is_not_modelled_is_the_models_lack() {
    let mut description = Description::named("nv_small").expect("built in");
    description.nvdla_mut().unwrap().config.mac_atomic_k = 16;
    let mut device = Device::new(&description);
    device.run_new(start_convolution(&convolving(4, 4, INPUT, OUTPUT), 0));
    device.interrupts(0x15_0001);
    let lacks: Vec<_> = device.host.warnings().iter().filter_map(Warning::lack).collect();
    assert_eq!(lacks, [Lack::Model]);
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
