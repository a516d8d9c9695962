//! A whole network, tensor by tensor: no memory, no surfaces, no groups of kernels.
//!
//! Plain loops over line, column and channel; lines are shared among threads, so that large networks can be held to it.

use rayon::prelude::*;
use std::collections::BTreeSet;
use vp_host::network::{
    Activation, Bias, ChannelProduct, Converter, Convolution, Elementwise, Function, Interleaving, LookUp,
    Method, Network, NetworkLayer, Normalisation, Operation, PairMethod, Pooling, Scales, Scaling, Shape,
    Slice, Slope, Sum, Window,
};
use vp_models::nvdla::numeric::Precision;

use super::cdp::look_up;
use super::cpu::evaluated;
use super::float::run_layer_of_floats;
use super::tiles::Tiles;
use super::{Lut, LutTable, PdpLayer, saturate, shift_rounding};

/// The last output of a network for an input `[line][column][channel]`: the bytes of each element.
pub fn run_network(network: &Network, input: &[i8]) -> Vec<i8> {
    run_outputs(network, input).pop().expect("a network has outputs")
}

/// All outputs of a network.
pub fn run_outputs(network: &Network, input: &[i8]) -> Vec<Vec<i8>> {
    let layers = run_layers(network, input);
    network.outputs.iter().map(|&layer| layers[layer].clone()).collect()
}

/// Outputs of all layers of a network.
pub fn run_layers(network: &Network, input: &[i8]) -> Vec<Vec<i8>> {
    run_layers_by(network, input, &[])
}

/// Outputs of all layers of a network, where convolutions of these places are computed by Winograd's method.
pub fn run_layers_by(network: &Network, input: &[i8], winograd: &[usize]) -> Vec<Vec<i8>> {
    let mut outputs: Vec<Vec<i8>> = Vec::new();
    for (place, layer) in network.layers.iter().enumerate() {
        let of = |source: &Option<usize>| source.map_or(input, |source| outputs[source].as_slice());
        let inputs: Vec<&[i8]> = layer.sources.iter().map(of).collect();
        let shapes: Vec<Shape> = layer.sources.iter().map(|source| network.shape(*source)).collect();
        outputs.push(match network.precision {
            Precision::Int8 => run_layer::<i8>(layer, &inputs, &shapes, winograd.contains(&place)),
            Precision::Int16 => run_layer::<i16>(layer, &inputs, &shapes, winograd.contains(&place)),
            Precision::Fp16 => run_layer_of_floats(layer, &inputs, &shapes, winograd.contains(&place)),
        });
    }
    outputs
}

/// An integer of features and weights.
pub(super) trait Integer: Copy + Default + Send + Sync + Into<i64> {
    const BITS: u32;

    fn of(value: i128) -> Self;
    fn read(bytes: &[i8]) -> Vec<Self>;
    fn bytes(elements: &[Self]) -> Vec<i8>;
    /// The sum of the products.
    fn products(weights: &[Self], elements: &[Self]) -> i64;
}

impl Integer for i8 {
    const BITS: u32 = 8;

    fn of(value: i128) -> i8 {
        value as i8
    }

    fn read(bytes: &[i8]) -> Vec<i8> {
        bytes.to_vec()
    }

    fn bytes(elements: &[i8]) -> Vec<i8> {
        elements.to_vec()
    }

    fn products(weights: &[i8], elements: &[i8]) -> i64 {
        // Even 8192 products of bytes are no more than 31 bits.
        let products = weights.iter().zip(elements).map(|(w, x)| i32::from(*w) * i32::from(*x));
        i64::from(products.sum::<i32>())
    }
}

impl Integer for i16 {
    const BITS: u32 = 16;

    fn of(value: i128) -> i16 {
        value as i16
    }

