//! Any legal convolution leaves the reference's bytes; layers hand on what is in the buffer; what is wrong is told,
//! and ends with every interrupt.

use proptest::prelude::*;
use vp_core::Time;
use vp_host::{Host as _, HostError, Memory};
use vp_models::nvdla::registers::{FieldRef, Unit, cacc, cdma, cmac, csc, sdp};
use vp_tests::device::Device;
use vp_tests::effort::cases;
use vp_tests::program::BufferUse;
use vp_tests::random::{ConvolutionKind, Draw};
use vp_tests::reference::{self, ConvLayer, Image, WeightOrder};

/// Done bits of SDP, CDMA data, CDMA weights and CACC of group 0; those of group 1 are one further left.
const DONE: u32 = 0x15_0001;

const UNITS: [Unit; 7] =
    [Unit::SdpRdma, Unit::Sdp, Unit::Cacc, Unit::CmacA, Unit::CmacB, Unit::Csc, Unit::Cdma];

fn platforms() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["nv_small", "nv_small_256_full", "nv_medium_512", "nv_large", "nv_full"])
}

/// Platforms that have all modes of convolution.
fn large_platforms() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["nv_large", "nv_full"])
}

fn kinds() -> impl Strategy<Value = ConvolutionKind> {
    prop::sample::select(vec![
        ConvolutionKind::Feature,
        ConvolutionKind::Image,
        ConvolutionKind::Batches,
        ConvolutionKind::Winograd,
    ])
}

fn expected(draw: &Draw, layers: &[ConvLayer]) -> Image {
    let mut image = draw.image();
    layers.iter().for_each(|layer| reference::run_convolution(layer, &mut image));
    image
}

/// Runs one layer, which must end with its interrupts and leave the reference's bytes.
fn leaves_the_references_bytes(platform: &str, seed: u64, is_image: bool, sdp_first: bool) {
    let mut draw = Draw::new(platform, seed);
    let (layer, buffer) = draw.convolution(is_image);
    draw_leaves_the_references_bytes(platform, &draw, &layer, &buffer, sdp_first);
}

