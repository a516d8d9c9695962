//! A few plain layers on nv_small, for tests of anything but arithmetic.

use vp_models::nvdla::config::Config;

use crate::program::{BufferUse, Program};
use crate::reference::{
    Alu, Carries, CdpLayer, ConvInput, ConvLayer, Converter, CubePlace, Format, Image, Lut, LutTable, Mode,
    Operand, Operands, PdpLayer, PoolingMethod, SdpLayer, Stage, StageAlu, WeightOrder,
};

/// Address of weights.
pub const WEIGHTS: u64 = 0x8018_0000;
/// Eight channels in an atom.
pub const SMALL: Format = Format { atom: 8, element: 1 };
/// Address of inputs.
pub const INPUT: u64 = 0x8000_0000;
/// Address of second inputs.
pub const OPERANDS: u64 = 0x8010_0000;
/// Address of outputs.
pub const OUTPUT: u64 = 0x8020_0000;
/// SDP is done with group 0.
pub const SDP_0: u32 = 0x1;
/// SDP is done with group 1.
pub const SDP_1: u32 = 0x2;
/// PDP is done with group 0.
pub const PDP_0: u32 = 0x10;
/// PDP is done with group 1.
pub const PDP_1: u32 = 0x20;
/// CDP is done with group 0.
pub const CDP_0: u32 = 0x4;
/// CDP is done with group 1.
pub const CDP_1: u32 = 0x8;
/// CDMA has read the input of group 0.
pub const CDMA_DAT_0: u32 = 0x1_0000;
/// CDMA has read the weights of group 0.
pub const CDMA_WT_0: u32 = 0x4_0000;
/// CACC is done with group 0.
pub const CACC_0: u32 = 0x10_0000;
/// All that a convolution in group 0 raises; that of group 1 is one further left.
pub const CONV_0: u32 = CDMA_DAT_0 | CDMA_WT_0 | CACC_0;

/// A cube of one surface without gaps.
pub fn packed(base: u64, width: u32, height: u32) -> CubePlace {
    CubePlace { base, line: 8 * width, surface: 8 * width * height }
}

/// SDP from memory to memory; what comes out is twice what goes in, saturated.
pub fn doubling(width: u32, height: u32, source: u64, destination: u64) -> SdpLayer {
    SdpLayer {
        format: SMALL,
        width,
        height,
        channels: 8,
        source: packed(source, width, height),
        bs: None,
        bn: None,
        ew: None,
        converter: Converter { offset: 0, scale: 2, shift: 0 },
        destination: Some(packed(destination, width, height)),
    }
}

/// Returns the layer with a second cube added in BS, element by element.
pub fn with_operands(layer: &SdpLayer) -> SdpLayer {
    let place = packed(OPERANDS, layer.width, layer.height);
    let operands = Operands { carries: Carries::Alu, bytes: 1, per_element: true, place };
    let alu = StageAlu { operation: Alu::Sum, operand: Operand::Memory, shift: 0 };
    let bs = Stage { alu: Some(alu), multiplier: None, shift: 0, relu: false, operands: Some(operands) };
    SdpLayer { bs: Some(bs), ..layer.clone() }
}

/// Max pooling, 2 x 2 windows every 2 pixels.
pub fn halving(width: u32, height: u32, source: Option<u64>, destination: u64) -> PdpLayer {
    PdpLayer {
        format: SMALL,
        width,
        height,
        channels: 8,
        method: PoolingMethod::Max,
        kernel: [2, 2],
        stride: [2, 2],
        before: [0, 0],
        after: [0, 0],
        source: source.map(|base| packed(base, width, height)),
        destination: packed(destination, width / 2, height / 2),
        strips: Vec::new(),
    }
}

/// Some memory with something in it.
pub fn image(inputs: &[(u64, usize)], outputs: &[(u64, usize)]) -> Image {
    let filled = |(base, size): &(u64, usize)| {
        (*base, (0..*size as u64).map(|at| (at * 7 + base / 0x1000) as u8).collect())
    };
    let inputs = inputs.iter().map(filled);
    let outputs = outputs.iter().map(|(base, size)| (*base, vec![0xa5; *size]));
    Image::new(inputs.chain(outputs).collect())
}

/// Programs a layer of SDP and starts it.
pub fn start_sdp(layer: &SdpLayer, group: u32) -> impl Fn(&mut Program) {
    move |program| {
        program.sdp(layer, group);
        program.enable_sdp(group);
    }
}

/// Programs a layer of PDP and starts it.
pub fn start_pdp(layer: &PdpLayer, group: u32) -> impl Fn(&mut Program) {
    move |program| {
        program.pdp(layer, group);
        program.enable_pdp(layer, group);
    }
}

/// LRN over three channels; with [`squares`] each element is divided by 16 and multiplied with its window's square
/// sum.
pub fn normalising(width: u32, height: u32, source: u64, destination: u64) -> CdpLayer {
    CdpLayer {
        format: SMALL,
        width,
        height,
        channels: 8,
        window: 3,
        plain: false,
        unscaled: false,
        input: Converter { offset: 0, scale: 1, shift: 4 },
        output: Converter { offset: 0, scale: 1, shift: 0 },
        source: packed(source, width, height),
        destination: packed(destination, width, height),
    }
}

/// Tables that answer small inputs with themselves.
pub fn squares() -> Lut {
    let identity = |entries: i16| LutTable {
        entries: (0..entries).map(|entry| 4 * entry).collect(),
        start: 0,
        end: 4 * i32::from(entries),
        select: 2,
        below: (0, 0),
        above: (0, 0),
    };
    Lut { le: identity(65), lo: identity(257), exponent: None, lo_first: [false; 3] }
}

/// Eight kernels of 3 x 3 over eight channels, as many pixels out as in; then ReLU, and an eighth of it.
pub fn convolving(width: u32, height: u32, source: u64, destination: u64) -> ConvLayer {
    let relu = Stage { alu: None, multiplier: None, shift: 0, relu: true, operands: None };
    ConvLayer {
        format: SMALL,
        input: ConvInput::Feature(packed(source, width, height)),
        size: [width, height],
        channels: 8,
        kernel: [3, 3],
        stride: [1, 1],
        dilation: [1, 1],
        before: [1, 1],
        after: [1, 1],
        padding: 0,
        mode: Mode::default(),
        floats_in_memory: false,
        converter: None,
        kernels: 8,
        weights: WEIGHTS,
        order: WeightOrder { group: 8, block: 8, unit: 8 },
        rows_at_once: 1,
        truncate: 4,
        sdp: SdpLayer {
            bs: Some(relu),
            converter: Converter { offset: 0, scale: 1, shift: 3 },
            ..doubling(width, height, source, destination)
        },
    }
}

/// Programs a convolution with the layer of SDP behind it and starts both, SDP first as the driver does.
pub fn start_convolution(layer: &ConvLayer, group: u32) -> impl Fn(&mut Program) {
    let buffer = small_buffer(layer);
    move |program| {
        program.convolution(layer, &buffer, group);
        program.enable_convolution(layer, group, true);
    }
}

/// Returns how a convolution of nv_small uses its buffer: the least that it needs.
pub fn small_buffer(layer: &ConvLayer) -> BufferUse {
    BufferUse::least(&Config::named("nv_small").expect("a built-in configuration"), layer)
}

/// Programs a layer of CDP and starts it.
pub fn start_cdp(layer: &CdpLayer, group: u32) -> impl Fn(&mut Program) {
    move |program| {
        program.cdp(layer, group);
        program.enable_cdp(group);
    }
}
