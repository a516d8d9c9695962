//! The writer of a waveform.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use vp_core::Time;
use vp_models::memory::dram::DramConfig;
use vp_models::platform::Platform;

use super::Shape::{Bits, Text};
use super::recorder::{Recorder, Signal};
use super::signals::{Around, DramFacts, Signals};
use super::{FileKind, fst, vcd};
use crate::event::{Announced, Event, Observed};
use crate::threaded::Sink;
use crate::trigger::{Boundary, Trigger};
use crate::{ObserveError, WholeFile};

/// Writes a waveform, from one trigger to another.
pub(crate) struct Waveform {
    kind: FileKind,
    path: PathBuf,
    /// The file, before it is recorded.
    file: Option<WholeFile>,
    around: Around,
    recorder: Recorder,
    sources: BTreeMap<u32, Signals>,
    labels: Vec<String>,
    warning: Signal,
    warnings: (Signal, u64),
    start: Option<Trigger>,
    stop: Option<Trigger>,
    state: WaveformState,
    /// Sources that were announced after the file had begun, whose signals it does not have.
    late: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaveformState {
    /// The start has not come.
    Before,
    Recording,
    /// The stop has come, at that time.
    Stopping(Time),
    Stopped,
}

impl Waveform {
    /// Begins a file about a platform.
    pub(crate) fn begin(
        path: &Path,
        platform: &Platform,
        [start, stop]: [Option<Trigger>; 2],
    ) -> Result<Waveform, ObserveError> {
        let kind = FileKind::of(path)?;
        let create = if kind == FileKind::Fst { WholeFile::create_plain } else { WholeFile::create };
        let file = create(path).map_err(|error| ObserveError::write(path, error))?;
        let description = platform.description();
        let memories = platform.memories().iter();
        let around = Around {
            platform: description.name.replace(char::is_whitespace, "_"),
            period: description.period,
            map: platform.map(),
            address_bits: memories
                .map(|memory| (memory.name().to_owned(), memory.interconnect().config().address_bits))
                .collect(),
            drams: crate::memories::drams(description).filter_map(dram_facts).collect(),
        };
        let mut recorder = Recorder::new();
        let top = |name: &str| vec![around.platform.clone(), name.to_owned()];
        let warning = recorder.add(top("warning"), Text(128));
        let warnings = recorder.add(top("warnings"), Bits(32));
        let mut waveform = Waveform {
            kind,
            path: path.to_owned(),
            file: Some(file),
            around,
            recorder,
            sources: BTreeMap::new(),
            labels: Vec::new(),
            warning,
            warnings: (warnings, 0),
            start,
            stop,
            state: WaveformState::Before,
            late: Vec::new(),
        };
        waveform.count_warning("", 0).map_err(|error| ObserveError::write(path, error))?;
        Ok(waveform)
    }

    fn count_warning(&mut self, text: &str, count: u64) -> io::Result<()> {
        let (signal, warnings) = &mut self.warnings;
        *warnings += count;
        self.recorder.set(*signal, *warnings)?;
        self.recorder.set_text(self.warning, text)
    }

    /// Records from here on.
    fn record(&mut self) -> io::Result<()> {
        self.state = WaveformState::Recording;
        let Some(file) = self.file.take() else { return Ok(()) };
        let variables = self.recorder.variables();
        let format: Box<dyn super::Format> = match self.kind {
            FileKind::Fst => Box::new(fst::Fst::begin(file, variables)?),
            FileKind::Vcd => Box::new(vcd::Vcd::begin(file, variables)?),
        };
        self.recorder.record(format)
    }

    /// Records from a time on, if there is one.
    fn record_at(&mut self, time: Option<Time>) -> io::Result<()> {
        let Some(time) = time else { return Ok(()) };
        self.recorder.move_to(time)?;
        self.record()
    }

