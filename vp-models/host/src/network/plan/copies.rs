//! Copies by BDMA: what lies in DRAM and is read there several times is read once, and then from SRAM.
//!
//! Which tensors are copied `placement` chooses; here a copy becomes a step of the plan.

use super::access::Access;
use super::placement::{Copied, Copy};
use super::steps::{Planned, Planner};
use super::task::Task;
use super::{ConvolutionMethod, PlanStep, StepOutline, Work};
use crate::network::error::PlanError;
use crate::network::layout::{MemoryAddress, ram};
use crate::program::Program;
use strum::{Display, EnumString, VariantNames};
use vp_models::nvdla::bdma::layer::{ATOM, BdmaTransfer};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::registers::{Unit, bdma};
use vp_models::suggestion::UnknownWord;

/// Choice of copies into SRAM, by BDMA, of tensors that are read several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownWord, parse_err_fn = Copies::unknown)]
pub enum Copies {
    /// Tensors are copied where that moves fewer bytes over DBBIF and SRAM is free meanwhile.
    Auto,
    /// No tensor is copied.
    Never,
}

impl Copies {
    fn unknown(word: &str) -> UnknownWord {
        UnknownWord::of::<Copies>("choice of copies", word)
    }

    /// Checks that a configuration has what this choice needs.
    ///
    /// # Errors
    /// When it needs BDMA and SRAM, and the configuration does not have both.
    pub fn check(self, config: &Config) -> Result<(), PlanError> {
        let name = config.name.clone();
        match self {
            Copies::Auto if config.secondary().is_none() => {
                Err(PlanError::NoSram { config: name, asked: format!("copies = \"{self}\""), line: None })
            }
            Copies::Auto if !config.bdma => Err(PlanError::NoBdma { config: name }),
            Copies::Auto | Copies::Never => Ok(()),
        }
    }
}

/// Commands that a launch takes at most: places of BDMA's queue (`STATUS.FREE_SLOT`).
const COMMANDS: usize = 20;

/// Bytes of a line at most, and lines of a command (`CFG_LINE.SIZE`; RTL `NV_NVDLA_BDMA_load`, `ld2st_wr_pd`).
const LINE: u64 = (1 << 13) * ATOM as u64;
const LINES: u64 = 1 << 13;

/// The commands that copy so many bytes from one place to another: full lines, and what is left.
fn transfers(from: MemoryAddress, to: MemoryAddress, bytes: u64) -> Vec<BdmaTransfer> {
    let mut transfers = Vec::new();
    let mut done = 0;
    while done < bytes {
        let left = bytes - done;
        let (line, lines) = if left < LINE { (left, 1) } else { (LINE, (left / LINE).min(LINES)) };
        let end = |place: MemoryAddress| {
            let MemoryAddress { memory, address } = place.plus(done);
            BdmaTransfer::place(ram(memory), address, [line as u32, 0])
        };
        transfers.push(BdmaTransfer {
            line: line as u32,
            lines: lines as u32,
            surfaces: 1,
            source: end(from),
            destination: end(to),
        });
        done += line * lines;
    }
    transfers
}

/// Copies that one launch makes.
#[derive(Default)]
struct Launch {
    names: Vec<String>,
    transfers: Vec<BdmaTransfer>,
    reads: Vec<Access>,
    writes: Vec<Access>,
    bytes: u64,
}

