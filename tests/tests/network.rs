//! Networks run layer by layer leave what a slow and obvious computation of them does, on any configuration and from
//! anywhere.

use proptest::prelude::*;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use vp_models::bus::axi::Latency;
use vp_models::host::network::{
    Activation, Bias, Converter, Convolution, Form, Inference, Layer, Method, Network, Normalisation,
    Operation, Plan, PlanError, Pooling, RunError, Runner, Shape, Step, Sum, Window, Work, digits,
};
use vp_models::host::{Host, Statistics};
use vp_models::nvdla::config::Config;
use vp_models::platform::Description;
use vp_tests::conformance::{Way, local};
use vp_tests::effort::cases;
use vp_tests::reference::run_network;

fn description(platform: &str) -> Description {
    Description::named(platform).unwrap()
}

fn plan(network: &Network, description: &Description) -> Plan {
    Plan::new(network, &description.nvdla().unwrap().config, description.dbb0.range()).unwrap()
}

/// What comes of each input, and the platform's counters.
fn run<I: AsRef<[i8]>>(plan: &Plan, host: &mut dyn Host, inputs: &[I]) -> (Vec<Inference>, Statistics) {
    let mut inferences = Vec::new();
    Runner::new(plan, host).unwrap().run(inputs, |_, inference| inferences.push(inference)).unwrap();
    (inferences, host.statistics().unwrap())
}

/// Images of the first samples of the digits network.
fn images(count: usize) -> Vec<Vec<i8>> {
    digits::samples().into_iter().take(count).map(|sample| sample.pixels).collect()
}

#[test]
fn the_digits_network_leaves_the_references_scores_on_all_samples() {
    let (network, samples, nv_small) = (digits::network(), digits::samples(), description("nv_small"));
    let inputs = images(samples.len());
    let (inferences, _) = run(&plan(&network, &nv_small), &mut local(&nv_small), &inputs);
    assert_eq!(inferences.len(), samples.len());
    let (mut right, mut expected_right) = (0, 0);
    for (inference, sample) in inferences.iter().zip(&samples) {
        let expected = run_network(&network, &sample.pixels);
        assert_eq!(inference.output, expected);
        right += usize::from(digits::answer(&inference.output) == sample.label);
        expected_right += usize::from(digits::answer(&expected) == sample.label);
    }
    assert_eq!(right, expected_right);
    assert!(right * 100 >= samples.len() * 95, "{right} of {}", samples.len());
}

#[test]
fn every_configuration_leaves_the_same_scores() {
    let (network, inputs) = (digits::network(), images(6));
    for platform in Config::NAMES {
        let description = description(platform);
        let (inferences, _) = run(&plan(&network, &description), &mut local(&description), &inputs);
        for (inference, input) in inferences.iter().zip(&inputs) {
            assert_eq!(inference.output, run_network(&network, input), "{platform}");
        }
    }
}

#[test]
fn a_network_over_tcp_is_the_same_run_as_in_process_wherever_the_memory_is() {
    let (nv_small, inputs) = (description("nv_small"), images(5));
    let plan = plan(&digits::network(), &nv_small);
    let mut runs =
        Way::ALL.map(|way| (way.name, run(&plan, (way.connect)(&nv_small).as_mut(), &inputs))).into_iter();
    let (_, (here, counted_here)) = runs.next().unwrap();
    for (name, (there, counted_there)) in runs {
        assert_eq!(there, here, "{name}");
        for counter in ["nvdla.cycles", "dbb0.read.bytes", "dbb0.write.bursts"] {
            assert_eq!(counted_there.get(counter), counted_here.get(counter), "{name}: {counter}");
        }
        assert_eq!(counted_there.text("events.hash"), counted_here.text("events.hash"), "{name}");
    }
}

