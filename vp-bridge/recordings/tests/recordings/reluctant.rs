//! A stream for tests that shows what a system may do with one that blocks: it moves less than is asked for, and is interrupted by
//! signals.

use std::io::{self, ErrorKind, Read, Write};

/// A stream that moves less than is asked for, around another one.
pub(crate) struct Reluctant<T> {
    inner: T,
    most: usize,
    random: u64,
}

impl<T> Reluctant<T> {
    /// Moves so many bytes at a time at most, which are not 0. The same seed gives the same behaviour.
    pub(crate) fn new(inner: T, most: usize, seed: u64) -> Reluctant<T> {
        Reluctant { inner, most, random: seed }
    }

    /// The other one.
    pub(crate) fn into_inner(self) -> T {
        self.inner
    }

    /// Returns how many of so many bytes are moved.
    fn part_of(&mut self, length: usize) -> io::Result<usize> {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = (self.random >> 33) as usize;
        match number % 10 {
            ..3 => Err(ErrorKind::Interrupted.into()),
            _ => Ok(length.min(1 + number / 10 % self.most)),
        }
    }
}

impl<T: Read> Read for Reluctant<T> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.part_of(into.len())?;
        self.inner.read(&mut into[..length])
    }
}

impl<T: Write> Write for Reluctant<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.part_of(bytes.len())?;
        self.inner.write(&bytes[..length])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
