//! Logs of register accesses, a JSON object a line: what happened at a platform's register bus, to be read by people and programs, and
//! played again.
//!
//! The first line is the [`LogHeader`], each further one a [`LogEntry`].

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

use super::error::{TraceError, TraceErrorKind, clip};
use super::{Body, Line, MAX_MEMORY_BYTES, Trace, open_at_most};
use crate::Memory;
use vp_models::bounded_file::read_line_at_most;

/// The version of the form.
const VERSION: u32 = 1;
/// Largest log read, in bytes.
const MAX_LOG_BYTES: u64 = 4 << 30;
/// Largest first line, in bytes: it has the platform's description.
const MAX_HEADER_BYTES: u64 = 32 << 20;
/// Largest line, in bytes, beside what a load has.
const MAX_LINE_BYTES: u64 = 64 << 10;
/// Beginning of the first line.
const BEGINNING: &str = "{\"vp_register_log\":";

/// The first line of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogHeader {
    /// The version of the form.
    pub vp_register_log: u32,
    /// The name of the platform's description.
    pub platform: String,
    /// The description, as TOML.
    pub description: String,
}

impl LogHeader {
    /// Header of a platform's log.
    #[must_use]
    pub fn of(platform: &vp_models::platform::Description) -> LogHeader {
        LogHeader {
            vp_register_log: VERSION,
            platform: platform.name.clone(),
            description: platform.to_toml(),
        }
    }
}

/// A further line of a log: what happened, at which simulated time in picoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "lowercase", deny_unknown_fields)]
pub enum LogEntry {
    /// A register was written.
    Write(LogAccess),
    /// A register was read.
    Read(LogAccess),
    /// The interrupt line has this level.
    Line {
        /// Time at which it has the level.
        time: u64,
        /// True if it is high.
        level: bool,
    },
    /// Bytes were loaded into a memory inside the platform, beside the bus.
    Load {
        /// Time at which they were loaded.
        time: u64,
        /// `dbb0`, or `sram0`.
        memory: String,
        /// Address of the first byte.
        address: u64,
        /// Bytes, in base 64.
        bytes: String,
    },
}

/// An access to a register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogAccess {
    /// Time at which it took effect.
    pub time: u64,
    /// Party that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// True if it is a write that goes without an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub posted: bool,
    /// The register's byte address.
    pub address: u32,
    /// Name of the register, if it has one: for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub register: Option<String>,
    /// The group that the access went to, of a register that is there in groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u8>,
    /// Word that was written or read.
    pub value: u32,
    /// Fields of the register, with what their values mean: for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fields: String,
}

impl LogEntry {
    /// Bytes that were loaded.
    #[must_use]
    pub fn load(time: u64, memory: &str, address: u64, bytes: &[u8]) -> LogEntry {
        LogEntry::Load { time, memory: memory.to_owned(), address, bytes: BASE64.encode(bytes) }
    }
}

/// Step by which a log is played again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogCommand {
    /// Bytes are loaded.
    Load {
        /// Memory into which they are loaded.
        memory: Memory,
        /// Address of the first byte.
        address: u64,
        /// Bytes that are loaded.
        bytes: Vec<u8>,
    },
    /// A register is written.
    Write {
        /// Byte address of the register.
        address: u32,
        /// Name of the register in the log.
        register: Option<String>,
        /// The word.
        value: u32,
        /// True if it goes without an answer.
        posted: bool,
    },
    /// A register is read.
    Read {
        /// Byte address of the register.
        address: u32,
        /// Name of the register in the log.
        register: Option<String>,
        /// Word that was read.
        value: u32,
    },
    /// The interrupt line rises, or falls.
    Line {
        /// True if it is high then.
        level: bool,
    },
}

