//! Channels of cubes brought to like ranges, before a float model gets codes of 8 bits.
//!
//! A cube has one scale, so channels of small numbers beside large ones have few codes: in depthwise networks, and where cubes are joined,
//! most of what int8 loses. What makes a channel is divided by a factor, and what reads it is multiplied by that, which changes no answer:
//! Relu and poolings of a multiple give the multiple (cross-layer equalisation, Nagel et al. 2019). Factors are powers of two, so the numbers
//! of the model stay exact. What cubes gain their readers' weights may lose: of several shares of the difference (SmoothQuant's alpha, Xiao
//! et al. 2022) that is taken by which the readers' sums lose least, as rounding of cubes and weights makes one expect.
//!
//! ```text
//! Conv, BatchNormalization, Mul → Add, Relu, pooling, Concat      → Conv, BatchNormalization, Mul
//! makers, divided                 a group: its values have factors   readers, multiplied
//! ```

use super::floats::FloatGraph;
use super::uses::Uses;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use vp_tensors::{Binary, Graph, GraphError, Node, Operator, Tensor, Unary, ValueId};

/// Ratio of a channel's largest number to that of all below which it counts as that much. What makes the channels has factors for each as
/// well, of which SDP takes no very different ones (`coded`).
const LEAST: f32 = 1.0 / 64.0;

/// Shares of the difference between channels that may be taken from cubes; at 1 all have one range.
const SHARES: [f32; 4] = [0.25, 0.5, 0.75, 1.0];

/// Ratio of losses from which on factors are worth it: half, which is half a bit.
const WORTH: f64 = 0.5;

/// Channels of all values together, at most: a graph of more stays as it is, and takes no memory here.
const MOST_CHANNELS: usize = 1 << 23;

/// Codes on one side of zero.
const CODES: f32 = 127.0;

/// Factors of the channels that nodes make, by the names of the values.
pub(crate) type Factors = BTreeMap<String, Vec<f32>>;

/// Values whose channels have factors together, and all that makes and reads them.
struct Group {
    /// Places of each value's channels among all that makers make.
    values: BTreeMap<ValueId, Vec<usize>>,
    /// Values that makers make, in the order of their places.
    made: Vec<ValueId>,
    /// Number of channels that makers make.
    channels: usize,
    divided: Vec<Divided>,
    readers: Vec<Reader>,
}

/// Constant to be divided channel by channel, as the value is.
#[derive(Clone, Copy)]
struct Divided {
    node: usize,
    input: usize,
    value: ValueId,
    /// True if it is multiplied instead: the node divides by it.
    is_divisor: bool,
}

/// Node that reads a value, and takes its factors back.
#[derive(Clone, Copy)]
struct Reader {
    node: usize,
    value: ValueId,
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

/// Numbers that occur in the channels of values that may have factors.
pub(crate) struct ChannelRanges {
    groups: Vec<Group>,
    channels: HashMap<ValueId, Vec<Channel>>,
}

impl ChannelRanges {
    pub(crate) fn of(floats: &FloatGraph) -> ChannelRanges {
        let groups = Look::of(floats).groups();
        let read = groups.iter().flat_map(|group| &group.readers);
        let channels = read.map(|reader| {
            let count = floats.graph.value(reader.value).shape[1];
            (reader.value, vec![Channel::default(); count])
        });
        ChannelRanges { channels: channels.collect(), groups }
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
        for group in &self.groups {
            let Some(found) = group.factors(floats, &self.channels) else { continue };
            group.apply(floats, &found);
            factors.extend(group.made.iter().map(|value| {
                let own = group.values[value].iter().map(|place| found[*place]);
                (floats.graph.value(*value).name.clone(), own.collect())
            }));
        }
        factors
    }
}

/// Puts factors of a table into a graph.
///
/// # Errors
/// The name of a value whose factors are for other channels than it has, or that can have none.
pub(crate) fn equalise_by(floats: &mut FloatGraph, factors: &Factors) -> Result<(), String> {
    let mut left: BTreeSet<&String> = factors.keys().collect();
    for group in Look::of(floats).groups() {
        let own = |value: &ValueId| {
            let value = floats.graph.value(*value);
            factors.get_key_value(&value.name).filter(|(_, found)| found.len() == value.shape[1])
        };
        let all: Option<Vec<(&String, &Vec<f32>)>> = group.made.iter().map(own).collect();
        if let Some(all) = all {
            all.iter().for_each(|(name, _)| {
                left.remove(name);
            });
            let found: Vec<f32> = all.into_iter().flat_map(|(_, factors)| factors).copied().collect();
            group.apply(floats, &found);
        }
    }
    left.first().map_or(Ok(()), |name| Err((*name).clone()))
}

/// Part that a node plays for the factors of its output.
enum Role {
    /// Multiple of a multiple: of these inputs side by side, with a constant that is divided as well.
    Keeps {
        sources: Vec<ValueId>,
        divided: Option<usize>,
    },
    /// Multiple where these constants are divided.
    Makes {
        divided: Vec<usize>,
        is_divisor: bool,
    },
    Other,
}

/// Look at a graph in search of groups.
struct Look<'a> {
    floats: &'a FloatGraph,
    uses: Uses,
}

