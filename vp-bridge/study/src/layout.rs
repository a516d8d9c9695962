//! Layout of points in a report: a chart for each combination of what is not on an axis, in it a curve for each value of one parameter,
//! over another.

mod charts;
mod groups;

use self::charts::Charts;
use super::area::Area;
use super::file::Study;
use super::point::{Chosen, Point, number, text};
use super::wording::valued;
use std::collections::{HashMap, HashSet};
use toml::Value;
use vp_models::suggestion::hint;
use vp_models::toml_text::TextError;

/// Layout of a study's points.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The parameter along the horizontal axis.
    pub x: String,
    /// Number that stands for area along the axis, if no parameter does: then the points of a chart are designs.
    pub area: Option<Area>,
    /// Words along the axis, if its values are words: a place along the axis is one's index. Empty where they are numbers.
    pub names: Vec<String>,
    /// The parameter that has a curve for each of its values, if one is left.
    pub curves: Option<String>,
    /// The charts.
    pub panels: Vec<Panel>,
    /// Layouts of points that say no value of what is along the axis: those of another sweep.
    pub others: Vec<Layout>,
}

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Words that the chart's points have in common.
    pub title: String,
    /// Curves of the chart.
    pub curves: Vec<Curve>,
    /// The number of the point that is looked at closely.
    pub chosen: usize,
    /// Points that curves are held against, and that stand on none.
    pub ideals: Vec<IdealPoint>,
}

/// A point that is run as what others are held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdealPoint {
    /// Place, in the chart's list, of the curve that the point would belong to.
    pub curve: usize,
    /// Place of the point along the axis.
    pub place: f64,
    /// Number of the point.
    pub point: usize,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The value that its points have in common.
    pub label: String,
    /// Places along the axis, in order, and the numbers of the points there. Of words a place is their index.
    pub points: Vec<(f64, usize)>,
}

/// Parameters along the axes of a study's charts.
struct Axes<'a> {
    study: &'a Study,
    x: String,
    /// The words along it; empty where it has numbers.
    names: Vec<String>,
    curves: Option<String>,
    /// Parameters that tell charts apart.
    titles: Vec<&'a str>,
}

