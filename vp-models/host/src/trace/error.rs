//! Errors in a trace's text: one line for a person, with file, line and column.

use std::path::{Path, PathBuf};
use vp_models::printable::is_unfit;

use thiserror::Error;

/// Something wrong in a script or in a file it names. Displays as `file:line:column: what`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {kind}", self.place())]
pub struct TraceError {
    /// The file, as the caller named it.
    pub file: PathBuf,
    /// Line, from 1; 0 when the file as a whole is meant.
    pub line: u32,
    /// Column in characters, from 1; 0 when the whole line is meant.
    pub column: u32,
    /// Kind of error.
    pub kind: TraceErrorKind,
}

impl TraceError {
    /// An error that concerns a whole file.
    pub(super) fn whole(file: &Path, kind: TraceErrorKind) -> Self {
        Self { file: file.to_owned(), line: 0, column: 0, kind }
    }

    /// An error that concerns a whole line.
    pub(super) fn line(file: &Path, line: u32, kind: TraceErrorKind) -> Self {
        Self { file: file.to_owned(), line, column: 0, kind }
    }

    fn place(&self) -> String {
        let file = self.file.display();
        match (self.line, self.column) {
            (0, _) => format!("{file}"),
            (line, 0) => format!("{file}:{line}"),
            (line, column) => format!("{file}:{line}:{column}"),
        }
    }
}

