//! The networks that are built in leave what a plain computation of them does, layer by layer as a driver runs them.
//!
//! Here with small inputs; `cargo test -p vp-tests --release --test networks -- --ignored` runs them in full size.

use vp_host::network::{Measured, Network, Options, Plan, example_input};
use vp_models::platform::{Arithmetic, Description};
use vp_tests::conformance::HostConnection;
use vp_tests::reference::run_layers;

/// Runs a network on a platform and holds what comes out to the reference.
fn check(name: &str, platform: &str, size: Option<u32>) {
    let options = Options { input_size: size.map(|size| [size, size]), ..Options::default() };
    let network = Network::named(name, &options).unwrap().unwrap();
    let input = example_input(network.input, 1);
    let measured = Measured::of(&network, &Description::named(platform).unwrap(), &input)
        .unwrap_or_else(|error| panic!("{name} on {platform}: {error}"));
    let layers = run_layers(&network, &input);
    assert_eq!(Some(&measured.outputs[0]), layers.last(), "{name} on {platform}");
    if name == "digits" {
        // Its weights are its own, and want images.
        return;
    }
    // All but the outputs of a soft-max keep within int8, and use it.
    for (layer, elements) in network.layers.iter().zip(&layers) {
        let share = |wanted: fn(i8) -> bool| {
            elements.iter().filter(|&&element| wanted(element)).count() as f64 / elements.len() as f64
        };
        let scored = matches!(layer.operation, vp_host::network::Operation::SoftMax(_));
        assert!(share(|x| x == 127 || x == -128) < 0.2, "{name}: {} saturates", layer.name);
        assert!(scored || share(|x| x != 0) > 0.1, "{name}: {} vanishes", layer.name);
    }
}

/// The smallest input that leaves each layer something to do.
fn small(name: &str) -> Option<u32> {
    match name {
        "alexnet" => Some(67),
        "googlenet" | "resnet50" | "mobilenet_v1" | "yolov3_tiny" => Some(64),
        _ => None,
    }
}

#[test]
fn every_network_leaves_the_references_output_on_the_largest_configuration() {
    for name in Network::NAMES {
        check(name, "nv_large", small(name));
    }
}

/// Frames at once, each with an input of its own; of the last plan's frames some are missing.
fn check_batched(name: &str, platform: &str, (frames, at_once): (u64, u32), size: Option<u32>) {
    let options = Options { input_size: size.map(|size| [size, size]), ..Options::default() };
    let network = Network::named(name, &options).unwrap().unwrap();
    let inputs: Vec<Vec<i8>> = (1..=frames).map(|seed| example_input(network.input, seed)).collect();
    let slices: Vec<&[i8]> = inputs.iter().map(Vec::as_slice).collect();
    let measured =
        Measured::batched(&network, &Description::named(platform).unwrap(), &slices, at_once).unwrap();
    let expected: Vec<i8> =
        inputs.iter().flat_map(|input| run_layers(&network, input).pop().unwrap()).collect();
    assert!(measured.outputs[0] == expected, "{name} on {platform}, {at_once} of {frames} frames at once");
}

#[test]
fn frames_at_once_leave_the_references_output() {
    for (name, frames) in [
        ("alexnet", (3, 2)),
        ("googlenet", (2, 2)),
        ("resnet50", (2, 4)),
        ("mobilenet_v1", (3, 3)),
        ("lenet", (7, 16)),
        ("digits", (33, 32)),
        ("yolov3_tiny", (2, 2)),
    ] {
        for platform in ["nv_large", "nv_full"] {
            check_batched(name, platform, frames, small(name));
        }
    }
}

