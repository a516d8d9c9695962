//! The vendor's conformance traces, and recordings of a driver: read, checked, played, judged.
//!
//! A trace is a script, the surface files beside it, and perhaps a `plusargs.txt`. There are two script
//! languages of the vendor's, [`mod@cfg`] (declarations and concurrent register streams) and [`txn`] (one strict
//! sequence), and a third, [`recording`], of what a driver did. Logs of registers are traces too: our own ([`log`]) and those
//! of the vendor's virtual platform ([`sc_log`]). A loadable ([`crate::loadable`]) counts as one more: what must come out lies beside it. The text becomes a [`Trace`] here; what it means lies in [`player`].
//!
//! ```text
//! discover(folder) → TraceSource → Trace::load → player::play(trace, host, names) → Outcome
//! ```
//!
//! A [`Trace`] that exists has been checked as far as text can be: every file it names was there and whole,
//! every region ends inside its address space, every event waited for is fired by somebody, and something is
//! done. Which registers exist is not known here: [`RegisterNames`] is the caller's.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::loadable::Loadable;
use vp_models::bounded_file::read_at_most;
use vp_models::nvdla::registers::{RegisterMap, Unit, glb};
use vp_models::printable::is_unfit;

pub mod cfg;
mod check;
mod cursor;
mod discover;
mod error;
mod loadable;
pub mod log;
pub mod made;
mod platform;
pub mod player;
pub mod recording;
mod registers;
pub mod sc_log;
pub mod surface;
pub mod txn;
mod write;

pub use discover::{Language, TraceSource, configuration_in_name, configuration_of_name, discover};
pub use error::{TraceError, TraceErrorKind};
pub use platform::{
    DEFAULT_PLATFORM, NETWORK_PLATFORM, TracePlatform, platform_of, platform_of_folder, platform_of_loadable,
};
pub use surface::Surface;
pub use write::TraceBuilder;

/// Largest script read, in bytes. The vendor's largest is 60 KiB.
pub const MAX_SCRIPT_BYTES: u64 = 16 << 20;
/// Largest surface file read, in bytes of text. The vendor's largest is 20 MiB.
pub const MAX_SURFACE_BYTES: u64 = 256 << 20;
/// Most memory a script may fill and load, and again most it may check, in bytes.
pub const MAX_MEMORY_BYTES: u64 = 1 << 30;

/// A script and the surfaces it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    name: String,
    script: PathBuf,
    body: Body,
    surfaces: BTreeMap<String, Surface>,
}

/// The commands of a trace, in the language they were written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A `.cfg` script.
    Cfg(Vec<Line<cfg::CfgCommand>>),
    /// A `.txn` script.
    Txn {
        /// The commands, in order.
        lines: Vec<Line<txn::TxnCommand>>,
        /// The simulator switches beside it.
        plusargs: txn::Plusargs,
        /// The first register address, if they are taken for byte addresses, and could as well count words.
        doubtful: Option<u32>,
    },
    /// Recording of what a driver did, over its memory: the one surface.
    Recording {
        /// The accesses and interrupts, in order.
        lines: Vec<Line<recording::RecordedCommand>>,
        /// Result that must come out, if that is known.
        golden: Option<recording::Golden>,
    },
    /// A log of register accesses.
    Log(Vec<Line<log::LogCommand>>),
    /// A log of the vendor's virtual platform.
    ScLog(sc_log::ScLog),
    /// Loadable that the vendor's compiler made of a network.
    Loadable {
        /// The loadable.
        loadable: Box<Loadable>,
        /// Inputs as they lie in memory, in the order in which they are bound.
        inputs: Vec<Vec<u8>>,
        /// Goldens of the outputs, by their numbers, as far as they are known.
        goldens: BTreeMap<usize, recording::Golden>,
    },
}

/// A command and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<C> {
    /// Line number in the script, from 1.
    pub number: u32,
    /// Command that stands there.
    pub command: C,
}

