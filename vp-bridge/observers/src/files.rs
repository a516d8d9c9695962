//! The files to be written about a run.

use std::path::{Path, PathBuf};

use vp_core::Sim;
use vp_core::observe::Kinds;
use vp_hub::Hub;
use vp_models::platform::{Description, Platform};

use crate::memories::{CommandFile, CommandLog, RequestFile, RequestLog};
use crate::registers::{self, RegisterLog};
use crate::threaded::Threaded;
use crate::timeline::Timeline;
use crate::trigger::Trigger;
use crate::waves::{FileKind, Waveform};
use crate::{LayerNames, ObserveError, Observers, WholeFile};

/// The files to be written about the run of a platform.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// A waveform.
    pub trace: Option<TraceFile>,
    /// The log of register accesses: text for people if its name ends in `.txt` or `.log`; JSON, which can be played again, if it ends
    /// in `.jsonl`, `.json` or in nothing of the kind.
    pub registers: Option<PathBuf>,
    /// A timeline in Perfetto's format.
    pub timeline: Option<PathBuf>,
    /// The log of the commands that DRAMs are given.
    pub commands: Option<CommandFile>,
    /// The trace of the bursts that a memory is asked for.
    pub requests: Option<RequestFile>,
    /// The layers of the network, if one is run.
    pub layers: LayerNames,
}

/// A waveform, and the part of the run that it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFile {
    /// Path of the waveform's file, whose extension gives the format: .fst or .vcd.
    pub path: PathBuf,
    /// Beginning of the waveform: a time, or `register:NAME[=VALUE]`, `interrupt`, `address:HEX[..HEX]`, `layer:N`,
    /// `layer:UNIT.N`, `layer:NAME`. Left out: the beginning of the run.
    pub start: Option<String>,
    /// End of the waveform, in the same words; for a layer, the layer's end.
    pub stop: Option<String>,
}

impl TraceFile {
    fn triggers(
        &self,
        platform: &Platform,
        layers: &LayerNames,
    ) -> Result<[Option<Trigger>; 2], ObserveError> {
        let parse = |option, text: &Option<String>| {
            text.as_ref().map(|text| Trigger::parse(option, text, platform, layers)).transpose()
        };
        Ok([parse("--trace-start", &self.start)?, parse("--trace-stop", &self.stop)?])
    }
}

impl Files {
    /// Returns true if no file is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths().next().is_none()
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        let trace = self.trace.iter().map(|trace| trace.path.as_path());
        let commands = self.commands.iter().map(|commands| commands.path.as_path());
        let requests = self.requests.iter().map(|requests| requests.path.as_path());
        trace.chain(self.timeline.as_deref()).chain(self.registers.as_deref()).chain(commands).chain(requests)
    }

    /// The files of a command's platform of that number, from 0: the first has the names as they are, the
    /// second `run-2.fst` in place of `run.fst`.
    #[must_use]
    pub fn of_platform(&self, number: usize) -> Files {
        let mut files = self.clone();
        let Files { trace, timeline, registers, commands, requests, layers: _ } = &mut files;
        let paths = trace.iter_mut().map(|trace| &mut trace.path).chain(timeline).chain(registers);
        let paths = paths.chain(commands.iter_mut().map(|commands| &mut commands.path));
        let paths = paths.chain(requests.iter_mut().map(|requests| &mut requests.path));
        paths.for_each(|path| *path = numbered(path, number));
        files
    }

    /// Checks whether they can be written about such a platform, before anything runs.
    ///
    /// # Errors
    /// As of [`attach`](Files::attach).
    pub fn check(&self, description: &Description) -> Result<(), ObserveError> {
        if self.is_empty() {
            return Ok(());
        }
        self.check_names(&Platform::build(description)?)?;
        for path in self.paths() {
            WholeFile::check(path).map_err(|error| ObserveError::write(path, error))?;
        }
        Ok(())
    }

    /// Checks that all that is named is there.
    fn check_names(&self, platform: &Platform) -> Result<(), ObserveError> {
        if let Some(trace) = &self.trace {
            FileKind::of(&trace.path)?;
            trace.triggers(platform, &self.layers)?;
        }
        if let Some(commands) = &self.commands {
            CommandLog::check(commands, platform.description())?;
        }
        if let Some(requests) = &self.requests {
            RequestLog::check(requests, platform.description())?;
        }
        self.registers.as_deref().map_or(Ok(()), registers::check_name)
    }

    /// Begins the files, and adds the observers that write them to a hub's platform.
    ///
    /// # Errors
    /// [`ObserveError`]: a file cannot be begun, or something that is named is not there.
    pub fn attach(&self, hub: &mut Hub) -> Result<Observers, ObserveError> {
        let platform = hub.platform();
        let mut observers = Observers::new(platform.sim());
        if let Some(trace) = &self.trace {
            let triggers = trace.triggers(platform, &self.layers)?;
            let waveform = Waveform::begin(&trace.path, platform, triggers)?;
            let waves = Threaded::start(platform, Kinds::ALL, self.layers.clone(), Box::new(waveform));
            waves.hear_fifos(platform);
            observers.attach(waves);
        }
        if let Some(path) = &self.timeline {
            let timeline = Timeline::begin(path, platform)?;
            let wants = Kinds::TRANSFERS | Kinds::LEVELS | Kinds::REGISTERS | Kinds::WORK | Kinds::WARNINGS;
            observers.attach(Threaded::start(platform, wants, self.layers.clone(), Box::new(timeline)));
        }
        if let Some(commands) = &self.commands {
            let log = CommandLog::begin(commands, platform.description())?;
            observers.attach(Threaded::start_memories(platform, Kinds::COUNTS, Box::new(log)));
        }
        if let Some(requests) = &self.requests {
            let log = RequestLog::begin(requests, platform.description())?;
            observers.attach(Threaded::start_memories(platform, Kinds::TRANSFERS, Box::new(log)));
        }
        if let Some(path) = &self.registers {
            observers.attach(RegisterLog::begin(path, hub)?);
        }
        Ok(observers)
    }
}

impl CommandFile {
    /// Begins the log, of memories without a device whose simulation this is.
    ///
    /// # Errors
    /// [`ObserveError`]: the file cannot be begun, or there is no DRAM.
    pub fn attach(&self, sim: &Sim, description: &Description) -> Result<Observers, ObserveError> {
        let mut observers = Observers::new(sim.clone());
        let log = CommandLog::begin(self, description)?;
        observers.attach(Threaded::start_bare(Kinds::COUNTS, LayerNames::default(), Box::new(log)));
        Ok(observers)
    }
}

/// The name of a further file: `run-2.fst` for `run.fst`.
#[must_use]
pub fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{}", number + 1));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_platforms_have_files_with_their_number() {
        let named = |path, number| numbered(Path::new(path), number).display().to_string();
        assert_eq!(named("out/run.fst", 0), "out/run.fst");
        assert_eq!(named("out/run.fst", 1), "out/run-2.fst");
        assert_eq!(named("log", 9), "log-10");
    }
}