/// Kind of error, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TraceErrorKind {
    /// The operating system would not give the file.
    #[error("cannot read: {0}")]
    Unreadable(String),
    /// A script names a file that is not beside it.
    #[error("no file `{name}` beside the script{}", hint(.nearest.as_deref()))]
    MissingFile {
        /// The name in the script.
        name: String,
        /// The file beside the script with the most similar name.
        nearest: Option<String>,
    },
    /// A script names a file by a path.
    #[error("`{0}` leaves the script's folder: name a file beside the script")]
    NotBeside(String),
    /// No script of any language, or a folder without one.
    #[error(
        "no trace here: expected a `.cfg`, an `input.txn`, a recording's `.trace`, a register log's `.jsonl`, or a folder that holds them"
    )]
    NoTrace,
    /// A file too large to be what it claims.
    #[error("{bytes} bytes are more than a {what} may have ({limit})")]
    FileTooLarge {
        /// `script` or `surface file`.
        what: &'static str,
        /// Size of the file, in bytes.
        bytes: u64,
        /// The largest size accepted.
        limit: u64,
    },
    /// A line of a log of registers that is none.
    #[error("{0}")]
    BadLog(String),
    /// The output that should come out cannot be told.
    #[error("not a golden: {0}")]
    BadGolden(&'static str),
    /// Two folders of goldens for one loadable.
    #[error("{} and {} may both be what it must leave: put the right one beside it as NAME.dimg", .first.display(), .second.display())]
    SeveralGoldens {
        /// One of them.
        first: PathBuf,
        /// Another.
        second: PathBuf,
    },
    /// The bytes are not UTF-8.
    #[error("not a text file: byte {0:#04x} is not UTF-8")]
    NotText(u8),
    /// A command the language does not have.
    #[error("unknown command `{name}`{}", hint(*.nearest))]
    UnknownCommand {
        /// The word found.
        name: String,
        /// The command with the most similar name.
        nearest: Option<&'static str>,
    },
    /// A name the vendor's tools reserve without giving it a meaning.
    #[error("`{0}` has no defined meaning and is not played")]
    Undefined(&'static str),
    /// The grammar wants something else here.
    #[error("expected {expected}, found {found}")]
    Syntax {
        /// Text that would be right.
        expected: &'static str,
        /// Text that is there, quoted, or `end of line`.
        found: String,
    },
    /// A number of arguments that is too small or too large.
    #[error("{found} arguments do not fit `{shape}`")]
    ArgumentCount {
        /// The command as it should look.
        shape: &'static str,
        /// Number of arguments there are.
        found: usize,
    },
    /// Not a number, or too wide for where it stands.
    #[error("`{found}` is not {what}: expected decimal or 0x hex of at most {bits} bits")]
    BadNumber {
        /// The word found.
        found: String,
        /// Purpose of the number.
        what: &'static str,
        /// Largest width of the number, in bits.
        bits: u32,
    },
    /// A name that is not one of a small set.
    #[error("`{found}` is not {what}: expected one of {choices}")]
    BadChoice {
        /// The word found.
        found: String,
        /// Purpose of the word.
        what: &'static str,
        /// The words that would be right.
        choices: &'static str,
    },
    /// A surface entry whose payload is not as long as it says.
    #[error("expected {expected} payload bytes, found {found}")]
    PayloadLength {
        /// The entry's `size`.
        expected: u64,
        /// The bytes that follow.
        found: u64,
    },
    /// A surface file without its closing brace.
    #[error("file ends without the closing `}}`: is it truncated?")]
    Unclosed,
    /// A surface file with nothing in it.
    #[error("no entries, not even `{{` and `}}`: is it truncated?")]
    NoEntries,
    /// A surface file shorter than the command that uses it.
    #[error("`{name}` holds {holds:#x} bytes, the command takes {needs:#x}")]
    ShortFile {
        /// The file.
        name: String,
        /// Bytes in the file.
        holds: u64,
        /// Bytes the command takes.
        needs: u64,
    },
    /// A region that leaves its address space.
    #[error("{size:#x} bytes at {base:#x} end beyond {last:#x}")]
    BeyondMemory {
        /// First byte.
        base: u64,
        /// Number of bytes.
        size: u64,
        /// Last address there is.
        last: u64,
    },
    /// A loadable that is damaged.
    #[error("{0}")]
    BadLoadable(crate::loadable::LoadableError),
    /// A region that lies in no memory of the platform.
    #[error("{size:#x} bytes at {base:#x} are in no memory: {holds}")]
    NoMemory {
        /// First byte.
        base: u64,
        /// Number of bytes.
        size: u64,
        /// Memories that there are.
        holds: String,
    },
    /// A byte address in another register window than the first one.
    #[error("{address:#x} is not in the register window of {first:#x}: both are taken for byte addresses")]
    OtherWindow {
        /// The address.
        address: u32,
        /// The script's first one.
        first: u32,
    },
    /// Addresses that can neither all count words nor all count bytes.
    #[error(
        "{address:#x} is behind all registers as a word address, and {odd:#x} in line {line} is no byte address"
    )]
    WordsAndBytes {
        /// The address.
        address: u32,
        /// One that is no multiple of 4.
        odd: u32,
        /// Line of that address.
        line: u32,
    },
    /// A script that fills, loads or compares more than any test needs.
    #[error("the script {what} {total:#x} bytes in all, more than the limit of {limit:#x}")]
    TooMuchMemory {
        /// `writes` or `checks`.
        what: &'static str,
        /// Bytes up to and including this line.
        total: u64,
        /// The limit.
        limit: u64,
    },
    /// A CRC over part of a word.
    #[error("a CRC is taken over whole words: {0:#x} is not a multiple of 4")]
    Unaligned(u64),
    /// A check of no bytes.
    #[error("a check of 0 bytes proves nothing")]
    EmptyCheck,
    /// A script without commands.
    #[error("nothing is done: the script has no commands")]
    NoCommands,
    /// An event that is waited for and never fired.
    #[error("nobody fires event `{event}`: declare it with intr_notify or sync_notify{}", hint(.nearest.as_deref()))]
    NobodyFires {
        /// The event.
        event: String,
        /// A declared event with a similar name.
        nearest: Option<String>,
    },
    /// A register the map does not have; the text is the register table's own.
    #[error("{0}")]
    UnknownRegister(String),
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; nearest: {name}"))
}

/// A piece of the input short and tame enough to stand in an error line.
pub(super) fn clip(text: &str) -> String {
    let mut clipped = String::new();
    for c in text.chars().take(60) {
        if is_unfit(c) {
            clipped.extend(c.escape_default());
        } else {
            clipped.push(c);
        }
    }
    if text.chars().nth(60).is_some() {
        clipped.push('…');
    }
    clipped
}
