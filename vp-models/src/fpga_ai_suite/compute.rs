//! The arithmetic of a graph's layers: pure functions from tensors to tensors.

use std::ops::Range;

use super::graph::{
    Activation, Converter, Graph, GraphLayer, Operation, Pair, Pooling, Shape, Sums, Tensor, Window, work,
};

/// Rounds to nearest, ties away from zero, as every converter does.
pub fn round_shift(value: i64, shift: u32) -> i64 {
    let Some(below) = shift.checked_sub(1) else { return value };
    let magnitude = value.unsigned_abs();
    let rounded = (magnitude >> shift) + (magnitude >> below & 1);
    if value < 0 { (rounded as i64).wrapping_neg() } else { rounded as i64 }
}

/// Returns the sum as an accumulator of 32 bits holds it.
fn saturate(sum: i64) -> i64 {
    sum.clamp(i32::MIN.into(), i32::MAX.into())
}

impl Converter {
    /// Returns the int8 that a value becomes.
    pub fn apply(&self, value: i64) -> i8 {
        let scaled = (value - i64::from(self.offset)) * i64::from(self.scale);
        round_shift(scaled, self.shift).clamp(i8::MIN.into(), i8::MAX.into()) as i8
    }
}

/// Products that take about a millisecond.
const FEW: u64 = 1 << 20;

/// Returns the number of elements of a layer's output that can be computed without keeping anybody waiting for long.
pub fn at_once(shape: Shape, operation: &Operation) -> u64 {
    (FEW / work(shape, operation).max(1)).max(1)
}

/// The output of a layer; `operand` is the second one of an element-wise layer.
///
/// Inputs have the lengths of their shapes, and filters that of the graph.
pub fn layer(layer: &GraphLayer, shape: Shape, input: &[i8], operand: &[i8], filters: &[u8]) -> Vec<i8> {
    elements(layer, 0..layer.output.elements() as usize, shape, input, operand, filters)
}

/// Some of the elements of a layer's output.
pub fn elements(
    layer: &GraphLayer,
    range: Range<usize>,
    shape: Shape,
    input: &[i8],
    operand: &[i8],
    filters: &[u8],
) -> Vec<i8> {
    match &layer.operation {
        Operation::Convolution { window, sums } => {
            convolution(shape, (layer.output, range), window, sums, input, filters)
        }
        Operation::FullyConnected { sums } => {
            let whole =
                Window { size: [shape.height, shape.width], stride: [1, 1], before: [0, 0], after: [0, 0] };
            convolution(shape, (layer.output, range), &whole, sums, input, filters)
        }
        Operation::Pooling { window, method } => {
            pooling(shape, (layer.output, range), window, *method, input)
        }
        Operation::Elementwise { method, converter, .. } => {
            let operands = input[range.clone()].iter().zip(&operand[range]);
            let pairs = operands.map(|(&a, &b)| (i64::from(a), i64::from(b)));
            let made = pairs.map(|(a, b)| match method {
                Pair::Add => a + b,
                Pair::Multiply => a * b,
                Pair::Maximum => a.max(b),
            });
            made.map(|value| converter.apply(value)).collect()
        }
        Operation::Activation(activation) => {
            input[range].iter().map(|&value| activated(*activation, value, filters)).collect()
        }
    }
}

/// The output of a whole graph.
pub fn graph(graph: &Graph, input: &[i8], filters: &[u8]) -> Vec<i8> {
    let mut outputs: Vec<Vec<i8>> = Vec::new();
    for one in graph.layers() {
        let tensor = |tensor: Tensor| match tensor {
            Tensor::Input => input,
            Tensor::Layer(layer) => &outputs[layer],
        };
        let operand = match one.operation {
            Operation::Elementwise { other, .. } => tensor(other),
            _ => &[],
        };
        // A graph that was checked reads what comes before.
        let shape = graph.shape(one.source).unwrap_or(graph.input());
        let output = layer(one, shape, tensor(one.source), operand, filters);
        outputs.push(output);
    }
    outputs.pop().unwrap_or_default()
}

