//! Layers of a network in fp16, tensor by tensor. The array takes 64 channels at once, as `nv_full`'s does, from the first on: inputs are
//! features whose channels lie one behind the other.

use vp_host::network::{
    Activation, ChannelProduct, Convolution, Elementwise, Function, LookUp, Method, NetworkLayer,
    Normalisation, Operation, PairMethod, Pooling, Scaling, Shape, Window,
};
use vp_models::nvdla::conv::compute::float::Steps;

use super::Real::{self, Nan, Number};
use super::layers::{FloatAverage, added_up, is_negative, pdp_results, tile_sums};
use super::lut::{Unit, look_up};
use super::{FP16, FP17, FP32, pick, store};
use crate::reference::cpu::evaluated;
use crate::reference::network::{
    each, enlarged, interleaved, lut, part, side_by_side, softmax, tables, under,
};
use crate::reference::tiles::four_times_transformed;
use crate::reference::{CubePlace, Format, Lut, PdpLayer, PoolingMethod};

/// Channels that the array takes at once.
const BLOCK: usize = 64;

/// Channels of an atom.
const LANES: u32 = 16;

/// Computes a layer: the bytes of each code.
pub(in crate::reference) fn run_layer_of_floats(
    layer: &NetworkLayer,
    inputs: &[&[i8]],
    shapes: &[Shape],
    by_winograd: bool,
) -> Vec<i8> {
    let inputs: Vec<Vec<u16>> = inputs.iter().map(|input| codes(input)).collect();
    let made = made(layer, &inputs, shapes, by_winograd);
    made.into_iter().flat_map(u16::to_le_bytes).map(|byte| byte as i8).collect()
}

fn codes(bytes: &[i8]) -> Vec<u16> {
    bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0] as u8, pair[1] as u8])).collect()
}

fn wide(code: u16) -> Real {
    FP32.widen(code.into(), false)
}

fn made(layer: &NetworkLayer, inputs: &[Vec<u16>], shapes: &[Shape], by_winograd: bool) -> Vec<u16> {
    match &layer.operation {
        Operation::Convolution(convolution) => {
            let weights = codes(&convolution.weights);
            let tiles = by_winograd.then(|| tiles(layer, convolution, &weights, &inputs[0]));
            each(layer, |y, x, kernel, at| {
                let sum = match &tiles {
                    Some(tiles) => {
                        let tile = y / 2 * layer.output.width.div_ceil(2) + x / 2;
                        tiles[(tile * convolution.kernels + kernel) as usize][(y % 2 * 2 + x % 2) as usize]
                    }
                    None => sum(convolution, &weights, &inputs[0], layer.input, [y, x], kernel as usize),
                };
                let bias = convolution.bias.as_ref().map(|bias| bias.values[kernel as usize] as u16);
                let added = inputs.get(1).map(|added| added[at]);
                let plus = |value, code: Option<u16>| code.map_or(value, |code| FP32.add(value, wide(code)));
                let mut value = plus(FP32.decode(sum), bias);
                if let Some(scales) = &convolution.scales {
                    value = FP32.multiply(value, wide(scales.values[kernel as usize] as u16));
                }
                let value = activated(plus(value, added), &convolution.activation, kernel as usize);
                store(looked_up(convolution.look_up.as_ref(), value)) as u16
            })
        }
        Operation::Pooling(pooling) => pooled(layer, pooling, &inputs[0]),
        Operation::Sum(sum) => each(layer, |_, _, _, at| {
            let first = match sum.scale {
                1 => wide(inputs[0][at]),
                scale => FP32.multiply(wide(inputs[0][at]), Number(scale.into())),
            };
            store(activated(FP32.add(first, wide(inputs[1][at])), &sum.activation, 0)) as u16
        }),
        Operation::Elementwise(Elementwise { method, .. }) => each(layer, |_, _, _, at| {
            let [first, second] = [wide(inputs[0][at]), wide(inputs[1][at])];
            store(match method {
                PairMethod::Multiply => FP32.multiply(first, second),
                PairMethod::Maximum => pick(true, first, second),
                PairMethod::Minimum => pick(false, first, second),
            }) as u16
        }),
        Operation::Scaling(Scaling { bias, scales, activation, look_up, .. }) => {
            each(layer, |_, _, channel, at| {
                let mut value = wide(inputs[0][at]);
                if let Some(bias) = bias {
                    value = FP32.add(value, wide(bias.values[channel as usize] as u16));
                }
                if let Some(scales) = scales {
                    value = FP32.multiply(value, wide(scales.values[channel as usize] as u16));
                }
                store(looked_up(look_up.as_ref(), activated(value, activation, channel as usize))) as u16
            })
        }
        Operation::ChannelProduct(ChannelProduct { activation, .. }) => each(layer, |_, _, channel, at| {
            let product = FP32.multiply(wide(inputs[0][at]), wide(inputs[1][channel as usize]));
            store(activated(product, activation, channel as usize)) as u16
        }),
        Operation::Activation(Function::Clamp { low, high }) => each(layer, |_, _, _, at| {
            let [low, high] = [*low, *high].map(|bound| Number(bound.into()));
            store(pick(false, pick(true, wide(inputs[0][at]), low), high)) as u16
        }),
        Operation::Activation(function) => {
            let activation = match *function {
                Function::Relu => Activation::Relu,
                Function::Leaky { scale, shift } => Activation::Leaky { scale, shift },
                Function::Clamp { .. } | Function::Table(_) => panic!("NVDLA has no {function:?}"),
            };
            each(layer, |_, _, _, at| store(activated(wide(inputs[0][at]), &activation, 0)) as u16)
        }
        Operation::Concatenation => side_by_side(inputs, shapes),
        Operation::Normalisation(normalisation) => {
            let lut = tables(normalisation, end);
            let channels = layer.input.channels as usize;
            each(layer, |_, _, channel, at| {
                let pixel = &inputs[0][at - channel as usize..][..channels];
                normalised(normalisation, &lut, pixel, channel.into())
            })
        }
        Operation::Upsampling(factor) => enlarged(layer, &inputs[0], *factor),
        Operation::Interleaving(along) => interleaved(layer, inputs, *along),
        Operation::SoftMax(by) => {
            let scale = f64::from(by.scale) / 65536.0;
            let number =
                |code: &u16| if let Number(value) = FP16.decode((*code).into()) { value } else { 0.0 };
            let pixels = inputs[0].chunks_exact(layer.input.channels as usize);
            let shares = |pixel: &[u16]| softmax(&pixel.iter().map(number).collect::<Vec<_>>(), scale);
            pixels.flat_map(shares).map(|share| store(Number(f64::from(share as f32))) as u16).collect()
        }
        Operation::Cpu(program) => {
            let number = |code: &u16| match FP16.decode((*code).into()) {
                Number(value) if value.abs() == 65536.0 => value.signum() * f64::INFINITY,
                Number(value) => value,
                Nan(..) => f64::NAN,
            };
            let numbers = |input: &Vec<u16>| input.iter().map(number).collect();
            let inputs: Vec<Vec<f64>> = inputs.iter().map(numbers).collect();
            let made = evaluated(program, &inputs, shapes, layer.output, true).into_iter();
            let code = |number: f64| match number.is_nan() {
                true => 0x7E00,
                false => store(Number(number.clamp(-1e6, 1e6))) as u16,
            };
            made.map(code).collect()
        }
        Operation::Slice(slice) => part(layer, &inputs[0], slice),
        Operation::Constant(elements) => codes(elements),
    }
}

