//! What a TOML file is: a network for NVDLA, or a job or a graph for an FPGA AI Suite IP.
//!
//! Networks and graphs are alike, and many a file is both. What a file was meant to be decides whose reader says what is wrong with it, so
//! this looks at keys and not at whether it can be read.

use super::super::Failure;
use super::MOST_INPUT;
use std::path::Path;
use toml::{Table, Value};
use vp_models::host::fpga_ai_suite::Model;
use vp_models::host::network::{Network, Options};
use vp_models::host::read_text_at_most;

/// For which device a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A network for NVDLA.
    Network,
    /// A job or a graph for an FPGA AI Suite IP.
    Suite,
}

/// What only jobs have, at the top.
const JOB: [&str; 4] = ["graph", "inputs", "outputs", "labels"];

/// What only networks have: at the top, of the input, of layers, and kinds of layers.
const NETWORK: [&[&str]; 4] = [
    &["seed"],
    &["image"],
    &[
        "depthwise",
        "groups",
        "add",
        "leaky",
        "global",
        "rounding",
        "inputs",
        "factor",
        "channels",
        "alpha",
        "beta",
        "k",
    ],
    &["sum", "concatenation", "normalisation", "upsampling", "soft-max"],
];

/// What only graphs have, in the same places.
const GRAPH: [&[&str]; 4] =
    [&[], &[], &["other", "cycles", "function", "low", "high", "table"], &["elementwise", "activation"]];

/// What a file is; `asked` is for which device the platform is, if one is asked for.
pub(super) fn of(path: &Path, asked: impl Fn() -> Result<Option<Kind>, Failure>) -> Result<Kind, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::new(format!("{}: {why}", path.display()));
    let text = read_text_at_most(path, MOST_INPUT)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    let table: Table = toml::from_str(&text).map_err(|error| wrong(&error.to_string().trim_end()))?;
    // Of a file with layers it is a mistake.
    if !table.contains_key("layer") && JOB.iter().any(|key| table.contains_key(*key)) {
        return Ok(Kind::Suite);
    }
    let asked = asked()?;
    let told = match (first(&table, NETWORK), first(&table, GRAPH)) {
        (Some(key), None) => Some((Kind::Network, key)),
        (None, Some(key)) => Some((Kind::Suite, key)),
        _ => None,
    };
    match (told, asked) {
        (Some((told, key)), Some(asked)) if told != asked => {
            let what = ["networks for NVDLA", "graphs for an FPGA AI Suite IP"];
            let [of, other] = if told == Kind::Network { what } else { [what[1], what[0]] };
            Err(wrong(&format!("only {of} have {key}, and the platform runs {other}")))
        }
        (Some((kind, _)), _) | (None, Some(kind)) => Ok(kind),
        (None, None) if path.ends_with("network.toml") => Ok(Kind::Network),
        (None, None) => readable(path),
    }
}

/// Nothing tells: whose reader understands it.
fn readable(path: &Path) -> Result<Kind, Failure> {
    let Err(network) = Network::load(path, &Options::default()) else { return Ok(Kind::Network) };
    let Err(graph) = Model::load(path) else { return Ok(Kind::Suite) };
    let (network, graph) = (network.to_string(), graph.to_string());
    let why = match network.trim_end() == graph.trim_end() {
        true => network,
        false => {
            format!(
                "as a network for NVDLA: {}\nas a graph for an FPGA AI Suite IP: {}",
                network.trim_end(),
                graph.trim_end()
            )
        }
    };
    Err(Failure::new(format!("{}: {why}", path.display()))
        .hint("--platform nv_large or --platform fpga-ai-suite says which it is"))
}

