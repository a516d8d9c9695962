//! Single values of a description, changed by name: `dbb0.dram.standard=DDR4-2400R`.

use super::description::Description;
use super::description_error::{DescriptionError, SettingError};
use crate::toml_text::{TextError, in_plain_words};
use toml::{Table, Value};

impl Description {
    /// The description with some of its values changed. A setting is NAME=VALUE, as in the TOML file: sections with dots
    /// between, and elements of a list of sections (`dbb0.traffic`) by their names. A value that is no TOML is text.
    ///
    /// ```
    /// use vp_models::platform::Description;
    /// let description = Description::named("nv_small").unwrap();
    /// let settings = ["dbb0.dram.standard=LPDDR4-3200", "dbb0.traffic.cpu.rate=1_000_000_000"];
    /// let changed = description.with(settings).unwrap();
    /// assert_eq!(changed.dbb0.model.traffic[0].name, "cpu");
    /// ```
    pub fn with<'a>(
        &self,
        settings: impl IntoIterator<Item = &'a str>,
    ) -> Result<Description, DescriptionError> {
        let settings: Vec<&str> = settings.into_iter().collect();
        if settings.is_empty() {
            return Ok(self.clone());
        }
        let written = Table::try_from(self).map_err(TextError::whole)?;
        let mut table = written.clone();
        for setting in &settings {
            set(&mut table, setting)?;
        }
        let description = read(&table).map_err(|message| {
            let what = match blamed(written.clone(), &settings, &message) {
                Some(name) => about(name, &written, &message),
                None => message,
            };
            TextError::whole(what)
        })?;
        description.check()?;
        Ok(description)
    }
}

/// A key by which a file names what the other keys of its section are taken from.
struct Base {
    section: &'static str,
    key: &'static str,
    /// A key of the section that is there when it has all others.
    given: &'static str,
}

const BASES: [Base; 2] = [
    Base { section: "nvdla", key: "base", given: "register_map" },
    Base { section: "outside_device", key: "like", given: "like" },
];

/// Reads a description from a text, as every other: from a table the compiler makes all of its readers once more.
fn read(table: &Table) -> Result<Description, String> {
    let read = toml::from_str(&table.to_string());
    read.map_err(|error: toml::de::Error| in_plain_words(error.message(), &[]))
}

/// Describes what is wrong with a setting. Where it is a value beside it that does not fit any more, both are named.
fn about(name: &str, written: &Table, message: &str) -> String {
    let (section, key) = name.rsplit_once('.').unwrap_or(("", name));
    let first = message.split(' ').next().unwrap_or_default();
    let is_beside = written.get(section).and_then(Value::as_table).is_some_and(|it| it.contains_key(first));
    match is_beside && first != key {
        true => format!("{name}: with it {message}; set {section}.{first}, too"),
        false => format!("{name}: {message}"),
    }
}

/// The name of the setting that is refused with this message: of those that are made one after the other the first with which it comes.
fn blamed<'a>(mut table: Table, settings: &[&'a str], message: &str) -> Option<&'a str> {
    let is_blamed = |setting: &&&str| {
        let is_made = set(&mut table, setting).is_ok();
        is_made && read(&table).is_err_and(|other| other == message)
    };
    let setting = settings.iter().find(is_blamed)?;
    setting.split('=').next().map(str::trim)
}

fn set(table: &mut Table, setting: &str) -> Result<(), SettingError> {
    let shape = || SettingError::Shape(setting.to_owned());
    let (name, text) = setting.split_once('=').ok_or_else(shape)?;
    let (sections, key) = name.trim().rsplit_once('.').unwrap_or(("", name.trim()));
    if key.is_empty() {
        return Err(shape());
    }
    let mut at = table;
    let mut parts = sections.split('.').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        let no_section = || SettingError::NoSection { setting: setting.to_owned(), part: part.to_owned() };
        let empty = match part {
            "traffic" => Value::Array(Vec::new()),
            _ => Value::Table(Table::new()),
        };
        at = match at.entry(part).or_insert(empty) {
            Value::Table(section) => section,
            Value::Array(list) => {
                let element = parts.next().ok_or_else(shape)?;
                named(list, element).ok_or_else(no_section)?
            }
            _ => return Err(no_section()),
        };
    }
    let base = BASES.into_iter().find(|base| (base.section, base.key) == (sections.trim_matches('.'), key));
    if let Some(Base { key, .. }) = base.filter(|base| at.contains_key(base.given)) {
        let named = text.trim().trim_matches('"').to_owned();
        return Err(SettingError::Base { setting: setting.to_owned(), key, named });
    }
    at.insert(key.to_owned(), value(text.trim()));
    Ok(())
}

