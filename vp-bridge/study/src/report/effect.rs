//! Parameters that change nothing: a study asks what they do, and should be told that.

use super::page::{Answer, Page};
use crate::measured::Outcome;
use crate::point::text;
use std::collections::HashMap;

impl Page<'_> {
    /// A sentence for each parameter that varies without an effect: points that differ in it alone take the same time.
    pub(super) fn without_effect(&self) -> Vec<Answer> {
        let has_none = |name: &&String| self.has_no_effect(name);
        self.study.varied.iter().filter(has_none).map(|name| self.nothing_changes(name)).collect()
    }

    fn nothing_changes(&self, name: &str) -> Answer {
        let why = match name.rsplit('.').next() {
            Some("zeros") => "Weights may be whole in files, or the configuration reads them whole.",
            Some("winograd") => "No layer may have the shape, or the configuration may lack the method.",
            _ if name.starts_with("sram0") || name == "placement_limit" => {
                "Nothing may lie in SRAM (placement), or the configuration may lack SRAMIF."
            }
            _ => "",
        };
        let head = format!("{name} changes nothing: points that differ in it alone take the same cycles");
        Answer { head, rest: why.to_owned() }
    }

    fn has_no_effect(&self, name: &str) -> bool {
        // By all other values: how long it took, and with which values of this one.
        let mut groups: HashMap<String, (f64, Vec<String>)> = HashMap::new();
        for row in self.rows {
            let Outcome::Ran(measured) = row.outcome else { continue };
            let others = row.point.varied.iter().filter(|(other, _)| other != name);
            let others: Vec<String> = others.map(|(other, value)| format!("{other}={value}")).collect();
            let value = row.point.get(name).map_or_else(String::new, text);
            let cycles = measured.cycles_per_frame();
            let group = groups.entry(others.join(" ")).or_insert_with(|| (cycles, Vec::new()));
            if group.0 != cycles {
                return false;
            }
            // Two say that there are several.
            if group.1.len() < 2 && !group.1.contains(&value) {
                group.1.push(value);
            }
        }
        groups.values().any(|(_, values)| values.len() > 1)
    }
}
