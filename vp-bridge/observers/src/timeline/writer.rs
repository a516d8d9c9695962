//! The writer of a timeline.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use vp_core::Time;
use vp_core::observe::{SourceKind, Stage, Transfer};
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::Platform;

use super::packets::{Packets, Track, begin, number};
use super::proto::{EventType, TrackEvent};
use super::stalls::{Reason, Stalls};
use super::tracks::{Client, Clients, Unit};
use super::{PAUSE, SHORTEST_STALL, WINDOW};
use crate::event::{Announced, Event, Observed};
use crate::threaded::Sink;
use crate::{ObserveError, WholeFile};

/// Windows in a row in which nothing happens, of which the others are like the last.
const EMPTY_WINDOWS: u32 = 4;

/// Writes a timeline.
pub(crate) struct Timeline {
    path: PathBuf,
    packets: Packets,
    period: Time,
    map: RegisterMap,
    is_nvdla: bool,
    root: Track,
    /// The tracks of units, stalls, the CPU with the line, and counters.
    groups: [Track; 4],
    stall_track: Track,
    sources: BTreeMap<u32, Source>,
    next_flow: u64,
    /// The arrows to the interrupt of layers that have ended.
    ended: Vec<u64>,
    /// The arrow from the interrupt to the CPU.
    to_cpu: Option<u64>,
    stalls: Stalls,
    stalled: [Counter; 3],
    stalled_for: [Time; 3],
    open_stall: Option<Stall>,
    array: Counter,
    /// The end of the window that events come in.
    window_end: Time,
    now: Time,
    /// An error while sources were announced.
    wrong: Option<io::Error>,
}

/// Tracks that a source's reports become.
enum Source {
    Unit(Unit),
    Bus(Box<Bus>),
    Registers(Track),
    Line {
        track: Track,
        is_high: bool,
    },
    Level(Level),
    /// A datapath, by its number.
    Datapath(usize),
    Warnings(Track),
    None,
}

struct Bus {
    track: Track,
    clients: Clients,
    bandwidth: [Counter; 2],
    outstanding: [Level; 2],
    bytes: [u64; 2],
}

/// A counter that has one value in each window.
struct Counter {
    track: Track,
    last: Option<i64>,
}

impl Counter {
    fn new(track: Track) -> Counter {
        Counter { track, last: None }
    }

    fn set(&mut self, time: Time, value: u64, packets: &mut Packets) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        if self.last.replace(value) != Some(value) {
            packets.count(time, self.track, value);
        }
    }
}

/// A level, of which each window has the highest.
struct Level {
    counter: Counter,
    now: u64,
    most: u64,
}

impl Level {
    fn new(track: Track) -> Level {
        Level { counter: Counter::new(track), now: 0, most: 0 }
    }

    fn set(&mut self, value: u64) {
        self.now = value;
        self.most = self.most.max(value);
    }

    fn end_window(&mut self, from: Time, packets: &mut Packets) {
        self.counter.set(from, self.most, packets);
        self.most = self.now;
    }
}

/// A stall that may go on.
struct Stall {
    reason: Reason,
    from: Time,
    until: Time,
    /// True if the stall's slice has begun.
    is_shown: bool,
}

impl Timeline {
    /// Begins a file about a platform.
    pub(crate) fn begin(path: &Path, platform: &Platform) -> Result<Timeline, ObserveError> {
        let made = WholeFile::create(path).and_then(|file| Timeline::new(path, file, platform));
        made.map_err(|error| ObserveError::write(path, error))
    }

