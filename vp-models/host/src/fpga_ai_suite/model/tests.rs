//! Networks that this device runs, and what is refused in them.

use super::*;
use crate::network::digits;

#[test]
fn a_networks_file_is_a_model_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../networks/digits");
    let model = Model::load(&folder.join("network.toml")).unwrap();
    assert_eq!(model, Model::of_network(&digits::network()).unwrap());
    let samples = digits::samples();
    let right = samples.iter().take(20).filter(|it| digits::answer(&model.infer(&it.pixels)) == it.label);
    assert_eq!(right.count(), 20);
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
        let bytes = |name: &str| match name {
            "ones" => vec![1; 4],
            "large" => i32::MAX.to_le_bytes().to_vec(),
            _ => vec![0; 3],
        };
        Model::parse(&text, &mut |name| Ok(bytes(name))).unwrap_err().to_string()
    };
    let layer = |rest: &str| with(&format!("[[layer]]\nname = \"l\"\n{rest}"));
    assert_eq!(with(""), "line 1: the network `x` has no layers");
    assert_eq!(layer("kind = \"pooling\""), "line 3: layer 1 `l`: `method` is missing");
    let connected =
        "kind = \"fully-connected\"\nkernels = 1\nweights = \"w\"\nconverter = { scale = 1, shift = 0 }";
    assert_eq!(layer(connected), "line 7: layer 1 `l`: weights: w has 3 bytes instead of 4");
    let weighted = connected.replace("\"w\"", "\"ones\"");
    let biased = layer(&format!("{weighted}\nbias = {{ values = \"b\" }}"));
    assert_eq!(biased, "line 9: layer 1 `l`: bias: b has 3 bytes instead of 2 or 4");
    assert_eq!(
        layer("kind = \"activation\"\nfunction = \"relu\"\ninput = \"m\""),
        "line 7: layer 1 `l`: it reads `m`: no layer before it has that name"
    );
    assert!(layer("kind = \"activation\"\nfunction = \"sine\"").contains("sine"));
    let relu = "kind = \"activation\"\nfunction = \"relu\"\n";
    let twice = format!("{relu}[[layer]]\nname = \"l\"\n{relu}");
    assert_eq!(layer(&twice), "line 8: layer 2 `l`: another layer has this name");
    let converted = layer(&weighted.replace("shift = 0", "shift = 63"));
    assert_eq!(converted, "line 8: layer 1 `l`: a right shift of 63: at most 62");
    let shifted = layer(&format!("{weighted}\nbias = {{ values = \"large\", shift = 32 }}"));
    assert_eq!(shifted, "line 9: layer 1 `l`: bias.shift = 32: from 0 to 31");
    let large = layer(&format!("{weighted}\nbias = {{ values = \"large\", shift = 1 }}"));
    assert_eq!(large, "line 9: layer 1 `l`: a bias of 2147483647 << 1 does not fit 32 bits");
    let padded = layer("kind = \"pooling\"\nmethod = \"max\"\nkernel = [1, 1]\npadding = [1, 0]");
    assert_eq!(
        padded,
        "line 3: layer 1 `l`: a window of 1 rows and 1 columns does not lie over 2x2x1 everywhere"
    );
    let table = layer("kind = \"activation\"\nfunction = \"table\"\ntable = \"t\"");
    assert_eq!(table, "line 7: layer 1 `l`: table: t has 3 bytes instead of 256");
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
        "line 8: layer 1 `l`: unknown field `relu`, expected one of `name`, `input`, `memory`, `cycles`, `method`, \
         `kernel`, `global`, `stride`, `padding`, `padding_after`, `rounding`"
    );
    let activation = |function: &str| format!("kind = \"activation\"\nfunction = \"{function}\"");
    for (layer, wrong) in [
        ("kind = \"convolution\"".to_owned(), "method = \"max\""),
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
    for of_window in ["kernel = [2, 2]", "padding_after = [0, 0]"] {
        let refused = key("kind = \"fully-connected\"", of_window);
        assert!(refused.ends_with("layer 1 `l`: a fully connected layer's kernel is its input"), "{refused}");
    }
}

