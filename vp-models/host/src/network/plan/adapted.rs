//! A network as a configuration runs it: with exact copies where what a layer reads does not lie as it needs it, and upsampling by columns
//! and then by lines.
//!
//! What is concatenated is written where it belongs in the whole, so a cube is part of one whole only, and the network's input and
//! constants are part of none: of others the whole gets a copy, which SDP makes from memory to memory. Channels that do not lie one
//! behind the other, where a layer needs that, are moved by a convolution of one pixel, whose kernels take a channel each, and parts of planes by
//! the CPU. A slice that begins with an atom is read where it is.

use crate::network::description::{
    Activation, Converter, Convolution, Demand, Interleaving, Network, NetworkLayer, Operation, Shape, Slice,
    Window,
};
use crate::network::layout::Channels;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::numeric::Precision;

/// Way in which a slice comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SliceWay {
    /// Readers read the part of its source.
    View,
    /// SDP copies it.
    Sdp,
    /// A convolution takes its channels.
    Convolution,
    /// The CPU copies it.
    Cpu,
}

/// A network with copies.
pub(super) struct Adapted<'a> {
    pub(super) network: Cow<'a, Network>,
    /// Of each of its layers the layer of the given network of which it is a part.
    pub(super) origins: Vec<usize>,
    /// Ways of its slices.
    pub(super) ways: Vec<Option<SliceWay>>,
}

/// Copies before a layer: of which of its sources, and how.
type Copies = Vec<(usize, SliceWay)>;

impl<'a> Adapted<'a> {
    pub(super) fn of(network: &'a Network, config: &Config) -> Adapted<'a> {
        let lanes = config.lanes(network.precision);
        let sources = shared_concatenations(network);
        let mut looked = Look { network, sources: &sources, channels: Vec::new(), ways: Vec::new(), lanes };
        let parts: HashSet<usize> = (0..network.layers.len())
            .filter(|&layer| matches!(network.layers[layer].operation, Operation::Concatenation))
            .flat_map(|layer| sources[layer].iter().flatten().copied())
            .collect();
        let mut taken = HashSet::new();
        let copies: Vec<Copies> =
            (0..network.layers.len()).map(|layer| looked.layer(layer, &parts, &mut taken)).collect();
        let ways = looked.ways;
        let as_it_is = network.layers.iter().zip(&sources).all(|(layer, sources)| layer.sources == **sources);
        let is_upsampling = |layer: &NetworkLayer| matches!(layer.operation, Operation::Upsampling(_));
        let as_it_is = as_it_is && !network.layers.iter().any(is_upsampling);
        let as_it_is = as_it_is && !ways.contains(&Some(SliceWay::Convolution));
        if as_it_is && copies.iter().all(Vec::is_empty) {
            let origins = (0..network.layers.len()).collect();
            return Adapted { network: Cow::Borrowed(network), origins, ways };
        }
        with_layers(network, &sources, &copies, &ways)
    }
}

/// Sources of layers, where a concatenation that begins with all parts of one before it reads that instead: so each part is part
/// of one whole only.
fn shared_concatenations(network: &Network) -> Vec<Cow<'_, [Option<usize>]>> {
    let mut known: HashMap<(Option<usize>, Option<usize>, usize), usize> = HashMap::new();
    let mut all = Vec::with_capacity(network.layers.len());
    for (at, layer) in network.layers.iter().enumerate() {
        let sources = layer.sources.as_slice();
        if !matches!(layer.operation, Operation::Concatenation) || sources.len() < 2 {
            all.push(Cow::Borrowed(sources));
            continue;
        }
        let key = |count: usize| (sources[0], sources[count - 1], count);
        let beginning = (2..sources.len()).rev().find_map(|count| {
            let before = *known.get(&key(count))?;
            (network.layers[before].sources == sources[..count]).then_some((before, count))
        });
        all.push(match beginning {
            Some((before, count)) => {
                Cow::Owned(std::iter::once(Some(before)).chain(sources[count..].iter().copied()).collect())
            }
            None => Cow::Borrowed(sources),
        });
        known.insert(key(sources.len()), at);
    }
    all
}

/// A look at layers one after the other.
struct Look<'a> {
    network: &'a Network,
    sources: &'a [Cow<'a, [Option<usize>]>],
    /// Channels of the cubes that the layers make.
    channels: Vec<Channels>,
    ways: Vec<Option<SliceWay>>,
    lanes: u32,
}

