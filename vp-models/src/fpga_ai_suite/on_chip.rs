//! A DDR-free IP's memories on the chip, which hold the model: configurations in one, filters in the other.

use super::architecture::Architecture;
use super::csr::{Target, UPDATE_WORDS};
use crate::checkpoint::{Checkpoint, CheckpointError};

/// Both memories. They are not touched by a reset of the IP.
pub(super) struct OnChip {
    configuration: Vec<u64>,
    scratchpad: Vec<u8>,
    /// Bytes of a word of the scratchpad: the memory word.
    word: usize,
}

impl OnChip {
    /// Returns both memories, all zero; none if the model is in memory.
    pub(super) fn new(architecture: &Architecture) -> OnChip {
        let word = architecture.memory_word as usize;
        let sizes =
            (architecture.configuration_words as usize, architecture.scratchpad_words as usize * word);
        let (configuration, scratchpad) = if architecture.ddr_free { sizes } else { (0, 0) };
        OnChip { configuration: vec![0; configuration], scratchpad: vec![0; scratchpad], word }
    }

    /// Writes a word. `None`: there is none of that address.
    pub(super) fn update(&mut self, target: Target, address: u32, word: &[u32; UPDATE_WORDS]) -> Option<()> {
        match target {
            Target::Configuration => {
                *self.configuration.get_mut(address as usize)? =
                    u64::from(word[0]) | u64::from(word[1]) << 32;
            }
            Target::Scratchpad => {
                let bytes = word.iter().flat_map(|word| word.to_le_bytes());
                let place = (address as usize).checked_mul(self.word)?;
                let place = self.scratchpad.get_mut(place..place.checked_add(self.word)?)?;
                place.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
            }
        }
        Some(())
    }

    /// The words of a configuration at a byte address.
    pub(super) fn configuration(&self, base: u32, words: u64) -> Option<&[u64]> {
        let first = base as usize / 8;
        self.configuration.get(first..first.checked_add(usize::try_from(words).ok()?)?)
    }

    /// Filters.
    pub(super) fn filters(&self, at: u32, bytes: u32) -> Option<&[u8]> {
        self.scratchpad.get(at as usize..(at as usize).checked_add(bytes as usize)?)
    }
}

impl OnChip {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let OnChip { configuration, scratchpad, word: _ } = self;
        at.fixed(configuration)?;
        at.fixed(scratchpad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_of_their_memory() {
        let architecture = Architecture {
            ddr_free: true,
            configuration_words: 4,
            scratchpad_words: 2,
            memory_word: 8,
            ..Architecture::default()
        };
        let mut memory = OnChip::new(&architecture);
        let word = std::array::from_fn(|at| at as u32 + 1);
        assert_eq!(memory.update(Target::Configuration, 3, &word), Some(()));
        assert_eq!(memory.update(Target::Configuration, 4, &word), None);
        assert_eq!(memory.configuration(16, 2), Some(&[0, 0x2_0000_0001][..]));
        assert_eq!(memory.configuration(16, 3), None);
        assert_eq!(memory.update(Target::Scratchpad, 1, &word), Some(()));
        assert_eq!(memory.update(Target::Scratchpad, 2, &word), None);
        assert_eq!(memory.filters(6, 8), Some(&[0, 0, 1, 0, 0, 0, 2, 0][..]));
        assert_eq!((memory.filters(9, 8), memory.filters(u32::MAX, u32::MAX)), (None, None));
    }
}
