//! The weights of one layer in the convolution buffer, as far as they have come and are not released.
//!
//! Places count the bytes of the layer's kernels in a row, without compression. Of compressed weights the
//! buffer holds those that are not zero, and a mask with a bit for each element of the kernels (architecture
//! text, "Weight compression").

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;
use vp_core::Time;

/// Part of the weights that the buffer holds, each in banks of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// Weights: all, or of compressed ones those that are not zero.
    Weights = 0,
    /// Masks of compressed weights.
    Mask = 1,
}

/// A stream of bytes that comes at the end and is released from the front.
#[derive(Default, Serialize, Deserialize)]
struct HeldBytes {
    /// Bytes released.
    released: u64,
    /// Bytes whose room is free: as far as the entries that they share are released.
    freed: u64,
    bytes: VecDeque<u8>,
}

impl HeldBytes {
    /// Bytes that have come.
    fn arrived(&self) -> u64 {
        self.released + self.bytes.len() as u64
    }

    /// Returns the bytes between two places, as far as they have come and are not released.
    fn copy(&self, range: Range<u64>) -> Vec<u8> {
        let at = |byte: u64| (byte.saturating_sub(self.released) as usize).min(self.bytes.len());
        let (from, to) = (at(range.start), at(range.end));
        let (front, back) = self.bytes.as_slices();
        let cut = |at: usize| (at.min(front.len()), at.saturating_sub(front.len()));
        let ((from, back_from), (to, back_to)) = (cut(from), cut(to));
        [&front[from..to], &back[back_from..back_to]].concat()
    }

    /// Releases the bytes up to `end`; tells for how many there is room.
    fn release(&mut self, end: u64, entry: u64) -> u64 {
        let count = (end.saturating_sub(self.released) as usize).min(self.bytes.len());
        self.bytes.drain(..count);
        self.released += count as u64;
        let whole = end.checked_next_multiple_of(entry).unwrap_or(end).min(self.arrived());
        let freed = whole.saturating_sub(self.freed);
        self.freed += freed;
        freed
    }
}

/// Masks, and what they say of the weights released so far.
#[derive(Serialize, Deserialize)]
struct Mask {
    bits: HeldBytes,
    /// Bytes of an element.
    element: u64,
}

impl Mask {
    /// The elements between two bytes of the kernels, counted from a byte of the mask, and that and the following bytes.
    fn part(&self, range: Range<u64>) -> (Range<usize>, Vec<u8>) {
        let elements = range.start / self.element..range.end / self.element;
        let first = elements.start / 8;
        let bytes = self.bits.copy(first..elements.end.div_ceil(8));
        let at = |element: u64| (element - 8 * first) as usize;
        (at(elements.start)..at(elements.end), bytes)
    }

    /// Tells of each element between two bytes of the kernels whether it is there. What has not come is not.
    fn marks(&self, range: Range<u64>) -> impl Iterator<Item = bool> {
        let (elements, bytes) = self.part(range);
        elements.map(move |element| bytes.get(element / 8).is_some_and(|byte| byte >> (element % 8) & 1 != 0))
    }

    /// Bytes of weights that it marks between two bytes of the kernels.
    fn marked(&self, range: Range<u64>) -> u64 {
        let (elements, bytes) = self.part(range);
        let of_byte = |(index, byte): (usize, u8)| {
            // Of the first and of the last byte only some bits.
            let before = elements.start.saturating_sub(8 * index).min(8);
            let end = elements.end.saturating_sub(8 * index).min(8);
            let mask = (0xff_u32 << before) & !(u32::MAX << end);
            (u32::from(byte) & mask).count_ones()
        };
        let count: u64 = bytes.into_iter().enumerate().map(of_byte).map(u64::from).sum();
        count * self.element
    }
}

/// Bytes that layers have stored behind their last kernels: CSC gives back the entries that it has read and no more (RTL,
/// `NV_NVDLA_CSC_wl.v`, `wt_rls_cnt`), so that the next layer's kernels are read from there on.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Surplus {
    /// The layer that has left the last of it.
    pub(super) layer: u64,
    pub(super) bytes: VecDeque<u8>,
}