#[test]
fn units_take_their_groups_in_turns_also_from_one_run_to_the_next() {
    let nv_small = description("nv_small");
    let plan = plan(&digits::network(), &nv_small);
    let mut host = local(&nv_small);
    // Three layers of PDP would be an odd number: two runs of one image each, and one of three, leave no unit where
    // it began.
    for inputs in [images(1), images(1), images(3)] {
        run(&plan, &mut host, &inputs);
    }
    for unit in ["sdp", "pdp", "cacc"] {
        let layers: Vec<u64> = host
            .platform()
            .layers()
            .iter()
            .filter(|layer| &*layer.unit == unit)
            .map(|layer| layer.group)
            .collect();
        assert!(layers.len() >= 10, "{unit}: {layers:?}");
        assert!(layers.iter().enumerate().all(|(at, group)| *group == at as u64 % 2), "{unit}: {layers:?}");
    }
}

#[test]
fn slower_memory_costs_time_and_changes_no_score() {
    let network = digits::network();
    let at = |latency| {
        let mut described = description("nv_small");
        described.dbb0.read_latency = Some(Latency::Fixed(latency));
        let (inferences, statistics) = run(&plan(&network, &described), &mut local(&described), &images(3));
        let outputs: Vec<_> = inferences.into_iter().map(|inference| inference.output).collect();
        (outputs, statistics.get("nvdla.cycles").unwrap())
    };
    let ((fast, few), (slow, many)) = (at(10), at(400));
    assert_eq!(fast, slow);
    assert!(few < many, "{few} cycles, {many} cycles");
}

#[test]
fn units_are_busy_no_longer_than_the_run_takes() {
    let nv_small = description("nv_small");
    let (_, statistics) = run(&plan(&digits::network(), &nv_small), &mut local(&nv_small), &images(2));
    let whole = statistics.get("nvdla.cycles").unwrap() * statistics.get("period").unwrap();
    for (unit, layers) in [("sdp", 8), ("pdp", 4), ("cdma", 8), ("csc", 8), ("cacc", 8)] {
        assert_eq!(statistics.get(&format!("unit.{unit}.layers")), Some(layers), "{unit}");
        let busy = statistics.get(&format!("unit.{unit}.busy")).unwrap();
        assert!(0 < busy && busy < whole, "{unit}: {busy} of {whole} ps");
    }
}

#[test]
fn an_input_of_another_size_is_refused() {
    let nv_small = description("nv_small");
    let plan = plan(&digits::network(), &nv_small);
    let mut host = local(&nv_small);
    let refused = Runner::new(&plan, &mut host).unwrap().run(&[[1i8; 5]], |_, _| {});
    assert_eq!(refused, Err(RunError::Input { found: 5, expected: 64 }));
}

#[test]
fn a_layer_that_the_device_refuses_ends_the_run_with_its_words() {
    // A window that may hold padding only.
    let nv_small = description("nv_small");
    let input = Shape { width: 8, height: 4, channels: 8 };
    let window = Window { size: [1, 1], stride: [1, 1], before: [1, 0], after: [0, 0] };
    let layer = Layer {
        name: "wide".into(),
        sources: vec![None],
        input,
        output: Shape { width: 9, height: 4, channels: 8 },
        operation: Operation::Pooling(Pooling { method: Method::Max, window }),
    };
    let network = Network { name: "wide".into(), input, is_image: false, layers: vec![layer] };
    let plan = plan(&network, &nv_small);
    let mut host = local(&nv_small);
    let refused = Runner::new(&plan, &mut host).unwrap().run(&[vec![0; input.elements()]], |_, _| {});
    let Err(RunError::Warned(warning)) = refused else { panic!("{refused:?}") };
    assert!(
        warning.text.contains("layer refused: PDP.") && warning.text.contains("only padding"),
        "{warning}"
    );
}