impl<'a> Axes<'a> {
    fn of(study: &'a Study, curves: Option<String>) -> Result<Axes<'a>, TextError> {
        let x = asked(study, "x", &study.report.x)?;
        let x = x.or_else(|| usual(study, USUAL_X, &[curves.as_deref()]));
        // A study without any axis has a chart with a point a curve.
        let x =
            x.or_else(|| most_words(study, &[curves.as_deref()])).or_else(|| study.varied.first().cloned());
        // A point that varies nothing, as one with which others are compared, stands at its network.
        let x = x.unwrap_or_else(|| "network".to_owned());
        let is_number = study.points.iter().any(|point| point.get(&x).and_then(number).is_some());
        let names = if is_number { Vec::new() } else { words(study, &x) };
        let curves = curves.or_else(|| usual(study, USUAL_CURVES, &[Some(&x)]));
        // Over words, words can be curves too: else each would have charts of its own.
        let curves = curves.or_else(|| (!is_number).then(|| most_words(study, &[Some(&x)])).flatten());
        // What is the same everywhere tells no chart from another.
        let mut titles: Vec<&str> =
            study.varied.iter().map(String::as_str).filter(|name| differs(study, name)).collect();
        let subjects = ["network", "platform"];
        // Nor does what changes together with an axis.
        titles.retain(|name| {
            let axes = [Some(x.as_str()), curves.as_deref()];
            subjects.contains(name) || !axes.iter().flatten().any(|axis| follows(study, name, axis))
        });
        titles.extend(subjects.iter().filter(|name| !study.varied.iter().any(|varied| varied == **name)));
        Ok(Axes { study, x, names, curves, titles })
    }

    fn title(&self, point: &Point) -> String {
        title(point, &self.titles, (&self.x, self.curves.as_deref()))
    }

    fn label(&self, point: &Point) -> String {
        self.curves.as_ref().and_then(|name| point.get(name)).map_or_else(String::new, text)
    }

    /// The points that are swept and those that are ideal.
    fn points(&self) -> (&'a [Point], &'a [Point]) {
        // A search has other points than its sweep.
        let count = if self.study.search.is_some() { self.study.points.len() } else { self.study.swept };
        self.study.points.split_at(count)
    }

    /// The values that its points should be near to, to be looked at closely: in the middle of numbers. Of curves that are words the first one
    /// is what others are compared with, so it is the last.
    fn chosen(&self) -> Chosen {
        let mut chosen = self.study.report.chosen.clone();
        for name in [Some(&self.x), self.curves.as_ref()].into_iter().flatten() {
            middle(self.study, &mut chosen, name);
        }
        if let Some(name) = self.curves.as_ref().filter(|name| values(self.study, name).is_empty()) {
            let last = words(self.study, name).pop();
            let has_it = |point: &&Point| Some(word(point, name)) == last;
            if let Some(value) = self.study.points.iter().find(has_it).and_then(|point| point.get(name)) {
                chosen.or(name, value.clone());
            }
        }
        chosen
    }

    /// The charts with the points that are swept.
    fn charts(&self) -> Charts {
        let Axes { study, x, names, .. } = self;
        let chosen = self.chosen();
        let place_of: HashMap<&str, usize> =
            names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
        let mut charts = Charts::default();
        for point in self.points().0 {
            let mut title = self.title(point);
            let place = match names.is_empty() {
                true => point.get(x).and_then(number),
                false => place_of.get(word(point, x).as_str()).map(|at| *at as f64),
            };
            if place.is_none() {
                // It has no place on the axis.
                title = format!("{title} · {x} {}", word(point, x));
            }
            let label = self.label(point);
            let distance = |number: usize| distance(study, &chosen, number);
            charts.put((title, label), place, point.number, distance);
        }
        charts
    }

    fn layout(self) -> Result<Layout, TextError> {
        let mut charts = self.charts();
        self.add_ideals(&mut charts)?;
        let Axes { x, names, curves, .. } = self;
        Ok(Layout { x, area: None, names, curves, panels: charts.sorted(), others: Vec::new() })
    }

    /// Gives charts the points that are ideal.
    fn add_ideals(&self, charts: &mut Charts) -> Result<(), TextError> {
        for point in self.points().1 {
            let (title, label) = (self.title(point), self.label(point));
            let why = || format!(": it says values of {}, which is along the axis", self.x);
            let wrong = || in_report(self.study, "ideal", why());
            let place = point.get(&self.x).and_then(number).ok_or_else(wrong)?;
            charts.put_ideal(&title, &label, place, point.number).ok_or_else(wrong)?;
        }
        Ok(())
    }
}

/// Returns the error of a key of `[report]`.
fn in_report(study: &Study, key: &str, what: impl std::fmt::Display) -> TextError {
    let line = study.places.key(&format!("report.{key}")).map(|place| place.line);
    TextError { line, ..TextError::whole(format!("[report] {key}{what}")) }
}

/// The parameter that a key of `[report]` names, if that varies.
fn asked(study: &Study, key: &str, name: &Option<String>) -> Result<Option<String>, TextError> {
    let Some(unknown) = name.as_ref().filter(|name| !study.varied.contains(name)) else {
        return Ok(name.clone());
    };
    let areas = Area::ALL.map(Area::name).into_iter().filter(|_| key == "x");
    let hint = hint(unknown, study.varied.iter().map(String::as_str).chain(areas));
    let varied = study.varied.join(", ");
    Err(in_report(study, key, format!(" = \"{unknown}\": [sweep] varies {varied}{hint}")))
}

/// Parameter that is varied most often, for who says nothing else.
const USUAL_X: &str = "dbb0.read_latency";
const USUAL_CURVES: &str = "dbb0.read_outstanding";

impl Layout {
    /// Lays out a study's points.
    ///
    /// # Errors
    /// When its report asks for what its points do not vary.
    pub fn of(study: &Study) -> Result<Layout, TextError> {
        let curves = asked(study, "curves", &study.report.curves)?;
        if let Some(area) = study.report.x.as_deref().and_then(Area::named) {
            return Ok(Layout::of_designs(study, area, curves));
        }
        let axes = Axes::of(study, curves)?;
        let parts = if axes.names.is_empty() { groups::split(study, &axes.x) } else { None };
        let Some([own, others]) = parts else { return axes.layout() };
        Ok(Layout { others: vec![Layout::of(&others)?], ..Layout::of(&own)? })
    }

