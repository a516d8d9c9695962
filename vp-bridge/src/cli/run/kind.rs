//! What `vp run` is given: a network for NVDLA, a job or a graph for an FPGA AI Suite IP, or traces. Decided here alone, by what is there.
//!
//! Networks and graphs are alike, and many a file is both. What a file was meant to be decides whose reader says what is wrong with it, so
//! this looks at keys and not at whether it can be read.

use super::super::Failure;
use super::MOST_INPUT;
use super::network::Named;
use std::path::Path;
use toml::{Table, Value};
use vp_models::host::fpga_ai_suite::{Job, Model};
use vp_models::host::network::{Network, Options};
use vp_models::host::read_text_at_most;
use vp_models::host::trace::{TraceSource, discover};
use vp_models::suggestion;
use vp_models::toml_text::TomlText;

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A network for NVDLA.
    Network(Named),
    /// A job or a graph for an FPGA AI Suite IP.
    Suite,
    /// Traces, recordings of drivers, register logs, loadables.
    Traces(Vec<TraceSource>),
}

/// For which device a TOML file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Device {
    /// A network for NVDLA.
    Nvdla,
    /// A job or a graph for an FPGA AI Suite IP.
    Suite,
}

/// All that `vp run` takes.
const TAKEN: &str = "it runs a trace (.cfg, input.txn), a recording of a driver (.trace), a register log (.jsonl), a loadable (.nvdla, …_fbuf), a folder of\n\
                     them, a network (.toml, .csv, a folder with a network.toml), a graph or a job (.toml), or a built-in network";

/// TOML files that are something else, by a key at the top: what they are, and where they go.
const OTHERS: [(&[&str], &str, &str); 5] = [
    (&["nvdla", "fpga_ai_suite", "outside_device", "dbb0"], "a platform", "vp run --platform"),
    (&["sweep", "search", "fixed"], "a study", "vp study run"),
    (&["fault"], "faults to inject", "vp run --faults"),
    (&["token", "certificate"], "tokens of a server", "vp serve --tokens"),
    (&["mac", "cbuf", "unit", "technology"], "coefficients of energy", "vp run --energy"),
];

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

/// What a path names; `asked` is for which device the platform is, if one is asked for.
pub(super) fn of(path: &Path, asked: impl Fn() -> Result<Option<Device>, Failure>) -> Result<Kind, Failure> {
    let is = |wanted: &str| path.extension().is_some_and(|extension| extension == wanted);
    let file = |path: &Path| Ok(Kind::Network(Named::File(path.to_owned())));
    let network = path.join("network.toml");
    if network.is_file() {
        return file(&network);
    }
    if !path.exists() {
        let built_in = path.to_str().filter(|name| Network::NAMES.contains(name));
        let built_in = built_in.map(|name| Kind::Network(Named::BuiltIn(name.to_owned())));
        return built_in.ok_or_else(|| nothing_there(path));
    }
    if path.is_dir() || TraceSource::of(path).is_some() {
        return discover(path).map(Kind::Traces).map_err(|error| Failure::new(error).hint(TAKEN));
    }
    if is("csv") {
        return file(path);
    }
    let unknown = || Failure::new(format!("{}: nothing that can be run", path.display())).hint(TAKEN);
    let text = match read_text_at_most(path, MOST_INPUT) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => return Err(unknown()),
        Err(error) => return Err(Failure::new(format!("cannot read {}: {error}", path.display()))),
    };
    let table = TomlText::parse(&text).and_then(|text| text.read::<Table>());
    match table {
        Ok(table) => match of_toml(path, &table, asked)? {
            Some(Device::Nvdla) => file(path),
            Some(Device::Suite) => Ok(Kind::Suite),
            None => Err(unknown()),
        },
        Err(error) if is("toml") => Err(Failure::new(error.in_file(path))),
        Err(_) => Err(unknown()),
    }
}