/// Four sums of each tile and kernel, by Winograd's method: of kernels that are transformed and rounded, and of whole atoms of channels.
fn tiles(layer: &NetworkLayer, convolution: &Convolution, weights: &[u16], input: &[u16]) -> Vec<[u32; 4]> {
    assert_eq!(convolution.groups, 1, "groups are cut by hardware");
    let channels = layer.input.channels;
    let kernel = |of: u32| {
        let (kernel, channel) = (of / channels, of % channels);
        let tap = |row: usize, column: usize| {
            let code =
                weights[((kernel as usize * 3 + row) * 3 + column) * channels as usize + channel as usize];
            if let Number(value) = wide(code) { value } else { panic!("a weight that is no number") }
        };
        // Through binary32, as a host computes them.
        four_times_transformed(tap).map(|four| store(Number(f64::from((four / 4.0) as f32))) as u16)
    };
    let transformed: Vec<[u16; 16]> = (0..convolution.kernels * channels).map(kernel).collect();
    let weight = |kernel: u32, place: u32, channel: u32| match channel < channels {
        true => transformed[(kernel * channels + channel) as usize][place as usize],
        false => 0,
    };
    let element = |channel: u32, y: i64, x: i64| {
        let pixel = under(layer.input, convolution.window, [0, 0], [y as u32, x as u32]);
        match pixel {
            Some(pixel) if channel < channels => input[pixel + channel as usize],
            Some(_) => 0,
            None => convolution.padding as u16,
        }
    };
    let size = [layer.output.width, layer.output.height].map(|size| size.next_multiple_of(2));
    tile_sums(size, [channels.next_multiple_of(LANES), convolution.kernels], weight, element)
}

fn sum(
    convolution: &Convolution,
    weights: &[u16],
    input: &[u16],
    shape: Shape,
    output: [u32; 2],
    kernel: usize,
) -> u32 {
    assert_eq!(convolution.groups, 1, "groups are cut by hardware");
    let [columns, rows] = convolution.window.size;
    let channels = shape.channels as usize;
    let (mut activations, mut taken, mut steps) = (Vec::new(), Vec::new(), Steps::default());
    for first in (0..channels).step_by(BLOCK) {
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let begin = activations.len();
            let pixel = under(shape, convolution.window, output, [row, column]);
            let tap = ((kernel as u32 * rows + row) * columns + column) as usize * channels;
            for channel in first..channels.min(first + BLOCK) {
                activations.push(pixel.map_or(convolution.padding as u16, |pixel| input[pixel + channel]));
                taken.push(weights[tap + channel]);
            }
            steps.push((begin..activations.len()).map(|index| (index, index)));
        }
    }
    added_up(&activations, &taken, steps)
}

