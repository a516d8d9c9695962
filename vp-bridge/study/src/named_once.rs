//! A parameter is named once: what is fixed is not swept, and what is swept is not searched.

use super::places::{Place, Places};
use vp_models::toml_text::TextError;

/// A section that names parameters.
pub(super) struct Section<'a> {
    /// Its name.
    pub(super) name: &'static str,
    /// What it does with a parameter: `sets`, `varies`, `searches`.
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

fn twice(name: &str, mut sections: [&Section<'_>; 2], places: &Places) -> TextError {
    let line = |section: &Section<'_>| places.named_in(section.name, name).map(|Place { line, .. }| line);
    sections.sort_by_key(|section| line(section));
    let [first, second] = sections;
    let in_line = line(first).map_or_else(String::new, |line| format!(" in line {line}"));
    let what = format!(
        "[{}] {} {name}, which [{}] {}{in_line}: name it in one of them",
        second.name, second.verb, first.name, first.verb
    );
    TextError { line: line(second), ..TextError::whole(what) }
}
