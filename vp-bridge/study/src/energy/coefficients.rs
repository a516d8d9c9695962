//! Coefficients of an estimate of energy, what one operation costs, as a file of the user's has them.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use vp_models::bounded_file::read_description;
use vp_models::suggestion::hint;
use vp_models::toml_text::{TextError, TomlText};

/// A coefficient, in picojoules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coefficient {
    /// A product of int8 that is added to a sum.
    MacInt8,
    /// A product of int16 that is added to a sum.
    MacInt16,
    /// A product of fp16 that is added to a sum.
    MacFp16,
    /// A multiplier without work, a cycle.
    MacIdle,
    /// A byte read from the convolution buffer.
    CbufRead,
    /// A byte written into it.
    CbufWrite,
    /// A byte over an interface to an SRAM.
    MemorySram,
    /// A byte over an interface to any other memory.
    MemoryDram,
    /// An element through SDP.
    UnitSdp,
    /// An element into PDP.
    UnitPdp,
    /// An element through CDP.
    UnitCdp,
    /// A byte through RUBIK.
    UnitRubik,
    /// A cycle of the whole device.
    DeviceCycle,
}

impl Coefficient {
    const COUNT: usize = 13;

    /// All of them.
    pub const ALL: [Coefficient; Coefficient::COUNT] = [
        Coefficient::MacInt8,
        Coefficient::MacInt16,
        Coefficient::MacFp16,
        Coefficient::MacIdle,
        Coefficient::CbufRead,
        Coefficient::CbufWrite,
        Coefficient::MemorySram,
        Coefficient::MemoryDram,
        Coefficient::UnitSdp,
        Coefficient::UnitPdp,
        Coefficient::UnitCdp,
        Coefficient::UnitRubik,
        Coefficient::DeviceCycle,
    ];

    /// Returns the coefficient's section and its key in the file.
    pub const fn place(self) -> (&'static str, &'static str) {
        match self {
            Coefficient::MacInt8 => ("mac", "int8"),
            Coefficient::MacInt16 => ("mac", "int16"),
            Coefficient::MacFp16 => ("mac", "fp16"),
            Coefficient::MacIdle => ("mac", "idle"),
            Coefficient::CbufRead => ("cbuf", "read"),
            Coefficient::CbufWrite => ("cbuf", "write"),
            Coefficient::MemorySram => ("memory", "sram"),
            Coefficient::MemoryDram => ("memory", "dram"),
            Coefficient::UnitSdp => ("unit", "sdp"),
            Coefficient::UnitPdp => ("unit", "pdp"),
            Coefficient::UnitCdp => ("unit", "cdp"),
            Coefficient::UnitRubik => ("unit", "rubik"),
            Coefficient::DeviceCycle => ("device", "cycle"),
        }
    }
}

/// Costs of operations, in picojoules each.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    /// Technology that the costs are of, for people: `45 nm, 0.9 V`.
    pub technology: String,
    values: [f64; Coefficient::COUNT],
}

/// The name that means the built-in coefficients.
const DEFAULT: &str = "default";

/// More than this a byte or an operation is a slip of the pen: a millijoule.
const MOST: f64 = 1e9;

impl Coefficients {
    /// The built-in ones, as a file with its sources.
    pub const DEFAULT_TEXT: &str = include_str!("default.toml");

    /// Reads a file; `default` is the built-in one.
    ///
    /// # Errors
    /// Says which file, line and key is wrong.
    pub fn load(path: &Path) -> Result<Coefficients, TextError> {
        if path.as_os_str() == DEFAULT {
            return Ok(Coefficients::default());
        }
        let text = read_description(path).map_err(|error| TextError::unreadable(path, error))?;
        Coefficients::parse(&text).map_err(|error| error.in_file(path))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// As [`Coefficients::load`].
    pub fn parse(text: &str) -> Result<Coefficients, TextError> {
        let text = TomlText::parse(text)?;
        Reader { text: &text, within: "" }.coefficients(text.table(), 0..0)
    }

    /// Reads the section `[energy]` of a study's text: coefficients, or as text the name of a file of them, relative to a folder. None if there
    /// is no such section.
    ///
    /// # Errors
    /// As [`Coefficients::load`].
    pub fn of_study(text: &TomlText<'_>, folder: &Path) -> Result<Option<Coefficients>, TextError> {
        let Some(energy) = text.table().get("energy") else { return Ok(None) };
        let wrong = |what: String| text.wrong("energy", what);
        match energy.get_ref() {
            DeValue::Table(table) => {
                Reader { text, within: "energy." }.coefficients(table, energy.span()).map(Some)
            }
            DeValue::String(file) if file == DEFAULT => Ok(Some(Coefficients::default())),
            DeValue::String(file) => {
                let path = folder.join(file.as_ref());
                Coefficients::load(&path).map(Some).map_err(|error| match path.exists() {
                    true => error,
                    false => wrong(format!("energy = \"{file}\": {}", error.what)),
                })
            }
            _ => Err(wrong("energy is a file of coefficients, \"default\", or a section of them".to_owned())),
        }
    }

    /// Returns what one of these costs, in picojoules.
    pub fn get(&self, coefficient: Coefficient) -> f64 {
        self.values[coefficient as usize]
    }
}

impl Default for Coefficients {
    fn default() -> Coefficients {
        Coefficients::parse(Coefficients::DEFAULT_TEXT)
            .unwrap_or_else(|error| unreachable!("the built-in coefficients are tested: {error}"))
    }
}

/// Reads coefficients of a text, and says where it is wrong.
struct Reader<'a> {
    text: &'a TomlText<'a>,
    /// Beginning of the names of sections.
    within: &'static str,
}

