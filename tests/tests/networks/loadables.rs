//! Networks as loadables: what the vendor's driver programs gives the bytes of the reference.

use proptest::prelude::*;
use vp_host::LocalHost;
use vp_host::loadable::compile::{CompileError, CompileOptions, Compiled, compile};
use vp_host::loadable::{Generation, Loadable, fit, run};
use vp_host::network::{Network, Options, Plan, PlanError, Runner, Winograd};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::numeric::Precision;
use vp_models::platform::{Description, Platform};
use vp_tests::effort::cases;
use vp_tests::random::NetworkDraw;
use vp_tests::reference::run_outputs;

/// Outputs of a loadable, run as the vendor's runtime and driver do.
fn outputs(compiled: &Compiled, description: &Description, input: &[i8]) -> Vec<Vec<i8>> {
    let config = &description.nvdla().unwrap().config;
    let loadable = Loadable::parse(&compiled.contents.write()).unwrap();
    assert_eq!(fit::misfits(&loadable, config).unwrap(), []);
    let mut host = LocalHost::new(Platform::build(description).unwrap());
    let plan = &compiled.plan;
    let executed = run(&loadable, &[plan.input.pack(input)], &mut host).unwrap();
    plan.outputs.iter().zip(&executed.outputs).map(|(tensor, output)| tensor.unpack(&output.bytes)).collect()
}

/// Outputs of a network, run by its plan.
fn planned(network: &Network, description: &Description, input: &[i8]) -> Vec<Vec<i8>> {
    let config = &description.nvdla().unwrap().config;
    let plan = Plan::new(network, config, description.dbb0.range()).unwrap();
    let mut host = LocalHost::new(Platform::build(description).unwrap());
    let mut outputs = Vec::new();
    Runner::new(&plan, &mut host).unwrap().run(&[input], |_, made| outputs = made.outputs).unwrap();
    outputs
}

