//! Messages of serde about a value, in words for whoever writes the file.

use crate::suggestion::hint;

/// serde's message in plain words: what was found and what is expected; of an unknown name which there are, with these others, and the nearest of all.
/// Another message as it is.
pub fn in_plain_words(message: &str, others: &[&str]) -> String {
    // The message of an error within an error ends with a line.
    let message = message.trim_end();
    let quoted = || message.split('`').skip(1).step_by(2);
    let first = || quoted().next().unwrap_or_default();
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("{key} is missing");
    }
    if message.starts_with("unknown variant `") {
        let known: Vec<&str> = quoted().skip(1).collect();
        return format!("found `{}`, {}{}", first(), expected(&known), hint(first(), known.iter().copied()));
    }
    if message == "wanted string or table" {
        return "expected a name in quotes".to_owned();
    }
    let mismatch = ["invalid type: ", "invalid value: ", "invalid length "].into_iter();
    let mismatch = mismatch.filter_map(|kind| message.strip_prefix(kind)?.split_once(", expected ")).next();
    if let Some((value, wanted)) = mismatch {
        return format!("found {}, expected {}", found(value), wanted_in_words(wanted));
    }
    let (word, known): (&str, Vec<&str>) = match message.strip_prefix("unexpected keys in table: ") {
        // The crate's own message about a variant of an enumeration.
        Some(rest) => {
            let (words, known) = rest.split_once(", available keys: ").unwrap_or((rest, ""));
            let known = known.split(", ").filter(|name| !name.is_empty()).collect();
            (words.split(',').next().unwrap_or(words), known)
        }
        None if message.starts_with("unknown field `") => (first(), quoted().skip(1).collect()),
        None => return message.to_owned(),
    };
    let all: Vec<&str> = others.iter().copied().chain(known).collect();
    format!("unknown field `{word}`, {}{}", expected(&all), hint(word, all.iter().copied()))
}

/// Returns a text that lists the names that there are.
fn expected(names: &[&str]) -> String {
    let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match listed.as_slice() {
        [] => "there are no keys here".to_owned(),
        [one] => format!("expected {one}"),
        [one, two] => format!("expected {one} or {two}"),
        all => format!("expected one of {}", all.join(", ")),
    }
}

/// A value: ``integer `1` `` is 1.
fn found(value: &str) -> String {
    match value {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        length if length.parse::<u64>().is_ok() => format!("{length} values"),
        text => match text.strip_prefix("string ") {
            Some(text) => text.to_owned(),
            None => text.split('`').nth(1).unwrap_or(text).to_owned(),
        },
    }
}

/// A type: `u8` is a whole number from 0 to 255.
fn wanted_in_words(wanted: &str) -> String {
    let whole = |from: i64, to: i64| format!("a whole number from {from} to {to}");
    match wanted {
        "u8" => whole(0, u8::MAX.into()),
        "u16" => whole(0, u16::MAX.into()),
        "u32" => whole(0, u32::MAX.into()),
        "u64" | "usize" => "a whole number from 0 on".to_owned(),
        "i8" => whole(i8::MIN.into(), i8::MAX.into()),
        "i16" => whole(i16::MIN.into(), i16::MAX.into()),
        "i32" => whole(i32::MIN.into(), i32::MAX.into()),
        "i64" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a string" => "a text in quotes".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        other => match other.strip_prefix("an array of length ") {
            Some(length) => format!("a list of {length} values"),
            None if other.starts_with("struct ") => "a table".to_owned(),
            None if other.starts_with("enum ") => "a name in quotes".to_owned(),
            None => other.to_owned(),
        },
    }
}
