//! Kind of what `vp run` is given: a network, a job for an FPGA AI Suite IP, or traces. Decided here alone, by what is there. A network
//! runs on the device of the platform; if no platform is asked for, on an NVDLA, unless it has layers that only an FPGA AI Suite IP has.

use super::super::{Failure, standard};
use super::MOST_INPUT;
use super::named::Named;
use std::path::{Path, PathBuf};
use toml::Table;
use vp_host::fpga_ai_suite::{Job, Model};
use vp_host::network::{Network, Options, Plan};
use vp_host::trace::{TraceSource, discover};
use vp_models::fpga_ai_suite::ArchitectureFile;
use vp_models::suggestion;
use vp_models::toml_text::TomlText;

/// Kind of what a path names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputKind {
    /// A network for NVDLA.
    Network(Named),
    /// An ONNX model.
    Model(PathBuf),
    /// A job or a network for an FPGA AI Suite IP.
    Suite,
    /// Traces, recordings of drivers, register logs, loadables.
    Traces(Vec<TraceSource>),
}

/// Device that a TOML file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Device {
    /// NVDLA.
    Nvdla,
    /// An FPGA AI Suite IP.
    Suite,
}

/// Beginning of a register log as text.
const FOR_PEOPLE: &str = "# registers of ";

/// All that `vp run` takes.
const TAKEN: &str = "it runs a trace (.cfg, .txn), a recording of a driver (.trace), a register log (.jsonl, or sc.log of the vendor's virtual platform),\n\
                     a loadable (.nvdla, …_fbuf), a folder of them, a network (.toml, .csv, a folder with a network.toml), a model (.onnx), a job (.toml), or a built-in network";

/// TOML files that are something else, by a key at the top: what they are, and where they go.
const OTHERS: [(&[&str], &str, &str); 5] = [
    (&["nvdla", "fpga_ai_suite", "outside_device", "dbb0"], "a platform", "vp run --platform"),
    (&["sweep", "search", "fixed"], "a study", "vp study run"),
    (&["fault"], "faults to inject", "vp run --faults"),
    (&["token", "certificate"], "tokens of a server", "vp serve --tokens"),
    (&["mac", "cbuf", "unit", "technology"], "coefficients of energy", "vp run --energy"),
];

/// Finds what a path names; `asked` is for which device the platform is, if one is asked for.
pub(super) fn of(
    path: &Path,
    asked: impl Fn() -> Result<Option<Device>, Failure>,
) -> Result<InputKind, Failure> {
    let is = |wanted: &str| is_of(path, wanted);
    let file = |path: &Path| Ok(InputKind::Network(Named::File(path.to_owned())));
    let is_standard = standard::is_standard(path);
    let network = path.join("network.toml");
    if network.is_file() && !is_standard {
        return file(&network);
    }
    if !path.exists() && !is_standard {
        let built_in = path.to_str().filter(|name| Network::NAMES.contains(name));
        let built_in = built_in.map(|name| InputKind::Network(Named::BuiltIn(name.to_owned())));
        return built_in.ok_or_else(|| nothing_there(path));
    }
    // By its name alone: what is called so may be a pipe, which waits for who writes it.
    if is("onnx") && !path.is_dir() {
        return Ok(InputKind::Model(path.to_owned()));
    }
    if !is_standard && path.is_dir() || TraceSource::of(path).is_some() {
        let found = discover(path).map(InputKind::Traces);
        return found.map_err(|error| match models_in(path) {
            Some(models) => Failure::new(error).hint(models),
            None => Failure::new(error).hint(TAKEN),
        });
    }
    if is("csv") {
        return file(path);
    }
    let unknown = || Failure::new(format!("{}: nothing that can be run", path.display())).hint(TAKEN);
    let text = match standard::read_text("TRACE", path, MOST_INPUT) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => return Err(unknown()),
        Err(error) => return Err(Failure::new(format!("cannot read {}: {error}", path.display()))),
    };
    if text.starts_with(FOR_PEOPLE) {
        let why = format!("{}: a register log for people, which cannot be played", path.display());
        return Err(Failure::new(why).hint("write it with --registers FILE.jsonl"));
    }
    let table = TomlText::parse(&text).and_then(|text| text.read::<Table>());
    match table {
        Ok(table) => match of_toml(path, &table, asked)? {
            Some(Device::Nvdla) => file(path),
            Some(Device::Suite) => Ok(InputKind::Suite),
            None => Err(unknown()),
        },
        Err(error) if is("toml") || is_standard => Err(Failure::new(error.in_file(path))),
        Err(_) => Err(match ArchitectureFile::of(&text) {
            Some(file) => Failure::new(format!("{}: {file}", path.display())),
            None => unknown(),
        }),
    }
}