/// The first of these that a file has, in words.
fn first(table: &Table, [top, input, layer, kinds]: [&[&str]; 4]) -> Option<String> {
    let key = |of: &Table, known: &[&str]| of.keys().find(|key| known.contains(&key.as_str())).cloned();
    let quoted = |key: String| format!("`{key}`");
    if let Some(key) = key(table, top) {
        return Some(quoted(key));
    }
    if let Some(key) = table.get("input").and_then(Value::as_table).and_then(|of| key(of, input)) {
        return Some(quoted(key));
    }
    let layers = table.get("layer").and_then(Value::as_array).into_iter().flatten();
    layers.filter_map(Value::as_table).find_map(|of| {
        let kind = of.get("kind").and_then(Value::as_str).filter(|kind| kinds.contains(kind));
        match kind {
            Some(kind) => Some(format!("layers of the kind \"{kind}\"")),
            None => key(of, layer).map(quoted),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str, asked: Option<Kind>) -> Result<Kind, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.toml");
        std::fs::write(&path, text).unwrap();
        of(&path, || Ok(asked)).map_err(|failure| failure.to_string())
    }

    const HEAD: &str = "name = 'n'\ninput = { height = 4, width = 4, channels = 2 }\n";
    const POOLING: &str = "[[layer]]\nname = 'p'\nkind = 'pooling'\nmethod = 'max'\nkernel = [2, 2]\n";

    #[test]
    fn keys_tell_what_a_file_was_meant_to_be_also_where_it_has_a_mistake() {
        let network = format!("{HEAD}{POOLING}global = false\nkernal = 3\n");
        assert_eq!(kind(&network, None), Ok(Kind::Network));
        let graph = format!("{HEAD}[[layer]]\nname = 'a'\nkind = 'activation'\nfnction = 'relu'\n");
        assert_eq!(kind(&graph, None), Ok(Kind::Suite));
        // A job whose graph's key is wrong.
        assert_eq!(kind("grpah = 'g.toml'\ninputs = 'i'\n", None), Ok(Kind::Suite));
    }

    #[test]
    fn what_may_be_either_is_what_the_platform_runs() {
        let either = format!("{HEAD}{POOLING}");
        assert_eq!(kind(&either, Some(Kind::Suite)), Ok(Kind::Suite));
        assert_eq!(kind(&either, Some(Kind::Network)), Ok(Kind::Network));
        assert_eq!(kind(&either, None), Ok(Kind::Network));
        let told = kind(&format!("{either}rounding = 'ceil'\n"), Some(Kind::Suite)).unwrap_err();
        assert!(told.contains("only networks for NVDLA have `rounding`"), "{told}");
    }

    #[test]
    fn both_readers_speak_where_nothing_tells() {
        let told = kind(&format!("{HEAD}{POOLING}kernal = 3\n"), None).unwrap_err();
        for part in ["as a network for NVDLA: ", "as a graph for an FPGA AI Suite IP: ", "--platform"] {
            assert!(told.contains(part), "{told}");
        }
        assert_eq!(told.matches("kernal").count(), 3, "{told}");
        // No TOML is told once.
        let told = kind("name = \n", None).unwrap_err();
        assert!(told.contains("line 1") && !told.contains("FPGA"), "{told}");
    }

    /// The lists are what the other's reader refuses.
    #[test]
    fn keys_of_one_are_unknown_to_the_other() {
        let refused = |text: &str, of: Kind| match of {
            Kind::Network => Network::parse(text, &mut |_| Err("none".to_owned())).unwrap_err().to_string(),
            Kind::Suite => Model::parse(text, &mut |_| Err("none".to_owned())).unwrap_err().to_string(),
        };
        for (own, other) in [(NETWORK, Kind::Suite), (GRAPH, Kind::Network)] {
            let [top, input, layer, kinds] = own;
            for key in top {
                let told = refused(&format!("{key} = 1\n{HEAD}{POOLING}"), other);
                assert!(told.contains(&format!("unknown field `{key}`")), "{told}");
            }
            for key in input {
                let head = HEAD.replace("height", &format!("{key} = true, height"));
                assert!(refused(&format!("{head}{POOLING}"), other).contains("unknown field"), "{key}");
            }
            for key in layer {
                for of in ["pooling", "convolution", "fully-connected"] {
                    let text = format!("{HEAD}[[layer]]\nname = 'p'\nkind = '{of}'\n{key} = 1\n");
                    let told = refused(&text, other);
                    assert!(told.contains(&format!("unknown field `{key}`")), "{told}");
                }
            }
            for kind in kinds {
                let told = refused(&format!("{HEAD}[[layer]]\nname = 'p'\nkind = '{kind}'\n"), other);
                assert!(told.contains(&format!("unknown variant `{kind}`")), "{told}");
            }
        }
    }
}
