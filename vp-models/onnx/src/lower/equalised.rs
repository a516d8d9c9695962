//! Channels of one cube brought to like ranges, before a float model gets codes of 8 bits.
//!
//! A cube has one scale, so channels of small numbers beside large ones have few codes: in depthwise networks most of what int8 loses. What
//! makes a channel is divided by a factor, and the weights that read it are multiplied by that, which changes no answer: Relu and poolings
//! of a multiple give the multiple (cross-layer equalisation, Nagel et al. 2019). Factors are powers of two, so the numbers of the model stay
//! exact. What the cube gains its readers' weights may lose: of several shares of the difference (SmoothQuant's alpha, Xiao et al. 2022)
//! that is taken by which the readers' sums lose least, as rounding of cube and weights makes one expect.

use super::floats::FloatGraph;
use super::uses::Uses;
use std::collections::{BTreeMap, HashMap};
use vp_tensors::{Binary, Graph, GraphError, Node, Operator, Tensor, Unary, ValueId};

/// Ratio of a channel's largest number to that of the cube below which it counts as that much. What makes the channels has factors for each
/// as well, of which SDP takes no very different ones (`coded`).
const LEAST: f32 = 1.0 / 64.0;

/// Shares of the difference between channels that may be taken from a cube; at 1 all have one range.
const SHARES: [f32; 4] = [0.25, 0.5, 0.75, 1.0];

/// Ratio of losses from which on factors are worth it: half, which is half a bit.
const WORTH: f64 = 0.5;

/// Codes on one side of zero.
const CODES: f32 = 127.0;

/// Factors of the channels of values, by their names.
pub(crate) type Factors = BTreeMap<String, Vec<f32>>;

/// A value that only convolutions read, and whose channels what makes it can divide.
struct Boundary {
    value: ValueId,
    /// Convolutions, by their places in the graph.
    readers: Vec<usize>,
    makers: Makers,
}

/// Nodes between a value and the convolution or the factors that make its channels.
#[derive(Default)]
struct Makers {
    /// Inputs of nodes that are divided.
    divided: Vec<Divided>,
    /// Upper bound of the value. It is divided as well, and so must be no smaller than a channel's range.
    bound: Option<f32>,
}

/// Constant to be divided channel by channel.
#[derive(Clone, Copy)]
struct Divided {
    node: usize,
    input: usize,
    /// True if it is multiplied instead: the node divides by it.
    is_divisor: bool,
}

/// Numbers that occur in the channels of values that may have factors.
pub(crate) struct ChannelRanges {
    boundaries: Vec<Boundary>,
    channels: HashMap<ValueId, Vec<Channel>>,
}

/// Numbers of a channel.
#[derive(Clone, Copy, Default)]
struct Channel {
    /// Largest magnitude.
    largest: f32,
    /// Sum of squares, and number of elements.
    squares: f64,
    count: usize,
}

impl Channel {
    fn add(&mut self, number: f32) {
        self.largest = self.largest.max(number.abs());
        self.squares += f64::from(number) * f64::from(number);
        self.count += 1;
    }

    /// Mean of squares.
    fn power(self) -> f32 {
        (self.squares / self.count.max(1) as f64) as f32
    }
}

impl ChannelRanges {
    pub(crate) fn of(floats: &FloatGraph) -> ChannelRanges {
        let uses = Uses::of(&floats.graph);
        let values = (0..floats.graph.values.len()).map(ValueId);
        let boundaries: Vec<Boundary> =
            values.filter_map(|value| Boundary::of(floats, &uses, value)).collect();
        let channels = |boundary: &Boundary| {
            let count = floats.graph.value(boundary.value).shape[1];
            (boundary.value, vec![Channel::default(); count])
        };
        ChannelRanges { channels: boundaries.iter().map(channels).collect(), boundaries }
    }