impl Reader<'_> {
    fn wrong(&self, place: Range<usize>, why: String) -> TextError {
        self.text.wrong_at(place, why)
    }

    fn coefficients(&self, table: &DeTable<'_>, whole: Range<usize>) -> Result<Coefficients, TextError> {
        let mut technology = None;
        let mut values: [Option<f64>; Coefficient::COUNT] = [None; Coefficient::COUNT];
        let mut sections: Vec<(&str, Range<usize>)> = Vec::new();
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("base", DeValue::String(base)) if base == DEFAULT => {
                    let Coefficients { technology: of, values: all } = Coefficients::default();
                    technology.get_or_insert(of);
                    values.iter_mut().zip(all).for_each(|(value, known)| *value = value.or(Some(known)));
                }
                ("base", _) => {
                    return Err(self.wrong(value.span(), "base = \"default\" is the only one".to_owned()));
                }
                ("technology", DeValue::String(text)) => technology = Some(text.to_string()),
                (section, DeValue::Table(section_table)) if places().any(|(known, _)| known == section) => {
                    self.section(section, section_table, &mut values)?;
                    sections.push((section, key.span()));
                }
                (other, _) => {
                    let known: Vec<&str> =
                        ["base", "technology"].into_iter().chain(section_names()).collect();
                    let why = format!(
                        "there is no `{}{other}`{}; there are {}",
                        self.within,
                        hint(other, known.iter().copied()),
                        known.join(", ")
                    );
                    return Err(TextError { within: String::new(), ..self.wrong(key.span(), why) });
                }
            }
        }
        let missing = |coefficient: Coefficient| {
            let (section, key) = coefficient.place();
            let place =
                sections.iter().find(|(known, _)| *known == section).map_or(whole.clone(), |it| it.1.clone());
            let why = format!(
                "{key} is missing: picojoules; base = \"default\" takes what is missing from the built-in file"
            );
            TextError { within: format!("[{}{section}]", self.within), ..self.wrong(place, why) }
        };
        let mut all = [0.0; Coefficient::COUNT];
        for coefficient in Coefficient::ALL {
            all[coefficient as usize] = values[coefficient as usize].ok_or_else(|| missing(coefficient))?;
        }
        let technology = technology.unwrap_or_else(|| "no technology stated".to_owned());
        Ok(Coefficients { technology, values: all })
    }

    fn section(
        &self,
        section: &str,
        table: &DeTable<'_>,
        values: &mut [Option<f64>; Coefficient::COUNT],
    ) -> Result<(), TextError> {
        for (key, value) in table {
            let name: &Cow<'_, str> = key.get_ref();
            let found = Coefficient::ALL
                .into_iter()
                .find(|coefficient| coefficient.place() == (section, name.as_ref()));
            let Some(coefficient) = found else {
                let known: Vec<&str> =
                    places().filter(|(of, _)| *of == section).map(|(_, key)| key).collect();
                let why = format!(
                    "has no `{name}`{}; it has {}",
                    hint(name, known.iter().copied()),
                    known.join(", ")
                );
                return Err(self.wrong(key.span(), why));
            };
            let number = number(value).filter(|number| (0.0..=MOST).contains(number)).ok_or_else(|| {
                let said = self.text.written(value.span());
                self.wrong(value.span(), format!("{name} = {said}: picojoules, from 0 to 1e9"))
            })?;
            values[coefficient as usize] = Some(number);
        }
        Ok(())
    }
}

