//! Surface files: memory images as text.
//!
//! Two formats hold the same thing. `.cfg` scripts use *entries* (`{offset:O, size:N, payload:0xHH …}`),
//! `.txn` scripts use *dumps* (lines of bytes between lines that do not matter). Bytes are in memory order in
//! both.

use std::fmt::Write as _;
use std::path::Path;

use winnow::combinator::{eof, opt, preceded};
use winnow::stream::Location;
use winnow::token::take_while;
use winnow::{Parser, Result};

use super::cursor::{Fault, Input, blanks, lines, token, word};
use super::error::{TraceError, TraceErrorKind};

/// A memory image with gaps, relative to the address it will be put at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surface {
    runs: Vec<Run>,
}

/// Bytes without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Distance of the first byte from the surface's base.
    pub offset: u64,
    /// The bytes, in memory order; at least one.
    pub bytes: Vec<u8>,
}

impl Surface {
    /// A surface of nothing.
    #[must_use]
    pub const fn empty() -> Self {
        Self { runs: Vec::new() }
    }

    /// A surface without gaps, from offset 0.
    #[must_use]
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        let mut surface = Self::default();
        surface.push(0, &bytes.into());
        surface
    }

    /// Adds bytes; continues the last run where they are its neighbours. Returns false, and adds nothing, if
    /// they would end beyond a 64-bit offset.
    pub fn push(&mut self, offset: u64, bytes: &[u8]) -> bool {
        if offset.checked_add(bytes.len() as u64).is_none() {
            return false;
        }
        match self.runs.last_mut() {
            _ if bytes.is_empty() => {}
            Some(last) if last.offset + last.bytes.len() as u64 == offset => {
                last.bytes.extend_from_slice(bytes);
            }
            _ => self.runs.push(Run { offset, bytes: bytes.to_vec() }),
        }
        true
    }

    /// The runs, in file order: where two overlap the later one counts.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// One past the largest offset.
    #[must_use]
    pub fn extent(&self) -> u64 {
        self.runs.iter().map(|run| run.offset + run.bytes.len() as u64).max().unwrap_or(0)
    }

    /// Bytes held, gaps not counted.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.runs.iter().map(|run| run.bytes.len() as u64).sum()
    }

    /// Returns true if there are no bytes at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The first `size` bytes, if there are as many without a gap from offset 0.
    #[must_use]
    pub fn prefix(&self, size: u64) -> Option<&[u8]> {
        let size = usize::try_from(size).ok()?;
        match self.runs.as_slice() {
            _ if size == 0 => Some(&[]),
            [Run { offset: 0, bytes }] => bytes.get(..size),
            _ => None,
        }
    }

    /// Reads the entries of a `.dat` or `.mem` file of a `.cfg` script. `file` only names the text in errors.
    ///
    /// Most files stand between a `{` and a `}`; those of the vendor's generated tests have entries alone.
    pub fn parse_entries(text: &str, file: &Path) -> Result<Self, TraceError> {
        let mut surface = Self::default();
        let mut payload = Vec::new();
        let mut frame = Frame::Before;
        let mut last = 1;
        for (number, line) in lines(text) {
            last = number;
            let content = line.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            match (frame, content) {
                (Frame::Before, "{") => frame = Frame::Open,
                (Frame::Open, "}") => frame = Frame::Closed,
                (Frame::Closed, _) => {
                    let fault = Fault::unexpected(&Input::new(line), "nothing after the closing `}`");
                    return Err(fault.at(file, number, line));
                }
                (Frame::Before | Frame::Bare | Frame::Open, _) => {
                    if frame == Frame::Before {
                        frame = Frame::Bare;
                    }
                    let at = |fault: Fault| fault.at(file, number, line);
                    let (offset, place) = entry(&mut Input::new(line), &mut payload).map_err(at)?;
                    if !surface.push(offset, &payload) {
                        let size = payload.len() as u64;
                        let kind = TraceErrorKind::BeyondMemory { base: offset, size, last: u64::MAX };
                        return Err(at(Fault { place, kind }));
                    }
                }
            }
        }
        match frame {
            Frame::Closed | Frame::Bare => Ok(surface),
            Frame::Open => Err(TraceError::line(file, last, TraceErrorKind::Unclosed)),
            Frame::Before => Err(TraceError::whole(file, TraceErrorKind::NoEntries)),
        }
    }

    /// Reads a dump, the `.dat` of a `.txn` script: lines that begin with `0x`, after at most one blank, hold
    /// bytes; all others are ignored. `file` only names the text in errors.
    pub fn parse_dump(text: &str, file: &Path) -> Result<Self, TraceError> {
        let mut bytes = Vec::new();
        for (number, line) in lines(text) {
            if line.strip_prefix(' ').unwrap_or(line).starts_with("0x") {
                let mut input = Input::new(line.trim_end());
                payload_bytes(&mut input, &mut bytes)
                    .and_then(|()| eof.void().context("a byte such as 0x7f").parse_next(&mut input))
                    .map_err(|fault| fault.at(file, number, line))?;
            }
        }
        Ok(Self::from_bytes(bytes))
    }

    /// The text [`parse_entries`](Self::parse_entries) reads back as an equal surface: 32 bytes an entry.
    #[must_use]
    pub fn emit_entries(&self) -> String {
        let mut text = String::from("{\n");
        for run in &self.runs {
            for (chunk, index) in run.bytes.chunks(32).zip(0u64..) {
                let offset = run.offset + 32 * index;
                let _ = write!(text, "{{offset:{offset:#x}, size:{}, payload:", chunk.len());
                emit_bytes(&mut text, chunk);
                text.push_str("} ,\n");
            }
        }
        text.push_str("}\n");
        text
    }
}