/// For which device a TOML file is; `None`: for none.
fn of_toml(
    path: &Path,
    table: &Table,
    asked: impl Fn() -> Result<Option<Device>, Failure>,
) -> Result<Option<Device>, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::new(format!("{}: {why}", path.display()));
    if !table.contains_key("layer") {
        // Of a file with layers it is a mistake.
        if Job::KEYS.iter().any(|key| table.contains_key(*key)) {
            return Ok(Some(Device::Suite));
        }
        let is_of = |keys: &[&str]| keys.iter().any(|key| table.contains_key(*key));
        if let Some((_, what, option)) = OTHERS.iter().find(|(keys, ..)| is_of(keys)) {
            let why = format!("it is {what}, and nothing to run");
            return Err(wrong(&why).hint(format!("{option} {}", path.display())));
        }
        if !table.contains_key("input") {
            return Ok(None);
        }
    }
    let asked = asked()?;
    let told = match (first(table, NETWORK), first(table, GRAPH)) {
        (Some(key), None) => Some((Device::Nvdla, key)),
        (None, Some(key)) => Some((Device::Suite, key)),
        _ => None,
    };
    match (told, asked) {
        (Some((told, key)), Some(asked)) if told != asked => {
            let what = ["networks for NVDLA", "graphs for an FPGA AI Suite IP"];
            let [of, other] = if told == Device::Nvdla { what } else { [what[1], what[0]] };
            Err(wrong(&format!("only {of} have {key}, and the platform runs {other}")))
        }
        (Some((device, _)), _) | (None, Some(device)) => Ok(Some(device)),
        (None, None) if path.ends_with("network.toml") => Ok(Some(Device::Nvdla)),
        (None, None) => readable(path).map(Some),
    }
}

/// There is no such file, and no built-in network of that name.
fn nothing_there(path: &Path) -> Failure {
    let name = path.to_string_lossy();
    let is_path = path.extension().is_some() || path.components().count() > 1;
    let nearest = if is_path { String::new() } else { suggestion::hint(&name, Network::NAMES) };
    let networks = if is_path { "" } else { ", nor a built-in network of that name" };
    Failure::new(format!("{name}: there is no such file or folder{networks}{nearest}"))
        .hint(format!("{TAKEN}: {}", Network::NAMES.join(", ")))
}

