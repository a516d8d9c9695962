//! Logs of the vendor's virtual platform (`sc.log`): what its adaptors at CSB and at the memories tell, to be played again.
//!
//! The virtual platform writes a line for each transaction of `csb_adaptor`, `dbb_adaptor` and `sram_adaptor` that `SC_LOG` enables
//! (nvdla.org, "Virtual Platform", "Log Output Control"):
//!
//! ```text
//! 88600 ms: Info: nvdla.csb_adaptor: GP: iswrite=0 addr=0x100c len=4 data=0x 00140001 resp=TLM_OK_RESPONSE
//! ```
//!
//! The time stands there in some builds. All other lines, such as those of the C-model, say nothing that is needed here. The device's first
//! read of a byte tells what memory holds before; its last write, what it leaves.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use self::memory::{LoggedMemory, Memories};
use self::transaction::{Port, Transaction};
use super::error::{TraceError, TraceErrorKind};
use super::{Body, Line, Surface, Trace, open_at_most, unreadable};
use crate::Memory;
use vp_models::nvdla::registers::RegisterMap;

mod memory;
mod transaction;

/// Largest log read, in bytes. That of a small network on nv_full, with all that the C-model tells, has 2.9 GB.
const MAX_LOG_BYTES: u64 = 4 << 30;
/// Longest line of an adaptor's, in bytes: four times that of a burst of 4 KiB, which has nine letters for four bytes.
const MAX_LINE_BYTES: u64 = 64 << 10;
/// Most register accesses of a log. The vendor's largest regression makes some 100 000.
const MAX_ACCESSES: usize = 16 << 20;
/// Bytes of a file's beginning in which a line must be that of a log.
const SIGNATURE_BYTES: u64 = 64 << 10;
/// Bytes of a log's beginning that tell its configuration.
const BEGINNING_BYTES: u64 = 16 << 20;

/// A log's accesses, with the memory that goes with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScLog {
    /// Contents of the memories before the first access.
    pub before: Vec<(Memory, Surface)>,
    /// The accesses to registers in their order, and what the CPU put into memory between them.
    pub lines: Vec<Line<ScCommand>>,
    /// Contents that the device leaves in the memories.
    pub left: Vec<(Memory, Surface)>,
}

/// One step of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScCommand {
    /// A register was written.
    Write {
        /// Byte address in the register window.
        address: u32,
        /// The word.
        value: u32,
    },
    /// A register was read.
    Read {
        /// Byte address in the register window.
        address: u32,
        /// Word that was read.
        value: u32,
    },
    /// The CPU has changed memory: the device read other bytes there than before.
    Load {
        /// Memory that was changed.
        memory: Memory,
        /// First byte.
        address: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// Returns true if a file's beginning is such a log: from its first line on, what SystemC prints before it aside, most lines are.
/// Pages that quote some are none.
pub(super) fn is_log(path: &Path) -> bool {
    let Ok(lines) = lines(path, SIGNATURE_BYTES) else { return false };
    if !path.is_file() {
        return false;
    }
    let (mut of_log, mut all) = (0, 0);
    for line in lines.skip_while(|line| !is_line(line)).filter(|line| !line.trim_ascii().is_empty()) {
        of_log += usize::from(is_line(&line));
        all += 1;
    }
    2 * of_log > all
}

/// Returns true if a line is one of the virtual platform's: SystemC's report, by one of its modules or by the C-model's log.
fn is_line(line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let Some((before, behind)) = line.split_once("Info: ") else { return false };
    let time = before.trim_end_matches([':', ' ', 's', 'm', 'u', 'n', 'p']);
    let is_time = time.bytes().all(|byte| byte.is_ascii_digit());
    is_time && ["nvdla.", "NV_NVDLA_"].iter().any(|of| behind.starts_with(of))
}

/// The lines of a file's first bytes.
fn lines(path: &Path, bytes: u64) -> std::io::Result<impl Iterator<Item = Vec<u8>>> {
    let reader = BufReader::new(File::open(path)?.take(bytes));
    Ok(reader.split(b'\n').map_while(Result::ok))
}

/// The configuration that the virtual platform had, as its registers' places and the width of its bus tell. The master branch's maps have
/// GLB at 0x1000, nv_full's at 0; nv_small's has nothing from 0xe000 on; its bus has 8 bytes, and those with CVIF 32 or more.
pub(super) fn configuration(path: &Path) -> Option<String> {
    let (mut units, mut widest) = ([false; 64], 0);
    for line in lines(path, BEGINNING_BYTES).ok()? {
        match Transaction::parse(&line) {
            Ok(Some(Transaction { port: Port::Registers, address, .. })) => {
                units[(address as usize >> 12) % units.len()] = true;
            }
            Ok(Some(transaction)) => widest = widest.max(transaction.bytes.len()),
            _ => {}
        }
    }
    let has_master = units[1];
    let is_full = !has_master && (units[0] || widest > 32);
    let is_large = units[14..].contains(&true) || widest >= 32;
    let name = match (is_full, is_large) {
        (true, _) => "nv_full",
        (false, true) => "nv_large",
        (false, false) => "nv_small",
    };
    Some(name.to_owned())
}

/// Reads a log.
pub(super) fn load(name: &str, script: &Path) -> Result<Trace, TraceError> {
    let file = open_at_most(script, "log of a virtual platform", MAX_LOG_BYTES)?;
    let mut reader = BufReader::new(file.take(MAX_LOG_BYTES));
    let (mut log, mut number, mut line) = (Reader::default(), 0, Vec::new());
    while next_line(&mut reader, &mut line).map_err(unreadable(script))? {
        number += 1;
        let is_cut = line.len() as u64 == MAX_LINE_BYTES;
        // The virtual platform may end within a line.
        let is_end = line.last() != Some(&b'\n') && !is_cut;
        let refuse = |why| TraceError::line(script, number, TraceErrorKind::BadLog(why));
        match Transaction::parse(&line) {
            Ok(Some(transaction)) => log.take(number, transaction).map_err(refuse)?,
            Ok(None) => {}
            Err(_) if is_end => {}
            Err(why) => return Err(refuse(why)),
        }
    }
    let whole = |why| TraceError::whole(script, TraceErrorKind::BadLog(why));
    let body = log.finish().map_err(whole)?;
    if body.lines.is_empty() {
        let why = "no register is accessed: the log needs the lines of csb_adaptor, dbb_adaptor and sram_adaptor, as with \
                   SC_LOG=\"outfile:sc.log;verbosity_level:sc_debug;csb_adaptor:enable;dbb_adaptor:enable;sram_adaptor:enable\"";
        return Err(whole(why.to_owned()));
    }
    let (name, script) = (name.to_owned(), script.to_owned());
    Ok(Trace { name, script, body: Body::ScLog(body), surfaces: Default::default() })
}

/// The next line, of which a longer one has its beginning; false at the end.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    if reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.last() != Some(&b'\n') && line.len() as u64 == MAX_LINE_BYTES {
        reader.skip_until(b'\n')?;
    }
    Ok(true)
}