fn draw_leaves_the_references_bytes(
    platform: &str,
    draw: &Draw,
    layer: &ConvLayer,
    buffer: &BufferUse,
    sdp_first: bool,
) {
    let mut device = Device::new(draw.description());
    device.load(&draw.image());
    device.run_new(|program| {
        program.convolution(layer, buffer, 0);
        program.enable_convolution(layer, 0, sdp_first);
    });
    device.interrupts(DONE);
    assert_eq!(device.warnings(), Vec::<String>::new(), "{platform}: {layer:?} {buffer:?}");
    let expected = expected(draw, std::slice::from_ref(layer));
    assert_eq!(
        device.difference(&expected),
        None,
        "(address, found, expected) of {platform}: {layer:?} {buffer:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(80)))]

    #[test]
    fn a_feature_cube_is_convolved_as_the_reference_does(platform in platforms(), seed: u64, sdp_first: bool) {
        leaves_the_references_bytes(platform, seed, false, sdp_first);
    }

    #[test]
    fn an_image_is_convolved_as_the_reference_does(platform in platforms(), seed: u64, sdp_first: bool) {
        leaves_the_references_bytes(platform, seed, true, sdp_first);
    }

    #[test]
    fn compressed_weights_are_those_they_were(platform in large_platforms(), seed: u64, kind in kinds()) {
        let mut draw = Draw::new(platform, seed);
        let (layer, buffer) = draw.convolution_of(kind, true);
        draw_leaves_the_references_bytes(platform, &draw, &layer, &buffer, true);
    }

    #[test]
    fn several_cubes_are_convolved_as_each_alone(platform in large_platforms(), seed: u64, sdp_first: bool) {
        let mut draw = Draw::new(platform, seed);
        let (layer, buffer) = draw.convolution_of(ConvolutionKind::Batches, false);
        draw_leaves_the_references_bytes(platform, &draw, &layer, &buffer, sdp_first);
    }

    #[test]
    fn winograds_method_leaves_the_references_bytes(platform in large_platforms(), seed: u64, sdp_first: bool) {
        let mut draw = Draw::new(platform, seed);
        let (layer, buffer) = draw.convolution_of(ConvolutionKind::Winograd, false);
        draw_leaves_the_references_bytes(platform, &draw, &layer, &buffer, sdp_first);
    }
}

/// Returns the warnings of a layer of several cubes whose operands for BS are of each element, with its output at another atom.
fn warnings_of_cubes(moved: u64, takes: impl Fn(&reference::SdpLayer) -> bool) -> Vec<String> {
    let mut draws = (0..).map(|seed| {
        let mut draw = Draw::new("nv_full", seed);
        let (layer, buffer) = draw.batches();
        (draw, layer, buffer)
    });
    let is_taken = |layer: &ConvLayer| {
        let operands = layer.sdp.bs.is_some_and(|stage| stage.operands.is_some());
        layer.mode.batches.is_some() && operands && takes(&layer.sdp)
    };
    let (draw, mut layer, buffer) = draws.find(|(_, layer, _)| is_taken(layer)).expect("such a layer");
    let operands = layer.sdp.bs.as_mut().and_then(|stage| stage.operands.as_mut());
    operands.expect("operands").per_element = true;
    let place = layer.sdp.destination.as_mut().expect("a layer that writes memory");
    place.base = place.base.next_multiple_of(64) + 32 * moved;
    let mut device = Device::new(draw.description());
    device.load(&draw.image());
    device.run_new(|program| {
        program.convolution(&layer, &buffer, 0);
        program.enable_convolution(&layer, 0, true);
    });
    device.interrupts(DONE);
    device.warnings()
}

/// The RTL gives pixels the operands of others, or waits for ever. Here each has its own.
#[test]
fn operands_of_several_cubes_that_the_rtl_gives_to_other_pixels_are_warned_of() {
    let is_even = |layer: &reference::SdpLayer| {
        layer.width > 1
            && layer.destination.is_some_and(|it| it.line.is_multiple_of(64) && it.surface.is_multiple_of(64))
    };
    assert_eq!(warnings_of_cubes(0, is_even), Vec::<String>::new());
    let warnings = warnings_of_cubes(1, is_even);
    assert!(warnings.len() == 1 && warnings[0].contains("size_of_step"), "{warnings:?}");
    let one_pixel = |layer: &reference::SdpLayer| [layer.width, layer.height] == [1, 1];
    let of_one_surface = |layer: &reference::SdpLayer| layer.channels <= layer.format.lanes();
    assert_eq!(warnings_of_cubes(1, |layer| one_pixel(layer) && of_one_surface(layer)), Vec::<String>::new());
    let warnings = warnings_of_cubes(0, |layer| one_pixel(layer) && !of_one_surface(layer));
    assert!(warnings.len() == 1 && warnings[0].contains("waits for ever"), "{warnings:?}");
}

/// CSC releases nothing of a group before all of its entries have come, the last one's rest included.
#[test]
fn a_group_that_fills_its_banks_but_for_a_part_of_an_entry_comes_whole() {
    let mut draw = Draw::new("nv_large", 59);
    let (layer, buffer) = draw.convolution_of(ConvolutionKind::Winograd, true);
    // A bank has 256 entries of 128 bytes.
    let sizes = layer.mode.compressed.as_ref().unwrap().sizes;
    let bytes = draw.image().element(sizes, 4) as u32;
    assert_eq!((buffer.banks[1], bytes.div_ceil(128), bytes.is_multiple_of(128)), (1, 256, false));
    draw_leaves_the_references_bytes("nv_large", &draw, &layer, &buffer, true);
}

/// Programs and starts layers in turns of the groups, two at a time; all must end, each with its own bits.
fn run_all(device: &mut Device, layers: &[(ConvLayer, BufferUse)]) {
    let mut missing = [0, 0];
    for (index, (layer, buffer)) in layers.iter().enumerate() {
        let group = index % 2;
        while missing[group] != 0 {
            take(device, &mut missing);
        }
        device.run_new(|program| {
            program.convolution(layer, buffer, group as u32);
            program.enable_convolution(layer, group as u32, true);
        });
        missing[group] = DONE << group;
    }
    while missing != [0, 0] {
        take(device, &mut missing);
    }
}

fn take(device: &mut Device, missing: &mut [u32; 2]) {
    let status = device.interrupt();
    assert_eq!(status & !(missing[0] | missing[1]), 0, "status {status:#x}, missing {missing:x?}");
    missing.iter_mut().for_each(|missing| *missing &= !status);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]

    /// Weights in units of 128 bytes, as drivers round them: what lies behind the last kernel's entry is in front of the next
    /// layer's, unless the banks are split otherwise (RTL, `NV_NVDLA_CSC_wl.v`, `wt_rls_cnt`).
    #[test]
    fn weights_behind_the_last_kernel_are_in_front_of_the_next_layers(
        platform in prop::sample::select(vec!["nv_small", "nv_medium_512", "nv_large"]),
        seed: u64,
        splits in prop::collection::vec(any::<bool>(), 2..5),
    ) {
        let mut draw = Draw::new(platform, seed);
        let config = draw.description().nvdla().unwrap().config.clone();
        let entry = u64::from(config.cbuf_entry_bytes());
        let half = config.cbuf_banks / 2;
        let layers: Vec<_> = splits.into_iter().map(|splits| {
            let (layer, buffer) = draw.convolution_of(ConvolutionKind::Feature, false);
            let order = WeightOrder { unit: 128, ..layer.order };
            let layer = ConvLayer { order, ..Draw::without_operands(&layer) };
            (layer, BufferUse { banks: [half - u32::from(splits), half], ..buffer }, buffer.banks)
        }).collect();
        prop_assume!(layers.iter().all(|(_, there, least)| least[0] <= there.banks[0] && least[1] <= half));
        let layers: Vec<_> = layers.into_iter().map(|(layer, buffer, _)| (layer, buffer)).collect();

        let mut device = Device::new(draw.description());
        device.load(&draw.image());
        run_all(&mut device, &layers);

        let mut expected = draw.image();
        let (mut surplus, mut banks, mut shifted) = (Vec::new(), layers[0].1.banks, 0);
        for (layer, buffer) in &layers {
            if std::mem::replace(&mut banks, buffer.banks) != buffer.banks {
                surplus.clear();
            }
            shifted += usize::from(!surplus.is_empty());
            let places = layer.weights..layer.weights + u64::from(layer.weight_bytes());
            let own: Vec<i32> = places.clone().map(|at| expected.element(at, 1)).collect();
            let stream = [surplus, own.clone()].concat();
            let kernels = u64::from(layer.kernels * layer.kernel_bytes());
            places.clone().zip(&stream[..kernels as usize]).for_each(|(at, byte)| expected.store(at, 1, *byte));
            reference::run_convolution(layer, &mut expected);
            places.zip(own).for_each(|(at, byte)| expected.store(at, 1, byte));
            surplus = stream[kernels.next_multiple_of(entry) as usize..].to_vec();
        }
        prop_assert_eq!(device.difference(&expected), None, "(address, found, expected)");
        let warnings = device.warnings();
        prop_assert_eq!(warnings.len(), shifted, "{:?}", warnings);
        prop_assert!(warnings.iter().all(|warning| warning.contains("reads weights shifted by")));
    }

    /// The second layer finds input, weights or both in the buffer, and reads none of them.
    #[test]
    fn what_is_kept_is_not_read_again(
        platform in platforms(),
        seed: u64,
        kind in kinds(),
        reuse: [bool; 2],
        compresses: bool,
    ) {
        let mut draw = Draw::new(platform, seed);
        let (layer, buffer) = draw.convolution_of(kind, false);
        let layer = Draw::without_operands(&layer);
        let Some(buffer) = draw.with_room_for_all_weights(&layer, buffer) else { return Ok(()) };
        let config = draw.description().nvdla().unwrap().config.clone();
        let bank = config.cbuf_entries_per_bank() * config.cbuf_entry_bytes();
        // All masks stay, too.
        let has_room = |layer: &ConvLayer| layer.mode.compressed.as_ref().is_some_and(|it| it.mask.1 <= bank);
        let layer = match compresses && config.weight_compression {
            true => draw.compressed(&layer, &buffer).filter(has_room).unwrap_or(layer),
            false => layer,
        };
        let destination = draw.output_of(&layer);
        let sdp = reference::SdpLayer { destination: Some(destination), ..layer.sdp.clone() };
        let second = ConvLayer { sdp, truncate: 9 - layer.truncate, ..layer.clone() };
        let first_use = BufferUse { keep: reuse, ..buffer };
        let second_use = BufferUse { reuse, ..buffer };
        let read = |layers: &[(ConvLayer, BufferUse)]| {
            let mut device = Device::new(draw.description());
            device.load(&draw.image());
            run_all(&mut device, layers);
            assert_eq!(device.warnings(), Vec::<String>::new());
            let run: Vec<_> = layers.iter().map(|(layer, _)| layer.clone()).collect();
            assert_eq!(device.difference(&expected(&draw, &run)), None, "(address, found, expected)");
            [8, 9].map(|id| {
                let mut bytes = |port: &str| device.count(&format!("{port}.read.id{id}.bytes"));
                bytes("dbb0") + bytes("sram0")
            })
        };
        let once = read(&[(layer.clone(), first_use)]);
        let both = read(&[(layer, first_use), (second, second_use)]);
        for ((once, both), reuse) in once.into_iter().zip(both).zip(reuse) {
            prop_assert_eq!(both, if reuse { once } else { 2 * once });
        }
    }
}

