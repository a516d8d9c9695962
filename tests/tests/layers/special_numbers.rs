//! NaNs and infinities are counted where they come in, before anything is flushed, and where they go out.

use proptest::prelude::*;
use vp_models::nvdla::registers::{RegisterRef, Unit, cdma, cdp, pdp, sdp, sdp_rdma};
use vp_tests::device::Device;
use vp_tests::effort::cases;
use vp_tests::program::Program;
use vp_tests::random::{ConvolutionKind, Draw};
use vp_tests::reference::{ConvInput, ConvLayer, CubePlace, Format, Image, Lut, PdpLayer, SdpLayer};

/// Number of codes of some bytes that are not numbers, and of those that are infinite.
fn of_bytes(image: &Image, base: u64, bytes: u32) -> [u32; 2] {
    let mut counts = [0; 2];
    for at in (0..bytes).step_by(2) {
        let magnitude = image.element(base + u64::from(at), 2) & 0x7fff;
        counts[0] += u32::from(magnitude > 0x7c00);
        counts[1] += u32::from(magnitude == 0x7c00);
    }
    counts
}

fn sum(counts: impl Iterator<Item = [u32; 2]>) -> [u32; 2] {
    counts.fold([0; 2], |all, one| [all[0] + one[0], all[1] + one[1]])
}

/// Counts codes as [`of_bytes`] does, of a cube, lanes beyond its channels included; a single pixel lies packed where SDP looks for it.
fn of_cube(
    image: &Image,
    place: CubePlace,
    format: Format,
    [width, height, channels]: [u32; 3],
    packs: bool,
) -> [u32; 2] {
    let surface = if packs && width == 1 && height == 1 { format.atom } else { place.surface };
    let surfaces = channels.div_ceil(format.lanes());
    let lines = (0..surfaces).flat_map(|plane| (0..height).map(move |y| (plane, y)));
    sum(lines.map(|(plane, y)| {
        let base = place.base + u64::from(plane * surface) + u64::from(y * place.line);
        of_bytes(image, base, width * format.atom)
    }))
}

/// Runs a program over memory as the draw left it; gives the device and what memory then holds where a cube lies.
fn run(draw: &Draw, interrupts: u32, write: impl FnOnce(&mut Program)) -> Device {
    let mut device = Device::new(draw.description());
    device.load(&draw.image());
    device.run_new(write);
    device.interrupts(interrupts);
    assert_eq!(device.warnings(), Vec::<String>::new());
    device
}

fn read(device: &mut Device, unit: Unit, registers: [RegisterRef; 2]) -> [u32; 2] {
    registers.map(|register| device.read(unit, register))
}

/// Contents of memory after a layer.
fn left(device: &mut Device, before: &Image) -> Image {
    use vp_host::{Host as _, Memory};
    let regions = before.regions().iter().map(|(base, bytes)| {
        let mut now = vec![0; bytes.len()];
        let memory = if *base >= 0x8000_0000 { Memory::Primary } else { Memory::Secondary };
        device.host.fetch(memory, *base, &mut now).unwrap();
        (*base, now)
    });
    Image::new(regions.collect())
}

