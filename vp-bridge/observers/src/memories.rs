//! Logs of what memories do: commands of DRAMs, and bursts at a memory's port.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;

use vp_core::Time;
use vp_core::observe::Stage;
use vp_models::memory::dram::{DramCommand, DramConfig, DramError};
use vp_models::memory::{CommandForm, CommandWriter, MemoryModel, MemoryRequest, RequestForm, RequestWriter};
use vp_models::platform::{Description, MemoryDescription};

use crate::event::{Announced, Event, Observed};
use crate::threaded::Sink;
use crate::{ObserveError, WholeFile};

/// A log of a DRAM's commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Form of its lines.
    pub form: CommandForm,
}

/// A trace of the bursts at a memory's port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Form of its lines.
    pub form: RequestForm,
    /// Memory that they are for: `dbb0` or `sram0`.
    pub memory: String,
}

/// Memories of a platform, by the names of their ports.
fn memories(description: &Description) -> impl Iterator<Item = (&'static str, &MemoryDescription)> {
    let second = description.device.has_second_memory().then_some(("sram0", &description.sram0));
    std::iter::once(("dbb0", &description.dbb0)).chain(second)
}

/// DRAMs of a platform, by the beginnings of their channels' names: `dbb0.dram`.
pub(crate) fn drams(description: &Description) -> impl Iterator<Item = (String, &DramConfig)> {
    memories(description)
        .filter_map(|(name, memory)| Some((format!("{name}.dram"), memory.model.dram.as_ref()?)))
}

/// A text file that is written line by line.
struct TextFile {
    path: PathBuf,
    file: WholeFile,
    lines: String,
}

/// Bytes that go to the file together.
const CHUNK: usize = 64 << 10;

impl TextFile {
    fn begin(path: &std::path::Path) -> Result<TextFile, ObserveError> {
        let file = WholeFile::create(path).map_err(|error| ObserveError::write(path, error))?;
        Ok(TextFile { path: path.to_owned(), file, lines: String::new() })
    }

    fn line(&mut self, line: &str) {
        self.lines += line;
        self.lines.push('\n');
    }

    fn drain(&mut self, least: usize) -> io::Result<()> {
        if self.lines.len() > least {
            self.file.write_all(self.lines.as_bytes())?;
            self.lines.clear();
        }
        Ok(())
    }

    /// Sends lines to the file, if there are many.
    fn pass_on(&mut self) -> Result<(), ObserveError> {
        self.drain(CHUNK).map_err(|error| ObserveError::write(&self.path, error))
    }

    fn keep(mut self) -> Result<(), ObserveError> {
        let kept = self.drain(0).and_then(|()| self.file.keep());
        kept.map_err(|error| ObserveError::write(&self.path, error))
    }
}

/// Writes the log of the commands that DRAMs are given.
pub(crate) struct CommandLog {
    file: TextFile,
    /// DRAMs by the beginnings of their sources' names, with the periods of their clocks.
    drams: Vec<(String, Time, CommandWriter)>,
    /// Sources: the DRAM, and the channel.
    sources: BTreeMap<u32, (usize, u32)>,
    labels: Vec<String>,
}

impl CommandLog {
    fn drams(
        file: &CommandFile,
        description: &Description,
    ) -> Result<Vec<(String, Time, CommandWriter)>, ObserveError> {
        let wrong = |why: String| ObserveError::Option {
            option: "--dram-commands",
            given: file.path.display().to_string(),
            why,
        };
        let of = |(name, memory): (&str, &MemoryDescription)| {
            let dram = memory.model.dram.as_ref()?;
            let writer = || -> Result<_, DramError> {
                let period = Time::ps(dram.timing()?.tCK);
                Ok((format!("{name}.dram"), period, CommandWriter::new(file.form, name, dram)?))
            };
            Some(writer().map_err(|error| wrong(format!("[{name}.dram] {error}"))))
        };
        let drams = memories(description).filter_map(of).collect::<Result<Vec<_>, _>>()?;
        match drams.len() {
            0 => Err(wrong(format!("{} has no DRAM: take one with --dram DDR4-2400R", description.name))),
            1 => Ok(drams),
            _ if file.form == CommandForm::Vp => Ok(drams),
            _ => Err(wrong(
                "there are two DRAMs here, and this form is of one: take the form vp, which names them"
                    .to_owned(),
            )),
        }
    }

    /// Checks whether there is something to log.
    pub(crate) fn check(file: &CommandFile, description: &Description) -> Result<(), ObserveError> {
        CommandLog::drams(file, description).map(drop)
    }

    /// Begins the log of the DRAMs of a description.
    pub(crate) fn begin(file: &CommandFile, description: &Description) -> Result<CommandLog, ObserveError> {
        let drams = CommandLog::drams(file, description)?;
        let mut file = TextFile::begin(&file.path)?;
        if let Some(header) = drams.first().and_then(|(.., writer)| writer.header()) {
            file.line(&header);
        }
        Ok(CommandLog { file, drams, sources: BTreeMap::new(), labels: Vec::new() })
    }
}

