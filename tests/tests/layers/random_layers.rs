//! Any legal layer leaves the reference's bytes, whatever the memory's speed; anything else does no harm.

use proptest::prelude::*;
use vp_core::Time;
use vp_models::nvdla::registers::Unit;
use vp_tests::device::Device;
use vp_tests::effort::cases;
use vp_tests::program::Program;
use vp_tests::random::Draw;
use vp_tests::reference::{self, Image, Lut};

const SDP_0: u32 = 0x1;
const CDP_0: u32 = 0x4;
const CDP_1: u32 = 0x8;
const PDP_0: u32 = 0x10;

fn platforms() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["nv_small", "nv_small_256_full", "nv_full"])
}

/// Runs a program over memory as the draw left it; it must end with these interrupts and leave `expected`.
fn leaves(draw: &Draw, program: impl FnOnce(&mut Program), interrupts: u32, expected: &Image, what: &str) {
    let mut device = Device::new(draw.description());
    device.load(&draw.image());
    device.run_new(program);
    device.interrupts(interrupts);
    assert_eq!(device.warnings(), Vec::<String>::new(), "{what}");
    assert_eq!(device.difference(expected), None, "(address, found, expected) of {what}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn sdp_leaves_the_references_bytes(platform in platforms(), seed: u64) {
        let mut draw = Draw::new(platform, seed);
        let layer = draw.sdp(true);
        let lut = if layer.ew.is_some_and(|ew| ew.lut) { draw.lut() } else { Lut::default() };
        let mut expected = draw.image();
        reference::run_sdp(&layer, &lut, &mut expected);
        let write = |program: &mut Program| {
            if layer.ew.is_some_and(|ew| ew.lut) {
                program.sdp_lut(&lut);
            }
            program.sdp(&layer, 0);
            program.enable_sdp(0);
        };
        leaves(&draw, write, SDP_0, &expected, &format!("{platform}: {layer:?}"));
    }

    #[test]
    fn pdp_leaves_the_references_bytes(platform in platforms(), seed: u64) {
        let mut draw = Draw::new(platform, seed);
        let layer = draw.pdp();
        let mut expected = draw.image();
        reference::run_pdp(&layer, &mut expected);
        let write = |program: &mut Program| {
            program.pdp(&layer, 0);
            program.enable_pdp(&layer, 0);
        };
        leaves(&draw, write, PDP_0, &expected, &format!("{platform}: {layer:?}"));
    }

    #[test]
    fn cdp_leaves_the_references_bytes(platform in platforms(), seed: u64) {
        let mut draw = Draw::new(platform, seed);
        let (layer, lut) = (draw.cdp(), draw.lut());
        let mut expected = draw.image();
        reference::run_cdp(&layer, &lut, &mut expected);
        let write = |program: &mut Program| {
            program.cdp_lut(&lut);
            program.cdp(&layer, 0);
            program.enable_cdp(0);
        };
        leaves(&draw, write, CDP_0, &expected, &format!("{platform}: {layer:?} {lut:?}"));
    }

    /// Runs two layers that share the tables; the second is programmed while the first runs.
    #[test]
    fn cdp_runs_two_layers_in_turn(platform in platforms(), seed: u64) {
        let mut draw = Draw::new(platform, seed);
        let (first, second, lut) = (draw.cdp(), draw.cdp(), draw.lut());
        let mut expected = draw.image();
        reference::run_cdp(&first, &lut, &mut expected);
        reference::run_cdp(&second, &lut, &mut expected);
        let write = |program: &mut Program| {
            program.cdp_lut(&lut);
            program.cdp(&first, 0);
            program.enable_cdp(0);
            program.cdp(&second, 1);
            program.enable_cdp(1);
        };
        leaves(&draw, write, CDP_0 | CDP_1, &expected, &format!("{platform}: {first:?} {second:?}"));
    }

    #[test]
    fn sdp_into_pdp_leaves_the_references_bytes(platform in platforms(), seed: u64, pdp_first: bool) {
        let mut draw = Draw::new(platform, seed);
        let mut sdp = draw.sdp(false);
        // The tables are tested with SDP alone.
        sdp.ew = sdp.ew.map(|ew| reference::Elementwise { lut: false, ..ew });
        let pdp = draw.pdp_behind(&sdp);
        let mut expected = draw.image();
        reference::run_sdp_to_pdp(&sdp, &pdp, &mut expected);
        let write = |program: &mut Program| {
            program.sdp(&sdp, 0);
            program.pdp(&pdp, 0);
            if pdp_first {
                program.enable_pdp(&pdp, 0);
                program.enable_sdp(0);
            } else {
                program.enable_sdp(0);
                program.enable_pdp(&pdp, 0);
            }
        };
        leaves(&draw, write, SDP_0 | PDP_0, &expected, &format!("{platform}: {sdp:?} {pdp:?}"));
    }
}

const ENGINES: [Unit; 6] = [Unit::SdpRdma, Unit::Sdp, Unit::PdpRdma, Unit::Pdp, Unit::CdpRdma, Unit::Cdp];

/// Long enough for any layer drawn here to end.
const PATIENCE: Time = Time::us(200);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn any_register_contents_are_survived(
        platform in platforms(),
        words in prop::collection::vec(any::<u32>(), 1..200),
        sparse: bool,
    ) {
        Device::named(platform).survives_words(&ENGINES, &words, sparse, PATIENCE);
    }

    #[test]
    fn a_legal_layer_with_a_few_wrong_words_is_survived(
        platform in platforms(),
        seed: u64,
        wrong in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>(), 0u32..32), 1..4),
    ) {
        let mut draw = Draw::new(platform, seed);
        let (sdp, pdp, cdp) = (draw.sdp(true), draw.pdp(), draw.cdp());
        let mut device = Device::new(draw.description());
        device.load(&draw.image());
        let mut program = device.program();
        program.sdp(&sdp, 0);
        program.pdp(&pdp, 0);
        program.cdp(&cdp, 0);
        for (place, word, shift) in wrong {
            let count = program.writes.len();
            program.writes[place.index(count)].value ^= word >> shift;
        }
        program.enable_sdp(0);
        program.enable_pdp(&pdp, 0);
        program.enable_cdp(0);
        device.survives(&program, PATIENCE);
    }
}