/// Contents of a trace, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Register writes.
    pub register_writes: usize,
    /// Register reads whose value is checked once or until it fits.
    pub register_reads_checked: usize,
    /// Interrupts declared (`.cfg`) or waits for the interrupt line (`.txn`).
    pub interrupts: usize,
    /// Checks of memory against a CRC or a file.
    pub memory_checks: usize,
    /// Events that must happen with nothing compared.
    pub event_checks: usize,
}

impl Trace {
    /// Reads a script, whose language its extension tells, and every file it uses.
    pub fn load(script: &Path) -> Result<Self, TraceError> {
        let source =
            TraceSource::of(script).ok_or_else(|| TraceError::whole(script, TraceErrorKind::NoTrace))?;
        if source.language == Language::Recording {
            return recording::load(&source.name, script);
        }
        if source.language == Language::Log {
            return log::load(&source.name, script);
        }
        if source.language == Language::ScLog {
            return sc_log::load(&source.name, script);
        }
        if source.language == Language::Loadable {
            return loadable::load(&source.name, script);
        }
        let text = read_text(script, "script", MAX_SCRIPT_BYTES)?;
        let folder = script.parent().unwrap_or(Path::new(""));
        let plusargs_file = folder.join("plusargs.txt");
        let plusargs = match source.language {
            Language::Txn if is_there(&plusargs_file)? => {
                let text = read_text(&plusargs_file, "script", MAX_SCRIPT_BYTES)?;
                Some((plusargs_file, text))
            }
            _ => None,
        };
        let plusargs = plusargs.as_ref().map(|(file, text)| (file.as_path(), text.as_str()));
        Self::assemble(&source.name, script, source.language, &text, plusargs, &mut |name| {
            let file = folder.join(name);
            if file.is_file() {
                read_text(&file, "surface file", MAX_SURFACE_BYTES).map(Some)
            } else {
                Ok(None)
            }
        })
    }

    /// Builds a trace from text that is already here. `read` gives the text of a file beside the script, or
    /// none when there is no such file.
    pub fn assemble(
        name: &str,
        script: &Path,
        language: Language,
        text: &str,
        plusargs: Option<(&Path, &str)>,
        read: &mut dyn FnMut(&str) -> Result<Option<String>, TraceError>,
    ) -> Result<Self, TraceError> {
        let body = match language {
            Language::Cfg => Body::Cfg(cfg::parse(text, script)?),
            Language::Txn => Body::Txn {
                lines: txn::parse(text, script)?,
                doubtful: txn::doubtful_address(text),
                plusargs: match plusargs {
                    Some((file, text)) => txn::parse_plusargs(text, file)?,
                    None => txn::Plusargs::default(),
                },
            },
            Language::Recording => Body::Recording { lines: recording::parse(text, script)?, golden: None },
            Language::Loadable | Language::Log | Language::ScLog => {
                return Err(TraceError::whole(script, TraceErrorKind::NoTrace));
            }
        };
        let mut surfaces = BTreeMap::new();
        for (line, file) in body.files() {
            if surfaces.contains_key(file) {
                continue;
            }
            let Some(text) = read(file)? else {
                let kind =
                    TraceErrorKind::MissingFile { name: file.to_owned(), nearest: neighbour(script, file) };
                return Err(TraceError::line(script, line, kind));
            };
            let path = script.parent().unwrap_or(Path::new("")).join(file);
            let surface = match language {
                Language::Cfg => Surface::parse_entries(&text, &path)?,
                // Of the others, none names files.
                _ => Surface::parse_dump(&text, &path)?,
            };
            surfaces.insert(file.to_owned(), surface);
        }
        let trace = Self { name: name.to_owned(), script: script.to_owned(), body, surfaces };
        check::check(&trace)?;
        Ok(trace)
    }

    /// Gives a loadable its inputs, as they lie in memory. What comes of them is compared with nothing.
    pub fn give(&mut self, given: Vec<Vec<u8>>) {
        if let Body::Loadable { inputs, goldens, .. } = &mut self.body {
            (*inputs, *goldens) = (given, BTreeMap::new());
        }
    }

