//! Inputs in which two runs of a point differ before anything runs: a cause of differences between their results.

use super::store::Finished;
use std::collections::{BTreeSet, HashMap};
use vp_models::nvdla::numeric::Precision;

/// A value that was not the same in two results. A value that one of them does not have is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputDifference {
    /// Name of the value: a parameter of a study, a key of a platform's file, or words for a value without a name.
    pub key: String,
    /// The first result's, and the second's.
    pub values: [Option<String>; 2],
    /// Number of points.
    pub points: usize,
}

/// Differences at several points, equal ones once, in the order in which they were found. There may be as many as points.
#[derive(Debug, Default)]
pub(super) struct InputDifferences {
    all: Vec<InputDifference>,
    /// By key and values.
    known: HashMap<(String, [Option<String>; 2]), usize>,
}

impl InputDifferences {
    pub(super) fn add(&mut self, found: InputDifference) {
        let InputDifference { key, values, points } = found;
        let at = *self.known.entry((key, values)).or_insert_with_key(|(key, values)| {
            let difference = InputDifference { key: key.clone(), values: values.clone(), points: 0 };
            self.all.push(difference);
            self.all.len() - 1
        });
        self.all[at].points += points;
    }

    pub(super) fn all(self) -> Vec<InputDifference> {
        self.all
    }
}

/// Inputs in which two runs of a point differ; nothing is known of those that could not be planned, or that older programs have kept.
pub(super) fn differences(first: &Finished, second: &Finished) -> Vec<InputDifference> {
    let (Some(a), Some(b)) = (&first.inputs, &second.inputs) else { return Vec::new() };
    let of = |key: &str, values: [Option<&String>; 2]| {
        let values = values.map(Option::<&String>::cloned);
        (values[0] != values[1]).then(|| InputDifference { key: key.to_owned(), values, points: 1 })
    };
    let mut all: Vec<InputDifference> =
        a.keys(b).into_iter().filter_map(|key| of(key, [a.value(key), b.value(key)])).collect();
    let is_told =
        |all: &[InputDifference], key: &str| all.iter().any(|difference| difference.key.starts_with(key));
    // A network's own file may say otherwise with the same name.
    if !is_told(&all, "network") {
        all.extend(of("the network's file", [Some(&a.network_contents), Some(&b.network_contents)]));
    }
    let precisions = [first, second].map(|finished| {
        let format = finished.outcome.measured()?.machine.data_type?;
        Some(Precision::from(format).to_string())
    });
    if !is_told(&all, "network.precision") && precisions.iter().all(Option::is_some) {
        all.extend(of("precision", precisions.each_ref().map(Option::as_ref)));
    }
    all
}

/// The names of the networks of some points, each once.
pub fn network_names<'a>(points: impl IntoIterator<Item = &'a Finished>) -> Vec<&'a str> {
    let names = points.into_iter().filter_map(|finished| finished.inputs.as_ref());
    names.map(|inputs| inputs.network.as_str()).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::inputs::Inputs;
    use super::super::measured::{Machine, Measured, Outcome};
    use super::*;
    use vp_models::nvdla::config::DataType;

    fn finished(set: &[(&str, &str)], platform: &[(&str, &str)], contents: &str) -> Finished {
        let map = |all: &[(&str, &str)]| {
            all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let inputs = Inputs {
            network: "digits".to_owned(),
            network_contents: contents.to_owned(),
            set: map(set),
            platform: map(platform),
        };
        let outcome = Outcome::Ran(Box::default());
        Finished { inputs: Some(inputs), ..Finished::new("k", "p", "x=1", outcome) }
    }

    fn told(first: &Finished, second: &Finished) -> Vec<String> {
        let said = |value: &Option<String>| value.as_deref().unwrap_or("-").to_owned();
        let of =
            |it: &InputDifference| format!("{}: {}, {}", it.key, said(&it.values[0]), said(&it.values[1]));
        differences(first, second).iter().map(of).collect()
    }

    #[test]
    fn values_are_the_platforms_as_it_was_built() {
        let one = finished(
            &[("platform", "nv_small"), ("dbb0.read_latency", "50 ns")],
            &[("period", "1 ns"), ("dbb0.read_latency", "50")],
            "c",
        );
        let same =
            finished(&[("platform", "nv_small")], &[("period", "1 ns"), ("dbb0.read_latency", "50")], "c");
        assert_eq!(told(&one, &same), [""; 0]);
        let slow = finished(
            &[("platform", "nv_small"), ("dbb0.bandwidth", "1 GB/s")],
            &[("period", "2 ns"), ("dbb0.read_latency", "50"), ("dbb0.bandwidth", "1000000000")],
            "c",
        );
        assert_eq!(told(&one, &slow), ["dbb0.bandwidth: -, 1000000000", "period: 1 ns, 2 ns"]);
    }

    #[test]
    fn equal_differences_are_one_in_the_order_of_the_first() {
        let mut all = InputDifferences::default();
        for (key, second) in [("period", "2"), ("batch", "2"), ("period", "3"), ("period", "2")] {
            let values = [None, Some(second.to_owned())];
            all.add(InputDifference { key: key.to_owned(), values, points: 1 });
        }
        let all: Vec<(String, Option<String>, usize)> =
            all.all().into_iter().map(|it| (it.key, it.values[1].clone(), it.points)).collect();
        let of = |key: &str, second: &str, points| (key.to_owned(), Some(second.to_owned()), points);
        assert_eq!(all, [of("period", "2", 2), of("batch", "2", 1), of("period", "3", 1)]);
    }

    #[test]
    fn what_follows_from_built_in_platforms_is_told_by_their_names() {
        let of = |platform| finished(&[("platform", platform)], &[("nvdla.mac_atomic_c", platform)], "c");
        assert_eq!(told(&of("nv_small"), &of("nv_large")), ["platform: nv_small, nv_large"]);
        let mine = told(&of("nv_small"), &of("mine.toml"));
        assert_eq!(mine, ["nvdla.mac_atomic_c: nv_small, mine.toml", "platform: nv_small, mine.toml"]);
    }

    #[test]
    fn another_file_of_a_network_is_told_and_its_format() {
        let of = |contents, data_type| {
            let machine = Machine { data_type: Some(data_type), ..Machine::default() };
            let outcome = Outcome::Ran(Box::new(Measured { machine, ..Measured::default() }));
            Finished { outcome, ..finished(&[], &[], contents) }
        };
        let told = told(&of("a", DataType::Int8), &of("b", DataType::Fp16));
        assert_eq!(told, ["the network's file: a, b", "precision: int8, fp16"]);
    }

    #[test]
    fn nothing_is_said_of_what_older_programs_kept() {
        let old = Finished::new("k", "p", "x=1", Outcome::Ran(Box::default()));
        assert_eq!(told(&old, &finished(&[("frames", "2")], &[], "c")), [""; 0]);
        let networks = [finished(&[], &[], "c"), old];
        assert_eq!(network_names(&networks), ["digits"]);
    }
}
