//! Traces of convolutions: of feature cubes and of an image, alone and with what follows on the fly.

use rand::Rng as _;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::registers::cdma::D_DATAIN_FORMAT::PIXEL_FORMAT;

use super::{INPUT, OPERANDS, OUTPUT, OwnTrace, SMALL, Script, bytes, packed, plain_stage, sum_with_memory};
use crate::program::BufferUse;
use crate::reference::{
    self, Carries, ConvInput, ConvLayer, Converter, CubePlace, Format, Mode, Operands, PdpLayer, Pixels,
    PoolingMethod, SdpLayer, Stage, StageMultiplier, WeightOrder,
};

/// Address of weights.
pub(super) const WEIGHTS: u64 = 0x8003_0000;

/// All that a convolution reports, SDP's last.
const INTERRUPTS: [&str; 4] = ["CDMA_DAT_0", "CDMA_WT_0", "CACC_0", "SDP_0"];

/// Every trace of this file.
pub(super) fn all() -> Vec<OwnTrace> {
    vec![same_padding(), dilated(), full_window(), image(), on_nv_large(), with_pooling()]
}

/// A cube in, kernels without steps or padding, and what SDP does with the sums: nothing.
pub(super) fn plain(
    config: &str,
    format: Format,
    size: [u32; 2],
    channels: u32,
    kernel: [u32; 2],
    kernels: u32,
) -> ConvLayer {
    let config = Config::named(config).expect("a built-in configuration");
    let layer = ConvLayer {
        format,
        input: ConvInput::Feature(packed(INPUT, format, size[0], size[1])),
        size,
        channels,
        kernel,
        stride: [1, 1],
        dilation: [1, 1],
        before: [0, 0],
        after: [0, 0],
        padding: 0,
        mode: Mode::default(),
        floats_in_memory: false,
        converter: None,
        kernels,
        weights: WEIGHTS,
        order: WeightOrder {
            group: config.mac_atomic_k / format.element,
            block: config.mac_atomic_c,
            unit: 128,
        },
        rows_at_once: 1,
        truncate: 0,
        sdp: super::plain_sdp(1, 1, 1),
    };
    with_output(layer, Converter::NONE)
}

/// SDP takes as many pixels as the convolution makes.
pub(super) fn with_output(layer: ConvLayer, converter: Converter) -> ConvLayer {
    let [width, height] = layer.output_size();
    let sdp = SdpLayer {
        format: layer.format,
        width,
        height,
        channels: layer.kernels,
        destination: Some(packed(OUTPUT, layer.format, width, height)),
        converter,
        ..layer.sdp
    };
    ConvLayer { sdp, ..layer }
}

/// A bias of each kernel, then ReLU.
pub(super) fn bias_relu() -> Stage {
    let operands = Operands {
        carries: Carries::Alu,
        bytes: 2,
        per_element: false,
        place: CubePlace { base: OPERANDS, line: 0, surface: 0 },
    };
    Stage { alu: sum_with_memory(), relu: true, operands: Some(operands), ..plain_stage() }
}

pub(super) fn load_bias(script: &mut Script, layer: &ConvLayer, limit: i16) {
    let kernels = layer.format.whole(layer.kernels);
    let random = &mut script.random;
    let bias = (0..kernels).flat_map(|_| random.random_range(-limit..limit).to_le_bytes()).collect();
    script.load("Bias of each kernel", OPERANDS, "bs_operands.dat", bias);
}

fn load_input(script: &mut Script, layer: &ConvLayer) {
    let ([width, height], channels) = (layer.size, layer.channels);
    let size = match &layer.input {
        ConvInput::Feature(place) => bytes(*place, layer.format, channels),
        ConvInput::Pixels(pixels) => u64::from(pixels.planes[0].1) * u64::from(height),
    };
    let input = script.random_bytes(size);
    script.load(&format!("Input, {width} x {height} x {channels}"), INPUT, "input.dat", input);
    load_weights(script, layer);
}

/// Loads `count` cubes, `stride` bytes apart.
pub(super) fn load_features(script: &mut Script, layer: &ConvLayer, count: u32, stride: u32) {
    let ([width, height], channels) = (layer.size, layer.channels);
    let ConvInput::Feature(place) = &layer.input else { unreachable!("a feature cube") };
    let size = u64::from(stride) * u64::from(count - 1) + bytes(*place, layer.format, channels);
    let input = script.random_bytes(size);
    let cubes = if count > 1 { format!(", {count} cubes") } else { String::new() };
    script.load(&format!("Input, {width} x {height} x {channels}{cubes}"), INPUT, "input.dat", input);
}