/// Returns true if a file's first line is that of a log.
pub(super) fn is_log(path: &Path) -> bool {
    // Others would be read to no use, or waited for.
    if !path.is_file() {
        return false;
    }
    let mut beginning = [0; BEGINNING.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    read.is_ok() && beginning == *BEGINNING.as_bytes()
}

/// The platform that a log is of.
pub(super) fn configuration(path: &Path) -> Option<String> {
    let mut first = String::new();
    BufReader::new(File::open(path).ok()?.take(1 << 20)).read_line(&mut first).ok()?;
    Some(serde_json::from_str::<LogHeader>(&first).ok()?.platform)
}

/// Reads a log.
pub(super) fn load(name: &str, script: &Path) -> Result<Trace, TraceError> {
    let file = open_at_most(script, "register log", MAX_LOG_BYTES)?;
    let (mut lines, mut loaded, mut number, mut text) = (Vec::new(), 0, 0, String::new());
    let mut reader = BufReader::new(file.take(MAX_LOG_BYTES));
    loop {
        number += 1;
        let read = read_line(&mut reader, number, loaded, &mut text);
        let refuse = |why: String| TraceError::line(script, number, TraceErrorKind::BadLog(why));
        if read.map_err(|error| refuse(error.to_string()))? == 0 {
            break;
        }
        if number == 1 {
            check_header(&text).map_err(refuse)?;
            continue;
        }
        if !text.ends_with('\n') {
            return Err(refuse("the line is cut off: the log was not written to its end".to_owned()));
        }
        let command = command(&text).map_err(refuse)?;
        if let LogCommand::Load { bytes, .. } = &command {
            loaded += bytes.len() as u64;
            if loaded > MAX_MEMORY_BYTES {
                let kind = TraceErrorKind::FileTooLarge {
                    what: "log's memory",
                    bytes: loaded,
                    limit: MAX_MEMORY_BYTES,
                };
                return Err(TraceError::line(script, number, kind));
            }
        }
        lines.push(Line { number, command });
    }
    let trace = Trace {
        name: name.to_owned(),
        script: script.to_owned(),
        body: Body::Log(lines),
        surfaces: Default::default(),
    };
    super::check::check(&trace)?;
    Ok(trace)
}

/// Reads a line of a log, in which so many bytes were loaded before. Only a line that loads memory is long.
fn read_line(from: &mut impl BufRead, number: u32, loaded: u64, text: &mut String) -> io::Result<usize> {
    let most = if number == 1 { MAX_HEADER_BYTES } else { MAX_LINE_BYTES };
    match read_line_at_most(from, most, text) {
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge && text.contains("\"load\"") => {
            // Three bytes are four letters. More memory than a log may load is refused with what it is.
            let most = (MAX_MEMORY_BYTES - loaded).div_ceil(3) * 4 + MAX_LINE_BYTES;
            let mut rest = String::new();
            let read = read_line_at_most(from, most, &mut rest)?;
            text.push_str(&rest);
            Ok(read)
        }
        read => read,
    }
}

fn check_header(text: &str) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Version {
        vp_register_log: u32,
    }
    let none = |error: serde_json::Error| format!("no first line of a register log: {error}");
    let Version { vp_register_log } = serde_json::from_str(text).map_err(none)?;
    if vp_register_log != VERSION {
        return Err(format!(
            "a register log of version {vp_register_log}: this program reads version {VERSION}"
        ));
    }
    serde_json::from_str::<LogHeader>(text).map(drop).map_err(none)
}

