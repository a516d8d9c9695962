//! Common parts of the parsers of scripts and surface files: words of a line with their places, and errors that say what is expected where.

use std::path::Path;

use winnow::combinator::preceded;
use winnow::error::{AddContext, ParserError};
use winnow::stream::{LocatingSlice, Location, Stream};
use winnow::token::take_while;
use winnow::{Parser, Result};

use super::error::{TraceError, TraceErrorKind, clip};

/// Rest of one line.
pub(super) type Input<'a> = LocatingSlice<&'a str>;

/// An error that knows its place in the line but not yet its file and line.
#[derive(Debug)]
pub(super) struct Fault {
    /// Bytes of the line before it.
    pub(super) place: usize,
    pub(super) kind: TraceErrorKind,
}

impl Fault {
    /// Returns the error at this line of that file.
    pub(super) fn at(self, file: &Path, number: u32, line: &str) -> TraceError {
        let before = line.get(..self.place).unwrap_or(line).chars().count();
        let column = u32::try_from(before).map_or(u32::MAX, |column| column.saturating_add(1));
        TraceError { file: file.to_owned(), line: number, column, kind: self.kind }
    }

    /// Something else stands here than is expected.
    pub(super) fn unexpected(input: &Input<'_>, expected: &'static str) -> Fault {
        let rest = input.trim_end();
        let found = if rest.is_empty() { "end of line".to_owned() } else { format!("`{}`", clip(rest)) };
        Fault { place: input.current_token_start(), kind: TraceErrorKind::Syntax { expected, found } }
    }
}

impl<'a> ParserError<Input<'a>> for Fault {
    type Inner = Fault;

    fn from_input(input: &Input<'a>) -> Fault {
        Fault::unexpected(input, "")
    }

    /// Once it is said what is expected, nothing else is tried.
    fn is_backtrack(&self) -> bool {
        matches!(self.kind, TraceErrorKind::Syntax { expected: "", .. })
    }

    fn into_inner(self) -> Result<Fault, Fault> {
        Ok(self)
    }
}

impl<'a> AddContext<Input<'a>> for Fault {
    fn add_context(
        mut self,
        _: &Input<'a>,
        _: &<Input<'a> as Stream>::Checkpoint,
        context: &'static str,
    ) -> Fault {
        if let TraceErrorKind::Syntax { expected, .. } = &mut self.kind {
            *expected = context;
        }
        self
    }
}

/// A word of a line, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    /// Bytes of the line before it.
    pub(super) place: usize,
}

impl Word<'_> {
    pub(super) fn fault(&self, kind: TraceErrorKind) -> Fault {
        Fault { place: self.place, kind }
    }

    /// Decimal or 0x hex, of at most `bits` bits.
    pub(super) fn number(&self, what: &'static str, bits: u32) -> Result<u64, Fault> {
        number(self.text)
            .filter(|value| bits >= 64 || value >> bits == 0)
            .ok_or_else(|| self.fault(TraceErrorKind::BadNumber { found: clip(self.text), what, bits }))
    }

    /// Reads a number as [`number`](Self::number) does, for the 32-bit values registers hold.
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

/// Blanks, if there are any.
pub(super) fn blanks(input: &mut Input<'_>) -> Result<(), Fault> {
    take_while(0.., char::is_whitespace).void().parse_next(input)
}

/// Takes so many characters of a word, behind blanks.
pub(super) fn word<'a>(
    length: impl Into<winnow::stream::Range>,
    belongs: impl Fn(char) -> bool,
) -> impl Parser<Input<'a>, Word<'a>, Fault> {
    let word = take_while(length, belongs)
        .with_span()
        .map(|(text, span): (&str, std::ops::Range<usize>)| Word { text, place: span.start });
    preceded(blanks, word)
}

/// Accepts the text that must come next behind blanks.
pub(super) fn token<'a>(text: &'static str, expected: &'static str) -> impl Parser<Input<'a>, (), Fault> {
    (blanks, text).void().context(expected)
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
        let mut input = Input::new("é = 1");
        let (_, fault) = (word(0.., |c| c != '=').parse_next(&mut input), Fault::unexpected(&input, "x"));
        let error = fault.at(Path::new("f"), 7, "é = 1");
        assert_eq!((error.line, error.column), (7, 3));
    }
}
