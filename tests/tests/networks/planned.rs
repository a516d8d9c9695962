//! Networks run layer by layer leave what a slow and obvious computation of them does, on any configuration and from
//! anywhere.

use proptest::prelude::*;
use vp_host::fpga_ai_suite::Model;
use vp_host::network::{
    Activation, Converter, Convolution, Form, Inference, Method, Network, NetworkLayer, Operation, Plan,
    PlanError, PlanStep, Pooling, RunError, Runner, Shape, Window, Work, digits,
};
use vp_host::{Host, Statistics};
use vp_models::bus::axi::Latency;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::registers::pdp;
use vp_models::platform::Description;
use vp_tests::conformance::{HostConnection, local};
use vp_tests::effort::cases;
use vp_tests::random::{NetworkDraw, network_of};
use vp_tests::reference::run_network;

fn description(platform: &str) -> Description {
    Description::named(platform).unwrap()
}

fn plan(network: &Network, description: &Description) -> Plan {
    Plan::new(network, &description.nvdla().unwrap().config, description.dbb0.range()).unwrap()
}

/// Runs a plan, and returns what comes of each input, and the platform's counters.
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
        assert_eq!(inference.outputs[0], expected);
        right += usize::from(digits::answer(&inference.outputs[0]) == sample.label);
        expected_right += usize::from(digits::answer(&expected) == sample.label);
    }
    assert_eq!(right, expected_right);
    assert!(right * 100 >= samples.len() * 95, "{right} of {}", samples.len());
}

/// A network of what both devices have: element by element, and functions as layers of their own.
const OF_BOTH: &str = "name = 'both'\nseed = 5\ninput = { width = 9, height = 7, channels = 11 }\n\
    [[layer]]\nname = 'conv'\nkind = 'convolution'\nkernels = 11\nkernel = [3, 3]\npadding = [1, 1]\n\
    [[layer]]\nname = 'relu'\nkind = 'activation'\nfunction = 'relu'\n\
    [[layer]]\nname = 'leaky'\nkind = 'activation'\nfunction = 'leaky'\ninput = 'conv'\n\
    converter = { scale = -3, shift = 2 }\n\
    [[layer]]\nname = 'add'\nkind = 'elementwise'\nmethod = 'add'\nother = 'relu'\n\
    converter = { offset = 5, scale = 3, shift = 1 }\n\
    [[layer]]\nname = 'multiply'\nkind = 'elementwise'\nmethod = 'multiply'\nother = 'input'\n\
    converter = { offset = -7, scale = 25, shift = 10 }\n\
    [[layer]]\nname = 'maximum'\nkind = 'elementwise'\nmethod = 'maximum'\ninput = 'add'\nother = 'multiply'\n\
    converter = { scale = -2, shift = 1 }\n\
    [[layer]]\nname = 'clamp'\nkind = 'activation'\nfunction = 'clamp'\nlow = -90\nhigh = 101\n\
    [[layer]]\nname = 'pool'\nkind = 'pooling'\nmethod = 'max'\nkernel = [3, 2]\n\
    [[layer]]\nname = 'fc'\nkind = 'fully-connected'\nkernels = 13\nrelu = true\n";

#[test]
fn both_devices_make_the_same_of_layers_that_both_have() {
    let mut none = |_: &str| Err("none".to_owned());
    let network = Network::parse(OF_BOTH, &mut none).unwrap();
    let inputs: Vec<Vec<i8>> = (0..3).map(|seed| network.example_input(seed)).collect();
    let model = Model::of_network(&network).unwrap();
    let expected: Vec<Vec<i8>> = inputs.iter().map(|input| model.infer(input)).collect();
    assert!(expected.iter().flatten().any(|&element| element > 0) && expected[0] != expected[1]);
    for platform in ["nv_small", "nv_large", "nv_full"] {
        let description = description(platform);
        let (inferences, _) = run(&plan(&network, &description), &mut local(&description), &inputs);
        let outputs = inferences.into_iter().map(|inference| inference.outputs.concat());
        assert_eq!(outputs.collect::<Vec<_>>(), expected, "{platform}");
    }
    // Formats that only NVDLA has. In fp16 nothing is converted; a leaky activation's factor is no converter.
    let converters = |line: &&str| !line.starts_with("converter") || line.contains("scale = -3");
    let of_floats: String = OF_BOTH.split_inclusive('\n').filter(converters).collect();
    for (precision, text) in [("int16", OF_BOTH), ("fp16", &of_floats)] {
        let network = Network::parse(&format!("precision = '{precision}'\n{text}"), &mut none).unwrap();
        let (nv_full, input) = (description("nv_full"), network.example_input(1));
        let (inferences, _) = run(&plan(&network, &nv_full), &mut local(&nv_full), &[&input]);
        assert_eq!(inferences[0].outputs[0], run_network(&network, &input), "{precision}");
    }
}