/// Part of a log that has been read.
#[derive(Default)]
struct Reader {
    lines: Vec<Line<ScCommand>>,
    memories: Memories,
    /// Index among the lines of the last write to a register.
    last_write: usize,
}

impl Reader {
    /// Takes a transaction of this line.
    fn take(&mut self, number: u32, transaction: Transaction) -> Result<(), String> {
        let Transaction { port, is_write, address, bytes } = transaction;
        let memory = match port {
            Port::Registers => return self.access(number, is_write, address, &bytes),
            Port::Memory(memory) => memory,
        };
        match is_write {
            true => self.memories.written(memory, address, &bytes),
            false => self.memories.read(memory, address, &bytes, self.last_write),
        }
    }

    fn access(
        &mut self,
        number: u32,
        is_write: bool,
        address: u64,
        bytes: &[Option<u8>],
    ) -> Result<(), String> {
        let [Some(a), Some(b), Some(c), Some(d)] = *bytes else {
            return Err("registers are accessed by words of 4 bytes".to_owned());
        };
        // The base of the window on the CPU's bus is taken off by most builds.
        let offset = (address % u64::from(RegisterMap::SPACE_BYTES)) as u32;
        if !offset.is_multiple_of(4) {
            return Err(format!("{address:#x} is the address of no register: they are at multiples of 4"));
        }
        let value = u32::from_le_bytes([a, b, c, d]);
        let command = match is_write {
            true => {
                self.last_write = self.lines.len();
                ScCommand::Write { address: offset, value }
            }
            false => ScCommand::Read { address: offset, value },
        };
        if self.lines.len() >= MAX_ACCESSES {
            return Err(format!("more than {MAX_ACCESSES} registers are accessed"));
        }
        let is_status = matches!(offset, 0xc | 0x100c);
        self.lines.push(Line { number, command });
        if !is_write && is_status && value != 0 {
            self.memories.interrupted(self.lines.len());
        }
        Ok(())
    }

    fn finish(self) -> Result<ScLog, String> {
        let LoggedMemory { before, left, mut changes } = self.memories.finish()?;
        let mut lines = Vec::with_capacity(self.lines.len());
        for (place, line) in self.lines.into_iter().enumerate() {
            for (memory, surface) in changes.remove(&place).unwrap_or_default() {
                let loads = surface.runs().iter().map(|run| ScCommand::Load {
                    memory,
                    address: run.offset,
                    bytes: run.bytes.clone(),
                });
                lines.extend(loads.map(|command| Line { number: line.number, command }));
            }
            lines.push(line);
        }
        Ok(ScLog { before, lines, left })
    }
}

#[cfg(test)]
mod tests;