/// The element of that name, made if there is none.
fn named<'a>(list: &'a mut Vec<Value>, name: &str) -> Option<&'a mut Table> {
    let is_it = |value: &Value| value.get("name").and_then(Value::as_str) == Some(name);
    let place = list.iter().position(is_it).unwrap_or_else(|| {
        list.push(Value::Table(Table::from_iter([("name".to_owned(), Value::String(name.to_owned()))])));
        list.len() - 1
    });
    list[place].as_table_mut()
}

fn value(text: &str) -> Value {
    let parsed = toml::from_str::<Table>(&format!("value = {text}"));
    parsed.ok().and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::axi::Latency;
    use crate::memory::Pattern;

    fn with(settings: &[&str]) -> Result<Description, String> {
        let description = Description::named("nv_small").unwrap();
        description.with(settings.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_set_as_in_the_file() {
        let changed = with(&[
            "dbb0.read_outstanding = 8",
            "period=2 ns",
            "dbb0.cache.sets=64",
            "dbb0.dram.standard=DDR4-2400R",
            "dbb0.dram.mapping=row column bank group channel",
            "dbb0.traffic.cpu.rate=1_000_000",
            "dbb0.traffic.gpu.rate=2_000_000",
            "dbb0.traffic.cpu.pattern=random",
            "dbb0.dram.timing.tRCD=20",
        ])
        .unwrap();
        let model = &changed.dbb0.model;
        assert_eq!(changed.dbb0.read_outstanding, 8);
        assert_eq!(changed.period, vp_core::Time::ns(2));
        assert_eq!(model.cache.unwrap().sets, 64);
        assert_eq!(model.dram.as_ref().unwrap().timing().unwrap().tRCD, 20);
        let names: Vec<&str> = model.traffic.iter().map(|traffic| traffic.name.as_str()).collect();
        assert_eq!((names, model.traffic[0].pattern), (vec!["cpu", "gpu"], Pattern::Random));
        assert_eq!(Description::parse(&changed.to_toml()).unwrap().to_toml(), changed.to_toml());
        assert_eq!(with(&["dbb0.read_latency=70"]).unwrap().dbb_latency(), Latency::Fixed(70));
        // With or without quotes, and in cycles of the period that is set beside it.
        for setting in ["dbb0.read_latency=400 ns", "dbb0.read_latency=\"400 ns\""] {
            assert_eq!(with(&[setting, "period=2 ns"]).unwrap().dbb_latency(), Latency::Fixed(200));
        }
        assert_eq!(with(&["dbb0.bandwidth=10 GB/s"]).unwrap().dbb0.bandwidth, Some(10_000_000_000));
        let sizes = with(&[
            "sram0.size=256 KiB",
            "dbb0.cache.line=1KiB",
            "dbb0.traffic.cpu.rate=1",
            "dbb0.traffic.cpu.range=1M",
        ]);
        let sizes = sizes.unwrap();
        assert_eq!((sizes.sram0.size, sizes.dbb0.model.cache.unwrap().line), (256 << 10, 1024));
        assert_eq!(sizes.dbb0.model.traffic[0].range, 1 << 20);
    }

    #[test]
    fn a_base_of_values_that_are_there_is_refused_by_name() {
        for setting in ["nvdla.base=nv_large", " nvdla.base = \"nv_small\"", "nvdla..base=nv_full"] {
            let why = with(&["nvdla.batch=false", setting]).unwrap_err();
            assert!(
                why.starts_with(&format!(
                    "`{setting}`: the platform has a value of its own for all that base"
                ))
            );
            assert!(
                why.contains("take the platform nv_") && why.ends_with(", or a file with that base"),
                "{why}"
            );
        }
        let outside =
            |device: &str| Description::parse(&format!("name = \"x\"\n[outside_device]\n{device}")).unwrap();
        let like = ["outside_device.like=nv_large"];
        let why = outside("like = \"nv_small\"").with(like).unwrap_err().to_string();
        assert!(why.contains("for all that like gives"), "{why}");
        // There it says what nothing else has said.
        let dbb0 = "dbb0 = { width_bits = 64, longest_burst = 1 }";
        let unlike = outside(&format!("window = 4096\n{dbb0}"));
        assert!(unlike.with(like).unwrap().nvdla().is_some());
        // A section that is given anew has the values of its base.
        let anew = with(&["nvdla={base=\"nv_large\"}"]).unwrap();
        assert_eq!(anew.device, Description::named("nv_large").unwrap().device);
    }

    #[test]
    fn each_value_that_a_platform_has_is_changed_by_its_name() {
        for name in ["nv_large", "fpga-ai-suite"] {
            let written = Description::named(name).unwrap();
            let Value::Table(table) = Value::try_from(&written).unwrap() else { unreachable!("a table") };
            for (section, values) in table.iter().filter_map(|(name, it)| Some((name, it.as_table()?))) {
                for (key, value) in values {
                    for other in others(key).into_iter().filter(|other| super::value(other) != *value) {
                        let changed = written.with([format!("{section}.{key}={other}").as_str()]);
                        assert!(
                            changed.is_err() || changed.unwrap() != written,
                            "{name}: {section}.{key}={other}"
                        );
                    }
                }
            }
        }
    }

    /// Values of all types, of which some fit the key.
    fn others(key: &str) -> Vec<&'static str> {
        let text = if key == "capability_rom" { "rtl" } else { "nvdlav1" };
        vec!["true", "false", "1", "2", "64", "4096", "[\"int8\"]", "nv_small", text]
    }

    #[test]
    fn refusals_say_what_would_be_right() {
        let refusal = |setting: &str| with(&[setting]).unwrap_err();
        assert!(refusal("dbb0").starts_with("`dbb0` is no setting: write NAME=VALUE"));
        assert_eq!(refusal("dbb0.seed.x=1"), "`dbb0.seed.x=1`: `seed` is a value and has no parts");
        assert!(refusal("dbb0.dram.standard=DDR9").contains("there are DDR4-1600K"));
        assert!(
            refusal("dbb0.dramm.standard=DDR9").starts_with("dbb0.dramm.standard: unknown field `dramm`")
        );
        assert!(
            refusal("sram0.size=256 KB")
                .starts_with("sram0.size: `256 KB` is no size: write a whole number of bytes")
        );
        assert!(
            refusal("dbb0.cache.line=8 GiB")
                .starts_with("dbb0.cache.line: 8589934592 bytes: at most 4294967295")
        );
        assert!(refusal("dbb0.read_latenc=9").ends_with("; nearest: read_latency"));
        assert!(refusal("dbb0.cache.sets=3").starts_with("[dbb0] cache.sets = 3: a power of two"));
        // A value that follows from it is not what was set.
        let follows = refusal("nvdla.memory_atom=32");
        let with_it = "nvdla.memory_atom: with it mac_atomic_c = 8 is impossible: must be a multiple of memory_atom (32)";
        assert_eq!(follows, format!("{with_it}; set nvdla.mac_atomic_c, too"));
        assert_eq!(refusal("nvdla.sdp_lut=true"), "nvdla.sdp_lut: sdp_lut needs sdp_ew");
        // Of several that which is wrong.
        let second = with(&["period=2 ns", "sram0.size=1.5 MiB", "dbb0.read_latency=9"]).unwrap_err();
        assert!(second.starts_with("sram0.size: `1.5 MiB` is no size"), "{second}");
        let both = with(&["dbb0.read_latency=70", "dbb0.dram.standard=DDR4-2400R"]).unwrap_err();
        assert_eq!(both, "[dbb0] read_latency: it follows from `dram`; leave out one of the two");
    }
}