#[test]
fn layers_that_only_the_other_device_has_are_refused_by_name() {
    let head = "name = 'n'\ninput = { width = 2, height = 1, channels = 1 }\n[[layer]]\nname = 'l'\n";
    let bytes = |name: &str| match name {
        "wide" => (1i32 << 15).to_le_bytes().to_vec(),
        "int32" => (-1i32 << 15).to_le_bytes().to_vec(),
        _ => vec![1; 2],
    };
    let planned = |layer: &str| {
        let network = Network::parse(&format!("{head}{layer}"), &mut |name| Ok(bytes(name))).unwrap();
        assert!(Model::of_network(&network).is_ok());
        Plan::new(&network, &Config::named("nv_full").unwrap(), 0..1 << 20).map_err(|error| error.to_string())
    };
    let timed = planned("kind = 'activation'\nfunction = 'relu'\ncycles = 9").unwrap_err();
    assert!(timed.contains("leave them out"), "{timed}");
    let biased = |bias: &str| {
        planned(&format!(
            "kind = 'fully-connected'\nkernels = 1\nweights = 'w'\nbias = {{ values = '{bias}' }}\n\
             converter = {{ scale = 1, shift = 0 }}"
        ))
    };
    let wide = biased("wide").unwrap_err();
    assert_eq!(wide, "layer `l`: NVDLA has no biases beyond 16 bits; write them as int16 with a `shift`");
    assert!(biased("int32").is_ok());
}

#[test]
fn every_configuration_leaves_the_same_scores() {
    let (network, inputs) = (digits::network(), images(6));
    for platform in Config::NAMES {
        let description = description(platform);
        let (inferences, _) = run(&plan(&network, &description), &mut local(&description), &inputs);
        for (inference, input) in inferences.iter().zip(&inputs) {
            assert_eq!(inference.outputs[0], run_network(&network, input), "{platform}");
        }
    }
}