    fn read(bytes: &[i8]) -> Vec<i16> {
        bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0] as u8, pair[1] as u8])).collect()
    }

    fn bytes(elements: &[i16]) -> Vec<i8> {
        elements.iter().flat_map(|element| element.to_le_bytes()).map(|byte| byte as i8).collect()
    }

    fn products(weights: &[i16], elements: &[i16]) -> i64 {
        weights.iter().zip(elements).map(|(w, x)| i64::from(*w) * i64::from(*x)).sum()
    }
}

fn run_layer<E: Integer>(
    layer: &NetworkLayer,
    inputs: &[&[i8]],
    shapes: &[Shape],
    by_winograd: bool,
) -> Vec<i8> {
    let inputs: Vec<Vec<E>> = inputs.iter().map(|input| E::read(input)).collect();
    E::bytes(&made(layer, &inputs, shapes, by_winograd))
}

fn made<E: Integer>(layer: &NetworkLayer, inputs: &[Vec<E>], shapes: &[Shape], by_winograd: bool) -> Vec<E> {
    match &layer.operation {
        Operation::Convolution(convolution) => {
            let weights = E::read(&convolution.weights);
            let sizes = [layer.input, layer.output];
            let tiles = by_winograd.then(|| Tiles::of(convolution, &weights, &inputs[0], sizes));
            each(layer, |y, x, kernel, at| {
                let (sum, missing) = match &tiles {
                    Some(tiles) => (tiles.sum([y, x], kernel), tiles.missing),
                    None => {
                        let sum = convolved(convolution, &weights, &inputs[0], layer.input, [y, x], kernel);
                        (saturate(shift_rounding(sum.into(), convolution.truncate as i32), 32), 0)
                    }
                };
                let added = inputs.get(1).map(|added| added[at]);
                finished(convolution, kernel, (sum, missing), added)
            })
        }
        Operation::Pooling(pooling) => each(layer, |y, x, channel, _| {
            pooled(pooling, |row, column| {
                element(&inputs[0], layer.input, pooling.window, [y, x], [row, column, channel])
            })
        }),
        Operation::Sum(sum) => each(layer, |_, _, _, at| summed(sum, inputs[0][at], inputs[1][at])),
        Operation::Elementwise(Elementwise { method, converter }) => each(layer, |_, _, _, at| {
            let [first, second] = [0, 1].map(|of| i128::from(inputs[of][at].into()));
            converted(
                match method {
                    PairMethod::Multiply => first * second,
                    PairMethod::Maximum => first.max(second),
                    PairMethod::Minimum => first.min(second),
                },
                *converter,
            )
        }),
        Operation::Scaling(scaling) => {
            let Scaling { bias, scales, activation, look_up, converter } = scaling;
            let constants = Constants { bias: bias.as_ref(), scales: scales.as_ref(), activation };
            each(layer, |_, _, channel, at| {
                let element = i128::from(inputs[0][at].into());
                let made = constants.applied(element, 0, None, channel as usize);
                converted(looked_up(look_up.as_ref(), made), *converter)
            })
        }
        Operation::ChannelProduct(ChannelProduct { activation, converter }) => {
            each(layer, |_, _, channel, at| {
                let factors = [inputs[0][at], inputs[1][channel as usize]];
                let product = factors.into_iter().map(|it| i128::from(it.into())).product();
                converted(activated(saturate(product, 32), activation, channel as usize), *converter)
            })
        }
        Operation::Activation(function) => {
            each(layer, |_, _, _, at| answer(function, inputs[0][at].into().into()))
        }
        Operation::Concatenation => side_by_side(inputs, shapes),
        Operation::Normalisation(normalisation) => {
            // Slopes are none, so that the end does not count.
            let lut = tables(normalisation, |_, _| 0);
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
        Operation::Upsampling(factor) => enlarged(layer, &inputs[0], *factor),
        Operation::Interleaving(along) => interleaved(layer, inputs, *along),
        Operation::SoftMax(softmax) => {
            let scale = f64::from(softmax.scale) / 65536.0;
            // A step of int16 is a 256th of one of int8.
            let scale = scale / f64::from(1 << (E::BITS - 8));
            let pixels = inputs[0].chunks_exact(layer.input.channels as usize);
            pixels.flat_map(|scores| shares(scores, scale)).collect()
        }
        Operation::Cpu(program) => {
            let numbers = |input: &Vec<E>| input.iter().map(|&code| Into::<i64>::into(code) as f64).collect();
            let inputs: Vec<Vec<f64>> = inputs.iter().map(numbers).collect();
            let codes = evaluated(program, &inputs, shapes, layer.output, false).into_iter();
            codes.map(|code| E::of(saturate(code as i128, E::BITS))).collect()
        }
        Operation::Slice(slice) => part(layer, &inputs[0], slice),
        Operation::Constant(elements) => E::read(elements),
    }
}

/// The channels of each pixel, one part's behind the other's.
pub(super) fn side_by_side<E: Copy>(inputs: &[Vec<E>], shapes: &[Shape]) -> Vec<E> {
    let mut parts: Vec<_> =
        inputs.iter().zip(shapes).map(|(input, shape)| input.chunks_exact(shape.channels as usize)).collect();
    let pixels = shapes[0].width * shapes[0].height;
    (0..pixels)
        .flat_map(|_| parts.iter_mut().flat_map(|part| part.next().expect("a pixel")).collect::<Vec<_>>())
        .copied()
        .collect()
}

/// A box of a cube.
pub(super) fn part<E: Copy + Default + Send + Sync>(
    layer: &NetworkLayer,
    input: &[E],
    Slice { from }: &Slice,
) -> Vec<E> {
    each(layer, |y, x, channel, _| {
        let Shape { width, channels, .. } = layer.input;
        input[(((y + from[1]) * width + x + from[0]) * channels + channel + from[2]) as usize]
    })
}

/// Each pixel so many times.
pub(super) fn enlarged<E: Copy + Default + Send + Sync>(
    layer: &NetworkLayer,
    input: &[E],
    factor: u32,
) -> Vec<E> {
    each(layer, |y, x, channel, _| {
        let Shape { width, channels, .. } = layer.input;
        input[(((y / factor) * width + x / factor) * channels + channel) as usize]
    })
}

/// Columns or lines of cubes in turn.
pub(super) fn interleaved<E: Copy + Default + Send + Sync>(
    layer: &NetworkLayer,
    inputs: &[Vec<E>],
    along: Interleaving,
) -> Vec<E> {
    let count = inputs.len() as u32;
    each(layer, |y, x, channel, _| {
        let Shape { width, channels, .. } = layer.input;
        let (of, [x, y]) = match along {
            Interleaving::Columns => (x % count, [x / count, y]),
            Interleaving::Lines => (y % count, [x, y / count]),
        };
        inputs[of as usize][((y * width + x) * channels + channel) as usize]
    })
}

/// An output of its elements: of line, column, channel and place.
pub(super) fn each<E: Copy + Default + Send>(
    layer: &NetworkLayer,
    element: impl Fn(u32, u32, u32, usize) -> E + Sync,
) -> Vec<E> {
    let Shape { width, channels, .. } = layer.output;
    let mut output = vec![E::default(); layer.output.elements()];
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
pub(super) fn under(
    shape: Shape,
    window: Window,
    [y, x]: [u32; 2],
    [row, column]: [u32; 2],
) -> Option<usize> {
    let y = (y * window.stride[1] + row * window.dilation[1])
        .checked_sub(window.before[1])
        .filter(|y| *y < shape.height)?;
    let x = (x * window.stride[0] + column * window.dilation[0])
        .checked_sub(window.before[0])
        .filter(|x| *x < shape.width)?;
    Some(((y * shape.width + x) * shape.channels) as usize)
}

fn element<E: Integer>(
    input: &[E],
    shape: Shape,
    window: Window,
    output: [u32; 2],
    [row, column, channel]: [u32; 3],
) -> Option<i128> {
    under(shape, window, output, [row, column])
        .map(|pixel| i128::from(input[pixel + channel as usize].into()))
}

fn convolved<E: Integer>(
    convolution: &Convolution,
    weights: &[E],
    input: &[E],
    shape: Shape,
    output: [u32; 2],
    kernel: u32,
) -> i64 {
    let [columns, rows] = convolution.window.size;
    let seen = (shape.channels / convolution.groups) as usize;
    let group = (kernel / (convolution.kernels / convolution.groups)) as usize;
    let mut sum = 0;
    for row in 0..rows {
        for column in 0..columns {
            let tap = ((kernel * rows + row) * columns + column) as usize * seen;
            let weights = &weights[tap..tap + seen];
            sum += match under(shape, convolution.window, output, [row, column]) {
                Some(pixel) => E::products(weights, &input[pixel + group * seen..][..seen]),
                None => {
                    let weights = weights.iter().map(|&weight| -> i64 { weight.into() });
                    weights.sum::<i64>() * i64::from(convolution.padding)
                }
            };
        }
    }
    sum
}

/// Result of a sum of 33 bits: 32 bits, of which what a leaky activation passes on loses what is above.
fn activated(sum: i128, activation: &Activation, channel: usize) -> i128 {
    let negative = |scale: i16, shift: u32| match sum {
        0.. => (sum as i32).into(),
        _ => scaled(sum, scale, shift),
    };
    match *activation {
        Activation::None => saturate(sum, 32),
        Activation::Relu => saturate(sum, 32).max(0),
        Activation::Leaky { scale, shift } => negative(scale, shift),
        Activation::PRelu(ref slopes) => negative(slopes.values[channel], slopes.shift),
    }
}

/// A product, shifted right: 32 bits.
fn scaled(value: i128, scale: i16, shift: u32) -> i128 {
    saturate(shift_rounding(value * i128::from(scale), shift as i32), 32)
}

fn converted<E: Integer>(sum: i128, Converter { offset, scale, shift }: Converter) -> E {
    let scaled = (sum - i128::from(offset)) * i128::from(scale);
    E::of(saturate(shift_rounding(scaled, shift as i32), E::BITS))
}

/// Constants of SDP for each channel.
struct Constants<'a> {
    bias: Option<&'a Bias>,
    scales: Option<&'a Scales>,
    activation: &'a Activation,
}

/// A function of 32 bits by its table.
fn looked_up(table: Option<&LookUp>, value: i128) -> i128 {
    let Some(table) = table else { return value };
    let end = i128::from(table.start) + (256i128 << table.step);
    lut(table, saturate(end, 32) as i32, i32::MAX).look_up(value as i32).into()
}

/// The table alone: the other one of SDP's two holds no value.
pub(super) fn lut(table: &LookUp, end: i32, nowhere: i32) -> Lut {
    let slope = |slope: Slope| (slope.scale, slope.shift);
    let lo = LutTable {
        entries: table.values.clone(),
        start: table.start as u32 as i32,
        end,
        select: table.step,
        below: slope(table.below),
        above: slope(table.above),
    };
    let le = LutTable { start: nowhere, ..Lut::default().le };
    Lut { le, lo, exponent: None, lo_first: [true; 3] }
}

/// Of a sum that is so many bits too small the bias is as much smaller, and both together are brought to their size: with a scale by a
/// shift to the right that is as much less.
fn finished<E: Integer>(
    convolution: &Convolution,
    kernel: u32,
    (sum, missing): (i128, u32),
    added: Option<E>,
) -> E {
    let Convolution { bias, scales, activation, look_up, .. } = convolution;
    let constants = Constants { bias: bias.as_ref(), scales: scales.as_ref(), activation };
    let added = convolution.added.zip(added).map(|(shift, added)| i128::from(added.into()) << shift);
    let made = constants.applied(sum, missing, added, kernel as usize);
    converted(looked_up(look_up.as_ref(), made), convolution.converter)
}

impl Constants<'_> {
    fn applied(&self, sum: i128, missing: u32, added: Option<i128>, channel: usize) -> i128 {
        let mut sum = sum;
        if let Some(bias) = self.bias {
            let value = i128::from(bias.values[channel]);
            let smaller = shift_rounding(value, missing.saturating_sub(bias.shift) as i32);
            sum += saturate(smaller << bias.shift.saturating_sub(missing), 32);
        }
        if let Some(scales) = self.scales {
            sum = scaled(sum, scales.values[channel], scales.shift - missing);
        } else if missing > 0 {
            sum = saturate(sum << missing, 32);
        }
        if let Some(added) = added {
            sum = saturate(sum, 32) + saturate(added, 32);
        }
        activated(sum, self.activation, channel)
    }
}