    fn new(path: &Path, file: WholeFile, platform: &Platform) -> io::Result<Timeline> {
        let mut packets = Packets::new(file);
        let description = platform.description();
        let root = packets.group(&description.name, None)?;
        let mut groups = [root; 4];
        for (group, name) in groups.iter_mut().zip(["units", "stalls", "CPU", "counters"]) {
            *group = packets.group(name, Some(root))?;
        }
        let stall_track = packets.track("waits for", Some(groups[1]))?;
        let mut stalled = Vec::new();
        for reason in Reason::ALL {
            let name = format!("stalled, {}", reason.name());
            stalled.push(Counter::new(packets.counter(&name, "cycles", groups[1])?));
        }
        let stalled = stalled.try_into().map_err(|_| io::Error::other("not one counter a reason"))?;
        let array = Counter::new(packets.counter("MAC array active", "%", groups[3])?);
        let period = description.period;
        Ok(Timeline {
            path: path.to_owned(),
            packets,
            period,
            map: platform.map(),
            is_nvdla: description.nvdla().is_some(),
            root,
            groups,
            stall_track,
            sources: BTreeMap::new(),
            next_flow: 1,
            ended: Vec::new(),
            to_cpu: None,
            stalls: Stalls::new(platform),
            stalled,
            stalled_for: [Time::ZERO; 3],
            open_stall: None,
            array,
            window_end: platform.simulation().now() + period * WINDOW,
            now: platform.simulation().now(),
            wrong: None,
        })
    }

    fn source(&mut self, source: &Announced) -> io::Result<Source> {
        let [units, _, cpu, counters] = self.groups;
        let (name, packets) = (source.name.as_str(), &mut self.packets);
        Ok(match source.kind {
            SourceKind::Work => {
                let unit = name.rsplit('.').next().unwrap_or(name);
                Source::Unit(Unit::new(unit, units))
            }
            SourceKind::Transfers => {
                let mut counter =
                    |what: &str, unit: &str| packets.counter(&format!("{name} {what}"), unit, counters);
                let bandwidth = [counter("read", "bytes/s")?, counter("write", "bytes/s")?];
                let outstanding =
                    [counter("reads outstanding", "bursts")?, counter("writes outstanding", "bursts")?];
                Source::Bus(Box::new(Bus {
                    track: packets.group(name, Some(self.root))?,
                    clients: Clients::new(),
                    bandwidth: bandwidth.map(Counter::new),
                    outstanding: outstanding.map(Level::new),
                    bytes: [0; 2],
                }))
            }
            SourceKind::Registers { .. } => Source::Registers(packets.track(name, Some(cpu))?),
            SourceKind::LINE if name.ends_with(".active") => {
                let datapath = crate::threaded::datapath(source.number);
                datapath.map_or(Source::None, Source::Datapath)
            }
            SourceKind::LINE => Source::Line { track: packets.track(name, Some(cpu))?, is_high: false },
            SourceKind::Level { unit, .. } => {
                Source::Level(Level::new(packets.counter(name, unit.name(), counters)?))
            }
            SourceKind::Warnings => Source::Warnings(packets.track(name, Some(self.root))?),
            SourceKind::Counts => Source::None,
        })
    }

    fn see(&mut self, event: &Event) -> io::Result<()> {
        if let Some(error) = self.wrong.take() {
            return Err(error);
        }
        self.now = self.now.max(event.time);
        self.end_windows()?;
        if event.seen == Observed::Reset {
            self.reset();
            return Ok(());
        }
        let (now, pause) = (self.now, self.period * PAUSE);
        let Some(mut source) = self.sources.remove(&event.source) else { return Ok(()) };
        match (&mut source, &event.seen) {
            (Source::Bus(bus), &Observed::Transfer { stage, write, id, bytes, address }) => {
                let transfer = Transfer { stage, write, id, address, bytes, requested: now };
                self.stalls.transfer(event.source, now, &transfer);
                self.burst(bus, &transfer, (now, pause))?;
            }
            (Source::Level(level), Observed::Level(value)) => level.set(*value),
            (Source::Datapath(datapath), Observed::Busy { until }) => {
                self.stalls.busy(*datapath, event.time, *until);
            }
            (Source::Unit(unit), Observed::Begin { id, layer }) => {
                self.stalls.layer_begins(now);
                unit.begin((now, *id, layer), self.next_flow, &mut self.packets)?;
                self.next_flow += 2;
            }
            (Source::Unit(unit), Observed::End { id }) => {
                self.stalls.layer_ends(now);
                self.ended.extend(unit.end(now, *id, &mut self.packets).map(|flow| flow + 1));
            }
            (Source::Registers(track), &Observed::Register { write, address, value }) => {
                let register = self.map.at(address);
                let register = register.map_or_else(|| format!("0x{address:04x}"), |it| it.to_string());
                let name = format!("{} {register}", if write { "write" } else { "read" });
                let access = TrackEvent {
                    name: Some(name),
                    terminating_flow_ids: self.to_cpu.take().into_iter().collect(),
                    debug_annotations: vec![number("address", address.into()), number("value", value.into())],
                    ..super::packets::event(*track, EventType::Instant)
                };
                self.packets.event(now, access);
            }
            (Source::Line { track, is_high }, Observed::Level(level)) => {
                self.line((*track, is_high), *level > 0);
            }
            (_, Observed::Warning(text)) => {
                let track = if let Source::Warnings(track) = source { track } else { self.groups[0] };
                let warning = TrackEvent {
                    name: Some(text.to_string()),
                    ..super::packets::event(track, EventType::Instant)
                };
                self.packets.event(now, warning);
            }
            _ => {}
        }
        self.sources.insert(event.source, source);
        Ok(())
    }

