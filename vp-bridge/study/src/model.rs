//! ONNX models as networks of a study: made for the configuration of each point.

use super::networks::{NetworkFacts, Read, WeightSource, file};
use super::point;
use std::path::{Path, PathBuf};
use toml::Value;
use twox_hash::XxHash3_64;
use vp_host::network::Operation;
use vp_models::nvdla::config::Config;
use vp_models::suggestion::hint;
use vp_onnx::lower::Lowered;
use vp_onnx::{OpenedModel, PrepareOptions};

/// Settings of a model that a study can give: `network.NAME`.
const SETTINGS: [&str; 6] = ["calibrate", "precision", "ranges", "scales", "shape", "winograd"];

/// Returns true if a network's name is that of a model.
pub(super) fn is_one(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("onnx"))
}

/// Makes a network of a model for a configuration.
pub(super) fn load(
    name: &str,
    settings: &[(&str, &Value)],
    folder: &Path,
    config: &Config,
) -> Result<Read, String> {
    let (path, options) = (file(name, folder), options(settings, folder)?);
    let mut opened = OpenedModel::open(&path, &options).map_err(|error| error.to_string())?;
    let input = opened.example(1);
    let lowered = opened.lower(config, &options, &input, &mut |_| {}).map_err(|error| error.to_string())?;
    let mut facts = NetworkFacts::of(&lowered.network, None);
    facts.weights = WeightSource::Files;
    let identity = identity(&path, &lowered)?;
    Ok(Read { network: lowered.network, identity, facts, file: Some(path) })
}

/// A hash of the model and of all that was chosen for its numbers.
fn identity(path: &Path, lowered: &Lowered) -> Result<u64, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let Lowered { network, input, layers, .. } = lowered;
    let chosen = format!("{:?} {:?} {input:?} {layers:?}", network.precision, network.choices);
    let identity = XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(&bytes), chosen.as_bytes());
    // Weights may lie in files beside the model.
    let weights = network.layers.iter().filter_map(|layer| match &layer.operation {
        Operation::Convolution(convolution) => Some(&convolution.weights),
        _ => None,
    });
    Ok(weights.fold(identity, |identity, weights| {
        let bytes: Vec<u8> = weights.iter().map(|weight| weight.cast_unsigned()).collect();
        XxHash3_64::oneshot_with_seed(identity, &bytes)
    }))
}

fn options(settings: &[(&str, &Value)], folder: &Path) -> Result<PrepareOptions, String> {
    let mut options = PrepareOptions::default();
    for &(name, value) in settings {
        let word = point::text(value);
        let wrong = |why: String| format!("network.{name}: {why}");
        match name {
            "calibrate" => options.calibration = Some(folder.join(PathBuf::from(word))),
            "precision" => {
                options.lower.precision = Some(word.parse().map_err(|why| wrong(format!("{why}")))?);
            }
            "ranges" => options.lower.method = word.parse().map_err(wrong)?,
            "scales" => options.lower.weights = word.parse().map_err(wrong)?,
            "shape" => options.shapes.push(word.parse().map_err(wrong)?),
            "winograd" => {
                options.lower.winograd = Some(word.parse().map_err(|why| wrong(format!("{why}")))?);
            }
            other => {
                let known = SETTINGS.join(", ");
                return Err(wrong(format!("of a model {known} can be set{}", hint(other, SETTINGS))));
            }
        }
    }
    Ok(options)
}
