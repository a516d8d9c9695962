//! Writes traces: composes `.cfg` tests in code, and turns any trace back into its files.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::io;
use std::path::{Path, PathBuf};

use super::cfg::{CfgCommand, Extent, Pattern};
use super::error::{TraceError, TraceErrorKind};
use super::surface::emit_dump;
use super::{Body, Line, RegisterName, Surface, Trace, check};
use crate::Memory;
use vp_models::nvdla::glb::Interrupt;

/// Composes a `.cfg` trace, one command a call. What is wrong is told by [`build`](Self::build).
#[derive(Clone, Debug)]
pub struct TraceBuilder {
    name: String,
    lines: Vec<Line<CfgCommand>>,
    surfaces: BTreeMap<String, Surface>,
    refused: Option<TraceErrorKind>,
}

impl TraceBuilder {
    /// A trace of that name without commands.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), lines: Vec::new(), surfaces: BTreeMap::new(), refused: None }
    }

    /// Appends any command.
    #[must_use]
    pub fn command(mut self, command: CfgCommand) -> Self {
        let number = u32::try_from(self.lines.len()).map_or(u32::MAX, |lines| lines.saturating_add(1));
        self.lines.push(Line { number, command });
        self
    }

    /// Adds a surface file that commands may name.
    #[must_use]
    pub fn surface(mut self, file: &str, surface: Surface) -> Self {
        match super::beside(file) {
            Ok(file) => drop(self.surfaces.insert(file, surface)),
            Err(kind) => self.refused = self.refused.or(Some(kind)),
        }
        self
    }

    /// Fills `size` bytes before anything runs.
    #[must_use]
    pub fn fill(self, memory: Memory, base: u64, size: u64, pattern: Pattern) -> Self {
        self.command(CfgCommand::MemInit { memory, base, extent: Extent::Bytes(size), pattern, after: None })
    }

    /// Places bytes, by way of a surface file of that name, before anything runs.
    #[must_use]
    pub fn place(self, memory: Memory, base: u64, file: &str, bytes: &[u8]) -> Self {
        self.surface(file, Surface::from_bytes(bytes)).command(CfgCommand::MemLoad {
            memory,
            base,
            file: file.to_owned(),
            after: None,
        })
    }

    /// Writes a register, named `UNIT.REGISTER`.
    #[must_use]
    pub fn write(mut self, register: &str, value: u32) -> Self {
        match RegisterName::parse(register) {
            Some(register) => self.command(CfgCommand::RegWrite { register, value }),
            None => {
                let found = format!("`{}`", super::error::clip(register));
                let kind = TraceErrorKind::Syntax { expected: "a register such as SDP.S_POINTER", found };
                self.refused = self.refused.or(Some(kind));
                self
            }
        }
    }

    /// Declares an interrupt that must come, and the event it fires.
    #[must_use]
    pub fn interrupt(self, interrupt: Interrupt, event: &str) -> Self {
        self.command(CfgCommand::IntrNotify { interrupt, event: event.to_owned() })
    }

    /// After the event, memory must hold these bytes: their CRC goes into the script. Their number and `base`
    /// must be multiples of 4.
    #[must_use]
    pub fn check(mut self, event: &str, memory: Memory, base: u64, expected: &[u8]) -> Self {
        let size = expected.len() as u64;
        if let Some(odd) = [base, size].into_iter().find(|number| number % 4 != 0) {
            self.refused = self.refused.or(Some(TraceErrorKind::Unaligned(odd)));
        }
        let crc = crc32fast::hash(expected);
        self.command(CfgCommand::CheckCrc { event: event.to_owned(), memory, base, size, crc })
    }

    /// The trace, checked as one that was read. Its script is called `<name>.cfg`.
    pub fn build(self) -> Result<Trace, TraceError> {
        let script = PathBuf::from(format!("{}.cfg", self.name));
        if let Some(kind) = self.refused {
            return Err(TraceError::whole(&script, kind));
        }
        let trace = Trace { name: self.name, script, body: Body::Cfg(self.lines), surfaces: self.surfaces };
        if let Some((line, file)) =
            trace.body.files().into_iter().find(|(_, file)| !trace.surfaces.contains_key(*file))
        {
            let kind = TraceErrorKind::MissingFile { name: file.to_owned(), nearest: None };
            return Err(trace.error(line, kind));
        }
        check::check(&trace)?;
        Ok(trace)
    }
}

impl Trace {
    /// The script's text: every command on its own line number, comments left out. Reads back as equal
    /// commands. A loadable and a log of registers have none.
    #[must_use]
    pub fn emit(&self) -> String {
        match &self.body {
            Body::Cfg(lines) => emit_lines(lines),
            Body::Txn { lines, .. } => emit_lines(lines),
            Body::Recording { lines, .. } => emit_lines(lines),
            Body::Loadable { .. } | Body::Log(_) | Body::ScLog(_) => String::new(),
        }
    }

    /// The text of the surface file of that name. A recording's memory is no text.
    #[must_use]
    pub fn emit_surface(&self, name: &str) -> Option<String> {
        let surface = self.surfaces.get(name)?;
        Some(match &self.body {
            Body::Cfg(_) => surface.emit_entries(),
            Body::Recording { .. } | Body::Loadable { .. } | Body::Log(_) | Body::ScLog(_) => return None,
            Body::Txn { .. } => surface.runs().iter().map(|run| emit_dump(&run.bytes)).collect(),
        })
    }

    /// Writes the script and every file it uses into a folder that exists; returns the script's path.
    ///
    /// # Errors
    /// The file system's, and a recording or a loadable, which their makers alone can make.
    pub fn save(&self, folder: &Path) -> io::Result<PathBuf> {
        let unsupported = |why| Err(io::Error::new(io::ErrorKind::Unsupported, why));
        let script = folder.join(match &self.body {
            Body::Cfg(_) => format!("{}.cfg", self.name),
            Body::Txn { .. } => "input.txn".to_owned(),
            Body::Recording { .. } => return unsupported("a recording is not written again"),
            Body::Loadable { .. } => return unsupported("a loadable is not written again"),
            Body::Log(_) | Body::ScLog(_) => return unsupported("a register log is not written again"),
        });
        std::fs::write(&script, self.emit())?;
        for name in self.surfaces.keys() {
            std::fs::write(folder.join(name), self.emit_surface(name).unwrap_or_default())?;
        }
        if let Body::Txn { plusargs, .. } = &self.body {
            std::fs::write(folder.join("plusargs.txt"), plusargs.to_string())?;
        }
        Ok(script)
    }
}

fn emit_lines<C: Display>(lines: &[Line<C>]) -> String {
    let mut text = String::new();
    let mut next = 1;
    for line in lines {
        while next < line.number {
            text.push('\n');
            next += 1;
        }
        let _ = writeln!(text, "{}", line.command);
        next += 1;
    }
    text
}
