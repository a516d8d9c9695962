//! Which of the names there are somebody may have meant by one that is none.

/// Names at least this much alike, by Jaro and Winkler's measure, may have been meant: `spj` for `spi`, and `x` for nothing.
const ALIKE: f64 = 0.8;

/// Longer than any name: comparing costs length times length, which whoever wrote the word would choose.
const MOST_CHARACTERS: usize = 80;

/// The name most like the word, whatever their case, if one is like it at all; the first of those that are equally alike.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let short =
        |text: &str| -> String { text.chars().take(MOST_CHARACTERS).collect::<String>().to_lowercase() };
    let word = short(word);
    let mut best: Option<(f64, &str)> = None;
    for name in names {
        let likeness = strsim::jaro_winkler(&word, &short(name));
        if likeness >= ALIKE && best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, name));
        }
    }
    best.map(|(_, name)| name)
}

/// The end of a message about a word that is none of these names: `; nearest: spi`, or nothing.
pub fn hint<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map_or_else(String::new, |name| format!("; nearest: {name}"))
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
    }
}
