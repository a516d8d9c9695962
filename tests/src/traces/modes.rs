//! Traces of convolutions in the modes that only the larger configurations have.

use super::conv::{self, WEIGHTS};
use super::{OUTPUT, OwnTrace, Script, bytes};
use crate::compression::{Streams, compress};
use crate::reference::{
    Batches, Compressed, ConvInput, ConvLayer, Converter, Format, Mode, SdpLayer, WeightOrder, Winograd,
};

const LARGE: Format = Format { atom: 32, element: 1 };

/// Every trace of this file.
pub(super) fn all() -> Vec<OwnTrace> {
    vec![compressed(), batches(), winograd()]
}

fn compressed() -> OwnTrace {
    let mut script = Script::new(
        "nv_large",
        "conv_compressed_3x3_6x6x40x50",
        &[
            "Convolution of a 6 x 6 x 40 feature cube with 50 kernels of 3 x 3, of whose weights a third is zero and left",
            "out: their masks (WMB) and the sizes of the two groups of kernels (WGS) lie beside them.",
        ],
    );
    let layer = conv::plain("nv_large", LARGE, [6, 6], 40, [3, 3], 50);
    let mut layer = conv::with_output(layer, Converter { offset: 0, scale: 1, shift: 11 });
    let size = layer.kernels * layer.kernel_bytes();
    let mut kernels = script.random_bytes(size.into());
    for (index, weight) in kernels.iter_mut().enumerate() {
        *weight = if index % 7 < 2 || index % 31 == 0 { 0 } else { *weight };
    }
    let group = (layer.order.group * layer.kernel_bytes()) as usize;
    let Streams { weights, mask, sizes } = compress(&kernels, 1, group, || false);
    let (at, extent) = (|place: u64| WEIGHTS + 0x1_0000 * place, |stream: &[u8]| stream.len() as u32);
    let parts = Compressed { weights: (at(1), extent(&weights)), mask: (at(2), extent(&mask)), sizes: at(3) };
    layer.mode = Mode { compressed: Some(parts), ..Mode::default() };
    conv::load_features(&mut script, &layer, 1, 0);
    script.load("Weights that are not zero", parts.weights.0, "weights.dat", weights);
    script.load("Which weights these are, a bit for each", parts.mask.0, "masks.dat", mask);
    script.load("How many bytes of them each group of kernels has", parts.sizes, "sizes.dat", sizes);
    // Only the reference reads them as they were.
    script.remember(WEIGHTS, kernels);
    conv::run(script, &layer)
}

fn batches() -> OwnTrace {
    let mut script = Script::new(
        "nv_large",
        "conv_batch3_2x2_5x4x64x40",
        &[
            "Convolution of three 5 x 4 x 64 feature cubes at once with 40 kernels of 2 x 2. The cubes and their outputs lie",
            "apart.",
        ],
    );
    let layer = conv::plain("nv_large", LARGE, [5, 4], 64, [2, 2], 40);
    let mut layer = conv::with_output(layer, Converter { offset: 0, scale: 1, shift: 11 });
    let ConvInput::Feature(input) = layer.input else { unreachable!("a feature cube") };
    let output = layer.sdp.destination.expect("to memory");
    let stride = |bytes: u64| bytes as u32 + 2 * LARGE.atom;
    let batches = Batches {
        count: 3,
        input: stride(bytes(input, LARGE, layer.channels)),
        output: stride(bytes(output, LARGE, layer.kernels)),
    };
    layer.mode = Mode { batches: Some(batches), ..Mode::default() };
    conv::load_features(&mut script, &layer, batches.count, batches.input);
    conv::load_weights(&mut script, &layer);
    conv::run(script, &layer)
}

fn winograd() -> OwnTrace {
    let mut script = Script::new(
        "nv_large",
        "conv_winograd_8x8x64x40",
        &[
            "Convolution of an 8 x 8 x 64 feature cube by Winograd's method, with a pixel of padding left and above: 40",
            "kernels that lie in memory transformed to 4 x 4. Transformed tiles are halved.",
        ],
    );
    let layer = conv::plain("nv_large", LARGE, [8, 8], 64, [4, 4], 40);
    let order = WeightOrder { block: 4, ..layer.order };
    let winograd = Some(Winograd { truncate: 1, step: [1, 1] });
    let mode = Mode { winograd, ..Mode::default() };
    let layer = ConvLayer { before: [1, 1], after: [3, 3], order, mode, ..layer };
    let layer = conv::with_output(layer, Converter { offset: 0, scale: 1, shift: 12 });
    let sdp = SdpLayer { bs: Some(conv::bias_relu()), ..layer.sdp.clone() };
    let layer = ConvLayer { sdp, ..layer };
    conv::load_features(&mut script, &layer, 1, 0);
    conv::load_weights(&mut script, &layer);
    conv::load_bias(&mut script, &layer, i16::MAX);
    assert_eq!(layer.sdp.destination.expect("to memory").base, OUTPUT);
    conv::run(script, &layer)
}
