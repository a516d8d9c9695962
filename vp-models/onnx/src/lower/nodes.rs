//! Decisions about nodes: part of the layer before, a layer of its own, another view of what is there, or the CPU's.

use super::Hardware;
use super::draft::{Draft, DraftActivation, DraftKind};
use super::drafter::{Drafter, NoNetwork, PlacedValue, Reason};
use super::error::no_cube;
use super::function::{Bends, Function};
use super::transposed;
use super::view::{CubeAxis, View};
use vp_host::network::Shape;
use vp_tensors::{Binary, ElementType, Node, Operator, Unary, Value, ValueId, shape_text};

/// Decision on a node: a unit's, or the CPU's for a reason; or there is no network at all.
pub(crate) type Decided = Result<Result<(), Reason>, NoNetwork>;

/// Ends a decision with a reason for which the node is the CPU's.
macro_rules! cpu {
    ($($why:tt)*) => {
        return Ok(Err(format!($($why)*)))
    };
}
pub(crate) use cpu;

impl Drafter<'_> {
    /// Decides on a node.
    pub(crate) fn node(&mut self, at: usize, node: &Node) -> Decided {
        let &[output] = &node.outputs[..] else {
            return match &node.operator {
                Operator::Split { axis, .. } => self.split(at, node, *axis),
                _ => cpu!("it has several outputs"),
            };
        };
        let read = node.inputs.iter().flatten().filter(|id| self.is_data(**id)).map(|id| ("input", *id));
        if let Some(why) = self.no_numbers(read.chain([("output", output)])) {
            cpu!("{why}");
        }
        if self.is_before_units(at) {
            cpu!("no unit has begun before it");
        }
        let Some(Some(input)) = node.inputs.first().copied() else { cpu!("it reads nothing") };
        match &node.operator {
            Operator::Conv(spatial) => self.convolution(at, node, spatial),
            Operator::Gemm(gemm) => self.gemm(at, node, *gemm),
            Operator::MatMul => self.product_by_constant(at, node),
            Operator::BatchNormalization { epsilon } => self.normalised(at, node, *epsilon),
            Operator::Unary(Unary::Relu) => self.activated(at, input, output, DraftActivation::Relu),
            Operator::Unary(Unary::LeakyRelu { alpha }) => {
                self.activated(at, input, output, DraftActivation::Leaky(vec![*alpha]))
            }
            Operator::PRelu => self.leaky(at, node, input, output),
            Operator::Clip => self.clipped(at, node, input, output),
            Operator::Unary(_) if self.gated_by(at).is_some() => Ok(Ok(())),
            Operator::Unary(function) => self.function(at, input, output, Function::Unary(*function)),
            Operator::Binary(binary) => self.binary(at, node, *binary),
            Operator::Variadic(reduction) => self.variadic(at, node, *reduction),
            Operator::MaxPool(pooling) => self.max_pool(at, pooling, input, output),
            Operator::AveragePool { pooling, counts_padding } => {
                self.average_pool(at, pooling, *counts_padding, input, output)
            }
            Operator::GlobalAveragePool => self.global_pool(at, true, input, output),
            Operator::GlobalMaxPool => self.global_pool(at, false, input, output),
            Operator::LocalResponse(response) => {
                if !matches!(response.size, 3 | 5 | 7 | 9) {
                    cpu!("CDP normalises over 3, 5, 7 or 9 channels, and not {}", response.size);
                }
                let Some(cube) = self.nchw(input)? else { cpu!("its input is no cube") };
                self.alone(at, DraftKind::Normalisation(*response), &cube, output)
            }
            Operator::Concat { axis } => self.concatenation(at, node, *axis),
            Operator::Slice => self.slice(at, node, input, output),
            Operator::Resize(resize) => self.resize(at, node, *resize, output),
            &Operator::DepthToSpace { block, is_column_first: false } => {
                self.depth_to_space(at, block, input, output)
            }
            Operator::Identity => self.viewed(at, input, output, |view, _| Some(view.clone())),
            Operator::Reshape { .. }
            | Operator::Flatten { .. }
            | Operator::Squeeze { .. }
            | Operator::Unsqueeze { .. } => self.viewed(at, input, output, View::reshaped),
            Operator::Transpose { permutation } => {
                let rank = self.shape(input).len();
                let reversed: Vec<usize> = (0..rank).rev().collect();
                let order = if permutation.is_empty() { reversed } else { permutation.clone() };
                self.viewed(at, input, output, |view, _| view.transposed(&order))
            }
            Operator::Softmax { .. } | Operator::FlatSoftmax { .. } | Operator::LogSoftmax { .. } => {
                cpu!("no unit has a soft-max")
            }
            Operator::ConvTranspose { .. } => cpu!("{}", transposed::CONDITION),
            operator => cpu!("no unit has {}", operator.name()),
        }
    }

    /// The reason for which values of a node are not what units compute, if one is none of it.
    pub(super) fn no_numbers(
        &self,
        mut values: impl Iterator<Item = (&'static str, ValueId)>,
    ) -> Option<Reason> {
        let (role, id) = values.find(|(_, id)| self.value(*id).element_type != ElementType::Float)?;
        let Value { name, element_type, .. } = self.value(id);
        Some(format!(
            "its {role} `{name}` has elements of type {element_type}, and units compute tensors of floats alone"
        ))
    }

    /// The cubes of a node's values, or the reason for which one is none.
    pub(super) fn cubes_of<const N: usize>(&self, values: [ValueId; N]) -> Result<[Shape; N], Reason> {
        let mut cubes = [Shape { width: 1, height: 1, channels: 1 }; N];
        for (made, value) in cubes.iter_mut().zip(values) {
            *made = cube(self.shape(value))?;
        }
        Ok(cubes)
    }

    /// Returns true if a value is what flows through the network, and not a constant.
    fn is_data(&self, id: ValueId) -> bool {
        self.floats.graph.constant(id).is_none()
    }

    /// Returns true if no unit has begun before a node, and it is none to begin with.
    pub(crate) fn is_before_units(&self, at: usize) -> bool {
        let mut read = self.floats.graph.nodes[at].inputs.iter().flatten();
        self.is_early[at] && (self.start.is_none() || read.all(|input| !self.places.contains_key(input)))
    }

    /// Returns true if a node comes behind all units, so that the CPU does it in the model's numbers unless it becomes a part of the
    /// layer before.
    pub(crate) fn is_behind_units(&self, at: usize) -> bool {
        self.is_late[at]
    }

    /// Returns true if a node stands behind all units, and so does what it reads: no cube is made for it.
    pub(crate) fn is_left_behind(&self, at: usize, input: ValueId) -> bool {
        self.is_behind_units(at) && !self.places.contains_key(&input)
    }

    /// The cube of a value that is `[1, C, H, W]` of it. What lies otherwise is brought into this form.
    pub(crate) fn nchw(&mut self, value: ValueId) -> Result<Option<PlacedValue>, NoNetwork> {
        let shape = self.shape(value);
        if shape.len() != 4 || shape[0] != 1 {
            return Ok(None);
        }
        let placed = self.place(value)?;
        if placed.view.is_nchw(shape) {
            return Ok(Some(placed));
        }
        self.moved(value, &placed).map(Some)
    }

    /// A value brought by the CPU into the cube that is natural for its shape.
    fn moved(&mut self, value: ValueId, placed: &PlacedValue) -> Result<PlacedValue, NoNetwork> {
        let Some(view) = View::natural(self.shape(value)) else {
            return Err(NoNetwork::SeveralStarts);
        };
        let draft = self.moving(value, placed, &view);
        Ok(self.add(draft, value, view))
    }

    /// A layer by itself: one cube read, one made.
    pub(crate) fn alone(
        &mut self,
        at: usize,
        kind: DraftKind,
        from: &PlacedValue,
        output: ValueId,
    ) -> Decided {
        let view = from.view.clone();
        let draft = self.draft(at, kind, vec![from.source], [view.cube; 2], output);
        self.add(draft, output, view);
        Ok(Ok(()))
    }

    /// An activation: of the layer before, or by itself.
    pub(super) fn activated(
        &mut self,
        at: usize,
        input: ValueId,
        output: ValueId,
        activation: DraftActivation,
    ) -> Decided {
        let of = match &activation {
            DraftActivation::Relu | DraftActivation::Limited(_) => self.absorbing_limit(input, at, output),
            activation => {
                self.absorbing(input, at).filter(|of| self.drafts[*of].takes(activation, self.hardware))
            }
        };
        if let Some(of) = of {
            self.drafts[of].activation = activation;
            self.absorb(of, at, input, output);
            return Ok(Ok(()));
        }
        if self.is_behind_units(at) {
            cpu!("it stands behind all units");
        }
        let from = self.place(input)?;
        let channels = from.view.cube.channels as usize;
        let kind = DraftKind::Scaling { scales: vec![1.0; channels], addends: vec![0.0; channels] };
        let (view, source) = (from.view.clone(), from.source);
        let mut draft = self.draft(at, kind, vec![source], [view.cube; 2], output);
        draft.activation = activation;
        self.add(draft, output, view);
        Ok(Ok(()))
    }

    fn leaky(&mut self, at: usize, node: &Node, input: ValueId, output: ValueId) -> Decided {
        let slopes = node.inputs.get(1).copied().flatten().and_then(|id| self.channelwise(input, id));
        let Some(slopes) = slopes else { cpu!("its slopes are not one for each channel") };
        let is_one = slopes.windows(2).all(|pair| pair[0] == pair[1]);
        let slopes: Vec<f32> =
            slopes.iter().take(if is_one { 1 } else { slopes.len() }).map(|s| *s as f32).collect();
        self.activated(at, input, output, DraftActivation::Leaky(slopes))
    }

    fn clipped(&mut self, at: usize, node: &Node, input: ValueId, output: ValueId) -> Decided {
        let bound = |place: usize, open: f32| match node.inputs.get(place).copied().flatten() {
            None => Some(open),
            Some(id) => self.floats.numbers(id)?.as_floats()?.first().copied(),
        };
        let (Some(low), Some(high)) = (bound(1, f32::NEG_INFINITY), bound(2, f32::INFINITY)) else {
            cpu!("its bounds are no constants");
        };
        match (low, high) {
            (0.0, f32::INFINITY) => self.activated(at, input, output, DraftActivation::Relu),
            (0.0, high) if high > 0.0 && self.hardware.is_integer => {
                self.activated(at, input, output, DraftActivation::Limited(high))
            }
            _ => self.function(at, input, output, Function::Clip(low, high)),
        }
    }

    /// The node that multiplies what this one makes in codes by what it is made of: both are one table over the codes of that.
    fn gated_by(&self, at: usize) -> Option<usize> {
        let &[Some(of)] = &self.floats.graph.nodes[at].inputs[..] else { return None };
        let gate = output_of(&self.floats.graph.nodes[at]);
        let product = self.uses.only_reader(gate)?;
        let node = &self.floats.graph.nodes[product];
        let is_product = node.operator == Operator::Binary(Binary::Mul)
            && (node.inputs[..] == [Some(of), Some(gate)] || node.inputs[..] == [Some(gate), Some(of)]);
        let is_in_codes = self.code(of).is_some() && self.code(gate).is_some();
        let has_table = self.hardware.is_integer && self.hardware.has_table;
        let is_a_units = !self.on_cpu.contains_key(&product) && !self.is_behind_units(product);
        (is_product && is_in_codes && has_table && is_a_units).then_some(product)
    }

    /// A product of a number and a function of it in codes, if it is one.
    pub(super) fn gated(
        &mut self,
        at: usize,
        [first, second]: [ValueId; 2],
        output: ValueId,
    ) -> Result<bool, NoNetwork> {
        for (of, gate) in [(first, second), (second, first)] {
            let Some(maker) = self.uses.maker(gate).filter(|maker| self.gated_by(*maker) == Some(at)) else {
                continue;
            };
            let (Operator::Unary(function), Some(code)) =
                (&self.floats.graph.nodes[maker].operator, self.code(gate))
            else {
                continue;
            };
            let kind = DraftKind::Function(Function::Gated(*function, code));
            let from = self.place(of)?;
            let view = from.view.clone();
            let mut draft = self.draft(at, kind, vec![from.source], [view.cube; 2], output);
            draft.nodes.insert(0, maker);
            self.add(draft, output, view);
            return Ok(true);
        }
        Ok(false)
    }

    /// A function by a table.
    pub(crate) fn function(
        &mut self,
        at: usize,
        input: ValueId,
        output: ValueId,
        function: Function,
    ) -> Decided {
        if !self.hardware.is_integer && function.table_of_halves().is_none() {
            cpu!("a table with straight lines outside of it is not right for all numbers of fp16");
        }
        if self.is_behind_units(at) {
            cpu!("it stands behind all units");
        }
        if !self.hardware.has_table {
            cpu!("{} has no lookup table behind SDP", self.hardware.name);
        }
        // A table of codes has an entry for each; one of sums is linear between its entries.
        if function.bends() != Bends::Jumps
            && let Some(of) = self.absorbing(input, at)
            && matches!(self.drafts[of].kind, DraftKind::Convolution(_) | DraftKind::Scaling { .. })
        {
            self.drafts[of].activation = DraftActivation::Table(function, input);
            self.absorb(of, at, input, output);
            return Ok(Ok(()));
        }
        let from = self.place(input)?;
        self.alone(at, DraftKind::Function(function), &from, output)
    }

    /// The numbers of a constant along the channels of a value's cube, if it has but one for each, or one for all.
    pub(crate) fn channelwise(&mut self, value: ValueId, constant: ValueId) -> Option<Vec<f64>> {
        let tensor = self.floats.numbers(constant)?;
        let numbers = tensor.as_floats()?;
        let placed = self.places.get(&value)?;
        let channels = placed.view.cube.channels as usize;
        if let [number] = numbers {
            return Some(vec![(*number).into(); channels]);
        }
        let rank = self.shape(value).len();
        let own = &tensor.shape;
        let first = rank.checked_sub(own.len())?;
        let mut along = own.iter().enumerate().filter(|(_, size)| **size > 1);
        let (axis, size) = along.next()?;
        let is_channels = placed.view.axis(first + axis) == Some(CubeAxis::Channels) && *size == channels;
        (is_channels && along.next().is_none())
            .then(|| numbers.iter().map(|number| (*number).into()).collect())
    }

    /// A factor and an addend for each channel.
    pub(crate) fn scaled(
        &mut self,
        at: usize,
        input: ValueId,
        output: ValueId,
        (scales, addends): (Vec<f64>, Vec<f64>),
    ) -> Decided {
        if let Some(of) = self.absorbing(input, at)
            && self.drafts[of].takes_factors(&scales)
        {
            self.drafts[of].scale(&scales, &addends);
            self.absorb(of, at, input, output);
            return Ok(Ok(()));
        }
        if self.is_behind_units(at) {
            cpu!("it stands behind all units");
        }
        let from = self.place(input)?;
        self.alone(at, DraftKind::Scaling { scales, addends }, &from, output)
    }

    fn normalised(&mut self, at: usize, node: &Node, epsilon: f32) -> Decided {
        let input = match node.inputs.first().copied().flatten() {
            Some(input) => input,
            None => cpu!("it reads nothing"),
        };
        if self.is_left_behind(at, input) {
            cpu!("it stands behind all units");
        }
        self.place(input)?;
        let of = |place: usize| {
            let id = node.inputs.get(place).copied().flatten()?;
            let numbers: Vec<f64> =
                self.floats.numbers(id)?.as_floats()?.iter().map(|n| (*n).into()).collect();
            Some(numbers)
        };
        let (Some(scale), Some(bias), Some(mean), Some(variance)) = (of(1), of(2), of(3), of(4)) else {
            cpu!("its parameters are no constants");
        };
        let channels = self.places[&input].view.cube.channels as usize;
        let along = self.places[&input].view.axis(1);
        let counts = [&scale, &bias, &mean, &variance].map(Vec::len);
        if channels > 1 && along != Some(CubeAxis::Channels) || counts != [channels; 4] {
            cpu!("its axis is not the channels of a cube");
        }
        let scales: Vec<f64> = scale
            .iter()
            .zip(&variance)
            .map(|(scale, variance)| scale / (variance + f64::from(epsilon)).sqrt())
            .collect();
        let addends = (0..channels).map(|at| bias[at] - mean[at] * scales[at]).collect();
        self.scaled(at, input, output_of(node), (scales, addends))
    }
}

