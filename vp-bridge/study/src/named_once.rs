//! A parameter is named once: what is fixed is not swept, and what is swept is not searched. A section may spell a parameter in two ways
//! that TOML tells apart (`"dbb0.size"`, and `size` in `[sweep.dbb0]`), and a key may name several.

use super::places::{KeyLocation, Places, names};
use std::collections::HashMap;
use vp_models::toml_text::TextError;

/// A section that names parameters.
pub(super) struct Section<'a> {
    /// Name of the section.
    pub(super) name: &'static str,
    /// Verb for what the section does with a parameter: `sets`, `varies`, `searches`.
    pub(super) verb: &'static str,
    /// The parameters.
    pub(super) parameters: Vec<&'a str>,
}

/// Refuses a parameter that two sections name, where the second one stands.
///
/// # Errors
/// With the line and the section of the second, and the line of the first.
pub(super) fn check(sections: &[Section<'_>], places: &Places) -> Result<(), TextError> {
    for (at, one) in sections.iter().enumerate() {
        for other in &sections[at + 1..] {
            if let Some(name) = one.parameters.iter().find(|name| other.parameters.contains(name)) {
                return Err(twice(name, [one, other], places));
            }
        }
    }
    Ok(())
}

/// A parameter that keys of one section name twice.
pub(super) struct Repetition<'a> {
    /// Number of the key that does so, counted from zero.
    pub(super) at: usize,
    /// The parameter.
    name: &'a str,
    /// True if this key alone names it twice.
    is_in_key: bool,
}

impl Repetition<'_> {
    /// Returns what is wrong with the key, and what would be right.
    pub(super) fn why(&self) -> String {
        match self.is_in_key {
            true => format!("it names {} twice: name it once", self.name),
            false => format!("{} has values in another key: name it once", self.name),
        }
    }
}

/// The first key that names a parameter which it, or one before it, has named.
pub(super) fn repetition<'a>(keys: impl IntoIterator<Item = &'a str>) -> Option<Repetition<'a>> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (at, key) in keys.into_iter().enumerate() {
        for name in names(key) {
            if let Some(first) = known.insert(name, at) {
                return Some(Repetition { at, name, is_in_key: first == at });
            }
        }
    }
    None
}

fn twice(name: &str, mut sections: [&Section<'_>; 2], places: &Places) -> TextError {
    let line =
        |section: &Section<'_>| places.named_in(section.name, name).map(|KeyLocation { line, .. }| line);
    sections.sort_by_key(|section| line(section));
    let [first, second] = sections;
    let in_line = line(first).map_or_else(String::new, |line| format!(" in line {line}"));
    let what = format!(
        "[{}] {} {name}, which [{}] {}{in_line}: name it in one of them",
        second.name, second.verb, first.name, first.verb
    );
    TextError { line: line(second), ..TextError::whole(what) }
}
