//! State that outlives a piece of work: written down, and taken up again in a platform that was just built.
//!
//! A platform is saved when it is at rest and has been for long enough that all times in the past are alike. Each part
//! that remembers something has a method `checkpoint`, which goes both ways, so that what is written and what is read cannot differ. It names every field
//! of its type, without `..`: whoever adds one says whether it is saved, empty at rest, or why it need not be.
//! `tests/tests/hub/saved.rs` holds what goes on to what was not interrupted.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Write};

use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::memory::OutOfMemory;

/// Bytes of all values of a checkpoint, without the memories, at most: what a file says of its sizes is not believed further.
const MOST: u64 = 64 << 20;

/// Characters that are said of what is there in the place of a part's name.
const MOST_NAME: usize = 40;

/// Reason for which something cannot be saved, or taken up again.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// A part is in the middle of something.
    #[error("{part}: {what}")]
    Busy {
        /// Name of the part.
        part: String,
        /// Work that it is in the middle of.
        what: String,
    },
    /// State that is never saved.
    #[error("{0}")]
    Unsupported(String),
    /// The state that is read is not that of what is there.
    #[error("the state of {part} is damaged, or that of another version: {why}")]
    Damaged {
        /// Name of the part.
        part: String,
        /// Description of what is wrong.
        why: String,
    },
    /// No memory is left for the state.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// The state cannot be written, or read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The state of a platform on its way out or in, part after part.
pub struct Checkpoint<'a> {
    way: CheckpointMode<'a>,
    part: String,
    left: u64,
}

