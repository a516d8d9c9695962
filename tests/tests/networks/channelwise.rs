//! Constants of SDP for each channel, its tables, and dilation of kernels: as networks say them, on each configuration and in
//! each format that it has.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use vp_host::network::{LookUp, Network, NoWinograd, Plan, PlanError, Runner, Winograd, Work};
use vp_models::nvdla::float::Fp32;
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::registers::Unit;
use vp_models::platform::Description;
use vp_tests::conformance::local;
use vp_tests::reference::{run_layers, run_layers_by};

fn description(platform: &str) -> Description {
    Description::named(platform).unwrap()
}

fn planned(network: &Network, described: &Description) -> Result<Plan, PlanError> {
    Plan::new(network, &described.nvdla().unwrap().config, described.dbb0.range())
}

fn run(plan: &Plan, described: &Description, inputs: &[&[i8]]) -> Vec<Vec<i8>> {
    let (mut host, mut outputs) = (local(described), Vec::new());
    Runner::new(plan, &mut host)
        .unwrap()
        .run(inputs, |_, inference| outputs.push(inference.outputs.concat()))
        .unwrap();
    outputs
}

fn half(value: f32) -> [u8; 2] {
    (Fp32::from_bits(value.to_bits()).to_fp16().bits() as u16).to_le_bytes()
}