impl<'a> Look<'a> {
    fn of(floats: &'a FloatGraph) -> Look<'a> {
        Look { floats, uses: Uses::of(&floats.graph) }
    }

    /// Groups of which all makers and readers take factors.
    fn groups(&self) -> Vec<Group> {
        let nodes = &self.floats.graph.nodes;
        let mut sets: Vec<usize> = (0..self.floats.graph.values.len()).collect();
        let roles: Vec<Role> = nodes.iter().map(|node| self.role(node)).collect();
        let made = nodes.iter().zip(&roles).filter(|(_, role)| !matches!(role, Role::Other));
        let channels = made.map(|(node, _)| self.floats.graph.value(node.outputs[0]).shape[1]);
        if channels.sum::<usize>() > MOST_CHANNELS {
            return Vec::new();
        }
        for (node, role) in nodes.iter().zip(&roles) {
            if let Role::Keeps { sources, .. } = role {
                sources.iter().for_each(|source| join(&mut sets, source.0, node.outputs[0].0));
            }
        }
        let mut groups: BTreeMap<usize, Option<Group>> = BTreeMap::new();
        for (at, (node, role)) in nodes.iter().zip(&roles).enumerate() {
            let Some(output) = node.outputs.first() else { continue };
            let set = root(&mut sets, output.0);
            let group = groups.entry(set).or_insert_with(|| Some(Group::empty()));
            let is_added =
                group.as_mut().and_then(|group| group.add(self, (at, node, role), &roles)).is_some();
            if !is_added {
                *group = None;
            }
        }
        // An input or a constant among its values has nothing that makes it.
        groups
            .into_values()
            .flatten()
            .filter(|group| !group.readers.is_empty() && group.channels > 1)
            .collect()
    }

    fn role(&self, node: &Node) -> Role {
        let (Some(&Some(input)), [output]) = (node.inputs.first(), &node.outputs[..]) else {
            return Role::Other;
        };
        let &[_, channels, _, _] = &self.floats.graph.value(*output).shape[..] else { return Role::Other };
        let keeps = |source: ValueId| Role::Keeps { sources: vec![source], divided: None };
        match &node.operator {
            Operator::Unary(Unary::Relu | Unary::LeakyRelu { .. })
            | Operator::Identity
            | Operator::MaxPool(_)
            | Operator::AveragePool { .. }
            | Operator::GlobalAveragePool
            | Operator::GlobalMaxPool => keeps(input),
            Operator::PRelu if self.constant(node, 1).is_some() => keeps(input),
            Operator::Concat { axis: 1 | -3 } => {
                let sources = node.inputs.iter().flatten().copied().collect();
                Role::Keeps { sources, divided: None }
            }
            Operator::Conv(_) if weights(self.floats, node).is_some() => {
                let has_bias = node.inputs.get(2).copied().flatten().is_some();
                match has_bias {
                    true if self.constant(node, 2).is_none() => Role::Other,
                    true => Role::Makes { divided: vec![1, 2], is_divisor: false },
                    false => Role::Makes { divided: vec![1], is_divisor: false },
                }
            }
            Operator::BatchNormalization { .. } if (1..5).all(|at| self.constant(node, at).is_some()) => {
                Role::Makes { divided: vec![1, 2], is_divisor: false }
            }
            Operator::Binary(binary) => {
                let Some((operand, source)) = self.operand(node, channels) else { return Role::Other };
                match binary {
                    Binary::Mul => Role::Makes { divided: vec![operand], is_divisor: false },
                    Binary::Div if operand == 1 => Role::Makes { divided: vec![1], is_divisor: true },
                    Binary::Add | Binary::Sub => {
                        Role::Keeps { sources: vec![source], divided: Some(operand) }
                    }
                    _ => Role::Other,
                }
            }
            _ => Role::Other,
        }
    }

    fn constant(&self, node: &Node, place: usize) -> Option<&'a Tensor> {
        let id = node.inputs.get(place).copied().flatten()?;
        // A model's own integers lie beside the numbers.
        self.floats.numbers(id).filter(|_| !self.floats.constants.contains_key(&id))
    }