    fn burst(&mut self, bus: &mut Bus, transfer: &Transfer, (now, pause): (Time, Time)) -> io::Result<()> {
        let &Transfer { stage, write, id, bytes, .. } = transfer;
        let direction = usize::from(write);
        let client = match bus.clients.entry((write, id)) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                new.insert(Client::new((write, id), self.is_nvdla, bus.track, &mut self.packets)?)
            }
        };
        let outstanding = &mut bus.outstanding[direction];
        match stage {
            Stage::Request => {
                let sources = &self.sources;
                let flow = |units: &[&str]| units.iter().find_map(|unit| flow_of(sources, unit));
                client.request((now, pause), bytes, flow, &mut self.packets);
                bus.bytes[direction] += u64::from(bytes);
                outstanding.set(outstanding.now + 1);
            }
            Stage::Data => {}
            Stage::Response => {
                client.response(now);
                outstanding.set(outstanding.now.saturating_sub(1));
            }
        }
        Ok(())
    }

    fn line(&mut self, (track, was_high): (Track, &mut bool), is_high: bool) {
        match (std::mem::replace(was_high, is_high), is_high) {
            (false, true) => {
                let flow = self.next_flow;
                self.next_flow += 1;
                self.to_cpu = Some(flow);
                let mut flows = std::mem::take(&mut self.ended);
                if flows.is_empty() {
                    // CDMA's come when all is fetched, before its layer ends.
                    flows.extend(flow_of(&self.sources, "cdma").map(|flow| flow + 1));
                }
                flows.push(flow);
                self.packets.event(self.now, begin(track, "interrupt", flows));
            }
            (true, false) => self.packets.end(self.now, track, Vec::new()),
            _ => {}
        }
    }

    /// Ends the windows that are over.
    fn end_windows(&mut self) -> io::Result<()> {
        let length = self.period * WINDOW;
        let mut in_a_row = 0;
        while self.window_end <= self.now {
            self.end_window()?;
            in_a_row += 1;
            // Nothing has happened since: the rest is like the last.
            if in_a_row == EMPTY_WINDOWS && self.window_end <= self.now {
                let windows = (self.now - self.window_end).as_ps() / length.as_ps().max(1);
                self.window_end += length * windows;
            }
        }
        Ok(())
    }

    /// The window is over: counters have their values, and levels that are known late are written up to the
    /// previous window.
    fn end_window(&mut self) -> io::Result<()> {
        let length = self.period * WINDOW;
        let (end, pause) = (self.window_end, self.period * PAUSE);
        let begin = Time::ps(end.as_ps().saturating_sub(length.as_ps()));
        let packets = &mut self.packets;
        for source in self.sources.values_mut() {
            match source {
                Source::Bus(bus) => {
                    for direction in 0..2 {
                        let bytes = u128::from(std::mem::take(&mut bus.bytes[direction]));
                        let rate = bytes * 1_000_000_000_000 / u128::from(length.as_ps().max(1));
                        bus.bandwidth[direction].set(begin, u64::try_from(rate).unwrap_or(u64::MAX), packets);
                        bus.outstanding[direction].end_window(begin, packets);
                    }
                    bus.clients.values_mut().for_each(|client| client.rest((end, pause), packets));
                }
                Source::Level(level) => level.end_window(begin, packets),
                _ => {}
            }
        }
        // A write is told with its last data: what lies a window back is known.
        self.look_at_stalls(begin);
        self.window_end = end + length;
        let back = length + length + length;
        self.packets.complete_until(Time::ps(end.as_ps().saturating_sub(back.as_ps())))
    }

    fn look_at_stalls(&mut self, until: Time) {
        let from = self.stalls.looked_at_until();
        if until <= from {
            return;
        }
        let (waits, array) = self.stalls.take(until);
        self.array.set(from, array.as_ps() * 100 / (until - from).as_ps(), &mut self.packets);
        for (at, spans) in waits.iter().enumerate() {
            self.stalled_for[at] += spans.length();
            self.stalled[at].set(until, self.stalled_for[at].cycles(self.period), &mut self.packets);
        }
        let mut slices: Vec<(Time, Time, Reason)> = Reason::ALL
            .into_iter()
            .zip(&waits)
            .flat_map(|(reason, spans)| spans.iter().map(move |(from, until)| (from, until, reason)))
            .collect();
        slices.sort_by_key(|slice| slice.0);
        for (from, until, reason) in slices {
            match &mut self.open_stall {
                Some(stall) if stall.reason == reason && stall.until == from => stall.until = until,
                _ => {
                    self.end_stall();
                    self.open_stall = Some(Stall { reason, from, until, is_shown: false });
                }
            }
            if let Some(stall) = &mut self.open_stall
                && !stall.is_shown
                && stall.until - stall.from >= self.period * SHORTEST_STALL
            {
                stall.is_shown = true;
                self.packets.event(stall.from, begin(self.stall_track, reason.name(), Vec::new()));
            }
        }
        if self.open_stall.as_ref().is_some_and(|stall| stall.until < until) {
            self.end_stall();
        }
    }

    fn end_stall(&mut self) {
        if let Some(Stall { until, is_shown: true, .. }) = self.open_stall.take() {
            self.packets.end(until, self.stall_track, Vec::new());
        }
    }

    /// Ends all that was under way, at a reset.
    fn reset(&mut self) {
        let now = self.now;
        self.stalls.reset(now);
        (self.to_cpu, self.ended) = (None, Vec::new());
        for source in self.sources.values_mut() {
            match source {
                Source::Unit(unit) => unit.reset(now, &mut self.packets),
                Source::Bus(bus) => {
                    bus.outstanding.iter_mut().for_each(|level| level.set(0));
                    bus.clients.values_mut().for_each(|client| client.close(now, &mut self.packets));
                }
                Source::Level(level) => level.set(0),
                _ => {}
            }
        }
    }

    fn end(mut self, now: Time) -> io::Result<()> {
        if let Some(error) = self.wrong.take() {
            return Err(error);
        }
        self.now = self.now.max(now);
        self.end_windows()?;
        // The last window is not full.
        self.end_window()?;
        self.look_at_stalls(self.now);
        self.end_stall();
        for source in self.sources.values_mut() {
            match source {
                Source::Bus(bus) => {
                    let packets = &mut self.packets;
                    bus.clients.values_mut().for_each(|client| client.close(self.now, packets));
                }
                Source::Unit(unit) => unit.reset(self.now, &mut self.packets),
                Source::Line { track, is_high: true } => self.packets.end(self.now, *track, Vec::new()),
                _ => {}
            }
        }
        self.packets.finish()
    }
}

/// The flow of the layer that a unit runs.
fn flow_of(sources: &BTreeMap<u32, Source>, name: &str) -> Option<u64> {
    sources.values().find_map(|source| match source {
        Source::Unit(unit) if unit.name() == name => unit.flow(),
        _ => None,
    })
}

impl Sink for Timeline {
    fn announced(&mut self, source: Announced) {
        match self.source(&source) {
            Ok(made) => drop(self.sources.insert(source.number, made)),
            Err(error) => self.wrong = Some(error),
        }
    }

    fn labelled(&mut self, _: u32, _: String) {}

    fn seen(&mut self, event: &Event) -> Result<bool, ObserveError> {
        let seen = self.see(event);
        seen.map(|()| true).map_err(|error| ObserveError::write(&self.path, error))
    }

    fn finish(self: Box<Self>, now: Time) -> Result<Option<String>, ObserveError> {
        let path = self.path.clone();
        self.end(now).map(|()| None).map_err(|error| ObserveError::write(&path, error))
    }
}
