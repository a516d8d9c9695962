//! Networks by name or path, with values of their files changed.

use super::point;
use super::rtl::modes::Mode;
use std::path::{Path, PathBuf};
use toml::{Table, Value};
use twox_hash::XxHash3_64;
use vp_host::network::{Choices, Compression, Network, NoShare, Operation, Options, Share, Winograd, digits};
use vp_models::bounded_file::{read_description, read_tensor};
use vp_models::nvdla::numeric::Precision;
use vp_models::suggestion::{UnknownWord, hint};
use vp_models::toml_text::{TextError, TomlText};

/// Source of a network's weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightSource {
    /// From files, all of them.
    Files,
    /// Drawn at random, all of them.
    MadeUp,
    /// Some layers' from files.
    Mixed,
}

/// Facts of a network that are to be known before its times are believed.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkFacts {
    /// The name that its file gives it.
    pub name: String,
    /// Number of layers.
    pub layers: usize,
    /// Products that a frame needs.
    pub macs: u64,
    /// The format of its features and weights.
    pub precision: Precision,
    /// Share of made-up weights that is zero, if the network's file says one.
    pub zeros: Option<f64>,
    /// Choice of the layers that are computed by Winograd's method.
    pub winograd: Winograd,
    /// Source of the network's weights.
    pub weights: WeightSource,
    /// Layers that the CPU does, in no simulated time: their names.
    pub cpu: Vec<String>,
    /// The ways through the hardware that its layers go.
    pub modes: Vec<Mode>,
}

impl NetworkFacts {
    /// Of a network, and the text that it was read from if that is TOML.
    pub(super) fn of(network: &Network, text: Option<&str>) -> NetworkFacts {
        let is_cpu = |operation: &Operation| matches!(operation, Operation::SoftMax(_) | Operation::Cpu(_));
        let cpu = network.layers.iter().filter(|layer| is_cpu(&layer.operation));
        let used = network.layers.iter().flat_map(|layer| modes(&layer.operation).iter().copied());
        let Choices { compression, winograd } = network.choices;
        let chosen = [
            network.is_image.then_some(Mode::Image),
            (winograd != Winograd::Never).then_some(Mode::Winograd),
            (compression != Compression::Never).then_some(Mode::CompressedWeights),
            match network.precision {
                Precision::Int8 => None,
                Precision::Int16 => Some(Mode::Int16),
                Precision::Fp16 => Some(Mode::Float16),
            },
        ];
        let used: Vec<Mode> = used.chain(chosen.into_iter().flatten()).collect();
        NetworkFacts {
            name: network.name.clone(),
            layers: network.layers.len(),
            macs: network.macs(),
            precision: network.precision,
            zeros: text.and_then(zeros),
            winograd,
            weights: text.map_or(WeightSource::MadeUp, weight_source),
            cpu: cpu.map(|layer| layer.name.clone()).collect(),
            modes: Mode::ALL.into_iter().filter(|mode| used.contains(mode)).collect(),
        }
    }
}

/// The ways through the hardware that a layer may go.
fn modes(operation: &Operation) -> &'static [Mode] {
    match operation {
        Operation::Convolution(_) => &[Mode::Features],
        Operation::Pooling(_) => &[Mode::PdpFromMemory, Mode::PdpBehindSdp],
        Operation::Sum(_) | Operation::Elementwise(_) | Operation::Activation(_) => &[Mode::SdpFromMemory],
        Operation::Normalisation(_) => &[Mode::Cdp],
        _ => &[],
    }
}

/// The share of zeros among made-up weights that a network's file says.
fn zeros(text: &str) -> Option<f64> {
    let table: Table = toml::from_str(text).ok()?;
    let zeros = table.get("zeros")?;
    zeros.as_float().or_else(|| Some(zeros.as_integer()? as f64))
}

/// Returns where the weights of a network's file are from: a file's name is a text.
fn weight_source(text: &str) -> WeightSource {
    let table: Table = toml::from_str(text).unwrap_or_default();
    let layers = table.get("layer").and_then(Value::as_array).cloned().unwrap_or_default();
    let has_weights = |layer: &&Value| {
        let kind = layer.get("kind").and_then(Value::as_str);
        matches!(kind, Some("convolution" | "fully-connected"))
    };
    let is_file = |layer: &Value| layer.get("weights").is_some_and(Value::is_str);
    let (files, made_up): (Vec<bool>, Vec<bool>) =
        layers.iter().filter(has_weights).map(is_file).partition(|is_file| *is_file);
    match (files.is_empty(), made_up.is_empty()) {
        (true, _) => WeightSource::MadeUp,
        (false, true) => WeightSource::Files,
        (false, false) => WeightSource::Mixed,
    }
}

/// A network as it was read.
pub(super) struct Read {
    pub(super) network: Network,
    /// A hash of everything that it is made of.
    pub(super) identity: u64,
    pub(super) facts: NetworkFacts,
    /// File of the network, if it is one as it is: lines of a text with values changed are nobody's.
    pub(super) file: Option<PathBuf>,
}