/// The text [`Surface::parse_dump`] reads back as the same bytes: 32 to the line.
#[must_use]
pub fn emit_dump(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(32) {
        emit_bytes(&mut text, chunk);
        text.push('\n');
    }
    text
}

fn emit_bytes(text: &mut String, bytes: &[u8]) {
    for (index, byte) in bytes.iter().enumerate() {
        let _ = write!(text, "{}{byte:#04x}", if index == 0 { "" } else { " " });
    }
}

/// Point that reading a file of entries has reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// Nothing yet.
    Before,
    /// Behind `{`.
    Open,
    /// Behind `}`.
    Closed,
    /// Among entries without braces around them.
    Bare,
}

/// `{offset:O, size:N, payload:0xHH …}` and perhaps a comma. Leaves the bytes in `payload`; returns the
/// offset and its place.
fn entry(input: &mut Input<'_>, payload: &mut Vec<u8>) -> Result<(u64, usize), Fault> {
    let mut value = word(0.., |c: char| c.is_ascii_alphanumeric());
    token("{", "an entry `{offset:O, size:N, payload:0xHH …}`").parse_next(input)?;
    (token("offset", "`offset`"), token(":", "`:`")).parse_next(input)?;
    let offset_word = value.parse_next(input)?;
    let offset = offset_word.number("an offset", 64)?;
    (token(",", "`,`"), token("size", "`size`"), token(":", "`:`")).parse_next(input)?;
    let size = value.parse_next(input)?.number("a size", 64)?;
    (token(",", "`,`"), token("payload", "`payload`"), token(":", "`:`")).parse_next(input)?;
    payload.clear();
    payload_bytes(input, payload)?;
    let found = payload.len() as u64;
    if found != size {
        let place = input.current_token_start();
        return Err(Fault { place, kind: TraceErrorKind::PayloadLength { expected: size, found } });
    }
    token("}", "a byte such as 0x7f, or `}`").parse_next(input)?;
    (blanks, opt(','), blanks).parse_next(input)?;
    eof.context("end of line after the entry").parse_next(input)?;
    Ok((offset, offset_word.place))
}