    /// Place of a constant with a number for each channel, or for all, and what it is joined with: a cube as large as the output.
    fn operand(&self, node: &Node, channels: usize) -> Option<(usize, ValueId)> {
        let &[Some(first), Some(second)] = &node.inputs[..] else { return None };
        let is_it =
            |place: usize| self.constant(node, place).is_some_and(|tensor| is_by_channel(tensor, channels));
        let operand = (0..2).find(|place| is_it(*place))?;
        let source = [second, first][operand];
        let shape = |id: ValueId| &self.floats.graph.value(id).shape;
        (shape(source) == shape(node.outputs[0])).then_some((operand, source))
    }

    /// Returns true if a node takes back the factors of a value that it reads.
    fn takes_back(&self, node: &Node, role: &Role, value: ValueId) -> bool {
        let is_once = node.inputs.iter().flatten().filter(|input| **input == value).count() == 1;
        let is_data = match node.operator {
            Operator::Binary(_) => true,
            _ => node.inputs.first() == Some(&Some(value)),
        };
        is_once && is_data && matches!(role, Role::Makes { .. })
    }
}

impl Group {
    fn empty() -> Group {
        Group {
            values: BTreeMap::new(),
            made: Vec::new(),
            channels: 0,
            divided: Vec::new(),
            readers: Vec::new(),
        }
    }