impl Read {
    fn new(network: Network, identity: u64, text: Option<&str>) -> Read {
        let facts = NetworkFacts::of(&network, text);
        Read { network, identity, facts, file: None }
    }
}

/// Reads a network.
pub(super) fn load(name: &str, settings: &[(&str, &Value)], folder: &Path) -> Result<Read, String> {
    if let Some(text) = Network::text(name) {
        let text = changed(text, settings)?;
        let network = Network::parse(&text, &mut |file| digits::tensor(file));
        let network = network.map_err(|error| without_line(error, settings).to_string())?;
        return Ok(Read::new(network, XxHash3_64::oneshot(text.as_bytes()), Some(&text)));
    }
    let path = file(name, folder);
    let cannot = |path: &Path, error| format!("cannot read {}: {error}", path.display());
    let text = read_description(&path).map_err(|error| cannot(&path, error) + &built_in(name))?;
    if path.extension().is_some_and(|extension| extension == "csv") {
        let options = sheet_options(settings)?;
        let network = Network::of_file(&path, &text, &options).map_err(|error| error.to_string())?;
        let mut identity = XxHash3_64::oneshot(text.as_bytes());
        if !settings.is_empty() {
            identity = XxHash3_64::oneshot_with_seed(identity, format!("{options:?}").as_bytes());
        }
        let mut read = Read::new(network, identity, None);
        read.facts.zeros = options.zeros.map(Share::get);
        return Ok(read);
    }
    let text = changed(&text, settings).map_err(|why| format!("{}: {why}", path.display()))?;
    let mut identity = XxHash3_64::oneshot(text.as_bytes());
    let home = path.parent().unwrap_or(Path::new(""));
    let network = Network::parse(&text, &mut |file| {
        let path = home.join(file);
        let bytes = read_tensor(&path).map_err(|error| cannot(&path, error))?;
        identity = XxHash3_64::oneshot_with_seed(identity, &bytes);
        Ok(bytes)
    })
    .map_err(|error| without_line(error, settings).in_file(&path).to_string())?;
    let file = settings.is_empty().then_some(path);
    Ok(Read { file, ..Read::new(network, identity, Some(&text)) })
}

/// Reads what is changed of a sheet of layers, which says none of it itself.
fn sheet_options(settings: &[(&str, &Value)]) -> Result<Options, String> {
    const NAMES: [&str; 3] = ["precision", "zeros", "winograd"];
    let mut options = Options::default();
    for &(name, value) in settings {
        let (word, wrong) = (point::text(value), |why: String| format!("network.{name}: {why}"));
        match name {
            "precision" => {
                options.precision = Some(word.parse().map_err(|why: UnknownWord| wrong(why.to_string()))?);
            }
            "zeros" => options.zeros = Some(word.parse().map_err(|why: NoShare| wrong(why.to_string()))?),
            "winograd" => {
                options.winograd = Some(word.parse().map_err(|why: UnknownWord| wrong(why.to_string()))?);
            }
            other => {
                let why = format!(
                    "of a sheet of layers precision, zeros and winograd can be set{}",
                    hint(other, NAMES)
                );
                return Err(wrong(why));
            }
        }
    }
    Ok(options)
}

/// The end of a message about a network that is no file: which are built in, if it looks like a name of one.
fn built_in(name: &str) -> String {
    match name.contains(['/', '\\', '.']) {
        true => String::new(),
        false => format!("; built in are {}{}", Network::NAMES.join(", "), hint(name, Network::NAMES)),
    }
}

/// Returns what is wrong with a network's text, without the line if values in the text were changed: it is a line of nobody's file.
fn without_line(error: TextError, settings: &[(&str, &Value)]) -> TextError {
    TextError { line: error.line.filter(|_| settings.is_empty()), ..error }
}

/// The file of a network that is not built in.
pub(super) fn file(name: &str, folder: &Path) -> PathBuf {
    let path = folder.join(name);
    if path.is_dir() { path.join("network.toml") } else { path }
}

