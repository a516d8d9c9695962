//! Cubes that do not lie as a layer needs them, slices, and what the CPU does for a configuration.

use vp_host::network::{Function, Measured, Network, NetworkLayer, Operation, Plan, Shape, Slice, Work};
use vp_models::nvdla::registers::Unit;
use vp_models::platform::Description;
use vp_tests::reference::run_outputs;

/// A layer that makes so many kernels of a source.
fn convolution(name: &str, input: &str, kernels: u32) -> String {
    format!(
        "[[layer]]\nkind = 'convolution'\nname = '{name}'\ninput = '{input}'\nkernels = {kernels}\nkernel = [1, 1]\n"
    )
}

fn concatenation(name: &str, inputs: &str) -> String {
    format!("[[layer]]\nkind = 'concatenation'\nname = '{name}'\ninputs = [{inputs}]\n")
}

fn parsed(layers: &str) -> Network {
    let text = format!("name = 'n'\nseed = 3\ninput = {{ width = 6, height = 5, channels = 7 }}\n{layers}");
    Network::parse(&text, &mut |_| Err("none".to_owned())).unwrap()
}

fn plan(network: &Network, platform: &str) -> Plan {
    let described = Description::named(platform).unwrap();
    Plan::new(network, &described.nvdla().unwrap().config, described.dbb0.range()).unwrap()
}

/// Doers of a layer's steps: units, or the CPU.
fn steps(plan: &Plan, network: &Network, layer: &str) -> Vec<&'static str> {
    let of_layer = plan.steps.iter().filter(|step| network.layers[step.layer].name == layer);
    let by = of_layer.map(|step| match &step.work {
        Work::Cpu { .. } => "CPU",
        _ if step.units() == [Unit::SdpRdma, Unit::Sdp] => "SDP",
        _ if step.units().contains(&Unit::Cdma) => "convolution",
        _ => "other",
    });
    by.collect()
}

fn check(network: &Network) {
    for platform in ["nv_small", "nv_large", "nv_full"] {
        let described = Description::named(platform).unwrap();
        let input = network.example_input(4);
        let measured = Measured::of(network, &described, &input).unwrap();
        assert_eq!(measured.outputs, run_outputs(network, &input), "{platform}");
    }
}

#[test]
fn a_cube_may_be_in_several_wholes_and_several_times_in_one() {
    let layers = convolution("a", "input", 9)
        + &convolution("b", "a", 24)
        + &concatenation("first", "'a', 'b', 'input'")
        + &concatenation("second", "'b', 'b', 'a'")
        + &concatenation("both", "'first', 'second'")
        + &convolution("last", "both", 3);
    let network = parsed(&layers);
    // The input is copied into the first; into the second what is in the first already, and then once more.
    let plan = plan(&network, "nv_small");
    assert_eq!(steps(&plan, &network, "first"), ["SDP"]);
    assert_eq!(steps(&plan, &network, "second"), ["SDP"; 3]);
    assert_eq!(steps(&plan, &network, "both"), [""; 0]);
    check(&network);
}

/// As DenseNet has it: each whole is all before and one more. Nothing is copied.
#[test]
fn wholes_that_grow_lie_in_one_memory() {
    let mut layers = convolution("0", "input", 16);
    let mut all = vec!["'0'".to_owned()];
    for at in 1..6 {
        let before = if at == 1 { "0".to_owned() } else { format!("whole{}", at - 1) };
        layers += &convolution(&at.to_string(), &before, 8);
        all.push(format!("'{at}'"));
        layers += &concatenation(&format!("whole{at}"), &all.join(", "));
    }
    let network = parsed(&layers);
    assert_eq!(plan(&network, "nv_small").steps.len(), 6);
    check(&network);
}

#[test]
fn channels_with_gaps_are_moved_where_a_layer_needs_them_without() {
    let sum = "[[layer]]\nkind = 'sum'\nname = 'sum'\ninputs = ['gaps', 'c']\n";
    let add = "add = { layer = 'gaps', shift = 1 }\n";
    let norm = "[[layer]]\nkind = 'normalisation'\nname = 'norm'\ninput = 'gaps'\nchannels = 3\nalpha = 0.1\nbeta = 0.75\nk = 2.0\nscale = 0.1\n";
    let layers = convolution("a", "input", 3)
        + &convolution("b", "input", 10)
        + &concatenation("gaps", "'a', 'b'")
        + &convolution("c", "input", 13)
        + sum
        + &convolution("added", "sum", 13)
        + add
        + norm;
    let mut network = parsed(&layers);
    network.outputs = (4..network.layers.len()).collect();
    let plan = plan(&network, "nv_small");
    for layer in ["sum", "added", "norm"] {
        assert_eq!(steps(&plan, &network, layer)[0], "convolution", "{layer}");
        assert_eq!(steps(&plan, &network, layer).len(), 2, "{layer}");
    }
    check(&network);
}