    /// Adds what a node makes, and those who read that. None if the group cannot have factors.
    fn add(
        &mut self,
        look: &Look<'_>,
        (at, node, role): (usize, &Node, &Role),
        roles: &[Role],
    ) -> Option<()> {
        let &[value] = &node.outputs[..] else { return None };
        let floats = look.floats;
        if look.uses.is_output(value) || floats.codes.contains_key(&value) {
            return None;
        }
        let mut divide = |input: usize, is_divisor: bool| {
            self.divided.push(Divided { node: at, input, value, is_divisor });
        };
        let places: Vec<usize> = match role {
            Role::Other => return None,
            Role::Makes { divided, is_divisor } => {
                divided.iter().for_each(|input| divide(*input, *is_divisor));
                let first = self.channels;
                self.channels += floats.graph.value(value).shape[1];
                self.made.push(value);
                (first..self.channels).collect()
            }
            Role::Keeps { sources, divided } => {
                divided.iter().for_each(|input| divide(*input, false));
                let of = |source: &ValueId| self.values.get(source).cloned();
                sources.iter().map(of).collect::<Option<Vec<_>>>()?.concat()
            }
        };
        self.values.insert(value, places);
        let mut readers = look.uses.readers(value).to_vec();
        readers.dedup();
        for reader in readers {
            let node = &floats.graph.nodes[reader];
            match &roles[reader] {
                Role::Keeps { sources, .. } if sources.contains(&value) => {}
                role if look.takes_back(node, role, value) => {
                    self.readers.push(Reader { node: reader, value });
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Factors by these numbers; none if the channels are best as they are.
    fn factors(&self, floats: &FloatGraph, numbers: &HashMap<ValueId, Vec<Channel>>) -> Option<Vec<f32>> {
        let mut channels = vec![Channel::default(); self.channels];
        let readers: Option<Vec<(Tensor, usize, &Vec<usize>)>> = self
            .readers
            .iter()
            .map(|reader| {
                let (weights, groups) = read_weights(floats, &floats.graph.nodes[reader.node])?;
                Some((weights, groups, &self.values[&reader.value]))
            })
            .collect();
        let readers = readers?;
        let mut read = vec![0.0_f32; self.channels];
        for (weights, groups, places) in &readers {
            for (channel, taps) in taps_of_channels(weights, *groups) {
                let place = places[channel];
                read[place] = taps.iter().map(|tap| tap.abs()).fold(read[place], f32::max);
            }
        }
        for Reader { value, .. } in &self.readers {
            for (place, seen) in self.values[value].iter().zip(&numbers[value]) {
                let channel = &mut channels[*place];
                channel.largest = channel.largest.max(seen.largest);
                channel.squares += seen.squares;
                channel.count += seen.count;
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
            factors.iter().map(|factor| (factor - most).round().exp2()).collect::<Vec<f32>>()
        };
        let loss = |factors: &[f32]| -> f64 {
            let scaled = channels.iter().zip(factors).map(|(channel, factor)| channel.largest / factor);
            let step = scaled.fold(0.0, f32::max) / CODES;
            let of = |(weights, groups, places): &(Tensor, usize, &Vec<usize>)| {
                let channels: Vec<(f32, f32)> =
                    places.iter().map(|place| (factors[*place], channels[*place].power())).collect();
                loss(weights, *groups, &channels, step)
            };
            readers.iter().map(of).sum()
        };
        let all = SHARES.map(shared).into_iter().filter(|all| all.iter().all(|factor| factor.is_normal()));
        let best =
            all.map(|factors| (loss(&factors), factors)).min_by(|one, other| one.0.total_cmp(&other.0));
        let as_it_is = loss(&vec![1.0; self.channels]);
        best.filter(|(loss, _)| *loss < WORTH * as_it_is).map(|(_, factors)| factors)
    }

    /// Divides and multiplies the constants of makers and readers.
    fn apply(&self, floats: &mut FloatGraph, factors: &[f32]) {
        let of =
            |value: &ValueId| self.values[value].iter().map(|place| factors[*place]).collect::<Vec<f32>>();
        let inverse = |factors: &[f32]| factors.iter().map(|factor| 1.0 / factor).collect::<Vec<f32>>();
        for Divided { node, input, value, is_divisor } in &self.divided {
            let factors = if *is_divisor { of(value) } else { inverse(&of(value)) };
            let is_operand = matches!(floats.graph.nodes[*node].operator, Operator::Binary(_));
            change(floats, (*node, *input), |tensor| by_channel(tensor, &factors, is_operand));
        }
        for Reader { node, value } in &self.readers {
            let factors = of(value);
            let inputs = floats.graph.nodes[*node].inputs.clone();
            match &floats.graph.nodes[*node].operator {
                Operator::Conv(spatial) => {
                    let groups = spatial.groups;
                    change(floats, (*node, 1), |weights| by_read_channel(weights, groups, &factors));
                }
                Operator::BatchNormalization { .. } => {
                    change(floats, (*node, 1), |scale| by_channel(scale, &factors, false));
                    change(floats, (*node, 3), |mean| by_channel(mean, &inverse(&factors), false));
                }
                Operator::Binary(binary) => {
                    let factors = if *binary == Binary::Div { inverse(&factors) } else { factors };
                    let operand = usize::from(inputs[0] == Some(*value));
                    change(floats, (*node, operand), |operand| by_channel(operand, &factors, true));
                }
                _ => {}
            }
        }
    }
}

/// Root of a set of values.
fn root(sets: &mut [usize], mut at: usize) -> usize {
    while sets[at] != at {
        sets[at] = sets[sets[at]];
        at = sets[at];
    }
    at
}

fn join(sets: &mut [usize], one: usize, other: usize) {
    let (one, other) = (root(sets, one), root(sets, other));
    sets[one] = other;
}

/// The weights of a convolution, if they are constants of numbers.
fn weights<'a>(floats: &'a FloatGraph, node: &Node) -> Option<&'a Tensor> {
    let id = node.inputs.get(1).copied().flatten()?;
    floats.numbers(id).filter(|tensor| !floats.constants.contains_key(&id) && tensor.shape.len() == 4)
}

/// Weights by which a node reads a value, `[kernel][channel of its group][row][column]`, and its groups: of factors a depthwise
/// convolution's.
fn read_weights(floats: &FloatGraph, node: &Node) -> Option<(Tensor, usize)> {
    let numbers = |place: usize| {
        let id = node.inputs.get(place).copied().flatten()?;
        Some(floats.numbers(id)?.to_floats())
    };
    let channels = floats.graph.value(node.outputs[0]).shape[1];
    let depthwise = |factors: Vec<f32>| {
        let each = if factors.len() == 1 { vec![factors[0]; channels] } else { factors };
        (Tensor::floats([channels, 1, 1, 1], each), channels)
    };
    Some(match &node.operator {
        Operator::Conv(spatial) => (weights(floats, node)?.clone(), spatial.groups),
        Operator::BatchNormalization { epsilon } => {
            let (scale, variance) = (numbers(1)?, numbers(4)?);
            depthwise(scale.iter().zip(&variance).map(|(scale, of)| scale / (of + epsilon).sqrt()).collect())
        }
        Operator::Binary(binary) => {
            let operand = numbers(0).or_else(|| numbers(1))?;
            depthwise(match binary {
                Binary::Div => operand.iter().map(|number| 1.0 / number).collect(),
                _ => operand,
            })
        }
        _ => return None,
    })
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

/// Noise of sums that rounding of the input, in such steps, and of the weights makes, in squares: of channels with these factors and means of
/// squares, and weights with a scale for each kernel.
fn loss(weights: &Tensor, groups: usize, channels: &[(f32, f32)], step: f32) -> f64 {
    let taps: Vec<(usize, &[f32])> = taps_of_channels(weights, groups).collect();
    let of_kernel = |taps: &[(usize, &[f32])]| {
        let (mut squares, mut most, mut power) = (0.0_f32, 0.0_f32, 0.0_f32);
        for (channel, taps) in taps {
            let (factor, own) = channels[*channel];
            for tap in taps.iter().map(|tap| tap * factor) {
                squares += tap * tap;
                most = most.max(tap.abs());
            }
            power += own / (factor * factor) * taps.len() as f32;
        }
        let weight_step = most / CODES;
        f64::from(step * step * squares + weight_step * weight_step * power)
    };
    taps.chunks(weights.shape[1].max(1)).map(of_kernel).sum()
}

/// Returns true if an operand has one number for each channel, or for all.
fn is_by_channel(tensor: &Tensor, channels: usize) -> bool {
    let axis = tensor.shape.len().checked_sub(3);
    let is_fit = |(at, size): (usize, &usize)| *size == 1 || Some(at) == axis && *size == channels;
    tensor.shape.len() <= 4 && tensor.shape.iter().enumerate().all(is_fit)
}

/// Weights `[kernel][channel of its group][row][column]` multiplied by a factor of the channel that they read.
fn by_read_channel(weights: &Tensor, groups: usize, factors: &[f32]) -> Tensor {
    let each = taps_of_channels(weights, groups);
    let numbers = each.flat_map(|(channel, taps)| taps.iter().map(move |tap| tap * factors[channel]));
    Tensor::floats(weights.shape.clone(), numbers.collect())
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
fn change(floats: &mut FloatGraph, (node, input): (usize, usize), made: impl Fn(&Tensor) -> Tensor) {
    let id = floats.graph.nodes[node].inputs[input];
    if let Some(made) = id.and_then(|id| floats.numbers(id)).map(made) {
        let name = format!("{} equalised {input}", floats.graph.nodes[node].name);
        floats.graph.nodes[node].inputs[input] = Some(floats.constant(name, made));
    }
}