/// The weights of one layer.
#[derive(Serialize, Deserialize)]
pub(super) struct WeightSet {
    pub(super) layer: u64,
    /// Bytes up to which CSC can use the kernels, with the times from which on it can.
    pub(super) usable: Vec<(u64, Time)>,
    /// The rest will not come.
    pub(super) failed: bool,
    /// Byte up to which the kernels are released.
    released: u64,
    entry: u64,
    /// No kernel is left that would use what still comes.
    consumed: bool,
    /// True if what still comes behind the layer's last kernel stays in the buffer.
    leaves_surplus: bool,
    /// Bytes of earlier layers in front of its own weights: how many, and the layer that has left the last of
    /// them.
    shift: Option<(u64, u64)>,
    weights: HeldBytes,
    mask: Option<Mask>,
}

impl WeightSet {
    /// Of a buffer with entries of that many bytes; compressed, if the bytes of an element are given.
    pub(super) fn new(layer: u64, entry_bytes: u32, compressed: Option<u32>, consumed: bool) -> WeightSet {
        let mask = |element: u32| Mask { bits: HeldBytes::default(), element: element.into() };
        WeightSet {
            layer,
            usable: Vec::new(),
            failed: false,
            released: 0,
            entry: entry_bytes.into(),
            consumed,
            leaves_surplus: false,
            shift: None,
            weights: HeldBytes::default(),
            mask: compressed.map(mask),
        }
    }

    pub(super) fn put(&mut self, part: Stored, bytes: &[u8]) {
        match (part, &mut self.mask) {
            (Stored::Weights, _) => self.weights.bytes.extend(bytes),
            (Stored::Mask, Some(mask)) => mask.bits.bytes.extend(bytes),
            (Stored::Mask, None) => {}
        }
    }

    pub(super) fn is_consumed(&self) -> bool {
        self.consumed
    }

    /// Byte up to which the kernels are released.
    pub(super) fn released(&self) -> u64 {
        self.released
    }

    /// Byte up to which the kernels have come.
    pub(super) fn arrived(&self) -> u64 {
        match &self.mask {
            None => self.weights.arrived(),
            Some(_) => self.usable.last().map_or(0, |&(end, _)| end),
        }
    }

    /// Bytes of weights that are marked between two bytes of the kernels.
    pub(super) fn marked(&self, range: Range<u64>) -> u64 {
        self.mask.as_ref().map_or(range.end - range.start, |mask| mask.marked(range))
    }

    /// The kernels between two bytes.
    pub(super) fn bytes(&self, range: Range<u64>) -> Vec<u8> {
        let Some(mask) = &self.mask else { return self.weights.copy(range) };
        let element = mask.element as usize;
        let first = self.weights.released + mask.marked(self.released..range.start);
        let there = self.weights.copy(first..first + mask.marked(range.clone()));
        let mut left = there.chunks_exact(element);
        let mut all = vec![0; (range.end - range.start) as usize];
        for (place, mark) in all.chunks_exact_mut(element).zip(mask.marks(range)) {
            if mark && let Some(weight) = left.next() {
                place.copy_from_slice(weight);
            }
        }
        all
    }

    /// Releases the kernels up to byte `end`; tells how much room of each part is free.
    pub(super) fn release(&mut self, end: u64) -> [u64; 2] {
        if end <= self.released {
            return [0; 2];
        }
        let Some(mask) = &mut self.mask else {
            self.released = end.min(self.weights.arrived());
            return [self.weights.release(end, self.entry), 0];
        };
        let weights = self.weights.released + mask.marked(self.released..end);
        self.released = end;
        let bits = end / mask.element / 8;
        [self.weights.release(weights, self.entry), mask.bits.release(bits, self.entry)]
    }

    /// Puts what an earlier layer has left in front of its own weights.
    ///
    /// Of compressed weights no measurement of the RTL tells: they keep their places.
    pub(super) fn put_in_front(&mut self, surplus: &mut Surplus) {
        let Surplus { layer, bytes } = std::mem::take(surplus);
        if self.is_compressed() || bytes.is_empty() {
            return;
        }
        let before = self.shift.map_or(0, |(before, _)| before);
        self.shift = Some((before + bytes.len() as u64, layer));
        let own = std::mem::replace(&mut self.weights.bytes, bytes);
        self.weights.bytes.extend(own);
    }

    /// Bytes by which the kernels that are read lie before its own, and the layer that has left the last of these bytes.
    pub(super) fn shift(&self) -> Option<(u64, u64)> {
        self.shift
    }

