//! A study as a person writes it down.

use super::energy::Coefficients;
use super::named_once::{self, Section};
use super::places::{Places, is_value};
use super::point::{self, Chosen, Point};
use super::quantity::{Quantity, time_and_number};
use super::search::{self, Goal, Search};
use super::sweep::{Assignment, Product};
use serde::Deserialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use toml::{Table, Value};
use vp_core::Time;
use vp_models::bounded_file::read_description;
use vp_models::suggestion::hint;
use vp_models::toml_text::{KeyError, TextError, TomlText};

/// A study: which points there are, and what its report shows of them.
///
/// ```
/// use vp_study::Study;
/// let text = r#"
///     name = "latency"
///     [sweep]
///     network = "digits"
///     platform = ["nv_small", "nv_large"]
///     "dbb0.read_latency" = [50, 400]
/// "#;
/// let study = Study::parse(text, "".as_ref()).unwrap();
/// assert_eq!(study.points.len(), 4);
/// assert_eq!(study.points[3].to_string(), "network=digits platform=nv_large dbb0.read_latency=400");
/// ```
#[derive(Clone, Debug)]
pub struct Study {
    /// Name of the study.
    pub name: String,
    /// The question, for the head of the report.
    pub about: Option<String>,
    /// Seed from which inputs and drawn latencies start.
    pub seed: u64,
    /// Inferences at each point.
    pub frames: u32,
    /// A point that takes longer than this, in simulated time, has failed.
    pub limit: Option<Time>,
    /// Contents of the report.
    pub report: Report,
    /// Costs of operations, if the study asks for estimates of energy.
    pub energy: Option<Coefficients>,
    /// The points, each once, in the order of the file. Of a search both ends of its range; [`Study::explored`] has more.
    pub points: Vec<Point>,
    /// The search, if not every point is run.
    pub search: Option<Search>,
    /// The combinations of [sweep], each of which is searched.
    pub(super) cases: Vec<Vec<Assignment>>,
    /// Number of the points, from the first, that are combinations of [sweep]; those behind them are the ideal ones that are none.
    pub(super) swept: usize,
    /// Values of [fixed].
    pub(super) fixed: Vec<Assignment>,
    /// Places in the study's file that say what.
    pub places: Places,
    /// Names of the parameters that vary, in the order of the file.
    pub varied: Vec<String>,
    /// The folder that paths in it are relative to.
    pub folder: PathBuf,
}

/// Contents of a report.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Report {
    /// The parameter along the horizontal axis.
    pub x: Option<String>,
    /// The parameter with a curve for each of its values.
    pub curves: Option<String>,
    /// A knee is where frames/s fall below this share of what the curve begins with.
    pub knee: f64,
    /// Values to which the point of each chart that is looked at closely is the nearest.
    pub chosen: Chosen,
    /// Values of parameters that are ideal: what curves are held against is run with these. The best point on the axis if none are said.
    pub ideal: Table,
    /// True for a section with the latency over bandwidth of each memory among the points.
    pub memory_curve: bool,
}