/// Nothing tells: whose reader understands it.
fn readable(path: &Path) -> Result<Device, Failure> {
    let Err(network) = Network::load(path, &Options::default()) else { return Ok(Device::Nvdla) };
    let Err(graph) = Model::load(path) else { return Ok(Device::Suite) };
    if network == graph {
        return Err(Failure::new(network));
    }
    Err(Failure::new(format!(
        "as a network for NVDLA: {network}\nas a graph for an FPGA AI Suite IP: {graph}"
    ))
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

    fn kind(text: &str, asked: Option<Device>) -> Result<Device, String> {
        match named("it.toml", text, asked)? {
            Kind::Network(_) => Ok(Device::Nvdla),
            Kind::Suite => Ok(Device::Suite),
            Kind::Traces(_) => Err("traces".to_owned()),
        }
    }

    fn named(name: &str, text: &str, asked: Option<Device>) -> Result<Kind, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        of(&path, || Ok(asked)).map_err(|failure| failure.to_string())
    }

    #[test]
    fn every_kind_is_told_by_what_is_there() {
        let network = format!("{HEAD}{POOLING}global = false\n");
        assert!(matches!(named("layers", &network, None), Ok(Kind::Network(Named::File(_)))));
        assert!(matches!(named("layers.csv", "layer\n", None), Ok(Kind::Network(Named::File(_)))));
        let traces = |name: &str| match named(name, "", None) {
            Ok(Kind::Traces(sources)) => sources.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!(["a.cfg", "input.txn", "a.trace", "a.nvdla", "a_fbuf"].map(traces), [1; 5]);
        let never = || panic!("no platform is needed");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("network.toml"), "").unwrap();
        assert!(matches!(of(folder.path(), never), Ok(Kind::Network(Named::File(_)))));
        assert!(matches!(of(Path::new("resnet50"), never), Ok(Kind::Network(Named::BuiltIn(_)))));
    }

    #[test]
    fn what_cannot_be_run_is_told_with_all_that_can() {
        let all = [
            ".cfg",
            ".txn",
            ".trace",
            ".jsonl",
            ".nvdla",
            "network.toml",
            ".csv",
            "graph",
            "job",
            "built-in",
        ];
        for (name, text) in [("notes.txt", "hello"), ("x.toml", "a = 1"), ("binary", "\u{0}")] {
            let told = named(name, text, None).unwrap_err();
            assert!(told.contains("nothing that can be run"), "{told}");
            for kind in all {
                assert!(told.contains(kind), "{told}: {kind}");
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let told = of(folder.path(), || Ok(None)).unwrap_err().to_string();
        assert!(told.contains("no trace here") && told.contains("network.toml"), "{told}");
        for (text, what) in [
            ("name = 'p'\n[nvdla]\nbase = 'nv_small'", "it is a platform, and nothing to run"),
            ("name = 's'\n[sweep]\nnetwork = 'digits'", "it is a study"),
            ("[[fault]]\nkind = 'error'", "it is faults to inject"),
        ] {
            let told = named("x.toml", text, None).unwrap_err();
            assert!(told.contains(what), "{told}");
        }
    }

    const HEAD: &str = "name = 'n'\ninput = { height = 4, width = 4, channels = 2 }\n";
    const POOLING: &str = "[[layer]]\nname = 'p'\nkind = 'pooling'\nmethod = 'max'\nkernel = [2, 2]\n";

    #[test]
    fn keys_tell_what_a_file_was_meant_to_be_also_where_it_has_a_mistake() {
        let network = format!("{HEAD}{POOLING}global = false\nkernal = 3\n");
        assert_eq!(kind(&network, None), Ok(Device::Nvdla));
        let graph = format!("{HEAD}[[layer]]\nname = 'a'\nkind = 'activation'\nfnction = 'relu'\n");
        assert_eq!(kind(&graph, None), Ok(Device::Suite));
        // A job whose graph's key is wrong.
        assert_eq!(kind("grpah = 'g.toml'\ninputs = 'i'\n", None), Ok(Device::Suite));
    }

    #[test]
    fn what_may_be_either_is_what_the_platform_runs() {
        let either = format!("{HEAD}{POOLING}");
        assert_eq!(kind(&either, Some(Device::Suite)), Ok(Device::Suite));
        assert_eq!(kind(&either, Some(Device::Nvdla)), Ok(Device::Nvdla));
        assert_eq!(kind(&either, None), Ok(Device::Nvdla));
        let told = kind(&format!("{either}rounding = 'ceil'\n"), Some(Device::Suite)).unwrap_err();
        assert!(told.contains("only networks for NVDLA have `rounding`"), "{told}");
    }

    #[test]
    fn both_readers_speak_where_nothing_tells() {
        let told = kind(&format!("{HEAD}{POOLING}kernal = 3\n"), None).unwrap_err();
        for part in ["as a network for NVDLA: ", "as a graph for an FPGA AI Suite IP: ", "--platform"] {
            assert!(told.contains(part), "{told}");
        }
        assert_eq!(told.matches("kernal").count(), 2, "{told}");
        // No TOML is told once.
        let told = kind("name = \n", None).unwrap_err();
        assert!(told.contains("it.toml:1: ") && !told.contains("FPGA"), "{told}");
    }

    /// The lists are what the other's reader refuses.
    #[test]
    fn keys_of_one_are_unknown_to_the_other() {
        let refused = |text: &str, of: Device| match of {
            Device::Nvdla => Network::parse(text, &mut |_| Err("none".to_owned())).unwrap_err().to_string(),
            Device::Suite => Model::parse(text, &mut |_| Err("none".to_owned())).unwrap_err().to_string(),
        };
        for (own, other) in [(NETWORK, Device::Suite), (GRAPH, Device::Nvdla)] {
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
