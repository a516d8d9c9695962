//! Networks whose weights are compressed, in int16 and fp16, and by Winograd's method.

use vp_host::Host as _;
use vp_host::network::{Compression, Measured, Network, Operation, Plan, PlanError, Runner, Winograd, Work};
use vp_host::program::Write;
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::registers::{Unit, cdma};
use vp_models::platform::Description;
use vp_tests::conformance::local;
use vp_tests::effort::cases;
use vp_tests::random::NetworkDraw;
use vp_tests::reference::run_network;

fn description(platform: &str) -> Description {
    Description::named(platform).unwrap()
}

fn planned(network: &Network, description: &Description) -> Result<Plan, PlanError> {
    Plan::new(network, &description.nvdla().unwrap().config, description.dbb0.range())
}

/// Runs a plan, and returns the output for an input, and the bytes that were read.
fn run(plan: &Plan, description: &Description, input: &[i8]) -> (Vec<i8>, u64) {
    let (mut host, mut output) = (local(description), Vec::new());
    Runner::new(plan, &mut host)
        .unwrap()
        .run(&[input], |_, inference| output = inference.outputs.concat())
        .unwrap();
    (output, host.statistics().unwrap().get("dbb0.read.bytes").unwrap())
}

/// Hardware layers in whose registers this bit is set.
fn with_bit(plan: &Plan, register: &str, bit: u32) -> usize {
    let is_set = |write: &Write| {
        write.unit == Unit::Cdma && write.register.name == register && write.value >> bit & 1 == 1
    };
    let programs = plan.steps.iter().filter_map(|step| match &step.work {
        Work::Hardware { program, .. } => Some(program),
        Work::Copy { .. } | Work::Cpu { .. } => None,
    });
    programs.filter(|program| program.writes.iter().any(is_set)).count()
}

fn compressed(plan: &Plan) -> usize {
    with_bit(plan, cdma::D_WEIGHT_FORMAT.name, 0)
}

fn by_winograd(plan: &Plan) -> usize {
    with_bit(plan, cdma::D_MISC_CFG.name, 0)
}

fn parsed(text: &str) -> Network {
    Network::parse(text, &mut |_| Err("none".to_owned())).unwrap()
}

/// On buffers of several sizes, so that weights stay, come group by group, and are cut.
#[test]
fn compressed_weights_leave_what_weights_leave_that_are_not() {
    let mut small = description("nv_full");
    let config = &mut small.nvdla_mut().unwrap().config;
    (config.cbuf_banks, config.cbuf_bank_depth) = (8, 16);
    let mut counted = 0;
    for described in [description("nv_large"), description("nv_full"), small] {
        for seed in 0..u64::from(cases(40)) {
            let mut draw = NetworkDraw::new(seed);
            let mut network = draw.any_network();
            if seed % 3 == 0 && described.nvdla().unwrap().config.computes(Precision::Int16) {
                network = draw.in_int16(network);
            }
            draw.thin(&mut network, [0.5, 0.9, 0.99][seed as usize % 3]);
            network.choices.compression = Compression::Auto;
            let Ok(plan) = planned(&network, &described) else { continue };
            let input = draw.input(&network);
            let expected = run_network(&network, &input);
            counted += compressed(&plan);
            assert!(run(&plan, &described, &input).0 == expected, "{}, seed {seed}", described.name);
        }
    }
    assert!(counted > 40, "{counted} hardware layers had compressed weights");
}

const CONNECTED: &str = "name = 'n'\nseed = 3\ninput = { width = 4, height = 4, channels = 64 }\n\
                         [[layer]]\nname = 'fc'\nkind = 'fully-connected'\nkernels = 64\n";

