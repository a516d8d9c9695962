//! Differences between two runs of the same points: by how much figures moved, in which layers, and why.

use super::input_difference::{InputDifference, InputDifferences, differences};
use super::measured::{Measured, MeasuredLayer, Outcome};
use super::store::Finished;
use std::collections::{HashMap, HashSet};
use std::fmt;
use vp_host::Bound;
use vp_models::units::grouped;

/// Two sets of finished points beside each other.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    /// Points that are in both, in the order of the first.
    pub points: Vec<PointDifference>,
    /// Points of the first alone, as a person says them.
    pub only_first: Vec<String>,
    /// Points of the second alone.
    pub only_second: Vec<String>,
    /// Inputs that points in both were not run with alike: the first causes of what moved.
    pub inputs: Vec<InputDifference>,
    /// True if points in both have run of which it is not known with what.
    pub has_unknown_inputs: bool,
    /// Names of networks, the first's and the second's, where a point has run another one.
    pub other_networks: Vec<[String; 2]>,
}

/// A point in both.
#[derive(Clone, Debug)]
pub struct PointDifference {
    /// Description of the point, as a person says it.
    pub point: String,
    /// Of both; why it did not run where it did not.
    pub runs: [Result<RunFigures, String>; 2],
    /// Layers whose time is another, those first that moved most.
    pub layers: Vec<LayerDifference>,
}

/// Figures of a run, a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFigures {
    /// Cycles.
    pub cycles: f64,
    /// Frames in a second.
    pub frames_per_second: f64,
    /// The hash of all that happened.
    pub event_hash: String,
}

/// A layer whose time is another. Figures are of a frame, the first run's and then the second's.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerDifference {
    /// Name of the layer.
    pub name: String,
    /// Cycles of the layer.
    pub cycles: [f64; 2],
    /// Causes of the difference.
    pub causes: Vec<Cause>,
}

/// Difference in a layer whose time is another, beside the time.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// One of the two networks does not have it.
    Missing {
        /// True if the layer is in the second.
        in_second: bool,
    },
    /// The layer is made of another number of hardware layers, or done with another layer.
    Plan {
        /// Parts that the layer is made of in both.
        parts: [String; 2],
    },
    /// The bytes that the layer reads or writes are more or fewer.
    Bytes {
        /// `reads`, `writes`, and whether that is over SRAMIF alone.
        way: &'static str,
        /// Bytes a frame in both.
        bytes: [f64; 2],
    },
    /// More or less of the time goes into something.
    Bound {
        /// Bound that the time goes into.
        bound: Bound,
        /// Difference in cycles a frame.
        change: f64,
    },
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Missing { in_second: true } => f.write_str("not in the first"),
            Cause::Missing { in_second: false } => f.write_str("not in the second"),
            Cause::Plan { parts: [first, second] } => write!(f, "plan: {first}, then {second}"),
            Cause::Bytes { way, bytes: [first, second] } => {
                let [first, second] = [first, second].map(|bytes| grouped(format_args!("{bytes:.0}")));
                write!(f, "{way} {first}, then {second} bytes")
            }
            Cause::Bound { bound, change } => {
                write!(f, "{} {} cycles", bound.name(), grouped(format_args!("{change:+.0}")))
            }
        }
    }
}

/// Returns how much a value moved, as a share of what it was.
pub fn change([first, second]: [f64; 2]) -> f64 {
    if first == second { 0.0 } else { (second - first) / first.abs().max(f64::MIN_POSITIVE) }
}

impl PointDifference {
    /// Returns how much the point's cycles moved, as a share; none unless both ran.
    pub fn change(&self) -> Option<f64> {
        match &self.runs {
            [Ok(first), Ok(second)] => Some(change([first.cycles, second.cycles])),
            _ => None,
        }
    }

    /// Returns true if the point moved by more than this share, or ran once only.
    pub fn is_beyond(&self, threshold: f64) -> bool {
        match &self.runs {
            [Ok(_), Ok(_)] => self.change().is_some_and(|change| change.abs() > threshold),
            [first, second] => first.is_ok() != second.is_ok(),
        }
    }
}

impl Difference {
    /// Of two sets of points. A point is the same if what varies in it is, as a person says it; of several runs of one the last counts.
    pub fn between(first: &[&Finished], second: &[&Finished]) -> Difference {
        let last = |all: &[&Finished]| {
            let mut order: Vec<String> = Vec::new();
            let mut runs: HashMap<String, Finished> = HashMap::new();
            for finished in all {
                if runs.insert(finished.point.clone(), (*finished).clone()).is_none() {
                    order.push(finished.point.clone());
                }
            }
            (order, runs)
        };
        let ((order, first), (second_order, second)) = (last(first), last(second));
        let mut difference = Difference::default();
        let (mut inputs, mut networks) = (InputDifferences::default(), HashSet::new());
        for point in order {
            match second.get(&point) {
                Some(other) => {
                    differences(&first[&point], other).into_iter().for_each(|found| inputs.add(found));
                    difference.add_run([&first[&point], other], &mut networks);
                    let both = [&first[&point].outcome, &other.outcome];
                    difference.points.push(PointDifference::between(point, both));
                }
                None => difference.only_first.push(point),
            }
        }
        difference.inputs = inputs.all();
        difference.only_second =
            second_order.into_iter().filter(|point| !first.contains_key(point)).collect();
        difference
    }

