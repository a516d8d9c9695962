//! Standard output and standard error: the one way out for text. Of what comes from files, arguments and peers it shows
//! nothing that a terminal obeys, or that turns a line round ([`printable`]); colours are this program's own.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write};
use std::sync::LazyLock;

use anstream::{AutoStream, ColorChoice};
use vp_models::printable;

/// A stream to a person, without what is not fit to be shown.
pub(super) struct Out<S> {
    stream: S,
    has_colours: bool,
    /// Beginning of an escape sequence that may go out, up to its parameters.
    begins: &'static str,
}

/// Beginning of this program's own escape sequences until they go out: no other text knows the number.
static OWN: LazyLock<String> =
    LazyLock::new(|| format!("\x1b[{};", RandomState::new().hash_one(0_u8) as u32));

/// Standard output.
pub(super) fn stdout() -> Out<io::Stdout> {
    let has_colours = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    Out { stream: io::stdout(), has_colours, begins: &OWN }
}

/// Standard error.
pub(super) fn stderr() -> Out<io::Stderr> {
    let has_colours = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
    Out { stream: io::stderr(), has_colours, begins: &OWN }
}

/// Standard error for the log, which has its own colours: it escapes those of what is logged.
pub(super) fn log() -> Out<io::Stderr> {
    Out { begins: "\x1b[", ..stderr() }
}

/// An escape sequence of this program's.
pub(super) fn own(sequence: impl fmt::Display) -> String {
    sequence.to_string().replace("\x1b[", &OWN)
}

/// Prints a line.
macro_rules! println {
    ($($arguments:tt)*) => {{
        use std::io::Write as _;
        // As with the standard library's, nobody is told that nobody reads.
        let _ = writeln!($crate::cli::out::stdout(), $($arguments)*);
    }};
}

/// Prints a line to standard error.
macro_rules! eprintln {
    ($($arguments:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!($crate::cli::out::stderr(), $($arguments)*);
    }};
}

pub(super) use {eprintln, println};

impl<S: Write> Write for Out<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = shown(&String::from_utf8_lossy(bytes), self.begins, self.has_colours);
        self.stream.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn write_fmt(&mut self, arguments: fmt::Arguments<'_>) -> io::Result<()> {
        // In one piece: other threads print, too.
        self.write_all(arguments.to_string().as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A text as it goes out: escape sequences that begin so set colours, or are left out.
fn shown(text: &str, begins: &str, has_colours: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(begins) {
        shown += &printable::lines(before);
        let parameters = after.find(|c: char| !matches!(c, '0'..='9' | ';')).unwrap_or(after.len());
        let (parameters, behind) = after.split_at(parameters);
        match behind.strip_prefix('m') {
            Some(behind) => {
                if has_colours {
                    shown += &format!("\x1b[{parameters}m");
                }
                rest = behind;
            }
            None => {
                shown += &printable::one_line(begins);
                rest = after;
            }
        }
    }
    shown + &printable::lines(rest)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::cli::text::{RED, styled};

    #[test]
    fn only_this_programs_colours_go_out() {
        let name = "a\x1b[31mb\x1b]0;owned\x07\u{9b}1mc\u{202e}\u{2028}d";
        let text = format!("{}\n\t{name}", styled(RED, name));
        let fit = "a?[31mb?]0;owned??1mc??d";
        assert_eq!(shown(&text, &OWN, false), format!("{fit}\n\t{fit}"));
        assert_eq!(shown(&text, &OWN, true), format!("\x1b[1m\x1b[31m{fit}\x1b[0m\n\t{fit}"));
    }

    /// The sources of the command line, with their names.
    fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
        let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
        let of = |path: PathBuf| match path.extension() {
            _ if path.is_dir() => sources(&path),
            Some(extension) if extension == "rs" => {
                vec![(path.clone(), std::fs::read_to_string(path).unwrap())]
            }
            _ => Vec::new(),
        };
        entries.flat_map(of).collect()
    }

    /// Whole files go to standard output as they are (`standard.rs`, `shell.rs`).
    #[test]
    fn no_command_prints_past_it() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli");
        for (path, text) in sources(&folder).into_iter().filter(|(path, _)| !path.ends_with("out.rs")) {
            for (number, line) in (1..).zip(text.lines()) {
                let prints = ["println!(", " print!(", " eprint!("].iter().any(|print| line.contains(print));
                let is_out = line.contains("out::println!(") || line.contains("out::eprintln!(");
                let is_past = line.contains("anstream::std") || (prints && !is_out);
                assert!(!is_past, "{}:{number}: {line}", path.display());
            }
        }
    }

    #[test]
    fn a_log_has_colours_and_no_other_sequences() {
        let line = "\x1b[33m WARN\x1b[0m a\x1b[2Jb\u{202e}c\n";
        assert_eq!(shown(line, "\x1b[", true), "\x1b[33m WARN\x1b[0m a?[2Jb?c\n");
        assert_eq!(shown(line, "\x1b[", false), " WARN a?[2Jb?c\n");
    }
}
