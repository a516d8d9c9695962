//! Checks of a study's values, before anything runs: what is wrong is told with the place in the file that is to blame.

use super::bench::{Bench, Job};
use super::file::Study;
use super::places::KeyLocation;
use super::point::{Point, text};
use super::run::Planned;
use super::search::{Goal, Search};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use vp_host::network::Winograd;
use vp_models::toml_text::TextError;
use vp_models::units::grouped;

/// A value with which points cannot run.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongValue {
    /// Place in the study's file that says it, if one value is to blame.
    pub place: Option<KeyLocation>,
    /// The parameter and its value; the first point, if no single value is to blame.
    pub what: String,
    /// Reason for which points cannot run with it.
    pub why: String,
    /// Points that have it.
    pub points: usize,
    /// Values of the range that are wrong in the same way, of which this is the first; 1 if it is no range's.
    pub values: usize,
}

impl fmt::Display for WrongValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

impl WrongValue {
    /// Returns the error of this value in a study's file: `study.toml:7: …`.
    pub fn in_file(&self, file: &Path) -> TextError {
        self.error().in_file(file)
    }

    fn error(&self) -> TextError {
        let WrongValue { place, what, why, points, values } = self;
        let others = match values - 1 {
            0 => None,
            1 => Some("and another value of the range".to_owned()),
            others => Some(format!("and {others} other values of the range")),
        };
        let points = (points > values).then(|| format!("{points} points"));
        let both: Vec<String> = others.into_iter().chain(points).collect();
        let points = if both.is_empty() { String::new() } else { format!(" ({})", both.join(", ")) };
        let line = place.as_ref().map(|place| place.line);
        TextError { line, ..TextError::whole(format!("{what}: {why}{points}")) }
    }
}

/// Returns what is wrong with these points: with their platforms, networks and parameters, and with what would be planned of them. Plans
/// are made on so many threads, and points that run later share them.
pub fn wrong_values(
    study: &Study,
    bench: &Bench,
    points: &[&Planned],
    threads: NonZeroUsize,
) -> Vec<WrongValue> {
    let reasons = reasons(bench, points, threads);
    let mut wrong: Vec<WrongValue> = Vec::new();
    let mut known: HashMap<(String, Option<KeyLocation>), usize> = HashMap::new();
    let mut values: Vec<HashSet<String>> = Vec::new();
    // What is to blame for a reason is looked for once.
    let mut blamed: HashMap<&str, Option<String>> = HashMap::new();
    for (planned, why) in points.iter().zip(&reasons) {
        let Some(why) = why else { continue };
        let point = &planned.point;
        let name = blamed.entry(why).or_insert_with(|| blame(bench, point, why));
        let value = name.as_ref().and_then(|name| Some((name, text(point.get(name)?))));
        let (place, what, is_of_range) = match &value {
            Some((name, value)) if is_ideal(study, point, name) => {
                let place = study.places.key(&format!("report.ideal.{name}"));
                (place, format!("[report] ideal: {name} = {value}"), false)
            }
            Some((name, value)) => {
                let place = study.places.parameter(name, value);
                let is_range = place.as_ref().is_some_and(|place| study.places.is_range(place));
                (place, format!("{name} = {value}"), is_range)
            }
            None => (None, format!("point {}", point.number), false),
        };
        // One mistake of a range is told once, whatever numbers it makes.
        let kind = if is_of_range { without_numbers(why) } else { why.clone() };
        let at = *known.entry((kind, place.clone())).or_insert(wrong.len());
        if at == wrong.len() {
            // The reason may name the parameter, too.
            let of_name = |name: &String| why.strip_prefix(name.as_str())?.strip_prefix(": ");
            let why = name.as_ref().and_then(of_name).unwrap_or(why).to_owned();
            wrong.push(WrongValue { place, what, why, points: 0, values: 1 });
            values.push(HashSet::new());
        }
        wrong[at].points += 1;
        if is_of_range {
            values[at].extend(value.map(|(_, value)| value));
            wrong[at].values = values[at].len();
        }
    }
    wrong
}