    /// The test's name: the stem of its script, or the folder of an `input.txn`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The script's path, as it stands in every error and failure line.
    #[must_use]
    pub fn script(&self) -> &Path {
        &self.script
    }

    /// The commands.
    #[must_use]
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The surfaces, by the names the commands use.
    #[must_use]
    pub fn surfaces(&self) -> &BTreeMap<String, Surface> {
        &self.surfaces
    }

    /// Counts what the trace contains.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        match &self.body {
            Body::Cfg(lines) => {
                for line in lines {
                    match line.command {
                        cfg::CfgCommand::RegWrite { .. } => summary.register_writes += 1,
                        cfg::CfgCommand::RegReadCheck { .. } | cfg::CfgCommand::PollRegEqual { .. } => {
                            summary.register_reads_checked += 1;
                        }
                        cfg::CfgCommand::IntrNotify { .. } => summary.interrupts += 1,
                        cfg::CfgCommand::CheckCrc { .. } | cfg::CfgCommand::CheckFile { .. } => {
                            summary.memory_checks += 1;
                        }
                        cfg::CfgCommand::CheckNothing { .. } => summary.event_checks += 1,
                        _ => {}
                    }
                }
            }
            Body::Recording { lines, golden } => {
                for line in lines {
                    match line.command {
                        recording::RecordedCommand::Write { .. } => summary.register_writes += 1,
                        recording::RecordedCommand::Read { .. } => summary.register_reads_checked += 1,
                        recording::RecordedCommand::Interrupt { .. } => summary.interrupts += 1,
                    }
                }
                summary.memory_checks = golden.iter().count();
            }
            Body::Log(lines) => {
                for line in lines {
                    match line.command {
                        log::LogCommand::Write { .. } => summary.register_writes += 1,
                        log::LogCommand::Read { .. } => summary.register_reads_checked += 1,
                        log::LogCommand::Line { level } => summary.interrupts += usize::from(level),
                        log::LogCommand::Load { .. } => {}
                    }
                }
            }
            Body::ScLog(log) => {
                for line in &log.lines {
                    match line.command {
                        sc_log::ScCommand::Write { .. } => summary.register_writes += 1,
                        sc_log::ScCommand::Read { .. } => summary.register_reads_checked += 1,
                        sc_log::ScCommand::Load { .. } => {}
                    }
                }
                summary.memory_checks = log.left.len();
            }
            Body::Loadable { goldens, .. } => summary.memory_checks = goldens.len(),
            Body::Txn { lines, .. } => {
                for line in lines {
                    match line.command {
                        txn::TxnCommand::WriteReg { .. } => summary.register_writes += 1,
                        txn::TxnCommand::ReadReg { .. } | txn::TxnCommand::Until { .. } => {
                            summary.register_reads_checked += 1;
                        }
                        txn::TxnCommand::Wait | txn::TxnCommand::WaitIntr { .. } => summary.interrupts += 1,
                        txn::TxnCommand::DumpMem(_) => summary.memory_checks += 1,
                        txn::TxnCommand::LoadMem(_) | txn::TxnCommand::FillMem { .. } => {}
                    }
                }
            }
        }
        summary
    }

    /// Returns true if something is compared with what it should be, or waited for by the interrupt. A script that only writes registers,
    /// and waits for values of some, can come to its end and has proven nothing.
    #[must_use]
    pub fn compares(&self) -> bool {
        let summary = self.summary();
        let reads = match &self.body {
            Body::Cfg(lines) => lines
                .iter()
                .filter(|line| matches!(line.command, cfg::CfgCommand::RegReadCheck { .. }))
                .count(),
            Body::Txn { lines, .. } => {
                let maps = RegisterMap::ALL.iter();
                let statuses: Vec<u32> =
                    maps.filter_map(|map| map.address(Unit::Glb, glb::S_INTR_STATUS)).collect();
                let has_until = txn::has_until(lines);
                let is_passed_over = |command: &txn::TxnCommand| {
                    has_until && command.is_passed_over(|address| statuses.contains(&address))
                };
                let commands = lines.iter().map(|line| &line.command);
                commands.filter(|it| it.is_comparison() && !is_passed_over(it)).count() + summary.interrupts
            }
            Body::Log(_) => summary.register_reads_checked + summary.interrupts,
            Body::Recording { .. } => summary.interrupts,
            // Without memory, its accesses are compared with those of untimed units.
            Body::ScLog(_) => 0,
            // It ends with an output, whether or not that is compared.
            Body::Loadable { .. } => 1,
        };
        summary.memory_checks + summary.event_checks + reads > 0
    }

    fn error(&self, line: u32, kind: TraceErrorKind) -> TraceError {
        TraceError::line(&self.script, line, kind)
    }

    /// The surface of a name that stands in a command: [`assemble`](Self::assemble) has read them all.
    fn surface(&self, name: &str) -> &Surface {
        const EMPTY: &Surface = &Surface::empty();
        self.surfaces.get(name).unwrap_or(EMPTY)
    }
}