impl Sink for CommandLog {
    fn announced(&mut self, source: Announced) {
        let of = |(dram, (before, ..)): (usize, &(String, Time, CommandWriter))| {
            let channel = source.name.strip_prefix(before)?.strip_suffix(".command")?.parse().ok()?;
            Some((dram, channel))
        };
        if let Some(found) = self.drams.iter().enumerate().find_map(of) {
            self.sources.insert(source.number, found);
        }
    }

    fn labelled(&mut self, _: u32, text: String) {
        self.labels.push(text);
    }

    fn seen(&mut self, event: &Event) -> Result<bool, ObserveError> {
        match event.seen {
            Observed::Reset => self.drams.iter_mut().for_each(|(.., writer)| writer.reset()),
            Observed::Count { label, value } => {
                let label = self.labels.get(label as usize).map_or("", String::as_str);
                if let Some(&(dram, channel)) = self.sources.get(&event.source)
                    && let Some((_, period, writer)) = self.drams.get_mut(dram)
                    && let Some(command) = DramCommand::of_observed(label, value)
                {
                    let clock = event.time.as_ps() / period.as_ps();
                    // A string takes what is written.
                    _ = writer.write(clock, channel, &command, &mut self.file.lines);
                    self.file.pass_on()?;
                }
            }
            _ => {}
        }
        Ok(true)
    }

    fn finish(self: Box<Self>, _: Time) -> Result<Option<String>, ObserveError> {
        self.file.keep().map(|()| None)
    }
}

/// Writes the trace of the bursts that a memory is asked for: a read at its request, a write when its data is complete, which is when the
/// memory's model gets it.
pub(crate) struct RequestLog {
    file: TextFile,
    writer: RequestWriter,
    memory: String,
    base: u64,
    /// Period of the clocks in which they are counted.
    period: Time,
    /// Names of the sources, and their numbers once they are known.
    masters: Vec<String>,
    sources: Vec<u32>,
}

impl RequestLog {
    fn memory<'a>(
        file: &RequestFile,
        description: &'a Description,
    ) -> Result<&'a MemoryDescription, ObserveError> {
        let found = memories(description).find(|(name, _)| *name == file.memory);
        found.map(|(_, memory)| memory).ok_or_else(|| ObserveError::Option {
            option: "--memory-requests",
            given: file.path.display().to_string(),
            why: format!("{} has no memory `{}`", description.name, file.memory),
        })
    }

    /// Checks whether there is something to log.
    pub(crate) fn check(file: &RequestFile, description: &Description) -> Result<(), ObserveError> {
        RequestLog::memory(file, description).map(drop)
    }

    /// Begins the trace of a memory of a description.
    pub(crate) fn begin(file: &RequestFile, description: &Description) -> Result<RequestLog, ObserveError> {
        let memory = RequestLog::memory(file, description)?;
        let MemoryModel { dram, traffic, .. } = &memory.model;
        let figures = || -> Result<_, DramError> {
            let period = match dram {
                Some(dram) => Time::ps(dram.timing()?.tCK),
                None => description.period,
            };
            Ok((period, memory.model.request_bytes()?))
        };
        let (period, granule) = figures().map_err(|error| ObserveError::Option {
            option: "--memory-requests",
            given: file.path.display().to_string(),
            why: error.to_string(),
        })?;
        let mut text = TextFile::begin(&file.path)?;
        if file.form == RequestForm::Vp {
            text.line(&format!(
                "# bursts of {} at {}, in clocks of {period}: {}",
                description.name,
                file.memory,
                file.form.line()
            ));
        }
        let masters = std::iter::once(file.memory.clone())
            .chain(traffic.iter().map(|traffic| format!("{}.{}", file.memory, traffic.name)));
        Ok(RequestLog {
            file: text,
            writer: RequestWriter::new(file.form, granule),
            memory: file.memory.clone(),
            base: memory.base,
            period,
            masters: masters.collect(),
            sources: Vec::new(),
        })
    }
}

impl Sink for RequestLog {
    fn announced(&mut self, source: Announced) {
        if self.masters.contains(&source.name) {
            self.sources.push(source.number);
        }
    }

    fn labelled(&mut self, _: u32, _: String) {}

    fn seen(&mut self, event: &Event) -> Result<bool, ObserveError> {
        if let Observed::Transfer { stage, write, bytes, address, .. } = event.seen
            && stage == if write { Stage::Data } else { Stage::Request }
            && bytes > 0
            && self.sources.contains(&event.source)
        {
            let clock = event.time.as_ps().div_ceil(self.period.as_ps());
            let request = MemoryRequest { clock, write, address: address.wrapping_sub(self.base), bytes };
            // A string takes what is written.
            _ = self.writer.write(&request, &mut self.file.lines);
            self.file.pass_on()?;
        }
        Ok(true)
    }

    fn finish(self: Box<Self>, _: Time) -> Result<Option<String>, ObserveError> {
        let name = self.memory;
        let path = self.file.path.display().to_string();
        let is_empty = self.sources.is_empty();
        self.file.keep()?;
        Ok(is_empty.then(|| format!("{path} has nothing: no burst of {name} was seen")))
    }
}