/// Returns true if a point has a value of this parameter because the report holds others against it.
fn is_ideal(study: &Study, point: &Point, name: &str) -> bool {
    point.number > study.swept && study.report.ideal.contains_key(name)
}

/// A reason without the numbers in it.
fn without_numbers(why: &str) -> String {
    why.chars().filter(|it| !it.is_ascii_digit() && !" ._".contains(*it)).collect()
}

/// Returns the reason for which each point cannot run, if it cannot.
fn reasons(bench: &Bench, points: &[&Planned], threads: NonZeroUsize) -> Vec<Option<String>> {
    let (next, reasons) = (AtomicUsize::new(0), Mutex::new(vec![None; points.len()]));
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(points.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(planned) = points.get(at) else { return };
                    let why = match &planned.job {
                        Ok(job) => bench.check(job).err(),
                        Err(why) => Some(why.clone()),
                    };
                    if let Some(why) = why {
                        reasons.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(why);
                    }
                }
            });
        }
    });
    reasons.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The parameter without which a point could run; or else that without which it fails for another reason. The network comes last: another one
/// might run as well where a value is wrong that this one needs.
fn blame(bench: &Bench, point: &Point, why: &str) -> Option<String> {
    let mut other = None;
    let (networks, others): (Vec<_>, Vec<_>) = point.all().partition(|(name, _)| name == "network");
    for (name, _) in others.into_iter().chain(networks) {
        let without = |all: &[(String, toml::Value)]| {
            let kept = all.iter().filter(|(set, _)| set != name || name == "network");
            // A point has a network.
            let kept = kept.map(|(set, value)| match set == name {
                true => (set.clone(), toml::Value::from("digits")),
                false => (set.clone(), value.clone()),
            });
            kept.collect()
        };
        let reduced = Point::new(point.number, without(&point.varied), without(&point.fixed));
        match bench.job(&reduced).and_then(|job| bench.check(&job)) {
            Ok(()) => return Some(name.clone()),
            Err(reason) if reason != why && other.is_none() => other = Some(name.clone()),
            Err(_) => {}
        }
    }
    other
}

/// The most that Winograd's transformation saves: 16 products for the 36 of four pixels.
const WINOGRAD: f64 = 36.0 / 16.0;

/// Frames a second that nothing can reach, with whatever memory: beyond what the MAC array can multiply.
pub fn impossible_goals(study: &Study, points: &[Planned]) -> Vec<WrongValue> {
    let Some(Search { goal: Goal::FramesPerSecond(wanted), .. }) = &study.search else { return Vec::new() };
    let mut wrong: Vec<WrongValue> = Vec::new();
    for job in points.iter().filter_map(|planned| planned.job.as_ref().ok()) {
        let Some(most) = most_frames(job).filter(|most| most < wanted) else { continue };
        let network = job.point.get("network").map_or_else(String::new, text);
        let why = format!(
            "{network} on {} has at most {}: the MAC array is busy then",
            job.description.name,
            grouped(format_args!("{most:.1}"))
        );
        match wrong.iter_mut().find(|it| it.why == why) {
            Some(known) => known.points += 1,
            None => wrong.push(WrongValue {
                place: study.places.key("search.frames_per_second"),
                what: format!("[search] frames_per_second = {wanted}"),
                why,
                points: 1,
                values: 1,
            }),
        }
    }
    // One combination that can is worth a search.
    let count: usize = wrong.iter().map(|it| it.points).sum();
    if count == points.len() { wrong } else { Vec::new() }
}