pub(super) fn load_weights(script: &mut Script, layer: &ConvLayer) {
    let size = layer.weight_bytes();
    let weights = script.random_bytes(size.into());
    let [s, r] = layer.kernel;
    let what = format!("Weights of {} kernels, {s} x {r} x {}", layer.kernels, layer.channels);
    script.load(&what, layer.weights, "weights.dat", weights);
}

/// Programs the layer, starts it as a driver does, and has the reference say what comes out.
pub(super) fn run(mut script: Script, layer: &ConvLayer) -> OwnTrace {
    let config = Config::named(script.config).expect("a built-in configuration");
    let buffer = BufferUse::least(&config, layer);
    let output = layer.sdp.destination.expect("to memory");
    let others =
        layer.mode.batches.map_or(0, |batches| u64::from(batches.output) * u64::from(batches.count - 1));
    script.clear("Output", output.base, others + bytes(output, layer.format, layer.kernels));
    script.program("The layer", |program| program.convolution(layer, &buffer, 0));
    script.program("Start: consumers first", |program| program.enable_convolution(layer, 0, true));
    script.finish(&INTERRUPTS, |image| reference::run_convolution(layer, image))
}

fn same_padding() -> OwnTrace {
    let mut script = Script::new(
        "nv_small",
        "conv_3x3_bias_relu_9x7x12x20",
        &[
            "Convolution of a 9 x 7 x 12 feature cube with 20 kernels of 3 x 3, a pixel of padding all around; SDP",
            "adds a bias of each kernel and takes ReLU. 12 channels are a block and a half, 20 kernels two groups and",
            "a half.",
        ],
    );
    let layer = plain("nv_small", SMALL, [9, 7], 12, [3, 3], 20);
    let sdp = SdpLayer { bs: Some(bias_relu()), ..layer.sdp.clone() };
    let layer = ConvLayer { before: [1, 1], after: [1, 1], sdp, ..layer };
    let layer = with_output(layer, Converter { offset: 0, scale: 1, shift: 10 });
    load_input(&mut script, &layer);
    load_bias(&mut script, &layer, i16::MAX);
    run(script, &layer)
}

fn dilated() -> OwnTrace {
    let mut script = Script::new(
        "nv_small",
        "conv_3x2_s2x3_dilated_17x16x8x8",
        &[
            "Convolution of a 17 x 16 x 8 feature cube with 8 kernels of 3 x 2, every 2nd pixel of every 3rd line,",
            "taps 3 pixels and 2 lines apart. Padding is unequal, and counts as -23. CACC shifts right by 3.",
        ],
    );
    let layer = ConvLayer {
        stride: [2, 3],
        dilation: [3, 2],
        before: [2, 0],
        after: [1, 1],
        padding: -23,
        mode: Mode::default(),
        floats_in_memory: false,
        truncate: 3,
        ..plain("nv_small", SMALL, [17, 16], 8, [3, 2], 8)
    };
    let layer = with_output(layer, Converter { offset: -4, scale: 3, shift: 8 });
    load_input(&mut script, &layer);
    run(script, &layer)
}

fn full_window() -> OwnTrace {
    let mut script = Script::new(
        "nv_small",
        "conv_fully_connected_4x4x16x40",
        &[
            "A fully connected layer: kernels as large as the 4 x 4 x 16 input, so that 40 numbers come out. The input",
            "is converted on its way: minus 5, times 3, shifted right by 2.",
        ],
    );
    let converter = Some([Converter { offset: 5, scale: 3, shift: 2 }; 4]);
    let layer = ConvLayer { converter, ..plain("nv_small", SMALL, [4, 4], 16, [4, 4], 40) };
    let layer = with_output(layer, Converter { offset: 0, scale: 1, shift: 11 });
    load_input(&mut script, &layer);
    run(script, &layer)
}