    pub(super) fn leaves_surplus(&self) -> bool {
        self.leaves_surplus
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.mask.is_some()
    }

    /// The last kernel is read. What is behind its last entry stays in the buffer.
    pub(super) fn consume(&mut self) -> ([u64; 2], Surplus) {
        if self.is_compressed() {
            return (self.clear(), Surplus::default());
        }
        (self.consumed, self.leaves_surplus) = (true, true);
        let whole = self.released.next_multiple_of(self.entry);
        let freed = self.weights.release(whole, self.entry);
        ([freed, 0], Surplus { layer: self.layer, bytes: std::mem::take(&mut self.weights.bytes) })
    }

    /// Releases all, also what has not come yet.
    pub(super) fn clear(&mut self) -> [u64; 2] {
        (self.consumed, self.leaves_surplus) = (true, false);
        let mask = self.mask.as_mut().map_or(0, |mask| mask.bits.release(u64::MAX, self.entry));
        [self.weights.release(u64::MAX, self.entry), mask]
    }
}

impl WeightSet {
    /// Bytes of weights, and of masks, whose room is not free; `None` if it is no set of a buffer with such entries.
    pub(super) fn holds(&self, entry_bytes: u32) -> Option<[u64; 2]> {
        let held = |held: &HeldBytes| {
            let come = held.released.checked_add(held.bytes.len() as u64)?;
            (held.freed <= come && come < 1 << 48).then(|| come - held.freed)
        };
        let mask = match &self.mask {
            Some(mask) if !(1..=2).contains(&mask.element) => return None,
            Some(mask) => held(&mask.bits)?,
            None => 0,
        };
        let is_one = self.entry == u64::from(entry_bytes) && self.released < 1 << 48;
        if is_one { Some([held(&self.weights)?, mask]) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements of two bytes; of nine the second, the third, the eighth and the ninth are there.
    fn compressed() -> WeightSet {
        let mut set = WeightSet::new(0, 4, Some(2), false);
        set.put(Stored::Mask, &[0b1000_0110, 0b0000_0001]);
        set.put(Stored::Weights, &[1, 2, 3, 4, 5, 6, 7, 8]);
        set
    }

    #[test]
    fn weights_that_are_not_marked_are_zero() {
        let set = compressed();
        let all = [0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 5, 6, 7, 8];
        assert_eq!((set.bytes(0..18), set.bytes(4..16)), (all.to_vec(), all[4..16].to_vec()));
        // By the byte as one by one.
        for (from, to) in (0..=9).flat_map(|from| (from..=9).map(move |to| (2 * from, 2 * to))) {
            let there = all[from..to].chunks(2).filter(|weight| **weight != [0, 0]).count() as u64;
            assert_eq!(set.marked(from as u64..to as u64), 2 * there, "{from}..{to}");
        }
    }

    #[test]
    fn what_is_released_is_counted_by_marks() {
        let mut set = compressed();
        // Four bytes, an entry of weights; the byte of the mask is not done with.
        assert_eq!(set.release(6), [4, 0]);
        assert_eq!(set.bytes(12..18), [0, 0, 5, 6, 7, 8]);
        // The entry of the mask is shared by both its bytes.
        assert_eq!(set.release(16), [4, 2]);
        assert_eq!(set.bytes(16..18), [7, 8]);
        assert_eq!(set.clear(), [0, 0]);
    }

    #[test]
    fn what_is_behind_the_last_kernels_entry_is_in_front_of_the_next_layers() {
        let mut first = WeightSet::new(4, 4, None, false);
        first.put(Stored::Weights, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        // Six bytes of kernels are two entries; the third stays.
        assert_eq!(first.release(6), [8, 0]);
        let (freed, mut surplus) = first.consume();
        assert_eq!((freed, surplus.layer, &surplus.bytes), ([0, 0], 4, &VecDeque::from([9, 10, 11, 12])));
        let mut second = WeightSet::new(5, 4, None, false);
        second.put(Stored::Weights, &[21, 22, 23, 24]);
        second.put_in_front(&mut surplus);
        assert_eq!((second.bytes(0..4), second.shift()), (vec![9, 10, 11, 12], Some((4, 4))));
        assert_eq!(second.release(4), [4, 0]);
        // As much is left as there was.
        assert_eq!(second.consume().1.bytes, [21, 22, 23, 24]);
    }
}