    /// Designs by their area: a chart for each combination of what is not the hardware's own, in it all designs, apart by what `curves`
    /// names.
    fn of_designs(study: &Study, area: Area, curves: Option<String>) -> Layout {
        let is_hardware = |name: &str| name == "platform" || name.starts_with("nvdla.");
        let told: Vec<&str> = study
            .varied
            .iter()
            .map(String::as_str)
            .filter(|name| !is_hardware(name) && differs(study, name))
            .collect();
        let told: Vec<&str> = match told.contains(&"network") {
            true => told,
            false => told.into_iter().chain(["network"]).collect(),
        };
        let mut charts = Charts::default();
        for point in &study.points {
            // What is no NVDLA has no place.
            let Some(place) = area.of_point(point, &study.folder, study.seed) else { continue };
            let title = title(point, &told, (area.name(), curves.as_deref()));
            let label = curves.as_ref().and_then(|name| point.get(name)).map_or_else(String::new, text);
            let distance = |number: usize| distance(study, &study.report.chosen, number);
            charts.put((title, label), Some(place), point.number, distance);
        }
        let (x, panels) = (area.name().to_owned(), charts.sorted());
        Layout { x, area: Some(area), names: Vec::new(), curves, panels, others: Vec::new() }
    }

    /// Returns this layout and those of the points that it leaves out.
    pub fn all(&self) -> Vec<&Layout> {
        std::iter::once(self).chain(self.others.iter().flat_map(Layout::all)).collect()
    }

    /// Returns the layout with a point that ran looked at closely in each chart: the nearest along the axis.
    #[must_use]
    pub fn looking_at(mut self, ran: &dyn Fn(usize) -> bool) -> Layout {
        for panel in self.panels.iter_mut().filter(|panel| !ran(panel.chosen)) {
            let all: Vec<(f64, usize)> =
                panel.curves.iter().flat_map(|curve| &curve.points).copied().collect();
            let own = all.iter().find(|(_, number)| *number == panel.chosen).map_or(0.0, |(place, _)| *place);
            let near = all.into_iter().filter(|(_, number)| ran(*number));
            let nearest = near.min_by(|a, b| (a.0 - own).abs().total_cmp(&(b.0 - own).abs()));
            panel.chosen = nearest.map_or(panel.chosen, |(_, number)| number);
        }
        self.others = self.others.into_iter().map(|other| other.looking_at(ran)).collect();
        self
    }

    /// Returns the layout with the first of these points that each chart has looked at closely in it.
    #[must_use]
    pub fn looking_closely_at(mut self, numbers: &[usize]) -> Layout {
        for panel in &mut self.panels {
            let has = |number: &&usize| {
                panel.curves.iter().flat_map(|curve| &curve.points).any(|(_, own)| own == *number)
            };
            panel.chosen = numbers.iter().find(has).copied().unwrap_or(panel.chosen);
        }
        self.others = self.others.into_iter().map(|other| other.looking_closely_at(numbers)).collect();
        self
    }

    /// The word at a place along the axis, if there are words along it.
    pub fn name(&self, place: f64) -> Option<&str> {
        self.names.get(place as usize).map(String::as_str)
    }

    /// Returns the place of a point along the axis of its chart.
    pub fn place_of(&self, number: usize) -> Option<f64> {
        let mut all = self.panels.iter().flat_map(|panel| &panel.curves).flat_map(|curve| &curve.points);
        all.find(|point| point.1 == number).map(|point| point.0)
    }

    /// Points that are looked at closely.
    pub fn chosen(&self) -> impl Iterator<Item = usize> + '_ {
        self.all().into_iter().flat_map(|layout| &layout.panels).map(|panel| panel.chosen)
    }
}

/// Returns how far the point of that number is from values that are chosen. Points are in the order of their numbers.
fn distance(study: &Study, chosen: &Chosen, number: usize) -> f64 {
    let at = study.points.binary_search_by_key(&number, |point| point.number);
    at.map_or(f64::MAX, |at| chosen.distance(&study.points[at]))
}

