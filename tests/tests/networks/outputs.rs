//! Networks of several outputs, and layers that are the CPU's.

use proptest::prelude::*;
use vp_host::network::{Measured, Placement, PlanError, PlanOptions};
use vp_models::nvdla::config::Config;
use vp_models::platform::Description;
use vp_tests::effort::cases;
use vp_tests::random::NetworkDraw;
use vp_tests::reference::run_outputs;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(80)))]

    /// Whatever is an output is there at the end of the frame, also where poolings would take it on the fly.
    #[test]
    fn each_output_is_the_references(
        platform in prop::sample::select(Config::NAMES.to_vec()),
        seed: u64,
        frames in 1_u32..4,
        in_sram: bool,
    ) {
        let described = Description::named(platform).unwrap();
        let config = &described.nvdla().unwrap().config;
        let mut draw = NetworkDraw::new(seed);
        let mut network = draw.any_network();
        draw.more_outputs(&mut network);
        let placement = match in_sram && config.secondary().is_some() {
            true => Placement::All,
            false => Placement::Dram,
        };
        let frames = frames.min(config.cubes_at_once());
        let options = PlanOptions { frames, placement, ..PlanOptions::default() };
        let inputs: Vec<Vec<i8>> = (0..frames + 1).map(|_| draw.input(&network)).collect();
        let slices: Vec<&[i8]> = inputs.iter().map(Vec::as_slice).collect();
        let measured = match Measured::with(&network, &described, &slices, &options) {
            Err(vp_host::network::MeasureError::Plan(
                PlanError::ConvolutionBuffer { .. }
                | PlanError::NoUnit { parameter: "sdp_lut", .. },
            )) => return Ok(()),
            measured => measured.unwrap(),
        };
        let each: Vec<Vec<Vec<i8>>> = inputs.iter().map(|input| run_outputs(&network, input)).collect();
        prop_assert_eq!(measured.outputs.len(), network.outputs.len());
        for (at, output) in measured.outputs.iter().enumerate() {
            let expected: Vec<i8> = each.iter().flat_map(|outputs| outputs[at].clone()).collect();
            prop_assert!(*output == expected, "{platform}, seed {seed}: output {at} of {:?}", network.outputs);
        }
    }
}
