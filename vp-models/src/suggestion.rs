//! Suggestion of the name, of those there are, that somebody may have meant by one that is none.

use strum::VariantNames;

/// Longer than any name: comparing costs length times length, which whoever wrote the word would choose.
const MOST_CHARACTERS: usize = 80;

/// Letters that may be wrong at most.
const MOST_WRONG: usize = 3;

/// The name that was probably meant, whatever its case: one that begins with the word's first letter and has at most a third of its letters, and
/// three at most, changed, left out, added or swapped; or one that the word is the beginning of. Of several the nearest, of those the first.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let short =
        |text: &str| -> String { text.chars().take(MOST_CHARACTERS).collect::<String>().to_lowercase() };
    let word = short(word);
    let distance = |name: &str| {
        let known = short(name);
        // `sram` is no slip of the pen for `dram`.
        if known.chars().next() != word.chars().next() {
            return None;
        }
        let length = word.chars().count();
        let allowed = (length.max(known.chars().count()) / 3).min(MOST_WRONG);
        let wrong = strsim::osa_distance(&word, &known);
        let is_beginning = length >= MOST_WRONG && known.starts_with(&word);
        (wrong <= allowed || is_beginning).then_some(wrong)
    };
    let near = names.into_iter().filter_map(|name| Some((distance(name)?, name)));
    near.min_by_key(|(wrong, _)| *wrong).map(|(_, name)| name)
}

/// The end of a message about a word that is none of these names: `; nearest: spi`, or nothing.
pub fn hint<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map_or_else(String::new, |name| format!("; nearest: {name}"))
}

/// A word that is none of those that may stand in its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is no {what}: {}{}", alternatives(names), hint(word, names.iter().copied()))]
pub struct UnknownWord {
    word: String,
    what: &'static str,
    names: &'static [&'static str],
}

impl UnknownWord {
    /// The word in place of a `what`, which is a type with these names.
    pub fn of<Choice: VariantNames>(what: &'static str, word: &str) -> UnknownWord {
        UnknownWord { word: word.to_owned(), what, names: Choice::VARIANTS }
    }
}

/// `a, b or c`.
fn alternatives(names: &[&str]) -> String {
    match names {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        names => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_whatever_its_case() {
        let names = ["digits", "lenet", "resnet50"];
        assert_eq!(nearest("resnet5", names), Some("resnet50"));
        assert_eq!(nearest("LeNet", names), Some("lenet"));
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(hint("digit", names), "; nearest: digits");
        assert_eq!(nearest(&"r".repeat(1 << 20), names), None);
        assert_eq!(nearest("res", names), Some("resnet50"));
    }

    #[test]
    fn what_is_not_near_is_not_suggested() {
        let names = ["dram", "activations", "all", "dbb0.read_latency", "add", "maximum"];
        for word in ["sram", "latency", "act_now", "multiply", "dbb1.write_latency", "a", "m", ""] {
            assert_eq!(nearest(word, names), None, "{word}");
        }
        assert_eq!(nearest("al_", names), Some("all"));
        assert_eq!(nearest("dbb0.raed_latency", names), Some("dbb0.read_latency"));
    }
}