impl Body {
    /// Returns true if there are no commands.
    fn is_empty(&self) -> bool {
        match self {
            Body::Cfg(lines) => lines.is_empty(),
            Body::Txn { lines, .. } => lines.is_empty(),
            Body::Recording { lines, .. } => lines.is_empty(),
            Body::Log(lines) => lines.is_empty(),
            Body::ScLog(log) => log.lines.is_empty(),
            Body::Loadable { .. } => false,
        }
    }

    /// Every file the commands name, with the line.
    fn files(&self) -> Vec<(u32, &str)> {
        match self {
            Body::Cfg(lines) => lines
                .iter()
                .filter_map(|line| match &line.command {
                    cfg::CfgCommand::MemInit { extent: cfg::Extent::File(file), .. }
                    | cfg::CfgCommand::MemLoad { file, .. }
                    | cfg::CfgCommand::CheckFile { file, .. } => Some((line.number, file.as_str())),
                    _ => None,
                })
                .collect(),
            Body::Txn { lines, .. } => lines
                .iter()
                .filter_map(|line| match &line.command {
                    txn::TxnCommand::LoadMem(transfer) | txn::TxnCommand::DumpMem(transfer) => {
                        Some((line.number, transfer.file.as_str()))
                    }
                    _ => None,
                })
                .collect(),
            // Its memory is not named in it.
            Body::Recording { .. } | Body::Loadable { .. } | Body::Log(_) | Body::ScLog(_) => Vec::new(),
        }
    }
}

/// `UNIT.REGISTER`, as the register tables spell it.
///
/// Scripts write `NVDLA_SDP.S_POINTER_0`: the vendor's prefix and the index at the end are taken off,
/// together only, for there are registers whose own names end in `_0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegisterName(String);

impl RegisterName {
    /// Reads either spelling. None unless it is two identifiers with a dot between them.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let own = match text.strip_prefix("NVDLA_") {
            Some(vendor) => vendor.strip_suffix("_0").unwrap_or(vendor),
            None => text,
        };
        let (unit, register) = own.split_once('.')?;
        let identifier =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (identifier(unit) && identifier(register)).then(|| Self(own.to_owned()))
    }

    /// `UNIT.REGISTER`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The unit: the block whose command stream the register belongs to.
    #[must_use]
    pub fn unit(&self) -> &str {
        self.0.split_once('.').map_or("", |(unit, _)| unit)
    }

    /// The vendor's spelling, `NVDLA_UNIT.REGISTER_0`.
    #[must_use]
    pub fn vendor(&self) -> String {
        format!("NVDLA_{}_0", self.0)
    }
}

impl fmt::Display for RegisterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Places of registers: what the player asks of a register map. Any `Fn(&str) -> Result<u32,
/// UnknownRegister>` will do.
pub trait RegisterNames {
    /// Byte address of `UNIT.REGISTER`, such as `SDP.S_POINTER`.
    fn resolve(&self, unit_and_register: &str) -> Result<u32, UnknownRegister>;
}

