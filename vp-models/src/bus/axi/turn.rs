//! Arbitration: which of several clients is granted next.

use crate::checkpoint::{Checkpoint, CheckpointError};

/// Clients, a bit each.
pub(crate) type Clients = u64;

/// Weighted round robin: a client is granted up to its weight in a row, then the next requesting client has its
/// turn. Clients without a weight do not count as requesting.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WeightedRoundRobin {
    /// The client granted last; none at the start, so the first client comes first.
    granted: Option<u32>,
    left: u32,
}

impl WeightedRoundRobin {
    /// Returns the client to be granted next, of those that request.
    pub(crate) fn next(&mut self, requesting: Clients, weight: impl Fn(usize) -> u32) -> Option<usize> {
        if let Some(client) = self.granted
            && self.left > 0
            && requesting >> client & 1 != 0
        {
            self.left -= 1;
            return Some(client as usize);
        }
        let first = self.granted.map_or(0, |client| client + 1);
        // Those behind the last, or else from the first on.
        let behind = requesting & Clients::MAX.checked_shl(first).unwrap_or(0);
        let next = if behind != 0 { behind } else { requesting };
        if next == 0 {
            return None;
        }
        let next = next.trailing_zeros();
        *self = WeightedRoundRobin { granted: Some(next), left: weight(next as usize).max(1) - 1 };
        Some(next as usize)
    }
}

impl WeightedRoundRobin {
    pub(crate) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let WeightedRoundRobin { granted, left } = self;
        at.value(granted)?;
        at.check(granted.is_none_or(|granted| granted < Clients::BITS), "no such client")?;
        at.value(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(weights: &[u32], rounds: usize) -> Vec<usize> {
        let mut turn = WeightedRoundRobin::default();
        let all = (1 << weights.len()) - 1;
        (0..rounds).filter_map(|_| turn.next(all, |client| weights[client])).collect()
    }

    #[test]
    fn equal_weights_take_turns() {
        assert_eq!(grants(&[1, 1, 1], 6), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_weight_is_the_number_of_grants_in_a_row() {
        assert_eq!(grants(&[1, 3], 8), [0, 1, 1, 1, 0, 1, 1, 1]);
    }

    #[test]
    fn a_client_that_does_not_request_is_passed_over() {
        let mut turn = WeightedRoundRobin::default();
        let mut grant = || turn.next(0b100, |_| 1);
        assert_eq!((grant(), grant()), (Some(2), Some(2)));
        assert_eq!(turn.next(0, |_| 1), None);
    }
}
