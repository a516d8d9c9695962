//! A whole network, tensor by tensor: no memory, no surfaces, no groups of kernels.
//!
//! Plain loops over line, column and channel; lines are shared among threads, so that large networks can be held to it.

use rayon::prelude::*;
use vp_models::host::network::{
    Activation, Converter, Convolution, Method, Network, NetworkLayer, Normalisation, Operation, Pooling,
    Shape, Sum, Window,
};

use super::cdp::look_up;
use super::{Lut, LutTable, PdpLayer, saturate, shift_rounding};

/// The output of a network of int8 layers for an input `[line][column][channel]`.
pub fn run_network(network: &Network, input: &[i8]) -> Vec<i8> {
    run_layers(network, input).pop().expect("a network has layers")
}

/// What each layer of a network makes.
pub fn run_layers(network: &Network, input: &[i8]) -> Vec<Vec<i8>> {
    let mut outputs: Vec<Vec<i8>> = Vec::new();
    for layer in &network.layers {
        let of = |source: &Option<usize>| source.map_or(input, |source| outputs[source].as_slice());
        let inputs: Vec<&[i8]> = layer.sources.iter().map(of).collect();
        let shapes: Vec<Shape> = layer.sources.iter().map(|source| network.shape(*source)).collect();
        outputs.push(run_layer(layer, &inputs, &shapes));
    }
    outputs
}

fn run_layer(layer: &NetworkLayer, inputs: &[&[i8]], shapes: &[Shape]) -> Vec<i8> {
    match &layer.operation {
        Operation::Convolution(convolution) => each(layer, |y, x, kernel, at| {
            let sum = convolved(convolution, inputs[0], layer.input, [y, x], kernel);
            let added = inputs.get(1).map(|added| added[at]);
            finished(convolution, kernel, sum, added)
        }),
        Operation::Pooling(pooling) => each(layer, |y, x, channel, _| {
            pooled(pooling, |row, column| {
                element(inputs[0], layer.input, pooling.window, [y, x], [row, column, channel])
            })
        }),
        Operation::Sum(sum) => each(layer, |_, _, _, at| summed(sum, inputs[0][at], inputs[1][at])),
        Operation::Concatenation => {
            let mut parts: Vec<_> = inputs
                .iter()
                .zip(shapes)
                .map(|(input, shape)| input.chunks_exact(shape.channels as usize))
                .collect();
            let pixels = layer.output.width * layer.output.height;
            (0..pixels)
                .flat_map(|_| {
                    parts.iter_mut().flat_map(|part| part.next().expect("a pixel")).collect::<Vec<_>>()
                })
                .copied()
                .collect()
        }
        Operation::Normalisation(normalisation) => {
            let lut = tables(normalisation);
            let channels = layer.input.channels as usize;
            each(layer, |_, _, channel, at| {
                normalised(
                    normalisation,
                    &lut,
                    &inputs[0][at - channel as usize..][..channels],
                    channel as usize,
                )
            })
        }
        Operation::Upsampling(factor) => each(layer, |y, x, channel, _| {
            let Shape { width, channels, .. } = layer.input;
            inputs[0][(((y / factor) * width + x / factor) * channels + channel) as usize]
        }),
        Operation::SoftMax(softmax) => {
            let scale = f64::from(softmax.scale) / 65536.0;
            let pixels = inputs[0].chunks_exact(layer.input.channels as usize);
            pixels.flat_map(|scores| shares(scores, scale)).collect()
        }
        Operation::Constant(elements) => elements.clone(),
    }
}

/// An output of its elements: of line, column, channel and place.
fn each(layer: &NetworkLayer, element: impl Fn(u32, u32, u32, usize) -> i8 + Sync) -> Vec<i8> {
    let Shape { width, channels, .. } = layer.output;
    let mut output = vec![0; layer.output.elements()];
    let line = (width * channels) as usize;
    output.par_chunks_mut(line).enumerate().for_each(|(y, elements)| {
        for (at, place) in elements.iter_mut().enumerate() {
            let (x, channel) = (at as u32 / channels, at as u32 % channels);
            *place = element(y as u32, x, channel, y * line + at);
        }
    });
    output
}

/// Line and column under row and column of the window of an output; none in the padding.
fn under(shape: Shape, window: Window, [y, x]: [u32; 2], [row, column]: [u32; 2]) -> Option<usize> {
    let y = (y * window.stride[1] + row).checked_sub(window.before[1]).filter(|y| *y < shape.height)?;
    let x = (x * window.stride[0] + column).checked_sub(window.before[0]).filter(|x| *x < shape.width)?;
    Some(((y * shape.width + x) * shape.channels) as usize)
}

