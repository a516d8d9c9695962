//! Inputs that a point was run with, beside the program.

use super::bench::Job;
use super::point::text;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};
use vp_host::network::PlanOptions;
use vp_models::platform::Description;

/// Inputs that a point was run with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// The name that its network has in its own file.
    pub network: String,
    /// A hash of the network's file and tensors.
    pub network_contents: String,
    /// Values that the study sets, by its parameters' names, and `frames`. How a network is planned is here also where nothing sets it.
    pub set: BTreeMap<String, String>,
    /// Every value of its platform, by its name in a platform's file. Latencies are cycles.
    pub platform: BTreeMap<String, String>,
}

impl Inputs {
    pub(super) fn of(job: &Job) -> Inputs {
        let mut set: BTreeMap<String, String> =
            job.point.all().map(|(name, value)| (name.clone(), text(value))).collect();
        set.insert("platform".to_owned(), job.point.platform());
        set.insert("frames".to_owned(), job.frames.to_string());
        set.extend(plan_values(job).into_iter().map(|(name, value)| (name.to_owned(), value)));
        if !job.outside.is_empty() {
            set.insert("parts in other programs".to_owned(), job.outside.join(" "));
        }
        let platform = platform_values(&job.description).into_iter().filter(|(name, _)| name != "name");
        Inputs {
            network: job.network.name.clone(),
            network_contents: format!("{:016x}", job.network_identity),
            set,
            platform: platform.map(|(name, value)| (name, text(&value))).collect(),
        }
    }

    /// Returns the value of this name: of the platform as it was built, if it is the platform's.
    pub(super) fn value(&self, key: &str) -> Option<&String> {
        self.platform.get(key).or_else(|| self.set.get(key))
    }

    /// Names of all that two may differ in. What follows from two built-in platforms is told by their names.
    pub(super) fn keys<'a>(&'a self, other: &'a Inputs) -> BTreeSet<&'a String> {
        let set = self.set.keys().chain(other.set.keys());
        let names = [self, other].map(|inputs| inputs.set.get("platform"));
        let is_built_in = |name: Option<&String>| name.is_some_and(|name| Description::named(name).is_ok());
        match names[0] != names[1] && names.iter().all(|name| is_built_in(*name)) {
            true => set.collect(),
            false => set.chain(self.platform.keys()).chain(other.platform.keys()).collect(),
        }
    }
}

/// Returns how a point's network is planned, by the names of parameters. A limit is there if one is set.
fn plan_values(job: &Job) -> Vec<(&'static str, String)> {
    let PlanOptions { frames, placement, sram_limit, .. } = job.options;
    let nvdla = job.description.nvdla();
    let copies = nvdla.and_then(|nvdla| job.options.copies(&nvdla.config).ok());
    let values = [
        Some(("batch", frames.to_string())),
        Some(("placement", placement.to_string())),
        sram_limit.map(|bytes| ("placement_limit", bytes.to_string())),
        copies.map(|copies| ("copies", copies.to_string())),
    ];
    values.into_iter().flatten().collect()
}

/// All of a platform's values by their names in its file.
pub(super) fn platform_values(description: &Description) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    if let Ok(table) = Table::try_from(description) {
        flat("", &Value::Table(table), &mut all);
    }
    all
}

fn flat(prefix: &str, value: &Value, all: &mut Vec<(String, Value)>) {
    let name = |part: &str| if prefix.is_empty() { part.to_owned() } else { format!("{prefix}.{part}") };
    match value {
        Value::Table(table) if !table.contains_key("distribution") => {
            table.iter().for_each(|(key, value)| flat(&name(key), value, all));
        }
        Value::Array(list) if list.iter().all(|it| it.get("name").is_some()) && !list.is_empty() => {
            for element in list {
                let key = element.get("name").and_then(Value::as_str).unwrap_or("?");
                flat(&name(key), element, all);
            }
        }
        value => all.push((prefix.to_owned(), value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::super::file::Study;
    use super::*;
    use std::path::Path;

    /// Returns the values that are set for a point of which the study says this.
    fn set(rest: &str) -> BTreeMap<String, String> {
        let text = format!("name = 's'\n[sweep]\nnetwork = 'digits'\nplatform = 'nv_large'\n{rest}");
        let study = Study::parse(&text, Path::new("")).unwrap();
        Inputs::of(&Bench::new(&study).job(&study.points[0]).unwrap()).set
    }

    #[test]
    fn a_default_that_is_written_is_no_difference() {
        assert_eq!(set("placement = 'dram'\nbatch = 1\ncopies = 'never'"), set(""));
        assert_eq!(set("placement = 'all'\ncopies = 'auto'"), set("placement = 'all'"));
        assert_ne!(set("placement = 'all'\ncopies = 'never'"), set("placement = 'all'"));
        assert_eq!(set("placement_limit = '4 KiB'"), set("placement_limit = 4096"));
        let of = |rest: &str, name: &str| set(rest).get(name).cloned();
        assert_eq!(of("batch = 4", "batch").as_deref(), Some("4"));
        assert_eq!((of("", "placement").as_deref(), of("", "placement_limit")), (Some("dram"), None));
    }
}