/// Returns true if a file's name ends so, in letters of any case.
fn is_of(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

/// Names the ONNX models of a folder, if it has any: of several one has to be chosen.
fn models_in(folder: &Path) -> Option<String> {
    /// Models that are named, at most.
    const NAMED: usize = 8;
    let entries = folder.read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut models: Vec<PathBuf> = entries.filter(|path| is_of(path, "onnx") && path.is_file()).collect();
    models.sort();
    let named: Vec<String> = models.iter().take(NAMED).map(|path| path.display().to_string()).collect();
    let more = match models.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty())
        .then(|| format!("it has models, each of which is run by its name: {}{more}", named.join(", ")))
}

/// Device that a TOML file is for, if any.
fn of_toml(
    path: &Path,
    table: &Table,
    asked: impl Fn() -> Result<Option<Device>, Failure>,
) -> Result<Option<Device>, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::new(format!("{}: {why}", path.display()));
    if !table.contains_key("layer") {
        // Of a file with layers it is a mistake.
        if Job::KEYS.iter().any(|key| table.contains_key(*key)) {
            if standard::is_standard(path) {
                return Err(wrong(&"a job names files beside it: name its own file, too"));
            }
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
    match asked()? {
        Some(device) => Ok(Some(device)),
        None if path.ends_with("network.toml") => Ok(Some(Device::Nvdla)),
        None => Ok(Some(able(path))),
    }
}

/// The device for a network that no platform is asked for. NVDLA's reader says what is wrong with one that cannot be read.
fn able(path: &Path) -> Device {
    let Ok(network) = Named::File(path.to_owned()).load(&Options::default()) else { return Device::Nvdla };
    let is_foreign = Plan::check_operations(&network).is_err() && Model::of_network(&network).is_ok();
    if is_foreign { Device::Suite } else { Device::Nvdla }
}

/// Failure of a name that is no file and no built-in network.
fn nothing_there(path: &Path) -> Failure {
    let name = path.to_string_lossy();
    let is_path = path.extension().is_some() || path.components().count() > 1;
    let nearest = if is_path { String::new() } else { suggestion::hint(&name, Network::NAMES) };
    let networks = if is_path { "" } else { ", nor a built-in network of that name" };
    Failure::new(format!("{name}: there is no such file or folder{networks}{nearest}"))
        .hint(format!("{TAKEN}: {}", Network::NAMES.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str, asked: Option<Device>) -> Result<Device, String> {
        match named("it.toml", text, asked)? {
            InputKind::Network(_) => Ok(Device::Nvdla),
            InputKind::Suite => Ok(Device::Suite),
            InputKind::Model(_) => Err("model".to_owned()),
            InputKind::Traces(_) => Err("traces".to_owned()),
        }
    }

    fn named(name: &str, text: &str, asked: Option<Device>) -> Result<InputKind, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        of(&path, || Ok(asked)).map_err(|failure| failure.to_string())
    }

    #[test]
    fn every_kind_is_told_by_what_is_there() {
        let network = format!("{HEAD}{POOLING}global = false\n");
        assert!(matches!(named("layers", &network, None), Ok(InputKind::Network(Named::File(_)))));
        assert!(matches!(named("layers.csv", "layer\n", None), Ok(InputKind::Network(Named::File(_)))));
        let traces = |name: &str| match named(name, "", None) {
            Ok(InputKind::Traces(sources)) => sources.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!(["a.cfg", "input.txn", "a.trace", "a.nvdla", "a_fbuf"].map(traces), [1; 5]);
        let never = || panic!("no platform is needed");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("network.toml"), "").unwrap();
        assert!(matches!(of(folder.path(), never), Ok(InputKind::Network(Named::File(_)))));
        assert!(matches!(of(Path::new("resnet50"), never), Ok(InputKind::Network(Named::BuiltIn(_)))));
        assert!(matches!(named("model.onnx", "", None), Ok(InputKind::Model(_))));
        assert!(matches!(named("MODEL.ONNX", "", None), Ok(InputKind::Model(_))));
        let pipe = folder.path().join("pipe.onnx");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if made.is_ok_and(|status| status.success()) {
            assert!(matches!(of(&pipe, never), Ok(InputKind::Model(_))));
        }
    }

    #[test]
    fn an_architecture_file_is_told_what_it_lacks() {
        let told = named("AGX7.arch", "family : 'AGX7'\nk_vector : 32\nc_vector : 16\n", None).unwrap_err();
        assert!(
            told.contains("AGX7.arch: an architecture file") && told.contains("parallel_kernels = 32"),
            "{told}"
        );
    }

    #[test]
    fn what_cannot_be_run_is_told_with_all_that_can() {
        let all = [".cfg", ".txn", ".trace", ".jsonl", ".nvdla", "network.toml", ".csv", "job", "built-in"];
        for (name, text) in [("notes.txt", "hello"), ("x.toml", "a = 1"), ("binary", "\u{0}")] {
            let told = named(name, text, None).unwrap_err();
            assert!(told.contains("nothing that can be run"), "{told}");
            for kind in all {
                assert!(told.contains(kind), "{told}: {kind}");
            }
        }
        let told = named("run.log", "# registers of nv_small\n", None).unwrap_err();
        assert!(told.contains("a register log for people") && told.contains("FILE.jsonl"), "{told}");
        let folder = tempfile::tempdir().unwrap();
        let told = of(folder.path(), || Ok(None)).unwrap_err().to_string();
        assert!(told.contains("no trace here") && told.contains("network.toml"), "{told}");
        std::fs::write(folder.path().join("b.onnx"), "").unwrap();
        std::fs::write(folder.path().join("a.ONNX"), "").unwrap();
        let told = of(folder.path(), || Ok(None)).unwrap_err().to_string();
        assert!(told.contains("a.ONNX, ") && told.contains("b.onnx"), "{told}");
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

    /// Layer that only an FPGA AI Suite IP has: its cycles are given.
    const TIMED: &str = "[[layer]]\nname = 'a'\nkind = 'activation'\nfunction = 'relu'\ncycles = 9\n";

    #[test]
    fn a_network_is_for_the_device_that_has_its_layers() {
        let [pooling, timed] = [POOLING, TIMED].map(|layer| format!("{HEAD}{layer}"));
        assert_eq!(kind(&pooling, None), Ok(Device::Nvdla));
        assert_eq!(kind(&format!("{timed}{POOLING}"), None), Ok(Device::Suite));
        // What neither has as a whole is told by NVDLA's planner.
        let both = format!(
            "{timed}{POOLING}rounding = 'ceil'\n[[layer]]\nname = 's'\nkind = 'soft-max'\nscale = 1.0\n"
        );
        assert_eq!(kind(&both, None), Ok(Device::Nvdla));
        // A job whose graph's key is wrong.
        assert_eq!(kind("grpah = 'g.toml'\ninputs = 'i'\n", None), Ok(Device::Suite));
        // One with a mistake is told it by the one reader.
        assert_eq!(kind(&format!("{timed}kernal = 3\n"), None), Ok(Device::Nvdla));
        let told = kind("name = \n", None).unwrap_err();
        assert!(told.contains("it.toml:1: "), "{told}");
    }

    #[test]
    fn a_network_runs_on_the_device_of_the_platform() {
        for layer in [POOLING, TIMED] {
            for device in [Device::Suite, Device::Nvdla] {
                assert_eq!(kind(&format!("{HEAD}{layer}"), Some(device)), Ok(device));
            }
        }
    }
}
