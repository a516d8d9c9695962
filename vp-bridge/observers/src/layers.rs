//! The layer of a network for each hardware layer of a unit.

use std::collections::BTreeMap;

use vp_host::network::Plan;

/// The names of a network's layers, by unit, in the order in which a driver that follows the plan enables them
/// there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LayerNames(BTreeMap<String, Vec<String>>);

impl LayerNames {
    /// The names from a plan. It may be run several times.
    #[must_use]
    pub fn of(plan: &Plan) -> LayerNames {
        let mut names = BTreeMap::<String, Vec<String>>::new();
        for step in &plan.steps {
            for unit in step.units() {
                names.entry(unit.name().to_lowercase()).or_default().push(step.name.clone());
            }
        }
        LayerNames(names)
    }

    /// The name of a unit's layer, by how many it began before. The unit is a source, such as `nvdla.sdp`.
    pub(crate) fn name(&self, source: &str, begun: usize) -> Option<&str> {
        let unit = source.rsplit('.').next()?;
        let names = self.0.get(unit)?;
        names.get(begun % names.len()).map(String::as_str)
    }

    /// All of them, once each.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        let names: std::collections::BTreeSet<&str> = self.0.values().flatten().map(String::as_str).collect();
        names.into_iter()
    }
}