/// Layers are cut where the convolution buffer is small, and leave the same.
#[test]
fn networks_larger_than_the_buffer_leave_the_references_output() {
    // Small enough that what is drawn does not fit whole, large enough that lines of it do.
    for (platform, banks, depth) in [("nv_small", 16, 16), ("nv_small_256", 6, 16), ("nv_full", 8, 16)] {
        let mut described = description(platform);
        let config = &mut described.nvdla_mut().unwrap().config;
        (config.cbuf_banks, config.cbuf_bank_depth) = (banks, depth);
        let (mut cut, mut together) = (0, 0);
        for seed in 0..80 {
            let mut draw = Draw::new(seed);
            let network = draw.network();
            let plan = match Plan::new(&network, &described.nvdla().unwrap().config, described.dbb0.range()) {
                Err(PlanError::ConvolutionBuffer { .. }) => continue,
                planned => planned.unwrap(),
            };
            if plan.steps.len() == network.layers.len() {
                together += 1;
                continue;
            }
            cut += 1;
            let input: Vec<i8> = (0..network.input.elements()).map(|_| draw.element()).collect();
            let (inferences, _) = run(&plan, &mut local(&described), &[&input]);
            assert_eq!(
                inferences[0].output,
                run_network(&network, &input),
                "{platform}, seed {seed}: {network:?}"
            );
        }
        assert!(cut >= 5, "{platform}: {cut} cut, {together} not");
    }
}

/// Each cut reads the lines under its windows; the weights are read once, as there is room for them to stay.
#[test]
fn a_layer_that_is_cut_reads_its_weights_once() {
    let nv_small = description("nv_small");
    let input = Shape { width: 56, height: 56, channels: 64 };
    let window = Window { size: [3, 3], stride: [1, 1], before: [0, 0], after: [0, 0] };
    let mut draw = Draw::new(3);
    let convolution = Convolution {
        kernels: 8,
        window,
        weights: (0..8 * 3 * 3 * 64).map(|_| draw.element()).collect(),
        bias: None,
        groups: 1,
        added: None,
        activation: Activation::None,
        converter: Converter { offset: 0, scale: 1, shift: 10 },
    };
    let output = Shape { width: 54, height: 54, channels: 8 };
    let operation = Operation::Convolution(convolution);
    let layer = Layer { name: "large".into(), sources: vec![None], input, output, operation };
    let network = Network { name: "large".into(), input, is_image: false, layers: vec![layer] };
    let plan = plan(&network, &nv_small);
    assert_eq!(plan.steps.len(), 2);
    let image: Vec<i8> = (0..input.elements()).map(|_| draw.element()).collect();
    let (inferences, statistics) = run(&plan, &mut local(&nv_small), &[&image]);
    assert_eq!(inferences[0].output, run_network(&network, &image));
    // Two lines at the border belong to both; weights are read 128 bytes at a time.
    let (line, weights) = (56 * 64, 8 * 3 * 3 * 64);
    assert_eq!(statistics.get("dbb0.read.bytes"), Some((56 + 2) * line + weights));
}

/// Draws networks.
struct Draw(ChaCha8Rng);

impl Draw {
    fn new(seed: u64) -> Draw {
        Draw(ChaCha8Rng::seed_from_u64(seed))
    }

    fn any(&mut self, range: std::ops::Range<u32>) -> u32 {
        self.0.random_range(range)
    }

    fn element(&mut self) -> i8 {
        self.0.random()
    }

    /// A window that lies over some of its input wherever it is, and what comes out.
    fn window(&mut self, input: Shape, size: [u32; 2]) -> (Window, [u32; 2]) {
        let shape = [input.width, input.height];
        let stride = [self.any(1..4), self.any(1..4)];
        let before = size.map(|size| self.any(0..size));
        let after = size.map(|size| self.any(0..size));
        let outputs = [0, 1].map(|axis| {
            let padded = before[axis] + shape[axis] + after[axis];
            (padded - size[axis]) / stride[axis] + 1
        });
        (Window { size, stride, before, after }, outputs)
    }

