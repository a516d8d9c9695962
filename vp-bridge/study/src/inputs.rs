//! What a point was run with, beside the program.

use super::bench::Job;
use super::point::text;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};
use vp_models::platform::Description;

/// What a point was run with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// The name that its network has in its own file.
    pub network: String,
    /// A hash of the network's file and tensors.
    pub network_contents: String,
    /// What the study sets, by the names of its parameters, and `frames`.
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

    /// What it has of this name: of the platform as it was built, if it is the platform's.
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
