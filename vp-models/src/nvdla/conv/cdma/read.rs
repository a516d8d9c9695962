//! A read that CDMA makes of input.

/// One read from memory, and where its bytes go among those of the lines that are read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Byte address.
    pub address: u64,
    /// Bytes.
    pub bytes: u32,
    /// Offset of the read's bytes among those of the lines.
    pub at: usize,
    /// The cycle in which it is made at the earliest, counted from the first.
    pub cycle: u64,
}