/// A function by its table.
fn looked_up(table: Option<&LookUp>, value: Real) -> Real {
    let Some(table) = table else { return value };
    let start = f32::from_bits(table.start as u32);
    let end = start + 256.0 * (table.step as f32).exp2();
    look_up(&lut(table, end.to_bits().cast_signed(), f32::MAX.to_bits().cast_signed()), value, Unit::Sdp)
}

fn activated(value: Real, activation: &Activation, channel: usize) -> Real {
    match *activation {
        Activation::Relu if is_negative(value) && matches!(value, Number(_)) => Number(0.0),
        Activation::Leaky { scale, shift } if is_negative(value) => {
            // As a register of 16 bits has the factor.
            let factor = f64::from(scale) * 2f64.powi(-(shift as i32));
            FP32.multiply(value, FP32.widen(store(Number(factor)), false))
        }
        Activation::PRelu(ref slopes) if is_negative(value) => {
            FP32.multiply(value, wide(slopes.values[channel] as u16))
        }
        _ => value,
    }
}

fn pooled(layer: &NetworkLayer, pooling: &Pooling, input: &[u16]) -> Vec<u16> {
    match pooling.method {
        Method::Mean => means(layer, pooling.window, input),
        _ => windows_pooled(layer, pooling, input),
    }
}

/// Each mean as that of a cube which is what its window has of the input.
fn means(layer: &NetworkLayer, window: Window, input: &[u16]) -> Vec<u16> {
    let Shape { width, height, channels } = layer.input;
    each(layer, |y, x, channel, _| {
        let part = |axis: usize, out: u32, size: u32| {
            let start = i64::from(out * window.stride[axis]) - i64::from(window.before[axis]);
            let part = start.max(0)..(start + i64::from(window.size[axis])).min(size.into());
            part.map(|at| at as u32).collect::<Vec<u32>>()
        };
        let (columns, lines) = (part(0, x, width), part(1, y, height));
        let size = [columns.len() as u32, lines.len() as u32];
        let shape = Shape { width: size[0], height: size[1], channels: 1 };
        let pixels = lines.iter().flat_map(|line| columns.iter().map(move |column| (line, column)));
        let inside: Vec<u16> = pixels
            .map(|(line, column)| input[((line * width + column) * channels + channel) as usize])
            .collect();
        let pooling = Pooling { method: Method::Average, window: Window { size, ..Window::PIXEL } };
        let output = Shape { width: 1, height: 1, channels: 1 };
        windows_pooled(&NetworkLayer { input: shape, output, ..layer.clone() }, &pooling, &inside)[0]
    })
}

fn windows_pooled(layer: &NetworkLayer, pooling: &Pooling, input: &[u16]) -> Vec<u16> {
    let window = pooling.window;
    let nowhere = CubePlace { base: 0, line: 0, surface: 0 };
    let Shape { width, height, channels } = layer.input;
    let pdp = PdpLayer {
        format: Format { atom: 32, element: 2 },
        width,
        height,
        channels,
        method: match pooling.method {
            Method::Max => PoolingMethod::Max,
            Method::Min => PoolingMethod::Min,
            Method::Average | Method::Mean => PoolingMethod::Average { padding: 0 },
        },
        kernel: window.size,
        stride: window.stride,
        before: window.before,
        after: window.after,
        source: None,
        destination: nowhere,
        strips: Vec::new(),
    };
    // Rounded towards zero, as the registers have it.
    let reciprocal = |size: u32| match FP17.code(1.0 / f64::from(size)) {
        code if matches!(FP17.decode(code), Number(value) if value > 1.0 / f64::from(size)) => code - 1,
        code => code,
    };
    let average = FloatAverage { padding: [0; 7], reciprocal: window.size.map(reciprocal) };
    let results = pdp_results(&pdp, &average, false, |channel, y, x| match channel < channels {
        true => i32::from(input[((y * width + x) * channels + channel) as usize].cast_signed()),
        false => 0,
    });
    each(layer, |y, x, channel, _| results.at(channel, y, x) as u16)
}

/// The end of a table, as the code of a number.
fn end(entries: usize, step: u32) -> i32 {
    (((entries - 1) as f32) * (step as f32).exp2()).to_bits().cast_signed()
}

fn normalised(normalisation: &Normalisation, lut: &Lut, pixel: &[u16], channel: i64) -> u16 {
    let element = |distance: i64| match usize::try_from(channel + distance) {
        Ok(channel) if channel < pixel.len() => FP17.widen(pixel[channel].into(), false),
        _ => Number(0.0),
    };
    let square = |distance| FP32.multiply(element(distance), element(distance));
    let mut sum = FP32.add(FP32.add(square(-1), square(1)), square(0));
    for distance in 2..=i64::from(normalisation.channels / 2) {
        sum = FP32.add(sum, FP32.add(square(-distance), square(distance)));
    }
    let factor = look_up(lut, sum, Unit::Cdp);
    match element(0) {
        nan @ Nan(..) => store(nan) as u16,
        centre => store(FP17.multiply(centre, factor)) as u16,
    }
}
