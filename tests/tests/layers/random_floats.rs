//! Any legal layer in fp16 leaves the reference's bytes.

use proptest::prelude::*;
use vp_tests::device::Device;
use vp_tests::effort::cases;
use vp_tests::program::{BufferUse, Program};
use vp_tests::random::{ConvolutionKind, Draw};
use vp_tests::reference::float::{self, FP17, FP32, FloatAverage};
use vp_tests::reference::{
    ConvInput, ConvLayer, Converter, Elementwise, ElementwiseOperand, Image, Lut, PdpLayer, PoolingMethod,
    SdpLayer,
};

const SDP_0: u32 = 0x1;
const CDP_0: u32 = 0x4;
const PDP_0: u32 = 0x10;
/// Done bits of SDP, CDMA data, CDMA weights and CACC.
const CONVOLUTION_0: u32 = 0x15_0001;

/// Runs a program over memory as the draw left it; it must end with these interrupts and leave `expected`.
fn leaves(draw: &Draw, program: impl FnOnce(&mut Program), interrupts: u32, expected: &Image, what: &str) {
    let mut device = Device::new(draw.description());
    device.load(&draw.image());
    device.run_new(program);
    device.interrupts(interrupts);
    assert_eq!(device.warnings(), Vec::<String>::new(), "{what}");
    assert_eq!(device.difference(expected), None, "(address, found, expected) of {what}");
}

/// Registers of 32 bits become codes of numbers.
fn with_numbers(mut layer: SdpLayer) -> SdpLayer {
    let number = |operand| match operand {
        ElementwiseOperand::Register(value) => {
            ElementwiseOperand::Register(FP32.code(f64::from(value) / 16.0) as i32)
        }
        memory => memory,
    };
    layer.ew = layer.ew.map(|ew| Elementwise {
        multiplier: ew.multiplier.map(|mut it| {
            it.operand = number(it.operand);
            it
        }),
        alu: ew.alu.map(|mut it| {
            it.operand = number(it.operand);
            it
        }),
        ..ew
    });
    layer
}

/// Tables over numbers near those that memory holds.
fn table(draw: &mut Draw) -> Lut {
    let mut lut = draw.lut();
    for table in [&mut lut.le, &mut lut.lo] {
        for bound in [&mut table.start, &mut table.end] {
            *bound = FP32.code(f64::from(*bound) / 256.0) as i32;
        }
        table.select = table.select % 6 - 3;
    }
    lut.exponent = lut.exponent.map(|exponent| exponent % 20);
    lut
}