/// Returns what the points of a chart have in common, in words.
fn title(point: &Point, told: &[&str], (x, curves): (&str, Option<&str>)) -> String {
    let rest = point.all().filter(|(name, _)| told.contains(&name.as_str()));
    let rest = rest.filter(|(name, _)| name != x && Some(name.as_str()) != curves);
    // Together with an axis goes what changes with it.
    let own = rest.filter(|(name, value)| {
        !goes_with(point, name, value, x) && !curves.is_some_and(|it| goes_with(point, name, value, it))
    });
    // Network and platform come first.
    let (subjects, others): (Vec<_>, Vec<_>) =
        own.partition(|(name, _)| matches!(name.as_str(), "network" | "platform"));
    let subjects = ["network", "platform"].into_iter().filter_map(|subject| {
        let (_, value) = subjects.iter().find(|(name, _)| name == subject)?;
        Some(text(value))
    });
    let others = others.into_iter().map(|(name, value)| valued(name, &text(value)));
    let words: Vec<String> = subjects.chain(others).collect();
    if words.is_empty() { "all points".to_owned() } else { words.join(" · ") }
}

/// Returns true if a parameter makes points differ. Network and platform are always named.
fn differs(study: &Study, name: &str) -> bool {
    let first = study.points.first().and_then(|point| point.get(name));
    name == "network" || name == "platform" || study.points.iter().any(|point| point.get(name) != first)
}

/// Returns true if a parameter is the counterpart of another: writes of reads.
fn goes_with(point: &Point, name: &str, value: &Value, other: &str) -> bool {
    name.replace("write", "read") == other && point.get(other) == Some(value)
}

/// Parameters that may have an axis: not what has one, nor what changes together with it.
fn free<'a>(study: &'a Study, taken: &'a [Option<&str>]) -> impl DoubleEndedIterator<Item = &'a String> {
    let is_taken = |name: &str| taken.iter().flatten().any(|it| *it == name || follows(study, name, it));
    study.varied.iter().filter(move |name| !is_taken(name))
}

/// Returns true if a parameter has one value for each value of another, as what a key names with commas between.
fn follows(study: &Study, name: &str, other: &str) -> bool {
    // By the values as they are written: there may be as many as points.
    let mut seen: HashMap<String, &Value> = HashMap::new();
    study.points.iter().all(|point| match (point.get(other), point.get(name)) {
        (Some(is), Some(value)) => *seen.entry(is.to_string()).or_insert(value) == value,
        _ => false,
    })
}

/// The usual parameter if it is varied, or else the one with the most values that are numbers.
fn usual(study: &Study, name: &str, taken: &[Option<&str>]) -> Option<String> {
    let counted =
        free(study, taken).map(|name| (values(study, name).len(), name)).filter(|(count, _)| *count > 1);
    let best = counted.rev().max_by_key(|(count, of)| (*of == name, *count));
    best.map(|(_, name)| name.clone())
}

