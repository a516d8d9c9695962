//! A queue of bytes in one piece of memory.

/// Bytes between a writer and a reader, in order. A place is identified by its position among all bytes that
/// were ever put in, so that it can be filled later than it was made.
#[derive(Default)]
pub(crate) struct Bytes {
    store: Vec<u8>,
    /// Bytes of the store that are taken.
    head: usize,
    /// Position of the store's first byte.
    base: u64,
}

/// Taken bytes that are not worth moving the rest for.
const KEPT: usize = 1 << 14;

impl Bytes {
    /// Position behind the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.base + self.store.len() as u64
    }

    /// Returns the number of bytes in the queue.
    pub(crate) fn len(&self) -> usize {
        self.store.len() - self.head
    }

    /// Returns the vector to which bytes are added.
    #[inline]
    pub(crate) fn store(&mut self) -> &mut Vec<u8> {
        if self.head == self.store.len() {
            self.base += self.head as u64;
            self.store.clear();
            self.head = 0;
        } else if self.head >= KEPT.max(self.store.len() - self.head) {
            self.store.drain(..self.head);
            self.base += self.head as u64;
            self.head = 0;
        }
        &mut self.store
    }

    /// Puts in so many bytes more, to be filled: zeros so far.
    pub(crate) fn grow(&mut self, count: usize) {
        let store = self.store();
        store.resize(store.len() + count, 0);
    }

    /// Puts bytes in.
    #[inline]
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.store().extend_from_slice(bytes);
    }

    /// Bytes from a position on, which were not taken yet.
    pub(crate) fn at(&mut self, position: u64, count: usize) -> &mut [u8] {
        let start = (position - self.base) as usize;
        &mut self.store[start..start + count]
    }

    /// All bytes.
    pub(crate) fn all(&self) -> &[u8] {
        &self.store[self.head..]
    }

    /// The first bytes.
    pub(crate) fn first(&self, count: usize) -> &[u8] {
        &self.all()[..count]
    }

    /// Takes the first bytes out.
    pub(crate) fn drop_first(&mut self, count: usize) {
        debug_assert!(count <= self.len(), "more bytes than there are");
        self.head += count;
    }

    /// Takes the last bytes out.
    pub(crate) fn drop_last(&mut self, count: usize) {
        debug_assert!(count <= self.len(), "more bytes than there are");
        self.store.truncate(self.store.len() - count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec((0usize..40_000, 0usize..40_000), 1..40)) {
            let (mut bytes, mut expected) = (Bytes::default(), VecDeque::new());
            for (number, (put, take)) in (0u8..).zip(steps) {
                let position = bytes.end();
                bytes.grow(put);
                bytes.at(position, put).fill(number);
                expected.extend(std::iter::repeat_n(number, put));
                let take = take.min(bytes.len());
                prop_assert!(bytes.first(take).iter().eq(expected.iter().take(take)));
                bytes.drop_first(take);
                expected.drain(..take);
                prop_assert!(bytes.all().iter().eq(&expected));
            }
        }
    }
}
