//! Text of files and peers, fit for people: what a terminal obeys, or what changes the order of the text around it, becomes `?`.
//!
//! With such characters a name could move the cursor, hide or change the output of others, turn a line round, or forge one.

use std::borrow::Cow;

/// Returns true if a character shows nothing itself but changes how others are shown: control characters (Unicode's category Cc),
/// separators of lines and paragraphs (Zl, Zp), and format characters (Cf). Excepted of these are the joiners that words and emoji need,
/// and the signs of Arabic and other scripts that are seen.
#[must_use]
pub fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// A text in one line.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    replaced(text, is_unfit)
}

/// A text that may have line ends and tabs.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| is_unfit(c) && c != '\n' && c != '\t')
}

/// A text of JSON, which has such characters escaped, as JSON has all others escaped that are not to stand in a text.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    let is_raw = |c| is_unfit(c) && !matches!(c, '\n' | '\r' | '\t');
    if !text.contains(is_raw) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_raw(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped += &format!("\\u{unit:04x}")),
            false => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

fn replaced(text: &str, is_unfit: impl Fn(char) -> bool) -> Cow<'_, str> {
    match text.contains(&is_unfit) {
        true => Cow::Owned(text.chars().map(|c| if is_unfit(c) { '?' } else { c }).collect()),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_how_other_text_is_shown_is_replaced() {
        assert_eq!(one_line("a\u{1b}]0;x\u{7}b\u{9b}1m"), "a?]0;x?b?1m");
        assert_eq!(one_line("\u{202e}a\u{2066}b\u{2028}c\u{2029}d\u{200f}e\u{feff}"), "?a?b?c?d?e?");
        assert_eq!(one_line("conv1 é 漢 \u{1f600}"), "conv1 é 漢 \u{1f600}");
        assert_eq!(one_line("a\n\tb"), "a??b");
        assert_eq!(lines("a\n\tb\r\u{85}c"), "a\n\tb??c");
    }

    #[test]
    fn json_keeps_the_text_and_has_it_escaped() {
        let text = "\u{202e}a\u{9b}\u{e0041}\n\u{7f}";
        let raw = serde_json::to_string(&[text]).unwrap();
        let escaped = json(&raw);
        assert!(escaped.is_ascii() && escaped.contains("\\u202e"), "{escaped}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&escaped).unwrap()[0], text);
        assert_eq!(json("[1,\n 2]"), "[1,\n 2]");
    }
}