    /// Takes up of what two runs of a point were: of which networks, if none has been of these two, and whether it is known with what.
    fn add_run<'a>(&mut self, runs: [&'a Finished; 2], networks: &mut HashSet<[&'a str; 2]>) {
        let names = runs.map(|finished| Some(finished.inputs.as_ref()?.network.as_str()));
        if let [Some(a), Some(b)] = names
            && a != b
            && networks.insert([a, b])
        {
            self.other_networks.push([a.to_owned(), b.to_owned()]);
        }
        let ran = |finished: &Finished| finished.outcome.measured().is_some();
        self.has_unknown_inputs |=
            runs.into_iter().any(|finished| ran(finished) && finished.inputs.is_none());
    }
}

impl PointDifference {
    fn between(point: String, outcomes: [&Outcome; 2]) -> PointDifference {
        let run = |outcome: &Outcome| match outcome {
            Outcome::Ran(measured) => Ok(RunFigures {
                cycles: measured.cycles_per_frame(),
                frames_per_second: measured.frames_per_second(),
                event_hash: measured.event_hash.clone(),
            }),
            Outcome::Failed(why) => Err(why.clone()),
        };
        let layers = match outcomes.map(Outcome::measured) {
            [Some(first), Some(second)] => layers(first, second),
            _ => Vec::new(),
        };
        PointDifference { point, runs: outcomes.map(run), layers }
    }
}

/// Layers whose time is another, those first that moved most.
fn layers(first: &Measured, second: &Measured) -> Vec<LayerDifference> {
    let find = |measured: &Measured, name: &str| measured.layers.iter().position(|layer| layer.name == name);
    let mut names: Vec<&str> = first.layers.iter().map(|layer| layer.name.as_str()).collect();
    names.extend(second.layers.iter().map(|it| it.name.as_str()).filter(|name| find(first, name).is_none()));
    let difference = |name: &str| {
        let of = [first, second].map(|measured| {
            let layer = &measured.layers[find(measured, name)?];
            Some(LayerOfFrame { layer, measured })
        });
        let cycles = of.each_ref().map(|layer| layer.as_ref().map_or(0.0, LayerOfFrame::cycles));
        (cycles[0] != cycles[1]).then(|| {
            let causes = match &of {
                [Some(first), Some(second)] => causes(first, second),
                [first, _] => vec![Cause::Missing { in_second: first.is_none() }],
            };
            LayerDifference { name: name.to_owned(), cycles, causes }
        })
    };
    let mut layers: Vec<LayerDifference> = names.into_iter().filter_map(difference).collect();
    let moved = |layer: &LayerDifference| (layer.cycles[1] - layer.cycles[0]).abs();
    layers.sort_by(|a, b| moved(b).total_cmp(&moved(a)));
    layers
}

/// A layer's figures of a frame.
struct LayerOfFrame<'a> {
    layer: &'a MeasuredLayer,
    measured: &'a Measured,
}

impl LayerOfFrame<'_> {
    fn a_frame(&self, value: u64) -> f64 {
        value as f64 / f64::from(self.measured.frames.max(1))
    }

    fn cycles_of(&self, time: u64) -> f64 {
        self.a_frame(time) / self.measured.period.max(1) as f64
    }

    fn cycles(&self) -> f64 {
        self.cycles_of(self.layer.time)
    }

    fn plan(&self) -> String {
        match &self.layer.within {
            Some(within) => format!("with {within}"),
            None if self.layer.parts == 1 => "1 hardware layer".to_owned(),
            None => format!("{} hardware layers", self.layer.parts),
        }
    }
}

/// A bound is a cause if it makes at least this share of what a layer moved by.
const COUNTS: f64 = 0.05;

