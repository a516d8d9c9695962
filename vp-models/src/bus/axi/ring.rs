//! A queue of small values for the innermost steps: like a `VecDeque`, with a capacity that is a power of two.

/// A queue of values that are copied.
#[derive(Debug, Default)]
pub(super) struct Ring<T> {
    /// As many as a power of two, or none.
    places: Vec<T>,
    /// Numbers of values that were taken and put in total: their places follow from that.
    taken: usize,
    put: usize,
}

impl<T: Copy + Default> Ring<T> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.put.wrapping_sub(self.taken)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.put == self.taken
    }

    #[inline]
    fn place(&self, number: usize) -> usize {
        number & self.places.len().wrapping_sub(1)
    }

    /// The value behind so many others.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<T> {
        (at < self.len()).then(|| self.places[self.place(self.taken.wrapping_add(at))])
    }

    #[inline]
    pub(super) fn front(&self) -> Option<T> {
        self.get(0)
    }

    #[inline]
    pub(super) fn front_mut(&mut self) -> Option<&mut T> {
        let place = self.place(self.taken);
        (!self.is_empty()).then(|| &mut self.places[place])
    }

    #[inline]
    pub(super) fn back_mut(&mut self) -> Option<&mut T> {
        let place = self.place(self.put.wrapping_sub(1));
        (!self.is_empty()).then(|| &mut self.places[place])
    }

    #[inline]
    pub(super) fn push_back(&mut self, value: T) {
        if self.len() == self.places.len() {
            self.grow();
        }
        let place = self.place(self.put);
        self.places[place] = value;
        self.put = self.put.wrapping_add(1);
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<T> {
        let front = self.front()?;
        self.taken = self.taken.wrapping_add(1);
        Some(front)
    }

    /// The values, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        (0..self.len()).map_while(|at| self.get(at))
    }

    #[cold]
    fn grow(&mut self) {
        let mut places: Vec<T> = self.iter().collect();
        (self.taken, self.put) = (0, places.len());
        places.resize((2 * places.len()).max(16), T::default());
        self.places = places;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec((0u32..40, 0usize..40), 1..40)) {
            let (mut ring, mut expected) = (Ring::default(), VecDeque::new());
            for (put, take) in steps {
                for value in 0..put {
                    ring.push_back(value);
                    expected.push_back(value);
                }
                if let (Some(front), Some(wanted)) = (ring.front_mut(), expected.front_mut()) {
                    (*front, *wanted) = (*front + 1, *wanted + 1);
                }
                prop_assert!(ring.iter().eq(expected.iter().copied()));
                prop_assert_eq!(ring.back_mut().copied(), expected.back().copied());
                for _ in 0..take {
                    prop_assert_eq!(ring.pop_front(), expected.pop_front());
                }
                prop_assert_eq!((ring.len(), ring.is_empty()), (expected.len(), expected.is_empty()));
                prop_assert_eq!(ring.get(3), expected.get(3).copied());
            }
        }
    }
}