/// Registers of an average that means what the layer's does.
fn average(layer: &PdpLayer) -> FloatAverage {
    let padding = match layer.method {
        PoolingMethod::Average { padding } => f64::from(padding) / 4096.0,
        PoolingMethod::Max | PoolingMethod::Min => 0.0,
    };
    FloatAverage {
        padding: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0].map(|count| FP17.code(count * padding)),
        reciprocal: layer.kernel.map(|size| FP17.code(1.0 / f64::from(size))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn sdp_leaves_the_references_bytes(seed: u64, flush: bool) {
        let mut draw = Draw::floats("nv_full", seed, 60);
        let layer = with_numbers(draw.sdp(true));
        let lut = table(&mut draw);
        let mut expected = draw.image();
        float::run_sdp(&layer, &lut, flush, &mut expected);
        let write = |program: &mut Program| {
            program.sdp_lut(&lut);
            program.sdp(&layer, 0);
            program.as_floats();
            if flush {
                program.flush_nan(true);
            }
            program.enable_sdp(0);
        };
        leaves(&draw, write, SDP_0, &expected, &format!("{flush} {layer:?} {lut:?}"));
    }

    #[test]
    fn pdp_leaves_the_references_bytes(seed: u64, flush: bool) {
        let mut draw = Draw::floats("nv_full", seed, 60);
        let layer = draw.pdp();
        let average = average(&layer);
        let mut expected = draw.image();
        float::run_pdp(&layer, &average, flush, &mut expected);
        let write = |program: &mut Program| {
            program.pdp(&layer, 0);
            program.as_floats();
            program.average_of_floats(&average);
            if flush {
                program.flush_nan(true);
            }
            program.enable_pdp(&layer, 0);
        };
        leaves(&draw, write, PDP_0, &expected, &format!("{flush} {layer:?} {average:?}"));
    }

    /// PDP flushes nothing of what comes on the fly, whatever its register says.
    #[test]
    fn sdp_into_pdp_leaves_the_references_bytes(seed: u64, flush: bool) {
        let mut draw = Draw::floats("nv_full", seed, 60);
        let mut sdp = with_numbers(draw.sdp(false));
        sdp.ew = sdp.ew.map(|ew| Elementwise { lut: false, ..ew });
        let pdp = draw.pdp_behind(&sdp);
        let average = average(&pdp);
        let mut expected = draw.image();
        float::run_sdp_to_pdp(&sdp, &pdp, &average, &mut expected);
        let write = |program: &mut Program| {
            program.pdp(&pdp, 0);
            program.as_floats();
            program.average_of_floats(&average);
            if flush {
                program.flush_nan(false);
            }
            program.enable_pdp(&pdp, 0);
            program.sdp(&sdp, 0);
            program.as_floats();
            program.enable_sdp(0);
        };
        leaves(&draw, write, SDP_0 | PDP_0, &expected, &format!("{flush} {sdp:?} {pdp:?} {average:?}"));
    }

    #[test]
    fn cdp_leaves_the_references_bytes(seed: u64, flush: bool) {
        let mut draw = Draw::floats("nv_full", seed, 60);
        let layer = draw.cdp();
        let lut = table(&mut draw);
        let mut expected = draw.image();
        float::run_cdp(&layer, &lut, flush, &mut expected);
        let write = |program: &mut Program| {
            program.cdp_lut(&lut);
            program.cdp(&layer, 0);
            program.as_floats();
            if flush {
                program.flush_nan(true);
            }
            program.enable_cdp(0);
        };
        leaves(&draw, write, CDP_0, &expected, &format!("{flush} {layer:?} {lut:?}"));
    }

    #[test]
    fn convolutions_leave_the_references_bytes(seed: u64, is_image: bool, flush: bool, compresses: bool) {
        let mut draw = Draw::floats("nv_full", seed, 2000);
        let kind = if is_image { ConvolutionKind::Image } else { ConvolutionKind::Feature };
        let (layer, buffer) = draw.convolution_of(kind, compresses);
        let floats_in_memory = match &layer.input {
            ConvInput::Feature(_) => true,
            ConvInput::Pixels(pixels) => pixels.floats,
        };
        let layer = ConvLayer { floats_in_memory, ..layer };
        convolution_leaves(&draw, layer, &buffer, flush);
    }

    #[test]
    fn several_cubes_are_convolved_as_each_alone(seed: u64, flush: bool, compresses: bool) {
        let mut draw = Draw::floats("nv_full", seed, 2000);
        let (layer, buffer) = draw.convolution_of(ConvolutionKind::Batches, compresses);
        convolution_leaves(&draw, ConvLayer { floats_in_memory: true, ..layer }, &buffer, flush);
    }

    #[test]
    fn winograds_method_leaves_the_references_bytes(
        seed: u64,
        flush: bool,
        compresses: bool,
        special in 100u32..5000,
    ) {
        let mut draw = Draw::floats("nv_full", seed, special);
        let (layer, buffer) = draw.convolution_of(ConvolutionKind::Winograd, compresses);
        convolution_leaves(&draw, ConvLayer { floats_in_memory: true, ..layer }, &buffer, flush);
    }

    #[test]
    fn integer_features_become_floats_on_their_way_to_the_array(seed: u64) {
        let mut draw = Draw::floats("nv_full", seed, 2000);
        let (layer, buffer) = draw.convolution(false);
        let converter = layer.converter.unwrap_or([Converter { offset: 40, scale: -3, shift: 5 }; 4]);
        convolution_leaves(&draw, ConvLayer { converter: Some(converter), ..layer }, &buffer, false);
    }
}

/// Time at which a program of this draw is done, in cycles.
fn cycles(draw: &Draw, interrupts: u32, write: impl FnOnce(&mut Program)) -> u64 {
    let mut device = Device::new(draw.description());
    device.load(&draw.image());
    device.run_new(write);
    device.interrupts(interrupts);
    assert_eq!(device.warnings(), Vec::<String>::new());
    device.count("nvdla.cycles")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(20)))]

    /// Elements of two bytes, 16 kernels at once: what they mean takes no time but where they are added up and multiplied.
    #[test]
    fn layers_of_fp16_take_about_the_cycles_of_int16(seed: u64) {
        let mut draw = Draw::floats("nv_full", seed, 2000);
        let (convolution, buffer) = draw.convolution(false);
        let (pdp, cdp) = (draw.pdp(), draw.cdp());
        let run = |floats: bool| {
            let of = |interrupts, write: &dyn Fn(&mut Program), enable: &dyn Fn(&mut Program)| {
                cycles(&draw, interrupts, |program| {
                    write(program);
                    if floats {
                        program.as_floats();
                        program.convolve_floats();
                    }
                    enable(program);
                })
            };
            [
                of(
                    CONVOLUTION_0,
                    &|program| program.convolution(&convolution, &buffer, 0),
                    &|program| program.enable_convolution(&convolution, 0, true),
                ),
                of(PDP_0, &|program| program.pdp(&pdp, 0), &|program| program.enable_pdp(&pdp, 0)),
                of(CDP_0, &|program| program.cdp(&cdp, 0), &|program| program.enable_cdp(0)),
            ]
        };
        let ([floats, float_pools, float_norms], [integers, pools, norms]) = (run(true), run(false));
        // CACC adds numbers up in two cycles more, and an average of PDP takes 19 more.
        let average = if matches!(pdp.method, PoolingMethod::Average { .. }) { 19 } else { 0 };
        for (floats, integers, later) in [(floats, integers, 2), (float_pools, pools, average)] {
            prop_assert!((integers..=integers + later).contains(&floats), "{floats} and {integers} cycles");
        }
        prop_assert!(float_norms >= norms, "{float_norms} and {norms} cycles");
    }
}

fn convolution_leaves(draw: &Draw, mut layer: ConvLayer, buffer: &BufferUse, flush: bool) {
    layer.padding = if layer.padding > 0 { 0x3400 + layer.padding } else { 0 };
    layer.sdp = with_numbers(layer.sdp);
    let mut expected = draw.image();
    float::run_convolution(&layer, flush, &mut expected);
    let write = |program: &mut Program| {
        program.convolution(&layer, buffer, 0);
        program.as_floats();
        if layer.floats_in_memory {
            program.convolve_floats();
        }
        if flush {
            program.flush_nan(false);
        }
        program.enable_convolution(&layer, 0, true);
    };
    leaves(draw, write, CONVOLUTION_0, &expected, &format!("{flush} {layer:?} {buffer:?}"));
}