fn command(text: &str) -> Result<LogCommand, String> {
    let entry: LogEntry = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let checked = |address: u32| match address.is_multiple_of(4) {
        true => Ok(address),
        false => Err(format!("register address {address}: registers are words, at multiples of 4")),
    };
    Ok(match entry {
        LogEntry::Write(LogAccess { address, register, value, posted, .. }) => {
            LogCommand::Write { address: checked(address)?, register, value, posted }
        }
        LogEntry::Read(LogAccess { address, register, value, .. }) => {
            LogCommand::Read { address: checked(address)?, register, value }
        }
        LogEntry::Line { level, .. } => LogCommand::Line { level },
        LogEntry::Load { memory, address, bytes, .. } => {
            let known = [Memory::Primary, Memory::Secondary];
            let into = known.into_iter().find(|of| of.port() == memory);
            let into = into.ok_or_else(|| format!("no memory `{}`: dbb0 or sram0", clip(&memory)))?;
            let bytes = BASE64.decode(bytes.as_bytes()).map_err(|error| format!("bytes: {error}"))?;
            LogCommand::Load { memory: into, address, bytes }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Trace, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l.jsonl");
        std::fs::write(&path, text).unwrap();
        let place = format!("{}/", folder.path().display());
        load("l", &path).map_err(|error| error.to_string().replace(&place, ""))
    }

    const HEAD: &str = "{\"vp_register_log\":1,\"platform\":\"nv_small\",\"description\":\"\"}\n";

    #[test]
    fn entries_read_back_as_they_are_written() {
        let access = |value| LogAccess {
            time: 9,
            who: Some("session 1".to_owned()),
            posted: true,
            address: 0x9004,
            register: Some("SDP.S_POINTER".to_owned()),
            group: None,
            value,
            fields: "PRODUCER=1".to_owned(),
        };
        let entries = [
            LogEntry::load(0, "dbb0", 0x8000_0000, b"bytes"),
            LogEntry::Write(access(1)),
            LogEntry::Line { time: 10, level: true },
            LogEntry::Line { time: 11, level: false },
            LogEntry::Read(access(2)),
        ];
        let lines: String =
            entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n").collect();
        let trace = read(&format!("{HEAD}{lines}")).unwrap();
        let Body::Log(lines) = trace.body() else { panic!("{trace:?}") };
        let register = Some("SDP.S_POINTER".to_owned());
        let commands: Vec<LogCommand> = lines.iter().map(|line| line.command.clone()).collect();
        let wanted = [
            LogCommand::Load { memory: Memory::Primary, address: 0x8000_0000, bytes: b"bytes".to_vec() },
            LogCommand::Write { address: 0x9004, register: register.clone(), value: 1, posted: true },
            LogCommand::Line { level: true },
            LogCommand::Line { level: false },
            LogCommand::Read { address: 0x9004, register, value: 2 },
        ];
        assert_eq!(commands, wanted);
        assert_eq!(lines.last().unwrap().number, 6);
    }

    #[test]
    fn only_what_loads_memory_is_a_long_line() {
        let load = |bytes: usize| {
            let entry = LogEntry::load(0, "dbb0", 0, &vec![7; bytes]);
            read(&format!("{HEAD}{}\n", serde_json::to_string(&entry).unwrap()))
        };
        for bytes in [49_000, 49_152, 200_000] {
            let Body::Log(lines) = load(bytes).unwrap().body else { panic!("a log") };
            let LogCommand::Load { bytes: loaded, .. } = &lines[0].command else { panic!("a load") };
            assert_eq!(loaded.len(), bytes);
        }
        let spaces = " ".repeat(1 << 20);
        let error =
            read(&format!("{HEAD}{{\"what\":\"line\",{spaces}\"time\":1,\"level\":true}}\n")).unwrap_err();
        assert!(
            error.starts_with("l.jsonl:2: ") && error.ends_with("the line has 65536 bytes or more"),
            "{error}"
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_what_would_be_right() {
        let line = |text: &str| read(&format!("{HEAD}{text}\n")).unwrap_err();
        for (found, wanted) in [
            (
                read("{\"vp_register_log\":2}\n"),
                "l.jsonl:1: a register log of version 2: this program reads version 1",
            ),
            (read("{\"run\":1}\n"), "l.jsonl:1: no first line of a register log"),
            (read(&format!("{HEAD}{{\"what\":\"line\",\"time\":1,")), "l.jsonl:2: the line is cut off"),
            (read(HEAD), "l.jsonl"),
        ] {
            let found = found.unwrap_err();
            assert!(found.starts_with(wanted), "{found}");
        }
        for (text, wanted) in [
            (
                "{\"what\":\"sleep\"}",
                "unknown variant `sleep`, expected one of `write`, `read`, `line`, `load`",
            ),
            ("{\"what\":\"write\",\"time\":1,\"address\":2,\"value\":1}", "multiples of 4"),
            ("{\"what\":\"write\",\"time\":1,\"value\":1}", "missing field `address`"),
            (
                "{\"what\":\"load\",\"time\":1,\"memory\":\"x\",\"address\":2,\"bytes\":\"\"}",
                "no memory `x`: dbb0 or sram0",
            ),
            ("{\"what\":\"load\",\"time\":1,\"memory\":\"dbb0\",\"address\":2,\"bytes\":\"=\"}", "bytes: "),
        ] {
            let found = line(text);
            assert!(found.starts_with("l.jsonl:2: ") && found.contains(wanted), "{found}");
        }
    }
}