    fn see(&mut self, event: &Event) -> io::Result<bool> {
        // What is told late is shown where the file is.
        let time = event.time.max(self.recorder.now());
        if self.state == WaveformState::Before {
            match &self.start {
                None => self.record()?,
                Some(start) => self.record_at(start.time().filter(|start| *start <= time))?,
            }
        }
        if self.state == WaveformState::Recording
            && let Some(stop) = self.stop.as_ref().and_then(Trigger::time)
            && stop < time
        {
            self.state = WaveformState::Stopping(stop);
        }
        if let WaveformState::Stopping(at) = self.state
            && at < time
        {
            self.recorder.move_to(at)?;
            self.state = WaveformState::Stopped;
            self.recorder.end()?;
            return Ok(false);
        }
        self.recorder.move_to(time)?;
        self.apply(event)?;
        let has_begun = self.start.as_mut().is_some_and(|start| start.comes(event, Boundary::Begin));
        let is_over = self.stop.as_mut().is_some_and(|stop| stop.comes(event, Boundary::End));
        match self.state {
            WaveformState::Before if has_begun => self.record()?,
            WaveformState::Recording if is_over => self.state = WaveformState::Stopping(time),
            _ => {}
        }
        Ok(true)
    }

    fn apply(&mut self, event: &Event) -> io::Result<()> {
        match &event.seen {
            Observed::Warning(text) => self.count_warning(text, 1),
            Observed::Reset => {
                self.sources.values_mut().try_for_each(|source| source.reset(&mut self.recorder))
            }
            _ => match self.sources.get_mut(&event.source) {
                Some(source) => source.see(event, &self.around, &self.labels, &mut self.recorder),
                None => Ok(()),
            },
        }
    }

    fn end(&mut self, now: Time) -> io::Result<()> {
        if self.state == WaveformState::Before {
            match &self.start {
                None => self.record()?,
                Some(start) => self.record_at(start.time().filter(|start| *start <= now))?,
            }
        }
        let stop = self.stop.as_ref().and_then(Trigger::time).unwrap_or(now);
        let until = if let WaveformState::Stopping(at) = self.state { at } else { now.min(stop) };
        self.recorder.move_to(until)?;
        self.recorder.end()
    }
}

/// Returns what the signals of a DRAM depend on.
fn dram_facts((name, dram): (String, &DramConfig)) -> Option<(String, DramFacts)> {
    let (of, timing) = (dram.organisation().ok()?, dram.timing().ok()?);
    // A signal has a bit at least.
    let bits = |count: u32| count.next_power_of_two().trailing_zeros().max(1);
    let facts = DramFacts {
        clock: Time::ps(timing.tCK),
        row_bits: bits(of.rows),
        column_bits: bits(of.columns / of.burst_length),
        bank_bits: bits(of.units() * of.unit_banks()),
        has_column_bus: dram.standard.standard().has_column_bus(),
    };
    Some((name, facts))
}

impl Sink for Waveform {
    fn announced(&mut self, source: Announced) {
        for trigger in [&mut self.start, &mut self.stop].into_iter().flatten() {
            trigger.announced(&source);
        }
        if self.file.is_none() {
            self.late.push(source.name);
            return;
        }
        // Before the file is recorded nothing is written that could go wrong.
        if let Ok(signals) = Signals::of(&source, &self.around, &mut self.recorder) {
            self.sources.insert(source.number, signals);
        }
    }

    fn labelled(&mut self, label: u32, text: String) {
        debug_assert_eq!(label as usize, self.labels.len());
        self.labels.push(text);
    }

    fn seen(&mut self, event: &Event) -> Result<bool, ObserveError> {
        self.see(event).map_err(|error| ObserveError::write(&self.path, error))
    }

    fn finish(mut self: Box<Self>, now: Time) -> Result<Option<String>, ObserveError> {
        let has_stopped = matches!(self.state, WaveformState::Stopping(_) | WaveformState::Stopped);
        self.end(now).map_err(|error| ObserveError::write(&self.path, error))?;
        let path = self.path.display();
        if self.state == WaveformState::Before
            && let Some(start) = &self.start
        {
            return Err(ObserveError::NeverCame {
                option: "--trace-start",
                given: start.to_string(),
                end: now,
                path: self.path,
            });
        }
        let mut notes = Vec::new();
        match &self.stop {
            Some(stop) if !has_stopped && stop.time().is_none_or(|stop| stop > now) => {
                notes.push(format!(
                    "--trace-stop {stop} has not come, so {path} goes on to the end, at {now}"
                ));
            }
            _ => {}
        }
        if !self.late.is_empty() {
            notes.push(format!("{path} has not what came after its beginning: {}", self.late.join(", ")));
        }
        Ok(Some(notes.join("; ")).filter(|notes| !notes.is_empty()))
    }
}