/// Reads a network whose files have the lengths in their names, in elements: `small.9` of 16 bits, `w.9` of weights. In fp16 they hold
/// numbers up to 2.
fn parsed(text: &str, precision: &str, seed: u64) -> Network {
    let mut draw = ChaCha8Rng::seed_from_u64(seed);
    let of_integers = |line: &&str| !["converter", "truncate"].iter().any(|key| line.starts_with(key));
    let layers: String = match precision {
        "fp16" => text.split_inclusive('\n').filter(of_integers).map(unshifted).collect(),
        _ => text.to_owned(),
    };
    let mut read = |name: &str| {
        let (kind, count) = name.split_once('.').unwrap();
        let count: usize = count.parse().unwrap();
        Ok(match (precision, kind) {
            ("fp16", "w") => (0..count).flat_map(|_| half(draw.random_range(-0.2..0.2))).collect(),
            ("fp16", _) => (0..count).flat_map(|_| half(draw.random_range(-2.0..2.0))).collect(),
            ("int8", "w") => (0..count).map(|_| draw.random()).collect(),
            (_, "w") => (0..count).flat_map(|_| i16::to_le_bytes(draw.random_range(-30..30))).collect(),
            _ => (0..count).flat_map(|_| i16::to_le_bytes(draw.random_range(-300..300))).collect(),
        })
    };
    let text = format!("name = 'n'\nprecision = '{precision}'\n{layers}");
    Network::parse(&text, &mut read).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A line without shifts, which in fp16 only a leaky activation has.
fn unshifted(line: &str) -> String {
    let mut rest = line.to_owned();
    while let (false, Some(at)) = (line.starts_with("leaky"), rest.find(", shift = ")) {
        let end = at + rest[at..].find(" }").unwrap();
        rest.replace_range(at..end, "");
    }
    rest
}

/// A layer, that also the reference finds right, is as it is in hardware; its elements are not all alike.
fn check(text: &str, platforms: &[&str], precision: &str) {
    let whole = parsed(text, precision, 3);
    for platform in platforms {
        let described = description(platform);
        for count in 1..=whole.layers.len() {
            let network = whole.clone().truncated(count);
            let plan = planned(&network, &described).unwrap_or_else(|error| panic!("{platform}: {error}"));
            let inputs: Vec<Vec<i8>> = (0..2).map(|seed| network.example_input(seed)).collect();
            let slices: Vec<&[i8]> = inputs.iter().map(Vec::as_slice).collect();
            for (output, input) in run(&plan, &described, &slices).iter().zip(&inputs) {
                let expected = run_layers(&network, input).pop().unwrap();
                let name = &network.layers[count - 1].name;
                assert!(*output == expected, "{platform}, {precision}: {name}");
                let values: std::collections::HashSet<&[i8]> =
                    output.chunks(network.precision.bytes()).collect();
                assert!(values.len() > 8, "{name}: {} values", values.len());
            }
        }
    }
}

const INPUT: &str = "input = { width = 13, height = 11, channels = 20 }\n";

/// Without a table: on all configurations.
const CHANNELWISE: &str = "[[layer]]\nname = 'dilated'\nkind = 'convolution'\nkernels = 24\nkernel = [3, 2]\n\
    dilation = [2, 3]\npadding = [2, 1]\npadding_value = -3\nstride = [1, 2]\nweights = 'w.2880'\n\
    bias = { values = 's.24', shift = 3 }\nscales = { values = 's.24', shift = 9 }\n\
    relu = true\ntruncate = 4\nconverter = { offset = -7, scale = 3, shift = 4 }\n\
    [[layer]]\nname = 'prelu'\nkind = 'convolution'\nkernels = 24\nkernel = [1, 1]\nweights = 'w.576'\n\
    bias = { values = 's.24', shift = 2 }\nprelu = { values = 's.24', shift = 8 }\n\
    truncate = 3\nconverter = { scale = 5, shift = 9 }\n\
    [[layer]]\nname = 'both'\nkind = 'convolution'\nkernels = 24\nkernel = [1, 1]\nweights = 'w.576'\n\
    scales = { values = 's.24', shift = 8 }\nprelu = { values = 's.24', shift = 7 }\n\
    truncate = 2\nconverter = { scale = 5, shift = 9 }\n\
    [[layer]]\nname = 'added'\nkind = 'convolution'\nkernels = 24\nkernel = [1, 1]\nweights = 'w.576'\n\
    scales = { values = 's.24', shift = 8 }\nadd = { layer = 'prelu', shift = 4 }\nleaky = { scale = 3, shift = 2 }\n\
    truncate = 2\nconverter = { scale = 5, shift = 9 }\n\
    [[layer]]\nname = 'pixel'\nkind = 'fully-connected'\nkernels = 24\nweights = 'w.PIXEL'\n\
    scales = { values = 's.24', shift = 8 }\ntruncate = 6\nconverter = { scale = 5, shift = 7 }\n\
    [[layer]]\nname = 'product'\nkind = 'channel-product'\ninput = 'added'\nfactors = 'pixel'\n\
    prelu = { values = 's.24', shift = 7 }\nconverter = { offset = 9, scale = 5, shift = 6 }\n\
    [[layer]]\nname = 'least'\nkind = 'elementwise'\nmethod = 'minimum'\nother = 'added'\n\
    converter = { scale = 5, shift = 2 }\n\
    [[layer]]\nname = 'scaled'\nkind = 'scaling'\nbias = { values = 's.24', shift = 1 }\n\
    scales = { values = 's.24', shift = 7 }\nprelu = { values = 's.24', shift = 7 }\nconverter = { scale = 3, shift = 2 }\n\
    [[layer]]\nname = 'clamped'\nkind = 'activation'\nfunction = 'clamp'\nlow = -70\nhigh = 101\n";

/// Two tables, one behind the other in one unit, and between them layers of that unit that have none.
const TABLES: &str = "[[layer]]\nname = 'curve'\nkind = 'convolution'\nkernels = 30\nkernel = [3, 3]\nweights = 'w.5400'\n\
    scales = { values = 's.30', shift = 7 }\nlook_up = { values = 's.257', start = -1024, step = STEP, below = { scale = 3, shift = 9 }, above = { scale = -2, shift = 8 } }\n\
    truncate = 5\nconverter = { scale = 3, shift = 2 }\n\
    [[layer]]\nname = 'plain'\nkind = 'scaling'\nscales = { values = 's.30', shift = 7 }\nrelu = true\nconverter = { scale = 1, shift = 0 }\n\
    [[layer]]\nname = 'second'\nkind = 'scaling'\ninput = 'curve'\nprelu = { values = 's.30', shift = 7 }\n\
    look_up = { values = 's.257', start = -128, step = 0 }\nconverter = { scale = 1, shift = 1 }\n\
    [[layer]]\nname = 'sum'\nkind = 'sum'\ninputs = ['second', 'plain']\nconverter = { scale = 3, shift = 2 }\n\
    [[layer]]\nname = 'again'\nkind = 'scaling'\ninput = 'sum'\n\
    look_up = { values = 's.257', start = -128, step = 0, above = { scale = 1 } }\nconverter = { scale = 1, shift = 0 }\n";

#[test]
fn constants_for_each_channel_leave_the_references_elements() {
    let text = format!("{INPUT}{}", CHANNELWISE.replace("PIXEL", &(24 * 13 * 5 * 24).to_string()));
    check(&text, &["nv_small", "nv_large", "nv_full"], "int8");
    check(&text, &["nv_full"], "int16");
    check(&text, &["nv_full"], "fp16");
}

#[test]
fn tables_leave_the_references_elements() {
    let with = |step: i32| format!("{INPUT}{}", TABLES.replace("STEP", &step.to_string()));
    check(&with(3), &["nv_large", "nv_full"], "int8");
    check(&with(8), &["nv_full"], "int16");
    check(&with(3), &["nv_full"], "fp16");
}

/// An image is dilated as features are.
#[test]
fn an_image_that_is_dilated_or_padded_with_a_code_leaves_the_references_elements() {
    let of = |dilation: u32| {
        format!(
            "input = {{ width = 20, height = 12, channels = 3, image = true }}\n[[layer]]\nname = 'conv'\n\
             kind = 'convolution'\nkernels = 24\nkernel = [3, 3]\nstride = [2, 1]\ndilation = [{dilation}, {dilation}]\n\
             padding = [2, 1]\npadding_value = -101\nweights = 'w.648'\ntruncate = 3\nconverter = {{ scale = 1, shift = 6 }}\n"
        )
    };
    for dilation in [1, 3] {
        check(&of(dilation), &["nv_small", "nv_large", "nv_full"], "int8");
        check(&of(dilation), &["nv_full"], "int16");
    }
}

/// The table of 256 answers is exact, and a curve of numbers is near it.
#[test]
fn tables_of_functions_are_near_them() {
    let described = description("nv_full");
    let scaling = "[[layer]]\nname = 'l'\nkind = 'scaling'\nconverter = { scale = 1, shift = 0 }\n\
                   look_up = { values = 's.257', start = 0, step = 0 }\n";
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let of = |precision: &str, low: f64, high: f64, scales: [f64; 2]| {
        let mut network =
            parsed(&format!("input = {{ width = 16, height = 16, channels = 1 }}\n{scaling}"), precision, 1);
        let vp_host::network::Operation::Scaling(scaling) = &mut network.layers[0].operation else {
            unreachable!()
        };
        scaling.look_up = Some(LookUp::of(sigmoid, low, high, network.precision, scales));
        network
    };
    let input: Vec<i8> = (-128..=127).collect();
    let exact = of("int8", -12.8, 12.7, [0.1, 1.0 / 127.0]);
    let output = run(&planned(&exact, &described).unwrap(), &described, &[&input]).remove(0);
    let expected = |x: i8| (sigmoid(f64::from(x) / 10.0) * 127.0).round() as i8;
    assert_eq!(output, input.iter().map(|&x| expected(x)).collect::<Vec<_>>());
    let floats = of("fp16", -8.0, 8.0, [1.0, 1.0]);
    let numbers: Vec<f32> = (0..256).map(|at| (at as f32 - 128.0) / 17.0).collect();
    let codes: Vec<i8> = numbers.iter().flat_map(|&x| half(x)).map(u8::cast_signed).collect();
    let output = run(&planned(&floats, &described).unwrap(), &described, &[&codes]).remove(0);
    for (x, pair) in numbers.iter().zip(output.chunks(2)) {
        let y = vp_models::nvdla::float::Fp16::from_bytes([pair[0] as u8, pair[1] as u8]);
        let y = f32::from_bits(y.widened::<8, 23>().bits());
        // Between entries a sixteenth apart: the square of that by an eighth of the curvature; and a step of binary16.
        assert!((f64::from(y) - sigmoid(f64::from(*x))).abs() < 6e-4, "{x}: {y}");
    }
}

/// Winograd's method has factors where their products are shifted by at least what the sums lack, pads with a code, and looks sums up.
#[test]
fn winograds_method_goes_with_scales_padding_and_tables() {
    let described = description("nv_full");
    let text = |shift: u32| {
        format!(
            "input = {{ width = 12, height = 10, channels = 32 }}\nwinograd = 'always'\n[[layer]]\nname = 'conv'\n\
             kind = 'convolution'\nkernels = 24\nkernel = [3, 3]\npadding = [1, 1]\npadding_value = 5\nweights = 'w.6912'\n\
             bias = {{ values = 's.24', shift = 2 }}\nscales = {{ values = 's.24', shift = {shift} }}\n\
             prelu = {{ values = 's.24', shift = 8 }}\nlook_up = {{ values = 's.257', start = -16384, step = 7 }}\n\
             converter = {{ scale = 1, shift = 1 }}\n"
        )
    };
    for precision in ["int8", "int16", "fp16"] {
        let mut network = parsed(&text(8), precision, 5);
        network.choices.winograd = Winograd::Always;
        let plan = planned(&network, &described).unwrap();
        assert!(plan.steps.iter().all(|step| step.method.is_winograd()), "{:?}", plan.without_winograd);
        let input = network.example_input(7);
        let output = run(&plan, &described, &[&input]).remove(0);
        assert!(output == run_layers_by(&network, &input, &[0]).pop().unwrap(), "{precision}");
    }
    let plan = planned(&parsed(&text(0), "int8", 5), &described).unwrap();
    let [(0, reason @ NoWinograd::Scales { shift: 0, .. })] = &plan.without_winograd[..] else {
        panic!("{:?}", plan.without_winograd)
    };
    assert!(reason.to_string().contains("bits too small"), "{reason}");
}

#[test]
fn what_a_configuration_has_no_unit_for_is_refused_by_layer() {
    let refused = |layer: &str, platform: &str, precision: &str| {
        let text = format!("{INPUT}[[layer]]\nname = 'l'\n{layer}\nconverter = {{ scale = 1, shift = 0 }}\n");
        let network = parsed(&text, precision, 1);
        planned(&network, &description(platform)).map(drop).map_err(|error| error.to_string())
    };
    let table = "kind = 'scaling'\nlook_up = { values = 's.257', start = 0, step = 0 }";
    assert_eq!(refused(table, "nv_large", "int8"), Ok(()));
    assert_eq!(
        refused(table, "nv_small", "int8").unwrap_err(),
        "layer `l` needs SDP's lookup table, and the configuration nv_small has none (sdp_lut = false)"
    );
    let added = "kind = 'convolution'\nkernels = 20\nkernel = [1, 1]\nweights = 'w.400'\nadd = { layer = 'input' }\n\
                 prelu = { values = 's.20' }";
    assert_eq!(
        refused(added, "nv_full", "int8").unwrap_err(),
        "layer `l`: NVDLA has no PReLU behind a cube that is added; put it into a layer of its own, of the kind \"scaling\""
    );
}

/// A table may be loaded while its unit is idle only: a step with another one than before waits for all that the unit has to do.
#[test]
fn a_table_is_loaded_when_its_unit_is_idle_and_once_where_it_stays() {
    let described = description("nv_large");
    let layer = |name: &str, table: &str| {
        format!(
            "[[layer]]\nname = '{name}'\nkind = 'activation'\nfunction = 'table'\ntable = '{table}'\ninput = 'input'\n"
        )
    };
    let text = ["a", "b", "c", "d"].into_iter().zip(["1", "1", "2", "1"]);
    let layers: String = text.map(|(name, table)| layer(name, table)).collect();
    let last = "[[layer]]\nname = 'both'\nkind = 'concatenation'\ninputs = ['a', 'b', 'c', 'd']\n";
    let text = format!("name = 'n'\ninput = {{ width = 64, height = 64, channels = 32 }}\n{layers}{last}");
    let answers = |by: u8| (0..=255u8).map(|x| x.wrapping_mul(by)).collect::<Vec<u8>>();
    let network =
        Network::parse(&text, &mut |name| Ok(answers(2 * name.parse::<u8>().unwrap() + 1))).unwrap();
    let plan = planned(&network, &described).unwrap();
    assert_eq!(plan.tables.len(), 2);
    let tables = plan.steps.iter().map(|step| match step.work {
        Work::Hardware { table, .. } => table,
        _ => None,
    });
    assert_eq!(tables.collect::<Vec<_>>(), [0, 0, 1, 0].map(Some));
    assert_eq!(plan.precision, Precision::Int8);
    let inputs: Vec<Vec<i8>> = (0..2).map(|seed| network.example_input(seed)).collect();
    let (mut host, mut spans) = (local(&described), Vec::new());
    Runner::new(&plan, &mut host)
        .unwrap()
        .run(&inputs, |at, inference| {
            assert!(inference.outputs[0] == run_layers(&network, &inputs[at]).pop().unwrap(), "input {at}");
            spans.push(inference.steps);
        })
        .unwrap();
    for spans in spans {
        // The second one has the first one's table and is enabled while that runs.
        assert!(spans[1].enabled < spans[0].done);
        assert!(spans[2].enabled >= spans[1].done && spans[3].enabled >= spans[2].done);
    }
    let written = |name: &str| {
        let layers = host.platform().layers();
        layers.iter().filter(|layer| &*layer.unit == name).count()
    };
    assert_eq!(written("sdp"), 8);
    assert!(plan.steps.iter().all(|step| step.units() == [Unit::SdpRdma, Unit::Sdp]));
}
