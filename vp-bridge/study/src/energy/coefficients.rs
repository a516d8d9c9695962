//! Coefficients of an estimate of energy, what one operation costs, as a file of the user's has them.

use super::dram::{DramRow, RowReader};
use super::number::number;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;
use strum::VariantArray;
use toml::de::{DeTable, DeValue};
use vp_models::bounded_file::read_description;
use vp_models::memory::dram::DramConfig;
use vp_models::suggestion::hint;
use vp_models::toml_text::{TextError, TomlText};
use vp_models::units::parse_size;

/// A coefficient, in picojoules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
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
    /// A byte over an interface to an SRAM whose size has no figure.
    MemorySram,
    /// A byte over an interface to any other memory, unless it is a DRAM with figures of its own.
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
    pub const ALL: [Coefficient; Coefficient::COUNT] = *Self::VARIANTS.first_chunk().unwrap();

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
    /// Bytes of an SRAM's bank, and what a byte of it costs to be read and to be written; ascending.
    srams: Vec<(u64, [f64; 2])>,
    /// Figures of DRAMs by grade or standard.
    pub(super) drams: BTreeMap<String, DramRow>,
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

    /// Returns what a byte read and a byte written cost of an SRAM's bank of so many bytes, in picojoules. Between two sizes that have
    /// figures they go with a power of the size, and beyond the ends they are those of the end.
    pub fn sram(&self, bytes: u64) -> [f64; 2] {
        let above = self.srams.partition_point(|(size, _)| *size < bytes);
        match (above.checked_sub(1).and_then(|below| self.srams.get(below)), self.srams.get(above)) {
            (_, Some((size, costs))) if *size == bytes => *costs,
            (Some((low, less)), Some((high, more))) => {
                let share = (bytes as f64 / *low as f64).ln() / (*high as f64 / *low as f64).ln();
                [0, 1].map(|at| match less[at] > 0.0 {
                    true => less[at] * (more[at] / less[at]).powf(share),
                    false => more[at] * share,
                })
            }
            (Some((_, costs)), None) | (None, Some((_, costs))) => *costs,
            (None, None) => [self.get(Coefficient::MemorySram); 2],
        }
    }

    /// Returns the figures of a DRAM, and the name that they stand under: that of its grade, or of its standard.
    pub fn dram(&self, config: &DramConfig) -> Option<(&str, &DramRow)> {
        let names = [config.standard.name().to_owned(), config.standard.standard().to_string()];
        names.iter().find_map(|name| self.drams.get_key_value(name)).map(|(name, row)| (name.as_str(), row))
    }

    /// Returns what one of these costs, in picojoules.
    pub fn get(&self, coefficient: Coefficient) -> f64 {
        self.values[coefficient as usize]
    }
}

impl Default for Coefficients {
    fn default() -> Coefficients {
        BUILT_IN.clone()
    }
}