fn summed<E: Integer>(sum: &Sum, first: E, second: E) -> E {
    let first = saturate(i128::from(first.into()) * i128::from(sum.scale), 32);
    let both = first + saturate(i128::from(second.into()) << sum.shift, 32);
    converted(activated(both, &sum.activation, 0), sum.converter)
}

fn answer<E: Integer>(function: &Function, element: i128) -> E {
    match *function {
        Function::Relu => E::of(element.max(0)),
        Function::Leaky { scale, shift } => {
            converted(activated(element, &Activation::Leaky { scale, shift }, 0), Converter::NONE)
        }
        Function::Clamp { low, high } => E::of(element.clamp(low.into(), high.into())),
        Function::Table(ref answers) => E::of(answers[(element + 128) as usize].into()),
    }
}

fn pooled<E: Integer>(pooling: &Pooling, input: impl Fn(u32, u32) -> Option<i128>) -> E {
    let [columns, rows] = pooling.window.size;
    let under = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let inside: Vec<(u32, u32, i128)> =
        under.filter_map(|(row, column)| Some((row, column, input(row, column)?))).collect();
    let elements = || inside.iter().map(|(_, _, element)| *element);
    let mean = |columns: u32, rows: u32| {
        let divided = |sum, size| shift_rounding(sum * i128::from(PdpLayer::reciprocal(size)), 16);
        divided(divided(elements().sum(), columns), rows)
    };
    let pooled = match pooling.method {
        Method::Max => elements().max().expect("a window over the input"),
        Method::Min => elements().min().expect("a window over the input"),
        Method::Average => mean(columns, rows),
        Method::Mean => {
            let columns: BTreeSet<u32> = inside.iter().map(|(_, column, _)| *column).collect();
            let rows: BTreeSet<u32> = inside.iter().map(|(row, _, _)| *row).collect();
            mean(columns.len() as u32, rows.len() as u32)
        }
    };
    E::of(pooled)
}