fn causes(first: &LayerOfFrame<'_>, second: &LayerOfFrame<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let parts = [first.plan(), second.plan()];
    if parts[0] != parts[1] {
        causes.push(Cause::Plan { parts });
    }
    let moved = |layer: &MeasuredLayer| {
        let MeasuredLayer { read, written, sram_read, sram_written, copied, .. } = layer;
        [
            ("reads", *read),
            ("writes", *written),
            ("reads over SRAMIF", *sram_read),
            ("writes over SRAMIF", *sram_written),
            ("copies", *copied),
        ]
    };
    for ((way, before), (_, after)) in moved(first.layer).into_iter().zip(moved(second.layer)) {
        let bytes = [first.a_frame(before), second.a_frame(after)];
        if bytes[0] != bytes[1] {
            causes.push(Cause::Bytes { way, bytes });
        }
    }
    let least = COUNTS * (second.cycles() - first.cycles()).abs();
    let parts = first.layer.bounds.iter().zip(&second.layer.bounds).zip(Bound::ALL);
    let changes = parts.map(|((before, after), bound)| {
        let change = second.cycles_of(*after) - first.cycles_of(*before);
        (bound, change)
    });
    let mut changes: Vec<(Bound, f64)> =
        changes.filter(|(_, change)| *change != 0.0 && change.abs() >= least).collect();
    changes.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    causes.extend(changes.into_iter().map(|(bound, change)| Cause::Bound { bound, change }));
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(name: &str, time: u64, read: u64) -> MeasuredLayer {
        let bounds = [400, 0, 0, 0, 0, 0, time - 400, 0, 0, 0];
        MeasuredLayer { name: name.into(), parts: 1, time, read, bounds, ..MeasuredLayer::default() }
    }

    fn finished(point: &str, layers: Vec<MeasuredLayer>) -> Finished {
        let time = layers.iter().map(|layer| layer.time).sum();
        let measured = Measured { period: 10, time, frames: 1, layers, ..Measured::default() };
        of(point, Outcome::Ran(Box::new(measured)))
    }

    fn of(point: &str, outcome: Outcome) -> Finished {
        Finished::new(point, "p", point, outcome)
    }

    #[test]
    fn what_moved_is_told_by_layer_with_its_cause() {
        let before = finished("x=1", vec![layer("a", 1000, 64), layer("b", 2000, 64), layer("c", 500, 0)]);
        let after = finished("x=1", vec![layer("a", 1500, 64), layer("b", 4000, 128), layer("c", 500, 0)]);
        let difference = Difference::between(&[&before], &[&after]);
        let point = &difference.points[0];
        assert_eq!(point.change(), Some((600.0 - 350.0) / 350.0));
        let names: Vec<&str> = point.layers.iter().map(|layer| layer.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        let causes: Vec<String> = point.layers[0].causes.iter().map(ToString::to_string).collect();
        assert_eq!(causes, ["reads 64, then 128 bytes", "read latency +200 cycles"]);
        assert!(point.is_beyond(0.7) && !point.is_beyond(0.8));
    }

    #[test]
    fn the_same_bytes_over_another_memory_are_a_cause() {
        let mut in_sram = layer("a", 900, 64);
        in_sram.sram_read = 48;
        let before = finished("x=1", vec![layer("a", 1000, 64)]);
        let after = finished("x=1", vec![in_sram]);
        let difference = Difference::between(&[&before], &[&after]);
        let causes = &difference.points[0].layers[0].causes;
        assert_eq!(causes[0].to_string(), "reads over SRAMIF 0, then 48 bytes");
    }

    #[test]
    fn another_plan_and_layers_of_one_alone_are_causes() {
        let mut cut = layer("a", 2000, 64);
        cut.parts = 3;
        let before = finished("x=1", vec![layer("a", 1000, 64), layer("old", 500, 0)]);
        let after = finished("x=1", vec![cut, layer("new", 600, 0)]);
        let difference = Difference::between(&[&before], &[&after]);
        let of = |name: &str| {
            let layer = difference.points[0].layers.iter().find(|layer| layer.name == name).unwrap();
            layer.causes[0].to_string()
        };
        assert_eq!(of("a"), "plan: 1 hardware layer, then 3 hardware layers");
        assert_eq!([of("old"), of("new")], ["not in the second", "not in the first"]);
    }

    #[test]
    fn points_are_the_same_by_what_varies_and_the_last_run_counts() {
        let one = |point: &str, time: u64| finished(point, vec![layer("a", time, 0)]);
        let (old, new, other) = (one("x=1", 1000), one("x=1", 2000), one("x=2", 1000));
        let difference = Difference::between(&[&old, &new, &other], &[&new]);
        assert_eq!((difference.points.len(), difference.points[0].change()), (1, Some(0.0)));
        assert!(!difference.points[0].is_beyond(0.0) && difference.points[0].layers.is_empty());
        assert_eq!((difference.only_first, difference.only_second.len()), (vec!["x=2".to_owned()], 0));
    }

    #[test]
    fn what_runs_no_more_is_beyond_every_threshold() {
        let failed = of("x=1", Outcome::Failed("no room".into()));
        let ran = finished("x=1", vec![layer("a", 1000, 0)]);
        let beyond = |first: &Finished, second: &Finished| {
            Difference::between(&[first], &[second]).points[0].is_beyond(9.0)
        };
        assert!(beyond(&ran, &failed) && beyond(&failed, &ran) && !beyond(&failed, &failed));
    }
}
