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
    /// Returns the numbers of atoms of so many bytes that CDMA has with each beat of the bus, of which each is so many atoms: these are handed on
    /// from the first of a read on, so that of an atom within a beat the others come with the next one.
    pub(super) fn beats(self, atom: u32, of_beat: u32) -> impl Iterator<Item = u32> {
        let atoms = self.bytes / atom;
        let before = (self.address / u64::from(atom) % u64::from(of_beat)) as u32;
        let had = move |beats: u32| match (beats * of_beat).saturating_sub(before) {
            all if all >= atoms => atoms,
            part => part / of_beat * of_beat,
        };
        (0..(before + atoms).div_ceil(of_beat)).map(move |beat| had(beat + 1) - had(beat))
    }
}
