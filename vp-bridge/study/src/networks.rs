//! Networks by name or path, with values of their files changed.

use std::path::{Path, PathBuf};
use toml::{Table, Value};
use twox_hash::XxHash3_64;
use vp_models::host::network::{Network, digits};
use vp_models::host::{read_description, read_tensor};

/// A network, and a hash of everything that it is made of.
pub(super) fn load(name: &str, settings: &[(&str, &Value)], folder: &Path) -> Result<(Network, u64), String> {
    if let Some(text) = Network::text(name) {
        let text = changed(text, settings)?;
        let network = Network::parse(&text, &mut |file| digits::tensor(file));
        return Ok((network.map_err(|error| error.to_string())?, XxHash3_64::oneshot(text.as_bytes())));
    }
    let path = file(name, folder);
    let cannot = |path: &Path, error| format!("cannot read {}: {error}", path.display());
    let text = read_description(&path).map_err(|error| cannot(&path, error))?;
    let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    if path.extension().is_some_and(|extension| extension == "csv") && settings.is_empty() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let network = Network::of_sheet(&name, &text).map_err(|error| wrong(&error))?;
        return Ok((network, XxHash3_64::oneshot(text.as_bytes())));
    }
    let text = changed(&text, settings).map_err(|why| wrong(&why))?;
    let mut identity = XxHash3_64::oneshot(text.as_bytes());
    let home = path.parent().unwrap_or(Path::new(""));
    let network = Network::parse(&text, &mut |file| {
        let path = home.join(file);
        let bytes = read_tensor(&path).map_err(|error| cannot(&path, error))?;
        identity = XxHash3_64::oneshot_with_seed(identity, &bytes);
        Ok(bytes)
    })
    .map_err(|error| wrong(&error))?;
    Ok((network, identity))
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
    let mut table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
    for &(name, value) in settings {
        let wrong = || format!("network.{name}: there is nothing of that name");
        let (sections, key) = name.rsplit_once('.').unwrap_or(("", name));
        let mut at = &mut table;
        let mut parts = sections.split('.').filter(|part| !part.is_empty());
        while let Some(part) = parts.next() {
            at = match at.get_mut(part) {
                Some(Value::Table(section)) => section,
                Some(Value::Array(list)) => {
                    let element = parts.next().ok_or_else(wrong)?;
                    let is_it =
                        |value: &&mut Value| value.get("name").and_then(Value::as_str) == Some(element);
                    list.iter_mut().find(is_it).and_then(Value::as_table_mut).ok_or_else(wrong)?
                }
                _ => return Err(wrong()),
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
            "network.layer.b.stride: there is nothing of that name"
        );
        assert!(changed("inpt.width", 1.into()).is_err());
    }

    #[test]
    fn a_built_in_network_can_be_changed() {
        let width: Value = 64.into();
        let settings = [("input.width", &width), ("input.height", &width)];
        let (small, identity) = load("mobilenet_v1", &settings, Path::new("")).unwrap();
        let (large, other) = load("mobilenet_v1", &[], Path::new("")).unwrap();
        assert_eq!((small.input.width, large.input.width), (64, 224));
        assert_ne!(identity, other);
    }

    #[test]
    fn a_network_that_is_not_there_is_told() {
        let error = load("nowhere", &[], Path::new("")).unwrap_err();
        assert!(error.contains("cannot read nowhere"), "{error}");
    }
}