/// `0xHH 0xHH …` up to something else.
fn payload_bytes(input: &mut Input<'_>, bytes: &mut Vec<u8>) -> Result<(), Fault> {
    loop {
        blanks(input)?;
        let before = *input;
        let digits = preceded("0x", take_while(0.., |c: char| c.is_ascii_alphanumeric()));
        let Some(digits): Option<&str> = opt(digits).parse_next(input)? else { return Ok(()) };
        let byte = match *digits.as_bytes() {
            [low] => hex(low),
            [high, low] => hex(high).zip(hex(low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        bytes.push(byte.ok_or_else(|| Fault::unexpected(&before, "a byte such as 0x7f"))?);
    }
}

fn hex(digit: u8) -> Option<u8> {
    // A hexadecimal digit is below 16.
    (digit as char).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries(text: &str) -> Result<Surface, String> {
        Surface::parse_entries(text, Path::new("s.dat")).map_err(|error| error.to_string())
    }

    #[test]
    fn entries_keep_their_gaps_and_join_where_they_touch() {
        let text = "# header\n{\n{offset:0x0, size:2, payload:0x01 0xA2} ,\n\
                    {offset:2, size:1, payload:0x3},\n{offset:0x20, size:0x1, payload:0xff}\n}\n";
        let surface = entries(text).unwrap();
        assert_eq!(
            surface.runs(),
            [Run { offset: 0, bytes: vec![1, 0xa2, 3] }, Run { offset: 0x20, bytes: vec![0xff] }]
        );
        assert_eq!((surface.extent(), surface.len()), (0x21, 4));
    }

    #[test]
    fn entries_may_stand_without_braces_around_them() {
        let surface =
            entries("{offset:0, size:1, payload:0x1},\n{offset:0x1, size:1, payload:0x2},").unwrap();
        assert_eq!(surface, Surface::from_bytes([1, 2]));
        assert!(entries("{offset:0, size:1, payload:0x1},\n}").is_err());
    }

    #[test]
    fn every_wrong_entry_is_told_with_its_place() {
        for (text, expected) in [
            ("{\n{offset:0, size:3, payload:0x1 0x2} ,\n}", "s.dat:2:35: expected 3 payload bytes, found 2"),
            ("{\n{offset:0, size:3, payload:0x1 0x", "s.dat:2:32: expected a byte such as 0x7f, found `0x`"),
            (
                "{\n{offset:0, size:1, payload:0x1} ,\n",
                "s.dat:2: file ends without the closing `}`: is it truncated?",
            ),
            ("# 1\n", "s.dat: no entries, not even `{` and `}`: is it truncated?"),
            (
                "{\n{offset:zero, size:1, payload:0x1}",
                "s.dat:2:9: `zero` is not an offset: expected decimal or 0x hex of at most 64 bits",
            ),
            (
                "{\n{offset:0xffffffffffffffff, size:1, payload:0x1}",
                "s.dat:2:9: 0x1 bytes at 0xffffffffffffffff end beyond 0xffffffffffffffff",
            ),
            (
                "{\n{offset:0, size:1, payload:0x101}\n}",
                "s.dat:2:28: expected a byte such as 0x7f, found `0x101}`",
            ),
            (
                "{\n{offset:0, size:1, payload:0x1}x\n}",
                "s.dat:2:32: expected end of line after the entry, found `x`",
            ),
            ("{\n{size:1}\n}", "s.dat:2:2: expected `offset`, found `size:1}`"),
            ("offset\n", "s.dat:1:1: expected an entry `{offset:O, size:N, payload:0xHH …}`, found `offset`"),
            ("{\n}\n{", "s.dat:3:1: expected nothing after the closing `}`, found `{`"),
        ] {
            assert_eq!(entries(text).unwrap_err(), expected);
        }
    }

    #[test]
    fn a_dump_is_its_byte_lines_and_nothing_else() {
        let text = "Data_size = 0x1000\n# 0x11\n\n 0x01 0x02\n0x03\t0x04 \n  0x05\n====\ndump done\n";
        assert_eq!(Surface::parse_dump(text, Path::new("d")).unwrap(), Surface::from_bytes([1, 2, 3, 4]));
        let error = Surface::parse_dump("x\n0x01 zz", Path::new("d.dat")).unwrap_err();
        assert_eq!(error.to_string(), "d.dat:2:6: expected a byte such as 0x7f, found `zz`");
    }

    proptest! {
        #[test]
        fn entries_read_back_as_written(
            runs in prop::collection::vec((any::<u32>(), prop::collection::vec(any::<u8>(), 1..90)), 0..6),
        ) {
            let mut surface = Surface::default();
            for (offset, bytes) in &runs {
                surface.push(u64::from(*offset), bytes);
            }
            prop_assert_eq!(entries(&surface.emit_entries()), Ok(surface));
        }

        #[test]
        fn a_dump_reads_back_as_written(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let read = Surface::parse_dump(&emit_dump(&bytes), Path::new("d")).unwrap();
            prop_assert_eq!(read, Surface::from_bytes(bytes));
        }

        #[test]
        fn no_text_makes_the_readers_panic(
            text in "(\\{|\\}|,|:|offset|size|payload|0x[0-9a-g]{0,3}|[ \n#é]|\\PC){0,60}",
        ) {
            let _ = entries(&text);
            let _ = Surface::parse_dump(&text, Path::new("d"));
        }
    }
}