    fn convolution(&mut self, input: Shape, source: Option<usize>, size: [u32; 2], kernels: u32) -> Layer {
        let (window, [width, height]) = self.window(input, size);
        let scale = self.0.random_range(-100..100);
        let groups = if self.any(0..4) == 0 { self.groups(input.channels, kernels) } else { 1 };
        let taps = kernels * size[0] * size[1] * input.channels / groups;
        let weights = (0..taps).map(|_| self.element()).collect();
        let shift = self.any(0..8);
        let bias = (0..kernels).map(|_| self.0.random_range(-2000..2000)).collect();
        let convolution = Convolution {
            kernels,
            window,
            weights,
            bias: self.0.random::<bool>().then_some(Bias { values: bias, shift }),
            groups,
            added: None,
            activation: [Activation::None, Activation::Relu, Activation::Leaky { scale, shift: 7 }]
                [self.any(0..3) as usize],
            converter: Converter {
                offset: self.0.random_range(-100..100),
                scale: self.0.random_range(-300..300),
                shift: self.any(8..20),
            },
        };
        let output = Shape { width, height, channels: kernels };
        Layer {
            name: "conv".into(),
            sources: vec![source],
            input,
            output,
            operation: Operation::Convolution(convolution),
        }
    }

    /// A number of groups that both are multiples of.
    fn groups(&mut self, channels: u32, kernels: u32) -> u32 {
        let right: Vec<u32> = (1..=channels)
            .filter(|groups| channels.is_multiple_of(*groups) && kernels.is_multiple_of(*groups))
            .collect();
        right[self.any(0..right.len() as u32) as usize]
    }

    fn pooling(&mut self, input: Shape, source: Option<usize>, size: [u32; 2]) -> Layer {
        let (window, [width, height]) = self.window(input, size);
        let method = [Method::Max, Method::Min, Method::Average][self.any(0..3) as usize];
        let output = Shape { width, height, channels: input.channels };
        Layer {
            name: "pool".into(),
            sources: vec![source],
            input,
            output,
            operation: Operation::Pooling(Pooling { method, window }),
        }
    }

    fn network(&mut self) -> Network {
        let input = Shape { width: self.any(4..14), height: self.any(4..14), channels: self.any(1..40) };
        let mut layers: Vec<Layer> = Vec::new();
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
        Network { name: "drawn".into(), input, is_image: false, layers }
    }
}

