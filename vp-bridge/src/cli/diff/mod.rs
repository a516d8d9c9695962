//! `vp diff`: the first difference of two recordings, or of two logs of registers.
//!
//! Of recordings, what entered the platforms is compared in order, with its times; then both are run again, and the first event is
//! looked for that only one of them has (`events.rs`). Logs are compared line by line.

mod events;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use vp_core::Time;
use vp_hub::{Input, PartyId, Recorded};
use vp_recordings::{ReadError, Reader};

use super::inputs::Names;
use super::sequences::{self, FirstDifference, first_difference};
use super::text::{self, grouped, one_line, styled};
use super::{Failure, Verdict};
use crate::cli::out;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Recording or register log
    #[arg(value_name = "A", value_parser = super::standard::named())]
    one: PathBuf,

    /// Recording or register log to compare it with
    ///
    /// The exit status is that of diff(1): 0 if both are the same, 1 if they differ, 2 if they cannot be compared.
    #[arg(value_name = "B", value_parser = super::standard::named())]
    other: PathBuf,
}

/// Bytes of a line of a log, at most.
const MOST_LINE: u64 = 1 << 20;

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let paths = [args.one.as_path(), args.other.as_path()];
    let are_logs = [is_log(paths[0])?, is_log(paths[1])?];
    let is_same = match are_logs {
        [false, false] => recordings(paths)?,
        [true, true] => logs(paths)?,
        _ => {
            let [one, other] = paths.map(Path::display);
            return Err(Failure::new(format!("of {one} and {other} one is a log and the other is none"))
                .hint("compare two recordings, or two logs of registers"));
        }
    };
    let (style, verdict) = if is_same { (text::GREEN, "EQUAL") } else { (text::RED, "DIFFERENT") };
    writeln!(out::stdout(), "\n{}", styled(style, verdict))?;
    Ok(if is_same { Verdict::Right } else { Verdict::Wrong })
}

fn wrong(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    File::open(path).map(BufReader::new).map_err(|error| wrong(path, error))
}

/// Returns true if a file is a log of registers, in either form: JSON objects, or text behind a heading.
fn is_log(path: &Path) -> Result<bool, Failure> {
    let mut first = Vec::new();
    open(path)?.take(1).read_to_end(&mut first).map_err(|error| wrong(path, error))?;
    Ok(matches!(first[..], [b'{' | b'#']))
}

// Logs.

fn logs(paths: [&Path; 2]) -> Result<bool, Failure> {
    let mut failed = None;
    let found = {
        let [one, other] = paths.map(open);
        let (mut one, mut other) = (one?, other?);
        let failed = std::cell::RefCell::new(&mut failed);
        let lines = |file: &mut BufReader<File>, path: &Path| {
            let mut line = Vec::new();
            match file.take(MOST_LINE).read_until(b'\n', &mut line) {
                Ok(0) => None,
                Ok(_) => Some(String::from_utf8_lossy(&line).trim_end().to_owned()),
                Err(error) => {
                    **failed.borrow_mut() = Some(wrong(path, error));
                    None
                }
            }
        };
        first_difference(
            std::iter::from_fn(|| lines(&mut one, paths[0])),
            std::iter::from_fn(|| lines(&mut other, paths[1])),
        )
    };
    if let Some(failure) = failed {
        return Err(failure);
    }
    show(found, paths, ("line", "lines"), Clone::clone)
}

// Recordings.

/// Something that entered, and when.
#[derive(Debug, Clone, PartialEq)]
struct Entered {
    at: Time,
    what: Recorded,
}

/// Inputs that entered a platform, from a recording.
struct Entries {
    reader: Reader<BufReader<File>>,
    at: Time,
    /// The parties in the order in which they came: other numbers are no difference.
    parties: Vec<PartyId>,
    failed: Option<ReadError>,
}

impl Entries {
    fn of(path: &Path) -> Result<Entries, Failure> {
        let reader = Reader::new(open(path)?).map_err(|error| wrong(path, error))?;
        Ok(Entries { reader, at: Time::ZERO, parties: Vec::new(), failed: None })
    }

    fn number(&mut self, party: &mut PartyId) {
        let known = self.parties.iter().position(|known| known == party);
        let number = known.unwrap_or_else(|| {
            self.parties.push(*party);
            self.parties.len() - 1
        });
        *party = PartyId(number as u64 + 1);
    }
}

impl Iterator for &mut Entries {
    type Item = Entered;

