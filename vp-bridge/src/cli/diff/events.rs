//! The first event that one of two runs has and the other has not: both recordings are run again, twice.
//!
//! The first time what happens in each window of simulated time is summed up as a hash, whatever its order, because sources tell
//! several events at once. The second time the events of the first window that differs are kept.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::path::Path;
use std::rc::Rc;

use vp_core::Time;
use vp_core::observe::{Observation, Observer, Source, SourceInfo, What};
use vp_recordings::ReplayStep;

use super::{Failure, show};
use crate::cli::out;
use crate::cli::replay;
use crate::cli::sequences::first_difference;
use crate::cli::text;

/// The bits of a time, in picoseconds, within its window: a window has about a microsecond.
const WINDOW: u32 = 20;

/// An event, in the order in which events are compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Time,
    source: usize,
    text: String,
}

/// Sums up windows, and keeps the events of one.
#[derive(Default)]
struct Watched {
    windows: RefCell<BTreeMap<u64, u64>>,
    names: RefCell<Vec<String>>,
    kept: Cell<Option<u64>>,
    events: RefCell<Vec<Event>>,
}

fn window(at: Time) -> u64 {
    at.as_ps() >> WINDOW
}

impl Observer for Watched {
    fn announced(&self, source: Source, info: &SourceInfo) {
        let mut names = self.names.borrow_mut();
        if names.len() <= source.index() {
            names.resize(source.index() + 1, String::new());
        }
        names[source.index()] = info.name.to_string();
    }

    fn observe(&self, seen: &Observation<'_>) {
        let Observation { time, source, what, .. } = *seen;
        match self.kept.get() {
            None => {
                let mut hasher = DefaultHasher::new();
                (time, source, what).hash(&mut hasher);
                let mut windows = self.windows.borrow_mut();
                let sum = windows.entry(window(time)).or_default();
                *sum = sum.wrapping_add(hasher.finish());
            }
            Some(kept) if window(time) == kept => {
                let text = line(&what);
                self.events.borrow_mut().push(Event { at: time, source: source.index(), text });
            }
            Some(_) => {}
        }
    }
}

fn line(what: &What<'_>) -> String {
    match *what {
        What::Level(level) => format!("level {level}"),
        What::Register { write: true, address, value } => format!("{address:#06x} written: {value:#010x}"),
        What::Register { write: false, address, value } => format!("{address:#06x} read: {value:#010x}"),
        What::Transfer(transfer) => {
            let what = if transfer.write { "write" } else { "read" };
            let stage = format!("{:?}", transfer.stage).to_lowercase();
            let (address, bytes, id) = (transfer.address, transfer.bytes, transfer.id);
            format!("{what} of {bytes} bytes at {address:#x}, id {id}: {stage}")
        }
        What::Begin { label, id } => format!("begin {label}, {id}"),
        What::End { label, id } => format!("end {label}, {id}"),
        What::Count { label, value } => format!("{label} {value}"),
        What::Warning(warning) => format!("{warning:?}"),
    }
}

/// Runs a recording again, up to the end of the window of which all events are kept, if there is one.
fn run(path: &Path, kept: Option<u64>) -> Result<Rc<Watched>, Failure> {
    let mut player = replay::open(path)?;
    let watched = Rc::new(Watched { kept: Cell::new(kept), ..Watched::default() });
    player.hub().platform().sim().observe(watched.clone());
    let until = kept.map_or(Time::MAX, |kept| Time::ps((kept + 2).saturating_mul(1 << WINDOW)));
    loop {
        match player.step(until, &mut |_| {}).map_err(|error| replay::wrong(path, &error))? {
            ReplayStep::Done(_) => {}
            ReplayStep::Stopped | ReplayStep::Ended(_) => return Ok(watched),
        }
    }
}

/// Shows the first event that differs, if there is one; whether there is none.
pub(super) fn compare(paths: [&Path; 2]) -> Result<bool, Failure> {
    let [one, other] = paths.map(|path| run(path, None));
    let (one, other) = (one?, other?);
    let (one, other) = (one.windows.take(), other.windows.take());
    let differs = |window: &&u64| one.get(window) != other.get(window);
    let Some(&first) = one.keys().chain(other.keys()).filter(differs).min() else {
        let count = text::counted(one.len() as u64, "microsecond");
        writeln!(out::stdout(), "{:<10} what happens, in each of {count} in which anything does", "equal")?;
        return Ok(true);
    };
    let [one, other] = paths.map(|path| run(path, Some(first)));
    let (one, other) = (one?, other?);
    let names = one.names.take();
    let sorted = |watched: &Watched| {
        let mut events = watched.events.take();
        events.sort();
        events
    };
    let found = first_difference(sorted(&one), sorted(&other));
    show(found, paths, ("event of a microsecond", "events"), |event| {
        let name = names.get(event.source).map_or("", String::as_str);
        format!("{:>12}  {name}: {}", event.at.to_string(), event.text)
    })
}