    /// Adds the numbers of a sample.
    pub(crate) fn note(&mut self, graph: &Graph, sample: &[Tensor]) -> Result<(), GraphError> {
        let noted = graph.run_each(sample, &mut |value, tensor| {
            if let (Some(channels), Some(numbers)) = (self.channels.get_mut(&value), tensor.as_floats()) {
                let (size, count) = (tensor.shape[2..].iter().product::<usize>(), channels.len());
                for (at, numbers) in numbers.chunks(size.max(1)).enumerate() {
                    let finite = numbers.iter().filter(|number| number.is_finite());
                    finite.for_each(|number| channels[at % count].add(*number));
                }
            }
        });
        noted.map(drop)
    }

    /// Factors that these ranges give, put into the graph.
    pub(crate) fn equalise(self, floats: &mut FloatGraph) -> Factors {
        let mut factors = Factors::new();
        for boundary in &self.boundaries {
            let Some(found) = boundary.factors(floats, &self.channels[&boundary.value]) else { continue };
            boundary.apply(floats, &found);
            factors.insert(floats.graph.value(boundary.value).name.clone(), found);
        }
        factors
    }
}

/// Puts factors of a table into a graph, those that fit its values.
pub(crate) fn equalise_by(floats: &mut FloatGraph, factors: &Factors) {
    for boundary in ChannelRanges::of(floats).boundaries {
        let value = floats.graph.value(boundary.value);
        if let Some(found) = factors.get(&value.name).filter(|found| found.len() == value.shape[1]) {
            boundary.apply(floats, found);
        }
    }
}

impl Boundary {
    fn of(floats: &FloatGraph, uses: &Uses, value: ValueId) -> Option<Boundary> {
        let shape = &floats.graph.value(value).shape;
        let &[_, channels, _, _] = &shape[..] else { return None };
        let mut readers = uses.readers(value).to_vec();
        readers.dedup();
        let is_read = |at: usize| {
            let node = &floats.graph.nodes[at];
            let others = node.inputs.iter().skip(1).flatten();
            matches!(node.operator, Operator::Conv(_))
                && weights(floats, node).is_some()
                && others.clone().all(|other| *other != value)
        };
        let is_bound = uses.is_output(value) || floats.codes.contains_key(&value);
        if channels < 2 || readers.is_empty() || is_bound || !readers.iter().all(|at| is_read(*at)) {
            return None;
        }
        let makers = makers(floats, uses, value, channels)?;
        Some(Boundary { value, readers, makers })
    }

    /// Factors for channels of such numbers; none if they are best as they are.
    fn factors(&self, floats: &FloatGraph, channels: &[Channel]) -> Option<Vec<f32>> {
        let readers: Option<Vec<(&Tensor, usize)>> = self
            .readers
            .iter()
            .map(|at| match &floats.graph.nodes[*at] {
                node @ Node { operator: Operator::Conv(spatial), .. } => {
                    Some((weights(floats, node)?, spatial.groups))
                }
                _ => None,
            })
            .collect();
        let readers = readers?;
        let mut read = vec![0.0_f32; channels.len()];
        for (weights, groups) in &readers {
            for (channel, taps) in taps_of_channels(weights, *groups) {
                read[channel] = taps.iter().map(|tap| tap.abs()).fold(read[channel], f32::max);
            }
        }
        let largest: Vec<f32> = channels.iter().map(|channel| channel.largest).collect();
        let [largest, read] = [largest, read].map(|all| {
            let most = all.iter().copied().fold(0.0, f32::max);
            all.iter().map(|each| each.max(LEAST * most)).collect::<Vec<f32>>()
        });
        let shared = |share: f32| {
            let factor = |(largest, read): (&f32, &f32)| share * largest.log2() - (1.0 - share) * read.log2();
            let factors: Vec<f32> = largest.iter().zip(&read).map(factor).collect();
            let most = factors.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let bounded = |(factor, channel): (&f32, &Channel)| {
                let least =
                    self.makers.bound.map_or(f32::NEG_INFINITY, |bound| (channel.largest / bound).log2());
                (factor - most).round().max(least.ceil()).exp2()
            };
            factors.iter().zip(channels).map(bounded).collect::<Vec<f32>>()
        };
        let loss = |factors: &[f32]| -> f64 {
            readers.iter().map(|(weights, groups)| loss(weights, *groups, channels, factors)).sum()
        };
        let as_it_is = loss(&vec![1.0; channels.len()]);
        let all = SHARES.map(shared).into_iter().filter(|all| all.iter().all(|factor| factor.is_normal()));
        let best =
            all.map(|factors| (loss(&factors), factors)).min_by(|one, other| one.0.total_cmp(&other.0));
        best.filter(|(loss, _)| *loss < WORTH * as_it_is).map(|(_, factors)| factors)
    }