#[test]
fn weights_are_compressed_where_that_moves_fewer_bytes() {
    let described = description("nv_large");
    let with = |zeros: f64| parsed(&CONNECTED.replace("seed = 3", &format!("seed = 3\nzeros = {zeros}")));
    let read = |network: &Network| {
        let plan = planned(network, &described).unwrap();
        let input = network.example_input(1);
        let (output, bytes) = run(&plan, &described, &input);
        assert_eq!(output, run_network(network, &input));
        (compressed(&plan), bytes)
    };
    let (plain, all) = read(&parsed(CONNECTED));
    // 64 kernels of 1024 weights, an input of as many, and 64 biases.
    assert_eq!((plain, all), (0, 65 * 1024 + 128));
    // A mask is an eighth of the weights.
    assert_eq!(read(&with(0.1)), (0, all));
    let thin = with(0.75);
    let Operation::Convolution(convolution) = &thin.layers[0].operation else { unreachable!() };
    let kept = convolution.weights.iter().filter(|weight| **weight != 0).count() as u64;
    assert!((15_000..18_000).contains(&kept), "{kept} of 65536 weights are not zero");
    let (hardware_layers, bytes) = read(&thin);
    assert_eq!(hardware_layers, 1);
    // Weights in entries of 64 bytes, masks, an atom of sizes, input and biases.
    assert_eq!(bytes, kept.next_multiple_of(64) + 65536 / 8 + 32 + 1024 + 128);
    assert!(read(&with(1.0)).1 < 12 * 1024);
    // Nowhere else.
    let small = description("nv_small");
    assert_eq!(compressed(&planned(&thin, &small).unwrap()), 0);
    let never = CONNECTED.replace("seed = 3", "seed = 3\nzeros = 0.75\ncompression = 'never'");
    assert_eq!(compressed(&planned(&parsed(&never), &described).unwrap()), 0);
}

#[test]
fn a_share_that_is_none_is_refused_by_line_and_key() {
    let refused = |share: &str| {
        let text = CONNECTED.replace("seed = 3", &format!("seed = 3\nzeros = {share}"));
        Network::parse(&text, &mut |_| Err(String::new())).unwrap_err().to_string()
    };
    for share in ["1.5", "-0.1", "nan"] {
        let why = refused(share);
        assert!(why.to_lowercase().starts_with(&format!("line 3: zeros: {share} is no share")), "{why}");
        assert!(why.contains("is no share: it is from 0 (none) to 1 (all)"), "{why}");
    }
    assert!(refused("'many'").contains("line 3"));
}

/// The first layer of a network that does not leave what the reference does, and all before it.
fn first_wrong(network: &Network, described: &Description, input: &[i8]) -> Option<String> {
    let first = (1..=network.layers.len()).map(|count| network.clone().truncated(count)).find(|network| {
        let plan = planned(network, described).unwrap();
        run(&plan, described, input).0 != run_network(network, input)
    });
    first.map(|network| format!("{:?}", network.layers.last()).chars().take(2000).collect())
}

#[test]
fn networks_of_all_kinds_of_layers_in_int16_leave_the_references_output() {
    let (mut ran, mut images, mut values) = (0, 0, std::collections::HashSet::new());
    let described = description("nv_full");
    for seed in 0..u64::from(cases(120)) {
        let mut draw = NetworkDraw::new(1000 + seed);
        let network = draw.any_network();
        let network = draw.in_int16(network);
        let Ok(plan) = planned(&network, &described) else { continue };
        let input = draw.input(&network);
        let (output, _) = run(&plan, &described, &input);
        let wrong =
            (output != run_network(&network, &input)).then(|| first_wrong(&network, &described, &input));
        assert_eq!(wrong, None, "seed {seed}");
        images += usize::from(network.is_image);
        values.extend(output.chunks(2).map(<[i8]>::to_vec));
        ran += 1;
    }
    assert!(ran > 60 && values.len() > 1000, "{ran} ran, {images} images, {} values", values.len());
}