/// The places of an output, row by row, at which elements of a range lie, and which channels of each.
fn places(output: Shape, range: Range<usize>) -> impl Iterator<Item = ([u32; 2], Range<usize>)> {
    let channels = output.channels as usize;
    (range.start / channels..range.end.div_ceil(channels)).map(move |place| {
        let first = place * channels;
        let of = range.start.max(first) - first..range.end.min(first + channels) - first;
        let place = place as u32;
        ([place / output.width, place % output.width], of)
    })
}

/// For each output place, the rows and columns of the window that lie over the input: their places in the window, and the
/// first one's in the input.
fn over(window: &Window, axis: usize, place: u32, size: u32) -> (std::ops::Range<u32>, u32) {
    let start = place * window.stride[axis];
    let first = window.before[axis].saturating_sub(start);
    let last = (size + window.before[axis] - start.min(size + window.before[axis])).min(window.size[axis]);
    (first..last.max(first), (start + first).saturating_sub(window.before[axis]))
}

fn convolution(
    shape: Shape,
    (output, range): (Shape, Range<usize>),
    window: &Window,
    sums: &Sums,
    input: &[i8],
    filters: &[u8],
) -> Vec<i8> {
    let channels = shape.channels as usize;
    let [rows, columns] = window.size.map(|size| size as usize);
    let weights = &filters[sums.weights as usize..];
    let biases = sums.bias.map(|bias| &filters[bias as usize..]);
    let mut made = Vec::with_capacity(range.len());
    for ([y, x], kernels) in places(output, range) {
        let (over_rows, top) = over(window, 0, y, shape.height);
        let (over_columns, left) = over(window, 1, x, shape.width);
        let run = over_columns.len() * channels;
        for kernel in kernels {
            let mut sum = 0i64;
            for (row, from) in over_rows.clone().zip(top..) {
                let from = (from * shape.width + left) as usize * channels;
                let weight =
                    ((kernel * rows + row as usize) * columns + over_columns.start as usize) * channels;
                let products = input[from..from + run].iter().zip(&weights[weight..weight + run]);
                sum += products.map(|(&x, &w)| i64::from(i32::from(x) * i32::from(w as i8))).sum::<i64>();
            }
            let bias = biases.and_then(|biases| biases[4 * kernel..].first_chunk());
            let sum = saturate(sum) + bias.map_or(0, |bytes| i64::from(i32::from_le_bytes(*bytes)));
            let sum = saturate(sum);
            made.push(sums.converter.apply(if sums.relu { sum.max(0) } else { sum }));
        }
    }
    made
}

fn pooling(
    shape: Shape,
    (output, range): (Shape, Range<usize>),
    window: &Window,
    method: Pooling,
    input: &[i8],
) -> Vec<i8> {
    let size = i64::from(window.size[0]) * i64::from(window.size[1]);
    let [width, channels] = [shape.width, shape.channels].map(|size| size as usize);
    let mut made = Vec::with_capacity(range.len());
    for ([y, x], of) in places(output, range) {
        let (over_rows, top) = over(window, 0, y, shape.height);
        let (over_columns, left) = over(window, 1, x, shape.width);
        for channel in of {
            let rows = (top as usize..).take(over_rows.len());
            let columns = (left as usize..).take(over_columns.len());
            let under = rows.flat_map(|row| columns.clone().map(move |column| row * width + column));
            let under = under.map(|place| input[place * channels + channel]);
            made.push(match method {
                Pooling::Max => under.max().unwrap_or(0),
                Pooling::Min => under.min().unwrap_or(0),
                Pooling::Average => mean(under.map(i64::from).sum(), size),
            });
        }
    }
    made
}

/// To the nearest, ties away from zero. The mean of int8 is one.
fn mean(sum: i64, size: i64) -> i8 {
    ((2 * sum + size * sum.signum()) / (2 * size)) as i8
}

