//! Direct accesses as a file has them: what many came to in one entry, because most have few bytes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use vp_hub::Recorded;

/// First byte of an entry of accesses: the number of [`Recorded::Accessed`].
pub(crate) const NUMBER: u8 = 3;
/// Bytes of data from which on accesses are an entry.
const MUCH: usize = 1 << 15;
/// Number of accesses from which on they are an entry.
const MANY: u64 = 1 << 14;

/// Results of accesses, in their order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Accesses {
    /// Number of accesses.
    count: u64,
    /// A bit for each, the lowest first: whether it has given data.
    gave: Vec<u8>,
    /// The numbers, from 0, of those that found nothing there.
    missing: VecDeque<u64>,
    /// Runs of accesses that gave equally many bytes: how many accesses, and how many bytes each.
    lengths: VecDeque<(u64, u64)>,
    /// All data.
    #[serde(with = "as_bytes")]
    data: VecDeque<u8>,
    /// Number of accesses that have been taken out again.
    #[serde(skip)]
    taken: u64,
}

/// A queue of bytes is written as bytes are.
mod as_bytes {
    use std::collections::VecDeque;

    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &VecDeque<u8>, serializer: S) -> Result<S::Ok, S::Error> {
        // A queue to whose end was added only is one piece.
        serializer.serialize_bytes(bytes.as_slices().0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<VecDeque<u8>, D::Error> {
        Bytes::deserialize(deserializer).map(|bytes| Vec::from(bytes).into())
    }
}

impl Accesses {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds what an access came to. Says whether they are enough for an entry.
    pub(crate) fn add(&mut self, accessed: Option<&[u8]>) -> bool {
        let data = accessed.filter(|data| !data.is_empty());
        if self.count.is_multiple_of(8) {
            self.gave.push(0);
        }
        if let (Some(data), Some(gave)) = (data, self.gave.last_mut()) {
            *gave |= 1 << (self.count % 8);
            match self.lengths.back_mut() {
                Some((count, length)) if *length == data.len() as u64 => *count += 1,
                _ => self.lengths.push_back((1, data.len() as u64)),
            }
            self.data.extend(data);
        }
        if accessed.is_none() {
            self.missing.push_back(self.count);
        }
        self.count += 1;
        self.data.len() >= MUCH || self.count >= MANY
    }

    /// Takes out what the next access came to; `None`: there is none, or this is no such entry.
    pub(crate) fn take(&mut self) -> Option<Recorded> {
        if self.taken == self.count {
            return None;
        }
        let at = self.taken;
        let gave = self.gave.get(usize::try_from(at / 8).ok()?)? >> (at % 8) & 1 == 1;
        let is_missing = self.missing.front() == Some(&at);
        let data = match (gave, is_missing) {
            (true, true) => return None,
            (false, true) => {
                self.missing.pop_front();
                None
            }
            (false, false) => Some(Vec::new()),
            (true, false) => {
                let (count, length) = self.lengths.front_mut()?;
                let length = usize::try_from(*length).ok().filter(|length| *length <= self.data.len())?;
                *count = count.checked_sub(1)?;
                if *count == 0 {
                    self.lengths.pop_front();
                }
                Some(self.data.drain(..length).collect())
            }
        };
        self.taken += 1;
        Some(Recorded::Accessed(data.map(Vec::into)))
    }

    /// Returns true if all have been taken out, and nothing is left.
    pub(crate) fn is_over(&self) -> bool {
        let is_used = self.missing.is_empty() && self.lengths.is_empty() && self.data.is_empty();
        self.taken == self.count && is_used && self.gave.len() as u64 == self.count.div_ceil(8)
    }
}