/// The only output of a node.
pub(crate) fn output_of(node: &Node) -> ValueId {
    node.outputs[0]
}

impl Draft {
    /// Returns true if factors of negative numbers can become a part of it, which takes activations: SDP multiplies behind what
    /// is added once, and what two cubes in codes add up to still has their zero points.
    fn takes(&self, activation: &DraftActivation, hardware: &Hardware) -> bool {
        let has_several = matches!(activation, DraftActivation::Leaky(slopes) if slopes.len() > 1);
        match &self.kind {
            DraftKind::Sum { .. } => !has_several && !hardware.is_integer,
            DraftKind::Convolution(kernels) => !(kernels.adds && has_several),
            _ => true,
        }
    }

    /// Returns true if factors and addends for each channel can become a part of it.
    fn takes_factors(&self, scales: &[f64]) -> bool {
        let is_one = scales.iter().all(|scale| *scale == 1.0);
        match &self.kind {
            DraftKind::Convolution(kernels) => {
                !kernels.adds && (is_one || matches!(kernels.weights, super::draft::Weights::Floats(_)))
            }
            DraftKind::Scaling { .. } => true,
            _ => false,
        }
    }

    /// Multiplies what it computes, and adds to it.
    fn scale(&mut self, factors: &[f64], more: &[f64]) {
        match &mut self.kind {
            DraftKind::Convolution(kernels) => {
                if let super::draft::Weights::Floats(weights) = &mut kernels.weights {
                    let each = weights.len() / factors.len().max(1);
                    for (weights, factor) in weights.chunks_mut(each.max(1)).zip(factors) {
                        weights.iter_mut().for_each(|weight| *weight = (f64::from(*weight) * factor) as f32);
                    }
                }
                for ((bias, factor), more) in kernels.bias.iter_mut().zip(factors).zip(more) {
                    *bias = *bias * factor + more;
                }
            }
            DraftKind::Scaling { scales, addends } => {
                for (at, (factor, more)) in factors.iter().zip(more).enumerate() {
                    scales[at] *= factor;
                    addends[at] = addends[at] * factor + more;
                }
            }
            _ => {}
        }
    }
}

/// The cube of a shape `[1, C, H, W]`, or the reason for which it is none.
pub(crate) fn cube(shape: &[usize]) -> Result<Shape, Reason> {
    cube_of(shape).ok_or_else(|| {
        let why = match *shape {
            [] | [_] | [_, _] | [_, _, _] | [_, _, _, _, _, ..] => {
                format!("it has {} axes, and units have frame, channel, line and column", shape.len())
            }
            [frames, ..] if frames > 1 => format!("its batch is {frames}, and a frame is computed at a time"),
            _ => no_cube(shape, None),
        };
        format!("a tensor of {} is no cube: {why}", shape_text(shape))
    })
}

/// A cube of a shape `[1, C, H, W]`, if registers can say its sizes.
fn cube_of(shape: &[usize]) -> Option<Shape> {
    let is_said = shape.iter().all(|size| (1..=Shape::MOST as usize).contains(size));
    match *shape {
        [1, channels, height, width] if is_said => {
            let [width, height, channels] = [width, height, channels].map(|size| size as u32);
            Some(Shape { width, height, channels })
        }
        _ => None,
    }
}