fn element(
    input: &[i8],
    shape: Shape,
    window: Window,
    output: [u32; 2],
    [row, column, channel]: [u32; 3],
) -> Option<i128> {
    under(shape, window, output, [row, column]).map(|pixel| input[pixel + channel as usize].into())
}

fn convolved(convolution: &Convolution, input: &[i8], shape: Shape, output: [u32; 2], kernel: u32) -> i64 {
    let [columns, rows] = convolution.window.size;
    let seen = (shape.channels / convolution.groups) as usize;
    let group = (kernel / (convolution.kernels / convolution.groups)) as usize;
    let mut sum = 0;
    for row in 0..rows {
        for column in 0..columns {
            let Some(pixel) = under(shape, convolution.window, output, [row, column]) else { continue };
            let tap = ((kernel * rows + row) * columns + column) as usize * seen;
            let (weights, elements) =
                (&convolution.weights[tap..tap + seen], &input[pixel + group * seen..][..seen]);
            // Even 8192 products of bytes are no more than 31 bits.
            let products = weights.iter().zip(elements).map(|(w, x)| i32::from(*w) * i32::from(*x));
            sum += i64::from(products.sum::<i32>());
        }
    }
    sum
}

fn activated(sum: i128, activation: Activation) -> i128 {
    match activation {
        Activation::None => sum,
        Activation::Relu => sum.max(0),
        Activation::Leaky { .. } if sum >= 0 => sum,
        Activation::Leaky { scale, shift } => {
            saturate(shift_rounding(sum * i128::from(scale), shift as i32), 32)
        }
    }
}

fn converted(sum: i128, Converter { offset, scale, shift }: Converter) -> i8 {
    let scaled = (sum - i128::from(offset)) * i128::from(scale);
    saturate(shift_rounding(scaled, shift as i32), 8) as i8
}

fn finished(convolution: &Convolution, kernel: u32, sum: i64, added: Option<i8>) -> i8 {
    let mut sum = saturate(sum.into(), 32);
    if let Some(bias) = &convolution.bias {
        sum += saturate(i128::from(bias.values[kernel as usize]) << bias.shift, 32);
    }
    sum = saturate(sum, 32);
    if let (Some(shift), Some(added)) = (convolution.added, added) {
        sum = saturate(sum + saturate(i128::from(added) << shift, 32), 32);
    }
    converted(activated(sum, convolution.activation), convolution.converter)
}

fn summed(sum: &Sum, first: i8, second: i8) -> i8 {
    let first = saturate(i128::from(first) * i128::from(sum.scale), 32);
    let both = saturate(first + saturate(i128::from(second) << sum.shift, 32), 32);
    converted(activated(both, sum.activation), sum.converter)
}

fn pooled(pooling: &Pooling, input: impl Fn(u32, u32) -> Option<i128>) -> i8 {
    let [columns, rows] = pooling.window.size;
    let under = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let inside = under.filter_map(|(row, column)| input(row, column));
    let pooled = match pooling.method {
        Method::Max => inside.max().expect("a window over the input"),
        Method::Min => inside.min().expect("a window over the input"),
        Method::Average => {
            let mean = |sum, size| shift_rounding(sum * i128::from(PdpLayer::reciprocal(size)), 16);
            mean(mean(inside.sum(), columns), rows)
        }
    };
    pooled as i8
}

/// Near answers count as far as they reach.
fn tables(normalisation: &Normalisation) -> Lut {
    let table = |entries: &[i16], step: u32| LutTable {
        entries: entries.to_vec(),
        start: 0,
        end: (entries.len() as i32 - 1) << step,
        select: step as i32,
        below: (0, 0),
        above: (0, 0),
    };
    Lut {
        le: table(&normalisation.near, normalisation.near_step),
        lo: table(&normalisation.far, normalisation.far_step),
        exponent: None,
        lo_first: [false, true, false],
    }
}

fn normalised(normalisation: &Normalisation, lut: &Lut, pixel: &[i8], channel: usize) -> i8 {
    let reach = normalisation.channels as usize / 2;
    let window = &pixel[channel.saturating_sub(reach)..(channel + reach + 1).min(pixel.len())];
    let sum = window.iter().map(|&x| i64::from(x).pow(2)).sum();
    converted(look_up(lut, sum) * i128::from(pixel[channel]), normalisation.converter)
}

fn shares(scores: &[i8], scale: f64) -> Vec<i8> {
    let most = f64::from(*scores.iter().max().expect("a channel"));
    let powers: Vec<f64> = scores.iter().map(|&score| (scale * (f64::from(score) - most)).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| (127.0 * power / sum).round() as i8).collect()
}