/// Fields of each unit that a convolution passes, and values that none of them takes. (Of CMAC and CACC builds with int8 alone read no
/// precision, and nv_full has Winograd's method.)
const WRONG: [(Unit, &[(FieldRef, u32)]); 9] = [
    (Unit::Cdma, &[(cdma::D_MISC_CFG::CONV_MODE, 1)]),
    (Unit::Cdma, &[(cdma::D_WEIGHT_BYTES::WEIGHT_BYTES, 0)]),
    (Unit::Csc, &[(csc::D_MISC_CFG::CONV_MODE, 1)]),
    (Unit::Csc, &[(csc::D_DATAIN_SIZE_EXT_0::DATAIN_HEIGHT_EXT, 4000)]),
    (Unit::Csc, &[(csc::D_WEIGHT_SIZE_EXT_1::WEIGHT_KERNEL, 7777)]),
    (Unit::CmacA, &[(cmac::D_MISC_CFG::CONV_MODE, 1)]),
    (Unit::CmacB, &[(cmac::D_MISC_CFG::CONV_MODE, 1), (cmac::D_MISC_CFG::PROC_PRECISION, 3)]),
    (Unit::Cacc, &[(cacc::D_MISC_CFG::CONV_MODE, 1), (cacc::D_MISC_CFG::PROC_PRECISION, 3)]),
    (Unit::Sdp, &[(sdp::D_DATA_FORMAT::PROC_PRECISION, 3)]),
];