/// The text with these values changed: sections with dots between, layers by their names, as `layer.conv1.stride`.
fn changed(text: &str, settings: &[(&str, &Value)]) -> Result<String, String> {
    if settings.is_empty() {
        return Ok(text.to_owned());
    }
    let mut table: Table =
        TomlText::parse(text).and_then(|text| text.read()).map_err(|error| error.to_string())?;
    for &(name, value) in settings {
        let (sections, key) = name.rsplit_once('.').unwrap_or(("", name));
        let mut at = &mut table;
        let mut parts = sections.split('.').filter(|part| !part.is_empty());
        let none = |part: &str, names: Vec<&str>| {
            format!("network.{name}: there is no `{part}`{}", hint(part, names))
        };
        while let Some(part) = parts.next() {
            let sections = at.iter().filter(|(_, value)| !matches!(value, Value::String(_)));
            let unknown = none(part, sections.map(|(name, _)| name.as_str()).collect());
            at = match at.get_mut(part) {
                Some(Value::Table(section)) => section,
                Some(Value::Array(list)) => {
                    let element = parts.next().unwrap_or_default();
                    let names = || list.iter().map(|value| value.get("name").and_then(Value::as_str));
                    let place = names().position(|name| name == Some(element));
                    let unknown = none(element, names().flatten().collect());
                    place.and_then(|place| list[place].as_table_mut()).ok_or(unknown)?
                }
                _ => return Err(unknown),
            };
        }
        at.insert(key.to_owned(), value.clone());
    }
    toml::to_string(&table).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_changed_by_name() {
        let text = "name = 'n'\n[input]\nwidth = 8\n[[layer]]\nname = 'a'\nstride = [1, 1]";
        let changed = |name: &str, value: Value| changed(text, &[(name, &value)]);
        assert!(changed("input.width", 16.into()).unwrap().contains("width = 16"));
        let stride = changed("layer.a.stride", Value::from(vec![2, 2])).unwrap();
        assert!(stride.contains("stride = [2, 2]"), "{stride}");
        assert_eq!(
            changed("layer.b.stride", 1.into()).unwrap_err(),
            "network.layer.b.stride: there is no `b`"
        );
        assert!(changed("inpt.width", 1.into()).is_err());
    }

    #[test]
    fn a_built_in_network_can_be_changed() {
        let width: Value = 64.into();
        let settings = [("input.width", &width), ("input.height", &width)];
        let small = load("mobilenet_v1", &settings, Path::new("")).unwrap();
        let large = load("mobilenet_v1", &[], Path::new("")).unwrap();
        assert_eq!((small.network.input.width, large.network.input.width), (64, 224));
        assert_ne!(small.identity, large.identity);
    }

    #[test]
    fn of_a_sheet_is_changed_what_it_does_not_say() {
        let folder = tempfile::tempdir().unwrap();
        let sheet = "layer,in_channels,in_height,in_width,out_channels,out_height,out_width,kernel_height,kernel_width,\
                     stride_y,stride_x,pool\na,64,8,8,64,6,6,3,3,1,1,FALSE\n";
        std::fs::write(folder.path().join("s.csv"), sheet).unwrap();
        let load = |settings: &[(&str, &Value)]| load("s.csv", settings, folder.path());
        let (zeros, always) = (Value::from(0.5), Value::from("always"));
        let changed = load(&[("zeros", &zeros), ("winograd", &always)]).unwrap();
        assert_eq!((changed.facts.zeros, changed.network.choices.winograd), (Some(0.5), Winograd::Always));
        assert_ne!(changed.identity, load(&[]).unwrap().identity);
        let refused = |name: &str, value: Value| load(&[(name, &value)]).err().unwrap();
        assert_eq!(
            refused("winogrd", always.clone()),
            "network.winogrd: of a sheet of layers precision, zeros and winograd can be set; nearest: winograd"
        );
        assert!(refused("zeros", Value::from(2.0)).starts_with("network.zeros: 2 is no share"));
    }

    #[test]
    fn it_is_known_where_weights_are_from_and_what_the_cpu_does() {
        let facts = |name: &str| load(name, &[], Path::new("")).unwrap().facts;
        assert_eq!(facts("digits").weights, WeightSource::Files);
        let yolo = facts("yolov3_tiny");
        assert_eq!(yolo.weights, WeightSource::MadeUp);
        assert!(yolo.cpu.is_empty());
        assert_eq!(facts("alexnet").cpu, ["probabilities"]);
        assert!(yolo.modes.contains(&Mode::Features) && !yolo.modes.contains(&Mode::Winograd));
        let mixed = "[[layer]]\nkind = 'convolution'\nweights = 'a.i8'\n[[layer]]\nkind = 'convolution'";
        assert_eq!(weight_source(mixed), WeightSource::Mixed);
        assert_eq!((yolo.precision, yolo.zeros, yolo.winograd), (Precision::Int8, None, Winograd::Never));
        let settings =
            [("zeros", Value::from(0.5)), ("winograd", "auto".into()), ("precision", "fp16".into())];
        let settings: Vec<(&str, &Value)> = settings.iter().map(|(name, value)| (*name, value)).collect();
        let changed = load("lenet", &settings, Path::new("")).unwrap().facts;
        assert_eq!(
            (changed.precision, changed.zeros, changed.winograd),
            (Precision::Fp16, Some(0.5), Winograd::Auto)
        );
    }

    #[test]
    fn what_is_wrong_with_a_changed_value_is_told_without_lines_of_a_text_that_nobody_has() {
        let value = Value::from("fp61");
        let error = load("lenet", &[("precision", &value)], Path::new("")).err().unwrap();
        assert!(error.starts_with("precision: found `fp61`, expected one of"), "{error}");
    }

    #[test]
    fn a_network_that_is_not_there_is_told() {
        let told = |name: &str| load(name, &[], Path::new("")).err().unwrap();
        let error = told("nowhere");
        assert!(error.starts_with("cannot read nowhere: ") && !error.contains("nearest"), "{error}");
        assert!(
            error.ends_with(
                "; built in are digits, lenet, alexnet, googlenet, resnet50, mobilenet_v1, yolov3_tiny"
            ),
            "{error}"
        );
        assert!(told("resnet").ends_with("; nearest: resnet50"), "{}", told("resnet"));
        assert!(!told("mine/net.toml").contains("built in"));
    }
}