/// Refusal of what NVDLA has, and this device has not.
#[test]
fn what_the_device_has_not_is_refused_by_layer_with_what_would_be_right() {
    let head = "name = 'x'\nseed = 1\ninput = { height = 4, width = 4, channels = 8 }\n";
    // Files have as many bytes as their names say.
    let mut file = |name: &str| name.parse().map(|bytes| vec![1; bytes]).map_err(|_| "none".to_owned());
    let mut refusal = |text: &str| Model::parse(text, &mut file).unwrap_err().to_string();
    let first = "[[layer]]\nname = 'a'\nkind = 'activation'\nfunction = 'relu'\n";
    let converter = "converter = { scale = 1, shift = 0 }";
    let table = "look_up = { values = '514', start = 0, step = 0 }";
    let convolution = "kind = 'convolution'\nkernels = 8\nkernel = [1, 1]";
    for (layer, told) in [
        (format!("{convolution}\ngroups = 2"), "this device has no groups; give each kernel all channels"),
        (
            format!("{convolution}\nadd = {{ layer = 'a' }}"),
            "this device has no convolution that adds a layer",
        ),
        (
            format!("{convolution}\nleaky = {{ scale = 1, shift = 1 }}"),
            "no leaky activation in a convolution",
        ),
        (format!("{convolution}\ntruncate = 1"), "this device has no `truncate`"),
        (
            format!("{convolution}\npadding_value = -1"),
            "no padding with another value than 0; pad the input on the host",
        ),
        (
            format!("{convolution}\ndilation = [2, 2]").replace("[1, 1]", "[2, 1]"),
            "no dilation; give the kernels zeros for the pixels between",
        ),
        (
            format!("{convolution}\nscales = {{ values = '16' }}\n{converter}"),
            "no `scales`; quantise all kernels with one scale, that of the converter",
        ),
        (format!("{convolution}\nprelu = {{ values = '16' }}"), "no PReLU in a convolution; give all"),
        (format!("{convolution}\n{table}"), "no `look_up`; make it a layer of the kind \"activation\""),
        (format!("kind = 'scaling'\n{table}\n{converter}"), "this device has no scaling"),
        (
            format!("kind = 'elementwise'\nmethod = 'minimum'\nother = 'a'\n{converter}"),
            "no smaller of two elements; negate both",
        ),
        (
            "kind = 'sum'\ninputs = ['a', 'input']\nscale = 2".to_owned(),
            "this device has no sum with `scale`",
        ),
        (
            "kind = 'sum'\ninputs = ['a', 'input']\nrelu = true".to_owned(),
            "this device has no sum with `scale`",
        ),
        ("kind = 'concatenation'\ninputs = ['a', 'input']".to_owned(), "this device has no concatenation"),
        (
            "kind = 'normalisation'\nchannels = 5\nalpha = 1.0\nbeta = 0.5\nk = 1.0\nscale = 1.0".to_owned(),
            "this device has no normalisation",
        ),
        ("kind = 'upsampling'\nfactor = 2".to_owned(), "this device has no upsampling"),
        ("kind = 'soft-max'\nscale = 1.0".to_owned(), "this device has no soft-max; cut the network there"),
    ] {
        let refused = refusal(&format!("{head}{first}[[layer]]\nname = 'l'\n{layer}\n"));
        assert!(refused.starts_with("line 8: layer 2 `l`: ") && refused.contains(told), "{refused}");
    }
    let refused = refusal(&format!("precision = 'int16'\n{head}{first}"));
    assert_eq!(refused, "line 1: x is computed in int16: this device has int8");
    let refused = refusal(&format!("{head}{first}memory = 'sram'\n"));
    assert_eq!(refused, "line 8: layer `a`: memory = \"sram\": this device has one memory, dram");
}

/// A sum as NVDLA's networks write it, and weights that no file holds.
#[test]
fn what_networks_have_is_planned_where_it_is_the_same() {
    let text = "name = 'x'\nseed = 1\ninput = { height = 4, width = 4, channels = 8, image = false }\n\
                [[layer]]\nname = 'c'\nkind = 'convolution'\nkernels = 8\nkernel = [1, 1]\nmemory = 'dram'\n\
                [[layer]]\nname = 's'\nkind = 'sum'\ninputs = ['c', 'input']\n\
                [[layer]]\nname = 'p'\nkind = 'pooling'\nmethod = 'average'\nglobal = true\n";
    let model = Model::parse(text, &mut |_| Err("none".to_owned())).unwrap();
    assert_eq!(model.graph.output_shape().to_string(), "1x1x8");
    assert_eq!(model.filters.len(), 8 * 4 + 64);
}

#[test]
fn a_network_of_several_outputs_is_refused_by_their_names() {
    let mut network = digits::network();
    network.outputs = vec![1, network.layers.len() - 1];
    let error = Model::of_network(&network).unwrap_err().to_string();
    assert_eq!(error, "the outputs of digits are conv2, fc: this device has one, the last layer's");
}
