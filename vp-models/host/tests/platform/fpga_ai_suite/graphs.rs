//! Graph files at random: each is refused in words, or computes on the IP what it computes here.

use std::collections::BTreeMap;

use proptest::prelude::*;
use vp_host::fpga_ai_suite::{DriverError, LayoutError};

use super::*;

/// A number as files have them, small ones most of the time.
fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        60 => 1i64..4,
        2 => -140i64..300,
        1 => prop::sample::select(vec![8192, 8193, 65_535, 1 << 31, u32::MAX.into(), 1 << 32, i64::MAX, i64::MIN]),
    ]
}

fn pair() -> impl Strategy<Value = String> {
    (number(), number()).prop_map(|(columns, rows)| format!("[{columns}, {rows}]"))
}

fn converter() -> impl Strategy<Value = String> {
    (prop::option::of(number()), number(), number()).prop_map(|(offset, scale, shift)| {
        let offset = offset.map(|offset| format!("offset = {offset}, ")).unwrap_or_default();
        format!("{{ {offset}scale = {scale}, shift = {shift} }}")
    })
}

/// One of some words, most of the time not the last.
fn words(words: &'static [&'static str]) -> BoxedStrategy<String> {
    let (last, usual) = words.split_last().unwrap();
    let quoted = |word: &str| if word.starts_with('[') { word.to_owned() } else { format!("\"{word}\"") };
    prop_oneof![15 => prop::sample::select(usual), 1 => Just(*last)].prop_map(quoted).boxed()
}

/// A key with what may stand behind it.
fn line(key: &'static str) -> BoxedStrategy<String> {
    let value = match key {
        "kernel" | "stride" => pair().boxed(),
        "converter" => converter().boxed(),
        "clamp" => return Just("function = \"clamp\"\n".to_owned()).boxed(),
        "relu" => any::<bool>().prop_map(|is| is.to_string()).boxed(),
        "weights" | "table" => Just(format!("\"{key}\"")).boxed(),
        "bias" => number().prop_map(|shift| format!("{{ values = \"bias\", shift = {shift} }}")).boxed(),
        "input" | "other" => words(&["input", "l0", "l1", "l9"]),
        "padding" | "padding_after" => words(&["[0, 0]", "[1, 0]", "[0, 1]", "[1, 1]", "[7, 0]"]),
        "method" => words(&["max", "average", "min", "mean"]),
        "pair" => words(&["add", "multiply", "maximum", "min"]),
        "function" => words(&["relu", "leaky", "table", "sine"]),
        _ => number().prop_map(|number| number.to_string()).boxed(),
    };
    let key = if key == "pair" { "method" } else { key };
    value.prop_map(move |value| format!("{key} = {value}\n")).boxed()
}

/// Layer of a graph: what a kind needs, some of what it may have, and now and then what it may not.
fn layer() -> impl Strategy<Value = String> {
    let kinds: [(&str, &[&str], &[&str]); 6] = [
        (
            "convolution",
            &["kernels", "kernel", "weights", "converter"],
            &["stride", "padding", "padding_after", "bias", "relu", "cycles", "input"],
        ),
        ("fully-connected", &["kernels", "weights", "converter"], &["bias", "relu", "cycles", "input"]),
        ("pooling", &["method", "kernel"], &["stride", "padding", "padding_after", "cycles", "input"]),
        ("elementwise", &["pair", "other", "converter"], &["cycles", "input"]),
        ("activation", &["function"], &["converter", "table", "input"]),
        ("activation", &["clamp", "low", "high"], &["input"]),
    ];
    prop::sample::select(kinds.to_vec()).prop_flat_map(|(kind, needed, possible)| {
        let needed: Vec<_> = needed.iter().map(|key| line(key)).collect();
        let possible: Vec<_> =
            possible.iter().map(|key| prop::option::weighted(0.3, line(key)).boxed()).collect();
        let wrong = prop::option::weighted(0.03, prop::sample::select(vec!["low", "kernels", "stride"]))
            .prop_flat_map(|key| key.map_or(Just(String::new()).boxed(), line));
        (needed, possible, wrong).prop_map(move |(needed, possible, wrong)| {
            let possible: String = possible.into_iter().flatten().collect();
            format!("kind = \"{kind}\"\n{}{possible}{wrong}", needed.concat())
        })
    })
}