/// Layers of the other kinds, and of several sources.
impl Draw {
    /// A layer from that source of a network, or two that are put side by side.
    fn more(&mut self, network: &mut Network, source: Option<usize>) {
        let input = network.shape(source);
        let converter =
            Converter { offset: self.0.random_range(-9..9), scale: self.0.random_range(-300..300), shift: 9 };
        let push =
            |network: &mut Network, sources: Vec<Option<usize>>, output: Shape, operation: Operation| {
                let (place, input) = (network.layers.len(), network.shape(sources[0]));
                network.layers.push(Layer { name: place.to_string(), sources, input, output, operation });
                place
            };
        let pixel = Window { size: [1, 1], stride: [1, 1], before: [0, 0], after: [0, 0] };
        match self.any(0..6) {
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
                let output = Shape { width: 2 * input.width, height: 2 * input.height, ..input };
                push(network, vec![source], output, Operation::Upsampling(2));
            }
            3 => {
                let residual = self.convolution(input, source, [1, 1], input.channels);
                let Operation::Convolution(mut convolution) = residual.operation else { unreachable!() };
                (convolution.window, convolution.added) = (pixel, Some(self.any(0..9)));
                push(network, vec![source; 2], input, Operation::Convolution(convolution));
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

    /// A network of layers of all kinds.
    fn any_network(&mut self) -> Network {
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
        network
    }
}

/// Each kind of layer behind each, on buffers of several sizes; what cannot be planned says so.
#[test]
fn networks_of_all_kinds_of_layers_leave_the_references_output() {
    let (mut ran, mut refused, mut images) = (0, 0, 0);
    for seed in 0..300 {
        let mut draw = Draw::new(seed);
        let platform = Config::NAMES[seed as usize % Config::NAMES.len()];
        let mut described = description(platform);
        if draw.any(0..2) == 0 {
            described.nvdla_mut().unwrap().config.cbuf_bank_depth = 64;
        }
        let network = draw.any_network();
        let planned = Plan::new(&network, &described.nvdla().unwrap().config, described.dbb0.range());
        let plan = match planned {
            Err(
                PlanError::ConvolutionBuffer { .. }
                | PlanError::Channels { .. }
                | PlanError::Concatenation { .. },
            ) => {
                refused += 1;
                continue;
            }
            planned => planned.unwrap_or_else(|error| panic!("seed {seed}: {error}")),
        };
        let inputs: Vec<Vec<i8>> =
            (0..2).map(|_| (0..network.input.elements()).map(|_| draw.element()).collect()).collect();
        let (inferences, _) = run(&plan, &mut local(&described), &inputs);
        for (inference, input) in inferences.iter().zip(&inputs) {
            assert!(
                inference.output == run_network(&network, input),
                "{platform}, seed {seed}: {}",
                network.layers.iter().map(|layer| format!("{layer:.200?}\n")).collect::<String>()
            );
        }
        ran += 1;
        images += usize::from(matches!(plan.input.form, Form::Pixels { .. }));
    }
    assert!(ran > 150 && images > 5, "{ran} ran, {refused} refused, {images} images");
}

/// Where neither input nor weights have room, kernels are cut too, and some weights stay for all lines.
#[test]
fn a_layer_that_is_cut_by_kernels_and_lines_leaves_the_references_output() {
    let mut nv_small = description("nv_small");
    nv_small.nvdla_mut().unwrap().config.cbuf_bank_depth = 256;
    let input = Shape { width: 4, height: 1200, channels: 256 };
    let mut draw = Draw::new(5);
    let mut layer = draw.convolution(input, None, [1, 1], 384);
    let Operation::Convolution(convolution) = &mut layer.operation else { unreachable!() };
    convolution.window = Window { size: [1, 1], stride: [1, 1], before: [0, 0], after: [0, 0] };
    convolution.groups = 1;
    convolution.weights = (0..384 * 256).map(|_| draw.element()).collect();
    layer.output = Shape { channels: 384, ..input };
    let network = Network { name: "large".into(), input, is_image: false, layers: vec![layer] };
    let plan = plan(&network, &nv_small);
    let kernels = |step: &Step| {
        let Work::Hardware { program, .. } = &step.work else { unreachable!() };
        let write = program.writes.iter().find(|write| write.register.name == "D_WEIGHT_SIZE_1");
        write.map(|write| write.value + 1)
    };
    let parts: Vec<Option<u32>> = plan.steps.iter().map(kernels).collect();
    let is_part = |kernels: &Option<u32>| kernels.is_some_and(|kernels| kernels < 384);
    assert!(parts.len() > 2 && parts.iter().all(is_part), "{parts:?}");
    let image: Vec<i8> = (0..input.elements()).map(|_| draw.element()).collect();
    let (inferences, _) = run(&plan, &mut local(&nv_small), &[&image]);
    assert_eq!(inferences[0].output, run_network(&network, &image));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn any_network_leaves_the_references_output(
        platform in prop::sample::select(Config::NAMES.to_vec()),
        seed: u64,
        latency in 0u32..200,
    ) {
        let mut draw = Draw::new(seed);
        let network = draw.network();
        let mut described = description(platform);
        described.dbb0.read_latency = Some(Latency::Fixed(latency));
        let plan = plan(&network, &described);
        let inputs: Vec<Vec<i8>> =
            (0..2).map(|_| (0..network.input.elements()).map(|_| draw.element()).collect()).collect();
        let (inferences, _) = run(&plan, &mut local(&described), &inputs);
        for (inference, input) in inferences.iter().zip(&inputs) {
            prop_assert_eq!(&inference.output, &run_network(&network, input), "{:?}", network);
        }
    }
}