    fn apply(&self, floats: &mut FloatGraph, factors: &[f32]) {
        for &Divided { node, input, is_divisor } in &self.makers.divided {
            let Some(constant) = floats.graph.nodes[node].inputs[input] else { continue };
            let Some(tensor) = floats.numbers(constant).cloned() else { continue };
            let factors: Vec<f32> = match is_divisor {
                true => factors.to_vec(),
                false => factors.iter().map(|factor| 1.0 / factor).collect(),
            };
            let divided = by_channel(
                &tensor,
                &factors,
                matches!(floats.graph.nodes[node].operator, Operator::Binary(_)),
            );
            put(floats, (node, input), divided);
        }
        for &at in &self.readers {
            let Operator::Conv(spatial) = &floats.graph.nodes[at].operator else { continue };
            let groups = spatial.groups;
            let Some(tensor) = weights(floats, &floats.graph.nodes[at]).cloned() else { continue };
            let Some(mut numbers) = tensor.as_floats().map(<[f32]>::to_vec) else { continue };
            let size: usize = tensor.shape[2..].iter().product();
            let places = taps_of_channels(&tensor, groups).map(|(channel, _)| channel);
            for (taps, channel) in numbers.chunks_mut(size.max(1)).zip(places) {
                taps.iter_mut().for_each(|tap| *tap *= factors[channel]);
            }
            put(floats, (at, 1), Tensor::floats(tensor.shape.clone(), numbers));
        }
    }
}

/// The weights of a convolution, if they are constants of numbers.
fn weights<'a>(floats: &'a FloatGraph, node: &Node) -> Option<&'a Tensor> {
    let id = node.inputs.get(1).copied().flatten()?;
    floats.numbers(id).filter(|tensor| !floats.constants.contains_key(&id) && tensor.shape.len() == 4)
}

/// Taps of weights `[kernel][channel of its group][row][column]` with the channel that they read.
fn taps_of_channels(weights: &Tensor, groups: usize) -> impl Iterator<Item = (usize, &[f32])> {
    let (kernels, seen) = (weights.shape[0], weights.shape[1]);
    let size: usize = weights.shape[2..].iter().product();
    let numbers = weights.as_floats().unwrap_or_default();
    numbers.chunks(size.max(1)).enumerate().map(move |(at, taps)| {
        let (kernel, channel) = (at / seen, at % seen);
        (kernel * groups / kernels * seen + channel, taps)
    })
}

/// Noise of a convolution's sums that rounding of its input and of its weights makes, in squares: with channels divided by factors, a
/// scale for the input and one for each kernel.
fn loss(weights: &Tensor, groups: usize, channels: &[Channel], factors: &[f32]) -> f64 {
    let largest = channels.iter().zip(factors).map(|(channel, factor)| channel.largest / factor);
    let step = largest.fold(0.0, f32::max) / CODES;
    let powers: Vec<f32> =
        channels.iter().zip(factors).map(|(channel, factor)| channel.power() / (factor * factor)).collect();
    let taps: Vec<(usize, &[f32])> = taps_of_channels(weights, groups).collect();
    let of_kernel = |taps: &[(usize, &[f32])]| {
        let (mut squares, mut most, mut power) = (0.0_f32, 0.0_f32, 0.0_f32);
        for (channel, taps) in taps {
            for tap in taps.iter().map(|tap| tap * factors[*channel]) {
                squares += tap * tap;
                most = most.max(tap.abs());
            }
            power += powers[*channel] * taps.len() as f32;
        }
        let weight_step = most / CODES;
        f64::from(step * step * squares + weight_step * weight_step * power)
    };
    taps.chunks(weights.shape[1].max(1)).map(of_kernel).sum()
}