impl Default for Report {
    fn default() -> Report {
        Report {
            x: None,
            curves: None,
            knee: 0.9,
            chosen: Chosen::default(),
            ideal: Table::new(),
            memory_curve: false,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    about: Option<String>,
    #[serde(default = "one")]
    seed: u64,
    #[serde(default = "one_frame")]
    frames: u32,
    limit: Option<String>,
    #[serde(default)]
    fixed: Table,
    sweep: Option<Sweeps>,
    search: Option<search::Written>,
    #[serde(default)]
    report: Report,
    /// Read by [`Coefficients::of_study`].
    #[serde(rename = "energy")]
    _energy: Option<Value>,
}

fn one() -> u64 {
    1
}

fn one_frame() -> u32 {
    1
}

/// One product, or several after each other.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a section [sweep], or several [[sweep]]")]
enum Sweeps {
    Several(Vec<Table>),
    One(Table),
}

/// More points than this are a slip of the pen.
const MOST_POINTS: usize = 1_000_000;

impl Study {
    /// Reads a study from a file.
    ///
    /// # Errors
    /// Says what is wrong with the file.
    pub fn load(path: &Path) -> Result<Study, TextError> {
        let text = read_description(path).map_err(|error| TextError::unreadable(path, error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Study::parse(&text, folder).map_err(|error| error.in_file(path))
    }

    /// Reads a study; paths in it are relative to this folder.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(text: &str, folder: &Path) -> Result<Study, TextError> {
        let text = TomlText::parse(text)?;
        let Written { name, about, seed, frames, limit, fixed, sweep, search, report, .. } = text.read()?;
        let energy = Coefficients::of_study(&text, folder)?;
        let places = Places::of(&text);
        let wrong = |key: &str, why: String| text.wrong(key, why);
        if !(0.0..1.0).contains(&report.knee) {
            let why = format!("knee = {}: a share of one, such as 0.9", report.knee);
            return Err(wrong("report.knee", why));
        }
        if !(1..=100_000).contains(&frames) {
            return Err(wrong("frames", format!("frames = {frames}: from 1 to 100000")));
        }
        let limit = limit
            .map(|text| text.parse::<Time>().map_err(|error| format!("limit = \"{text}\": {error}")))
            .transpose()
            .map_err(|why| wrong("limit", why))?;
        let search = search.as_ref().map(Search::of).transpose().map_err(|error| {
            let KeyError { key, what } = error;
            wrong(&format!("search.{key}"), format!("{key}: {what}"))
        })?;
        let products = products(sweep, search.is_some(), &places)?;
        let mut study = Study {
            name,
            about,
            seed,
            frames,
            limit,
            report,
            energy,
            points: Vec::new(),
            search,
            cases: Vec::new(),
            swept: 0,
            fixed: constants(fixed, &places)?,
            places: places.clone(),
            varied: varied(&products),
            folder: folder.to_owned(),
        };
        study.check_named_once()?;
        study.multiply(&products)?;
        // Both are tables, and what is wrong says of which section.
        let in_report = |key: &str, why: String| TextError { within: String::new(), ..wrong(key, why) };
        study.check_units(&in_report)?;
        study.check_chosen().map_err(|why| in_report("report.chosen", why))?;
        study.add_ideals().map_err(|why| in_report("report.ideal", why))?;
        if let Some(Search { names, goal, .. }) = &study.search {
            study.varied.extend(names.iter().cloned());
            // Knees are of the goal, where it is a share.
            if let (Goal::Share(share), None) = (goal, study.places.key("report.knee")) {
                study.report.knee = *share;
            }
            study.points = study.explored(|_| None).0.points;
        }
        Ok(study)
    }

    /// Combinations of `[sweep]`, each of which is searched if there is a search.
    pub fn combinations(&self) -> usize {
        self.cases.len()
    }

    /// Refuses a parameter that two sections name.
    fn check_named_once(&self) -> Result<(), TextError> {
        let section = |name, verb, parameters| Section { name, verb, parameters };
        let searched = self.search.iter().flat_map(|search| &search.names);
        let sections = [
            section("fixed", "sets", self.fixed.iter().map(|(name, _)| name.as_str()).collect()),
            section("sweep", "varies", self.varied.iter().map(String::as_str).collect()),
            section("search", "searches", searched.map(String::as_str).collect()),
        ];
        named_once::check(&sections, &self.places)
    }

    /// Refuses times beside numbers of clock cycles: on one axis they would be shown in one unit.
    fn check_units(&self, in_report: &impl Fn(&str, String) -> TextError) -> Result<(), TextError> {
        let ideal = flat(self.report.ideal.clone());
        for name in &self.varied {
            let values = || self.points.iter().filter_map(|point| point.get(name));
            if let Some((time, number)) = time_and_number(values()) {
                let line = self.places.parameter(name, &point::text(number)).map(|place| place.line);
                let why = format!(
                    "{name} is {time} and {number}: a time, and a number of clock cycles; give all of one kind"
                );
                return Err(TextError { line, ..TextError::whole(why) });
            }
            let chosen = self.report.chosen.all().map(|(of, value)| ("chosen", of, value));
            let ideal = ideal.iter().map(|(of, value)| ("ideal", of.as_str(), value));
            for (key, _, value) in chosen.chain(ideal).filter(|(_, of, _)| of == name) {
                if time_and_number(values().chain([value])).is_some() {
                    let example = values().next().map(Value::to_string).unwrap_or_default();
                    let why = format!(
                        "[report] {key} = {{ \"{name}\" = {value} }}: a time and a number of clock cycles are two kinds, and \
                         [sweep] has such as {example}"
                    );
                    return Err(in_report(&format!("report.{key}"), why));
                }
            }
        }
        Ok(())
    }

    /// Refuses to look closely at values of what no point has.
    fn check_chosen(&self) -> Result<(), String> {
        let searched = self.search.iter().flat_map(|search| &search.names);
        let searched_names: Vec<&str> = searched.clone().map(String::as_str).collect();
        let known: Vec<&str> = self
            .fixed
            .iter()
            .map(|(name, _)| name)
            .chain(&self.varied)
            .chain(searched)
            .map(String::as_str)
            .collect();
        let is_known = |name: &str| name == "platform" || known.contains(&name);
        if let Some(name) = self.report.chosen.all().map(|(name, _)| name).find(|name| !is_known(name)) {
            return Err(format!(
                "[report] chosen = {{ \"{name}\" }}: no point has it{}",
                hint(name, known.iter().copied())
            ));
        }
        // Of numbers the nearest is chosen; a word is there or not.
        for (name, value) in self.report.chosen.all() {
            let Some(word) = value.as_str().filter(|_| Quantity::of(value).is_none()) else { continue };
            let words: HashSet<&str> =
                self.points.iter().filter_map(|point| point.get(name)?.as_str()).collect();
            if name != "platform" && !searched_names.contains(&name) && !words.contains(word) {
                return Err(format!(
                    "[report] chosen = {{ \"{name}\" = \"{word}\" }}: no point has that{}",
                    hint(word, words.iter().copied())
                ));
            }
        }
        Ok(())
    }

    /// Adds points with the values that are ideal, for each combination of the others.
    fn add_ideals(&mut self) -> Result<(), String> {
        self.swept = self.points.len();
        let ideal = flat(std::mem::take(&mut self.report.ideal));
        for (name, _) in &ideal {
            if !self.varied.contains(name) {
                return Err(format!(
                    "[report] ideal = {{ \"{name}\" }}: [sweep] varies {}{}",
                    self.varied.join(", "),
                    hint(name, self.varied.iter().map(String::as_str))
                ));
            }
        }
        if self.search.is_some() && !ideal.is_empty() {
            return Err("[report] ideal: a search has a goal, and no ideal beside it".to_owned());
        }
        let mut known: HashSet<String> = self.points.iter().map(Point::to_string).collect();
        for at in 0..self.swept {
            let mut varied = self.points[at].varied.clone();
            for (name, value) in &mut varied {
                if let Some((_, wanted)) = ideal.iter().find(|(of, _)| of == name) {
                    *value = wanted.clone();
                }
            }
            let point = Point::new(self.points.len() + 1, varied, self.points[at].fixed.clone());
            if known.insert(point.to_string()) {
                self.points.push(point);
            }
        }
        self.report.ideal = ideal.into_iter().collect();
        Ok(())
    }

    /// Makes points of products, each once; of a search, combinations.
    fn multiply(&mut self, products: &[Product]) -> Result<(), TextError> {
        let count = products.iter().fold(0_usize, |sum, product| sum.saturating_add(product.count()));
        if count > MOST_POINTS {
            let many = if count == usize::MAX { String::new() } else { format!(" ({count})") };
            let why = format!("more than {MOST_POINTS} points{many}: the values of [sweep] are multiplied");
            return Err(TextError::whole(why));
        }
        let mut known = HashSet::new();
        for assignments in products.iter().flat_map(Product::points) {
            let point = Point::new(self.points.len() + 1, assignments, self.fixed.clone());
            if known.insert(point.to_string()) {
                self.cases.push(point.varied.clone());
                self.points.push(point);
            }
        }
        if self.points.is_empty() {
            let why = "there is nothing in [sweep]: name at least a network";
            return Err(TextError::whole(why));
        }
        Ok(())
    }
}

/// The products of `[sweep]`.
fn products(sweep: Option<Sweeps>, is_search: bool, places: &Places) -> Result<Vec<Product>, TextError> {
    let tables = match sweep {
        Some(Sweeps::Several(tables)) => tables,
        Some(Sweeps::One(table)) => vec![table],
        // What is searched needs no other parameter.
        None if is_search => vec![Table::new()],
        None => {
            let why = "there is no [sweep]: name at least a network, or say in [search] what is searched";
            return Err(TextError::whole(why));
        }
    };
    let product = |(number, table)| {
        Product::of(flat(table)).map_err(|error| {
            let line = places.line("sweep", number, error.at);
            TextError { line, ..TextError::whole(error) }
        })
    };
    tables.into_iter().enumerate().map(product).collect()
}

/// Returns the values of `[fixed]`.
fn constants(fixed: Table, places: &Places) -> Result<Vec<Assignment>, TextError> {
    let fixed = flat(fixed);
    if let Some(second) = named_once::repetition(fixed.iter().map(|(key, _)| key.as_str())) {
        let (line, what) = (places.line("fixed", 0, second.at), second.why());
        return Err(TextError {
            line,
            ..TextError::whole(format!("[fixed] `{}`: {what}", fixed[second.at].0))
        });
    }
    Ok(fixed)
}

/// The names of the parameters that vary, each once.
fn varied(products: &[Product]) -> Vec<String> {
    let mut varied: Vec<String> = Vec::new();
    for name in products.iter().flat_map(Product::names) {
        if !varied.iter().any(|known| known == name) {
            varied.push(name.to_owned());
        }
    }
    varied
}

/// Sections within a table are written with dots: `[sweep.dbb0] read_latency` is `dbb0.read_latency`. Ranges are values.
fn flat(table: Table) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (name, value) in table {
        match value {
            Value::Table(section) if !is_value(|key| section.contains_key(key)) => {
                let inner = flat(section).into_iter();
                all.extend(inner.map(|(inner, value)| (format!("{name}.{inner}"), value)));
            }
            value => all.push((name, value)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(text: &str) -> Result<Study, String> {
        Study::parse(text, Path::new("")).map_err(|error| error.to_string())
    }

    fn points(text: &str) -> Vec<String> {
        study(text).unwrap().points.iter().map(ToString::to_string).collect()
    }

    /// The number of points is known before there is any.
    #[test]
    fn more_points_than_a_study_has_are_counted_and_not_made() {
        let axis = |name: &str| format!("\"{name}\" = {{ from = 1, to = 1000, points = 1000 }}\n");
        let axes = |count: usize| (0..count).map(|at| axis(&format!("dbb0.p{at}"))).collect::<String>();
        let refusal = |text: &str| study(text).unwrap_err();
        let many = refusal(&format!("name = 'x'\n[sweep]\n{}", axes(4)));
        assert!(many.contains("more than 1000000 points (1000000000000)"), "{many}");
        // Beyond all numbers, too.
        let many = refusal(&format!("name = 'x'\n[sweep]\n{}", axes(9)));
        assert!(many.contains("more than 1000000 points:"), "{many}");
        let both = format!("[[sweep]]\n{}[[sweep]]\n{}", axes(2), axes(2));
        let several = refusal(&format!("name = 'x'\n{}", both));
        assert!(several.contains("more than 1000000 points (2000000)"), "{several}");
        let searched = "[search]\nleast = 'dbb0.q'\nfrom = 1\nto = 9\nshare = 0.5\n";
        let many = refusal(&format!("name = 'x'\n{searched}[sweep]\n{}", axes(3)));
        assert!(many.contains("more than 1000000 points (1000000000)"), "{many}");
        // A value that stands twice is none more.
        let same = format!("name = 'x'\n[sweep]\nnetwork = ['digits'{}]", ", 'digits'".repeat(2_000));
        assert_eq!(points(&same).len(), 1);
    }

    #[test]
    fn several_products_follow_each_other_and_no_point_comes_twice() {
        let text = "name = 's'\n[[sweep]]\nnetwork = 'digits'\nx = [1, 2]\n[[sweep]]\nnetwork = 'digits'\nx = [2, 3]\ny = 1";
        assert_eq!(
            points(text),
            ["network=digits x=1", "network=digits x=2", "network=digits x=2 y=1", "network=digits x=3 y=1"]
        );
        let twice = "name = 's'\n[[sweep]]\nnetwork = 'a'\n[[sweep]]\nnetwork = ['a', 'b']";
        let study = study(twice).unwrap();
        assert_eq!(study.points.iter().map(|point| point.number).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn sections_and_dots_are_the_same() {
        let dots = points("name = 's'\n[sweep]\nnetwork = 'a'\n'dbb0.read_latency' = [1, 2]");
        let section = points(
            "name = 's'\n[sweep]\nnetwork = 'a'\n[sweep.dbb0]\nread_latency = { from = 1, to = 2, step = 1 }",
        );
        assert_eq!(dots, section);
    }

    #[test]
    fn a_parameter_is_named_in_one_section() {
        let refusal = |text: &str| study(&format!("name = 's'\n{text}")).unwrap_err();
        assert_eq!(
            refusal("[fixed]\nplatform = 'nv_full'\n[sweep]\nnetwork = 'a'\n'platform, x' = ['nv_small']"),
            "line 6: [sweep] varies platform, which [fixed] sets in line 3: name it in one of them"
        );
        assert_eq!(
            refusal("[sweep.dbb0]\nbandwidth = [1, 2]\n[fixed]\n'dbb0.bandwidth' = 3"),
            "line 5: [fixed] sets dbb0.bandwidth, which [sweep] varies in line 3: name it in one of them"
        );
        let search = "[search]\nleast = 'y, x'\nfrom = 1\nto = 9\nshare = 0.5";
        assert_eq!(
            refusal(&format!("[fixed]\nnetwork = 'a'\nx = 3\n{search}")),
            "line 6: [search] searches x, which [fixed] sets in line 4: name it in one of them"
        );
        assert_eq!(
            refusal("[sweep]\nx = 1\n'y, x' = [3]"),
            "line 4: `y, x`: x has values in another key: name it once"
        );
        assert_eq!(
            refusal("[sweep]\n'dbb0.x' = [1, 2]\ny = 1\n[sweep.dbb0]\nw = 1\nx = [3]"),
            "line 7: `dbb0.x`: dbb0.x has values in another key: name it once"
        );
        assert_eq!(
            refusal("[sweep.dbb0]\nx = [3]\n[sweep]\n'dbb0.x' = [1, 2]"),
            "line 5: `dbb0.x`: dbb0.x has values in another key: name it once"
        );
        assert_eq!(
            refusal("[[sweep]]\nx = 1\n[[sweep]]\n'x, x' = [[1, 2]]"),
            "line 5: `x, x`: it names x twice: name it once"
        );
        assert_eq!(
            refusal("[fixed]\nsram0.x = 3\n'dbb0.x' = 1\n[fixed.dbb0]\nx = 2\n[sweep]\nnetwork = 'a'"),
            "line 6: [fixed] `dbb0.x`: dbb0.x has values in another key: name it once"
        );
        assert_eq!(
            refusal("[fixed]\n'x, x' = 1\n[sweep]\nnetwork = 'a'"),
            "line 3: [fixed] `x, x`: it names x twice: name it once"
        );
        // What a second product leaves out is fixed there.
        assert!(study("name = 's'\n[[sweep]]\nx = [1, 2]\n[[sweep]]\nx = 3\ny = 4").is_ok());
    }

    #[test]
    fn times_beside_numbers_of_cycles_are_refused() {
        let refusal = |latencies: &str, report: &str| {
            let text = format!(
                "name = 's'\n[sweep]\nnetwork = 'a'\n'dbb0.read_latency' = {latencies}\n[report]\n{report}\n"
            );
            Study::parse(&text, Path::new("")).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(
            refusal("['50 ns', 100]", "").unwrap_err(),
            "line 4: dbb0.read_latency is \"50 ns\" and 100: a time, and a number of clock cycles; give all of one kind"
        );
        for (latencies, report, of) in [
            ("['50 ns', '1 us']", "ideal = { 'dbb0.read_latency' = 1 }", "ideal"),
            ("[50, 100]", "chosen = { 'dbb0.read_latency' = '60 ns' }", "chosen"),
        ] {
            let told = refusal(latencies, report).unwrap_err();
            assert!(told.starts_with(&format!("line 6: [report] {of} = ")), "{told}");
        }
        for (latencies, report) in [
            ("['50 ns', '1 us']", "ideal = { 'dbb0.read_latency' = '1 ns' }"),
            ("[50, 100]", "chosen = { 'dbb0.read_latency' = 60 }"),
        ] {
            refusal(latencies, report).unwrap();
        }
    }

    #[test]
    fn what_is_ideal_is_run_beside_what_is_swept() {
        let text = |latencies: &str| {
            format!(
                "name = 's'\n[sweep]\nnetwork = 'a'\n'dbb0.read_latency' = {latencies}\nx = [3, 4]\n[report]\nideal = {{ 'dbb0.read_latency' = 1 }}\n"
            )
        };
        let all = points(&text("[50, 400]"));
        let ideal = ["network=a dbb0.read_latency=1 x=3", "network=a dbb0.read_latency=1 x=4"];
        assert_eq!((all.len(), &all[4..]), (6, &ideal.map(str::to_owned)[..]));
        // What is swept anyway is run once.
        assert_eq!(points(&text("[1, 50]")).len(), 4);
        let told = study(&text("[50, 400]").replace("{ 'dbb0.read_latency'", "{ 'latency'")).unwrap_err();
        assert_eq!(
            told,
            "line 7: [report] ideal = { \"latency\" }: [sweep] varies network, dbb0.read_latency, x"
        );
    }

    #[test]
    fn refusals_say_what_would_be_right() {
        let refusal = |text: &str| study(text).unwrap_err();
        assert!(refusal("name = 's'").contains("sweep"));
        assert_eq!(refusal("name = 's'\n[sweep]\nx = []"), "line 3: `x`: there is no value in the list");
        assert_eq!(
            refusal(
                "name = 's'\n[[sweep]]\nx = [1]\n[[sweep]]\nd = { distribution = 'fixed', cycles = 1 }\nx = []"
            ),
            "line 6: `x`: there is no value in the list"
        );
        let report = "name = 's'\n[sweep]\nnetwork = 'a'\n[report]\n";
        assert_eq!(
            refusal(&format!("{report}knee = 2.0")),
            "line 5: [report] knee = 2: a share of one, such as 0.9"
        );
        assert_eq!(
            refusal(&format!("{report}chosen = {{ networc = 'b' }}")),
            "line 5: [report] chosen = { \"networc\" }: no point has it; nearest: network"
        );
        assert_eq!(
            refusal(&format!("{report}chosen = {{ network = 'aa' }}")),
            "line 5: [report] chosen = { \"network\" = \"aa\" }: no point has that"
        );
        assert!(refusal(&format!("{report}axis = 'y'")).contains("axis"));
        assert!(
            refusal("name = 's'\nlimit = '3 days'\n[sweep]\nnetwork = 'a'").contains("limit = \"3 days\"")
        );
        assert!(refusal("name = 's'\nframes = 0\n[sweep]\nnetwork = 'a'").starts_with("line 2: frames = 0"));
        let search =
            "name = 's'\n[fixed]\nnetwork = 'a'\n[search]\nleast = 'x'\nfrom = 1\nto = 9\nshare = 1.5";
        assert!(
            refusal(search).starts_with("line 8: [search] share: a share of the frames/s"),
            "{}",
            refusal(search)
        );
    }
}