fn file() -> impl Strategy<Value = String> {
    let size = || prop_oneof![20 => 1i64..7, 1 => number()];
    (size(), size(), size(), prop::collection::vec(layer(), 0..5)).prop_map(
        |(height, width, channels, layers)| {
            let mut text = format!(
                "name = \"random\"\ninput = {{ height = {height}, width = {width}, channels = {channels} }}\n"
            );
            for (place, layer) in layers.into_iter().enumerate() {
                // A file of its own for each tensor.
                let layer = ["weights", "bias", "table"].iter().fold(layer, |layer, name| {
                    layer.replace(&format!("\"{name}\""), &format!("\"{name}{place}\""))
                });
                text += &format!("[[layer]]\nname = \"l{place}\"\n{layer}");
            }
            text
        },
    )
}

/// The model, its tensors as long as it wants them as far as they are short.
fn model(text: &str, seed: u8) -> Result<Model, String> {
    let mut lengths = BTreeMap::new();
    loop {
        let bytes = |at: usize| (at as u8).wrapping_mul(37).wrapping_add(seed);
        let parsed = Model::parse(text, &mut |name| {
            Ok((0..*lengths.get(name).unwrap_or(&0)).map(bytes).collect::<Vec<u8>>())
        });
        let error = match parsed {
            Ok(model) => return Ok(model),
            Err(error) => error,
        };
        let words: Vec<&str> = error.what.split(' ').collect();
        let (file, length, most) = match words[..] {
            [file, "it", "has", _, "bytes", "instead", "of", length] => (file, length, 20_000),
            [file, "it", "has", _, "bytes", "instead", "of", narrow, "or", wide] => {
                (file, if seed.is_multiple_of(2) { narrow } else { wide }, 8000)
            }
            _ => return Err(error.to_string()),
        };
        let (file, length) = (file.trim_end_matches(':'), length.parse());
        match length {
            Ok(length @ 1..) if length < most && !lengths.contains_key(file) => {
                lengths.insert(file.to_owned(), length);
            }
            _ => return Err(error.to_string()),
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_graph_file_is_refused_in_words_or_runs(
        text in file(), seed in any::<u8>(),
        streaming in any::<bool>(), ddr_free in any::<bool>(), buffers in 32u32..300,
    ) {
        let model = match model(&text, seed) {
            Ok(model) => model,
            Err(refused) => {
                prop_assert!(!refused.is_empty());
                return Ok(());
            }
        };
        let plain = Architecture::default();
        // Layers may say that they take years: what is asked for is whether they compute.
        prop_assume!(model.graph.layers().iter().all(|layer| layer.cycles.unwrap_or(0) < 1000));
        let elements = model.graph.input().elements() as usize;
        prop_assume!(elements < 20_000);
        let architecture =
            Architecture { streaming, ddr_free, feature_buffer: buffers, stream_buffer: buffers, ..plain };
        let given: Vec<Vec<i8>> = (0..3u8)
            .map(|one| (0..elements).map(|at| ((at * 91) as u8 ^ one.wrapping_mul(85)).wrapping_add(seed) as i8).collect())
            .collect();
        let given: Vec<&[i8]> = given.iter().map(Vec::as_slice).collect();
        let mut host = host(&architecture);
        let mut driver = match Driver::open(&mut host, &architecture, &model, memory()) {
            Err(DriverError::Layout(LayoutError::OnChip { .. })) => return Ok(()),
            driver => driver.unwrap(),
        };
        let inferred = driver.infer(&given).unwrap();
        prop_assert!(inferred.iter().zip(&given).all(|(one, input)| one.output == model.infer(input)), "{text}");
    }
}

#[test]
fn many_of_the_random_graphs_run() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let texts = std::iter::repeat_with(|| file().new_tree(&mut runner).unwrap().current());
    let runs = texts.take(1000).filter(|text| model(text, 1).is_ok()).count();
    assert!(runs > 50, "{runs} of 1000");
}
