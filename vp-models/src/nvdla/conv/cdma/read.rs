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

impl Read {
    /// Returns the numbers of atoms of so many bytes in its beats, which have so many from the first atom on.
    pub(super) fn beats(self, atom: u32, of_beat: u32) -> impl Iterator<Item = u32> {
        let atoms = self.bytes / atom;
        (0..atoms).step_by(of_beat as usize).map(move |first| of_beat.min(atoms - first))
    }
}
