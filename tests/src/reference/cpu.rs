//! Graphs of tensors between cubes, element by element: codes are decoded and encoded by the index of each.

use vp_host::network::{CpuProgram, CubeAxes, Encoding, Shape};
use vp_tensors::Tensor;

/// Output of a graph for codes `[line][column][channel]`: codes that may be beyond those that a format has, or in fp16, of which
/// scale and zero are 1 and 0, numbers.
pub(super) fn evaluated(
    program: &CpuProgram,
    inputs: &[Vec<f64>],
    shapes: &[Shape],
    output: Shape,
    is_float: bool,
) -> Vec<f64> {
    let CpuProgram { graph, inputs: encodings, output: encoding } = program;
    let tensor = |at: usize| {
        let Encoding { axes, scale, zero } = encodings[at];
        let sizes = &graph.value(graph.inputs[at]).shape;
        let mut values = vec![0.0; shapes[at].elements()];
        for (place, code) in inputs[at].iter().enumerate() {
            let value = if is_float { *code as f32 } else { (*code as i32 - zero) as f32 * scale };
            values[place_in(sizes, axes, shapes[at], place)] = value;
        }
        Tensor::floats(sizes.clone(), values)
    };
    let made = graph.run(&(0..shapes.len()).map(tensor).collect::<Vec<_>>()).expect("a graph that runs");
    let made = &made[0];
    let values = made.as_floats().expect("a tensor of floats");
    let of = |place: usize| values[place_in(&made.shape, encoding.axes, output, place)];
    let code = |value: f32| f64::from((value / encoding.scale).round_ties_even()) + f64::from(encoding.zero);
    (0..output.elements())
        .map(|place| if is_float { f64::from(of(place)) } else { code(of(place)) })
        .collect()
}

/// The place in a tensor of an element `[line][column][channel]`.
fn place_in(sizes: &[usize], axes: CubeAxes, cube: Shape, place: usize) -> usize {
    let (width, channels) = (cube.width as usize, cube.channels as usize);
    let (y, x, channel) = (place / channels / width, place / channels % width, place % channels);
    let index = |axis: usize| match Some(axis) {
        it if it == axes.height => y,
        it if it == axes.width => x,
        it if it == axes.channels => channel,
        _ => 0,
    };
    (0..sizes.len()).fold(0, |at, axis| at * sizes[axis] + index(axis))
}
