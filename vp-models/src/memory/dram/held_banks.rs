//! Banks that maintenance has for itself.

use super::bank::Banks;

/// Banks to which nothing but maintenance is given.
#[derive(Debug, Default)]
pub(super) struct HeldBanks {
    /// Ranks, a bit each.
    pub(super) units: u32,
    pub(super) banks: Vec<u32>,
}

impl HeldBanks {
    /// Returns true if a bank is one of them.
    pub(super) fn has(&self, bank: u32, banks: &Banks) -> bool {
        self.units != 0 && self.units >> banks.unit_of(bank) & 1 == 1 || self.banks.contains(&bank)
    }
}