impl Look<'_> {
    /// Returns the copies that a layer needs; `parts` are parts of some whole, `taken` those that are part of one before it.
    fn layer(&mut self, place: usize, parts: &HashSet<usize>, taken: &mut HashSet<Option<usize>>) -> Copies {
        let layer = &self.network.layers[place];
        let sources = &self.sources[place];
        let of = |source: &Option<usize>| match source {
            Some(layer) => self.channels[*layer].clone(),
            None => Channels::plain(self.network.input.channels),
        };
        let mut channels: Vec<Channels> = sources.iter().map(of).collect();
        let mut way = None;
        let copies: Copies = match &layer.operation {
            Operation::Concatenation => {
                let is_copied = |source: &Option<usize>| self.is_nobodys(*source) || !taken.insert(*source);
                let copied = sources.iter().map(is_copied).enumerate();
                copied.filter_map(|(at, is_copied)| is_copied.then_some((at, SliceWay::Sdp))).collect()
            }
            Operation::Slice(slice) => {
                way = Some(self.way(slice, (layer, sources[0]), &channels[0], parts.contains(&place)));
                Copies::new()
            }
            operation => {
                let plain = needs_plain(operation, &channels);
                plain.into_iter().map(|at| (at, moving(sources[at]))).collect()
            }
        };
        for (at, way) in &copies {
            if way.is_made_anew() {
                channels[*at] = Channels::plain(self.network.shape(sources[*at]).channels);
            }
        }
        self.channels.push(made(layer, &channels, way, self.lanes));
        self.ways.push(way);
        copies
    }

    /// Returns true if a cube is nothing that a layer writes: no whole can have it but as a copy.
    fn is_nobodys(&self, source: Option<usize>) -> bool {
        source.is_none_or(|of| {
            matches!(self.network.layers[of].operation, Operation::Constant(_))
                || self.ways[of] == Some(SliceWay::View)
        })
    }

    fn way(
        &self,
        slice: &Slice,
        (layer, from): (&NetworkLayer, Option<usize>),
        source: &Channels,
        is_part: bool,
    ) -> SliceWay {
        let is_of_planes =
            [layer.output.width, layer.output.height] == [layer.input.width, layer.input.height];
        let moving = if is_of_planes { moving(from) } else { SliceWay::Cpu };
        let from = slice.from[2];
        let Shape { width, height, channels } = layer.output;
        let is_apart = source.apart(from..from + channels, self.lanes).is_none();
        // SDP takes one pixel only where surfaces are back to back, as those of one pixel are.
        let is_pixel = [width, height] == [1, 1] && [layer.input.width, layer.input.height] != [1, 1];
        match is_apart || is_pixel {
            true => moving,
            false if is_part || self.network.choices.winograd != super::Winograd::Never => SliceWay::Sdp,
            false => SliceWay::View,
        }
    }
}

impl SliceWay {
    /// Returns true if its channels lie one behind the other, whatever they did before.
    fn is_made_anew(self) -> bool {
        matches!(self, SliceWay::Convolution | SliceWay::Cpu)
    }
}

/// The way of whole planes to another place among channels. The network's input may be an image, whose channels CDMA has its own ways for.
fn moving(source: Option<usize>) -> SliceWay {
    if source.is_some() { SliceWay::Convolution } else { SliceWay::Cpu }
}

/// Kernels of one pixel that take so many channels from one on, exactly as they are (in fp16 minus zero becomes zero, as in each sum).
fn taking(channels: u32, from: u32, of: u32, precision: Precision) -> Operation {
    let one: &[i8] = match precision {
        Precision::Int8 => &[1],
        Precision::Int16 => &[1, 0],
        Precision::Fp16 => &[0x00, 0x3c],
    };
    let mut weights = vec![0; (channels * of) as usize * one.len()];
    for kernel in 0..channels {
        let at = (kernel * of + from + kernel) as usize * one.len();
        weights[at..at + one.len()].copy_from_slice(one);
    }
    Operation::Convolution(Convolution {
        kernels: channels,
        groups: 1,
        window: Window { size: [1; 2], stride: [1; 2], before: [0; 2], after: [0; 2], dilation: [1; 2] },
        padding: 0,
        weights,
        truncate: 0,
        bias: None,
        scales: None,
        added: None,
        activation: Activation::None,
        look_up: None,
        converter: Converter::NONE,
    })
}

/// Returns the places of sources whose channels are to lie one behind the other, and do not.
fn needs_plain(operation: &Operation, channels: &[Channels]) -> Vec<usize> {
    let wanted = match operation {
        Operation::Sum(_)
        | Operation::Elementwise(_)
        | Operation::ChannelProduct(_)
        | Operation::Interleaving(_)
            if channels.iter().any(|other| *other != channels[0]) =>
        {
            0..channels.len()
        }
        Operation::Convolution(_) => 1..channels.len(),
        Operation::Normalisation(_) => 0..1,
        _ => 0..0,
    };
    wanted.filter(|&at| !channels[at].is_plain()).collect()
}

/// Returns the channels of its cube that a layer's output are, from those of its sources.
pub(super) fn made(
    layer: &NetworkLayer,
    sources: &[Channels],
    way: Option<SliceWay>,
    lanes: u32,
) -> Channels {
    match &layer.operation {
        Operation::Pooling(_)
        | Operation::Activation(_)
        | Operation::Sum(_)
        | Operation::Elementwise(_)
        | Operation::ChannelProduct(_)
        | Operation::Scaling(_)
        | Operation::Upsampling(_)
        | Operation::Interleaving(_) => sources[0].clone(),
        Operation::Concatenation => Channels::joined(sources, lanes),
        Operation::Slice(slice) if !way.is_some_and(SliceWay::is_made_anew) => {
            let from = slice.from[2];
            let apart = sources[0].apart(from..from + layer.output.channels, lanes);
            apart.map_or(Channels::plain(layer.output.channels), |(_, channels)| channels)
        }
        _ => Channels::plain(layer.output.channels),
    }
}

