//! Places in a study's file: lines of parameters and their values.

use std::collections::{HashMap, HashSet};
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use vp_models::toml_text::TomlText;

/// A place in a study's file: `study.toml:7: dbb0.read_outstanding`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyLocation {
    /// Number of the line, from one.
    pub line: usize,
    /// The key, with the names of its sections before it.
    pub key: String,
}

impl fmt::Display for KeyLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, `{}`", self.line, self.key)
    }
}

/// The places of all values of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// In the file's order.
    entries: Vec<Entry>,
    /// Entries by the parameters that their keys name: a study may have a million points, each of which is looked for.
    parameters: HashMap<String, Parameter>,
    /// The entry that names a parameter as what is searched.
    searched: HashMap<String, usize>,
    /// The keys whose values are ranges.
    ranges: HashSet<KeyLocation>,
    /// Of `[fixed]` and of each `[sweep]` the lines of its parameters, in the file's order.
    lines: HashMap<&'static str, Vec<Vec<usize>>>,
}

/// The entries of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parameter {
    first: usize,
    /// The first one that is a range.
    range: Option<usize>,
    /// The first one with each value, as it is written and without the `_` between digits.
    values: HashMap<String, usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// The names of sections and the key.
    path: Vec<String>,
    /// The value as it is written, without quotes.
    value: String,
    line: usize,
}

/// Sections that hold parameters.
const PARAMETERS: [&str; 3] = ["fixed", "sweep", "search"];

impl Places {
    /// Of a file.
    pub(super) fn of(text: &TomlText<'_>) -> Places {
        let mut places = Places::default();
        places.add_table(text, &[], text.table());
        places.index();
        for section in ["fixed", "sweep"] {
            places.lines.insert(section, lines_of_tables(text, section));
        }
        places
    }

    fn index(&mut self) {
        for (at, entry) in self.entries.iter().enumerate() {
            let Some((section, rest)) = entry.path.split_first() else { continue };
            let key = rest.join(".");
            if PARAMETERS.contains(&section.as_str()) {
                let is_range = entry.value.is_empty() && self.ranges.contains(&entry.place());
                for name in names(&key) {
                    let new = || Parameter { first: at, range: None, values: HashMap::new() };
                    let parameter = self.parameters.entry(name.to_owned()).or_insert_with(new);
                    if is_range {
                        parameter.range.get_or_insert(at);
                    }
                    parameter.values.entry(entry.value.clone()).or_insert(at);
                    if entry.value.contains('_') {
                        parameter.values.entry(entry.value.replace('_', "")).or_insert(at);
                    }
                }
            }
            // A search names its parameter as a value.
            if section == "search" && ["least", "most"].contains(&key.as_str()) {
                self.ranges.insert(entry.place());
                for name in names(&entry.value) {
                    self.searched.entry(name.to_owned()).or_insert(at);
                }
            }
        }
    }

    fn add_table(&mut self, text: &TomlText<'_>, path: &[String], table: &DeTable<'_>) {
        for (key, value) in table {
            let path = [path, &[key.get_ref().to_string()]].concat();
            self.add(text, &path, value, key.span().start);
        }
    }

    fn add(&mut self, text: &TomlText<'_>, path: &[String], value: &Spanned<DeValue<'_>>, key: usize) {
        let mut entry = |at: usize, value: String| {
            self.entries.push(Entry { path: path.to_vec(), value, line: text.line(at) });
        };
        match value.get_ref() {
            DeValue::Table(table) => {
                entry(key, String::new());
                if table.contains_key("from") {
                    self.ranges.insert(KeyLocation { line: text.line(key), key: path.join(".") });
                }
                self.add_table(text, path, table);
            }
            DeValue::Array(list) => {
                entry(key, String::new());
                list.iter().for_each(|it| self.add(text, path, it, it.span().start));
            }
            _ => {
                let span = value.span();
                let written = text.written(span.clone()).trim_matches(['"', '\'']);
                entry(span.start, written.to_owned());
            }
        }
    }

    /// The place of a key, such as `report.knee`.
    pub(super) fn key(&self, key: &str) -> Option<KeyLocation> {
        let entry = self.entries.iter().find(|entry| entry.path.join(".") == key)?;
        Some(KeyLocation { line: entry.line, key: key.to_owned() })
    }

    /// The place where a section names a parameter, whatever its values: `sweep`, `fixed`, or `search`, which names it as a value.
    pub(super) fn named_in(&self, section: &str, name: &str) -> Option<KeyLocation> {
        let has = |key: &str| names(key).any(|part| part == name);
        let names_it = |entry: &&Entry| match entry.path.split_first() {
            Some((of, [key])) if section == "search" && of == section => {
                ["least", "most"].contains(&key.as_str()) && has(&entry.value)
            }
            Some((of, key)) => of == section && has(&key.join(".")),
            None => false,
        };
        self.entries.iter().find(names_it).map(Entry::place)
    }

    /// The line of a section's parameter by its number. Sections of that name and their parameters count from zero, in the file's order;
    /// those of sections within (`[sweep.dbb0]`) stand where the section does.
    pub(super) fn line(&self, section: &str, number: usize, parameter: usize) -> Option<usize> {
        self.lines.get(section)?.get(number)?.get(parameter).copied()
    }

