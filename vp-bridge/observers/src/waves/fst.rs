//! FST, the format of GTKWave and Surfer, by the crate `fst-writer`.

use std::io;

use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType,
    FstVarDirection, FstVarType, FstWriteError,
};

use super::{Format, ScopeStep, Shape, Variable, walk};
use crate::WholeFile;

/// Bytes of changes that are kept until they are written as a block.
const BLOCK: usize = 16 << 20;

/// Characters of each byte.
const BITS: [[u8; 8]; 256] = {
    let mut bits = [[b'0'; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            bits[byte][bit] += (byte >> (7 - bit) & 1) as u8;
            bit += 1;
        }
        byte += 1;
    }
    bits
};

pub(super) struct Fst {
    body: FstBodyWriter<WholeFile>,
    signals: Vec<(FstSignalId, Shape)>,
    /// Buffer in which a text becomes bits.
    padded: Vec<u8>,
    time: u64,
}

fn io_error(error: FstWriteError) -> io::Error {
    match error {
        FstWriteError::Io(error) => error,
        other => io::Error::other(other),
    }
}

impl Fst {
    pub(super) fn begin(file: WholeFile, variables: &[Variable]) -> io::Result<Fst> {
        let info = FstInfo {
            start_time: 0,
            timescale_exponent: -12,
            version: concat!("vp ", env!("CARGO_PKG_VERSION")).to_owned(),
            // The same run gives the same file.
            date: String::new(),
            file_type: FstFileType::Verilog,
        };
        let mut header = FstHeaderWriter::new(file, &info).map_err(io_error)?;
        let mut signals = vec![None; variables.len()];
        walk(variables, |step| match step {
            ScopeStep::Into(scope) => header.scope(scope, "", FstScopeType::Module),
            ScopeStep::Up => header.up_scope(),
            ScopeStep::Variable(number, Variable { path, shape }) => {
                let (length, kind) = match *shape {
                    Shape::Bits(bits) => (bits, FstVarType::Wire),
                    Shape::Text(characters) => (8 * characters, FstVarType::Reg),
                };
                let name = path.last().map_or("", String::as_str);
                let id = header.var(
                    name,
                    FstSignalType::bit_vec(length),
                    kind,
                    FstVarDirection::Implicit,
                    None,
                )?;
                signals[number] = Some((id, *shape));
                Ok(())
            }
        })
        .map_err(io_error)?;
        let mut body = header.finish().map_err(io_error)?;
        // Nothing is told twice.
        body.set_deduplicate(false);
        Ok(Fst { body, signals: signals.into_iter().flatten().collect(), padded: Vec::new(), time: 0 })
    }
}

impl Format for Fst {
    fn time(&mut self, picoseconds: u64) -> io::Result<()> {
        // A block ends in front of a later time only.
        if picoseconds > self.time && self.body.size() >= BLOCK {
            self.body.flush().map_err(io_error)?;
        }
        self.time = picoseconds;
        self.body.time_change(picoseconds).map_err(io_error)
    }

    fn bits(&mut self, variable: usize, value: u64) -> io::Result<()> {
        let (signal, Shape::Bits(bits)) = self.signals[variable] else { return Ok(()) };
        let mut characters = [b'0'; 64];
        for (of_byte, byte) in characters.chunks_exact_mut(8).zip(value.to_be_bytes()) {
            of_byte.copy_from_slice(&BITS[usize::from(byte)]);
        }
        self.body.signal_change(signal, &characters[64 - bits as usize..]).map_err(io_error)
    }

    fn text(&mut self, variable: usize, text: &str) -> io::Result<()> {
        let (signal, Shape::Text(characters)) = self.signals[variable] else { return Ok(()) };
        // As Verilog has texts, which viewers show as ASCII: eight bits a character, behind zeros. The writer has no strings of
        // any length, and GTKWave shows none of a fixed one.
        let empty = (characters as usize).saturating_sub(text.len());
        self.padded.clear();
        self.padded.resize(8 * empty, b'0');
        self.padded.extend(text.bytes().flat_map(|byte| BITS[usize::from(byte)]));
        self.body.signal_change(signal, &self.padded).map_err(io_error)
    }

    fn finish(mut self: Box<Self>, picoseconds: u64) -> io::Result<()> {
        self.time(picoseconds)?;
        self.body.finish().map_err(io_error)?.keep()
    }
}