/// Frames a second at which the MAC array would always be busy.
fn most_frames(job: &Job) -> Option<f64> {
    let config = &job.description.nvdla()?.config;
    let network = &job.network;
    let saved = if config.winograd && network.winograd != Winograd::Never { WINOGRAD } else { 1.0 };
    let cycles = network.macs as f64 / config.macs_a_cycle(network.precision) as f64 / saved;
    (cycles > 0.0).then(|| 1e12 / (cycles * job.description.period.as_ps() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::plan;
    use std::collections::HashSet;

    fn checked(text: &str) -> Vec<String> {
        let study = Study::parse(text, Path::new("")).unwrap();
        let bench = Bench::new(&study);
        let points = plan(&study, &bench, &HashSet::new());
        let all: Vec<&Planned> = points.iter().collect();
        let two = NonZeroUsize::new(2).unwrap();
        let wrong =
            wrong_values(&study, &bench, &all, two).into_iter().chain(impossible_goals(&study, &points));
        wrong.map(|it| it.to_string()).collect()
    }

    #[test]
    fn each_wrong_value_is_told_once_with_its_line() {
        let wrong = checked(
            "name = 's'\n[sweep]\nnetwork = ['digits', 'lenett']\nplatform = ['nv_small',\n 'nv_smal']\n\
             'dbb0.read_latency' = [10, 20]\n'dbb0.read_outstanding' = [8, 300]\n",
        );
        let starts = [
            "line 7: dbb0.read_outstanding = 300: [dbb0] read_outstanding = 300: between 1 and 256",
            "line 5: platform = nv_smal: ",
            "line 3: network = lenett: cannot read lenett",
        ];
        assert_eq!(wrong.len(), 3, "{wrong:#?}");
        for start in starts {
            assert!(wrong.iter().any(|it| it.starts_with(start)), "no {start} in {wrong:#?}");
        }
    }

    #[test]
    fn what_cannot_be_planned_is_found_before_it_is_run() {
        let wrong = checked(
            "name = 's'\n[fixed]\nnetwork = 'lenet'\nplatform = 'nv_large'\n[sweep]\nbatch = [1, 33]\n",
        );
        assert_eq!(wrong.len(), 1, "{wrong:#?}");
        assert!(wrong[0].starts_with("line 6: batch = 33: batch = 33: 33 frames at once"), "{wrong:#?}");
        // The same for a memory in which a network has no room.
        let wrong = checked("name = 's'\n[sweep]\nnetwork = 'lenet'\n'dbb0.size' = [65536, 0x8000_0000]\n");
        assert_eq!(wrong.len(), 1, "{wrong:#?}");
        assert!(wrong[0].starts_with("line 4: dbb0.size = 65536: "), "{wrong:#?}");
    }

    #[test]
    fn what_no_network_and_no_placement_has_is_told_with_its_line() {
        let wrong = checked(
            "name = 's'\n[fixed]\nnetwork = 'lenet'\nplatform = 'nv_large'\n[sweep]\n'network.zeros' = [0.5,\n1.5]\n\
             placement = [\n'all',\n'al']",
        );
        assert_eq!(wrong.len(), 2, "{wrong:#?}");
        for start in [
            "line 7: network.zeros = 1.5: ",
            "line 10: placement = al: `al` is no placement: dram, activations or all; nearest: all",
        ] {
            assert!(wrong.iter().any(|it| it.starts_with(start)), "no {start} in {wrong:#?}");
        }
    }

    #[test]
    fn a_wrong_value_takes_one_line() {
        let wrong = checked(
            "name = 's'\n[sweep]\nnetwork = 'digits'\n'dbb0.read_latency' = [1, 2]\n'nvdla.cbuf_banks' = 64\n",
        );
        let told = "line 5: nvdla.cbuf_banks = 64: cbuf_banks = 64 is impossible: must be a power of two, 2 to 32 (2 points)";
        assert_eq!(wrong, [told]);
    }

    #[test]
    fn a_wrong_ideal_is_told_with_its_own_line() {
        let wrong = checked(
            "name = 's'\n[sweep]\nnetwork = 'digits'\n'dbb0.read_latency' = [50, 100]\nperiod = ['1 ns', '2 ns']\n\
             [report]\nideal = {\n'dbb0.read_latency' = -1 }\n",
        );
        assert_eq!(wrong.len(), 1, "{wrong:#?}");
        assert!(
            wrong[0].starts_with("line 8: [report] ideal: dbb0.read_latency = -1: ")
                && wrong[0].ends_with(" (2 points)"),
            "{wrong:#?}"
        );
    }

    #[test]
    fn a_range_of_wrong_values_is_one_mistake() {
        let wrong = checked(
            "name = 's'\n[sweep]\nnetwork = 'digits'\nperiod = ['1 ns', '2 ns']\n\
             'dbb0.read_outstanding' = { from = 300, to = 308, step = 1 }\n",
        );
        assert_eq!(wrong.len(), 1, "{wrong:#?}");
        assert!(wrong[0].starts_with("line 5: dbb0.read_outstanding = 300: "), "{wrong:#?}");
        assert!(wrong[0].ends_with(" (and 8 other values of the range, 18 points)"), "{wrong:#?}");
        // Two mistakes are two.
        let wrong = checked(
            "name = 's'\n[sweep]\nnetwork = 'digits'\n'dbb0.read_latency' = { from = -3, to = 0, step = 1 }\n\
             'dbb0.read_outstanding' = { from = 256, to = 258, step = 1 }\n",
        );
        assert_eq!(wrong.len(), 2, "{wrong:#?}");
    }

    /// The network's own file says what is wrong; the study's file says who is to blame.
    #[test]
    fn a_wrong_value_of_the_network_is_told_with_the_line_that_sets_it() {
        let start = "name = 's'\n[fixed]\nnetwork = 'lenet'\nplatform = 'nv_full'\n";
        // Each: what is swept, with the wrong value in line 7; and what is told.
        let cases = [
            ("'network.precision' = ['int8',\n'int4']", "network.precision = int4: "),
            ("'network.winograd' = ['never',\n'alway']", "network.winograd = alway: "),
            ("'network.compression' = ['never',\n'always']", "network.compression = always: "),
            ("'network.layer.conv1.kernels' = [20,\n0]", "network.layer.conv1.kernels = 0: "),
            ("'network.layer.pool1.memory' = ['sram',\n'flash']", "network.layer.pool1.memory = flash: "),
            ("'network.layer.conv1.strid' = [\n1]", "network.layer.conv1.strid = 1: "),
            ("[sweep.network.input]\nwidth = 0", "network.input.width = 0: "),
            ("\n'network.layer.conv9.stride' = 2", "network.layer.conv9.stride = 2: "),
        ];
        for (swept, told) in cases {
            let wrong = checked(&format!("{start}[sweep]\n{swept}\n"));
            assert_eq!(wrong.len(), 1, "{wrong:#?}");
            assert!(wrong[0].starts_with(&format!("line 7: {told}")), "{wrong:#?}");
        }
    }

    #[test]
    fn a_wrong_value_is_told_as_other_mistakes_of_a_file() {
        let place = Some(KeyLocation { line: 7, key: "sweep.batch".to_owned() });
        let (what, why) = ("batch = 33".to_owned(), "too many".to_owned());
        let wrong = WrongValue { place, what, why, points: 2, values: 1 };
        let file = Path::new("study.toml");
        assert_eq!(wrong.in_file(file).to_string(), "study.toml:7: batch = 33: too many (2 points)");
        let nowhere = WrongValue { place: None, what: "point 1".to_owned(), points: 1, ..wrong };
        assert_eq!(nowhere.in_file(file).to_string(), "study.toml: point 1: too many");
    }

    #[test]
    fn what_is_right_is_not_told() {
        assert_eq!(
            checked("name = 's'\n[sweep]\nnetwork = 'digits'\n'dbb0.read_latency' = ['10 ns', '20 ns']\n"),
            [""; 0]
        );
    }

    #[test]
    fn a_goal_beyond_the_mac_array_is_told_before_anything_runs() {
        let search = |frames: u32| {
            checked(&format!(
                "name = 's'\n[fixed]\nnetwork = 'resnet50'\n[search]\nmost = 'dbb0.read_latency'\nfrom = 1\nto = 99\nframes_per_second = {frames}"
            ))
        };
        assert_eq!(search(10), [""; 0]);
        let wrong = search(1000);
        assert!(
            wrong[0]
                .starts_with("line 8: [search] frames_per_second = 1000: resnet50 on nv_small has at most"),
            "{wrong:#?}"
        );
    }
}
