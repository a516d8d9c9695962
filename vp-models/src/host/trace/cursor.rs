//! Reads one line of a script from left to right. Both languages and the surface files stand on it.

use std::path::Path;

use super::error::{TraceError, TraceErrorKind, clip};

/// An error that knows its column but not yet its file and line.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) column: u32,
    pub(super) kind: TraceErrorKind,
}

impl Fault {
    pub(super) fn at(self, file: &Path, line: u32) -> TraceError {
        TraceError { file: file.to_owned(), line, column: self.column, kind: self.kind }
    }
}

/// A word of a line, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) column: u32,
}

impl Word<'_> {
    pub(super) fn fault(&self, kind: TraceErrorKind) -> Fault {
        Fault { column: self.column, kind }
    }

    /// Decimal or 0x hex, of at most `bits` bits.
    pub(super) fn number(&self, what: &'static str, bits: u32) -> Result<u64, Fault> {
        number(self.text)
            .filter(|value| bits >= 64 || value >> bits == 0)
            .ok_or_else(|| self.fault(TraceErrorKind::BadNumber { found: clip(self.text), what, bits }))
    }

    /// The same, for the 32-bit values registers hold.
    pub(super) fn number32(&self, what: &'static str) -> Result<u32, Fault> {
        // `number` has bounded the value to 32 bits.
        self.number(what, 32).map(|value| value as u32)
    }
}

/// Decimal or 0x hex; no signs, no separators.
pub(super) fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // from_str_radix would take a leading plus sign.
    if digits.starts_with('+') { None } else { u64::from_str_radix(digits, radix).ok() }
}

/// A place in one line.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Self { line, at: 0 }
    }

    /// What has not been read yet.
    pub(super) fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    /// Column of the next character, counted in characters from 1.
    pub(super) fn column(&self) -> u32 {
        let before = self.line[..self.at].chars().count();
        u32::try_from(before).map_or(u32::MAX, |column| column.saturating_add(1))
    }

    pub(super) fn skip_blanks(&mut self) {
        self.at = self.line.len() - self.rest().trim_start().len();
    }

    pub(super) fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> Word<'a> {
        let column = self.column();
        let rest = self.rest();
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += length;
        Word { text: &rest[..length], column }
    }

    /// Passes over `length` bytes, which the caller has seen to be ASCII.
    pub(super) fn skip(&mut self, length: usize) {
        self.at += length;
    }

    /// Takes `text` if it comes next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let here = self.rest().starts_with(text);
        if here {
            self.at += text.len();
        }
        here
    }

    /// Takes `text`, which must come next after blanks.
    pub(super) fn expect(&mut self, text: &str, expected: &'static str) -> Result<(), Fault> {
        self.skip_blanks();
        if self.eat(text) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> Fault {
        let rest = self.rest().trim_end();
        let found = if rest.is_empty() { "end of line".to_owned() } else { format!("`{}`", clip(rest)) };
        Fault { column: self.column(), kind: TraceErrorKind::Syntax { expected, found } }
    }
}

/// The lines of a text, numbered from 1.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    // Files are bounded well below 2^32 bytes, so the number cannot run over.
    text.lines().zip(1u32..).map(|(line, number)| (number, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal_or_hex_and_nothing_else() {
        assert_eq!(number("0x10"), Some(16));
        assert_eq!(number("10"), Some(10));
        assert_eq!(number("0xffffffffffffffff"), Some(u64::MAX));
        for wrong in ["", "0x", "+1", "0x+1", "-1", "1_0", "0x10000000000000000", "ten"] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn columns_count_characters() {
        let mut cursor = Cursor::new("é = 1");
        cursor.take_while(|c| c != '=');
        assert_eq!(cursor.column(), 3);
    }
}
