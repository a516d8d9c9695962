//! A whole network, tensor by tensor: no memory, no surfaces, no groups of kernels.

use vp_models::host::network::{Convolution, Layer, Method, Network, Operation, Pooling, Shape, Window};

use super::{PdpLayer, saturate, shift_rounding};

/// The output of a network of int8 layers for an input `[line][column][channel]`.
pub fn run_network(network: &Network, input: &[i8]) -> Vec<i8> {
    let mut outputs: Vec<Vec<i8>> = Vec::new();
    for layer in &network.layers {
        let input = layer.source.map_or(input, |source| &outputs[source]);
        let output = match &layer.operation {
            Operation::Convolution(convolution) => each(layer, |y, x, kernel| {
                convolved(convolution, kernel, |tap| at(input, layer.input, convolution.window, [y, x], tap))
            }),
            Operation::Pooling(pooling) => each(layer, |y, x, channel| {
                pooled(pooling, |row, column| {
                    at(input, layer.input, pooling.window, [y, x], [row, column, channel])
                })
            }),
        };
        outputs.push(output);
    }
    outputs.pop().expect("a network has layers")
}

/// An output of its elements.
fn each(layer: &Layer, element: impl Fn(u32, u32, u32) -> i8) -> Vec<i8> {
    let Shape { width, height, channels } = layer.output;
    let mut output = Vec::new();
    for y in 0..height {
        for x in 0..width {
            for channel in 0..channels {
                output.push(element(y, x, channel));
            }
        }
    }
    output
}

/// What lies under row, column and channel of the window of an output; nothing in the padding.
fn at(
    input: &[i8],
    shape: Shape,
    window: Window,
    [y, x]: [u32; 2],
    [row, column, channel]: [u32; 3],
) -> Option<i128> {
    let y = (y * window.stride[1] + row).checked_sub(window.before[1]).filter(|y| *y < shape.height)?;
    let x = (x * window.stride[0] + column).checked_sub(window.before[0]).filter(|x| *x < shape.width)?;
    Some(input[((y * shape.width + x) * shape.channels + channel) as usize].into())
}

fn convolved(convolution: &Convolution, kernel: u32, input: impl Fn([u32; 3]) -> Option<i128>) -> i8 {
    let [columns, rows] = convolution.window.size;
    let channels = convolution.weights.len() as u32 / convolution.kernels / rows / columns;
    let mut sum = 0;
    for row in 0..rows {
        for column in 0..columns {
            for channel in 0..channels {
                let at = ((kernel * rows + row) * columns + column) * channels + channel;
                let weight = i128::from(convolution.weights[at as usize]);
                sum += weight * input([row, column, channel]).unwrap_or(0);
            }
        }
    }
    sum = saturate(sum, 32);
    if let Some(bias) = &convolution.bias {
        sum += saturate(i128::from(bias.values[kernel as usize]) << bias.shift, 32);
    }
    sum = saturate(sum, 32);
    if convolution.relu {
        sum = sum.max(0);
    }
    let converter = convolution.converter;
    let scaled = (sum - i128::from(converter.offset)) * i128::from(converter.scale);
    saturate(shift_rounding(scaled, converter.shift as i32), 8) as i8
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