/// A random network with some outputs, as a loadable; none where the vendor's software, or the configuration, has no way to run it.
fn drawn(
    seed: u64,
    description: &Description,
    generation: Generation,
) -> Option<(Network, Compiled, Vec<i8>)> {
    let config = &description.nvdla().unwrap().config;
    let mut draw = NetworkDraw::new(seed);
    let mut network = draw.any_network();
    // Several outputs are often parts of one cube, which a loadable has no place for.
    if seed.is_multiple_of(4) {
        draw.more_outputs(&mut network);
    }
    let input = draw.input(&network);
    match compile(&network, config, &CompileOptions { generation, ..CompileOptions::default() }) {
        Ok(compiled) if compiled.left.is_empty() => Some((network, compiled, input)),
        Ok(_)
        | Err(
            CompileError::Cpu { .. }
            | CompileError::Output { .. }
            | CompileError::Rule { .. }
            | CompileError::Plan(PlanError::ConvolutionBuffer { .. } | PlanError::NoUnit { .. }),
        ) => None,
        Err(other) => panic!("seed {seed}: {other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(100)))]

    #[test]
    fn a_compiled_network_is_the_references(
        platform in prop::sample::select(Config::NAMES.to_vec()),
        generation in prop::sample::select(Generation::ALL.to_vec()),
        seed: u64,
    ) {
        let description = Description::named(platform).unwrap();
        if let Some((network, compiled, input)) = drawn(seed, &description, generation) {
            let made = outputs(&compiled, &description, &input);
            prop_assert!(made == run_outputs(&network, &input), "{platform}, {generation:?}, seed {seed}");
        }
    }
}

#[test]
fn many_random_networks_become_loadables() {
    let description = Description::named("nv_full").unwrap();
    let compiled = (0..60).filter(|&seed| drawn(seed, &description, Generation::Long).is_some()).count();
    assert!(compiled >= 15, "{compiled} of 60");
}

#[test]
fn built_in_networks_give_the_bytes_of_their_plans() {
    let cases = [
        ("digits", Options::default(), &["nv_small", "nv_large", "nv_full"][..]),
        ("lenet", Options::default(), &["nv_small", "nv_large", "nv_full"]),
        ("lenet", Options { precision: Some(Precision::Int16), ..Options::default() }, &["nv_full"]),
        ("lenet", Options { precision: Some(Precision::Fp16), ..Options::default() }, &["nv_full"]),
        (
            "mobilenet_v1",
            Options { input_size: Some([64, 64]), ..Options::default() },
            &["nv_large", "nv_full"],
        ),
        ("googlenet", Options { input_size: Some([64, 64]), ..Options::default() }, &["nv_large"]),
        ("resnet50", Options { winograd: Some(Winograd::Always), ..Options::default() }, &["nv_full"]),
    ];
    for (name, options, platforms) in cases {
        let network = Network::named(name, &options).unwrap().unwrap();
        for platform in platforms {
            let description = Description::named(platform).unwrap();
            let config = &description.nvdla().unwrap().config;
            let input = network.example_input(1);
            for generation in Generation::ALL {
                let options = CompileOptions { generation, ..CompileOptions::default() };
                let compiled = compile(&network, config, &options)
                    .unwrap_or_else(|error| panic!("{name} on {platform}: {error}"));
                let made = outputs(&compiled, &description, &input);
                let expected = planned(&compiled.network, &description, &input);
                assert!(made == expected, "{name} on {platform}, {generation:?}");
            }
        }
    }
}

/// The runtime has room for 80 letters of a tensor's name, and fills memories of blobs with `dep_graph` in their name again.
#[test]
fn names_are_such_as_the_runtime_takes() {
    let long = "é".repeat(50);
    let text = format!(
        "name = 'n'\nseed = 1\ninput = {{ width = 8, height = 8, channels = 8 }}\n\
         [[layer]]\nname = 'dep_graph'\nkind = 'convolution'\nkernels = 8\nkernel = [1, 1]\n\
         [[layer]]\nname = '{long}'\nkind = 'convolution'\nkernels = 8\nkernel = [1, 1]\n"
    );
    let network = Network::parse(&text, &mut |file| Err(format!("no {file}"))).unwrap();
    let config = Config::named("nv_small").unwrap();
    let mut compiled = compile(&network, &config, &CompileOptions::default()).unwrap();
    assert_eq!(compiled.contents.tensors[1].name, "é".repeat(40));
    let refilled = compiled.contents.blobs.iter().filter(|blob| blob.name.contains("dep_graph"));
    assert_eq!(refilled.map(|blob| &*blob.name).collect::<Vec<_>>(), ["task-0-dep_graph"]);
    compiled.name_end(0, "picture");
    compiled.name_end(1, "scores");
    let loadable = Loadable::parse(&compiled.contents.write()).unwrap();
    let ends = [loadable.inputs(), loadable.outputs()].concat();
    let names = ends.iter().map(|end| &*loadable.tensor_of(end).unwrap().name).collect::<Vec<_>>();
    assert_eq!(names, ["picture", "scores"]);
}

#[test]
fn what_the_driver_cannot_program_is_refused_by_its_rule() {
    let sum = "name = 'n'\nseed = 1\ninput = { width = 8, height = 8, channels = 8 }\n\
        [[layer]]\nname = 'one'\nkind = 'convolution'\nkernels = 8\nkernel = [1, 1]\n\
        [[layer]]\nname = 'two'\nkind = 'convolution'\nkernels = 8\nkernel = [1, 1]\ninput = 'one'\n\
        [[layer]]\nname = 'sum'\nkind = 'sum'\ninputs = ['one', 'two']\nscale = 3\nleaky = { scale = 13, shift = 7 }\n\
        converter = { scale = 1, shift = 2 }\n";
    let refused = |text: &str, platform: &str| {
        let network = Network::parse(text, &mut |file| Err(format!("no {file}"))).unwrap();
        let description = Description::named(platform).unwrap();
        let config = &description.nvdla().unwrap().config;
        compile(&network, config, &CompileOptions::default()).unwrap_err().to_string()
    };
    let told = refused(sum, "nv_small");
    assert!(
        told.starts_with(
            "layer `sum`: a stage of SDP would add what is in memory and multiply by a register"
        ),
        "{told}"
    );
    let strides = "name = 'n'\ninput = { width = 40, height = 40, channels = 8 }\n\
        [[layer]]\nname = 'far'\nkind = 'pooling'\nmethod = 'max'\nkernel = [2, 2]\nstride = [9, 9]\n";
    assert_eq!(refused(strides, "nv_full"), "layer `far`: the driver takes poolings with strides of 1 to 8");
}

/// A whole of 300 parts: their steps all come before the one that reads it.
#[test]
fn many_producers_are_waited_for_by_their_units() {
    let mut text = "name = 'n'\nseed = 1\ninput = { width = 2, height = 2, channels = 8 }\n".to_owned();
    for part in 0..300 {
        text += &format!(
            "[[layer]]\nname = 'p{part}'\nkind = 'convolution'\nkernels = 8\nkernel = [1, 1]\ninput = 'input'\n"
        );
    }
    let parts: Vec<String> = (0..300).map(|part| format!("'p{part}'")).collect();
    text += &format!("[[layer]]\nname = 'all'\nkind = 'concatenation'\ninputs = [{}]\n", parts.join(", "));
    text += "[[layer]]\nname = 'end'\nkind = 'convolution'\nkernels = 8\nkernel = [1, 1]\n";
    let network = Network::parse(&text, &mut |file| Err(format!("no {file}"))).unwrap();
    let description = Description::named("nv_small").unwrap();
    let config = &description.nvdla().unwrap().config;
    let compiled = compile(&network, config, &CompileOptions::default()).unwrap();
    let input = network.example_input(1);
    assert!(outputs(&compiled, &description, &input) == run_outputs(&network, &input));
}