enum CheckpointMode<'a> {
    Save(&'a mut dyn Write),
    Restore(&'a mut dyn Read),
}

impl<'a> Checkpoint<'a> {
    /// Writes state down.
    pub(crate) fn save(into: &'a mut dyn Write) -> Checkpoint<'a> {
        Checkpoint { way: CheckpointMode::Save(into), part: String::new(), left: MOST }
    }

    /// Takes state up.
    pub(crate) fn restore(from: &'a mut dyn Read) -> Checkpoint<'a> {
        Checkpoint { way: CheckpointMode::Restore(from), part: String::new(), left: MOST }
    }

    /// Returns true if state is taken up.
    pub fn is_restoring(&self) -> bool {
        matches!(self.way, CheckpointMode::Restore(_))
    }

    /// Begins the state of the part of that name, which follows.
    pub fn part(&mut self, name: &str) -> Result<(), CheckpointError> {
        name.clone_into(&mut self.part);
        let mut there = name.to_owned();
        self.value(&mut there)?;
        // A name is short; what is there need not be one.
        let said: String = there.chars().take(MOST_NAME).flat_map(char::escape_debug).collect();
        self.check(there == name, &format!("`{said}` is there"))
    }

    /// A value.
    pub fn value<T: Serialize + DeserializeOwned>(&mut self, value: &mut T) -> Result<(), CheckpointError> {
        match self.is_restoring() {
            false => {
                let bytes = postcard::to_allocvec(value).map_err(|error| self.damaged(&error.to_string()))?;
                self.write_bytes(&bytes)
            }
            true => {
                *value = self.read()?;
                Ok(())
            }
        }
    }

    /// A value that is there only when state is taken up.
    pub(crate) fn read<T: DeserializeOwned>(&mut self) -> Result<T, CheckpointError> {
        let bytes = self.read_bytes()?;
        let taken = postcard::take_from_bytes(&bytes).ok().filter(|(_, rest)| rest.is_empty());
        taken.map(|(value, _)| value).ok_or_else(|| self.damaged("a value has another form"))
    }

    /// A value in a cell.
    pub fn cell<T: Copy + Serialize + DeserializeOwned>(
        &mut self,
        cell: &Cell<T>,
    ) -> Result<(), CheckpointError> {
        let mut value = cell.get();
        self.value(&mut value)?;
        cell.set(value);
        Ok(())
    }

    /// A value that is borrowed.
    pub fn place<T: Serialize + DeserializeOwned>(
        &mut self,
        place: &RefCell<T>,
    ) -> Result<(), CheckpointError> {
        self.value(&mut *place.borrow_mut())
    }

    /// Values whose number is known.
    pub fn fixed<T: Clone + Serialize + DeserializeOwned>(
        &mut self,
        values: &mut [T],
    ) -> Result<(), CheckpointError> {
        let mut all = if self.is_restoring() { Vec::new() } else { values.to_vec() };
        self.value(&mut all)?;
        let why = format!("{} values where there are {}", all.len(), values.len());
        self.check(all.len() == values.len(), &why)?;
        values.clone_from_slice(&all);
        Ok(())
    }

    /// A number below `end`.
    pub fn index(&mut self, index: &mut usize, end: usize) -> Result<(), CheckpointError> {
        self.value(index)?;
        self.check(*index < end, &format!("{index} where there are {end}"))
    }

    /// Saves or restores how far a sequence has been drawn whose seed is known.
    pub(crate) fn drawn(&mut self, random: &mut ChaCha8Rng) -> Result<(), CheckpointError> {
        let mut words = random.get_word_pos();
        self.value(&mut words)?;
        random.set_word_pos(words);
        Ok(())
    }

    /// Fails unless the part is idle, as `is` says; a restore passes always.
    pub fn at_rest(&self, is: bool, what: &str) -> Result<(), CheckpointError> {
        match is || self.is_restoring() {
            true => Ok(()),
            false => Err(CheckpointError::Busy { part: self.part.clone(), what: what.to_owned() }),
        }
    }

    /// Fails if a restored value is invalid, as `is` says; a save passes always.
    pub fn check(&self, is: bool, why: &str) -> Result<(), CheckpointError> {
        if is || !self.is_restoring() { Ok(()) } else { Err(self.damaged(why)) }
    }

    /// Bytes that are counted elsewhere: those of memories.
    pub(crate) fn bytes(&mut self, bytes: &mut Vec<u8>, most: usize) -> Result<(), CheckpointError> {
        match &mut self.way {
            CheckpointMode::Save(_) => {
                let taken = std::mem::take(bytes);
                self.write_framed(&taken)
            }
            CheckpointMode::Restore(_) => {
                *bytes = self.read_framed(most as u64)?;
                Ok(())
            }
        }
    }

    fn damaged(&self, why: &str) -> CheckpointError {
        CheckpointError::Damaged { part: self.part.clone(), why: why.to_owned() }
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        let too_much = || CheckpointError::Unsupported(format!("more state than {} MiB", MOST >> 20));
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(too_much)?;
        self.write_framed(bytes)
    }

    fn write_framed(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        let CheckpointMode::Save(into) = &mut self.way else { return Ok(()) };
        into.write_all(&(bytes.len() as u32).to_le_bytes())?;
        into.write_all(bytes)?;
        Ok(())
    }

    fn read_bytes(&mut self) -> Result<Vec<u8>, CheckpointError> {
        let bytes = self.read_framed(self.left)?;
        self.left -= bytes.len() as u64;
        Ok(bytes)
    }

    /// A length and as many bytes. Memory is taken for those only that are there.
    fn read_framed(&mut self, most: u64) -> Result<Vec<u8>, CheckpointError> {
        let CheckpointMode::Restore(from) = &mut self.way else { return Ok(Vec::new()) };
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let (length, mut bytes) = (u64::from(u32::from_le_bytes(length)), Vec::new());
        if length <= most {
            from.take(length).read_to_end(&mut bytes)?;
        }
        match bytes.len() as u64 == length {
            true => Ok(bytes),
            false => Err(self.damaged(&format!("{length} bytes are said to follow"))),
        }
    }
}

/// Something with state that outlives a piece of work, known to its device by that only.
pub(crate) trait Remembers {
    /// Saves the state, or takes it up.
    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(write: impl Fn(&mut Checkpoint<'_>) -> Result<(), CheckpointError>) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut Checkpoint::save(&mut bytes)).unwrap();
        bytes
    }

    #[test]
    fn values_come_back_under_the_name_of_their_part() {
        let bytes = saved(|at| {
            at.part("unit")?;
            at.cell(&Cell::new(7u32))?;
            at.fixed(&mut [1u16, 2, 3])
        });
        let (cell, mut fixed) = (Cell::new(0u32), [0u16; 3]);
        let mut from = &bytes[..];
        let mut at = Checkpoint::restore(&mut from);
        at.part("unit").unwrap();
        at.cell(&cell).unwrap();
        at.fixed(&mut fixed).unwrap();
        assert_eq!((cell.get(), fixed), (7, [1, 2, 3]));
        let refusal = Checkpoint::restore(&mut &bytes[..]).part("other").unwrap_err().to_string();
        assert_eq!(refusal, "the state of other is damaged, or that of another version: `unit` is there");
    }

    #[test]
    fn what_is_there_in_the_place_of_a_name_is_said_in_short() {
        let bytes = saved(|at| at.value(&mut "\n".repeat(100_000)));
        let refusal = Checkpoint::restore(&mut &bytes[..]).part("unit").unwrap_err().to_string();
        assert!(refusal.len() < 200 && !refusal.contains('\n'), "{refusal}");
    }

    #[test]
    fn refuses_another_number_of_values_and_an_index_beyond_the_end() {
        let bytes = saved(|at| at.fixed(&mut [1u16, 2, 3]));
        assert!(Checkpoint::restore(&mut &bytes[..]).fixed(&mut [0u16; 2]).is_err());
        let bytes = saved(|at| at.index(&mut 4, 5));
        assert!(Checkpoint::restore(&mut &bytes[..]).index(&mut 0, 4).is_err());
    }

    #[test]
    fn a_size_that_is_only_said_takes_no_memory() {
        let said = u32::MAX.to_le_bytes();
        let mut value = Vec::<u64>::new();
        assert!(Checkpoint::restore(&mut &said[..]).value(&mut value).is_err());
        // A length within a value: postcard reserves little before the elements are there.
        let inner = [&6u32.to_le_bytes()[..], &[0xff, 0xff, 0xff, 0xff, 0x0f, 0]].concat();
        assert!(Checkpoint::restore(&mut &inner[..]).value(&mut value).is_err());
    }

    #[test]
    fn what_is_in_the_middle_of_something_is_not_saved() {
        let mut bytes = Vec::new();
        let mut at = Checkpoint::save(&mut bytes);
        at.part("unit").unwrap();
        let refusal = at.at_rest(false, "a layer runs").unwrap_err().to_string();
        assert_eq!(refusal, "unit: a layer runs");
    }
}
