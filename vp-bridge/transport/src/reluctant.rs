//! A stream for tests that shows all difficult behaviour of the system: it reads and writes less than
//! requested, is interrupted by signals, and is not ready.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};

/// Bytes on their way in one direction.
pub(crate) struct Reluctant {
    bytes: VecDeque<u8>,
    random: u64,
}

impl Reluctant {
    /// Makes one from a seed, which is not 0; equal seeds give equal behaviour.
    pub(crate) fn new(seed: u64) -> Self {
        Self { bytes: VecDeque::new(), random: seed }
    }

    /// A number from 1 on, up to `most`.
    pub(crate) fn number(&mut self, most: usize) -> usize {
        // G. Marsaglia, "Xorshift RNGs", 2003.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        1 + (self.random >> 32) as usize % most
    }

    /// Returns how many of so many bytes are moved.
    fn part_of(&mut self, length: usize) -> io::Result<usize> {
        match self.number(4) {
            1 => Err(ErrorKind::Interrupted.into()),
            2 => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(self.number(1500).min(length)),
        }
    }
}

impl Read for Reluctant {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.part_of(into.len().min(self.bytes.len()))?;
        match length {
            0 if !into.is_empty() => Err(ErrorKind::WouldBlock.into()),
            _ => self.bytes.read(&mut into[..length]),
        }
    }
}

impl Write for Reluctant {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.part_of(bytes.len())?;
        self.bytes.write(&bytes[..length])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
