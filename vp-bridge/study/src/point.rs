//! A point of a study: the parameters, and the platform and the network that follow from them.

use super::quantity::{Quantity, QuantityKind};
use super::sweep::Assignment;
use serde::Deserialize;
use std::fmt;
use std::path::Path;
use toml::{Table, Value};
use vp_host::network::{Copies, Placement, PlanOptions};
use vp_models::platform::Description;
use vp_models::units::parse_size;

/// A point: values for parameters. `network` names what runs, `platform` on what, `network.…` a value in the network's file, `batch` how
/// many frames at once, `placement` what is kept in SRAM, `placement_limit` how much of it and `copies` whether BDMA copies into it; all others are
/// the platform's own, as `--set` has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Number of the point in the study, from one.
    pub number: usize,
    /// Values that vary, in the order of the file.
    pub varied: Vec<Assignment>,
    /// Values that are the same at all points.
    pub fixed: Vec<Assignment>,
}

/// Values that a point should be near to.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(transparent)]
pub struct Chosen(Table);

/// The platform that a point has if it names none.
pub const DEFAULT_PLATFORM: &str = "nv_small";

/// Parameters that are no platform's, beside those of the network.
const OWN: [&str; 6] = ["network", "platform", "batch", "placement", "placement_limit", "copies"];

impl Point {
    pub(super) fn new(number: usize, varied: Vec<Assignment>, fixed: Vec<Assignment>) -> Point {
        Point { number, varied, fixed }
    }

    /// The value of a parameter that it sets.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.all().find(|(set, _)| set == name).map(|(_, value)| value)
    }

    /// All it sets: what varies first.
    pub fn all(&self) -> impl Iterator<Item = &Assignment> {
        self.varied.iter().chain(&self.fixed)
    }

    /// All it sets in the order in which it is to be set: a parameter that holds another (`dbb0.traffic` holds `dbb0.traffic.gen.rate`) comes
    /// before it, wherever the two are written, because it replaces all that it holds.
    fn outer_first(&self) -> Vec<&Assignment> {
        let mut all: Vec<&Assignment> = self.all().collect();
        all.sort_by_key(|(name, _)| name.matches('.').count());
        all
    }

    /// The network's name or path.
    ///
    /// # Errors
    /// When it names none.
    pub fn network(&self) -> Result<&str, String> {
        let name = self.get("network").ok_or("no `network` is named: add one to [sweep] or [fixed]")?;
        name.as_str().ok_or_else(|| format!("network = {name}: a name or a path"))
    }

    /// Values in the network's file, and what they become.
    pub fn network_settings(&self) -> Vec<(&str, &Value)> {
        let all = self.outer_first().into_iter();
        all.filter_map(|(name, value)| Some((name.strip_prefix("network.")?, value))).collect()
    }

    /// Frames that it takes at once.
    ///
    /// # Errors
    /// When that is no number of frames.
    pub fn batch(&self) -> Result<u32, String> {
        let Some(value) = self.get("batch") else { return Ok(1) };
        let frames = value.as_integer().and_then(|frames| u32::try_from(frames).ok()).filter(|it| *it > 0);
        frames.ok_or_else(|| format!("batch = {value}: a number of frames, from 1 on"))
    }

    /// Returns what the point keeps in SRAM.
    ///
    /// # Errors
    /// When that is no placement.
    pub fn placement(&self) -> Result<Placement, String> {
        let Some(value) = self.get("placement") else { return Ok(Placement::default()) };
        text(value).parse().map_err(|error| format!("placement: {error}"))
    }

    /// Returns whether the point has anything copied into SRAM, if it says so.
    ///
    /// # Errors
    /// When that is neither of the words.
    pub fn copies(&self) -> Result<Option<Copies>, String> {
        let copies = |value: &Value| text(value).parse().map_err(|error| format!("copies: {error}"));
        self.get("copies").map(copies).transpose()
    }

    /// Returns how the point's network is planned.
    ///
    /// # Errors
    /// When one of its values makes no plan.
    pub fn plan_options(&self) -> Result<PlanOptions, String> {
        let bytes = |value: &Value| {
            let bytes = value.as_integer().and_then(|bytes| u64::try_from(bytes).ok());
            let bytes = bytes.or_else(|| parse_size(value.as_str()?).ok());
            bytes.ok_or_else(|| {
                format!("placement_limit = {value}: a number of bytes, or a size such as \"256 KiB\"")
            })
        };
        let sram_limit = self.get("placement_limit").map(bytes).transpose()?;
        let (placement, copies) = (self.placement()?, self.copies()?);
        Ok(PlanOptions { frames: self.batch()?, placement, sram_limit, copies, ends_apart: false })
    }

    /// The platform's name or path.
    pub fn platform(&self) -> String {
        self.get("platform").map_or_else(|| DEFAULT_PLATFORM.to_owned(), text)
    }

    /// Returns what runs on what: points of one kind take about as long as each other.
    pub fn kind(&self) -> String {
        format!("{} on {}", self.get("network").map_or_else(String::new, text), self.platform())
    }

    /// Returns what changes in the platform, as `--set` takes it.
    fn platform_settings(&self) -> Vec<String> {
        let own = |name: &str| !OWN.contains(&name) && !name.starts_with("network.");
        let own = self.outer_first().into_iter().filter(|(name, _)| own(name));
        own.map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// The platform, and the settings that made it of the one named. Drawn latencies start at this seed and arithmetic is
    /// left out, where the point says nothing else.
    ///
    /// # Errors
    /// Why there is no such platform.
    pub fn description(&self, folder: &Path, seed: u64) -> Result<(Description, Vec<String>), String> {
        let base = platform_named(&self.platform(), folder)?;
        let mut settings = self.platform_settings();
        // Time does not depend on results, and a study asks for time.
        if self.get("arithmetic").is_none() {
            settings.push("arithmetic=skipped".to_owned());
        }
        // What a description has already needs no setting.
        let seeds = [("dbb0.seed", base.dbb0.seed), ("sram0.seed", base.sram0.seed)];
        let seeds = seeds.into_iter().filter(|&(name, is)| self.get(name).is_none() && is != seed);
        settings.extend(seeds.map(|(name, _)| format!("{name}={seed}")));
        let description =
            base.with(settings.iter().map(String::as_str)).map_err(|error| error.to_string())?;
        description.check().map_err(|error| error.to_string())?;
        Ok((description, settings))
    }
}