/// A box of the first layer, and a convolution that reads it.
fn sliced(from: [u32; 3], [width, height, channels]: [u32; 3], is_part: bool) -> Network {
    let whole = Shape { width: 6, height: 5, channels: 80 };
    let mut network = parsed(&convolution("whole", "input", 80));
    let output = Shape { width, height, channels };
    let push = |network: &mut Network, name: &str, sources: Vec<usize>, input, output, operation| {
        let sources = sources.into_iter().map(Some).collect();
        network.layers.push(NetworkLayer {
            name: name.to_owned(),
            sources,
            input,
            output,
            operation,
            cycles: None,
        });
    };
    push(&mut network, "slice", vec![0], whole, output, Operation::Slice(Slice { from }));
    push(&mut network, "relu", vec![1], output, output, Operation::Activation(Function::Relu));
    network.outputs = vec![2, 1];
    if is_part {
        let both = Shape { channels: 2 * channels, ..output };
        push(&mut network, "both", vec![1, 2], output, both, Operation::Concatenation);
        network.outputs.push(3);
    }
    network
}

#[test]
fn slices_are_read_where_they_are_or_copied_by_who_can() {
    for (from, size, is_part, by) in [
        // Lines, columns, and channels in whole atoms of all three platforms.
        ([0, 2, 0], [6, 3, 80], false, &[][..]),
        ([1, 0, 32], [4, 5, 32], false, &[]),
        ([2, 3, 64], [3, 2, 16], false, &[]),
        ([1, 1, 32], [4, 2, 48], true, &["SDP"]),
        ([0, 0, 5], [6, 5, 8], false, &["convolution"]),
        ([0, 0, 0], [6, 5, 9], true, &["convolution"]),
        // SDP reads one pixel only where surfaces follow each other.
        ([3, 4, 0], [1, 1, 80], false, &["CPU"]),
    ] {
        let network = sliced(from, size, is_part);
        for platform in ["nv_small", "nv_large", "nv_full"] {
            assert_eq!(steps(&plan(&network, platform), &network, "slice"), by, "{from:?} {size:?}");
        }
        check(&network);
    }
}

#[test]
fn a_slice_beyond_its_source_is_refused() {
    let network = sliced([0, 3, 0], [6, 3, 80], false);
    let described = Description::named("nv_small").unwrap();
    let planned = Plan::new(&network, &described.nvdla().unwrap().config, described.dbb0.range());
    assert_eq!(
        planned.unwrap_err().to_string(),
        "layer `slice`: 6x3x80 from column 0, line 3 and channel 0 on are not within 6x5x80"
    );
}

#[test]
fn tables_and_bounds_are_the_cpus_where_no_unit_has_them() {
    let functions = [
        Function::Table((0..=255).map(|at: u8| (at ^ 0x5A).cast_signed()).collect()),
        Function::Clamp { low: -3, high: 90 },
    ];
    for function in functions {
        let mut network = parsed(&(convolution("a", "input", 3) + &convolution("b", "input", 9)));
        let (gaps, shape) = (concatenation("gaps", "'a', 'b'"), Shape { width: 6, height: 5, channels: 12 });
        network.layers =
            parsed(&(convolution("a", "input", 3) + &convolution("b", "input", 9) + &gaps)).layers;
        let operation = Operation::Activation(function.clone());
        network.layers.push(NetworkLayer {
            name: "function".into(),
            sources: vec![Some(2)],
            input: shape,
            output: shape,
            operation,
            cycles: None,
        });
        network.outputs = vec![3];
        check(&network);
        let mut lacking = Description::named("nv_full").unwrap();
        let config = &mut lacking.nvdla_mut().unwrap().config;
        (config.sdp_lut, config.sdp_bn) = (false, false);
        for (described, by) in [(Description::named("nv_full").unwrap(), "SDP"), (lacking, "CPU")] {
            let config = &described.nvdla().unwrap().config;
            let plan = Plan::new(&network, config, described.dbb0.range()).unwrap();
            assert_eq!(steps(&plan, &network, "function"), [by]);
            let input = network.example_input(1);
            let measured = Measured::of(&network, &described, &input).unwrap();
            assert_eq!(measured.outputs, run_outputs(&network, &input), "{by}");
            assert_eq!(measured.layers[3].cpu.is_some(), by == "CPU");
        }
    }
}