impl Planner<'_> {
    /// The steps that make copies which are to be begun now: those of one reader together.
    pub(super) fn copy(&mut self, tasks: &[Task]) -> Result<(), PlanError> {
        let begun = self.begun.get(&self.at).map_or(&[][..], Vec::as_slice);
        let mut begun: Vec<(usize, &Copy)> = begun.iter().map(|&at| (at, &self.places.copies[at])).collect();
        begun.sort_by_key(|(at, copy)| (copy.readers[0], *at));
        for of_reader in begun.chunk_by(|(_, one), (_, other)| one.readers[0] == other.readers[0]) {
            let layer = tasks[of_reader[0].1.readers[0]].layer;
            let mut launch = Launch::default();
            for &(at, copy) in of_reader {
                let (source, name, read) = self.copied(&copy.of);
                let transfers = transfers(source, copy.place, copy.bytes);
                if !launch.names.is_empty() && launch.transfers.len() + transfers.len() > COMMANDS {
                    self.push_launch(layer, std::mem::take(&mut launch))?;
                }
                launch.names.push(name);
                launch.transfers.extend(transfers);
                launch.reads.extend(read);
                launch.writes.push(self.copy_access(at));
                launch.bytes += copy.bytes;
            }
            self.push_launch(layer, launch)?;
        }
        Ok(())
    }

    /// Returns the place of what is copied, its name, and what is read of the cubes' memories.
    fn copied(&self, of: &Copied) -> (MemoryAddress, String, Option<Access>) {
        match *of {
            Copied::Constant(constant) => {
                (self.places.constants[constant], self.constants[constant].what.clone(), None)
            }
            Copied::Cube(source) => {
                let value = self.values().of_source(source);
                (value.tensor.place, value.name.clone(), Some(self.own_whole(source)))
            }
        }
    }

    fn push_launch(&mut self, layer: usize, launch: Launch) -> Result<(), PlanError> {
        let Launch { names, transfers, reads, writes, bytes } = launch;
        let mut program = Program::new(self.config.register_map);
        for transfer in transfers {
            let encoded = transfer.encode(self.config.register_map).map_err(|refused| {
                PlanError::Register { layer: self.network.layers[layer].name.clone(), refused }
            })?;
            program.encoded(&encoded);
            program.word(Unit::Bdma, bdma::CFG_OP, 1);
        }
        let name = format!("copy of {}", names.join(", "));
        let work = Work::Copy { program, bytes };
        let method = ConvolutionMethod::default();
        let outline = StepOutline { input_bytes: bytes, output_bytes: bytes, ..StepOutline::default() };
        let step = PlanStep { layer, name, after: Vec::new(), work, mac_cycles: 0, method, outline };
        self.planned.push(Planned { step, reads, writes });
        Ok(())
    }

    /// Returns the access of a step that makes or reads a copy: its memory is behind those of the cubes.
    pub(super) fn copy_access(&self, copy: usize) -> Access {
        let storage = self.values().storages.len() + copy;
        Access { storage, copies: 0..1, surfaces: 0..1, lines: 0..1 }
    }

    /// The copy that the task reads in place of a source.
    pub(super) fn copy_of(&self, of: &Copied) -> Option<usize> {
        self.copy_of_reader.get(&(self.at, *of)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;
    use vp_models::nvdla::registers::RegisterMap;

    #[test]
    fn a_copy_is_full_lines_and_what_is_left() {
        let to = MemoryAddress { memory: Memory::Secondary, address: 0x5000_0000 };
        for bytes in [32, LINE - 32, LINE, LINE + 32, 3 * LINE + 4096, LINES * LINE + 64] {
            let transfers = transfers(MemoryAddress::primary(0x8000_0000), to, bytes);
            let (mut from, mut at) = (0x8000_0000, 0x5000_0000);
            for transfer in &transfers {
                assert_eq!((transfer.source.base, transfer.destination.base), (from, at), "{bytes}");
                // Lines follow each other.
                assert_eq!(
                    [transfer.source, transfer.destination].map(|end| end.line_stride),
                    [transfer.line; 2]
                );
                let copied = u64::from(transfer.line) * u64::from(transfer.lines);
                (from, at) = (from + copied, at + copied);
                assert!(transfer.encode(RegisterMap::Full).is_ok());
            }
            assert_eq!((from - 0x8000_0000, transfers.len() <= 2), (bytes, true));
        }
    }

    #[test]
    fn words_are_known_by_name() {
        assert_eq!(["auto", "never"].map(str::parse), [Ok(Copies::Auto), Ok(Copies::Never)]);
        let error = "alway".parse::<Copies>().unwrap_err();
        assert!(error.to_string().starts_with("`alway` is no choice of copies: auto or never"), "{error}");
    }
}