/// The built-in ones; their text starts from nothing else.
static BUILT_IN: LazyLock<Coefficients> = LazyLock::new(|| {
    Coefficients::parse(Coefficients::DEFAULT_TEXT)
        .unwrap_or_else(|error| unreachable!("the built-in coefficients are tested: {error}"))
});

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
        let (mut technology, mut base) = (None, None);
        let (mut srams, mut drams) = (None, BTreeMap::new());
        let mut values: [Option<f64>; Coefficient::COUNT] = [None; Coefficient::COUNT];
        let mut sections: Vec<(&str, Range<usize>)> = Vec::new();
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("base", DeValue::String(name)) if name == DEFAULT => base = Some(Coefficients::default()),
                ("base", _) => {
                    return Err(self.wrong(value.span(), "base = \"default\" is the only one".to_owned()));
                }
                ("technology", DeValue::String(text)) => technology = Some(text.to_string()),
                ("sram", DeValue::Table(sizes)) => srams = Some(self.srams(sizes)?),
                ("dram", DeValue::Table(rows)) => {
                    for (name, row) in rows {
                        let (place, row) = (
                            name.span(),
                            row.get_ref().as_table().ok_or_else(|| {
                                let said = self.text.written(row.span());
                                let name = name.get_ref();
                                self.wrong(
                                    row.span(),
                                    format!("{name} = {said}: a section [dram.{name}] of figures"),
                                )
                            })?,
                        );
                        let section = format!("[{}dram.{}]", self.within, name.get_ref());
                        let known = || &BUILT_IN.drams;
                        let row = RowReader { text: self.text, place, section, known }.read(row)?;
                        drams.insert(name.get_ref().to_string(), row);
                    }
                }
                (section @ ("sram" | "dram"), _) => {
                    let said = self.text.written(value.span());
                    return Err(
                        self.wrong(value.span(), format!("{section} = {said}: a section [{section}]"))
                    );
                }
                (section, DeValue::Table(section_table)) if places().any(|(known, _)| known == section) => {
                    self.section(section, section_table, &mut values)?;
                    sections.push((section, key.span()));
                }
                (other, _) => {
                    let known: Vec<&str> =
                        ["base", "technology", "sram", "dram"].into_iter().chain(section_names()).collect();
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
        // What the file says goes before what is built in, also where that is finer.
        if let Some(Coefficients { technology: of, values: all, srams: sizes, drams: rows }) = base {
            if values[Coefficient::MemorySram as usize].is_none() {
                srams.get_or_insert(sizes);
            }
            if values[Coefficient::MemoryDram as usize].is_none() {
                rows.into_iter().for_each(|(name, row)| _ = drams.entry(name).or_insert(row));
            }
            technology.get_or_insert(of);
            values.iter_mut().zip(all).for_each(|(value, known)| *value = value.or(Some(known)));
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
        Ok(Coefficients { technology, values: all, srams: srams.unwrap_or_default(), drams })
    }

    /// Reads what bytes of SRAMs cost, by the sizes of their banks.
    fn srams(&self, table: &DeTable<'_>) -> Result<Vec<(u64, [f64; 2])>, TextError> {
        let mut sizes = Vec::new();
        for (key, value) in table {
            let size =
                parse_size(key.get_ref()).map_err(|error| self.wrong(key.span(), error.to_string()))?;
            let pair: Option<Vec<f64>> = match value.get_ref() {
                DeValue::Array(pair) => pair.iter().map(|one| number(one.get_ref())).collect(),
                both => number(both).map(|both| vec![both; 2]),
            };
            let pair = pair.and_then(|pair| <[f64; 2]>::try_from(pair).ok());
            let pair = pair.filter(|pair| pair.iter().all(|cost| (0.0..=MOST).contains(cost)));
            let costs = pair.ok_or_else(|| {
                let (name, said) = (key.get_ref(), self.text.written(value.span()));
                let right = "picojoules of a byte, or [read, written], from 0 to 1e9";
                self.wrong(value.span(), format!("\"{name}\" = {said}: {right}"))
            })?;
            sizes.push((size.max(1), costs));
        }
        sizes.sort_by_key(|(size, _)| *size);
        sizes.dedup_by_key(|(size, _)| *size);
        Ok(sizes)
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
            let number =
                number(value.get_ref()).filter(|number| (0.0..=MOST).contains(number)).ok_or_else(|| {
                    let said = self.text.written(value.span());
                    self.wrong(value.span(), format!("{name} = {said}: picojoules, from 0 to 1e9"))
                })?;
            values[coefficient as usize] = Some(number);
        }
        Ok(())
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
        let text = Coefficients::DEFAULT_TEXT.split("\n[dram.").next().unwrap();
        let lines = text.lines().filter(is_value);
        assert_eq!(lines.clone().count(), Coefficient::ALL.len() + all.srams.len());
        for line in lines {
            assert!(line.contains("[Horowitz]") || line.contains("[CACTI]"), "{line}");
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
    fn a_byte_of_an_sram_costs_by_the_size_of_its_bank() {
        let all = Coefficients::default();
        let of = |kilobytes: u64| all.sram(kilobytes * 1024);
        assert_eq!((of(1), of(8), of(1024)), ([0.28, 0.83], [1.60, 1.39], [12.5, 12.5]));
        assert_eq!((all.sram(64), of(1 << 20)), ([0.28, 0.83], [12.5, 12.5]));
        // Half way between 16 KiB and 1 MiB, by the powers of two: the geometric mean.
        let [read, written] = of(128);
        assert!((read - 31.25_f64.sqrt()).abs() < 1e-9 && (written - 26.375_f64.sqrt()).abs() < 1e-9);
        let mine = |text: &str| Coefficients::parse(&format!("base = 'default'\n{text}")).unwrap().sram(8192);
        assert_eq!(mine("[sram]\n'8 KiB' = 1.25"), [1.25, 1.25]);
        assert_eq!(mine("[memory]\nsram = 3"), [3.0, 3.0]);
        assert_eq!(
            refused("[sram]\n\n'8 KiB' = [1, 2, 3]"),
            "mine.toml:3: [sram] \"8 KiB\" = [1, 2, 3]: picojoules of a byte, or [read, written], from 0 to 1e9"
        );
        assert_eq!(refused("base = 'default'\ndram = 5"), "mine.toml:2: dram = 5: a section [dram]");
        assert_eq!(
            refused("dram.DDR4 = 5"),
            "mine.toml:1: [dram] DDR4 = 5: a section [dram.DDR4] of figures"
        );
        assert!(refused("[sram]\n'8 apples' = 1").starts_with("mine.toml:2: [sram] "));
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