/// Layers of all kinds, whose inputs have channels one behind the other.
const FLOATS: &str = "name = 'floats'\nseed = 5\nprecision = 'fp16'\n\
    input = { width = 9, height = 8, channels = 20 }\n\
    [[layer]]\nname = 'conv'\nkind = 'convolution'\nkernels = 80\nkernel = [3, 3]\npadding = [1, 1]\nrelu = true\n\
    [[layer]]\nname = 'norm'\nkind = 'normalisation'\nchannels = 5\nalpha = 0.001\nbeta = 0.75\nk = 1.0\nscale = 0.5\n\
    [[layer]]\nname = 'large'\nkind = 'pooling'\nmethod = 'max'\nkernel = [3, 3]\nstride = [2, 2]\nrounding = 'ceil'\n\
    [[layer]]\nname = 'leaky'\nkind = 'convolution'\nkernels = 48\nkernel = [1, 1]\nleaky = { scale = 13, shift = 7 }\n\
    [[layer]]\nname = 'residual'\nkind = 'convolution'\nkernels = 48\nkernel = [3, 1]\npadding = [1, 0]\n\
    add = { layer = 'leaky' }\nrelu = true\n\
    [[layer]]\nname = 'sum'\nkind = 'sum'\ninputs = ['leaky', 'residual']\nscale = -3\nleaky = { scale = 3, shift = 2 }\n\
    [[layer]]\nname = 'mean'\nkind = 'pooling'\nmethod = 'average'\nkernel = [3, 3]\nstride = [1, 1]\npadding = [1, 1]\n\
    [[layer]]\nname = 'both'\nkind = 'concatenation'\ninputs = ['mean', 'residual']\n\
    [[layer]]\nname = 'up'\nkind = 'upsampling'\nfactor = 2\n\
    [[layer]]\nname = 'least'\nkind = 'pooling'\nmethod = 'min'\nkernel = [2, 2]\n\
    [[layer]]\nname = 'fc'\nkind = 'fully-connected'\nkernels = 21\n";

fn floats(bytes: &[i8]) -> Vec<f64> {
    let number = |pair: &[i8]| {
        let code = u16::from_le_bytes([pair[0] as u8, pair[1] as u8]);
        let (exponent, mantissa) = (i32::from(code >> 10 & 31), f64::from(code & 1023) / 1024.0);
        let magnitude = match exponent {
            0 => mantissa * 2f64.powi(-14),
            _ => (1.0 + mantissa) * 2f64.powi(exponent - 15),
        };
        if code >> 15 == 1 { -magnitude } else { magnitude }
    };
    bytes.chunks(2).map(number).collect()
}

#[test]
fn a_network_of_all_kinds_of_layers_in_fp16_leaves_the_references_codes() {
    let described = description("nv_full");
    let whole = parsed(FLOATS);
    for count in 1..=whole.layers.len() {
        let network = whole.clone().truncated(count);
        let plan = planned(&network, &described).unwrap();
        for seed in 0..2 {
            let input = network.example_input(seed);
            let (output, _) = run(&plan, &described, &input);
            let name = &network.layers[count - 1].name;
            assert!(output == run_network(&network, &input), "{name}, input {seed}");
            let numbers = floats(&output);
            let size = (numbers.iter().map(|x| x * x).sum::<f64>() / numbers.len() as f64).sqrt();
            assert!((1.0..2000.0).contains(&size), "{name}: values of {size}");
        }
    }
}

#[test]
fn soft_max_in_fp16_gives_shares_of_one() {
    let described = description("nv_full");
    let network = parsed(&format!("{FLOATS}[[layer]]\nname = 'soft'\nkind = 'soft-max'\nscale = 0.02\n"));
    let input = network.example_input(3);
    let (output, _) = run(&planned(&network, &described).unwrap(), &described, &input);
    let (shares, expected) = (floats(&output), floats(&run_network(&network, &input)));
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 0.01, "{shares:?}");
    let near = |(one, other): (&f64, &f64)| (one - other).abs() <= one.abs() / 512.0 + 1e-6;
    assert!(shares.iter().zip(&expected).all(near), "{shares:?} {expected:?}");
}

/// Pixels of 16 bits: sums in another order than the reference's are near its own.
#[test]
fn an_image_of_fp16_is_near_what_features_leave() {
    let described = description("nv_full");
    let text = "name = 'image'\nseed = 2\nprecision = 'fp16'\ninput = { width = 20, height = 12, channels = 3, image = true }\n\
                [[layer]]\nname = 'conv'\nkind = 'convolution'\nkernels = 24\nkernel = [5, 5]\nstride = [2, 2]\n\
                padding = [2, 2]\n";
    let network = parsed(text);
    let input = network.example_input(1);
    let (output, _) = run(&planned(&network, &described).unwrap(), &described, &input);
    let (output, expected) = (floats(&output), floats(&run_network(&network, &input)));
    let off = output.iter().zip(&expected).map(|(one, other)| (one - other).abs());
    let most = off.fold(0.0, f64::max);
    assert!(most < 0.1, "numbers of about 48 are up to {most} off");
}

