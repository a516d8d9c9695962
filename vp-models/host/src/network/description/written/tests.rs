//! Keys of SDP's constants and of windows: what they make, and how wrong ones are refused.

use crate::network::{
    Activation, ChannelProduct, Converter, Convolution, LookUp, Network, Operation, Scales, Scaling, Slope,
    Window,
};

const HEAD: &str = "name = 'n'\ninput = { width = 9, height = 7, channels = 2 }\n[[layer]]\nname = 'l'\n";
const CONVOLUTION: &str = "kind = 'convolution'\nkernels = 3\nkernel = [3, 2]\nweights = 'w'\n";

/// Bytes of a file by the number in its name.
fn file(name: &str) -> Result<Vec<u8>, String> {
    match name {
        "w" => Ok(vec![1; 36]),
        "halves" => Ok(vec![1; 72]),
        "table" => Ok((0..257i16).flat_map(i16::to_le_bytes).collect()),
        name => name.parse().map(|bytes: u8| (0..bytes).collect()).map_err(|_| "no such file".to_owned()),
    }
}

fn parsed(precision: &str, layer: &str) -> Result<Network, String> {
    let text = format!("precision = '{precision}'\n{HEAD}{layer}");
    Network::parse(&text, &mut |name| file(name)).map_err(|error| error.to_string())
}

fn convolution(network: &Network) -> &Convolution {
    let Operation::Convolution(convolution) = &network.layers[0].operation else { unreachable!() };
    convolution
}

#[test]
fn convolutions_have_dilation_padding_scales_and_slopes() {
    let rest = "dilation = [3, 4]\npadding = [1, 0]\npadding_value = -5\nscales = { values = '6', shift = 9 }\n\
                prelu = { values = '6', shift = 7 }\nconverter = { scale = 1, shift = 0 }";
    let network = parsed("int8", &format!("{CONVOLUTION}{rest}")).unwrap();
    assert_eq!(network.output().to_string(), "5x3x3");
    let made = convolution(&network);
    let window = Window { size: [3, 2], dilation: [3, 4], before: [1, 0], after: [1, 0], ..Window::PIXEL };
    assert_eq!((made.window, made.padding), (window, -5));
    let values = vec![0x100, 0x302, 0x504];
    assert_eq!(made.scales, Some(Scales { values: values.clone(), shift: 9 }));
    assert_eq!(made.activation, Activation::PRelu(Scales { values, shift: 7 }));
    // In fp16 a number is padded with, and nothing is shifted.
    let halves = CONVOLUTION.replace("'w'", "'halves'");
    let network =
        parsed("fp16", &format!("{halves}padding_value = -1.5\nscales = {{ values = '6' }}")).unwrap();
    let made = convolution(&network);
    assert_eq!((made.padding as u16, made.scales.as_ref().unwrap().shift), (0xbe00, 0));
}

#[test]
fn wrong_ones_are_refused_by_line_and_key() {
    let refused = |precision: &str, rest: &str| {
        let weights = if precision == "int8" { "'w'" } else { "'halves'" };
        let layer = CONVOLUTION.replace("'w'", weights);
        let converter = if precision == "fp16" { "" } else { "converter = { scale = 1, shift = 0 }\n" };
        parsed(precision, &format!("{layer}{converter}{rest}")).unwrap_err()
    };
    let of_int8 = |rest: &str| refused("int8", rest).replace("line 11: layer 1 `l`: ", "");
    for (rest, what) in [
        ("dilation = [0, 1]", "dilation = [0, 1]: at least 1"),
        ("padding_value = 128", "padding_value = 128: of int8 it is -128 to 127"),
        ("padding_value = 0.5", "padding_value = 0.5: of int8 it is -128 to 127"),
        ("scales = { values = '5' }", "scales: 5 has 5 bytes instead of 6"),
        ("scales = { values = 'none' }", "scales: no such file"),
        ("scales = { values = '6', shift = 64 }", "scales.shift: found 64, expected 0 to 63"),
        ("prelu = { values = '4' }", "prelu: 4 has 4 bytes instead of 6"),
        (
            "prelu = { values = '6' }\nrelu = true",
            "one of `relu`, `leaky` and `prelu` says what becomes of negative values",
        ),
    ] {
        assert!(of_int8(rest).contains(what), "{}", of_int8(rest));
    }
    assert!(refused("int16", "padding_value = 40000").contains("of int16 it is -32768 to 32767"));
    let wide = refused("int8", "dilation = [9, 1]");
    assert!(wide.contains("a window of 19x2 does not fit on 9x7x2"), "{wide}");
    let shifted = refused("fp16", "scales = { values = '6', shift = 3 }");
    assert!(shifted.contains("`scales.shift` is of integers: in fp16 nothing is shifted"), "{shifted}");
    let unconverted = parsed("int8", &format!("{CONVOLUTION}scales = {{ values = '6' }}")).unwrap_err();
    assert!(unconverted.contains("`converter` is missing"), "{unconverted}");
    let connected = "kind = 'fully-connected'\nkernels = 1\ndilation = [1, 1]";
    assert!(parsed("int8", connected).unwrap_err().contains("a fully connected layer's kernel is its input"));
}