    fn next(&mut self) -> Option<Entered> {
        loop {
            let mut what = match self.reader.next_entry() {
                Ok(entry) => entry?,
                Err(error) => {
                    self.failed = Some(error);
                    return None;
                }
            };
            match &mut what {
                Recorded::Ran(position) => {
                    self.at = position.time;
                    continue;
                }
                Recorded::Input(input) => match input {
                    Input::Enter { party, name, .. } => {
                        self.number(party);
                        name.clear();
                    }
                    Input::Leave { party, .. }
                    | Input::Command { party, .. }
                    | Input::Posted { party, .. }
                    | Input::Answer { party, .. }
                    | Input::Debug { party, .. }
                    | Input::Debugger { party, .. }
                    | Input::Driven { party, .. }
                    | Input::Promised { party, .. } => self.number(party),
                    Input::Mode(_) | Input::SumUp | Input::Warn { .. } | Input::Settle { .. } => {}
                },
                Recorded::Direct { party, .. } => self.number(party),
                Recorded::Accessed(_) | Recorded::Hash(_) => {}
            }
            return Some(Entered { at: self.at, what });
        }
    }
}

fn recordings(paths: [&Path; 2]) -> Result<bool, Failure> {
    let [one, other] = paths.map(Entries::of);
    let (mut one, mut other) = (one?, other?);
    let mut out = out::stdout();
    let are_alike = headers(&mut out, paths, [&one, &other])?;
    let names = one.reader.header().hub().map_err(|error| wrong(paths[0], error))?;
    let names = Names::of(names.platform());
    let found = first_difference(&mut one, &mut other);
    let line = |entered: &Entered| format!("{:>12}  {}", entered.at.to_string(), names.line(&entered.what));
    // Up to where one is damaged both may be the same.
    let failed =
        [one.failed, other.failed].into_iter().zip(paths).find_map(|(error, path)| Some((error?, path)));
    let are_same = show(found, paths, ("entry", "entries"), line)?;
    if let Some((error, path)) = failed {
        return Err(wrong(path, error));
    }
    let same_events = events::compare(paths)?;
    Ok(are_alike && are_same && same_events)
}

/// Shows what both say of their platforms; whether it is the same.
fn headers(out: &mut impl Write, paths: [&Path; 2], entries: [&Entries; 2]) -> Result<bool, Failure> {
    let headers = entries.map(|entries| entries.reader.header());
    for (path, header) in paths.iter().zip(headers) {
        let name = header.description().map_err(|error| wrong(path, error))?.name;
        let mode = format!("{:?}", header.mode()).to_lowercase();
        let (name, by) = (one_line(&name), one_line(&header.program));
        writeln!(out, "{:<10} {}: {name}, {mode}, by {by}", "recording", path.display())?;
    }
    let [one, other] = headers;
    if one.mode() != other.mode()
        || one.delta_limit != other.delta_limit
        || one.memory_limit != other.memory_limit
    {
        writeln!(out, "{:<10} another mode of time, or other limits", styled(text::RED, "different"))?;
        return Ok(false);
    }
    match first_difference(one.platform.lines(), other.platform.lines()) {
        Err(_) => Ok(true),
        Ok(FirstDifference { index, sides, .. }) => {
            let line =
                |side: &[&str]| side.first().map_or_else(|| "no more".to_owned(), |line| format!("`{line}`"));
            let lines = one_line(&sides.map(|side| line(&side)).join(" and "));
            let what = format!("platforms, from line {} of their descriptions on: {lines}", index + 1);
            writeln!(out, "{} {what}", styled(text::RED, format!("{:<10}", "different")))?;
            Ok(false)
        }
    }
}

/// Shows the first difference, if there is one; whether there is none. An item is called so, and several are.
fn show<T>(
    found: Result<FirstDifference<T>, u64>,
    paths: [&Path; 2],
    (unit, units): (&str, &str),
    line: impl Fn(&T) -> String,
) -> Result<bool, Failure> {
    let mut out = out::stdout();
    let FirstDifference { index, before, sides } = match found {
        Ok(found) => found,
        Err(count) => {
            let unit = if count == 1 { unit } else { units };
            writeln!(out, "{:<10} {} {unit}, one by one", "equal", grouped(count))?;
            return Ok(true);
        }
    };
    let what = format!("{unit} {}, the first that differs", grouped(index + 1));
    writeln!(out, "{} {what}", styled(text::RED, format!("{:<10}", "different")))?;
    let lines = |items: &mut dyn Iterator<Item = &T>| items.map(&line).collect::<Vec<_>>();
    sequences::show(&mut out, "before it", "in both", &lines(&mut before.iter()))?;
    for (path, side) in paths.iter().zip(&sides) {
        let mut lines = lines(&mut side.iter());
        if lines.is_empty() {
            lines.push("no more".to_owned());
        }
        sequences::show(&mut out, "from it on", &format!("in {}", path.display()), &lines)?;
    }
    Ok(false)
}