#[test]
fn frames_that_the_buffer_does_not_hold_together_leave_the_references_output() {
    // Eight of 32 at once, of which eleven are given.
    let text = "name = 'n'\nseed = 3\ninput = { width = 16, height = 16, channels = 128 }\n\
                [[layer]]\nname = 'fc'\nkind = 'fully-connected'\nkernels = 8\nrelu = true";
    let network = Network::parse(text, &mut |_| Err("none".to_owned())).unwrap();
    let inputs: Vec<Vec<i8>> = (1..=11).map(|seed| example_input(network.input, seed)).collect();
    let slices: Vec<&[i8]> = inputs.iter().map(Vec::as_slice).collect();
    let nv_large = Description::named("nv_large").unwrap();
    let measured = Measured::batched(&network, &nv_large, &slices, 32).unwrap();
    let expected: Vec<i8> =
        inputs.iter().flat_map(|input| run_layers(&network, input).pop().unwrap()).collect();
    assert_eq!(measured.outputs[0], expected);
}

#[test]
fn networks_leave_the_references_output_on_the_smallest_configuration() {
    for name in ["lenet", "mobilenet_v1", "yolov3_tiny"] {
        check(name, "nv_small", small(name));
    }
}

#[test]
fn a_network_of_all_kinds_of_layers_leaves_the_references_output_on_every_configuration() {
    let text = include_str!("../../data/networks/all_kinds.toml");
    let network = Network::parse(text, &mut |_| Err("none".to_owned())).unwrap();
    let input = example_input(network.input, 3);
    let expected = run_layers(&network, &input).pop();
    for platform in Description::NAMES {
        let measured = Measured::of(&network, &Description::named(platform).unwrap(), &input)
            .unwrap_or_else(|error| panic!("{platform}: {error}"));
        assert_eq!(measured.outputs.last(), expected.as_ref(), "{platform}");
    }
}

/// Runs a network with tasks of the CPU in between, which read and write its memory.
#[test]
fn a_network_of_all_kinds_of_layers_is_the_same_run_wherever_platform_and_memory_are() {
    let text = include_str!("../../data/networks/all_kinds.toml");
    let network = Network::parse(text, &mut |_| Err("none".to_owned())).unwrap();
    let nv_small = Description::named("nv_small").unwrap();
    let plan = Plan::new(&network, &nv_small.nvdla().unwrap().config, nv_small.dbb0.range()).unwrap();
    let input = example_input(network.input, 3);
    let runs = HostConnection::ALL.map(|way| {
        let mut host = (way.connect)(&nv_small);
        let measured =
            Measured::on(&network, &plan, host.as_mut(), nv_small.period, &[&input], || ()).unwrap();
        let hash = measured.statistics.text("events.hash").map(str::to_owned);
        (way.name, measured.outputs.concat(), hash)
    });
    let (_, output, hash) = runs[0].clone();
    for (name, there, hash_there) in runs {
        assert_eq!((there, hash_there), (output.clone(), hash.clone()), "{name}");
    }
}

#[test]
fn a_network_without_arithmetic_takes_the_same_time() {
    for (name, platform) in [("lenet", "nv_small"), ("googlenet", "nv_large")] {
        let options = Options { input_size: small(name).map(|size| [size; 2]), ..Options::default() };
        let network = Network::named(name, &options).unwrap().unwrap();
        let input = example_input(network.input, 1);
        let run = |arithmetic| {
            let description = Description { arithmetic, ..Description::named(platform).unwrap() };
            Measured::of(&network, &description, &input).unwrap()
        };
        let (computed, skipped) = (run(Arithmetic::Computed), run(Arithmetic::Skipped));
        let all = |measured: &Measured| {
            let hash = measured.statistics.text("events.hash").map(str::to_owned);
            (measured.layers.clone(), measured.time, hash)
        };
        assert_eq!(all(&computed), all(&skipped), "{name} on {platform}");
    }
}

#[test]
#[ignore = "a minute: in full size"]
fn every_network_in_full_size_leaves_the_references_output() {
    for name in Network::NAMES {
        for platform in ["nv_large", "nv_full"] {
            check(name, platform, None);
        }
    }
    check_batched("alexnet", "nv_large", (16, 16), None);
}