#[test]
fn a_network_over_tcp_is_the_same_run_as_in_process_wherever_the_memory_is() {
    let (nv_small, inputs) = (description("nv_small"), images(5));
    let plan = plan(&digits::network(), &nv_small);
    let mut runs = HostConnection::ALL
        .map(|way| (way.name, run(&plan, (way.connect)(&nv_small).as_mut(), &inputs)))
        .into_iter();
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
        let outputs: Vec<_> = inferences.into_iter().map(|inference| inference.outputs.concat()).collect();
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

/// Windows of one pixel, from so many columns left of the input on.
fn pooling_from(before: u32) -> Network {
    let input = Shape { width: 8, height: 4, channels: 8 };
    let window = Window { before: [before, 0], ..Window::PIXEL };
    let layer = NetworkLayer {
        name: "wide".into(),
        sources: vec![None],
        input,
        output: Shape { width: 8 + before, ..input },
        operation: Operation::Pooling(Pooling { method: Method::Max, window }),
        cycles: None,
    };
    network_of("wide", input, vec![layer])
}

#[test]
fn a_layer_that_the_device_would_refuse_is_refused_by_the_plan_with_its_words() {
    let config = Config::named("nv_small").unwrap();
    let refused = Plan::new(&pooling_from(1), &config, 0x8000_0000..0x9000_0000).unwrap_err().to_string();
    let words = "padding: PDP.D_POOLING_PADDING_CFG.PAD_LEFT = 0x1: a window of 1 would hold only padding";
    assert_eq!(refused, format!("layer `wide`: {words}"));
}

/// PDP's windows have at most 8 x 8 pixels (KERNEL_WIDTH, KERNEL_HEIGHT).
#[test]
fn a_global_pooling_beyond_eight_by_eight_is_refused_by_layer() {
    let config = Config::named("nv_large").unwrap();
    let planned = |size: u32| {
        let text = format!(
            "name = 'n'\ninput = {{ width = {size}, height = {size}, channels = 8 }}\n[[layer]]\nname = 'pool'\n\
             kind = 'pooling'\nmethod = 'average'\nglobal = true\n"
        );
        let network = Network::parse(&text, &mut |_| Err("none".to_owned())).unwrap();
        Plan::new(&network, &config, 0x8000_0000..0x9000_0000).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(planned(8), Ok(()));
    for size in [9, 16, 17, 112] {
        let why = "PDP's windows have 1 to 8 columns and rows; pool in steps, such as 4x4 behind 4x4";
        assert_eq!(planned(size), Err(format!("layer `pool`: a pooling of {size}x{size}: {why}")));
    }
}

#[test]
fn a_layer_that_the_device_refuses_ends_the_run_with_its_words() {
    let nv_small = description("nv_small");
    let network = pooling_from(0);
    let mut plan = plan(&network, &nv_small);
    let Work::Hardware { program, .. } = &mut plan.steps[0].work else { panic!("a step of the CPU") };
    let padding = program.writes.iter_mut().find(|write| write.register == pdp::D_POOLING_PADDING_CFG);
    padding.expect("it is written").value = 1;
    let mut host = local(&nv_small);
    let refused = Runner::new(&plan, &mut host).unwrap().run(&[vec![0; network.input.elements()]], |_, _| {});
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
    for (platform, banks, depth) in [("nv_small", 16, 16), ("nv_small_256", 8, 16), ("nv_full", 8, 16)] {
        let mut described = description(platform);
        let config = &mut described.nvdla_mut().unwrap().config;
        (config.cbuf_banks, config.cbuf_bank_depth) = (banks, depth);
        let (mut cut, mut together) = (0, 0);
        for seed in 0..80 {
            let mut draw = NetworkDraw::new(seed);
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
                inferences[0].outputs[0],
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
    let window = Window { size: [3, 3], ..Window::PIXEL };
    let mut draw = NetworkDraw::new(3);
    let convolution = Convolution {
        kernels: 8,
        window,
        padding: 0,
        weights: (0..8 * 3 * 3 * 64).map(|_| draw.element()).collect(),
        bias: None,
        groups: 1,
        scales: None,
        look_up: None,
        added: None,
        truncate: 0,
        activation: Activation::None,
        converter: Converter { offset: 0, scale: 1, shift: 10 },
    };
    let output = Shape { width: 54, height: 54, channels: 8 };
    let operation = Operation::Convolution(convolution);
    let layer =
        NetworkLayer { name: "large".into(), sources: vec![None], input, output, operation, cycles: None };
    let network = network_of("large", input, vec![layer]);
    let plan = plan(&network, &nv_small);
    assert_eq!(plan.steps.len(), 2);
    let image: Vec<i8> = (0..input.elements()).map(|_| draw.element()).collect();
    let (inferences, statistics) = run(&plan, &mut local(&nv_small), &[&image]);
    assert_eq!(inferences[0].outputs[0], run_network(&network, &image));
    // Two lines at the border belong to both.
    let (line, weights) = (56 * 64, 8 * 3 * 3 * 64);
    assert_eq!(statistics.get("dbb0.read.bytes"), Some((56 + 2) * line + weights));
}

/// Each kind of layer behind each, on buffers of several sizes; what cannot be planned says so.
#[test]
fn networks_of_all_kinds_of_layers_leave_the_references_output() {
    let (mut ran, mut refused, mut images) = (0, 0, 0);
    for seed in 0..300 {
        let mut draw = NetworkDraw::new(seed);
        let platform = Config::NAMES[seed as usize % Config::NAMES.len()];
        let mut described = description(platform);
        if draw.any(0..2) == 0 {
            described.nvdla_mut().unwrap().config.cbuf_bank_depth = 64;
        }
        let network = draw.any_network();
        let planned = Plan::new(&network, &described.nvdla().unwrap().config, described.dbb0.range());
        let plan = match planned {
            Err(PlanError::ConvolutionBuffer { .. } | PlanError::NoUnit { parameter: "sdp_lut", .. }) => {
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
                inference.outputs[0] == run_network(&network, input),
                "{platform}, seed {seed}: {}",
                network.layers.iter().map(|layer| format!("{layer:.200?}\n")).collect::<String>()
            );
        }
        ran += 1;
        images += usize::from(matches!(plan.input.form, Form::Pixels { .. }));
    }
    assert!(ran > 150 && images > 5, "{ran} ran, {refused} refused, {images} images");
}

/// Kernels are cut too where neither input nor weights have room, and some weights stay for all lines.
#[test]
fn a_layer_that_is_cut_by_kernels_and_lines_leaves_the_references_output() {
    let mut nv_small = description("nv_small");
    nv_small.nvdla_mut().unwrap().config.cbuf_bank_depth = 256;
    let input = Shape { width: 4, height: 1200, channels: 256 };
    let mut draw = NetworkDraw::new(5);
    let mut layer = draw.convolution(input, None, [1, 1], 384);
    let Operation::Convolution(convolution) = &mut layer.operation else { unreachable!() };
    convolution.window = Window::PIXEL;
    convolution.groups = 1;
    convolution.weights = (0..384 * 256).map(|_| draw.element()).collect();
    layer.output = Shape { channels: 384, ..input };
    let network = network_of("large", input, vec![layer]);
    let plan = plan(&network, &nv_small);
    let kernels = |step: &PlanStep| {
        let Work::Hardware { program, .. } = &step.work else { unreachable!() };
        let write = program.writes.iter().find(|write| write.register.name == "D_WEIGHT_SIZE_1");
        write.map(|write| write.value + 1)
    };
    let parts: Vec<Option<u32>> = plan.steps.iter().map(kernels).collect();
    let is_part = |kernels: &Option<u32>| kernels.is_some_and(|kernels| kernels < 384);
    assert!(parts.len() > 2 && parts.iter().all(is_part), "{parts:?}");
    let image: Vec<i8> = (0..input.elements()).map(|_| draw.element()).collect();
    let (inferences, _) = run(&plan, &mut local(&nv_small), &[&image]);
    assert_eq!(inferences[0].outputs[0], run_network(&network, &image));
}

/// The windows of such a pooling lie mostly in padding, which no strip of the hardware's can be made of.
#[test]
fn a_pooling_far_wider_than_its_input_is_refused_by_layer() {
    let sheet = "layer,in_channels,in_height,in_width,out_channels,out_height,out_width,kernel_height,kernel_width,\
                 stride_y,stride_x,pool,pool_height,pool_width,pool_stride_y,pool_stride_x,pooled_height,pooled_width\n\
                 conv1,3,16,16,8,16,16,3,3,1,1,TRUE,2,2,2,2,8,255\n";
    let network = Network::of_sheet("wide", sheet).unwrap();
    let refused =
        Plan::new(&network, &Config::named("nv_small").unwrap(), 0x8000_0000..0x9000_0000).unwrap_err();
    assert!(matches!(refused, PlanError::Register { .. }), "{refused}");
}

/// Without the unit the run would stand still: a deadlock report at best.
#[test]
fn a_network_that_needs_a_unit_which_the_configuration_lacks_is_refused_by_layer() {
    let digits = Network::named("digits", &Default::default()).unwrap().unwrap();
    let plan = |change: &dyn Fn(&mut Config)| {
        let mut config = Config::named("nv_small").unwrap();
        config.name = "own".to_owned();
        change(&mut config);
        Plan::new(&digits, &config, 0x8000_0000..0x9000_0000).map(|_| ()).map_err(|error| error.to_string())
    };
    let refused = |text: &str| Err(text.to_owned());
    assert_eq!(plan(&|_| {}), Ok(()));
    assert_eq!(
        plan(&|config| config.pdp = false),
        refused("layer `pool2` needs PDP, and the configuration own has none (pdp = false)")
    );
    assert_eq!(
        plan(&|config| config.sdp_bs = false),
        refused("layer `conv1` needs SDP's stage BS, and the configuration own has none (sdp_bs = false)")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn any_network_leaves_the_references_output(
        platform in prop::sample::select(Config::NAMES.to_vec()),
        seed: u64,
        latency in 0u32..200,
    ) {
        let mut draw = NetworkDraw::new(seed);
        let network = draw.network();
        let mut described = description(platform);
        described.dbb0.read_latency = Some(Latency::Fixed(latency));
        let plan = plan(&network, &described);
        let inputs: Vec<Vec<i8>> =
            (0..2).map(|_| (0..network.input.elements()).map(|_| draw.element()).collect()).collect();
        let (inferences, _) = run(&plan, &mut local(&described), &inputs);
        for (inference, input) in inferences.iter().zip(&inputs) {
            prop_assert_eq!(&inference.outputs[0], &run_network(&network, input), "{:?}", network);
        }
    }
}
