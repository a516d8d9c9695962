//! Graph files, and what is refused in them.

use super::*;
use crate::host::network::digits;

#[test]
fn a_networks_file_is_a_graph_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../networks/digits");
    let model = Model::load(&folder.join("network.toml")).unwrap();
    let converted = Model::of_network(&digits::network()).unwrap();
    assert_eq!(model.graph.output_shape(), converted.graph.output_shape());
    for sample in digits::samples().iter().take(20) {
        assert_eq!(model.infer(&sample.pixels), converted.infer(&sample.pixels));
    }
}

#[test]
fn every_kind_of_layer_can_be_said() {
    let text = r#"
        name = "all"
        input = { height = 2, width = 2, channels = 1 }
        [[layer]]
        name = "a"
        kind = "activation"
        function = "leaky"
        converter = { scale = 1, shift = 1 }
        [[layer]]
        name = "b"
        kind = "elementwise"
        method = "add"
        other = "input"
        cycles = 12
        converter = { scale = 1, shift = 0 }
        [[layer]]
        name = "c"
        kind = "activation"
        function = "clamp"
        low = -4
        high = 7
        [[layer]]
        name = "d"
        kind = "activation"
        function = "table"
        table = "table"
        [[layer]]
        name = "e"
        kind = "pooling"
        method = "average"
        kernel = [2, 1]
        [[layer]]
        name = "f"
        kind = "fully-connected"
        kernels = 1
        weights = "ones"
        bias = { values = "bias", shift = 1 }
        converter = { scale = 1, shift = 0 }
    "#;
    let mut read = |name: &str| match name {
        "table" => Ok((0..=255u8).map(|at| at.wrapping_add(128).wrapping_neg()).collect()),
        "ones" => Ok(vec![1, 1]),
        "bias" => Ok(vec![5, 0]),
        _ => Err("no such file".to_owned()),
    };
    let model = Model::parse(text, &mut read).unwrap();
    assert_eq!(model.graph.layers()[1].cycles, Some(12));
    // -8 2 -1 100: leaky -4 2 -1 100, sum -12 4 -2 127, clamped -4 4 -2 7, negated 4 -4 2 -7, means 0 -3.
    assert_eq!(model.infer(&[-8, 2, -1, 100]), [7]);
}

#[test]
fn refusals_name_the_layer() {
    let with = |rest: &str| {
        let text = format!("name = \"x\"\ninput = {{ height = 2, width = 2, channels = 1 }}\n{rest}");
        Model::parse(&text, &mut |_| Ok(vec![0; 3])).unwrap_err().to_string()
    };
    let layer = |rest: &str| with(&format!("[[layer]]\nname = \"l\"\n{rest}"));
    assert_eq!(with(""), "graph `x`: 0 layers: 1 to 4096");
    assert_eq!(layer("kind = \"pooling\""), "line 3: layer 1 `l`: missing field `method`");
    let connected =
        "kind = \"fully-connected\"\nkernels = 1\nweights = \"w\"\nconverter = { scale = 1, shift = 0 }";
    assert_eq!(layer(connected), "line 7: layer 1 `l`: w has 3 bytes, and not 4");
    let biased = layer(&format!("{connected}\nbias = {{ values = \"b\" }}"));
    assert_eq!(biased, "line 9: layer 1 `l`: b has 3 bytes, and not 2 or 4 for each of 1 outputs");
    assert_eq!(
        layer("kind = \"activation\"\nfunction = \"relu\"\ninput = \"m\""),
        "line 7: layer 1 `l`: no layer `m` comes before"
    );
    assert!(layer("kind = \"activation\"\nfunction = \"sine\"").contains("sine"));
    let relu = "kind = \"activation\"\nfunction = \"relu\"\n";
    let twice = format!("{relu}[[layer]]\nname = \"l\"\n{relu}");
    assert_eq!(layer(&twice), "line 8: layer 2 `l`: there is another one of that name");
    let shifted = layer(&format!("{connected}\nbias = {{ values = \"b\", shift = 32 }}"));
    assert_eq!(shifted, "line 9: layer 1 `l`: bias.shift = 32: from 0 to 31");
    let table = layer("kind = \"activation\"\nfunction = \"table\"\ntable = \"t\"");
    assert_eq!(table, "line 7: layer 1 `l`: t has 3 bytes, and not 256");
    let leaky = layer(
        "kind = \"activation\"\nfunction = \"leaky\"\nconverter = { offset = 3, scale = 1, shift = 0 }",
    );
    assert_eq!(leaky, "line 7: layer 1 `l`: converter.offset = 3: a leaky activation takes nothing off");
}

#[test]
fn keys_of_another_kind_of_layer_are_refused() {
    let key = |layer: &str, key: &str| {
        let text = format!(
            "name = \"x\"\ninput = {{ height = 2, width = 2, channels = 1 }}\n[[layer]]\nname = \"l\"\n{layer}\n{key}"
        );
        Model::parse(&text, &mut |_| Ok(Vec::new())).unwrap_err().to_string()
    };
    assert_eq!(
        key("kind = \"pooling\"\nmethod = \"max\"\nkernel = [2, 2]", "relu = false"),
        "line 8: layer 1 `l`: unknown field `relu`, expected one of `name`, `input`, `cycles`, `method`, `kernel`, \
         `stride`, `padding`, `padding_after`"
    );
    let activation = |function: &str| format!("kind = \"activation\"\nfunction = \"{function}\"");
    for (layer, wrong) in [
        ("kind = \"convolution\"".to_owned(), "method = \"max\""),
        ("kind = \"fully-connected\"".to_owned(), "kernel = [2, 2]"),
        ("kind = \"fully-connected\"".to_owned(), "padding_after = [0, 0]"),
        ("kind = \"elementwise\"".to_owned(), "weights = \"w\""),
        (activation("relu"), "converter = { scale = 1, shift = 0 }"),
        (activation("leaky"), "low = 1"),
        (activation("clamp"), "table = \"t\""),
        (activation("table"), "high = 1"),
        (activation("relu"), "stride = [1, 1]"),
    ] {
        let name = wrong.split(' ').next().unwrap();
        let refused = key(&layer, wrong);
        assert!(refused.contains(&format!("layer 1 `l`: unknown field `{name}`, ")), "{refused}");
    }
}