#[test]
fn formats_that_a_configuration_has_not_are_refused_by_name() {
    let refused = |precision: &str, platform: &str| {
        let text = CONNECTED.replace("seed = 3", &format!("seed = 3\nprecision = '{precision}'"));
        planned(&parsed(&text), &description(platform)).unwrap_err().to_string()
    };
    assert_eq!(
        refused("int16", "nv_small"),
        "precision = \"int16\": the configuration nv_small does not compute it; built-in ones that do: nv_full"
    );
    assert_eq!(
        refused("fp16", "nv_large"),
        "precision = \"fp16\": the configuration nv_large does not compute it; built-in ones that do: nv_full"
    );
    let wrong = |text: &str| Network::parse(text, &mut |_| Err(String::new())).unwrap_err().to_string();
    let why = wrong(&CONNECTED.replace("seed = 3", "seed = 3\nprecision = 'fp32'"));
    assert!(why.contains("line 3") && why.contains("int8") && why.contains("fp16"), "{why}");
    let converted = CONNECTED.replace("seed = 3", "seed = 3\nprecision = 'fp16'")
        + "converter = { scale = 1, shift = 0 }\n";
    assert_eq!(
        wrong(&converted),
        "line 9: layer 1 `fc`: `converter` is of integers: in fp16 nothing is shifted or converted"
    );
}

/// A layer for Winograd's method, in a network that is made up.
fn square(precision: &str, size: u32, channels: u32) -> Network {
    parsed(&format!(
        "name = 'square'\nseed = 7\nprecision = '{precision}'\n\
         input = {{ width = {size}, height = {size}, channels = {channels} }}\n\
         [[layer]]\nname = 'conv'\nkind = 'convolution'\nkernels = 64\nkernel = [3, 3]\npadding = [1, 1]\nrelu = true\n"
    ))
}

fn chosen(network: &Network, winograd: Winograd) -> Network {
    let mut network = network.clone();
    network.choices.winograd = winograd;
    network
}

/// Numbers of elements, by their format.
fn numbers(network: &Network, bytes: &[i8]) -> Vec<f64> {
    match network.precision {
        Precision::Int8 => bytes.iter().map(|byte| f64::from(*byte)).collect(),
        Precision::Int16 => bytes
            .chunks(2)
            .map(|pair| f64::from(i16::from_le_bytes([pair[0] as u8, pair[1] as u8])))
            .collect(),
        Precision::Fp16 => floats(bytes),
    }
}

/// The root mean square of the difference to the direct method, by that of what it makes; and cuts of the layer.
fn loss(network: &Network, platform: &str) -> (f64, usize) {
    let described = description(platform);
    let input = network.example_input(4);
    let of = |winograd| {
        let network = chosen(network, winograd);
        let plan = planned(&network, &described).unwrap();
        (numbers(&network, &run(&plan, &described, &input).0), by_winograd(&plan))
    };
    let ((direct, none), (tiles, some)) = (of(Winograd::Never), of(Winograd::Always));
    assert!(none == 0 && some > 0, "{some} hardware layers by Winograd's method");
    let size = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>().sqrt();
    let off = size(&mut direct.iter().zip(&tiles).map(|(one, other)| one - other));
    (off / size(&mut direct.iter().copied()), some)
}

/// The loss by Winograd's method is what the documentation says.
#[test]
fn winograd_changes_int16_and_fp16_little_and_int8_more() {
    for (precision, platform, least, most) in [
        ("int16", "nv_full", 0.0, 0.0002),
        ("fp16", "nv_full", 0.0, 0.001),
        ("int8", "nv_full", 0.01, 0.04),
        ("int8", "nv_large", 0.01, 0.04),
    ] {
        let (off, _) = loss(&square(precision, 16, 70), platform);
        assert!((least..most).contains(&off), "{precision} on {platform}: {off}");
    }
}