fn image() -> OwnTrace {
    let mut script = Script::new(
        "nv_small",
        "conv_image_a8b8g8r8_5x5_s2_22x18x16",
        &[
            "Convolution of a 22 x 18 image, A8B8G8R8 with unsigned bytes, a pixel into its first atom, with 16 kernels",
            "of 5 x 5, every 2nd pixel and line, 2 pixels of padding before. The mean of each colour is subtracted, the",
            "difference halved.",
        ],
    );
    let line = ((1 + 22) * 4_u32).next_multiple_of(8);
    let pixels = Pixels {
        code: PIXEL_FORMAT::T_A8B8G8R8,
        element: 1,
        components: [4, 0],
        channels: (0..4).map(|component| (0, component)).collect(),
        packed: None,
        floats: false,
        planes: [(INPUT, line), (0, 0)],
        offset: 1,
        signed: false,
    };
    let layer = ConvLayer {
        input: ConvInput::Pixels(pixels),
        stride: [2, 2],
        before: [2, 2],
        after: [1, 2],
        converter: Some([110, 120, 130, 0].map(|offset| Converter { offset, scale: 1, shift: 1 })),
        ..plain("nv_small", SMALL, [22, 18], 4, [5, 5], 16)
    };
    let sdp = SdpLayer { bs: Some(bias_relu()), ..layer.sdp.clone() };
    let layer = with_output(ConvLayer { sdp, ..layer }, Converter { offset: 0, scale: 5, shift: 12 });
    load_input(&mut script, &layer);
    load_bias(&mut script, &layer, 20_000);
    run(script, &layer)
}

fn on_nv_large() -> OwnTrace {
    let format = Format { atom: 32, element: 1 };
    let mut script = Script::new(
        "nv_large",
        "conv_3x3_bias_relu_6x5x70x40",
        &[
            "Convolution of a 6 x 5 x 70 feature cube with 40 kernels of 3 x 3 on an array of 64 x 32: 70 channels are",
            "a block and a bit, 40 kernels a group and a quarter. SDP adds a bias of each kernel and takes ReLU.",
        ],
    );
    let layer = plain("nv_large", format, [6, 5], 70, [3, 3], 40);
    let sdp = SdpLayer { bs: Some(bias_relu()), ..layer.sdp.clone() };
    let layer = ConvLayer { before: [1, 1], after: [1, 1], sdp, ..layer };
    let layer = with_output(layer, Converter { offset: 0, scale: 1, shift: 11 });
    load_input(&mut script, &layer);
    load_bias(&mut script, &layer, i16::MAX);
    run(script, &layer)
}

fn with_pooling() -> OwnTrace {
    let mut script = Script::new(
        "nv_small",
        "conv_sdp_pdp_3x3_prelu_maxpool_12x10x8x16",
        &[
            "The first layers of a network in one go: convolution of a 12 x 10 x 8 cube with 16 kernels of 3 x 3, SDP",
            "with a bias of each kernel (BS) and a parametric ReLU (BN), PDP with the maximum of 2 x 2 windows. Nothing",
            "but the pooled cube goes to memory. PDP is started first, CDMA last.",
        ],
    );
    let layer = plain("nv_small", SMALL, [12, 10], 8, [3, 3], 16);
    let prelu = StageMultiplier { operand: reference::Operand::Register(3), prelu: true };
    let sdp = SdpLayer {
        bs: Some(Stage { relu: false, ..bias_relu() }),
        bn: Some(Stage { multiplier: Some(prelu), shift: 4, ..plain_stage() }),
        ..layer.sdp.clone()
    };
    let layer = ConvLayer { before: [1, 1], after: [1, 1], sdp, ..layer };
    let mut layer = with_output(layer, Converter { offset: 0, scale: 1, shift: 10 });
    layer.sdp.destination = None;
    let [width, height] = layer.output_size();
    let pdp = PdpLayer {
        format: SMALL,
        width,
        height,
        channels: layer.kernels,
        method: PoolingMethod::Max,
        kernel: [2, 2],
        stride: [2, 2],
        before: [0, 0],
        after: [0, 0],
        source: None,
        destination: packed(OUTPUT, SMALL, width / 2, height / 2),
        strips: Vec::new(),
    };
    load_input(&mut script, &layer);
    load_bias(&mut script, &layer, i16::MAX);
    let config = Config::named(script.config).expect("a built-in configuration");
    let buffer = BufferUse::least(&config, &layer);
    script.clear("Output, 6 x 5 x 16", OUTPUT, bytes(pdp.destination, SMALL, layer.kernels));
    script.program("Pooling, input from SDP", |program| program.pdp(&pdp, 0));
    script.program("Start of PDP", |program| program.enable_pdp(&pdp, 0));
    script.program("Convolution and SDP, output to PDP", |program| program.convolution(&layer, &buffer, 0));
    script.program("Start: consumers first", |program| program.enable_convolution(&layer, 0, true));
    let interrupts = [&INTERRUPTS[..], &["PDP_0"]].concat();
    script.finish(&interrupts, |image| reference::run_convolution_to_pdp(&layer, &pdp, image))
}