fn with_layers<'a>(
    network: &Network,
    sources: &[Cow<'_, [Option<usize>]>],
    copies: &[Copies],
    given: &[Option<SliceWay>],
) -> Adapted<'a> {
    let (mut layers, mut origins, mut ways) = (Vec::new(), Vec::new(), Vec::new());
    let mut places: Vec<usize> = Vec::with_capacity(network.layers.len());
    for (origin, layer) in network.layers.iter().enumerate() {
        let mapped = |source: &Option<usize>| source.map(|source| places[source]);
        let mut own: Vec<Option<usize>> = sources[origin].iter().map(mapped).collect();
        for &(at, way) in &copies[origin] {
            let source = sources[origin][at];
            let of = source.map_or("input", |source| &network.layers[source].name);
            let shape = network.shape(source);
            let operation = match way {
                SliceWay::Convolution => taking(shape.channels, 0, shape.channels, network.precision),
                _ => Operation::Slice(Slice { from: [0; 3] }),
            };
            layers.push(NetworkLayer {
                name: format!("{}: copy of {of}", layer.name),
                sources: vec![own[at]],
                input: shape,
                output: shape,
                operation,
                cycles: None,
            });
            origins.push(origin);
            ways.push(Some(way).filter(|way| *way != SliceWay::Convolution));
            own[at] = Some(layers.len() - 1);
        }
        let mut layer = NetworkLayer { sources: own, ..layer.clone() };
        if let Operation::Upsampling(factor) = layer.operation {
            let columns = NetworkLayer {
                name: format!("{}: columns", layer.name),
                sources: vec![layer.sources[0]; factor as usize],
                output: Interleaving::Columns.of(layer.input, factor),
                operation: Operation::Interleaving(Interleaving::Columns),
                ..layer
            };
            layer.input = columns.output;
            layer.sources = vec![Some(layers.len()); factor as usize];
            layer.operation = Operation::Interleaving(Interleaving::Lines);
            layers.push(columns);
            origins.push(origin);
            ways.push(None);
        }
        let mut way = given[origin];
        if let (Operation::Slice(Slice { from }), Some(SliceWay::Convolution)) = (&layer.operation, way) {
            layer.operation = taking(layer.output.channels, from[2], layer.input.channels, network.precision);
            way = None;
        }
        places.push(layers.len());
        layers.push(layer);
        origins.push(origin);
        ways.push(way);
    }
    let demand =
        |demand: &Demand| Demand { layer: demand.layer.map(|layer| places[layer]), ..demand.clone() };
    let network = Network {
        name: network.name.clone(),
        input: network.input,
        is_image: network.is_image,
        precision: network.precision,
        choices: network.choices,
        layers,
        outputs: network.outputs.iter().map(|&output| places[output]).collect(),
        demands: network.demands.iter().map(demand).collect(),
        lines: network.lines.clone(),
    };
    Adapted { network: Cow::Owned(network), origins, ways }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_that_begins_with_another_reads_that() {
        let text = "name = 'n'\nseed = 3\ninput = { width = 4, height = 4, channels = 8 }\n\
            [[layer]]\nkind = 'convolution'\nname = 'a'\nkernels = 8\nkernel = [1, 1]\n\
            [[layer]]\nkind = 'convolution'\nname = 'b'\nkernels = 8\nkernel = [1, 1]\n\
            [[layer]]\nkind = 'concatenation'\nname = 'ab'\ninputs = ['a', 'b']\n\
            [[layer]]\nkind = 'convolution'\nname = 'c'\nkernels = 8\nkernel = [1, 1]\n\
            [[layer]]\nkind = 'concatenation'\nname = 'abc'\ninputs = ['a', 'b', 'c']\n\
            [[layer]]\nkind = 'concatenation'\nname = 'ba'\ninputs = ['b', 'a', 'input']\n";
        let network = Network::parse(text, &mut |_| Err(String::new())).unwrap();
        let adapted = Adapted::of(&network, &Config::named("nv_small").unwrap());
        let names: Vec<&str> = adapted.network.layers.iter().map(|layer| layer.name.as_str()).collect();
        let copies = ["ba: copy of b", "ba: copy of a", "ba: copy of input"];
        assert_eq!(names[..5], ["a", "b", "ab", "c", "abc"]);
        assert_eq!(names[5..], [&copies[..], &["ba"]].concat());
        assert_eq!(adapted.network.layers[4].sources, [Some(2), Some(3)]);
        assert_eq!(adapted.network.layers[8].sources, [5, 6, 7].map(Some));
        assert_eq!(adapted.origins, [0, 1, 2, 3, 4, 5, 5, 5, 5]);
        assert_eq!(adapted.network.outputs, [8]);
    }
}
