//! Convolutions, and products by a constant, which are convolutions of one pixel or of a whole cube.

use super::draft::{DraftKind, Kernels, Weights};
use super::drafter::{Drafter, PlacedValue};
use super::floats::ConstantCodes;
use super::nodes::{Decided, cpu, output_of};
use super::view::{CubeAxis, View, size};
use super::windows::window;
use vp_host::network::{Shape, Window};
use vp_tensors::{Gemm, Node, Spatial, ValueId};

/// A window of all of a cube.
fn whole(cube: Shape) -> Window {
    Window {
        size: [cube.width, cube.height],
        stride: [1; 2],
        before: [0; 2],
        after: [0; 2],
        dilation: [1; 2],
    }
}

/// The integers of weights that are put into another order.
struct Ordered {
    /// The place among the constant's elements of each weight.
    places: Vec<usize>,
    /// The kernel of each of the constant's slices, if scales are along the kernels.
    kernels: usize,
}

impl Drafter<'_> {
    /// Weights in an order, as the integers that the model has if it has any that are the hardware's.
    fn weights(&self, of: ValueId, ordered: &Ordered, kernel_axis: usize) -> Option<Weights> {
        let take_codes = |codes: &ConstantCodes| -> Option<Weights> {
            let is_along =
                codes.scales.len() == 1 || codes.axis == kernel_axis && codes.scales.len() == ordered.kernels;
            let values: Option<Vec<i8>> =
                ordered.places.iter().map(|place| i8::try_from(codes.values[*place]).ok()).collect();
            is_along.then_some(Weights::Codes { values: values?, scales: codes.scales.clone() })
        };
        if self.hardware.is_integer
            && let Some(weights) = self.floats.constants.get(&of).and_then(take_codes)
        {
            return Some(weights);
        }
        let floats = self.floats.numbers(of)?.as_floats()?;
        Some(Weights::Floats(ordered.places.iter().map(|place| floats[*place]).collect()))
    }

    fn bias(&self, of: Option<ValueId>, kernels: usize) -> Option<Vec<f64>> {
        let Some(of) = of else { return Some(vec![0.0; kernels]) };
        let tensor = self.floats.numbers(of)?;
        let numbers = tensor.as_floats()?;
        match numbers.len() {
            1 => Some(vec![numbers[0].into(); kernels]),
            // One for each row would be as many, if there are as many of these.
            count if count == kernels && tensor.shape.last() == Some(&kernels) => {
                Some(numbers.iter().map(|number| (*number).into()).collect())
            }
            _ => None,
        }
    }

    pub(crate) fn convolution(&mut self, at: usize, node: &Node, spatial: &Spatial) -> Decided {
        let &[Some(input), Some(weights), ..] = &node.inputs[..] else { cpu!("it has no weights") };
        let output = output_of(node);
        let [from, to] = match self.cubes_of([input, output]) {
            Ok(cubes) => cubes,
            Err(why) => return Ok(Err(why)),
        };
        let &[kernels, channels, rows, columns] = self.shape(weights) else {
            cpu!("its weights have not four axes")
        };
        if self.floats.graph.constant(weights).is_none() {
            cpu!("its weights are no constant");
        }
        let products = self.shape(output).iter().product::<usize>() * channels * rows * columns;
        let is_made_by_cpu = !self.places.contains_key(&input) && self.reads_cubes(input);
        if is_made_by_cpu && products <= self.shape(input).iter().product() {
            // The mean of YOLO's distances (DFL) behind a soft-max is such a one.
            cpu!("the CPU makes its input, and multiplies it in less than it takes to code it for a unit");
        }
        let Some(window) = window(spatial, from, to) else { cpu!("its windows are not of two axes") };
        let mut places = Vec::with_capacity(kernels * channels * rows * columns);
        for kernel in 0..kernels {
            for tap in 0..rows * columns {
                places.extend(
                    (0..channels).map(|channel| (kernel * channels + channel) * rows * columns + tap),
                );
            }
        }
        let Some(weights) = self.weights(weights, &Ordered { places, kernels }, 0) else {
            cpu!("its weights are no numbers");
        };
        let Some(bias) = self.bias(node.inputs.get(2).copied().flatten(), kernels) else {
            cpu!("its bias is no constant");
        };
        let Some(PlacedValue { source, .. }) = self.nchw(input)? else { cpu!("its input is no cube") };
        let kind = DraftKind::Convolution(Kernels {
            kernels: kernels as u32,
            groups: spatial.groups as u32,
            window,
            weights,
            bias,
            adds: false,
        });
        let draft = self.draft(at, kind, vec![source], [from, to], output);
        self.add(draft, output, View::of_cube(to));
        Ok(Ok(()))
    }

    pub(crate) fn gemm(&mut self, at: usize, node: &Node, gemm: Gemm) -> Decided {
        let &[Some(input), Some(weights), ..] = &node.inputs[..] else { cpu!("it has no weights") };
        if gemm.transposes_a || self.floats.graph.constant(weights).is_none() {
            cpu!("its second factor is no constant, or the first one is transposed");
        }
        let addend = node.inputs.get(2).copied().flatten();
        let kernels = self.shape(output_of(node)).last().copied().unwrap_or(0);
        let Some(mut bias) = self.bias(addend, kernels) else {
            cpu!("what it adds is not one number for each column")
        };
        bias.iter_mut().for_each(|bias| *bias *= f64::from(gemm.beta));
        let factor = (gemm.alpha != 1.0).then_some(f64::from(gemm.alpha));
        self.connected(at, node, input, (weights, gemm.transposes_b), (bias, factor))
    }

    pub(crate) fn product_by_constant(&mut self, at: usize, node: &Node) -> Decided {
        let &[Some(input), Some(weights)] = &node.inputs[..] else { cpu!("it has not two factors") };
        if self.floats.graph.constant(weights).is_none() || self.shape(weights).len() != 2 {
            cpu!("its second factor is no constant of two axes");
        }
        let kernels = self.shape(weights)[1];
        self.connected(at, node, input, (weights, false), (vec![0.0; kernels], None))
    }

    /// Products of the last axis by a matrix.
    fn connected(
        &mut self,
        at: usize,
        node: &Node,
        input: ValueId,
        (matrix, is_transposed): (ValueId, bool),
        (bias, factor): (Vec<f64>, Option<f64>),
    ) -> Decided {
        let output = output_of(node);
        let &[first, second] = self.shape(matrix) else { cpu!("its second factor has not two axes") };
        let [terms, kernels] = if is_transposed { [second, first] } else { [first, second] };
        let mut placed = self.place(input)?;
        let is_usable = |view: &View| {
            view.last().is_some_and(|(last, is_alone)| is_alone || matches!(last, [CubeAxis::Channels]))
        };
        if !is_usable(&placed.view) {
            let Some(view) = View::natural(self.shape(input)) else { cpu!("its input is no cube") };
            let draft = self.moving(input, &placed, &view);
            placed = self.add(draft, input, view);
        }
        let cube = placed.view.cube;
        let (last, is_alone) =
            placed.view.last().map_or((vec![], true), |(last, alone)| (last.to_vec(), alone));
        // A product of all of a cube is a kernel of its size; else one of a pixel.
        let (window, made) = match is_alone {
            true => (whole(cube), Shape { width: 1, height: 1, channels: kernels as u32 }),
            false => {
                (whole(Shape { width: 1, height: 1, ..cube }), Shape { channels: kernels as u32, ..cube })
            }
        };
        let [columns, rows] = window.size.map(|size| size as usize);
        let channels = cube.channels as usize;
        if rows * columns * channels != terms || !(1..=Shape::MOST as usize).contains(&kernels) {
            cpu!("{terms} terms and {kernels} sums are no kernels of {cube}");
        }
        // In which step of the last axis a channel of a pixel lies.
        let place = |position: [usize; 3]| {
            let of = |axis: CubeAxis| match axis {
                CubeAxis::Channels => position[0],
                CubeAxis::Height => position[1],
                CubeAxis::Width => position[2],
            };
            last.iter().fold(0, |sum, axis| sum * size(cube, *axis) + of(*axis))
        };
        let mut places = Vec::with_capacity(terms * kernels);
        for kernel in 0..kernels {
            for row in 0..rows {
                for column in 0..columns {
                    for channel in 0..channels {
                        let term = place([channel, row, column]);
                        places.push(if is_transposed {
                            kernel * terms + term
                        } else {
                            term * kernels + kernel
                        });
                    }
                }
            }
        }
        let axis = if is_transposed { 0 } else { 1 };
        let Some(mut weights) = self.weights(matrix, &Ordered { places, kernels }, axis) else {
            cpu!("its second factor is no number");
        };
        match (&mut weights, factor) {
            (Weights::Floats(weights), Some(factor)) => {
                weights.iter_mut().for_each(|weight| *weight = (f64::from(*weight) * factor) as f32);
            }
            (Weights::Codes { scales, .. }, Some(factor)) => {
                scales.iter_mut().for_each(|scale| *scale = (f64::from(*scale) * factor) as f32);
            }
            (_, None) => {}
        }
        let kind = DraftKind::Convolution(Kernels {
            kernels: kernels as u32,
            groups: 1,
            window,
            weights,
            bias,
            adds: false,
        });
        let view = match is_alone {
            true => View::natural(self.shape(output)).map(|view| view.with_channels(made)),
            false => Some(placed.view.with_channels(made)),
        };
        let Some(view) = view else { cpu!("its output is no cube") };
        let draft = self.draft(at, kind, vec![placed.source], [cube, made], output);
        self.add(draft, output, view);
        Ok(Ok(()))
    }
}