/// A built-in platform, or one from a file.
fn platform_named(name: &str, folder: &Path) -> Result<Description, String> {
    let built_in = Description::named(name);
    let path = folder.join(name);
    match built_in {
        Ok(description) => Ok(description),
        Err(error) if !path.exists() => Err(error.to_string()),
        Err(_) => Description::load(&path).map_err(|error| error.to_string()),
    }
}

/// A value as people write it: text without quotes.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a value as a number, if it is one: a time counts in nanoseconds, a rate in bytes a second.
pub(super) fn number(value: &Value) -> Option<f64> {
    let quantity = Quantity::of(value)?;
    Some(if quantity.kind == QuantityKind::Time { quantity.number / 1e3 } else { quantity.number })
}

/// Returns true if a value is a time.
pub(super) fn is_time(value: &Value) -> bool {
    Quantity::of(value).is_some_and(|quantity| quantity.kind == QuantityKind::Time)
}

impl Chosen {
    /// Returns how far a point is from these values: the sum of the differences, of numbers as ratios.
    pub fn distance(&self, point: &Point) -> f64 {
        let far = |(name, wanted): (&String, &Value)| match point.get(name) {
            None => 0.0,
            Some(value) if value == wanted => 0.0,
            Some(value) => match (number(value), number(wanted)) {
                (Some(is), Some(wanted)) if is > 0.0 && wanted > 0.0 => (is / wanted).ln().abs(),
                _ => 1e3,
            },
        };
        self.0.iter().map(far).sum()
    }

