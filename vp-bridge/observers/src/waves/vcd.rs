//! VCD, the format of Verilog simulators, by the crate `vcd`.

use std::io::{self, Write};

use vcd::{IdCode, ReferenceIndex, ScopeType, TimescaleUnit, Value, VarType};

use super::{Format, ScopeStep, Shape, Variable, walk};
use crate::WholeFile;

pub(super) struct Vcd {
    writer: vcd::Writer<VcdFile>,
    variables: Vec<(IdCode, Shape)>,
    time: Option<u64>,
}

impl Vcd {
    pub(super) fn begin(file: WholeFile, variables: &[Variable]) -> io::Result<Vcd> {
        let mut writer = vcd::Writer::new(VcdFile(Some(file)));
        writer.version(concat!("vp ", env!("CARGO_PKG_VERSION")))?;
        writer.timescale(1, TimescaleUnit::PS)?;
        let mut codes = vec![None; variables.len()];
        walk(variables, |step| match step {
            ScopeStep::Into(scope) => writer.scope_def(ScopeType::Module, scope),
            ScopeStep::Up => writer.upscope(),
            ScopeStep::Variable(number, Variable { path, shape }) => {
                let (kind, bits, index) = match *shape {
                    Shape::Bits(1) => (VarType::Wire, 1, None),
                    Shape::Bits(bits) => {
                        (VarType::Wire, bits, Some(ReferenceIndex::Range(bits as i32 - 1, 0)))
                    }
                    // GTKWave's extension, which others know as well.
                    Shape::Text(_) => (VarType::String, 1, None),
                };
                let name = path.last().map_or("", String::as_str);
                codes[number] = Some((writer.add_var(kind, bits, name, index)?, *shape));
                Ok(())
            }
        })?;
        writer.enddefinitions()?;
        Ok(Vcd { writer, variables: codes.into_iter().flatten().collect(), time: None })
    }
}

impl Format for Vcd {
    fn time(&mut self, picoseconds: u64) -> io::Result<()> {
        match self.time.replace(picoseconds) {
            Some(time) if time == picoseconds => Ok(()),
            _ => self.writer.timestamp(picoseconds),
        }
    }

    fn bits(&mut self, variable: usize, value: u64) -> io::Result<()> {
        let (code, Shape::Bits(bits)) = self.variables[variable] else { return Ok(()) };
        match bits {
            1 => self.writer.change_scalar(code, value & 1 == 1),
            _ => {
                // Leading zeros may be left out.
                let bits = (64 - value.leading_zeros()).clamp(1, bits);
                let values = (0..bits).rev().map(|bit| Value::from(value >> bit & 1 == 1));
                self.writer.change_vector(code, values)
            }
        }
    }

    fn text(&mut self, variable: usize, text: &str) -> io::Result<()> {
        let (code, _) = self.variables[variable];
        // A value ends at a space.
        let text = if text.is_empty() { "-".to_owned() } else { text.replace(char::is_whitespace, "_") };
        self.writer.change_string(code, &text)
    }

    fn finish(mut self: Box<Self>, picoseconds: u64) -> io::Result<()> {
        self.time(picoseconds)?;
        self.writer.writer().0.take().map_or(Ok(()), WholeFile::keep)
    }
}

/// A file that can be taken back: the crate's writer does not give it.
struct VcdFile(Option<WholeFile>);

impl Write for VcdFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), Write::flush)
    }
}