fn kinds() -> impl Strategy<Value = ConvolutionKind> {
    prop::sample::select(vec![ConvolutionKind::Feature, ConvolutionKind::Batches, ConvolutionKind::Winograd])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(30)))]

    #[test]
    fn cdma_counts_what_it_reads_of_input_and_weights(
        seed: u64,
        kind in kinds(),
        compresses: bool,
        flush: bool,
        special in 3u32..200,
    ) {
        let mut draw = Draw::floats("nv_full", seed, special);
        let (layer, buffer) = draw.convolution_of(kind, compresses);
        let layer = Draw::without_operands(&ConvLayer { floats_in_memory: true, ..layer });
        let image = draw.image();
        let mut device = run(&draw, 0x15_0001, |program| {
            program.convolution(&layer, &buffer, 0);
            program.as_floats();
            program.convolve_floats();
            if flush {
                program.flush_nan(false);
            }
            program.enable_convolution(&layer, 0, true);
        });
        let ConvInput::Feature(place) = layer.input else { unreachable!("no image") };
        let (count, stride) = layer.mode.batches.map_or((1, 0), |batches| (batches.count, batches.input));
        let data = sum((0..count).map(|cube| {
            let place = CubePlace { base: place.base + u64::from(cube * stride), ..place };
            of_cube(&image, place, layer.format, [layer.size[0], layer.size[1], layer.channels], false)
        }));
        let all = (layer.weights, layer.weight_bytes());
        let (base, bytes) = layer.mode.compressed.map_or(all, |compressed| compressed.weights);
        let weights = of_bytes(&image, base, bytes);
        let counted = read(&mut device, Unit::Cdma, [cdma::D_NAN_INPUT_DATA_NUM, cdma::D_INF_INPUT_DATA_NUM]);
        prop_assert_eq!(counted, data, "data");
        let registers = [cdma::D_NAN_INPUT_WEIGHT_NUM, cdma::D_INF_INPUT_WEIGHT_NUM];
        prop_assert_eq!(read(&mut device, Unit::Cdma, registers), weights, "weights");
    }

    #[test]
    fn sdp_counts_when_it_is_told_to(seed: u64, flush: bool, counts: bool, special in 3u32..200) {
        let mut draw = Draw::floats("nv_full", seed, special);
        let layer = SdpLayer { ew: None, ..draw.sdp(true) };
        let before = draw.image();
        let mut device = run(&draw, 0x1, |program| {
            program.sdp(&layer, 0);
            program.as_floats();
            if flush {
                program.flush_nan(true);
            }
            use sdp_rdma::D_PERF_ENABLE::PERF_NAN_INF_COUNT_EN as INPUT;
            program.fields(Unit::SdpRdma, &[(INPUT, counts.into())]);
            program.fields(Unit::Sdp, &[(sdp::D_PERF_ENABLE::PERF_NAN_INF_COUNT_EN, counts.into())]);
            program.enable_sdp(0);
        });
        let size = [layer.width, layer.height, layer.channels];
        let destination = layer.destination.expect("to memory");
        let input = of_cube(&before, layer.source, layer.format, size, true);
        let [output, _] = of_cube(&left(&mut device, &before), destination, layer.format, size, true);
        let registers = [sdp_rdma::D_STATUS_NAN_INPUT_NUM, sdp_rdma::D_STATUS_INF_INPUT_NUM];
        let counted = read(&mut device, Unit::SdpRdma, registers);
        prop_assert_eq!(counted, if counts { input } else { [0; 2] });
        let made = device.read(Unit::Sdp, sdp::D_STATUS_NAN_OUTPUT_NUM);
        prop_assert_eq!(made, if counts { output } else { 0 });
    }

    #[test]
    fn pdp_and_cdp_count_always(seed: u64, flush: bool, special in 3u32..200) {
        let mut draw = Draw::floats("nv_full", seed, special);
        let pooling = PdpLayer { strips: Vec::new(), ..draw.pdp() };
        let normalising = draw.cdp();
        let lut: Lut = draw.lut();
        let before = draw.image();
        let mut device = run(&draw, 0x14, |program| {
            program.cdp_lut(&lut);
            program.pdp(&pooling, 0);
            program.cdp(&normalising, 0);
            program.as_floats();
            if flush {
                program.flush_nan(true);
            }
            program.enable_pdp(&pooling, 0);
            program.enable_cdp(0);
        });
        let after = left(&mut device, &before);
        let source = pooling.source.expect("reads memory");
        let input = [pooling.width, pooling.height, pooling.channels];
        let made = [pooling.out_width(), pooling.out_height(), pooling.channels];
        let counted = read(&mut device, Unit::Pdp, [pdp::D_NAN_INPUT_NUM, pdp::D_INF_INPUT_NUM]);
        prop_assert_eq!(counted, of_cube(&before, source, pooling.format, input, false), "{:?}", pooling);
        let [nan, _] = of_cube(&after, pooling.destination, pooling.format, made, false);
        prop_assert_eq!(device.read(Unit::Pdp, pdp::D_NAN_OUTPUT_NUM), nan);
        let size = [normalising.width, normalising.height, normalising.channels];
        let counted = read(&mut device, Unit::Cdp, [cdp::D_NAN_INPUT_NUM, cdp::D_INF_INPUT_NUM]);
        prop_assert_eq!(counted, of_cube(&before, normalising.source, normalising.format, size, false));
        let [nan, _] = of_cube(&after, normalising.destination, normalising.format, size, false);
        prop_assert_eq!(device.read(Unit::Cdp, cdp::D_NAN_OUTPUT_NUM), nan);
    }
}