/// The numbers that a parameter takes, in order.
fn values(study: &Study, name: &str) -> Vec<f64> {
    let mut values: Vec<f64> =
        study.points.iter().filter_map(|point| point.get(name).and_then(number)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// The parameter with the most values, of whatever kind they are.
fn most_words(study: &Study, taken: &[Option<&str>]) -> Option<String> {
    let counted =
        free(study, taken).map(|name| (words(study, name).len(), name)).filter(|(count, _)| *count > 1);
    // Of several the first.
    counted.rev().max_by_key(|(count, _)| *count).map(|(_, name)| name.clone())
}

/// The values that a parameter takes as words, in the order of the points.
fn words(study: &Study, name: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    study.points.iter().map(|point| word(point, name)).filter(|word| seen.insert(word.clone())).collect()
}

/// The value of a parameter as a word.
fn word(point: &Point, name: &str) -> String {
    match (point.get(name), name) {
        (Some(value), _) => text(value),
        (None, "platform") => point.platform(),
        (None, _) => "as it is".to_owned(),
    }
}

/// Looks for the middle of the values of a parameter that nothing else is asked of.
fn middle(study: &Study, chosen: &mut Chosen, name: &str) {
    let values = values(study, name);
    if let Some(value) = values.get(values.len() / 2) {
        chosen.or(name, Value::Float(*value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn study(rest: &str) -> Study {
        let text = format!("name = 's'\n{rest}");
        Study::parse(&text, Path::new("")).unwrap()
    }

    #[test]
    fn latency_is_along_the_axis_and_limits_are_curves() {
        let study = study(
            "[sweep]\nplatform = ['nv_small', 'nv_large']\n'dbb0.read_latency' = [400, 50]\n\
             'dbb0.read_outstanding, dbb0.write_outstanding' = [4, 8, 16]",
        );
        let layout = Layout::of(&study).unwrap();
        assert_eq!((layout.x.as_str(), layout.curves.as_deref()), (USUAL_X, Some(USUAL_CURVES)));
        let titles: Vec<&str> = layout.panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["nv_small", "nv_large"]);
        let curve = &layout.panels[1].curves[2];
        assert_eq!((curve.label.as_str(), &curve.points[..]), ("16", &[(50.0, 12), (400.0, 9)][..]));
        // The middle of the values, the larger of two.
        assert_eq!(layout.panels[0].chosen, 2);
    }

    #[test]
    fn what_changes_together_with_the_axis_is_no_curve_and_in_no_title() {
        let study = study("[report]\nx = 'a'\n[sweep]\n'a, b' = [[1, 8], [2, 16], [3, 32]]\nnetwork = 'n'");
        let layout = Layout::of(&study).unwrap();
        assert_eq!((layout.curves, layout.panels.len()), (None, 1));
        assert_eq!((layout.panels[0].title.as_str(), layout.panels[0].curves[0].points.len()), ("n", 3));
    }

    #[test]
    fn what_is_the_same_everywhere_is_in_no_title() {
        let study = study("[sweep]\nnetwork = 'a'\nx = [1, 2, 3]\ny = [1, 2]\nz = ['p', 'q']\nw = 7");
        let layout = Layout::of(&study).unwrap();
        let titles: Vec<&str> = layout.panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["a · z p", "a · z q"]);
    }

    #[test]
    fn a_report_says_otherwise() {
        let study =
            study("[report]\nx = 'b'\nchosen = { a = 3, b = 100 }\n[sweep]\na = [1, 2, 3]\nb = [10, 100]");
        let layout = Layout::of(&study).unwrap();
        assert_eq!((layout.x.as_str(), layout.curves.as_deref()), ("b", Some("a")));
        assert_eq!(layout.panels[0].chosen, 6);
    }

    #[test]
    fn designs_of_a_network_are_in_one_chart_by_their_area() {
        let study = study(
            "[report]\nx = 'area.macs'\nchosen = { platform = 'nv_large' }\n[sweep]\nnetwork = ['a', 'b']\n\
             platform = ['nv_large', 'nv_small']\n'nvdla.cbuf_banks' = [8, 16]",
        );
        let layout = Layout::of(&study).unwrap();
        let titles: Vec<&str> = layout.panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!((titles, layout.area), (vec!["a", "b"], Some(Area::Macs)));
        let panel = &layout.panels[1];
        assert_eq!(panel.curves[0].points, [(64.0, 7), (64.0, 8), (2048.0, 5), (2048.0, 6)]);
        assert_eq!(panel.chosen, 5);
    }

    #[test]
    fn what_is_ideal_stands_on_no_curve() {
        let text = "[sweep]\nnetwork = ['a', 'b']\n'dbb0.read_latency' = [50, 400]\n'dbb0.read_outstanding' = [4, 8]\n[report]\nideal = ";
        let layout = Layout::of(&study(&format!("{text}{{ 'dbb0.read_latency' = 1 }}"))).unwrap();
        let panel = &layout.panels[1];
        assert_eq!((panel.curves[1].points.len(), layout.panels.len()), (2, 2));
        let ideal = |curve, point| IdealPoint { curve, place: 1.0, point };
        assert_eq!(panel.ideals, [ideal(0, 11), ideal(1, 12)]);
        let wrong = Layout::of(&study(&format!("{text}{{ network = 'c' }}"))).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "line 7: [report] ideal: it says values of dbb0.read_latency, which is along the axis"
        );
    }

    #[test]
    fn what_is_not_varied_is_no_axis() {
        let study = study("[report]\nx = 'c'\n[sweep]\na = [1, 2]");
        assert_eq!(
            Layout::of(&study).unwrap_err().to_string(),
            "line 3: [report] x = \"c\": [sweep] varies a"
        );
    }

    #[test]
    fn a_study_of_one_point_has_a_chart() {
        let layout = Layout::of(&study("[sweep]\nnetwork = 'digits'")).unwrap();
        assert_eq!((layout.panels.len(), layout.panels[0].chosen), (1, 1));
    }

    #[test]
    fn words_have_places_in_their_order_and_not_in_a_curves() {
        let study = study(
            "[[sweep]]\nnetwork = ['digits', 'lenet', 'alexnet']\nplatform = 'nv_large'\n\
             [[sweep]]\nnetwork = ['lenet', 'alexnet']\nplatform = 'nv_small'",
        );
        let layout = Layout::of(&study).unwrap();
        assert_eq!((layout.x.as_str(), layout.curves.as_deref()), ("network", Some("platform")));
        assert_eq!(layout.names, ["digits", "lenet", "alexnet"]);
        let curves: Vec<(&str, &[(f64, usize)])> =
            layout.panels[0].curves.iter().map(|curve| (curve.label.as_str(), &curve.points[..])).collect();
        // The second curve has no point at the first word.
        assert_eq!(
            curves,
            [("nv_large", &[(0.0, 1), (1.0, 2), (2.0, 3)][..]), ("nv_small", &[(1.0, 4), (2.0, 5)][..])]
        );
        assert_eq!((layout.name(2.0), layout.panels.len()), (Some("alexnet"), 1));
    }

    #[test]
    fn the_words_that_are_asked_for_are_along_the_axis() {
        let study = study(
            "[report]\nx = 'platform'\n[[sweep]]\nplatform = ['nv_small', 'nv_large']\nlatency = [1, 2]\n\
             [[sweep]]\nlatency = [1, 2]\nnetwork = 'digits'",
        );
        let layout = Layout::of(&study).unwrap();
        assert_eq!((layout.names.len(), layout.curves.as_deref()), (2, Some("latency")));
        // A point that names no platform has the one that it runs on.
        assert!(layout.panels.iter().flat_map(|panel| &panel.curves).all(|it| it.points[0].0 < 2.0));
    }

    #[test]
    fn numbers_have_no_names() {
        let layout = Layout::of(&study("[sweep]\nnetwork = ['a', 'b']\nx = ['10 ns', '20 ns']")).unwrap();
        assert_eq!((layout.x.as_str(), layout.names.len(), layout.name(10.0)), ("x", 0, None));
    }

    #[test]
    fn what_a_study_is_of_is_told_also_where_it_is_fixed() {
        let study = study(
            "[fixed]\nnetwork = 'digits'\nplatform = 'nv_large'\n[sweep]\n'dbb0.read_latency' = [10, 20]",
        );
        assert_eq!(Layout::of(&study).unwrap().panels[0].title, "digits · nv_large");
    }

    #[test]
    fn a_value_that_has_no_place_on_the_axis_has_a_chart_of_its_own() {
        let study = study("[report]\nx = 'a'\n[sweep]\na = [5, 'fast', 7]");
        let panels = Layout::of(&study).unwrap().panels;
        let shown: Vec<(String, usize)> =
            panels.iter().map(|panel| (panel.title.clone(), panel.curves[0].points.len())).collect();
        assert_eq!(shown, [("all points".to_owned(), 2), ("all points · a fast".to_owned(), 1)]);
    }

    #[test]
    fn points_of_another_sweep_have_axes_of_their_own() {
        let study = study(
            "[[sweep]]\nnetwork = ['a', 'b']\n'dbb0.read_latency' = [50, 100, 200]\n'dbb0.read_outstanding' = [4, 8]\n\
             [[sweep]]\nnetwork = ['a', 'b']\n'dbb0.bandwidth' = ['1 GB/s', '2 GB/s', '4 GB/s']\nplacement = ['dram', 'all']\n\
             [report]\nideal = { 'dbb0.read_latency' = 1 }\nchosen = { 'dbb0.read_latency' = 200 }\n",
        );
        let layout = Layout::of(&study).unwrap();
        let all: Vec<(&str, Option<&str>, usize)> =
            layout.all().iter().map(|it| (it.x.as_str(), it.curves.as_deref(), it.panels.len())).collect();
        assert_eq!(all, [(USUAL_X, Some(USUAL_CURVES), 2), ("dbb0.bandwidth", None, 4)]);
        let titles: Vec<&str> = layout.others[0].panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(
            titles,
            ["a · placement dram", "a · placement all", "b · placement dram", "b · placement all"]
        );
        assert_eq!(layout.others[0].panels[0].curves[0].points, [(1e9, 13), (2e9, 15), (4e9, 17)]);
        // Numbers are those of the whole study, and what is ideal stays with its chart.
        assert_eq!(layout.chosen().collect::<Vec<_>>(), [6, 12, 15, 16, 21, 22]);
        assert_eq!(layout.panels[1].ideals.len(), 2);
    }

    /// Of a layout and those of its other points: what is along the axis, the numbers of the points on the first chart's curves, and those
    /// of its ideal points.
    fn axes(layout: &Layout) -> Vec<(&str, Vec<usize>, Vec<usize>)> {
        let of = |layout: &Layout| {
            let panel = &layout.panels[0];
            let points: Vec<usize> =
                panel.curves.iter().flat_map(|curve| &curve.points).map(|point| point.1).collect();
            let ideals: Vec<usize> = panel.ideals.iter().map(|ideal| ideal.point).collect();
            (points, ideals)
        };
        let all = layout.all().into_iter().map(|layout| (layout.x.as_str(), of(layout)));
        all.map(|(x, (points, ideals))| (x, points, ideals)).collect()
    }

    #[test]
    fn three_sweeps_have_three_axes() {
        let text = "[[sweep]]\nnetwork = 'a'\n'dbb0.read_latency' = [50, 100]\n\
                    [[sweep]]\nnetwork = 'a'\nq = [1, 2, 3]\n[[sweep]]\nnetwork = 'a'\nr = [1, 2]\n";
        let layout = Layout::of(&study(text)).unwrap();
        let expected =
            [(USUAL_X, vec![1, 2], vec![]), ("q", vec![3, 4, 5], vec![]), ("r", vec![6, 7], vec![])];
        assert_eq!(axes(&layout), expected);
        // What is ideal stays with its chart.
        let layout = Layout::of(&study(&format!("{text}[report]\nideal = {{ q = 9, r = 9 }}\n"))).unwrap();
        let expected =
            [(USUAL_X, vec![1, 2], vec![]), ("q", vec![3, 4, 5], vec![8]), ("r", vec![6, 7], vec![9])];
        assert_eq!(axes(&layout), expected);
    }

    #[test]
    fn a_sweep_that_varies_nothing_has_a_chart_with_one_point() {
        let study = study(
            "[fixed]\nnetwork = 'digits'\nplatform = 'nv_large'\n[[sweep]]\n'dbb0.read_latency' = [50, 100]\n[[sweep]]\n",
        );
        let layout = Layout::of(&study).unwrap();
        assert_eq!(axes(&layout), [(USUAL_X, vec![1, 2], vec![]), ("network", vec![3], vec![])]);
        let other = &layout.others[0];
        assert_eq!(
            (other.names.as_slice(), other.panels[0].title.as_str()),
            (&["digits".to_owned()][..], "nv_large")
        );
        assert_eq!(layout.chosen().collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn of_curves_that_are_words_the_last_is_looked_at() {
        let study = study(
            "[sweep]\nx = [1, 2, 3]\nplacement = ['dram', 'activations', 'all']\n[report]\ncurves = 'placement'",
        );
        assert_eq!(Layout::of(&study).unwrap().chosen().collect::<Vec<_>>(), [6]);
    }

    #[test]
    fn the_nearest_point_that_ran_stands_in_for_a_chosen_one_that_failed() {
        let study = study("[report]\nx = 'a'\nchosen = { a = 3 }\n[sweep]\na = [1, 2, 3]");
        let layout = Layout::of(&study).unwrap();
        assert_eq!(layout.panels[0].chosen, 3);
        let looked = |failed: &'static [usize]| {
            layout.clone().looking_at(&|number| !failed.contains(&number)).panels[0].chosen
        };
        assert_eq!([looked(&[]), looked(&[3]), looked(&[2, 3]), looked(&[1, 2, 3])], [3, 2, 1, 3]);
    }
}