/// Nodes whose division divides a value's channels: back to the convolution or the factors that make them. None if something else does, or
/// others read what is between.
fn makers(floats: &FloatGraph, uses: &Uses, value: ValueId, channels: usize) -> Option<Makers> {
    let (mut value, mut makers, mut is_first) = (value, Makers::default(), true);
    loop {
        let at = uses.maker(value)?;
        let is_own = is_first || uses.readers(value).len() == 1 && !uses.is_output(value);
        if !is_own || floats.codes.contains_key(&value) {
            return None;
        }
        is_first = false;
        let node = &floats.graph.nodes[at];
        let input = |input: usize| node.inputs.get(input).copied().flatten();
        let constant = |place: usize| {
            let id = input(place)?;
            floats.numbers(id).filter(|_| !floats.constants.contains_key(&id))
        };
        let number = |place: usize| match constant(place)?.as_floats()? {
            [number] => Some(*number),
            _ => None,
        };
        let mut divide = |input: usize, is_divisor: bool| {
            makers.divided.push(Divided { node: at, input, is_divisor });
        };
        match &node.operator {
            Operator::Unary(Unary::Relu | Unary::LeakyRelu { .. })
            | Operator::Identity
            | Operator::MaxPool(_)
            | Operator::AveragePool { .. } => value = input(0)?,
            Operator::PRelu => {
                constant(1)?;
                value = input(0)?;
            }
            Operator::Clip if input(2).is_some() => {
                let bound = number(2).filter(|bound| *bound > 0.0 && number(1) == Some(0.0))?;
                divide(2, false);
                makers.bound = Some(makers.bound.map_or(bound, |other| other.min(bound)));
                value = input(0)?;
            }
            Operator::Conv(_) => {
                weights(floats, node)?;
                divide(1, false);
                if input(2).is_some() {
                    constant(2)?;
                    divide(2, false);
                }
                return Some(makers);
            }
            Operator::BatchNormalization { .. } => {
                for place in 1..=2 {
                    constant(place)?;
                    divide(place, false);
                }
                return Some(makers);
            }
            Operator::Binary(binary) => {
                let operand = (0..2)
                    .find(|place| constant(*place).is_some_and(|tensor| is_by_channel(tensor, channels)))?;
                match binary {
                    Binary::Mul => {
                        divide(operand, false);
                        return Some(makers);
                    }
                    Binary::Div if operand == 1 => {
                        divide(1, true);
                        return Some(makers);
                    }
                    Binary::Add | Binary::Sub => {
                        divide(operand, false);
                        value = input(1 - operand)?;
                    }
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
}

/// Returns true if an operand has one number for each channel, or for all.
fn is_by_channel(tensor: &Tensor, channels: usize) -> bool {
    let axis = tensor.shape.len().checked_sub(3);
    let is_fit = |(at, size): (usize, &usize)| *size == 1 || Some(at) == axis && *size == channels;
    tensor.shape.iter().enumerate().all(is_fit)
}

/// A constant with each channel's part multiplied: along its first axis, or as an operand beside a cube `[1][channel][line][column]`.
fn by_channel(tensor: &Tensor, factors: &[f32], is_operand: bool) -> Tensor {
    let numbers = tensor.to_floats();
    match (is_operand, numbers.len()) {
        (true, 1) => {
            let each = factors.iter().map(|factor| numbers[0] * factor).collect();
            Tensor::floats([1, factors.len(), 1, 1], each)
        }
        (_, count) => {
            let size = (count / factors.len()).max(1);
            let each = numbers.chunks(size).zip(factors);
            let each = each.flat_map(|(part, factor)| part.iter().map(move |number| number * factor));
            Tensor::floats(tensor.shape.clone(), each.collect())
        }
    }
}

/// Gives an input of a node another constant: others may read the one that it had.
fn put(floats: &mut FloatGraph, (node, input): (usize, usize), tensor: Tensor) {
    let name = format!("{} equalised {input}", floats.graph.nodes[node].name);
    let id = floats.constant(name, tensor);
    floats.graph.nodes[node].inputs[input] = Some(id);
}