fn number(value: &Spanned<DeValue<'_>>) -> Option<f64> {
    match value.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

fn places() -> impl Iterator<Item = (&'static str, &'static str)> {
    Coefficient::ALL.into_iter().map(Coefficient::place)
}

/// Each section once.
fn section_names() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    places()
        .map(|(section, _)| section)
        .filter(move |&section| std::mem::replace(&mut last, section) != section)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Coefficients::parse(text).unwrap_err().in_file(Path::new("mine.toml")).to_string()
    }

    #[test]
    fn each_coefficient_has_its_place() {
        for (at, coefficient) in Coefficient::ALL.into_iter().enumerate() {
            assert_eq!(coefficient as usize, at);
        }
        assert_eq!(section_names().collect::<Vec<_>>(), ["mac", "cbuf", "memory", "unit", "device"]);
    }

    #[test]
    fn the_built_in_ones_are_complete_and_each_has_a_source() {
        let all = Coefficients::default();
        assert_eq!((all.technology.as_str(), all.get(Coefficient::MacInt8)), ("45 nm, 0.9 V", 0.3));
        assert!(all.get(Coefficient::MemoryDram) > all.get(Coefficient::MemorySram));
        let is_value = |line: &&str| line.contains(" = ") && !line.starts_with(['#', 't']);
        let lines = Coefficients::DEFAULT_TEXT.lines().filter(is_value);
        assert_eq!(lines.clone().count(), Coefficient::ALL.len());
        for line in lines {
            assert!(line.contains("[Horowitz]"), "{line}");
        }
    }

    #[test]
    fn a_file_may_start_from_them() {
        let text = "base = 'default'\ntechnology = '7 nm'\n[mac]\nint8 = 1\n[memory]\ndram = 4e1\n";
        let mine = Coefficients::parse(text).unwrap();
        let expected = Coefficients::default();
        assert_eq!((mine.technology.as_str(), mine.get(Coefficient::MacInt8)), ("7 nm", 1.0));
        assert_eq!(
            (mine.get(Coefficient::MemoryDram), mine.get(Coefficient::UnitSdp)),
            (40.0, expected.get(Coefficient::UnitSdp))
        );
        // Wherever that stands.
        let text = "[mac]\nint8 = 1\n[memory]\ndram = 40\n";
        let behind = Coefficients::parse(&format!("technology = '7 nm'\nbase = 'default'\n{text}")).unwrap();
        assert_eq!(behind, mine);
    }

    #[test]
    fn refusals_name_file_line_and_key() {
        assert_eq!(
            refused("\n\n[mac]\nint9 = 1"),
            "mine.toml:4: [mac] has no `int9`; nearest: int8; it has int8, int16, fp16, idle"
        );
        assert_eq!(refused("[macs]\nint8 = 1").split(';').next().unwrap(), "mine.toml:1: there is no `macs`");
        assert_eq!(
            refused("base = 'default'\n[mac]\n\nint8 = -1"),
            "mine.toml:4: [mac] int8 = -1: picojoules, from 0 to 1e9"
        );
        for value in ["nan", "inf", "'much'", "2e9", "0x10"] {
            let text = format!("base = 'default'\n[cbuf]\nread = {value}");
            assert_eq!(
                refused(&text),
                format!("mine.toml:3: [cbuf] read = {value}: picojoules, from 0 to 1e9")
            );
        }
        let part = "technology = 'x'\n[mac]\nint8 = 1\nint16 = 1\nfp16 = 1\n";
        assert!(
            refused(part).starts_with("mine.toml:2: [mac] idle is missing: picojoules; base = \"default\""),
            "{}",
            refused(part)
        );
        assert!(refused("base = 'mine'").starts_with("mine.toml:1: base = \"default\""));
        assert!(refused("[mac\n").starts_with("mine.toml:1: "));
        let gone = Coefficients::load(Path::new("/no/such.toml")).unwrap_err().to_string();
        assert!(gone.starts_with("/no/such.toml: cannot read: "), "{gone}");
    }

    #[test]
    fn a_study_has_a_section_or_names_a_file() {
        let of = |text: &str| {
            let read = TomlText::parse(text).and_then(|text| Coefficients::of_study(&text, Path::new("")));
            read.map_err(|error| error.in_file(Path::new("s.toml")).to_string())
        };
        assert_eq!(of("name = 's'"), Ok(None));
        assert_eq!(of("energy = 'default'"), Ok(Some(Coefficients::default())));
        let own = of("name = 's'\n[energy]\nbase = 'default'\nmac.int8 = 7").unwrap().unwrap();
        assert_eq!(own.get(Coefficient::MacInt8), 7.0);
        assert!(
            of("name = 's'\n[energy]\nmac.int8 = 7")
                .unwrap_err()
                .starts_with("s.toml:3: [energy.mac] int16 is missing")
        );
        assert!(
            of("\nenergy = 'no/such.toml'")
                .unwrap_err()
                .starts_with("s.toml:2: energy = \"no/such.toml\": cannot read: ")
        );
        assert!(of("energy = 5").unwrap_err().starts_with("s.toml:1: energy is a file"));
    }
}
