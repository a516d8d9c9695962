//! Networks of small layers, drawn from a seed.

use std::ops::Range;
use std::sync::Arc;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use vp_host::network::{
    Activation, Bias, ChannelProduct, Choices, Converter, Convolution, CpuProgram, CubeAxes, Elementwise,
    Encoding, Function, Interleaving, Lines, LookUp, Method, Network, NetworkLayer, Normalisation, Operation,
    PairMethod, Pooling, Scales, Scaling, Shape, Slice, Slope, Sum, Window,
};
use vp_models::nvdla::numeric::Precision;
use vp_tensors::{Binary, ElementType, Graph, Node, Operator, Value, ValueId};

/// Draws networks.
pub struct NetworkDraw(ChaCha8Rng);

impl NetworkDraw {
    /// The draw of this number.
    pub fn new(seed: u64) -> NetworkDraw {
        NetworkDraw(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number of a range.
    pub fn any(&mut self, range: Range<u32>) -> u32 {
        self.0.random_range(range)
    }

    /// Any element.
    pub fn element(&mut self) -> i8 {
        self.0.random()
    }

    /// A window that lies over some of its input wherever it is, and what comes out.
    fn window(&mut self, input: Shape, size: [u32; 2]) -> (Window, [u32; 2]) {
        self.dilated_window(input, size, [1; 2])
    }

    /// One of which so many columns and rows count, so far from each other.
    fn dilated_window(&mut self, input: Shape, taps: [u32; 2], dilation: [u32; 2]) -> (Window, [u32; 2]) {
        let shape = [input.width, input.height];
        let size = [0, 1].map(|axis| (taps[axis] - 1) * dilation[axis] + 1);
        let stride = [self.any(1..4), self.any(1..4)];
        let before = size.map(|size| self.any(0..size));
        let after = size.map(|size| self.any(0..size));
        let outputs = [0, 1].map(|axis| {
            let padded = before[axis] + shape[axis] + after[axis];
            (padded - size[axis]) / stride[axis] + 1
        });
        (Window { size: taps, stride, dilation, before, after }, outputs)
    }

    /// A convolution with windows of that size, from a source that gives such an input.
    pub fn convolution(
        &mut self,
        input: Shape,
        source: Option<usize>,
        size: [u32; 2],
        kernels: u32,
    ) -> NetworkLayer {
        let (window, [width, height]) = self.convolution_window(input, size);
        let groups = if self.any(0..4) == 0 { self.groups(input.channels, kernels) } else { 1 };
        let taps = kernels * window.size[0] * window.size[1] * input.channels / groups;
        let weights = (0..taps).map(|_| self.element()).collect();
        let convolution = Convolution {
            kernels,
            window,
            padding: if self.any(0..3) == 0 { self.element().into() } else { 0 },
            weights,
            bias: (self.any(0..2) == 0).then(|| self.bias(kernels)),
            groups,
            truncate: 0,
            scales: (self.any(0..3) == 0).then(|| self.scales(kernels)),
            added: None,
            activation: self.activation(kernels),
            look_up: None,
            converter: Converter {
                offset: self.0.random_range(-100..100),
                scale: self.0.random_range(-300..300),
                shift: self.any(8..20),
            },
        };
        let output = Shape { width, height, channels: kernels };
        NetworkLayer {
            name: "conv".into(),
            sources: vec![source],
            input,
            output,
            operation: Operation::Convolution(convolution),
            cycles: None,
        }
    }

    /// A window of that size, or one as large of fewer columns and rows.
    fn convolution_window(&mut self, input: Shape, size: [u32; 2]) -> (Window, [u32; 2]) {
        if self.any(0..3) > 0 {
            return self.window(input, size);
        }
        let dilation = size.map(|size| self.any(1..size.max(2)));
        let taps = [0, 1].map(|axis| (size[axis] - 1) / dilation[axis] + 1);
        self.dilated_window(input, taps, dilation)
    }

    /// A layer that makes that pixel of all it sees.
    fn connected(&mut self, input: Shape, source: Option<usize>, output: Shape) -> NetworkLayer {
        let mut layer = self.convolution(input, source, [1, 1], output.channels);
        let Operation::Convolution(convolution) = &mut layer.operation else { unreachable!() };
        convolution.groups = 1;
        convolution.window = Window { size: [input.width, input.height], ..Window::PIXEL };
        convolution.weights =
            (0..input.elements() as u32 * output.channels).map(|_| self.element()).collect();
        NetworkLayer { output, ..layer }
    }

    fn activation(&mut self, channels: u32) -> Activation {
        match self.any(0..4) {
            0 => Activation::None,
            1 => Activation::Relu,
            2 => Activation::Leaky { scale: self.0.random_range(-100..100), shift: 7 },
            _ => Activation::PRelu(self.scales(channels)),
        }
    }

    fn bias(&mut self, channels: u32) -> Bias {
        let values = (0..channels).map(|_| self.0.random_range(-2000..2000)).collect();
        Bias { values, shift: self.any(0..8) }
    }

    /// A table that begins in that range.
    fn look_up(&mut self, start: Range<i64>, steps: u32) -> LookUp {
        let slope = |draw: &mut ChaCha8Rng| Slope {
            scale: draw.random_range(-300..300),
            shift: draw.random_range(-2..10),
        };
        LookUp {
            start: self.0.random_range(start),
            step: self.any(0..steps) as i32,
            values: (0..LookUp::ENTRIES).map(|_| self.0.random_range(-3000..3000)).collect(),
            below: slope(&mut self.0),
            above: slope(&mut self.0),
        }
    }

    /// A factor for each channel, and a shift.
    fn scales(&mut self, channels: u32) -> Scales {
        let values = (0..channels).map(|_| self.0.random_range(-300..300)).collect();
        Scales { values, shift: self.any(5..9) }
    }

    /// A number of groups that both are multiples of.
    fn groups(&mut self, channels: u32, kernels: u32) -> u32 {
        let right: Vec<u32> = (1..=channels)
            .filter(|groups| channels.is_multiple_of(*groups) && kernels.is_multiple_of(*groups))
            .collect();
        right[self.any(0..right.len() as u32) as usize]
    }

    fn pooling(&mut self, input: Shape, source: Option<usize>, size: [u32; 2]) -> NetworkLayer {
        let (window, [width, height]) = self.window(input, size);
        let method = [Method::Max, Method::Min, Method::Average, Method::Mean][self.any(0..4) as usize];
        let output = Shape { width, height, channels: input.channels };
        NetworkLayer {
            name: "pool".into(),
            sources: vec![source],
            input,
            output,
            operation: Operation::Pooling(Pooling { method, window }),
            cycles: None,
        }
    }

    /// A few convolutions and poolings.
    pub fn network(&mut self) -> Network {
        let input = Shape { width: self.any(4..14), height: self.any(4..14), channels: self.any(1..40) };
        let mut layers: Vec<NetworkLayer> = Vec::new();
        for _ in 0..self.any(1..5) {
            // Not always the layer before: what was made earlier is still there.
            let source = match self.any(0..4) {
                0 => self.any(0..layers.len() as u32 + 1).checked_sub(1).map(|at| at as usize),
                _ => layers.len().checked_sub(1),
            };
            let input = source.map_or(input, |source| layers[source].output);
            let size = [input.width, input.height].map(|size| self.any(1..size.min(4) + 1));
            let layer = if self.any(0..3) > 0 {
                let kernels = self.any(1..40);
                self.convolution(input, source, size, kernels)
            } else {
                self.pooling(input, source, size)
            };
            layers.push(layer);
        }
        network_of("drawn", input, layers)
    }
}

/// An int8 network of these layers, none of which demands anything.
pub fn network_of(name: &str, input: Shape, layers: Vec<NetworkLayer>) -> Network {
    Network {
        name: name.into(),
        input,
        is_image: false,
        precision: Precision::Int8,
        choices: Choices::default(),
        outputs: vec![layers.len() - 1],
        layers,
        demands: Vec::new(),
        lines: Lines::default(),
    }
}

/// Layers of the other kinds, and of several sources.
impl NetworkDraw {
    /// A layer from that source of a network, or two that are put side by side.
    fn more(&mut self, network: &mut Network, source: Option<usize>) {
        let input = network.shape(source);
        let converter =
            Converter { offset: self.0.random_range(-9..9), scale: self.0.random_range(-300..300), shift: 9 };
        let push =
            |network: &mut Network, sources: Vec<Option<usize>>, output: Shape, operation: Operation| {
                let (place, input) = (network.layers.len(), network.shape(sources[0]));
                network.layers.push(NetworkLayer {
                    name: place.to_string(),
                    sources,
                    input,
                    output,
                    operation,
                    cycles: None,
                });
                place
            };
        let pixel = Window::PIXEL;
        match self.any(0..15) {
            6 => {
                let activation = self.activation(input.channels);
                let scaling = Scaling {
                    bias: (self.any(0..2) == 0).then(|| self.bias(input.channels)),
                    scales: (self.any(0..2) == 0).then(|| self.scales(input.channels)),
                    activation,
                    look_up: (self.any(0..2) == 0).then(|| self.look_up(-200..200, 4)),
                    converter,
                };
                push(network, vec![source], input, Operation::Scaling(scaling));
            }
            // A kernel has 32 columns and rows at most.
            7 if input.width * input.height <= 64 && input.width.max(input.height) <= 32 => {
                let factors =
                    self.connected(input, source, Shape { width: 1, height: 1, channels: input.channels });
                let place = network.layers.len();
                network.layers.push(factors);
                let product = ChannelProduct { activation: self.activation(input.channels), converter };
                push(network, vec![source, Some(place)], input, Operation::ChannelProduct(product));
            }
            8 => {
                let function = match self.any(0..2) {
                    0 => Function::Table((0..256).map(|_| self.element()).collect()),
                    _ => {
                        let [one, other] = [self.element(), self.element()];
                        Function::Clamp { low: one.min(other), high: one.max(other) }
                    }
                };
                push(network, vec![source], input, Operation::Activation(function));
            }
            9 => {
                let method =
                    [PairMethod::Minimum, PairMethod::Maximum, PairMethod::Multiply][self.any(0..3) as usize];
                let pair = Elementwise { method, converter };
                push(network, vec![source; 2], input, Operation::Elementwise(pair));
            }
            0 => {
                let activation = Activation::Leaky { scale: self.0.random_range(-99..99), shift: 6 };
                let (scale, shift) = (self.0.random_range(-9..9), self.any(0..3));
                let sum = Sum { scale, shift, activation, converter };
                push(network, vec![source; 2], input, Operation::Sum(sum));
            }
            1 => {
                let channels = [3, 5, 7, 9][self.any(0..4) as usize];
                let [near, far] = [65, 257].map(|entries| (0..entries).map(|_| self.0.random()).collect());
                let converter = Converter { shift: 20, ..converter };
                let normalisation =
                    Normalisation { channels, near, near_step: 4, far, far_step: 10, converter };
                push(network, vec![source], input, Operation::Normalisation(normalisation));
            }
            2 if input.width < 30 && input.height < 30 => {
                let factor = self.any(1..4);
                let output = Shape { width: factor * input.width, height: factor * input.height, ..input };
                push(network, vec![source], output, Operation::Upsampling(factor));
            }
            12 if input.width < 30 && input.height < 30 => {
                let layers = network.layers.len() as u32;
                let drawn: Vec<Option<usize>> = (0..6)
                    .map(|_| self.any(0..layers + 1).checked_sub(1).map(|layer| layer as usize))
                    .filter(|drawn| network.shape(*drawn) == input)
                    .collect();
                let sources = [vec![source; 2 - drawn.len().min(1)], drawn].concat();
                let (along, output) = match self.any(0..2) {
                    0 => {
                        let width = sources.len() as u32 * input.width;
                        (Interleaving::Columns, Shape { width, ..input })
                    }
                    _ => {
                        let height = sources.len() as u32 * input.height;
                        (Interleaving::Lines, Shape { height, ..input })
                    }
                };
                push(network, sources, output, Operation::Interleaving(along));
            }
            3 => {
                let residual = self.convolution(input, source, [1, 1], input.channels);
                let Operation::Convolution(mut convolution) = residual.operation else { unreachable!() };
                (convolution.window, convolution.added) = (pixel, Some(self.any(0..9)));
                if let Activation::PRelu(_) = convolution.activation {
                    convolution.activation = Activation::Relu;
                }
                convolution.look_up = (self.any(0..2) == 0).then(|| self.look_up(-30_000..30_000, 9));
                push(network, vec![source; 2], input, Operation::Convolution(convolution));
            }
            4 => {
                let output = Shape { width: input.height, height: input.width, ..input };
                let program = self.turned_sum(input, network.precision);
                push(network, vec![source; 2], output, Operation::Cpu(program));
            }
            5 => {
                let (slice, output) = self.slice(input);
                push(network, vec![source], output, Operation::Slice(slice));
            }
            10 | 11 => {
                // Whatever is as large, the network's input and one cube twice among it.
                let layers = network.layers.len() as u32;
                let drawn =
                    (0..6).map(|_| self.any(0..layers + 1).checked_sub(1).map(|layer| layer as usize));
                let is_alike = |other: &Option<usize>| {
                    let Shape { width, height, .. } = network.shape(*other);
                    (width, height) == (input.width, input.height)
                };
                let alike: Vec<Option<usize>> = drawn.filter(is_alike).take(2).collect();
                let sources = [vec![source], alike].concat();
                let channels = sources.iter().map(|source| network.shape(*source).channels).sum();
                push(network, sources, Shape { channels, ..input }, Operation::Concatenation);
            }
            _ => {
                let parts = [0, 1].map(|_| {
                    let kernels = self.any(1..50);
                    let part = self.convolution(input, source, [1, 1], kernels);
                    let Operation::Convolution(mut convolution) = part.operation else { unreachable!() };
                    convolution.window = pixel;
                    let output = Shape { channels: kernels, ..input };
                    (push(network, vec![source], output, Operation::Convolution(convolution)), kernels)
                });
                let output = Shape { channels: parts[0].1 + parts[1].1, ..input };
                let sources = parts.map(|(place, _)| Some(place)).to_vec();
                push(network, sources, output, Operation::Concatenation);
            }
        }
    }

    /// A box of a cube: often of whole lines and columns, and of channels that begin with an atom.
    fn slice(&mut self, input: Shape) -> (Slice, Shape) {
        let atom = [1, 8, 16, 32][self.any(0..4) as usize];
        let mut side = |size: u32, atom: u32, whole: u32| {
            if self.any(0..4) < whole {
                return (0, size);
            }
            let from = self.any(0..size) / atom * atom;
            let atoms = self.any(1..(size - from).div_ceil(atom) + 1);
            (from, (atoms * atom).min(size - from))
        };
        let (x, width) = side(input.width, 1, 2);
        let (y, height) = side(input.height, 1, 2);
        let (channel, channels) = side(input.channels, atom, 1);
        (Slice { from: [x, y, channel] }, Shape { width, height, channels })
    }

    /// The sum of two cubes of the same shape, with columns as lines and lines as columns.
    fn turned_sum(&mut self, input: Shape, precision: Precision) -> CpuProgram {
        let Shape { width, height, channels } = input;
        let value = |name: &str, sizes: [u32; 4]| Value {
            name: name.into(),
            shape: sizes.map(|size| size as usize).to_vec(),
            element_type: ElementType::Float,
        };
        let sizes = [1, channels, height, width];
        let values = ["a", "b", "sum"].map(|name| value(name, sizes)).into();
        let node = Node {
            name: "sum".into(),
            operator: Operator::Binary(Binary::Add),
            inputs: vec![Some(ValueId(0)), Some(ValueId(1))],
            outputs: vec![ValueId(2)],
        };
        let (inputs, outputs) = (vec![ValueId(0), ValueId(1)], vec![ValueId(2)]);
        let graph = Graph { values, inputs, outputs, nodes: vec![node], ..Graph::default() };
        let mut encoding = |axes| {
            let (scale, zero) = match precision {
                Precision::Fp16 => (1.0, 0),
                _ => (self.0.random_range(0.01..2.0), self.0.random_range(-9..9)),
            };
            Encoding { axes, scale, zero }
        };
        let axes = CubeAxes::NCHW;
        let inputs = vec![encoding(axes), encoding(axes)];
        let output = encoding(CubeAxes { width: axes.height, height: axes.width, ..axes });
        CpuProgram { graph: Arc::new(graph), inputs, output }
    }

    /// A network of layers of all kinds.
    pub fn any_network(&mut self) -> Network {
        let mut network = self.network();
        network.is_image = network.input.channels <= 4;
        for _ in 0..self.any(1..5) {
            let last = network.layers.len() - 1;
            let source = if self.any(0..3) > 0 { last } else { self.any(0..last as u32 + 1) as usize };
            self.more(&mut network, Some(source));
            if self.any(0..2) == 0 {
                let last = Some(network.layers.len() - 1);
                let input = network.shape(last);
                let size = [input.width, input.height].map(|size| self.any(1..size.min(4) + 1));
                let kernels = self.any(1..20);
                network.layers.push(match self.any(0..2) {
                    0 => self.convolution(input, last, size, kernels),
                    _ => self.pooling(input, last, size),
                });
            }
        }
        network.outputs = vec![network.layers.len() - 1];
        network
    }

    /// Makes outputs of some of a network's layers, beside the last one's.
    pub fn more_outputs(&mut self, network: &mut Network) {
        let layers = network.layers.len() as u32;
        let more = (0..self.any(1..4)).map(|_| self.any(0..layers) as usize).collect::<Vec<_>>();
        network.outputs.splice(0..0, more);
    }
}

/// Networks in other forms.
impl NetworkDraw {
    /// Makes about this share of all weights zero.
    pub fn thin(&mut self, network: &mut Network, share: f64) {
        let element = network.precision.bytes();
        for layer in &mut network.layers {
            let Operation::Convolution(convolution) = &mut layer.operation else { continue };
            for weight in convolution.weights.chunks_mut(element) {
                if self.0.random_bool(share) {
                    weight.fill(0);
                }
            }
        }
    }

    /// Returns the network with its layers in int16, with weights of their own.
    pub fn in_int16(&mut self, mut network: Network) -> Network {
        network.precision = Precision::Int16;
        for layer in &mut network.layers {
            match &mut layer.operation {
                Operation::Convolution(convolution) => {
                    convolution.weights =
                        (0..2 * convolution.weights.len()).map(|_| self.0.random()).collect();
                    convolution.truncate = self.any(0..20);
                    convolution.converter.shift = self.any(12..24);
                }
                Operation::Normalisation(normalisation) => {
                    normalisation.near_step += 16;
                    normalisation.far_step += 16;
                }
                // Tables of 256 answers are int8's.
                Operation::Activation(function @ Function::Table(_)) => {
                    *function = Function::Clamp { low: -99, high: 100 };
                }
                _ => {}
            }
        }
        network
    }

    /// Any bytes, for an input of a network.
    pub fn input(&mut self, network: &Network) -> Vec<i8> {
        (0..network.input_bytes()).map(|_| self.element()).collect()
    }
}
