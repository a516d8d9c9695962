//! The two ways in which scripts write register addresses.
//!
//! The vendor's bench puts words on CSB: the lower 16 bits count words, and the upper half, which is 0xffff in its scripts, selects the
//! device. Logs of the vendor's virtual platform have byte addresses, and scripts that were made of them have kept these
//! (vineetucd/Bare-metal-NVDLA-sw, `csb2txn.py`), some with the base of the register window on a bus.

use super::super::cursor::{Fault, Word, number};
use super::super::error::TraceErrorKind;
use vp_models::nvdla::registers::RegisterMap;

/// Bits of a byte address inside the register window.
const WINDOW_BITS: u32 = 18;
const _: () = assert!(RegisterMap::SPACE_BYTES == 1 << WINDOW_BITS);

/// The meaning of addresses whose upper half is not 0xffff, the same in all of a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Addresses {
    /// The first one that is no multiple of 4, and its line: with it all of them count words.
    odd: Option<(u32, u32)>,
    /// The first one: all have its window.
    first: Option<u32>,
    /// The largest one.
    last: u32,
}

impl Addresses {
    /// Takes notice of the address of a command in this line.
    pub(super) fn note(&mut self, line: u32, address: &str) {
        let plain = number(address).and_then(|address| u32::try_from(address).ok());
        let Some(plain) = plain.filter(|address| !is_word(*address)) else { return };
        self.first = self.first.or(Some(plain));
        self.last = self.last.max(plain);
        if !plain.is_multiple_of(4) {
            self.odd = self.odd.or(Some((plain, line)));
        }
    }

    /// The first of addresses that are taken for bytes, where all of them could as well count words.
    pub(super) fn doubtful(self) -> Option<u32> {
        let could_be_words = self.odd.is_none() && self.last < behind_all() / 4;
        self.first.filter(|_| could_be_words)
    }

    /// The byte address inside the register window.
    pub(super) fn byte_address(self, word: Word<'_>) -> Result<u32, Fault> {
        let address = word.number32("a register address")?;
        if is_word(address) {
            return Ok((address & 0xffff) << 2);
        }
        let Some((odd, line)) = self.odd else {
            let first = self.first.unwrap_or(address);
            return match address >> WINDOW_BITS == first >> WINDOW_BITS {
                true => Ok(address & (RegisterMap::SPACE_BYTES - 1)),
                false => Err(word.fault(TraceErrorKind::OtherWindow { address, first })),
            };
        };
        let bytes = (address & 0xffff) << 2;
        if address.is_multiple_of(4) && bytes >= behind_all() {
            return Err(word.fault(TraceErrorKind::WordsAndBytes { address, odd, line }));
        }
        Ok(bytes)
    }
}

fn is_word(address: u32) -> bool {
    address >> 16 == 0xffff
}

/// The first byte address at which no map has a unit.
fn behind_all() -> u32 {
    let slots = RegisterMap::ALL.into_iter().flat_map(RegisterMap::units);
    slots.map(|slot| slot.base + RegisterMap::SLOT_BYTES).max().unwrap_or_default()
}