impl<F: Fn(&str) -> Result<u32, UnknownRegister>> RegisterNames for F {
    fn resolve(&self, unit_and_register: &str) -> Result<u32, UnknownRegister> {
        self(unit_and_register)
    }
}

impl RegisterNames for RegisterMap {
    fn resolve(&self, unit_and_register: &str) -> Result<u32, UnknownRegister> {
        let found = self.find(unit_and_register);
        found.map(|found| found.address).map_err(|error| UnknownRegister { message: error.to_string() })
    }
}

/// A register the map does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct UnknownRegister {
    /// The whole line: the name, the map, and the nearest name in it.
    pub message: String,
}

/// Accepts the name of a file in the script's own folder.
fn beside(name: &str) -> Result<String, TraceErrorKind> {
    let plain = !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', ':']);
    if plain && !name.contains(is_unfit) {
        Ok(name.to_owned())
    } else {
        Err(TraceErrorKind::NotBeside(error::clip(name)))
    }
}

/// Returns true if a file that may lie beside a script does.
///
/// # Errors
/// When what is there is no file: it would be left out without a word, or read without end.
fn is_there(file: &Path) -> Result<bool, TraceError> {
    let refuse = |why: String| Err(TraceError::whole(file, TraceErrorKind::Unreadable(why)));
    match (file.metadata(), file.is_symlink()) {
        (Ok(about), _) if about.is_file() => Ok(true),
        (Ok(_), _) => refuse("it is no regular file".to_owned()),
        (Err(error), true) => refuse(format!("it is a link to what is not there: {error}")),
        (Err(_), false) => Ok(false),
    }
}

/// The file in the script's folder whose name is most like `name`.
fn neighbour(script: &Path, name: &str) -> Option<String> {
    let entries = script.parent()?.read_dir().ok()?.take(1000);
    let names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    vp_models::suggestion::nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
}

/// The error of a file that cannot be read.
fn unreadable(file: &Path) -> impl Fn(std::io::Error) -> TraceError {
    move |error| TraceError::whole(file, TraceErrorKind::Unreadable(error.to_string()))
}

/// Refuses a file of more bytes than `limit`.
fn check_size(file: &Path, bytes: u64, what: &'static str, limit: u64) -> Result<(), TraceError> {
    match bytes > limit {
        true => Err(TraceError::whole(file, TraceErrorKind::FileTooLarge { what, bytes, limit })),
        false => Ok(()),
    }
}

/// Opens a file that has at most `limit` bytes.
fn open_at_most(file: &Path, what: &'static str, limit: u64) -> Result<File, TraceError> {
    let opened = File::open(file).map_err(unreadable(file))?;
    check_size(file, opened.metadata().map_err(unreadable(file))?.len(), what, limit)?;
    Ok(opened)
}

/// Reads the bytes of a file that has at most `limit` of them.
fn read_bytes(file: &Path, what: &'static str, limit: u64) -> Result<Vec<u8>, TraceError> {
    check_size(file, file.metadata().map_err(unreadable(file))?.len(), what, limit)?;
    read_at_most(file, limit).map_err(unreadable(file))
}

fn read_text(file: &Path, what: &'static str, limit: u64) -> Result<String, TraceError> {
    let opened = open_at_most(file, what, limit)?;
    let mut text = Vec::new();
    // The limit again: what is not a plain file has no length to ask for.
    opened.take(limit + 1).read_to_end(&mut text).map_err(unreadable(file))?;
    check_size(file, text.len() as u64, what, limit)?;
    String::from_utf8(text).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        let line = u32::try_from(line).map_or(u32::MAX, |line| line.saturating_add(1));
        let byte = error.as_bytes().get(at).copied().unwrap_or_default();
        TraceError::line(file, line, TraceErrorKind::NotText(byte))
    })
}

#[cfg(test)]
mod tests;