/// Whichever unit refuses a layer, all of them end it, and the next one runs.
#[test]
fn a_layer_that_any_unit_refuses_ends_in_all_of_them() {
    for (platform, seed) in [("nv_small", 1), ("nv_full", 2), ("nv_small_256", 3)] {
        let mut draw = Draw::new(platform, seed);
        let (layer, buffer) = draw.convolution(seed == 2);
        let layer = Draw::without_operands(&layer);
        let expected = expected(&draw, std::slice::from_ref(&layer));
        for (unit, fields) in WRONG {
            let mut device = Device::new(draw.description());
            device.load(&draw.image());
            device.run_new(|program| {
                program.convolution(&layer, &buffer, 0);
                program.fields(unit, fields);
                program.enable_convolution(&layer, 0, false);
            });
            device.interrupts(DONE);
            let warnings = device.warnings();
            let refused = format!("{unit} {fields:?}");
            assert!(warnings.iter().any(|warning| warning.contains("refused")), "{refused}: {warnings:?}");
            device.load(&draw.image());
            device.run_new(|program| {
                program.convolution(&layer, &buffer, 1);
                program.enable_convolution(&layer, 1, true);
            });
            device.interrupts(DONE << 1);
            assert_eq!(device.warnings(), Vec::<String>::new(), "after {refused}");
            assert_eq!(device.difference(&expected), None, "(address, found, expected) after {refused}");
        }
    }
}