    /// The parameters that it says values of, with these.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns true if no values are given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a value for a parameter that has none.
    pub fn or(&mut self, name: &str, value: Value) {
        self.0.entry(name).or_insert(value);
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> =
            self.varied.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
        f.write_str(&parts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(parameters: &[(&str, Value)]) -> Point {
        let varied = parameters.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Point::new(1, varied, Vec::new())
    }

    fn described(parameters: &[(&str, Value)]) -> Result<Description, String> {
        point(parameters).description(Path::new(""), 7).map(|(description, _)| description)
    }

    #[test]
    fn parameters_are_the_platforms_unless_they_are_the_networks() {
        let description = described(&[
            ("network", "digits".into()),
            ("network.input.width", 8.into()),
            ("platform", "nv_large".into()),
            ("dbb0.read_outstanding", 8.into()),
            ("nvdla.cbuf_banks", 16.into()),
        ])
        .unwrap();
        assert_eq!(
            (description.dbb0.read_outstanding, description.nvdla().unwrap().config.cbuf_banks),
            (8, 16)
        );
        assert_eq!((description.dbb0.seed, description.sram0.seed), (7, 7));
    }

    #[test]
    fn a_latency_may_be_a_time() {
        let latency = |period: &str| {
            let parameters = [("dbb0.read_latency", "400 ns".into()), ("period", period.into())];
            described(&parameters).unwrap().dbb_latency().to_owned()
        };
        use vp_models::bus::axi::Latency;
        assert_eq!((latency("1 ns"), latency("3 ns")), (Latency::Fixed(400), Latency::Fixed(134)));
    }

    #[test]
    fn a_fixed_list_does_not_overwrite_what_varies_within_it() {
        let list = "[{ name = 'gen', rate = 1, pattern = 'random' }]";
        let list = format!("list = {list}").parse::<Table>().unwrap()["list"].clone();
        let varied = vec![("dbb0.traffic.gen.rate".to_owned(), Value::from(7))];
        let fixed =
            vec![("dbb0.dram.standard".to_owned(), "DDR4-2400R".into()), ("dbb0.traffic".to_owned(), list)];
        let (description, _) = Point::new(1, varied, fixed).description(Path::new(""), 7).unwrap();
        assert_eq!(description.dbb0.model.traffic[0].rate, 7);

        let varied = vec![("network.layers.conv1.zeros".to_owned(), Value::from(0.5))];
        let fixed = vec![("network.layers".to_owned(), Value::Array(Vec::new()))];
        let point = Point::new(1, varied, fixed);
        let names: Vec<&str> = point.network_settings().iter().map(|(name, _)| *name).collect();
        // The network would be left without its layers' values, were they set the other way round.
        assert_eq!(names, ["layers", "layers.conv1.zeros"]);
    }

    #[test]
    fn a_seed_of_the_points_own_counts() {
        assert_eq!(described(&[("dbb0.seed", 3.into())]).unwrap().dbb0.seed, 3);
    }

    #[test]
    fn what_is_wrong_is_told() {
        assert!(described(&[("platform", "nv_tiny".into())]).unwrap_err().contains("nv_tiny"));
        assert!(described(&[("dbb0.latency", 3.into())]).unwrap_err().contains("latency"));
        assert!(described(&[("dbb0.read_latency", "4 miles".into())]).unwrap_err().contains("4 miles"));
        let batch = |value: Value| point(&[("batch", value)]).batch();
        assert_eq!((batch(16.into()), point(&[]).batch()), (Ok(16), Ok(1)));
        for wrong in [0.into(), (-1).into(), "many".into()] {
            assert!(batch(wrong).unwrap_err().contains("a number of frames"));
        }
        let options = |name, value: Value| point(&[(name, value)]).plan_options();
        let limited = PlanOptions { sram_limit: Some(4096), ..PlanOptions::default() };
        assert_eq!(options("placement_limit", 4096.into()), Ok(limited));
        assert_eq!(options("placement_limit", "4 KiB".into()), Ok(limited));
        assert_eq!(
            options("placement", "activation".into()),
            Err("placement: `activation` is no placement: dram, activations or all; nearest: activations"
                .into())
        );
        let copied = PlanOptions { copies: Some(Copies::Auto), ..PlanOptions::default() };
        assert_eq!(options("copies", "auto".into()), Ok(copied));
        assert_eq!(
            options("copies", "nevr".into()),
            Err("copies: `nevr` is no choice of copies: auto or never; nearest: never".into())
        );
        for wrong in [(-1).into(), "much".into()] {
            assert!(options("placement_limit", wrong).unwrap_err().contains("a number of bytes"));
        }
        assert!(point(&[]).network().unwrap_err().contains("no `network` is named"));
    }

    #[test]
    fn the_nearest_point_is_the_least_distant() {
        let mut chosen = Chosen::default();
        chosen.or("dbb0.read_latency", 400.into());
        chosen.or("platform", "nv_large".into());
        let distance = |latency: i64, platform: &str| {
            chosen.distance(&point(&[("dbb0.read_latency", latency.into()), ("platform", platform.into())]))
        };
        assert_eq!(distance(400, "nv_large"), 0.0);
        assert!(distance(500, "nv_large") < distance(200, "nv_large"));
        assert!(distance(10, "nv_large") < distance(400, "nv_small"));
    }
}
