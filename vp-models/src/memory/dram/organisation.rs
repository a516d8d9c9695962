//! Number of each part of a DRAM.

/// Number of each part of a DRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Organisation {
    /// Channels.
    pub channels: u32,
    /// Pseudo channels of a channel (HBM): each has banks and data of its own, and the commands are the channel's.
    pub pseudo_channels: u32,
    /// Ranks of a channel.
    pub ranks: u32,
    /// Width of the data bus, of a channel or a pseudo channel, in bits.
    pub data_bits: u32,
    /// Groups of banks in a rank.
    pub groups: u32,
    /// Banks in a group.
    pub banks: u32,
    /// Rows in a bank.
    pub rows: u32,
    /// Columns in a row.
    pub columns: u32,
    /// Columns that a burst reads or writes.
    pub burst_length: u32,
}

impl Organisation {
    /// Returns the bytes of a burst.
    pub const fn burst_bytes(&self) -> u32 {
        self.data_bits / 8 * self.burst_length
    }

    /// Returns the ranks of a channel, or its pseudo channels.
    pub const fn units(&self) -> u32 {
        self.pseudo_channels * self.ranks
    }

    /// Returns the banks of a rank or pseudo channel.
    pub const fn unit_banks(&self) -> u32 {
        self.groups * self.banks
    }

    /// Returns the capacity in bytes.
    pub const fn bytes(&self) -> u64 {
        let row = self.columns as u64 * (self.data_bits / 8) as u64;
        row * self.rows as u64 * (self.channels * self.units() * self.unit_banks()) as u64
    }
}