/// Sizes, masks or weights of a group that do not fit each other: told, and ended, and the next layer runs.
#[test]
fn a_layer_whose_sizes_and_masks_contradict_each_other_ends_early() {
    for (seed, part) in (0..12).zip([0, 1, 2].into_iter().cycle()) {
        let mut draw = Draw::new("nv_full", seed);
        let (layer, buffer) = draw.convolution(seed % 2 == 0);
        let layer = draw.compressed(&Draw::without_operands(&layer), &buffer).expect("a bank for masks");
        let compressed = layer.mode.compressed.expect("compressed");
        let expected = expected(&draw, std::slice::from_ref(&layer));
        let mut device = Device::new(draw.description());
        device.load(&draw.image());
        // The sizes say too much, or too little; or the mask marks something else.
        let (at, xor) = [(compressed.sizes, 2), (compressed.sizes + 3, 0x80), (compressed.mask.0, 1)][part];
        let memory = if at >= 0x8000_0000 { Memory::Primary } else { Memory::Secondary };
        let mut byte = [0];
        device.host.fetch(memory, at, &mut byte).unwrap();
        device.host.load(memory, at, &[byte[0] ^ xor]).unwrap();
        device.run_new(|program| {
            program.convolution(&layer, &buffer, 0);
            program.enable_convolution(&layer, 0, true);
        });
        device.interrupts(DONE);
        let warnings = device.warnings();
        let told = warnings.iter().any(|warning| warning.contains("CDMA.D_WGS_ADDR_LOW"));
        assert!(told, "{layer:?}: {warnings:?}");
        device.load(&draw.image());
        device.run_new(|program| {
            program.convolution(&layer, &buffer, 1);
            program.enable_convolution(&layer, 1, true);
        });
        device.interrupts(DONE << 1);
        assert_eq!(device.warnings(), Vec::<String>::new());
        assert_eq!(device.difference(&expected), None, "(address, found, expected)");
    }
}

/// Long enough for any layer drawn here to end.
const PATIENCE: Time = Time::us(100);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn any_register_contents_are_survived(
        platform in platforms(),
        words in prop::collection::vec(any::<u32>(), 1..200),
        sparse: bool,
    ) {
        Device::named(platform).survives_words(&UNITS, &words, sparse, PATIENCE);
    }

    #[test]
    fn a_legal_layer_with_a_few_wrong_words_is_survived(
        platform in platforms(),
        seed: u64,
        (kind, compresses) in (kinds(), any::<bool>()),
        wrong in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>(), 0u32..32), 1..4),
    ) {
        let mut draw = Draw::new(platform, seed);
        let (layer, buffer) = draw.convolution_of(kind, compresses);
        let mut device = Device::new(draw.description());
        device.load(&draw.image());
        let mut program = device.program();
        program.convolution(&layer, &buffer, 0);
        for (place, word, shift) in wrong {
            let count = program.writes.len();
            program.writes[place.index(count)].value ^= word >> shift;
        }
        program.enable_convolution(&layer, 0, true);
        device.survives(&program, PATIENCE);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(100)))]
    /// Whatever is wrong in the registers of the convolution's units, nothing waits for ever without a word.
    #[test]
    fn a_convolution_with_a_few_wrong_words_ends_in_all_units(
        platform in platforms(),
        seed: u64,
        (kind, compresses) in (kinds(), any::<bool>()),
        wrong in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>(), 0u32..32), 1..4),
    ) {
        let mut draw = Draw::new(platform, seed);
        let (layer, buffer) = draw.convolution_of(kind, compresses);
        let mut device = Device::new(draw.description());
        device.load(&draw.image());
        let mut program = device.program();
        program.convolution(&layer, &buffer, 0);
        let of_convolution: Vec<usize> = (0..program.writes.len())
            .filter(|&at| {
                let write = program.writes[at];
                write.register.name.starts_with("D_") && ![Unit::Sdp, Unit::SdpRdma].contains(&write.unit)
            })
            .collect();
        for (place, word, shift) in wrong {
            program.writes[*place.get(&of_convolution)].value ^= word >> shift;
        }
        program.enable_convolution(&layer, 0, true);
        device.host.set_limit(PATIENCE);
        device.run(&program);
        let mut missing = DONE;
        while missing != 0 {
            match device.try_interrupt() {
                Ok(status) => {
                    prop_assert_eq!(status & !missing, 0);
                    missing &= !status;
                }
                // Still at work.
                Err(HostError::Limit { .. }) => break,
                // More weights than the banks hold wait for room for ever, as on the RTL.
                Err(HostError::Idle { .. }) if device.warnings().iter().any(|text| text.contains("waits for ever")) => break,
                Err(other) => prop_assert!(false, "{:#x} missing: {} {:?}", missing, other, device.warnings()),
            }
        }
    }
}
