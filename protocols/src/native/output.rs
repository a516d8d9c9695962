//! Output for the peer: small frames one after the other, long payloads without a copy.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes, BytesMut};

/// Payloads from this length on are not copied, if they can be had.
const LONG: usize = 16 << 10;

/// The data of a message, on its way out.
#[derive(Debug, Clone)]
pub enum Payload<'a> {
    /// Copied.
    Borrowed(&'a [u8]),
    /// Copied only if it is short.
    Owned(Bytes),
}

impl Payload<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

impl<'a> From<&'a [u8]> for Payload<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Borrowed(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Payload<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Borrowed(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Payload<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::Borrowed(bytes)
    }
}

impl<'a> From<&'a Bytes> for Payload<'a> {
    fn from(bytes: &'a Bytes) -> Self {
        Self::Borrowed(bytes)
    }
}

impl From<Bytes> for Payload<'_> {
    fn from(bytes: Bytes) -> Self {
        Self::Owned(bytes)
    }
}

/// Bytes to be written, in order. As a [`Buf`] it gives them from the front, and several pieces at once for a
/// vectored write.
#[derive(Debug, Default)]
pub struct Output {
    /// Bytes before the tail.
    parts: VecDeque<Bytes>,
    in_parts: usize,
    tail: BytesMut,
}

impl Output {
    /// Returns true if nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of bytes to be written.
    pub fn len(&self) -> usize {
        self.in_parts + self.tail.len()
    }

    /// Takes all of it, in one piece.
    pub fn split(&mut self) -> BytesMut {
        let mut all = BytesMut::with_capacity(self.in_parts);
        self.parts.drain(..).for_each(|part| all.extend_from_slice(&part));
        self.in_parts = 0;
        match all.is_empty() {
            true => self.tail.split(),
            false => {
                all.unsplit(self.tail.split());
                all
            }
        }
    }

    /// Returns the buffer to which frames are appended.
    pub(super) fn tail(&mut self) -> &mut BytesMut {
        &mut self.tail
    }

    /// Appends the payload of the frame whose header is at the end.
    pub fn append(&mut self, payload: Payload<'_>) {
        match payload {
            Payload::Owned(bytes) if bytes.len() >= LONG => self.push(bytes),
            payload if payload.bytes().is_empty() => {}
            payload => self.tail.extend_from_slice(payload.bytes()),
        }
    }

    /// Appends bytes without copying them.
    fn push(&mut self, bytes: Bytes) {
        for part in [self.tail.split().freeze(), bytes] {
            if !part.is_empty() {
                self.in_parts += part.len();
                self.parts.push_back(part);
            }
        }
    }
}

impl Buf for Output {
    fn remaining(&self) -> usize {
        self.len()
    }

    fn chunk(&self) -> &[u8] {
        self.parts.front().map_or(&self.tail[..], |part| part)
    }

    fn chunks_vectored<'a>(&'a self, into: &mut [IoSlice<'a>]) -> usize {
        let tail = Some(&self.tail[..]).filter(|tail| !tail.is_empty());
        let pieces = self.parts.iter().map(|part| &part[..]).chain(tail);
        let mut filled = 0;
        for (slot, piece) in into.iter_mut().zip(pieces) {
            *slot = IoSlice::new(piece);
            filled += 1;
        }
        filled
    }

    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.len(), "as many bytes as there are at most");
        while let Some(front) = self.parts.front_mut() {
            let taken = count.min(front.len());
            count -= taken;
            self.in_parts -= taken;
            if taken < front.len() {
                return front.advance(taken);
            }
            self.parts.pop_front();
        }
        self.tail.advance(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_leave_in_the_order_in_which_they_came(
            steps in proptest::collection::vec((0usize..3, proptest::collection::vec(any::<u8>(), 0..9)), 0..50),
        ) {
            let (mut output, mut written, mut expected) = (Output::default(), Vec::new(), Vec::new());
            for (kind, bytes) in steps {
                match kind {
                    0 => {
                        output.tail().extend_from_slice(&bytes);
                        expected.extend_from_slice(&bytes);
                    }
                    1 => {
                        expected.extend_from_slice(&bytes);
                        output.push(bytes.into());
                    }
                    // As a vectored write that takes some.
                    _ => {
                        let mut slices = [IoSlice::new(&[]); 3];
                        let filled = output.chunks_vectored(&mut slices);
                        let seen: Vec<u8> = slices[..filled].iter().flat_map(|slice| slice.to_vec()).collect();
                        prop_assert_eq!(output.is_empty(), seen.is_empty());
                        prop_assert!(seen.starts_with(output.chunk()));
                        let taken = bytes.len().min(seen.len());
                        written.extend_from_slice(&seen[..taken]);
                        output.advance(taken);
                    }
                }
                prop_assert_eq!(output.len(), expected.len() - written.len());
            }
            written.extend_from_slice(&output.split());
            prop_assert!(output.is_empty());
            prop_assert_eq!(written, expected);
        }
    }
}