/// Near answers count as far as they reach. `end` is the end of a table of so many entries, `2^step` apart.
pub(super) fn tables(normalisation: &Normalisation, end: impl Fn(usize, u32) -> i32) -> Lut {
    let table = |entries: &[i16], step: u32| LutTable {
        entries: entries.to_vec(),
        start: 0,
        end: end(entries.len(), step),
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

fn normalised<E: Integer>(normalisation: &Normalisation, lut: &Lut, pixel: &[E], channel: usize) -> E {
    let reach = normalisation.channels as usize / 2;
    let window = &pixel[channel.saturating_sub(reach)..(channel + reach + 1).min(pixel.len())];
    let sum = window.iter().map(|&x| Into::<i64>::into(x).pow(2)).sum();
    converted(look_up(lut, sum) * i128::from(pixel[channel].into()), normalisation.converter)
}

fn shares<E: Integer>(scores: &[E], scale: f64) -> Vec<E> {
    let scores: Vec<f64> = scores.iter().map(|&score| Into::<i64>::into(score) as f64).collect();
    let whole = f64::from((1i32 << (E::BITS - 1)) - 1);
    softmax(&scores, scale).into_iter().map(|share| E::of((whole * share).round() as i128)).collect()
}

/// Shares of the powers of these, which make one.
pub(super) fn softmax(scores: &[f64], scale: f64) -> Vec<f64> {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = scores.iter().map(|score| (scale * (score - most)).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}
