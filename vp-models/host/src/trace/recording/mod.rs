//! Recordings of a driver at work: its register accesses and interrupts in order, over the DMA memory as it stood
//! before the first.
//!
//! `NAME.trace` holds a line an access, numbers in hexadecimal: `W address value`, `R address value`, and `I bits`
//! where interrupts must come. `NAME.pool.gz` is the memory, at [`POOL`]; what must come out is a [`Golden`].
//! The folder tells the configuration, or the name: it ends in `_small`, in `_large` or, for nv_full, in neither; what follows a
//! `-` names the input and does not count.

mod golden;

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;

use super::error::{TraceError, TraceErrorKind, clip};
use super::{Body, Line, MAX_SCRIPT_BYTES, Surface, Trace, read_text};

pub(super) use golden::image;
pub use golden::{Dimg, Element, Golden};

/// Address of the driver's memory pool, fixed in the driver.
pub const POOL: u64 = 0xc000_0000;

/// Most memory of a recording, in bytes.
const MAX_POOL_BYTES: u64 = 256 << 20;

/// One line of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedCommand {
    /// `W address value`: the driver wrote a register.
    Write {
        /// Byte address in the register window.
        address: u32,
        /// The word.
        value: u32,
    },
    /// `R address value`: the driver read a register and got this.
    Read {
        /// Byte address in the register window.
        address: u32,
        /// Word that the recorded device answered.
        value: u32,
    },
    /// `I bits`: these bits of `S_INTR_STATUS` came, together or one after the other.
    Interrupt {
        /// The bits.
        bits: u32,
    },
}

impl fmt::Display for RecordedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordedCommand::Write { address, value } => write!(f, "W {address:05x} {value:08x}"),
            RecordedCommand::Read { address, value } => write!(f, "R {address:05x} {value:08x}"),
            RecordedCommand::Interrupt { bits } => write!(f, "I {bits:08x}"),
        }
    }
}

/// The lines of a recording.
pub fn parse(text: &str, file: &Path) -> Result<Vec<Line<RecordedCommand>>, TraceError> {
    let mut parsed = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let refuse = |kind| Err(TraceError::line(file, number, kind));
        let command = match words[..] {
            [] => continue,
            ["W", address, value] => register(address)
                .and_then(|address| Ok(RecordedCommand::Write { address, value: word(value)? })),
            ["R", address, value] => register(address)
                .and_then(|address| Ok(RecordedCommand::Read { address, value: word(value)? })),
            ["I", bits] => word(bits).map(|bits| RecordedCommand::Interrupt { bits }),
            ["W", ..] => Err(shape("W address value", &words)),
            ["R", ..] => Err(shape("R address value", &words)),
            ["I", ..] => Err(shape("I bits", &words)),
            [other, ..] => Err(TraceErrorKind::Syntax { expected: "W, R or I", found: quoted(other) }),
        };
        match command {
            Ok(command) => parsed.push(Line { number, command }),
            Err(kind) => return refuse(kind),
        }
    }
    Ok(parsed)
}

fn shape(shape: &'static str, words: &[&str]) -> TraceErrorKind {
    TraceErrorKind::ArgumentCount { shape, found: words.len() - 1 }
}

fn quoted(text: &str) -> String {
    format!("`{}`", clip(text))
}

fn hex(text: &str) -> Option<u32> {
    // from_str_radix would take a leading plus sign.
    if text.starts_with('+') { None } else { u32::from_str_radix(text, 16).ok() }
}

fn word(text: &str) -> Result<u32, TraceErrorKind> {
    let expected = "a hexadecimal number of at most 32 bits";
    hex(text).ok_or_else(|| TraceErrorKind::Syntax { expected, found: quoted(text) })
}

fn register(text: &str) -> Result<u32, TraceErrorKind> {
    // The bus addresses words with 16 bits.
    let inside = |address: &u32| *address < 1 << 18 && address.is_multiple_of(4);
    let expected = "a hexadecimal register address, a multiple of 4 below 40000";
    hex(text).filter(inside).ok_or_else(|| TraceErrorKind::Syntax { expected, found: quoted(text) })
}

/// Reads a recording, its memory, and its golden if there is one.
pub(super) fn load(name: &str, script: &Path) -> Result<Trace, TraceError> {
    let lines = parse(&read_text(script, "script", MAX_SCRIPT_BYTES)?, script)?;
    let pool = format!("{}.pool.gz", script.file_stem().unwrap_or_default().to_string_lossy());
    let memory = unpacked(&script.with_file_name(&pool))?;
    let trace = Trace {
        name: name.to_owned(),
        script: script.to_owned(),
        body: Body::Recording { lines, golden: golden::find(name, script)? },
        surfaces: [(pool, Surface::from_bytes(memory))].into(),
    };
    super::check::check(&trace)?;
    Ok(trace)
}

fn unpacked(file: &Path) -> Result<Vec<u8>, TraceError> {
    let unreadable =
        |error: std::io::Error| TraceError::whole(file, TraceErrorKind::Unreadable(error.to_string()));
    let packed = File::open(file).map_err(unreadable)?;
    let mut bytes = Vec::new();
    GzDecoder::new(packed).take(MAX_POOL_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let (size, limit) = (bytes.len() as u64, MAX_POOL_BYTES);
    if size > limit {
        return Err(TraceError::whole(
            file,
            TraceErrorKind::FileTooLarge { what: "pool", bytes: size, limit },
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back_as_they_are_written() {
        let text = "R 07004 00000000\n\nW 1000c ffffffff\nI 00140000\n";
        let lines = parse(text, Path::new("t.trace")).unwrap();
        let numbers: Vec<u32> = lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [1, 3, 4]);
        let written: String = lines.iter().map(|line| format!("{}\n", line.command)).collect();
        assert_eq!(written, text.replace("\n\n", "\n"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, expected) in [
            ("I 1\nW 7004", "t.trace:2: 1 arguments do not fit `W address value`"),
            ("I", "t.trace:1: 0 arguments do not fit `I bits`"),
            (
                "R 40000 0",
                "t.trace:1: expected a hexadecimal register address, a multiple of 4 below 40000, found `40000`",
            ),
            ("W 7004 +1", "t.trace:1: expected a hexadecimal number of at most 32 bits, found `+1`"),
            ("X 7004 0", "t.trace:1: expected W, R or I, found `X`"),
        ] {
            assert_eq!(parse(text, Path::new("t.trace")).unwrap_err().to_string(), expected);
        }
    }
}