#[test]
fn scaling_and_products_by_channels_are_layers() {
    let layers = "kind = 'scaling'\nscales = { values = '4', shift = 2 }\nleaky = { scale = 3, shift = 1 }\n\
                  look_up = { values = 'table', start = -7, step = 2, below = { scale = -1, shift = -16 } }\n\
                  converter = { scale = 5, shift = 1 }\n\
                  [[layer]]\nname = 'pixel'\nkind = 'fully-connected'\nkernels = 2\nweights = '252'\n\
                  converter = { scale = 1, shift = 1 }\n\
                  [[layer]]\nname = 'product'\nkind = 'channel-product'\ninput = 'l'\nfactors = 'pixel'\nrelu = true\n\
                  converter = { scale = 2, shift = 3 }";
    let network = parsed("int8", layers).unwrap();
    let values: Vec<i16> = (0..257).collect();
    let below = Slope { scale: -1, shift: -16 };
    let scaling = Scaling {
        bias: None,
        scales: Some(Scales { values: vec![0x100, 0x302], shift: 2 }),
        activation: Activation::Leaky { scale: 3, shift: 1 },
        look_up: Some(LookUp { start: -7, step: 2, values, below, above: Slope::default() }),
        converter: Converter { offset: 0, scale: 5, shift: 1 },
    };
    assert_eq!(network.layers[0].operation, Operation::Scaling(scaling));
    let converter = Converter { offset: 0, scale: 2, shift: 3 };
    let product = ChannelProduct { activation: Activation::Relu, converter };
    assert_eq!(network.layers[2].operation, Operation::ChannelProduct(product));
    assert_eq!(
        (network.layers[2].sources.as_slice(), network.layers[2].output),
        (&[Some(0), Some(1)][..], network.input)
    );
    // In fp16 a table begins with a number.
    let table =
        "kind = 'scaling'\nlook_up = { values = 'table', start = -0.5, step = -3, above = { scale = 2.0 } }";
    let network = parsed("fp16", table).unwrap();
    let Operation::Scaling(Scaling { look_up: Some(table), .. }) = &network.layers[0].operation else {
        unreachable!()
    };
    assert_eq!((table.start, table.step), ((-0.5f32).to_bits().into(), -3));
    assert_eq!(table.above, Slope { scale: 0x4000, shift: 0 });
}

#[test]
fn wrong_tables_and_products_are_refused_by_line_and_key() {
    let of = |precision: &str, table: &str| {
        let converter = if precision == "fp16" { "" } else { "converter = { scale = 1, shift = 0 }\n" };
        let table = format!("look_up = {{ values = 'table', {table} }}");
        let why = parsed(precision, &format!("kind = 'scaling'\n{converter}{table}")).unwrap_err();
        why.split_once("layer 1 `l`: ").expect("the layer's name").1.to_owned()
    };
    for (table, what) in [
        ("start = 0, step = 32", "look_up.step = 32: an exponent from 0 to 31"),
        ("start = 0, step = -1", "look_up.step = -1: an exponent from 0 to 31"),
        ("start = 0.5, step = 0", "look_up.start = 0.5: an integer from -2147483648 to 2147483647"),
        ("start = 3e9, step = 0", "look_up.start = 3000000000: an integer from -2147483648 to 2147483647"),
        (
            "start = 0, step = 0, above = { scale = 1, shift = 16 }",
            "look_up.above.shift = 16: from -16 to 15",
        ),
        (
            "start = 0, step = 0, below = { scale = 40000 }",
            "look_up.below = 40000: an integer from -32768 to 32767",
        ),
    ] {
        assert_eq!(of("int8", table), what);
    }
    let shifted = of("fp16", "start = 0, step = 0, below = { scale = 1, shift = 1 }");
    assert_eq!(shifted, "`look_up.below.shift` is of integers: in fp16 nothing is shifted");
    let short = parsed(
        "int8",
        "kind = 'scaling'\nconverter = { scale = 1, shift = 0 }\nlook_up = { values = '4', start = 0, step = 0 }",
    );
    assert!(short.unwrap_err().contains("look_up: 4 has 4 bytes instead of 514"));
    let unconverted = parsed("int8", "kind = 'scaling'\nrelu = true").unwrap_err();
    assert!(unconverted.contains("`converter` is missing"), "{unconverted}");
    let wide =
        parsed("int8", "kind = 'channel-product'\nfactors = 'input'\nconverter = { scale = 1, shift = 0 }");
    assert_eq!(wide.unwrap_err(), "line 7: layer 1 `l`: 9x7x2 and 9x7x2 do not go together");
}