fn activated(activation: Activation, value: i8, filters: &[u8]) -> i8 {
    match activation {
        Activation::Relu => value.max(0),
        Activation::Leaky { scale, shift } if value < 0 => {
            Converter { offset: 0, scale, shift }.apply(value.into())
        }
        Activation::Leaky { .. } => value,
        Activation::Clamp { low, high } => value.clamp(low, high),
        Activation::Table { at } => filters[at as usize + (i32::from(value) + 128) as usize] as i8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Convolution as the definition has it: a sum over the whole window, where padding is zero.
    fn plain(shape: Shape, window: &Window, kernels: u32, input: &[i8], weights: &[u8]) -> Vec<i64> {
        let [rows, columns] = window.size;
        let outputs = |axis: usize, size: u32| {
            (size + window.before[axis] + window.after[axis] - window.size[axis]) / window.stride[axis] + 1
        };
        let mut made = Vec::new();
        for y in 0..outputs(0, shape.height) {
            for x in 0..outputs(1, shape.width) {
                for kernel in 0..kernels {
                    let mut sum = 0;
                    for row in 0..rows {
                        for column in 0..columns {
                            for channel in 0..shape.channels {
                                let at_y =
                                    i64::from(y * window.stride[0] + row) - i64::from(window.before[0]);
                                let at_x =
                                    i64::from(x * window.stride[1] + column) - i64::from(window.before[1]);
                                let inside = (0..i64::from(shape.height)).contains(&at_y)
                                    && (0..i64::from(shape.width)).contains(&at_x);
                                let place =
                                    (at_y * i64::from(shape.width) + at_x) * i64::from(shape.channels);
                                let value = if inside { input[place as usize + channel as usize] } else { 0 };
                                let weight =
                                    ((kernel * rows + row) * columns + column) * shape.channels + channel;
                                sum += i64::from(value) * i64::from(weights[weight as usize] as i8);
                            }
                        }
                    }
                    made.push(sum);
                }
            }
        }
        made
    }

    proptest! {
        #[test]
        fn a_convolution_is_a_sum_over_its_window(
            (height, width, channels, kernels) in (1u32..6, 1u32..6, 1u32..4, 1u32..4),
            (rows, columns) in (1u32..4, 1u32..4),
            stride in prop::array::uniform2(1u32..3),
            pads in prop::array::uniform4(0u32..3),
            seed in any::<u32>(),
        ) {
            let size = [rows, columns];
            let before = [pads[0].min(rows - 1), pads[1].min(columns - 1)];
            let after = [pads[2].min(rows - 1), pads[3].min(columns - 1)];
            let window = Window { size, stride, before, after };
            let shape = Shape { height, width, channels };
            let random = |count: u32, salt: u32| -> Vec<u8> {
                (0..count).map(|at| ((at ^ seed ^ salt).wrapping_mul(2_654_435_761) >> 24) as u8).collect()
            };
            let filters = random(kernels * rows * columns * channels, 77);
            let input: Vec<i8> = random(shape.elements() as u32, 5).iter().map(|&byte| byte as i8).collect();
            let converter = Converter { offset: 3, scale: 5, shift: 9 };
            let sums = Sums { kernels, weights: 0, bias: None, relu: false, converter };
            let mut described = Graph::new(shape, filters.len() as u32).unwrap();
            let operation = Operation::Convolution { window, sums };
            if described.add(Tensor::Input, operation, None).is_ok() {
                let made = graph(&described, &input, &filters);
                let expected = plain(shape, &window, kernels, &input, &filters);
                let expected: Vec<i8> = expected.into_iter().map(|sum| converter.apply(sum)).collect();
                prop_assert_eq!(made, expected);
            }
        }

        #[test]
        fn parts_are_those_of_the_whole(
            (height, width, channels, kernels) in (1u32..5, 1u32..5, 1u32..4, 1u32..4),
            kind in 0..5, step in 1usize..9,
        ) {
            let shape = Shape { height, width, channels };
            let (size, seed) = ([height.min(2), width.min(3)], height * 31 + width);
            let window = Window { size, stride: [1, 2], before: [0, 0], after: [size[0] - 1, size[1] - 1] };
            let converter = Converter { offset: 1, scale: 3, shift: 4 };
            let sums = Sums { kernels, weights: 0, bias: None, relu: false, converter };
            let operation = match kind {
                0 => Operation::Convolution { window, sums },
                1 => Operation::FullyConnected { sums },
                2 => Operation::Pooling { window, method: Pooling::Average },
                3 => Operation::Elementwise { other: Tensor::Input, method: Pair::Multiply, converter },
                _ => Operation::Activation(Activation::Relu),
            };
            let bytes = |count: u32| (0..count).map(move |at| ((at ^ seed).wrapping_mul(2_654_435_761) >> 24) as u8);
            let (filters, input) = (bytes(1024).collect::<Vec<_>>(), bytes(shape.elements() as u32));
            let input: Vec<i8> = input.map(|byte| byte as i8).collect();
            let mut described = Graph::new(shape, 1024).unwrap();
            described.add(Tensor::Input, operation, None).unwrap();
            let one = &described.layers()[0];
            let whole = layer(one, shape, &input, &input, &filters);
            let parts = (0..whole.len()).step_by(step).flat_map(|from| {
                elements(one, from..whole.len().min(from + step), shape, &input, &input, &filters)
            });
            prop_assert_eq!(parts.collect::<Vec<_>>(), whole);
        }

        #[test]
        fn shifts_round_to_the_nearest_and_ties_away_from_zero(value in -(1i64 << 50)..1 << 50, shift in 0u32..=62) {
            let expected = {
                let (value, step) = (i128::from(value), 1i128 << shift);
                let magnitude = (value.abs() * 2 + step) / (2 * step);
                if value < 0 { -magnitude } else { magnitude }
            };
            prop_assert_eq!(i128::from(round_shift(value, shift)), expected);
        }
    }

    fn one(shape: Shape, operation: Operation, input: &[i8], filters: &[u8]) -> Vec<i8> {
        let mut described = Graph::new(shape, filters.len() as u32).unwrap();
        described.add(Tensor::Input, operation, None).unwrap();
        graph(&described, input, filters)
    }

    #[test]
    fn a_fully_connected_layer_sums_all_and_adds_its_bias() {
        let converter = Converter { offset: 0, scale: 1, shift: 1 };
        let sums = |relu| Sums { kernels: 2, weights: 8, bias: Some(0), relu, converter };
        let mut filters = [10i32.to_le_bytes(), (-40i32).to_le_bytes()].concat();
        filters.extend([1, 2, 3, 4, 255, 255, 255, 255]);
        let shape = Shape { height: 2, width: 1, channels: 2 };
        let connected =
            |relu| one(shape, Operation::FullyConnected { sums: sums(relu) }, &[1, 2, 3, 4], &filters);
        assert_eq!(connected(false), [20, -25]);
        assert_eq!(connected(true), [20, 0]);
    }

    #[test]
    fn pooling_leaves_padding_out_but_in_averages() {
        let shape = Shape { height: 2, width: 2, channels: 1 };
        let window = Window { size: [2, 2], stride: [2, 2], before: [1, 1], after: [1, 1] };
        let pooled = |method| one(shape, Operation::Pooling { window, method }, &[-1, -6, 7, -128], &[]);
        assert_eq!(pooled(Pooling::Max), [-1, -6, 7, -128]);
        assert_eq!(pooled(Pooling::Min), [-1, -6, 7, -128]);
        assert_eq!(pooled(Pooling::Average), [0, -2, 2, -32]);
        assert_eq!((mean(2, 4), mean(-2, 4), mean(-1, 4), mean(-512, 4)), (1, -1, 0, -128));
    }

    #[test]
    fn element_wise_layers_and_activations() {
        let shape = Shape { height: 1, width: 1, channels: 4 };
        let input = [-128, -3, 3, 127];
        let converter = Converter { offset: 0, scale: 1, shift: 1 };
        let pair = |method| {
            let operation = Operation::Elementwise { other: Tensor::Input, method, converter };
            one(shape, operation, &input, &[])
        };
        assert_eq!(pair(Pair::Add), [-128, -3, 3, 127]);
        assert_eq!(pair(Pair::Multiply), [127, 5, 5, 127]);
        assert_eq!(pair(Pair::Maximum), [-64, -2, 2, 64]);
        let table: Vec<u8> = (0..=255).rev().collect();
        let activated = |activation| one(shape, Operation::Activation(activation), &input, &table);
        assert_eq!(activated(Activation::Relu), [0, 0, 3, 127]);
        assert_eq!(activated(Activation::Leaky { scale: 1, shift: 1 }), [-64, -2, 3, 127]);
        assert_eq!(activated(Activation::Clamp { low: -2, high: 6 }), [-2, -2, 3, 6]);
        assert_eq!(activated(Activation::Table { at: 0 }), [-1, -126, 124, 0]);
    }
}