    /// Returns true if the values of a place are those of a range.
    pub(super) fn is_range(&self, place: &KeyLocation) -> bool {
        self.ranges.contains(place)
    }

    /// The place of a parameter's value: of a range or a table the key's, and of a value that is not written the first range's. `name` is
    /// one of the names with commas between that a key may be.
    pub(super) fn parameter(&self, name: &str, value: &str) -> Option<KeyLocation> {
        let parameter = self.parameters.get(name);
        let of_value =
            parameter.map(|known| known.values.get(value).copied().or(known.range).unwrap_or(known.first));
        Some(self.entries[of_value.or_else(|| self.searched.get(name).copied())?].place())
    }
}

impl Entry {
    fn place(&self) -> KeyLocation {
        KeyLocation { line: self.line, key: self.path.join(".") }
    }
}

/// Returns true if a table with these keys is one value: a range, or a distribution.
pub(super) fn is_value(has: impl Fn(&str) -> bool) -> bool {
    has("from") || has("distribution")
}

/// The lines of the parameters of each section of that name: `[sweep]`, or several `[[sweep]]`.
fn lines_of_tables(text: &TomlText<'_>, section: &str) -> Vec<Vec<usize>> {
    let tables: Vec<&DeTable<'_>> = match text.table().get(section).map(Spanned::get_ref) {
        Some(DeValue::Table(table)) => vec![table],
        Some(DeValue::Array(list)) => list.iter().filter_map(|it| it.get_ref().as_table()).collect(),
        _ => Vec::new(),
    };
    let lines = |table| {
        let mut lines = Vec::new();
        add_lines(text, table, &mut lines);
        lines
    };
    tables.into_iter().map(lines).collect()
}

fn add_lines(text: &TomlText<'_>, table: &DeTable<'_>, lines: &mut Vec<usize>) {
    for (key, value) in table {
        match value.get_ref() {
            DeValue::Table(section) if !is_value(|key| section.contains_key(key)) => {
                add_lines(text, section, lines);
            }
            _ => lines.push(text.line(key.span().start)),
        }
    }
}

/// The names of a key: one, or several with commas between.
pub(super) fn names(key: &str) -> impl Iterator<Item = &str> {
    key.split(',').map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = 's'\n[fixed]\nperiod = '1 ns'\n[sweep]\nnetwork = ['digits',\n  'lenett']\n\
                        'a.b, c' = [1, 2_000]\n[sweep.dbb0]\nread_latency = { from = 1, to = 9, points = 3 }\n[report]\nknee = 2.0\n";

    #[test]
    fn values_have_their_lines() {
        let places = Places::of(&TomlText::parse(TEXT).unwrap());
        let line = |name: &str, value: &str| places.parameter(name, value).map(|place| place.line);
        assert_eq!(line("network", "lenett"), Some(6));
        assert_eq!(line("network", "digits"), Some(5));
        assert_eq!(line("period", "1 ns"), Some(3));
        assert_eq!((line("c", "2000"), line("a.b", "1")), (Some(7), Some(7)));
        // A value of a range has its key's.
        assert_eq!(line("dbb0.read_latency", "5"), Some(9));
        assert_eq!(line("nothing", "5"), None);
        let is_range = |name: &str| places.parameter(name, "5").is_some_and(|place| places.is_range(&place));
        assert_eq!(["dbb0.read_latency", "c"].map(is_range), [true, false]);
        // Of what stands twice the first counts, and of what stands nowhere the parameter.
        let twice =
            Places::of(&TomlText::parse("[[sweep]]\nx = [1,\n 2]\n[[sweep]]\nx = [3,\n 2]\n").unwrap());
        let line = |value: &str| twice.parameter("x", value).map(|place| place.line);
        assert_eq!(["1", "2", "3", "4"].map(line), [Some(2), Some(3), Some(5), Some(2)]);
        // A list is no range because the same parameter has one in another sweep.
        for (text, of_range) in [
            ("[[sweep]]\nx = { from = 1, to = 9, step = 4 }\n[[sweep]]\nx = [300,\n 310]\n", 2),
            ("[[sweep]]\nx = [300,\n 310]\n[[sweep]]\nx = { from = 1, to = 9, step = 4 }\n", 5),
        ] {
            let places = Places::of(&TomlText::parse(text).unwrap());
            let of = |value: &str| places.parameter("x", value).unwrap();
            assert_eq!((of("5").line, places.is_range(&of("5"))), (of_range, true), "{text}");
            assert!(!places.is_range(&of("300")) && !places.is_range(&of("310")), "{text}");
        }
        assert_eq!(places.key("report.knee").unwrap().to_string(), "line 11, `report.knee`");
        let searched = Places::of(&TomlText::parse("[search]\nfrom = 1\nleast = 'a.b, c'").unwrap());
        assert_eq!(searched.parameter("c", "7").unwrap().to_string(), "line 3, `search.least`");
        assert_eq!(searched.named_in("search", "c").unwrap().line, 3);
        assert_eq!((places.named_in("fixed", "c"), places.named_in("sweep", "c").unwrap().line), (None, 7));
    }
}