/// The sums are those of the direct method where nothing is rounded.
#[test]
fn winograd_is_exact_where_no_bit_is_lost() {
    let described = description("nv_full");
    let mut network = chosen(&square("int16", 12, 20), Winograd::Always);
    let Operation::Convolution(convolution) = &mut network.layers[0].operation else { unreachable!() };
    for weight in convolution.weights.chunks_mut(2) {
        // Up to 3640 the transformed ones are whole in 16 bits.
        let value = i16::from_le_bytes([weight[0] as u8, weight[1] as u8]) / 10;
        weight.copy_from_slice(&value.to_le_bytes().map(u8::cast_signed));
    }
    convolution.truncate = 8;
    let mut input = network.example_input(9);
    // Of transformed features two bits are dropped.
    input.chunks_mut(2).for_each(|element| element[0] &= !3);
    let plan = planned(&network, &described).unwrap();
    assert!(by_winograd(&plan) > 0);
    assert!(run(&plan, &described, &input).0 == run_network(&network, &input));
}

/// Lines are cut in fours, what is added comes tile by tile, and a pooling behind reads memory.
#[test]
fn winograd_goes_with_all_that_a_convolution_has() {
    let text = "name = 'all'\nseed = 9\nprecision = 'fp16'\ninput = { width = 16, height = 24, channels = 40 }\n\
        [[layer]]\nname = 'one'\nkind = 'convolution'\nkernels = 48\nkernel = [1, 1]\n\
        [[layer]]\nname = 'two'\nkind = 'convolution'\nkernels = 48\nkernel = [3, 3]\npadding = [1, 1]\n\
        add = { layer = 'one' }\nleaky = { scale = 13, shift = 7 }\n\
        [[layer]]\nname = 'three'\nkind = 'convolution'\nkernels = 40\nkernel = [3, 3]\npadding = [2, 0]\npadding_after = [0, 2]\n\
        [[layer]]\nname = 'pool'\nkind = 'pooling'\nmethod = 'max'\nkernel = [2, 2]\n";
    for precision in ["int8", "int16", "fp16"] {
        let network = parsed(&text.replace("fp16", precision));
        for banks in [16, 4] {
            let mut described = description("nv_full");
            let config = &mut described.nvdla_mut().unwrap().config;
            (config.cbuf_banks, config.cbuf_bank_depth) = (banks, 256);
            let input = network.example_input(2);
            let of = |winograd| {
                let network = chosen(&network, winograd);
                let plan = planned(&network, &described).unwrap();
                (numbers(&network, &run(&plan, &described, &input).0), by_winograd(&plan))
            };
            let ((direct, _), (tiles, hardware_layers)) = (of(Winograd::Never), of(Winograd::Always));
            assert!(hardware_layers > if banks == 4 { 2 } else { 1 }, "{hardware_layers}");
            let size = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>().sqrt();
            let off = size(&mut direct.iter().zip(&tiles).map(|(one, other)| one - other))
                / size(&mut direct.iter().copied());
            assert!(off < if precision == "int8" { 0.1 } else { 0.005 }, "{precision}, {banks} banks: {off}");
        }
    }
}

#[test]
fn winograd_is_chosen_where_it_is_faster() {
    let described = description("nv_full");
    let cycles = |network: &Network| {
        let input = network.example_input(1);
        let plan = planned(network, &described).unwrap();
        (Measured::of(network, &described, &input).unwrap().cycles(), by_winograd(&plan))
    };
    let large = square("fp16", 56, 64);
    let (direct, _) = cycles(&chosen(&large, Winograd::Never));
    let (tiles, hardware_layers) = cycles(&chosen(&large, Winograd::Auto));
    assert!(hardware_layers > 0 && tiles < direct, "{direct} cycles, {tiles} by Winograd's method");
    // A single pixel is packed in memory, without room for tiles; few lines of many channels are bound by their weights, which are more.
    assert_eq!(
        by_winograd(&planned(&chosen(&square("fp16", 1, 64), Winograd::Always), &described).unwrap()),
        0
    );
    assert_eq!(
        by_winograd(&planned(&chosen(&square("fp16", 4, 512), Winograd::Auto), &described).unwrap()),
        0
    );
    // Nor where hardware has it not.
    let small = description("nv_small");
    assert_eq!(by_winograd(&planned(&chosen(&square("int8", 16, 64), Winograd::Always), &small).unwrap()), 0);
}
